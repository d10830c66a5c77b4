// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Contexts, and the life of an aglet.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

/* --- contexts --------------------------------------------------------------------- */

AgletContext *dxa_context_hold(AgletContext *c)
{
	atomic_fetch_add(&c->refs, 1);
	return c;
}

void dxa_context_release(AgletContext *c)
{
	if (!dxa_drop(c, &c->refs))
		return;
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->ended);
	free(c);
}

void AgletContextOptionsInit(AgletContextOptions *options)
{
	*options = (AgletContextOptions){
		.minThreads = 10, .maxThreads = 100, .reentry = DXK_REENTRY_CHAIN, .maxHops = 100,
	};
}

static int configure(AgletContext *c, const AgletContextOptions *options)
{
	AgletContextOptions *o = &c->options;
	ThreadManagerPolicy policy;
	int rc;

	if (options)
		*o = *options;
	else
		AgletContextOptionsInit(o);
	for (unsigned int i = 0; i < sizeof(o->Reserved) / sizeof(o->Reserved[0]); i++)
		if (o->Reserved[i])
			return -EINVAL;
	if (o->reentry > DXK_REENTRY_CHAIN || (o->maxThreads && o->minThreads > o->maxThreads))
		return -EINVAL;
	rc = MTExecutiveGetPolicy(c->mte, &policy);
	if (rc)
		return rc;
	/* What nobody waits for is collected when somebody sends: it must not hold up workers. */
	if (!policy.TPMaxWaiting || policy.TPRejoinFull != DXK_REJOIN_GROW)
		return -EOPNOTSUPP;
	if (!o->maxThreads)
		return 0;
	policy.TPMinThreads = o->minThreads;
	policy.TPMaxThreads = o->maxThreads;
	return MTExecutiveSetPolicy(c->mte, &policy, NULL);
}

AgletContext *AgletContext_create(MTExecutive *executive, const AgletContextOptions *options)
{
	AgletContext *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return NULL;
	c->mte = executive;
	c->base.ExecuteThisRequest = dxa_turn;
	c->relay.ExecuteThisRequest = dxa_relay;
	rc = configure(c, options);
	if (rc) {
		free(c);
		errno = -rc;
		return NULL;
	}
	atomic_init(&c->refs, 1);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->ended, NULL);
	LIST_INIT(&c->aglets);
	TAILQ_INIT(&c->left);
	return c;
}

/* --- proxies ------------------------------------------------------------------------ */

AgletProxy *AgletProxy_hold(AgletProxy *proxy)
{
	atomic_fetch_add(&proxy->refs, 1);
	return proxy;
}

void AgletProxy_release(AgletProxy *proxy)
{
	if (!proxy || !dxa_drop(proxy, &proxy->refs))
		return;
	dxa_kinds_free(proxy);
	pthread_mutex_destroy(&proxy->life);
	pthread_mutex_destroy(&proxy->lock);
	dxa_context_release(proxy->context);
	free(proxy);
}

int AgletProxy_state(AgletProxy *proxy)
{
	return atomic_load(&proxy->state);
}

static int key(AgletProxy *p, unsigned int what, unsigned int flags)
{
	return ControlKeyOf(p->context->mte, p->key, what, flags);
}

/* --- handlers, and the last one out --------------------------------------------------- */

/* Callbacks of aglets on this thread, workers or not: none of them outlives its context. */
static _Thread_local unsigned int callbacks;

static void tell(AgletProxy *p, void (*callback)(Aglet *aglet))
{
	if (!callback)
		return;
	callbacks++;
	callback(p->aglet);
	callbacks--;
}

/* Nobody will use the aglet any more. */
static void end(AgletProxy *p)
{
	AgletContext *c = p->context;

	/* What was posted amid all this has its turn, and is not handled. */
	key(p, DXK_KEY_RELEASE, 0);
	if (p->created)
		tell(p, p->aglet->onDisposing);
	pthread_mutex_lock(&c->lock);
	LIST_REMOVE(p, link);
	if (!--c->live)
		pthread_cond_broadcast(&c->ended);
	pthread_mutex_unlock(&c->lock);
	AgletProxy_release(p);
}

/* Does what waits for the last handler, unless there is one. Under L, which it unlocks. */
static void settle(AgletProxy *p)
{
	int state = atomic_load(&p->state);
	bool empty = !atomic_load(&p->inside), ends;

	if (empty && p->owes && state == AGLET_DEACTIVATED) {
		p->owes = false;
		/* What was begun elsewhere, and is cancelled, has its last turn. */
		key(p, DXK_KEY_RELEASE, 0);
		if (p->created)
			tell(p, p->aglet->onDeactivating);
	}
	ends = empty && state == AGLET_DESTROYED && !p->ended;
	p->ended |= ends;
	pthread_mutex_unlock(&p->life);
	if (ends)
		end(p);
}

/**
 * dxa_enter - a handler is to begin
 *
 * Return: may it? Then dxa_leave() follows.
 */
bool dxa_enter(AgletProxy *p)
{
	int state;

	atomic_fetch_add(&p->inside, 1);
	state = atomic_load(&p->state);
	if (state != AGLET_DEACTIVATED && state != AGLET_DESTROYED)
		return true;
	dxa_leave(p);
	return false;
}

/** dxa_leave - a handler has ended, maybe with its thread; the caller's message has the proxy */
void dxa_leave(AgletProxy *p)
{
	int state;

	if (atomic_fetch_sub(&p->inside, 1) != 1)
		return;
	state = atomic_load(&p->state);
	/* Within onActivation or onDeactivating there is nothing to settle. */
	if ((state == AGLET_DEACTIVATED || state == AGLET_DESTROYED) &&
	    !pthread_mutex_lock(&p->life))
		settle(p);
}

/* --- states ------------------------------------------------------------------------- */

int AgletProxy_suspend(AgletProxy *proxy)
{
	AgletProxy *p = proxy;
	int rc = pthread_mutex_lock(&p->life);

	if (rc)
		return -rc;
	rc = -EINVAL;
	if (atomic_load(&p->state) == AGLET_RUNNING) {
		rc = key(p, DXK_KEY_HOLD, 0);
		if (!rc)
			atomic_store(&p->state, AGLET_SUSPENDED);
	}
	pthread_mutex_unlock(&p->life);
	return rc;
}

int AgletProxy_resume(AgletProxy *proxy)
{
	AgletProxy *p = proxy;
	int rc = pthread_mutex_lock(&p->life);

	if (rc)
		return -rc;
	rc = -EINVAL;
	if (atomic_load(&p->state) == AGLET_SUSPENDED) {
		atomic_store(&p->state, AGLET_RUNNING);
		key(p, DXK_KEY_RELEASE, 0);
		rc = 0;
	}
	pthread_mutex_unlock(&p->life);
	return rc;
}

int AgletProxy_deactivate(AgletProxy *proxy)
{
	AgletProxy *p = proxy;
	int rc = pthread_mutex_lock(&p->life), state;

	if (rc)
		return -rc;
	state = atomic_load(&p->state);
	if (state != AGLET_SUSPENDED && state != AGLET_UNINITIALIZED) {
		pthread_mutex_unlock(&p->life);
		return -EINVAL;
	}
	/* Whose post is refused looks at the state. */
	atomic_store(&p->state, AGLET_DEACTIVATED);
	rc = key(p, DXK_KEY_HOLD, DXK_KEY_REFUSE);
	if (rc) {
		atomic_store(&p->state, state);
		pthread_mutex_unlock(&p->life);
		return rc;
	}
	key(p, DXK_KEY_CANCEL, 0);
	dxa_cancel_named(p, false);
	/* One that has not begun has no handlers, and is told of nothing. */
	p->owes = state == AGLET_SUSPENDED;
	if (!p->owes)
		key(p, DXK_KEY_RELEASE, 0);
	settle(p);
	return 0;
}

int AgletProxy_activate(AgletProxy *proxy)
{
	AgletProxy *p = proxy;
	int rc = pthread_mutex_lock(&p->life);

	if (rc)
		return -rc;
	rc = -EINVAL;
	if (atomic_load(&p->state) != AGLET_DEACTIVATED)
		goto out;
	/* It takes posts from now on, and handles them when it was told. */
	rc = key(p, DXK_KEY_HOLD, 0);
	if (rc)
		goto out;
	atomic_store(&p->state, AGLET_SUSPENDED);
	if (!p->owes)
		tell(p, p->aglet->onActivation);
	p->owes = false;
	atomic_store(&p->state, AGLET_RUNNING);
	key(p, DXK_KEY_RELEASE, 0);
out:
	pthread_mutex_unlock(&p->life);
	return rc;
}

/* Under L, which it unlocks. */
static void destroy(AgletProxy *p)
{
	atomic_store(&p->state, AGLET_DESTROYED);
	/* Where the executive has stopped there is nothing to hold back. */
	key(p, DXK_KEY_HOLD, DXK_KEY_REFUSE);
	key(p, DXK_KEY_CANCEL, 0);
	dxa_cancel_named(p, true);
	settle(p);
}

int AgletProxy_dispose(AgletProxy *proxy)
{
	AgletProxy *p = proxy;
	int rc = pthread_mutex_lock(&p->life);

	if (rc)
		return -rc;
	if (atomic_load(&p->state) != AGLET_SUSPENDED) {
		pthread_mutex_unlock(&p->life);
		return -EINVAL;
	}
	destroy(p);
	return 0;
}

/* --- begin and end -------------------------------------------------------------------- */

static AgletProxy *proxy_new(AgletContext *c, Aglet *aglet)
{
	AgletProxy *p = calloc(1, sizeof(*p));
	pthread_mutexattr_t attr;

	if (!p)
		return NULL;
	p->context = dxa_context_hold(c);
	p->aglet = aglet;
	atomic_init(&p->refs, 1);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&p->life, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_mutex_init(&p->lock, NULL);
	LIST_INIT(&p->kinds);
	LIST_INIT(&p->named);
	return p;
}

/** dxa_hold_new - what is sent to an aglet that is in its onCreation waits for the end of that */
int dxa_hold_new(AgletProxy *p)
{
	int rc = 0;

	pthread_mutex_lock(&p->life);
	if (atomic_load(&p->state) == AGLET_UNINITIALIZED && !p->held) {
		rc = key(p, DXK_KEY_HOLD, 0);
		p->held = !rc;
	}
	pthread_mutex_unlock(&p->life);
	return rc;
}

int AgletContext_createAglet(AgletContext *context, Aglet *aglet, void *arg, AgletProxy **proxy)
{
	AgletContext *c = context;
	AgletProxy *p;
	int rc = 0;

	if (!aglet || !aglet->handleMessage)
		return -EINVAL;
	p = proxy_new(c, aglet);
	if (!p)
		return -ENOMEM;
	pthread_mutex_lock(&c->lock);
	if (c->closing) {
		pthread_mutex_unlock(&c->lock);
		AgletProxy_release(p);
		return -ESHUTDOWN;
	}
	/* Whoever disposes of it meanwhile leaves the end to this call. */
	AgletProxy_hold(p);
	atomic_fetch_add(&p->inside, 1);
	p->key = (uintptr_t)p ^ (uint64_t)(++c->number & 0xffff) << 48;
	LIST_INSERT_HEAD(&c->aglets, p, link);
	c->live++;
	pthread_mutex_unlock(&c->lock);

	aglet->Proxy = p;
	if (proxy)
		*proxy = AgletProxy_hold(p);
	if (aglet->onCreation) {
		callbacks++;
		rc = aglet->onCreation(aglet, arg);
		callbacks--;
	}
	pthread_mutex_lock(&p->life);
	if (rc) {
		destroy(p);
		if (proxy) {
			AgletProxy_release(*proxy);
			*proxy = NULL;
		}
		aglet->Proxy = NULL;
		goto out;
	}
	p->created = true;
	if (atomic_load(&p->state) == AGLET_UNINITIALIZED) {
		atomic_store(&p->state, AGLET_RUNNING);
		if (p->held)
			key(p, DXK_KEY_RELEASE, 0);
	}
	pthread_mutex_unlock(&p->life);
out:
	dxa_leave(p);
	AgletProxy_release(p);
	return rc;
}

int AgletContext_dispose(AgletContext *context)
{
	AgletContext *c = context;
	AgletProxy *p;

	if (!c)
		return 0;
	if (CurrentRequest() || callbacks)
		return -EDEADLK;
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	do {
		LIST_FOREACH(p, &c->aglets, link)
			if (atomic_load(&p->state) != AGLET_DESTROYED)
				break;
		if (!p) {
			if (c->live)
				pthread_cond_wait(&c->ended, &c->lock);
			continue;
		}
		AgletProxy_hold(p);
		pthread_mutex_unlock(&c->lock);
		pthread_mutex_lock(&p->life);
		if (atomic_load(&p->state) != AGLET_DESTROYED)
			destroy(p);
		else
			pthread_mutex_unlock(&p->life);
		AgletProxy_release(p);
		pthread_mutex_lock(&c->lock);
	} while (c->live);
	pthread_mutex_unlock(&c->lock);
	dxa_reap(c, true);
	dxa_context_release(c);
	return 0;
}
