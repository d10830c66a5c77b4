/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Room for requests, and its notification by poll(2).
 *
 * A member is writable until one of its posts is refused with -EAGAIN. It is writable again once
 * the post would no longer be refused so: either there is room and nobody sleeps for it, or there
 * is another reason to refuse the post. Therefore an event loop posts without sleeping, and after
 * a refusal waits as it does for a socket.
 *
 * Requests of one share, kind and lane that need the same entries, posted from inside or outside,
 * all have room or none has: each such group is a room. All members that watch a room are notified
 * together. Therefore the lock hold that frees an entry tests each watched room once, however
 * many members watch it, and touches members only to notify them.
 *
 * Invariants whenever the lock is free and nothing is owed:
 *   in a room's list are the members that were refused for lack of it and have asked poll(2)
 *   whether they are writable; no member is in two
 *   a room that has watchers is full
 *   dxk_rooms.nr is how many members are in lists, some has the bits of those not empty
 */
#ifndef _DXK_ENGINE_ROOM_H
#define _DXK_ENGINE_ROOM_H

#include "engine/engine.h"
#include "engine/more.h"
#include "engine/post.h"

/**
 * struct dxk_need - what a request needs
 */
struct dxk_need {
	/** @share: of its poster */
	u32 share;
	/** @lane: of the request */
	u32 lane;
	/** @entry: an entry of the Ready Pool, in its lane */
	bool entry;
	/** @rejoin: an entry of the Rejoin Pool */
	bool rejoin;
};

int dxk_share_admit(const struct dxk_engine *e, const struct dxk_need *need, u32 *reason);

/* Does it wait, or did it once wait, for nothing but room? dxk_admit() decides that. */
static inline bool dxk_needs_entry(const struct dxk_rqe *rqe)
{
	return likely(!(rqe->attrs & (PXR_WAIT | PXR_KEY))) || rqe->more->stands;
}

static inline struct dxk_need dxk_need_of(const struct dxk_member *m, const struct dxk_rqe *rqe)
{
	return (struct dxk_need) {
		.share = m->share, .lane = rqe->lane,
		.entry = dxk_needs_entry(rqe), .rejoin = dxk_rqe_rejoinable(rqe),
	};
}

/**
 * dxk_need_admit - is there room?
 * @e: the engine, locked
 * @need: what is needed
 * @reason: out, PXR_POOL_FULL..
 *
 * The order of the tests is that of the blocking points (DX-37, DX-38).
 * Return: 0; -EAGAIN; -EDQUOT: the share's user has too many requests to wait for more room.
 */
static __always_inline int dxk_need_admit(const struct dxk_engine *e, const struct dxk_need *need,
					  u32 *reason)
{
	if (e->nr[DXK_AT_READY] >= e->policy.ready_entries && need->entry) {
		*reason = PXR_POOL_FULL;
		return -EAGAIN;
	}
	if (need->entry && !dxk_lanes_admit(&e->ready.lanes, need->lane)) {
		*reason = PXR_LANE_FULL;
		return -EAGAIN;
	}
	/* In a drain there may be nobody to collect the results. */
	if (e->policy.rejoin_full == DXK_REJOIN_RESERVE &&
	    need->rejoin && e->state == DXK_CTX_RUNNING &&
	    e->owners.reserved >= e->owners.entries) {
		*reason = PXR_REJOIN_FULL;
		return -EAGAIN;
	}
	return likely(!need->share) ? 0 : dxk_share_admit(e, need, reason);
}

/* --- those who sleep for it ------------------------------------------------------ */

/*
 * The queue in which a poster sleeps for room for a request. Where users have no shares, all
 * posters of a lane have one order.
 */
static inline u32 dxk_post_queue_of(const struct dxk_engine *e, u32 share, u32 lane)
{
	if (likely(!share) ||
	    (e->policy.user_share == 100 && !e->shares.of[share].most_ready))
		return lane;
	return DXK_LANES - 1 + share;
}

/* How many sleep in a queue; for those of shares, in all of them. */
static inline u32 *dxk_posters_asleep(struct dxk_engine *e, u32 queue)
{
	return &e->ready.asleep[min_t(u32, queue, DXK_LANES)];
}

/* The first of a queue's sleeping posters that may be let in, or NULL. */
static inline struct dxk_post_op *dxk_first_poster(struct dxk_engine *e, u32 queue)
{
	struct dxk_post_op *in, *out;

	if (likely(!*dxk_posters_asleep(e, queue)))
		return NULL;
	in = list_first_entry_or_null(&e->ready.posters[queue][true], struct dxk_post_op, w.link);
	out = list_first_entry_or_null(&e->ready.posters[queue][false], struct dxk_post_op,
				       w.link);
	if (unlikely(e->state != DXK_CTX_RUNNING))
		return dxk_draining(e) ? in : NULL;
	return !out || (in && in->arrival < out->arrival) ? in : out;
}

/* Do others sleep for the available entry? */
static inline bool dxk_need_is_awaited(struct dxk_engine *e, const struct dxk_need *need)
{
	return need->entry &&
	       (dxk_first_poster(e, dxk_post_queue_of(e, need->share, need->lane)) ||
		dxk_has_ripe(e, need->share, need->lane));
}

/* --- those who watch for it ------------------------------------------------------ */

void dxk_rooms_init(struct dxk_rooms *rooms);
void dxk_room_refused(struct dxk_engine *e, struct dxk_member *m, const struct dxk_rqe *rqe);
void dxk_room_outside(struct dxk_engine *e, struct dxk_member *m, struct dxk_wakes *wakes);
bool dxk_room_poll(struct dxk_engine *e, struct dxk_member *m);
void dxk_room_leave(struct dxk_rooms *rooms, struct dxk_member *m);
void dxk_room_tell(struct dxk_engine *e, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_ROOM_H */
