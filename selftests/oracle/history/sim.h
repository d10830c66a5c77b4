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
#define OWNERS		4	/* 0..2: shared, 3: of space 0; from 4 on: of each worker's calls */
#define KEYS		2	/* 1.. */
#define DEPTH		3	/* requests that a worker executes within others */
#define KEY_BATCH	2
#define REDO_MAX	3
#define TURNS		3
#define WIDE		300	/* an effect may be so far from both ends of its call */

enum { FREE, READY, BUSY, WAITING, HELD, REJOIN, GONE };
/* What a request is to its key; one that is HELD is out. */
enum { AT_OUT, AT_HAS, AT_NESTED, AT_BACK, AT_WAITS };

struct sim_list {
	uint32_t request[REQUESTS], nr;
};

struct sim_key {
	uint32_t turn;			/* or HIST_NOBODY */
	struct sim_list nested, back, waiters;
	bool suspended, refuses;
};

struct sim {
	struct history *h;
	uint64_t seed, now;
	bool calm;			/* intervals of no width */
	uint64_t until[MEMBERS];	/* the end of its last call */
	uint32_t holds[MEMBERS];	/* request, or HIST_NOBODY */
	uint64_t ticket[REQUESTS], tickets;
	/* of workers: what @holds is nested in, the call that sleeps, what it has called */
	uint32_t below[CREW][DEPTH], depth[CREW];
	struct history_event *asleep[CREW];
	uint32_t called[CREW];
	struct sim_key key[KEYS + 1];
	uint8_t at[REQUESTS];
	uint32_t came[REQUESTS], comes;
	uint32_t outer[REQUESTS];	/* who waits for the end of a nested one, beside its own */
	bool timed_out[REQUESTS];
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

/* A call of a member whose effect comes now. */
struct history_event *sim_call(struct sim *s, uint32_t who, uint8_t kind);
/* The end of a call of a member, somewhat later than what happens now. */
uint64_t sim_now(struct sim *s, uint32_t who);
struct history_event *sim_start(struct sim *s, uint32_t who, uint32_t i);
void sim_end(struct sim *s, uint32_t i, int status);
void sim_rejoin(struct sim *s, uint32_t who, uint32_t owner);
/* A request that its worker is to wait for; HIST_NOBODY: it is not taken. */
uint32_t sim_post_called(struct sim *s, uint32_t who);

/* Keys: a request is to have a turn; and again; gives its key up; is not to have it back. */
void sim_ready(struct sim *s, uint32_t i);
void sim_again(struct sim *s, uint32_t i);
void sim_drop(struct sim *s, uint32_t i);
void sim_give_up(struct sim *s, uint32_t i);
/* A worker is back in what it executed before. */
void sim_pop(struct sim *s, uint32_t who);
/* Calls that sleep, as far as they are over. */
void sim_sleepers(struct sim *s);
/* A worker does something with its key, or calls; a client does something with some key. */
bool sim_act(struct sim *s, uint32_t who);
void sim_rule(struct sim *s, uint32_t who);

/* A whole history, until nothing is left. */
void sim_run(struct sim *s, uint64_t seed, bool calm);

#endif /* HISTORY_SIM_H */
