// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The pool: the list of connections, the receivers, and the ends of connections.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

uint64_t dxs_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* --- create and destroy ----------------------------------------------------------------- */

/* Posts the request of a connection, or of the gate, which may wait without limit. */
static int post(ConnectionPool *p, void *name, Runnable *executor, int32_t priority,
		const RQWait *wait)
{
	const RQPost post = {
		.pOObject = p, .pXObject = executor, .pPObject = name,
		.RQEPriority = priority, .RQEAttrs = PXR_REJOIN | PXR_LANE0 | PXR_QUIET,
	};
	RQOptions options = { .pName = name };

	if (wait)
		options.Wait = *wait;
	return dx_post_beside(p->mte, &post, &options);
}

static int gate_turn(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	return CurrentRequest()->RQEWake == DXK_WAKE_CALL ? 0 : -ECANCELED;
}

static int configure(ConnectionPool *p, const ConnectionPoolOptions *options)
{
	ConnectionPoolOptions *o = &p->options;

	if (options)
		*o = *options;
	for (unsigned int i = 0; i < sizeof(o->Reserved) / sizeof(o->Reserved[0]); i++)
		if (o->Reserved[i])
			return -EINVAL;
	if (o->Receivers > 1)
		return -EINVAL;
	if (!o->TurnTasks)
		o->TurnTasks = 64;
	if (!o->InputLimit)
		o->InputLimit = 1 << 20;
	if (!o->OutputLimit)
		o->OutputLimit = 4 << 20;
	return 0;
}

ConnectionPool *ConnectionPool_create(TaskQueue *queue, const ConnectionPoolOptions *options)
{
	static const RQWait call = { .Sources = DXK_WAIT_CALL };
	ConnectionPool *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return NULL;
	p->queue = queue;
	p->mte = queue->mte;
	p->gate.ExecuteThisRequest = gate_turn;
	rc = configure(p, options);
	if (!rc && p->options.Receivers) {
		p->active = BoundedQueue_create(NULL, 0);
		rc = p->active ? 0 : -ENOMEM;
	}
	if (!rc)
		rc = post(p, p, &p->gate, 0, &call);
	if (rc) {
		BoundedQueue_destroy(p->active);
		free(p);
		errno = -rc;
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

/* A connection or an acceptor is to end. Under P. Return: 0, or the error of its call */
static int shut(Connection *c, int64_t drain_ns)
{
	bool calls;

	pthread_mutex_lock(&c->lock);
	if (!c->leaves)
		c->status = -ECANCELED;
	if (drain_ns <= 0 || c->acceptor)
		c->leaves = true;
	else
		c->drain = dxs_now() + (uint64_t)drain_ns;
	calls = dxs_calls(c);
	pthread_mutex_unlock(&c->lock);
	return calls ? dxs_call(c) : 0;
}

/* Return: 0, or an error: one that has not ended was not called; the next shutdown calls. */
static int shut_down(ConnectionPool *p, int64_t drain_ns)
{
	int rc = 0, failed;

	pthread_mutex_lock(&p->lock);
	p->shut = true;
	for (Connection *c = p->first; c; c = c->next) {
		failed = shut(c, drain_ns);
		rc = failed && failed != -ENOENT ? failed : rc;
	}
	pthread_mutex_unlock(&p->lock);
	if (p->active)
		BoundedQueue_close(p->active);
	failed = WakeRequestOf(p->mte, p);
	return failed && failed != -ENOENT ? failed : rc;
}

void ConnectionPool_shutdown(ConnectionPool *pool, int64_t drain_ns)
{
	shut_down(pool, drain_ns);
}

void ConnectionPool_destroy(ConnectionPool *pool)
{
	ConnectionPool *p = pool;
	void *c;

	if (!p)
		return;
	/* Workers still use it, and its connections. */
	while (dxs_passes(shut_down(p, 0)) || dxs_passes(ConnectionPool_serve(p)))
		;
	while (p->active && !BoundedQueue_pop(p->active, &c, 0))
		Connection_release(c);
	BoundedQueue_destroy(p->active);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void ConnectionPool_status(ConnectionPool *pool, ConnectionPoolStatus *status)
{
	ConnectionPool *p = pool;

	*status = (ConnectionPoolStatus){
		.Turns = p->turns, .Pulls = p->pulls, .Reads = p->reads, .BytesIn = p->in,
		.BytesOut = p->out, .Messages = p->messages, .Dropped = p->dropped,
		.Accepted = p->accepted, .Refused = p->refused, .Pauses = p->pauses,
	};
	pthread_mutex_lock(&p->lock);
	status->Connections = p->live;
	pthread_mutex_unlock(&p->lock);
}

/* --- connections -------------------------------------------------------------------------- */

Connection *Connection_hold(Connection *connection)
{
	atomic_fetch_add(&connection->holds, 1);
	return connection;
}

void Connection_release(Connection *connection)
{
	Connection *c = connection;

	if (!c || atomic_fetch_sub(&c->holds, 1) != 1)
		return;
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static int enter(Connection *c)
{
	ConnectionPool *p = c->pool;

	pthread_mutex_lock(&p->lock);
	if (p->shut) {
		pthread_mutex_unlock(&p->lock);
		return -ESHUTDOWN;
	}
	c->link = &p->first;
	c->next = p->first;
	if (c->next)
		c->next->link = &c->next;
	p->first = c;
	p->live++;
	p->connections += !c->acceptor;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

/* There are fewer connections: calls the acceptors that wait for that. Under P. */
static void let_accept(ConnectionPool *p, const Connection *but)
{
	Connection *a, *next;
	bool calls;

	for (a = p->full, p->full = NULL; a; a = next) {
		next = a->next_full == a ? NULL : a->next_full;
		a->next_full = NULL;
		pthread_mutex_lock(&a->lock);
		/* It waits for its file's events again; with receivers, a call is no event. */
		a->held_back = false;
		calls = a != but && dxs_calls(a);
		pthread_mutex_unlock(&a->lock);
		if (calls)
			dxs_call(a);
	}
}

/**
 * dxs_forget - a connection no longer counts
 * @c: which
 */
void dxs_forget(Connection *c)
{
	ConnectionPool *p = c->pool;

	pthread_mutex_lock(&p->lock);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	p->live--;
	p->connections -= !c->acceptor;
	/* It may itself be one of those that wait. */
	let_accept(p, c);
	pthread_mutex_unlock(&p->lock);
}

/**
 * dxs_is_full - whether the maximum number of connections exists
 * @acceptor: if so, it is called when there are fewer; else it has a place until dxs_accepted()
 */
bool dxs_is_full(Connection *acceptor)
{
	ConnectionPool *p = acceptor->pool;
	bool full;

	pthread_mutex_lock(&p->lock);
	full = p->options.MaxConnections &&
	       p->connections + p->accepting >= p->options.MaxConnections;
	p->accepting += !full;
	if (full && !acceptor->next_full) {
		acceptor->next_full = p->full ? p->full : acceptor;
		p->full = acceptor;
	}
	pthread_mutex_lock(&acceptor->lock);
	acceptor->held_back = full;
	pthread_mutex_unlock(&acceptor->lock);
	pthread_mutex_unlock(&p->lock);
	return full;
}

/**
 * dxs_accepted - an acceptor no longer needs its place: the accepted connection counts itself
 * @acceptor: whose dxs_is_full() was false
 */
void dxs_accepted(Connection *acceptor)
{
	ConnectionPool *p = acceptor->pool;

	pthread_mutex_lock(&p->lock);
	p->accepting--;
	if (p->connections + p->accepting < p->options.MaxConnections)
		let_accept(p, NULL);
	pthread_mutex_unlock(&p->lock);
}

static Connection *new_connection(ConnectionPool *p, int fd, const ConnectionOps *ops, void *arg,
				  bool acceptor)
{
	Connection *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	*c = (Connection){
		.base.ExecuteThisRequest = dxs_turn,
		.pushed.ExecuteThisRequest = dxs_pushed_turn,
		.pool = p, .ops = ops, .arg = arg, .acceptor = acceptor, .fd = fd,
		/* It will have a turn, and is marked so before it can be called for one. */
		.running = true,
	};
	atomic_init(&c->holds, 1);
	pthread_mutex_init(&c->lock, NULL);
	dxr_input_init(&c->in, p->options.Factory);
	return c;
}

/**
 * dxs_register - ConnectionPool_register(), also of an acceptor
 * @opens: out: whether @opened did not refuse it. May be %NULL
 */
int dxs_register(ConnectionPool *pool, int fd, const ConnectionOps *ops, void *arg, bool acceptor,
		 Connection **connection, bool *opens)
{
	int flags = fcntl(fd, F_GETFL), rc;
	struct dxs_message *done = NULL;
	Connection *c;

	if (connection)
		*connection = NULL;
	if (opens)
		*opens = true;
	if (flags < 0)
		return -errno;
	if (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK))
		return -errno;
	c = new_connection(pool, fd, ops, arg, acceptor);
	if (!c)
		return -ENOMEM;
	rc = enter(c);
	if (rc)
		goto err_free;
	/* A connection that has ended before this returns still belongs to the caller. */
	if (connection)
		*connection = Connection_hold(c);
	if (ops && ops->opened && !acceptor)
		rc = ops->opened(c, arg);
	if (rc && opens)
		*opens = false;
	if (rc)
		goto err_forget;
	rc = post(pool, c, &c->base, pool->options.Priority, NULL);
	if (!rc)
		return 0;
	if (ops && ops->ended && !acceptor)
		ops->ended(c, arg, rc);
err_forget:
	pthread_mutex_lock(&c->lock);
	c->ended = true;
	c->fd = -1;
	dxs_observers_drop(c);
	dxs_messages_drop(c, &done);
	pthread_mutex_unlock(&c->lock);
	dxs_messages_done(c, done);
	dxs_forget(c);
	if (connection) {
		*connection = NULL;
		Connection_release(c);
	}
err_free:
	Connection_release(c);
	return rc;
}

int ConnectionPool_register(ConnectionPool *pool, int fd, const ConnectionOps *ops, void *arg,
			    Connection **connection)
{
	return dxs_register(pool, fd, ops, arg, false, connection, NULL);
}

/* --- the ends ------------------------------------------------------------------------------- */

/* A request was collected without an end. If a task works with the connection it comes later. */
static void collect_ended(Connection *c, int status)
{
	bool ends;

	pthread_mutex_lock(&c->lock);
	ends = !c->at_work;
	c->ended = ends;
	c->lost = !ends;
	if (!c->leaves) {
		c->leaves = true;
		c->status = status;
	}
	pthread_mutex_unlock(&c->lock);
	if (status == -EBADF)
		c->gone = true;
	if (ends)
		dxs_end(c, status);
}

static void collect_pushed(Connection *c, int status)
{
	bool ends;

	if (status)
		dxs_pushed_lost(c, status);
	pthread_mutex_lock(&c->lock);
	ends = c->lost;
	pthread_mutex_unlock(&c->lock);
	if (ends)
		dxs_end(c, c->status);
}

/* A request of the pool was collected: most connections had their end in their last turn. */
static void collect(ConnectionPool *p, const RQElement *e)
{
	Connection *c = e->pPObject;

	if ((void *)c == p)
		return;
	if (e->pXObject == &c->pushed)
		collect_pushed(c, e->RQEStatus);
	else if (!c->ended)
		collect_ended(c, e->RQEStatus);
	Connection_release(c);
}

int ConnectionPool_serve(ConnectionPool *pool)
{
	RQElement e;
	int rc, status = 0;

	if (CurrentRequest())
		return -EDEADLK;
	do {
		rc = GetRejoinElementOf(pool->mte, pool, &e, NULL, 0, -1);
		if (rc == RJR_RETURNED) {
			if (e.pPObject == pool)
				status = e.RQEStatus;
			collect(pool, &e);
		}
	} while (rc == RJR_RETURNED || rc == -ESHUTDOWN);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&pool->lock);
	pool->shut = true;
	pthread_mutex_unlock(&pool->lock);
	return status;
}

/* --- receivers ------------------------------------------------------------------------------ */

/* Return: whether it is the receiver's now. */
static bool take(Connection *c, const void *receiver)
{
	bool taken;

	pthread_mutex_lock(&c->lock);
	c->offered = false;
	taken = !c->ended;
	if (taken)
		c->owner = receiver;
	pthread_mutex_unlock(&c->lock);
	return taken;
}

int ConnectionPool_takeMyConnections(ConnectionPool *pool, const void *receiver,
				     Connection **connections, unsigned int max,
				     int64_t timeout_ns)
{
	uint64_t end = timeout_ns > 0 ? dxs_now() + (uint64_t)timeout_ns : 0, now;
	unsigned int nr = 0;
	void *c;
	int rc;

	if (!pool->active || !receiver || !max)
		return -EINVAL;
	while (nr < max) {
		rc = BoundedQueue_pop(pool->active, &c, nr ? 0 : timeout_ns);
		if (rc)
			return nr ? (int)nr : end && rc == -EAGAIN ? -ETIMEDOUT : rc;
		if (take(c, receiver)) {
			connections[nr++] = c;
			continue;
		}
		/* It has ended meanwhile. */
		Connection_release(c);
		now = end ? dxs_now() : 0;
		timeout_ns = end ? (now < end ? (int64_t)(end - now) : 0) : timeout_ns;
	}
	return (int)nr;
}
