/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the programs share: messages, options, what they need to run, signals; and what dxsum and
 * dxpkg do with requests, beside the hierarchy of these.
 */
#ifndef _EXAMPLES_COMMON_H
#define _EXAMPLES_COMMON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <dx.h>

/* Exit status: it could not run. That of a signal is 128 + its number. */
#define NOT_RUN		2

/* program.stopped when somebody else has stopped the context: not all was done */
#define SHUT_DOWN	(-1)

#define WORKERS_MAX	499	/* of both kinds */

/* Of the program, which defines it */
struct program {
	const char *name;
	void (*discard)(void);	/* what is half done, before the process ends in it */
	atomic_int stopped;	/* the signal that ended it, SHUT_DOWN or 0 */
};

extern struct program program;

/* A line on standard error */
void tell(const char *format, ...)
	__attribute__((__format__(__printf__, 1, 2)));
_Noreturn void die(int status, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));
void *xrealloc(void *p, size_t nr, size_t size);

/* Options: a wrong one ends the program. */
_Noreturn void misuse(const char *format, ...)
	__attribute__((__format__(__printf__, 1, 2)));
unsigned int number(const char *option, const char *text, unsigned int min,
		    unsigned int max);
bool dispatch_is_thread(const char *text);
int next_option(int argc, char **argv, const char *letters, const char *usage);

MTExecutive *run_time(const RunSettings *settings, const ThreadManagerPolicy *policy);
int listen_at(const char *address, unsigned int *port, int flags);
void allow_descriptors(unsigned long need);

/* SIGINT, SIGTERM and SIGHUP, those of them that are not ignored: before the first thread is made */
void signals_block(void);
/* Where they can be read, as of signalfd(2) */
int signals_fd(void);
/* Return: the signal; or 0: signals_over() was called, by any thread. */
int signals_wait(void);
void signals_over(void);
/* A thread that waits for one, and calls @fn; or stops the run time. When all is done, its end */
void signals_call(void (*fn)(int sig, void *data), void *data);
void signals_start(MTExecutive *mte);
void signals_end(void);

/* What is posted is executed, or program.stopped tells why not. */
int post(const RQPost *posts, unsigned int nr);
void note_status(const RQElement *element);
int rejoin(void *owner, RQElement *element, void *data, size_t room);

#endif /* _EXAMPLES_COMMON_H */
