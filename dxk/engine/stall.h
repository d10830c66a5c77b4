/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * A stall is a context in which work exists and no worker can run any: each of
 * them is idle, with nothing admissible for it, or sleeps in a post, a rejoin or
 * a completion until another one does something. That is a property of counters,
 * known at any time under the lock. From within nothing ends it; from outside a
 * deadline, a signal, a further worker or Stop does. So it is told when it has
 * lasted.
 */
#ifndef _DXK_ENGINE_STALL_H
#define _DXK_ENGINE_STALL_H

#include "engine/os.h"

struct dxk_engine;
struct dxk_wakes;

bool dxk_nobody_can_run(const struct dxk_engine *e);
void dxk_stall_suspect(struct dxk_engine *e, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_STALL_H */
