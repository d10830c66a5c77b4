/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_POST_H
#define _DXK_ENGINE_POST_H

#include "engine/os.h"
#include "engine/request.h"
#include "engine/waiter.h"

/**
 * struct dxk_post_op - a post of one or more requests
 */
struct dxk_post_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @w: sleeps in dxk_ready.posters[] while the next request has no room */
	struct dxk_waiter w;
	/** @helper: for @w */
	struct dxk_helper helper;
	/** @help: the poster can execute a request while it sleeps */
	bool help;
	/** @m: the poster */
	struct dxk_member *m;
	/** @rqes: POSTED requests that have not been taken yet, in order */
	struct list_head rqes;
	/** @arrival: orders sleeping posters of different lanes */
	u64 arrival;
	/** @taken: requests that were taken */
	u32 taken;
	/** @err: why the first of @rqes was not taken, 0 if @rqes is empty */
	int err;
	/** @reason: the reason PXR_POOL_FULL.. that belongs to @err */
	u32 reason;
};

dxk_op_fn dxk_post_run;

void dxk_post_descend(const struct dxk_member *m, struct dxk_rqe *rqe);

/** dxk_post_lane - the lane of a request that its poster has just made, if it leaves that open */
static inline void dxk_post_lane(const struct dxk_member *m, struct dxk_rqe *rqe)
{
	if (unlikely(rqe->attrs & PXR_LANE_CHILD))
		dxk_post_descend(m, rqe);
}

void dxk_serve_posters(struct dxk_engine *e, struct dxk_wakes *wakes);
void dxk_sweep_posters(struct dxk_engine *e, struct dxk_wakes *wakes);
void dxk_stop_posters(struct dxk_engine *e, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_POST_H */
