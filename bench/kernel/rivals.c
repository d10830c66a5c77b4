// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workqueues and kthread_worker, with items that were made before.
 */
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "bench.h"

/* --- workqueue ---------------------------------------------------------------------- */

static struct workqueue_struct *wq;
static struct work_struct *works;

static void wq_fn(struct work_struct *work)
{
	one_done();
}

static int wq_setup(u32 ops, u32 flags)
{
	u32 i;

	works = kvcalloc(ops, sizeof(*works), GFP_KERNEL);
	if (!works)
		return -ENOMEM;
	for (i = 0; i < ops; i++)
		INIT_WORK(&works[i], wq_fn);
	wq = alloc_workqueue("dxk_bench", flags, 0);
	if (!wq) {
		kvfree(works);
		return -ENOMEM;
	}
	return 0;
}

static void wq_teardown(void)
{
	destroy_workqueue(wq);
	kvfree(works);
}

static int wq_batches(u32 ops, u32 batch)
{
	u32 i;

	while (ops) {
		u32 nr = min(ops, batch);

		all_expect(nr);
		for (i = 0; i < nr; i++)
			queue_work(wq, &works[i]);
		all_wait();
		ops -= nr;
	}
	return 0;
}

static int wq_trips(u32 ops)
{
	return wq_batches(ops, 1);
}

static int wq_by_64(u32 ops)
{
	return wq_batches(ops, BATCH);
}

static int wq_bulk(u32 ops)
{
	return wq_batches(ops, ops);
}

/* --- kthread_worker ----------------------------------------------------------------- */

static struct kthread_worker *kworker;
static struct kthread_work *kworks;

static void kw_fn(struct kthread_work *work)
{
	one_done();
}

static int kw_setup(u32 ops, u32 unused)
{
	u32 i;

	kworks = kvcalloc(ops, sizeof(*kworks), GFP_KERNEL);
	if (!kworks)
		return -ENOMEM;
	for (i = 0; i < ops; i++)
		kthread_init_work(&kworks[i], kw_fn);
	kworker = kthread_create_worker(0, "dxk_bench");
	if (IS_ERR(kworker)) {
		kvfree(kworks);
		return PTR_ERR(kworker);
	}
	/* Newer kernels do not wake it at its creation: it starts with its work. */
	wake_up_process(kworker->task);
	return 0;
}

static void kw_teardown(void)
{
	kthread_destroy_worker(kworker);
	kvfree(kworks);
}

static int kw_batches(u32 ops, u32 batch)
{
	u32 i;

	while (ops) {
		u32 nr = min(ops, batch);

		all_expect(nr);
		for (i = 0; i < nr; i++)
			kthread_queue_work(kworker, &kworks[i]);
		all_wait();
		ops -= nr;
	}
	return 0;
}

static int kw_trips(u32 ops)
{
	return kw_batches(ops, 1);
}

static int kw_by_64(u32 ops)
{
	return kw_batches(ops, BATCH);
}

static int kw_bulk(u32 ops)
{
	return kw_batches(ops, ops);
}

const struct bench rival_benches[] = {
	{ "wq_trip", wq_setup, wq_trips, wq_teardown, WQ_UNBOUND },
	{ "wq_by_64", wq_setup, wq_by_64, wq_teardown, WQ_UNBOUND },
	{ "wq_bulk", wq_setup, wq_bulk, wq_teardown, WQ_UNBOUND, 20000 },
	{ "wq_bound_trip", wq_setup, wq_trips, wq_teardown, 0 },
	{ "wq_bound_bulk", wq_setup, wq_bulk, wq_teardown, 0, 20000 },
	{ "kw_trip", kw_setup, kw_trips, kw_teardown, 0 },
	{ "kw_by_64", kw_setup, kw_by_64, kw_teardown, 0 },
	{ "kw_bulk", kw_setup, kw_bulk, kw_teardown, 0, 20000 },
	{ }
};
