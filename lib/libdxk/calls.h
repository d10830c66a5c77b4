/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How the functions of <dxk.h> make a call.
 */
#ifndef _DXK_CALLS_H
#define _DXK_CALLS_H

#include <errno.h>
#include <sys/ioctl.h>

#include "checkers.h"
#include "dxk.h"

static inline int call(int fd, unsigned long request, void *arg)
{
	int rc = ioctl(fd, request, arg);

	return rc < 0 ? -errno : rc;
}

static inline uint64_t address(const void *p)
{
	return (uintptr_t)p;
}

static inline unsigned int min_u(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* A slot whose size exceeds 32 bits is as good as one of the maximum size. */
static inline uint32_t stride32(size_t stride)
{
	return stride > UINT32_MAX ? UINT32_MAX : (uint32_t)stride;
}

/* dxk_request.c: a DXK_IOC_CALL. @arg: all but its size */
int dxk_roundtrip(int member, struct dxk_roundtrip *arg);

/* The call has returned how many @things of @size bytes it wrote. */
static inline int wrote(int rc, const void *things, size_t size)
{
	if (rc > 0)
		dxk_written(things, (unsigned int)rc * size);
	return rc;
}

#endif /* _DXK_CALLS_H */
