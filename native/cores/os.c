// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What the engine wants of user space where its speed is measured, see engine/os.h. There
 * are no control threads, no files, and no poll(2): each caller is the dispatcher itself.
 */
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/os.h"

static __thread struct task_struct self;

bool os_timed;

void os_warn(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	abort();
}

void spin_lock_init(spinlock_t *lock)
{
	pthread_mutexattr_t attr;

	*lock = (spinlock_t) { };
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(&lock->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* --- tasks --------------------------------------------------------------------- */

struct task_struct *os_task(void)
{
	return &self;
}

void os_task_wake(struct task_struct *task)
{
	__atomic_add_fetch(&task->wakes, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &task->wakes, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

int os_doze(const bool *done, const struct llist_head *events, u64 deadline)
{
	struct timespec until = {
		.tv_sec = deadline / 1000000000,
		.tv_nsec = deadline % 1000000000,
	};
	struct task_struct *task = os_self();

	for (;;) {
		u32 wakes = smp_load_acquire(&task->wakes);

		if (smp_load_acquire(done))
			return 0;
		if (events && !llist_empty(events))
			return os_now() < deadline ? 0 : -ETIMEDOUT;
		if (syscall(SYS_futex, &task->wakes, FUTEX_WAIT_BITSET_PRIVATE, wakes,
			    deadline == DXK_FOREVER ? NULL : &until, NULL,
			    FUTEX_BITSET_MATCH_ANY) && errno == ETIMEDOUT)
			return smp_load_acquire(done) ? 0 : -ETIMEDOUT;
	}
}

bool os_await(const bool *done)
{
	return !os_doze(done, NULL, os_now() + OS_PATIENCE);
}

/* --- what is not there --------------------------------------------------------- */

void os_member_get(struct dxk_member *m)
{
}

void os_member_put(struct dxk_member *m)
{
}

void os_poll_wake(struct dxk_member *m)
{
}

void os_poll_workers(struct dxk_engine *e)
{
}

void os_kick(struct dxk_engine *e, u32 who)
{
}

void os_release(struct dxk_rqe *rqe)
{
}

void os_disown(struct dxk_rqe *rqe)
{
}

void os_empty_bin(struct dxk_engine *e)
{
}

void os_let_go(struct dxk_file_ref *files)
{
}

u64 get_random_u64(void)
{
	return 0x9e3779b97f4a7c15;
}
