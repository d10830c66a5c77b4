// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thread 600, the Scheduler: ages the Ready Pool once per interval.
 *
 * Intervals lie on a grid that begins at Start. While nothing is Ready there is
 * nothing to age, and the thread sleeps until a request is left in the pool; then it
 * continues with the next point of the grid. The points during its sleep make no
 * difference to a request that was not there. Points that it misses on a busy machine
 * are lost for all requests alike: a request that came after such a point must not
 * benefit from it.
 */
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>

#include "engine/calls.h"
#include "runtime/context.h"
#include "runtime/control.h"

static u64 dxk_sched_interval(const struct dxk_ctx *ctx)
{
	return (u64)READ_ONCE(ctx->engine.policy.sched_interval_ms) * NSEC_PER_MSEC;
}

/* The first point of the grid after now. */
static u64 dxk_sched_next(const struct dxk_ctx *ctx, u64 last)
{
	u64 interval = dxk_sched_interval(ctx);
	u64 now = ktime_get_ns();

	if (now < last + interval)
		return last + interval;
	return last + (div64_u64(now - last, interval) + 1) * interval;
}

static int dxk_scheduler_fn(void *arg)
{
	struct dxk_ctx *ctx = arg;
	struct dxk_control *t = &ctx->control[DXK_SCHEDULER];
	u64 last = ktime_get_ns();
	bool ticked = true;

	complete(&t->running);
	while (!kthread_should_stop()) {
		/* Only after a tick: a pool that empties and fills is one backlog. */
		if (ticked && dxk_scheduler_rest(&ctx->engine)) {
			dxk_control_wait(t, DXK_DORMANT);
			last = dxk_sched_next(ctx, last) - dxk_sched_interval(ctx);
		}
		/* A kick ends the sleep: the interval may have changed. */
		ticked = !dxk_control_wait_until(t, last + dxk_sched_interval(ctx));
		if (ticked) {
			os_turn_begin(OS_SCHEDULER);
			dxk_tick(&ctx->engine);
			os_turn_end(OS_SCHEDULER);
			last = dxk_sched_next(ctx, last) - dxk_sched_interval(ctx);
		}
		xchg(&t->kicked, false);
	}
	return 0;
}

int dxk_scheduler_start(struct dxk_ctx *ctx)
{
	return dxk_control_start(ctx, DXK_SCHEDULER, dxk_scheduler_fn);
}
