// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel threads of a context: they are charged to its maker.
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
 * Move a task into the cgroups of @lender, if they differ. No lock is held: this takes locks of
 * the kernel and may wait for tasks that fork or exit.
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
 * dxk_kthread_new - make a kernel thread, which is parked
 * @ctx: its context
 * @fn: its function
 * @arg: argument of @fn
 * @fmt: its name
 *
 * A thread of a user's context is in the cgroups of the caller, which exists and so has some:
 * control threads are in those of the task that starts the context, workers in those of the
 * Monitor. If these do not accept it, it stays in those of all kernel threads, and on the
 * caller's CPUs.
 *
 * A kernel thread sets its own CPUs when it is woken for the first time (since Linux 6.14), so
 * it has been woken when this returns: CPUs and cgroups that it gets while parked are kept.
 *
 * Return: the task, referenced, for kthread_unpark() and later dxk_kthread_end(); or an error
 * pointer.
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
	/* It is still in the cgroups of all kernel threads: no user's limits delay it. */
	kthread_park(task);
	/* A caller for which the kernel itself starts a thread is not charged for it. */
	if (ctx->who.ns && dxk_kthread_move(task, current))
		set_cpus_allowed_ptr(task, &current->cpus_mask);
	return task;
}

/**
 * dxk_kthread_end - end a kernel thread, which no longer waits for anybody
 * @ctx: its context
 * @task: the thread
 *
 * It is moved out of its cgroups, because they may leave it no time to run, and the caller works
 * for others, too.
 */
void dxk_kthread_end(struct dxk_ctx *ctx, struct task_struct *task)
{
	dxk_kthread_move(task, &init_task);
	kthread_stop(task);
	put_task_struct(task);
	dxk_names_uncharge(ctx);
}
