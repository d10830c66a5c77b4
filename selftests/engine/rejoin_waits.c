// SPDX-License-Identifier: GPL-2.0-only
/* As rejoin.c: waits for results, and their ends. */
#include "rejoin_test.h"

#include <poll.h>

/* --- waits ----------------------------------------------------------------- */

/* DX-91: a wait sleeps until there is a result, not a period longer. */
TEST_F(rejoin, wait_ends_with_the_completion)
{
	struct dxt *t = &self->t;

	START(1);
	ASSERT_EQ(1, post(t, OWNER, 5, PXR_REJOIN));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	EXPECT_TRUE(dxt_member_is(t, self->p->id, "rejoining"));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	EXPECT_TRUE(puppet_sleeps(self->p));
	ASSERT_EQ(0, puppet_finish(self->w[0], 6));
	EXPECT_EQ(1, puppet_end(self->p));
	EXPECT_EQ(RJR_RETURNED, self->p->rejoin.answer);
	EXPECT_EQ(5, self->p->result[0].param);
	EXPECT_EQ(6, self->p->result[0].status);
	EXPECT_EQ(1, dxt_num(t, "stats/rejoin_blocks"));
}

/* DX-53: the last request vanishes: nothing exists, nobody waits on. */
TEST_F(rejoin, wait_ends_when_nothing_is_left)
{
	struct dxt *t = &self->t;

	START(1);
	ASSERT_EQ(1, post(t, OWNER, 5, 0));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	EXPECT_EQ(0, puppet_end(self->p));
	EXPECT_EQ(RJR_NONE_EXIST, self->p->rejoin.answer);
}

/* The deadline is no error; it brings what there is. */
TEST_F(rejoin, wait_ends_at_its_deadline)
{
	struct dxt *t = &self->t;
	uint64_t begin;

	START(1);
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	begin = dxt_now();
	puppet_rejoin(self->p, OWNER, 4, 1, dxt_in(100 * DXT_MS));
	EXPECT_EQ(0, puppet_end(self->p));
	EXPECT_EQ(RJR_NONE_READY, self->p->rejoin.answer);
	EXPECT_GE(dxt_now() - begin, 90 * DXT_MS);

	ASSERT_EQ(1, post(t, OWNER, 1, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	/* min 2, one there, one to come: fewer are returned at the deadline */
	puppet_rejoin(self->p, OWNER, 4, 2, dxt_in(100 * DXT_MS));
	EXPECT_EQ(1, puppet_end(self->p));
	EXPECT_EQ(RJR_RETURNED, self->p->rejoin.answer);
}

TEST_F(rejoin, wait_ends_with_a_signal)
{
	struct dxt *t = &self->t;

	START(1);
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	puppet_signal(self->p);
	EXPECT_EQ(-EINTR, puppet_end(self->p));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	/* nobody took it on behalf of the one who left */
	EXPECT_EQ(RJR_RETURNED, poll_owner(t, OWNER));
}

TEST_F(rejoin, wait_goes_on_with_sa_restart)
{
	struct dxt *t = &self->t;
	long long blocks;

	START(1);
	puppet_signals(true);
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	blocks = dxt_num(t, "stats/rejoin_blocks");
	puppet_signal(self->p);
	ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "stats/rejoin_blocks") > blocks));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	EXPECT_EQ(1, puppet_end(self->p));
}

/* DX-107: Stop ends the wait; the result stays collectable (DX-110). */
TEST_F(rejoin, wait_ends_with_stop)
{
	struct dxt *t = &self->t;

	START(1);
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, 0));
	EXPECT_EQ(-ESHUTDOWN, puppet_end(self->p));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	EXPECT_EQ(RJR_RETURNED, poll_owner(t, OWNER));
}

/* min: sleeps until so many are there, or until no more can come. */
TEST_F(rejoin, wait_for_several)
{
	struct dxt *t = &self->t;
	int i;

	START(1);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(1, post(t, OWNER, i, PXR_REJOIN));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 8, 3, DXK_FOREVER));
	for (i = 0; i < 3; i++) {
		EXPECT_TRUE(puppet_sleeps(self->p));
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	}
	EXPECT_EQ(3, puppet_end(self->p));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(i, self->p->result[i].param);
	/* two are left: three cannot come any more */
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 8, 3, DXK_FOREVER));
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(puppet_sleeps(self->p));
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	}
	EXPECT_EQ(2, puppet_end(self->p));
	EXPECT_EQ(RJR_RETURNED, self->p->rejoin.answer);
}

/* DX-91: poll(2) tells that the owner has a result, or nothing left. */
TEST_F(rejoin, poll_readiness)
{
	struct dxt *t = &self->t;
	struct pollfd pfd = { .fd = t->member, .events = POLLIN };
	struct dxk_result r;
	int i;

	START(1);
	pfd.fd = t->member;
	for (i = 0; i < 2; i++) {
		/* once with a result, once with a request that vanishes */
		ASSERT_EQ(1, post(t, OWNER, 0, i ? 0 : PXR_REJOIN));
		ASSERT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
		EXPECT_EQ(0, poll(&pfd, 1, 0));
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		EXPECT_EQ(0, poll(&pfd, 1, 0));
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
		EXPECT_EQ(1, poll(&pfd, 1, dxt_late_ms()));
		EXPECT_EQ(i ? RJR_NONE_EXIST : RJR_RETURNED, rejoin(t, OWNER, &r));
	}
}
