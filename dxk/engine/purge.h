/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Cancel all requests of an owner, either on request, or because one of them has failed and the
 * others are then of no use (PXR_FAIL_FAST).
 *
 * There is no list of an owner's requests: the many that are posted and executed need none.
 * Therefore a purge has three parts, each of which takes as many lock holds as it needs:
 *   those that have a struct dxk_more, in dxk_owner.doomed: as if cancelled by name
 *   the Ready Pool, once from end to end: what was there when the purge began ends
 *   the workers: those that execute a request of the owner are notified
 * The order matters: a request that a worker takes from the pool before its place there is looked
 * at is found later, with the worker. A request that becomes READY again later, because a worker
 * could not fetch it or has died, is older than dxk_owner.doom, and ends.
 *
 * Invariants, under the lock:
 *   one purge is under way at a time, that of the first of dxk_purges.owners; only then
 *   dxk_purges.members and dxk_ready.cursor are of use
 *   what has a struct dxk_more and joins the owner after its purge was ordered is in
 *   dxk_owner.mores: the purge does not look there
 *   dxk_ready.cursor is the entry that is looked at next: never one that has left the pool
 *   an owner without live requests is in no list here
 */
#ifndef _DXK_ENGINE_PURGE_H
#define _DXK_ENGINE_PURGE_H

#include "engine/os.h"
#include "engine/waiter.h"

struct dxk_engine;
struct dxk_member;

/**
 * struct dxk_purge_op - cancel all requests of an owner
 */
struct dxk_purge_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @m: the caller; the owner is one of its space */
	struct dxk_member *m;
	/** @cookie: the owner */
	u64 cookie;
	/** @begun: initially false */
	bool begun;
	/** @more: out, the operation must be performed again */
	bool more;
	/** @round: purges of the owner when this one began */
	u32 round;
	/** @nr: out, how many of its requests there were, by enum dxk_place */
	u32 *nr;
	/** @ended: requests that ended and nobody collects; the caller frees them */
	struct list_head ended;
};

dxk_op_fn dxk_purge_run;

void dxk_purge_some(struct dxk_engine *e, struct list_head *ended, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_PURGE_H */
