// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What the engine wants of user space with POSIX threads, see engine/os.h. There are no
 * control threads, no files, and no poll(2): each caller is the dispatcher itself.
 */
#include "engine/engine.h"
#include "engine/os.h"

static __thread struct task_struct self = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

u32 os_failing, os_kicked;
bool os_deep;
void (*os_late)(void *arg), (*os_waking)(void *arg);
void *os_late_arg;

/* What is to be done once, at some instant, by whatever thread is first. */
static void do_once(void (**what)(void *arg))
{
	void (*now)(void *arg) = __atomic_load_n(what, __ATOMIC_ACQUIRE);

	if (now && __atomic_compare_exchange_n(what, &now, NULL, false, __ATOMIC_ACQ_REL,
					       __ATOMIC_RELAXED))
		now(os_late_arg);
}

struct task_struct *os_task(void)
{
	return &self;
}

void os_task_wake(struct task_struct *task)
{
	do_once(&os_waking);
	pthread_mutex_lock(&task->lock);
	pthread_cond_signal(&task->woken);
	pthread_mutex_unlock(&task->lock);
}

/** os_interrupt - end the task's sleep, or the next one, as a signal does */
void os_interrupt(struct task_struct *task)
{
	pthread_mutex_lock(&task->lock);
	task->interrupted = true;
	pthread_cond_signal(&task->woken);
	pthread_mutex_unlock(&task->lock);
}

static int sleep_until(struct task_struct *task, u64 deadline)
{
	struct timespec until = {
		.tv_sec = deadline / 1000000000,
		.tv_nsec = deadline % 1000000000,
	};

	if (task->interrupted) {
		task->interrupted = false;
		return -ERESTARTSYS;
	}
	if (deadline == DXK_FOREVER) {
		pthread_cond_wait(&task->woken, &task->lock);
		return 0;
	}
	return -pthread_cond_clockwait(&task->woken, &task->lock, CLOCK_MONOTONIC, &until);
}

int os_doze(const bool *done, const struct llist_head *events, u64 deadline)
{
	struct task_struct *task = os_self();
	int err = 0;

	pthread_mutex_lock(&task->lock);
	while (!smp_load_acquire(done) && !err) {
		if (events && !llist_empty(events) && !task->interrupted) {
			err = os_now() < deadline ? 0 : -ETIMEDOUT;
			break;
		}
		err = sleep_until(task, deadline);
	}
	pthread_mutex_unlock(&task->lock);
	if (!err || smp_load_acquire(done))
		return 0;
	do_once(&os_late);
	return err;
}

bool os_await(const bool *done)
{
	return !os_doze(done, NULL, os_now() + OS_PATIENCE);
}

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
	WARN_ON_ONCE(who >= DXK_CONTROLS && who != DXK_WALKER);
	__atomic_or_fetch(&os_kicked, BIT(who), __ATOMIC_RELAXED);
}

u32 os_released, os_disowned, os_bins, os_gone;

void os_release(struct dxk_rqe *rqe)
{
	__atomic_add_fetch(&os_released, 1, __ATOMIC_RELAXED);
}

void os_disown(struct dxk_rqe *rqe)
{
	__atomic_add_fetch(&os_disowned, 1, __ATOMIC_RELAXED);
}

void os_empty_bin(struct dxk_engine *e)
{
	__atomic_add_fetch(&os_bins, 1, __ATOMIC_RELAXED);
}

void os_let_go(struct dxk_file_ref *files)
{
	for (; files; files = files->next)
		__atomic_add_fetch(&os_gone, 1, __ATOMIC_RELAXED);
}

u64 get_random_u64(void)
{
	return 0x9e3779b97f4a7c15;
}
