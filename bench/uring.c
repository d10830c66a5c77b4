// SPDX-License-Identifier: GPL-2.0-only
/*
 * io_uring: operations that do nothing.
 */
#include <liburing.h>

#include "bench.h"

static struct io_uring ring;
static long batch;

static void setup(const struct variant *v)
{
	batch = v->arg;
	errno = -io_uring_queue_init(BATCH, &ring, 0);
	if (errno)
		die("io_uring_queue_init");
}

/* Submits a batch in one call and takes all completions from the ring. */
static void run(long ops)
{
	for (; ops > 0; ops -= batch) {
		struct io_uring_cqe *cqe;
		unsigned int head, nr = 0;

		for (long i = 0; i < batch; i++)
			io_uring_prep_nop(io_uring_get_sqe(&ring));
		MUST(batch, io_uring_submit_and_wait(&ring, batch));
		io_uring_for_each_cqe(&ring, head, cqe)
			nr++;
		MUST(batch, nr);
		io_uring_cq_advance(&ring, nr);
	}
}

const struct kind uring_nop = { .setup = setup, .run = run };
