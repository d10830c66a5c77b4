// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The worker threads of this process: attach, fetch, call the Runnable, complete
 * and fetch in one call, until the context stops.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dx_internal.h"

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

int ShouldStop(int64_t timeout_ns)
{
	struct dx_member *member;
	MTExecutive *mte = NULL;
	int rc = dx_self(&mte, &member);

	return rc ? rc : dxk_should_stop(member->fd, timeout_ns);
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
		.RQEAttempts = work->attempt,
		.RQEFd = work->fd,
	};
	w->done = done;
	done->status = runnable->ExecuteThisRequest(runnable, pointer(work->param));
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
	bool stale;
	int rc;

	for (;;) {
		/* DX-28: with handles to close it completes, closes, and fetches. */
		stale = dx_handles_stale(w);
		if (stale && !nr_done) {
			dx_handles_release(w);
			stale = false;
		}
		rc = dxk_next(w->member->fd, w->dones + first, nr_done, &taken,
			      w->works, stale ? 0 : mte->fetch_max, w->data,
			      mte->slot, -1);
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

		/* removed while it slept */
		if (dx_handles_stale(w))
			dx_handles_release(w);
		for (i = 0; i < (unsigned int)rc; i++)
			execute(w, i);
		first = 0;
		nr_done = (unsigned int)rc;
	}
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

/* The Runnable ended the thread: the request is answered for by the module. */
static void died(void *arg)
{
	struct dx_worker *w = arg;

	dx_current = NULL;
	dx_handles_close(w);
	LogMessageOf(w->mte, "worker %u left in the middle of a request", w->member->id);
	dx_worker_ended(w, true);
}

/* A place that the policy has just got is there after the Monitor's next review. */
static int join_crew(struct dx_worker *w)
{
	unsigned int patience = 500;
	int rc;

	while ((rc = dx_member_join(w->mte, DXK_MEMBER_WORKER, &w->member)) == -ENOSPC &&
	       patience-- && !dx_worker_surplus(w))
		pause_a_little();
	return rc;
}

void *dx_worker_main(void *arg)
{
	struct dx_worker *w = arg;
	int rc;

	/* A cancelled worker would take its request with it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){ 0 });
	rc = allocate(w);
	if (!rc)
		rc = join_crew(w);
	dx_worker_attached(w, rc);
	if (rc)
		return NULL;

	dx_current = w;
	pthread_cleanup_push(died, w);
	rc = work(w);
	pthread_cleanup_pop(0);
	if (rc)
		LogMessageOf(w->mte, "worker ends: %s", strerror(-rc));
	dx_handles_close(w);
	dx_current = NULL;
	/* Was it told to leave a context that goes on? */
	dx_worker_ended(w, !rc && !dxk_should_stop(w->member->fd, 0));
	return NULL;
}

void dx_worker_free(struct dx_worker *w)
{
	free(w->works);
	free(w->dones);
	free(w->data);
	free(w->results);
	free(w);
}
