/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_SESSION_H
#define _DXK_RUNTIME_SESSION_H

#include <linux/types.h>

struct cred;
struct dxk_ctx;
struct dxk_ctx_create;
struct dxk_space;

/**
 * struct dxk_session - a context descriptor; all (C)
 */
struct dxk_session {
	/** @ctx: the context; it lives as long as any of its sessions */
	struct dxk_ctx *ctx;
	/** @space: owner cookies of its members */
	struct dxk_space *space;
	/** @share: the part of the context that its users may take, see engine/share.h */
	u8 share;
	/** @access: DXK_ACCESS_* bits, as granted when it was opened */
	u32 access;
	/** @creator: made with the context: its first client is the main thread */
	bool creator;
};

struct dxk_session *dxk_session_create(const struct dxk_ctx_create *a,
				       const struct cred *opener);

#endif /* _DXK_RUNTIME_SESSION_H */
