/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_ENGINE_REJOIN_H
#define _DXK_ENGINE_REJOIN_H

#include "engine/os.h"
#include "engine/waiter.h"

struct dxk_owner;
struct dxk_rqe;

/**
 * struct dxk_rejoin_op - a rejoin poll or wait
 * @op: the operation
 * @w: sleeps in dxk_owner.pollers
 * @helper: for @w
 * @help: the poller can execute a request while it sleeps
 * @m: the poller
 * @cookie: whose requests
 * @max: most to return
 * @min: sleeps until so many can be returned, if @wait
 * @wait: may sleep
 * @free: count the returned requests as collected at once: nothing can fail
 *	between this and the caller having them
 * @self_held: requests of this owner that the poller itself executes: they cannot
 *	complete while it waits
 * @rqes: the requests returned
 * @nr: how many
 * @answer: RJR_*
 * @err: -EDEADLK or -ESHUTDOWN instead of an answer
 */
struct dxk_rejoin_op {
	struct dxk_op op;
	struct dxk_waiter w;
	struct dxk_helper helper;
	bool help;
	struct dxk_member *m;
	u64 cookie;
	u32 max;
	u32 min;
	bool wait;
	bool free;
	u32 self_held;
	struct list_head rqes;
	u32 nr;
	u32 answer;
	int err;
};

/**
 * struct dxk_settle_op - the end of a rejoin that copied results out
 * @op: the operation
 * @m: the poller
 * @copied: requests that are safely with the caller
 * @failed: requests that go back, in order
 */
struct dxk_settle_op {
	struct dxk_op op;
	struct dxk_member *m;
	struct list_head copied;
	struct list_head failed;
};

dxk_op_fn dxk_rejoin_run;
dxk_op_fn dxk_settle_run;

void dxk_complete(struct dxk_engine *e, struct dxk_rqe *rqe, s32 status,
		  struct list_head *ended, struct dxk_wakes *wakes);
void dxk_cancel_ready(struct dxk_engine *e, struct dxk_rqe *rqe,
		      struct list_head *ended, struct dxk_wakes *wakes);
u32 dxk_drop_results(struct dxk_engine *e, struct dxk_owner *owner, u32 max,
		     struct list_head *ended, struct dxk_wakes *wakes);
void dxk_stop_pollers(struct dxk_engine *e, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_REJOIN_H */
