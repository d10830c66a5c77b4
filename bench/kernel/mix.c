// SPDX-License-Identifier: GPL-2.0-only
/*
 * Short requests among long ones: how long the short ones wait for their start. The
 * three-level hierarchy on a workqueue.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/workqueue.h>

#include "bench.h"

#define SHORT		10000	/* instructions */
#define LONG		1000000
#define ONE_OF		50	/* is a long one, by chance */
#define GAP_MAX		80000	/* between two posts, 40000 on average: 74 % busy */

static u64 *posted, *waited;
static bool *is_long;
static u32 nr_short;

static void spin(u32 instructions)
{
	u32 i;

	/* two instructions a turn */
	for (i = 0; i < instructions / 2; i++)
		barrier();
}

static void execute(u32 i)
{
	if (is_long[i]) {
		spin(LONG);
	} else {
		waited[i] = ktime_get_ns() - posted[i];
		spin(SHORT);
	}
	one_done();
}

static s32 mix_execute(struct dxk_call *call)
{
	execute(call->param);
	return 0;
}

static struct dxk_executor mix_executor = {
	.name = "bench_mix",
	.owner = THIS_MODULE,
	.execute_this_request = mix_execute,
};

static int by_value(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The same for all: Park and Miller's numbers. */
static u32 chance(u32 *seed, u32 below)
{
	*seed = (u64)*seed * 48271 % 2147483647;
	return *seed % below;
}

static int mix_rounds(struct seq_file *m, u32 ops, int (*post)(u32 i))
{
	u32 i, seed = 20260101;
	ktime_t next;
	int err = 0;

	posted = kvcalloc(ops, sizeof(*posted), GFP_KERNEL);
	waited = kvcalloc(ops, sizeof(*waited), GFP_KERNEL);
	is_long = kvcalloc(ops, sizeof(*is_long), GFP_KERNEL);
	if (!posted || !waited || !is_long) {
		err = -ENOMEM;
		goto out;
	}
	for (i = 0; i < ops; i++)
		is_long[i] = !chance(&seed, ONE_OF);
	all_expect(ops);
	/* Else it is the client who waits, for the CPU. */
	sched_set_fifo(current);
	bench_begin();
	next = ktime_get();
	for (i = 0; i < ops && !err; i++) {
		next = ktime_add_ns(next, chance(&seed, GAP_MAX));
		while (ktime_before(ktime_get(), next)) {
			set_current_state(TASK_UNINTERRUPTIBLE);
			schedule_hrtimeout(&next, HRTIMER_MODE_ABS);
		}
		/* who is late posts at once, and the wait counts from its time */
		posted[i] = ktime_to_ns(next);
		err = post(i);
	}
	err = err ?: all_wait();
	bench_end();
	sched_set_normal(current, 0);
	for (i = nr_short = 0; i < ops; i++)
		if (!is_long[i])
			waited[nr_short++] = waited[i];
	sort(waited, nr_short, sizeof(*waited), by_value, NULL);
	if (!err)
		seq_printf(m, "value %llu\nmedian %llu\nmost %llu\n",
			   waited[nr_short * 99 / 100], waited[nr_short / 2],
			   waited[nr_short - 1]);
out:
	kvfree(posted);
	kvfree(waited);
	kvfree(is_long);
	return err;
}

/* --- dxk -------------------------------------------------------------------------------- */

static u64 mix_id;

/* Lane 2 for the long ones: they never hold all workers. */
static void with_lanes(struct dxk_policy *policy)
{
	policy->sched_mode = TPOOL_MODE_CMLS;
	policy->lane_pct[2] = 25;
}

static void without_lanes(struct dxk_policy *policy)
{
}

static int dxk_mix_post(u32 i)
{
	struct dxk_request req = {
		.owner = OWNER,
		.executor = mix_id,
		.param = i,
		.prio = is_long[i] ? 0 : 10,
		.attrs = PXR_KERNEL | (is_long[i] ? PXR_LANE2 : 0),
	};

	return bench_post(&req, 1);
}

/* @arg: how many workers; only with several is there a lane for long ones */
static int dxk_mix_show(struct seq_file *m, u32 ops, u32 workers)
{
	int err = dxk_executor_find("bench_mix", &mix_id);

	err = err ?: bench_ctx_open(4 * ops, workers,
				    workers > 1 ? with_lanes : without_lanes);
	if (err)
		return err;
	err = mix_rounds(m, ops, dxk_mix_post);
	bench_ctx_close();
	return err;
}

/* --- workqueue --------------------------------------------------------------------------- */

struct item {
	struct work_struct work;
	u32 i;
};

static struct item *items;
static struct workqueue_struct *wq;

static void mix_fn(struct work_struct *work)
{
	execute(container_of(work, struct item, work)->i);
}

static int wq_mix_post(u32 i)
{
	queue_work(wq, &items[i].work);
	return 0;
}

/* @arg: max_active, 0 for the default */
static int wq_mix_show(struct seq_file *m, u32 ops, u32 arg)
{
	u32 i;
	int err = -ENOMEM;

	items = kvcalloc(ops, sizeof(*items), GFP_KERNEL);
	wq = alloc_workqueue("dxk_bench", WQ_UNBOUND, arg);
	if (!items || !wq)
		goto out;
	for (i = 0; i < ops; i++) {
		INIT_WORK(&items[i].work, mix_fn);
		items[i].i = i;
	}
	err = mix_rounds(m, ops, wq_mix_post);
out:
	if (wq)
		destroy_workqueue(wq);
	kvfree(items);
	return err;
}

/* --- three levels on a workqueue ---------------------------------------------------------- */

static const u32 children[] = { 20, 20, 5 };	/* of the program, of level 0, 1 */

struct node {
	struct work_struct work;
	struct node *parent;
	u32 level;
	atomic_t to_do;
};

static struct workqueue_struct *levels;
static DECLARE_WAIT_QUEUE_HEAD(level_wait);
static atomic_t executed;
static bool give_up;
static int before_given_up;

static void level_fn(struct work_struct *work);

static void node_children(struct node *n, u32 level)
{
	struct node *below = NULL;
	u32 i;

	if (level < ARRAY_SIZE(children))
		below = kcalloc(children[level], sizeof(*below), GFP_KERNEL);
	if (!below)
		return;
	atomic_set(&n->to_do, children[level]);
	for (i = 0; i < children[level]; i++) {
		INIT_WORK(&below[i].work, level_fn);
		below[i].parent = n;
		below[i].level = level;
		queue_work(levels, &below[i].work);
	}
	/* Given up: those that never started are cancelled. */
	wait_event_idle(level_wait, !atomic_read(&n->to_do) || READ_ONCE(give_up));
	for (i = 0; i < children[level]; i++)
		cancel_work_sync(&below[i].work);
	kfree(below);
}

static void level_fn(struct work_struct *work)
{
	struct node *n = container_of(work, struct node, work);

	/* a feeder reads something first */
	if (!n->level)
		usleep_range(1000, 1000);
	atomic_inc(&executed);
	if (!READ_ONCE(give_up))
		node_children(n, n->level + 1);
	atomic_dec(&n->parent->to_do);
	wake_up_all(&level_wait);
}

static struct node root;

static int last_executed;
static void watch_fn(struct work_struct *work);
static DECLARE_DELAYED_WORK(watch, watch_fn);

/* No request starts for 2 s: it stands still. */
static void watch_fn(struct work_struct *work)
{
	int n = atomic_read(&executed);

	if (n == last_executed) {
		before_given_up = n;
		WRITE_ONCE(give_up, true);
		wake_up_all(&level_wait);
		return;
	}
	last_executed = n;
	schedule_delayed_work(&watch, 2 * HZ);
}

static int wq_levels_show(struct seq_file *m, u32 ops, u32 arg)
{
	give_up = false;
	last_executed = -1;
	atomic_set(&executed, 0);
	levels = alloc_workqueue("dxk_bench_levels", WQ_UNBOUND, arg);
	if (!levels)
		return -ENOMEM;
	schedule_delayed_work(&watch, 2 * HZ);
	node_children(&root, 0);
	cancel_delayed_work_sync(&watch);
	seq_printf(m, "value %u\nstood_still %u\n",
		   give_up ? before_given_up : atomic_read(&executed), give_up);
	destroy_workqueue(levels);
	return 0;
}

struct dxk_executor *mix_executors[] = { &mix_executor, NULL };

const struct bench mix_benches[] = {
	{ "dxk_mix", .show = dxk_mix_show },
	{ "wq_mix", .show = wq_mix_show },
	{ "wq_levels", .show = wq_levels_show },
	{ }
};
