// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the Monitor sees and tells: stalls, requests that execute for too long,
 * samples and latencies (DX-20, DX-115).
 */
#include "lib/puppet.h"

#include <fcntl.h>
#include <poll.h>

/*
 * Does a counter get there in the time in which it must be told? The Monitor looks
 * within 1 s; it may be kept from its CPU for another one.
 */
static bool told(const struct dxt *t, const char *counter, long long nr)
{
	DXT_WITHIN(dxt_stall_ns(), dxt_num(t, "stats/%s", counter) >= nr);
	return dxt_num(t, "stats/%s", counter) == nr;
}

/*
 * Nothing is told: no event can show that, so the bound is time. The Monitor has
 * an interval of 10 ms here, and tells what lasts for 100.
 */
static bool not_told(const struct dxt *t, const char *counter, long long nr)
{
	dxt_sleep_ms(300);
	return dxt_num(t, "stats/%s", counter) == nr;
}

/*
 * The kernel's log gets a line with all of @words: after the counter, which the Monitor
 * counts up first.
 */
static bool kmsg_has(int kmsg, const char *const *words)
{
	struct pollfd p = { .fd = kmsg, .events = POLLIN };
	char line[2048];
	ssize_t n;

	while (poll(&p, 1, dxt_late_ms()) == 1 &&
	       (n = read(kmsg, line, sizeof(line) - 1)) > 0) {
		const char *const *w;

		line[n] = '\0';
		for (w = words; *w && strstr(line, *w); w++)
			;
		if (!*w)
			return true;
	}
	return false;
}

static int kmsg_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

/*
 * A stall: the only worker waits for a child that nobody is left to run. It is
 * told once, in the counter, to who polls it, and in the log with thread, lane and
 * cookies; further work lets it be told again.
 */
TEST(stall_is_told)
{
	static const char *const words[] = { ": stall 1: ready", "1 lane 3;",
		"asleep: 1 rejoining lane 2 owner 0x1 executor 0xabc", NULL };
	struct pollfd p = { .events = POLLPRI };
	struct puppet *w, *helper;
	char path[64], text[16];
	int kmsg = kmsg_open();
	struct dxt t;

	ASSERT_LE(0, kmsg);
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	t.policy.monitor_interval_ms = 10;
	ASSERT_EQ(0, dxt_start(&t));
	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/stats/stalls", t.id);
	p.fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, p.fd);
	ASSERT_LT(0, read(p.fd, text, sizeof(text)));

	w = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_EQ(1, dxt_post1(t.member, 1, 0xabc, 0, PXR_REJOIN | PXR_LANE2, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w));
	/* Busy outside of dxk is no stall, whatever waits. */
	ASSERT_EQ(1, dxt_post1(t.member, 2, 0xdef, 0, PXR_REJOIN, 0, NULL));
	EXPECT_TRUE(not_told(&t, "stalls", 0));

	ASSERT_TRUE(puppet_rejoin(w, 2, 1, 1, DXK_FOREVER));
	EXPECT_TRUE(told(&t, "stalls", 1));
	/* the watchers are told after the counter is set */
	EXPECT_EQ(1, poll(&p, 1, dxt_late_ms()));
	EXPECT_TRUE(p.revents & POLLPRI);
	EXPECT_TRUE(kmsg_has(kmsg, words));
	/* the same stall is not told twice */
	EXPECT_TRUE(not_told(&t, "stalls", 1));

	/* A second worker is the cure. */
	helper = puppet_new(&t, DXK_MEMBER_WORKER);
	EXPECT_EQ(1, puppet_fetch(helper));
	EXPECT_TRUE(not_told(&t, "stalls", 1));
	EXPECT_EQ(0, puppet_finish(helper, 0));
	EXPECT_EQ(1, puppet_end(w));

	/* It may come again. */
	puppet_free(helper);
	ASSERT_EQ(1, dxt_post1(t.member, 2, 0xdef, 0, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(puppet_rejoin(w, 2, 1, 1, DXK_FOREVER));
	EXPECT_TRUE(told(&t, "stalls", 2));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, 0) == 0);
	EXPECT_EQ(-ESHUTDOWN, puppet_end(w));
	EXPECT_EQ(0, puppet_finish(w, 0));
	puppet_free(w);
	close(p.fd);
	close(kmsg);
	dxt_down(&t);
}

/*
 * Whoever is the last to fall asleep wakes the Monitor: a stall is told in time
 * with an interval of an hour, too, and again after the next one.
 */
TEST(stall_wakes_the_monitor)
{
	struct puppet *w[2];
	struct dxt t;
	unsigned int i;

	puppet_signals(false);
	ASSERT_EQ(0, dxt_open(&t));
	no_periods(&t);
	t.policy.max_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	puppets_new(&t, w, 2, DXK_MEMBER_WORKER);
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(puppet_ask(w[i]));
	/* both idle: the Monitor parks; nothing is a stall */
	EXPECT_TRUE(not_told(&t, "stalls", 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, dxt_post1(t.member, 1, 0, 0, PXR_REJOIN, 0, NULL));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, puppet_end(w[i]));
	ASSERT_EQ(1, dxt_post1(t.member, 2, 0, 0, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(puppet_rejoin(w[0], 2, 1, 1, DXK_FOREVER));
	EXPECT_TRUE(not_told(&t, "stalls", 0));
	ASSERT_TRUE(puppet_rejoin(w[1], 2, 1, 1, DXK_FOREVER));
	EXPECT_TRUE(told(&t, "stalls", 1));
	/* one gives up, and waits again: the same stall, nothing has moved */
	puppet_signal(w[1]);
	EXPECT_EQ(-EINTR, puppet_end(w[1]));
	ASSERT_TRUE(puppet_rejoin(w[1], 2, 1, 1, DXK_FOREVER));
	EXPECT_TRUE(not_told(&t, "stalls", 1));
	/* it ends what it executes, and the next one is the next stall */
	puppet_signal(w[1]);
	EXPECT_EQ(-EINTR, puppet_end(w[1]));
	ASSERT_EQ(0, puppet_finish(w[1], 0));
	ASSERT_EQ(1, puppet_fetch(w[1]));
	ASSERT_EQ(1, dxt_post1(t.member, 3, 0, 0, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(puppet_rejoin(w[1], 3, 1, 1, DXK_FOREVER));
	EXPECT_TRUE(told(&t, "stalls", 2));
	dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, 0);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-ESHUTDOWN, puppet_end(w[i]));
		EXPECT_EQ(0, puppet_finish(w[i], 0));
	}
	puppets_free(w, 2);
	dxt_down(&t);
}

/* A client alone, asleep for room that no worker is there to make. */
TEST(stall_of_clients)
{
	struct puppet *p;
	struct dxt t;

	puppet_signals(false);
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.ready_entries = 1;
	t.policy.monitor_interval_ms = 10;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(1, dxt_post1(t.member, 1, 0, 0, 0, 0, NULL));
	close(t.member);
	t.member = -1;
	p = puppet_new(&t, DXK_MEMBER_CLIENT);
	ASSERT_NE(NULL, p);
	ASSERT_TRUE(puppet_post1(p, 0, 0));
	EXPECT_TRUE(told(&t, "stalls", 1));
	puppet_free(p);
	dxt_down(&t);
}

/*
 * A request that executes for longer than report_age_ms is told once; others not,
 * and nothing with 0. The age can be set while it executes.
 */
TEST(overdue_is_told)
{
	static const char *const words[] = { ": overdue: 1 executes for ",
		"lane 1 owner 0x7 executor 0x123 label slow", NULL };
	int kmsg = kmsg_open();
	struct puppet *w;
	struct dxt t;

	ASSERT_LE(0, kmsg);
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.monitor_interval_ms = 10;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_EQ(0, dxk_label(t.member, 0x123, "slow"));
	ASSERT_EQ(1, dxt_post1(t.member, 7, 0x123, 0, PXR_LANE1, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w));
	EXPECT_TRUE(not_told(&t, "overdue", 0));
	ASSERT_EQ(0, dxt_store(&t, "policy/report_age_ms", "50"));
	EXPECT_TRUE(told(&t, "overdue", 1));
	EXPECT_TRUE(kmsg_has(kmsg, words));
	EXPECT_TRUE(not_told(&t, "overdue", 1));
	ASSERT_EQ(0, puppet_finish(w, 0));
	/* idle for longer than that is no fault */
	ASSERT_TRUE(puppet_ask(w));
	EXPECT_TRUE(not_told(&t, "overdue", 1));
	ASSERT_EQ(1, dxt_post1(t.member, 7, 0x124, 0, 0, 0, NULL));
	ASSERT_EQ(1, puppet_end(w));
	EXPECT_TRUE(told(&t, "overdue", 2));
	EXPECT_EQ(0, puppet_finish(w, 0));
	puppet_free(w);
	close(kmsg);
	dxt_down(&t);
}

/*
 * a request that waits for longer than wait_report_ms is told once in each such time,
 * with what it waits for; one that is quiet is not, and nothing with 0. The time can be set
 * while it waits.
 */
TEST(long_wait_is_told)
{
	static const char *const words[] = { ": overdue: waits for ", " ms: lane 1 owner ",
		":0x7 executor 0x123 label patient name 0x4d kind user turn 0 for time,call", NULL };
	const uint64_t name = 0x4d;
	struct dxk_post_more e = {
		.post = dxt_entry(7, 0x123, 0, PXR_LANE1 | PXR_NAMED | PXR_WAIT),
		.name = name,
		.wait = { .wait = DXK_WAIT_CALL | DXK_WAIT_TIME, .deadline = DXK_FOREVER },
	};
	struct pollfd p = { .events = POLLPRI };
	int kmsg = kmsg_open();
	char path[64], text[16];
	long long times;
	uint64_t begun;
	struct dxt t;

	ASSERT_LE(0, kmsg);
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.max_waiting = 2;
	t.policy.monitor_interval_ms = 10;
	ASSERT_EQ(0, dxt_start(&t));
	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/stats/overdue", t.id);
	p.fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, p.fd);
	ASSERT_LT(0, read(p.fd, text, sizeof(text)));
	ASSERT_EQ(0, dxk_label(t.member, 0x123, "patient"));
	ASSERT_EQ(1, dxk_post_more(t.member, &e, 1, 0, NULL));
	EXPECT_TRUE(not_told(&t, "overdue", 0));
	/* an hour is not over so soon */
	ASSERT_EQ(0, dxt_store(&t, "policy/wait_report_ms", "3600000"));
	EXPECT_TRUE(not_told(&t, "overdue", 0));
	begun = dxt_now();
	ASSERT_EQ(0, dxt_store(&t, "policy/wait_report_ms", "20"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/overdue") >= 1));
	EXPECT_EQ(1, poll(&p, 1, dxt_late_ms()));
	EXPECT_TRUE(p.revents & POLLPRI);
	EXPECT_TRUE(kmsg_has(kmsg, words));
	/* and again, as long as it waits */
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/overdue") >= 3));
	/* once in such a time, but for the ticks of jiffies at both ends */
	times = dxt_num(&t, "stats/overdue");
	EXPECT_GE(2 + (long long)(dxt_now() - begun) / (19 * DXT_MS), times);
	ASSERT_EQ(0, dxt_store(&t, "policy/wait_report_ms", "0"));
	ASSERT_EQ(1, dxk_cancel(t.member, &name, 1, NULL));
	close(p.fd);
	close(kmsg);
	dxt_down(&t);
}

/* Of many that wait for long each is told, some in each turn; of those that are quiet none. */
TEST(many_long_waits)
{
	enum { NR = 100, QUIET = 150 };
	struct dxk_post_more e = {
		.post = dxt_entry(7, 0x123, 0, PXR_NAMED | PXR_WAIT),
		.wait = { .wait = DXK_WAIT_CALL },
	};
	unsigned int i;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_waiting = NR + QUIET;
	t.policy.monitor_interval_ms = 1;
	/* longer than all turns that it takes, so that none is told twice */
	t.policy.wait_report_ms = 2000;
	ASSERT_EQ(0, dxt_start(&t));
	for (i = 0; i < NR + QUIET; i++) {
		e.name = 1 + i;
		e.post.attrs = PXR_NAMED | PXR_WAIT | (i % 5 < 3 ? PXR_QUIET : 0);
		ASSERT_EQ(1, dxk_post_more(t.member, &e, 1, 0, NULL));
	}
	/* no request moves meanwhile */
	EXPECT_TRUE(DXT_SOON(dxt_num(&t, "stats/overdue") >= NR));
	EXPECT_EQ(NR, dxt_num(&t, "stats/overdue"));
	EXPECT_EQ(NR + QUIET, dxt_num(&t, "pools/wait_use"));
	dxt_down(&t);
}

/* Sum of a latency histogram; @least: its smallest lower bound. */
static long long latencies(const struct dxt *t, unsigned int latency, unsigned int lane,
			   unsigned long long *least)
{
	uint64_t count[DXK_LATENCY_BUCKETS + 1];
	long long sum = 0;
	unsigned int i;
	int nr = dxk_latencies_read(t->ctx, latency, lane, count, ARRAY_SIZE(count));

	*least = 0;
	if (nr != DXK_LATENCY_BUCKETS)
		return nr < 0 ? nr : -ERANGE;
	for (i = DXK_LATENCY_BUCKETS; i--; sum += (long long)count[i])
		if (count[i])
			*least = i ? 1ULL << i : 0;
	return sum;
}

/*
 * Samples come at their interval, their counts add up to what was done, and
 * nothing is recorded before it is switched on. The ring keeps the newest.
 */
TEST(samples_add_up)
{
	enum { NR = 40, KEPT = 8, PLENTY = 4096 };
	uint64_t posts = 0, ends = 0, dispatches = 0, last = 0;
	struct dxk_sample s[DXK_BATCH_MAX];
	unsigned long long least;
	struct dxt t;
	int n, i, rounds;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	/* all that come until they are read, however late that is */
	t.policy.sample_entries = PLENTY;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	EXPECT_EQ(0, dxk_samples_read(t.ctx, 0, s, DXK_BATCH_MAX));
	EXPECT_EQ(0, latencies(&t, DXK_LATENCY_WAIT, 3, &least));

	ASSERT_EQ(0, dxt_store(&t, "policy/sample_interval_ms", "20"));
	ASSERT_TRUE(DXT_UNTIL(&t, dxk_samples_read(t.ctx, 0, s, 1) == 1));
	/* the first one counts from the Start on */
	last = s[0].time_ns;
	for (i = 0; i < NR; i++)
		EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(NR, dxt_drain(&t, t.member, 1));
	for (rounds = 0; rounds < 400 && ends < NR; rounds++) {
		n = dxk_samples_read(t.ctx, last, s, DXK_BATCH_MAX);
		ASSERT_LE(0, n);
		for (i = 0; i < n; i++) {
			EXPECT_LT(last, s[i].time_ns);
			last = s[i].time_ns;
			posts += s[i].posts;
			dispatches += s[i].dispatches;
			ends += s[i].completions;
			EXPECT_EQ(2, s[i].workers);
			EXPECT_GE(NR, s[i].ready + s[i].busy + s[i].rejoin);
		}
		dxt_sleep_ms(5);
	}
	EXPECT_EQ(NR, posts);
	EXPECT_EQ(NR, dispatches);
	EXPECT_EQ(NR, ends);
	EXPECT_EQ(NR, latencies(&t, DXK_LATENCY_WAIT, 3, &least));
	EXPECT_EQ(NR, latencies(&t, DXK_LATENCY_RUN, 3, &least));
	EXPECT_EQ(0, latencies(&t, DXK_LATENCY_RUN, 2, &least));

	EXPECT_EQ(0, dxk_samples_read(t.ctx, UINT64_MAX, s, 1));
	dxt_down(&t);

	/* never more than the ring holds, and the newest ones */
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.sample_entries = KEPT;
	t.policy.sample_interval_ms = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_TRUE(DXT_SOON(dxk_samples_read(t.ctx, 0, s, DXK_BATCH_MAX) == KEPT));
	last = s[KEPT - 1].time_ns;
	EXPECT_TRUE(DXT_SOON((n = dxk_samples_read(t.ctx, 0, s, DXK_BATCH_MAX)) != KEPT ||
			     s[0].time_ns > last));
	EXPECT_EQ(KEPT, n);
	dxt_down(&t);
}

/* Latencies are measured from the post to the start and from there to the end. */
TEST(latencies_are_those)
{
	unsigned long long least;
	uint64_t few[4], posted, fetched, ended;
	struct puppet *w;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.sample_interval_ms = 1000;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	posted = dxt_now();
	ASSERT_EQ(1, dxt_post1(t.member, 1, 0, 0, PXR_LANE1, 0, NULL));
	dxt_sleep_ms(40);
	ASSERT_EQ(1, puppet_fetch(w));
	fetched = dxt_now();
	dxt_sleep_ms(150);
	ASSERT_EQ(0, puppet_finish(w, 0));
	ended = dxt_now();
	EXPECT_EQ(1, latencies(&t, DXK_LATENCY_WAIT, 1, &least));
	EXPECT_LE(33554432, least);	/* 2^25 ns: 33 ms */
	EXPECT_GE(fetched - posted, least);
	EXPECT_EQ(1, latencies(&t, DXK_LATENCY_RUN, 1, &least));
	EXPECT_LE(134217728, least);	/* 2^27 ns: 134 ms */
	EXPECT_GE(ended - posted, least);
	/* the first counts only, as a program with less room gets them */
	memset(few, 0xff, sizeof(few));
	EXPECT_EQ(3, dxk_latencies_read(t.ctx, DXK_LATENCY_RUN, 1, few, 3));
	EXPECT_EQ(0, few[0] | few[1] | few[2]);
	EXPECT_EQ(UINT64_MAX, few[3]);
	EXPECT_EQ(-EINVAL, dxk_latencies_read(t.ctx, DXK_LATENCY_RUN, 1, few, 0));
	EXPECT_EQ(-EINVAL, dxk_latencies_read(t.ctx, DXK_LATENCY_RUN, DXK_LANES, few, 1));
	EXPECT_EQ(-EINVAL, dxk_latencies_read(t.ctx, DXK_LATENCY_RUN + 1, 1, few, 1));
	EXPECT_EQ(0, latencies(&t, DXK_LATENCY_WAIT, 3, &least));
	puppet_free(w);
	dxt_down(&t);
}

/* --- the numbers --------------------------------------------------------------- */

#define ASLEEP_MS	30

/* A sleep since @begin, which was at least ASLEEP_MS long, is in the counter, and no more. */
static bool slept(const struct dxt *t, const char *what, uint64_t begin)
{
	long long ns = dxt_num(t, "stats/%s_block_ns", what);

	return dxt_num(t, "stats/%s_blocks", what) == 1 && ns >= ASLEEP_MS * DXT_MS &&
	       ns <= (long long)(dxt_now() - begin);
}

/*
 * DX-115: pools, lanes, workers, posts, answers and sleeps, in numbers that are known: one
 * request executes, two are Ready, and one poster waits for room.
 */
TEST(numbers)
{
	static const struct { const char *file; int value; } want[] = {
		{ "pools/thread_size", 2 }, { "pools/thread_use", 2 },
		{ "pools/thread_busy", 1 }, { "pools/thread_high_water", 1 },
		{ "pools/ready_size", 2 }, { "pools/ready_use", 2 },
		{ "pools/ready_high_water", 2 },
		{ "pools/rejoin_size", 1 }, { "pools/rejoin_use", 0 },
		{ "lanes/ready_lane3_in_use", 1 }, { "lanes/ready_lane2_in_use", 1 },
		{ "lanes/ready_lane3_limit", 1 }, { "lanes/ready_lane3_waiters", 1 },
		{ "lanes/ready_lane2_waiters", 0 }, { "lanes/user_lane3_in_use", 1 },
		{ "lanes/user_lane3_waiters", 1 }, { "lanes/user_lane2_waiters", 1 },
		{ "stats/posts", 3 }, { "stats/post_busy", 1 }, { "stats/dispatches", 1 },
		{ "stats/completions", 0 }, { "stats/post_blocks", 1 },
		{ "stats/rejoin_returned", 0 }, { "stats/rejoin_none_ready", 1 },
		{ "stats/rejoin_none_exist", 1 }, { "pools/log_lost", 0 },
	};
	struct puppet *w[2], *poster, *poller;
	uint64_t begin = dxt_now();
	struct dxt t;
	size_t i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	t.policy.sched_mode = TPOOL_MODE_CMLS;
	t.policy.lane_pct[2] = 50;
	t.policy.ready_entries = 2;
	t.policy.rejoin_entries = 1;
	t.policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	ASSERT_EQ(0, dxt_start(&t));
	puppets_new(&t, w, 2, DXK_MEMBER_WORKER);
	poster = puppet_new(&t, DXK_MEMBER_CLIENT);
	poller = puppet_new(&t, DXK_MEMBER_CLIENT);
	ASSERT_EQ(1, dxt_post1(t.member, 1, 0, 0, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w[0]));
	ASSERT_EQ(1, dxt_post1(t.member, 1, 0, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, dxt_post1(t.member, 2, 0, 2, PXR_REJOIN | PXR_LANE2, 0, NULL));
	EXPECT_EQ(-EAGAIN, dxt_post1(t.member, 1, 0, 3, 0, 0, NULL));
	ASSERT_TRUE(puppet_post1(poster, 4, PXR_REJOIN | PXR_WAITIF_BUSY));
	EXPECT_EQ(RJR_NONE_READY, poll_owner(&t, 1));
	EXPECT_EQ(RJR_NONE_EXIST, poll_owner(&t, 77));
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		EXPECT_EQ(want[i].value, dxt_num(&t, "%s", want[i].file))
			TH_LOG("%s", want[i].file);
	}
	EXPECT_TRUE(dxt_member_is(&t, w[0]->id, "busy"));
	EXPECT_FALSE(dxt_member_is(&t, w[1]->id, "busy"));

	/* one sleep of each kind: for room, for a result, for room for a result */
	ASSERT_TRUE(puppet_rejoin(poller, 1, 1, 1, DXK_FOREVER));
	dxt_sleep_ms(ASLEEP_MS);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "threads/%u/age_ms", w[0]->id) >= ASLEEP_MS));
	ASSERT_EQ(0, puppet_finish(w[0], 0));
	ASSERT_EQ(1, puppet_end(poller));
	EXPECT_TRUE(slept(&t, "rejoin", begin));
	ASSERT_EQ(1, puppet_fetch(w[0]));
	ASSERT_EQ(1, puppet_end(poster));
	EXPECT_TRUE(slept(&t, "post", begin));
	ASSERT_EQ(0, puppet_finish(w[0], 0));
	ASSERT_EQ(1, puppet_fetch(w[1]));
	ASSERT_TRUE(puppet_next(w[1], 1, 0, 0, DXK_FOREVER));
	dxt_sleep_ms(ASLEEP_MS);
	EXPECT_EQ(RJR_RETURNED, poll_owner(&t, 1));
	EXPECT_EQ(0, puppet_end(w[1]));
	EXPECT_TRUE(slept(&t, "complete", begin));
	EXPECT_EQ(3, dxt_num(&t, "stats/dispatches"));
	EXPECT_EQ(3, dxt_num(&t, "stats/completions"));
	EXPECT_EQ(2, dxt_num(&t, "stats/rejoin_returned"));
	EXPECT_EQ(1, dxt_num(&t, "pools/rejoin_high_water"));
	EXPECT_EQ(2, dxt_num(&t, "threads/%u/executed", w[0]->id));
	puppet_free(poster);
	puppet_free(poller);
	puppets_free(w, 2);
	dxt_down(&t);
}

/* --- the application's own counters ------------------------------------------ */

enum { COUNTERS = 8, COUNTS = 250 };

struct counting {
	struct dxt *t;
	unsigned int from, wrong;
};

/* Makes the same counters as others at the same time, not in their order, and counts in each. */
static void *count(void *arg)
{
	struct counting *c = arg;
	int member = dxk_member_create(c->t->ctx, DXK_MEMBER_CLIENT, NULL);
	char name[16];

	for (unsigned int i = 0; i < COUNTERS * COUNTS; i++) {
		unsigned int at = (c->from + i) % COUNTERS;

		snprintf(name, sizeof(name), "c%u", at);
		c->wrong += dxk_instrument(member, name, 0, at % 2 ? -3 : 2) != 0;
	}
	close(member);
	return NULL;
}

/* All lines of a file. */
static void lines_of(const struct dxt *t, const char *file, char *text, size_t room)
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/%s", t->id, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = read(fd, text, room - 1);
	text[len > 0 ? len : 0] = '\0';
	close(fd);
}

static void instruments(const struct dxt *t, char *text, size_t room)
{
	lines_of(t, "instruments", text, room);
}

/* DX-20: none is lost, none is made twice, and there is room for so many. */
TEST(instruments_count)
{
	struct counting c[4];
	pthread_t thread[4];
	char text[1024], name[DXK_NAME_LEN + 8];
	unsigned int i, rows = 0;
	long long value, sum = 0;
	struct dxt t;
	char *line;

	ASSERT_EQ(0, dxt_up(&t, 1));
	instruments(&t, text, sizeof(text));
	EXPECT_STREQ("", text);
	for (i = 0; i < 4; i++) {
		c[i] = (struct counting){ .t = &t, .from = 2 * i };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, count, &c[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, c[i].wrong);
	}
	instruments(&t, text, sizeof(text));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		ASSERT_EQ(2, sscanf(line, "%31s %lld", name, &value));
		EXPECT_EQ((name[1] - '0') % 2 ? -3 * 4 * COUNTS : 2 * 4 * COUNTS, value);
		sum += value;
		rows++;
	}
	EXPECT_EQ(COUNTERS, rows);
	EXPECT_EQ(-COUNTERS / 2 * 4 * COUNTS, sum);

	for (; rows < DXK_INSTRUMENTS; rows++) {
		snprintf(name, sizeof(name), "more%u", rows);
		EXPECT_EQ(0, dxk_instrument(t.member, name, DXK_INSTRUMENT_SET, INT64_MIN));
	}
	EXPECT_EQ(-ENOSPC, dxk_instrument(t.member, "last", 0, 1));
	EXPECT_EQ(0, dxk_instrument(t.member, "more15", 0, -1));
	EXPECT_EQ(0, dxk_instrument(t.member, "c0", DXK_INSTRUMENT_SET, 7));
	EXPECT_EQ(-EINVAL, dxk_instrument(t.member, "", 0, 1));
	EXPECT_EQ(-EINVAL, dxk_instrument(t.member, "a b", 0, 1));
	memset(name, 'x', DXK_NAME_LEN);
	name[DXK_NAME_LEN] = '\0';
	EXPECT_EQ(-EINVAL, dxk_instrument(t.member, name, 0, 1));
	EXPECT_EQ(-EOPNOTSUPP, dxk_instrument(t.member, "c0", 2, 1));
	instruments(&t, text, sizeof(text));
	EXPECT_EQ(0, strncmp(text, "c", 1));
	EXPECT_NE(NULL, strstr(text, "c0 7\n"));
	EXPECT_NE(NULL, strstr(text, "more15 9223372036854775807"));
	EXPECT_EQ(NULL, strstr(text, "last"));
	dxt_down(&t);
}

/* --- names of executors and owners ------------------------------------------- */

static unsigned int count_lines(const char *text)
{
	unsigned int nr = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		nr++;
	}
	return nr;
}

/* DX-115: what an application calls its executors is told with their numbers. */
TEST(labels)
{
	struct dxk_label bad = { .size = sizeof(bad), .object = 1, .flags = 1 };
	char text[4097], name[DXK_NAME_LEN + 1], line[64];
	unsigned int i, space, other;
	struct puppet *w;
	struct dxt t;
	int ctx, member;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	lines_of(&t, "labels", text, sizeof(text));
	EXPECT_STREQ("", text);
	EXPECT_EQ(0, dxk_label(t.member, 0x123, "sum"));
	lines_of(&t, "labels", text, sizeof(text));
	ASSERT_EQ(2, sscanf(text, "%u:0x123 %31s", &space, name));
	EXPECT_STREQ("sum", name);

	/* with what a member executes */
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_EQ(1, dxt_post1(t.member, 7, 0x123, 0, 0, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w));
	ASSERT_TRUE(dxt_text(&t, text, sizeof(text), "threads/1/executes"));
	snprintf(line, sizeof(line), "lane 3 owner %u:0x7 executor 0x123 label sum", space);
	EXPECT_STREQ(line, text);
	/* another name, and none */
	EXPECT_EQ(0, dxk_label(t.member, 0x123, "product"));
	ASSERT_TRUE(dxt_text(&t, text, sizeof(text), "threads/1/executes"));
	EXPECT_NE(NULL, strstr(text, " label product"));
	EXPECT_EQ(0, dxk_label(t.member, 0x123, NULL));
	ASSERT_TRUE(dxt_text(&t, text, sizeof(text), "threads/1/executes"));
	EXPECT_EQ(NULL, strstr(text, "label"));
	lines_of(&t, "labels", text, sizeof(text));
	EXPECT_STREQ("", text);
	EXPECT_EQ(0, puppet_finish(w, 0));
	puppet_free(w);

	/* the same number is another object elsewhere */
	ctx = dxk_ctx_join_id(t.ctl, t.id, DXK_ACCESS_WRITE | DXK_ACCESS_EXECUTE, 0);
	ASSERT_LE(0, ctx);
	member = dxk_member_create(ctx, DXK_MEMBER_CLIENT, NULL);
	ASSERT_LE(0, member);
	EXPECT_EQ(0, dxk_label(t.member, 0x123, "mine"));
	EXPECT_EQ(0, dxk_label(member, 0x123, "theirs"));
	lines_of(&t, "labels", text, sizeof(text));
	EXPECT_EQ(2, count_lines(text));
	ASSERT_EQ(3, sscanf(text, "%u:0x123 mine\n%u:0x123 %31s", &i, &other, name));
	EXPECT_EQ(space, i);
	EXPECT_NE(space, other);
	EXPECT_STREQ("theirs", name);
	close(member);
	close(ctx);

	/* the newest ones */
	for (i = 0; i < 3 * DXK_LABELS; i++) {
		snprintf(name, sizeof(name), "a-name-of-thirty-one-letters%03u", i);
		ASSERT_EQ(DXK_NAME_LEN - 1, strlen(name));
		ASSERT_EQ(0, dxk_label(t.member, UINT64_MAX - i, name));
	}
	lines_of(&t, "labels", text, sizeof(text));
	EXPECT_EQ(DXK_LABELS, count_lines(text));
	for (i = 2 * DXK_LABELS; i < 3 * DXK_LABELS; i++) {
		snprintf(line, sizeof(line), "%u:%#llx a-name-of-thirty-one-letters%03u\n", space,
			 (unsigned long long)UINT64_MAX - i, i);
		EXPECT_NE(NULL, strstr(text, line));
	}

	EXPECT_EQ(-EINVAL, dxk_label(t.member, 1, "a b"));
	memset(name, 'x', DXK_NAME_LEN);
	name[DXK_NAME_LEN] = '\0';
	EXPECT_EQ(-EINVAL, dxk_label(t.member, 1, name));
	EXPECT_EQ(-EOPNOTSUPP, dxt_ioctl(t.member, DXK_IOC_LABEL, &bad));
	bad.flags = 0;
	memset(bad.name, 'x', sizeof(bad.name));
	EXPECT_EQ(-EINVAL, dxt_ioctl(t.member, DXK_IOC_LABEL, &bad));
	dxt_down(&t);
}

TEST_HARNESS_MAIN
