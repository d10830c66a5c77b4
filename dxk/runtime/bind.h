/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPUs on which the kernel threads of a context run: those of policy/cpus. A worker of a
 * home is restricted further to the CPUs of its home. Both are limited to the CPUs that the
 * thread's cpuset allows and that are online.
 *
 * A change of a cpuset, or a CPU going offline, removes a thread's binding without any
 * notification. Therefore the last binding is kept beside the thread, and the Monitor compares
 * it with the actual one at its turns: if the mask differs, it becomes the set of CPUs where the
 * thread may run. A CPU coming online and a write to policy/cpus ask the Monitor for a turn.
 */
#ifndef _DXK_RUNTIME_BIND_H
#define _DXK_RUNTIME_BIND_H

#include <linux/cpumask.h>

struct dxk_ctx;
struct task_struct;

/**
 * struct dxk_bound - CPUs to which a kernel worker is bound. For its maker, then the Monitor
 */
struct dxk_bound {
	/** @may: CPUs on which it may run: those of its cpuset, or the mask set since */
	struct cpumask *may;
	/** @is: CPUs to which it was bound last; behind @may in one allocation */
	struct cpumask *is;
};

int dxk_bound_init(struct dxk_bound *b);
void dxk_bound_free(struct dxk_bound *b);
void dxk_bound_set(struct dxk_ctx *ctx, struct dxk_bound *b, struct task_struct *task, u32 home);
void dxk_bound_review(struct dxk_ctx *ctx, struct dxk_bound *b, struct task_struct *task,
		     u32 home, bool changed);

#endif /* _DXK_RUNTIME_BIND_H */
