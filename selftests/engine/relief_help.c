// SPDX-License-Identifier: GPL-2.0-only
/* As relief.c: how deep helpers help, how they die, complete and wake. */
#include "relief_test.h"

/* --- bounds of helping --------------------------------------------------------------- */

/* Each posts one of its kind and waits for it: a chain as deep as param. */
static int exe_chain(struct dxt_call *call)
{
	struct dxt_worker *w = call->worker;
	struct dxk_post_entry e = dxt_entry(100 + call->work.param, DXT_FN(exe_chain),
					    call->work.param - 1, PXR_REJOIN);
	struct dxk_result r;
	unsigned int answer = 0;
	int rc = 0;

	if (!call->work.param)
		return 0;
	if (dxk_post_flags(w->member, &e, 1, DXK_CALL_HELP, 0, NULL) != 1)
		return -EIO;
	while (!rc && answer != RJR_RETURNED) {
		rc = dxk_rejoin_flags(w->member, e.owner, &r, 1, 1, NULL, 0,
				      DXK_CALL_HELP, -1, &answer);
		if (rc < 0)
			return rc;
		rc = answer == RJR_HELP ? help(w) : 0;
	}
	return rc ?: r.status + 1;
}

/* help_depth is a bound: a chain of that length ends, a longer one stalls. */
TEST(help_depth)
{
	struct dxk_result r;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	t.policy.on_block = DXK_ON_BLOCK_HELP;
	t.policy.help_depth = 3;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	depth_max = 0;
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_FN(exe_chain), 3, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &r, 1, 1, dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(3, r.status);
	EXPECT_EQ(3, depth_max);
	EXPECT_EQ(3, dxt_num(&t, "stats/helps"));
	EXPECT_EQ(0, dxt_num(&t, "stats/stalls"));

	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_FN(exe_chain), 4, PXR_REJOIN, 0, NULL));
	EXPECT_TRUE(stall_comes(&t, 0));
	EXPECT_EQ(3, depth_max);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	dxt_down(&t);
}

/* A helper that dies with a request in its hands gives it back; who waits gets it. */
TEST(helper_dies)
{
	struct puppet *p;
	struct dxk_result r;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	puppet_signals(false);
	t.policy.on_block = DXK_ON_BLOCK_HELP;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	p = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_PARAM, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(p));
	p->entry[0] = dxt_entry(2, DXT_PARAM, 2, PXR_REJOIN);
	ASSERT_FALSE(puppet_post(p, 1, 0));
	/* without the flag it sleeps on, although it could help */
	EXPECT_TRUE(puppet_rejoin(p, 2, 1, 1, DXK_FOREVER));
	puppet_signal(p);
	EXPECT_EQ(-EINTR, puppet_end(p));
	p->rejoin.flags = DXK_CALL_HELP;
	puppet_begin(p, puppet_call_rejoin);
	EXPECT_EQ(0, puppet_end(p));
	EXPECT_EQ(RJR_HELP, p->rejoin.answer);
	EXPECT_EQ(2, dxt_num(&t, "pools/thread_busy"));
	/* called, not fetched */
	puppet_free(p);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_busy") == 0));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &r, 1, 1, 0, NULL));
	EXPECT_EQ(-EOWNERDEAD, r.status);
	/* the child runs at its place, the first time */
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(1, dxt_rejoin(t.member, 2, &r, 1, 1, dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(2, r.status);
	EXPECT_EQ(1, r.attempts);
	dxt_down(&t);
}

/*
 * D-8: a helper does not wait for room in the Rejoin Pool (rejoin_full=block_worker): it
 * may be the one who is to make it.
 */
TEST(helper_completes)
{
	struct dxk_work tmp;
	struct puppet *p;
	struct dxt t;
	unsigned int i;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	puppet_signals(false);
	t.policy.on_block = DXK_ON_BLOCK_HELP;
	t.policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	t.policy.rejoin_entries = 1;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	p = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_PARAM, 1, 0, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(p));
	for (i = 2; i < 4; i++) {
		/* waits for the second child, and so executes both */
		p->entry[0] = dxt_entry(i, DXT_PARAM, i, PXR_REJOIN);
		puppet_post(p, 1, 0);
		ASSERT_EQ(1, puppet_end(p));
		puppet_rejoin(p, i, 1, 1, 0);
		p->rejoin.flags = DXK_CALL_HELP;
		p->rejoin.deadline = DXK_FOREVER;
		puppet_begin(p, puppet_call_rejoin);
		ASSERT_EQ(0, puppet_end(p));
		ASSERT_EQ(RJR_HELP, p->rejoin.answer);
		ASSERT_EQ(1, puppet_fetch(p));
		tmp = p->work[0];
		p->work[0] = p->work[1];
		p->work[1] = tmp;
		puppet_next(p, 1, 0, 0, 0);
		EXPECT_EQ(0, puppet_end(p));
		EXPECT_EQ(1, p->held);
	}
	EXPECT_EQ(2, dxt_num(&t, "pools/rejoin_use"));
	EXPECT_EQ(0, dxt_num(&t, "stats/complete_blocks"));
	EXPECT_EQ(0, puppet_finish(p, 0));
	puppet_free(p);
	dxt_down(&t);
}

/* A signal, a deadline and a Stop end the sleep of a helper as any other. */
TEST(helper_wakes)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct puppet *p;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	puppet_signals(false);
	t.policy.on_block = DXK_ON_BLOCK_HELP;
	t.policy.max_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	p = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_PARAM, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(p));
	/* for a request that another one executes */
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 2, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0,
			       NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_busy") == 2));
	EXPECT_TRUE(puppet_rejoin(p, 2, 1, 1, DXK_FOREVER));
	puppet_signal(p);
	EXPECT_EQ(-EINTR, puppet_end(p));
	p->rejoin.flags = DXK_CALL_HELP;
	EXPECT_TRUE(puppet_begin(p, puppet_call_rejoin));
	puppet_signal(p);
	EXPECT_EQ(-EINTR, puppet_end(p));
	p->rejoin.deadline = dxt_in(5 * DXT_MS);
	puppet_begin(p, puppet_call_rejoin);
	EXPECT_EQ(0, puppet_end(p));
	EXPECT_EQ(RJR_NONE_READY, p->rejoin.answer);
	p->rejoin.deadline = DXK_FOREVER;
	EXPECT_TRUE(puppet_begin(p, puppet_call_rejoin));
	ASSERT_EQ(1, dxt_post1(t.member, 3, DXT_PARAM, 9, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(0, puppet_end(p));
	EXPECT_EQ(RJR_HELP, p->rejoin.answer);
	EXPECT_EQ(1, puppet_fetch(p));
	EXPECT_EQ(9, p->work[1].param);
	p->rejoin.flags = DXK_CALL_HELP;
	EXPECT_TRUE(puppet_begin(p, puppet_call_rejoin));
	dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, 0);
	EXPECT_EQ(-ESHUTDOWN, puppet_end(p));
	puppet_free(p);
	dxt_gate_open(gate);
	dxt_down(&t);
	dxt_gate_free(gate);
}
