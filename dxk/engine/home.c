// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Homes: see home.h.
 */
#include "engine/home.h"
#include "engine/order.h"
#include "engine/os.h"

/* --- begin and end ----------------------------------------------------------------- */

/**
 * dxk_homes_start - begin a run: there are homes if its policy says so
 * @e: the engine
 *
 * They stay until the end of the context: a worker of an earlier run may be of one.
 * Return: 0 or -ENOMEM.
 */
int dxk_homes_start(struct dxk_engine *e)
{
	struct dxk_home *home;
	u32 h, kind;

	WRITE_ONCE(e->ready.homes, e->policy.homes);
	if (!e->policy.homes || e->ready.home)
		return 0;
	home = kvcalloc(DXK_HOMES_MAX, sizeof(*home), GFP_KERNEL_ACCOUNT);
	if (!home)
		return -ENOMEM;
	for (h = 0; h < DXK_HOMES_MAX; h++)
		for (kind = 0; kind < DXK_KINDS; kind++)
			INIT_LIST_HEAD(&home[h].idle[kind]);
	spin_lock(&e->lock);
	e->ready.home = home;
	spin_unlock(&e->lock);
	return 0;
}

/** dxk_homes_destroy - free the homes of an engine that is no longer used */
void dxk_homes_destroy(struct dxk_engine *e)
{
	kvfree(e->ready.home);
}

/* --- who is at home ------------------------------------------------------------------ */

/* Move entries of homes without workers out of these. Return: could the hold afford all of it? */
static bool dxk_homes_empty(struct dxk_engine *e, enum dxk_kind kind, struct dxk_wakes *wakes)
{
	struct dxk_ready *ready = &e->ready;

	while (ready->left_homes[kind]) {
		struct dxk_home *home = &ready->home[__ffs64(ready->left_homes[kind])];
		struct dxk_rqe *rqe = home->queue[kind].first;

		if (!rqe) {
			ready->left_homes[kind] &= ready->left_homes[kind] - 1;
			continue;
		}
		if (!dxk_afford_or_owe(e, wakes, 1))
			return false;
		dxk_ready_remove(ready, rqe);
		/* of the plain class, there as here: so its key is the same */
		rqe->slot = dxk_ready_slot(rqe);
		dxk_ready_put_back(ready, rqe);
	}
	return true;
}

/** dxk_homes_go_on - do what dxk_home_part() says is left over */
void dxk_homes_go_on(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	if (dxk_homes_empty(e, DXK_USER, wakes))
		dxk_homes_empty(e, DXK_KERNEL, wakes);
}

/** dxk_home_least - the home, of those of the policy, that has the fewest workers of a kind */
u32 dxk_home_least(const struct dxk_engine *e, enum dxk_kind kind)
{
	u32 h, least = 0;

	for (h = 1; h < e->policy.homes; h++)
		if (e->ready.home[h].workers[kind] < e->ready.home[least].workers[kind])
			least = h;
	return 1 + least;
}

/* --- what is taken ------------------------------------------------------------------- */

static struct dxk_rqe *dxk_better(const struct dxk_ready *ready, struct dxk_rqe *x,
				  struct dxk_rqe *y)
{
	return !y || (x && dxk_ready_before(ready, x, y)) ? x : y;
}

/** dxk_homes_served - in which homes would an idle worker find a request? Bit n: in 1 + n */
u64 dxk_homes_served(const struct dxk_engine *e, enum dxk_kind kind)
{
	const struct dxk_ready *ready = &e->ready;
	const struct dxk_lanes *lanes = &e->crew.lanes[kind];

	if (unlikely(e->cancelling))
		return list_empty(&ready->last[kind]) ? 0 : U64_MAX;
	if (dxk_ready_best(ready, kind, lanes))
		return U64_MAX;
	if (!ready->at_home[kind] || !dxk_lanes_admit(lanes, DXK_LANES - 1))
		return 0;
	return e->policy.steal ? U64_MAX : ready->at_home[kind];
}

/** dxk_homes_best - the best entry of all homes, or NULL */
struct dxk_rqe *dxk_homes_best(struct dxk_engine *e, enum dxk_kind kind)
{
	const struct dxk_ready *ready = &e->ready;
	struct dxk_rqe *best = NULL;
	u64 homes = ready->at_home[kind];

	dxk_step_by(e, dxk_homes_cost(ready, kind));
	for (; homes; homes &= homes - 1)
		best = dxk_better(ready, best, ready->home[__ffs64(homes)].queue[kind].first);
	return best;
}

/** dxk_home_best - the entry that a worker of home 1 + @h should execute next, or NULL */
struct dxk_rqe *dxk_home_best(struct dxk_engine *e, u32 h, enum dxk_kind kind)
{
	struct dxk_ready *ready = &e->ready;
	const struct dxk_lanes *lanes = &e->crew.lanes[kind];
	struct dxk_rqe *best;

	dxk_step(e);
	if (unlikely(e->cancelling))
		return list_first_entry_or_null(&ready->last[kind], struct dxk_rqe, link);
	best = dxk_ready_best(ready, kind, lanes);
	if (!dxk_lanes_admit(lanes, DXK_LANES - 1))
		return best;
	best = dxk_better(ready, ready->home[h].queue[kind].first, best);
	return best || !e->policy.steal ? best : dxk_homes_best(e, kind);
}
