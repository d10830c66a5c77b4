/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks and locks for the engine in the simulator: virtual threads of one process, of which
 * one runs at a time, and a virtual clock. See sched.h.
 */
#ifndef _DXK_SIM_THREAD_H
#define _DXK_SIM_THREAD_H

/*
 * For the thread sanitizer: the simulator's own variables are none of its business. What is
 * before a release of an object comes before what is behind an acquire of it. The engine
 * says so itself by its barriers; here stands what lock, begin and end of threads imply.
 */
#ifdef SIM_TSAN
#define sim_inline	static inline __attribute__((no_sanitize_thread))
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);
#define order_acquire(obj)	__tsan_acquire((void *)(obj))
#define order_release(obj)	__tsan_release((void *)(obj))
#else
#define sim_inline	static inline
#define order_acquire(obj)	do { } while (0)
#define order_release(obj)	do { } while (0)
#endif

struct task_struct;

typedef struct {
	struct task_struct *holder;
} spinlock_t;

extern struct task_struct *sim_self;
extern u64 sim_now;
/* Who is about to publish an operation. */
extern u32 sim_readers;
/* Thread 700 does not get the CPU in time, and callers take over from it. */
extern bool sim_hasty;
/* Points until another thread may run; whether one holds the lock. */
extern long sim_left;
extern bool sim_holding;

void sim_preempt(void);
void sim_lock(spinlock_t *lock);
void sim_unlock(spinlock_t *lock);
void sim_task_get(struct task_struct *task);
void sim_task_put(struct task_struct *task);
void sim_task_wake(struct task_struct *task);
bool os_allocation_fails(void);

sim_inline void os_point(void)
{
	if (!sim_holding && --sim_left < 0)
		sim_preempt();
}

sim_inline void os_point_held(void)
{
	if (--sim_left < 0)
		sim_preempt();
}

sim_inline struct task_struct *os_self(void)
{
	return sim_self;
}

sim_inline void os_hold(struct task_struct *task)
{
	sim_task_get(task);
}

sim_inline void os_wake_held(struct task_struct *task)
{
	os_point_held();
	sim_task_wake(task);
	os_point_held();
	sim_task_put(task);
}

sim_inline void os_wake(struct task_struct *task)
{
	os_point_held();
	sim_task_wake(task);
}

sim_inline void os_yield(void)
{
	os_point();
}

sim_inline bool os_killed(void)
{
	return false;
}

sim_inline bool os_stack_is_low(void)
{
	return false;
}

sim_inline u64 os_now(void)
{
	return sim_now;
}

sim_inline void os_read_begin(void)
{
	sim_readers++;
}

sim_inline void os_read_end(void)
{
	sim_readers--;
}

sim_inline unsigned long os_clock(void)
{
	return sim_now / NSEC_PER_MSEC;
}

sim_inline void spin_lock_init(spinlock_t *lock)
{
	*lock = (spinlock_t) { };
}

sim_inline void spin_lock(spinlock_t *lock)
{
	sim_lock(lock);
}

sim_inline void spin_unlock(spinlock_t *lock)
{
	sim_unlock(lock);
}

sim_inline bool os_lock_is_held(const spinlock_t *lock)
{
	return lock->holder == sim_self;
}

#endif /* _DXK_SIM_THREAD_H */
