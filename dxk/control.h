/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control threads: 500, the Monitor; 600, the Scheduler; 700, the Dispatcher.
 */
#ifndef _DXK_CONTROL_H
#define _DXK_CONTROL_H

struct dxk_ctx;

int dxk_monitor_start(struct dxk_ctx *ctx);
int dxk_monitor_start_crew(struct dxk_ctx *ctx);

int dxk_scheduler_start(struct dxk_ctx *ctx);

int dxk_dispatcher_start(struct dxk_ctx *ctx);
void dxk_dispatcher_stop(struct dxk_ctx *ctx);

#endif /* _DXK_CONTROL_H */
