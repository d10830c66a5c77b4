// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The Ready Pool: every request that may run and has no worker yet, in the order
 * of current priority.
 *
 * Ageing by constant keys. Let G be what a class has gained since the context
 * began. A request of priority p that comes now is stored with key = p - G; its
 * current priority at any later time is key + G, whatever the policy did in
 * between. So the scheduler adds to two numbers instead of visiting entries, and
 * the order inside a class is that of the keys, which never change.
 */
#include "engine/os.h"
#include "engine/ready.h"

void dxk_ready_init(struct dxk_ready *ready)
{
	u32 queue;

	/* Of zeros are all trees, which are empty. */
	memset(ready, 0, sizeof(*ready));
	for (queue = 0; queue < DXK_POST_QUEUES; queue++) {
		INIT_LIST_HEAD(&ready->posters[queue][false]);
		INIT_LIST_HEAD(&ready->posters[queue][true]);
	}
}

static enum dxk_class dxk_ready_class(const struct dxk_rqe *rqe)
{
	return rqe->attrs & PXR_BOOST ? DXK_BOOSTED : DXK_PLAIN;
}

static u8 dxk_ready_bit(const struct dxk_rqe *rqe)
{
	return BIT(rqe->lane * DXK_CLASSES + dxk_ready_class(rqe));
}

/** dxk_ready_prio - the current priority of an entry (DX-59, DX-60) */
s64 dxk_ready_prio(const struct dxk_ready *ready, const struct dxk_rqe *rqe)
{
	return rqe->key + ready->gained[dxk_ready_class(rqe)];
}

static bool dxk_ready_before(struct rb_node *a, const struct rb_node *b)
{
	const struct dxk_rqe *x = rb_entry(a, struct dxk_rqe, node);
	const struct dxk_rqe *y = rb_entry(b, struct dxk_rqe, node);

	return x->key != y->key ? x->key > y->key : x->seq < y->seq;
}

/**
 * dxk_ready_put_back - enter a request with the key it has
 * @ready: the pool
 * @rqe: was READY before; goes where it would be had it never left
 */
void dxk_ready_put_back(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	rb_add_cached(&rqe->node,
		      &ready->tree[rqe->kind][rqe->lane][dxk_ready_class(rqe)],
		      dxk_ready_before);
	ready->filled[rqe->kind] |= dxk_ready_bit(rqe);
	ready->nr[rqe->kind][rqe->lane]++;
}

/**
 * dxk_ready_add - enter a new request at its posted priority
 * @ready: the pool
 * @rqe: the request
 *
 * O(log n). Waiting for room before this does not age (DX-63).
 */
void dxk_ready_add(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	rqe->key = rqe->prio - ready->gained[dxk_ready_class(rqe)];
	rqe->seq = ready->seq++;
	rqe->tick0 = ready->tick;
	dxk_ready_put_back(ready, rqe);
}

/**
 * dxk_ready_resume - enter a request again that was begun in vain
 * @ready: the pool
 * @rqe: the request
 *
 * It goes on ageing where it was at its dispatch: only time in the pool counts
 * (DX-63). Among equals it keeps its place.
 */
void dxk_ready_resume(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	rqe->key = rqe->prio - ready->gained[dxk_ready_class(rqe)];
	rqe->tick0 = ready->tick - rqe->inspect;
	dxk_ready_put_back(ready, rqe);
}

void dxk_ready_remove(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	struct rb_root_cached *tree =
		&ready->tree[rqe->kind][rqe->lane][dxk_ready_class(rqe)];

	rb_erase_cached(&rqe->node, tree);
	if (RB_EMPTY_ROOT(&tree->rb_root))
		ready->filled[rqe->kind] &= ~dxk_ready_bit(rqe);
	ready->nr[rqe->kind][rqe->lane]--;
}

/**
 * dxk_ready_best - the request that a worker should run next
 * @ready: the pool
 * @kind: the kind of the worker
 * @workers: CMLS over the workers of that kind
 *
 * The entry of highest current priority that the lanes admit, the oldest post
 * among equals (DX-57, DX-73). Looks at the first entry of at most 8 trees.
 * Return: the entry, still in the pool, or NULL.
 */
struct dxk_rqe *dxk_ready_best(const struct dxk_ready *ready, enum dxk_kind kind,
			       const struct dxk_lanes *workers)
{
	unsigned long filled = ready->filled[kind];
	struct dxk_rqe *best = NULL;
	s64 best_prio = 0;
	unsigned long bit;

	while (filled) {
		u32 lane = __ffs(filled) / DXK_CLASSES;

		if (!dxk_lanes_admit(workers, lane)) {
			filled &= ~(GENMASK(DXK_CLASSES - 1, 0) << lane * DXK_CLASSES);
			continue;
		}
		do {
			const struct rb_root_cached *tree;
			struct dxk_rqe *rqe;
			s64 prio;

			bit = __ffs(filled);
			filled &= filled - 1;
			tree = &ready->tree[kind][lane][bit % DXK_CLASSES];
			rqe = rb_entry(rb_first_cached(tree), struct dxk_rqe, node);
			prio = dxk_ready_prio(ready, rqe);
			if (!best || prio > best_prio ||
			    (prio == best_prio && rqe->seq < best->seq)) {
				best = rqe;
				best_prio = prio;
			}
		} while (filled && __ffs(filled) / DXK_CLASSES == lane);
	}
	return best;
}

/** dxk_ready_first_of - any entry of a kind and a lane that have one */
struct dxk_rqe *dxk_ready_first_of(const struct dxk_ready *ready, enum dxk_kind kind, u32 lane)
{
	u32 class = ready->filled[kind] & BIT(lane * DXK_CLASSES) ? 0 : 1;

	return rb_entry(rb_first_cached(&ready->tree[kind][lane][class]), struct dxk_rqe, node);
}

/** dxk_ready_first - any entry, or NULL when the pool is empty */
struct dxk_rqe *dxk_ready_first(const struct dxk_ready *ready)
{
	u32 kind;

	for (kind = 0; kind < DXK_KINDS; kind++)
		if (ready->filled[kind])
			return dxk_ready_first_of(ready, kind,
						  __ffs(ready->filled[kind]) / DXK_CLASSES);
	return NULL;
}

/**
 * dxk_ready_tick - one scheduler interval has passed
 * @ready: the pool
 * @age: is PRIO_POLICY_AGERQS on?
 * @boost: is PRIO_POLICY_BOOST on? Acts only together with @age (DX-62)
 * @boost_value: what a boosted request gains more
 *
 * What was gained stays gained when the policy changes (DX-66). The sums do not
 * overflow: 2^16 + 1 a millisecond takes four thousand years to 2^63.
 */
void dxk_ready_tick(struct dxk_ready *ready, bool age, bool boost, u32 boost_value)
{
	ready->tick++;
	if (!age)
		return;
	ready->gained[DXK_PLAIN] += 1;
	ready->gained[DXK_BOOSTED] += 1 + (boost ? (s64)boost_value : 0);
}
