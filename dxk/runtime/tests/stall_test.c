// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stalls of kernel workers, whose Monitor sleeps without a time limit, and what
 * dxk_should_stop() says (DX-109).
 */
#include "runtime/tests/rig.h"

static void start(struct kunit *test, u32 workers)
{
	struct dxk_policy p;

	dxk_rig_policy(test, &p, workers);
	p.monitor_interval_ms = 3600000;
	dxk_rig_start(test->priv, &p);
}

static u64 stalls(struct dxk_rig *rig)
{
	u64 nr;

	spin_lock(&rig->ctx[0]->engine.lock);
	nr = rig->ctx[0]->engine.stats.stalls;
	spin_unlock(&rig->ctx[0]->engine.lock);
	return nr;
}

/* A parent: it posts a child and sleeps until that has ended. */
static s32 wait_for_child(struct dxk_job *job, struct dxk_call *call)
{
	struct dxk_job *child = job->arg;
	struct dxk_request req = dxk_rig_request(child, (uintptr_t)job, 0, PXR_REJOIN);
	struct dxk_answer a = { };
	u32 answer;
	int ret;

	ret = dxk_post(call->self, &req, 1, 0, NULL);
	if (ret != 1)
		return ret;
	ret = dxk_rejoin(call->self, (uintptr_t)job, &a, 1, 1, DXK_FOREVER, &answer);
	return ret == 1 ? a.status : ret;
}

static void post_parent(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *child = dxk_rig_job(rig);
	struct dxk_job *parent = dxk_rig_job(rig);

	child->status = 7;
	parent->fn = wait_for_child;
	parent->arg = child;
	KUNIT_ASSERT_EQ(test, dxk_rig_post(parent, 1, 0, PXR_REJOIN, NULL), 1);
}

/*
 * One worker, parent and child: told in time though the Monitor's interval is an
 * hour. A second worker joins, and it is over.
 */
static void stall_of_kernel_workers(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_policy p;
	u32 answer;

	start(test, 1);
	post_parent(test);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(stalls(rig) == 1));

	p = rig->ctx[0]->engine.policy;
	p.max_threads = 2;
	p.kernel_threads = 2;
	KUNIT_ASSERT_EQ(test, dxk_ctx_set_policy(rig->ctx[0], &p), 0);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 1, &answer), 1);
	KUNIT_EXPECT_EQ(test, rig->answer[0].status, 7);
	KUNIT_EXPECT_EQ(test, stalls(rig), 1);
}

/* With a worker for the child nothing is told, however often it happens. */
static void stall_false_alarms(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	u32 answer, i;

	start(test, 2);
	for (i = 0; i < DXK_RIG_JOBS / 2; i++) {
		post_parent(test);
		KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 1, &answer), 1);
		KUNIT_EXPECT_EQ(test, rig->answer[0].status, 7);
	}
	KUNIT_EXPECT_EQ(test, stalls(rig), 0);
}

static s32 until_should_stop(struct dxk_job *job, struct dxk_call *call)
{
	while (!dxk_should_stop(call))
		usleep_range(500, 1000);
	return 9;
}

/*
 * DX-109: Stop(drain) ends a service of lane 0 and lets others run on; Stop(cancel)
 * asks those to end, too.
 */
static void stall_should_stop(struct kunit *test)
{
	static const struct { u32 attrs; enum dxk_stop_mode mode; } end[] = {
		{ PXR_LANE0, DXK_STOP_DRAIN },
		{ PXR_LANE0, DXK_STOP_CANCEL },
		{ 0, DXK_STOP_CANCEL },
	};
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job;
	u32 i;

	start(test, 1);
	for (i = 0; i < ARRAY_SIZE(end); i++) {
		if (i)
			KUNIT_ASSERT_EQ(test, dxk_ctx_start(rig->ctx[0]), 0);
		job = dxk_rig_job(rig);
		job->fn = until_should_stop;
		KUNIT_ASSERT_EQ(test, dxk_rig_post(job, 1, 0, PXR_REJOIN | end[i].attrs,
						   NULL), 1);
		dxk_rig_entered(job);
		if (end[i].mode == DXK_STOP_CANCEL && !end[i].attrs)
			KUNIT_EXPECT_EQ(test, dxk_ctx_stop(rig->ctx[0], DXK_STOP_DRAIN,
							   dxk_in_ms(50)), -ETIMEDOUT);
		KUNIT_EXPECT_EQ(test, dxk_ctx_stop(rig->ctx[0], end[i].mode,
						   dxk_in_ms(DXK_RIG_MS)), 0);
		KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 1), RJR_RETURNED);
		KUNIT_EXPECT_EQ(test, rig->answer[0].status, 9);
	}
}

static struct kunit_case dxk_stall_cases[] = {
	KUNIT_CASE(stall_of_kernel_workers),
	KUNIT_CASE(stall_false_alarms),
	KUNIT_CASE(stall_should_stop),
	{ }
};

static struct kunit_suite dxk_stall_suite = {
	.name = "dxk_stall",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = dxk_stall_cases,
};
kunit_test_suite(dxk_stall_suite);
