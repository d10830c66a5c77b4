/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdxk, a reactor: channels whose input is handled by workers when it is there. Names are
 * those of the NIO reactor.
 *
 * ================  =====================================================  ===================
 * its name          name here                                              behaviours
 * ================  =====================================================  ===================
 * Dispatcher        Dispatcher_create, _registerChannel,                   NI-1, NI-2, NI-8,
 *                   _unregisterChannel, _dispatch, _shutdown, _destroy     NI-10, NI-19, NI-20
 * InputHandler      struct InputHandler: nextMessage, handleInput,         NI-9, NI-13, NI-24
 *                   starting, started, stopping, stopped
 * ChannelFacade     ChannelFacade_inputQueue, _outputQueue, _setHandler,   NI-3..NI-7, NI-16,
 *                   _getInterestOps, _modifyInterestOps                    NI-21
 * StandardAcceptor  StandardAcceptor_create, struct InputHandlerFactory    NI-1, NI-23
 * InputQueue        InputQueue_fillFrom, _isEmpty, _indexOf,               NI-12, NI-18
 *                   _dequeueBytes, _discardBytes
 * OutputQueue       OutputQueue_isEmpty, _drainTo, _enqueue                NI-14, NI-15, NI-17
 * BufferFactory     struct BufferFactory: newBuffer, returnBuffer          NI-18
 * (none)            struct ChannelIO: read, write, pending, want, end      NI-13, NI-14
 * ================  =====================================================  ===================
 *
 * There is no select loop and no thread of the reactor: a channel is a request of an executive
 * (see dx.h) that waits for its file. A worker executes its turn: it writes what is queued, reads
 * what is there, calls the handler for each whole message, and the request waits again. So a
 * channel has one turn at a time and none while it waits, whatever its peer does (NI-25).
 */
#ifndef _DX_REACTOR_H
#define _DX_REACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <dx.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Buffer Buffer;
typedef struct BufferFactory BufferFactory;
typedef struct ChannelFacade ChannelFacade;
typedef struct ChannelIO ChannelIO;
typedef struct Dispatcher Dispatcher;
typedef struct InputHandler InputHandler;
typedef struct InputHandlerFactory InputHandlerFactory;
typedef struct InputQueue InputQueue;
typedef struct Message Message;
typedef struct OutputQueue OutputQueue;

/* --- other bytes than the file's -------------------------------------------------- */

/**
 * struct ChannelIO - how bytes come from a channel's file and go to it, if not as they are:
 *	decrypted and encrypted, say
 * @read: as read(2), but for the error: a negative errno. 0 is the end of the input. -EAGAIN: it
 *	has nothing before the file is ready for what @want says of %POLLIN
 * @write: as write(2), with the same answers. After -EAGAIN it gets the same bytes again, and
 *	perhaps further ones behind them, at another address
 * @pending: after a @read that returned fewer bytes than asked for: would a further one return
 *	some? No event will tell of what was taken out of the file. %NULL: read until -EAGAIN
 * @want: of %POLLIN, to go on with @read, and %POLLOUT, with @write, what the file has to be ready
 *	for. %NULL: for just these
 * @end: the output is written and the channel ends in order: say so to the peer. 0, -EAGAIN: call
 *	again when the file is ready for what @want says of %POLLOUT; or an error. May be %NULL
 *
 * Context: the channel's turns, one at a time. @write and @end use no output queue.
 */
struct ChannelIO {
	ssize_t (*read)(ChannelIO *self, int fd, void *data, size_t len);
	ssize_t (*write)(ChannelIO *self, int fd, const void *data, size_t len);
	bool (*pending)(ChannelIO *self);
	short (*want)(ChannelIO *self, short events);
	int (*end)(ChannelIO *self, int fd);
};

/* --- buffers and queues ------------------------------------------------------ */

/**
 * struct Buffer - a piece of a queue
 * @Next: of the same queue
 * @Begin: first byte that is in use
 * @End: behind the last one
 * @Size: room at @Data, at least 1
 * @Data: the bytes
 */
struct Buffer {
	Buffer *Next;
	size_t Begin, End, Size;
	char Data[];
};

/**
 * struct BufferFactory - where queues get their buffers (NI-18)
 * @newBuffer: an empty buffer, or %NULL: -ENOMEM
 * @returnBuffer: takes one back
 *
 * Called by several threads at a time. A queue without bytes has no buffer.
 */
struct BufferFactory {
	Buffer *(*newBuffer)(BufferFactory *self);
	void (*returnBuffer)(BufferFactory *self, Buffer *buffer);
};

/**
 * BufferFactory_default - buffers of 4 KiB from malloc(3)
 *
 * Return: the factory, the same one at each call.
 */
BufferFactory *BufferFactory_default(void);

/**
 * BufferFactory_inUse - how many buffers of the default factory queues have now
 *
 * Return: that.
 */
unsigned long BufferFactory_inUse(void);

/**
 * struct Message - contiguous bytes
 * @Len: how many
 * @Data: the bytes; a zero that does not count follows them
 */
struct Message {
	size_t Len;
	char Data[];
};

/**
 * Message_free - free what InputQueue_dequeueBytes() returned
 * @message: it, or %NULL
 */
void Message_free(Message *message);

/**
 * InputQueue_create - an empty queue
 * @factory: of its buffers; %NULL for the default
 *
 * Return: the queue or %NULL: no memory.
 */
InputQueue *InputQueue_create(BufferFactory *factory);

/**
 * InputQueue_destroy - free a queue with what is in it
 * @queue: it, or %NULL
 */
void InputQueue_destroy(InputQueue *queue);

/**
 * InputQueue_fillFrom - read once from a file
 * @queue: what gets the bytes, at most what is free in its last buffer or in a new one
 * @fd: the file
 *
 * Return: how many bytes; 0 at the file's end, or a negative errno: -EAGAIN, -ENOMEM ...
 */
ssize_t InputQueue_fillFrom(InputQueue *queue, int fd);

/**
 * InputQueue_fillFromIO - InputQueue_fillFrom() by a ChannelIO
 * @queue: what gets the bytes
 * @io: how they come
 * @fd: the file
 *
 * Return: see InputQueue_fillFrom().
 */
ssize_t InputQueue_fillFromIO(InputQueue *queue, ChannelIO *io, int fd);

/**
 * InputQueue_put - as InputQueue_fillFrom(), from memory, all bytes or none
 * @queue: what gets the bytes
 * @data: they
 * @len: how many
 *
 * Return: 0 or -ENOMEM.
 */
int InputQueue_put(InputQueue *queue, const void *data, size_t len);

/**
 * InputQueue_isEmpty - has it no bytes?
 * @queue: it
 *
 * Return: that.
 */
bool InputQueue_isEmpty(const InputQueue *queue);

/**
 * InputQueue_length - how many bytes has it?
 * @queue: it
 *
 * Return: that.
 */
size_t InputQueue_length(const InputQueue *queue);

/**
 * InputQueue_indexOf - position of the first byte of a value
 * @queue: where
 * @byte: the value
 *
 * Return: 0 for the queue's first byte, or -1: there is none.
 */
ssize_t InputQueue_indexOf(const InputQueue *queue, char byte);

/**
 * InputQueue_indexOfBytes - position of the first place where some bytes follow each other
 * @queue: where
 * @data: they
 * @len: how many
 *
 * Return: 0 for the queue's first byte, or -1: there is none.
 */
ssize_t InputQueue_indexOfBytes(const InputQueue *queue, const void *data, size_t len);

/**
 * InputQueue_dequeueBytes - take bytes out of the queue
 * @queue: it
 * @count: how many; more than there are: all
 *
 * Return: for Message_free(), or %NULL: no memory, the queue is unchanged.
 */
Message *InputQueue_dequeueBytes(InputQueue *queue, size_t count);

/**
 * InputQueue_discardBytes - drop bytes from the queue's begin
 * @queue: it
 * @count: how many; more than there are: all
 */
void InputQueue_discardBytes(InputQueue *queue, size_t count);

/**
 * OutputQueue_create - an empty queue
 * @factory: of its buffers; %NULL for the default
 * @limit: bytes in memory from which OutputQueue_enqueue() takes no more; 0: no limit
 *
 * Return: the queue or %NULL: no memory.
 */
OutputQueue *OutputQueue_create(BufferFactory *factory, size_t limit);

/**
 * OutputQueue_destroy - free a queue with what is in it, and close its files
 * @queue: it, or %NULL
 */
void OutputQueue_destroy(OutputQueue *queue);

/**
 * OutputQueue_isEmpty - is nothing to be written?
 * @queue: it
 *
 * Return: that.
 */
bool OutputQueue_isEmpty(OutputQueue *queue);

/**
 * OutputQueue_length - bytes in memory that were not written yet; those of files do not count
 * @queue: whose
 *
 * Return: how many.
 */
size_t OutputQueue_length(OutputQueue *queue);

/**
 * OutputQueue_drainTo - write until the queue is empty or the file takes no more
 * @queue: it
 * @fd: a file that does not block; a socket's end raises no SIGPIPE
 *
 * Context: one thread at a time; others may enqueue.
 * Return: 0 when the queue is empty, -EAGAIN, or another negative errno.
 */
int OutputQueue_drainTo(OutputQueue *queue, int fd);

/**
 * OutputQueue_drainToIO - OutputQueue_drainTo() by a ChannelIO
 * @queue: it
 * @io: how bytes go; those of files are read for that
 * @fd: the file
 *
 * Return: see OutputQueue_drainTo().
 */
int OutputQueue_drainToIO(OutputQueue *queue, ChannelIO *io, int fd);

/**
 * OutputQueue_enqueue - append bytes, which stay contiguous (NI-15)
 * @queue: to which
 * @data: copied
 * @len: how many
 *
 * Below the limit all are taken, also those beyond it.
 *
 * Context: any thread.
 * Return: whether they were taken: not at the limit, without memory.
 */
bool OutputQueue_enqueue(OutputQueue *queue, const void *data, size_t len);

/**
 * OutputQueue_enqueueFile - append bytes and then a part of a regular file, contiguous
 * @queue: to which
 * @data: as in OutputQueue_enqueue()
 * @len: how many bytes, also 0
 * @fd: belongs to the queue when it was taken, which closes it
 * @offset: where in the file
 * @count: how many bytes. Should the file become shorter, OutputQueue_drainTo() returns -EIO
 *
 * Return: see OutputQueue_enqueue(); it has no more than 32 files at a time.
 */
bool OutputQueue_enqueueFile(OutputQueue *queue, const void *data, size_t len, int fd,
			     off_t offset, size_t count);

/* --- handlers ---------------------------------------------------------------- */

/**
 * MESSAGE_EMPTY - what nextMessage returns when it has dropped bytes and is to be called again
 */
#define MESSAGE_EMPTY	((Message *)-1)

/**
 * struct InputHandler - what handles the input of a channel
 * @nextMessage: takes the next whole message out of the channel's input queue; %NULL: it needs
 *	more bytes first; %MESSAGE_EMPTY: it took out what is no message (NI-12, NI-13). It is
 *	called while there are bytes
 * @handleInput: handles a message, which is freed when it returns. Return: 0, or a negative
 *	errno: the channel ends at once (NI-9)
 * @starting: the channel has its first turn
 * @started: it follows at once; what is queued there is the first that is written
 * @stopping: there will be no more input, for whatever reason. After the end of the input what is
 *	queued here is still written (NI-16)
 * @stopped: the channel has ended and its file is closed. It is the last call and may free the
 *	handler
 *
 * %NULL is allowed but for @nextMessage and @handleInput. No two of them are called at a time
 * for one channel, in the order starting, started, messages, stopping, stopped, each but messages
 * once (NI-24). A channel that ends before its first turn has @stopped alone.
 *
 * Context: a worker; @stopping and @stopped the thread in Dispatcher_dispatch() when the channel
 * was ended while it had no turn, or its worker died amid one.
 */
struct InputHandler {
	Message *(*nextMessage)(InputHandler *self, ChannelFacade *facade);
	int (*handleInput)(InputHandler *self, Message *message, ChannelFacade *facade);
	void (*starting)(InputHandler *self, ChannelFacade *facade);
	void (*started)(InputHandler *self, ChannelFacade *facade);
	void (*stopping)(InputHandler *self, ChannelFacade *facade);
	void (*stopped)(InputHandler *self, ChannelFacade *facade);
};

/* --- the dispatcher ---------------------------------------------------------- */

/**
 * enum DispatcherOverload - what an acceptor does at a threshold of DispatcherOptions (NI-23)
 * @OVERLOAD_NOTHING: accepts further connections as before
 * @OVERLOAD_PRIORITIZE: those that it accepts from then on have @LowPriority
 * @OVERLOAD_QUEUE: accepts none until it is below; they wait in the socket
 * @OVERLOAD_REJECT: accepts and closes them, with @RejectText
 * @OVERLOAD_REDIRECT: accepts them and gives them to @redirect
 */
enum DispatcherOverload {
	OVERLOAD_NOTHING,
	OVERLOAD_PRIORITIZE,
	OVERLOAD_QUEUE,
	OVERLOAD_REJECT,
	OVERLOAD_REDIRECT,
};

/**
 * struct DispatcherOptions - the configuration of a dispatcher; 0 is the default of each field
 * @Priority: of the requests of channels
 * @LowPriority: with %OVERLOAD_PRIORITIZE
 * @MaxReads: buffers that a turn fills, 16: then the channel queues behind its equals
 * @InputLimit: bytes in an input queue from which the channel is not read, 64 KiB; below half of
 *	it, it is again (NI-17)
 * @OutputLimit: bytes in an output queue from which OutputQueue_enqueue() returns false, 4 MiB
 * @IdleNs: how long a channel may neither read nor write a byte: then it ends; 0: for ever
 * @LingerNs: how long a socket whose output is written stays open, and is read, for a peer that
 *	has not ended; 0: it is closed at once, and one that still sends may have a reset before it
 *	has read all
 * @Factory: of the buffers
 * @MaxChannels: threshold of @Overload: channels, but for acceptors; 0: none
 * @MaxQueued: threshold of @Overload: bytes in all output queues; 0: none
 * @Overload: enum DispatcherOverload
 * @RejectText: with %OVERLOAD_REJECT what is sent, @RejectLen bytes; it stays in place
 * @RejectLen: as far as the socket takes them at once
 * @redirect: with %OVERLOAD_REDIRECT; the descriptor is its own. Context: a worker
 * @RedirectArg: its first argument
 * @Reserved: 0
 */
typedef struct DispatcherOptions {
	int Priority;
	int LowPriority;
	unsigned int MaxReads;
	unsigned int Overload;
	size_t InputLimit;
	size_t OutputLimit;
	int64_t IdleNs;
	int64_t LingerNs;
	BufferFactory *Factory;
	unsigned int MaxChannels;
	unsigned int RejectLen;
	size_t MaxQueued;
	const void *RejectText;
	void (*redirect)(void *arg, int fd);
	void *RedirectArg;
	void *Reserved[2];
} DispatcherOptions;

/**
 * struct DispatcherStatus - what a dispatcher has done
 * @Channels: that live, acceptors too
 * @Turns: that workers have executed
 * @BytesIn: read
 * @BytesOut: written from memory
 * @Queued: bytes in output queues
 * @Accepted: connections that became channels
 * @Refused: that did not: overload, no handler, no memory
 * @Died: channels that ended with an error
 * @Pauses: times that an acceptor waited 100 ms, because descriptors, memory, or requests were
 *	used up
 */
typedef struct DispatcherStatus {
	uint64_t Channels;
	uint64_t Turns;
	uint64_t BytesIn;
	uint64_t BytesOut;
	uint64_t Queued;
	uint64_t Accepted;
	uint64_t Refused;
	uint64_t Died;
	uint64_t Pauses;
} DispatcherStatus;

/**
 * Dispatcher_create - a dispatcher without channels
 * @executive: whose workers execute its channels' turns, or %NULL: see dx.h. Its TPMaxWaiting is
 *	not 0, and its TPMaxRequests bounds the channels
 * @options: copied; %NULL for the defaults
 *
 * Return: the dispatcher, or %NULL with errno: EOPNOTSUPP: the policy's TPMaxWaiting is 0; EINVAL,
 * ENOMEM, ENXIO, ESHUTDOWN.
 */
Dispatcher *Dispatcher_create(MTExecutive *executive, const DispatcherOptions *options);

/**
 * Dispatcher_destroy - end all channels and free the dispatcher
 * @dispatcher: in which no thread is; or %NULL. Its executive still exists
 *
 * Waits for the turns that execute. Not for a worker.
 */
void Dispatcher_destroy(Dispatcher *dispatcher);

/**
 * Dispatcher_registerChannel - give a file to the dispatcher, with what handles its input (NI-19)
 * @dispatcher: of the channel
 * @fd: a file that poll(2) knows: a socket, pipe, terminal ... It is made non-blocking, and belongs
 *	to the channel, which closes it, when 0 was returned. Is it open for one direction only, its
 *	output queue takes nothing, or it has no input, and ends when nobody reads its output
 * @handler: its methods are called from now on
 * @facade: out, may be %NULL; to be given back by ChannelFacade_release()
 *
 * Context: any thread.
 * Return: 0; -EEXIST: it is registered (NI-1); -EBADF; -ESHUTDOWN; -ENOSPC, -EDQUOT:
 * TPMaxRequests, or a user's share of it, is reached; -EINVAL, -ENOMEM.
 */
int Dispatcher_registerChannel(Dispatcher *dispatcher, int fd, InputHandler *handler,
			       ChannelFacade **facade);

/**
 * Dispatcher_unregisterChannel - end a channel (NI-20)
 * @facade: whose. A handler of its that executes ends first; then stopping and stopped are called,
 *	and the file is closed. What is queued is not written
 *
 * Context: any thread; no error: one that has ended stays ended.
 */
void Dispatcher_unregisterChannel(ChannelFacade *facade);

/**
 * Dispatcher_dispatch - be there for channels that ended, until Dispatcher_shutdown()
 * @dispatcher: which; one thread of the program at least is to be in here, and sleeps
 *
 * Return: 0: shut down, all channels have ended; -ECANCELED: so has the executive; -EINTR: a
 * signal handler without SA_RESTART; -EDEADLK: the caller is a worker.
 */
int Dispatcher_dispatch(Dispatcher *dispatcher);

/**
 * Dispatcher_shutdown - end all channels, take no more, and end Dispatcher_dispatch()
 * @dispatcher: which
 *
 * Context: any thread, handlers too.
 */
void Dispatcher_shutdown(Dispatcher *dispatcher);

/**
 * Dispatcher_status - what a dispatcher has done so far
 * @dispatcher: which
 * @status: out
 */
void Dispatcher_status(Dispatcher *dispatcher, DispatcherStatus *status);

/* --- channels ---------------------------------------------------------------- */

/* For ChannelFacade_modifyInterestOps() */
#define OP_READ		1
#define OP_WRITE	4
#define OP_ACCEPT	16

/**
 * ChannelFacade_inputQueue - what was read and not yet handled
 * @facade: whose
 *
 * Context: the handler's methods.
 * Return: the queue.
 */
InputQueue *ChannelFacade_inputQueue(ChannelFacade *facade);

/**
 * ChannelFacade_outputQueue - what is to be written (NI-14, NI-15)
 * @facade: whose
 *
 * Who enqueues need not do more: the channel has a turn if it has none. One that has ended takes
 * nothing.
 *
 * Context: any thread.
 * Return: the queue.
 */
OutputQueue *ChannelFacade_outputQueue(ChannelFacade *facade);

/**
 * ChannelFacade_setHandler - another handler, from the next message on (NI-21)
 * @facade: whose; not an acceptor
 * @handler: the new one
 *
 * Context: any thread; the one before may still execute.
 * Return: 0; -EINVAL: it is %NULL, or has no nextMessage or handleInput.
 */
int ChannelFacade_setHandler(ChannelFacade *facade, InputHandler *handler);

/**
 * ChannelFacade_getInterestOps - what the channel waits for, or will after its turn
 * @facade: which
 *
 * Return: %OP_READ: to be read; %OP_WRITE: to be written, as the output queue is not empty;
 * %OP_ACCEPT: it is an acceptor.
 */
int ChannelFacade_getInterestOps(ChannelFacade *facade);

/**
 * ChannelFacade_modifyInterestOps - read or accept, or not (NI-5)
 * @facade: which
 * @set: %OP_READ, %OP_ACCEPT
 * @reset: the same; %OP_WRITE is taken and means nothing, in both: see NI-14
 *
 * A turn that executes reads on with the new ops, one that begins later has them.
 *
 * Context: any thread.
 * Return: 0; -EINVAL: other ops, or %OP_READ of a file that is not open for reading.
 */
int ChannelFacade_modifyInterestOps(ChannelFacade *facade, int set, int reset);

/**
 * ChannelFacade_setIO - from now on bytes come and go by a ChannelIO
 * @facade: whose; not an acceptor
 * @io: how, until stopped is called; %NULL: as they are
 *
 * In starting it is before the first byte. What is in the input queue stays there.
 *
 * Context: methods of the channel's handler.
 * Return: 0; -EINVAL: no read or write.
 */
int ChannelFacade_setIO(ChannelFacade *facade, ChannelIO *io);

/**
 * ChannelFacade_setIdle - how long a channel may neither read nor write a byte
 * @facade: which; not an acceptor
 * @idle_ns: instead of DispatcherOptions.IdleNs; 0: for ever
 *
 * Context: any thread.
 * Return: 0 or -EINVAL.
 */
int ChannelFacade_setIdle(ChannelFacade *facade, int64_t idle_ns);

/**
 * ChannelFacade_close - read no more, and end when the output queue is empty (NI-16)
 * @facade: which
 *
 * Context: any thread.
 */
void ChannelFacade_close(ChannelFacade *facade);

/**
 * ChannelFacade_awaitDrain - handle no more input while a channel's output queue is more than
 *	half full
 * @facade: the caller's
 * @other: whose; also @facade itself
 *
 * So nothing waits in a handler that feeds a slow channel. It is over when @other has ended.
 *
 * Context: methods of @facade's handler.
 * Return: 0; -EALREADY: it awaits one.
 */
int ChannelFacade_awaitDrain(ChannelFacade *facade, ChannelFacade *other);

/**
 * ChannelFacade_hold - keep the facade itself valid beyond stopped
 * @facade: which
 *
 * Its functions do nothing and return false or 0 then.
 *
 * Return: @facade.
 */
ChannelFacade *ChannelFacade_hold(ChannelFacade *facade);

/**
 * ChannelFacade_release - the end of a hold
 * @facade: which, or %NULL
 */
void ChannelFacade_release(ChannelFacade *facade);

/* --- accepting --------------------------------------------------------------- */

/**
 * struct InputHandlerFactory - handlers of accepted connections
 * @newHandler: for a connection, or %NULL: it is closed
 * @deleteHandler: what @newHandler returned, after stopped, or if the connection became no
 *	channel; may be %NULL
 *
 * Context: any thread.
 */
struct InputHandlerFactory {
	InputHandler *(*newHandler)(InputHandlerFactory *self, int fd);
	void (*deleteHandler)(InputHandlerFactory *self, InputHandler *handler);
};

/**
 * StandardAcceptor_create - accept the connections of a socket, as channels of a dispatcher
 * @dispatcher: of the connections and of the acceptor, which is a channel, too
 * @fd: listens; belongs to the acceptor when 0 was returned
 * @factory: of their handlers
 * @facade: out, may be %NULL; see Dispatcher_registerChannel()
 *
 * Without descriptors or memory, or room for a request, it looks again after 100 ms (NI-10).
 *
 * Return: as Dispatcher_registerChannel().
 */
int StandardAcceptor_create(Dispatcher *dispatcher, int fd, InputHandlerFactory *factory,
			    ChannelFacade **facade);

#ifdef __cplusplus
}
#endif

#endif /* _DX_REACTOR_H */
