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
	/* Who finds others in the list has been preceded: they have kicked. */
	if (dxk_event_enter(e, event))
		os_kick(e, DXK_DISPATCHER);
}

/** dxk_event_forget - an event wakes its request no more, which the caller executes */
void dxk_event_forget(struct dxk_engine *e, struct dxk_event *event)
{
	spin_lock(&e->lock);
	event->more = NULL;
	spin_unlock(&e->lock);
}
