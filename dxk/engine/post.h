/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_ENGINE_POST_H
#define _DXK_ENGINE_POST_H

#include "engine/os.h"
#include "engine/waiter.h"

/**
 * struct dxk_post_op - a post of one or more requests
 * @op: the operation
 * @w: sleeps in dxk_ready.posters[] while the next request has no room
 * @helper: for @w
 * @help: the poster can execute a request while it sleeps
 * @m: the poster
 * @rqes: POSTED requests that were not taken yet, in order
 * @arrival: orders sleeping posters of different lanes
 * @taken: requests that were taken
 * @err: why the first of @rqes was not taken, 0 if @rqes is empty
 * @reason: PXR_POOL_FULL.. that goes with @err
 */
struct dxk_post_op {
	struct dxk_op op;
	struct dxk_waiter w;
	struct dxk_helper helper;
	bool help;
	struct dxk_member *m;
	struct list_head rqes;
	u64 arrival;
	u32 taken;
	int err;
	u32 reason;
};

dxk_op_fn dxk_post_run;

void dxk_serve_posters(struct dxk_engine *e, struct dxk_wakes *wakes);
void dxk_sweep_posters(struct dxk_engine *e, struct dxk_wakes *wakes);
void dxk_stop_posters(struct dxk_engine *e, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_POST_H */
