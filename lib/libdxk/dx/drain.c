// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The drain: a thread that writes what is in the Log Pool to the log. It ends when
 * the context has stopped and the pool is empty. A drain that has not ended by the next
 * Start continues.
 *
 * After an error that time or another file may cure, it retries, so that nothing is lost. Any
 * other error drops the message, which is counted, and the next line that can be written is
 * preceded by "n lost". A thread that logs must not wait for a file that will never take a line
 * again, and the destructor must not wait for a reader that does not read.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"

#define RETRY_NS	(100 * 1000 * 1000)
#define READER_NS	(10 * 1000 * 1000)
/* Retries of a line for a reader that takes nothing, once the destructor waits. */
#define PATIENCE	200

static bool can_pass(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EAGAIN || err == -EIO ||
	       err == -ENOMEM || err == -ENOBUFS;
}

/* Return: whether a thread empties the pool. */
bool dx_log_drains(struct dx_log *log)
{
	return log->threaded && !atomic_load(&log->ended);
}

/* Return: whether there was one that has done its work. */
bool dx_log_left(struct dx_log *log)
{
	return log->threaded && atomic_load(&log->ended);
}

/**
 * dx_log_pause - wait a little, or until there is another file or the executive ends
 * @log: locked, but not meanwhile
 * @err: the reason: %-EAGAIN for a reader, which may be as fast as the writer
 */
void dx_log_pause(struct dx_log *log, int err)
{
	uint64_t at = dx_now() + (err == -EAGAIN ? READER_NS : RETRY_NS);
	struct timespec ts = {
		.tv_sec = (time_t)(at / 1000000000),
		.tv_nsec = (long)(at % 1000000000),
	};

	pthread_cond_timedwait(&log->moved, &log->lock, &ts);
}

/*
 * Return: whether the executive is to stop waiting. A reader that takes a line now and then is not
 * given up. The caller holds log->lock.
 */
static bool given_up(struct dx_log *log, int err)
{
	return log->quit && (err != -EAGAIN || ++log->tries > PATIENCE);
}

/* The message is in the file, or was dropped. The caller holds log->lock. */
static void pass(struct dx_log *log, const struct dxk_log_record *rec, bool written)
{
	/* a gap has the number of the first message that was lost */
	uint64_t nr = rec->lost ? rec->lost : 1;

	log->pooled_seq = rec->seq + nr - 1;
	log->seq = log->base + log->pooled_seq;
	if (!written)
		log->lost += nr;
}

/* Return: false when it cannot be written now, and is not to be retried any longer. */
static bool drain_record(struct dx_log *log, const struct dxk_log_record *rec)
{
	char line[DX_LINE_MAX];
	size_t len;
	int rc;

	len = dx_line_format(line, rec, log->base + rec->seq,
			     rec->flags & DXK_LOG_GAP ? -1 : (long)rec->thread);
	pthread_mutex_lock(&log->lock);
	log->tries = 0;
	while (can_pass(rc = dx_line_write(log, line, len)) && !given_up(log, rc)) {
		/* While the drain waits for a reader, callers of a stopped context wait, too. */
		log->error = rc == -EAGAIN ? 0 : rc;
		pthread_cond_broadcast(&log->moved);
		dx_log_pause(log, rc);
	}
	log->error = 0;
	if (rc)
		dx_line_give_up(log);
	pass(log, rec, !rc);
	pthread_mutex_unlock(&log->lock);
	return !can_pass(rc);
}

/* Drops the rest: @nr messages that were read, and those in the pool. */
static void drain_drop(MTExecutive *mte, const struct dxk_log_record *rec, int nr)
{
	struct dx_log *log = &mte->env.log;

	do {
		pthread_mutex_lock(&log->lock);
		while (nr-- > 0)
			pass(log, rec++, false);
		pthread_mutex_unlock(&log->lock);
		rec = log->recs;
		nr = dxk_log_read(mte->ctx, log->recs, DXK_BATCH_MAX, 0);
	} while (nr > 0);
	pthread_mutex_lock(&log->lock);
	dx_lost_write(log);
	pthread_mutex_unlock(&log->lock);
}

/* The context has stopped. Return: whether it was started again meanwhile. */
static bool drain_goes_on(struct dx_log *log)
{
	bool again;

	pthread_mutex_lock(&log->lock);
	again = log->again;
	log->again = false;
	atomic_store(&log->ended, !again);
	pthread_cond_broadcast(&log->moved);
	pthread_mutex_unlock(&log->lock);
	return again;
}

/* The maximum number of messages that a turn writes, by the current policy (DX-100). */
static unsigned int log_batch(MTExecutive *mte)
{
	struct dxk_policy policy;

	if (dxk_policy_get(mte->ctx, &policy) < 0 || policy.log_batch > DXK_BATCH_MAX)
		return DXK_BATCH_MAX;
	return policy.log_batch;
}

/* Waits for messages. Return: how many are in log->recs, or a negative errno. */
static int drain_read(MTExecutive *mte)
{
	return dxk_log_read(mte->ctx, mte->env.log.recs, log_batch(mte), -1);
}

static void *drain_main(void *arg)
{
	MTExecutive *mte = arg;
	struct dx_log *log = &mte->env.log;
	int rc, i;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){ 0 });
	do {
		while ((rc = drain_read(mte)) >= 0 || rc == -EINTR) {
			for (i = 0; i < rc && drain_record(log, &log->recs[i]); i++)
				;
			if (i < rc)
				drain_drop(mte, &log->recs[i + 1], rc - i - 1);
		}
	} while (drain_goes_on(log));
	return NULL;
}

/* The kernel is to write the log. The context does not run yet. */
int dx_log_hand_over(MTExecutive *mte)
{
	int rc = dxk_log_file(mte->ctx, mte->env.log.fd);

	mte->env.log.pooled = rc >= 0;
	return rc < 0 ? rc : 0;
}

static void drain_join(struct dx_log *log)
{
	if (log->threaded)
		pthread_join(log->thread, NULL);
	log->threaded = false;
	free(log->recs);
	log->recs = NULL;
}

static int drain_start(MTExecutive *mte)
{
	struct dx_log *log = &mte->env.log;
	sigset_t all, old;
	int rc;

	log->recs = calloc(DXK_BATCH_MAX, sizeof(*log->recs));
	if (!log->recs)
		return -ENOMEM;
	log->base = log->seq - log->pooled_seq;
	log->ended = false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&log->thread, NULL, drain_main, mte);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	log->pooled = log->threaded = !rc;
	return -rc;
}

/* The context runs: from here on messages go through the Log Pool. */
int dx_log_start(MTExecutive *mte)
{
	struct dx_log *log = &mte->env.log;
	bool goes_on;

	if (log->kernel)
		return 0;
	pthread_mutex_lock(&log->lock);
	goes_on = log->again = dx_log_drains(log);
	pthread_mutex_unlock(&log->lock);
	if (goes_on)
		return 0;
	drain_join(log);
	return drain_start(mte);
}

/* The executive ends. The context is stopped, or never ran: the thread is at its end. */
void dx_log_stop(MTExecutive *mte)
{
	struct dx_log *log = &mte->env.log;

	pthread_mutex_lock(&log->lock);
	log->quit = true;
	pthread_cond_broadcast(&log->moved);
	pthread_mutex_unlock(&log->lock);
	drain_join(log);
}

/* The same after a start that failed: the environment stays, and its log is synchronous. */
void dx_log_retreat(struct dx_log *log)
{
	log->quit = log->again = log->pooled = log->kernel = false;
	log->pooled_seq = 0;
}
