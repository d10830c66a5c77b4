// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Reports of Ready requests: see look.h.
 */
#include "engine/engine.h"
#include "engine/look.h"
#include "engine/order.h"
#include "engine/os.h"

/* Places of a queue: its rows, then its tree. After those of all queues: requests' last turns. */
#define DXK_LOOK_QUEUE	(DXK_ROWS + 1)

static void dxk_look_at(const struct dxk_engine *e, const struct dxk_rqe *rqe,
			struct dxk_request_info *out)
{
	*out = (struct dxk_request_info) {
		.owner = rqe->cookie,
		.executor = rqe->executor,
		.param = rqe->param,
		.number = rqe->seq,
		.posted_ns = rqe->posted,
		.prio = clamp_t(s64, dxk_ready_prio(&e->ready, rqe), S32_MIN, S32_MAX),
		.space = rqe->owner->space->id,
		.state = DXK_REQUEST_READY,
		.attrs = rqe->attrs,
		.lane = rqe->lane,
		.inspect_count = min_t(u64, e->ready.tick - rqe->tick0, U32_MAX),
		.pid = rqe->poster.pid,
		.uid = rqe->poster.uid,
	};
}

/*
 * Report the requests of one place: the first @max are in @seen. Return: how many there are;
 * @max + 1: there are more than @max.
 */
static u32 dxk_look_row(const struct dxk_engine *e, const struct dxk_row *row, u32 max,
			struct dxk_request_info *seen)
{
	const struct dxk_rqe *rqe;
	u32 nr = 0;

	for (rqe = row->first; rqe; rqe = rqe->newer) {
		if (nr++ == max)
			break;
		dxk_look_at(e, rqe, seen++);
	}
	return nr;
}

static u32 dxk_look_tree(const struct dxk_engine *e, const struct rb_root_cached *tree, u32 max,
			 struct dxk_request_info *seen)
{
	struct rb_node *node;
	u32 nr = 0;

	for (node = rb_first_cached(tree); node; node = rb_next(node)) {
		if (nr++ == max)
			break;
		dxk_look_at(e, rb_entry(node, struct dxk_rqe, node), seen++);
	}
	return nr;
}

static u32 dxk_look_list(const struct dxk_engine *e, const struct list_head *list, u32 max,
			 struct dxk_request_info *seen)
{
	const struct dxk_rqe *rqe;
	u32 nr = 0;

	list_for_each_entry(rqe, list, link) {
		if (nr++ == max)
			break;
		dxk_look_at(e, rqe, seen++);
	}
	return nr;
}

/* The number of queues. Unlike in dxk_rqe.slot, those of homes have no unused slots in between. */
static u32 dxk_look_slots(const struct dxk_ready *ready)
{
	return DXK_SLOT_HOME + (ready->home ? DXK_HOMES_MAX * DXK_KINDS : 0);
}

static const struct dxk_queue *dxk_look_queue(const struct dxk_ready *ready, u32 slot)
{
	u32 at_home = slot - DXK_SLOT_HOME;

	if (slot < DXK_SLOT_HOME)
		return &ready->queue[slot];
	return &ready->home[at_home / DXK_KINDS].queue[at_home % DXK_KINDS];
}

/* From @place on the next one in a queue that has requests; else one after those of all queues. */
static u32 dxk_look_find(const struct dxk_ready *ready, u32 place)
{
	u32 slot = place / DXK_LOOK_QUEUE, row = place % DXK_LOOK_QUEUE;
	u32 slots = dxk_look_slots(ready);

	for (; slot < slots; slot++, row = 0) {
		const struct dxk_queue *q = dxk_look_queue(ready, slot);
		u64 used = row < DXK_ROWS ? q->used >> row << row : 0;

		if (!q->first)
			continue;
		if (used)
			return slot * DXK_LOOK_QUEUE + __ffs64(used);
		if (!RB_EMPTY_ROOT(&q->tree.rb_root))
			return slot * DXK_LOOK_QUEUE + DXK_ROWS;
	}
	return max(place, slots * DXK_LOOK_QUEUE);
}

static u32 dxk_look_place(const struct dxk_engine *e, u32 place, u32 max,
			  struct dxk_request_info *seen)
{
	u32 slot = place / DXK_LOOK_QUEUE, row = place % DXK_LOOK_QUEUE;
	const struct dxk_ready *ready = &e->ready;
	const struct dxk_queue *q;

	if (slot >= dxk_look_slots(ready))
		return dxk_look_list(e, &ready->last[row], max, seen);
	q = dxk_look_queue(ready, slot);
	return row < DXK_ROWS ? dxk_look_row(e, &q->row[row], max, seen) :
				dxk_look_tree(e, &q->tree, max, seen);
}

/** dxk_ready_look_locked - dxk_ready_look() for an engine that is locked */
u32 dxk_ready_look_locked(const struct dxk_engine *e, u32 *place, struct dxk_request_info *seen)
{
	u32 nr = 0, at = *place, found, end = dxk_look_slots(&e->ready) * DXK_LOOK_QUEUE;

	while (nr < DXK_LOOK_MAX) {
		at = dxk_look_find(&e->ready, at);
		if (at >= end + DXK_KINDS) {
			at = 0;
			break;
		}
		found = dxk_look_place(e, at, DXK_LOOK_MAX - nr, seen + nr);
		if (found > DXK_LOOK_MAX - nr) {
			/* The next hold has room for all that is reported of this place. */
			if (nr)
				break;
			found = DXK_LOOK_MAX;
			seen[found - 1].flags = DXK_REQUEST_MORE;
		}
		nr += found;
		at++;
	}
	*place = at;
	return nr;
}

/**
 * dxk_ready_look - report some of the Ready requests
 * @e: the engine
 * @place: where to begin, any number, 0 at first; out: where to go on, 0 at the end
 * @seen: out: %DXK_LOOK_MAX of them
 *
 * Of a place only the first %DXK_LOOK_MAX requests are reported; if there are more, the last one
 * of these has %DXK_REQUEST_MORE. Of these, a request that is Ready throughout is reported once,
 * unless the rows move or the pool begins to have homes.
 *
 * Return: how many there are in @seen, which may be none before the end.
 */
u32 dxk_ready_look(struct dxk_engine *e, u32 *place, struct dxk_request_info *seen)
{
	u32 nr;

	spin_lock(&e->lock);
	nr = dxk_ready_look_locked(e, place, seen);
	spin_unlock(&e->lock);
	return nr;
}
