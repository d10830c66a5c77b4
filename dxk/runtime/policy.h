/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_POLICY_H
#define _DXK_RUNTIME_POLICY_H

#include "engine/policy.h"

struct dxk_ctx;

int dxk_policy_set(struct dxk_ctx *ctx, struct dxk_policy *policy);
void dxk_policy_get(struct dxk_ctx *ctx, struct dxk_policy *policy);
int dxk_policy_set_field(struct dxk_ctx *ctx, const struct dxk_field *f, u32 value,
			 u32 *bad_field);
bool dxk_policy_review(struct dxk_ctx *ctx);

#endif /* _DXK_RUNTIME_POLICY_H */
