// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module's own queues. No item in them waits for a user's page, file or worker, so it is
 * safe to wait for them. Walkers wait for a Monitor, and a Monitor waits for slots to be tidied
 * up. Therefore the items that tidy have a queue of their own, in which walkers cannot occupy
 * all places.
 */
#include <linux/workqueue.h>

#include "runtime/context.h"
#include "runtime/queue.h"

static struct workqueue_struct *dxk_life_wq, *dxk_tidy_wq;

/* An item queued here drops a reference of the context when it ends. */
static void dxk_queue_on(struct workqueue_struct *wq, struct dxk_ctx *ctx,
			 struct work_struct *work)
{
	kobject_get(&ctx->kobj);
	if (!queue_work(wq, work))
		kobject_put(&ctx->kobj);
}

/**
 * dxk_queue_walk - have the walker of a context run
 * @ctx: the context; the caller has a reference
 *
 * Context: any. A walker that already runs will run once more.
 */
void dxk_queue_walk(struct dxk_ctx *ctx)
{
	dxk_queue_on(dxk_life_wq, ctx, &ctx->walk);
}

/** dxk_queue_tidy - like dxk_queue_walk(), for the item that removes slots */
void dxk_queue_tidy(struct dxk_ctx *ctx)
{
	dxk_queue_on(dxk_tidy_wq, ctx, &ctx->tidy);
}

/** dxk_queue_last - have a work item run that frees its containing object */
void dxk_queue_last(struct work_struct *work)
{
	queue_work(dxk_life_wq, work);
}

int dxk_queue_init(void)
{
	dxk_life_wq = alloc_workqueue("dxk_life", WQ_UNBOUND, 0);
	if (!dxk_life_wq)
		return -ENOMEM;
	dxk_tidy_wq = alloc_workqueue("dxk_tidy", WQ_UNBOUND, 0);
	if (dxk_tidy_wq)
		return 0;
	destroy_workqueue(dxk_life_wq);
	return -ENOMEM;
}

/** dxk_queue_exit - at module unload, wait for items that are about to return */
void dxk_queue_exit(void)
{
	destroy_workqueue(dxk_tidy_wq);
	destroy_workqueue(dxk_life_wq);
}
