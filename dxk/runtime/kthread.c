// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel threads of a context: they count for its maker, and run where who started it may.
 */
#include <linux/kthread.h>
#include <linux/sched/task.h>
#include <linux/stdarg.h>

#include "runtime/context.h"
#include "runtime/kthread.h"
#include "runtime/names.h"

/**
 * dxk_kthread_new - make a kernel thread, which does not run yet
 * @ctx: whose
 * @fn: what it does
 * @arg: with what
 * @fmt: its name
 *
 * Return: the task, referenced, to be given to dxk_kthread_end(); or an error pointer.
 */
struct task_struct *dxk_kthread_new(struct dxk_ctx *ctx, int (*fn)(void *), void *arg,
				    const char *fmt, ...)
{
	struct task_struct *task;
	char name[TASK_COMM_LEN];
	va_list args;
	int err = dxk_names_charge(ctx);

	if (err)
		return ERR_PTR(err);
	va_start(args, fmt);
	vsnprintf(name, sizeof(name), fmt, args);
	va_end(args);
	task = kthread_create(fn, arg, "%s", name);
	if (IS_ERR(task)) {
		dxk_names_uncharge(ctx);
		return task;
	}
	/* Its CPUs may have gone meanwhile: then it runs anywhere, as others do. */
	set_cpus_allowed_ptr(task, ctx->cpus);
	return get_task_struct(task);
}

/**
 * dxk_kthread_bind - a kernel thread runs on the CPUs of a home, as far as its context may (FO-1)
 * @ctx: its context
 * @task: the thread, which does not run yet
 * @home: 1 and up
 */
void dxk_kthread_bind(struct dxk_ctx *ctx, struct task_struct *task, u32 home)
{
	u32 cpu, homes = ctx->engine.policy.homes;
	cpumask_var_t cpus;

	/* Where its data is it would only be faster. */
	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return;
	for_each_cpu(cpu, ctx->cpus)
		if (cpu % homes == home - 1)
			cpumask_set_cpu(cpu, cpus);
	if (!cpumask_empty(cpus))
		set_cpus_allowed_ptr(task, cpus);
	free_cpumask_var(cpus);
}

/** dxk_kthread_end - end a kernel thread, which waits for nobody by now */
void dxk_kthread_end(struct dxk_ctx *ctx, struct task_struct *task)
{
	kthread_stop(task);
	put_task_struct(task);
	dxk_names_uncharge(ctx);
}
