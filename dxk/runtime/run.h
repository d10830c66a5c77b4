/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_RUN_H
#define _DXK_RUNTIME_RUN_H

#include <linux/types.h>

#include "uapi/dxk.h"

struct attribute_group;
struct dxk_ctx;

int dxk_ctx_wind_down(struct dxk_ctx *ctx, enum dxk_stop_mode mode, u64 deadline);
void dxk_run_end(struct dxk_ctx *ctx);
void dxk_run_init(const struct attribute_group **groups);

#endif /* _DXK_RUNTIME_RUN_H */
