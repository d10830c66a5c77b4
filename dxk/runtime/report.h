/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_REPORT_H
#define _DXK_RUNTIME_REPORT_H

#include "engine/stall.h"

/* How long nobody must have been able to run. */
#define DXK_STALL_MS	100
/* The same while a process is about to start a spare worker. */
#define DXK_SPARE_MS	1000

void dxk_stall_init(struct dxk_stall *stall);
bool dxk_stall_check(struct dxk_ctx *ctx);
void dxk_overdue_check(struct dxk_ctx *ctx);

#endif /* _DXK_RUNTIME_REPORT_H */
