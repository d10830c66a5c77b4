// SPDX-License-Identifier: GPL-2.0-only
/* As hotplug.c: what the frozen hold, where they sleep, and the log. */
#include "hotplug_test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/*
 * Stop waits for who is frozen over a request and says so. One who is killed frozen is
 * dead.
 */
TEST(frozen_worker)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_running running;
	struct dxk_result r;
	unsigned int nr = 0, kill_it;
	struct dxt t;
	pid_t pid;

	if (access("/sys/fs/cgroup/cgroup.procs", W_OK))
		SKIP(return, "no cgroup v2 here");
	ASSERT_TRUE(!mkdir(GROUP, 0755) || errno == EEXIST);
	if (access(GROUP "/cgroup.freeze", W_OK))
		SKIP(return, "no freezer here");
	for (kill_it = 0; kill_it < 2; kill_it++) {
		ASSERT_EQ(0, dxt_up(&t, 0));
		pid = dxt_worker_process(&t, 1);
		ASSERT_LT(0, pid);
		ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0,
				       NULL));
		EXPECT_TRUE(DXT_UNTIL(&t, gate->entered));
		ASSERT_EQ(0, freeze(pid));
		EXPECT_TRUE(DXT_UNTIL(&t, is_frozen()));
		dxt_gate_open(gate);
		EXPECT_EQ(-ETIMEDOUT,
			  dxk_ctx_stop_report(t.ctx, DXK_STOP_CANCEL, 100 * DXT_MS,
					      &running, 1, &nr));
		EXPECT_EQ(1, nr);
		EXPECT_EQ(1, running.thread);
		if (kill_it)
			kill(pid, SIGKILL);
		else
			ASSERT_EQ(0, thaw(pid));
		EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, dxt_late_ns()));
		EXPECT_EQ(1, dxt_rejoin(t.member, 1, &r, 1, 1, 0, NULL));
		EXPECT_EQ(kill_it ? -EOWNERDEAD : 0, r.status);
		EXPECT_EQ(kill_it ? SIGKILL : 0, dxt_reap(pid));
		freeze(0);
		dxt_down(&t);
		dxt_gate_close(gate);
		gate->entered = 0;
	}
	rmdir(GROUP);
	dxt_gate_free(gate);
}

#define TRACE	"/sys/kernel/tracing/"

/* The kernel's own words on a suspend; 0 or a negative errno. */
static int watch_suspend(const char *on)
{
	int rc = dxt_write(TRACE "trace_clock", *on == '1' ? "mono" : "local");

	rc = rc ?: dxt_write(TRACE "events/power/suspend_resume/enable", on);
	return rc ?: dxt_write(TRACE "trace", "");
}

/* From when to when was all frozen? False if that is not told. */
static bool was_frozen(uint64_t *from, uint64_t *to)
{
	FILE *f = fopen(TRACE "trace", "re");
	char line[256], *at;

	*from = *to = 0;
	while (f && fgets(line, sizeof(line), f)) {
		uint64_t *which = strstr(line, "freeze_processes[0] end") ? from :
				  strstr(line, "thaw_processes[0] begin") ? to : NULL;

		at = strstr(line, ": suspend_resume");
		if (!which || !at)
			continue;
		while (at > line && at[-1] != ' ')
			at--;
		*which = strtod(at, NULL) * DXT_SEC;
	}
	if (f)
		fclose(f);
	return *from && *from < *to;
}

/* When the file was written last, as a time of CLOCK_MONOTONIC. */
static uint64_t written(int fd)
{
	struct timespec real;
	struct stat st;

	fstat(fd, &st);
	clock_gettime(CLOCK_REALTIME, &real);
	return dxt_now() - (uint64_t)((real.tv_sec - st.st_mtim.tv_sec) * DXT_SEC +
				      real.tv_nsec - st.st_mtim.tv_nsec);
}

/* When the report of an overdue request was made, or 0. */
static uint64_t reported(int fd)
{
	unsigned long long s, ns;
	char text[4096], *at;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	at = strstr(text, " 500 overdue");
	while (at && at > text && at[-1] != '\n')
		at--;
	return at && sscanf(at, "%*u %llu.%llu", &s, &ns) == 2 ? s * DXT_SEC + ns : 0;
}

/*
 * No file is written while the system is frozen: what a hibernation has saved must not
 * change any more. What the Monitor says meanwhile is in the file afterwards.
 */
TEST(log_file_of_a_frozen_system)
{
	uint64_t at = 0, from, to, sleep;
	struct dxt t;
	int fd, i, rc;

	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, dxt_open(&t));
		t.policy.max_threads = t.policy.kernel_threads = 1;
		t.policy.monitor_interval_ms = 20;
		t.policy.report_age_ms = 1000;
		fd = open("/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, dxk_log_file(t.ctx, fd));
		ASSERT_EQ(0, dxt_start(&t));
		ASSERT_EQ(0, dxk_executor_find(t.ctl, "sleep", &sleep));
		ASSERT_EQ(1, dxt_post1(t.member, 1, sleep, 60 * 1000000, PXR_KERNEL, 0,
				       NULL));
		ASSERT_EQ(0, watch_suspend("1"));
		rc = suspend("3");
		EXPECT_TRUE(rc || DXT_UNTIL(&t, (at = reported(fd))));
		if (!rc) {
			ASSERT_TRUE(was_frozen(&from, &to));
			/* reported meanwhile, or was the machine too slow? */
			if (at > from && at < to) {
				/* a file's time is that of the last tick of the clock */
				EXPECT_LT(to, written(fd) + 50 * DXT_MS);
				i = 4;
			}
		}
		EXPECT_EQ(0, watch_suspend("0"));
		dxt_down(&t);
		close(fd);
		if (rc == 1)
			SKIP(return, "this kernel has no suspend that can be tested");
		EXPECT_EQ(0, rc);
	}
	if (i == 4)
		TH_LOG("the machine was too slow to see it");
}

/* --- calls that sleep ------------------------------------------------------------ */

enum call {
	NEXT, REJOIN, POST, SHOULD_STOP, CREW_WAIT, LOG_READ, COMMAND_NEXT, COMMAND_SEND,
	CALLS
};

struct sleepers {
	_Atomic int tid[CALLS];
	_Atomic int rc[CALLS];		/* 1 while it sleeps */
	_Atomic int interrupted;	/* COMMAND_SEND */
	_Atomic bool leave;
};

struct sleeper {
	struct sleepers *all;
	const struct dxt *a, *b;	/* with a worker; without one, and full */
	enum call call;
	pthread_t thread;
};

static int call(const struct sleeper *s, int member)
{
	struct dxk_post_entry e = dxt_entry(1, 0, 0, PXR_WAITIF_BUSY);
	char text[DXK_COMMAND_MAX];
	struct dxk_log_record rec;
	struct dxk_result r;
	struct dxk_work w;
	size_t len = sizeof(text);
	int status, rc;

	switch (s->call) {
	case NEXT:
		return dxk_next(member, NULL, 0, NULL, &w, 1, NULL, 0, -1);
	case REJOIN:
		return dxk_rejoin(member, 1, &r, 1, 1, NULL, 0, -1, NULL);
	case POST:
		return dxk_post(member, &e, 1, -1, NULL);
	case SHOULD_STOP:
		return dxk_should_stop(member, -1) == 1 ? -ESHUTDOWN : -EIO;
	case CREW_WAIT:
		return dxk_crew_wait(s->a->ctx, -1, NULL, NULL);
	case LOG_READ:
		do
			rc = dxk_log_read(s->a->ctx, &rec, 1, -1);
		while (rc > 0);
		return rc;
	case COMMAND_NEXT:
		do
			rc = dxk_command_next(member, 0, NULL, 0, text, &len, -1);
		while (rc == DXK_COMMAND_TICK);
		return rc;
	default:
		/* the one that is not begun again by itself: it would be sent twice */
		while ((rc = dxk_command_send(s->b->ctx, "x", 1, text, len, &status,
					      -1)) == -EINTR)
			s->all->interrupted++;
		return rc ?: status;
	}
}

static void *sleep_in(void *arg)
{
	struct sleeper *s = arg;
	const struct dxt *t = s->call == REJOIN || s->call == POST ? s->b : s->a;
	int member = dxk_member_create(t->ctx, s->call == NEXT ? DXK_MEMBER_WORKER :
				       DXK_MEMBER_CLIENT, NULL);

	if (s->call == COMMAND_NEXT)
		dxk_command_attach(member, 1);
	s->all->tid[s->call] = (int)syscall(SYS_gettid);
	s->all->rc[s->call] = call(s, member);
	close(member);
	return NULL;
}

/* The process whose threads sleep: 0 when all slept until Stop. */
static int sleep_in_all(struct sleepers *all)
{
	struct sleeper s[CALLS];
	struct dxt a, b;
	int i;

	if (dxt_open(&a) || dxt_open(&b))
		return 1;
	a.policy.max_threads = 1;	/* no use for a second one */
	b.policy.ready_entries = 1;
	if (dxt_start(&a) || dxt_start(&b))
		return 2;
	if (dxt_post1(b.member, 1, 0, 0, PXR_REJOIN, 0, NULL) != 1 ||
	    dxk_command_attach(b.member, 1))
		return 3;
	for (i = 0; i < CALLS; i++) {
		all->rc[i] = 1;
		s[i] = (struct sleeper){ all, &a, &b, (enum call)i, 0 };
		if (pthread_create(&s[i].thread, NULL, sleep_in, &s[i]))
			return 4;
		while (!all->tid[i])
			dxt_sleep_ms(1);
	}
	while (!all->leave)
		dxt_sleep_ms(1);
	if (dxk_ctx_stop(a.ctx, DXK_STOP_CANCEL, -1) ||
	    dxk_ctx_stop(b.ctx, DXK_STOP_CANCEL, -1))
		return 5;
	for (i = 0; i < CALLS; i++)
		pthread_join(s[i].thread, NULL);
	/* LOG_READ got the last words, REJOIN the cancelled request */
	for (i = 0; i < CALLS; i++)
		if (all->rc[i] != -ESHUTDOWN && !(i == REJOIN && all->rc[i] == 1))
			return 10 + i;
	dxt_close(&a);
	dxt_close(&b);
	return 0;
}

/* All its threads sleep, other than the first. */
static bool are_asleep(pid_t pid, const struct sleepers *all)
{
	char path[64], line[256], *end;
	int i;

	for (i = 0; i < CALLS; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid,
			 all->tid[i]);
		f = all->tid[i] ? fopen(path, "re") : NULL;
		if (!f)
			return false;
		end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
		fclose(f);
		if (!end || end[2] != 'S')
			return false;
	}
	return true;
}

static bool fall_asleep(pid_t pid, const struct sleepers *all)
{
	struct dxt_turns turns = { 0 };
	int seen = 0;

	/* more than once: one may sleep on its way */
	do {
		seen = are_asleep(pid, all) ? seen + 1 : 0;
		dxt_sleep_ms(5);
	} while (seen < 5 && dxt_turn(&turns) < 10 * dxt_stall_ns());
	return seen == 5;
}

/* Stopped, frozen, suspended is not interrupted: whoever slept sleeps on afterwards. */
TEST(calls_of_the_frozen)
{
	struct sleepers *all = dxt_shared(sizeof(*all));
	pid_t pid = dxt_fork();
	int i, status;

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(sleep_in_all(all));
	EXPECT_TRUE(fall_asleep(pid, all));
	kill(pid, SIGSTOP);
	EXPECT_EQ(pid, waitpid(pid, &status, WUNTRACED));
	kill(pid, SIGCONT);
	EXPECT_TRUE(fall_asleep(pid, all));
	EXPECT_EQ(1, all->interrupted);
	if ((!mkdir(GROUP, 0755) || errno == EEXIST) &&
	    !access(GROUP "/cgroup.freeze", W_OK)) {
		ASSERT_EQ(0, freeze(pid));
		EXPECT_TRUE(DXT_SOON(is_frozen()));
		ASSERT_EQ(0, thaw(pid));
		rmdir(GROUP);
		EXPECT_TRUE(fall_asleep(pid, all));
	}
	EXPECT_LE(0, suspend("0"));
	EXPECT_TRUE(fall_asleep(pid, all));
	for (i = 0; i < CALLS; i++)
		EXPECT_EQ(1, all->rc[i]) TH_LOG("call %d", i);
	all->leave = true;
	EXPECT_EQ(0, dxt_reap(pid));
}
