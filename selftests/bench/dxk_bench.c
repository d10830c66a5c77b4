// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxk_bench: what a request costs a client in the kernel, and what the kernel's
 * own ways to have work done by another thread cost it.
 *
 * Each measurement is a file in /sys/kernel/debug/dxk_bench. Reading it sets the
 * measurement up, warms it up, runs it once and gives "OPS NANOSECONDS"; the
 * program bench makes rounds of that and the statistics.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "../../dxk/dxk_api.h"

#define TRIPS	1000		/* one after the other */
#define BULK	100000
#define BATCH	DXK_BATCH_MAX
#define OWNER	1

/**
 * struct bench - one measurement
 * @name: its file
 * @setup: before each run, with @arg; may be %NULL
 * @run: do @ops of it; the only part that is timed
 * @teardown: after each run
 * @ops: how many
 * @arg: for @setup
 */
struct bench {
	const char *name;
	int (*setup)(u32 arg);
	int (*run)(u32 ops);
	void (*teardown)(void);
	u32 ops;
	u32 arg;
};

/* One measurement at a time: they share what follows. */
static DEFINE_MUTEX(bench_lock);

/* --- dxk ------------------------------------------------------------------- */

static struct dxk_ctx *ctx;
static struct dxk_member *client;
static u64 nop;
static struct dxk_request reqs[BATCH];
static struct dxk_answer answers[BATCH];

static int dxk_setup(u32 mode)
{
	struct dxk_policy policy;
	u32 i;
	int err;

	err = dxk_executor_find("nop", &nop);
	if (err)
		return err;
	for (i = 0; i < BATCH; i++)
		reqs[i] = (struct dxk_request) {
			.owner = OWNER,
			.executor = nop,
			.attrs = PXR_KERNEL | PXR_REJOIN,
		};

	ctx = dxk_ctx_create();
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	dxk_policy_init(&policy);
	policy.max_threads = 1;
	policy.kernel_threads = 1;
	policy.ready_entries = 1 << 17;
	policy.rejoin_entries = 1 << 17;
	policy.max_requests = 1 << 18;
	policy.dispatch = mode;
	err = dxk_ctx_set_policy(ctx, &policy);
	if (err)
		goto err_destroy;
	err = dxk_ctx_start(ctx);
	if (err)
		goto err_destroy;
	client = dxk_client_create(ctx);
	err = PTR_ERR_OR_ZERO(client);
	if (err)
		goto err_destroy;
	return 0;

err_destroy:
	dxk_ctx_destroy(ctx);
	return err;
}

static void dxk_teardown(void)
{
	dxk_client_destroy(client);
	dxk_ctx_destroy(ctx);
}

static int dxk_post_some(u32 nr)
{
	int ret = dxk_post(client, reqs, nr, 0, NULL);

	if (ret < 0)
		return ret;
	return ret == nr ? 0 : -ENOSPC;
}

static int dxk_rejoin_some(u32 nr)
{
	u32 answer;
	int ret = dxk_rejoin(client, OWNER, answers, nr, nr, DXK_FOREVER, &answer);

	if (ret < 0)
		return ret;
	return ret == nr ? 0 : -EIO;
}

static int dxk_batches(u32 ops, u32 batch)
{
	int err = 0;

	while (ops && !err) {
		u32 nr = min(ops, batch);

		err = dxk_post_some(nr);
		if (!err)
			err = dxk_rejoin_some(nr);
		ops -= nr;
	}
	return err;
}

static int dxk_trips(u32 ops)
{
	return dxk_batches(ops, 1);
}

static int dxk_by_64(u32 ops)
{
	return dxk_batches(ops, BATCH);
}

/* All posted before the first is collected. */
static int dxk_bulk(u32 ops)
{
	u32 left;
	int err = 0;

	for (left = ops; left && !err; left -= min_t(u32, left, BATCH))
		err = dxk_post_some(min_t(u32, left, BATCH));
	for (left = ops; left && !err; left -= min_t(u32, left, BATCH))
		err = dxk_rejoin_some(min_t(u32, left, BATCH));
	return err;
}

/* --- rivals ---------------------------------------------------------------- */

static DECLARE_COMPLETION(all_done);
static atomic_t to_do;

static void one_done(void)
{
	if (atomic_dec_and_test(&to_do))
		complete(&all_done);
}

static struct workqueue_struct *wq;
static struct work_struct *works;

static void wq_fn(struct work_struct *work)
{
	one_done();
}

static int wq_setup(u32 flags)
{
	u32 i;

	works = kvcalloc(BULK, sizeof(*works), GFP_KERNEL);
	if (!works)
		return -ENOMEM;
	for (i = 0; i < BULK; i++)
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

		atomic_set(&to_do, nr);
		for (i = 0; i < nr; i++)
			queue_work(wq, &works[i]);
		wait_for_completion(&all_done);
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

static struct kthread_worker *kworker;
static struct kthread_work *kworks;

static void kw_fn(struct kthread_work *work)
{
	one_done();
}

static int kw_setup(u32 unused)
{
	u32 i;

	kworks = kvcalloc(BULK, sizeof(*kworks), GFP_KERNEL);
	if (!kworks)
		return -ENOMEM;
	for (i = 0; i < BULK; i++)
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

		atomic_set(&to_do, nr);
		for (i = 0; i < nr; i++)
			kthread_queue_work(kworker, &kworks[i]);
		wait_for_completion(&all_done);
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

/* --- yardsticks ------------------------------------------------------------ */

static int alloc_loop(u32 ops, gfp_t gfp)
{
	while (ops--) {
		void *p = kmalloc(64, gfp);

		if (!p)
			return -ENOMEM;
		/* Keep the compiler from leaving out the pair. */
		OPTIMIZER_HIDE_VAR(p);
		kfree(p);
	}
	return 0;
}

static int alloc_run(u32 ops)
{
	return alloc_loop(ops, GFP_KERNEL);
}

static int alloc_account_run(u32 ops)
{
	return alloc_loop(ops, GFP_KERNEL_ACCOUNT);
}

static int spinlock_run(u32 ops)
{
	static DEFINE_SPINLOCK(lock);

	while (ops--) {
		spin_lock(&lock);
		spin_unlock(&lock);
	}
	return 0;
}

/* --- files ----------------------------------------------------------------- */

#define DXK_BENCH(_name, _mode)							\
	{ "dxk_trip_" _name, dxk_setup, dxk_trips, dxk_teardown, TRIPS, _mode },	\
	{ "dxk_by_64_" _name, dxk_setup, dxk_by_64, dxk_teardown, BULK, _mode },	\
	{ "dxk_bulk_" _name, dxk_setup, dxk_bulk, dxk_teardown, BULK, _mode }

static const struct bench benches[] = {
	DXK_BENCH("direct", DXK_DISPATCH_DIRECT),
	DXK_BENCH("thread", DXK_DISPATCH_THREAD),
	{ "wq_trip", wq_setup, wq_trips, wq_teardown, TRIPS, WQ_UNBOUND },
	{ "wq_by_64", wq_setup, wq_by_64, wq_teardown, BULK, WQ_UNBOUND },
	{ "wq_bulk", wq_setup, wq_bulk, wq_teardown, BULK, WQ_UNBOUND },
	{ "kw_trip", kw_setup, kw_trips, kw_teardown, TRIPS, 0 },
	{ "kw_by_64", kw_setup, kw_by_64, kw_teardown, BULK, 0 },
	{ "kw_bulk", kw_setup, kw_bulk, kw_teardown, BULK, 0 },
	{ "kmalloc", NULL, alloc_run, NULL, TRIPS, 0 },
	{ "kmalloc_account", NULL, alloc_account_run, NULL, TRIPS, 0 },
	{ "spinlock", NULL, spinlock_run, NULL, TRIPS, 0 },
};

static int bench_one(const struct bench *b, u64 *ns)
{
	u64 start;
	int err = 0;

	if (b->setup)
		err = b->setup(b->arg);
	if (err)
		return err;
	err = b->run(max(b->ops / 10, 1U));
	if (!err) {
		start = ktime_get_ns();
		err = b->run(b->ops);
		*ns = ktime_get_ns() - start;
	}
	if (b->teardown)
		b->teardown();
	return err;
}

static int bench_show(struct seq_file *m, void *v)
{
	const struct bench *b = m->private;
	u64 ns;
	int err;

	if (mutex_lock_interruptible(&bench_lock))
		return -ERESTARTSYS;
	err = bench_one(b, &ns);
	mutex_unlock(&bench_lock);
	if (err)
		return err;
	seq_printf(m, "%u %llu\n", b->ops, ns);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(bench);

static struct dentry *bench_dir;

static int __init bench_init(void)
{
	u32 i;

	bench_dir = debugfs_create_dir("dxk_bench", NULL);
	for (i = 0; i < ARRAY_SIZE(benches); i++)
		debugfs_create_file(benches[i].name, 0400, bench_dir,
				    (void *)&benches[i], &bench_fops);
	return 0;
}

static void __exit bench_exit(void)
{
	debugfs_remove_recursive(bench_dir);
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Measurements of dxk and of its rivals in the kernel");
MODULE_LICENSE("GPL");
