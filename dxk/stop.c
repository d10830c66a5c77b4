// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stop, as a move of the engine: refuse posts, wake who sleeps, cancel what is
 * Ready if so asked, and sleep until nothing executes.
 */
#include "move.h"
#include "role.h"
#include "stop.h"

/* Most requests that one lock hold cancels. */
#define DXK_CANCEL_BUDGET	256

static void dxk_cancel_some_run(struct dxk_ctx *ctx, struct dxk_op *op,
				struct dxk_wakes *wakes)
{
	struct dxk_list_op *l = container_of(op, struct dxk_list_op, op);
	u32 budget = DXK_CANCEL_BUDGET;
	struct dxk_rqe *rqe;

	while (budget-- && (rqe = dxk_ready_first(&ctx->ready)))
		dxk_cancel_ready(ctx, rqe, &l->ended, wakes);
	dxk_stop_workers(ctx, wakes);
}

static void dxk_cancel_all(struct dxk_ctx *ctx)
{
	struct dxk_list_op l = { };

	INIT_LIST_HEAD(&l.ended);
	while (READ_ONCE(ctx->nr[DXK_AT_READY])) {
		dxk_perform(ctx, &l.op, dxk_cancel_some_run);
		dxk_rqe_drop_all(NULL, &l.ended);
		cond_resched();
	}
}

static void dxk_stop_begin_run(struct dxk_ctx *ctx, struct dxk_op *op,
			       struct dxk_wakes *wakes)
{
	struct dxk_stop_op *s = container_of(op, struct dxk_stop_op, op);

	if (ctx->state == DXK_CTX_RUNNING || ctx->state == DXK_CTX_STOPPING)
		WRITE_ONCE(ctx->state, s->close ? DXK_CTX_STOPPED : DXK_CTX_STOPPING);
	ctx->cancelling |= s->cancel;
	dxk_stop_posters(ctx, wakes);
	dxk_stop_pollers(ctx, wakes);
	dxk_serve_blocked(ctx, wakes);
	dxk_stop_workers(ctx, wakes);
}

/** dxk_stop_begin - from here on the context only finishes what it has */
void dxk_stop_begin(struct dxk_ctx *ctx, bool cancel, bool close)
{
	struct dxk_stop_op s = { .cancel = cancel, .close = close };

	dxk_perform(ctx, &s.op, dxk_stop_begin_run);
	if (cancel)
		dxk_cancel_all(ctx);
}

static void dxk_stop_wait_run(struct dxk_ctx *ctx, struct dxk_op *op,
			      struct dxk_wakes *wakes)
{
	struct dxk_stop_op *s = container_of(op, struct dxk_stop_op, op);

	list_add_tail(&s->w.link, &ctx->stoppers);
	dxk_stop_workers(ctx, wakes);
}

/**
 * dxk_stop_wait - sleep until nothing is Ready and nothing executes
 * @ctx: stopping
 * @deadline: of the sleep
 */
int dxk_stop_wait(struct dxk_ctx *ctx, u64 deadline)
{
	struct dxk_stop_op s = { };

	dxk_waiter_init(&s.w);
	dxk_perform(ctx, &s.op, dxk_stop_wait_run);
	return dxk_waiter_sleep(ctx, &s.w, deadline);
}
