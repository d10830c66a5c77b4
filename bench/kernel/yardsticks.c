// SPDX-License-Identifier: GPL-2.0-only
/*
 * What everything is made of: memory, a lock; and how large others' items are.
 */
#include <linux/kthread.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "bench.h"

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

static int work_size_show(struct seq_file *m, u32 ops, u32 arg)
{
	seq_printf(m, "value %zu\n", sizeof(struct work_struct));
	return 0;
}

const struct bench yardsticks[] = {
	{ "kmalloc", .run = alloc_run },
	{ "kmalloc_account", .run = alloc_account_run },
	{ "spinlock", .run = spinlock_run },
	{ "work_struct", .show = work_size_show },
	{ }
};
