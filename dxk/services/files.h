/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A context's operations on the file systems of its users, any of which may hang. Work items
 * in a queue of the context's own perform them, and nobody waits for those items.
 */
#ifndef _DXK_SERVICES_FILES_H
#define _DXK_SERVICES_FILES_H

#include <linux/types.h>
#include <linux/workqueue.h>

struct dxk_engine;
struct dxk_file_ref;
struct dxk_member;
struct dxk_payer;
struct dxk_rqe;
struct file;

/**
 * struct dxk_files - a context's state for file operations
 */
struct dxk_files {
	/** @wq: (A) created with the first file, NULL before; an error pointer at the end */
	struct workqueue_struct *wq;
	/** @work: releases what is in the engine's bin */
	struct work_struct work;
	/** @engine: (C) */
	struct dxk_engine *engine;
};

void dxk_files_init(struct dxk_files *files, struct dxk_engine *e);
int dxk_files_open(struct dxk_files *files);
struct dxk_file_ref *dxk_files_ref(struct dxk_files *files, struct file *file,
				   const struct dxk_payer *payer);
int dxk_files_attach(struct dxk_files *files, struct dxk_member *m, struct dxk_rqe *rqe,
		     struct file *file, const struct dxk_payer *payer);
void dxk_files_kick(struct dxk_files *files);
void dxk_files_close(struct dxk_files *files);

#endif /* _DXK_SERVICES_FILES_H */
