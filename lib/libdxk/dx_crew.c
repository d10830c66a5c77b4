// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The worker threads of this process: as many as the policy has places for. The
 * module tells a surplus one to go; a thread that a Runnable ended is replaced.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "dx_internal.h"

/* Slots are aligned as malloc() aligns, so that results can be any object. */
#define SLOT_ALIGN	(2 * sizeof(void *))

/* Signals are the application's threads' business, but for a thread's faults. */
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

/* All below with crew.lock held. */

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

static int worker_start(MTExecutive *mte)
{
	struct dx_worker *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return -ENOMEM;
	w->mte = mte;
	rc = thread_start(mte, w);
	if (rc) {
		free(w);
		return rc;
	}
	w->next = mte->crew.workers;
	mte->crew.workers = w;
	mte->crew.nr++;
	mte->crew.starting++;
	return 0;
}

/* Forgets the threads that have ended, other than the caller. */
static void reap(MTExecutive *mte)
{
	struct dx_worker **p = &mte->crew.workers, *w;

	while ((w = *p)) {
		if (!w->ended || pthread_equal(w->thread, pthread_self())) {
			p = &w->next;
			continue;
		}
		*p = w->next;
		pthread_join(w->thread, NULL);
		dx_worker_free(w);
	}
}

static int fit(MTExecutive *mte)
{
	int rc = 0;

	reap(mte);
	while (!rc && !mte->crew.closing && mte->crew.nr < mte->crew.wanted)
		rc = worker_start(mte);
	return rc;
}

/* --- of the workers -------------------------------------------------------- */

/* Is there no place to wait for, because the crew became smaller meanwhile? */
bool dx_worker_surplus(struct dx_worker *w)
{
	MTExecutive *mte = w->mte;
	bool surplus;

	pthread_mutex_lock(&mte->crew.lock);
	surplus = mte->crew.nr > mte->crew.wanted || mte->crew.closing;
	pthread_mutex_unlock(&mte->crew.lock);
	return surplus;
}

/*
 * @rc: whether the thread became a worker; one that did not has ended, which is no
 * error of a crew that has no need of it.
 */
void dx_worker_attached(struct dx_worker *w, int rc)
{
	MTExecutive *mte = w->mte;

	pthread_mutex_lock(&mte->crew.lock);
	if (rc) {
		w->ended = true;
		if (mte->crew.nr-- <= mte->crew.wanted && !mte->crew.error)
			mte->crew.error = rc;
	}
	mte->crew.starting--;
	pthread_cond_broadcast(&mte->crew.changed);
	pthread_mutex_unlock(&mte->crew.lock);
}

/*
 * @runs: the context goes on without this worker. If it died another one takes its
 * place; if it was told to leave, the crew may have been made larger meanwhile.
 */
void dx_worker_ended(struct dx_worker *w, bool runs)
{
	MTExecutive *mte = w->mte;

	pthread_mutex_lock(&mte->crew.lock);
	w->ended = true;
	mte->crew.nr--;
	if (runs)
		fit(mte);
	pthread_mutex_unlock(&mte->crew.lock);
}

/* --- of the executive ------------------------------------------------------ */

void dx_crew_init(MTExecutive *mte)
{
	pthread_mutex_init(&mte->crew.lock, NULL);
	pthread_cond_init(&mte->crew.changed, NULL);
}

void dx_crew_exit(MTExecutive *mte)
{
	pthread_cond_destroy(&mte->crew.changed);
	pthread_mutex_destroy(&mte->crew.lock);
}

/**
 * dx_crew_resize - have @nr worker threads
 * @mte: its context runs, with places for them now or after its next review
 * @nr: with fewer than now, those that the module lets go end by themselves
 *
 * Return: 0 when they are workers; the error of the first that is not. Those that
 * are stay.
 */
int dx_crew_resize(MTExecutive *mte, unsigned int nr)
{
	int rc;

	mte->slot = (mte->data_size + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
	pthread_mutex_lock(&mte->crew.lock);
	mte->crew.wanted = nr;
	mte->crew.error = 0;
	rc = fit(mte);
	while (mte->crew.starting)
		pthread_cond_wait(&mte->crew.changed, &mte->crew.lock);
	if (!rc)
		rc = mte->crew.error;
	pthread_mutex_unlock(&mte->crew.lock);
	return rc;
}

/* The context is stopped: the workers are at their end or on the way to it. */
void dx_crew_join(MTExecutive *mte)
{
	struct dx_worker *w;

	pthread_mutex_lock(&mte->crew.lock);
	mte->crew.closing = true;
	pthread_mutex_unlock(&mte->crew.lock);
	/* From here on nobody adds to the list. */
	while ((w = mte->crew.workers)) {
		mte->crew.workers = w->next;
		pthread_join(w->thread, NULL);
		dx_worker_free(w);
	}
}
