// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate that keeps files unchanged while the system is suspended, see gate.h.
 */
#include <linux/cred.h>
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/notifier.h>
#include <linux/spinlock.h>
#include <linux/suspend.h>
#include <linux/wait.h>

#include "compat.h"
#include "dxk_api.h"
#include "engine/os.h"
#include "services/gate.h"

/* How long a suspend waits for users inside the gate; it waits as long for tasks to freeze. */
#define DXK_GATE_TIME	(20 * HZ)

/* All of it is protected by the lock. */
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
	gate->local = file && file_inode(file)->i_sb->s_type->fs_flags & FS_REQUIRES_DEV;
	guard(spinlock)(&dxk_gate_lock);
	if (dxk_gate_shut) {
		if (gate->open)
			list_move_tail(&gate->link, &dxk_gate_waiting);
		return false;
	}
	dxk_gate_inside[gate->local]++;
	return true;
}

/** dxk_gate_leave - leave the gate after the operation */
void dxk_gate_leave(struct dxk_gate *gate)
{
	scoped_guard(spinlock, &dxk_gate_lock)
		dxk_gate_inside[gate->local]--;
	wake_up(&dxk_gate_moved);
}

static bool dxk_gate_is_empty(void)
{
	guard(spinlock)(&dxk_gate_lock);
	return !dxk_gate_inside[false] && !dxk_gate_inside[true];
}

/** dxk_gate_open - open the gate: the system has resumed, or was not suspended after all */
void dxk_gate_open(void)
{
	struct dxk_gate *gate, *next;

	scoped_guard(spinlock, &dxk_gate_lock) {
		dxk_gate_shut = false;
		list_for_each_entry_safe(gate, next, &dxk_gate_waiting, link) {
			list_del_init(&gate->link);
			gate->open(gate);
		}
	}
	wake_up(&dxk_gate_moved);
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

	os_may_wait_for_user();
	dxk_gate_prepare(&gate, NULL);
	len = wait_event_interruptible(dxk_gate_moved, dxk_gate_enter(&gate, file));
	if (len)
		return len;
	old = override_creds(file->f_cred);
	len = kernel_read(file, buf, size, pos);
	revert_creds(old);
	dxk_gate_leave(&gate);
	return len;
}
EXPORT_SYMBOL_GPL(dxk_file_read);

/**
 * dxk_gate_close - shut the gate: the system is about to be suspended
 *
 * A user that hangs inside with a file served by a process or another machine writes nothing
 * any more: the process is about to be frozen, the other machine is not in the image. If a disk
 * of this machine does not answer, no user has caused it, and the suspend fails.
 *
 * Return: 0 or -EBUSY.
 */
int dxk_gate_close(void)
{
	bool stuck;

	scoped_guard(spinlock, &dxk_gate_lock)
		dxk_gate_shut = true;
	if (wait_event_timeout(dxk_gate_moved, dxk_gate_is_empty(), DXK_GATE_TIME))
		return 0;
	scoped_guard(spinlock, &dxk_gate_lock)
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
		return notifier_from_errno(dxk_gate_close());
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
