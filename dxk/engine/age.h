/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Reports of waiting requests: of all of them on a query, and of those that have waited for
 * long.
 *
 * Each line of dxk_waits is in the order in which its requests were last heard of. A request
 * is heard of when it enters the line, and when it is due; then it moves to the end again. So
 * the requests that are due stand in front. A look costs a step for each of these, however many
 * wait behind.
 *
 * There is no alarm for each wait. Thread 700 would wake for it. A stall would go unreported,
 * because the tree of alarms is what idle workers have to hope for. And each wait would pay for
 * the tree.
 */
#ifndef _DXK_ENGINE_AGE_H
#define _DXK_ENGINE_AGE_H

#include "engine/os.h"

struct dxk_engine;
struct dxk_rqe;

/* Most requests that one lock hold copies, or finds to be due. */
#define DXK_WAITING_MAX	64

/**
 * struct dxk_waiting - a request that waits, or did a moment ago
 */
struct dxk_waiting {
	/** @executor: as posted */
	u64 executor;
	/** @owner: the cookie of its owner */
	u64 owner;
	/** @param: as posted */
	u64 param;
	/** @name: if @named */
	u64 name;
	/** @awaits: with %DXK_WAIT_RESULT or %DXK_WAIT_JOIN the awaited owner; if @held, the key */
	u64 awaits;
	/** @since: os_clock() when it began to wait */
	unsigned long since;
	/** @space: the number of the space of @owner and @awaits */
	u32 space;
	/** @attrs: PXR_* bits */
	u32 attrs;
	/** @wait: DXK_WAIT_* bits */
	u32 wait;
	/** @turn: how many of its turns ended with a wait */
	u32 turn;
	/** @kind: enum dxk_kind */
	u8 kind;
	/** @named: it has a name */
	bool named;
	/** @held: it waits for its key only, see key.h */
	bool held;
	/** @ripe: what it waits for has happened, and there is no room in the Ready Pool */
	bool ripe;
};

void dxk_waiting_copy(const struct dxk_rqe *rqe, struct dxk_waiting *w);
u32 dxk_waiting_look(struct dxk_engine *e, struct dxk_waiting *seen, u32 max, u32 *all);
u32 dxk_waiting_due(struct dxk_engine *e, unsigned long limit, struct dxk_waiting *due,
		    u32 max, bool *more);

#endif /* _DXK_ENGINE_AGE_H */
