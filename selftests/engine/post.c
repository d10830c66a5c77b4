// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posting: the three blocking points, batches, and that admission is one step
 * (DX-33..DX-48); who of those that sleep for room is let in, and when (DX-45, DX-78, S-6,
 * S-7); limits other than the Ready Pool's.
 *
 * Workers are puppets, so the pool is as full as the test wants it to be.
 */
#include "lib/puppet.h"

#include <fcntl.h>
#include <sys/stat.h>

#define WAIT	PXR_WAITIF_BUSY

FIXTURE(post) {
	struct dxt t;
	struct puppet *worker;
};

FIXTURE_SETUP(post)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	/* nothing but the calls themselves moves a request */
	no_periods(&self->t);
	puppet_signals(false);
}

FIXTURE_TEARDOWN(post)
{
	if (self->worker)
		puppet_free(self->worker);
	dxt_down(&self->t);
}

/* A pool of @entries, no lanes, one puppet worker that has not asked yet. */
#define START(entries) ({						\
	self->t.policy.ready_entries = entries;				\
	ASSERT_EQ(0, dxt_start(&self->t));				\
	self->worker = puppet_new(&self->t, DXK_MEMBER_WORKER);		\
	ASSERT_NE(NULL, self->worker);					\
})

static int post(struct dxt *t, uint64_t param, uint32_t attrs,
		uint32_t *reason)
{
	return dxt_post1(t->member, 1, 0, param, attrs, 0, reason);
}

static long long ready(struct dxt *t)
{
	return dxt_num(t, "pools/ready_use");
}

static long long sleepers(struct dxt *t, unsigned int lane)
{
	return dxt_num(t, "lanes/ready_lane%u_waiters", lane);
}

/* --- one request ----------------------------------------------------------- */

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

/* --- who is let in --------------------------------------------------------- */

/* DX-78: the entry is free at the dispatch, long before the execution ends. */
TEST_F(post, entry_is_free_at_dispatch)
{
	struct dxt *t = &self->t;
	struct puppet *p;

	START(1);
	ASSERT_TRUE(puppet_ask(self->worker));
	ASSERT_EQ(1, post(t, 1, 0, NULL));
	EXPECT_EQ(0, ready(t));
	ASSERT_EQ(1, puppet_end(self->worker));
	ASSERT_EQ(1, post(t, 2, 0, NULL));
	p = puppet_new(t, DXK_MEMBER_CLIENT);
	ASSERT_TRUE(puppet_post1(p, 3, 0));
	ASSERT_EQ(0, puppet_finish(self->worker, 0));
	EXPECT_EQ(1, sleepers(t, 3));
	/* the fetch of 2 lets 3 in; 2 executes on */
	ASSERT_EQ(1, puppet_fetch(self->worker));
	EXPECT_EQ(2, self->worker->work[0].param);
	EXPECT_EQ(1, puppet_end(p));
	EXPECT_EQ(1, ready(t));
	puppet_free(p);
}

/*
 * DX-77, DX-45: the dispatch of a kernel request frees an entry, and with it a sleeper
 * brings a request for a user worker, which has nothing to do: it has that when the post
 * returns, not when the kernel worker comes back.
 */
TEST_F(post, let_in_by_the_dispatch_of_another_kind)
{
	struct dxt *t = &self->t;
	struct dxk_post_entry e[2];
	struct dxk_post p;
	uint64_t sleep;
	int i;

	if (dxk_executor_find(t->ctl, "sleep", &sleep))
		SKIP(return, "no executors loaded");
	t->policy.kernel_threads = 1;
	START(1);
	/* 0.1 s */
	e[0] = dxt_entry(1, sleep, 100000, PXR_KERNEL | WAIT);
	e[1] = dxt_entry(1, 0, 7, WAIT);
	/* a backlog: from here on the Dispatcher sleeps for its interval, of an hour */
	ASSERT_EQ(1, post(t, 0, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(self->worker));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, puppet_finish(self->worker, 0));
		ASSERT_TRUE(puppet_ask(self->worker));
		ASSERT_TRUE(DXT_UNTIL(t, dxt_member_is(t, 1, "available")));
		ASSERT_EQ(2, dxt_post(t->member, e, 2, DXK_FOREVER, &p));
		EXPECT_EQ(0, ready(t)) TH_LOG("round %d", i);
		ASSERT_EQ(1, puppet_end(self->worker));
		EXPECT_EQ(7, self->worker->work[0].param);
	}
	EXPECT_EQ(0, dxt_num(t, "stats/missed_wakeups"));
}

/* DX-45, S-7: fifty sleepers, one entry: each gets in in its turn. */
TEST_F(post, sleepers_are_served_in_order_of_arrival)
{
	const int sleeping = times_of(50);
	struct puppet *p[50];
	struct dxt *t = &self->t;
	uint32_t reason;
	int i;

	START(1);
	ASSERT_EQ(1, post(t, 0, 0, NULL));
	puppets_new(t, p, sleeping, DXK_MEMBER_CLIENT);
	for (i = 0; i < sleeping; i++) {
		ASSERT_NE(NULL, p[i]);
		ASSERT_TRUE(puppet_post1(p[i], i + 1, 0));
	}
	EXPECT_EQ(sleeping, sleepers(t, 3));
	for (i = 0; i < sleeping; i++) {
		puppet_next(self->worker, self->worker->held, 0, 1, DXK_FOREVER);
		ASSERT_EQ(1, puppet_end(self->worker));
		ASSERT_EQ(i, self->worker->work[0].param);
		EXPECT_EQ(sleeping - 1 - i, sleepers(t, 3));
		EXPECT_EQ(1, puppet_end(p[i]));
		/* the entry was the sleeper's the moment it was free */
		EXPECT_EQ(-EAGAIN, post(t, 99, 0, &reason));
		EXPECT_EQ(PXR_POOL_FULL, reason);
	}
	puppets_free(p, sleeping);
}

/* DX-45: in each lane by itself; a full lane does not hold up another. */
TEST_F(post, full_lane_does_not_hold_up_another)
{
	struct puppet *one, *three;
	struct dxt *t = &self->t;
	int i;

	use_cmls(t);
	t->policy.max_threads = 10;
	START(10);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, post(t, i, PXR_LANE1, NULL));
	one = puppet_new(t, DXK_MEMBER_CLIENT);
	three = puppet_new(t, DXK_MEMBER_CLIENT);
	/* lane 1 is full while the pool has 8 free entries */
	ASSERT_TRUE(puppet_post1(one, 100, PXR_LANE1));
	for (i = 0; i < 8; i++)
		ASSERT_FALSE(puppet_post1(three, 10 + i, 0));
	EXPECT_EQ(10, ready(t));
	/* now the pool is full, too; an entry of lane 1 goes to the older one */
	ASSERT_TRUE(puppet_post1(three, 18, 0));
	ASSERT_EQ(1, puppet_fetch(self->worker));
	ASSERT_EQ(0, self->worker->work[0].param);
	EXPECT_EQ(1, puppet_end(one));
	EXPECT_EQ(1, sleepers(t, 3));
	/* and the next one, too: that is lane 3's now */
	ASSERT_TRUE(puppet_post1(one, 101, PXR_LANE1));
	ASSERT_EQ(0, puppet_finish(self->worker, 0));
	ASSERT_EQ(1, puppet_fetch(self->worker));
	ASSERT_EQ(1, self->worker->work[0].param);
	EXPECT_EQ(1, puppet_end(three));
	EXPECT_EQ(1, sleepers(t, 1));
	ASSERT_EQ(0, puppet_finish(self->worker, 0));
	ASSERT_EQ(1, puppet_fetch(self->worker));
	EXPECT_EQ(1, puppet_end(one));
	puppet_free(one);
	puppet_free(three);
}

/*
 * DX-39: who sleeps for its lane is not refused for max_requests, which it met without
 * need, only because somebody looked: the Dispatcher after each call under
 * dispatch=thread, the Monitor at its intervals. Its turn comes when an entry is free.
 */
TEST_F(post, looks_refuse_no_sleeper)
{
	struct dxt *t = &self->t;
	struct puppet *one;
	uint32_t reason;
	int i;

	use_cmls(t);
	t->policy.max_threads = 4;
	t->policy.max_requests = 4;
	t->policy.monitor_interval_ms = 1;
	START(4);
	/* lane 1 has one entry of the four */
	ASSERT_EQ(1, post(t, 0, PXR_LANE1, NULL));
	one = puppet_new(t, DXK_MEMBER_CLIENT);
	ASSERT_TRUE(puppet_post1(one, 100, PXR_LANE1));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, post(t, 10 + i, 0, NULL));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(-ENOSPC, post(t, 13, 0, &reason));
		EXPECT_EQ(PXR_NO_SPACE, reason);
		dxt_sleep_ms(2);
	}
	EXPECT_TRUE(puppet_sleeps(one));
	EXPECT_EQ(1, sleepers(t, 1));
	/* its turn */
	ASSERT_EQ(1, puppet_fetch(self->worker));
	EXPECT_EQ(-ENOSPC, puppet_end(one));
	puppet_free(one);
}

/* DX-45: the longest sleeper's lane stays full, a younger one has room. */
TEST_F(post, younger_sleeper_of_a_lane_with_room)
{
	struct puppet *one, *three;
	struct dxk_post_entry e[10];
	struct dxt *t = &self->t;
	struct dxk_post p;
	int i;

	use_cmls(t);
	t->policy.max_threads = 10;
	START(10);
	for (i = 0; i < 10; i++)
		e[i] = prio_entry(1, i, i < 2 ? 0 : 10, i < 2 ? PXR_LANE1 : 0);
	ASSERT_EQ(10, dxt_post(t->member, e, 10, 0, &p));
	one = puppet_new(t, DXK_MEMBER_CLIENT);
	three = puppet_new(t, DXK_MEMBER_CLIENT);
	ASSERT_TRUE(puppet_post1(one, 100, PXR_LANE1));
	ASSERT_TRUE(puppet_post1(three, 101, 0));
	ASSERT_EQ(1, puppet_fetch(self->worker));
	ASSERT_EQ(2, self->worker->work[0].param);
	EXPECT_EQ(1, puppet_end(three));
	EXPECT_EQ(1, sleepers(t, 1));
	EXPECT_TRUE(puppet_sleeps(one));
	puppet_free(one);
	puppet_free(three);
}

/*
 * S-6: a hundred of lane 3 fill the pool. Sleepers of two lanes for the same entries
 * get them in order of arrival, and no later post of lane 3 before them.
 */
TEST_F(post, pool_full_of_lane_three)
{
	struct puppet *one, *three;
	struct dxt *t = &self->t;
	struct dxk_post p;
	struct dxk_post_entry e[50];
	int i;

	use_cmls(t);
	t->policy.max_threads = 10;
	START(100);
	for (i = 0; i < 50; i++)
		e[i] = dxt_entry(1, 0, i, 0);
	ASSERT_EQ(50, dxt_post(t->member, e, 50, 0, &p));
	ASSERT_EQ(50, dxt_post(t->member, e, 50, 0, &p));
	one = puppet_new(t, DXK_MEMBER_CLIENT);
	three = puppet_new(t, DXK_MEMBER_CLIENT);
	ASSERT_TRUE(puppet_post1(one, 100, PXR_LANE1));
	ASSERT_TRUE(puppet_post1(three, 101, 0));
	EXPECT_EQ(-EAGAIN, post(t, 102, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(self->worker));
	EXPECT_EQ(1, puppet_end(one));
	EXPECT_TRUE(puppet_sleeps(three));
	EXPECT_EQ(1, dxt_num(t, "lanes/ready_lane1_in_use"));
	EXPECT_EQ(99, dxt_num(t, "lanes/ready_lane3_in_use"));
	ASSERT_EQ(0, puppet_finish(self->worker, 0));
	ASSERT_EQ(1, puppet_fetch(self->worker));
	EXPECT_EQ(1, puppet_end(three));
	puppet_free(one);
	puppet_free(three);
}

/* A sleeper that gives up leaves its place, not a hole. */
TEST_F(post, sleeper_that_leaves_is_passed_over)
{
	struct dxt *t = &self->t;
	struct puppet *p[3];
	int i;

	START(1);
	ASSERT_EQ(1, post(t, 0, 0, NULL));
	puppets_new(t, p, 3, DXK_MEMBER_CLIENT);
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(puppet_post1(p[i], i + 1, 0));
	puppet_signal(p[0]);
	ASSERT_EQ(-EINTR, puppet_end(p[0]));
	EXPECT_EQ(2, sleepers(t, 3));
	for (i = 0; i < 3; i++) {
		puppet_next(self->worker, self->worker->held, 0, 1, DXK_FOREVER);
		ASSERT_EQ(1, puppet_end(self->worker));
		EXPECT_EQ(i ? i + 1 : 0, self->worker->work[0].param);
	}
	puppets_free(p, 3);
}

/* --- other limits ---------------------------------------------------------- */

/* max_requests counts what is not yet collected; waiting could not cure it. */
TEST_F(post, max_requests)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	uint32_t reason = 0;
	int i;

	t->policy.max_requests = 4;
	START(4);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(1, post(t, i, PXR_REJOIN, NULL));
	EXPECT_EQ(-ENOSPC, post(t, 4, 0, &reason));
	EXPECT_EQ(PXR_NO_SPACE, reason);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, puppet_fetch(self->worker));
		ASSERT_EQ(0, puppet_finish(self->worker, 0));
	}
	EXPECT_EQ(0, ready(t));
	reason = 0;
	EXPECT_EQ(-ENOSPC, dxt_post1(t->member, 1, 0, 4, WAIT, DXK_FOREVER, &reason));
	EXPECT_EQ(PXR_NO_SPACE, reason);
	EXPECT_EQ(0, dxt_num(t, "stats/post_busy"));
	ASSERT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, 0, NULL));
	EXPECT_EQ(1, post(t, 4, 0, NULL));
	EXPECT_EQ(-ENOSPC, post(t, 5, 0, &reason));
}

/* DX-96, policy reserve: a rejoinable post takes its entry of the Rejoin Pool. */
TEST_F(post, reserved_rejoin_entries)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	struct puppet *p;
	uint32_t reason = 0;

	t->policy.rejoin_full = DXK_REJOIN_RESERVE;
	t->policy.rejoin_entries = 2;
	START(8);
	p = puppet_new(t, DXK_MEMBER_CLIENT);
	ASSERT_EQ(1, post(t, 0, PXR_REJOIN, NULL));
	ASSERT_EQ(1, post(t, 1, PXR_REJOIN, NULL));
	EXPECT_EQ(-EAGAIN, post(t, 2, PXR_REJOIN, &reason));
	EXPECT_EQ(PXR_REJOIN_FULL, reason);
	EXPECT_EQ(1, dxt_num(t, "stats/post_busy"));
	EXPECT_EQ(1, post(t, 3, 0, NULL));
	ASSERT_TRUE(puppet_post1(p, 4, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(self->worker));
	ASSERT_EQ(0, puppet_finish(self->worker, 0));
	EXPECT_TRUE(puppet_sleeps(p));
	/* only the collection frees the entry */
	ASSERT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, 0, NULL));
	EXPECT_EQ(1, puppet_end(p));
	puppet_free(p);
}

/*
 * DX-45: no sleeper is left behind in a queue whose head gave up. The head waits
 * for a Rejoin Pool entry, the one behind it needs none.
 */
TEST_F(post, sleeper_behind_one_that_leaves_is_let_in)
{
	struct puppet *head, *behind;
	struct dxt *t = &self->t;

	t->policy.rejoin_full = DXK_REJOIN_RESERVE;
	t->policy.rejoin_entries = 1;
	START(8);
	head = puppet_new(t, DXK_MEMBER_CLIENT);
	behind = puppet_new(t, DXK_MEMBER_CLIENT);
	ASSERT_EQ(1, post(t, 0, PXR_REJOIN, NULL));
	ASSERT_TRUE(puppet_post1(head, 1, PXR_REJOIN));
	/* there is room for it, but it may not overtake */
	ASSERT_TRUE(puppet_post1(behind, 2, 0));
	puppet_signal(head);
	ASSERT_EQ(-EINTR, puppet_end(head));
	EXPECT_EQ(1, puppet_end(behind));
	EXPECT_EQ(0, sleepers(t, 3));
	puppet_free(head);
	puppet_free(behind);
}

/* --- the sweep ------------------------------------------------------------- */

#define TRACING	"/sys/kernel/tracing"
#define HERE	TRACING "/instances/dxk-sweep"
#define EVENT	"dxk_test/sweep"

FIXTURE(sweep) {
	struct dxt t;
	bool probe;
};

FIXTURE_SETUP(sweep)
{
	self->t = (struct dxt){ .ctl = -1, .ctx = -1, .member = -1 };
	if (access(TRACING "/kprobe_events", W_OK))
		SKIP(return, "this kernel has no probes");
	ASSERT_EQ(0, dxt_write(TRACING "/kprobe_events",
			       "p:" EVENT " dxk:dxk_sweep_posters"));
	self->probe = true;
	ASSERT_EQ(0, mkdir(HERE, 0700));
	ASSERT_EQ(0, dxt_write(HERE "/events/" EVENT "/enable", "1"));
	ASSERT_EQ(0, dxt_open(&self->t));
	no_periods(&self->t);
	puppet_signals(false);
}

FIXTURE_TEARDOWN(sweep)
{
	dxt_down(&self->t);
	if (!self->probe)
		return;
	dxt_write(HERE "/events/" EVENT "/enable", "0");
	rmdir(HERE);
	EXPECT_EQ(0, dxt_write(TRACING "/kprobe_events", "-:" EVENT));
}

/* How often the context's Dispatcher has looked, of late. */
static unsigned int looks(const struct dxt *t)
{
	char line[1000], comm[32];
	unsigned int nr = 0;
	FILE *f = fopen(HERE "/trace", "re");

	snprintf(comm, sizeof(comm), " dxk%u/dispatch-", t->id);
	while (f && fgets(line, sizeof(line), f))
		nr += !!strstr(line, comm);
	if (f)
		fclose(f);
	return nr;
}

/*
 * DX-43: while requests are Ready the Dispatcher looks at its intervals whether a sleeper
 * has room of which nobody told it. No program can bring that about; what the look does
 * then is shown by the suite dxk_post, here that there is one.
 */
TEST_F(sweep, looks_for_posters_at_its_intervals)
{
	struct dxt *t = &self->t;
	struct puppet *p;
	unsigned int i;
	int fd;

	t->policy.ready_entries = 1;
	t->policy.dispatch_interval_ms = 20;
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(1, post(t, 0, 0, NULL));
	p = puppet_new(t, DXK_MEMBER_CLIENT);
	ASSERT_NE(NULL, p);
	ASSERT_TRUE(puppet_post1(p, 1, 0));
	/* again and again */
	for (i = 0; i < 3; i++) {
		fd = open(HERE "/trace", O_WRONLY | O_TRUNC | O_CLOEXEC);
		ASSERT_LE(0, fd);
		close(fd);
		EXPECT_TRUE(DXT_UNTIL(t, looks(t) > 0));
	}
	/* it has let nobody in for whom there is no room */
	EXPECT_TRUE(puppet_sleeps(p));
	EXPECT_EQ(1, ready(t));
	puppet_free(p);
}

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

TEST_HARNESS_MAIN
