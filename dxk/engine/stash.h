/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_STASH_H
#define _DXK_ENGINE_STASH_H

#include "engine/os.h"
#include "uapi/dxk.h"

#define DXK_STASH_MAX	DXK_BATCH_MAX

/*
 * Free objects of one slab cache, kept for the next calls. Most requests are made from
 * objects that earlier ones have freed. The rest is allocated and freed in bulk.
 */
struct dxk_stash {
	u32 nr;
	void *obj[DXK_STASH_MAX];
};

static inline void *dxk_stash_pop(struct dxk_stash *stash)
{
	return stash->obj[--stash->nr];
}

/* @cache: of its objects */
static inline void dxk_stash_push(struct dxk_stash *stash, void *obj,
				  struct kmem_cache *cache)
{
	if (stash->nr == DXK_STASH_MAX) {
		stash->nr /= 2;
		kmem_cache_free_bulk(cache, DXK_STASH_MAX - stash->nr,
				     &stash->obj[stash->nr]);
	}
	stash->obj[stash->nr++] = obj;
}

int dxk_stash_fill(struct dxk_stash *stash, struct kmem_cache *cache, gfp_t gfp, u32 nr);
void dxk_stash_empty(struct dxk_stash *stash, struct kmem_cache *cache);

#endif /* _DXK_ENGINE_STASH_H */
