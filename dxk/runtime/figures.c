// SPDX-License-Identifier: GPL-2.0-only
/*
 * The figures shown of a context, in sysfs and by built-in commands.
 */
#include "runtime/context.h"
#include "runtime/figures.h"

/* --- pools ----------------------------------------------------------------- */

u32 dxk_pool_size(const struct dxk_ctx *ctx, enum dxk_pool pool)
{
	const u32 size[] = {
		[DXK_POOL_THREAD] = READ_ONCE(ctx->engine.policy.max_threads),
		[DXK_POOL_READY] = READ_ONCE(ctx->engine.policy.ready_entries),
		[DXK_POOL_REJOIN] = READ_ONCE(ctx->engine.policy.rejoin_entries),
		[DXK_POOL_WAIT] = READ_ONCE(ctx->engine.policy.max_waiting),
		[DXK_POOL_LOG] = READ_ONCE(ctx->engine.policy.log_entries),
		[DXK_POOL_HANDLE] = READ_ONCE(ctx->engine.policy.handle_entries),
	};

	return size[pool];
}

u32 dxk_pool_use(struct dxk_ctx *ctx, enum dxk_pool pool)
{
	const u32 use[] = {
		[DXK_POOL_THREAD] = READ_ONCE(ctx->engine.crew.workers[DXK_USER]) +
				    READ_ONCE(ctx->engine.crew.workers[DXK_KERNEL]),
		[DXK_POOL_READY] = READ_ONCE(ctx->engine.nr[DXK_AT_READY]),
		[DXK_POOL_REJOIN] = READ_ONCE(ctx->engine.nr[DXK_AT_REJOIN]),
		[DXK_POOL_WAIT] = READ_ONCE(ctx->engine.nr[DXK_AT_WAIT]),
		[DXK_POOL_LOG] = dxk_log_count(&ctx->log),
		[DXK_POOL_HANDLE] = READ_ONCE(ctx->handles.use),
	};

	return use[pool];
}

u32 dxk_pool_high(const struct dxk_ctx *ctx, enum dxk_pool pool)
{
	const u32 high[] = {
		[DXK_POOL_THREAD] = READ_ONCE(ctx->engine.high[DXK_AT_WORK]),
		[DXK_POOL_READY] = READ_ONCE(ctx->engine.high[DXK_AT_READY]),
		[DXK_POOL_REJOIN] = READ_ONCE(ctx->engine.high[DXK_AT_REJOIN]),
		[DXK_POOL_WAIT] = READ_ONCE(ctx->engine.high[DXK_AT_WAIT]),
		[DXK_POOL_LOG] = READ_ONCE(ctx->log.high),
		[DXK_POOL_HANDLE] = READ_ONCE(ctx->handles.high),
	};

	return high[pool];
}

/* --- lanes ----------------------------------------------------------------- */

static const struct dxk_lanes *dxk_resource_lanes(const struct dxk_ctx *ctx, u32 key)
{
	switch (key / DXK_LANES) {
	case DXK_RES_USER:
		return &ctx->engine.crew.lanes[DXK_USER];
	case DXK_RES_KERNEL:
		return &ctx->engine.crew.lanes[DXK_KERNEL];
	default:
		return &ctx->engine.ready.lanes;
	}
}

u32 dxk_lane_use(const struct dxk_ctx *ctx, u32 key)
{
	return READ_ONCE(dxk_resource_lanes(ctx, key)->used[key % DXK_LANES]);
}

u32 dxk_lane_limit(struct dxk_ctx *ctx, u32 key)
{
	u32 limit;

	spin_lock(&ctx->engine.lock);
	limit = dxk_lanes_limit(dxk_resource_lanes(ctx, key), key % DXK_LANES);
	/* Without CMLS the only limit of workers is their number. */
	if (key / DXK_LANES == DXK_RES_USER)
		limit = min(limit, ctx->engine.crew.workers[DXK_USER] +
				   ctx->engine.crew.extra[DXK_USER]);
	else if (key / DXK_LANES == DXK_RES_KERNEL)
		limit = min(limit, ctx->engine.crew.workers[DXK_KERNEL] +
				   ctx->engine.crew.extra[DXK_KERNEL]);
	spin_unlock(&ctx->engine.lock);
	return limit;
}

/* The number of waiters for the resource: sleeping posters, or requests that are Ready. */
u32 dxk_lane_waiters(const struct dxk_ctx *ctx, u32 key)
{
	const struct dxk_ready *ready = &ctx->engine.ready;
	u32 lane = key % DXK_LANES;

	switch (key / DXK_LANES) {
	case DXK_RES_USER:
		return READ_ONCE(ready->nr[DXK_USER][lane]);
	case DXK_RES_KERNEL:
		return READ_ONCE(ready->nr[DXK_KERNEL][lane]);
	default:
		return READ_ONCE(ready->asleep[lane]);
	}
}
