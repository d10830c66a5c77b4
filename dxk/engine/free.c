// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The free objects of a context, for the next callers that need some: see free.h.
 */
#include "engine/engine.h"
#include "engine/free.h"
#include "engine/os.h"

/* How many are allocated or freed at a time. */
#define DXK_POOL_BULK	32

/* Objects that were not needed for so long are freed. */
#define DXK_POOL_IDLE_NS	(5ULL * NSEC_PER_SEC)

/*
 * Maximum that a pool takes. A debug kernel frees most objects instead, because its allocator
 * detects their use after that.
 */
#define DXK_POOL_MAX	(OS_DEBUG ? DXK_BATCH_MAX : U32_MAX)

/** dxk_pool_init - initialize an empty pool, which takes nothing before dxk_pool_open() */
void dxk_pool_init(struct dxk_free_pool *pool, struct kmem_cache *cache)
{
	spin_lock_init(&pool->lock);
	pool->cache = cache;
}

/** dxk_pool_open - let the pool of a context that is about to run take objects */
void dxk_pool_open(struct dxk_free_pool *pool)
{
	spin_lock(&pool->lock);
	pool->max = DXK_POOL_MAX;
	spin_unlock(&pool->lock);
}

/** dxk_pool_close - free all objects and take no more, because the Monitor goes or has gone */
void dxk_pool_close(struct dxk_free_pool *pool)
{
	spin_lock(&pool->lock);
	pool->max = 0;
	spin_unlock(&pool->lock);
	dxk_pool_trim(pool, 0);
}

static void dxk_pool_push(struct dxk_free_pool *pool, void **obj)
{
	*obj = pool->free;
	pool->free = obj;
	pool->nr++;
}

static void *dxk_pool_pop(struct dxk_free_pool *pool)
{
	void **obj = pool->free;

	pool->free = *obj;
	pool->nr--;
	return obj;
}

/**
 * dxk_pool_fill - allocate objects until a pool has at least @nr
 * @pool: the pool
 * @nr: how many
 *
 * Return: 0; -ENOMEM: it has as many as there was memory for.
 */
int dxk_pool_fill(struct dxk_free_pool *pool, u32 nr)
{
	void *obj[DXK_POOL_BULK];
	u32 i;

	while (READ_ONCE(pool->nr) < nr) {
		if (!kmem_cache_alloc_bulk(pool->cache, GFP_KERNEL, DXK_POOL_BULK, obj))
			return -ENOMEM;
		spin_lock(&pool->lock);
		for (i = 0; i < DXK_POOL_BULK; i++)
			dxk_pool_push(pool, obj[i]);
		spin_unlock(&pool->lock);
		os_yield();
	}
	return 0;
}

/**
 * dxk_pool_take - move objects to a stash until it has @nr, as far as there are enough
 * @pool: the pool
 * @stash: of a member of its context
 * @nr: 1..%DXK_STASH_MAX
 */
void dxk_pool_take(struct dxk_free_pool *pool, struct dxk_stash *stash, u32 nr)
{
	/* Half of a stash at least, so that not each call comes here. */
	nr = max_t(u32, nr, DXK_STASH_MAX / 2);
	spin_lock(&pool->lock);
	while (stash->nr < nr && pool->nr)
		stash->obj[stash->nr++] = dxk_pool_pop(pool);
	pool->least = min(pool->least, pool->nr);
	spin_unlock(&pool->lock);
}

/**
 * dxk_pool_give - move objects from a stash to a pool, or free them if it takes no more
 * @pool: the pool
 * @stash: of a member of its context
 * @nr: how many; it has them
 *
 * Return: must the Monitor, which rests, look at the pool?
 */
bool dxk_pool_give(struct dxk_free_pool *pool, struct dxk_stash *stash, u32 nr)
{
	bool tell;

	spin_lock(&pool->lock);
	for (; nr && pool->nr < pool->max; nr--)
		dxk_pool_push(pool, dxk_stash_pop(stash));
	tell = unlikely(pool->rests) && pool->nr > pool->keep;
	if (tell)
		pool->rests = false;
	spin_unlock(&pool->lock);
	if (nr) {
		stash->nr -= nr;
		kmem_cache_free_bulk(pool->cache, nr, &stash->obj[stash->nr]);
	}
	return tell;
}

/**
 * dxk_pool_trim - free surplus objects
 * @pool: the pool
 * @nr: how many may stay
 *
 * Many at a time, without the lock.
 */
void dxk_pool_trim(struct dxk_free_pool *pool, u32 nr)
{
	void *obj[DXK_POOL_BULK];
	u32 got;

	do {
		spin_lock(&pool->lock);
		for (got = 0; got < DXK_POOL_BULK && pool->nr > nr; got++)
			obj[got] = dxk_pool_pop(pool);
		pool->least = min(pool->least, pool->nr);
		spin_unlock(&pool->lock);
		if (got)
			kmem_cache_free_bulk(pool->cache, got, obj);
		os_yield();
	} while (got == DXK_POOL_BULK);
}

/**
 * dxk_pool_review - free objects that were not needed for a while
 * @pool: the pool
 * @keep: how many may stay
 *
 * Return: does the pool have more than that, so that a later review is needed? If not,
 * dxk_pool_give() reports when it gets more.
 */
bool dxk_pool_review(struct dxk_free_pool *pool, u32 keep)
{
	u64 now = os_now();
	u32 nr, idle = 0;
	bool rests;

	spin_lock(&pool->lock);
	nr = pool->nr;
	if (now - pool->since >= DXK_POOL_IDLE_NS) {
		pool->since = now;
		idle = pool->least;
		pool->least = nr;
	}
	spin_unlock(&pool->lock);
	if (idle)
		dxk_pool_trim(pool, max(keep, nr - idle));
	spin_lock(&pool->lock);
	pool->keep = keep;
	rests = pool->nr <= keep;
	pool->rests = rests;
	spin_unlock(&pool->lock);
	return !rests;
}

/**
 * dxk_stash_halve - move half of a full stash to a pool
 * @e: of the member
 * @pool: gets half of it
 * @stash: the member's
 */
void dxk_stash_halve(struct dxk_engine *e, struct dxk_free_pool *pool, struct dxk_stash *stash)
{
	if (dxk_pool_give(pool, stash, DXK_STASH_MAX / 2))
		os_kick(e, DXK_MONITOR);
}
