/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_POOL_H
#define _DXK_ENGINE_POOL_H

#include "engine/os.h"
#include "engine/stash.h"
#include "uapi/dxk.h"

struct dxk_engine;
struct dxk_member;
struct dxk_rqe;

/**
 * struct dxk_free_pool - the free requests of a context; or the free struct dxk_more
 *
 * Members exchange them with their stashes, many at a time, so that in the long run a
 * request is neither allocated nor cleared nor charged. Who finds too few here allocates, at
 * its own charge; what nobody has needed for a while the Monitor frees. Without a Monitor
 * none are kept: what comes back when the context does not run is freed.
 */
struct dxk_free_pool {
	/** @lock: protects all of it; nothing nests in it, and it nests in nothing */
	spinlock_t lock;
	/** @cache: (C) where they come from, and go to */
	struct kmem_cache *cache;
	/** @free: each begins with the address of the next one */
	void **free;
	/** @nr: how many there are in @free */
	u32 nr;
	/** @max: most that it takes; 0 when the context does not run */
	u32 max;
	/** @keep: so many the Monitor leaves */
	u32 keep;
	/** @rests: it looks no more, and is to be told of more than that */
	bool rests;
	/** @least: fewest of them since @since */
	u32 least;
	/** @since: os_now() when it was last looked for some that nobody needs */
	u64 since;
};

/* What the policy wants to stay allocated. */
static inline u32 dxk_pool_keep(const struct dxk_policy *policy)
{
	return min(policy->prealloc_requests, policy->max_requests);
}

void dxk_pool_init(struct dxk_free_pool *pool, struct kmem_cache *cache);
void dxk_pool_open(struct dxk_free_pool *pool);
void dxk_pool_close(struct dxk_free_pool *pool);
int dxk_pool_fill(struct dxk_free_pool *pool, u32 nr);
void dxk_pool_take(struct dxk_free_pool *pool, struct dxk_stash *stash, u32 nr);
bool dxk_pool_give(struct dxk_free_pool *pool, struct dxk_stash *stash, u32 nr);
bool dxk_pool_review(struct dxk_free_pool *pool, u32 keep);
void dxk_pool_trim(struct dxk_free_pool *pool, u32 nr);

void dxk_pools_init(struct dxk_engine *e);
void dxk_pools_open(struct dxk_engine *e);
void dxk_pools_close(struct dxk_engine *e);
bool dxk_pools_review(struct dxk_engine *e);
void dxk_stash_give(struct dxk_engine *e, struct dxk_free_pool *pool, struct dxk_stash *stash,
		    void *obj);

int dxk_rqe_stash_fill(struct dxk_member *m, u32 nr);
void dxk_rqe_stash_free(struct dxk_stash *stash);
void dxk_rqe_drop(struct dxk_member *m, struct dxk_rqe *rqe);
void dxk_rqe_drop_all(struct dxk_member *m, struct list_head *rqes);

int dxk_rqe_init(void);
void dxk_rqe_exit(void);

#endif /* _DXK_ENGINE_POOL_H */
