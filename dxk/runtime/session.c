// SPDX-License-Identifier: GPL-2.0-only
/*
 * The descriptors of contexts: the first one comes with the context, further ones by
 * joining it by name or number. The close of the last one ends the context.
 */
#include <linux/export.h>
#include <linux/slab.h>

#include "dxk_api.h"
#include "engine/calls.h"
#include "runtime/context.h"
#include "runtime/names.h"
#include "runtime/session.h"
#include "services/log.h"

/**
 * dxk_session_create - make a context and its first descriptor
 * @a: the caller's arguments
 * @opener: credentials of the opener of the device, to whom the context is charged
 *
 * Return: the session, or an error pointer: see struct dxk_ctx_create.
 */
struct dxk_session *dxk_session_create(const struct dxk_ctx_create *a,
				       const struct cred *opener)
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
	s->ctx->who.creator = dxk_identity_payer(opener);
	s->space = dxk_space_new(&s->ctx->engine);
	err = PTR_ERR_OR_ZERO(s->space);
	if (err)
		goto err_destroy;
	s->access = DXK_ACCESS_ALL;
	s->creator = true;
	err = dxk_names_offer(s->ctx);
	if (err)
		goto err_leave;
	return s;

err_leave:
	dxk_space_leave(&s->ctx->engine, s->space);
err_destroy:
	dxk_ctx_end(s->ctx);
err_free:
	kfree(s);
	return ERR_PTR(err);
}

/* Find the context, if the caller may use it so; counts the caller as a descriptor. */
static struct dxk_ctx *dxk_find_get(const struct dxk_ctx_join *a)
{
	struct dxk_ctx *ctx = dxk_names_find(a);
	int err;

	if (!ctx)
		return ERR_PTR(-ENOENT);
	/* This may call a security module, so it is done without the lock. */
	err = dxk_identity_join(&ctx->who, a) ?: dxk_names_get(ctx);
	kobject_put(&ctx->kobj);
	return err ? ERR_PTR(err) : ctx;
}

/* Open the share of the caller, or of a tenant that it admits, see engine/share.h. */
static int dxk_session_share(struct dxk_ctx *ctx, const struct dxk_ctx_join *a)
{
	bool tenant = a->weight || a->ready_entries;
	bool changed = true;
	kuid_t user;
	u32 share;

	if (dxk_identity_is_free(&ctx->who, &user)) {
		if (!tenant)
			return 0;
		share = dxk_share_open_space(&ctx->engine, a->weight, a->ready_entries);
		if (!share)
			return -ENOSPC;
	} else {
		if (tenant)
			return -EPERM;
		share = dxk_share_open(&ctx->engine, __kuid_val(user), &changed);
	}
	if (changed)
		dxk_log_new_user(&ctx->log, share);
	return share;
}

static void dxk_ctx_put_descriptor(struct dxk_ctx *ctx)
{
	if (dxk_names_put(ctx))
		dxk_ctx_end(ctx);
}

static struct dxk_session *dxk_session_join(const struct dxk_ctx_join *a)
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
	s->space = a->flags & DXK_JOIN_SHARED ? &s->ctx->engine.shared :
						dxk_space_new(&s->ctx->engine);
	err = PTR_ERR_OR_ZERO(s->space);
	if (err)
		goto err_put;
	s->access = a->access;
	err = dxk_session_share(s->ctx, a);
	if (err < 0)
		goto err_leave;
	s->share = err;
	return s;

err_leave:
	dxk_space_leave(&s->ctx->engine, s->space);
err_put:
	dxk_ctx_put_descriptor(s->ctx);
err_free:
	kfree(s);
	return ERR_PTR(err);
}

static int dxk_ctx_join_check(const struct dxk_ctx_join *a)
{
	bool by_id = a->flags & DXK_JOIN_BY_ID;

	if (a->flags & ~(DXK_JOIN_SHARED | DXK_JOIN_BY_ID | DXK_JOIN_OWNER) ||
	    a->access & ~DXK_ACCESS_ALL)
		return -EOPNOTSUPP;
	if (a->abi != DXK_ABI_VERSION)
		return -EPROTONOSUPPORT;
	if (!a->access || a->reserved || (by_id ? a->name[0] : !dxk_name_valid(a->name)))
		return -EINVAL;
	if (a->weight > DXK_WEIGHT_MAX || a->ready_entries > 1U << 20 ||
	    (a->flags & DXK_JOIN_SHARED && a->weight | a->ready_entries))
		return -EINVAL;
	return 0;
}

/**
 * dxk_ctx_join - open a context that a program made (DX-7)
 * @a: the context and the requested access, see struct dxk_ctx_join; size and fd are ignored.
 *	Receives the id, owner, group and mode
 *
 * Uses the rights and the IPC namespace of the calling thread: those of a user within that
 * user's system call, those of root in a kernel thread; use override_creds() for others. The
 * context lives until every session and every descriptor of it is closed. It must never be
 * passed to dxk_ctx_destroy().
 *
 * Context: process, may sleep; not a thread that exits.
 * Return: the session, to be passed to dxk_session_close(), or an error pointer: see struct
 * dxk_ctx_join; -EINVAL, -EOPNOTSUPP; -ENOMEM.
 */
struct dxk_session *dxk_ctx_join(struct dxk_ctx_join *a)
{
	int err = dxk_ctx_join_check(a);
	struct dxk_session *s;

	if (err)
		return ERR_PTR(err);
	s = dxk_session_join(a);
	if (IS_ERR(s))
		return s;
	a->id = s->ctx->id;
	dxk_identity_tell(&s->ctx->who, a);
	return s;
}
EXPORT_SYMBOL_GPL(dxk_ctx_join);

/**
 * dxk_session_ctx - get the context of a session, for calls that need a right
 * @s: the session
 * @access: DXK_ACCESS_* bits that the calls need, see DOC: permissions of the contract
 *
 * Context: any.
 * Return: the context, valid until the session is closed; -EACCES: the session was not joined
 * with that access.
 */
struct dxk_ctx *dxk_session_ctx(const struct dxk_session *s, u32 access)
{
	return access & ~s->access ? ERR_PTR(-EACCES) : s->ctx;
}
EXPORT_SYMBOL_GPL(dxk_session_ctx);

/**
 * dxk_session_close - end a session: at the last copy of a descriptor, or for a module
 * @s: the session; a command handler attached through it must be detached before
 *
 * Its clients may stay and continue as long as the context lives. The close of the last session
 * ends the context, without waiting for that end.
 *
 * Context: process, may sleep.
 */
void dxk_session_close(struct dxk_session *s)
{
	dxk_space_leave(&s->ctx->engine, s->space);
	dxk_share_close(&s->ctx->engine, s->share);
	dxk_ctx_put_descriptor(s->ctx);
	kfree(s);
}
EXPORT_SYMBOL_GPL(dxk_session_close);
