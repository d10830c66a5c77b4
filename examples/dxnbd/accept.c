// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Who takes clients, and the list of those that were taken.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common.h"
#include "dxnbd.h"

/* After a failure that time may mend */
#define RETRY_NS	100000000

enum { ACCEPT = 2 };

static struct fom_timeout retry;

static void connected(int fd)
{
	/* Its buffers are not touched before they are used. */
	struct connection *c = malloc(sizeof(*c));
	void *in;

	if (!c || posix_memalign(&in, ALIGNMENT, IN_SIZE)) {
		free(c);
		close(fd);
		return;
	}
	memset(c, 0, offsetof(struct connection, out));
	c->in = in;
	c->from = c->to = IN_BEGIN;
	c->fd = fd;
	pthread_mutex_lock(&server.lock);
	c->next = server.connections;
	server.connections = c;
	server.nr_connections++;
	pthread_mutex_unlock(&server.lock);
	connection_start(c);
}

static bool is_full(void)
{
	bool full;

	pthread_mutex_lock(&server.lock);
	full = server.nr_connections >= server.connections_max;
	pthread_mutex_unlock(&server.lock);
	return full;
}

static int acceptor_tick(struct fom *fom)
{
	int fd;

	fom_timeout_cancel(&retry);
	if (atomic_load(&server.draining)) {
		fom_phase_set(fom, FOM_PHASE_FINISH);
		return FSO_WAIT;
	}
	if (fom_phase(fom) == FOM_PHASE_INIT)
		fom_phase_set(fom, ACCEPT);
	/* The end of one will wake it. */
	if (is_full())
		return FSO_WAIT;
	fd = accept4(server.listens, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0) {
		connected(fd);
		return FSO_AGAIN;
	}
	if (errno == EAGAIN)
		return fom_wait_fd(fom, server.listens, EPOLLIN);
	/* No descriptor, or no memory; or a client that has gone already */
	fom_timeout_init(&retry);
	fom_timeout_wait_on(&retry, fom, now_ns() + RETRY_NS);
	return FSO_WAIT;
}

static void acceptor_fini(struct fom *fom)
{
	fom_fini(fom);
	/* Somebody else has stopped the executive: the thread that drains does the rest. */
	if (!atomic_load(&server.draining))
		signals_over();
}

static const struct fom_ops acceptor_ops = { .tick = acceptor_tick, .fini = acceptor_fini };

static const struct fom_phase acceptor_phases[] = {
	[FOM_PHASE_INIT] = { .name = "init",
			     .allowed = FOM_PHASE(ACCEPT) | FOM_PHASE(FOM_PHASE_FINISH) },
	[FOM_PHASE_FINISH] = { .name = "finish" },
	[ACCEPT] = { .name = "accept", .allowed = FOM_PHASE(FOM_PHASE_FINISH) },
};

static struct fom_type acceptor_type = {
	.name = "acceptor", .ops = &acceptor_ops, .flags = FOM_QUIET,
	.phases = acceptor_phases, .nr_phases = 3,
};

/** acceptor_start - take clients. Return: 0 or a negative errno. */
int acceptor_start(void)
{
	fom_timeout_init(&retry);
	fom_init(&server.acceptor, &acceptor_type, &server.service);
	return fom_queue(&server.acceptor);
}

/**
 * connections_end - shut the sockets of all connections down
 * @how: as of shutdown(2)
 */
void connections_end(int how)
{
	pthread_mutex_lock(&server.lock);
	for (struct connection *c = server.connections; c; c = c->next)
		shutdown(c->fd, how);
	pthread_mutex_unlock(&server.lock);
}

/** connection_gone - a connection is to end: it is in the list no longer */
void connection_gone(struct connection *c)
{
	struct connection **p = &server.connections;

	pthread_mutex_lock(&server.lock);
	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	server.nr_connections--;
	pthread_mutex_unlock(&server.lock);
	fom_wakeup(&server.acceptor);
}
