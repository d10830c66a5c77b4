// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages and arguments.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common.h"

#define NSEC_PER_SEC	1000000000LL

const char *tool = "dxk";

static void say(const char *format, va_list args)
{
	fflush(stdout);
	fprintf(stderr, "%s: ", tool);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

int version(void)
{
	printf("%s (dxk) %s\n", tool, VERSION);
	return DONE;
}

int fail(const char *next, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	fprintf(stderr, "  next: %s\n", next);
	return FAILED;
}

int misuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	fprintf(stderr, "  next: %s --help\n", tool);
	return MISUSED;
}

int flush(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	/* The reader of a pipe may have seen enough. */
	if (errno == EPIPE)
		return status;
	return fail("make room, or write to another file",
		    "cannot write the output: %s", strerror(errno));
}

int bad_option(char **argv)
{
	const char *last = argv[optind - 1];

	/* one of several letters, or a long option, which may have an argument too many */
	if (optopt && !(last[0] == '-' && last[1] == '-' && strchr(last, '=')))
		return misuse("no such option: -%c", optopt);
	return misuse("no such option: %s", last);
}

bool parse_u32(const char *text, uint32_t *value)
{
	unsigned long long number;
	char *end;

	int base = text[0] == '0' && (text[1] | 0x20) == 'x' ? 16 : 10;

	/* strtoull() would accept blanks and a sign, and read 0100 as octal */
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	number = strtoull(text, &end, base);
	if (errno || *end || number > UINT32_MAX)
		return false;
	*value = (uint32_t)number;
	return true;
}

bool parse_seconds(const char *text, int64_t *ns)
{
	double seconds;
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	errno = 0;
	seconds = strtod(text, &end);
	if (errno || end == text || *end || !isfinite(seconds) || seconds > 315360000.0)
		return false;
	*ns = (int64_t)(seconds * NSEC_PER_SEC);
	return true;
}

volatile sig_atomic_t caught;

static void catch(int signal)
{
	caught = signal;
}

void signals_catch(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction action, before;
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		/* no SA_RESTART: a call that sleeps is to end */
		action = (struct sigaction){ .sa_handler = catch };
		if (!sigaction(ends[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(ends[i], &action, NULL);
	}
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}
