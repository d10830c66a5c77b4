/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Cars cross a bridge that carries one at a time: a state machine for each, and two threads. */
#define _POSIX_C_SOURCE 200809L
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <dx_fom.h>

#define CARS 200
#define CROSSING_NS 1000000

/* --- a car --- */

enum { LOCK = 2, CROSS, OVER, PHASES };

struct car {
	struct fom fom;
	struct long_lock_link place;
	struct fom_timeout crossing;
};

static struct long_lock bridge;
static atomic_int on_it, most, crossed;

/* --- what it does in each phase --- */

static uint64_t in_ns(uint64_t ns)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + ns;
}

static int drive(struct fom *fom)
{
	struct car *car = (struct car *)fom;

	switch (fom_phase(fom)) {
	case FOM_PHASE_INIT:
		fom_phase_set(fom, LOCK);
		return FSO_AGAIN;
	case LOCK:
		return long_write_lock(&bridge, &car->place, CROSS);
	case CROSS:
		if (atomic_fetch_add(&on_it, 1) + 1 > most)
			most = on_it;
		fom_timeout_wait_on(&car->crossing, fom, in_ns(CROSSING_NS));
		fom_phase_set(fom, OVER);
		return FSO_WAIT;
	}
	atomic_fetch_sub(&on_it, 1);
	atomic_fetch_add(&crossed, 1);
	long_write_unlock(&bridge, &car->place);
	fom_phase_set(fom, FOM_PHASE_FINISH);
	return FSO_WAIT;
}

static void gone(struct fom *fom)
{
	struct car *car = (struct car *)fom;

	long_lock_link_fini(&car->place);
	fom_timeout_fini(&car->crossing);
	fom_fini(fom);
	free(car);
}

/* --- their kind --- */

static const struct fom_phase phases[PHASES] = {
	[FOM_PHASE_INIT] = { .name = "arrives", .allowed = FOM_PHASE(LOCK) },
	[FOM_PHASE_FINISH] = { .name = "gone" },
	[LOCK] = { .name = "waits", .allowed = FOM_PHASE(CROSS) },
	[CROSS] = { .name = "crosses", .allowed = FOM_PHASE(OVER) },
	[OVER] = { .name = "over", .allowed = FOM_PHASE(FOM_PHASE_FINISH) },
};
static const struct fom_ops ops = { .tick = drive, .fini = gone };
static struct fom_type type = {
	.name = "car", .ops = &ops, .phases = phases, .nr_phases = PHASES,
};

/* --- the program --- */

int main(int argc, char **argv)
{
	struct fom_domain_options options = { .localities = 2 };
	struct fom_service service;
	struct fom_domain *domain;
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;

	ThreadManagerPolicyInit(&policy);
	fom_policy(&policy, options.localities, CARS);
	RunSettingsInit(&settings, "bridge", argc, argv);
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte || fom_domain_init(&domain, mte, &options))
		return 1;
	long_lock_init(&bridge);
	fom_service_init(&service, domain, "bridge", NULL);
	fom_service_start(&service);
	for (int i = 0; i < CARS; i++) {
		struct car *car = calloc(1, sizeof(*car));

		if (!car)
			return 1;
		fom_init(&car->fom, &type, &service);
		long_lock_link_init(&car->place, &car->fom);
		fom_timeout_init(&car->crossing);
		if (fom_queue_wait(&car->fom, -1))
			return 1;
	}
	fom_service_stop(&service);
	fom_service_fini(&service);
	long_lock_fini(&bridge);
	fom_domain_fini(domain);
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
	printf("%d cars crossed, %d at a time\n", crossed, most);
	return 0;
}
