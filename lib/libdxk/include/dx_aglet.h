/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdxk, agents driven by messages: each handles one at a time, and all share the workers of
 * an executive. The names are those of Aglets.
 *
 * =================  ====================================================  ====================
 * its name           name here                                             behaviours
 * =================  ====================================================  ====================
 * AgletContext       AgletContext_create, _createAglet,                    AG-8, AG-15,
 *                    _multicastMessage, _dispose                           AG-32..AG-34
 * Aglet              struct Aglet: handleMessage, onCreation,              AG-2, AG-9, AG-10,
 *                    onActivation, onDeactivating, onDisposing             AG-28
 * AgletProxy         AgletProxy_sendMessage, _sendFutureMessage,           AG-1, AG-11..AG-13,
 *                    _sendOnewayMessage, _delegateMessage,                 AG-16, AG-18..AG-20
 *                    _suspend, _resume, _deactivate, _activate, _dispose   AG-28..AG-31
 * Message            AgletMessage_create, _sendReply, _sendException,      AG-11, AG-12, AG-14
 *                    _enableDeferedReply
 *                    getCurrentMessage                                     AG-35
 * MessageManager     MessageManager_setPriority, _removePriority,          AG-3..AG-6, AG-30,
 *                    _setActivation, _subscribeMessage, _waitMessage,      AG-21..AG-27
 *                    _notifyMessage, _notifyAllMessages, _exitMonitor
 * FutureReply        FutureReply_isAvailable, _waitForReply, _getReply     AG-12, AG-17
 * ReplySet           ReplySet_sendFutureMessage, _addFutureReply,          AG-15
 *                    _getNextFutureReply, _waitForNext, _waitForAll,
 *                    _areAllAvailable
 * AgletThread        a worker of the executive; CurrentRequest()           AG-7, AG-34
 * =================  ====================================================  ====================
 *
 * There is no thread and no queue here: a message is a request of an executive (see dx.h) whose
 * key is that of its aglet. A handler that sends to its own aglet does not block itself: the
 * message is handled within the handler that sends it.
 */
#ifndef _DX_AGLET_H
#define _DX_AGLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Aglet Aglet;
typedef struct AgletContext AgletContext;
typedef struct AgletMessage AgletMessage;
typedef struct AgletProxy AgletProxy;
typedef struct FutureReply FutureReply;
typedef struct ReplySet ReplySet;

/* --- aglets ------------------------------------------------------------------ */

/**
 * struct Aglet - a handler of messages; embed it in the application's object
 * @handleMessage: handles a message. Return: false: the aglet does not handle this message.
 *	True without a reply, and without a deferred one, is a reply of no bytes. Long operations
 *	in it call ShouldStop(0), see dx.h, to find out whether it is to return soon
 * @onCreation: the aglet begins; it has no message before. Return: 0, or a negative errno: it
 *	does not begin
 * @onActivation: it is to be activated; messages come when this returns
 * @onDeactivating: it has been deactivated, and its handlers have returned
 * @onDisposing: it has been disposed of, and its handlers have returned: the last call, which
 *	may free the aglet. It is not called for an aglet whose @onCreation returned an error: that
 *	aglet belongs to the caller when AgletContext_createAglet() returns
 * @Proxy: its own, by AgletContext_createAglet(); as long as the aglet lives
 *
 * %NULL is allowed except for @handleMessage. One message is handled at a time, except for kinds of
 * priority %NOT_QUEUED, for messages that are handled after MessageManager_exitMonitor() or after a
 * wait that failed, and for a message that the handler itself causes and waits for (AG-2). For an
 * aglet that is activated again before its handlers have returned, neither @onDeactivating nor
 * @onActivation is called.
 *
 * While @onCreation, @onActivation or @onDeactivating executes, no other callback and no handler of
 * the aglet does. Only @handleMessage waits for their return: messages sent to the aglet meanwhile,
 * and senders that wait for a reply to them. A function that changes the state and would have to
 * wait for it returns -EBUSY, even in the callback itself; AgletProxy_dispose() of an aglet that is
 * in its @onActivation takes effect at once, and @onDisposing follows. A callback that ends its
 * thread counts as one that returns; an aglet that is in its @onCreation then does not begin.
 *
 * Context: @handleMessage in a worker; the others in the thread whose call causes them, or in that
 * in which the last handler or callback returns.
 */
struct Aglet {
	bool (*handleMessage)(Aglet *self, AgletMessage *message);
	int (*onCreation)(Aglet *self, void *arg);
	void (*onActivation)(Aglet *self);
	void (*onDeactivating)(Aglet *self);
	void (*onDisposing)(Aglet *self);
	AgletProxy *Proxy;
};

/**
 * enum AgletState - the life of an aglet (AG-28)
 * @AGLET_UNINITIALIZED: it is in onCreation: messages wait; it becomes %AGLET_RUNNING, or
 *	%AGLET_DEACTIVATED there by AgletProxy_deactivate()
 * @AGLET_RUNNING: it handles messages
 * @AGLET_SUSPENDED: messages wait (AG-29)
 * @AGLET_DEACTIVATED: messages are not handled, except for kinds that activate it (AG-30)
 * @AGLET_DESTROYED: messages are not handled (AG-31)
 */
enum AgletState {
	AGLET_UNINITIALIZED,
	AGLET_RUNNING,
	AGLET_SUSPENDED,
	AGLET_DEACTIVATED,
	AGLET_DESTROYED,
};

/**
 * struct AgletContextOptions - the configuration of a context
 * @minThreads: workers that are started at once, 10 (AG-32): the executive's TPMinThreads from now
 *	on, so not with TPHomes
 * @maxThreads: maximum number of workers, 100: the executive's TPMaxThreads from now on; 0: both
 *	stay as they are
 * @reentry: enum dxk_reentry, %DXK_REENTRY_CHAIN: may a message be handled within the handler
 *	that waits for it, directly or through what others do for it? (AG-18, AG-20) If not, a
 *	caller that would wait forever gets -EDEADLK
 * @maxHops: how often a message may be delegated, 100: then -ELOOP
 * @Reserved: 0
 */
typedef struct AgletContextOptions {
	unsigned int minThreads;
	unsigned int maxThreads;
	unsigned int reentry;
	unsigned int maxHops;
	void *Reserved[2];
} AgletContextOptions;

/**
 * AgletContextOptionsInit - the defaults
 * @options: out
 */
void AgletContextOptionsInit(AgletContextOptions *options);

/**
 * AgletContext_create - a context without aglets
 * @executive: whose workers handle messages, or %NULL: see dx.h. Its TPMaxWaiting bounds the
 *	messages that wait, and is not 0; its TPMaxRequests those that have not ended; its
 *	TPReadyEntries are as many as aglets that have messages at a time: a message that finds
 *	no entry may come after messages that are sent within the next millisecond; its
 *	TPRejoinFull is %DXK_REJOIN_GROW
 * @options: copied; %NULL for the defaults
 *
 * Return: the context, or %NULL with errno: EOPNOTSUPP: the policy's TPMaxWaiting is 0, or its
 * TPRejoinFull another one; EINVAL, ENOMEM, ENXIO; the errors of MTExecutiveSetPolicy().
 */
AgletContext *AgletContext_create(MTExecutive *executive, const AgletContextOptions *options);

/**
 * AgletContext_dispose - dispose of all aglets, wait until they have ended, free the context
 * @context: in which no thread is; or %NULL. Its executive still exists. Proxies, futures and
 *	sets of it may be released later, while the executive exists
 *
 * Return: 0; -EDEADLK: in a worker, or in a callback of an aglet, and nothing has happened.
 */
int AgletContext_dispose(AgletContext *context);

/**
 * AgletContext_createAglet - an aglet begins
 * @context: where
 * @aglet: stays in place until its onDisposing; its @Proxy is set
 * @arg: for its onCreation
 * @proxy: out, may be %NULL; to be released by AgletProxy_release()
 *
 * Return: 0; -EINVAL, -ENOMEM, -ESHUTDOWN: the context is being disposed of; the return value of
 * onCreation.
 */
int AgletContext_createAglet(AgletContext *context, Aglet *aglet, void *arg,
			     AgletProxy **proxy);

/**
 * AgletContext_multicastMessage - send to all aglets that have subscribed to the kind (AG-15)
 * @context: whose aglets
 * @message: the message
 * @set: gets their futures; %NULL: nobody wants replies
 *
 * Return: to how many it was sent, or a negative errno if it was sent to none; -EINVAL: the set is
 * of another context.
 */
int AgletContext_multicastMessage(AgletContext *context, const AgletMessage *message,
				  ReplySet *set);

/**
 * AgletProxy_hold - keep the proxy until another AgletProxy_release()
 * @proxy: it
 *
 * A proxy may outlive its aglet.
 *
 * Return: @proxy.
 */
AgletProxy *AgletProxy_hold(AgletProxy *proxy);

/**
 * AgletProxy_release - the end of a hold
 * @proxy: it, or %NULL
 */
void AgletProxy_release(AgletProxy *proxy);

/**
 * AgletProxy_state - in which state is the aglet?
 * @proxy: its
 *
 * Return: enum AgletState.
 */
int AgletProxy_state(AgletProxy *proxy);

/**
 * AgletProxy_suspend - handle no further message (AG-29)
 * @proxy: of an aglet that is running; a handler that executes continues
 *
 * Messages wait, at most as many as TPMaxWaiting allows: then sends get -ENOSPC. A message of
 * a %NOT_QUEUED kind also waits.
 *
 * Return: 0; -EINVAL: it is in another state; -ENOSPC, -EDQUOT, -ESHUTDOWN, -ENOMEM.
 */
int AgletProxy_suspend(AgletProxy *proxy);

/**
 * AgletProxy_resume - end a suspension; waiting messages are handled, the most urgent one first
 * @proxy: of an aglet that is suspended
 *
 * Return: 0; -EINVAL: it is in another state; -EBUSY: in its onActivation.
 */
int AgletProxy_resume(AgletProxy *proxy);

/**
 * AgletProxy_deactivate - handle no message until it is activated (AG-30)
 * @proxy: of an aglet that is suspended, or in its onCreation. Messages that wait, or are sent
 *	later, are not handled, unless MessageManager_setActivation() enables it for their kind;
 *	handlers that wait in MessageManager_waitMessage() get -ECANCELED
 *
 * Return: 0; -EINVAL: it is in another state; -EBUSY: in its onActivation; -ESHUTDOWN, -ENOMEM.
 */
int AgletProxy_deactivate(AgletProxy *proxy);

/**
 * AgletProxy_activate - end a deactivation
 * @proxy: of an aglet that is deactivated
 *
 * A message of a kind that MessageManager_setActivation() names activates the aglet as soon as
 * possible.
 *
 * Return: 0; -EINVAL: it is in another state; -EBUSY: in its onDeactivating, or still in its
 * onCreation; -ENOSPC, -EDQUOT, -ESHUTDOWN, -ENOMEM.
 */
int AgletProxy_activate(AgletProxy *proxy);

/**
 * AgletProxy_dispose - the end of an aglet (AG-31)
 * @proxy: of an aglet that is suspended. All senders whose messages wait, also for a deferred
 *	reply, are released: not handled. A handler that executes, including the caller's own,
 *	continues, and its reply counts
 *
 * It waits for nobody: onDisposing is called when the aglet is no longer used, possibly within
 * this call.
 *
 * Return: 0; -EINVAL: it is in another state.
 */
int AgletProxy_dispose(AgletProxy *proxy);

/* --- messages ---------------------------------------------------------------- */

/** NOT_QUEUED - a priority: at once, beside the queue and what is being handled (AG-5) */
#define NOT_QUEUED	(-1)

/** AGLET_NORM_PRIORITY - the priority of a message without another priority */
#define AGLET_NORM_PRIORITY	5

/** AGLET_MAX_PRIORITY - the priority of the most urgent messages; the least urgent have 1 */
#define AGLET_MAX_PRIORITY	10

/**
 * AgletMessage_create - a message to send, any number of times
 * @kind: copied; "" if %NULL
 * @arg: copied
 * @len: bytes at @arg
 *
 * Return: for AgletMessage_release(), or %NULL: no memory.
 */
AgletMessage *AgletMessage_create(const char *kind, const void *arg, size_t len);

/**
 * AgletMessage_hold - keep the message until another AgletMessage_release()
 * @message: it. A message that a handler gets exists until the handler returns
 *
 * Return: @message.
 */
AgletMessage *AgletMessage_hold(AgletMessage *message);

/**
 * AgletMessage_release - the end of a hold
 * @message: it, or %NULL
 */
void AgletMessage_release(AgletMessage *message);

/**
 * AgletMessage_setPriority - its priority, for aglets that have none for its kind (AG-3)
 * @message: that was created and not sent yet
 * @priority: 1..10; another one is %AGLET_NORM_PRIORITY (AG-6)
 */
void AgletMessage_setPriority(AgletMessage *message, int priority);

/**
 * AgletMessage_kind - its kind
 * @message: it
 *
 * Return: that.
 */
const char *AgletMessage_kind(const AgletMessage *message);

/**
 * AgletMessage_sameKind - is it of that kind?
 * @message: it
 * @kind: the kind
 *
 * Return: that.
 */
bool AgletMessage_sameKind(const AgletMessage *message, const char *kind);

/**
 * AgletMessage_arg - its argument
 * @message: it
 * @len: out, how many bytes; may be %NULL
 *
 * Return: the bytes, as aligned as those of malloc(3), and a zero behind them.
 */
const void *AgletMessage_arg(const AgletMessage *message, size_t *len);

/**
 * AgletMessage_sendReply - reply to a message
 * @message: that a handler got; held, if the handler has returned
 * @data: copied
 * @len: bytes at @data
 *
 * The sender gets it when the handler has returned, or at once if the reply was deferred.
 *
 * Context: any thread.
 * Return: 0, also if the sender wants none; -EALREADY: it has its reply, or has ended without
 * one (AG-12); -EINVAL: nobody has sent it; -ENOMEM.
 */
int AgletMessage_sendReply(AgletMessage *message, const void *data, size_t len);

/**
 * AgletMessage_sendException - reply to a message with an error
 * @message: see AgletMessage_sendReply()
 * @code: a negative errno
 * @text: copied; may be %NULL
 *
 * Context: any thread.
 * Return: see AgletMessage_sendReply().
 */
int AgletMessage_sendException(AgletMessage *message, int code, const char *text);

/**
 * AgletMessage_enableDeferedReply - the return of the handler is not a reply (AG-14)
 * @message: that the caller handles. A thread that has AgletMessage_hold() of it sends the reply
 *
 * The aglet handles further messages meanwhile. A oneway message has no reply to defer.
 *
 * Return: 0; -EPERM: the caller does not handle it.
 */
int AgletMessage_enableDeferedReply(AgletMessage *message);

/**
 * getCurrentMessage - the message that the calling worker handles (AG-35)
 *
 * Return: it; of nested ones the inner one; %NULL in a thread that handles none.
 */
AgletMessage *getCurrentMessage(void);

/* --- sending ----------------------------------------------------------------- */

/**
 * enum AgletAnswer - the outcome of a message
 * @AGLET_REPLIED: there is a reply
 * @AGLET_NOT_HANDLED: handleMessage returned false, or the aglet did not get it: it is
 *	deactivated or destroyed, or the executive stops
 * @AGLET_EXCEPTION: its handler sent an exception, or died (-EOWNERDEAD)
 */
enum AgletAnswer {
	AGLET_REPLIED,
	AGLET_NOT_HANDLED,
	AGLET_EXCEPTION,
};

/**
 * struct AgletReply - a reply, to be freed by free(3), with its data
 * @Code: of an exception; else 0
 * @Len: bytes at @Data
 * @Data: the reply, or the exception's text, as aligned as a pointer; a zero follows that does not
 *	count
 */
typedef struct AgletReply {
	int Code;
	size_t Len;
	const char *Data;
} AgletReply;

/**
 * AgletProxy_sendMessage - send a message and wait for its reply (AG-11)
 * @proxy: of the receiver
 * @message: the message
 * @reply: out, %NULL if the answer is %AGLET_NOT_HANDLED; may be %NULL
 *
 * In a handler this call may execute another handler: that of the message it waits for, if that is
 * sent to an aglet whose handler waits (AG-18..AG-20). With %DXK_ON_BLOCK_HELP of the policy it may
 * execute any other handler.
 *
 * Return: enum AgletAnswer; or a negative errno: -EDEADLK: the reply cannot come before the caller
 * has returned, for instance because its aglet is suspended, and the message was taken back, or, in
 * a callback of that aglet, was not sent;
 * -EINTR: a signal, the message proceeds; -ENOSPC, -EAGAIN: the maximum number already wait, or
 * live; -ESHUTDOWN, -ENOMEM. A worker may have TPHelpDepth messages within handlers: a further one
 * gets -EDEADLK.
 */
int AgletProxy_sendMessage(AgletProxy *proxy, const AgletMessage *message, AgletReply **reply);

/**
 * AgletProxy_sendFutureMessage - send a message whose reply is collected later (AG-12)
 * @proxy: to whom
 * @message: what
 * @future: out, for FutureReply_release(). %NULL: AgletProxy_sendOnewayMessage()
 *
 * A future does not identify its message: a program with several futures, for instance in a set,
 * must record this itself.
 *
 * Return: 0; -ENOSPC, -EAGAIN, -ESHUTDOWN, -ENOMEM.
 */
int AgletProxy_sendFutureMessage(AgletProxy *proxy, const AgletMessage *message,
				 FutureReply **future);

/**
 * AgletProxy_sendOnewayMessage - send a message to which there is no reply (AG-13)
 * @proxy: to whom
 * @message: what
 *
 * Return: see AgletProxy_sendFutureMessage().
 */
int AgletProxy_sendOnewayMessage(AgletProxy *proxy, const AgletMessage *message);

/**
 * AgletProxy_delegateMessage - have another aglet handle a message, and reply to it (AG-16)
 * @proxy: which
 * @message: that the caller handles, or whose reply is deferred
 *
 * It takes effect when the handler returns, whatever it returns. The last call counts.
 *
 * Return: 0; -EALREADY: it has its reply; -ECANCELED: that aglet is deactivated or destroyed;
 * -ELOOP: it was delegated the maximum number of times; -EPERM: the caller does not handle it;
 * -EINVAL: it belongs to another context.
 */
int AgletProxy_delegateMessage(AgletProxy *proxy, AgletMessage *message);

/**
 * FutureReply_isAvailable - has the message been answered?
 * @future: its
 *
 * Context: for this and the other functions of a future, one thread at a time.
 * Return: that.
 */
bool FutureReply_isAvailable(FutureReply *future);

/**
 * FutureReply_waitForReply - wait until the message has been answered
 * @future: its
 * @timeout_ms: how long; 0: without limit (AG-17)
 *
 * Return: 0; -ETIMEDOUT; -EINTR, -EDEADLK, -ENOMEM.
 */
int FutureReply_waitForReply(FutureReply *future, unsigned int timeout_ms);

/**
 * FutureReply_getReply - wait without limit, and take the reply
 * @future: its
 * @reply: out, see AgletProxy_sendMessage(); the next call has none
 *
 * Return: enum AgletAnswer; -EINTR, -EDEADLK, -ENOMEM.
 */
int FutureReply_getReply(FutureReply *future, AgletReply **reply);

/**
 * FutureReply_release - the end of a future; its message, if it is not answered, proceeds
 * @future: it, or %NULL
 */
void FutureReply_release(FutureReply *future);

/**
 * ReplySet_create - an empty set
 * @context: whose aglets will reply
 *
 * Return: for ReplySet_release(), or %NULL: no memory.
 */
ReplySet *ReplySet_create(AgletContext *context);

/**
 * ReplySet_release - the end of a set and of the futures in it
 * @set: it, or %NULL
 */
void ReplySet_release(ReplySet *set);

/**
 * ReplySet_sendFutureMessage - send a message, and have its future in the set
 * @set: which
 * @proxy: to whom
 * @message: what
 * @future: out, belongs to the set until ReplySet_getNextFutureReply() returns it; may be %NULL.
 *	The rules for the set's functions apply to its functions
 *
 * Context: for this and the other functions of a set, one thread at a time.
 * Return: see AgletProxy_sendFutureMessage(); -EINVAL: the aglet is of another context.
 */
int ReplySet_sendFutureMessage(ReplySet *set, AgletProxy *proxy, const AgletMessage *message,
			       FutureReply **future);

/**
 * ReplySet_addFutureReply - add a future to the set
 * @set: which
 * @future: it belongs to the set from now on
 *
 * If it is not available yet, a free worker notifies the set when it is:
 * ReplySet_sendFutureMessage() needs no such worker.
 *
 * Return: 0; -EINVAL: it is in a set, or of another context; -ENOSPC, -EAGAIN, -ESHUTDOWN.
 */
int ReplySet_addFutureReply(ReplySet *set, FutureReply *future);

/**
 * ReplySet_countAvailable - of how many futures in the set are replies available?
 * @set: it
 *
 * Return: how many.
 */
unsigned int ReplySet_countAvailable(ReplySet *set);

/**
 * ReplySet_areAllAvailable - are the replies of all futures in the set available?
 * @set: it
 *
 * Return: that.
 */
bool ReplySet_areAllAvailable(ReplySet *set);

/**
 * ReplySet_waitForNext - wait until a reply is available
 * @set: it
 * @timeout_ms: how long; 0: without limit
 *
 * Return: 0; -ENOENT: there is no future in the set; -ETIMEDOUT, -EINTR, -EDEADLK, -ENOMEM.
 */
int ReplySet_waitForNext(ReplySet *set, unsigned int timeout_ms);

/**
 * ReplySet_waitForAll - wait until all replies are available
 * @set: it
 * @timeout_ms: how long; 0: without limit
 *
 * Return: 0; -ETIMEDOUT, -EINTR, -EDEADLK, -ENOMEM.
 */
int ReplySet_waitForAll(ReplySet *set, unsigned int timeout_ms);

/**
 * ReplySet_getNextFutureReply - take a future out of the set, in the order of arrival
 * @set: it
 *
 * Waits without limit if none is available.
 *
 * Return: the future, for FutureReply_release(); %NULL: there is none, or errno has the error.
 */
FutureReply *ReplySet_getNextFutureReply(ReplySet *set);

/* --- the message manager ------------------------------------------------------ */

/**
 * MessageManager_setPriority - the priority of a kind (AG-3, AG-4)
 * @aglet: whose
 * @kind: the kind
 * @priority: 1..10, or %NOT_QUEUED
 *
 * Return: 0; -EINVAL: another one (AG-6); -ENOMEM.
 */
int MessageManager_setPriority(Aglet *aglet, const char *kind, int priority);

/**
 * MessageManager_removePriority - messages of a kind have their own priority again
 * @aglet: whose
 * @kind: the kind
 */
void MessageManager_removePriority(Aglet *aglet, const char *kind);

/**
 * MessageManager_setActivation - does a message of a kind activate the aglet? (AG-30)
 * @aglet: whose
 * @kind: the kind
 * @activates: that
 *
 * Return: 0 or -ENOMEM.
 */
int MessageManager_setActivation(Aglet *aglet, const char *kind, bool activates);

/**
 * MessageManager_subscribeMessage - does the aglet get multicast messages of a kind?
 * @aglet: which
 * @kind: the kind
 * @subscribes: that
 *
 * Return: 0 or -ENOMEM.
 */
int MessageManager_subscribeMessage(Aglet *aglet, const char *kind, bool subscribes);

/**
 * MessageManager_waitMessage - let others be handled until one of them notifies (AG-22, AG-23)
 * @timeout_ms: how long; 0: without limit. Then the caller is the next that continues
 *
 * Context: for this and the following functions, a worker whose handler is in the monitor: of a
 * message that is queued, not nested, that has not called MessageManager_exitMonitor().
 * Return: 0; -ETIMEDOUT; -EINTR: a signal; in all of these it is in the monitor again.
 * -ECANCELED: the aglet is deactivated or disposed of, or the executive stops, and it is
 * outside; -EPERM: it was not in the monitor, -EBUSY: it is nested (AG-21).
 */
int MessageManager_waitMessage(unsigned int timeout_ms);

/**
 * MessageManager_notifyMessage - let the longest waiter continue now, the caller after it (AG-24)
 *
 * Return: 0, also if nobody waits; -ECANCELED, -EPERM, -EBUSY: see
 * MessageManager_waitMessage().
 */
int MessageManager_notifyMessage(void);

/**
 * MessageManager_notifyAllMessages - let all waiters continue, in order, then the caller (AG-25)
 *
 * Return: see MessageManager_notifyMessage().
 */
int MessageManager_notifyAllMessages(void);

/**
 * MessageManager_exitMonitor - let others be handled from now on, beside the caller (AG-26)
 *
 * Return: 0; -EPERM, -EBUSY: see MessageManager_waitMessage().
 */
int MessageManager_exitMonitor(void);

#ifdef __cplusplus
}
#endif

#endif /* _DX_AGLET_H */
