// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dispatcher is a role: whoever holds the context lock makes the move it came
 * for and then gives Ready requests to idle workers. Thread 700 is the fallback:
 * it takes over where a caller's share of work ends, sweeps now and then while
 * requests are Ready, and under policy dispatch=thread makes every move.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "move.h"
#include "role.h"

/* Most requests that one lock hold gives to idle workers. */
#define DXK_DISPATCH_BUDGET	DXK_BATCH_MAX
/* Most published operations that thread 700 runs in one lock hold. */
#define DXK_INBOX_BUDGET	16
#define DXK_SWEEP_MS		1000

/* --- waking ---------------------------------------------------------------- */

void dxk_wake_task(struct dxk_wakes *wakes, struct task_struct *task)
{
	if (wakes->nr == ARRAY_SIZE(wakes->task)) {
		wake_up_process(task);
		return;
	}
	get_task_struct(task);
	wakes->task[wakes->nr++] = task;
}

void dxk_wake_member(struct dxk_wakes *wakes, struct dxk_member *m)
{
	if (wakes->nr_members == ARRAY_SIZE(wakes->member)) {
		wake_up_interruptible_poll(&m->wait, EPOLLIN | EPOLLRDNORM);
		return;
	}
	dxk_member_get(m);
	wakes->member[wakes->nr_members++] = m;
}

/** dxk_wakes_flush - do the wake-ups of a lock hold that has ended */
void dxk_wakes_flush(struct dxk_ctx *ctx, struct dxk_wakes *wakes)
{
	u32 i;

	lockdep_assert_not_held(&ctx->lock);

	for (i = 0; i < wakes->nr; i++) {
		wake_up_process(wakes->task[i]);
		put_task_struct(wakes->task[i]);
	}
	for (i = 0; i < wakes->nr_members; i++) {
		wake_up_interruptible_poll(&wakes->member[i]->wait,
					   EPOLLIN | EPOLLRDNORM);
		dxk_member_put(wakes->member[i]);
	}
	if (wakes->work)
		wake_up_interruptible_poll(&ctx->crew.work_wait,
					   EPOLLIN | EPOLLRDNORM);
	if (unlikely(wakes->sched))
		dxk_thread_kick(&ctx->scheduler);
	if (unlikely(wakes->sweep))
		dxk_thread_kick(&ctx->dispatcher);
	if (unlikely(wakes->monitor))
		dxk_thread_kick(&ctx->monitor);
}

/* --- sleeping -------------------------------------------------------------- */

void dxk_waiter_init(struct dxk_waiter *w)
{
	INIT_LIST_HEAD(&w->link);
	w->task = current;
	w->count = NULL;
	w->helper = NULL;
	w->blocked = NULL;
	w->done = false;
}

/**
 * dxk_waiter_queue - let a caller sleep
 * @w: the caller's waiter
 * @queue: where whoever makes the move will find it; it enters at the tail
 * @count: how many sleep so
 * @blocks: counter of such sleeps
 * @blocked_ns: counter of the time slept
 *
 * A sleeper that only changes its queue goes on with the sleep that it began.
 */
void dxk_waiter_queue(struct dxk_waiter *w, struct list_head *queue, u32 *count,
		      u64 *blocks, u64 *blocked_ns)
{
	list_add_tail(&w->link, queue);
	if (w->count)
		return;
	w->count = count;
	(*count)++;
	(*blocks)++;
	w->blocked = blocked_ns;
	w->since = ktime_get_ns();
}

/**
 * dxk_waiter_help - a sleeper may be called to execute a request meanwhile
 * @w: its waiter, queued
 * @helper: of the same operation
 * @m: the sleeper, a worker
 */
void dxk_waiter_help(struct dxk_waiter *w, struct dxk_helper *helper,
		     struct dxk_member *m)
{
	struct dxk_ctx *ctx = m->ctx;

	if (w->helper || ctx->policy.on_block != DXK_ON_BLOCK_HELP ||
	    m->role != DXK_ROLE_WORKER || m->extra >= ctx->policy.help_depth)
		return;
	helper->m = m;
	helper->w = w;
	list_add(&helper->link, &ctx->crew.helpers[m->kind]);
	w->helper = helper;
}

/** dxk_waiter_leave - take a sleeper, if it is one, out of its queue */
void dxk_waiter_leave(struct dxk_waiter *w)
{
	if (list_empty(&w->link))
		return;
	list_del_init(&w->link);
	if (w->count)
		(*w->count)--;
	w->count = NULL;
	if (unlikely(w->helper))
		list_del(&w->helper->link);
	w->helper = NULL;
	if (w->blocked)
		*w->blocked += ktime_get_ns() - w->since;
	w->blocked = NULL;
}

/**
 * dxk_waiter_finish - the move that a caller waits for has been made
 * @w: its waiter; gone when this returns, unless it is the running caller's own
 * @wakes: gets the wake-up
 */
void dxk_waiter_finish(struct dxk_waiter *w, struct dxk_wakes *wakes)
{
	struct task_struct *task = w->task;

	dxk_waiter_leave(w);
	if (task == current) {
		w->done = true;
		return;
	}
	/* The reference is taken first: the sleeper may exit once it sees done. */
	dxk_wake_task(wakes, task);
	/* pairs with the load in dxk_waiter_doze() */
	smp_store_release(&w->done, true);
}

/**
 * dxk_waiter_doze - sleep until the move is made, a signal comes or time is up
 * @w: the caller's waiter
 * @deadline: of CLOCK_MONOTONIC
 *
 * Return: 0 when the move was made. Else the caller takes the waiter out of its
 * queue, under the lock of that queue, unless the move was made meanwhile.
 *
 * Time goes before signals: a call that is not to sleep has no sleep that one could
 * end, and a wait that signals restart again and again ends in time all the same.
 */
int dxk_waiter_doze(struct dxk_waiter *w, u64 deadline)
{
	unsigned int state = current->flags & PF_KTHREAD ? TASK_IDLE :
							   TASK_INTERRUPTIBLE;
	ktime_t until = ns_to_ktime(min_t(u64, deadline, KTIME_MAX));
	int err = 0;

	/* Who was just woken may run at once, and what it does end this wait. */
	cond_resched();
	for (;;) {
		set_current_state(state);
		/* pairs with the release in dxk_waiter_finish() */
		if (smp_load_acquire(&w->done))
			break;
		if (err)
			break;
		if (signal_pending_state(state, current)) {
			err = ktime_get_ns() < deadline ? -ERESTARTSYS : -ETIMEDOUT;
			break;
		}
		if (!schedule_hrtimeout_range(deadline == DXK_FOREVER ? NULL : &until,
					      current->timer_slack_ns,
					      HRTIMER_MODE_ABS))
			err = -ETIMEDOUT;
	}
	__set_current_state(TASK_RUNNING);
	return smp_load_acquire(&w->done) ? 0 : err;
}

static void dxk_cancel_run(struct dxk_ctx *ctx, struct dxk_op *op,
			   struct dxk_wakes *wakes)
{
	struct dxk_cancel_op *c = container_of(op, struct dxk_cancel_op, op);

	c->done = c->w->done;
	if (c->done)
		return;
	dxk_waiter_leave(c->w);
	/*
	 * It may have been the head of a queue of posters that waits for what the
	 * one behind it does not need, a Rejoin Pool entry.
	 */
	dxk_serve_posters(ctx, wakes);
	/* It may have been an idle worker that was safe to leave alone. */
	if (ctx->monitor.parked) {
		ctx->monitor.parked = false;
		wakes->monitor = true;
	}
}

/** dxk_waiter_sleep_on - dxk_waiter_sleep() when the move is still to be made */
int dxk_waiter_sleep_on(struct dxk_ctx *ctx, struct dxk_waiter *w, u64 deadline)
{
	struct dxk_cancel_op c;
	int err;

	err = dxk_waiter_doze(w, deadline);
	if (!err)
		return 0;
	c.w = w;
	dxk_perform(ctx, &c.op, dxk_cancel_run);
	return c.done ? 0 : err;
}

/* --- the role -------------------------------------------------------------- */

/**
 * dxk_dispatch - give Ready requests to idle workers (DX-77)
 * @ctx: the context, locked
 * @wakes: gets the wake-ups
 *
 * Ends every lock hold in which a request or a worker became available.
 */
void dxk_dispatch(struct dxk_ctx *ctx, struct dxk_wakes *wakes)
{
	u32 budget = DXK_DISPATCH_BUDGET;
	u64 posts;
	u32 kind;

	lockdep_assert_held(&ctx->lock);

	if (ctx->owners.freed)
		dxk_serve_freed(ctx, wakes);
	do {
		posts = ctx->stats.posts;
		for (kind = 0; kind < DXK_KINDS; kind++) {
			struct list_head *idle = &ctx->crew.idle[kind];

			while (ctx->ready.filled[kind] && !list_empty(idle)) {
				if (!budget--) {
					wakes->sweep = true;
					return;
				}
				if (!dxk_give_idle(ctx, kind, wakes))
					break;
			}
		}
		if (dxk_ready_empty(&ctx->ready))
			return;
		if (unlikely(ctx->policy.on_block))
			dxk_relieve(ctx, wakes);
		/* Whom an entry that became free let in may be of the kind before. */
	} while (unlikely(ctx->stats.posts != posts));

	/* A backlog: there is something to age, to sweep and to poll for. */
	if (unlikely(ctx->scheduler.parked)) {
		ctx->scheduler.parked = false;
		wakes->sched = true;
	}
	if (unlikely(ctx->dispatcher.parked)) {
		ctx->dispatcher.parked = false;
		wakes->sweep = true;
	}
	if (ctx->ready.filled[DXK_USER] && waitqueue_active(&ctx->crew.work_wait))
		wakes->work = true;
}

/**
 * dxk_publish - hand an operation to thread 700 and wait until it has run
 * @ctx: the context
 * @op: the operation
 * @run: what to do
 *
 * The wait is bounded by the dispatcher's latency, so no signal ends it.
 * Return: false when callers take the role themselves after all.
 */
bool dxk_publish(struct dxk_ctx *ctx, struct dxk_op *op, dxk_op_fn *run)
{
	op->run = run;
	op->ran = false;
	op->caller = current;

	/*
	 * dxk_dispatcher_stop() sets direct and waits for readers before the
	 * thread empties its inbox for the last time.
	 */
	rcu_read_lock();
	if (READ_ONCE(ctx->direct)) {
		rcu_read_unlock();
		return false;
	}
	llist_add(&op->inbox, &ctx->inbox);
	rcu_read_unlock();
	dxk_thread_kick(&ctx->dispatcher);

	for (;;) {
		set_current_state(current->flags & PF_KTHREAD ?
				  TASK_IDLE : TASK_UNINTERRUPTIBLE);
		/* pairs with the release in dxk_inbox_run() */
		if (smp_load_acquire(&op->ran))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return true;
}

/* Run published operations in their order, some per lock hold. */
static void dxk_inbox_run(struct dxk_ctx *ctx)
{
	struct llist_node *node = llist_reverse_order(llist_del_all(&ctx->inbox));
	struct dxk_op *batch[DXK_INBOX_BUDGET];
	struct dxk_wakes wakes __uninitialized;
	u32 i, nr;

	while (node) {
		nr = 0;
		dxk_wakes_init(&wakes);
		spin_lock(&ctx->lock);
		while (node && nr < DXK_INBOX_BUDGET) {
			struct dxk_op *op = llist_entry(node, struct dxk_op, inbox);

			node = node->next;
			op->run(ctx, op, &wakes);
			batch[nr++] = op;
		}
		dxk_dispatch(ctx, &wakes);
		spin_unlock(&ctx->lock);

		for (i = 0; i < nr; i++) {
			struct task_struct *caller = batch[i]->caller;

			get_task_struct(caller);
			/* pairs with the load in dxk_publish() */
			smp_store_release(&batch[i]->ran, true);
			wake_up_process(caller);
			put_task_struct(caller);
		}
		dxk_wakes_flush(ctx, &wakes);
		cond_resched();
	}
}

/*
 * Look whether a dispatch was missed. @asked: a caller handed over the rest of
 * its work, so that finding some is expected.
 */
static void dxk_sweep(struct dxk_ctx *ctx, bool asked)
{
	struct dxk_wakes wakes __uninitialized;
	u64 before;

	dxk_wakes_init(&wakes);
	spin_lock(&ctx->lock);
	before = ctx->stats.dispatches;
	dxk_sweep_posters(ctx, &wakes);
	dxk_dispatch(ctx, &wakes);
	if (!asked && ctx->stats.dispatches != before)
		ctx->stats.missed_wakeups++;
	/* Not when asked: a pool that empties and fills is one backlog. */
	ctx->dispatcher.parked = !asked && dxk_ready_empty(&ctx->ready);
	spin_unlock(&ctx->lock);
	dxk_wakes_flush(ctx, &wakes);
}

static int dxk_dispatcher_fn(void *arg)
{
	struct dxk_ctx *ctx = arg;
	struct dxk_thread *t = &ctx->dispatcher;

	complete(&t->running);
	while (!kthread_should_stop()) {
		bool asked = xchg(&t->kicked, false);

		dxk_inbox_run(ctx);
		dxk_sweep(ctx, asked);
		dxk_thread_wait(t, READ_ONCE(t->parked) ? DXK_PARK :
				   ctx->policy.dispatch_interval_ms ?: DXK_SWEEP_MS);
	}
	dxk_inbox_run(ctx);
	return 0;
}

int dxk_dispatcher_start(struct dxk_ctx *ctx)
{
	int err;

	err = dxk_thread_start(&ctx->dispatcher, dxk_dispatcher_fn, ctx,
			       DXK_ID_DISPATCHER, "dispatch");
	if (!err)
		WRITE_ONCE(ctx->direct,
			   ctx->policy.dispatch == DXK_DISPATCH_DIRECT);
	return err;
}

void dxk_dispatcher_stop(struct dxk_ctx *ctx)
{
	if (!READ_ONCE(ctx->direct)) {
		WRITE_ONCE(ctx->direct, true);
		/* see dxk_publish() */
		synchronize_rcu();
	}
	dxk_thread_stop(&ctx->dispatcher);
}
