// SPDX-License-Identifier: LGPL-2.1-or-later
/* See common.h. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
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

/**
 * next_option - the next option; --help, -h, and one that is wrong, end the program
 * @letters: as of getopt(3), without that of help
 * @usage: what is printed then
 *
 * Return: as of getopt(3), but for that.
 */
int next_option(int argc, char **argv, const char *letters, const char *usage)
{
	static const struct option longer[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	char all[64];
	int c;

	snprintf(all, sizeof(all), "%sh", letters);
	c = getopt_long(argc, argv, all, longer, NULL);
	if (c == 'h') {
		fputs(usage, stdout);
		exit(0);
	}
	if (c == '?') {
		fputs(usage, stderr);
		exit(NOT_RUN);
	}
	return c;
}

/* --- what a program needs to run ---------------------------------------------- */

/**
 * run_time - make the run time, or end the program
 * @settings: of RunSettingsInit()
 * @policy: its policy
 */
MTExecutive *run_time(const RunSettings *settings, const ThreadManagerPolicy *policy)
{
	char text[DX_ERROR_TEXT];
	MTExecutiveError error;
	MTExecutive *mte = MTExecutiveCreate(settings, policy, &error);

	if (!mte)
		die(NOT_RUN, "%s", MTExecutiveErrorText(&error, text, sizeof(text)));
	return mte;
}

/**
 * listen_at - make a socket that listens, or end the program
 * @address: of IPv4
 * @port: 0: any; then it is set
 * @flags: as of socket(2): SOCK_NONBLOCK or 0
 */
int listen_at(const char *address, unsigned int *port, int flags)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)*port) };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
	socklen_t len = sizeof(a);

	if (inet_pton(AF_INET, address, &a.sin_addr) != 1)
		misuse("-a %s: no IPv4 address", address);
	if (s < 0)
		die(NOT_RUN, "socket: %s", strerror(errno));
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(s, (void *)&a, len) || listen(s, 1024) || getsockname(s, (void *)&a, &len))
		die(NOT_RUN, "%s port %u: %s", address, *port, strerror(errno));
	*port = ntohs(a.sin_port);
	return s;
}

/* As many descriptors as are needed, or as may be */
void allow_descriptors(unsigned long need)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* --- signals --------------------------------------------------------------- */

/*
 * SIGINT and its like are read from a file, @fd, and @over ends the wait for one. A thread that
 * waits is not cancelled: the address sanitizer takes what a cancelled thread has left on its stack
 * for what its end overwrites.
 */
static struct {
	int fd, over;
	pthread_t thread;
	void (*fn)(int sig, void *data);
	void *data;
} signals;

void signals_block(void)
{
	static const int end[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old;
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(end) / sizeof(*end); i++)
		/* nohup(1) and a shell's background jobs have some ignored */
		if (!sigaction(end[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaddset(&set, end[i]);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signals.fd = signalfd(-1, &set, SFD_CLOEXEC);
	signals.over = eventfd(0, EFD_CLOEXEC);
	if (signals.fd < 0 || signals.over < 0)
		die(NOT_RUN, "signals: %s", strerror(errno));
}

int signals_fd(void)
{
	return signals.fd;
}

int signals_wait(void)
{
	struct pollfd p[] = { { .fd = signals.fd, .events = POLLIN },
			      { .fd = signals.over, .events = POLLIN } };
	struct signalfd_siginfo info;

	while (poll(p, 2, -1) < 0)
		;
	if (!p[0].revents || read(signals.fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

void signals_over(void)
{
	if (eventfd_write(signals.over, 1))
		die(NOT_RUN, "signals: %s", strerror(errno));
}

static void *wait_for_signal(void *unused)
{
	int sig = signals_wait();

	(void)unused;
	if (sig)
		signals.fn(sig, signals.data);
	return NULL;
}

void signals_call(void (*fn)(int sig, void *data), void *data)
{
	int rc;

	signals.fn = fn;
	signals.data = data;
	rc = pthread_create(&signals.thread, NULL, wait_for_signal, NULL);
	if (rc)
		die(NOT_RUN, "no thread for signals: %s", strerror(rc));
}

/*
 * Cancels: what no worker has yet is not executed, what is executed ends early, and every level
 * gets its requests back as always.
 */
static void stop(int sig, void *mte)
{
	program.stopped = sig;
	/*
	 * A kernel worker finishes what it executes, be it hours, unless the
	 * context is closed. The end of the process closes it.
	 */
	if (MTExecutiveStop(mte, DXK_STOP_CANCEL, GRACE_NS))
		leave(128 + sig);
}

void signals_start(MTExecutive *mte)
{
	signals_call(stop, mte);
}

void signals_end(void)
{
	signals_over();
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
