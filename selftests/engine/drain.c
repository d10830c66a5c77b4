// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stop(drain): what is under way ends with all that it posts and waits for, and nothing
 * comes from outside (DX-107, DX-108).
 */
#include "lib/puppet.h"

#define TOPS	40
#define TOP	64
#define FAN	4
#define OWNER	(1ULL << 40)

static struct dxt_gate *gate;
static _Atomic unsigned int leaves, loops;

static int exe_level(struct dxt_call *call);

/* Posts the children of a request and collects them all: 0, or what went wrong. */
static int family(int member, uint64_t param, unsigned int lane)
{
	struct dxk_result r[FAN];
	uint32_t answer = 0;
	unsigned int i, got = 0;
	int rc;

	for (i = 0; i < FAN; i++) {
		rc = dxt_post1(member, param, DXT_FN(exe_level), param * 8 + i,
			       lane_attr(lane) | PXR_REJOIN | PXR_WAITIF_BUSY, DXK_FOREVER,
			       NULL);
		if (rc != 1)
			return rc < 0 ? rc : -EIO;
	}
	while (answer != RJR_NONE_EXIST) {
		rc = dxt_rejoin(member, param, r, FAN, 1, DXK_FOREVER, &answer);
		if (rc < 0)
			return rc;
		for (i = 0; i < (unsigned int)rc; i++)
			if (r[i].status)
				return r[i].status;
		got += rc;
	}
	return got == FAN ? 0 : -EIO;
}

/*
 * Three levels, in lanes 1 to 3; the param of a request is the owner of its children. No two
 * have the same: TOPS of them from TOP on, FAN of the next level from 8 * TOP on.
 */
static int exe_level(struct dxt_call *call)
{
	uint32_t lane = call->work.attrs & (PXR_LANE1 | PXR_LANE2);

	if (lane)
		return family(call->worker->member, call->work.param,
			      lane == PXR_LANE1 ? 2 : 3);
	leaves++;
	dxt_gate_pass(gate, call->worker->id);
	return 0;
}

/* DX-107, DX-108: of 40 hierarchies, most of which have not begun, each one succeeds. */
TEST(hierarchies_end)
{
	struct dxk_result r[TOPS];
	struct puppet *outside;
	uint32_t answer;
	unsigned int i;
	struct dxt t;

	gate = dxt_gate_new();
	leaves = 0;
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.sched_mode = TPOOL_MODE_CMLS;
	t.policy.max_threads = 8;
	t.policy.lane_pct[1] = t.policy.lane_pct[2] = 25;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 8));
	for (i = 0; i < TOPS; i++)
		ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_FN(exe_level), TOP + i,
				       PXR_LANE1 | PXR_REJOIN, 0, NULL));
	outside = puppet_new(&t, DXK_MEMBER_CLIENT);
	ASSERT_TRUE(puppet_rejoin(outside, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered));

	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, 0));
	EXPECT_EQ(-ESHUTDOWN, puppet_end(outside));
	for (i = 1; i <= 3; i++) {
		EXPECT_EQ(-ESHUTDOWN, dxt_post1(t.member, OWNER, DXT_NOP, 0, PXR_WAITIF_BUSY,
						DXK_FOREVER, NULL));
		EXPECT_EQ(i, dxt_num(&t, "stats/post_refused"));
	}
	/* it may come again to wait for what is under way */
	ASSERT_TRUE(puppet_rejoin(outside, OWNER, 1, 1, DXK_FOREVER));
	dxt_gate_open(gate);
	EXPECT_EQ(1, puppet_end(outside));
	EXPECT_EQ(0, outside->result[0].status);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	ASSERT_EQ(TOPS - 1, dxt_rejoin(t.member, OWNER, r, TOPS, TOPS, 0, &answer));
	for (i = 0; i < TOPS - 1; i++)
		EXPECT_EQ(0, r[i].status);
	EXPECT_EQ(TOPS * FAN * FAN, leaves);
	EXPECT_EQ(3, dxt_num(&t, "stats/post_refused"));
	EXPECT_EQ(TOPS * (1 + FAN + FAN * FAN), dxt_num(&t, "stats/completions"));
	EXPECT_EQ(0, dxt_num(&t, "stats/cancelled"));
	puppet_free(outside);
	dxt_gate_free(gate);
	dxt_down(&t);
}

/* Posts and collects until it is refused. */
static int exe_endless(struct dxt_call *call)
{
	struct dxk_result r;
	int rc = 1;

	while (rc >= 0) {
		rc = dxt_post1(call->worker->member, 7, DXT_NOP, 0,
			       PXR_REJOIN | PXR_WAITIF_BUSY, DXK_FOREVER, NULL);
		if (rc == 1)
			rc = dxt_rejoin(call->worker->member, 7, &r, 1, 1, DXK_FOREVER, NULL);
		loops++;
	}
	return rc;
}

/* DX-108, DX-114: a drain without end ends at its deadline; the caller may cancel then. */
TEST(endless_one_is_told)
{
	struct dxk_running run[4];
	struct dxk_result r;
	unsigned int nr, i, before;
	bool told = false;
	struct dxt t;

	loops = 0;
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_FN(exe_endless), 0, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, loops));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop_report(t.ctx, DXK_STOP_DRAIN, 20 * DXT_MS, run, 4,
						  &nr));
	for (i = 0; i < nr; i++)
		told |= run[i].executor == DXT_FN(exe_endless);
	EXPECT_TRUE(told);
	before = loops;
	EXPECT_TRUE(DXT_UNTIL(&t, loops > before + 10));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, -1));
	EXPECT_EQ(1, dxt_rejoin(t.member, OWNER, &r, 1, 1, 0, NULL));
	EXPECT_EQ(-ESHUTDOWN, r.status);
	dxt_down(&t);
}

/* DX-107: a drain leaves asleep who is inside; grown to a cancel it wakes them as well. */
TEST(grows_to_cancel)
{
	struct puppet *w[2], *client;
	unsigned int i;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	t.policy.ready_entries = 1;
	ASSERT_EQ(0, dxt_start(&t));
	puppets_new(&t, w, 2, DXK_MEMBER_WORKER);
	client = puppet_new(&t, DXK_MEMBER_CLIENT);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_NOP, i, PXR_REJOIN, 0, NULL));
		ASSERT_EQ(1, puppet_fetch(w[i]));
	}
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(puppet_post1(client, 1, PXR_REJOIN));
	ASSERT_TRUE(puppet_post1(w[0], 1, PXR_REJOIN));
	ASSERT_TRUE(puppet_rejoin(w[1], 1, 1, 1, DXK_FOREVER));

	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, 0));
	EXPECT_EQ(-ESHUTDOWN, puppet_end(client));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, 0));
	for (i = 0; i < 2; i++)
		EXPECT_TRUE(puppet_sleeps(w[i]));
	EXPECT_EQ(1, dxt_num(&t, "stats/post_refused"));

	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, 0));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-ESHUTDOWN, puppet_end(w[i]));
		EXPECT_EQ(0, puppet_finish(w[i], 0));
	}
	EXPECT_EQ(2, dxt_num(&t, "stats/post_refused"));
	EXPECT_EQ(1, dxt_num(&t, "stats/cancelled"));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	puppet_free(client);
	puppets_free(w, 2);
	dxt_down(&t);
}

/* DX-9, DX-46, DX-108: what a change of the policy has closed ends, and so does a drain. */
TEST(closed_lane_ends)
{
	struct dxk_result r;
	struct puppet *w;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.sched_mode = TPOOL_MODE_CMLS;
	t.policy.max_threads = 4;
	t.policy.lane_pct[0] = 50;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_LANE0 | PXR_REJOIN, 0, NULL));
	t.policy.lane_pct[0] = 0;
	ASSERT_EQ(0, dxk_policy_set(t.ctx, &t.policy, NULL));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &r, 1, 1, DXK_FOREVER, NULL));
	EXPECT_EQ(-EPERM, r.status);
	EXPECT_EQ(-EPERM, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_LANE0, 0, NULL));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	EXPECT_TRUE(puppet_ask(w));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(-ESHUTDOWN, puppet_end(w));
	puppet_free(w);
	dxt_down(&t);
}

TEST_HARNESS_MAIN
