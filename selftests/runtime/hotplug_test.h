/* SPDX-License-Identifier: GPL-2.0-only */
/* Freezing a process, or all. */
#ifndef HOTPLUG_TEST_H
#define HOTPLUG_TEST_H

#include "dxk_test.h"

#include <stdio.h>

#define GROUP	"/sys/fs/cgroup/dxk-test"

static inline int freeze(pid_t pid)
{
	char text[16];
	int rc;

	snprintf(text, sizeof(text), "%d", (int)pid);
	rc = pid ? dxt_write(GROUP "/cgroup.procs", text) : 0;
	return rc ?: dxt_write(GROUP "/cgroup.freeze", pid ? "1" : "0");
}

static inline bool is_frozen(void)
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
static inline int thaw(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	return freeze(0) ?: dxt_write("/sys/fs/cgroup/cgroup.procs", text);
}

/*
 * All tasks are frozen and thawed as a suspend does it, with nothing in between but a
 * pause of some seconds. 0, a negative errno, or 1 where the kernel cannot.
 */
static inline int suspend(const char *seconds)
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

#endif /* HOTPLUG_TEST_H */
