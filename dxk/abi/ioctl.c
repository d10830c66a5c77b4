// SPDX-License-Identifier: GPL-2.0-only
/*
 * The descriptors and their calls: one table per kind of descriptor, one place
 * that copies an argument in. What the calls do is in ioctl_*.c.
 */
#include <linux/anon_inodes.h>
#include <linux/build_bug.h>
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/poll.h>
#include <linux/sched.h>

#include "abi/args.h"
#include "abi/ioctl.h"
#include "engine/calls.h"
#include "runtime/context.h"
#include "runtime/crew.h"
#include "runtime/session.h"
#include "runtime/thread.h"

/**
 * struct dxk_call_desc - one call
 * @cmd: its number
 * @min_size: size of the argument's first version
 * @size: size of the argument now
 * @access: DXK_ACCESS_* bits that the descriptor must have
 * @fn: what it does with the descriptor's object
 */
struct dxk_call_desc {
	u32 cmd;
	u32 min_size;
	u32 size;
	u32 access;
	long (*fn)(void *obj, struct dxk_ucall *c);
};

#define CALL(_cmd, _struct, _last, _fn, _access)			\
	{ .cmd = _cmd, .min_size = offsetofend(struct _struct, _last),	\
	  .size = sizeof(struct _struct), .access = _access, .fn = _fn }
#define CONTROL	DXK_ACCESS_CONTROL

/* @access: what the descriptor was opened for; @s: the session, if it is one */
static long dxk_call(const struct dxk_call_desc *table, size_t nr, void *obj,
		     u32 access, struct dxk_session *s, unsigned int cmd,
		     unsigned long arg)
{
	struct dxk_ucall c = { .uptr = (void __user *)arg, .session = s };
	const struct dxk_call_desc *d;
	int err;

	for (d = table; d < table + nr; d++)
		if (d->cmd == cmd)
			break;
	if (d == table + nr)
		return -ENOTTY;
	if (d->access & ~access)
		return -EACCES;
	if (get_user(c.usize, (u32 __user *)c.uptr))
		return -EFAULT;
	if (c.usize < d->min_size)
		return -EINVAL;
	if (c.usize > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(&c.args, d->size, c.uptr, c.usize);
	if (err)
		return err;
	return d->fn(obj, &c);
}

/* Make a descriptor for @obj and tell the caller; on error @obj stays its own. */
static int dxk_publish_fd(const char *name, const struct file_operations *fops,
			  void *obj, s32 *out_fd, struct dxk_ucall *c, u32 size)
{
	struct file *file;
	int fd, err;

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	/* The reply first: what can fail comes before what cannot be undone. */
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

/* --- members --------------------------------------------------------------- */

/* Two threads never share a member (DX-23). */
static bool dxk_member_is_mine(const struct dxk_member *m)
{
	return dxk_thread_of(m)->pid == task_pid(current);
}

#define MEMBER_CALL(_name)						\
	static long dxk_member_##_name(void *obj, struct dxk_ucall *c)	\
	{								\
		if (!dxk_member_is_mine(obj))				\
			return -EPERM;					\
		return dxk_##_name##_ioctl(obj, c);			\
	}
MEMBER_CALL(post)
MEMBER_CALL(rejoin)
MEMBER_CALL(next)
MEMBER_CALL(should_stop)
MEMBER_CALL(log_write)
MEMBER_CALL(command_attach)
MEMBER_CALL(command_next)

static const struct dxk_call_desc dxk_member_calls[] = {
	CALL(DXK_IOC_NEXT, dxk_next, nr_taken, dxk_member_next, 0),
	CALL(DXK_IOC_POST, dxk_post, reason, dxk_member_post, 0),
	CALL(DXK_IOC_REJOIN, dxk_rejoin, reserved, dxk_member_rejoin, 0),
	CALL(DXK_IOC_SHOULD_STOP, dxk_should_stop, deadline, dxk_member_should_stop, 0),
	CALL(DXK_IOC_LOG_WRITE, dxk_log_write, reserved, dxk_member_log_write, 0),
	CALL(DXK_IOC_COMMAND_ATTACH, dxk_command_attach, attach,
	     dxk_member_command_attach, CONTROL),
	CALL(DXK_IOC_COMMAND_NEXT, dxk_command_next, reply_len, dxk_member_command_next, 0),
};

static long dxk_member_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct dxk_member *m = file->private_data;
	const struct dxk_call_desc *table = dxk_member_calls;
	size_t nr = ARRAY_SIZE(dxk_member_calls);

	/* The first call is for workers only. */
	if (m->role != DXK_ROLE_WORKER)
		table++, nr--;
	return dxk_call(table, nr, m, dxk_thread_of(m)->access, NULL, cmd, arg);
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
	if (m->role == DXK_ROLE_WORKER && !ctx->engine.cancelling &&
	    dxk_ready_best(&ctx->engine.ready, m->kind, &ctx->engine.crew.lanes[m->kind]))
		mask = EPOLLIN | EPOLLRDNORM;
	spin_unlock(&ctx->engine.lock);
	if (dxk_command_readable(&dxk_thread_of(m)->handler))
		mask = EPOLLIN | EPOLLRDNORM;
	return mask;
}

static int dxk_member_close(struct inode *inode, struct file *file)
{
	dxk_member_release(file->private_data);
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

static long dxk_member_create_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_member_create *a = &c->args.member_create;
	struct dxk_member *m = dxk_member_create(obj, c->session, a);
	int err;

	if (IS_ERR(m))
		return PTR_ERR(m);
	err = dxk_publish_fd("[dxk-member]", &dxk_member_fops, m, &a->fd, c, sizeof(*a));
	if (err)
		dxk_member_release(m);
	return err;
}

static const struct dxk_call_desc dxk_ctx_calls[] = {
	CALL(DXK_IOC_EXECUTOR_FIND, dxk_executor_find, name, dxk_executor_find_ioctl, 0),
	CALL(DXK_IOC_CTX_START, dxk_ctx_start, flags, dxk_ctx_start_ioctl, CONTROL),
	CALL(DXK_IOC_CTX_STOP, dxk_ctx_stop, reserved, dxk_ctx_stop_ioctl, CONTROL),
	CALL(DXK_IOC_POLICY_GET, dxk_policy, max_spares, dxk_policy_get_ioctl,
	     DXK_ACCESS_READ),
	CALL(DXK_IOC_POLICY_SET, dxk_policy, max_spares, dxk_policy_set_ioctl, CONTROL),
	/* client or worker: that is another right each */
	CALL(DXK_IOC_MEMBER_CREATE, dxk_member_create, id, dxk_member_create_ioctl, 0),
	CALL(DXK_IOC_CREW_WAIT, dxk_crew_wait, spares, dxk_crew_wait_ioctl,
	     DXK_ACCESS_EXECUTE),
	CALL(DXK_IOC_SAMPLES_READ, dxk_samples_read, sample_size,
	     dxk_samples_read_ioctl, DXK_ACCESS_READ),
	CALL(DXK_IOC_LOG_FILE, dxk_log_file, fd, dxk_log_file_ioctl, CONTROL),
	CALL(DXK_IOC_LOG_READ, dxk_log_read, record_size, dxk_log_read_ioctl, CONTROL),
	CALL(DXK_IOC_HANDLE_OPEN, dxk_handle_open, handle, dxk_handle_open_ioctl,
	     CONTROL),
	CALL(DXK_IOC_HANDLE_CLOSE, dxk_handle_close, handle, dxk_handle_close_ioctl,
	     CONTROL),
	CALL(DXK_IOC_COMMAND_SEND, dxk_command_send, id, dxk_command_send_ioctl,
	     CONTROL),
};

static long dxk_ctx_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct dxk_session *s = file->private_data;

	return dxk_call(dxk_ctx_calls, ARRAY_SIZE(dxk_ctx_calls), s->ctx, s->access, s,
			cmd, arg);
}

static __poll_t dxk_ctx_poll(struct file *file, poll_table *wait)
{
	struct dxk_session *s = file->private_data;

	return s->access & CONTROL ? dxk_log_poll(s->ctx, file, wait) : 0;
}

static int dxk_ctx_close(struct inode *inode, struct file *file)
{
	dxk_session_close(file->private_data);
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

static long dxk_ctx_create_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_ctx_create *a = &c->args.ctx_create;

	return dxk_session_publish(dxk_ctx_open_new(a), &a->fd, c, sizeof(*a));
}

static long dxk_ctx_join_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_ctx_join *a = &c->args.ctx_join;

	return dxk_session_publish(dxk_ctx_open_existing(a), &a->fd, c, sizeof(*a));
}

static const struct dxk_call_desc dxk_control_calls[] = {
	CALL(DXK_IOC_VERSION, dxk_version, data_max, dxk_version_ioctl, 0),
	CALL(DXK_IOC_EXECUTOR_FIND, dxk_executor_find, name, dxk_executor_find_ioctl, 0),
	CALL(DXK_IOC_CTX_CREATE, dxk_ctx_create, name, dxk_ctx_create_ioctl, 0),
	CALL(DXK_IOC_CTX_JOIN, dxk_ctx_join, name, dxk_ctx_join_ioctl, 0),
};

static long dxk_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return dxk_call(dxk_control_calls, ARRAY_SIZE(dxk_control_calls), NULL, 0, NULL,
			cmd, arg);
}

const struct file_operations dxk_control_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = dxk_control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

/* The sum of the fields is the struct: no hole that could leak kernel memory. */
#define FIELDS(_type, _n32, _n64, _bytes) \
	BUILD_BUG_ON(sizeof(struct _type) != 4 * (_n32) + 8 * (_n64) + (_bytes))

/** dxk_ioctl_check_abi - at build time: no ABI struct has padding */
void dxk_ioctl_check_abi(void)
{
	FIELDS(dxk_version, 6, 1, 0);
	FIELDS(dxk_executor_find, 2, 1, DXK_NAME_LEN);
	FIELDS(dxk_ctx_create, 8, 0, DXK_NAME_LEN);
	FIELDS(dxk_ctx_join, 6, 0, DXK_NAME_LEN);
	FIELDS(dxk_policy, 32, 0, 0);
	FIELDS(dxk_ctx_start, 2, 0, 0);
	FIELDS(dxk_running, 2, 4, 0);
	FIELDS(dxk_ctx_stop, 6, 2, 0);
	FIELDS(dxk_member_create, 4, 0, 0);
	FIELDS(dxk_crew_wait, 4, 1, 0);
	FIELDS(dxk_post_entry, 6, 4, 0);
	FIELDS(dxk_post, 6, 2, 0);
	FIELDS(dxk_result, 8, 2, 0);
	FIELDS(dxk_rejoin, 8, 4, 0);
	FIELDS(dxk_done, 2, 2, 0);
	FIELDS(dxk_work, 8, 4, 0);
	FIELDS(dxk_next, 8, 4, 0);
	FIELDS(dxk_should_stop, 2, 1, 0);
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
}
