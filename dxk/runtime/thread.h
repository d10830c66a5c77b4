/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_THREAD_H
#define _DXK_RUNTIME_THREAD_H

#include <linux/kobject.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "engine/member.h"
#include "services/command.h"
#include "services/handle.h"

struct dxk_ctx;
struct pid;
struct task_struct;

/**
 * struct dxk_thread - one thread of the Thread Pool (DX-12)
 *
 * Made vacant, occupied by a thread that joins, retired when that thread is gone; the
 * object lives until its descriptor is closed as well.
 */
struct dxk_thread {
	/** @m: what the engine knows of it */
	struct dxk_member m;
	/** @kobj: /sys/kernel/dxk/<ctx>/threads/<id>; holds the object */
	struct kobject kobj;
	/**
	 * @pid: (M) the only user thread that may use it; NULL: none, or a kernel thread
	 */
	struct pid *pid;
	/** @task: (M) the kernel thread, referenced */
	struct task_struct *task;
	/** @access: (M) DXK_ACCESS_* bits of the descriptor that it was made from */
	u8 access;
	/** @gone: (A) the kernel thread has left its loop; set once */
	bool gone;
	/** @reported: (M) the Monitor has reported the dispatch of this ticket as overdue */
	u64 reported;
	/** @files: private files of a kernel worker */
	struct dxk_private_files files;
	/** @handler: it as a handler of commands */
	struct dxk_user_handler handler;
	/** @wait: poll(2) sleeps here */
	wait_queue_head_t wait;
};

static inline struct dxk_thread *dxk_thread_of(const struct dxk_member *m)
{
	return container_of(m, struct dxk_thread, m);
}

struct dxk_member *dxk_member_at(struct dxk_ctx *ctx, u32 id);
struct dxk_member *dxk_member_new(struct dxk_ctx *ctx, u32 id);
void dxk_member_occupy(struct dxk_member *m, enum dxk_role role, enum dxk_kind kind);
void dxk_member_attach(struct dxk_member *m);
struct dxk_member *dxk_member_control(struct dxk_ctx *ctx, u32 id);
void dxk_member_retire(struct dxk_member *m);
bool dxk_member_is_dead(const struct dxk_member *m);

void dxk_thread_init(const struct sysfs_ops *ops, const struct attribute_group **groups);

#endif /* _DXK_RUNTIME_THREAD_H */
