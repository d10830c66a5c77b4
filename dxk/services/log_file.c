// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log file: a work item writes the messages of the Log Pool, log_batch of them
 * per turn. It is no part of the Monitor, so neither a command nor the start of a
 * worker holds the log up, and it goes on after the application died.
 *
 * Messages are handed on under log->drain. A message leaves the pool for log->held
 * and is dropped there when it was handed on whole, so a message that fails - a full
 * disk, a bad address - is kept and retried.
 */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/time64.h>

#include "compat.h"
#include "engine/engine.h"
#include "services/log.h"

/* How long to wait with a file that cannot be written, the first and later times. */
#define DXK_BACKOFF_MIN_MS	10
#define DXK_BACKOFF_MAX_MS	1000

/* Room for a line: the message and what goes in front and behind. */
#define DXK_LOG_LINE		(DXK_LOG_TEXT + 80)

static struct workqueue_struct *dxk_logfile_wq;

int dxk_logfile_init(void)
{
	/*
	 * Unbound and without a rescuer: no thread is made for it. Frozen with the
	 * system: no file may change any more once a hibernation image was taken.
	 */
	dxk_logfile_wq = alloc_workqueue("dxk_log", WQ_UNBOUND | WQ_FREEZABLE, 0);
	return dxk_logfile_wq ? 0 : -ENOMEM;
}

void dxk_logfile_exit(void)
{
	destroy_workqueue(dxk_logfile_wq);
}

/* --- lines ----------------------------------------------------------------- */

/** dxk_logfile_line - a message as a line; returns its length */
u32 dxk_logfile_line(const struct dxk_log_record *rec, char *line, size_t room)
{
	u32 ns;
	u64 s = div_u64_rem(rec->time_ns, NSEC_PER_SEC, &ns);

	if (rec->flags & DXK_LOG_GAP)
		return scnprintf(line, room, "%llu %llu.%09u - %s\n", rec->seq, s, ns,
				 rec->text);
	return scnprintf(line, room, "%llu %llu.%09u %u %s%s\n", rec->seq, s, ns,
			 rec->thread, rec->text,
			 rec->flags & DXK_LOG_CUT ? " [cut]" : "");
}

static ssize_t dxk_logfile_append(struct file *file, const char *p, size_t len)
{
	const struct cred *old;
	ssize_t n;
	/* O_APPEND decides; if the application has cleared it, this does. */
	loff_t pos = i_size_read(file_inode(file));

	old = override_creds(file->f_cred);
	n = kernel_write(file, p, len, &pos);
	revert_creds(old);
	return n ?: -EIO;
}

/* Write the rest of the line of log->held. What was written stays counted. */
static int dxk_logfile_write(struct dxk_log *log)
{
	char line[DXK_LOG_LINE];
	u32 len = dxk_logfile_line(&log->held, line, sizeof(line));
	ssize_t n = 0;

	lockdep_assert_held(&log->drain);

	if (log->torn) {
		n = dxk_logfile_append(log->file, "\n", 1);
		log->torn = n < 0;
	}
	while (n >= 0 && log->done < len) {
		n = dxk_logfile_append(log->file, line + log->done, len - log->done);
		if (n > 0)
			log->done += n;
	}
	if (n < 0)
		return n;
	log->done = 0;
	return 0;
}

/* Is there a message in log->held, or one to take? */
static bool dxk_logfile_hold(struct dxk_log *log)
{
	if (!log->holding)
		WRITE_ONCE(log->holding, dxk_log_take(log, &log->held));
	return log->holding;
}

/* Write messages, at most @max and not beyond sequence number @upto. */
static int dxk_logfile_write_some(struct dxk_log *log, u32 max, u64 upto)
{
	int err = 0;

	lockdep_assert_held(&log->drain);

	while (max-- && (log->holding || READ_ONCE(log->taken) < upto) &&
	       dxk_logfile_hold(log)) {
		err = dxk_logfile_write(log);
		if (err)
			break;
		WRITE_ONCE(log->holding, false);
	}
	log->error = err;
	return err;
}

/* --- the work -------------------------------------------------------------- */

/** dxk_logfile_kick - have the work look. Context: any */
void dxk_logfile_kick(struct dxk_log *log)
{
	/* A retry after an error keeps its time. */
	queue_delayed_work(dxk_logfile_wq, &log->work, 0);
}

void dxk_logfile_work(struct work_struct *work)
{
	struct dxk_log *log = container_of(to_delayed_work(work), struct dxk_log, work);
	unsigned int backoff = log->backoff;

	guard(mutex)(&log->drain);
	if (!log->file)
		return;
	if (dxk_logfile_write_some(log, READ_ONCE(log->engine->policy.log_batch), U64_MAX))
		log->backoff = backoff ? min(2 * backoff, (unsigned int)
					     msecs_to_jiffies(DXK_BACKOFF_MAX_MS)) :
					 max(1U, (unsigned int)
					     msecs_to_jiffies(DXK_BACKOFF_MIN_MS));
	else
		log->backoff = 0;
	if (dxk_log_readable(log))
		queue_delayed_work(dxk_logfile_wq, &log->work, log->backoff);
}

/**
 * dxk_logfile_flush - write what the pool holds, if there is a file
 * @log: nobody but kernel callers adds messages any more
 *
 * By the work, not by the caller: a dying process could not. Ends with the first
 * error; the work goes on trying.
 */
void dxk_logfile_flush(struct dxk_log *log)
{
	do {
		if (!READ_ONCE(log->file))
			return;
		mod_delayed_work(dxk_logfile_wq, &log->work, 0);
		flush_delayed_work(&log->work);
	} while (dxk_log_readable(log) && !READ_ONCE(log->error));
}

/* --- synchronous logging --------------------------------------------------- */

/*
 * Give the message its number, if it is really its turn: the pool is empty and
 * the context does not run.
 */
static int dxk_logfile_turn(struct dxk_log *log, struct dxk_log_record *rec)
{
	guard(spinlock_irqsave)(&log->lock);
	if (log->async)
		return 1;
	if (log->taken != log->seq)
		return -EAGAIN;
	dxk_log_number(log, rec);
	log->taken = log->seq;
	return 0;
}

/* The message is not in the file: undo its number. */
static void dxk_logfile_undo(struct dxk_log *log, const struct dxk_log_record *rec)
{
	log->torn |= log->done;
	log->done = 0;
	guard(spinlock_irqsave)(&log->lock);
	log->taken = rec->seq - 1;
	if (log->seq == rec->seq)
		log->seq--;
	else
		log->lost++;	/* another one follows: a gap stays */
}

static int dxk_logfile_write_locked(struct dxk_log *log, struct dxk_log_record *rec)
{
	int err;

	lockdep_assert_held(&log->drain);

	if (!log->file)
		return log->closed ? -ESHUTDOWN : -ENODEV;
	do {
		err = dxk_logfile_write_some(log, U32_MAX, U64_MAX) ?:
		      dxk_logfile_turn(log, rec);
	} while (err == -EAGAIN);
	if (err)
		return err;
	log->held = *rec;
	err = dxk_logfile_write(log);
	if (err)
		dxk_logfile_undo(log, rec);
	return err;
}

/**
 * dxk_logfile_write_now - write a message to the file before returning (DX-3)
 * @log: the log
 * @rec: thread, text, len and flags are set
 *
 * Return: 0; 1 when the context was started meanwhile; -ENODEV without a file,
 * -ESHUTDOWN when the context is gone, the error of the write.
 */
int dxk_logfile_write_now(struct dxk_log *log, struct dxk_log_record *rec)
{
	int err;

	if (mutex_lock_interruptible(&log->drain))
		return -ERESTARTSYS;
	err = dxk_logfile_write_locked(log, rec);
	mutex_unlock(&log->drain);
	return err;
}

/* --- which file ------------------------------------------------------------ */

static struct file *dxk_logfile_swap(struct dxk_log *log, struct file *file)
{
	struct file *old = log->file;
	unsigned long flags;

	lockdep_assert_held(&log->drain);

	spin_lock_irqsave(&log->lock, flags);
	WRITE_ONCE(log->file, file);
	spin_unlock_irqrestore(&log->lock, flags);
	/* A line that the old file did not take whole is written again. */
	log->done = 0;
	log->torn = false;
	log->error = 0;
	log->backoff = 0;
	return old;
}

/* Write what was accepted up to @upto, unless that fails. Return: 0 or -ERESTARTSYS. */
static int dxk_logfile_finish(struct dxk_log *log, u64 upto)
{
	int err = 0;

	lockdep_assert_held(&log->drain);

	while (log->file && !err && (log->holding || READ_ONCE(log->taken) < upto)) {
		err = signal_pending(current) ? -ERESTARTSYS :
						dxk_logfile_write_some(log, 1, upto);
	}
	return err && signal_pending(current) ? -ERESTARTSYS : 0;
}

/**
 * dxk_logfile_set - write the log to a file from now on
 * @log: the log
 * @file: its reference goes to the log; NULL for none
 *
 * What was accepted before goes to the old file, unless that fails. On error,
 * -ERESTARTSYS, @file stays the caller's.
 */
int dxk_logfile_set(struct dxk_log *log, struct file *file)
{
	u64 upto = READ_ONCE(log->seq);
	int err;

	if (mutex_lock_interruptible(&log->drain))
		return -ERESTARTSYS;
	err = dxk_logfile_finish(log, upto);
	if (!err)
		file = dxk_logfile_swap(log, file);
	mutex_unlock(&log->drain);
	if (err)
		return err;

	if (file)
		fput(file);
	if (READ_ONCE(log->file))
		mod_delayed_work(dxk_logfile_wq, &log->work, 0);
	/* LOG_READ is over, or has something to read. */
	wake_up_interruptible_poll(&log->readers, EPOLLIN | EPOLLRDNORM);
	return 0;
}

/**
 * dxk_logfile_close - the context is gone: write what is left, release the file
 * @log: not asynchronous any more
 * @ctx_id: whose
 */
void dxk_logfile_close(struct dxk_log *log, u32 ctx_id)
{
	struct file *file;

	dxk_logfile_flush(log);
	mutex_lock(&log->drain);
	log->closed = true;
	file = dxk_logfile_swap(log, NULL);
	mutex_unlock(&log->drain);
	cancel_delayed_work_sync(&log->work);
	if (!file)
		return;
	if (dxk_log_readable(log))
		pr_warn_ratelimited("dxk: context %u: %llu messages could not be written\n",
				    ctx_id, log->seq - log->taken + log->holding);
	fput(file);
}
