// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * An acceptor: a channel whose input is connections.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

/* Connections that a turn takes */
#define ACCEPTS		64
/* How long it waits after a shortage of the system */
#define PAUSE_NS	100000000

int StandardAcceptor_create(Dispatcher *dispatcher, int fd, InputHandlerFactory *factory,
			    ChannelFacade **facade)
{
	if (!factory || !factory->newHandler)
		return -EINVAL;
	return dxr_register(dispatcher, fd, NULL, factory, true, dispatcher->options.Priority,
			    facade);
}

static void reject(const DispatcherOptions *o, int fd)
{
	if (o->RejectLen)
		send(fd, o->RejectText, o->RejectLen, MSG_DONTWAIT | MSG_NOSIGNAL);
	dxr_close(fd);
}

static int admit(ChannelFacade *acceptor, int fd, int priority)
{
	InputHandlerFactory *factory = acceptor->factory;
	Dispatcher *d = acceptor->dispatcher;
	InputHandler *h = factory->newHandler(factory, fd);
	int rc;

	if (!h || !h->nextMessage || !h->handleInput)
		rc = -EINVAL;
	else
		rc = dxr_register(d, fd, h, factory, false, priority, NULL);
	if (!rc)
		return 0;
	if (h && factory->deleteHandler)
		factory->deleteHandler(factory, h);
	return rc;
}

/* A connection that had no room when it was accepted comes before further ones. */
static int take_connection(ChannelFacade *f)
{
	int fd = f->kept;

	f->kept = -1;
	return fd >= 0 ? fd : accept4(f->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* Accepts one; another process may have taken it. Return: 0 or a negative errno of accept() */
static int accept_one(ChannelFacade *f)
{
	Dispatcher *d = f->dispatcher;
	const DispatcherOptions *o = &d->options;
	bool over = dxr_overloaded(d, NULL);
	int fd = take_connection(f), rc;

	if (fd < 0)
		return -errno;
	if (over && o->Overload == OVERLOAD_REJECT) {
		reject(o, fd);
	} else if (over && o->Overload == OVERLOAD_REDIRECT) {
		o->redirect(o->RedirectArg, fd);
	} else {
		rc = admit(f, fd, over && o->Overload == OVERLOAD_PRIORITIZE ? o->LowPriority :
									      o->Priority);
		if (!rc) {
			atomic_fetch_add(&d->accepted, 1);
			return 0;
		}
		/* TPMaxRequests: the request of an ended channel is free when collected. */
		if (rc == -ENOSPC || rc == -EDQUOT || rc == -EAGAIN) {
			f->kept = fd;
			return -ENOBUFS;
		}
		close(fd);
	}
	atomic_fetch_add(&d->refused, 1);
	return 0;
}

/* Whether it is to take further ones now; if not, it is called when it is to. */
static bool may_accept(ChannelFacade *f)
{
	bool may;

	/* before the check */
	f->look = false;
	may = f->ops && !f->leave && !f->close;
	if (may && f->dispatcher->options.Overload == OVERLOAD_QUEUE)
		may = !dxr_overloaded(f->dispatcher, f);
	return may;
}

/*
 * Accepts until there is none.
 * Return: 0: check again; 1: wait as @wait describes; or a negative errno: it is to end
 */
static int accept_some(ChannelFacade *f, RQWait *wait)
{
	int rc;

	*wait = (RQWait){ .Sources = DXK_WAIT_CALL };
	for (unsigned int i = 0; may_accept(f); i++) {
		if (i == ACCEPTS)
			return 0;
		rc = accept_one(f);
		switch (rc) {
		case -EAGAIN:
			wait->Sources |= DXK_WAIT_FILE;
			wait->Events = POLLIN;
			wait->Fd = f->fd;
			return 1;
		case -EMFILE:
		case -ENFILE:
		case -ENOBUFS:
		case -ENOMEM:
			atomic_fetch_add(&f->dispatcher->pauses, 1);
			wait->Sources |= DXK_WAIT_TIME;
			wait->TimeoutNs = PAUSE_NS;
			return 1;
		case -EBADF:
		case -EINVAL:
		case -ENOTSOCK:
		case -EOPNOTSUPP:
		case -EFAULT:
			return rc;
		}
	}
	return 1;
}

int dxr_acceptor_turn(Runnable *self, void *request)
{
	ChannelFacade *f = request;
	RQWait wait;
	int rc;

	(void)self;
	rc = dxr_begin(f, CurrentRequest());
	if (!rc)
		rc = accept_some(f, &wait);
	if (rc >= 0) {
		f->running = false;
		if (f->leave || f->close)
			rc = -ECANCELED;
		else if (!rc || f->look)
			rc = dxr_again(f);
		else
			rc = dxr_wait(f, &wait);
	}
	if (rc == RQ_WAITS)
		return rc;
	dxr_channel_end(f, rc);
	return rc;
}
