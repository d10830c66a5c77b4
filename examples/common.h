/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What dxsum and dxpkg share beside the hierarchy of their requests: messages, options,
 * signals. dxcall uses the messages.
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

/* Before the first thread is made; when there is a run time; when all is collected */
void signals_block(void);
void signals_start(MTExecutive *mte);
void signals_end(void);

/* What is posted is executed, or program.stopped tells why not. */
int post(const RQPost *posts, unsigned int nr);
void note_status(const RQElement *element);
int rejoin(void *owner, RQElement *element, void *data, size_t room);

#endif /* _EXAMPLES_COMMON_H */
