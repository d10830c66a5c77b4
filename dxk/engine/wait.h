/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * A request can wait without a thread: a turn ends with "wait until ..." instead of a result,
 * or the request is posted waiting. The first of the events that it waits for makes it Ready
 * again, with one reason: a time, a call by its name, a result of an owner, the end of all
 * requests that the owner has coming.
 *
 * Invariants, all under the lock:
 *   a WAITING request is in one of @line, or in none but dxk_ready.ripe. One that is Held
 *   waits for nothing but its key, see key.h. Any other is in dxk_space.waiting if its space is
 *   private. If it waits for an owner it is in that owner's joiners; or the event has happened
 *   and it is in @joined, which the end of the same hold empties, or owes. It has no worker
 *   and no lane
 *   a call is a latch: it is kept, in any state, until a wait for a call consumes it. All other
 *   events that can end a wait are states that the hold which begins the wait looks at.
 *   Therefore no wake is lost
 *   a request is in the tree of alarms exactly while dxk_more.at is a time. The tree contains
 *   the requests that wait for a time, or expire; dxk_alarm_set() alone changes it
 *   the names of a space are unique among the requests that have not ended
 *   a request that was posted waiting enters the pool only where there is room for it, as for a
 *   post of its user to its lane: in the pool, in the lane, in the user's share. It is ripe until
 *   then, and precedes all posters that sleep for room. Those of a lane and a share enter in the
 *   order in which they became ripe. An entry that becomes free goes to the longest ripe one
 *   among the first ones of these for which there is room: neither a full lane nor a user that
 *   has all of its share holds up others. Whenever the lock is free and nothing is left over, no
 *   first one has room. A request that was begun has been admitted: it enters at once, even if
 *   the pool is full
 *   nothing ends or resumes a request from within the end of another one: chains of joins
 *   have any length. A request that waits with %DXK_WAIT_EAGER gets the worker that ends the
 *   last awaited one, as its next request, in the same hold: no other dispatch can precede it
 */
#ifndef _DXK_ENGINE_WAIT_H
#define _DXK_ENGINE_WAIT_H

#include "engine/os.h"
#include "engine/stash.h"
#include "uapi/dxk.h"

struct dxk_engine;
struct dxk_key;
struct dxk_member;
struct dxk_more;
struct dxk_owner;
struct dxk_rqe;
struct dxk_space;
struct dxk_waiter;
struct dxk_wakes;
struct task_struct;

/* In dxk_waits.call: thread 700 */
#define DXK_CALL_DISPATCHER	((struct task_struct *)1)

/* Maximum of looks for circles by all waits of a hold together, see cycle.h. */
#define DXK_WAIT_SEARCHES	64

/*
 * Where a request waits. A request that changes its line moves to the end of a later one, so
 * that a search of one line after the other finds all.
 */
enum dxk_line {
	DXK_LINE_SERVICE,	/* of lane 0: every Stop wakes it */
	DXK_LINE_WORK,		/* Stop(drain) waits for it */
	DXK_LINE_KEPT,		/* Stop has found its wait masked; by kind */
	DXK_LINES = DXK_LINE_KEPT + 2,
};

/**
 * struct dxk_waits - the requests of a context that wait
 */
struct dxk_waits {
	/** @on: (A) policy max_waiting is not 0; for readers without the lock */
	bool on;
	/** @unbegun: (L) requests that were posted waiting, and do; at most policy max_waiting */
	u32 unbegun;
	/** @line: (L) struct dxk_rqe, by enum dxk_line */
	struct list_head line[DXK_LINES];
	/** @joined: (L) struct dxk_more that wait for an owner, and whose event has happened */
	struct list_head joined;
	/**
	 * @eager: (L) of those, the ones that are to follow the requests completed in this
	 * hold at once; empty between two holds
	 */
	struct list_head eager;
	/** @alarms: (L) struct dxk_more by time */
	struct rb_root_cached alarms;
	/** @files: (L) requests that wait for files */
	u32 files;
	/** @fired: events that no hold has looked at yet */
	struct llist_head fired;
	/**
	 * @call: (L) to set, any time to read: the task that the firing context is to wake, see
	 * fire.h: a worker, %DXK_CALL_DISPATCHER, or NULL: nobody
	 */
	struct task_struct *call;
	/** @catcher: (L) the sleep of that worker, in dxk_crew.idle; or NULL */
	struct dxk_waiter *catcher;
	/** @polled: (L) workers use poll(2) to learn of work */
	bool polled;
	/** @firing: (L) the oldest of the events in @fired, in their order */
	struct llist_node *firing;
	/** @planned: (L) when thread 700 looks at @alarms next, if nobody kicks it */
	u64 planned;
	/** @bucket: (L) hash of names, followed by the hash of keys, which has the same size */
	struct hlist_head *bucket;
	/** @bits: (L) log2 of the number of buckets of each */
	u32 bits;
	/** @shut: (L) one became Held that the policy has closed, see enforce.h */
	bool shut;
	/** @searches: (L) looks for circles that the waits of this hold may still take */
	u32 searches;
	/** @unsure: (A) a search for a circle has given up, see circle.h */
	bool unsure;
	/** @arrivals: (L) how often a request has arrived at a key */
	u64 arrivals;
	/** @recent: (L) the key that was requested last, if it lives, or NULL */
	struct dxk_key *recent;
	/** @keys: (L) records for the next keys */
	struct dxk_stash keys;
	/** @holds: (L) struct dxk_key that are held back; each counts as one of @unbegun */
	struct list_head holds;
	/** @callers: (L) struct dxk_key_op that sleep until their request has its key */
	struct list_head callers;
	/** @outers: (L) struct dxk_rejoin_op that end when nothing is nested in their work */
	struct list_head outers;
	/** @rising: (L) those of @outers that are to be looked at, as that may now be so */
	struct list_head rising;
	/** @seed: (L) keeps a program from choosing names that collide */
	u64 seed;
};

/** dxk_waits_bucket - a bucket of the hash of names; that of keys is 1 << @bits behind it */
static inline struct hlist_head *dxk_waits_bucket(const struct dxk_waits *waits, u32 space,
						  u64 name)
{
	return &waits->bucket[os_hash(name, space, waits->seed) >> (32 - waits->bits)];
}

int dxk_more_make(struct dxk_member *m, struct dxk_rqe *rqe, const struct dxk_post_more *p);
int dxk_wait_set(struct dxk_member *m, struct dxk_rqe *rqe, const struct dxk_wait *wait);
int dxk_wait_check(const struct dxk_wait *wait, bool named);

void dxk_waits_init(struct dxk_waits *waits);
int dxk_post_wait(struct dxk_engine *e, struct dxk_rqe *rqe, const struct dxk_space *space);
void dxk_wait_refused(struct dxk_engine *e, const struct dxk_rqe *rqe);
void dxk_wait_post(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes);
int dxk_park(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes);
void dxk_resume(struct dxk_engine *e, struct dxk_rqe *rqe, u8 reason,
		struct dxk_wakes *wakes);
void dxk_wait_leave(struct dxk_engine *e, struct dxk_rqe *rqe, u64 at,
		    struct dxk_wakes *wakes);
void dxk_wait_end(struct dxk_engine *e, struct dxk_rqe *rqe, u8 reason, struct dxk_wakes *wakes);
bool dxk_has_ripe(const struct dxk_engine *e, u32 share, u32 lane);
void dxk_admit_ripe(struct dxk_engine *e, struct dxk_wakes *wakes);
void dxk_owner_join(struct dxk_engine *e, struct dxk_owner *owner);
void dxk_serve_joined(struct dxk_engine *e, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_WAIT_H */
