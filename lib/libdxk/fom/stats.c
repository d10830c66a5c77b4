// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Statistics of localities, how long foms were in their phases, and the last phases of a fom.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

static void add(uint64_t *count, uint64_t n)
{
	__atomic_fetch_add(count, n, __ATOMIC_RELAXED);
}

/* --- localities ------------------------------------------------------------------------------ */

int dxf_stats_init(struct fom_domain *d)
{
	struct fom_locality_stats *stats;

	if (!d->options.stats)
		return 0;
	stats = calloc(d->options.localities, sizeof(*stats));
	if (!stats)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->options.localities; i++)
		d->localities[i].stats = &stats[i];
	return 0;
}

void dxf_stats_exit(struct fom_domain *d)
{
	free(d->localities[0].stats);
}

/* The number of foms in a state, and how long they were in it, or NULL. */
static uint64_t *number(struct fom_locality_stats *s, unsigned int state)
{
	return state == FOM_READY ? &s->ready : state == FOM_RUNNING ? &s->running :
	       state == FOM_WAITING ? &s->waiting : NULL;
}

static uint64_t *time_of(struct fom_locality_stats *s, unsigned int state)
{
	return state == FOM_READY ? &s->ready_ns : state == FOM_RUNNING ? &s->running_ns :
	       &s->waiting_ns;
}

/**
 * dxf_moved - a fom of a locality was in one state for some time, and is in another one now
 *
 * The fom itself may have ended.
 */
void dxf_moved(struct dxf_locality *l, unsigned int from, unsigned int to, uint64_t ns)
{
	struct fom_locality_stats *s = l->stats;

	if (!s)
		return;
	if (number(s, from)) {
		add(number(s, from), -(uint64_t)1);
		add(time_of(s, from), ns);
	} else {
		add(&s->live, 1);
	}
	if (number(s, to))
		add(number(s, to), 1);
	else
		add(&s->live, -(uint64_t)1);
}

static void sample(uint64_t histogram[FOM_HISTOGRAM], uint64_t n)
{
	unsigned int i = n ? 64 - (unsigned int)__builtin_clzll(n) : 0;

	add(&histogram[i < FOM_HISTOGRAM ? i : FOM_HISTOGRAM - 1], 1);
}

/** dxf_measure - count a turn that begins in a locality */
void dxf_measure(struct dxf_locality *l)
{
	struct fom_locality_stats *s = l->stats;

	if (!s)
		return;
	add(&s->turns, 1);
	sample(s->ready_lengths, dxf_peek(&s->ready));
	sample(s->waiting_lengths, dxf_peek(&s->waiting));
	sample(s->live_lengths, dxf_peek(&s->live));
}

int fom_locality_get_stats(struct fom_domain *domain, uint32_t locality,
			   struct fom_locality_stats *stats)
{
	uint64_t *from, *to = (uint64_t *)stats;

	if (locality >= domain->options.localities)
		return -EINVAL;
	from = (uint64_t *)domain->localities[locality].stats;
	if (!from)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < sizeof(*stats) / sizeof(*to); i++)
		to[i] = dxf_peek(&from[i]);
	return 0;
}

/* --- phases ---------------------------------------------------------------------------------- */

static void log_phase(struct fom_log *log, const struct fom *f, uint64_t now)
{
	log->entries[log->nr++ % FOM_LOG_ENTRIES] = (struct fom_log_entry){
		.phase = f->phase, .rc = f->rc, .at = now,
	};
}

/** dxf_phase_left - a fom has left that phase */
void dxf_phase_left(struct fom *f, uint32_t phase)
{
	struct fom_phase_times *t = f->type->phases ? f->type->times : NULL;
	uint64_t now, ns, max;

	if (!t && !f->log)
		return;
	now = dxf_now();
	if (f->log)
		log_phase(f->log, f, now);
	if (!t)
		return;
	ns = f->entered ? now - f->entered : 0;
	f->entered = now;
	t += phase;
	add(&t->count, 1);
	add(&t->ns, ns);
	max = dxf_peek(&t->max_ns);
	while (ns > max && !__atomic_compare_exchange_n(&t->max_ns, &max, ns, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void fom_log_to(struct fom *fom, struct fom_log *log)
{
	dxf_own(fom, "its log is its own");
	fom->log = log;
	if (log) {
		*log = (struct fom_log){ .nr = 0 };
		log_phase(log, fom, dxf_now());
	}
}
