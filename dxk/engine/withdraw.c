// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Embedded requests that their owner takes back.
 */
#include "engine/engine.h"
#include "engine/next.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/rejoin.h"
#include "engine/withdraw.h"

/** dxk_withdraw_run - take an embedded request back out of the Ready Pool, if it is there */
void dxk_withdraw_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_withdraw_op *w = container_of(op, struct dxk_withdraw_op, op);
	LIST_HEAD(ended);

	w->done = READ_ONCE(w->rqe->state) == DXK_READY;
	if (!w->done)
		return;
	dxk_end_ready(e, w->rqe, -ECANCELED, &ended, wakes);
	dxk_rqe_leave(w->rqe);
	dxk_serve_posters(e, wakes);
	if (e->state == DXK_CTX_STOPPING)
		dxk_stop_workers(e, wakes);
}
