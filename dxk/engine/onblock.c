// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Helpers, spares, growth of the crew, and the managers that start workers: see onblock.h.
 */
#include "engine/assign.h"
#include "engine/dispatch.h"
#include "engine/home.h"
#include "engine/next.h"
#include "engine/onblock.h"
#include "engine/os.h"
#include "engine/own.h"

/* --- extra requests --------------------------------------------------------- */

/* The limits for a helper or spare, which brings a thread. */
static struct dxk_lanes dxk_extra_lanes(const struct dxk_engine *e, enum dxk_kind kind)
{
	struct dxk_lanes lanes = e->crew.lanes[kind];

	if (dxk_cmls(e))
		lanes.quota[DXK_LANES - 1]++;
	return lanes;
}

/*
 * The best request without a home, for a helper or spare, or NULL. @at_home: there is none, but
 * there are requests that have a home.
 */
static struct dxk_rqe *dxk_extra_look(const struct dxk_engine *e, enum dxk_kind kind,
				      bool *at_home)
{
	struct dxk_lanes lanes = dxk_extra_lanes(e, kind);
	struct dxk_rqe *best;

	*at_home = false;
	if (e->cancelling)
		return NULL;
	best = dxk_ready_best(&e->ready, kind, &lanes);
	*at_home = unlikely(e->ready.at_home[kind]) && !best &&
		   dxk_lanes_admit(&lanes, DXK_LANES - 1);
	return best;
}

/* The best request for a helper or spare. */
static struct dxk_rqe *dxk_extra_best(struct dxk_engine *e, enum dxk_kind kind)
{
	bool at_home;
	struct dxk_rqe *best = dxk_extra_look(e, kind, &at_home);

	return unlikely(at_home) ? dxk_homes_best(e, kind) : best;
}

/** dxk_extra_start - give a helper or spare a request, which takes no other request's place */
void dxk_extra_start(struct dxk_engine *e, struct dxk_member *m, struct dxk_rqe *rqe)
{
	rqe->extra = true;
	m->extra++;
	e->crew.extra[m->kind]++;
	dxk_crew_set_lanes(e);
}

static void dxk_extra_begin(struct dxk_engine *e, struct dxk_member *m,
			    struct dxk_rqe *rqe, struct list_head *work,
			    struct dxk_wakes *wakes)
{
	dxk_extra_start(e, m, rqe);
	dxk_ready_remove(&e->ready, rqe);
	dxk_assign(e, m, rqe, work, wakes);
}

/** dxk_extra_end - a helper or a spare no longer has the request */
void dxk_extra_end(struct dxk_engine *e, struct dxk_member *m, struct dxk_rqe *rqe)
{
	rqe->extra = false;
	m->extra--;
	e->crew.extra[m->kind]--;
	dxk_crew_set_lanes(e);
}

/* --- helpers ---------------------------------------------------------------- */

/* Maximum number of helpers to look at when searching for one that can help. */
#define DXK_HELPERS_SEEN	8

/* End the sleep of a helper by giving it a request. */
static void dxk_helper_begin(struct dxk_engine *e, struct dxk_helper *h, struct dxk_rqe *rqe,
			     struct dxk_wakes *wakes)
{
	/* First, so that the entry which becomes free does not end this sleep. */
	dxk_waiter_leave(h->w);
	dxk_extra_begin(e, h->m, rqe, &h->m->called, wakes);
	h->called = true;
	dxk_waiter_finish(h->w, wakes);
}

/*
 * Call a helper that helps with any request. A worker that waits for requests nested in its work
 * executes nothing besides these. Return: can another one be called?
 */
static bool dxk_call_helper(struct dxk_engine *e, enum dxk_kind kind,
			    struct dxk_wakes *wakes)
{
	struct list_head *helpers = &e->crew.helpers[kind];
	struct dxk_helper *h;
	struct dxk_rqe *rqe;
	u32 i;

	for (i = 0; i < DXK_HELPERS_SEEN; i++) {
		h = list_first_entry(helpers, struct dxk_helper, link);
		if (unlikely(h->m->outer)) {
			list_move_tail(&h->link, helpers);
			continue;
		}
		rqe = dxk_extra_best(e, kind);
		if (rqe)
			dxk_helper_begin(e, h, rqe, wakes);
		return rqe;
	}
	return false;
}

/* The same for a helper that helps only its owner, if the lock hold can afford it. */
static bool dxk_call_own(struct dxk_engine *e, enum dxk_kind kind, struct dxk_wakes *wakes)
{
	struct dxk_lanes lanes = dxk_extra_lanes(e, kind);
	u32 lane, i = 0;

	if (e->cancelling)
		return false;
	for (lane = dxk_lanes_full(&lanes); lane < DXK_LANES; lane++) {
		struct list_head *callers = &e->owns.callers[kind][lane];

		while (!list_empty(callers) && i++ < DXK_HELPERS_SEEN) {
			struct dxk_helper *h = list_first_entry(callers, struct dxk_helper,
								caller);

			if (likely(!h->m->outer)) {
				if (!dxk_afford_or_owe(e, wakes, 1))
					return false;
				dxk_helper_begin(e, h, dxk_own_first(&e->owns, h->owner, kind,
								     &lanes), wakes);
				return true;
			}
			dxk_helper_set_back(e, h);
		}
	}
	return false;
}

/* --- spares ----------------------------------------------------------------- */

/**
 * dxk_spare_turn - a spare takes work if it is needed, else it parks
 * @e: the engine, locked
 * @n: its turn
 * @wakes: gets the wake-ups
 *
 * Return: true when it has work.
 */
bool dxk_spare_turn(struct dxk_engine *e, struct dxk_next_op *n, struct dxk_wakes *wakes)
{
	struct dxk_rqe *rqe = NULL;

	if (dxk_spare_may_run(e, n->m->kind))
		rqe = dxk_extra_best(e, n->m->kind);
	if (!rqe)
		return false;
	dxk_extra_begin(e, n->m, rqe, &n->work, wakes);
	return true;
}

static bool dxk_call_spare(struct dxk_engine *e, enum dxk_kind kind,
			   struct dxk_wakes *wakes)
{
	struct dxk_next_op *n = list_first_entry(&e->crew.parked[kind],
						 struct dxk_next_op, w.link);

	if (!dxk_spare_turn(e, n, wakes))
		return false;
	n->nr = 1;
	n->err = 0;
	dxk_waiter_finish(&n->w, wakes);
	return true;
}

/* How many more spares than there are the Ready requests need. */
static u32 dxk_wanted_now(const struct dxk_engine *e, enum dxk_kind kind)
{
	const struct dxk_crew *crew = &e->crew;
	bool at_home;

	if (!e->ready.filled[kind] || !list_empty(&crew->parked[kind]) ||
	    crew->asleep[kind] <= crew->spares[kind] ||
	    (!dxk_extra_look(e, kind, &at_home) && !at_home))
		return 0;
	return min(crew->asleep[kind] - crew->spares[kind], dxk_ready_nr(&e->ready, kind));
}

/* The same for requests that are about to block. */
static u32 dxk_wanted_ahead(const struct dxk_engine *e, enum dxk_kind kind)
{
	const struct dxk_crew *crew = &e->crew;
	u32 least = dxk_spares_least(&e->policy, kind);
	u32 ahead = crew->nr_parked[kind] + crew->spares_coming[kind];

	least = max(least, crew->nr_askers[kind]);
	return least > ahead ? least - ahead : 0;
}

static u32 dxk_wanted(const struct dxk_engine *e, enum dxk_kind kind)
{
	u32 room = dxk_spares_room(e);

	return room ? min(max(dxk_wanted_now(e, kind), dxk_wanted_ahead(e, kind)), room) : 0;
}

/** dxk_spares_room - how many more spares may there be? */
u32 dxk_spares_room(const struct dxk_engine *e)
{
	u32 have = e->crew.spares[DXK_USER] + e->crew.spares[DXK_KERNEL];

	if (e->policy.on_block != DXK_ON_BLOCK_SPARE || have >= e->policy.max_spares)
		return 0;
	return e->policy.max_spares - have;
}

/** dxk_spares_wanted - how many more spares of a kind have work waiting */
u32 dxk_spares_wanted(struct dxk_engine *e, enum dxk_kind kind)
{
	u32 nr;

	spin_lock(&e->lock);
	nr = dxk_wanted(e, kind);
	spin_unlock(&e->lock);
	return nr;
}

/* --- a crew that grows and shrinks -------------------------------------------- */

static u32 dxk_wanted_workers(const struct dxk_engine *e, u32 kind)
{
	const struct dxk_crew *crew = &e->crew;
	u32 most = dxk_crew_most(crew, &e->policy, kind), have = crew->workers[kind];
	u32 least = dxk_crew_least(&e->policy, kind), ready;

	if (have < least)
		return least - have;
	if (have >= most || crew->nr_idle[kind] || e->cancelling)
		return 0;
	ready = dxk_ready_nr(&e->ready, kind);
	return ready > crew->coming[kind] ? min(ready - crew->coming[kind], most - have) : 0;
}

/** dxk_workers_wanted - how many more workers of a kind are needed (AG-32) */
u32 dxk_workers_wanted(struct dxk_engine *e, enum dxk_kind kind)
{
	u32 nr;

	spin_lock(&e->lock);
	nr = dxk_wanted_workers(e, kind);
	spin_unlock(&e->lock);
	return nr;
}

/** dxk_has_surplus - are there workers that are to leave once they have been idle for long? */
bool dxk_has_surplus(const struct dxk_engine *e)
{
	u32 kind;

	lockdep_assert_held(&e->lock);

	if (!e->policy.spare_idle_ms || !dxk_may_relieve(e))
		return false;
	for (kind = 0; kind < DXK_KINDS; kind++)
		if (e->crew.workers[kind] > dxk_crew_least(&e->policy, kind) ||
		    e->crew.spares[kind] > dxk_spares_least(&e->policy, kind))
			return true;
	return false;
}

/* Let some of @sleepers, which are counted in @total, leave while @nr exceeds @least. */
static bool dxk_retire_some(struct list_head *sleepers, const u32 *nr, u32 *total, u32 least,
			    unsigned long limit, struct dxk_wakes *wakes)
{
	while (*nr > least && !list_empty(sleepers)) {
		struct dxk_next_op *n = list_last_entry(sleepers, struct dxk_next_op, w.link);

		if (os_clock() - n->m->since <= limit)
			break;
		if (!dxk_afford(wakes, 1))
			return false;
		n->m->leaving = true;
		(*total)--;
		n->err = -ESHUTDOWN;
		dxk_waiter_finish(&n->w, wakes);
	}
	return true;
}

static bool dxk_retire_kind(struct dxk_engine *e, u32 kind, unsigned long limit,
			    struct dxk_wakes *wakes)
{
	struct dxk_crew *crew = &e->crew;

	return dxk_retire_some(&crew->idle[kind], &crew->workers[kind], &crew->workers[kind],
			       dxk_crew_least(&e->policy, kind), limit, wakes) &&
	       dxk_retire_some(&crew->parked[kind], &crew->nr_parked[kind], &crew->spares[kind],
			       dxk_spares_least(&e->policy, kind), limit, wakes);
}

/* Let surplus workers leave. To be performed again while there is more. */
void dxk_retire_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_retire_op *r = container_of(op, struct dxk_retire_op, op);

	r->more = !dxk_retire_kind(e, DXK_USER, r->limit, wakes) ||
		  !dxk_retire_kind(e, DXK_KERNEL, r->limit, wakes);
	dxk_crew_set_lanes(e);
}

/* --- all of them ---------------------------------------------------------------- */

/**
 * dxk_relieve - have helpers, spares or more workers do what the crew leaves undone
 * @e: the engine, locked; something is Ready that no idle worker can take
 * @wakes: gets the wake-ups
 */
void dxk_relieve(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct dxk_crew *crew = &e->crew;
	u32 kind;

	lockdep_assert_held(&e->lock);

	for (kind = 0; kind < DXK_KINDS; kind++) {
		while (e->ready.filled[kind] && !list_empty(&crew->helpers[kind])) {
			if (!dxk_afford_or_owe(e, wakes, 1 + dxk_homes_cost(&e->ready, kind)))
				return;
			if (!dxk_call_helper(e, kind, wakes))
				break;
		}
		while (unlikely(e->owns.own) && dxk_call_own(e, kind, wakes))
			;
		while (e->ready.filled[kind] && !list_empty(&crew->parked[kind])) {
			if (!dxk_afford_or_owe(e, wakes, 1 + dxk_homes_cost(&e->ready, kind)))
				return;
			if (!dxk_call_spare(e, kind, wakes))
				break;
		}
	}
	if (dxk_wanted(e, DXK_KERNEL) || dxk_wanted_workers(e, DXK_KERNEL)) {
		e->dormant[DXK_MONITOR] = false;
		wakes->kick |= BIT(DXK_MONITOR);
	}
	dxk_tell_managers(e, wakes);
}

/* --- who starts user workers ------------------------------------------------ */

/* Fill in how many threads are needed. Return: are any? */
static bool dxk_crew_ask(const struct dxk_engine *e, struct dxk_crew_op *c)
{
	c->workers = 0;
	c->spares = 0;
	if (dxk_out_of_work(e))
		return false;
	c->workers = dxk_wanted_workers(e, DXK_USER);
	c->spares = dxk_wanted(e, DXK_USER);
	return c->workers || c->spares;
}

/* Will there soon be a worker that can run Ready requests? */
static bool dxk_is_promise(const struct dxk_engine *e, const struct dxk_crew_op *c)
{
	return c->spares || (c->workers && e->policy.min_threads);
}

/** dxk_tell_managers - end the sleep of managers if threads are needed */
void dxk_tell_managers(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct dxk_crew_op *c, *next;

	lockdep_assert_held(&e->lock);

	list_for_each_entry_safe(c, next, &e->crew.managers, w.link) {
		if (!dxk_crew_ask(e, c) || !dxk_afford_or_owe(e, wakes, 1))
			return;
		e->crew.promised |= dxk_is_promise(e, c);
		dxk_waiter_finish(&c->w, wakes);
	}
}

/** dxk_stop_managers - end the sleep of all managers: no threads will be needed */
void dxk_stop_managers(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct dxk_crew_op *c, *next;

	lockdep_assert_held(&e->lock);

	e->crew.managed = false;
	list_for_each_entry_safe(c, next, &e->crew.managers, w.link) {
		if (!dxk_afford_or_owe(e, wakes, 1))
			return;
		c->err = -ESHUTDOWN;
		dxk_waiter_finish(&c->w, wakes);
	}
}

void dxk_crew_wait_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_crew_op *c = container_of(op, struct dxk_crew_op, op);

	/* It has done what it was last asked for, or could not do it. */
	e->crew.promised = false;
	c->err = 0;
	if (!dxk_run_welcomes(e)) {
		c->err = -ESHUTDOWN;
	} else {
		e->crew.managed = true;
		if (!dxk_crew_ask(e, c) && c->wait) {
			list_add_tail(&c->w.link, &e->crew.managers);
			return;
		}
	}
	e->crew.promised |= dxk_is_promise(e, c);
	dxk_waiter_finish(&c->w, wakes);
}
