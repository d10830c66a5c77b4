/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On which CPUs the kernel threads of a context run: those of policy/cpus, and of these, a
 * worker of a home, those of its home; as far as its cpuset allows, and as they are online.
 *
 * A cpuset that changes, and a CPU that goes, take a thread's binding away, and tell nobody.
 * So it is kept beside the thread what it was bound to, and the Monitor compares at its turns:
 * a mask that is not that one is where the thread may run from now on. A CPU that comes, and
 * who writes policy/cpus, asks the Monitor for a turn.
 */
#ifndef _DXK_RUNTIME_BIND_H
#define _DXK_RUNTIME_BIND_H

#include <linux/cpumask.h>

struct dxk_ctx;
struct task_struct;

/**
 * struct dxk_bound - to which CPUs a kernel worker is bound. For its maker, then the Monitor
 */
struct dxk_bound {
	/** @may: on which it may run: those of its cpuset, or who has set others since */
	cpumask_var_t may;
	/** @is: to which it was bound last */
	cpumask_var_t is;
};

int dxk_bound_init(struct dxk_bound *b);
void dxk_bound_free(struct dxk_bound *b);
void dxk_bound_set(struct dxk_ctx *ctx, struct dxk_bound *b, struct task_struct *task, u32 home);
void dxk_bound_review(struct dxk_ctx *ctx, struct dxk_bound *b, struct task_struct *task,
		     u32 home, bool changed);

#endif /* _DXK_RUNTIME_BIND_H */
