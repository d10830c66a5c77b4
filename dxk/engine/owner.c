// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Owners: the records that make rejoin answers O(1).
 */
#include "engine/engine.h"
#include "engine/os.h"
#include "engine/owner.h"
#include "engine/rejoin.h"

static struct kmem_cache *dxk_owner_cache;

/* --- spaces ---------------------------------------------------------------- */

void dxk_space_init(struct dxk_space *space, u32 id)
{
	space->id = id;
	INIT_LIST_HEAD(&space->owners);
	INIT_LIST_HEAD(&space->emptied);
	INIT_LIST_HEAD(&space->waiting);
	INIT_LIST_HEAD(&space->holds);
	INIT_LIST_HEAD(&space->rich);
	INIT_LIST_HEAD(&space->pollers);
	INIT_LIST_HEAD(&space->watchers);
	INIT_LIST_HEAD(&space->waited);
	INIT_LIST_HEAD(&space->owed);
}

/** dxk_space_new - a private space with one user, or an error pointer */
struct dxk_space *dxk_space_new(struct dxk_engine *e)
{
	struct dxk_space *space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);

	if (!space)
		return ERR_PTR(-ENOMEM);
	spin_lock(&e->lock);
	dxk_space_init(space, ++e->spaces);
	spin_unlock(&e->lock);
	space->is_private = true;
	space->users = 1;
	space->refs = 1;
	return space;
}

/** dxk_space_put - drop a reference of a private space; under the lock */
void dxk_space_put(struct dxk_engine *e, struct dxk_space *space)
{
	if (--space->refs)
		return;
	if (!list_empty(&space->waited)) {
		list_del(&space->waited);
		e->owners.nr_waited--;
	}
	list_del(&space->owed);
	kfree(space);
}

/** dxk_space_waited - list a space in which somebody sleeps for any owner, for Stop to find */
void dxk_space_waited(struct dxk_engine *e, struct dxk_space *space)
{
	lockdep_assert_held(&e->lock);

	if (!list_empty(&space->waited))
		return;
	list_add_tail(&space->waited, &e->owners.waited);
	e->owners.nr_waited++;
}

/** dxk_space_join - a member is made from a descriptor of the space */
void dxk_space_join(struct dxk_engine *e, struct dxk_space *space)
{
	if (!space->is_private)
		return;
	spin_lock(&e->lock);
	space->users++;
	space->refs++;
	spin_unlock(&e->lock);
}

/* --- owners ---------------------------------------------------------------- */

/*
 * Maximum average length of a chain, reached if each of max_requests live requests has
 * an owner of its own.
 */
#define DXK_OWNER_CHAIN		4

/* Exchange the hash, unless there are owners in it. */
static void dxk_owners_swap(struct dxk_engine *e, struct hlist_head **bucket, u32 bits,
			    u64 seed)
{
	struct dxk_owners *owners = &e->owners;

	lockdep_assert_held(&e->lock);

	owners->entries = e->policy.rejoin_entries;
	if (owners->nr)
		return;
	swap(owners->bucket, *bucket);
	owners->bits = bits;
	owners->seed = seed;
}

/* The same for callers without the lock. Return: the hash that is no longer used. */
static struct hlist_head *dxk_owners_exchange(struct dxk_engine *e,
					      struct hlist_head *bucket, u32 bits, u64 seed)
{
	spin_lock(&e->lock);
	dxk_owners_swap(e, &bucket, bits, seed);
	spin_unlock(&e->lock);
	return bucket;
}

/**
 * dxk_owners_start - begin a run: provide a hash and a Rejoin Pool for its policy
 * @e: the engine
 *
 * Results of an earlier run stay, and with them the hash they are in; their owners may
 * collect them at this very moment.
 */
int dxk_owners_start(struct dxk_engine *e)
{
	u32 chains = DIV_ROUND_UP(e->policy.max_requests, DXK_OWNER_CHAIN);
	u32 bits = ilog2(roundup_pow_of_two(max(chains, 16U)));
	struct hlist_head *bucket = kvcalloc(1U << bits, sizeof(*bucket),
					     GFP_KERNEL_ACCOUNT);

	if (!bucket)
		return -ENOMEM;
	kvfree(dxk_owners_exchange(e, bucket, bits, get_random_u64()));
	return 0;
}

/** dxk_owners_unstart - the run has not begun after all */
void dxk_owners_unstart(struct dxk_engine *e)
{
	kvfree(dxk_owners_exchange(e, NULL, 0, 0));
}

static struct hlist_head *dxk_owner_bucket(const struct dxk_owners *owners,
					   const struct dxk_space *space, u64 cookie)
{
	u32 hash = os_hash(cookie, space->id, owners->seed);

	return &owners->bucket[hash >> (32 - owners->bits)];
}

/** dxk_owner_look_up - dxk_owner_find(), for an owner other than the most recent one */
struct dxk_owner *dxk_owner_look_up(const struct dxk_owners *owners,
				    const struct dxk_space *space, u64 cookie)
{
	struct dxk_owner *owner;

	if (!owners->nr)
		return NULL;
	hlist_for_each_entry(owner, dxk_owner_bucket(owners, space, cookie), hash)
		if (owner->cookie == cookie && owner->space == space)
			return owner;
	return NULL;
}

/** dxk_owner_make - dxk_owner_enter() for an owner without live requests */
struct dxk_owner *dxk_owner_make(struct dxk_owners *owners, struct dxk_space *space,
				 u64 cookie, struct dxk_stash *stash)
{
	struct dxk_owner *owner;

	owner = dxk_stash_pop(owners->spares.nr ? &owners->spares : stash);
	owner->space = space;
	owner->cookie = cookie;
	if (unlikely(space->is_private)) {
		dxk_space_get(space);
		list_add_tail(&owner->link, &space->owners);
	}
	hlist_add_head(&owner->hash, dxk_owner_bucket(owners, space, cookie));
	owners->nr++;
	space->nr_owners++;
	return owner;
}

/**
 * dxk_owner_is_blank - is a record as the cache has made it? For assertions
 * @owner: the record; the fields that name an owner do not count, nor who sleeps for it or watches
 */
bool dxk_owner_is_blank(const struct dxk_owner *owner)
{
	return list_empty(&owner->done) && list_empty(&owner->joiners[false]) &&
	       list_empty(&owner->joiners[true]) && list_empty(&owner->owed) &&
	       list_empty(&owner->mores) && list_empty(&owner->doomed) &&
	       list_empty(&owner->purge) &&
	       list_empty(&owner->stuck) && list_empty(&owner->rich) &&
	       !dxk_owner_has_own(owner, DXK_USER) && !dxk_owner_has_own(owner, DXK_KERNEL) &&
	       !owner->helper[DXK_USER] && !owner->helper[DXK_KERNEL] &&
	       !owner->joined && !owner->doom && !owner->nr_done && !dxk_owner_live(owner);
}

/* Some records are kept for the next posts: often one owner comes and goes. */
static void dxk_owner_free(struct dxk_owners *owners, struct dxk_owner *owner)
{
	struct dxk_engine *e = container_of(owners, struct dxk_engine, owners);

	WARN_ON_ONCE(!list_empty(&owner->watchers));
	/* Pollers that wait for what is nested in their work were not answered: see nest.h. */
	if (unlikely(!list_empty(&owner->pollers))) {
		dxk_own_orphan(owner);
		list_splice_tail_init(&owner->pollers, &e->waits.rising);
		owners->freed = true;
	}
	WARN_ON_ONCE(OS_DEBUG && !dxk_owner_is_blank(owner));
	dxk_stash_give(e, &owners->kept, &owners->spares, owner);
}

/**
 * dxk_owner_leave - the owner has no live requests any longer
 * @owners: the context's owners
 * @owner: the record; all its counts are 0
 *
 * The record is gone when this returns, unless it is in dxk_owners.owed: see dxk_owner_told().
 */
void dxk_owner_leave(struct dxk_owners *owners, struct dxk_owner *owner)
{
	WARN_ON_ONCE(dxk_owner_live(owner) || owner->nr_done);
	hlist_del(&owner->hash);
	owners->nr--;
	owner->space->nr_owners--;
	if (owners->recent == owner)
		owners->recent = NULL;
	if (unlikely(owner->space->is_private)) {
		list_del(&owner->link);
		dxk_space_put(container_of(owners, struct dxk_engine, owners), owner->space);
	}
	if (unlikely(!list_empty(&owner->owed)))
		owner->space = NULL;
	else
		dxk_owner_free(owners, owner);
}

/** dxk_owner_owe - more wait for the owner than this lock hold can look at */
void dxk_owner_owe(struct dxk_engine *e, struct dxk_owner *owner)
{
	if (e->owners.pass == owner)
		e->owners.again = true;
	if (!list_empty(&owner->owed))
		return;
	list_add_tail(&owner->owed, &e->owners.owed);
	e->owners.nr_owed++;
}

/**
 * dxk_owner_told - all waiters for an owner have been looked at
 * @owners: the context's owners
 * @owner: the record, in dxk_owners.owed; gone when this returns, if it has no live requests
 */
void dxk_owner_told(struct dxk_owners *owners, struct dxk_owner *owner)
{
	list_del_init(&owner->owed);
	owners->nr_owed--;
	if (!owner->space)
		dxk_owner_free(owners, owner);
}

/*
 * The state of a record without live requests, in which it leaves the cache and returns to it.
 * As there is a constructor, no kernel clears it each time.
 */
static void dxk_owner_construct(void *obj)
{
	struct dxk_owner *owner = obj;

	memset(owner, 0, sizeof(*owner));
	INIT_LIST_HEAD(&owner->done);
	INIT_LIST_HEAD(&owner->pollers);
	INIT_LIST_HEAD(&owner->joiners[false]);
	INIT_LIST_HEAD(&owner->joiners[true]);
	INIT_LIST_HEAD(&owner->stuck);
	INIT_LIST_HEAD(&owner->rich);
	INIT_LIST_HEAD(&owner->watchers);
	INIT_LIST_HEAD(&owner->owed);
	INIT_LIST_HEAD(&owner->mores);
	INIT_LIST_HEAD(&owner->doomed);
	INIT_LIST_HEAD(&owner->purge);
}

/** dxk_owner_stash_refill - dxk_owner_stash_fill(), where there are too few */
int dxk_owner_stash_refill(struct dxk_owners *owners, struct dxk_stash *stash, u32 nr)
{
	dxk_pool_take(&owners->kept, stash, nr);
	return dxk_stash_fill(stash, dxk_owner_cache, GFP_KERNEL, nr);
}

void dxk_owner_stash_free(struct dxk_stash *stash)
{
	dxk_stash_empty(stash, dxk_owner_cache);
}

/** dxk_owners_init - initialize the owners of an engine that was not started */
void dxk_owners_init(struct dxk_owners *owners)
{
	INIT_LIST_HEAD(&owners->blocked);
	INIT_LIST_HEAD(&owners->owed);
	INIT_LIST_HEAD(&owners->waited);
	INIT_LIST_HEAD(&owners->owed_spaces);
	INIT_LIST_HEAD(&owners->rest);
	dxk_pool_init(&owners->kept, dxk_owner_cache);
}

/**
 * dxk_owners_destroy - free the hash with all results that nobody collected
 * @owners: nobody uses it any more
 */
void dxk_owners_destroy(struct dxk_owners *owners)
{
	struct dxk_rqe *rqe, *next_rqe;
	struct dxk_owner *owner;
	struct hlist_node *next;
	u32 i;

	for (i = 0; owners->bucket && i < 1U << owners->bits; i++) {
		hlist_for_each_entry_safe(owner, next, &owners->bucket[i], hash) {
			/* There may be as many as fit into memory. */
			list_for_each_entry_safe(rqe, next_rqe, &owner->done, link) {
				dxk_rqe_drop(NULL, rqe);
				os_yield();
			}
			dxk_owner_construct(owner);
			kmem_cache_free(dxk_owner_cache, owner);
		}
		if (i % 64 == 63)
			os_yield();
	}
	dxk_owner_stash_free(&owners->spares);
	dxk_pool_trim(&owners->kept, 0);
	kvfree(owners->bucket);
}

int dxk_owner_init(void)
{
	dxk_owner_cache = kmem_cache_create("dxk_owner", sizeof(struct dxk_owner),
					    __alignof__(struct dxk_owner), SLAB_ACCOUNT,
					    dxk_owner_construct);
	return dxk_owner_cache ? 0 : -ENOMEM;
}

void dxk_owner_exit(void)
{
	kmem_cache_destroy(dxk_owner_cache);
}

/* --- who waits for one ------------------------------------------------------- */

/* Is it certain that a poller does not wait for itself? Ready requests make progress. */
static bool dxk_poller_goes_on(const struct dxk_owner *owner, const struct dxk_rejoin_op *r)
{
	return r->m->stuck != DXK_STUCK_OWNER || r->timed ||
	       owner->nr[DXK_AT_READY] >= r->m->min;
}

/* The same of all pollers. Of several ones it need not be the first. */
static bool dxk_pollers_go_on(const struct dxk_engine *e, const struct dxk_owner *owner)
{
	const struct list_head *pollers = &owner->pollers;

	if (list_empty(pollers) || !(dxk_crew_asleep(&e->crew) | e->crew.dozing))
		return true;
	return list_is_singular(pollers) &&
	       dxk_poller_goes_on(owner, list_first_entry(pollers, struct dxk_rejoin_op, w.link));
}

/* dxk_owner_doubt(), for an owner that somebody waits for */
void dxk_owner_doubt_awaited(struct dxk_engine *e, const struct dxk_owner *owner,
			     struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	if (!dxk_owner_coming(owner) ||
	    (list_empty(&owner->joiners[true]) && dxk_pollers_go_on(e, owner)))
		return;
	WRITE_ONCE(e->waits.unsure, true);
	dxk_call_control(e, DXK_MONITOR, wakes);
}
