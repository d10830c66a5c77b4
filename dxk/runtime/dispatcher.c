// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thread 700: takes over where a caller's share of work ends, sweeps now and then
 * while requests are Ready, and under policy dispatch=thread makes every move.
 */
#include <linux/kthread.h>
#include <linux/rcupdate.h>

#include "engine/dispatch.h"
#include "runtime/context.h"
#include "runtime/control.h"

#define DXK_SWEEP_MS		1000

static int dxk_dispatcher_fn(void *arg)
{
	struct dxk_ctx *ctx = arg;
	struct dxk_control *t = &ctx->control[DXK_DISPATCHER];

	complete(&t->running);
	while (!kthread_should_stop()) {
		bool asked = xchg(&t->kicked, false);

		os_turn_begin(OS_DISPATCHER);
		dxk_inbox_run(&ctx->engine);
		dxk_sweep(&ctx->engine, asked);
		os_turn_end(OS_DISPATCHER);
		dxk_control_wait(t, READ_ONCE(ctx->engine.dormant[DXK_DISPATCHER]) ?
				    DXK_DORMANT :
				    ctx->engine.policy.dispatch_interval_ms ?:
				    DXK_SWEEP_MS);
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
