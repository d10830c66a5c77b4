// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of contexts through the in-kernel API, in both dispatch modes: Start,
 * threads, Stop, and who must not notice.
 */
#include <linux/pid.h>

#include "engine/calls.h"
#include "engine/next.h"
#include "runtime/tests/rig.h"
#include "runtime/slot.h"
#include "runtime/thread.h"

static struct dxk_ctx *start(struct kunit *test, u32 workers)
{
	struct dxk_policy p;

	dxk_rig_policy(test, &p, workers);
	return dxk_rig_start(test->priv, &p);
}

static void post(struct kunit *test, struct dxk_job *job, u64 owner, s32 prio)
{
	KUNIT_ASSERT_EQ(test, dxk_rig_post(job, owner, prio, PXR_REJOIN, NULL), 1);
}

/* DX-4, DX-107, DX-110, DX-112: start, start again, stop, stop again, restart */
static void life_start_and_stop(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 2);
	u32 answer, round;

	for (round = 0; round < 3; round++) {
		u64 owner = 10 + round;

		KUNIT_EXPECT_EQ(test, dxk_ctx_start(ctx), -EBUSY);
		post(test, dxk_rig_job(rig), owner, 0);
		KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN,
						   dxk_in_ms(DXK_RIG_MS)), 0);
		KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, 0), 0);
		KUNIT_EXPECT_EQ(test, dxk_rig_post(dxk_rig_job(rig), owner, 0, 0, NULL),
				-ESHUTDOWN);
		/* a result outlives the run, and the next one */
		if (round)
			KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, owner - 1), RJR_RETURNED);
		KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, owner - 1), RJR_NONE_EXIST);
		KUNIT_EXPECT_EQ(test, dxk_ctx_start(ctx), 0);
	}
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 12, &answer), 1);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.missed_wakeups, 0);
}

/* DX-19, DX-24: a worker that asks for work before Start is over stays */
static void life_worker_is_early(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_next_op n = { .max = 1 };
	struct dxk_policy p;
	struct dxk_ctx *ctx;
	int err;

	dxk_rig_policy(test, &p, 1);
	p.kernel_threads = 0;
	ctx = dxk_rig_start(rig, &p);
	n.m = dxk_rig_join(rig, ctx);
	INIT_LIST_HEAD(&n.done);
	spin_lock(&ctx->engine.lock);
	ctx->engine.state = DXK_CTX_STARTING;
	spin_unlock(&ctx->engine.lock);
	err = dxk_next(&n, 0);
	spin_lock(&ctx->engine.lock);
	ctx->engine.state = DXK_CTX_RUNNING;
	spin_unlock(&ctx->engine.lock);
	KUNIT_EXPECT_EQ(test, err, -ETIMEDOUT);
}

static void expect_ids(struct kunit *test, struct dxk_ctx *ctx, const u32 *want, u32 nr)
{
	struct dxk_slot_seen seen;
	struct dxk_slot *slot;
	unsigned long id;
	u32 i;

	for (i = 0, id = 0;; i++, id++) {
		spin_lock(&ctx->engine.lock);
		slot = dxk_slot_next(ctx, &id, DXK_ID_MAX);
		if (slot)
			dxk_slot_look(slot, &seen);
		spin_unlock(&ctx->engine.lock);
		if (!slot)
			break;
		KUNIT_EXPECT_TRUE_MSG(test, i < nr && id == want[i], "id %lu", id);
		KUNIT_EXPECT_EQ(test, seen.id, id);
	}
	KUNIT_EXPECT_EQ(test, i, nr);
}

/* DX-11, DX-22, DX-23, DX-24, DX-18: ids, one thread each, in the order of Start */
static void life_thread_ids(struct kunit *test)
{
	static const u32 ids[] = { 0, 1, 2, 3, 4, 500, 600, 700, 1000, 1001 };
	static const u32 order[] = { 500, 600, 700, 1, 2, 3, 4 };
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 4);
	struct task_struct *task;
	pid_t pid, last = 0;
	u32 i;

	expect_ids(test, ctx, ids, 8);
	KUNIT_EXPECT_EQ(test, rig->m[0]->id, 0);
	KUNIT_EXPECT_EQ(test, dxk_rig_client(rig, ctx)->id, 1000);
	KUNIT_EXPECT_EQ(test, dxk_rig_client(rig, ctx)->id, 1001);
	expect_ids(test, ctx, ids, 10);

	/* ids of processes grow: who has the larger one was made later */
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		task = i < DXK_CONTROLS ? ctx->control[i].task :
		       dxk_thread_of(dxk_rig_worker(rig, ctx, order[i]))->task;
		pid = task ? task_pid_nr(task) : 0;
		KUNIT_EXPECT_GT_MSG(test, pid, last, "thread %u", order[i]);
		last = pid;
	}
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	/* only those that hold a member are left */
	expect_ids(test, ctx, (const u32[]) { 0, 1000, 1001 }, 3);
}

/* DX-107, DX-108, DX-110: what is Ready is cancelled, what executes ends */
static void life_stop_cancels(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1);
	struct dxk_job *gate = dxk_rig_gate(rig, 3, PXR_REJOIN);
	struct dxk_errand *stop;
	u32 i, answer;

	for (i = 0; i < 5; i++)
		post(test, dxk_rig_job(rig), 3, 0);
	for (i = 0; i < 2; i++)
		KUNIT_ASSERT_EQ(test, dxk_rig_post(dxk_rig_job(rig), 3, 0, 0, NULL), 1);
	/* DX-114: it does not wait for ever, and goes on stopping */
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_CANCEL, dxk_in_ms(20)),
			-ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, dxk_rig_post(dxk_rig_job(rig), 3, 0, 0, NULL),
			-ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, dxk_ctx_start(ctx), -EBUSY);
	KUNIT_EXPECT_EQ(test, ctx->engine.nr[DXK_AT_READY], 0);
	KUNIT_EXPECT_EQ(test, ctx->engine.nr[DXK_AT_WORK], 1);
	stop = dxk_rig_stopper(rig, DXK_STOP_CANCEL);
	gate->status = 77;
	complete(&gate->leave);
	dxk_rig_finished(stop);
	KUNIT_EXPECT_EQ(test, stop->ret, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&rig->executed), 1);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.cancelled, 7);

	KUNIT_ASSERT_EQ(test, dxk_rig_rejoin(rig, 3, &answer), 6);
	for (i = 0; i < 6; i++) {
		KUNIT_EXPECT_EQ(test, rig->answer[i].status, i < 5 ? -ECANCELED : 77);
		KUNIT_EXPECT_EQ(test, rig->answer[i].worker, i < 5 ? 0 : 1);
	}
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 3), RJR_NONE_EXIST);
}

/* DX-7: nothing of one context shows in the other */
static void life_contexts_are_independent(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *one = start(test, 1), *two = start(test, 1);
	struct dxk_job *gate = dxk_rig_gate(rig, 4, PXR_REJOIN);
	struct dxk_job *job = dxk_rig_job(rig);
	struct dxk_request req = dxk_rig_request(job, 4, 0, PXR_REJOIN);
	u32 answer;

	KUNIT_EXPECT_NE(test, one->id, two->id);
	KUNIT_EXPECT_EQ(test, rig->m[0]->id, rig->m[1]->id);
	KUNIT_EXPECT_EQ(test, dxk_rejoin(rig->m[1], 4, rig->answer, 1, 0, 0, &answer), 0);
	KUNIT_EXPECT_EQ(test, answer, RJR_NONE_EXIST);
	/* the worker of the other one is free, and executes for its owner 4 */
	KUNIT_ASSERT_EQ(test, dxk_post(rig->m[1], &req, 1, 0, NULL), 1);
	KUNIT_ASSERT_EQ(test, dxk_rejoin(rig->m[1], 4, rig->answer, 1, 1,
					 dxk_in_ms(DXK_RIG_MS), &answer), 1);
	KUNIT_EXPECT_EQ(test, rig->answer[0].param, (uintptr_t)job);
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 4), RJR_NONE_READY);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(two, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	complete(&gate->leave);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 4, &answer), 1);
	KUNIT_EXPECT_EQ(test, rig->answer[0].param, (uintptr_t)gate);
}

static int unregister(struct dxk_errand *e)
{
	dxk_executor_unregister(&e->rig->exec);
	return 0;
}

/* An executor stays until the last request that names it was collected. */
static void life_unregister_waits(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1);
	struct dxk_job *gate = dxk_rig_gate(rig, 6, PXR_REJOIN);
	struct dxk_errand *e;
	u32 answer;
	u64 id;

	e = dxk_rig_errand(rig, unregister);
	rig->registered = false;
	KUNIT_ASSERT_TRUE(test, DXK_SOON(dxk_executor_find("kunit", &id) == -ENOENT));
	KUNIT_ASSERT_TRUE(test, DXK_SOON(dxk_rig_post(dxk_rig_job(rig), 6, 0, 0, NULL) ==
					 -ENOENT));
	msleep(30);
	KUNIT_EXPECT_FALSE(test, completion_done(&e->done));
	complete(&gate->leave);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(READ_ONCE(ctx->engine.nr[DXK_AT_REJOIN]) == 1));
	msleep(30);
	KUNIT_EXPECT_FALSE(test, completion_done(&e->done));
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 6, &answer), 1);
	dxk_rig_finished(e);
}

/*
 * thread 700 is dead, and so are its sweeps. Callers have its role: posts are
 * executed, sleepers get their room and their results, Stop ends all of it.
 */
static void life_without_the_dispatcher(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_errand *poster, *poller;
	struct dxk_job *gate, *second;
	struct dxk_policy p;
	struct dxk_ctx *ctx;
	u32 answer, i;

	dxk_rig_policy(test, &p, 2);
	p.ready_entries = 2;
	ctx = dxk_rig_start(rig, &p);
	dxk_control_stop(&ctx->control[DXK_DISPATCHER]);

	/* to idle workers, by the poster */
	for (i = 0; i < 10; i++) {
		post(test, dxk_rig_job(rig), 5, 0);
		KUNIT_ASSERT_EQ(test, dxk_rig_rejoin(rig, 5, &answer), 1);
	}
	/* out of a backlog, by the worker that ends; its entry to a sleeper */
	gate = dxk_rig_gate(rig, 5, PXR_REJOIN);
	second = dxk_rig_gate(rig, 5, PXR_REJOIN);
	for (i = 0; i < 2; i++)
		post(test, dxk_rig_job(rig), 6, 0);
	poster = dxk_rig_poster(dxk_rig_job(rig), PXR_WAITIF_BUSY | PXR_REJOIN,
				DXK_FOREVER);
	KUNIT_EXPECT_FALSE(test, completion_done(&poster->done));
	poller = dxk_rig_poller(rig, 6, DXK_FOREVER);
	KUNIT_EXPECT_FALSE(test, completion_done(&poller->done));
	complete(&gate->leave);
	dxk_rig_finished(poster);
	KUNIT_EXPECT_EQ(test, poster->ret, 1);
	dxk_rig_finished(poller);
	KUNIT_EXPECT_EQ(test, poller->answer, RJR_RETURNED);
	complete(&second->leave);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 5, &answer), 2);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 6, &answer), 1);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 0, &answer), 1);

	/* under a worker that executes, by Stop */
	gate = dxk_rig_gate(rig, 5, PXR_REJOIN);
	poller = dxk_rig_poller(rig, 5, DXK_FOREVER);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(20)),
			-ETIMEDOUT);
	dxk_rig_finished(poller);
	KUNIT_EXPECT_EQ(test, poller->ret, -ESHUTDOWN);
	complete(&gate->leave);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.missed_wakeups, 0);

	/* a Start makes a new one */
	KUNIT_EXPECT_EQ(test, dxk_ctx_start(ctx), 0);
	KUNIT_EXPECT_NOT_NULL(test, ctx->control[DXK_DISPATCHER].task);
}

#define MANY	(2 * DXK_STASH_MAX)

static bool is_quiet(struct dxk_engine *e)
{
	bool quiet;

	spin_lock(&e->lock);
	quiet = dxk_quiet(e);
	spin_unlock(&e->lock);
	return quiet;
}

/* So many have been executed, and are to be collected. */
static void execute_many(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = dxk_rig_job(rig);
	u32 i;

	for (i = 0; i < MANY; i++)
		post(test, job, 1, 0);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(is_quiet(&rig->ctx[0]->engine)));
}

static void collect_many(struct kunit *test)
{
	u32 i;

	for (i = 0; i < MANY; i++)
		KUNIT_ASSERT_EQ(test, dxk_rig_poll(test->priv, 1), RJR_RETURNED);
	KUNIT_ASSERT_EQ(test, dxk_rig_poll(test->priv, 1), RJR_NONE_EXIST);
}

static bool pool_is_empty(struct dxk_free_pool *pool)
{
	spin_lock(&pool->lock);
	pool->since = 0;	/* long ago */
	spin_unlock(&pool->lock);
	return !READ_ONCE(pool->nr);
}

/* Free requests stay for a while only, be it that nobody works, and not after Stop. */
static void life_of_free_requests(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_free_pool *pool;
	struct dxk_policy p;
	struct dxk_ctx *ctx;

	dxk_rig_policy(test, &p, 1);
	p.monitor_interval_ms = 10;
	p.prealloc_requests = 0;
	ctx = dxk_rig_start(rig, &p);
	pool = &ctx->engine.pool;
	execute_many(test);
	/* the Monitor has nothing to watch */
	KUNIT_ASSERT_TRUE(test, DXK_SOON(READ_ONCE(ctx->engine.dormant[DXK_MONITOR])));
	collect_many(test);
	KUNIT_EXPECT_NE(test, pool->nr, 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(pool_is_empty(pool)));

	execute_many(test);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	collect_many(test);
	KUNIT_EXPECT_EQ(test, pool->nr, 0);
}

KUNIT_ARRAY_PARAM(mode, dxk_rig_modes, dxk_rig_mode_name);

static struct kunit_case life_cases[] = {
	KUNIT_CASE_PARAM(life_start_and_stop, mode_gen_params),
	KUNIT_CASE_PARAM(life_worker_is_early, mode_gen_params),
	KUNIT_CASE_PARAM(life_thread_ids, mode_gen_params),
	KUNIT_CASE_PARAM(life_stop_cancels, mode_gen_params),
	KUNIT_CASE_PARAM(life_contexts_are_independent, mode_gen_params),
	KUNIT_CASE_PARAM(life_unregister_waits, mode_gen_params),
	KUNIT_CASE(life_without_the_dispatcher),
	KUNIT_CASE(life_of_free_requests),
	{ }
};

static struct kunit_suite life_suite = {
	.name = "dxk_life",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = life_cases,
};

kunit_test_suite(life_suite);
