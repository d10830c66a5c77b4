/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of helpers share: how a worker helps, and how deep it was in that. */
#ifndef RELIEF_TEST_H
#define RELIEF_TEST_H

#include "engine_test.h"

static _Atomic unsigned int depth_max;
static _Thread_local unsigned int depth;

/* Executes the request that the module called for. */
static inline int help(struct dxt_worker *w)
{
	struct dxt_call call = { .worker = w };
	struct dxk_done done = { 0 };
	unsigned int max;
	int rc;

	rc = dxk_next(w->member, NULL, 0, NULL, &call.work, 1, NULL, 0, 0);
	if (rc != 1)
		return rc < 0 ? rc : -ENODATA;
	depth++;
	while ((max = depth_max) < depth)
		__atomic_compare_exchange_n((unsigned int *)&depth_max, &max, depth, 0,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	done.ticket = call.work.ticket;
	done.status = ((dxt_exec_t)(uintptr_t)call.work.executor)(&call);
	depth--;
	rc = dxk_next(w->member, &done, 1, NULL, NULL, 0, NULL, 0, 0);
	return rc < 0 ? rc : 0;
}

#endif /* RELIEF_TEST_H */
