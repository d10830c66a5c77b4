/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * A request that is about to sleep outside of dxk announces it. Between its block marks it stays
 * BUSY, with its worker, and no turn of it begins; but its key is left, and its worker counts
 * as asleep, as one in a rejoin does: idle workers and spares do what the crew leaves undone,
 * see onblock.h. When the request is back, it gets its key before all that are Held.
 *
 * A worker that sleeps elsewhere for long without announcing it is seen by the Monitor, and is
 * marked as well. It keeps its key, because it does not know of the mark.
 *
 * Invariants, under the lock:
 *   dxk_member.marked is part of dxk_crew.asleep and dxk_crew.marked
 *   a marked worker that sleeps in a call counts in dxk_crew.dozing, and not once more in
 *   dxk_crew.asleep
 *   dxk_member.blocks is BUSY, one of the worker's, which is marked
 *   marks end with the turn: a worker that asks for work, or dies, has none
 *   BLOCK changes nothing unless somebody is there to go on, or it is forced
 */
#ifndef _DXK_ENGINE_BLOCK_H
#define _DXK_ENGINE_BLOCK_H

#include "engine/key_call.h"
#include "engine/member.h"
#include "engine/os.h"

/**
 * struct dxk_seen_op - the Monitor saw a worker asleep, or awake
 */
struct dxk_seen_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @m: the worker */
	struct dxk_member *m;
	/** @asleep: it sleeps, and did when it was looked at before */
	bool asleep;
};

void dxk_mark_grant(struct dxk_engine *e, enum dxk_kind kind, struct dxk_wakes *wakes);
bool dxk_marks_stop(struct dxk_engine *e, struct dxk_wakes *wakes);

dxk_op_fn dxk_mark_run;
dxk_op_fn dxk_mark_awake_run;
dxk_op_fn dxk_seen_run;

#endif /* _DXK_ENGINE_BLOCK_H */
