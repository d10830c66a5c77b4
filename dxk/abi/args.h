/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_ABI_ARGS_H
#define _DXK_ABI_ARGS_H

#include <linux/build_bug.h>
#include <linux/fault-inject-usercopy.h>
#include <linux/poll.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "uapi/dxk.h"

struct cred;
struct dxk_ctx;
struct dxk_member;
struct dxk_rqe;
struct dxk_session;

/* The argument of any call, as far as this module knows it. */
union dxk_args {
	u32 size;
	struct dxk_version version;
	struct dxk_executor_find executor_find;
	struct dxk_ctx_create ctx_create;
	struct dxk_ctx_join ctx_join;
	struct dxk_ctx_start ctx_start;
	struct dxk_ctx_stop ctx_stop;
	struct dxk_policy policy;
	struct dxk_member_create member_create;
	struct dxk_crew_wait crew_wait;
	struct dxk_post post;
	struct dxk_rejoin rejoin;
	struct dxk_roundtrip roundtrip;
	struct dxk_next next;
	struct dxk_should_stop should_stop;
	struct dxk_names names;
	struct dxk_cancel_owner cancel_owner;
	struct dxk_key_call key_call;
	struct dxk_instrument instrument;
	struct dxk_label label;
	struct dxk_log_write log_write;
	struct dxk_log_read log_read;
	struct dxk_log_file log_file;
	struct dxk_command_send command_send;
	struct dxk_command_attach command_attach;
	struct dxk_command_next command_next;
	struct dxk_handle_open handle_open;
	struct dxk_handle_close handle_close;
	struct dxk_samples_read samples_read;
	struct dxk_latencies_read latencies_read;
	struct dxk_requests_read requests_read;
};

/**
 * struct dxk_ucall - one ioctl on its way
 */
struct dxk_ucall {
	/** @args: the argument, copied in */
	union dxk_args args;
	/** @uptr: where it came from */
	void __user *uptr;
	/** @usize: the caller's size of it */
	u32 usize;
	/** @session: of a call on a context descriptor */
	struct dxk_session *session;
};

/*
 * Regions of user access, in which nothing is called. Each is a point at which a test can have
 * it fail, as copy_from_user() and copy_to_user() are; so is the store of one field.
 */
#define dxk_read_begin(from, size)						\
	likely(!should_fail_usercopy() && user_read_access_begin(from, size))
#define dxk_write_begin(to, size)						\
	likely(!should_fail_usercopy() && user_write_access_begin(to, size))
#define dxk_put_field(val, to)							\
	(should_fail_usercopy() ? -EFAULT : put_user(val, to))

/*
 * Words from and to the caller, in one region of user access. The loops are unrolled where
 * the size is a constant. Return: did all go over?
 */
static __always_inline bool dxk_words_get(void *to, const void __user *from, size_t size)
{
	const u64 __user *theirs = from;
	u64 *ours = to;
	size_t i;

	if (!dxk_read_begin(from, size))
		return false;
#pragma GCC unroll 16
	for (i = 0; i < size / sizeof(*ours); i++)
		unsafe_get_user(ours[i], &theirs[i], fault);
	user_read_access_end();
	return true;

fault:
	user_read_access_end();
	return false;
}

static __always_inline bool dxk_words_put(const void *from, void __user *to, size_t size)
{
	u64 __user *theirs = to;
	const u64 *ours = from;
	size_t i;

	if (!dxk_write_begin(to, size))
		return false;
#pragma GCC unroll 16
	for (i = 0; i < size / sizeof(*ours); i++)
		unsafe_put_user(ours[i], &theirs[i], fault);
	user_write_access_end();
	return true;

fault:
	user_write_access_end();
	return false;
}

/* Copy the argument back; each has its out fields within the first version. */
static inline int dxk_ucall_reply(struct dxk_ucall *c, u32 size)
{
	return copy_to_user(c->uptr, &c->args, min(c->usize, size)) ? -EFAULT : 0;
}

/* An element is small; a size far beyond is a mistake, not a newer program. */
#define DXK_ELEM_MAX	1024

static inline int dxk_elem_check(u32 size, u32 first_size)
{
	if (size < first_size)
		return -EINVAL;
	return size > DXK_ELEM_MAX ? -E2BIG : 0;
}

/* Arrays of the caller's, args.c */
static inline int dxk_array_check(u32 nr, u32 size, u32 first_size)
{
	return nr && nr <= DXK_BATCH_MAX ? dxk_elem_check(size, first_size) : -EINVAL;
}

int dxk_array_get_other(void *elem, size_t size, u64 array, u32 usize, u32 i);
int dxk_array_put_other(const void *elem, size_t size, u64 array, u32 usize, u32 i);

static inline void __user *dxk_array_at(u64 array, u32 usize, u32 i)
{
	return u64_to_user_ptr(array + (u64)usize * i);
}

/* Most elements are of our size, which the compiler knows. */
static __always_inline int dxk_array_get(void *elem, size_t size, u64 array, u32 usize,
					 u32 i)
{
	BUILD_BUG_ON(size % sizeof(u64));
	if (unlikely(usize != size))
		return dxk_array_get_other(elem, size, array, usize, i);
	return dxk_words_get(elem, dxk_array_at(array, usize, i), size) ? 0 : -EFAULT;
}

static __always_inline int dxk_array_put(const void *elem, size_t size, u64 array,
					 u32 usize, u32 i)
{
	BUILD_BUG_ON(size % sizeof(u64));
	if (unlikely(usize != size))
		return dxk_array_put_other(elem, size, array, usize, i);
	return dxk_words_put(elem, dxk_array_at(array, usize, i), size) ? 0 : -EFAULT;
}

/* Control and the context, ioctl_context.c; of two calls all but the descriptor */
struct dxk_session *dxk_ctx_open_new(struct dxk_ctx_create *a, const struct cred *opener);
struct dxk_member *dxk_member_create(struct dxk_ctx *ctx, const struct dxk_session *s,
				     struct dxk_member_create *a);
long dxk_version_ioctl(void *obj, struct dxk_ucall *c);
long dxk_ctx_start_ioctl(void *obj, struct dxk_ucall *c);
long dxk_ctx_stop_ioctl(void *obj, struct dxk_ucall *c);
long dxk_policy_get_ioctl(void *obj, struct dxk_ucall *c);
long dxk_policy_set_ioctl(void *obj, struct dxk_ucall *c);
long dxk_executor_find_ioctl(void *obj, struct dxk_ucall *c);
long dxk_handle_open_ioctl(void *obj, struct dxk_ucall *c);
long dxk_handle_close_ioctl(void *obj, struct dxk_ucall *c);
long dxk_crew_wait_ioctl(void *obj, struct dxk_ucall *c);
long dxk_samples_read_ioctl(void *obj, struct dxk_ucall *c);
long dxk_latencies_read_ioctl(void *obj, struct dxk_ucall *c);
long dxk_requests_read_ioctl(void *obj, struct dxk_ucall *c);
long dxk_instrument_ioctl(void *obj, struct dxk_ucall *c);
long dxk_label_ioctl(void *obj, struct dxk_ucall *c);

/* The log's calls, ioctl_log.c */
long dxk_log_write_ioctl(void *obj, struct dxk_ucall *c);
long dxk_log_read_ioctl(void *obj, struct dxk_ucall *c);
long dxk_log_file_ioctl(void *obj, struct dxk_ucall *c);
__poll_t dxk_log_poll(struct dxk_ctx *ctx, struct file *file, poll_table *wait);

/* Calls on a member, ioctl_request.c */
long dxk_post_ioctl(void *obj, struct dxk_ucall *c);
long dxk_rejoin_ioctl(void *obj, struct dxk_ucall *c);
long dxk_roundtrip_ioctl(void *obj, struct dxk_ucall *c);
long dxk_next_ioctl(void *obj, struct dxk_ucall *c);
long dxk_wake_ioctl(void *obj, struct dxk_ucall *c);
long dxk_cancel_ioctl(void *obj, struct dxk_ucall *c);
long dxk_cancel_owner_ioctl(void *obj, struct dxk_ucall *c);
long dxk_should_stop_ioctl(void *obj, struct dxk_ucall *c);
struct dxk_rqe *dxk_busy_find(struct dxk_member *m, u64 ticket);

/* Keys, ioctl_key.c */
long dxk_key_ioctl(void *obj, struct dxk_ucall *c);

/* Commands, ioctl_command.c */
long dxk_command_send_ioctl(void *obj, struct dxk_ucall *c);
long dxk_command_attach_ioctl(void *obj, struct dxk_ucall *c);
long dxk_command_next_ioctl(void *obj, struct dxk_ucall *c);

#endif /* _DXK_ABI_ARGS_H */
