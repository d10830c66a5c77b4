// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Wake and cancel requests: by their names, and when their time has come.
 */
#include "engine/alarm.h"
#include "engine/cancel.h"
#include "engine/engine.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/next.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/wake.h"

/* --- names ------------------------------------------------------------------- */

/** dxk_wake_names_run - call requests: a call ends a wait for one, or is kept for the next wait */
void dxk_wake_names_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_names_op *n = container_of(op, struct dxk_names_op, op);

	for (; n->next < n->nr && dxk_afford(wakes, 1); n->next++) {
		struct dxk_rqe *rqe = dxk_name_find(e, n->m->space, n->names[n->next]);

		if (!rqe)
			continue;
		n->found++;
		dxk_step(e);
		if (dxk_rqe_state(rqe) == DXK_WAITING && !rqe->more->ripe &&
		    rqe->more->wait.wait & DXK_WAIT_CALL)
			dxk_resume(e, rqe, DXK_WAKE_CALL, wakes);
		else
			rqe->more->latched = true;
	}
	n->more = n->next < n->nr;
}

/** dxk_cancel_names_run - end requests, or notify them to end: each may wake sleepers */
void dxk_cancel_names_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_names_op *n = container_of(op, struct dxk_names_op, op);

	for (; n->next < n->nr && dxk_afford(wakes, 1); n->next++) {
		struct dxk_rqe *rqe = dxk_name_find(e, n->m->space, n->names[n->next]);
		u32 state = DXK_CANCEL_NONE;

		if (rqe)
			state = dxk_tell(e, rqe, DXK_WAKE_CANCEL, &n->ended, wakes);
		n->found += !!rqe;
		if (n->states)
			n->states[n->next] = state;
	}
	n->more = n->next < n->nr;
	/* Ready requests that ended have left room. */
	dxk_serve_posters(e, wakes);
	if (unlikely(e->state == DXK_CTX_STOPPING))
		dxk_stop_workers(e, wakes);
}

/* --- events ------------------------------------------------------------------- */

/* The event is no longer in the list. */
static void dxk_event_happens(struct dxk_engine *e, struct dxk_event *event,
			      struct dxk_wakes *wakes)
{
	struct dxk_more *more;

	/* A full barrier: a context that fires from here on enters the event in the list again. */
	xchg(&event->pending, 0);
	more = event->more;
	if (!more || dxk_rqe_state(more->rqe) != DXK_WAITING || more->ripe ||
	    !(more->wait.wait & DXK_WAIT_FILE) || !READ_ONCE(event->seen))
		return;
	more->events = xchg(&event->seen, 0);
	dxk_resume(e, more->rqe, DXK_WAKE_FILE, wakes);
}

/*
 * Most events that one lock hold looks at. However many fire without end, the rest of its budget is
 * for what else it does, such as the move that it was taken for, and times that have come.
 */
#define DXK_FIRED_MAX	(DXK_HOLD_BUDGET / 3)

/**
 * dxk_fired_run - end the waits of requests for events that have fired
 * @e: the engine, locked
 * @wakes: of the hold; what it cannot afford, or is too much, is owed
 */
void dxk_fired_run(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct llist_node *node;
	u32 nr = 0;

	lockdep_assert_held(&e->lock);

	if (likely(!e->waits.firing && llist_empty(&e->waits.fired)))
		return;
	for (;;) {
		if (!e->waits.firing)
			e->waits.firing = llist_reverse_order(llist_del_all(&e->waits.fired));
		node = e->waits.firing;
		if (!node)
			return;
		if (nr++ == DXK_FIRED_MAX) {
			dxk_owe(e, wakes);
			return;
		}
		if (!dxk_afford_or_owe(e, wakes, 1))
			return;
		e->waits.firing = node->next;
		dxk_step(e);
		dxk_event_happens(e, llist_entry(node, struct dxk_event, node), wakes);
	}
}

/** dxk_detach_run - the source of an event is gone: notify its request, if that waits */
void dxk_detach_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_detach_op *d = container_of(op, struct dxk_detach_op, op);
	struct dxk_event *event = &d->watch->event;
	struct dxk_more *more = event->more;
	u8 state = more ? dxk_rqe_state(more->rqe) : DXK_POSTED;

	d->done = false;
	if (state != DXK_WAITING && state != DXK_READY)
		return;
	d->done = true;
	event->more = NULL;
	more->watch = NULL;
	if (state == DXK_WAITING && !more->ripe && more->wait.wait & DXK_WAIT_FILE) {
		more->events = d->seen;
		dxk_resume(e, more->rqe, DXK_WAKE_FILE, wakes);
	}
}

/* --- time -------------------------------------------------------------------- */

/* The time of a request has come. Set @at to its next one, or to none. */
static void dxk_alarm_ring(struct dxk_engine *e, struct dxk_more *more, u64 now,
			   struct list_head *ended, struct dxk_wakes *wakes)
{
	struct dxk_rqe *rqe = more->rqe;
	u64 deadline = DXK_FOREVER;

	if (dxk_rqe_state(rqe) == DXK_WAITING && !more->ripe && more->wait.wait & DXK_WAIT_TIME)
		deadline = more->wait.deadline;
	if (more->expire <= now) {
		WRITE_ONCE(more->expire, DXK_FOREVER);
		e->stats.expired++;
		dxk_alarm_set(e, more, deadline, wakes);
		dxk_tell(e, rqe, DXK_WAKE_EXPIRE, ended, wakes);
		return;
	}
	e->stats.timeouts++;
	dxk_resume(e, rqe, DXK_WAKE_TIME, wakes);
}

/**
 * dxk_alarms_ring - do what is due
 * @e: the engine, locked
 * @ended: gets requests that have expired and that nobody collects
 * @wakes: of the hold; what it cannot afford is owed
 *
 * Return: was anything due?
 */
bool dxk_alarms_ring(struct dxk_engine *e, struct list_head *ended, struct dxk_wakes *wakes)
{
	struct dxk_more *more;
	bool rang = false;
	u64 now;

	lockdep_assert_held(&e->lock);

	if (likely(RB_EMPTY_ROOT(&e->waits.alarms.rb_root)))
		return false;
	now = os_now();
	while ((more = dxk_alarms_first(&e->waits)) && more->at <= now) {
		rang = true;
		if (!dxk_afford_or_owe(e, wakes, 1))
			break;
		dxk_alarm_ring(e, more, now, ended, wakes);
	}
	if (!rang)
		return false;
	/* Requests that expired in the pool have left room there, and may have been the last. */
	dxk_serve_posters(e, wakes);
	if (unlikely(e->state == DXK_CTX_STOPPING))
		dxk_stop_workers(e, wakes);
	return true;
}
