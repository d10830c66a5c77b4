// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * A policy comes into force while the context runs.
 *
 * It may close a lane, or leave no worker of a kind. New posts of that are refused from
 * the first lock hold on; sleeping posters are notified when their turn comes. Requests
 * that are Ready or wait end with the status with which a post would be refused: they
 * could never run, and their owner, and a Stop(drain), would wait forever. Nothing else
 * can become Ready there: a request that goes back to the pool, or would begin again
 * because its worker died, or would wait, ends as well. Requests that execute go on.
 */
#include "engine/engine.h"
#include "engine/enforce.h"
#include "engine/next.h"
#include "engine/onblock.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/rejoin.h"

/*
 * Any Ready request that no worker will ever run, or NULL. A Stop(cancel) ends those itself, or
 * has them Ready for their last turns, which a closed lane does not hold up; if no worker is left
 * for these, the last one that goes ends them.
 */
static struct dxk_rqe *dxk_first_closed(const struct dxk_engine *e)
{
	u32 kind, lane;

	if (e->cancelling)
		return NULL;
	for (kind = 0; kind < DXK_KINDS; kind++)
		for (lane = 0; lane < DXK_LANES; lane++)
			if (e->ready.nr[kind][lane] && dxk_closed(e, kind, lane))
				return dxk_ready_first_of(&e->ready, kind, lane);
	return NULL;
}

static bool dxk_any_closed(const struct dxk_engine *e)
{
	u32 kind, lane;

	for (kind = 0; kind < DXK_KINDS; kind++)
		for (lane = 0; lane < DXK_LANES; lane++)
			if (dxk_closed(e, kind, lane))
				return true;
	return false;
}

/*
 * End waiting requests that no worker will ever run. Each one is looked at once: it moves to the
 * end of its line, until the first one that has done so stands in front again, and thus all are in
 * their order, see age.h, but for those that begin to wait, or end, between two lock holds.
 * Requests that begin to wait meanwhile were checked then; those whose wait ends meanwhile while
 * another one has their key are met by one more pass.
 * As far as the lock hold can afford. Return: was that all?
 */
static bool dxk_enforce_waits(struct dxk_engine *e, struct dxk_enforce_op *p,
			      struct dxk_wakes *wakes)
{
	for (; p->line < DXK_LINES;
	     p->line++, p->left = e->nr[DXK_AT_WAIT], p->first = NULL) {
		struct list_head *waits = &e->waits.line[p->line];

		for (; p->left && !list_empty(waits); p->left--) {
			struct dxk_rqe *rqe = list_first_entry(waits, struct dxk_rqe, link);
			int closed = dxk_closed(e, rqe->kind, rqe->lane);

			if (rqe == p->first)
				break;
			if (!dxk_afford(wakes, 1))
				return false;
			dxk_step(e);
			if (closed)
				dxk_end_waiting(e, rqe, closed, &p->ended, wakes);
			else
				dxk_rqe_change(rqe, waits);
			if (!closed && !p->first)
				p->first = rqe;
		}
	}
	return true;
}

/** dxk_enforce_run - put a policy into force. To be performed again while there is more */
void dxk_enforce_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_enforce_op *p = container_of(op, struct dxk_enforce_op, op);
	struct dxk_rqe *rqe;

	if (p->policy) {
		dxk_crew_set_policy(e, p->policy);
		p->policy = NULL;
		p->line = dxk_any_closed(e) ? 0 : DXK_LINES;
		p->left = U32_MAX;
		e->waits.shut = false;
	}
	while ((rqe = dxk_first_closed(e)) && dxk_afford(wakes, 1))
		dxk_end_ready(e, rqe, dxk_closed(e, rqe->kind, rqe->lane), &p->ended, wakes);
	/* Until here a Ready request of these may have begun to wait; from here on none does. */
	if (!rqe)
		p->left = min(p->left, e->nr[DXK_AT_WAIT]);
	p->more = rqe || !dxk_enforce_waits(e, p, wakes);
	if (!p->more && unlikely(e->waits.shut)) {
		e->waits.shut = false;
		p->line = 0;
		p->left = e->nr[DXK_AT_WAIT];
		p->more = true;
	}
	dxk_serve_posters(e, wakes);
	dxk_tell_managers(e, wakes);
	dxk_stop_workers(e, wakes);
}
