// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The usual cases, as straight-line code: the turn of a worker that executes one request at a
 * time, completes it and is given the next; the post of one request that has room. next.c has
 * all turns, post.c all posts.
 */
#include "engine/assign.h"
#include "engine/complete.h"
#include "engine/dispatch.h"
#include "engine/key.h"
#include "engine/next.h"
#include "engine/order.h"
#include "engine/os.h"
#include "engine/pool.h"
#include "engine/rejoin.h"
#include "engine/state.h"
#include "engine/turn.h"
#include "trace.h"

/* --- a turn ------------------------------------------------------------------- */

/* Is the worker neither leaving nor a spare, and has nothing else to do first? */
static bool dxk_worker_is_usual(const struct dxk_member *m)
{
	return m->attached && !(m->leaving | m->spare | m->has_closed_handles | m->marked |
				m->home) &&
	       list_empty(&m->called);
}

/*
 * A running context does not cancel. Where workers wait for room in the Rejoin Pool, each
 * has to look for it. With nothing Ready dxk_next() completes and falls idle at once; and it
 * looks at the events that have fired.
 */
static bool dxk_turn_is_usual(const struct dxk_engine *e, const struct dxk_member *m)
{
	return likely(e->state == DXK_CTX_RUNNING && llist_empty(&e->waits.fired) &&
		      e->policy.rejoin_full != DXK_REJOIN_BLOCK_WORKER && dxk_worker_is_usual(m));
}

/*
 * Does the end of the request involve nothing but its result and the key that it has? Likewise
 * the request to be taken next: those that the policy has closed are ended elsewhere.
 */
static bool dxk_last_is_usual(struct dxk_engine *e, const struct dxk_member *m,
			      const struct dxk_rqe *rqe)
{
	const struct dxk_more *more = rqe->more, *first;

	if (likely(!more))
		return e->ready.filled[m->kind] && dxk_end_is_usual(rqe);
	if (rqe->posted | rqe->extra || more->parks || more->file || more->watch ||
	    rqe->owner->joined || !dxk_key_is_usual(more))
		return false;
	first = dxk_key_first(more->key);
	return first ? !dxk_closed(e, first->rqe->kind, first->rqe->lane) :
		       e->ready.filled[m->kind];
}

/**
 * dxk_turn - complete a request and take the next, if nothing about that is unusual
 * @m: the worker
 * @done: BUSY, its status set, in dxk_member.busy; %NULL when this returns, if it is
 *	completed
 *
 * Return: the next one, DISPATCHED, in dxk_member.busy; or %NULL: dxk_next() goes on, with
 * @done unless that is completed.
 */
struct dxk_rqe *dxk_turn(struct dxk_member *m, struct dxk_rqe **done)
{
	struct dxk_engine *e = m->engine;
	struct dxk_wakes wakes __uninitialized;
	struct dxk_rqe *rqe = *done, *next;
	struct dxk_key *key;
	bool vanishes;

	if (unlikely(!READ_ONCE(e->direct)))
		return NULL;

	dxk_wakes_init(&wakes);
	spin_lock(&e->lock);
	if (!dxk_turn_is_usual(e, m) || !dxk_last_is_usual(e, m, rqe)) {
		spin_unlock(&e->lock);
		return NULL;
	}
	dxk_hold_begin(e);
	dxk_rqe_leave(rqe);
	m->executed++;
	m->held--;
	key = likely(!rqe->more) ? NULL : dxk_key_end(rqe->more);
	vanishes = dxk_completed(e, rqe, rqe->status, true, &wakes);
	next = likely(list_empty(&e->waits.eager)) ? NULL : dxk_eager_take(e, m, &wakes);
	if (likely(!next))
		next = likely(!key) ?
			dxk_ready_take(&e->ready, m->kind, &e->crew.lanes[m->kind]) :
			dxk_key_next(e, key, m, &wakes);
	if (likely(next))
		dxk_assign(e, m, next, &m->busy, &wakes);
	dxk_dispatch(e, &wakes);
	dxk_hold_end(e, &wakes);
	spin_unlock(&e->lock);
	dxk_wakes_flush(e, &wakes);

	*done = NULL;
	if (vanishes)
		dxk_rqe_drop(m, rqe);
	return next;
}

/* --- a post ------------------------------------------------------------------- */

/* Is there a Rejoin Pool entry for the request, or does it need none? */
static bool dxk_rejoin_has_room(const struct dxk_engine *e, const struct dxk_rqe *rqe)
{
	return !dxk_rqe_rejoinable(rqe) || e->policy.rejoin_full != DXK_REJOIN_RESERVE ||
	       e->owners.reserved < e->owners.entries;
}

/*
 * Is there room for the request, with nobody before it and nobody to be notified? Members that
 * have a share are left to others.
 */
static bool dxk_post_is_usual(const struct dxk_engine *e, const struct dxk_member *m,
			      const struct dxk_rqe *rqe)
{
	const struct dxk_policy *p = &e->policy;

	return likely(e->state == DXK_CTX_RUNNING && !m->share && !rqe->more &&
		      (m->engaged || m->role == DXK_ROLE_WORKER) &&
		      e->nr[DXK_AT_READY] < p->ready_entries && dxk_live(e) < p->max_requests &&
		      !(e->ready.asleep[rqe->lane] | e->ready.rooms.nr) &&
		      !dxk_closed(e, rqe->kind, rqe->lane) &&
		      (!dxk_cmls(e) || dxk_lanes_admit(&e->ready.lanes, rqe->lane)) &&
		      dxk_rejoin_has_room(e, rqe));
}

/**
 * dxk_post_usual - post one request, if nothing about that is unusual
 * @m: the member; it has a spare owner record
 * @rqe: POSTED
 *
 * It is straight-line code, and does not sleep.
 * Return: was it posted? If not, dxk_client_post() finds the reason.
 */
bool dxk_post_usual(struct dxk_member *m, struct dxk_rqe *rqe)
{
	struct dxk_engine *e = m->engine;
	struct dxk_wakes wakes __uninitialized;
	struct dxk_next_op *n;

	if (unlikely(!READ_ONCE(e->direct)))
		return false;

	dxk_wakes_init(&wakes);
	spin_lock(&e->lock);
	if (!dxk_post_is_usual(e, m, rqe)) {
		spin_unlock(&e->lock);
		return false;
	}
	dxk_hold_begin(e);
	rqe->share = 0;
	rqe->owner = dxk_owner_enter(&e->owners, m->space, rqe->cookie, &m->owners);
	n = unlikely(e->crew.nr_idle[rqe->kind]) ? dxk_idle_for(e, rqe) : NULL;
	dxk_post_ready(e, rqe, n);
	if (dxk_rqe_rejoinable(rqe))
		e->owners.reserved++;
	e->stats.posts++;
	trace_dxk_post(m, rqe);
	if (n)
		dxk_hand_over(e, n, rqe, &wakes);
	dxk_dispatch(e, &wakes);
	dxk_hold_end(e, &wakes);
	spin_unlock(&e->lock);
	dxk_wakes_flush(e, &wakes);
	return true;
}
