// SPDX-License-Identifier: GPL-2.0-only
/*
 * The work queue for operations that may hang in a file system, and the item that releases
 * files.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "engine/bin.h"
#include "engine/engine.h"
#include "engine/life.h"
#include "engine/os.h"
#include "engine/request.h"
#include "engine/more.h"
#include "services/file.h"
#include "services/files.h"

/**
 * dxk_files_open - make the queue for the first file, if it does not exist
 * @files: of the context
 *
 * Each context has its own queue: the number of items of one queue that run at a time is
 * bounded, and items that hang would block those of other users. The queue is not freezable,
 * because an item that hangs would then prevent the system from being suspended.
 *
 * Return: 0, -ENOMEM, or -ESHUTDOWN after dxk_files_close().
 */
int dxk_files_open(struct dxk_files *files)
{
	struct workqueue_struct *wq = READ_ONCE(files->wq), *first;

	if (wq)
		return PTR_ERR_OR_ZERO(wq);
	/* Unbound and without a rescuer: no thread is made for it. */
	wq = alloc_workqueue("dxk_files%u", WQ_UNBOUND, 0, files->engine->id);
	if (!wq)
		return -ENOMEM;
	first = cmpxchg(&files->wq, NULL, wq);
	if (first)
		destroy_workqueue(wq);	/* another caller was faster */
	return PTR_ERR_OR_ZERO(first);
}

/**
 * dxk_files_ref - make a reference to a file, released later, by the bin if necessary
 * @files: of the context
 * @file: the file, of which a further reference is taken
 * @payer: the payer, or NULL if it is not charged
 *
 * Return: the reference, or an error pointer.
 */
struct dxk_file_ref *dxk_files_ref(struct dxk_files *files, struct file *file,
				   const struct dxk_payer *payer)
{
	struct dxk_file_ref *ref;
	int err = dxk_files_open(files);

	/* After dxk_files_close() no post is accepted, so nothing is put into the bin. */
	if (err && err != -ESHUTDOWN)
		return ERR_PTR(err);
	ref = kzalloc(sizeof(*ref), GFP_KERNEL_ACCOUNT);
	if (!ref)
		return ERR_PTR(-ENOMEM);
	err = payer ? dxk_file_charge(payer) : 0;
	if (err) {
		kfree(ref);
		return ERR_PTR(err);
	}
	if (payer) {
		ref->paid = true;
		ref->payer = __kuid_val(payer->uid);
	}
	ref->file = get_file(file);
	return ref;
}

/**
 * dxk_files_attach - attach a file to a request
 * @files: of its context
 * @m: the posting member
 * @rqe: not posted yet
 * @file: the file, of which the request takes its own reference
 * @payer: the payer, or NULL if it is not charged
 */
int dxk_files_attach(struct dxk_files *files, struct dxk_member *m, struct dxk_rqe *rqe,
		     struct file *file, const struct dxk_payer *payer)
{
	struct dxk_more *more = dxk_more_of(m, rqe);
	struct dxk_file_ref *ref;

	if (!more)
		return -ENOMEM;
	ref = dxk_files_ref(files, file, payer);
	if (IS_ERR(ref))
		return PTR_ERR(ref);
	more->file = ref;
	return 0;
}

/** dxk_files_kick - have the bin emptied, for which there is a pin */
void dxk_files_kick(struct dxk_files *files)
{
	queue_work(files->wq, &files->work);
}

static void dxk_files_work(struct work_struct *work)
{
	struct dxk_files *files = container_of(work, struct dxk_files, work);
	struct dxk_file_ref *refs;

	while ((refs = dxk_bin_take(files->engine)))
		os_let_go(refs);
	/* Last: the context may be gone afterwards. */
	dxk_unpin(files->engine);
}

void dxk_files_init(struct dxk_files *files, struct dxk_engine *e)
{
	INIT_WORK(&files->work, dxk_files_work);
	files->engine = e;
}

/** dxk_files_close - no item is left that could hang, and none will come */
void dxk_files_close(struct dxk_files *files)
{
	/* Members of the context may still be open and post files. */
	struct workqueue_struct *wq = xchg(&files->wq, ERR_PTR(-ESHUTDOWN));

	if (wq)
		destroy_workqueue(wq);
}
