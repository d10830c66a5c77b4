/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Reports of Ready requests: some by one lock hold, from a place on that has no memory of its
 * own. There is no list of requests but the queues, so places are rows and trees of queues.
 */
#ifndef _DXK_ENGINE_LOOK_H
#define _DXK_ENGINE_LOOK_H

#include "engine/os.h"
#include "uapi/dxk.h"

struct dxk_engine;

/* Most requests that one lock hold looks at. */
#define DXK_LOOK_MAX	64

u32 dxk_ready_look_locked(const struct dxk_engine *e, u32 *place,
			  struct dxk_request_info *seen);
u32 dxk_ready_look(struct dxk_engine *e, u32 *place, struct dxk_request_info *seen);

#endif /* _DXK_ENGINE_LOOK_H */
