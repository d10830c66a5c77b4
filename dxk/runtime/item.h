/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Items: requests that lie in objects of other modules, as a work_struct does.
 *
 * Who queues an item makes it pending. From then on its request is the engine's as any other
 * is, but that nobody collects it, and that it goes back to its owner instead of to a pool. A
 * worker that begins one has a proxy of its own take its place, and the item is not pending any
 * more: its function may queue it again, or free it, and nothing touches it later.
 *
 * @pending is (A): whoever sets it has the item, up to the store that clears it. That is made
 * by who has the request then: the worker that begins it, who cancels it, or has not got it
 * posted.
 *
 * A worker says in dxk_thread.item what it executes: before it clears @pending, and until the
 * function has returned. So who finds an item not pending, and no worker with it, knows that
 * nobody has it. One that helps while it waits in an item keeps that in dxk_thread.outer; and
 * who calls @cancelled of an item says so in dxk_ctx.item_cancels. Who waits for an item sleeps
 * in dxk_ctx.item_wait, and looks again whenever one of these has returned, and whenever
 * @pending is cleared without one.
 */
#ifndef _DXK_RUNTIME_ITEM_H
#define _DXK_RUNTIME_ITEM_H

#include <linux/build_bug.h>
#include <linux/container_of.h>

#include "dxk_api.h"
#include "engine/request.h"

/**
 * struct dxk_item_own - struct dxk_item.own
 */
struct dxk_item_own {
	/** @rqe: the request */
	struct dxk_rqe rqe;
	/** @ctx: (C) while pending: where it is, or was */
	struct dxk_ctx *ctx;
	/** @pending: (A) see above */
	u32 pending;
	/** @held: (A) calls that see to it that it is not queued */
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
	 * dxk_ctx.item_cancels: it is no run, but dxk_item.cancelled that is called
	 */
	struct list_head link;
	/** @item: (A) the item, or %NULL for none; it may be gone */
	const struct dxk_item *item;
	/** @seq: (A) dxk_rqe.seq of the run */
	u64 seq;
};

/*
 * The worker begins an item: it says so, and has a proxy take its place. Return: what it is
 * to complete.
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
