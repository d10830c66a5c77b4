// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests through whole contexts and the in-kernel API, in both dispatch modes:
 * what a poll answers, in which order they run, what comes back of them.
 */
#include "runtime/tests/rig.h"

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

/* DX-87..DX-90, DX-54, DX-49: cases 2a, 2b, 1 and 3, for owner 0 like any other */
static void engine_rejoin_cases(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1);
	struct dxk_job *gate, *job;
	u64 owner = 0;
	u32 answer;

	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, owner), RJR_NONE_EXIST);
	gate = dxk_rig_gate(rig, owner, PXR_REJOIN);
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, owner), RJR_NONE_READY);
	complete(&gate->leave);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, owner, &answer), 1);
	KUNIT_EXPECT_EQ(test, answer, RJR_RETURNED);
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, owner), RJR_NONE_EXIST);

	gate = dxk_rig_gate(rig, 99, 0);
	job = dxk_rig_job(rig);
	post(test, job, owner, 0);
	KUNIT_EXPECT_EQ(test, ctx->engine.nr[DXK_AT_READY], 1);
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, owner), RJR_NONE_READY);
	/* DX-53: that of owner 99 counts as well, but never comes back */
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 99), RJR_NONE_READY);
	complete(&gate->leave);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(READ_ONCE(ctx->engine.nr[DXK_AT_REJOIN]) == 1));
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, owner), RJR_RETURNED);
	KUNIT_EXPECT_EQ(test, rig->answer[0].param, (uintptr_t)job);
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, owner), RJR_NONE_EXIST);
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 99), RJR_NONE_EXIST);
}

/* DX-57, DX-56, DX-48, DX-86: with one worker, by priority, equals as posted */
static void engine_priority_order(struct kunit *test)
{
	static const s32 prio[] = { 3, -7, 3, S32_MAX, 0, 12, S32_MIN, 3, 0, -7 };
	static const u32 order[] = { 3, 5, 0, 2, 7, 4, 8, 1, 9, 6 };
	struct dxk_rig *rig = test->priv;
	struct dxk_job *gate;
	u32 i, first, answer;

	start(test, 1);
	gate = dxk_rig_gate(rig, 1, 0);
	first = rig->nr_jobs;
	for (i = 0; i < ARRAY_SIZE(prio); i++)
		post(test, dxk_rig_job(rig), 2, prio[i]);
	complete(&gate->leave);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 2, &answer), ARRAY_SIZE(prio));
	for (i = 0; i < ARRAY_SIZE(prio); i++) {
		KUNIT_EXPECT_EQ(test, rig->order[1 + i], first + order[i]);
		/* DX-95: and they come back as they were completed */
		KUNIT_EXPECT_EQ(test, rig->answer[i].prio, prio[order[i]]);
	}
}

static s32 reverse(struct dxk_job *job, struct dxk_call *call)
{
	u8 *data = call->data;
	u32 i;

	for (i = 0; i < call->data_len / 2; i++)
		swap(data[i], data[call->data_len - 1 - i]);
	call->result_len = call->result_room;
	return -1234;
}

/* DX-33, DX-36, DX-85: all fields come back, with status and result */
static void engine_status_and_data(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = dxk_rig_job(rig);
	struct dxk_request req = dxk_rig_request(job, 5, -9, PXR_REJOIN | PXR_BOOST |
						 PXR_LANE1);
	struct dxk_answer *a = rig->answer;
	char out[8];
	u32 answer;

	start(test, 1);
	job->fn = reverse;
	req.data = "abcde";
	req.data_len = 5;
	req.result_len = 4;
	memset(out, '#', sizeof(out));
	a->data = out;
	a->data_room = 3;
	KUNIT_ASSERT_EQ(test, dxk_post(rig->m[0], &req, 1, 0, NULL), 1);
	KUNIT_ASSERT_EQ(test, dxk_rig_rejoin(rig, 5, &answer), 1);
	KUNIT_EXPECT_EQ(test, a->executor, req.executor);
	KUNIT_EXPECT_EQ(test, a->param, req.param);
	KUNIT_EXPECT_EQ(test, a->attrs, req.attrs);
	KUNIT_EXPECT_EQ(test, a->status, -1234);
	KUNIT_EXPECT_EQ(test, a->prio, -9);
	KUNIT_EXPECT_EQ(test, a->worker, 1);
	KUNIT_EXPECT_EQ(test, a->inspect_count, 0);
	/* four bytes, of which three had room */
	KUNIT_EXPECT_EQ(test, a->data_len, 4);
	KUNIT_EXPECT_EQ(test, memcmp(out, "edc#####", sizeof(out)), 0);
	a->data = NULL;
}

/* DX-59, DX-60, DX-36, DX-63, DX-65: what the Scheduler adds is what is told */
static void engine_ageing(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *gate;
	struct dxk_policy p;
	struct dxk_ctx *ctx;
	u32 i, answer;
	u64 tick;

	dxk_rig_policy(test, &p, 1);
	p.prio_policy = PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST;
	p.boost_value = 4;
	p.sched_interval_ms = 2;
	ctx = dxk_rig_start(rig, &p);
	gate = dxk_rig_gate(rig, 1, 0);
	post(test, dxk_rig_job(rig), 2, 100);
	KUNIT_ASSERT_EQ(test, dxk_rig_post(dxk_rig_job(rig), 2, 50,
					   PXR_BOOST | PXR_REJOIN, NULL), 1);
	post(test, dxk_rig_job(rig), 2, S32_MAX - 1);
	tick = READ_ONCE(ctx->engine.ready.tick);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(READ_ONCE(ctx->engine.ready.tick) >= tick + 2));
	complete(&gate->leave);
	KUNIT_ASSERT_EQ(test, dxk_rig_rejoin(rig, 2, &answer), 3);
	for (i = 0; i < 3; i++) {
		s64 ticks = rig->answer[i].inspect_count;
		s64 want = rig->answer[i].attrs & PXR_BOOST ? 50 + 5 * ticks :
			   i == 0 ? S32_MAX : 100 + ticks;

		KUNIT_EXPECT_GE(test, ticks, 2);
		KUNIT_EXPECT_EQ(test, rig->answer[i].prio, want);
	}
}

KUNIT_ARRAY_PARAM(mode, dxk_rig_modes, dxk_rig_mode_name);

static struct kunit_case engine_cases[] = {
	KUNIT_CASE_PARAM(engine_rejoin_cases, mode_gen_params),
	KUNIT_CASE_PARAM(engine_priority_order, mode_gen_params),
	KUNIT_CASE_PARAM(engine_status_and_data, mode_gen_params),
	KUNIT_CASE_PARAM(engine_ageing, mode_gen_params),
	{ }
};

static struct kunit_suite engine_suite = {
	.name = "dxk_engine",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = engine_cases,
};

kunit_test_suite(engine_suite);
