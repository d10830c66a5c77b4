/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Aglets. A message that was sent is one request: its key is that of the aglet, its owner is the
 * future of its reply or the future's set. The owner of a oneway message is the context, which has
 * to learn of its end, because a cancelled message has no turn in which it could be freed.
 *
 * The library keeps the reply: the first reply that is put into the message is the answer. The
 * future has it when the request has ended, and only then.
 *
 * The state of an aglet, and how many of its handlers and callbacks have begun, change under one
 * lock, and no code of the program runs under that lock. A handler begins in two states only, and
 * not while there is a callback, which counts as being inside. The last one that leaves does what
 * waits for that, the next callback or the end, on its thread.
 *
 * The key of an aglet is the address of its proxy, which exists as long as a message to it, with
 * a number on top, so that it differs from the program's keys. It is held back while the aglet is
 * suspended, also during onActivation, and from the time when a message is sent that has to wait
 * for the end of another callback. It refuses posts from the time when the aglet is deactivated, or
 * disposed of, until its handlers have returned. A post that was admitted before that may come
 * later: then the message has its turn, and is not handled.
 *
 * Locks, in this order:
 *
 *   X	context.lock: which aglets exist, and the owners whose requests nobody collects
 *   P	proxy.lock: the state, kinds, and messages that are to be cancelled by name
 *   A	no lock: atomic, sequentially consistent
 *   R	no lock: the request's turn; when there will be no turn any more, the thread that
 *	collects it
 *   F	no lock: the thread that uses the future or the set
 *   C	no lock: does not change
 */
#ifndef _DX_AGLET_INTERNAL_H
#define _DX_AGLET_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "../checkers.h"
#include "dx_aglet.h"
#include "dxk.h"

/* The settings of an aglet for a kind; a kind without settings is in no list. */
struct dxa_says {
	int priority;			/* 0: none */
	bool activates, subscribed;
};

struct dxa_kind {
	struct dxa_says says;
	LIST_ENTRY(dxa_kind) link;
	char name[];
};

/* The owner of requests: a future, a set. */
struct dxa_owner {
	AgletContext *context;		/* C: a reference; of a future, its message's */
	bool is_set;			/* C */
	TAILQ_ENTRY(dxa_owner) link;	/* X: in context.left */
};

struct AgletContext {
	Runnable base;			/* C: executes messages */
	Runnable relay;			/* C: executes relays, which are results for sets */
	MTExecutive *mte;		/* C */
	AgletContextOptions options;	/* C */
	atomic_uint refs;
	atomic_uint oneway;		/* messages, sent and handled; owner of their requests */
	pthread_mutex_t lock;
	pthread_cond_t ended;		/* X: @live is 0 */
	LIST_HEAD(, AgletProxy) aglets;	/* X */
	unsigned int live;		/* X: of which onDisposing has not returned */
	unsigned int number;		/* X: of the last one */
	bool closing;			/* X */
	TAILQ_HEAD(, dxa_owner) left;	/* X: whose requests nobody waits for */
};

struct AgletProxy {
	AgletContext *context;		/* C: a reference */
	Aglet *aglet;			/* C: not after the end */
	uint64_t key;			/* C */
	atomic_uint refs;
	pthread_mutex_t lock;
	atomic_int state;		/* enum AgletState; written P */
	unsigned int inside;		/* P: handlers, and a callback, that have begun */
	bool calling;			/* P: one of them is a callback, except onDisposing */
	pthread_t caller;		/* P: on that thread */
	bool held;			/* P: the key is held back */
	bool owes;			/* P: deactivated, and its handlers have not returned yet */
	bool wakes;			/* P: deactivated, to be activated after that callback */
	bool created;			/* P: onCreation has returned, and it is to be */
	bool ended;			/* P: nobody will use the aglet any more */
	LIST_HEAD(, dxa_kind) kinds;	/* P */
	LIST_HEAD(, AgletMessage) named; /* P: messages that were begun, and wait */
	LIST_ENTRY(AgletProxy) link;	/* X */
};

/* The part that all copies of a message share. */
struct dxa_body {
	atomic_uint refs;
	int priority;
	size_t len;
	char *kind;			/* after the argument */
	_Alignas(16) char arg[];
};

struct AgletMessage {
	struct dxa_body *body;		/* C */
	atomic_uint refs;
	/* The rest is only for a message that was sent. */
	AgletContext *context;		/* C: its aglet's; else NULL */
	AgletProxy *proxy;		/* R: its aglet, a reference; else NULL */
	FutureReply *future;		/* C: behind it; NULL: it is oneway */
	_Atomic(AgletReply *) reply;	/* the first one counts */
	_Atomic(AgletProxy *) to;	/* its next aglet, a reference; or NULL */
	atomic_uint hops;
	atomic_bool begun;		/* a handler has it, or had */
	atomic_bool deferred;		/* the return of the handler is no reply */
	bool alone;			/* R: it has no key */
	bool awaits;			/* R, of a listed one P: waits for its deferred reply */
	bool listed;			/* P: in proxy.named */
	LIST_ENTRY(AgletMessage) link;	/* P */
};

/* Replies that need no memory: no reply; an empty one */
extern AgletReply dxa_none, dxa_empty;
AgletReply *dxa_reply_new(int code, const void *data, size_t len);
void dxa_reply_free(AgletReply *reply);

struct FutureReply {
	struct dxa_owner base;
	AgletMessage *message;		/* C: a reference; it is part of that */
	ReplySet *set;			/* F: where it is, or NULL */
	void *owner;			/* C: of the message: itself, or its set */
	bool available;			/* F */
	bool relay;			/* F: a request of @set reports when it is */
	AgletReply *reply;		/* F: when it is */
	TAILQ_ENTRY(FutureReply) link;	/* F: in one of the lists of @set */
};

struct ReplySet {
	struct dxa_owner base;
	TAILQ_HEAD(dxa_futures, FutureReply) pending, available; /* F */
	unsigned int nr_pending, nr_available; /* F */
	bool left;			/* F: nobody uses it any more */
};

/* Drops a reference to @object. Return: whether it was the last one. */
static inline bool dxa_drop(void *object, atomic_uint *refs)
{
	bool last;

	dxk_giving_back(object);
	last = atomic_fetch_sub(refs, 1) == 1;
	if (last)
		dxk_gave_last(object);
	return last;
}

/* aglet.c */
AgletContext *dxa_context_hold(AgletContext *c);
void dxa_context_release(AgletContext *c);
bool dxa_enter(AgletProxy *p);
void dxa_leave(AgletProxy *p);
int dxa_admit(AgletProxy *p, const AgletMessage *m, bool waits, int *priority);

/* message.c */
AgletMessage *dxa_message_copy(const AgletMessage *message, AgletProxy *p, bool replies);
int dxa_turn(Runnable *self, void *request);
bool dxa_list(AgletMessage *m, AgletProxy *p);
void dxa_unlist(AgletMessage *m);
void dxa_cancel_named(AgletProxy *p, bool all);

/* manager.c */
struct dxa_says dxa_says(AgletProxy *p, const AgletMessage *m);
void dxa_kinds_free(AgletProxy *p);

/* send.c */
int dxa_send(AgletProxy *p, const AgletMessage *message, void *owner, FutureReply **future);
void dxa_sent_oneway(AgletContext *c);

/* reply.c */
int dxa_relay(Runnable *self, void *request);
void dxa_collected(AgletContext *c, const RQElement *e);
int dxa_collect(AgletContext *c, void *owner, uint64_t deadline);
FutureReply *dxa_future_new(const AgletMessage *message, AgletProxy *p, void *owner);
void dxa_future_ends(FutureReply *f, int status);
void dxa_reap(AgletContext *c, bool all);

#endif /* _DX_AGLET_INTERNAL_H */
