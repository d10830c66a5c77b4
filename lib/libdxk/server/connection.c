// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A connection: its owner, which pulls it, its observers, and its turns.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* How long it sleeps at a time until no task works with it, also when it was cancelled */
#define AT_WORK_NS	100000000

/* --- calls of other threads ------------------------------------------------------------------ */

/** dxs_calls - under K: whether the caller must call it, so that a turn looks at a change */
bool dxs_calls(Connection *c)
{
	if (c->running || c->called || c->ended)
		return false;
	c->called = true;
	return true;
}

/**
 * dxs_call - call a connection, after dxs_calls() has returned true
 *
 * Return: 0, or an error: it was not called, and the next change calls.
 */
int dxs_call(Connection *c)
{
	int rc = WakeRequestOf(c->pool->mte, c);

	if (!rc)
		return 0;
	pthread_mutex_lock(&c->lock);
	c->called = false;
	pthread_mutex_unlock(&c->lock);
	return rc;
}

void Connection_close(Connection *connection)
{
	Connection *c = connection;
	bool calls;

	dxs_answers();
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	calls = dxs_calls(c);
	pthread_mutex_unlock(&c->lock);
	if (calls)
		dxs_call(c);
}

void Connection_setContext(Connection *connection, void *context)
{
	connection->context = context;
}

void *Connection_context(Connection *connection)
{
	return connection->context;
}

const void *Connection_owner(Connection *connection)
{
	return connection->owner;
}

/* --- observers ------------------------------------------------------------------------------- */

static struct dxs_observer *new_observer(Connection *c)
{
	struct dxs_observer *o = c->own_used ? malloc(sizeof(*o)) : &c->own;

	c->own_used |= o == &c->own;
	return o;
}

/* The first one is served. Under K. */
static void pop(Connection *c)
{
	struct dxs_observer *o = c->first;

	c->first = o->next;
	if (!c->first)
		c->last = NULL;
	c->seen = NULL;
	if (o == &c->own)
		c->own_used = false;
	else
		free(o);
}

/** dxs_observers_drop - drop the observers: they will not be served */
void dxs_observers_drop(Connection *c)
{
	while (c->first)
		pop(c);
}

int Connection_observe(Connection *connection, const DataObserver *observer)
{
	Connection *c = connection;
	struct dxs_observer *o;
	bool calls = false;
	int rc = 0;

	dxs_answers();
	if (!observer->Run || !observer->Length == !observer->enough || observer->TimeoutNs < 0 ||
	    observer->Reserved[0] || observer->Reserved[1] || c->acceptor)
		return -EINVAL;
	pthread_mutex_lock(&c->lock);
	if (c->ended || c->leaves || c->closing)
		rc = -EPIPE;
	o = rc ? NULL : new_observer(c);
	if (!rc && !o)
		rc = -ENOMEM;
	if (!rc) {
		*o = (struct dxs_observer){ .want = *observer };
		if (c->last)
			c->last->next = o;
		else
			c->first = o;
		c->last = o;
		calls = c->first == o && dxs_calls(c);
	}
	pthread_mutex_unlock(&c->lock);
	if (calls)
		dxs_call(c);
	return rc;
}

bool Connection_active(Connection *connection)
{
	Connection *c = connection;
	struct pollfd p = { .events = POLLIN };
	bool waits, known;

	pthread_mutex_lock(&c->lock);
	p.fd = c->fd;
	waits = (c->first || c->acceptor) && !c->busy && !c->ended;
	known = c->offered || (!c->owner && c->first != c->seen && !InputQueue_isEmpty(&c->in));
	/* Under the lock, so that the descriptor is still its file. */
	known = known || (waits && poll(&p, 1, 0) > 0);
	pthread_mutex_unlock(&c->lock);
	return waits && known;
}

/* --- tasks that were pushed ------------------------------------------------------------------ */

/* The next observer may be served. */
static void pushed_ends(Connection *c, int status)
{
	bool calls;

	pthread_mutex_lock(&c->lock);
	c->busy = c->at_work = false;
	if (status < 0 && !c->leaves) {
		c->leaves = true;
		c->status = status;
	}
	calls = dxs_calls(c);
	pthread_mutex_unlock(&c->lock);
	if (calls)
		dxs_call(c);
}

int dxs_pushed_turn(Runnable *self, void *request)
{
	Connection *c = request;
	Message *data = c->data;
	int rc = 0;

	(void)self;
	pthread_mutex_lock(&c->lock);
	c->at_work = !c->ended;
	pthread_mutex_unlock(&c->lock);
	/* The data that it would use may be gone with the connection. */
	if (c->at_work)
		rc = dxs_run(c->pool->queue, c->task, data, c->task_context, SERVES);
	c->data = NULL;
	Message_free(data);
	pushed_ends(c, rc);
	return 0;
}

/** dxs_pushed_lost - a pushed task was not run, or not to its end */
void dxs_pushed_lost(Connection *c, int status)
{
	Message_free(c->data);
	c->data = NULL;
	pushed_ends(c, status);
}

static int push(Connection *c, Task *task, Message *data, void *context)
{
	ConnectionPool *p = c->pool;
	const bool waits = c->owner != p;
	const RQPost post = {
		.pOObject = p, .pXObject = &c->pushed, .pPObject = c,
		.RQEPriority = task->Priority,
		.RQEAttrs = PXR_REJOIN | (waits ? PXR_WAITIF_BUSY : 0),
	};
	RQOptions options = { .Key = task->Key };
	int rc;

	c->task = task;
	c->data = data;
	c->task_context = context;
	pthread_mutex_lock(&c->lock);
	c->busy = true;
	pthread_mutex_unlock(&c->lock);
	Connection_hold(c);
	/*
	 * A receiver waits if the queue is full; a worker, which would have to empty it, does not.
	 * A signal is no fault of the connection, whose data has been taken out already.
	 */
	do
		rc = waits ? dxs_post(p->mte, &post, &options, true) :
			     dx_post_beside(p->mte, &post, &options);
	while (rc == -EINTR);
	if (!rc)
		return 0;
	pthread_mutex_lock(&c->lock);
	c->busy = false;
	pthread_mutex_unlock(&c->lock);
	c->data = NULL;
	Message_free(data);
	Connection_release(c);
	return rc;
}

/* --- pull: by the owner ---------------------------------------------------------------------- */

/* Serves the first observer, with @len bytes, or because its time is over. */
static int trigger(Connection *c, size_t len)
{
	struct dxs_observer *o = c->first;
	Task *task = len ? o->want.Run : o->want.Expired;
	void *context = o->want.Context;
	Message *data = NULL;
	int rc;

	if (!task)
		return -ETIME;
	if (len) {
		data = InputQueue_dequeueBytes(&c->in, len);
		if (!data)
			return -ENOMEM;
	}
	pthread_mutex_lock(&c->lock);
	pop(c);
	pthread_mutex_unlock(&c->lock);
	if (task->Key || c->owner != c->pool)
		return push(c, task, data, context);
	/* If the worker dies, the data is freed at the connection's end. */
	c->data = data;
	rc = dxs_run(c->pool->queue, task, data, context, SERVES);
	c->data = NULL;
	Message_free(data);
	return rc < 0 ? rc : 0;
}

/* The observer that may be served now, or %NULL. Only the owner removes it. */
static struct dxs_observer *may_serve(Connection *c)
{
	struct dxs_observer *o;

	pthread_mutex_lock(&c->lock);
	o = c->busy || c->closing || c->leaves ? NULL : c->first;
	pthread_mutex_unlock(&c->lock);
	return o;
}

/* Return: number of bytes to serve an observer with now; 0: it needs more; or its error */
static ssize_t enough(Connection *c, const DataObserver *want)
{
	size_t have = InputQueue_length(&c->in);
	ssize_t n;

	if (want->Length)
		return have >= want->Length ? (ssize_t)want->Length : 0;
	n = have ? want->enough(want, &c->in) : 0;
	if (n > 0 && (size_t)n > have)
		return -EPROTO;
	return !n && have >= c->pool->options.InputLimit ? -EMSGSIZE : n;
}

/* Bytes of a file, up to a maximum. */
struct limited {
	ChannelIO base;
	size_t most;
	bool all;	/* the file had no more */
};

static ssize_t limited_read(ChannelIO *self, int fd, void *data, size_t len)
{
	struct limited *l = (struct limited *)self;
	ssize_t n;

	if (len > l->most)
		len = l->most;
	do
		n = read(fd, data, len);
	while (n < 0 && errno == EINTR);
	l->all = n < (ssize_t)len;
	return n < 0 ? -errno : n;
}

/*
 * Reads once the data that an observer waits for.
 * Return: 1: more may be there; 0: there is none now; or the file's error
 */
static int fill(Connection *c, const DataObserver *want)
{
	size_t have = InputQueue_length(&c->in);
	struct limited l = {
		.base.read = limited_read, .most = want->Length ? want->Length - have : SIZE_MAX,
	};
	ssize_t n = InputQueue_fillFromIO(&c->in, &l.base, c->fd);

	atomic_fetch_add_explicit(&c->pool->reads, 1, memory_order_relaxed);
	if (n > 0) {
		atomic_fetch_add_explicit(&c->pool->in, (unsigned long long)n,
					  memory_order_relaxed);
		return !l.all;
	}
	if (n == -EBADF)
		c->gone = true;
	if (n < 0)
		return n == -EAGAIN ? 0 : (int)n;
	c->eof = true;
	return 0;
}

static void pull_ends(Connection *c, const struct dxs_observer *o)
{
	pthread_mutex_lock(&c->lock);
	c->seen = o;
	/* The data that it waits for will not come. */
	if (c->eof)
		c->closing = true;
	pthread_mutex_unlock(&c->lock);
}

/* Return: 0, or the error with which the connection is to end */
static int pull(Connection *c)
{
	unsigned int left = c->pool->options.TurnTasks;
	struct dxs_observer *o;
	bool more = true;
	ssize_t n;
	int rc;

	atomic_fetch_add_explicit(&c->pool->pulls, 1, memory_order_relaxed);
	if (c->acceptor)
		return dxs_accept(c);
	c->more = false;
	while ((o = may_serve(c))) {
		if (!left--) {
			c->more = true;
			return 0;
		}
		n = enough(c, &o->want);
		rc = n < 0 ? (int)n : n ? trigger(c, (size_t)n) : 0;
		if (rc)
			return rc;
		if (n)
			continue;
		if (!more || c->eof) {
			pull_ends(c, o);
			return 0;
		}
		rc = fill(c, &o->want);
		if (rc < 0)
			return rc;
		more = rc;
	}
	return 0;
}

int Connection_pull(Connection *connection, const void *receiver)
{
	Connection *c = connection;
	bool calls;
	int rc;

	if (!receiver || c->owner != receiver || receiver == c->pool)
		return -EPERM;
	rc = pull(c);
	pthread_mutex_lock(&c->lock);
	if (rc && !c->leaves) {
		c->leaves = true;
		c->status = rc;
	}
	c->owner = NULL;
	calls = dxs_calls(c);
	pthread_mutex_unlock(&c->lock);
	if (calls)
		dxs_call(c);
	Connection_release(c);
	return rc;
}

/* --- a turn ---------------------------------------------------------------------------------- */

/* The next step, after a check of all notes */
enum next { WAITS, AGAIN, PULLS, EXPIRED, ENDS };

static void sooner(RQWait *wait, uint64_t deadline)
{
	if (!deadline || (wait->Deadline && wait->Deadline <= deadline))
		return;
	wait->Sources |= DXK_WAIT_TIME;
	wait->Deadline = deadline;
}

/* Whether it is to end now, apart from tasks that work with it. */
static bool is_over(const Connection *c, uint64_t now)
{
	if (c->leaves || (c->drain && now >= c->drain))
		return true;
	/* After a shutdown it ends when no task works with it: each waits for data again. */
	return !c->out && !c->busy && (c->closing || (c->drain && c->first));
}

/* It is left for the next receiver. */
static void offer(Connection *c)
{
	c->offered = true;
	c->more = false;
	Connection_hold(c);
	if (!BoundedQueue_push(c->pool->active, c, 0))
		return;
	/* After a shutdown. The request still holds it. */
	c->offered = false;
	atomic_fetch_sub(&c->holds, 1);
}

/* Whether nobody would pull it. After a shutdown there are no receivers. */
static bool is_left(const Connection *c)
{
	return c->pool->active && c->drain;
}

/* Whether there is something to pull: an event, or data that no event reports. */
static bool may_pull(const Connection *c, bool event)
{
	if (c->busy || c->owner || c->offered || c->closing || !(c->first || c->acceptor))
		return false;
	if (is_left(c))
		return false;
	if (c->pool->active)
		return event || c->more ||
		       (c->first != c->seen && !InputQueue_isEmpty(&c->in));
	return c->first != c->seen;
}

/* Waits for the file's events, and until the next deadline. */
static void wait_for(Connection *c, RQWait *wait, uint64_t now)
{
	struct dxs_observer *o = c->closing ? NULL : c->first;

	*wait = (RQWait){ .Sources = DXK_WAIT_CALL, .Fd = c->fd };
	if (c->out) {
		wait->Events |= POLLOUT;
		sooner(wait, c->out_deadline);
	}
	sooner(wait, c->drain);
	if (!c->busy && !c->owner && !c->offered) {
		if (c->pause && now >= c->pause)
			c->pause = 0;
		sooner(wait, c->pause);
		if (o ? !c->eof && !is_left(c) : c->acceptor && !c->pause && !c->held_back)
			wait->Events |= POLLIN | POLLRDHUP;
		if (o)
			sooner(wait, o->deadline);
	}
	if (wait->Events)
		wait->Sources |= DXK_WAIT_FILE;
}

static bool has_expired(Connection *c, uint64_t now)
{
	struct dxs_observer *o = c->closing || c->busy || c->owner || c->offered ? NULL : c->first;

	if (!o || !o->want.TimeoutNs)
		return false;
	if (!o->deadline)
		o->deadline = now + (uint64_t)o->want.TimeoutNs;
	return now >= o->deadline;
}

/* Under K: what the turn does next. */
static enum next decide(Connection *c, bool event, RQWait *wait)
{
	bool receivers = c->pool->active;
	uint64_t now = dxs_now();

	if (is_over(c, now)) {
		if (!c->owner && !c->at_work) {
			/* No pushed task begins from now on. */
			c->ended = true;
			return ENDS;
		}
		*wait = (RQWait){
			.Sources = DXK_WAIT_CALL | DXK_WAIT_TIME | DXK_WAIT_MASKED,
			.TimeoutNs = AT_WORK_NS,
		};
		return WAITS;
	}
	if (!receivers && c->more)
		return AGAIN;
	if (may_pull(c, event)) {
		if (!receivers)
			return PULLS;
		offer(c);
	}
	if (has_expired(c, now))
		return EXPIRED;
	wait_for(c, wait, now);
	return WAITS;
}

static enum next look(Connection *c, bool event, RQWait *wait)
{
	struct dxs_message *done = NULL;
	enum next next;
	int rc;

	pthread_mutex_lock(&c->lock);
	if (c->owner == c->pool)
		c->owner = NULL;
	rc = c->leaves ? 0 : dxs_write(c, &done);
	if (rc) {
		c->leaves = true;
		c->status = rc;
	}
	next = decide(c, event, wait);
	if (next == WAITS)
		c->running = false;
	else if (next != ENDS)
		c->owner = c->pool;
	pthread_mutex_unlock(&c->lock);
	dxs_messages_done(c, done);
	return next;
}

static void leave(Connection *c, int status)
{
	pthread_mutex_lock(&c->lock);
	if (!c->leaves) {
		c->leaves = true;
		c->status = status;
	}
	pthread_mutex_unlock(&c->lock);
}

/* A turn begins. Return: whether its file may be readable. */
static bool begin(Connection *c)
{
	const RQElement *me = CurrentRequest();
	bool receivers = c->pool->active;

	atomic_fetch_add_explicit(&c->pool->turns, 1, memory_order_relaxed);
	pthread_mutex_lock(&c->lock);
	c->running = true;
	c->called = false;
	if (!receivers)
		c->owner = c->pool;
	pthread_mutex_unlock(&c->lock);
	switch (me->RQEWake) {
	case DXK_WAKE_CANCEL:
	case DXK_WAKE_EXPIRE:
	case DXK_WAKE_STOP:
		leave(c, -ECANCELED);
		return false;
	case DXK_WAKE_FILE:
		if (me->RQEEvents & DXK_EVENT_GONE) {
			c->gone = true;
			leave(c, -EBADF);
		}
		return me->RQEEvents & ~(uint32_t)(POLLOUT | DXK_EVENT_GONE);
	default:
		return false;
	}
}

/** dxs_end - the end of a connection, which has no turn except the caller's, if that is one */
void dxs_end(Connection *c, int status)
{
	struct dxs_message *done = NULL;
	Message *data;
	int fd;

	pthread_mutex_lock(&c->lock);
	c->ended = true;
	data = c->busy ? NULL : c->data;
	fd = c->fd;
	c->fd = -1;
	dxs_observers_drop(c);
	dxs_messages_drop(c, &done);
	pthread_mutex_unlock(&c->lock);
	Message_free(data);
	InputQueue_discardBytes(&c->in, InputQueue_length(&c->in));
	if (!c->gone)
		dxr_close(fd);
	dxs_messages_done(c, done);
	dxs_forget(c);
	if (c->ops && c->ops->ended && !c->acceptor)
		c->ops->ended(c, c->arg, status);
}

int dxs_turn(Runnable *self, void *request)
{
	Connection *c = request;
	bool event = begin(c);
	enum next next = c->pool->active ? WAITS : PULLS;
	RQWait wait;
	int rc;

	(void)self;
	do {
		rc = next == PULLS ? pull(c) : next == EXPIRED ? trigger(c, 0) : 0;
		if (rc)
			leave(c, rc);
		next = look(c, event, &wait);
		event = false;
	} while (next == PULLS || next == EXPIRED);
	if (next == AGAIN)
		wait = (RQWait){ .Sources = DXK_WAIT_AGAIN };
	rc = next == ENDS ? c->status : WaitRequest(&wait);
	if (rc == RQ_WAITS)
		return rc;
	dxs_end(c, rc);
	return rc;
}
