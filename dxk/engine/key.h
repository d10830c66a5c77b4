/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Keys: among all requests of a space with one key, at most one has its turn. That one has the
 * key, from when it becomes Ready until it ends, waits, or leaves the key. A request that would
 * have a turn without the key is Held: it waits for nothing but the key.
 *
 * Held is no state of its own. A Held request is WAITING, in a line of those that wait, so
 * Stop, policies, cancels and counts know it; what it waited for before is over, and
 * dxk_more.wake says how.
 *
 * Invariants, under the lock:
 *   dxk_key.turn is the one request whose dxk_more.at_key is %DXK_KEY_HAS, READY, DISPATCHED
 *   or BUSY; or NULL
 *   with a turn, with nested requests, or held back, a key has Held ones; else none, unless
 *   they are to end: those that were not begun in a Stop(cancel), those of a lane or a kind
 *   that the policy has closed
 *   no Held one comes before a turn that is READY
 *   one that has left its key is BUSY, and comes back before all that are Held
 *   nested requests run within the turn: the thread of what they are nested in sleeps until
 *   they have ended, unless it has died
 *   all ways out of a key lead through dxk_key_drop()
 *   no function here ends a request
 *
 * The record exists while a request of the key lives, or it is held back.
 */
#ifndef _DXK_ENGINE_KEY_H
#define _DXK_ENGINE_KEY_H

#include "engine/member.h"
#include "engine/more.h"
#include "engine/os.h"

struct dxk_engine;
struct dxk_space;
struct dxk_wakes;

/**
 * struct dxk_key - the requests of one key; all (L)
 */
struct dxk_key {
	/** @hash: in the hash of keys */
	struct hlist_node hash;
	/** @space: whose key it is */
	struct dxk_space *space;
	/** @cookie: the key */
	u64 cookie;
	/** @turn: the request that has the key, or NULL */
	struct dxk_more *turn;
	/** @nested: struct dxk_more of requests within that, the innermost one last */
	struct list_head nested;
	/**
	 * @queue: struct dxk_more that are Held, in their order; each came behind all others,
	 * or before them
	 */
	struct list_head queue;
	/** @tree: those that belong in the midst of it */
	struct rb_root_cached tree;
	/** @nr_held: how many are Held */
	u32 nr_held;
	/** @users: live requests of the key */
	u32 users;
	/** @back: struct dxk_more that have left it, and are to have it before who is Held */
	struct list_head back;
	/** @waiters: struct dxk_more that have left it until they are notified */
	struct list_head waiters;
	/** @told: those of them are notified whose dxk_more.arrival is below this */
	u64 told;
	/**
	 * @run: turns in a row that the worker of the one before was given, see
	 * dxk_next_op.prefer
	 */
	u32 run;
	/** @suspended: it is held back: in dxk_waits.holds and dxk_space.holds */
	bool suspended;
	/** @refuses: and it refuses posts */
	bool refuses;
	/** @share: of what user that counts, dxk_member.share */
	u32 share;
	/** @hold: in dxk_waits.holds */
	struct list_head hold;
	/** @kin: in dxk_space.holds */
	struct list_head kin;
};

/** dxk_is_held - does the request wait for nothing but its key? */
static inline bool dxk_is_held(const struct dxk_more *more)
{
	return more->at_key == DXK_KEY_HELD;
}

/* May a request that comes back have the key at once? */
static inline bool dxk_key_is_vacant(const struct dxk_key *key)
{
	return !key->turn && list_empty(&key->nested) && list_empty(&key->back);
}

/* May a request that comes have the key at once? */
static inline bool dxk_key_is_free(const struct dxk_key *key)
{
	return dxk_key_is_vacant(key) && !key->suspended;
}

/* Does the request still wait to be notified? */
static inline bool dxk_key_is_waiting(const struct dxk_more *more)
{
	return more->at_key == DXK_KEY_WAITS && more->arrival >= more->key->told;
}

/**
 * dxk_key_is_usual - has the request its key, and do only those wait for it that are Held?
 * @more: of the request; its engine is locked
 */
static inline bool dxk_key_is_usual(const struct dxk_more *more)
{
	const struct dxk_key *key = more->key;

	return more->at_key == DXK_KEY_HAS && !key->suspended && list_empty(&key->nested) &&
	       list_empty(&key->back);
}

/** dxk_key_holder - in whose turn, or in which nested one's, a further one would be nested */
static inline struct dxk_more *dxk_key_holder(const struct dxk_key *key)
{
	return list_empty(&key->nested) ? key->turn :
	       list_last_entry(&key->nested, struct dxk_more, way);
}

struct dxk_key *dxk_key_find(const struct dxk_engine *e, const struct dxk_space *space,
			     u64 cookie);
struct dxk_key *dxk_key_enter_hash(struct dxk_engine *e, struct dxk_space *space, u64 cookie,
				   struct dxk_stash *stash);
void dxk_key_use(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_space *space, u64 cookie,
		 struct dxk_stash *stash);
void dxk_key_unuse(struct dxk_engine *e, struct dxk_more *more, struct dxk_wakes *wakes);
struct dxk_key *dxk_key_end(struct dxk_more *more);
struct dxk_rqe *dxk_key_next(struct dxk_engine *e, struct dxk_key *key,
			     const struct dxk_member *m, struct dxk_wakes *wakes);
void dxk_key_unhold(struct dxk_engine *e, struct dxk_key *key, struct dxk_wakes *wakes);

void dxk_key_doubt(struct dxk_engine *e, const struct dxk_more *more, struct dxk_wakes *wakes);
void dxk_key_suspect(struct dxk_engine *e, const struct dxk_key *key, struct dxk_wakes *wakes);
void dxk_held_stamp(struct dxk_engine *e, struct dxk_rqe *rqe);
void dxk_key_rank(const struct dxk_engine *e, struct dxk_rqe *rqe, s32 prio);
bool dxk_key_get(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes);

/**
 * dxk_key_take - a request is to have a turn: has it its key?
 * @e: the engine, locked
 * @rqe: POSTED, BUSY or WAITING, in no list; it comes now
 * @wakes: gets what is owed
 *
 * Return: true if it has, or needs none; false: it is to be Held.
 */
static inline bool dxk_key_take(struct dxk_engine *e, struct dxk_rqe *rqe,
				struct dxk_wakes *wakes)
{
	return likely(!rqe->more->key) || dxk_key_get(e, rqe, wakes);
}

void dxk_key_hold(struct dxk_engine *e, struct dxk_rqe *rqe, struct dxk_wakes *wakes);
void dxk_held_leave(struct dxk_more *more);
void dxk_held_defer(struct dxk_more *more);
struct dxk_more *dxk_key_first(struct dxk_key *key);
void dxk_key_give_up(struct dxk_more *more, struct dxk_wakes *wakes);
void dxk_key_lose(struct dxk_engine *e, struct dxk_more *more, struct dxk_wakes *wakes);

/**
 * dxk_key_drop - a request gives its key up, or its place at it
 * @e: the engine, locked
 * @more: of the request; not Held
 * @wakes: gets the wake-up of one that comes back
 *
 * The next one has it when this returns.
 */
static inline void dxk_key_drop(struct dxk_engine *e, struct dxk_more *more,
				struct dxk_wakes *wakes)
{
	if (unlikely(more->key))
		dxk_key_lose(e, more, wakes);
}

void dxk_key_pass(struct dxk_engine *e, struct dxk_key *key, struct dxk_wakes *wakes);
void dxk_key_yield(struct dxk_engine *e, struct dxk_key *key, struct dxk_wakes *wakes);
void dxk_key_review(struct dxk_engine *e, struct dxk_key *key, struct dxk_wakes *wakes);

int dxk_key_refill(struct dxk_member *m, u32 nr);
void dxk_key_stash_free(struct dxk_member *m);
void dxk_keys_destroy(struct dxk_engine *e);

/**
 * dxk_key_reserve - have spare records for what a member is about to do
 * @m: the member, the caller's
 * @nr: how many, 1..%DXK_BATCH_MAX
 *
 * Return: 0 or -ENOMEM.
 */
static inline int dxk_key_reserve(struct dxk_member *m, u32 nr)
{
	return likely(m->keys && m->keys->nr >= nr) ? 0 : dxk_key_refill(m, nr);
}

#endif /* _DXK_ENGINE_KEY_H */
