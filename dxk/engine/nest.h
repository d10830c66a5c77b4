/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Calls that come back: a request is executed within the one that has its key, by the thread
 * that would wait for it (AG-18, AG-20). Which one that is says cycle.h.
 *
 * The thread may be another one than that of the request within which it executes. That one
 * sleeps in a rejoin of its chain of calls, and must not go on beside it: dxk_member.outer
 * counts such requests, and its rejoins are not answered while there are some.
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
