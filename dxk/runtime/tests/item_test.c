// SPDX-License-Identifier: GPL-2.0-only
/*
 * Items: requests that lie in objects of another module.
 */
#include <linux/slab.h>

#include "runtime/item.h"
#include "runtime/tests/rig.h"

#define OWNER	5

/* What an item of the tests does: waits if it is gated, then counts. */
struct thing {
	struct dxk_item item;
	struct dxk_rig *rig;
	u32 nr;
	bool gated;
	void (*fn)(struct thing *thing, struct dxk_call *call);
	u32 runs, cancels, again;
	int ret;
	struct completion entered, leave;
};

static struct thing *thing_of(struct dxk_item *item)
{
	return container_of(item, struct thing, item);
}

static void thing_fn(struct dxk_item *item, struct dxk_call *call)
{
	struct thing *thing = thing_of(item);
	u32 n = atomic_fetch_inc(&thing->rig->executed);

	if (n < DXK_RIG_JOBS)
		WRITE_ONCE(thing->rig->order[n], thing->nr);
	complete(&thing->entered);
	while (thing->gated && !wait_for_completion_timeout(&thing->leave, HZ / 20))
		if (READ_ONCE(thing->rig->over))
			break;
	if (thing->fn)
		thing->fn(thing, call);
	WRITE_ONCE(thing->runs, thing->runs + 1);
}

static void thing_cancelled(struct dxk_item *item)
{
	thing_of(item)->cancels++;
}

/* Made so far in this test. */
static u32 things;

static struct thing *thing_make(struct kunit *test, s32 prio, u32 attrs)
{
	struct thing *thing = kunit_kzalloc(test, sizeof(*thing), GFP_KERNEL);
	struct dxk_rig *rig = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, thing);
	KUNIT_ASSERT_EQ(test, dxk_item_init(&thing->item, thing_fn, OWNER, prio, attrs), 0);
	thing->item.cancelled = thing_cancelled;
	thing->rig = rig;
	thing->nr = 100 + things++;
	init_completion(&thing->entered);
	init_completion(&thing->leave);
	return thing;
}

static int queue(struct thing *thing)
{
	return dxk_item_queue(thing->rig->m[0], &thing->item);
}

/* A worker executes it until its leave is completed. */
static struct thing *gate(struct kunit *test)
{
	struct thing *thing = thing_make(test, 0, 0);

	thing->gated = true;
	KUNIT_ASSERT_EQ(test, queue(thing), 1);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&thing->entered,
							     msecs_to_jiffies(DXK_RIG_MS)));
	return thing;
}

static struct dxk_ctx *start(struct kunit *test, u32 workers)
{
	struct dxk_policy p;

	things = 0;
	dxk_rig_policy(test, &p, workers);
	return dxk_rig_start(test->priv, &p);
}

/* Has all of the owner been executed? Items are not collected, so there is no result. */
static bool all_over(struct dxk_rig *rig)
{
	u32 answer = 0;

	return dxk_rig_rejoin(rig, OWNER, &answer) == 0 && answer == RJR_NONE_EXIST;
}

/* DX-77, DX-82: it is executed, counted, and its owner's again when its function begins. */
static void item_runs(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1);
	struct thing *held = gate(test), *thing = thing_make(test, 0, 0);

	KUNIT_EXPECT_FALSE(test, dxk_item_pending(&held->item));
	KUNIT_EXPECT_FALSE(test, dxk_item_pending(&thing->item));
	KUNIT_EXPECT_EQ(test, queue(thing), 1);
	KUNIT_EXPECT_TRUE(test, dxk_item_pending(&thing->item));
	KUNIT_EXPECT_EQ(test, queue(thing), 0);
	complete(&held->leave);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_FALSE(test, dxk_item_pending(&thing->item));
	KUNIT_EXPECT_EQ(test, thing->runs, 1);
	KUNIT_EXPECT_EQ(test, queue(thing), 1);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_EQ(test, thing->runs, 2);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.posts, 3);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.vanished, 3);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.completions, 3);
	KUNIT_EXPECT_EQ(test, thing->cancels, 0);
}

/* DX-57: among copied requests it has its place by priority and age. */
static void item_order(struct kunit *test)
{
	static const u32 order[] = { 102, 104, 1, 3, 103, 2, 101, 0, 105, 4 };
	static const s32 prio[] = { 1, 7, 4, 7, -3 };
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job;
	struct thing *held;
	u32 i;

	start(test, 1);
	held = gate(test);
	for (i = 0; i < ARRAY_SIZE(prio); i++)
		KUNIT_ASSERT_EQ(test, queue(thing_make(test, prio[i], 0)), 1);
	for (i = 0; i < ARRAY_SIZE(prio); i++) {
		job = dxk_rig_job(rig);
		KUNIT_ASSERT_EQ(test, dxk_rig_post(job, OWNER, prio[i] - (prio[i] == 7), 0, NULL),
				1);
	}
	complete(&held->leave);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_ASSERT_EQ(test, atomic_read(&rig->executed), 1 + 2 * ARRAY_SIZE(prio));
	for (i = 0; i < ARRAY_SIZE(order); i++)
		KUNIT_EXPECT_EQ(test, rig->order[1 + i], order[i]);
}

static void queue_again(struct thing *thing, struct dxk_call *call)
{
	if (thing->runs < thing->again)
		thing->ret |= dxk_item_queue(call->self, &thing->item) != 1;
}

/* Its function queues it, as often as it likes. */
static void item_queues_itself(struct kunit *test)
{
	struct thing *thing = thing_make(test, 0, 0);
	struct dxk_rig *rig = test->priv;

	start(test, 1);
	thing->fn = queue_again;
	thing->again = 50;
	KUNIT_EXPECT_EQ(test, queue(thing), 1);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_EQ(test, thing->runs, 51);
	KUNIT_EXPECT_EQ(test, thing->ret, 0);
}

static atomic_t freed;

static void free_itself(struct dxk_item *item, struct dxk_call *call)
{
	memset(item, 0x6b, sizeof(*item));
	kfree(item);
	atomic_inc(&freed);
}

/* Nothing touches it once its function has been called. */
static void item_frees_itself(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	u32 i;

	start(test, 2);
	atomic_set(&freed, 0);
	for (i = 0; i < 200; i++) {
		struct dxk_item *item = kmalloc(sizeof(*item), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, item);
		dxk_item_init(item, free_itself, OWNER, i % 3, 0);
		KUNIT_ASSERT_EQ(test, dxk_item_queue(rig->m[0], item), 1);
	}
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_EQ(test, atomic_read(&freed), 200);
}

/* One that is refused is not pending, and can be queued when there is room. */
static void item_refused(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_item bad;
	struct thing *thing[3], *held;
	struct dxk_policy p;
	u32 i;

	KUNIT_EXPECT_EQ(test, dxk_item_init(&bad, thing_fn, 0, 0, PXR_REJOIN), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, dxk_item_init(&bad, thing_fn, 0, 0, PXR_FD), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, dxk_item_init(&bad, thing_fn, 0, 0, PXR_NAMED), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, dxk_item_init(&bad, thing_fn, 0, 0, PXR_LANE0 | PXR_LANE1), -EINVAL);

	dxk_rig_policy(test, &p, 1);
	p.ready_entries = 2;
	dxk_rig_start(rig, &p);
	held = gate(test);
	for (i = 0; i < 3; i++) {
		thing[i] = thing_make(test, 0, 0);
		KUNIT_EXPECT_EQ(test, queue(thing[i]), i < 2 ? 1 : -EAGAIN);
		KUNIT_EXPECT_EQ(test, dxk_item_pending(&thing[i]->item), i < 2);
	}
	complete(&held->leave);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_EQ(test, queue(thing[2]), 1);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_EQ(test, thing[2]->runs, 1);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(rig->ctx[0], DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	KUNIT_EXPECT_EQ(test, queue(thing[2]), -ESHUTDOWN);
	KUNIT_EXPECT_FALSE(test, dxk_item_pending(&thing[2]->item));
	KUNIT_EXPECT_EQ(test, thing[2]->cancels, 0);
}

static int queue_errand(struct dxk_errand *e)
{
	return dxk_item_queue(e->m, (struct dxk_item *)(uintptr_t)e->owner);
}

static struct dxk_errand *errand(struct thing *thing, int (*run)(struct dxk_errand *e))
{
	struct dxk_errand *e = &thing->rig->errand[thing->rig->nr_errands];

	e->owner = (uintptr_t)&thing->item;
	return dxk_rig_errand(thing->rig, run);
}

/* With PXR_WAITIF_BUSY the caller sleeps for room. */
static void item_waits_for_room(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct thing *held, *thing;
	struct dxk_errand *e;
	struct dxk_policy p;

	dxk_rig_policy(test, &p, 1);
	p.ready_entries = 1;
	dxk_rig_start(rig, &p);
	held = gate(test);
	KUNIT_EXPECT_EQ(test, queue(thing_make(test, 0, 0)), 1);
	thing = thing_make(test, 0, PXR_WAITIF_BUSY);
	rig->errand[rig->nr_errands].m = dxk_rig_client(rig, rig->ctx[0]);
	e = errand(thing, queue_errand);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(READ_ONCE(e->m->state) == DXK_M_POSTING));
	/* somebody is about to queue it */
	KUNIT_EXPECT_EQ(test, dxk_item_cancel_sync(rig->ctx[0], &thing->item), -EBUSY);
	complete(&held->leave);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, 1);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_EQ(test, thing->runs, 1);
}

static int cancel_errand(struct dxk_errand *e)
{
	return dxk_item_cancel_sync(e->rig->ctx[0], (struct dxk_item *)(uintptr_t)e->owner);
}

static int flush_errand(struct dxk_errand *e)
{
	return dxk_item_flush(e->rig->ctx[0], (struct dxk_item *)(uintptr_t)e->owner);
}

/* How many wait for items. */
static u32 sleepers(struct dxk_ctx *ctx)
{
	struct wait_queue_entry *entry;
	u32 nr = 0;

	spin_lock_irq(&ctx->item_wait.lock);
	list_for_each_entry(entry, &ctx->item_wait.head, entry)
		nr++;
	spin_unlock_irq(&ctx->item_wait.lock);
	return nr;
}

/* Does the errand wait, as the @nr'th one? */
static bool waits(struct dxk_errand *e, u32 nr)
{
	struct dxk_ctx *ctx = e->rig->ctx[0];

	return DXK_SOON(completion_done(&e->done) || sleepers(ctx) == nr) &&
	       !completion_done(&e->done);
}

/* One that is queued is taken out, of one that runs the end is waited for. */
static void item_cancel(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1), *other = dxk_rig_create(rig);
	struct thing *held = gate(test), *thing = thing_make(test, 0, 0);
	struct dxk_errand *e;

	KUNIT_EXPECT_EQ(test, dxk_item_cancel_sync(ctx, &thing->item), 0);
	KUNIT_EXPECT_EQ(test, queue(thing), 1);
	KUNIT_EXPECT_EQ(test, dxk_item_cancel_sync(other, &thing->item), -EINVAL);
	KUNIT_EXPECT_EQ(test, dxk_item_flush(other, &thing->item), -EINVAL);
	KUNIT_EXPECT_EQ(test, dxk_item_cancel_sync(ctx, &thing->item), 1);
	KUNIT_EXPECT_FALSE(test, dxk_item_pending(&thing->item));
	KUNIT_EXPECT_EQ(test, ctx->engine.nr[DXK_AT_READY], 0);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.cancelled, 1);
	/* it can be queued again */
	KUNIT_EXPECT_EQ(test, queue(thing), 1);

	e = errand(held, cancel_errand);
	KUNIT_EXPECT_TRUE(test, waits(e, 1));
	/* nor can it be queued meanwhile */
	KUNIT_EXPECT_EQ(test, queue(held), 0);
	KUNIT_EXPECT_EQ(test, held->runs, 0);
	complete(&held->leave);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, 0);
	KUNIT_EXPECT_EQ(test, held->runs, 1);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_EQ(test, thing->runs, 1);
	KUNIT_EXPECT_EQ(test, thing->cancels, 0);
	KUNIT_EXPECT_EQ(test, held->runs, 1);
}

static void cancel_own(struct thing *thing, struct dxk_call *call)
{
	thing->ret = dxk_item_cancel_sync(thing->rig->ctx[0], &thing->item);
	if (thing->ret == -EDEADLK)
		thing->ret = dxk_item_flush(thing->rig->ctx[0], &thing->item);
}

/* In the function itself nothing waits. */
static void item_cancels_itself(struct kunit *test)
{
	struct thing *thing = thing_make(test, 0, 0);
	struct dxk_rig *rig = test->priv;

	start(test, 1);
	thing->fn = cancel_own;
	KUNIT_EXPECT_EQ(test, queue(thing), 1);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_EQ(test, thing->ret, -EDEADLK);
}

/* One that always queues itself has an end, on several workers as well. */
static void item_cancel_ends_it(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 3);
	struct thing *thing = thing_make(test, 0, 0);
	u32 i, runs;

	thing->fn = queue_again;
	thing->again = U32_MAX;
	for (i = 0; i < 20; i++) {
		runs = READ_ONCE(thing->runs);
		KUNIT_EXPECT_EQ(test, queue(thing), 1);
		KUNIT_EXPECT_TRUE(test, DXK_SOON(READ_ONCE(thing->runs) > runs));
		KUNIT_EXPECT_GE(test, dxk_item_cancel_sync(ctx, &thing->item), 0);
		KUNIT_EXPECT_FALSE(test, dxk_item_pending(&thing->item));
		runs = READ_ONCE(thing->runs);
		KUNIT_EXPECT_TRUE(test, all_over(rig));
		KUNIT_EXPECT_EQ(test, READ_ONCE(thing->runs), runs);
	}
}

/* What was queued before is waited for, what is queued later is not. */
static void item_flush(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1);
	struct thing *held = gate(test), *thing = thing_make(test, 0, 0);
	struct dxk_errand *e[2];

	KUNIT_EXPECT_EQ(test, dxk_item_flush(ctx, &thing->item), 0);
	KUNIT_EXPECT_EQ(test, queue(thing), 1);
	e[0] = errand(thing, flush_errand);
	KUNIT_EXPECT_TRUE(test, waits(e[0], 1));
	e[1] = errand(held, flush_errand);
	KUNIT_EXPECT_TRUE(test, waits(e[1], 2));
	/* of the one that runs: it will run once more, and is waited for no longer */
	KUNIT_EXPECT_EQ(test, queue(held), 1);
	complete(&held->leave);
	dxk_rig_finished(e[0]);
	dxk_rig_finished(e[1]);
	KUNIT_EXPECT_EQ(test, e[0]->ret, 0);
	KUNIT_EXPECT_EQ(test, e[1]->ret, 0);
	KUNIT_EXPECT_EQ(test, thing->runs, 1);
	KUNIT_EXPECT_EQ(test, held->runs, 1);
	complete(&held->leave);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_EQ(test, held->runs, 2);
}

/* DX-107: Stop(cancel) tells of each that was not begun; Stop(drain) executes it. */
static void item_stop(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1);
	struct thing *held = gate(test), *thing[100];
	struct dxk_errand *e;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(thing); i++) {
		thing[i] = thing_make(test, 0, 0);
		KUNIT_ASSERT_EQ(test, queue(thing[i]), 1);
	}
	thing[99]->item.cancelled = NULL;
	e = dxk_rig_stopper(rig, DXK_STOP_CANCEL);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(!dxk_item_pending(&thing[99]->item)));
	complete(&held->leave);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, 0);
	for (i = 0; i < ARRAY_SIZE(thing); i++) {
		KUNIT_EXPECT_FALSE(test, dxk_item_pending(&thing[i]->item));
		KUNIT_EXPECT_EQ(test, thing[i]->runs, 0);
		KUNIT_EXPECT_EQ(test, thing[i]->cancels, i < 99);
	}
	KUNIT_EXPECT_EQ(test, held->cancels, 0);
	KUNIT_EXPECT_EQ(test, held->runs, 1);

	KUNIT_ASSERT_EQ(test, dxk_ctx_start(ctx), 0);
	KUNIT_EXPECT_EQ(test, queue(thing[0]), 1);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	KUNIT_EXPECT_EQ(test, thing[0]->runs, 1);
}

static void hold_cancelled(struct dxk_item *item)
{
	struct thing *thing = thing_of(item);

	complete(&thing->entered);
	while (!wait_for_completion_timeout(&thing->leave, HZ / 20))
		if (READ_ONCE(thing->rig->over))
			break;
	thing->cancels++;
}

/* Who may free it waits for whoever tells it of its end. */
static void item_told(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct thing *held, *thing;
	struct dxk_errand *stop, *e;

	start(test, 1);
	held = gate(test);
	thing = thing_make(test, 0, 0);
	thing->item.cancelled = hold_cancelled;
	KUNIT_EXPECT_EQ(test, queue(thing), 1);
	stop = dxk_rig_stopper(rig, DXK_STOP_CANCEL);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&thing->entered,
							     msecs_to_jiffies(DXK_RIG_MS)));
	KUNIT_EXPECT_FALSE(test, dxk_item_pending(&thing->item));
	e = errand(thing, cancel_errand);
	KUNIT_EXPECT_TRUE(test, waits(e, 1));
	complete(&thing->leave);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, 0);
	KUNIT_EXPECT_EQ(test, thing->cancels, 1);
	complete(&held->leave);
	dxk_rig_finished(stop);
}

static void wait_for_child(struct thing *thing, struct dxk_call *call)
{
	struct thing *child = thing + 1;
	u32 answer = 0;

	/* what an item cannot do */
	thing->ret = dxk_call_wait(call, &(struct dxk_wait){ .wait = DXK_WAIT_CALL }) ==
		     -EOPNOTSUPP ? 0 : 1;
	if (dxk_item_queue(call->self, &child->item) != 1 ||
	    dxk_rejoin(call->self, OWNER + 1, thing->rig->answer, 1, 1,
		       dxk_in_ms(DXK_RIG_MS), &answer) || answer != RJR_NONE_EXIST)
		thing->ret = 2;
}

static void child_fn(struct dxk_item *item, struct dxk_call *call)
{
	thing_fn(item, call);
}

/* A worker that helps while it waits in an item has two of them, and each is waited for. */
static void item_nested(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct thing *pair = kunit_kzalloc(test, 2 * sizeof(*pair), GFP_KERNEL);
	struct dxk_errand *e[2];
	struct dxk_policy p;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, pair);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, dxk_item_init(&pair[i].item, i ? child_fn : thing_fn,
						    OWNER + i, 0, i ? 0 : PXR_LANE2), 0);
		pair[i].rig = rig;
		init_completion(&pair[i].entered);
		init_completion(&pair[i].leave);
	}
	pair[0].fn = wait_for_child;
	pair[1].gated = true;
	dxk_rig_policy(test, &p, 1);
	p.on_block = DXK_ON_BLOCK_HELP;
	dxk_rig_start(rig, &p);
	KUNIT_EXPECT_EQ(test, queue(&pair[0]), 1);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&pair[1].entered,
							     msecs_to_jiffies(DXK_RIG_MS)));
	e[0] = errand(&pair[0], flush_errand);
	KUNIT_EXPECT_TRUE(test, waits(e[0], 1));
	e[1] = errand(&pair[1], cancel_errand);
	KUNIT_EXPECT_TRUE(test, waits(e[1], 2));
	complete(&pair[1].leave);
	dxk_rig_finished(e[0]);
	dxk_rig_finished(e[1]);
	KUNIT_EXPECT_EQ(test, e[0]->ret, 0);
	KUNIT_EXPECT_EQ(test, e[1]->ret, 0);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_EQ(test, pair[0].ret, 0);
	KUNIT_EXPECT_EQ(test, pair[0].runs, 1);
	KUNIT_EXPECT_EQ(test, pair[1].runs, 1);
	KUNIT_EXPECT_EQ(test, rig->ctx[0]->engine.stats.helps, 1);
}

/* DX-46: a lane or a kind that the policy closes ends what is Ready, and tells. */
static void item_closed_out(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct thing *thing;
	struct dxk_policy p;
	struct dxk_ctx *ctx;
	struct thing *held;

	dxk_rig_policy(test, &p, 2);
	p.sched_mode = TPOOL_MODE_CMLS;
	p.lane_pct[1] = 50;
	ctx = dxk_rig_start(rig, &p);
	thing = thing_make(test, 0, PXR_LANE0);
	KUNIT_EXPECT_EQ(test, queue(thing), -EPERM);
	held = thing_make(test, 0, PXR_LANE1);
	held->gated = true;
	KUNIT_EXPECT_EQ(test, queue(held), 1);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&held->entered,
							     msecs_to_jiffies(DXK_RIG_MS)));
	/* one worker is lane 3's own */
	thing = thing_make(test, 0, PXR_LANE1);
	KUNIT_EXPECT_EQ(test, queue(thing), 1);
	p.lane_pct[1] = 0;
	KUNIT_EXPECT_EQ(test, dxk_ctx_set_policy(ctx, &p), 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(!dxk_item_pending(&thing->item)));
	KUNIT_EXPECT_TRUE(test, DXK_SOON(READ_ONCE(thing->cancels) == 1));
	complete(&held->leave);
	KUNIT_EXPECT_TRUE(test, all_over(rig));
	KUNIT_EXPECT_EQ(test, thing->runs, 0);
}

#define MODES(fn)	KUNIT_CASE_PARAM(fn, mode_gen_params)

KUNIT_ARRAY_PARAM(mode, dxk_rig_modes, dxk_rig_mode_name);

static struct kunit_case item_cases[] = {
	MODES(item_runs),
	KUNIT_CASE(item_order),
	MODES(item_queues_itself),
	KUNIT_CASE(item_frees_itself),
	KUNIT_CASE(item_refused),
	MODES(item_waits_for_room),
	MODES(item_cancel),
	KUNIT_CASE(item_cancels_itself),
	MODES(item_cancel_ends_it),
	KUNIT_CASE(item_flush),
	MODES(item_stop),
	KUNIT_CASE(item_told),
	MODES(item_nested),
	KUNIT_CASE(item_closed_out),
	{ }
};

static struct kunit_suite item_suite = {
	.name = "dxk_item",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = item_cases,
};

kunit_test_suite(item_suite);
