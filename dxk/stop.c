// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stop, as a move of the engine: refuse posts, wake who sleeps, cancel what is
 * Ready if so asked, and sleep until nothing executes.
 */
#include <linux/export.h>
#include <linux/jiffies.h>

#include "dispatch.h"
#include "dxk_api.h"
#include "move.h"
#include "next.h"
#include "post.h"
#include "rejoin.h"
#include "relief.h"
#include "stop.h"
#include "ucall.h"

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

/* --- who is asked to end ---------------------------------------------------- */

/*
 * Should a request with these attributes end soon? A service runs for the duration
 * of the application, so every Stop is for it (DX-109); others Stop(drain) lets
 * finish.
 */
static bool dxk_is_to_end(const struct dxk_ctx *ctx, u32 attrs)
{
	switch (READ_ONCE(ctx->state)) {
	case DXK_CTX_STOPPED:
		return true;
	case DXK_CTX_STOPPING:
		return attrs & PXR_LANE0 || READ_ONCE(ctx->cancelling);
	default:
		return false;
	}
}

/* One that executes nothing is taken for a service. */
static bool dxk_member_is_to_end(const struct dxk_member *m)
{
	return dxk_is_to_end(m->ctx, m->held ? m->work.attrs : PXR_LANE0);
}

static void dxk_should_run(struct dxk_ctx *ctx, struct dxk_op *op,
			   struct dxk_wakes *wakes)
{
	struct dxk_should_op *s = container_of(op, struct dxk_should_op, op);

	s->answer = dxk_member_is_to_end(s->m);
	if (s->answer || !s->wait)
		dxk_waiter_finish(&s->w, wakes);
	else
		list_add_tail(&s->w.link, &ctx->services);
}

static void dxk_stop_services(struct dxk_ctx *ctx, struct dxk_wakes *wakes)
{
	struct dxk_should_op *s, *next;

	lockdep_assert_held(&ctx->lock);

	list_for_each_entry_safe(s, next, &ctx->services, w.link) {
		s->answer = dxk_member_is_to_end(s->m);
		if (s->answer)
			dxk_waiter_finish(&s->w, wakes);
	}
}

/**
 * dxk_should_stop - does the context want this request to end soon?
 * @call: the running request
 *
 * Context: any.
 * Return: true for a service request of lane 0 from the begin of Stop on, for every
 * request from the begin of Stop(cancel) or the close of the context on.
 */
bool dxk_should_stop(const struct dxk_call *call)
{
	return dxk_is_to_end(call->self->ctx, call->attrs);
}
EXPORT_SYMBOL_GPL(dxk_should_stop);

long dxk_should_stop_ioctl(struct dxk_member *m, struct dxk_ucall *c)
{
	const struct dxk_should_stop *a = &c->args.should_stop;
	struct dxk_should_op s = { .m = m, .wait = a->deadline };
	int err;

	if (a->flags)
		return -EOPNOTSUPP;
	dxk_waiter_init(&s.w);
	dxk_perform(m->ctx, &s.op, dxk_should_run);
	err = dxk_waiter_sleep(m->ctx, &s.w, a->deadline);
	return err && err != -ETIMEDOUT ? err : s.answer;
}

/* --- Stop ------------------------------------------------------------------- */

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
	dxk_stop_services(ctx, wakes);
	dxk_stop_workers(ctx, wakes);
	if (s->close)
		dxk_stop_managers(ctx, wakes);
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

/**
 * dxk_running_next - what a worker executes that Stop waits for (DX-114)
 * @ctx: the context
 * @after: id of the worker before, 0 for the first
 * @out: the first worker with a higher id that holds a request
 *
 * Return: false when there is none.
 */
bool dxk_running_next(struct dxk_ctx *ctx, u32 after, struct dxk_running *out)
{
	struct dxk_member *m;
	bool found = false;
	unsigned long id;

	mutex_lock(&ctx->mutex);
	xa_for_each_range(&ctx->crew.members, id, m, after + 1, DXK_ID_WORKER_MAX) {
		spin_lock(&ctx->lock);
		found = m->held;
		if (found)
			*out = m->work;
		spin_unlock(&ctx->lock);
		if (!found)
			continue;
		out->thread = m->id;
		out->age_ns = jiffies_to_nsecs(jiffies - READ_ONCE(m->since));
		break;
	}
	mutex_unlock(&ctx->mutex);
	return found;
}
