// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Keys: their holders, and the requests that are Held behind: see key.h.
 */
#include "engine/engine.h"
#include "engine/key.h"
#include "engine/key_call.h"
#include "engine/line.h"
#include "engine/more.h"
#include "engine/order.h"
#include "engine/os.h"
#include "engine/owner.h"
#include "engine/state.h"
#include "trace.h"

/* --- the order of Held requests ------------------------------------------------- */

/*
 * By their priority on arrival, less what a request that is not boosted would have gained by
 * then, as in the Ready Pool: so they age, and their order never changes.
 */
static bool dxk_held_before(const struct dxk_more *x, const struct dxk_more *y)
{
	return x->rank != y->rank ? x->rank > y->rank : x->arrival < y->arrival;
}

static bool dxk_held_node_before(struct rb_node *a, const struct rb_node *b)
{
	return dxk_held_before(rb_entry(a, struct dxk_more, order),
			       rb_entry(b, struct dxk_more, order));
}

static void dxk_held_enter(struct dxk_key *key, struct dxk_more *more)
{
	struct list_head *queue = &key->queue;

	more->at_key = DXK_KEY_HELD;
	more->treed = false;
	key->nr_held++;
	if (list_empty(queue) ||
	    dxk_held_before(list_last_entry(queue, struct dxk_more, way), more)) {
		dxk_link_join(&more->way, queue);
	} else if (dxk_held_before(more, list_first_entry(queue, struct dxk_more, way))) {
		list_add(&more->way, queue);
	} else {
		more->treed = true;
		rb_add_cached(&more->order, &key->tree, dxk_held_node_before);
	}
}

/** dxk_held_leave - a request is no longer Held; the caller changes its state and its line */
void dxk_held_leave(struct dxk_more *more)
{
	struct dxk_key *key = more->key;

	if (unlikely(more->treed))
		rb_erase_cached(&more->order, &key->tree);
	else
		dxk_link_leave(&more->way);
	key->nr_held--;
	more->at_key = DXK_KEY_OUT;
	dxk_more_unlinked(more);
}

/** dxk_held_defer - move a Held request behind all other Held ones */
void dxk_held_defer(struct dxk_more *more)
{
	struct dxk_key *key = more->key;

	dxk_held_leave(more);
	more->rank = S64_MIN;
	dxk_held_enter(key, more);
}

/** dxk_key_first - the Held request that gets the key next, or NULL */
struct dxk_more *dxk_key_first(struct dxk_key *key)
{
	struct dxk_more *more = list_first_entry_or_null(&key->queue, struct dxk_more, way);
	struct dxk_more *treed;

	if (likely(RB_EMPTY_ROOT(&key->tree.rb_root)))
		return more;
	treed = rb_entry(rb_first_cached(&key->tree), struct dxk_more, order);
	return more && dxk_held_before(more, treed) ? more : treed;
}

/* --- the holder ------------------------------------------------------------------- */

static void dxk_key_give(struct dxk_key *key, struct dxk_more *more)
{
	key->turn = more;
	more->at_key = DXK_KEY_HAS;
}

/**
 * dxk_key_doubt - the waiters for a request may wait for themselves from now on
 * @e: the engine, locked
 * @more: of the request: it no longer goes on without help, or may be nested now
 * @wakes: gets what is owed
 *
 * A later hold looks.
 */
void dxk_key_doubt(struct dxk_engine *e, const struct dxk_more *more,
			  struct dxk_wakes *wakes)
{
	struct dxk_owner *owner = more->rqe->owner;

	if (list_empty(&owner->pollers))
		return;
	dxk_owner_owe(e, owner);
	dxk_owe(e, wakes);
}

/**
 * dxk_key_suspect - somebody waits for a key, or waits now for another holder of it
 * @e: the engine, locked
 * @key: the key
 * @wakes: gets the Monitor's wake-up
 *
 * If the holder falls asleep later, its own search meets who waits. If it sleeps already, perhaps
 * for one of these, no new wait has closed that circle, and the Monitor looks for it.
 */
void dxk_key_suspect(struct dxk_engine *e, const struct dxk_key *key, struct dxk_wakes *wakes)
{
	const struct dxk_more *holder = dxk_key_holder(key);

	lockdep_assert_held(&e->lock);

	if (likely(!holder || !holder->worker || holder->worker->stuck == DXK_STUCK_NOT))
		return;
	WRITE_ONCE(e->waits.unsure, true);
	dxk_call_control(e, DXK_MONITOR, wakes);
}

/**
 * dxk_key_hold - let a request be Held
 * @e: the engine, locked
 * @rqe: WAITING, in no list, without its key
 * @wakes: gets the Monitor's wake-up
 */
void dxk_key_hold(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes)
{
	struct dxk_more *more = rqe->more;

	lockdep_assert_held(&e->lock);

	trace_dxk_held(e->id, rqe, more->key->cookie, more->wake);
	/* Any wait before this one is over, and what a dispatch in vain has set. */
	rqe->prio = rqe->own_prio;
	rqe->inspect = 0;
	more->wait.wait = 0;
	more->doubt = 0;
	dxk_line_enter(e, rqe, wakes);
	dxk_held_enter(more->key, more);
	e->stats.held++;
	/* It is the last of its line now, behind those that were looked at. */
	if (unlikely(dxk_closed(e, rqe->kind, rqe->lane)))
		e->waits.shut = true;
	dxk_owner_doubt(e, rqe->owner, wakes);
	if (unlikely(!list_empty(&rqe->owner->joiners[false])))
		dxk_key_suspect(e, more->key, wakes);
	if (dxk_rqe_begun(rqe))
		dxk_key_doubt(e, more, wakes);
}

/**
 * dxk_key_yield - a READY holder gives up its key, and is Held
 * @e: the engine, locked
 * @key: its turn is READY; has no holder afterwards
 * @wakes: gets what is owed
 */
void dxk_key_yield(struct dxk_engine *e, struct dxk_key *key, struct dxk_wakes *wakes)
{
	struct dxk_rqe *rqe = key->turn->rqe;

	key->turn = NULL;
	dxk_ready_remove(&e->ready, rqe);
	dxk_move(e, rqe, DXK_READY, DXK_WAITING);
	dxk_key_hold(e, rqe, wakes);
	/* There may be room in its lane now, and none in the lane of the next holder. */
	if (unlikely(dxk_room_is_awaited(&e->ready))) {
		e->ready.left = true;
		dxk_owe(e, wakes);
	}
}

/** dxk_held_stamp - set the place in the Ready Pool of a Held request that goes on */
void dxk_held_stamp(struct dxk_engine *e, struct dxk_rqe *rqe)
{
	/* A cancelled request was moved behind all others: it ages anew. */
	if (unlikely(rqe->more->rank == S64_MIN)) {
		rqe->prio = rqe->own_prio;
		dxk_ready_stamp(&e->ready, rqe);
	} else {
		dxk_ready_age(&e->ready, rqe, rqe->more->rank);
	}
}

/** dxk_key_rank - set the rank of a request at its key: from now on it ages from @prio */
void dxk_key_rank(const struct dxk_engine *e, struct dxk_rqe *rqe, s32 prio)
{
	rqe->more->rank = prio - e->ready.gained[DXK_PLAIN];
}

/**
 * dxk_key_get - dxk_key_take() for a request of a key
 * @e: the engine, locked
 * @rqe: POSTED, BUSY or WAITING, in no list; it comes now
 * @wakes: gets what is owed
 */
bool dxk_key_get(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes)
{
	struct dxk_more *more = rqe->more;
	struct dxk_key *key = more->key;

	lockdep_assert_held(&e->lock);

	dxk_key_rank(e, rqe, rqe->own_prio);
	more->arrival = e->waits.arrivals++;
	rqe->tick0 = e->ready.tick;
	if (!dxk_key_is_free(key)) {
		const struct dxk_more *turn = key->turn;

		if (!turn || dxk_rqe_state(turn->rqe) != DXK_READY || e->cancelling ||
		    turn->rank >= more->rank)
			return false;
		dxk_key_yield(e, key, wakes);
	}
	dxk_key_give(key, more);
	return true;
}

/* Answer the call of the request's worker that sleeps for the key, if there is one. */
static void dxk_key_answer(struct dxk_more *more, int ret, struct dxk_wakes *wakes)
{
	struct dxk_key_op *k = more->key_call;

	if (!k)
		return;
	more->key_call = NULL;
	more->away = false;
	k->ret = ret ?: k->timed_out ? -ETIMEDOUT : 0;
	dxk_waiter_finish(&k->w, wakes);
}

/**
 * dxk_key_give_up - a request that has left its key, and is to end, does not come back to it
 * @more: of the request, which is BUSY; its engine is locked
 * @wakes: gets the wake-up of its worker, if that sleeps for the key
 */
void dxk_key_give_up(struct dxk_more *more, struct dxk_wakes *wakes)
{
	if (more->at_key != DXK_KEY_WAITS && more->at_key != DXK_KEY_BACK)
		return;
	list_del_init(&more->way);
	more->at_key = DXK_KEY_OUT;
	more->away = false;
	dxk_key_answer(more, -ECANCELED, wakes);
}

/*
 * Give the key to a request that comes back: the call of its thread, or its next one, ends. Without
 * such a call the thread may sleep for results.
 */
static void dxk_key_give_back(struct dxk_engine *e, struct dxk_key *key, struct dxk_wakes *wakes)
{
	struct dxk_more *more = list_first_entry(&key->back, struct dxk_more, way);

	list_del_init(&more->way);
	dxk_key_give(key, more);
	dxk_key_answer(more, 0, wakes);
	dxk_key_suspect(e, key, wakes);
}

/* Give the key to a Held request: it is READY, in no queue of the pool. */
static void dxk_key_begin(struct dxk_engine *e, struct dxk_key *key, struct dxk_more *more)
{
	struct dxk_rqe *rqe = more->rqe;

	dxk_rqe_leave(rqe);
	dxk_held_leave(more);
	dxk_key_give(key, more);
	dxk_move(e, rqe, DXK_WAITING, DXK_READY);
	rqe->posted = unlikely(e->policy.sample_interval_ms) ? os_now() : 0;
}

/**
 * dxk_key_pass - give the key to the next request, if no other one has it
 * @e: the engine, locked
 * @key: the key
 * @wakes: gets the wake-up of one that comes back
 *
 * Never refused for room: a Held request was admitted by its post.
 */
void dxk_key_pass(struct dxk_engine *e, struct dxk_key *key, struct dxk_wakes *wakes)
{
	struct dxk_more *more;
	struct dxk_rqe *rqe;

	lockdep_assert_held(&e->lock);

	if (key->turn || !list_empty(&key->nested))
		return;
	if (unlikely(!list_empty(&key->back))) {
		dxk_key_give_back(e, key, wakes);
		return;
	}
	more = key->suspended ? NULL : dxk_key_first(key);
	if (!more)
		return;
	rqe = more->rqe;
	/* The Stop, or the policy that closes the lane, ends it, and then the key is passed. */
	if (unlikely((e->cancelling && !dxk_rqe_begun(rqe)) ||
		     dxk_closed(e, rqe->kind, rqe->lane)))
		return;
	dxk_key_begin(e, key, more);
	if (unlikely(e->cancelling)) {
		dxk_more_tell(more, DXK_WAKE_CANCEL);
		dxk_ready_add_last(&e->ready, rqe);
	} else if (unlikely(more->rank == S64_MIN)) {
		rqe->prio = rqe->own_prio;
		dxk_ready_add(&e->ready, rqe);
	} else {
		dxk_ready_add_aged(&e->ready, rqe, more->rank);
	}
	wakes->spent++;
}

/**
 * dxk_key_review - the holder of a key is READY again: does another request come before it?
 * @e: the engine, locked
 * @key: its turn is READY
 * @wakes: gets what is owed
 *
 * One that comes back to the key does, as before all that have not begun, and a Held one that is
 * more urgent. A key that is held back is given up in any case.
 */
void dxk_key_review(struct dxk_engine *e, struct dxk_key *key, struct dxk_wakes *wakes)
{
	const struct dxk_more *first = dxk_key_first(key);

	if (e->cancelling || (list_empty(&key->back) && !key->suspended &&
			      !(first && first->rank > key->turn->rank)))
		return;
	dxk_key_yield(e, key, wakes);
	dxk_key_pass(e, key, wakes);
}

/* A nested request has ended: the thread of the outer request may go on. */
static void dxk_nest_leave(struct dxk_engine *e, struct dxk_more *more,
			   struct dxk_wakes *wakes)
{
	struct dxk_member *m = more->outer;
	struct dxk_owner *owner;

	list_del_init(&more->way);
	more->outer = NULL;
	if (!m || --m->outer)
		return;
	/* Later holds look at each rejoin in the list once, to find that of the thread. */
	list_splice_tail_init(&e->waits.outers, &e->waits.rising);
	e->owners.freed = true;
	if (m->stuck != DXK_STUCK_OWNER)
		return;
	/* Its rejoin was not answered in the meantime. */
	owner = dxk_owner_find(&e->owners, m->space, m->awaits);
	if (owner)
		dxk_owner_owe(e, owner);
	dxk_owe(e, wakes);
}

/* How many of the first ones of the queue, and of the tree, may be nested after one that was. */
#define DXK_DOUBTS	8

static void dxk_nest_next(struct dxk_engine *e, struct dxk_key *key, struct dxk_wakes *wakes)
{
	struct dxk_more *more;
	struct rb_node *node;
	u32 nr = 0;

	if (!key->turn)
		return;
	list_for_each_entry(more, &key->queue, way) {
		if (nr++ == DXK_DOUBTS)
			break;
		dxk_step(e);
		dxk_key_doubt(e, more, wakes);
	}
	nr = 0;
	for (node = rb_first_cached(&key->tree); node && nr++ < DXK_DOUBTS; node = rb_next(node)) {
		dxk_step(e);
		dxk_key_doubt(e, rb_entry(node, struct dxk_more, order), wakes);
	}
}

/* A request ends, or begins anew, before those that are nested in it: its worker has died. */
static void dxk_nest_orphan(struct dxk_key *key, struct dxk_member *m)
{
	struct dxk_more *more;

	list_for_each_entry(more, &key->nested, way) {
		if (more->outer != m || !m)
			continue;
		more->outer = NULL;
		m->outer--;
	}
}

/**
 * dxk_key_lose - dxk_key_drop() for a request of a key
 * @e: the engine, locked
 * @more: of the request
 * @wakes: gets the wake-up of one that comes back
 */
void dxk_key_lose(struct dxk_engine *e, struct dxk_more *more, struct dxk_wakes *wakes)
{
	struct dxk_key *key = more->key;

	lockdep_assert_held(&e->lock);

	switch (more->at_key) {
	case DXK_KEY_HAS:
		key->turn = NULL;
		dxk_nest_orphan(key, more->worker);
		break;
	case DXK_KEY_NESTED:
		/* First, so that the outer thread is not refused what a caller can execute. */
		dxk_nest_next(e, key, wakes);
		dxk_nest_leave(e, more, wakes);
		dxk_nest_orphan(key, more->worker);
		break;
	case DXK_KEY_BACK:
	case DXK_KEY_WAITS:
		list_del_init(&more->way);
		break;
	default:
		return;
	}
	more->at_key = DXK_KEY_OUT;
	more->away = false;
	dxk_key_pass(e, key, wakes);
}

/* --- the records -------------------------------------------------------------------- */

static struct hlist_head *dxk_key_bucket(const struct dxk_engine *e,
					 const struct dxk_space *space, u64 cookie)
{
	return dxk_waits_bucket(&e->waits, space->id, cookie) + (1U << e->waits.bits);
}

/** dxk_key_find - the record of a key, or NULL: no request of it lives, nor is it held back */
struct dxk_key *dxk_key_find(const struct dxk_engine *e, const struct dxk_space *space,
			     u64 cookie)
{
	struct dxk_key *key;

	lockdep_assert_held(&e->lock);

	key = e->waits.recent;
	if (key && key->cookie == cookie && key->space == space)
		return key;
	if (!e->waits.bucket)
		return NULL;
	hlist_for_each_entry(key, dxk_key_bucket(e, space, cookie), hash)
		if (key->cookie == cookie && key->space == space)
			return key;
	return NULL;
}

/**
 * dxk_key_enter_hash - the record of a key, made if there is none
 * @e: the engine, locked
 * @space: the space of the key
 * @cookie: the key
 * @stash: has a record, for the case that the engine has no free one
 */
struct dxk_key *dxk_key_enter_hash(struct dxk_engine *e, struct dxk_space *space, u64 cookie,
				   struct dxk_stash *stash)
{
	struct dxk_key *key = dxk_key_find(e, space, cookie);

	if (key) {
		e->waits.recent = key;
		return key;
	}
	key = dxk_stash_pop(e->waits.keys.nr ? &e->waits.keys : stash);
	key->space = space;
	key->cookie = cookie;
	if (space->is_private)
		dxk_space_get(space);
	hlist_add_head(&key->hash, dxk_key_bucket(e, space, cookie));
	return key;
}

static void dxk_key_leave_hash(struct dxk_engine *e, struct dxk_key *key)
{
	if (key->users || key->suspended)
		return;
	WARN_ON_ONCE(key->turn || key->nr_held);
	hlist_del(&key->hash);
	if (e->waits.recent == key)
		e->waits.recent = NULL;
	if (key->space->is_private)
		dxk_space_put(e, key->space);
	key->refuses = false;
	key->run = 0;
	dxk_key_push(&e->waits.keys, key);
}

/**
 * dxk_key_use - make a request one of a key
 * @e: the engine, locked
 * @rqe: of no key
 * @space: the space of its owner
 * @cookie: the key
 * @stash: see dxk_key_enter_hash()
 */
void dxk_key_use(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_space *space, u64 cookie,
		 struct dxk_stash *stash)
{
	struct dxk_key *key = dxk_key_enter_hash(e, space, cookie, stash);

	key->users++;
	rqe->more->key = key;
}

/**
 * dxk_key_unuse - a request is no longer one of its key
 * @e: the engine, locked
 * @more: of the request; not Held
 * @wakes: gets the wake-up of one that comes back
 */
void dxk_key_unuse(struct dxk_engine *e, struct dxk_more *more, struct dxk_wakes *wakes)
{
	struct dxk_key *key = more->key;

	if (!key)
		return;
	dxk_key_drop(e, more, wakes);
	/* This request, which was to end, may have held up the next one. */
	dxk_key_pass(e, key, wakes);
	more->key = NULL;
	key->users--;
	dxk_key_leave_hash(e, key);
}

/**
 * dxk_key_end - the turn of a request ends, and with it the request: its key is free
 * @more: of the request, which has its key as dxk_key_is_usual() says
 *
 * dxk_key_next() follows. Return: the key.
 */
struct dxk_key *dxk_key_end(struct dxk_more *more)
{
	struct dxk_key *key = more->key;

	key->turn = NULL;
	key->users--;
	more->at_key = DXK_KEY_OUT;
	more->key = NULL;
	return key;
}

/**
 * dxk_key_next - take the next request for a worker, after dxk_key_end() in the same lock hold
 * @e: the engine, locked
 * @key: free; its record may be gone when this returns
 * @m: the worker
 * @wakes: of the hold
 *
 * That is the first Held one, if the worker may take it, unless another request is more urgent,
 * or is Ready after many of the key in a row; else the Held one enters the pool.
 * Return: READY, in no queue; or %NULL.
 */
struct dxk_rqe *dxk_key_next(struct dxk_engine *e, struct dxk_key *key,
			     const struct dxk_member *m, struct dxk_wakes *wakes)
{
	const struct dxk_lanes *lanes = &e->crew.lanes[m->kind];
	struct dxk_more *more = dxk_key_first(key);
	const struct dxk_rqe *best;
	struct dxk_rqe *rqe;
	bool last;

	if (!more) {
		dxk_key_leave_hash(e, key);
		return dxk_ready_take(&e->ready, m->kind, lanes);
	}
	rqe = more->rqe;
	dxk_key_begin(e, key, more);
	wakes->spent++;
	dxk_held_stamp(e, rqe);
	best = dxk_ready_find(&e->ready, m->kind, lanes);
	last = key->run + 1 >= e->policy.key_batch;
	if (rqe->kind == m->kind && rqe->slot < DXK_SLOT_HOME &&
	    dxk_lanes_admit(lanes, rqe->lane) &&
	    (!best || (!last && dxk_ready_prio(&e->ready, rqe) >=
				dxk_ready_prio(&e->ready, best)))) {
		key->run = last ? 0 : key->run + 1;
		return rqe;
	}
	key->run = 0;
	dxk_ready_enter(&e->ready, rqe);
	return dxk_ready_take(&e->ready, m->kind, lanes);
}

/** dxk_key_unhold - no longer hold a key back; its record may be gone when this returns */
void dxk_key_unhold(struct dxk_engine *e, struct dxk_key *key, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	list_del(&key->hold);
	list_del(&key->kin);
	key->suspended = false;
	key->refuses = false;
	e->waits.unbegun--;
	if (key->share)
		e->shares.of[key->share].waiting--;
	dxk_step(e);
	dxk_key_pass(e, key, wakes);
	dxk_key_leave_hash(e, key);
}

/* --- memory --------------------------------------------------------------------------- */

/** dxk_key_refill - dxk_key_reserve() if there are too few records */
int dxk_key_refill(struct dxk_member *m, u32 nr)
{
	if (!m->keys) {
		m->keys = kzalloc(sizeof(*m->keys), GFP_KERNEL_ACCOUNT);
		if (!m->keys)
			return -ENOMEM;
	}
	return dxk_keys_fill(m->keys, nr);
}

/** dxk_key_stash_free - free the records of a member that leaves */
void dxk_key_stash_free(struct dxk_member *m)
{
	if (!m->keys)
		return;
	dxk_keys_free(m->keys);
	kfree(m->keys);
	m->keys = NULL;
}

/** dxk_keys_destroy - free the records of an engine that is no longer used */
void dxk_keys_destroy(struct dxk_engine *e)
{
	dxk_keys_free(&e->waits.keys);
}
