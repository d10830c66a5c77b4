/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_REJOIN_H
#define _DXK_ENGINE_REJOIN_H

#include "engine/os.h"
#include "engine/waiter.h"

struct dxk_owner;
struct dxk_rqe;
struct dxk_stop_pollers;

/**
 * struct dxk_rejoin_op - a rejoin poll or wait
 */
struct dxk_rejoin_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @w: sleeps in dxk_owner.pollers */
	struct dxk_waiter w;
	/** @helper: for @w */
	struct dxk_helper helper;
	/** @help: the poller can execute a request while it sleeps */
	bool help;
	/** @m: the poller */
	struct dxk_member *m;
	/** @cookie: owner of the requests; with @any: owner of the requests returned */
	u64 cookie;
	/** @any: any one owner of its space; excludes @help, @nest, @free; @min is 1 */
	bool any;
	/** @max: maximum number to return */
	u32 max;
	/** @min: sleeps until this many can be returned, if @wait */
	u32 min;
	/** @wait: may sleep */
	bool wait;
	/** @timed: a time limit ends the sleep as well; dxk_client_rejoin() knows it */
	bool timed;
	/** @again: it was performed before; it still is one call */
	bool again;
	/** @nest: the poller can execute a request that its own call waits for, see nest.h */
	bool nest;
	/**
	 * @free: count the returned requests as collected at once: nothing can fail
	 * between this and the caller having them
	 */
	bool free;
	/**
	 * @self_held: requests of this owner that the poller itself executes: they
	 * cannot complete while it waits
	 */
	u32 self_held;
	/** @rqes: the requests returned */
	struct list_head rqes;
	/** @nr: how many */
	u32 nr;
	/** @answer: RJR_* */
	u32 answer;
	/** @err: -EDEADLK or -ESHUTDOWN instead of an answer */
	int err;
};

/**
 * struct dxk_settle_op - the end of a rejoin that copied results out
 */
struct dxk_settle_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @m: the poller */
	struct dxk_member *m;
	/** @copied: requests that the caller has safely received */
	struct list_head copied;
	/** @failed: requests that are put back, in order */
	struct list_head failed;
};

dxk_op_fn dxk_rejoin_run;
dxk_op_fn dxk_settle_run;

bool dxk_complete(struct dxk_engine *e, struct dxk_rqe *rqe, s32 status,
		  struct dxk_wakes *wakes);
u32 dxk_complete_usual(struct dxk_engine *e, struct list_head *done, struct list_head *ended,
		       struct dxk_wakes *wakes);
void dxk_end_ready(struct dxk_engine *e, struct dxk_rqe *rqe, s32 status,
		   struct list_head *ended, struct dxk_wakes *wakes);
void dxk_end_waiting(struct dxk_engine *e, struct dxk_rqe *rqe, s32 status,
		     struct list_head *ended, struct dxk_wakes *wakes);
void dxk_drop_results(struct dxk_engine *e, struct dxk_owner *owner,
		      struct list_head *ended, struct dxk_wakes *wakes);
void dxk_serve_outers(struct dxk_engine *e, struct dxk_wakes *wakes);
void dxk_owners_go_on(struct dxk_engine *e, struct dxk_wakes *wakes);
bool dxk_stop_pollers(struct dxk_engine *e, struct dxk_stop_pollers *s,
		      struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_REJOIN_H */
