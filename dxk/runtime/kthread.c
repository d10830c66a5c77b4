// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel threads of a context: they count for its maker.
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
	get_task_struct(task);
	return task;
}

/** dxk_kthread_end - end a kernel thread, which waits for nobody by now */
void dxk_kthread_end(struct dxk_ctx *ctx, struct task_struct *task)
{
	kthread_stop(task);
	put_task_struct(task);
	dxk_names_uncharge(ctx);
}
