/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Episodes and what comes of them.
 */
#ifndef _DXK_SIM_EPISODE_H
#define _DXK_SIM_EPISODE_H

#include "world.h"

/* In memory that outlives a process which dies of what it does. */
struct outcome {
	/* Of the last episode. */
	u64 seed;
	u64 steps, holds, episodes;
	/* The sum of those of all episodes so far. */
	u64 hash;
	/* What has failed, without the numbers. */
	const char *what;
	char text[400];
	/* Failures are not printed, and end the process as a crash does. */
	bool quiet, crash;
};

extern struct outcome *outcome;

void episode_init(void);
void episode_run(void);
void episode_replay(void *arg);
bool episode_apart(void (*fn)(void *arg), void *arg);

void shrink(void);

#endif /* _DXK_SIM_EPISODE_H */
