/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdxk, the queues of a reactor: bytes that came in pieces, bytes that are still to be
 * written, and where the buffers of both come from. Names are those of the NIO reactor.
 *
 * =============  ==============================================  ===================
 * its name       name here                                       behaviours
 * =============  ==============================================  ===================
 * InputQueue     InputQueue_fillFrom, _isEmpty, _indexOf,        NI-12, NI-18
 *                _dequeueBytes, _discardBytes
 * OutputQueue    OutputQueue_isEmpty, _drainTo, _enqueue         NI-14, NI-15, NI-17
 * BufferFactory  struct BufferFactory: newBuffer, returnBuffer   NI-18
 * =============  ==============================================  ===================
 *
 * An input queue is used by one thread at a time, an output queue by any.
 */
#ifndef _DX_REACTOR_H
#define _DX_REACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct Buffer Buffer;
typedef struct BufferFactory BufferFactory;
typedef struct InputQueue InputQueue;
typedef struct Message Message;
typedef struct OutputQueue OutputQueue;

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
 * InputQueue_put - as InputQueue_fillFrom(), from memory, all bytes or none
 *
 * Return: 0 or -ENOMEM.
 */
int InputQueue_put(InputQueue *queue, const void *data, size_t len);

bool InputQueue_isEmpty(const InputQueue *queue);
size_t InputQueue_length(const InputQueue *queue);

/**
 * InputQueue_indexOf - position of the first byte of a value
 *
 * Return: 0 for the queue's first byte, or -1: there is none.
 */
ssize_t InputQueue_indexOf(const InputQueue *queue, char byte);

/**
 * InputQueue_dequeueBytes - take bytes out of the queue
 * @count: how many; more than there are: all
 *
 * Return: for Message_free(), or %NULL: no memory, the queue is unchanged.
 */
Message *InputQueue_dequeueBytes(InputQueue *queue, size_t count);

/**
 * InputQueue_discardBytes - drop bytes from the queue's begin
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
void OutputQueue_destroy(OutputQueue *queue);

bool OutputQueue_isEmpty(OutputQueue *queue);

/**
 * OutputQueue_length - bytes in memory that were not written yet; those of files do not count
 */
size_t OutputQueue_length(OutputQueue *queue);

/**
 * OutputQueue_drainTo - write until the queue is empty or the file takes no more
 * @fd: a file that does not block; a socket's end raises no SIGPIPE
 *
 * Return: 0 when the queue is empty, -EAGAIN, or another negative errno.
 */
int OutputQueue_drainTo(OutputQueue *queue, int fd);

/**
 * OutputQueue_enqueue - append bytes, which stay contiguous (NI-15)
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
 * @data: as in OutputQueue_enqueue(), @len may be 0
 * @fd: belongs to the queue when it was taken, which closes it
 * @offset: where in the file
 * @count: how many bytes. Should the file become shorter, OutputQueue_drainTo() returns -EIO
 *
 * Return: see OutputQueue_enqueue().
 */
bool OutputQueue_enqueueFile(OutputQueue *queue, const void *data, size_t len, int fd,
			     off_t offset, size_t count);

#ifdef __cplusplus
}
#endif

#endif /* _DX_REACTOR_H */
