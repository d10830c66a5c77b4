/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_HANDLE_H
#define _DXK_SERVICES_HANDLE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dxk_engine;
struct dxk_member;
struct file;

/**
 * struct dxk_handle - a native handle: a file that its creator gave to the table
 * @node: (H) in dxk_handles.bucket, by @id
 * @copies: (H) struct dxk_private_file, one for each worker that has used it and
 *	keeps its own file
 * @file: (C) referenced
 * @id: (C) names it; given once in the life of a context
 */
struct dxk_handle {
	struct hlist_node node;
	struct list_head copies;
	struct file *file;
	u64 id;
};

/**
 * struct dxk_private_files - all private files of one kernel worker
 * @m: (C) the worker
 * @list: (H) struct dxk_private_file
 */
struct dxk_private_files {
	struct dxk_member *m;
	struct list_head list;
};

/**
 * struct dxk_private_file - a kernel worker's own file of a handle (DX-16)
 * @link: (H) in dxk_handle.copies; empty: the handle is closed, and the worker
 *	disposes of this file when the request that it runs has ended
 * @worker_link: (H) in dxk_private_files.list
 * @worker: (C) whose it is
 * @used_in: (H) @worker's count of executed requests when it last asked for the
 *	file. While the count is the same, the request that asked still runs
 * @file: (C) referenced
 */
struct dxk_private_file {
	struct list_head link;
	struct list_head worker_link;
	struct dxk_private_files *worker;
	u64 used_in;
	struct file *file;
};

/**
 * struct dxk_handles - the Handle Table of a context
 * @lock: (H) outside of the engine's
 * @engine: (C)
 * @bucket: (H) struct dxk_handle by the low bits of the id; NULL while there is
 *	no table
 * @mask: (H) buckets less one
 * @size: (H) most entries: natives and workers' own files together
 * @use: (H) entries in use; read by anybody for display
 * @high: (H) high-water mark
 * @last: (H) the last id that was given
 */
struct dxk_handles {
	spinlock_t lock;
	struct dxk_engine *engine;
	struct hlist_head *bucket;
	u32 mask;
	u32 size;
	u32 use;
	u32 high;
	u64 last;
};

void dxk_handles_init(struct dxk_handles *handles, struct dxk_engine *e);
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
