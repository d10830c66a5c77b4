/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_STOP_H
#define _DXK_STOP_H

#include <linux/types.h>

struct dxk_ctx;

void dxk_stop_begin(struct dxk_ctx *ctx, bool cancel, bool close);
int dxk_stop_wait(struct dxk_ctx *ctx, u64 deadline);

#endif /* _DXK_STOP_H */
