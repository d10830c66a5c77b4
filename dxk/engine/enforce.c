// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * A policy comes into force while the context runs.
 *
 * It may close a lane, or leave no worker of a kind. New posts of that are refused from
 * the first lock hold on, sleeping posters are told when their turn comes, and what is
 * Ready ends with the status that a post would be refused with: it could never run, and
 * its owner, and a Stop(drain), would wait for ever. Nothing else can become Ready there:
 * what goes back to the pool, or would begin again because its worker died, ends as well.
 * What executes goes on.
 */
#include "engine/engine.h"
#include "engine/enforce.h"
#include "engine/next.h"
#include "engine/onblock.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/rejoin.h"

/* Any Ready request that no worker will ever run, or NULL. */
static struct dxk_rqe *dxk_first_closed(const struct dxk_engine *e)
{
	u32 kind, lane;

	for (kind = 0; kind < DXK_KINDS; kind++)
		for (lane = 0; lane < DXK_LANES; lane++)
			if (e->ready.nr[kind][lane] && dxk_closed(e, kind, lane))
				return dxk_ready_first_of(&e->ready, kind, lane);
	return NULL;
}

/** dxk_enforce_run - a policy comes into force. To be performed again while there is more */
void dxk_enforce_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_enforce_op *p = container_of(op, struct dxk_enforce_op, op);
	struct dxk_rqe *rqe;

	if (p->policy) {
		e->policy = *p->policy;
		p->policy = NULL;
		dxk_crew_set_lanes(e);
	}
	while ((rqe = dxk_first_closed(e)) && dxk_afford(wakes, 1))
		dxk_end_ready(e, rqe, dxk_closed(e, rqe->kind, rqe->lane), &p->ended, wakes);
	p->more = rqe;
	dxk_serve_posters(e, wakes);
	dxk_tell_managers(e, wakes);
	dxk_stop_workers(e, wakes);
}
