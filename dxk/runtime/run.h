/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_RUN_H
#define _DXK_RUNTIME_RUN_H

#include <linux/types.h>

struct attribute_group;
struct dxk_ctx;

bool dxk_run_step_down(struct dxk_ctx *ctx);
void dxk_run_setup(const struct attribute_group **groups);

#endif /* _DXK_RUNTIME_RUN_H */
