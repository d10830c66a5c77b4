/* SPDX-License-Identifier: GPL-2.0-only */
/* The threads that make a history (history.c), and what they do with keys (actor_keys.c). */
#ifndef HISTORY_ACTOR_H
#define HISTORY_ACTOR_H

#include "log.h"

#define WORKERS		3		/* of each process */
#define CLIENTS		3		/* the last one's owners are private */
#define THREADS		(WORKERS + CLIENTS)
#define CALL_DEPTH		2		/* calls of a worker within what it executes for others */

/* What a thread does (D-26): what it was at when its process was killed is counted. */
enum doing {
	ELSEWHERE, POSTING, COLLECTING, FETCHING, EXECUTING, WATCHING, CALLING, AT_KEY, NESTING,
	DOINGS
};

/* One process, in memory that it shares with who buries it. */
struct crowd {
	pid_t pid;
	uint64_t seed;
	uint32_t space;		/* of the owners that die with it */
	int pipe;		/* the end that it hands over with requests */
	_Atomic unsigned int turns;
	_Atomic unsigned int posting;	/* workers that may post or collect just now */
	_Atomic unsigned int deserted;	/* workers that ended without leaving */
	_Atomic unsigned int callers;	/* workers that wait for what they have called */
	_Atomic int tid[THREADS];
	_Atomic unsigned int doing[THREADS];
	struct history_log log[THREADS];
};

struct actor {
	pthread_t thread;
	struct crowd *crowd;
	struct history_log *log;
	uint64_t seed;
	int ctx;
	_Atomic unsigned int *doing;
	_Atomic int *tid;
	bool works;
	bool deserts;		/* ends while its process goes on */
	bool called[CALL_DEPTH];	/* what it has called may not have been collected */
	unsigned int depth;
};

/* What a worker executes. */
struct held {
	uint64_t ticket;
	uint32_t request, turn, owner;
	uint32_t key;		/* HIST_NO_KEY: none */
	bool out, unsure;	/* it has given its key up, for all that is known */
};

/* An answer that is none, in that line; @rc: what the call returned. */
void actor_odd_at(int rc, int line);
#define actor_odd(rc)	actor_odd_at(rc, __LINE__)
/* A while; does nobody post any more? What a request ends with. */
void actor_dawdle(uint64_t *seed);
bool actor_is_quiet(void);
int actor_status(uint32_t request);

/* Makes what is to be posted one of a key, perhaps. */
void actor_key(struct actor *a, struct dxk_post_more *e);
/* What waits has another key from then on, perhaps, or none. */
void actor_move(struct actor *a, const struct held *h, struct dxk_wait *w);
/* A worker does something with the key of what it executes, or calls somebody. */
void actor_work(struct actor *a, struct held *held, unsigned int nr_held);
/* A client holds a key back, lets it go, or cancels what waits for it. */
void actor_rule(struct actor *a);
/* It holds none back. */
void actor_release(struct actor *a);
/* Whose are the requests that some worker of some life has called? */
uint32_t actor_call_owner(uint32_t space, unsigned int thread, unsigned int depth);

#endif /* HISTORY_ACTOR_H */
