/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A dispatcher that is as simple as can be, and right: it makes histories for the
 * checker (history.h).
 */
#ifndef HISTORY_SIM_H
#define HISTORY_SIM_H

#include "history.h"

#define REQUESTS	120
#define MEMBERS		10	/* 0..5: workers, 6..9: clients */
#define CREW		6
#define OWNERS		4	/* 0..2: shared, 3: of space 0 */
#define REDO_MAX	3
#define TURNS		3
#define WIDE		300	/* an effect may be so far from both ends of its call */

enum { FREE, READY, BUSY, WAITING, REJOIN, GONE };

struct sim {
	struct history *h;
	uint64_t seed, now;
	bool calm;			/* intervals of no width */
	uint64_t until[MEMBERS];	/* the end of its last call */
	uint32_t holds[MEMBERS];	/* request, or HIST_NOBODY */
	uint64_t ticket[MEMBERS], tickets;
	uint8_t state[REQUESTS];
	uint16_t attempts[REQUESTS];	/* of its turn */
	uint16_t turn[REQUESTS];
	struct {
		uint32_t wait, owner;
		uint64_t deadline;
		bool called, cancelled;
		uint8_t wake;
	} more[REQUESTS];
	int32_t status[REQUESTS];
	uint16_t worker[REQUESTS];
	uint32_t done[REQUESTS], nr_done;	/* in the order of completion */
	uint32_t alive[MEMBERS];		/* member number of worker i now */
	bool missing;				/* nothing to make wrong in this one */
};

/* A whole history, until nothing is left. */
void sim_run(struct sim *s, uint64_t seed, bool calm);

#endif /* HISTORY_SIM_H */
