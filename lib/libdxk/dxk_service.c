// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The thin API: kernel executors, log, handles and commands.
 */
#define _GNU_SOURCE
#include <string.h>

#include "calls.h"

int dxk_executor_find(int fd, const char *name, uint64_t *id)
{
	struct dxk_executor_find find = { .size = sizeof(find) };
	size_t len = strnlen(name, DXK_NAME_LEN);
	int rc;

	if (!len || len == DXK_NAME_LEN)
		return -EINVAL;
	memcpy(find.name, name, len);
	rc = call(fd, DXK_IOC_EXECUTOR_FIND, &find);
	if (rc >= 0)
		*id = find.id;
	return rc;
}

int dxk_log_write(int member, const void *text, size_t len, unsigned int flags,
		  int64_t timeout_ns)
{
	struct dxk_log_write write = {
		.size = sizeof(write),
		.flags = flags,
		.deadline = dxk_deadline(timeout_ns),
		.text = address(text),
		/* a length that exceeds 32 bits is too long as well */
		.len = stride32(len),
	};

	return call(member, DXK_IOC_LOG_WRITE, &write);
}

int dxk_log_read(int ctx, struct dxk_log_record *records, unsigned int nr,
		 int64_t timeout_ns)
{
	struct dxk_log_read read = {
		.size = sizeof(read),
		.deadline = dxk_deadline(timeout_ns),
		.records = address(records),
		.nr = min_u(nr, DXK_BATCH_MAX),
		.record_size = sizeof(*records),
	};

	return wrote(call(ctx, DXK_IOC_LOG_READ, &read), records, sizeof(*records));
}

int dxk_log_file(int ctx, int fd)
{
	struct dxk_log_file file = { .size = sizeof(file), .fd = fd };

	return call(ctx, DXK_IOC_LOG_FILE, &file);
}

int dxk_handle_open(int ctx, int fd, uint64_t *handle)
{
	struct dxk_handle_open open = { .size = sizeof(open), .fd = fd };
	int rc = call(ctx, DXK_IOC_HANDLE_OPEN, &open);

	if (rc >= 0)
		*handle = open.handle;
	return rc;
}

int dxk_handle_close(int ctx, uint64_t handle)
{
	struct dxk_handle_close close = { .size = sizeof(close), .handle = handle };

	return call(ctx, DXK_IOC_HANDLE_CLOSE, &close);
}

int dxk_command_send(int ctx, const void *text, size_t len, void *reply, size_t room,
		     int *status, int64_t timeout_ns)
{
	struct dxk_command_send send = {
		.size = sizeof(send),
		.text_len = stride32(len),
		.deadline = dxk_deadline(timeout_ns),
		.text = address(text),
		.reply = address(reply),
		.reply_room = stride32(room),
	};
	int rc;

	dxk_commanding();
	rc = call(ctx, DXK_IOC_COMMAND_SEND, &send);
	dxk_commanded();
	if (rc >= 0)
		dxk_written(reply, send.reply_len < room ? send.reply_len : room);
	if (status)
		*status = rc < 0 ? 0 : send.status;
	return rc < 0 ? rc : (int)send.reply_len;
}

int dxk_command_schedule(int ctx, const void *text, size_t len, uint64_t at,
			 uint64_t every_ns)
{
	struct dxk_command_send send = {
		.size = sizeof(send),
		.text_len = stride32(len),
		.at = at,
		.every_ns = every_ns,
		.text = address(text),
	};
	int rc;

	if (!at && !every_ns)
		return -EINVAL;
	rc = call(ctx, DXK_IOC_COMMAND_SEND, &send);
	return rc < 0 ? rc : (int)send.id;
}

int dxk_command_cancel(int ctx, int id)
{
	struct dxk_command_send send = { .size = sizeof(send), .id = (uint32_t)id };

	return id > 0 ? call(ctx, DXK_IOC_COMMAND_SEND, &send) : -EINVAL;
}

int dxk_command_attach(int member, unsigned int attach)
{
	struct dxk_command_attach arg = { .size = sizeof(arg), .attach = attach };

	return call(member, DXK_IOC_COMMAND_ATTACH, &arg);
}

int dxk_command_next(int member, int status, const void *reply, size_t reply_len,
		     void *text, size_t *text_len, int64_t timeout_ns)
{
	struct dxk_command_next next = {
		.size = sizeof(next),
		.status = status,
		.reply = address(reply),
		.deadline = dxk_deadline(timeout_ns),
		.text = address(text),
		.text_room = DXK_COMMAND_MAX,
		.reply_len = stride32(reply_len),
	};
	int rc;

	dxk_commanding();
	rc = call(member, DXK_IOC_COMMAND_NEXT, &next);
	dxk_commanded();
	*text_len = rc < 0 ? 0 : next.text_len;
	dxk_written(text, *text_len);
	return rc < 0 ? rc : (int)next.kind;
}
