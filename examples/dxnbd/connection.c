// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Connections: a fom for each, which reads requests and queues them. See dxnbd.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dxnbd.h"

/* How long a handshake may take */
#define HANDSHAKE_NS	(30ULL * 1000000000)
/* A payload below that is copied, whatever else could be done */
#define COPIED		2048

enum { HELLO = 2, SERVE, PHASES };

/* What one step has come to */
enum step { MORE, FULL, NEXT, END };

/* --- input --------------------------------------------------------------------------- */

static int ends(struct connection *c)
{
	fom_timeout_cancel(&c->late);
	fom_phase_set(&c->fom, FOM_PHASE_FINISH);
	return FSO_WAIT;
}

/* Reads more: into a large payload itself, else into what is there for all. */
static int more(struct connection *c)
{
	unsigned char *to = c->in + c->to;
	size_t room;
	ssize_t n;

	/* Level-triggered: it is not asked whether there is something where nothing was left. */
	if (c->dry) {
		c->dry = false;
		return fom_wait_fd(&c->fom, c->fd, EPOLLIN);
	}
	if (c->filling) {
		to = c->filling->buffer + c->filled;
		room = c->filling->payload - c->filled;
	}
	if (!c->filling || room < IN_ROOM) {
		memmove(c->in + IN_BEGIN, c->in + c->from, c->to - c->from);
		c->to -= c->from - IN_BEGIN;
		c->from = IN_BEGIN;
		to = c->in + c->to;
		room = IN_SIZE - c->to;
	}
	n = recv(c->fd, to, room, MSG_DONTWAIT);
	if (n < 0 && errno == EINTR)
		return FSO_AGAIN;
	if (n < 0 && errno == EAGAIN)
		return fom_wait_fd(&c->fom, c->fd, EPOLLIN);
	if (n <= 0)
		return ends(c);
	c->dry = (size_t)n < room;
	if (to == c->in + c->to)
		c->to += (size_t)n;
	else
		c->filled += (size_t)n;
	return FSO_AGAIN;
}

/* --- the handshake --------------------------------------------------------------------- */

static int hello(struct connection *c)
{
	ssize_t n;

	if (fom_reason(&c->fom) == FOM_WOKEN_TIMEOUT)
		return ends(c);
	while (c->sent < c->queued) {
		n = send(c->fd, c->out + c->sent, c->queued - c->sent,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return fom_wait_fd(&c->fom, c->fd, EPOLLOUT);
		if (n < 0 && errno != EINTR)
			return ends(c);
		c->sent += n > 0 ? (size_t)n : 0;
	}
	c->sent = c->queued = 0;
	if (c->last)
		return ends(c);
	if (c->ready) {
		fom_timeout_cancel(&c->late);
		fom_phase_set(&c->fom, SERVE);
		return FSO_AGAIN;
	}
	return handshake_step(c) ? FSO_AGAIN : more(c);
}

/* --- requests ---------------------------------------------------------------------------- */

/* So much may come, whatever it is. */
static bool is_full(struct connection *c)
{
	pthread_mutex_lock(&c->lock);
	c->full = c->requests >= REQUESTS_MAX || c->bytes + LENGTH_MAX > BYTES_MAX;
	pthread_mutex_unlock(&c->lock);
	return c->full;
}

static enum step start(struct request *r)
{
	return request_start(r) ? END : NEXT;
}

static enum step take_payload(struct connection *c)
{
	struct request *r = c->filling;
	size_t n = c->to - c->from, missing = r->payload - c->filled;

	/* It is all that has come, and in its place. */
	if (!c->filled && n == r->payload && n >= COPIED && c->from == ALIGNMENT &&
	    request_swap(r, &c->in)) {
		c->from = c->to = IN_BEGIN;
		c->filling = NULL;
		return start(r);
	}
	n = n < missing ? n : missing;
	memcpy(r->buffer + c->filled, c->in + c->from, n);
	c->from += n;
	c->filled += n;
	if (c->filled < r->payload)
		return MORE;
	c->filling = NULL;
	return start(r);
}

/* The payload of one that is refused */
static enum step skip_payload(struct connection *c)
{
	struct request *r = c->refused;
	size_t n = c->to - c->from;

	n = n < c->skip ? n : (size_t)c->skip;
	c->from += n;
	c->skip -= n;
	if (c->skip)
		return MORE;
	c->refused = NULL;
	return start(r);
}

static enum step take_request(struct connection *c)
{
	const unsigned char *head = c->in + c->from;
	struct request *r;

	if (c->to - c->from < NBD_REQUEST_LEN)
		return MORE;
	/* Where the next one begins is not known then. */
	if (get32(head) != NBD_REQUEST || get16(head + 6) == NBD_CMD_DISC)
		return END;
	if (is_full(c))
		return FULL;
	r = request_new(c, head);
	if (!r)
		return END;
	c->from += NBD_REQUEST_LEN;
	if (r->command != NBD_CMD_WRITE || !r->length)
		return start(r);
	if (r->error) {
		c->refused = r;
		c->skip = r->length;
	} else {
		c->filling = r;
		c->filled = 0;
	}
	return NEXT;
}

static int serve(struct connection *c)
{
	enum step step = NEXT;

	while (step == NEXT) {
		/* What was read before is done. */
		if (atomic_load(&server.draining))
			step = END;
		else if (c->filling)
			step = take_payload(c);
		else if (c->refused)
			step = skip_payload(c);
		else
			step = take_request(c);
	}
	if (step == MORE)
		return more(c);
	/* The end of a request will wake it. */
	return step == FULL ? FSO_WAIT : ends(c);
}

/* --- the fom ----------------------------------------------------------------------------- */

static int connection_tick(struct fom *fom)
{
	struct connection *c = (struct connection *)fom;

	if (atomic_load(&server.draining))
		return ends(c);
	if (fom_phase(fom) == FOM_PHASE_INIT) {
		fom_timeout_wait_on(&c->late, fom, now_ns() + HANDSHAKE_NS);
		handshake_greet(c);
		fom_phase_set(fom, HELLO);
	}
	return fom_phase(fom) == HELLO ? hello(c) : serve(c);
}

static void connection_fini(struct fom *fom)
{
	struct connection *c = (struct connection *)fom;
	struct request *half = c->filling ? c->filling : c->refused;

	fom_fini(fom);
	if (half) {
		fom_fini(&half->fom);
		request_free(half);
	}
	connection_put(c, NULL);
}

static const struct fom_ops connection_ops = {
	.tick = connection_tick, .fini = connection_fini,
};

static const struct fom_phase connection_phases[PHASES] = {
	[FOM_PHASE_INIT] = { .name = "init",
			     .allowed = FOM_PHASE(HELLO) | FOM_PHASE(FOM_PHASE_FINISH) },
	[FOM_PHASE_FINISH] = { .name = "finish" },
	[HELLO] = { .name = "hello", .allowed = FOM_PHASE(SERVE) | FOM_PHASE(FOM_PHASE_FINISH) },
	[SERVE] = { .name = "serve", .allowed = FOM_PHASE(FOM_PHASE_FINISH) },
};

static struct fom_type connection_type = {
	.name = "connection", .ops = &connection_ops, .phases = connection_phases,
	.nr_phases = PHASES, .flags = FOM_QUIET,
};

/* --- life -------------------------------------------------------------------------------- */

/* Nobody has it any more. */
static void connection_free(struct connection *c)
{
	struct request *r;

	connection_gone(c);
	/* What has come and was not read would have the kernel tell the client of an error. */
	shutdown(c->fd, SHUT_WR);
	for (int i = 0; i < 64 && recv(c->fd, c->in, IN_SIZE, MSG_DONTWAIT) > 0; i++)
		;
	close(c->fd);
	while ((r = c->spare)) {
		c->spare = r->next;
		free(r->block);
		free(r);
	}
	long_lock_fini(&c->output);
	pthread_mutex_destroy(&c->lock);
	free(c->in);
	free(c);
}

/**
 * connection_put - somebody needs a connection no longer
 * @c: the connection
 * @spare: a request that has ended; or %NULL: the fom has
 */
void connection_put(struct connection *c, struct request *spare)
{
	bool gone;

	pthread_mutex_lock(&c->lock);
	if (spare) {
		c->requests--;
		c->bytes -= spare->charged;
		spare->next = c->spare;
		c->spare = spare;
		/* Not for each: it reads many at a time. */
		if (c->full && c->requests <= REQUESTS_MAX / 2 && c->bytes <= BYTES_MAX / 2) {
			c->full = false;
			fom_wakeup(&c->fom);
		}
	}
	gone = !--c->references;
	pthread_mutex_unlock(&c->lock);
	if (gone)
		connection_free(c);
}

/**
 * connection_start - serve a client
 * @c: it, in the list of all; its socket is set
 *
 * Return: 0 or a negative errno: it has ended.
 */
int connection_start(struct connection *c)
{
	int rc;

	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &(int){ 1 }, sizeof(int));
	pthread_mutex_init(&c->lock, NULL);
	long_lock_init(&c->output);
	fom_timeout_init(&c->late);
	c->references = 1;
	fom_init(&c->fom, &connection_type, &server.service);
	rc = fom_queue(&c->fom);
	if (rc && rc != -ESHUTDOWN)
		connection_fini(&c->fom);
	return rc;
}
