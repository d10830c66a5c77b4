// SPDX-License-Identifier: GPL-2.0-only
/*
 * The services of the kernel that the engine needs, see engine/os.h.
 */
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/poll.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "engine/more.h"
#include "engine/os.h"
#include "runtime/context.h"
#include "runtime/item.h"
#include "services/watch.h"
#include "runtime/queue.h"
#include "runtime/thread.h"
#include "services/executor.h"
#include "services/file.h"

/* --- sleeping -------------------------------------------------------------- */

/**
 * os_doze - sleep until something is done, a signal comes or time is up
 * @done: set, with a release, by the task that then wakes the caller
 * @events: a list that is not empty ends the sleep as well, if the task adding to it wakes the
 *	caller; or %NULL
 * @deadline: on CLOCK_MONOTONIC
 *
 * The deadline takes precedence over signals: a call that is not to sleep never returns
 * -ERESTARTSYS, and a wait that signals restart again and again still ends in time. Both take
 * precedence over events: whoever fires them without end does not keep the caller from ending.
 * Return: 0 when it is done, or there are events, otherwise -ERESTARTSYS or -ETIMEDOUT.
 */
int os_doze(const bool *done, const struct llist_head *events, u64 deadline)
{
	unsigned int state = current->flags & PF_KTHREAD ? TASK_IDLE :
							   TASK_INTERRUPTIBLE;
	ktime_t until = ns_to_ktime(min_t(u64, deadline, KTIME_MAX));
	int err = 0;

	os_may_wait_for_user();
	/* Let the tasks that were just woken run first: they may end this sleep. */
	cond_resched();
	for (;;) {
		set_current_state(state);
		/* pairs with the release in dxk_waiter_finish() */
		if (smp_load_acquire(done))
			break;
		if (err)
			break;
		if (signal_pending_state(state, current)) {
			err = ktime_get_ns() < deadline ? -ERESTARTSYS : -ETIMEDOUT;
			break;
		}
		if (events && !llist_empty(events)) {
			err = ktime_get_ns() < deadline ? 0 : -ETIMEDOUT;
			break;
		}
		if (!schedule_hrtimeout_range(deadline == DXK_FOREVER ? NULL : &until,
					      current->timer_slack_ns,
					      HRTIMER_MODE_ABS))
			err = -ETIMEDOUT;
	}
	__set_current_state(TASK_RUNNING);
	return smp_load_acquire(done) ? 0 : err;
}

bool os_await(const bool *done)
{
	long left = nsecs_to_jiffies(OS_PATIENCE);

	for (;;) {
		set_current_state(current->flags & PF_KTHREAD ?
				  TASK_IDLE : TASK_UNINTERRUPTIBLE);
		/* pairs with the release in dxk_inbox_hold() */
		if (smp_load_acquire(done) || !left)
			break;
		left = schedule_timeout(left);
	}
	__set_current_state(TASK_RUNNING);
	return smp_load_acquire(done);
}

/* --- members --------------------------------------------------------------- */

void os_member_get(struct dxk_member *m)
{
	dxk_thread_get(dxk_thread_of(m));
}

void os_member_put(struct dxk_member *m)
{
	dxk_thread_put(dxk_thread_of(m));
}

/** os_poll_wake - wake a member in poll(2): what it waits for has happened */
void os_poll_wake(struct dxk_member *m)
{
	wake_up_interruptible_poll(&dxk_thread_of(m)->wait,
				   EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM);
}

/** os_poll_workers - wake user workers in poll(2): there may be work for them */
void os_poll_workers(struct dxk_engine *e)
{
	struct dxk_ctx *ctx = dxk_ctx_of(e);

	/* A poller that arrives now looks after the lock hold that has filled the pool. */
	if (waitqueue_active(&ctx->work_wait))
		wake_up_interruptible_poll(&ctx->work_wait, EPOLLIN | EPOLLRDNORM);
}

/** os_kick - kick a control thread or the walker, which has something to do */
void os_kick(struct dxk_engine *e, u32 who)
{
	struct dxk_ctx *ctx = dxk_ctx_of(e);

	if (who == DXK_WALKER)
		dxk_queue_walk(ctx);
	else
		dxk_control_kick(&ctx->control[who]);
}

/* --- turns --------------------------------------------------------------------- */

/*
 * To lockdep, a turn is a lock that is held for reading as long as it lasts, and that any task
 * which may wait for it takes and releases at once. Users are not such a lock: the burial waits
 * for the items that release files, which may hang, but only once they have nothing left to
 * release.
 */
#ifdef CONFIG_LOCKDEP

#define OS_TURN(_turn, _name) \
	[_turn] = STATIC_LOCKDEP_MAP_INIT(_name, &os_turn_keys[_turn])

static struct lock_class_key os_turn_keys[OS_TURNS];

struct lockdep_map os_turns[OS_TURNS] = {
	OS_TURN(OS_EXECUTE, "dxk_execute"),
	OS_TURN(OS_WALK, "dxk_walk"),
	OS_TURN(OS_MONITOR, "dxk_monitor"),
	OS_TURN(OS_SCHEDULER, "dxk_scheduler"),
	OS_TURN(OS_TIDY, "dxk_tidy"),
	OS_TURN(OS_GONE, "dxk_gone"),
	OS_TURN(OS_SHOW, "dxk_show"),
	OS_TURN(OS_CLOSE, "dxk_close"),
	OS_TURN(OS_DISPATCHER, "dxk_dispatcher"),
};

/** os_in_turn_for_others - is the caller in a turn that must end, whatever users do? */
bool os_in_turn_for_others(void)
{
	enum os_turn turn;

	for (turn = OS_EXECUTE + 1; turn < OS_TURNS; turn++)
		if (lock_is_held(&os_turns[turn]))
			return true;
	return false;
}

/** os_turns_init - at module load, record that each turn may wait for those that follow it */
void os_turns_init(void)
{
	enum os_turn turn;

	for (turn = 0; turn < OS_TURNS; turn++)
		lock_map_acquire(&os_turns[turn]);
	while (turn--)
		lock_map_release(&os_turns[turn]);
}

#endif /* CONFIG_LOCKDEP */

/* --- requests -------------------------------------------------------------- */

/** os_release - release the kernel's objects that a request refers to */
void os_release(struct dxk_rqe *rqe)
{
	if (rqe->exec)
		dxk_executor_put(rqe->exec);
	/* Of a request that was not taken, or ends after its context. */
	if (!dxk_rqe_has_file(rqe))
		return;
	os_let_go(rqe->more->file);
	rqe->more->file = NULL;
	if (rqe->more->watch)
		dxk_watch_let_go(rqe->more->watch);
	rqe->more->watch = NULL;
}

void os_disown(struct dxk_rqe *rqe)
{
	dxk_item_disown(rqe);
}

/**
 * os_let_go - release files; the only place where files of requests and handles are released
 * @files: in a list
 *
 * The caller is the task that had the file itself: the worker that executed, or the poster whose
 * post was refused. Otherwise it is the item that empties the bin. A kernel thread releases the
 * file synchronously: a deferred release would use one list of the whole system, which a hanging
 * file blocks.
 */
void os_let_go(struct dxk_file_ref *files)
{
	struct dxk_file_ref *ref;

	if (current->flags & PF_KTHREAD)
		os_may_wait_for_user();
	while ((ref = files)) {
		files = ref->next;
		if (ref->watched) {
			dxk_watch_let_go(container_of(ref, struct dxk_watch, ref));
			continue;
		}
		if (current->flags & PF_KTHREAD)
			__fput_sync(ref->file);
		else
			fput(ref->file);
		if (ref->paid)
			dxk_file_uncharge(KUIDT_INIT(ref->payer));
		kfree(ref);
		cond_resched();
	}
}

/** os_empty_bin - have the files in the bin released */
void os_empty_bin(struct dxk_engine *e)
{
	dxk_files_kick(&dxk_ctx_of(e)->files);
}
