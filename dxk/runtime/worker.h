/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_WORKER_H
#define _DXK_RUNTIME_WORKER_H

#include <linux/types.h>

struct dxk_member;

int dxk_worker_create(struct dxk_member *m);
void dxk_worker_run(struct dxk_member *m);
void dxk_worker_stop(struct dxk_member *m);
bool dxk_worker_can_help(const struct dxk_member *m);
void dxk_worker_help(struct dxk_member *m);

#endif /* _DXK_RUNTIME_WORKER_H */
