// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The worker threads of this process: attach, fetch, call the Runnable, complete
 * and fetch in one call, until the context stops.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dx_internal.h"

/* Slots are aligned as malloc() aligns, so that results can be any object. */
#define SLOT_ALIGN	(2 * sizeof(void *))

static void *pointer(uint64_t cookie)
{
	return (void *)(uintptr_t)cookie;
}

/* --- what a Runnable asks -------------------------------------------------- */

const RQElement *CurrentRequest(void)
{
	return dx_current && dx_current->done ? &dx_current->element : NULL;
}

int SetRequestResult(const void *data, size_t len)
{
	struct dx_worker *w = dx_current;
	unsigned char *slot;

	if (!CurrentRequest())
		return -EPERM;
	if (len > w->element.RQEResultRoom)
		return -EMSGSIZE;
	if (len) {
		slot = w->results + (size_t)(w->done - w->dones) * w->mte->slot;
		memmove(slot, data, len);
		w->done->data = (uintptr_t)slot;
	}
	w->done->data_len = (uint32_t)len;
	return 0;
}

int TakeRequestFd(void)
{
	int fd;

	if (!CurrentRequest())
		return -EPERM;
	fd = dx_current->element.RQEFd;
	if (fd < 0)
		return -ENOENT;
	dx_current->element.RQEFd = -1;
	return fd;
}

/* --- the loop -------------------------------------------------------------- */

static void execute(struct dx_worker *w, unsigned int i)
{
	const struct dxk_work *work = &w->works[i];
	Runnable *runnable = pointer(work->executor);
	struct dxk_done *done = &w->dones[i];

	*done = (struct dxk_done){ .ticket = work->ticket };
	w->element = (RQElement){
		.RQEState = RQE_BUSY,
		.RQEAttrs = work->attrs,
		.RQEPriority = work->prio,
		.RQEInspectCount = work->inspect_count,
		.pOObject = pointer(work->owner),
		.pXObject = runnable,
		.pPObject = pointer(work->param),
		.pData = work->data_len ? w->data + i * w->mte->slot : NULL,
		.RQEDataLen = work->data_len,
		.RQEResultRoom = work->result_len,
		.RQEWorker = w->member->id,
		.RQEFd = work->fd,
	};
	w->done = done;
	atomic_store_explicit(&w->executing, runnable, memory_order_relaxed);
	done->status = runnable->ExecuteThisRequest(runnable, pointer(work->param));
	atomic_store_explicit(&w->executing, NULL, memory_order_relaxed);
	w->done = NULL;
	if (w->element.RQEFd >= 0)
		close(w->element.RQEFd);
}

static void pause_a_little(void)
{
	static const struct timespec ts = { .tv_nsec = 10000000 };

	nanosleep(&ts, NULL);
}

/* Return: 0 when the context stopped. */
static int work(struct dx_worker *w)
{
	MTExecutive *mte = w->mte;
	unsigned int first = 0, nr_done = 0, taken, i;
	int rc;

	for (;;) {
		rc = dxk_next(w->member->fd, w->dones + first, nr_done, &taken,
			      w->works, mte->fetch_max, w->data, mte->slot, -1);
		first += taken;
		nr_done -= taken;

		switch (rc) {
		case 0:		/* completions taken; the next call tells why no work */
		case -EINTR:
			continue;
		case -ESHUTDOWN:
			return 0;
		case -ESTALE:
			LogMessageOf(mte, "a completion came too late, status %d",
				     w->dones[first].status);
			first++;
			nr_done--;
			continue;
		case -ENOMEM:	/* a shortage that can pass; the work stays there */
		case -EMFILE:
		case -ENFILE:
			pause_a_little();
			continue;
		}
		if (rc < 0)
			return rc;

		for (i = 0; i < (unsigned int)rc; i++)
			execute(w, i);
		first = 0;
		nr_done = (unsigned int)rc;
	}
}

static void attached(MTExecutive *mte, int rc)
{
	pthread_mutex_lock(&mte->start.lock);
	if (rc && !mte->start.error)
		mte->start.error = rc;
	if (!--mte->start.missing)
		pthread_cond_signal(&mte->start.all);
	pthread_mutex_unlock(&mte->start.lock);
}

static int allocate(struct dx_worker *w)
{
	const MTExecutive *mte = w->mte;

	w->works = calloc(mte->fetch_max, sizeof(*w->works));
	w->dones = calloc(mte->fetch_max, sizeof(*w->dones));
	if (!w->works || !w->dones)
		return -ENOMEM;
	if (!mte->slot)
		return 0;
	w->data = calloc(mte->fetch_max, mte->slot);
	w->results = calloc(mte->fetch_max, mte->slot);
	return w->data && w->results ? 0 : -ENOMEM;
}

static void *worker_main(void *arg)
{
	struct dx_worker *w = arg;
	int rc;

	/* A cancelled worker would take its request with it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){ 0 });
	rc = allocate(w);
	if (!rc)
		rc = dx_member_join(w->mte, DXK_MEMBER_WORKER, &w->member);
	attached(w->mte, rc);
	if (rc)
		return NULL;

	dx_current = w;
	rc = work(w);
	if (rc)
		LogMessageOf(w->mte, "worker ends: %s", strerror(-rc));
	dx_current = NULL;
	return NULL;
}

/* --- start and end --------------------------------------------------------- */

/* Signals are the application's threads' business, but for a thread's faults. */
static void block_signals(sigset_t *old)
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

/* Workers that attached before a failure are left to dx_workers_join(). */
int dx_workers_start(MTExecutive *mte, unsigned int nr)
{
	pthread_attr_t attr;
	sigset_t old;
	unsigned int i;
	int rc = 0;

	mte->slot = (mte->data_size + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
	if (!nr)
		return 0;
	mte->workers = calloc(nr, sizeof(*mte->workers));
	if (!mte->workers)
		return -ENOMEM;
	rc = pthread_attr_init(&attr);
	if (rc)
		return -rc;
	if (mte->stack_size)
		pthread_attr_setstacksize(&attr, mte->stack_size);

	mte->start.missing = nr;
	block_signals(&old);
	for (i = 0; i < nr && !rc; i++) {
		mte->workers[i].mte = mte;
		rc = pthread_create(&mte->workers[i].thread, &attr, worker_main,
				    &mte->workers[i]);
		mte->nr_workers += !rc;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);

	pthread_mutex_lock(&mte->start.lock);
	mte->start.missing -= nr - mte->nr_workers;
	while (mte->start.missing)
		pthread_cond_wait(&mte->start.all, &mte->start.lock);
	rc = rc ? -rc : mte->start.error;
	pthread_mutex_unlock(&mte->start.lock);
	return rc;
}

/* For a Stop that ran out of time: who still executes what. */
void dx_workers_report(MTExecutive *mte)
{
	unsigned int i;

	for (i = 0; i < mte->nr_workers; i++) {
		struct dx_worker *w = &mte->workers[i];
		void *runnable = atomic_load_explicit(&w->executing,
						      memory_order_relaxed);

		if (runnable)
			LogMessageOf(mte, "worker %u still executes a request of %p",
				     w->member->id, runnable);
	}
}

/* The context is stopped: the workers are at their end or on the way to it. */
void dx_workers_join(MTExecutive *mte)
{
	unsigned int i;

	for (i = 0; i < mte->nr_workers; i++) {
		struct dx_worker *w = &mte->workers[i];

		pthread_join(w->thread, NULL);
		free(w->works);
		free(w->dones);
		free(w->data);
		free(w->results);
	}
	free(mte->workers);
}
