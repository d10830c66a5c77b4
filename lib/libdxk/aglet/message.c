// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Messages: their content, their turns, and their replies.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

AgletReply dxa_none, dxa_empty;

/* --- content -------------------------------------------------------------------------- */

static void body_release(struct dxa_body *body)
{
	if (dxa_drop(body, &body->refs))
		free(body);
}

/* Takes over a reference to @body. @room: for the message's future, behind it */
static AgletMessage *message_new(struct dxa_body *body, size_t room)
{
	AgletMessage *m = malloc(sizeof(*m) + room);

	if (!m) {
		body_release(body);
		return NULL;
	}
	*m = (AgletMessage){ .body = body };
	atomic_init(&m->refs, 1);
	return m;
}

AgletMessage *AgletMessage_create(const char *kind, const void *arg, size_t len)
{
	size_t name = kind ? strlen(kind) : 0;
	struct dxa_body *body;

	if (len > SIZE_MAX / 2)
		return NULL;
	body = malloc(sizeof(*body) + len + 1 + name + 1);
	if (!body)
		return NULL;
	atomic_init(&body->refs, 1);
	body->priority = AGLET_NORM_PRIORITY;
	body->len = len;
	body->kind = body->arg + len + 1;
	if (len)
		memcpy(body->arg, arg, len);
	body->arg[len] = 0;
	memcpy(body->kind, kind ? kind : "", name + 1);
	return message_new(body, 0);
}

/** dxa_message_copy - the message as it is sent to @p; @replies: its reply is wanted */
AgletMessage *dxa_message_copy(const AgletMessage *message, AgletProxy *p, bool replies)
{
	AgletMessage *m;

	atomic_fetch_add(&message->body->refs, 1);
	m = message_new(message->body, replies ? sizeof(*m->future) : 0);
	if (m) {
		m->context = p->context;
		m->proxy = AgletProxy_hold(p);
		m->future = replies ? (FutureReply *)(m + 1) : NULL;
	}
	return m;
}

AgletMessage *AgletMessage_hold(AgletMessage *message)
{
	atomic_fetch_add(&message->refs, 1);
	return message;
}

/** dxa_unlist - a message no longer waits */
void dxa_unlist(AgletMessage *m)
{
	pthread_mutex_lock(&m->proxy->lock);
	if (m->listed)
		LIST_REMOVE(m, link);
	m->listed = false;
	pthread_mutex_unlock(&m->proxy->lock);
}

void AgletMessage_release(AgletMessage *message)
{
	AgletMessage *m = message;

	if (!m || !dxa_drop(m, &m->refs))
		return;
	if (m->listed)
		dxa_unlist(m);
	AgletProxy_release(m->proxy);
	AgletProxy_release(atomic_load(&m->to));
	dxa_reply_free(atomic_load(&m->reply));
	body_release(m->body);
	free(m);
}

void AgletMessage_setPriority(AgletMessage *message, int priority)
{
	message->body->priority = priority >= 1 && priority <= 10 ? priority :
				  AGLET_NORM_PRIORITY;
}

const char *AgletMessage_kind(const AgletMessage *message)
{
	return message->body->kind;
}

bool AgletMessage_sameKind(const AgletMessage *message, const char *kind)
{
	return !strcmp(message->body->kind, kind);
}

const void *AgletMessage_arg(const AgletMessage *message, size_t *len)
{
	if (len)
		*len = message->body->len;
	return message->body->arg;
}

/* --- replies -------------------------------------------------------------------------- */

/** dxa_reply_new - a reply with a copy of @data, or NULL: no memory */
AgletReply *dxa_reply_new(int code, const void *data, size_t len)
{
	AgletReply *reply = malloc(sizeof(*reply) + len + 1);
	char *bytes;

	if (!reply)
		return NULL;
	bytes = (char *)(reply + 1);
	if (len)
		memcpy(bytes, data, len);
	bytes[len] = 0;
	*reply = (AgletReply){ .Code = code, .Len = len, .Data = bytes };
	return reply;
}

/** dxa_reply_free - free an unwanted reply, which may be one that needs no memory */
void dxa_reply_free(AgletReply *reply)
{
	if (reply != &dxa_none && reply != &dxa_empty)
		free(reply);
}

/* Unless there is one already. */
static bool answer(AgletMessage *m, AgletReply *reply)
{
	AgletReply *none = NULL;

	return atomic_compare_exchange_strong(&m->reply, &none, reply);
}

static int reply_with(AgletMessage *m, int code, const void *data, size_t len)
{
	AgletReply *reply;
	int rc;

	if (!m->context)
		return -EINVAL;
	if (!m->future)
		return 0;
	if (atomic_load(&m->reply))
		return -EALREADY;
	/* Once the reply is there it must be reported. */
	rc = MTExecutiveThreadId(m->context->mte);
	if (rc < 0)
		return rc;
	reply = code || len ? dxa_reply_new(code, data, len) : &dxa_empty;
	if (!reply)
		return -ENOMEM;
	if (!answer(m, reply)) {
		dxa_reply_free(reply);
		return -EALREADY;
	}
	if (atomic_load(&m->deferred))
		WakeRequestOf(m->context->mte, m);
	return 0;
}

int AgletMessage_sendReply(AgletMessage *message, const void *data, size_t len)
{
	return len > SIZE_MAX / 2 ? -ENOMEM : reply_with(message, 0, data, len);
}

int AgletMessage_sendException(AgletMessage *message, int code, const char *text)
{
	return reply_with(message, code < 0 ? code : -EINVAL, text, text ? strlen(text) : 0);
}

int AgletMessage_enableDeferedReply(AgletMessage *message)
{
	if (getCurrentMessage() != message)
		return -EPERM;
	atomic_store(&message->deferred, true);
	return 0;
}

/* --- messages that can be cancelled by name --------------------------------------------- */

/**
 * dxa_list - a message is to wait, for its reply, its next aglet, or in the monitor
 * @m: the message
 * @p: its aglet by then
 *
 * Return: false: the aglet does not accept it.
 */
bool dxa_list(AgletMessage *m, AgletProxy *p)
{
	int state;

	pthread_mutex_lock(&p->lock);
	state = atomic_load(&p->state);
	m->listed = state != AGLET_DESTROYED &&
		    (m->awaits || p->wakes || state != AGLET_DEACTIVATED);
	if (m->listed)
		LIST_INSERT_HEAD(&p->named, m, link);
	pthread_mutex_unlock(&p->lock);
	return m->listed;
}

/**
 * dxa_cancel_named - end the messages that wait and were begun
 * @p: whose; its state is the reason. Under P
 * @all: also those that wait for a deferred reply
 */
void dxa_cancel_named(AgletProxy *p, bool all)
{
	AgletMessage *m;

	LIST_FOREACH(m, &p->named, link)
		if (all || !m->awaits)
			CancelRequestOf(p->context->mte, m);
}

/* --- turns ---------------------------------------------------------------------------- */

AgletMessage *getCurrentMessage(void)
{
	const RQElement *me = CurrentRequest();
	const Runnable *runnable = me ? me->pXObject : NULL;

	if ((uintptr_t)runnable < DX_OPERATIONS || runnable->ExecuteThisRequest != dxa_turn)
		return NULL;
	return me->pPObject;
}

static void leave(void *proxy)
{
	dxa_leave(proxy);
}

/* A handler may end its thread. */
static bool handle(AgletProxy *p, AgletMessage *m)
{
	bool handled;

	pthread_cleanup_push(leave, p);
	handled = p->aglet->handleMessage(p->aglet, m);
	pthread_cleanup_pop(1);
	return handled;
}

/* It belongs to another aglet from now on. */
static int move(AgletMessage *m, AgletProxy *to)
{
	RQWait wait = { .Sources = DXK_WAIT_AGAIN };
	AgletProxy *from = m->proxy;
	int priority;
	bool alone;

	pthread_mutex_lock(&to->lock);
	priority = dxa_says(to, m).priority;
	alone = priority == NOT_QUEUED && atomic_load(&to->state) == AGLET_RUNNING;
	pthread_mutex_unlock(&to->lock);
	if (!alone)
		wait.Sources |= DXK_WAIT_MOVE;
	else if (!m->alone)
		wait.Sources |= DXK_WAIT_ALONE;
	wait.Sources |= DXK_WAIT_PRIO;
	wait.Priority = priority == NOT_QUEUED ? AGLET_MAX_PRIORITY : priority;
	wait.Key = alone ? 0 : to->key;
	m->proxy = to;
	m->alone = alone;
	m->awaits = false;
	atomic_store(&m->deferred, false);
	AgletProxy_release(from);
	return dxa_list(m, to) ? WaitRequest(&wait) : 0;
}

/* It waits for its reply, or for another aglet. */
static int await(AgletMessage *m)
{
	RQWait wait = { .Sources = DXK_WAIT_CALL };

	if (!m->alone)
		wait.Sources |= DXK_WAIT_ALONE;
	m->alone = true;
	m->awaits = true;
	return dxa_list(m, m->proxy) ? WaitRequest(&wait) : 0;
}

/* Return: the request's status, or that it waits. */
static int turn_ends(AgletMessage *m, bool handled)
{
	AgletProxy *to = atomic_exchange(&m->to, NULL);
	int rc = 0;

	if (atomic_load(&m->reply)) {
		AgletProxy_release(to);
		return 0;
	}
	if (to)
		rc = move(m, to);
	else if (atomic_load(&m->deferred) && m->future)
		rc = await(m);
	else if (handled)
		answer(m, &dxa_empty);
	if (rc != RQ_WAITS)
		answer(m, &dxa_none);
	return rc;
}

/** dxa_turn - execute a turn of the request of a message */
int dxa_turn(Runnable *self, void *request)
{
	const RQElement *me = CurrentRequest();
	AgletMessage *m = request;
	bool handled = false;

	(void)self;
	if (me->RQETurn)
		dxa_unlist(m);
	if (me->RQEWake == DXK_WAKE_CANCEL) {
		answer(m, &dxa_none);
		return 0;
	}
	if (m->awaits)
		return turn_ends(m, false);
	atomic_store(&m->begun, true);
	if (!dxa_enter(m->proxy)) {
		answer(m, &dxa_none);
		return 0;
	}
	handled = handle(m->proxy, m);
	if (!m->future)
		dxa_sent_oneway(m->context);
	return turn_ends(m, handled);
}

int AgletProxy_delegateMessage(AgletProxy *proxy, AgletMessage *message)
{
	AgletMessage *m = message;
	bool current = getCurrentMessage() == m;
	int priority, rc;

	if (!current && !atomic_load(&m->deferred))
		return -EPERM;
	if (proxy->context != m->context)
		return -EINVAL;
	if (atomic_load(&m->reply))
		return -EALREADY;
	rc = dxa_admit(proxy, m, false, &priority);
	if (rc)
		return rc < 0 ? rc : -ECANCELED;
	if (!current) {
		rc = MTExecutiveThreadId(proxy->context->mte);
		if (rc < 0)
			return rc;
	}
	if (atomic_fetch_add(&m->hops, 1) >= proxy->context->options.maxHops)
		return -ELOOP;
	AgletProxy_release(atomic_exchange(&m->to, AgletProxy_hold(proxy)));
	if (!current)
		WakeRequestOf(proxy->context->mte, m);
	return 0;
}
