/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXKSTAT_STAT_H
#define _DXKSTAT_STAT_H

#include <sys/time.h>

#include "../common/common.h"

enum pool { P_THREAD, P_READY, P_REJOIN, P_LOG, P_HANDLE, P_NR };
enum resource { R_READY, R_USER, R_KERNEL, R_NR };

extern const char * const pool_name[P_NR];
extern const char * const resource_name[R_NR];

/* The figures that are shown per second. */
enum rate { RATE_POSTS, RATE_DISPATCHES, RATE_COMPLETIONS, RATE_REJOINS, RATE_BLOCKS,
	    RATE_NR };

extern const char * const rate_name[RATE_NR];

struct pool_use {
	uint64_t size, use, high;
};

struct lane_use {
	uint64_t in_use, limit, waiters;
};

/**
 * struct tune - what policy autotune has found
 * @target: intended number of workers of each kind; 0: it is off
 * @rate: requests per second in the last interval that counts
 */
struct tune {
	uint64_t target, rate, intervals, steps;
};

/**
 * struct thread - a member of the Thread Pool
 * @per_second: requests executed, since the sample before
 */
struct thread {
	unsigned int id;
	char role[16], state[16];
	uint64_t age_ms, executed;
	double per_second;
};

/**
 * struct sample - a context at one time
 * @inode: of its directory: a different one means another context with the same id
 * @time: CLOCK_MONOTONIC in nanoseconds
 * @counter: sums of what the rates are made from
 * @rate: per second since the sample before, 0 in the first one
 * @own: counters of the application's own by their names; NULL when they cannot be read
 * @thread: by id, vacant places left out; only where they are wanted
 */
struct sample {
	unsigned int id;
	uint64_t inode, time;
	char name[DXK_NAME_LEN], state[16];
	struct pool_use pool[P_NR];
	uint64_t busy;
	struct tune tune;
	struct lane_use lane[R_NR][DXK_LANES];
	uint64_t counter[RATE_NR];
	double rate[RATE_NR];
	struct json_object *own;
	struct thread *thread;
	unsigned int nr_threads;
};

/**
 * struct samples - all contexts at one time
 * @time: of the wall clock, as they were looked at
 */
struct samples {
	struct sample *sample;
	unsigned int nr;
	struct timeval time;
};

/**
 * struct options - what the program is to do
 * @only: the only context that is looked at, with @one
 * @interval: nanoseconds between two samples
 * @count: how many samples, 0 for no end
 */
struct options {
	bool one, json, top, openmetrics, prometheus;
	struct ctx only;
	int64_t interval;
	uint32_t count;
};

/**
 * samples_take - take a sample of the contexts
 * @o: which
 * @before: the samples before, for the rates; all zero the first time
 * @now: out, to be freed with samples_free()
 * @threads: the threads are wanted, too
 *
 * Return: 0, or -ENOENT when the module or the only context has gone.
 */
int samples_take(const struct options *o, const struct samples *before,
		 struct samples *now, bool threads);
void samples_free(struct samples *samples);

/* One line for each context, a heading before the first and every twenty lines. */
void table_print(const struct samples *samples);
/* One line of JSON. */
void json_print(const struct samples *samples);

/* The figures once, for a monitoring system: the exit status. */
int metrics(const struct options *o);

/* The full screen, until its end: the exit status. */
int top(struct options *o);

#endif /* _DXKSTAT_STAT_H */
