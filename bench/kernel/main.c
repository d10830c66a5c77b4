// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxk_bench: what a request costs a client in the kernel, and what the kernel's
 * own ways to have work done by another thread cost it.
 *
 * Each measurement is a file in /sys/kernel/debug/dxk_bench. Reading it sets the
 * measurement up, warms it up, runs it once and gives lines "NAME NUMBER"; the
 * program bench makes rounds of that. Beside them lie "ops", how many requests the
 * next one takes, "arg", which is its own, and "profile". /dev/dxk_bench has an ioctl
 * that does nothing.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>

#include "../mark.h"
#include "bench.h"

u32 bench_arg;
bool bench_profile;
static u32 bench_ops = 1;

/* One measurement at a time: they share what is static. */
static DEFINE_MUTEX(bench_lock);

/* --- a number of requests that all have to be done ----------------------------- */

static DECLARE_COMPLETION(all_done);
static atomic_t to_do;

void all_expect(u32 nr)
{
	atomic_set(&to_do, nr);
}

void one_done(void)
{
	if (atomic_dec_and_test(&to_do))
		complete(&all_done);
}

int all_wait(void)
{
	wait_for_completion(&all_done);
	return 0;
}

/* --- files ------------------------------------------------------------------------ */

void bench_begin(void)
{
	if (bench_profile)
		MARK(MARK_BEGIN);
}

void bench_end(void)
{
	if (bench_profile)
		MARK(MARK_END);
}

/* How often the client went to sleep, and was taken off the CPU; in all. */
struct switches {
	unsigned long sleeps, preempted;
};

static int bench_timed(const struct bench *b, u32 *done, u64 *ns, struct switches *s)
{
	u64 start;
	int err = 0;

	if (b->setup)
		err = b->setup(bench_ops, b->arg);
	if (err)
		return err;
	err = b->run(max(bench_ops / 10, 1U));
	*s = (struct switches){ current->nvcsw, current->nivcsw };
	bench_begin();
	start = ktime_get_ns();
	for (*done = 0; !err && *done < max(b->least, bench_ops); *done += bench_ops)
		err = b->run(bench_ops);
	*ns = ktime_get_ns() - start;
	bench_end();
	s->sleeps = current->nvcsw - s->sleeps;
	s->preempted = current->nivcsw - s->preempted;
	if (b->teardown)
		b->teardown();
	return err;
}

static int bench_show(struct seq_file *m, void *v)
{
	const struct bench *b = m->private;
	struct switches s;
	u32 done;
	u64 ns;
	int err;

	if (mutex_lock_interruptible(&bench_lock))
		return -ERESTARTSYS;
	if (b->show) {
		err = b->show(m, bench_ops, bench_arg);
	} else {
		err = bench_timed(b, &done, &ns, &s);
		if (!err)
			seq_printf(m, "ops %u\nns %llu\nsleeps %lu\npreempted %lu\n",
				   done, ns, s.sleeps, s.preempted);
	}
	mutex_unlock(&bench_lock);
	return err;
}
DEFINE_SHOW_ATTRIBUTE(bench);

static long device_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return 0;
}

static const struct file_operations device_fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = device_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dxk_bench",
	.fops = &device_fops,
};

/* --- the parts --------------------------------------------------------------------- */

static struct dentry *bench_dir;

static const struct part {
	const struct bench *benches;
	struct dxk_executor **executors;
} parts[] = {
	{ dxk_benches, dxk_executors },
	{ urgent_benches, urgent_executors },
	{ mix_benches, mix_executors },
	{ rival_benches, NULL },
	{ yardsticks, NULL },
};

/* Those of a part, up to @end. */
static void part_unregister(const struct part *p, struct dxk_executor **end)
{
	struct dxk_executor **e;

	for (e = p->executors; e && *e && e != end; e++)
		dxk_executor_unregister(*e);
}

static int part_register(const struct part *p)
{
	struct dxk_executor **e;
	const struct bench *b;

	for (e = p->executors; e && *e; e++) {
		int err = dxk_executor_register(*e);

		if (err) {
			part_unregister(p, e);
			return err;
		}
	}
	for (b = p->benches; b->name; b++)
		debugfs_create_file(b->name, 0400, bench_dir, (void *)b, &bench_fops);
	return 0;
}

static int __init bench_init(void)
{
	int i, err;

	err = misc_register(&device);
	if (err)
		return err;
	bench_dir = debugfs_create_dir("dxk_bench", NULL);
	debugfs_create_u32("ops", 0600, bench_dir, &bench_ops);
	debugfs_create_u32("arg", 0600, bench_dir, &bench_arg);
	debugfs_create_bool("profile", 0600, bench_dir, &bench_profile);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		err = part_register(&parts[i]);
		if (err)
			goto err_parts;
	}
	return 0;

err_parts:
	debugfs_remove_recursive(bench_dir);
	while (i--)
		part_unregister(&parts[i], NULL);
	misc_deregister(&device);
	return err;
}

static void __exit bench_exit(void)
{
	int i = ARRAY_SIZE(parts);

	debugfs_remove_recursive(bench_dir);
	while (i--)
		part_unregister(&parts[i], NULL);
	misc_deregister(&device);
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("Measurements of dxk and of its rivals in the kernel");
MODULE_LICENSE("GPL");
