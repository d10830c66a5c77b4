/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_ROLE_H
#define _DXK_ROLE_H

#include "context.h"

/**
 * dxk_perform - run one operation in the dispatcher role
 * @ctx: the context
 * @op: the operation, embedded in its arguments
 * @run: what to do under the lock
 *
 * Policy dispatch=direct: the caller is the dispatcher for one lock hold.
 * dispatch=thread: thread 700 is. In both cases the operation, and the dispatch
 * that it makes possible, is over when this returns; the operation may have
 * queued the caller as a waiter, see dxk_waiter_sleep(). Inlined so that @run is
 * a direct call.
 */
static __always_inline void dxk_perform(struct dxk_ctx *ctx, struct dxk_op *op,
					dxk_op_fn *run)
{
	/* Large: what dxk_wakes_init() leaves out is never read. */
	struct dxk_wakes wakes __uninitialized;

	if (unlikely(!READ_ONCE(ctx->direct)) && dxk_publish(ctx, op, run))
		return;

	dxk_wakes_init(&wakes);
	spin_lock(&ctx->lock);
	run(ctx, op, &wakes);
	dxk_dispatch(ctx, &wakes);
	spin_unlock(&ctx->lock);
	dxk_wakes_flush(ctx, &wakes);
}

#endif /* _DXK_ROLE_H */
