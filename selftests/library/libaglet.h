/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of aglets share: agents that do what the kind of a message says, and note it.
 */
#ifndef DXT_LIBAGLET_H
#define DXT_LIBAGLET_H

#include "library/libwait.h"

#include <dx_aglet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What was done, one character for each; gets what is not known yet by the arguments. */
static struct trace {
	_Atomic unsigned int places;
	_Atomic unsigned int nr;	/* that are in the text: who sees it may read them */
	char text[4096];
} trace;

static inline void note(char what)
{
	unsigned int i = atomic_fetch_add(&trace.places, 1);

	if (i < sizeof(trace.text) - 1)
		trace.text[i] = what;
	trace.nr++;
}

static inline void trace_clear(void)
{
	memset(trace.text, 0, sizeof(trace.text));
	trace.places = 0;
	trace.nr = 0;
}

/* An agent. What its handler does beyond what all can is @also. */
struct agent {
	Aglet base;
	AgletProxy *proxy;
	bool (*also)(struct agent *a, AgletMessage *m);
	struct agent *other;
	_Atomic unsigned int inside, handled, wrong, entered;
	_Atomic bool closed;		/* handlers of "gate" stay */
	_Atomic int rc;
	_Atomic pid_t thread;
	AgletMessage *kept;
	_Atomic unsigned int created, activated, deactivated, disposed;
};

static int created(Aglet *self, void *arg)
{
	struct agent *a = (struct agent *)self;

	a->created++;
	a->wrong += AgletProxy_state(self->Proxy) != AGLET_UNINITIALIZED;
	return arg ? *(int *)arg : 0;
}

static void activated(Aglet *self) { ((struct agent *)self)->activated++; }
static void deactivated(Aglet *self) { ((struct agent *)self)->deactivated++; }
static void disposed(Aglet *self) { ((struct agent *)self)->disposed++; }

static inline bool is(const AgletMessage *m, const char *kind)
{
	return AgletMessage_sameKind(m, kind);
}

static bool handle(Aglet *self, AgletMessage *m)
{
	struct agent *a = (struct agent *)self;
	bool known = true;
	const char *arg;
	size_t len;

	a->inside++;
	a->wrong += getCurrentMessage() != m;
	a->thread = gettid();
	arg = AgletMessage_arg(m, &len);
	if (is(m, "echo"))
		AgletMessage_sendReply(m, arg, len);
	else if (is(m, "note"))
		note(*arg);
	else if (is(m, "throw"))
		AgletMessage_sendException(m, -EDOM, "out of it");
	else if (is(m, "gate"))
		for (a->entered++; a->closed; usleep(100))
			;
	else if (is(m, "die"))
		pthread_exit(NULL);
	else if (!is(m, "quiet"))
		known = a->also && a->also(a, m);
	a->wrong += getCurrentMessage() != m || a->base.Proxy != a->proxy;
	a->inside--;
	a->handled++;
	return known;
}

static inline struct agent agent_of(bool (*also)(struct agent *a, AgletMessage *m))
{
	return (struct agent){
		.base = { handle, created, activated, deactivated, disposed, NULL },
		.also = also,
	};
}

static inline int begins(AgletContext *c, struct agent *a)
{
	return AgletContext_createAglet(c, &a->base, NULL, &a->proxy);
}

/* It goes. Return: it was told so once. */
static inline bool goes(struct agent *a)
{
	bool ok;

	if (AgletProxy_state(a->proxy) == AGLET_RUNNING)
		AgletProxy_suspend(a->proxy);
	AgletProxy_dispose(a->proxy);
	ok = DXT_SOON(a->disposed == 1) && !a->wrong;
	AgletProxy_release(a->proxy);
	return ok;
}

/* --- messages --------------------------------------------------------------------- */

static inline AgletMessage *message_of(const char *kind, const char *arg, int priority)
{
	AgletMessage *m = AgletMessage_create(kind, arg, strlen(arg));

	if (priority)
		AgletMessage_setPriority(m, priority);
	return m;
}

static inline int oneway(struct agent *a, const char *kind, const char *arg, int priority)
{
	AgletMessage *m = message_of(kind, arg, priority);
	int rc = AgletProxy_sendOnewayMessage(a->proxy, m);

	AgletMessage_release(m);
	return rc;
}

static inline FutureReply *future_of(struct agent *a, const char *kind, const char *arg)
{
	AgletMessage *m = message_of(kind, arg, 0);
	FutureReply *f = NULL;

	if (AgletProxy_sendFutureMessage(a->proxy, m, &f))
		f = NULL;
	AgletMessage_release(m);
	return f;
}

/* Sends and waits. Return: enum AgletAnswer or a negative errno; @text: 64 bytes for the reply. */
static inline int sync_send(struct agent *a, const char *kind, const char *arg, char *text)
{
	AgletMessage *m = message_of(kind, arg, 0);
	AgletReply *r = NULL;
	int rc = AgletProxy_sendMessage(a->proxy, m, &r);

	AgletMessage_release(m);
	if (text)
		snprintf(text, 64, "%s", r ? r->Data : "");
	if (rc == AGLET_EXCEPTION)
		rc = r->Code;
	free(r);
	return rc;
}

/* The answer of a future, which ends; with an exception, its code. */
static inline int answer_of(FutureReply *f, char *text)
{
	AgletReply *r = NULL;
	int rc = FutureReply_getReply(f, &r);

	if (text)
		snprintf(text, 64, "%s", r ? r->Data : "");
	if (rc == AGLET_EXCEPTION)
		rc = r->Code;
	free(r);
	FutureReply_release(f);
	return rc;
}

/* --- a context --------------------------------------------------------------------- */

struct place {
	struct dxt t;
	MTExecutive *mte;
	AgletContext *c;
};

static int place_up(struct place *p, unsigned int threads, unsigned int on_block,
		    unsigned int reentry)
{
	ThreadManagerPolicy policy = policy_of(on_block, threads);
	AgletContextOptions options;

	policy.TPMaxWaiting = 20000;
	policy.TPMaxRequests = 40000;
	p->mte = executive(&policy, &p->t);
	if (!p->mte)
		return -1;
	AgletContextOptionsInit(&options);
	options.minThreads = options.maxThreads = 0;
	options.reentry = reentry;
	p->c = AgletContext_create(p->mte, &options);
	trace_clear();
	return p->c ? 0 : -errno;
}

/* Nothing is left of what was sent. */
static int place_down(struct place *p)
{
	int bad = AgletContext_dispose(p->c);

	bad |= !DXT_SOON(!dxt_num(&p->t, "pools/wait_use"));
	bad |= !DXT_SOON(!dxt_num(&p->t, "pools/rejoin_use"));
	MTExecutiveDestroy(p->mte, DXK_STOP_CANCEL, -1);
	return bad;
}

#endif /* DXT_LIBAGLET_H */
