// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Stalls, as the engine knows them: work exists, and nobody can run it.
 */
#include "engine/engine.h"
#include "engine/os.h"
#include "engine/stall.h"

/** dxk_nobody_can_run - is there work, and nobody who could run it? O(1) */
bool dxk_nobody_can_run(const struct dxk_engine *e)
{
	const struct dxk_crew *crew = &e->crew;

	lockdep_assert_held(&e->lock);

	if (dxk_crew_awake(crew) || e->state != DXK_CTX_RUNNING)
		return false;
	if (dxk_crew_asleep(crew))
		return true;
	/* No request has begun. As long as a client is awake it may be the cure. */
	return crew->clients_asleep && crew->clients_asleep == crew->clients &&
	       (!dxk_ready_empty(&e->ready) || dxk_ready_has_posters(&e->ready));
}

/**
 * dxk_stall_suspect - a member has gone to sleep: was it the last one awake?
 * @e: the engine, locked
 * @wakes: gets the Monitor's wake-up
 *
 * What this lock hold still gives to idle workers comes after: it may be a false
 * alarm, which costs one look of the Monitor.
 */
void dxk_stall_suspect(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	if (e->stalled || likely(!dxk_nobody_can_run(e)))
		return;
	e->stalled = true;
	wakes->kick |= BIT(DXK_MONITOR);
}
