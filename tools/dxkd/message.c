// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a message says is foreign: it has one spelling, and each part of it has a type, a range,
 * and has to agree with the others.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

#define APP_ID		"dxk/1"
#define REPLY_PREFIX	"dxk.reply."
#define PLACE_MAX	499
#define ATTEMPT_MAX	1000000
#define HOUR_US		3600000000ULL

static bool same(amqp_bytes_t bytes, const char *text)
{
	return bytes.len == strlen(text) && !memcmp(bytes.bytes, text, bytes.len);
}

/* --- ids ------------------------------------------------------------------- */

static bool lower_hex(char c)
{
	return isdigit((unsigned char)c) || (c >= 'a' && c <= 'f');
}

static bool is_uuid(const char *text)
{
	unsigned int i;

	for (i = 0; i < INSTANCE_LEN - 1; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-' : !lower_hex(text[i]))
			return false;
	return true;
}

/* Decimal digits up to @end, as they are written: no zero in front. */
static bool read_u64(const char **at, const char *end, uint64_t *value)
{
	const char *p = *at;

	*value = 0;
	if (p == end || !isdigit((unsigned char)*p) || (*p == '0' && p + 1 < end &&
							 isdigit((unsigned char)p[1])))
		return false;
	for (; p < end && isdigit((unsigned char)*p); p++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*p - '0'), value))
			return false;
	*at = p;
	return true;
}

void id_write(const struct id *id, char *text)
{
	snprintf(text, ID_LEN, "%s.%u.%" PRIu64, id->instance, id->place, id->ticket);
}

bool id_read(const char *text, size_t len, struct id *id)
{
	const char *at = text + INSTANCE_LEN, *end = text + len;
	uint64_t place;

	if (len < INSTANCE_LEN || len >= ID_LEN || !is_uuid(text) || at[-1] != '.')
		return false;
	if (!read_u64(&at, end, &place) || place < 1 || place > PLACE_MAX)
		return false;
	if (at == end || *at++ != '.' || !read_u64(&at, end, &id->ticket) || at != end)
		return false;
	memcpy(id->instance, text, INSTANCE_LEN - 1);
	id->instance[INSTANCE_LEN - 1] = '\0';
	id->place = (unsigned int)place;
	return true;
}

void id_trace(const struct id *id, char *text)
{
	const char *i = id->instance;

	snprintf(text, TRACE_LEN, "00-%.8s%.4s%.4s%.4s%.12s-%016" PRIx64 "-01", i, i + 9, i + 14,
		 i + 19, i + 24, id->ticket);
}

/* --- headers --------------------------------------------------------------- */

enum header { OP, PARAM, PRIO, ATTRS, ROOM, ATTEMPT, DEADLINE, EXPIRE, PAYLOAD, FOR, TRACE, STATUS,
	      COUNT, NR_HEADERS };

static const struct {
	const char *key;
	uint8_t kind;
} headers[NR_HEADERS] = {
	[OP] = { "x-dxk-op", AMQP_FIELD_KIND_I64 },
	[PARAM] = { "x-dxk-param", AMQP_FIELD_KIND_I64 },
	[PRIO] = { "x-dxk-prio", AMQP_FIELD_KIND_I32 },
	[ATTRS] = { "x-dxk-attrs", AMQP_FIELD_KIND_I32 },
	[ROOM] = { "x-dxk-room", AMQP_FIELD_KIND_I32 },
	[ATTEMPT] = { "x-dxk-attempt", AMQP_FIELD_KIND_I32 },
	[DEADLINE] = { "x-dxk-deadline", AMQP_FIELD_KIND_I64 },
	[EXPIRE] = { "x-dxk-expire", AMQP_FIELD_KIND_I64 },
	[PAYLOAD] = { "x-dxk-payload", AMQP_FIELD_KIND_I32 },
	[FOR] = { "x-dxk-for", AMQP_FIELD_KIND_UTF8 },
	[TRACE] = { "traceparent", AMQP_FIELD_KIND_UTF8 },
	[STATUS] = { "x-dxk-status", AMQP_FIELD_KIND_I32 },
	[COUNT] = { "x-delivery-count", AMQP_FIELD_KIND_I64 },	/* the broker's */
};

/* Those we know, each with its type and once; ours that we do not know only if @strangers. */
static const char *find(const amqp_basic_properties_t *p, const amqp_field_value_t **found,
			bool strangers)
{
	int i, h;

	memset(found, 0, NR_HEADERS * sizeof(*found));
	if (!(p->_flags & AMQP_BASIC_HEADERS_FLAG))
		return "no headers";
	for (i = 0; i < p->headers.num_entries; i++) {
		const amqp_table_entry_t *e = &p->headers.entries[i];

		for (h = 0; h < NR_HEADERS && !same(e->key, headers[h].key); h++)
			;
		if (h == NR_HEADERS) {
			if (!strangers && e->key.len >= 6 && !memcmp(e->key.bytes, "x-dxk-", 6))
				return "an unknown header";
			continue;
		}
		if (found[h])
			return "a header twice";
		if (e->value.kind != headers[h].kind)
			return "a header of another type";
		found[h] = &e->value;
	}
	return NULL;
}

static bool have(const amqp_field_value_t **found, const enum header *wanted, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!found[wanted[i]])
			return false;
	return true;
}

/* A user's name, as configuration files have them */
static bool read_user(amqp_bytes_t bytes, char *to)
{
	const char *text = bytes.bytes;
	size_t i;

	if (!bytes.len || bytes.len >= WORD_MAX_LEN)
		return false;
	for (i = 0; i < bytes.len; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '-' && text[i] != '_')
			return false;
	memcpy(to, text, bytes.len);
	to[bytes.len] = '\0';
	return true;
}

int lane_of(uint32_t attrs)
{
	switch (attrs & (PXR_LANE0 | PXR_LANE1 | PXR_LANE2)) {
	case 0:
		return 3;
	case PXR_LANE0:
		return 0;
	case PXR_LANE1:
		return 1;
	case PXR_LANE2:
		return 2;
	}
	return -1;
}

int band_of(int32_t prio, int32_t low, int32_t high)
{
	int64_t band = ((int64_t)prio - low) * BANDS / ((int64_t)high - low);

	return band < 0 ? 0 : band >= BANDS ? BANDS - 1 : (int)band;
}

/* --- requests -------------------------------------------------------------- */

#define REQUEST_FLAGS	(AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG | \
			 AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_REPLY_TO_FLAG | \
			 AMQP_BASIC_USER_ID_FLAG | AMQP_BASIC_APP_ID_FLAG | \
			 AMQP_BASIC_TYPE_FLAG | AMQP_BASIC_TIMESTAMP_FLAG | AMQP_BASIC_HEADERS_FLAG)
#define REPLY_FLAGS	(AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_CORRELATION_ID_FLAG | \
			 AMQP_BASIC_USER_ID_FLAG | AMQP_BASIC_APP_ID_FLAG | AMQP_BASIC_HEADERS_FLAG)

/* Whose answer is wanted where: without that a message cannot be answered. */
static const char *read_address(const amqp_basic_properties_t *p, const struct rules *rules,
				const amqp_field_value_t **found, struct request *r, struct id *id)
{
	char prefix[sizeof(REPLY_PREFIX) + WORD_MAX_LEN];
	size_t len;

	if (!id_read(p->correlation_id.bytes, p->correlation_id.len, id))
		return "no id";
	id_write(id, r->id);
	if (!same(p->message_id, r->id))
		return "two ids";
	if (!read_user(p->user_id, r->user))
		return "no user";
	/* One of us may have published it once more: then the broker has checked our name. */
	if (found[FOR] && (strcmp(r->user, rules->user) ||
			   !read_user(found[FOR]->value.bytes, r->user)))
		return "published for somebody else";
	len = (size_t)snprintf(prefix, sizeof(prefix), REPLY_PREFIX "%s.", r->user);
	if (p->reply_to.len != len + INSTANCE_LEN - 1 || memcmp(p->reply_to.bytes, prefix, len) ||
	    memcmp((const char *)p->reply_to.bytes + len, id->instance, INSTANCE_LEN - 1))
		return "another one's reply queue";
	memcpy(r->reply_to, p->reply_to.bytes, p->reply_to.len);
	r->reply_to[p->reply_to.len] = '\0';
	return NULL;
}

/* Data, and a payload behind them if there is one */
static const char *read_body(amqp_bytes_t body, const amqp_field_value_t *payload,
			     struct request *r)
{
	r->data = body.bytes ?: "";	/* the library's empty body is nowhere */
	r->len = body.len;
	if (payload) {
		if (payload->value.i32 < 0 || payload->value.i32 > PAYLOAD_MAX)
			return "no such length of a payload";
		r->has_payload = true;
		r->payload = (uint32_t)payload->value.i32;
		if (r->payload > body.len)
			return "less than its payload";
		r->len -= r->payload;
	}
	return r->len > DATA_MAX ? "more data than a request has" : NULL;
}

static const char *read_fields(const amqp_basic_properties_t *p, amqp_bytes_t key,
			       const amqp_field_value_t **found, const struct id *id,
			       struct request *r)
{
	static const enum header wanted[] = { OP, PARAM, PRIO, ATTRS, ROOM, ATTEMPT };
	char trace[64];
	uint64_t now;

	if (!have(found, wanted, sizeof(wanted) / sizeof(*wanted)))
		return "a header is missing";
	if (found[STATUS])
		return "a header of an answer";
	r->op = (uint64_t)found[OP]->value.i64;
	r->param = (uint64_t)found[PARAM]->value.i64;
	r->prio = found[PRIO]->value.i32;
	r->attrs = (uint32_t)found[ATTRS]->value.i32;
	r->room = (uint32_t)found[ROOM]->value.i32;
	r->attempt = (uint32_t)found[ATTEMPT]->value.i32;
	if (r->attrs & ~(uint32_t)TRAVELS)
		return "an unknown attribute";
	if (lane_of(r->attrs) < 0)
		return "two lanes";
	r->lane = (unsigned int)lane_of(r->attrs);
	if (key.len != 1 || *(const char *)key.bytes != (char)('0' + r->lane))
		return "the queue of another lane";
	if (r->room > DATA_MAX)
		return "too much room";
	if (found[EXPIRE]) {
		if (found[EXPIRE]->value.i64 <= 0)
			return "no time to expire";
		r->expire_us = (uint64_t)found[EXPIRE]->value.i64;
	}
	if (!r->attempt || r->attempt > ATTEMPT_MAX)
		return "no attempt";
	r->band = p->_flags & AMQP_BASIC_PRIORITY_FLAG ? p->priority : -1;
	if (r->band >= BANDS)
		return "no band";
	if (found[COUNT]) {
		if (found[COUNT]->value.i64 < 0 || found[COUNT]->value.i64 > ATTEMPT_MAX)
			return "no count of deliveries";
		r->deliveries = (uint32_t)found[COUNT]->value.i64;
	}
	if (p->timestamp > UINT64_MAX / 1000000 - 3600)
		return "no time";
	if (found[DEADLINE]) {
		now = p->timestamp * 1000000;
		r->deadline_us = (uint64_t)found[DEADLINE]->value.i64;
		if (!r->deadline_us || r->deadline_us > now + HOUR_US ||
		    r->deadline_us + HOUR_US < now)
			return "a deadline that is more than an hour away";
	}
	id_trace(id, trace);
	if (found[TRACE] && !same(found[TRACE]->value.bytes, trace))
		return "another one's trace";
	return NULL;
}

int request_read(const amqp_basic_properties_t *p, amqp_bytes_t key, amqp_bytes_t body,
		 const struct rules *rules, struct request *r, const char **why)
{
	const amqp_field_value_t *found[NR_HEADERS];
	struct id id;
	bool version;

	memset(r, 0, sizeof(*r));
	/* The library leaves undefined what a message does not have. */
	*why = "a property is missing";
	if ((p->_flags & REQUEST_FLAGS) != REQUEST_FLAGS)
		return MESSAGE_REJECT;
	version = same(p->app_id, APP_ID);
	*why = "not of dxkd";
	if (p->app_id.len < 5 || memcmp(p->app_id.bytes, "dxk/", 4))
		return MESSAGE_REJECT;
	*why = find(p, found, !version);
	if (!*why)
		*why = read_address(p, rules, found, r, &id);
	if (*why)
		return MESSAGE_REJECT;
	*why = "another version";
	if (!version)
		return -EPROTONOSUPPORT;
	*why = "not persistent";
	if (p->delivery_mode != 2)
		return MESSAGE_REJECT;
	*why = "for another service";
	if (!same(p->type, rules->service))
		return MESSAGE_REJECT;
	*why = read_body(body, found[PAYLOAD], r);
	if (!*why)
		*why = read_fields(p, key, found, &id, r);
	if (*why)
		return MESSAGE_REJECT;
	*why = "not one of the clients";
	if (!users_have(rules->clients, r->user))
		return -EACCES;
	*why = "more data than the context takes";
	if (r->len > rules->data_size || r->room > rules->data_size)
		return -EMSGSIZE;
	*why = "a larger payload than is taken";
	if (r->payload > rules->payload_max || (r->has_payload && !rules->payload_max))
		return -EMSGSIZE;
	*why = NULL;
	return 0;
}

static amqp_table_entry_t *add(struct message *m, enum header h)
{
	amqp_table_entry_t *e = &m->headers[m->p.headers.num_entries++];

	e->key = amqp_cstring_bytes(headers[h].key);
	e->value.kind = headers[h].kind;
	return e;
}

static void add_i32(struct message *m, enum header h, int32_t value)
{
	add(m, h)->value.value.i32 = value;
}

static void add_i64(struct message *m, enum header h, int64_t value)
{
	add(m, h)->value.value.i64 = value;
}

/*
 * What is begun within an hour may have been fetched a part of a second later, and a request that
 * is published once more may have begun long ago: its deadline is over, which is all that counts.
 */
static uint64_t near(uint64_t deadline, uint64_t now)
{
	if (deadline > now + HOUR_US)
		return now + HOUR_US;
	return deadline + HOUR_US < now ? now - HOUR_US : deadline;
}

void request_write(const struct request *r, const char *service, const char *user,
		   uint64_t now, struct message *m)
{
	struct id id;

	memset(m, 0, sizeof(*m));
	m->p._flags = REQUEST_FLAGS;
	m->p.delivery_mode = 2;
	m->p.message_id = m->p.correlation_id = amqp_cstring_bytes(r->id);
	m->p.reply_to = amqp_cstring_bytes(r->reply_to);
	m->p.user_id = amqp_cstring_bytes(user);
	m->p.app_id = amqp_cstring_bytes(APP_ID);
	m->p.type = amqp_cstring_bytes(service);
	m->p.timestamp = now;
	if (r->band >= 0) {
		m->p._flags |= AMQP_BASIC_PRIORITY_FLAG;
		m->p.priority = (uint8_t)r->band;
	}
	m->p.headers.entries = m->headers;
	add_i64(m, OP, (int64_t)r->op);
	add_i64(m, PARAM, (int64_t)r->param);
	add_i32(m, PRIO, r->prio);
	add_i32(m, ATTRS, (int32_t)(r->attrs & TRAVELS));
	add_i32(m, ROOM, (int32_t)r->room);
	add_i32(m, ATTEMPT, (int32_t)r->attempt);
	if (r->deadline_us)
		add_i64(m, DEADLINE, (int64_t)near(r->deadline_us, now * 1000000));
	if (r->expire_us)
		add_i64(m, EXPIRE, (int64_t)r->expire_us);
	if (r->has_payload)
		add_i32(m, PAYLOAD, (int32_t)r->payload);
	if (strcmp(r->user, user))
		add(m, FOR)->value.value.bytes = amqp_cstring_bytes(r->user);
	if (id_read(r->id, strlen(r->id), &id)) {
		id_trace(&id, m->trace);
		add(m, TRACE)->value.value.bytes = amqp_cstring_bytes(m->trace);
	}
}

/* --- answers --------------------------------------------------------------- */

int reply_read(const amqp_basic_properties_t *p, amqp_bytes_t body, const struct users *workers,
	       struct reply *r, const char **why)
{
	static const enum header wanted[] = { STATUS, ATTEMPT };
	const amqp_field_value_t *found[NR_HEADERS];

	memset(r, 0, sizeof(*r));
	*why = "a property is missing";
	if ((p->_flags & REPLY_FLAGS) != REPLY_FLAGS)
		return MESSAGE_REJECT;
	*why = "another version";
	if (!same(p->app_id, APP_ID))
		return MESSAGE_REJECT;
	*why = "no id";
	if (!id_read(p->correlation_id.bytes, p->correlation_id.len, &r->id))
		return MESSAGE_REJECT;
	*why = "not one of the workers";
	if (!read_user(p->user_id, r->user) || !users_have(workers, r->user))
		return MESSAGE_REJECT;
	*why = find(p, found, true);
	if (*why)
		return MESSAGE_REJECT;
	*why = "a header is missing";
	if (!have(found, wanted, sizeof(wanted) / sizeof(*wanted)))
		return MESSAGE_REJECT;
	*why = "more data than a result has";
	if (body.len > DATA_MAX)
		return MESSAGE_REJECT;
	*why = "no attempt";
	r->attempt = (uint32_t)found[ATTEMPT]->value.i32;
	if (r->attempt > ATTEMPT_MAX)
		return MESSAGE_REJECT;
	*why = NULL;
	r->status = found[STATUS]->value.i32;
	r->data = body.bytes;
	r->len = body.len;
	return 0;
}

void reply_write(const struct reply *r, struct message *m)
{
	memset(m, 0, sizeof(*m));
	id_write(&r->id, m->id);
	m->p._flags = REPLY_FLAGS;
	m->p.delivery_mode = 2;
	m->p.correlation_id = amqp_cstring_bytes(m->id);
	m->p.user_id = amqp_cstring_bytes(r->user);
	m->p.app_id = amqp_cstring_bytes(APP_ID);
	m->p.headers.entries = m->headers;
	add_i32(m, STATUS, r->status);
	add_i32(m, ATTEMPT, (int32_t)r->attempt);
}
