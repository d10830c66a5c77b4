// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * oneTBB: an arena of a context's own, and a queue of results.
 */
#include <memory>
#include <tbb/concurrent_queue.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "cores.h"

namespace {

struct context {
	tbb::task_arena arena;
	tbb::concurrent_bounded_queue<int> results;

	/* No slot is kept for the client: it executes nothing. */
	explicit context(int workers) : arena(workers, 0) { }
};

void *begin(int workers)
{
	return new context(workers);
}

void post(void *arg, int nr)
{
	auto *c = static_cast<context *>(arg);

	while (nr--)
		c->arena.enqueue([c] {
			job();
			c->results.push(0);
		});
}

void collect(void *arg, int nr)
{
	auto *c = static_cast<context *>(arg);

	for (int result; nr; nr--)
		c->results.pop(result);
}

void end(void *arg)
{
	delete static_cast<context *>(arg);
}

std::unique_ptr<tbb::global_control> threads;

}

/* One is the thread that asks. */
extern "C" void tbb_threads(int nr)
{
	threads.reset();
	threads = std::make_unique<tbb::global_control>(
		tbb::global_control::max_allowed_parallelism, nr + 1);
}

extern "C" const struct system tbb_system = { "tbb", begin, post, collect, end };
