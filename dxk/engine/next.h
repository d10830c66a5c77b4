/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_NEXT_H
#define _DXK_ENGINE_NEXT_H

#include "engine/os.h"
#include "engine/request.h"
#include "engine/waiter.h"

/**
 * struct dxk_next_op - a worker completes requests and takes more
 */
struct dxk_next_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @w: sleeps in dxk_crew.idle[] or .parked[], or in dxk_owners.blocked */
	struct dxk_waiter w;
	/** @m: the worker */
	struct dxk_member *m;
	/** @done: BUSY requests that it has executed, status set, in order */
	struct list_head done;
	/** @ended: completed requests that nobody collects; the worker frees them */
	struct list_head ended;
	/** @files: of the completed requests; the worker releases them */
	struct dxk_file_ref *files;
	/** @work: DISPATCHED requests for it */
	struct list_head work;
	/** @taken: how many of @done were taken */
	u32 taken;
	/** @max: most requests to take */
	u32 max;
	/** @nr: requests in @work */
	u32 nr;
	/**
	 * @prefer: the next request of a key whose turn it completes, or NULL. The worker is
	 * given it before others of the same priority. Its READY state is checked again.
	 * Not read after the worker has taken a request, or sleeps
	 */
	struct dxk_more *prefer;
	/** @err: why there is no work */
	int err;
};

dxk_op_fn dxk_next_run;
dxk_op_fn dxk_return_run;
dxk_op_fn dxk_died_run;
dxk_op_fn dxk_leave_run;

bool dxk_give_idle(struct dxk_engine *e, enum dxk_kind kind,
		   struct dxk_wakes *wakes);
struct dxk_next_op *dxk_idle_for(const struct dxk_engine *e, const struct dxk_rqe *rqe);
void dxk_hand_over(struct dxk_engine *e, struct dxk_next_op *n, struct dxk_rqe *rqe,
		   struct dxk_wakes *wakes);
struct dxk_rqe *dxk_eager_take(struct dxk_engine *e, struct dxk_member *m,
			       struct dxk_wakes *wakes);
void dxk_serve_blocked(struct dxk_engine *e, struct dxk_wakes *wakes);
void dxk_stop_workers(struct dxk_engine *e, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_NEXT_H */
