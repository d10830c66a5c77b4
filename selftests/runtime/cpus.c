// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where kernel threads run: policy/cpus, the cgroups of who starts the context, and what
 * becomes of both when CPUs and cpusets change (FO-1).
 */
#define _GNU_SOURCE
#include "lib/dxt.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define HOMES	2
#define ONLINE	"/sys/devices/system/cpu/cpu1/online"

static cpu_set_t one(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return set;
}

/* CPU 0 and CPU 1, or why there are no such two. */
static const char *two_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) || !CPU_ISSET(0, &set) || !CPU_ISSET(1, &set))
		return "CPUs 0 and 1 are not both here";
	return NULL;
}

static bool text_is(const struct dxt *t, const char *want)
{
	char text[64];

	return dxt_text(t, text, sizeof(text), "policy/cpus") && !strcmp(text, want);
}

static bool name_is(pid_t pid, const char *name)
{
	char path[64], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	f = fopen(path, "re");
	if (f && !fgets(comm, sizeof(comm), f))
		*comm = '\0';
	if (f)
		fclose(f);
	comm[strcspn(comm, "\n")] = '\0';
	return !strcmp(comm, name);
}

/* The kernel worker of an id, or 0. */
static pid_t kernel_worker(const struct dxt *t, unsigned int id)
{
	int pid[16], nr = dxt_kthread_pids(t, pid, 16);
	char name[32];

	snprintf(name, sizeof(name), "dxk%u/%u", t->id, id);
	while (nr-- > 0)
		if (nr < 16 && name_is(pid[nr], name))
			return pid[nr];
	return 0;
}

/* May the worker run on CPU 0, and on CPU 1, and does it know others of the first eight? */
static unsigned int runs_on(const struct dxt *t, unsigned int id)
{
	unsigned int cpu, mask = 0;
	cpu_set_t set;

	if (sched_getaffinity(kernel_worker(t, id), sizeof(set), &set))
		return 0;
	for (cpu = 0; cpu < 8; cpu++)
		mask |= (unsigned int)!!CPU_ISSET(cpu, &set) << cpu;
	return mask;
}

/* Of all kernel threads: bits of CPUs, or 0 if they differ. */
static unsigned int all_run_on(const struct dxt *t)
{
	int pid[16], nr = dxt_kthread_pids(t, pid, 16), i;
	unsigned int mask = 0, cpu;
	cpu_set_t set, first;

	if (nr < 1 || nr > 16)
		return 0;
	for (i = 0; i < nr; i++) {
		if (sched_getaffinity(pid[i], sizeof(set), &set))
			return 0;
		if (!i)
			first = set;
		if (!CPU_EQUAL(&set, &first))
			return 0;
	}
	for (cpu = 0; cpu < 8; cpu++)
		mask |= (unsigned int)!!CPU_ISSET(cpu, &set) << cpu;
	return mask;
}

/* A context with kernel workers only. */
static int opens(struct dxt *t, unsigned int workers, unsigned int homes)
{
	int rc = dxt_open(t);

	t->policy.max_threads = t->policy.kernel_threads = workers;
	t->policy.homes = homes;
	t->policy.max_waiting = 64;
	t->policy.monitor_interval_ms = 50;
	return rc;
}

/* --- policy/cpus --------------------------------------------------------------------- */

/* At first it is where the creator may run, whoever starts it from wherever. */
TEST(of_the_creator)
{
	cpu_set_t all, is = one(1);
	struct dxt t;

	if (two_cpus())
		SKIP(return, "%s", two_cpus());
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(is), &is));
	ASSERT_EQ(0, opens(&t, 2, 0));
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(all), &all));
	EXPECT_TRUE(text_is(&t, "1"));
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(2, all_run_on(&t));
	dxt_down(&t);
}

/* Set before Start it is for all threads. */
TEST(set_before_start)
{
	struct dxt t;

	if (two_cpus())
		SKIP(return, "%s", two_cpus());
	ASSERT_EQ(0, opens(&t, 2, 0));
	EXPECT_EQ(0, dxt_store(&t, "policy/cpus", "0\n"));
	EXPECT_TRUE(text_is(&t, "0"));
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(1, all_run_on(&t));
	dxt_down(&t);
}

/* Workers move while the context runs, idle as they are; those of homes within theirs (FO-1). */
TEST(set_while_it_runs)
{
	unsigned int home;
	struct dxt t;

	if (two_cpus())
		SKIP(return, "%s", two_cpus());
	for (home = 0; home <= HOMES; home += HOMES) {
		ASSERT_EQ(0, opens(&t, 2, home));
		ASSERT_EQ(0, dxt_store(&t, "policy/cpus", "0-1"));
		ASSERT_EQ(0, dxt_start(&t));
		EXPECT_EQ(home ? 1 : 3, runs_on(&t, 1));
		EXPECT_EQ(home ? 2 : 3, runs_on(&t, 2));
		EXPECT_EQ(0, dxt_store(&t, "policy/cpus", "1"));
		EXPECT_TRUE(DXT_UNTIL(&t, runs_on(&t, 1) == 2 && runs_on(&t, 2) == 2));
		EXPECT_EQ(0, dxt_store(&t, "policy/cpus", "1,0"));
		EXPECT_TRUE(text_is(&t, "0-1"));
		EXPECT_TRUE(DXT_UNTIL(&t, runs_on(&t, 1) == (home ? 1 : 3)));
		EXPECT_TRUE(DXT_UNTIL(&t, runs_on(&t, 2) == (home ? 2 : 3)));
		dxt_down(&t);
	}
}

/* What is wrong is refused, and nothing has changed. */
TEST(bad_input)
{
	static const struct {
		const char *text;
		int err;
	} bad[] = {
		{ "\n", EINVAL }, { " ", EINVAL }, { "x", EINVAL }, { "0-", EINVAL },
		{ "-1", EINVAL }, { "1-0", EINVAL }, { "0;1", EINVAL }, { "0\n1\n", EINVAL },
		{ "0,,x", EINVAL }, { "4000", ENODEV }, { "0,4000", ENODEV },
		{ "99999999999999", ENODEV },
	};
	unsigned int i;
	pid_t child;
	struct dxt t;

	ASSERT_EQ(0, opens(&t, 2, 0));
	ASSERT_EQ(0, dxt_store(&t, "policy/cpus", "0"));
	ASSERT_EQ(0, dxt_start(&t));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-bad[i].err, dxt_store(&t, "policy/cpus", bad[i].text))
			TH_LOG("'%s'", bad[i].text);
		EXPECT_TRUE(text_is(&t, "0"));
	}
	/* nor does anybody do it but the owner */
	child = dxt_fork();
	if (!child)
		_exit(setgid(65534) || setuid(65534) ? 1 :
		      -dxt_store(&t, "policy/cpus", "0") != EACCES);
	EXPECT_EQ(0, dxt_reap(child));
	EXPECT_EQ(1, all_run_on(&t));
	dxt_down(&t);
}

/* --- cgroups ------------------------------------------------------------------------ */

#define ROOT	"/sys/fs/cgroup"
#define GROUP	ROOT "/dxk-cpus"

static int enter(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	return dxt_write(path, "0");
}

/* Return: why there is none. */
static const char *group_up(void)
{
	if (two_cpus())
		return two_cpus();
	if (access(ROOT "/cgroup.procs", W_OK))
		return "no cgroup v2 here";
	if (dxt_write(ROOT "/cgroup.subtree_control", "+cpuset"))
		return "no cpusets";
	/* not on each kernel */
	dxt_write(ROOT "/cgroup.subtree_control", "+cpu");
	if (mkdir(GROUP, 0755) && errno != EEXIST)
		return "no cgroup can be made";
	return NULL;
}

/* All kernel threads of the context are in the group; how many. */
static int all_in(const struct dxt *t, const char *group)
{
	char path[64], line[128], want[64];
	int pid[16], nr = dxt_kthread_pids(t, pid, 16), i;

	snprintf(want, sizeof(want), "0::%s\n", group);
	for (i = 0; i < nr && i < 16; i++) {
		FILE *f;
		bool is;

		snprintf(path, sizeof(path), "/proc/%d/cgroup", pid[i]);
		f = fopen(path, "re");
		is = f && fgets(line, sizeof(line), f) && !strcmp(line, want);
		if (f)
			fclose(f);
		if (!is)
			return -pid[i];
	}
	return nr;
}

FIXTURE(group) {
	struct dxt t;
	bool up;
};

FIXTURE_SETUP(group)
{
	const char *why = group_up();

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, dxt_write(GROUP "/cpuset.cpus", "1"));
	if (!access(GROUP "/cpu.max", W_OK))
		ASSERT_EQ(0, dxt_write(GROUP "/cpu.max", "50000 100000"));
	ASSERT_EQ(0, enter(GROUP));
	ASSERT_EQ(0, opens(&self->t, 2, 0));
	self->up = true;
}

FIXTURE_TEARDOWN(group)
{
	if (self->up)
		dxt_down(&self->t);
	enter(ROOT);
	/* none of its threads is left there */
	EXPECT_TRUE(!self->up || DXT_SOON(!rmdir(GROUP)));
	dxt_write(ROOT "/cgroup.subtree_control", "-cpuset");
}

/* Kernel threads are where who starts is, later ones as well, and their cpuset holds. */
TEST_F(group, of_who_starts)
{
	struct dxt *t = &self->t;
	long turns;

	ASSERT_EQ(0, dxt_start(t));
	EXPECT_EQ(5, all_in(t, "/dxk-cpus"));
	EXPECT_EQ(2, all_run_on(t));
	/* the policy does not lead out of it */
	turns = dxt_sleeps(t, "monitor");
	EXPECT_EQ(0, dxt_store(t, "policy/cpus", "0"));
	EXPECT_TRUE(DXT_UNTIL(t, dxt_sleeps(t, "monitor") > turns));
	EXPECT_EQ(2, runs_on(t, 1));
	turns = dxt_sleeps(t, "monitor");
	EXPECT_EQ(0, dxt_store(t, "policy/cpus", "0-1"));
	EXPECT_TRUE(DXT_UNTIL(t, dxt_sleeps(t, "monitor") > turns));
	EXPECT_EQ(2, runs_on(t, 1));
	/* who leaves it leaves them there, and there are those that come */
	EXPECT_EQ(0, enter(ROOT));
	EXPECT_EQ(5, all_in(t, "/dxk-cpus"));
	EXPECT_EQ(0, dxt_store(t, "policy/max_threads", "3"));
	EXPECT_EQ(0, dxt_store(t, "policy/kernel_threads", "3"));
	EXPECT_TRUE(DXT_UNTIL(t, kernel_worker(t, 3) && all_in(t, "/dxk-cpus") == 6));
	EXPECT_TRUE(DXT_UNTIL(t, runs_on(t, 3) == 2));
}

/* A cpuset that changes moves them, and takes no home from them for long. */
TEST_F(group, cpuset_changes)
{
	struct dxk_result r;
	uint64_t nop;
	struct dxt *t = &self->t;
	int i;

	t->policy.homes = HOMES;
	/* so that a look comes at each interval */
	t->policy.sample_interval_ms = 1000;
	ASSERT_EQ(0, dxt_write(GROUP "/cpuset.cpus", "0-1"));
	ASSERT_EQ(0, dxt_store(t, "policy/cpus", "0-1"));
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, dxk_executor_find(t->ctl, "nop", &nop));
	EXPECT_EQ(1, runs_on(t, 1));
	EXPECT_EQ(2, runs_on(t, 2));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, dxt_write(GROUP "/cpuset.cpus", "1"));
		EXPECT_TRUE(DXT_UNTIL(t, runs_on(t, 1) == 2 && runs_on(t, 2) == 2));
		ASSERT_EQ(1, dxt_post1(t->member, 1, nop, 0, PXR_KERNEL | PXR_REJOIN, 0, NULL));
		EXPECT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, dxt_late(), NULL));
		ASSERT_EQ(0, dxt_write(GROUP "/cpuset.cpus", "0-1"));
		EXPECT_TRUE(DXT_UNTIL(t, runs_on(t, 1) == 1 && runs_on(t, 2) == 2));
	}
}

/* The next run is where its starter is; policy/cpus stays. */
TEST_F(group, started_elsewhere)
{
	struct dxt *t = &self->t;

	ASSERT_EQ(0, dxt_start(t));
	EXPECT_EQ(5, all_in(t, "/dxk-cpus"));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	ASSERT_EQ(0, enter(ROOT));
	ASSERT_EQ(0, dxk_ctx_start(t->ctx));
	EXPECT_EQ(5, all_in(t, "/"));
	EXPECT_EQ(2, all_run_on(t));
}

#define MANY	30

/* A process in the group that uses all the time the group gets. */
static pid_t burner(void)
{
	pid_t pid = dxt_fork();

	if (!pid) {
		if (enter(GROUP))
			_exit(1);
		for (;;)
			;
	}
	return pid;
}

static void quota(const char *max)
{
	dxt_write(GROUP "/cpu.max", max);
}

static bool quota_was_used_up(void)
{
	FILE *f = fopen(GROUP "/cpu.stat", "re");
	unsigned long nr = 0;
	char line[64];

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "nr_throttled %lu", &nr);
	if (f)
		fclose(f);
	return nr;
}

/*
 * dispatch=thread: where the group of thread 700 leaves it a ms of CPU time in a second, the calls
 * and the closes of others go on without it, and so does who is killed and has many members. They
 * wait for it in some calls, not in each.
 */
TEST_F(group, without_time)
{
	_Atomic int *joined = dxt_shared(sizeof(*joined));
	struct dxt *t = &self->t;
	struct dxk_result r;
	uint64_t begun;
	pid_t burns, caller;
	int i, member;

	if (access(GROUP "/cpu.max", W_OK))
		SKIP(return, "no quotas of CPU time");
	t->policy.dispatch = DXK_DISPATCH_THREAD;
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, enter(ROOT));
	burns = burner();
	quota("1000 1000000");
	caller = dxt_fork();
	while (!caller) {
		if (*joined < MANY)
			*joined += dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL) >= 0;
		else
			dxt_rejoin(t->member, 1, &r, 1, 1, 0, NULL);
	}
	EXPECT_TRUE(DXT_SOON(quota_was_used_up()));
	EXPECT_TRUE(DXT_SOON(*joined == MANY));
	begun = dxt_now();
	for (i = 0; i < MANY; i++) {
		EXPECT_EQ(0, dxt_rejoin(t->member, 1, &r, 1, 1, 0, NULL));
		member = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL);
		EXPECT_LE(0, member);
		EXPECT_EQ(0, close(member));
	}
	EXPECT_GT(begun + 4 * DXT_SEC, dxt_now());
	begun = dxt_now();
	kill(caller, SIGKILL);
	dxt_reap(caller);
	EXPECT_GT(begun + DXT_SEC, dxt_now());
	quota("max 100000");
	kill(burns, SIGKILL);
	dxt_reap(burns);
	munmap((void *)joined, sizeof(*joined));
}

/* --- under load ---------------------------------------------------------------------- */

#define BATCH	8

/* Posts for both homes, and collects, without end. */
struct load {
	struct dxt *t;
	pthread_t thread;
	uint32_t attrs;
	uint64_t executor;
	_Atomic bool stop;
	_Atomic int error;
	_Atomic unsigned long done;
};

static int load_batch(struct load *l, int member)
{
	struct dxk_post_more e[BATCH];
	struct dxk_result r[BATCH];
	unsigned int i;
	int rc, nr;

	for (i = 0; i < BATCH; i++)
		e[i] = (struct dxk_post_more){
			.post = dxt_entry(1, l->executor, i, PXR_REJOIN | PXR_HOME | l->attrs),
			.home = 1 + i % HOMES,
		};
	rc = dxk_post_more(member, e, BATCH, -1, NULL);
	if (rc != BATCH)
		return rc < 0 ? rc : -EIO;
	for (nr = 0; nr < BATCH; nr += rc) {
		rc = dxt_rejoin(member, 1, r, BATCH, 1, DXK_FOREVER, NULL);
		if (rc <= 0)
			return rc ?: -EIO;
	}
	l->done += BATCH;
	return 0;
}

static void *load(void *arg)
{
	struct load *l = arg;
	int member = dxk_member_create(l->t->ctx, DXK_MEMBER_CLIENT, NULL);

	while (!l->stop && !l->error)
		l->error = load_batch(l, member);
	close(member);
	return NULL;
}

static bool goes_on(struct load *l)
{
	unsigned long end = l->done + 4 * BATCH;

	return DXT_UNTIL(l->t, l->done >= end || l->error) && !l->error;
}

/*
 * FO-1: workers of a home whose CPU goes work elsewhere, and are back on it when it is. Requests
 * end all the time, so that a bound on time without progress would be none.
 */
TEST(cpu_goes_and_comes)
{
	cpu_set_t first = one(0);
	struct load l = { .attrs = PXR_KERNEL };
	struct dxt t;
	int i;

	if (two_cpus())
		SKIP(return, "%s", two_cpus());
	if (access(ONLINE, W_OK))
		SKIP(return, "no CPU here can go");
	if (dxt_debug_kernel())
		SKIP(return, "the timer of the emulated CPU would not come back");
	ASSERT_EQ(0, opens(&t, 2, HOMES));
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxk_executor_find(t.ctl, "nop", &l.executor));
	/* this one keeps its timer */
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(first), &first));
	l.t = &t;
	ASSERT_EQ(0, pthread_create(&l.thread, NULL, load, &l));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(1, runs_on(&t, 1));
		EXPECT_EQ(2, runs_on(&t, 2));
		EXPECT_TRUE(goes_on(&l));
		ASSERT_EQ(0, dxt_write(ONLINE, "0"));
		EXPECT_TRUE(goes_on(&l));
		EXPECT_TRUE(text_is(&t, "0"));
		EXPECT_EQ(-ENODEV, dxt_store(&t, "policy/cpus", "1"));
		EXPECT_TRUE(DXT_SOON(runs_on(&t, 2) & 1));
		ASSERT_EQ(0, dxt_write(ONLINE, "1"));
		EXPECT_TRUE(text_is(&t, "0-1"));
		EXPECT_TRUE(goes_on(&l));
		EXPECT_TRUE(DXT_SOON(runs_on(&t, 2) == 2));
	}
	l.stop = true;
	pthread_join(l.thread, NULL);
	EXPECT_EQ(0, l.error);
	EXPECT_EQ(0, dxt_num(&t, "stats/stalls"));
	EXPECT_EQ(0, dxt_num(&t, "stats/homeless"));
	EXPECT_EQ(0, dxt_num(&t, "stats/missed_wakeups"));
	dxt_down(&t);
}

/* Idle, and with nothing to watch, they are told as well: the Monitor does not tick then. */
TEST(cpu_comes_to_the_idle)
{
	struct dxt t;

	if (two_cpus())
		SKIP(return, "%s", two_cpus());
	if (access(ONLINE, W_OK))
		SKIP(return, "no CPU here can go");
	if (dxt_debug_kernel())
		SKIP(return, "the timer of the emulated CPU would not come back");
	ASSERT_EQ(0, dxt_write(ONLINE, "0"));
	ASSERT_EQ(0, opens(&t, 2, HOMES));
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(1, runs_on(&t, 2));
	ASSERT_EQ(0, dxt_write(ONLINE, "1"));
	EXPECT_TRUE(DXT_UNTIL(&t, runs_on(&t, 2) == 2));
	EXPECT_EQ(1, runs_on(&t, 1));
	dxt_down(&t);
}

/* Each thread of a process on one CPU, so that its cpuset takes that away. */
static int pin_process(pid_t pid, int cpu)
{
	char path[64];
	DIR *dir;
	struct dirent *e;
	cpu_set_t set = one(cpu);
	int nr = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		if (atoi(e->d_name) > 0)
			nr += !sched_setaffinity(atoi(e->d_name), sizeof(set), &set);
	if (dir)
		closedir(dir);
	return nr;
}

/* Workers of processes, too, go on whatever CPUs their cpuset has. */
TEST_F(group, user_workers)
{
	struct load l = { .t = &self->t, .executor = DXT_NOP };
	struct dxt *t = &self->t;
	pid_t workers;
	int i;

	t->policy.max_threads = 4;
	t->policy.kernel_threads = 2;
	ASSERT_EQ(0, dxt_write(GROUP "/cpuset.cpus", "0-1"));
	t->policy.homes = HOMES;
	ASSERT_EQ(0, dxt_start(t));
	workers = dxt_worker_process(t, 2);
	ASSERT_LT(0, workers);
	ASSERT_EQ(0, pthread_create(&l.thread, NULL, load, &l));
	for (i = 0; i < 4; i++) {
		EXPECT_LE(2, pin_process(workers, i % 2));
		EXPECT_TRUE(goes_on(&l));
		ASSERT_EQ(0, dxt_write(GROUP "/cpuset.cpus", i % 2 ? "0" : "1"));
		EXPECT_TRUE(goes_on(&l));
		ASSERT_EQ(0, dxt_write(GROUP "/cpuset.cpus", "0-1"));
		EXPECT_TRUE(goes_on(&l));
	}
	l.stop = true;
	pthread_join(l.thread, NULL);
	EXPECT_EQ(0, l.error);
	EXPECT_EQ(0, dxt_num(t, "stats/stalls"));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	EXPECT_EQ(0, dxt_reap(workers));
}

TEST_HARNESS_MAIN
