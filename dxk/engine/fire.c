// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Events from any context: see fire.h.
 */
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/fire.h"
#include "engine/more.h"
#include "engine/os.h"
#include "engine/wait.h"

static bool dxk_event_enter(struct dxk_engine *e, struct dxk_event *event)
{
	return !xchg(&event->pending, 1) && llist_add(&event->node, &e->waits.fired);
}

/**
 * dxk_event_fire - something has happened, in any context
 * @e: the engine; it exists while the event can be fired
 * @event: the event
 * @seen: what, not 0
 */
void dxk_event_fire(struct dxk_engine *e, struct dxk_event *event, u32 seen)
{
	WRITE_ONCE(event->seen, seen);
	/* Who finds others in the list has been preceded: they have kicked. */
	if (dxk_event_enter(e, event))
		os_kick(e, DXK_DISPATCHER);
}

/**
 * dxk_event_wait - a request begins to wait for an event
 * @e: the engine, locked
 * @more: of the request, WAITING
 *
 * Return: has it happened already? Then the hold, which dispatches, finds it in the list.
 */
bool dxk_event_wait(struct dxk_engine *e, struct dxk_more *more)
{
	struct dxk_event *event = &more->watch->event;

	event->more = more;
	/* pairs with that of xchg() in dxk_event_enter(), and in dxk_fired_run() */
	smp_mb();
	if (!READ_ONCE(event->seen))
		return false;
	dxk_event_enter(e, event);
	return true;
}

/* It is in the list no more. */
static void dxk_event_happens(struct dxk_engine *e, struct dxk_event *event,
			      struct dxk_wakes *wakes)
{
	struct dxk_more *more;

	/* A full barrier: who fires from here on enters the list again. */
	xchg(&event->pending, 0);
	more = event->more;
	if (!more || more->rqe->state != DXK_WAITING || more->ripe ||
	    !(more->wait.wait & DXK_WAIT_FILE) || !READ_ONCE(event->seen))
		return;
	more->events = xchg(&event->seen, 0);
	dxk_resume(e, more->rqe, DXK_WAKE_FILE, wakes);
}

/**
 * dxk_fired_run - requests wait no more for what has happened
 * @e: the engine, locked
 * @wakes: of the hold; what it cannot afford is owed
 */
void dxk_fired_run(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct llist_node *node;

	lockdep_assert_held(&e->lock);

	for (;;) {
		if (!e->waits.firing)
			e->waits.firing = llist_reverse_order(llist_del_all(&e->waits.fired));
		node = e->waits.firing;
		if (!node || !dxk_afford_or_owe(e, wakes, 1))
			return;
		e->waits.firing = node->next;
		dxk_step(e);
		dxk_event_happens(e, llist_entry(node, struct dxk_event, node), wakes);
	}
}

static void dxk_nothing_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
}

/**
 * dxk_fired_flush - wait until an event is in no list any more
 * @e: its engine
 * @event: nobody fires it any more
 */
void dxk_fired_flush(struct dxk_engine *e, const struct dxk_event *event)
{
	struct dxk_op op;

	while (READ_ONCE(event->pending)) {
		dxk_perform(e, &op, dxk_nothing_run);
		os_yield();
	}
}

/** dxk_detach_run - what an event came from is no more: its request is told, if it waits */
void dxk_detach_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_detach_op *d = container_of(op, struct dxk_detach_op, op);
	struct dxk_event *event = &d->watch->event;
	struct dxk_more *more = event->more;

	d->done = false;
	if (!more || (more->rqe->state != DXK_WAITING && more->rqe->state != DXK_READY))
		return;
	d->done = true;
	event->more = NULL;
	more->watch = NULL;
	if (more->rqe->state == DXK_WAITING && !more->ripe && more->wait.wait & DXK_WAIT_FILE) {
		more->events = d->seen;
		dxk_resume(e, more->rqe, DXK_WAKE_FILE, wakes);
	}
}
