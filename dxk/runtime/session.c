// SPDX-License-Identifier: GPL-2.0-only
/*
 * The descriptors of contexts: the first one comes with the context, further ones by
 * joining it by name or number. The close of the last one ends the context.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>

#include "dxk_api.h"
#include "engine/calls.h"
#include "runtime/context.h"
#include "runtime/crew.h"
#include "runtime/session.h"

/*
 * Contexts that can be joined. The lock is taken outside of all others; it guards
 * the list, the names in it, and the count of descriptors of each.
 */
static DEFINE_MUTEX(dxk_sessions_lock);
static LIST_HEAD(dxk_joinable);

static struct dxk_ctx *dxk_find_name(const struct ipc_namespace *ns, const char *name)
{
	struct dxk_ctx *ctx;

	lockdep_assert_held(&dxk_sessions_lock);

	list_for_each_entry(ctx, &dxk_joinable, joinable)
		if (ctx->who.ns == ns && !strcmp(ctx->who.name, name))
			return ctx;
	return NULL;
}

/*
 * The threads of a context are the kernel's and count for no limit of its user's, so
 * contexts do.
 */
static unsigned int dxk_user_contexts = 32;
module_param_named(user_contexts, dxk_user_contexts, uint, 0644);
MODULE_PARM_DESC(user_contexts,
		 "contexts that a user without CAP_SYS_RESOURCE may have made, 0: any number");

static bool dxk_too_many(const struct dxk_ctx *ctx)
{
	unsigned int max = READ_ONCE(dxk_user_contexts);
	const struct dxk_ctx *other;
	unsigned int nr = 0;

	lockdep_assert_held(&dxk_sessions_lock);

	list_for_each_entry(other, &dxk_joinable, joinable)
		nr += uid_eq(other->who.creator, ctx->who.creator);
	return max && nr >= max && !capable(CAP_SYS_RESOURCE);
}

/* Return: -EEXIST when the name is taken, -EMFILE when its maker has too many. */
static int dxk_offer(struct dxk_ctx *ctx)
{
	guard(mutex)(&dxk_sessions_lock);
	if (ctx->who.name[0] && dxk_find_name(ctx->who.ns, ctx->who.name))
		return -EEXIST;
	if (dxk_too_many(ctx))
		return -EMFILE;
	list_add_tail(&ctx->joinable, &dxk_joinable);
	return 0;
}

/**
 * dxk_session_create - make a context and its first descriptor
 * @a: what the caller asks for
 *
 * Return: the session, or an error pointer: see struct dxk_ctx_create.
 */
struct dxk_session *dxk_session_create(const struct dxk_ctx_create *a)
{
	struct dxk_session *s;
	int err;

	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->ctx = dxk_ctx_make(a);
	err = PTR_ERR_OR_ZERO(s->ctx);
	if (err)
		goto err_free;
	s->space = dxk_space_new(&s->ctx->engine);
	err = PTR_ERR_OR_ZERO(s->space);
	if (err)
		goto err_destroy;
	s->access = DXK_ACCESS_ALL;
	s->creator = true;
	err = dxk_offer(s->ctx);
	if (err)
		goto err_leave;
	return s;

err_leave:
	dxk_space_leave(&s->ctx->engine, s->space);
err_destroy:
	dxk_ctx_destroy(s->ctx);
err_free:
	kfree(s);
	return ERR_PTR(err);
}

static struct dxk_ctx *dxk_find(const struct dxk_ctx_join *a)
{
	struct dxk_ctx *ctx;

	if (!(a->flags & DXK_JOIN_BY_ID))
		return dxk_find_name(current->nsproxy->ipc_ns, a->name);
	list_for_each_entry(ctx, &dxk_joinable, joinable)
		if (ctx->id == a->id)
			return ctx;
	return NULL;
}

/* The context, if the caller may use it so; the caller counts as a descriptor. */
static struct dxk_ctx *dxk_find_get(const struct dxk_ctx_join *a)
{
	struct dxk_ctx *ctx;
	int err;

	guard(mutex)(&dxk_sessions_lock);
	ctx = dxk_find(a);
	err = ctx ? dxk_identity_permit(&ctx->who, a->access) : -ENOENT;
	if (err)
		return ERR_PTR(err);
	WRITE_ONCE(ctx->descriptors, ctx->descriptors + 1);
	return ctx;
}

static void dxk_ctx_put_descriptor(struct dxk_ctx *ctx)
{
	bool last;

	mutex_lock(&dxk_sessions_lock);
	WRITE_ONCE(ctx->descriptors, ctx->descriptors - 1);
	last = !ctx->descriptors;
	/* The name can be used again from here on, though threads may still be ending. */
	if (last)
		list_del(&ctx->joinable);
	mutex_unlock(&dxk_sessions_lock);
	if (last)
		dxk_ctx_destroy(ctx);
}

/**
 * dxk_session_join - open an existing context
 * @a: which, and what for; checked
 *
 * Return: the session, or an error pointer: see struct dxk_ctx_join.
 */
struct dxk_session *dxk_session_join(const struct dxk_ctx_join *a)
{
	struct dxk_session *s;
	int err;

	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->ctx = dxk_find_get(a);
	err = PTR_ERR_OR_ZERO(s->ctx);
	if (err)
		goto err_free;
	s->space = a->flags & DXK_JOIN_SHARED ? &s->ctx->engine.shared : dxk_space_new(&s->ctx->engine);
	err = PTR_ERR_OR_ZERO(s->space);
	if (err)
		goto err_put;
	s->access = a->access;
	return s;

err_put:
	dxk_ctx_put_descriptor(s->ctx);
err_free:
	kfree(s);
	return ERR_PTR(err);
}

/** dxk_session_close - the last copy of a context descriptor is closed */
void dxk_session_close(struct dxk_session *s)
{
	dxk_space_leave(&s->ctx->engine, s->space);
	dxk_ctx_put_descriptor(s->ctx);
	kfree(s);
}
