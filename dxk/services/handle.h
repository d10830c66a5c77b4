/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_HANDLE_H
#define _DXK_SERVICES_HANDLE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "services/file.h"

struct dxk_engine;
struct dxk_file_ref;
struct dxk_files;
struct dxk_member;
struct file;

/**
 * struct dxk_handle - a native handle: a file that its creator added to the table
 */
struct dxk_handle {
	/** @node: (H) in dxk_handles.bucket, by @id */
	struct hlist_node node;
	/**
	 * @copies: (H) struct dxk_private_file, one for each worker that has used the
	 * handle and keeps a private file of it
	 */
	struct list_head copies;
	/** @file: (C) referenced */
	struct dxk_file_ref *file;
	/** @payer: (C) the user to whom it and workers' private files of it are charged */
	struct dxk_payer payer;
	/** @id: (C) identifies it; used only once in the life of a context */
	u64 id;
};

/**
 * struct dxk_private_files - all private files of one kernel worker
 */
struct dxk_private_files {
	/** @m: (C) the worker */
	struct dxk_member *m;
	/** @list: (H) struct dxk_private_file */
	struct list_head list;
};

/**
 * struct dxk_private_file - a kernel worker's private file of a handle (DX-16)
 */
struct dxk_private_file {
	/**
	 * @link: (H) in dxk_handle.copies; empty: the handle is closed, and the worker
	 * disposes of this file when the request that the worker runs has ended
	 */
	struct list_head link;
	/** @worker_link: (H) in dxk_private_files.list */
	struct list_head worker_link;
	/** @worker: (C) the private files of its worker */
	struct dxk_private_files *worker;
	/**
	 * @used_in: (H) @worker's count of executed requests when it last asked for the
	 * file, see dxk_private_file_is_used()
	 */
	u64 used_in;
	/** @file: (C) referenced */
	struct dxk_file_ref *file;
};

/**
 * struct dxk_handles - the Handle Table of a context
 */
struct dxk_handles {
	/** @lock: (H) outside of the engine's */
	spinlock_t lock;
	/** @engine: (C) */
	struct dxk_engine *engine;
	/** @files: (C) of the context */
	struct dxk_files *files;
	/**
	 * @bucket: (H) struct dxk_handle by the low bits of the id; NULL while there is
	 * no table
	 */
	struct hlist_head *bucket;
	/** @mask: (H) buckets less one */
	u32 mask;
	/** @size: (H) most entries: natives and private files together */
	u32 size;
	/** @use: (H) entries in use; also read without the lock, for display */
	u32 use;
	/** @high: (H) high-water mark */
	u32 high;
	/** @last: (H) the last id that was assigned */
	u64 last;
};

void dxk_handles_init(struct dxk_handles *handles, struct dxk_engine *e,
		      struct dxk_files *files);
int dxk_handles_alloc(struct dxk_handles *handles, u32 size);
void dxk_handles_free(struct dxk_handles *handles);

int dxk_handles_open(struct dxk_handles *handles, struct file *file, u64 *id);
int dxk_handles_close(struct dxk_handles *handles, u64 id);
struct file *dxk_handles_file(struct dxk_handles *handles,
			      struct dxk_private_files *files, u64 id);

static inline void dxk_private_files_init(struct dxk_private_files *files,
					  struct dxk_member *m)
{
	files->m = m;
	INIT_LIST_HEAD(&files->list);
}

void dxk_private_files_release(struct dxk_handles *handles,
			       struct dxk_private_files *files);
void dxk_private_files_close(struct dxk_handles *handles,
			     struct dxk_private_files *files);

#endif /* _DXK_SERVICES_HANDLE_H */
