// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * URLs: what a link means on its page. The same page shall have one name, as far as that is
 * seen from the name.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../common.h"
#include "dxspider.h"

#define URL_MAX		4096
/* Of what is none */
#define TEXT_MAX	200

/* A link as it may be sent: without what surrounds it, and with no byte that a URL has not. */
static char *clean(const char *link)
{
	static const char hex[] = "0123456789ABCDEF";
	const unsigned char *p = (const unsigned char *)link, *end = p + strlen(link);
	char *text, *t;

	while (p < end && *p <= ' ')
		p++;
	while (end > p && end[-1] <= ' ')
		end--;
	t = text = xrealloc(NULL, (size_t)(end - p) + 1, 3);
	for (; p < end; p++) {
		if (*p == '\t' || *p == '\n' || *p == '\r')
			continue;
		if (*p > ' ' && *p < 0x7f && !strchr("\"<>\\^`{|}", *p)) {
			*t++ = (char)*p;
			continue;
		}
		*t++ = '%';
		*t++ = hex[*p >> 4];
		*t++ = hex[*p & 15];
	}
	*t = '\0';
	return text;
}

/* The scheme's length, or 0: there is none. */
static size_t scheme(const char *link)
{
	size_t n = 0;

	if (isalpha((unsigned char)*link))
		while (isalnum((unsigned char)link[n]) || (link[n] && strchr("+-.", link[n])))
			n++;
	return link[n] == ':' ? n : 0;
}

/* Its parts as all who name it should have them. */
static bool normalise(CURLU *u)
{
	char *host;
	bool ok;

	if (curl_url_get(u, CURLUPART_HOST, &host, 0))
		return false;
	for (char *c = host; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	ok = !curl_url_set(u, CURLUPART_HOST, host, 0);
	curl_free(host);
	/* Names and passwords are for people. */
	return ok && !curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0) &&
	       !curl_url_set(u, CURLUPART_USER, NULL, 0) &&
	       !curl_url_set(u, CURLUPART_PASSWORD, NULL, 0);
}

/**
 * url_resolve - what a link means
 * @base: the URL of the page that it is on, or %NULL: it has to be whole
 * @link: as it is written there
 * @url: out, to be freed: %URL_HTTP: the URL, without a fragment; %URL_BAD: the link, fit to be
 *	printed; else %NULL
 *
 * Return: what it is.
 */
enum url_kind url_resolve(const char *base, const char *link, char **url)
{
	char *text = clean(link), *whole = NULL;
	size_t n = scheme(text);
	CURLU *u;
	bool ok;

	*url = NULL;
	if (n && strncasecmp(text, "http:", n + 1) && strncasecmp(text, "https:", n + 1)) {
		free(text);
		return URL_OTHER;
	}
	u = curl_url();
	if (!u)
		die(NOT_RUN, "memory exhausted");
	ok = strlen(text) <= URL_MAX && (base || n) &&
	     (!base || !curl_url_set(u, CURLUPART_URL, base, 0)) &&
	     /* This page */
	     ((base && (!*text || *text == '#')) || !curl_url_set(u, CURLUPART_URL, text, 0)) &&
	     normalise(u) && !curl_url_get(u, CURLUPART_URL, &whole, CURLU_NO_DEFAULT_PORT) &&
	     strlen(whole) <= URL_MAX;
	curl_url_cleanup(u);
	if (!ok) {
		curl_free(whole);
		text[strnlen(text, TEXT_MAX)] = '\0';
		*url = text;
		return URL_BAD;
	}
	free(text);
	/* Names of hosts come out as they are. */
	*url = clean(whole);
	curl_free(whole);
	return URL_HTTP;
}

/* Of a URL, the bytes that say which host, and how it is reached */
size_t url_origin(const char *url)
{
	return (size_t)(strchr(strstr(url, "://") + 3, '/') - url);
}

/* ... and those before the last part of its path */
size_t url_directory(const char *url)
{
	size_t n = strcspn(url, "?");

	while (url[n - 1] != '/')
		n--;
	return n;
}
