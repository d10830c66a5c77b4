// SPDX-License-Identifier: GPL-2.0-only
/*
 * Spaces of owner cookies. A private one ends with the last descriptor of it: then
 * results that lie in the Rejoin Pool are dropped, and what still executes or waits
 * vanishes at its end, for nobody is left who could ask for it.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "dispatch.h"
#include "rejoin.h"

/* Most owners and results that one lock hold looks at. */
#define DXK_DROP_BUDGET	256

void dxk_space_init(struct dxk_space *space, u32 id)
{
	space->id = id;
	INIT_LIST_HEAD(&space->owners);
	INIT_LIST_HEAD(&space->emptied);
}

/** dxk_space_new - a private space with one user, or an error pointer */
struct dxk_space *dxk_space_new(struct dxk_ctx *ctx)
{
	struct dxk_space *space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);

	if (!space)
		return ERR_PTR(-ENOMEM);
	spin_lock(&ctx->lock);
	dxk_space_init(space, ++ctx->spaces);
	spin_unlock(&ctx->lock);
	space->is_private = true;
	space->users = 1;
	space->refs = 1;
	return space;
}

/** dxk_space_put - a reference of a private space is gone; under the lock */
void dxk_space_put(struct dxk_space *space)
{
	if (!--space->refs)
		kfree(space);
}

/** dxk_space_join - a member is made from a descriptor of the space */
void dxk_space_join(struct dxk_ctx *ctx, struct dxk_space *space)
{
	if (!space->is_private)
		return;
	spin_lock(&ctx->lock);
	space->users++;
	space->refs++;
	spin_unlock(&ctx->lock);
}

/* An operation that closes a space as far as one lock hold may. */
struct dxk_close_op {
	struct dxk_op op;
	struct dxk_space *space;
	struct list_head ended;
	bool more;
};

static void dxk_space_close_run(struct dxk_ctx *ctx, struct dxk_op *op,
				struct dxk_wakes *wakes)
{
	struct dxk_close_op *c = container_of(op, struct dxk_close_op, op);
	struct dxk_space *space = c->space;
	u32 budget = DXK_DROP_BUDGET;

	/* No result comes any more: an owner without one is done with. */
	space->closed = true;
	while (budget && !list_empty(&space->owners)) {
		struct dxk_owner *own = list_first_entry(&space->owners,
							 struct dxk_owner, link);

		budget--;
		if (own->nr_done)
			budget -= dxk_drop_results(ctx, own, budget, &c->ended, wakes);
		else
			list_move_tail(&own->link, &space->emptied);
	}
	c->more = !list_empty(&space->owners);
}

/**
 * dxk_space_leave - a descriptor or a member of the space is closed
 * @ctx: its context
 * @space: not to be used by the caller any more
 */
void dxk_space_leave(struct dxk_ctx *ctx, struct dxk_space *space)
{
	struct dxk_close_op c = { .space = space };
	bool last;

	if (!space->is_private)
		return;
	spin_lock(&ctx->lock);
	last = !--space->users;
	spin_unlock(&ctx->lock);

	INIT_LIST_HEAD(&c.ended);
	while (last) {
		dxk_perform(ctx, &c.op, dxk_space_close_run);
		dxk_rqe_drop_all(NULL, &c.ended);
		if (!c.more)
			break;
		cond_resched();
	}
	spin_lock(&ctx->lock);
	dxk_space_put(space);
	spin_unlock(&ctx->lock);
}
