/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_REPORT_H
#define _DXK_RUNTIME_REPORT_H

#include <linux/ratelimit.h>
#include <linux/types.h>

#include "engine/circle.h"
#include "engine/stall.h"

struct dxk_ctx;

/**
 * struct dxk_report - the Monitor's memory of its last looks
 */
struct dxk_report {
	/** @stall: state of the looks for stalls; private to the Monitor */
	struct dxk_stall stall;
	/** @circles: state of the looks for circles of waits; private to the Monitor */
	struct dxk_circles circles;
	/** @stays: number of workers that was logged last; private to the Monitor */
	u32 stays;
	/** @limit: rate limit of lines for the kernel's log */
	struct ratelimit_state limit;
};

void dxk_report_init(struct dxk_report *report);
bool dxk_stall_check(struct dxk_ctx *ctx);
bool dxk_circle_check(struct dxk_ctx *ctx);
void dxk_overdue_check(struct dxk_ctx *ctx);
void dxk_autotune_check(struct dxk_ctx *ctx);

#endif /* _DXK_RUNTIME_REPORT_H */
