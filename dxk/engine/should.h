/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_SHOULD_H
#define _DXK_ENGINE_SHOULD_H

#include "engine/os.h"
#include "engine/waiter.h"

struct dxk_engine;
struct dxk_member;

/**
 * struct dxk_should_op - a member queries whether it is to end, and may sleep until it is
 */
struct dxk_should_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @w: sleeps in dxk_engine.services, and is dxk_member.should */
	struct dxk_waiter w;
	/** @m: the member */
	struct dxk_member *m;
	/** @wait: may sleep */
	bool wait;
	/** @timed: its own time limit ends the sleep: it does not rest, see dxk_crew.resting */
	bool timed;
	/** @answer: the member is to end */
	bool answer;
};

dxk_op_fn dxk_should_run;

void dxk_should_answer(struct dxk_should_op *s, struct dxk_wakes *wakes);
bool dxk_is_to_end(const struct dxk_engine *e, u32 attrs);
bool dxk_member_is_to_end(const struct dxk_member *m);

#endif /* _DXK_ENGINE_SHOULD_H */
