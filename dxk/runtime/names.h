/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_NAMES_H
#define _DXK_RUNTIME_NAMES_H

#include <linux/types.h>

struct dxk_ctx;
struct dxk_ctx_join;

int dxk_names_offer(struct dxk_ctx *ctx);
int dxk_names_admit(struct dxk_ctx *ctx, u32 nr);
int dxk_names_charge(struct dxk_ctx *ctx);
void dxk_names_uncharge(struct dxk_ctx *ctx);
void dxk_names_forget(struct dxk_ctx *ctx);
struct dxk_ctx *dxk_names_find(const struct dxk_ctx_join *a);
int dxk_names_get(struct dxk_ctx *ctx);
bool dxk_names_put(struct dxk_ctx *ctx);

#endif /* _DXK_RUNTIME_NAMES_H */
