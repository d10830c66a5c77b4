// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run of a context, from Start to Stop: one table of steps, walked up and down.
 */
#include <linux/error-injection.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/sysfs.h>

#include "dxk_api.h"
#include "engine/calls.h"
#include "runtime/context.h"
#include "runtime/control.h"
#include "runtime/crew.h"
#include "runtime/run.h"

static void dxk_run_set_state(struct dxk_ctx *ctx, enum dxk_ctx_state state)
{
	struct dxk_engine *e = &ctx->engine;

	spin_lock(&e->lock);
	WRITE_ONCE(e->state, state);
	e->cancelling = false;
	spin_unlock(&e->lock);
}

/* --- the steps -------------------------------------------------------------- */

static const struct attribute_group **dxk_run_files;

/* Made by the first Start, they stay until the context is closed. */
static int dxk_files_start(struct dxk_ctx *ctx)
{
	return ctx->shown ? 0 : sysfs_create_groups(&ctx->kobj, dxk_run_files);
}

static void dxk_files_stop(struct dxk_ctx *ctx, bool failed)
{
	if (failed && !ctx->shown)
		sysfs_remove_groups(&ctx->kobj, dxk_run_files);
}

static int dxk_thread_pool_start(struct dxk_ctx *ctx)
{
	int err = dxk_crew_fit(ctx);

	if (err)
		dxk_crew_clear(ctx);
	return err;
}

static void dxk_thread_pool_stop(struct dxk_ctx *ctx, bool failed)
{
	dxk_crew_clear(ctx);
}

static int dxk_ready_pool_start(struct dxk_ctx *ctx)
{
	spin_lock(&ctx->engine.lock);
	dxk_crew_set_lanes(&ctx->engine);
	spin_unlock(&ctx->engine.lock);
	return 0;
}

static int dxk_rejoin_pool_start(struct dxk_ctx *ctx)
{
	return dxk_owners_start(&ctx->engine);
}

static void dxk_rejoin_pool_stop(struct dxk_ctx *ctx, bool failed)
{
	if (failed)
		dxk_owners_unstart(&ctx->engine);
}

/* Messages of an earlier run stay, if nobody has read them (DX-103). */
static int dxk_log_pool_start(struct dxk_ctx *ctx)
{
	return dxk_log_alloc(&ctx->log, ctx->engine.policy.log_entries);
}

static void dxk_log_pool_stop(struct dxk_ctx *ctx, bool failed)
{
	if (failed)
		dxk_log_trim(&ctx->log);
}

static int dxk_handle_table_start(struct dxk_ctx *ctx)
{
	return dxk_handles_alloc(&ctx->handles, ctx->engine.policy.handle_entries);
}

static void dxk_handle_table_stop(struct dxk_ctx *ctx, bool failed)
{
	dxk_handles_free(&ctx->handles);
}

static int dxk_instrumentation_start(struct dxk_ctx *ctx)
{
	dxk_report_init(&ctx->report);
	ctx->engine.stalled = false;
	ctx->engine.latencies = (struct dxk_latencies) { };
	return dxk_samples_alloc(&ctx->samples, ctx->engine.policy.sample_entries);
}

/*
 * What is logged from here on, by the starting thread too, enters the pool: it does not
 * wait for the Monitor, which does not run yet (DX-17).
 */
static int dxk_monitor_step_start(struct dxk_ctx *ctx)
{
	int err;

	dxk_log_async(&ctx->log);
	err = dxk_monitor_start(ctx);
	if (err)
		dxk_log_sync(&ctx->log);
	return err;
}

static void dxk_monitor_step_stop(struct dxk_ctx *ctx, bool failed)
{
	if (!failed)
		dxk_log_add(&ctx->log, ctx->engine.policy.log_full, DXK_ID_MAIN,
			    "stopped");
	dxk_control_stop(&ctx->control[DXK_MONITOR]);
	dxk_log_sync(&ctx->log);
}

static void dxk_scheduler_step_stop(struct dxk_ctx *ctx, bool failed)
{
	dxk_control_stop(&ctx->control[DXK_SCHEDULER]);
}

static void dxk_dispatcher_step_stop(struct dxk_ctx *ctx, bool failed)
{
	dxk_dispatcher_stop(ctx);
}

/* Whoever sleeps for work or for a result goes, workers that have just begun, too. */
static void dxk_crew_step_stop(struct dxk_ctx *ctx, bool failed)
{
	if (failed)
		dxk_run_set_state(ctx, DXK_CTX_STOPPED);
	dxk_stop_begin(&ctx->engine, true, true);
	dxk_crew_stop(ctx);
}

static int dxk_crew_step_start(struct dxk_ctx *ctx)
{
	int err = dxk_monitor_start_crew(ctx);

	if (err)
		dxk_crew_step_stop(ctx, true);
	return err;
}

/**
 * struct dxk_step - one step of Start and of Stop
 */
struct dxk_step {
	/** @name: for error injection */
	const char *name;
	/** @start: makes it; an error leaves nothing behind */
	int (*start)(struct dxk_ctx *ctx);
	/**
	 * @stop: undoes it, or NULL. With failed a later step of Start has failed, and
	 * nothing of this run is to stay; else results and messages do
	 */
	void (*stop)(struct dxk_ctx *ctx, bool failed);
};

static const struct dxk_step dxk_steps[] = {
	{ "files", dxk_files_start, dxk_files_stop },
	{ "thread pool", dxk_thread_pool_start, dxk_thread_pool_stop },
	{ "ready pool", dxk_ready_pool_start, NULL },
	{ "rejoin pool", dxk_rejoin_pool_start, dxk_rejoin_pool_stop },
	{ "log pool", dxk_log_pool_start, dxk_log_pool_stop },
	{ "handle table", dxk_handle_table_start, dxk_handle_table_stop },
	{ "instrumentation", dxk_instrumentation_start, NULL },
	{ "monitor", dxk_monitor_step_start, dxk_monitor_step_stop },
	{ "scheduler", dxk_scheduler_start, dxk_scheduler_step_stop },
	{ "dispatcher", dxk_dispatcher_start, dxk_dispatcher_step_stop },
	{ "crew", dxk_crew_step_start, dxk_crew_step_stop },
};

/* One step of Start is about to be made: a place for error injection (DX-6). */
static noinline int dxk_start_step(const char *step)
{
	return step ? 0 : -EINVAL;
}
ALLOW_ERROR_INJECTION(dxk_start_step, ERRNO);

/* Undo the first @nr steps, the last one first. */
static void dxk_steps_down(struct dxk_ctx *ctx, u32 nr, bool failed)
{
	while (nr--)
		if (dxk_steps[nr].stop)
			dxk_steps[nr].stop(ctx, failed);
}

static int dxk_steps_up(struct dxk_ctx *ctx)
{
	u32 i;
	int err;

	for (i = 0; i < ARRAY_SIZE(dxk_steps); i++) {
		err = dxk_start_step(dxk_steps[i].name) ?: dxk_steps[i].start(ctx);
		if (err) {
			dxk_steps_down(ctx, i, true);
			return err;
		}
	}
	return 0;
}

/* --- Start ----------------------------------------------------------------- */

static int dxk_start_locked(struct dxk_ctx *ctx)
{
	u8 before = ctx->engine.state;
	int err;

	lockdep_assert_held(&ctx->mutex);

	if (ctx->closed)
		return -ESHUTDOWN;
	if (before != DXK_CTX_NEW && before != DXK_CTX_STOPPED)
		return -EBUSY;
	dxk_run_set_state(ctx, DXK_CTX_STARTING);
	err = dxk_steps_up(ctx);
	dxk_run_set_state(ctx, err ? before : DXK_CTX_RUNNING);
	if (err)
		return err;
	ctx->shown = true;
	dxk_log_add(&ctx->log, ctx->engine.policy.log_full, DXK_ID_MAIN, "started");
	dxk_commands_open(&ctx->commands);
	/* Have it look once at what there is to watch. */
	dxk_control_kick(&ctx->control[DXK_MONITOR]);
	return 0;
}

/**
 * dxk_ctx_start - Start
 * @ctx: the context
 *
 * Return: 0, -EBUSY when it runs or stops, or why a step failed; then all earlier
 * steps are undone.
 */
int dxk_ctx_start(struct dxk_ctx *ctx)
{
	guard(mutex)(&ctx->mutex);
	return dxk_start_locked(ctx);
}
EXPORT_SYMBOL_GPL(dxk_ctx_start);

/* --- Stop ------------------------------------------------------------------ */

/**
 * dxk_run_end - end the threads and free what only they need
 * @ctx: the context; its mutex is held. Nothing happens if it does not run
 */
void dxk_run_end(struct dxk_ctx *ctx)
{
	struct dxk_engine *e = &ctx->engine;

	lockdep_assert_held(&ctx->mutex);

	if (e->state != DXK_CTX_RUNNING && e->state != DXK_CTX_STOPPING)
		return;
	dxk_commands_close(&ctx->commands);
	dxk_steps_down(ctx, ARRAY_SIZE(dxk_steps), false);
	if (!ctx->policy_changed)
		return;
	spin_lock(&e->lock);
	e->policy = ctx->next_policy;
	spin_unlock(&e->lock);
	ctx->policy_changed = false;
}

/**
 * dxk_ctx_wind_down - the first half of Stop: nothing is executed any more
 * @ctx: the context
 * @mode: what to do with Ready requests
 * @deadline: how long to wait for those that execute
 *
 * Return: 0, also when the context did not run; see dxk_ctx_stop().
 */
int dxk_ctx_wind_down(struct dxk_ctx *ctx, enum dxk_stop_mode mode, u64 deadline)
{
	struct dxk_engine *e = &ctx->engine;

	scoped_guard(mutex, &ctx->mutex) {
		if (e->state == DXK_CTX_STARTING)
			return -EBUSY;
		if (e->state != DXK_CTX_RUNNING && e->state != DXK_CTX_STOPPING)
			return 0;
		if (mode == DXK_STOP_POLICY)
			mode = e->policy.shutdown;
		dxk_stop_begin(e, mode == DXK_STOP_CANCEL, false);
	}
	return dxk_stop_wait(e, deadline);
}

/**
 * dxk_ctx_stop - Stop
 * @ctx: the context
 * @mode: what to do with Ready requests
 * @deadline: how long to wait for those that execute
 *
 * Return: 0, also when the context did not run; -ETIMEDOUT or -ERESTARTSYS when
 * requests still execute: the context goes on stopping and a further call waits
 * again.
 */
int dxk_ctx_stop(struct dxk_ctx *ctx, enum dxk_stop_mode mode, u64 deadline)
{
	int err = dxk_ctx_wind_down(ctx, mode, deadline);

	if (err)
		return err;
	guard(mutex)(&ctx->mutex);
	if (ctx->engine.state == DXK_CTX_STOPPING)
		dxk_run_end(ctx);
	return 0;
}
EXPORT_SYMBOL_GPL(dxk_ctx_stop);

/** dxk_run_init - the module is loaded: the files that come with the first Start */
void dxk_run_init(const struct attribute_group **groups)
{
	dxk_run_files = groups;
}
