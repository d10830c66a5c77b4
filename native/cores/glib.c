// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * GLib: a thread pool of a context's own, and a queue of results.
 */
#include <glib.h>

#include "cores.h"

struct context {
	GThreadPool *pool;
	GAsyncQueue *results;
};

static void work(gpointer request, gpointer context)
{
	struct context *c = context;

	job();
	g_async_queue_push(c->results, request);
}

static void *begin(int workers)
{
	struct context *c = g_new0(struct context, 1);

	c->results = g_async_queue_new();
	c->pool = g_thread_pool_new(work, c, workers, TRUE, NULL);
	return c;
}

static void post(void *context, int nr)
{
	struct context *c = context;

	while (nr--)
		g_thread_pool_push(c->pool, c, NULL);
}

static void collect(void *context, int nr)
{
	struct context *c = context;

	while (nr--)
		g_async_queue_pop(c->results);
}

static void end(void *context)
{
	struct context *c = context;

	g_thread_pool_free(c->pool, FALSE, TRUE);
	g_async_queue_unref(c->results);
	g_free(c);
}

const struct system glib_system = { "glib", begin, post, collect, end };
