/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The time that requests wait for. Thread 700 is the clock: no request has a timer of its
 * own. While no request waits for a time, nothing wakes the thread.
 */
#ifndef _DXK_ENGINE_ALARM_H
#define _DXK_ENGINE_ALARM_H

#include "engine/os.h"

struct dxk_engine;
struct dxk_more;
struct dxk_waits;
struct dxk_wakes;

void dxk_alarm_set(struct dxk_engine *e, struct dxk_more *more, u64 at,
		   struct dxk_wakes *wakes);
struct dxk_more *dxk_alarms_first(const struct dxk_waits *waits);
u64 dxk_alarms_plan(struct dxk_engine *e);

#endif /* _DXK_ENGINE_ALARM_H */
