// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calls on the log: members write; context descriptors read and set the file.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>

#include "abi/args.h"
#include "engine/member.h"
#include "runtime/context.h"
#include "services/file.h"

long dxk_log_write_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_member *m = obj;
	const struct dxk_log_write *a = &c->args.log_write;
	struct dxk_log_record rec = { .thread = m->id };

	if (a->flags & ~DXK_LOG_WAIT)
		return -EOPNOTSUPP;
	if (a->reserved)
		return -EINVAL;
	rec.len = min_t(u32, a->len, sizeof(rec.text) - 1);
	if (rec.len < a->len)
		rec.flags = DXK_LOG_CUT;
	if (copy_from_user(rec.text, u64_to_user_ptr(a->text), rec.len))
		return -EFAULT;
	dxk_log_clean(&rec);
	return dxk_log_write(&dxk_member_ctx(m)->log, m, &rec, a->flags & DXK_LOG_WAIT,
			     a->deadline);
}

/* --- reading --------------------------------------------------------------- */

/* Is there something that LOG_READ can answer now? */
static bool dxk_log_stirs(struct dxk_log *log)
{
	return !READ_ONCE(log->async) || READ_ONCE(log->file) || dxk_log_readable(log);
}

static int dxk_log_wait(struct dxk_log *log, u64 deadline)
{
	ktime_t until = ns_to_ktime(min_t(u64, deadline, KTIME_MAX));
	DEFINE_WAIT(wait);
	int err = 0;

	for (;;) {
		prepare_to_wait(&log->readers, &wait, TASK_INTERRUPTIBLE);
		if (dxk_log_stirs(log)) {
			err = 0;
			break;
		}
		/* The deadline takes precedence over signals, as in os_doze(). */
		if (!err && signal_pending(current))
			err = ktime_get_ns() < deadline ? -ERESTARTSYS : -ETIMEDOUT;
		if (err)
			break;
		if (!schedule_hrtimeout_range(deadline == DXK_FOREVER ? NULL : &until,
					      current->timer_slack_ns,
					      HRTIMER_MODE_ABS))
			err = -ETIMEDOUT;
	}
	finish_wait(&log->readers, &wait);
	return err;
}

/* Copy out messages, as the drainer. One that cannot be copied out is the next to read again. */
static int dxk_log_read_some(struct dxk_log *log, const struct dxk_log_read *a)
{
	/* Read before the pool: once it is false, no further message comes. */
	bool more = READ_ONCE(log->async);
	int err = 0;
	u32 i;

	smp_rmb();
	for (i = 0; i < a->nr; i++) {
		if (!dxk_log_hold(log)) {
			err = more ? 0 : -ESHUTDOWN;
			break;
		}
		err = dxk_array_put(&log->held, sizeof(log->held), a->records,
				    a->record_size, i);
		if (err)
			break;
		dxk_log_pass(log);
	}
	return i ? (int)i : err;
}

/* Where user memory is never served, only those wait who read the same log. */
static int dxk_log_read_now(struct dxk_log *log, const struct dxk_log_read *a)
{
	int ret, claim;

	ret = wait_event_interruptible(log->claimants, (claim = dxk_log_claim(log)));
	if (ret || claim < 0)
		return ret ?: claim;
	ret = dxk_log_read_some(log, a);
	dxk_log_yield(log);
	return ret;
}

long dxk_log_read_ioctl(void *obj, struct dxk_ucall *c)
{
	const struct dxk_log_read *a = &c->args.log_read;
	struct dxk_ctx *ctx = obj;
	int ret;

	if (a->flags)
		return -EOPNOTSUPP;
	ret = dxk_array_check(a->nr, a->record_size,
			      offsetofend(struct dxk_log_record, text));
	while (!ret) {
		ret = dxk_log_read_now(&ctx->log, a);
		if (ret || !a->deadline)
			break;
		ret = dxk_log_wait(&ctx->log, a->deadline);
		if (ret == -ETIMEDOUT)
			return 0;
	}
	return ret;
}

/** dxk_log_poll - is the log a reason for poll(2) on the context to return? */
__poll_t dxk_log_poll(struct dxk_ctx *ctx, struct file *file, poll_table *wait)
{
	struct dxk_log *log = &ctx->log;

	poll_wait(file, &log->readers, wait);
	if (READ_ONCE(log->file) || !dxk_log_readable(log))
		return 0;
	return EPOLLIN | EPOLLRDNORM;
}

/* --- the file -------------------------------------------------------------- */

/* Can kernel_write() append to the file? It warns when it cannot. */
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

long dxk_log_file_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_ctx *ctx = obj;
	struct file *file = NULL;
	int err = 0;

	if (c->args.log_file.fd != -1) {
		file = fget(c->args.log_file.fd);
		if (!file)
			return -EBADF;
		err = dxk_log_file_check(file) ?: dxk_files_open(&ctx->files);
	}
	if (!err)
		err = dxk_log_set_file(&ctx->log, file);
	if (err && file)
		fput(file);
	return err;
}
