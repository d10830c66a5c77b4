// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a context: what its Thread Pool shows, how it is started or cannot be, with
 * nothing of it left then. How it is stopped and closed is in ctx_stop.c.
 */
#include "ctx.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/resource.h>

/* --- the Thread Pool --------------------------------------------------------- */

/* DX-11, DX-22: max_threads 4 lists exactly these ids, at any number of workers. */
TEST(thread_ids)
{
	static const unsigned int running[] = { 0, 500, 600, 700 };
	unsigned int i;
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
	for (i = 0; i < ARRAY_SIZE(running); i++)
		EXPECT_TRUE(dxt_member_is(&t, running[i], "running"));
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
	unsigned int i, space;
	unsigned long long executor;
	char text[128];
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
	/* its work slot, and that of one who has nothing */
	EXPECT_TRUE(dxt_text(&t, text, sizeof(text), "threads/%u/executes", gate->last));
	EXPECT_EQ(2, sscanf(text, "lane 3 owner %u:0x1 executor 0x%llx", &space, &executor))
		TH_LOG("%s", text);
	EXPECT_EQ(DXT_GATE, executor);
	EXPECT_TRUE(dxt_text(&t, text, sizeof(text), "threads/%u/executes", 3 - gate->last));
	EXPECT_STREQ("", text);
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
	EXPECT_TRUE(DXT_UNTIL(&t, !strcmp("0 1 500 600 700", ids(&t))));

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

#define CLIENTS		4000

/*
 * A client more, which goes again: the least time that it took, and its id. Looked at for
 * a while: for a moment a busy host may be slow each time.
 */
static uint64_t join_ns(const struct dxt *t, unsigned int *id)
{
	uint64_t best = UINT64_MAX;
	int i;

	for (i = 0; i < 100; i++) {
		uint64_t took = dxt_now();
		int fd = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, id);

		took = dxt_now() - took;
		if (fd < 0)
			return 0;
		close(fd);
		if (took < best)
			best = took;
		usleep(2000);
	}
	return best;
}

/*
 * DX-23: thousands of application threads: each has the lowest free id, and to join takes
 * as long as it does among few.
 */
TEST(many_clients)
{
	static const unsigned int hole[] = { 17, CLIENTS / 2, CLIENTS - 1 };
	struct rlimit before, limit;
	unsigned int i, id, wrong = 0;
	uint64_t few, many;
	static int fd[CLIENTS];
	struct dxt t;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
	limit.rlim_cur = CLIENTS + 100;
	limit.rlim_max = before.rlim_max > limit.rlim_cur ? before.rlim_max : limit.rlim_cur;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	ASSERT_EQ(0, dxt_up(&t, 1));
	few = join_ns(&t, &id);
	EXPECT_EQ(1000, id);
	for (i = 0; i < CLIENTS; i++) {
		fd[i] = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, &id);
		ASSERT_LE(0, fd[i]) TH_LOG("client %u", i);
		wrong += id != 1000 + i;
		/* their folders take a debug kernel on a busy host long: this is alive */
		if (i % 500 == 499)
			TH_LOG("%u clients", i + 1);
	}
	EXPECT_EQ(0, wrong);
	many = join_ns(&t, &id);
	EXPECT_EQ(1000 + CLIENTS, id);
	ASSERT_LT(0, few);
	ASSERT_LT(0, many);
	EXPECT_GE(4 * few, many) TH_LOG("ns: %llu among few, %llu among many",
					(unsigned long long)few, (unsigned long long)many);

	for (i = ARRAY_SIZE(hole); i--;)
		close(fd[hole[i]]);
	for (i = 0; i < ARRAY_SIZE(hole); i++) {
		fd[hole[i]] = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, &id);
		EXPECT_EQ(1000 + hole[i], id);
	}
	for (i = 0; i < CLIENTS; i++)
		close(fd[i]);
	/* who joins waits for the ids of those who left before */
	close(dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, !strcmp("0 1 500 600 700", ids(&t))));
	dxt_down(&t);
	EXPECT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
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

/* --- Start ------------------------------------------------------------------- */

/* DX-4: a second Start is EBUSY and starts nothing. */
TEST(start_twice)
{
	struct dxt t;

	ASSERT_EQ(0, dxt_up(&t, 1));
	EXPECT_TRUE(kthreads_are(&t, 3));
	EXPECT_EQ(-EBUSY, dxk_ctx_start(t.ctx));
	EXPECT_EQ(-EBUSY, dxk_ctx_start(t.ctx));
	EXPECT_TRUE(kthreads_are(&t, 3));
	EXPECT_STREQ("0 1 500 600 700", ids(&t));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	dxt_down(&t);
}

/* DX-5: an invalid policy names the field; no thread, no pool, no change. */
TEST(invalid_policy)
{
	struct dxk_policy policy, now;
	unsigned int bad;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	policy = t.policy;
	policy.ready_entries = 0;
	EXPECT_EQ(-EINVAL, dxk_policy_set(t.ctx, &policy, &bad));
	EXPECT_EQ(offsetof(struct dxk_policy, ready_entries), bad);
	EXPECT_STREQ("ready_entries", dxk_policy_field_name(bad));
	EXPECT_TRUE(state_is(&t, "new"));
	EXPECT_STREQ("", ids(&t));
	EXPECT_TRUE(kthreads_are(&t, 0));
	ASSERT_EQ(0, dxk_policy_get(t.ctx, &now));
	EXPECT_EQ(1024, now.ready_entries);
	dxt_down(&t);
}

/* DX-7: of two contexts none sees owners, ids, lanes, limits of the other. */
TEST(contexts_are_independent)
{
	struct dxk_result result;
	struct dxt_snapshot before, now;
	struct dxt a, b;
	uint32_t answer;

	ASSERT_EQ(0, dxt_open(&b));
	b.policy.ready_entries = 1;
	ASSERT_EQ(0, dxt_start(&b));
	ASSERT_EQ(0, dxt_open(&a));
	a.policy.sched_mode = TPOOL_MODE_CMLS;
	a.policy.lane_pct[1] = 50;
	a.policy.max_threads = 2;
	ASSERT_EQ(0, dxt_start(&a));
	EXPECT_NE(a.id, b.id);
	EXPECT_EQ(0, a.member_id);
	EXPECT_EQ(0, b.member_id);
	dxt_snapshot(&b, &before);

	ASSERT_EQ(0, dxt_workers_start(&a, 2));
	EXPECT_EQ(1, dxt_post1(a.member, 5, DXT_NOP, 0, PXR_REJOIN | PXR_LANE1, 0, NULL));
	EXPECT_EQ(1, dxt_post1(a.member, 5, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_TRUE(DXT_UNTIL(&a, dxt_num(&a, "pools/rejoin_use") == 2));
	dxt_snapshot(&b, &now);
	EXPECT_EQ(NULL, dxt_differs(&before, &now))
		TH_LOG("%s", dxt_differs(&before, &now));
	EXPECT_STREQ("0 1 2 3 4 500 600 700", ids(&b));

	/* the same owner is nobody over there */
	EXPECT_EQ(0, dxt_rejoin(b.member, 5, &result, 1, 1, 0, &answer));
	EXPECT_EQ(RJR_NONE_EXIST, answer);
	/* nor do the limits of one bind the other: no lanes here, one entry here */
	EXPECT_EQ(1, dxt_post1(b.member, 5, DXT_NOP, 0, PXR_LANE0, 0, NULL));
	EXPECT_EQ(-EAGAIN, dxt_post1(b.member, 5, DXT_NOP, 0, 0, 0, &answer));
	EXPECT_EQ(PXR_POOL_FULL, answer);
	EXPECT_EQ(-EPERM, dxt_post1(a.member, 5, DXT_NOP, 0, PXR_LANE0, 0, NULL));
	EXPECT_EQ(2, dxt_drain(&a, a.member, 5));
	/* the end of one is not the end of the other */
	dxt_down(&a);
	EXPECT_TRUE(DXT_SOON(!context_dir(a.id)));
	EXPECT_TRUE(state_is(&b, "running"));
	ASSERT_EQ(0, dxt_workers_start(&b, 1));
	EXPECT_TRUE(DXT_UNTIL(&b, dxt_num(&b, "stats/vanished") == 1));
	dxt_down(&b);
}

/*
 * DX-19: what is posted before any worker is there waits for it, in the order of
 * priority, and is never lost. DX-13: until then it is in the Ready Pool, of
 * which no more is used than there is; DX-14: then in the Rejoin Pool.
 */
TEST(posts_before_workers)
{
	struct dxk_result result[16];
	uint32_t reason, answer;
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.ready_entries = 8;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	for (i = 0; i < 8; i++) {
		struct dxk_post_entry e = dxt_entry(9, DXT_PARAM, (uint64_t)i, PXR_REJOIN);
		struct dxk_post post;

		e.prio = i;
		EXPECT_EQ(1, dxt_post(t.member, &e, 1, 0, &post));
		EXPECT_EQ(i + 1, dxt_num(&t, "pools/ready_use"));
	}
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-EAGAIN, dxt_post1(t.member, 9, DXT_NOP, 0, 0, 0, &reason));
		EXPECT_EQ(PXR_POOL_FULL, reason);
		EXPECT_EQ(8, dxt_num(&t, "pools/ready_use"));
	}
	EXPECT_EQ(8, dxt_num(&t, "pools/ready_size"));
	EXPECT_EQ(8, dxt_num(&t, "pools/ready_high_water"));
	EXPECT_EQ(0, dxt_num(&t, "pools/rejoin_use"));
	EXPECT_EQ(0, dxt_rejoin(t.member, 9, result, 16, 1, 0, &answer));
	EXPECT_EQ(RJR_NONE_READY, answer);

	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/rejoin_use") == 8));
	EXPECT_EQ(0, dxt_num(&t, "pools/ready_use"));
	EXPECT_EQ(8, dxt_rejoin(t.member, 9, result, 16, 8, 0, &answer));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(7 - i, result[i].status);
	EXPECT_EQ(0, dxt_num(&t, "pools/rejoin_use"));
	EXPECT_EQ(8, dxt_num(&t, "pools/rejoin_high_water"));
	EXPECT_EQ(8, dxt_num(&t, "pools/ready_high_water"));
	dxt_down(&t);
}

#define TRACEFS	"/sys/kernel/tracing/"

static int trace(const char *file, const char *format, ...)
{
	char path[128], text[128];
	va_list ap;
	int fd, rc;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	snprintf(path, sizeof(path), TRACEFS "%s", file);
	fd = open(path, O_WRONLY | O_APPEND);
	if (fd < 0)
		return -errno;
	rc = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

/*
 * DX-10: the pools are made in the order of the seed. DX-18: the Monitor runs
 * before the Scheduler is started, then comes the Dispatcher, then the crew.
 * Probes in the running kernel tell.
 */
TEST(start_order)
{
	static const char *const order[] = {
		"step=\"files\"", "step=\"thread pool\"", "step=\"ready pool\"", "step=\"rejoin pool\"",
		"step=\"log pool\"", "step=\"handle table\"", "step=\"monitor\"",
		"monitor_runs:", "step=\"scheduler\"", "step=\"dispatcher\"",
		"step=\"crew\"", "worker_runs:",
	};
	char text[8192], *at = text;
	struct dxt t;
	unsigned int i;
	ssize_t n;
	int fd;

	if (access(TRACEFS "kprobe_events", F_OK))
		mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	if (access(TRACEFS "kprobe_events", W_OK))
		SKIP(return, "this kernel has no kprobe events");
	ASSERT_EQ(0, trace("kprobe_events",
			   "p:dxk_test/step dxk:dxk_start_step step=+0($arg1):string\n"));
	ASSERT_EQ(0, trace("kprobe_events", "p:dxk_test/monitor_runs dxk:dxk_monitor_fn\n"));
	ASSERT_EQ(0, trace("kprobe_events", "p:dxk_test/worker_runs dxk:dxk_worker_fn\n"));
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = t.policy.kernel_threads = 1;
	ASSERT_EQ(0, dxk_policy_set(t.ctx, &t.policy, NULL));
	EXPECT_EQ(0, dxt_write(TRACEFS "trace", "\n"));
	EXPECT_EQ(0, trace("events/dxk_test/enable", "1"));
	EXPECT_EQ(0, dxk_ctx_start(t.ctx));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_member_is(&t, 1, "available")));
	EXPECT_EQ(0, trace("events/dxk_test/enable", "0"));
	dxt_down(&t);

	fd = open(TRACEFS "trace", O_RDONLY);
	for (size_t len = 0; fd >= 0 && len < sizeof(text) - 1; len += (size_t)n) {
		n = read(fd, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			break;
		text[len + (size_t)n] = 0;
	}
	close(fd);
	EXPECT_EQ(0, trace("kprobe_events", "-:dxk_test/step\n"));
	EXPECT_EQ(0, trace("kprobe_events", "-:dxk_test/monitor_runs\n"));
	EXPECT_EQ(0, trace("kprobe_events", "-:dxk_test/worker_runs\n"));
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		char *found = strstr(at, order[i]);

		EXPECT_NE(NULL, found) {
			TH_LOG("%s is not where it should be in:\n%s", order[i], text);
			break;
		}
		at = found;
	}
}

/* --- Start that fails -------------------------------------------------------- */

#define FAIL_FUNCTION	"/sys/kernel/debug/fail_function/"
#define STEPS	15

/*
 * DX-6: an error at every step in turn. The error is returned, no thread and no
 * entry below sysfs is left, those of an earlier Start stay, the context is as before,
 * and a Start without error works. What would leak, kmemleak tells when the modules are
 * unloaded.
 */
TEST(start_fails_at_each_step)
{
	unsigned int step, failed = 0, run;
	char text[16];
	struct dxt t;
	int rc;

	if (access(FAIL_FUNCTION "inject", W_OK))
		SKIP(return, "this kernel cannot inject errors into functions");
	ASSERT_EQ(0, dxt_write(FAIL_FUNCTION "inject", "dxk_start_step"));
	EXPECT_EQ(0, dxt_write(FAIL_FUNCTION "dxk_start_step/retval",
			       "0xfffffffffffffff4"));	/* -ENOMEM */
	EXPECT_EQ(0, dxt_write(FAIL_FUNCTION "verbose", "0"));
	EXPECT_EQ(0, dxt_write(FAIL_FUNCTION "probability", "100"));
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.kernel_threads = 2;
	ASSERT_EQ(0, dxk_policy_set(t.ctx, &t.policy, NULL));

	/* Twice: a context that is new, one that ran before. */
	for (run = 0; run < 2; run++) {
		const char *before = run ? "stopped" : "new";

		for (step = 1; step < 50; step++) {
			snprintf(text, sizeof(text), "%u", step);
			dxt_write(FAIL_FUNCTION "space", text);
			dxt_write(FAIL_FUNCTION "times", "1");
			rc = dxk_ctx_start(t.ctx);
			dxt_write(FAIL_FUNCTION "times", "0");
			if (!rc)
				break;
			failed++;
			EXPECT_EQ(-ENOMEM, rc);
			EXPECT_TRUE(kthreads_are(&t, 0)) TH_LOG("step %u", step);
			EXPECT_STREQ("", ids(&t)) TH_LOG("step %u", step);
			EXPECT_TRUE(state_is(&t, before)) TH_LOG("step %u", step);
			EXPECT_EQ(run, dxt_exists(&t, "pools"));
			EXPECT_EQ(run, dxt_exists(&t, "lanes"));
			EXPECT_EQ(run, dxt_exists(&t, "stats"));
			EXPECT_EQ(run ? 0 : -1, dxt_num(&t, "pools/thread_use"));
		}
		EXPECT_EQ(STEPS + 1, step);
		ASSERT_EQ(0, rc);
		EXPECT_STREQ("0 1 2 3 4 500 600 700", ids(&t));
		EXPECT_TRUE(kthreads_are(&t, 3 + 2));
		EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	}
	EXPECT_EQ(2 * STEPS, failed);
	dxt_write(FAIL_FUNCTION "inject", "");
	dxt_down(&t);
}

TEST_HARNESS_MAIN
