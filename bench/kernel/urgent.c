// SPDX-License-Identifier: GPL-2.0-only
/*
 * An urgent request among many, and one that is not urgent in an endless stream of
 * more urgent ones.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "bench.h"

#define WORKERS		4
#define URGENT		20	/* one after the other */
#define TOP		1000000	/* their priority */

static atomic_t started;
static u32 started_before;		/* lower ones, when the urgent one started */
static DECLARE_COMPLETION(urgent_started);
static DECLARE_COMPLETION(gate);

/* A short piece of work. */
static void work(void)
{
	u32 i;

	for (i = 0; i < 2000; i++)
		barrier();
}

static void lower_executes(void)
{
	atomic_inc(&started);
	work();
}

static void urgent_executes(void)
{
	started_before = atomic_read(&started);
	complete(&urgent_started);
}

/* --- dxk -------------------------------------------------------------------------- */

enum { LOWER, HIGHER, GATE };

static s32 urgent_execute(struct dxk_call *call)
{
	switch (call->param) {
	case LOWER:
		lower_executes();
		break;
	case HIGHER:
		urgent_executes();
		break;
	case GATE:
		wait_for_completion(&gate);
		break;
	}
	return 0;
}

static struct dxk_executor urgent_executor = {
	.name = "bench_urgent",
	.owner = THIS_MODULE,
	.execute_this_request = urgent_execute,
};

static int post_one(u32 param, s32 prio)
{
	struct dxk_request req = {
		.owner = OWNER,
		.param = param,
		.prio = prio,
		.attrs = PXR_KERNEL,
	};
	int err = dxk_executor_find("bench_urgent", &req.executor);

	return err ?: bench_post(&req, 1);
}

/* While the workers are held; then they run through what is there. */
static int dxk_fill(u32 ops)
{
	u32 i;
	int err = 0;

	for (i = 0; i < WORKERS && !err; i++)
		err = post_one(GATE, 0);
	for (i = 0; i < ops && !err; i++)
		err = post_one(LOWER, i % 1000);
	complete_all(&gate);
	return err;
}

static int dxk_urgent(void)
{
	return post_one(HIGHER, TOP);
}

/* --- workqueue --------------------------------------------------------------------- */

static struct workqueue_struct *low, *high;
static struct work_struct *works, urgent_work;

static void lower_fn(struct work_struct *w)
{
	lower_executes();
}

static void urgent_fn(struct work_struct *w)
{
	urgent_executes();
}

static int wq_open(u32 ops)
{
	u32 i;

	works = kvcalloc(ops, sizeof(*works), GFP_KERNEL);
	low = alloc_workqueue("dxk_bench_low", WQ_UNBOUND, WORKERS);
	high = alloc_workqueue("dxk_bench_high", WQ_UNBOUND | WQ_HIGHPRI, WORKERS);
	if (!works || !low || !high)
		return -ENOMEM;
	for (i = 0; i < ops; i++)
		INIT_WORK(&works[i], lower_fn);
	INIT_WORK(&urgent_work, urgent_fn);
	for (i = 0; i < ops; i++)
		queue_work(low, &works[i]);
	return 0;
}

static int wq_urgent(void)
{
	queue_work(high, &urgent_work);
	return 0;
}

static void wq_close(void)
{
	if (low)
		destroy_workqueue(low);
	if (high)
		destroy_workqueue(high);
	kvfree(works);
}

/* --- the measurement --------------------------------------------------------------- */

/* Most lower ones that started between the post and the start of an urgent one. */
static int urgent_rounds(struct seq_file *m, int (*post)(void))
{
	u32 i, before, most = 0, left = 0;
	u64 start, ns = 0;
	int err = 0;

	bench_begin();
	for (i = 0; i < URGENT && !err; i++) {
		usleep_range(100, 100);
		reinit_completion(&urgent_started);
		before = atomic_read(&started);
		start = ktime_get_ns();
		err = post();
		ns += ktime_get_ns() - start;
		if (err)
			break;
		wait_for_completion(&urgent_started);
		most = max(most, started_before - before);
		left = started_before;
	}
	bench_end();
	if (!err)
		seq_printf(m, "value %u\npost %llu\nbegun %u\n", most, ns / URGENT, left);
	return err;
}

static int dxk_urgent_show(struct seq_file *m, u32 ops, u32 arg)
{
	int err = bench_ctx_open(ops + WORKERS, WORKERS, NULL);

	if (err)
		return err;
	atomic_set(&started, 0);
	reinit_completion(&gate);
	err = dxk_fill(ops) ?: urgent_rounds(m, dxk_urgent);
	bench_ctx_close();
	return err;
}

static int wq_urgent_show(struct seq_file *m, u32 ops, u32 arg)
{
	int err;

	atomic_set(&started, 0);
	err = wq_open(ops) ?: urgent_rounds(m, wq_urgent);
	wq_close();
	return err;
}

/* --- ageing -------------------------------------------------------------------------- */

#define STREAMS		8
#define DIFFERENCE	10	/* of the priorities */
#define LIMIT		100000	/* more urgent ones, then it is given up */

static u64 stream_id;
static u32 streamed, streamed_before, stream_limit;
static bool stream_over;
static DECLARE_COMPLETION(stream_done);

/* Each more urgent one posts the next before it ends: there is always one. */
static s32 stream_execute(struct dxk_call *call)
{
	struct dxk_request next = {
		.owner = call->owner,
		.executor = stream_id,
		.param = HIGHER,
		.prio = DIFFERENCE,
		.attrs = PXR_KERNEL,
	};

	if (call->param == LOWER) {
		/* else it was given up */
		if (!READ_ONCE(stream_over))
			streamed_before = READ_ONCE(streamed);
		WRITE_ONCE(stream_over, true);
		complete(&stream_done);
		return 0;
	}
	work();
	WRITE_ONCE(streamed, streamed + 1);
	if (streamed == stream_limit) {
		WRITE_ONCE(stream_over, true);
		complete(&stream_done);
	}
	if (!READ_ONCE(stream_over) && dxk_post(call->self, &next, 1, 0, NULL) != 1)
		return -EIO;
	return 0;
}

static struct dxk_executor stream_executor = {
	.name = "bench_stream",
	.owner = THIS_MODULE,
	.execute_this_request = stream_execute,
};

static u32 ageing;

static void with_ageing(struct dxk_policy *policy)
{
	policy->prio_policy = ageing ? PRIO_POLICY_AGERQS : 0;
	policy->sched_interval_ms = 10;
}

/* @arg: with ageing */
static int dxk_ageing_show(struct seq_file *m, u32 ops, u32 arg)
{
	struct dxk_request req = { .owner = OWNER, .attrs = PXR_KERNEL };
	struct dxk_answer result;
	u32 answer, i, before;
	int err;

	ageing = arg;
	err = dxk_executor_find("bench_stream", &stream_id);
	if (err)
		return err;
	err = bench_ctx_open(ops, 1, with_ageing);
	if (err)
		return err;
	streamed = streamed_before = 0;
	stream_limit = LIMIT;
	stream_over = false;
	reinit_completion(&stream_done);
	req.executor = stream_id;
	req.param = HIGHER;
	req.prio = DIFFERENCE;
	for (i = 0; i < STREAMS && !err; i++)
		err = bench_post(&req, 1);
	usleep_range(1000, 1000);
	req.param = LOWER;
	req.prio = 0;
	req.owner = OWNER + 1;
	req.attrs |= PXR_REJOIN;
	before = READ_ONCE(streamed);
	err = err ?: bench_post(&req, 1);
	if (!err) {
		wait_for_completion(&stream_done);
		memset(&result, 0, sizeof(result));
		err = dxk_rejoin(bench_client, OWNER + 1, &result, 1, 1, DXK_FOREVER,
				 &answer);
	}
	if (err == 1)
		seq_printf(m, "value %u\nstarted %u\nintervals %u\n",
			   (streamed_before ?: streamed) - before, !!streamed_before,
			   result.inspect_count);
	bench_ctx_close();
	return err == 1 ? 0 : err ?: -EIO;
}

struct dxk_executor *urgent_executors[] = { &urgent_executor, &stream_executor, NULL };

const struct bench urgent_benches[] = {
	{ "dxk_urgent", .show = dxk_urgent_show },
	{ "wq_urgent", .show = wq_urgent_show },
	{ "dxk_ageing", .show = dxk_ageing_show },
	{ }
};
