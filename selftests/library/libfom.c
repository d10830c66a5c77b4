// SPDX-License-Identifier: GPL-2.0-only
/*
 * Foms: phases, turns, waits and wakes (FO-2 .. FO-21).
 */
#define _GNU_SOURCE
#include "library/libfom.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>

FIXTURE(foms) {
	struct place p;
	struct test_fom t;
};

FIXTURE_SETUP(foms)
{
	ASSERT_EQ(0, place_up(&self->p, 2, 2));
}

FIXTURE_TEARDOWN(foms)
{
	EXPECT_EQ(0, place_down(&self->p));
}

/* --- phases ------------------------------------------------------------------------- */

static uint64_t turn_ids[2];

/* Through phases 2, 3, 4 without a wait; notes in which turn each tick is. */
static int hurries(struct test_fom *t)
{
	int phase = fom_phase(&t->fom);

	note((char)('0' + phase));
	if (t->ticks == 1)
		turn_ids[0] = (uint64_t)gettid() << 32 | CurrentRequest()->RQETurn;
	turn_ids[1] = (uint64_t)gettid() << 32 | CurrentRequest()->RQETurn;
	if (phase == THREE)
		return ends(t);
	fom_phase_set(&t->fom, phase == FOM_PHASE_INIT ? ONE : phase + 1);
	return FSO_AGAIN;
}

/* FO-10, FO-11: phases from INIT to FINISH, in one turn of one thread; one fini, no touch after it */
TEST_F(foms, phases_from_init_to_finish)
{
	struct test_fom *t = &self->t;

	make(&self->p, t, hurries);
	EXPECT_EQ(FOM_PHASE_INIT, fom_phase(&t->fom));
	EXPECT_EQ(FOM_INIT, fom_state(&t->fom));
	ASSERT_EQ(0, fom_queue(&t->fom));
	EXPECT_TRUE(ENDS(t));
	EXPECT_STREQ("0234", trace.text);
	EXPECT_EQ(turn_ids[0], turn_ids[1]);
	EXPECT_EQ(4, fom_transitions(&t->fom));
	EXPECT_EQ(0, t->rc);
	/* what is touched now differs from the copy */
	struct fom copy = t->fom;

	EXPECT_EQ(-ESRCH, fom_wakeup(&t->fom));
	ASSERT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
	EXPECT_EQ(0, memcmp(&copy, &t->fom, sizeof(copy)));
	EXPECT_EQ(1, t->finis);
	EXPECT_EQ(0, t->wrong);
}

static int fails_at_once(struct test_fom *t)
{
	if (fom_phase(&t->fom) == FAILED)
		return ends(t);
	return -EDOM;
}

static int moves_to_failed(struct test_fom *t)
{
	if (fom_phase(&t->fom) == FAILED)
		return -EIO;
	fom_phase_move(&t->fom, -ERANGE, FAILED);
	return FSO_AGAIN;
}

/* FO-14: what fails goes to the failure phase, and its result is known after its end */
TEST_F(foms, failures)
{
	struct fom_type plain = test_type;
	struct test_fom *t = &self->t;

	ASSERT_EQ(0, begins(&self->p, t, fails_at_once));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(-EDOM, t->rc);
	EXPECT_EQ(-EDOM, fom_rc(&t->fom));
	EXPECT_EQ(2, t->ticks);
	/* who fails there has ended */
	ASSERT_EQ(0, begins(&self->p, t, moves_to_failed));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(-EIO, t->rc);
	/* and who has no such phase */
	plain.failure = 0;
	make(&self->p, t, fails_at_once);
	t->fom.type = &plain;
	ASSERT_EQ(0, fom_queue(&t->fom));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(-EDOM, t->rc);
	EXPECT_EQ(1, t->ticks);
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
}

static int to_no_phase(struct test_fom *t) { fom_phase_set(&t->fom, PHASES); return FSO_AGAIN; }
static int below_all(struct test_fom *t) { fom_phase_set(&t->fom, -1); return FSO_AGAIN; }

static int against_the_set(struct test_fom *t)
{
	fom_phase_set(&t->fom, TWO);
	fom_phase_set(&t->fom, ONE);
	return FSO_AGAIN;
}

static int fails_into_a_plain_one(struct test_fom *t)
{
	fom_phase_move(&t->fom, -EIO, TWO);
	return FSO_AGAIN;
}

static int returns_nonsense(struct test_fom *t) { (void)t; return 3; }

static int ends_and_goes_on(struct test_fom *t)
{
	ends(t);
	return FSO_AGAIN;
}

static int finis_itself(struct test_fom *t) { fom_fini(&t->fom); return FSO_WAIT; }
static int queues_itself(struct test_fom *t) { fom_queue(&t->fom); return FSO_WAIT; }

/* FO-13, FO-14, FO-15: what may never be is a trap */
TEST(traps)
{
	EXPECT_TRUE(TRAPS(trap_in_turn(to_no_phase)));
	EXPECT_TRUE(TRAPS(trap_in_turn(below_all)));
	EXPECT_TRUE(TRAPS(trap_in_turn(against_the_set)));
	EXPECT_TRUE(TRAPS(trap_in_turn(fails_into_a_plain_one)));
	EXPECT_TRUE(TRAPS(trap_in_turn(returns_nonsense)));
	EXPECT_TRUE(TRAPS(trap_in_turn(ends_and_goes_on)));
	EXPECT_TRUE(TRAPS(trap_in_turn(finis_itself)));
	EXPECT_TRUE(TRAPS(trap_in_turn(queues_itself)));
	EXPECT_FALSE(TRAPS(trap_in_turn(ends)));
}

static void other_sets_phase(void)
{
	static struct test_fom t;
	static struct place p;

	if (place_up(&p, 1, 1) || begins(&p, &t, waits) || !WAITS(&t))
		_exit(1);
	fom_phase_set(&t.fom, TWO);
}

static void bad_type(uint32_t nr, uint32_t failure, bool ops)
{
	struct fom_type type = test_type;
	struct fom_service s = { 0 };
	struct fom f;

	type.nr_phases = nr;
	type.failure = failure;
	type.ops = ops ? &test_ops : NULL;
	fom_init(&f, &type, &s);
}

/* FO-15: phases are the fom's own to change; types have to be whole */
TEST(traps_of_types)
{
	EXPECT_TRUE(TRAPS(other_sets_phase()));
	EXPECT_FALSE(TRAPS(bad_type(PHASES, FAILED, true)));
	EXPECT_TRUE(TRAPS(bad_type(PHASES, ONE, true)));
	EXPECT_TRUE(TRAPS(bad_type(PHASES, PHASES, true)));
	EXPECT_TRUE(TRAPS(bad_type(1, 0, true)));
	EXPECT_TRUE(TRAPS(bad_type(65, 0, true)));
	EXPECT_TRUE(TRAPS(bad_type(PHASES, FAILED, false)));
}

/* --- localities ---------------------------------------------------------------------- */

static unsigned int localities = 3;

/* 20 waits, each ended by itself; its locality is what its home says in each tick. */
static int stays_home(struct test_fom *t)
{
	t->wrong += fom_locality(&t->fom) != t->home % localities;
	if (t->ticks == 20)
		return ends(t);
	fom_wakeup(&t->fom);
	return FSO_WAIT;
}

/* FO-2: home is home % localities, in every turn, and asked for once */
TEST(home)
{
	struct test_fom *t = calloc(1000, sizeof(*t));
	unsigned int ticks = 0, wrong = 0;
	struct place p;

	ASSERT_EQ(0, place_up(&p, 3, localities));
	EXPECT_EQ(localities, fom_domain_localities(p.d));
	for (unsigned int i = 0; i < 1000; i++) {
		make(&p, &t[i], stays_home);
		t[i].home = i * 7;
		ASSERT_EQ(0, fom_queue_wait(&t[i].fom, -1));
	}
	EXPECT_EQ(0, place_down(&p));
	for (unsigned int i = 0; i < 1000; i++) {
		ticks += t[i].ticks;
		wrong += t[i].wrong;
	}
	EXPECT_EQ(20000, ticks);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(1000, homes_asked);
	free(t);
}

/* Three foms of a locality behind one that stays. */
static bool behind_a_gate(struct place *p, struct test_fom *gate, struct test_fom *t)
{
	make(p, gate, stays);
	gate->closed = true;
	if (fom_queue(&gate->fom) || !DXT_SOON(gate->entered))
		return false;
	for (unsigned int i = 0; i < 3; i++) {
		make(p, &t[i], notes);
		t[i].name = (char)('a' + i);
	}
	return true;
}

/* FO-3, FO-21: new and woken foms enter at the tail, in the order of the calls */
TEST_F(foms, fifo)
{
	struct test_fom gate, t[3];

	for (unsigned int round = 0; round < 50; round++) {
		ASSERT_TRUE(behind_a_gate(&self->p, &gate, t));
		ASSERT_EQ(0, fom_queue(&t[0].fom));
		gate.closed = false;
		ASSERT_TRUE(ENDS(&gate));
		ASSERT_TRUE(WAITS(&t[0]));
		trace_clear();
		make(&self->p, &gate, stays);
		gate.closed = true;
		ASSERT_EQ(0, fom_queue(&gate.fom));
		ASSERT_TRUE(DXT_SOON(gate.entered));
		/* b new, a woken, c new */
		ASSERT_EQ(0, fom_queue(&t[1].fom));
		ASSERT_EQ(0, fom_wakeup(&t[0].fom));
		ASSERT_EQ(0, fom_queue(&t[2].fom));
		gate.closed = false;
		ASSERT_TRUE(DXT_SOON(trace.nr == 3));
		ASSERT_STREQ("bac", trace.text);
		for (unsigned int i = 0; i < 3; i++)
			ASSERT_TRUE(WAITS(&t[i]));
		/* all woken, by the thread that wakes: A, B, C */
		ASSERT_TRUE(ENDS(&gate));
		trace_clear();
		make(&self->p, &gate, stays);
		gate.closed = true;
		ASSERT_EQ(0, fom_queue(&gate.fom));
		ASSERT_TRUE(DXT_SOON(gate.entered));
		for (unsigned int i = 0; i < 3; i++)
			ASSERT_EQ(0, fom_wakeup(&t[i].fom));
		gate.closed = false;
		ASSERT_TRUE(DXT_SOON(trace.nr == 3));
		ASSERT_STREQ("abc", trace.text);
		for (unsigned int i = 0; i < 3; i++) {
			ASSERT_TRUE(WAITS(&t[i]));
			ASSERT_EQ(0, goes(&t[i]));
			ASSERT_TRUE(ENDS(&t[i]));
		}
		ASSERT_TRUE(ENDS(&gate));
	}
}

#define CROWD	100

struct waker {
	struct test_fom *t;
	unsigned int seed;
	long bad;
};

static void *wakes_many(void *arg)
{
	struct waker *w = arg;

	for (unsigned int i = 0; i < 2000; i++)
		w->bad += fom_wakeup(&w->t[rand_r(&w->seed) % CROWD].fom) != 0;
	return NULL;
}

static void crowd_test(struct __test_metadata *_metadata, unsigned int handlers)
{
	struct test_fom *t = calloc(CROWD, sizeof(*t));
	ThreadManagerPolicy policy = fom_policy_of(4, 1000);
	struct fom_domain_options options = options_of(4);
	struct waker wakers[4];
	pthread_t threads[4];
	struct place p;

	options.handlers = handlers;
	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	for (unsigned int i = 0; i < CROWD; i++) {
		make(&p, &t[i], waits);
		t[i].home = i;
		ASSERT_EQ(0, fom_queue_wait(&t[i].fom, -1));
	}
	for (unsigned int i = 0; i < 4; i++) {
		wakers[i] = (struct waker){ t, i, 0 };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, wakes_many, &wakers[i]));
	}
	for (unsigned int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, wakers[i].bad);
	}
	for (unsigned int i = 0; i < CROWD; i++)
		EXPECT_EQ(0, goes(&t[i]));
	EXPECT_EQ(0, place_down(&p));
	for (unsigned int i = 0; i < CROWD; i++) {
		EXPECT_EQ(0, t[i].wrong);
		EXPECT_EQ(1, t[i].finis);
	}
	free(t);
}

/*
 * FO-4, FO-5, FO-6: whoever wakes them, a fom has one tick at a time, and so has a locality; a fom
 * that executes is RUNNING (enters() looks)
 */
TEST(one_at_a_time)
{
	crowd_test(_metadata, 1);
}

/* FO-5: with more handlers a locality has several, a fom still one */
TEST(several_handlers)
{
	crowd_test(_metadata, 4);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* FO-7: with nothing ready no thread runs; a wake begins one turn */
TEST_F(foms, idle)
{
	struct test_fom *t = &self->t;
	long long before;
	uint64_t used;

	ASSERT_EQ(0, begins(&self->p, t, waits));
	ASSERT_TRUE(WAITS(t));
	before = dxt_num(&self->p.t, "stats/dispatches");
	used = cpu_ns();
	dxt_sleep_ms(300);
	/* a handler that looks for work all the time would use all of it */
	EXPECT_GT(100 * DXT_MS, cpu_ns() - used);
	EXPECT_EQ(before, dxt_num(&self->p.t, "stats/dispatches"));
	ASSERT_EQ(0, fom_wakeup(&t->fom));
	ASSERT_TRUE(DXT_SOON(t->ticks == 2));
	EXPECT_EQ(before + 1, dxt_num(&self->p.t, "stats/dispatches"));
	ASSERT_EQ(0, goes(t));
}

/* FO-8: ticked by several threads over time; here the one that ticked it first is kept busy */
TEST(threads_change)
{
	struct test_fom t, stays_with[2];
	struct place p;
	pid_t first;

	ASSERT_EQ(0, place_up(&p, 2, 3));
	make(&p, &t, waits);
	for (unsigned int i = 0; i < 2; i++) {
		make(&p, &stays_with[i], stays);
		stays_with[i].closed = true;
		stays_with[i].home = i + 1;
	}
	ASSERT_EQ(0, fom_queue(&stays_with[0].fom));
	ASSERT_TRUE(DXT_SOON(stays_with[0].entered));
	ASSERT_EQ(0, fom_queue(&t.fom));
	ASSERT_TRUE(WAITS(&t));
	first = t.thread;
	EXPECT_NE(first, stays_with[0].thread);
	ASSERT_EQ(0, fom_queue(&stays_with[1].fom));
	ASSERT_TRUE(DXT_SOON(stays_with[1].entered));
	EXPECT_EQ(first, stays_with[1].thread);
	ASSERT_EQ(0, fom_wakeup(&t.fom));
	stays_with[0].closed = false;
	ASSERT_TRUE(DXT_SOON(t.ticks == 2) && WAITS(&t));
	EXPECT_EQ(stays_with[0].thread, t.thread);
	stays_with[1].closed = false;
	ASSERT_EQ(0, goes(&t));
	EXPECT_EQ(0, place_down(&p));
}

/* --- AGAIN ---------------------------------------------------------------------------- */

static int spins(struct test_fom *t)
{
	return t->stops ? ends(t) : FSO_AGAIN;
}

/*
 * FO-12, FO-34, S-8: who always wants to be ticked again lets others come, after its budget; and is
 * reported, though it has many turns
 */
TEST(budget)
{
	static const unsigned int budgets[] = { 1, 16 };
	struct fom_domain_options options = {
		.localities = 1, .hung_age_ns = 50 * DXT_MS, .hung_period_ns = 10 * DXT_MS,
	};
	ThreadManagerPolicy policy = fom_policy_of(1, 100);
	struct test_fom a, b;
	struct place p;

	for (unsigned int i = 0; i < ARRAY_SIZE(budgets); i++) {
		options.again_budget = budgets[i];
		ASSERT_EQ(0, place_up_with(&p, &policy, &options));
		ASSERT_EQ(0, begins(&p, &a, spins));
		ASSERT_TRUE(DXT_SOON(a.ticks > 1000));
		ASSERT_EQ(0, begins(&p, &b, NULL));
		EXPECT_TRUE(ENDS(&b));
		EXPECT_EQ(0, a.finis);
		EXPECT_TRUE(DXT_SOON(a.hung));
		a.stops = true;
		EXPECT_TRUE(ENDS(&a));
		EXPECT_EQ(0, place_down(&p));
	}
}

/* FO-12, FO-34, S-8: without a budget they do not; it is reported */
TEST(no_budget)
{
	struct fom_domain_options options = {
		.localities = 1, .again_budget = FOM_AGAIN_INLINE,
		.hung_age_ns = 50 * DXT_MS, .hung_period_ns = 10 * DXT_MS,
	};
	ThreadManagerPolicy policy = fom_policy_of(1, 100);
	struct test_fom a, b;
	struct place p;

	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	ASSERT_EQ(0, begins(&p, &a, spins));
	ASSERT_TRUE(DXT_SOON(a.ticks > 1000));
	ASSERT_EQ(0, begins(&p, &b, NULL));
	EXPECT_TRUE(DXT_SOON(a.hung && b.hung));
	EXPECT_EQ(0, b.ticks);
	a.stops = true;
	EXPECT_TRUE(ENDS(&a));
	EXPECT_TRUE(ENDS(&b));
	EXPECT_EQ(0, place_down(&p));
}

/* --- wait and wake -------------------------------------------------------------------- */

/* FO-17, FO-20: two wakes are one run, of one that waits, is to run, or runs */
TEST_F(foms, wakes_are_one)
{
	struct test_fom *t = &self->t, gate;

	/* WAITING, and by the second one READY */
	ASSERT_EQ(0, begins(&self->p, t, waits));
	ASSERT_TRUE(WAITS(t));
	make(&self->p, &gate, stays);
	gate.closed = true;
	ASSERT_EQ(0, fom_queue(&gate.fom));
	ASSERT_TRUE(DXT_SOON(gate.entered));
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(0, fom_wakeup(&t->fom));
	EXPECT_EQ(FOM_READY, fom_state(&t->fom));
	EXPECT_EQ(1, t->ticks);
	gate.closed = false;
	EXPECT_TRUE(DXT_SOON(t->ticks == 2));
	EXPECT_TRUE(WAITS(t));
	EXPECT_EQ(FOM_WOKEN, fom_reason(&t->fom));
	dxt_sleep_ms(20);
	EXPECT_EQ(2, t->ticks);
	ASSERT_EQ(0, goes(t));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(-ESRCH, fom_wakeup(&t->fom));
}

/* Waits at its first tick, while it is woken; ends at the third. */
static int is_woken_meanwhile(struct test_fom *t)
{
	t->entered++;
	while (t->closed)
		usleep(100);
	return t->ticks == 2 ? ends(t) : FSO_WAIT;
}

/* Is AGAIN meanwhile, then waits: what has woken it before its wait ends that. */
static int waits_later(struct test_fom *t)
{
	t->entered++;
	while (t->closed)
		usleep(100);
	if (t->ticks < 5)
		return FSO_AGAIN;
	return t->ticks == 5 ? FSO_WAIT : ends(t);
}

/* FO-19, FO-20: woken before it waits: its next wait is over, and no other */
TEST_F(foms, wakes_are_kept)
{
	struct test_fom *t = &self->t, gate;

	make(&self->p, t, is_woken_meanwhile);
	t->closed = true;
	ASSERT_EQ(0, fom_queue(&t->fom));
	ASSERT_TRUE(DXT_SOON(t->entered));
	EXPECT_EQ(FOM_RUNNING, fom_state(&t->fom));
	EXPECT_EQ(0, fom_wakeup(&t->fom));
	EXPECT_EQ(0, fom_wakeup(&t->fom));
	t->closed = false;
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(2, t->ticks);
	/* before its first tick */
	make(&self->p, &gate, stays);
	gate.closed = true;
	ASSERT_EQ(0, fom_queue(&gate.fom));
	ASSERT_TRUE(DXT_SOON(gate.entered));
	ASSERT_EQ(0, begins(&self->p, t, is_woken_meanwhile));
	EXPECT_EQ(0, fom_wakeup(&t->fom));
	gate.closed = false;
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(2, t->ticks);
	/* a tick that is AGAIN is no wait, by whatever turn */
	make(&self->p, t, waits_later);
	t->closed = true;
	ASSERT_EQ(0, fom_queue(&t->fom));
	ASSERT_TRUE(DXT_SOON(t->entered));
	EXPECT_EQ(0, fom_wakeup(&t->fom));
	t->closed = false;
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(6, t->ticks);
}

/* FO-12, FO-19: the same if each tick is a turn of its own */
TEST(wakes_are_kept_over_turns)
{
	ThreadManagerPolicy policy = fom_policy_of(1, 100);
	struct fom_domain_options options = options_of(1);
	struct test_fom t;
	struct place p;

	options.again_budget = 1;
	ASSERT_EQ(0, place_up_with(&p, &policy, &options));
	make(&p, &t, waits_later);
	t.closed = true;
	ASSERT_EQ(0, fom_queue(&t.fom));
	ASSERT_TRUE(DXT_SOON(t.entered));
	EXPECT_EQ(0, fom_wakeup(&t.fom));
	t.closed = false;
	EXPECT_TRUE(ENDS(&t));
	EXPECT_EQ(6, t.ticks);
	EXPECT_EQ(0, place_down(&p));
}

#define ROUNDS	5000

/* Whoever sees that a round has begun wakes, amid the end of the turn. */
static void *wakes_amid(void *arg)
{
	struct test_fom *t = arg;

	for (unsigned int i = 1; i <= ROUNDS; i++) {
		while (t->ticks < i)
			sched_yield();
		for (volatile unsigned int n = i % 512; n; n--)
			;
		if (fom_wakeup(&t->fom))
			t->wrong++;
	}
	return NULL;
}

static int races(struct test_fom *t)
{
	return t->ticks > ROUNDS ? ends(t) : FSO_WAIT;
}

/* FO-18, FO-19, R-3: one wake a round, amid the begin of the wait: one tick, none lost, none twice */
TEST_F(foms, wake_races_with_wait)
{
	struct test_fom *t = &self->t;
	pthread_t thread;

	make(&self->p, t, races);
	ASSERT_EQ(0, pthread_create(&thread, NULL, wakes_amid, t));
	ASSERT_EQ(0, fom_queue(&t->fom));
	EXPECT_TRUE(DXT_UNTIL(&self->p.t, t->finis));
	pthread_join(thread, NULL);
	EXPECT_EQ(ROUNDS + 1, t->ticks);
	EXPECT_EQ(0, t->wrong);
}

/* A fom that frees itself, and who wakes it for the last time. */
struct brief {
	struct fom fom;
	_Atomic unsigned int *gone;
};

static int brief_tick(struct fom *fom)
{
	if (fom_phase(fom) == FOM_PHASE_INIT) {
		fom_phase_set(fom, ONE);
		return FSO_WAIT;
	}
	fom_phase_set(fom, FOM_PHASE_FINISH);
	return FSO_WAIT;
}

static void brief_fini(struct fom *fom)
{
	_Atomic unsigned int *gone = ((struct brief *)fom)->gone;

	fom_fini(fom);
	memset(fom, DXT_POISON, sizeof(struct brief));
	free(fom);
	(*gone)++;
}

static const struct fom_ops brief_ops = { .tick = brief_tick, .fini = brief_fini };
static struct fom_type brief_type = { .name = "brief", .ops = &brief_ops };

/*
 * FO-11, FO-18, W-12: who wakes a fom for the last time does not touch it then; a number of one
 * that has ended wakes no other one at its address
 */
TEST_F(foms, ends_at_the_wake)
{
	_Atomic unsigned int gone = 0;
	unsigned int same = 0;
	uint64_t ids[64] = { 0 };
	void *last = NULL;
	struct test_fom *t = &self->t;
	struct brief *b;
	int rc;

	for (unsigned int i = 0; i < 1000; i++) {
		b = calloc(1, sizeof(*b));
		same += b == last;
		last = b;
		b->gone = &gone;
		fom_init(&b->fom, &brief_type, &self->p.s);
		for (unsigned int j = 0; j < ARRAY_SIZE(ids); j++)
			ASSERT_NE(ids[j], fom_id(&b->fom));
		ids[i % ARRAY_SIZE(ids)] = fom_id(&b->fom);
		ASSERT_EQ(0, fom_queue(&b->fom));
		rc = i % 2 ? fom_wakeup(&b->fom) : fom_wakeup_id(self->p.d, fom_id(&b->fom));
		ASSERT_EQ(0, rc);
		ASSERT_TRUE(DXT_SOON(gone == i + 1));
		ASSERT_EQ(-ESRCH, fom_wakeup_id(self->p.d, ids[i % ARRAY_SIZE(ids)]));
	}
	/* One at an address of which many are known. */
	ASSERT_EQ(0, begins(&self->p, t, waits));
	ASSERT_TRUE(WAITS(t));
	for (uint64_t generation = 0; generation < 64; generation++) {
		uint64_t id = fom_id(&t->fom) ^ (generation + 1) << 48;

		EXPECT_EQ(-ESRCH, fom_wakeup_id(self->p.d, id));
	}
	EXPECT_EQ(1, t->ticks);
	ASSERT_EQ(0, goes(t));
}

static struct fom *to_wake;

/* A thread that can have no descriptor any more, and then can. */
static void *wakes_without_descriptors(void *arg)
{
	struct rlimit *old = arg, none = *old;
	long rc;

	none.rlim_cur = 0;
	rc = setrlimit(RLIMIT_NOFILE, &none) ? 1 : 0;
	rc += fom_wakeup(to_wake) != -EMFILE;
	rc += setrlimit(RLIMIT_NOFILE, old) != 0;
	rc += fom_state(to_wake) != FOM_WAITING;
	rc += fom_wakeup(to_wake) != 0;
	return (void *)rc;
}

/* FO-18, FO-19: who cannot wake says so, and whoever can does so later */
TEST_F(foms, wake_in_a_shortage)
{
	struct test_fom *t = &self->t;
	struct rlimit old;
	pthread_t thread;
	void *bad;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	ASSERT_EQ(0, begins(&self->p, t, waits));
	ASSERT_TRUE(WAITS(t));
	to_wake = &t->fom;
	ASSERT_EQ(0, pthread_create(&thread, NULL, wakes_without_descriptors, &old));
	pthread_join(thread, &bad);
	EXPECT_EQ(NULL, bad);
	EXPECT_TRUE(DXT_SOON(t->ticks == 2));
	ASSERT_EQ(0, goes(t));
	EXPECT_TRUE(ENDS(t));
}

/* Waits for its descriptor, and reads what is there. */
static int reads(struct test_fom *t)
{
	eventfd_t value;

	if (fom_reason(&t->fom) == FOM_WOKEN_FILE) {
		t->wrong += eventfd_read(t->fd, &value) || fom_events(&t->fom) != POLLIN;
		t->left += (unsigned int)value;
	}
	if (t->stops)
		return ends(t);
	return fom_wait_fd(&t->fom, t->fd, POLLIN);
}

static int waits_for_nonsense(struct test_fom *t)
{
	int file = open("/proc/self/exe", O_RDONLY);

	t->wrong += fom_wait_fd(&t->fom, -1, POLLIN) != -EBADF;
	t->wrong += fom_wait_fd(&t->fom, file, POLLIN) != -EPERM;
	t->wrong += fom_wait_fd(&t->fom, t->fd, 1U << 31) != -EINVAL;
	close(file);
	return fom_wait_fd(&t->fom, -1, POLLIN);
}

/* FO-17: a fom waits for a file */
TEST_F(foms, files)
{
	struct test_fom *t = &self->t;
	int fd = eventfd(0, EFD_NONBLOCK);

	make(&self->p, t, reads);
	t->fd = fd;
	ASSERT_EQ(0, fom_queue(&t->fom));
	for (unsigned int i = 1; i <= 100; i++) {
		ASSERT_EQ(0, eventfd_write(fd, 1));
		ASSERT_TRUE(DXT_SOON(t->left == i));
	}
	EXPECT_EQ(0, goes(t));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(0, t->wrong);
	make(&self->p, t, waits_for_nonsense);
	t->fd = fd;
	ASSERT_EQ(0, fom_queue(&t->fom));
	/* a failure, and its tick fails again */
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(-EBADF, t->rc);
	EXPECT_EQ(0, t->wrong);
	close(fd);
}

TEST_HARNESS_MAIN
