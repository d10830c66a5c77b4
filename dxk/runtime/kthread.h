/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_KTHREAD_H
#define _DXK_RUNTIME_KTHREAD_H

#include <linux/compiler.h>
#include <linux/types.h>

struct dxk_ctx;
struct task_struct;

__printf(4, 5)
struct task_struct *dxk_kthread_new(struct dxk_ctx *ctx, int (*fn)(void *), void *arg,
				    const char *fmt, ...);
void dxk_kthread_end(struct dxk_ctx *ctx, struct task_struct *task);

#endif /* _DXK_RUNTIME_KTHREAD_H */
