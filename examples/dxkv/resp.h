/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The Redis protocol, RESP2: requests out of bytes, replies into bytes.
 */
#ifndef _DXKV_RESP_H
#define _DXKV_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_MAX		512
#define INLINE_MAX	(64 << 10)
#define ARGS_MAX	(1 << 20)

/* Bytes of a request; not terminated */
struct slice {
	const char *p;
	size_t len;
};

/* A request. @args lie in the bytes that it was parsed of. */
struct request {
	struct slice *args;
	unsigned int nr, room;
};

/* Bytes to be sent. One that is @broken lacked memory. */
struct bytes {
	char *p;
	size_t len, room;
	bool broken;
};

/**
 * resp_parse - the request at the begin of some bytes
 * @request: out
 * @p: the bytes
 * @len: how many
 * @value_max: most bytes of an argument
 * @wrong: out: what is wrong
 *
 * Return: how many bytes it has; 0: they are not all there; -1: it is none, and what follows
 * is of no use.
 */
ssize_t resp_parse(struct request *request, const char *p, size_t len, size_t value_max,
		   const char **wrong);

bool slice_is(const struct slice *s, const char *word);
bool slice_number(const struct slice *s, int64_t *number);

void put(struct bytes *b, const void *p, size_t len);
void put_text(struct bytes *b, const char *text);
void put_error(struct bytes *b, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));
void put_number(struct bytes *b, int64_t n);
void put_bulk(struct bytes *b, const void *p, size_t len);
void put_null(struct bytes *b);
void put_array(struct bytes *b, size_t nr);

#endif /* _DXKV_RESP_H */
