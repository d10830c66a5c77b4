/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_ASSIGN_H
#define _DXK_ENGINE_ASSIGN_H

#include "engine/engine.h"
#include "engine/more.h"
#include "engine/os.h"
#include "engine/state.h"
#include "trace.h"

void dxk_assigned(struct dxk_engine *e, enum dxk_kind kind, struct dxk_wakes *wakes);

/** dxk_member_note - record what the Monitor and Stop will report about the worker */
static inline void dxk_member_note(struct dxk_member *m, const struct dxk_rqe *rqe)
{
	m->work.executor = rqe->executor;
	m->work.owner = rqe->cookie;
	m->work_space = rqe->owner->space->id;
	m->work.param = rqe->param;
	m->work.attrs = rqe->attrs;
	m->work_ticket = rqe->ticket;
	m->work_seq = rqe->seq;
	m->since = os_clock();
	m->told = unlikely(rqe->more) && (rqe->more->cancelled || rqe->more->expired);
}

/**
 * dxk_assign_one - dxk_assign() for one of several; dxk_member_note() for the last one follows
 *
 * Inlined, as every request passes here.
 */
static __always_inline void dxk_assign_one(struct dxk_engine *e, struct dxk_member *m,
					   struct dxk_rqe *rqe, struct list_head *work,
					   struct dxk_wakes *wakes)
{
	rqe->prio = clamp_t(s64, dxk_ready_serve(&e->ready, rqe), S32_MIN, S32_MAX);
	rqe->inspect = min_t(u64, e->ready.tick - rqe->tick0, U32_MAX);
	rqe->ticket = ++e->ticket;
	rqe->worker = m->id;
	rqe->attempts++;
	if (!m->held++)
		m->began = m->executed;
	if (unlikely(rqe->more)) {
		rqe->more->worker = m;
		e->stats.homeless += dxk_is_homeless(&e->ready, rqe);
	}
	dxk_move(e, rqe, DXK_READY, DXK_DISPATCHED);
	dxk_rqe_join(rqe, work);
	e->stats.dispatches++;
	trace_dxk_dispatch(e->id, rqe);
	if (unlikely(e->dormant[DXK_MONITOR] | dxk_room_is_awaited(&e->ready)))
		dxk_assigned(e, rqe->kind, wakes);
}

/**
 * dxk_assign - give a worker a request that was taken out of the Ready Pool (DX-78)
 * @e: the engine, locked
 * @m: the worker
 * @rqe: READY, admitted, no longer in the pool
 * @work: gets it
 * @wakes: gets the wake-ups of posters
 */
static __always_inline void dxk_assign(struct dxk_engine *e, struct dxk_member *m,
				       struct dxk_rqe *rqe, struct list_head *work,
				       struct dxk_wakes *wakes)
{
	dxk_assign_one(e, m, rqe, work, wakes);
	dxk_member_note(m, rqe);
}

#endif /* _DXK_ENGINE_ASSIGN_H */
