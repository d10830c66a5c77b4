// SPDX-License-Identifier: GPL-2.0-only
/*
 * Preloaded by tests: something happens to one of a program's calls. UPSET is "CALL NTH
 * WHAT": the number of the ioctl, which one of them, and
 *
 *   -ERRNO	it fails so, and is not made
 *   term	SIGTERM comes just before it, or, with
 *   stop	SIGSTOP
 *   cancelled	it returns a request that was cancelled; only those count that return any
 */
#include <dxk.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned long call, nth;
static char what[16];
static atomic_ulong count;

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv("UPSET");

	if (!text || sscanf(text, "%lu %lu %15s", &call, &nth, what) != 3)
		abort();
	/* the program's own, not that of its children */
	unsetenv("UPSET");
	unsetenv("LD_PRELOAD");
}

static void cancelled(const struct dxk_rejoin *rejoin)
{
	((struct dxk_result *)(uintptr_t)rejoin->results)->status = -ECANCELED;
}

static int make(int fd, unsigned long request, void *arg)
{
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

static int is_the_one(void)
{
	return atomic_fetch_add(&count, 1) + 1 == nth;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;
	int rc;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request != call)
		return make(fd, request, arg);
	if (!strcmp(what, "cancelled")) {
		rc = make(fd, request, arg);
		if (rc > 0 && is_the_one())
			cancelled(arg);
		return rc;
	}
	if (is_the_one()) {
		if (*what == '-') {
			errno = atoi(what + 1);
			return -1;
		}
		raise(*what == 's' ? SIGSTOP : SIGTERM);
	}
	return make(fd, request, arg);
}
