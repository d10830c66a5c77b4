// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thread 700: takes over where a caller's share of work ends, and sweeps periodically
 * while requests are Ready. Under policy dispatch=thread it makes every move. It is also the
 * clock of requests that wait for a time.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>

#include "engine/dispatch.h"
#include "runtime/context.h"
#include "runtime/control.h"

#define DXK_SWEEP_MS		1000

/* @again: when to look at the clock; the sweep runs at its own intervals. */
static void dxk_dispatcher_wait(struct dxk_ctx *ctx, struct dxk_control *t, u64 again)
{
	u32 ms = ctx->engine.policy.dispatch_interval_ms ?: DXK_SWEEP_MS;

	if (READ_ONCE(ctx->engine.dormant[DXK_DISPATCHER]))
		ms = DXK_DORMANT;
	if (again == DXK_FOREVER) {
		dxk_control_wait(t, ms);
		return;
	}
	if (ms != DXK_DORMANT)
		again = min(again, ktime_get_ns() + ms * (u64)NSEC_PER_MSEC);
	dxk_control_wait_until(t, min_t(u64, again, KTIME_MAX));
}

static int dxk_dispatcher_fn(void *arg)
{
	struct dxk_ctx *ctx = arg;
	struct dxk_control *t = &ctx->control[DXK_DISPATCHER];

	complete(&t->running);
	while (!kthread_should_stop()) {
		bool asked = xchg(&t->kicked, false);
		u64 again;

		os_turn_begin(OS_DISPATCHER);
		dxk_inbox_run(&ctx->engine);
		again = dxk_sweep(&ctx->engine, asked);
		os_turn_end(OS_DISPATCHER);
		dxk_dispatcher_wait(ctx, t, again);
	}
	dxk_inbox_run(&ctx->engine);
	dxk_sweep_end(&ctx->engine);
	return 0;
}

int dxk_dispatcher_start(struct dxk_ctx *ctx)
{
	int err;

	err = dxk_control_start(ctx, DXK_DISPATCHER, dxk_dispatcher_fn);
	if (!err)
		WRITE_ONCE(ctx->engine.direct,
			   ctx->engine.policy.dispatch == DXK_DISPATCH_DIRECT);
	return err;
}

void dxk_dispatcher_stop(struct dxk_ctx *ctx)
{
	if (!READ_ONCE(ctx->engine.direct)) {
		WRITE_ONCE(ctx->engine.direct, true);
		/* see dxk_publish() */
		synchronize_rcu();
	}
	dxk_control_stop(&ctx->control[DXK_DISPATCHER]);
}
