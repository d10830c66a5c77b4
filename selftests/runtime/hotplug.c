// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ground moves under a context at work: CPUs go and come, processes are frozen and
 * thawed, one by one or the whole system as for a suspend. No request is lost or
 * executed twice, work goes on afterwards, no call ends that no signal
 * ended, nobody cries stall (DX-111).
 *
 * DXK_ROUNDS=n: of each kind (2, on the debug kernel 1).
 */
#include "lib/dxt.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* --- freezing a process, or all -------------------------------------------- */

#define GROUP	"/sys/fs/cgroup/dxk-test"

static int freeze(pid_t pid)
{
	char text[16];
	int rc;

	snprintf(text, sizeof(text), "%d", (int)pid);
	rc = pid ? dxt_write(GROUP "/cgroup.procs", text) : 0;
	return rc ?: dxt_write(GROUP "/cgroup.freeze", pid ? "1" : "0");
}

static bool is_frozen(void)
{
	char line[64];
	FILE *f = fopen(GROUP "/cgroup.events", "re");
	bool frozen = false;

	while (f && !frozen && fgets(line, sizeof(line), f))
		frozen = !strcmp(line, "frozen 1\n");
	if (f)
		fclose(f);
	return frozen;
}

/* Back to the group of all, so that the next one can be frozen alone. */
static int thaw(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	return freeze(0) ?: dxt_write("/sys/fs/cgroup/cgroup.procs", text);
}

/*
 * All tasks are frozen and thawed as a suspend does it, with nothing in between but a
 * pause of some seconds. 0, a negative errno, or 1 where the kernel cannot.
 */
static int suspend(const char *seconds)
{
	char states[64] = "";
	FILE *f = fopen("/sys/power/state", "re");
	int rc;

	if (f && !fgets(states, sizeof(states), f))
		states[0] = 0;
	if (f)
		fclose(f);
	if (!strstr(states, "freeze") || access("/sys/power/pm_test", W_OK))
		return 1;
	rc = dxt_write("/sys/module/suspend/parameters/pm_test_delay", seconds);
	if (!rc)
		rc = dxt_write("/sys/power/pm_test", "freezer");
	if (!rc)
		rc = dxt_write("/sys/power/state", "freeze");
	dxt_write("/sys/power/pm_test", "none");
	return rc;
}

/* --- a context at work ----------------------------------------------------- */

#define POSTERS	2
#define WORKERS	2
#define BATCH	8
#define EACH	(1U << 20)	/* requests of a poster, more than it comes to */

static struct all {
	_Atomic bool stop;
	_Atomic unsigned int ended;
	struct {
		_Atomic unsigned long done;
		_Atomic int error;
	} poster[POSTERS];
	_Atomic unsigned char executed[POSTERS * EACH];
} *all;

static int exe_once(struct dxt_call *call)
{
	all->executed[call->work.param]++;
	return (int)(call->work.param % 128);
}

/* Posts and collects, all that it has posted; returns an error. */
static int post_batch(int member, uint64_t owner, uint64_t nop, unsigned int first)
{
	struct dxk_post_entry e[BATCH];
	bool seen[BATCH] = { false };
	struct dxk_result r[BATCH];
	unsigned int i, nr;
	uint32_t answer = 0;
	struct dxk_post p;
	int rc;

	for (i = 0; i < BATCH; i++)
		e[i] = dxt_entry(owner, i % 4 == 3 ? nop : DXT_FN(exe_once), first + i,
				 (i % 4 == 3 ? PXR_KERNEL : 0) | PXR_REJOIN |
				 PXR_WAITIF_BUSY);
	for (nr = 0; nr < BATCH; nr += (unsigned int)rc) {
		rc = dxt_post(member, e + nr, BATCH - nr, DXK_FOREVER, &p);
		if (rc <= 0)
			return rc ?: -EIO;
	}
	for (nr = 0; answer != RJR_NONE_EXIST; nr += (unsigned int)rc) {
		rc = dxt_rejoin(member, owner, r, BATCH, 1, DXK_FOREVER, &answer);
		if (rc < 0)
			return rc;
		for (i = 0; (int)i < rc; i++) {
			uint64_t at = r[i].param - first;

			if (at >= BATCH || seen[at] ||
			    r[i].status != (at % 4 == 3 ? 0 : (int)(r[i].param % 128)))
				return -EILSEQ;
			seen[at] = true;
		}
	}
	if (nr != BATCH)
		return -ENODATA;
	for (i = 0; i < BATCH; i++)
		if (all->executed[first + i] != (i % 4 != 3))
			return -EALREADY;
	return 0;
}

static void poster(const struct dxt *t, unsigned int me, uint64_t nop)
{
	int member = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL), rc = 0;
	unsigned int n;

	close(t->member);
	for (n = 0; !all->stop && !rc && n + BATCH <= EACH; n += BATCH) {
		rc = post_batch(member, 100 + me, nop, me * EACH + n);
		all->poster[me].done += BATCH;
	}
	all->poster[me].error = rc;
	all->ended++;
	_exit(0);
}

static unsigned long total(void)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < POSTERS; i++)
		sum += all->poster[i].done;
	return sum;
}

FIXTURE(load) {
	struct dxt t;
	uint64_t nop;
	pid_t workers;
	pid_t poster[POSTERS];
	unsigned int rounds;
};

/* Whatever the tests left so. */
static void restore(void)
{
	dxt_write("/sys/devices/system/cpu/cpu1/online", "1");
	dxt_write("/sys/fs/cgroup/dxk-test/cgroup.freeze", "0");
	dxt_write("/sys/power/pm_test", "none");
}

FIXTURE_SETUP(load)
{
	const char *rounds = getenv("DXK_ROUNDS");
	struct dxt *t = &self->t;
	unsigned int i;

	self->rounds = rounds ? (unsigned int)atoi(rounds) :
		       dxt_debug_kernel() ? 1 : 2;
	all = dxt_shared(sizeof(*all));
	ASSERT_EQ(0, dxt_open(t));
	t->policy.max_threads = WORKERS + 3;
	t->policy.kernel_threads = 2;
	t->policy.ready_entries = 12;	/* posters sleep */
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, dxk_executor_find(t->ctl, "nop", &self->nop));
	self->workers = dxt_worker_process(t, WORKERS);
	ASSERT_LT(0, self->workers);
	for (i = 0; i < POSTERS; i++) {
		self->poster[i] = dxt_fork();
		ASSERT_LE(0, self->poster[i]);
		if (!self->poster[i])
			poster(t, i, self->nop);
	}
	for (i = 0; i < POSTERS; i++)
		ASSERT_TRUE(DXT_UNTIL(t, all->poster[i].done || all->ended));
}

FIXTURE_TEARDOWN(load)
{
	struct dxt *t = &self->t;
	unsigned int i;

	restore();
	all->stop = true;
	EXPECT_TRUE(DXT_UNTIL(t, all->ended == POSTERS));
	for (i = 0; i < POSTERS; i++) {
		EXPECT_EQ(0, all->poster[i].error);
		EXPECT_LT(0, all->poster[i].done);
	}
	EXPECT_EQ(0, dxt_num(t, "stats/stalls"));
	EXPECT_EQ(0, dxt_num(t, "stats/owner_dead"));
	EXPECT_EQ(0, dxt_num(t, "owners"));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	EXPECT_EQ(0, dxt_reap(self->workers));
	for (i = 0; i < POSTERS; i++) {
		kill(self->poster[i], SIGKILL);
		dxt_reap(self->poster[i]);
	}
	dxt_down(t);
}

/* So many requests more, and none of them stands for longer than a stall. */
static bool goes_on(const struct dxt *t)
{
	unsigned long before = total();

	return DXT_UNTIL(t, total() >= before + 4 * BATCH * POSTERS || all->ended) &&
	       !all->ended;
}

/* --- CPUs ------------------------------------------------------------------------ */

/* All threads of the context onto one CPU; how many. */
static int pin_all(const struct dxt *t, pid_t workers, int cpu)
{
	char prefix[32], path[300], comm[32];
	DIR *dir = opendir("/proc");
	struct dirent *e;
	cpu_set_t set;
	int nr = 0;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	snprintf(prefix, sizeof(prefix), "dxk%u/", t->id);
	while (dir && (e = readdir(dir))) {
		pid_t pid = atoi(e->d_name);
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = pid > 0 ? fopen(path, "re") : NULL;
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f) &&
		    !strncmp(comm, prefix, strlen(prefix)))
			nr += !sched_setaffinity(pid, sizeof(set), &set);
		fclose(f);
	}
	if (dir)
		closedir(dir);
	snprintf(path, sizeof(path), "/proc/%d/task", (int)workers);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (atoi(e->d_name) > 0)
			nr += !sched_setaffinity(atoi(e->d_name), sizeof(set), &set);
	if (dir)
		closedir(dir);
	return nr;
}

/* Somebody who has nothing to do with dxk and turns on that CPU, too. */
struct witness {
	pthread_t thread;
	_Atomic bool stop;
	_Atomic unsigned int turns;
};

static void *look_on(void *arg)
{
	struct witness *w = arg;

	while (!w->stop) {
		dxt_sleep_ms(1);
		w->turns++;
	}
	return NULL;
}

static void pin(pthread_t thread, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(thread, sizeof(set), &set);
}

/*
 * As goes_on() where all are on one CPU: a hang is a thousand turns of the witness there
 * without progress. Of an emulated CPU that went and came the timer may stay away: then
 * nobody turns, which is negative.
 */
static int goes_on_there(const struct dxt *t, const struct witness *w)
{
	unsigned long end = total() + 4 * BATCH * POSTERS;
	unsigned int turns = w->turns, seen = turns;
	struct dxt_turns idle = { 0 };
	uint64_t progress = 0, now;

	while (total() < end && !all->ended) {
		now = dxt_progress(t);
		if (now != progress || w->turns != seen)
			idle.ran = 0;
		seen = w->turns;
		if (now != progress)
			turns = seen;
		progress = now;
		if (seen - turns > 1000)
			return 0;
		if (dxt_turn(&idle) > 10 * dxt_stall_ns())
			return -1;
	}
	return !all->ended;
}

/* The CPU that all threads of the context and all workers run on goes and comes. */
TEST_F(load, cpu)
{
	static const char online[] = "/sys/devices/system/cpu/cpu1/online";
	const struct dxt *t = &self->t;
	struct witness w = { .stop = false };
	unsigned int i;
	int rc = 0;

	if (access(online, W_OK))
		SKIP(return, "no CPU here can go");
	if (dxt_debug_kernel())
		SKIP(return, "the timer of the emulated CPU would not come back");
	/* this one keeps its timer */
	pin(pthread_self(), 0);
	ASSERT_EQ(0, pthread_create(&w.thread, NULL, look_on, &w));
	for (i = 0; i < self->rounds; i++) {
		EXPECT_LT(4, pin_all(t, self->workers, 1));
		pin(w.thread, 1);
		rc = goes_on_there(t, &w);
		EXPECT_NE(0, rc);
		ASSERT_EQ(0, dxt_write(online, "0"));
		EXPECT_TRUE(goes_on(t));
		ASSERT_EQ(0, dxt_write(online, "1"));
		if (rc < 0)
			break;
		EXPECT_TRUE(goes_on(t));
	}
	w.stop = true;
	pthread_join(w.thread, NULL);
	if (rc < 0)
		SKIP(return, "the timer of the emulated CPU did not come back");
}

/* --- cgroups ------------------------------------------------------------------ */

/* Nothing moves any more, for longer than what is a stall. */
static bool stands_still(void)
{
	unsigned long before;
	int i;

	for (i = 0; i < 50; i++) {
		before = total();
		dxt_tell("stands still?");
		dxt_sleep_ms(500);
		if (total() == before)
			return true;
	}
	return false;
}

/*
 * One after the other: the workers, so that posters sleep, and the posters, so that
 * workers do. While some are frozen the others go on as far as they can, and that is
 * no stall: who is frozen may be thawed.
 */
TEST_F(load, cgroup)
{
	const struct dxt *t = &self->t;
	unsigned int i;

	if (access("/sys/fs/cgroup/cgroup.procs", W_OK))
		SKIP(return, "no cgroup v2 here");
	ASSERT_TRUE(!mkdir(GROUP, 0755) || errno == EEXIST);
	if (access(GROUP "/cgroup.freeze", W_OK))
		SKIP(return, "no freezer here");
	for (i = 0; i < self->rounds; i++) {
		ASSERT_EQ(0, freeze(self->workers));
		EXPECT_TRUE(DXT_UNTIL(t, is_frozen()));
		EXPECT_TRUE(stands_still());
		ASSERT_EQ(0, thaw(self->workers));
		EXPECT_TRUE(goes_on(t));
		ASSERT_EQ(0, freeze(self->poster[0]));
		EXPECT_TRUE(DXT_UNTIL(t, is_frozen()));
		EXPECT_TRUE(goes_on(t));
		ASSERT_EQ(0, thaw(self->poster[0]));
		EXPECT_TRUE(goes_on(t));
	}
	rmdir(GROUP);
}

/* --- the whole system ----------------------------------------------------------- */

TEST_F(load, system)
{
	const struct dxt *t = &self->t;
	unsigned int i;
	int rc;

	for (i = 0; i < self->rounds; i++) {
		EXPECT_TRUE(goes_on(t));
		rc = suspend("1");
		if (rc == 1)
			SKIP(return, "this kernel has no suspend that can be tested");
		EXPECT_EQ(0, rc);
		EXPECT_TRUE(goes_on(t));
	}
}

/* --- what the frozen hold -------------------------------------------------- */

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

TEST_HARNESS_MAIN
