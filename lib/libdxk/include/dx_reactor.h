/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdxk, a reactor: channels whose input is handled by workers when it arrives. The names are
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
 * (see dx.h) that waits for its file. A worker executes its turn: it writes queued output, reads
 * available input, calls the handler for each whole message, and the request waits again. So a
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
 * struct ChannelIO - how bytes come from a channel's file and go to it, if they are transformed,
 *	for instance decrypted and encrypted
 * @read: as read(2), except for the error: a negative errno. 0 is the end of the input. -EAGAIN:
 *	no bytes until the file is ready for the events that @want returns for %POLLIN
 * @write: as write(2), with the same return values. After -EAGAIN it gets the same bytes again,
 *	and perhaps further bytes behind them, at another address
 * @pending: after a @read that returned fewer bytes than requested: would a further one return
 *	some? No event reports bytes that were taken out of the file. %NULL: read until -EAGAIN
 * @want: the events that the file must be ready for, to continue with @read (%POLLIN) and with
 *	@write (%POLLOUT). %NULL: just these events
 * @end: the output is written and the channel ends in order: notify the peer. 0, -EAGAIN: call
 *	again when the file is ready for the events that @want returns for %POLLOUT; or an error.
 *	May be %NULL
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
 * @returnBuffer: returns a buffer
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
 * BufferFactory_inUse - number of buffers of the default factory that queues have now
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
 * Message_free - free a message that InputQueue_dequeueBytes() returned
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
 * InputQueue_destroy - free a queue with its contents
 * @queue: it, or %NULL
 */
void InputQueue_destroy(InputQueue *queue);

/**
 * InputQueue_fillFrom - read once from a file
 * @queue: gets the bytes, at most as many as are free in its last buffer or in a new one
 * @fd: the file
 *
 * Return: how many bytes; 0 at the file's end, or a negative errno: -EAGAIN, -ENOMEM ...
 */
ssize_t InputQueue_fillFrom(InputQueue *queue, int fd);

/**
 * InputQueue_fillFromIO - InputQueue_fillFrom() by a ChannelIO
 * @queue: gets the bytes
 * @io: how they come
 * @fd: the file
 *
 * Return: see InputQueue_fillFrom().
 */
ssize_t InputQueue_fillFromIO(InputQueue *queue, ChannelIO *io, int fd);

/**
 * InputQueue_put - as InputQueue_fillFrom(), from memory, all bytes or none
 * @queue: gets the bytes
 * @data: the bytes
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
 * @data: the bytes
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
 * InputQueue_discardBytes - discard bytes from the beginning of the queue
 * @queue: it
 * @count: how many; more than there are: all
 */
void InputQueue_discardBytes(InputQueue *queue, size_t count);

/**
 * OutputQueue_create - an empty queue
 * @factory: of its buffers; %NULL for the default
 * @limit: bytes in memory from which on OutputQueue_enqueue() takes no more; 0: no limit
 *
 * Return: the queue or %NULL: no memory.
 */
OutputQueue *OutputQueue_create(BufferFactory *factory, size_t limit);

/**
 * OutputQueue_destroy - free a queue with its contents, and close its files
 * @queue: it, or %NULL
 */
void OutputQueue_destroy(OutputQueue *queue);

/**
 * OutputQueue_isEmpty - is there nothing to write?
 * @queue: it
 *
 * Return: that.
 */
bool OutputQueue_isEmpty(OutputQueue *queue);

/**
 * OutputQueue_length - bytes in memory that are not written yet; bytes of files do not count
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
 * @io: how bytes go; bytes of files are read for that
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
 * Below the limit all bytes are taken, including those beyond it.
 *
 * Context: any thread.
 * Return: whether the bytes were taken: not at the limit, and not without memory.
 */
bool OutputQueue_enqueue(OutputQueue *queue, const void *data, size_t len);

/**
 * OutputQueue_enqueueFile - append bytes and then a part of a regular file, contiguous
 * @queue: to which
 * @data: as in OutputQueue_enqueue()
 * @len: how many bytes, also 0
 * @fd: if it is taken, it belongs to the queue, which closes it
 * @offset: where in the file
 * @count: how many bytes. If the file becomes shorter, OutputQueue_drainTo() returns -EIO
 *
 * Return: see OutputQueue_enqueue(); it has no more than 32 files at a time.
 */
bool OutputQueue_enqueueFile(OutputQueue *queue, const void *data, size_t len, int fd,
			     off_t offset, size_t count);

/* --- handlers ---------------------------------------------------------------- */

/**
 * MESSAGE_EMPTY - returned by nextMessage if it has discarded bytes and is to be called again
 */
#define MESSAGE_EMPTY	((Message *)-1)

/**
 * struct InputHandler - the handler of the input of a channel
 * @nextMessage: takes the next whole message out of the channel's input queue; %NULL: it needs
 *	more bytes first; %MESSAGE_EMPTY: it took out bytes that are not a message (NI-12, NI-13).
 *	It is called while there are bytes
 * @handleInput: handles a message, which is freed when it returns. Return: 0, or a negative
 *	errno: the channel ends at once (NI-9)
 * @starting: the channel has its first turn
 * @started: it follows at once; output that is queued there is written first
 * @stopping: there will be no more input, for whatever reason. After the end of the input, output
 *	that is queued here is still written (NI-16)
 * @stopped: the channel has ended and its file is closed. It is the last call and may free the
 *	handler
 *
 * %NULL is allowed except for @nextMessage and @handleInput. No two of them are called at a time
 * for one channel. The order is starting, started, messages, stopping, stopped, each except
 * messages once (NI-24). For a channel that ends before its first turn only @stopped is called.
 *
 * Context: a worker; @stopping and @stopped in the thread in Dispatcher_dispatch() if the channel
 * was ended while it had no turn, or its worker died during one.
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
 * @OVERLOAD_PRIORITIZE: connections that it accepts from then on have @LowPriority
 * @OVERLOAD_QUEUE: accepts none until it is below the threshold; they wait in the socket
 * @OVERLOAD_REJECT: accepts and closes them, with @RejectText
 * @OVERLOAD_REDIRECT: accepts them and passes them to @redirect
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
 * @InputLimit: bytes in an input queue from which on the channel is not read, 64 KiB; below half
 *	of it, the channel is read again (NI-17)
 * @OutputLimit: bytes in an output queue from which on OutputQueue_enqueue() returns false, 4 MiB
 * @IdleNs: how long a channel may neither read nor write a byte: then it ends; 0: no limit
 * @LingerNs: how long a socket whose output is written stays open, and is read, for a peer that
 *	has not ended; 0: it is closed at once, and a peer that still sends may get a reset before
 *	it has read all
 * @Factory: of the buffers
 * @MaxChannels: threshold of @Overload: channels, except acceptors; 0: none
 * @MaxQueued: threshold of @Overload: bytes in all output queues; 0: none
 * @Overload: enum DispatcherOverload
 * @RejectText: with %OVERLOAD_REJECT the text that is sent, @RejectLen bytes; it stays in place
 * @RejectLen: as far as the socket takes them at once
 * @redirect: with %OVERLOAD_REDIRECT; the descriptor belongs to it. Context: a worker
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
 * struct DispatcherStatus - the counters of a dispatcher
 * @Channels: that live, including acceptors
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
 * Return: the dispatcher, or %NULL with errno: EOPNOTSUPP: the policy's TPMaxWaiting is 0; EPERM:
 * lane 0, that of channels, is closed; EINVAL, ENOMEM, ENXIO, ESHUTDOWN.
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
 * Dispatcher_registerChannel - pass a file to the dispatcher, with its input handler (NI-19)
 * @dispatcher: of the channel
 * @fd: a file that supports poll(2): a socket, pipe, terminal ... It is made non-blocking. If 0 was
 *	returned it belongs to the channel, which closes it. If it is open for one direction only,
 *	its output queue takes nothing, or it has no input, and ends when nobody reads its output
 * @handler: its methods are called from now on
 * @facade: out, may be %NULL; to be released by ChannelFacade_release()
 *
 * Context: any thread.
 * Return: 0; -EEXIST: it is registered (NI-1); -EBADF; -ESHUTDOWN; -EPERM: lane 0 is closed;
 * -ENOSPC, -EDQUOT: TPMaxRequests, or a user's share of it, is reached; -EINVAL, -ENOMEM.
 */
int Dispatcher_registerChannel(Dispatcher *dispatcher, int fd, InputHandler *handler,
			       ChannelFacade **facade);

/**
 * Dispatcher_unregisterChannel - end a channel (NI-20)
 * @facade: whose. If its handler is executing, that ends first; then stopping and stopped are
 *	called, and the file is closed. Queued output is not written
 *
 * Context: any thread; no error: a channel that has ended stays ended.
 */
void Dispatcher_unregisterChannel(ChannelFacade *facade);

/**
 * Dispatcher_dispatch - serve channels that ended, until Dispatcher_shutdown()
 * @dispatcher: which; at least one thread of the program must be in this function, and sleeps
 *
 * Return: 0: shut down, all channels have ended; -ECANCELED: the executive has ended; -EINTR: a
 * signal handler without SA_RESTART; -EDEADLK: the caller is a worker.
 */
int Dispatcher_dispatch(Dispatcher *dispatcher);

/**
 * Dispatcher_shutdown - end all channels, take no more, and end Dispatcher_dispatch()
 * @dispatcher: which
 *
 * Context: any thread, including handlers.
 */
void Dispatcher_shutdown(Dispatcher *dispatcher);

/**
 * Dispatcher_status - read the counters of a dispatcher
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
 * ChannelFacade_inputQueue - the input that was read and not yet handled
 * @facade: whose
 *
 * Context: the handler's methods.
 * Return: the queue.
 */
InputQueue *ChannelFacade_inputQueue(ChannelFacade *facade);

/**
 * ChannelFacade_outputQueue - the output that is to be written (NI-14, NI-15)
 * @facade: whose
 *
 * A caller that enqueues need not do more: the channel gets a turn if it has none. A channel that
 * has ended takes nothing.
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
 * Context: any thread; the previous handler may still execute.
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
 * @reset: the same; %OP_WRITE is accepted and ignored, in both: see NI-14
 *
 * A turn that executes continues to read with the new ops, a turn that begins later has them.
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
 * In starting it takes effect before the first byte. Bytes in the input queue stay there.
 *
 * Context: methods of the channel's handler.
 * Return: 0; -EINVAL: no read or write.
 */
int ChannelFacade_setIO(ChannelFacade *facade, ChannelIO *io);

/**
 * ChannelFacade_setIdle - how long a channel may neither read nor write a byte
 * @facade: which; not an acceptor
 * @idle_ns: instead of DispatcherOptions.IdleNs; 0: no limit
 *
 * Context: any thread.
 * Return: 0 or -EINVAL.
 */
int ChannelFacade_setIdle(ChannelFacade *facade, int64_t idle_ns);

/**
 * ChannelFacade_close - stop reading, and end when the output queue is empty (NI-16)
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
 * A handler that feeds a slow channel thus never waits itself. It is over when @other has ended.
 *
 * Context: methods of @facade's handler.
 * Return: 0; -EALREADY: it already awaits one.
 */
int ChannelFacade_awaitDrain(ChannelFacade *facade, ChannelFacade *other);

/**
 * ChannelFacade_hold - keep the facade itself valid beyond stopped
 * @facade: which
 *
 * Its functions then do nothing and return false or 0.
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
 * @newHandler: returns a handler for a connection, or %NULL: it is closed
 * @deleteHandler: deletes a handler that @newHandler returned, after stopped, or if the connection
 *	did not become a channel; may be %NULL
 *
 * Context: any thread.
 */
struct InputHandlerFactory {
	InputHandler *(*newHandler)(InputHandlerFactory *self, int fd);
	void (*deleteHandler)(InputHandlerFactory *self, InputHandler *handler);
};

/**
 * StandardAcceptor_create - accept the connections of a socket, as channels of a dispatcher
 * @dispatcher: of the connections and of the acceptor, which is also a channel
 * @fd: listens; belongs to the acceptor if 0 was returned
 * @factory: of their handlers
 * @facade: out, may be %NULL; see Dispatcher_registerChannel()
 *
 * Without descriptors or memory, or room for a request, it retries after 100 ms (NI-10).
 *
 * Return: as Dispatcher_registerChannel().
 */
int StandardAcceptor_create(Dispatcher *dispatcher, int fd, InputHandlerFactory *factory,
			    ChannelFacade **facade);

#ifdef __cplusplus
}
#endif

#endif /* _DX_REACTOR_H */
