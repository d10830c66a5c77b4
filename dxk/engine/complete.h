/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The end of a request, see rejoin.c. It is inline, as every request comes here; calls are made
 * only for what most requests do not have.
 */
#ifndef _DXK_ENGINE_COMPLETE_H
#define _DXK_ENGINE_COMPLETE_H

#include "engine/engine.h"
#include "engine/os.h"
#include "engine/rejoin.h"
#include "engine/state.h"
#include "trace.h"

void dxk_unreserve(struct dxk_engine *e, const struct dxk_rqe *rqe);
void dxk_more_end(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes);
void dxk_owner_tell(struct dxk_engine *e, struct dxk_owner *owner, struct dxk_wakes *wakes);

/* Is it certain that the poller continues to sleep? */
static inline bool dxk_poller_is_early(const struct dxk_engine *e, const struct dxk_owner *owner,
				       const struct dxk_rejoin_op *r)
{
	return r->wait && owner->nr_done < r->min &&
	       dxk_owner_coming(owner) > r->self_held &&
	       e->policy.rejoin_full != DXK_REJOIN_BLOCK_WORKER;
}

/* Does nobody wait for the owner, or only one poller, which certainly continues to sleep? */
static __always_inline bool dxk_owner_is_quiet(const struct dxk_engine *e,
					       const struct dxk_owner *owner)
{
	if (!list_empty(&owner->watchers) || unlikely(e->owners.nr_any))
		return false;
	/* The last one ends the waits for all, and a result those for any. */
	if (!dxk_owner_coming(owner) && (owner->joined || !dxk_owner_live(owner)))
		return false;
	if (unlikely(owner->joined & DXK_JOINED_RESULT) && owner->nr_done &&
	    !list_empty(&owner->joiners[true]))
		return false;
	return list_empty(&owner->pollers) ||
	       (list_is_singular(&owner->pollers) &&
		dxk_poller_is_early(e, owner, list_first_entry(&owner->pollers,
							       struct dxk_rejoin_op, w.link)));
}

/* Something about the owner has changed: mostly nobody waits for that. */
static __always_inline void dxk_owner_changed(struct dxk_engine *e, struct dxk_owner *owner,
					      struct dxk_wakes *wakes)
{
	if (!dxk_owner_is_quiet(e, owner))
		dxk_owner_tell(e, owner, wakes);
}

/*
 * Let a request that will never run (again) reach its owner, or vanish. @tell: notify the
 * owner's waiters. Return: must the caller free it?
 */
static __always_inline bool dxk_end(struct dxk_engine *e, struct dxk_rqe *rqe, bool tell,
				    struct dxk_wakes *wakes)
{
	struct dxk_owner *owner = rqe->owner;
	bool vanishes = rqe->state != DXK_REJOIN;

	if (unlikely(rqe->more))
		dxk_more_end(e, rqe, wakes);
	if (vanishes) {
		if (dxk_rqe_rejoinable(rqe))
			dxk_unreserve(e, rqe);
		e->stats.vanished++;
		dxk_owner_doubt(e, owner, wakes);
	} else {
		if (e->nr[DXK_AT_REJOIN] > e->owners.entries)
			e->stats.rejoin_overflow++;
		dxk_rqe_join(rqe, &owner->done);
		dxk_owner_add_done(owner, 1);
	}
	if (tell)
		dxk_owner_changed(e, owner, wakes);
	return vanishes;
}

static __always_inline bool dxk_completed(struct dxk_engine *e, struct dxk_rqe *rqe, s32 status,
					  bool tell, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	rqe->status = status;
	e->stats.completions++;
	trace_dxk_complete(e->id, rqe);
	if (dxk_rqe_awaited(rqe))
		dxk_move(e, rqe, DXK_BUSY, DXK_REJOIN);
	else
		dxk_move(e, rqe, DXK_BUSY, DXK_FREE);
	return dxk_end(e, rqe, tell, wakes);
}

#endif /* _DXK_ENGINE_COMPLETE_H */
