// SPDX-License-Identifier: LGPL-2.1-or-later
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "resp.h"

/* A number of the protocol has at most so many bytes */
#define NUMBER_MAX	32

/* --- requests ------------------------------------------------------------------------- */

static int add(struct request *r, const char *p, size_t len)
{
	unsigned int room = r->room ? 2 * r->room : 16;
	struct slice *more;

	if (r->nr == r->room) {
		more = realloc(r->args, room * sizeof(*more));
		if (!more)
			return -1;
		r->args = more;
		r->room = room;
	}
	r->args[r->nr++] = (struct slice){ p, len };
	return 0;
}

/*
 * The number of a line that begins with a type, up to its end.
 * Return: bytes of the line; 0: not all there; -1: it is none
 */
static ssize_t line_number(const char *p, size_t len, int64_t *n)
{
	const char *end = memchr(p, '\n', len);
	struct slice digits;

	if (!end)
		return len > NUMBER_MAX ? -1 : 0;
	digits = (struct slice){ p + 1, (size_t)(end - p) - 1 };
	if (!digits.len || digits.p[--digits.len] != '\r' || !slice_number(&digits, n))
		return -1;
	return end - p + 1;
}

/* Words between blanks, which is what people type. */
static ssize_t parse_inline(struct request *r, const char *p, size_t len, const char **wrong)
{
	const char *end = memchr(p, '\n', len), *from;

	*wrong = "Protocol error: too big inline request";
	if ((end ? (size_t)(end - p) : len) > INLINE_MAX)
		return -1;
	if (!end)
		return 0;
	for (const char *at = p; at < end;) {
		while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
			at++;
		for (from = at; at < end && *at != ' ' && *at != '\t' && *at != '\r';)
			at++;
		*wrong = "out of memory";
		if (at > from && add(r, from, (size_t)(at - from)))
			return -1;
	}
	return end - p + 1;
}

static ssize_t parse_bulk(struct request *r, const char *p, size_t len, size_t value_max,
			  const char **wrong)
{
	int64_t size;
	ssize_t n;

	if (!len)
		return 0;
	*wrong = "Protocol error: expected '$'";
	if (*p != '$')
		return -1;
	*wrong = "Protocol error: invalid bulk length";
	n = line_number(p, len, &size);
	if (n <= 0)
		return n;
	if (size < 0 || (uint64_t)size > value_max)
		return -1;
	if (len - (size_t)n < (size_t)size + 2)
		return 0;
	*wrong = "Protocol error: a bulk string without its end";
	if (memcmp(p + n + size, "\r\n", 2))
		return -1;
	*wrong = "out of memory";
	return add(r, p + n, (size_t)size) ? -1 : n + size + 2;
}

ssize_t resp_parse(struct request *request, const char *p, size_t len, size_t value_max,
		   const char **wrong)
{
	int64_t nr;
	ssize_t n, at;

	request->nr = 0;
	if (!len)
		return 0;
	if (*p != '*')
		return parse_inline(request, p, len, wrong);
	*wrong = "Protocol error: invalid multibulk length";
	at = line_number(p, len, &nr);
	if (at <= 0)
		return at;
	if (nr > ARGS_MAX)
		return -1;
	for (; nr > 0; nr--) {
		n = parse_bulk(request, p + at, len - (size_t)at, value_max, wrong);
		if (n <= 0)
			return n;
		at += n;
	}
	return at;
}

bool slice_is(const struct slice *s, const char *word)
{
	return s->len == strlen(word) && !strncasecmp(s->p, word, s->len);
}

bool slice_number(const struct slice *s, int64_t *number)
{
	bool negative = s->len && *s->p == '-';
	int64_t n = 0;

	/* "-0" and "007" are text. */
	if (s->len == (size_t)negative || s->len > 20 ||
	    (s->p[negative] == '0' && s->len > 1))
		return false;
	for (size_t i = negative; i < s->len; i++) {
		if (s->p[i] < '0' || s->p[i] > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    (negative ? __builtin_sub_overflow(n, s->p[i] - '0', &n) :
				__builtin_add_overflow(n, s->p[i] - '0', &n)))
			return false;
	}
	*number = n;
	return true;
}

/* --- replies ------------------------------------------------------------------------------ */

void put(struct bytes *b, const void *p, size_t len)
{
	size_t room = b->room ? b->room : 1024;
	char *more;

	while (room < b->len + len)
		room *= 2;
	if (room != b->room) {
		more = realloc(b->p, room);
		if (!more) {
			b->broken = true;
			return;
		}
		b->p = more;
		b->room = room;
	}
	if (len)
		memcpy(b->p + b->len, p, len);
	b->len += len;
}

void put_text(struct bytes *b, const char *text)
{
	put(b, text, strlen(text));
}

void put_error(struct bytes *b, const char *format, ...)
{
	char text[256] = "-";
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + 1, sizeof(text) - 1, format, ap);
	va_end(ap);
	/* It is one line, whatever a client has sent. */
	for (char *p = text; *p; p++)
		if (*p == '\r' || *p == '\n')
			*p = ' ';
	put_text(b, text);
	put(b, "\r\n", 2);
}

static void put_line(struct bytes *b, char type, int64_t n)
{
	char text[NUMBER_MAX];

	put(b, text, (size_t)snprintf(text, sizeof(text), "%c%" PRId64 "\r\n", type, n));
}

void put_number(struct bytes *b, int64_t n)
{
	put_line(b, ':', n);
}

void put_bulk(struct bytes *b, const void *p, size_t len)
{
	put_line(b, '$', (int64_t)len);
	put(b, p, len);
	put(b, "\r\n", 2);
}

void put_null(struct bytes *b)
{
	put_text(b, "$-1\r\n");
}

void put_array(struct bytes *b, size_t nr)
{
	put_line(b, '*', (int64_t)nr);
}
