// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * A worker's turn: it completes the requests that it has executed and takes the next ones,
 * in one lock hold. With nothing to take it falls idle. A lock hold that makes a request
 * Ready gives it to the worker that fell idle last.
 */
#include "engine/assign.h"
#include "engine/cancel.h"
#include "engine/dispatch.h"
#include "engine/home.h"
#include "engine/key.h"
#include "engine/latency.h"
#include "engine/more.h"
#include "engine/nest.h"
#include "engine/next.h"
#include "engine/onblock.h"
#include "engine/order.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/rejoin.h"
#include "engine/room.h"
#include "engine/stall.h"
#include "engine/state.h"
#include "engine/wait.h"
#include "trace.h"

/*
 * The next request of the key whose turn the worker has completed, unless another one is more
 * urgent, or it has had many of them in a row.
 */
static noinline struct dxk_rqe *dxk_preferred(struct dxk_engine *e, struct dxk_next_op *n)
{
	const struct dxk_lanes *lanes = &e->crew.lanes[n->m->kind];
	struct dxk_rqe *rqe = n->prefer->rqe, *best;
	struct dxk_key *key = n->prefer->key;

	if (dxk_rqe_state(rqe) != DXK_READY)
		return NULL;
	best = dxk_ready_best(&e->ready, n->m->kind, lanes);
	if (!best || rqe->kind != n->m->kind || rqe->slot >= DXK_SLOT_HOME ||
	    key->run + 1 >= e->policy.key_batch || !dxk_lanes_admit(lanes, rqe->lane) ||
	    dxk_ready_prio(&e->ready, rqe) < dxk_ready_prio(&e->ready, best)) {
		key->run = 0;
		return NULL;
	}
	key->run++;
	dxk_ready_remove(&e->ready, rqe);
	return rqe;
}

/* A worker of a home takes its next request, if there is one. */
static noinline bool dxk_home_take(struct dxk_engine *e, struct dxk_next_op *n,
				   struct dxk_wakes *wakes)
{
	struct dxk_rqe *rqe = dxk_home_best(e, n->m->home - 1, n->m->kind);

	if (!rqe)
		return false;
	dxk_ready_remove(&e->ready, rqe);
	dxk_assign(e, n->m, rqe, &n->work, wakes);
	n->nr = 1;
	return true;
}

/* Has the worker a place for the request? */
static bool dxk_eager_fits(const struct dxk_engine *e, const struct dxk_member *m,
			   const struct dxk_rqe *rqe)
{
	return rqe->kind == m->kind && !e->cancelling &&
	       (!rqe->more->home || rqe->more->home == m->home) &&
	       (m->spare ? dxk_spare_may_run(e, m->kind) :
			   dxk_lanes_admit(&e->crew.lanes[m->kind], rqe->lane));
}

/**
 * dxk_eager_take - the request that is to follow at once what a worker has ended in this hold
 * @e: the engine, locked
 * @m: the worker; it takes nothing else with this call
 * @wakes: gets the clock's wake-up
 *
 * Return: a request to assign to it, READY, in no queue; or %NULL. The remaining ones become
 * Ready with the dispatch at the end of the hold.
 */
struct dxk_rqe *dxk_eager_take(struct dxk_engine *e, struct dxk_member *m,
			       struct dxk_wakes *wakes)
{
	struct dxk_rqe *rqe = list_first_entry(&e->waits.eager, struct dxk_more, joiner)->rqe;

	lockdep_assert_held(&e->lock);

	if (!dxk_eager_fits(e, m, rqe))
		return NULL;
	dxk_wait_end(e, rqe, DXK_WAKE_JOIN, wakes);
	/* Another request has its key. */
	if (rqe->state != DXK_READY)
		return NULL;
	dxk_ready_remove(&e->ready, rqe);
	if (unlikely(m->spare))
		dxk_extra_start(e, m, rqe);
	return rqe;
}

/* Take the request that follows at once what the worker has completed. */
static noinline bool dxk_take_eager(struct dxk_engine *e, struct dxk_next_op *n,
				    struct dxk_wakes *wakes)
{
	struct dxk_rqe *rqe = dxk_eager_take(e, n->m, wakes);

	if (!rqe)
		return false;
	dxk_assign(e, n->m, rqe, &n->work, wakes);
	n->nr = 1;
	return true;
}

/*
 * Take the best request, and more while the backlog exceeds one for each worker and the
 * requests wait for nobody. A request that a worker holds behind another one cannot start,
 * so only lane 3 is taken ahead.
 */
static bool dxk_take(struct dxk_engine *e, struct dxk_next_op *n,
		     struct dxk_wakes *wakes)
{
	enum dxk_kind kind = n->m->kind;
	struct dxk_lanes *lanes = &e->crew.lanes[kind];
	struct dxk_rqe *rqe, *next;
	u32 share;

	if (unlikely(n->m->spare)) {
		n->nr = dxk_spare_turn(e, n, wakes);
		return n->nr;
	}
	if (unlikely(e->cancelling)) {
		rqe = dxk_ready_take_last(&e->ready, kind);
		if (!rqe)
			return false;
		dxk_assign(e, n->m, rqe, &n->work, wakes);
		n->nr = 1;
		return true;
	}
	if (unlikely(n->m->home))
		return dxk_home_take(e, n, wakes);
	next = likely(!n->prefer) ? NULL : dxk_preferred(e, n);
	if (likely(!next))
		next = dxk_ready_take(&e->ready, kind, lanes);
	if (!next)
		return false;
	share = n->max == 1 ? 1 :
		DIV_ROUND_UP(dxk_ready_nr(&e->ready, kind) + 1, e->crew.workers[kind]);
	do {
		rqe = next;
		dxk_assign_one(e, n->m, rqe, &n->work, wakes);
		if (++n->nr >= min(n->max, share) || rqe->lane != DXK_LANES - 1)
			break;
		next = dxk_ready_take_last_lane(&e->ready, kind, lanes);
	} while (next);
	dxk_member_note(n->m, rqe);
	return true;
}

static void dxk_next_finish(struct dxk_next_op *n, int err, struct dxk_wakes *wakes)
{
	n->err = err;
	dxk_waiter_finish(&n->w, wakes);
}

/**
 * dxk_hand_over - give an idle worker a request
 * @e: the engine, locked
 * @n: its sleep
 * @rqe: READY, in no queue of the pool
 * @wakes: gets the wake-up
 */
void dxk_hand_over(struct dxk_engine *e, struct dxk_next_op *n, struct dxk_rqe *rqe,
		   struct dxk_wakes *wakes)
{
	dxk_assign(e, n->m, rqe, &n->work, wakes);
	n->nr++;
	dxk_next_finish(n, 0, wakes);
}

/**
 * dxk_give_idle - give the best Ready request of a kind to an idle worker
 * @e: the engine, locked
 * @kind: has an idle worker
 * @wakes: gets the wake-up
 *
 * Return: false when the lanes admit none.
 */
bool dxk_give_idle(struct dxk_engine *e, enum dxk_kind kind, struct dxk_wakes *wakes)
{
	struct dxk_next_op *n;
	struct dxk_rqe *rqe;

	lockdep_assert_held(&e->lock);

	if (unlikely(e->cancelling))
		rqe = dxk_ready_take_last(&e->ready, kind);
	else
		rqe = dxk_ready_take(&e->ready, kind, &e->crew.lanes[kind]);
	if (!rqe)
		return false;
	n = list_first_entry(&e->crew.idle[kind], struct dxk_next_op, w.link);
	dxk_hand_over(e, n, rqe, wakes);
	return true;
}

/**
 * dxk_idle_for - the idle worker to which a posted request goes at once
 * @e: the engine, locked
 * @rqe: POSTED, admitted; its kind has an idle worker, which may be one with a home
 *
 * Return: %NULL when the lanes do not admit it, something else may come first, or all idle
 * workers have homes.
 */
struct dxk_next_op *dxk_idle_for(const struct dxk_engine *e, const struct dxk_rqe *rqe)
{
	const struct list_head *idle = &e->crew.idle[rqe->kind];

	if (e->ready.filled[rqe->kind] || e->owners.freed || e->policy.on_block ||
	    !dxk_lanes_admit(&e->crew.lanes[rqe->kind], rqe->lane))
		return NULL;
	return list_empty(idle) ? NULL : list_first_entry(idle, struct dxk_next_op, w.link);
}

/*
 * Must a rejoinable completion wait for a Rejoin Pool entry? Not once Stop has
 * begun: it might wait for a collector that never comes.
 */
static bool dxk_rejoin_blocks(const struct dxk_engine *e)
{
	return e->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER &&
	       e->nr[DXK_AT_REJOIN] >= e->owners.entries &&
	       e->state == DXK_CTX_RUNNING;
}

/* Sleep for work; a spare does so beside the others. */
static void dxk_fall_idle(struct dxk_engine *e, struct dxk_next_op *n)
{
	struct dxk_crew *crew = &e->crew;
	struct dxk_member *m = n->m;

	list_add(&n->w.link, m->spare ? &crew->parked[m->kind] : dxk_idle_list(e, m));
	if (unlikely(m->home))
		e->ready.idle_homes[m->kind] |= BIT_ULL(m->home - 1);
	n->w.count = m->spare ? &crew->nr_parked[m->kind] : &crew->nr_idle[m->kind];
	(*n->w.count)++;
	crew->lulls[m->kind] += !m->spare;
	m->since = os_clock();
	dxk_member_set_state(m, DXK_M_AVAILABLE);
}

/*
 * A helper returns to the request that waits, or a worker has only the first ones of those it was
 * given: if the newest one that it executes is cancelled with its owner, it is told.
 */
static void dxk_member_note_newest(struct dxk_member *m)
{
	const struct dxk_rqe *rqe;

	if (list_empty(&m->busy))
		return;
	rqe = list_last_entry(&m->busy, struct dxk_rqe, link);
	dxk_member_note(m, rqe);
	m->told |= dxk_rqe_doomed(rqe);
}

/* An extra request is completed; a helper returns to the request that waits for it. */
static void dxk_extra_done(struct dxk_engine *e, struct dxk_member *m,
			   struct dxk_rqe *rqe)
{
	dxk_extra_end(e, m, rqe);
	if (m->spare)
		e->stats.spare_runs++;
	else
		e->stats.helps++;
	dxk_member_note_newest(m);
}

/* The request has ended, and the worker is to release its file. */
static void dxk_take_file(struct dxk_next_op *n, struct dxk_rqe *rqe)
{
	struct dxk_more *more = rqe->more;

	if (!more->file)
		return;
	more->file->next = n->files;
	n->files = more->file;
	more->file = NULL;
}

/* The key that the request has and others wait for, or NULL. They keep the key alive. */
static struct dxk_key *dxk_awaited_key(const struct dxk_more *more)
{
	return more->at_key == DXK_KEY_HAS && more->key->nr_held ? more->key : NULL;
}

/* One of the requests that wait for the key may have it now. */
static void dxk_next_prefer(struct dxk_next_op *n, struct dxk_key *key)
{
	if (key->turn && dxk_rqe_state(key->turn->rqe) == DXK_READY)
		n->prefer = key->turn;
}

/* Must the worker release files before it is available (DX-28)? */
static bool dxk_is_tidying(const struct dxk_next_op *n)
{
	return n->m->has_closed_handles || (n->files && n->m->kind == DXK_KERNEL);
}

/* Continue a worker's turn as far as possible. */
static void dxk_next_continue(struct dxk_engine *e, struct dxk_next_op *n,
			      struct dxk_wakes *wakes)
{
	struct dxk_member *m = n->m;
	struct dxk_key *key;
	u32 nr;

	if (!list_empty(&n->done) && e->policy.rejoin_full != DXK_REJOIN_BLOCK_WORKER &&
	    dxk_end_is_usual(list_first_entry(&n->done, struct dxk_rqe, link))) {
		nr = dxk_complete_usual(e, &n->done, &n->ended, wakes);
		n->taken += nr;
		m->executed += nr;
		m->held -= nr;
	}
	while (!list_empty(&n->done)) {
		struct dxk_rqe *rqe = list_first_entry(&n->done, struct dxk_rqe, link);
		bool parks = rqe->more && rqe->more->parks;

		/* A helper does not wait: it may itself be the collector. */
		if (dxk_rqe_awaited(rqe) && dxk_rejoin_blocks(e) && !parks &&
		    (!rqe->extra || m->spare)) {
			dxk_waiter_queue(&n->w, &e->owners.blocked, NULL,
					 dxk_crew_sleepers(&e->crew, m),
					 &e->stats.complete_blocks,
					 &e->stats.complete_block_ns);
			dxk_member_set_state(m, DXK_M_COMPLETING);
			trace_dxk_block(e->id, m->id, DXK_M_COMPLETING, 0);
			dxk_stall_suspect(e, wakes);
			n->prefer = NULL;
			return;
		}
		dxk_rqe_leave(rqe);
		n->taken++;
		m->executed++;
		m->held--;
		if (unlikely(rqe->extra))
			dxk_extra_done(e, m, rqe);
		if (unlikely(rqe->posted))
			dxk_latency_account(&e->latencies, rqe);
		if (unlikely(parks)) {
			rqe->status = dxk_park(e, rqe, wakes);
			if (!rqe->status)
				continue;
			rqe->data_len = 0;
		}
		key = NULL;
		if (unlikely(rqe->more)) {
			key = dxk_awaited_key(rqe->more);
			dxk_take_file(n, rqe);
		}
		if (dxk_complete(e, rqe, rqe->status, wakes))
			dxk_rqe_join(rqe, &n->ended);
		if (unlikely(key))
			dxk_next_prefer(n, key);
	}

	if (unlikely(!list_empty(&m->called)) && n->max) {
		/* It may have been called again before it arrived here. */
		list_move_tail(m->called.next, &n->work);
		n->nr = 1;
		dxk_next_finish(n, 0, wakes);
	} else if (!n->max || unlikely(dxk_is_tidying(n))) {
		dxk_next_finish(n, 0, wakes);
	} else if (!m->attached || m->leaving) {
		dxk_next_finish(n, -ESHUTDOWN, wakes);
	} else if ((unlikely(!list_empty(&e->waits.eager)) && dxk_take_eager(e, n, wakes)) ||
		   dxk_take(e, n, wakes)) {
		dxk_next_finish(n, 0, wakes);
	} else if (dxk_out_of_work(e)) {
		dxk_next_finish(n, -ESHUTDOWN, wakes);
	} else {
		dxk_mark_over(&e->crew, m);
		dxk_fall_idle(e, n);
		if (unlikely(e->crew.nr_askers[m->kind]))
			dxk_owe(e, wakes);
		if (unlikely(dxk_crew_asleep(&e->crew) | e->crew.clients_asleep))
			dxk_stall_suspect(e, wakes);
	}
	if (unlikely(m->refused) && !m->held)
		dxk_room_outside(e, m, wakes);
	if (unlikely(e->state == DXK_CTX_STOPPING))
		dxk_stop_workers(e, wakes);
}

/* Are the requests that the worker ends, or is given, within the one that set its first mark? */
static bool dxk_is_between_marks(struct dxk_engine *e, const struct dxk_next_op *n)
{
	const struct dxk_rqe *rqe;

	if (!n->m->blocks)
		return false;
	list_for_each_entry(rqe, &n->done, link) {
		dxk_step(e);
		if (rqe == n->m->blocks)
			return false;
	}
	return true;
}

/** dxk_next_run - a worker's turn */
void dxk_next_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_next_op *n = container_of(op, struct dxk_next_op, op);

	dxk_crew_has_come(&e->crew, n->m);
	if (unlikely(n->m->marked) && !dxk_is_between_marks(e, n))
		dxk_mark_over(&e->crew, n->m);
	dxk_next_continue(e, n, wakes);
}

/* Maximum cost of completing a batch. */
#define DXK_TURN_COST	(DXK_BATCH_MAX / 2 + 1)

/* Number of moves that workers' turns have made so far. */
static u64 dxk_turn_moves(const struct dxk_engine *e)
{
	return e->stats.completions + e->stats.dispatches + e->stats.waits;
}

/**
 * dxk_serve_blocked - complete for workers that wait for a Rejoin Pool entry
 * @e: the engine, locked
 * @wakes: gets the wake-ups
 *
 * As far as the lock hold can afford; the cost of a turn is known only after it.
 */
void dxk_serve_blocked(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct list_head *blocked = &e->owners.blocked;

	lockdep_assert_held(&e->lock);

	while (!list_empty(blocked) && !dxk_rejoin_blocks(e)) {
		u64 moves = dxk_turn_moves(e);
		struct dxk_next_op *n;

		if (!dxk_afford_or_owe(e, wakes, DXK_TURN_COST))
			return;
		n = list_first_entry(blocked, struct dxk_next_op, w.link);
		trace_dxk_block(e->id, n->m->id, DXK_M_COMPLETING,
			    os_now() - n->w.since);
		n->max = min(n->max, 1 + 2 * (DXK_HOLD_BUDGET - wakes->spent));
		dxk_waiter_leave(&n->w);
		dxk_next_continue(e, n, wakes);
		moves = dxk_turn_moves(e) - moves;
		wakes->spent += moves / 2 + 1;
		wakes->spent -= DXK_TURN_COST;
	}
}

/* Let the sleepers for work go, as far as the lock hold can afford. Return: was that all? */
static bool dxk_dismiss(struct dxk_engine *e, struct list_head *sleepers,
			struct dxk_wakes *wakes)
{
	struct dxk_next_op *n, *next;

	list_for_each_entry_safe(n, next, sleepers, w.link) {
		if (!dxk_afford_or_owe(e, wakes, 1))
			return false;
		dxk_next_finish(n, -ESHUTDOWN, wakes);
	}
	return true;
}

/**
 * dxk_stop_workers - let idle workers go once Stop has nothing left for them
 * @e: the engine, locked
 * @wakes: gets the wake-ups, that of Stop included
 */
void dxk_stop_workers(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct dxk_waiter *w, *next_w;
	u32 kind, h;

	lockdep_assert_held(&e->lock);

	if (!dxk_out_of_work(e))
		return;
	/* On the way down only the last worker kicks the walker: that worker calls this. */
	if (e->run.want_down && !e->run.down)
		wakes->kick |= BIT(DXK_WALKER);
	for (kind = 0; kind < DXK_KINDS; kind++)
		if (!dxk_dismiss(e, &e->crew.idle[kind], wakes) ||
		    !dxk_dismiss(e, &e->crew.parked[kind], wakes))
			return;
	for (h = 0; e->ready.home && h < DXK_HOMES_MAX; h++)
		for (kind = 0; kind < DXK_KINDS; kind++)
			if (!dxk_dismiss(e, &e->ready.home[h].idle[kind], wakes))
				return;
	list_for_each_entry_safe(w, next_w, &e->stoppers, link) {
		if (!dxk_afford_or_owe(e, wakes, 1))
			return;
		dxk_waiter_finish(w, wakes);
	}
}

/* It is Held, or has its key now. */
static void dxk_end_put_back(struct dxk_engine *e, struct dxk_rqe *rqe, int status,
			     struct list_head *ended, struct dxk_wakes *wakes)
{
	if (rqe->state == DXK_WAITING)
		dxk_end_waiting(e, rqe, status, ended, wakes);
	else
		dxk_end_ready(e, rqe, status, ended, wakes);
}

/*
 * Put back a dispatched request that could not be fetched. It keeps its key, so it has its
 * old place: it is neither lost nor duplicated. It ends instead if nobody would run it.
 */
static void dxk_put_back(struct dxk_engine *e, struct dxk_member *m, struct dxk_rqe *rqe,
			 struct list_head *ended, struct dxk_wakes *wakes)
{
	int closed = e->cancelling ? -ECANCELED : dxk_closed(e, rqe->kind, rqe->lane);

	dxk_rqe_leave(rqe);
	rqe->worker = 0;
	rqe->attempts--;
	m->held--;
	if (rqe->extra)
		dxk_extra_end(e, m, rqe);
	dxk_move(e, rqe, DXK_DISPATCHED, DXK_READY);
	e->stats.put_back++;
	if (unlikely(rqe->more))
		closed = dxk_tell_back(rqe) ?: closed;
	if (unlikely(rqe->more && rqe->more->at_key == DXK_KEY_NESTED)) {
		dxk_nest_undo(e, rqe->more, wakes);
		if (closed && (!dxk_rqe_begun(rqe) || !e->cancelling))
			dxk_end_put_back(e, rqe, closed, ended, wakes);
		return;
	}
	if (unlikely(dxk_rqe_doomed(rqe) && !dxk_rqe_begun(rqe)))
		closed = -ECANCELED;
	if (unlikely(e->cancelling && dxk_rqe_begun(rqe) && dxk_has_crew(e, rqe->kind))) {
		dxk_more_tell(rqe->more, DXK_WAKE_CANCEL);
		dxk_ready_to_last(&e->ready, rqe);
		return;
	}
	dxk_ready_put_back(&e->ready, rqe);
	if (closed)
		dxk_end_ready(e, rqe, closed, ended, wakes);
	else if (unlikely(rqe->more && rqe->more->key))
		dxk_key_review(e, rqe->more->key, wakes);
}

/* Put back dispatched requests that could not be fetched. */
void dxk_return_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_list_op *l = container_of(op, struct dxk_list_op, op);
	struct dxk_rqe *rqe, *next;

	list_for_each_entry_safe(rqe, next, &l->rqes, link)
		dxk_put_back(e, l->m, rqe, &l->ended, wakes);
	dxk_member_note_newest(l->m);
	if (unlikely(l->m->refused) && !l->m->held)
		dxk_room_outside(e, l->m, wakes);
	if (unlikely(e->state == DXK_CTX_STOPPING))
		dxk_stop_workers(e, wakes);
}

/*
 * May a request whose worker died be run again? Not if it was begun too often: it may be
 * the cause of the deaths. Not if it is cancelled with all requests of its owner. Not once
 * Ready requests are cancelled, and not if the policy no longer has a worker for it.
 */
static bool dxk_redo(const struct dxk_engine *e, const struct dxk_rqe *rqe)
{
	return rqe->attrs & PXR_REDO && rqe->attempts < e->policy.redo_max &&
	       !((dxk_rqe_doomed(rqe) || (rqe->more && rqe->more->doomed)) &&
		 !dxk_rqe_parked(rqe)) &&
	       !e->cancelling && !dxk_closed(e, rqe->kind, rqe->lane) &&
	       (e->state == DXK_CTX_RUNNING || e->state == DXK_CTX_STOPPING);
}

static void dxk_redo_ready(struct dxk_engine *e, struct dxk_rqe *rqe)
{
	dxk_move(e, rqe, DXK_BUSY, DXK_READY);
	dxk_ready_resume(&e->ready, rqe);
}

/*
 * The same for a request with a struct dxk_more. It keeps the key that it has. It must take
 * the key anew if it had given it up, if it only ran within another request's turn, or if
 * another one still runs within its own. If it was told to end, that is the reason of the turn.
 */
static void dxk_redo_more(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes)
{
	struct dxk_more *more = rqe->more;

	more->parks = false;
	dxk_more_join(more);
	if (more->at_key != DXK_KEY_HAS || (more->key && !list_empty(&more->key->nested))) {
		dxk_key_drop(e, more, wakes);
		if (!dxk_key_take(e, rqe, wakes)) {
			dxk_move(e, rqe, DXK_BUSY, DXK_WAITING);
			dxk_key_hold(e, rqe, wakes);
			dxk_tell_back(rqe);
			return;
		}
	}
	dxk_tell_back(rqe);
	/* The sleeper for the key is gone: the next worker gets a request that has the key. */
	more->away = false;
	dxk_redo_ready(e, rqe);
	if (!more->key)
		return;
	/* While it executed it has not aged, and those that are Held have. */
	dxk_key_rank(e, rqe, rqe->prio);
	dxk_key_review(e, more->key, wakes);
}

/*
 * Requests that a member executed when it died are run again if their poster wants that.
 * Otherwise they end with -EOWNERDEAD, so that no owner waits forever. They do not wait for
 * room in the Rejoin Pool: nobody is left to wait. As far as the lock hold can afford: a
 * worker may have fetched any number of requests. Return: was that all?
 */
static bool dxk_bequeath(struct dxk_engine *e, struct dxk_member *m,
			 struct list_head *ended, struct dxk_wakes *wakes)
{
	struct dxk_rqe *rqe, *next;

	list_for_each_entry_safe(rqe, next, &m->called, link) {
		if (!dxk_afford(wakes, 1))
			return false;
		dxk_put_back(e, m, rqe, ended, wakes);
	}
	list_for_each_entry_safe(rqe, next, &m->busy, link) {
		if (!dxk_afford(wakes, 1))
			return false;
		dxk_rqe_leave(rqe);
		if (rqe->extra)
			dxk_extra_end(e, m, rqe);
		if (dxk_redo(e, rqe)) {
			e->stats.redone++;
			rqe->data_len = rqe->posted_len;
			rqe->worker = 0;
			if (unlikely(rqe->more))
				dxk_redo_more(e, rqe, wakes);
			else
				dxk_redo_ready(e, rqe);
			continue;
		}
		rqe->data_len = 0;
		e->stats.owner_dead++;
		if (dxk_complete(e, rqe, -EOWNERDEAD, wakes))
			dxk_rqe_join(rqe, ended);
	}
	return true;
}

/* A member is gone (DX-25). To be performed again while there is more. */
void dxk_died_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_list_op *l = container_of(op, struct dxk_list_op, op);
	struct dxk_member *m = l->m;

	dxk_mark_over(&e->crew, m);
	l->more = !dxk_bequeath(e, m, &l->ended, wakes);
	if (l->more)
		return;
	m->held = 0;
	dxk_crew_has_come(&e->crew, m);
	if (m->attached && m->role == DXK_ROLE_WORKER) {
		list_del_init(&m->fellows);
		e->crew.present--;
		(m->spare ? e->crew.spares : e->crew.workers)[m->kind] -= !m->leaving;
		if (m->home && !m->leaving && dxk_home_part(&e->ready, m->home, m->kind))
			dxk_owe(e, wakes);
	}
	e->crew.clients -= m->engaged;
	m->engaged = false;
	m->attached = false;
	m->leaving = false;
	dxk_crew_set_lanes(e);
	dxk_member_forget(e, m);
	dxk_tell_managers(e, wakes);
	/* The remaining members may all be asleep. */
	dxk_stall_suspect(e, wakes);
	/* Once more, with nothing else left to do, while there is more of this. */
	l->more = !dxk_end_orphans(e, &l->ended, wakes);
	if (unlikely(e->state == DXK_CTX_STOPPING))
		dxk_stop_workers(e, wakes);
}

/* Let a worker take no more work. */
static void dxk_leave(struct dxk_engine *e, struct dxk_member *m, struct dxk_wakes *wakes)
{
	struct dxk_next_op *n;

	m->leaving = true;
	dxk_crew_has_come(&e->crew, m);
	e->crew.workers[m->kind]--;
	dxk_crew_set_lanes(e);
	if (m->home && dxk_home_part(&e->ready, m->home, m->kind))
		dxk_owe(e, wakes);
	list_for_each_entry(n, dxk_idle_list(e, m), w.link) {
		if (n->m != m)
			continue;
		n->err = -ESHUTDOWN;
		dxk_waiter_finish(&n->w, wakes);
		break;
	}
	/* Another one may have gone since this one was found to be surplus. */
	dxk_tell_managers(e, wakes);
}

/** dxk_leave_run - the crew shrinks by a worker. To be performed again while there is more */
void dxk_leave_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_list_op *l = container_of(op, struct dxk_list_op, op);

	if (l->m->attached && !l->m->leaving)
		dxk_leave(e, l->m, wakes);
	l->more = !dxk_end_orphans(e, &l->ended, wakes);
	if (unlikely(e->state == DXK_CTX_STOPPING))
		dxk_stop_workers(e, wakes);
}
