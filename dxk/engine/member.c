// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Members, as the engine knows them: their states, and what they count for.
 */
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/key.h"
#include "engine/member.h"
#include "engine/more.h"
#include "engine/os.h"
#include "engine/room.h"

const char *dxk_member_state_name(u8 state)
{
	static const char * const name[DXK_M_STATES] = {
		[DXK_M_VACANT] = "vacant",
		[DXK_M_RUNNING] = "running",
		[DXK_M_AWAY] = "away",
		[DXK_M_AVAILABLE] = "available",
		[DXK_M_BUSY] = "busy",
		[DXK_M_POSTING] = "posting",
		[DXK_M_REJOINING] = "rejoining",
		[DXK_M_COMPLETING] = "completing",
		[DXK_M_LOGGING] = "logging",
		[DXK_M_ENTERING] = "entering",
		[DXK_M_CONDITION] = "condition",
		[DXK_M_LISTENING] = "listening",
		[DXK_M_BLOCKED] = "blocked",
	};

	return name[state];
}

/* --- the crew -------------------------------------------------------------- */

void dxk_crew_init(struct dxk_crew *crew)
{
	u32 kind;

	crew->most = U32_MAX;
	INIT_LIST_HEAD(&crew->managers);
	INIT_LIST_HEAD(&crew->members);
	for (kind = 0; kind < DXK_KINDS; kind++) {
		INIT_LIST_HEAD(&crew->idle[kind]);
		INIT_LIST_HEAD(&crew->helpers[kind]);
		INIT_LIST_HEAD(&crew->parked[kind]);
		INIT_LIST_HEAD(&crew->askers[kind]);
	}
}

/** dxk_crew_set_lanes - recompute the limits after a change of crew or policy */
void dxk_crew_set_lanes(struct dxk_engine *e)
{
	const struct dxk_policy *p = &e->policy;
	bool cmls = dxk_cmls(e);
	u32 kind;

	lockdep_assert_held(&e->lock);

	dxk_lanes_set(&e->ready.lanes, cmls, p->ready_entries, p->lane_pct);
	WRITE_ONCE(e->crew.lanes_below, dxk_lanes_below(cmls, p->lane_pct));
	for (kind = 0; kind < DXK_KINDS; kind++) {
		struct dxk_lanes *lanes = &e->crew.lanes[kind];

		dxk_lanes_set(lanes, cmls, cmls ? e->crew.workers[kind] : U32_MAX,
			      p->lane_pct);
		/* Extra requests bring their threads: more can execute, but no share grows. */
		if (cmls)
			lanes->quota[DXK_LANES - 1] += e->crew.extra[kind];
	}
}

/**
 * dxk_crew_untune - from now on the policy alone determines the number of workers
 * @e: the engine, locked
 */
void dxk_crew_untune(struct dxk_engine *e)
{
	lockdep_assert_held(&e->lock);

	e->autotune = (struct dxk_autotune) { };
	WRITE_ONCE(e->crew.most, U32_MAX);
}

/** dxk_crew_set_policy - a policy is in force from now on */
void dxk_crew_set_policy(struct dxk_engine *e, const struct dxk_policy *policy)
{
	e->policy = *policy;
	if (!dxk_is_tuned(policy))
		dxk_crew_untune(e);
	dxk_crew_set_lanes(e);
}

/**
 * dxk_crew_all_idle - does every user worker sleep for work?
 * @e: the engine, locked
 *
 * If so, none can die unnoticed: a killed sleeper leaves through its call.
 */
bool dxk_crew_all_idle(const struct dxk_engine *e)
{
	lockdep_assert_held(&e->lock);

	return e->crew.nr_idle[DXK_USER] == e->crew.workers[DXK_USER] &&
	       e->crew.nr_parked[DXK_USER] == e->crew.spares[DXK_USER];
}

/** dxk_attach_run - attach a member: from here on it counts, and a worker is given work */
void dxk_attach_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_member *m = container_of(op, struct dxk_list_op, op)->m;

	m->attached = true;
	if (m->role != DXK_ROLE_WORKER)
		return;
	list_add_tail(&m->fellows, &e->crew.members);
	e->crew.present++;
	if (m->spare || e->policy.min_threads)
		e->crew.promised = false;
	m->coming = true;
	if (m->spare) {
		e->crew.spares[m->kind]++;
		e->crew.spares_coming[m->kind]++;
	} else {
		e->crew.workers[m->kind]++;
		e->crew.coming[m->kind]++;
	}
	if (m->home)
		dxk_home_join(&e->ready, m->home, m->kind);
	dxk_crew_set_lanes(e);
	dxk_call_control(e, DXK_MONITOR, wakes);
}

/* --- watching an owner ----------------------------------------------------- */

/** dxk_unwatch - end what poll(2) watches: it reports nothing more of it */
void dxk_unwatch(struct dxk_member *m)
{
	list_del_init(&m->watch);
	m->watching = NULL;
	m->engine->owners.nr_any -= m->watches_all;
	m->watches_all = false;
}

/** dxk_watch - have poll(2) report what happens to an owner */
void dxk_watch(struct dxk_member *m, struct dxk_owner *owner)
{
	dxk_unwatch(m);
	WRITE_ONCE(m->readable, false);
	m->watching = owner;
	list_add(&m->watch, &owner->watchers);
}

/** dxk_watch_all - have poll(2) report what happens to any owner of its space */
void dxk_watch_all(struct dxk_member *m)
{
	dxk_unwatch(m);
	WRITE_ONCE(m->readable, false);
	m->watches_all = true;
	m->engine->owners.nr_any++;
	list_add(&m->watch, &m->space->watchers);
}

/** dxk_member_forget - remove a member that leaves from all lists of others */
void dxk_member_forget(struct dxk_engine *e, struct dxk_member *m)
{
	lockdep_assert_held(&e->lock);

	dxk_unwatch(m);
	dxk_room_leave(&e->ready.rooms, m);
}

/* --- begin and end --------------------------------------------------------- */

/** dxk_member_init - a vacant member; its memory is zeroed */
void dxk_member_init(struct dxk_member *m, struct dxk_engine *e, u32 id)
{
	m->engine = e;
	m->space = &e->home;
	m->id = id;
	m->since = os_clock();
	INIT_LIST_HEAD(&m->called);
	INIT_LIST_HEAD(&m->busy);
	INIT_LIST_HEAD(&m->fellows);
	INIT_LIST_HEAD(&m->watch);
	INIT_LIST_HEAD(&m->stuck_link);
	INIT_LIST_HEAD(&m->room);
}

/** dxk_member_free - free what a member that is no longer used kept for its next calls */
void dxk_member_free(struct dxk_member *m)
{
	dxk_rqe_stash_free(&m->rqes);
	dxk_owner_stash_free(&m->owners);
	dxk_key_stash_free(m);
	dxk_more_stash_free(m);
}
