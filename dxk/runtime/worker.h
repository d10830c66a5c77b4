/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_WORKER_H
#define _DXK_RUNTIME_WORKER_H

#include <linux/types.h>

struct dxk_member;
struct dxk_thread;

int dxk_worker_start(struct dxk_thread *t);
void dxk_worker_gone(struct dxk_thread *t);
void dxk_worker_reap(struct dxk_thread *t);
bool dxk_worker_can_help(const struct dxk_member *m);
void dxk_worker_help(struct dxk_member *m);

#endif /* _DXK_RUNTIME_WORKER_H */
