/* SPDX-License-Identifier: GPL-2.0-only */
/* Intervals of a history (history.h), by group. */
#ifndef HISTORY_WINDOWS_H
#define HISTORY_WINDOWS_H

#include <stdint.h>

#define NEVER	UINT64_MAX

/* Something that held for certain after @from and before @until. */
struct window {
	uint64_t group;
	uint64_t from;
	uint64_t until;		/* sealed: the latest of its group up to here */
};

struct windows {
	struct window *w;
	uint32_t nr;
};

/* What ends before it begins is none. */
void window_add(struct windows *ws, uint64_t group, uint64_t from, uint64_t until);
/* All are added. */
void windows_seal(struct windows *ws);
/* The latest end of what had begun before @before; 0: nothing had. */
uint64_t windows_latest(const struct windows *ws, uint64_t group, uint64_t before);

#endif /* HISTORY_WINDOWS_H */
