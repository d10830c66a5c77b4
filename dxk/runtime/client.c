// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posting and collecting as a member: for the ioctls and, exported, for other modules.
 */
#include <linux/export.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/post.h"
#include "engine/rejoin.h"
#include "runtime/client.h"
#include "runtime/context.h"
#include "runtime/crew.h"
#include "runtime/session.h"
#include "runtime/thread.h"
#include "runtime/worker.h"
#include "services/command.h"
#include "trace.h"

/* --- other modules --------------------------------------------------------- */

/**
 * dxk_client_create - join a context's Thread Pool as a client
 * @ctx: the context; for a context that was joined, use dxk_session_client()
 *
 * Return: a member for one thread at a time, or an error pointer.
 */
struct dxk_member *dxk_client_create(struct dxk_ctx *ctx)
{
	return dxk_member_claim(ctx, NULL, DXK_MEMBER_CLIENT, 0, NULL);
}
EXPORT_SYMBOL_GPL(dxk_client_create);

/**
 * dxk_session_client - join the Thread Pool of a context that was joined, as a client
 * @s: the session, with %DXK_ACCESS_WRITE
 *
 * Owners, names and keys of its requests are those of the session, see %DXK_JOIN_SHARED. To
 * their executors, these requests are reported as posted by the kernel.
 *
 * Context: process, may sleep.
 * Return: a member for one thread at a time, or an error pointer: -EACCES: the session was not
 * joined with that access; -ESHUTDOWN, -ENOSPC, -ENOMEM.
 */
struct dxk_member *dxk_session_client(struct dxk_session *s)
{
	if (~s->access & DXK_ACCESS_WRITE)
		return ERR_PTR(-EACCES);
	return dxk_member_claim(s->ctx, s, DXK_MEMBER_CLIENT, 0, NULL);
}
EXPORT_SYMBOL_GPL(dxk_session_client);

/**
 * dxk_client_destroy - leave the Thread Pool
 * @member: from dxk_client_create() or dxk_session_client(); no call of it is running
 */
void dxk_client_destroy(struct dxk_member *member)
{
	dxk_member_release(member);
}
EXPORT_SYMBOL_GPL(dxk_client_destroy);

/* Make the parts that most requests do not have. */
static noinline int dxk_post_make_more(struct dxk_post_op *p, struct dxk_rqe *rqe,
				       const struct dxk_request *req)
{
	const struct dxk_post_more more = {
		.name = req->name, .expire = req->expire, .wait = req->wait, .key = req->key,
		.home = req->home,
		.reentry = req->reentry,
	};

	if (more.wait.wait & DXK_WAIT_FILE)
		return -EOPNOTSUPP;
	return dxk_more_make(p->m, rqe, &more);
}

static int dxk_post_make(struct dxk_post_op *p, const struct dxk_request *req)
{
	const struct dxk_post_entry e = {
		.owner = req->owner,
		.executor = req->executor,
		.param = req->param,
		.data_len = req->data_len,
		.result_len = req->result_len,
		.prio = req->prio,
		.attrs = req->attrs,
	};
	struct file *file = req->attrs & PXR_FD ? req->file : NULL;
	struct dxk_rqe *rqe;
	int err = 0;

	if (req->attrs & PXR_FD && !file)
		return -EBADF;
	rqe = dxk_client_add(p, &e, file);
	if (IS_ERR(rqe))
		return PTR_ERR(rqe);
	if (unlikely(req->attrs & PXR_MORE))
		err = dxk_post_make_more(p, rqe, req);
	if (!err && file)
		err = dxk_files_attach(&dxk_member_ctx(p->m)->files, p->m, rqe, file, NULL);
	if (err)
		return err;
	if (req->data_len)
		memcpy(rqe->data, req->data, req->data_len);
	return 0;
}

/**
 * dxk_post - post requests (DX-37..DX-48)
 * @member: a client, or dxk_call.self of the request that runs
 * @reqs: the requests; copied
 * @nr: how many, 1..%DXK_BATCH_MAX
 * @deadline: on CLOCK_MONOTONIC in ns, ends the sleep of %PXR_WAITIF_BUSY
 * @reason: out, PXR_POOL_FULL.. of the first request not taken; may be %NULL
 *
 * Return: how many were taken, or the error of the first one: see the contract in
 * the uapi header. If one request is malformed, all are refused.
 */
int dxk_post(struct dxk_member *member, const struct dxk_request *reqs, u32 nr,
	     u64 deadline, u32 *reason)
{
	struct dxk_post_op p __uninitialized;
	u32 taken = 0;
	int ret;
	u32 i;

	if (!nr || nr > DXK_BATCH_MAX)
		return -EINVAL;
	p.m = member;
	ret = dxk_client_begin(&p, nr);
	if (ret)
		goto out_drop;
	for (i = 0; i < nr; i++) {
		ret = dxk_post_make(&p, &reqs[i]);
		if (ret)
			goto out_drop;
	}
	for (;;) {
		p.help = dxk_worker_can_help(member);
		ret = dxk_client_post(&p, deadline);
		taken += p.taken;
		if (!p.helper.called)
			break;
		dxk_worker_help(member);
		/* The requests executed meanwhile may have posted as this member, too. */
		ret = dxk_client_prepare(member, nr - taken);
		if (ret) {
			p.reason = 0;
			break;
		}
	}
	if (taken)
		ret = taken;
out_drop:
	dxk_rqe_drop_all(member, &p.rqes);
	if (reason)
		*reason = p.reason;
	return ret;
}
EXPORT_SYMBOL_GPL(dxk_post);

/**
 * dxk_wake - call a request by its name
 * @member: a client, or dxk_call.self of the request that runs
 * @name: of a request that was posted by one of the kernel's members
 *
 * If the request waits for a call, this ends its wait. Otherwise it ends the request's next wait
 * for a call.
 * Return: 0; -ENOENT: there is no request of that name, or it has ended; -EOPNOTSUPP: the
 * policy's max_waiting is 0.
 */
int dxk_wake(struct dxk_member *member, u64 name)
{
	int ret = dxk_wake_names(member, &name, 1);

	return min(ret, 0);
}
EXPORT_SYMBOL_GPL(dxk_wake);

/**
 * dxk_cancel - end a request by its name
 * @member: a client, or dxk_call.self of the request that runs
 * @name: of a request that was posted by one of the kernel's members
 *
 * Return: %DXK_CANCEL_ENDED, %DXK_CANCEL_TOLD; or an error as from dxk_wake().
 */
int dxk_cancel(struct dxk_member *member, u64 name)
{
	u32 state;
	int ret = dxk_cancel_names(member, &name, 1, &state);

	return ret < 0 ? ret : (int)state;
}
EXPORT_SYMBOL_GPL(dxk_cancel);

/**
 * dxk_cancel_owner - end all requests of an owner
 * @member: a client, or dxk_call.self of the request that runs
 * @owner: of requests that were posted by one of the kernel's members
 *
 * See struct dxk_cancel_owner.
 * Return: the number of its requests that had not ended.
 */
unsigned int dxk_cancel_owner(struct dxk_member *member, u64 owner)
{
	u32 nr[DXK_PLACES];

	dxk_purge_owner(member, owner, nr);
	return nr[DXK_AT_READY] + nr[DXK_AT_WORK] + nr[DXK_AT_WAIT];
}
EXPORT_SYMBOL_GPL(dxk_cancel_owner);

/**
 * dxk_hold_key - let no request of a key begin a turn from now on (AG-29)
 * @member: a client, or dxk_call.self of the request that runs
 * @key: of requests that are posted by the kernel's members
 * @refuse: also refuse posts to the key, with -ECANCELED
 *
 * Executing requests continue. Stop ends the hold.
 * Return: 0; -ENOSPC: the maximum number already waits; -EOPNOTSUPP: the policy's max_waiting
 * is 0; -ESHUTDOWN; -ENOMEM.
 */
int dxk_hold_key(struct dxk_member *member, u64 key, bool refuse)
{
	return dxk_key_hold_back(member, key, refuse);
}
EXPORT_SYMBOL_GPL(dxk_hold_key);

/**
 * dxk_release_key - end dxk_hold_key()
 * @member: a client, or dxk_call.self of the request that runs
 * @key: the key
 *
 * Return: 0; -ENOENT: the key is unknown.
 */
int dxk_release_key(struct dxk_member *member, u64 key)
{
	return dxk_key_release(member, key);
}
EXPORT_SYMBOL_GPL(dxk_release_key);

/**
 * dxk_cancel_key - cancel the requests that wait for a key (AG-31)
 * @member: a client, or dxk_call.self of the request that runs
 * @key: the key
 *
 * Return: how many requests it has ended or notified; -ENOENT: the key is unknown.
 */
int dxk_cancel_key(struct dxk_member *member, u64 key)
{
	return dxk_key_cancel(member, key);
}
EXPORT_SYMBOL_GPL(dxk_cancel_key);

static void dxk_answer_fill(struct dxk_answer *a, const struct dxk_rqe *rqe)
{
	a->executor = rqe->executor;
	a->param = rqe->param;
	a->status = rqe->status;
	a->attrs = rqe->attrs;
	a->prio = rqe->prio;
	a->inspect_count = rqe->inspect;
	a->worker = rqe->worker;
	a->attempts = rqe->attempts;
	a->data_len = rqe->data_len;
	if (a->data)
		memcpy(a->data, dxk_rqe_result(rqe), min(rqe->data_len, a->data_room));
}

/**
 * dxk_rejoin - collect completed requests of an owner (DX-87..DX-95)
 * @member: a client, or dxk_call.self of the request that runs
 * @owner: the owner
 * @answers: room for the requests; data and data_room are set by the caller
 * @nr: how many at most, 1..%DXK_BATCH_MAX
 * @min: sleep until this many can be returned or no more can come; 0 means 1
 * @deadline: on CLOCK_MONOTONIC in ns; 0 polls
 * @answer: out, RJR_*
 *
 * Return: how many were returned, oldest completion first, or -EDEADLK when only
 * requests that the caller executes are left, -ESHUTDOWN, -ERESTARTSYS.
 */
int dxk_rejoin(struct dxk_member *member, u64 owner, struct dxk_answer *answers,
	       u32 nr, u32 min, u64 deadline, u32 *answer)
{
	struct dxk_rejoin_op r __uninitialized;
	struct dxk_rqe *rqe;
	u32 i = 0;
	int err;

	if (!nr || nr > DXK_BATCH_MAX || min > nr)
		return -EINVAL;
	r.m = member;
	r.cookie = owner;
	r.max = nr;
	r.min = min ?: 1;
	r.wait = deadline;
	r.free = true;
	r.nest = false;
	r.any = false;
	for (;;) {
		r.help = dxk_worker_can_help(member);
		err = dxk_client_rejoin(&r, deadline);
		if (err)
			return err;
		if (!r.helper.called)
			break;
		dxk_worker_help(member);
	}
	list_for_each_entry(rqe, &r.rqes, link)
		dxk_answer_fill(&answers[i++], rqe);
	dxk_rqe_drop_all(member, &r.rqes);
	*answer = r.answer;
	return r.nr;
}
EXPORT_SYMBOL_GPL(dxk_rejoin);

/**
 * dxk_client_wait_stop - sleep until Stop (DX-109)
 * @member: a client; the caller is its thread
 * @deadline: of the sleep, on CLOCK_MONOTONIC; 0 only queries, %DXK_FOREVER for none
 *
 * For a thread that serves a context as long as it runs, without being a worker of it. An
 * executing request uses dxk_wait_should_stop() instead.
 *
 * Context: process, may sleep.
 * Return: 1 from the beginning of Stop on, 0 at the deadline, -ERESTARTSYS.
 */
int dxk_client_wait_stop(struct dxk_member *member, u64 deadline)
{
	might_sleep();
	return dxk_should_wait(member, deadline);
}
EXPORT_SYMBOL_GPL(dxk_client_wait_stop);

/* --- handles --------------------------------------------------------------- */

/**
 * dxk_handle_open - put a file into the Handle Table of a context
 * @ctx: the context; running
 * @file: a regular file; the table takes its own reference
 * @id: out, for dxk_handle_file(). Never used again in this context
 *
 * Return: 0; -EINVAL when it is not a regular file of a file system that stores
 * contents, or was opened with O_PATH; -ENOSPC when the table is full, -ENOMEM,
 * -ETOOMANYREFS when too many files are held for the caller's user, -ESHUTDOWN when the
 * context does not run.
 */
int dxk_handle_open(struct dxk_ctx *ctx, struct file *file, u64 *id)
{
	return dxk_handles_open(&ctx->handles, file, id);
}
EXPORT_SYMBOL_GPL(dxk_handle_open);

/**
 * dxk_handle_close - close a handle and every worker's private file of it (DX-27)
 * @ctx: the context
 * @id: of the handle
 *
 * If a worker's running request has used the worker's private file, that file is closed when
 * the request has ended. All others are closed soon; this call does not wait for that.
 * Return: 0, or -ENOENT: there is no such handle (any more).
 */
int dxk_handle_close(struct dxk_ctx *ctx, u64 id)
{
	return dxk_handles_close(&ctx->handles, id);
}
EXPORT_SYMBOL_GPL(dxk_handle_close);

/* --- what people read ------------------------------------------------------ */

/**
 * dxk_client_instrument - update one of the application's own counters (DX-20)
 * @member: a client, or the worker that executes (dxk_call.self)
 * @name: of the counter, less than %DXK_NAME_LEN graphic characters; created at 0 if missing
 * @value: the value to add
 * @set: replace the counter's value by @value instead
 *
 * See struct dxk_instrument.
 *
 * Context: any but interrupt.
 * Return: 0; -EINVAL: the name is invalid; -ENOSPC: there are %DXK_INSTRUMENTS others.
 */
int dxk_client_instrument(struct dxk_member *member, const char *name, s64 value, bool set)
{
	struct dxk_ctx *ctx = dxk_member_ctx(member);

	if (!dxk_name_valid(name))
		return -EINVAL;
	return dxk_instrument(&ctx->instruments, &ctx->engine, name, value, set);
}
EXPORT_SYMBOL_GPL(dxk_client_instrument);

/**
 * dxk_client_label - label an executor or an owner for reports and tools (DX-115)
 * @member: a client, or the worker that executes; @object belongs to its space
 * @object: the number of the executor or owner
 * @name: less than %DXK_NAME_LEN graphic characters; empty removes the label
 *
 * Mostly used for owners: executors of the kernel have the names they are registered with. See
 * struct dxk_label.
 *
 * Context: any but interrupt.
 * Return: 0; -EINVAL: the name is invalid.
 */
int dxk_client_label(struct dxk_member *member, u64 object, const char *name)
{
	if (*name && !dxk_name_valid(name))
		return -EINVAL;
	dxk_label_give(&dxk_member_ctx(member)->labels, member->space->id, object, name);
	return 0;
}
EXPORT_SYMBOL_GPL(dxk_client_label);

/* --- the log --------------------------------------------------------------- */

/**
 * dxk_client_log - write a message to the log of a client's context (DX-97..DX-102)
 * @member: a client; a running request uses dxk_log() instead
 * @wait: sleep while the Log Pool is full, if policy log_full is block
 * @deadline: of that sleep, on CLOCK_MONOTONIC
 * @fmt: the message, one line; cut to %DXK_LOG_TEXT
 *
 * While the context runs, the message enters the Log Pool. Otherwise it is in the log file when
 * this returns (DX-3).
 *
 * Context: process, may sleep.
 * Return: 0, also when a full pool drops this message or another; -ENODEV: the context does not
 * run and has no log file; the error of the write; -ETIMEDOUT, -ESHUTDOWN, -ERESTARTSYS: the
 * message was not taken; -EINTR: the caller was killed.
 */
int dxk_client_log(struct dxk_member *member, bool wait, u64 deadline, const char *fmt, ...)
{
	struct dxk_log_record rec = { .thread = member->id };
	va_list args;

	va_start(args, fmt);
	dxk_log_format(&rec, fmt, args);
	va_end(args);
	return dxk_log_write(&dxk_member_ctx(member)->log, member, &rec, wait, deadline);
}
EXPORT_SYMBOL_GPL(dxk_client_log);

/* The destination of the messages that an in-kernel client reads. */
struct dxk_log_array {
	struct dxk_log_sink sink;
	struct dxk_log_record *recs;
};

static int dxk_log_put_array(struct dxk_log_sink *sink, const struct dxk_log_record *rec,
			     u32 i)
{
	container_of(sink, struct dxk_log_array, sink)->recs[i] = *rec;
	return 0;
}

/**
 * dxk_ctx_log_read - read the log of an in-kernel client's context (DX-97, DX-103)
 * @ctx: the context, running or not
 * @recs: out, the messages, oldest first; a separate record reports messages lost before one
 * @nr: how many at most
 * @deadline: how long to sleep while there is no message; 0 does not sleep
 *
 * Return: how many; 0 if none came in time; -ESHUTDOWN: there is none, and none will come
 * before the next Start; -EBUSY: the messages go to a file; -ERESTARTSYS.
 */
int dxk_ctx_log_read(struct dxk_ctx *ctx, struct dxk_log_record *recs, u32 nr, u64 deadline)
{
	struct dxk_log_array array = { .sink.put = dxk_log_put_array, .recs = recs };

	return dxk_log_read(&ctx->log, &array.sink, nr, deadline);
}
EXPORT_SYMBOL_GPL(dxk_ctx_log_read);

/**
 * dxk_ctx_log_file - have the log of an in-kernel client's context written to a file
 * @ctx: the context, started or not
 * @file: opened for appending, of a file system that stores contents; the log takes its own
 *	reference. %NULL for none: the messages are to be read again
 *
 * It is written with the rights of its opener. Messages logged before this call go to the old
 * file, or to this one if there was none.
 *
 * Return: 0; -EBADF, -EINVAL: it cannot be appended to; -ENOMEM; -ERESTARTSYS.
 */
int dxk_ctx_log_file(struct dxk_ctx *ctx, struct file *file)
{
	int err;

	if (file)
		get_file(file);
	err = dxk_log_set_file(&ctx->log, file);
	if (err && file)
		fput(file);
	return err;
}
EXPORT_SYMBOL_GPL(dxk_ctx_log_file);

/* --- commands -------------------------------------------------------------- */

/**
 * dxk_send_command - send a command to an in-kernel client's context
 * @ctx: the context
 * @text: the command
 * @reply: out, the reply, zero-terminated, cut if it is longer; may be %NULL
 * @room: bytes at @reply
 * @deadline: how long to wait for the reply; 0 does not wait and gets none
 *
 * Return: the status of the command, or the reason why it was not executed: see struct
 * dxk_command_send.
 */
int dxk_send_command(struct dxk_ctx *ctx, const char *text, char *reply, size_t room,
		     u64 deadline)
{
	struct dxk_command *cmd = dxk_command_make(text);
	int err;

	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	err = dxk_command_send(&ctx->commands, cmd, deadline);
	if (!err && deadline) {
		err = cmd->status;
		if (reply && room)
			scnprintf(reply, room, "%.*s", (int)cmd->reply_len,
				  cmd->reply ?: "");
	}
	dxk_command_put(cmd);
	return err;
}
EXPORT_SYMBOL_GPL(dxk_send_command);

/**
 * dxk_send_timed_command - send a command that runs later
 * @ctx: the context
 * @text: the command
 * @at: CLOCK_MONOTONIC time in ns, 0 for now
 * @every_ns: interval of further runs, 0 for none
 * @id: out, for the command "cancel ID"
 *
 * Return: 0; -EAGAIN when there are too many, -EINVAL, -EMSGSIZE, -ESHUTDOWN,
 * -ENOMEM.
 */
int dxk_send_timed_command(struct dxk_ctx *ctx, const char *text, u64 at,
			   u64 every_ns, u32 *id)
{
	struct dxk_command *cmd = dxk_command_make(text);
	int err;

	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	err = dxk_command_schedule(&ctx->commands, cmd, at, every_ns, id);
	if (err)
		dxk_command_put(cmd);
	return err;
}
EXPORT_SYMBOL_GPL(dxk_send_timed_command);

/**
 * dxk_attach_command_handler - set the handler of an in-kernel client's context
 * @ctx: the context, started or not
 * @h: replaces the current handler (DX-31); %NULL for none
 *
 * When this returns, no call of an earlier handler is in progress and none will
 * follow. It waits for a call in progress, however long that takes. The handler stays
 * attached across Stop and Start, but is called only while the context runs.
 *
 * Return: 0; -EDEADLK in a call of the handler; -ENODEV when its module is being unloaded.
 */
int dxk_attach_command_handler(struct dxk_ctx *ctx, struct dxk_command_handler *h)
{
	return dxk_command_attach_kernel(&ctx->commands, h);
}
EXPORT_SYMBOL_GPL(dxk_attach_command_handler);
