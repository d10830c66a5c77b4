/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a context tells of its requests: to the ioctls and, exported, to other modules.
 */
#ifndef _DXK_RUNTIME_LOOK_H
#define _DXK_RUNTIME_LOOK_H

#include <linux/types.h>

struct dxk_ctx;
struct dxk_running;

/**
 * struct dxk_running_sink - where a report of what executes goes
 */
struct dxk_running_sink {
	/** @put: takes the @i-th one. Return: 0, or the report ends with that error */
	int (*put)(struct dxk_running_sink *sink, const struct dxk_running *r, u32 i);
};

int dxk_running_tell(struct dxk_ctx *ctx, struct dxk_running_sink *sink, u32 nr);

#endif /* _DXK_RUNTIME_LOOK_H */
