/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dxhttpd: what a request of HTTP/1.1 says, and the reply that a file makes.
 */
#ifndef _DXHTTPD_HTTP_H
#define _DXHTTPD_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Bytes of a request's head: a longer one is refused. */
#define HEAD_MAX	8192
#define PATH_LEN	1024

enum method { METHOD_GET, METHOD_HEAD, METHOD_OTHER };

/**
 * struct http_request - a request's head
 * @method: what is to be done
 * @minor: 0 of HTTP/1.0, 1 of HTTP/1.1
 * @keep: the connection is to stay
 * @body: a body follows, which no request here has a use for
 * @path: below the root, decoded, without a leading slash; "" is the root
 * @slash: it ended with one
 * @since: If-Modified-Since, or 0
 * @range: there is one range of bytes ...
 * @first: ... its first, or -1: the last @last ones
 * @last: ... its last, or -1: to the end
 * @whole: ... but only if the file has not changed, which is not known
 */
struct http_request {
	enum method method;
	int minor;
	bool keep, body, slash, range, whole;
	char path[PATH_LEN];
	time_t since;
	int64_t first, last;
};

int http_parse(char *head, size_t len, struct http_request *request);
int http_range(const struct http_request *request, int64_t size, int64_t *first,
	       int64_t *count);
const char *http_reason(int status);
const char *http_type(const char *path);
void http_date(char text[32], time_t when);

#endif /* _DXHTTPD_HTTP_H */
