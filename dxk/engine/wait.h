/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * A request can wait without a thread: a turn ends with "wait until ..." instead of a result,
 * or the request is posted so. It becomes Ready again, with one reason, by the first of what
 * it waits for: a time, a call by its name, a result of an owner, the end of all that the
 * owner has coming.
 *
 * Invariants, all under the lock:
 *   a WAITING request is in one of @line, or in none but dxk_ready.ripe. One that is Held has
 *   nothing else to wait for but its key, see key.h. Of the others: if its space is
 *   private in dxk_space.waiting; if it waits for an owner in that one's joiners, or what it
 *   waits for has happened and it is in @joined, which the end of the same hold empties, or
 *   owes; it has no worker and no lane
 *   a call is a latch: kept, in any state, until a wait for a call takes note. All else that
 *   can end a wait is a state that the hold which begins the wait looks at. So no wake is lost
 *   a request is in the tree of alarms exactly while dxk_more.at is a time. In the tree is
 *   who waits for a time, or expires; dxk_alarm_set() alone changes it
 *   the names of a space are unique among the requests that have not ended
 *   who was posted waiting enters the pool only where there is room. It is ripe until then,
 *   and comes before all who sleep for room. Who was begun has been admitted: it enters at
 *   once, be the pool full
 *   nothing ends or resumes a request from within the end of another one: chains of joins
 *   have any length. Who waits %DXK_WAIT_EAGER has the worker that ends the last one for its
 *   next, in the same hold: it is no dispatch that somebody else could come before
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

/* Looks for circles that the waits of a hold may take together, see cycle.h. */
#define DXK_WAIT_SEARCHES	64

/*
 * Where a request waits. Who changes its line goes to a further one, at its end: whoever
 * looks at one line after the other meets all.
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
	/** @on: (A) policy max_waiting is not 0; for who asks without the lock */
	bool on;
	/** @unbegun: (L) those that were posted waiting, and do; policy max_waiting bounds them */
	u32 unbegun;
	/** @line: (L) struct dxk_rqe, by enum dxk_line */
	struct list_head line[DXK_LINES];
	/** @joined: (L) struct dxk_more that wait for an owner, for whom that has happened */
	struct list_head joined;
	/**
	 * @eager: (L) of those the ones that are to follow at once upon what was completed in
	 * this hold; empty between two holds
	 */
	struct list_head eager;
	/** @alarms: (L) struct dxk_more by time */
	struct rb_root_cached alarms;
	/** @files: (L) requests that wait for files */
	u32 files;
	/** @fired: events that no hold has looked at */
	struct llist_head fired;
	/**
	 * @call: (L) to set, any time to read: whom who fires is to wake, see fire.h: a worker,
	 * %DXK_CALL_DISPATCHER, or NULL: nobody
	 */
	struct task_struct *call;
	/** @catcher: (L) the sleep of that worker, in dxk_crew.idle; or NULL */
	struct dxk_waiter *catcher;
	/** @polled: (L) workers ask by poll(2) for what there is to do */
	bool polled;
	/** @firing: (L) of these the oldest, in their order */
	struct llist_node *firing;
	/** @planned: (L) when thread 700 looks at @alarms next, if nobody kicks it */
	u64 planned;
	/** @bucket: (L) hash of names, and behind it, as large, that of keys */
	struct hlist_head *bucket;
	/** @bits: (L) log2 of the number of buckets of each */
	u32 bits;
	/** @searches: (L) looks for circles that the waits of this hold may still take */
	u32 searches;
	/** @unsure: (A) a search for a circle has given up, see circle.h */
	bool unsure;
	/** @arrivals: (L) times that a request has come to a key */
	u64 arrivals;
	/** @recent: (L) the key that was asked for last, if it lives, or NULL */
	struct dxk_key *recent;
	/** @keys: (L) records for the next keys */
	struct dxk_stash keys;
	/** @holds: (L) struct dxk_key that are held back; each counts as one of @unbegun */
	struct list_head holds;
	/** @callers: (L) struct dxk_key_op that sleep until their request has its key */
	struct list_head callers;
	/** @outers: (L) struct dxk_rejoin_op that end when nothing is nested in their work */
	struct list_head outers;
	/** @rising: (L) those of them that are to be looked at: that may have come to be */
	struct list_head rising;
	/** @seed: (L) keeps a program from choosing names that collide */
	u64 seed;
};

/** dxk_waits_bucket - where in the hash of names; that of keys begins 1 << @bits behind it */
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
void dxk_wait_post(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes);
int dxk_park(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes);
void dxk_resume(struct dxk_engine *e, struct dxk_rqe *rqe, u8 reason,
		struct dxk_wakes *wakes);
void dxk_wait_leave(struct dxk_engine *e, struct dxk_rqe *rqe, u64 at,
		    struct dxk_wakes *wakes);
void dxk_wait_end(struct dxk_engine *e, struct dxk_rqe *rqe, u8 reason, struct dxk_wakes *wakes);
bool dxk_has_ripe(const struct dxk_engine *e, u32 lane);
void dxk_admit_ripe(struct dxk_engine *e, struct dxk_wakes *wakes);
void dxk_owner_join(struct dxk_engine *e, struct dxk_owner *owner);
void dxk_serve_joined(struct dxk_engine *e, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_WAIT_H */
