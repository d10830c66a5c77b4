/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Items: requests embedded in objects of other modules, like a work_struct.
 *
 * Queueing an item makes it pending. From then on its request belongs to the engine like any
 * other, with two differences: nobody collects it, and it returns to its owner instead of to a
 * pool. A worker that begins an item substitutes a proxy of its own, and the item is no longer
 * pending: its function may queue it again or free it, and nothing touches it later.
 *
 * @pending is (A): the task that sets it has the item, up to the store that clears it. The task
 * that has the request at that time makes this store: the worker that begins it, the task that
 * cancels it, or the one whose attempt to post it failed.
 *
 * A worker records in dxk_thread.item what it executes: from before it clears @pending until the
 * function has returned. So an item that is not pending, and that no worker records, is in
 * nobody's hands. A worker that helps while it waits in an item keeps that item in
 * dxk_thread.outer. A task that calls @cancelled of an item records this in
 * dxk_ctx.item_cancels. Tasks that wait for an item sleep in dxk_ctx.item_wait. They look again
 * whenever one of these functions has returned, and whenever @pending is cleared without such a
 * call.
 */
#ifndef _DXK_RUNTIME_ITEM_H
#define _DXK_RUNTIME_ITEM_H

#include <linux/build_bug.h>
#include <linux/container_of.h>

#include "dxk_api.h"
#include "engine/request.h"

/**
 * struct dxk_item_own - the contents of struct dxk_item.own
 */
struct dxk_item_own {
	/** @rqe: the request */
	struct dxk_rqe rqe;
	/** @ctx: (C) while pending: the context in which it is or was queued */
	struct dxk_ctx *ctx;
	/** @pending: (A) see above */
	u32 pending;
	/** @held: (A) number of calls that prevent it from being queued */
	atomic_t held;
};

static_assert(sizeof(struct dxk_item_own) <= sizeof_field(struct dxk_item, own));

static inline struct dxk_item_own *dxk_item_own(struct dxk_item *item)
{
	return (struct dxk_item_own *)item->own;
}

static inline const struct dxk_item_own *dxk_item_own_of(const struct dxk_item *item)
{
	return (const struct dxk_item_own *)item->own;
}

static inline struct dxk_item *dxk_item_of(struct dxk_rqe *rqe)
{
	return container_of((u64 *)container_of(rqe, struct dxk_item_own, rqe),
			    struct dxk_item, own[0]);
}

/**
 * struct dxk_item_run - an item that a worker executes
 */
struct dxk_item_run {
	/**
	 * @link: (L) in dxk_thread.outer: the worker helps meanwhile; or in
	 * dxk_ctx.item_cancels: not a run, but a call of dxk_item.cancelled
	 */
	struct list_head link;
	/** @item: (A) the item, or %NULL for none; it may no longer exist */
	const struct dxk_item *item;
	/** @seq: (A) dxk_rqe.seq of the run */
	u64 seq;
};

/*
 * The worker begins an item: it records this and substitutes a proxy. Return: the request that
 * it must complete.
 */
static inline struct dxk_rqe *dxk_item_begin(struct dxk_item_run *run, struct dxk_rqe *rqe,
					     struct dxk_rqe *proxy)
{
	struct dxk_item *item = dxk_item_of(rqe);

	WRITE_ONCE(run->seq, rqe->seq);
	/* pairs with the load in dxk_item_run_is() */
	smp_store_release(&run->item, item);
	dxk_rqe_stand_in(rqe, proxy);
	/* pairs with the load in dxk_item_pending() */
	smp_store_release(&dxk_item_own(item)->pending, false);
	return proxy;
}

void dxk_item_disown(struct dxk_rqe *rqe);

#endif /* _DXK_RUNTIME_ITEM_H */
