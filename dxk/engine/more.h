/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The optional part of a request: a file, a name, a key, a time to expire, a wait. It is made
 * outside of the lock, with the post or by the first turn that ends with a wait, and is freed
 * with the request. A request that uses none of it costs one pointer.
 */
#ifndef _DXK_ENGINE_MORE_H
#define _DXK_ENGINE_MORE_H

#include "engine/fire.h"
#include "engine/os.h"
#include "engine/request.h"
#include "uapi/dxk.h"

struct dxk_key;
struct dxk_key_op;
struct dxk_free_pool;

/**
 * enum dxk_at_key - how a request relates to its key, see key.h
 * @DXK_KEY_OUT: not at all: it waits for something else, or has left the key
 * @DXK_KEY_HELD: WAITING: it is behind others
 * @DXK_KEY_HAS: READY, DISPATCHED, BUSY: it has it
 * @DXK_KEY_NESTED: the same: it runs within the one that has it
 * @DXK_KEY_WAITS: BUSY: it has left it until it is notified
 * @DXK_KEY_BACK: BUSY: it has left it, and is to have it again
 */
enum dxk_at_key {
	DXK_KEY_OUT,
	DXK_KEY_HELD,
	DXK_KEY_HAS,
	DXK_KEY_NESTED,
	DXK_KEY_WAITS,
	DXK_KEY_BACK,
};

/**
 * struct dxk_more - the rest of a request
 *
 * Fields without a letter belong to whoever holds the request, as in struct dxk_rqe.
 */
struct dxk_more {
	/** @rqe: (C) the request */
	struct dxk_rqe *rqe;
	/** @file: of %PXR_FD, until the request has ended; or NULL */
	struct dxk_file_ref *file;
	/**
	 * @watch: the file that it waits for, or has waited for, or NULL. It belongs to the
	 * holder of the request, but (L) while the request is READY or WAITING
	 */
	struct dxk_watch *watch;
	/** @wait: how it is to wait, or has waited. Not valid if the turn was refused */
	struct dxk_wait wait;
	/** @state: dxk_wait.state of its last wait */
	u64 state;
	/**
	 * @data: if @swaps, of a request that may have to be run again: the data that its
	 * turn leaves to the next one, which replaces dxk_rqe.data when the wait begins.
	 * Otherwise the content is of no use, or this is NULL
	 */
	void *data;
	/** @name: the name by which others wake and cancel it, if @named */
	u64 name;
	/** @expire: (L) once taken: when it is to end, of CLOCK_MONOTONIC, or %DXK_FOREVER */
	u64 expire;
	/** @at: (L) when the clock is to look at it, or %DXK_FOREVER: then it is in no tree */
	u64 at;
	/** @alarm: (L) in dxk_waits.alarms, by @at */
	struct rb_node alarm;
	/** @by_name: (L) in the hash of names, from READY or WAITING until it ends */
	struct hlist_node by_name;
	union {
		struct {
			/** @kin: (L) WAITING, not Held: in dxk_space.waiting of a private space */
			struct list_head kin;
			/**
			 * @joiner: (L) WAITING, not Held: in dxk_owner.joiners, or in
			 * dxk_waits.joined or .eager: what it waits for has happened;
			 * @ripe: in dxk_ready.ripe
			 */
			struct list_head joiner;
		};
		/** @order: (L) Held and @treed: in dxk_key.tree */
		struct rb_node order;
		/**
		 * @way: (L) by @at_key: in dxk_key.queue, .nested, .waiters or .back
		 */
		struct list_head way;
	};
	/** @key: (L) from READY or WAITING until it ends: its key, or NULL */
	struct dxk_key *key;
	/** @rank: (L) Held, or with its key: its place in the order of those of its key */
	s64 rank;
	/** @arrival: (L) with @rank; %DXK_KEY_WAITS: since when; @ripe: in which order */
	u64 arrival;
	/** @key_call: (L) the call of its worker that sleeps until it has the key, or NULL */
	struct dxk_key_op *key_call;
	/** @outer: (L) %DXK_KEY_NESTED: whose request it is nested in, if another worker's */
	struct dxk_member *outer;
	/** @sibling: (L) from READY or WAITING until it ends: in dxk_owner.mores or .doomed */
	struct list_head sibling;
	/** @worker: (L) DISPATCHED, BUSY: the member that has it */
	struct dxk_member *worker;
	/** @since: (L) WAITING: os_clock() when it began to wait */
	unsigned long since;
	/** @heard: (L) WAITING: when something was last heard of it, see age.h */
	unsigned long heard;
	/** @doubt: (L) WAITING: see circle.h */
	u32 doubt;
	/** @events: with %DXK_WAKE_FILE: what has happened to the file */
	u32 events;
	/** @turn: turns that ended with a wait */
	u32 turn;
	/** @wake: enum dxk_wake_reason: the reason for this turn */
	u8 wake;
	/** @begun: a turn of it has ended with a wait. @turn shows it too, until it overflows */
	bool begun;
	/** @named: it has a name */
	bool named;
	/** @parks: BUSY: its turn ends with @wait, not with a status */
	bool parks;
	/** @swaps: BUSY: see @data */
	bool swaps;
	/** @latched: (L) it has been called, and no wait has consumed the call yet */
	bool latched;
	/** @cancelled: (L) it was begun, and is to end: only a masked wait still delays it */
	bool cancelled;
	/** @doomed: (L) it is cancelled with all requests of its owner: see dxk_redo() */
	bool doomed;
	/** @expired: (L) its time is up: its next wait, unless masked, is over at once */
	bool expired;
	/** @ripe: (L) WAITING: for room in the Ready Pool only; @wake is known */
	bool ripe;
	/** @keyed: it is posted with the key dxk_wait.key of @wait; @key has it from then on */
	bool keyed;
	/** @behind: (L) POSTED: its key is not free, so it needs no room in the Ready Pool */
	bool behind;
	/** @stands: (L) POSTED: it had only room to wait for, and has been queued for it since */
	bool stands;
	/** @at_key: (L) enum dxk_at_key */
	u8 at_key;
	/** @reentry: (C) enum dxk_reentry */
	u8 reentry;
	/** @treed: (L) Held: see @order */
	bool treed;
	/** @home: (C) the home whose workers execute it, from 1 up, or 0 */
	u8 home;
	/** @away: (L) it left its key in a call that a signal ended before it had the key again */
	bool away;
	/** @seen: (L) the search for circles is examining what it waits for */
	bool seen;
};

/** dxk_wait_is_for_owner_only - can only the owner end the wait? */
static inline bool dxk_wait_is_for_owner_only(const struct dxk_more *more)
{
	return !(more->wait.wait & (DXK_WAIT_TIME | DXK_WAIT_CALL | DXK_WAIT_FILE)) &&
	       more->expire == DXK_FOREVER;
}

/** dxk_more_unlinked - a request has left the order of its key */
static inline void dxk_more_unlinked(struct dxk_more *more)
{
	INIT_LIST_HEAD(&more->kin);
	INIT_LIST_HEAD(&more->joiner);
}

/**
 * dxk_more_tell - change the reason of a request's coming turn
 * @more: of the request; its engine is locked
 * @reason: the new reason
 *
 * If the old reason was a call, that call is latched: the next wait for a call consumes it.
 */
static inline void dxk_more_tell(struct dxk_more *more, u8 reason)
{
	more->latched |= more->wake == DXK_WAKE_CALL;
	more->wake = reason;
}

/**
 * dxk_rqe_begun - has the request been given to a worker before, so that it may have to clean
 * up? A request without a struct dxk_more has not
 */
static inline bool dxk_rqe_begun(const struct dxk_rqe *rqe)
{
	return rqe->more && (rqe->attempts || rqe->more->begun);
}

/** dxk_rqe_parked - has a turn of it ended with a wait? */
static inline bool dxk_rqe_parked(const struct dxk_rqe *rqe)
{
	return rqe->more && rqe->more->begun;
}

/** dxk_end_is_usual - does the end of the request involve nothing but its result? */
static inline bool dxk_end_is_usual(const struct dxk_rqe *rqe)
{
	return !(rqe->posted | rqe->extra) && !rqe->more;
}

/** dxk_rqe_file - the file that the request hands over, or NULL */
static inline struct file *dxk_rqe_file(const struct dxk_rqe *rqe)
{
	return rqe->more && rqe->more->file ? rqe->more->file->file : NULL;
}

/** dxk_rqe_has_file - is there a file to release? */
static inline bool dxk_rqe_has_file(const struct dxk_rqe *rqe)
{
	return rqe->more && (rqe->more->file || rqe->more->watch);
}

struct dxk_more *dxk_more_of(struct dxk_member *m, struct dxk_rqe *rqe);
bool dxk_more_join(struct dxk_more *more);
void *dxk_more_data(struct dxk_rqe *rqe, u32 len);
void dxk_more_free(struct dxk_member *m, struct dxk_rqe *rqe);

void dxk_more_pool_init(struct dxk_free_pool *pool);
void dxk_more_stash_free(struct dxk_member *m);

int dxk_keys_fill(struct dxk_stash *stash, u32 nr);
void dxk_keys_free(struct dxk_stash *stash);
void dxk_key_push(struct dxk_stash *stash, struct dxk_key *key);

int dxk_more_init(void);
void dxk_more_exit(void);

#endif /* _DXK_ENGINE_MORE_H */
