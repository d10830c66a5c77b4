// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calls on the log: members write; context descriptors read and set the file.
 */
#include <linux/file.h>
#include <linux/poll.h>

#include "abi/args.h"
#include "engine/member.h"
#include "runtime/context.h"

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

/**
 * struct dxk_log_user - the destination of the messages of LOG_READ
 */
struct dxk_log_user {
	/** @sink: the log's part */
	struct dxk_log_sink sink;
	/** @a: the arguments */
	const struct dxk_log_read *a;
};

static int dxk_log_put_user(struct dxk_log_sink *sink, const struct dxk_log_record *rec,
			    u32 i)
{
	const struct dxk_log_read *a = container_of(sink, struct dxk_log_user, sink)->a;

	return dxk_array_put(rec, sizeof(*rec), a->records, a->record_size, i);
}

long dxk_log_read_ioctl(void *obj, struct dxk_ucall *c)
{
	const struct dxk_log_read *a = &c->args.log_read;
	struct dxk_log_user user = { .sink.put = dxk_log_put_user, .a = a };
	struct dxk_ctx *ctx = obj;

	if (a->flags)
		return -EOPNOTSUPP;
	return dxk_array_check(a->nr, a->record_size, offsetofend(struct dxk_log_record, text)) ?:
	       dxk_log_read(&ctx->log, &user.sink, a->nr, a->deadline);
}

/** dxk_log_poll - the events of the log for poll(2) on the context */
__poll_t dxk_log_poll(struct dxk_ctx *ctx, struct file *file, poll_table *wait)
{
	struct dxk_log *log = &ctx->log;

	poll_wait(file, &log->readers, wait);
	if (READ_ONCE(log->file) || !dxk_log_readable(log))
		return 0;
	return EPOLLIN | EPOLLRDNORM;
}

/* --- the file -------------------------------------------------------------- */

long dxk_log_file_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_ctx *ctx = obj;
	struct file *file = NULL;
	int err;

	if (c->args.log_file.fd != -1) {
		file = fget(c->args.log_file.fd);
		if (!file)
			return -EBADF;
	}
	err = dxk_log_set_file(&ctx->log, file);
	if (err && file)
		fput(file);
	return err;
}
