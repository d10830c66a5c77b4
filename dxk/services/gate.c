// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate that keeps files unchanged while the system is suspended, see gate.h.
 */
#include <linux/bvec.h>
#include <linux/cred.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/notifier.h>
#include <linux/spinlock.h>
#include <linux/suspend.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include "compat.h"
#include "dxk_api.h"
#include "engine/os.h"
#include "services/gate.h"

/* All of it is protected by the lock, which the completion of a read takes in an interrupt. */
static DEFINE_SPINLOCK(dxk_gate_lock);
static LIST_HEAD(dxk_gate_waiting);
static bool dxk_gate_shut;
/* Users inside: [false] with files of other machines or of processes, [true] of own disks. */
static u32 dxk_gate_inside[2];

/* Woken when a user leaves or the gate opens. */
static DECLARE_WAIT_QUEUE_HEAD(dxk_gate_moved);

/** dxk_gate_prepare - prepare to use the gate */
void dxk_gate_prepare(struct dxk_gate *gate, void (*open)(struct dxk_gate *gate))
{
	INIT_LIST_HEAD(&gate->link);
	gate->open = open;
}

/* Does a disk of this machine answer for the file, and no process or other machine? */
static bool dxk_file_is_local(const struct file *file)
{
	const struct inode *inode = file_inode(file);

	return S_ISBLK(inode->i_mode) || inode->i_sb->s_type->fs_flags & FS_REQUIRES_DEV;
}

/**
 * dxk_gate_enter - go through, to do something to a file
 * @gate: prepared
 * @file: the file, or NULL
 *
 * Return: false when the gate is shut: dxk_gate.open, if set, is called when it opens; @gate
 * must stay in place until then.
 */
bool dxk_gate_enter(struct dxk_gate *gate, const struct file *file)
{
	gate->local = file && dxk_file_is_local(file);
	guard(spinlock_irqsave)(&dxk_gate_lock);
	if (dxk_gate_shut) {
		if (gate->open)
			list_move_tail(&gate->link, &dxk_gate_waiting);
		return false;
	}
	dxk_gate_inside[gate->local]++;
	return true;
}

/* Any context but NMI */
static void dxk_gate_out(bool local)
{
	scoped_guard(spinlock_irqsave, &dxk_gate_lock)
		dxk_gate_inside[local]--;
	wake_up(&dxk_gate_moved);
}

/** dxk_gate_leave - leave the gate after the operation */
void dxk_gate_leave(struct dxk_gate *gate)
{
	dxk_gate_out(gate->local);
}

static bool dxk_gate_is_empty(void)
{
	guard(spinlock_irqsave)(&dxk_gate_lock);
	return !dxk_gate_inside[false] && !dxk_gate_inside[true];
}

/** dxk_gate_open - open the gate: the system has resumed, or was not suspended after all */
void dxk_gate_open(void)
{
	struct dxk_gate *gate, *next;

	scoped_guard(spinlock_irqsave, &dxk_gate_lock) {
		dxk_gate_shut = false;
		list_for_each_entry_safe(gate, next, &dxk_gate_waiting, link) {
			list_del_init(&gate->link);
			gate->open(gate);
		}
	}
	wake_up(&dxk_gate_moved);
}

/* Enter, waiting while the gate is shut. Return: 0, or -ERESTARTSYS: SIGKILL ended the wait. */
static int dxk_gate_pass(struct dxk_gate *gate, const struct file *file)
{
	os_may_wait_for_user();
	dxk_gate_prepare(gate, NULL);
	return wait_event_interruptible(dxk_gate_moved, dxk_gate_enter(gate, file));
}

/**
 * dxk_file_read - read a file in a kernel executor
 * @file: open for reading, with a read_iter(): see kernel_read()
 * @buf: receives the bytes
 * @size: how many at most
 * @pos: position in the file; advances
 *
 * Like kernel_read(), but with the rights of the opener of the file, because the answer of a file
 * system or a file may depend on the reader; and not while the system is suspended, because a
 * read changes the times of a file. SIGKILL, which the close of the context sends, ends the wait.
 *
 * Context: kernel worker; may sleep.
 * Return: how many, 0 at the end, or an error of the file system, for example %-ERESTARTSYS.
 */
ssize_t dxk_file_read(struct file *file, void *buf, size_t size, loff_t *pos)
{
	const struct cred *old;
	struct dxk_gate gate;
	ssize_t len;

	len = dxk_gate_pass(&gate, file);
	if (len)
		return len;
	old = override_creds(file->f_cred);
	len = kernel_read(file, buf, size, pos);
	revert_creds(old);
	dxk_gate_leave(&gate);
	return len;
}
EXPORT_SYMBOL_GPL(dxk_file_read);

/* Any context but NMI. The gate first: the caller's data may be gone after its call. */
static void dxk_read_completed(struct kiocb *iocb, long result)
{
	struct dxk_async_read *read = container_of(iocb, struct dxk_async_read, iocb);

	dxk_gate_out(read->local);
	read->done(read, result);
}

/**
 * dxk_file_read_async - begin to read a file in a kernel executor
 * @read: the read; dxk_async_read.done is called exactly once, maybe before this returns
 * @file: open for reading, with a read_iter(): see vfs_iocb_iter_read()
 * @buf: receives the bytes: memory of kmalloc() or of pages, not of vmalloc() or a stack
 * @size: how many at most
 * @pos: position in the file
 *
 * Like dxk_file_read(), but the caller does not wait for the bytes: dxk_waker_fire() in
 * dxk_async_read.done resumes a request that waits for them. The file decides whether the caller
 * waits after all: a disk's does not if it was opened with %O_DIRECT, and then wants @buf, @size
 * and @pos to be aligned to its sectors. While the system is suspended, the caller waits until the
 * read can begin. A read that has begun cannot be cancelled; a suspend waits for it.
 *
 * @read, @file and @buf must stay valid until this has returned and dxk_async_read.done has been
 * called. An executor that the request can outlive needs references of its own: its request may
 * be cancelled earlier. Both hold if the release function of a waker frees them, to which the
 * read has a reference.
 *
 * Context: kernel worker; may sleep.
 */
void dxk_file_read_async(struct dxk_async_read *read, struct file *file, void *buf, size_t size,
			 loff_t pos)
{
	const struct cred *old;
	struct dxk_gate gate;
	struct iov_iter iter;
	ssize_t len;

	len = dxk_gate_pass(&gate, file);
	if (len) {
		read->done(read, len);
		return;
	}
	read->local = gate.local;
	size = min_t(size_t, size, MAX_RW_COUNT);
	bvec_set_page(&read->bvec, virt_to_page(buf), size, offset_in_page(buf));
	iov_iter_bvec(&iter, READ, &read->bvec, 1, size);
	init_sync_kiocb(&read->iocb, file);
	read->iocb.ki_pos = pos;
	read->iocb.ki_complete = dxk_read_completed;

	old = override_creds(file->f_cred);
	len = vfs_iocb_iter_read(file, &read->iocb, &iter);
	revert_creds(old);
	if (len != -EIOCBQUEUED)
		dxk_read_completed(&read->iocb, len);
}
EXPORT_SYMBOL_GPL(dxk_file_read_async);

/**
 * dxk_gate_close - shut the gate: the system is about to be suspended
 * @timeout: how long to wait for users inside, in jiffies
 *
 * A user that hangs inside with a file served by a process or another machine writes nothing
 * any more: the process is about to be frozen, the other machine is not in the image. If a disk
 * of this machine does not answer, no user has caused it, and the suspend fails.
 *
 * Return: 0 or -EBUSY.
 */
int dxk_gate_close(unsigned long timeout)
{
	bool stuck;

	scoped_guard(spinlock_irqsave, &dxk_gate_lock)
		dxk_gate_shut = true;
	if (wait_event_timeout(dxk_gate_moved, dxk_gate_is_empty(), timeout))
		return 0;
	scoped_guard(spinlock_irqsave, &dxk_gate_lock)
		stuck = dxk_gate_inside[true];
	if (!stuck)
		return 0;
	dxk_gate_open();
	return -EBUSY;
}

static int dxk_gate_event(struct notifier_block *nb, unsigned long event, void *data)
{
	switch (event) {
	case PM_SUSPEND_PREPARE:
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		return notifier_from_errno(dxk_gate_close(DXK_GATE_TIME));
	case PM_POST_SUSPEND:
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		dxk_gate_open();
		return NOTIFY_OK;
	default:
		return NOTIFY_DONE;
	}
}

static struct notifier_block dxk_gate_notifier = { .notifier_call = dxk_gate_event };

/** dxk_gate_init - the module is loaded */
int dxk_gate_init(void)
{
	return register_pm_notifier(&dxk_gate_notifier);
}

/** dxk_gate_exit - no context is left */
void dxk_gate_exit(void)
{
	unregister_pm_notifier(&dxk_gate_notifier);
}
