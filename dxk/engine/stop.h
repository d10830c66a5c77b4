/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_STOP_H
#define _DXK_ENGINE_STOP_H

#include "engine/os.h"
#include "engine/waiter.h"

struct dxk_engine;

/**
 * struct dxk_stop_pollers - progress of Stop with the waiters for owners
 */
struct dxk_stop_pollers {
	/** @began: it has counted @spaces */
	bool began;
	/** @spaces: in which somebody may sleep for any owner, still to be looked at */
	u32 spaces;
	/** @bucket: where the search for them goes on */
	u32 bucket;
	/** @owed: all were found, and their owners are owed a pass */
	bool owed;
	/** @last: after this many passes all were looked at, see dxk_owners.passes */
	u32 last;
};

/**
 * struct dxk_stop_op - end the sleeps in a run
 */
struct dxk_stop_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @gen: of the run that it applies to: no other run is affected */
	u32 gen;
	/** @cancel: cancel Ready requests */
	bool cancel;
	/** @close: the context is closed: do not wait for executing requests */
	bool close;
	/** @begun: it was performed before */
	bool begun;
	/** @pollers: its progress with the waiters for owners */
	struct dxk_stop_pollers pollers;
	/** @services: struct dxk_should_op that are still to be looked at */
	struct list_head services;
	/** @more: to be performed again */
	bool more;
};

dxk_op_fn dxk_cancel_some_run;
dxk_op_fn dxk_stop_begin_run;

#endif /* _DXK_ENGINE_STOP_H */
