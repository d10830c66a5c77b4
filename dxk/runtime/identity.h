/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_IDENTITY_H
#define _DXK_RUNTIME_IDENTITY_H

#include <linux/types.h>
#include <linux/uidgid.h>

#include "uapi/dxk.h"

struct ipc_namespace;

/**
 * struct dxk_identity - how a context is found and who may use it; all (C)
 */
struct dxk_identity {
	/** @name: empty for none */
	char name[DXK_NAME_LEN];
	/** @uid: owner */
	kuid_t uid;
	/** @gid: group */
	kgid_t gid;
	/** @creator: the user to whom the context is charged */
	kuid_t creator;
	/** @mode: permission bits, 0..0777 */
	u16 mode;
	/**
	 * @ns: the IPC namespace it belongs to, referenced; NULL for a context of the
	 * kernel's own, which is visible in every namespace and which nobody can join
	 */
	struct ipc_namespace *ns;
};

#define DXK_ACCESS_ALL	(DXK_ACCESS_EXECUTE | DXK_ACCESS_WRITE | DXK_ACCESS_READ | \
			 DXK_ACCESS_CONTROL)

struct cred;

kuid_t dxk_identity_payer(const struct cred *opener);
int dxk_identity_set(struct dxk_identity *who, const struct dxk_ctx_create *a);
void dxk_identity_put(struct dxk_identity *who);
bool dxk_identity_here(const struct dxk_identity *who);
int dxk_identity_permit(const struct dxk_identity *who, u32 access);
int dxk_identity_join(const struct dxk_identity *who, const struct dxk_ctx_join *a);
bool dxk_identity_is_free(const struct dxk_identity *who, kuid_t *user);
void dxk_identity_tell(const struct dxk_identity *who, struct dxk_ctx_join *a);
bool dxk_name_valid(const char *name);

#endif /* _DXK_RUNTIME_IDENTITY_H */
