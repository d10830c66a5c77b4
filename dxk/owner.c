// SPDX-License-Identifier: GPL-2.0-only
/*
 * Owners: the records that make rejoin answers O(1).
 */
#include <linux/jhash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "owner.h"

static struct kmem_cache *dxk_owner_cache;

/* Chains stay short: at most 8 on average when every live request has an owner
 * of its own and the context is at max_requests.
 */
#define DXK_OWNER_CHAIN		8

int dxk_owners_alloc(struct dxk_owners *owners, u32 max_requests)
{
	u32 bits = max(4, ilog2(roundup_pow_of_two(max_requests) / DXK_OWNER_CHAIN));

	owners->bucket = kvcalloc(1U << bits, sizeof(*owners->bucket),
				  GFP_KERNEL_ACCOUNT);
	if (!owners->bucket)
		return -ENOMEM;
	owners->bits = bits;
	owners->seed = get_random_u32();
	return 0;
}

void dxk_owners_free(struct dxk_owners *owners)
{
	kvfree(owners->bucket);
	owners->bucket = NULL;
}

static struct hlist_head *dxk_owner_bucket(const struct dxk_owners *owners,
					   const struct dxk_space *space, u64 cookie)
{
	u32 hash = jhash_3words(lower_32_bits(cookie), upper_32_bits(cookie),
				space->id, owners->seed);

	return &owners->bucket[hash >> (32 - owners->bits)];
}

/** dxk_owner_find - the record of an owner, or NULL when nothing of it lives */
struct dxk_owner *dxk_owner_find(const struct dxk_owners *owners,
				 const struct dxk_space *space, u64 cookie)
{
	struct dxk_owner *own;

	if (!owners->nr)
		return NULL;
	hlist_for_each_entry(own, dxk_owner_bucket(owners, space, cookie), hash)
		if (own->cookie == cookie && own->space == space)
			return own;
	return NULL;
}

static struct dxk_owner *dxk_stash_pop(struct dxk_stash *spares)
{
	struct dxk_owner *own = list_first_entry(&spares->list, struct dxk_owner,
						 done);

	list_del_init(&own->done);
	spares->nr--;
	return own;
}

/**
 * dxk_owner_enter - the record of an owner, made if there is none
 * @owners: the context's owners
 * @space: whose
 * @cookie: the owner
 * @spares: has one to take, see dxk_owner_stash_fill()
 */
struct dxk_owner *dxk_owner_enter(struct dxk_owners *owners, struct dxk_space *space,
				  u64 cookie, struct dxk_stash *spares)
{
	struct dxk_owner *own = dxk_owner_find(owners, space, cookie);

	if (own)
		return own;
	own = dxk_stash_pop(spares);
	own->space = space;
	own->cookie = cookie;
	if (unlikely(space->is_private)) {
		dxk_space_get(space);
		list_add_tail(&own->link, &space->owners);
	}
	hlist_add_head(&own->hash, dxk_owner_bucket(owners, space, cookie));
	owners->nr++;
	return own;
}

/**
 * dxk_owner_leave - nothing of the owner lives any more
 * @owners: the context's owners
 * @own: the record; all its counts are 0 and all its lists empty
 * @spares: keeps it for the next post, or NULL
 */
void dxk_owner_leave(struct dxk_owners *owners, struct dxk_owner *own,
		     struct dxk_stash *spares)
{
	WARN_ON_ONCE(dxk_owner_live(own) || own->nr_done ||
		     !list_empty(&own->pollers) || !list_empty(&own->watchers));
	hlist_del(&own->hash);
	owners->nr--;
	if (unlikely(own->space->is_private)) {
		list_del(&own->link);
		dxk_space_put(own->space);
	}
	if (spares && spares->nr < DXK_STASH_MAX) {
		list_add(&own->done, &spares->list);
		spares->nr++;
	} else {
		kmem_cache_free(dxk_owner_cache, own);
	}
}

/** dxk_owner_stash_fill - have @nr spare records, so that posts need no memory */
int dxk_owner_stash_fill(struct dxk_stash *spares, u32 nr)
{
	while (spares->nr < nr) {
		struct dxk_owner *own;

		own = kmem_cache_zalloc(dxk_owner_cache, GFP_KERNEL);
		if (!own)
			return -ENOMEM;
		INIT_LIST_HEAD(&own->pollers);
		INIT_LIST_HEAD(&own->watchers);
		list_add(&own->done, &spares->list);
		spares->nr++;
	}
	return 0;
}

void dxk_owner_stash_free(struct dxk_stash *spares)
{
	while (spares->nr)
		kmem_cache_free(dxk_owner_cache, dxk_stash_pop(spares));
}

/**
 * dxk_owners_destroy - free the hash with all results that nobody collected
 * @owners: nobody uses it any more
 */
void dxk_owners_destroy(struct dxk_owners *owners)
{
	struct dxk_owner *own;
	struct hlist_node *next;
	u32 i;

	if (!owners->bucket)
		return;
	for (i = 0; i < 1U << owners->bits; i++)
		hlist_for_each_entry_safe(own, next, &owners->bucket[i], hash) {
			dxk_rqe_drop_all(NULL, &own->done);
			kmem_cache_free(dxk_owner_cache, own);
		}
	dxk_owners_free(owners);
}

int dxk_owner_init(void)
{
	dxk_owner_cache = KMEM_CACHE(dxk_owner, SLAB_ACCOUNT);
	return dxk_owner_cache ? 0 : -ENOMEM;
}

void dxk_owner_exit(void)
{
	kmem_cache_destroy(dxk_owner_cache);
}
