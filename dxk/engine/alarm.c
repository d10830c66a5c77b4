// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Requests in the order of the times that they wait for: see alarm.h.
 */
#include "engine/alarm.h"
#include "engine/engine.h"
#include "engine/more.h"
#include "engine/os.h"
#include "engine/stall.h"

static bool dxk_alarm_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct dxk_more, alarm)->at < rb_entry(b, struct dxk_more, alarm)->at;
}

/** dxk_alarms_first - the request whose time comes first, or NULL */
struct dxk_more *dxk_alarms_first(const struct dxk_waits *waits)
{
	struct rb_node *node = rb_first_cached(&waits->alarms);

	return node ? rb_entry(node, struct dxk_more, alarm) : NULL;
}

/**
 * dxk_alarm_set - set the only time at which the clock looks at a request
 * @e: the engine, locked
 * @more: of the request
 * @at: the time, %DXK_FOREVER for never
 * @wakes: gets the wake-up of thread 700, if it would look too late
 */
void dxk_alarm_set(struct dxk_engine *e, struct dxk_more *more, u64 at,
		   struct dxk_wakes *wakes)
{
	struct dxk_waits *waits = &e->waits;

	lockdep_assert_held(&e->lock);

	if (more->at == at)
		return;
	if (more->at != DXK_FOREVER)
		rb_erase_cached(&more->alarm, &waits->alarms);
	more->at = at;
	if (at == DXK_FOREVER) {
		/* Idle workers can no longer expect anything of the clock. */
		if (RB_EMPTY_ROOT(&waits->alarms.rb_root))
			dxk_stall_suspect(e, wakes);
		return;
	}
	rb_add_cached(&more->alarm, &waits->alarms, dxk_alarm_before);
	if (at >= waits->planned)
		return;
	waits->planned = at;
	/* Before its first sweep thread 700 has not looked yet. */
	if (e->swept)
		wakes->kick |= BIT(DXK_DISPATCHER);
}

/**
 * dxk_alarms_plan - plan the next look of the clock, which is about to sleep
 * @e: the engine, locked
 *
 * Return: the latest time for that look, of CLOCK_MONOTONIC.
 */
u64 dxk_alarms_plan(struct dxk_engine *e)
{
	const struct dxk_more *first = dxk_alarms_first(&e->waits);

	e->waits.planned = first ? first->at : DXK_FOREVER;
	return e->waits.planned;
}
