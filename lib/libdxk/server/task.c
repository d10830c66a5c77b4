// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tasks, and the queue of them, which is the Ready Pool.
 *
 * A task has two Runnables, so that the executor of a request shows whether the task is joined; its
 * owner is the queue, or the join point. So a queued task needs no memory except its request.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

/* A task that the thread runs. */
struct run {
	struct run *outer;	/* which waits, and its worker helps meanwhile */
	bool answered;		/* what the leak check tests */
};

static __thread struct run *current;

/* --- a run ---------------------------------------------------------------------------- */

/** dxs_answers - record that the caller's task has responded, deferred, or waits for data */
void dxs_answers(void)
{
	if (current)
		current->answered = true;
}

void Task_answered(void)
{
	dxs_answers();
}

static void leaked(TaskQueue *q, const void *task, const void *context)
{
	atomic_fetch_add(&q->leaks, 1);
	if (q->options.leaked)
		q->options.leaked(q->options.Arg, task, context);
	else
		LogMessageOf(q->mte, "task %p with context %p has neither responded nor deferred",
			     task, context);
}

/**
 * dxs_run - run a task, and check whether it ends in a response or a join point (CO-14)
 * @queue: whose
 * @task: may be gone when it has returned
 * @data: for it
 * @context: for it
 * @what: JOINED: it ends in a join point; SERVES: a failure ends its connection: that is an answer
 *
 * Return: its return value.
 */
int dxs_run(TaskQueue *queue, Task *task, Message *data, void *context, enum dxs_task what)
{
	struct run run = { .outer = current, .answered = what == JOINED };
	int rc;

	current = &run;
	rc = task->run(task, data, context);
	current = run.outer;
	if (!run.answered && !(what == SERVES && rc < 0))
		leaked(queue, task, context);
	/* RQ_WAITS would be no status. */
	return rc == RQ_WAITS ? -EPROTO : rc;
}

static int deferred(Runnable *self, void *context)
{
	Task *task = (Task *)((char *)self - offsetof(Task, Deferred));

	return dxs_run(CurrentRequest()->pOObject, task, NULL, context, DEFERRED);
}

void Task_init(Task *task, TaskRun run)
{
	*task = (Task){
		.Deferred.ExecuteThisRequest = deferred,
		.Joined.ExecuteThisRequest = dxs_joined,
		.run = run,
	};
}

/**
 * dxs_passes - is an error temporary, so that the call is to be made again?
 * @rc: the result of the call
 *
 * Return: true for -EINTR; and, after a sleep of 1 ms, if the caller lacks memory, or a
 * descriptor with which it becomes a member.
 */
bool dxs_passes(int rc)
{
	const struct timespec some = { .tv_nsec = 1000000 };

	if (rc == -EINTR)
		return true;
	if (rc != -EMFILE && rc != -ENFILE && rc != -ENOMEM)
		return false;
	nanosleep(&some, NULL);
	return true;
}

/* --- posts ------------------------------------------------------------------------------ */

/**
 * dxs_post - post a request
 * @waits: for room
 *
 * Return: 0 or a negative errno.
 */
int dxs_post(MTExecutive *mte, const RQPost *post, const RQOptions *options, bool waits)
{
	int rc = PostRequestsWithOf(mte, post, options, 1, waits ? -1 : 0, NULL);

	return rc > 0 ? 0 : rc;
}

/**
 * dxs_push - post a task
 * @owner: the queue or the join point
 * @executor: that of the task for such an owner
 * @waits: for room
 *
 * Return: 0 or a negative errno.
 */
int dxs_push(MTExecutive *mte, void *owner, Task *task, Runnable *executor, void *context,
	     bool waits)
{
	const RQPost post = {
		.pOObject = owner, .pXObject = executor, .pPObject = context,
		.RQEPriority = task->Priority, .RQEAttrs = waits ? PXR_WAITIF_BUSY : 0,
	};
	const RQOptions options = { .Key = task->Key };
	int rc;

	rc = dxs_post(mte, &post, &options, waits);
	if (!rc)
		dxs_answers();
	return rc;
}

/* --- the queue ---------------------------------------------------------------------------- */

TaskQueue *TaskQueue_create(MTExecutive *executive, const TaskQueueOptions *options)
{
	ThreadManagerPolicy policy;
	TaskQueue *q;
	int rc = MTExecutiveGetPolicy(executive, &policy);

	for (unsigned int i = 0; options && i < sizeof(options->Reserved) / sizeof(void *); i++)
		if (options->Reserved[i])
			rc = -EINVAL;
	if (!rc && !policy.TPMaxWaiting)
		rc = -EOPNOTSUPP;
	q = rc ? NULL : calloc(1, sizeof(*q));
	if (!q) {
		errno = rc ? -rc : ENOMEM;
		return NULL;
	}
	q->mte = executive;
	if (options)
		q->options = *options;
	return q;
}

void TaskQueue_destroy(TaskQueue *queue)
{
	int rc;

	if (!queue)
		return;
	/* Its requests have no results: it is over when none exists. Workers use the queue. */
	do
		rc = RejoinWaitOf(queue->mte, queue, NULL, -1);
	while (rc == RJR_RETURNED || rc == RJR_NONE_READY || rc == -ESHUTDOWN || dxs_passes(rc));
	free(queue);
}

int TaskQueue_push(TaskQueue *queue, Task *task, void *context)
{
	return dxs_push(queue->mte, queue, task, &task->Deferred, context, true);
}

int TaskQueue_tryPush(TaskQueue *queue, Task *task, void *context)
{
	return dxs_push(queue->mte, queue, task, &task->Deferred, context, false);
}

uint64_t TaskQueue_leaks(TaskQueue *queue)
{
	return atomic_load(&queue->leaks);
}
