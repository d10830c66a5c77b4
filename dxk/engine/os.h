/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * What the engine wants of the world that it runs in: the only file of this room that
 * includes what is not dxk's. In the kernel runtime/os.c has the rest of it. A task is a
 * thread that can sleep, a member one that belongs to the Thread Pool.
 */
#ifndef _DXK_ENGINE_OS_H
#define _DXK_ENGINE_OS_H

#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>

struct dxk_engine;
struct dxk_member;
struct dxk_rqe;

/* Are assertions worth their time? */
#define OS_DEBUG	IS_ENABLED(CONFIG_PROVE_LOCKING)

/** os_self - the task that runs */
static inline struct task_struct *os_self(void)
{
	return current;
}

/** os_hold - keep a task from vanishing until os_wake_held() */
static inline void os_hold(struct task_struct *task)
{
	get_task_struct(task);
}

/** os_wake_held - wake a task that was held */
static inline void os_wake_held(struct task_struct *task)
{
	wake_up_process(task);
	put_task_struct(task);
}

/** os_wake - wake a task that cannot vanish meanwhile */
static inline void os_wake(struct task_struct *task)
{
	wake_up_process(task);
}

int os_doze(const bool *done, u64 deadline);
void os_await(const bool *done);

/** os_yield - a good moment for others to run */
static inline void os_yield(void)
{
	cond_resched();
}

/** os_now - CLOCK_MONOTONIC in ns */
static inline u64 os_now(void)
{
	return ktime_get_ns();
}

/**
 * os_clock - a coarse clock that costs no more than a load
 *
 * Only the world knows its unit.
 */
static inline unsigned long os_clock(void)
{
	return jiffies;
}

/* Whoever publishes an operation reads; os_readers_wait() waits until all have read. */
static inline void os_read_begin(void)
{
	rcu_read_lock();
}

static inline void os_read_end(void)
{
	rcu_read_unlock();
}

void os_member_get(struct dxk_member *m);
void os_member_put(struct dxk_member *m);
void os_poll_wake(struct dxk_member *m);
void os_poll_workers(struct dxk_engine *e);
void os_kick(struct dxk_engine *e, u32 who);
void os_release(struct dxk_rqe *rqe);

#endif /* _DXK_ENGINE_OS_H */
