// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calls of user members: arrays in, arrays out. All user memory is touched
 * before or after the lock hold that moves the requests. An array is copied in
 * completely before anything is moved. A request that cannot be copied out returns
 * to where it was.
 */
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched/signal.h>

#include "abi/args.h"
#include "compat.h"
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/next.h"
#include "engine/post.h"
#include "engine/rejoin.h"
#include "runtime/client.h"
#include "runtime/context.h"
#include "runtime/poster.h"
#include "services/file.h"
#include "services/watch.h"
#include "trace.h"

/* --- post ------------------------------------------------------------------ */

/* Make one request of a post from its entry. @more: of a longer one, or NULL */
static __always_inline int dxk_post_entry(struct dxk_post_op *p,
					  const struct dxk_post_entry *e,
					  const struct dxk_post_more *more,
					  const struct dxk_poster *who)
{
	struct file *file __free(fput) = NULL;
	struct dxk_payer payer;
	struct dxk_rqe *rqe;
	int err;

	if (e->reserved || (e->fd && !(e->attrs & PXR_FD)))
		return -EINVAL;
	if (e->attrs & PXR_FD) {
		file = fget(e->fd);
		if (!file)
			return -EBADF;
	}
	rqe = dxk_client_add(p, e, file);
	if (IS_ERR(rqe))
		return PTR_ERR(rqe);
	err = more ? dxk_more_make(p->m, rqe, more) :
	      unlikely(e->attrs & PXR_MORE) ? -EINVAL : 0;
	if (!err && more && more->wait.wait & DXK_WAIT_FILE)
		err = dxk_watch_set(&dxk_member_ctx(p->m)->watches, rqe->more, &more->wait);
	if (err)
		return err;
	if (file) {
		payer = dxk_payer_self();
		err = dxk_files_attach(&dxk_member_ctx(p->m)->files, p->m, rqe, file, &payer);
		if (err)
			return err;
	}
	rqe->poster = *who;
	if (e->data_len && copy_from_user(rqe->data, u64_to_user_ptr(e->data), e->data_len))
		return -EFAULT;
	return 0;
}

/* The same for longer elements. */
static noinline int dxk_post_long(struct dxk_post_op *p, struct dxk_post *a,
				  const struct dxk_poster *who)
{
	struct dxk_post_more e;
	int err = 0;
	u32 i;

	for (i = 0; i < a->nr && !err; i++) {
		a->index = i;
		err = dxk_array_get(&e, sizeof(e), a->entries, a->entry_size, i);
		if (!err)
			err = dxk_post_entry(p, &e.post, &e, who);
	}
	return err;
}

/* Whether it is for user workers, without data, file or more: it cannot be refused by itself. */
static __always_inline bool dxk_entry_is_plain(const struct dxk_post_entry *e)
{
	return !(e->attrs & ~(PXR_WAITIF_BUSY | PXR_REJOIN | PXR_BOOST | PXR_REDO | PXR_LANE0 |
			      PXR_LANE1 | PXR_LANE2)) &&
	       !(e->data_len | e->result_len | e->fd | e->reserved) &&
	       dxk_lane_of(e->attrs) >= 0;
}

/*
 * Requests are made straight from their entries, in one region of user access, in which nothing
 * is called, up to one that is not plain. Return: how many.
 */
static u32 dxk_post_plain(struct dxk_post_op *p, const struct dxk_post *a,
			  const struct dxk_poster *who)
{
	const struct dxk_post_entry __user *from = u64_to_user_ptr(a->entries);
	struct dxk_stash *stash = &p->m->rqes;
	void **free = stash->obj + stash->nr;
	struct list_head *last = p->rqes.prev;
	u32 i;

	if (a->entry_size != sizeof(*from) || dxk_kind_closed(&p->m->engine->policy, DXK_USER))
		return 0;
	for (i = 0; OS_DEBUG && i < a->nr; i++)
		dxk_rqe_foul(free[-1 - (int)i]);
	if (!dxk_read_begin(from, a->nr * sizeof(*from)))
		return 0;
	for (i = 0; i < a->nr; i++, from++) {
		struct dxk_rqe *rqe = *--free;
		struct dxk_post_entry e;

		unsafe_get_user(e.owner, &from->owner, out_end);
		unsafe_get_user(e.executor, &from->executor, out_end);
		unsafe_get_user(e.param, &from->param, out_end);
		unsafe_get_user(e.data_len, &from->data_len, out_end);
		unsafe_get_user(e.result_len, &from->result_len, out_end);
		unsafe_get_user(e.prio, &from->prio, out_end);
		unsafe_get_user(e.attrs, &from->attrs, out_end);
		unsafe_get_user(e.fd, &from->fd, out_end);
		unsafe_get_user(e.reserved, &from->reserved, out_end);
		if (!dxk_entry_is_plain(&e))
			break;
		dxk_rqe_fill(rqe, &e, NULL);
		rqe->poster = *who;
		rqe->link.prev = last;
		last->next = &rqe->link;
		last = &rqe->link;
	}
out_end:
	user_read_access_end();
	last->next = &p->rqes;
	p->rqes.prev = last;
	stash->nr -= i;
	return i;
}

static int dxk_post_entries(struct dxk_post_op *p, struct dxk_post *a)
{
	const struct dxk_poster who = dxk_poster_self();
	struct dxk_post_entry e;
	int err = 0;
	u32 i;

	if (unlikely(a->entry_size > sizeof(e)))
		return dxk_post_long(p, a, &who);
	for (i = dxk_post_plain(p, a, &who); i < a->nr && !err; i++) {
		a->index = i;
		err = dxk_array_get(&e, sizeof(e), a->entries, a->entry_size, i);
		if (!err)
			err = dxk_post_entry(p, &e, NULL, &who);
	}
	return err;
}

/* Make the requests of a post; @a->index: of one that could not be made. */
static __always_inline long dxk_post_begin(struct dxk_post_op *p, struct dxk_member *m,
					   struct dxk_post *a)
{
	long ret;

	p->m = m;
	p->help = a->flags & DXK_CALL_HELP;
	ret = dxk_client_begin(p, a->nr);
	if (ret)
		a->index = 0;
	else
		ret = dxk_post_entries(p, a);
	return ret;
}

/* The post itself, unless there is the error @ret already. */
static __always_inline long dxk_post_end(struct dxk_post_op *p, struct dxk_post *a, long ret)
{
	if (!ret) {
		ret = dxk_client_post(p, a->deadline);
		a->index = p->taken;
	}
	dxk_rqe_drop_all(p->m, &p->rqes);
	return ret;
}

long dxk_post_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_post *a = &c->args.post;
	struct dxk_post_op p __uninitialized;
	long ret;

	if (a->flags & ~DXK_CALL_HELP)
		return -EOPNOTSUPP;
	ret = dxk_array_check(a->nr, a->entry_size,
			      offsetofend(struct dxk_post_entry, reserved));
	if (ret)
		return ret;
	ret = dxk_post_end(&p, a, dxk_post_begin(&p, obj, a));
	if (ret == a->nr)
		return ret;
	/* The index and the reason; the count is in the return value. */
	a->reason = p.reason;
	if (dxk_ucall_reply(c, sizeof(*a)) && ret < 0)
		return -EFAULT;
	return ret;
}

/* --- rejoin ---------------------------------------------------------------- */

static int dxk_result_put(const struct dxk_rejoin *a, u32 i, const struct dxk_rqe *rqe)
{
	struct dxk_result r = {
		.executor = rqe->executor,
		.param = rqe->param,
		.status = rqe->status,
		.attrs = rqe->attrs,
		.prio = rqe->prio,
		.inspect_count = rqe->inspect,
		.data_len = rqe->data_len,
		.worker = rqe->worker,
		.attempts = rqe->attempts,
	};

	if (a->data && rqe->data_len) {
		if (rqe->data_len > a->data_stride)
			return -EMSGSIZE;
		if (copy_to_user(dxk_array_at(a->data, a->data_stride, i),
				 dxk_rqe_result(rqe), rqe->data_len))
			return -EFAULT;
	}
	return dxk_array_put(&r, sizeof(r), a->results, a->result_size, i);
}

/*
 * Results go out straight from their requests, in one region of user access, in which nothing
 * is called, up to one with data. Return: how many; @rqe: the one that is next.
 */
static int dxk_results_put_plain(const struct dxk_rejoin *a, const struct dxk_rejoin_op *r,
				 struct dxk_rqe **rqe)
{
	struct dxk_result __user *to = u64_to_user_ptr(a->results);
	int nr = 0;

	*rqe = list_first_entry(&r->rqes, struct dxk_rqe, link);
	if (a->result_size != sizeof(*to) ||
	    !dxk_write_begin(to, r->nr * sizeof(*to)))
		return 0;
	for (; nr < (int)r->nr; nr++, to++, *rqe = list_next_entry(*rqe, link)) {
		const struct dxk_rqe *from = *rqe;

		if (a->data && from->data_len)
			break;
		unsafe_put_user(from->executor, &to->executor, out_end);
		unsafe_put_user(from->param, &to->param, out_end);
		unsafe_put_user(from->status, &to->status, out_end);
		unsafe_put_user(from->attrs, &to->attrs, out_end);
		unsafe_put_user(from->prio, &to->prio, out_end);
		unsafe_put_user(from->inspect, &to->inspect_count, out_end);
		unsafe_put_user(from->data_len, &to->data_len, out_end);
		unsafe_put_user(from->worker, &to->worker, out_end);
		unsafe_put_user(from->attempts, &to->attempts, out_end);
		unsafe_put_user(0, &to->reserved, out_end);
	}
out_end:
	user_write_access_end();
	return nr;
}

/* Copy results out; the first that fails and those after it are returned to their owner. */
static __always_inline long dxk_results_put(struct dxk_member *m, const struct dxk_rejoin *a,
					    struct dxk_rejoin_op *r, u64 __user *owner)
{
	struct dxk_settle_op s __uninitialized;
	struct dxk_rqe *rqe = list_first_entry(&r->rqes, struct dxk_rqe, link);
	int err = 0;
	int nr = 0;

	s.m = m;
	if (unlikely(owner) && dxk_put_field(r->cookie, owner))
		err = -EFAULT;
	else
		nr = dxk_results_put_plain(a, r, &rqe);
	for (; nr < (int)r->nr && !err; nr++) {
		err = dxk_result_put(a, nr, rqe);
		if (err)
			break;
		rqe = list_next_entry(rqe, link);
	}
	list_cut_before(&s.copied, &r->rqes, &rqe->link);
	INIT_LIST_HEAD(&s.failed);
	list_splice_init(&r->rqes, &s.failed);
	dxk_perform(m->engine, &s.op, dxk_settle_run);
	dxk_rqe_drop_all(m, &s.copied);
	return nr ?: err;
}

static long dxk_rejoin_check(const struct dxk_rejoin *a, u32 flags)
{
	if (a->flags & ~flags)
		return -EOPNOTSUPP;
	if (a->reserved || a->min > a->nr)
		return -EINVAL;
	if (unlikely(a->flags & DXK_CALL_ANY) &&
	    (a->flags != DXK_CALL_ANY || a->owner || a->min > 1))
		return -EINVAL;
	return dxk_array_check(a->nr, a->result_size,
			       offsetofend(struct dxk_result, reserved));
}

/* @answer, @owner: the caller's fields. Inlined for the two. */
static __always_inline long dxk_rejoin_checked(struct dxk_member *m,
					       const struct dxk_rejoin *a,
					       u32 __user *answer, u64 __user *owner)
{
	struct dxk_rejoin_op r __uninitialized;
	long ret;

	r.m = m;
	r.cookie = a->owner;
	r.max = a->nr;
	r.min = a->min ?: 1;
	r.wait = a->deadline;
	r.help = a->flags & DXK_CALL_HELP;
	r.nest = a->flags & DXK_CALL_NEST;
	r.any = a->flags & DXK_CALL_ANY;
	r.free = false;
	ret = dxk_client_rejoin(&r, a->deadline);
	if (ret)
		return ret;
	if (r.nr)
		ret = dxk_results_put(m, a, &r, unlikely(r.any) ? owner : NULL);
	if (ret < 0)
		return ret;
	/* With results, the count implies the answer. */
	if (dxk_put_field(r.answer, answer) && !ret)
		return -EFAULT;
	return ret;
}

long dxk_rejoin_ioctl(void *obj, struct dxk_ucall *c)
{
	const struct dxk_rejoin *a = &c->args.rejoin;
	struct dxk_rejoin __user *theirs = c->uptr;

	return dxk_rejoin_check(a, DXK_CALL_HELP | DXK_CALL_NEST | DXK_CALL_ANY) ?:
	       dxk_rejoin_checked(obj, a, &theirs->answer, &theirs->owner);
}

/* --- post and rejoin in one ------------------------------------------------- */

/* A caller that waits for all posted requests needs one owner, to which all are returned. */
static int dxk_roundtrip_check(const struct dxk_post_op *p, struct dxk_post *post, u64 *owner)
{
	const struct dxk_rqe *rqe;

	*owner = list_first_entry(&p->rqes, struct dxk_rqe, link)->cookie;
	post->index = 0;
	list_for_each_entry(rqe, &p->rqes, link) {
		if (rqe->cookie != *owner || !dxk_rqe_rejoinable(rqe))
			return -EINVAL;
		post->index++;
	}
	return 0;
}

long dxk_roundtrip_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_roundtrip *a = &c->args.roundtrip;
	struct dxk_roundtrip __user *theirs = c->uptr;
	struct dxk_post post = {
		.flags = a->flags,
		.deadline = a->deadline,
		.entries = a->entries,
		.nr = a->nr,
		.entry_size = a->entry_size,
	};
	struct dxk_rejoin rejoin = {
		.flags = a->flags,
		.deadline = a->deadline,
		.results = a->results,
		.data = a->data,
		.nr = a->nr,
		.result_size = a->result_size,
		.data_stride = a->data_stride,
		.min = a->min,
		.reserved = a->reserved,
	};
	struct dxk_post_op p __uninitialized;
	long ret;

	ret = dxk_rejoin_check(&rejoin, DXK_CALL_HELP | DXK_CALL_NEST) ?:
	      dxk_array_check(a->nr, a->entry_size,
			      offsetofend(struct dxk_post_entry, reserved));
	if (ret)
		return ret;
	/* The usual value is written first: no later fault can hide that there are requests. */
	if (dxk_put_field(a->nr, &theirs->taken))
		return -EFAULT;
	ret = dxk_post_begin(&p, obj, &post) ?:
	      dxk_roundtrip_check(&p, &post, &rejoin.owner);
	ret = dxk_post_end(&p, &post, ret);
	if (ret != a->nr) {
		a->index = post.index;
		a->reason = p.reason;
		a->answer = 0;
		a->taken = max(ret, 0L);
		return dxk_ucall_reply(c, sizeof(*a)) ?: min(ret, 0L);
	}
	ret = dxk_rejoin_checked(obj, &rejoin, &theirs->answer, NULL);
	/* A restart would post once more. */
	return ret == -ERESTARTSYS || ret == -ERESTARTNOINTR ? -EINTR : ret;
}

/* --- next ------------------------------------------------------------------ */

/** dxk_busy_find - find a request that the calling worker executes, or NULL */
struct dxk_rqe *dxk_busy_find(struct dxk_member *m, u64 ticket)
{
	struct dxk_rqe *rqe;

	list_for_each_entry(rqe, &m->busy, link)
		if (rqe->ticket == ticket)
			return rqe;
	return NULL;
}

/* Store one result with its request. */
static __always_inline int dxk_done_get(struct dxk_member *m, const struct dxk_done *d,
					struct list_head *done)
{
	struct dxk_rqe *rqe = dxk_busy_find(m, d->ticket);

	if (!rqe)
		return -ESTALE;
	if (d->data_len > rqe->result_room)
		return -EMSGSIZE;
	if (d->data_len && copy_from_user(dxk_rqe_result(rqe), u64_to_user_ptr(d->data),
					  d->data_len))
		return -EFAULT;
	rqe->data_len = d->data_len;
	rqe->status = d->status;
	if (unlikely(rqe->more))
		rqe->more->parks = false;
	dxk_rqe_change(rqe, done);
	return 0;
}

/* Store the wait with which a turn ends, and its data for the next turn. */
static int dxk_park_get(struct dxk_member *m, const struct dxk_done_more *d,
			struct list_head *done)
{
	struct dxk_rqe *rqe = dxk_busy_find(m, d->done.ticket);
	u32 len = d->done.data_len;
	void *data;
	int err;

	if (!rqe)
		return -ESTALE;
	if (d->done.status)
		return -EINVAL;
	if (len > rqe->result_room)
		return -EMSGSIZE;
	err = dxk_wait_set(m, rqe, &d->wait);
	if (!err && d->wait.wait & DXK_WAIT_FILE)
		err = dxk_watch_set(&dxk_member_ctx(m)->watches, rqe->more, &d->wait);
	if (err)
		return err;
	if (len) {
		data = dxk_more_data(rqe, len);
		if (!data)
			return -ENOMEM;
		if (copy_from_user(data, u64_to_user_ptr(d->done.data), len))
			return -EFAULT;
		rqe->more->swaps = data != rqe->data;
	}
	rqe->data_len = len;
	dxk_rqe_change(rqe, done);
	return 0;
}

/* The worker knows how often the request, the last one of @n->done, was begun in total. */
static int dxk_attempts_set(struct dxk_next_op *n, u32 attempts)
{
	struct dxk_rqe *rqe = list_last_entry(&n->done, struct dxk_rqe, link);

	if (attempts < rqe->attempts || attempts > U16_MAX)
		return -EINVAL;
	/* If this completion is not taken it counts all the same: it was begun so often. */
	rqe->attempts = attempts;
	return 0;
}

/* One completion, of a longer element. @cuts: out: it is a wait, so an error refuses only that */
static noinline int dxk_done_get_long(struct dxk_next_op *n, const struct dxk_next *a, u32 i,
				      bool *cuts)
{
	const struct dxk_wait *wait;
	struct dxk_done_more d;
	int err = dxk_array_get(&d, sizeof(d), a->done, a->done_size, i);

	if (err)
		return err;
	wait = &d.wait;
	if (d.reserved || (wait->wait && d.attempts))
		return -EINVAL;
	if (wait->wait) {
		*cuts = true;
		return dxk_park_get(n->m, &d, &n->done);
	}
	if (wait->deadline | wait->owner | wait->state | wait->prio | wait->fd | wait->events)
		return -EINVAL;
	err = dxk_done_get(n->m, &d.done, &n->done);
	return err || !d.attempts ? err : dxk_attempts_set(n, d.attempts);
}

static void dxk_count_stale(struct dxk_engine *e)
{
	spin_lock(&e->lock);
	e->stats.stale++;
	spin_unlock(&e->lock);
}

/*
 * Completions go straight to their requests, in one region of user access, in which nothing is
 * called, up to one with data, or in another order than that of the fetch. Return: how many.
 */
static u32 dxk_dones_get_plain(struct dxk_next_op *n, const struct dxk_next *a)
{
	const struct dxk_done __user *from = u64_to_user_ptr(a->done);
	struct list_head *busy = &n->m->busy, *last = busy;
	u32 i;

	if (!a->nr_done || a->done_size != sizeof(*from) ||
	    !dxk_read_begin(from, a->nr_done * sizeof(*from)))
		return 0;
	for (i = 0; i < a->nr_done && last->next != busy; i++, from++) {
		struct dxk_rqe *rqe = list_entry(last->next, struct dxk_rqe, link);
		struct dxk_done d;

		unsafe_get_user(d.ticket, &from->ticket, out_end);
		unsafe_get_user(d.data_len, &from->data_len, out_end);
		unsafe_get_user(d.status, &from->status, out_end);
		if (d.ticket != rqe->ticket || d.data_len)
			break;
		rqe->data_len = 0;
		rqe->status = d.status;
		if (unlikely(rqe->more))
			rqe->more->parks = false;
		last = &rqe->link;
	}
out_end:
	user_read_access_end();
	list_cut_position(&n->done, busy, last);
	return i;
}

/*
 * Collect the completions. Those before one that is stale, or before a wait that is refused, are
 * accepted, and the call ends with them: *@cut. A malformed one refuses all.
 */
static int dxk_dones_get(struct dxk_next_op *n, const struct dxk_next *a, bool *cut)
{
	bool cuts = false;
	struct dxk_done d;
	int err = 0;
	u32 i;

	for (i = dxk_dones_get_plain(n, a); i < a->nr_done; i++) {
		if (unlikely(a->done_size > sizeof(d))) {
			cuts = false;
			err = dxk_done_get_long(n, a, i, &cuts);
		} else {
			err = dxk_array_get(&d, sizeof(d), a->done, a->done_size, i);
			if (!err)
				err = dxk_done_get(n->m, &d, &n->done);
		}
		if (err)
			break;
	}
	if (err == -ESTALE) {
		dxk_count_stale(n->m->engine);
		cuts = true;
	}
	*cut = err && cuts;
	if (*cut && i)
		return 0;
	if (err)
		list_splice_init(&n->done, &n->m->busy);
	return err;
}

/* Copy out the element, of the size that the worker knows. */
static int dxk_work_put_element(const struct dxk_rqe *rqe, const struct dxk_work *w,
				const struct dxk_next *a, u32 i)
{
	const struct dxk_more *more = rqe->more;
	struct dxk_work_more m = { };
	u64 expire;

	if (a->work_size <= sizeof(*w))
		return dxk_array_put(w, sizeof(*w), a->work, a->work_size, i);
	m.work = *w;
	if (more) {
		m.name = more->name;
		m.state = more->state;
		m.turn = more->turn;
		m.wake = more->wake;
		if (more->wake == DXK_WAKE_FILE)
			m.events = more->events & ~DXK_SEEN_SOMETHING;
		/* Others do not change these fields of a request that a worker has. */
		m.key = more->key ? more->key->cookie : 0;
		m.nested = more->at_key == DXK_KEY_NESTED;
		/* Its time may come at any time. */
		expire = READ_ONCE(more->expire);
		m.expire = expire == DXK_FOREVER ? 0 : expire;
	}
	return dxk_array_put(&m, sizeof(m), a->work, a->work_size, i);
}

/* Hand one request to the worker: data, file, element, in this order. */
static int dxk_work_put(struct dxk_rqe *rqe, const struct dxk_next *a, u32 i)
{
	struct dxk_work w = {
		.ticket = rqe->ticket,
		.owner = rqe->cookie,
		.executor = rqe->executor,
		.param = rqe->param,
		.data_len = rqe->data_len,
		.result_len = rqe->result_room,
		.prio = rqe->prio,
		.attrs = rqe->attrs,
		.inspect_count = rqe->inspect,
		.fd = -1,
		.attempt = rqe->attempts,
	};
	struct file *file = dxk_rqe_file(rqe);
	int err;

	/* The policy may have grown since this call began, over a Stop and a Start. */
	if (a->data && rqe->data_len > a->data_stride)
		return -EMSGSIZE;
	dxk_poster_tell(&rqe->poster, &w);
	if (a->data && rqe->data_len &&
	    copy_to_user(dxk_array_at(a->data, a->data_stride, i), rqe->data,
			 rqe->data_len))
		return -EFAULT;
	if (file) {
		w.fd = dxk_receive_fd(file, O_CLOEXEC);
		if (w.fd < 0)
			return w.fd;
	}
	err = dxk_work_put_element(rqe, &w, a, i);
	if (err && w.fd >= 0)
		close_fd(w.fd);
	return err;
}

/*
 * Requests go out straight from where they are, in one region of user access, in which
 * nothing is called, up to one with data or a file, if the worker knows users and processes
 * by the kernel's numbers. Return: how many; @rqe: the one that is next.
 */
static int dxk_works_put_plain(const struct dxk_next *a, const struct dxk_next_op *n,
			       struct dxk_rqe **rqe)
{
	struct dxk_work __user *to = u64_to_user_ptr(a->work);
	const struct dxk_poster self = dxk_poster_self();
	int nr = 0;

	*rqe = list_first_entry(&n->work, struct dxk_rqe, link);
	if (a->work_size != sizeof(*to) || !dxk_poster_numbers() ||
	    !dxk_write_begin(to, n->nr * sizeof(*to)))
		return 0;
	for (; nr < (int)n->nr; nr++, to++, *rqe = list_next_entry(*rqe, link)) {
		const struct dxk_rqe *from = *rqe;

		if ((a->data && from->data_len) || dxk_rqe_has_file(from))
			break;
		unsafe_put_user(from->ticket, &to->ticket, out_end);
		unsafe_put_user(from->cookie, &to->owner, out_end);
		unsafe_put_user(from->executor, &to->executor, out_end);
		unsafe_put_user(from->param, &to->param, out_end);
		unsafe_put_user(from->data_len, &to->data_len, out_end);
		unsafe_put_user(from->result_room, &to->result_len, out_end);
		unsafe_put_user(from->prio, &to->prio, out_end);
		unsafe_put_user(from->attrs, &to->attrs, out_end);
		unsafe_put_user(from->inspect, &to->inspect_count, out_end);
		unsafe_put_user(-1, &to->fd, out_end);
		unsafe_put_user(from->attempts, &to->attempt, out_end);
		unsafe_put_user(0, &to->reserved, out_end);
		unsafe_put_user(from->poster.uid, &to->uid, out_end);
		unsafe_put_user(from->poster.gid, &to->gid, out_end);
		unsafe_put_user(from->poster.pid, &to->pid, out_end);
		unsafe_put_user(dxk_poster_origin(&from->poster, &self), &to->origin, out_end);
	}
out_end:
	user_write_access_end();
	return nr;
}

/* The requests that the worker has received execute from now on. */
static void dxk_works_begin(struct dxk_member *m, struct list_head *works)
{
	struct dxk_rqe *rqe;

	list_for_each_entry(rqe, works, link) {
		WRITE_ONCE(rqe->state, DXK_BUSY);
		trace_dxk_start(dxk_member_ctx(m)->id, rqe);
		if (unlikely(rqe->posted))
			rqe->started = ktime_get_ns();
	}
	list_splice_tail(works, &m->busy);
}

/* Deliver dispatched requests; those that cannot be copied out return to the pool. */
static long dxk_works_put(struct dxk_next_op *n, const struct dxk_next *a)
{
	struct dxk_list_op back __uninitialized;
	struct list_head *works = &n->work;
	struct dxk_member *m = n->m;
	struct dxk_rqe *rqe;
	LIST_HEAD(some);
	int err = 0;
	int nr = 0;

	if (!n->nr)
		return 0;
	/* A worker that is about to die leaves the work to others (DX-25). */
	if (fatal_signal_pending(current))
		err = -EINTR;
	else
		nr = dxk_works_put_plain(a, n, &rqe);
	while (!err && nr < (int)n->nr) {
		err = dxk_work_put(rqe, a, nr);
		if (err)
			break;
		rqe = list_next_entry(rqe, link);
		nr++;
	}
	if (unlikely(nr < (int)n->nr)) {
		works = &some;
		if (nr)
			list_cut_before(works, &n->work, &rqe->link);
	}
	dxk_works_begin(m, works);
	if (likely(works != &some))
		return nr;

	back.m = m;
	INIT_LIST_HEAD(&back.rqes);
	INIT_LIST_HEAD(&back.ended);
	list_splice_init(&n->work, &back.rqes);
	dxk_perform(m->engine, &back.op, dxk_return_run);
	dxk_rqe_drop_all(m, &back.ended);
	return nr ?: err;
}

static int dxk_next_check(const struct dxk_member *m, const struct dxk_next *a)
{
	int err = 0;

	if (a->flags)
		return -EOPNOTSUPP;
	if (!a->nr_done && !a->nr_work)
		return -EINVAL;
	if (a->nr_done)
		err = dxk_array_check(a->nr_done, a->done_size,
				      offsetofend(struct dxk_done, status));
	if (!err && a->nr_work)
		err = dxk_array_check(a->nr_work, a->work_size,
				      offsetofend(struct dxk_work, reserved));
	if (!err && a->nr_work && a->data && a->data_stride < m->engine->policy.data_size)
		err = -EMSGSIZE;
	return err;
}

long dxk_next_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_member *m = obj;
	const struct dxk_next *a = &c->args.next;
	struct dxk_next __user *theirs = c->uptr;
	struct dxk_next_op n __uninitialized;
	bool cut = false;
	long ret;

	ret = dxk_next_check(m, a);
	if (ret)
		return ret;
	n.m = m;
	n.max = a->nr_work;
	INIT_LIST_HEAD(&n.done);
	ret = dxk_dones_get(&n, a, &cut);
	if (ret)
		return ret;
	if (cut)
		n.max = 0;

	ret = dxk_next(&n, a->deadline);
	dxk_rqe_drop_all(m, &n.ended);
	/* Completions that a full Rejoin Pool did not take stay with the worker. */
	list_splice_init(&n.done, &m->busy);
	if (!ret)
		ret = dxk_works_put(&n, a);
	dxk_member_set_state(m, dxk_member_home_state(m));

	if (a->nr_done && dxk_put_field(n.taken, &theirs->nr_taken) && !n.taken && ret <= 0)
		return -EFAULT;
	return ret < 0 && n.taken ? 0 : ret;
}

/* --- names ------------------------------------------------------------------ */

static long dxk_names_get(const struct dxk_names *a, u64 *names)
{
	if (a->flags)
		return -EOPNOTSUPP;
	if (a->reserved || !a->nr || a->nr > DXK_BATCH_MAX)
		return -EINVAL;
	return copy_from_user(names, u64_to_user_ptr(a->names), a->nr * sizeof(*names)) ?
	       -EFAULT : 0;
}

long dxk_wake_ioctl(void *obj, struct dxk_ucall *c)
{
	const struct dxk_names *a = &c->args.names;
	u64 names[DXK_BATCH_MAX];
	long ret;

	if (a->states)
		return -EINVAL;
	ret = dxk_names_get(a, names);
	return ret ?: dxk_wake_names(obj, names, a->nr);
}

long dxk_cancel_ioctl(void *obj, struct dxk_ucall *c)
{
	const struct dxk_names *a = &c->args.names;
	u64 names[DXK_BATCH_MAX];
	u32 __user *theirs = u64_to_user_ptr(a->states);
	u32 states[DXK_BATCH_MAX];
	long ret;

	ret = dxk_names_get(a, names);
	if (ret)
		return ret;
	/* With a bad address nothing is cancelled. */
	if (a->states && clear_user(theirs, a->nr * sizeof(*states)))
		return -EFAULT;
	ret = dxk_cancel_names(obj, names, a->nr, states);
	/* The cancels count even if they cannot be reported: the states are zeros then. */
	if (ret > 0 && a->states)
		(void)!copy_to_user(theirs, states, a->nr * sizeof(*states));
	return ret;
}

long dxk_cancel_owner_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_cancel_owner *a = &c->args.cancel_owner;
	u32 nr[DXK_PLACES];

	if (a->flags)
		return -EOPNOTSUPP;
	dxk_purge_owner(obj, a->owner, nr);
	a->ready = nr[DXK_AT_READY];
	a->executing = nr[DXK_AT_WORK];
	a->waiting = nr[DXK_AT_WAIT];
	a->done = nr[DXK_AT_REJOIN];
	return dxk_ucall_reply(c, sizeof(*a)) ?:
	       a->ready | a->executing | a->waiting | a->done ? 0 : -ENOENT;
}

/* --- should_stop ----------------------------------------------------------- */

long dxk_should_stop_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_member *m = obj;
	const struct dxk_should_stop *a = &c->args.should_stop;

	return a->flags ? -EOPNOTSUPP : dxk_should_wait(m, a->deadline);
}
