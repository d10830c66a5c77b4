// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names and permissions of contexts: those of a file for reading, writing and
 * executing, those of System V IPC for what only the owner may.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/ipc_namespace.h>
#include <linux/nsproxy.h>
#include <linux/proc_ns.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "runtime/identity.h"

/** dxk_name_valid - can a context have this name? Fits into a path and a terminal */
bool dxk_name_valid(const char *name)
{
	const char *c;

	if (strnlen(name, DXK_NAME_LEN) == DXK_NAME_LEN)
		return false;
	for (c = name; *c; c++)
		if (!isascii(*c) || !isgraph(*c) || *c == '/')
			return false;
	return *name && strcmp(name, ".") && strcmp(name, "..");
}

/**
 * dxk_identity_payer - the user for whom the contexts of an opener of the device count
 * @opener: its credentials
 *
 * Who has made a user namespace has all the users in it, so that one counts, unless root
 * made it, which gives users to whom it likes.
 */
kuid_t dxk_identity_payer(const struct cred *opener)
{
	const struct user_namespace *ns;
	kuid_t uid = opener->uid;

	for (ns = opener->user_ns; ns->parent; ns = ns->parent) {
		if (uid_eq(ns->owner, GLOBAL_ROOT_UID))
			break;
		uid = ns->owner;
	}
	return uid;
}

/**
 * dxk_identity_set - the identity that a creator asks for
 * @who: out, to be given to dxk_identity_put()
 * @a: what it asks for
 *
 * Return: 0; -EINVAL for a name, mode or id that cannot be, -EPERM for an owner or
 * group that the caller cannot give.
 */
int dxk_identity_set(struct dxk_identity *who, const struct dxk_ctx_create *a)
{
	struct ipc_namespace *ns = current->nsproxy->ipc_ns;

	if (a->mode & ~0777U || (a->name[0] && !dxk_name_valid(a->name)))
		return -EINVAL;
	who->uid = current_fsuid();
	who->gid = current_fsgid();
	if (a->flags & DXK_CTX_CHOWN) {
		kuid_t uid = make_kuid(current_user_ns(), a->uid);
		kgid_t gid = make_kgid(current_user_ns(), a->gid);

		if (!uid_valid(uid) || !gid_valid(gid))
			return -EINVAL;
		if ((!uid_eq(uid, who->uid) ||
		     (!gid_eq(gid, who->gid) && !in_group_p(gid))) &&
		    !ns_capable(ns->user_ns, CAP_CHOWN))
			return -EPERM;
		who->uid = uid;
		who->gid = gid;
	} else if (a->uid || a->gid) {
		return -EINVAL;
	}
	who->mode = a->mode;
	strscpy(who->name, a->name, sizeof(who->name));
	/* Kept, else a later namespace at the same address would be taken for it. */
	who->ns = get_ipc_ns(ns);
	return 0;
}

void dxk_identity_put(struct dxk_identity *who)
{
	/* put_ipc_ns() is not for modules on all kernels; this is the same */
	if (who->ns && who->ns->ns.ops)
		who->ns->ns.ops->put(&who->ns->ns);
	who->ns = NULL;
}

/** dxk_identity_here - is the caller in the IPC namespace of the context? */
bool dxk_identity_here(const struct dxk_identity *who)
{
	return !who->ns || current->nsproxy->ipc_ns == who->ns;
}

/**
 * dxk_identity_permit - may the caller use the context so?
 * @who: of the context
 * @access: DXK_ACCESS_* bits
 *
 * Return: 0, -EACCES, or -ENOENT from another namespace: it has no such context.
 */
int dxk_identity_permit(const struct dxk_identity *who, u32 access)
{
	bool owner = uid_eq(current_fsuid(), who->uid);
	u32 granted = who->mode;

	if (!who->ns || !dxk_identity_here(who))
		return -ENOENT;
	if (owner)
		granted >>= 6;
	else if (in_group_p(who->gid))
		granted >>= 3;
	granted &= DXK_ACCESS_READ | DXK_ACCESS_WRITE | DXK_ACCESS_EXECUTE;
	if (access & ~granted & ~DXK_ACCESS_CONTROL &&
	    !ns_capable(who->ns->user_ns, CAP_IPC_OWNER))
		return -EACCES;
	if (access & DXK_ACCESS_CONTROL && !owner &&
	    !ns_capable(who->ns->user_ns, CAP_SYS_ADMIN))
		return -EACCES;
	return 0;
}

/**
 * dxk_identity_join - may the caller join the context, and is it whose the caller wants?
 * @who: of the context
 * @a: what the caller asks for
 *
 * Return: 0, -EPERM for another owner's, or as dxk_identity_permit().
 */
int dxk_identity_join(const struct dxk_identity *who, const struct dxk_ctx_join *a)
{
	int err = dxk_identity_permit(who, a->access);

	if (!err && a->flags & DXK_JOIN_OWNER &&
	    !uid_eq(who->uid, make_kuid(current_user_ns(), a->uid)))
		err = -EPERM;
	return err;
}

/**
 * dxk_identity_is_free - may the caller have all of the context?
 * @who: of the context
 * @user: out, for which user it counts what the caller has, see dxk_identity_payer()
 *
 * Its owner may, its creator, and an administrator.
 */
bool dxk_identity_is_free(const struct dxk_identity *who, kuid_t *user)
{
	*user = dxk_identity_payer(current_cred());
	return uid_eq(current_fsuid(), who->uid) || uid_eq(*user, who->creator) ||
	       ns_capable_noaudit(who->ns->user_ns, CAP_SYS_RESOURCE);
}

/** dxk_identity_tell - whose the context is, in the caller's numbers */
void dxk_identity_tell(const struct dxk_identity *who, struct dxk_ctx_join *a)
{
	a->uid = from_kuid(current_user_ns(), who->uid);
	a->gid = from_kgid(current_user_ns(), who->gid);
	a->mode = who->mode;
}
