// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A fom and its phases.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

/* --- helpers -------------------------------------------------------------------------- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t dxf_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/** dxf_clock - the time of a state change: cheap and some milliseconds late if nobody measures */
uint64_t dxf_clock(const struct fom_domain *d)
{
	return clock_ns(d->options.stats ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_COARSE);
}

struct timespec dxf_timespec(uint64_t deadline)
{
	/* A time that the kernel accepts, and that will never come. */
	if (deadline > INT64_MAX)
		deadline = INT64_MAX;
	return (struct timespec){
		.tv_sec = (time_t)(deadline / 1000000000),
		.tv_nsec = (long)(deadline % 1000000000),
	};
}

static const char *phase_name(const struct fom *f)
{
	const struct fom_type *type = f->type;
	uint32_t phase = dxf_load(&f->phase);

	return type->phases && phase < type->nr_phases ? type->phases[phase].name : "";
}

void dxf_trap(const struct fom *f, const char *what)
{
	if (f)
		fprintf(stderr, "fom %#llx of %s, phase %d %s: %s\n",
			(unsigned long long)f->name, f->type->name, fom_phase(f), phase_name(f),
			what);
	else
		fprintf(stderr, "fom: %s\n", what);
	abort();
}

/** dxf_own - the caller has the fom's turn, or it was not queued yet; else it is a trap */
void dxf_own(const struct fom *f, const char *what)
{
	if (fom_current() != f && dxf_state(f) != FOM_INIT)
		dxf_trap(f, what);
}

/* --- types and foms ------------------------------------------------------------------- */

void fom_type_set_timeout(struct fom_type *type, int64_t timeout_ns)
{
	dxf_poke(&type->timeout_ns, timeout_ns);
}

static void type_check(const struct fom *f)
{
	const struct fom_type *type = f->type;

	if (!type->ops || !type->ops->tick || !type->ops->fini)
		dxf_trap(f, "its type has no ops");
	if (!type->phases ? type->failure >= FOM_PHASES_MAX :
	    type->nr_phases < 2 || type->nr_phases > FOM_PHASES_MAX ||
	    type->failure >= type->nr_phases ||
	    (type->failure && !(type->phases[type->failure].flags & FOM_PHASE_FAILURE)))
		dxf_trap(f, "its type has no such phases");
}

void fom_init(struct fom *fom, struct fom_type *type, struct fom_service *service)
{
	static uint32_t made;
	uint64_t generation = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED) & 0xffff;

	*fom = (struct fom){
		.type = type, .service = service, .fd = -1, .word = FOM_INIT,
		.name = (uintptr_t)fom ^ generation << 48,
	};
	type_check(fom);
	pthread_mutex_init(&fom->lock, NULL);
	dxf_list_init(&fom->armed);
	dxf_list_init(&fom->pending);
	dxf_list_init(&fom->locks);
	dxf_list_init(&fom->serfs);
}

void fom_fini(struct fom *fom)
{
	unsigned int state = dxf_state(fom);
	bool armed;

	if (state != FOM_INIT && state != FOM_FINISHED)
		dxf_trap(fom, "fom_fini() of one that has not ended");
	if (fom->timeouts)
		dxf_trap(fom, "fom_fini() with an armed time-out");
	dxf_led_ends(fom);
	if (!dxf_list_empty(&fom->locks))
		dxf_trap(fom, "fom_fini() with a long lock, or while it waits for one");
	/* The thread that has cancelled a call-back may still have the lock. */
	pthread_mutex_lock(&fom->lock);
	armed = !dxf_list_empty(&fom->armed) || !dxf_list_empty(&fom->pending);
	pthread_mutex_unlock(&fom->lock);
	if (armed)
		dxf_trap(fom, "fom_fini() with an armed call-back");
	pthread_mutex_destroy(&fom->lock);
}

int fom_phase(const struct fom *fom)
{
	return (int)dxf_load(&fom->phase);
}

int fom_rc(const struct fom *fom)
{
	return dxf_load(&fom->rc);
}

int fom_state(const struct fom *fom)
{
	return (int)dxf_state(fom);
}

uint32_t fom_locality(const struct fom *fom)
{
	return fom->locality;
}

int fom_reason(const struct fom *fom)
{
	return (int)fom->reason;
}

uint32_t fom_events(const struct fom *fom)
{
	return fom->events;
}

uint64_t fom_transitions(const struct fom *fom)
{
	return dxf_peek(&fom->transitions);
}

uint64_t fom_id(const struct fom *fom)
{
	return fom->name;
}

void fom_set_timeout(struct fom *fom, int64_t timeout_ns)
{
	dxf_poke(&fom->timeout_ns, timeout_ns);
}

/* --- phases --------------------------------------------------------------------------- */

/** dxf_phase - change the phase of a fom, and notify the threads that wait for it */
void dxf_phase(struct fom *f, uint32_t phase)
{
	uint32_t left = f->phase;

	dxf_store(&f->phase, phase);
	dxf_phase_left(f, left);
	dxf_poke(&f->transitions, dxf_peek(&f->transitions) + 1);
	if (dxf_load(&f->watched))
		dxf_tell(f, phase);
}

/* Traps unless @phase may follow. */
static void check(const struct fom *f, int phase)
{
	const struct fom_type *type = f->type;
	uint32_t from = dxf_load(&f->phase);

	dxf_own(f, "its phase is its own to change");
	if (phase < 0 || phase >= (type->phases ? (int)type->nr_phases : FOM_PHASES_MAX))
		dxf_trap(f, "there is no such phase");
	if (type->phases && phase != (int)from &&
	    !(type->phases[from].allowed & FOM_PHASE(phase)))
		dxf_trap(f, "this phase may not follow");
}

void fom_phase_set(struct fom *fom, int phase)
{
	check(fom, phase);
	if ((uint32_t)phase != fom->phase)
		dxf_phase(fom, (uint32_t)phase);
}

static bool is_failure(const struct fom_type *type, uint32_t phase)
{
	return type->phases ? type->phases[phase].flags & FOM_PHASE_FAILURE :
			      type->failure && phase == type->failure;
}

void fom_phase_move(struct fom *fom, int rc, int phase)
{
	check(fom, phase);
	if (rc && phase != FOM_PHASE_FINISH && fom->type->phases &&
	    !is_failure(fom->type, (uint32_t)phase))
		dxf_trap(fom, "a failure leads to a failure phase");
	dxf_store(&fom->rc, rc);
	fom_phase_set(fom, phase);
}

/**
 * dxf_fail - a fom has failed, whatever its phase allows (FO-14, FO-30)
 * @f: which
 * @rc: why
 *
 * If its type has no failure phase, or it has failed in that phase, it is in FOM_PHASE_FINISH then.
 */
void dxf_fail(struct fom *f, int rc)
{
	uint32_t to = f->type->failure;

	f->failed = !to || is_failure(f->type, f->phase);
	dxf_store(&f->rc, rc);
	dxf_phase(f, f->failed ? FOM_PHASE_FINISH : to);
}
