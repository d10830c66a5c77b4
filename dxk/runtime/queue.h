/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_QUEUE_H
#define _DXK_RUNTIME_QUEUE_H

struct dxk_ctx;
struct work_struct;

void dxk_queue_walk(struct dxk_ctx *ctx);
void dxk_queue_tidy(struct dxk_ctx *ctx);
void dxk_queue_last(struct work_struct *work);
int dxk_queue_init(void);
void dxk_queue_exit(void);

#endif /* _DXK_RUNTIME_QUEUE_H */
