// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry of contexts by name and number, the number of descriptors of each, and the
 * number of contexts that a user may make.
 */
#include <linux/capability.h>
#include <linux/list.h>
#include <linux/moduleparam.h>
#include <linux/nsproxy.h>
#include <linux/resource.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "runtime/context.h"
#include "runtime/names.h"

/*
 * All contexts that users have made, until they are buried. Contexts without a descriptor can
 * no longer be found, but are still charged to their makers. The lock guards the list, the
 * names in it and the counts of descriptors; nothing nests with it.
 */
static DEFINE_SPINLOCK(dxk_names);
static LIST_HEAD(dxk_all);

/* Tasks that may make no more contexts before one of their user's is buried sleep here. */
static DECLARE_WAIT_QUEUE_HEAD(dxk_burials);

static bool dxk_is_named(const struct dxk_ctx *ctx, const struct ipc_namespace *ns,
			 const char *name)
{
	return ctx->who.ns == ns && !strcmp(ctx->who.name, name);
}

static bool dxk_name_is_taken(const struct dxk_ctx *ctx)
{
	const struct dxk_ctx *other;

	lockdep_assert_held(&dxk_names);

	if (!ctx->who.name[0])
		return false;
	list_for_each_entry(other, &dxk_all, all)
		if (other->descriptors && dxk_is_named(other, ctx->who.ns, ctx->who.name))
			return true;
	return false;
}

/*
 * The threads of a context belong to the kernel and count towards no limit of its user.
 * Therefore the number of contexts is limited.
 */
static int dxk_user_contexts = 32;
module_param_named(user_contexts, dxk_user_contexts, int, 0644);
MODULE_PARM_DESC(user_contexts,
		 "contexts that a user without CAP_SYS_RESOURCE may have made, 0: none, -1: any number");

/* @open: count only contexts that have a descriptor */
static bool dxk_too_many(const struct dxk_ctx *ctx, bool open)
{
	int max = READ_ONCE(dxk_user_contexts);
	const struct dxk_ctx *other;
	int nr = 0;

	lockdep_assert_held(&dxk_names);

	list_for_each_entry(other, &dxk_all, all)
		nr += uid_eq(other->who.creator, ctx->who.creator) &&
		      (!open || other->descriptors);
	return max >= 0 && nr >= max;
}

/* Return: -EAGAIN when contexts of its maker that are closed but not buried make it too many. */
static int dxk_offer_locked(struct dxk_ctx *ctx, bool many)
{
	if (dxk_name_is_taken(ctx))
		return -EEXIST;
	if (!many && dxk_too_many(ctx, true))
		return -EMFILE;
	if (!many && dxk_too_many(ctx, false))
		return -EAGAIN;
	list_add_tail(&ctx->all, &dxk_all);
	return 0;
}

/* @many: no limit applies to its maker */
static int dxk_offer_if(struct dxk_ctx *ctx, bool many)
{
	int err;

	spin_lock(&dxk_names);
	err = dxk_offer_locked(ctx, many);
	spin_unlock(&dxk_names);
	return err;
}

/**
 * dxk_names_offer - register a new context, so that it can be found
 * @ctx: the context, with its first descriptor
 *
 * A user who has closed a context may make another one. So this waits up to a second for the
 * burial of the previous one, which comes soon if no executor is stuck.
 * Return: 0, -EEXIST when the name is taken, -EMFILE when its maker has too many.
 */
int dxk_names_offer(struct dxk_ctx *ctx)
{
	int err = -EMFILE;

	os_may_wait(OS_WALK);
	wait_event_killable_timeout(dxk_burials,
				    (err = dxk_offer_if(ctx, false)) != -EAGAIN, HZ);
	if (err == -EAGAIN)
		err = -EMFILE;
	/* Checked only where it matters, because it is audited, and without the lock. */
	return err == -EMFILE && capable(CAP_SYS_RESOURCE) ? dxk_offer_if(ctx, true) : err;
}

/* --- the threads of a user's contexts ---------------------------------------------- */

static unsigned long dxk_threads_of_maker(const struct dxk_ctx *ctx)
{
	const struct dxk_ctx *other;
	unsigned long nr = 0;

	lockdep_assert_held(&dxk_names);

	list_for_each_entry(other, &dxk_all, all)
		if (uid_eq(other->who.creator, ctx->who.creator))
			nr += other->threads;
	return nr;
}

/* Return: 0, -EAGAIN; or -EBUSY when threads of closed contexts will end soon. */
static int dxk_threads_fit(const struct dxk_ctx *ctx, u32 nr)
{
	const struct dxk_ctx *other;
	unsigned long now, ending = 0;

	spin_lock(&dxk_names);
	now = dxk_threads_of_maker(ctx);
	list_for_each_entry(other, &dxk_all, all)
		if (!other->descriptors && uid_eq(other->who.creator, ctx->who.creator))
			ending += other->threads;
	spin_unlock(&dxk_names);
	if (now + nr <= ctx->nproc)
		return 0;
	return ending ? -EBUSY : -EAGAIN;
}

/**
 * dxk_names_admit - may a run have this many kernel threads?
 * @ctx: the context; the caller starts it
 * @nr: how many
 *
 * The number of kernel threads of all contexts that a user has made is limited to RLIMIT_NPROC
 * of the caller, independently of the processes that the kernel counts. Like dxk_names_offer(),
 * this waits up to a second for the threads of closed contexts.
 * Return: 0, or -EAGAIN like fork(2).
 */
int dxk_names_admit(struct dxk_ctx *ctx, u32 nr)
{
	int err = -EAGAIN;

	ctx->nproc = ctx->who.ns ? rlimit(RLIMIT_NPROC) : RLIM_INFINITY;
	if (ctx->nproc == RLIM_INFINITY)
		return 0;
	os_may_wait(OS_WALK);
	wait_event_killable_timeout(dxk_burials,
				    (err = dxk_threads_fit(ctx, nr)) != -EBUSY, HZ);
	if (!err)
		return 0;
	if (!capable(CAP_SYS_RESOURCE))
		return -EAGAIN;
	ctx->nproc = RLIM_INFINITY;
	return 0;
}

/** dxk_names_charge - charge a kernel thread about to be made. Return: 0; -EAGAIN: too many */
int dxk_names_charge(struct dxk_ctx *ctx)
{
	bool few;

	spin_lock(&dxk_names);
	few = ctx->nproc == RLIM_INFINITY || dxk_threads_of_maker(ctx) < ctx->nproc;
	ctx->threads += few;
	spin_unlock(&dxk_names);
	return few ? 0 : -EAGAIN;
}

/** dxk_names_uncharge - uncharge a kernel thread that has ended or was not made after all */
void dxk_names_uncharge(struct dxk_ctx *ctx)
{
	spin_lock(&dxk_names);
	ctx->threads--;
	spin_unlock(&dxk_names);
}

/* --- the end ------------------------------------------------------------------------ */

/** dxk_names_forget - remove a buried context: it is no longer charged to anybody */
void dxk_names_forget(struct dxk_ctx *ctx)
{
	spin_lock(&dxk_names);
	list_del_init(&ctx->all);
	spin_unlock(&dxk_names);
	wake_up_all(&dxk_burials);
}

static bool dxk_is_meant(const struct dxk_ctx *ctx, const struct dxk_ctx_join *a)
{
	if (a->flags & DXK_JOIN_BY_ID)
		return ctx->id == a->id;
	return dxk_is_named(ctx, current->nsproxy->ipc_ns, a->name);
}

/** dxk_names_find - find the requested context; returns it with a reference, or NULL */
struct dxk_ctx *dxk_names_find(const struct dxk_ctx_join *a)
{
	struct dxk_ctx *ctx, *found = NULL;

	spin_lock(&dxk_names);
	list_for_each_entry(ctx, &dxk_all, all) {
		if (!ctx->descriptors || !dxk_is_meant(ctx, a))
			continue;
		kobject_get(&ctx->kobj);
		found = ctx;
		break;
	}
	spin_unlock(&dxk_names);
	return found;
}

/** dxk_names_get - count one more descriptor; -ENOENT: the last one was closed meanwhile */
int dxk_names_get(struct dxk_ctx *ctx)
{
	bool open;

	spin_lock(&dxk_names);
	open = ctx->descriptors;
	if (open)
		WRITE_ONCE(ctx->descriptors, ctx->descriptors + 1);
	spin_unlock(&dxk_names);
	return open ? 0 : -ENOENT;
}

/** dxk_names_put - count a descriptor as closed. Return: was it the last one? */
bool dxk_names_put(struct dxk_ctx *ctx)
{
	bool last;

	spin_lock(&dxk_names);
	WRITE_ONCE(ctx->descriptors, ctx->descriptors - 1);
	/* The name can be used again from here on, though threads may still be ending. */
	last = !ctx->descriptors;
	spin_unlock(&dxk_names);
	return last;
}
