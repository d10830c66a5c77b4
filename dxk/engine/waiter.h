/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Sleeping and waking. Every sleep in dxk has one form: the sleeper publishes what it
 * wants, and the lock holder that makes this possible does it on the sleeper's behalf.
 * Wake-ups are collected under the lock and done after it.
 */
#ifndef _DXK_ENGINE_WAITER_H
#define _DXK_ENGINE_WAITER_H

#include "engine/os.h"
#include "uapi/dxk.h"

struct dxk_engine;
struct dxk_member;
struct dxk_op;
struct dxk_owner;
struct task_struct;

/*
 * Limit of the work that one lock hold may do in addition to the operation that it was taken
 * for, in units of two steps. A step is a move of a request, a look at a sleeper, or a wake-up.
 * The operation alone makes some 130 at most, and both together no more than DXK_HOLD_STEPS.
 */
#define DXK_HOLD_BUDGET		60
#define DXK_HOLD_STEPS		256

/**
 * struct dxk_wakes - what a lock hold has done and leaves to do after it
 *
 * If the work that a move makes possible is unbounded, no lock hold does all of it. Examples
 * are to end the sleep of all posters, or to notify all waiters of one owner. Each loop over
 * sleepers calls dxk_afford() first. The work left over is either continued by the operation
 * itself, which is then performed again, or owed: dxk_afford_or_owe() ensures that another
 * hold follows, by thread 700 while it runs, else by the same caller.
 *
 * No sleeper is forgotten, as the state shows the next hold what is still to do:
 * posters while dxk_ready.left is set, or posters that are shut out; blocked workers for
 * which there are entries; idle workers of a context that is out of work; managers that
 * are needed; see dxk_catch_up(). Owners whose pollers and watchers were not all
 * looked at are in dxk_owners.owed.
 */
struct dxk_wakes {
	/** @spent: used part of %DXK_HOLD_BUDGET */
	u32 spent;
	/** @nr: tasks in @task */
	u8 nr;
	/** @nr_members: members in @member */
	u8 nr_members;
	/** @bin: files are in a bin that was empty */
	bool bin;
	/** @work: worker members in poll(2) have something to look for */
	bool work;
	/**
	 * @kick: bits of enum dxk_control_id: control threads that have something to do;
	 * %DXK_MYSELF for the caller
	 */
	u8 kick;
	/** @task: each referenced */
	struct task_struct *task[DXK_BATCH_MAX];
	/** @member: members whose poll(2) has something to report; each referenced */
	struct dxk_member *member[8];
};

/**
 * struct dxk_waiter - a thread that sleeps until another one has made its move
 *
 * Every sleep in dxk is such a hand-off: the sleeper publishes what it wants, and
 * the lock holder that makes this possible does it on the sleeper's behalf.
 * Therefore a woken thread tests nothing again, and no newcomer can overtake it.
 */
struct dxk_waiter {
	/** @link: (L) in the queue it sleeps in; empty otherwise */
	struct list_head link;
	/** @task: the sleeper */
	struct task_struct *task;
	/** @count: (L) how many sleep as it does; or NULL */
	u32 *count;
	/** @queued: (L) while @blocked is set: how many are in its queue; or NULL */
	u32 *queued;
	/** @stuck: (L) the member, if what it waits for is in dxk_member.stuck; or NULL */
	struct dxk_member *stuck;
	/** @helper: (L) it may be, or was, called to execute a request meanwhile; or NULL */
	struct dxk_helper *helper;
	/** @catches: (L) the engine that has it as dxk_waits.catcher; or NULL */
	struct dxk_engine *catches;
	/** @since: (L) ktime when it was queued */
	u64 since;
	/** @blocked: (L) counter that gets the time it slept, or NULL */
	u64 *blocked;
	/**
	 * @done: (L) to set, any time to read. The mover touches nothing after it, as the
	 * sleeper may be gone right after
	 */
	bool done;
};

/**
 * struct dxk_helper - a worker that can execute a request while it sleeps in a call
 */
struct dxk_helper {
	/** @link: (L) in the ring of dxk_owner.helper[] of @owner, or in dxk_crew.helpers[] */
	struct list_head link;
	/** @caller: (L) dxk_owner.helper[]: in dxk_owns.callers, if @owner has READY requests */
	struct list_head caller;
	/** @owner: (L) it executes requests of this owner only; NULL: any */
	struct dxk_owner *owner;
	/** @m: the worker */
	struct dxk_member *m;
	/** @w: its sleep */
	struct dxk_waiter *w;
	/**
	 * @called: (L) to set, read by the worker when the sleep is over: its move was
	 * not made, but dxk_member.called has a request for it
	 */
	bool called;
};

typedef void dxk_op_fn(struct dxk_engine *e, struct dxk_op *op,
		       struct dxk_wakes *wakes);

/**
 * struct dxk_op - one operation on the engine
 */
struct dxk_op {
	/** @inbox: on the way to thread 700 (policy dispatch=thread) */
	struct llist_node inbox;
	/** @run: the operation; under the context lock */
	dxk_op_fn *run;
	/** @ran: thread 700 has run it */
	bool ran;
	/** @caller: the task that waits for @ran */
	struct task_struct *caller;
};

/* A list of requests to move, for operations that need no more. */
struct dxk_list_op {
	struct dxk_op op;
	struct dxk_member *m;
	struct list_head rqes;
	struct list_head ended;
	bool more;	/* to be performed again */
};

void dxk_wake_member(struct dxk_wakes *wakes, struct dxk_member *m);

static inline void dxk_wakes_init(struct dxk_wakes *wakes)
{
	wakes->spent = 0;
	wakes->nr = 0;
	wakes->nr_members = 0;
	wakes->bin = false;
	wakes->work = false;
	wakes->kick = 0;
}

/* Is there something to do after the lock hold? */
static inline bool dxk_wakes_any(const struct dxk_wakes *wakes)
{
	return wakes->nr | wakes->nr_members | wakes->bin | wakes->work | wakes->kick;
}

/**
 * dxk_afford - may the lock hold go on?
 * @wakes: of the hold
 * @cost: of what is next, no more than %DXK_HOLD_BUDGET
 *
 * For an operation that is performed again until all is done; others call
 * dxk_afford_or_owe().
 */
static inline bool dxk_afford(struct dxk_wakes *wakes, u32 cost)
{
	if (unlikely(wakes->spent + cost > DXK_HOLD_BUDGET))
		return false;
	wakes->spent += cost;
	return true;
}

/** dxk_wakes_room - for holds of other locks: may it end one more sleep? */
static inline bool dxk_wakes_room(const struct dxk_wakes *wakes)
{
	return wakes->nr < ARRAY_SIZE(wakes->task);
}

void dxk_waiter_queue(struct dxk_waiter *w, struct list_head *queue, u32 *queued,
		      u32 *count, u64 *blocks, u64 *blocked_ns);
void dxk_waiter_help(struct dxk_waiter *w, struct dxk_helper *helper,
		     struct dxk_member *m, struct dxk_owner *owner);
void dxk_waiter_leave(struct dxk_waiter *w);
void dxk_waiter_end(struct dxk_waiter *w, struct dxk_wakes *wakes);

static inline void dxk_waiter_init(struct dxk_waiter *w)
{
	INIT_LIST_HEAD(&w->link);
	w->task = os_self();
	w->count = NULL;
	w->stuck = NULL;
	w->catches = NULL;
	w->helper = NULL;
	w->blocked = NULL;
	w->done = false;
}

/**
 * dxk_waiter_finish - the move that a caller waits for has been made
 * @w: its waiter; gone when this returns, unless it is the running caller's own
 * @wakes: gets the wake-up
 */
static inline void dxk_waiter_finish(struct dxk_waiter *w, struct dxk_wakes *wakes)
{
	/* Mostly the caller itself, which need not sleep. */
	if (likely(w->task == os_self() && list_empty(&w->link)))
		w->done = true;
	else
		dxk_waiter_end(w, wakes);
}

#endif /* _DXK_ENGINE_WAITER_H */
