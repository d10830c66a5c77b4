// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The dispatcher: the list of channels, and their ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "../dx/call.h"
#include "internal.h"

/* --- the requests --------------------------------------------------------------- */

/* Posts the request @name, which may wait as long as no peer writes. */
static int post(Dispatcher *d, void *name, Runnable *executor, int priority, const RQWait *wait)
{
	RQPost post = {
		.pOObject = d, .pXObject = executor, .pPObject = name,
		.RQEPriority = priority, .RQEAttrs = PXR_REJOIN | PXR_LANE0 | PXR_QUIET,
	};
	RQOptions options = { .pName = name };
	int rc;

	if (!wait)
		return dx_post_beside(d->mte, &post, &options);
	options.Wait = *wait;
	rc = PostRequestsWithOf(d->mte, &post, &options, 1, 0, NULL);
	return rc > 0 ? 0 : rc;
}

static int gate_turn(Runnable *self, void *request)
{
	const RQElement *me = CurrentRequest();

	(void)self;
	(void)request;
	return me->RQEWake == DXK_WAKE_CALL ? 0 : -ECANCELED;
}

/* --- create and destroy ----------------------------------------------------------- */

static int configure(Dispatcher *d, const DispatcherOptions *options)
{
	DispatcherOptions *o = &d->options;

	if (options)
		*o = *options;
	for (unsigned int i = 0; i < sizeof(o->Reserved) / sizeof(o->Reserved[0]); i++)
		if (o->Reserved[i])
			return -EINVAL;
	if (o->Overload > OVERLOAD_REDIRECT || o->IdleNs < 0 || o->LingerNs < 0 ||
	    (o->Overload == OVERLOAD_REDIRECT && !o->redirect) || (o->RejectLen && !o->RejectText))
		return -EINVAL;
	if (!o->MaxReads)
		o->MaxReads = 16;
	if (!o->InputLimit)
		o->InputLimit = 64 << 10;
	if (!o->OutputLimit)
		o->OutputLimit = 4 << 20;
	return 0;
}

Dispatcher *Dispatcher_create(MTExecutive *executive, const DispatcherOptions *options)
{
	static const RQWait call = { .Sources = DXK_WAIT_CALL };
	Dispatcher *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return NULL;
	d->mte = executive;
	d->gate.ExecuteThisRequest = gate_turn;
	rc = configure(d, options);
	if (!rc)
		rc = post(d, d, &d->gate, 0, &call);
	if (rc) {
		free(d);
		errno = -rc;
		return NULL;
	}
	pthread_mutex_init(&d->lock, NULL);
	return d;
}

void Dispatcher_shutdown(Dispatcher *dispatcher)
{
	Dispatcher *d = dispatcher;
	bool shut;

	pthread_mutex_lock(&d->lock);
	shut = d->shut;
	d->shut = true;
	for (unsigned int i = 0; i < d->nr_fds; i++)
		if (d->by_fd[i])
			Dispatcher_unregisterChannel(d->by_fd[i]);
	pthread_mutex_unlock(&d->lock);
	if (!shut)
		WakeRequestOf(d->mte, d);
}

void Dispatcher_destroy(Dispatcher *dispatcher)
{
	Dispatcher *d = dispatcher;

	if (!d)
		return;
	Dispatcher_shutdown(d);
	while (Dispatcher_dispatch(d) == -EINTR)
		;
	free(d->by_fd);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

/* --- channels --------------------------------------------------------------------- */

ChannelFacade *ChannelFacade_hold(ChannelFacade *facade)
{
	atomic_fetch_add(&facade->holds, 1);
	return facade;
}

void ChannelFacade_release(ChannelFacade *facade)
{
	if (!facade || atomic_fetch_sub(&facade->holds, 1) != 1)
		return;
	InputQueue_discardBytes(&facade->in, facade->in.len);
	dxr_output_close(&facade->out);
	pthread_mutex_destroy(&facade->out.lock);
	free(facade);
}

/* Makes room for descriptor @fd in the table. Under D. */
static int reserve(Dispatcher *d, unsigned int fd)
{
	unsigned int nr = d->nr_fds ? d->nr_fds : 64;
	ChannelFacade **table;

	if (fd < d->nr_fds)
		return 0;
	while (nr <= fd)
		nr *= 2;
	table = realloc(d->by_fd, nr * sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (unsigned int i = d->nr_fds; i < nr; i++)
		table[i] = NULL;
	d->by_fd = table;
	d->nr_fds = nr;
	return 0;
}

/* Under D. */
static int enter(ChannelFacade *f)
{
	Dispatcher *d = f->dispatcher;
	int rc;

	if (d->shut)
		return -ESHUTDOWN;
	rc = reserve(d, (unsigned int)f->fd);
	if (rc)
		return rc;
	if (d->by_fd[f->fd])
		return -EEXIST;
	d->by_fd[f->fd] = f;
	d->channels += !f->acceptor;
	d->live++;
	return 0;
}

static bool overloaded(const Dispatcher *d)
{
	const DispatcherOptions *o = &d->options;

	return (o->MaxChannels && d->channels >= o->MaxChannels) ||
	       (o->MaxQueued && atomic_load(&d->queued) >= o->MaxQueued);
}

/**
 * dxr_overloaded - whether the load has reached a threshold
 * @d: the dispatcher
 * @hold: an acceptor that is to be called when the load is below it again; or %NULL
 */
bool dxr_overloaded(Dispatcher *d, ChannelFacade *hold)
{
	bool over;

	pthread_mutex_lock(&d->lock);
	over = overloaded(d);
	if (over && hold && !hold->next_held) {
		/* the last one's next is itself, so NULL means: not in the list */
		hold->next_held = d->held ? d->held : hold;
		d->held = hold;
	}
	pthread_mutex_unlock(&d->lock);
	return over;
}

/* Calls the acceptors that were held. Under D. */
static void let_go(Dispatcher *d)
{
	ChannelFacade *f = d->held, *next;

	d->held = NULL;
	for (; f; f = next == f ? NULL : next) {
		next = f->next_held;
		f->next_held = NULL;
		dxr_call(f, true);
	}
}

/** dxr_overload_ends - bytes were written: perhaps held acceptors need not wait any longer */
void dxr_overload_ends(Dispatcher *d)
{
	pthread_mutex_lock(&d->lock);
	if (d->held && !overloaded(d))
		let_go(d);
	pthread_mutex_unlock(&d->lock);
}

/**
 * dxr_forget - a channel no longer has a file, and no longer counts
 *
 * Return: its descriptor.
 */
int dxr_forget(ChannelFacade *f)
{
	Dispatcher *d = f->dispatcher;
	ChannelFacade *w;
	int fd = f->fd;

	pthread_mutex_lock(&d->lock);
	d->by_fd[fd] = NULL;
	f->fd = -1;
	d->channels -= !f->acceptor;
	while ((w = f->waiters)) {
		f->waiters = w->next_waiter;
		dxr_resume(w);
	}
	atomic_store(&f->awaited, false);
	let_go(d);
	pthread_mutex_unlock(&d->lock);
	return fd;
}

int dxr_register(Dispatcher *d, int fd, InputHandler *handler, InputHandlerFactory *factory,
		 bool acceptor, int priority, ChannelFacade **facade)
{
	int flags = fcntl(fd, F_GETFL), rc;
	bool write_only = (flags & O_ACCMODE) == O_WRONLY;
	ChannelFacade *f;

	if (flags < 0)
		return -errno;
	if (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK))
		return -errno;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	*f = (ChannelFacade){
		.base.ExecuteThisRequest = acceptor ? dxr_acceptor_turn : dxr_channel_turn,
		.dispatcher = d, .factory = factory, .made = acceptor || !factory ? NULL : handler,
		.acceptor = acceptor, .write_only = write_only, .fd = fd, .kept = -1,
		.handler = handler,
		.idle = acceptor ? 0 : d->options.IdleNs,
		.ops = acceptor ? OP_ACCEPT : write_only ? 0 : OP_READ,
		/* It will have a turn, and is marked so before it can be called for one. */
		.running = true,
	};
	atomic_init(&f->holds, facade ? 2 : 1);
	dxr_input_init(&f->in, d->options.Factory);
	dxr_output_init(&f->out, d->options.Factory, d->options.OutputLimit, f);
	/* Output that cannot be written is not accepted. */
	f->out.closed = (flags & O_ACCMODE) == O_RDONLY;

	/* The lock is not held over the post: the number is reserved meanwhile. */
	pthread_mutex_lock(&d->lock);
	rc = enter(f);
	pthread_mutex_unlock(&d->lock);
	if (rc)
		goto err;
	if (facade)
		*facade = f;
	rc = post(d, f, &f->base, priority, NULL);
	if (!rc)
		return 0;
	dxr_forget(f);
	pthread_mutex_lock(&d->lock);
	d->live--;
	pthread_mutex_unlock(&d->lock);
err:
	if (facade)
		*facade = NULL;
	atomic_store(&f->holds, 1);
	ChannelFacade_release(f);
	return rc;
}

int Dispatcher_registerChannel(Dispatcher *dispatcher, int fd, InputHandler *handler,
			       ChannelFacade **facade)
{
	if (!handler || !handler->nextMessage || !handler->handleInput)
		return -EINVAL;
	return dxr_register(dispatcher, fd, handler, NULL, false, dispatcher->options.Priority,
			    facade);
}

/* --- the ends ----------------------------------------------------------------------- */

/* The request of a channel was collected: most channels had their end in their last turn. */
static void collect(Dispatcher *d, const RQElement *e)
{
	ChannelFacade *f = e->pPObject;

	if ((void *)f == d)
		return;
	if (!f->ended)
		dxr_channel_end(f, e->RQEStatus);
	pthread_mutex_lock(&d->lock);
	d->live--;
	pthread_mutex_unlock(&d->lock);
	ChannelFacade_release(f);
}

int Dispatcher_dispatch(Dispatcher *dispatcher)
{
	RQElement e;
	int rc, status = 0;

	if (CurrentRequest())
		return -EDEADLK;
	do {
		rc = GetRejoinElementOf(dispatcher->mte, dispatcher, &e, NULL, 0, -1);
		if (rc == RJR_RETURNED) {
			if (e.pPObject == dispatcher)
				status = e.RQEStatus;
			collect(dispatcher, &e);
		}
	} while (rc == RJR_RETURNED || rc == -ESHUTDOWN);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&dispatcher->lock);
	dispatcher->shut = true;
	pthread_mutex_unlock(&dispatcher->lock);
	return status;
}

void Dispatcher_status(Dispatcher *dispatcher, DispatcherStatus *status)
{
	Dispatcher *d = dispatcher;

	pthread_mutex_lock(&d->lock);
	*status = (DispatcherStatus){ .Channels = d->live };
	pthread_mutex_unlock(&d->lock);
	status->Turns = atomic_load(&d->turns);
	status->BytesIn = atomic_load(&d->in);
	status->BytesOut = atomic_load(&d->out);
	status->Queued = atomic_load(&d->queued);
	status->Accepted = atomic_load(&d->accepted);
	status->Refused = atomic_load(&d->refused);
	status->Died = atomic_load(&d->died);
	status->Pauses = atomic_load(&d->pauses);
}
