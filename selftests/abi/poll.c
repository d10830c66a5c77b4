// SPDX-License-Identifier: GPL-2.0-only
/*
 * DX-91: GetRejoinRequest never waits; poll(2) tells when asking makes sense. DX-45: and
 * when posting does.
 */
#include "lib/dxt.h"

#include <poll.h>
#include <sys/epoll.h>

#define OWNER	3

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

/* Sleep in poll(2), with a bound that tells a hang from a wait. */
static bool becomes_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, dxt_late_ms()) == 1 && (p.revents & POLLIN);
}

static bool writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT);
}

static bool becomes_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, dxt_late_ms()) == 1 && (p.revents & POLLOUT);
}

struct poller {
	int fd;
	bool (*fn)(int fd);
	_Atomic int done;
	bool saw;
};

static void *poller_thread(void *arg)
{
	struct poller *p = arg;

	p->saw = p->fn(p->fd);
	p->done = 1;
	return NULL;
}

/* DX-91: a poll returns at once, however long the request takes. */
TEST(rejoin_does_not_wait)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_result result;
	uint32_t answer;
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_up(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0,
			       NULL));
	for (i = 0; i < 100; i++) {
		/* deadlines of the past do not wait, either */
		EXPECT_EQ(0, dxt_rejoin(t.member, OWNER, &result, 1, 1, (uint64_t)i,
					&answer));
		EXPECT_EQ(RJR_NONE_READY, answer);
	}
	/* with one of the future it is the deadline that ends it */
	EXPECT_EQ(0, dxt_rejoin(t.member, OWNER, &result, 1, 1, dxt_in(5 * DXT_MS),
				&answer));
	EXPECT_EQ(RJR_NONE_READY, answer);
	dxt_gate_open(gate);
	EXPECT_EQ(1, dxt_drain(&t, t.member, OWNER));
	dxt_down(&t);
	dxt_gate_free(gate);
}

/*
 * A client: readable when the owner of its last RJR_NONE_READY has a result, or
 * nothing left; not before, not for other owners.
 */
TEST(client)
{
	struct dxt_gate *gate[2] = { dxt_gate_new(), dxt_gate_new() };
	struct poller poller;
	struct dxk_result result;
	pthread_t thread;
	uint32_t answer;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 2));
	EXPECT_FALSE(readable(t.member));
	ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_GATE, DXT_PTR(gate[0]), PXR_REJOIN,
			       0, NULL));
	ASSERT_EQ(1, dxt_post1(t.member, OWNER + 1, DXT_GATE, DXT_PTR(gate[1]),
			       PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate[0]->entered && gate[1]->entered));
	EXPECT_FALSE(readable(t.member));
	EXPECT_EQ(0, dxt_rejoin(t.member, OWNER, &result, 1, 1, 0, &answer));
	ASSERT_EQ(RJR_NONE_READY, answer);
	EXPECT_FALSE(readable(t.member));

	/* another owner's result is not what it asked for */
	dxt_gate_open(gate[1]);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/rejoin_use") == 1));
	EXPECT_FALSE(readable(t.member));

	/* asleep in poll when it comes */
	poller = (struct poller){ .fd = t.member, .fn = becomes_readable };
	ASSERT_EQ(0, pthread_create(&thread, NULL, poller_thread, &poller));
	dxt_sleep_ms(20);
	EXPECT_EQ(0, poller.done);
	dxt_gate_open(gate[0]);
	pthread_join(thread, NULL);
	EXPECT_TRUE(poller.saw);
	EXPECT_TRUE(readable(t.member));
	EXPECT_EQ(1, dxt_rejoin(t.member, OWNER, &result, 1, 1, 0, &answer));
	EXPECT_EQ(1, dxt_drain(&t, t.member, OWNER + 1));
	dxt_down(&t);
	dxt_gate_free(gate[0]);
	dxt_gate_free(gate[1]);
}

/* Another one collects it: "nothing left" is worth a wake-up as well. */
TEST(client_nothing_left)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_result result;
	uint32_t answer;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 1));
	/* it vanishes at its end */
	ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_GATE, DXT_PTR(gate), 0, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered));
	EXPECT_EQ(0, dxt_rejoin(t.member, OWNER, &result, 1, 1, 0, &answer));
	ASSERT_EQ(RJR_NONE_READY, answer);
	EXPECT_FALSE(readable(t.member));
	dxt_gate_open(gate);
	EXPECT_TRUE(becomes_readable(t.member));
	EXPECT_EQ(0, dxt_rejoin(t.member, OWNER, &result, 1, 1, 0, &answer));
	EXPECT_EQ(RJR_NONE_EXIST, answer);
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* Answered RJR_NONE_READY anew, it is not readable any more. */
TEST(client_rearms)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_result result;
	uint32_t answer;
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_up(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, OWNER + 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN,
			       0, NULL));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
		EXPECT_EQ(0, dxt_rejoin(t.member, OWNER, &result, 1, 1, 0, &answer));
		ASSERT_EQ(RJR_NONE_READY, answer);
		EXPECT_FALSE(readable(t.member));
		dxt_gate_open(gate);
		EXPECT_TRUE(becomes_readable(t.member));
		EXPECT_EQ(1, dxt_rejoin(t.member, OWNER, &result, 1, 1, 0, &answer));
		EXPECT_EQ(1, dxt_drain(&t, t.member, OWNER + 1));
		dxt_gate_close(gate);
		ASSERT_EQ(1, dxt_post1(t.member, OWNER + 1, DXT_GATE, DXT_PTR(gate),
				       PXR_REJOIN, 0, NULL));
		ASSERT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_busy") == 1));
	}
	dxt_gate_open(gate);
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* A worker: readable while a request waits that it could take. */
TEST(worker)
{
	struct dxk_done done = { 0 };
	struct epoll_event event = { .events = EPOLLIN };
	struct dxk_work work;
	struct dxt t;
	int ep;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	t.policy.kernel_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	close(t.member);
	t.member = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, t.member);
	EXPECT_FALSE(readable(t.member));
	ep = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, t.member, &event));

	ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_NOP, 0, 0, 0, NULL));
	EXPECT_TRUE(readable(t.member));
	EXPECT_EQ(1, epoll_wait(ep, &event, 1, dxt_late_ms()));
	ASSERT_EQ(1, dxk_next(t.member, NULL, 0, NULL, &work, 1, NULL, 0, 0));
	EXPECT_FALSE(readable(t.member));
	done.ticket = work.ticket;
	EXPECT_EQ(0, dxk_next(t.member, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	EXPECT_FALSE(readable(t.member));
	EXPECT_EQ(0, epoll_wait(ep, &event, 1, 0));
	dxt_down(&t);
	close(ep);
}

/* A worker that sleeps in poll(2), not in a fetch, is woken by a post. */
TEST(worker_asleep)
{
	struct dxk_post_entry e = dxt_entry(OWNER, DXT_NOP, 0, 0);
	struct poller poller;
	struct dxk_post post;
	pthread_t thread;
	int worker, i;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 0));
	/* a second member of this thread, which does not use both at a time */
	worker = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, worker);
	for (i = 0; i < 5; i++) {
		struct dxk_done done = { 0 };
		struct dxk_work work;

		poller = (struct poller){ .fd = worker, .fn = becomes_readable };
		ASSERT_EQ(0, pthread_create(&thread, NULL, poller_thread, &poller));
		dxt_sleep_ms(10);
		EXPECT_EQ(0, poller.done);
		EXPECT_EQ(1, dxt_post(t.member, &e, 1, 0, &post));
		pthread_join(thread, NULL);
		EXPECT_TRUE(poller.saw);
		ASSERT_EQ(1, dxk_next(worker, NULL, 0, NULL, &work, 1, NULL, 0, 0));
		done.ticket = work.ticket;
		EXPECT_EQ(0, dxk_next(worker, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	}
	close(worker);
	dxt_down(&t);
}

/* A lane whose workers are all busy holds nothing that the worker could take. */
TEST(worker_lane)
{
	struct dxk_work work[2];
	struct dxk_done done = { 0 };
	int second;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	t.policy.sched_mode = TPOOL_MODE_CMLS;
	t.policy.lane_pct[1] = 50;
	ASSERT_EQ(0, dxt_start(&t));
	close(t.member);
	t.member = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	second = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, t.member);
	ASSERT_LE(0, second);
	ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_NOP, 0, PXR_LANE1, 0, NULL));
	ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_NOP, 1, PXR_LANE1, 0, NULL));
	EXPECT_TRUE(readable(t.member));
	EXPECT_TRUE(readable(second));
	ASSERT_EQ(1, dxk_next(t.member, NULL, 0, NULL, &work[0], 1, NULL, 0, 0));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	EXPECT_FALSE(readable(second));
	EXPECT_EQ(-ETIMEDOUT, dxk_next(second, NULL, 0, NULL, &work[1], 1, NULL, 0, 0));
	done.ticket = work[0].ticket;
	EXPECT_EQ(0, dxk_next(t.member, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	EXPECT_TRUE(readable(second));
	close(second);
	dxt_down(&t);
}

/* DX-91: one descriptor for all owners of a space, asleep and by poll(2) */
TEST(any_owner)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_rejoin bad = { .size = sizeof(bad), .nr = 1, .flags = DXK_CALL_ANY };
	struct dxk_result result;
	unsigned int answer, i, seen = 0;
	uint64_t owner = 0;
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 1));
	EXPECT_EQ(0, dxk_rejoin_any(t.member, &result, 1, 0, &owner, &answer));
	EXPECT_EQ(RJR_NONE_EXIST, answer);
	EXPECT_FALSE(readable(t.member));
	ASSERT_EQ(1, dxt_post1(t.member, 77, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL));
	EXPECT_EQ(0, dxk_rejoin_any(t.member, &result, 1, 0, &owner, &answer));
	EXPECT_EQ(RJR_NONE_READY, answer);
	EXPECT_FALSE(readable(t.member));
	dxt_gate_open(gate);
	EXPECT_TRUE(becomes_readable(t.member));
	EXPECT_EQ(1, dxk_rejoin_any(t.member, &result, 1, 0, &owner, &answer));
	EXPECT_EQ(77, owner);
	/* each of many, whichever comes next */
	for (i = 0; i < 20; i++)
		ASSERT_EQ(1, dxt_post1(t.member, i, DXT_NOP, i, PXR_REJOIN, 0, NULL));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(1, dxk_rejoin_any(t.member, &result, 1, dxt_late_ns(), &owner, &answer));
		EXPECT_EQ(owner, result.param);
		seen |= 1U << owner;
	}
	EXPECT_EQ((1U << 20) - 1, seen);
	EXPECT_EQ(0, dxk_rejoin_any(t.member, &result, 1, dxt_late_ns(), &owner, &answer));
	EXPECT_EQ(RJR_NONE_EXIST, answer);

	/* what does not fit together */
	bad.results = DXT_PTR(&result);
	bad.result_size = sizeof(result);
	bad.owner = 1;
	EXPECT_EQ(-EINVAL, dxt_ioctl(t.member, DXK_IOC_REJOIN, &bad));
	bad.owner = 0;
	bad.flags |= DXK_CALL_HELP;
	EXPECT_EQ(-EINVAL, dxt_ioctl(t.member, DXK_IOC_REJOIN, &bad));
	dxt_down(&t);
}

/* A context with a Ready Pool of two entries, and a worker. */
static int up_small(struct dxt *t)
{
	int err = dxt_open(t);

	if (err)
		return err;
	t->policy.max_threads = 1;
	t->policy.ready_entries = 2;
	err = dxt_start(t);
	return err ? err : dxt_workers_start(t, 1);
}

/* As many as there is room for; the next one is refused. */
static int fill(int member, struct dxt_gate *gate)
{
	int nr = 0;

	while (dxt_post1(member, OWNER, DXT_GATE, DXT_PTR(gate), 0, 0, NULL) == 1)
		nr++;
	return nr;
}

/* DX-45: writable until a post is refused, and again when there is room. */
TEST(room)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct poller poller;
	pthread_t thread;
	uint32_t reason;
	struct dxt t;

	ASSERT_EQ(0, up_small(&t));
	EXPECT_TRUE(writable(t.member));
	ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_GATE, DXT_PTR(gate), 0, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered));
	EXPECT_EQ(2, fill(t.member, gate));
	EXPECT_EQ(-EAGAIN, dxt_post1(t.member, OWNER, DXT_NOP, 0, 0, 0, &reason));
	EXPECT_EQ(PXR_POOL_FULL, reason);
	EXPECT_FALSE(writable(t.member));
	EXPECT_FALSE(readable(t.member));

	/* asleep in poll when there is */
	poller = (struct poller){ .fd = t.member, .fn = becomes_writable };
	ASSERT_EQ(0, pthread_create(&thread, NULL, poller_thread, &poller));
	dxt_sleep_ms(20);
	EXPECT_EQ(0, poller.done);
	dxt_gate_open(gate);
	pthread_join(thread, NULL);
	EXPECT_TRUE(poller.saw);
	EXPECT_TRUE(writable(t.member));
	EXPECT_EQ(1, dxt_post1(t.member, OWNER, DXT_NOP, 0, 0, 0, NULL));
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* DX-45: a loop of events posts many requests through a small pool, and never sleeps to post. */
static void post_by_events(struct __test_metadata *_metadata, uint32_t edge)
{
	struct epoll_event event = { .events = EPOLLOUT | edge };
	unsigned int refused = 0, i;
	struct dxt t;
	int ep, ret;

	ASSERT_EQ(0, up_small(&t));
	ep = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, t.member, &event));
	for (i = 0; i < 2000;) {
		/* an edge is told once, and then after a refusal only */
		ASSERT_EQ(1, epoll_wait(ep, &event, 1, dxt_late_ms()));
		EXPECT_EQ(EPOLLOUT, event.events);
		while ((ret = dxt_post1(t.member, OWNER, DXT_NOP, i, 0, 0, NULL)) == 1)
			i++;
		ASSERT_EQ(-EAGAIN, ret);
		refused++;
	}
	EXPECT_LT(0, refused);
	EXPECT_EQ(0, dxt_num(&t, "stats/post_blocks"));
	dxt_down(&t);
	close(ep);
}

TEST(room_level)
{
	post_by_events(_metadata, 0);
}

TEST(room_edge)
{
	post_by_events(_metadata, EPOLLET);
}

/* DX-107: who watches for room is told of a Stop. */
TEST(room_stop)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct poller poller;
	pthread_t thread;
	struct dxt t;

	ASSERT_EQ(0, up_small(&t));
	ASSERT_EQ(1, dxt_post1(t.member, OWNER, DXT_GATE, DXT_PTR(gate), 0, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered));
	EXPECT_EQ(2, fill(t.member, gate));
	EXPECT_FALSE(writable(t.member));
	poller = (struct poller){ .fd = t.member, .fn = becomes_writable };
	ASSERT_EQ(0, pthread_create(&thread, NULL, poller_thread, &poller));
	/* one that begins a Stop, and does not wait for its end */
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, 0));
	pthread_join(thread, NULL);
	EXPECT_TRUE(poller.saw);
	EXPECT_EQ(-ESHUTDOWN, dxt_post1(t.member, OWNER, DXT_NOP, 0, 0, 0, NULL));
	dxt_gate_open(gate);
	dxt_down(&t);
	dxt_gate_free(gate);
}

TEST_HARNESS_MAIN
