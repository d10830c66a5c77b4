// SPDX-License-Identifier: GPL-2.0-only
/* As relief.c: who is a spare, when it works, and what a manager of them is told. */
#include "engine_test.h"

/* --- spares -------------------------------------------------------------------------- */

/* Who may be a spare, and how many. */
TEST(spare_places)
{
	struct puppet *s[3];
	struct dxt t;
	char role[32];
	unsigned int bad = 0;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.on_block = DXK_ON_BLOCK_SPARE;
	t.policy.max_threads = 490;
	t.policy.max_spares = 10;
	EXPECT_EQ(-EINVAL, dxk_policy_set(t.ctx, &t.policy, &bad));
	EXPECT_EQ(offsetof(struct dxk_policy, max_spares), bad);
	t.policy.max_threads = 1;
	t.policy.max_spares = 2;
	ASSERT_EQ(0, dxt_start(&t));
	s[0] = puppet_new(&t, DXK_MEMBER_SPARE);
	s[1] = puppet_new(&t, DXK_MEMBER_SPARE);
	ASSERT_NE(NULL, s[0]);
	ASSERT_NE(NULL, s[1]);
	EXPECT_EQ(499, s[0]->id);
	EXPECT_EQ(498, s[1]->id);
	EXPECT_TRUE(dxt_text(&t, role, sizeof(role), "threads/499/role"));
	EXPECT_STREQ("user-spare", role);
	EXPECT_EQ(-ENOSPC, dxk_member_create(t.ctx, DXK_MEMBER_SPARE, NULL));
	EXPECT_EQ(2, dxt_num(&t, "pools/thread_spares"));
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_use"));

	/* a spare takes nothing as long as nobody sleeps */
	EXPECT_TRUE(puppet_ask(s[0]));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_TRUE(puppet_sleeps(s[0]));
	EXPECT_TRUE(puppet_ask(s[1]));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	puppet_free(s[1]);
	EXPECT_TRUE(DXT_UNTIL(&t, !dxt_exists(&t, "threads/498")));
	EXPECT_EQ(1, dxt_num(&t, "pools/thread_spares"));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	puppet_free(s[0]);
	dxt_down(&t);

	ASSERT_EQ(0, dxt_open(&t));
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(-ENODEV, dxk_member_create(t.ctx, DXK_MEMBER_SPARE, NULL));
	dxt_down(&t);
}

/* A sleeping worker is replaced by one spare, which goes when it is awake again. */
TEST(spare_in_place)
{
	struct puppet *w, *s;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	t.policy.on_block = DXK_ON_BLOCK_SPARE;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	s = puppet_new(&t, DXK_MEMBER_SPARE);
	ASSERT_NE(NULL, w);
	ASSERT_NE(NULL, s);
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w));
	EXPECT_TRUE(puppet_ask(s));
	w->entry[0] = dxt_entry(2, 0, 21, PXR_REJOIN);
	w->entry[1] = dxt_entry(2, 0, 22, PXR_REJOIN);
	ASSERT_FALSE(puppet_post(w, 2, 0));
	EXPECT_EQ(2, puppet_end(w));
	EXPECT_TRUE(puppet_sleeps(s));
	EXPECT_TRUE(puppet_rejoin(w, 2, 1, 1, DXK_FOREVER));
	EXPECT_EQ(1, puppet_end(s));
	EXPECT_EQ(21, s->work[0].param);
	/* its end wakes the worker; so the spare gets nothing more, although it asks */
	EXPECT_TRUE(puppet_next(s, 1, 0, 1, DXK_FOREVER));
	EXPECT_EQ(1, puppet_end(w));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	EXPECT_EQ(1, dxt_num(&t, "stats/spare_runs"));
	/* and when the worker sleeps again it does */
	EXPECT_TRUE(puppet_rejoin(w, 2, 1, 1, DXK_FOREVER));
	EXPECT_EQ(1, puppet_end(s));
	EXPECT_EQ(22, s->work[0].param);
	EXPECT_EQ(0, puppet_finish(s, 0));
	EXPECT_EQ(1, puppet_end(w));
	EXPECT_EQ(0, puppet_finish(w, 0));
	puppet_free(s);
	puppet_free(w);
	dxt_down(&t);
}

/* A spare that dies over a request is a worker that dies (DX-25). */
TEST(spare_dies)
{
	struct puppet *w, *s;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	t.policy.on_block = DXK_ON_BLOCK_SPARE;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	s = puppet_new(&t, DXK_MEMBER_SPARE);
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w));
	EXPECT_TRUE(puppet_ask(s));
	w->entry[0] = dxt_entry(2, 0, 21, PXR_REJOIN);
	ASSERT_FALSE(puppet_post(w, 1, 0));
	EXPECT_TRUE(puppet_rejoin(w, 2, 1, 1, DXK_FOREVER));
	EXPECT_EQ(1, puppet_end(s));
	puppet_free(s);
	EXPECT_EQ(1, puppet_end(w));
	EXPECT_EQ(-EOWNERDEAD, w->result[0].status);
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_spares"));
	EXPECT_EQ(1, dxt_num(&t, "pools/thread_busy"));
	EXPECT_EQ(0, puppet_finish(w, 0));
	puppet_free(w);
	dxt_down(&t);
}

/* What a manager is told: free places, also when the crew grows or a worker goes. */
TEST(crew_wait)
{
	unsigned int workers = 99, spares = 99;
	struct dxt_worker *w;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	EXPECT_EQ(-ESHUTDOWN, dxk_crew_wait(t.ctx, 0, &workers, &spares));
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(2, dxk_crew_wait(t.ctx, -1, &workers, &spares));
	EXPECT_EQ(2, workers);
	EXPECT_EQ(0, spares);
	w = dxt_worker_start(&t);
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(0, dxk_crew_wait(t.ctx, 0, &workers, &spares));
	EXPECT_EQ(0, dxk_crew_wait(t.ctx, 5 * DXT_MS, &workers, &spares));
	EXPECT_EQ(0, dxt_store(&t, "policy/max_threads", "5"));
	EXPECT_EQ(3, dxk_crew_wait(t.ctx, -1, &workers, &spares));
	EXPECT_EQ(0, dxt_store(&t, "policy/max_threads", "2"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxk_crew_wait(t.ctx, 0, NULL, NULL) == 0));
	dxt_worker_end(w);
	EXPECT_EQ(1, dxk_crew_wait(t.ctx, -1, &workers, &spares));
	EXPECT_EQ(1, workers);
	dxt_down(&t);
}
