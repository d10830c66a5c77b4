/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_HANDLE_H
#define _DXK_HANDLE_H

#include <linux/types.h>

struct file;

/**
 * struct dxk_handle - one entry of the Handle Table
 * @native: the file that was opened
 * @own: the private copy of one thread
 * @thread: id of that thread
 */
struct dxk_handle {
	struct file *native;
	struct file *own;
	u32 thread;
};

/**
 * struct dxk_handles - the Handle Table: private handles of kernel workers
 * @entry: (S) its entries
 * @size: (S) how many
 * @use: (L) how many are in use
 * @high: (L) high-water mark
 *
 * No executor asks for private handles yet: the table has its place, its size
 * and its figures.
 */
struct dxk_handles {
	struct dxk_handle *entry;
	u32 size;
	u32 use;
	u32 high;
};

int dxk_handles_alloc(struct dxk_handles *handles, u32 size);
void dxk_handles_free(struct dxk_handles *handles);

#endif /* _DXK_HANDLE_H */
