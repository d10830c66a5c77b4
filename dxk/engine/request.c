// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The request object: made by a post, moved between lists until it is collected,
 * never copied.
 */
#include "engine/engine.h"
#include "engine/os.h"

static struct kmem_cache *dxk_rqe_cache;

static int dxk_lane_of(u32 attrs)
{
	switch (attrs & (PXR_LANE0 | PXR_LANE1 | PXR_LANE2)) {
	case 0:
		return 3;
	case PXR_LANE0:
		return 0;
	case PXR_LANE1:
		return 1;
	case PXR_LANE2:
		return 2;
	default:
		return -EINVAL;
	}
}

/**
 * dxk_rqe_check - can a request be refused by looking at it alone?
 * @e: the engine
 * @p: the request
 *
 * Return: 0, or why it is refused.
 */
int dxk_rqe_check(const struct dxk_engine *e, const struct dxk_post_entry *p)
{
	if (p->attrs & ~PXR_MASK)
		return -EOPNOTSUPP;
	if (dxk_lane_of(p->attrs) < 0)
		return -EINVAL;
	if (p->data_len > e->policy.data_size || p->result_len > e->policy.data_size)
		return -EMSGSIZE;
	if (p->attrs & PXR_KERNEL) {
		if (!READ_ONCE(e->policy.kernel_threads))
			return -ENODEV;
	} else if (READ_ONCE(e->policy.max_threads) ==
		   READ_ONCE(e->policy.kernel_threads)) {
		return -ENODEV;
	}
	return 0;
}

/** dxk_rqe_stash_fill - have @nr free requests, 1..%DXK_STASH_MAX, for dxk_rqe_make() */
int dxk_rqe_stash_fill(struct dxk_stash *stash, u32 nr)
{
	return dxk_stash_fill(stash, dxk_rqe_cache, GFP_KERNEL, nr);
}

/**
 * dxk_rqe_make - make a request
 * @m: the poster, which has a free one
 * @p: what to do, checked; its data is not copied yet, see dxk_rqe_reserve_data()
 * @exec: the executor that it names, or NULL; the reference goes over
 * @file: what goes along, or NULL; the reference goes over
 *
 * Return: a POSTED request.
 */
struct dxk_rqe *dxk_rqe_make(struct dxk_member *m, const struct dxk_post_entry *p,
			     struct dxk_executor *exec, struct file *file)
{
	/* Kernel workers do not die, so their executors work in place. */
	bool redo = p->attrs & PXR_REDO && !(p->attrs & PXR_KERNEL);
	struct dxk_rqe *rqe = dxk_stash_pop(&m->rqes);

	*rqe = (struct dxk_rqe) {
		.cookie = p->owner,
		.executor = p->executor,
		.param = p->param,
		.exec = exec,
		.file = file,
		.data_len = p->data_len,
		.posted_len = p->data_len,
		.result_at = redo ? p->data_len : 0,
		.result_room = p->result_len,
		.prio = p->prio,
		.attrs = p->attrs,
		.state = DXK_POSTED,
		.kind = p->attrs & PXR_KERNEL ? DXK_KERNEL : DXK_USER,
		.lane = dxk_lane_of(p->attrs),
	};
	return rqe;
}

/** dxk_rqe_reserve_data - make room for the data that a request carries */
int dxk_rqe_reserve_data(struct dxk_rqe *rqe)
{
	u32 len = max(rqe->data_len, rqe->result_at + rqe->result_room);

	if (!len)
		return 0;
	/* Zeroed: an executor that says more than it wrote must leak nothing. */
	rqe->data = kzalloc(len, GFP_KERNEL_ACCOUNT);
	return rqe->data ? 0 : -ENOMEM;
}

/**
 * dxk_rqe_drop - the end of a request object
 * @m: the member of the calling thread, which may use the object again
 * @rqe: not live, in no list
 */
void dxk_rqe_drop(struct dxk_member *m, struct dxk_rqe *rqe)
{
	if (rqe->exec || rqe->file)
		os_release(rqe);
	kfree(rqe->data);
	if (m)
		dxk_stash_push(&m->rqes, rqe, dxk_rqe_cache);
	else
		kmem_cache_free(dxk_rqe_cache, rqe);
}

void dxk_rqe_drop_all(struct dxk_member *m, struct list_head *rqes)
{
	struct dxk_rqe *rqe, *next;

	list_for_each_entry_safe(rqe, next, rqes, link) {
		list_del(&rqe->link);
		dxk_rqe_drop(m, rqe);
	}
}

void dxk_rqe_stash_free(struct dxk_stash *stash)
{
	dxk_stash_empty(stash, dxk_rqe_cache);
}

int dxk_rqe_init(void)
{
	dxk_rqe_cache = KMEM_CACHE(dxk_rqe, SLAB_ACCOUNT);
	return dxk_rqe_cache ? 0 : -ENOMEM;
}

void dxk_rqe_exit(void)
{
	kmem_cache_destroy(dxk_rqe_cache);
}
