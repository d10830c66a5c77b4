// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Admission to the Ready Pool: a post enters, is refused, or sleeps until others
 * let it in. Test and entry are one critical section, so an entry goes to exactly
 * one poster (DX-43).
 *
 * A request that is posted waiting needs room only when its wait is over: then it precedes all
 * sleepers, see dxk_admit_ripe(). A request whose key is not free needs none. If its wait was
 * over, or its key was free, but there was no room, a request stands in the queue for room. If it
 * has to wait after all, because others have collected the results, or have the key, it enters
 * when there is room. Then it counts as one that waits, and is refused with -ENOSPC or -EDQUOT
 * if no more may wait.
 *
 * Sleeping posters stand in one queue for each lane, those of users with a share in one for each
 * share. Each queue is kept as two: posters that execute a request, and posters outside, which
 * Stop(drain) sends away. An entry that becomes free goes, in the same lock hold, to the
 * longest sleeper among the first ones of those queues for which there is room. Hence, whenever
 * the lock is free, no first one is admissible, unless the hold has left that over and another
 * one follows. No poster can overtake another one of its queue. A full lane does not hold up
 * another lane (DX-45), nor does a user that has all of its share hold up others.
 */
#include "engine/alarm.h"
#include "engine/dispatch.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/room.h"
#include "engine/stall.h"
#include "engine/state.h"
#include "trace.h"

/**
 * dxk_post_descend - dxk_post_lane(), of %PXR_LANE_CHILD
 * @m: the calling thread's
 * @rqe: POSTED, with no lane so far
 *
 * From here on its attributes name the lane. A member that executes nothing ranks as a service.
 */
void dxk_post_descend(const struct dxk_member *m, struct dxk_rqe *rqe)
{
	static const u16 bits[DXK_LANES] = { PXR_LANE0, PXR_LANE1, PXR_LANE2, PXR_LANE3 };
	u32 lane = list_empty(&m->busy) ? 0 : list_last_entry(&m->busy, struct dxk_rqe, link)->lane;

	rqe->lane = dxk_lane_below(READ_ONCE(m->engine->crew.lanes_below), lane);
	rqe->attrs |= bits[rqe->lane];
}

/* Does the request wait for something else before it needs room? dxk_admit() decides that. */
static bool dxk_post_begins_waiting(const struct dxk_rqe *rqe)
{
	if (likely(!(rqe->attrs & (PXR_WAIT | PXR_KEY))))
		return false;
	return rqe->more->behind || (rqe->attrs & PXR_WAIT && !rqe->more->wake);
}

/* Is its key free, or does it refuse? If it is not free, this request or another is Held. */
static int dxk_admit_key(struct dxk_engine *e, const struct dxk_member *m, struct dxk_rqe *rqe)
{
	struct dxk_more *more = rqe->more;
	const struct dxk_key *key;

	if (!more->keyed)
		return 0;
	key = dxk_key_find(e, m->space, more->wait.key);
	more->behind = key && !dxk_key_is_free(key);
	return key && key->refuses ? -ECANCELED : 0;
}

/*
 * A name has to be free. A request that begins waiting needs no entry of the Ready Pool, but has
 * to be one of those that may wait.
 */
static int dxk_admit_more(struct dxk_engine *e, const struct dxk_member *m,
			  struct dxk_rqe *rqe, u32 *reason)
{
	int err;

	/* It was made for another run, whose policy provided for it. */
	if (rqe->attrs & PXR_MORE && !e->waits.bucket)
		return -EOPNOTSUPP;
	if (rqe->more->named && dxk_name_find(e, m->space, rqe->more->name))
		return -EEXIST;
	err = dxk_admit_key(e, m, rqe);
	if (!err && rqe->attrs & PXR_WAIT)
		err = dxk_post_wait(e, rqe, m->space);
	if (err)
		return err;
	if (!dxk_post_begins_waiting(rqe)) {
		rqe->more->stands = true;
		return 0;
	}
	*reason = PXR_NO_SPACE;
	return dxk_share_may_wait(e, m);
}

/* Is there room for the request? The first tests are those whose failure no wait could cure. */
static int dxk_admit(struct dxk_engine *e, const struct dxk_member *m,
		     struct dxk_rqe *rqe, u32 *reason)
{
	struct dxk_need need;
	int err = dxk_closed(e, rqe->kind, rqe->lane);

	if (unlikely(err)) {
		*reason = err == -EPERM ? PXR_LANE_CLOSED : 0;
		return err;
	}
	if (unlikely(dxk_live(e) >= e->policy.max_requests)) {
		*reason = PXR_NO_SPACE;
		return -ENOSPC;
	}
	if (unlikely(rqe->more)) {
		err = dxk_admit_more(e, m, rqe, reason);
		if (err)
			return err;
	}
	need = dxk_need_of(m, rqe);
	return dxk_need_admit(e, &need, reason);
}

/*
 * How many of the member's requests have room, whatever they are, provided that their kind and
 * lane are open and their lane has room. Each of the others is to be looked at.
 */
static u32 dxk_room(const struct dxk_engine *e, const struct dxk_member *m)
{
	const struct dxk_policy *p = &e->policy;
	u32 live = dxk_live(e), ready = e->nr[DXK_AT_READY];
	u32 room;

	if (m->share || live >= p->max_requests || ready >= p->ready_entries)
		return 0;
	room = min(p->max_requests - live, p->ready_entries - ready);
	if (p->rejoin_full != DXK_REJOIN_RESERVE)
		return room;
	return e->owners.reserved >= e->owners.entries ? 0 :
	       min(room, e->owners.entries - e->owners.reserved);
}

static struct dxk_rqe *dxk_post_next(const struct dxk_post_op *p)
{
	return list_first_entry(&p->rqes, struct dxk_rqe, link);
}

static void dxk_post_finish(struct dxk_post_op *p, int err, u32 reason,
			    struct dxk_wakes *wakes)
{
	p->err = err;
	p->reason = reason;
	dxk_waiter_finish(&p->w, wakes);
}

static void dxk_post_refuse(struct dxk_engine *e, struct dxk_post_op *p,
			    struct dxk_wakes *wakes)
{
	e->stats.post_refused++;
	dxk_post_finish(p, -ESHUTDOWN, 0, wakes);
}

/*
 * Does a sleeper continue to wait in a queue? If a lock hold has left it in the middle of a
 * batch, its next request may not wait, or not in this queue, and the room may be gone.
 */
static bool dxk_post_waits(struct dxk_engine *e, const struct dxk_post_op *p, u32 queue)
{
	struct dxk_rqe *rqe = dxk_post_next(p);
	u32 reason;

	return dxk_post_queue_of(e, p->m->share, rqe->lane) == queue &&
	       rqe->attrs & PXR_WAITIF_BUSY &&
	       dxk_admit(e, p->m, rqe, &reason) == -EAGAIN;
}

/*
 * @share: that of the poster's user, or 0. @near: the owner of a request that is in the pool, or
 * NULL: often it is the same. Return: the owner.
 */
static __always_inline struct dxk_owner *dxk_post_own(struct dxk_engine *e, struct dxk_post_op *p,
						      struct dxk_rqe *rqe, u8 share,
						      struct dxk_owner *near)
{
	if (!near || near->cookie != rqe->cookie)
		near = dxk_owner_enter(&e->owners, p->m->space, rqe->cookie, &p->m->owners);
	rqe->owner = near;
	rqe->share = share;
	return near;
}

/* The request is in the pool. */
static __always_inline void dxk_post_enter(struct dxk_engine *e, struct dxk_post_op *p,
					   struct dxk_rqe *rqe, u8 share)
{
	if (dxk_rqe_rejoinable(rqe)) {
		e->owners.reserved++;
		if (unlikely(share))
			e->shares.of[share].reserved++;
	}
	trace_dxk_post(p->m, rqe);
}

static void dxk_post_taken(struct dxk_engine *e, struct dxk_post_op *p, u32 nr)
{
	e->stats.posts += nr;
	p->taken += nr;
}

/* Where others sleep for room, or it is scarce: not inlined, as it has two callers. */
static noinline struct dxk_owner *dxk_post_take(struct dxk_engine *e, struct dxk_post_op *p,
						struct dxk_rqe *rqe, struct dxk_owner *near)
{
	dxk_rqe_leave(rqe);
	near = dxk_post_own(e, p, rqe, p->m->share, near);
	dxk_post_ready(e, rqe, false);
	dxk_post_enter(e, p, rqe, rqe->share);
	dxk_post_taken(e, p, 1);
	return near;
}

static void dxk_post_hold(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes)
{
	dxk_move(e, rqe, DXK_POSTED, DXK_WAITING);
	dxk_key_hold(e, rqe, wakes);
}

/* The same for one with a struct dxk_more: it may have a name or an alarm, and may wait now. */
static noinline struct dxk_owner *dxk_post_take_more(struct dxk_engine *e,
						     struct dxk_post_op *p,
						     struct dxk_rqe *rqe,
						     struct dxk_wakes *wakes)
{
	dxk_rqe_leave(rqe);
	dxk_post_own(e, p, rqe, p->m->share, NULL);
	dxk_link_join(&rqe->more->sibling, &rqe->owner->mores);
	if (rqe->more->named)
		dxk_name_enter(e, rqe);
	if (rqe->more->keyed)
		dxk_key_use(e, rqe, p->m->space, rqe->more->wait.key, p->m->keys);
	dxk_alarm_set(e, rqe->more, rqe->more->expire, wakes);
	if (rqe->attrs & PXR_WAIT && !rqe->more->wake)
		dxk_wait_post(e, rqe, wakes);
	else if (dxk_key_take(e, rqe, wakes))
		dxk_post_ready(e, rqe, false);
	else
		dxk_post_hold(e, rqe, wakes);
	dxk_post_enter(e, p, rqe, rqe->share);
	dxk_post_taken(e, p, 1);
	return rqe->owner;
}

/* Do others wait for the room that is available to the request? */
static bool dxk_is_awaited(struct dxk_engine *e, const struct dxk_member *m,
			   const struct dxk_rqe *rqe)
{
	struct dxk_need need = dxk_need_of(m, rqe);

	return dxk_need_is_awaited(e, &need);
}

static void dxk_post_queue(struct dxk_engine *e, struct dxk_post_op *p, u32 queue,
			   struct dxk_wakes *wakes)
{
	p->arrival = e->ready.arrivals++;
	dxk_waiter_queue(&p->w, &e->ready.posters[queue][dxk_is_inside(p->m)],
			 dxk_posters_asleep(e, queue),
			 dxk_crew_sleepers(&e->crew, p->m),
			 &e->stats.post_blocks, &e->stats.post_block_ns);
	if (p->help)
		dxk_waiter_help(&p->w, &p->helper, p->m, NULL);
	dxk_member_set_state(p->m, DXK_M_POSTING);
	trace_dxk_block(e->id, p->m->id, DXK_M_POSTING, 0);
	dxk_stall_suspect(e, wakes);
}

/*
 * Take as many of the poster's requests as have room. @at: the queue that the
 * poster stands at the head of, or DXK_POST_QUEUES if in none. A poster that stands in
 * a queue keeps its place as long as its next request belongs there, and goes on
 * only as far as the lock hold can afford. Inlined for the two.
 */
static __always_inline void dxk_post_continue(struct dxk_engine *e, struct dxk_post_op *p,
					      u32 at, struct dxk_wakes *wakes)
{
	struct dxk_owner *owner = NULL;

	while (!list_empty(&p->rqes)) {
		struct dxk_rqe *rqe = dxk_post_next(p);
		u32 queue = dxk_post_queue_of(e, p->m->share, rqe->lane);
		u32 reason = 0;
		int err;

		if (at != DXK_POST_QUEUES && !dxk_afford_or_owe(e, wakes, 1))
			return;
		err = dxk_admit(e, p->m, rqe, &reason);
		if (!err && queue != at && unlikely(dxk_ready_has_posters(&e->ready)) &&
		    dxk_is_awaited(e, p->m, rqe)) {
			/* There is room, but others come first: queue behind them. */
			err = -EAGAIN;
			reason = PXR_REJOIN_FULL;
		}
		if (!err) {
			owner = unlikely(rqe->more) ? dxk_post_take_more(e, p, rqe, wakes) :
						      dxk_post_take(e, p, rqe, owner);
			continue;
		}
		if (err != -EAGAIN || !(rqe->attrs & PXR_WAITIF_BUSY)) {
			if (err == -EAGAIN) {
				e->stats.post_busy++;
				dxk_room_refused(e, p->m, rqe);
			} else if (unlikely(err == -EDEADLK)) {
				dxk_wait_refused(e, rqe);
			}
			dxk_post_finish(p, err, reason, wakes);
			return;
		}
		p->m->awaits = rqe->lane;
		if (queue != at) {
			list_del_init(&p->w.link);
			dxk_post_queue(e, p, queue, wakes);
		}
		return;
	}
	dxk_post_finish(p, 0, 0, wakes);
}

/*
 * If nobody sleeps for room and there is some: take requests up to one that needs a look. They
 * leave the poster's list together. Their poster's user has no share, else there is no such room.
 */
static void dxk_post_first(struct dxk_engine *e, struct dxk_post_op *p)
{
	u32 room = dxk_ready_has_posters(&e->ready) ? 0 : dxk_room(e, p->m);
	struct dxk_owner *owner = NULL;
	bool cmls = dxk_cmls(e);
	struct dxk_rqe *rqe, *next;
	u32 nr = 0;

	list_for_each_entry_safe(rqe, next, &p->rqes, link) {
		if (nr == room ||
		    unlikely(rqe->more || dxk_closed(e, rqe->kind, rqe->lane)) ||
		    (cmls && !dxk_lanes_admit(&e->ready.lanes, rqe->lane)))
			break;
		owner = dxk_post_own(e, p, rqe, 0, owner);
		dxk_post_ready(e, rqe, false);
		dxk_post_enter(e, p, rqe, 0);
		nr++;
	}
	dxk_links_leave(&rqe->link, &p->rqes);
	dxk_post_taken(e, p, nr);
}

/** dxk_post_run - a post, as far as there is room */
void dxk_post_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_post_op *p = container_of(op, struct dxk_post_op, op);

	p->taken = 0;
	dxk_crew_engage(&e->crew, p->m);
	if (unlikely(dxk_is_shut(e, p->m))) {
		dxk_post_refuse(e, p, wakes);
		return;
	}
	dxk_post_first(e, p);
	dxk_post_continue(e, p, DXK_POST_QUEUES, wakes);
	/* Room no longer helps those that would be refused because of what it has taken. */
	if (unlikely(e->ready.rooms.nr))
		dxk_room_tell(e, wakes);
}

/**
 * dxk_serve_posters - let sleeping posters in while there is room
 * @e: the engine, locked
 * @wakes: gets the wake-ups
 *
 * To be called whenever an entry, a lane's limit or a reserved Rejoin Pool entry
 * has become free. As far as the lock hold can afford. Room that they leave is for members
 * that watch for room.
 */
void dxk_serve_posters(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	dxk_admit_ripe(e, wakes);
	while (wakes->spent < DXK_HOLD_BUDGET) {
		u32 queue, at = 0, end = dxk_ready_queues(&e->ready);
		struct dxk_post_op *first = NULL;

		for (queue = 0; queue < end; queue++) {
			struct dxk_post_op *p = dxk_first_poster(e, queue);

			if (!p || dxk_post_waits(e, p, queue))
				continue;
			if (!first || p->arrival < first->arrival) {
				first = p;
				at = queue;
			}
		}
		if (!first) {
			if (unlikely(e->ready.rooms.nr))
				dxk_room_tell(e, wakes);
			return;
		}
		dxk_post_continue(e, first, at, wakes);
	}
	e->ready.left = true;
	dxk_owe(e, wakes);
}

/**
 * dxk_sweep_posters - dxk_serve_posters(), if it has left some over, or in case a call of
 * it was missed
 * @e: the engine, locked
 * @wakes: gets the wake-ups
 *
 * A poster that can no longer succeed learns it when its turn comes, independently of a
 * sweep.
 */
void dxk_sweep_posters(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	u32 queue, reason;

	lockdep_assert_held(&e->lock);

	if (unlikely(e->state != DXK_CTX_RUNNING))
		dxk_stop_posters(e, wakes);
	if (unlikely(e->ready.left)) {
		e->ready.left = false;
		dxk_serve_posters(e, wakes);
	}
	for (queue = 0; queue < dxk_ready_queues(&e->ready); queue++) {
		struct dxk_post_op *p = dxk_first_poster(e, queue);

		if (unlikely(p && !dxk_admit(e, p->m, dxk_post_next(p), &reason)))
			dxk_serve_posters(e, wakes);
	}
	if (unlikely(e->ready.rooms.nr))
		dxk_room_tell(e, wakes);
}

/**
 * dxk_stop_posters - Stop wakes the sleeping posters that are shut out (DX-107)
 * @e: the engine, locked; it does not run
 * @wakes: gets the wake-ups
 */
void dxk_stop_posters(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	u32 queue, inside;

	lockdep_assert_held(&e->lock);

	for (queue = 0; queue < dxk_ready_queues(&e->ready); queue++)
		for (inside = 0; inside < 2 - dxk_draining(e); inside++) {
			struct list_head *posters = &e->ready.posters[queue][inside];

			while (!list_empty(posters)) {
				if (!dxk_afford_or_owe(e, wakes, 1))
					return;
				dxk_post_refuse(e, list_first_entry(posters,
						struct dxk_post_op, w.link), wakes);
			}
		}
}
