/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The context: one runtime with its policy, pools, control threads and crew.
 *
 * Locking. Every field has one letter:
 *
 *   C  constant once the object is published
 *   S  written by Start and Stop only, while nobody uses it
 *   N  dxk_sessions_lock: which contexts can be joined, see session.c
 *   M  ctx->mutex: what control calls and the Monitor change
 *   H  ctx->handles.lock: the Handle Table
 *   L  ctx->lock: what requests are, and all that a move of a request touches
 *   T  private to the thread of that member
 *   A  atomic, or READ_ONCE/WRITE_ONCE; the comment says why that is enough
 *
 * Order: dxk_sessions_lock, ctx->mutex, ctx->handles.lock, ctx->lock. Nothing is
 * taken inside ctx->lock; no allocation, no user copy and no sleep happens under it.
 * Wake-ups are collected in struct dxk_wakes and done after unlock. The log has locks
 * of its own, see log.h: ctx->mutex, then log->drain; log->lock inside of whatever its
 * caller holds.
 *
 * All transitions of all requests happen under ctx->lock. Therefore whatever is
 * answered under it, "none exists" above all, is authoritative (DX-92).
 */
#ifndef _DXK_RUNTIME_CONTEXT_H
#define _DXK_RUNTIME_CONTEXT_H

#include <linux/completion.h>
#include <linux/kobject.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "engine/member.h"
#include "engine/owner.h"
#include "engine/ready.h"
#include "engine/request.h"
#include "engine/stall.h"
#include "engine/stats.h"
#include "engine/waiter.h"
#include "runtime/control.h"
#include "runtime/identity.h"
#include "services/command.h"
#include "services/handle.h"
#include "services/log.h"
#include "services/sample.h"
#include "uapi/dxk.h"

enum dxk_ctx_state {
	DXK_CTX_NEW,
	DXK_CTX_STARTING,
	DXK_CTX_RUNNING,
	DXK_CTX_STOPPING,
	DXK_CTX_STOPPED,
};

/**
 * struct dxk_ctx - a context
 * @lock: see above
 * @direct: (A) callers take the dispatcher role themselves. Cleared while thread
 *	700 runs under policy dispatch=thread
 * @state: (L) enum dxk_ctx_state
 * @cancelling: (L) Stop(cancel): what becomes Ready is cancelled
 * @nr: (L) live requests by place, see enum dxk_place
 * @high: (L) high-water marks of @nr
 * @ticket: (L) dispatches so far
 * @ready: the Ready Pool
 * @crew: the Thread Pool
 * @owners: owners and the Rejoin Pool
 * @stats: (L) counters
 * @inbox: (A) operations for thread 700
 * @policy: (S), dynamic fields (L)
 * @mutex: see above
 * @next_policy: (M) what the Monitor's next review puts into force
 * @policy_changed: (M) @next_policy differs from @policy
 * @crew_wanted: (M) Start asks the Monitor for the workers
 * @crew_err: (M) result of the Monitor's start of the workers
 * @crew_up: the Monitor has started the workers, or failed
 * @monitor: thread 500
 * @scheduler: thread 600
 * @dispatcher: thread 700
 * @stoppers: (L) struct dxk_stop_op that sleep until no request executes
 * @services: (L) struct dxk_should_op that sleep until they are to end
 * @stall: the Monitor's watch for stalls
 * @instrument: samples and latencies
 * @log: the Log Pool
 * @handles: the Handle Table
 * @commands: the command handler and what waits for it
 * @who: (C) name, owner and permissions
 * @home: owner cookies of kernel executors and other modules
 * @shared: owner cookies of all that join with %DXK_JOIN_SHARED
 * @spaces: (L) the number of the newest space
 * @joinable: (N) in the list of contexts
 * @descriptors: (N) open context descriptors; read by anybody
 * @id: (C) name below /sys/kernel/dxk
 * @closed: (M) the context descriptor is gone
 * @kobj: holds the object; members hold it through their parent directory
 */
struct dxk_ctx {
	spinlock_t lock;
	bool direct;
	u8 state;
	bool cancelling;
	u32 nr[DXK_PLACES];
	u32 high[DXK_PLACES];
	u64 ticket;
	struct dxk_ready ready;
	struct dxk_crew crew;
	struct dxk_owners owners;
	struct dxk_stats stats;
	struct llist_head inbox;
	struct dxk_policy policy;

	struct mutex mutex;
	struct dxk_policy next_policy;
	bool policy_changed;
	bool crew_wanted;
	int crew_err;
	struct completion crew_up;
	struct dxk_thread monitor;
	struct dxk_thread scheduler;
	struct dxk_thread dispatcher;
	struct list_head stoppers;
	struct list_head services;
	struct dxk_stall stall;
	struct dxk_instrument instrument;
	struct dxk_log log;
	struct dxk_handles handles;
	struct dxk_commands commands;
	struct dxk_identity who;
	struct dxk_space home;
	struct dxk_space shared;
	u32 spaces;
	struct list_head joinable;
	u32 descriptors;
	u32 id;
	bool closed;
	struct kobject kobj;
};

static inline u32 dxk_ctx_live(const struct dxk_ctx *ctx)
{
	return ctx->nr[DXK_AT_READY] + ctx->nr[DXK_AT_WORK] + ctx->nr[DXK_AT_REJOIN];
}

static inline bool dxk_ctx_cmls(const struct dxk_ctx *ctx)
{
	return ctx->policy.sched_mode & TPOOL_MODE_CMLS;
}

struct dxk_ctx *dxk_ctx_make(const struct dxk_identity *who);
int dxk_ctx_wind_down(struct dxk_ctx *ctx, enum dxk_stop_mode mode, u64 deadline);

int dxk_ctx_init(struct kobject *parent);
void dxk_ctx_exit(void);

#endif /* _DXK_RUNTIME_CONTEXT_H */
