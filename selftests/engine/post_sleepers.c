// SPDX-License-Identifier: GPL-2.0-only
/*
 * As post.c: who of those that sleep for room is let in, and when (DX-45, DX-78, S-6,
 * S-7); limits other than the Ready Pool's.
 */
#include "post_test.h"

#include <fcntl.h>
#include <sys/stat.h>

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
