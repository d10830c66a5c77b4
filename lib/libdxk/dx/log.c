// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The persistent log. Before Start and after Stop a message is written by its
 * caller; while the context runs it enters the Log Pool, from where the drain
 * (drain.c) writes it, or, with DX_LOG_WRITER_KERNEL, the kernel. Callers write
 * again when the drain has ended, so that the order of the lines is that of the
 * messages.
 *
 * The library's own messages, dx_log_own(), never wait: neither for room nor for a
 * file or a reader. A thread that waited could not do its work.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"
#include "../../../dxk/engine/text.h"

#define NSEC_PER_SEC	1000000000ULL

static bool is_pipe(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISFIFO(st.st_mode);
}

/*
 * Standard error. Other processes have it, too, so a pipe is opened once more, and
 * only that descriptor is made non-blocking.
 */
static int open_stderr(void)
{
	int fd = -1;

	if (is_pipe(STDERR_FILENO))
		fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : fd;
}

/* Not under the library's lock: a FIFO waits for its reader. */
static int log_open(const char *path)
{
	int fd;

	if (path)
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY,
			  0666);
	else
		fd = open_stderr();
	fd = dx_fd(fd < 0 ? -errno : fd);
	if (fd >= 0 && path && is_pipe(fd))
		fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK);
	return fd;
}

int dx_log_init(struct dx_log *log, const char *path)
{
	int fd, cancel;

	if (path) {
		log->path = strdup(path);
		if (!log->path)
			return -ENOMEM;
	}
	fd = log_open(path);
	cancel = dx_lock();
	log->fd = fd;
	dx_unlock(cancel);
	return fd < 0 ? fd : 0;
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

/* The prefix of a message; most messages have none. */
static const char *const prefix[] = {
	[DX_LOG_ERROR] = "error: ",
	[DX_LOG_WARNING] = "warning: ",
	[DX_LOG_INFO] = "",
	[DX_LOG_DEBUG] = "debug: ",
};

/*
 * Formats a message as the module would: a message that is too long is cut and marked.
 * Return: where it begins, after its severity.
 */
static int message_format(struct dxk_log_record *rec, unsigned int severity,
			  const char *format, va_list args)
{
	int begin = (int)strlen(prefix[severity]), len;

	memcpy(rec->text, prefix[severity], (size_t)begin);
	len = vsnprintf(rec->text + begin, sizeof(rec->text) - (size_t)begin, format, args);
	if (len < 0)
		return -EINVAL;
	len += begin;
	rec->flags = (size_t)len < sizeof(rec->text) ? 0 : DXK_LOG_CUT;
	if (rec->flags)
		len = sizeof(rec->text) - 1;
	/* the end of the cut is in the middle of the message */
	while (len && !rec->flags && rec->text[len - 1] == '\n')
		len--;
	rec->text[len] = '\0';
	rec->len = (uint32_t)len;
	dxk_text_clean(rec->text, rec->len, false);
	return begin;
}

static uint64_t real_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/*
 * As gmtime_r(3) and strftime(3), which take a lock that may remain taken in the
 * child of a fork(). A year that begins in March has its odd day at the end.
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

/* @thread: its id, below 0 for none. Return: its length. */
size_t dx_line_format(char *line, const struct dxk_log_record *rec,
		      uint64_t seq, long thread)
{
	uint64_t real = real_now() - (dx_now() - rec->time_ns);
	char utc[80], id[24] = "-";

	utc_format(utc, sizeof(utc), real / NSEC_PER_SEC);
	if (thread >= 0)
		snprintf(id, sizeof(id), "%ld", thread);
	return (size_t)snprintf(line, DX_LINE_MAX,
				"%llu %llu.%09llu %s.%06lluZ %s %s%s\n",
				(unsigned long long)seq,
				(unsigned long long)(rec->time_ns / NSEC_PER_SEC),
				(unsigned long long)(rec->time_ns % NSEC_PER_SEC), utc,
				(unsigned long long)(real % NSEC_PER_SEC / 1000), id,
				rec->text, rec->flags & DXK_LOG_CUT ? " [cut]" : "");
}

/* Whether a write would sleep until a reader has read. */
static bool is_full(const struct dx_log *log)
{
	struct pollfd p = { .fd = log->fd, .events = POLLOUT };

	return !poll(&p, 1, 0);
}

/*
 * Writes the rest of a line: log->done bytes of it are in the file. A line that
 * was given up in the middle gets its end first. The caller holds log->lock, so it
 * does not wait for a reader: -EAGAIN.
 */
static int rest_write(struct dx_log *log, const char *line, size_t len)
{
	while (log->torn || log->done < len) {
		const char *p = log->torn ? "\n" : line + log->done;
		ssize_t n;

		if (is_full(log))
			return -EAGAIN;
		n = write(log->fd, p, log->torn ? 1 : len - log->done);
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

/* The line that was begun is not continued. The caller holds log->lock. */
void dx_line_give_up(struct dx_log *log)
{
	log->torn |= log->done > 0;
	log->done = 0;
}

/**
 * dx_lost_write - report how many messages were dropped since the last line
 * @log: locked; their numbers are the last ones
 *
 * Return: 0, or the error because of which it is still to be reported.
 */
int dx_lost_write(struct dx_log *log)
{
	struct dxk_log_record rec = { .time_ns = dx_now() };
	char line[DX_LINE_MAX];
	int rc;

	if (!log->lost)
		return 0;
	snprintf(rec.text, sizeof(rec.text), "%llu lost", (unsigned long long)log->lost);
	rc = rest_write(log, line,
			dx_line_format(line, &rec, log->seq - log->lost + 1, -1));
	if (rc)
		dx_line_give_up(log);
	else
		log->lost = 0;
	return rc;
}

/**
 * dx_line_write - write a line, or continue it
 * @log: locked
 * @line: of dx_line_format()
 * @len: its length
 *
 * Return: 0; an error after which it can be called again, or dx_line_give_up().
 */
int dx_line_write(struct dx_log *log, const char *line, size_t len)
{
	int rc = dx_lost_write(log);

	return rc ? rc : rest_write(log, line, len);
}

/* --- messages -------------------------------------------------------------- */

/* Whether a line would have to wait, or a missing reader would end the process. */
static bool would_wait(const struct dx_log *log)
{
	struct pollfd p = { .fd = log->fd, .events = POLLOUT };

	return poll(&p, 1, 0) != 1 || p.revents != POLLOUT;
}

/* The caller holds log->lock. */
static int write_line(MTExecutive *mte, struct dxk_log_record *rec)
{
	const struct dx_member *member = dx_member_find(mte);
	struct dx_log *log = &mte->env.log;
	char line[DX_LINE_MAX];
	int rc;

	rec->time_ns = dx_now();
	rc = dx_line_write(log, line, dx_line_format(line, rec, log->seq + 1, member ?
						     (long)member->id : -1));
	dx_line_give_up(log);
	log->seq += !rc;
	return rc;
}

/* Writes the message before it returns, after all messages that the pool held. */
static int write_now(MTExecutive *mte, struct dxk_log_record *rec)
{
	struct dx_log *log = &mte->env.log;
	int rc;

	pthread_mutex_lock(&log->lock);
	for (;;) {
		while (dx_log_drains(log) && !log->error)
			pthread_cond_wait(&log->moved, &log->lock);
		rc = dx_log_drains(log) ? log->error : write_line(mte, rec);
		if (rc != -EAGAIN)
			break;
		/* as write(2) would */
		dx_log_pause(log, rc);
	}
	pthread_mutex_unlock(&log->lock);
	return rc;
}

/* The same, unless that would wait. */
static int write_at_once(MTExecutive *mte, struct dxk_log_record *rec)
{
	struct dx_log *log = &mte->env.log;
	int rc = -EAGAIN;

	if (pthread_mutex_trylock(&log->lock))
		return rc;
	if (!dx_log_drains(log) && !would_wait(log))
		rc = write_line(mte, rec);
	pthread_mutex_unlock(&log->lock);
	return rc;
}

/* -ENODEV: the context does not run, and the kernel has no file. */
static int write_pooled(MTExecutive *mte, const struct dxk_log_record *rec, bool waits)
{
	size_t len = rec->len + (rec->flags & DXK_LOG_CUT ? 1 : 0);
	struct dx_log *log = &mte->env.log;
	struct dx_member *member;
	int rc;

	/* Nobody makes room: another process has stopped the context and started it. */
	if (!log->kernel && !dx_log_drains(log))
		waits = false;
	rc = dx_self(&mte, &member);
	/* With a timeout of 0, no other message is dropped for this one. */
	if (!rc)
		rc = dxk_log_write(member->fd, rec->text, len, DXK_LOG_WAIT,
				   waits ? -1 : 0);
	/* It slept when the context stopped; now the log is synchronous. */
	if (rc == -ESHUTDOWN)
		rc = dxk_log_write(member->fd, rec->text, len, 0, 0);
	return rc;
}

/* @own: a message of the library, which does not wait */
static int log_write(MTExecutive *mte, bool own, unsigned int severity, const char *format,
		     va_list args)
{
	const struct dx_member *member;
	struct dxk_log_record rec;
	int rc, begin, cancel;
	bool taken;

	if (severity < DX_LOG_ERROR || severity > DX_LOG_DEBUG)
		return -EINVAL;

	mte = dx_executive(mte);
	if (!mte)
		return -ENXIO;
	if (atomic_load(&mte->foreign))
		return -EPERM;
	if (!dx_log_wanted(severity))
		return 0;
	begin = message_format(&rec, severity, format, args);
	if (begin < 0)
		return begin;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	member = dx_member_find(mte);
	taken = dx_log_sink(&(LogRecord){
		.Severity = severity,
		.Own = own,
		.Thread = member ? (int)member->id : -1,
		.Executive = mte->single ? NULL : mte,
		.TimeNs = dx_now(),
		.Text = rec.text + begin,
	});
	rc = -ENODEV;
	if (taken)
		rc = 0;
	else if (mte->env.log.pooled)
		rc = write_pooled(mte, &rec, !own);
	if (rc == -ENODEV)
		rc = own ? write_at_once(mte, &rec) : write_now(mte, &rec);
	pthread_setcancelstate(cancel, NULL);
	return rc;
}

int LogMessage(const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = log_write(NULL, false, DX_LOG_INFO, format, args);
	va_end(args);
	return rc;
}

int LogMessageOf(MTExecutive *mte, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = log_write(mte, false, DX_LOG_INFO, format, args);
	va_end(args);
	return rc;
}

int LogMessageAt(unsigned int severity, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = log_write(NULL, false, severity, format, args);
	va_end(args);
	return rc;
}

int LogMessageAtOf(MTExecutive *mte, unsigned int severity, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = log_write(mte, false, severity, format, args);
	va_end(args);
	return rc;
}

/**
 * dx_log_own - a message of the library's own
 * @mte: the executive
 * @severity: enum DXSeverity
 * @format: as printf(3)
 *
 * It is dropped if it would have to wait: nobody has requested it.
 */
void dx_log_own(MTExecutive *mte, unsigned int severity, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_write(mte, true, severity, format, args);
	va_end(args);
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
		/* A line that the old file took only in part is written again. */
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
