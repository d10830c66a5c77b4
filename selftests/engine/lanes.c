// SPDX-License-Identifier: GPL-2.0-only
/*
 * Constrained Multi Lane Scheduling of the workers and of the Ready Pool, from the
 * post to the end (DX-47, DX-67..DX-75). The table of profiles is in probe.c.
 */
#include "lanes_test.h"

static struct puppet *find_with(struct puppet **w, unsigned int lane)
{
	int i;

	for (i = 0; i < WORKERS; i++)
		if (!puppet_busy(w[i]) && w[i]->held && w[i]->work[0].param == lane)
			return w[i];
	return NULL;
}

/*
 * One of those that execute a request of the lane. What was dispatched may not
 * have been fetched yet, but comes.
 */
static struct puppet *one_with(struct puppet **w, unsigned int lane)
{
	struct puppet *p = NULL;

	DXT_UNTIL(w[0]->t, (p = find_with(w, lane)));
	return p;
}

/* It ends its request and asks for the next. */
static bool turn(struct puppet *p)
{
	if (!p)
		return false;
	puppet_next(p, 1, 0, 1, DXK_FOREVER);
	return true;
}

/* DX-67: two of lane 1 execute at once, whatever waits and however many idle. */
TEST_F(lanes, two_of_lane_one_execute)
{
	struct dxt *t = &self->t;
	int i;

	START();
	ASSERT_EQ(20, post(t, 1, 20));
	for (i = 18; i > 0; i--) {
		EXPECT_EQ(2, working(t, 1));
		EXPECT_EQ(i, waiting(t, 1));
		ASSERT_TRUE(turn(one_with(self->w, 1)));
	}
	EXPECT_EQ(2, working(t, 1));
	EXPECT_EQ(0, waiting(t, 1));
	ASSERT_TRUE(turn(one_with(self->w, 1)));
	EXPECT_EQ(1, working(t, 1));
}

/* DX-69: without lane 1, four of lane 2 execute and forty wait, not 41. */
TEST_F(lanes, lane_two_borrows)
{
	struct dxt *t = &self->t;
	uint32_t reason;

	START();
	EXPECT_EQ(44, post(t, 2, 60));
	EXPECT_EQ(4, working(t, 2));
	EXPECT_EQ(40, waiting(t, 2));
	EXPECT_EQ(-EAGAIN, dxt_post1(t->member, 1, 0, 2, PXR_LANE2, 0, &reason));
	EXPECT_EQ(PXR_LANE_FULL, reason);
	/* lane 3 has the rest of both */
	EXPECT_EQ(66, post(t, 3, 100));
	EXPECT_EQ(6, working(t, 3));
	EXPECT_EQ(60, waiting(t, 3));
}

/* DX-70: no lane 1 starts until a borrower ends; then both limits are 4 - u1. */
TEST_F(lanes, what_is_borrowed_is_in_use)
{
	struct dxk_post_entry e = prio_entry(1, 1, 10, PXR_LANE1);
	struct dxt *t = &self->t;
	struct dxk_post p;

	START();
	ASSERT_EQ(5, post(t, 2, 5));
	EXPECT_EQ(4, working(t, 2));
	/* more urgent than the fifth of lane 2, and six workers are idle */
	ASSERT_EQ(1, dxt_post(t->member, &e, 1, 0, &p));
	ASSERT_EQ(1, dxt_post(t->member, &e, 1, 0, &p));
	EXPECT_EQ(0, working(t, 1));
	ASSERT_TRUE(turn(one_with(self->w, 2)));
	EXPECT_EQ(1, working(t, 1));
	EXPECT_EQ(3, working(t, 2));
	ASSERT_TRUE(turn(one_with(self->w, 2)));
	EXPECT_EQ(2, working(t, 1));
	EXPECT_EQ(2, working(t, 2));
	EXPECT_EQ(1, waiting(t, 2));
	/* lane 1 never borrows of lane 2 */
	ASSERT_EQ(1, post(t, 1, 1));
	ASSERT_TRUE(turn(one_with(self->w, 2)));
	EXPECT_EQ(2, working(t, 1));
	EXPECT_EQ(2, working(t, 2));
	ASSERT_TRUE(turn(one_with(self->w, 2)));
	EXPECT_EQ(2, working(t, 1));
	EXPECT_EQ(1, working(t, 2));
}

/* DX-71: shares are caps, not reservations: lane 3 fills all, others wait. */
TEST_F(lanes, lane_three_fills_everything)
{
	struct dxt *t = &self->t;
	uint32_t reason;

	START();
	EXPECT_EQ(110, post(t, 3, 200));
	EXPECT_EQ(10, working(t, 3));
	EXPECT_EQ(100, waiting(t, 3));
	EXPECT_EQ(-EAGAIN, dxt_post1(t->member, 1, 0, 1, PXR_LANE1, 0, &reason));
	EXPECT_EQ(PXR_POOL_FULL, reason);
	ASSERT_TRUE(turn(one_with(self->w, 3)));
	EXPECT_EQ(1, post(t, 1, 1));
	EXPECT_EQ(0, working(t, 1));
}

/* DX-73: the first in priority waits, those behind it that may run do. */
TEST_F(lanes, inadmissible_head_is_skipped)
{
	struct dxk_post_entry e[] = {
		prio_entry(1, 1, 100, PXR_LANE1),
		prio_entry(1, 3, 1, 0),
		prio_entry(1, 2, 2, PXR_LANE2),
		prio_entry(1, 3, 3, 0),
	};
	struct dxt *t = &self->t;
	struct dxk_post p;
	int i;

	START();
	ASSERT_EQ(2, post(t, 1, 2));
	/* idle workers take no lane 1, but each of the others at once */
	ASSERT_EQ(1, dxt_post(t->member, e, 1, 0, &p));
	EXPECT_EQ(1, waiting(t, 1));
	ASSERT_EQ(8, post(t, 3, 8));
	EXPECT_EQ(8, working(t, 3));
	/* all busy; now priority decides among the admissible: 3, 2, 1 */
	ASSERT_EQ(3, dxt_post(t->member, e + 1, 3, 0, &p));
	for (i = 0; i < 3; i++) {
		struct puppet *w = one_with(self->w, 3);

		ASSERT_TRUE(turn(w));
		ASSERT_EQ(1, puppet_end(w));
		EXPECT_EQ(3 - i, w->work[0].prio);
		EXPECT_EQ(2, working(t, 1));
		/* its own is no candidate for the next round */
		w->work[0].param = 99;
	}
	EXPECT_EQ(1, waiting(t, 1));
	/* the end of a lane 1 lets the head in */
	ASSERT_TRUE(turn(one_with(self->w, 1)));
	EXPECT_EQ(0, waiting(t, 1));
}

/* DX-75: a request that waits for its children still holds its lane. */
TEST_F(lanes, waiting_for_children_is_executing)
{
	struct dxt *t = &self->t;
	struct puppet *a, *b;

	START();
	ASSERT_EQ(3, post(t, 1, 3));
	ASSERT_EQ(1, dxt_post1(t->member, 7, 0, 3, 0, 0, NULL));
	a = one_with(self->w, 1);
	b = one_with(self->w, 3);
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	ASSERT_TRUE(puppet_rejoin(a, 7, 1, 1, DXK_FOREVER));
	EXPECT_EQ(2, working(t, 1));
	EXPECT_EQ(1, waiting(t, 1));
	ASSERT_EQ(0, puppet_finish(b, 0));
	EXPECT_EQ(0, puppet_end(a));
	EXPECT_EQ(RJR_NONE_EXIST, a->rejoin.answer);
	EXPECT_EQ(2, working(t, 1));
}

/* DX-47: without CMLS lane bits are kept and mean nothing. */
TEST_F(lanes, cmls_off_ignores_lanes)
{
	struct dxt *t = &self->t;
	int i;

	t->policy.sched_mode = 0;
	START();
	/* lane 0 has 0 percent, and lane 1 has 20 */
	ASSERT_EQ(1, dxt_post1(t->member, 1, 0, 0, PXR_LANE0 | PXR_REJOIN, 0, NULL));
	ASSERT_EQ(109, post(t, 1, 200));
	EXPECT_EQ(100, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(10, dxt_num(t, "pools/thread_busy"));
	for (i = 0; i < WORKERS; i++)
		puppet_end(self->w[i]);
	for (i = 0; i < WORKERS; i++)
		if (self->w[i]->held && !self->w[i]->work[0].param) {
			EXPECT_EQ(PXR_LANE0 | PXR_REJOIN,
				  self->w[i]->work[0].attrs);
			break;
		}
	EXPECT_NE(WORKERS, i);
}

TEST_HARNESS_MAIN
