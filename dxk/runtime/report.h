/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_REPORT_H
#define _DXK_RUNTIME_REPORT_H

#include <linux/ratelimit.h>
#include <linux/types.h>

struct dxk_ctx;

/**
 * struct dxk_report - what the Monitor remembers of its last looks
 */
struct dxk_report {
	/**
	 * @since: (M) ktime of the first look that found nobody able to run, 0 for none
	 */
	u64 since;
	/** @progress: (M) moves that the context had made then */
	u64 progress;
	/** @reported: (M) it was told already */
	bool reported;
	/** @limit: of lines for the kernel's log */
	struct ratelimit_state limit;
};

/* How long nobody must have been able to run. */
#define DXK_STALL_MS	100
/* The same while a process is about to start a spare worker. */
#define DXK_SPARE_MS	1000

void dxk_report_init(struct dxk_report *report);
bool dxk_stall_check(struct dxk_ctx *ctx);
void dxk_overdue_check(struct dxk_ctx *ctx);

#endif /* _DXK_RUNTIME_REPORT_H */
