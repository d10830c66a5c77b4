/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The table of transitions. Every request changes its state here and nowhere
 * else, and with the state every count that depends on it: the owner's, the
 * context's, and the lanes of the resource it holds.
 */
#ifndef _DXK_ENGINE_STATE_H
#define _DXK_ENGINE_STATE_H

#include "engine/engine.h"
#include "engine/more.h"
#include "engine/order.h"
#include "engine/os.h"
#include "trace.h"

/* Where a request of each state counts. */
static const u8 dxk_place_of[DXK_STATES] = {
	[DXK_FREE]		= DXK_NOWHERE,
	[DXK_POSTED]		= DXK_NOWHERE,
	[DXK_READY]		= DXK_AT_READY,
	[DXK_DISPATCHED]	= DXK_AT_WORK,
	[DXK_BUSY]		= DXK_AT_WORK,
	[DXK_REJOIN]		= DXK_AT_REJOIN,
	[DXK_CANCELLED]		= DXK_NOWHERE,
	[DXK_WAITING]		= DXK_AT_WAIT,
};

/* Which states may follow each state. */
static const u16 dxk_moves[DXK_STATES] = {
	[DXK_FREE]		= BIT(DXK_POSTED),
	[DXK_POSTED]		= BIT(DXK_READY) |	/* post */
				  BIT(DXK_WAITING) |	/* posted waiting, or Held */
				  BIT(DXK_FREE),	/* refused */
	[DXK_READY]		= BIT(DXK_DISPATCHED) |	/* dispatch */
				  BIT(DXK_CANCELLED) |	/* Stop(cancel), or closed */
				  BIT(DXK_WAITING),	/* another one has its key */
	[DXK_DISPATCHED]	= BIT(DXK_BUSY) |	/* fetched */
				  BIT(DXK_READY),	/* could not be fetched */
	[DXK_BUSY]		= BIT(DXK_REJOIN) |	/* end, rejoinable */
				  BIT(DXK_FREE) |	/* end */
				  BIT(DXK_READY) |	/* its worker died: redo; again */
				  BIT(DXK_WAITING),	/* its turn ends with a wait */
	[DXK_REJOIN]		= BIT(DXK_FREE),	/* collected */
	[DXK_CANCELLED]		= BIT(DXK_REJOIN) |
				  BIT(DXK_FREE),
	[DXK_WAITING]		= BIT(DXK_READY) |	/* the wait is over */
				  BIT(DXK_CANCELLED),
};

static inline bool dxk_move_legal(enum dxk_state from, enum dxk_state to)
{
	return dxk_moves[from] & BIT(to);
}

static inline void dxk_place_enter(struct dxk_engine *e, struct dxk_rqe *rqe,
				   enum dxk_place place)
{
	rqe->owner->nr[place]++;
	if (++e->nr[place] > e->high[place])
		e->high[place] = e->nr[place];
	if (place == DXK_AT_READY) {
		e->ready.lanes.used[rqe->lane]++;
		if (unlikely(e->owns.own))
			dxk_own_enter(e, rqe);
	} else if (place == DXK_AT_WORK) {
		e->crew.lanes[rqe->kind].used[rqe->lane]++;
	}
}

static inline void dxk_place_leave(struct dxk_engine *e, struct dxk_rqe *rqe,
				   enum dxk_place place)
{
	rqe->owner->nr[place]--;
	e->nr[place]--;
	if (place == DXK_AT_READY) {
		e->ready.lanes.used[rqe->lane]--;
		if (unlikely(e->owns.own))
			dxk_own_leave(e, rqe);
	} else if (place == DXK_AT_WORK) {
		e->crew.lanes[rqe->kind].used[rqe->lane]--;
	}
}

static inline void dxk_share_move(struct dxk_share *s, enum dxk_place from,
				  enum dxk_place to)
{
	s->live += (to != DXK_NOWHERE) - (from != DXK_NOWHERE);
	s->ready += (to == DXK_AT_READY) - (from == DXK_AT_READY);
}

/* A request that was begun has been admitted to the pool: its wait takes nobody's place. */
static inline void dxk_place_unbegun(struct dxk_engine *e, const struct dxk_rqe *rqe,
				     enum dxk_place from, enum dxk_place to)
{
	int by = (to == DXK_AT_WAIT) - (from == DXK_AT_WAIT);

	if (dxk_rqe_begun(rqe))
		return;
	e->waits.unbegun += by;
	if (rqe->share)
		e->shares.of[rqe->share].waiting += by;
}

/**
 * dxk_move - change the state of a request
 * @e: its context, locked
 * @rqe: the request
 * @from: the state it is in, a constant
 * @to: the state it gets, a constant; a move that the table lacks does not
 *	compile
 *
 * The caller maintains the list or tree that the request is in.
 */
static __always_inline void dxk_move(struct dxk_engine *e, struct dxk_rqe *rqe,
				     const enum dxk_state from,
				     const enum dxk_state to)
{
	BUILD_BUG_ON(!(dxk_moves[from] & BIT(to)));
	lockdep_assert_held(&e->lock);
	WARN_ON_ONCE(rqe->state != from);

	/* A cancelled request moves on at once. */
	if (to != DXK_CANCELLED)
		dxk_step(e);
	trace_dxk_move(e->id, rqe, from, to);
	if (dxk_place_of[from] != dxk_place_of[to]) {
		if (dxk_place_of[from] != DXK_NOWHERE)
			dxk_place_leave(e, rqe, dxk_place_of[from]);
		if (dxk_place_of[to] != DXK_NOWHERE)
			dxk_place_enter(e, rqe, dxk_place_of[to]);
		/* Between work and the Rejoin Pool no share changes. */
		if (!(dxk_place_of[from] == DXK_AT_WORK && dxk_place_of[to] == DXK_AT_REJOIN) &&
		    unlikely(rqe->share))
			dxk_share_move(&e->shares.of[rqe->share], dxk_place_of[from],
				       dxk_place_of[to]);
		if (dxk_place_of[from] == DXK_AT_WAIT || dxk_place_of[to] == DXK_AT_WAIT)
			dxk_place_unbegun(e, rqe, dxk_place_of[from], dxk_place_of[to]);
	}
	WRITE_ONCE(rqe->state, to);
}

/**
 * dxk_move_alike - dxk_move() of one of several requests of an owner, to nowhere
 * @e: their context, locked
 * @rqe: the request
 * @from: the state that they are in
 * @to: the state that they get
 *
 * Of the counts it updates only the share's. dxk_moved_alike() does the rest, for all of them.
 */
static __always_inline void dxk_move_alike(struct dxk_engine *e, struct dxk_rqe *rqe,
					   const enum dxk_state from, const enum dxk_state to)
{
	BUILD_BUG_ON(!(dxk_moves[from] & BIT(to)));
	BUILD_BUG_ON(dxk_place_of[from] != DXK_AT_REJOIN || dxk_place_of[to] != DXK_NOWHERE);
	WARN_ON_ONCE(rqe->state != from);

	dxk_step(e);
	trace_dxk_move(e->id, rqe, from, to);
	if (unlikely(rqe->share))
		dxk_share_move(&e->shares.of[rqe->share], dxk_place_of[from], dxk_place_of[to]);
	WRITE_ONCE(rqe->state, to);
}

/** dxk_moved_alike - @nr requests of an owner have changed their state */
static __always_inline void dxk_moved_alike(struct dxk_engine *e, struct dxk_owner *owner,
					    const enum dxk_state from, const enum dxk_state to,
					    u32 nr)
{
	lockdep_assert_held(&e->lock);

	owner->nr[dxk_place_of[from]] -= nr;
	e->nr[dxk_place_of[from]] -= nr;
}

/**
 * dxk_post_ready - a request that has been posted enters the Ready Pool
 * @e: the engine, locked
 * @rqe: POSTED
 * @passes: it is given to a worker at once, and enters none of its queues
 */
static __always_inline void dxk_post_ready(struct dxk_engine *e, struct dxk_rqe *rqe, bool passes)
{
	dxk_move(e, rqe, DXK_POSTED, DXK_READY);
	if (passes)
		dxk_ready_stamp(&e->ready, rqe);
	else
		dxk_ready_add(&e->ready, rqe);
	if (unlikely(e->policy.sample_interval_ms))
		rqe->posted = os_now();
}

#endif /* _DXK_ENGINE_STATE_H */
