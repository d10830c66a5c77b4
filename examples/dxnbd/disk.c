// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Disk queues: Linux AIO, one context for each locality.
 *
 * What is done is in a ring, which is looked at after each submission: memory, or a device that has
 * a cache, has finished by then, and the request goes on without a wait. For what has not a fom
 * waits for the eventfd that counts what is done, and wakes the requests. It goes on waiting, also
 * when nothing is in the queue, until a request has finished at once: so a device that takes its
 * time costs one wait for what is done together, and one that does not costs none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/fs.h>

#include "dxnbd.h"

/* Requests of a disk queue at a time; further ones do without */
#define DEPTH		1024
/* That are collected at a time */
#define BATCH		64

enum { COMPLETE = 2 };

/*
 * The ring, which begins where the context points to. The kernel adds at the tail, from any CPU;
 * at the head only the turns of the locality take.
 */
struct ring {
	uint32_t id, size;
	uint32_t head;
	_Atomic uint32_t tail;
	uint32_t magic, compatible, incompatible, head_size;
	struct io_event events[];
};

#define RING_MAGIC	0xa10a10a1

static bool is_ring(const struct ring *ring)
{
	return ring->magic == RING_MAGIC && !ring->incompatible &&
	       ring->head_size == offsetof(struct ring, events);
}

/* Who ticks it does not wait. */
static void finished(struct disk *d, const struct io_event *event, const struct request *ticked)
{
	struct request *r = (struct request *)(uintptr_t)event->data;

	d->submitted--;
	r->result = event->res;
	r->submitted = false;
	if (r != ticked)
		fom_wakeup(&r->fom);
}

/* By a call, which also waits: for at least @min. */
static void collect(struct disk *d, long min, const struct request *ticked)
{
	struct io_event events[BATCH];
	long n;

	do {
		n = syscall(SYS_io_getevents, d->context, min, (long)BATCH, events,
			    min ? NULL : &(struct timespec){ 0 });
		for (long i = 0; i < n; i++)
			finished(d, &events[i], ticked);
	} while (n == BATCH && !min);
}

static void collect_done(struct disk *d, const struct request *ticked)
{
	struct ring *ring = (struct ring *)d->context;
	uint32_t tail, head;

	if (!is_ring(ring)) {
		collect(d, 0, ticked);
		return;
	}
	/* Pairs with the kernel's barrier between an event and the tail behind it. */
	tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
	for (head = ring->head; head != tail; head = (head + 1) % ring->size)
		finished(d, &ring->events[head], ticked);
	/* The kernel may use these again, when they were read. */
	atomic_thread_fence(memory_order_release);
	ring->head = head;
}

static int completion_tick(struct fom *fom)
{
	struct disk *d = (struct disk *)fom;
	uint64_t count;

	if (fom_phase(fom) == FOM_PHASE_INIT) {
		fom_phase_set(fom, COMPLETE);
	} else if (atomic_load(&d->ends)) {
		fom_phase_set(fom, FOM_PHASE_FINISH);
		return FSO_WAIT;
	}
	/* What is done after it was looked at is counted anew. */
	if (read(d->events, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return -errno;
	collect_done(d, NULL);
	d->watched = d->submitted || !d->at_once;
	return d->watched ? fom_wait_fd(fom, d->events, EPOLLIN) : FSO_WAIT;
}

static size_t completion_home(const struct fom *fom)
{
	return ((const struct disk *)fom)->locality;
}

static const struct fom_ops completion_ops = {
	.tick = completion_tick, .fini = fom_fini, .home_locality = completion_home,
};

static const struct fom_phase completion_phases[] = {
	[FOM_PHASE_INIT] = { .name = "init", .allowed = FOM_PHASE(COMPLETE) },
	[FOM_PHASE_FINISH] = { .name = "finish" },
	[COMPLETE] = { .name = "complete", .allowed = FOM_PHASE(FOM_PHASE_FINISH) },
};

static struct fom_type completion_type = {
	.name = "completion", .ops = &completion_ops, .flags = FOM_QUIET,
	.phases = completion_phases, .nr_phases = 3,
};

static int disk_start(struct disk *d)
{
	int rc;

	if (syscall(SYS_io_setup, DEPTH, &d->context))
		return -errno;
	d->events = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (d->events < 0)
		return -errno;
	fom_init(&d->fom, &completion_type, &server.completion);
	rc = fom_queue(&d->fom);
	return rc;
}

/** disks_start - make the queues. Return: 0 or a negative errno, with which the program ends. */
int disks_start(void)
{
	uint32_t nr = fom_domain_localities(server.domain);
	int rc = 0;

	server.disks = calloc(nr, sizeof(*server.disks));
	if (!server.disks)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr && !rc; i++) {
		server.disks[i].locality = i;
		rc = disk_start(&server.disks[i]);
	}
	return rc;
}

/** disks_stop - the end of the queues, which nobody uses any more */
void disks_stop(void)
{
	uint32_t nr = fom_domain_localities(server.domain);

	for (uint32_t i = 0; i < nr; i++) {
		atomic_store(&server.disks[i].ends, true);
		fom_wakeup(&server.disks[i].fom);
	}
	fom_service_stop(&server.completion);
	for (uint32_t i = 0; i < nr; i++) {
		syscall(SYS_io_destroy, server.disks[i].context);
		close(server.disks[i].events);
	}
	free(server.disks);
}

/**
 * disk_submit - have a piece of a request done
 * @d: the queue of its locality
 * @r: the request, which is ticked; export_is_direct()
 *
 * Return: 0: it is done; 1: the request will be woken when it is; or a negative errno: nothing has
 * happened.
 */
int disk_submit(struct disk *d, struct request *r)
{
	bool write = r->command == NBD_CMD_WRITE;
	struct iocb *iocb = &r->iocb;

	*iocb = (struct iocb){
		.aio_data = (uintptr_t)r,
		.aio_lio_opcode = write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
		.aio_rw_flags = write && r->flags & NBD_CMD_FUA ? RWF_DSYNC : 0,
		.aio_fildes = (uint32_t)server.export.direct,
		.aio_buf = (uintptr_t)r->buffer,
		.aio_nbytes = r->piece,
		.aio_offset = (int64_t)r->offset,
		.aio_flags = IOCB_FLAG_RESFD,
		.aio_resfd = (uint32_t)d->events,
	};
	if (syscall(SYS_io_submit, d->context, 1L, &iocb) != 1)
		return -errno;
	r->submitted = true;
	d->submitted++;
	collect_done(d, r);
	d->at_once = !r->submitted;
	if (d->at_once)
		return 0;
	if (!d->watched) {
		d->watched = true;
		fom_wakeup(&d->fom);
	}
	return 1;
}

/** disk_wait - sleep until something is done, and wake whose it is: for who is to end */
void disk_wait(struct disk *d)
{
	collect(d, 1, NULL);
}
