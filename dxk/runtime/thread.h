/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_THREAD_H
#define _DXK_RUNTIME_THREAD_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "engine/member.h"
#include "runtime/bind.h"
#include "runtime/item.h"
#include "services/command.h"
#include "services/handle.h"

struct dxk_ctx;
struct dxk_slot;
struct task_struct;

/**
 * struct dxk_thread - one thread of the Thread Pool (DX-12): the occupant of a slot
 *
 * Made for a thread that joins. It gives up its slot when that thread has gone; the object
 * lives until its descriptor is closed as well.
 */
struct dxk_thread {
	/** @m: the engine's view of it */
	struct dxk_member m;
	/** @ref: holds the object; the object holds its context */
	struct kref ref;
	/** @slot: (L) where it is shown; NULL before it joins and after it has left */
	struct dxk_slot *slot;
	/**
	 * @user: (C) the only user thread that may use it, referenced; NULL: a kernel
	 * thread. Not a pid, because exec(2) gives the pid of the first thread of a
	 * process, which may have ended long ago, to the thread that calls it
	 */
	struct task_struct *user;
	/**
	 * @task: (L) the kernel thread, referenced, from its creation until it is reaped;
	 * NULL for others
	 */
	struct task_struct *task;
	/** @bound: CPU binding of a kernel thread */
	struct dxk_bound bound;
	/** @gone: (L) in dxk_ctx.gone: the kernel thread has left its loop */
	struct list_head gone;
	/** @access: (C) DXK_ACCESS_* bits of the descriptor that it was made from */
	u8 access;
	/** @reported: (L) ticket of the dispatch that the Monitor has reported as overdue */
	u64 reported;
	/** @switches: for the Monitor: how often it had slept or yielded at the last look */
	u64 switches;
	/** @still: for the Monitor: jiffies since which it has not run */
	unsigned long still;
	/** @files: private files of a kernel worker */
	struct dxk_private_files files;
	/** @item: the item that a kernel worker executes, if any */
	struct dxk_item_run item;
	/** @outer: (L) struct dxk_item_run of items that wait while it helps */
	struct list_head outer;
	/** @handler: its state as a command handler */
	struct dxk_user_handler handler;
	/** @wait: poll(2) sleeps here */
	wait_queue_head_t wait;
};

static inline struct dxk_thread *dxk_thread_of(const struct dxk_member *m)
{
	return container_of(m, struct dxk_thread, m);
}

struct dxk_thread *dxk_thread_new(struct dxk_ctx *ctx, enum dxk_role role,
				  enum dxk_kind kind);
void dxk_thread_get(struct dxk_thread *t);
void dxk_thread_put(struct dxk_thread *t);
struct dxk_thread *dxk_thread_next(struct dxk_ctx *ctx, unsigned long *id, u32 max);
void dxk_thread_part(struct dxk_thread *t);
bool dxk_thread_is_dead(const struct dxk_thread *t);

#endif /* _DXK_RUNTIME_THREAD_H */
