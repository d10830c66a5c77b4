/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_MEMBER_H
#define _DXK_ENGINE_MEMBER_H

#include "engine/lanes.h"
#include "engine/os.h"
#include "engine/request.h"
#include "engine/waiter.h"

struct dxk_engine;
struct dxk_owner;
struct dxk_should_op;
struct dxk_space;

/* Value of dxk_member.home before it is attached: the home with the fewest workers */
#define DXK_HOME_DEALT		255

/* Thread ids (DX-22, DX-23). */
#define DXK_ID_MAIN		0
#define DXK_ID_WORKER_MAX	499
#define DXK_ID_MONITOR		500
#define DXK_ID_SCHEDULER	600
#define DXK_ID_DISPATCHER	700
#define DXK_ID_CLIENT		1000
#define DXK_ID_MAX		65535

enum dxk_role {
	DXK_ROLE_CONTROL,
	DXK_ROLE_CLIENT,
	DXK_ROLE_WORKER,
};

enum dxk_member_state {
	DXK_M_VACANT,		/* nobody has this id */
	DXK_M_RUNNING,		/* a client or control thread, outside of dxk */
	DXK_M_AWAY,		/* a worker that neither has work nor asks for it */
	DXK_M_AVAILABLE,	/* a worker that sleeps for work */
	DXK_M_BUSY,		/* a worker that executes */
	DXK_M_POSTING,		/* sleeps for room in the Ready Pool */
	DXK_M_REJOINING,	/* sleeps for a result */
	DXK_M_COMPLETING,	/* sleeps for room in the Rejoin Pool */
	DXK_M_LOGGING,		/* sleeps for room in the Log Pool */
	DXK_M_LISTENING,	/* sleeps for ticks and commands */
	DXK_M_ENTERING,		/* sleeps until its request has its key again */
	DXK_M_CONDITION,		/* sleeps until its request is notified */
	DXK_M_BLOCKED,		/* executes, and may sleep elsewhere: between block marks */
	DXK_M_STATES,
};

/**
 * enum dxk_stuck - what an executing worker sleeps for, see cycle.h
 * @DXK_STUCK_NOT: nothing, or something that happens unaided
 * @DXK_STUCK_OWNER: results of the owner dxk_member.awaits
 * @DXK_STUCK_KEY: the key of dxk_member.asks
 */
enum dxk_stuck {
	DXK_STUCK_NOT,
	DXK_STUCK_OWNER,
	DXK_STUCK_KEY,
};

/**
 * struct dxk_member - one thread of the Thread Pool (DX-12), as the engine knows it
 *
 * The thread itself belongs to the world, see os.h.
 */
struct dxk_member {
	/** @engine: (C) */
	struct dxk_engine *engine;
	/** @space: (C) once attached: gives its owner cookies their meaning */
	struct dxk_space *space;
	/** @id: (C) thread id */
	u32 id;
	/** @role: (C) once attached: enum dxk_role */
	u8 role;
	/** @kind: (C) once attached: for workers */
	u8 kind;
	/**
	 * @state: enum dxk_member_state, written by the thread itself or under the lock;
	 * read by anybody for display
	 */
	u8 state;
	/** @share: (C) the share of the user for whom its posts count, or 0 */
	u8 share;
	/** @spare: (C) once attached: a worker that takes the place of sleeping ones */
	bool spare;
	/** @told: (L) what it executes is cancelled or has expired, see dxk_is_to_end() */
	bool told;
	/** @leaving: (L) takes no more work: the crew shrinks */
	bool leaving;
	/** @coming: (L) a worker that has not asked for work yet */
	bool coming;
	/**
	 * @home: (C) once attached: for a worker, the home whose requests it executes, from
	 * 1 up; 0: none
	 */
	u8 home;
	/** @marked: (L) it counts as asleep though it may sleep in no call, see block.h */
	bool marked;
	/** @left_key: (L) while @blocks: that request has left its key for that time */
	bool left_key;
	/** @attached: (L) counts as a member of the crew */
	bool attached;
	/**
	 * @engaged: (L) a client that has posted or collected. Until then work depends on
	 * it no more than on any thread outside of dxk
	 */
	bool engaged;
	/** @readable: (L) poll(2) reports readable: what was watched has changed */
	bool readable;
	/**
	 * @has_closed_handles: (L) to set while it executes: it has private files whose
	 * handles are closed, see services/handle.c. The worker clears it when it
	 * executes nothing
	 */
	bool has_closed_handles;
	/**
	 * @since: os_clock() when it was last given work, or fell idle; written under the
	 * lock, read by anybody
	 */
	unsigned long since;
	/** @held: (L) requests that it was given and has neither completed nor returned */
	u32 held;
	/** @extra: (L) requests that it has as a helper or a spare */
	u32 extra;
	/**
	 * @called: (L) DISPATCHED requests that it was called for as a helper; it takes
	 * them with its next turn
	 */
	struct list_head called;
	/** @work: (L) the work it was given last; its age_ns is not kept */
	struct dxk_running work;
	/** @work_space: (L) the number of the space of its owner */
	u32 work_space;
	/** @awaits: (L) what it sleeps for: the owner in a rejoin, the lane in a post */
	u64 awaits;
	/** @stuck: (L) enum dxk_stuck */
	u8 stuck;
	/** @timed: (L) %DXK_STUCK_OWNER: a time limit ends the sleep as well */
	bool timed;
	/** @seen: (L) the search for circles is examining what it sleeps for */
	bool seen;
	/** @doubt: (L) likewise: see circle.h */
	u32 doubt;
	/** @min: (L) %DXK_STUCK_OWNER: how many results it sleeps for */
	u32 min;
	/** @own: (L) %DXK_STUCK_OWNER: requests of that owner that it executes itself */
	u32 own;
	/** @outer: (L) requests that other workers execute within one of its own, see nest.h */
	u32 outer;
	/** @asks: (L) %DXK_STUCK_KEY: its request */
	const struct dxk_more *asks;
	/**
	 * @stuck_link: (L) %DXK_STUCK_OWNER: in dxk_owner.stuck of what it executes; empty
	 * otherwise
	 */
	struct list_head stuck_link;
	/** @should: (L) its sleep until it is to end, or NULL */
	struct dxk_should_op *should;
	/** @blocks: (L) the request that it executes between block marks, or NULL */
	struct dxk_rqe *blocks;
	/** @work_ticket: (L) the ticket of that */
	u64 work_ticket;
	/** @work_seq: (L) its dxk_rqe.seq */
	u64 work_seq;
	/** @busy: (T) requests that it executes: BUSY */
	struct list_head busy;
	/**
	 * @executed: requests that it has executed. They are counted in the lock hold that
	 * completes the request. Therefore the count is constant while the worker executes,
	 * unless it helps meanwhile
	 */
	u64 executed;
	/** @began: (L) @executed when it was given the first of the requests that it holds */
	u64 began;
	/** @rqes: (T) freed requests for its next posts */
	struct dxk_stash rqes;
	/**
	 * @owners: spare owner records for its next posts: (T), but (L) while it posts
	 * or rejoins
	 */
	struct dxk_stash owners;
	/** @keys: records for the keys of its next posts; likewise. NULL until the first */
	struct dxk_stash *keys;
	/** @mores: (T) free struct dxk_more for its next posts. NULL until the first */
	struct dxk_stash *mores;
	/** @fellows: (L) of a worker, once attached: in dxk_crew.members, but see dxk_purges */
	struct list_head fellows;
	/** @watches_all: (L) poll(2) watches all owners of its space */
	bool watches_all;
	/** @watch: (L) in dxk_owner.watchers, or dxk_space.watchers */
	struct list_head watch;
	/** @watching: (L) the owner that poll(2) watches, or NULL */
	struct dxk_owner *watching;
	/** @refused: (L) 0: poll(2) reports writable; 1 and up: not, for lack of that room */
	u16 refused;
	/** @asks_room: (L) it was asked for that, and may be again */
	bool asks_room;
	/** @room: (L) in dxk_rooms.watchers, or empty */
	struct list_head room;
};

void dxk_member_init(struct dxk_member *m, struct dxk_engine *e, u32 id);
void dxk_member_free(struct dxk_member *m);

dxk_op_fn dxk_attach_run;

void dxk_watch(struct dxk_member *m, struct dxk_owner *owner);
void dxk_watch_all(struct dxk_member *m);
void dxk_unwatch(struct dxk_member *m);
void dxk_member_forget(struct dxk_engine *e, struct dxk_member *m);
const char *dxk_member_state_name(u8 state);

static inline void dxk_member_set_state(struct dxk_member *m, u8 state)
{
	WRITE_ONCE(m->state, state);
}

static inline u8 dxk_member_state(const struct dxk_member *m)
{
	return READ_ONCE(m->state);
}

/** dxk_unstick - a worker no longer sleeps for what dxk_member.stuck names */
static inline void dxk_unstick(struct dxk_member *m)
{
	m->stuck = DXK_STUCK_NOT;
	list_del_init(&m->stuck_link);
}

/**
 * dxk_is_inside - does the member execute a request of its context?
 * @m: the member; its engine is locked
 *
 * This includes helpers and spares. It holds from the dispatch to the lock hold that
 * completes or returns the request. That hold belongs to a call of the same thread, or it
 * finds this thread dead. Therefore the answer does not change while the member sleeps in
 * another call: a helper that is called no longer sleeps.
 */
static inline bool dxk_is_inside(const struct dxk_member *m)
{
	return m->role == DXK_ROLE_WORKER && m->held;
}

/* A worker between two calls: does it have work? */
static inline u8 dxk_member_home_state(const struct dxk_member *m)
{
	if (m->role != DXK_ROLE_WORKER)
		return DXK_M_RUNNING;
	if (unlikely(m->blocks))
		return DXK_M_BLOCKED;
	return list_empty(&m->busy) ? DXK_M_AWAY : DXK_M_BUSY;
}

/* --- the crew -------------------------------------------------------------- */

/**
 * struct dxk_crew - the workers and all other members
 */
struct dxk_crew {
	/**
	 * @idle: (L) by kind: struct dxk_next_op of workers that sleep for work, the
	 * last one to fall idle first: its cache is the warmest
	 */
	struct list_head idle[DXK_KINDS];
	/** @nr_idle: (L) by kind: how many are in @idle */
	u32 nr_idle[DXK_KINDS];
	/**
	 * @workers: (L) by kind: workers that count, i.e. attached, not leaving, no
	 * spares
	 */
	u32 workers[DXK_KINDS];
	/** @coming: (L) by kind: of these, how many have not asked for work yet */
	u32 coming[DXK_KINDS];
	/** @present: (L) workers of both kinds, leaving ones and spares included */
	u32 present;
	/**
	 * @asleep: (L) by kind: of these, how many sleep in a post, a rejoin or a
	 * completion, or are marked
	 */
	u32 asleep[DXK_KINDS];
	/** @marked: (L) of these, how many are marked, of both kinds */
	u32 marked;
	/** @dozing: (L) of the marked ones, how many sleep in a call as well */
	u32 dozing;
	/**
	 * @resting: (L) workers that sleep in another call until somebody outside wants
	 * something: a service until Stop, a command handler
	 */
	u32 resting;
	/**
	 * @helpers: (L) by kind: struct dxk_helper of sleeping workers that help with anything,
	 * the last one first
	 */
	struct list_head helpers[DXK_KINDS];
	/** @spares: (L) by kind: spare workers */
	u32 spares[DXK_KINDS];
	/** @parked: (L) by kind: struct dxk_next_op of spares that have no work */
	struct list_head parked[DXK_KINDS];
	/** @nr_parked: (L) by kind: how many are in @parked */
	u32 nr_parked[DXK_KINDS];
	/** @spares_coming: (L) by kind: spares that have not asked for work yet */
	u32 spares_coming[DXK_KINDS];
	/** @askers: (L) by kind: struct dxk_key_op that sleep until a spare is parked */
	struct list_head askers[DXK_KINDS];
	/** @nr_askers: (L) by kind: how many are in @askers */
	u32 nr_askers[DXK_KINDS];
	/**
	 * @lanes_below: (L) for %PXR_LANE_CHILD, see dxk_lane_below(); also read without the
	 * lock
	 */
	u32 lanes_below;
	/** @extra: (L) by kind: requests that helpers and spares have */
	u32 extra[DXK_KINDS];
	/** @managers: (L) struct dxk_crew_op that sleep until a thread is needed */
	struct list_head managers;
	/** @managed: (L) one has asked in this run how many are needed, and may come back */
	bool managed;
	/** @members: (L) attached workers, but see struct dxk_purges */
	struct list_head members;
	/** @promised: (L) one was notified that more are needed, and has not come back */
	bool promised;
	/** @clients: (L) members that are not workers, once they are engaged */
	u32 clients;
	/** @clients_asleep: (L) of these, how many sleep in a post or a rejoin */
	u32 clients_asleep;
	/** @clients_resting: (L) of @clients, how many sleep as in @resting */
	u32 clients_resting;
	/** @lanes: (L) by kind: CMLS over these workers */
	struct dxk_lanes lanes[DXK_KINDS];
	/**
	 * @most: (L) current maximum of workers of each kind, see autotune.h; %U32_MAX: the
	 * policy alone decides. Also read by the Monitor, which writes it
	 */
	u32 most;
	/** @lulls: (L) by kind: how often a worker has found nothing to do */
	u32 lulls[DXK_KINDS];
};

/* Where a member counts while it sleeps in a post, a rejoin or a completion. */
static inline u32 *dxk_crew_sleepers(struct dxk_crew *crew, const struct dxk_member *m)
{
	if (m->role != DXK_ROLE_WORKER)
		return &crew->clients_asleep;
	return unlikely(m->marked) ? &crew->dozing : &crew->asleep[m->kind];
}

/* Where a member counts while it rests, or NULL. */
static inline u32 *dxk_crew_resters(struct dxk_crew *crew, const struct dxk_member *m)
{
	if (m->role == DXK_ROLE_WORKER)
		return &crew->resting;
	return m->engaged ? &crew->clients_resting : NULL;
}

/** dxk_crew_engage - a client posts or collects */
static inline void dxk_crew_engage(struct dxk_crew *crew, struct dxk_member *m)
{
	if (likely(m->engaged || m->role == DXK_ROLE_WORKER || !m->attached))
		return;
	m->engaged = true;
	crew->clients++;
}

/** dxk_unmark - count a worker as awake again, which sleeps in no call; see block.h */
static inline void dxk_unmark(struct dxk_crew *crew, struct dxk_member *m)
{
	m->marked = false;
	m->blocks = NULL;
	crew->asleep[m->kind]--;
	crew->marked--;
}

/** dxk_mark_over - end a worker's marks with its turn */
static inline void dxk_mark_over(struct dxk_crew *crew, struct dxk_member *m)
{
	if (unlikely(m->marked))
		dxk_unmark(crew, m);
}

/** dxk_crew_has_come - a worker asks for work, or will never do so */
static inline void dxk_crew_has_come(struct dxk_crew *crew, struct dxk_member *m)
{
	if (likely(!m->coming))
		return;
	m->coming = false;
	(m->spare ? crew->spares_coming : crew->coming)[m->kind]--;
}

/** dxk_crew_places - maximum number of workers of a kind */
static inline u32 dxk_crew_places(const struct dxk_policy *policy, u32 kind)
{
	return kind == DXK_KERNEL ? policy->kernel_threads :
				    policy->max_threads - policy->kernel_threads;
}

/** dxk_crew_least - number of workers that the crew begins with, and keeps (AG-32) */
static inline u32 dxk_crew_least(const struct dxk_policy *policy, u32 kind)
{
	u32 places = dxk_crew_places(policy, kind);

	return policy->min_threads ? min(policy->min_threads, places) : places;
}

/**
 * dxk_crew_most - current maximum number of workers of a kind
 *
 * User workers can be replaced only where a manager is asked for them.
 */
static inline u32 dxk_crew_most(const struct dxk_crew *crew, const struct dxk_policy *policy,
				u32 kind)
{
	u32 places = dxk_crew_places(policy, kind);

	if (kind == DXK_USER && !READ_ONCE(crew->managed))
		return places;
	return min(places, max(dxk_crew_least(policy, kind), READ_ONCE(crew->most)));
}

/** dxk_is_tuned - does the Monitor search for the crew size with the highest throughput? */
static inline bool dxk_is_tuned(const struct dxk_policy *policy)
{
	return policy->autotune && policy->min_threads;
}

/** dxk_sleepers_are_seen - does the Monitor look for workers that sleep outside of dxk? */
static inline bool dxk_sleepers_are_seen(const struct dxk_policy *policy)
{
	return policy->spare_after_ms && policy->on_block == DXK_ON_BLOCK_SPARE;
}

/** dxk_spares_least - spares of a kind that the crew keeps, as far as max_spares permits */
static inline u32 dxk_spares_least(const struct dxk_policy *policy, u32 kind)
{
	return dxk_crew_places(policy, kind) ? policy->min_spares : 0;
}

static inline u32 dxk_crew_asleep(const struct dxk_crew *crew)
{
	return crew->asleep[DXK_USER] + crew->asleep[DXK_KERNEL];
}

/** dxk_crew_stuck - of these, those that sleep in a call; a marked one resumes unaided */
static inline u32 dxk_crew_stuck(const struct dxk_crew *crew)
{
	return dxk_crew_asleep(crew) - crew->marked + crew->dozing;
}

static inline u32 dxk_crew_idle(const struct dxk_crew *crew)
{
	return crew->nr_idle[DXK_USER] + crew->nr_idle[DXK_KERNEL];
}

/**
 * dxk_crew_awake - workers that execute a request or are on their way to the next
 * @crew: of a locked context
 *
 * While none is awake, the context makes no progress without outside help.
 */
static inline u32 dxk_crew_awake(const struct dxk_crew *crew)
{
	return crew->present - dxk_crew_idle(crew) -
	       crew->nr_parked[DXK_USER] - crew->nr_parked[DXK_KERNEL] -
	       dxk_crew_stuck(crew) - crew->resting;
}

void dxk_crew_init(struct dxk_crew *crew);
void dxk_crew_set_lanes(struct dxk_engine *e);
void dxk_crew_untune(struct dxk_engine *e);
void dxk_crew_set_policy(struct dxk_engine *e, const struct dxk_policy *policy);
bool dxk_crew_all_idle(const struct dxk_engine *e);

#endif /* _DXK_ENGINE_MEMBER_H */
