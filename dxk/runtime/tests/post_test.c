// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posting through the in-kernel API, in both dispatch modes: the blocking points,
 * the order of those who sleep there, and what ends their sleep.
 */
#include "runtime/tests/rig.h"

/* One worker, which executes a gate, and @entries free Ready Pool entries. */
static struct dxk_job *busy_crew(struct kunit *test, u32 entries)
{
	struct dxk_policy p;

	dxk_rig_policy(test, &p, 1);
	p.ready_entries = entries;
	dxk_rig_start(test->priv, &p);
	return dxk_rig_gate(test->priv, 1, 0);
}

/*
 * 10 entries, 3 workers, lanes 0/20/20; the workers execute gates of lane 3. Two
 * entries for lane 1, four for lanes 1 and 2.
 */
static void busy_cmls(struct kunit *test, struct dxk_job *gate[3])
{
	struct dxk_policy p;
	u32 i;

	dxk_rig_policy(test, &p, 3);
	p.sched_mode = TPOOL_MODE_CMLS;
	p.ready_entries = 10;
	p.lane_pct[1] = 20;
	p.lane_pct[2] = 20;
	dxk_rig_start(test->priv, &p);
	for (i = 0; i < 3; i++)
		gate[i] = dxk_rig_gate(test->priv, 1, 0);
}

static void post_nr(struct dxk_rig *rig, u32 nr, u32 attrs)
{
	while (nr--)
		KUNIT_ASSERT_EQ(rig->test,
				dxk_rig_post(dxk_rig_job(rig), 0, 0, attrs, NULL), 1);
}

static void expect_refused(struct dxk_rig *rig, u32 attrs, int err, u32 want)
{
	struct dxk_ctx *ctx = rig->ctx[0];
	u64 posts = ctx->engine.stats.posts, busy = ctx->engine.stats.post_busy;
	u32 ready = ctx->engine.nr[DXK_AT_READY], reason = 0;

	KUNIT_EXPECT_EQ(rig->test, dxk_rig_post(dxk_rig_job(rig), 0, 0, attrs, &reason),
			err);
	KUNIT_EXPECT_EQ(rig->test, reason, want);
	/* DX-40: nothing but the count of refusals changes */
	KUNIT_EXPECT_EQ(rig->test, ctx->engine.stats.posts, posts);
	KUNIT_EXPECT_EQ(rig->test, ctx->engine.stats.post_busy, busy + (err == -EAGAIN));
	KUNIT_EXPECT_EQ(rig->test, ctx->engine.nr[DXK_AT_READY], ready);
}

static bool asleep(const struct dxk_errand *e)
{
	return READ_ONCE(e->m->state) == DXK_M_POSTING;
}

/* DX-13, DX-37, DX-40, DX-41, DX-78: point 1, with and without the flag */
static void post_pool_full(struct kunit *test)
{
	struct dxk_job *gate = busy_crew(test, 2);
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = dxk_rig_job(rig);
	struct dxk_errand *e;

	post_nr(rig, 2, 0);
	expect_refused(rig, 0, -EAGAIN, PXR_POOL_FULL);
	/* lanes mean nothing without CMLS (DX-47): it is the pool that is full */
	expect_refused(rig, PXR_LANE1, -EAGAIN, PXR_POOL_FULL);
	e = dxk_rig_poster(job, PXR_WAITIF_BUSY, DXK_FOREVER);
	KUNIT_EXPECT_TRUE(test, asleep(e));
	KUNIT_EXPECT_EQ(test, rig->ctx[0]->engine.stats.post_blocks, 1);

	complete(&gate->leave);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, 1);
	dxk_rig_entered(job);
	KUNIT_EXPECT_EQ(test, rig->ctx[0]->engine.high[DXK_AT_READY], 2);
}

/* DX-43: room of which nobody told the sleepers is found by the dispatcher's sweep */
static void post_swept(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *gate;
	struct dxk_policy p;
	struct dxk_errand *e;
	struct dxk_ctx *ctx;

	dxk_rig_policy(test, &p, 1);
	p.rejoin_full = DXK_REJOIN_RESERVE;
	p.rejoin_entries = 1;
	ctx = dxk_rig_start(rig, &p);
	gate = dxk_rig_gate(rig, 1, 0);
	post_nr(rig, 1, PXR_REJOIN);
	e = dxk_rig_poster(dxk_rig_job(rig), PXR_REJOIN | PXR_WAITIF_BUSY, DXK_FOREVER);
	KUNIT_EXPECT_TRUE(test, asleep(e));
	spin_lock(&ctx->engine.lock);
	ctx->engine.owners.entries = 2;
	spin_unlock(&ctx->engine.lock);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, 1);
	complete(&gate->leave);
}

/* DX-38, DX-46, DX-68, DX-69, DX-72: point 2, though entries are free */
static void post_lane_full(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *gate[3], *job;
	struct dxk_errand *e;

	busy_cmls(test, gate);
	expect_refused(rig, PXR_LANE0, -EPERM, PXR_LANE_CLOSED);
	expect_refused(rig, PXR_LANE0 | PXR_WAITIF_BUSY, -EPERM, PXR_LANE_CLOSED);
	post_nr(rig, 2, PXR_LANE1);
	expect_refused(rig, PXR_LANE1, -EAGAIN, PXR_LANE_FULL);
	post_nr(rig, 2, PXR_LANE2);
	expect_refused(rig, PXR_LANE2, -EAGAIN, PXR_LANE_FULL);

	job = dxk_rig_job(rig);
	e = dxk_rig_poster(job, PXR_LANE1 | PXR_WAITIF_BUSY, DXK_FOREVER);
	KUNIT_EXPECT_TRUE(test, asleep(e));
	/* DX-45: it holds up nobody in a lane with room */
	post_nr(rig, 6, 0);
	KUNIT_EXPECT_TRUE(test, asleep(e));
	expect_refused(rig, 0, -EAGAIN, PXR_POOL_FULL);

	complete(&gate[0]->leave);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, 1);
	dxk_rig_entered(job);
}

/* DX-39: a post is complete when it returns, so the next never waits for it */
static void post_back_to_back(struct kunit *test)
{
	struct dxk_job *gate = busy_crew(test, 48);
	struct dxk_rig *rig = test->priv;

	post_nr(rig, 48, 0);
	KUNIT_EXPECT_EQ(test, rig->ctx[0]->engine.stats.post_busy, 0);
	KUNIT_EXPECT_EQ(test, rig->ctx[0]->engine.stats.post_blocks, 0);
	complete(&gate->leave);
}

/* DX-44: the deadline ends the sleep, and nothing was taken */
static void post_deadline(struct kunit *test)
{
	struct dxk_job *gate = busy_crew(test, 1);
	struct dxk_rig *rig = test->priv;
	struct dxk_errand *e;
	u64 posts, until;

	post_nr(rig, 1, 0);
	posts = rig->ctx[0]->engine.stats.posts;
	/* one that is over never sleeps */
	e = dxk_rig_poster(dxk_rig_job(rig), PXR_WAITIF_BUSY, 0);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, -ETIMEDOUT);

	until = dxk_in_ms(30);
	e = dxk_rig_poster(dxk_rig_job(rig), PXR_WAITIF_BUSY, until);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, -ETIMEDOUT);
	KUNIT_EXPECT_GE(test, ktime_get_ns(), until);
	KUNIT_EXPECT_EQ(test, rig->ctx[0]->engine.stats.posts, posts);
	/* it left its queue: who comes next gets the entry */
	complete(&gate->leave);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(!READ_ONCE(rig->ctx[0]->engine.nr[DXK_AT_READY])));
	post_nr(rig, 1, 0);
	KUNIT_EXPECT_EQ(test, rig->ctx[0]->engine.stats.posts, posts + 1);
}

/* DX-45: sleepers get in as they came, each time an entry becomes free */
static void post_first_come_first_served(struct kunit *test)
{
	struct dxk_job *gate = busy_crew(test, 1);
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job[4];
	struct dxk_errand *e[4];
	u32 i, k;

	job[0] = dxk_rig_job(rig);
	job[0]->gated = true;
	KUNIT_ASSERT_EQ(test, dxk_rig_post(job[0], 0, 0, 0, NULL), 1);
	for (i = 1; i < 4; i++) {
		job[i] = dxk_rig_job(rig);
		job[i]->gated = true;
		e[i] = dxk_rig_poster(job[i], PXR_WAITIF_BUSY, DXK_FOREVER);
	}
	complete(&gate->leave);
	for (i = 0; i < 4; i++) {
		dxk_rig_entered(job[i]);
		/* its entry went to the next sleeper and to no other */
		if (i < 3)
			dxk_rig_finished(e[i + 1]);
		for (k = i + 2; k < 4; k++)
			KUNIT_EXPECT_TRUE(test, asleep(e[k]));
		if (i < 3)
			expect_refused(rig, 0, -EAGAIN, PXR_POOL_FULL);
		complete(&job[i]->leave);
	}
}

/* DX-44, DX-107, D-24: Stop ends every sleep, in both points and in rejoin */
static void post_stop_wakes_all(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_errand *sleeper[4], *stop;
	struct dxk_job *gate[3];
	u32 i;

	busy_cmls(test, gate);
	post_nr(rig, 2, PXR_LANE1);
	sleeper[0] = dxk_rig_poster(dxk_rig_job(rig), PXR_LANE1 | PXR_WAITIF_BUSY,
				    DXK_FOREVER);
	post_nr(rig, 8, 0);
	sleeper[1] = dxk_rig_poster(dxk_rig_job(rig), PXR_WAITIF_BUSY, DXK_FOREVER);
	sleeper[2] = dxk_rig_poster(dxk_rig_job(rig), PXR_LANE2 | PXR_WAITIF_BUSY,
				    DXK_FOREVER);
	sleeper[3] = dxk_rig_poller(rig, 1, DXK_FOREVER);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_FALSE(test, completion_done(&sleeper[i]->done));

	stop = dxk_rig_stopper(rig, DXK_STOP_DRAIN);
	for (i = 0; i < 4; i++) {
		dxk_rig_finished(sleeper[i]);
		KUNIT_EXPECT_EQ(test, sleeper[i]->ret, -ESHUTDOWN);
	}
	KUNIT_EXPECT_EQ(test, dxk_rig_post(dxk_rig_job(rig), 0, 0, 0, NULL),
			-ESHUTDOWN);
	for (i = 0; i < 3; i++)
		complete(&gate[i]->leave);
	dxk_rig_finished(stop);
	KUNIT_EXPECT_EQ(test, stop->ret, 0);
	/* DX-108: what was Ready before has run, what slept has not */
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->executed), 3 + 10);
}

/* As many as there is room for are taken, in order; one malformed refuses all. */
static void post_batch(struct kunit *test)
{
	struct dxk_job *gate = busy_crew(test, 3);
	struct dxk_rig *rig = test->priv;
	struct dxk_request req[5];
	u32 i, reason = 0;

	for (i = 0; i < 5; i++)
		req[i] = dxk_rig_request(dxk_rig_job(rig), 2, 0, 0);
	req[4].attrs |= PXR_LANE0 | PXR_LANE2;
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 5, 0, NULL), -EINVAL);
	req[4].attrs = PXR_KERNEL | 1U << 31;
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 5, 0, NULL), -EOPNOTSUPP);
	req[4].attrs = PXR_KERNEL;
	req[4].result_len = rig->ctx[0]->engine.policy.data_size + 1;
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 5, 0, NULL), -EMSGSIZE);
	req[4].result_len = 0;
	req[4].executor ^= 1U << 30;
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 5, 0, NULL), -ENOENT);
	req[4].executor = rig->exec.id;
	req[4].attrs = 0;
	/* no place for user workers */
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 5, 0, NULL), -ENODEV);
	req[4].attrs = PXR_KERNEL;
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 0, 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, DXK_BATCH_MAX + 1, 0, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, rig->ctx[0]->engine.nr[DXK_AT_READY], 0);

	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 5, 0, &reason), 3);
	KUNIT_EXPECT_EQ(test, reason, PXR_POOL_FULL);
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req + 3, 2, 0, &reason), -EAGAIN);
	complete(&gate->leave);
	for (i = 0; i < 3; i++)
		dxk_rig_entered((struct dxk_job *)(uintptr_t)req[i].param);
}

/* max_requests: results that nobody collected count, Ready Pool or not */
static void post_no_space(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job;
	struct dxk_policy p;
	u32 i, answer;

	dxk_rig_policy(test, &p, 1);
	p.ready_entries = 2;
	p.max_requests = 3;
	dxk_rig_start(rig, &p);
	for (i = 0; i < 3; i++) {
		job = dxk_rig_job(rig);
		KUNIT_ASSERT_TRUE(test, DXK_SOON(dxk_rig_post(job, 7, 0, PXR_REJOIN,
							      NULL) == 1));
	}
	KUNIT_ASSERT_TRUE(test, DXK_SOON(READ_ONCE(rig->ctx[0]->engine.nr[DXK_AT_REJOIN]) == 3));
	expect_refused(rig, 0, -ENOSPC, PXR_NO_SPACE);
	/* a limit, not a queue: it does not wait either */
	expect_refused(rig, PXR_WAITIF_BUSY, -ENOSPC, PXR_NO_SPACE);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 7, &answer), 3);
	post_nr(rig, 1, 0);
}

KUNIT_ARRAY_PARAM(mode, dxk_rig_modes, dxk_rig_mode_name);

static struct kunit_case post_cases[] = {
	KUNIT_CASE_PARAM(post_pool_full, mode_gen_params),
	KUNIT_CASE_PARAM(post_swept, mode_gen_params),
	KUNIT_CASE_PARAM(post_lane_full, mode_gen_params),
	KUNIT_CASE_PARAM(post_back_to_back, mode_gen_params),
	KUNIT_CASE_PARAM(post_deadline, mode_gen_params),
	KUNIT_CASE_PARAM(post_first_come_first_served, mode_gen_params),
	KUNIT_CASE_PARAM(post_stop_wakes_all, mode_gen_params),
	KUNIT_CASE_PARAM(post_batch, mode_gen_params),
	KUNIT_CASE_PARAM(post_no_space, mode_gen_params),
	{ }
};

static struct kunit_suite post_suite = {
	.name = "dxk_post",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = post_cases,
};

kunit_test_suite(post_suite);
