/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_CLIENT_H
#define _DXK_RUNTIME_CLIENT_H

struct dxk_post_entry;
struct dxk_post_op;
struct dxk_rqe;
struct file;

struct dxk_rqe *dxk_client_add(struct dxk_post_op *p, const struct dxk_post_entry *e,
			       struct file *file);

#endif /* _DXK_RUNTIME_CLIENT_H */
