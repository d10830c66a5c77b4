// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a context: what its Thread Pool shows. How it is started step by step is
 * in ctx_start.c, how it is stopped and closed in ctx_stop.c.
 */
#include "ctx_test.h"

/* --- the Thread Pool --------------------------------------------------------- */

/* DX-11, DX-22: max_threads 4 lists exactly these ids, at any number of workers. */
TEST(thread_ids)
{
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	EXPECT_STREQ("", ids(&t));
	EXPECT_TRUE(state_is(&t, "new"));
	t.policy.max_threads = 4;
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_TRUE(state_is(&t, "running"));
	EXPECT_EQ(0, t.member_id);
	EXPECT_STREQ("0 1 2 3 4 500 600 700", ids(&t));
	EXPECT_TRUE(role_is(&t, 0, "client"));
	EXPECT_TRUE(role_is(&t, 500, "monitor"));
	EXPECT_TRUE(role_is(&t, 600, "scheduler"));
	EXPECT_TRUE(role_is(&t, 700, "dispatcher"));
	EXPECT_TRUE(role_is(&t, 1, "worker"));
	EXPECT_TRUE(dxt_member_is(&t, 1, "vacant"));
	EXPECT_EQ(4, dxt_num(&t, "pools/thread_size"));
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_use"));

	ASSERT_EQ(0, dxt_workers_start(&t, 4));
	EXPECT_STREQ("0 1 2 3 4 500 600 700", ids(&t));
	EXPECT_TRUE(role_is(&t, 4, "user-worker"));
	EXPECT_EQ(4, dxt_num(&t, "pools/thread_use"));
	EXPECT_EQ(-ENOSPC, dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL));
	dxt_down(&t);
}

/* DX-11, DX-12: each member shows its state; its slots are in execution, say. */
TEST(member_state)
{
	static const unsigned int id[] = { 0, 1, 2, 500, 600, 700 };
	struct dxt_gate *gate = dxt_gate_new();
	unsigned int i;
	char text[32];
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 2));
	for (i = 0; i < ARRAY_SIZE(id); i++) {
		EXPECT_TRUE(dxt_text(&t, text, sizeof(text), "threads/%u/state", id[i]));
		EXPECT_TRUE(dxt_text(&t, text, sizeof(text), "threads/%u/role", id[i]));
		EXPECT_LE(0, dxt_num(&t, "threads/%u/age_ms", id[i]));
		EXPECT_EQ(0, dxt_num(&t, "threads/%u/executed", id[i]));
		EXPECT_LE(0, dxt_num(&t, "threads/%u/pid", id[i]));
	}
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_member_is(&t, 1, "available") &&
				  dxt_member_is(&t, 2, "available")));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0,
			       NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered == 1));
	EXPECT_EQ(1, dxt_num(&t, "pools/thread_busy"));
	EXPECT_FALSE(dxt_member_is(&t, gate->last, "available"));
	EXPECT_TRUE(dxt_member_is(&t, 3 - gate->last, "available"));
	/* counted in ticks, which another CPU may bring late */
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "threads/%u/age_ms", gate->last) >= 30));
	dxt_gate_open(gate);
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	EXPECT_EQ(1, dxt_num(&t, "threads/%u/executed", gate->last));
	EXPECT_EQ(0, dxt_num(&t, "threads/%u/executed", 3 - gate->last));
	dxt_down(&t);
	dxt_gate_free(gate);
}

/*
 * DX-23: further application threads have ids from 1000 up, the lowest free one;
 * a member that goes frees its id. DX-12: their states say what they sleep in.
 */
TEST(client_ids)
{
	struct sleeper s[3];
	pthread_t thread[3];
	struct dxt_gate *gate = dxt_gate_new();
	unsigned int i, id, again;
	int fd;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0,
			       NULL));
	for (i = 0; i < 3; i++) {
		s[i] = (struct sleeper){ .t = &t, .owner = 1, .member_id = -1 };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, sleeper_thread, &s[i]));
		ASSERT_TRUE(DXT_UNTIL(&t, s[i].member_id >= 0));
		EXPECT_EQ(1000 + i, s[i].member_id);
		EXPECT_TRUE(DXT_UNTIL(&t, dxt_member_is(&t, 1000 + i, "rejoining")));
		EXPECT_TRUE(role_is(&t, 1000 + i, "client"));
	}
	EXPECT_STREQ("0 1 500 600 700 1000 1001 1002", ids(&t));
	EXPECT_EQ(3, dxt_num(&t, "stats/rejoin_blocks"));
	dxt_gate_open(gate);
	/* one of them gets it, the others learn that nothing exists any more */
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(1, s[0].rc + s[1].rc + s[2].rc);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(s[i].rc ? RJR_RETURNED : RJR_NONE_EXIST, s[i].answer);
	EXPECT_STREQ("0 1 500 600 700", ids(&t));

	/* one descriptor, one member: a second one of this thread is another */
	fd = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, &id);
	ASSERT_LE(0, fd);
	EXPECT_EQ(1000, id);
	close(t.member);
	t.member = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, &again);
	EXPECT_EQ(0, again);
	close(fd);
	dxt_down(&t);
	dxt_gate_free(gate);
}

/*
 * DX-24, DX-20: the Monitor has started the kernel workers when Start returns,
 * after the control threads; every worker is an OS thread of its own.
 */
TEST(workers_are_threads)
{
	long long pid[8], i, j;
	struct dxt_worker *w;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 5;
	t.policy.kernel_threads = 3;
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(3, dxt_num(&t, "pools/thread_use"));
	EXPECT_TRUE(kthreads_are(&t, 3 + 3));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	EXPECT_TRUE(kthreads_are(&t, 3 + 3));
	for (i = 1; i <= 3; i++)
		EXPECT_TRUE(role_is(&t, (unsigned int)i, "kernel-worker"));
	for (w = t.workers; w; w = w->next) {
		EXPECT_LT(3, w->id);
		EXPECT_EQ(w->tid, dxt_num(&t, "threads/%u/pid", w->id));
		pid[w->id] = w->tid;
	}
	EXPECT_NE(pid[4], pid[5]);
	EXPECT_EQ(-ENOSPC, dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL));
	for (i = 1, j = 0; i <= 5; i++)
		j += dxt_num(&t, "threads/%lld/executed", i);
	EXPECT_EQ(0, j);
	dxt_down(&t);
	EXPECT_TRUE(kthreads_are(&t, 0));
}

TEST_HARNESS_MAIN
