/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_CREW_H
#define _DXK_CREW_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "lanes.h"
#include "member.h"
#include "request.h"

struct dxk_ctx;
struct kobject;

/**
 * struct dxk_crew - the workers and all other members
 * @members: (M) by thread id
 * @threads: (C) directory of the members in sysfs
 * @idle: (L) by kind: struct dxk_next_op of workers that sleep for work, the
 *	last one to fall idle first: its cache is the warmest
 * @workers: (L) by kind: workers that count, i.e. attached and not leaving
 * @lanes: (L) by kind: CMLS over these workers
 * @work_wait: user workers in poll(2) sleep here
 */
struct dxk_crew {
	struct xarray members;
	struct kobject *threads;
	struct list_head idle[DXK_KINDS];
	u32 workers[DXK_KINDS];
	struct dxk_lanes lanes[DXK_KINDS];
	wait_queue_head_t work_wait;
};

void dxk_crew_init(struct dxk_crew *crew);
struct dxk_member *dxk_crew_vacancy(struct dxk_ctx *ctx);
u32 dxk_crew_count(struct dxk_ctx *ctx, enum dxk_kind kind);
int dxk_crew_fit(struct dxk_ctx *ctx);
int dxk_crew_review(struct dxk_ctx *ctx);
void dxk_crew_stop(struct dxk_ctx *ctx);
void dxk_crew_clear(struct dxk_ctx *ctx);
void dxk_crew_empty(struct dxk_ctx *ctx);
void dxk_crew_bury(struct dxk_ctx *ctx);
bool dxk_crew_resting(const struct dxk_ctx *ctx);
void dxk_crew_set_lanes(struct dxk_ctx *ctx);

#endif /* _DXK_CREW_H */
