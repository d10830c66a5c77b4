// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names and permissions of contexts. Reading, writing and executing follow the rules of a
 * file, owner-only operations follow those of System V IPC.
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

/** dxk_name_valid - can a context have this name? It must suit a path and a terminal */
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
 * dxk_identity_payer - find the user to whom contexts of an opener of the device are charged
 * @opener: its credentials
 *
 * The creator of a user namespace controls all users in it, so the creator is charged. If root
 * created the namespace, the user itself is charged: root assigns users as it likes.
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
 * dxk_identity_set - set up the identity that a creator requests
 * @who: out, to be passed to dxk_identity_put()
 * @a: the creator's arguments
 *
 * Return: 0; -EINVAL for an invalid name, mode or id, -EPERM for an owner or group that
 * the caller cannot assign.
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
	/* Referenced, otherwise a later namespace at the same address would be mistaken for it. */
	who->ns = get_ipc_ns(ns);
	return 0;
}

void dxk_identity_put(struct dxk_identity *who)
{
	/* put_ipc_ns() is not available to modules on all kernels; this is equivalent */
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
 * dxk_identity_permit - may the caller use the context in these ways?
 * @who: of the context
 * @access: DXK_ACCESS_* bits
 *
 * Return: 0, -EACCES, or -ENOENT if the caller is in another namespace, which has no such
 * context.
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
 * dxk_identity_join - may the caller join the context, and is its owner the expected one?
 * @who: of the context
 * @a: the caller's arguments
 *
 * Return: 0, -EPERM if the owner is another one, or as dxk_identity_permit().
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
 * dxk_identity_is_free - may the caller take all of the context?
 * @who: of the context
 * @user: out, the user to whom the caller's use is charged, see dxk_identity_payer()
 *
 * Its owner, its creator and an administrator may.
 */
bool dxk_identity_is_free(const struct dxk_identity *who, kuid_t *user)
{
	*user = dxk_identity_payer(current_cred());
	return uid_eq(current_fsuid(), who->uid) || uid_eq(*user, who->creator) ||
	       ns_capable_noaudit(who->ns->user_ns, CAP_SYS_RESOURCE);
}

/** dxk_identity_tell - report owner, group and mode, with ids as the caller sees them */
void dxk_identity_tell(const struct dxk_identity *who, struct dxk_ctx_join *a)
{
	a->uid = from_kuid(current_user_ns(), who->uid);
	a->gid = from_kgid(current_user_ns(), who->gid);
	a->mode = who->mode;
}
