// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The assignment of a Ready request to a worker: by its own turn, to an idle worker,
 * to a helper or a spare.
 */
#include "engine/assign.h"
#include "engine/os.h"
#include "engine/post.h"

/**
 * dxk_assigned - a worker has been given a request: call the Monitor, let in posters
 * @e: the engine, locked
 * @kind: of the worker
 * @wakes: gets the wake-ups
 */
void dxk_assigned(struct dxk_engine *e, enum dxk_kind kind, struct dxk_wakes *wakes)
{
	/* A user worker may die unnoticed. Any worker may take too long or sleep, or be too few. */
	if (kind == DXK_USER || e->policy.report_age_ms || dxk_sleepers_are_seen(&e->policy) ||
	    dxk_is_tuned(&e->policy))
		dxk_call_control(e, DXK_MONITOR, wakes);
	if (dxk_room_is_awaited(&e->ready))
		dxk_serve_posters(e, wakes);
}
