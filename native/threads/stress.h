/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads of the stress test, see stress.c.
 */
#ifndef _DXK_NATIVE_STRESS_H
#define _DXK_NATIVE_STRESS_H

#include "engine/calls.h"
#include "engine/engine.h"

#define CLIENTS		6
#define WORKERS		5
#define THREADS		(CLIENTS + WORKERS + 1)
#define TURNS		800

struct stress {
	struct dxk_engine e;
	/* The clients have made their calls; nobody wakes anybody any more. */
	pthread_barrier_t calm, gone;
	pthread_mutex_t lock;
	struct task_struct *task[THREADS];
	/* Requests that their posters were told are taken; results that were returned. */
	u64 posted, collected;
	bool over;
};

struct actor {
	struct stress *s;
	pthread_t thread;
	struct dxk_member m;
	u32 nr;
	u64 rnd;
	/* It has posted for its own owner and is to collect that. */
	u32 mine;
};

#define MUST(cond) do {							\
	if (!(cond))							\
		os_warn(__FILE__, __LINE__, "not: %s\n", #cond);	\
} while (0)

/* What the threads do. */
void *client(void *arg);
void *worker(void *arg);
void *pest(void *arg);

#endif /* _DXK_NATIVE_STRESS_H */
