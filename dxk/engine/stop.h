/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_ENGINE_STOP_H
#define _DXK_ENGINE_STOP_H

#include "engine/os.h"
#include "engine/waiter.h"

struct dxk_engine;

/**
 * struct dxk_stop_op - Stop
 * @op: the operation
 * @w: sleeps in dxk_engine.stoppers while requests execute
 * @cancel: cancel what is Ready
 * @close: the context is closed: do not wait for what executes
 */
struct dxk_stop_op {
	struct dxk_op op;
	struct dxk_waiter w;
	bool cancel;
	bool close;
};

/**
 * struct dxk_should_op - a member asks whether to end, and may sleep until so
 * @op: the operation
 * @w: sleeps in dxk_engine.services
 * @m: the member
 * @wait: may sleep
 * @answer: it should
 */
struct dxk_should_op {
	struct dxk_op op;
	struct dxk_waiter w;
	struct dxk_member *m;
	bool wait;
	bool answer;
};

dxk_op_fn dxk_cancel_some_run;
dxk_op_fn dxk_should_run;
dxk_op_fn dxk_stop_begin_run;
dxk_op_fn dxk_stop_wait_run;

bool dxk_is_to_end(const struct dxk_engine *e, u32 attrs);

#endif /* _DXK_ENGINE_STOP_H */
