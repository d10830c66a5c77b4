// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Stashes of free objects, see stash.h.
 */
#include "engine/os.h"
#include "engine/stash.h"

/** dxk_stash_fill - provide @nr free objects of @cache, 1..%DXK_STASH_MAX */
int dxk_stash_fill(struct dxk_stash *stash, struct kmem_cache *cache, gfp_t gfp, u32 nr)
{
	if (stash->nr >= nr)
		return 0;
	/* All or none; kernels agree only on the truth value of its result. */
	if (!kmem_cache_alloc_bulk(cache, gfp, nr - stash->nr, &stash->obj[stash->nr]))
		return -ENOMEM;
	stash->nr = nr;
	return 0;
}

/** dxk_stash_empty - free all objects */
void dxk_stash_empty(struct dxk_stash *stash, struct kmem_cache *cache)
{
	if (stash->nr)
		kmem_cache_free_bulk(cache, stash->nr, stash->obj);
	stash->nr = 0;
}
