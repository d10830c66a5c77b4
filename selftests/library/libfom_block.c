// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block markers of foms (FO-34 .. FO-42).
 */
#define _GNU_SOURCE
#include "library/libfom.h"

FIXTURE(blocks) {
	struct place p;
};

FIXTURE_SETUP(blocks)
{
	ASSERT_EQ(0, place_up(&self->p, 1, 1));
}

FIXTURE_TEARDOWN(blocks)
{
	EXPECT_EQ(0, place_down(&self->p));
}

static _Atomic int block_rc, leave_rc;

/* Is out of its locality while it is blocked. */
static bool blocks(struct test_fom *t)
{
	leaves(t);
	block_rc = fom_block_enter(&t->fom);
	if (block_rc) {
		enters(t);
		return false;
	}
	t->wrong += locality_here() != -EPERM || fom_current() != &t->fom;
	return true;
}

static void unblocks(struct test_fom *t)
{
	leave_rc = fom_block_leave(&t->fom);
	enters(t);
	t->wrong += leave_rc || locality_here() != (int)fom_locality(&t->fom);
}

/* Blocks until it is let go, then ends. */
static int stays_blocked(struct test_fom *t)
{
	if (!blocks(t))
		return -EAGAIN;
	t->entered++;
	while (t->closed)
		usleep(100);
	unblocks(t);
	note(t->name);
	return ends(t);
}

/* FO-35, FO-36: one locality, one handler: while a fom blocks others are ticked */
TEST_F(blocks, others_are_ticked)
{
	struct test_fom a, b;

	for (unsigned int i = 0; i < 20; i++) {
		make(&self->p, &a, stays_blocked);
		a.closed = true;
		ASSERT_EQ(0, fom_queue(&a.fom));
		ASSERT_TRUE(DXT_SOON(a.entered));
		EXPECT_EQ(FOM_RUNNING, fom_state(&a.fom));
		ASSERT_EQ(0, begins(&self->p, &b, NULL));
		ASSERT_TRUE(ENDS(&b));
		EXPECT_NE(a.thread, b.thread);
		EXPECT_EQ(0, a.finis);
		a.closed = false;
		ASSERT_TRUE(ENDS(&a));
		EXPECT_EQ(0, a.wrong);
	}
}

/* Waits once it has been blocked; ends at the tick after that. */
static int blocks_then_waits(struct test_fom *t)
{
	if (t->ticks == 2)
		return ends(t);
	if (!blocks(t))
		return -EAGAIN;
	t->entered++;
	while (t->closed)
		usleep(100);
	unblocks(t);
	return FSO_WAIT;
}

/* FO-37: a wake of one that blocks is kept for its next wait */
TEST_F(blocks, wake_is_kept)
{
	struct test_fom t;

	make(&self->p, &t, blocks_then_waits);
	t.closed = true;
	ASSERT_EQ(0, fom_queue(&t.fom));
	ASSERT_TRUE(DXT_SOON(t.entered));
	EXPECT_EQ(0, fom_wakeup(&t.fom));
	dxt_sleep_ms(20);
	EXPECT_EQ(1, t.ticks);
	EXPECT_EQ(FOM_RUNNING, fom_state(&t.fom));
	t.closed = false;
	EXPECT_TRUE(ENDS(&t));
	EXPECT_EQ(2, t.ticks);
	EXPECT_EQ(0, t.wrong);
}

static struct chan rung;
static struct fom_callback rings;
static _Atomic unsigned int rang;

static void is_rung(struct fom_callback *cb)
{
	rang++;
	fom_wakeup(cb->fom);
}

static int is_rung_while_blocked(struct test_fom *t)
{
	if (t->ticks == 1)
		fom_callback_arm(&rings, &t->fom, &rung);
	return blocks_then_waits(t);
}

/* FO-37: a call-back of one that blocks is kept, too: its bottom half comes when it waits */
TEST_F(blocks, callback_is_kept)
{
	struct test_fom t;

	chan_init(&rung);
	fom_callback_init(&rings, NULL, is_rung);
	make(&self->p, &t, is_rung_while_blocked);
	t.closed = true;
	ASSERT_EQ(0, fom_queue(&t.fom));
	ASSERT_TRUE(DXT_SOON(t.entered));
	chan_signal(&rung);
	dxt_sleep_ms(20);
	EXPECT_EQ(0, rang);
	EXPECT_EQ(1, t.ticks);
	t.closed = false;
	EXPECT_TRUE(ENDS(&t));
	EXPECT_EQ(1, rang);
	EXPECT_EQ(2, t.ticks);
	EXPECT_EQ(0, t.wrong);
	fom_callback_fini(&rings);
	chan_fini(&rung);
}

static int notes_and_ends(struct test_fom *t)
{
	note(t->name);
	t->entered++;
	while (t->closed)
		usleep(100);
	return ends(t);
}

/* FO-38: who comes back goes on after the tick that is executed, before all that are ready */
TEST_F(blocks, leave_comes_first)
{
	struct test_fom a, gate, t[50];

	make(&self->p, &a, stays_blocked);
	a.closed = true;
	a.name = 'A';
	ASSERT_EQ(0, fom_queue(&a.fom));
	ASSERT_TRUE(DXT_SOON(a.entered));
	make(&self->p, &gate, notes_and_ends);
	gate.closed = true;
	gate.name = 'g';
	ASSERT_EQ(0, fom_queue(&gate.fom));
	ASSERT_TRUE(DXT_SOON(gate.entered));
	for (unsigned int i = 0; i < 50; i++) {
		make(&self->p, &t[i], notes_and_ends);
		t[i].name = 't';
		ASSERT_EQ(0, fom_queue(&t[i].fom));
	}
	a.closed = false;
	dxt_sleep_ms(20);
	EXPECT_EQ(0, a.finis);
	gate.closed = false;
	ASSERT_TRUE(ENDS(&a));
	for (unsigned int i = 0; i < 50; i++)
		ASSERT_TRUE(ENDS(&t[i]));
	EXPECT_EQ(0, strncmp("gAttt", trace.text, 5));
	EXPECT_EQ(0, a.wrong);
}

static int marks_wrongly(struct test_fom *t)
{
	t->wrong += fom_block_leave(&t->fom) != -EPERM;
	if (!blocks(t))
		return -EAGAIN;
	t->wrong += fom_block_enter(&t->fom) != -EBUSY || fom_block_enter_anyway(&t->fom) != -EBUSY;
	unblocks(t);
	t->wrong += fom_block_leave(&t->fom) != -EPERM;
	return ends(t);
}

static int returns_blocked(struct test_fom *t)
{
	fom_block_enter_anyway(&t->fom);
	return FSO_WAIT;
}

/* FO-39: no enter within another one, no leave without one; not of others' foms */
TEST_F(blocks, pairs)
{
	struct test_fom t;

	ASSERT_EQ(0, begins(&self->p, &t, marks_wrongly));
	EXPECT_TRUE(ENDS(&t));
	EXPECT_EQ(0, t.rc);
	EXPECT_EQ(0, t.wrong);
	ASSERT_EQ(0, begins(&self->p, &t, waits));
	EXPECT_EQ(-EPERM, fom_block_enter(&t.fom));
	EXPECT_EQ(-EPERM, fom_block_leave(&t.fom));
	ASSERT_EQ(0, goes(&t));
	EXPECT_TRUE(ENDS(&t));
}

/* FO-39: a tick ends outside of its markers */
TEST(traps_of_blocks)
{
	EXPECT_TRUE(TRAPS(trap_in_turn(returns_blocked)));
}

#define SPARES	5

static unsigned int nr_threads(struct place *p)
{
	return (unsigned int)(dxt_num(&p->t, "pools/thread_use") +
			      dxt_num(&p->t, "pools/thread_spares"));
}

static bool sleeps(struct place *p, unsigned int id)
{
	char state[32];

	return dxt_text(&p->t, state, sizeof(state), "threads/%u/state", id) &&
	       !strcmp(state, "available");
}

/*
 * Is one there for the next turn, and one for what follows when that blocks? Who sleeps is, who is
 * between two turns is not, and what is not there yet comes. Spares have the last numbers.
 */
static bool two_can(struct place *p)
{
	unsigned int nr = 1 + SPARES - nr_threads(p) + sleeps(p, 1);

	for (unsigned int i = 0; i < SPARES; i++)
		nr += sleeps(p, 499 - i);
	return nr >= 2;
}

/*
 * FO-40, FO-41, FO-42, D-17: as many block as there are spares, and one more fom is ticked; the
 * next one is refused, and nothing has changed; spares above those that are kept end when they
 * are not needed
 */
TEST(spares)
{
	ThreadManagerPolicy policy = fom_policy_of(1, 100);
	struct fom_domain_options options = options_of(1);
	struct test_fom t[SPARES], u;
	struct place p;

	policy.TPMaxSpares = SPARES;
	policy.TPMinSpares = 1;
	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	ASSERT_TRUE(DXT_SOON(nr_threads(&p) == 2));
	for (unsigned int i = 0; i < SPARES; i++) {
		make(&p, &t[i], stays_blocked);
		t[i].closed = true;
		ASSERT_TRUE(DXT_SOON(two_can(&p)));
		ASSERT_EQ(0, fom_queue(&t[i].fom));
		ASSERT_TRUE(DXT_SOON(t[i].entered || t[i].finis));
		ASSERT_EQ(0, block_rc);
		ASSERT_EQ(0, begins(&p, &u, NULL));
		ASSERT_TRUE(ENDS(&u));
	}
	EXPECT_EQ(1 + SPARES, nr_threads(&p));
	make(&p, &u, stays_blocked);
	ASSERT_EQ(0, fom_queue(&u.fom));
	EXPECT_TRUE(DXT_UNTIL(&p.t, u.finis));
	EXPECT_EQ(-EAGAIN, block_rc);
	EXPECT_EQ(-EAGAIN, u.rc);
	for (unsigned int i = 0; i < SPARES; i++) {
		t[i].closed = false;
		EXPECT_TRUE(ENDS(&t[i]));
		EXPECT_EQ(0, t[i].wrong);
	}
	ASSERT_EQ(0, MTExecutiveGetPolicy(p.mte, &policy));
	policy.TPSpareIdle = 20;
	ASSERT_EQ(0, MTExecutiveSetPolicy(p.mte, &policy, NULL));
	EXPECT_TRUE(DXT_SOON(nr_threads(&p) == 2));
	EXPECT_EQ(0, place_down(&p));
}

static int blocks_anyway(struct test_fom *t)
{
	leaves(t);
	block_rc = fom_block_enter(&t->fom);
	t->wrong += fom_block_enter_anyway(&t->fom) != 0;
	t->entered++;
	while (t->closed)
		usleep(100);
	leave_rc = fom_block_leave(&t->fom);
	enters(t);
	return ends(t);
}

/* FO-41, D-18: no thread to be had: -EAGAIN; who blocks nevertheless blocks the others, and all end */
TEST(no_spare)
{
	ThreadManagerPolicy policy = fom_policy_of(1, 100);
	struct fom_domain_options options = options_of(1);
	struct test_fom t, u;
	struct place p;

	policy.TPMinSpares = policy.TPMaxSpares = 0;
	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	make(&p, &t, blocks_anyway);
	t.closed = true;
	ASSERT_EQ(0, fom_queue(&t.fom));
	ASSERT_TRUE(DXT_SOON(t.entered));
	EXPECT_EQ(-EAGAIN, block_rc);
	t.closed = false;
	EXPECT_TRUE(ENDS(&t));
	ASSERT_EQ(0, begins(&p, &u, NULL));
	EXPECT_TRUE(ENDS(&u));
	EXPECT_EQ(0, leave_rc);
	EXPECT_EQ(0, t.wrong);
	EXPECT_EQ(0, place_down(&p));
}

#ifndef __SANITIZE_ADDRESS__
/* What the process may have beside what it has, and a stack of a thread is more. */
static int bound_memory(struct rlimit *old)
{
	FILE *f = fopen("/proc/self/statm", "r");
	struct rlimit limit;
	unsigned long pages;
	int rc = f && fscanf(f, "%lu", &pages) == 1 ? getrlimit(RLIMIT_AS, old) : -1;

	if (f)
		fclose(f);
	limit = *old;
	limit.rlim_cur = pages * (rlim_t)getpagesize() + (1 << 20);
	return rc ? rc : setrlimit(RLIMIT_AS, &limit);
}

/* Nobody takes its place: it has nothing to do then. */
static int blocks_in_vain(struct test_fom *t)
{
	if (blocks(t))
		unblocks(t);
	return ends(t);
}

/* FO-36, FO-41, D-18: a spare that cannot be made is waited for, and then it is told; later it can */
TEST(spare_fails)
{
	ThreadManagerPolicy policy = fom_policy_of(1, 100);
	struct fom_domain_options options = options_of(1);
	struct test_fom t, u;
	struct rlimit old;
	struct place p;

	policy.TPMinSpares = 0;
	policy.TPMaxSpares = 2;
	policy.TPStackSize = 8 << 20;
	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	ASSERT_EQ(0, bound_memory(&old));
	ASSERT_EQ(0, begins(&p, &t, blocks_in_vain));
	ASSERT_EQ(0, begins(&p, &u, NULL));
	EXPECT_TRUE(DXT_SOON(t.finis));
	EXPECT_EQ(-EAGAIN, block_rc);
	EXPECT_EQ(1, dxt_num(&p.t, "stats/block_refused"));
	EXPECT_TRUE(ENDS(&u));
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &old));
	make(&p, &t, stays_blocked);
	t.closed = true;
	ASSERT_EQ(0, fom_queue(&t.fom));
	EXPECT_TRUE(DXT_SOON(t.entered));
	EXPECT_EQ(0, block_rc);
	ASSERT_EQ(0, begins(&p, &u, NULL));
	EXPECT_TRUE(ENDS(&u));
	t.closed = false;
	EXPECT_TRUE(ENDS(&t));
	EXPECT_EQ(0, t.wrong);
	EXPECT_EQ(0, place_down(&p));
}
#endif

/* --- storm ------------------------------------------------------------------------------ */

#define CROWD	12
#define ROUNDS	60

/* Blocks now and then, for a moment; what is in the locality is one at a time all the time. */
static int is_stormy(struct test_fom *t)
{
	if (t->ticks % 3 == 0 && blocks(t)) {
		usleep(t->ticks % 7 * 50);
		unblocks(t);
	}
	if (t->ticks == ROUNDS)
		return ends(t);
	fom_wakeup(&t->fom);
	return FSO_WAIT;
}

/* FO-6, FO-38, S-14: two localities, all block and come back: never two in one */
TEST(storm)
{
	struct test_fom t[CROWD];
	struct place p;

	ASSERT_EQ(0, place_up(&p, 2, 2));
	for (unsigned int i = 0; i < CROWD; i++) {
		make(&p, &t[i], is_stormy);
		t[i].home = i;
		ASSERT_EQ(0, fom_queue_wait(&t[i].fom, -1));
	}
	for (unsigned int i = 0; i < CROWD; i++) {
		EXPECT_TRUE(DXT_UNTIL(&p.t, t[i].finis));
		EXPECT_EQ(0, t[i].wrong);
	}
	EXPECT_EQ(0, place_down(&p));
}

#define FEW	3

/*
 * FO-6, FO-40, FO-41, B-1: the same with spares that come and go, and are too few: who is refused
 * goes on in its locality, and there are never more threads than there may be
 */
TEST(storm_of_spares)
{
	ThreadManagerPolicy policy = fom_policy_of(2, 100);
	struct fom_domain_options options = options_of(2);
	unsigned int over = 0, ended = 0;
	struct test_fom t[CROWD];
	struct place p;

	policy.TPMaxSpares = FEW;
	policy.TPMinSpares = 0;
	policy.TPSpareIdle = 1;
	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	for (unsigned int i = 0; i < CROWD; i++) {
		make(&p, &t[i], is_stormy);
		t[i].home = i;
		ASSERT_EQ(0, fom_queue_wait(&t[i].fom, -1));
	}
	for (unsigned int i = 0; i < CROWD; i++) {
		EXPECT_TRUE(DXT_UNTIL(&p.t, (over += nr_threads(&p) > 2 + FEW, t[i].finis)));
		ended += t[i].finis == 1 && t[i].ticks == ROUNDS && !t[i].wrong;
	}
	EXPECT_EQ(CROWD, ended);
	EXPECT_EQ(0, over);
	EXPECT_LT(0, dxt_num(&p.t, "stats/blocked"));
	EXPECT_EQ(0, place_down(&p));
}

/* Blocks all the time, until it is told to end. */
static int is_amid_stop(struct test_fom *t)
{
	unsigned int l = fom_locality(&t->fom);

	if (fom_phase(&t->fom) == FAILED)
		return ends(t);
	leaves(t);
	if (!fom_block_enter(&t->fom)) {
		t->entered++;
		usleep(t->ticks % 7 * 50);
		if (fom_block_leave(&t->fom)) {
			/* it goes on elsewhere; leaves() counts it as one that is there */
			t->inside++;
			in_locality[l]++;
			return -ECANCELED;
		}
	}
	enters(t);
	fom_wakeup(&t->fom);
	return FSO_WAIT;
}

/* FO-38, FO-49, B-1: a Stop amid the storm: all end, once */
TEST(storm_amid_stop)
{
	struct test_fom t[CROWD];
	struct place p;

	for (unsigned int round = 0; round < 8; round++) {
		ASSERT_EQ(0, place_up(&p, 2, 2));
		for (unsigned int i = 0; i < CROWD; i++) {
			make(&p, &t[i], is_amid_stop);
			t[i].home = i;
			ASSERT_EQ(0, fom_queue_wait(&t[i].fom, -1));
		}
		ASSERT_TRUE(DXT_SOON(t[round].entered));
		dxt_sleep_ms(round);
		EXPECT_EQ(0, MTExecutiveStop(p.mte, DXK_STOP_CANCEL, -1));
		crowded = 0;
		EXPECT_EQ(0, place_down(&p));
		for (unsigned int i = 0; i < CROWD; i++)
			EXPECT_EQ(1, t[i].finis);
	}
}

static int ends_between_markers(struct test_fom *t)
{
	leaves(t);
	fom_block_enter_anyway(&t->fom);
	pthread_exit(NULL);
}

/* FO-39, B-1: a thread that ends between its markers ends its fom; the locality goes on */
TEST_F(blocks, thread_ends)
{
	struct test_fom t;

	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_EQ(0, begins(&self->p, &t, ends_between_markers));
		ASSERT_TRUE(ENDS(&t));
		EXPECT_EQ(-EOWNERDEAD, t.rc);
		EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
		ASSERT_EQ(0, begins(&self->p, &t, NULL));
		ASSERT_TRUE(ENDS(&t));
	}
}

static void *stops_service(void *service)
{
	return (void *)(long)fom_service_stop(service);
}

/* FO-49: a service whose fom is between its markers is not idle */
TEST_F(blocks, service_stops)
{
	struct test_fom t;
	pthread_t thread;
	void *rc;

	make(&self->p, &t, stays_blocked);
	t.closed = true;
	ASSERT_EQ(0, fom_queue(&t.fom));
	ASSERT_TRUE(DXT_SOON(t.entered));
	ASSERT_EQ(0, pthread_create(&thread, NULL, stops_service, &self->p.s));
	EXPECT_TRUE(DXT_SOON(fom_service_state(&self->p.s) == FOM_SERVICE_STOPPING));
	dxt_sleep_ms(20);
	EXPECT_EQ(FOM_SERVICE_STOPPING, fom_service_state(&self->p.s));
	t.closed = false;
	pthread_join(thread, &rc);
	EXPECT_EQ(NULL, rc);
	EXPECT_EQ(1, t.finis);
	EXPECT_EQ(0, t.wrong);
}

static char told[256];
static _Atomic unsigned int nr_told;

static void is_told(struct fom *fom, const char *report)
{
	(void)fom;
	if (nr_told || !strstr(report, "blocked"))
		return;
	snprintf(told, sizeof(told), "%s", report);
	nr_told = 1;
}

/* FO-34: one that blocks for long is reported as such */
TEST(hung)
{
	struct fom_domain_options options = {
		.localities = 1, .hung_age_ns = 50 * DXT_MS, .hung_period_ns = 10 * DXT_MS,
		.hung = is_told,
	};
	ThreadManagerPolicy policy = fom_policy_of(1, 100);
	struct test_fom t;
	struct place p;

	nr_told = 0;
	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	make(&p, &t, stays_blocked);
	t.closed = true;
	ASSERT_EQ(0, fom_queue(&t.fom));
	EXPECT_TRUE(DXT_SOON(nr_told));
	EXPECT_NE(NULL, strstr(told, "locality 0: blocked for"));
	t.closed = false;
	EXPECT_TRUE(ENDS(&t));
	EXPECT_EQ(0, place_down(&p));
}

static void *stops_all(void *mte)
{
	return (void *)(long)MTExecutiveStop(mte, DXK_STOP_CANCEL, -1);
}

static int blocks_amid_stop(struct test_fom *t)
{
	if (t->ticks > 1)
		return ends(t);
	leaves(t);
	block_rc = fom_block_enter(&t->fom);
	t->entered++;
	while (t->closed)
		usleep(100);
	leave_rc = fom_block_leave(&t->fom);
	t->wrong += leave_rc == -ECANCELED && locality_here() != -EPERM;
	enters(t);
	return FSO_WAIT;
}

/* FO-38, FO-49: one that blocks while the executive is stopped comes back, and ends */
TEST(stop)
{
	struct test_fom t;
	pthread_t thread;
	struct place p;
	void *rc;

	ASSERT_EQ(0, place_up(&p, 1, 1));
	make(&p, &t, blocks_amid_stop);
	t.closed = true;
	ASSERT_EQ(0, fom_queue(&t.fom));
	ASSERT_TRUE(DXT_SOON(t.entered));
	ASSERT_EQ(0, pthread_create(&thread, NULL, stops_all, p.mte));
	dxt_sleep_ms(20);
	EXPECT_EQ(0, t.finis);
	t.closed = false;
	EXPECT_TRUE(ENDS(&t));
	EXPECT_EQ(-ECANCELED, t.rc);
	pthread_join(thread, &rc);
	EXPECT_EQ(NULL, rc);
	EXPECT_EQ(0, t.wrong);
	EXPECT_EQ(0, place_down(&p));
}

TEST_HARNESS_MAIN
