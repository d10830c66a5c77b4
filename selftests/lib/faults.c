// SPDX-License-Identifier: GPL-2.0-only
/* See dxt.h: faults, and the kernel's log, which tells of them. */
#define DXT_NO_HARNESS
#include "lib/dxt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/klog.h>
#include <unistd.h>

int dxt_write(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

#define FAIL_NTH	"/proc/thread-self/fail-nth"

static const char *const fault_kinds[] = {
	"failslab", "fail_page_alloc", "fail_usercopy",
};

static bool fault_filter(const char *file, unsigned long value)
{
	char path[100], text[32];
	unsigned int i;

	snprintf(text, sizeof(text), "%lu", value);
	for (i = 0; i < ARRAY_SIZE(fault_kinds); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", fault_kinds[i],
			 file);
		if (dxt_write(path, text))
			return false;
	}
	return true;
}

/* Where a function of the kernel is. Its own symbols are in the order of addresses. */
static bool kernel_symbol(const char *name, unsigned long *start, unsigned long *end)
{
	char line[200], symbol[100];
	bool found = false;
	unsigned long at;
	FILE *f;

	f = fopen("/proc/kallsyms", "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %*c %99s", &at, symbol) != 2)
			continue;
		if (found && at > *start) {
			*end = at;
			break;
		}
		if (!strcmp(symbol, name)) {
			*start = at;
			found = true;
		}
	}
	if (f)
		fclose(f);
	return found;
}

bool dxt_faults(void)
{
	static const char *const files[][2] = {
		/* without these GFP_KERNEL would never fail */
		{ "/sys/kernel/debug/failslab/ignore-gfp-wait", "N" },
		{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N" },
		{ "/sys/kernel/debug/fail_page_alloc/min-order", "0" },
		/* each fault would print a stack */
		{ "/sys/kernel/debug/failslab/verbose", "0" },
		{ "/sys/kernel/debug/fail_page_alloc/verbose", "0" },
		{ "/sys/kernel/debug/fail_usercopy/verbose", "0" },
	};
	unsigned long start, end;
	unsigned int i;

	if (access(FAIL_NTH, W_OK))
		return false;
	/* The leak detector's own memory is no point of the call. */
	if (!dxt_write("/sys/kernel/debug/kmemleak", "scan=off") &&
	    (!kernel_symbol("__alloc_object", &start, &end) ||
	     !fault_filter("reject-end", end) || !fault_filter("reject-start", start) ||
	     !fault_filter("stacktrace-depth", 32)))
		return false;
	for (i = 0; i < ARRAY_SIZE(files); i++)
		if (dxt_write(files[i][0], files[i][1]))
			return false;
	return true;
}

bool dxt_faults_within(const char *function)
{
	unsigned long start = 0, end = ~0UL;

	return (!function || kernel_symbol(function, &start, &end)) &&
	       fault_filter("require-start", start) && fault_filter("require-end", end) &&
	       fault_filter("stacktrace-depth", 32);
}

/* Open before the fault is set: opening it could fail by it. */
static _Thread_local int fail_nth_fd = -1;

static void fail_nth_set(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);
	unsigned int i;

	if (fail_nth_fd < 0)
		fail_nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	/* The write, too, copies from user space: a fault that is set may hit it. */
	for (i = 0; i < 3; i++)
		if (pwrite(fail_nth_fd, text, (size_t)len, 0) == len)
			return;
	abort();
}

void dxt_fail_nth(unsigned int n)
{
	fail_nth_set(n);
}

bool dxt_fail_hit(void)
{
	char text[16] = "";
	bool hit = false;

	/* A fault that hits this read did not hit the call. */
	if (pread(fail_nth_fd, text, sizeof(text) - 1, 0) > 0)
		hit = text[0] == '0';
	fail_nth_set(0);
	return hit;
}

static const char *fail_nth_path(int pid)
{
	static _Thread_local char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fail-nth", pid);
	return path;
}

void dxt_fail_nth_of(int pid, unsigned int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	if (dxt_write(fail_nth_path(pid), text))
		abort();
}

bool dxt_fail_hit_of(int pid)
{
	FILE *f = fopen(fail_nth_path(pid), "re");
	unsigned int left = 1;

	if (!f || fscanf(f, "%u", &left) != 1)
		abort();
	fclose(f);
	return !left;
}

/* --- the kernel's log -------------------------------------------------------- */

#define LOG_CLEAR	5	/* syslog(2) */
#define LOG_CONSOLE_OFF	6
#define LOG_CONSOLE_ON	7

int dxt_log_hold(void)
{
	int fd = open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	lseek(fd, 0, SEEK_END);
	klogctl(LOG_CONSOLE_OFF, NULL, 0);
	return fd;
}

void dxt_log_release(int fd, const char *expected)
{
	static char keep[1 << 17];
	char line[2048], *text, *end;
	size_t used = 0, at, len;
	bool trace = false;
	ssize_t n;

	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		if (n <= 0)
			continue;
		line[n] = 0;
		end = strchr(line, '\n');
		if (end)
			*end = 0;
		text = strchr(line, ';');
		text = text ? text + 1 : line;
		trace |= !!strstr(text, expected);
		len = strlen(text) + 1;
		if (!trace && used + len <= sizeof(keep)) {
			memcpy(keep + used, text, len);
			used += len;
		}
		trace &= !strstr(text, "</TASK>");
	}
	klogctl(LOG_CLEAR, NULL, 0);
	klogctl(LOG_CONSOLE_ON, NULL, 0);
	for (at = 0; at < used; at += strlen(keep + at) + 1)
		if (write(fd, keep + at, strlen(keep + at)) < 0)
			break;
	close(fd);
}
