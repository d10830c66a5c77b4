/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_FIGURES_H
#define _DXK_RUNTIME_FIGURES_H

#include <linux/types.h>

#include "uapi/dxk.h"

struct dxk_ctx;
struct dxk_member;

enum dxk_pool {
	DXK_POOL_THREAD,
	DXK_POOL_READY,
	DXK_POOL_REJOIN,
	DXK_POOL_WAIT,
	DXK_POOL_LOG,
	DXK_POOL_HANDLE,
	DXK_POOLS,
};

enum dxk_resource {
	DXK_RES_READY,
	DXK_RES_USER,
	DXK_RES_KERNEL,
	DXK_RESOURCES,
};

/* Identifies a lane of a resource. */
#define DXK_LANE_KEY(_res, _lane)	((_res) * DXK_LANES + (_lane))

/* The values shown in sysfs, for other code that shows them. */
u32 dxk_pool_size(const struct dxk_ctx *ctx, enum dxk_pool pool);
u32 dxk_pool_use(struct dxk_ctx *ctx, enum dxk_pool pool);
u32 dxk_pool_high(const struct dxk_ctx *ctx, enum dxk_pool pool);
u32 dxk_lane_use(const struct dxk_ctx *ctx, u32 key);
u32 dxk_lane_limit(struct dxk_ctx *ctx, u32 key);
u32 dxk_lane_waiters(const struct dxk_ctx *ctx, u32 key);

#endif /* _DXK_RUNTIME_FIGURES_H */
