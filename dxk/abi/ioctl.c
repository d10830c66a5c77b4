// SPDX-License-Identifier: GPL-2.0-only
/*
 * The descriptors and their calls: one table of calls, one place that copies an argument
 * in. The bodies of the calls are in ioctl_*.c.
 */
#include <linux/anon_inodes.h>
#include <linux/build_bug.h>
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/sched.h>

#include "abi/args.h"
#include "abi/ioctl.h"
#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/fire.h"
#include "engine/room.h"
#include "runtime/context.h"
#include "runtime/crew.h"
#include "runtime/session.h"
#include "runtime/slot.h"
#include "runtime/thread.h"

/* --- calls that make a descriptor ------------------------------------------ */

static const struct file_operations dxk_ctx_fops, dxk_member_fops;

/* Make a descriptor for @obj and reply; on error @obj stays the caller's. */
static int dxk_publish_fd(const char *name, const struct file_operations *fops,
			  void *obj, s32 *out_fd, struct dxk_ucall *c, u32 size)
{
	struct file *file;
	int fd, err;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	/* The reply first: steps that can fail come before steps that cannot be undone. */
	*out_fd = fd;
	err = dxk_ucall_reply(c, size);
	if (err)
		goto err_fd;
	file = anon_inode_getfile(name, fops, obj, O_RDWR);
	if (IS_ERR(file)) {
		err = PTR_ERR(file);
		goto err_fd;
	}
	fd_install(fd, file);
	return 0;

err_fd:
	put_unused_fd(fd);
	return err;
}

static long dxk_session_publish(struct dxk_session *s, s32 *fd, struct dxk_ucall *c,
				u32 size)
{
	int err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	err = dxk_publish_fd("[dxk-context]", &dxk_ctx_fops, s, fd, c, size);
	if (err)
		dxk_session_close(s);
	return err;
}

/* @obj: the open device */
static long dxk_ctx_create_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_ctx_create *a = &c->args.ctx_create;
	const struct file *device = obj;

	return dxk_session_publish(dxk_ctx_open_new(a, device->f_cred), &a->fd, c,
				   sizeof(*a));
}

/* A caller that opened the device only for reading may read, and join for reading. */
static u32 dxk_control_access(const struct file *file)
{
	return file->f_mode & FMODE_WRITE ? DXK_ACCESS_ALL : DXK_ACCESS_READ;
}

/* @obj: the open device */
static long dxk_ctx_join_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_ctx_join *a = &c->args.ctx_join;

	if (a->access & DXK_ACCESS_ALL & ~dxk_control_access(obj))
		return -EACCES;
	return dxk_session_publish(dxk_ctx_join(a), &a->fd, c, sizeof(*a));
}

static long dxk_member_create_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_member_create *a = &c->args.member_create;
	struct dxk_member *m = dxk_member_create(obj, c->session, a);
	int err;

	if (IS_ERR(m))
		return PTR_ERR(m);
	err = dxk_publish_fd("[dxk-member]", &dxk_member_fops, m, &a->fd, c, sizeof(*a));
	if (err) {
		dxk_member_release(m);
		/* Nothing of it is left when the call returns. */
		dxk_slots_settle(obj);
	}
	return err;
}

/* --- all calls ------------------------------------------------------------- */

/* The kinds of descriptors; each call exists on some of them. */
enum dxk_call_on {
	DXK_ON_CONTROL = 1 << 0,
	DXK_ON_CONTEXT = 1 << 1,
	DXK_ON_CLIENT = 1 << 2,
	DXK_ON_WORKER = 1 << 3,
	DXK_ON_MEMBER = DXK_ON_CLIENT | DXK_ON_WORKER,
};

/**
 * struct dxk_call_desc - one call
 */
struct dxk_call_desc {
	/** @on: DXK_ON_* bits of the descriptors that have it */
	u8 on;
	/** @access: DXK_ACCESS_* bits with which the descriptor must have been opened */
	u8 access;
	/** @min_size: size of the argument's first version */
	u16 min_size;
	/** @size: current size of the argument */
	u16 size;
	/** @fn: performs the call on the descriptor's object */
	long (*fn)(void *obj, struct dxk_ucall *c);
};

#define CALL(_name, _on, _access, _struct, _last, _fn)			\
	[_IOC_NR(DXK_IOC_##_name)] = {					\
		.on = _on,						\
		.access = _access,					\
		.min_size = offsetofend(struct _struct, _last),		\
		.size = sizeof(struct _struct) +			\
			BUILD_BUG_ON_ZERO(sizeof(struct _struct) % sizeof(u64)), \
		.fn = _fn,						\
	}

/* By number. A number that is not used is a call on no descriptor. */
static const struct dxk_call_desc dxk_calls[] = {
	CALL(VERSION, DXK_ON_CONTROL, 0, dxk_version, data_max, dxk_version_ioctl),
	CALL(EXECUTOR_FIND, DXK_ON_CONTROL | DXK_ON_CONTEXT, 0,
	     dxk_executor_find, name, dxk_executor_find_ioctl),
	CALL(CTX_CREATE, DXK_ON_CONTROL, DXK_ACCESS_CONTROL,
	     dxk_ctx_create, name, dxk_ctx_create_ioctl),
	/* The right depends on the access that it joins for. */
	CALL(CTX_JOIN, DXK_ON_CONTROL, 0, dxk_ctx_join, name, dxk_ctx_join_ioctl),

	CALL(CTX_START, DXK_ON_CONTEXT, DXK_ACCESS_CONTROL,
	     dxk_ctx_start, flags, dxk_ctx_start_ioctl),
	CALL(CTX_STOP, DXK_ON_CONTEXT, DXK_ACCESS_CONTROL,
	     dxk_ctx_stop, reserved, dxk_ctx_stop_ioctl),
	CALL(POLICY_GET, DXK_ON_CONTEXT, DXK_ACCESS_READ,
	     dxk_policy, space_weight, dxk_policy_get_ioctl),
	CALL(POLICY_SET, DXK_ON_CONTEXT, DXK_ACCESS_CONTROL,
	     dxk_policy, space_weight, dxk_policy_set_ioctl),
	/* The right depends on the kind of member: dxk_member_create() checks it. */
	CALL(MEMBER_CREATE, DXK_ON_CONTEXT, 0,
	     dxk_member_create, reserved, dxk_member_create_ioctl),
	CALL(LOG_FILE, DXK_ON_CONTEXT, DXK_ACCESS_CONTROL,
	     dxk_log_file, fd, dxk_log_file_ioctl),
	CALL(LOG_READ, DXK_ON_CONTEXT, DXK_ACCESS_CONTROL,
	     dxk_log_read, record_size, dxk_log_read_ioctl),
	CALL(COMMAND_SEND, DXK_ON_CONTEXT, DXK_ACCESS_CONTROL,
	     dxk_command_send, id, dxk_command_send_ioctl),
	CALL(HANDLE_OPEN, DXK_ON_CONTEXT, DXK_ACCESS_CONTROL,
	     dxk_handle_open, handle, dxk_handle_open_ioctl),
	CALL(HANDLE_CLOSE, DXK_ON_CONTEXT, DXK_ACCESS_CONTROL,
	     dxk_handle_close, handle, dxk_handle_close_ioctl),
	CALL(SAMPLES_READ, DXK_ON_CONTEXT, DXK_ACCESS_READ,
	     dxk_samples_read, sample_size, dxk_samples_read_ioctl),
	CALL(CREW_WAIT, DXK_ON_CONTEXT, DXK_ACCESS_EXECUTE,
	     dxk_crew_wait, spares, dxk_crew_wait_ioctl),
	CALL(LATENCIES_READ, DXK_ON_CONTEXT, DXK_ACCESS_READ,
	     dxk_latencies_read, reserved, dxk_latencies_read_ioctl),
	CALL(REQUESTS_READ, DXK_ON_CONTEXT, DXK_ACCESS_READ,
	     dxk_requests_read, request_size, dxk_requests_read_ioctl),

	CALL(POST, DXK_ON_MEMBER, 0, dxk_post, reason, dxk_post_ioctl),
	CALL(REJOIN, DXK_ON_MEMBER, 0, dxk_rejoin, reserved, dxk_rejoin_ioctl),
	CALL(CALL, DXK_ON_MEMBER, 0, dxk_roundtrip, reserved, dxk_roundtrip_ioctl),
	CALL(NEXT, DXK_ON_WORKER, 0, dxk_next, nr_taken, dxk_next_ioctl),
	CALL(SHOULD_STOP, DXK_ON_MEMBER, 0,
	     dxk_should_stop, deadline, dxk_should_stop_ioctl),
	CALL(WAKE, DXK_ON_MEMBER, 0, dxk_names, reserved, dxk_wake_ioctl),
	CALL(CANCEL, DXK_ON_MEMBER, 0, dxk_names, reserved, dxk_cancel_ioctl),
	CALL(CANCEL_OWNER, DXK_ON_MEMBER, 0,
	     dxk_cancel_owner, done, dxk_cancel_owner_ioctl),
	CALL(KEY, DXK_ON_MEMBER, 0, dxk_key_call, reserved, dxk_key_ioctl),
	CALL(INSTRUMENT, DXK_ON_MEMBER, DXK_ACCESS_EXECUTE,
	     dxk_instrument, name, dxk_instrument_ioctl),
	CALL(LABEL, DXK_ON_MEMBER, DXK_ACCESS_EXECUTE, dxk_label, name, dxk_label_ioctl),
	CALL(LOG_WRITE, DXK_ON_MEMBER, 0, dxk_log_write, reserved, dxk_log_write_ioctl),
	CALL(COMMAND_ATTACH, DXK_ON_MEMBER, DXK_ACCESS_CONTROL,
	     dxk_command_attach, attach, dxk_command_attach_ioctl),
	CALL(COMMAND_NEXT, DXK_ON_MEMBER, 0,
	     dxk_command_next, reply_len, dxk_command_next_ioctl),
};

/* Two threads never share a member (DX-23). */
static bool dxk_member_is_mine(const struct dxk_member *m)
{
	return dxk_thread_of(m)->user == current;
}

/* Copy it in. Those of the calls that are made most have sizes that the compiler knows. */
static bool dxk_args_get(struct dxk_ucall *c, u32 size)
{
	static_assert(sizeof(struct dxk_rejoin) == sizeof(struct dxk_next));
	if (size == sizeof(struct dxk_next))
		return dxk_words_get(&c->args, c->uptr, sizeof(struct dxk_next));
	if (size == sizeof(struct dxk_post))
		return dxk_words_get(&c->args, c->uptr, sizeof(struct dxk_post));
	if (size == sizeof(struct dxk_roundtrip))
		return dxk_words_get(&c->args, c->uptr, sizeof(struct dxk_roundtrip));
	return !copy_from_user(&c->args, c->uptr, size);
}

/*
 * Copy the argument in, from an older or a newer program. Most arguments have the current size.
 */
static int dxk_ucall_get(struct dxk_ucall *c, u32 min_size, u32 size)
{
	if (get_user(c->usize, (u32 __user *)c->uptr))
		return -EFAULT;
	if (likely(c->usize == size))
		return dxk_args_get(c, size) ? 0 : -EFAULT;
	if (c->usize < min_size)
		return -EINVAL;
	if (c->usize > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(&c->args, size, c->uptr, c->usize);
}

/* @on: the kind of descriptor; @access: its rights; @s: the session of a context */
static long dxk_call(enum dxk_call_on on, u32 access, void *obj, struct dxk_session *s,
		     unsigned int cmd, unsigned long arg)
{
	/* Only the part of the argument that is copied in is read. */
	struct dxk_ucall c __uninitialized;
	/* Numbers with another type, a direction or a size are all beyond the table. */
	unsigned int nr = cmd - _IO(DXK_IOC_TYPE, 0);
	const struct dxk_call_desc *d;
	int err;

	if (nr >= ARRAY_SIZE(dxk_calls))
		return -ENOTTY;
	d = &dxk_calls[array_index_nospec(nr, ARRAY_SIZE(dxk_calls))];
	if (!(d->on & on))
		return -ENOTTY;
	if (d->access & ~access)
		return -EACCES;
	c.uptr = (void __user *)arg;
	c.session = s;
	err = dxk_ucall_get(&c, d->min_size, d->size);
	if (err)
		return err;
	if (on & DXK_ON_MEMBER && !dxk_member_is_mine(obj))
		return -EPERM;
	return d->fn(obj, &c);
}

/* --- members --------------------------------------------------------------- */

static long dxk_member_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct dxk_member *m = file->private_data;

	return dxk_call(m->role == DXK_ROLE_WORKER ? DXK_ON_WORKER : DXK_ON_CLIENT,
			dxk_thread_of(m)->access, m, NULL, cmd, arg);
}

/* Whether there is a request that a worker of the kind would get. */
static bool dxk_has_work(const struct dxk_engine *e, enum dxk_kind kind)
{
	if (e->cancelling)
		return !list_empty(&e->ready.last[kind]);
	return dxk_ready_best(&e->ready, kind, &e->crew.lanes[kind]);
}

static __poll_t dxk_member_poll(struct file *file, poll_table *wait)
{
	struct dxk_member *m = file->private_data;
	struct dxk_ctx *ctx = dxk_member_ctx(m);
	__poll_t mask = 0;

	poll_wait(file, &dxk_thread_of(m)->wait, wait);
	if (m->role == DXK_ROLE_WORKER)
		poll_wait(file, &ctx->work_wait, wait);

	spin_lock(&ctx->engine.lock);
	if (m->readable)
		mask = EPOLLIN | EPOLLRDNORM;
	if (poll_requested_events(wait) & (EPOLLOUT | EPOLLWRNORM) &&
	    dxk_room_poll(&ctx->engine, m))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (m->role == DXK_ROLE_WORKER) {
		dxk_events_poll(&ctx->engine);
		if (dxk_has_work(&ctx->engine, m->kind))
			mask |= EPOLLIN | EPOLLRDNORM;
	}
	spin_unlock(&ctx->engine.lock);
	if (dxk_command_readable(&dxk_thread_of(m)->handler))
		mask |= EPOLLIN | EPOLLRDNORM;
	return mask;
}

static int dxk_member_close(struct inode *inode, struct file *file)
{
	os_turn_begin(OS_CLOSE);
	dxk_member_release(file->private_data);
	os_turn_end(OS_CLOSE);
	return 0;
}

static const struct file_operations dxk_member_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = dxk_member_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = dxk_member_poll,
	.release = dxk_member_close,
	.llseek = noop_llseek,
};

/* --- the context ----------------------------------------------------------- */

static long dxk_ctx_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct dxk_session *s = file->private_data;

	return dxk_call(DXK_ON_CONTEXT, s->access, s->ctx, s, cmd, arg);
}

static __poll_t dxk_ctx_poll(struct file *file, poll_table *wait)
{
	struct dxk_session *s = file->private_data;

	return s->access & DXK_ACCESS_CONTROL ? dxk_log_poll(s->ctx, file, wait) : 0;
}

static int dxk_ctx_close(struct inode *inode, struct file *file)
{
	os_turn_begin(OS_CLOSE);
	dxk_session_close(file->private_data);
	os_turn_end(OS_CLOSE);
	return 0;
}

static const struct file_operations dxk_ctx_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = dxk_ctx_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = dxk_ctx_poll,
	.release = dxk_ctx_close,
	.llseek = noop_llseek,
};

/* --- control --------------------------------------------------------------- */

static long dxk_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return dxk_call(DXK_ON_CONTROL, dxk_control_access(file), file, NULL, cmd, arg);
}

const struct file_operations dxk_control_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = dxk_control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

/* --- the ABI --------------------------------------------------------------- */

/* The sum of the fields is the struct: no hole that could leak kernel memory. */
#define FIELDS(_type, _n32, _n64, _bytes) \
	BUILD_BUG_ON(sizeof(struct _type) != 4 * (_n32) + 8 * (_n64) + (_bytes))

/** dxk_ioctl_check_abi - at build time: no ABI struct has padding */
void dxk_ioctl_check_abi(void)
{
	FIELDS(dxk_version, 6, 1, 0);
	FIELDS(dxk_executor_find, 2, 1, DXK_NAME_LEN);
	FIELDS(dxk_ctx_create, 8, 0, DXK_NAME_LEN);
	FIELDS(dxk_ctx_join, 12, 0, DXK_NAME_LEN);
	FIELDS(dxk_policy, 46, 0, 0);
	FIELDS(dxk_ctx_start, 2, 0, 0);
	FIELDS(dxk_running, 2, 4, 0);
	FIELDS(dxk_ctx_stop, 6, 2, 0);
	FIELDS(dxk_member_create, 6, 0, 0);
	FIELDS(dxk_crew_wait, 4, 1, 0);
	FIELDS(dxk_post_entry, 6, 4, 0);
	FIELDS(dxk_wait, 4, 4, 0);
	FIELDS(dxk_post_more, 12, 11, 0);
	FIELDS(dxk_post, 6, 2, 0);
	FIELDS(dxk_result, 8, 2, 0);
	FIELDS(dxk_rejoin, 8, 4, 0);
	FIELDS(dxk_roundtrip, 12, 4, 0);
	FIELDS(dxk_done, 2, 2, 0);
	FIELDS(dxk_done_more, 8, 6, 0);
	FIELDS(dxk_work, 12, 4, 0);
	FIELDS(dxk_work_more, 16, 8, 0);
	FIELDS(dxk_next, 8, 4, 0);
	FIELDS(dxk_should_stop, 2, 1, 0);
	FIELDS(dxk_names, 4, 2, 0);
	FIELDS(dxk_cancel_owner, 6, 1, 0);
	FIELDS(dxk_key_call, 4, 3, 0);
	FIELDS(dxk_instrument, 2, 1, DXK_NAME_LEN);
	FIELDS(dxk_label, 2, 1, DXK_NAME_LEN);
	FIELDS(dxk_log_record, 4, 2, DXK_LOG_TEXT);
	FIELDS(dxk_log_write, 4, 2, 0);
	FIELDS(dxk_log_read, 4, 2, 0);
	FIELDS(dxk_log_file, 2, 0, 0);
	FIELDS(dxk_command_send, 6, 5, 0);
	FIELDS(dxk_command_attach, 2, 0, 0);
	FIELDS(dxk_command_next, 6, 3, 0);
	FIELDS(dxk_handle_open, 2, 1, 0);
	FIELDS(dxk_handle_close, 2, 1, 0);
	FIELDS(dxk_sha256_range, 0, 3, 0);
	FIELDS(dxk_sample, 6, 4, 0);
	FIELDS(dxk_samples_read, 4, 2, 0);
	FIELDS(dxk_latencies_read, 6, 1, 0);
	FIELDS(dxk_request_info, 10, 6, 0);
	FIELDS(dxk_requests_read, 4, 2, 0);
}
