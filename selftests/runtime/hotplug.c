// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ground moves under a context at work: CPUs go and come, processes are frozen and
 * thawed, one by one or the whole system as for a suspend. No request is lost or
 * executed twice, work goes on afterwards, no call ends that no signal
 * ended, nobody cries stall (DX-111).
 *
 * DXK_ROUNDS=n: of each kind (2, on the debug kernel 1).
 */
#include "hotplug_test.h"

#include <dirent.h>
#include <sched.h>
#include <sys/stat.h>

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

TEST_HARNESS_MAIN
