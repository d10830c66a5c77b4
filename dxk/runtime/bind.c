// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU binding of kernel threads: see bind.h.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "runtime/bind.h"
#include "runtime/context.h"

/** dxk_bound_init - prepare for a new thread that dxk_bound_review() will look after */
int dxk_bound_init(struct dxk_bound *b)
{
	b->may = kzalloc(2 * cpumask_size(), GFP_KERNEL_ACCOUNT);
	if (!b->may)
		return -ENOMEM;
	b->is = (void *)b->may + cpumask_size();
	return 0;
}

/** dxk_bound_free - free what dxk_bound_init() has allocated, if it was called */
void dxk_bound_free(struct dxk_bound *b)
{
	kfree(b->may);
}

/* Reduce a set of CPUs to those of a home, if it contains any of them (FO-1). */
static void dxk_cpus_of_home(struct cpumask *cpus, u32 home, u32 homes)
{
	bool any = false;
	u32 cpu;

	for_each_cpu(cpu, cpus)
		any |= cpu % homes == home - 1;
	if (!any)
		return;
	for_each_cpu(cpu, cpus)
		if (cpu % homes != home - 1)
			cpumask_clear_cpu(cpu, cpus);
}

/**
 * dxk_bound_set - bind a kernel thread to the CPUs of the policy, as far as it may run there
 * @ctx: its context
 * @b: of the thread
 * @task: the thread; the CPUs where it may run now are those where it may run later
 * @home: 1 and up, or 0
 */
void dxk_bound_set(struct dxk_ctx *ctx, struct dxk_bound *b, struct task_struct *task, u32 home)
{
	cpumask_copy(b->may, &task->cpus_mask);
	cpumask_copy(b->is, b->may);
	dxk_bound_review(ctx, b, task, home, true);
}

/**
 * dxk_bound_review - like dxk_bound_set(), for a thread that was bound before
 * @ctx: its context
 * @b: of the thread
 * @task: the thread
 * @home: 1 and up, or 0
 * @changed: the policy has changed, or CPUs have come online
 */
void dxk_bound_review(struct dxk_ctx *ctx, struct dxk_bound *b, struct task_struct *task,
		     u32 home, bool changed)
{
	bool moved = !cpumask_equal(b->is, &task->cpus_mask);

	if (!moved && !changed)
		return;
	if (moved) {
		cpumask_copy(b->is, &task->cpus_mask);
		/* The mask was just being written: compare again at the next turn. */
		if (!cpumask_equal(b->is, &task->cpus_mask)) {
			WRITE_ONCE(ctx->cpus_changed, true);
			return;
		}
		cpumask_copy(b->may, b->is);
	}
	spin_lock(&ctx->engine.lock);
	cpumask_and(b->is, b->may, ctx->cpus);
	spin_unlock(&ctx->engine.lock);
	/* If no CPU is left, the thread may run wherever it is allowed. */
	if (!cpumask_and(b->is, b->is, cpu_online_mask))
		cpumask_copy(b->is, b->may);
	else if (home)
		dxk_cpus_of_home(b->is, home, ctx->engine.policy.homes);
	/* If a CPU goes offline right now, the thread stays where it is. */
	if (set_cpus_allowed_ptr(task, b->is))
		cpumask_copy(b->is, &task->cpus_mask);
}
