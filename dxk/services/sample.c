// SPDX-License-Identifier: GPL-2.0-only
/*
 * The instrumentation package: the figures that the Monitor samples at an interval.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "engine/engine.h"
#include "services/sample.h"

/** dxk_samples_alloc - begin anew with a ring of @size samples, and latencies of 0 */
int dxk_samples_alloc(struct dxk_samples *in, struct dxk_engine *e, u32 size)
{
	struct dxk_sample *ring, *old;

	ring = kvcalloc(size, sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return -ENOMEM;
	spin_lock(&e->lock);
	old = in->sample;
	*in = (struct dxk_samples) { .sample = ring, .size = size };
	e->latencies = (struct dxk_latencies) { };
	spin_unlock(&e->lock);
	kvfree(old);
	return 0;
}

/** dxk_samples_free - free the samples, which nobody uses any more */
void dxk_samples_free(struct dxk_samples *in)
{
	kvfree(in->sample);
}

static void dxk_sample_fill(struct dxk_sample *out, struct dxk_sample *base,
			    struct dxk_engine *e)
{
	const struct dxk_stats *stats = &e->stats;

	lockdep_assert_held(&e->lock);

	*out = (struct dxk_sample) {
		.posts = stats->posts - base->posts,
		.dispatches = stats->dispatches - base->dispatches,
		.completions = stats->completions - base->completions,
		.ready = e->nr[DXK_AT_READY],
		.busy = e->nr[DXK_AT_WORK],
		.rejoin = e->nr[DXK_AT_REJOIN],
		.workers = e->crew.workers[DXK_USER] + e->crew.workers[DXK_KERNEL],
	};
	base->posts = stats->posts;
	base->dispatches = stats->dispatches;
	base->completions = stats->completions;
}

/**
 * dxk_samples_take - take a sample if one is due
 * @in: the samples
 * @e: whose
 * @log: messages in the Log Pool
 * @handles: entries of the Handle Table in use
 *
 * Return: ns until the next one is due.
 */
u64 dxk_samples_take(struct dxk_samples *in, struct dxk_engine *e, u32 log, u32 handles)
{
	u64 interval = (u64)e->policy.sample_interval_ms * NSEC_PER_MSEC;
	u64 now = ktime_get_ns();

	guard(spinlock)(&e->lock);
	if (now >= in->due) {
		struct dxk_sample *out = &in->sample[in->taken++ % in->size];

		dxk_sample_fill(out, &in->base, e);
		out->time_ns = now;
		out->log = log;
		out->handles = handles;
		/* On a grid, unless it fell behind or the interval is new. */
		in->due += interval;
		if (in->due <= now || in->due > now + interval)
			in->due = now + interval;
	} else if (in->due > now + interval) {
		in->due = now + interval;
	}
	return in->due - now;
}

/**
 * dxk_samples_get - copies of the oldest samples that are younger than a time
 * @in: the samples
 * @e: whose
 * @after_ns: the time
 * @out: the copies
 * @room: for how many; the caller calls again for more
 */
u32 dxk_samples_get(const struct dxk_samples *in, struct dxk_engine *e, u64 after_ns,
		    struct dxk_sample *out, u32 room)
{
	u64 i, end;
	u32 nr = 0;

	guard(spinlock)(&e->lock);
	i = in->taken > in->size ? in->taken - in->size : 0;
	/* The ring is in the order of time. */
	for (end = in->taken; i < end;) {
		u64 mid = i + (end - i) / 2;

		if (in->sample[mid % in->size].time_ns > after_ns)
			end = mid;
		else
			i = mid + 1;
	}
	for (; i < in->taken && nr < room; i++)
		out[nr++] = in->sample[i % in->size];
	return nr;
}
