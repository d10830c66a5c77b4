/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef _DXK_SIM_CHECK_H
#define _DXK_SIM_CHECK_H

#include "engine/engine.h"

static inline bool stopped_running(const struct dxk_engine *e)
{
	return e->state != DXK_CTX_RUNNING;
}

void check_sleepers(bool excused);

#endif /* _DXK_SIM_CHECK_H */
