// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The memory of requests, and the free objects of a context: see pool.h.
 */
#include "engine/engine.h"
#include "engine/more.h"
#include "engine/os.h"
#include "engine/pool.h"
#include "engine/request.h"

static struct kmem_cache *dxk_rqe_cache;

/* --- those of a context ------------------------------------------------------ */

/** dxk_pools_init - initialize the pools of an engine that was not started */
void dxk_pools_init(struct dxk_engine *e)
{
	dxk_pool_init(&e->pool, dxk_rqe_cache);
	dxk_more_pool_init(&e->mores);
}

/** dxk_pools_open - the context is about to run */
void dxk_pools_open(struct dxk_engine *e)
{
	dxk_pool_open(&e->pool);
	dxk_pool_open(&e->mores);
	dxk_pool_open(&e->owners.kept);
}

/** dxk_pools_close - the Monitor has gone, or goes */
void dxk_pools_close(struct dxk_engine *e)
{
	dxk_pool_close(&e->pool);
	dxk_pool_close(&e->mores);
	dxk_pool_close(&e->owners.kept);
}

/** dxk_pools_review - dxk_pool_review() of each; the policy keeps requests only */
bool dxk_pools_review(struct dxk_engine *e)
{
	bool more = dxk_pool_review(&e->mores, 0) | dxk_pool_review(&e->owners.kept, 0);

	return dxk_pool_review(&e->pool, dxk_pool_keep(&e->policy)) | more;
}

/* --- with the stash of a member ---------------------------------------------- */

/** dxk_rqe_stash_fill - provide @nr free requests, 1..%DXK_STASH_MAX, for dxk_rqe_make() */
int dxk_rqe_stash_fill(struct dxk_member *m, u32 nr)
{
	if (m->rqes.nr >= nr)
		return 0;
	dxk_pool_take(&m->engine->pool, &m->rqes, nr);
	return dxk_stash_fill(&m->rqes, dxk_rqe_cache, GFP_KERNEL, nr);
}

/**
 * dxk_rqe_drop - the end of a request object
 * @m: the member of the calling thread, which may use the object again
 * @rqe: not live, in no list
 *
 * An embedded request goes back to its owner. A proxy belongs to its worker, and nothing is left
 * of the request that it was.
 */
void dxk_rqe_drop(struct dxk_member *m, struct dxk_rqe *rqe)
{
	if (unlikely(rqe->embedded)) {
		if (rqe->embedded == DXK_EMBEDDED)
			os_disown(rqe);
		return;
	}
	if (rqe->exec || dxk_rqe_has_file(rqe))
		os_release(rqe);
	if (unlikely(rqe->more))
		dxk_more_free(m, rqe);
	if (rqe->data)
		kfree(rqe->data);
	if (!m) {
		kmem_cache_free(dxk_rqe_cache, rqe);
		return;
	}
	dxk_stash_give(m->engine, &m->engine->pool, &m->rqes, rqe);
}

/* Is there nothing to free but the request itself? */
static bool dxk_rqe_is_bare(const struct dxk_rqe *rqe)
{
	return !rqe->embedded && !rqe->exec && !rqe->more && !rqe->data;
}

/** dxk_rqe_drop_all - dxk_rqe_drop() of all requests in a list, which is empty afterwards */
void dxk_rqe_drop_all(struct dxk_member *m, struct list_head *rqes)
{
	struct dxk_rqe *rqe, *next;

	list_for_each_entry_safe(rqe, next, rqes, link) {
		if (likely(m && m->rqes.nr < DXK_STASH_MAX && dxk_rqe_is_bare(rqe)))
			m->rqes.obj[m->rqes.nr++] = rqe;
		else
			dxk_rqe_drop(m, rqe);
	}
	INIT_LIST_HEAD(rqes);
}

void dxk_rqe_stash_free(struct dxk_stash *stash)
{
	dxk_stash_empty(stash, dxk_rqe_cache);
}

int dxk_rqe_init(void)
{
	int err = dxk_more_init();

	if (err)
		return err;
	dxk_rqe_cache = KMEM_CACHE(dxk_rqe, SLAB_ACCOUNT);
	if (!dxk_rqe_cache)
		dxk_more_exit();
	return dxk_rqe_cache ? 0 : -ENOMEM;
}

void dxk_rqe_exit(void)
{
	kmem_cache_destroy(dxk_rqe_cache);
	dxk_more_exit();
}
