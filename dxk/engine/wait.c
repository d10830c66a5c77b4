// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The waits of requests, and their ends: see wait.h.
 */
#include "engine/alarm.h"
#include "engine/cycle.h"
#include "engine/engine.h"
#include "engine/key.h"
#include "engine/line.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/order.h"
#include "engine/os.h"
#include "engine/stall.h"
#include "engine/state.h"
#include "engine/wait.h"
#include "trace.h"

#define DXK_WAIT_OWNER	(DXK_WAIT_RESULT | DXK_WAIT_JOIN)
#define DXK_WAIT_SOURCES	(DXK_WAIT_TIME | DXK_WAIT_CALL | DXK_WAIT_FILE | DXK_WAIT_OWNER)

/**
 * dxk_wait_check - can a wait be refused by looking at it alone?
 * @wait: the wait
 * @named: others can call the request
 *
 * Return: 0; -EOPNOTSUPP if this version does not know it; -EINVAL if nothing could end it, or
 * it contradicts itself.
 */
int dxk_wait_check(const struct dxk_wait *wait, bool named)
{
	u32 sources = wait->wait & DXK_WAIT_SOURCES;

	if (wait->wait & ~(DXK_WAIT_SOURCES | DXK_WAIT_AGAIN | DXK_WAIT_EAGER | DXK_WAIT_MOVE |
			   DXK_WAIT_ALONE | DXK_WAIT_PRIO | DXK_WAIT_MASKED))
		return -EOPNOTSUPP;
	if (!sources == !(wait->wait & DXK_WAIT_AGAIN) ||
	    (sources & DXK_WAIT_OWNER) == DXK_WAIT_OWNER ||
	    (sources == DXK_WAIT_CALL && !named))
		return -EINVAL;
	/* A time that never comes does not count. */
	if (wait->deadline == DXK_FOREVER &&
	    (wait->wait & DXK_WAIT_MASKED || sources == DXK_WAIT_TIME))
		return -EINVAL;
	if ((wait->wait & DXK_WAIT_MASKED && !(sources & DXK_WAIT_TIME)) ||
	    (wait->deadline && !(sources & DXK_WAIT_TIME)) ||
	    (wait->owner && !(sources & DXK_WAIT_OWNER)) ||
	    (wait->wait & DXK_WAIT_EAGER && !(sources & DXK_WAIT_JOIN)) ||
	    (wait->prio && !(wait->wait & DXK_WAIT_PRIO)) ||
	    (wait->key && !(wait->wait & DXK_WAIT_MOVE)) ||
	    (wait->wait & DXK_WAIT_MOVE && wait->wait & DXK_WAIT_ALONE) ||
	    (wait->fd && !(sources & DXK_WAIT_FILE)) ||
	    (wait->events && !(sources & DXK_WAIT_FILE)) || wait->events & ~DXK_WAIT_EVENTS)
		return -EINVAL;
	return 0;
}

static bool dxk_wait_is_none(const struct dxk_wait *wait)
{
	return !(wait->deadline | wait->owner | wait->state | wait->key | wait->wait |
		 wait->prio | wait->fd | wait->events);
}

/* Are a post's fields about a key valid? They have to be, even if the post has no key. */
static int dxk_key_fields_check(const struct dxk_post_more *p, u32 attrs)
{
	if ((p->key || p->reentry) && !(attrs & PXR_KEY))
		return -EINVAL;
	return p->reentry > DXK_REENTRY_CHAIN ? -EOPNOTSUPP : 0;
}

/**
 * dxk_more_make - give a request the optional part that its post specifies
 * @m: the poster
 * @rqe: POSTED, not taken over
 * @p: the post
 *
 * Return: 0; -EOPNOTSUPP: the policy permits no request to wait; -EINVAL, -ENOMEM.
 */
int dxk_more_make(struct dxk_member *m, struct dxk_rqe *rqe, const struct dxk_post_more *p)
{
	struct dxk_engine *e = m->engine;
	u32 attrs = rqe->attrs, homes;
	struct dxk_more *more;
	int err = dxk_key_fields_check(p, attrs);

	if (err)
		return err;
	if ((p->name && !(attrs & PXR_NAMED)) || (p->expire && !(attrs & PXR_EXPIRE)) ||
	    (!dxk_wait_is_none(&p->wait) && !(attrs & PXR_WAIT)))
		return -EINVAL;
	if (!!p->home != !!(attrs & PXR_HOME) ||
	    (p->home && (attrs & (PXR_BOOST | PXR_LANE_CHILD) || rqe->lane != DXK_LANES - 1)))
		return -EINVAL;
	if (!(attrs & PXR_MORE))
		return 0;
	if (!READ_ONCE(e->waits.on))
		return -EOPNOTSUPP;
	if (attrs & PXR_WAIT)
		err = dxk_wait_check(&p->wait, attrs & PXR_NAMED);
	if (!err && p->wait.wait & (DXK_WAIT_AGAIN | DXK_WAIT_MOVE | DXK_WAIT_ALONE))
		err = -EINVAL;
	if (!err && attrs & PXR_KEY)
		err = dxk_key_reserve(m, DXK_BATCH_MAX);
	if (err)
		return err;
	more = dxk_more_of(m, rqe);
	if (!more)
		return -ENOMEM;
	more->wait = p->wait;
	more->wait.key = p->key;
	more->keyed = attrs & PXR_KEY;
	more->reentry = p->reentry;
	homes = READ_ONCE(e->ready.homes);
	if (p->home && homes)
		more->home = 1 + (p->home - 1) % homes;
	more->state = p->wait.state;
	more->name = p->name;
	more->named = attrs & PXR_NAMED;
	if (attrs & PXR_EXPIRE)
		more->expire = p->expire;
	if (p->wait.wait & DXK_WAIT_PRIO)
		rqe->prio = rqe->own_prio = p->wait.prio;
	return 0;
}

/**
 * dxk_wait_set - let the turn of a request end with a wait
 * @m: the worker
 * @rqe: BUSY, the caller's; what is posted beside it, and its data, is as it was
 * @wait: what to wait for
 *
 * The caller then calls dxk_next(). Return: 0; -EOPNOTSUPP, -EINVAL, -ENOMEM.
 */
int dxk_wait_set(struct dxk_member *m, struct dxk_rqe *rqe, const struct dxk_wait *wait)
{
	struct dxk_engine *e = m->engine;
	struct dxk_more *more;
	int err;

	if (!READ_ONCE(e->waits.on))
		return -EOPNOTSUPP;
	err = dxk_wait_check(wait, rqe->more && rqe->more->named);
	if (!err && wait->wait & DXK_WAIT_MOVE)
		err = dxk_key_reserve(m, DXK_BATCH_MAX);
	if (err)
		return err;
	more = rqe->more;
	if (!more) {
		more = dxk_more_of(m, rqe);
		if (!more)
			return -ENOMEM;
		more->worker = m;
	}
	more->wait = *wait;
	more->parks = true;
	more->swaps = false;
	return 0;
}

void dxk_waits_init(struct dxk_waits *waits)
{
	u32 line;

	for (line = 0; line < DXK_LINES; line++)
		INIT_LIST_HEAD(&waits->line[line]);
	INIT_LIST_HEAD(&waits->joined);
	INIT_LIST_HEAD(&waits->eager);
	INIT_LIST_HEAD(&waits->holds);
	INIT_LIST_HEAD(&waits->callers);
	INIT_LIST_HEAD(&waits->outers);
	INIT_LIST_HEAD(&waits->rising);
	waits->alarms = RB_ROOT_CACHED;
	init_llist_head(&waits->fired);
	waits->call = DXK_CALL_DISPATCHER;
	waits->planned = DXK_FOREVER;
}

/* --- is it over? -------------------------------------------------------------- */

/* Is the request to end, or to look after itself, before what it waits for has happened? */
static u8 dxk_wait_told(const struct dxk_engine *e, const struct dxk_rqe *rqe)
{
	const struct dxk_more *more = rqe->more;

	if (more->wait.wait & DXK_WAIT_MASKED)
		return DXK_WAKE_NONE;
	if (more->cancelled || e->cancelling)
		return DXK_WAKE_CANCEL;
	if (more->expired)
		return DXK_WAKE_EXPIRE;
	return !rqe->lane && e->state >= DXK_CTX_STOPPING ? DXK_WAKE_STOP : DXK_WAKE_NONE;
}

/*
 * Is a search for a circle of use? What is not stuck, has no struct dxk_more and is not about to be
 * ended goes on by itself.
 */
static bool dxk_owner_may_be_dead(const struct dxk_owner *owner)
{
	return !list_empty(&owner->stuck) || !list_empty(&owner->mores) ||
	       !list_empty(&owner->purge) || !list_empty(&owner->owed);
}

/* The request itself is still to complete: waiting for its own owner would never end. */
static u8 dxk_wait_for_owner(struct dxk_engine *e, const struct dxk_rqe *rqe,
			     const struct dxk_space *space)
{
	const struct dxk_wait *wait = &rqe->more->wait;
	const struct dxk_owner *home = NULL;
	struct dxk_owner *owner;

	if (wait->owner == rqe->cookie)
		return DXK_WAKE_DEADLOCK;
	owner = dxk_owner_find(&e->owners, space, wait->owner);
	if (!owner || !dxk_owner_coming(owner))
		return wait->wait & DXK_WAIT_RESULT ? DXK_WAKE_RESULT : DXK_WAKE_JOIN;
	if (wait->wait & DXK_WAIT_RESULT && owner->nr_done)
		return DXK_WAKE_RESULT;
	if (likely(!dxk_owner_may_be_dead(owner)) || !dxk_wait_is_for_owner_only(rqe->more))
		return DXK_WAKE_NONE;
	if (rqe->state == DXK_POSTED)
		home = dxk_owner_find(&e->owners, space, rqe->cookie);
	return dxk_wait_is_dead(e, rqe, owner, home) ? DXK_WAKE_DEADLOCK : DXK_WAKE_NONE;
}

/* The reason why the wait is over as it begins, or %DXK_WAKE_NONE. */
static u8 dxk_wait_over(struct dxk_engine *e, const struct dxk_rqe *rqe,
			const struct dxk_space *space)
{
	const struct dxk_wait *wait = &rqe->more->wait;
	u8 reason = dxk_wait_told(e, rqe);

	if (reason)
		return reason;
	if (wait->wait & DXK_WAIT_AGAIN)
		return DXK_WAKE_AGAIN;
	if (wait->wait & DXK_WAIT_CALL && rqe->more->latched)
		return DXK_WAKE_CALL;
	if (wait->wait & DXK_WAIT_FILE && READ_ONCE(rqe->more->watch->event.seen))
		return DXK_WAKE_FILE;
	if (wait->wait & DXK_WAIT_OWNER)
		reason = dxk_wait_for_owner(e, rqe, space);
	if (!reason && wait->wait & DXK_WAIT_TIME && wait->deadline <= os_now())
		return DXK_WAKE_TIME;
	return reason;
}

/* --- begin -------------------------------------------------------------------- */

/* Enter a WAITING request, in no list, whose wait is not over. */
static void dxk_wait_enter(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes)
{
	struct dxk_space *space = rqe->owner->space;
	struct dxk_more *more = rqe->more;
	struct dxk_wait *wait = &more->wait;
	struct dxk_owner *owner;

	more->doubt = 0;
	if (unlikely(e->waits.unsure))
		dxk_call_control(e, DXK_MONITOR, wakes);
	dxk_line_enter(e, rqe, wakes);
	if (space->is_private)
		list_add_tail(&more->kin, &space->waiting);
	if (wait->wait & DXK_WAIT_OWNER) {
		owner = dxk_owner_find(&e->owners, space, wait->owner);
		owner->joined |= wait->wait & DXK_WAIT_RESULT ? DXK_JOINED_RESULT : DXK_JOINED_ALL;
		if (wait->wait & DXK_WAIT_EAGER)
			list_add(&more->joiner, &owner->joiners[false]);
		else
			list_add_tail(&more->joiner,
				      &owner->joiners[!!(wait->wait & DXK_WAIT_RESULT)]);
	}
	dxk_alarm_set(e, more, min(wait->wait & DXK_WAIT_TIME ? wait->deadline : DXK_FOREVER,
				   more->expire), wakes);
	e->stats.waits++;
	if (wait->wait & DXK_WAIT_FILE) {
		e->waits.files++;
		more->watch->event.more = more;
	}
}

/**
 * dxk_post_wait - would a request that is posted waiting have to wait?
 * @e: the engine, locked
 * @rqe: POSTED, with %PXR_WAIT
 * @space: its poster's
 *
 * The answer is in dxk_more.wake: the reason why not, or %DXK_WAKE_NONE.
 * Return: 0, or -EDEADLK: it would wait for itself.
 */
int dxk_post_wait(struct dxk_engine *e, struct dxk_rqe *rqe, const struct dxk_space *space)
{
	rqe->more->wake = dxk_wait_over(e, rqe, space);
	if (rqe->more->wake == DXK_WAKE_FILE)
		rqe->more->events = READ_ONCE(rqe->more->watch->event.seen);
	return rqe->more->wake == DXK_WAKE_DEADLOCK ? -EDEADLK : 0;
}

/**
 * dxk_wait_refused - a request is told %DXK_WAKE_DEADLOCK: count it, unless it names itself
 * @e: the engine, locked
 * @rqe: the request
 *
 * Not with the finding: whoever looks at one that sleeps for room finds it each time.
 */
void dxk_wait_refused(struct dxk_engine *e, const struct dxk_rqe *rqe)
{
	e->stats.deadlocks += rqe->more->wait.owner != rqe->cookie;
}

/**
 * dxk_wait_post - take over a request that begins waiting
 * @e: the engine, locked
 * @rqe: POSTED, its owner entered; according to dxk_post_wait() it has to wait
 * @wakes: gets the clock's wake-up
 */
void dxk_wait_post(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes)
{
	dxk_move(e, rqe, DXK_POSTED, DXK_WAITING);
	dxk_wait_enter(e, rqe, wakes);
}

/* The request becomes READY, or Held: the event that ended its wait is consumed. */
static __always_inline void dxk_wait_ready(struct dxk_engine *e, struct dxk_rqe *rqe,
					   const enum dxk_state from, u8 reason,
					   struct dxk_wakes *wakes)
{
	struct dxk_more *more = rqe->more;

	more->wake = reason;
	if (reason == DXK_WAKE_CALL)
		more->latched = false;
	else if (reason == DXK_WAKE_FILE && from != DXK_WAITING)
		more->events = xchg(&more->watch->event.seen, 0);
	else if (reason == DXK_WAKE_EXPIRE)
		more->expired = false;
	rqe->prio = rqe->own_prio;
	rqe->inspect = 0;
	if (unlikely(!dxk_key_take(e, rqe, wakes))) {
		if (from != DXK_WAITING)
			dxk_move(e, rqe, from, DXK_WAITING);
		dxk_key_hold(e, rqe, wakes);
		return;
	}
	dxk_move(e, rqe, from, DXK_READY);
	if (unlikely(e->cancelling))
		dxk_ready_add_last(&e->ready, rqe);
	else
		dxk_ready_add(&e->ready, rqe);
	rqe->posted = unlikely(e->policy.sample_interval_ms) ? os_now() : 0;
}

/**
 * dxk_park - a turn ends with a wait
 * @e: the engine, locked
 * @rqe: BUSY, in no list; dxk_more.wait has what it waits for
 * @wakes: gets the clock's wake-up
 *
 * If the wait is over already the request is READY again at once.
 * Return: 0, or why it has to end instead: nobody could call it any longer, or no worker would
 * take it.
 */
int dxk_park(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes)
{
	const struct dxk_space *space = rqe->owner->space;
	int closed = space->closed ? -ECANCELED : dxk_closed(e, rqe->kind, rqe->lane);
	struct dxk_more *more = rqe->more;
	struct dxk_member *m = more->worker;
	u8 reason;

	lockdep_assert_held(&e->lock);

	more->parks = false;
	if (unlikely(e->cancelling && !dxk_has_crew(e, rqe->kind)))
		closed = -ECANCELED;
	if (unlikely(closed))
		return closed;
	if (more->wait.wait & (DXK_WAIT_MOVE | DXK_WAIT_ALONE))
		dxk_key_unuse(e, more, wakes);
	else
		dxk_key_drop(e, more, wakes);
	more->worker = NULL;
	if (unlikely(dxk_more_join(more)))
		more->cancelled = dxk_rqe_doomed(rqe);
	more->turn++;
	more->begun = true;
	more->state = more->wait.state;
	rqe->attempts = 0;
	rqe->worker = 0;
	rqe->posted_len = rqe->data_len;
	if (more->swaps) {
		swap(rqe->data, more->data);
		rqe->result_at = rqe->data_len;
		more->swaps = false;
	}
	if (more->wait.wait & DXK_WAIT_PRIO)
		rqe->own_prio = more->wait.prio;
	if (unlikely(more->wait.wait & DXK_WAIT_MOVE))
		dxk_key_use(e, rqe, rqe->owner->space, more->wait.key, m->keys);
	reason = dxk_wait_over(e, rqe, space);
	if (reason) {
		e->stats.waits++;
		e->stats.timeouts += reason == DXK_WAKE_TIME;
		if (unlikely(reason == DXK_WAKE_DEADLOCK))
			dxk_wait_refused(e, rqe);
		dxk_wait_ready(e, rqe, DXK_BUSY, reason, wakes);
	} else {
		dxk_move(e, rqe, DXK_BUSY, DXK_WAITING);
		dxk_wait_enter(e, rqe, wakes);
	}
	return 0;
}

/* --- end ---------------------------------------------------------------------- */

/**
 * dxk_wait_leave - take a request out of its wait
 * @e: the engine, locked
 * @rqe: WAITING; in no list when this returns
 * @at: when the clock is to look at it next
 * @wakes: gets the clock's wake-up
 */
void dxk_wait_leave(struct dxk_engine *e, struct dxk_rqe *rqe, u64 at,
		    struct dxk_wakes *wakes)
{
	struct dxk_more *more = rqe->more;

	dxk_rqe_leave(rqe);
	if (dxk_is_held(more)) {
		dxk_held_leave(more);
	} else {
		list_del_init(&more->kin);
		list_del_init(&more->joiner);
	}
	if (more->ripe) {
		e->ready.asleep[rqe->lane]--;
		if (list_empty(&e->ready.ripe[rqe->lane][rqe->share]))
			e->ready.ripe_shares[rqe->lane] &= ~BIT(rqe->share);
	}
	more->ripe = false;
	dxk_alarm_set(e, more, at, wakes);
	/* Idle workers can no longer expect an event of a file. */
	if (more->wait.wait & DXK_WAIT_FILE && !--e->waits.files)
		dxk_stall_suspect(e, wakes);
}

/**
 * dxk_wait_end - end a request's wait, whether there is room for it or not
 * @e: the engine, locked
 * @rqe: WAITING, not Held; READY or Held when this returns
 * @reason: enum dxk_wake_reason
 * @wakes: gets the clock's wake-up
 */
void dxk_wait_end(struct dxk_engine *e, struct dxk_rqe *rqe, u8 reason, struct dxk_wakes *wakes)
{
	dxk_wait_leave(e, rqe, rqe->more->expire, wakes);
	dxk_wait_ready(e, rqe, DXK_WAITING, reason, wakes);
}

/* Would a post find an entry of the Ready Pool, if nobody came before it? */
static bool dxk_ripe_has_room(const struct dxk_engine *e, u32 share, u32 lane)
{
	return e->nr[DXK_AT_READY] < e->policy.ready_entries &&
	       dxk_lanes_admit(&e->ready.lanes, lane) &&
	       (likely(!share) || dxk_share_has_entry(e, share));
}

/** dxk_has_ripe - does a request of a share, posted waiting to a lane, wait for room? */
bool dxk_has_ripe(const struct dxk_engine *e, u32 share, u32 lane)
{
	return e->ready.ripe_shares[lane] & BIT(share);
}

/* The event that the request waits for has happened, and there is no room for the request. */
static void dxk_ripen(struct dxk_engine *e, struct dxk_rqe *rqe, u8 reason,
		      struct dxk_wakes *wakes)
{
	struct dxk_more *more = rqe->more;

	BUILD_BUG_ON(DXK_SHARES > 32);
	more->wake = reason;
	more->ripe = true;
	more->arrival = e->ready.arrivals++;
	e->ready.asleep[rqe->lane]++;
	e->ready.ripe_shares[rqe->lane] |= BIT(rqe->share);
	list_move_tail(&more->joiner, &e->ready.ripe[rqe->lane][rqe->share]);
	dxk_alarm_set(e, more, more->expire, wakes);
}

/**
 * dxk_resume - what a request waits for has happened
 * @e: the engine, locked
 * @rqe: WAITING
 * @reason: enum dxk_wake_reason
 * @wakes: gets the clock's wake-up
 *
 * The request is READY or Held when this returns, unless it was never begun: then it may have to
 * wait for room. During Stop(cancel) it stays WAITING, as Stop ends it. A Held request has its
 * reason already.
 */
void dxk_resume(struct dxk_engine *e, struct dxk_rqe *rqe, u8 reason, struct dxk_wakes *wakes)
{
	struct dxk_more *more = rqe->more;

	lockdep_assert_held(&e->lock);

	if (more->ripe || dxk_is_held(more))
		return;
	if (!dxk_rqe_begun(rqe)) {
		if (e->cancelling) {
			list_del_init(&more->joiner);
			dxk_alarm_set(e, more, DXK_FOREVER, wakes);
			return;
		}
		if (dxk_has_ripe(e, rqe->share, rqe->lane) ||
		    !dxk_ripe_has_room(e, rqe->share, rqe->lane)) {
			dxk_ripen(e, rqe, reason, wakes);
			return;
		}
	}
	dxk_wait_end(e, rqe, reason, wakes);
}

/* The longest ripe one among those for which there is room, or NULL. */
static struct dxk_more *dxk_first_ripe(const struct dxk_engine *e)
{
	const struct dxk_ready *ready = &e->ready;
	struct dxk_more *more, *first = NULL;
	u32 lane, share, shares;

	for (lane = 0; lane < DXK_LANES; lane++)
		for (shares = ready->ripe_shares[lane]; shares; shares &= shares - 1) {
			share = __ffs(shares);
			more = list_first_entry(&ready->ripe[lane][share], struct dxk_more,
						joiner);
			if ((!first || more->arrival < first->arrival) &&
			    dxk_ripe_has_room(e, share, lane))
				first = more;
		}
	return first;
}

/**
 * dxk_admit_ripe - let ripe requests that were posted waiting into the Ready Pool
 * @e: the engine, locked
 * @wakes: of the hold; what it cannot afford is owed
 */
void dxk_admit_ripe(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct dxk_more *more;

	lockdep_assert_held(&e->lock);

	while (!e->cancelling && (more = dxk_first_ripe(e))) {
		if (!dxk_afford_or_owe(e, wakes, 1)) {
			e->ready.left = true;
			return;
		}
		dxk_wait_end(e, more->rqe, more->wake, wakes);
	}
}

/* --- who waits for an owner ------------------------------------------------------ */

/* The request that is to follow the last one at once precedes the others. */
static void dxk_owner_join_eager(struct dxk_waits *waits, struct list_head *joiners)
{
	struct dxk_more *more = list_first_entry_or_null(joiners, struct dxk_more, joiner);

	if (more && more->wait.wait & DXK_WAIT_EAGER)
		list_move_tail(&more->joiner, &waits->eager);
}

/**
 * dxk_owner_join - an owner for which requests wait has changed
 * @e: the engine, locked
 * @owner: the owner
 *
 * This decides in O(1) whether the awaited event has happened; the worker that has ended the
 * last request, and dxk_serve_joined(), do the rest.
 */
void dxk_owner_join(struct dxk_engine *e, struct dxk_owner *owner)
{
	struct dxk_waits *waits = &e->waits;
	bool over = !dxk_owner_coming(owner);

	lockdep_assert_held(&e->lock);

	if (over || owner->nr_done)
		list_splice_tail_init(&owner->joiners[true], &waits->joined);
	if (over) {
		dxk_owner_join_eager(waits, &owner->joiners[false]);
		list_splice_tail_init(&owner->joiners[false], &waits->joined);
	}
	if (over)
		owner->joined = 0;
	/* Each dispatch looks at this flag, and this is one more reason to set it. */
	e->owners.freed |= !list_empty(&waits->joined) || !list_empty(&waits->eager);
}

/**
 * dxk_serve_joined - resume the requests for which the awaited event of an owner has happened
 * @e: the engine, locked
 * @wakes: of the hold; what it cannot afford is owed
 */
void dxk_serve_joined(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	list_splice_init(&e->waits.eager, &e->waits.joined);
	while (!list_empty(&e->waits.joined)) {
		struct dxk_more *more = list_first_entry(&e->waits.joined, struct dxk_more,
							 joiner);

		if (!dxk_afford_or_owe(e, wakes, 1))
			return;
		dxk_resume(e, more->rqe, more->wait.wait & DXK_WAIT_RESULT ?
			   DXK_WAKE_RESULT : DXK_WAKE_JOIN, wakes);
	}
}
