// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The links of a page, while it comes: href and src of any element. libxml2 makes something of
 * anything.
 */
#define _GNU_SOURCE
#include <libxml/HTMLparser.h>
#include <libxml/encoding.h>
#include <stdlib.h>
#include <string.h>

#include "../common.h"
#include "dxspider.h"

/* Bytes of URLs that are kept of a page */
#define LINKS_MAX	(4 << 20)

struct link_reader {
	htmlParserCtxtPtr parser;
	const char *url;		/* of the page */
	char *base;			/* what the page says instead, or NULL */
	struct text *out;
	size_t begin, links;
};

void text_add(struct text *text, const void *data, size_t len)
{
	if (text->room - text->len < len) {
		text->room = 2 * (text->len + len);
		text->data = xrealloc(text->data, text->room, 1);
	}
	memcpy(text->data + text->len, data, len);
	text->len += len;
}

/*
 * A page that does not say how it is encoded is taken for ISO 8859-1. Is it UTF-8 then after
 * all, a letter of the link has become two or more. Return: the link, changed in place.
 */
static char *as_written(xmlChar *link)
{
	int len = (int)strlen((char *)link), out = len;
	xmlChar *bytes = xrealloc(NULL, (size_t)len + 1, 1);

	if (UTF8Toisolat1(bytes, &out, link, &len) >= 0) {
		bytes[out] = '\0';
		if (xmlCheckUTF8(bytes))
			memcpy(link, bytes, (size_t)out + 1);
	}
	free(bytes);
	return (char *)link;
}

static void add(struct link_reader *r, const char *link)
{
	enum url_kind kind;
	char *url;

	if (r->out->len - r->begin >= LINKS_MAX)
		return;
	kind = url_resolve(r->base ? r->base : r->url, link, &url);
	if (kind == URL_BAD)
		text_add(r->out, &(char){ BAD_URL }, 1);
	if (kind != URL_OTHER) {
		text_add(r->out, url, strlen(url) + 1);
		r->links++;
	}
	free(url);
}

static const xmlChar *attribute(const xmlChar **list, const char *name)
{
	for (; list && *list; list += 2)
		if (!strcmp((const char *)*list, name))
			return list[1];
	return NULL;
}

static void element(void *reader, const xmlChar *name, const xmlChar **attributes)
{
	static const char *const having[] = { "href", "src" };
	struct link_reader *r = reader;
	const xmlChar *rel = attribute(attributes, "rel");

	/* These name hosts, and no page. */
	if (rel && (xmlStrcasestr(rel, (const xmlChar *)"preconnect") ||
		    xmlStrcasestr(rel, (const xmlChar *)"dns-prefetch")))
		return;
	for (size_t i = 0; i < sizeof(having) / sizeof(having[0]); i++) {
		const xmlChar *value = attribute(attributes, having[i]);
		xmlChar *link = value ? xmlStrdup(value) : NULL;

		if (!link)
			continue;
		if (strcmp((const char *)name, "base"))
			add(r, as_written(link));
		/* The first one counts. */
		else if (!r->base && url_resolve(r->url, as_written(link), &r->base) != URL_HTTP) {
			free(r->base);
			r->base = NULL;
		}
		xmlFree(link);
	}
}

static void ignore(void *data, const char *format, ...)
{
	(void)data;
	(void)format;
}

/**
 * links_begin - a page is to be read
 * @url: its
 * @out: gets its links, each with a zero
 *
 * Return: for links_read() and links_end().
 */
struct link_reader *links_begin(const char *url, struct text *out)
{
	static htmlSAXHandler handler = { .startElement = element };
	struct link_reader *r = xrealloc(NULL, 1, sizeof(*r));

	*r = (struct link_reader){ .url = url, .out = out, .begin = out->len };
	r->parser = htmlCreatePushParserCtxt(&handler, r, NULL, 0, NULL,
					     XML_CHAR_ENCODING_NONE);
	if (!r->parser)
		die(NOT_RUN, "memory exhausted");
	/* With HTML_PARSE_RECOVER it would miss the end of a script that comes in two pieces. */
	htmlCtxtUseOptions(r->parser, HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING);
	/* Of this thread */
	xmlSetGenericErrorFunc(NULL, ignore);
	return r;
}

/* Return: there is room for the links of more. */
bool links_read(struct link_reader *r, const char *data, size_t len)
{
	htmlParseChunk(r->parser, data, (int)len, 0);
	return r->out->len - r->begin < LINKS_MAX;
}

/* Of one that is not @whole the last links may be none. Return: how many there were. */
size_t links_end(struct link_reader *r, bool whole)
{
	size_t links;

	if (whole)
		htmlParseChunk(r->parser, NULL, 0, 1);
	links = r->links;
	htmlFreeParserCtxt(r->parser);
	free(r->base);
	free(r);
	return links;
}
