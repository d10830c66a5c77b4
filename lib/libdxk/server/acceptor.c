// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * An acceptor: a connection whose pull accepts others (CO-7).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

/* Connections that a pull takes */
#define ACCEPTS		64
/* How long it waits after a shortage of the system */
#define PAUSE_NS	100000000

static int accept_one(Connection *c)
{
	ConnectionPool *p = c->pool;
	int fd = accept4(c->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), rc;
	bool opens = false;

	if (fd < 0) {
		if (errno == EBADF)
			c->gone = true;
		return -errno;
	}
	rc = dxs_register(p, fd, c->ops, c->arg, false, NULL, &opens);
	if (!rc) {
		atomic_fetch_add(&p->accepted, 1);
		return 0;
	}
	close(fd);
	atomic_fetch_add(&p->refused, 1);
	/* A connection that @opened refuses is no shortage. */
	return opens && (rc == -ENOSPC || rc == -EDQUOT || rc == -ENOMEM) ? -ENOBUFS : 0;
}

/**
 * dxs_accept - the pull of an acceptor
 * @c: the caller's own
 *
 * Return: 0, or the error with which it is to end.
 */
int dxs_accept(Connection *c)
{
	int rc;

	c->pause = 0;
	c->more = false;
	for (unsigned int i = 0; !c->leaves; i++) {
		if (i == ACCEPTS) {
			c->more = true;
			break;
		}
		if (dxs_is_full(c))
			break;
		rc = accept_one(c);
		dxs_accepted(c);
		switch (rc) {
		case -EAGAIN:
			return 0;
		case -EMFILE:
		case -ENFILE:
		case -ENOBUFS:
		case -ENOMEM:
			atomic_fetch_add(&c->pool->pauses, 1);
			c->pause = dxs_now() + PAUSE_NS;
			return 0;
		case -EBADF:
		case -EINVAL:
		case -ENOTSOCK:
		case -EOPNOTSUPP:
			return rc;
		}
	}
	return 0;
}

int Acceptor_create(ConnectionPool *pool, int fd, const ConnectionOps *ops, void *arg,
		    Connection **acceptor)
{
	if (!ops || !ops->opened)
		return -EINVAL;
	return dxs_register(pool, fd, ops, arg, true, acceptor, NULL);
}
