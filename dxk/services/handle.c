// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Handle Table (DX-16): files that kernel executors use, with an own open
 * file for each kernel worker, so that workers share neither a position nor the
 * state of readahead.
 *
 * Who closes a worker's own file is decided under the table's lock and, inside it,
 * the context's, where the end of a request is one move with its Rejoin write:
 *
 * - While the request that asked for the file runs, only its worker may. A closer
 *   unlinks the file from its handle and marks the worker stale. The completion
 *   sees the mark in its own lock hold and gives no further work in it, so the
 *   worker disposes after the Rejoin write and before it is available (DX-28).
 * - Otherwise the worker has no pointer to it that it could still use, and the
 *   closer disposes of it at once, whether the worker is idle or busy.
 *
 * Only its own worker adds to or walks the files of a worker outside of the lock's
 * protection of the lists, and they are gone before the worker is: none outlives
 * dxk_member.
 */
#include <linux/cred.h>
#include <linux/export.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "dxk_api.h"
#include "runtime/context.h"
#include "services/handle.h"

void dxk_handles_init(struct dxk_handles *handles)
{
	spin_lock_init(&handles->lock);
}

int dxk_handles_alloc(struct dxk_handles *handles, u32 size)
{
	u32 buckets = roundup_pow_of_two(max(size, 1U));
	struct hlist_head *bucket;

	bucket = kvcalloc(buckets, sizeof(*bucket), GFP_KERNEL_ACCOUNT);
	if (!bucket)
		return -ENOMEM;
	spin_lock(&handles->lock);
	handles->bucket = bucket;
	handles->mask = buckets - 1;
	handles->size = size;
	spin_unlock(&handles->lock);
	return 0;
}

/* --- closing files, outside of locks ---------------------------------------- */

/* A kernel thread would leave the close to a work item, some time later. */
static void dxk_handle_fput(struct file *file)
{
	if (current->flags & PF_KTHREAD)
		__fput_sync(file);
	else
		fput(file);
}

static void dxk_native_free(struct dxk_handle *handle)
{
	dxk_handle_fput(handle->file);
	kfree(handle);
}

static void dxk_own_files_free(struct list_head *gone)
{
	struct dxk_own_file *own, *next;

	list_for_each_entry_safe(own, next, gone, link) {
		dxk_handle_fput(own->file);
		kfree(own);
		cond_resched();
	}
}

/**
 * dxk_handles_free - close what is open and free the table
 * @handles: no worker is left, so no own file is
 */
void dxk_handles_free(struct dxk_handles *handles)
{
	struct hlist_head *bucket = handles->bucket;
	struct dxk_handle *handle;
	struct hlist_node *next;
	u32 i, buckets = handles->mask + 1;

	if (!bucket)
		return;
	/* From here on nobody finds a handle, so none is closed twice. */
	spin_lock(&handles->lock);
	handles->bucket = NULL;
	handles->size = 0;
	handles->use = 0;
	spin_unlock(&handles->lock);

	for (i = 0; i < buckets; i++) {
		hlist_for_each_entry_safe(handle, next, &bucket[i], node) {
			WARN_ON_ONCE(!list_empty(&handle->copies));
			dxk_native_free(handle);
		}
		cond_resched();
	}
	kvfree(bucket);
}

/* --- natives ---------------------------------------------------------------- */

static struct dxk_handle *dxk_handle_find(struct dxk_handles *handles, u64 id)
{
	struct dxk_handle *handle;

	lockdep_assert_held(&handles->lock);

	if (!handles->bucket)
		return NULL;
	hlist_for_each_entry(handle, &handles->bucket[id & handles->mask], node)
		if (handle->id == id)
			return handle;
	return NULL;
}

/* Take an entry of the table. */
static int dxk_handles_take(struct dxk_handles *handles)
{
	lockdep_assert_held(&handles->lock);

	if (handles->use >= handles->size)
		return -ENOSPC;
	if (++handles->use > handles->high)
		handles->high = handles->use;
	return 0;
}

/*
 * A file with contents of its own, that opening once more gives again. The files
 * of kernel interfaces (proc, sysfs, debugfs...) are made for whoever opens them;
 * a file that is not regular may hold others, and so a context.
 */
static bool dxk_handle_file_ok(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	return S_ISREG(inode->i_mode) && file->f_mode & (FMODE_READ | FMODE_WRITE) &&
	       !(inode->i_sb->s_iflags & SB_I_NOEXEC) &&
	       inode->i_sb->s_magic != ANON_INODE_FS_MAGIC &&
	       inode->i_mapping->a_ops != &empty_aops;
}

/**
 * dxk_handle_open - put a file into the Handle Table of a context
 * @ctx: the context; running
 * @file: a regular file; the table takes its own reference
 * @id: out, what dxk_handle_file() wants. Never given again in this context
 *
 * Return: 0; -EINVAL when it is no regular file of a file system with contents of
 * its own, or opened with O_PATH; -ENOSPC when the table is full, -ENOMEM,
 * -ESHUTDOWN when the context does not run.
 */
int dxk_handle_open(struct dxk_ctx *ctx, struct file *file, u64 *id)
{
	struct dxk_handles *handles = &ctx->handles;
	struct dxk_handle *handle;
	int err;

	if (!dxk_handle_file_ok(file))
		return -EINVAL;
	handle = kzalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);
	if (!handle)
		return -ENOMEM;
	INIT_LIST_HEAD(&handle->copies);
	handle->file = get_file(file);

	/* Stop leaves RUNNING before it frees the table: one of the two is seen. */
	spin_lock(&handles->lock);
	err = READ_ONCE(ctx->engine.state) == DXK_CTX_RUNNING ? dxk_handles_take(handles) :
							 -ESHUTDOWN;
	if (!err) {
		*id = handle->id = ++handles->last;
		hlist_add_head(&handle->node,
			       &handles->bucket[handle->id & handles->mask]);
	}
	spin_unlock(&handles->lock);
	if (err)
		dxk_native_free(handle);
	return err;
}
EXPORT_SYMBOL_GPL(dxk_handle_open);

/**
 * dxk_handle_close - close a handle and every worker's own file of it (DX-27)
 * @ctx: the context
 * @id: of the handle
 *
 * The own file of a worker whose running request has asked for it is closed when
 * that request has ended; all others are when this returns.
 * Return: 0, or -ENOENT: there is no such handle any more.
 */
int dxk_handle_close(struct dxk_ctx *ctx, u64 id)
{
	struct dxk_handles *handles = &ctx->handles;
	struct dxk_own_file *own, *next;
	struct dxk_handle *handle;
	LIST_HEAD(gone);

	spin_lock(&handles->lock);
	handle = dxk_handle_find(handles, id);
	if (!handle) {
		spin_unlock(&handles->lock);
		return -ENOENT;
	}
	hlist_del(&handle->node);
	handles->use--;
	spin_lock(&ctx->engine.lock);
	list_for_each_entry_safe(own, next, &handle->copies, link) {
		if (own->used_in == own->worker->executed) {
			list_del_init(&own->link);
			WRITE_ONCE(own->worker->stale, true);
			continue;
		}
		list_del(&own->mine);
		list_move_tail(&own->link, &gone);
		handles->use--;
	}
	spin_unlock(&ctx->engine.lock);
	spin_unlock(&handles->lock);

	dxk_own_files_free(&gone);
	dxk_native_free(handle);
	return 0;
}
EXPORT_SYMBOL_GPL(dxk_handle_close);

/* --- workers' own files ----------------------------------------------------- */

static struct dxk_own_file *dxk_own_file_find(struct dxk_handle *handle,
					      const struct dxk_member *m)
{
	struct dxk_own_file *own;

	list_for_each_entry(own, &handle->copies, link)
		if (own->worker == m)
			return own;
	return NULL;
}

/* Open @native once more, with the rights of who opened it first. */
static struct dxk_own_file *dxk_own_file_open(struct dxk_member *m,
					      struct file *native)
{
	unsigned int flags = native->f_flags &
			     ~(O_CREAT | O_EXCL | O_TRUNC | O_NOCTTY);
	struct dxk_own_file *own = kzalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);
	const struct cred *old;

	if (!own)
		return ERR_PTR(-ENOMEM);
	own->worker = m;
	/* A file system may look at the thread's rights instead of the file's. */
	old = override_creds(native->f_cred);
	own->file = dentry_open(&native->f_path, flags, native->f_cred);
	revert_creds(old);
	if (IS_ERR(own->file)) {
		struct file *err = own->file;

		kfree(own);
		return ERR_CAST(err);
	}
	return own;
}

/**
 * dxk_handle_file - the calling worker's own file of a handle (DX-26)
 * @call: the request that runs; the caller is the thread that executes it
 * @id: of the handle
 *
 * Opened at the first use in this worker, with the flags of the native file and
 * the rights of who opened that. Do not keep it: it is valid until the request
 * ends, also when the handle is closed before that (DX-27).
 *
 * Return: the file, or an error pointer: -ENOENT: no such handle (any more),
 * -ENOSPC: the table is full, -ENOMEM, or why it could not be opened; the next
 * call tries again.
 */
struct file *dxk_handle_file(struct dxk_call *call, u64 id)
{
	struct dxk_member *m = call->self;
	struct dxk_handles *handles = &dxk_member_ctx(m)->handles;
	struct dxk_own_file *own = NULL;
	struct file *native = NULL;
	struct dxk_handle *handle;
	int err = -ENOENT;

	spin_lock(&handles->lock);
	handle = dxk_handle_find(handles, id);
	if (handle)
		own = dxk_own_file_find(handle, m);
	if (own) {
		own->used_in = m->executed;
	} else if (handle) {
		err = dxk_handles_take(handles);
		if (!err)
			native = get_file(handle->file);
	}
	spin_unlock(&handles->lock);
	if (own)
		return own->file;
	if (!native)
		return ERR_PTR(err);

	own = dxk_own_file_open(m, native);
	dxk_handle_fput(native);

	spin_lock(&handles->lock);
	handle = dxk_handle_find(handles, id);
	if (handle && !IS_ERR(own)) {
		own->used_in = m->executed;
		list_add(&own->link, &handle->copies);
		list_add(&own->mine, &m->own_files);
	} else {
		handles->use--;
	}
	spin_unlock(&handles->lock);
	if (IS_ERR(own))
		return ERR_CAST(own);
	if (!handle) {
		/* Closed meanwhile: nobody else has seen this file. */
		dxk_handle_fput(own->file);
		kfree(own);
		return ERR_PTR(-ENOENT);
	}
	return own->file;
}
EXPORT_SYMBOL_GPL(dxk_handle_file);

/* Close own files of a worker: those whose handle is closed, or all. */
static void dxk_own_files_drop(struct dxk_member *m, bool all)
{
	struct dxk_handles *handles = &dxk_member_ctx(m)->handles;
	struct dxk_own_file *own, *next;
	LIST_HEAD(gone);

	spin_lock(&handles->lock);
	list_for_each_entry_safe(own, next, &m->own_files, mine) {
		if (!all && !list_empty(&own->link))
			continue;
		list_del(&own->mine);
		list_move_tail(&own->link, &gone);
		handles->use--;
	}
	WRITE_ONCE(m->stale, false);
	spin_unlock(&handles->lock);
	dxk_own_files_free(&gone);
}

/**
 * dxk_own_files_release - close own files whose handles are closed (DX-28)
 * @m: the caller, a worker that is stale and runs no request, so that nobody
 *	marks it meanwhile
 */
void dxk_own_files_release(struct dxk_member *m)
{
	dxk_own_files_drop(m, false);
}

/** dxk_own_files_close - close all own files of the caller, which ends */
void dxk_own_files_close(struct dxk_member *m)
{
	dxk_own_files_drop(m, true);
}
