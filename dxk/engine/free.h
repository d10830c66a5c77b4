/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_FREE_H
#define _DXK_ENGINE_FREE_H

#include "engine/os.h"
#include "engine/stash.h"

struct dxk_engine;

/**
 * struct dxk_free_pool - the free requests of a context; or struct dxk_more, or dxk_owner
 *
 * Members exchange them with their stashes, many at a time, so that in the long run a
 * request is neither allocated nor cleared nor charged. A member that finds too few here
 * allocates, at its own charge. The Monitor frees objects that nobody has needed for a while.
 * Without a Monitor none are kept: an object that comes back when the context does not run is
 * freed.
 */
struct dxk_free_pool {
	/** @lock: protects all of it; nothing nests in it. That of owners nests in the engine's */
	spinlock_t lock;
	/** @cache: (C) where they come from, and go to */
	struct kmem_cache *cache;
	/** @free: each begins with the address of the next one */
	void **free;
	/** @nr: how many there are in @free */
	u32 nr;
	/** @max: most that it takes; 0 when the context does not run */
	u32 max;
	/** @keep: how many the Monitor leaves */
	u32 keep;
	/** @rests: the Monitor looks no more, and must be notified of more than @keep */
	bool rests;
	/** @least: fewest of them since @since */
	u32 least;
	/** @since: os_now() at the last look for some that nobody needs */
	u64 since;
};

void dxk_pool_init(struct dxk_free_pool *pool, struct kmem_cache *cache);
void dxk_pool_open(struct dxk_free_pool *pool);
void dxk_pool_close(struct dxk_free_pool *pool);
int dxk_pool_fill(struct dxk_free_pool *pool, u32 nr);
void dxk_pool_take(struct dxk_free_pool *pool, struct dxk_stash *stash, u32 nr);
bool dxk_pool_give(struct dxk_free_pool *pool, struct dxk_stash *stash, u32 nr);
bool dxk_pool_review(struct dxk_free_pool *pool, u32 keep);
void dxk_pool_trim(struct dxk_free_pool *pool, u32 nr);

void dxk_stash_halve(struct dxk_engine *e, struct dxk_free_pool *pool, struct dxk_stash *stash);

/**
 * dxk_stash_give - an object is of use for a later call, of whoever makes it
 * @e: of the member
 * @pool: gets half of a stash that is full
 * @stash: the member's
 * @obj: the object
 */
static inline void dxk_stash_give(struct dxk_engine *e, struct dxk_free_pool *pool,
				  struct dxk_stash *stash, void *obj)
{
	if (unlikely(stash->nr == DXK_STASH_MAX))
		dxk_stash_halve(e, pool, stash);
	stash->obj[stash->nr++] = obj;
}

#endif /* _DXK_ENGINE_FREE_H */
