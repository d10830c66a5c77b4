/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A context's dealings with the file systems of its users, any of which may hang: they
 * are made by work items of a queue of its own, for which nobody waits.
 */
#ifndef _DXK_SERVICES_FILES_H
#define _DXK_SERVICES_FILES_H

#include <linux/types.h>

struct workqueue_struct;

/**
 * struct dxk_files - what a context has for files
 */
struct dxk_files {
	/** @wq: (A) made with the first file that comes, NULL before; stays to the end */
	struct workqueue_struct *wq;
};

int dxk_files_open(struct dxk_files *files, u32 ctx_id);
void dxk_files_close(struct dxk_files *files);

#endif /* _DXK_SERVICES_FILES_H */
