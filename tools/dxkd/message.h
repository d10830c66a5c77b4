/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests and answers as messages of AMQP. This is the only place that reads what others wrote.
 */
#ifndef _DXKD_MESSAGE_H
#define _DXKD_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <amqp.h>
#include <amqp_framing.h>

#include "config.h"

#define DATA_MAX	4096	/* bytes of data of a request, and of its result */
#define INSTANCE_LEN	37	/* a uuid as text, with the zero */
#define ID_LEN		64
#define REPLY_TO_LEN	96
#define TRACE_LEN	56

/* Attributes that a request has on its way; all others are its own context's. */
#define TRAVELS		(PXR_REDO | PXR_BOOST | PXR_LANE0 | PXR_LANE1 | PXR_LANE2)

/**
 * struct id - what names one dispatch of one importer
 * @instance: a run of a daemon
 * @place: of its worker, 1..499
 * @ticket: dxk_work.ticket
 */
struct id {
	char instance[INSTANCE_LEN];
	unsigned int place;
	uint64_t ticket;
};

/* As text, of ID_LEN bytes */
void id_write(const struct id *id, char *text);
/* Only what id_write() writes: false for anything else. */
bool id_read(const char *text, size_t len, struct id *id);
/*
 * Its traceparent as of W3C Trace Context, of TRACE_LEN bytes. It is derived from the id, so that
 * the logs of all hosts name a request alike.
 */
void id_trace(const struct id *id, char *text);

/**
 * struct request - a request on its way
 * @id: of the dispatch
 * @user: of the broker, who posted it
 * @reply_to: queue that the answer goes to
 * @op: dxk_work.executor
 * @param: dxk_work.param
 * @prio: dxk_work.prio
 * @attrs: those of TRAVELS
 * @lane: as they say
 * @band: priority that its queue keeps, -1 for none
 * @room: for the result
 * @attempt: 1, or more when it was begun before
 * @deliveries: of a quorum queue: how often it was delivered and not answered
 * @deadline_us: CLOCK_REALTIME before which it has to begin, 0 for none
 * @expire_us: CLOCK_REALTIME at which it has to end, 0 for never
 * @has_payload: a sealed file goes with it
 * @payload: bytes of that file
 * @data: its data; in the body of a message the payload follows them
 * @len: bytes of data
 */
struct request {
	char id[ID_LEN];
	char user[WORD_MAX_LEN];
	char reply_to[REPLY_TO_LEN];
	uint64_t op;
	uint64_t param;
	int32_t prio;
	uint32_t attrs;
	unsigned int lane;
	int band;
	uint32_t room;
	uint32_t attempt;
	uint32_t deliveries;
	uint64_t deadline_us;
	uint64_t expire_us;
	bool has_payload;
	uint32_t payload;
	const void *data;
	size_t len;
};

/**
 * struct reply - an answer on its way
 * @id: of the dispatch
 * @user: of the broker, who answers
 * @status: of the executor, or why there was none
 * @attempt: how often it was begun
 * @data: the result
 * @len: bytes there
 */
struct reply {
	struct id id;
	char user[WORD_MAX_LEN];
	int32_t status;
	uint32_t attempt;
	const void *data;
	size_t len;
};

/**
 * struct rules - what an exporter takes
 * @service: its name
 * @user: of the broker, itself: it may publish for another one
 * @clients: who may post
 * @data_size: of the context
 * @payload_max: bytes
 */
struct rules {
	const char *service;
	const char *user;
	const struct users *clients;
	uint32_t data_size;
	uint32_t payload_max;
};

/* Of request_read(): not to be answered, for who would get the answer? */
#define MESSAGE_REJECT	1

/**
 * request_read - a request from a message
 * @p: its properties
 * @key: its routing key
 * @body: its body, which @request.data points into
 * @rules: what is taken
 * @request: out; after a negative errno only its id and reply_to
 * @why: out, what is wrong with it
 *
 * Return: 0; %MESSAGE_REJECT; -EPROTONOSUPPORT, -EACCES, -EMSGSIZE to be answered
 */
int request_read(const amqp_basic_properties_t *p, amqp_bytes_t key, amqp_bytes_t body,
		 const struct rules *rules, struct request *request, const char **why);

/**
 * reply_read - an answer from a message
 * @p: its properties
 * @body: its body, which @reply.data points into
 * @workers: who may answer
 * @reply: out
 * @why: out, what is wrong with it
 *
 * Return: 0 or %MESSAGE_REJECT
 */
int reply_read(const amqp_basic_properties_t *p, amqp_bytes_t body, const struct users *workers,
	       struct reply *reply, const char **why);

/**
 * struct message - what is published
 * @p: its properties, which point into the rest and into what it was made from
 * @headers: of them
 * @id: of a reply
 * @trace: of a request
 */
struct message {
	amqp_basic_properties_t p;
	amqp_table_entry_t headers[12];
	char id[ID_LEN];
	char trace[TRACE_LEN];
};

/**
 * request_write - a message for a request
 * @request: the request
 * @service: who is to execute it
 * @user: of the broker, who publishes it
 * @now: seconds since 1970
 * @m: out
 */
void request_write(const struct request *request, const char *service, const char *user,
		   uint64_t now, struct message *m);
void reply_write(const struct reply *reply, struct message *m);

/* The priority that a queue keeps of a request. */
int band_of(int32_t prio, int32_t low, int32_t high);

/* The lane that attributes say, -1 when they say several. */
int lane_of(uint32_t attrs);

#endif /* _DXKD_MESSAGE_H */
