// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parser of examples/dxhttpd: what it says of heads that are made, and that it stays within
 * those that are changed at random. Behind each head, and behind the request, is no memory.
 */
#include "../examples/dxhttpd/http.c"

#include <stdio.h>
#include <sys/mman.h>

#include "kselftest_harness.h"

#define PAGE	4096
#define ROOM	(4 * PAGE)

static unsigned int seed = 1;

static unsigned int any(unsigned int n)
{
	seed = seed * 1664525 + 1013904223;
	return (unsigned int)(((unsigned long)seed * n) >> 32);
}

/* @len bytes that end where memory does */
static void *before_nothing(size_t len)
{
	static char *end[2];
	static int which;

	which = !which;
	if (!end[which]) {
		char *p = mmap(NULL, ROOM + PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED || mprotect(p + ROOM, PAGE, PROT_NONE))
			return NULL;
		end[which] = p + ROOM;
	}
	return end[which] - len;
}

static int parse(const char *text, size_t len, struct http_request **request)
{
	char *head = before_nothing(len + 1);

	*request = before_nothing(sizeof(**request));
	memset(*request, 0xa5, sizeof(**request));
	memcpy(head, text, len);
	head[len] = '\0';
	return http_parse(head, len, *request);
}

struct made {
	char text[HEAD_MAX];
	size_t len;
	struct http_request r;
};

static void add(struct made *m, const char *text)
{
	size_t len = strlen(text);

	memcpy(m->text + m->len, text, len);
	m->len += len;
}

static void add_path(struct made *m)
{
	unsigned int n = any(60);
	char c[8];

	add(m, any(8) ? "/" : "http://host:80/");
	for (unsigned int i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)(1 + any(255));
		bool plain = (byte >= 'a' && byte <= 'z') || (byte == '/' && i);

		sprintf(c, plain ? "%c" : any(2) ? "%%%02X" : "%%%02x", byte);
		add(m, c);
		m->r.path[i] = (char)byte;
	}
	m->r.path[n] = '\0';
	m->r.slash = !n || m->r.path[n - 1] == '/';
	if (!any(4))
		add(m, "?a=%zz&b=/../");
}

static void add_range(struct made *m)
{
	int first = (int)any(1000), last = first + (int)any(1000);
	unsigned int what = any(3);
	char field[64];

	m->r.range = true;
	m->r.first = what == 2 ? -1 : first;
	m->r.last = what == 1 ? -1 : last;
	add(m, any(2) ? "Range: bytes=" : "range:\tBYTES=");
	if (what != 2)
		sprintf(field, "%d", first);
	add(m, what != 2 ? field : "");
	add(m, "-");
	if (what != 1)
		sprintf(field, "%d", last);
	add(m, what != 1 ? field : "");
	add(m, any(2) ? "\r\n" : " \t\r\n");
}

static void make(struct made *m)
{
	static const char *const method[] = { "GET", "HEAD", "POST" };

	*m = (struct made){ .r = { .method = any(3), .minor = (int)any(2) } };
	add(m, method[m->r.method]);
	add(m, " ");
	add_path(m);
	add(m, m->r.minor ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
	m->r.keep = m->r.minor;
	while (any(3)) {
		switch (any(6)) {
		case 0:
			m->r.keep = any(2);
			add(m, m->r.keep ? "Connection: Keep-Alive\r\n" : "CONNECTION:close\r\n");
			break;
		case 1:
			m->r.body = true;
			add(m, any(2) ? "Content-Length: 7\r\n" : "Transfer-Encoding: chunked\r\n");
			break;
		case 2:
			m->r.since = 883612800;
			add(m, "If-Modified-Since: Thu, 01 Jan 1998 00:00:00 GMT\r\n");
			break;
		case 3:
			if (!m->r.range)
				add_range(m);
			break;
		case 4:
			m->r.whole = true;
			add(m, "If-Range: x\r\n");
			break;
		case 5:
			add(m, "X: : y\r\nContent-Length: 0\r\n");
		}
	}
	add(m, "\r\n");
}

static bool same(const struct http_request *a, const struct http_request *b)
{
	return a->method == b->method && a->minor == b->minor && a->keep == b->keep &&
	       a->body == b->body && a->slash == b->slash && a->range == b->range &&
	       a->whole == b->whole && a->since == b->since && !strcmp(a->path, b->path) &&
	       (!a->range || (a->first == b->first && a->last == b->last));
}

/* Of whatever is asked for, what a reply has is in the file. */
static bool is_within(const struct http_request *r)
{
	int64_t size = any(4) ? any(1500) : 0, first, count;

	switch (http_range(r, size, &first, &count)) {
	case 200:
		return !first && count == size;
	case 206:
		return first >= 0 && count > 0 && first <= size - count;
	case 416:
		return r->range;
	}
	return false;
}

TEST(says_what_is_asked_for)
{
	struct http_request *r;
	static struct made m;

	for (unsigned int i = 0; i < 30000; i++) {
		make(&m);
		ASSERT_EQ(0, parse(m.text, m.len, &r)) {
			TH_LOG("%u: %.*s", i, (int)m.len, m.text);
		}
		ASSERT_TRUE(same(&m.r, r)) {
			TH_LOG("%u: %.*s", i, (int)m.len, m.text);
		}
		ASSERT_TRUE(is_within(r)) {
			TH_LOG("%u: %.*s", i, (int)m.len, m.text);
		}
	}
}

static size_t change(char *text, size_t len)
{
	static const char odd[] = "\r\n\t :%/?#-,=\0\x7f\xff" "0129";
	size_t at = any((unsigned int)len), n = 1 + any(8);

	switch (any(4)) {
	case 0:
		text[at] = (char)any(256);
		return len;
	case 1:
		text[at] = odd[any(sizeof(odd))];
		return len;
	case 2:
		n = n < len - at ? n : len - at;
		memmove(text + at, text + at + n, len - at - n);
		return len > n ? len - n : len;
	}
	if (len + n > HEAD_MAX)
		return len;
	memmove(text + at + n, text + at, len - at);
	for (size_t i = at; i < at + n; i++)
		text[i] = any(2) ? odd[any(sizeof(odd))] : (char)any(256);
	return len + n;
}

/* A hundred thousand that are none, or others than they were */
TEST(stays_within)
{
	unsigned int refused = 0;
	struct http_request *r;
	static struct made m;

	for (unsigned int i = 0; i < 100000; i++) {
		int rc;

		make(&m);
		for (unsigned int k = 1 + any(4); k; k--)
			m.len = change(m.text, m.len);
		rc = parse(m.text, m.len, &r);
		refused += rc != 0;
		if (rc) {
			ASSERT_TRUE(rc == 400 || rc == 414 || rc == 505) {
				TH_LOG("%u: %d", i, rc);
			}
			continue;
		}
		ASSERT_GT(PATH_LEN, strnlen(r->path, PATH_LEN));
		ASSERT_GE(METHOD_OTHER, r->method);
		ASSERT_TRUE(is_within(r)) {
			TH_LOG("%u: %.*s", i, (int)m.len, m.text);
		}
	}
	EXPECT_LT(20000, refused);
	EXPECT_GT(90000, refused);
}

/* One byte of each is wrong. */
TEST(refuses)
{
	static const struct {
		const char *text;
		int status;
	} wrong[] = {
		{ "", 400 }, { "\r\n\r\n", 400 }, { "GET /\r\n\r\n", 400 },
		{ "GET  HTTP/1.1\r\n\r\n", 400 }, { " / HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1 \r\n\r\n", 400 }, { "GET / HTTQ/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.2\r\n\r\n", 505 }, { "GET a HTTP/1.1\r\n\r\n", 400 },
		{ "GET /a%00b HTTP/1.1\r\n\r\n", 400 }, { "GET /% HTTP/1.1\r\n\r\n", 400 },
		{ "GET /%1 HTTP/1.1\r\n\r\n", 400 }, { "GET /%1g HTTP/1.1\r\n\r\n", 400 },
		{ "GET /%@1 HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nA : b\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n: b\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\nA\r\n\r\n", 400 },
	};
	struct http_request *r;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		EXPECT_EQ(wrong[i].status, parse(wrong[i].text, strlen(wrong[i].text), &r)) {
			TH_LOG("%s", wrong[i].text);
		}
	}
	/* a zero that is not the end */
	EXPECT_EQ(400, parse("GET / HTTP/1.1\r\n\0\r\n", 20, &r));
}

/* The longest path, and one byte more */
TEST(long_paths)
{
	static char text[HEAD_MAX];
	struct http_request *r;

	for (int more = 0; more < 2; more++) {
		size_t len = PATH_LEN - 1 + (size_t)more;
		int n = sprintf(text, "GET /%0*d HTTP/1.1\r\n\r\n", (int)len, 0);

		EXPECT_EQ(more ? 414 : 0, parse(text, (size_t)n, &r));
	}
}

TEST_HARNESS_MAIN
