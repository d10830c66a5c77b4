/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The queues.
 *
 *   O	queue.lock of an output queue; nests in nothing and nothing nests in it
 *   T	no lock: whoever uses the queue, one thread at a time
 *   C	no lock: does not change
 */
#ifndef _DX_REACTOR_INTERNAL_H
#define _DX_REACTOR_INTERNAL_H

#include <pthread.h>

#include "dx_reactor.h"

struct InputQueue {
	BufferFactory *factory;		/* C */
	Buffer *first, *last;		/* T: none of them is empty */
	size_t len;			/* T */
};

/* A part of what is to be written: bytes in buffers, then those of a file. */
struct dxr_part {
	struct dxr_part *next;
	Buffer *first, *last;
	int fd;				/* or -1 */
	off_t offset;
	size_t count;
};

struct OutputQueue {
	BufferFactory *factory;		/* C */
	size_t limit;			/* C */
	pthread_mutex_t lock;
	struct dxr_part *first, *last;	/* O */
	size_t len;			/* O: bytes in buffers */
};

#endif /* _DX_REACTOR_INTERNAL_H */
