// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Stop, as a move of the engine: refuse posts, wake who sleeps, cancel what is
 * Ready if so asked, and sleep until nothing executes.
 */
#include "engine/dispatch.h"
#include "engine/next.h"
#include "engine/onblock.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/rejoin.h"
#include "engine/state.h"
#include "engine/stop.h"

/* Most requests that one lock hold cancels. */
#define DXK_CANCEL_BUDGET	256

void dxk_cancel_some_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_list_op *l = container_of(op, struct dxk_list_op, op);
	u32 budget = DXK_CANCEL_BUDGET;
	struct dxk_rqe *rqe;

	while (budget-- && (rqe = dxk_ready_first(&e->ready)))
		dxk_cancel_ready(e, rqe, &l->ended, wakes);
	dxk_stop_workers(e, wakes);
}

/* --- who is asked to end ---------------------------------------------------- */

/**
 * dxk_is_to_end - should a request with these attributes end soon?
 * @e: its context
 * @attrs: its attributes
 *
 * A service runs for the duration
 * of the application, so every Stop is for it (DX-109); others Stop(drain) lets
 * finish.
 */
bool dxk_is_to_end(const struct dxk_engine *e, u32 attrs)
{
	switch (READ_ONCE(e->state)) {
	case DXK_CTX_STOPPED:
		return true;
	case DXK_CTX_STOPPING:
		return attrs & PXR_LANE0 || READ_ONCE(e->cancelling);
	default:
		return false;
	}
}

/* One that executes nothing is taken for a service. */
static bool dxk_member_is_to_end(const struct dxk_member *m)
{
	return dxk_is_to_end(m->engine, m->held ? m->work.attrs : PXR_LANE0);
}

void dxk_should_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_should_op *s = container_of(op, struct dxk_should_op, op);

	s->answer = dxk_member_is_to_end(s->m);
	if (s->answer || !s->wait)
		dxk_waiter_finish(&s->w, wakes);
	else
		list_add_tail(&s->w.link, &e->services);
}

static void dxk_stop_services(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct dxk_should_op *s, *next;

	lockdep_assert_held(&e->lock);

	list_for_each_entry_safe(s, next, &e->services, w.link) {
		s->answer = dxk_member_is_to_end(s->m);
		if (s->answer)
			dxk_waiter_finish(&s->w, wakes);
	}
}

/* --- Stop ------------------------------------------------------------------- */

void dxk_stop_begin_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_stop_op *s = container_of(op, struct dxk_stop_op, op);

	if (e->state == DXK_CTX_RUNNING || e->state == DXK_CTX_STOPPING)
		WRITE_ONCE(e->state, s->close ? DXK_CTX_STOPPED : DXK_CTX_STOPPING);
	e->cancelling |= s->cancel;
	dxk_stop_posters(e, wakes);
	dxk_stop_pollers(e, wakes);
	dxk_serve_blocked(e, wakes);
	dxk_stop_services(e, wakes);
	dxk_stop_workers(e, wakes);
	if (s->close)
		dxk_stop_managers(e, wakes);
}

void dxk_stop_wait_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_stop_op *s = container_of(op, struct dxk_stop_op, op);

	list_add_tail(&s->w.link, &e->stoppers);
	dxk_stop_workers(e, wakes);
}
