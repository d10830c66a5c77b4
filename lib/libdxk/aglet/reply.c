// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Futures, and sets of them. A query of a future or a set collects the results of its owner.
 * One that is released with messages on their way is put on a list, which later calls check.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Released futures and sets that are checked at a time */
#define LOOKS		2

/* As many results are collected at a time. */
#define BATCH		32

/* --- replies arrive ------------------------------------------------------------------- */

/**
 * dxa_future_new - make a future, and its message
 * @message: the message
 * @p: the receiver
 * @owner: of the request, if it is not the future
 *
 * Return: the future, or NULL: no memory.
 */
FutureReply *dxa_future_new(const AgletMessage *message, AgletProxy *p, void *owner)
{
	AgletMessage *m = dxa_message_copy(message, p, true);

	if (!m)
		return NULL;
	*m->future = (FutureReply){
		.base = { .context = m->context },
		.message = m,
		.owner = owner ? owner : m->future,
	};
	return m->future;
}

static void future_free(FutureReply *f)
{
	dxa_reply_free(f->reply);
	AgletMessage_release(f->message);
}

static void set_free(ReplySet *set)
{
	AgletContext *c = set->base.context;

	free(set);
	dxa_context_release(c);
}

/* The reply if nobody has replied, and the request has ended with @status. */
static AgletReply *reply_of_end(int status)
{
	const char *text = strerror(-status);
	AgletReply *reply;

	if (!status || status == -ECANCELED)
		return &dxa_none;
	reply = dxa_reply_new(status, text, strlen(text));
	return reply ? reply : &dxa_none;
}

/* Moves an available future to the others of its set; frees it if the set was released. */
static void arrive(FutureReply *f)
{
	ReplySet *set = f->set;

	TAILQ_REMOVE(&set->pending, f, link);
	set->nr_pending--;
	if (set->left) {
		future_free(f);
		return;
	}
	TAILQ_INSERT_TAIL(&set->available, f, link);
	set->nr_available++;
}

/** dxa_future_ends - a future's message has ended with @status, perhaps without a request */
void dxa_future_ends(FutureReply *f, int status)
{
	/* Others may still have the message, and see that it has its reply. */
	f->reply = atomic_exchange(&f->message->reply, &dxa_none);
	if (!f->reply)
		f->reply = reply_of_end(status);
	f->available = true;
	if (f->set && !f->relay)
		arrive(f);
}

/*
 * The relay of a future in a set has ended: the future's result is there; or, with a @status, the
 * relay was cancelled, as all requests are then.
 */
static void relayed(AgletContext *c, FutureReply *f, int status)
{
	int rc;

	do
		rc = f->available ? 0 : dxa_collect(c, f, status ? DXK_FOREVER : 0);
	while (rc == -EINTR);
	if (rc)
		dxa_future_ends(f, rc);
	f->relay = false;
	arrive(f);
}

/** dxa_collected - a result of an owner was collected */
void dxa_collected(AgletContext *c, const RQElement *e)
{
	AgletMessage *m = e->pPObject;

	if (e->pXObject == &c->relay)
		relayed(c, e->pPObject, e->RQEStatus);
	else if (m->future)
		dxa_future_ends(m->future, e->RQEStatus);
	else
		AgletMessage_release(m);
}

/**
 * dxa_collect - collect results of an owner, one or more
 * @c: the context
 * @owner: a future, a set, or the owner of oneway messages
 * @deadline: how long to wait for one
 *
 * Return: 0; -ENOENT: nothing is on its way; -ETIMEDOUT, -EINTR, -EDEADLK, -ENOMEM ...
 */
int dxa_collect(AgletContext *c, void *owner, uint64_t deadline)
{
	RQElement elements[BATCH];
	unsigned int answer;
	int rc;

	do
		rc = GetRejoinRequestsOf(c->mte, owner, elements, BATCH, 1, NULL, 0,
					 dxk_remaining(deadline), &answer);
	while (rc == -ESHUTDOWN);
	for (int i = 0; i < rc; i++)
		dxa_collected(c, &elements[i]);
	if (rc)
		return rc < 0 ? rc : 0;
	return answer == RJR_NONE_READY ? -ETIMEDOUT : -ENOENT;
}

/* --- those that were left --------------------------------------------------------------- */

static void leave_owner(struct dxa_owner *o)
{
	AgletContext *c = dxa_context_hold(o->context);

	/* From here on another thread may free it. */
	pthread_mutex_lock(&c->lock);
	TAILQ_INSERT_TAIL(&c->left, o, link);
	pthread_mutex_unlock(&c->lock);
	dxa_reap(c, false);
	dxa_context_release(c);
}

/* Takes the results that have come for it. Return: true: no more will come. */
static bool drained(AgletContext *c, void *owner, bool all)
{
	int rc;

	do
		rc = dxa_collect(c, owner, all ? DXK_FOREVER : 0);
	while (!rc || rc == -EINTR);
	return rc == -ENOENT;
}

static bool look(AgletContext *c, bool all)
{
	struct dxa_owner *o;

	pthread_mutex_lock(&c->lock);
	o = TAILQ_FIRST(&c->left);
	if (o)
		TAILQ_REMOVE(&c->left, o, link);
	pthread_mutex_unlock(&c->lock);
	if (!o)
		return false;
	if (drained(c, o, all)) {
		if (o->is_set)
			set_free((ReplySet *)o);
		else
			future_free((FutureReply *)o);
		return true;
	}
	pthread_mutex_lock(&c->lock);
	TAILQ_INSERT_TAIL(&c->left, o, link);
	pthread_mutex_unlock(&c->lock);
	/* A thread that is to wait for all of them, and cannot, does not retry without end. */
	return !all;
}

/**
 * dxa_reap - free ended messages, futures and sets that nobody waits for
 * @c: the context
 * @all: wait for their ends; else check some
 */
void dxa_reap(AgletContext *c, bool all)
{
	drained(c, &c->oneway, all);
	for (unsigned int i = 0; (all || i < LOOKS) && look(c, all); i++)
		;
}

/* --- futures ------------------------------------------------------------------------------ */

bool FutureReply_isAvailable(FutureReply *future)
{
	FutureReply *f = future;

	while (!f->available && !dxa_collect(f->base.context, f->owner, 0))
		;
	return f->available;
}

static int wait_until(FutureReply *f, uint64_t deadline)
{
	int rc;

	while (!f->available) {
		rc = dxa_collect(f->base.context, f->owner, deadline);
		if (rc)
			return rc;
	}
	return 0;
}

/* 0 means no limit (AG-17). */
static uint64_t deadline_of(unsigned int timeout_ms)
{
	return timeout_ms ? dxk_deadline(timeout_ms * 1000000LL) : DXK_FOREVER;
}

int FutureReply_waitForReply(FutureReply *future, unsigned int timeout_ms)
{
	return wait_until(future, deadline_of(timeout_ms));
}

int FutureReply_getReply(FutureReply *future, AgletReply **reply)
{
	FutureReply *f = future;
	AgletReply *r;
	int rc = wait_until(f, DXK_FOREVER);

	if (reply)
		*reply = NULL;
	if (rc)
		return rc;
	r = f->reply;
	if (r == &dxa_none)
		return AGLET_NOT_HANDLED;
	rc = r->Code ? AGLET_EXCEPTION : AGLET_REPLIED;
	if (!reply)
		return rc;
	if (r == &dxa_empty) {
		r = dxa_reply_new(0, NULL, 0);
		if (!r)
			return -ENOMEM;
	}
	*reply = r;
	f->reply = &dxa_none;
	return rc;
}

void FutureReply_release(FutureReply *future)
{
	FutureReply *f = future;

	if (!f)
		return;
	if (FutureReply_isAvailable(f))
		future_free(f);
	else
		leave_owner(&f->base);
}

/* --- sets --------------------------------------------------------------------------------- */

ReplySet *ReplySet_create(AgletContext *context)
{
	ReplySet *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->base.context = dxa_context_hold(context);
	set->base.is_set = true;
	TAILQ_INIT(&set->pending);
	TAILQ_INIT(&set->available);
	return set;
}

void ReplySet_release(ReplySet *set)
{
	FutureReply *f;

	if (!set)
		return;
	while ((f = TAILQ_FIRST(&set->available))) {
		TAILQ_REMOVE(&set->available, f, link);
		future_free(f);
	}
	set->left = true;
	if (TAILQ_EMPTY(&set->pending))
		set_free(set);
	else
		leave_owner(&set->base);
}

static void enter(ReplySet *set, FutureReply *f)
{
	f->set = set;
	if (f->available) {
		TAILQ_INSERT_TAIL(&set->available, f, link);
		set->nr_available++;
	} else {
		TAILQ_INSERT_TAIL(&set->pending, f, link);
		set->nr_pending++;
	}
}

int ReplySet_sendFutureMessage(ReplySet *set, AgletProxy *proxy, const AgletMessage *message,
			       FutureReply **future)
{
	FutureReply *f;
	int rc;

	if (proxy->context != set->base.context)
		return -EINVAL;
	rc = dxa_send(proxy, message, set, &f);
	if (rc)
		return rc;
	enter(set, f);
	if (future)
		*future = f;
	return 0;
}

/** dxa_relay - a future has a result, or none is on its way: the relay's result is for its set */
int dxa_relay(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	return 0;
}

int ReplySet_addFutureReply(ReplySet *set, FutureReply *future)
{
	FutureReply *f = future;
	AgletContext *c = set->base.context;
	RQPost post = {
		.pOObject = set, .pXObject = &c->relay, .pPObject = f,
		.RQEPriority = INT32_MAX, .RQEAttrs = PXR_REJOIN,
	};
	RQOptions options = { .Wait = { .Sources = DXK_WAIT_RESULT, .pOObject = f } };
	int rc;

	if (f->set || f->base.context != c)
		return -EINVAL;
	if (!FutureReply_isAvailable(f)) {
		rc = PostRequestsWithOf(c->mte, &post, &options, 1, 0, NULL);
		if (rc <= 0)
			return rc;
		f->relay = true;
	}
	enter(set, f);
	return 0;
}

/* Takes what has come. */
static void take(ReplySet *set)
{
	while (set->nr_pending && !dxa_collect(set->base.context, set, 0))
		;
}

unsigned int ReplySet_countAvailable(ReplySet *set)
{
	take(set);
	return set->nr_available;
}

bool ReplySet_areAllAvailable(ReplySet *set)
{
	take(set);
	return !set->nr_pending;
}

int ReplySet_waitForNext(ReplySet *set, unsigned int timeout_ms)
{
	uint64_t deadline = deadline_of(timeout_ms);
	int rc = 0;

	while (!rc && !set->nr_available)
		rc = set->nr_pending ? dxa_collect(set->base.context, set, deadline) : -ENOENT;
	return rc;
}

int ReplySet_waitForAll(ReplySet *set, unsigned int timeout_ms)
{
	uint64_t deadline = deadline_of(timeout_ms);
	int rc = 0;

	while (!rc && set->nr_pending)
		rc = dxa_collect(set->base.context, set, deadline);
	return rc;
}

FutureReply *ReplySet_getNextFutureReply(ReplySet *set)
{
	int rc = ReplySet_waitForNext(set, 0);
	FutureReply *f = TAILQ_FIRST(&set->available);

	errno = rc == -ENOENT ? 0 : -rc;
	if (rc)
		return NULL;
	TAILQ_REMOVE(&set->available, f, link);
	set->nr_available--;
	f->set = NULL;
	return f;
}
