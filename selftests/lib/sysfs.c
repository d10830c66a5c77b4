// SPDX-License-Identifier: GPL-2.0-only
/* See dxt.h: what shows of a context, in sysfs and as threads; waiting for it. */
#define DXT_NO_HARNESS
#include "lib/dxt.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_text(unsigned int id, const char *path, char *text, size_t room)
{
	char name[256];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/sys/kernel/dxk/%u/%s", id, path);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, room - 1);
	close(fd);
	if (n < 0)
		return false;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return true;
}

static long long read_num(unsigned int id, const char *path)
{
	char text[64], *end;
	long long value;

	if (!read_text(id, path, text, sizeof(text)))
		return -1;
	value = strtoll(text, &end, 10);
	return end == text || *end ? -1 : value;
}

long long dxt_num(const struct dxt *t, const char *path, ...)
{
	char name[128];
	va_list ap;

	va_start(ap, path);
	vsnprintf(name, sizeof(name), path, ap);
	va_end(ap);
	return read_num(t->id, name);
}

bool dxt_text(const struct dxt *t, char *text, size_t room, const char *path, ...)
{
	char name[128];
	va_list ap;

	va_start(ap, path);
	vsnprintf(name, sizeof(name), path, ap);
	va_end(ap);
	return read_text(t->id, name, text, room);
}

int dxt_store(const struct dxt *t, const char *path, const char *value)
{
	char name[256];
	int fd, rc;

	snprintf(name, sizeof(name), "/sys/kernel/dxk/%u/%s", t->id, path);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

bool dxt_exists(const struct dxt *t, const char *path)
{
	char name[256];

	snprintf(name, sizeof(name), "/sys/kernel/dxk/%u/%s", t->id, path);
	return !access(name, F_OK);
}

unsigned int dxt_threads(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) ? 0 : (unsigned int)st.st_nlink - 2;
}

unsigned int dxt_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	return nr;
}

uint64_t dxt_progress(const struct dxt *t)
{
	static const char *const moves[] = {
		"stats/posts", "stats/dispatches", "stats/completions",
		"stats/collected", "stats/cancelled",
	};
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(moves); i++)
		sum += (uint64_t)read_num(t->id, moves[i]);
	return sum;
}

/* Not the Log Pool and no times: they change by themselves. */
static const char *const snapshot_paths[] = {
	"owners",
	"pools/thread_use", "pools/thread_busy", "pools/ready_use",
	"pools/rejoin_use", "pools/handle_use", "pools/ready_high_water",
	"pools/rejoin_high_water",
	"lanes/ready_lane0_in_use", "lanes/ready_lane1_in_use",
	"lanes/ready_lane2_in_use", "lanes/ready_lane3_in_use",
	"lanes/ready_lane0_waiters", "lanes/ready_lane1_waiters",
	"lanes/ready_lane2_waiters", "lanes/ready_lane3_waiters",
	"stats/posts", "stats/post_busy", "stats/post_refused",
	"stats/dispatches", "stats/completions",
	"stats/vanished", "stats/cancelled", "stats/put_back", "stats/owner_dead",
	"stats/stale", "stats/rejoin_returned", "stats/rejoin_none_ready",
	"stats/rejoin_none_exist", "stats/collected", "stats/self_poll",
	"stats/rejoin_overflow", "stats/post_blocks", "stats/rejoin_blocks",
	"stats/complete_blocks", "stats/missed_wakeups",
};

_Static_assert(ARRAY_SIZE(snapshot_paths) <=
	       ARRAY_SIZE(((struct dxt_snapshot *)0)->value), "more values than room");

/*
 * The files stay open from one snapshot to the next: on the debug kernel opening
 * them takes far longer than reading. One whose context is gone cannot be read.
 */
void dxt_snapshot(const struct dxt *t, struct dxt_snapshot *s)
{
	static int fd[ARRAY_SIZE(snapshot_paths)];
	static unsigned int of_id = -1U;
	unsigned int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < ARRAY_SIZE(snapshot_paths); i++) {
		char text[64] = "", name[256];
		ssize_t n = -1;

		if (of_id == t->id)
			n = pread(fd[i], text, sizeof(text) - 1, 0);
		if (n <= 0) {
			if (fd[i] > 0)
				close(fd[i]);
			snprintf(name, sizeof(name), "/sys/kernel/dxk/%u/%s", t->id,
				 snapshot_paths[i]);
			fd[i] = open(name, O_RDONLY | O_CLOEXEC);
			n = pread(fd[i], text, sizeof(text) - 1, 0);
		}
		s->value[i] = n > 0 ? strtoll(text, NULL, 10) : -1;
	}
	of_id = t->id;
}

const char *dxt_differs(const struct dxt_snapshot *a, const struct dxt_snapshot *b)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(snapshot_paths); i++)
		/* a value that cannot be read shows nothing */
		if (a->value[i] < 0 || a->value[i] != b->value[i])
			return snapshot_paths[i];
	return NULL;
}

bool dxt_wait_more(const struct dxt *t, struct dxt_wait *w)
{
	uint64_t progress = dxt_progress(t);

	if (progress != w->progress) {
		w->progress = progress;
		w->turns.ran = 0;
	}
	return dxt_turn(&w->turns) <= dxt_stall_ns();
}

bool dxt_member_is(const struct dxt *t, unsigned int id, const char *state)
{
	char text[32];

	return dxt_text(t, text, sizeof(text), "threads/%u/state", id) &&
	       !strcmp(text, state);
}

int dxt_kthread(const struct dxt *t, const char *name)
{
	char path[300], line[32] = "", comm[32];
	DIR *proc = opendir("/proc");
	struct dirent *e;
	int pid = 0;
	FILE *f;

	snprintf(comm, sizeof(comm), "dxk%u/%s\n", t->id, name);
	while (proc && !pid && (e = readdir(proc))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(line, sizeof(line), f) && !strcmp(line, comm))
			pid = atoi(e->d_name);
		fclose(f);
	}
	if (proc)
		closedir(proc);
	return pid;
}

int dxt_kthread_pids(const struct dxt *t, int *pid, int room)
{
	char prefix[32] = "dxk", path[300], comm[32];
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int nr = 0, fd;
	ssize_t n;

	if (t)
		snprintf(prefix, sizeof(prefix), "dxk%u/", t->id);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/exe", e->d_name);
		if (readlink(path, comm, sizeof(comm)) >= 0)
			continue;	/* a process */
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, comm, sizeof(comm) - 1);
		if (fd >= 0)
			close(fd);
		if (n <= 0)
			continue;
		comm[n] = 0;
		if (strncmp(comm, prefix, strlen(prefix)))
			continue;
		if (nr < room)
			pid[nr] = atoi(e->d_name);
		nr++;
	}
	if (dir)
		closedir(dir);
	return nr;
}

int dxt_kthreads(const struct dxt *t)
{
	return dxt_kthread_pids(t, NULL, 0);
}

long dxt_sleeps(const struct dxt *t, const char *name)
{
	char path[32], line[128];
	long nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", dxt_kthread(t, name));
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "voluntary_ctxt_switches: %ld", &nr);
	if (f)
		fclose(f);
	return nr;
}

/* It sleeps between two ticks; one sleep may end by a kick, one is not over. */
bool dxt_ticks(const struct dxt *t, unsigned int nr)
{
	long before = dxt_sleeps(t, "sched");

	return before >= 0 && DXT_SOON(dxt_sleeps(t, "sched") >= before + (long)nr + 2);
}

/** dxt_contexts - how many contexts there are, buried ones not counted */
unsigned int dxt_contexts(void)
{
	DIR *dir = opendir("/sys/kernel/dxk");
	unsigned int nr = 0;
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		nr += e->d_name[0] >= '0' && e->d_name[0] <= '9';
	if (dir)
		closedir(dir);
	return nr;
}
