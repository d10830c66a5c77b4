/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_STOP_H
#define _DXK_STOP_H

#include <linux/types.h>

struct dxk_ctx;
struct dxk_running;

void dxk_stop_begin(struct dxk_ctx *ctx, bool cancel, bool close);
int dxk_stop_wait(struct dxk_ctx *ctx, u64 deadline);
bool dxk_running_next(struct dxk_ctx *ctx, u32 after, struct dxk_running *out);

#endif /* _DXK_STOP_H */
