// SPDX-License-Identifier: GPL-2.0-only
/*
 * Thread 500, the Monitor. It starts the kernel workers, puts policy changes into force,
 * notices workers whose thread has gone, and reports stalls, circles and overruns. It searches
 * for the number of workers with the best throughput, and takes the samples of the
 * instrumentation package. It ticks at its interval while there is something to watch, a
 * command handler to notify or a timed command to run; otherwise it sleeps until it is kicked.
 */
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "engine/autotune.h"
#include "engine/calls.h"
#include "engine/os.h"
#include "runtime/context.h"
#include "runtime/control.h"
#include "runtime/crew.h"
#include "runtime/policy.h"
#include "runtime/report.h"
#include "runtime/thread.h"

/* The review of kernel settings: a new policy takes effect here (DX-9). */
static void dxk_monitor_review(struct dxk_ctx *ctx)
{
	if (!dxk_policy_review(ctx))
		return;
	dxk_log_review(&ctx->log, ctx->engine.policy.log_full);
	dxk_control_kick(&ctx->control[DXK_SCHEDULER]);
}

/* Return: false if it is to be tried again at the next turn. */
static bool dxk_monitor_crew(struct dxk_ctx *ctx)
{
	int err = dxk_crew_review(ctx);

	if (!err || err == -EAGAIN || err == -ESHUTDOWN)
		return true;
	dxk_log_add(&ctx->log, ctx->engine.policy.log_full, DXK_ID_MONITOR,
		    "cannot start a worker: error %d", err);
	return false;
}

/* The work of each turn while requests are executed. Return: ms to the next turn. */
static u32 dxk_monitor_watch(struct dxk_ctx *ctx, bool asked)
{
	bool circles = dxk_circle_check(ctx), complete;
	u32 ms;

	dxk_crew_look(ctx);
	dxk_autotune_check(ctx);
	complete = dxk_monitor_crew(ctx);
	ms = dxk_autotune_begin(&ctx->engine);
	if (dxk_sleepers_are_seen(&ctx->engine.policy))
		ms = min(ms, ctx->engine.policy.spare_after_ms);
	dxk_overdue_check(ctx);
	if (ctx->engine.policy.sample_interval_ms) {
		u64 left = dxk_samples_take(&ctx->samples, &ctx->engine,
					    dxk_log_count(&ctx->log),
					    READ_ONCE(ctx->handles.use));

		left = div_u64(left, NSEC_PER_MSEC);
		ms = min_t(u64, ms, left + 1);
	}
	if (dxk_stall_check(ctx) || circles)
		return min_t(u32, ms, DXK_STALL_MS);
	if (dxk_pools_review(&ctx->engine) || !complete)
		return ms;
	return dxk_monitor_rest(&ctx->engine, asked) ? DXK_DORMANT : ms;
}

/* A turn, because it was @asked for or is due. Return: ms to the next turn. */
static u32 dxk_monitor_turn(struct dxk_ctx *ctx, bool asked)
{
	struct dxk_engine *e = &ctx->engine;

	dxk_crew_bury(ctx);
	switch (READ_ONCE(e->state)) {
	case DXK_CTX_STARTING:
		if (!xchg(&ctx->crew_wanted, false))
			break;
		ctx->crew_err = dxk_crew_review(ctx);
		complete(&ctx->crew_up);
		break;
	case DXK_CTX_RUNNING:
		dxk_monitor_review(ctx);
		dxk_crew_bind(ctx);
		return dxk_monitor_watch(ctx, asked);
	case DXK_CTX_STOPPING:
		/* A drain may need spares, and workers that died may have been the last. */
		if (!dxk_run_drains(e))
			break;
		dxk_crew_bind(ctx);
		return dxk_monitor_watch(ctx, asked);
	}
	return dxk_monitor_rest(e, asked) ? DXK_DORMANT : e->policy.monitor_interval_ms;
}

/* A process that dies closes the member; this detects the end of the single thread. */
static void dxk_monitor_handler(struct dxk_ctx *ctx)
{
	struct dxk_member *m = dxk_commands_user(&ctx->commands);

	if (!m)
		return;
	if (dxk_thread_is_dead(dxk_thread_of(m)))
		dxk_command_detach(&dxk_thread_of(m)->handler);
	os_member_put(m);
}

static int dxk_monitor_fn(void *arg)
{
	struct dxk_ctx *ctx = arg;
	struct dxk_control *t = &ctx->control[DXK_MONITOR];

	complete(&t->running);
	while (!kthread_should_stop()) {
		bool asked = xchg(&t->kicked, false);
		u32 ms;

		os_turn_begin(OS_MONITOR);
		ms = dxk_monitor_turn(ctx, asked);
		/* In any state: watched files are released when their process ends. */
		if (dxk_watches_review(&ctx->watches) && (ms == DXK_DORMANT || ms > MSEC_PER_SEC))
			ms = MSEC_PER_SEC;
		dxk_monitor_handler(ctx);
		ms = dxk_commands_tick(&ctx->commands, ms);
		os_turn_end(OS_MONITOR);
		dxk_control_wait(t, ms);
	}
	return 0;
}

/** dxk_monitor_start - start thread 500 and wait until it runs (DX-18) */
int dxk_monitor_start(struct dxk_ctx *ctx)
{
	/* The task that last requested the workers may have been killed. */
	ctx->crew_wanted = false;
	return dxk_control_start(ctx, DXK_MONITOR, dxk_monitor_fn);
}

/**
 * dxk_monitor_start_crew - have the Monitor start the kernel workers
 * @ctx: STARTING
 *
 * Return: 0, the error of the start, or -EINTR: then the Monitor may still be doing it.
 */
int dxk_monitor_start_crew(struct dxk_ctx *ctx)
{
	reinit_completion(&ctx->crew_up);
	WRITE_ONCE(ctx->crew_wanted, true);
	dxk_control_kick(&ctx->control[DXK_MONITOR]);
	os_may_wait(OS_MONITOR);
	if (wait_for_completion_killable(&ctx->crew_up))
		return -EINTR;
	return ctx->crew_err;
}
