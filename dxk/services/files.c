// SPDX-License-Identifier: GPL-2.0-only
/*
 * The work queue for what may hang in a file system, see files.h.
 */
#include <linux/atomic.h>
#include <linux/workqueue.h>

#include "services/files.h"

/**
 * dxk_files_open - a file comes: have the queue
 * @files: of the context
 * @ctx_id: for the queue's name
 *
 * A queue for each context: how many items of one queue run at a time is bounded, and
 * items that hang would be in the way of other users'. It is not freezable, for an item
 * that hangs would then keep the system from being suspended.
 */
int dxk_files_open(struct dxk_files *files, u32 ctx_id)
{
	struct workqueue_struct *wq;

	if (READ_ONCE(files->wq))
		return 0;
	/* Unbound and without a rescuer: no thread is made for it. */
	wq = alloc_workqueue("dxk_files%u", WQ_UNBOUND, 0, ctx_id);
	if (!wq)
		return -ENOMEM;
	if (cmpxchg(&files->wq, NULL, wq))
		destroy_workqueue(wq);	/* another caller was faster */
	return 0;
}

/** dxk_files_close - no item is left that could hang, and none will come */
void dxk_files_close(struct dxk_files *files)
{
	if (files->wq)
		destroy_workqueue(files->wq);
	files->wq = NULL;
}
