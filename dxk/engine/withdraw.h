/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_WITHDRAW_H
#define _DXK_ENGINE_WITHDRAW_H

#include "engine/os.h"
#include "engine/waiter.h"

struct dxk_rqe;

/**
 * struct dxk_withdraw_op - the owner of an embedded request takes it back
 */
struct dxk_withdraw_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @rqe: the request */
	struct dxk_rqe *rqe;
	/** @done: it has been taken back */
	bool done;
};

dxk_op_fn dxk_withdraw_run;

#endif /* _DXK_ENGINE_WITHDRAW_H */
