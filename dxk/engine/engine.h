/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The engine of a context: what requests are, and every move that they make.
 *
 * Locking. There is one lock. Every field of this room has one letter:
 *
 *   C  constant once the object is published
 *   S  written by Start and Stop only, while nobody uses it
 *   L  dxk_engine.lock: what requests are, and all that a move of a request touches
 *   T  private to the thread of that member
 *   A  atomic, or READ_ONCE/WRITE_ONCE; the comment says why that is enough
 *
 * Nothing is taken inside the lock but that of the log; no allocation, no user copy and
 * no sleep happens under it. Wake-ups are collected in struct dxk_wakes and done after
 * unlock.
 *
 * All transitions of all requests happen under the lock. Therefore whatever is
 * answered under it, "none exists" above all, is authoritative (DX-92).
 */
#ifndef _DXK_ENGINE_ENGINE_H
#define _DXK_ENGINE_ENGINE_H

#include "engine/autotune.h"
#include "engine/latency.h"
#include "engine/life.h"
#include "engine/member.h"
#include "engine/os.h"
#include "engine/own.h"
#include "engine/owner.h"
#include "engine/pool.h"
#include "engine/doom.h"
#include "engine/ready.h"
#include "engine/request.h"
#include "engine/share.h"
#include "engine/stats.h"
#include "engine/wait.h"
#include "engine/waiter.h"
#include "uapi/dxk.h"

/* The threads that serve the engine; see dxk_engine.dormant. */
enum dxk_control_id {
	DXK_MONITOR,
	DXK_SCHEDULER,
	DXK_DISPATCHER,
	DXK_CONTROLS,
};

/* In dxk_wakes.kick: the caller continues the work, because thread 700 does not run. */
#define DXK_MYSELF		DXK_CONTROLS
/* There, and for os_kick(): the walker of the run, see life.h. */
#define DXK_WALKER		(DXK_CONTROLS + 1)

/**
 * struct dxk_engine - the engine of a context
 */
struct dxk_engine {
	/** @lock: see above */
	spinlock_t lock;
	/**
	 * @direct: (A) callers take the dispatcher role themselves. Cleared while thread
	 * 700 runs under policy dispatch=thread
	 */
	bool direct;
	/** @state: (L) enum dxk_ctx_state */
	u8 state;
	/** @cancelling: (L) Stop(cancel): what becomes Ready is cancelled, until a Start */
	bool cancelling;
	/**
	 * @stopped: (L) os_now() at the newest Stop: a member that slept in a rejoin by then
	 * is woken, unless it is left asleep, see dxk_is_shut()
	 */
	u64 stopped;
	/** @stalled: (L) the Monitor knows that nobody can run, and looks again without a kick */
	bool stalled;
	/**
	 * @dormant: (L) by enum dxk_control_id: it sleeps without a time limit. Whoever
	 * makes work for it must clear this and kick it
	 */
	bool dormant[DXK_CONTROLS];
	/** @swept: (L) thread 700 runs: it does the work that lock holds leave over */
	bool swept;
	/** @owing: (L) a lock hold has left something over, see dxk_owe() */
	bool owing;
	/** @id: (C) of the context, for tracing */
	u32 id;
	/** @steps: (L) steps that this lock hold has made, if %OS_DEBUG */
	u32 steps;
	/** @nr: (L) live requests by place, see enum dxk_place */
	u32 nr[DXK_PLACES];
	/** @high: (L) high-water marks of @nr */
	u32 high[DXK_PLACES];
	/** @ticket: (L) dispatches so far */
	u64 ticket;
	/** @pool: requests that are free */
	struct dxk_free_pool pool;
	/** @mores: struct dxk_more that are free */
	struct dxk_free_pool mores;
	/** @ready: the Ready Pool */
	struct dxk_ready ready;
	/** @crew: the workers and all other members */
	struct dxk_crew crew;
	/** @owners: owners and the Rejoin Pool */
	struct dxk_owners owners;
	/** @owns: Ready requests by owner; unused in most runs */
	struct dxk_owns owns;
	/** @waits: requests that wait, their names and the time they wait for */
	struct dxk_waits waits;
	/** @purges: owners all of whose requests are being cancelled */
	struct dxk_purges purges;
	/** @shares: (L) how much of the context each user has */
	struct dxk_shares shares;
	/** @stats: (L) counters */
	struct dxk_stats stats;
	/** @inbox: (A) operations for thread 700 */
	struct llist_head inbox;
	/** @taken: (L) those that were taken out and have not run yet, in their order */
	struct llist_node *taken;
	/** @late: (A) see DXK_LATE_TIMES */
	u64 late;
	/** @policy: (S), dynamic fields (L) */
	struct dxk_policy policy;
	/** @run: the run, and how it ends */
	struct dxk_run run;
	/** @stoppers: (L) struct dxk_halt_op that sleep until no request executes */
	struct list_head stoppers;
	/** @services: (L) struct dxk_should_op that sleep until they are to end */
	struct list_head services;
	/** @home: owner cookies of kernel executors and other modules */
	struct dxk_space home;
	/** @shared: owner cookies of all that join with %DXK_JOIN_SHARED */
	struct dxk_space shared;
	/** @bin: (L) files of requests that have ended, for the item that releases them */
	struct dxk_file_ref *bin;
	/** @binning: (L) that item is queued or runs: a pin */
	bool binning;
	/** @spaces: (L) the number of the newest space */
	u32 spaces;
	/** @autotune: (L) the number of workers with the highest throughput */
	struct dxk_autotune autotune;
	/** @latencies: (L) how long requests waited and ran */
	struct dxk_latencies latencies;
};

static inline u32 dxk_live(const struct dxk_engine *e)
{
	return e->nr[DXK_AT_READY] + e->nr[DXK_AT_WORK] + e->nr[DXK_AT_REJOIN] +
	       e->nr[DXK_AT_WAIT];
}

/** dxk_quiet - is no request Ready, waiting or executing? The engine is locked */
static inline bool dxk_quiet(const struct dxk_engine *e)
{
	return !e->nr[DXK_AT_READY] && !e->nr[DXK_AT_WORK] && !e->nr[DXK_AT_WAIT];
}

/** dxk_run_is_over - is there no run? For display, it may be called without the lock */
static inline bool dxk_run_is_over(const struct dxk_engine *e)
{
	return READ_ONCE(e->run.over) == READ_ONCE(e->run.gen);
}

/**
 * dxk_run_welcomes - may a worker join?
 * @e: the engine, locked
 *
 * It may also while the run drains: a worker that died with a request may have been the last one.
 */
static inline bool dxk_run_welcomes(const struct dxk_engine *e)
{
	return !e->run.down &&
	       (e->state == DXK_CTX_RUNNING || e->state == DXK_CTX_STOPPING);
}

static inline bool dxk_cmls(const struct dxk_engine *e)
{
	return e->policy.sched_mode & TPOOL_MODE_CMLS;
}

/**
 * dxk_may_relieve - may others be found, or called for, than idle workers, for what is Ready?
 * @e: the engine, locked
 */
static inline bool dxk_may_relieve(const struct dxk_engine *e)
{
	return e->policy.on_block | e->policy.min_threads;
}

/** dxk_draining - Stop(drain): requests under way are finished */
static inline bool dxk_draining(const struct dxk_engine *e)
{
	return e->state == DXK_CTX_STOPPING && !e->cancelling;
}

/**
 * dxk_is_shut - may the member post no more?
 * @e: the engine, locked
 * @m: the member
 *
 * Stop(drain) shuts out those outside; an executing request may continue its own work until
 * it ends (DX-107). For a sleeper the answer changes only with Stop.
 */
static inline bool dxk_is_shut(const struct dxk_engine *e, const struct dxk_member *m)
{
	return e->state != DXK_CTX_RUNNING && !(dxk_draining(e) && dxk_is_inside(m));
}

/**
 * dxk_closed - will no worker ever run a request of this kind and lane?
 * @e: the engine, locked
 * @kind: of the worker
 * @lane: of the request
 *
 * Return: 0, or the error with which its post is refused; its execution is refused with the
 * same error if the policy has closed the kind or the lane while the request was Ready.
 */
static inline int dxk_closed(const struct dxk_engine *e, enum dxk_kind kind, u32 lane)
{
	if (unlikely(dxk_kind_closed(&e->policy, kind)))
		return -ENODEV;
	return unlikely(dxk_lanes_closed(&e->ready.lanes, lane)) ? -EPERM : 0;
}

/**
 * dxk_has_crew - would a worker take a last turn?
 * @e: the engine, locked
 * @kind: of the worker
 *
 * When the context is closed, nobody waits for a last turn.
 */
static inline bool dxk_has_crew(const struct dxk_engine *e, u32 kind)
{
	return e->crew.workers[kind] && e->state != DXK_CTX_STOPPED;
}

/**
 * dxk_call_control - have a control thread look, if it sleeps without a time limit
 * @e: the engine, locked
 * @who: which
 * @wakes: gets the wake-up
 */
static inline void dxk_call_control(struct dxk_engine *e, enum dxk_control_id who,
				    struct dxk_wakes *wakes)
{
	if (unlikely(e->dormant[who])) {
		e->dormant[who] = false;
		wakes->kick |= BIT(who);
	}
}

/** dxk_step - count a step: the lock hold moves a request, or looks at a sleeper or a list */
static inline void dxk_step(struct dxk_engine *e)
{
	if (OS_DEBUG)
		e->steps++;
}

/** dxk_step_by - dxk_step(), for several at once */
static inline void dxk_step_by(struct dxk_engine *e, u32 nr)
{
	if (OS_DEBUG)
		e->steps += nr;
}

/** dxk_hold_begin - a lock hold that makes moves begins */
static inline void dxk_hold_begin(struct dxk_engine *e)
{
	e->waits.searches = DXK_WAIT_SEARCHES;
	if (OS_DEBUG)
		e->steps = 0;
}

/** dxk_hold_end - the lock hold ends; check that it has kept to its bound */
static inline void dxk_hold_end(const struct dxk_engine *e, const struct dxk_wakes *wakes)
{
	if (OS_DEBUG)
		WARN_ONCE(e->steps + wakes->nr + wakes->nr_members > DXK_HOLD_STEPS,
			  "dxk: a lock hold of %u moves and looks and %u wake-ups\n",
			  e->steps, wakes->nr + wakes->nr_members);
}

/** dxk_owe - the lock hold leaves work over; another one follows */
static inline void dxk_owe(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	e->owing = true;
	wakes->kick |= e->swept ? BIT(DXK_DISPATCHER) : BIT(DXK_MYSELF);
}

/**
 * dxk_afford_or_owe - may the lock hold go on? If not, another one continues
 * @e: the engine, locked
 * @wakes: of the hold
 * @cost: of what is next, see dxk_afford()
 */
static inline bool dxk_afford_or_owe(struct dxk_engine *e, struct dxk_wakes *wakes,
				     u32 cost)
{
	if (likely(dxk_afford(wakes, cost)))
		return true;
	dxk_owe(e, wakes);
	return false;
}

void dxk_engine_init(struct dxk_engine *e);
void dxk_engine_destroy(struct dxk_engine *e);
bool dxk_out_of_work(const struct dxk_engine *e);

#endif /* _DXK_ENGINE_ENGINE_H */
