// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policy autotune: the Monitor finds how many workers do most, on workloads of which that is
 * known. What they do takes time, not a CPU: so it is what a machine of any size can do.
 */
#include "lib/dxt.h"

#include <dx.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PLACES		8
#define KEPT		30	/* so many intervals it stays with what it has found */
/*
 * Within so many it has done so. tests/tune_test.c shows that 20 suffice to find it; here a
 * guest that is not run for a while may lead it astray.
 */
#define INTERVALS	150
#define INTERVAL_MS	200
#define WORK_US		4000	/* 32 of them are done in an interval */

/**
 * struct load - requests that contend for one resource
 * @best: so many at once it serves without delay; more hold each other up
 * @active: how many there are at once
 */
static struct load {
	unsigned int best;
	atomic_uint active;
} load;

static int work(Runnable *self, void *request)
{
	unsigned int n = atomic_fetch_add(&load.active, 1) + 1;

	(void)self;
	(void)request;
	usleep(n <= load.best ? WORK_US : WORK_US * n * n / load.best / load.best);
	atomic_fetch_sub(&load.active, 1);
	return 0;
}

static Runnable runnable = { .ExecuteThisRequest = work };

/* Somebody has always more to do than all workers can. */
static void fill(void)
{
	static int request;

	while (!PostARequest(&request, &runnable, NULL, 0, 0))
		;
}

static void begin(unsigned int best)
{
	load = (struct load) { .best = best };
}

static MTExecutive *executive(struct dxt *t, unsigned int least, const char *log)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;

	RunSettingsInit(&settings, "autotune", 0, NULL);
	settings.LogPath = log;
	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = PLACES;
	policy.TPMinThreads = least;
	policy.TPMonitorInterval = INTERVAL_MS;
	policy.TPAutotune = 1;
	policy.TPDispatch = dxt_mode();
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		fprintf(stderr, "# %s %s: %d\n", error.Step, error.Field, error.Error);
	else
		t->id = (unsigned int)MTExecutiveContextId(mte);
	return mte;
}

/* The backlog is kept until so many intervals could be compared. Does the search go on? */
static bool passes(const struct dxt *t, void (*more)(void), long long intervals)
{
	return DXT_WITHIN(30 * dxt_stall_ns(), (more(),
			  dxt_num(t, "stats/tune_intervals") >= intervals));
}

/*
 * It comes to @best and stays there: for so many intervals on end or more the target is that or
 * one step away, which probes are, and that in half of them at most.
 */
static bool finds(const struct dxt *t, void (*more)(void), long long best)
{
	long long first = dxt_num(t, "stats/tune_intervals"), target = 0;
	unsigned int i, near = 0, right = 0;
	bool stays = false;

	for (i = 1; i <= INTERVALS && !stays && passes(t, more, first + i); i++) {
		if (!(i % 20))
			dxt_tell("%u intervals, target %lld", i, target);
		target = dxt_num(t, "pools/thread_target");
		near = llabs(target - best) <= 1 ? near + 1 : 0;
		right = near ? right + (target == best) : 0;
		stays = near >= KEPT && 2 * right >= near;
	}
	dxt_tell("best with %lld: target %lld, %lld per second, %u of %u intervals of %u", best,
		 target, dxt_num(t, "pools/thread_rate"), right, near, i - 1);
	return stays;
}

static bool has_line(const char *log, const char *words)
{
	char line[256];
	bool found = false;
	FILE *f = fopen(log, "r");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, words);
	if (f)
		fclose(f);
	return found;
}

/* KCSAN delays what it watches, at random: no number of workers is the best for long. */
static bool has_kcsan(void)
{
	return !access("/sys/kernel/debug/kcsan", F_OK);
}

/* Worker threads of an executive; more than a few hold each other up. */
TEST(users_that_contend)
{
	char log[] = "/tmp/autotune-XXXXXX";
	MTExecutive *mte;
	struct dxt t;

	if (has_kcsan())
		SKIP(return, "KCSAN's delays decide");
	close(mkstemp(log));
	begin(3);
	mte = executive(&t, 1, log);
	ASSERT_NE(NULL, mte);
	EXPECT_TRUE(finds(&t, fill, 3));
	EXPECT_TRUE(DXT_SOON(has_line(log, "autotune: goes on from 2 workers")));
	/* turned off, all come */
	EXPECT_EQ(0, dxt_store(&t, "policy/autotune", "0"));
	fill();
	EXPECT_TRUE(DXT_SOON((fill(), dxt_num(&t, "pools/thread_use") == PLACES)));
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_target"));
	/* and on again */
	EXPECT_EQ(0, dxt_store(&t, "policy/autotune", "1"));
	EXPECT_TRUE(DXT_SOON((fill(), dxt_num(&t, "pools/thread_use") < PLACES - 1)));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1));
	unlink(log);
}

/* There is nothing to find, or nothing to find it by. */
TEST(nothing_to_find)
{
	MTExecutive *mte;
	struct dxt t;

	begin(PLACES);
	mte = executive(&t, PLACES, "/dev/null");
	ASSERT_NE(NULL, mte);
	EXPECT_TRUE(passes(&t, fill, 3));
	EXPECT_EQ(PLACES, dxt_num(&t, "pools/thread_target"));
	EXPECT_EQ(PLACES, dxt_num(&t, "pools/thread_use"));
	EXPECT_EQ(0, dxt_num(&t, "stats/tune_steps"));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1));

	/* without a backlog there are no steps, and one is enough */
	begin(PLACES);
	mte = executive(&t, 1, "/dev/null");
	ASSERT_NE(NULL, mte);
	dxt_sleep_ms(4 * INTERVAL_MS);
	EXPECT_EQ(0, dxt_num(&t, "stats/tune_intervals"));
	EXPECT_EQ(0, dxt_num(&t, "stats/tune_steps"));
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_rate"));
	EXPECT_EQ(1, dxt_num(&t, "pools/thread_target"));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1));
}

/* --- kernel workers --------------------------------------------------------------- */

static struct dxt kernel;
static uint64_t nap;

static void fill_kernel(void)
{
	while (dxt_post1(kernel.member, 1, nap, WORK_US, PXR_KERNEL, 0, NULL) == 1)
		;
}

/* Kernel workers that sleep do the more the more there are; the Monitor starts them. */
TEST(kernel_that_sleeps)
{
	enum { MOST = 6 };
	struct dxk_policy p;

	if (has_kcsan())
		SKIP(return, "KCSAN's delays decide");
	ASSERT_EQ(0, dxt_open(&kernel));
	kernel.policy.max_threads = kernel.policy.kernel_threads = MOST;
	kernel.policy.min_threads = 2;
	kernel.policy.autotune = 1;
	kernel.policy.monitor_interval_ms = INTERVAL_MS;
	ASSERT_EQ(0, dxt_start(&kernel));
	ASSERT_EQ(0, dxk_executor_find(kernel.ctl, "sleep", &nap));
	EXPECT_TRUE(finds(&kernel, fill_kernel, MOST));
	/* of fewer those that are too many leave */
	p = kernel.policy;
	p.max_threads = p.kernel_threads = 3;
	EXPECT_EQ(0, dxk_policy_set(kernel.ctx, &p, NULL));
	EXPECT_TRUE(DXT_SOON((fill_kernel(), dxt_num(&kernel, "pools/thread_use") <= 3)));
	EXPECT_LE(dxt_num(&kernel, "pools/thread_target"), 3);
	EXPECT_EQ(0, dxt_num(&kernel, "stats/missed_wakeups"));
	/* the next run begins anew */
	EXPECT_EQ(0, dxk_ctx_stop(kernel.ctx, DXK_STOP_CANCEL, -1));
	EXPECT_EQ(0, dxk_ctx_start(kernel.ctx));
	EXPECT_TRUE(DXT_SOON(dxt_num(&kernel, "pools/thread_target") == 2));
	dxt_down(&kernel);
}

TEST_HARNESS_MAIN
