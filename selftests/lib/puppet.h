/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Puppets: threads of the Thread Pool that make one call when they are told to.
 *
 * A member belongs to the thread that made it, so a call that is to sleep, while
 * the test looks on, needs a thread of its own. A puppet worker also executes
 * what it fetched for as long as the test wants: the test decides when each
 * request begins and ends, and no test depends on time for that.
 *
 * A call of a puppet is over when it has returned or when sysfs shows that it
 * sleeps. The module queues a sleeper and shows it as one in the same lock hold,
 * so a puppet that is seen asleep stands in its queue.
 */
#ifndef PUPPET_H
#define PUPPET_H

#include "lib/dxt.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PUP_BATCH	DXK_BATCH_MAX
#define PUP_DATA	4096

struct puppet {
	struct dxt *t;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	enum dxk_member_kind kind;
	unsigned int home;	/* of a worker, or 0 */
	int made;		/* 0, or why there is no member */
	int fd;
	unsigned int id;
	void (*call)(struct puppet *p);
	bool quit;
	long ret;		/* of the last call */

	/* post */
	struct dxk_post_entry entry[PUP_BATCH];
	struct dxk_post post;
	/* rejoin */
	struct dxk_rejoin rejoin;
	struct dxk_result result[PUP_BATCH];
	/* both in one */
	struct dxk_roundtrip trip;
	/* next */
	struct dxk_next next;
	struct dxk_work work[PUP_BATCH];	/* fetched, not yet completed */
	unsigned int held;
	struct dxk_done done[PUP_BATCH];
	unsigned char *data;	/* PUP_BATCH slots of PUP_DATA bytes */
};

/* Is its call not yet over? */
bool puppet_busy(struct puppet *p);
/* Whether a signal restarts the calls of the program's threads. */
void puppet_signals(bool restart);
/* A puppet, or NULL when it could not become a member. */
struct puppet *puppet_new(struct dxt *t, enum dxk_member_kind kind);
/* The same of a worker with a home. */
struct puppet *puppet_new_home(struct dxt *t, unsigned int home);
/* Leaves the Thread Pool, also out of a call that sleeps. */
void puppet_free(struct puppet *p);
void puppets_new(struct dxt *t, struct puppet **p, unsigned int nr,
		 enum dxk_member_kind kind);
void puppets_free(struct puppet **p, unsigned int nr);
/* Has the puppet gone to sleep in its call? */
bool puppet_sleeps(struct puppet *p);
/* Begins a call and waits until it is over or sleeps; true when it sleeps. */
bool puppet_begin(struct puppet *p, void (*call)(struct puppet *p));
/* The end of the call: what it returned, -ETIME when it goes on and on. */
long puppet_end(struct puppet *p);
void puppet_signal(struct puppet *p);

/* --- posting --------------------------------------------------------------- */

/* Posts p->entry[0..nr-1]; true when the puppet sleeps for room. */
bool puppet_post(struct puppet *p, unsigned int nr, uint64_t deadline);
/* One request, which waits for room as long as it takes. */
bool puppet_post1(struct puppet *p, uint64_t param, uint32_t attrs);

/* --- rejoining ------------------------------------------------------------- */

/* The call itself, with p->rejoin as it is. */
void puppet_call_rejoin(struct puppet *p);
/* True when the puppet sleeps for a result. */
bool puppet_rejoin(struct puppet *p, uint64_t owner, unsigned int nr,
		   unsigned int min, uint64_t deadline);

/* --- posting and rejoining ------------------------------------------------- */

/* The call itself, with p->trip as it is. */
void puppet_call_trip(struct puppet *p);
/* Posts p->entry[0..nr-1] and waits for @min results; true when the puppet sleeps. */
bool puppet_trip(struct puppet *p, unsigned int nr, unsigned int min, uint64_t deadline);

/* --- working --------------------------------------------------------------- */

/* The call itself, with p->next as it is. */
void puppet_call_next(struct puppet *p);
/*
 * Completes the first @done of what the puppet holds, with @status, and fetches up
 * to @max behind what it holds then. True when it sleeps.
 */
bool puppet_next(struct puppet *p, unsigned int done, int status,
		 unsigned int max, uint64_t deadline);
/* Asks for a request; true when there is none yet. */
bool puppet_ask(struct puppet *p);
/* Takes a request that must be there or come: 1. */
long puppet_fetch(struct puppet *p);
/* Ends all that the puppet executes; takes nothing new. 0. */
long puppet_finish(struct puppet *p, int status);
/* Ends the one request that the puppet executes, with result data. 0. */
long puppet_finish_data(struct puppet *p, const void *data, unsigned int len);

/* --- others ---------------------------------------------------------------- */

/* Repeatable random numbers: the seed is printed by whoever sets it. */
uint32_t rnd(uint64_t *state);
/* The seed of a run, once; DXK_SEED repeats that of another. */
uint64_t the_seed(void);
/*
 * Does the Monitor report a stall now? It takes 1 s at most; what is not there after
 * 2 s of running time, on the debug kernel 10 s, is not going to be.
 */
bool stall_comes(const struct dxt *t, long long before);
/* How often to do a thing; the debug kernel finds in a few times what it can. */
int times_of(int nr);
/* Switches periods off: nothing but events is left to move a request. */
void no_periods(struct dxt *t);
/* Nothing but events moves a request; the Monitor's interval is the default. */
void no_sweeps(struct dxt *t);
/* CMLS with the shares of the standard example, lanes 0, 1, 2: 0/20/20. */
void use_cmls(struct dxt *t);
uint32_t lane_attr(unsigned int lane);
/* An entry with a priority. */
struct dxk_post_entry prio_entry(uint64_t owner, uint64_t param,
				 int prio, uint32_t attrs);
/* The answer of one poll, 0 when it failed. */
uint32_t poll_owner(const struct dxt *t, uint64_t owner);

#endif /* PUPPET_H */
