/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel does, told to those who watch a program and see none of it: which
 * memory it wrote, for Valgrind's memcheck, and which thread comes after which, for the
 * ThreadSanitizer. Where nobody watches it costs some instructions a call.
 */
#ifndef _DXK_CHECKERS_H
#define _DXK_CHECKERS_H

#include <stddef.h>

#include "dxk.h"

#if defined(__has_include) && !defined(NVALGRIND)
# if __has_include(<valgrind/memcheck.h>)
#  include <valgrind/memcheck.h>
# endif
#endif

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
 * Who executes a request comes after who posted it, and who collects, or is told that
 * none exists, after those who executed. The first two go before their call, the others
 * behind it, with what it returned. @size: of an element
 */
void dxk_posting(const struct dxk_post_entry *entries, unsigned int nr, size_t size);
void dxk_completing(int member, const struct dxk_done *dones, unsigned int nr, size_t size);
void dxk_fetched(int member, const struct dxk_next *next, int rc);
void dxk_collected(const struct dxk_rejoin *rejoin, int rc);

/* Who has a turn comes after who called it, or cancelled it, by its name. */
void dxk_calling(const uint64_t *called, unsigned int nr);

/*
 * An object with references: each is given back, and who gives back the last one comes after all
 * of them. The library itself is not built with the sanitizer, which so sees no atomic of it.
 */
void dxk_giving_back(void *object);
void dxk_gave_last(void *object);

/* Around each call by which a request gives its key up, or gets it. */
void dxk_key_left(int member, uint64_t ticket);
void dxk_key_entered(int member, uint64_t ticket);

/* Around each call of who sends a command, and of who handles it. */
void dxk_commanding(void);
void dxk_commanded(void);

#endif /* _DXK_CHECKERS_H */
