// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Helpers, spares, and those who start spares: see onblock.h.
 */
#include "engine/assign.h"
#include "engine/dispatch.h"
#include "engine/next.h"
#include "engine/onblock.h"
#include "engine/os.h"

/* --- extra requests --------------------------------------------------------- */

/* The best request for somebody who brings a thread. */
static struct dxk_rqe *dxk_extra_best(const struct dxk_engine *e, enum dxk_kind kind)
{
	struct dxk_lanes lanes = e->crew.lanes[kind];

	if (e->cancelling)
		return NULL;
	if (dxk_cmls(e))
		lanes.quota[DXK_LANES - 1]++;
	return dxk_ready_best(&e->ready, kind, &lanes);
}

/** dxk_extra_start - a request is for who brings a thread: it takes no place of another one */
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

/** dxk_extra_end - a helper or a spare does not have the request any more */
void dxk_extra_end(struct dxk_engine *e, struct dxk_member *m, struct dxk_rqe *rqe)
{
	rqe->extra = false;
	m->extra--;
	e->crew.extra[m->kind]--;
	dxk_crew_set_lanes(e);
}

/* --- helpers ---------------------------------------------------------------- */

/* End the sleep of a helper with a request in its hands. */
static bool dxk_call_helper(struct dxk_engine *e, enum dxk_kind kind,
			    struct dxk_wakes *wakes)
{
	struct dxk_helper *h = list_first_entry(&e->crew.helpers[kind],
						struct dxk_helper, link);
	struct dxk_rqe *rqe = dxk_extra_best(e, kind);

	if (!rqe)
		return false;
	/* First, so that the entry which becomes free does not end this sleep, too. */
	dxk_waiter_leave(h->w);
	dxk_extra_begin(e, h->m, rqe, &h->m->called, wakes);
	h->called = true;
	dxk_waiter_finish(h->w, wakes);
	return true;
}

/* --- spares ----------------------------------------------------------------- */

static bool dxk_spare_may_run(const struct dxk_engine *e, enum dxk_kind kind)
{
	return e->crew.asleep[kind] > e->crew.extra[kind];
}

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

static u32 dxk_wanted(const struct dxk_engine *e, enum dxk_kind kind)
{
	const struct dxk_crew *crew = &e->crew;
	u32 have = crew->spares[DXK_USER] + crew->spares[DXK_KERNEL];

	if (e->policy.on_block != DXK_ON_BLOCK_SPARE || !e->ready.filled[kind] ||
	    !list_empty(&crew->parked[kind]) || have >= e->policy.max_spares ||
	    crew->asleep[kind] <= crew->spares[kind] || !dxk_extra_best(e, kind))
		return 0;
	return min3(crew->asleep[kind] - crew->spares[kind],
		    e->policy.max_spares - have, dxk_ready_nr(&e->ready, kind));
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

/**
 * dxk_relieve - have helpers or spares do what sleeping workers leave undone
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
			if (!dxk_afford_or_owe(e, wakes, 1))
				return;
			if (!dxk_call_helper(e, kind, wakes))
				break;
		}
		while (e->ready.filled[kind] && !list_empty(&crew->parked[kind])) {
			if (!dxk_afford_or_owe(e, wakes, 1))
				return;
			if (!dxk_call_spare(e, kind, wakes))
				break;
		}
	}
	if (dxk_wanted(e, DXK_KERNEL)) {
		e->dormant[DXK_MONITOR] = false;
		wakes->kick |= BIT(DXK_MONITOR);
	}
	dxk_tell_managers(e, wakes);
}

/* --- who starts user workers ------------------------------------------------ */

/* Fill in what there is use for. Return: is there any? */
static bool dxk_crew_ask(const struct dxk_engine *e, struct dxk_crew_op *c)
{
	const struct dxk_policy *p = &e->policy;
	u32 have = p->kernel_threads + e->crew.workers[DXK_USER];

	c->workers = 0;
	c->spares = 0;
	if (dxk_out_of_work(e))
		return false;
	if (p->max_threads > have)
		c->workers = p->max_threads - have;
	c->spares = dxk_wanted(e, DXK_USER);
	return c->workers || c->spares;
}

/** dxk_tell_managers - end the sleep of those who wait for a use for threads */
void dxk_tell_managers(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct dxk_crew_op *c, *next;

	lockdep_assert_held(&e->lock);

	list_for_each_entry_safe(c, next, &e->crew.managers, w.link) {
		if (!dxk_crew_ask(e, c) || !dxk_afford_or_owe(e, wakes, 1))
			return;
		e->crew.promised |= !!c->spares;
		dxk_waiter_finish(&c->w, wakes);
	}
}

/** dxk_stop_managers - there will be no use for threads any more */
void dxk_stop_managers(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct dxk_crew_op *c, *next;

	lockdep_assert_held(&e->lock);

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

	/* What it was told before it has done, or could not do. */
	e->crew.promised = false;
	c->err = 0;
	if (!dxk_run_welcomes(e)) {
		c->err = -ESHUTDOWN;
	} else if (!dxk_crew_ask(e, c) && c->wait) {
		list_add_tail(&c->w.link, &e->crew.managers);
		return;
	}
	e->crew.promised |= !!c->spares;
	dxk_waiter_finish(&c->w, wakes);
}
