// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calls on the control device and on contexts.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "abi/args.h"
#include "dxk_api.h"
#include "engine/calls.h"
#include "runtime/context.h"
#include "runtime/crew.h"
#include "runtime/look.h"
#include "runtime/policy.h"
#include "runtime/session.h"

/* --- control --------------------------------------------------------------- */

long dxk_version_ioctl(void *obj, struct dxk_ucall *c)
{
	c->args.version = (struct dxk_version) {
		.size = sizeof(struct dxk_version),
		.abi = DXK_ABI_VERSION,
		.capabilities = DXK_CAP_KERNEL_WORKERS | DXK_CAP_USER_WORKERS |
				DXK_CAP_DISPATCH_THREAD | DXK_CAP_NAMES |
				DXK_CAP_HELP | DXK_CAP_SPARE | DXK_CAP_POSTER |
				DXK_CAP_WAIT | DXK_CAP_CALL | DXK_CAP_KEY,
		.batch_max = DXK_BATCH_MAX,
		.max_threads = DXK_ID_WORKER_MAX,
		.max_entries = 1U << 20,
		.data_max = 4096,
	};
	return dxk_ucall_reply(c, sizeof(struct dxk_version));
}

/**
 * dxk_ctx_open_new - make a context for CTX_CREATE
 * @a: its argument; gets the id
 * @opener: of the device
 *
 * Return: the first session of the context, or an error pointer.
 */
struct dxk_session *dxk_ctx_open_new(struct dxk_ctx_create *a, const struct cred *opener)
{
	struct dxk_session *s;

	if (a->flags & ~DXK_CTX_CHOWN)
		return ERR_PTR(-EOPNOTSUPP);
	if (a->reserved)
		return ERR_PTR(-EINVAL);
	s = dxk_session_create(a, opener);
	if (!IS_ERR(s))
		a->id = s->ctx->id;
	return s;
}

/* --- the context ----------------------------------------------------------- */

/**
 * dxk_member_create - join the Thread Pool for MEMBER_CREATE
 * @ctx: the context
 * @s: the descriptor that the call is made on
 * @a: its argument; gets the id
 *
 * Return: the member of the calling thread, or an error pointer.
 */
struct dxk_member *dxk_member_create(struct dxk_ctx *ctx, const struct dxk_session *s,
				     struct dxk_member_create *a)
{
	struct dxk_member *m;

	if (a->kind > DXK_MEMBER_SPARE)
		return ERR_PTR(-EOPNOTSUPP);
	if (a->reserved)
		return ERR_PTR(-EINVAL);
	if (a->home && (a->kind != DXK_MEMBER_WORKER ||
			(a->home > DXK_HOMES_MAX && a->home != DXK_HOME_ANY)))
		return ERR_PTR(-EINVAL);
	if (~s->access & (a->kind == DXK_MEMBER_CLIENT ? DXK_ACCESS_WRITE :
							 DXK_ACCESS_EXECUTE))
		return ERR_PTR(-EACCES);
	m = dxk_member_claim(ctx, s, a->kind, min_t(u32, a->home, DXK_HOME_DEALT), current);
	if (!IS_ERR(m)) {
		a->id = m->id;
		a->home = m->home;
	}
	return m;
}

long dxk_ctx_start_ioctl(void *obj, struct dxk_ucall *c)
{
	if (c->args.ctx_start.flags)
		return -EOPNOTSUPP;
	return dxk_ctx_start(obj);
}

/* The destination of Stop's report. */
struct dxk_running_user {
	struct dxk_running_sink sink;
	const struct dxk_ctx_stop *a;
};

static int dxk_running_put_user(struct dxk_running_sink *sink, const struct dxk_running *r,
				u32 i)
{
	const struct dxk_ctx_stop *a = container_of(sink, struct dxk_running_user, sink)->a;

	return dxk_array_put(r, sizeof(*r), a->running, a->running_size, i);
}

/* Report what Stop still waits for (DX-114). If that faults, only the error is returned. */
static void dxk_ctx_stop_report(struct dxk_ctx *ctx, struct dxk_ucall *c)
{
	struct dxk_ctx_stop *a = &c->args.ctx_stop;
	struct dxk_running_user user = { .sink.put = dxk_running_put_user, .a = a };
	int nr = dxk_running_tell(ctx, &user.sink, a->nr);

	if (nr < 0)
		return;
	a->nr_running = nr;
	dxk_ucall_reply(c, sizeof(*a));
}

long dxk_ctx_stop_ioctl(void *obj, struct dxk_ucall *c)
{
	const struct dxk_ctx_stop *a = &c->args.ctx_stop;
	int err;

	if (a->mode > DXK_STOP_CANCEL)
		return -EOPNOTSUPP;
	if (a->reserved || a->nr > DXK_ID_WORKER_MAX)
		return -EINVAL;
	err = a->nr ? dxk_elem_check(a->running_size, offsetofend(struct dxk_running, attrs)) : 0;
	if (err)
		return err;
	err = dxk_ctx_stop(obj, a->mode, a->deadline);
	if (err == -ETIMEDOUT || err == -ERESTARTSYS)
		dxk_ctx_stop_report(obj, c);
	return err;
}

long dxk_policy_get_ioctl(void *obj, struct dxk_ucall *c)
{
	dxk_policy_get(obj, &c->args.policy);
	return dxk_ucall_reply(c, sizeof(c->args.policy));
}

long dxk_policy_set_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_policy *a = &c->args.policy;
	int err;

	a->size = c->usize;
	a->bad_field = 0;
	/* The reply comes first: a policy that was taken cannot be withdrawn. */
	err = dxk_ucall_reply(c, sizeof(*a));
	if (err)
		return err;
	err = dxk_policy_set(obj, a);
	/* Report bad_field; if it cannot be copied out, the error is still returned. */
	if (err)
		dxk_ucall_reply(c, sizeof(*a));
	return err;
}

long dxk_executor_find_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_executor_find *a = &c->args.executor_find;
	int err;

	if (a->reserved || strnlen(a->name, sizeof(a->name)) == sizeof(a->name))
		return -EINVAL;
	err = dxk_executor_find(a->name, &a->id);
	return err ?: dxk_ucall_reply(c, sizeof(*a));
}

long dxk_handle_open_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_handle_open *a = &c->args.handle_open;
	struct file *file = fget(a->fd);
	int err;

	if (!file)
		return -EBADF;
	err = dxk_handle_open(obj, file, &a->handle);
	fput(file);
	if (err)
		return err;
	err = dxk_ucall_reply(c, sizeof(*a));
	/* Nobody knows the handle. */
	if (err)
		dxk_handle_close(obj, a->handle);
	return err;
}

long dxk_handle_close_ioctl(void *obj, struct dxk_ucall *c)
{
	if (c->args.handle_close.flags)
		return -EOPNOTSUPP;
	return dxk_handle_close(obj, c->args.handle_close.handle);
}

long dxk_crew_wait_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_crew_wait *a = &c->args.crew_wait;
	int nr;

	if (a->flags)
		return -EOPNOTSUPP;
	nr = dxk_ctx_wait_crew(obj, a->deadline, &a->workers, &a->spares);
	if (nr < 0)
		return nr;
	return dxk_ucall_reply(c, sizeof(*a)) ?: nr;
}

long dxk_samples_read_ioctl(void *obj, struct dxk_ucall *c)
{
	const struct dxk_samples_read *a = &c->args.samples_read;
	struct dxk_sample *copy __free(kfree) = NULL;
	u32 i, nr;
	int err;

	if (a->flags)
		return -EOPNOTSUPP;
	err = dxk_array_check(a->nr, a->sample_size,
			      offsetofend(struct dxk_sample, workers));
	if (err)
		return err;
	copy = kmalloc_array(a->nr, sizeof(*copy), GFP_KERNEL_ACCOUNT);
	if (!copy)
		return -ENOMEM;
	nr = dxk_ctx_read_samples(obj, a->after_ns, copy, a->nr);

	for (i = 0; i < nr; i++)
		if (dxk_array_put(&copy[i], sizeof(*copy), a->samples, a->sample_size, i))
			return -EFAULT;
	return nr;
}

/* @obj: a member */
long dxk_instrument_ioctl(void *obj, struct dxk_ucall *c)
{
	const struct dxk_instrument *a = &c->args.instrument;

	if (a->flags & ~DXK_INSTRUMENT_SET)
		return -EOPNOTSUPP;
	return dxk_client_instrument(obj, a->name, (s64)a->value, a->flags & DXK_INSTRUMENT_SET);
}

/* @obj: a member */
long dxk_label_ioctl(void *obj, struct dxk_ucall *c)
{
	const struct dxk_label *a = &c->args.label;

	return a->flags ? -EOPNOTSUPP : dxk_client_label(obj, a->object, a->name);
}

long dxk_latencies_read_ioctl(void *obj, struct dxk_ucall *c)
{
	const struct dxk_latencies_read *a = &c->args.latencies_read;
	u64 counts[DXK_LATENCY_BUCKETS];
	u32 nr;
	int err;

	if (a->flags)
		return -EOPNOTSUPP;
	if (!a->nr || a->reserved)
		return -EINVAL;
	err = dxk_ctx_read_latencies(obj, a->latency, a->lane, counts);
	if (err)
		return err;
	nr = min_t(u32, a->nr, DXK_LATENCY_BUCKETS);
	if (copy_to_user(u64_to_user_ptr(a->counts), counts, nr * sizeof(*counts)))
		return -EFAULT;
	return nr;
}

/* --- the live requests ----------------------------------------------------- */

long dxk_requests_read_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_requests_read *a = &c->args.requests_read;
	struct dxk_request_info *seen __free(kfree) = NULL;
	int err, i, nr;

	if (a->flags)
		return -EOPNOTSUPP;
	err = dxk_array_check(a->nr, a->request_size, offsetofend(struct dxk_request_info, flags));
	if (err)
		return err;
	if (a->nr != DXK_BATCH_MAX)
		return -EINVAL;
	seen = kcalloc(DXK_BATCH_MAX, sizeof(*seen), GFP_KERNEL_ACCOUNT);
	if (!seen)
		return -ENOMEM;
	nr = dxk_ctx_read_requests(obj, &a->cursor, seen);
	for (i = 0; i < nr; i++)
		if (dxk_array_put(&seen[i], sizeof(*seen), a->requests, a->request_size, i))
			return -EFAULT;
	if (nr < 0)
		return nr;
	return dxk_ucall_reply(c, sizeof(*a)) ?: nr;
}
