// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate: what a suspend waits for. The files are the tests' own.
 */
#include <kunit/test.h>
#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>

#include "dxk_api.h"
#include "services/gate.h"

/* A suspend that waits for somebody who does not come takes longer. */
#define SOON_NS	(DXK_GATE_TIME / HZ * NSEC_PER_SEC / 2)

/* A read, and the file that leaves it queued until a timer completes it */
struct slow {
	struct file *file;
	struct kiocb *iocb;
	struct hrtimer timer;
	struct dxk_async_read read;
	char buf[8];
	u32 done;
	long result;
};

static ssize_t slow_read(struct kiocb *iocb, struct iov_iter *to)
{
	struct slow *s = iocb->ki_filp->private_data;

	s->iocb = iocb;
	return -EIOCBQUEUED;
}

static const struct file_operations slow_fops = { .read_iter = slow_read };

/* An interrupt */
static enum hrtimer_restart slow_complete(struct hrtimer *timer)
{
	struct slow *s = container_of(timer, struct slow, timer);

	s->iocb->ki_complete(s->iocb, 5);
	return HRTIMER_NORESTART;
}

static void slow_done(struct dxk_async_read *read, long result)
{
	struct slow *s = container_of(read, struct slow, read);

	s->result = result;
	/* pairs with the loads of the tests */
	smp_store_release(&s->done, s->done + 1);
}

static void slow_end(void *data)
{
	struct slow *s = data;

	hrtimer_cancel(&s->timer);
	fput(s->file);
}

/* A read that has begun and does not end */
static struct slow *slow_begin(struct kunit *test)
{
	struct slow *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->file = anon_inode_getfile("dxk-kunit", &slow_fops, s, O_RDONLY);
	KUNIT_ASSERT_FALSE(test, IS_ERR(s->file));
	hrtimer_init(&s->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	s->timer.function = slow_complete;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, slow_end, s), 0);
	s->read.done = slow_done;
	dxk_file_read_async(&s->read, s->file, s->buf, sizeof(s->buf), 0);
	KUNIT_ASSERT_NOT_NULL(test, s->iocb);
	KUNIT_EXPECT_EQ(test, smp_load_acquire(&s->done), 0);
	return s;
}

static void slow_complete_in(struct slow *s, u32 ms)
{
	hrtimer_start(&s->timer, ms_to_ktime(ms), HRTIMER_MODE_REL);
}

/* A suspend begins when the read has ended, in an interrupt, and not before. */
static void waits_for_reads(struct kunit *test)
{
	struct slow *s = slow_begin(test);
	u64 begin = ktime_get_ns();

	slow_complete_in(s, 50);
	KUNIT_EXPECT_EQ(test, dxk_gate_close(DXK_GATE_TIME), 0);
	KUNIT_EXPECT_LT(test, ktime_get_ns() - begin, SOON_NS);
	/* it leaves the gate, and then is done */
	hrtimer_cancel(&s->timer);
	KUNIT_EXPECT_EQ(test, smp_load_acquire(&s->done), 1);
	KUNIT_EXPECT_EQ(test, s->result, 5);
	dxk_gate_open();
}

/* A server that is frozen does not keep the system awake: the read ends after the resume. */
static void leaves_servers_behind(struct kunit *test)
{
	struct slow *s = slow_begin(test);
	u64 begin;
	u32 i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, dxk_gate_close(HZ / 20), 0);
		KUNIT_EXPECT_EQ(test, smp_load_acquire(&s->done), 0);
		dxk_gate_open();
	}
	begin = ktime_get_ns();
	slow_complete_in(s, 1);
	KUNIT_EXPECT_EQ(test, dxk_gate_close(DXK_GATE_TIME), 0);
	KUNIT_EXPECT_LT(test, ktime_get_ns() - begin, SOON_NS);
	dxk_gate_open();
}

/* A disk of this machine that does not answer has the suspend refused, and the gate opened. */
static void refuses_with_disks(struct kunit *test)
{
	struct file_system_type *type = kunit_kzalloc(test, sizeof(*type), GFP_KERNEL);
	struct super_block *sb = kunit_kzalloc(test, sizeof(*sb), GFP_KERNEL);
	struct inode *inode = kunit_kzalloc(test, sizeof(*inode), GFP_KERNEL);
	struct file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	struct dxk_gate gate, other;
	u32 i;

	KUNIT_ASSERT_TRUE(test, type && sb && inode && file);
	file->f_inode = inode;
	inode->i_sb = sb;
	sb->s_type = type;
	for (i = 0; i < 2; i++) {
		/* a file system with a disk; a disk, whose node is in one without */
		type->fs_flags = i ? 0 : FS_REQUIRES_DEV;
		inode->i_mode = i ? S_IFBLK : S_IFREG;
		dxk_gate_prepare(&gate, NULL);
		dxk_gate_prepare(&other, NULL);
		KUNIT_ASSERT_TRUE(test, dxk_gate_enter(&gate, file));
		KUNIT_EXPECT_EQ(test, dxk_gate_close(HZ / 20), -EBUSY);
		KUNIT_ASSERT_TRUE(test, dxk_gate_enter(&other, NULL));
		dxk_gate_leave(&other);
		dxk_gate_leave(&gate);
		KUNIT_EXPECT_EQ(test, dxk_gate_close(DXK_GATE_TIME), 0);
		KUNIT_EXPECT_FALSE(test, dxk_gate_enter(&other, NULL));
		dxk_gate_open();
	}
}

static struct kunit_case gate_cases[] = {
	KUNIT_CASE(waits_for_reads),
	KUNIT_CASE(leaves_servers_behind),
	KUNIT_CASE(refuses_with_disks),
	{ }
};

static struct kunit_suite gate_suite = {
	.name = "dxk_gate",
	.test_cases = gate_cases,
};

kunit_test_suite(gate_suite);
