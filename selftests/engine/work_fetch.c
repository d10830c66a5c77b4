// SPDX-License-Identifier: GPL-2.0-only
/* As work.c: how a worker completes and fetches, several in one call. */
#include "work_test.h"

/* --- complete n and fetch m ------------------------------------------------ */

/* In one call: the completions are taken first, then comes what is next. */
TEST_F(work, complete_and_fetch_in_one_call)
{
	struct dxt *t = &self->t;
	struct dxk_result r[8];
	struct puppet *w;
	int i;

	START(1);
	w = self->w[0];
	for (i = 0; i < 8; i++)
		ASSERT_EQ(1, post(t, i, PXR_REJOIN));
	ASSERT_FALSE(puppet_next(w, 0, 0, 4, DXK_FOREVER));
	ASSERT_EQ(4, w->ret);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(i, w->work[i].param);
	EXPECT_EQ(4, dxt_num(t, "pools/ready_use"));
	/* completes three of four, in any order it likes */
	ASSERT_FALSE(puppet_next(w, 3, 7, 8, DXK_FOREVER));
	EXPECT_EQ(3, w->next.nr_taken);
	ASSERT_EQ(4, w->ret);
	ASSERT_EQ(5, w->held);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(3 + i, w->work[i].param);
	ASSERT_EQ(0, puppet_finish(w, 0));
	ASSERT_EQ(8, dxt_rejoin(t->member, 1, r, 8, 8, 0, NULL));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(i, r[i].param);
}

/* More than one only in its share of the backlog, and while nobody is idle. */
TEST_F(work, fetch_of_several_leaves_the_others_their_share)
{
	struct dxk_post_entry e[10];
	struct dxt *t = &self->t;
	struct dxk_post p;
	int i;

	START(3);
	for (i = 0; i < 10; i++)
		e[i] = dxt_entry(1, 0, i, 0);
	/* two idle workers, four requests: one each in the first round */
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(puppet_next(self->w[i], 0, 0, 8, DXK_FOREVER));
	ASSERT_EQ(4, dxt_post(t->member, e, 4, 0, &p));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, puppet_end(self->w[i]));
	EXPECT_EQ(2, dxt_num(t, "pools/ready_use"));
	/* eight Ready, three workers: a share is three */
	ASSERT_EQ(6, dxt_post(t->member, e + 4, 6, 0, &p));
	ASSERT_FALSE(puppet_next(self->w[2], 0, 0, 8, DXK_FOREVER));
	EXPECT_EQ(3, self->w[2]->ret);
	/* five are left: two */
	ASSERT_FALSE(puppet_next(self->w[0], 1, 0, 8, DXK_FOREVER));
	EXPECT_EQ(2, self->w[0]->ret);
}

/* Lanes 0..2 wait for others, so none is held behind another. */
TEST_F(work, only_lane_three_is_taken_ahead)
{
	struct dxk_post_entry e[] = {
		prio_entry(1, 0, 9, 0), prio_entry(1, 1, 8, PXR_LANE2),
		prio_entry(1, 2, 7, 0), prio_entry(1, 3, 6, 0),
	};
	struct dxt *t = &self->t;
	struct dxk_post p;

	START(1);
	ASSERT_EQ(4, dxt_post(t->member, e, 4, 0, &p));
	ASSERT_FALSE(puppet_next(self->w[0], 0, 0, 8, DXK_FOREVER));
	EXPECT_EQ(1, self->w[0]->ret);
	EXPECT_EQ(0, self->w[0]->work[0].param);
	ASSERT_FALSE(puppet_next(self->w[0], 1, 0, 8, DXK_FOREVER));
	EXPECT_EQ(1, self->w[0]->ret);
	EXPECT_EQ(1, self->w[0]->work[0].param);
	ASSERT_FALSE(puppet_next(self->w[0], 1, 0, 8, DXK_FOREVER));
	EXPECT_EQ(2, self->w[0]->ret);
	EXPECT_EQ(2, self->w[0]->work[0].param);
	EXPECT_EQ(3, self->w[0]->work[1].param);
}

/* A completion answers a dispatch that this worker holds, once. */
TEST_F(work, stale_completions)
{
	struct dxt *t = &self->t;
	struct dxk_work mine, others;
	struct puppet *w;

	START(2);
	w = self->w[0];
	ASSERT_EQ(1, post(t, 0, PXR_REJOIN));
	ASSERT_EQ(1, post(t, 1, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(w));
	ASSERT_EQ(1, puppet_fetch(self->w[1]));
	mine = w->work[0];
	others = self->w[1]->work[0];
	EXPECT_NE(mine.ticket, others.ticket);

	w->work[0] = others;
	puppet_next(w, 1, 0, 0, 0);
	EXPECT_EQ(-ESTALE, puppet_end(w));
	w->work[0].ticket = 0;
	puppet_next(w, 1, 0, 0, 0);
	EXPECT_EQ(-ESTALE, puppet_end(w));
	EXPECT_EQ(2, dxt_num(t, "stats/stale"));
	EXPECT_EQ(2, dxt_num(t, "pools/thread_busy"));

	/* the first is taken, its repetition is not */
	w->work[0] = mine;
	w->work[1] = mine;
	w->held = 2;
	puppet_next(w, 2, 0, 0, 0);
	EXPECT_EQ(0, puppet_end(w));
	EXPECT_EQ(1, w->next.nr_taken);
	w->held = 0;
	EXPECT_EQ(1, dxt_num(t, "pools/rejoin_use"));
	EXPECT_EQ(3, dxt_num(t, "stats/stale"));
}

/* What cannot be handed to the worker goes back to its place, not lost. */
TEST_F(work, request_that_cannot_be_fetched_goes_back)
{
	struct dxt *t = &self->t;
	struct puppet *w;
	int i;

	START(1);
	w = self->w[0];
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, post(t, i, 0));
	puppet_next(w, 0, 0, 1, 0);
	ASSERT_EQ(1, puppet_end(w));
	EXPECT_EQ(0, w->work[0].param);
	ASSERT_EQ(0, puppet_finish(w, 0));
	/* nowhere to write to */
	w->next = (struct dxk_next){
		.size = sizeof(w->next),
		.work = 8,
		.nr_work = 2,
		.work_size = sizeof(w->work[0]),
	};
	puppet_begin(w, puppet_call_next);
	EXPECT_EQ(-EFAULT, puppet_end(w));
	EXPECT_EQ(2, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(0, dxt_num(t, "pools/thread_busy"));
	EXPECT_EQ(2, dxt_num(t, "stats/put_back"));
	for (i = 1; i < 3; i++) {
		ASSERT_EQ(1, puppet_fetch(w));
		EXPECT_EQ(i, w->work[0].param);
		EXPECT_EQ(0, w->work[0].inspect_count);
		ASSERT_EQ(0, puppet_finish(w, 0));
	}
}
