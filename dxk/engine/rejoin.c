// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Completion and rejoin: from the end of a request to its return to its owner,
 * and the authoritative answer that no request of an owner exists any longer.
 *
 * A request counts for its owner from the post to the instant at which the collector
 * has it safely. A result that is being copied out has left the done list but still
 * counts: if the copy faults it is put back, and meanwhile no answer has denied its
 * existence.
 */
#include "engine/alarm.h"
#include "engine/bin.h"
#include "engine/complete.h"
#include "engine/cycle.h"
#include "engine/dispatch.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/nest.h"
#include "engine/next.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/doom.h"
#include "engine/rejoin.h"
#include "engine/stall.h"
#include "engine/state.h"
#include "engine/stop.h"
#include "trace.h"

/* Results that a rejoin call is copying out. */
static u32 dxk_owner_leaving(const struct dxk_owner *owner)
{
	return owner->nr[DXK_AT_REJOIN] - owner->nr_done;
}

static void dxk_rejoin_finish(struct dxk_engine *e, struct dxk_rejoin_op *r,
			      u32 answer, int err, struct dxk_wakes *wakes)
{
	r->answer = answer;
	r->err = err;
	switch (answer) {
	case RJR_RETURNED:
		e->stats.rejoin_returned++;
		break;
	case RJR_NONE_READY:
		e->stats.rejoin_none_ready++;
		break;
	case RJR_NONE_EXIST:
		e->stats.rejoin_none_exist++;
		break;
	}
	dxk_waiter_finish(&r->w, wakes);
}

/* Entries of the Rejoin Pool became free: note it if somebody may wait for them. */
static void dxk_entries_freed(struct dxk_engine *e)
{
	e->owners.freed |= e->policy.rejoin_full || e->ready.asleep[DXK_LANES] ||
			   e->ready.rooms.nr;
}

/** dxk_unreserve - a request that was to have an entry of the Rejoin Pool no longer needs one */
void dxk_unreserve(struct dxk_engine *e, const struct dxk_rqe *rqe)
{
	e->owners.reserved--;
	if (unlikely(rqe->share))
		e->shares.of[rqe->share].reserved--;
	dxk_entries_freed(e);
}

/* The collector has the requests, all of one owner: they no longer exist. */
static void dxk_collect(struct dxk_engine *e, struct list_head *rqes,
			const struct dxk_member *m)
{
	struct dxk_owner *owner = NULL;
	struct dxk_rqe *rqe;
	u32 nr = 0;

	list_for_each_entry(rqe, rqes, link) {
		trace_dxk_rejoin(e->id, rqe, m->id);
		dxk_move_alike(e, rqe, DXK_REJOIN, DXK_FREE);
		if (unlikely(rqe->share))
			e->shares.of[rqe->share].reserved--;
		owner = rqe->owner;
		nr++;
	}
	if (!nr)
		return;
	dxk_moved_alike(e, owner, DXK_REJOIN, DXK_FREE, nr);
	e->owners.reserved -= nr;
	dxk_entries_freed(e);
	e->stats.collected += nr;
}

/* Give the oldest results to the poller, and end its sleep. */
static void dxk_rejoin_take(struct dxk_engine *e, struct dxk_owner *owner,
			    struct dxk_rejoin_op *r, struct dxk_wakes *wakes)
{
	u32 nr = min(r->max, owner->nr_done), i;
	bool free = r->free;

	if (likely(nr == owner->nr_done))
		list_splice_init(&owner->done, &r->rqes);
	else
		for (i = 0; i < nr; i++)
			dxk_rqe_change(list_first_entry(&owner->done, struct dxk_rqe, link),
				       &r->rqes);
	dxk_owner_sub_done(owner, nr);
	r->nr = nr;
	if (free)
		dxk_collect(e, &r->rqes, r->m);
	else
		dxk_step_by(e, nr);
	dxk_rejoin_finish(e, r, RJR_RETURNED, 0, wakes);
	/* @r may be gone. What is copied out may come back. */
	if (free)
		dxk_owner_doubt(e, owner, wakes);
}

/*
 * Answer a poller if there is an answer now. With r->wait there is
 * none while waiting may bring more.
 */
static bool dxk_rejoin_answer(struct dxk_engine *e, struct dxk_owner *owner,
			      struct dxk_rejoin_op *r, struct dxk_wakes *wakes)
{
	u32 coming = dxk_owner_coming(owner);
	bool hope = coming > r->self_held || dxk_owner_leaving(owner);
	u32 min = r->min;

	/* Not while requests are nested in its work. */
	if (unlikely(r->m->outer))
		return false;

	/*
	 * Uncollected results make workers wait, whose results may be those
	 * that the poller waits for: it gets the available ones.
	 */
	if (e->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER)
		min = 1;

	if (owner->nr_done >= min || (owner->nr_done && (!r->wait || !hope))) {
		dxk_rejoin_take(e, owner, r, wakes);
		return true;
	}
	if (!dxk_owner_live(owner)) {
		dxk_rejoin_finish(e, r, RJR_NONE_EXIST, 0, wakes);
		return true;
	}
	if (!r->wait) {
		dxk_rejoin_finish(e, r, RJR_NONE_READY, 0, wakes);
		return true;
	}
	if (!hope) {
		/* Only requests that the poller itself executes are left. */
		dxk_rejoin_finish(e, r, 0, -EDEADLK, wakes);
		return true;
	}
	return false;
}

/* Maximum cost of a look at a poller: an answer carries all results that it has room for. */
static u32 dxk_poller_cost(const struct dxk_owner *owner, const struct dxk_rejoin_op *r)
{
	return 1 + min(r->max, owner->nr_done) / 2;
}

/* Notify the members whose poll(2) watches the owner. Return: was that all? */
static bool dxk_owner_notify(struct dxk_engine *e, struct dxk_owner *owner,
			     struct dxk_wakes *wakes)
{
	struct dxk_member *m, *next;

	list_for_each_entry_safe(m, next, &owner->watchers, watch) {
		if (wakes->nr_members == ARRAY_SIZE(wakes->member)) {
			dxk_owe(e, wakes);
			return false;
		}
		if (!dxk_afford_or_owe(e, wakes, 1))
			return false;
		dxk_unwatch(m);
		WRITE_ONCE(m->readable, true);
		dxk_wake_member(wakes, m);
	}
	return true;
}

/* --- any owner of a space -------------------------------------------------------- */

/* The next owner that has results, in turn, or NULL. */
static struct dxk_owner *dxk_next_rich(struct dxk_space *space)
{
	return list_first_entry_or_null(&space->rich, struct dxk_owner, rich);
}

/* Does somebody sleep for any owner, or watch all? */
static bool dxk_any_waits(const struct dxk_space *space)
{
	return !list_empty(&space->pollers) || !list_empty(&space->watchers);
}

/* Answer a poller of all owners, if there is an answer now. */
static bool dxk_any_answer(struct dxk_engine *e, struct dxk_rejoin_op *r, struct dxk_wakes *wakes)
{
	struct dxk_space *space = r->m->space;
	struct dxk_owner *owner = dxk_next_rich(space);

	if (owner) {
		r->cookie = owner->cookie;
		dxk_rejoin_take(e, owner, r, wakes);
		if (owner->nr_done)
			list_move_tail(&owner->rich, &space->rich);
	} else if (!space->nr_owners) {
		dxk_rejoin_finish(e, r, RJR_NONE_EXIST, 0, wakes);
	} else if (!r->wait) {
		dxk_rejoin_finish(e, r, RJR_NONE_READY, 0, wakes);
	} else {
		return false;
	}
	return true;
}

/*
 * Notify the members that sleep for any owner of the space, or watch all. Those that this lock
 * hold does not reach are owed it.
 */
static noinline void dxk_any_tell(struct dxk_engine *e, struct dxk_space *space,
				  struct dxk_wakes *wakes)
{
	bool more = false;

	while (!list_empty(&space->pollers) && !more &&
	       (dxk_next_rich(space) || !space->nr_owners)) {
		struct dxk_rejoin_op *r = list_first_entry(&space->pollers, struct dxk_rejoin_op,
							   w.link);
		struct dxk_owner *owner = dxk_next_rich(space);

		more = !dxk_afford_or_owe(e, wakes, owner ? dxk_poller_cost(owner, r) : 1);
		if (more)
			break;
		dxk_step(e);
		dxk_any_answer(e, r, wakes);
	}
	while (!list_empty(&space->watchers) && !more &&
	       (dxk_next_rich(space) || !space->nr_owners)) {
		struct dxk_member *m = list_first_entry(&space->watchers, struct dxk_member, watch);

		if (wakes->nr_members == ARRAY_SIZE(wakes->member)) {
			dxk_owe(e, wakes);
			more = true;
		} else if (!dxk_afford_or_owe(e, wakes, 1)) {
			more = true;
		} else {
			dxk_unwatch(m);
			WRITE_ONCE(m->readable, true);
			dxk_wake_member(wakes, m);
		}
	}
	if (!more)
		list_del_init(&space->owed);
	else if (list_empty(&space->owed))
		list_add_tail(&space->owed, &e->owners.owed_spaces);
}

/* Continue with those that earlier lock holds have left there. */
static void dxk_any_go_on(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct list_head *owed = &e->owners.owed_spaces;

	while (!list_empty(owed)) {
		struct dxk_space *space = list_first_entry(owed, struct dxk_space, owed);

		if (!dxk_afford_or_owe(e, wakes, 1))
			return;
		dxk_any_tell(e, space, wakes);
		if (!list_empty(&space->owed))
			return;
	}
}

/* A rejoin of any owner. A caller that executes a request might wait for that one. */
static void dxk_any_run(struct dxk_engine *e, struct dxk_rejoin_op *r, struct dxk_wakes *wakes)
{
	struct dxk_space *space = r->m->space;

	if (dxk_is_inside(r->m) && (r->wait || r->m->outer)) {
		dxk_rejoin_finish(e, r, 0, -EDEADLK, wakes);
		return;
	}
	if (dxk_any_answer(e, r, wakes)) {
		if (r->answer != RJR_RETURNED)
			dxk_watch_all(r->m);
		return;
	}
	if (e->state != DXK_CTX_RUNNING && e->state != DXK_CTX_STOPPING) {
		dxk_rejoin_finish(e, r, 0, -ESHUTDOWN, wakes);
		return;
	}
	r->m->awaits = 0;
	dxk_space_waited(e, space);
	dxk_waiter_queue(&r->w, &space->pollers, &e->owners.nr_any,
			 dxk_crew_sleepers(&e->crew, r->m), &e->stats.rejoin_blocks,
			 &e->stats.rejoin_block_ns);
	dxk_member_set_state(r->m, DXK_M_REJOINING);
	trace_dxk_block(e->id, r->m->id, DXK_M_REJOINING, 0);
	dxk_stall_suspect(e, wakes);
}

/* No request of the owner is live any longer. */
static void dxk_owner_go(struct dxk_engine *e, struct dxk_owner *owner, struct dxk_wakes *wakes)
{
	struct dxk_space *space = owner->space;
	bool any = unlikely(e->owners.nr_any) && dxk_any_waits(space);

	if (unlikely(owner->doom))
		dxk_purge_leave(e, owner);
	dxk_owner_leave(&e->owners, owner);
	/* A space for which somebody waits has a member. */
	if (any && !space->nr_owners)
		dxk_any_tell(e, space, wakes);
}

/**
 * dxk_owner_tell - notify all that wait for an owner
 * @e: the engine, locked
 * @owner: something about it has changed; freed when no request of it is left
 * @wakes: gets the wake-ups. Those that this lock hold does not reach are owed a look
 */
void dxk_owner_tell(struct dxk_engine *e, struct dxk_owner *owner, struct dxk_wakes *wakes)
{
	struct dxk_rejoin_op *r, *next;
	bool all = true;

	if (unlikely(owner->joined))
		dxk_owner_join(e, owner);
	list_for_each_entry_safe(r, next, &owner->pollers, w.link) {
		/* The cost of the first look is part of the move that has changed the owner. */
		if (list_is_first(&r->w.link, &owner->pollers) &&
		    dxk_poller_is_early(e, owner, r))
			continue;
		all = dxk_afford_or_owe(e, wakes, dxk_poller_cost(owner, r));
		if (!all)
			break;
		dxk_step(e);
		dxk_rejoin_answer(e, owner, r, wakes);
	}
	if (owner->nr_done || !dxk_owner_live(owner))
		all &= dxk_owner_notify(e, owner, wakes);
	if (unlikely(!all))
		dxk_owner_owe(e, owner);
	if (unlikely(e->owners.nr_any) && owner->nr_done)
		dxk_any_tell(e, owner->space, wakes);
	if (!dxk_owner_live(owner))
		dxk_owner_go(e, owner, wakes);
}

/*
 * Does Stop end the poller's sleep? A poller that falls asleep later waits for the results
 * that are still to come, unless there is nobody to produce them.
 */
static bool dxk_poller_is_stopped(const struct dxk_engine *e, const struct dxk_rejoin_op *r)
{
	return unlikely(dxk_is_shut(e, r->m)) && r->w.since <= e->stopped && !r->m->outer;
}

/*
 * A worker is about to sleep, or sleeps. Would it wait for itself? If so, it may be the one that
 * can help.
 * Return: is it answered instead?
 */
static bool dxk_rejoin_would_deadlock(struct dxk_engine *e, struct dxk_owner *owner,
				      struct dxk_rejoin_op *r, struct dxk_wakes *wakes)
{
	struct dxk_more *more = NULL;

	wakes->spent += DXK_CYCLE_STEPS / 2;
	if (r->nest && dxk_may_nest(e, r->m)) {
		wakes->spent += DXK_CYCLE_STEPS / 2;
		more = dxk_rejoin_nests(e, owner, r);
	}
	if (more) {
		dxk_nest_begin(e, r->m, more, wakes);
		dxk_rejoin_finish(e, r, RJR_HELP, 0, wakes);
		return true;
	}
	if (r->timed)
		return false;
	if (!dxk_rejoin_is_dead(e, owner, r)) {
		if (unlikely(e->waits.unsure))
			dxk_call_control(e, DXK_MONITOR, wakes);
		return false;
	}
	e->stats.deadlocks++;
	dxk_rejoin_finish(e, r, 0, -EDEADLK, wakes);
	return true;
}

/*
 * A pass looks at all pollers of the first owner in dxk_owners.owed, over several lock
 * holds. They are taken out of the owner's list and come back to it, in their order,
 * unless they are answered. A change of the owner in between is reported at once to those
 * that are back, and, if they are too many, by a further pass. Return: is it over?
 */
static bool dxk_owner_pass(struct dxk_engine *e, struct dxk_owner *owner,
			   struct dxk_wakes *wakes)
{
	struct dxk_owners *owners = &e->owners;
	struct dxk_rejoin_op *r;

	if (!owners->pass) {
		owners->pass = owner;
		owners->again = false;
		list_splice_init(&owner->pollers, &owners->rest);
	}
	while (!list_empty(&owners->rest)) {
		r = list_first_entry(&owners->rest, struct dxk_rejoin_op, w.link);
		if (!dxk_afford_or_owe(e, wakes, dxk_poller_cost(owner, r)))
			return false;
		dxk_step(e);
		if (dxk_rejoin_answer(e, owner, r, wakes) ||
		    (r->m->stuck == DXK_STUCK_OWNER && !r->m->outer &&
		     dxk_rejoin_would_deadlock(e, owner, r, wakes)))
			continue;
		if (dxk_poller_is_stopped(e, r))
			dxk_rejoin_finish(e, r, 0, -ESHUTDOWN, wakes);
		else
			list_move_tail(&r->w.link, &owner->pollers);
	}
	owners->pass = NULL;
	owners->passes++;
	return true;
}

/**
 * dxk_owners_go_on - look at the waiters that earlier lock holds have left over
 * @e: the engine, locked
 * @wakes: gets the wake-ups
 */
void dxk_owners_go_on(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct dxk_owners *owners = &e->owners;

	lockdep_assert_held(&e->lock);

	dxk_any_go_on(e, wakes);
	while (!list_empty(&owners->owed)) {
		struct dxk_owner *owner = list_first_entry(&owners->owed,
							 struct dxk_owner, owed);
		bool over;

		if (!dxk_afford_or_owe(e, wakes, 1))
			return;
		if ((owner->nr_done || !dxk_owner_live(owner)) &&
		    !dxk_owner_notify(e, owner, wakes))
			return;
		over = dxk_owner_pass(e, owner, wakes);
		/* A poller has taken the last result: those before it were told of that. */
		if (owner->space && !dxk_owner_live(owner))
			dxk_owner_go(e, owner, wakes);
		if (!over)
			return;
		if (owners->again)
			list_move_tail(&owner->owed, &owners->owed);
		else
			dxk_owner_told(owners, owner);
	}
}

/* Make visible to others what an executing worker waits for. */
static void dxk_rejoin_stick(struct dxk_rejoin_op *r)
{
	struct dxk_member *m = r->m;

	m->stuck = DXK_STUCK_OWNER;
	m->doubt = 0;
	m->timed = r->timed;
	m->min = dxk_rejoin_min(r->m->engine, r);
	m->own = r->self_held;
	list_add_tail(&m->stuck_link,
		      &list_last_entry(&m->busy, struct dxk_rqe, link)->owner->stuck);
	r->w.stuck = m;
}

static void dxk_rejoin_sleep(struct dxk_engine *e, struct dxk_rejoin_op *r,
			     struct list_head *queue, struct dxk_wakes *wakes)
{
	r->m->awaits = r->cookie;
	dxk_waiter_queue(&r->w, queue, NULL, dxk_crew_sleepers(&e->crew, r->m),
			 &e->stats.rejoin_blocks, &e->stats.rejoin_block_ns);
	dxk_member_set_state(r->m, DXK_M_REJOINING);
	trace_dxk_block(e->id, r->m->id, DXK_M_REJOINING, 0);
	dxk_stall_suspect(e, wakes);
}

/** dxk_rejoin_run - a rejoin poll or wait */
void dxk_rejoin_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_rejoin_op *r = container_of(op, struct dxk_rejoin_op, op);
	struct dxk_owner *owner = dxk_owner_find(&e->owners, r->m->space, r->cookie);

	dxk_crew_engage(&e->crew, r->m);
	if (unlikely(r->any)) {
		dxk_any_run(e, r, wakes);
		return;
	}
	if (unlikely(r->m->outer && !(r->wait && owner))) {
		dxk_rejoin_sleep(e, r, &e->waits.outers, wakes);
		return;
	}
	if (r->self_held && !r->again)
		e->stats.self_poll++;
	r->again = true;
	if (!owner) {
		dxk_rejoin_finish(e, r, RJR_NONE_EXIST, 0, wakes);
		return;
	}
	if (dxk_rejoin_answer(e, owner, r, wakes)) {
		if (r->answer == RJR_NONE_READY)
			dxk_watch(r->m, owner);
		if (r->free && r->nr)
			dxk_owner_changed(e, owner, wakes);
		return;
	}
	if (e->state != DXK_CTX_RUNNING && e->state != DXK_CTX_STOPPING && !r->m->outer) {
		dxk_rejoin_finish(e, r, 0, -ESHUTDOWN, wakes);
		return;
	}
	if (dxk_is_inside(r->m) && !r->m->outer &&
	    unlikely(dxk_rejoin_would_deadlock(e, owner, r, wakes)))
		return;
	dxk_rejoin_sleep(e, r, e->owners.pass == owner ? &e->owners.rest : &owner->pollers,
			 wakes);
	if (r->help)
		dxk_waiter_help(&r->w, &r->helper, r->m, owner);
	if (!list_empty(&r->m->busy))
		dxk_rejoin_stick(r);
}

/**
 * dxk_serve_outers - continue rejoins that had to wait for requests nested in their work
 * @e: the engine, locked
 * @wakes: of the hold; what it cannot afford is owed
 */
void dxk_serve_outers(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct list_head *rising = &e->waits.rising;

	lockdep_assert_held(&e->lock);

	while (!list_empty(rising)) {
		struct dxk_rejoin_op *r = list_first_entry(rising, struct dxk_rejoin_op, w.link);
		const struct dxk_owner *owner = dxk_owner_find(&e->owners, r->m->space, r->cookie);

		if (!dxk_afford_or_owe(e, wakes, owner ? dxk_poller_cost(owner, r) : 1))
			return;
		dxk_step(e);
		if (r->m->outer) {
			list_move_tail(&r->w.link, &e->waits.outers);
			continue;
		}
		dxk_waiter_leave(&r->w);
		dxk_rejoin_run(e, &r->op, wakes);
	}
}

/** dxk_settle_run - the caller has the results, or they are put back */
void dxk_settle_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_settle_op *s = container_of(op, struct dxk_settle_op, op);
	struct dxk_owner *owner = NULL;
	struct dxk_rqe *rqe, *prev;

	if (!list_empty(&s->copied))
		owner = list_first_entry(&s->copied, struct dxk_rqe, link)->owner;
	dxk_collect(e, &s->copied, s->m);
	list_for_each_entry_safe_reverse(rqe, prev, &s->failed, link) {
		owner = rqe->owner;
		list_move(&rqe->link, &owner->done);
		dxk_owner_add_done(owner, 1);
	}
	if (!owner)
		return;
	dxk_owner_doubt(e, owner, wakes);
	dxk_owner_changed(e, owner, wakes);
}

/**
 * dxk_more_end - the request has ended: it no longer has a name or a time
 * @e: the engine, locked
 * @rqe: the request, with a struct dxk_more
 * @wakes: gets the wake-ups
 *
 * If it was executed, its worker has taken the file. After the burial the file is released by
 * whoever frees the request.
 */
void dxk_more_end(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes)
{
	struct dxk_more *more = rqe->more;

	dxk_name_leave(rqe);
	dxk_key_unuse(e, more, wakes);
	dxk_alarm_set(e, more, DXK_FOREVER, wakes);
	dxk_link_leave(&more->sibling);
	INIT_LIST_HEAD(&more->sibling);
	more->worker = NULL;
	if (unlikely(rqe->attrs & PXR_FAIL_FAST) && rqe->status < 0 &&
	    rqe->status != -ECANCELED && dxk_owner_coming(rqe->owner)) {
		dxk_purge_begin(e, rqe->owner);
		dxk_owe(e, wakes);
	}
	if (more->watch) {
		more->watch->event.more = NULL;
		if (!e->run.buried) {
			dxk_bin_add(e, &more->watch->ref, wakes);
			more->watch = NULL;
		}
	}
	if (!more->file || e->run.buried)
		return;
	dxk_bin_add(e, more->file, wakes);
	more->file = NULL;
}

/**
 * dxk_complete - a request has been executed
 * @e: the engine, locked
 * @rqe: BUSY, in no list
 * @status: its result
 * @wakes: gets the wake-ups
 *
 * One move: there is no instant at which a rejoinable request neither executes
 * nor is in the Rejoin Pool (DX-83).
 * Return: true when nobody will collect it: the caller frees it after unlock.
 */
bool dxk_complete(struct dxk_engine *e, struct dxk_rqe *rqe, s32 status,
		  struct dxk_wakes *wakes)
{
	return dxk_completed(e, rqe, status, true, wakes);
}

/**
 * dxk_complete_usual - complete requests as long as there is nothing unusual about their ends
 * @e: the engine, locked; no worker of it waits for room in the Rejoin Pool
 * @done: BUSY requests, their status set, of which the first is usual; the remaining ones
 *	are to be looked at one by one
 * @ended: gets those that nobody will collect
 * @wakes: gets the wake-ups
 *
 * Waiters for an owner are notified with the last of its requests that are completed in a row.
 * Return: how many were completed.
 */
u32 dxk_complete_usual(struct dxk_engine *e, struct list_head *done, struct list_head *ended,
		       struct dxk_wakes *wakes)
{
	struct dxk_rqe *rqe = list_first_entry(done, struct dxk_rqe, link), *next;
	bool goes_on = true;
	u32 nr;

	for (nr = 0; goes_on; rqe = next, nr++) {
		next = list_next_entry(rqe, link);
		goes_on = &next->link != done && dxk_end_is_usual(next);
		dxk_rqe_leave(rqe);
		if (dxk_completed(e, rqe, rqe->status, !goes_on || next->owner != rqe->owner,
				  wakes))
			dxk_rqe_join(rqe, ended);
	}
	return nr;
}

/* Move a CANCELLED request on. */
static void dxk_end_cancelled(struct dxk_engine *e, struct dxk_rqe *rqe, s32 status,
			      struct list_head *ended, struct dxk_wakes *wakes)
{
	rqe->status = status;
	rqe->data_len = 0;
	e->stats.cancelled++;
	trace_dxk_complete(e->id, rqe);
	if (dxk_rqe_awaited(rqe))
		dxk_move(e, rqe, DXK_CANCELLED, DXK_REJOIN);
	else
		dxk_move(e, rqe, DXK_CANCELLED, DXK_FREE);
	if (dxk_end(e, rqe, true, wakes))
		dxk_rqe_join(rqe, ended);
}

/**
 * dxk_end_ready - end a request that is in the Ready Pool
 * @e: the engine, locked
 * @rqe: READY
 * @status: the status that its owner gets
 * @ended: gets the request when nobody will collect it; to be freed after unlock
 * @wakes: gets the wake-ups
 */
void dxk_end_ready(struct dxk_engine *e, struct dxk_rqe *rqe, s32 status,
		   struct list_head *ended, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	dxk_ready_remove(&e->ready, rqe);
	dxk_move(e, rqe, DXK_READY, DXK_CANCELLED);
	dxk_end_cancelled(e, rqe, status, ended, wakes);
}

/** dxk_end_waiting - dxk_end_ready() for a request that waits */
void dxk_end_waiting(struct dxk_engine *e, struct dxk_rqe *rqe, s32 status,
		     struct list_head *ended, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	dxk_wait_leave(e, rqe, DXK_FOREVER, wakes);
	dxk_move(e, rqe, DXK_WAITING, DXK_CANCELLED);
	dxk_end_cancelled(e, rqe, status, ended, wakes);
}

/**
 * dxk_drop_results - drop results that nobody can collect any longer
 * @e: the engine, locked
 * @owner: owner in a space that is closed; may be gone when this returns
 * @ended: gets them
 * @wakes: gets the wake-ups
 *
 * As many as the lock hold can afford.
 */
void dxk_drop_results(struct dxk_engine *e, struct dxk_owner *owner,
		      struct list_head *ended, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	while (owner->nr_done && dxk_afford(wakes, 1)) {
		struct dxk_rqe *rqe;

		rqe = list_first_entry(&owner->done, struct dxk_rqe, link);
		dxk_rqe_change(rqe, ended);
		dxk_owner_sub_done(owner, 1);
		dxk_move(e, rqe, DXK_REJOIN, DXK_FREE);
		dxk_unreserve(e, rqe);
		e->stats.vanished++;
	}
	dxk_owner_changed(e, owner, wakes);
}

/* Each owner that somebody sleeps for is owed a pass. Return: was that all? */
static bool dxk_stop_owners(struct dxk_engine *e, u32 *bucket, struct dxk_wakes *wakes)
{
	struct dxk_owner *owner;

	for (; *bucket < 1U << e->owners.bits; ++*bucket) {
		if (!dxk_afford(wakes, 1))
			return false;
		dxk_step(e);
		hlist_for_each_entry(owner, &e->owners.bucket[*bucket], hash)
			if (!list_empty(&owner->pollers))
				dxk_owner_owe(e, owner);
	}
	return true;
}

/* The same for sleepers for any owner: each present space is looked at once. Return: all done? */
static bool dxk_stop_any(struct dxk_engine *e, struct dxk_stop_pollers *s, struct dxk_wakes *wakes)
{
	struct dxk_owners *owners = &e->owners;

	if (!s->began) {
		s->began = true;
		s->spaces = owners->nr_waited;
	}
	for (; s->spaces && owners->nr_waited; s->spaces--) {
		struct dxk_space *space = list_first_entry(&owners->waited, struct dxk_space,
							   waited);

		if (!dxk_afford(wakes, 1))
			return false;
		dxk_step(e);
		while (!list_empty(&space->pollers)) {
			struct dxk_rejoin_op *r = list_first_entry(&space->pollers,
								   struct dxk_rejoin_op, w.link);

			if (!dxk_poller_is_stopped(e, r))
				break;
			if (!dxk_afford(wakes, 1))
				return false;
			dxk_rejoin_finish(e, r, 0, -ESHUTDOWN, wakes);
		}
		list_move_tail(&space->waited, &owners->waited);
		if (list_empty(&space->pollers)) {
			list_del_init(&space->waited);
			owners->nr_waited--;
		}
	}
	return true;
}

/**
 * dxk_stop_pollers - Stop looks at every sleeping poller (DX-107)
 * @e: the engine, locked
 * @s: its progress
 * @wakes: gets the wake-ups
 *
 * Each owner that has pollers is owed a pass, which keeps their order and meets none twice,
 * however many stay asleep. Stop does not wait for passes that become owed later. As far as the
 * lock hold can afford. Return: was that all?
 */
bool dxk_stop_pollers(struct dxk_engine *e, struct dxk_stop_pollers *s,
		      struct dxk_wakes *wakes)
{
	struct dxk_owners *owners = &e->owners;

	lockdep_assert_held(&e->lock);

	if (unlikely(owners->nr_waited) && !dxk_stop_any(e, s, wakes))
		return false;
	if (!owners->nr || !(dxk_crew_asleep(&e->crew) | e->crew.clients_asleep))
		return true;
	if (!s->owed) {
		if (!dxk_stop_owners(e, &s->bucket, wakes))
			return false;
		/* They take turns; an owner whose pass was under way gets a second one. */
		s->last = owners->passes + owners->nr_owed + 1;
		s->owed = true;
	}
	dxk_owners_go_on(e, wakes);
	return list_empty(&owners->owed) || (s32)(owners->passes - s->last) >= 0;
}
