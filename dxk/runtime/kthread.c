// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel threads of a context: they count for its maker.
 */
#include <linux/cgroup.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/stdarg.h>

#include "runtime/context.h"
#include "runtime/kthread.h"
#include "runtime/names.h"

/*
 * Into the cgroups of who lends them, if they are others. Nobody's lock is held: the kernel's
 * are taken, and it may wait for those who fork or exit.
 */
static int dxk_kthread_move(struct task_struct *task, struct task_struct *lender)
{
#ifdef CONFIG_CGROUPS
	if (rcu_access_pointer(task->cgroups) != rcu_access_pointer(lender->cgroups))
		return cgroup_attach_task_all(lender, task);
#endif
	return 0;
}

/**
 * dxk_kthread_new - make a kernel thread, which does not run yet
 * @ctx: whose
 * @fn: what it does
 * @arg: with what
 * @fmt: its name
 *
 * That of a user's context is in the cgroups of the caller, which is there and so has some:
 * control threads are in those of who starts the context, workers in those of the Monitor.
 * Where these do not take it, it stays in those of all kernel threads, and on the caller's
 * CPUs.
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
	get_task_struct(task);
	/* Whom the kernel itself starts something for does not pay for it. */
	if (ctx->who.ns && dxk_kthread_move(task, current))
		set_cpus_allowed_ptr(task, &current->cpus_mask);
	return task;
}

/**
 * dxk_kthread_end - end a kernel thread, which waits for nobody by now
 * @ctx: whose
 * @task: the thread
 *
 * Its cgroups may leave it no time to run. The caller works for others, too.
 */
void dxk_kthread_end(struct dxk_ctx *ctx, struct task_struct *task)
{
	dxk_kthread_move(task, &init_task);
	kthread_stop(task);
	put_task_struct(task);
	dxk_names_uncharge(ctx);
}
