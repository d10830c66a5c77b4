// SPDX-License-Identifier: GPL-2.0-only
/* The crew: workers are equal, threads are not bound to lanes. */
#include "lib/dxt.h"

#define WORKERS	4

struct round {
	struct dxt_gate *gate;
	/* who executed what: one writer at a time for each worker */
	unsigned int executed[WORKERS + 1][DXK_LANES];
};

static struct round round_now;

static unsigned int lane_of(uint32_t attrs)
{
	if (attrs & PXR_LANE0)
		return 0;
	if (attrs & PXR_LANE1)
		return 1;
	return attrs & PXR_LANE2 ? 2 : 3;
}

static int exe_round(struct dxt_call *call)
{
	round_now.executed[call->worker->id][lane_of(call->work.attrs)]++;
	dxt_gate_pass(round_now.gate, call->worker->id);
	return 0;
}

/* Are all cells of the workers and lanes above 0? */
static bool all_executed(unsigned int first_lane)
{
	unsigned int id, lane;

	for (id = 1; id <= WORKERS; id++)
		for (lane = first_lane; lane < DXK_LANES; lane++)
			if (!round_now.executed[id][lane])
				return false;
	return true;
}

/*
 * DX-74, DX-81: no thread is bound to a lane and all workers are equal: over a
 * long mixed run every worker has executed requests of every open lane. Each
 * round keeps all workers busy at once, with a lane each, posted in turns.
 */
TEST(every_worker_every_lane)
{
	static const uint32_t lane[WORKERS] = { PXR_LANE0, PXR_LANE1, PXR_LANE2, 0 };
	struct dxt t;
	unsigned int i, n, rounds;

	memset(&round_now, 0, sizeof(round_now));
	round_now.gate = dxt_gate_new();
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = WORKERS;
	t.policy.sched_mode = TPOOL_MODE_CMLS;
	t.policy.lane_pct[0] = t.policy.lane_pct[1] = t.policy.lane_pct[2] = 25;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, WORKERS));

	for (rounds = 0; rounds < 500 && !all_executed(0); rounds++) {
		round_now.gate->entered = round_now.gate->left = 0;
		dxt_gate_close(round_now.gate);
		for (i = 0; i < WORKERS; i++) {
			n = (i + rounds) % WORKERS;
			ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_FN(exe_round), 0,
					       lane[n] | PXR_REJOIN, 0, NULL));
		}
		/* each lane has its worker: all run at the same time */
		ASSERT_TRUE(DXT_UNTIL(&t, round_now.gate->entered == WORKERS));
		EXPECT_EQ(WORKERS, dxt_num(&t, "pools/thread_busy"));
		for (i = 0; i < DXK_LANES; i++)
			EXPECT_EQ(1, dxt_num(&t, "lanes/user_lane%u_in_use", i));
		dxt_gate_open(round_now.gate);
		ASSERT_EQ(WORKERS, dxt_drain(&t, t.member, 1));
	}
	EXPECT_TRUE(all_executed(0))
		for (i = 1; i <= WORKERS; i++)
			TH_LOG("worker %u: lanes %u %u %u %u in %u rounds", i,
			       round_now.executed[i][0], round_now.executed[i][1],
			       round_now.executed[i][2], round_now.executed[i][3],
			       rounds);
	dxt_down(&t);
}

/* DX-81: without lanes any worker gets any request; as many run as there are. */
TEST(all_workers_at_once)
{
	struct dxk_result result[WORKERS];
	unsigned int seen = 0, i;
	struct dxt t;

	memset(&round_now, 0, sizeof(round_now));
	round_now.gate = dxt_gate_new();
	ASSERT_EQ(0, dxt_up(&t, WORKERS));
	for (i = 0; i < WORKERS; i++)
		ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_FN(exe_round), i, PXR_REJOIN, 0,
				       NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, round_now.gate->entered == WORKERS));
	dxt_gate_open(round_now.gate);
	EXPECT_EQ(WORKERS, dxt_rejoin(t.member, 1, result, WORKERS, WORKERS,
				      dxt_late(), NULL));
	for (i = 0; i < WORKERS; i++)
		seen |= 1U << result[i].worker;
	EXPECT_EQ(0x1e, seen);
	dxt_down(&t);
}

/* Workers come and go in any order; the lowest vacant id is given out. */
TEST(join_and_leave)
{
	struct dxt_worker *w[WORKERS];
	unsigned int i, round;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = WORKERS;
	ASSERT_EQ(0, dxt_start(&t));
	for (round = 0; round < 3; round++) {
		for (i = 0; i < WORKERS; i++) {
			w[i] = dxt_worker_start(&t);
			EXPECT_EQ(i + 1, w[i]->id);
		}
		EXPECT_EQ(0, dxt_worker_end(w[2]));
		EXPECT_EQ(0, dxt_worker_end(w[0]));
		w[0] = dxt_worker_start(&t);
		EXPECT_EQ(1, w[0]->id);
		w[2] = dxt_worker_start(&t);
		EXPECT_EQ(3, w[2]->id);
		EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
		EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
		for (i = 0; i < WORKERS; i++)
			EXPECT_EQ(0, dxt_worker_end(w[i]));
		EXPECT_EQ(0, dxt_num(&t, "pools/thread_use"));
		EXPECT_TRUE(dxt_member_is(&t, 1, "vacant"));
	}
	dxt_down(&t);
}

/* DX-81: one crew of both kinds serves one owner, each kind what is for it. */
TEST(both_kinds)
{
	struct dxk_result result[8];
	uint64_t nop;
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 3;
	t.policy.kernel_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	ASSERT_EQ(0, dxk_executor_find(t.ctl, "nop", &nop));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(1, dxt_post1(t.member, 1, i % 2 ? nop : DXT_NOP, (uint64_t)i,
				       PXR_REJOIN | (i % 2 ? PXR_KERNEL : 0), 0, NULL));
	EXPECT_EQ(8, dxt_rejoin(t.member, 1, result, 8, 8,
				dxt_late(), NULL));
	for (i = 0; i < 8; i++) {
		EXPECT_EQ(0, result[i].status);
		EXPECT_EQ(result[i].param % 2 == 1, result[i].worker == 1);
	}
	dxt_down(&t);
}

/* Ends what is held of an owner. */
static int end_all(const struct dxt *t, uint64_t owner)
{
	return dxk_cancel_owner(t->member, owner, NULL);
}

/*
 * AG-32, AG-33, R-15: kernel workers begin with min_threads, grow by need up to their places,
 * where what is beyond waits for one to return, and leave once they are idle for long.
 */
TEST(kernel_crew_by_need)
{
	enum { LEAST = 2, PLACES = 6 };
	struct dxk_policy p;
	struct dxt t;
	uint64_t nap;
	int i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = t.policy.kernel_threads = PLACES;
	t.policy.min_threads = LEAST;
	t.policy.spare_idle_ms = 50;
	t.policy.monitor_interval_ms = 10;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxk_executor_find(t.ctl, "sleep", &nap));
	EXPECT_EQ(LEAST, dxt_num(&t, "pools/thread_use"));
	for (i = 0; i < PLACES; i++)
		ASSERT_EQ(1, dxt_post1(t.member, i < LEAST ? 1 : 2, nap, 60 * 1000 * 1000,
				       PXR_KERNEL, 0, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_busy") == PLACES));
	EXPECT_EQ(PLACES, dxt_num(&t, "pools/thread_use"));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, dxt_post1(t.member, 3, nap, 60 * 1000 * 1000, PXR_KERNEL, 0, NULL));
	EXPECT_EQ(2, dxt_num(&t, "pools/ready_use"));
	/* four return, two of them to those that wait: two are too many */
	EXPECT_LE(0, end_all(&t, 2));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_busy") == 4));
	EXPECT_EQ(0, dxt_num(&t, "pools/ready_use"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 4));
	EXPECT_LE(0, end_all(&t, 1));
	EXPECT_LE(0, end_all(&t, 3));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == LEAST));
	/* and their threads end */
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_kthreads(&t) == 3 + LEAST));
	/* the policy asks for more, and for fewer */
	p = t.policy;
	p.min_threads = LEAST + 1;
	EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == LEAST + 1));
	p.min_threads = 1;
	EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 1));
	/* it grows while Stop drains as well */
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, dxt_post1(t.member, 1, nap, 60 * 1000 * 1000, PXR_KERNEL, 0, NULL));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, 0));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_busy") == 3));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, -1));
	EXPECT_EQ(0, dxt_num(&t, "stats/missed_wakeups"));
	dxt_down(&t);
}

TEST_HARNESS_MAIN
