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

	if (dxk_crew_awake(crew) || (e->state != DXK_CTX_RUNNING && !dxk_draining(e)))
		return false;
	if (dxk_crew_asleep(crew))
		return true;
	/* No request has begun. As long as a client is awake it may be the cure. */
	return crew->clients_asleep &&
	       crew->clients_asleep + crew->clients_resting == crew->clients &&
	       (!dxk_ready_empty(&e->ready) || dxk_ready_has_posters(&e->ready));
}

static u64 dxk_progress(const struct dxk_stats *stats)
{
	return stats->posts + stats->dispatches + stats->completions + stats->collected;
}

/**
 * dxk_stall_look - a look of the Monitor: has nobody been able to run for long?
 * @e: the engine
 * @s: what it remembers
 *
 * While dxk_engine.stalled it is to look again soon. Return: true once per stall, when it
 * is to be told.
 */
bool dxk_stall_look(struct dxk_engine *e, struct dxk_stall *s)
{
	u64 now = os_now(), progress;
	bool stuck, report;

	spin_lock(&e->lock);
	stuck = dxk_nobody_can_run(e);
	progress = dxk_progress(&e->stats);
	if (!stuck || progress != s->progress || !s->since) {
		s->since = stuck ? now : 0;
		s->progress = progress;
		s->reported = false;
	}
	report = stuck && !s->reported && now - s->since >=
		 (e->crew.promised ? DXK_SPARE_MS : DXK_STALL_MS) * NSEC_PER_MSEC;
	if (report) {
		s->nr = ++e->stats.stalls;
		memcpy(s->ready, e->ready.lanes.used, sizeof(s->ready));
		s->reported = true;
	}
	/* Told or over: whoever falls asleep next gives the alarm anew. */
	e->stalled = stuck && !s->reported;
	spin_unlock(&e->lock);
	return report;
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
