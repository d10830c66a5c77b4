// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A channel: its turns, and the calls of other threads.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* Events after which bytes, or the input's end, may be there */
#define INPUT	(POLLIN | POLLRDHUP | POLLHUP | POLLERR)

/* Reads of unwanted bytes, at a time */
#define DISCARDS	16

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void moved(ChannelFacade *f)
{
	if (f->idle)
		f->active = now();
}

/* --- calls of other threads --------------------------------------------------------- */

/**
 * dxr_call - a thread has changed what a channel waits for
 * @f: which
 * @look: a turn that executes may be past the place where it checks that
 *
 * One call is enough until its turn has begun.
 */
void dxr_call(ChannelFacade *f, bool look)
{
	if (look)
		f->look = true;
	if (f->running || atomic_exchange(&f->called, true))
		return;
	/* After a shortage the next change calls. */
	if (WakeRequestOf(f->dispatcher->mte, f))
		f->called = false;
}

void Dispatcher_unregisterChannel(ChannelFacade *facade)
{
	facade->leave = true;
	dxr_call(facade, false);
}

void ChannelFacade_close(ChannelFacade *facade)
{
	facade->close = true;
	dxr_call(facade, false);
}

int ChannelFacade_setHandler(ChannelFacade *facade, InputHandler *handler)
{
	if (!handler || !handler->nextMessage || !handler->handleInput || facade->acceptor)
		return -EINVAL;
	facade->handler = handler;
	/* The new handler may find a message where the previous one found none. */
	dxr_call(facade, true);
	return 0;
}

int ChannelFacade_modifyInterestOps(ChannelFacade *facade, int set, int reset)
{
	int own = facade->acceptor ? OP_ACCEPT : OP_READ;

	if ((set | reset) & ~(own | OP_WRITE) || (set & own && facade->write_only))
		return -EINVAL;
	if (set & own)
		facade->ops = own;
	else if (reset & own)
		facade->ops = 0;
	dxr_call(facade, facade->acceptor);
	return 0;
}

int ChannelFacade_getInterestOps(ChannelFacade *facade)
{
	return facade->ops | (OutputQueue_isEmpty(&facade->out) ? 0 : OP_WRITE);
}

int ChannelFacade_setIO(ChannelFacade *facade, ChannelIO *io)
{
	if (facade->acceptor || (io && (!io->read || !io->write)))
		return -EINVAL;
	facade->io = io;
	facade->dry = false;
	return 0;
}

int ChannelFacade_setIdle(ChannelFacade *facade, int64_t idle_ns)
{
	if (idle_ns < 0 || facade->acceptor)
		return -EINVAL;
	facade->idle = idle_ns;
	dxr_call(facade, false);
	return 0;
}

InputQueue *ChannelFacade_inputQueue(ChannelFacade *facade)
{
	return &facade->in;
}

OutputQueue *ChannelFacade_outputQueue(ChannelFacade *facade)
{
	return &facade->out;
}

/* --- waiting for a drain -------------------------------------------------------------- */

int ChannelFacade_awaitDrain(ChannelFacade *facade, ChannelFacade *other)
{
	Dispatcher *d = facade->dispatcher;
	int rc = 0;

	if (dxr_output_drained(&other->out))
		return 0;
	pthread_mutex_lock(&d->lock);
	/* A drain looks for waiters after that, and an end closes the queue before. */
	atomic_store(&other->awaited, true);
	if (facade->paused)
		rc = -EALREADY;
	else if (!dxr_output_drained(&other->out) && other->fd >= 0) {
		facade->paused = true;
		facade->next_waiter = other->waiters;
		other->waiters = ChannelFacade_hold(facade);
	}
	pthread_mutex_unlock(&d->lock);
	return rc;
}

/** dxr_resume - continue a channel that awaits a drain, and drop the reference for that */
void dxr_resume(ChannelFacade *f)
{
	f->paused = false;
	dxr_call(f, true);
	ChannelFacade_release(f);
}

static void resume_waiters(ChannelFacade *f)
{
	ChannelFacade *w, *all;

	pthread_mutex_lock(&f->dispatcher->lock);
	all = dxr_output_drained(&f->out) ? f->waiters : NULL;
	if (all) {
		f->waiters = NULL;
		atomic_store(&f->awaited, false);
	}
	pthread_mutex_unlock(&f->dispatcher->lock);
	while ((w = all)) {
		all = w->next_waiter;
		dxr_resume(w);
	}
}

/** dxr_drained - the turn has written bytes of the channel's output queue */
void dxr_drained(ChannelFacade *f, size_t written)
{
	moved(f);
	atomic_fetch_add_explicit(&f->dispatcher->out, written, memory_order_relaxed);
	if (atomic_load(&f->awaited))
		resume_waiters(f);
	if (f->dispatcher->options.MaxQueued)
		dxr_overload_ends(f->dispatcher);
}

/* --- a turn ------------------------------------------------------------------------------ */

/**
 * dxr_begin - a turn begins: from now on it handles what others want
 *
 * Return: 0, or the status with which the channel is to end.
 */
int dxr_begin(ChannelFacade *f, const RQElement *me)
{
	atomic_fetch_add_explicit(&f->dispatcher->turns, 1, memory_order_relaxed);
	f->running = true;
	f->called = false;
	switch (me->RQEWake) {
	case DXK_WAKE_CANCEL:
	case DXK_WAKE_STOP:
		return -ECANCELED;
	case DXK_WAKE_FILE:
		if (me->RQEEvents & DXK_EVENT_GONE)
			return -EBADF;
	}
	return f->leave ? -ECANCELED : 0;
}

/**
 * dxr_wait - end a turn with a wait
 * @f: it is marked as having no turn, and what others wanted before was looked at
 */
int dxr_wait(ChannelFacade *f, RQWait *wait)
{
	int rc = WaitRequest(wait);

	if (rc != RQ_WAITS)
		f->running = true;
	return rc;
}

/* Another turn follows at once: in effect it stays in its turn. */
int dxr_again(ChannelFacade *f)
{
	RQWait wait = { .Sources = DXK_WAIT_AGAIN };

	f->running = true;
	return WaitRequest(&wait);
}

/* Return: the handler if it may have its next message now, or NULL. */
static InputHandler *may_handle(ChannelFacade *f)
{
	/* before the check */
	if (f->look)
		f->look = false;
	return f->paused || f->leave || f->close ? NULL : f->handler;
}

static bool may_read(ChannelFacade *f)
{
	return !f->eof && !f->full && f->ops && !f->paused && !f->leave && !f->close;
}

/* All complete messages: no event will report bytes that were read already (NI-13). */
static int handle(ChannelFacade *f)
{
	size_t limit = f->dispatcher->options.InputLimit;
	InputHandler *h;
	Message *m;
	int rc = 0;

	while (rc >= 0 && (h = may_handle(f)) && !InputQueue_isEmpty(&f->in)) {
		m = h->nextMessage(h, f);
		if (!m)
			break;
		if (m == MESSAGE_EMPTY)
			continue;
		rc = h->handleInput(h, m, f);
		Message_free(m);
	}
	f->full = f->in.len >= (f->full ? limit / 2 : limit);
	if (rc == -EBADF)
		rc = -EIO;	/* that would be taken as an error of the channel's file */
	return rc < 0 ? rc : 0;
}

/* Return: see InputQueue_fillFrom() */
static ssize_t read_once(ChannelFacade *f, bool *all)
{
	ChannelIO *io = f->io;
	bool is_short;
	ssize_t n;

	n = io ? InputQueue_fillFromIO(&f->in, io, f->fd) : InputQueue_fillFrom(&f->in, f->fd);
	if (n <= 0) {
		f->dry = n == -EAGAIN;
		return n;
	}
	is_short = f->in.last->End < f->in.last->Size;
	/* The read has taken everything; if more has come, the wait is over at once. */
	*all = is_short && (!io || (io->pending && !io->pending(io)));
	f->dry = *all;
	return n;
}

/* Return: 0, or a negative errno: the file's */
static int fill(ChannelFacade *f)
{
	unsigned int reads = f->dispatcher->options.MaxReads;
	bool all = false;
	ssize_t n;
	int rc = 0;

	if (!InputQueue_isEmpty(&f->in) || f->full || f->look)
		rc = handle(f);
	f->more = false;
	while (!rc && !all && may_read(f)) {
		if (!reads--) {
			f->more = true;
			break;
		}
		n = read_once(f, &all);
		if (n == -EAGAIN || n == -ENOMEM)
			break;
		if (n < 0)
			return (int)n;
		f->eof = !n;
		if (!n)
			break;
		atomic_fetch_add_explicit(&f->dispatcher->in, (unsigned long long)n,
					  memory_order_relaxed);
		moved(f);
		rc = handle(f);
	}
	return rc;
}

static int drain(ChannelFacade *f)
{
	int rc;

	if (OutputQueue_isEmpty(&f->out))
		return 0;
	rc = f->io ? OutputQueue_drainToIO(&f->out, f->io, f->fd) :
		     OutputQueue_drainTo(&f->out, f->fd);
	return rc == -EAGAIN || rc == -ENOMEM ? 0 : rc;
}

/* Whether all input is handled, and no more will come. */
static bool at_end(const ChannelFacade *f)
{
	return f->eof && (InputQueue_isEmpty(&f->in) || !(f->paused || f->look));
}

static void stopping(ChannelFacade *f)
{
	InputHandler *h;

	if (f->stopping || !f->started)
		return;
	f->stopping = true;
	h = f->handler;
	if (h->stopping)
		h->stopping(h, f);
}

/*
 * Discards bytes that nobody wants.
 * Return: 0: there were some; -EAGAIN; or another error: there are no more
 */
static int discard(int fd)
{
	char unread[4096];
	ssize_t n = recv(fd, unread, sizeof(unread), MSG_DONTWAIT);

	return n > 0 ? 0 : n ? -errno : -EPIPE;
}

/* The peer knows that no more will be sent to it, and may still send. */
static void linger(ChannelFacade *f)
{
	int rc = 0;

	for (int i = 0; i < DISCARDS && !rc; i++)
		rc = discard(f->fd);
	f->more = !rc;
	f->finished = (rc && rc != -EAGAIN) || now() >= f->lingers;
}

/*
 * All is written, and the input is not wanted, or at its end: shuts down the output, and waits for
 * the peer's end, if that option is set.
 */
static void finish(ChannelFacade *f)
{
	int64_t time = f->dispatcher->options.LingerNs;
	ChannelIO *io = f->io;

	if (!f->sealed)
		f->sealed = dxr_output_seal(&f->out);
	if (!f->sealed)
		return;
	if (!f->said && io && io->end && io->end(io, f->fd) == -EAGAIN)
		return;
	if (!f->said) {
		f->said = true;
		f->finished = !time || f->eof || shutdown(f->fd, SHUT_WR);
		f->lingers = f->finished ? 0 : now() + (uint64_t)time;
	}
	if (!f->finished)
		linger(f);
}

static bool is_idle(ChannelFacade *f, const RQElement *me)
{
	int64_t idle = f->idle;

	return me->RQEWake == DXK_WAKE_TIME && idle && now() - f->active >= (uint64_t)idle;
}

static bool has_hung_up(const RQElement *me)
{
	return me->RQEWake == DXK_WAKE_FILE && me->RQEEvents & (POLLHUP | POLLERR);
}

static int move_bytes(ChannelFacade *f, const RQElement *me)
{
	bool look = f->more || f->io || me->RQEWake != DXK_WAKE_FILE || !me->RQEEvents ||
		    (me->RQEEvents & INPUT);
	int rc;

	if (is_idle(f, me))
		return -ETIME;
	/* Nobody reads its output, which is its only purpose. */
	if (f->write_only && has_hung_up(me))
		f->eof = true;
	rc = drain(f);
	if (!rc)
		rc = look ? fill(f) : handle(f);
	if (!rc)
		rc = drain(f);
	if (rc || f->leave || !(f->close || at_end(f)))
		return rc;
	/* The output of the handler at the end is sent, too. */
	stopping(f);
	rc = drain(f);
	if (!rc)
		finish(f);
	return rc;
}

/* The events that it waits for */
static uint32_t events(ChannelFacade *f, bool reads, bool writes)
{
	int wanted = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0);

	if (f->io && f->io->want && !f->lingers)
		wanted = f->io->want(f->io, (short)wanted) & (POLLIN | POLLOUT);
	return (uint32_t)(wanted & POLLIN ? wanted | POLLRDHUP : wanted);
}

static void set_deadline(ChannelFacade *f, RQWait *wait)
{
	int64_t idle = f->idle;

	if (idle) {
		if (!f->active)
			f->active = now();
		wait->Sources |= DXK_WAIT_TIME;
		wait->Deadline = f->active + (uint64_t)idle;
	}
	if (f->lingers && (!idle || f->lingers < wait->Deadline)) {
		wait->Sources |= DXK_WAIT_TIME;
		wait->Deadline = f->lingers;
	}
}

/*
 * Return: what the turn returns, %RQ_WAITS or a status: the channel is to end
 */
static int park(ChannelFacade *f, const RQElement *me)
{
	bool writes, reads;
	RQWait wait = { .Fd = f->fd };

	/* A file that is neither read nor written would report a hang-up again and again. */
	if (has_hung_up(me))
		f->hung = true;

	f->running = false;
	writes = !OutputQueue_isEmpty(&f->out) || (f->sealed && !f->said);
	if (f->leave || f->finished) {
		f->running = true;
		return f->leave ? -ECANCELED : 0;
	}
	/* Whether it was closed after its queues were checked. */
	if (f->more || f->look || (!writes && !f->sealed && (f->close || at_end(f))))
		return dxr_again(f);
	reads = (f->ops && !f->paused && !f->full && !f->close && !f->eof) || f->lingers;
	if (reads && f->io && !f->dry && !f->sealed)
		return dxr_again(f);
	wait.Events = events(f, reads, writes);
	wait.Sources = DXK_WAIT_CALL | (wait.Events || !f->hung ? DXK_WAIT_FILE : 0);
	set_deadline(f, &wait);
	return dxr_wait(f, &wait);
}

/**
 * dxr_close - close a file so that the output reaches a peer that has sent more than was read:
 *	unread bytes would turn the close into a reset
 */
void dxr_close(int fd)
{
	if (!shutdown(fd, SHUT_WR))
		for (int i = 0; i < DISCARDS && !discard(fd); i++)
			;
	close(fd);
}

/**
 * dxr_channel_end - the end of a channel (NI-9, NI-16, NI-20)
 * @f: it has no turn except the caller's, if that is one, and will have none
 * @status: 0 or the error; -EBADF: its file no longer belongs to it
 */
void dxr_channel_end(ChannelFacade *f, int status)
{
	InputHandlerFactory *factory = f->factory;
	InputHandler *h;
	int fd;

	if (status && status != -ECANCELED)
		atomic_fetch_add(&f->dispatcher->died, 1);
	stopping(f);
	dxr_output_close(&f->out);
	InputQueue_discardBytes(&f->in, f->in.len);
	if (f->kept >= 0)
		close(f->kept);
	f->kept = -1;
	fd = dxr_forget(f);
	if (status != -EBADF)
		dxr_close(fd);
	f->ended = true;
	h = f->handler;
	if (h && h->stopped)
		h->stopped(h, f);
	if (f->made && factory->deleteHandler)
		factory->deleteHandler(factory, f->made);
}

int dxr_channel_turn(Runnable *self, void *request)
{
	const RQElement *me = CurrentRequest();
	ChannelFacade *f = request;
	InputHandler *h;
	int rc;

	(void)self;
	rc = dxr_begin(f, me);
	if (!rc && !f->started) {
		h = f->handler;
		f->started = true;
		moved(f);
		if (h->starting)
			h->starting(h, f);
		if (h->started)
			h->started(h, f);
	}
	if (!rc)
		rc = move_bytes(f, me);
	if (!rc)
		rc = park(f, me);
	if (rc == RQ_WAITS)
		return rc;
	dxr_channel_end(f, rc);
	return rc;
}
