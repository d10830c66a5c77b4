// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Spaces of owner cookies. A private space ends with its last descriptor. Then its results in
 * the Rejoin Pool are dropped. Requests that are Ready or execute vanish at their end, as nobody
 * is left to collect them. Requests that wait end at once, as nobody is left to call them.
 */
#include "engine/dispatch.h"
#include "engine/key_call.h"
#include "engine/more.h"
#include "engine/next.h"
#include "engine/os.h"
#include "engine/rejoin.h"
#include "engine/space.h"

void dxk_space_close_run(struct dxk_engine *e, struct dxk_op *op,
				struct dxk_wakes *wakes)
{
	struct dxk_close_op *c = container_of(op, struct dxk_close_op, op);
	struct dxk_space *space = c->space;

	/* No further results come: an owner without one needs no more work. */
	space->closed = true;
	while (!list_empty(&space->waiting) && dxk_afford(wakes, 1))
		dxk_end_waiting(e, list_first_entry(&space->waiting, struct dxk_more, kin)->rqe,
				-ECANCELED, &c->ended, wakes);
	while (!list_empty(&space->owners) && dxk_afford(wakes, 1)) {
		struct dxk_owner *owner = list_first_entry(&space->owners,
							 struct dxk_owner, link);

		dxk_step(e);
		if (owner->nr_done)
			dxk_drop_results(e, owner, &c->ended, wakes);
		else
			list_move_tail(&owner->link, &space->emptied);
	}
	c->more = !list_empty(&space->waiting) || !list_empty(&space->owners) ||
		  !dxk_holds_release(e, &space->holds, true, wakes);
	if (unlikely(e->state == DXK_CTX_STOPPING))
		dxk_stop_workers(e, wakes);
}
