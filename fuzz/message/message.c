// SPDX-License-Identifier: GPL-2.0-only
/*
 * libFuzzer on the messages of dxkd: requests and answers, as bytes of the wire and as valid ones
 * that are changed in places. What is taken for a request is written and read again, and has to
 * be the same.
 */
#include "../../tools/dxkd/message.c"

#include <stdlib.h>

#define UUID	"01234567-89ab-cdef-0123-456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct users users = { 2, { "me", "you" } };
static const struct rules rules = { "render", "host", &users, 512, 1000 };

bool users_have(const struct users *list, const char *name)
{
	unsigned int i;

	for (i = 0; i < list->nr; i++)
		if (!strcmp(list->name[i], name))
			return true;
	return false;
}

static void read_both(const amqp_basic_properties_t *p, amqp_bytes_t key, amqp_bytes_t body)
{
	struct request r, again;
	struct message m;
	struct reply a, b;
	const char *why;
	int verdict = request_read(p, key, body, &rules, &r, &why);

	if (verdict < 0 && (strncmp(r.reply_to, "dxk.reply.", 10) || !*r.id))
		abort();
	if (!verdict) {
		if (r.len > 512 || r.room > 512 || r.attrs & ~(uint32_t)TRAVELS || r.lane > 3 ||
		    r.payload > 1000 || r.len + r.payload != body.len)
			abort();
		request_write(&r, "render", "me", p->timestamp, &m);
		/* The library would not publish for "you"; one of us does. */
		if (strcmp(r.user, "me"))
			m.p.user_id = amqp_cstring_bytes("host");
		if (request_read(&m.p, key, body, &rules, &again, &why))
			abort();
		again.deliveries = r.deliveries;
		if (memcmp(&r, &again, sizeof(r)))
			abort();
	}
	if (!reply_read(p, body, &users, &a, &why)) {
		reply_write(&a, &m);
		if (a.len > DATA_MAX || reply_read(&m.p, body, &users, &b, &why))
			abort();
	}
}

static size_t take(const uint8_t **data, size_t *size, void *to, size_t len)
{
	len = len < *size ? len : *size;
	memcpy(to, *data, len);
	*data += len;
	*size -= len;
	return len;
}

static amqp_bytes_t take_bytes(const uint8_t **data, size_t *size)
{
	uint8_t len = 0;
	amqp_bytes_t bytes;

	take(data, size, &len, 1);
	bytes.len = len < *size ? len : *size;
	bytes.bytes = malloc(bytes.len ?: 1);	/* so that reading behind it shows */
	take(data, size, bytes.bytes, bytes.len);
	return bytes;
}

/* A valid message, of which what @data says is something else. */
static void changed(const uint8_t *data, size_t size)
{
	struct request r = { .id = UUID ".7.8", .user = "me", .reply_to = "dxk.reply.me." UUID,
			     .attempt = 1, .lane = 3, .deadline_us = 1000000 };
	amqp_bytes_t *texts[] = { NULL, NULL, NULL, NULL, NULL, NULL, NULL }, spare[8];
	amqp_bytes_t key = amqp_cstring_bytes("3"), body = { 0, "" };
	size_t nr = 0, i;
	struct message m;
	uint8_t what;

	request_write(&r, "render", "me", 1, &m);
	texts[0] = &m.p.correlation_id;
	texts[1] = &m.p.message_id;
	texts[2] = &m.p.reply_to;
	texts[3] = &m.p.user_id;
	texts[4] = &m.p.app_id;
	texts[5] = &m.p.type;
	texts[6] = &key;
	while (size && take(&data, &size, &what, 1)) {
		amqp_table_entry_t *e = &m.headers[(what >> 4) % m.p.headers.num_entries];

		switch (what % 16) {
		case 0 ... 6:
			if (nr < 8)
				*texts[what % 16] = spare[nr++] = take_bytes(&data, &size);
			break;
		case 7:
			if (e->value.kind != AMQP_FIELD_KIND_UTF8)
				take(&data, &size, &e->value.value, 8);
			break;
		case 8:
			if (e->value.kind == AMQP_FIELD_KIND_UTF8)
				break;
			take(&data, &size, &e->value.kind, 1);
			if (e->value.kind == AMQP_FIELD_KIND_UTF8)
				e->value.value.bytes = amqp_cstring_bytes("you");
			break;
		case 9:
			e->key = amqp_cstring_bytes(headers[(what >> 4) % NR_HEADERS].key);
			break;
		case 10:
			take(&data, &size, &m.p.timestamp, 8);
			break;
		case 11:
			take(&data, &size, &m.p.priority, 1);
			break;
		case 12:
			take(&data, &size, &m.p._flags, 2);
			break;
		case 13:
			m.p.headers.num_entries = 1 + (what >> 4) % 9;
			break;
		case 14:
			body.len = (size_t)what << 5;
			break;
		case 15:
			e->key = amqp_cstring_bytes("x-dxk-status");
			e->value.kind = AMQP_FIELD_KIND_I32;
			break;
		}
	}
	read_both(&m.p, key, body);
	for (i = 0; i < nr; i++)
		free(spare[i].bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static amqp_pool_t pool;
	static bool made;
	amqp_bytes_t key;
	void *p = NULL;
	uint8_t which;

	if (!size)
		return 0;
	which = *data++;
	size--;
	if (which & 1) {
		changed(data, size);
		return 0;
	}
	if (!made)
		init_amqp_pool(&pool, 4096);
	made = true;
	key = amqp_cstring_bytes(which & 2 ? "3" : "2");
	/* what the library takes */
	if (!amqp_decode_properties(AMQP_BASIC_CLASS, &pool,
				    (amqp_bytes_t){ size, (void *)data }, &p))
		read_both(p, key, (amqp_bytes_t){ which, (void *)data });
	recycle_amqp_pool(&pool);
	return 0;
}
