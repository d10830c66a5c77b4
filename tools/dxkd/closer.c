// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "closer.h"

/**
 * struct closer - a thread, to which a pipe leads
 * @in: where descriptors are written
 * @out: where the thread reads them; with the end of this pipe the closer is the thread's to free
 * @nr: how many are not closed
 */
struct closer {
	int in, out;
	atomic_uint nr;
};

static void *work(void *arg)
{
	struct closer *c = arg;
	int fd;

	while (read(c->out, &fd, sizeof(fd)) == sizeof(fd)) {
		close(fd);
		atomic_fetch_sub(&c->nr, 1);
	}
	close(c->out);
	free(c);
	return NULL;
}

struct closer *closer_new(void)
{
	struct closer *c = malloc(sizeof(*c));
	sigset_t all, before;
	pthread_t thread;
	int ends[2];

	if (!c || pipe2(ends, O_CLOEXEC))
		abort();
	*c = (struct closer){ .in = ends[1], .out = ends[0] };
	/* Signals are for the loop, which takes them while it waits. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, work, c))
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_detach(thread);
	return c;
}

bool closer_is_full(struct closer *c)
{
	return atomic_load(&c->nr) >= CLOSER_MAX;
}

void closer_close(struct closer *c, int fd)
{
	atomic_fetch_add(&c->nr, 1);
	/* so few always fit into a pipe */
	if (write(c->in, &fd, sizeof(fd)) != sizeof(fd))
		abort();
}

void closer_free(struct closer *c)
{
	close(c->in);
}
