// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Handle Table (DX-16): files that kernel executors use, with a private open
 * file for each kernel worker, so that workers share neither a position nor the
 * state of readahead.
 *
 * The thread that closes a private file is chosen under the table's lock and, inside
 * it, the engine's, where the end of a request and its Rejoin write are one move:
 *
 * - While the request that uses the file runs, only its worker may. A closer
 *   unlinks the file from its handle and marks the worker. The completion
 *   sees the mark in its own lock hold and assigns no further work in it, so the
 *   worker disposes of the file after the Rejoin write and before it is available
 *   (DX-28).
 * - Otherwise the worker has no pointer to it that it could still use, and the
 *   closer puts it into the bin, whether the worker is idle or busy.
 *
 * Private files are gone before their worker is: none outlives dxk_member.
 */
#include <linux/cred.h>
#include <linux/export.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat.h"
#include "engine/bin.h"
#include "engine/engine.h"
#include "engine/os.h"
#include "engine/request.h"
#include "services/file.h"
#include "services/files.h"
#include "services/handle.h"

void dxk_handles_init(struct dxk_handles *handles, struct dxk_engine *e,
		      struct dxk_files *files)
{
	handles->files = files;
	handles->engine = e;
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

/* The bin closes a native file: the task closing the handle need not have had the file. */
static void dxk_native_free(struct dxk_handles *handles, struct dxk_handle *handle)
{
	dxk_bin_put(handles->engine, handle->file);
	kfree(handle);
}

/* Free private files; returns their references, for the worker or the bin. */
static struct dxk_file_ref *dxk_private_files_free(struct list_head *gone)
{
	struct dxk_private_file *priv, *next;
	struct dxk_file_ref *files = NULL;

	list_for_each_entry_safe(priv, next, gone, link) {
		priv->file->next = files;
		files = priv->file;
		kfree(priv);
		cond_resched();
	}
	return files;
}

/**
 * dxk_handles_free - close all native files and free the table
 * @handles: no worker is left, so no private file is
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
			dxk_native_free(handles, handle);
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

/* Put a native handle into the table; its id is known to nobody before. */
static int dxk_handles_add(struct dxk_handles *handles, struct dxk_handle *handle, u64 *id)
{
	int err;

	guard(spinlock)(&handles->lock);
	/* Stop leaves RUNNING before it frees the table: one of the two is seen. */
	if (READ_ONCE(handles->engine->state) != DXK_CTX_RUNNING)
		return -ESHUTDOWN;
	err = dxk_handles_take(handles);
	if (err)
		return err;
	*id = handle->id = ++handles->last;
	hlist_add_head(&handle->node, &handles->bucket[handle->id & handles->mask]);
	return 0;
}

/** dxk_handles_open - see dxk_handle_open() */
int dxk_handles_open(struct dxk_handles *handles, struct file *file, u64 *id)
{
	struct dxk_handle *handle;
	int err;

	if (dxk_file_kind(file) != DXK_FILE_STORED ||
	    !(file->f_mode & (FMODE_READ | FMODE_WRITE)))
		return -EINVAL;
	handle = kzalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);
	if (!handle)
		return -ENOMEM;
	handle->payer = dxk_payer_self();
	INIT_LIST_HEAD(&handle->copies);
	handle->file = dxk_files_ref(handles->files, file, &handle->payer);
	err = PTR_ERR_OR_ZERO(handle->file);
	if (err)
		goto err_free;
	err = dxk_handles_add(handles, handle, id);
	if (err)
		goto err_let_go;
	return 0;

err_let_go:
	os_let_go(handle->file);
err_free:
	kfree(handle);
	return err;
}

/*
 * Whether a request that its worker has not ended may use it. A request that waits while the
 * worker helps has not ended, though requests that were begun after it have.
 */
static bool dxk_private_file_is_used(const struct dxk_private_file *priv)
{
	const struct dxk_member *m = priv->worker->m;

	lockdep_assert_held(&m->engine->lock);

	return m->held && priv->used_in >= m->began;
}

/* Take a handle out of the table, if it is there, and move its unused files to @gone. */
static struct dxk_handle *dxk_handles_unlink(struct dxk_handles *handles, u64 id,
					     struct list_head *gone)
{
	struct dxk_private_file *priv, *next;
	struct dxk_handle *handle;

	guard(spinlock)(&handles->lock);
	handle = dxk_handle_find(handles, id);
	if (!handle)
		return NULL;
	hlist_del(&handle->node);
	handles->use--;
	guard(spinlock)(&handles->engine->lock);
	list_for_each_entry_safe(priv, next, &handle->copies, link) {
		if (dxk_private_file_is_used(priv)) {
			list_del_init(&priv->link);
			WRITE_ONCE(priv->worker->m->has_closed_handles, true);
			continue;
		}
		list_del(&priv->worker_link);
		list_move_tail(&priv->link, gone);
		handles->use--;
	}
	return handle;
}

/** dxk_handles_close - see dxk_handle_close() */
int dxk_handles_close(struct dxk_handles *handles, u64 id)
{
	struct dxk_handle *handle;
	LIST_HEAD(gone);

	handle = dxk_handles_unlink(handles, id, &gone);
	if (!handle)
		return -ENOENT;
	dxk_bin_put(handles->engine, dxk_private_files_free(&gone));
	dxk_native_free(handles, handle);
	return 0;
}

/* --- private files of workers ------------------------------------------------ */

static struct dxk_private_file *dxk_private_file_find(struct dxk_handle *handle,
					      const struct dxk_private_files *files)
{
	struct dxk_private_file *priv;

	list_for_each_entry(priv, &handle->copies, link)
		if (priv->worker == files)
			return priv;
	return NULL;
}

/*
 * Reopen @native, with the rights of its opener. A holder of a lease on the file is notified,
 * but not waited for (EWOULDBLOCK).
 */
static struct file *dxk_file_open_again(const struct file *native)
{
	unsigned int flags = native->f_flags &
			     ~(O_CREAT | O_EXCL | O_TRUNC | O_NOCTTY);
	const struct cred *old;
	struct file *file;

	/* A file system may check the thread's rights instead of the file's. */
	old = override_creds(native->f_cred);
	file = dentry_open(&native->f_path, flags | O_NONBLOCK, native->f_cred);
	revert_creds(old);
	/* Nobody else knows the file. */
	if (!IS_ERR(file))
		file->f_flags &= flags | ~O_NONBLOCK;
	return file;
}

static struct dxk_private_file *dxk_private_file_open(struct dxk_handles *handles,
						      struct dxk_private_files *files,
						      const struct file *native,
						      const struct dxk_payer *payer)
{
	struct dxk_private_file *priv = kzalloc(sizeof(*priv), GFP_KERNEL_ACCOUNT);
	struct file *file;

	if (!priv)
		return ERR_PTR(-ENOMEM);
	priv->worker = files;
	os_may_wait_for_user();
	file = dxk_file_open_again(native);
	if (IS_ERR(file)) {
		kfree(priv);
		return ERR_CAST(file);
	}
	priv->file = dxk_files_ref(handles->files, file, payer);
	__fput_sync(file);
	if (IS_ERR(priv->file)) {
		struct dxk_file_ref *err = priv->file;

		kfree(priv);
		return ERR_CAST(err);
	}
	return priv;
}

/** dxk_handles_file - see dxk_handle_file(); @files: of the calling worker */
struct file *dxk_handles_file(struct dxk_handles *handles,
			      struct dxk_private_files *files, u64 id)
{
	struct dxk_private_file *priv = NULL;
	struct file *native = NULL;
	struct dxk_handle *handle;
	struct dxk_payer payer;
	int err = -ENOENT;

	spin_lock(&handles->lock);
	handle = dxk_handle_find(handles, id);
	if (handle)
		priv = dxk_private_file_find(handle, files);
	if (priv) {
		priv->used_in = files->m->executed;
	} else if (handle) {
		err = dxk_handles_take(handles);
		if (!err)
			native = get_file(handle->file->file);
		payer = handle->payer;
	}
	spin_unlock(&handles->lock);
	if (priv)
		return priv->file->file;
	if (!native)
		return ERR_PTR(err);

	priv = dxk_private_file_open(handles, files, native, &payer);
	__fput_sync(native);

	spin_lock(&handles->lock);
	handle = dxk_handle_find(handles, id);
	if (handle && !IS_ERR(priv)) {
		priv->used_in = files->m->executed;
		list_add(&priv->link, &handle->copies);
		list_add(&priv->worker_link, &files->list);
	} else {
		handles->use--;
	}
	spin_unlock(&handles->lock);
	if (IS_ERR(priv))
		return ERR_CAST(priv);
	if (!handle) {
		/* Closed meanwhile: nobody else has seen this file. */
		os_let_go(priv->file);
		kfree(priv);
		return ERR_PTR(-ENOENT);
	}
	return priv->file->file;
}

/* Close private files of a worker: those whose handle is closed, or all. */
static void dxk_private_files_drop(struct dxk_handles *handles,
				   struct dxk_private_files *files, bool all)
{
	struct dxk_private_file *priv, *next;
	LIST_HEAD(gone);

	spin_lock(&handles->lock);
	list_for_each_entry_safe(priv, next, &files->list, worker_link) {
		if (!all && !list_empty(&priv->link))
			continue;
		list_del(&priv->worker_link);
		list_move_tail(&priv->link, &gone);
		handles->use--;
	}
	WRITE_ONCE(files->m->has_closed_handles, false);
	spin_unlock(&handles->lock);
	os_let_go(dxk_private_files_free(&gone));
}

/**
 * dxk_private_files_release - close private files whose handles are closed (DX-28)
 * @handles: the table
 * @files: of the caller, a worker that has such files and runs no request, so that
 *	nobody marks it meanwhile
 */
void dxk_private_files_release(struct dxk_handles *handles,
			       struct dxk_private_files *files)
{
	dxk_private_files_drop(handles, files, false);
}

/** dxk_private_files_close - close all private files of the caller, which ends */
void dxk_private_files_close(struct dxk_handles *handles,
			     struct dxk_private_files *files)
{
	dxk_private_files_drop(handles, files, true);
}
