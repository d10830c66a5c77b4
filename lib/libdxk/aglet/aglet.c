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
	/* Results that nobody waits for stay until a later call: they must not block workers. */
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
	pthread_mutex_destroy(&proxy->lock);
	dxa_context_release(proxy->context);
	free(proxy);
}

int AgletProxy_state(AgletProxy *proxy)
{
	return atomic_load(&proxy->state);
}

/* --- its key ------------------------------------------------------------------------- */

static int key(AgletProxy *p, unsigned int what, unsigned int flags)
{
	return ControlKeyOf(p->context->mte, p->key, what, flags);
}

/* Messages that are sent wait from now on. Under P. */
static int hold(AgletProxy *p)
{
	int rc = p->held ? 0 : key(p, DXK_KEY_HOLD, 0);

	p->held = !rc;
	return rc;
}

/* Messages that are sent are refused. If the key is held back, that needs no room. Under P. */
static int refuse(AgletProxy *p)
{
	int rc = key(p, DXK_KEY_HOLD, DXK_KEY_REFUSE);

	p->held |= !rc;
	return rc;
}

/* The end of both. Under P. */
static void let_go(AgletProxy *p)
{
	if (p->held)
		key(p, DXK_KEY_RELEASE, 0);
	p->held = false;
}

/* Ends messages that wait. @all: also for a deferred reply. Under P. */
static void cancel(AgletProxy *p, bool all)
{
	key(p, DXK_KEY_CANCEL, 0);
	dxa_cancel_named(p, all);
}

/* --- what the program does within ------------------------------------------------------ */

/* Callbacks of aglets on this thread, workers or not: none of them outlives its context. */
static _Thread_local unsigned int callbacks;

static void settle(AgletProxy *p);

/* Under P. */
static void run(AgletProxy *p)
{
	atomic_store(&p->state, AGLET_RUNNING);
	let_go(p);
}

/* The program is in a callback of the aglet. Under P, which it unlocks. */
static void callback_begins(AgletProxy *p)
{
	p->inside++;
	p->calling = true;
	p->caller = pthread_self();
	pthread_mutex_unlock(&p->lock);
	callbacks++;
}

/* Locks P. */
static void callback_ends(AgletProxy *p)
{
	callbacks--;
	pthread_mutex_lock(&p->lock);
	p->calling = false;
	p->inside--;
}

/* onActivation or onDeactivating has returned, or has ended its thread. */
static void told(void *proxy)
{
	AgletProxy *p = proxy;

	callback_ends(p);
	if (atomic_load(&p->state) == AGLET_SUSPENDED)
		run(p);
	settle(p);
}

/* Under P, which it unlocks. */
static void tell(AgletProxy *p, void (*callback)(Aglet *aglet))
{
	callback_begins(p);
	pthread_cleanup_push(told, p);
	if (callback)
		callback(p->aglet);
	pthread_cleanup_pop(1);
}

/* onDisposing has returned, or has ended its thread. */
static void ended(void *proxy)
{
	AgletProxy *p = proxy;
	AgletContext *c = p->context;

	callbacks--;
	pthread_mutex_lock(&c->lock);
	LIST_REMOVE(p, link);
	if (!--c->live)
		pthread_cond_broadcast(&c->ended);
	pthread_mutex_unlock(&c->lock);
	AgletProxy_release(p);
}

/* Nobody will use the aglet any more. Under P, which it unlocks. */
static void end(AgletProxy *p)
{
	bool tells = p->created && p->aglet->onDisposing;

	p->ended = true;
	/* Messages that were posted meanwhile have their turns, and are not handled. */
	let_go(p);
	pthread_mutex_unlock(&p->lock);
	callbacks++;
	pthread_cleanup_push(ended, p);
	if (tells)
		p->aglet->onDisposing(p->aglet);
	pthread_cleanup_pop(1);
}

/* Does what waits for the last one inside to leave, if it has left. Under P, which it unlocks. */
static void settle(AgletProxy *p)
{
	int state = atomic_load(&p->state);
	bool empty = !p->inside;

	if (empty && state == AGLET_DESTROYED && !p->ended) {
		end(p);
	} else if (empty && state == AGLET_DEACTIVATED && p->owes) {
		p->owes = false;
		/* A message that was begun elsewhere, and is cancelled, has its last turn. */
		let_go(p);
		tell(p, p->aglet->onDeactivating);
	} else if (empty && state == AGLET_DEACTIVATED && p->wakes) {
		p->wakes = false;
		atomic_store(&p->state, AGLET_SUSPENDED);
		tell(p, p->aglet->onActivation);
	} else {
		pthread_mutex_unlock(&p->lock);
	}
}

/**
 * dxa_enter - a handler is to begin
 * @p: whose
 *
 * Return: whether it may; then dxa_leave() follows.
 */
bool dxa_enter(AgletProxy *p)
{
	int state;
	bool may;

	pthread_mutex_lock(&p->lock);
	state = atomic_load(&p->state);
	/* Its turn began before it was suspended, but not before it was deactivated. */
	may = state == AGLET_RUNNING || (state == AGLET_SUSPENDED && !p->calling);
	p->inside += may;
	pthread_mutex_unlock(&p->lock);
	return may;
}

/** dxa_leave - a handler has ended, maybe with its thread; the caller's message has the proxy */
void dxa_leave(AgletProxy *p)
{
	pthread_mutex_lock(&p->lock);
	p->inside--;
	settle(p);
}

/* --- states ------------------------------------------------------------------------- */

int AgletProxy_suspend(AgletProxy *proxy)
{
	AgletProxy *p = proxy;
	int rc = -EINVAL;

	pthread_mutex_lock(&p->lock);
	if (atomic_load(&p->state) == AGLET_RUNNING)
		rc = hold(p);
	if (!rc)
		atomic_store(&p->state, AGLET_SUSPENDED);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

int AgletProxy_resume(AgletProxy *proxy)
{
	AgletProxy *p = proxy;
	int rc = -EINVAL;

	pthread_mutex_lock(&p->lock);
	if (atomic_load(&p->state) == AGLET_SUSPENDED)
		rc = p->calling ? -EBUSY : 0;
	if (!rc)
		run(p);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

int AgletProxy_deactivate(AgletProxy *proxy)
{
	AgletProxy *p = proxy;
	int rc = -EINVAL, state;

	pthread_mutex_lock(&p->lock);
	state = atomic_load(&p->state);
	if (state == AGLET_UNINITIALIZED)
		rc = 0;
	else if (state == AGLET_SUSPENDED)
		rc = p->calling ? -EBUSY : p->inside ? refuse(p) : 0;
	if (rc) {
		pthread_mutex_unlock(&p->lock);
		return rc;
	}
	atomic_store(&p->state, AGLET_DEACTIVATED);
	cancel(p, false);
	/* An aglet that has not begun has no handlers, and gets no callbacks. */
	p->owes = state == AGLET_SUSPENDED;
	if (!p->owes)
		let_go(p);
	settle(p);
	return 0;
}

/* Of one that is deactivated, and in no callback. Under P, which it unlocks. */
static int activate(AgletProxy *p)
{
	int rc = 0;

	if (p->owes) {
		/* Its handlers have not returned, so onDeactivating was not called. */
		p->owes = false;
		run(p);
	} else {
		/* It accepts posts from now on, and handles them after onActivation. */
		rc = hold(p);
		if (!rc) {
			atomic_store(&p->state, AGLET_SUSPENDED);
			tell(p, p->aglet->onActivation);
			return 0;
		}
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

int AgletProxy_activate(AgletProxy *proxy)
{
	AgletProxy *p = proxy;
	int rc = -EINVAL;

	pthread_mutex_lock(&p->lock);
	if (atomic_load(&p->state) == AGLET_DEACTIVATED) {
		if (!p->calling)
			return activate(p);
		rc = -EBUSY;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* Under P, which it unlocks. */
static void destroy(AgletProxy *p)
{
	atomic_store(&p->state, AGLET_DESTROYED);
	/* If this fails, a message that is sent meanwhile waits until the handlers return. */
	if (p->inside)
		refuse(p);
	cancel(p, true);
	settle(p);
}

int AgletProxy_dispose(AgletProxy *proxy)
{
	AgletProxy *p = proxy;

	pthread_mutex_lock(&p->lock);
	if (atomic_load(&p->state) != AGLET_SUSPENDED) {
		pthread_mutex_unlock(&p->lock);
		return -EINVAL;
	}
	destroy(p);
	return 0;
}

/**
 * dxa_admit - whether a message may be posted to an aglet, or move to it
 * @p: the aglet
 * @m: the message
 * @waits: the sender waits for its reply
 * @priority: out, %NOT_QUEUED only if it is not to be queued now
 *
 * An aglet whose state changes before the post refuses the post, or handles the message.
 *
 * Return: 0; AGLET_NOT_HANDLED; or a negative errno: -EDEADLK: it would be handled when the
 * callback that the caller is in has returned.
 */
int dxa_admit(AgletProxy *p, const AgletMessage *m, bool waits, int *priority)
{
	struct dxa_says says;
	int rc, state;
	bool mine;

	for (;;) {
		pthread_mutex_lock(&p->lock);
		says = dxa_says(p, m);
		state = atomic_load(&p->state);
		if (state != AGLET_DEACTIVATED || !says.activates || p->calling)
			break;
		rc = activate(p);
		if (rc)
			return rc;
	}
	mine = p->calling && pthread_equal(p->caller, pthread_self());
	if (state == AGLET_DESTROYED || (state == AGLET_DEACTIVATED && !says.activates))
		rc = AGLET_NOT_HANDLED;
	else if (waits && mine)
		rc = -EDEADLK;
	else if (state == AGLET_DEACTIVATED || state == AGLET_UNINITIALIZED)
		rc = hold(p);
	else
		rc = 0;
	/* Then it is activated as soon as that callback has returned. */
	if (state == AGLET_DEACTIVATED && !rc)
		p->wakes = true;
	pthread_mutex_unlock(&p->lock);
	*priority = says.priority;
	if (says.priority == NOT_QUEUED && state != AGLET_RUNNING)
		*priority = AGLET_MAX_PRIORITY;
	return rc;
}

/* --- begin and end -------------------------------------------------------------------- */

static AgletProxy *proxy_new(AgletContext *c, Aglet *aglet)
{
	AgletProxy *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->context = dxa_context_hold(c);
	p->aglet = aglet;
	atomic_init(&p->refs, 1);
	pthread_mutex_init(&p->lock, NULL);
	LIST_INIT(&p->kinds);
	LIST_INIT(&p->named);
	return p;
}

struct creation {
	AgletProxy *p, **out;
	int rc;
};

/* onCreation has returned, or has ended its thread. */
static void created(void *creation)
{
	struct creation *it = creation;
	AgletProxy *p = it->p;

	if (it->rc) {
		p->aglet->Proxy = NULL;
		if (it->out) {
			AgletProxy_release(*it->out);
			*it->out = NULL;
		}
	}
	callback_ends(p);
	p->created = !it->rc;
	if (p->created && atomic_load(&p->state) == AGLET_UNINITIALIZED)
		run(p);
	if (p->created)
		settle(p);
	else
		destroy(p);
	AgletProxy_release(p);
}

int AgletContext_createAglet(AgletContext *context, Aglet *aglet, void *arg, AgletProxy **proxy)
{
	struct creation it = { .out = proxy };
	AgletContext *c = context;
	AgletProxy *p;

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
	p->key = (uintptr_t)p ^ (uint64_t)(++c->number & 0xffff) << 48;
	LIST_INSERT_HEAD(&c->aglets, p, link);
	c->live++;
	it.p = AgletProxy_hold(p);
	/* A thread that disposes of it meanwhile leaves the end to this call. */
	pthread_mutex_lock(&p->lock);
	pthread_mutex_unlock(&c->lock);

	aglet->Proxy = p;
	if (proxy)
		*proxy = AgletProxy_hold(p);
	callback_begins(p);
	it.rc = aglet->onCreation ? -ECANCELED : 0;
	pthread_cleanup_push(created, &it);
	if (aglet->onCreation)
		it.rc = aglet->onCreation(aglet, arg);
	pthread_cleanup_pop(1);
	return it.rc;
}

static void unlock(void *lock)
{
	pthread_mutex_unlock(lock);
}

static void release(void *proxy)
{
	AgletProxy_release(proxy);
}

/*
 * Disposes of one aglet, or waits for the last one. A callback may end the thread, or the wait may
 * be cancelled: then another thread may dispose of the context. Under X.
 */
static void dispose_next(AgletContext *c)
{
	AgletProxy *p;

	LIST_FOREACH(p, &c->aglets, link)
		if (atomic_load(&p->state) != AGLET_DESTROYED)
			break;
	if (!p) {
		pthread_cleanup_push(unlock, &c->lock);
		pthread_cond_wait(&c->ended, &c->lock);
		pthread_cleanup_pop(0);
		return;
	}
	AgletProxy_hold(p);
	pthread_mutex_unlock(&c->lock);
	pthread_cleanup_push(release, p);
	pthread_mutex_lock(&p->lock);
	if (atomic_load(&p->state) != AGLET_DESTROYED)
		destroy(p);
	else
		pthread_mutex_unlock(&p->lock);
	pthread_cleanup_pop(1);
	pthread_mutex_lock(&c->lock);
}

int AgletContext_dispose(AgletContext *context)
{
	AgletContext *c = context;

	if (!c)
		return 0;
	if (CurrentRequest() || callbacks)
		return -EDEADLK;
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	while (c->live)
		dispose_next(c);
	pthread_mutex_unlock(&c->lock);
	dxa_reap(c, true);
	dxa_context_release(c);
	return 0;
}
