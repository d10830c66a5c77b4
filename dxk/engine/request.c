// SPDX-License-Identifier: GPL-2.0-only
/*
 * The request object: made by a post, moved between lists until it is collected,
 * never copied.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/slab.h>

#include "dxk_api.h"
#include "engine/engine.h"
#include "services/executor.h"

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

/* What can be refused by looking at the request alone. */
static int dxk_request_check(const struct dxk_engine *e, const struct dxk_request *req)
{
	if (req->attrs & ~PXR_MASK)
		return -EOPNOTSUPP;
	if (dxk_lane_of(req->attrs) < 0)
		return -EINVAL;
	if (req->data_len > e->policy.data_size ||
	    req->result_len > e->policy.data_size)
		return -EMSGSIZE;
	if (req->attrs & PXR_KERNEL) {
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
 * @req: what to do; its data is not copied yet, see dxk_rqe_reserve_data()
 * @held: an executor that the caller has a reference of and that @req is likely
 *	to name, or NULL
 *
 * Return: a POSTED request with references of its own, or an error pointer.
 */
struct dxk_rqe *dxk_rqe_make(struct dxk_member *m, const struct dxk_request *req,
			     struct dxk_executor *held)
{
	/* Kernel workers do not die, so their executors work in place. */
	bool redo = req->attrs & PXR_REDO && !(req->attrs & PXR_KERNEL);
	struct dxk_executor *exec = NULL;
	struct dxk_rqe *rqe;
	int err;

	err = dxk_request_check(m->engine, req);
	if (err)
		return ERR_PTR(err);
	if (req->attrs & PXR_KERNEL) {
		exec = dxk_executor_get(req->executor, held);
		if (!exec)
			return ERR_PTR(-ENOENT);
	}

	rqe = dxk_stash_pop(&m->rqes);
	*rqe = (struct dxk_rqe) {
		.owner = req->owner,
		.executor = req->executor,
		.param = req->param,
		.exec = exec,
		.file = req->attrs & PXR_FD ? get_file(req->file) : NULL,
		.data_len = req->data_len,
		.posted_len = req->data_len,
		.result_at = redo ? req->data_len : 0,
		.result_room = req->result_len,
		.prio = req->prio,
		.attrs = req->attrs,
		.state = DXK_POSTED,
		.kind = req->attrs & PXR_KERNEL ? DXK_KERNEL : DXK_USER,
		.lane = dxk_lane_of(req->attrs),
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
	if (rqe->exec)
		dxk_executor_put(rqe->exec);
	if (rqe->file)
		fput(rqe->file);
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
