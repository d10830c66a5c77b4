// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the engine wants of the kernel, see engine/os.h.
 */
#include <linux/poll.h>

#include "engine/os.h"
#include "runtime/context.h"

/** os_kick - a control thread has something to do */
void os_kick(struct dxk_engine *e, u32 who)
{
	dxk_thread_kick(&dxk_ctx_of(e)->control[who]);
}

/** os_poll_workers - user workers in poll(2) have something to look for */
void os_poll_workers(struct dxk_engine *e)
{
	struct dxk_ctx *ctx = dxk_ctx_of(e);

	/* Who comes now looks after the lock hold that has filled the pool. */
	if (waitqueue_active(&ctx->work_wait))
		wake_up_interruptible_poll(&ctx->work_wait, EPOLLIN | EPOLLRDNORM);
}
