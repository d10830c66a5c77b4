// SPDX-License-Identifier: GPL-2.0-only
/*
 * How often threads that have nothing to do wake up in 60 s.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dxk_calls.h"

#define SECONDS	60

#define TASKS_MAX	2000

struct snapshot {
	int nr;
	struct {
		int pid;
		long switches;
	} task[TASKS_MAX];
};

/* Of one task, both kinds; 0 when it has gone. */
static long task_switches(const char *path)
{
	char file[300], line[128];
	long all = 0, n;
	FILE *f;

	snprintf(file, sizeof(file), "%s/status", path);
	f = fopen(file, "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) == 1)
			all += n;
	fclose(f);
	return all;
}

/* All tasks in @dir whose name begins with @name. */
static void look(struct snapshot *s, const char *dir, const char *name)
{
	struct dirent *entry;
	DIR *d = opendir(dir);

	if (!d)
		die("%s", dir);
	for (s->nr = 0; (entry = readdir(d));) {
		char path[280], comm[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s/comm", dir, entry->d_name);
		f = entry->d_name[0] > '0' && entry->d_name[0] <= '9' ?
			fopen(path, "r") : NULL;
		if (!f)
			continue;
		if (fscanf(f, "%31s", comm) == 1 && !strncmp(comm, name, strlen(name)) &&
		    s->nr < TASKS_MAX) {
			snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
			s->task[s->nr].pid = atoi(entry->d_name);
			s->task[s->nr++].switches = task_switches(path);
		}
		fclose(f);
	}
	closedir(d);
}

/* What came since @before; tasks that ended meanwhile are left out. */
static long since(const struct snapshot *before, const char *dir, const char *name)
{
	static struct snapshot after;
	long all = 0;

	look(&after, dir, name);
	for (int i = 0; i < after.nr; i++) {
		all += after.task[i].switches;
		for (int j = 0; j < before->nr; j++)
			if (before->task[j].pid == after.task[i].pid)
				all -= before->task[j].switches;
	}
	return all;
}

static double in_a_minute(const char *name)
{
	static struct snapshot all, users;

	sleep(2);
	look(&all, "/proc", name);
	look(&users, "/proc/self/task", "dxk_user");
	sleep(SECONDS);
	extra("user_workers", since(&users, "/proc/self/task", "dxk_user"));
	return since(&all, "/proc", name);
}

static void *user_worker(void *arg)
{
	pthread_setname_np(pthread_self(), "dxk_user");
	dxk_serve(dxk_member(DXK_MEMBER_WORKER), 1);
	return arg;
}

static void with_crew(struct dxk_policy *policy, long unused)
{
	(void)unused;
	policy->max_threads = 3;
	policy->kernel_threads = 2;
	policy->prio_policy = PRIO_POLICY_AGERQS;
}

/* Kernel workers, a user worker, the control threads, after some requests. */
static double idle_measure(const struct variant *v)
{
	struct dxk_post_entry entry = { .owner = OWNER, .attrs = PXR_REJOIN };

	(void)v;
	dxk_open_ctx(with_crew, 0);
	partner_start(user_worker, NULL);
	for (int i = 0; i < 100; i++) {
		dxk_post_all(&entry, 1);
		MUST(1, dxk_collect(1, 0));
	}
	return in_a_minute("dxk");
}

const struct kind dxk_idle = { .measure = idle_measure };

/* A request waits that nobody takes: what the policy's intervals ask for. */
static double waiting_measure(const struct variant *v)
{
	struct dxk_post_entry entry = { .owner = OWNER, .attrs = PXR_REJOIN };
	struct dxk_policy policy = { .size = sizeof(policy) };

	(void)v;
	dxk_open_ctx(with_crew, 0);
	dxk_post_all(&entry, 1);
	MUST(0, ioctl(dxk_ctx, DXK_IOC_POLICY_GET, &policy));
	extra("allowed", SECONDS * 1000.0 / policy.sched_interval_ms +
	      SECONDS * 1000.0 / policy.monitor_interval_ms +
	      SECONDS * 1000.0 / (policy.dispatch_interval_ms ?: 1000));
	return in_a_minute("dxk");
}

const struct kind dxk_waiting = { .measure = waiting_measure };

/* The kernel's own work uses these threads, too. */
static double kworker_measure(const struct variant *v)
{
	(void)v;
	return in_a_minute("kworker/");
}

const struct kind kworker_idle = { .measure = kworker_measure };
