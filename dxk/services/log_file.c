// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log item: it writes the messages of the Log Pool to the log file, log_batch of them
 * per turn, and changes and releases that file. It is not part of the Monitor, so neither
 * a command nor the start of a worker delays the log, and it continues after the
 * application has died.
 *
 * It may hang in the file for as long as the file system takes; then it is the drainer,
 * and holds no lock. A message leaves the pool for log->held and is dropped there when
 * it was handed on whole, so a message that fails - a full disk, a bad address - is kept
 * and retried.
 */
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/poll.h>
#include <linux/time64.h>

#include "compat.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/life.h"
#include "engine/os.h"
#include "services/files.h"
#include "services/log.h"

/* How long to wait with a file that cannot be written, the first and later times. */
#define DXK_BACKOFF_MIN_MS	10
#define DXK_BACKOFF_MAX_MS	1000

/* Room for a line: the message, its prefix and its suffix. */
#define DXK_LOG_LINE		(DXK_LOG_TEXT + 80)

/* --- lines ----------------------------------------------------------------- */

/** dxk_logfile_line - format a message as a line; returns its length */
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

	os_may_wait_for_user();
	old = override_creds(file->f_cred);
	n = kernel_write(file, p, len, &pos);
	revert_creds(old);
	return n ?: -EIO;
}

/* Write the rest of the line of log->held. Written bytes stay counted. */
static int dxk_logfile_write(struct dxk_log *log)
{
	char line[DXK_LOG_LINE];
	u32 len = dxk_logfile_line(&log->held, line, sizeof(line));
	ssize_t n = 0;

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

/* --- messages -------------------------------------------------------------- */

/* The last message for this file. A change that comes meanwhile may be seen late. */
static u64 dxk_logfile_upto(struct dxk_log *log)
{
	struct dxk_log_op *change;

	guard(spinlock_irqsave)(&log->lock);
	change = list_first_entry_or_null(&log->changes, struct dxk_log_op, w.link);
	return change ? change->upto : U64_MAX;
}

/* Write messages of the pool, at most @max. */
static int dxk_logfile_write_some(struct dxk_log *log, u32 max)
{
	u64 upto = dxk_logfile_upto(log);
	int err = 0;

	/* Only the drainer changes log->told. */
	while (!err && max-- && log->told < upto && dxk_log_hold(log)) {
		err = dxk_logfile_write(log);
		if (!err)
			dxk_log_pass(log);
	}
	return err;
}

/*
 * Take a message whose caller waits, and give it its number, if it is really its turn:
 * the pool is empty and the context does not run.
 */
static bool dxk_logfile_begin(struct dxk_log *log)
{
	struct dxk_log_op *op;

	guard(spinlock_irqsave)(&log->lock);
	op = list_first_entry_or_null(&log->sync, struct dxk_log_op, w.link);
	if (!op || log->async || log->told != log->seq)
		return false;
	dxk_waiter_leave(&op->w);
	op->begun = true;
	log->serving = op;
	dxk_log_number(log, op->rec);
	log->held = *op->rec;
	log->taken = log->seq;
	return true;
}

/* The message of a caller is not in the file: undo its number. */
static void dxk_logfile_undo(struct dxk_log *log)
{
	lockdep_assert_held(&log->lock);

	log->torn |= log->done;
	log->done = 0;
	log->taken = log->told;
	if (log->seq == log->held.seq)
		log->seq--;
	else
		log->lost++;	/* another one follows: a gap stays */
}

/* Wake the caller that the item serves, unless it was killed. */
static void dxk_logfile_served(struct dxk_log *log, int err, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&log->lock);

	if (log->serving)
		dxk_log_finish(log->serving, err, wakes);
	log->serving = NULL;
}

/* Write messages whose callers wait (DX-3), at most @max; errors are theirs. */
static void dxk_logfile_write_sync(struct dxk_log *log, u32 max)
{
	struct dxk_wakes wakes;
	int err;

	while (max-- && dxk_logfile_begin(log)) {
		err = dxk_logfile_write(log);
		dxk_wakes_init(&wakes);
		scoped_guard(spinlock_irqsave, &log->lock) {
			if (err)
				dxk_logfile_undo(log);
			else
				log->told = log->taken;
			dxk_logfile_served(log, err, &wakes);
		}
		dxk_wakes_flush(log->engine, &wakes);
	}
}

/* --- which file ------------------------------------------------------------ */

/*
 * The next file takes over. Return: false when there is no change to be made, or not yet:
 * messages accepted before it go to the old file, unless that cannot be written.
 */
static bool dxk_logfile_swap(struct dxk_log *log, int err, struct file **old)
{
	struct dxk_log_op *op;

	guard(spinlock_irqsave)(&log->lock);
	op = list_first_entry_or_null(&log->changes, struct dxk_log_op, w.link);
	if (!op && !log->closed)
		return false;
	if (log->file && !err && log->told < (op ? op->upto : log->seq))
		return false;
	*old = log->file;
	WRITE_ONCE(log->file, op ? op->file : NULL);
	log->serving = op;
	if (op) {
		dxk_waiter_leave(&op->w);
		op->begun = true;
	}
	/* A line that the old file took only in part is written again. */
	log->done = 0;
	log->torn = false;
	return true;
}

/* Make the requested change, if it is time. @err: of the old file. */
static bool dxk_logfile_change(struct dxk_log *log, int err)
{
	struct file *old;
	struct dxk_wakes wakes;

	if (!dxk_logfile_swap(log, err, &old))
		return false;
	if (!log->file)
		dxk_log_finish_all(log, &log->sync, log->closed ? -ESHUTDOWN : -ENODEV);
	/* LOG_READ is over, or has something to read. */
	wake_up_interruptible_poll(&log->readers, EPOLLIN | EPOLLRDNORM);
	if (log->closed && old && dxk_log_readable(log))
		pr_warn_ratelimited("dxk: context %u: %llu messages could not be written\n",
				    log->ctx_id, dxk_log_unwritten(log));
	if (old)
		__fput_sync(old);
	dxk_wakes_init(&wakes);
	scoped_guard(spinlock_irqsave, &log->lock)
		dxk_logfile_served(log, 0, &wakes);
	dxk_wakes_flush(log->engine, &wakes);
	return true;
}

/* --- the work -------------------------------------------------------------- */

/* Write, then change the file if that is requested. Return: the error of the file. */
static int dxk_logfile_turn(struct dxk_log *log)
{
	u32 batch = READ_ONCE(log->engine->policy.log_batch);
	int err = 0;

	if (log->file)
		err = dxk_logfile_write_some(log, batch);
	if (err)
		dxk_log_finish_all(log, &log->sync, err);
	else if (log->file)
		dxk_logfile_write_sync(log, batch);
	return dxk_logfile_change(log, err) ? 0 : err;
}

static void dxk_logfile_set_backoff(struct dxk_log *log, int err)
{
	unsigned int least = max(1U, (unsigned int)msecs_to_jiffies(DXK_BACKOFF_MIN_MS));
	unsigned int most = msecs_to_jiffies(DXK_BACKOFF_MAX_MS);

	log->backoff = err ? clamp(2 * log->backoff, least, most) : 0;
}

/* The item is no longer the drainer. Return: whether the pin is to be released. */
static bool dxk_logfile_rest(struct dxk_log *log, int err)
{
	bool unpin;

	guard(spinlock_irqsave)(&log->lock);
	log->error = err;
	log->drainer = false;
	unpin = !log->file && list_empty(&log->changes);
	if (unpin)
		log->pinned = false;
	else if (!list_empty(&log->changes) || !list_empty(&log->sync) || log->closed)
		queue_delayed_work(log->files->wq, &log->work, 0);
	else if (log->told != log->seq)
		queue_delayed_work(log->files->wq, &log->work, log->backoff);
	return unpin;
}

/* Only the item releases the pin. */
static bool dxk_logfile_is_pinned(struct dxk_log *log)
{
	guard(spinlock_irqsave)(&log->lock);
	return log->pinned;
}

static bool dxk_logfile_claim(struct dxk_log *log)
{
	guard(spinlock_irqsave)(&log->lock);
	if (log->drainer)
		return false;
	log->drainer = true;
	return true;
}

/** dxk_logfile_resume - continue: the system is no longer suspended */
void dxk_logfile_resume(struct dxk_gate *gate)
{
	struct dxk_log *log = container_of(gate, struct dxk_log, gate);

	guard(spinlock_irqsave)(&log->lock);
	if (log->pinned)
		dxk_log_kick(log);
}

/** dxk_logfile_work - a turn of the log item; if it cannot run, the gate or a reader kicks it */
void dxk_logfile_work(struct work_struct *work)
{
	struct dxk_log *log = container_of(to_delayed_work(work), struct dxk_log, work);
	bool unpin;
	int err;

	/* A kick without work. At the gate the log must stay in place, which needs the pin. */
	if (!dxk_logfile_is_pinned(log))
		return;
	/* Only the item changes the file, so it exists while the item uses it. */
	if (!dxk_gate_enter(&log->gate, log->file))
		return;
	if (!dxk_logfile_claim(log)) {
		dxk_gate_leave(&log->gate);
		return;
	}
	err = dxk_logfile_turn(log);
	dxk_logfile_set_backoff(log, err);
	dxk_gate_leave(&log->gate);
	unpin = dxk_logfile_rest(log, err);
	wake_up_interruptible(&log->claimants);
	wake_up_interruptible(&log->stoppers);
	/* Last: the context may be gone. */
	if (unpin)
		dxk_unpin(log->engine);
}
