// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library sends and expects heartbeats only within its own calls, and waits without limit
 * unless it has a time limit: so it is called often, and never for a write that would not fit.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>

#include "../common/common.h"
#include "link.h"

#define CHANNEL		1
#define FRAME_MAX	131072
#define NSEC_PER_SEC	1000000000ULL
#define BACKOFF_MIN	(NSEC_PER_SEC / 5)
#define BACKOFF_MAX	(10 * NSEC_PER_SEC)
#define MINUTE		(60 * NSEC_PER_SEC)
#define REFUSED		MINUTE			/* between retries that need an operator */
#define ANSWER_S	5
#define ROOM		64
#define NOTES_MAX	20
#define LARGE		8192	/* bytes; what is shorter fits */
#define SLICE		(NSEC_PER_SEC / 10)	/* of one connection, while others wait */

void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: ", tool);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

void note_reject(struct rejects *r, const char *role, const char *service, const char *why)
{
	uint64_t now = now_ns();

	r->nr++;
	if (r->logged && now - r->logged < MINUTE)
		return;
	note("%s %s: %u rejected, the last one: %s", role, service, r->nr, why);
	r->nr = 0;
	r->logged = now;
}

void note_request(struct notes *n, const char *role, const char *service, const char *trace,
		  const char *format, ...)
{
	uint64_t now = now_ns();
	char text[128];
	va_list args;

	if (!n->since || now - n->since >= MINUTE)
		*n = (struct notes){ .since = now };
	if (++n->nr > NOTES_MAX + 1)
		return;
	if (n->nr > NOTES_MAX) {
		note("%s %s: no more lines about requests in this minute", role, service);
		return;
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	note("%s %s: %s: %s", role, service, trace, text);
}

void link_init(struct link *link, const struct broker *broker, const char *name,
	       const struct link_ops *ops, void *owner)
{
	*link = (struct link){
		.broker = broker, .ops = ops, .owner = owner, .backoff = BACKOFF_MIN,
		.first = 1, .next = 1, .room = ROOM, .changed = (uint64_t)time(NULL),
	};
	snprintf(link->name, sizeof(link->name), "%s", name);
	link->ring = calloc(ROOM, sizeof(*link->ring));
	if (!link->ring)
		abort();
}

/* --- errors ---------------------------------------------------------------- */

/* The broker does not say how large a message may be, except when it refuses one that is larger. */
static uint64_t largest(const struct link *link)
{
	const char *size = link->code == 406 ? strstr(link->why, "message size ") : NULL;
	unsigned long long limit;

	if (!size || sscanf(size, "message size %*u is larger than %*[a-z ] %llu", &limit) != 1)
		return 0;
	return limit;
}

static void broker_says(struct link *link, unsigned int code, amqp_bytes_t text)
{
	link->code = code;
	snprintf(link->why, sizeof(link->why), "%.*s", (int)text.len, (char *)text.bytes);
	link->largest = largest(link);
}

static bool bad(struct link *link, const char *what, int status)
{
	link->code = 0;
	snprintf(link->why, sizeof(link->why), "%s: %s", what, amqp_error_string2(status));
	return false;
}

static void closed(struct link *link, const amqp_method_t *method)
{
	if (method->id == AMQP_CHANNEL_CLOSE_METHOD) {
		amqp_channel_close_t *c = method->decoded;

		broker_says(link, c->reply_code, c->reply_text);
	} else if (method->id == AMQP_CONNECTION_CLOSE_METHOD) {
		amqp_connection_close_t *c = method->decoded;

		broker_says(link, c->reply_code, c->reply_text);
	} else {
		bad(link, "the broker", AMQP_STATUS_WRONG_METHOD);
	}
}

static bool answered(struct link *link, const char *what, amqp_rpc_reply_t r)
{
	switch (r.reply_type) {
	case AMQP_RESPONSE_NORMAL:
		return true;
	case AMQP_RESPONSE_SERVER_EXCEPTION:
		closed(link, &r.reply);
		return false;
	default:
		return bad(link, what, r.library_error);
	}
}

static bool done(struct link *link, const char *what)
{
	return answered(link, what, amqp_get_rpc_reply(link->conn));
}

/* --- connecting ------------------------------------------------------------ */

static amqp_socket_t *socket_of(struct link *link, const struct node *node)
{
	const struct broker *b = link->broker;
	amqp_socket_t *s;
	int status;

	if (node->plain)
		return amqp_tcp_socket_new(link->conn);
	s = amqp_ssl_socket_new(link->conn);
	if (!s)
		return NULL;
	status = amqp_ssl_socket_set_cacert(s, b->ca);
	if (status) {
		bad(link, b->ca, status);
		return NULL;
	}
	if (b->certificate) {
		status = amqp_ssl_socket_set_key(s, b->certificate, b->key);
		if (status) {
			bad(link, b->certificate, status);
			return NULL;
		}
	}
	amqp_ssl_socket_set_verify_peer(s, 1);
	amqp_ssl_socket_set_verify_hostname(s, 1);
	status = amqp_ssl_socket_set_ssl_versions(s, AMQP_TLSv1_2, AMQP_TLSvLATEST);
	if (status) {
		bad(link, "TLS", status);
		return NULL;
	}
	return s;
}

static bool login(struct link *link)
{
	const struct broker *b = link->broker;
	amqp_table_entry_t can[2] = {
		{ amqp_cstring_bytes("connection.blocked"),
		  { AMQP_FIELD_KIND_BOOLEAN, { .boolean = 1 } } },
		{ amqp_cstring_bytes("consumer_cancel_notify"),
		  { AMQP_FIELD_KIND_BOOLEAN, { .boolean = 1 } } },
	};
	amqp_table_entry_t ours[2] = {
		{ amqp_cstring_bytes("capabilities"),
		  { AMQP_FIELD_KIND_TABLE, { .table = { 2, can } } } },
		{ amqp_cstring_bytes("connection_name"),
		  { AMQP_FIELD_KIND_UTF8, { .bytes = amqp_cstring_bytes(link->name) } } },
	};
	amqp_table_t properties = { 2, ours };
	amqp_rpc_reply_t r;

	r = amqp_login_with_properties(link->conn, b->vhost, CHANNEL, FRAME_MAX,
				       (int)b->heartbeat, &properties, AMQP_SASL_METHOD_PLAIN,
				       b->user, b->password);
	return answered(link, "login", r);
}

static bool open_channel(struct link *link)
{
	amqp_channel_open(link->conn, CHANNEL);
	if (!done(link, "channel"))
		return false;
	amqp_confirm_select(link->conn, CHANNEL);
	return done(link, "confirms");
}

static bool connect_to(struct link *link, const struct node *node)
{
	struct timeval limit = { ANSWER_S, 0 };
	unsigned int silence = link->broker->heartbeat * 2000;
	amqp_socket_t *s;
	int status;

	link->conn = amqp_new_connection();
	if (!link->conn)
		return bad(link, "the connection", AMQP_STATUS_NO_MEMORY);
	strcpy(link->why, "no socket");
	link->code = 0;
	s = socket_of(link, node);
	if (!s)
		return false;
	amqp_set_handshake_timeout(link->conn, &limit);
	amqp_set_rpc_timeout(link->conn, &limit);
	status = amqp_socket_open_noblock(s, node->host, (int)node->port, &limit);
	if (status)
		return bad(link, "connect", status);
	/* Written data is acked by the peer's kernel, or a write ends. */
	setsockopt(amqp_get_sockfd(link->conn), IPPROTO_TCP, TCP_USER_TIMEOUT, &silence,
		   sizeof(silence));
	return login(link) && open_channel(link);
}

static void drop(struct link *link)
{
	if (link->conn)
		amqp_destroy_connection(link->conn);
	link->conn = NULL;
	memset(link->ring, 0, link->room * sizeof(*link->ring));
	link->first = link->next = 1;
	link->blocked = link->unread = link->asked = false;
	link->heard = 0;
}

bool link_is_refused(const struct link *link)
{
	return link->code == 403 || link->code == 530 || (link->code == 406 && !link->largest);
}

static void later(struct link *link, uint64_t now)
{
	uint64_t wait = link->backoff;

	if (link_is_refused(link))
		wait = REFUSED;
	wait += wait * (uint64_t)(random() % 256) / 1024;
	link->retry = now + wait;
	link->backoff = link->backoff * 2 < BACKOFF_MAX ? link->backoff * 2 : BACKOFF_MAX;
	link->node = (link->node + 1) % link->broker->nr_nodes;
	if (strcmp(link->said, link->why))
		note("%s: %s", link->name, link->why);
	strcpy(link->said, link->why);
}

static void lost(struct link *link, uint64_t now)
{
	bool was = link->up;

	link->up = false;
	drop(link);
	if (was) {
		link->changed = (uint64_t)time(NULL);
		link->ops->down(link);
	}
	later(link, now);
}

static void try(struct link *link, uint64_t now)
{
	const struct node *node = &link->broker->nodes[link->node];

	if (connect_to(link, node)) {
		link->epoch++;
		if (link->ops->up(link)) {
			note("%s: up at %s:%u", link->name, node->host, node->port);
			link->up = true;
			link->since = now;
			link->changed = (uint64_t)time(NULL);
			link->backoff = BACKOFF_MIN;
			*link->said = '\0';
			return;
		}
	}
	drop(link);
	later(link, now_ns());
}

/* --- input ------------------------------------------------------------------ */

static void confirmed(struct link *link, uint64_t tag, bool multiple, bool taken)
{
	uint64_t i = multiple ? link->first : tag;
	void *what;

	link->heard = now_ns();
	link->asked = false;
	for (; i <= tag && i < link->next; i++) {
		if (i < link->first)
			continue;
		what = link->ring[i % link->room];
		link->ring[i % link->room] = NULL;
		if (what)
			link->ops->confirmed(link, what, taken);
	}
	while (link->first < link->next && !link->ring[link->first % link->room])
		link->first++;
}

/* One frame: false when the connection is over. */
static bool frame(struct link *link, const amqp_frame_t *f)
{
	const amqp_method_t *method = &f->payload.method;
	amqp_message_t message;

	if (f->frame_type != AMQP_FRAME_METHOD)
		return bad(link, "the broker", AMQP_STATUS_UNEXPECTED_STATE);
	switch (method->id) {
	case AMQP_BASIC_DELIVER_METHOD:
	case AMQP_BASIC_RETURN_METHOD:
		if (!answered(link, "a message",
			      amqp_read_message(link->conn, f->channel, &message, 0)))
			return false;
		if (method->id == AMQP_BASIC_DELIVER_METHOD)
			link->ops->deliver(link, method->decoded, &message);
		else
			link->ops->returned(link, &message);
		amqp_destroy_message(&message);
		return true;
	case AMQP_BASIC_ACK_METHOD: {
		const amqp_basic_ack_t *a = method->decoded;

		confirmed(link, a->delivery_tag, a->multiple, true);
		return true;
	}
	case AMQP_BASIC_NACK_METHOD: {
		const amqp_basic_nack_t *a = method->decoded;

		confirmed(link, a->delivery_tag, a->multiple, false);
		return true;
	}
	case AMQP_CONNECTION_BLOCKED_METHOD:
		note("%s: the broker takes no messages", link->name);
		link->blocked = true;
		return true;
	case AMQP_CONNECTION_UNBLOCKED_METHOD:
		note("%s: the broker takes messages again", link->name);
		link->blocked = false;
		return true;
	case AMQP_BASIC_CANCEL_METHOD:
		link->code = 0;
		strcpy(link->why, "the queue was deleted");
		return false;
	case AMQP_CHANNEL_CLOSE_METHOD:
	case AMQP_CONNECTION_CLOSE_METHOD:
		closed(link, method);
		return false;
	}
	return true;
}

uint64_t link_run(struct link *link, uint64_t now)
{
	struct timeval none = { 0, 0 };
	uint64_t until;
	amqp_frame_t f;
	int status;

	if (!link->conn && now >= link->retry) {
		try(link, now);
		now = now_ns();
	}
	if (!link->conn)
		return link->retry;
	until = now_ns() + SLICE;
	do {
		amqp_maybe_release_buffers(link->conn);
		status = amqp_simple_wait_frame_noblock(link->conn, &f, &none);
		link->unread = status != AMQP_STATUS_TIMEOUT;
		/* ours is due after a whole one, and the broker's wakes us earlier */
		if (!link->unread)
			return now + link->broker->heartbeat * NSEC_PER_SEC * 3 / 4;
		if (status != AMQP_STATUS_OK)
			bad(link, "the connection", status);
		if (status != AMQP_STATUS_OK || !frame(link, &f)) {
			lost(link, now);
			return link->retry;
		}
	} while (now_ns() < until);
	return now;
}

int link_fd(const struct link *link)
{
	return link->conn ? amqp_get_sockfd(link->conn) : -1;
}

void link_drop(struct link *link)
{
	if (link->conn && link->up)
		amqp_connection_close(link->conn, AMQP_REPLY_SUCCESS);
	if (link->up)
		link->changed = (uint64_t)time(NULL);
	link->up = false;
	drop(link);
}

void link_close(struct link *link)
{
	link_drop(link);
	free(link->ring);
	link->ring = NULL;
}

/* --- output ------------------------------------------------------------------ */

bool link_writable(struct link *link)
{
	struct pollfd p = { link_fd(link), POLLOUT, 0 };

	return link->up && !link->blocked && poll(&p, 1, 0) == 1 && p.revents & POLLOUT;
}

static bool sent(struct link *link, int status)
{
	if (status == AMQP_STATUS_OK)
		return true;
	/* link_run() learns the same from the socket */
	shutdown(link_fd(link), SHUT_RDWR);
	return false;
}

static void grow(struct link *link)
{
	void **ring = calloc(link->room * 2, sizeof(*ring));
	uint64_t i;

	if (!ring)
		abort();
	for (i = link->first; i < link->next; i++)
		ring[i % (link->room * 2)] = link->ring[i % link->room];
	free(link->ring);
	link->ring = ring;
	link->room *= 2;
}

bool link_publish(struct link *link, const char *exchange, const char *key, bool mandatory,
		  const amqp_basic_properties_t *p, const void *data, size_t len, void *what)
{
	if (link->next - link->first == link->room)
		grow(link);
	link->ring[link->next++ % link->room] = what;
	return sent(link, amqp_basic_publish(link->conn, CHANNEL, amqp_cstring_bytes(exchange),
					     amqp_cstring_bytes(key), mandatory, 0, p,
					     (amqp_bytes_t){ len, (void *)data }));
}

bool link_takes(struct link *link, const char *exchange, size_t len)
{
	static const amqp_basic_properties_t nothing;

	if (!link_writable(link))
		return false;
	if (len <= LARGE || (link->heard && now_ns() - link->heard < SLICE))
		return true;
	if (!link->asked)
		link_publish(link, exchange, "", false, &nothing, NULL, 0, NULL);
	link->asked = true;
	return false;
}

bool link_ack(struct link *link, uint64_t tag)
{
	return sent(link, amqp_basic_ack(link->conn, CHANNEL, tag, 0));
}

bool link_reject(struct link *link, uint64_t tag)
{
	return sent(link, amqp_basic_reject(link->conn, CHANNEL, tag, 0));
}

/* --- queues ------------------------------------------------------------------ */

bool link_exchange(struct link *link, const char *name, const char *type)
{
	amqp_exchange_declare(link->conn, CHANNEL, amqp_cstring_bytes(name),
			      amqp_cstring_bytes(type), 0, 1, 0, 0, amqp_empty_table);
	return done(link, name);
}

bool link_exchange_exists(struct link *link, const char *name)
{
	amqp_exchange_declare(link->conn, CHANNEL, amqp_cstring_bytes(name),
			      amqp_cstring_bytes("direct"), 1, 1, 0, 0, amqp_empty_table);
	return done(link, name);
}

/*
 * A durable queue that is not replicated, and whose node is away: it exists with its bindings, and
 * who consumes from it is told. The broker has closed the channel, so there is a new one.
 */
static bool is_away(struct link *link)
{
	amqp_channel_close_ok_t closed = { 0 };

	return link->code == 404 && strstr(link->why, "home node") &&
	       !amqp_send_method(link->conn, CHANNEL, AMQP_CHANNEL_CLOSE_OK_METHOD, &closed) &&
	       open_channel(link);
}

bool link_queue(struct link *link, const char *name, amqp_table_t arguments)
{
	amqp_queue_declare(link->conn, CHANNEL, amqp_cstring_bytes(name), 0, 1, 0, 0, arguments);
	return done(link, name) || is_away(link);
}

bool link_queue_exists(struct link *link, const char *name)
{
	amqp_queue_declare(link->conn, CHANNEL, amqp_cstring_bytes(name), 1, 1, 0, 0,
			   amqp_empty_table);
	return done(link, name) || is_away(link);
}

bool link_bind(struct link *link, const char *queue, const char *exchange, const char *key)
{
	amqp_queue_bind(link->conn, CHANNEL, amqp_cstring_bytes(queue),
			amqp_cstring_bytes(exchange), amqp_cstring_bytes(key), amqp_empty_table);
	return done(link, queue) || is_away(link);
}

bool link_consume(struct link *link, const char *queue, const char *consumer,
		  unsigned int prefetch)
{
	amqp_basic_qos(link->conn, CHANNEL, 0, (uint16_t)prefetch, 0);
	if (!done(link, "prefetch"))
		return false;
	amqp_basic_consume(link->conn, CHANNEL, amqp_cstring_bytes(queue),
			   amqp_cstring_bytes(consumer), 0, 0, 0, amqp_empty_table);
	return done(link, queue);
}

bool link_cancel(struct link *link, const char *consumer)
{
	amqp_basic_cancel(link->conn, CHANNEL, amqp_cstring_bytes(consumer));
	if (done(link, consumer))
		return true;
	shutdown(link_fd(link), SHUT_RDWR);
	return false;
}
