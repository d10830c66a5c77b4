/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests to a pool of threads, CHUNK at a time: each is counted, and who posted
 * them waits for the last.
 */
#ifndef BENCH_POOLS_H
#define BENCH_POOLS_H

#include <pthread.h>

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CHUNK	1000

struct job {
	struct job *next;
	int prio;
};

extern struct job jobs[CHUNK];

/* Eight priorities, mixed. */
void jobs_init(void);
void jobs_expect(long nr);
void job_done(void);		/* by a worker */
void jobs_wait(void);

/* The pool that one writes: a list, a mutex, a condition. */
void list_pool_start(int threads, void (*execute)(struct job *job));
void list_pool_push(struct job *job);

#ifdef __cplusplus
}
#endif
#endif /* BENCH_POOLS_H */
