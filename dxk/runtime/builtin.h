/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_BUILTIN_H
#define _DXK_RUNTIME_BUILTIN_H

#include <linux/types.h>

struct dxk_command;
struct dxk_ctx;

/* Runs built-in commands: a dxk_builtin_fn. */
void dxk_builtin_run(struct dxk_ctx *ctx, struct dxk_command *cmd, u64 deadline);

#endif /* _DXK_RUNTIME_BUILTIN_H */
