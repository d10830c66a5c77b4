/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef _DXK_SIM_CHECK_H
#define _DXK_SIM_CHECK_H

#include "engine/engine.h"

/* What is under way is not finished either: it has not begun, is cancelled, or over. */
static inline bool nothing_goes_on(const struct dxk_engine *e)
{
	return e->state != DXK_CTX_RUNNING && !(e->state == DXK_CTX_STOPPING && !e->cancelling);
}

static inline bool stopped_running(const struct dxk_engine *e)
{
	return e->state != DXK_CTX_RUNNING;
}

void check_run_reset(void);
void check_run(void);
void check_run_idle(void);
void check_sleepers(bool excused);

#endif /* _DXK_SIM_CHECK_H */
