/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_WAKE_H
#define _DXK_ENGINE_WAKE_H

#include "engine/os.h"
#include "engine/waiter.h"

struct dxk_member;
struct dxk_watch;

/**
 * struct dxk_names_op - wake or cancel requests by their names
 */
struct dxk_names_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @m: the caller; names are those of its space */
	struct dxk_member *m;
	/** @names: the names */
	const u64 *names;
	/** @nr: how many, at most %DXK_BATCH_MAX */
	u32 nr;
	/** @states: out, for each DXK_CANCEL_*, or NULL */
	u32 *states;
	/** @next: how many were looked at; initially 0 */
	u32 next;
	/** @more: out, the operation must be performed again */
	bool more;
	/** @found: how many there are; initially 0 */
	u32 found;
	/** @ended: requests that ended and nobody collects; the caller frees them */
	struct list_head ended;
};

/**
 * struct dxk_detach_op - stop an event from waking its request
 */
struct dxk_detach_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @watch: of the event */
	struct dxk_watch *watch;
	/** @seen: the events reported to the request, if it waits for them */
	u32 seen;
	/** @done: out: the request no longer has it. If not, a worker has the request */
	bool done;
};

dxk_op_fn dxk_wake_names_run;
dxk_op_fn dxk_cancel_names_run;
dxk_op_fn dxk_detach_run;

void dxk_fired_run(struct dxk_engine *e, struct dxk_wakes *wakes);

bool dxk_alarms_ring(struct dxk_engine *e, struct list_head *ended, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_WAKE_H */
