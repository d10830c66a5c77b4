/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A server. Each connection is one request: its name is the connection, its owner is the pool, and
 * ConnectionPool_serve() collects its result, and so learns of connections that end without a turn.
 *
 * A thread that wants something of a connection notes it under K. If the connection then has no
 * turn, and nobody has called it, the thread calls its request. The turn marks its end under K, in
 * the same hold of the lock in which it has checked all that is wanted. So a change is either seen
 * by the turn, or causes one.
 *
 * The owner of the connection has its input: its turn, for the pool, or a receiver. While a pushed
 * task has data of a connection, nobody pulls the connection.
 *
 * Locks:
 *
 *   P	pool.lock: which connections exist, and acceptors that wait for fewer
 *   K	connection.lock, within P
 *   Q	BoundedQueue.lock, within K
 *   A	no lock: atomic, sequentially consistent
 *   R	no lock: the owner of the connection
 *   T	no lock: the turn; when there will be no turn any more, the thread that collects the request
 *   C	no lock: does not change
 */
#ifndef _DX_SERVER_INTERNAL_H
#define _DX_SERVER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "../dx/call.h"
#include "../reactor/internal.h"
#include "dx_server.h"

struct TaskQueue {
	MTExecutive *mte;		/* C */
	TaskQueueOptions options;	/* C */
	atomic_ullong leaks;
};

struct dxs_observer {
	struct dxs_observer *next;	/* K */
	DataObserver want;		/* C */
	uint64_t deadline;		/* K: since it is the first one, if it has a time-out */
};

struct dxs_message {
	struct dxs_message *next;	/* K */
	size_t len, at, room;		/* K: bytes, those that were written, and what fits */
	uint64_t deadline;		/* C: or 0 */
	MessageDone done;		/* C */
	void *arg;			/* C */
	int status;			/* of its end */
	char data[];
};

struct ConnectionPool {
	TaskQueue *queue;		/* C */
	MTExecutive *mte;		/* C */
	ConnectionPoolOptions options;	/* C */
	Runnable gate;			/* C: of the request that is there until the shutdown */
	BoundedQueue *active;		/* C: connections for receivers, each held; or NULL */
	pthread_mutex_t lock;
	Connection *first;		/* P */
	unsigned int live, connections;	/* P: with and without acceptors */
	unsigned int accepting;		/* P: places that acceptors have for what they accept now */
	Connection *full;		/* P: acceptors that wait for fewer connections */
	bool shut;			/* P */
	atomic_ullong turns, pulls, reads, in, out, messages, dropped, accepted, refused, pauses;
};

struct Connection {
	Runnable base;			/* C: executes its turns */
	Runnable pushed;		/* C: executes a task that was pushed with its data */
	ConnectionPool *pool;		/* C */
	const ConnectionOps *ops;	/* C: of an acceptor: of what it accepts; or NULL */
	void *arg;			/* C */
	bool acceptor;			/* C */
	atomic_uint holds;
	_Atomic(void *) context;
	Connection *next, **link;	/* P: in the pool's list */
	Connection *next_full;		/* P: itself: the last one; NULL: it does not wait */

	pthread_mutex_t lock;
	_Atomic(const void *) owner;	/* written K: the one that pulls it */
	int fd;				/* C until the end, then -1; written K */
	struct dxs_observer *first, *last;	/* K */
	struct dxs_observer own;	/* K: one of them, mostly ... */
	bool own_used;			/* K: ... and now */
	const struct dxs_observer *seen; /* K: the one that has not enough data yet */
	struct dxs_message *out, *out_last;	/* K */
	size_t out_len;			/* K: bytes in there */
	uint64_t out_deadline;		/* K: no message is to be dropped before; or 0 */
	bool running;			/* K: it has a turn that will look at this */
	bool called;			/* K: one will follow */
	bool offered;			/* K: it is in pool.active */
	bool busy;			/* K: a pushed task has data of it ... */
	bool at_work;			/* K: ... and has begun */
	bool lost;			/* K: its request was collected while one was at work */
	bool closing;			/* K: ends when its messages are written */
	bool leaves;			/* K: ends now */
	bool ended;			/* K */
	int status;			/* K: of its end */
	atomic_bool gone;		/* its file was closed by others */
	uint64_t drain;			/* K: shut down: when it leaves at the latest; or 0 */
	bool eof, more;			/* R */
	uint64_t pause;			/* R: until when an acceptor waits after a shortage; or 0 */
	bool held_back;			/* K, written P, too: it has too many connections */
	InputQueue in;			/* R */
	Task *task;			/* of @pushed, with ... */
	Message *data;			/* ... this, also of one that a turn runs, ... */
	void *task_context;		/* ... and that */
};

/* task.c */

/* The kind of a task that is run, for the leak check. */
enum dxs_task { DEFERRED, JOINED, SERVES };

bool dxs_passes(int rc);
int dxs_run(TaskQueue *queue, Task *task, Message *data, void *context, enum dxs_task what);
void dxs_answers(void);
int dxs_post(MTExecutive *mte, const RQPost *post, const RQOptions *options, bool waits);
int dxs_push(MTExecutive *mte, void *owner, Task *task, Runnable *executor, void *context,
	     bool waits);

/* join.c */
int dxs_joined(Runnable *self, void *context);

/* pool.c */
uint64_t dxs_now(void);
int dxs_register(ConnectionPool *pool, int fd, const ConnectionOps *ops, void *arg, bool acceptor,
		 Connection **connection, bool *opens);
bool dxs_is_full(Connection *acceptor);
void dxs_accepted(Connection *acceptor);
void dxs_forget(Connection *c);

/* connection.c */
int dxs_turn(Runnable *self, void *request);
int dxs_pushed_turn(Runnable *self, void *request);
void dxs_pushed_lost(Connection *c, int status);
void dxs_end(Connection *c, int status);
bool dxs_calls(Connection *c);
int dxs_call(Connection *c);
void dxs_observers_drop(Connection *c);

/* message.c */
int dxs_write(Connection *c, struct dxs_message **done);
void dxs_messages_drop(Connection *c, struct dxs_message **done);
void dxs_messages_done(Connection *c, struct dxs_message *done);

/* acceptor.c */
int dxs_accept(Connection *c);

#endif /* _DX_SERVER_INTERNAL_H */
