/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All that is random in an episode is a choice, and an episode is nothing but its choices:
 * drawn from a seed and kept, or given. Each thread has a stream of its own, and so has the
 * choice of who runs: without some of one thread's, all others choose as they did. Where
 * given ones end, all are 0, which is always the plainest: the same thread goes on, nothing
 * more is begun.
 */
#ifndef _DXK_SIM_CHOICE_H
#define _DXK_SIM_CHOICE_H

#include "world.h"

#define CHOICES_MAX	(1U << 20)

/* In memory that outlives a process which dies of what it does. */
struct choices {
	u32 nr;
	/* Whether they are given; how many of these were used. */
	bool given;
	u32 used;
	u64 rnd;
	/* Of all that were drawn: the same for the same seed. */
	u64 hash;
	u32 value[CHOICES_MAX];
	u8 stream[CHOICES_MAX];
};

/* Who runs; threads have 1 and more. */
#define CHOICE_STREAM_RUN	0
#define CHOICE_STREAMS		256

extern struct choices *choices;

void choices_seed(u64 seed);
void choices_replay(void);

u32 choose_in(u8 stream, u32 below);
u32 choose(u32 below);

/* One of @of, on average. */
static inline bool chance(u32 of)
{
	return choose(of) == of - 1;
}

#endif /* _DXK_SIM_CHOICE_H */
