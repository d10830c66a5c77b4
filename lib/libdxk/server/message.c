// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The messenger: the messages to be written to a connection, in order. It has no thread: the turn
 * writes, and a thread that queues the first message while there is no turn writes as much of it
 * as the file takes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "internal.h"

/* Messages in one write */
#define PIECES		16
/* Room for short messages that follow each other */
#define ROOM		1000

/* --- writing: under K ---------------------------------------------------------------------- */

static ssize_t write_some(Connection *c)
{
	struct iovec iov[PIECES];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t n;

	for (struct dxs_message *m = c->out; m && msg.msg_iovlen < PIECES; m = m->next)
		iov[msg.msg_iovlen++] = (struct iovec){ m->data + m->at, m->len - m->at };
	do {
		n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == ENOTSOCK)
			n = writev(c->fd, iov, (int)msg.msg_iovlen);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Takes a message out of the list with its end. Frees it if there is nothing to report to. */
static void finish(Connection *c, struct dxs_message **from, int status,
		   struct dxs_message **done)
{
	struct dxs_message *m = *from;

	*from = m->next;
	if (c->out_last == m)
		c->out_last = from == &c->out ? NULL :
			      (struct dxs_message *)((char *)from - offsetof(struct dxs_message, next));
	c->out_len -= m->len - m->at;
	if (!m->done) {
		free(m);
		return;
	}
	m->status = status;
	while (*done)
		done = &(*done)->next;
	m->next = NULL;
	*done = m;
}

static void wrote(Connection *c, size_t n, struct dxs_message **done)
{
	struct dxs_message *m;
	size_t part;

	atomic_fetch_add_explicit(&c->pool->out, n, memory_order_relaxed);
	while (n) {
		m = c->out;
		part = m->len - m->at < n ? m->len - m->at : n;
		m->at += part;
		c->out_len -= part;
		n -= part;
		if (m->at < m->len)
			break;
		atomic_fetch_add_explicit(&c->pool->messages, 1, memory_order_relaxed);
		finish(c, &c->out, 0, done);
	}
}

/* Drops messages whose time is over. Return: 0 or -ETIME: the peer has a part of one. */
static int drop_late(Connection *c, struct dxs_message **done)
{
	uint64_t now = dxs_now();
	struct dxs_message **p = &c->out, *m;

	if (now < c->out_deadline)
		return 0;
	c->out_deadline = 0;
	while ((m = *p)) {
		if (m->deadline && m->deadline <= now) {
			if (m->at)
				return -ETIME;
			atomic_fetch_add(&c->pool->dropped, 1);
			finish(c, p, -ETIME, done);
			continue;
		}
		if (m->deadline && (!c->out_deadline || m->deadline < c->out_deadline))
			c->out_deadline = m->deadline;
		p = &m->next;
	}
	return 0;
}

/**
 * dxs_write - write until there is no message or the file takes no more; drop late messages
 * @c: which, its lock held
 * @done: out, for dxs_messages_done(): messages that have ended
 *
 * Return: 0, or the error with which the connection is to end.
 */
int dxs_write(Connection *c, struct dxs_message **done)
{
	ssize_t n = 0;

	while (c->out && n >= 0) {
		n = write_some(c);
		if (n > 0)
			wrote(c, (size_t)n, done);
	}
	if (n == -EBADF)
		c->gone = true;
	if (n < 0 && n != -EAGAIN && n != -ENOBUFS && n != -ENOMEM)
		return (int)n;
	return c->out && c->out_deadline ? drop_late(c, done) : 0;
}

/** dxs_messages_drop - the connection has ended: end the messages that were not written */
void dxs_messages_drop(Connection *c, struct dxs_message **done)
{
	while (c->out)
		finish(c, &c->out, -EPIPE, done);
}

/** dxs_messages_done - report messages that have ended, without the lock */
void dxs_messages_done(Connection *c, struct dxs_message *done)
{
	struct dxs_message *m;

	while ((m = done)) {
		done = m->next;
		m->done(m->arg, c, m->status);
		free(m);
	}
}

/* --- queueing -------------------------------------------------------------------------------- */

/* Appends to the last message if nobody can tell the two apart, else after it. */
static int append(Connection *c, const void *data, size_t len, uint64_t deadline, MessageDone done,
		  void *arg)
{
	struct dxs_message *m = c->out_last;
	bool plain = !deadline && !done;
	size_t room = plain && len < ROOM ? ROOM : len;

	if (!m || !plain || m->deadline || m->done || m->room - m->len < len) {
		m = malloc(sizeof(*m) + room);
		if (!m)
			return -ENOMEM;
		*m = (struct dxs_message){
			.room = room, .deadline = deadline, .done = done, .arg = arg,
		};
		if (c->out_last)
			c->out_last->next = m;
		else
			c->out = m;
		c->out_last = m;
	}
	memcpy(m->data + m->len, data, len);
	m->len += len;
	c->out_len += len;
	if (deadline && (!c->out_deadline || deadline < c->out_deadline))
		c->out_deadline = deadline;
	return 0;
}

int Connection_sendWithin(Connection *connection, const void *data, size_t len, int64_t timeout_ns,
			  MessageDone done, void *arg)
{
	uint64_t deadline = timeout_ns > 0 ? dxs_now() + (uint64_t)timeout_ns : 0;
	Connection *c = connection;
	struct dxs_message *ended = NULL;
	bool calls = false, first;
	int rc = 0, wrote;

	dxs_answers();
	if (timeout_ns < 0)
		return -EINVAL;
	pthread_mutex_lock(&c->lock);
	first = !c->out;
	if (c->ended || c->leaves)
		rc = -EPIPE;
	else if (!len)
		first = false;
	else if (c->out_len >= c->pool->options.OutputLimit)
		rc = -EAGAIN;
	else
		rc = append(c, data, len, deadline, done, arg);
	if (!rc && first && !c->running) {
		wrote = dxs_write(c, &ended);
		if (wrote) {
			c->leaves = true;
			c->status = wrote;
		}
	}
	/* A turn has to wait for the file with the rest; or to end, if that was the last one. */
	if (!rc)
		calls = (c->out || c->closing || c->drain || c->leaves) && dxs_calls(c);
	pthread_mutex_unlock(&c->lock);
	if (calls)
		dxs_call(c);
	dxs_messages_done(c, ended);
	/* An empty message has ended at once. */
	if (!rc && !len && done)
		done(arg, c, 0);
	return rc;
}

int Connection_send(Connection *connection, const void *data, size_t len)
{
	return Connection_sendWithin(connection, data, len, 0, NULL, NULL);
}
