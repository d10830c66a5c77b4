// SPDX-License-Identifier: GPL-2.0-only
/*
 * Control threads: create, kick, wait, stop.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched/task.h>

#include "runtime/bind.h"
#include "runtime/context.h"
#include "runtime/control.h"
#include "runtime/kthread.h"
#include "runtime/slot.h"

void dxk_control_init(struct dxk_control *t)
{
	init_swait_queue_head(&t->wait);
	init_completion(&t->running);
}

/**
 * dxk_control_start - start a control thread and wait until it runs
 * @ctx: the context, which is starting
 * @who: the control thread, which is stopped
 * @fn: its loop; called with @ctx, first completes dxk_control.running
 */
int dxk_control_start(struct dxk_ctx *ctx, enum dxk_control_id who, int (*fn)(void *))
{
	static const struct {
		u32 id;
		enum os_turn turn;
		const char *name;	/* for ps(1) */
	} control[DXK_CONTROLS] = {
		[DXK_MONITOR] = { DXK_ID_MONITOR, OS_MONITOR, "monitor" },
		[DXK_SCHEDULER] = { DXK_ID_SCHEDULER, OS_SCHEDULER, "sched" },
		[DXK_DISPATCHER] = { DXK_ID_DISPATCHER, OS_DISPATCHER, "dispatch" },
	};
	struct dxk_control *t = &ctx->control[who];
	struct task_struct *task;
	struct dxk_bound bound;
	struct dxk_slot *slot;

	reinit_completion(&t->running);
	t->kicked = false;
	spin_lock(&ctx->engine.lock);
	ctx->engine.dormant[who] = false;
	spin_unlock(&ctx->engine.lock);
	slot = dxk_slot_add(ctx, control[who].id);
	if (IS_ERR(slot))
		return PTR_ERR(slot);
	task = ERR_PTR(dxk_bound_init(&bound));
	if (!task)
		task = dxk_kthread_new(ctx, fn, ctx, "dxk%u/%s", ctx->id, control[who].name);
	if (!IS_ERR(task))
		dxk_bound_set(ctx, &bound, task, 0);
	dxk_bound_free(&bound);
	if (IS_ERR(task)) {
		dxk_slot_remove(slot);
		return PTR_ERR(task);
	}
	t->slot = slot;
	t->task = task;
	t->turn = control[who].turn;
	os_may_wait(t->turn);
	kthread_unpark(task);
	wait_for_completion(&t->running);
	return 0;
}

/** dxk_control_stop - end a control thread, if it runs; such a thread waits for nobody */
void dxk_control_stop(struct dxk_control *t)
{
	if (!t->task)
		return;
	os_may_wait(t->turn);
	dxk_kthread_end(t->slot->ctx, t->task);
	t->task = NULL;
	dxk_slot_remove(t->slot);
	t->slot = NULL;
}

/** dxk_control_kick - ask a control thread to look. Context: any */
void dxk_control_kick(struct dxk_control *t)
{
	WRITE_ONCE(t->kicked, true);
	/* pairs with the barrier of prepare_to_swait_exclusive() */
	if (swq_has_sleeper(&t->wait))
		swake_up_one(&t->wait);
}

static bool dxk_control_called(struct dxk_control *t)
{
	return READ_ONCE(t->kicked) || kthread_should_stop();
}

/** dxk_control_wait - sleep until kicked or stopped, or for @ms (%DXK_DORMANT: no limit) */
void dxk_control_wait(struct dxk_control *t, u32 ms)
{
	if (ms == DXK_DORMANT)
		swait_event_idle_exclusive(t->wait, dxk_control_called(t));
	else
		swait_event_idle_timeout_exclusive(t->wait, dxk_control_called(t),
						   msecs_to_jiffies(ms));
}

/**
 * dxk_control_wait_until - sleep until kicked, stopped, or a deadline
 * @t: the calling thread
 * @deadline: on CLOCK_MONOTONIC, in ns
 *
 * Return: true when it was kicked or stopped before the deadline.
 */
bool dxk_control_wait_until(struct dxk_control *t, u64 deadline)
{
	ktime_t until = ns_to_ktime(deadline);
	DECLARE_SWAITQUEUE(wait);

	while (!dxk_control_called(t)) {
		if (ktime_get_ns() >= deadline)
			return false;
		prepare_to_swait_exclusive(&t->wait, &wait, TASK_IDLE);
		if (!dxk_control_called(t))
			schedule_hrtimeout_range(&until, 0, HRTIMER_MODE_ABS);
		finish_swait(&t->wait, &wait);
	}
	return true;
}
