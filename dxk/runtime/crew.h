/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_CREW_H
#define _DXK_RUNTIME_CREW_H

#include "engine/member.h"

struct dxk_ctx;
struct dxk_running;
struct dxk_session;
struct task_struct;

int dxk_crew_review(struct dxk_ctx *ctx);
void dxk_crew_look(struct dxk_ctx *ctx);
void dxk_crew_reap(struct dxk_ctx *ctx);
bool dxk_crew_end(struct dxk_ctx *ctx);
void dxk_crew_bind(struct dxk_ctx *ctx);
void dxk_crew_bury(struct dxk_ctx *ctx);
bool dxk_running_next(struct dxk_ctx *ctx, u32 after, struct dxk_running *out);

struct dxk_member *dxk_member_claim(struct dxk_ctx *ctx, const struct dxk_session *s,
				    enum dxk_member_kind kind, u8 home,
				    struct task_struct *user);
void dxk_member_release(struct dxk_member *m);

#endif /* _DXK_RUNTIME_CREW_H */
