// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a context: made, started in steps, stopped in the reverse order,
 * closed, freed with the last reference.
 */
#include <linux/error-injection.h>
#include <linux/export.h>
#include <linux/idr.h>
#include <linux/slab.h>

#include "compat.h"
#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/stop.h"
#include "runtime/builtin.h"
#include "runtime/context.h"
#include "runtime/control.h"
#include "runtime/crew.h"
#include "runtime/policy.h"
#include "runtime/report.h"
#include "runtime/thread.h"

static DEFINE_IDA(dxk_ctx_ids);
static struct kobject *dxk_ctx_parent;

/* The last reference is gone. */
static void dxk_ctx_release(struct kobject *kobj)
{
	struct dxk_ctx *ctx = container_of(kobj, struct dxk_ctx, kobj);

	dxk_engine_destroy(&ctx->engine);
	dxk_log_free(&ctx->log);
	dxk_samples_free(&ctx->samples);
	xa_destroy(&ctx->members);
	ida_free(&dxk_ctx_ids, ctx->id);
	dxk_identity_put(&ctx->who);
	kfree(ctx);
}

/* Directories and files are the context's owner's from the first moment. */
static void dxk_ctx_ownership(dxk_owned_kobject *kobj, kuid_t *uid, kgid_t *gid)
{
	const struct dxk_ctx *ctx = container_of(kobj, struct dxk_ctx, kobj);

	*uid = ctx->who.uid;
	*gid = ctx->who.gid;
}

static struct kobj_type dxk_ctx_ktype = {
	.release = dxk_ctx_release,
	.get_ownership = dxk_ctx_ownership,
};

/**
 * dxk_ctx_make - make a context with the default policy
 * @who: its identity, taken over in any case
 *
 * Return: a context to be given to dxk_ctx_destroy(), or an error pointer.
 */
struct dxk_ctx *dxk_ctx_make(const struct dxk_identity *who)
{
	struct dxk_identity unused = *who;
	struct dxk_ctx *ctx;
	int err;
	u32 i;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx) {
		err = -ENOMEM;
		goto err_put_identity;
	}
	ctx->who = *who;
	INIT_LIST_HEAD(&ctx->joinable);
	ctx->descriptors = 1;
	dxk_engine_init(&ctx->engine);
	mutex_init(&ctx->mutex);
	init_completion(&ctx->crew_up);
	for (i = 0; i < DXK_CONTROLS; i++)
		dxk_control_init(&ctx->control[i]);
	xa_init_flags(&ctx->members, XA_FLAGS_ACCOUNT);
	init_waitqueue_head(&ctx->work_wait);
	dxk_log_init(&ctx->log, &ctx->engine);
	dxk_handles_init(&ctx->handles, &ctx->engine);
	dxk_commands_init(&ctx->commands, &ctx->engine, ctx, dxk_builtin_run);
	dxk_policy_init(&ctx->engine.policy);

	err = ida_alloc(&dxk_ctx_ids, GFP_KERNEL);
	if (err < 0)
		goto err_free;
	ctx->id = err;
	ctx->engine.id = err;

	/* From here on the object is the kobject's. */
	err = kobject_init_and_add(&ctx->kobj, &dxk_ctx_ktype, dxk_ctx_parent, "%u",
				   ctx->id);
	if (err)
		goto err_put;
	ctx->threads = kobject_create_and_add("threads", &ctx->kobj);
	err = -ENOMEM;
	if (!ctx->threads)
		goto err_del;
	return ctx;

err_del:
	kobject_del(&ctx->kobj);
err_put:
	kobject_put(&ctx->kobj);
	return ERR_PTR(err);
err_free:
	kfree(ctx);
err_put_identity:
	dxk_identity_put(&unused);
	return ERR_PTR(err);
}

/**
 * dxk_ctx_create - make a context of an in-kernel client, with the default policy
 *
 * Nobody can join it, everybody can look at it in sysfs.
 * Return: a context to be given to dxk_ctx_destroy(), or an error pointer.
 */
struct dxk_ctx *dxk_ctx_create(void)
{
	const struct dxk_identity kernel = {
		.uid = GLOBAL_ROOT_UID,
		.gid = GLOBAL_ROOT_GID,
		.mode = 0444,
	};

	return dxk_ctx_make(&kernel);
}
EXPORT_SYMBOL_GPL(dxk_ctx_create);

/* --- Start ----------------------------------------------------------------- */

/* One step of Start is about to be made: a place for error injection (DX-6). */
static noinline int dxk_start_step(const char *step)
{
	return step ? 0 : -EINVAL;
}
ALLOW_ERROR_INJECTION(dxk_start_step, ERRNO);

static int dxk_start_thread_pool(struct dxk_ctx *ctx)
{
	int err = dxk_start_step("thread pool");

	return err ?: dxk_crew_fit(ctx);
}

static int dxk_start_ready_pool(struct dxk_ctx *ctx)
{
	int err = dxk_start_step("ready pool");

	if (err)
		return err;
	spin_lock(&ctx->engine.lock);
	dxk_crew_set_lanes(&ctx->engine);
	spin_unlock(&ctx->engine.lock);
	return 0;
}

/* Results of an earlier run stay where they are (DX-110). */
static int dxk_start_rejoin_pool(struct dxk_ctx *ctx)
{
	int err = dxk_start_step("rejoin pool");

	if (err)
		return err;
	ctx->engine.owners.entries = ctx->engine.policy.rejoin_entries;
	if (ctx->engine.owners.bucket && ctx->engine.owners.nr)
		return 0;
	dxk_owners_free(&ctx->engine.owners);
	return dxk_owners_alloc(&ctx->engine.owners, ctx->engine.policy.max_requests);
}

static int dxk_start_log_pool(struct dxk_ctx *ctx)
{
	int err = dxk_start_step("log pool");

	/* Messages of an earlier run stay, if nobody has read them (DX-103). */
	return err ?: dxk_log_alloc(&ctx->log, ctx->engine.policy.log_entries);
}

static int dxk_start_handle_table(struct dxk_ctx *ctx)
{
	int err = dxk_start_step("handle table");

	return err ?: dxk_handles_alloc(&ctx->handles, ctx->engine.policy.handle_entries);
}

static int dxk_start_instrument(struct dxk_ctx *ctx)
{
	int err = dxk_start_step("instrumentation");

	if (err)
		return err;
	dxk_report_init(&ctx->report);
	ctx->engine.stalled = false;
	ctx->engine.latencies = (struct dxk_latencies) { };
	return dxk_samples_alloc(&ctx->samples, ctx->engine.policy.sample_entries);
}

static int dxk_start_monitor(struct dxk_ctx *ctx)
{
	int err;

	/*
	 * What is logged from here on, by the starting thread too, enters the pool:
	 * it does not wait for the Monitor, which does not run yet (DX-17).
	 */
	dxk_log_async(&ctx->log);
	err = dxk_start_step("monitor") ?: dxk_monitor_start(ctx);
	if (err)
		dxk_log_sync(&ctx->log);
	return err;
}

static int dxk_start_scheduler(struct dxk_ctx *ctx)
{
	int err = dxk_start_step("scheduler");

	return err ?: dxk_scheduler_start(ctx);
}

static int dxk_start_dispatcher(struct dxk_ctx *ctx)
{
	int err = dxk_start_step("dispatcher");

	return err ?: dxk_dispatcher_start(ctx);
}

static int dxk_start_crew(struct dxk_ctx *ctx)
{
	int err = dxk_start_step("crew");

	return err ?: dxk_monitor_start_crew(ctx);
}

static void dxk_ctx_set_state(struct dxk_ctx *ctx, enum dxk_ctx_state state)
{
	spin_lock(&ctx->engine.lock);
	WRITE_ONCE(ctx->engine.state, state);
	ctx->engine.cancelling = false;
	spin_unlock(&ctx->engine.lock);
}

static int dxk_start_locked(struct dxk_ctx *ctx)
{
	u8 before = ctx->engine.state;
	int err;

	lockdep_assert_held(&ctx->mutex);

	if (ctx->closed)
		return -ESHUTDOWN;
	if (before != DXK_CTX_NEW && before != DXK_CTX_STOPPED)
		return -EBUSY;
	dxk_ctx_set_state(ctx, DXK_CTX_STARTING);

	err = dxk_start_thread_pool(ctx);
	if (err)
		goto err_thread_pool;
	err = dxk_start_ready_pool(ctx);
	if (err)
		goto err_thread_pool;
	err = dxk_start_rejoin_pool(ctx);
	if (err)
		goto err_rejoin_pool;
	err = dxk_start_log_pool(ctx);
	if (err)
		goto err_rejoin_pool;
	err = dxk_start_handle_table(ctx);
	if (err)
		goto err_log_pool;
	err = dxk_start_instrument(ctx);
	if (err)
		goto err_handle_table;
	err = dxk_start_monitor(ctx);
	if (err)
		goto err_handle_table;
	err = dxk_start_scheduler(ctx);
	if (err)
		goto err_monitor;
	err = dxk_start_dispatcher(ctx);
	if (err)
		goto err_scheduler;
	err = dxk_start_crew(ctx);
	if (err)
		goto err_crew;

	dxk_ctx_set_state(ctx, DXK_CTX_RUNNING);
	dxk_log_add(&ctx->log, ctx->engine.policy.log_full, DXK_ID_MAIN, "started");
	dxk_commands_open(&ctx->commands);
	/* Have it look once at what there is to watch. */
	dxk_control_kick(&ctx->control[DXK_MONITOR]);
	return 0;

err_crew:
	/* The workers that did start find the context stopped and leave. */
	dxk_ctx_set_state(ctx, DXK_CTX_STOPPED);
	dxk_stop_begin(&ctx->engine, true, true);
	dxk_crew_stop(ctx);
	dxk_dispatcher_stop(ctx);
err_scheduler:
	dxk_control_stop(&ctx->control[DXK_SCHEDULER]);
err_monitor:
	dxk_control_stop(&ctx->control[DXK_MONITOR]);
	dxk_log_sync(&ctx->log);
err_handle_table:
	dxk_handles_free(&ctx->handles);
err_log_pool:
	dxk_log_trim(&ctx->log);
err_rejoin_pool:
	if (!ctx->engine.owners.nr)
		dxk_owners_free(&ctx->engine.owners);
err_thread_pool:
	dxk_crew_clear(ctx);
	dxk_ctx_set_state(ctx, before);
	return err;
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
	int err;

	mutex_lock(&ctx->mutex);
	err = dxk_start_locked(ctx);
	mutex_unlock(&ctx->mutex);
	return err;
}
EXPORT_SYMBOL_GPL(dxk_ctx_start);

/* --- Stop ------------------------------------------------------------------ */

/* End the threads and free what only they need, in the reverse order of Start. */
static void dxk_ctx_teardown(struct dxk_ctx *ctx)
{
	lockdep_assert_held(&ctx->mutex);

	dxk_commands_close(&ctx->commands);
	/* Whoever sleeps for work or for a result goes. */
	dxk_stop_begin(&ctx->engine, true, true);
	dxk_crew_stop(ctx);
	dxk_dispatcher_stop(ctx);
	dxk_control_stop(&ctx->control[DXK_SCHEDULER]);
	dxk_log_add(&ctx->log, ctx->engine.policy.log_full, DXK_ID_MAIN, "stopped");
	dxk_control_stop(&ctx->control[DXK_MONITOR]);
	dxk_log_sync(&ctx->log);
	dxk_handles_free(&ctx->handles);
	dxk_crew_clear(ctx);
	if (ctx->policy_changed) {
		spin_lock(&ctx->engine.lock);
		ctx->engine.policy = ctx->next_policy;
		spin_unlock(&ctx->engine.lock);
		ctx->policy_changed = false;
	}
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
	bool running;

	mutex_lock(&ctx->mutex);
	running = ctx->engine.state == DXK_CTX_RUNNING || ctx->engine.state == DXK_CTX_STOPPING;
	if (ctx->engine.state == DXK_CTX_STARTING) {
		mutex_unlock(&ctx->mutex);
		return -EBUSY;
	}
	if (mode == DXK_STOP_POLICY)
		mode = ctx->engine.policy.shutdown;
	if (running)
		dxk_stop_begin(&ctx->engine, mode == DXK_STOP_CANCEL, false);
	mutex_unlock(&ctx->mutex);
	return running ? dxk_stop_wait(&ctx->engine, deadline) : 0;
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
	mutex_lock(&ctx->mutex);
	if (ctx->engine.state == DXK_CTX_STOPPING)
		dxk_ctx_teardown(ctx);
	mutex_unlock(&ctx->mutex);
	return 0;
}
EXPORT_SYMBOL_GPL(dxk_ctx_stop);

/**
 * dxk_ctx_destroy - Stop(cancel) and let the context go (DX-113)
 * @ctx: the context; not to be used any more
 *
 * Waits for kernel executors, which dxk_should_stop() tells to end, but not for
 * user workers: they may belong to the process that is dying right now. Members
 * that are still open keep the memory until they are closed.
 */
void dxk_ctx_destroy(struct dxk_ctx *ctx)
{
	mutex_lock(&ctx->mutex);
	if (ctx->engine.state == DXK_CTX_RUNNING || ctx->engine.state == DXK_CTX_STOPPING)
		dxk_ctx_teardown(ctx);
	ctx->closed = true;
	dxk_crew_empty(ctx);
	mutex_unlock(&ctx->mutex);
	dxk_logfile_close(&ctx->log, ctx->id);

	dxk_commands_exit(&ctx->commands);
	kobject_put(ctx->threads);
	kobject_del(&ctx->kobj);
	kobject_put(&ctx->kobj);
}
EXPORT_SYMBOL_GPL(dxk_ctx_destroy);

/**
 * dxk_ctx_set_policy - set the policy of an in-kernel client's context
 * @ctx: the context
 * @policy: all fields, see dxk_policy_init(); bad_field is set on error
 *
 * Return: 0 or an error, see struct dxk_policy.
 */
int dxk_ctx_set_policy(struct dxk_ctx *ctx, struct dxk_policy *policy)
{
	return dxk_policy_set(ctx, policy);
}
EXPORT_SYMBOL_GPL(dxk_ctx_set_policy);

/** dxk_ctx_init - the module is loaded: where contexts are shown, and with what files */
void dxk_ctx_init(struct kobject *parent, const struct sysfs_ops *ops,
		  const struct attribute_group **groups)
{
	dxk_ctx_parent = parent;
	dxk_ctx_ktype.sysfs_ops = ops;
	dxk_ctx_ktype.default_groups = groups;
}

void dxk_ctx_exit(void)
{
	ida_destroy(&dxk_ctx_ids);
}
