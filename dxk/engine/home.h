/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Homes: parts of the Ready Pool that have workers of their own, who are bound to CPUs, so that
 * what is executed with one home stays where its data is (policies homes and steal).
 *
 * A home is a queue more, as one of a lane and a class is: what is READY and has a home is in
 * that of its home, as long as this has workers, else beside all others. A worker of a home
 * takes the best of its own queue and of those; other workers look at those only. With steal one
 * that would be idle takes what is of another home. Spares take from all homes: what is READY
 * there has no idle worker, and they come only in the place of one that sleeps.
 *
 * What has a home is of lane 3, so no lane holds it up while others go, and is not boosted.
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
