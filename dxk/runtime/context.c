// SPDX-License-Identifier: GPL-2.0-only
/*
 * The context itself: made, closed, and freed with the last reference. See run.c for the
 * run between Start and Stop.
 */
#include <linux/export.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "compat.h"
#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/life.h"
#include "runtime/builtin.h"
#include "runtime/context.h"
#include "runtime/control.h"
#include "runtime/cpus.h"
#include "runtime/names.h"
#include "runtime/policy.h"
#include "runtime/queue.h"
#include "runtime/run.h"
#include "runtime/slot.h"

static DEFINE_IDA(dxk_ctx_ids);
static struct kobject *dxk_ctx_parent;

/* --- the end of the object ------------------------------------------------------ */

static void dxk_ctx_free_work(struct work_struct *work)
{
	struct dxk_ctx *ctx = container_of(work, struct dxk_ctx, free);

	dxk_engine_destroy(&ctx->engine);
	dxk_log_free(&ctx->log);
	dxk_samples_free(&ctx->samples);
	xa_destroy(&ctx->slots);
	ida_free(&dxk_ctx_ids, ctx->id);
	dxk_identity_put(&ctx->who);
	dxk_cpus_free(ctx);
	kvfree(ctx);
	/* The module's exit waits for the rest of this function. */
	module_put(THIS_MODULE);
}

/* The last reference has been dropped. */
static void dxk_ctx_release(struct kobject *kobj)
{
	struct dxk_ctx *ctx = container_of(kobj, struct dxk_ctx, kobj);

	INIT_WORK(&ctx->free, dxk_ctx_free_work);
	dxk_queue_last(&ctx->free);
}

/* --- the walker --------------------------------------------------------------- */

/*
 * The context has no user any more, and none of its threads is left. Members that are still
 * open keep its memory until they are closed.
 */
static void dxk_ctx_bury(struct dxk_ctx *ctx)
{
	struct completion *buried = ctx->buried;

	dxk_slots_remove_all(ctx);
	dxk_files_close(&ctx->files);
	dxk_commands_exit(&ctx->commands);
	kobject_put(ctx->dir);
	kobject_del(&ctx->kobj);
	dxk_names_forget(ctx);
	kobject_put(&ctx->kobj);
	if (buried)
		complete(buried);
}

/* Takes down the run of a context and buries the context; see engine/life.h. */
static void dxk_ctx_walk(struct work_struct *work)
{
	struct dxk_ctx *ctx = container_of(work, struct dxk_ctx, walk);
	bool more = true;

	os_turn_begin(OS_WALK);
	/* The walker is kicked when that is set. The engine does not know these sleepers. */
	if (READ_ONCE(ctx->engine.cancelling))
		dxk_log_cancel(&ctx->log);
	while (more) {
		switch (dxk_run_look(&ctx->engine)) {
		case DXK_WALK_PARK:
			more = false;
			break;
		case DXK_WALK_SHUT:
			dxk_run_shut(&ctx->engine);
			break;
		case DXK_WALK_DOWN:
			more = dxk_run_step_down(ctx);
			break;
		case DXK_WALK_LEAVE:
			dxk_log_close(&ctx->log, ctx->id);
			break;
		case DXK_WALK_BURY:
			dxk_ctx_bury(ctx);
			more = false;
		}
		cond_resched();
	}
	os_turn_end(OS_WALK);
	kobject_put(&ctx->kobj);
}

/* Directories and files belong to the owner of the context from the beginning. */
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

/* The identity of an in-kernel client's context: nobody can join it, everybody can look at it. */
static const struct dxk_identity dxk_ctx_kernel = {
	.uid = GLOBAL_ROOT_UID,
	.gid = GLOBAL_ROOT_GID,
	.mode = 0444,
};

/**
 * dxk_ctx_make - make a context with the default policy
 * @a: the creator's arguments; NULL for a context of an in-kernel client
 *
 * Return: a context to be given to dxk_ctx_destroy(), or an error pointer.
 */
struct dxk_ctx *dxk_ctx_make(const struct dxk_ctx_create *a)
{
	struct dxk_ctx *ctx;
	int err;
	u32 i;

	ctx = kvzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	err = -ENOMEM;
	if (dxk_cpus_init(ctx))
		goto err_free;
	ctx->who = dxk_ctx_kernel;
	err = a ? dxk_identity_set(&ctx->who, a) : 0;
	if (err)
		goto err_free_cpus;
	INIT_LIST_HEAD(&ctx->all);
	ctx->descriptors = 1;
	dxk_engine_init(&ctx->engine);
	INIT_WORK(&ctx->walk, dxk_ctx_walk);
	init_completion(&ctx->crew_up);
	for (i = 0; i < DXK_CONTROLS; i++)
		dxk_control_init(&ctx->control[i]);
	xa_init_flags(&ctx->slots, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&ctx->unused);
	INIT_WORK(&ctx->tidy, dxk_slots_tidy_work);
	init_waitqueue_head(&ctx->tidy_wait);
	INIT_LIST_HEAD(&ctx->gone);
	init_waitqueue_head(&ctx->work_wait);
	init_waitqueue_head(&ctx->item_wait);
	INIT_LIST_HEAD(&ctx->item_cancels);
	dxk_files_init(&ctx->files, &ctx->engine);
	dxk_labels_init(&ctx->labels);
	dxk_watches_init(&ctx->watches, &ctx->engine, &ctx->files);
	dxk_log_init(&ctx->log, &ctx->engine, &ctx->files);
	dxk_handles_init(&ctx->handles, &ctx->engine, &ctx->files);
	dxk_commands_init(&ctx->commands, &ctx->engine, ctx, dxk_builtin_run);
	dxk_policy_init(&ctx->policy);
	spin_lock(&ctx->engine.lock);
	dxk_crew_set_policy(&ctx->engine, &ctx->policy);
	spin_unlock(&ctx->engine.lock);

	err = ida_alloc(&dxk_ctx_ids, GFP_KERNEL);
	if (err < 0)
		goto err_put_identity;
	ctx->id = err;
	ctx->engine.id = err;

	/* From here on the kobject owns the object. */
	__module_get(THIS_MODULE);
	err = kobject_init_and_add(&ctx->kobj, &dxk_ctx_ktype, dxk_ctx_parent, "%u",
				   ctx->id);
	if (err)
		goto err_put;
	ctx->dir = kobject_create_and_add("threads", &ctx->kobj);
	err = -ENOMEM;
	if (!ctx->dir)
		goto err_del;
	return ctx;

err_del:
	kobject_del(&ctx->kobj);
err_put:
	kobject_put(&ctx->kobj);
	return ERR_PTR(err);
err_put_identity:
	dxk_identity_put(&ctx->who);
err_free_cpus:
	dxk_cpus_free(ctx);
err_free:
	kvfree(ctx);
	return ERR_PTR(err);
}

/**
 * dxk_ctx_create - make an in-kernel client's context, with the default policy
 *
 * Nobody can join it, everybody can look at it in sysfs.
 * Return: a context to be given to dxk_ctx_destroy(), or an error pointer.
 */
struct dxk_ctx *dxk_ctx_create(void)
{
	return dxk_ctx_make(NULL);
}
EXPORT_SYMBOL_GPL(dxk_ctx_create);

/* --- the end --------------------------------------------------------------- */

/**
 * dxk_ctx_end - Stop(cancel) and release the context (DX-113)
 * @ctx: the context; not to be used afterwards
 *
 * Does not wait. The walker ends the run. It buries the context when the last kernel worker
 * has ended; dxk_should_stop() asks kernel workers to end. The walker does not wait for user
 * workers: they may belong to the process that is dying right now.
 */
void dxk_ctx_end(struct dxk_ctx *ctx)
{
	/* The burial may end before the close does. */
	kobject_get(&ctx->kobj);
	dxk_run_close(&ctx->engine);
	kobject_put(&ctx->kobj);
}

/**
 * dxk_ctx_destroy - dxk_ctx_end(), and wait until the context is gone
 * @ctx: an in-kernel client's context; not to be used afterwards
 *
 * Waits for the client's executors and for the handler of its commands.
 */
void dxk_ctx_destroy(struct dxk_ctx *ctx)
{
	DECLARE_COMPLETION_ONSTACK(buried);

	dxk_command_attach_kernel(&ctx->commands, NULL);
	ctx->buried = &buried;
	dxk_ctx_end(ctx);
	os_may_wait(OS_EXECUTE);
	wait_for_completion(&buried);
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

/**
 * dxk_ctx_get_policy - get the policy of a context (DX-8)
 * @ctx: the context
 * @policy: out: the policy in force; while there is no run, that of the next Start
 *
 * Context: any but interrupt.
 */
void dxk_ctx_get_policy(struct dxk_ctx *ctx, struct dxk_policy *policy)
{
	dxk_policy_get(ctx, policy);
}
EXPORT_SYMBOL_GPL(dxk_ctx_get_policy);

/**
 * dxk_ctx_wait_crew - sleep until the crew has a use for user threads
 * @ctx: the context
 * @deadline: of the sleep, on CLOCK_MONOTONIC; 0 only queries
 * @workers: out: user workers that are needed now, see struct dxk_crew_wait
 * @spares: out: user spares, likewise
 *
 * For managers that start programs to work for the context; kernel workers are started
 * automatically. dxk_rejoin() reports whether anything of an owner is left, dxk_ctx_stop()
 * whether anything of the context is.
 *
 * Context: process, may sleep.
 * Return: the sum of both, 0 at the deadline; -ESHUTDOWN: the context was not started, or has
 * ended; -ERESTARTSYS.
 */
int dxk_ctx_wait_crew(struct dxk_ctx *ctx, u64 deadline, u32 *workers, u32 *spares)
{
	return dxk_crew_wait(&ctx->engine, deadline, workers, spares);
}
EXPORT_SYMBOL_GPL(dxk_ctx_wait_crew);

/** dxk_ctx_init - set where contexts are shown, and with which files, at module load */
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
