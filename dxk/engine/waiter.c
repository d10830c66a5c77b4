// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sleeping and waking: what every move needs, see waiter.h.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "engine/engine.h"
#include "engine/os.h"
#include "engine/waiter.h"

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
void dxk_wakes_flush(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	u32 i;

	lockdep_assert_not_held(&e->lock);

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
		os_poll_workers(e);
	for (i = 0; unlikely(wakes->kick); i++, wakes->kick >>= 1)
		if (wakes->kick & 1)
			os_kick(e, i);
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
	struct dxk_engine *e = m->engine;

	if (w->helper || e->policy.on_block != DXK_ON_BLOCK_HELP ||
	    m->role != DXK_ROLE_WORKER || m->extra >= e->policy.help_depth)
		return;
	helper->m = m;
	helper->w = w;
	list_add(&helper->link, &e->crew.helpers[m->kind]);
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
