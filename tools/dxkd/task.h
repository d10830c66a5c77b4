/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A service at work: one of export.c or import.c.
 */
#ifndef _DXKD_TASK_H
#define _DXKD_TASK_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "../common/common.h"
#include "config.h"
#include "status.h"

#define NSEC_PER_SEC	1000000000ULL
#define TASK_FDS	3
#define NEVER		UINT64_MAX
/* How soon to check again for a context that does not exist, or that we may not use */
#define RETRY_CONTEXT	NSEC_PER_SEC

/**
 * struct task - the functions that the loop calls; none of them waits
 * @run: do all that can be done now; returns when to be called again if nothing is to be read
 * @poll: what to wait for meanwhile
 * @leave: accept no new requests from now on
 * @left: whether nothing is held that could still be answered
 * @status: its status, to be shown
 * @close: free it
 */
struct task {
	uint64_t (*run)(struct task *task, uint64_t now);
	void (*poll)(struct task *task, struct pollfd fds[TASK_FDS]);
	void (*leave)(struct task *task);
	bool (*left)(struct task *task);
	void (*status)(struct task *task, struct status *status);
	void (*close)(struct task *task);
};

/* Of two times at which to be called again */
static inline uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* CLOCK_REALTIME in microseconds, for messages between hosts */
static inline uint64_t realtime_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/*
 * Times of CLOCK_MONOTONIC, in ns as requests have them, and of CLOCK_REALTIME: those that have
 * passed are now, and what is further away than a hundred years is that
 */
#define FAR_US		(100ULL * 366 * 86400 * 1000000)

static inline uint64_t realtime_of(uint64_t monotonic)
{
	uint64_t now = now_ns();
	uint64_t left = monotonic > now ? (monotonic - now) / 1000 : 0;

	return realtime_us() + (left < FAR_US ? left : FAR_US);
}

static inline uint64_t monotonic_of(uint64_t realtime)
{
	uint64_t now = realtime_us();
	uint64_t left = realtime > now ? realtime - now : 0;

	return now_ns() + (left < FAR_US ? left : FAR_US) * 1000;
}

struct task *export_new(const struct service *service);
struct task *import_new(const struct service *service);

#endif /* _DXKD_TASK_H */
