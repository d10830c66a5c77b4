/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel as the engine's world, see engine/os.h; runtime/os.c has the rest.
 */
#ifndef _DXK_WORLD_H
#define _DXK_WORLD_H

#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
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
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/types.h>

#include "engine/waits.h"

#define OS_DEBUG	IS_ENABLED(CONFIG_PROVE_LOCKING)

static inline struct task_struct *os_self(void)
{
	return current;
}

static inline void os_hold(struct task_struct *task)
{
	get_task_struct(task);
}

static inline void os_wake_held(struct task_struct *task)
{
	wake_up_process(task);
	put_task_struct(task);
}

static inline void os_wake(struct task_struct *task)
{
	wake_up_process(task);
}

static inline void os_yield(void)
{
	cond_resched();
}

static inline bool os_killed(void)
{
	return fatal_signal_pending(current);
}

static inline bool os_stack_is_low(void)
{
	unsigned long at = (unsigned long)__builtin_frame_address(0);

	return at - (unsigned long)task_stack_page(current) < THREAD_SIZE / 4;
}

static inline u64 os_now(void)
{
	return ktime_get_ns();
}

static inline unsigned long os_clock(void)
{
	return jiffies;
}

/*
 * By random odd factors, and what lies between them is not linear: two keys that are found
 * to meet tell of no others.
 */
static inline u32 os_hash(u64 key, u32 id, u64 seed)
{
	u64 hash = (key ^ (u64)id << 40) * (seed | 1);

	return (hash ^ hash >> 32) * (seed << 1 | 1) >> 32;
}

#ifdef CONFIG_LOCKDEP
extern struct lockdep_map os_turns[OS_TURNS];
bool os_in_turn_for_others(void);
void os_turns_init(void);

/* An executor may execute another request while it waits: turns are taken for reading. */
static inline void os_turn_begin(enum os_turn turn)
{
	lock_map_acquire_read(&os_turns[turn]);
}

static inline void os_turn_end(enum os_turn turn)
{
	lock_map_release(&os_turns[turn]);
}

static inline void os_may_wait(enum os_turn turn)
{
	might_sleep();
	lock_map_acquire(&os_turns[turn]);
	lock_map_release(&os_turns[turn]);
}

static inline void os_may_wait_for_user(void)
{
	might_sleep();
	lockdep_assert(!os_in_turn_for_others());
}
#else
static inline void os_turns_init(void) { }
static inline void os_turn_begin(enum os_turn turn) { }
static inline void os_turn_end(enum os_turn turn) { }
static inline void os_may_wait(enum os_turn turn) { }
static inline void os_may_wait_for_user(void) { }
#endif

static inline void os_read_begin(void)
{
	rcu_read_lock();
}

static inline void os_read_end(void)
{
	rcu_read_unlock();
}

#endif /* _DXK_WORLD_H */
