/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A history: what some processes did with one context, and what they were answered,
 * as they wrote it down themselves; and a checker that proves from it that the
 * context kept its promises.
 *
 * Every call is an interval of numbers drawn from one shared counter, one before the
 * call and one after it. If the number after one call is smaller than the number
 * before another, the one was over when the other began, whatever the clocks of the
 * CPUs say. Its effect came at some instant between; the checker judges only by what
 * holds for each choice of these instants. So it never accuses wrongly, and what it
 * cannot tell it lets pass.
 *
 * The checker knows nothing of how a history came about: history_unit.c feeds it
 * made up ones, history.c real ones.
 */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum history_kind {
	HIST_NOTHING,		/* reserved, not used */
	HIST_POST,		/* status: enum history_post */
	HIST_START,		/* a worker was given a request */
	HIST_DONE,		/* a completion; status as given, how: enum history_done;
				 * with @wait its turn ended so */
	HIST_RESULT,		/* a request was collected */
	HIST_NONE_EXIST,	/* answers of a rejoin */
	HIST_NONE_READY,
	HIST_FETCH_LOST,	/* a member died in a fetch, and got nothing by it */
	HIST_CALL,		/* a request was called by its name; how: enum history_name */
	HIST_CANCEL,		/* or cancelled */
	/* further answers of a rejoin: EDEADLK, RJR_HELP, none (any more) */
	HIST_DEADLOCK,
	HIST_HELP,
	HIST_ASLEEP,
	HIST_KEY,		/* a call on a key; how: enum history_key, what: dxk_key_what */
};

enum history_post {
	POST_UNKNOWN,		/* the poster died in the call */
	POST_TAKEN,
	POST_REFUSED,
};

enum history_done {
	DONE_NOTHING,		/* without effect, or its member died in the call */
	DONE_TAKEN,
	DONE_STALE,
};

enum history_name {
	NAME_UNKNOWN,		/* the caller died in the call */
	NAME_FOUND,
	NAME_NONE,
};

enum history_key {
	KEY_UNKNOWN,		/* the caller died in the call */
	KEY_RETURNED,		/* status: what it returned */
};

#define HIST_NOBODY	(~0U)	/* no such request, no such space */
#define HIST_NO_KEY	0	/* of a request, or a turn */

struct history_event {
	uint64_t begin, end;	/* numbers */
	uint64_t ticket;	/* START, DONE, KEY: of the request that calls */
	uint32_t request;
	uint32_t owner;		/* of a rejoin: whose */
	uint32_t member;	/* index of who made the call */
	int32_t status;		/* DONE, RESULT, KEY */
	int32_t prio;		/* START, RESULT */
	uint32_t inspect;
	/* of the clock: START, RESULT: not before it was over; DONE: what is waited for */
	uint64_t time;
	/* of the clock: KEY, answers of a rejoin: when the call was to end */
	uint64_t deadline;
	uint32_t key;		/* START, KEY; DONE: the next one, with DXK_WAIT_MOVE */
	uint32_t wait;		/* DONE: DXK_WAIT_* */
	uint32_t awaited;	/* DONE: the owner that is waited for */
	uint16_t worker;	/* START, RESULT: thread id */
	uint16_t attempt;	/* START: which of its turn; RESULT: how many */
	uint16_t turn;		/* START: turns before that ended with waits */
	uint8_t wake;		/* START: DXK_WAKE_* */
	uint8_t kind;
	uint8_t how;		/* POST, DONE, CALL, CANCEL, KEY */
	uint8_t at;		/* RESULT: place in the array of its call */
	uint8_t what;		/* KEY */
	bool nested;		/* START: within the one that has its key */
	bool refuse;		/* KEY: HOLD that refuses posts */
};

/* Written before its post begins. */
struct history_request {
	uint32_t owner;		/* a number that no other owner of any space has */
	uint32_t space;		/* private to a process, or HIST_NOBODY: shared */
	uint32_t attrs;
	int32_t prio;
	uint32_t batch;		/* the first request of the same call */
	/* with PXR_WAIT what it waits for, with PXR_EXPIRE when it is to end */
	uint32_t wait, awaited;
	uint64_t deadline, expire;
	uint32_t key;		/* a number that no other key of any space has, or HIST_NO_KEY */
	uint8_t reentry;	/* enum dxk_reentry */
};

/* A member's or a space's end. Both 0: it has lived on. */
struct history_gone {
	uint64_t begin, end;
};

struct history {
	/* the policy */
	uint32_t redo_max;
	uint32_t quota[4];	/* of user workers, cumulative, at the full crew */
	bool ageing;
	bool waits;		/* requests wait, expire, have keys, and names: their numbers + 1 */
	uint32_t key_batch;

	/* when all had been at rest for long, and not all had ended; 0: all has ended */
	uint64_t over;

	_Atomic uint64_t clock;
	_Atomic uint32_t nr_requests, nr_events, nr_members, nr_spaces;
	uint32_t max_requests, max_events, max_members, max_spaces;
	struct history_request *request;
	struct history_event *event;
	struct history_gone *member;
	struct history_gone *space;
};

static inline uint64_t history_number(struct history *h)
{
	return ++h->clock;
}

/* All of it in memory that children share; history_free() unmaps it. */
struct history *history_new(uint32_t requests, uint32_t events, uint32_t members);
void history_free(struct history *h);

/* What the checker finds. */
enum history_error {
	HIST_LOST,		/* accepted, and not collected or not executed */
	HIST_GHOST,		/* executed or returned, but never accepted */
	HIST_RETURNED_TWICE,
	HIST_STARTED_TWICE,	/* beyond what PXR_REDO and redo_max allow */
	HIST_WRONG_RESULT,	/* not what its last execution ended with */
	HIST_WRONG_OWNER,	/* returned to another one */
	HIST_FALSE_NONE_EXIST,	/* while one existed all the time */
	HIST_FALSE_NONE_READY,	/* while a result lay there all the time */
	HIST_WRONG_ORDER,	/* returned before one that was completed earlier */
	HIST_INVERSION,		/* started before a more urgent one, or an equal older */
	HIST_WRONG_PRIO,	/* not as posted and aged */
	HIST_LANE_OVERRUN,
	HIST_STALE_TAKEN,	/* a completion of what the member does not hold */
	HIST_STALE_REFUSED,	/* ESTALE for what it does hold */
	HIST_WRONG_TURN,	/* not the next, or the one before did not end with a wait */
	HIST_WRONG_WAKE,	/* a turn for a reason that was none */
	HIST_TOO_EARLY,		/* before its time */
	HIST_WRONG_NAME,	/* found when there was none, or not when there was one */
	HIST_KEY_SHARED,	/* two turns of one key at once, and not one within the other */
	HIST_KEY_ORDER,		/* a turn before that of a more urgent one, or an equal older */
	HIST_KEY_IDLE,		/* nobody has a key, one is Held, and nothing happens any more */
	HIST_KEY_BURIED,	/* the same, and it was a dead worker's */
	HIST_WRONG_NEST,	/* executed within a turn that its caller does not wait for */
	HIST_WRONG_DEADLOCK,	/* EDEADLK without a circle, or for one that another was told of */
	HIST_NO_DEADLOCK,	/* a circle of which nobody was told */
	HIST_WRONG_NOTIFY,	/* a key handed over to another one than who waits for that */
	HIST_HOLD_BROKEN,	/* a turn, or a post, that a HOLD was to keep back */
	HIST_CANCEL_LOST,	/* a turn of one that a CANCEL of its key has met */
	HIST_ERRORS,
};

struct history_report {
	uint32_t nr[HIST_ERRORS];
	uint32_t total;
	/* how much there was to judge, so that an empty history shows */
	uint32_t accepted, starts, redone, returned, owner_dead, dropped;
	uint32_t none_exist, none_ready, stale, pairs;
	uint32_t ended_early, wakes[16];	/* first starts of turns, by reason */
	uint32_t keyed, nested, deadlocks, handed, kept, killed;
	char first[HIST_ERRORS][160];
	uint32_t request[HIST_ERRORS];	/* the one that @first is about */
	struct history_event told;	/* of HIST_WRONG_DEADLOCK the first call */
};

extern const char *const history_error_name[HIST_ERRORS];

void history_check(const struct history *h, struct history_report *report);

/*
 * Checks, and prints the first error of each name with all that its request went
 * through.
 */
bool history_clean(const struct history *h, struct history_report *report);

#endif /* HISTORY_H */
