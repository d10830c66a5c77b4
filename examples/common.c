// SPDX-License-Identifier: LGPL-2.1-or-later
/* See common.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

#define GRACE_NS	1000000000	/* for what executes when a signal came */

/* --- small things ---------------------------------------------------------- */

static void vtell(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", program.name, text ? text : format);
	free(text);
}

void tell(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vtell(format, args);
	va_end(args);
}

/* The workers still run; the module takes care of them. */
static _Noreturn void leave(int status)
{
	if (program.discard)
		program.discard();
	_exit(status);
}

void die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vtell(format, args);
	va_end(args);
	leave(status);
}

void *xrealloc(void *p, size_t nr, size_t size)
{
	p = reallocarray(p, nr, size);
	if (!p)
		die(NOT_RUN, "memory exhausted");
	return p;
}

/* --- options --------------------------------------------------------------- */

void misuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vtell(format, args);
	va_end(args);
	fprintf(stderr, "Try '%s --help'.\n", program.name);
	exit(NOT_RUN);
}

unsigned int number(const char *option, const char *text, unsigned int min,
		    unsigned int max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || value < min || value > max)
		misuse("%s: '%s' is no number from %u to %u", option, text, min, max);
	return (unsigned int)value;
}

bool dispatch_is_thread(const char *text)
{
	if (strcmp(text, "direct") && strcmp(text, "thread"))
		misuse("--dispatch: '%s' is neither direct nor thread", text);
	return !strcmp(text, "thread");
}

/* --- signals --------------------------------------------------------------- */

static struct {
	sigset_t set;
	pthread_t thread;
} signals;

/*
 * SIGINT and its like cancel: what no worker has yet is not executed, what is
 * executed ends early, and every level gets its requests back as always. All
 * threads have them blocked but this one, which waits for nothing else.
 */
static void *wait_for_signal(void *mte)
{
	int sig;

	if (sigwait(&signals.set, &sig))
		return NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){ 0 });
	program.stopped = sig;
	/*
	 * A kernel worker finishes what it executes, be it hours, unless the
	 * context is closed. The end of the process closes it.
	 */
	if (MTExecutiveStop(mte, DXK_STOP_CANCEL, GRACE_NS))
		leave(128 + sig);
	return NULL;
}

void signals_block(void)
{
	static const int end[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old;
	size_t i;

	sigemptyset(&signals.set);
	for (i = 0; i < sizeof(end) / sizeof(*end); i++)
		/* nohup(1) and a shell's background jobs have some ignored */
		if (!sigaction(end[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaddset(&signals.set, end[i]);
	pthread_sigmask(SIG_BLOCK, &signals.set, NULL);
}

void signals_start(MTExecutive *mte)
{
	int rc = pthread_create(&signals.thread, NULL, wait_for_signal, mte);

	if (rc)
		die(NOT_RUN, "no thread for signals: %s", strerror(rc));
}

void signals_end(void)
{
	pthread_cancel(signals.thread);
	pthread_join(signals.thread, NULL);
}

/* --- requests -------------------------------------------------------------- */

/* The context is stopped. If it was not a signal's Stop, it was somebody else's. */
static void note_stop(void)
{
	int running = 0;

	atomic_compare_exchange_strong(&program.stopped, &running, SHUT_DOWN);
}

/**
 * post - post requests, and wait until there is room
 * @posts: the requests
 * @nr: how many
 *
 * Return: how many were taken, at least one, or a negative errno; with -ESHUTDOWN the
 * program shall end, program.stopped tells why.
 */
int post(const RQPost *posts, unsigned int nr)
{
	int rc;

	do
		rc = PostRequests(posts, nr, -1, NULL);
	while (rc == -EINTR);
	if (rc == -ESHUTDOWN)
		note_stop();
	return rc;
}

/**
 * note_status - look whether a request that came back was cancelled by a Stop
 * @element: the request
 */
void note_status(const RQElement *element)
{
	if (element->RQEStatus == -ECANCELED)
		note_stop();
}

/**
 * rejoin - wait for a request of an owner
 * @owner: whose
 * @element: out
 * @data: out, room for the result's data, or %NULL
 * @room: bytes at @data
 *
 * A Stop does not end the wait: it brings the requests back, executed or not, and
 * program.stopped tells.
 *
 * Return: %RJR_RETURNED or %RJR_NONE_EXIST
 */
int rejoin(void *owner, RQElement *element, void *data, size_t room)
{
	int rc;

	do
		rc = GetRejoinElement(owner, element, data, room, -1);
	while (rc == -EINTR || rc == -ESHUTDOWN);
	if (rc < 0)
		die(NOT_RUN, "requests cannot be collected: %s", strerror(-rc));
	if (rc == RJR_RETURNED)
		note_status(element);
	return rc;
}
