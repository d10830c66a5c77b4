// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run of a context, from Start to Stop: one table of steps, walked up and down.
 */
#include <linux/error-injection.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/sysfs.h>

#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/home.h"
#include "engine/name.h"
#include "engine/life.h"
#include "runtime/context.h"
#include "runtime/control.h"
#include "runtime/cpus.h"
#include "runtime/crew.h"
#include "runtime/names.h"
#include "runtime/slot.h"
#include "runtime/run.h"

/* --- the steps -------------------------------------------------------------- */

static const struct attribute_group **dxk_run_files;

/* The files made by the first Start stay until the context is closed. */
static int dxk_files_start(struct dxk_ctx *ctx)
{
	return ctx->shown ? 0 : sysfs_create_groups(&ctx->kobj, dxk_run_files);
}

static void dxk_files_stop(struct dxk_ctx *ctx, bool failed)
{
	if (failed && !ctx->shown)
		sysfs_remove_groups(&ctx->kobj, dxk_run_files);
}

/* The Monitor makes the threads, but within the limits of the caller of Start. */
static int dxk_limits_start(struct dxk_ctx *ctx)
{
	const struct dxk_policy *p = &ctx->engine.policy;

	return dxk_names_admit(ctx, DXK_CONTROLS + p->kernel_threads);
}

static void dxk_cpus_step_stop(struct dxk_ctx *ctx, bool failed)
{
	dxk_cpus_stop(ctx);
}

static int dxk_thread_pool_start(struct dxk_ctx *ctx)
{
	int err = dxk_slots_open(ctx, ctx->engine.policy.max_threads);

	if (err)
		dxk_slots_close(ctx);
	return err;
}

static void dxk_thread_pool_stop(struct dxk_ctx *ctx, bool failed)
{
	dxk_slots_close(ctx);
}

/* Many may be wanted, so the caller of Start can be killed meanwhile. */
static int dxk_prealloc(struct dxk_engine *e)
{
	u32 nr = 0, want = dxk_pool_keep(&e->policy);
	int err = 0;

	while (!err && nr < want) {
		nr = min(nr + 4096, want);
		err = fatal_signal_pending(current) ? -EINTR :
						      dxk_pool_fill(&e->pool, nr);
	}
	return err;
}

static int dxk_ready_pool_start(struct dxk_ctx *ctx)
{
	struct dxk_engine *e = &ctx->engine;
	int err;

	dxk_pools_open(e);
	err = dxk_prealloc(e);
	if (err)
		dxk_pools_close(e);
	return err;
}

static void dxk_ready_pool_stop(struct dxk_ctx *ctx, bool failed)
{
	dxk_pools_close(&ctx->engine);
}

static int dxk_rejoin_pool_start(struct dxk_ctx *ctx)
{
	struct dxk_engine *e = &ctx->engine;
	int err = dxk_homes_start(e) ?: dxk_owns_start(e) ?: dxk_fair_start(e) ?:
		  dxk_names_start(e);

	if (err)
		return err;
	err = dxk_owners_start(e);
	if (err)
		dxk_names_unstart(e);
	return err;
}

static void dxk_rejoin_pool_stop(struct dxk_ctx *ctx, bool failed)
{
	if (!failed)
		return;
	dxk_owners_unstart(&ctx->engine);
	dxk_names_unstart(&ctx->engine);
}

/* Unread messages of an earlier run stay (DX-103). */
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
	return dxk_samples_alloc(&ctx->samples, &ctx->engine,
				 ctx->engine.policy.sample_entries);
}

/*
 * Messages logged from here on, also by the starting thread, enter the pool. That does not
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

/* Members that sleep for work or for a result leave, also workers that have just begun. */
static bool dxk_crew_step_gone(struct dxk_ctx *ctx)
{
	dxk_run_shut(&ctx->engine);
	return dxk_crew_end(ctx);
}

static int dxk_commands_start(struct dxk_ctx *ctx)
{
	dxk_commands_open(&ctx->commands);
	return 0;
}

static void dxk_commands_stop(struct dxk_ctx *ctx, bool failed)
{
	dxk_commands_close(&ctx->commands);
}

/**
 * struct dxk_step - one step of Start and of Stop
 */
struct dxk_step {
	/** @name: for error injection */
	const char *name;
	/** @start: performs the step, or NULL; an error leaves nothing behind */
	int (*start)(struct dxk_ctx *ctx);
	/**
	 * @gone: called before @stop: has it gone? If not, the walker returns, and the last
	 * one to leave kicks it; or NULL
	 */
	bool (*gone)(struct dxk_ctx *ctx);
	/**
	 * @stop: undoes the step, or NULL. If @failed, a step of Start has failed, and
	 * nothing of this run may stay; otherwise results and messages stay. It waits for
	 * nothing that a user can hold up
	 */
	void (*stop)(struct dxk_ctx *ctx, bool failed);
};

static const struct dxk_step dxk_steps[] = {
	{ "limits", dxk_limits_start, NULL, NULL },
	{ "cpus", dxk_cpus_start, NULL, dxk_cpus_step_stop },
	{ "files", dxk_files_start, NULL, dxk_files_stop },
	{ "thread pool", dxk_thread_pool_start, NULL, dxk_thread_pool_stop },
	{ "ready pool", dxk_ready_pool_start, NULL, dxk_ready_pool_stop },
	{ "rejoin pool", dxk_rejoin_pool_start, NULL, dxk_rejoin_pool_stop },
	{ "log pool", dxk_log_pool_start, NULL, dxk_log_pool_stop },
	{ "handle table", dxk_handle_table_start, NULL, dxk_handle_table_stop },
	{ "instrumentation", dxk_instrumentation_start, NULL, NULL },
	{ "monitor", dxk_monitor_step_start, NULL, dxk_monitor_step_stop },
	{ "scheduler", dxk_scheduler_start, NULL, dxk_scheduler_step_stop },
	{ "dispatcher", dxk_dispatcher_start, NULL, dxk_dispatcher_step_stop },
	/* A crew that could not be completed ends like any other. */
	{ "crew", NULL, dxk_crew_step_gone, NULL },
	{ "workers", dxk_monitor_start_crew, NULL, NULL },
	{ "commands", dxk_commands_start, NULL, dxk_commands_stop },
};

/* Called before each step of Start, for error injection (DX-6). */
static noinline int dxk_start_step(const char *step)
{
	return step ? 0 : -EINVAL;
}
ALLOW_ERROR_INJECTION(dxk_start_step, ERRNO);

/* --- up ---------------------------------------------------------------------- */

static int dxk_steps_up(struct dxk_ctx *ctx)
{
	int err;

	while (ctx->at < ARRAY_SIZE(dxk_steps)) {
		const struct dxk_step *step = &dxk_steps[ctx->at];

		err = fatal_signal_pending(current) ? -EINTR : dxk_start_step(step->name);
		if (!err && step->start)
			err = step->start(ctx);
		if (err)
			return err;
		ctx->at++;
	}
	return 0;
}

/**
 * dxk_ctx_start - Start
 * @ctx: the context
 *
 * The caller performs all steps itself: their allocations are charged to the caller, and the
 * caller's limits apply. No lock is held; the claim of the run keeps others away.
 *
 * Return: 0, -EBUSY when it runs or stops, -EINTR when the caller is killed, or the error of
 * the step that failed; then all earlier steps are undone.
 */
int dxk_ctx_start(struct dxk_ctx *ctx)
{
	struct dxk_engine *e = &ctx->engine;
	int err;

	spin_lock(&e->lock);
	err = dxk_run_claim(e, &ctx->policy);
	spin_unlock(&e->lock);
	if (err)
		return err;
	err = dxk_steps_up(ctx);
	if (err) {
		dxk_run_fail(e);
		return err;
	}
	ctx->shown = true;
	dxk_log_add(&ctx->log, e->policy.log_full, DXK_ID_MAIN, "started");
	dxk_run_open(e);
	/* Have the Monitor look once for things to watch. */
	dxk_control_kick(&ctx->control[DXK_MONITOR]);
	return 0;
}
EXPORT_SYMBOL_GPL(dxk_ctx_start);

/* --- down -------------------------------------------------------------------- */

/**
 * dxk_run_step_down - walk one step down, or end the run if no step is up
 * @ctx: the context; for its walker
 *
 * Return: is there more to do now?
 */
bool dxk_run_step_down(struct dxk_ctx *ctx)
{
	const struct dxk_step *step;

	if (!ctx->at) {
		dxk_run_over(&ctx->engine);
		return true;
	}
	step = &dxk_steps[ctx->at - 1];
	if (step->gone && !step->gone(ctx))
		return false;
	if (step->stop)
		step->stop(ctx, READ_ONCE(ctx->engine.run.failed));
	ctx->at--;
	return true;
}

/**
 * dxk_ctx_stop - Stop
 * @ctx: the context
 * @mode: what to do with Ready requests
 * @deadline: how long to wait for those that execute
 *
 * Return: 0, also when the context did not run; -EBUSY in a Start; -ETIMEDOUT or
 * -ERESTARTSYS when requests still execute: the context continues to stop, and ends when they
 * do; a further call waits again.
 */
int dxk_ctx_stop(struct dxk_ctx *ctx, enum dxk_stop_mode mode, u64 deadline)
{
	int err = dxk_run_halt(&ctx->engine, mode, true, deadline);

	/* The run is over, regardless of the log file. */
	if (!err)
		dxk_log_told_wait(&ctx->log, dxk_log_seq(&ctx->log), deadline);
	return err;
}
EXPORT_SYMBOL_GPL(dxk_ctx_stop);

/** dxk_run_setup - set the files that come with the first Start, at module load */
void dxk_run_setup(const struct attribute_group **groups)
{
	dxk_run_files = groups;
}
