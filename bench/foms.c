// SPDX-License-Identifier: GPL-2.0-only
/*
 * State machines that wait: as foms of libdxk in one locality, and as requests of their own. All
 * are called, one by one, each has a turn, and waits again.
 */
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dx_fom.h>

#include "bench.h"

static MTExecutive *mte;
static long nr;
static uint32_t left;		/* that have not had their turn */
static bool quit;

/* One worker, one locality */
static void executive(long foms)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;

	RunSettingsInit(&settings, "bench", 0, NULL);
	settings.LogPath = "/dev/null";
	MUST(0, ThreadManagerPolicyInit(&policy));
	fom_policy(&policy, 1, foms);
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		die("MTExecutiveCreate %s %s %d", error.Step, error.Field, error.Error);
}

/* The last one wakes who waits for all. */
static void one_less(void)
{
	if (!__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &left, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void await_all(void)
{
	uint32_t n;

	while ((n = __atomic_load_n(&left, __ATOMIC_SEQ_CST)))
		syscall(SYS_futex, &left, FUTEX_WAIT_PRIVATE, n, NULL, NULL, 0);
}

/* --- foms --------------------------------------------------------------------- */

static struct fom_domain *domain;
static struct fom_service service;
static struct fom *foms;

static int tick(struct fom *fom)
{
	/* before who waits goes on */
	if (quit)
		fom_phase_set(fom, FOM_PHASE_FINISH);
	one_less();
	return FSO_WAIT;
}

static void fini(struct fom *fom)
{
	fom_fini(fom);
}

static const struct fom_ops ops = { .tick = tick, .fini = fini };
static struct fom_type type = { .name = "bench", .ops = &ops };

static void fom_run(long n)
{
	while (n) {
		long some = n < nr ? n : nr;

		left = (uint32_t)some;
		for (long i = 0; i < some; i++)
			MUST(0, fom_wakeup(&foms[i]));
		await_all();
		n -= some;
	}
}

static void fom_begin(long n)
{
	struct fom_domain_options options = { .localities = 1, .hung_age_ns = -1 };

	nr = n;
	executive(nr);
	foms = calloc(nr, sizeof(*foms));
	MUST(0, fom_domain_init(&domain, mte, &options));
	fom_service_init(&service, domain, "bench", NULL);
	MUST(0, fom_service_start(&service));
	left = (uint32_t)nr;
	for (long i = 0; i < nr; i++) {
		fom_init(&foms[i], &type, &service);
		MUST(0, fom_queue_wait(&foms[i], -1));
	}
	await_all();
}

static void fom_setup(const struct variant *v)
{
	fom_begin(v->arg);
	fom_run(v->arg);
}

static void fom_teardown(void)
{
	quit = true;
	fom_run(nr);
	MUST(0, fom_service_stop(&service));
	fom_service_fini(&service);
	MUST(0, fom_domain_fini(domain));
	MUST(0, MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1));
}

const struct kind fom_turns = { .setup = fom_setup, .run = fom_run, .teardown = fom_teardown };

/* What the kernel has for a fom that waits */
static double fom_measure(const struct variant *v)
{
	double before = slab_bytes(), after;

	profile_begin();
	fom_begin(v->ops);
	profile_end();
	after = slab_bytes();
	return (after - before) / v->ops;
}

const struct kind fom_memory = { .measure = fom_measure };

/* --- requests ------------------------------------------------------------------ */

static int request_turn(Runnable *self, void *request)
{
	static const RQWait wait = { .Sources = DXK_WAIT_CALL };
	int rc;

	(void)self;
	(void)request;
	rc = quit ? 0 : WaitRequest(&wait);
	one_less();
	return rc;
}

static Runnable runnable = { request_turn };
static char *names;

static void request_run(long n)
{
	while (n) {
		long some = n < nr ? n : nr;

		left = (uint32_t)some;
		for (long i = 0; i < some; i++)
			MUST(0, WakeRequestOf(mte, &names[i]));
		await_all();
		n -= some;
	}
}

static void request_setup(const struct variant *v)
{
	RQOptions options = { .Key = 0 };

	nr = v->arg;
	executive(nr);
	names = calloc(nr, 1);
	left = (uint32_t)nr;
	for (long i = 0; i < nr; i++) {
		options.pName = &names[i];
		MUST(0, PostARequestWithOf(mte, NULL, &runnable, &nr, 0, PXR_WAITIF_BUSY, &options));
	}
	await_all();
	request_run(nr);
}

static void request_teardown(void)
{
	quit = true;
	request_run(nr);
	MUST(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
}

const struct kind request_turns = {
	.setup = request_setup, .run = request_run, .teardown = request_teardown,
};
