// SPDX-License-Identifier: GPL-2.0-only
/*
 * The instrumentation package: what the Monitor samples at an interval, and how
 * long requests waited and ran.
 */
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "runtime/context.h"
#include "runtime/crew.h"
#include "services/sample.h"

/** dxk_instrument_alloc - begin anew with a ring of @size samples */
int dxk_instrument_alloc(struct dxk_instrument *in, u32 size)
{
	struct dxk_sample *ring;

	ring = kvcalloc(size, sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return -ENOMEM;
	dxk_instrument_free(in);
	*in = (struct dxk_instrument) { .sample = ring, .size = size };
	return 0;
}

void dxk_instrument_free(struct dxk_instrument *in)
{
	kvfree(in->sample);
	in->sample = NULL;
	in->size = 0;
	in->taken = 0;
}

static void dxk_sample_take(struct dxk_ctx *ctx, u64 now, struct dxk_sample *out)
{
	struct dxk_sample *base = &ctx->instrument.base;
	const struct dxk_stats *stats = &ctx->engine.stats;
	u32 log = dxk_log_count(&ctx->log);

	spin_lock(&ctx->engine.lock);
	*out = (struct dxk_sample) {
		.time_ns = now,
		.posts = stats->posts - base->posts,
		.dispatches = stats->dispatches - base->dispatches,
		.completions = stats->completions - base->completions,
		.ready = ctx->engine.nr[DXK_AT_READY],
		.busy = ctx->engine.nr[DXK_AT_WORK],
		.rejoin = ctx->engine.nr[DXK_AT_REJOIN],
		.log = log,
		.handles = READ_ONCE(ctx->handles.use),
		.workers = ctx->engine.crew.workers[DXK_USER] + ctx->engine.crew.workers[DXK_KERNEL],
	};
	base->posts = stats->posts;
	base->dispatches = stats->dispatches;
	base->completions = stats->completions;
	spin_unlock(&ctx->engine.lock);
}

/**
 * dxk_instrument_sample - take a sample if one is due
 * @ctx: the context; its mutex is held
 *
 * Return: ns until the next one is due.
 */
u64 dxk_instrument_sample(struct dxk_ctx *ctx)
{
	u64 interval = (u64)ctx->engine.policy.sample_interval_ms * NSEC_PER_MSEC;
	struct dxk_instrument *in = &ctx->instrument;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&ctx->mutex);

	if (now >= in->due) {
		dxk_sample_take(ctx, now, &in->sample[in->taken++ % in->size]);
		/* On a grid, unless it fell behind or the interval is new. */
		in->due += interval;
		if (in->due <= now || in->due > now + interval)
			in->due = now + interval;
	} else if (in->due > now + interval) {
		in->due = now + interval;
	}
	return in->due - now;
}

/** dxk_instrument_newest - the last sample; NULL when there is none */
const struct dxk_sample *dxk_instrument_newest(const struct dxk_instrument *in)
{
	return in->taken ? &in->sample[(in->taken - 1) % in->size] : NULL;
}

/** dxk_samples_get - copies of the oldest samples that are younger than @after_ns */
u32 dxk_samples_get(const struct dxk_instrument *in, u64 after_ns,
		    struct dxk_sample *out, u32 room)
{
	u64 i = in->taken > in->size ? in->taken - in->size : 0;
	u32 nr = 0;

	for (; i < in->taken && nr < room; i++)
		if (in->sample[i % in->size].time_ns > after_ns)
			out[nr++] = in->sample[i % in->size];
	return nr;
}
