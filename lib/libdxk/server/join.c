// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Join points: a join point is the owner of the tasks that it joins. The continuation is a request
 * of the queue that waits until this owner has no requests, which the module knows. The tasks are
 * counted only so that the continuation can learn of those that have ended without a status.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "internal.h"

/* How long a cancelled continuation sleeps at a time while the tasks have not ended yet */
#define MASKED_NS	1000000000LL

/* The next step of a continuation that has had a turn: RQWait.State */
#define MASKED		1	/* it was cancelled */
#define LEFT		2	/* it waits for the tasks of a join point whose continuation was */

/* Protects which join points are in others: JoinPoint.Inner, .Next, and .Link */
static pthread_mutex_t joined = PTHREAD_MUTEX_INITIALIZER;

/* The wait of a continuation. */
static RQWait join_wait(JoinPoint *j, uint64_t state)
{
	return (RQWait){
		.Sources = DXK_WAIT_JOIN | (j->Mode == JOIN_EAGER ? DXK_WAIT_EAGER : 0),
		.pOObject = state & LEFT ? j->Inner : j,
		.State = state,
	};
}

/* --- join points in others ------------------------------------------------------------ */

static void join_enter(JoinPoint *j, JoinPoint *outer)
{
	pthread_mutex_lock(&joined);
	j->Link = &outer->Inner;
	j->Next = outer->Inner;
	if (j->Next)
		j->Next->Link = &j->Next;
	outer->Inner = j;
	pthread_mutex_unlock(&joined);
}

/* Its continuation is about to run, or will not run. */
static void join_leave(JoinPoint *j)
{
	pthread_mutex_lock(&joined);
	*j->Link = j->Next;
	if (j->Next)
		j->Next->Link = j->Link;
	j->Link = NULL;
	pthread_mutex_unlock(&joined);
}

/*
 * All that @j joins has ended. It may still contain join points whose continuations were cancelled
 * before they had a turn; their tasks continue, and use them. Such a join point may itself contain
 * others of this kind: when its tasks have ended these are next.
 * Return: whether there is one to wait for.
 */
static bool join_left(JoinPoint *j, bool first_over)
{
	JoinPoint *i = j->Inner;

	if (i && first_over) {
		join_leave(i);
		while (i->Inner) {
			JoinPoint *inner = i->Inner;

			join_leave(inner);
			join_enter(inner, j);
		}
	}
	return j->Inner;
}

/* --- ends ------------------------------------------------------------------------------ */

/* Records the status of a task that has ended with one. */
static void join_count(JoinPoint *j, int status)
{
	int32_t none = 0;

	if (status >= 0)
		return;
	__atomic_add_fetch(&j->Failed, 1, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&j->First, &none, status, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
}

static int join_run(JoinPoint *j, Task *task, void *context)
{
	int rc;

	__atomic_add_fetch(&j->Begun, 1, __ATOMIC_RELAXED);
	rc = dxs_run(j->Queue, task, NULL, context, JOINED);
	join_count(j, rc);
	__atomic_add_fetch(&j->Ended, 1, __ATOMIC_RELAXED);
	return rc;
}

int dxs_joined(Runnable *self, void *context)
{
	Task *task = (Task *)((char *)self - offsetof(Task, Joined));

	return join_run(CurrentRequest()->pOObject, task, context);
}

/* All have ended: those that did so without a status have failed, too. */
static void join_count_rest(JoinPoint *j)
{
	if (j->Added == j->Ended)
		return;
	j->Failed += j->Added - j->Ended;
	if (!j->First)
		j->First = j->Begun > j->Ended ? -EOWNERDEAD : -ECANCELED;
}

/* Runs the continuation, which may itself be joined by another one; else it is the queue's. */
static int join_then(JoinPoint *j)
{
	JoinPoint *outer = CurrentRequest()->pOObject;

	if (j->Link)
		join_leave(j);
	if ((void *)outer == j->Queue)
		return dxs_run(j->Queue, j->Then, NULL, j->Context, DEFERRED);
	return join_run(outer, j->Then, j->Context);
}

/*
 * A turn of the continuation. A turn for a reason other than the join does not end it: a time,
 * with which it began because there was no room; a cancel, after which the tasks still end.
 */
static int join_turn(Runnable *self, void *request)
{
	uint64_t state = CurrentRequest()->RQEWaitState;
	JoinPoint *j = request;
	RQWait wait;

	(void)self;
	switch (CurrentRequest()->RQEWake) {
	case DXK_WAKE_NONE:
	case DXK_WAKE_JOIN:
	case DXK_WAKE_DEADLOCK:
		if (!join_left(j, state & LEFT)) {
			join_count_rest(j);
			return join_then(j);
		}
		state |= LEFT;
		break;
	case DXK_WAKE_CANCEL:
	case DXK_WAKE_EXPIRE:
	case DXK_WAKE_STOP:
		state |= MASKED;
	}
	wait = join_wait(j, state);
	if (state & MASKED) {
		wait.Sources |= DXK_WAIT_TIME | DXK_WAIT_MASKED;
		wait.TimeoutNs = MASKED_NS;
	}
	return WaitRequest(&wait);
}

void JoinPoint_init(JoinPoint *join, TaskQueue *queue, Task *then, void *context,
		    enum JoinMode mode)
{
	*join = (JoinPoint){
		.Base.ExecuteThisRequest = join_turn, .Queue = queue, .Then = then,
		.Context = context, .Mode = mode,
	};
}

/* It counts before it can end. */
static int join_add(JoinPoint *j, Task *task, void *context, bool waits)
{
	int rc;

	__atomic_add_fetch(&j->Added, 1, __ATOMIC_RELAXED);
	rc = dxs_push(j->Queue->mte, j, task, &task->Joined, context, waits);
	if (rc)
		__atomic_sub_fetch(&j->Added, 1, __ATOMIC_RELAXED);
	return rc;
}

int JoinPoint_add(JoinPoint *join, Task *task, void *context)
{
	return join_add(join, task, context, true);
}

int JoinPoint_tryAdd(JoinPoint *join, Task *task, void *context)
{
	return join_add(join, task, context, false);
}

static int set(JoinPoint *join, void *owner)
{
	const RQPost post = {
		.pOObject = owner, .pXObject = &join->Base, .pPObject = join,
		.RQEPriority = join->Then->Priority, .RQEAttrs = PXR_QUIET,
	};
	RQOptions options = { .Key = join->Then->Key, .Wait = join_wait(join, 0) };
	int rc = dx_post_beside(join->Queue->mte, &post, &options);

	if (!rc)
		dxs_answers();
	return rc;
}

int JoinPoint_set(JoinPoint *join)
{
	return set(join, join->Queue);
}

int JoinPoint_setIn(JoinPoint *join, JoinPoint *outer)
{
	int rc;

	__atomic_add_fetch(&outer->Added, 1, __ATOMIC_RELAXED);
	join_enter(join, outer);
	rc = set(join, outer);
	if (rc) {
		join_leave(join);
		__atomic_sub_fetch(&outer->Added, 1, __ATOMIC_RELAXED);
	}
	return rc;
}

int JoinPoint_status(const JoinPoint *join, unsigned int *failed)
{
	if (failed)
		*failed = __atomic_load_n(&join->Failed, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&join->First, __ATOMIC_ACQUIRE);
}

int JoinPoint_cancel(JoinPoint *join)
{
	return CancelRequestsOf(join->Queue->mte, join);
}
