/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SCHEDULER_H
#define _DXK_SCHEDULER_H

struct dxk_ctx;

int dxk_scheduler_start(struct dxk_ctx *ctx);

#endif /* _DXK_SCHEDULER_H */
