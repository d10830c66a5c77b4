/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_CLIENT_H
#define _DXK_RUNTIME_CLIENT_H

#include <linux/types.h>

struct dxk_post_op;
struct dxk_request;
struct dxk_rqe;

struct dxk_rqe *dxk_client_add(struct dxk_post_op *p, const struct dxk_request *req);

#endif /* _DXK_RUNTIME_CLIENT_H */
