// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The handshake: what a client says of itself, and the options that it asks for. What is answered
 * is put into connection.out; a step is done only when that is empty.
 */
#define _GNU_SOURCE
#include <string.h>

#include "dxnbd.h"

/* Of an option, at most: a name of 4096 bytes, and some items that are asked for */
#define OPTION_MAX	8192

static unsigned char *out(struct connection *c)
{
	return c->out + c->queued;
}

static void queued(struct connection *c, const unsigned char *end)
{
	c->queued = (size_t)(end - c->out);
}

static uint16_t export_flags(void)
{
	uint16_t flags = NBD_HAS_FLAGS | NBD_SEND_FLUSH | NBD_SEND_FUA | NBD_CAN_MULTI_CONN;

	return flags | (server.export.read_only ? NBD_READ_ONLY :
						  NBD_SEND_TRIM | NBD_SEND_WRITE_ZEROES);
}

/* Return: where its data go, @length bytes. */
static unsigned char *answer(struct connection *c, uint32_t option, uint32_t type, uint32_t length)
{
	unsigned char *p = out(c);

	p = put64(p, NBD_OPTION_REPLY);
	p = put32(p, option);
	p = put32(p, type);
	p = put32(p, length);
	queued(c, p + length);
	return p;
}

static bool is_name(const unsigned char *name, size_t length)
{
	return !length || (length == strlen(server.export.name) &&
			   !memcmp(name, server.export.name, length));
}

static void export_name(struct connection *c, const unsigned char *name, uint32_t length)
{
	unsigned char *p = out(c);

	c->last = !is_name(name, length);
	if (c->last)
		return;
	p = put64(p, server.export.size);
	p = put16(p, export_flags());
	if (!(c->client_flags & NBD_NO_ZEROES)) {
		memset(p, 0, NBD_ZEROES);
		p += NBD_ZEROES;
	}
	queued(c, p);
	c->ready = true;
}

/* Some servers tell what they have only to those who know it already. This one has one export. */
static void list(struct connection *c, uint32_t option, uint32_t length)
{
	uint32_t name = (uint32_t)strlen(server.export.name);
	unsigned char *p;

	if (length) {
		answer(c, option, NBD_REP_ERR_INVALID, 0);
		return;
	}
	p = answer(c, option, NBD_REP_SERVER, 4 + name);
	memcpy(put32(p, name), server.export.name, name);
	answer(c, option, NBD_REP_ACK, 0);
}

static void info(struct connection *c, uint32_t option, const unsigned char *data, uint32_t length)
{
	uint32_t name, items;
	unsigned char *p;

	/* The length of a name, the name, a number of items, so many items */
	if (length < 6 || (name = get32(data)) > length - 6 ||
	    (items = get16(data + 4 + name)) != (length - 6 - name) / 2 || (length - name) & 1) {
		answer(c, option, NBD_REP_ERR_INVALID, 0);
		return;
	}
	if (!is_name(data + 4, name)) {
		answer(c, option, NBD_REP_ERR_UNKNOWN, 0);
		return;
	}
	p = answer(c, option, NBD_REP_INFO, 12);
	p = put16(p, NBD_INFO_EXPORT);
	p = put64(p, server.export.size);
	put16(p, export_flags());
	for (uint32_t i = 0; i < items; i++) {
		if (get16(data + 6 + name + 2 * i) != NBD_INFO_BLOCK_SIZE)
			continue;
		p = answer(c, option, NBD_REP_INFO, 14);
		p = put16(p, NBD_INFO_BLOCK_SIZE);
		p = put32(p, 1);
		p = put32(p, ALIGNMENT);
		put32(p, LENGTH_MAX);
		/* Once, however often it is asked for. */
		break;
	}
	answer(c, option, NBD_REP_ACK, 0);
	c->ready = option == NBD_OPT_GO;
}

static void option(struct connection *c, uint32_t option, const unsigned char *data, uint32_t length)
{
	switch (option) {
	case NBD_OPT_EXPORT_NAME:
		export_name(c, data, length);
		break;
	case NBD_OPT_ABORT:
		answer(c, option, NBD_REP_ACK, 0);
		c->last = true;
		break;
	case NBD_OPT_LIST:
		list(c, option, length);
		break;
	case NBD_OPT_INFO:
	case NBD_OPT_GO:
		info(c, option, data, length);
		break;
	default:
		answer(c, option, NBD_REP_ERR_UNSUP, 0);
	}
}

/** handshake_greet - the first words */
void handshake_greet(struct connection *c)
{
	unsigned char *p = out(c);

	p = put64(p, NBD_GREETING);
	p = put64(p, NBD_OPTION);
	p = put16(p, NBD_FIXED_NEWSTYLE | NBD_NO_ZEROES);
	queued(c, p);
}

/**
 * handshake_step - take one thing of what has come
 * @c: nothing of its output is left
 *
 * Return: was it all there? Else more is to be read, unless @c->last.
 */
bool handshake_step(struct connection *c)
{
	const unsigned char *p = c->in + c->from;
	size_t have = c->to - c->from;
	uint32_t length;

	if (!c->greeted) {
		if (have < NBD_CLIENT_LEN)
			return false;
		c->client_flags = get32(p);
		c->from += NBD_CLIENT_LEN;
		c->greeted = true;
		c->last = c->client_flags & ~(uint32_t)(NBD_FIXED_NEWSTYLE | NBD_NO_ZEROES);
		return true;
	}
	if (have < NBD_OPTION_LEN)
		return false;
	length = get32(p + 12);
	if (get64(p) != NBD_OPTION || length > OPTION_MAX) {
		/* What follows is no option, or too long for one. */
		c->last = true;
		return true;
	}
	if (have < NBD_OPTION_LEN + length)
		return false;
	c->from += NBD_OPTION_LEN + length;
	option(c, get32(p + 8), p + NBD_OPTION_LEN, length);
	return true;
}
