/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_ENGINE_NEXT_H
#define _DXK_ENGINE_NEXT_H

#include "engine/os.h"
#include "engine/request.h"
#include "engine/waiter.h"

/**
 * struct dxk_next_op - a worker completes requests and takes more
 * @op: the operation
 * @w: sleeps in dxk_crew.idle[] or .parked[], or in dxk_owners.blocked
 * @m: the worker
 * @done: BUSY requests that it has executed, status set, in order
 * @ended: completed requests that nobody collects; the worker frees them
 * @work: DISPATCHED requests for it
 * @taken: how many of @done were taken
 * @max: most requests to take
 * @nr: requests in @work
 * @err: why there is none
 */
struct dxk_next_op {
	struct dxk_op op;
	struct dxk_waiter w;
	struct dxk_member *m;
	struct list_head done;
	struct list_head ended;
	struct list_head work;
	u32 taken;
	u32 max;
	u32 nr;
	int err;
};

dxk_op_fn dxk_next_run;
dxk_op_fn dxk_return_run;
dxk_op_fn dxk_died_run;
dxk_op_fn dxk_leave_run;

bool dxk_give_idle(struct dxk_engine *e, enum dxk_kind kind,
		   struct dxk_wakes *wakes);
void dxk_serve_blocked(struct dxk_engine *e, struct dxk_wakes *wakes);
void dxk_stop_workers(struct dxk_engine *e, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_NEXT_H */
