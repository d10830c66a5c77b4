/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tasks and locks for the engine in user space: POSIX threads.
 */
#ifndef _DXK_NATIVE_THREAD_H
#define _DXK_NATIVE_THREAD_H

#include <pthread.h>
#include <sched.h>
#include <time.h>

struct task_struct {
	pthread_mutex_t lock;
	pthread_cond_t woken;
	/* Ends a sleep with -ERESTARTSYS. */
	bool interrupted;
};

typedef struct {
	pthread_mutex_t mutex;
	struct task_struct *holder;
	/* how often it was taken */
	u32 taken;
} spinlock_t;

static inline void os_point(void)
{
}

static inline void os_point_held(void)
{
}

/* The how manieth allocation from now on fails; 0: none. For tests with one thread. */
extern u32 os_failing;
/* The stack is low. For tests with one thread. */
extern bool os_deep;

/* How many requests have given up what is around them: an executor, a file. */
extern u32 os_released;
/* How often there was something in an empty bin; of how many files a worker let go. */
extern u32 os_bins, os_gone;
/* Bits of the control threads that were kicked. */
extern u32 os_kicked;
/* Called by the next sleep that ends early, before it is known to. */
extern void (*os_late)(void *arg);
/* Called by the next wake-up. */
extern void (*os_waking)(void *arg);
extern void *os_late_arg;

static inline bool os_allocation_fails(void)
{
	return os_failing && !--os_failing;
}

struct task_struct *os_task(void);
void os_task_wake(struct task_struct *task);
void os_interrupt(struct task_struct *task);

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

/* Now and then: the engine offers it once for each bucket of a hash. */
static inline void os_yield(void)
{
	static __thread u8 offers;

	if (!(++offers % 32))
		sched_yield();
}

static inline bool os_killed(void)
{
	return false;
}

static inline bool os_stack_is_low(void)
{
	return os_deep;
}

static inline u64 os_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static inline unsigned long os_clock(void)
{
	return os_now() / 1000000;
}

static inline void spin_lock_init(spinlock_t *lock)
{
	pthread_mutex_init(&lock->mutex, NULL);
	lock->holder = NULL;
	lock->taken = 0;
}

static inline void spin_lock(spinlock_t *lock)
{
	pthread_mutex_lock(&lock->mutex);
	__atomic_store_n(&lock->holder, os_self(), __ATOMIC_RELAXED);
	lock->taken++;
}

static inline bool os_lock_is_held(const spinlock_t *lock)
{
	return __atomic_load_n(&lock->holder, __ATOMIC_RELAXED) == os_self();
}

static inline void spin_unlock(spinlock_t *lock)
{
	WARN_ON_ONCE(!os_lock_is_held(lock));
	__atomic_store_n(&lock->holder, NULL, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock->mutex);
}

/* Callers are always the dispatcher themselves here: nobody waits for readers. */
static inline void os_read_begin(void)
{
}

static inline void os_read_end(void)
{
}

#endif /* _DXK_NATIVE_THREAD_H */
