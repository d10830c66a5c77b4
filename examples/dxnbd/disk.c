// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Disk queues: Linux AIO, one context for each locality. A fom waits for the eventfd of what is
 * done, and wakes the requests.
 */
#define _GNU_SOURCE
#include <errno.h>
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

/* Collects what is done, at least @min of it. */
static void collect(struct disk *d, long min)
{
	struct io_event events[BATCH];
	long n;

	do {
		n = syscall(SYS_io_getevents, d->context, min, (long)BATCH, events,
			    min ? NULL : &(struct timespec){ 0 });
		for (long i = 0; i < n; i++) {
			struct request *r = (struct request *)(uintptr_t)events[i].data;

			r->result = events[i].res;
			r->submitted = false;
			fom_wakeup(&r->fom);
		}
	} while (n == BATCH && !min);
}

static int completion_tick(struct fom *fom)
{
	struct disk *d = (struct disk *)fom;
	uint64_t count;

	if (fom_phase(fom) == FOM_PHASE_INIT)
		fom_phase_set(fom, COMPLETE);
	else if (fom_reason(fom) != FOM_WOKEN_FILE) {
		/* Nothing is in the queue any more. */
		fom_phase_set(fom, FOM_PHASE_FINISH);
		return FSO_WAIT;
	} else if (read(d->events, &count, sizeof(count)) == sizeof(count)) {
		collect(d, 0);
	}
	return fom_wait_fd(fom, d->events, EPOLLIN);
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

	for (uint32_t i = 0; i < nr; i++)
		fom_wakeup(&server.disks[i].fom);
	fom_service_stop(&server.completion);
	for (uint32_t i = 0; i < nr; i++) {
		syscall(SYS_io_destroy, server.disks[i].context);
		close(server.disks[i].events);
	}
	free(server.disks);
}

/**
 * disk_submit - have a piece of a request done, and the request woken then
 * @d: the queue of its locality
 * @r: the request; export_is_direct()
 *
 * Return: 0 or a negative errno: nothing has happened.
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
	r->submitted = true;
	if (syscall(SYS_io_submit, d->context, 1L, &iocb) == 1)
		return 0;
	r->submitted = false;
	return -errno;
}

/** disk_wait - sleep until something is done, and wake whose it is: for who is to end */
void disk_wait(struct disk *d)
{
	collect(d, 1);
}
