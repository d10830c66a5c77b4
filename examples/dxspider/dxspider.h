/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dxspider: what its files share. An agent knows URLs, and nothing of pages; who gathers what the
 * agents say is one thread, and what it knows needs no lock.
 */
#ifndef _DXSPIDER_H
#define _DXSPIDER_H

#include <stdbool.h>
#include <stddef.h>

#include <dx_aglet.h>

/* Does not change once the first agent is there. */
struct options {
	unsigned int depth;		/* links from a start to what is still looked at */
	unsigned int pages;		/* most requests */
	unsigned int lanes;		/* requests of a host at a time */
	unsigned int threads;		/* requests at a time */
	unsigned int seconds;		/* for each of them */
	bool elsewhere;			/* look at what is not below a start, too */
};

extern struct options options;

/* --- agent.c ------------------------------------------------------------------------- */

/**
 * struct order - the argument of a message to an agent
 * @page: comes back with the answer
 * @head: it is enough to know whether it is there
 * @url: what to fetch
 */
struct order {
	void *page;
	bool head;
	char url[];
};

/**
 * struct answer - the reply; URLs follow, each with a zero
 * @page: of the order
 * @links: how many follow: the target of a redirect, or the links of a page. What cannot be
 *	a URL comes as BAD_URL and its text
 * @status: of HTTP, or 0: there is no answer
 * @error: why not: of CURLcode
 * @redirect: the URL says where it is instead
 * @partial: it is larger than what was read of it
 */
struct answer {
	void *page;
	size_t links;
	int status;
	int error;
	bool redirect, partial;
};

#define BAD_URL		'!'

AgletProxy *agent_new(AgletContext *context, bool keep);

/* --- links.c ------------------------------------------------------------------------- */

/* Text that grows */
struct text {
	char *data;
	size_t len, room;
};

void text_add(struct text *text, const void *data, size_t len);

struct link_reader;

struct link_reader *links_begin(const char *url, struct text *out);
bool links_read(struct link_reader *r, const char *data, size_t len);
size_t links_end(struct link_reader *r, bool whole);

/* --- url.c --------------------------------------------------------------------------- */

enum url_kind { URL_HTTP, URL_OTHER, URL_BAD };

enum url_kind url_resolve(const char *base, const char *link, char **url);
size_t url_origin(const char *url);
size_t url_directory(const char *url);

/* --- crawl.c ------------------------------------------------------------------------- */

/* What is known at the end */
struct counts {
	unsigned int requests, hosts;
	unsigned int broken, places;	/* URLs, and links to them */
	unsigned int left_out;		/* more than -n, or than there is memory for */
};

void crawl(AgletContext *context, char *const *starts, unsigned int nr, struct counts *counts);

#endif /* _DXSPIDER_H */
