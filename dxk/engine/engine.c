// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The engine as a whole: its beginning and its end.
 */
#include "engine/engine.h"
#include "engine/home.h"
#include "engine/name.h"
#include "engine/os.h"
#include "engine/policy.h"
#include "engine/room.h"

/** dxk_engine_init - initialize an engine, not started, in zeroed memory */
void dxk_engine_init(struct dxk_engine *e)
{
	spin_lock_init(&e->lock);
	dxk_pools_init(e);
	e->direct = true;
	dxk_ready_init(&e->ready);
	dxk_rooms_init(&e->ready.rooms);
	dxk_crew_init(&e->crew);
	dxk_owns_init(&e->owns);
	dxk_owners_init(&e->owners);
	INIT_LIST_HEAD(&e->run.ended);
	INIT_LIST_HEAD(&e->stoppers);
	INIT_LIST_HEAD(&e->services);
	init_llist_head(&e->inbox);
	dxk_waits_init(&e->waits);
	dxk_purges_init(&e->purges);
	dxk_shares_init(&e->shares);
	dxk_space_init(&e->home, 0);
	dxk_space_init(&e->shared, 1);
	e->spaces = 1;
}

/** dxk_engine_destroy - free an engine that is no longer used, with uncollected results */
void dxk_engine_destroy(struct dxk_engine *e)
{
	WARN_ON_ONCE(e->nr[DXK_AT_READY] || e->nr[DXK_AT_WORK] || e->nr[DXK_AT_WAIT] ||
		     !list_empty(&e->owners.owed) || !list_empty(&e->waits.holds));
	dxk_names_destroy(e);
	dxk_homes_destroy(e);
	dxk_owns_destroy(e);
	dxk_fair_destroy(e);
	dxk_owners_destroy(&e->owners);
	dxk_pool_trim(&e->pool, 0);
	dxk_pool_trim(&e->mores, 0);
}

/** dxk_out_of_work - is nothing left to do, because there is no run, or it ends and is quiet? */
bool dxk_out_of_work(const struct dxk_engine *e)
{
	switch (e->state) {
	case DXK_CTX_STARTING:	/* the first workers run before Start is over */
	case DXK_CTX_RUNNING:
		return false;
	case DXK_CTX_STOPPING:
		return dxk_quiet(e);
	default:
		return true;
	}
}
