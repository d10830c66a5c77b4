/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_HANDLE_H
#define _DXK_SERVICES_HANDLE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct dxk_member;
struct file;

/**
 * struct dxk_handle - a native handle: a file that its creator gave to the table
 * @node: (H) in dxk_handles.bucket, by @id
 * @copies: (H) struct dxk_own_file, one for each worker that has used it and
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
 * struct dxk_own_file - a kernel worker's own file of a handle (DX-16)
 * @link: (H) in dxk_handle.copies; empty: the handle is closed, and the worker
 *	disposes of this file when the request that it runs has ended
 * @mine: (H) in dxk_member.own_files
 * @worker: (C) whose it is
 * @used_in: (H) @worker's count of executed requests when it last asked for the
 *	file. While the count is the same, the request that asked still runs
 * @file: (C) referenced
 */
struct dxk_own_file {
	struct list_head link;
	struct list_head mine;
	struct dxk_member *worker;
	u64 used_in;
	struct file *file;
};

/**
 * struct dxk_handles - the Handle Table of a context
 * @lock: (H) see context.h
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
	struct hlist_head *bucket;
	u32 mask;
	u32 size;
	u32 use;
	u32 high;
	u64 last;
};

void dxk_handles_init(struct dxk_handles *handles);
int dxk_handles_alloc(struct dxk_handles *handles, u32 size);
void dxk_handles_free(struct dxk_handles *handles);

void dxk_own_files_release(struct dxk_member *m);
void dxk_own_files_close(struct dxk_member *m);

#endif /* _DXK_SERVICES_HANDLE_H */
