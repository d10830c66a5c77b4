// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The memory of what most requests do not have: see more.h.
 */
#include "engine/more.h"
#include "engine/os.h"

static struct kmem_cache *dxk_more_cache;

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

int dxk_more_init(void)
{
	dxk_more_cache = KMEM_CACHE(dxk_more, SLAB_ACCOUNT);
	return dxk_more_cache ? 0 : -ENOMEM;
}

void dxk_more_exit(void)
{
	kmem_cache_destroy(dxk_more_cache);
}
