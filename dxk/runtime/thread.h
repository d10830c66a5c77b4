/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_THREAD_H
#define _DXK_RUNTIME_THREAD_H

#include "engine/member.h"

struct dxk_ctx;

struct dxk_member *dxk_member_at(struct dxk_ctx *ctx, u32 id);
struct dxk_member *dxk_member_new(struct dxk_ctx *ctx, u32 id);
void dxk_member_occupy(struct dxk_member *m, enum dxk_role role, enum dxk_kind kind);
void dxk_member_attach(struct dxk_member *m);
struct dxk_member *dxk_member_control(struct dxk_ctx *ctx, u32 id);
void dxk_member_retire(struct dxk_member *m);
bool dxk_member_is_dead(const struct dxk_member *m);

#endif /* _DXK_RUNTIME_THREAD_H */
