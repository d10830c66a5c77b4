// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxk in the kernel: one request after the other, many at once, many owners.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "bench.h"

struct dxk_ctx *bench_ctx;
struct dxk_member *bench_client;

static u64 nop, count;
static struct dxk_request reqs[BATCH];
static struct dxk_answer answers[BATCH];

/* --- a context ------------------------------------------------------------------ */

int bench_ctx_open(u32 ops, u32 workers, void (*change)(struct dxk_policy *policy))
{
	u32 room = max(roundup_pow_of_two(ops), 1024UL);
	struct dxk_policy policy;
	int err;

	bench_ctx = dxk_ctx_create();
	if (IS_ERR(bench_ctx))
		return PTR_ERR(bench_ctx);
	dxk_policy_init(&policy);
	policy.max_threads = max(workers, 1U);
	policy.kernel_threads = workers;
	policy.ready_entries = room;
	policy.rejoin_entries = room;
	/* as the rivals have their items before */
	policy.prealloc_requests = room;
	policy.max_requests = max(2 * room, 65536U);
	if (change)
		change(&policy);
	err = dxk_ctx_set_policy(bench_ctx, &policy);
	if (err)
		goto err_destroy;
	err = dxk_ctx_start(bench_ctx);
	if (err)
		goto err_destroy;
	bench_client = dxk_client_create(bench_ctx);
	err = PTR_ERR_OR_ZERO(bench_client);
	if (err)
		goto err_destroy;
	return 0;

err_destroy:
	dxk_ctx_destroy(bench_ctx);
	return err;
}

void bench_ctx_close(void)
{
	dxk_client_destroy(bench_client);
	dxk_ctx_destroy(bench_ctx);
}

int bench_post(const struct dxk_request *some, u32 nr)
{
	int ret = dxk_post(bench_client, some, nr, 0, NULL);

	if (ret < 0)
		return ret;
	return ret == nr ? 0 : -ENOSPC;
}

int bench_rejoin(u64 owner, u32 nr)
{
	u32 answer;
	int ret = dxk_rejoin(bench_client, owner, answers, nr, nr, DXK_FOREVER, &answer);

	if (ret < 0)
		return ret;
	return ret == nr ? 0 : -EIO;
}

/* --- executors -------------------------------------------------------------------- */

static s32 count_execute(struct dxk_call *call)
{
	one_done();
	return 0;
}

static struct dxk_executor count_executor = {
	.name = "bench_count",
	.owner = THIS_MODULE,
	.execute_this_request = count_execute,
};

/* Each turn ends with a wait for the next call, until the context goes. */
static s32 wait_execute(struct dxk_call *call)
{
	static const struct dxk_wait wait = { .wait = DXK_WAIT_CALL };

	if (call->wake != DXK_WAKE_CALL)
		return 0;
	one_done();
	return dxk_call_wait(call, &wait);
}

static struct dxk_executor wait_executor = {
	.name = "bench_wait",
	.owner = THIS_MODULE,
	.execute_this_request = wait_execute,
};

struct dxk_executor *dxk_executors[] = { &count_executor, &wait_executor, NULL };

/* --- one, 64, all ----------------------------------------------------------------- */

static int find(void)
{
	int err = dxk_executor_find("nop", &nop);

	return err ?: dxk_executor_find("bench_count", &count);
}

static u32 dispatch;

static void with_dispatch(struct dxk_policy *policy)
{
	policy->dispatch = dispatch;
}

/* A batch of requests that are all alike. */
static void batch_of(u64 executor, u32 attrs)
{
	u32 i;

	for (i = 0; i < BATCH; i++)
		reqs[i] = (struct dxk_request) {
			.owner = OWNER,
			.executor = executor,
			.attrs = PXR_KERNEL | attrs,
		};
}

static int plain_setup(u32 ops, u32 mode)
{
	int err = find();

	if (err)
		return err;
	batch_of(nop, PXR_REJOIN);
	dispatch = mode;
	return bench_ctx_open(ops, 1, with_dispatch);
}

static int batches(u32 ops, u32 batch)
{
	int err = 0;

	while (ops && !err) {
		u32 nr = min(ops, batch);

		err = bench_post(reqs, nr) ?: bench_rejoin(OWNER, nr);
		ops -= nr;
	}
	return err;
}

static int trips_run(u32 ops)
{
	return batches(ops, 1);
}

static int by_64_run(u32 ops)
{
	return batches(ops, BATCH);
}

static int post_all(u32 ops)
{
	int err = 0;

	for (; ops && !err; ops -= min_t(u32, ops, BATCH))
		err = bench_post(reqs, min_t(u32, ops, BATCH));
	return err;
}

/* All posted before the first is collected. */
static int bulk_run(u32 ops)
{
	int err = post_all(ops);

	for (; ops && !err; ops -= min_t(u32, ops, BATCH))
		err = bench_rejoin(OWNER, min_t(u32, ops, BATCH));
	return err;
}

/* One priority and no rejoin: the executor counts, as the rivals' functions do. */
static int count_setup(u32 ops, u32 mode)
{
	int err = plain_setup(ops, mode);

	batch_of(count, 0);
	return err;
}

static int count_run(u32 ops)
{
	all_expect(ops);
	return post_all(ops) ?: all_wait();
}

static void with_keys(struct dxk_policy *policy)
{
	policy->max_waiting = policy->max_requests;
}

/* The same, one at a time: of one key, or each of a batch of another one. */
static int keys_setup(u32 ops, u32 keys)
{
	u32 i;
	int err = find();

	if (err)
		return err;
	batch_of(count, PXR_KEY);
	for (i = 0; i < BATCH; i++)
		reqs[i].key = i % keys;
	return bench_ctx_open(ops, 1, with_keys);
}

/* Eight priorities, ageing, three lanes, an owner. */
static void with_all(struct dxk_policy *policy)
{
	policy->sched_mode = TPOOL_MODE_CMLS;
	policy->lane_pct[1] = 20;
	policy->lane_pct[2] = 60;
	policy->prio_policy = PRIO_POLICY_AGERQS;
}

static int all_setup(u32 ops, u32 unused)
{
	static const u32 lane[] = { 0, PXR_LANE2, 0, PXR_LANE2, 0, PXR_LANE2, 0, PXR_LANE1 };
	u32 i;
	int err = find();

	if (err)
		return err;
	for (i = 0; i < BATCH; i++)
		reqs[i] = (struct dxk_request) {
			.owner = OWNER,
			.executor = nop,
			.prio = i * 5 % 8,
			.attrs = PXR_KERNEL | PXR_REJOIN | lane[i % 8],
		};
	return bench_ctx_open(ops, 3, with_all);
}

/* --- items ---------------------------------------------------------------------- */

/* As the rivals': made before, one for each request; who queues waits for a completion. */
static struct dxk_item *items;

static void item_fn(struct dxk_item *item, struct dxk_call *call)
{
	one_done();
}

static int items_make(u32 ops, bool all)
{
	static const u32 lane[] = { 0, PXR_LANE2, 0, PXR_LANE2, 0, PXR_LANE2, 0, PXR_LANE1 };
	u32 i;

	items = kvcalloc(ops, sizeof(*items), GFP_KERNEL);
	if (!items)
		return -ENOMEM;
	for (i = 0; i < ops; i++)
		dxk_item_init(&items[i], item_fn, OWNER, all ? i * 5 % 8 : 0,
			      all ? lane[i % 8] : 0);
	return 0;
}

static int items_setup(u32 ops, u32 all)
{
	int err = items_make(ops, all);

	if (err)
		return err;
	err = all ? bench_ctx_open(ops, 3, with_all) : bench_ctx_open(ops, 1, NULL);
	if (err)
		kvfree(items);
	return err;
}

static void items_teardown(void)
{
	bench_ctx_close();
	kvfree(items);
}

static int items_batches(u32 ops, u32 batch)
{
	u32 i;

	while (ops) {
		u32 nr = min(ops, batch);

		all_expect(nr);
		for (i = 0; i < nr; i++)
			if (dxk_item_queue(bench_client, &items[i]) != 1)
				return -ENOSPC;
		all_wait();
		ops -= nr;
	}
	return 0;
}

static int items_trips(u32 ops)
{
	return items_batches(ops, 1);
}

static int items_by_64(u32 ops)
{
	return items_batches(ops, BATCH);
}

static int items_bulk(u32 ops)
{
	return items_batches(ops, ops);
}

/* --- requests that wait ----------------------------------------------------------- */

static void with_waits(struct dxk_policy *policy)
{
	policy->max_waiting = BATCH;
}

static int waits_setup(u32 ops, u32 unused)
{
	u64 executor;
	u32 i;
	int err = dxk_executor_find("bench_wait", &executor);

	if (err)
		return err;
	for (i = 0; i < BATCH; i++)
		reqs[i] = (struct dxk_request) {
			.owner = OWNER,
			.executor = executor,
			.attrs = PXR_KERNEL | PXR_NAMED | PXR_WAIT,
			.name = 1 + i,
			.wait.wait = DXK_WAIT_CALL,
		};
	err = bench_ctx_open(ops, 1, with_waits);
	if (err)
		return err;
	err = bench_post(reqs, BATCH);
	if (err)
		bench_ctx_close();
	return err;
}

/* Each call is a turn, which ends with a wait for the next one. */
static int waits_run(u32 ops)
{
	u32 i;
	int err = 0;

	while (ops && !err) {
		u32 nr = min_t(u32, ops, BATCH);

		all_expect(nr);
		for (i = 0; i < nr && !err; i++)
			err = dxk_wake(bench_client, 1 + i);
		if (!err)
			all_wait();
		ops -= nr;
	}
	return err;
}

/* --- owners ------------------------------------------------------------------------ */

/* Owners in turn; each result is collected by a call of its own. */
static int owners_run(u32 ops, u32 owners, u64 *posted)
{
	u32 i, j;
	int err = 0;

	for (i = 0; i < ops && !err; i += BATCH) {
		for (j = 0; j < BATCH; j++)
			reqs[j].owner = (i + j) % owners;
		err = bench_post(reqs, min_t(u32, ops - i, BATCH));
	}
	*posted = ktime_get_ns();
	for (i = 0; i < ops && !err; i++)
		err = bench_rejoin(i % owners, 1);
	return err;
}

/* @first: the context has never had as many owners */
static int owners_do(struct seq_file *m, u32 ops, u32 owners, bool first)
{
	u64 start, posted, end;
	int err = plain_setup(ops, DXK_DISPATCH_DIRECT);

	if (err)
		return err;
	if (!first)
		err = owners_run(ops, owners, &posted);
	bench_begin();
	start = ktime_get_ns();
	if (!err)
		err = owners_run(ops, owners, &posted);
	end = ktime_get_ns();
	bench_end();
	bench_ctx_close();
	if (!err)
		seq_printf(m, "ops %u\nns %llu\npost %llu\nrejoin %llu\n", ops,
			   end - start, (posted - start) / ops, (end - posted) / ops);
	return err;
}

static int owners_show(struct seq_file *m, u32 ops, u32 owners)
{
	return owners_do(m, ops, owners, false);
}

static int owners_first_show(struct seq_file *m, u32 ops, u32 owners)
{
	return owners_do(m, ops, owners, true);
}

#define DIRECT	DXK_DISPATCH_DIRECT
#define THREAD	DXK_DISPATCH_THREAD

const struct bench dxk_benches[] = {
	{ "dxk_trip", plain_setup, trips_run, bench_ctx_close, DIRECT },
	{ "dxk_trip_thread", plain_setup, trips_run, bench_ctx_close, THREAD },
	{ "dxk_by_64", plain_setup, by_64_run, bench_ctx_close, DIRECT },
	{ "dxk_by_64_thread", plain_setup, by_64_run, bench_ctx_close, THREAD },
	{ "dxk_bulk", plain_setup, bulk_run, bench_ctx_close, DIRECT, 20000 },
	{ "dxk_count", count_setup, count_run, bench_ctx_close, DIRECT, 20000 },
	{ "dxk_key", keys_setup, count_run, bench_ctx_close, 1, 20000 },
	{ "dxk_keys", keys_setup, count_run, bench_ctx_close, BATCH, 20000 },
	{ "dxk_all", all_setup, bulk_run, bench_ctx_close, 0, 20000 },
	{ "dxk_item_trip", items_setup, items_trips, items_teardown, false },
	{ "dxk_item_by_64", items_setup, items_by_64, items_teardown, false },
	{ "dxk_item_count", items_setup, items_bulk, items_teardown, false, 20000 },
	{ "dxk_item_all", items_setup, items_bulk, items_teardown, true, 20000 },
	{ "dxk_wait", waits_setup, waits_run, bench_ctx_close, 0 },
	{ "dxk_owners", .show = owners_show },
	{ "dxk_owners_first", .show = owners_first_show },
	{ }
};
