// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The hash of names: see name.h.
 */
#include "engine/engine.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/os.h"

/*
 * Maximum average length of a chain. Every live request can have a name, whether it waits or
 * not, and a key.
 */
#define DXK_NAME_CHAIN	4

/* Exchange the hash. Before and after a run no live request has a name or a key. */
static struct hlist_head *dxk_names_swap(struct dxk_engine *e, struct hlist_head *bucket,
					 u32 bits, bool on)
{
	spin_lock(&e->lock);
	swap(e->waits.bucket, bucket);
	e->waits.bits = bits;
	e->waits.seed = get_random_u64();
	WRITE_ONCE(e->waits.on, on);
	spin_unlock(&e->lock);
	return bucket;
}

/**
 * dxk_names_start - begin a run: requests may wait and have names if its policy permits it
 * @e: the engine
 */
int dxk_names_start(struct dxk_engine *e)
{
	u32 chains = DIV_ROUND_UP(e->policy.max_requests, DXK_NAME_CHAIN);
	u32 bits = ilog2(roundup_pow_of_two(max(chains, 16U)));
	struct hlist_head *bucket = NULL;

	if (e->policy.max_waiting) {
		bucket = kvcalloc(2U << bits, sizeof(*bucket), GFP_KERNEL_ACCOUNT);
		if (!bucket)
			return -ENOMEM;
	}
	kvfree(dxk_names_swap(e, bucket, bits, bucket));
	return 0;
}

/** dxk_names_unstart - the run has not begun after all */
void dxk_names_unstart(struct dxk_engine *e)
{
	kvfree(dxk_names_swap(e, NULL, 0, false));
}

/** dxk_names_destroy - free the hash of an engine that is no longer used */
void dxk_names_destroy(struct dxk_engine *e)
{
	dxk_keys_destroy(e);
	kvfree(e->waits.bucket);
}

/**
 * dxk_name_find - the request of a name
 * @e: the engine, locked
 * @space: the space of the name
 * @name: the name
 *
 * Return: the request, or NULL: there is none that has not ended.
 */
struct dxk_rqe *dxk_name_find(const struct dxk_engine *e, const struct dxk_space *space,
			      u64 name)
{
	struct dxk_more *more;

	lockdep_assert_held(&e->lock);

	if (!e->waits.bucket)
		return NULL;
	hlist_for_each_entry(more, dxk_waits_bucket(&e->waits, space->id, name), by_name)
		if (more->name == name && more->rqe->owner->space == space)
			return more->rqe;
	return NULL;
}

/** dxk_name_enter - enter the name, which is free, of a request that has been taken over */
void dxk_name_enter(struct dxk_engine *e, struct dxk_rqe *rqe)
{
	struct dxk_more *more = rqe->more;

	hlist_add_head(&more->by_name,
		       dxk_waits_bucket(&e->waits, rqe->owner->space->id, more->name));
}

/** dxk_name_leave - remove the name of a request that has ended */
void dxk_name_leave(struct dxk_rqe *rqe)
{
	if (rqe->more->named)
		hlist_del(&rqe->more->by_name);
}
