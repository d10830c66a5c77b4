/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_CLIENT_H
#define _DXK_CLIENT_H

#include <linux/types.h>

struct dxk_post_op;
struct dxk_rejoin_op;
struct dxk_request;
struct dxk_rqe;

int dxk_client_begin(struct dxk_post_op *p, u32 nr);
struct dxk_rqe *dxk_client_add(struct dxk_post_op *p, const struct dxk_request *req);
int dxk_client_post(struct dxk_post_op *p, u32 nr, u64 deadline);
int dxk_client_rejoin(struct dxk_rejoin_op *r, u64 deadline);

#endif /* _DXK_CLIENT_H */
