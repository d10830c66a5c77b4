/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_DISPATCH_H
#define _DXK_DISPATCH_H

#include <linux/list.h>
#include <linux/llist.h>
#include <linux/types.h>

#include "request.h"

struct dxk_ctx;
struct dxk_member;
struct dxk_op;
struct dxk_owner;
struct task_struct;

/**
 * struct dxk_wakes - wake-ups collected under the context lock, done after it
 * @nr: tasks in @task
 * @work: worker members in poll(2) have something to look for
 * @sched: the Scheduler has Ready requests to age again
 * @sweep: thread 700 has something to do
 * @monitor: the Monitor has a worker to watch
 * @task: each referenced
 * @nr_members: members in @member
 * @member: members whose poll(2) has something to report; each referenced
 *
 * The arrays cover what a lock hold does by far most of the time; what they
 * cannot take is woken at once, which is slower but as correct.
 */
struct dxk_wakes {
	u32 nr;
	bool work;
	bool sched;
	bool sweep;
	bool monitor;
	u32 nr_members;
	struct task_struct *task[DXK_BATCH_MAX];
	struct dxk_member *member[8];
};

/**
 * struct dxk_waiter - a thread that sleeps until somebody else did its move
 * @link: (L) in the queue it sleeps in; empty otherwise
 * @task: the sleeper
 * @count: (L) how many sleep as it does; or NULL
 * @helper: (L) it may be called to execute a request meanwhile; or NULL
 * @since: (L) ktime when it was queued
 * @blocked: (L) counter that gets the time it slept, or NULL
 * @done: (L) to set, any time to read; the last thing that the mover touches,
 *	for the sleeper may be gone right after
 *
 * Every sleep in dxk has this form: the sleeper publishes what it wants, and
 * whoever holds the lock when it becomes possible does it on the sleeper's
 * behalf. So nothing is to be tested again after a wake-up, and no newcomer can
 * get between.
 */
struct dxk_waiter {
	struct list_head link;
	struct task_struct *task;
	u32 *count;
	struct dxk_helper *helper;
	u64 since;
	u64 *blocked;
	bool done;
};

/**
 * struct dxk_helper - a worker that can execute a request while it sleeps in a call
 * @link: (L) in dxk_crew.helpers[]
 * @m: the worker
 * @w: its sleep
 * @called: (L) to set, read by the worker when the sleep is over: its move was not
 *	made, but dxk_member.called has a request for it
 */
struct dxk_helper {
	struct list_head link;
	struct dxk_member *m;
	struct dxk_waiter *w;
	bool called;
};

typedef void dxk_op_fn(struct dxk_ctx *ctx, struct dxk_op *op,
		       struct dxk_wakes *wakes);

/**
 * struct dxk_op - one operation on the engine
 * @inbox: on the way to thread 700 (policy dispatch=thread)
 * @run: the operation; under the context lock
 * @ran: thread 700 has run it
 * @caller: who waits for @ran
 */
struct dxk_op {
	struct llist_node inbox;
	dxk_op_fn *run;
	bool ran;
	struct task_struct *caller;
};

/**
 * struct dxk_post_op - a post of one or more requests
 * @op: the operation
 * @w: sleeps in dxk_ready.posters[] while the next request has no room
 * @helper: for @w
 * @help: the poster can execute a request while it sleeps
 * @m: the poster
 * @rqes: POSTED requests that were not taken yet, in order
 * @arrival: orders sleeping posters of different lanes
 * @taken: requests that were taken
 * @err: why the first of @rqes was not taken, 0 if @rqes is empty
 * @reason: PXR_POOL_FULL.. that goes with @err
 */
struct dxk_post_op {
	struct dxk_op op;
	struct dxk_waiter w;
	struct dxk_helper helper;
	bool help;
	struct dxk_member *m;
	struct list_head rqes;
	u64 arrival;
	u32 taken;
	int err;
	u32 reason;
};

/**
 * struct dxk_rejoin_op - a rejoin poll or wait
 * @op: the operation
 * @w: sleeps in dxk_owner.pollers
 * @helper: for @w
 * @help: the poller can execute a request while it sleeps
 * @m: the poller
 * @owner: whose requests
 * @max: most to return
 * @min: sleeps until so many can be returned, if @wait
 * @wait: may sleep
 * @free: count the returned requests as collected at once: nothing can fail
 *	between this and the caller having them
 * @mine: requests of this owner that the poller itself executes: they cannot
 *	complete while it waits
 * @rqes: the requests returned
 * @nr: how many
 * @answer: RJR_*
 * @err: -EDEADLK or -ESHUTDOWN instead of an answer
 */
struct dxk_rejoin_op {
	struct dxk_op op;
	struct dxk_waiter w;
	struct dxk_helper helper;
	bool help;
	struct dxk_member *m;
	u64 owner;
	u32 max;
	u32 min;
	bool wait;
	bool free;
	u32 mine;
	struct list_head rqes;
	u32 nr;
	u32 answer;
	int err;
};

/**
 * struct dxk_settle_op - the end of a rejoin that copied results out
 * @op: the operation
 * @m: the poller
 * @copied: requests that are safely with the caller
 * @failed: requests that go back, in order
 */
struct dxk_settle_op {
	struct dxk_op op;
	struct dxk_member *m;
	struct list_head copied;
	struct list_head failed;
};

/**
 * struct dxk_next_op - a worker completes requests and takes more
 * @op: the operation
 * @w: sleeps in dxk_crew.idle[] or .parked[], or in dxk_owners.blocked
 * @m: the worker
 * @done: BUSY requests that it has executed, status set, in order
 * @ended: completed requests that nobody collects; the worker frees them
 * @work: DISPATCHED requests for it
 * @taken: how many of @done were taken
 * @max: most requests to take
 * @nr: requests in @work
 * @err: why there is none
 */
struct dxk_next_op {
	struct dxk_op op;
	struct dxk_waiter w;
	struct dxk_member *m;
	struct list_head done;
	struct list_head ended;
	struct list_head work;
	u32 taken;
	u32 max;
	u32 nr;
	int err;
};

/**
 * struct dxk_stop_op - Stop
 * @op: the operation
 * @w: sleeps in dxk_ctx.stoppers while requests execute
 * @cancel: cancel what is Ready
 * @close: the context is closed: do not wait for what executes
 */
struct dxk_stop_op {
	struct dxk_op op;
	struct dxk_waiter w;
	bool cancel;
	bool close;
};

/**
 * struct dxk_should_op - a member asks whether to end, and may sleep until so
 * @op: the operation
 * @w: sleeps in dxk_ctx.services
 * @m: the member
 * @wait: may sleep
 * @answer: it should
 */
struct dxk_should_op {
	struct dxk_op op;
	struct dxk_waiter w;
	struct dxk_member *m;
	bool wait;
	bool answer;
};

/* A list of requests to move, for operations that need no more. */
struct dxk_list_op {
	struct dxk_op op;
	struct dxk_member *m;
	struct list_head rqes;
	struct list_head ended;
};

/* A sleep that ended early. */
struct dxk_cancel_op {
	struct dxk_op op;
	struct dxk_waiter *w;
	bool done;
};

void dxk_waiter_init(struct dxk_waiter *w);
void dxk_waiter_queue(struct dxk_waiter *w, struct list_head *queue, u32 *count,
		      u64 *blocks, u64 *blocked_ns);
void dxk_waiter_help(struct dxk_waiter *w, struct dxk_helper *helper,
		     struct dxk_member *m);
void dxk_waiter_leave(struct dxk_waiter *w);
void dxk_waiter_finish(struct dxk_waiter *w, struct dxk_wakes *wakes);
int dxk_waiter_doze(struct dxk_waiter *w, u64 deadline);
int dxk_waiter_sleep_on(struct dxk_ctx *ctx, struct dxk_waiter *w, u64 deadline);

/**
 * dxk_waiter_sleep - sleep until the own move is made
 * @ctx: the context
 * @w: the caller's waiter, queued by the operation just performed or done by it
 * @deadline: of CLOCK_MONOTONIC
 *
 * Return: 0 when the move was made, else -ERESTARTSYS or -ETIMEDOUT, and nobody
 * will make it any more. A move that was made in the last moment wins.
 */
static inline int dxk_waiter_sleep(struct dxk_ctx *ctx, struct dxk_waiter *w,
				   u64 deadline)
{
	/* pairs with the release in dxk_waiter_finish() */
	if (likely(smp_load_acquire(&w->done)))
		return 0;
	return dxk_waiter_sleep_on(ctx, w, deadline);
}

bool dxk_publish(struct dxk_ctx *ctx, struct dxk_op *op, dxk_op_fn *run);
void dxk_wakes_flush(struct dxk_ctx *ctx, struct dxk_wakes *wakes);
void dxk_dispatch(struct dxk_ctx *ctx, struct dxk_wakes *wakes);
void dxk_wake_task(struct dxk_wakes *wakes, struct task_struct *task);
void dxk_wake_member(struct dxk_wakes *wakes, struct dxk_member *m);

static inline void dxk_wakes_init(struct dxk_wakes *wakes)
{
	wakes->nr = 0;
	wakes->nr_members = 0;
	wakes->work = false;
	wakes->sched = false;
	wakes->sweep = false;
	wakes->monitor = false;
}

/* What the role does; each beside the object it is about. */
dxk_op_fn dxk_post_run;		/* post.c */
dxk_op_fn dxk_rejoin_run;	/* rejoin.c */
dxk_op_fn dxk_settle_run;
dxk_op_fn dxk_next_run;		/* work.c */
dxk_op_fn dxk_return_run;
dxk_op_fn dxk_died_run;

void dxk_assign(struct dxk_ctx *ctx, struct dxk_member *m, struct dxk_rqe *rqe,
		struct list_head *work, struct dxk_wakes *wakes);
void dxk_relieve(struct dxk_ctx *ctx, struct dxk_wakes *wakes);
bool dxk_give_idle(struct dxk_ctx *ctx, enum dxk_kind kind,
		   struct dxk_wakes *wakes);
void dxk_serve_posters(struct dxk_ctx *ctx, struct dxk_wakes *wakes);
void dxk_sweep_posters(struct dxk_ctx *ctx, struct dxk_wakes *wakes);
void dxk_serve_freed(struct dxk_ctx *ctx, struct dxk_wakes *wakes);
void dxk_serve_blocked(struct dxk_ctx *ctx, struct dxk_wakes *wakes);
void dxk_complete(struct dxk_ctx *ctx, struct dxk_rqe *rqe, s32 status,
		  struct list_head *ended, struct dxk_wakes *wakes);
void dxk_cancel_ready(struct dxk_ctx *ctx, struct dxk_rqe *rqe,
		      struct list_head *ended, struct dxk_wakes *wakes);

u32 dxk_drop_results(struct dxk_ctx *ctx, struct dxk_owner *own, u32 max,
		     struct list_head *ended, struct dxk_wakes *wakes);

void dxk_stop_posters(struct dxk_ctx *ctx, struct dxk_wakes *wakes);
void dxk_stop_pollers(struct dxk_ctx *ctx, struct dxk_wakes *wakes);
bool dxk_out_of_work(const struct dxk_ctx *ctx);
void dxk_stop_workers(struct dxk_ctx *ctx, struct dxk_wakes *wakes);
void dxk_member_forget(struct dxk_ctx *ctx, struct dxk_member *m);

int dxk_next(struct dxk_next_op *n, u64 deadline);

int dxk_dispatcher_start(struct dxk_ctx *ctx);
void dxk_dispatcher_stop(struct dxk_ctx *ctx);

#endif /* _DXK_DISPATCH_H */
