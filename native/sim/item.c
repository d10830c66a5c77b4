// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Items, see item.h. As in runtime/item.c, but that who waits for one looks now and then.
 */
#include "engine/calls.h"
#include "engine/turn.h"

#include "actor.h"
#include "choice.h"
#include "house.h"
#include "item.h"
#include "model.h"

#define ITEMS	6

static struct sim_item *items[ITEMS];

static struct sim_item *item_of(const struct dxk_rqe *rqe)
{
	return container_of(rqe, struct sim_item, rqe);
}

/* --- the object ----------------------------------------------------------------- */

static struct sim_item *item_make(void)
{
	static const u32 lane[] = { 0, PXR_LANE0, PXR_LANE1, PXR_LANE2 };
	struct sim_item *item = kzalloc(sizeof(*item), GFP_KERNEL);
	struct dxk_rqe *rqe;

	if (!item)
		return NULL;
	rqe = &item->rqe;
	rqe->cookie = draw_cookie();
	rqe->own_prio = draw_prio();
	rqe->attrs = PXR_KERNEL | lane[choose(4)] | (choose(2) ? PXR_BOOST : 0) |
		     (choose(2) ? PXR_WAITIF_BUSY : 0);
	rqe->kind = DXK_KERNEL;
	rqe->lane = dxk_lane_of(rqe->attrs);
	rqe->embedded = DXK_EMBEDDED;
	order_release(item);
	return item;
}

/* Who has it frees it, if nobody else knows of it: nobody touches it any more. */
static void item_free(struct sim_item *item)
{
	u32 i;

	order_acquire(item);
	for (i = 0; i < ITEMS; i++)
		if (items[i] == item)
			items[i] = NULL;
	/* It is noticed where no sanitizer looks, too. */
	memset(item, 0x5a, sizeof(*item));
	kfree(item);
}

/* It is its owner's again: from the store on it may be gone. */
static void item_let_go(struct sim_item *item)
{
	order_release(item);
	smp_store_release(&item->pending, false);
}

/* --- queue ----------------------------------------------------------------------- */

/* Where it may have to wait for room, or is refused. */
static int item_post_any(struct actor *a, struct sim_item *item)
{
	struct dxk_post_op p = { .m = &a->m, .help = a->depth };
	int ret;

	INIT_LIST_HEAD(&p.rqes);
	dxk_rqe_join(&item->rqe, &p.rqes);
	for (;;) {
		p.err = 0;
		a->answered = false;
		a->post = &p;
		ret = dxk_client_post(&p, draw_deadline());
		a->post = NULL;
		house.refused += p.err == -ESHUTDOWN;
		if (!p.helper.called)
			return ret;
		actor_help(a);
		ret = dxk_owner_stash_fill(&house.e.owners, &a->m.owners, 1);
		if (ret)
			return ret;
	}
}

static int item_post(struct actor *a, struct sim_item *item)
{
	int err = dxk_owner_stash_fill(&house.e.owners, &a->m.owners, 1);

	if (err)
		return err;
	dxk_rqe_again(&item->rqe);
	return dxk_post_usual(&a->m, &item->rqe) ? 1 : item_post_any(a, item);
}

/* @inside: by its function. The caller's use of it ends with its being pending. */
static void item_queue(struct actor *a, struct sim_item *item, bool inside)
{
	struct model_request *rq;
	int ret;

	if (READ_ONCE(item->held) || xchg(&item->pending, true)) {
		item->users -= !inside;
		return;
	}
	order_acquire(item);
	item->users -= !inside;
	item->queued += !inside;
	rq = model_new();
	if (!rq) {
		item_let_go(item);
		return;
	}
	item->rqe.param = rq - model.rq;
	note("%u queues item %llu of %llu", a->m.id, item->rqe.param, item->rqe.cookie);
	ret = item_post(a, item);
	note("%u: queue returns %d", a->m.id, ret);
	if (ret == 1)
		return;
	model_free(rq);
	item_let_go(item);
}

/* --- its function ----------------------------------------------------------------- */

/** item_begin - a worker begins one: a proxy takes its place, and it is not pending any more */
struct dxk_rqe *item_begin(struct actor *a, struct dxk_rqe *rqe)
{
	struct sim_item *item = item_of(rqe);
	struct dxk_rqe *proxy = &a->proxy[a->depth];

	if (!item->pending || a->item[a->depth])
		sim_fail("%u begins item %llu, which is not pending", a->m.id, rqe->param);
	a->item[a->depth] = item;
	item->runs++;
	dxk_rqe_stand_in(rqe, proxy);
	model_of(rqe)->rqe = proxy;
	item_let_go(item);
	return proxy;
}

/** item_run - what its function does with the item that a worker executes, or nothing */
void item_run(struct actor *a)
{
	struct sim_item **run = &a->item[a->depth - 1], *item = *run;

	if (!item)
		return;
	if (choose(3) == 1) {
		item_queue(a, item, true);
	} else if (chance(4) && !READ_ONCE(item->pending) && !item->users && item->runs == 1) {
		note("%u frees the item that it executes", a->m.id);
		*run = NULL;
		item_free(item);
	}
}

/** item_end - its function has returned */
void item_end(struct actor *a)
{
	struct sim_item *item = a->item[a->depth];

	a->item[a->depth] = NULL;
	if (!item)
		return;
	item->runs--;
	order_release(item);
}

/* --- cancel ----------------------------------------------------------------------- */

static bool runs_on(const struct actor *a, const struct sim_item *item)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(a->item); i++)
		if (a->item[i] == item)
			return true;
	return false;
}

/* Has somebody taken it out of the Ready Pool who is about to let it go, or begin it? */
static bool item_is_taken(const struct sim_item *item)
{
	return item->pending && item->rqe.state != DXK_READY && item->rqe.state != DXK_POSTED;
}

static bool item_is_taken_or_runs(const struct sim_item *item)
{
	return item_is_taken(item) || item->runs;
}

/* Wait until that is over. Return: is it? Some wait for what the caller is to do. */
static bool item_await(const struct sim_item *item, bool (*is)(const struct sim_item *item))
{
	u32 i;

	for (i = 0; is(item); i++) {
		if (i == 30 || sim_self->killed)
			return false;
		sim_nap(1000 << min(i, 16U));
	}
	return true;
}

static void item_take_back(struct actor *a, struct sim_item *item)
{
	struct model_request *rq;

	if (!READ_ONCE(item->pending) || !dxk_take_back(&house.e, &item->rqe))
		return;
	note("%u takes item %llu back", a->m.id, item->rqe.param);
	rq = model_of(&item->rqe);
	if (rq->state != DXK_FREE || rq->rqe != &item->rqe)
		sim_fail("item %llu is taken back in state %u", item->rqe.param, rq->state);
	model_free(rq);
	item_let_go(item);
}

/* See to it that it is neither queued nor runs: then it may be freed. */
static void item_cancel(struct actor *a, struct sim_item *item)
{
	u32 round, queued = item->queued;
	bool over = true, busy = false;

	item->held++;
	/* Again: its function may have been about to queue it, and has returned since. */
	for (round = 0; round < 2 && over; round++) {
		/* In the midst of being queued; if that is by its function it ends. */
		busy = item->pending && item->rqe.state == DXK_POSTED;
		item_take_back(a, item);
		over = item_await(item, item_is_taken_or_runs);
	}
	item->held--;
	note("%u cancels an item: %d%s", a->m.id, over, busy ? ", busy" : "");
	/* Who was about to queue it as well may have done so. */
	if (over && !busy && item->users == 1 && item->queued == queued) {
		if (item->pending || item->runs)
			sim_fail("%u has cancelled an item, and it is queued or runs", a->m.id);
		item_free(item);
		return;
	}
	item->users--;
}

/** item_is_held - is the request of an item that somebody cancels? */
bool item_is_held(const struct dxk_rqe *rqe)
{
	return rqe->embedded == DXK_EMBEDDED && item_of(rqe)->held;
}

/** item_disown - the engine has it no more, and did not have it executed */
void item_disown(struct dxk_rqe *rqe)
{
	struct sim_item *item = item_of(rqe);
	struct model_request *rq = model_of(rqe);

	note("item %llu is told that it was cancelled", rqe->param);
	if (!item->pending || rq->state != DXK_FREE || rq->rqe != rqe)
		sim_fail("item %llu is let go in state %u", rqe->param, rq->state);
	model_free(rq);
	item_let_go(item);
}

/** actor_items - somebody queues an item, or cancels it */
void actor_items(struct actor *a)
{
	struct sim_item **item = &items[choose(ITEMS)];

	if (!*item)
		*item = item_make();
	if (!*item)
		return;
	order_acquire(*item);
	(*item)->users++;
	if (chance(4) && !runs_on(a, *item))
		item_cancel(a, *item);
	else
		item_queue(a, *item, false);
}

/* --- check ------------------------------------------------------------------------ */

/** items_check - what is Ready is pending; @idle: nobody is about to let one go */
void items_check(bool idle)
{
	u32 i, ready = 0, pending = 0;

	for (i = 0; i < model.nr_ready; i++)
		ready += model.rq[model.ready[i]].rqe->embedded == DXK_EMBEDDED;
	for (i = 0; i < ITEMS; i++) {
		const struct sim_item *item = items[i];
		const struct model_request *rq;

		if (!item || !item->pending)
			continue;
		rq = model_of(&item->rqe);
		pending += rq->state == DXK_READY && rq->rqe == &item->rqe;
		if (idle && rq->state != DXK_READY && rq->state != DXK_POSTED)
			sim_fail("an item is pending in state %u, and nobody has it", rq->state);
	}
	if (ready != pending)
		sim_fail("%u items are Ready, and %u of them pending", ready, pending);
}

void items_reset(void)
{
	memset(items, 0, sizeof(items));
}

/** items_stop - nobody is left */
void items_stop(void)
{
	u32 i;

	for (i = 0; i < ITEMS; i++) {
		if (!items[i])
			continue;
		if (items[i]->pending || items[i]->runs)
			sim_fail("an item is queued or runs when nobody is left");
		item_free(items[i]);
	}
}
