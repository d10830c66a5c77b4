// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Detection of stalls in the engine: work exists, and nobody can run it.
 */
#include "engine/engine.h"
#include "engine/os.h"
#include "engine/stall.h"

/** dxk_nobody_can_run - is there work that nobody can run? O(1) */
bool dxk_nobody_can_run(const struct dxk_engine *e)
{
	const struct dxk_crew *crew = &e->crew;

	lockdep_assert_held(&e->lock);

	if (dxk_crew_awake(crew) || (e->state != DXK_CTX_RUNNING && !dxk_draining(e)))
		return false;
	/* There is a worker for requests that the clock, or the world, makes Ready. */
	if (dxk_crew_idle(crew) && (e->waits.files || !RB_EMPTY_ROOT(&e->waits.alarms.rb_root)))
		return false;
	if (dxk_crew_stuck(crew))
		return true;
	/* No request has begun. As long as a client is awake it may resolve this. */
	return crew->clients_asleep &&
	       crew->clients_asleep + crew->clients_resting == crew->clients &&
	       (!dxk_ready_empty(&e->ready) || dxk_ready_has_posters(&e->ready) ||
		e->nr[DXK_AT_WAIT]);
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
 * While dxk_engine.stalled is set it is to look again soon. Return: true once per stall, when
 * it is to be reported.
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
	/* Reported or over: the next member that falls asleep raises the alarm again. */
	e->stalled = stuck && !s->reported;
	spin_unlock(&e->lock);
	return report;
}

/**
 * dxk_stall_suspect - a member has gone to sleep: was it the last one awake?
 * @e: the engine, locked
 * @wakes: gets the Monitor's wake-up
 *
 * This lock hold may give requests to idle workers only afterwards. The alarm may then
 * be false, which costs one look of the Monitor.
 */
void dxk_stall_suspect(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	if (e->stalled || likely(!dxk_nobody_can_run(e)))
		return;
	e->stalled = true;
	wakes->kick |= BIT(DXK_MONITOR);
}

/* --- who waits for whom ------------------------------------------------------- */

static bool dxk_state_sleeps(u8 state)
{
	return state == DXK_M_POSTING || state == DXK_M_REJOINING ||
	       state == DXK_M_COMPLETING || state == DXK_M_LOGGING ||
	       state == DXK_M_ENTERING || state == DXK_M_CONDITION;
}

/** dxk_look_at - record what a member executes and waits for; the engine is locked */
void dxk_look_at(const struct dxk_member *m, struct dxk_sleeper *s)
{
	const struct dxk_owner *owner = NULL;

	lockdep_assert_held(&m->engine->lock);

	*s = (struct dxk_sleeper) {
		.state = dxk_member_state(m), .held = m->held, .work = m->work,
		.work_space = m->work_space, .space = m->space->id, .awaits = m->awaits,
	};
	if (s->state == DXK_M_REJOINING)
		owner = dxk_owner_find(&m->engine->owners, m->space, m->awaits);
	if (owner) {
		s->ready = owner->nr[DXK_AT_READY];
		s->at_work = owner->nr[DXK_AT_WORK];
	}
}

/**
 * dxk_sleeps - does the member sleep in a post, a rejoin, a completion or for the log?
 * @m: the member, attached
 * @s: out: what it sleeps for
 */
bool dxk_sleeps(const struct dxk_member *m, struct dxk_sleeper *s)
{
	if (!dxk_state_sleeps(dxk_member_state(m)))
		return false;
	spin_lock(&m->engine->lock);
	dxk_look_at(m, s);
	spin_unlock(&m->engine->lock);
	return dxk_state_sleeps(s->state);
}

/**
 * dxk_works_for - does the worker execute a request of the owner?
 * @m: the worker; if it has several requests only the newest counts
 * @space: the number of the owner's space
 * @owner: the owner
 */
bool dxk_works_for(const struct dxk_member *m, u32 space, u64 owner)
{
	bool works;

	spin_lock(&m->engine->lock);
	works = m->held && m->work.owner == owner && m->work_space == space;
	spin_unlock(&m->engine->lock);
	return works;
}
