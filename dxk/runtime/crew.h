/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_CREW_H
#define _DXK_RUNTIME_CREW_H

#include "engine/member.h"

struct dxk_ctx;
struct dxk_running;
struct dxk_session;

struct dxk_member *dxk_crew_vacancy(struct dxk_ctx *ctx);
u32 dxk_crew_count(struct dxk_ctx *ctx, enum dxk_kind kind);
int dxk_crew_fit(struct dxk_ctx *ctx);
int dxk_crew_review(struct dxk_ctx *ctx);
void dxk_crew_stop(struct dxk_ctx *ctx);
void dxk_crew_clear(struct dxk_ctx *ctx);
void dxk_crew_empty(struct dxk_ctx *ctx);
void dxk_crew_bury(struct dxk_ctx *ctx);
struct dxk_member *dxk_crew_spare_place(struct dxk_ctx *ctx);
bool dxk_running_next(struct dxk_ctx *ctx, u32 after, struct dxk_running *out);

void dxk_member_bury(struct dxk_member *m);
struct dxk_member *dxk_member_claim(struct dxk_ctx *ctx, const struct dxk_session *s,
				    enum dxk_member_kind kind, struct pid *pid);
void dxk_member_release(struct dxk_member *m);

#endif /* _DXK_RUNTIME_CREW_H */
