// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Who waits for the end of a run: Starts that fail, and Stops, in threads of their own.
 */
#include <pthread.h>

#include "run.h"

/* Somebody may join a run that fails. */
static bool fails_and_welcomes;

/* The walker of a run that somebody waits for. */
static void *walks(void *arg)
{
	struct dxk_engine *e = arg;

	while (!dxk_run_is_over(e)) {
		spin_lock(&e->lock);
		fails_and_welcomes |= e->run.failed && dxk_run_welcomes(e);
		spin_unlock(&e->lock);
		switch (dxk_run_look(e)) {
		case DXK_WALK_SHUT:
			dxk_run_shut(e);
			break;
		case DXK_WALK_DOWN:
			dxk_run_over(e);
			break;
		default:
			os_yield();
		}
	}
	return NULL;
}

/* DX-6: a Start that fails leaves the context as it was, and waits until it is so. */
static void end_fails(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	struct dxk_policy policy = ps->e->policy;
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_next_op *early;
	enum dxk_ctx_state was;
	pthread_t walker;
	u32 i;

	for (i = 1; i <= 3; i++) {
		was = ps->e->state;
		policy.redo_max = i;
		EXPECT_IS(claim(ps, &policy), 0);
		EXPECT_IS(ps->e->policy.redo_max, i);
		/* a worker of an earlier run, perhaps, who asks too early */
		early = puppet_turn(ps, worker, 1);
		EXPECT(ASLEEP(early));
		EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_PARK);
		EXPECT_IS(pthread_create(&walker, NULL, walks, ps->e), 0);
		dxk_run_fail(ps->e);
		EXPECT(dxk_run_is_over(ps->e));
		pthread_join(walker, NULL);
		EXPECT(!ASLEEP(early));
		EXPECT_IS(early->err, -ESHUTDOWN);
		EXPECT_IS(ps->e->state, was);
		EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_PARK);
		if (i == 2) {
			start(ps);
			stops(ps, DXK_STOP_CANCEL);
		}
	}
	EXPECT_IS(ps->e->run.gen, 4);
	EXPECT(!fails_and_welcomes);
}

/* Stop waits for the end of the threads as well. */
static void end_waits_for_the_end(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	pthread_t walker;

	start(ps);
	EXPECT_IS(pthread_create(&walker, NULL, walks, ps->e), 0);
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, true, DXK_FOREVER), 0);
	EXPECT(dxk_run_is_over(ps->e));
	pthread_join(walker, NULL);
	EXPECT_IS(dxk_run_state(ps->e), DXK_CTX_STOPPED);
}

static void *waits(void *arg)
{
	return (void *)(long)dxk_run_halt(arg, DXK_STOP_DRAIN, true, DXK_FOREVER);
}

static u32 waiting(struct dxk_engine *e)
{
	const struct list_head *at;
	u32 nr = 0;

	spin_lock(&e->lock);
	for (at = e->run.ended.next; at != &e->run.ended; at = at->next)
		nr++;
	spin_unlock(&e->lock);
	return nr;
}

static pthread_t late;

/* Between two lock holds of the walker somebody starts the context again, and stops it. */
static void starts_again(void *arg)
{
	struct puppets *ps = arg;
	u32 before = waiting(ps->e);

	start(ps);
	EXPECT_IS(pthread_create(&late, NULL, waits, ps->e), 0);
	while (waiting(ps->e) == before)
		os_yield();
}

/*
 * More wait for the end than a lock hold may tell, and by the next one there may be another
 * run, for whose end others wait.
 */
static void end_many_wait(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	pthread_t stopper[DXK_HOLD_BUDGET + 10];
	void *err;
	u32 i;

	start(ps);
	for (i = 0; i < ARRAY_SIZE(stopper); i++)
		EXPECT_IS(pthread_create(&stopper[i], NULL, waits, ps->e), 0);
	while (waiting(ps->e) < ARRAY_SIZE(stopper))
		os_yield();
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_DOWN);
	os_late_arg = ps;
	os_waking = starts_again;
	dxk_run_over(ps->e);
	EXPECT(!dxk_run_is_over(ps->e));
	EXPECT_IS(waiting(ps->e), 1);
	while (waiting(ps->e))
		dxk_run_over(ps->e);
	for (i = 0; i < ARRAY_SIZE(stopper); i++) {
		pthread_join(stopper[i], &err);
		EXPECT(!err);
	}
	pthread_join(late, &err);
	EXPECT(!err);
}

/* Between two lock holds of the walker the one who is left gives up. */
static void gives_up(void *arg)
{
	struct puppets *ps = arg;

	EXPECT_IS(waiting(ps->e), 1);
	spin_lock(&ps->e->lock);
	os_interrupt(list_first_entry(&ps->e->run.ended, struct dxk_waiter, link)->task);
	spin_unlock(&ps->e->lock);
	while (waiting(ps->e))
		os_yield();
}

static void end_last_gives_up(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	pthread_t stopper[DXK_HOLD_BUDGET + 1];
	long sum = 0;
	void *err;
	u32 i;

	start(ps);
	for (i = 0; i < ARRAY_SIZE(stopper); i++)
		EXPECT_IS(pthread_create(&stopper[i], NULL, waits, ps->e), 0);
	while (waiting(ps->e) < ARRAY_SIZE(stopper))
		os_yield();
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_DOWN);
	os_late_arg = ps;
	os_waking = gives_up;
	dxk_run_over(ps->e);
	for (i = 0; i < ARRAY_SIZE(stopper); i++) {
		pthread_join(stopper[i], &err);
		sum += (long)err;
	}
	EXPECT_IS(sum, -ERESTARTSYS);
}

static bool stop_is_back;

static void *walks_late(void *arg)
{
	struct dxk_engine *e = arg;

	while (!waiting(e) && !READ_ONCE(stop_is_back))
		os_yield();
	return walks(e);
}

/* The time that its caller gives Stop is for requests; threads end soon, or in a second. */
static void end_waits_longer(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	pthread_t walker;

	start(ps);
	stop_is_back = false;
	EXPECT_IS(pthread_create(&walker, NULL, walks_late, ps->e), 0);
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, true, 1), 0);
	WRITE_ONCE(stop_is_back, true);
	pthread_join(walker, NULL);
}

/* A context whose only Start has failed tells those who sleep when it is closed. */
static void end_fails_and_closes(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	struct dxk_policy policy = ps->e->policy;
	struct dxk_should_op *s;
	pthread_t walker;

	EXPECT_IS(claim(ps, &policy), 0);
	EXPECT_IS(pthread_create(&walker, NULL, walks, ps->e), 0);
	dxk_run_fail(ps->e);
	pthread_join(walker, NULL);
	EXPECT_IS(ps->e->state, DXK_CTX_NEW);
	s = puppet_asks(ps, ps->main, true);
	EXPECT(ASLEEP(s));
	dxk_run_close(ps->e);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_SHUT);
	dxk_run_shut(ps->e);
	EXPECT(!ASLEEP(s));
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_LEAVE);
}

static struct kunit_case end_cases[] = {
	KUNIT_CASE(end_fails),
	KUNIT_CASE(end_waits_for_the_end),
	KUNIT_CASE(end_many_wait),
	KUNIT_CASE(end_last_gives_up),
	KUNIT_CASE(end_waits_longer),
	KUNIT_CASE(end_fails_and_closes),
	{ }
};

static struct kunit_suite end_suite = {
	.name = "dxk_run_end",
	.exit = puppets_end,
	.test_cases = end_cases,
};

kunit_test_suite(end_suite);
