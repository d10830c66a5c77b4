// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The memory of the optional part of requests, see more.h, and of the records of keys.
 */
#include "engine/engine.h"
#include "engine/free.h"
#include "engine/key.h"
#include "engine/member.h"
#include "engine/more.h"
#include "engine/os.h"

static struct kmem_cache *dxk_more_cache, *dxk_key_cache;

/* Missing objects are allocated several at a time. */
#define DXK_MORE_BULK	8

/* The free objects of a member, or NULL. */
static struct dxk_stash *dxk_more_stash(struct dxk_member *m)
{
	if (unlikely(!m->mores))
		m->mores = kzalloc(sizeof(*m->mores), GFP_KERNEL_ACCOUNT);
	return m->mores;
}

static struct dxk_more *dxk_more_take(struct dxk_member *m)
{
	struct dxk_stash *stash = dxk_more_stash(m);

	if (!stash)
		return NULL;
	if (unlikely(!stash->nr)) {
		dxk_pool_take(&m->engine->mores, stash, 1);
		if (!stash->nr && dxk_stash_fill(stash, dxk_more_cache, GFP_KERNEL, DXK_MORE_BULK))
			return NULL;
	}
	return dxk_stash_pop(stash);
}

/* Set each field that is not always written before it is read, as dxk_rqe_fill() does. */
static void dxk_more_fill(struct dxk_more *more, struct dxk_rqe *rqe)
{
	if (OS_DEBUG)
		memset(more, 0x5a, sizeof(*more));
	more->rqe = rqe;
	more->file = NULL;
	more->watch = NULL;
	more->wait = (struct dxk_wait) { };
	more->state = 0;
	more->data = NULL;
	more->name = 0;
	more->expire = DXK_FOREVER;
	more->at = DXK_FOREVER;
	dxk_more_unlinked(more);
	more->key = NULL;
	more->key_call = NULL;
	more->outer = NULL;
	INIT_LIST_HEAD(&more->sibling);
	more->worker = NULL;
	more->doubt = 0;
	more->events = 0;
	more->turn = 0;
	more->wake = DXK_WAKE_NONE;
	more->begun = false;
	more->named = false;
	more->parks = false;
	more->swaps = false;
	more->latched = false;
	more->cancelled = false;
	more->doomed = false;
	more->expired = false;
	more->ripe = false;
	more->keyed = false;
	more->behind = false;
	more->stands = false;
	more->at_key = DXK_KEY_OUT;
	more->reentry = DXK_REENTRY_NONE;
	more->home = 0;
	more->treed = false;
	more->away = false;
	more->seen = false;
}

/**
 * dxk_more_of - the rest of a request, made if there is none
 * @m: the member of the calling thread
 * @rqe: the request, held by the caller: POSTED, or BUSY
 *
 * Return: NULL when there is no memory.
 */
struct dxk_more *dxk_more_of(struct dxk_member *m, struct dxk_rqe *rqe)
{
	struct dxk_more *more = rqe->more;

	if (more)
		return more;
	more = dxk_more_take(m);
	if (!more)
		return NULL;
	dxk_more_fill(more, rqe);
	rqe->more = more;
	return more;
}

/**
 * dxk_more_join - where a purge of its owner finds a request that got its dxk_more in a turn
 * @more: of the request, BUSY; its engine is locked
 *
 * Return: it was not there yet. A purge that was ordered before does not look there.
 */
bool dxk_more_join(struct dxk_more *more)
{
	if (likely(!list_empty(&more->sibling)))
		return false;
	list_add_tail(&more->sibling, &more->rqe->owner->mores);
	return true;
}

/**
 * dxk_more_data - room for the data that a turn leaves to the next
 * @rqe: BUSY, the caller's, its wait set
 * @len: of that data, 1 to its result_room
 *
 * A request that may have to be run again keeps its data until the wait has begun: the call that
 * begins the wait may yet be refused, and its worker may die.
 * Return: where the data is to be stored; the caller then sets dxk_more.swaps if this is not
 * where the data was. NULL: no memory.
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

/**
 * dxk_more_free - free the rest of a request that is no longer live; its file is gone
 * @m: the member of the calling thread, which may use the object again; or NULL
 * @rqe: the request
 */
void dxk_more_free(struct dxk_member *m, struct dxk_rqe *rqe)
{
	struct dxk_stash *stash = m ? dxk_more_stash(m) : NULL;
	struct dxk_more *more = rqe->more;

	rqe->more = NULL;
	kfree(more->data);
	if (likely(stash))
		dxk_stash_give(m->engine, &m->engine->mores, stash, more);
	else
		kmem_cache_free(dxk_more_cache, more);
}

/** dxk_more_pool_init - initialize the pool of an engine's free objects */
void dxk_more_pool_init(struct dxk_free_pool *pool)
{
	dxk_pool_init(pool, dxk_more_cache);
}

/** dxk_more_stash_free - free the objects of a member that leaves */
void dxk_more_stash_free(struct dxk_member *m)
{
	if (!m->mores)
		return;
	dxk_stash_empty(m->mores, dxk_more_cache);
	kfree(m->mores);
	m->mores = NULL;
}

/** dxk_keys_fill - provide @nr spare records of keys. Return: 0 or -ENOMEM */
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

/** dxk_keys_free - free spare records */
void dxk_keys_free(struct dxk_stash *stash)
{
	dxk_stash_empty(stash, dxk_key_cache);
}

/** dxk_key_push - keep a record for another key */
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
