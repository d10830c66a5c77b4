// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests: a fom for each, from its arrival to the last byte of its reply. See dxnbd.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "dxnbd.h"

/* A buffer of that size is kept with the request for the next one. */
#define KEPT_ROOM	(64U << 10)

enum { LOCK = 2, LOCKED, SUBMIT, DISK, PLAIN, UNLOCK, REPLY, SEND, ABANDON, PHASES };

static uint32_t error_of(int rc)
{
	switch (-rc) {
	case 0:
		return 0;
	case EPERM:
	case EACCES:
	case EROFS:
		return NBD_EPERM;
	case ENOMEM:
		return NBD_ENOMEM;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return NBD_ENOSPC;
	}
	return NBD_EIO;
}

static bool is_write(const struct request *r)
{
	return r->command != NBD_CMD_READ;
}

/* --- the range locks ---------------------------------------------------------------- */

/*
 * Which locks a piece takes. The table is passed in its own order, also by a piece that ends at its
 * begin: else two such would wait for each other.
 */
static void begin_piece(struct request *r)
{
	uint64_t from, to;

	r->piece = r->length < LENGTH_MAX ? (uint32_t)r->length : LENGTH_MAX;
	r->locked = 0;
	from = r->offset / RANGE;
	to = r->piece ? (r->offset + r->piece - 1) / RANGE : from;
	r->first = (uint32_t)(from % RANGES);
	r->locks = (uint32_t)(to - from + 1);
	for (uint32_t n = 0; n < r->locks; n++)
		long_lock_link_init(&r->links[n], &r->fom);
}

static struct long_lock *range_lock(const struct request *r, uint32_t n)
{
	/* So many of them are at the begin of the table. */
	uint32_t wrapped = r->first + r->locks > RANGES ? r->first + r->locks - RANGES : 0;

	return &server.export.ranges[n < wrapped ? n : r->first + n - wrapped];
}

static int lock(struct request *r)
{
	struct long_lock_link *link = &r->links[r->locked];
	struct long_lock *range = range_lock(r, r->locked);

	return is_write(r) ? long_write_lock(range, link, LOCKED) :
			     long_read_lock(range, link, LOCKED);
}

/* Also those that it waits for. */
static void unlock(struct request *r)
{
	for (uint32_t n = 0; n <= r->locked && n < r->locks; n++)
		long_unlock(range_lock(r, n), &r->links[n]);
	r->locks = 0;
}

/* --- the file -------------------------------------------------------------------------- */

static struct disk *disk(struct request *r)
{
	return &server.disks[fom_locality(&r->fom)];
}

static int submit(struct request *r)
{
	int rc = export_is_direct(&server.export, r) ? disk_submit(disk(r), r) : -EOPNOTSUPP;

	if (rc >= 0) {
		fom_phase_set(&r->fom, DISK);
		return rc ? FSO_WAIT : FSO_AGAIN;
	}
	if (server.export.direct < 0 && r->command == NBD_CMD_READ &&
	    !export_read_now(&server.export, r))
		fom_phase_set(&r->fom, UNLOCK);
	else
		fom_phase_set(&r->fom, PLAIN);
	return FSO_AGAIN;
}

static int done(struct request *r)
{
	if (r->submitted)
		return FSO_WAIT;
	/* Half of it, or not so: the page cache knows better. */
	if (r->result == -EINVAL || (r->result >= 0 && r->result != r->piece)) {
		fom_phase_set(&r->fom, PLAIN);
		return FSO_AGAIN;
	}
	r->error = error_of(r->result < 0 ? (int)r->result : 0);
	fom_phase_set(&r->fom, UNLOCK);
	return FSO_AGAIN;
}

static int plain(struct request *r)
{
	bool quick = export_is_quick(&server.export, r);
	uint64_t begun = quick ? now_ns() : 0;
	/* If nobody can take its place, all of this locality wait for the file. */
	bool entered = !quick && !fom_block_enter(&r->fom);
	int rc = export_do(&server.export, r);

	if (quick)
		export_took(&server.export, now_ns() - begun);
	r->error = error_of(rc);
	if (entered) {
		rc = fom_block_leave(&r->fom);
		if (rc)
			return rc;
	}
	fom_phase_set(&r->fom, UNLOCK);
	return FSO_AGAIN;
}

static int next_piece(struct request *r)
{
	unlock(r);
	r->offset += r->piece;
	r->length -= r->piece;
	if (r->length && !r->error) {
		begin_piece(r);
		fom_phase_set(&r->fom, LOCK);
	} else {
		fom_phase_set(&r->fom, REPLY);
	}
	return FSO_AGAIN;
}

/* --- the reply --------------------------------------------------------------------------- */

static int reply(struct request *r)
{
	unsigned char *p = r->head;

	if (r->error || r->command != NBD_CMD_READ)
		r->payload = 0;
	p = put32(p, NBD_REPLY);
	p = put32(p, r->error);
	put64(p, r->cookie);
	r->sent = 0;
	return long_write_lock(&r->connection->output, &r->output, SEND);
}

static int send_reply(struct request *r)
{
	struct connection *c = r->connection;
	size_t head = r->sent < NBD_REPLY_LEN ? NBD_REPLY_LEN - r->sent : 0;
	size_t data = head ? 0 : r->sent - NBD_REPLY_LEN;
	struct iovec iov[2] = {
		{ r->head + NBD_REPLY_LEN - head, head },
		{ r->buffer + data, r->payload - data },
	};
	struct msghdr m = {
		.msg_iov = head ? iov : iov + 1,
		.msg_iovlen = (head != 0) + (r->payload > data),
	};
	ssize_t n = sendmsg(c->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return fom_wait_fd(&r->fom, c->fd, EPOLLOUT);
	if (n < 0)
		/* No further one gets through, and the connection sees its end. */
		shutdown(c->fd, SHUT_RDWR);
	else
		r->sent += (size_t)n;
	if (n >= 0 && r->sent < NBD_REPLY_LEN + r->payload)
		return FSO_AGAIN;
	long_write_unlock(&c->output, &r->output);
	fom_phase_set(&r->fom, FOM_PHASE_FINISH);
	return FSO_WAIT;
}

/* The executive stops. */
static int abandon(struct request *r)
{
	while (r->submitted)
		disk_wait(disk(r));
	unlock(r);
	/* Half a reply may be on its way, and the others should not wait for this one's. */
	shutdown(r->connection->fd, SHUT_RDWR);
	long_unlock(&r->connection->output, &r->output);
	fom_phase_set(&r->fom, FOM_PHASE_FINISH);
	return FSO_WAIT;
}

/* --- the fom ----------------------------------------------------------------------------- */

static int request_begin(struct request *r)
{
	int first = LOCK;

	if (r->error)
		first = REPLY;
	else if (r->command == NBD_CMD_FLUSH)
		first = PLAIN;
	else
		begin_piece(r);
	fom_phase_set(&r->fom, first);
	return FSO_AGAIN;
}

static int request_tick(struct fom *fom)
{
	struct request *r = (struct request *)fom;

	switch (fom_phase(fom)) {
	case FOM_PHASE_INIT:
		return request_begin(r);
	case LOCK:
		return lock(r);
	case LOCKED:
		r->locked++;
		fom_phase_set(fom, r->locked < r->locks ? LOCK : SUBMIT);
		return FSO_AGAIN;
	case SUBMIT:
		return submit(r);
	case DISK:
		return done(r);
	case PLAIN:
		return plain(r);
	case UNLOCK:
		return next_piece(r);
	case REPLY:
		return reply(r);
	case SEND:
		return send_reply(r);
	}
	return abandon(r);
}

static void request_fini(struct fom *fom)
{
	fom_fini(fom);
	request_free((struct request *)fom);
}

/* Its connection's: see dxnbd.h. */
static size_t request_home(const struct fom *fom)
{
	return fom_locality(&((const struct request *)fom)->connection->fom);
}

static const struct fom_ops request_ops = {
	.tick = request_tick, .fini = request_fini, .home_locality = request_home,
};

static const struct fom_phase request_phases[PHASES] = {
	[FOM_PHASE_INIT] = { .name = "received",
			     .allowed = FOM_PHASE(LOCK) | FOM_PHASE(PLAIN) | FOM_PHASE(REPLY) },
	[FOM_PHASE_FINISH] = { .name = "finish" },
	[LOCK] = { .name = "lock", .allowed = FOM_PHASE(LOCKED) },
	[LOCKED] = { .name = "locked", .allowed = FOM_PHASE(LOCK) | FOM_PHASE(SUBMIT) },
	[SUBMIT] = { .name = "submit",
		     .allowed = FOM_PHASE(DISK) | FOM_PHASE(PLAIN) | FOM_PHASE(UNLOCK) },
	[DISK] = { .name = "disk", .allowed = FOM_PHASE(PLAIN) | FOM_PHASE(UNLOCK) },
	[PLAIN] = { .name = "plain", .allowed = FOM_PHASE(UNLOCK) },
	[UNLOCK] = { .name = "unlock", .allowed = FOM_PHASE(LOCK) | FOM_PHASE(REPLY) },
	[REPLY] = { .name = "reply", .allowed = FOM_PHASE(SEND) },
	[SEND] = { .name = "send", .allowed = FOM_PHASE(FOM_PHASE_FINISH) },
	[ABANDON] = { .name = "abandon", .allowed = FOM_PHASE(FOM_PHASE_FINISH),
		      .flags = FOM_PHASE_FAILURE },
};

struct fom_type request_type = {
	.name = "request", .ops = &request_ops, .phases = request_phases, .nr_phases = PHASES,
	.failure = ABANDON,
};

/* --- what the connection does ---------------------------------------------------------- */

/* Return: 0, or the error of its reply. */
static uint32_t check(const struct request *r)
{
	const struct export *e = &server.export;
	uint16_t flags = NBD_CMD_FUA;

	if (r->command == NBD_CMD_WRITE_ZEROES)
		flags |= NBD_CMD_NO_HOLE;
	if (r->flags & ~flags)
		return NBD_EINVAL;
	switch (r->command) {
	case NBD_CMD_FLUSH:
		return 0;
	case NBD_CMD_READ:
	case NBD_CMD_WRITE:
		if (r->length > LENGTH_MAX)
			return NBD_EINVAL;
		break;
	case NBD_CMD_TRIM:
	case NBD_CMD_WRITE_ZEROES:
		break;
	default:
		return NBD_EINVAL;
	}
	if (is_write(r) && e->read_only)
		return NBD_EPERM;
	if (r->offset > e->size || r->length > e->size - r->offset)
		return r->command == NBD_CMD_READ || r->command == NBD_CMD_TRIM ? NBD_EINVAL :
										 NBD_ENOSPC;
	return 0;
}

/* Return: one without a buffer, or with one; or NULL. */
static struct request *request_alloc(struct connection *c)
{
	struct request *r;

	pthread_mutex_lock(&c->lock);
	r = c->spare;
	if (r)
		c->spare = r->next;
	pthread_mutex_unlock(&c->lock);
	if (!r)
		r = calloc(1, sizeof(*r));
	if (r)
		r->connection = c;
	return r;
}

static void drop_buffer(struct request *r)
{
	free(r->block);
	r->buffer = r->block = NULL;
	r->room = 0;
}

static uint32_t make_room(struct request *r)
{
	size_t room = r->payload < ALIGNMENT ? ALIGNMENT : r->payload;
	void *buffer;

	if (r->room >= room)
		return 0;
	drop_buffer(r);
	if (posix_memalign(&buffer, ALIGNMENT, room))
		return NBD_ENOMEM;
	r->buffer = r->block = buffer;
	r->room = room;
	return 0;
}

/**
 * request_swap - take what has come in as the buffer of a request, and give one for what will
 * @r: a request with a payload, which lies behind ALIGNMENT bytes of @in
 * @in: in and out, of IN_SIZE bytes
 *
 * Return: it was done; else there is no memory, and nothing has happened.
 */
bool request_swap(struct request *r, unsigned char **in)
{
	unsigned char *block = r->block;
	void *other;

	/* One that was swapped before is of that size. */
	if (block == r->buffer) {
		if (posix_memalign(&other, ALIGNMENT, IN_SIZE))
			return false;
		free(block);
		block = other;
	}
	r->block = *in;
	r->buffer = *in + ALIGNMENT;
	r->room = IN_ROOM;
	*in = block;
	return true;
}

/**
 * request_new - make a request
 * @c: whose; it has room for it
 * @head: as it came
 *
 * Return: it, with an error if it is wrong; %NULL: no memory.
 */
struct request *request_new(struct connection *c, const unsigned char *head)
{
	struct request *r = request_alloc(c);

	if (!r)
		return NULL;
	fom_init(&r->fom, &request_type, &server.service);
	long_lock_link_init(&r->output, &r->fom);
	r->flags = get16(head + 4);
	r->command = get16(head + 6);
	r->cookie = get64(head + 8);
	r->offset = get64(head + 16);
	r->length = r->command == NBD_CMD_FLUSH ? 0 : get32(head + 24);
	r->piece = 0;
	r->locks = r->locked = 0;
	r->submitted = false;
	r->error = check(r);
	r->payload = !r->error && r->command <= NBD_CMD_WRITE ? r->length : 0;
	if (r->payload)
		r->error = make_room(r);
	r->charged = r->payload;

	pthread_mutex_lock(&c->lock);
	c->references++;
	c->requests++;
	c->bytes += r->charged;
	pthread_mutex_unlock(&c->lock);
	return r;
}

/**
 * request_free - the end of a request, which has ended or was not queued
 * @r: the request
 */
void request_free(struct request *r)
{
	if (r->room > KEPT_ROOM)
		drop_buffer(r);
	connection_put(r->connection, r);
}

/**
 * request_start - queue a request; its end is its own from now on
 * @r: the request
 *
 * Return: 0 or a negative errno: it has ended.
 */
int request_start(struct request *r)
{
	int rc = fom_queue(&r->fom);

	if (rc && rc != -ESHUTDOWN)
		request_fini(&r->fom);
	return rc;
}
