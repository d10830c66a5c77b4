// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many worker threads an executive has that was told nothing: as many as the process has
 * CPUs, by its affinity and by the quotas of its cgroups.
 */
#define _GNU_SOURCE
#include "lib/dxt.h"

#include <dx.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT	"/sys/fs/cgroup"
#define OUTER	ROOT "/dxk-quota"
#define INNER	OUTER "/inner"

/* 1 and up; 0: no policy was made. */
static unsigned int threads(void)
{
	ThreadManagerPolicy policy;

	return ThreadManagerPolicyInit(&policy) ? 0 : policy.TPMaxThreads;
}

/* DX-8: as many as CPUs that the caller may run on. */
TEST(affinity)
{
	cpu_set_t all, one;
	int cpu = 0;

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	EXPECT_EQ(CPU_COUNT(&all), threads());
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	EXPECT_EQ(1, threads());
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(all), &all));
}

FIXTURE(quota) {
	unsigned int cpus;
};

static int enter(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	return dxt_write(path, "0");
}

FIXTURE_SETUP(quota)
{
	cpu_set_t set;

	if (access(ROOT "/cgroup.procs", W_OK) ||
	    dxt_write(ROOT "/cgroup.subtree_control", "+cpu"))
		SKIP(return, "no cgroup v2 with quotas here");
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(set), &set));
	self->cpus = (unsigned int)CPU_COUNT(&set);
	if (self->cpus < 2)
		SKIP(return, "one CPU only");
	ASSERT_TRUE(!mkdir(OUTER, 0755) || errno == EEXIST);
	if (access(OUTER "/cpu.max", W_OK))
		SKIP(return, "this kernel has no quotas of CPU time");
	ASSERT_EQ(0, dxt_write(OUTER "/cgroup.subtree_control", "+cpu"));
	ASSERT_TRUE(!mkdir(INNER, 0755) || errno == EEXIST);
	ASSERT_EQ(0, enter(INNER));
}

FIXTURE_TEARDOWN(quota)
{
	enter(ROOT);
	rmdir(INNER);
	rmdir(OUTER);
}

/* The time of one CPU and a half keeps two threads busy, that of a hundredth one. */
TEST_F(quota, of_the_cgroup)
{
	static const struct {
		const char *max;
		unsigned int nr;
	} quota[] = {
		{ "max 100000", 0 }, { "100000 100000", 1 }, { "1000 100000", 1 },
		{ "150000 100000", 2 }, { "10000 5000", 2 }, { "100001 100000", 2 },
		{ "90000000 100000", 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(quota); i++) {
		ASSERT_EQ(0, dxt_write(INNER "/cpu.max", quota[i].max));
		EXPECT_EQ(quota[i].nr ?: self->cpus, threads()) TH_LOG("%s", quota[i].max);
	}
}

/* The least of all above it counts, and the executive gets so many. */
TEST_F(quota, of_its_parents)
{
	ThreadManagerPolicy policy;
	MTExecutive *mte;
	RunSettings settings;

	ASSERT_EQ(0, dxt_write(INNER "/cpu.max", "150000 100000"));
	ASSERT_EQ(0, dxt_write(OUTER "/cpu.max", "50000 100000"));
	EXPECT_EQ(1, threads());
	RunSettingsInit(&settings, "libcpus", 0, NULL);
	ASSERT_EQ(0, ThreadManagerPolicyInit(&policy));
	mte = MTExecutiveCreate(&settings, &policy, NULL);
	ASSERT_NE(NULL, mte);
	ASSERT_EQ(0, MTExecutiveGetPolicy(mte, &policy));
	EXPECT_EQ(1, policy.TPMaxThreads);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_POLICY, -1));
	ASSERT_EQ(0, dxt_write(OUTER "/cpu.max", "max 100000"));
	EXPECT_EQ(2, threads());
}

TEST_HARNESS_MAIN
