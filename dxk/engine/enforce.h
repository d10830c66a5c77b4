/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_ENFORCE_H
#define _DXK_ENGINE_ENFORCE_H

#include "engine/waiter.h"

struct dxk_policy;
struct dxk_rqe;

/**
 * struct dxk_enforce_op - a policy comes into force
 */
struct dxk_enforce_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @policy: the policy; NULL once it is in force */
	const struct dxk_policy *policy;
	/** @line: enum dxk_line: waiting requests are looked at up to this line */
	u32 line;
	/** @left: how many of @line, at most, are still to be looked at */
	u32 left;
	/**
	 * @first: the first request of @line that was looked at and stays, or NULL, as initially.
	 * It may have gone, so it is only compared
	 */
	const struct dxk_rqe *first;
	/** @ended: requests that it has ended and nobody collects; the caller frees them */
	struct list_head ended;
	/** @more: the operation must be performed again */
	bool more;
};

dxk_op_fn dxk_enforce_run;

#endif /* _DXK_ENGINE_ENFORCE_H */
