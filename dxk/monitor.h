/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_MONITOR_H
#define _DXK_MONITOR_H

struct dxk_ctx;

int dxk_monitor_start(struct dxk_ctx *ctx);
int dxk_monitor_start_crew(struct dxk_ctx *ctx);

#endif /* _DXK_MONITOR_H */
