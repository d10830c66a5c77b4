/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Calls that come back: a request is executed within the one that has its key, by the thread
 * that would wait for it (AG-18, AG-20). cycle.h defines which thread that is.
 *
 * This thread may differ from the thread of the outer request, within which it executes. The
 * latter sleeps in a rejoin of its chain of calls, and must not continue at the same time:
 * dxk_member.outer counts such requests, and its rejoins are not answered while there are any.
 */
#ifndef _DXK_ENGINE_NEST_H
#define _DXK_ENGINE_NEST_H

#include "engine/os.h"

struct dxk_engine;
struct dxk_member;
struct dxk_more;
struct dxk_wakes;

bool dxk_may_nest(const struct dxk_engine *e, const struct dxk_member *m);
void dxk_nest_begin(struct dxk_engine *e, struct dxk_member *m, struct dxk_more *more,
		    struct dxk_wakes *wakes);
void dxk_nest_undo(struct dxk_engine *e, struct dxk_more *more, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_NEST_H */
