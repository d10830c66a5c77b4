// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sending.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

/* Nobody waits for oneway messages. Who makes this count full looks which have ended. */
#define REAP_EACH	32

/*
 * It needs no room in the Ready Pool that is not there: then it begins as one that waits for a
 * time which has come.
 */
static int post(AgletMessage *m, void *owner, int priority)
{
	AgletProxy *p = m->proxy;
	AgletContext *c = p->context;
	RQPost request = {
		.pOObject = owner, .pXObject = &c->base, .pPObject = m,
		.RQEPriority = priority == NOT_QUEUED ? AGLET_MAX_PRIORITY : priority,
		.RQEAttrs = PXR_REJOIN,
	};
	RQOptions options = { .pName = m };
	int rc;

	if (!m->alone) {
		options.Key = p->key;
		options.Reentry = c->options.reentry;
	}
	rc = PostRequestsWithOf(c->mte, &request, &options, 1, 0, NULL);
	if (rc == -EAGAIN) {
		options.Wait = (RQWait){ .Sources = DXK_WAIT_TIME, .Deadline = 1 };
		rc = PostRequestsWithOf(c->mte, &request, &options, 1, 0, NULL);
	}
	return rc > 0 ? 0 : rc;
}

/*
 * Whose state changes meanwhile refuses the post, or handles it.
 * Return: 0; AGLET_NOT_HANDLED; or a negative errno.
 */
static int deliver(AgletMessage *m, void *owner)
{
	AgletProxy *p = m->proxy;
	struct dxa_says says;
	int state, rc;

	do {
		says = dxa_says(p, m);
		state = atomic_load(&p->state);
		rc = 0;
		if (state == AGLET_DESTROYED || (state == AGLET_DEACTIVATED && !says.activates))
			return AGLET_NOT_HANDLED;
		if (state == AGLET_UNINITIALIZED)
			rc = dxa_hold_new(p);
		if (state == AGLET_DEACTIVATED)
			rc = AgletProxy_activate(p);
		/* Somebody else has changed the state: then so was the post refused. */
		if (rc == -EINVAL)
			rc = -ECANCELED;
		m->alone = says.priority == NOT_QUEUED && state == AGLET_RUNNING;
		if (!rc)
			rc = post(m, owner, says.priority);
	} while (rc == -ECANCELED);
	return rc;
}

/** dxa_sent_oneway - a oneway message was sent, or handled */
void dxa_sent_oneway(AgletContext *c)
{
	if (atomic_fetch_add(&c->oneway, 1) % REAP_EACH == REAP_EACH - 1)
		dxa_reap(c, false);
}

/**
 * dxa_send - send a message
 * @p: to whom
 * @message: what
 * @owner: of the request, if it is not the future
 * @out: out, the future; %NULL: there is to be none
 *
 * A message that the aglet does not handle is sent: its future says so.
 *
 * Return: 0 or a negative errno.
 */
int dxa_send(AgletProxy *p, const AgletMessage *message, void *owner, FutureReply **out)
{
	AgletContext *c = p->context;
	FutureReply *f = NULL;
	AgletMessage *m;
	int rc;

	if (out) {
		f = dxa_future_new(c, owner);
		if (!f)
			return -ENOMEM;
	}
	m = dxa_message_copy(message, p, f);
	rc = m ? deliver(m, f ? f->owner : &c->oneway) : -ENOMEM;
	if (f) {
		f->message = m;
		if (rc == AGLET_NOT_HANDLED)
			dxa_future_ends(f, -ECANCELED);
		else if (rc)
			f->available = true;
		if (rc < 0)
			FutureReply_release(f);
		else
			*out = f;
	} else if (rc) {
		AgletMessage_release(m);
	}
	if (!f && !rc)
		dxa_sent_oneway(c);
	return rc < 0 ? rc : 0;
}

int AgletProxy_sendFutureMessage(AgletProxy *proxy, const AgletMessage *message,
				 FutureReply **future)
{
	return dxa_send(proxy, message, NULL, future);
}

int AgletProxy_sendOnewayMessage(AgletProxy *proxy, const AgletMessage *message)
{
	return dxa_send(proxy, message, NULL, NULL);
}

static void abandon(void *future)
{
	FutureReply_release(future);
}

int AgletProxy_sendMessage(AgletProxy *proxy, const AgletMessage *message, AgletReply **reply)
{
	FutureReply *f;
	int rc;

	if (reply)
		*reply = NULL;
	rc = dxa_send(proxy, message, NULL, &f);
	if (rc)
		return rc;
	/* What is executed meanwhile may end the thread. */
	pthread_cleanup_push(abandon, f);
	rc = FutureReply_waitForReply(f, 0);
	/* One that waits behind the caller's handler shall not be handled after that. */
	if (rc == -EDEADLK && !atomic_load(&f->message->begun))
		CancelRequestsOf(proxy->context->mte, f);
	if (!rc)
		rc = FutureReply_getReply(f, reply);
	pthread_cleanup_pop(1);
	return rc;
}

int AgletContext_multicastMessage(AgletContext *context, const AgletMessage *message,
				  ReplySet *set)
{
	AgletContext *c = context;
	AgletProxy *p, **to;
	unsigned int nr = 0, sent = 0;
	int rc = 0;

	pthread_mutex_lock(&c->lock);
	to = c->live ? malloc(c->live * sizeof(*to)) : NULL;
	if (c->live && !to)
		rc = -ENOMEM;
	LIST_FOREACH(p, &c->aglets, link)
		if (to && dxa_says(p, message).subscribed)
			to[nr++] = AgletProxy_hold(p);
	pthread_mutex_unlock(&c->lock);

	for (unsigned int i = 0; i < nr; i++) {
		if (!rc)
			rc = set ? ReplySet_sendFutureMessage(set, to[i], message, NULL) :
				   AgletProxy_sendOnewayMessage(to[i], message);
		sent += !rc;
		AgletProxy_release(to[i]);
	}
	free(to);
	return sent ? (int)sent : rc;
}
