/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_READY_H
#define _DXK_ENGINE_READY_H

#include "engine/fair.h"
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

/* Queues of a kind: by lane and class. */
#define DXK_SLOTS	(DXK_LANES * DXK_CLASSES)

/* Maximum number of homes: their slots are below %DXK_SLOT_LAST, and they fit the bits of a word */
#define DXK_HOMES_MAX	56

/*
 * In dxk_rqe.slot: the first home, in the plain class. Each home has two queues, and only the
 * first one of two slots is used.
 */
#define DXK_SLOT_HOME	(DXK_KINDS * DXK_SLOTS)
#define DXK_HOME_SLOTS	(2 * DXK_KINDS)

/* In dxk_rqe.slot: it is in dxk_ready.last. Of the plain class. */
#define DXK_SLOT_LAST	254

/* In dxk_ready.filled: there are requests for their last turns; a home has entries. */
#define DXK_LAST	BIT(DXK_SLOTS)
#define DXK_AT_HOME	BIT(DXK_SLOTS + 1)

/* Keys that have a row. */
#define DXK_ROWS	64

/**
 * struct dxk_row - entries of one key, in order of their posts
 */
struct dxk_row {
	/** @first: the oldest one, or %NULL */
	struct dxk_rqe *first;
	/** @last: the newest one, or %NULL */
	struct dxk_rqe *last;
};

/**
 * struct dxk_queue - entries of one kind, lane and class: by falling key, then rising seq
 *
 * Most entries have keys near each other. The key selects the row, and a bit mask finds the next
 * used row. The rows cover 64 consecutive keys, and this range moves as the used rows allow. An
 * entry that arrives when its key has no row, or that belongs in the middle of one, is in the
 * tree until it leaves. Therefore the first entry is that of the highest row or of the tree.
 */
struct dxk_queue {
	/** @first: the entry that leaves first, or %NULL */
	struct dxk_rqe *first;
	/** @used: bit n is set iff row n has entries */
	u64 used;
	/** @base: the lowest key that has a row */
	s64 base;
	/** @tree: entries that are in no row */
	struct rb_root_cached tree;
	/** @row: the row of a key has the index key modulo 64 */
	struct dxk_row row[DXK_ROWS];
};

/**
 * struct dxk_home - requests that are Ready for some workers only, and these workers, see home.h
 */
struct dxk_home {
	/** @queue: by kind: entries, of the plain class and lane 3 */
	struct dxk_queue queue[DXK_KINDS];
	/** @idle: by kind: struct dxk_next_op of its workers that sleep for work */
	struct list_head idle[DXK_KINDS];
	/** @workers: by kind: its workers that count in dxk_crew.workers */
	u32 workers[DXK_KINDS];
};

/* By lane: an entry of the Ready Pool; that and one of the Rejoin Pool. Or the latter alone. */
#define DXK_NEEDS		(2 * DXK_LANES + 1)
/* Rooms: by whether posters are inside or outside, by their share, by kind, by what they need. */
#define DXK_ROOMS		(2 * DXK_SHARES * DXK_KINDS * DXK_NEEDS)

/**
 * struct dxk_rooms - members that watch for room, see room.h
 */
struct dxk_rooms {
	/** @nr: number of members that watch */
	u32 nr;
	/** @some: by room, a bit: does a member watch it? */
	u64 some[DIV_ROUND_UP(DXK_ROOMS, 64)];
	/** @watchers: by room: struct dxk_member */
	struct list_head watchers[DXK_ROOMS];
};

/**
 * struct dxk_ready - the Ready Pool (the seed also says Pending Pool)
 *
 * All (L). Invariants after every lock hold, unless it has left that work over and another
 * hold follows:
 *  - no sleeping poster's next request is admissible;
 *  - no idle worker and admissible entry of its kind exist together.
 *
 * An entry's current priority is key + gained[class]. Where there are rounds, its rank replaces
 * it, which is lower by the rounds that the entry is ahead of its lane. Keys are constant, so an
 * interval changes the order between queues but never within one: a tick costs O(1), and the
 * next entry is the best of the queues' first ones.
 */
struct dxk_ready {
	/** @queue: by kind of worker, lane and class, see dxk_ready_slot() */
	struct dxk_queue queue[DXK_KINDS * DXK_SLOTS];
	/**
	 * @filled: by kind: bit n is set iff queue n has an entry, %DXK_LAST iff @last has,
	 * %DXK_AT_HOME iff @at_home is not 0
	 */
	u16 filled[DXK_KINDS];
	/**
	 * @last: by kind: begun requests that Stop(cancel) has found waiting. From then on
	 * workers are given only these, in order, each for one more turn
	 */
	struct list_head last[DXK_KINDS];
	/**
	 * @gained: by class: what an entry that has waited since the first tick has gained
	 */
	s64 gained[DXK_CLASSES];
	/** @fair: how the users of the context share its workers, or NULL, see fair.h */
	struct dxk_fair *fair;
	/** @tick: scheduler intervals so far */
	u64 tick;
	/** @seq: posts so far */
	u64 seq;
	/** @home: %DXK_HOMES_MAX of them, or NULL before a run has any, see home.h */
	struct dxk_home *home;
	/** @homes: how many of them the run has; 0: none. Written by Start, read by anybody */
	u32 homes;
	/** @at_home: by kind: bit n is set iff home 1 + n has an entry */
	u64 at_home[DXK_KINDS];
	/** @idle_homes: by kind: bit n is set if it has an idle worker, and may be set if not */
	u64 idle_homes[DXK_KINDS];
	/** @left_homes: by kind: bit n is set if it has entries, and its last worker has left */
	u64 left_homes[DXK_KINDS];
	/** @nr: entries, by kind and lane */
	u32 nr[DXK_KINDS][DXK_LANES];
	/** @lanes: CMLS over the entries; quota[3] is the pool's size */
	struct dxk_lanes lanes;
	/**
	 * @posters: by queue, and by whether the poster is inside: struct dxk_post_op that
	 * sleep for room, in order of arrival. Stop(drain) ends the sleeps of those outside
	 */
	struct list_head posters[DXK_POST_QUEUES][2];
	/**
	 * @ripe: by lane and share: struct dxk_more of requests that were posted waiting and
	 * now wait for room only, in order of arrival. They precede all posters that sleep for
	 * it, see wait.h
	 */
	struct list_head ripe[DXK_LANES][DXK_SHARES];
	/** @ripe_shares: by lane: bit n is set iff share n has some in @ripe */
	u32 ripe_shares[DXK_LANES];
	/**
	 * @asleep: by lane: how many are in its queue, and ripe in it; the last element: how
	 * many are in the queues of all shares
	 */
	u32 asleep[DXK_LANES + 1];
	/** @cursor: the entry that a purge looks at next, or NULL, see purge.h */
	struct dxk_rqe *cursor;
	/** @upto: the purge does not look at entries that are newer than this */
	u64 upto;
	/** @left: some in @posters or @ripe were not looked at when entries became free */
	bool left;
	/** @arrivals: sleeping posters and ripe requests so far */
	u64 arrivals;
	/** @rooms: members that do not sleep for room, but watch for it */
	struct dxk_rooms rooms;
};

void dxk_ready_init(struct dxk_ready *ready);
void dxk_ready_put_back(struct dxk_ready *ready, struct dxk_rqe *rqe);
void dxk_ready_add_aged(struct dxk_ready *ready, struct dxk_rqe *rqe, s64 rank);
void dxk_ready_add_last(struct dxk_ready *ready, struct dxk_rqe *rqe);
void dxk_ready_to_last(struct dxk_ready *ready, struct dxk_rqe *rqe);
struct dxk_rqe *dxk_ready_take_last(struct dxk_ready *ready, enum dxk_kind kind);
void dxk_ready_resume(struct dxk_ready *ready, struct dxk_rqe *rqe);
void dxk_ready_remove(struct dxk_ready *ready, struct dxk_rqe *rqe);
struct dxk_rqe *dxk_ready_best(const struct dxk_ready *ready, enum dxk_kind kind,
			       const struct dxk_lanes *workers);
struct dxk_rqe *dxk_ready_first_of(const struct dxk_ready *ready, enum dxk_kind kind, u32 lane);
struct dxk_rqe *dxk_ready_first(const struct dxk_ready *ready);
struct dxk_rqe *dxk_ready_scan(struct dxk_ready *ready, u64 upto);
struct dxk_rqe *dxk_ready_next(const struct dxk_ready *ready, const struct dxk_rqe *rqe);
void dxk_home_join(struct dxk_ready *ready, u32 home, enum dxk_kind kind);
bool dxk_home_part(struct dxk_ready *ready, u32 home, enum dxk_kind kind);
void dxk_ready_tick(struct dxk_ready *ready, bool age, bool boost, u32 boost_value);

static inline s64 dxk_ready_gained(const struct dxk_ready *ready, const struct dxk_rqe *rqe)
{
	return ready->gained[rqe->slot % DXK_CLASSES];
}

/** dxk_ready_prio - the current priority of an entry (DX-59, DX-60), or its rank */
static inline s64 dxk_ready_prio(const struct dxk_ready *ready, const struct dxk_rqe *rqe)
{
	s64 prio = rqe->key + dxk_ready_gained(ready, rqe);

	if (unlikely(ready->fair))
		prio += ready->fair->level[dxk_fair_line(rqe)];
	return prio;
}

/** dxk_ready_serve - give an entry that has left the pool to a worker. Return: its priority */
static inline s64 dxk_ready_serve(struct dxk_ready *ready, const struct dxk_rqe *rqe)
{
	return unlikely(ready->fair) ? dxk_fair_serve(ready, rqe) :
				       rqe->key + dxk_ready_gained(ready, rqe);
}

/* The class is the lowest bit, then comes the lane, then the kind. */
static inline u32 dxk_ready_slot(const struct dxk_rqe *rqe)
{
	u32 class = rqe->attrs & PXR_BOOST ? DXK_BOOSTED : DXK_PLAIN;

	return rqe->kind * DXK_SLOTS + rqe->lane * DXK_CLASSES + class;
}

bool dxk_is_homeless(const struct dxk_ready *ready, const struct dxk_rqe *rqe);
u8 dxk_ready_slot_of(const struct dxk_ready *ready, const struct dxk_rqe *rqe);

/** dxk_ready_stamp - set the place of a request that arrives now */
static inline void dxk_ready_stamp(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	rqe->slot = likely(!rqe->more) ? dxk_ready_slot(rqe) : dxk_ready_slot_of(ready, rqe);
	rqe->key = rqe->prio - dxk_ready_gained(ready, rqe);
	rqe->seq = ready->seq++;
	rqe->tick0 = ready->tick;
	if (unlikely(ready->fair))
		dxk_fair_charge(ready, rqe);
}

/** dxk_ready_age - the same for a request that has aged before, see dxk_ready_add_aged() */
static inline void dxk_ready_age(struct dxk_ready *ready, struct dxk_rqe *rqe, s64 rank)
{
	rqe->slot = dxk_ready_slot_of(ready, rqe);
	rqe->key = rank + ready->gained[DXK_PLAIN] - dxk_ready_gained(ready, rqe);
	rqe->seq = ready->seq++;
	if (unlikely(ready->fair))
		dxk_fair_charge(ready, rqe);
}

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

/** dxk_room_is_awaited - does somebody sleep, or watch, for room? */
static inline bool dxk_room_is_awaited(const struct dxk_ready *ready)
{
	return dxk_ready_has_posters(ready) | ready->rooms.nr;
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
