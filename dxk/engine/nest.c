// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Requests within requests: see nest.h.
 */
#include "engine/assign.h"
#include "engine/key.h"
#include "engine/nest.h"
#include "engine/onblock.h"
#include "engine/os.h"
#include "engine/state.h"

/** dxk_may_nest - may a worker execute a further request within those that it has? */
bool dxk_may_nest(const struct dxk_engine *e, const struct dxk_member *m)
{
	return m->extra < e->policy.help_depth && list_empty(&m->called);
}

/**
 * dxk_nest_begin - give a Held request to a worker, within the one that has its key
 * @e: the engine, locked
 * @m: the worker; it fetches it with its next turn, as a helper does
 * @more: of the request
 * @wakes: gets the wake-ups of posters
 */
void dxk_nest_begin(struct dxk_engine *e, struct dxk_member *m, struct dxk_more *more,
		    struct dxk_wakes *wakes)
{
	struct dxk_member *outer = dxk_key_holder(more->key)->worker;
	struct dxk_key *key = more->key;
	struct dxk_rqe *rqe = more->rqe;

	lockdep_assert_held(&e->lock);

	dxk_rqe_leave(rqe);
	dxk_held_leave(more);
	more->at_key = DXK_KEY_NESTED;
	list_add_tail(&more->way, &key->nested);
	if (outer && outer != m) {
		more->outer = outer;
		outer->outer++;
	}
	dxk_move(e, rqe, DXK_WAITING, DXK_READY);
	dxk_held_stamp(e, rqe);
	dxk_extra_start(e, m, rqe);
	dxk_assign(e, m, rqe, &m->called, wakes);
	e->stats.nested++;
}

/**
 * dxk_nest_undo - a nested request could not be fetched: it is Held again
 * @e: the engine, locked
 * @more: of the request, which is READY, in no queue
 * @wakes: gets what is owed
 */
void dxk_nest_undo(struct dxk_engine *e, struct dxk_more *more, struct dxk_wakes *wakes)
{
	struct dxk_key *key = more->key;

	dxk_key_drop(e, more, wakes);
	dxk_move(e, more->rqe, DXK_READY, DXK_WAITING);
	dxk_key_hold(e, more->rqe, wakes);
	/* The holder of the key may have gone meanwhile, and a less urgent request have it now. */
	if (key->turn && dxk_rqe_state(key->turn->rqe) == DXK_READY)
		dxk_key_review(e, key, wakes);
	else
		dxk_key_pass(e, key, wakes);
}
