// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * ExecEnvironment: elapsed timer, platform run time, message queue of an add-in,
 * synchronous log - brought up in this order (DX-2).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "dx_internal.h"

#define MESSAGE_MAX	900	/* as dx.h says */
#define PREFIX_MAX	128

uint64_t dx_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int platform_init(struct ExecEnvironment *env)
{
	struct dxk_version version;
	int rc;

	pthread_mutex_lock(&dx_lock);
	rc = env->ctl = dxk_open();
	pthread_mutex_unlock(&dx_lock);
	if (rc < 0)
		return rc;
	rc = dxk_version(env->ctl, &version);
	if (rc < 0)
		return rc;
	/* A newer module serves older programs, an older one cannot serve us. */
	return version.abi < DXK_ABI_VERSION ? -EPROTONOSUPPORT : 0;
}

static int log_init(struct ExecEnvironment *env, const char *path)
{
	int fd;

	pthread_mutex_lock(&dx_lock);
	if (path)
		fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
	else
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	env->log.fd = fd;
	pthread_mutex_unlock(&dx_lock);
	return fd < 0 ? -errno : 0;
}

/*
 * What came up before a failure is left to dx_executive_remove(), which closes
 * the descriptors, and dx_env_exit().
 */
int dx_env_init(struct ExecEnvironment *env, const RunSettings *settings,
		const char **step)
{
	int rc;

	env->started = dx_now();
	env->ctl = -1;
	env->log.fd = -1;
	pthread_mutex_init(&env->log.lock, NULL);

	*step = "platform";
	rc = platform_init(env);
	if (rc)
		return rc;

	*step = "message queue";
	if (settings->IsAddin)
		return -EOPNOTSUPP;	/* its place; see RunSettings.IsAddin */

	*step = "log";
	return log_init(env, settings->LogPath);
}

void dx_env_exit(struct ExecEnvironment *env)
{
	pthread_mutex_destroy(&env->log.lock);
}

/* Formats the message so that it is one line of at most MESSAGE_MAX bytes. */
static int message_format(char *message, size_t size, const char *format,
			  va_list args)
{
	int len = vsnprintf(message, size, format, args);
	char *p;

	if (len < 0)
		return -EINVAL;
	if ((size_t)len >= size)
		memcpy(message + size - sizeof("..."), "...", sizeof("..."));
	else
		while (len && message[len - 1] == '\n')
			message[--len] = '\0';
	for (p = message; *p; p++)
		if ((unsigned char)*p < ' ' || *p == '\177')
			*p = ' ';
	return 0;
}

static int line_prefix(char *prefix, size_t size, uint64_t seq,
		       const struct dx_member *member)
{
	char utc[32], thread[16] = "-";
	struct timespec real, mono;
	struct tm tm;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_REALTIME, &real);
	gmtime_r(&real.tv_sec, &tm);
	strftime(utc, sizeof(utc), "%Y-%m-%dT%H:%M:%S", &tm);
	if (member)
		snprintf(thread, sizeof(thread), "%u", member->id);
	return snprintf(prefix, size, "%llu %lld.%09ld %s.%06ldZ %s/%ld ",
			(unsigned long long)seq, (long long)mono.tv_sec,
			mono.tv_nsec, utc, real.tv_nsec / 1000, thread,
			syscall(SYS_gettid));
}

static int write_all(int fd, const char *p, size_t len)
{
	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int log_write(MTExecutive *mte, const char *format, va_list args)
{
	char message[MESSAGE_MAX + 1], line[PREFIX_MAX + sizeof(message) + 1];
	struct ExecEnvironment *env;
	int rc, len, cancel;

	mte = dx_executive(mte);
	if (!mte)
		return -ENXIO;
	if (atomic_load(&mte->foreign))
		return -EPERM;
	rc = message_format(message, sizeof(message), format, args);
	if (rc)
		return rc;

	env = &mte->env;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&env->log.lock);
	len = line_prefix(line, PREFIX_MAX, ++env->log.seq, dx_member_find(mte));
	len += sprintf(line + len, "%s\n", message);
	rc = write_all(env->log.fd, line, (size_t)len);
	pthread_mutex_unlock(&env->log.lock);
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
