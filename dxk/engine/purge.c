// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The end of all requests of an owner: see purge.h.
 */
#include "engine/cancel.h"
#include "engine/doom.h"
#include "engine/engine.h"
#include "engine/more.h"
#include "engine/next.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/purge.h"
#include "engine/rejoin.h"
#include "engine/should.h"
#include "engine/wake.h"

/* Number of looks at entries of the pool that cost as much as one entry that ends. */
#define DXK_PURGE_LOOKS	16

static void dxk_purge_done(struct dxk_engine *e, struct dxk_owner *owner)
{
	dxk_purge_reset(e, owner);
	list_del_init(&owner->purge);
	owner->rounds++;
}

/* --- its parts ------------------------------------------------------------------ */

/*
 * Each as far as the lock hold can afford. The owner ends with its last request, and its purge
 * with the owner: after ending a request, check again which purge is under way.
 */
static bool dxk_purge_mores(struct dxk_engine *e, struct dxk_owner *owner,
			    struct list_head *ended, struct dxk_wakes *wakes)
{
	while (!list_empty(&owner->doomed)) {
		struct dxk_more *more = list_first_entry(&owner->doomed, struct dxk_more, sibling);

		if (!dxk_afford_or_owe(e, wakes, 1))
			return false;
		dxk_step(e);
		list_move_tail(&more->sibling, &owner->mores);
		more->doomed = true;
		dxk_tell(e, more->rqe, DXK_WAKE_CANCEL, ended, wakes);
		if (dxk_purges_first(&e->purges) != owner)
			return true;
	}
	e->ready.cursor = owner->nr[DXK_AT_READY] ?
			  dxk_ready_scan(&e->ready, owner->doom - 1) : NULL;
	e->purges.part = DXK_PURGE_READY;
	return true;
}

/* Those with a struct dxk_more, such as all at home, have ended already. */
static bool dxk_purge_ready(struct dxk_engine *e, struct dxk_owner *owner,
			    struct list_head *ended, struct dxk_wakes *wakes)
{
	struct dxk_rqe *rqe;
	u32 looks = 0;

	while ((rqe = e->ready.cursor)) {
		bool ends = rqe->owner == owner && dxk_rqe_doomed(rqe) &&
			    !dxk_rqe_begun(rqe);

		if ((ends || !(looks++ % DXK_PURGE_LOOKS)) && !dxk_afford_or_owe(e, wakes, 1))
			return false;
		if (!ends) {
			e->ready.cursor = dxk_ready_next(&e->ready, rqe);
			continue;
		}
		dxk_end_ready(e, rqe, -ECANCELED, ended, wakes);
		if (dxk_purges_first(&e->purges) != owner)
			return true;
	}
	list_splice_init(&e->crew.members, &e->purges.members);
	e->purges.part = DXK_PURGE_MEMBERS;
	return true;
}

static bool dxk_purge_members(struct dxk_engine *e, struct dxk_owner *owner,
			      struct dxk_wakes *wakes)
{
	struct list_head *members = &e->purges.members;

	while (!list_empty(members)) {
		struct dxk_member *m = list_first_entry(members, struct dxk_member, fellows);

		if (!dxk_afford_or_owe(e, wakes, 1))
			return false;
		dxk_step(e);
		list_move_tail(&m->fellows, &e->crew.members);
		if (!m->held || m->work.owner != owner->cookie ||
		    m->work_space != owner->space->id || m->work_seq + 1 >= owner->doom)
			continue;
		WRITE_ONCE(m->told, true);
		if (m->should)
			dxk_should_answer(m->should, wakes);
	}
	dxk_purge_done(e, owner);
	return true;
}

/**
 * dxk_purge_some - continue what dxk_purge_begin() has begun
 * @e: the engine, locked
 * @ended: gets the requests that end and that nobody collects
 * @wakes: of the hold; what it cannot afford is owed
 */
void dxk_purge_some(struct dxk_engine *e, struct list_head *ended, struct dxk_wakes *wakes)
{
	struct dxk_owner *owner;
	bool goes_on = true;

	lockdep_assert_held(&e->lock);

	if (likely(list_empty(&e->purges.owners)))
		return;
	while (goes_on && (owner = dxk_purges_first(&e->purges))) {
		switch (e->purges.part) {
		case DXK_PURGE_MORES:
			goes_on = dxk_purge_mores(e, owner, ended, wakes);
			break;
		case DXK_PURGE_READY:
			goes_on = dxk_purge_ready(e, owner, ended, wakes);
			break;
		default:
			goes_on = dxk_purge_members(e, owner, wakes);
		}
	}
	/* Ready requests that ended have left room, and may have been the last. */
	dxk_serve_posters(e, wakes);
	if (unlikely(e->state == DXK_CTX_STOPPING))
		dxk_stop_workers(e, wakes);
}

/* --- the call ------------------------------------------------------------------- */

/** dxk_purge_run - a member cancels all requests of an owner */
void dxk_purge_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_purge_op *p = container_of(op, struct dxk_purge_op, op);
	struct dxk_owner *owner = dxk_owner_find(&e->owners, p->m->space, p->cookie);

	if (!p->begun) {
		p->begun = true;
		memset(p->nr, 0, DXK_PLACES * sizeof(*p->nr));
		if (owner) {
			memcpy(p->nr, owner->nr, sizeof(owner->nr));
			p->round = owner->rounds;
			dxk_purge_begin(e, owner);
		}
	}
	if (owner && owner->rounds == p->round)
		dxk_purge_some(e, &p->ended, wakes);
	owner = dxk_owner_find(&e->owners, p->m->space, p->cookie);
	p->more = owner && !list_empty(&owner->purge) && owner->rounds == p->round;
}
