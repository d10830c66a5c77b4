// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The number of CPUs of this process: those that it may run on, limited by the CPU time in the
 * quotas of its cgroups (cpu.max of cgroup v2). The module cannot know the quota.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define ROOT	"/sys/fs/cgroup"

/* The path of the process in the hierarchy of cgroup v2, from the root of its namespace on. */
static bool own_cgroup(char *path, size_t size)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool found = false;

	while (f && !found && fgets(path, (int)size, f))
		found = !strncmp(path, "0::/", 4) && strchr(path, '\n');
	if (f)
		fclose(f);
	if (!found)
		return false;
	path[strcspn(path, "\n")] = '\0';
	memmove(path, path + 3, strlen(path + 3) + 1);
	return true;
}

/* Number of CPUs that a quota corresponds to, rounded up; UINT32_MAX: there is no quota. */
static uint32_t quota_of(const char *cgroup)
{
	unsigned long long quota, period, nr = UINT32_MAX;
	char file[4224];
	FILE *f;

	if ((size_t)snprintf(file, sizeof(file), ROOT "%s/cpu.max", cgroup) >= sizeof(file))
		return UINT32_MAX;
	f = fopen(file, "re");
	if (!f)
		return UINT32_MAX;
	if (fscanf(f, "%llu %llu", &quota, &period) == 2 && period)
		nr = quota / period + !!(quota % period);
	fclose(f);
	return nr < UINT32_MAX ? (uint32_t)nr : UINT32_MAX;
}

/* The minimum of the cgroup and of all above it. */
static uint32_t least_quota(void)
{
	uint32_t least = UINT32_MAX, nr;
	char path[4096], *end;

	if (!own_cgroup(path, sizeof(path)))
		return UINT32_MAX;
	while ((end = strrchr(path, '/'))) {
		nr = quota_of(path);
		if (nr < least)
			least = nr;
		*end = '\0';
	}
	return least;
}

uint32_t dx_cpus(void)
{
	uint32_t nr, quota = least_quota();
	cpu_set_t set;
	long online;

	if (!sched_getaffinity(0, sizeof(set), &set)) {
		nr = (uint32_t)CPU_COUNT(&set);
	} else {
		/* more than the set has room for */
		online = sysconf(_SC_NPROCESSORS_ONLN);
		nr = online < 1 ? 1 : (uint32_t)online;
	}
	if (nr > quota)
		nr = quota;
	return nr ? nr : 1;
}
