/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_ASSIGN_H
#define _DXK_ENGINE_ASSIGN_H

#include "engine/waiter.h"

struct dxk_rqe;

void dxk_member_note(struct dxk_member *m, const struct dxk_rqe *rqe);
void dxk_assign(struct dxk_engine *e, struct dxk_member *m, struct dxk_rqe *rqe,
		struct list_head *work, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_ASSIGN_H */
