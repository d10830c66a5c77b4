// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The monitor queue, and its buffers.
 *
 * A thread that has to wait stands in line with its operation. The thread that makes the operation
 * possible performs it for the first in line, and wakes that: a push hands its item over, a pop
 * takes the item of a waiting pusher in. So as many threads continue as there are items or room,
 * whichever other threads come in between, and each sleeps on a condition of its own (CO-2).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

struct waiter {
	struct waiter *next;
	pthread_cond_t cond;
	void *item;		/* to be pushed, or that it gets */
	bool over;
	int status;
};

struct line {
	struct waiter *first, **last;
};

struct BoundedQueue {
	QueueBuffer *buffer;		/* Q */
	size_t max;			/* C */
	pthread_mutex_t lock;
	size_t size;			/* Q */
	struct line pushers;		/* Q: some only if it is full */
	struct line poppers;		/* Q: some only if it is empty */
	bool closed;			/* Q */
};

/* --- buffers ------------------------------------------------------------------------ */

struct fifo {
	QueueBuffer base;
	void **items;
	size_t room, first, nr;
};

static int fifo_push(QueueBuffer *self, void *item)
{
	struct fifo *f = (struct fifo *)self;
	size_t room = f->room ? 2 * f->room : 16;
	void **items;

	if (f->nr == f->room) {
		items = malloc(room * sizeof(*items));
		if (!items)
			return -ENOMEM;
		for (size_t i = 0; i < f->nr; i++)
			items[i] = f->items[(f->first + i) % f->room];
		free(f->items);
		f->items = items;
		f->room = room;
		f->first = 0;
	}
	f->items[(f->first + f->nr++) % f->room] = item;
	return 0;
}

static void *fifo_pop(QueueBuffer *self)
{
	struct fifo *f = (struct fifo *)self;
	void *item = f->items[f->first];

	f->first = (f->first + 1) % f->room;
	f->nr--;
	return item;
}

static void fifo_destroy(QueueBuffer *self)
{
	free(((struct fifo *)self)->items);
	free(self);
}

QueueBuffer *FifoBuffer_create(void)
{
	struct fifo *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->base = (QueueBuffer){ fifo_push, fifo_pop, fifo_destroy };
	return &f->base;
}

struct entry {
	void *item;
	uint64_t number;
};

struct heap {
	QueueBuffer base;
	ItemOrder compare;
	struct entry *entries;
	size_t room, nr;
	uint64_t number;	/* of the next one */
};

static bool before(const struct heap *h, const struct entry *a, const struct entry *b)
{
	int order = h->compare(a->item, b->item);

	return order < 0 || (!order && a->number < b->number);
}

static int heap_push(QueueBuffer *self, void *item)
{
	struct heap *h = (struct heap *)self;
	struct entry e = { item, h->number }, *entries;
	size_t room = h->room ? 2 * h->room : 16, i;

	if (h->nr == h->room) {
		entries = realloc(h->entries, room * sizeof(*entries));
		if (!entries)
			return -ENOMEM;
		h->entries = entries;
		h->room = room;
	}
	h->number++;
	for (i = h->nr++; i && before(h, &e, &h->entries[(i - 1) / 2]); i = (i - 1) / 2)
		h->entries[i] = h->entries[(i - 1) / 2];
	h->entries[i] = e;
	return 0;
}

static void *heap_pop(QueueBuffer *self)
{
	struct heap *h = (struct heap *)self;
	struct entry *all = h->entries, last;
	void *item = all[0].item;
	size_t i = 0, child;

	last = all[--h->nr];
	while ((child = 2 * i + 1) < h->nr) {
		if (child + 1 < h->nr && before(h, &all[child + 1], &all[child]))
			child++;
		if (!before(h, &all[child], &last))
			break;
		all[i] = all[child];
		i = child;
	}
	all[i] = last;
	return item;
}

static void heap_destroy(QueueBuffer *self)
{
	free(((struct heap *)self)->entries);
	free(self);
}

QueueBuffer *PriorityBuffer_create(ItemOrder compare)
{
	struct heap *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->base = (QueueBuffer){ heap_push, heap_pop, heap_destroy };
	h->compare = compare;
	return &h->base;
}

/* --- waiting in line ------------------------------------------------------------------ */

/* Takes the first one out of line, with a result. */
static void let_go(struct line *line, int status)
{
	struct waiter *w = line->first;

	line->first = w->next;
	if (!w->next)
		line->last = &line->first;
	w->status = status;
	w->over = true;
	pthread_cond_signal(&w->cond);
}

static void leave(struct line *line, struct waiter *w)
{
	struct waiter **p = &line->first;

	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
	if (!w->next)
		line->last = p;
}

static void wait_until(struct waiter *w, pthread_mutex_t *lock, uint64_t deadline)
{
	const struct timespec ts = {
		.tv_sec = (time_t)(deadline / 1000000000), .tv_nsec = (long)(deadline % 1000000000),
	};
	int rc = 0;

	while (!w->over && rc != ETIMEDOUT)
		rc = deadline ? pthread_cond_clockwait(&w->cond, lock, CLOCK_MONOTONIC, &ts) :
				pthread_cond_wait(&w->cond, lock);
}

/* Waits in line until another thread has performed the operation of @w. Under Q. */
static int stand(BoundedQueue *q, struct line *line, struct waiter *w, int64_t timeout_ns)
{
	int state;

	if (!timeout_ns)
		return -EAGAIN;
	pthread_cond_init(&w->cond, NULL);
	w->next = NULL;
	*line->last = w;
	line->last = &w->next;
	/* Its entry in the line is on its stack: a cancelled thread would leave it there. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	wait_until(w, &q->lock, timeout_ns < 0 ? 0 : dxs_now() + (uint64_t)timeout_ns);
	pthread_setcancelstate(state, NULL);
	if (!w->over) {
		leave(line, w);
		w->status = -ETIMEDOUT;
	}
	pthread_cond_destroy(&w->cond);
	return w->status;
}

/* --- the queue -------------------------------------------------------------------------- */

BoundedQueue *BoundedQueue_create(QueueBuffer *buffer, size_t max)
{
	BoundedQueue *q = calloc(1, sizeof(*q));

	if (q && !buffer)
		buffer = FifoBuffer_create();
	if (!q || !buffer) {
		free(q);
		return NULL;
	}
	q->buffer = buffer;
	q->max = max ? max : SIZE_MAX;
	q->pushers.last = &q->pushers.first;
	q->poppers.last = &q->poppers.first;
	pthread_mutex_init(&q->lock, NULL);
	return q;
}

void BoundedQueue_destroy(BoundedQueue *queue)
{
	if (!queue)
		return;
	queue->buffer->destroy(queue->buffer);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

static int take_in(BoundedQueue *q, void *item)
{
	int rc = q->buffer->push(q->buffer, item);

	q->size += !rc;
	return rc;
}

int BoundedQueue_push(BoundedQueue *queue, void *item, int64_t timeout_ns)
{
	BoundedQueue *q = queue;
	struct waiter w = { .item = item };
	int rc;

	if (!item)
		return -EINVAL;
	pthread_mutex_lock(&q->lock);
	if (q->closed) {
		rc = -ESHUTDOWN;
	} else if (q->poppers.first) {
		q->poppers.first->item = item;
		let_go(&q->poppers, 0);
		rc = 0;
	} else if (q->size >= q->max) {
		rc = stand(q, &q->pushers, &w, timeout_ns);
	} else {
		rc = take_in(q, item);
	}
	pthread_mutex_unlock(&q->lock);
	return rc;
}

/* There is room for threads that wait with an item. */
static void admit(BoundedQueue *q)
{
	while (q->pushers.first && q->size < q->max)
		let_go(&q->pushers, take_in(q, q->pushers.first->item));
}

int BoundedQueue_pop(BoundedQueue *queue, void **item, int64_t timeout_ns)
{
	BoundedQueue *q = queue;
	struct waiter w = { 0 };
	int rc = 0;

	pthread_mutex_lock(&q->lock);
	if (q->size) {
		w.item = q->buffer->pop(q->buffer);
		q->size--;
		admit(q);
	} else if (q->closed) {
		rc = -ESHUTDOWN;
	} else {
		rc = stand(q, &q->poppers, &w, timeout_ns);
	}
	pthread_mutex_unlock(&q->lock);
	*item = w.item;
	return rc;
}

void BoundedQueue_close(BoundedQueue *queue)
{
	BoundedQueue *q = queue;

	pthread_mutex_lock(&q->lock);
	q->closed = true;
	while (q->pushers.first)
		let_go(&q->pushers, -ESHUTDOWN);
	while (q->poppers.first)
		let_go(&q->poppers, -ESHUTDOWN);
	pthread_mutex_unlock(&q->lock);
}

size_t BoundedQueue_size(BoundedQueue *queue)
{
	size_t size;

	pthread_mutex_lock(&queue->lock);
	size = queue->size;
	pthread_mutex_unlock(&queue->lock);
	return size;
}
