// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Requests are woken and cancelled by their names.
 */
#include "engine/cancel.h"
#include "engine/engine.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/next.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/wake.h"

/** dxk_wake_names_run - a call: it ends a wait for one, or is kept for the next */
void dxk_wake_names_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_names_op *n = container_of(op, struct dxk_names_op, op);
	u32 i;

	n->found = 0;
	for (i = 0; i < n->nr; i++) {
		struct dxk_rqe *rqe = dxk_name_find(e, n->m->space, n->names[i]);

		if (!rqe)
			continue;
		n->found++;
		dxk_step(e);
		if (rqe->state == DXK_WAITING && !rqe->more->ripe &&
		    rqe->more->wait.wait & DXK_WAIT_CALL)
			dxk_resume(e, rqe, DXK_WAKE_CALL, wakes);
		else
			rqe->more->latched = true;
	}
}

/** dxk_cancel_names_run - requests end, or are told to */
void dxk_cancel_names_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_names_op *n = container_of(op, struct dxk_names_op, op);
	u32 i;

	n->found = 0;
	for (i = 0; i < n->nr; i++) {
		struct dxk_rqe *rqe = dxk_name_find(e, n->m->space, n->names[i]);
		u32 state = DXK_CANCEL_NONE;

		if (rqe)
			state = dxk_tell(e, rqe, DXK_WAKE_CANCEL, &n->ended, wakes);
		n->found += !!rqe;
		if (n->states)
			n->states[i] = state;
	}
	/* What was Ready has left room. */
	dxk_serve_posters(e, wakes);
	if (unlikely(e->state == DXK_CTX_STOPPING))
		dxk_stop_workers(e, wakes);
}
