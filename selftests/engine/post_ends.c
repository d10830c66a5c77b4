// SPDX-License-Identifier: GPL-2.0-only
/* As post.c: how a sleep for room ends. */
#include "post_test.h"

/* --- how a sleep for room ends (DX-37, DX-38, DX-44) ------------------------ */

enum ending { ROOM, SIGNAL, RESTART, DEADLINE, STOP };

FIXTURE(sleep) {
	struct dxt t;
	struct puppet *worker, *p;
};

FIXTURE_VARIANT(sleep) {
	bool lane;
	enum ending ending;
};

#define VARIANT(_name, _lane, _ending)					\
	FIXTURE_VARIANT_ADD(sleep, _name) { .lane = _lane, .ending = _ending }

VARIANT(point1_room, false, ROOM);
VARIANT(point1_signal, false, SIGNAL);
VARIANT(point1_restart, false, RESTART);
VARIANT(point1_deadline, false, DEADLINE);
VARIANT(point1_stop, false, STOP);
VARIANT(point2_room, true, ROOM);
VARIANT(point2_signal, true, SIGNAL);
VARIANT(point2_restart, true, RESTART);
VARIANT(point2_deadline, true, DEADLINE);
VARIANT(point2_stop, true, STOP);

FIXTURE_SETUP(sleep)
{
	struct dxt *t = &self->t;
	unsigned int i;

	ASSERT_EQ(0, dxt_open(t));
	no_periods(t);
	use_cmls(t);
	t->policy.max_threads = 10;
	t->policy.ready_entries = 10;
	ASSERT_EQ(0, dxt_start(t));
	puppet_signals(variant->ending == RESTART);
	self->worker = puppet_new(t, DXK_MEMBER_WORKER);
	self->p = puppet_new(t, DXK_MEMBER_CLIENT);
	/* point 2: the lane is full, 8 entries are free; point 1: none is */
	for (i = 0; i < (variant->lane ? 2 : 10); i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, 0, i,
				       variant->lane ? PXR_LANE1 : 0, 0, NULL));
}

FIXTURE_TEARDOWN(sleep)
{
	puppet_free(self->p);
	puppet_free(self->worker);
	dxt_down(&self->t);
}

TEST_F(sleep, ends)
{
	struct dxt *t = &self->t;
	struct puppet *p = self->p;
	uint64_t begin = dxt_now();
	uint64_t deadline = variant->ending == DEADLINE ? dxt_in(200 * DXT_MS) :
							  DXK_FOREVER;
	long long before = ready(t);
	unsigned int lane = variant->lane ? 1 : 3;
	bool sleeps;
	int i;

	p->entry[0] = dxt_entry(1, 0, 77, WAIT | (variant->lane ? PXR_LANE1 : 0));
	sleeps = puppet_post(p, 1, deadline);
	/* a deadline may be over before this looks */
	if (variant->ending != DEADLINE) {
		ASSERT_TRUE(sleeps);
		EXPECT_EQ(1, sleepers(t, lane));
	}
	switch (variant->ending) {
	case SIGNAL:
		puppet_signal(p);
		EXPECT_EQ(-EINTR, puppet_end(p));
		break;
	case DEADLINE:
		EXPECT_EQ(-ETIMEDOUT, puppet_end(p));
		EXPECT_GE(dxt_now() - begin, 190 * DXT_MS);
		break;
	case STOP:
		dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, 0);
		EXPECT_EQ(-ESHUTDOWN, puppet_end(p));
		break;
	case RESTART:
		/* the call goes on, in the same queue */
		for (i = 0; i < 5; i++) {
			long long blocks = dxt_num(t, "stats/post_blocks");

			puppet_signal(p);
			ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "stats/post_blocks") >
						 blocks));
			ASSERT_TRUE(DXT_UNTIL(t, puppet_sleeps(p)));
		}
		/* fallthrough */
	case ROOM:
		ASSERT_EQ(1, puppet_fetch(self->worker));
		EXPECT_EQ(1, puppet_end(p));
		EXPECT_EQ(before, ready(t));
		EXPECT_EQ(before + 1, dxt_num(t, "stats/posts"));
		break;
	}
	EXPECT_EQ(0, sleepers(t, lane));
	if (variant->ending != ROOM && variant->ending != RESTART) {
		/* not taken: nothing of it is anywhere */
		EXPECT_EQ(before, ready(t));
		EXPECT_EQ(before, dxt_num(t, "stats/posts"));
		EXPECT_EQ(0, p->post.index);
		EXPECT_EQ(0, p->post.reason);
	}
}

/* DX-44: a call that signals interrupt again and again keeps its deadline. */
TEST_F(post, signals_do_not_grow_the_wait)
{
	struct dxt *t = &self->t;
	uint64_t begin = dxt_now(), took;
	struct puppet *p;

	START(1);
	puppet_signals(true);
	p = puppet_new(t, DXK_MEMBER_CLIENT);
	ASSERT_EQ(1, post(t, 0, 0, NULL));
	p->entry[0] = dxt_entry(1, 0, 1, WAIT);
	begin = dxt_now();
	puppet_post(p, 1, dxt_in(500 * DXT_MS));
	while (puppet_busy(p) && dxt_now() - begin < 30 * DXT_SEC) {
		puppet_signal(p);
		dxt_sleep_ms(20);
	}
	took = dxt_now() - begin;
	EXPECT_EQ(-ETIMEDOUT, puppet_end(p));
	EXPECT_GE(took, 490 * DXT_MS);
	/* were the wait to start anew each time, it would last till the bound */
	EXPECT_LT(took, 20 * DXT_SEC);
	puppet_free(p);
}
