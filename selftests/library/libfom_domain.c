// SPDX-License-Identifier: GPL-2.0-only
/*
 * Foms: services, domains, what is hung, many of them (FO-16, FO-34, FO-49, FO-52, FO-53).
 */
#define _GNU_SOURCE
#include "library/libfom.h"


FIXTURE(places) {
	struct place p;
	struct test_fom t;
};

FIXTURE_SETUP(places)
{
	ASSERT_EQ(0, place_up(&self->p, 2, 2));
}

FIXTURE_TEARDOWN(places)
{
	EXPECT_EQ(0, place_down(&self->p));
}

/* --- services ---------------------------------------------------------------------------- */

static int never(struct test_fom *t)
{
	t->wrong++;
	return ends(t);
}

/* FO-16: queued on a service that is stopped: it has ended, without a tick */
TEST_F(places, stopped_service)
{
	struct test_fom *t = &self->t;

	ASSERT_EQ(0, fom_service_stop(&self->p.s));
	EXPECT_EQ(0, fom_service_stop(&self->p.s));
	EXPECT_EQ(-EINVAL, fom_service_prepare_to_stop(&self->p.s));
	make(&self->p, t, never);
	/* what it has armed does not happen */
	fom_timeout_init(&t->timeout);
	fom_timeout_wait_on(&t->timeout, &t->fom, 0);
	EXPECT_EQ(-ESHUTDOWN, fom_queue(&t->fom));
	EXPECT_EQ(1, t->finis);
	EXPECT_EQ(0, t->ticks);
	EXPECT_EQ(-ESHUTDOWN, t->rc);
	EXPECT_EQ(FOM_PHASE_FINISH, fom_phase(&t->fom));
	/* it can be started again */
	EXPECT_EQ(0, fom_service_start(&self->p.s));
	EXPECT_EQ(-EINVAL, fom_service_start(&self->p.s));
	ASSERT_EQ(0, begins(&self->p, t, NULL));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(0, t->wrong);
}

static struct test_fom *early;
static int early_rc, start_rc;
static unsigned int stops;

static int starts(struct fom_service *s)
{
	early_rc = fom_service_state(s) == FOM_SERVICE_STARTING ? fom_queue(&early->fom) : -EPROTO;
	return start_rc;
}

static void has_stopped(struct fom_service *s)
{
	(void)s;
	stops++;
}

static bool accepts(struct fom_service *s, struct fom *fom)
{
	(void)s;
	return ((struct test_fom *)fom)->name == 'y';
}

static const struct fom_service_ops service_ops = { starts, has_stopped, accepts };

static void *stops_it(void *service)
{
	return (void *)(long)fom_service_stop(service);
}

/*
 * FO-49: starting: -EAGAIN, and it may be queued again; stopping: -ESHUTDOWN, but for what is
 * accepted; the stop waits for what there is
 */
TEST_F(places, service_states)
{
	struct test_fom *t = &self->t, late, accepted;
	struct fom_service s;
	pthread_t thread;
	void *rc;

	fom_service_init(&s, self->p.d, "states", &service_ops);
	*t = (struct test_fom){ .does = waits };
	fom_init(&t->fom, &test_type, &s);
	early = t;
	start_rc = -EDOM;
	EXPECT_EQ(-EDOM, fom_service_start(&s));
	EXPECT_EQ(FOM_SERVICE_STOPPED, fom_service_state(&s));
	EXPECT_EQ(-EAGAIN, early_rc);
	start_rc = 0;
	EXPECT_EQ(0, fom_service_start(&s));
	EXPECT_EQ(-EAGAIN, early_rc);
	EXPECT_EQ(0, t->finis);
	ASSERT_EQ(0, fom_queue(&t->fom));
	ASSERT_TRUE(WAITS(t));
	EXPECT_EQ(-EBUSY, fom_domain_fini(self->p.d));

	ASSERT_EQ(0, pthread_create(&thread, NULL, stops_it, &s));
	EXPECT_TRUE(DXT_SOON(fom_service_state(&s) == FOM_SERVICE_STOPPING));
	late = (struct test_fom){ .name = 'n' };
	fom_init(&late.fom, &test_type, &s);
	EXPECT_EQ(-ESHUTDOWN, fom_queue(&late.fom));
	EXPECT_EQ(1, late.finis);
	accepted = (struct test_fom){ .name = 'y', .does = waits };
	fom_init(&accepted.fom, &test_type, &s);
	EXPECT_EQ(0, fom_queue(&accepted.fom));
	EXPECT_EQ(0, goes(t));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(FOM_SERVICE_STOPPING, fom_service_state(&s));
	EXPECT_EQ(0, stops);
	EXPECT_EQ(0, goes(&accepted));
	pthread_join(thread, &rc);
	EXPECT_EQ(NULL, rc);
	EXPECT_EQ(1, stops);
	EXPECT_EQ(1, accepted.finis);
	fom_service_fini(&s);
}

/* FO-49: two stop a service: it has stopped for both */
TEST_F(places, two_stop)
{
	struct test_fom *t = &self->t;
	pthread_t threads[2];
	void *rc;

	ASSERT_EQ(0, begins(&self->p, t, waits));
	ASSERT_TRUE(WAITS(t));
	for (unsigned int i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, stops_it, &self->p.s));
	EXPECT_TRUE(DXT_SOON(fom_service_state(&self->p.s) == FOM_SERVICE_STOPPING));
	dxt_sleep_ms(20);
	EXPECT_EQ(0, goes(t));
	for (unsigned int i = 0; i < 2; i++) {
		pthread_join(threads[i], &rc);
		EXPECT_EQ(NULL, rc);
	}
	EXPECT_EQ(FOM_SERVICE_STOPPED, fom_service_state(&self->p.s));
}

static int waits_for_idle(struct test_fom *t)
{
	t->wrong += fom_service_idle_wait(t->fom.service, FOM_FOREVER) != -EDEADLK;
	t->wrong += fom_service_stop(t->fom.service) != -EDEADLK;
	return ends(t);
}

/* FO-49: idle is one of a service: none is queued, waits, or has its turn */
TEST_F(places, idle_wait)
{
	struct fom_service other;
	struct test_fom *t = &self->t, gate;
	uint64_t before = dxt_now();

	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, 0));
	fom_service_init(&other, self->p.d, "other", NULL);
	ASSERT_EQ(0, fom_service_start(&other));
	gate = (struct test_fom){ .does = stays, .closed = true };
	fom_init(&gate.fom, &test_type, &other);
	ASSERT_EQ(0, fom_queue(&gate.fom));
	ASSERT_TRUE(DXT_SOON(gate.entered));
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
	/* runs */
	EXPECT_EQ(-ETIMEDOUT, fom_service_idle_wait(&other, before + 20 * DXT_MS));
	EXPECT_LE(20 * DXT_MS, dxt_now() - before);
	/* is queued, waits */
	ASSERT_EQ(0, begins(&self->p, t, waits));
	EXPECT_EQ(-ETIMEDOUT, fom_service_idle_wait(&self->p.s, dxt_now() + 5 * DXT_MS));
	gate.closed = false;
	EXPECT_EQ(0, fom_service_idle_wait(&other, FOM_FOREVER));
	ASSERT_TRUE(WAITS(t));
	EXPECT_EQ(-ETIMEDOUT, fom_service_idle_wait(&self->p.s, dxt_now() + 5 * DXT_MS));
	ASSERT_EQ(0, goes(t));
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
	EXPECT_EQ(1, t->finis);
	ASSERT_EQ(0, begins(&self->p, t, waits_for_idle));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(0, t->wrong);
	ASSERT_EQ(0, fom_service_stop(&other));
	fom_service_fini(&other);
}

static void finis_started(void)
{
	static struct place p;

	if (place_up(&p, 1, 1))
		_exit(1);
	fom_service_fini(&p.s);
}

/* FO-49: a service that was started has to be stopped */
TEST(traps_of_services)
{
	EXPECT_TRUE(TRAPS(finis_started()));
}

/* --- Stop -------------------------------------------------------------------------------- */

/* In its failure phase it waits once more, for its clean-up. */
static int cleans_up(struct test_fom *t)
{
	if (fom_phase(&t->fom) == FOM_PHASE_INIT) {
		fom_phase_set(&t->fom, ONE);
		return FSO_WAIT;
	}
	t->wrong += fom_phase(&t->fom) != FAILED;
	if (t->ticks == 2) {
		t->wrong += fom_reason(&t->fom) != FOM_WOKEN_CANCELLED;
		return FSO_WAIT;
	}
	t->wrong += fom_reason(&t->fom) != FOM_WOKEN;
	return ends(t);
}

static void *stops_all(void *mte)
{
	return (void *)(long)MTExecutiveStop(mte, DXK_STOP_CANCEL, -1);
}

/*
 * FO-49: a Stop that cancels fails the foms that wait; they may wait to clean up. Those that were
 * not ticked yet end with their service
 */
TEST(stop_cancels)
{
	struct fom_type plain = test_type;
	struct test_fom t, u, gate, never_run;
	pthread_t thread;
	struct place p;
	void *rc;

	plain.failure = 0;
	ASSERT_EQ(0, place_up(&p, 2, 2));
	ASSERT_EQ(0, begins(&p, &t, cleans_up));
	ASSERT_TRUE(WAITS(&t));
	make(&p, &u, waits);
	u.fom.type = &plain;
	ASSERT_EQ(0, fom_queue(&u.fom));
	ASSERT_TRUE(WAITS(&u));
	make(&p, &gate, stays);
	gate.closed = true;
	gate.home = 1;
	ASSERT_EQ(0, fom_queue(&gate.fom));
	ASSERT_TRUE(DXT_SOON(gate.entered));
	make(&p, &never_run, never);
	never_run.home = 1;
	/* also what it has armed by then */
	fom_timeout_init(&never_run.timeout);
	fom_timeout_wait_on(&never_run.timeout, &never_run.fom, FOM_FOREVER);
	ASSERT_EQ(0, fom_queue(&never_run.fom));
	ASSERT_EQ(0, pthread_create(&thread, NULL, stops_all, p.mte));
	EXPECT_TRUE(ENDS(&u));
	EXPECT_EQ(-ECANCELED, u.rc);
	EXPECT_TRUE(DXT_SOON(t.ticks == 2));
	EXPECT_TRUE(WAITS(&t));
	dxt_sleep_ms(20);
	EXPECT_EQ(2, t.ticks);
	EXPECT_EQ(0, fom_wakeup(&t.fom));
	EXPECT_TRUE(ENDS(&t));
	EXPECT_EQ(-ECANCELED, t.rc);
	gate.closed = false;
	pthread_join(thread, &rc);
	EXPECT_EQ(NULL, rc);
	EXPECT_EQ(1, gate.finis);
	EXPECT_EQ(0, never_run.finis);
	EXPECT_EQ(0, fom_service_stop(&p.s));
	EXPECT_EQ(1, never_run.finis);
	EXPECT_EQ(-ECANCELED, never_run.rc);
	EXPECT_EQ(0, t.wrong + never_run.wrong);
	fom_service_fini(&p.s);
	EXPECT_EQ(0, fom_domain_fini(p.d));
	MTExecutiveDestroy(p.mte, DXK_STOP_CANCEL, -1);
}

/* FO-49: a Stop that drains waits for foms that wait */
TEST(stop_drains)
{
	struct test_fom t;
	struct place p;

	ASSERT_EQ(0, place_up(&p, 2, 2));
	ASSERT_EQ(0, begins(&p, &t, waits));
	ASSERT_TRUE(WAITS(&t));
	EXPECT_EQ(-ETIMEDOUT, MTExecutiveStop(p.mte, DXK_STOP_DRAIN, 20 * DXT_MS));
	EXPECT_EQ(0, goes(&t));
	EXPECT_EQ(0, MTExecutiveStop(p.mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(1, t.finis);
	EXPECT_EQ(-ESHUTDOWN, begins(&p, &t, never));
	EXPECT_EQ(1, t.finis);
	EXPECT_EQ(0, place_down(&p));
}

static int leaves_its_thread(struct test_fom *t)
{
	t->inside = in_locality[0] = 0;
	pthread_exit(NULL);
}

/* FO-5, FO-11: a tick that ends its thread ends its fom; the locality goes on */
TEST_F(places, tick_ends_its_thread)
{
	struct test_fom *t = &self->t;

	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_EQ(0, begins(&self->p, t, leaves_its_thread));
		ASSERT_TRUE(ENDS(t));
		EXPECT_EQ(-EOWNERDEAD, t->rc);
		EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
		ASSERT_EQ(0, begins(&self->p, t, NULL));
		ASSERT_TRUE(ENDS(t));
	}
}

/* --- domains -------------------------------------------------------------------------------- */

/* FO-1, FO-49: what a domain cannot be */
TEST_F(places, bad_domains)
{
	struct fom_domain_options options = options_of(1);
	ThreadManagerPolicy policy;
	struct fom_domain *d;
	struct dxt t;
	MTExecutive *mte;

	EXPECT_EQ(-EBUSY, fom_domain_fini(self->p.d));
	options.stats = 2;
	EXPECT_EQ(-EINVAL, fom_domain_init(&d, self->p.mte, &options));
	EXPECT_EQ(NULL, d);
	options = options_of(1 << 20);
	EXPECT_EQ(-EINVAL, fom_domain_init(&d, self->p.mte, &options));
	options = options_of(1);
	options.hung_period_ns = -1;
	EXPECT_EQ(-EINVAL, fom_domain_init(&d, self->p.mte, &options));
	EXPECT_EQ(0, fom_domain_fini(NULL));
	/* as many as CPUs */
	ASSERT_EQ(0, fom_domain_init(&d, self->p.mte, NULL));
	EXPECT_EQ(sysconf(_SC_NPROCESSORS_ONLN), fom_domain_localities(d));
	EXPECT_EQ(0, fom_domain_fini(d));
	policy = policy_of(DXK_ON_BLOCK_STRICT, 1);
	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(-EOPNOTSUPP, fom_domain_init(&d, mte, NULL));
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
}

struct poster {
	struct test_fom *t;
	_Atomic bool begun;
	int rc;
	pthread_t thread;
};

static void *queues(void *arg)
{
	struct poster *q = arg;

	q->begun = true;
	q->rc = fom_queue_wait(&q->t->fom, -1);
	return NULL;
}

/*
 * FO-52: the Ready Pool is before the localities: when it is full who queues is refused, or waits.
 * Foms that are woken need no room there
 */
TEST(admission)
{
	ThreadManagerPolicy policy = fom_policy_of(1, 100);
	struct fom_domain_options options = options_of(16);
	struct test_fom sleeper, gate, t[4], fifth;
	struct poster poster = { .t = &fifth };
	struct place p;

	policy.TPReadyEntries = 4;
	policy.TPOnBlock = DXK_ON_BLOCK_STRICT;
	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	make(&p, &sleeper, waits);
	sleeper.home = 9;
	ASSERT_EQ(0, fom_queue(&sleeper.fom));
	ASSERT_TRUE(WAITS(&sleeper));
	make(&p, &gate, stays);
	gate.closed = true;
	ASSERT_EQ(0, fom_queue(&gate.fom));
	ASSERT_TRUE(DXT_SOON(gate.entered));
	for (unsigned int i = 0; i < 4; i++) {
		make(&p, &t[i], NULL);
		t[i].home = i + 1;
		ASSERT_EQ(0, fom_queue(&t[i].fom));
	}
	make(&p, &fifth, NULL);
	fifth.home = 6;
	EXPECT_EQ(-EAGAIN, fom_queue(&fifth.fom));
	EXPECT_EQ(FOM_INIT, fom_state(&fifth.fom));
	EXPECT_EQ(-ETIMEDOUT, fom_queue_wait(&fifth.fom, 0));
	EXPECT_EQ(-ETIMEDOUT, fom_queue_wait(&fifth.fom, 5 * DXT_MS));
	EXPECT_EQ(0, fifth.finis);
	EXPECT_EQ(0, goes(&sleeper));
	ASSERT_EQ(0, pthread_create(&poster.thread, NULL, queues, &poster));
	ASSERT_TRUE(DXT_SOON(poster.begun));
	dxt_sleep_ms(5);
	EXPECT_EQ(0, fifth.ticks);
	gate.closed = false;
	pthread_join(poster.thread, NULL);
	EXPECT_EQ(0, poster.rc);
	EXPECT_TRUE(ENDS(&fifth));
	EXPECT_TRUE(ENDS(&sleeper));
	EXPECT_EQ(0, place_down(&p));
}

/* --- what is hung ------------------------------------------------------------------------------ */

static char told[64][256];
static struct fom *told_of[64];
static _Atomic unsigned int nr_told;

static void is_told(struct fom *fom, const char *report)
{
	unsigned int i = nr_told;

	if (i == 64)
		return;
	told_of[i] = fom;
	snprintf(told[i], sizeof(told[i]), "%s", report);
	nr_told = i + 1;
}

/* How often it was told of a fom in a state. */
static unsigned int told_that(const struct test_fom *t, const char *what)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < nr_told; i++)
		n += told_of[i] == &t->fom && strstr(told[i], what);
	return n;
}

/*
 * FO-34: who waits, is ready, or executes for long is reported, again each period; who waits for
 * nothing is, and a tick that does not return; not a quiet one
 */
TEST(hung)
{
	struct fom_domain_options options = {
		.localities = 2, .hung_age_ns = 60 * DXT_MS, .hung_period_ns = 10 * DXT_MS,
		.hung = is_told,
	};
	ThreadManagerPolicy policy = fom_policy_of(2, 100);
	struct fom_type quiet = test_type;
	struct test_fom waiting, running, ready, silent;
	struct place p;

	nr_told = 0;
	quiet.flags = FOM_QUIET;
	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	ASSERT_EQ(0, begins(&p, &waiting, waits));
	make(&p, &silent, waits);
	silent.fom.type = &quiet;
	ASSERT_EQ(0, fom_queue(&silent.fom));
	ASSERT_TRUE(WAITS(&waiting));
	ASSERT_TRUE(WAITS(&silent));
	make(&p, &running, stays);
	running.closed = true;
	ASSERT_EQ(0, fom_queue(&running.fom));
	ASSERT_TRUE(DXT_SOON(running.entered));
	ASSERT_EQ(0, begins(&p, &ready, NULL));
	EXPECT_TRUE(DXT_SOON(told_that(&waiting, "phase 2 one, locality 0: waiting for") >= 2));
	EXPECT_TRUE(DXT_SOON(told_that(&running, "phase 0 init, locality 0: running for") >= 2));
	EXPECT_TRUE(DXT_SOON(told_that(&ready, ": ready for") >= 2));
	EXPECT_EQ(0, told_that(&silent, ""));
	EXPECT_LE(2, waiting.hung);
	EXPECT_LE(2, running.hung);
	EXPECT_EQ(0, silent.hung);
	running.closed = false;
	EXPECT_TRUE(ENDS(&ready));
	EXPECT_EQ(0, goes(&waiting));
	EXPECT_EQ(0, goes(&silent));
	EXPECT_EQ(0, place_down(&p));
}

static bool in_log(const char *text)
{
	char line[512];
	bool found = false;
	FILE *f = fopen(LOG, "r");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, text);
	if (f)
		fclose(f);
	return found;
}

/* FO-34: if nobody wants to be told, the log is */
TEST(hung_in_log)
{
	struct fom_domain_options options = {
		.localities = 2, .hung_age_ns = 20 * DXT_MS, .hung_period_ns = 10 * DXT_MS,
	};
	ThreadManagerPolicy policy = fom_policy_of(2, 100);
	struct test_fom t;
	struct place p;

	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	ASSERT_EQ(0, begins(&p, &t, waits));
	EXPECT_TRUE(DXT_SOON(in_log("of test, service test, phase 2 one, locality 0: waiting for")));
	EXPECT_EQ(0, goes(&t));
	EXPECT_EQ(0, place_down(&p));
}

/* --- many ---------------------------------------------------------------------------------------- */

/* Where each turn takes a thread of its own to be dispatched, a tenth of them will do. */
#define MANY	(dxt_mode() == DXK_DISPATCH_THREAD ? 10000U : 100000U)

/* FO-53: 10^5 foms that wait need no thread more than 10, nor do they when all are woken */
TEST(many)
{
	const unsigned int many = MANY;
	ThreadManagerPolicy policy = fom_policy_of(2, many);
	struct fom_domain_options options = options_of(2);
	struct test_fom *t = calloc(many, sizeof(*t));
	unsigned int threads, waiting = 0, ended = 0;
	struct place p;

	ASSERT_NE(NULL, t);
	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	for (unsigned int i = 0; i < many; i++) {
		make(&p, &t[i], waits);
		t[i].home = i;
		ASSERT_EQ(0, fom_queue_wait(&t[i].fom, -1));
		if (i == 10)
			threads = dxt_threads();
		dxt_tell("%u foms wait", i);
	}
	EXPECT_TRUE(DXT_UNTIL(&p.t, dxt_num(&p.t, "pools/wait_use") == many));
	EXPECT_EQ(threads, dxt_threads());
	for (unsigned int i = 0; i < many; i++) {
		waiting += fom_state(&t[i].fom) == FOM_WAITING;
		ASSERT_EQ(0, goes(&t[i]));
		dxt_tell("%u foms are woken", i);
	}
	EXPECT_EQ(many, waiting);
	EXPECT_EQ(0, fom_service_idle_wait(&p.s, FOM_FOREVER));
	EXPECT_EQ(threads, dxt_threads());
	for (unsigned int i = 0; i < many; i++)
		ended += t[i].finis == 1 && t[i].ticks == 2 && !t[i].wrong;
	EXPECT_EQ(many, ended);
	EXPECT_EQ(0, place_down(&p));
	free(t);
}

TEST_HARNESS_MAIN
