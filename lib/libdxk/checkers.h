/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reports to checkers of a program, which do not see the kernel: which memory the kernel wrote,
 * for Valgrind's memcheck, and which thread comes after which, for the ThreadSanitizer. Without a
 * checker this costs some instructions per call.
 */
#ifndef _DXK_CHECKERS_H
#define _DXK_CHECKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "dxk.h"

#if defined(__has_include) && !defined(NVALGRIND)
# if __has_include(<valgrind/memcheck.h>)
#  include <valgrind/memcheck.h>
# endif
#endif

static inline bool dxk_on_valgrind(void)
{
#ifdef RUNNING_ON_VALGRIND
	return RUNNING_ON_VALGRIND;
#else
	return false;
#endif
}

/* The kernel has written @len bytes there. */
static inline void dxk_written(const void *p, size_t len)
{
#ifdef VALGRIND_MAKE_MEM_DEFINED
	(void)VALGRIND_MAKE_MEM_DEFINED(p, len);
#else
	(void)p;
	(void)len;
#endif
}

/*
 * The executing thread comes after the poster of a request, and a thread that collects, or
 * learns that none exists, comes after the executing threads. The first two are called before
 * their call of the kernel, the others after it, with its result. @size: of an element
 */
void dxk_posting(const struct dxk_post_entry *entries, unsigned int nr, size_t size);
void dxk_completing(int member, const struct dxk_done *dones, unsigned int nr, size_t size);
void dxk_fetched(int member, const struct dxk_next *next, int rc);
void dxk_collected(const struct dxk_rejoin *rejoin, int rc);

/* The turn of a request comes after the threads that called or cancelled it by its name. */
void dxk_calling(const uint64_t *called, unsigned int nr);

/*
 * An object with references: the thread that drops the last one comes after all that dropped the
 * others. The library itself is not built with the sanitizer, which therefore sees no atomic of it.
 */
void dxk_giving_back(void *object);
void dxk_gave_last(void *object);

/* Around each call in which a request releases its key, or gets it. */
void dxk_key_left(int member, uint64_t ticket);
void dxk_key_entered(int member, uint64_t ticket);

/* Around each call that sends a command, and each that handles one. */
void dxk_commanding(void);
void dxk_commanded(void);

#endif /* _DXK_CHECKERS_H */
