/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_ENGINE_STALL_H
#define _DXK_ENGINE_STALL_H

#include <linux/ratelimit.h>
#include <linux/types.h>

struct dxk_ctx;
struct dxk_wakes;

/**
 * struct dxk_stall - what the Monitor remembers of its last looks
 * @watched: (L) the Monitor knows that nobody can run, and looks again by itself
 * @since: (M) ktime of the first look that found nobody able to run, 0 for none
 * @progress: (M) moves that the context had made then
 * @reported: (M) it was told already
 * @limit: of lines for the kernel's log
 *
 * A stall is a context in which work exists and no worker can run any: each of
 * them is idle, with nothing admissible for it, or sleeps in a post, a rejoin or
 * a completion until another one does something. That is a property of counters,
 * known at any time under the lock. From within nothing ends it; from outside a
 * deadline, a signal, a further worker or Stop does. So it is told when it has
 * lasted.
 */
struct dxk_stall {
	bool watched;
	u64 since;
	u64 progress;
	bool reported;
	struct ratelimit_state limit;
};

bool dxk_nobody_can_run(const struct dxk_ctx *ctx);
void dxk_stall_suspect(struct dxk_ctx *ctx, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_STALL_H */
