// SPDX-License-Identifier: GPL-2.0-only
/*
 * As race.c: a post is seen by whoever heard of it, and an entry holds never two (R-2,
 * R-6; DX-43, DX-83, DX-93).
 */
#include "engine_test.h"

/* --- post, then poll by another --------------------------------------- */

struct relay {
	struct dxt *t;
	int to_poller[2], to_poster[2];
	int rounds;
	_Atomic unsigned int running, lies, odd, polls;
};

static void *relay_poster(void *arg)
{
	struct relay *r = arg;
	int fd = dxk_member_create(r->t->ctx, DXK_MEMBER_CLIENT, NULL);
	char c = 0;
	int i;

	for (i = 0; i < r->rounds; i++) {
		if (dxt_post1(fd, 5, DXT_NOP, i, PXR_REJOIN, 0, NULL) != 1)
			r->odd++;
		if (write(r->to_poller[1], &c, 1) != 1 ||
		    read(r->to_poster[0], &c, 1) != 1)
			r->odd++;
	}
	close(fd);
	r->running--;
	return NULL;
}

/*
 * R-2, DX-93, DX-83: a post that returned is seen by whoever heard of it, from
 * then on until it is collected, wherever it is on its way.
 */
TEST(post_then_poll_by_another_thread)
{
	struct relay r = { .rounds = dxt_debug_kernel() ? 300 : 1000, .running = 1 };
	pthread_t thread;
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_up(&t, 2));
	r.t = &t;
	ASSERT_EQ(0, pipe(r.to_poller));
	ASSERT_EQ(0, pipe(r.to_poster));
	ASSERT_EQ(0, pthread_create(&thread, NULL, relay_poster, &r));
	for (i = 0; i < r.rounds; i++) {
		struct dxk_result result;
		uint32_t answer = 0;
		char c;

		ASSERT_EQ(1, read(r.to_poller[0], &c, 1));
		do {
			if (dxt_rejoin(t.member, 5, &result, 1, 1, 0, &answer) < 0)
				break;
			r.polls++;
		} while (answer == RJR_NONE_READY);
		ASSERT_EQ(RJR_RETURNED, answer);
		ASSERT_EQ(i, result.param);
		ASSERT_EQ(RJR_NONE_EXIST, poll_owner(&t, 5));
		ASSERT_EQ(1, write(r.to_poster[1], &c, 1));
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(0, r.odd);
	TH_LOG("%d posts, %u polls", r.rounds, r.polls);
	dxt_down(&t);
}

/* --- one entry, many posters ------------------------------------------ */

struct rush {
	struct dxt *t;
	_Atomic unsigned int running, taken, odd;
	_Atomic bool go;
};

static _Atomic unsigned int rush_executed;

static int exe_rush(struct dxt_call *call)
{
	(void)call;
	rush_executed++;
	return 0;
}

static void *rush_thread(void *arg)
{
	struct rush *r = arg;
	int fd = dxk_member_create(r->t->ctx, DXK_MEMBER_CLIENT, NULL);
	uint32_t reason;

	while (r->go && fd >= 0) {
		int rc = dxt_post1(fd, 1, DXT_FN(exe_rush), 0, 0, 0, &reason);

		if (rc == 1)
			r->taken++;
		else if (rc != -EAGAIN || reason != PXR_POOL_FULL)
			r->odd++;
	}
	close(fd);
	r->running--;
	return NULL;
}

/* R-6, DX-43: the entry frees and fills all the time, and holds never two. */
TEST(one_entry_many_posters)
{
	enum { RUSH = 8 };
	struct rush r = { .running = RUSH, .go = true };
	pthread_t thread[RUSH];
	struct dxt t;
	int i;

	rush_executed = 0;
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.ready_entries = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	r.t = &t;
	for (i = 0; i < RUSH; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, rush_thread, &r));
	EXPECT_TRUE(DXT_UNTIL(&t, r.taken > (dxt_debug_kernel() ? 50 : 500)));
	r.go = false;
	for (i = 0; i < RUSH; i++)
		pthread_join(thread[i], NULL);
	EXPECT_TRUE(DXT_UNTIL(&t, !dxt_num(&t, "owners")));
	EXPECT_EQ(0, r.odd);
	EXPECT_EQ(r.taken, rush_executed);
	EXPECT_EQ(r.taken, dxt_num(&t, "stats/posts"));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_high_water"));
	dxt_down(&t);
}
