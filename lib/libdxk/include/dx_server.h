/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdxk, a server whose tasks are run when enough data has arrived, deferred, and joined. The
 * names are those of the CoherentDB Net server.
 *
 * ==================  ===================================================  ====================
 * its name            name here                                            behaviours
 * ==================  ===================================================  ====================
 * Tasks to do queue   TaskQueue_create, _push, _tryPush, _destroy          CO-3, CO-11, CO-17
 * (the monitor)       BoundedQueue_create, _push, _pop, _close             CO-1, CO-2
 * (its buffer)        struct QueueBuffer; FifoBuffer_create,               CO-3, CO-4
 *                     PriorityBuffer_create
 * Task                struct Task: run; Task_init                          CO-9, CO-14
 * deferred task       TaskQueue_push in a task, JoinPoint_add              CO-14
 * Join point          struct JoinPoint: JoinPoint_init, _add, _set,        CO-15..CO-21
 *                     _setIn, _status, _cancel
 * Connection pool     ConnectionPool_create, _register, _serve,            CO-5, CO-6
 *                     _shutdown, _destroy, _takeMyConnections
 * Receiver thread     who calls ConnectionPool_takeMyConnections and       CO-5, CO-6
 *                     Connection_pull; else a worker
 * Connection          Connection_pull, _active, _observe, _close           CO-8, CO-10
 * DataObserver        struct DataObserver                                  CO-9, CO-10
 * Acceptor            Acceptor_create: a connection whose pull accepts     CO-7
 * Messages,           Connection_send, _sendWithin: those of a connection  CO-12, CO-13
 * Messenger           have one order
 * ==================  ===================================================  ====================
 *
 * A connection is a request of an executive (see dx.h). It waits for its file only while an
 * observer waits for bytes: otherwise nothing is read, and the peer eventually waits. Its turns, in
 * any worker, read, run the task whose data is complete, unless it has a key, and write what its
 * senders could not write themselves. Other tasks are requests of their own. The Tasks to do queue
 * is the Ready Pool, its size TPReadyEntries. A join point is the owner of the tasks that it joins,
 * its continuation a request that waits until this owner has nothing coming.
 */
#ifndef _DX_SERVER_H
#define _DX_SERVER_H

#include <dx.h>
#include <dx_reactor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct BoundedQueue BoundedQueue;
typedef struct Connection Connection;
typedef struct ConnectionOps ConnectionOps;
typedef struct ConnectionPool ConnectionPool;
typedef struct DataObserver DataObserver;
typedef struct JoinPoint JoinPoint;
typedef struct QueueBuffer QueueBuffer;
typedef struct Task Task;
typedef struct TaskQueue TaskQueue;

/* What a task does: see struct Task. */
typedef int (*TaskRun)(Task *self, Message *data, void *context);

/* What a message's end calls: see Connection_sendWithin(). */
typedef void (*MessageDone)(void *arg, Connection *connection, int status);

/* Below 0: @a comes before @b; 0: neither does. */
typedef int (*ItemOrder)(const void *a, const void *b);

/* --- the monitor queue ------------------------------------------------------------ */

/**
 * struct QueueBuffer - the container of a queue's items, which determines the order in which they
 *	leave it (CO-3, CO-4)
 * @push: takes an item, never %NULL. Return: 0 or a negative errno, -ENOMEM
 * @pop: returns the next item; it is called only when there is one
 * @destroy: frees the buffer, not its items
 *
 * Embed it in an object of the application's own. Context: one thread at a time.
 */
struct QueueBuffer {
	int (*push)(QueueBuffer *self, void *item);
	void *(*pop)(QueueBuffer *self);
	void (*destroy)(QueueBuffer *self);
};

/**
 * FifoBuffer_create - a buffer that returns items in the order of their arrival
 *
 * Return: the buffer or %NULL: no memory.
 */
QueueBuffer *FifoBuffer_create(void);

/**
 * PriorityBuffer_create - a buffer that returns the item that precedes all others
 * @compare: determines that item; of items for which it returns 0, the one that came first
 *
 * Return: the buffer or %NULL: no memory.
 */
QueueBuffer *PriorityBuffer_create(ItemOrder compare);

/**
 * BoundedQueue_create - an empty queue between threads (CO-1)
 * @buffer: its buffer, empty; belongs to the queue from now on. %NULL for a FifoBuffer_create()
 * @max: maximum number of items in it; 0: any number
 *
 * Return: the queue or %NULL: no memory; @buffer is as it was.
 */
BoundedQueue *BoundedQueue_create(QueueBuffer *buffer, size_t max);

/**
 * BoundedQueue_destroy - free a queue and its buffer, not the items
 * @queue: in which no thread is; or %NULL
 */
void BoundedQueue_destroy(BoundedQueue *queue);

/**
 * BoundedQueue_push - add an item, and wait while the queue is full (CO-1, CO-2)
 * @queue: to which
 * @item: not %NULL
 * @timeout_ns: how long to wait; 0 not at all, below 0 without limit
 *
 * Callers that must wait form a line: the item is handed over on a caller's behalf when its turn
 * has come. With each item taken out one waiting caller continues, the first one first, and none
 * sleeps while there is room. A worker that waits here executes nothing meanwhile: see
 * EnterBlock().
 *
 * Return: 0; -EAGAIN: full, and not to wait; -ETIMEDOUT; -ESHUTDOWN: closed; -EINVAL; or the
 * error that the buffer returned.
 */
int BoundedQueue_push(BoundedQueue *queue, void *item, int64_t timeout_ns);

/**
 * BoundedQueue_pop - take the next item out, and wait while there is none (CO-1, CO-2)
 * @queue: from which
 * @item: out; %NULL on failure
 * @timeout_ns: see BoundedQueue_push()
 *
 * An item that is pushed while threads wait goes to the one that has waited longest.
 *
 * Return: 0; -EAGAIN: empty, and not to wait; -ETIMEDOUT; -ESHUTDOWN: closed, and empty.
 */
int BoundedQueue_pop(BoundedQueue *queue, void **item, int64_t timeout_ns);

/**
 * BoundedQueue_close - take no more items
 * @queue: which
 *
 * Callers that wait in BoundedQueue_push() get -ESHUTDOWN, and so do those in BoundedQueue_pop().
 * Items that are in the queue can be taken out.
 */
void BoundedQueue_close(BoundedQueue *queue);

/**
 * BoundedQueue_size - how many items are in it now
 * @queue: which
 *
 * Return: that.
 */
size_t BoundedQueue_size(BoundedQueue *queue);

/* --- tasks -------------------------------------------------------------------------- */

/**
 * struct Task - something to be called later, by a worker (CO-9, CO-14)
 * @Deferred: the library's
 * @Joined: the library's
 * @run: its function. @data are the bytes that an observer has waited for, freed when it returns,
 *	or %NULL: it was deferred, or is a continuation, or is the task for a time-out. Return: 0 or
 *	a negative errno, which a join point counts, and which ends the connection whose data it was
 * @Priority: larger is more urgent. It does not apply to a task that is run where its data was
 *	read, see Connection_observe()
 * @Key: of tasks with one key, one is run at a time; 0: none
 *
 * Embed it in an object of the application's own and initialise it by Task_init(). It may be
 * queued many times, with different contexts, and is then run by several workers at a time. It
 * stays in place until it was run for each of them: the last @run may free it.
 */
struct Task {
	Runnable Deferred;
	Runnable Joined;
	TaskRun run;
	int32_t Priority;
	uint64_t Key;
};

/**
 * Task_init - initialise a task without a key, of priority 0
 * @task: out
 * @run: its function
 */
void Task_init(Task *task, TaskRun run);

/**
 * Task_answered - the task that the caller runs needs no response, or has sent one elsewhere
 *
 * For the leak check: see TaskQueueOptions.
 */
void Task_answered(void);

/**
 * struct TaskQueueOptions - the configuration of a task queue; 0 is the default of each field
 * @leaked: a task has returned and has neither responded (Connection_send(), Connection_close(),
 *	Task_answered()), nor waits for data (Connection_observe()), nor deferred another task
 *	(TaskQueue_push(), JoinPoint_add(), JoinPoint_set()), nor was joined. Its memory may
 *	have been freed. The default writes to the log (CO-14)
 * @Arg: the first argument of @leaked
 * @Reserved: 0
 */
typedef struct TaskQueueOptions {
	void (*leaked)(void *arg, const void *task, const void *context);
	void *Arg;
	void *Reserved[2];
} TaskQueueOptions;

/**
 * TaskQueue_create - a queue of tasks, which workers take out and run (CO-11)
 * @executive: whose Ready Pool it is; or %NULL, see dx.h. Its TPMaxWaiting is not 0, and bounds
 *	the join points that are set at a time, with the tasks that wait for a key and the pools
 * @options: copied; %NULL for the defaults
 *
 * Return: the queue, or %NULL with errno: EOPNOTSUPP: the policy's TPMaxWaiting is 0; EINVAL,
 * ENOMEM, ENXIO, EPERM.
 */
TaskQueue *TaskQueue_create(MTExecutive *executive, const TaskQueueOptions *options);

/**
 * TaskQueue_destroy - wait until all tasks were run, and free the queue
 * @queue: to which nobody pushes except its tasks; or %NULL. Its executive still exists
 *
 * For tasks of a join point it waits only if the join point was set: otherwise they use freed
 * memory. After a Stop that cancels, neither tasks that had not begun nor continuations are run.
 * Not for a worker.
 */
void TaskQueue_destroy(TaskQueue *queue);

/**
 * TaskQueue_push - queue a task for a worker, and wait while the queue is full (CO-1, CO-3)
 * @queue: which
 * @task: the task
 * @context: for its run
 *
 * The order is that of the executive's TPOrder: by priority, then in the order of arrival.
 * TPOnBlock determines what a worker that waits here does: with %DXK_ON_BLOCK_STRICT tasks that
 * push tasks may all wait for each other, which is reported as a stall (D-22).
 *
 * Return: 0: it will be run; -ESHUTDOWN, -EINTR, -EDEADLK, -ENOSPC, -EDQUOT, -ENOMEM ...: it
 * will not.
 */
int TaskQueue_push(TaskQueue *queue, Task *task, void *context);

/**
 * TaskQueue_tryPush - as TaskQueue_push(), without waiting
 * @queue: which
 * @task: what
 * @context: for its run
 *
 * Return: as TaskQueue_push(); -EAGAIN: the queue is full.
 */
int TaskQueue_tryPush(TaskQueue *queue, Task *task, void *context);

/**
 * TaskQueue_leaks - how many tasks the leak check has found
 * @queue: of which
 *
 * Return: that.
 */
uint64_t TaskQueue_leaks(TaskQueue *queue);

/* --- join points ---------------------------------------------------------------------- */

/**
 * enum JoinMode - how a continuation is run
 * @JOIN_LAZY: through the task queue, like any other task of its priority (CO-17). It has a place
 *	there: if the queue is full, it is not refused, and nobody waits (CO-21)
 * @JOIN_EAGER: by the worker that has ended the last task, before it takes other work (CO-16). With
 *	a TPFetchMax above 1 that is after the requests that it has fetched
 */
enum JoinMode {
	JOIN_LAZY,
	JOIN_EAGER,
};

/**
 * struct JoinPoint - runs a task after the last of others has ended (CO-15)
 *
 * All fields belong to the library. It lies in memory of the application's own, which stays in
 * place until the continuation is run; the continuation may free it.
 */
struct JoinPoint {
	/* private: */
	Runnable Base;
	TaskQueue *Queue;
	Task *Then;
	void *Context;
	uint32_t Mode;
	uint32_t Failed;
	int32_t First;
	uint32_t Added, Begun, Ended;
	JoinPoint *Inner, *Next, **Link;
};

/**
 * JoinPoint_init - a join point without tasks
 * @join: out
 * @queue: of its tasks and of the continuation
 * @then: the continuation
 * @context: for its run
 * @mode: how it is run
 */
void JoinPoint_init(JoinPoint *join, TaskQueue *queue, Task *then, void *context,
		    enum JoinMode mode);

/**
 * JoinPoint_add - as TaskQueue_push(), for a task that the continuation waits for
 * @join: which
 * @task: the task
 * @context: for its run
 *
 * Before JoinPoint_set(), or in a task that is joined. The leak check does not apply to it.
 *
 * Return: see TaskQueue_push().
 */
int JoinPoint_add(JoinPoint *join, Task *task, void *context);

/**
 * JoinPoint_tryAdd - as JoinPoint_add(), without waiting
 * @join: which
 * @task: what
 * @context: for its run
 *
 * Return: see TaskQueue_tryPush().
 */
int JoinPoint_tryAdd(JoinPoint *join, Task *task, void *context);

/**
 * JoinPoint_set - all tasks are added: run the continuation when they have ended (CO-15, CO-18)
 * @join: which; may already have been freed when this returns 0
 *
 * If all tasks have ended, or there are none, the continuation is run at once. It is run once, also
 * after tasks that failed or were cancelled.
 *
 * Return: 0; -ENOSPC, -EDQUOT: TPMaxWaiting or TPMaxRequests, or a user's share, is reached;
 * -EDEADLK: the tasks that it would wait for wait for it; -ESHUTDOWN, -ENOMEM: it will not be run.
 * The tasks are nevertheless run, and use @join, which may be set again.
 */
int JoinPoint_set(JoinPoint *join);

/**
 * JoinPoint_setIn - as JoinPoint_set(), for a continuation that is itself joined
 * @join: which
 * @outer: the join point that waits for its continuation, as if that had been added to it
 *
 * Chains of any length need no stack: each continuation is run separately (CO-20).
 *
 * Return: see JoinPoint_set().
 */
int JoinPoint_setIn(JoinPoint *join, JoinPoint *outer);

/**
 * JoinPoint_status - how the tasks of a join point have ended (CO-19)
 * @join: which
 * @failed: out: how many have failed, were cancelled, or died with their worker; may be %NULL
 *
 * Context: the continuation.
 * Return: the status of the first that has failed; if none has, -EOWNERDEAD: a worker died with
 * one, -ECANCELED: one was never run; 0: all have succeeded.
 */
int JoinPoint_status(const JoinPoint *join, unsigned int *failed);

/**
 * JoinPoint_cancel - end the tasks of a join point
 * @join: which, before its continuation is run
 *
 * Tasks that have not begun are not run; the others are asked to end, see ShouldStop(). The
 * continuation is run after the last. A continuation that is joined and still waits is not run
 * either; its own tasks continue, and the continuation of @join also waits for them, because they
 * use their join point.
 *
 * Return: how many had not ended, or a negative errno: see CancelRequests().
 */
int JoinPoint_cancel(JoinPoint *join);

/* --- connections ------------------------------------------------------------------------ */

/**
 * struct DataObserver - waits for data of a connection, for a task (CO-9, CO-10)
 * @Length: how many bytes the task is run with: never fewer
 * @enough: if @Length is 0: how many that is to be, by what has come: some, all of them or fewer;
 *	0: more have to come first; or a negative errno, with which the connection ends. @Length
 *	bytes are read and not one more, or, with @enough, what there is, by buffers
 * @Run: the task
 * @Context: for its run, and for @enough
 * @TimeoutNs: how long it may take; 0: no limit. It begins when the earlier observers are served
 * @Expired: the task that is run instead, without data, if it took longer; %NULL: the
 *	connection ends with -ETIME. Data that has arrived stays for the next observer
 * @Reserved: 0
 */
struct DataObserver {
	size_t Length;
	ssize_t (*enough)(const DataObserver *self, InputQueue *input);
	Task *Run;
	void *Context;
	int64_t TimeoutNs;
	Task *Expired;
	void *Reserved[2];
};

/**
 * struct ConnectionOps - the functions that are called for a connection
 * @opened: it is registered, or accepted, and nothing of it was read: it gets its first observer.
 *	Return: 0, or a negative errno: it is closed, and @ended not called. May be %NULL
 * @ended: it has ended and its file is closed; no task with its data is at work, and one that was
 *	pushed and has not begun is not run. An acceptor has none. @status: 0: at the end of the
 *	input, or by Connection_close(); -ECANCELED: by a shutdown or a Stop; -ETIME; or another
 *	error. May be %NULL
 *
 * Context: @opened: who accepts or registers; @ended: a worker, or the thread in
 * ConnectionPool_serve(); or, of a connection that was opened and then lacks a request, who
 * registers it: then its file is the caller's.
 */
struct ConnectionOps {
	int (*opened)(Connection *connection, void *arg);
	void (*ended)(Connection *connection, void *arg, int status);
};

/**
 * struct ConnectionPoolOptions - the configuration of a pool; 0 is the default of each field
 * @Priority: of the requests of connections
 * @Receivers: 0: workers receive. 1: threads of the application do, with
 *	ConnectionPool_takeMyConnections()
 * @TurnTasks: tasks and reads of a turn, 64: then the connection queues behind its equals
 * @MaxConnections: connections that are open at a time, without acceptors: at this number none is
 *	accepted; 0: any number
 * @InputLimit: bytes that an observer with an @enough may wait beside, 1 MiB: then the connection
 *	ends with -EMSGSIZE
 * @OutputLimit: bytes of messages from which on Connection_send() takes no more, 4 MiB
 * @Factory: of the buffers of input queues
 * @Reserved: 0
 */
typedef struct ConnectionPoolOptions {
	int32_t Priority;
	uint32_t Receivers;
	uint32_t TurnTasks;
	uint32_t MaxConnections;
	size_t InputLimit;
	size_t OutputLimit;
	BufferFactory *Factory;
	void *Reserved[2];
} ConnectionPoolOptions;

/**
 * struct ConnectionPoolStatus - the counters of a pool
 * @Connections: that are open, including acceptors
 * @Turns: of their requests
 * @Pulls: of connections
 * @Reads: of files
 * @BytesIn: read
 * @BytesOut: written
 * @Messages: written whole; short ones of Connection_send() that were queued one behind the other
 *	may count as one
 * @Dropped: messages that were not written, because of their time-out
 * @Accepted: connections
 * @Refused: connections that were refused by @opened, or for lack of memory or requests
 * @Pauses: times that an acceptor waited 100 ms, because descriptors, memory or requests were
 *	used up
 */
typedef struct ConnectionPoolStatus {
	uint64_t Connections;
	uint64_t Turns;
	uint64_t Pulls;
	uint64_t Reads;
	uint64_t BytesIn;
	uint64_t BytesOut;
	uint64_t Messages;
	uint64_t Dropped;
	uint64_t Accepted;
	uint64_t Refused;
	uint64_t Pauses;
} ConnectionPoolStatus;

/**
 * ConnectionPool_create - a pool without connections
 * @queue: of the tasks of its connections; its executive's TPMaxRequests bounds the connections
 * @options: copied; %NULL for the defaults
 *
 * Return: the pool, or %NULL with errno: EINVAL, ENOMEM, ESHUTDOWN, ENOSPC, EDQUOT; EPERM: lane 0,
 * which connections are of, is closed.
 */
ConnectionPool *ConnectionPool_create(TaskQueue *queue, const ConnectionPoolOptions *options);

/**
 * ConnectionPool_destroy - end all connections and free the pool
 * @pool: in which no thread is; or %NULL. Its task queue still exists
 *
 * Waits for the turns that execute, also if the caller lacks a descriptor, as long as it does. Not
 * for a worker.
 */
void ConnectionPool_destroy(ConnectionPool *pool);

/**
 * ConnectionPool_register - pass a file to the pool, as a connection
 * @pool: of the connection
 * @fd: a file that supports poll(2). It is made non-blocking. If 0 was returned it belongs to the
 *	connection, which closes it
 * @ops: the functions that are called for it; %NULL for none. It stays in place
 * @arg: passed to these functions
 * @connection: out, may be %NULL; to be released by Connection_release()
 *
 * Context: any thread.
 * Return: 0; the error that @opened returned; -EBADF, -ESHUTDOWN, -ENOMEM; -ENOSPC, -EDQUOT:
 * TPMaxRequests, or a user's share of it, is reached; -EAGAIN: with %DXK_REJOIN_RESERVE:
 * TPRejoinEntries is reached.
 */
int ConnectionPool_register(ConnectionPool *pool, int fd, const ConnectionOps *ops, void *arg,
			    Connection **connection);

/**
 * ConnectionPool_serve - serve connections that end, until all have ended
 * @pool: which; at least one thread of the program must be in this function, and sleeps
 *
 * Return: 0: shut down, and all connections have ended; -ECANCELED: the executive has ended;
 * -EINTR: a signal handler without SA_RESTART; -EDEADLK: the caller is a worker.
 */
int ConnectionPool_serve(ConnectionPool *pool);

/**
 * ConnectionPool_shutdown - accept no more, and end all connections
 * @pool: which
 * @drain_ns: how long connections for which a task is at work or pushed, or a message is to be
 *	written, may continue until that is done; 0: all end at once, except a task that is at work
 *
 * It can be called again, with less time. It must be called again after a call in a thread that
 * could not become a member of the executive for lack of a descriptor.
 *
 * Context: any thread.
 */
void ConnectionPool_shutdown(ConnectionPool *pool, int64_t drain_ns);

/**
 * ConnectionPool_takeMyConnections - connections that are active, for a receiver (CO-5, CO-6)
 * @pool: with ConnectionPoolOptions.Receivers
 * @receiver: whose they become: any address. Nobody else pulls them, until it has pulled them
 * @connections: out
 * @max: room there
 * @timeout_ns: how long to wait while none is active; 0 not at all, below 0 without limit
 *
 * This function includes the select of the receiver's loop: the connections that it returns are
 * active (CO-8). Each must be passed to Connection_pull().
 *
 * Context: a thread of the application.
 * Return: how many; -EAGAIN, -ETIMEDOUT: none; -ESHUTDOWN: the loop is to end; -EINVAL.
 */
int ConnectionPool_takeMyConnections(ConnectionPool *pool, const void *receiver,
				     Connection **connections, unsigned int max,
				     int64_t timeout_ns);

/**
 * ConnectionPool_status - read the counters of a pool
 * @pool: which
 * @status: out
 */
void ConnectionPool_status(ConnectionPool *pool, ConnectionPoolStatus *status);

/**
 * Connection_pull - read what the connection's first observer waits for, and push its task when
 *	it is complete; of an acceptor: accept (CO-5, CO-7)
 * @connection: the receiver's own; no longer its own when this returns
 * @receiver: whose it is
 *
 * Return: 0, -EPERM: it is not the receiver's, or the error that has ended the connection.
 */
int Connection_pull(Connection *connection, const void *receiver);

/**
 * Connection_owner - the receiver that pulls it (CO-6)
 * @connection: which
 *
 * Return: the receiver that has it; the pool: a worker; or %NULL: it is free.
 */
const void *Connection_owner(Connection *connection);

/**
 * Connection_active - do data and a task wait for each other? (CO-8)
 * @connection: which
 *
 * Return: that.
 */
bool Connection_active(Connection *connection);

/**
 * Connection_observe - run a task when enough data has come (CO-9)
 * @connection: of which
 * @observer: copied; behind those that wait
 *
 * Observers are served one after the other: the next one when the task of the previous one has
 * returned. So tasks of one connection's data do not overlap. A task with a key is pushed, and so
 * is each task that a receiver has read for; another task is run next, by the worker that has read
 * the data.
 *
 * Context: any thread.
 * Return: 0; -EPIPE: its input is at the end, or it has ended or is to; -ENOMEM, -EINVAL.
 */
int Connection_observe(Connection *connection, const DataObserver *observer);

/**
 * Connection_send - queue a message, which is written whole and after the previous ones (CO-12)
 * @connection: to which
 * @data: copied
 * @len: how many bytes
 *
 * It is a task's response if a task makes this call. It does not wait.
 *
 * Context: any thread.
 * Return: 0: it will be written, or the connection ends before; -EAGAIN: too many bytes are to be
 * written; -EPIPE: the connection has ended; -ENOMEM.
 */
int Connection_send(Connection *connection, const void *data, size_t len);

/**
 * Connection_sendWithin - as Connection_send(), for a message that expires (CO-13)
 * @connection: to which
 * @data: copied
 * @len: how many bytes
 * @timeout_ns: how long it may take until the file has taken the message: then it is dropped,
 *	those behind are not; if a part was written, the connection ends with -ETIME. 0: no limit
 * @done: called once with the message's end. @status: 0: the file has taken it; -ETIME: dropped;
 *	-EPIPE: the connection has ended. Of an empty message it is called at once. May be %NULL
 * @arg: its first argument
 *
 * Context: any thread; @done: the caller, or a worker.
 * Return: see Connection_send(); if not 0, @done is not called.
 */
int Connection_sendWithin(Connection *connection, const void *data, size_t len, int64_t timeout_ns,
			  MessageDone done, void *arg);

/**
 * Connection_close - stop reading, and end when all messages are written
 * @connection: which
 *
 * Context: any thread.
 */
void Connection_close(Connection *connection);

/**
 * Connection_setContext - keep an address with a connection
 * @connection: which
 * @context: for Connection_context()
 */
void Connection_setContext(Connection *connection, void *context);

/**
 * Connection_context - the address that was last passed to Connection_setContext()
 * @connection: which
 *
 * Return: that, or %NULL.
 */
void *Connection_context(Connection *connection);

/**
 * Connection_hold - keep a connection valid beyond its end
 * @connection: which
 *
 * For deferred tasks. Its functions then do nothing and return -EPIPE.
 *
 * Return: @connection.
 */
Connection *Connection_hold(Connection *connection);

/**
 * Connection_release - the end of a hold
 * @connection: which, or %NULL
 */
void Connection_release(Connection *connection);

/**
 * Acceptor_create - accept the connections of a socket: a connection whose pull does that (CO-7)
 * @pool: of the acceptor, and of what it accepts
 * @fd: listens; belongs to the acceptor if 0 was returned
 * @ops: of accepted connections; @opened is called before such a connection is pulled. It stays in
 *	place
 * @arg: passed to these functions
 * @acceptor: out, may be %NULL; see ConnectionPool_register()
 *
 * Without descriptors, memory or requests it retries after 100 ms. A connection that was
 * accepted and lacks a request is closed.
 *
 * Return: see ConnectionPool_register(); -EINVAL: there is no @opened.
 */
int Acceptor_create(ConnectionPool *pool, int fd, const ConnectionOps *ops, void *arg,
		    Connection **acceptor);

#ifdef __cplusplus
}
#endif

#endif /* _DX_SERVER_H */
