/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Operations on keys besides posts and turns: a request gives up its own key and comes back,
 * waits to be notified, and notifies; anybody may hold a key back. The contract is that of struct
 * dxk_key_call.
 *
 * The place of a request on its way back is in its struct dxk_more, not in the call that
 * sleeps for it: a signal ends the call, but not the way back.
 */
#ifndef _DXK_ENGINE_KEY_CALL_H
#define _DXK_ENGINE_KEY_CALL_H

#include "engine/os.h"
#include "engine/waiter.h"

struct dxk_engine;
struct dxk_member;
struct dxk_more;
struct dxk_rqe;

/**
 * struct dxk_key_op - an operation on a key
 */
struct dxk_key_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @w: sleeps in dxk_waits.callers, and is dxk_more.key_call; or in dxk_crew.askers */
	struct dxk_waiter w;
	/** @m: the calling member */
	struct dxk_member *m;
	/** @what: enum dxk_key_what */
	u32 what;
	/** @refuse: of %DXK_KEY_HOLD: posts are refused, too */
	bool refuse;
	/** @force: of %DXK_KEY_BLOCK: though nobody could take the place */
	bool force;
	/** @patient: of %DXK_KEY_BLOCK: may sleep until somebody could */
	bool patient;
	/** @timed_out: the deadline of %DXK_KEY_WAIT has come: it is on its way back */
	bool timed_out;
	/** @more: of the others: to be performed again */
	bool more;
	/** @rqe: of %DXK_KEY_LEAVE to NOTIFY_ALL, BLOCK and UNBLOCK: BUSY, the caller's */
	struct dxk_rqe *rqe;
	/** @cookie: of the others: the key, one of the caller's space */
	u64 cookie;
	/** @left: of %DXK_KEY_CANCEL: so many that were there at its begin are still to be told */
	u32 left;
	/** @came: and these are the ones whose dxk_more.arrival is below this */
	u64 came;
	/** @turn: but for that of the one that had the key then: it may be Held meanwhile */
	u64 turn;
	/** @why: -ERESTARTSYS or -ETIMEDOUT: why the sleep has ended */
	int why;
	/** @ret: what the call returns */
	int ret;
	/** @ended: requests that ended and nobody collects; the caller frees them */
	struct list_head ended;
};

/* Is it a mark, see block.h? */
static inline bool dxk_key_is_mark(u32 what)
{
	return what == DXK_KEY_BLOCK || what == DXK_KEY_UNBLOCK;
}

dxk_op_fn dxk_key_ask_run;
dxk_op_fn dxk_key_awake_run;
dxk_op_fn dxk_key_hold_run;
dxk_op_fn dxk_key_release_run;
dxk_op_fn dxk_key_cancel_run;

void dxk_key_finish(struct dxk_key_op *k, int ret, struct dxk_wakes *wakes);
bool dxk_key_is_off(const struct dxk_engine *e, const struct dxk_more *more);
void dxk_key_enter(struct dxk_engine *e, struct dxk_key_op *k, struct dxk_wakes *wakes);
bool dxk_key_calls_stop(struct dxk_engine *e, struct dxk_wakes *wakes);
bool dxk_holds_release(struct dxk_engine *e, struct list_head *holds, bool kin,
		       struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_KEY_CALL_H */
