// SPDX-License-Identifier: LGPL-2.1-or-later
/* See http.h. RFC 9110, RFC 9112. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http.h"

const char *http_reason(int status)
{
	switch (status) {
	case 200: return "OK";
	case 206: return "Partial Content";
	case 301: return "Moved Permanently";
	case 304: return "Not Modified";
	case 400: return "Bad Request";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 413: return "Content Too Large";
	case 414: return "URI Too Long";
	case 416: return "Range Not Satisfiable";
	case 431: return "Request Header Fields Too Large";
	case 503: return "Service Unavailable";
	case 505: return "HTTP Version Not Supported";
	default: return "Internal Server Error";
	}
}

const char *http_type(const char *path)
{
	static const char *const types[][2] = {
		{ "css", "text/css" }, { "gif", "image/gif" }, { "htm", "text/html" },
		{ "html", "text/html" }, { "ico", "image/x-icon" }, { "jpeg", "image/jpeg" },
		{ "jpg", "image/jpeg" }, { "js", "text/javascript" },
		{ "json", "application/json" }, { "pdf", "application/pdf" },
		{ "png", "image/png" }, { "svg", "image/svg+xml" }, { "txt", "text/plain" },
		{ "xml", "application/xml" },
	};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcasecmp(dot + 1, types[i][0]))
			return types[i][1];
	return "application/octet-stream";
}

void http_date(char text[32], time_t when)
{
	struct tm tm;

	gmtime_r(&when, &tm);
	strftime(text, 32, "%a, %d %b %Y %H:%M:%S GMT", &tm);
}

static int hex(char c)
{
	const char *digits = "0123456789abcdef", *p = c ? strchr(digits, c | 0x20) : NULL;

	if (c >= '0' && c <= '9')
		return c - '0';
	return p && p >= digits + 10 ? (int)(p - digits) : -1;
}

/*
 * The path of a request's target, without its query. What names no file below the root is
 * left to who opens it.
 */
static int parse_path(const char *target, struct http_request *r)
{
	size_t n = 0;

	/* The absolute form, which proxies use */
	if (!strncasecmp(target, "http://", 7)) {
		target = strchr(target + 7, '/');
		if (!target)
			target = "/";
	}
	if (*target != '/')
		return 400;
	while (*target == '/')
		target++;
	for (; *target && *target != '?' && *target != '#'; target++) {
		char c = *target;

		if (c == '%') {
			int high = hex(target[1]), low = high < 0 ? -1 : hex(target[2]);

			c = (char)(high * 16 + low);
			if (low < 0 || !c)
				return 400;
			target += 2;
		}
		if (n == PATH_LEN - 1)
			return 414;
		r->path[n++] = c;
	}
	r->path[n] = '\0';
	r->slash = !n || r->path[n - 1] == '/';
	return 0;
}

/* bytes=FIRST-LAST, FIRST- or -COUNT. Others, and more than one, are as if not there. */
static void parse_range(const char *value, struct http_request *r)
{
	char *end;

	if (strncasecmp(value, "bytes=", 6))
		return;
	value += 6;
	r->first = r->last = -1;
	if (*value >= '0' && *value <= '9') {
		r->first = strtoll(value, &end, 10);
		value = end;
	}
	if (*value++ != '-')
		return;
	if (*value >= '0' && *value <= '9') {
		r->last = strtoll(value, &end, 10);
		value = end;
	}
	r->range = !*value && (r->first >= 0 || r->last >= 0) &&
		   (r->first < 0 || r->last < 0 || r->first <= r->last);
}

static void parse_field(char *name, char *value, struct http_request *r)
{
	struct tm tm = { 0 };

	if (!strcasecmp(name, "Connection")) {
		if (strcasestr(value, "close"))
			r->keep = false;
		else if (strcasestr(value, "keep-alive"))
			r->keep = true;
	} else if (!strcasecmp(name, "Content-Length")) {
		r->body |= strcmp(value, "0") != 0;
	} else if (!strcasecmp(name, "Transfer-Encoding")) {
		r->body = true;
	} else if (!strcasecmp(name, "If-Modified-Since")) {
		if (strptime(value, "%a, %d %b %Y %H:%M:%S GMT", &tm))
			r->since = timegm(&tm);
	} else if (!strcasecmp(name, "Range")) {
		parse_range(value, r);
	} else if (!strcasecmp(name, "If-Range")) {
		/* No entity tags, and a date is not compared: the whole is right in any case. */
		r->whole = true;
	}
}

/* Of @text, the next line, without its end; moved behind it. */
static char *next_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*text = end + 1;
	if (end > line && end[-1] == '\r')
		end--;
	*end = '\0';
	return line;
}

static int parse_first(char *line, struct http_request *r)
{
	char *target = strchr(line, ' '), *version;

	version = target ? strchr(target + 1, ' ') : NULL;
	if (!version || version == target + 1 || target == line || strchr(version + 1, ' '))
		return 400;
	*target++ = *version++ = '\0';
	if (strncmp(version, "HTTP/", 5))
		return 400;
	if (strcmp(version, "HTTP/1.1") && strcmp(version, "HTTP/1.0"))
		return 505;
	r->minor = version[7] - '0';
	r->keep = r->minor;
	r->method = !strcmp(line, "GET") ? METHOD_GET :
		    !strcmp(line, "HEAD") ? METHOD_HEAD : METHOD_OTHER;
	return parse_path(target, r);
}

/**
 * http_parse - what a request says
 * @head: its head with the empty line, a zero behind it; is changed
 * @len: its bytes
 * @request: out
 *
 * Return: 0, or the status of a reply after which the connection ends.
 */
int http_parse(char *head, size_t len, struct http_request *request)
{
	char *line, *value, *end;
	int rc;

	*request = (struct http_request){ .method = METHOD_OTHER };
	if (strlen(head) != len)
		return 400;
	line = next_line(&head);
	rc = line ? parse_first(line, request) : 400;
	while (!rc && (line = next_line(&head)) && *line) {
		value = strchr(line, ':');
		/* A name, and nothing between it and the colon: else others read it otherwise. */
		if (!value || value == line || strcspn(line, " \t") < (size_t)(value - line))
			return 400;
		*value++ = '\0';
		value += strspn(value, " \t");
		for (end = value + strlen(value); end > value && strchr(" \t", end[-1]); end--)
			end[-1] = '\0';
		parse_field(line, value, request);
	}
	return rc;
}

/**
 * http_range - which bytes of a file are asked for
 * @request: with a range or without
 * @size: of the file
 * @first: out
 * @count: out
 *
 * Return: 200, 206, or 416: none of these are there.
 */
int http_range(const struct http_request *request, int64_t size, int64_t *first, int64_t *count)
{
	int64_t last = request->last;

	*first = 0;
	*count = size;
	if (!request->range || request->whole)
		return 200;
	if (request->first < 0) {
		if (!last || !size)
			return 416;
		*first = last < size ? size - last : 0;
		last = size - 1;
	} else {
		if (request->first >= size)
			return 416;
		*first = request->first;
		if (last < 0 || last >= size)
			last = size - 1;
	}
	*count = last - *first + 1;
	return 206;
}
