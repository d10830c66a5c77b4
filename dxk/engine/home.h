/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Homes: parts of the Ready Pool that have workers of their own, which are bound to CPUs, so that
 * requests executed with one home stay where their data is (policies homes and steal).
 *
 * A home is an additional queue, like one of a lane and a class. A READY request that has a home
 * is in the queue of that home as long as the home has workers, else beside all other requests. A
 * worker of a home takes the best of its own queue and of those other requests; other workers look
 * at those only. With steal, a worker that would be idle takes a request of another home. Spares
 * take from all homes: a request that is READY there has no idle worker, and spares come only in
 * the place of a worker that sleeps.
 *
 * Requests with a home are of lane 3, so no lane holds them up while others go, and are not
 * boosted.
 *
 * Invariants, under the lock, unless a hold has left that over and another one follows:
 *   no worker of a home is idle beside an entry of it, or beside one of none that the lanes
 *   admit; with steal, beside any of a home
 *   a queue of a home without workers has no entries
 */
#ifndef _DXK_ENGINE_HOME_H
#define _DXK_ENGINE_HOME_H

#include "engine/engine.h"
#include "engine/os.h"
#include "engine/waiter.h"

struct dxk_wakes;

int dxk_homes_start(struct dxk_engine *e);
void dxk_homes_destroy(struct dxk_engine *e);

void dxk_homes_go_on(struct dxk_engine *e, struct dxk_wakes *wakes);
u32 dxk_home_least(const struct dxk_engine *e, enum dxk_kind kind);

u64 dxk_homes_served(const struct dxk_engine *e, enum dxk_kind kind);
struct dxk_rqe *dxk_homes_best(struct dxk_engine *e, enum dxk_kind kind);
struct dxk_rqe *dxk_home_best(struct dxk_engine *e, u32 h, enum dxk_kind kind);

/** dxk_homes_cost - steps of dxk_homes_best(): a look at each home that has an entry */
static inline u32 dxk_homes_cost(const struct dxk_ready *ready, enum dxk_kind kind)
{
	/* A lock hold that has spent nothing can afford it. */
	BUILD_BUG_ON(DXK_HOMES_MAX >= DXK_HOLD_BUDGET);
	return hweight64(ready->at_home[kind]);
}

/** dxk_idle_list - where a worker that sleeps for work is found */
static inline struct list_head *dxk_idle_list(struct dxk_engine *e, const struct dxk_member *m)
{
	return likely(!m->home) ? &e->crew.idle[m->kind] :
				  &e->ready.home[m->home - 1].idle[m->kind];
}

#endif /* _DXK_ENGINE_HOME_H */
