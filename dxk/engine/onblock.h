/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Work that is left undone because a worker sleeps in a call (policy on_block), or because
 * there are too few workers (policy min_threads).
 *
 * A request that is executed in the place of a sleeping worker's is "extra". It is nested in
 * the sleeping worker itself, as a helper, or is executed by a spare worker. It counts in its
 * lane like any other request, and so does that of the sleeper. But it brings the thread that
 * it executes on, so each one raises the number of requests that may execute by one. Therefore
 * the shares of lanes 0 to 2 are unchanged, and the proof that the system never stops remains
 * valid.
 *
 * Spares are workers of a special sort. They are parked until more workers sleep than there
 * are extra requests, so that as many run as the crew has without them. min_spares of each
 * kind are kept parked in advance; those parked beyond that leave after spare_idle_ms.
 *
 * A crew that begins with fewer workers than it has places for grows while requests are
 * Ready and no worker of the kind is idle. It grows by one for each such request for which no
 * worker is on its way. A request that is Ready while a worker is idle is held back by its lane,
 * and must wait. Surplus workers leave, the one that has been idle for longest first.
 */
#ifndef _DXK_ENGINE_ONBLOCK_H
#define _DXK_ENGINE_ONBLOCK_H

#include "engine/engine.h"
#include "engine/os.h"
#include "engine/request.h"
#include "engine/waiter.h"

struct dxk_member;
struct dxk_next_op;

/**
 * struct dxk_crew_op - a manager asks how many more workers are needed
 */
struct dxk_crew_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @w: sleeps in dxk_crew.managers */
	struct dxk_waiter w;
	/** @wait: may sleep */
	bool wait;
	/** @workers: user workers that are needed */
	u32 workers;
	/** @spares: user spares that are needed */
	u32 spares;
	/** @err: an error instead of these numbers */
	int err;
};

/**
 * struct dxk_retire_op - surplus workers that have been idle for long leave
 */
struct dxk_retire_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @limit: minimum idle time before a worker leaves, in units of os_clock() */
	unsigned long limit;
	/** @more: out: there may be more of them */
	bool more;
};

/**
 * dxk_spare_may_run - is there a sleeper without an extra request in its place?
 * @e: the engine, locked
 * @kind: the spare's
 */
static inline bool dxk_spare_may_run(const struct dxk_engine *e, enum dxk_kind kind)
{
	return e->crew.asleep[kind] > e->crew.extra[kind];
}

void dxk_relieve(struct dxk_engine *e, struct dxk_wakes *wakes);
void dxk_extra_start(struct dxk_engine *e, struct dxk_member *m, struct dxk_rqe *rqe);
void dxk_extra_end(struct dxk_engine *e, struct dxk_member *m, struct dxk_rqe *rqe);
bool dxk_spare_turn(struct dxk_engine *e, struct dxk_next_op *n, struct dxk_wakes *wakes);
u32 dxk_spares_room(const struct dxk_engine *e);
u32 dxk_spares_wanted(struct dxk_engine *e, enum dxk_kind kind);
u32 dxk_workers_wanted(struct dxk_engine *e, enum dxk_kind kind);
bool dxk_has_surplus(const struct dxk_engine *e);
void dxk_tell_managers(struct dxk_engine *e, struct dxk_wakes *wakes);
void dxk_stop_managers(struct dxk_engine *e, struct dxk_wakes *wakes);

dxk_op_fn dxk_crew_wait_run;
dxk_op_fn dxk_retire_run;

#endif /* _DXK_ENGINE_ONBLOCK_H */
