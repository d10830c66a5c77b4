/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Requests that must end before their time: cancelled by name, expired, or met by Stop.
 *
 * A request that was never given to a worker ends at once. One that was begun may have something
 * to put in order: it is notified with its next turn, or at once if it waits. In a Stop(cancel)
 * these are last turns. Only if no worker is left to take that turn, the request ends without it.
 */
#ifndef _DXK_ENGINE_CANCEL_H
#define _DXK_ENGINE_CANCEL_H

#include "engine/os.h"

struct dxk_engine;
struct dxk_rqe;
struct dxk_wakes;

u32 dxk_tell(struct dxk_engine *e, struct dxk_rqe *rqe, u8 reason, struct list_head *ended,
	     struct dxk_wakes *wakes);
int dxk_tell_back(struct dxk_rqe *rqe);
bool dxk_cancel_waits(struct dxk_engine *e, struct list_head *ended, struct dxk_wakes *wakes);
bool dxk_end_orphans(struct dxk_engine *e, struct list_head *ended, struct dxk_wakes *wakes);
bool dxk_stop_waits(struct dxk_engine *e, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_CANCEL_H */
