// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The Ready Pool: every request that may run and has no worker yet, in the order
 * of current priority.
 *
 * Ageing by constant keys. Let G be the sum that a class has gained since the context
 * began. A request of priority p that arrives now is stored with key = p - G; its
 * current priority at any later time is key + G, whatever the policy did in
 * between. Therefore the scheduler adds to two numbers instead of visiting entries, and
 * the order inside a class is that of the keys, which never change.
 *
 * Keys of new requests fall by what is gained, so rows move down with time. They also fall by
 * the rounds that tenants have had, see fair.h.
 */
#include "engine/more.h"
#include "engine/order.h"
#include "engine/os.h"
#include "engine/ready.h"

void dxk_ready_init(struct dxk_ready *ready)
{
	u32 queue, kind, lane, share;

	/* An empty queue is all zeros. */
	memset(ready, 0, sizeof(*ready));
	for (kind = 0; kind < DXK_KINDS; kind++)
		INIT_LIST_HEAD(&ready->last[kind]);
	for (lane = 0; lane < DXK_LANES; lane++)
		for (share = 0; share < DXK_SHARES; share++)
			INIT_LIST_HEAD(&ready->ripe[lane][share]);
	for (queue = 0; queue < DXK_POST_QUEUES; queue++) {
		INIT_LIST_HEAD(&ready->posters[queue][false]);
		INIT_LIST_HEAD(&ready->posters[queue][true]);
	}
}

/* --- one queue --------------------------------------------------------------- */

static bool dxk_rqe_before(const struct dxk_rqe *x, const struct dxk_rqe *y)
{
	return x->key != y->key ? x->key > y->key : x->seq < y->seq;
}

static bool dxk_node_before(struct rb_node *a, const struct rb_node *b)
{
	return dxk_rqe_before(rb_entry(a, struct dxk_rqe, node),
			      rb_entry(b, struct dxk_rqe, node));
}

/* Bit n is set iff the row of key base + n has entries. */
static u64 dxk_queue_used(const struct dxk_queue *q)
{
	return ror64(q->used, dxk_row_of(q->base));
}

/* Does the key have a row? The rows move if that gives it one and takes none from entries. */
static bool dxk_queue_has_row(struct dxk_queue *q, s64 key)
{
	u64 up = key - q->base, down = q->base - key;

	if (likely(up < DXK_ROWS))
		return true;
	if (!q->used) {
		q->base = key;
	} else if (key > q->base) {
		/* move by this many; none of the lowest may be used */
		up -= DXK_ROWS - 1;
		if (up >= DXK_ROWS || dxk_queue_used(q) << (DXK_ROWS - up))
			return false;
		q->base += up;
	} else {
		if (down >= DXK_ROWS || dxk_queue_used(q) >> (DXK_ROWS - down))
			return false;
		q->base = key;
	}
	return true;
}

/* Enter the row before all others. Return: false when the request belongs in the middle of it. */
static bool dxk_row_add(struct dxk_row *row, struct dxk_rqe *rqe)
{
	struct dxk_rqe *first = row->first;

	if (first && rqe->seq > first->seq)
		return false;
	rqe->newer = first;
	rqe->older = NULL;
	row->first = rqe;
	if (first)
		first->older = rqe;
	else
		row->last = rqe;
	return true;
}

static void dxk_row_remove(struct dxk_row *row, const struct dxk_rqe *rqe)
{
	if (rqe->older)
		rqe->older->newer = rqe->newer;
	else
		row->first = rqe->newer;
	if (rqe->newer)
		rqe->newer->older = rqe->older;
	else
		row->last = rqe->older;
}

/* dxk_queue_add(), for any request */
void dxk_queue_add_any(struct dxk_queue *q, struct dxk_rqe *rqe)
{
	u32 row = dxk_row_of(rqe->key);

	rqe->treed = !dxk_queue_has_row(q, rqe->key) || !dxk_row_add(&q->row[row], rqe);
	if (unlikely(rqe->treed))
		rb_add_cached(&rqe->node, &q->tree, dxk_node_before);
	else
		q->used |= BIT_ULL(row);
	if (!q->first || dxk_rqe_before(rqe, q->first))
		q->first = rqe;
}

/* Find the first entry, after the previous one has left. */
static struct dxk_rqe *dxk_queue_find(const struct dxk_queue *q)
{
	struct dxk_rqe *rqe = NULL, *treed;

	if (q->used)
		rqe = q->row[dxk_row_of(q->base + ilog2(dxk_queue_used(q)))].first;
	if (likely(RB_EMPTY_ROOT(&q->tree.rb_root)))
		return rqe;
	treed = rb_entry(rb_first_cached(&q->tree), struct dxk_rqe, node);
	return rqe && dxk_rqe_before(rqe, treed) ? rqe : treed;
}

/* dxk_queue_remove(), for any request */
void dxk_queue_remove_any(struct dxk_queue *q, struct dxk_rqe *rqe)
{
	u32 row = dxk_row_of(rqe->key);

	if (unlikely(rqe->treed)) {
		rb_erase_cached(&rqe->node, &q->tree);
	} else {
		dxk_row_remove(&q->row[row], rqe);
		if (!q->row[row].first)
			q->used &= ~BIT_ULL(row);
	}
	if (q->first == rqe)
		q->first = dxk_queue_find(q);
}

/* --- homes --------------------------------------------------------------------- */

/** dxk_is_homeless - has the request a home that has no workers? */
bool dxk_is_homeless(const struct dxk_ready *ready, const struct dxk_rqe *rqe)
{
	u32 home = rqe->more->home;

	return home && !ready->home[home - 1].workers[rqe->kind];
}

/** dxk_ready_slot_of - dxk_ready_slot(), for a request that may have a home with workers */
u8 dxk_ready_slot_of(const struct dxk_ready *ready, const struct dxk_rqe *rqe)
{
	const struct dxk_more *more = rqe->more;

	if (likely(!more || !more->home) || dxk_is_homeless(ready, rqe))
		return dxk_ready_slot(rqe);
	return DXK_SLOT_HOME + (more->home - 1) * DXK_HOME_SLOTS + 2 * rqe->kind;
}

/** dxk_home_join - a worker with a home counts from now on */
void dxk_home_join(struct dxk_ready *ready, u32 home, enum dxk_kind kind)
{
	ready->home[home - 1].workers[kind]++;
	ready->left_homes[kind] &= ~BIT_ULL(home - 1);
}

/**
 * dxk_home_part - a worker with a home no longer counts
 * @ready: the pool
 * @home: its home, 1 and up
 * @kind: its kind
 *
 * Return: was it the last one, and are there entries that others are to take from now on?
 */
bool dxk_home_part(struct dxk_ready *ready, u32 home, enum dxk_kind kind)
{
	struct dxk_home *h = &ready->home[home - 1];

	if (--h->workers[kind] || !h->queue[kind].first)
		return false;
	ready->left_homes[kind] |= BIT_ULL(home - 1);
	return true;
}

void dxk_home_enter(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	/* The request is put back, and the last worker of its home has left meanwhile. */
	if (unlikely(!dxk_home_of(ready, rqe->slot)->workers[rqe->kind])) {
		rqe->slot = dxk_ready_slot(rqe);
		dxk_ready_enter(ready, rqe);
		return;
	}
	dxk_queue_add(&dxk_home_of(ready, rqe->slot)->queue[rqe->kind], rqe);
	ready->at_home[rqe->kind] |= dxk_home_bit(rqe->slot);
	ready->filled[rqe->kind] |= DXK_AT_HOME;
	ready->nr[rqe->kind][rqe->lane]++;
}

void dxk_home_leave(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	struct dxk_queue *q = &dxk_home_of(ready, rqe->slot)->queue[rqe->kind];

	dxk_queue_remove(q, rqe);
	if (!q->first)
		ready->at_home[rqe->kind] &= ~dxk_home_bit(rqe->slot);
	if (!ready->at_home[rqe->kind])
		ready->filled[rqe->kind] &= ~DXK_AT_HOME;
	ready->nr[rqe->kind][rqe->lane]--;
}

/* --- all of them ------------------------------------------------------------- */

static void dxk_ready_enter_last(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	dxk_rqe_join(rqe, &ready->last[rqe->kind]);
	ready->filled[rqe->kind] |= DXK_LAST;
	ready->nr[rqe->kind][rqe->lane]++;
}

static void dxk_ready_leave_last(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	dxk_rqe_leave(rqe);
	if (list_empty(&ready->last[rqe->kind]))
		ready->filled[rqe->kind] &= ~DXK_LAST;
	ready->nr[rqe->kind][rqe->lane]--;
}

/**
 * dxk_ready_put_back - enter a request with the key it has
 * @ready: the pool
 * @rqe: was READY before; gets the place that it would have if it had never left
 */
void dxk_ready_put_back(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	if (unlikely(rqe->slot == DXK_SLOT_LAST))
		dxk_ready_enter_last(ready, rqe);
	else
		dxk_ready_enter(ready, rqe);
}

/**
 * dxk_ready_add_aged - enter a request that has aged before, without a boost
 * @ready: the pool
 * @rqe: the request; its tick0 is when that began
 * @rank: its priority less what the plain class had gained then
 *
 * Among equals it counts as posted now.
 */
void dxk_ready_add_aged(struct dxk_ready *ready, struct dxk_rqe *rqe, s64 rank)
{
	dxk_ready_age(ready, rqe, rank);
	dxk_ready_enter(ready, rqe);
}

/**
 * dxk_ready_resume - re-enter a request that was begun in vain
 * @ready: the pool
 * @rqe: the request
 *
 * It continues to age from its state at the dispatch: only time in the pool counts
 * (DX-63). Among equals it keeps its place.
 */
void dxk_ready_resume(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	rqe->key = rqe->prio - dxk_ready_gained(ready, rqe);
	rqe->tick0 = ready->tick - rqe->inspect;
	if (unlikely(ready->fair))
		dxk_fair_resume(ready, rqe);
	dxk_ready_put_back(ready, rqe);
}

void dxk_ready_remove(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	if (unlikely(rqe->slot == DXK_SLOT_LAST))
		dxk_ready_leave_last(ready, rqe);
	else
		dxk_ready_leave(ready, rqe);
}

/**
 * dxk_ready_best - the request that a worker should run next
 * @ready: the pool
 * @kind: the kind of the worker
 * @workers: CMLS over the workers of that kind
 *
 * The entry of highest current priority that the lanes admit, the oldest post
 * among equals (DX-57, DX-73). Looks at the first entry of at most 8 queues.
 * Return: the entry, still in the pool, or NULL.
 */
struct dxk_rqe *dxk_ready_best(const struct dxk_ready *ready, enum dxk_kind kind,
			       const struct dxk_lanes *workers)
{
	return dxk_ready_find(ready, kind, workers);
}

/** dxk_ready_first_of - any entry of a kind and a lane that have one */
struct dxk_rqe *dxk_ready_first_of(const struct dxk_ready *ready, enum dxk_kind kind, u32 lane)
{
	const struct dxk_queue *q = &ready->queue[kind * DXK_SLOTS + lane * DXK_CLASSES];

	if (q->first || q[1].first)
		return q->first ?: q[1].first;
	return ready->home[__ffs64(ready->at_home[kind])].queue[kind].first;
}

/** dxk_ready_first - any entry, or NULL when the pool is empty */
struct dxk_rqe *dxk_ready_first(const struct dxk_ready *ready)
{
	u32 kind;

	for (kind = 0; kind < DXK_KINDS; kind++) {
		unsigned long slots = ready->filled[kind] & (DXK_LAST - 1);

		if (slots)
			return dxk_ready_first_of(ready, kind, __ffs(slots) / DXK_CLASSES);
		if (ready->at_home[kind])
			return dxk_ready_first_of(ready, kind, DXK_LANES - 1);
	}
	return NULL;
}

/* --- from end to end ------------------------------------------------------------ */

/* The first entry of a queue in its rows from @row on, or in its tree. */
static struct dxk_rqe *dxk_queue_scan(const struct dxk_queue *q, u32 row, u64 upto)
{
	u64 used = row < DXK_ROWS ? q->used >> row << row : 0;
	struct rb_node *node = rb_first_cached(&q->tree);

	for (; used; used &= used - 1)
		if (q->row[__ffs64(used)].first->seq < upto)
			return q->row[__ffs64(used)].first;
	return node ? rb_entry(node, struct dxk_rqe, node) : NULL;
}

static struct dxk_rqe *dxk_ready_scan_from(const struct dxk_ready *ready, u32 slot)
{
	struct dxk_rqe *rqe = NULL;

	for (; !rqe && slot < ARRAY_SIZE(ready->queue); slot++)
		rqe = dxk_queue_scan(&ready->queue[slot], 0, ready->upto);
	return rqe;
}

/**
 * dxk_ready_scan - begin to look at each entry, except for those at home or for their last turns
 * @ready: the pool
 * @upto: dxk_rqe.seq; newer ones are of no interest
 *
 * Return: the first one, or NULL.
 */
struct dxk_rqe *dxk_ready_scan(struct dxk_ready *ready, u64 upto)
{
	ready->upto = upto;
	return dxk_ready_scan_from(ready, 0);
}

/** dxk_ready_next - the next entry, or NULL. In a row newer ones come last */
struct dxk_rqe *dxk_ready_next(const struct dxk_ready *ready, const struct dxk_rqe *rqe)
{
	const struct dxk_queue *q = &ready->queue[rqe->slot];
	struct rb_node *node;
	struct dxk_rqe *next;

	if (rqe->treed) {
		node = rb_next(&rqe->node);
		next = node ? rb_entry(node, struct dxk_rqe, node) : NULL;
	} else if (rqe->newer && rqe->newer->seq < ready->upto) {
		next = rqe->newer;
	} else {
		next = dxk_queue_scan(q, dxk_row_of(rqe->key) + 1, ready->upto);
	}
	return next ?: dxk_ready_scan_from(ready, rqe->slot + 1);
}

/* --- last turns --------------------------------------------------------------- */

/** dxk_ready_add_last - enter a request for its last turn */
void dxk_ready_add_last(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	rqe->slot = DXK_SLOT_LAST;
	rqe->key = rqe->prio - dxk_ready_gained(ready, rqe);
	rqe->round = 0;
	rqe->tick0 = ready->tick;
	dxk_ready_enter_last(ready, rqe);
}

/**
 * dxk_ready_to_last - enter for its last turn a request that was READY for another one
 * @ready: the pool
 * @rqe: the request, in none of its queues; it continues to age
 */
void dxk_ready_to_last(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	rqe->key += dxk_ready_gained(ready, rqe);
	rqe->slot = DXK_SLOT_LAST;
	rqe->key -= dxk_ready_gained(ready, rqe);
	dxk_ready_enter_last(ready, rqe);
}

/** dxk_ready_take_last - take out the first one of a kind, or NULL */
struct dxk_rqe *dxk_ready_take_last(struct dxk_ready *ready, enum dxk_kind kind)
{
	struct dxk_rqe *rqe = list_first_entry_or_null(&ready->last[kind], struct dxk_rqe, link);

	if (rqe)
		dxk_ready_leave_last(ready, rqe);
	return rqe;
}

/**
 * dxk_ready_tick - one scheduler interval has passed
 * @ready: the pool
 * @age: is PRIO_POLICY_AGERQS on?
 * @boost: is PRIO_POLICY_BOOST on? Acts only together with @age (DX-62)
 * @boost_value: additional gain of a boosted request
 *
 * What was gained is kept when the policy changes (DX-66). The sums do not
 * overflow: at 2^16 + 1 per millisecond, 2^63 is reached after four thousand years.
 */
void dxk_ready_tick(struct dxk_ready *ready, bool age, bool boost, u32 boost_value)
{
	ready->tick++;
	if (!age)
		return;
	ready->gained[DXK_PLAIN] += 1;
	ready->gained[DXK_BOOSTED] += 1 + (boost ? (s64)boost_value : 0);
}
