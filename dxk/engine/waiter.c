// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Sleeping and waking: what every move needs, see waiter.h.
 */
#include "engine/engine.h"
#include "engine/member.h"
#include "engine/fire.h"
#include "engine/os.h"
#include "engine/waiter.h"

/* --- waking ---------------------------------------------------------------- */

/* Loops leave over what does not fit into the arrays, see struct dxk_wakes. */

/* @task: held; the reference is passed on */
static void dxk_wake_held(struct dxk_wakes *wakes, struct task_struct *task)
{
	if (WARN_ON_ONCE(wakes->nr == ARRAY_SIZE(wakes->task)))
		os_wake_held(task);
	else
		wakes->task[wakes->nr++] = task;
}

void dxk_wake_member(struct dxk_wakes *wakes, struct dxk_member *m)
{
	/* A command handler is woken many times, for many commands. */
	if (wakes->nr_members && wakes->member[wakes->nr_members - 1] == m)
		return;
	if (WARN_ON_ONCE(wakes->nr_members == ARRAY_SIZE(wakes->member))) {
		os_poll_wake(m);
		return;
	}
	os_member_get(m);
	wakes->member[wakes->nr_members++] = m;
}

/* --- sleeping -------------------------------------------------------------- */

/**
 * dxk_waiter_queue - let a caller sleep
 * @w: the caller's waiter
 * @queue: where the maker of the move will find it; it enters at the tail
 * @queued: how many are in that queue; or NULL
 * @count: how many sleep for the same
 * @blocks: counter of such sleeps
 * @blocked_ns: counter of the time slept
 *
 * A sleeper that only changes its queue continues the sleep that it began.
 */
void dxk_waiter_queue(struct dxk_waiter *w, struct list_head *queue, u32 *queued,
		      u32 *count, u64 *blocks, u64 *blocked_ns)
{
	list_add_tail(&w->link, queue);
	if (w->count && w->queued)
		(*w->queued)--;
	w->queued = queued;
	if (queued)
		(*queued)++;
	if (w->count)
		return;
	w->count = count;
	(*count)++;
	(*blocks)++;
	w->blocked = blocked_ns;
	w->since = os_now();
}

/**
 * dxk_waiter_help - a sleeper may be called to execute a request meanwhile
 * @w: its waiter, queued
 * @helper: of the same operation
 * @m: the sleeper, a worker
 * @owner: the owner whose results it sleeps for; NULL: it sleeps for something else
 */
void dxk_waiter_help(struct dxk_waiter *w, struct dxk_helper *helper,
		     struct dxk_member *m, struct dxk_owner *owner)
{
	struct dxk_engine *e = m->engine;

	if (w->helper || e->policy.on_block != DXK_ON_BLOCK_HELP ||
	    m->role != DXK_ROLE_WORKER || m->marked || m->extra >= e->policy.help_depth)
		return;
	if (e->owns.own && !owner)
		return;
	helper->m = m;
	helper->w = w;
	helper->owner = e->owns.own ? owner : NULL;
	dxk_helper_enter(e, helper);
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
		dxk_helper_leave(w->helper->m->engine, w->helper);
	/* It may fall asleep anew. */
	w->helper = NULL;
	if (w->stuck)
		dxk_unstick(w->stuck);
	w->stuck = NULL;
	if (unlikely(w->catches))
		dxk_catcher_leave(w);
	if (w->blocked) {
		*w->blocked += os_now() - w->since;
		if (w->queued)
			(*w->queued)--;
	}
	w->blocked = NULL;
}

/** dxk_waiter_end - dxk_waiter_finish() for a caller that may sleep */
void dxk_waiter_end(struct dxk_waiter *w, struct dxk_wakes *wakes)
{
	struct task_struct *task = w->task;

	dxk_waiter_leave(w);
	if (task == os_self()) {
		w->done = true;
		return;
	}
	/* The sleeper may exit once it sees done, and must see it once it is woken. */
	os_hold(task);
	/* pairs with the load in os_doze() */
	smp_store_release(&w->done, true);
	dxk_wake_held(wakes, task);
}
