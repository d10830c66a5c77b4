// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of members, Start, Stop and close on the log.
 *
 * Callers that act for themselves may sleep, in dxk_log_op: for room in the pool, for the
 * item to write a message while the context does not run, for the item to take another
 * file. No task but the item touches a file, so none can be caught in a file system. Stop
 * and close record the request, kick the item and return.
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/stdarg.h>

#include "compat.h"
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/life.h"
#include "engine/os.h"
#include "services/file.h"
#include "services/files.h"
#include "services/log.h"

/* --- sleeping -------------------------------------------------------------- */

/** dxk_log_finish - end a caller's sleep: its operation is done, or will not be done */
void dxk_log_finish(struct dxk_log_op *op, int err, struct dxk_wakes *wakes)
{
	op->err = err;
	dxk_waiter_finish(&op->w, wakes);
}

/**
 * dxk_log_finish_all - end the sleep of all that are in a list
 * @log: the log
 * @ops: a list of it; callers that arrive meanwhile are not affected
 * @err: the error that they receive
 *
 * No more than some per lock hold.
 */
void dxk_log_finish_all(struct dxk_log *log, struct list_head *ops, int err)
{
	struct dxk_wakes wakes;
	unsigned long flags;
	LIST_HEAD(gone);
	bool more;

	spin_lock_irqsave(&log->lock, flags);
	list_splice_init(ops, &gone);
	spin_unlock_irqrestore(&log->lock, flags);
	do {
		dxk_wakes_init(&wakes);
		spin_lock_irqsave(&log->lock, flags);
		while (!list_empty(&gone) && dxk_wakes_room(&wakes))
			dxk_log_finish(list_first_entry(&gone, struct dxk_log_op, w.link),
				       err, &wakes);
		more = !list_empty(&gone);
		spin_unlock_irqrestore(&log->lock, flags);
		dxk_wakes_flush(log->engine, &wakes);
		cond_resched();
	} while (more);
}

/* Return: whether the sleeper may go. Not if the item has begun: its work is not undone. */
static bool dxk_log_withdraw(struct dxk_log *log, struct dxk_log_op *op)
{
	scoped_guard(spinlock_irqsave, &log->lock) {
		if (op->w.done || op->begun)
			return false;
		dxk_waiter_leave(&op->w);
	}
	/* It may have been the change of file that readers wait for. */
	wake_up_interruptible(&log->claimants);
	return true;
}

/* The item has begun. Return: 0 when it is done, -EINTR when the caller was killed. */
static int dxk_log_see_through(struct dxk_log *log, struct dxk_log_op *op)
{
	for (;;) {
		set_current_state(current->flags & PF_KTHREAD ? TASK_IDLE : TASK_KILLABLE);
		/* pairs with the release in dxk_waiter_finish() */
		if (smp_load_acquire(&op->w.done) || fatal_signal_pending(current))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);

	guard(spinlock_irqsave)(&log->lock);
	if (op->w.done)
		return 0;
	/* The item may hang without limit; it does not use @op any more. */
	log->serving = NULL;
	return -EINTR;
}

static int dxk_log_sleep(struct dxk_log *log, struct dxk_log_op *op, u64 deadline)
{
	int err = os_doze(&op->w.done, NULL, deadline);

	if (err && dxk_log_withdraw(log, op))
		return err;
	err = dxk_log_see_through(log, op);
	return err ?: op->err;
}

/* --- writing --------------------------------------------------------------- */

/*
 * The message enters the pool, or its writer sleeps for room: not in a run that is cancelled,
 * because Stop would wait for the writer, and the writer for a reader.
 * Return: 0, 1 if it sleeps, or -ESHUTDOWN.
 */
static int dxk_log_enter_or_queue(struct dxk_log *log, struct dxk_member *m,
				  struct dxk_log_op *op, bool wait)
{
	enum dxk_log_full full = READ_ONCE(log->engine->policy.log_full);

	if (!wait || full != DXK_LOG_BLOCK || dxk_log_has_room(log, op->share)) {
		dxk_log_enter(log, full, op->rec, op->share);
		dxk_log_announce(log);
		return 0;
	}
	/* Stop sets it, and looks for sleepers afterwards. */
	if (READ_ONCE(log->engine->cancelling))
		return -ESHUTDOWN;
	dxk_waiter_queue(&op->w, &log->writers, NULL, &log->asleep, &log->blocks,
			 &log->block_ns);
	dxk_member_set_state(m, DXK_M_LOGGING);
	return 1;
}

/* Have the item write the message now, even if it is to retry later. */
static int dxk_log_queue_sync(struct dxk_log *log, struct dxk_log_op *op)
{
	if (log->closed)
		return -ESHUTDOWN;
	if (!log->file)
		return -ENODEV;
	list_add_tail(&op->w.link, &log->sync);
	mod_delayed_work(log->files->wq, &log->work, 0);
	return 1;
}

static int dxk_log_write_once(struct dxk_log *log, struct dxk_member *m,
			      struct dxk_log_record *rec, bool wait, u64 deadline)
{
	struct dxk_log_op op = { .rec = rec, .share = m->share };
	bool rests = false;
	int err;

	dxk_waiter_init(&op.w);
	scoped_guard(spinlock_irqsave, &log->lock) {
		if (log->async) {
			err = dxk_log_enter_or_queue(log, m, &op, wait);
			rests = err > 0;
		} else {
			err = dxk_log_queue_sync(log, &op);
			deadline = DXK_FOREVER;
		}
	}
	if (err <= 0)
		return err;
	/* Room is made from outside: until somebody reads, this thread cannot continue. */
	if (rests)
		dxk_rest(m, true);
	err = dxk_log_sleep(log, &op, deadline);
	if (rests)
		dxk_rest(m, false);
	dxk_member_set_state(m, dxk_member_home_state(m));
	return err;
}

/**
 * dxk_log_write - write a message for a member (DX-97..DX-101)
 * @log: the pool
 * @m: the member
 * @rec: thread, text, len and flags are set
 * @wait: sleep while the pool is full, under %DXK_LOG_BLOCK
 * @deadline: of the sleep
 *
 * While the context runs, the message enters the pool; otherwise it is in the log file when
 * this returns (DX-3). Once the item writes it, only SIGKILL ends the sleep: it is unknown
 * whether the message of a killed caller is in the file.
 *
 * Return: 0; -ENODEV without a file, -ESHUTDOWN when the context is gone, the error of
 * the write; -ETIMEDOUT, -ERESTARTSYS or -EINTR.
 */
int dxk_log_write(struct dxk_log *log, struct dxk_member *m, struct dxk_log_record *rec,
		  bool wait, u64 deadline)
{
	int err;

	do {
		/* 1 when a Start was faster */
		err = dxk_log_write_once(log, m, rec, wait, deadline);
	} while (err > 0);
	return err;
}

/**
 * dxk_log_review - a new policy is in force: nobody sleeps against it
 * @log: the pool
 * @full: the new log_full
 *
 * No more than some sleepers per lock hold. Callers that come meanwhile find the new policy
 * and do not sleep.
 */
void dxk_log_review(struct dxk_log *log, enum dxk_log_full full)
{
	struct dxk_log_op *op;
	struct dxk_wakes wakes;
	unsigned long flags;

	if (full == DXK_LOG_BLOCK)
		return;
	do {
		dxk_wakes_init(&wakes);
		spin_lock_irqsave(&log->lock, flags);
		while ((op = list_first_entry_or_null(&log->writers, struct dxk_log_op,
						      w.link)) &&
		       dxk_wakes_room(&wakes)) {
			dxk_log_enter(log, full, op->rec, op->share);
			dxk_log_finish(op, 0, &wakes);
		}
		spin_unlock_irqrestore(&log->lock, flags);
		dxk_wakes_flush(log->engine, &wakes);
		cond_resched();
	} while (op);
}

/* --- which file ------------------------------------------------------------ */

/* Have the item change the file. Return: false: there is none, and none is to come. */
static bool dxk_log_queue_change(struct dxk_log *log, struct dxk_log_op *op, bool *pinned)
{
	guard(spinlock_irqsave)(&log->lock);
	if (!op->file && !log->file && list_empty(&log->changes))
		return false;
	if (!log->pinned)
		swap(log->pinned, *pinned);
	op->upto = log->seq;
	list_add_tail(&op->w.link, &log->changes);
	mod_delayed_work(log->files->wq, &log->work, 0);
	return true;
}

/* Check that kernel_write() can append to the file: it would warn. */
static int dxk_log_file_check(struct file *file)
{
	if (!(file->f_mode & FMODE_WRITE))
		return -EBADF;
	if (dxk_file_kind(file) != DXK_FILE_STORED || !file->f_op->write_iter ||
	    file->f_op->write)
		return -EINVAL;
	if (!(file->f_flags & O_APPEND) || file->f_flags & O_DIRECT)
		return -EINVAL;
	return 0;
}

/**
 * dxk_log_set_file - write the log to a file from now on
 * @log: the log
 * @file: its reference goes to the log; NULL for none
 *
 * Messages accepted before go to the old file, unless that fails. On error the caller keeps
 * @file, and the item keeps the old file.
 *
 * Return: 0; -EBADF, -EINVAL: the file cannot be appended to; -ENOMEM; -ERESTARTSYS.
 */
int dxk_log_set_file(struct dxk_log *log, struct file *file)
{
	struct dxk_log_op op = { .file = file };
	bool pinned = file;
	int err = 0;

	if (file)
		err = dxk_log_file_check(file) ?: dxk_files_open(log->files);
	if (err)
		return err;
	dxk_waiter_init(&op.w);
	if (file)
		dxk_pin(log->engine);
	if (dxk_log_queue_change(log, &op, &pinned))
		err = dxk_log_sleep(log, &op, DXK_FOREVER);
	if (pinned)
		dxk_unpin(log->engine);
	/* A caller that is killed while the old file is released has changed it. */
	return op.begun ? 0 : err;
}

/* --- Start, Stop and close ------------------------------------------------- */

/**
 * dxk_log_async - the context starts: messages enter the pool (DX-17)
 * @log: the log
 *
 * Messages that wait for the item enter it, too, and no more come.
 */
void dxk_log_async(struct dxk_log *log)
{
	scoped_guard(spinlock_irqsave, &log->lock)
		log->async = true;
	dxk_log_finish_all(log, &log->sync, 1);
}

/**
 * dxk_log_sync - the context stopped: messages are written while their callers wait
 * @log: the pool; the item writes its messages to the file, or they stay for LOG_READ
 *
 * Writers that sleep for room get ESHUTDOWN. Does not wait.
 */
void dxk_log_sync(struct dxk_log *log)
{
	scoped_guard(spinlock_irqsave, &log->lock) {
		log->async = false;
		/* The next attempt, which is now, shows whether it still fails. */
		log->error = 0;
		if (log->file)
			mod_delayed_work(log->files->wq, &log->work, 0);
	}
	dxk_log_finish_all(log, &log->writers, -ESHUTDOWN);
	/* No more will come: LOG_READ returns. */
	wake_up_interruptible_poll(&log->readers, EPOLLIN | EPOLLRDNORM);
}

/** dxk_log_cancel - Stop(cancel): sleepers for room get ESHUTDOWN, and no more come */
void dxk_log_cancel(struct dxk_log *log)
{
	dxk_log_finish_all(log, &log->writers, -ESHUTDOWN);
}

/** dxk_log_seq - get the sequence number of the newest message */
u64 dxk_log_seq(struct dxk_log *log)
{
	guard(spinlock_irqsave)(&log->lock);
	return log->seq;
}

static bool dxk_log_is_told(struct dxk_log *log, u64 seq)
{
	guard(spinlock_irqsave)(&log->lock);
	return !log->file || log->error || log->told >= seq;
}

/**
 * dxk_log_told_wait - sleep until the file has the logged messages
 * @log: the log
 * @seq: up to which message
 * @deadline: of the sleep; it has one second at least
 *
 * For the caller of Stop; a signal ends the sleep, and so does a file that fails.
 * Return: 0, -ETIME or -ERESTARTSYS.
 */
int dxk_log_told_wait(struct dxk_log *log, u64 seq, u64 deadline)
{
	u64 now = ktime_get_ns();
	u64 time = deadline > now + NSEC_PER_SEC ? deadline - now : NSEC_PER_SEC;

	os_may_wait_for_user();
	return wait_event_interruptible_hrtimeout(log->stoppers, dxk_log_is_told(log, seq),
						  ns_to_ktime(min_t(u64, time, KTIME_MAX)));
}

/**
 * dxk_log_close - the context is gone: write the rest, release the file
 * @log: not asynchronous any more
 * @ctx_id: whose
 *
 * Waits for nothing: the item does this, or ends with its first error, and then releases the
 * pin.
 */
void dxk_log_close(struct dxk_log *log, u32 ctx_id)
{
	guard(spinlock_irqsave)(&log->lock);
	log->closed = true;
	log->ctx_id = ctx_id;
	if (log->pinned)
		mod_delayed_work(log->files->wq, &log->work, 0);
}
