/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The end of a space of owner cookies.
 */
#ifndef _DXK_ENGINE_SPACE_H
#define _DXK_ENGINE_SPACE_H

#include "engine/waiter.h"

struct dxk_space;

/* An operation that closes a space as far as one lock hold may. */
struct dxk_close_op {
	struct dxk_op op;
	struct dxk_space *space;
	struct list_head ended;
	bool more;
};

dxk_op_fn dxk_space_close_run;

#endif /* _DXK_ENGINE_SPACE_H */
