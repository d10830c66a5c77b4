// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The persistent log. Before Start and after Stop a message is written by its
 * caller; while the context runs it enters the Log Pool, from where the drain
 * thread of this process writes it, or, with DX_LOG_WRITER_KERNEL, the kernel.
 *
 * The drain thread ends when the context has stopped and the pool is empty. Only
 * then callers write again, so that the order of the lines is that of the
 * messages. What cannot be written is kept and tried again.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "../../../dxk/engine/text.h"

/* Room for a line: the message and what goes in front and behind. */
#define LINE_MAX_LEN	(DXK_LOG_TEXT + 128)
#define NSEC_PER_SEC	1000000000ULL
#define RETRY_NS	(100 * 1000 * 1000)

static int log_open(const char *path)
{
	int fd;

	if (path)
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	else
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

int dx_log_init(struct dx_log *log, const char *path)
{
	int rc, cancel;

	if (path) {
		log->path = strdup(path);
		if (!log->path)
			return -ENOMEM;
	}
	cancel = dx_lock();
	rc = log->fd = log_open(path);
	dx_unlock(cancel);
	return rc < 0 ? rc : 0;
}

void dx_log_setup(struct dx_log *log)
{
	pthread_condattr_t attr;

	log->fd = -1;
	pthread_mutex_init(&log->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&log->moved, &attr);
	pthread_condattr_destroy(&attr);
}

void dx_log_exit(struct dx_log *log)
{
	pthread_cond_destroy(&log->moved);
	pthread_mutex_destroy(&log->lock);
	free(log->path);
}

/* --- lines ----------------------------------------------------------------- */

/* Formats a message as the module would: what is too long is cut and marked. */
static int message_format(struct dxk_log_record *rec, const char *format,
			  va_list args)
{
	int len = vsnprintf(rec->text, sizeof(rec->text), format, args);

	if (len < 0)
		return -EINVAL;
	rec->flags = 0;
	if ((size_t)len >= sizeof(rec->text)) {
		rec->flags = DXK_LOG_CUT;
		len = sizeof(rec->text) - 1;
	}
	while (len && rec->text[len - 1] == '\n')
		len--;
	rec->text[len] = '\0';
	rec->len = (uint32_t)len;
	dxk_text_clean(rec->text, rec->len, false);
	return 0;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/*
 * As gmtime_r(3) and strftime(3), which take a lock that the child of a fork() may find
 * taken for ever. A year that begins in March has its odd day at the end.
 */
static void utc_format(char *text, size_t room, uint64_t s)
{
	uint64_t days = s / 86400 + 719468;	/* since March 1, 0000 */
	unsigned int day = (unsigned int)(days % 146097), year, month;

	s %= 86400;
	year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153;
	day -= (153 * month + 2) / 5;
	year += (unsigned int)(days / 146097) * 400 + (month >= 10);
	snprintf(text, room, "%04u-%02u-%02uT%02u:%02u:%02u", year,
		 month < 10 ? month + 3 : month - 9, day + 1, (unsigned int)(s / 3600),
		 (unsigned int)(s / 60 % 60), (unsigned int)(s % 60));
}

/* @thread: its id, below 0 for none. */
static size_t line_format(char *line, const struct dxk_log_record *rec,
			  uint64_t seq, long thread)
{
	uint64_t real = clock_ns(CLOCK_REALTIME) -
			(clock_ns(CLOCK_MONOTONIC) - rec->time_ns);
	char utc[80], id[24] = "-";

	utc_format(utc, sizeof(utc), real / NSEC_PER_SEC);
	if (thread >= 0)
		snprintf(id, sizeof(id), "%ld", thread);
	return (size_t)snprintf(line, LINE_MAX_LEN,
				"%llu %llu.%09llu %s.%06lluZ %s %s%s\n",
				(unsigned long long)seq,
				(unsigned long long)(rec->time_ns / NSEC_PER_SEC),
				(unsigned long long)(rec->time_ns % NSEC_PER_SEC), utc,
				(unsigned long long)(real % NSEC_PER_SEC / 1000), id,
				rec->text, rec->flags & DXK_LOG_CUT ? " [cut]" : "");
}

/*
 * Writes what is left of a line: log->done bytes of it are in the file. One that
 * was given up in its midst gets its end first. The caller holds log->lock.
 */
static int line_write(struct dx_log *log, const char *line, size_t len)
{
	while (log->torn || log->done < len) {
		const char *p = log->torn ? "\n" : line + log->done;
		ssize_t n = write(log->fd, p, log->torn ? 1 : len - log->done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!log->torn)
			log->done += (size_t)n;
		else if (n)
			log->torn = false;
	}
	log->done = 0;
	return 0;
}

/* --- the drain ------------------------------------------------------------- */

/* Waits a little, or until another file is there or the executive goes. */
static void retry_wait(struct dx_log *log)
{
	uint64_t at = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
	struct timespec ts = {
		.tv_sec = (time_t)(at / NSEC_PER_SEC),
		.tv_nsec = (long)(at % NSEC_PER_SEC),
	};

	pthread_cond_timedwait(&log->moved, &log->lock, &ts);
}

/* Return: false when the message could not be written and never will be. */
static bool drain_record(struct dx_log *log, const struct dxk_log_record *rec)
{
	char line[LINE_MAX_LEN];
	size_t len;
	int rc;

	len = line_format(line, rec, log->base + rec->seq,
			  rec->flags & DXK_LOG_GAP ? -1 : (long)rec->thread);
	pthread_mutex_lock(&log->lock);
	while ((rc = line_write(log, line, len)) && !log->quit) {
		/* the callers of a stopped context must not wait for it */
		log->error = rc;
		pthread_cond_broadcast(&log->moved);
		retry_wait(log);
	}
	log->error = rc;
	/* a gap has the number of the first message that was lost */
	log->pooled_seq = rec->seq + (rec->lost ? rec->lost - 1 : 0);
	log->seq = log->base + log->pooled_seq;
	pthread_mutex_unlock(&log->lock);
	return !rc;
}

static void *drain_main(void *arg)
{
	MTExecutive *mte = arg;
	struct dx_log *log = &mte->env.log;
	bool more = true;
	int rc, i;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){ 0 });
	while (more) {
		rc = dxk_log_read(mte->ctx, log->recs, DXK_BATCH_MAX, -1);
		if (rc == -EINTR)
			continue;
		more = rc > 0;
		for (i = 0; i < rc && more; i++)
			more = drain_record(log, &log->recs[i]);
	}
	pthread_mutex_lock(&log->lock);
	log->ended = true;
	pthread_cond_broadcast(&log->moved);
	pthread_mutex_unlock(&log->lock);
	return NULL;
}

/* The kernel shall write the log. The context does not run yet. */
int dx_log_hand_over(MTExecutive *mte)
{
	int rc = dxk_log_file(mte->ctx, mte->env.log.fd);

	mte->env.log.pooled = rc >= 0;
	return rc < 0 ? rc : 0;
}

/* The context runs: from here on messages go through the Log Pool. */
int dx_log_start(MTExecutive *mte)
{
	struct dx_log *log = &mte->env.log;
	sigset_t all, old;
	int rc;

	if (log->kernel)
		return 0;
	log->recs = calloc(DXK_BATCH_MAX, sizeof(*log->recs));
	if (!log->recs)
		return -ENOMEM;
	log->base = log->seq - log->pooled_seq;
	log->ended = log->quit = false;
	log->error = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&log->thread, NULL, drain_main, mte);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	log->pooled = log->threaded = !rc;
	return -rc;
}

/* The context is stopped, or never ran: the thread is at its end. */
void dx_log_stop(MTExecutive *mte)
{
	struct dx_log *log = &mte->env.log;

	if (log->threaded) {
		pthread_mutex_lock(&log->lock);
		log->quit = true;
		pthread_cond_broadcast(&log->moved);
		pthread_mutex_unlock(&log->lock);
		pthread_join(log->thread, NULL);
		log->threaded = false;
	}
	free(log->recs);
	log->recs = NULL;
}

/* --- messages -------------------------------------------------------------- */

/* Writes the message before it returns, behind all that the pool held. */
static int write_now(MTExecutive *mte, struct dxk_log_record *rec)
{
	const struct dx_member *member = dx_member_find(mte);
	struct dx_log *log = &mte->env.log;
	char line[LINE_MAX_LEN];
	int rc;

	pthread_mutex_lock(&log->lock);
	while (log->threaded && !log->ended && !log->error)
		pthread_cond_wait(&log->moved, &log->lock);
	rc = log->threaded && !log->ended ? log->error : 0;
	if (!rc) {
		rec->time_ns = clock_ns(CLOCK_MONOTONIC);
		rc = line_write(log, line, line_format(line, rec, log->seq + 1, member ?
						       (long)member->id : -1));
		log->torn |= log->done > 0;
		log->done = 0;
		log->seq += !rc;
	}
	pthread_mutex_unlock(&log->lock);
	return rc;
}

/* -ENODEV: the context does not run, and the kernel has no file. */
static int write_pooled(MTExecutive *mte, const struct dxk_log_record *rec)
{
	size_t len = rec->len + (rec->flags & DXK_LOG_CUT ? 1 : 0);
	struct dx_member *member;
	int rc;

	rc = dx_self(&mte, &member);
	if (!rc)
		rc = dxk_log_write(member->fd, rec->text, len, DXK_LOG_WAIT, -1);
	/* It slept when the context stopped; now the log is synchronous. */
	if (rc == -ESHUTDOWN)
		rc = dxk_log_write(member->fd, rec->text, len, 0, 0);
	return rc;
}

static int log_write(MTExecutive *mte, const char *format, va_list args)
{
	struct dxk_log_record rec;
	int rc, cancel;

	mte = dx_executive(mte);
	if (!mte)
		return -ENXIO;
	if (atomic_load(&mte->foreign))
		return -EPERM;
	rc = message_format(&rec, format, args);
	if (rc)
		return rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rc = mte->env.log.pooled ? write_pooled(mte, &rec) : -ENODEV;
	if (rc == -ENODEV)
		rc = write_now(mte, &rec);
	pthread_setcancelstate(cancel, NULL);
	return rc;
}

int LogMessage(const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = log_write(NULL, format, args);
	va_end(args);
	return rc;
}

int LogMessageOf(MTExecutive *mte, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = log_write(mte, format, args);
	va_end(args);
	return rc;
}

/* --- another file ---------------------------------------------------------- */

static int rotate(MTExecutive *mte)
{
	struct dx_log *log = &mte->env.log;
	int fd, rc = 0;

	fd = log_open(log->path);
	if (fd < 0)
		return fd;
	if (log->kernel)
		rc = dxk_log_file(mte->ctx, fd);
	if (rc >= 0) {
		/* The number stays: fork() and the destructor know it. */
		pthread_mutex_lock(&log->lock);
		rc = dup3(fd, log->fd, O_CLOEXEC) < 0 ? -errno : 0;
		/* A line that the old file did not take whole is written again. */
		log->done = 0;
		log->torn = false;
		pthread_cond_broadcast(&log->moved);
		pthread_mutex_unlock(&log->lock);
	}
	close(fd);
	return rc;
}

int LogRotateOf(MTExecutive *mte)
{
	int rc, cancel;

	mte = dx_executive(mte);
	if (!mte)
		return -ENXIO;
	if (atomic_load(&mte->foreign))
		return -EPERM;
	if (!mte->env.log.path)
		return -EINVAL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rc = rotate(mte);
	pthread_setcancelstate(cancel, NULL);
	return rc;
}

int LogRotate(void)
{
	return LogRotateOf(NULL);
}
