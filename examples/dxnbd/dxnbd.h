/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dxnbd: an NBD server of one file, made of foms (dx_fom.h).
 *
 *	fom		states
 *
 *	acceptor	INIT -> ACCEPT -> FINISH		waits for the listening socket,
 *								or for a connection's end
 *	connection	INIT -> HELLO -> SERVE -> FINISH	waits for its socket, or for a
 *								request's end
 *	request		INIT -> LOCK -> LOCKED -> SUBMIT -> DISK -> UNLOCK -> REPLY -> SEND
 *			  -> FINISH				waits for long locks, the disk,
 *								and the socket
 *	completion	INIT -> COMPLETE -> FINISH		one in each locality; waits for
 *								the eventfd of its disk queue,
 *								or to be needed
 *
 * A request of several pieces goes from UNLOCK to LOCK again. What cannot be a request of the disk
 * queue is done in the state PLAIN, instead of SUBMIT and DISK, between block markers. One that is
 * wrong begins with REPLY. The executive's Stop takes a request to ABANDON, where it waits for what
 * the disk does with its buffer.
 *
 * A connection's requests are in its locality, and so is the disk queue that they use. So these need
 * no lock among each other:
 *
 *	struct disk	the locality's
 *	struct connection, but what follows	the connection's fom's
 *
 * These do:
 *
 *	ranges		long locks, one for each MiB, readers and a writer. A request has those of
 *			what it reads or writes in the order of the table, and gives them back
 *			before it replies: no client holds one
 *	output		long lock of a connection: who has it sends, so no reply is in another
 *	connection.lock	what requests change that end: its references, what is in flight
 *	server.lock	the list of connections, for the thread that drains
 *
 * A connection has a reference for its fom and one for each request; the last one closes the socket.
 * So the fom ends with the input, and the replies that are due go out all the same.
 */
#ifndef _DXNBD_H
#define _DXNBD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <linux/aio_abi.h>

#include <dx_fom.h>

#include "proto.h"

/* Bytes of a READ or WRITE at most, and of a piece of what may be longer */
#define LENGTH_MAX	(32U << 20)
/* In flight of a connection: requests, and bytes of their buffers */
#define REQUESTS_MAX	128
#define BYTES_MAX	(64U << 20)

/* What one long lock is for, and how many there are: they serve further ranges in turn */
#define RANGE		(1U << 20)
#define RANGES		1024
/* Of a piece that does not begin where a range does */
#define LOCKS_MAX	(LENGTH_MAX / RANGE + 1)

#define ALIGNMENT	4096

/**
 * struct export - the file; does not change while it is served, but where that is said
 * @name: what clients call it; they may also call it ""
 * @fd: through the page cache
 * @direct: the same one with O_DIRECT, or -1
 * @block: offsets, lengths and addresses that @direct takes are multiples of that
 * @size: when it was opened
 * @read_only: it is not written
 * @nowait: a read may ask not to sleep; false once that was refused
 * @wary: so many small ones are done between block markers, for one was late
 * @ranges: see above
 */
struct export {
	const char *name;
	int fd, direct;
	uint32_t block;
	uint64_t size;
	bool read_only;
	atomic_bool nowait;
	atomic_int wary;
	struct long_lock ranges[RANGES];
};

/**
 * struct disk - requests of Linux AIO of a locality
 * @fom: the completion fom
 * @context: of io_setup(2)
 * @events: eventfd that counts what is done
 * @submitted: requests that were not found done yet
 * @watched: the fom waits for @events, or will
 * @at_once: the last one was done when it was submitted
 * @ends: the fom is to end; nothing is in the queue any more
 */
struct disk {
	struct fom fom;
	uint32_t locality;
	aio_context_t context;
	int events;
	uint32_t submitted;
	bool watched, at_once;
	atomic_bool ends;
};

struct request;

/* Bytes of output of the handshake, and of input that are read at a time */
#define OUT_ROOM	4096
#define IN_ROOM		(64 << 10)
/* Input begins where the payload of its first request, if it has one, is aligned. */
#define IN_BEGIN	(ALIGNMENT - NBD_REQUEST_LEN)
#define IN_SIZE		(ALIGNMENT + IN_ROOM)

/**
 * struct connection - a client
 * @fom: reads requests
 * @next: of server.connections; under server.lock
 * @fd: its socket
 * @dry: what has come was all that there was
 * @in: what has come, from @from up to @to; of IN_SIZE bytes, aligned
 * @out: what is to be sent of the handshake, from @sent up to @queued
 * @client_flags: as it has sent them; @greeted: it has
 * @last: it ends when @out is sent
 * @ready: transmission begins then
 * @late: the end of a handshake that takes too long
 * @filling: a WRITE whose payload comes; @filled bytes are there
 * @refused: a request that is to be queued when @skip bytes have gone by
 * @output: who has it sends
 * @lock: for what follows
 * @references: see above
 * @requests: in flight
 * @bytes: of their buffers
 * @full: the fom waits for the end of a request
 * @spare: requests that can be used again
 */
struct connection {
	struct fom fom;
	struct connection *next;
	int fd;
	size_t from, to;
	size_t sent, queued;
	uint32_t client_flags;
	bool greeted, last, ready, dry;
	struct fom_timeout late;
	struct request *filling, *refused;
	size_t filled;
	uint64_t skip;
	struct long_lock output;
	pthread_mutex_t lock;
	unsigned int references, requests;
	uint64_t bytes;
	bool full;
	struct request *spare;
	unsigned char *in;
	unsigned char out[OUT_ROOM];
};

/**
 * struct request - a client's request
 * @fom: does it
 * @connection: whose
 * @next: of connection.spare
 * @command: enum nbd_command; @flags: NBD_CMD_*
 * @cookie: as it came
 * @offset: of what is left to do
 * @length: likewise
 * @piece: how much of it is being done
 * @error: 0 or enum nbd_error
 * @buffer: aligned; @room: its bytes; @payload: those that are sent or were received; @charged: those
 *	in the connection's bytes
 * @block: what is to be freed: @buffer, or what was a connection's @in
 * @iocb: what the disk does; @submitted: it may do it; @result: what it has done
 * @links: parts in ranges, @locks of them from the lock of number @first on; @locked it has
 * @output: part in the connection's output
 * @head: the reply; @sent bytes of it and the payload were sent
 */
struct request {
	struct fom fom;
	struct connection *connection;
	struct request *next;
	uint16_t command, flags;
	uint64_t cookie, offset, length;
	uint32_t piece;
	uint32_t error;
	unsigned char *buffer, *block;
	size_t room, payload, charged;
	struct iocb iocb;
	bool submitted;
	int64_t result;
	uint32_t first, locks, locked;
	size_t sent;
	struct long_lock_link output;
	struct long_lock_link links[LOCKS_MAX];
	unsigned char head[NBD_REPLY_LEN];
};

/**
 * struct server - the server
 * @export: what it serves
 * @domain: the localities
 * @service: of all foms but those that complete
 * @completion: of these
 * @disks: one for each locality
 * @acceptor: takes clients
 * @listens: its socket
 * @connections_max: clients at a time; further ones wait
 * @draining: no more requests are read
 * @lock: for what follows
 * @connections: list
 * @nr_connections: its length
 */
struct server {
	struct export export;
	struct fom_domain *domain;
	struct fom_service service, completion;
	struct disk *disks;
	struct fom acceptor;
	int listens;
	unsigned int connections_max;
	atomic_bool draining;
	pthread_mutex_t lock;
	struct connection *connections;
	unsigned int nr_connections;
};

extern struct server server;

/* CLOCK_MONOTONIC */
static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* accept.c */
int acceptor_start(void);
void connections_end(int how);
void connection_gone(struct connection *c);

/* connection.c */
int connection_start(struct connection *c);
void connection_put(struct connection *c, struct request *spare);

/* handshake.c */
void handshake_greet(struct connection *c);
bool handshake_step(struct connection *c);

/* request.c */
extern struct fom_type request_type;
struct request *request_new(struct connection *c, const unsigned char *head);
void request_free(struct request *r);
bool request_swap(struct request *r, unsigned char **in);
int request_start(struct request *r);

/* file.c */
void export_open(struct export *e, const char *path, bool cached);
void export_close(struct export *e);
bool export_is_direct(const struct export *e, const struct request *r);
bool export_is_quick(struct export *e, const struct request *r);
void export_took(struct export *e, uint64_t ns);
int export_read_now(struct export *e, struct request *r);
int export_do(struct export *e, struct request *r);

/* disk.c */
int disks_start(void);
void disks_stop(void);
int disk_submit(struct disk *d, struct request *r);
void disk_wait(struct disk *d);

#endif /* _DXNBD_H */
