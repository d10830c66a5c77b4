// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The worker threads of this process: attach, fetch, call the Runnable, complete
 * and fetch in one call, until the context stops.
 *
 * The requests that a worker has fetched and executes are in a frame. A worker that waits in a
 * call of its Runnable may be given another request (DXK_CALL_HELP, DXK_CALL_NEST): it executes
 * that in a frame above the one that waits, and continues to wait. The worker's loop is the
 * lowest frame.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* How long a worker with open handles sleeps before it checks them. */
#define LOOK_NS		1000000000LL

static void *pointer(uint64_t cookie)
{
	return (void *)(uintptr_t)cookie;
}

/* --- queries of a Runnable ------------------------------------------------- */

int ShouldStop(int64_t timeout_ns)
{
	struct dx_member *member;
	MTExecutive *mte = NULL;
	int rc = dx_self(&mte, &member);

	return rc ? rc : dxk_should_stop(member->fd, timeout_ns);
}

/* --- execution ------------------------------------------------------------- */

/*
 * The executor of a request: an operation by its number, or a Runnable by its address if it is one
 * of this process.
 */
static int run(const MTExecutive *mte, const struct dxk_work *work, const RQElement *element)
{
	const OperationTable *table = mte->operations;
	Runnable *runnable;

	if (work->executor < DX_OPERATIONS) {
		if (!table || !work->executor || work->executor >= table->Count ||
		    !table->Operations[work->executor])
			return -ENOSYS;
		return table->Operations[work->executor](element);
	}
	if (!(work->origin & DXK_POSTED_HERE))
		return -ENOSYS;
	runnable = pointer(work->executor);
	return runnable->ExecuteThisRequest(runnable, pointer(work->param));
}

/** dx_execute - execute a fetched request, and record how it ended */
void dx_execute(struct dx_worker *w, unsigned int i)
{
	struct dx_frame *f = w->frame;
	const struct dxk_work *work = dx_work(f, i);
	struct dxk_done *done = dx_done(f, i);

	f->begun = i + 1;
	f->waiting = false;
	if (f->more)
		*(struct dxk_done_more *)done = (struct dxk_done_more){ };
	*done = (struct dxk_done){ .ticket = work->ticket };
	f->element = (RQElement){
		.RQEState = RQE_BUSY,
		.RQEAttrs = work->attrs,
		.RQEPriority = work->prio,
		.RQEInspectCount = work->inspect_count,
		.pOObject = pointer(work->owner),
		.pXObject = pointer(work->executor),
		.pPObject = pointer(work->param),
		.pData = work->data_len ? f->data + i * f->slot : NULL,
		.RQEDataLen = work->data_len,
		.RQEResultRoom = work->result_len,
		.RQEWorker = w->member ? w->member->id : 0,
		.RQEAttempts = work->attempt,
		.RQEFd = work->fd,
		/* Named, so that the compiler does not clear the whole before. */
		.RQEKernelExecutor = 0,
		.RQEStatus = 0,
		.RQEWake = 0,
		.RQEEvents = 0,
		.RQETurn = 0,
		.RQEWaitState = 0,
		.pName = NULL,
		.RQEKey = 0,
		.RQENested = 0,
		.Reserved = 0,
	};
	if (f->more)
		dx_turn_tell(&f->element, (const struct dxk_work_more *)work);
	f->done = done;
	done->status = run(w->mte, work, &f->element);
	f->done = NULL;
	if (done->status == RQ_WAITS || f->waiting)
		f->waits += dx_turn_ends(f, done);
	if (f->element.RQEFd >= 0)
		close(f->element.RQEFd);
}

static void pause_a_little(void)
{
	static const struct timespec ts = { .tv_nsec = 10000000 };

	nanosleep(&ts, NULL);
}

static int next(struct dx_worker *w, unsigned int nr_done, unsigned int *taken,
		unsigned int nr_work, int64_t timeout_ns)
{
	struct dx_frame *f = w->frame;
	void *dones = dx_done(f, f->first), *works = f->works;

	return f->more ? dxk_next_more(w->member->fd, dones, nr_done, taken, works, nr_work,
				       f->data, f->slot, timeout_ns) :
			 dxk_next(w->member->fd, dones, nr_done, taken, works, nr_work,
				  f->data, f->slot, timeout_ns);
}

/*
 * One call of the module: completes the requests that the worker's frame has executed, fetches up
 * to @nr_work requests and executes them. DX-28: with handles to close it completes,
 * closes, and leaves the fetch to the next turn.
 *
 * Return: 0, or a negative errno that ends the worker.
 */
static int turn(struct dx_worker *w, unsigned int nr_work, int64_t timeout_ns)
{
	struct dx_frame *f = w->frame;
	unsigned int taken, i, nr_done = f->nr_done;
	int rc;

	if (dx_handles_stale(w)) {
		if (f->nr_done)
			nr_work = 0;
		else
			dx_handles_release(w);
	}
	rc = next(w, nr_done, &taken, nr_work, timeout_ns);
	if (f->waits && rc < 0 && !taken && dx_wait_refused(f, rc)) {
		dx_log_own(w->mte, DX_LOG_WARNING, "a wait is refused: %s", strerror(-rc));
		return 0;
	}
	for (i = 0; i < taken && f->waits; i++)
		f->waits -= dx_done_waits(f, f->first + i);
	f->first += taken;
	f->nr_done -= taken;

	switch (rc) {
	case 0:		/* completions taken; the next call returns why no work */
	case -EINTR:
	case -ETIMEDOUT:
		return 0;
	case -ESTALE:
		dx_log_own(w->mte, DX_LOG_WARNING, "a completion came too late, status %d",
			     dx_done(f, f->first)->status);
		f->waits -= dx_done_waits(f, f->first);
		f->first++;
		f->nr_done--;
		return 0;
	case -ENOMEM:	/* a temporary shortage; the work stays there */
	case -EMFILE:
	case -ENFILE:
		pause_a_little();
		return 0;
	}
	if (rc < 0)
		return rc;

	f->begun = 0;
	f->fetched = (unsigned int)rc;
	/* removed while it slept */
	if (dx_handles_stale(w))
		dx_handles_release(w);
	for (i = 0; i < (unsigned int)rc; i++)
		dx_execute(w, i);
	f->first = 0;
	f->nr_done = (unsigned int)rc;
	return 0;
}

/*
 * DX-27: only a worker itself can close its handles, and only a request, which may never come,
 * wakes it from its sleep.
 * Return: 0 when the context stopped.
 */
static int work(struct dx_worker *w)
{
	int rc;

	do
		rc = turn(w, w->frame->nr, w->owns ? LOOK_NS : -1);
	while (!rc);
	return rc == -ESHUTDOWN ? 0 : rc;
}

/* --- help ------------------------------------------------------------------ */

/* Whether the caller, which waits as @member in a Runnable, has a frame for another request. */
static bool has_frame(const struct dx_member *member)
{
	struct dx_worker *w = dx_current;
	struct dx_frame *f;

	if (!w || w->member != member || !dx_executing())
		return false;
	/* Without memory for a frame the worker waits as under DXK_ON_BLOCK_STRICT. */
	f = w->frame;
	if (!f->above) {
		f->above = dx_frame_new(w->mte, 1);
		if (!f->above)
			return false;
		f->above->below = f;
	}
	return true;
}

/**
 * dx_helps - whether the caller can execute another request while it waits as @member
 * @member: of the calling thread
 *
 * Return: the flag for the call of the module, %DXK_CALL_HELP or 0.
 */
unsigned int dx_helps(const struct dx_member *member)
{
	return dx_current && dx_current->mte->help && has_frame(member) ? DXK_CALL_HELP : 0;
}

/**
 * dx_nests - the same of a request within one that the caller executes
 * @member: of the calling thread
 *
 * Return: the flag for a rejoin, %DXK_CALL_NEST, if one of those requests has a key; or 0.
 */
unsigned int dx_nests(const struct dx_member *member)
{
	const struct dx_frame *f = dx_executing();

	while (f && !f->element.RQEKey)
		f = f->below;
	return f && has_frame(member) ? DXK_CALL_NEST : 0;
}

/**
 * dx_help - execute the request that the module has for the calling worker
 *
 * There may no longer be one. dx_helps() or dx_nests() has returned that the worker can.
 *
 * Return: 0, or a negative errno of the module.
 */
int dx_help(void)
{
	struct dx_worker *w = dx_current;
	int rc;

	w->frame = w->frame->above;
	rc = turn(w, 1, 0);
	while (!rc && w->frame->nr_done)
		rc = turn(w, 0, 0);
	if (!rc && dx_handles_stale(w))
		dx_handles_release(w);
	w->frame = w->frame->below;
	/* The call that waits is notified of a Stop in its own way. */
	return rc == -ESHUTDOWN ? 0 : rc;
}

/* --- the thread ------------------------------------------------------------ */

/*
 * @rc: whether the thread became a worker, as @member. It is no error if another thread has got
 * the place, or it is no longer needed.
 */
static void attached(struct dx_worker *w, struct dx_member *member, int rc)
{
	MTExecutive *mte = w->mte;

	pthread_mutex_lock(&mte->crew.lock);
	w->member = member;
	if (!rc)
		mte->crew.attached++;
	else if (rc != -ENOSPC && rc != -ENODEV && rc != -ESHUTDOWN && !mte->crew.error)
		mte->crew.error = rc;
	mte->crew.starting--;
	pthread_cond_broadcast(&mte->crew.changed);
	pthread_mutex_unlock(&mte->crew.lock);
}

/* The worker and its member are about to end. */
static void ended(struct dx_worker *w)
{
	pthread_mutex_lock(&w->mte->crew.lock);
	w->member = NULL;
	pthread_mutex_unlock(&w->mte->crew.lock);
}

/* The Runnable ended the thread: the module answers the request. */
static void died(void *arg)
{
	struct dx_worker *w = arg;

	dx_current = NULL;
	dx_frames_abandon(w->frame);
	dx_handles_close(w);
	dx_log_own(w->mte, DX_LOG_WARNING, "worker %u left in the middle of a request",
		   w->member->id);
	ended(w);
}

void *dx_worker_main(void *arg)
{
	struct dx_worker *w = arg;
	struct dx_member *member = NULL;
	int rc = -ENOMEM;

	/* A cancelled worker would lose its request. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){ 0 });
	w->tid = gettid();
	w->frame = dx_frame_new(w->mte, w->mte->fetch_max);
	if (w->frame)
		rc = dx_member_join(w->mte, w->kind, &member);
	attached(w, member, rc);
	if (rc)
		return NULL;

	dx_current = w;
	pthread_cleanup_push(died, w);
	rc = work(w);
	pthread_cleanup_pop(0);
	if (rc)
		dx_log_own(w->mte, DX_LOG_WARNING, "worker ends: %s", strerror(-rc));
	dx_handles_close(w);
	dx_current = NULL;
	ended(w);
	return NULL;
}

void dx_worker_free(struct dx_worker *w)
{
	struct dx_frame *f = w->frame, *above;

	/* A worker that left in the middle of a request is not at its lowest frame. */
	while (f && f->below)
		f = f->below;
	for (; f; f = above) {
		above = f->above;
		dx_frame_free(f);
	}
	free(w);
}
