// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posting: the three blocking points, batches, and that admission is one step
 * (DX-33..DX-48).
 *
 * Workers are puppets, so the pool is as full as the test wants it to be.
 */
#include "post_test.h"

/* DX-33, DX-41, DX-42: taken at once with no worker about, copied, unchanged. */
TEST_F(post, cookies_and_data_are_copied_and_come_back)
{
	struct dxk_post_entry e = {
		.owner = 0xffff888012345678,
		.executor = 0x8000000000000001,
		.param = ~0ULL,
		.prio = -7,
		.attrs = PXR_REJOIN | PXR_BOOST | PXR_LANE2,
		.data_len = 5,
		.result_len = 0,
	};
	struct dxk_result r;
	char data[] = "hello";
	struct dxk_post p;
	uint32_t answer;

	START(4);
	e.data = DXT_PTR(data);
	ASSERT_EQ(1, dxt_post(self->t.member, &e, 1, 0, &p));
	dxt_poison(&e, sizeof(e));
	dxt_poison(data, sizeof(data));

	ASSERT_EQ(1, puppet_fetch(self->worker));
	EXPECT_EQ(0xffff888012345678, self->worker->work[0].owner);
	EXPECT_EQ(0x8000000000000001, self->worker->work[0].executor);
	EXPECT_EQ(~0ULL, self->worker->work[0].param);
	EXPECT_EQ(PXR_REJOIN | PXR_BOOST | PXR_LANE2, self->worker->work[0].attrs);
	ASSERT_EQ(5, self->worker->work[0].data_len);
	EXPECT_EQ(0, memcmp(self->worker->data, "hello", 5));
	EXPECT_EQ(-1, self->worker->work[0].fd);
	ASSERT_EQ(0, puppet_finish(self->worker, 9));

	ASSERT_EQ(1, dxt_rejoin(self->t.member, 0xffff888012345678, &r, 1, 1, 0,
				&answer));
	EXPECT_EQ(RJR_RETURNED, answer);
	EXPECT_EQ(0x8000000000000001, r.executor);
	EXPECT_EQ(~0ULL, r.param);
	EXPECT_EQ(PXR_REJOIN | PXR_BOOST | PXR_LANE2, r.attrs);
	EXPECT_EQ(9, r.status);
	EXPECT_EQ(self->worker->id, r.worker);
}

/* DX-34: a request is at one place at a time, and the places add up. */
TEST_F(post, places_add_up_at_every_step)
{
	static const int want[][4] = {
		/* Ready, executing, to rejoin, live */
		{ 2, 0, 0, 2 }, { 1, 1, 0, 2 }, { 1, 0, 1, 2 }, { 0, 1, 1, 2 },
		{ 0, 0, 1, 1 }, { 0, 0, 0, 0 },
	};
	struct dxt *t = &self->t;
	struct dxk_result r;
	unsigned int i;

	START(4);
	for (i = 0; i < 6; i++) {
		switch (i) {
		case 0:
			ASSERT_EQ(1, post(t, 0, PXR_REJOIN, NULL));
			ASSERT_EQ(1, post(t, 1, 0, NULL));
			break;
		case 1:
		case 3:
			ASSERT_EQ(1, puppet_fetch(self->worker));
			break;
		case 2:
		case 4:
			ASSERT_EQ(0, puppet_finish(self->worker, 0));
			break;
		case 5:
			ASSERT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, 0, NULL));
			break;
		}
		EXPECT_EQ(want[i][0], dxt_num(t, "pools/ready_use"));
		EXPECT_EQ(want[i][1], dxt_num(t, "pools/thread_busy"));
		EXPECT_EQ(want[i][2], dxt_num(t, "pools/rejoin_use"));
		EXPECT_EQ(want[i][3], dxt_num(t, "stats/posts") -
			  dxt_num(t, "stats/collected") -
			  dxt_num(t, "stats/vanished"));
	}
}

/* DX-35: no lane bit is lane 3, a bit is its lane, two are refused. */
TEST_F(post, lane_bits)
{
	struct dxt *t = &self->t;
	unsigned int lane;

	START(16);
	for (lane = 0; lane < 4; lane++) {
		ASSERT_EQ(1, post(t, 0, lane_attr(lane), NULL));
		EXPECT_EQ(1, dxt_num(t, "lanes/ready_lane%u_in_use", lane));
	}
	EXPECT_EQ(-EINVAL, post(t, 0, PXR_LANE0 | PXR_LANE1, NULL));
	EXPECT_EQ(-EINVAL, post(t, 0, PXR_LANE1 | PXR_LANE2, NULL));
	EXPECT_EQ(4, ready(t));
}

/* DX-40, DX-39: point 1 without the flag; point 3 is never seen before it. */
TEST_F(post, full_pool_without_flag_changes_nothing)
{
	struct dxt_snapshot before, after;
	struct dxt *t = &self->t;
	uint32_t reason = 0;
	long long busy;
	int i;

	START(4);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(1, post(t, i, PXR_REJOIN, NULL));
	busy = dxt_num(t, "stats/post_busy");
	EXPECT_EQ(0, busy);
	dxt_snapshot(t, &before);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(-EAGAIN, post(t, 9, PXR_REJOIN, &reason));
		EXPECT_EQ(PXR_POOL_FULL, reason);
	}
	dxt_snapshot(t, &after);
	EXPECT_STREQ("stats/post_busy", dxt_differs(&before, &after));
	EXPECT_EQ(3, dxt_num(t, "stats/post_busy"));
	for (i = 0; i < 40; i++)
		if (before.value[i] != after.value[i])
			EXPECT_EQ(before.value[i] + 3, after.value[i]);
}

/* DX-38, DX-40, DX-68: point 2 without the flag, 80 entries free. */
TEST_F(post, full_lane_without_flag_changes_nothing)
{
	struct dxt_snapshot before, after;
	struct dxt *t = &self->t;
	uint32_t reason = 0;
	int i, changed = 0;

	use_cmls(t);
	t->policy.max_threads = 10;
	START(100);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(1, post(t, i, PXR_LANE1, NULL));
	dxt_snapshot(t, &before);
	ASSERT_EQ(-EAGAIN, post(t, 20, PXR_LANE1, &reason));
	EXPECT_EQ(PXR_LANE_FULL, reason);
	dxt_snapshot(t, &after);
	for (i = 0; i < 40; i++)
		changed += before.value[i] != after.value[i];
	EXPECT_EQ(1, changed);
	EXPECT_EQ(1, dxt_num(t, "stats/post_busy"));
	EXPECT_EQ(20, ready(t));
	EXPECT_EQ(1, post(t, 20, 0, NULL));
}

/* DX-46, DX-72: a closed lane refuses at once, flag or not; no time is spent. */
TEST_F(post, closed_lane_refuses_with_and_without_flag)
{
	struct dxt_snapshot before, after;
	struct dxt *t = &self->t;
	uint32_t reason = 0;

	use_cmls(t);
	t->policy.max_threads = 10;
	START(100);
	dxt_snapshot(t, &before);
	ASSERT_EQ(-EPERM, post(t, 0, PXR_LANE0, &reason));
	EXPECT_EQ(PXR_LANE_CLOSED, reason);
	reason = 0;
	ASSERT_EQ(-EPERM, dxt_post1(t->member, 1, 0, 0, PXR_LANE0 | WAIT,
				    DXK_FOREVER, &reason));
	EXPECT_EQ(PXR_LANE_CLOSED, reason);
	dxt_snapshot(t, &after);
	EXPECT_EQ(NULL, dxt_differs(&before, &after));
}

/* DX-39: two posts back to back never find the door shut while there is room. */
TEST_F(post, point_three_is_never_seen)
{
	struct dxt *t = &self->t;
	int i;

	START(2);
	for (i = 0; i < times_of(100); i++) {
		ASSERT_EQ(1, post(t, i, 0, NULL));
		ASSERT_EQ(1, post(t, i, 0, NULL));
		puppet_next(self->worker, self->worker->held, 0, 2, DXK_FOREVER);
		ASSERT_EQ(2, puppet_end(self->worker));
	}
	EXPECT_EQ(0, dxt_num(t, "stats/post_busy"));
}

/* DX-48: posts of one thread with equal priority are dispatched in order. */
TEST_F(post, equal_priorities_keep_their_order)
{
	struct dxt *t = &self->t;
	int i;

	START(32);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(1, post(t, i, i & 1 ? PXR_BOOST : 0, NULL));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(1, puppet_fetch(self->worker));
		EXPECT_EQ(i, self->worker->work[0].param);
		ASSERT_EQ(0, puppet_finish(self->worker, 0));
	}
}

/* --- batches --------------------------------------------------------------- */

/* DX-37..DX-40: taken in order up to the first that is not. */
TEST_F(post, batch_stops_at_the_first_without_room)
{
	struct dxk_post_entry e[6];
	struct dxt *t = &self->t;
	struct dxk_post p;
	int i;

	START(4);
	for (i = 0; i < 6; i++)
		e[i] = dxt_entry(1, 0, i, 0);
	ASSERT_EQ(4, dxt_post(t->member, e, 6, 0, &p));
	EXPECT_EQ(4, p.index);
	EXPECT_EQ(PXR_POOL_FULL, p.reason);
	ASSERT_EQ(-EAGAIN, dxt_post(t->member, e + 4, 2, 0, &p));
	EXPECT_EQ(0, p.index);
	EXPECT_EQ(PXR_POOL_FULL, p.reason);
	EXPECT_EQ(4, ready(t));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, puppet_fetch(self->worker));
		EXPECT_EQ(i, self->worker->work[0].param);
		ASSERT_EQ(0, puppet_finish(self->worker, 0));
	}
}

/* DX-46, DX-40: the reason is that of the entry at the index. */
TEST_F(post, batch_tells_the_reason_of_its_entry)
{
	struct dxk_post_entry e[64];
	struct dxt *t = &self->t;
	struct dxk_post p;
	int i;

	use_cmls(t);
	t->policy.max_threads = 10;
	START(100);
	for (i = 0; i < 64; i++)
		e[i] = dxt_entry(1, 0, i, 0);
	e[2].attrs = PXR_LANE0 | WAIT;
	ASSERT_EQ(2, dxt_post(t->member, e, 5, DXK_FOREVER, &p));
	EXPECT_EQ(2, p.index);
	EXPECT_EQ(PXR_LANE_CLOSED, p.reason);

	for (i = 0; i < 64; i++)
		e[i] = dxt_entry(1, 0, i, PXR_LANE1);
	ASSERT_EQ(20, dxt_post(t->member, e, 64, 0, &p));
	EXPECT_EQ(20, p.index);
	EXPECT_EQ(PXR_LANE_FULL, p.reason);
}

/* A malformed entry anywhere refuses the whole call before anything is taken. */
TEST_F(post, batch_with_a_malformed_entry_takes_nothing)
{
	struct dxt_snapshot before, after;
	struct dxk_post_entry e[3];
	struct dxt *t = &self->t;
	struct dxk_post p;
	int i;

	START(8);
	dxt_snapshot(t, &before);
	for (i = 0; i < 3; i++)
		e[i] = dxt_entry(1, 0, i, 0);
	e[2].attrs = PXR_LANE0 | PXR_LANE2;
	EXPECT_EQ(-EINVAL, dxt_post(t->member, e, 3, 0, &p));
	EXPECT_EQ(2, p.index);
	EXPECT_EQ(0, p.reason);
	e[2].attrs = 0;
	e[2].data_len = t->policy.data_size + 1;
	EXPECT_EQ(-EMSGSIZE, dxt_post(t->member, e, 3, 0, &p));
	e[2].data_len = 0;
	e[1].attrs = 1u << 31;
	EXPECT_EQ(-EOPNOTSUPP, dxt_post(t->member, e, 3, 0, &p));
	EXPECT_EQ(1, p.index);
	e[1].attrs = 0;
	e[0].data_len = 8;
	EXPECT_EQ(-EFAULT, dxt_post(t->member, e, 3, 0, &p));
	EXPECT_EQ(0, p.index);
	dxt_snapshot(t, &after);
	EXPECT_EQ(NULL, dxt_differs(&before, &after));
}

/* DX-37, DX-44: a batch that sleeps in its middle; its time ends with a count. */
TEST_F(post, batch_sleeps_in_its_middle)
{
	struct dxt *t = &self->t;
	struct puppet *p;
	int i;

	START(4);
	p = puppet_new(t, DXK_MEMBER_CLIENT);
	for (i = 0; i < 8; i++)
		p->entry[i] = dxt_entry(1, 0, i, WAIT);
	ASSERT_TRUE(puppet_post(p, 8, DXK_FOREVER));
	EXPECT_EQ(4, ready(t));
	/* each entry that becomes free takes the next of the batch */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(1, puppet_fetch(self->worker));
		EXPECT_EQ(i, self->worker->work[0].param);
		ASSERT_EQ(0, puppet_finish(self->worker, 0));
		EXPECT_EQ(4, ready(t));
		EXPECT_EQ(1, sleepers(t, 3));
	}
	puppet_signal(p);
	/* 7 were taken: a success, as with write(2) */
	EXPECT_EQ(7, puppet_end(p));
	EXPECT_EQ(7, p->post.index);
	EXPECT_EQ(0, sleepers(t, 3));

	puppet_post(p, 8, dxt_in(20 * DXT_MS));
	EXPECT_EQ(-ETIMEDOUT, puppet_end(p));
	EXPECT_EQ(0, p->post.index);
	EXPECT_EQ(4, ready(t));
	puppet_free(p);
}

/* A batch may move from one lane's queue to another's. */
TEST_F(post, batch_sleeps_in_two_lanes)
{
	struct dxt *t = &self->t;
	struct puppet *p;
	int i;

	use_cmls(t);
	t->policy.max_threads = 10;
	START(10);
	ASSERT_EQ(1, post(t, 100, PXR_LANE1, NULL));
	ASSERT_EQ(1, post(t, 101, PXR_LANE1, NULL));
	for (i = 0; i < 7; i++)
		ASSERT_EQ(1, post(t, 102 + i, 0, NULL));
	p = puppet_new(t, DXK_MEMBER_CLIENT);
	p->entry[0] = dxt_entry(1, 0, 1, WAIT | PXR_LANE1);
	p->entry[1] = dxt_entry(1, 0, 2, WAIT);
	p->entry[2] = dxt_entry(1, 0, 3, WAIT);
	ASSERT_TRUE(puppet_post(p, 3, DXK_FOREVER));
	EXPECT_EQ(1, sleepers(t, 1));
	ASSERT_EQ(1, puppet_fetch(self->worker));
	ASSERT_EQ(PXR_LANE1, self->worker->work[0].attrs);
	/* lane 1 has let in the first, the second found the last free entry */
	EXPECT_EQ(10, ready(t));
	EXPECT_EQ(0, sleepers(t, 1));
	EXPECT_EQ(1, sleepers(t, 3));
	ASSERT_EQ(0, puppet_finish(self->worker, 0));
	ASSERT_EQ(1, puppet_fetch(self->worker));
	EXPECT_EQ(3, puppet_end(p));
	EXPECT_EQ(0, sleepers(t, 3));
	puppet_free(p);
}

/* DX-43, R-6: one entry, eight posters at once: one success, seven refusals. */
struct herd {
	struct dxt *t;
	pthread_barrier_t *go, *over;
	int rounds;
	_Atomic int taken, refused, odd;
};

static void *herd_thread(void *arg)
{
	struct herd *h = arg;
	int fd = dxk_member_create(h->t->ctx, DXK_MEMBER_CLIENT, NULL);
	int i, rc;
	uint32_t reason;

	for (i = 0; i < h->rounds; i++) {
		pthread_barrier_wait(h->go);
		rc = dxt_post1(fd, 1, 0, i, 0, 0, &reason);
		if (rc == 1)
			h->taken++;
		else if (rc == -EAGAIN && reason == PXR_POOL_FULL)
			h->refused++;
		else
			h->odd++;
		pthread_barrier_wait(h->over);
	}
	if (fd >= 0)
		close(fd);
	return NULL;
}

TEST_F(post, one_entry_is_given_to_one_poster)
{
	enum { HERD = 8 };
	const int rounds = times_of(50);
	pthread_barrier_t go, over;
	struct herd h = { .t = &self->t, .go = &go, .over = &over,
			  .rounds = rounds };
	pthread_t thread[HERD];
	int i;

	START(1);
	pthread_barrier_init(&go, NULL, HERD + 1);
	pthread_barrier_init(&over, NULL, HERD + 1);
	for (i = 0; i < HERD; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, herd_thread, &h));
	for (i = 0; i < rounds; i++) {
		pthread_barrier_wait(&go);
		pthread_barrier_wait(&over);
		EXPECT_EQ(i + 1, h.taken);
		EXPECT_EQ((i + 1) * (HERD - 1), h.refused);
		EXPECT_EQ(1, puppet_fetch(self->worker));
		EXPECT_EQ(0, puppet_finish(self->worker, 0));
	}
	for (i = 0; i < HERD; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, h.odd);
	EXPECT_EQ(1, dxt_num(&self->t, "pools/ready_high_water"));
}

TEST_HARNESS_MAIN
