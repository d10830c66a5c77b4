// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which messages are logged, and the function of the process that receives them.
 */
#define _GNU_SOURCE
#include <errno.h>

#include "internal.h"

/* Held for reading while the sink is called, so that a replacement waits for the call. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int (*sink)(void *arg, const LogRecord *record);
static void *sink_arg;
static atomic_bool is_set;
static atomic_uint level = DX_LOG_INFO;
static _Thread_local bool sinking;

int LogLevel(unsigned int severity)
{
	if (severity > DX_LOG_DEBUG)
		return -EINVAL;
	return (int)(severity ? atomic_exchange(&level, severity) : atomic_load(&level));
}

bool dx_log_wanted(unsigned int severity)
{
	return severity <= atomic_load(&level);
}

int LogSink(int (*function)(void *arg, const LogRecord *record), void *arg)
{
	int cancel;

	if (sinking)
		return -EDEADLK;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_rwlock_wrlock(&lock);
	sink = function;
	sink_arg = arg;
	atomic_store(&is_set, function);
	pthread_rwlock_unlock(&lock);
	pthread_setcancelstate(cancel, NULL);
	return 0;
}

/**
 * dx_log_sink - give a message to the sink, if there is one
 * @record: the message
 *
 * The caller cannot be cancelled. Messages that the sink itself logs are not passed to it.
 *
 * Return: whether the sink wants it kept out of the log.
 */
bool dx_log_sink(const LogRecord *record)
{
	bool taken = false;

	if (!atomic_load(&is_set) || sinking)
		return false;
	pthread_rwlock_rdlock(&lock);
	sinking = true;
	if (sink)
		taken = sink(sink_arg, record) > 0;
	sinking = false;
	pthread_rwlock_unlock(&lock);
	return taken;
}

/* The child of a fork() has no thread that would release locks that others held. */
void dx_log_sink_child(void)
{
	pthread_rwlock_init(&lock, NULL);
}
