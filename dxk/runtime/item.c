// SPDX-License-Identifier: GPL-2.0-only
/*
 * Items: see item.h.
 */
#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/turn.h"
#include "runtime/context.h"
#include "runtime/item.h"
#include "runtime/slot.h"
#include "runtime/thread.h"
#include "runtime/worker.h"

/* Attributes that an item may have: it has no result, no data, no file, no name and no wait. */
#define DXK_ITEM_ATTRS	(PXR_WAITIF_BUSY | PXR_BOOST | PXR_LANE0 | PXR_LANE1 | PXR_LANE2 | \
			 PXR_KERNEL)

/* --- queue ----------------------------------------------------------------------- */

/**
 * dxk_item_init - make an item
 * @item: in an object of the caller's
 * @fn: its function
 * @owner: opaque, see struct dxk_post_entry
 * @prio: larger is more urgent
 * @attrs: %PXR_BOOST, %PXR_WAITIF_BUSY, a lane; %PXR_KERNEL is implied
 *
 * An item that is pending, or whose function runs, must not be initialised again.
 * Context: any.
 * Return: 0, -EINVAL: two lanes; -EOPNOTSUPP: an attribute that no item can have.
 */
int dxk_item_init(struct dxk_item *item, dxk_item_fn *fn, u64 owner, s32 prio, u32 attrs)
{
	struct dxk_item_own *own = dxk_item_own(item);
	int lane = dxk_lane_of(attrs);

	memset(item, 0, sizeof(*item));
	if (attrs & ~DXK_ITEM_ATTRS)
		return -EOPNOTSUPP;
	if (lane < 0)
		return lane;
	item->fn = fn;
	own->rqe.cookie = owner;
	own->rqe.own_prio = prio;
	own->rqe.attrs = attrs | PXR_KERNEL;
	own->rqe.kind = DXK_KERNEL;
	own->rqe.lane = lane;
	own->rqe.embedded = DXK_EMBEDDED;
	return 0;
}
EXPORT_SYMBOL_GPL(dxk_item_init);

/* The item belongs to its owner again; from the store on it may no longer exist. */
static void dxk_item_let_go(struct dxk_item *item)
{
	struct dxk_ctx *ctx = dxk_item_own(item)->ctx;

	/* pairs with the load in dxk_item_pending() */
	smp_store_release(&dxk_item_own(item)->pending, false);
	if (wq_has_sleeper(&ctx->item_wait))
		wake_up_all(&ctx->item_wait);
}

/* The slow path, on which the item may have to wait for room or may be refused. */
static noinline int dxk_item_post_any(struct dxk_member *member, struct dxk_rqe *rqe)
{
	struct dxk_post_op p __uninitialized;
	int ret;

	p.m = member;
	INIT_LIST_HEAD(&p.rqes);
	dxk_rqe_join(rqe, &p.rqes);
	for (;;) {
		p.help = dxk_worker_can_help(member);
		ret = dxk_client_post(&p, DXK_FOREVER);
		if (!p.helper.called)
			break;
		dxk_worker_help(member);
		/* The requests executed meanwhile may have posted as this member, too. */
		ret = dxk_owner_stash_fill(&member->engine->owners, &member->owners, 1);
		if (ret)
			break;
	}
	return ret;
}

static int dxk_item_post(struct dxk_member *member, struct dxk_rqe *rqe)
{
	int err = dxk_owner_stash_fill(&member->engine->owners, &member->owners, 1);

	if (unlikely(err))
		return err;
	dxk_rqe_again(rqe);
	return dxk_post_usual(member, rqe) ? 1 : dxk_item_post_any(member, rqe);
}

/**
 * dxk_item_queue - have an item executed by a kernel worker
 * @member: a client, or dxk_call.self of the request that runs
 * @item: made with dxk_item_init(). It must stay in place until it is no longer pending
 *
 * It is admitted, ordered, limited by its lane, counted and refused like a post of one request.
 * Nothing is allocated, except with GFP_KERNEL a record of an owner when none is left over: not for
 * paths that reclaim or write back memory. An item whose function runs may be queued, even by the
 * function itself; then it may run on two workers at a time.
 *
 * Context: process. Sleeps with %PXR_WAITIF_BUSY while there is no room.
 * Return: 1; 0 when it is already pending, or being cancelled; -EAGAIN: no room; -ENOSPC:
 * max_requests; -EPERM: its lane is closed; -ENODEV: the policy has no kernel workers;
 * -ENOMEM; -ESHUTDOWN: the context does not run.
 */
int dxk_item_queue(struct dxk_member *member, struct dxk_item *item)
{
	struct dxk_item_own *own = dxk_item_own(item);
	int ret;

	if (unlikely(atomic_read(&own->held)) || xchg(&own->pending, true))
		return 0;
	own->ctx = dxk_member_ctx(member);
	ret = dxk_item_post(member, &own->rqe);
	if (unlikely(ret != 1))
		dxk_item_let_go(item);
	return ret;
}
EXPORT_SYMBOL_GPL(dxk_item_queue);

/**
 * dxk_item_pending - is the item queued?
 * @item: made with dxk_item_init()
 *
 * It is pending until its function is called.
 * Context: any.
 * Return: true if it is.
 */
bool dxk_item_pending(const struct dxk_item *item)
{
	/* a caller that finds it cleared sees everything done before the clearing store */
	return smp_load_acquire(&dxk_item_own_of(item)->pending);
}
EXPORT_SYMBOL_GPL(dxk_item_pending);

/*
 * Call the @cancelled function of an item that was not executed. The function may free the item.
 * Tasks that wait for the item wait for this call as for a run.
 */
static void dxk_item_tell(struct dxk_item *item)
{
	void (*cancelled)(struct dxk_item *item) = item->cancelled;
	struct dxk_item_run run = { .item = item };
	struct dxk_ctx *ctx = dxk_item_own(item)->ctx;

	spin_lock(&ctx->engine.lock);
	list_add(&run.link, &ctx->item_cancels);
	spin_unlock(&ctx->engine.lock);
	dxk_item_let_go(item);
	cancelled(item);
	spin_lock(&ctx->engine.lock);
	list_del(&run.link);
	spin_unlock(&ctx->engine.lock);
	wake_up_all(&ctx->item_wait);
}

/** dxk_item_disown - return a cancelled item: Stop cancelled it, or no worker will execute it */
void dxk_item_disown(struct dxk_rqe *rqe)
{
	struct dxk_item *item = dxk_item_of(rqe);

	if (item->cancelled)
		dxk_item_tell(item);
	else
		dxk_item_let_go(item);
}

/* --- wait ------------------------------------------------------------------------ */

#define DXK_ANY_RUN	U64_MAX

/* Is @run the run *@seq of the item, or any run for %DXK_ANY_RUN? *@seq: out, its number. */
static bool dxk_item_run_is(const struct dxk_item_run *run, const struct dxk_item *item,
			    u64 *seq)
{
	u64 now;

	/* pairs with the stores of the worker */
	if (smp_load_acquire(&run->item) != item)
		return false;
	now = READ_ONCE(run->seq);
	if (*seq != DXK_ANY_RUN && *seq != now)
		return false;
	*seq = now;
	return true;
}

/*
 * Does the worker with this id, or else the next one, execute the item? *@id: out, its id.
 * Return: 1, 0; -EDEADLK: the worker is the caller.
 */
static int dxk_item_is_at(struct dxk_ctx *ctx, const struct dxk_item *item,
			  unsigned long *id, u32 max, u64 *seq)
{
	struct dxk_thread *t = NULL;
	struct dxk_item_run *run;
	struct dxk_slot *slot;
	int found = 0;

	spin_lock(&ctx->engine.lock);
	slot = dxk_slot_next(ctx, id, max);
	if (slot)
		t = slot->thread;
	if (t) {
		found = dxk_item_run_is(&t->item, item, seq);
		list_for_each_entry(run, &t->outer, link)
			found = found || dxk_item_run_is(run, item, seq);
		if (found && t->task == current)
			found = -EDEADLK;
	}
	spin_unlock(&ctx->engine.lock);
	return found;
}

/* @seq: of a run that this worker had at an earlier look */
static bool dxk_item_runs_on(struct dxk_ctx *ctx, const struct dxk_item *item,
			     unsigned long id, u64 seq)
{
	return dxk_item_is_at(ctx, item, &id, id, &seq);
}

/* Is its @cancelled function being called? */
static bool dxk_item_is_told(struct dxk_ctx *ctx, const struct dxk_item *item)
{
	struct dxk_item_run *run;
	bool is = false;

	spin_lock(&ctx->engine.lock);
	list_for_each_entry(run, &ctx->item_cancels, link)
		is = is || run->item == item;
	spin_unlock(&ctx->engine.lock);
	return is;
}

/* Wait for each run in progress now. Return: 0; -EDEADLK: one of them is the caller's. */
static int dxk_item_await_runs(struct dxk_ctx *ctx, const struct dxk_item *item)
{
	unsigned long id;
	int err = 0;

	wait_event(ctx->item_wait, !dxk_item_is_told(ctx, item));
	for (id = 1; id <= DXK_ID_WORKER_MAX; id++) {
		u64 seq = DXK_ANY_RUN;

		switch (dxk_item_is_at(ctx, item, &id, DXK_ID_WORKER_MAX, &seq)) {
		case -EDEADLK:
			err = -EDEADLK;
			break;
		case 1:
			wait_event(ctx->item_wait, !dxk_item_runs_on(ctx, item, id, seq));
		}
	}
	return err;
}

/*
 * Is the item in the Ready Pool, or with a worker that has not recorded it yet, for the run *@seq
 * or, for %DXK_ANY_RUN, any run? *@seq: out, the number of the run.
 */
static bool dxk_item_is_queued(struct dxk_ctx *ctx, const struct dxk_item *item, u64 *seq)
{
	const struct dxk_rqe *rqe = &dxk_item_own_of(item)->rqe;
	bool is = false;

	spin_lock(&ctx->engine.lock);
	if (dxk_item_pending(item) && READ_ONCE(rqe->state) != DXK_POSTED) {
		is = *seq == DXK_ANY_RUN || *seq == rqe->seq;
		*seq = rqe->seq;
	}
	spin_unlock(&ctx->engine.lock);
	return is;
}

/**
 * dxk_item_flush - wait until an item has been executed that was queued before
 * @ctx: where it was queued
 * @item: the item, which must stay in place meanwhile
 *
 * Waits for runs that are queued or in progress at the time of the call, not for those queued
 * later. A Stop(cancel) may cancel the item instead. A worker that calls this is not available
 * meanwhile, whatever the policy's on_block. An executor or an item should therefore rejoin the
 * owner instead.
 *
 * Context: process. Sleeps for as long as the function runs; no signal ends the sleep.
 * Return: 0; -EDEADLK: in the function itself; -EINVAL: it is queued in another context.
 */
int dxk_item_flush(struct dxk_ctx *ctx, struct dxk_item *item)
{
	u64 seq = DXK_ANY_RUN;

	might_sleep();
	os_may_wait_for_user();
	if (dxk_item_pending(item) && dxk_item_own(item)->ctx != ctx)
		return -EINVAL;
	if (dxk_item_is_queued(ctx, item, &seq))
		wait_event(ctx->item_wait, !dxk_item_is_queued(ctx, item, &seq));
	return dxk_item_await_runs(ctx, item);
}
EXPORT_SYMBOL_GPL(dxk_item_flush);

/* Has another task taken it out of the Ready Pool, and is about to release it? */
static bool dxk_item_is_taken(struct dxk_ctx *ctx, const struct dxk_item *item)
{
	const struct dxk_rqe *rqe = &dxk_item_own_of(item)->rqe;
	bool is;
	u8 state;

	spin_lock(&ctx->engine.lock);
	state = READ_ONCE(rqe->state);
	is = dxk_item_pending(item) && state != DXK_READY && state != DXK_POSTED;
	spin_unlock(&ctx->engine.lock);
	return is;
}

/* Take it out, unless dxk_item_queue() is just queueing it. */
static int dxk_item_take_back(struct dxk_ctx *ctx, struct dxk_item *item)
{
	if (!dxk_item_pending(item))
		return 0;
	if (dxk_take_back(&ctx->engine, &dxk_item_own(item)->rqe)) {
		dxk_item_let_go(item);
		return 1;
	}
	wait_event(ctx->item_wait, !dxk_item_is_taken(ctx, item));
	return 0;
}

/**
 * dxk_item_cancel_sync - ensure that an item is neither queued nor running
 * @ctx: where it was queued
 * @item: the item
 *
 * An item that no worker has begun is not executed, and dxk_item.cancelled is not called.
 * Otherwise this waits until its function has returned. The function cannot queue it meanwhile.
 * If nobody else queues it either, it may be freed afterwards.
 *
 * Context: process. Sleeps for as long as the function runs; no signal ends the sleep.
 * Return: 1 when it was taken out, 0 when there was nothing to take out; -EDEADLK: called in the
 * function itself, whose end is not waited for; -EBUSY: another task is about to queue it;
 * -EINVAL: it is queued in another context.
 */
int dxk_item_cancel_sync(struct dxk_ctx *ctx, struct dxk_item *item)
{
	struct dxk_item_own *own = dxk_item_own(item);
	int ret, err, round;

	might_sleep();
	os_may_wait_for_user();
	if (dxk_item_pending(item) && own->ctx != ctx)
		return -EINVAL;
	atomic_inc(&own->held);
	/* Again: the function may have been about to queue it, and has returned since. */
	for (round = ret = err = 0; round < 2 && !err; round++) {
		ret |= dxk_item_take_back(ctx, item);
		err = dxk_item_await_runs(ctx, item);
	}
	if (!err && dxk_item_pending(item))
		err = -EBUSY;
	atomic_dec(&own->held);
	return err ?: ret;
}
EXPORT_SYMBOL_GPL(dxk_item_cancel_sync);
