/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports of a context's requests: for the ioctls and, exported, for other modules.
 */
#ifndef _DXK_RUNTIME_LOOK_H
#define _DXK_RUNTIME_LOOK_H

#include <linux/types.h>

struct dxk_ctx;
struct dxk_running;

/**
 * struct dxk_running_sink - the destination of a report of executing requests
 */
struct dxk_running_sink {
	/** @put: takes the @i-th entry. Return: 0, or an error that ends the report */
	int (*put)(struct dxk_running_sink *sink, const struct dxk_running *r, u32 i);
};

int dxk_running_tell(struct dxk_ctx *ctx, struct dxk_running_sink *sink, u32 nr);

#endif /* _DXK_RUNTIME_LOOK_H */
