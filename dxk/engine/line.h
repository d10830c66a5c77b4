/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * In which line a request waits, see enum dxk_line.
 */
#ifndef _DXK_ENGINE_LINE_H
#define _DXK_ENGINE_LINE_H

#include "engine/engine.h"
#include "engine/more.h"

/**
 * dxk_line_of - where a request that begins to wait does so
 * @e: the engine, locked
 * @rqe: the request
 *
 * What Stop has gone through does not come into its way again; but one that was never begun
 * has no turn to take, and ends with a Stop that cancels.
 */
static inline enum dxk_line dxk_line_of(const struct dxk_engine *e, const struct dxk_rqe *rqe)
{
	bool told = e->cancelling || (!rqe->lane && e->state >= DXK_CTX_STOPPING);

	if (told && dxk_rqe_begun(rqe))
		return DXK_LINE_KEPT + rqe->kind;
	return rqe->lane || told ? DXK_LINE_WORK : DXK_LINE_SERVICE;
}

/**
 * dxk_line_enter - a request begins to wait
 * @e: the engine, locked
 * @rqe: WAITING, in no list; it has a rest
 * @wakes: gets the Monitor's wake-up, if that is to tell of it in time
 */
static inline void dxk_line_enter(struct dxk_engine *e, struct dxk_rqe *rqe,
				  struct dxk_wakes *wakes)
{
	dxk_rqe_join(rqe, &e->waits.line[dxk_line_of(e, rqe)]);
	rqe->more->since = rqe->more->heard = os_clock();
	if (unlikely(e->policy.wait_report_ms))
		dxk_call_control(e, DXK_MONITOR, wakes);
}

#endif /* _DXK_ENGINE_LINE_H */
