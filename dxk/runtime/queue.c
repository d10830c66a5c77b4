// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module's own queues. No item in them waits for a user's page, file or worker, so they
 * may be waited for. Walkers wait for a Monitor, and that for slots to be tidied up: what
 * tidies has a queue of its own, where walkers cannot have taken all places.
 */
#include <linux/workqueue.h>

#include "runtime/context.h"
#include "runtime/queue.h"

static struct workqueue_struct *dxk_life_wq, *dxk_tidy_wq;

/* Such an item drops a reference of the context when it ends. */
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
 * Context: any. One that runs already runs once more.
 */
void dxk_queue_walk(struct dxk_ctx *ctx)
{
	dxk_queue_on(dxk_life_wq, ctx, &ctx->walk);
}

/** dxk_queue_tidy - the same with what removes slots */
void dxk_queue_tidy(struct dxk_ctx *ctx)
{
	dxk_queue_on(dxk_tidy_wq, ctx, &ctx->tidy);
}

/** dxk_queue_last - have the item run that frees what it is in */
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

/** dxk_queue_exit - the module goes: waits for items that are about to return */
void dxk_queue_exit(void)
{
	destroy_workqueue(dxk_tidy_wq);
	destroy_workqueue(dxk_life_wq);
}
