/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The usual moves of the Ready Pool, see ready.c: a request is added behind others of its key,
 * and the first of all is removed. Both are inline, as every request makes them.
 */
#ifndef _DXK_ENGINE_ORDER_H
#define _DXK_ENGINE_ORDER_H

#include "engine/os.h"
#include "engine/ready.h"

void dxk_queue_add_any(struct dxk_queue *q, struct dxk_rqe *rqe);
void dxk_queue_remove_any(struct dxk_queue *q, struct dxk_rqe *rqe);

static inline u32 dxk_row_of(s64 key)
{
	return (u64)key % DXK_ROWS;
}

static __always_inline void dxk_queue_add(struct dxk_queue *q, struct dxk_rqe *rqe)
{
	struct dxk_row *row = &q->row[dxk_row_of(rqe->key)];
	struct dxk_rqe *last = row->last;

	/* Behind another one of its key: nothing else changes. */
	if (likely(last && last->key == rqe->key && last->seq < rqe->seq)) {
		rqe->treed = false;
		rqe->newer = NULL;
		rqe->older = last;
		last->newer = rqe;
		row->last = rqe;
	} else {
		dxk_queue_add_any(q, rqe);
	}
}

static __always_inline void dxk_queue_remove(struct dxk_queue *q, struct dxk_rqe *rqe)
{
	struct dxk_rqe *next = rqe->newer;

	/* The first of all, with others of its key behind it: the next of them becomes first. */
	if (likely(RB_EMPTY_ROOT(&q->tree.rb_root) && rqe == q->first && next)) {
		next->older = NULL;
		q->row[dxk_row_of(rqe->key)].first = next;
		q->first = next;
	} else {
		dxk_queue_remove_any(q, rqe);
	}
}

/* The home of a slot, and its bit */
static inline struct dxk_home *dxk_home_of(const struct dxk_ready *ready, u32 slot)
{
	return &ready->home[(slot - DXK_SLOT_HOME) / DXK_HOME_SLOTS];
}

static inline u64 dxk_home_bit(u32 slot)
{
	return BIT_ULL((slot - DXK_SLOT_HOME) / DXK_HOME_SLOTS);
}

void dxk_home_enter(struct dxk_ready *ready, struct dxk_rqe *rqe);
void dxk_home_leave(struct dxk_ready *ready, struct dxk_rqe *rqe);

static __always_inline void dxk_ready_enter(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	if (unlikely(rqe->slot >= DXK_SLOT_HOME)) {
		dxk_home_enter(ready, rqe);
		return;
	}
	dxk_queue_add(&ready->queue[rqe->slot], rqe);
	ready->filled[rqe->kind] |= BIT(rqe->slot % DXK_SLOTS);
	ready->nr[rqe->kind][rqe->lane]++;
}

/**
 * dxk_ready_add - enter a new request at its posted priority
 * @ready: the pool
 * @rqe: the request
 *
 * O(1) if its key is near those of others, else O(log n). Waiting for room before this
 * does not age (DX-63).
 */
static __always_inline void dxk_ready_add(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	dxk_ready_stamp(ready, rqe);
	dxk_ready_enter(ready, rqe);
}

static __always_inline void dxk_ready_leave(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	struct dxk_queue *q;

	if (unlikely(rqe == ready->cursor))
		ready->cursor = dxk_ready_next(ready, rqe);
	if (unlikely(rqe->slot >= DXK_SLOT_HOME)) {
		dxk_home_leave(ready, rqe);
		return;
	}
	q = &ready->queue[rqe->slot];
	dxk_queue_remove(q, rqe);
	if (!q->first)
		ready->filled[rqe->kind] &= ~BIT(rqe->slot % DXK_SLOTS);
	ready->nr[rqe->kind][rqe->lane]--;
}

static inline bool dxk_ready_before(const struct dxk_ready *ready, const struct dxk_rqe *x,
				    const struct dxk_rqe *y)
{
	s64 prio_x = dxk_ready_prio(ready, x), prio_y = dxk_ready_prio(ready, y);

	return prio_x != prio_y ? prio_x > prio_y : x->seq < y->seq;
}

/* Without the queues of lanes that may hold no more workers, and without last turns. */
static inline unsigned long dxk_slots_admitted(unsigned long slots,
					       const struct dxk_lanes *workers)
{
	return slots & ~0UL << dxk_lanes_full(workers) * DXK_CLASSES;
}

static __always_inline struct dxk_rqe *dxk_ready_find(const struct dxk_ready *ready,
						      enum dxk_kind kind,
						      const struct dxk_lanes *workers)
{
	unsigned long slots = dxk_slots_admitted(ready->filled[kind] & (DXK_LAST - 1), workers);
	const struct dxk_queue *queue = &ready->queue[kind * DXK_SLOTS];
	struct dxk_rqe *best;

	if (!slots)
		return NULL;
	best = queue[__ffs(slots)].first;
	while (unlikely(slots &= slots - 1))
		if (dxk_ready_before(ready, queue[__ffs(slots)].first, best))
			best = queue[__ffs(slots)].first;
	return best;
}

/** dxk_ready_take - dxk_ready_best(), which also removes the request from the pool */
static __always_inline struct dxk_rqe *dxk_ready_take(struct dxk_ready *ready,
						      enum dxk_kind kind,
						      const struct dxk_lanes *workers)
{
	struct dxk_rqe *rqe = dxk_ready_find(ready, kind, workers);

	if (rqe)
		dxk_ready_leave(ready, rqe);
	return rqe;
}

/** dxk_ready_take_last_lane - dxk_ready_take(), if that request is in the last lane */
static __always_inline struct dxk_rqe *
dxk_ready_take_last_lane(struct dxk_ready *ready, enum dxk_kind kind,
			 const struct dxk_lanes *workers)
{
	struct dxk_rqe *rqe = dxk_ready_find(ready, kind, workers);

	if (!rqe || rqe->lane != DXK_LANES - 1)
		return NULL;
	dxk_ready_leave(ready, rqe);
	return rqe;
}

#endif /* _DXK_ENGINE_ORDER_H */
