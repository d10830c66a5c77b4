// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The worker threads of this process. The module knows how many it has a use for: free places of
 * the crew, also those of a worker that died or after "set max_threads" by another process, and
 * spares for workers that wait. A thread, the manager, sleeps until the module has a use for more
 * and starts them. The module makes surplus workers leave.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* How long the manager waits after a round without a new worker: doubled each time. */
#define PAUSE_MIN_MS	10
#define PAUSE_MAX_MS	1000

/* The application's threads handle signals, except those of a thread's own faults. */
void dx_block_signals(sigset_t *old)
{
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGSEGV);
	sigdelset(&set, SIGBUS);
	sigdelset(&set, SIGFPE);
	sigdelset(&set, SIGILL);
	sigdelset(&set, SIGTRAP);
	sigdelset(&set, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &set, old);
}

/* --- all of this with crew.lock held --------------------------------------- */

static int thread_start(MTExecutive *mte, struct dx_worker *w)
{
	pthread_attr_t attr;
	sigset_t old;
	int rc;

	rc = pthread_attr_init(&attr);
	if (rc)
		return -rc;
	if (mte->stack_size)
		pthread_attr_setstacksize(&attr, mte->stack_size);
	dx_block_signals(&old);
	rc = pthread_create(&w->thread, &attr, dx_worker_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

/* Starts @nr threads, or as many as possible. */
static int workers_start(MTExecutive *mte, unsigned int kind, unsigned int nr)
{
	struct dx_worker *w;
	int rc;

	while (nr--) {
		w = calloc(1, sizeof(*w));
		if (!w)
			return -ENOMEM;
		w->mte = mte;
		w->kind = kind;
		rc = thread_start(mte, w);
		if (rc) {
			free(w);
			return rc;
		}
		w->next = mte->crew.workers;
		mte->crew.workers = w;
		mte->crew.starting++;
	}
	return 0;
}

/*
 * A worker whose thread ended by a bare system call has not reported its end. The thread is not
 * joined: the C library would give its stack to another thread together with the
 * thread-specific data that it left there.
 */
static bool vanished(const struct dx_worker *w)
{
	return w->member && tgkill(getpid(), w->tid, 0) && errno == ESRCH;
}

static void abandon(struct dx_worker *w)
{
	dx_member_abandoned(w->member);
	dx_frames_abandon(w->frame);
	dx_worker_free(w);
}

/* Frees the workers whose threads have ended. */
static void reap(MTExecutive *mte)
{
	struct dx_worker **p = &mte->crew.workers, *w;

	while ((w = *p)) {
		if (vanished(w)) {
			*p = w->next;
			abandon(w);
		} else if (!w->member && !pthread_tryjoin_np(w->thread, NULL)) {
			*p = w->next;
			dx_worker_free(w);
		} else {
			p = &w->next;
		}
	}
}

/* --- of the executive ------------------------------------------------------ */

/*
 * One round: starts the threads that the module has a use for now, and waits until they
 * are workers.
 *
 * Return: the number of new workers, or the error of the first that failed.
 */
static int fill(MTExecutive *mte)
{
	unsigned int workers, spares;
	int rc;

	pthread_mutex_lock(&mte->crew.lock);
	while (mte->crew.filling)
		pthread_cond_wait(&mte->crew.changed, &mte->crew.lock);
	mte->crew.filling = true;
	mte->crew.attached = 0;
	mte->crew.error = 0;
	reap(mte);
	rc = dxk_crew_wait(mte->ctx, 0, &workers, &spares);
	if (rc > 0) {
		rc = workers_start(mte, DXK_MEMBER_WORKER, workers);
		if (!rc)
			rc = workers_start(mte, DXK_MEMBER_SPARE, spares);
	}
	while (mte->crew.starting)
		pthread_cond_wait(&mte->crew.changed, &mte->crew.lock);
	if (!rc)
		rc = mte->crew.error ? mte->crew.error : (int)mte->crew.attached;
	mte->crew.filling = false;
	pthread_cond_broadcast(&mte->crew.changed);
	pthread_mutex_unlock(&mte->crew.lock);
	return rc;
}

/* Waits for that time. Return: false when the executive ends. */
static bool pause_ms(MTExecutive *mte, unsigned int ms)
{
	struct timespec ts;
	bool closing;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += (long)ms * 1000000;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mte->crew.lock);
	while (!mte->crew.closing && !rc)
		rc = pthread_cond_timedwait(&mte->crew.changed, &mte->crew.lock, &ts);
	closing = mte->crew.closing;
	pthread_mutex_unlock(&mte->crew.lock);
	return !closing;
}

static void manage(MTExecutive *mte)
{
	unsigned int pause = 0;
	int rc;

	for (;;) {
		rc = dxk_crew_wait(mte->ctx, -1, NULL, NULL);
		if (rc == -EINTR)
			continue;
		if (rc > 0)
			rc = fill(mte);
		if (rc == -ESHUTDOWN)
			return;
		if (rc > 0) {
			pause = 0;
			continue;
		}
		/* No further worker: queries and failures would repeat without end. */
		if (rc < 0 && !pause)
			dx_log_own(mte, DX_LOG_ERROR, "no worker can be started: %s", strerror(-rc));
		pause = pause ? pause * 2 : PAUSE_MIN_MS;
		if (pause > PAUSE_MAX_MS)
			pause = PAUSE_MAX_MS;
		if (!pause_ms(mte, pause))
			return;
	}
}

static void *manager_main(void *arg)
{
	MTExecutive *mte = arg;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){ 0 });
	manage(mte);
	pthread_mutex_lock(&mte->crew.lock);
	mte->crew.left = true;
	pthread_mutex_unlock(&mte->crew.lock);
	return NULL;
}

/* The caller holds the lock: the manager that left does not take it again. */
static void manager_join(MTExecutive *mte)
{
	if (mte->crew.managed && mte->crew.left)
		pthread_join(mte->crew.manager, NULL);
	mte->crew.managed &= !mte->crew.left;
	mte->crew.left = false;
}

static int manager_start(MTExecutive *mte)
{
	sigset_t old;
	int rc = 0;

	pthread_mutex_lock(&mte->crew.lock);
	manager_join(mte);
	if (!mte->crew.managed) {
		dx_block_signals(&old);
		rc = pthread_create(&mte->crew.manager, NULL, manager_main, mte);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		mte->crew.managed = !rc;
	}
	pthread_mutex_unlock(&mte->crew.lock);
	return -rc;
}

void dx_crew_init(MTExecutive *mte)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&mte->crew.lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&mte->crew.changed, &attr);
	pthread_condattr_destroy(&attr);
}

void dx_crew_exit(MTExecutive *mte)
{
	pthread_cond_destroy(&mte->crew.changed);
	pthread_mutex_destroy(&mte->crew.lock);
}

/**
 * dx_crew_start - start the worker threads that there are places for, now and later
 * @mte: its context runs
 *
 * If there is no place now, another process may make some: there is always a manager.
 *
 * Return: 0 when all current places have workers, here or in other processes; else the error of
 * the first that failed. The workers that started stay.
 */
int dx_crew_start(MTExecutive *mte)
{
	int rc = fill(mte), err;

	if (rc == -ESHUTDOWN)
		return 0;
	err = manager_start(mte);
	return rc < 0 ? rc : err;
}

/* Return: whether the context was stopped, as far as the manager has seen it. */
bool dx_crew_left(MTExecutive *mte)
{
	bool left;

	pthread_mutex_lock(&mte->crew.lock);
	left = mte->crew.left;
	pthread_mutex_unlock(&mte->crew.lock);
	return left;
}

/* The context is stopped: all threads have ended or are about to end. */
void dx_crew_join(MTExecutive *mte)
{
	struct dx_worker *w;

	pthread_mutex_lock(&mte->crew.lock);
	mte->crew.closing = true;
	pthread_cond_broadcast(&mte->crew.changed);
	pthread_mutex_unlock(&mte->crew.lock);
	if (mte->crew.managed)
		pthread_join(mte->crew.manager, NULL);
	/* From here on no thread adds to the list. */
	while ((w = mte->crew.workers)) {
		bool gone;

		mte->crew.workers = w->next;
		/* A worker that ends meanwhile reports it before its thread is gone. */
		pthread_mutex_lock(&mte->crew.lock);
		gone = vanished(w);
		pthread_mutex_unlock(&mte->crew.lock);
		if (gone) {
			abandon(w);
			continue;
		}
		pthread_join(w->thread, NULL);
		dx_worker_free(w);
	}
	mte->crew.managed = mte->crew.left = mte->crew.closing = false;
}
