// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Who is asked to end: by Stop, or because what it executes is cancelled or has expired.
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

/** dxk_member_is_to_end - is what the member executes? With nothing it is taken for a service */
bool dxk_member_is_to_end(const struct dxk_member *m)
{
	return dxk_is_to_end(m->engine, m->held ? m->work.attrs : PXR_LANE0) ||
	       (m->held && m->told);
}

/** dxk_should_answer - the request of a member that may sleep so is told to end */
void dxk_should_answer(struct dxk_should_op *s, struct dxk_wakes *wakes)
{
	if (list_empty(&s->w.link))
		return;
	s->answer = true;
	dxk_waiter_finish(&s->w, wakes);
}

/** dxk_should_run - a member asks whether to end, and may sleep until so */
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
