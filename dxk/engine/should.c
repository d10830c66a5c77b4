// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Requests to members to end: by Stop, or because what they execute is cancelled or has expired.
 */
#include "engine/engine.h"
#include "engine/os.h"
#include "engine/should.h"
#include "engine/stall.h"

/**
 * dxk_is_to_end - should a request with these attributes end soon?
 * @e: its context
 * @attrs: its attributes
 *
 * A service runs for the duration of the application, so every Stop applies to it
 * (DX-109). Stop(drain) lets other requests finish.
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

/** dxk_member_is_to_end - is its request to end? Without one the member counts as a service */
bool dxk_member_is_to_end(const struct dxk_member *m)
{
	return dxk_is_to_end(m->engine, m->held ? m->work.attrs : PXR_LANE0) ||
	       (m->held && m->told);
}

/** dxk_should_answer - notify a member, if it sleeps for that, that its request is to end */
void dxk_should_answer(struct dxk_should_op *s, struct dxk_wakes *wakes)
{
	if (list_empty(&s->w.link))
		return;
	s->answer = true;
	dxk_waiter_finish(&s->w, wakes);
}

/** dxk_should_run - a member queries whether it is to end, and may sleep until it is */
void dxk_should_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_should_op *s = container_of(op, struct dxk_should_op, op);

	s->answer = dxk_member_is_to_end(s->m);
	if (s->answer || !s->wait) {
		dxk_waiter_finish(&s->w, wakes);
		return;
	}
	list_add_tail(&s->w.link, &e->services);
	s->m->should = s;
	s->w.count = s->timed ? NULL : dxk_crew_resters(&e->crew, s->m);
	if (s->w.count)
		(*s->w.count)++;
	dxk_stall_suspect(e, wakes);
}
