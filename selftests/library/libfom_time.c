// SPDX-License-Identifier: GPL-2.0-only
/*
 * Foms and time: who waits for their phases, time-outs (FO-29 .. FO-33).
 */
#define _GNU_SOURCE
#include "library/libfom.h"

#include <sched.h>

FIXTURE(times) {
	struct place p;
	struct test_fom t;
};

FIXTURE_SETUP(times)
{
	ASSERT_EQ(0, place_up(&self->p, 2, 2));
}

FIXTURE_TEARDOWN(times)
{
	EXPECT_EQ(0, place_down(&self->p));
}

/* --- who waits for a phase -------------------------------------------------------------- */

struct looker {
	struct fom *fom;
	uint64_t phases, deadline;
	_Atomic bool looks;
	int rc;
	pthread_t thread;
};

static void *looks(void *arg)
{
	struct looker *l = arg;

	l->looks = true;
	l->rc = fom_timedwait(l->fom, l->phases, l->deadline);
	return NULL;
}

static bool looks_for(struct looker *l, struct fom *fom, uint64_t phases, uint64_t deadline)
{
	*l = (struct looker){ .fom = fom, .phases = phases, .deadline = deadline };
	if (pthread_create(&l->thread, NULL, looks, l) || !DXT_SOON(l->looks))
		return false;
	dxt_sleep_ms(5);
	return true;
}

/* ONE, TWO, THREE, FINISH, one a wake. */
static int walks(struct test_fom *t)
{
	int phase = fom_phase(&t->fom);

	if (phase == THREE)
		return ends(t);
	fom_phase_set(&t->fom, phase == FOM_PHASE_INIT ? ONE : phase + 1);
	return FSO_WAIT;
}

static int looks_at_itself(struct test_fom *t)
{
	t->wrong += fom_timedwait(&t->fom, FOM_PHASE(TWO), FOM_FOREVER) != -EDEADLK;
	return ends(t);
}

/* FO-29: in a phase, not by the deadline, or ended: at once and later */
TEST_F(times, timedwait)
{
	uint64_t last = FOM_PHASE(FOM_PHASE_FINISH);
	struct test_fom *t = &self->t;
	struct looker l[2];
	uint64_t before;

	ASSERT_EQ(0, begins(&self->p, t, walks));
	ASSERT_TRUE(WAITS(t));
	/* at once */
	EXPECT_EQ(0, fom_timedwait(&t->fom, FOM_PHASE(ONE) | FOM_PHASE(TWO), 0));
	EXPECT_EQ(-ETIMEDOUT, fom_timedwait(&t->fom, FOM_PHASE(TWO), 0));
	/* later */
	before = dxt_now();
	EXPECT_EQ(-ETIMEDOUT, fom_timedwait(&t->fom, last, before + 30 * DXT_MS));
	EXPECT_LE(30 * DXT_MS, dxt_now() - before);
	ASSERT_TRUE(looks_for(&l[0], &t->fom, FOM_PHASE(TWO), FOM_FOREVER));
	ASSERT_TRUE(looks_for(&l[1], &t->fom, FOM_PHASE(THREE) | last, dxt_late()));
	ASSERT_EQ(0, fom_wakeup(&t->fom));
	pthread_join(l[0].thread, NULL);
	EXPECT_EQ(0, l[0].rc);
	ASSERT_TRUE(WAITS(t));
	ASSERT_EQ(0, fom_wakeup(&t->fom));
	pthread_join(l[1].thread, NULL);
	EXPECT_EQ(0, l[1].rc);
	ASSERT_TRUE(WAITS(t));
	/* its end is no such phase, or is */
	ASSERT_TRUE(looks_for(&l[0], &t->fom, FOM_PHASE(TWO), FOM_FOREVER));
	ASSERT_TRUE(looks_for(&l[1], &t->fom, last, FOM_FOREVER));
	ASSERT_EQ(0, fom_wakeup(&t->fom));
	pthread_join(l[0].thread, NULL);
	pthread_join(l[1].thread, NULL);
	EXPECT_EQ(-ESRCH, l[0].rc);
	EXPECT_EQ(0, l[1].rc);
	EXPECT_EQ(-ESRCH, fom_timedwait(&t->fom, FOM_PHASE(TWO), FOM_FOREVER));
	EXPECT_EQ(0, fom_timedwait(&t->fom, last, 0));
	ASSERT_EQ(0, begins(&self->p, t, looks_at_itself));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(0, t->wrong);
}

/* --- time-outs --------------------------------------------------------------------------- */

/* Ends in the failure phase, and notes when. */
static int ends_when_failed(struct test_fom *t)
{
	if (fom_phase(&t->fom) == FAILED || t->stops) {
		t->at = dxt_now();
		t->left = (unsigned int)fom_reason(&t->fom);
		return ends(t);
	}
	fom_phase_set(&t->fom, ONE);
	return FSO_WAIT;
}

/* FO-30: who waits for longer than its time-out fails with -ETIMEDOUT, and is ticked; not earlier */
TEST_F(times, expires)
{
	struct fom_type timed = test_type;
	struct test_fom *t = &self->t;
	uint64_t before = dxt_now();

	fom_type_set_timeout(&timed, 50 * DXT_MS);
	make(&self->p, t, ends_when_failed);
	t->fom.type = &timed;
	ASSERT_EQ(0, fom_queue(&t->fom));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(-ETIMEDOUT, t->rc);
	EXPECT_EQ(FOM_WOKEN_EXPIRED, t->left);
	EXPECT_EQ(2, t->ticks);
	EXPECT_LE(50 * DXT_MS, t->at - before);
	/* a type without a failure phase: it has ended */
	timed.failure = 0;
	make(&self->p, t, ends_when_failed);
	t->fom.type = &timed;
	ASSERT_EQ(0, fom_queue(&t->fom));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(-ETIMEDOUT, t->rc);
	EXPECT_EQ(1, t->ticks);
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
}

/* FO-31: of a type and of a fom, changed while it waits, for the next wait */
TEST_F(times, expiry_changes)
{
	struct fom_type timed = test_type;
	struct test_fom *t = &self->t;

	make(&self->p, t, ends_when_failed);
	t->fom.type = &timed;
	ASSERT_EQ(0, fom_queue(&t->fom));
	ASSERT_TRUE(WAITS(t));
	fom_type_set_timeout(&timed, 20 * DXT_MS);
	dxt_sleep_ms(60);
	EXPECT_EQ(1, t->ticks);
	fom_set_timeout(&t->fom, -1);
	ASSERT_EQ(0, fom_wakeup(&t->fom));
	ASSERT_TRUE(DXT_SOON(t->ticks == 2));
	dxt_sleep_ms(60);
	EXPECT_EQ(2, t->ticks);
	fom_set_timeout(&t->fom, 0);
	ASSERT_EQ(0, fom_wakeup(&t->fom));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(4, t->ticks);
	EXPECT_EQ(-ETIMEDOUT, t->rc);
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
}

/* A bottom half that wakes nobody, which begins the rest of the same wait. */
static void does_nothing(struct fom_timeout *timeout)
{
	((struct test_fom *)((char *)timeout - offsetof(struct test_fom, timeout)))->left++;
}

static int is_called_meanwhile(struct test_fom *t)
{
	if (t->ticks > 1)
		return ends(t);
	fom_timeout_init(&t->timeout);
	fom_timeout_arm(&t->timeout, &t->fom, does_nothing, t->at);
	t->entered++;
	while (t->closed)
		usleep(100);
	return FSO_WAIT;
}

/* FO-31: what is set while a wait is called in between is not of that wait */
TEST_F(times, expiry_of_a_wait)
{
	struct test_fom *t = &self->t;

	for (unsigned int late = 0; late < 2; late++) {
		make(&self->p, t, is_called_meanwhile);
		t->at = dxt_now() + 30 * DXT_MS;
		if (!late)
			fom_set_timeout(&t->fom, 60 * DXT_MS);
		ASSERT_EQ(0, fom_queue(&t->fom));
		/* The one before may have the home still, for which this one waits then. */
		ASSERT_TRUE(DXT_SOON((t->entered && dxt_num(&self->p.t, "pools/wait_use") == 1) ||
				     t->left));
		fom_set_timeout(&t->fom, late ? 1 : -1);
		ASSERT_TRUE(DXT_SOON(t->left));
		if (late) {
			dxt_sleep_ms(20);
			EXPECT_EQ(1, t->ticks);
			EXPECT_EQ(0, fom_wakeup(&t->fom));
		}
		EXPECT_TRUE(ENDS(t));
		EXPECT_EQ(late ? 0 : -ETIMEDOUT, t->rc);
	}
	EXPECT_EQ(0, fom_service_idle_wait(&self->p.s, FOM_FOREVER));
}

static int cleans_up(struct test_fom *t)
{
	if (fom_phase(&t->fom) != FAILED)
		return waits(t);
	if (t->stops)
		return ends(t);
	t->at = dxt_now() + 10 * DXT_MS;
	return is_called_meanwhile(t);
}

static void *stops_all(void *mte)
{
	return (void *)(long)MTExecutiveStop(mte, DXK_STOP_CANCEL, -1);
}

/* FO-32, FO-49: a time-out amid the clean-up of one that is cancelled does not end that wait */
TEST(time_amid_cleanup)
{
	struct test_fom t;
	pthread_t thread;
	struct place p;
	void *rc;

	ASSERT_EQ(0, place_up(&p, 1, 1));
	ASSERT_EQ(0, begins(&p, &t, cleans_up));
	ASSERT_TRUE(WAITS(&t));
	t.ticks = 0;
	ASSERT_EQ(0, pthread_create(&thread, NULL, stops_all, p.mte));
	EXPECT_TRUE(DXT_SOON(t.left));
	dxt_sleep_ms(20);
	EXPECT_EQ(1, t.ticks);
	EXPECT_EQ(0, goes(&t));
	EXPECT_TRUE(ENDS(&t));
	pthread_join(thread, &rc);
	EXPECT_EQ(NULL, rc);
	EXPECT_EQ(0, place_down(&p));
}

/* Wakes itself at a time, three times. */
static int sleeps(struct test_fom *t)
{
	if (t->ticks > 1) {
		t->wrong += dxt_now() < t->at || fom_reason(&t->fom) != FOM_WOKEN_TIMEOUT;
		t->wrong += fom_timeout_cancel(&t->timeout);
		fom_timeout_fini(&t->timeout);
	}
	if (t->ticks == 4)
		return ends(t);
	t->at = dxt_now() + 10 * DXT_MS;
	fom_timeout_init(&t->timeout);
	fom_timeout_wait_on(&t->timeout, &t->fom, t->at);
	return FSO_WAIT;
}

static void notes_time(struct fom_timeout *timeout)
{
	struct test_fom *t = (struct test_fom *)((char *)timeout - offsetof(struct test_fom, timeout));

	enters(t);
	t->wrong += dxt_now() < t->at;
	t->left++;
	leaves(t);
	if (t->closed)
		fom_wakeup(&t->fom);
}

static int is_told_the_time(struct test_fom *t)
{
	if (t->ticks > 1)
		return ends(t);
	t->at = dxt_now() + 10 * DXT_MS;
	fom_timeout_init(&t->timeout);
	fom_timeout_arm(&t->timeout, &t->fom, notes_time, t->at);
	return FSO_WAIT;
}

/* FO-32: at the time, not earlier, once; serial with ticks; as a wake, or as a call-back */
TEST_F(times, timeouts)
{
	struct test_fom *t = &self->t;

	ASSERT_EQ(0, begins(&self->p, t, sleeps));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(0, t->wrong);
	/* a call-back that does not wake it */
	ASSERT_EQ(0, begins(&self->p, t, is_told_the_time));
	EXPECT_TRUE(DXT_SOON(t->left));
	EXPECT_TRUE(WAITS(t));
	EXPECT_EQ(1, t->ticks);
	ASSERT_EQ(0, fom_wakeup(&t->fom));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(0, t->wrong);
	/* one that does */
	make(&self->p, t, is_told_the_time);
	t->closed = true;
	ASSERT_EQ(0, fom_queue(&t->fom));
	EXPECT_TRUE(ENDS(t));
	EXPECT_EQ(1, t->left);
	EXPECT_EQ(0, t->wrong);
}

/* A time-out that is to come about when it is cancelled; else it tells, and that is counted. */
static int cancels(struct test_fom *t)
{
	if (t->ticks > 1) {
		t->wakes += fom_reason(&t->fom) == FOM_WOKEN_TIMEOUT;
		t->wrong += fom_timeout_cancel(&t->timeout) ==
			    (fom_reason(&t->fom) == FOM_WOKEN_TIMEOUT);
	}
	if (t->ticks > 500)
		return ends(t);
	fom_timeout_init(&t->timeout);
	fom_timeout_wait_on(&t->timeout, &t->fom, dxt_now() + 20000 + t->ticks % 64 * 1000);
	return FSO_WAIT;
}

static void *wakes_at_times(void *arg)
{
	struct test_fom *t = arg;
	unsigned int last = 0;

	while (!t->finis) {
		while (t->ticks == last && !t->finis)
			sched_yield();
		last = t->ticks;
		for (volatile unsigned int n = last % 16 * 1000; n; n--)
			;
		fom_wakeup(&t->fom);
	}
	return NULL;
}

/* FO-33, R-4: event and time at once: one of them it was, and a cancelled one does not come */
TEST_F(times, time_races_with_wake)
{
	struct test_fom *t = &self->t;
	pthread_t thread;

	ASSERT_EQ(0, begins(&self->p, t, cancels));
	ASSERT_EQ(0, pthread_create(&thread, NULL, wakes_at_times, t));
	EXPECT_TRUE(DXT_UNTIL(&self->p.t, t->finis));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, t->wrong);
	EXPECT_EQ(501, t->ticks);
}

static int arms_twice(struct test_fom *t)
{
	fom_timeout_init(&t->timeout);
	fom_timeout_wait_on(&t->timeout, &t->fom, 0);
	fom_timeout_cancel(&t->timeout);
	fom_timeout_wait_on(&t->timeout, &t->fom, 0);
	return ends(t);
}

static int ends_armed(struct test_fom *t)
{
	fom_timeout_init(&t->timeout);
	fom_timeout_wait_on(&t->timeout, &t->fom, FOM_FOREVER);
	return ends(t);
}

static int finis_armed(struct test_fom *t)
{
	ends_armed(t);
	fom_timeout_fini(&t->timeout);
	return FSO_WAIT;
}

/* FO-32: a time-out is armed once, and is not when it or its fom ends */
TEST(traps_of_timeouts)
{
	EXPECT_TRUE(TRAPS(trap_in_turn(arms_twice)));
	EXPECT_TRUE(TRAPS(trap_in_turn(ends_armed)));
	EXPECT_TRUE(TRAPS(trap_in_turn(finis_armed)));
}

TEST_HARNESS_MAIN
