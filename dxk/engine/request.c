// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The request object: made by a post, moved between lists until it is collected,
 * never copied.
 */
#include "engine/engine.h"
#include "engine/os.h"

struct kmem_cache *dxk_rqe_cache;

/** dxk_rqe_stash_fill - have @nr free requests, 1..%DXK_STASH_MAX, for dxk_rqe_make() */
int dxk_rqe_stash_fill(struct dxk_member *m, u32 nr)
{
	if (m->rqes.nr >= nr)
		return 0;
	dxk_rqe_pool_take(&m->engine->pool, &m->rqes, nr);
	return dxk_stash_fill(&m->rqes, dxk_rqe_cache, GFP_KERNEL, nr);
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
	if (!m) {
		kmem_cache_free(dxk_rqe_cache, rqe);
		return;
	}
	if (m->rqes.nr == DXK_STASH_MAX)
		dxk_rqe_pool_give(&m->engine->pool, &m->rqes, DXK_STASH_MAX / 2);
	m->rqes.obj[m->rqes.nr++] = rqe;
}

void dxk_rqe_drop_all(struct dxk_member *m, struct list_head *rqes)
{
	struct dxk_rqe *rqe, *next;

	list_for_each_entry_safe(rqe, next, rqes, link) {
		dxk_rqe_leave(rqe);
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
