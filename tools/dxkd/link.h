/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection to a broker with one channel, which is made again whenever it breaks.
 */
#ifndef _DXKD_LINK_H
#define _DXKD_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <amqp.h>
#include <amqp_framing.h>

#include "config.h"

struct link;

/**
 * struct link_ops - the functions of its owner; none of them frees the link
 * @up: it is connected: declare and consume, with link_*() below. False: it is not
 *	usable, @why is the reason
 * @down: it was up, and broke
 * @deliver: a message of a queue that is consumed
 * @confirmed: the broker has a published message, or, without @taken, has refused it
 * @returned: there is no queue for a published message; it is confirmed after this
 */
struct link_ops {
	bool (*up)(struct link *link);
	void (*down)(struct link *link);
	void (*deliver)(struct link *link, const amqp_basic_deliver_t *d,
			const amqp_message_t *message);
	void (*confirmed)(struct link *link, void *what, bool taken);
	void (*returned)(struct link *link, const amqp_message_t *message);
};

/**
 * struct link - one connection
 * @broker: to which broker
 * @ops: of the owner
 * @owner: is the owner's
 * @name: for messages
 * @conn: the library's, NULL without a connection
 * @up: can be used
 * @blocked: the broker accepts no messages, because it lacks memory or disk
 * @unread: more has come than link_run() has read
 * @asked: link_takes() has sent something to be confirmed
 * @node: which node is tried next
 * @epoch: how many connections there were: a delivery is acked only on its own connection
 * @since: when it came up
 * @heard: when it last confirmed something
 * @changed: when it came up or broke, in seconds since 1970
 * @retry: when to connect again
 * @backoff: ns until the try after that
 * @code: of the last error that the broker reported, such as 404; 0 for other errors
 * @largest: if that refused a message for its size, the bytes that one may have; else 0
 * @why: the last error in words
 * @said: the text that was logged of it
 * @ring: the subject of each unconfirmed message, by its number
 * @room: elements of @ring, a power of two
 * @first: number of the oldest message that is not confirmed
 * @next: number of the next message
 */
struct link {
	const struct broker *broker;
	const struct link_ops *ops;
	void *owner;
	char name[80];
	amqp_connection_state_t conn;
	bool up, blocked, unread, asked;
	unsigned int node;
	uint64_t epoch;
	uint64_t since;
	uint64_t heard;
	uint64_t changed;
	uint64_t retry;
	uint64_t backoff;
	unsigned int code;
	uint64_t largest;
	char why[320];
	char said[320];
	void **ring;
	uint64_t room, first, next;
};

void link_init(struct link *link, const struct broker *broker, const char *name,
	       const struct link_ops *ops, void *owner);
/* Ends the connection properly, as far as the broker answers; link_run() makes another. */
void link_drop(struct link *link);
/* The same, permanently */
void link_close(struct link *link);

/**
 * link_run - do all that can be done now: connect, read, call the owner
 * @link: the link
 * @now: CLOCK_MONOTONIC
 *
 * Nothing of it waits, except a connect, which takes as long as the broker does, up to 5 s for
 * each of its answers. It reads for a tenth of a second at most.
 *
 * Return: when to call it again if nothing is to be read earlier
 */
uint64_t link_run(struct link *link, uint64_t now);
/* Whether the broker refuses it. That needs an operator; other errors pass on their own. */
bool link_is_refused(const struct link *link);
/* To be polled for input, -1 for none. */
int link_fd(const struct link *link);

/* Whether a message can be published without waiting for the broker. */
bool link_writable(struct link *link);

/**
 * link_takes - whether a large message can be published
 * @link: the link
 * @exchange: to which, with no queue for an empty key
 * @len: bytes of it
 *
 * A broker that lacks memory tells so when it gets a message, and reads no more of it: what does
 * not fit between the two would then have to be waited for. So it has to have confirmed a message
 * a moment ago, for which it is sent an empty one if necessary.
 *
 * Return: as link_writable(); if false it is to be asked again after link_run()
 */
bool link_takes(struct link *link, const char *exchange, size_t len);

/**
 * link_publish - publish a persistent message
 * @link: for which link_writable() was true
 * @exchange: to which
 * @key: routing key
 * @mandatory: have it returned if there is no queue for it
 * @p: properties
 * @data: body
 * @len: bytes there
 * @what: for ops->confirmed()
 *
 * Return: false when the connection broke: link_run() notifies the owner
 */
bool link_publish(struct link *link, const char *exchange, const char *key, bool mandatory,
		  const amqp_basic_properties_t *p, const void *data, size_t len, void *what);
bool link_ack(struct link *link, uint64_t tag);
/* To the queue of messages that are not understood. */
bool link_reject(struct link *link, uint64_t tag);

/* For ops->up(): false with @why. */
bool link_exchange(struct link *link, const char *name, const char *type);
bool link_exchange_exists(struct link *link, const char *name);
bool link_queue(struct link *link, const char *name, amqp_table_t arguments);
bool link_queue_exists(struct link *link, const char *name);
bool link_bind(struct link *link, const char *queue, const char *exchange, const char *key);
/* At most @prefetch messages are delivered that are not acked. @consumer is its name for us. */
bool link_consume(struct link *link, const char *queue, const char *consumer,
		  unsigned int prefetch);
/* No more are delivered, except those on their way. False when the connection broke. */
bool link_cancel(struct link *link, const char *consumer);

/**
 * struct rejects - messages of a service that were rejected
 * @nr: of them the log does not have yet
 * @logged: when it had the last ones, 0: never
 */
struct rejects {
	unsigned int nr;
	uint64_t logged;
};

/* Counts one more; they are logged once a minute. */
void note_reject(struct rejects *r, const char *role, const char *service, const char *why);

/**
 * struct notes - lines about single requests of a service: the first ones of each minute
 * @since: when this minute began, 0: never
 * @nr: lines in it
 */
struct notes {
	uint64_t since;
	unsigned int nr;
};

/* One more, with the traceparent of the request */
void note_request(struct notes *n, const char *role, const char *service, const char *trace,
		  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A line of the log */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif /* _DXKD_LINK_H */
