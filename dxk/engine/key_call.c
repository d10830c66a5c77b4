// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Calls on keys: see key_call.h.
 */
#include "engine/cancel.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/key.h"
#include "engine/key_call.h"
#include "engine/member.h"
#include "engine/more.h"
#include "engine/next.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/rejoin.h"
#include "engine/stall.h"
#include "trace.h"

/* --- of a request that executes --------------------------------------------------- */

/** dxk_key_finish - answer the call of @k */
void dxk_key_finish(struct dxk_key_op *k, int ret, struct dxk_wakes *wakes)
{
	k->ret = ret;
	dxk_waiter_finish(&k->w, wakes);
}

/** dxk_key_is_off - is the request to end, so that it no longer waits for anybody? */
bool dxk_key_is_off(const struct dxk_engine *e, const struct dxk_more *more)
{
	return e->cancelling || more->cancelled;
}

/*
 * May somebody else than the owner's pollers, who are looked at, wait for the worker: a request, or
 * who waits for another request of it?
 */
static bool dxk_is_awaited_else(const struct dxk_member *m, const struct dxk_owner *owner)
{
	return m->held > 1 || !list_empty(&owner->joiners[false]) ||
	       !list_empty(&owner->joiners[true]);
}

/* Sleep until the request has its key. */
static void dxk_key_sleep(struct dxk_engine *e, struct dxk_key_op *k, u8 state,
			  struct dxk_wakes *wakes)
{
	struct dxk_more *more = k->rqe->more;
	struct dxk_member *m = k->m;

	more->key_call = k;
	more->away = true;
	dxk_waiter_queue(&k->w, &e->waits.callers, NULL, dxk_crew_sleepers(&e->crew, m),
			 &e->stats.key_blocks, &e->stats.key_block_ns);
	m->stuck = DXK_STUCK_KEY;
	m->doubt = 0;
	m->asks = more;
	k->w.stuck = m;
	/*
	 * Any request of the key may notify one that waits for that: it is no link of a circle,
	 * until all are notified together.
	 */
	if (state == DXK_M_ENTERING) {
		dxk_key_doubt(e, more, wakes);
		if (dxk_is_awaited_else(m, more->rqe->owner))
			dxk_key_suspect(e, more->key, wakes);
	}
	m->awaits = more->key->cookie;
	dxk_member_set_state(m, state);
	trace_dxk_block(e->id, m->id, state, 0);
	dxk_stall_suspect(e, wakes);
}

/* Does another request of the same worker have the key? */
static bool dxk_key_is_its_own(const struct dxk_key_op *k)
{
	const struct dxk_more *holder = dxk_key_holder(k->rqe->more->key);

	return holder && holder->worker == k->m;
}

/* A request that comes back precedes a READY holder, which may have no worker left to begin it. */
static void dxk_key_make_way(struct dxk_engine *e, struct dxk_key *key, struct dxk_wakes *wakes)
{
	if (!e->cancelling && key->turn && dxk_rqe_state(key->turn->rqe) == DXK_READY)
		dxk_key_yield(e, key, wakes);
}

/** dxk_key_enter - a request that executes comes back to its key */
void dxk_key_enter(struct dxk_engine *e, struct dxk_key_op *k, struct dxk_wakes *wakes)
{
	struct dxk_more *more = k->rqe->more;
	bool vacant = dxk_key_is_vacant(more->key);

	if (dxk_key_is_off(e, more) &&
	    (more->at_key == DXK_KEY_BACK || more->at_key == DXK_KEY_WAITS)) {
		dxk_key_give_up(more, wakes);
		dxk_key_finish(k, -ECANCELED, wakes);
		return;
	}
	switch (more->at_key) {
	case DXK_KEY_HAS:
		dxk_key_finish(k, more->away ? 0 : -EALREADY, wakes);
		more->away = false;
		return;
	case DXK_KEY_OUT:
		if (!vacant && dxk_key_is_off(e, more)) {
			dxk_key_finish(k, -ECANCELED, wakes);
			return;
		}
		if (!vacant && dxk_key_is_its_own(k)) {
			dxk_key_finish(k, -EDEADLK, wakes);
			return;
		}
		dxk_key_make_way(e, more->key, wakes);
		list_add_tail(&more->way, &more->key->back);
		more->at_key = DXK_KEY_BACK;
		dxk_key_pass(e, more->key, wakes);
		if (more->at_key == DXK_KEY_HAS) {
			dxk_key_finish(k, 0, wakes);
			return;
		}
		break;
	}
	dxk_key_sleep(e, k, DXK_M_ENTERING, wakes);
}

/* Leave the key to another request. */
static void dxk_key_leave_for(struct dxk_key *key, struct dxk_more *more, u8 at,
			      struct list_head *queue)
{
	key->turn = NULL;
	more->at_key = at;
	list_add_tail(&more->way, queue);
}

static void dxk_key_wait(struct dxk_engine *e, struct dxk_key_op *k, struct dxk_wakes *wakes)
{
	struct dxk_more *more = k->rqe->more;
	struct dxk_key *key = more->key;

	/* As if it were cancelled while it waits: it goes on without its key. */
	if (dxk_key_is_off(e, more)) {
		dxk_key_drop(e, more, wakes);
		dxk_key_finish(k, -ECANCELED, wakes);
		return;
	}
	dxk_key_leave_for(key, more, DXK_KEY_WAITS, &key->waiters);
	more->arrival = e->waits.arrivals++;
	dxk_key_sleep(e, k, DXK_M_CONDITION, wakes);
	dxk_key_pass(e, key, wakes);
}

/*
 * The notified requests come first, the caller's request stands behind them, and all of these
 * before those that have come back earlier.
 */
static void dxk_key_notify(struct dxk_engine *e, struct dxk_key_op *k, struct dxk_wakes *wakes)
{
	struct dxk_more *more = k->rqe->more;
	struct dxk_key *key = more->key;
	struct dxk_more *first;
	LIST_HEAD(back);

	if (list_empty(&key->waiters)) {
		dxk_key_finish(k, 0, wakes);
		return;
	}
	if (k->what == DXK_KEY_NOTIFY_ALL) {
		key->told = e->waits.arrivals;
		list_splice_init(&key->waiters, &back);
	} else {
		first = list_first_entry(&key->waiters, struct dxk_more, way);
		first->at_key = DXK_KEY_BACK;
		list_move_tail(&first->way, &back);
	}
	dxk_key_leave_for(key, more, DXK_KEY_BACK, &back);
	list_splice_init(&back, &key->back);
	dxk_key_sleep(e, k, DXK_M_ENTERING, wakes);
	dxk_key_pass(e, key, wakes);
}

static int dxk_key_check(const struct dxk_key_op *k)
{
	const struct dxk_more *more = k->rqe->more;

	if (!more || !more->key)
		return -EINVAL;
	if (k->m->blocks == k->rqe)
		return -EBUSY;
	if (more->at_key == DXK_KEY_NESTED)
		return -EBUSY;
	if (k->what == DXK_KEY_ENTER)
		return 0;
	/* After a signal it must come back first. */
	if (more->at_key != DXK_KEY_HAS || more->away)
		return -EPERM;
	return list_empty(&more->key->nested) ? 0 : -EBUSY;
}

/** dxk_key_ask_run - a request that executes leaves its key, or comes back to it */
void dxk_key_ask_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_key_op *k = container_of(op, struct dxk_key_op, op);
	int err = dxk_key_check(k);

	if (err) {
		dxk_key_finish(k, err, wakes);
		return;
	}
	switch (k->what) {
	case DXK_KEY_LEAVE:
		dxk_key_drop(e, k->rqe->more, wakes);
		dxk_key_finish(k, 0, wakes);
		break;
	case DXK_KEY_ENTER:
		dxk_key_enter(e, k, wakes);
		break;
	case DXK_KEY_WAIT:
		dxk_key_wait(e, k, wakes);
		break;
	default:
		dxk_key_notify(e, k, wakes);
	}
}

/*
 * A signal, or the deadline, has ended a sleep for a key.
 *
 * A request that waits to be notified gets the key next. After a signal the request keeps its
 * place on the way back without the call; after the deadline the call continues to sleep.
 */
void dxk_key_awake_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_key_op *k = container_of(op, struct dxk_key_op, op);
	struct dxk_more *more = k->rqe->more;

	if (k->w.done)
		return;
	dxk_waiter_leave(&k->w);
	if (dxk_key_is_waiting(more)) {
		k->timed_out = k->why == -ETIMEDOUT;
		dxk_key_make_way(e, more->key, wakes);
		list_move(&more->way, &more->key->back);
		more->at_key = DXK_KEY_BACK;
		dxk_key_pass(e, more->key, wakes);
		if (more->at_key == DXK_KEY_HAS)
			return;
	}
	if (k->why == -ETIMEDOUT) {
		dxk_key_sleep(e, k, DXK_M_ENTERING, wakes);
		return;
	}
	more->key_call = NULL;
	dxk_key_finish(k, k->what == DXK_KEY_ENTER || k->what == DXK_KEY_UNBLOCK ? k->why : -EINTR,
		       wakes);
}

/**
 * dxk_key_calls_stop - end all sleeps for keys, in a Stop(cancel)
 * @e: the engine, locked
 * @wakes: gets the wake-ups
 *
 * As far as the lock hold can afford. Return: was that all?
 */
bool dxk_key_calls_stop(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct list_head *callers = &e->waits.callers;

	lockdep_assert_held(&e->lock);

	while (e->cancelling && !list_empty(callers)) {
		if (!dxk_afford(wakes, 1))
			return false;
		dxk_key_give_up(list_first_entry(callers, struct dxk_key_op, w.link)->rqe->more,
				wakes);
	}
	return true;
}

/* --- of anybody --------------------------------------------------------------------- */

/** dxk_key_hold_run - hold a key back: from now on none of its requests begins a turn */
void dxk_key_hold_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_key_op *k = container_of(op, struct dxk_key_op, op);
	struct dxk_space *space = k->m->space;
	struct dxk_key *key;

	k->ret = 0;
	if (!e->waits.bucket) {
		k->ret = -EOPNOTSUPP;
		return;
	}
	if (e->state != DXK_CTX_RUNNING || space->closed) {
		k->ret = -ESHUTDOWN;
		return;
	}
	key = dxk_key_find(e, space, k->cookie);
	if (!(key && key->suspended)) {
		k->ret = dxk_share_may_wait(e, k->m);
		if (k->ret)
			return;
		key = dxk_key_enter_hash(e, space, k->cookie, k->m->keys);
		key->suspended = true;
		list_add_tail(&key->hold, &e->waits.holds);
		list_add_tail(&key->kin, &space->holds);
		e->waits.unbegun++;
		key->share = k->m->share;
		if (key->share)
			e->shares.of[key->share].waiting++;
		if (key->turn && dxk_rqe_state(key->turn->rqe) == DXK_READY) {
			dxk_key_yield(e, key, wakes);
			/* A request that comes back may have it, and goes on. */
			dxk_key_pass(e, key, wakes);
		}
	}
	key->refuses = k->refuse;
}

/** dxk_key_release_run - no longer hold a key back */
void dxk_key_release_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_key_op *k = container_of(op, struct dxk_key_op, op);
	struct dxk_key *key = dxk_key_find(e, k->m->space, k->cookie);

	k->ret = key ? 0 : -ENOENT;
	if (key && key->suspended)
		dxk_key_unhold(e, key, wakes);
}

/**
 * dxk_holds_release - no longer hold back the keys of a list
 * @e: the engine, locked
 * @holds: dxk_waits.holds, or dxk_space.holds
 * @kin: it is the second
 * @wakes: gets the wake-ups
 *
 * As far as the lock hold can afford. Return: was that all?
 */
bool dxk_holds_release(struct dxk_engine *e, struct list_head *holds, bool kin,
		       struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	while (!list_empty(holds)) {
		struct dxk_key *key = kin ? list_first_entry(holds, struct dxk_key, kin) :
					    list_first_entry(holds, struct dxk_key, hold);

		if (!dxk_afford(wakes, 1))
			return false;
		dxk_key_unhold(e, key, wakes);
	}
	return true;
}

/* Cancel a request that is Held, or has the key and is READY. */
static void dxk_key_tell(struct dxk_engine *e, struct dxk_key_op *k, struct dxk_more *more,
			 struct dxk_wakes *wakes)
{
	k->ret++;
	/* First, because dxk_tell() may end it. */
	if (dxk_is_held(more) && dxk_rqe_begun(more->rqe))
		dxk_held_defer(more);
	dxk_tell(e, more->rqe, DXK_WAKE_CANCEL, &k->ended, wakes);
}

/*
 * Cancel the requests that wait for a key.
 *
 * To be performed again while there is more. A request that has come meanwhile, and is first, is
 * cancelled with those behind it that were there; the ones at the end were cancelled before. With
 * the last request the record may go.
 */
void dxk_key_cancel_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_key_op *k = container_of(op, struct dxk_key_op, op);
	struct dxk_key *key = dxk_key_find(e, k->m->space, k->cookie);
	struct dxk_more *more;

	if (!k->more) {
		k->ret = key ? 0 : -ENOENT;
		k->left = key ? key->nr_held : 0;
		k->came = e->waits.arrivals;
		k->turn = key && key->turn ? key->turn->arrival : k->came;
	}
	k->more = false;
	while (k->left && key && key->nr_held) {
		more = dxk_key_first(key);
		if (more->rank == S64_MIN)
			break;
		k->more = !dxk_afford(wakes, 1);
		if (k->more)
			return;
		k->left -= more->arrival < k->came && more->arrival != k->turn;
		dxk_key_tell(e, k, more, wakes);
		key = dxk_key_find(e, k->m->space, k->cookie);
	}
	while (key && !list_empty(&key->waiters)) {
		more = list_first_entry(&key->waiters, struct dxk_more, way);
		/* They stand in the order in which they came. */
		if (more->arrival >= k->came)
			break;
		k->more = !dxk_afford(wakes, 1);
		if (k->more)
			return;
		k->ret++;
		dxk_key_give_up(more, wakes);
	}
	if (key && key->turn && dxk_rqe_state(key->turn->rqe) == DXK_READY)
		dxk_key_tell(e, k, key->turn, wakes);
	dxk_serve_posters(e, wakes);
	if (unlikely(e->state == DXK_CTX_STOPPING))
		dxk_stop_workers(e, wakes);
}
