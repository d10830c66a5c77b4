/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_READY_H
#define _DXK_ENGINE_READY_H

#include "engine/lanes.h"
#include "engine/os.h"
#include "engine/request.h"
#include "engine/share.h"

struct dxk_member;
struct dxk_post_op;
struct dxk_wakes;

/* Ageing classes: what a request gains per scheduler interval. */
enum dxk_class {
	DXK_PLAIN,
	DXK_BOOSTED,
	DXK_CLASSES,
};

/*
 * Queues of sleeping posters: one for each lane, and one for each share, whose user may have
 * to wait while there is room for others.
 */
#define DXK_POST_QUEUES	(DXK_LANES + DXK_SHARES - 1)

/**
 * struct dxk_ready - the Ready Pool (the seed also says Pending Pool)
 *
 * All (L). Invariants after every lock hold, unless it has left that over and another
 * one follows:
 *  - no sleeping poster's next request is admissible;
 *  - no idle worker and admissible entry of its kind exist together.
 *
 * An entry's current priority is key + gained[class]. Keys are constant, so an
 * interval changes the order between trees but never within one: a tick costs
 * O(1), and the next entry is the best of the trees' first ones.
 */
struct dxk_ready {
	/**
	 * @tree: by kind of worker, lane and class; ordered by key falling, seq rising
	 */
	struct rb_root_cached tree[DXK_KINDS][DXK_LANES][DXK_CLASSES];
	/**
	 * @filled: by kind: bit (lane * DXK_CLASSES + class) is set iff that tree has
	 * an entry
	 */
	u8 filled[DXK_KINDS];
	/**
	 * @gained: by class: what an entry that waits since the first tick has gained
	 */
	s64 gained[DXK_CLASSES];
	/** @tick: scheduler intervals so far */
	u64 tick;
	/** @seq: posts so far */
	u64 seq;
	/** @nr: entries, by kind and lane */
	u32 nr[DXK_KINDS][DXK_LANES];
	/** @lanes: CMLS over the entries; quota[3] is the pool's size */
	struct dxk_lanes lanes;
	/**
	 * @posters: by queue, and by whether the poster is inside: struct dxk_post_op that
	 * sleep for room, in order of arrival. Stop(drain) ends the sleeps of those outside
	 */
	struct list_head posters[DXK_POST_QUEUES][2];
	/** @asleep: by lane: how many are in its queue; and in those of all shares */
	u32 asleep[DXK_LANES + 1];
	/** @left: some in @posters were not looked at when entries became free */
	bool left;
	/** @arrivals: sleeping posters so far */
	u64 arrivals;
};

void dxk_ready_init(struct dxk_ready *ready);
void dxk_ready_add(struct dxk_ready *ready, struct dxk_rqe *rqe);
void dxk_ready_put_back(struct dxk_ready *ready, struct dxk_rqe *rqe);
void dxk_ready_resume(struct dxk_ready *ready, struct dxk_rqe *rqe);
void dxk_ready_remove(struct dxk_ready *ready, struct dxk_rqe *rqe);
struct dxk_rqe *dxk_ready_best(const struct dxk_ready *ready, enum dxk_kind kind,
			       const struct dxk_lanes *workers);
struct dxk_rqe *dxk_ready_first_of(const struct dxk_ready *ready, enum dxk_kind kind, u32 lane);
struct dxk_rqe *dxk_ready_first(const struct dxk_ready *ready);
void dxk_ready_tick(struct dxk_ready *ready, bool age, bool boost, u32 boost_value);
s64 dxk_ready_prio(const struct dxk_ready *ready, const struct dxk_rqe *rqe);

static inline u32 dxk_ready_nr(const struct dxk_ready *ready, enum dxk_kind kind)
{
	const u32 *nr = ready->nr[kind];

	return nr[0] + nr[1] + nr[2] + nr[3];
}

static inline bool dxk_ready_has_posters(const struct dxk_ready *ready)
{
	const u32 *nr = ready->asleep;

	return nr[0] | nr[1] | nr[2] | nr[3] | nr[DXK_LANES];
}

/* How many of the queues can have posters. */
static inline u32 dxk_ready_queues(const struct dxk_ready *ready)
{
	return likely(!ready->asleep[DXK_LANES]) ? DXK_LANES : DXK_POST_QUEUES;
}

static inline bool dxk_ready_empty(const struct dxk_ready *ready)
{
	return !ready->filled[DXK_USER] && !ready->filled[DXK_KERNEL];
}

#endif /* _DXK_ENGINE_READY_H */
