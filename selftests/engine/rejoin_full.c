// SPDX-License-Identifier: GPL-2.0-only
/* As rejoin.c: a Rejoin Pool that is full (DX-96, D-7). */
#include "rejoin_test.h"

#define CHILDREN	20

/*
 * Collects @nr. Not until none exists: that may be so for a moment, while the
 * parent is about to post the next.
 */
static int collect(struct dxt *t, int nr)
{
	struct dxk_result r;
	int got = 0;

	while (got < nr) {
		int rc = 0;

		if (!DXT_UNTIL(t, (rc = dxt_rejoin(t->member, OWNER, &r, 1, 1, 0,
						   NULL))) || rc < 0)
			break;
		got++;
	}
	return got;
}

/* Posts all children, each with WAITIF, one call each. */
static void puppet_call_children(struct puppet *p)
{
	int i;

	for (i = 0; i < CHILDREN; i++) {
		p->ret = dxt_post1(p->fd, OWNER, DXT_NOP, i,
				   PXR_REJOIN | PXR_WAITIF_BUSY, DXK_FOREVER, NULL);
		if (p->ret != 1)
			return;
	}
}

FIXTURE(full) {
	struct dxt t;
	struct puppet *parent;
};

FIXTURE_SETUP(full)
{
	struct dxt *t = &self->t;

	ASSERT_EQ(0, dxt_open(t));
	puppet_signals(false);
	no_periods(t);
	t->policy.max_threads = 2;
	t->policy.ready_entries = 4;
	t->policy.rejoin_entries = 4;
}

FIXTURE_TEARDOWN(full)
{
	if (self->parent)
		puppet_free(self->parent);
	/* a worker that blocks with its result ends only when that is taken */
	dxt_drain(&self->t, self->t.member, OWNER);
	dxt_down(&self->t);
}

#define UP(policy_) ({							\
	t->policy.rejoin_full = policy_;				\
	ASSERT_EQ(0, dxt_start(t));					\
	self->parent = puppet_new(t, DXK_MEMBER_CLIENT);		\
	ASSERT_EQ(0, dxt_workers_start(t, 2));				\
})

/* D-7, grow: no worker ever blocks; the overflow is counted. */
TEST_F(full, grow)
{
	struct dxt *t = &self->t;

	UP(DXK_REJOIN_GROW);
	puppet_begin(self->parent, puppet_call_children);
	ASSERT_EQ(1, puppet_end(self->parent));
	ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "stats/completions") == CHILDREN));
	EXPECT_EQ(CHILDREN, dxt_num(t, "pools/rejoin_high_water"));
	EXPECT_EQ(CHILDREN - 4, dxt_num(t, "stats/rejoin_overflow"));
	EXPECT_EQ(0, dxt_num(t, "stats/complete_blocks"));
	EXPECT_EQ(0, dxt_num(t, "stats/stalls"));
	EXPECT_EQ(CHILDREN, dxt_drain(t, t->member, OWNER));
}

/*
 * D-7, block_worker, the literal seed: 4 results, both workers with one each, 4
 * Ready: the parent's eleventh post sleeps, and all wait for the poll that the
 * parent will never make: a stall. Another thread's polls end it.
 */
TEST_F(full, block_worker)
{
	struct dxt *t = &self->t;

	UP(DXK_REJOIN_BLOCK_WORKER);
	puppet_begin(self->parent, puppet_call_children);
	ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "stats/posts") == 10 &&
				 dxt_member_is(t, 1, "completing") &&
				 dxt_member_is(t, 2, "completing") &&
				 puppet_sleeps(self->parent)));
	EXPECT_EQ(4, dxt_num(t, "pools/rejoin_use"));
	EXPECT_EQ(4, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(2, dxt_num(t, "pools/thread_busy"));
	EXPECT_EQ(0, dxt_num(t, "stats/rejoin_overflow"));
	EXPECT_TRUE(stall_comes(t, 0));

	EXPECT_EQ(CHILDREN, collect(t, CHILDREN));
	ASSERT_EQ(1, puppet_end(self->parent));
	EXPECT_EQ(4, dxt_num(t, "pools/rejoin_high_water"));
	EXPECT_EQ(CHILDREN, dxt_num(t, "stats/collected"));
}

/* Two results for one free entry: the longest waiting worker goes first. */
TEST_F(rejoin, blocked_workers_are_served_in_order)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	int i;

	t->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	t->policy.rejoin_entries = 1;
	START(4);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, post(t, OWNER, i, PXR_REJOIN));
		ASSERT_EQ(1, puppet_fetch(self->w[i]));
	}
	ASSERT_FALSE(puppet_next(self->w[0], 1, 0, 0, 0));
	ASSERT_TRUE(puppet_next(self->w[2], 1, 0, 0, DXK_FOREVER));
	ASSERT_TRUE(puppet_next(self->w[1], 1, 0, 0, DXK_FOREVER));
	/* one that gives up keeps its request */
	puppet_next(self->w[3], 1, 0, 0, dxt_in(50 * DXT_MS));
	EXPECT_EQ(-ETIMEDOUT, puppet_end(self->w[3]));
	EXPECT_EQ(1, self->w[3]->held);

	ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r));
	EXPECT_EQ(0, r.param);
	EXPECT_EQ(0, puppet_end(self->w[2]));
	EXPECT_TRUE(puppet_sleeps(self->w[1]));
	ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r));
	EXPECT_EQ(2, r.param);
	EXPECT_EQ(0, puppet_end(self->w[1]));
	ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r));
	EXPECT_EQ(1, r.param);
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
	ASSERT_EQ(0, puppet_finish(self->w[3], 0));
	ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r));
	EXPECT_EQ(3, r.param);
}

/* D-7, reserve: the post is what is refused, in time, and the reason is told. */
TEST_F(full, reserve)
{
	struct dxt *t = &self->t;
	uint32_t reason = 0;

	UP(DXK_REJOIN_RESERVE);
	puppet_begin(self->parent, puppet_call_children);
	/* the fifth sleeps, though the four are done and nothing is Ready */
	ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "stats/completions") == 4 &&
				 puppet_sleeps(self->parent)));
	EXPECT_EQ(4, dxt_num(t, "stats/posts"));
	EXPECT_EQ(0, dxt_num(t, "pools/ready_use"));
	/* it waits for itself, and, when no other client is there, not in silence */
	EXPECT_EQ(0, dxt_num(t, "stats/stalls"));
	close(t->member);
	EXPECT_TRUE(stall_comes(t, 0));
	t->member = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL);
	ASSERT_LE(0, t->member);
	EXPECT_EQ(-EAGAIN, dxt_post1(t->member, OWNER, DXT_NOP, 99, PXR_REJOIN, 0,
				     &reason));
	EXPECT_EQ(PXR_REJOIN_FULL, reason);
	EXPECT_EQ(CHILDREN, collect(t, CHILDREN));
	ASSERT_EQ(1, puppet_end(self->parent));
	EXPECT_EQ(4, dxt_num(t, "pools/rejoin_high_water"));
	EXPECT_EQ(0, dxt_num(t, "stats/rejoin_overflow"));
	EXPECT_EQ(0, dxt_num(t, "stats/complete_blocks"));
}
