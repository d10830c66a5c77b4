// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The memory of what most requests do not have, see more.h, the records of keys included.
 */
#include "engine/key.h"
#include "engine/more.h"
#include "engine/os.h"

static struct kmem_cache *dxk_more_cache, *dxk_key_cache;

/**
 * dxk_more_of - the rest of a request, made if there is none
 * @rqe: the request, held by the caller: POSTED, or BUSY
 *
 * Return: NULL when there is no memory.
 */
struct dxk_more *dxk_more_of(struct dxk_rqe *rqe)
{
	struct dxk_more *more = rqe->more;

	if (more)
		return more;
	more = kmem_cache_alloc(dxk_more_cache, GFP_KERNEL | __GFP_ZERO);
	if (!more)
		return NULL;
	more->rqe = rqe;
	more->expire = DXK_FOREVER;
	more->at = DXK_FOREVER;
	dxk_more_unlinked(more);
	INIT_LIST_HEAD(&more->sibling);
	rqe->more = more;
	return more;
}

/**
 * dxk_more_data - room for the data that a turn leaves to the next
 * @rqe: BUSY, the caller's, its wait set
 * @len: of that data, 1 to its result_room
 *
 * One that may have to be run again keeps what it has until the wait has begun: the call that
 * says so may yet be refused, and its worker die.
 * Return: where the data is to be stored; then comes dxk_more.swaps, if that is not where it
 * was. NULL: no memory.
 */
void *dxk_more_data(struct dxk_rqe *rqe, u32 len)
{
	struct dxk_more *more = rqe->more;

	if (!(rqe->attrs & PXR_REDO))
		return rqe->data;
	kfree(more->data);
	more->data = kzalloc(len + rqe->result_room, GFP_KERNEL_ACCOUNT);
	return more->data;
}

/** dxk_more_free - the request is not live any more; its file is gone */
void dxk_more_free(struct dxk_rqe *rqe)
{
	kfree(rqe->more->data);
	kmem_cache_free(dxk_more_cache, rqe->more);
	rqe->more = NULL;
}

/** dxk_keys_fill - have @nr spare records of keys. Return: 0 or -ENOMEM */
int dxk_keys_fill(struct dxk_stash *stash, u32 nr)
{
	u32 i = stash->nr;

	if (dxk_stash_fill(stash, dxk_key_cache, GFP_KERNEL | __GFP_ZERO, nr))
		return -ENOMEM;
	for (; i < stash->nr; i++) {
		struct dxk_key *key = stash->obj[i];

		INIT_LIST_HEAD(&key->nested);
		INIT_LIST_HEAD(&key->queue);
		INIT_LIST_HEAD(&key->back);
		INIT_LIST_HEAD(&key->waiters);
		key->tree = RB_ROOT_CACHED;
	}
	return 0;
}

/** dxk_keys_free - give spare records back */
void dxk_keys_free(struct dxk_stash *stash)
{
	dxk_stash_empty(stash, dxk_key_cache);
}

/** dxk_key_push - a record is of use for another key */
void dxk_key_push(struct dxk_stash *stash, struct dxk_key *key)
{
	dxk_stash_push(stash, key, dxk_key_cache);
}

int dxk_more_init(void)
{
	dxk_more_cache = KMEM_CACHE(dxk_more, SLAB_ACCOUNT);
	if (!dxk_more_cache)
		return -ENOMEM;
	dxk_key_cache = KMEM_CACHE(dxk_key, SLAB_ACCOUNT);
	if (dxk_key_cache)
		return 0;
	kmem_cache_destroy(dxk_more_cache);
	return -ENOMEM;
}

void dxk_more_exit(void)
{
	kmem_cache_destroy(dxk_key_cache);
	kmem_cache_destroy(dxk_more_cache);
}
