// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module's own queue: of walkers and what else ends by itself. No item in it waits for
 * a user's page, file or worker, so it may be waited for.
 */
#include <linux/workqueue.h>

#include "runtime/context.h"
#include "runtime/queue.h"

static struct workqueue_struct *dxk_queue_wq;

/**
 * dxk_queue - have an item of a context run
 * @ctx: the context; the caller has a reference
 * @work: the item; drops a reference of the context when it ends
 *
 * Context: any. An item that runs already runs once more.
 */
void dxk_queue(struct dxk_ctx *ctx, struct work_struct *work)
{
	kobject_get(&ctx->kobj);
	if (!queue_work(dxk_queue_wq, work))
		kobject_put(&ctx->kobj);
}

/** dxk_queue_last - have the item run that frees what it is in */
void dxk_queue_last(struct work_struct *work)
{
	queue_work(dxk_queue_wq, work);
}

int dxk_queue_init(void)
{
	dxk_queue_wq = alloc_workqueue("dxk_life", WQ_UNBOUND, 0);
	return dxk_queue_wq ? 0 : -ENOMEM;
}

/** dxk_queue_exit - the module goes: waits for items that are about to return */
void dxk_queue_exit(void)
{
	destroy_workqueue(dxk_queue_wq);
}
