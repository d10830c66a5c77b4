// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Events from any context: see fire.h.
 */
#include "engine/engine.h"
#include "engine/fire.h"
#include "engine/more.h"
#include "engine/os.h"

static bool dxk_event_enter(struct dxk_engine *e, struct dxk_event *event)
{
	return !xchg(&event->pending, 1) && llist_add(&event->node, &e->waits.fired);
}

/* The task exists as long as dxk_waits.call names it. */
static void dxk_events_call(struct dxk_engine *e)
{
	struct task_struct *task;

	os_read_begin();
	task = READ_ONCE(e->waits.call);
	if (task == DXK_CALL_DISPATCHER)
		os_kick(e, DXK_DISPATCHER);
	else if (task)
		os_wake(task);
	os_read_end();
}

/**
 * dxk_event_fire - fire an event, in any context
 * @e: the engine; it exists while the event can be fired
 * @event: the event
 * @seen: what has happened, not 0; added to what is there already
 */
void dxk_event_fire(struct dxk_engine *e, struct dxk_event *event, u32 seen)
{
	u32 before = READ_ONCE(event->seen);

	while (!try_cmpxchg(&event->seen, &before, before | seen))
		;
	/*
	 * If others are in the list, the first of them has called already. The exchange of the
	 * entry is a full barrier, and pairs with that in dxk_events_call_for().
	 */
	if (dxk_event_enter(e, event))
		dxk_events_call(e);
}

/*
 * Are there workers, all of which run? Then each of them comes to the lock without a call. But
 * workers that poll, and those that help out or join for Ready requests, must know at once.
 */
static bool dxk_events_can_wait(const struct dxk_engine *e)
{
	return e->crew.present && dxk_crew_awake(&e->crew) == e->crew.present &&
	       !e->waits.polled && !dxk_may_relieve(e);
}

/* The worker that gets the next request, if one sleeps for work and makes moves itself. */
static struct dxk_waiter *dxk_events_catcher(const struct dxk_engine *e)
{
	u32 kind;

	for (kind = 0; kind < DXK_KINDS && e->direct; kind++)
		if (!list_empty(&e->crew.idle[kind]))
			return list_first_entry(&e->crew.idle[kind], struct dxk_waiter, link);
	return NULL;
}

/* Change the task to be woken by an event. Return: may one have fired without knowing of it? */
static bool dxk_events_call_for(struct dxk_engine *e, struct dxk_waiter *catcher,
				struct task_struct *call)
{
	if (e->waits.catcher)
		e->waits.catcher->catches = NULL;
	e->waits.catcher = catcher;
	if (catcher)
		catcher->catches = e;
	/* A full barrier, which pairs with the entry into the list in dxk_event_fire(). */
	xchg(&e->waits.call, call);
	return call && !llist_empty(&e->waits.fired);
}

/**
 * dxk_events_look - determine the task to be woken by an event
 * @e: the engine, locked, at the end of a hold that may have changed it
 *
 * Return: have events come that may not have woken it? If so, somebody must look.
 */
bool dxk_events_look(struct dxk_engine *e)
{
	struct dxk_waiter *catcher = NULL;
	struct task_struct *call = NULL;

	lockdep_assert_held(&e->lock);

	if (!dxk_events_can_wait(e)) {
		catcher = dxk_events_catcher(e);
		call = catcher ? catcher->task : DXK_CALL_DISPATCHER;
	}
	return (catcher != e->waits.catcher || call != e->waits.call) &&
	       dxk_events_call_for(e, catcher, call);
}

/**
 * dxk_catcher_leave - the worker to be woken by events no longer sleeps for work
 * @w: its sleep, which ends; its engine is locked
 */
void dxk_catcher_leave(struct dxk_waiter *w)
{
	struct dxk_engine *e = w->catches;

	lockdep_assert_held(&e->lock);

	if (dxk_events_call_for(e, NULL, DXK_CALL_DISPATCHER))
		os_kick(e, DXK_DISPATCHER);
}

/** dxk_events_poll - a worker polls for work, by poll(2); the engine is locked */
void dxk_events_poll(struct dxk_engine *e)
{
	lockdep_assert_held(&e->lock);

	e->waits.polled = true;
	if (dxk_events_look(e))
		os_kick(e, DXK_DISPATCHER);
}

/** dxk_event_forget - detach an event from its request, which the caller executes */
void dxk_event_forget(struct dxk_engine *e, struct dxk_event *event)
{
	spin_lock(&e->lock);
	event->more = NULL;
	spin_unlock(&e->lock);
}
