// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Rounds: see fair.h.
 */
#include "engine/engine.h"
#include "engine/fair.h"
#include "engine/os.h"

/* --- begin and end ----------------------------------------------------------------- */

static void dxk_fair_reset(struct dxk_fair *fair, u32 share, u32 weight)
{
	memset(fair->of[share], 0, sizeof(fair->of[share]));
	fair->weight[share] = weight;
}

/* Exchange the rounds; nothing is Ready. Return: the ones that are no longer used. */
static struct dxk_fair *dxk_fair_swap(struct dxk_engine *e, struct dxk_fair *fair)
{
	u32 share;

	spin_lock(&e->lock);
	for (share = 0; fair && share < DXK_SHARES; share++)
		dxk_fair_reset(fair, share,
			       e->shares.of[share].weight ?: e->policy.space_weight);
	swap(e->ready.fair, fair);
	spin_unlock(&e->lock);
	return fair;
}

/**
 * dxk_fair_start - begin a run: there are rounds if its policy says so
 * @e: the engine
 *
 * Return: 0 or -ENOMEM.
 */
int dxk_fair_start(struct dxk_engine *e)
{
	struct dxk_fair *fair = NULL;

	if (e->policy.space_weight) {
		fair = kvcalloc(1, sizeof(*fair), GFP_KERNEL_ACCOUNT);
		if (!fair)
			return -ENOMEM;
	}
	kvfree(dxk_fair_swap(e, fair));
	return 0;
}

/** dxk_fair_destroy - free the rounds of an engine that is no longer used */
void dxk_fair_destroy(struct dxk_engine *e)
{
	kvfree(e->ready.fair);
}

/** dxk_fair_join - begin the rounds of a share anew, for another tenant */
void dxk_fair_join(struct dxk_engine *e, u32 share)
{
	lockdep_assert_held(&e->lock);

	if (e->ready.fair)
		dxk_fair_reset(e->ready.fair, share,
			       e->shares.of[share].weight ?: e->policy.space_weight);
}

/* --- requests ------------------------------------------------------------------------ */

/**
 * dxk_fair_charge - count a request that comes to the pool in its tenant's next round
 * @ready: the pool; has rounds
 * @rqe: its key does not include a round yet
 */
void dxk_fair_charge(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	struct dxk_fair *fair = ready->fair;
	u32 line = dxk_fair_line(rqe);
	struct dxk_round *r = &fair->of[rqe->share][line];

	if (r->nr < fair->level[line] || !r->left) {
		r->nr = max(r->nr + 1, fair->level[line]);
		r->left = fair->weight[rqe->share];
	}
	r->left--;
	fair->top[line] = max(fair->top[line], r->nr);
	rqe->key -= r->nr;
	rqe->round = r->nr;
}

/** dxk_fair_resume - the same for a request that was begun in vain: it was counted before */
void dxk_fair_resume(struct dxk_ready *ready, struct dxk_rqe *rqe)
{
	s64 level = ready->fair->level[dxk_fair_line(rqe)];

	rqe->key -= level;
	rqe->round = level;
}

/*
 * Does a Ready request of its line precede the request? Then it is served out of turn: by a
 * helper, at once after another request, or nested in one.
 */
static bool dxk_fair_is_early(const struct dxk_ready *ready, const struct dxk_rqe *rqe)
{
	const struct dxk_queue *queue = &ready->queue[dxk_fair_line(rqe) * DXK_CLASSES];
	u32 class;

	for (class = 0; class < DXK_CLASSES; class++)
		if (queue[class].first &&
		    dxk_ready_prio(ready, queue[class].first) > dxk_ready_prio(ready, rqe))
			return true;
	return false;
}

/**
 * dxk_fair_serve - a request is given to a worker: raise the level if need be
 * @ready: the pool; has rounds
 * @rqe: READY, not in the pool any more
 *
 * dxk_rqe has the lower bits of the round. So only those of the gain are known; it is not below
 * 0, and thus correct as long as it is below 2^32.
 * Return: its current priority, without the influence of rounds.
 */
s64 dxk_fair_serve(struct dxk_ready *ready, const struct dxk_rqe *rqe)
{
	u32 line = dxk_fair_line(rqe);
	s64 *level = &ready->fair->level[line];
	s64 key = rqe->key + dxk_ready_gained(ready, rqe);
	s64 prio = rqe->own_prio + (s64)(u32)((u64)key + rqe->round - (u64)(s64)rqe->own_prio);
	s64 ahead = prio - key - *level;

	/* How far its rank is below 0; if its priority is below 0, how far below that. */
	ahead -= max(prio, 0LL);
	if (!ready->nr[rqe->kind][rqe->lane])
		*level = ready->fair->top[line];
	else if (ahead > 0 && !dxk_fair_is_early(ready, rqe))
		*level += ahead;
	return prio;
}
