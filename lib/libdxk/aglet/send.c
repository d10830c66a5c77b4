// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sending.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "../dx/call.h"
#include "internal.h"

/* Nobody waits for oneway messages: each so many times, ended ones are collected. */
#define REAP_EACH	32

/* Posts even if the Ready Pool has no room. @answer: see deliver() */
static int post(AgletMessage *m, void *owner, int priority, int *answer)
{
	AgletContext *c = m->context;
	RQPost request = {
		.pOObject = owner, .pXObject = &c->base, .pPObject = m,
		.RQEPriority = priority == NOT_QUEUED ? AGLET_MAX_PRIORITY : priority,
		.RQEAttrs = PXR_REJOIN,
	};
	RQOptions options = { .pName = m };
	RQElement e;
	int rc;

	if (!m->alone) {
		options.Key = m->proxy->key;
		options.Reentry = c->options.reentry;
	}
	if (!answer)
		return dx_post_beside(c->mte, &request, &options);
	rc = dx_call(c->mte, &request, &options, &e, answer);
	if (rc == -EAGAIN)
		return dx_post_beside(c->mte, &request, &options);
	if (rc > 0 && *answer == RJR_RETURNED)
		dxa_collected(c, &e);
	return rc > 0 ? 0 : rc;
}

/*
 * @answer: %NULL: the sender does not wait for its reply; out, why the wait has ended without
 * it, 0: continue the wait
 * Return: 0; AGLET_NOT_HANDLED; or a negative errno.
 */
static int deliver(AgletMessage *m, void *owner, int *answer)
{
	int priority, rc;

	do {
		rc = dxa_admit(m->proxy, m, answer, &priority);
		if (rc)
			return rc;
		m->alone = priority == NOT_QUEUED;
		rc = post(m, owner, priority, answer);
	} while (rc == -ECANCELED);
	return rc;
}

/** dxa_sent_oneway - a oneway message was sent, or handled */
void dxa_sent_oneway(AgletContext *c)
{
	if (atomic_fetch_add(&c->oneway, 1) % REAP_EACH == REAP_EACH - 1)
		dxa_reap(c, false);
}

/* @rc: of deliver(). Return: 0; or a negative errno: no reply will come. */
static int delivered(FutureReply *f, int rc)
{
	if (rc == AGLET_NOT_HANDLED)
		dxa_future_ends(f, -ECANCELED);
	else if (rc)
		f->available = true;
	return rc < 0 ? rc : 0;
}

/**
 * dxa_send - send a message whose reply is collected later
 * @p: the receiver
 * @message: the message
 * @owner: of the request, if it is not the future
 * @future: out
 *
 * A message that the aglet does not handle is sent: its future reports that.
 *
 * Return: 0 or a negative errno.
 */
int dxa_send(AgletProxy *p, const AgletMessage *message, void *owner, FutureReply **future)
{
	FutureReply *f = dxa_future_new(message, p, owner);
	int rc;

	if (!f)
		return -ENOMEM;
	rc = delivered(f, deliver(f->message, f->owner, NULL));
	if (rc)
		FutureReply_release(f);
	else
		*future = f;
	return rc;
}

int AgletProxy_sendFutureMessage(AgletProxy *proxy, const AgletMessage *message,
				 FutureReply **future)
{
	return future ? dxa_send(proxy, message, NULL, future) :
			AgletProxy_sendOnewayMessage(proxy, message);
}

int AgletProxy_sendOnewayMessage(AgletProxy *proxy, const AgletMessage *message)
{
	AgletContext *c = proxy->context;
	AgletMessage *m = dxa_message_copy(message, proxy, false);
	int rc;

	if (!m)
		return -ENOMEM;
	rc = deliver(m, &c->oneway, NULL);
	if (rc)
		AgletMessage_release(m);
	else
		dxa_sent_oneway(c);
	return rc < 0 ? rc : 0;
}

static void abandon(void *future)
{
	FutureReply_release(future);
}

int AgletProxy_sendMessage(AgletProxy *proxy, const AgletMessage *message, AgletReply **reply)
{
	FutureReply *f = dxa_future_new(message, proxy, NULL);
	int rc, answer = 0;

	if (reply)
		*reply = NULL;
	if (!f)
		return -ENOMEM;
	/* A request that is executed meanwhile may end the thread. */
	pthread_cleanup_push(abandon, f);
	rc = delivered(f, deliver(f->message, f, &answer));
	if (!rc)
		rc = answer == -EINTR ? answer : FutureReply_waitForReply(f, 0);
	/* A message that waits behind the caller's handler must not be handled after it. */
	if (rc == -EDEADLK && !f->available && !atomic_load(&f->message->begun))
		CancelRequestsOf(proxy->context->mte, f);
	if (!rc)
		rc = FutureReply_getReply(f, reply);
	pthread_cleanup_pop(1);
	return rc;
}

static bool subscribes(AgletProxy *p, const AgletMessage *message)
{
	bool subscribed;

	pthread_mutex_lock(&p->lock);
	subscribed = dxa_says(p, message).subscribed;
	pthread_mutex_unlock(&p->lock);
	return subscribed;
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
		if (to && subscribes(p, message))
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
