/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_OWNER_H
#define _DXK_ENGINE_OWNER_H

#include "engine/free.h"
#include "engine/os.h"
#include "engine/request.h"

struct dxk_engine;
struct dxk_member;
struct dxk_helper;
struct dxk_rejoin_op;
struct dxk_wakes;

/*
 * Where a live request counts. DISPATCHED and BUSY are one place: only the
 * worker itself distinguishes them, without the lock.
 */
enum dxk_place {
	DXK_AT_READY,
	DXK_AT_WORK,
	DXK_AT_REJOIN,
	DXK_AT_WAIT,
	DXK_PLACES,
	DXK_NOWHERE = DXK_PLACES,
};

/**
 * struct dxk_space - a set of members whose owner cookies mean the same owners
 *
 * An owner is a cookie in a space. Therefore cookies of different processes do not collide,
 * and a process cannot poll those of another, unless they share a space on purpose.
 */
struct dxk_space {
	/** @id: (C) part of the hash of its owners */
	u32 id;
	/**
	 * @is_private: (C) belongs to one context descriptor, its copies, and the members
	 * made from them; otherwise it is part of the context
	 */
	bool is_private;
	/** @closed: (L) all those are closed: nobody can collect any longer */
	bool closed;
	/** @users: (L) of a private space: descriptors and members */
	u32 users;
	/** @refs: (L) @users and records of owners; the space is freed with the last */
	u32 refs;
	/** @owners: (L) struct dxk_owner of a private space */
	struct list_head owners;
	/** @emptied: (L) owners of a closed space that have no results */
	struct list_head emptied;
	/** @waiting: (L) struct dxk_more of requests of a private space that wait, and not Held */
	struct list_head waiting;
	/** @holds: (L) struct dxk_key that are held back */
	struct list_head holds;
	/** @nr_owners: (L) owners of it that exist */
	u32 nr_owners;
	/**
	 * @rich: (L) struct dxk_owner that have results, the one that has not given any for
	 * longest first
	 */
	struct list_head rich;
	/** @pollers: (L) struct dxk_rejoin_op that sleep for a result of any owner, by arrival */
	struct list_head pollers;
	/** @watchers: (L) members whose poll(2) watches all owners */
	struct list_head watchers;
	/** @waited: (L) in dxk_owners.waited, if there are, or were, @pollers */
	struct list_head waited;
	/** @owed: (L) in dxk_owners.owed_spaces, if some of them are still to be notified */
	struct list_head owed;
};

/* How requests wait for an owner (dxk_owner.joined). */
#define DXK_JOINED_ALL		1	/* until it has nothing to come */
#define DXK_JOINED_RESULT	2	/* or until it has a result */

/**
 * struct dxk_owner - all that lives for one owner cookie
 *
 * All (L). It exists from the first live request to the last. After that nobody sleeps on
 * it, since nothing is left to wait for. Sleepers that are still to be notified of this keep
 * the record, which is no longer in the hash: later posts make another one.
 */
struct dxk_owner {
	/** @hash: in the context's hash of owners */
	struct hlist_node hash;
	/** @space: the space of the cookie; NULL when no request of the owner is live */
	struct dxk_space *space;
	/** @cookie: the owner */
	u64 cookie;
	/** @link: in dxk_space.owners of a private space */
	struct list_head link;
	/**
	 * @nr: live requests by place. REJOIN includes those that a rejoin call is
	 * still copying out: they exist until the caller has them safely
	 */
	u32 nr[DXK_PLACES];
	/** @nr_done: requests in @done, see dxk_owner_add_done() */
	u32 nr_done;
	/** @joined: DXK_JOINED_*: a request waits for it, or has: see @joiners */
	u32 joined;
	/** @done: completed requests, oldest first */
	struct list_head done;
	/**
	 * @pollers: struct dxk_rejoin_op that sleep for a result, in order of arrival
	 */
	struct list_head pollers;
	/**
	 * @joiners: by whether a result ends their wait as well: requests that wait until
	 * nothing of the owner is still to come, see struct dxk_more
	 */
	struct list_head joiners[2];
	/**
	 * @stuck: workers that execute a request of the owner, and sleep for results of some
	 * owner, see dxk_member.stuck
	 */
	struct list_head stuck;
	/**
	 * @own: by kind and lane: number of the oldest entry of a ring of its READY requests in
	 * dxk_owns.own, plus 1; 0: none. See own.h
	 */
	u32 own[DXK_KINDS][DXK_LANES];
	/** @helper: by kind: in a ring of workers that sleep for it, the one to call first */
	struct dxk_helper *helper[DXK_KINDS];
	/** @rich: with results: in dxk_space.rich */
	struct list_head rich;
	/** @watchers: members whose poll(2) watches this owner */
	struct list_head watchers;
	/** @owed: in dxk_owners.owed; empty otherwise */
	struct list_head owed;
	/** @mores: struct dxk_more of its requests that have not ended, but for @doomed */
	struct list_head mores;
	/** @doomed: those at which a purge that was ordered has still to look, see purge.h */
	struct list_head doomed;
	/** @purge: in dxk_purges.owners; empty otherwise */
	struct list_head purge;
	/** @doom: requests with dxk_rqe.seq below this less one are cancelled; 0: none are */
	u64 doom;
	/** @rounds: how often all of them were cancelled, see purge.h */
	u32 rounds;
	/** @toured: the last pass that was through with it, see circle.h */
	u32 toured;
};

/**
 * struct dxk_owners - the owners of a context and its Rejoin Pool
 */
struct dxk_owners {
	/** @bucket: (L) hash by cookie */
	struct hlist_head *bucket;
	/** @bits: (L) log2 of the number of buckets */
	u32 bits;
	/** @seed: (L) keeps a program from choosing cookies that collide */
	u64 seed;
	/** @nr: (L) owners that exist */
	u32 nr;
	/** @recent: (L) the owner of the last post, or NULL: often the next post has the same */
	struct dxk_owner *recent;
	/** @spares: (L) records for the next owners */
	struct dxk_stash spares;
	/** @kept: what is beyond @spares, for members that need some */
	struct dxk_free_pool kept;
	/**
	 * @reserved: (L) Rejoin Pool entries promised to live requests (policy RESERVE)
	 */
	u32 reserved;
	/**
	 * @freed: (L) entries became free, and those that may wait for them have not been
	 * looked at yet, see dxk_serve_freed()
	 */
	bool freed;
	/**
	 * @owed: (L) struct dxk_owner that have changed and have pollers or watchers that
	 * no lock hold has looked at since
	 */
	struct list_head owed;
	/** @nr_owed: (L) how many there are in @owed */
	u32 nr_owed;
	/** @passes: (L) number of completed passes; passes go round @owed */
	u32 passes;
	/**
	 * @pass: (L) the owner whose pollers are being looked at, a few per lock hold: the
	 * first of @owed; or NULL
	 */
	struct dxk_owner *pass;
	/**
	 * @rest: (L) pollers of @pass that are still to be looked at. They came after
	 * those in its list
	 */
	struct list_head rest;
	/** @again: (L) @pass has changed meanwhile: start again from the first one */
	bool again;
	/** @waited: (L) struct dxk_space: Stop looks at the sleepers there */
	struct list_head waited;
	/** @nr_waited: (L) how many there are in @waited */
	u32 nr_waited;
	/** @nr_any: (L) how many, in all spaces, sleep for any owner or watch all */
	u32 nr_any;
	/** @owed_spaces: (L) struct dxk_space in which somebody is still to be notified */
	struct list_head owed_spaces;
	/** @entries: (L) size of the Rejoin Pool */
	u32 entries;
	/**
	 * @blocked: (L) workers that wait for a Rejoin Pool entry (policy
	 * BLOCK_WORKER): struct dxk_next_op in order of arrival
	 */
	struct list_head blocked;
};

static inline u32 dxk_owner_live(const struct dxk_owner *owner)
{
	return owner->nr[DXK_AT_READY] + owner->nr[DXK_AT_WORK] + owner->nr[DXK_AT_REJOIN] +
	       owner->nr[DXK_AT_WAIT];
}

/** dxk_owner_coming - requests of the owner that are still to complete */
static inline u32 dxk_owner_coming(const struct dxk_owner *owner)
{
	return owner->nr[DXK_AT_READY] + owner->nr[DXK_AT_WORK] + owner->nr[DXK_AT_WAIT];
}

/** dxk_owner_has_own - is a request of the kind READY, in a run that has lists of them? */
static inline bool dxk_owner_has_own(const struct dxk_owner *owner, u32 kind)
{
	const u32 *own = owner->own[kind];

	return own[0] | own[1] | own[2] | own[3];
}

/** dxk_owner_add_done - @nr results have been added to dxk_owner.done, or put back */
static inline void dxk_owner_add_done(struct dxk_owner *owner, u32 nr)
{
	if (!owner->nr_done)
		list_add_tail(&owner->rich, &owner->space->rich);
	owner->nr_done += nr;
}

/** dxk_owner_sub_done - @nr results, at least one, have left it */
static inline void dxk_owner_sub_done(struct dxk_owner *owner, u32 nr)
{
	owner->nr_done -= nr;
	if (!owner->nr_done)
		list_del_init(&owner->rich);
}

/*
 * Is it cancelled together with all requests of its owner? If it was begun, struct dxk_more
 * records that instead.
 */
static inline bool dxk_rqe_doomed(const struct dxk_rqe *rqe)
{
	return rqe->seq + 1 < rqe->owner->doom;
}

/* Is there somebody who could collect the request's result? */
static inline bool dxk_rqe_awaited(const struct dxk_rqe *rqe)
{
	return dxk_rqe_rejoinable(rqe) && likely(!rqe->owner->space->closed);
}

/* For the records of owners; under the lock. */
static inline void dxk_space_get(struct dxk_space *space)
{
	space->refs++;
}

void dxk_space_init(struct dxk_space *space, u32 id);
struct dxk_space *dxk_space_new(struct dxk_engine *e);
void dxk_space_join(struct dxk_engine *e, struct dxk_space *space);
void dxk_space_put(struct dxk_engine *e, struct dxk_space *space);
void dxk_space_waited(struct dxk_engine *e, struct dxk_space *space);

void dxk_owners_init(struct dxk_owners *owners);
int dxk_owners_start(struct dxk_engine *e);
void dxk_owners_unstart(struct dxk_engine *e);
void dxk_owners_destroy(struct dxk_owners *owners);
struct dxk_owner *dxk_owner_look_up(const struct dxk_owners *owners,
				    const struct dxk_space *space, u64 cookie);
struct dxk_owner *dxk_owner_make(struct dxk_owners *owners, struct dxk_space *space,
				 u64 cookie, struct dxk_stash *stash);
bool dxk_owner_is_blank(const struct dxk_owner *owner);
void dxk_owner_leave(struct dxk_owners *owners, struct dxk_owner *owner);
void dxk_owner_owe(struct dxk_engine *e, struct dxk_owner *owner);
void dxk_owner_told(struct dxk_owners *owners, struct dxk_owner *owner);
int dxk_owner_stash_refill(struct dxk_owners *owners, struct dxk_stash *stash, u32 nr);
void dxk_owner_stash_free(struct dxk_stash *stash);

/** dxk_owner_find - the record of an owner, or NULL when no request of it is live */
static inline struct dxk_owner *dxk_owner_find(const struct dxk_owners *owners,
					       const struct dxk_space *space, u64 cookie)
{
	struct dxk_owner *recent = owners->recent;

	if (likely(recent && recent->cookie == cookie && recent->space == space))
		return recent;
	return dxk_owner_look_up(owners, space, cookie);
}

/**
 * dxk_owner_enter - the record of an owner, made if there is none
 * @owners: the context's owners
 * @space: the space of the cookie
 * @cookie: the owner
 * @stash: has a record to use if none has become free, see dxk_owner_stash_fill()
 */
static inline struct dxk_owner *dxk_owner_enter(struct dxk_owners *owners,
						struct dxk_space *space, u64 cookie,
						struct dxk_stash *stash)
{
	struct dxk_owner *owner = dxk_owner_find(owners, space, cookie);

	if (unlikely(!owner))
		owner = dxk_owner_make(owners, space, cookie, stash);
	owners->recent = owner;
	return owner;
}

/** dxk_owner_stash_fill - provide @nr spare records, so that posts need no memory */
static inline int dxk_owner_stash_fill(struct dxk_owners *owners, struct dxk_stash *stash, u32 nr)
{
	return likely(stash->nr >= nr) ? 0 : dxk_owner_stash_refill(owners, stash, nr);
}

int dxk_owner_init(void);
void dxk_owner_exit(void);

void dxk_owner_doubt_awaited(struct dxk_engine *e, const struct dxk_owner *owner,
			     struct dxk_wakes *wakes);

/**
 * dxk_owner_doubt - fewer requests of an owner than before will end by themselves
 * @e: the engine, locked
 * @owner: one of its requests has vanished or is Held, or the result of one has been collected
 * @wakes: gets the Monitor's wake-up
 *
 * If the remaining requests wait for somebody who waits for results of the owner, that one now
 * waits for itself. As no new wait has closed this circle, the Monitor looks for it.
 */
static inline void dxk_owner_doubt(struct dxk_engine *e, const struct dxk_owner *owner,
				   struct dxk_wakes *wakes)
{
	if (unlikely(!list_empty(&owner->pollers) || !list_empty(&owner->joiners[true])))
		dxk_owner_doubt_awaited(e, owner, wakes);
}

#endif /* _DXK_ENGINE_OWNER_H */
