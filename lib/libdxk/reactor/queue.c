// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The queues, and the source of their buffers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "internal.h"

/* Size of a default buffer, including its header: a page on most machines */
#define BUFFER_SIZE	4096
/* Buffers in one writev() */
#define PIECES		16

static atomic_ulong in_use;

/*
 * Most buffers are in a queue for a part of a turn. So each thread keeps a few unused ones,
 * which saves calls of malloc(3). They are freed with the thread.
 */
#define SPARES		4

struct spares {
	Buffer *first;
	unsigned int nr;
	bool kept;	/* they are freed with the thread */
};

static __thread struct spares spares;
static pthread_once_t spares_once = PTHREAD_ONCE_INIT;
static pthread_key_t spares_key;
static bool spares_are_kept;

static void spares_free(void *arg)
{
	struct spares *s = arg;
	Buffer *b;

	while ((b = s->first)) {
		s->first = b->Next;
		free(b);
	}
	/* Keeps no more: buffers that a later destructor returns are freed. */
	s->nr = SPARES;
}

static void spares_begin(void)
{
	spares_are_kept = !pthread_key_create(&spares_key, spares_free);
}

static Buffer *new_buffer(BufferFactory *self)
{
	Buffer *b = spares.first;

	(void)self;
	if (b) {
		spares.first = b->Next;
		spares.nr--;
	} else {
		b = malloc(BUFFER_SIZE);
		if (!b)
			return NULL;
		b->Size = BUFFER_SIZE - sizeof(*b);
	}
	b->Next = NULL;
	b->Begin = b->End = 0;
	atomic_fetch_add_explicit(&in_use, 1, memory_order_relaxed);
	return b;
}

static bool keep_spares(void)
{
	pthread_once(&spares_once, spares_begin);
	spares.kept = spares_are_kept && !pthread_setspecific(spares_key, &spares);
	return spares.kept;
}

static void return_buffer(BufferFactory *self, Buffer *buffer)
{
	(void)self;
	atomic_fetch_sub_explicit(&in_use, 1, memory_order_relaxed);
	if (spares.nr >= SPARES || (!spares.kept && !keep_spares())) {
		free(buffer);
		return;
	}
	buffer->Next = spares.first;
	spares.first = buffer;
	spares.nr++;
}

BufferFactory *BufferFactory_default(void)
{
	static BufferFactory factory = { new_buffer, return_buffer };

	return &factory;
}

unsigned long BufferFactory_inUse(void)
{
	return atomic_load(&in_use);
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void free_chain(BufferFactory *f, Buffer *b)
{
	Buffer *next;

	for (; b; b = next) {
		next = b->Next;
		f->returnBuffer(f, b);
	}
}

/* Appends to a chain, which is unchanged on failure. */
static int append(BufferFactory *f, Buffer **first, Buffer **last, const char *data, size_t len)
{
	Buffer *b, *head = NULL, *tail = NULL;
	size_t n = *last ? min_size((*last)->Size - (*last)->End, len) : 0, at = n;

	while (at < len) {
		b = f->newBuffer(f);
		if (!b) {
			free_chain(f, head);
			return -ENOMEM;
		}
		b->End = min_size(b->Size, len - at);
		memcpy(b->Data, data + at, b->End);
		at += b->End;
		if (tail)
			tail->Next = b;
		else
			head = b;
		tail = b;
	}
	if (n) {
		memcpy((*last)->Data + (*last)->End, data, n);
		(*last)->End += n;
	}
	if (head) {
		if (*last)
			(*last)->Next = head;
		else
			*first = head;
		*last = tail;
	}
	return 0;
}

/* Drops @count bytes, which the queue has. */
static void drop(BufferFactory *f, Buffer **first, Buffer **last, size_t count)
{
	while (count) {
		Buffer *b = *first;
		size_t n = min_size(b->End - b->Begin, count);

		b->Begin += n;
		count -= n;
		if (b->Begin < b->End)
			break;
		*first = b->Next;
		if (!*first)
			*last = NULL;
		f->returnBuffer(f, b);
	}
}

/* --- messages -------------------------------------------------------------------- */

void Message_free(Message *message)
{
	free(message);
}

/* --- input ------------------------------------------------------------------------- */

void dxr_input_init(InputQueue *q, BufferFactory *factory)
{
	*q = (InputQueue){ .factory = factory ? factory : BufferFactory_default() };
}

InputQueue *InputQueue_create(BufferFactory *factory)
{
	InputQueue *q = malloc(sizeof(*q));

	if (q)
		dxr_input_init(q, factory);
	return q;
}

void InputQueue_destroy(InputQueue *queue)
{
	if (queue)
		InputQueue_discardBytes(queue, queue->len);
	free(queue);
}

static ssize_t plain_read(ChannelIO *self, int fd, void *data, size_t len)
{
	ssize_t n;

	(void)self;
	do
		n = read(fd, data, len);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t InputQueue_fillFrom(InputQueue *queue, int fd)
{
	static ChannelIO plain = { .read = plain_read };

	return InputQueue_fillFromIO(queue, &plain, fd);
}

ssize_t InputQueue_fillFromIO(InputQueue *queue, ChannelIO *io, int fd)
{
	BufferFactory *f = queue->factory;
	Buffer *b = queue->last, *own = NULL;
	ssize_t n;

	if (!b || b->End == b->Size) {
		b = own = f->newBuffer(f);
		if (!b)
			return -ENOMEM;
	}
	n = io->read(io, fd, b->Data + b->End, b->Size - b->End);
	if (n <= 0) {
		if (own)
			f->returnBuffer(f, own);
		return n;
	}
	b->End += (size_t)n;
	queue->len += (size_t)n;
	if (own) {
		if (queue->last)
			queue->last->Next = own;
		else
			queue->first = own;
		queue->last = own;
	}
	return n;
}

int InputQueue_put(InputQueue *queue, const void *data, size_t len)
{
	int rc = append(queue->factory, &queue->first, &queue->last, data, len);

	if (!rc)
		queue->len += len;
	return rc;
}

bool InputQueue_isEmpty(const InputQueue *queue)
{
	return !queue->len;
}

size_t InputQueue_length(const InputQueue *queue)
{
	return queue->len;
}

ssize_t InputQueue_indexOf(const InputQueue *queue, char byte)
{
	size_t at = 0;

	for (const Buffer *b = queue->first; b; b = b->Next) {
		const char *p = memchr(b->Data + b->Begin, byte, b->End - b->Begin);

		if (p)
			return (ssize_t)(at + (size_t)(p - b->Data) - b->Begin);
		at += b->End - b->Begin;
	}
	return -1;
}

/* Whether the @len bytes at @data follow, from byte @at of @b on. */
static bool follows(const Buffer *b, size_t at, const char *data, size_t len)
{
	for (; b; b = b->Next, at = b ? b->Begin : 0) {
		size_t n = min_size(b->End - at, len);

		if (memcmp(b->Data + at, data, n))
			return false;
		data += n;
		len -= n;
		if (!len)
			return true;
	}
	return false;
}

ssize_t InputQueue_indexOfBytes(const InputQueue *queue, const void *data, size_t len)
{
	const char *first = data;
	size_t base = 0;

	if (!len)
		return 0;
	for (const Buffer *b = queue->first; b; b = b->Next) {
		const char *end = b->Data + b->End, *p = b->Data + b->Begin;

		for (; (p = memchr(p, *first, (size_t)(end - p))); p++)
			if (follows(b, (size_t)(p - b->Data), first, len))
				return (ssize_t)(base + (size_t)(p - b->Data) - b->Begin);
		base += b->End - b->Begin;
	}
	return -1;
}

Message *InputQueue_dequeueBytes(InputQueue *queue, size_t count)
{
	size_t at = 0, n;
	Message *m;

	count = min_size(count, queue->len);
	m = malloc(sizeof(*m) + count + 1);
	if (!m)
		return NULL;
	m->Len = count;
	for (const Buffer *b = queue->first; at < count; b = b->Next) {
		n = min_size(b->End - b->Begin, count - at);
		memcpy(m->Data + at, b->Data + b->Begin, n);
		at += n;
	}
	m->Data[count] = 0;
	InputQueue_discardBytes(queue, count);
	return m;
}

void InputQueue_discardBytes(InputQueue *queue, size_t count)
{
	count = min_size(count, queue->len);
	drop(queue->factory, &queue->first, &queue->last, count);
	queue->len -= count;
}

/* --- output ------------------------------------------------------------------------ */

void dxr_output_init(OutputQueue *q, BufferFactory *factory, size_t limit, ChannelFacade *f)
{
	*q = (OutputQueue){
		.factory = factory ? factory : BufferFactory_default(),
		.limit = limit,
		.facade = f,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
}

OutputQueue *OutputQueue_create(BufferFactory *factory, size_t limit)
{
	OutputQueue *q = malloc(sizeof(*q));

	if (q)
		dxr_output_init(q, factory, limit, NULL);
	return q;
}

static struct dxr_part *part_get(OutputQueue *q)
{
	struct dxr_part *p = q->own_used ? malloc(sizeof(*p)) : &q->own;

	if (!p)
		return NULL;
	q->own_used |= p == &q->own;
	*p = (struct dxr_part){ .fd = -1 };
	return p;
}

static void part_put(OutputQueue *q, struct dxr_part *p)
{
	if (p == &q->own)
		q->own_used = false;
	else
		free(p);
}

/* Return: a descriptor to be closed without the lock, or -1. */
static int free_part(OutputQueue *q, struct dxr_part *p)
{
	int fd = p->fd;

	free_chain(q->factory, p->first);
	part_put(q, p);
	return fd;
}

/* Counts the bytes of a queue, and of all queues of the dispatcher. */
static void account(OutputQueue *q, size_t more, size_t less)
{
	q->len += more - less;
	if (q->facade)
		atomic_fetch_add_explicit(&q->facade->dispatcher->queued, more - less,
					  memory_order_relaxed);
}

/** dxr_output_close - discard the queued output, and accept no more */
void dxr_output_close(OutputQueue *q)
{
	struct dxr_part *p, *next;
	int fd;

	pthread_mutex_lock(&q->lock);
	p = q->first;
	q->first = q->last = NULL;
	q->parts = 0;
	q->files = 0;
	account(q, 0, q->len);
	q->closed = true;
	pthread_mutex_unlock(&q->lock);
	/* A thread that enqueues finds it closed before it looks for a part. */
	for (; p; p = next) {
		next = p->next;
		fd = free_part(q, p);
		if (fd >= 0)
			close(fd);
	}
}

void OutputQueue_destroy(OutputQueue *queue)
{
	if (!queue)
		return;
	dxr_output_close(queue);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

bool OutputQueue_isEmpty(OutputQueue *queue)
{
	return !queue->parts;
}

size_t OutputQueue_length(OutputQueue *queue)
{
	return queue->len;
}

/** dxr_output_drained - whether at least half of it is empty */
bool dxr_output_drained(OutputQueue *q)
{
	bool drained;

	pthread_mutex_lock(&q->lock);
	drained = q->len <= q->limit / 2 && q->files <= DXR_FILES / 2;
	pthread_mutex_unlock(&q->lock);
	return drained;
}

/** dxr_output_seal - accept no more if it is empty. Return: whether it is empty */
bool dxr_output_seal(OutputQueue *q)
{
	bool empty;

	pthread_mutex_lock(&q->lock);
	empty = !q->first;
	q->closed |= empty;
	pthread_mutex_unlock(&q->lock);
	return empty;
}

/* The last part if bytes can follow it, or a new one behind it. */
static struct dxr_part *open_part(OutputQueue *q)
{
	struct dxr_part *p = q->last;

	if (p && p->fd < 0)
		return p;
	return part_get(q);
}

bool OutputQueue_enqueueFile(OutputQueue *queue, const void *data, size_t len, int fd,
			     off_t offset, size_t count)
{
	bool taken = false;
	struct dxr_part *p;

	pthread_mutex_lock(&queue->lock);
	if (queue->closed || (queue->limit && queue->len >= queue->limit) ||
	    (fd >= 0 && queue->files >= DXR_FILES))
		goto out;
	p = open_part(queue);
	if (!p)
		goto out;
	if (append(queue->factory, &p->first, &p->last, data, len)) {
		if (p != queue->last)
			part_put(queue, p);
		goto out;
	}
	account(queue, len, 0);
	p->fd = fd;
	queue->files += fd >= 0;
	p->offset = offset;
	p->count = count;
	if (p != queue->last) {
		if (queue->last)
			queue->last->next = p;
		else
			queue->first = p;
		queue->last = p;
		queue->parts++;
	}
	taken = true;
out:
	pthread_mutex_unlock(&queue->lock);
	if (taken && queue->facade)
		dxr_call(queue->facade, false);
	return taken;
}

bool OutputQueue_enqueue(OutputQueue *queue, const void *data, size_t len)
{
	return !len || OutputQueue_enqueueFile(queue, data, len, -1, 0, 0);
}

static ssize_t write_buffers(int fd, Buffer *b, bool more)
{
	struct iovec iov[PIECES];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t n;

	if (!b->Next && !more) {
		do
			n = send(fd, b->Data + b->Begin, b->End - b->Begin,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
		while (n < 0 && errno == EINTR);
		if (n >= 0 || errno != ENOTSOCK)
			return n < 0 ? -errno : n;
	}
	for (; b && msg.msg_iovlen < PIECES; b = b->Next)
		iov[msg.msg_iovlen++] = (struct iovec){ b->Data + b->Begin, b->End - b->Begin };
	do {
		n = sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0));
		if (n < 0 && errno == ENOTSOCK)
			n = writev(fd, iov, (int)msg.msg_iovlen);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Reads bytes of a part's file into its buffers. Return: how many, or a negative errno */
static ssize_t load(OutputQueue *q, struct dxr_part *p)
{
	Buffer *b = q->factory->newBuffer(q->factory);
	ssize_t n;

	if (!b)
		return -ENOMEM;
	do
		n = pread(p->fd, b->Data, min_size(p->count, b->Size), p->offset);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		n = n ? -errno : -EIO;
		q->factory->returnBuffer(q->factory, b);
		return n;
	}
	b->End = (size_t)n;
	p->offset += n;
	p->count -= (size_t)n;
	p->first = p->last = b;
	return n;
}

/* Writes the bytes of the first part that are in memory. */
static ssize_t write_part(struct dxr_part *p, ChannelIO *io, int fd)
{
	Buffer *b = p->first;
	ssize_t n;

	if (!io)
		return write_buffers(fd, b, p->fd >= 0 && p->count);
	n = io->write(io, fd, b->Data + b->Begin, b->End - b->Begin);
	return n ? n : -EIO;
}

/*
 * Holds the lock while it writes bytes that are in memory, which does not block.
 */
static int drain_to(OutputQueue *queue, ChannelIO *io, int fd)
{
	int rc = 0, file, error;
	size_t written = 0;
	struct dxr_part *p;
	ssize_t n;

	pthread_mutex_lock(&queue->lock);
	while (!rc && (p = queue->first)) {
		if (p->first) {
			n = write_part(p, io, fd);
			if (n > 0) {
				drop(queue->factory, &p->first, &p->last, (size_t)n);
				account(queue, 0, (size_t)n);
				written += (size_t)n;
			}
		} else if (p->fd >= 0 && p->count) {
			/* It may be read from a disk. Nobody else changes the first part. */
			pthread_mutex_unlock(&queue->lock);
			n = io ? load(queue, p) :
				 sendfile(fd, p->fd, &p->offset, min_size(p->count, 1 << 20));
			error = n < 0 ? errno : 0;
			pthread_mutex_lock(&queue->lock);
			if (io) {
				account(queue, n > 0 ? (size_t)n : 0, 0);
			} else if (n > 0) {
				p->count -= (size_t)n;
				written += (size_t)n;
			} else {
				n = n ? -error : -EIO;
			}
		} else {
			queue->first = p->next;
			if (!p->next)
				queue->last = NULL;
			queue->files -= p->fd >= 0;
			queue->parts--;
			file = free_part(queue, p);
			if (file >= 0) {
				pthread_mutex_unlock(&queue->lock);
				close(file);
				pthread_mutex_lock(&queue->lock);
			}
			continue;
		}
		if (n < 0 && n != -EINTR)
			rc = (int)n;
	}
	pthread_mutex_unlock(&queue->lock);
	if (written && queue->facade)
		dxr_drained(queue->facade, written);
	return rc;
}

int OutputQueue_drainTo(OutputQueue *queue, int fd)
{
	return drain_to(queue, NULL, fd);
}

int OutputQueue_drainToIO(OutputQueue *queue, ChannelIO *io, int fd)
{
	return drain_to(queue, io, fd);
}
