// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workqueues and kthread_worker, with items that were made before; workqueues with such
 * that are made for each request, too.
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
	wq = alloc_workqueue("dxk_bench", flags, flags & __WQ_ORDERED ? 1 : 0);
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

/* --- workqueue, items made for each request ------------------------------------------ */

/*
 * As a driver does it that takes requests: they come, are executed and go. All are made
 * before the first one is queued, else the worker would preempt who queues them, which costs
 * twice as much as the memory.
 */
struct copied {
	struct work_struct work;
	struct dxk_request request;
};

static void copied_fn(struct work_struct *work)
{
	kfree(container_of(work, struct copied, work));
	one_done();
}

static struct copied **copies;

static int copied_setup(u32 ops, u32 flags)
{
	copies = kvcalloc(ops, sizeof(*copies), GFP_KERNEL);
	if (!copies)
		return -ENOMEM;
	wq = alloc_workqueue("dxk_bench", flags, flags & __WQ_ORDERED ? 1 : 0);
	if (!wq) {
		kvfree(copies);
		return -ENOMEM;
	}
	return 0;
}

static void copied_teardown(void)
{
	destroy_workqueue(wq);
	kvfree(copies);
}

static struct copied *copied_make(const struct dxk_request *request)
{
	struct copied *c = kmalloc(sizeof(*c), GFP_KERNEL);

	if (c) {
		INIT_WORK(&c->work, copied_fn);
		c->request = *request;
	}
	return c;
}

static int copied_batches(u32 ops, u32 batch)
{
	static const struct dxk_request request = { .owner = OWNER };
	u32 i;

	while (ops) {
		u32 nr = min(ops, batch);

		all_expect(nr);
		for (i = 0; i < nr; i++) {
			copies[i] = copied_make(&request);
			if (!copies[i])
				break;
		}
		if (i < nr) {
			while (i--)
				kfree(copies[i]);
			return -ENOMEM;
		}
		for (i = 0; i < nr; i++)
			queue_work(wq, &copies[i]->work);
		all_wait();
		ops -= nr;
	}
	return 0;
}

static int copied_by_64(u32 ops)
{
	return copied_batches(ops, BATCH);
}

static int copied_bulk(u32 ops)
{
	return copied_batches(ops, ops);
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
	{ "wq_copied_by_64", copied_setup, copied_by_64, copied_teardown, WQ_UNBOUND },
	{ "wq_copied_bulk", copied_setup, copied_bulk, copied_teardown, WQ_UNBOUND, 20000 },
	{ "wq_ordered", wq_setup, wq_bulk, wq_teardown, WQ_UNBOUND | __WQ_ORDERED, 20000 },
	{ "wq_ordered_copied", copied_setup, copied_bulk, copied_teardown,
	  WQ_UNBOUND | __WQ_ORDERED, 20000 },
	{ "wq_bound_trip", wq_setup, wq_trips, wq_teardown, 0 },
	{ "wq_bound_bulk", wq_setup, wq_bulk, wq_teardown, 0, 20000 },
	{ "kw_trip", kw_setup, kw_trips, kw_teardown, 0 },
	{ "kw_by_64", kw_setup, kw_by_64, kw_teardown, 0 },
	{ "kw_bulk", kw_setup, kw_bulk, kw_teardown, 0, 20000 },
	{ }
};
