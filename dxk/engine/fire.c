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

/**
 * dxk_event_fire - something has happened, in any context
 * @e: the engine; it exists while the event can be fired
 * @event: the event
 * @seen: what, not 0; beside what is there already
 */
void dxk_event_fire(struct dxk_engine *e, struct dxk_event *event, u32 seen)
{
	u32 before = READ_ONCE(event->seen);

	while (!try_cmpxchg(&event->seen, &before, before | seen))
		;
	/*
	 * Who finds others in the list has been preceded. The exchange by which it enters
	 * is a full barrier, and pairs with that in dxk_events_look().
	 */
	if (dxk_event_enter(e, event) && READ_ONCE(e->waits.wanted))
		os_kick(e, DXK_DISPATCHER);
}

/*
 * Is there a worker, and all that there are run? Then each comes by itself. But where a crew
 * grows by what is Ready, or others help out, these are to know at once.
 */
static bool dxk_events_can_wait(const struct dxk_engine *e)
{
	return e->crew.present && dxk_crew_awake(&e->crew) == e->crew.present &&
	       !e->waits.polled && !dxk_may_relieve(e);
}

/**
 * dxk_events_look - say whether who fires is to kick thread 700
 * @e: the engine, locked, at the end of a hold that may have changed it
 *
 * Return: events have come when nobody knew that they are wanted: thread 700 is to look.
 */
bool dxk_events_look(struct dxk_engine *e)
{
	u32 wanted = !dxk_events_can_wait(e);

	lockdep_assert_held(&e->lock);

	if (wanted == e->waits.wanted)
		return false;
	/* A full barrier, which pairs with the entry into the list in dxk_event_fire(). */
	xchg(&e->waits.wanted, wanted);
	return wanted && !llist_empty(&e->waits.fired);
}

/** dxk_events_poll - a worker asks by poll(2) for what there is to do. The engine is locked */
void dxk_events_poll(struct dxk_engine *e)
{
	lockdep_assert_held(&e->lock);

	e->waits.polled = true;
	if (dxk_events_look(e))
		os_kick(e, DXK_DISPATCHER);
}

/** dxk_event_forget - an event wakes its request no more, which the caller executes */
void dxk_event_forget(struct dxk_engine *e, struct dxk_event *event)
{
	spin_lock(&e->lock);
	event->more = NULL;
	spin_unlock(&e->lock);
}
