/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_CLIENT_H
#define _DXK_RUNTIME_CLIENT_H

#include <linux/err.h>
#include <linux/fs.h>

#include "engine/engine.h"
#include "engine/post.h"
#include "services/executor.h"
#include "services/file.h"

/**
 * dxk_client_add - add a request to a post, with room for its data
 * @p: begun; the request is appended to its rqes
 * @e: the work to do; the caller copies the data, wherever it is, to rqe->data
 * @file: the file passed with %PXR_FD, or NULL; dxk_files_attach() follows
 *
 * Inlined so that an entry converted from another structure need not be stored.
 * Return: the request, or an error pointer.
 */
static __always_inline struct dxk_rqe *
dxk_client_add(struct dxk_post_op *p, const struct dxk_post_entry *e, struct file *file)
{
	struct dxk_executor *exec = NULL;
	struct dxk_rqe *rqe;
	int err;

	if (file && dxk_file_kind(file) == DXK_FILE_REFUSED)
		return ERR_PTR(-ELOOP);
	err = dxk_rqe_check(&p->m->engine->policy, e);
	if (err)
		return ERR_PTR(err);
	if (e->attrs & PXR_KERNEL) {
		/* Requests of one post often name one executor. */
		if (!list_empty(&p->rqes))
			exec = list_last_entry(&p->rqes, struct dxk_rqe, link)->exec;
		exec = dxk_executor_get(e->executor, exec);
		if (!exec)
			return ERR_PTR(-ENOENT);
	}
	rqe = dxk_rqe_make(&p->m->rqes, e, exec);
	dxk_post_lane(p->m, rqe);
	dxk_rqe_join(rqe, &p->rqes);
	err = dxk_rqe_reserve_data(rqe);
	return err ? ERR_PTR(err) : rqe;
}

#endif /* _DXK_RUNTIME_CLIENT_H */
