/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks and locks for the engine in user space where its speed is measured: a task sleeps
 * on a futex, the lock is a mutex that spins for a while before it sleeps.
 */
#ifndef _DXK_NATIVE_THREAD_H
#define _DXK_NATIVE_THREAD_H

#include <pthread.h>
#include <time.h>

struct task_struct {
	/* Changes with each wake-up. */
	u32 wakes;
};

/* How long locks were held, in ticks of the CPU; counted only while os_timed is set. */
#define OS_HOLD_WIDTH	32
#define OS_HOLDS	256
struct os_holds {
	u64 nr[OS_HOLDS];
};

typedef struct {
	pthread_mutex_t mutex;
	u64 since;
	struct os_holds holds;
} spinlock_t;

extern bool os_timed;

static inline void os_point(void)
{
}

static inline void os_point_held(void)
{
}

static inline bool os_allocation_fails(void)
{
	return false;
}

struct task_struct *os_task(void);
void os_task_wake(struct task_struct *task);

static inline struct task_struct *os_self(void)
{
	return os_task();
}

/* A thread stays until all who might wake it are done. */
static inline void os_hold(struct task_struct *task)
{
}

static inline void os_wake_held(struct task_struct *task)
{
	os_task_wake(task);
}

static inline void os_wake(struct task_struct *task)
{
	os_task_wake(task);
}

static inline void os_yield(void)
{
}

static inline bool os_stack_is_low(void)
{
	return false;
}

static inline u64 os_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static inline unsigned long os_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000UL + ts.tv_nsec / 1000000;
}

static inline u64 os_ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return os_now();
#endif
}

void spin_lock_init(spinlock_t *lock);

static inline void spin_lock(spinlock_t *lock)
{
	pthread_mutex_lock(&lock->mutex);
	if (unlikely(os_timed))
		lock->since = os_ticks();
}

static inline void spin_unlock(spinlock_t *lock)
{
	if (unlikely(os_timed)) {
		u64 hold = (os_ticks() - lock->since) / OS_HOLD_WIDTH;

		lock->holds.nr[min(hold, (u64)OS_HOLDS - 1)]++;
	}
	pthread_mutex_unlock(&lock->mutex);
}

/* Asked by assertions only, and there are none here. */
static inline bool os_lock_is_held(const spinlock_t *lock)
{
	return true;
}

static inline void os_read_begin(void)
{
}

static inline void os_read_end(void)
{
}

#endif /* _DXK_NATIVE_THREAD_H */
