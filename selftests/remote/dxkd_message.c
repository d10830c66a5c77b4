// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of dxkd: what is written is what is read, over the wire as well, and each field that
 * says something wrong is noticed.
 */
#include "../tools/dxkd/message.c"

#include <limits.h>
#include <stdlib.h>

#include "kselftest_harness.h"

#define UUID	"01234567-89ab-cdef-0123-456789abcdef"

static struct users clients = { 2, { "me", "you" } };
static const struct rules rules = { "render", "host", &clients, 512, 2000 };

bool users_have(const struct users *users, const char *name)
{
	unsigned int i;

	for (i = 0; i < users->nr; i++)
		if (!strcmp(users->name[i], name))
			return true;
	return false;
}

static struct request valid(void)
{
	return (struct request){
		.id = UUID ".499.18446744073709551615", .user = "me",
		.reply_to = "dxk.reply.me." UUID, .op = ~0ULL, .param = 1ULL << 63,
		.prio = INT_MIN, .attrs = PXR_REDO | PXR_BOOST | PXR_LANE2, .lane = 2, .band = 5,
		.room = 512, .attempt = 1, .deadline_us = 1000000000ULL * 1000000 + 5,
		.data = "data", .len = 4,
	};
}

static amqp_bytes_t body_of(const struct request *r)
{
	return (amqp_bytes_t){ r->len, (void *)r->data };
}

/* As the library encodes and decodes it */
static amqp_basic_properties_t *over_the_wire(amqp_pool_t *pool, struct message *m)
{
	static char wire[4096];
	void *got = NULL;
	int len = amqp_encode_properties(AMQP_BASIC_CLASS, &m->p,
					 (amqp_bytes_t){ sizeof(wire), wire });

	if (len <= 0 || amqp_decode_properties(AMQP_BASIC_CLASS, pool,
					       (amqp_bytes_t){ (size_t)len, wire }, &got))
		abort();
	return got;
}

TEST(ids)
{
	static const char *const bad[] = {
		"", UUID, UUID ".", UUID ".1", UUID ".1.", UUID ".0.1", UUID ".500.1",
		UUID ".01.1", UUID ".1.01", UUID ".1.18446744073709551616", UUID ".1.1 ",
		UUID ".-1.1", UUID ".1.+1", UUID ".1.1.1", "0" UUID ".1.1",
		"01234567-89AB-cdef-0123-456789abcdef.1.1",
		"01234567x89ab-cdef-0123-456789abcdef.1.1",
	};
	struct id id = { UUID, 1, 0 }, got;
	char text[ID_LEN];
	size_t i;

	id_write(&id, text);
	EXPECT_STREQ(UUID ".1.0", text);
	ASSERT_TRUE(id_read(text, strlen(text), &got));
	EXPECT_STREQ(id.instance, got.instance);
	EXPECT_EQ(1, got.place);
	EXPECT_EQ(0, got.ticket);
	id = (struct id){ UUID, 499, UINT64_MAX };
	id_write(&id, text);
	ASSERT_TRUE(id_read(text, strlen(text), &got));
	EXPECT_EQ(UINT64_MAX, got.ticket);
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		EXPECT_FALSE(id_read(bad[i], strlen(bad[i]), &got)) {
			TH_LOG("row %zu", i);
		}
	}
}

TEST(bands)
{
	EXPECT_EQ(0, band_of(0, 0, 120));
	EXPECT_EQ(0, band_of(19, 0, 120));
	EXPECT_EQ(1, band_of(20, 0, 120));
	EXPECT_EQ(5, band_of(119, 0, 120));
	EXPECT_EQ(5, band_of(120, 0, 120));
	EXPECT_EQ(0, band_of(-1, 0, 120));
	EXPECT_EQ(0, band_of(INT_MIN, INT_MAX - 1, INT_MAX));
	EXPECT_EQ(5, band_of(INT_MAX, INT_MIN, INT_MIN + 1));
	EXPECT_EQ(2, band_of(-1, INT_MIN, INT_MAX));
	EXPECT_EQ(3, band_of(1, INT_MIN, INT_MAX));
}

TEST(lanes)
{
	EXPECT_EQ(3, lane_of(PXR_REDO));
	EXPECT_EQ(0, lane_of(PXR_LANE0));
	EXPECT_EQ(1, lane_of(PXR_LANE1));
	EXPECT_EQ(2, lane_of(PXR_LANE2 | PXR_REDO));
	EXPECT_EQ(-1, lane_of(PXR_LANE2 | PXR_LANE1));
}

FIXTURE(message)
{
	amqp_pool_t pool;
};

FIXTURE_SETUP(message)
{
	init_amqp_pool(&self->pool, 4096);
}

FIXTURE_TEARDOWN(message)
{
	empty_amqp_pool(&self->pool);
}

/* A request, and one that an exporter publishes again for another user */
TEST_F(message, request)
{
	static const char *const users[] = { "me", "host" };
	struct request r = valid(), got;
	struct message m;
	const char *why;
	size_t i;

	for (i = 0; i < 2; i++) {
		r.band = i ? -1 : 5;
		request_write(&r, "render", users[i], 1000000000, &m);
		EXPECT_EQ(i ? 0 : AMQP_BASIC_PRIORITY_FLAG, m.p._flags & AMQP_BASIC_PRIORITY_FLAG);
		ASSERT_EQ(0, request_read(over_the_wire(&self->pool, &m), amqp_cstring_bytes("2"),
					  body_of(&r), &rules, &got, &why)) {
			TH_LOG("%s", why);
		}
		EXPECT_EQ(NULL, why);
		EXPECT_STREQ(r.id, got.id);
		EXPECT_STREQ(r.user, got.user);
		EXPECT_STREQ(r.reply_to, got.reply_to);
		EXPECT_EQ(r.op, got.op);
		EXPECT_EQ(r.param, got.param);
		EXPECT_EQ(r.prio, got.prio);
		EXPECT_EQ(r.attrs, got.attrs);
		EXPECT_EQ(r.lane, got.lane);
		EXPECT_EQ(r.band, got.band);
		EXPECT_EQ(r.room, got.room);
		EXPECT_EQ(r.attempt, got.attempt);
		EXPECT_EQ(0, got.deliveries);
		EXPECT_EQ(r.deadline_us, got.deadline_us);
		EXPECT_EQ(0, got.expire_us);
		EXPECT_FALSE(got.has_payload);
		EXPECT_EQ(r.data, got.data);
		EXPECT_EQ(r.len, got.len);
	}
	EXPECT_STREQ("00-0123456789abcdef0123456789abcdef-ffffffffffffffff-01", m.trace);
}

/* A time to expire, and a payload behind the data, none of whose bytes is data */
TEST_F(message, more)
{
	static const uint32_t payloads[] = { 0, 1, 2000 };
	struct request r = valid(), got;
	static char body[2004];
	struct message m;
	const char *why;
	size_t i;

	r.expire_us = INT64_MAX;
	r.has_payload = true;
	r.data = body;
	for (i = 0; i < 3; i++) {
		r.payload = payloads[i];
		request_write(&r, "render", "host", 1000000000, &m);
		ASSERT_EQ(0, request_read(over_the_wire(&self->pool, &m), amqp_cstring_bytes("2"),
					  (amqp_bytes_t){ 4 + r.payload, body }, &rules, &got,
					  &why)) {
			TH_LOG("%s", why);
		}
		EXPECT_EQ(INT64_MAX, got.expire_us);
		EXPECT_TRUE(got.has_payload);
		EXPECT_EQ(r.payload, got.payload);
		EXPECT_EQ(4, got.len);
		EXPECT_EQ(r.data, got.data);
	}
}

/* One that has been given an hour is written in the second in which it was: that is no more */
TEST_F(message, an_hour)
{
	struct request r = valid(), got;
	struct message m;
	const char *why;

	r.deadline_us = 1000003600ULL * 1000000 + 999999;
	request_write(&r, "render", "me", 1000000000, &m);
	ASSERT_EQ(0, request_read(over_the_wire(&self->pool, &m), amqp_cstring_bytes("2"),
				  body_of(&r), &rules, &got, &why)) {
		TH_LOG("%s", why);
	}
	EXPECT_EQ(1000003600ULL * 1000000, got.deadline_us);
}

/* An empty body is data, too: it is copied. */
TEST_F(message, no_data)
{
	struct request r = valid(), got;
	struct message m;
	const char *why;

	request_write(&r, "render", "me", 1000000000, &m);
	ASSERT_EQ(0, request_read(over_the_wire(&self->pool, &m), amqp_cstring_bytes("2"),
				  amqp_empty_bytes, &rules, &got, &why));
	EXPECT_EQ(0, got.len);
	EXPECT_NE(NULL, got.data);
}

/* One that is published once more long after its deadline is understood: it is late */
TEST_F(message, long_late)
{
	struct request r = valid(), got;
	struct message m;
	const char *why;

	request_write(&r, "render", "me", 1000086400, &m);
	ASSERT_EQ(0, request_read(over_the_wire(&self->pool, &m), amqp_cstring_bytes("2"),
				  body_of(&r), &rules, &got, &why)) {
		TH_LOG("%s", why);
	}
	EXPECT_EQ((1000086400ULL - 3600) * 1000000, got.deadline_us);
}

TEST_F(message, reply)
{
	struct reply r = { .id = { UUID, 7, 8 }, .user = "you", .status = INT_MIN, .attempt = 3,
			   .data = "result", .len = 6 }, got;
	struct message m;
	const char *why;

	reply_write(&r, &m);
	ASSERT_EQ(0, reply_read(over_the_wire(&self->pool, &m), (amqp_bytes_t){ 6, "result" },
				&clients, &got, &why));
	EXPECT_STREQ(UUID, got.id.instance);
	EXPECT_EQ(7, got.id.place);
	EXPECT_EQ(8, got.id.ticket);
	EXPECT_STREQ("you", got.user);
	EXPECT_EQ(INT_MIN, got.status);
	EXPECT_EQ(3, got.attempt);
	EXPECT_EQ(6, got.len);
}

/* --- wrong in one place ----------------------------------------------------- */

static amqp_field_value_t *value_of(struct message *m, const char *key)
{
	int i;

	for (i = 0; i < m->p.headers.num_entries; i++)
		if (same(m->headers[i].key, key))
			return &m->headers[i].value;
	abort();
}

static void without(struct message *m, const char *key)
{
	amqp_table_entry_t *e = (void *)((char *)value_of(m, key) -
					 offsetof(amqp_table_entry_t, value));

	*e = m->headers[--m->p.headers.num_entries];
}

#define HEADER(field, val)	(value_of(m, "x-dxk-" field)->value val)
#define CASE(name, ...)		static void name(struct message *m, amqp_bytes_t *key, \
		amqp_bytes_t *body) { (void)m; (void)key; (void)body; __VA_ARGS__; }

/* what a message does not have is undefined */
CASE(no_flags, m->p._flags = 0; m->p.app_id = m->p.correlation_id = (amqp_bytes_t){ 5, (void *)1 })
CASE(no_user_flag, m->p._flags &= ~(amqp_flags_t)AMQP_BASIC_USER_ID_FLAG)
CASE(no_time_flag, m->p._flags &= ~(amqp_flags_t)AMQP_BASIC_TIMESTAMP_FLAG)
CASE(transient, m->p.delivery_mode = 1)
CASE(app_none, m->p.app_id = amqp_empty_bytes)
CASE(app_other, m->p.app_id = amqp_cstring_bytes("celery"))
CASE(app_2, m->p.app_id = amqp_cstring_bytes("dxk/2"))
CASE(app_10, m->p.app_id = amqp_cstring_bytes("dxk/10"); value_of(m, "x-dxk-op");
     m->headers[0].key = amqp_cstring_bytes("x-dxk-new"))
CASE(app_2_address, m->p.app_id = amqp_cstring_bytes("dxk/2"); m->p.reply_to.len--)
CASE(type_other, m->p.type = amqp_cstring_bytes("rende"))
CASE(id_none, m->p.correlation_id = amqp_empty_bytes)
CASE(ids_two, m->p.message_id = amqp_cstring_bytes(UUID ".1.1"))
CASE(user_none, m->p.user_id = amqp_empty_bytes)
CASE(user_dot, m->p.user_id = amqp_cstring_bytes("m.e"))
CASE(user_long, m->p.user_id = amqp_cstring_bytes("01234567890123456789012345678901"))
CASE(user_other, m->p.user_id = amqp_cstring_bytes("you"))
CASE(reply_to_other, m->p.reply_to = amqp_cstring_bytes("dxk.reply.you." UUID))
CASE(reply_to_more, m->p.reply_to = amqp_cstring_bytes("dxk.reply.me." UUID "x"))
CASE(reply_to_instance, m->p.reply_to =
     amqp_cstring_bytes("dxk.reply.me.11234567-89ab-cdef-0123-456789abcdef"))
CASE(reply_to_none, m->p.reply_to = amqp_empty_bytes)
CASE(for_by_client, m->p.user_id = amqp_cstring_bytes("you");
     m->headers[m->p.headers.num_entries++] = (amqp_table_entry_t){
	amqp_cstring_bytes("x-dxk-for"), { AMQP_FIELD_KIND_UTF8, { .bytes = m->p.user_id } } };
     value_of(m, "x-dxk-for")->value.bytes = amqp_cstring_bytes("me"))
CASE(key_other, *key = amqp_cstring_bytes("3"))
CASE(key_long, *key = amqp_cstring_bytes("22"))
CASE(key_none, *key = amqp_empty_bytes)
CASE(body_long, body->len = 4097)
CASE(body_size, body->len = 513)
CASE(no_op, without(m, "x-dxk-op"))
CASE(no_param, without(m, "x-dxk-param"))
CASE(no_prio, without(m, "x-dxk-prio"))
CASE(no_attrs, without(m, "x-dxk-attrs"))
CASE(no_room, without(m, "x-dxk-room"))
CASE(no_attempt, without(m, "x-dxk-attempt"))
CASE(op_kind, value_of(m, "x-dxk-op")->kind = AMQP_FIELD_KIND_U64)
CASE(prio_kind, value_of(m, "x-dxk-prio")->kind = AMQP_FIELD_KIND_I64)
CASE(trace_kind, value_of(m, "traceparent")->kind = AMQP_FIELD_KIND_BYTES)
CASE(trace_other, value_of(m, "traceparent")->value.bytes.len--)
CASE(attrs_unknown, HEADER("attrs", .i32) |= PXR_FD)
CASE(attrs_top, HEADER("attrs", .i32) |= INT_MIN)
CASE(attrs_lanes, HEADER("attrs", .i32) |= PXR_LANE1)
CASE(attrs_lane, HEADER("attrs", .i32) &= ~PXR_LANE2)
CASE(room_more, HEADER("room", .i32) = 4097)
CASE(room_negative, HEADER("room", .i32) = -1)
CASE(room_size, HEADER("room", .i32) = 513)
CASE(attempt_0, HEADER("attempt", .i32) = 0)
CASE(attempt_negative, HEADER("attempt", .i32) = -1)
CASE(band_6, m->p.priority = 6)
CASE(deadline_0, HEADER("deadline", .i64) = 0)
CASE(deadline_far, HEADER("deadline", .i64) = 1000003601LL * 1000000)
CASE(deadline_before, HEADER("deadline", .i64) = 999996399LL * 1000000)
CASE(deadline_negative, HEADER("deadline", .i64) = -1)
CASE(time_far, m->p.timestamp = UINT64_MAX)
CASE(time_far_deadline, m->p.timestamp = UINT64_MAX / 1000000 - 3600;
     HEADER("deadline", .i64) = -1)
CASE(unknown, m->headers[0].key = amqp_cstring_bytes("x-dxk-"))
CASE(twice, m->headers[m->p.headers.num_entries] = m->headers[2]; m->p.headers.num_entries++)
CASE(status, m->headers[m->p.headers.num_entries++] = (amqp_table_entry_t){
	amqp_cstring_bytes("x-dxk-status"), { AMQP_FIELD_KIND_I32, { .i32 = 0 } } })
CASE(count_negative, m->headers[m->p.headers.num_entries++] = (amqp_table_entry_t){
	amqp_cstring_bytes("x-delivery-count"), { AMQP_FIELD_KIND_I64, { .i64 = -1 } } })
CASE(count_kind, m->headers[m->p.headers.num_entries++] = (amqp_table_entry_t){
	amqp_cstring_bytes("x-delivery-count"), { AMQP_FIELD_KIND_UTF8,
	{ .bytes = { 1, "1" } } } })
CASE(stranger, m->headers[m->p.headers.num_entries++] = (amqp_table_entry_t){
	amqp_cstring_bytes("x-death"), { AMQP_FIELD_KIND_ARRAY, { .array = { 0, NULL } } } })
#define ADD(m, name, of, val)	((m)->headers[(m)->p.headers.num_entries++] = \
	(amqp_table_entry_t){ amqp_cstring_bytes(name), { AMQP_FIELD_KIND_##of, val } })
CASE(expire_0, ADD(m, "x-dxk-expire", I64, { .i64 = 0 }))
CASE(expire_negative, ADD(m, "x-dxk-expire", I64, { .i64 = -1 }))
CASE(expire_kind, ADD(m, "x-dxk-expire", I32, { .i32 = 1 }))
CASE(payload_negative, ADD(m, "x-dxk-payload", I32, { .i32 = -1 }))
CASE(payload_kind, ADD(m, "x-dxk-payload", I64, { .i64 = 1 }))
CASE(payload_missing, ADD(m, "x-dxk-payload", I32, { .i32 = 5 }))
CASE(payload_huge, ADD(m, "x-dxk-payload", I32, { .i32 = PAYLOAD_MAX + 1 });
     body->len = PAYLOAD_MAX + 1)
CASE(payload_large, ADD(m, "x-dxk-payload", I32, { .i32 = 2001 }); body->len = 2001)
CASE(payload_data, ADD(m, "x-dxk-payload", I32, { .i32 = 1000 }); body->len = 1513)
CASE(payload_data_long, ADD(m, "x-dxk-payload", I32, { .i32 = 1000 }); body->len = 5097)
CASE(client_none, m->p.user_id = amqp_cstring_bytes("they");
     m->p.reply_to = amqp_cstring_bytes("dxk.reply.they." UUID))
CASE(nothing, )

static const struct {
	void (*change)(struct message *m, amqp_bytes_t *key, amqp_bytes_t *body);
	int verdict;
	const char *why;
} cases[] = {
	{ nothing, 0, NULL },
	{ stranger, 0, NULL },
	{ no_flags, MESSAGE_REJECT, "a property is missing" },
	{ no_user_flag, MESSAGE_REJECT, "a property is missing" },
	{ no_time_flag, MESSAGE_REJECT, "a property is missing" },
	{ transient, MESSAGE_REJECT, "not persistent" },
	{ app_none, MESSAGE_REJECT, "not of dxkd" },
	{ app_other, MESSAGE_REJECT, "not of dxkd" },
	{ app_2, -EPROTONOSUPPORT, "another version" },
	{ app_10, -EPROTONOSUPPORT, "another version" },
	{ app_2_address, MESSAGE_REJECT, "another one's reply queue" },
	{ type_other, MESSAGE_REJECT, "for another service" },
	{ id_none, MESSAGE_REJECT, "no id" },
	{ ids_two, MESSAGE_REJECT, "two ids" },
	{ user_none, MESSAGE_REJECT, "no user" },
	{ user_dot, MESSAGE_REJECT, "no user" },
	{ user_long, MESSAGE_REJECT, "no user" },
	{ user_other, MESSAGE_REJECT, "another one's reply queue" },
	{ reply_to_other, MESSAGE_REJECT, "another one's reply queue" },
	{ reply_to_more, MESSAGE_REJECT, "another one's reply queue" },
	{ reply_to_instance, MESSAGE_REJECT, "another one's reply queue" },
	{ reply_to_none, MESSAGE_REJECT, "another one's reply queue" },
	{ for_by_client, MESSAGE_REJECT, "published for somebody else" },
	{ key_other, MESSAGE_REJECT, "the queue of another lane" },
	{ key_long, MESSAGE_REJECT, "the queue of another lane" },
	{ key_none, MESSAGE_REJECT, "the queue of another lane" },
	{ body_long, MESSAGE_REJECT, "more data than a request has" },
	{ body_size, -EMSGSIZE, "more data than the context takes" },
	{ no_op, MESSAGE_REJECT, "a header is missing" },
	{ no_param, MESSAGE_REJECT, "a header is missing" },
	{ no_prio, MESSAGE_REJECT, "a header is missing" },
	{ no_attrs, MESSAGE_REJECT, "a header is missing" },
	{ no_room, MESSAGE_REJECT, "a header is missing" },
	{ no_attempt, MESSAGE_REJECT, "a header is missing" },
	{ op_kind, MESSAGE_REJECT, "a header of another type" },
	{ prio_kind, MESSAGE_REJECT, "a header of another type" },
	{ trace_kind, MESSAGE_REJECT, "a header of another type" },
	{ trace_other, MESSAGE_REJECT, "another one's trace" },
	{ attrs_unknown, MESSAGE_REJECT, "an unknown attribute" },
	{ attrs_top, MESSAGE_REJECT, "an unknown attribute" },
	{ attrs_lanes, MESSAGE_REJECT, "two lanes" },
	{ attrs_lane, MESSAGE_REJECT, "the queue of another lane" },
	{ room_more, MESSAGE_REJECT, "too much room" },
	{ room_negative, MESSAGE_REJECT, "too much room" },
	{ room_size, -EMSGSIZE, "more data than the context takes" },
	{ attempt_0, MESSAGE_REJECT, "no attempt" },
	{ attempt_negative, MESSAGE_REJECT, "no attempt" },
	{ band_6, MESSAGE_REJECT, "no band" },
	{ deadline_0, MESSAGE_REJECT, "a deadline that is more than an hour away" },
	{ deadline_far, MESSAGE_REJECT, "a deadline that is more than an hour away" },
	{ deadline_before, MESSAGE_REJECT, "a deadline that is more than an hour away" },
	{ deadline_negative, MESSAGE_REJECT, "a deadline that is more than an hour away" },
	{ time_far, MESSAGE_REJECT, "no time" },
	{ time_far_deadline, MESSAGE_REJECT, "a deadline that is more than an hour away" },
	{ unknown, MESSAGE_REJECT, "an unknown header" },
	{ twice, MESSAGE_REJECT, "a header twice" },
	{ status, MESSAGE_REJECT, "a header of an answer" },
	{ count_negative, MESSAGE_REJECT, "no count of deliveries" },
	{ count_kind, MESSAGE_REJECT, "a header of another type" },
	{ expire_0, MESSAGE_REJECT, "no time to expire" },
	{ expire_negative, MESSAGE_REJECT, "no time to expire" },
	{ expire_kind, MESSAGE_REJECT, "a header of another type" },
	{ payload_negative, MESSAGE_REJECT, "no such length of a payload" },
	{ payload_kind, MESSAGE_REJECT, "a header of another type" },
	{ payload_missing, MESSAGE_REJECT, "less than its payload" },
	{ payload_huge, MESSAGE_REJECT, "no such length of a payload" },
	{ payload_large, -EMSGSIZE, "a larger payload than is taken" },
	{ payload_data, -EMSGSIZE, "more data than the context takes" },
	{ payload_data_long, MESSAGE_REJECT, "more data than a request has" },
	{ client_none, -EACCES, "not one of the clients" },
};

TEST_F(message, wrong_request)
{
	struct request r = valid(), got;
	static char data[8192];
	amqp_bytes_t key, body;
	struct message m;
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		request_write(&r, "render", "me", 1000000000, &m);
		key = amqp_cstring_bytes("2");
		body = (amqp_bytes_t){ 4, data };
		cases[i].change(&m, &key, &body);
		EXPECT_EQ(cases[i].verdict, request_read(&m.p, key, body, &rules, &got, &why)) {
			TH_LOG("row %zu: %s", i, cases[i].why);
		}
		EXPECT_STREQ(cases[i].why ?: "", why ?: "") {
			TH_LOG("row %zu", i);
		}
		/* What is answered, is answered to whom it says. */
		if (cases[i].verdict < 0) {
			EXPECT_STREQ(r.id, got.id);
			EXPECT_EQ(0, memcmp("dxk.reply.", got.reply_to, 10));
		}
	}
}

CASE(reply_no_status, without(m, "x-dxk-status"))
CASE(reply_status_kind, value_of(m, "x-dxk-status")->kind = AMQP_FIELD_KIND_I64)
CASE(reply_no_attempt, without(m, "x-dxk-attempt"))
CASE(reply_attempt, HEADER("attempt", .i32) = -1)
CASE(reply_app, m->p.app_id = amqp_cstring_bytes("dxk/2"))
CASE(reply_user, m->p.user_id = amqp_cstring_bytes("they"))
CASE(reply_id, m->p.correlation_id.len--; ((char *)m->p.correlation_id.bytes)[36] = '/')
CASE(reply_new, m->headers[m->p.headers.num_entries++] = (amqp_table_entry_t){
	amqp_cstring_bytes("x-dxk-new"), { AMQP_FIELD_KIND_I32, { .i32 = 0 } } })

TEST_F(message, wrong_reply)
{
	static const struct {
		void (*change)(struct message *m, amqp_bytes_t *key, amqp_bytes_t *body);
		const char *why;
	} wrong[] = {
		{ nothing, "" },
		{ reply_new, "" },
		{ no_flags, "a property is missing" },
		{ reply_app, "another version" },
		{ reply_id, "no id" },
		{ id_none, "no id" },
		{ reply_user, "not one of the workers" },
		{ user_none, "not one of the workers" },
		{ reply_no_status, "a header is missing" },
		{ reply_no_attempt, "a header is missing" },
		{ reply_status_kind, "a header of another type" },
		{ reply_attempt, "no attempt" },
		{ body_long, "more data than a result has" },
	};
	struct reply r = { .id = { UUID, 7, 8 }, .user = "you", .attempt = 0 }, got;
	static char data[8192];
	amqp_bytes_t key, body;
	struct message m;
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		reply_write(&r, &m);
		body = (amqp_bytes_t){ 4, data };
		wrong[i].change(&m, &key, &body);
		EXPECT_EQ(*wrong[i].why ? MESSAGE_REJECT : 0,
			  reply_read(&m.p, body, &clients, &got, &why));
		EXPECT_STREQ(wrong[i].why, why ?: "") {
			TH_LOG("row %zu", i);
		}
	}
}

TEST_HARNESS_MAIN
