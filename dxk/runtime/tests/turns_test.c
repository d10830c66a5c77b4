// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of kernel executors that wait: turns, what they leave to each other, names.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>

#include "runtime/policy.h"
#include "runtime/tests/rig.h"

#define OWNER	5
#define NAME	7

static struct dxk_ctx *start(struct kunit *test, u32 workers)
{
	struct dxk_policy p;

	dxk_rig_policy(test, &p, workers);
	p.max_waiting = 16;
	return dxk_rig_start(test->priv, &p);
}

static int post(struct dxk_job *job, const struct dxk_wait *wait, u64 expire)
{
	struct dxk_request req = dxk_rig_request(job, OWNER, 0, PXR_REJOIN | PXR_NAMED);

	req.name = NAME;
	if (wait) {
		req.attrs |= PXR_WAIT;
		req.wait = *wait;
	}
	if (expire) {
		req.attrs |= PXR_EXPIRE;
		req.expire = expire;
	}
	return dxk_post(job->rig->m[0], &req, 1, 0, NULL);
}

static s32 result(struct dxk_rig *rig)
{
	u32 answer;

	return dxk_rig_rejoin(rig, OWNER, &answer) == 1 ? rig->answer->status : 4711;
}

static u32 waiting(const struct dxk_ctx *ctx)
{
	return READ_ONCE(ctx->engine.nr[DXK_AT_WAIT]);
}

/* What a turn saw. */
struct turns {
	u32 nr;
	u32 wake[8], turn[8];
	u64 state[8], at[8];
	u8 data[8];
	struct dxk_wait wait;
	int err;
};

/* Waits as it is told to, up to its fourth turn, or until it is to end. */
static s32 take_turns(struct dxk_job *job, struct dxk_call *call)
{
	struct turns *t = job->arg;
	u32 nr = t->nr;

	t->wake[nr] = call->wake;
	t->turn[nr] = call->turn;
	t->state[nr] = call->state;
	t->at[nr] = ktime_get_ns();
	t->data[nr] = call->data_len ? *(u8 *)call->data : 0;
	WRITE_ONCE(t->nr, nr + 1);
	if (nr == 3 || call->wake == DXK_WAKE_CANCEL || call->wake == DXK_WAKE_EXPIRE)
		return 100 + nr;
	t->wait.state = 10 + nr;
	if (t->wait.wait & DXK_WAIT_TIME)
		t->wait.deadline = ktime_get_ns() + NSEC_PER_MSEC;
	t->err = dxk_call_wait(call, &t->wait);
	if (call->result_room) {
		*(u8 *)call->data = 'a' + nr;
		call->result_len = 1;
	}
	return t->err;
}

static struct dxk_job *job_of(struct kunit *test, struct turns *t)
{
	struct dxk_job *job = dxk_rig_job(test->priv);

	job->fn = take_turns;
	job->arg = t;
	return job;
}

/* each turn has its reason, its number, and what the one before has left. */
static void turns_of_time(struct kunit *test)
{
	struct turns t = { .wait = { .wait = DXK_WAIT_TIME } };
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = job_of(test, &t);
	struct dxk_request req = dxk_rig_request(job, OWNER, 0, PXR_REJOIN);
	struct dxk_ctx *ctx = start(test, 2);
	u32 i;

	req.data = "x";
	req.data_len = 1;
	req.result_len = 1;
	KUNIT_ASSERT_EQ(test, dxk_post(rig->m[0], &req, 1, 0, NULL), 1);
	KUNIT_EXPECT_EQ(test, result(rig), 103);
	KUNIT_EXPECT_EQ(test, t.nr, 4);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, t.wake[i], i ? DXK_WAKE_TIME : DXK_WAKE_NONE);
		KUNIT_EXPECT_EQ(test, t.turn[i], i);
		KUNIT_EXPECT_EQ(test, t.state[i], i ? 9 + i : 0);
		KUNIT_EXPECT_EQ(test, t.data[i], i ? 'a' + i - 1 : 'x');
		if (i)
			KUNIT_EXPECT_GE(test, t.at[i] - t.at[i - 1], NSEC_PER_MSEC);
	}
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.waits, 3);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.timeouts, 3);
}

/* by name; each call has one turn. */
static void turns_by_name(struct kunit *test)
{
	struct turns t = { .wait = { .wait = DXK_WAIT_CALL } };
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = job_of(test, &t);
	struct dxk_ctx *ctx = start(test, 2);
	u32 i;

	KUNIT_EXPECT_EQ(test, dxk_wake(rig->m[0], NAME), -ENOENT);
	KUNIT_ASSERT_EQ(test, post(job, NULL, 0), 1);
	KUNIT_EXPECT_EQ(test, post(job, NULL, 0), -EEXIST);
	for (i = 1; i < 4; i++) {
		KUNIT_ASSERT_TRUE(test, DXK_SOON(waiting(ctx)));
		KUNIT_EXPECT_EQ(test, t.nr, i);
		KUNIT_EXPECT_EQ(test, dxk_wake(rig->m[0], NAME), 0);
		KUNIT_ASSERT_TRUE(test, DXK_SOON(READ_ONCE(t.nr) > i));
		KUNIT_EXPECT_EQ(test, t.wake[i], DXK_WAKE_CALL);
	}
	KUNIT_EXPECT_EQ(test, result(rig), 103);
	KUNIT_EXPECT_EQ(test, dxk_cancel(rig->m[0], NAME), -ENOENT);
}

/* one that waits is told by a turn, one that executes by dxk_should_stop(). */
static s32 until_told(struct dxk_job *job, struct dxk_call *call)
{
	return dxk_wait_should_stop(call, dxk_in_ms(DXK_RIG_MS)) == 1 &&
	       dxk_should_stop(call) ? 55 : 56;
}

static void turns_cancelled(struct kunit *test)
{
	struct turns t = { .wait = { .wait = DXK_WAIT_CALL } };
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = job_of(test, &t), *sleeps = dxk_rig_job(rig);
	struct dxk_ctx *ctx = start(test, 1);

	KUNIT_ASSERT_EQ(test, post(job, NULL, 0), 1);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(waiting(ctx)));
	KUNIT_EXPECT_EQ(test, dxk_cancel(rig->m[0], NAME), DXK_CANCEL_TOLD);
	KUNIT_EXPECT_EQ(test, result(rig), 101);
	KUNIT_EXPECT_EQ(test, t.wake[1], DXK_WAKE_CANCEL);
	sleeps->fn = until_told;
	KUNIT_ASSERT_EQ(test, post(sleeps, NULL, 0), 1);
	dxk_rig_entered(sleeps);
	KUNIT_EXPECT_EQ(test, dxk_cancel(rig->m[0], NAME), DXK_CANCEL_TOLD);
	KUNIT_EXPECT_EQ(test, result(rig), 55);
	/* its time as well */
	KUNIT_ASSERT_EQ(test, post(sleeps, NULL, dxk_in_ms(20)), 1);
	dxk_rig_entered(sleeps);
	KUNIT_EXPECT_EQ(test, result(rig), 55);
	KUNIT_ASSERT_EQ(test, post(sleeps, &t.wait, dxk_in_ms(2)), 1);
	KUNIT_EXPECT_EQ(test, result(rig), -ETIME);
}

/* What a turn does with a waker, and what became of it */
struct wakes {
	struct dxk_waker *waker;
	struct hrtimer timer;
	u32 nr, events[4], wake[4];
	int again, err;
	u32 released;
};

static void wakes_released(void *data)
{
	struct wakes *w = data;

	smp_store_release(&w->released, w->released + 1);
}

/* A hard interrupt */
static enum hrtimer_restart wakes_fire(struct hrtimer *timer)
{
	struct wakes *w = container_of(timer, struct wakes, timer);

	WARN_ON_ONCE(!dxk_waker_fire(w->waker, 2));
	return HRTIMER_NORESTART;
}

/* Three waits: one is ended by a timer, one was by what came before it, one by another thread. */
static s32 wakes_turn(struct dxk_job *job, struct dxk_call *call)
{
	static const struct dxk_wait fired = { .wait = DXK_WAIT_FILE | DXK_WAIT_CALL };
	struct wakes *w = job->arg;
	u32 nr = w->nr;

	w->wake[nr] = call->wake;
	w->events[nr] = call->events;
	if (!nr) {
		w->err = dxk_call_wait(call, &fired);
		w->waker = dxk_waker_create(call, wakes_released, w);
		if (IS_ERR(w->waker))
			return PTR_ERR(w->waker);
		w->again = PTR_ERR_OR_ZERO(dxk_waker_create(call, NULL, NULL));
		hrtimer_start(&w->timer, NSEC_PER_MSEC, HRTIMER_MODE_REL_HARD);
	} else if (nr == 1) {
		dxk_waker_fire(w->waker, 4);
		dxk_waker_fire(w->waker, 8);
	}
	/* pairs with the load of who looks how far it is */
	smp_store_release(&w->nr, nr + 1);
	if (nr == 3 || call->wake == DXK_WAKE_CANCEL)
		return 100 + nr;
	return dxk_call_wait(call, &fired);
}

static struct wakes *wakes_start(struct kunit *test, struct dxk_job *job)
{
	struct wakes *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	hrtimer_init(&w->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	w->timer.function = wakes_fire;
	job->fn = wakes_turn;
	job->arg = w;
	return w;
}

/* a waker, fired in an interrupt, ahead of its wait, by another thread, after the end */
static void turns_of_wakers(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = dxk_rig_job(rig);
	struct wakes *w = wakes_start(test, job);
	struct dxk_ctx *ctx = start(test, 1);
	u32 i;

	KUNIT_ASSERT_EQ(test, post(job, NULL, 0), 1);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(smp_load_acquire(&w->nr) == 3 && waiting(ctx)));
	KUNIT_EXPECT_TRUE(test, dxk_waker_fire(w->waker, 16));
	KUNIT_EXPECT_EQ(test, result(rig), 103);
	KUNIT_EXPECT_EQ(test, w->err, -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, w->again, -EBUSY);
	for (i = 1; i < 4; i++)
		KUNIT_EXPECT_EQ(test, w->wake[i], DXK_WAKE_FILE);
	KUNIT_EXPECT_EQ(test, w->events[1], 2);
	KUNIT_EXPECT_EQ(test, w->events[2], 4 | 8);
	KUNIT_EXPECT_EQ(test, w->events[3], 16);
	/* It has ended, but for the reference of who will fire it. */
	KUNIT_EXPECT_TRUE(test, DXK_SOON(!dxk_waker_fire(w->waker, 1)));
	KUNIT_EXPECT_EQ(test, smp_load_acquire(&w->released), 0);
	dxk_waker_get(w->waker);
	dxk_waker_put(w->waker);
	dxk_waker_put(w->waker);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(smp_load_acquire(&w->released) == 1));
}

/* ... and one whose request is cancelled, and that nobody has any more */
static void turns_of_waker_cancelled(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = dxk_rig_job(rig);
	struct wakes *w = wakes_start(test, job);
	struct dxk_ctx *ctx = start(test, 1);

	KUNIT_ASSERT_EQ(test, post(job, NULL, 0), 1);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(smp_load_acquire(&w->nr) == 3 && waiting(ctx)));
	dxk_waker_put(w->waker);
	KUNIT_EXPECT_EQ(test, dxk_cancel(rig->m[0], NAME), DXK_CANCEL_TOLD);
	KUNIT_EXPECT_EQ(test, result(rig), 103);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(smp_load_acquire(&w->released) == 1));
}

/* A policy without, a wait that is none: told, and the turn ends as ever. */
static void turns_refused(struct kunit *test)
{
	struct turns t = { .wait = { .wait = DXK_WAIT_CALL | DXK_WAIT_AGAIN } };
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = job_of(test, &t);
	struct dxk_policy p;

	start(test, 1);
	KUNIT_ASSERT_EQ(test, post(job, NULL, 0), 1);
	KUNIT_EXPECT_EQ(test, result(rig), -EINVAL);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(rig->ctx[0], DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	dxk_policy_get(rig->ctx[0], &p);
	p.max_waiting = 0;
	KUNIT_ASSERT_EQ(test, dxk_ctx_set_policy(rig->ctx[0], &p), 0);
	KUNIT_ASSERT_EQ(test, dxk_ctx_start(rig->ctx[0]), 0);
	KUNIT_EXPECT_EQ(test, post(job, NULL, 0), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, dxk_wake(rig->m[0], NAME), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, dxk_cancel(rig->m[0], NAME), -EOPNOTSUPP);
	t.wait.wait = DXK_WAIT_AGAIN;
	KUNIT_ASSERT_EQ(test, dxk_rig_post(job, OWNER, 0, PXR_REJOIN, NULL), 1);
	KUNIT_EXPECT_EQ(test, result(rig), -EOPNOTSUPP);
}

/* Stop(cancel): what was begun has its last turn, what was not ends. */
static void turns_last(struct kunit *test)
{
	struct turns t = { .wait = { .wait = DXK_WAIT_CALL } };
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1);
	struct dxk_job *job = job_of(test, &t);

	KUNIT_ASSERT_EQ(test, post(job, NULL, 0), 1);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(waiting(ctx)));
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_CANCEL, dxk_in_ms(DXK_RIG_MS)), 0);
	KUNIT_EXPECT_EQ(test, t.wake[1], DXK_WAKE_CANCEL);
	KUNIT_EXPECT_EQ(test, result(rig), 101);
	KUNIT_ASSERT_EQ(test, dxk_ctx_start(ctx), 0);
	KUNIT_ASSERT_EQ(test, post(job, &t.wait, 0), 1);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_CANCEL, dxk_in_ms(DXK_RIG_MS)), 0);
	KUNIT_EXPECT_EQ(test, result(rig), -ECANCELED);
}

KUNIT_ARRAY_PARAM(mode, dxk_rig_modes, dxk_rig_mode_name);

/* What each turn of a key has done. */
struct turns_key {
	u32 inside, most, nr;
	int left, back, notified, blocked, refused;
};

static s32 use_key(struct dxk_job *job, struct dxk_call *call)
{
	struct turns_key *k = job->arg;

	k->most = max(k->most, ++k->inside);
	usleep_range(100, 200);
	if (!k->nr++) {
		k->refused = dxk_call_key(call, DXK_KEY_HOLD, 0);
		k->notified = dxk_call_key(call, DXK_KEY_NOTIFY, 0);
		k->inside--;
		k->left = dxk_call_key(call, DXK_KEY_LEAVE, 0);
		k->back = dxk_call_key(call, DXK_KEY_ENTER, 0);
		k->blocked = dxk_block_enter(call, true, 0);
		usleep_range(100, 200);
		k->blocked = k->blocked ?: dxk_block_leave(call);
		k->inside++;
	}
	k->inside--;
	return 0;
}

/* AG-2, AG-26, AG-29, FO-35: keys and block marks of kernel executors */
static void turns_of_key(struct kunit *test)
{
	struct turns_key k = { };
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = dxk_rig_job(rig);
	struct dxk_request req;
	int i, nr;

	job->fn = use_key;
	job->arg = &k;
	start(test, 3);
	req = dxk_rig_request(job, OWNER, 0, PXR_REJOIN | PXR_KEY);
	req.key = NAME;
	KUNIT_EXPECT_EQ(test, dxk_release_key(rig->m[0], NAME), -ENOENT);
	KUNIT_EXPECT_EQ(test, dxk_hold_key(rig->m[0], NAME, false), 0);
	for (i = 0; i < 8; i++)
		KUNIT_ASSERT_EQ(test, dxk_post(rig->m[0], &req, 1, 0, NULL), 1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(k.nr), 0);
	KUNIT_EXPECT_EQ(test, dxk_release_key(rig->m[0], NAME), 0);
	for (i = 0; i < 8; i += nr) {
		u32 answer;

		nr = dxk_rig_rejoin(rig, OWNER, &answer);
		KUNIT_ASSERT_GT(test, nr, 0);
		KUNIT_EXPECT_EQ(test, rig->answer->status, 0);
	}
	KUNIT_EXPECT_EQ(test, k.nr, 8);
	KUNIT_EXPECT_EQ(test, k.most, 1);
	KUNIT_EXPECT_EQ(test, k.left | k.back | k.notified | k.blocked, 0);
	KUNIT_EXPECT_EQ(test, k.refused, -EINVAL);
	KUNIT_EXPECT_EQ(test, dxk_hold_key(rig->m[0], NAME, true), 0);
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], &req, 1, 0, NULL), -ECANCELED);
	KUNIT_EXPECT_EQ(test, dxk_cancel_key(rig->m[0], NAME), 0);
	KUNIT_EXPECT_EQ(test, dxk_release_key(rig->m[0], NAME), 0);
}

static struct kunit_case turns_cases[] = {
	KUNIT_CASE_PARAM(turns_of_time, mode_gen_params),
	KUNIT_CASE_PARAM(turns_by_name, mode_gen_params),
	KUNIT_CASE_PARAM(turns_cancelled, mode_gen_params),
	KUNIT_CASE(turns_of_wakers),
	KUNIT_CASE(turns_of_waker_cancelled),
	KUNIT_CASE(turns_refused),
	KUNIT_CASE_PARAM(turns_of_key, mode_gen_params),
	KUNIT_CASE_PARAM(turns_last, mode_gen_params),
	{ }
};

static struct kunit_suite turns_suite = {
	.name = "dxk_turns",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = turns_cases,
};

kunit_test_suite(turns_suite);
