// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The crawl: which pages there are, and who links to whom. It sends each URL once to an agent of
 * its host, has all replies in one set, and prints a broken link as soon as both it and the page
 * that has it are known.
 *
 * The agents of hosts are not equally fast: a page may be found first by a longer way than there
 * is. Then what it links to is nearer, too, also what was too far before. So which pages are looked
 * at does not depend on who is fast.
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "../common.h"
#include "dxspider.h"

#define REDIRECTS_MAX	20
/* For all that is known of pages */
#define MEMORY_MAX	(512UL << 20)

struct link {
	struct page *from, *to;		/* @from is NULL: it is a start */
	bool redirect;
	SLIST_ENTRY(link) out, in;
};

struct page {
	const char *url;		/* first: see by_name() */
	struct host *host;		/* who is asked, and which agent of it */
	unsigned int lane;
	unsigned int depth;		/* of the shortest way that is known */
	unsigned int redirects;		/* on the way that was found first */
	bool below;			/* below a start: its links are followed */
	bool asked, done, broken, printed, left_out;
	bool listed;			/* in the list of reach() */
	int status;			/* why it is broken ... */
	const char *error;		/* ... if there was no status */
	const struct page *at;		/* the end of its redirects */
	struct page *to;		/* its redirect */
	struct page *last_from;		/* the last one that was found to link to it */
	SLIST_HEAD(, link) out;		/* what it links to */
	SLIST_HEAD(, link) in;		/* who waits to hear what has become of it */
	STAILQ_ENTRY(page) next;	/* in a list of pages that have changed */
	char text[];
};

STAILQ_HEAD(pages, page);

struct host {
	const char *origin;		/* first: see by_name() */
	unsigned int *waiting;		/* of each lane, orders without an answer */
	AgletProxy **lanes;
};

static struct {
	AgletContext *context;
	ReplySet *replies;
	struct counts *counts;
	void *pages, *hosts;		/* trees */
	const char **starts;		/* what is below is followed */
	unsigned int nr_starts;
	size_t memory;
} web;

/* --- what is known ---------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Return: there is memory for it. */
static bool spend(size_t size)
{
	if (web.memory + size > MEMORY_MAX) {
		web.counts->left_out++;
		return false;
	}
	web.memory += size;
	return true;
}

static void *xzalloc(size_t size)
{
	return memset(xrealloc(NULL, 1, size), 0, size);
}

static void insert(void *object, void **tree)
{
	if (!tsearch(object, tree, by_name))
		die(NOT_RUN, "memory exhausted");
}

static bool is_below(const char *url)
{
	for (unsigned int i = 0; i < web.nr_starts; i++)
		if (!strncmp(url, web.starts[i], strlen(web.starts[i])))
			return true;
	return false;
}

static void add_start(const char *url)
{
	web.starts = xrealloc(web.starts, web.nr_starts + 1, sizeof(*web.starts));
	web.starts[web.nr_starts] = strndup(url, url_directory(url));
	if (!web.starts[web.nr_starts++])
		die(NOT_RUN, "memory exhausted");
}

/* The page of a URL; NULL: it is none of ours, or too much. */
static struct page *page_of(const char *url)
{
	struct page **found = tfind(&url, &web.pages, by_name), *p;
	bool bad = *url == BAD_URL, below = !bad && is_below(url);
	size_t size = sizeof(*p) + strlen(url) + 1;

	if (found)
		return *found;
	if ((!bad && !below && !options.elsewhere) || !spend(size))
		return NULL;
	p = xzalloc(size);
	p->url = strcpy(p->text, url);
	p->below = below;
	p->depth = UINT_MAX;
	p->at = p;
	SLIST_INIT(&p->out);
	SLIST_INIT(&p->in);
	if (bad) {
		p->error = "this is no URL";
		p->done = p->broken = true;
	}
	insert(p, &web.pages);
	return p;
}

/* Of a page; made with the first one. */
static struct host *host_of(const struct page *p)
{
	char *origin = strndup(p->url, url_origin(p->url));
	unsigned int nr = p->below ? options.lanes : 1;
	struct host **found, *h;

	if (!origin)
		die(NOT_RUN, "memory exhausted");
	found = tfind(&origin, &web.hosts, by_name);
	if (found) {
		free(origin);
		return *found;
	}
	h = xzalloc(sizeof(*h));
	h->origin = origin;
	h->waiting = xzalloc(options.lanes * sizeof(*h->waiting));
	h->lanes = xzalloc(options.lanes * sizeof(*h->lanes));
	for (unsigned int i = 0; i < nr; i++)
		h->lanes[i] = agent_new(web.context, p->below);
	insert(h, &web.hosts);
	web.counts->hosts++;
	return h;
}

/* --- what is said -------------------------------------------------------------------------- */

static void print(const struct page *from, struct page *p)
{
	const char *url = p->url + (*p->url == BAD_URL);

	printf("%s %s ", from ? from->url : "-", url);
	if (p->at->status)
		printf("%d", p->at->status);
	else
		printf("%s", p->at->error);
	if (p->at != p)
		printf(" at %s", p->at->url);
	putchar('\n');
	web.counts->places++;
	web.counts->broken += !p->printed;
	p->printed = true;
}

/* It is known what has become of a page, and so of all that redirect to it. */
static void settle(struct page *p)
{
	struct pages settled = STAILQ_HEAD_INITIALIZER(settled);
	struct link *l;

	p->done = true;
	STAILQ_INSERT_TAIL(&settled, p, next);
	while ((p = STAILQ_FIRST(&settled))) {
		STAILQ_REMOVE_HEAD(&settled, next);
		SLIST_FOREACH(l, &p->in, in) {
			if (l->redirect && !l->from->done) {
				l->from->done = true;
				l->from->broken = p->broken;
				l->from->at = p->at;
				STAILQ_INSERT_TAIL(&settled, l->from, next);
			} else if (!l->redirect && p->broken) {
				print(l->from, p);
			}
		}
		SLIST_INIT(&p->in);
	}
}

static void broken(struct page *p, int status, const char *error)
{
	p->broken = true;
	p->status = status;
	p->error = error;
	settle(p);
}

/* --- what is asked ------------------------------------------------------------------------- */

/* The executive takes no more. If that was not a signal's Stop, it was somebody else's. */
static void shut_down(void)
{
	int running = 0;

	atomic_compare_exchange_strong(&program.stopped, &running, SHUT_DOWN);
}

static unsigned int shortest(const struct host *h)
{
	unsigned int best = 0;

	for (unsigned int i = 1; i < options.lanes && h->lanes[i]; i++)
		if (h->waiting[i] < h->waiting[best])
			best = i;
	return best;
}

static void ask(struct page *p)
{
	size_t len = sizeof(struct order) + strlen(p->url) + 1;
	unsigned int far = p->depth < AGLET_MAX_PRIORITY ? p->depth : AGLET_MAX_PRIORITY - 1;
	struct order *order;
	AgletMessage *m;
	int rc;

	if (web.counts->requests == options.pages) {
		web.counts->left_out += !p->left_out;
		p->left_out = true;
		return;
	}
	order = xzalloc(len);
	order->page = p;
	order->head = !p->below;
	strcpy(order->url, p->url);
	m = AgletMessage_create("fetch", order, len);
	free(order);
	if (!m)
		die(NOT_RUN, "memory exhausted");
	/* Who waits for a host is asked in the order of the distance. */
	AgletMessage_setPriority(m, AGLET_MAX_PRIORITY - (int)far);
	p->host = host_of(p);
	p->lane = shortest(p->host);
	rc = ReplySet_sendFutureMessage(web.replies, p->host->lanes[p->lane], m, NULL);
	AgletMessage_release(m);
	if (rc == -ESHUTDOWN) {
		shut_down();
		return;
	}
	if (rc)
		die(NOT_RUN, "%s cannot be asked for: %s", p->url, strerror(-rc));
	p->asked = true;
	p->host->waiting[p->lane]++;
	web.counts->requests++;
}

static void nearer(struct pages *list, struct page *p, unsigned int depth)
{
	if (depth >= p->depth)
		return;
	p->depth = depth;
	if (!p->listed)
		STAILQ_INSERT_TAIL(list, p, next);
	p->listed = true;
}

/* There is a way to a page, of @depth links. */
static void reach(struct page *p, unsigned int depth)
{
	struct pages list = STAILQ_HEAD_INITIALIZER(list);
	struct link *l;

	nearer(&list, p, depth);
	while ((p = STAILQ_FIRST(&list))) {
		STAILQ_REMOVE_HEAD(&list, next);
		p->listed = false;
		if (p->depth > options.depth)
			continue;
		if (!p->asked && !p->done)
			ask(p);
		SLIST_FOREACH(l, &p->out, out)
			nearer(&list, l->to, p->depth + !l->redirect);
	}
}

/* --- links ------------------------------------------------------------------------------------ */

/* Return: there is one, to one of our pages. */
static bool add_link(struct page *from, const char *url, bool redirect)
{
	struct page *to = page_of(url);
	struct link *l;

	if (!to || !spend(sizeof(*l)))
		return false;
	/* A page names another one often; a redirect is of a page that names no other. */
	if (from && to->last_from == from)
		return true;
	l = xzalloc(sizeof(*l));
	*l = (struct link){ .from = from, .to = to, .redirect = redirect };
	to->last_from = from;
	if (from)
		SLIST_INSERT_HEAD(&from->out, l, out);
	if (!to->done)
		SLIST_INSERT_HEAD(&to->in, l, in);
	else if (to->broken && !redirect)
		print(from, to);
	if (redirect) {
		from->to = to;
		if (to->depth == UINT_MAX)
			to->redirects = from->redirects + 1;
	}
	reach(to, from ? from->depth + !redirect : 0);
	return true;
}

static void redirected(struct page *p, const char *url)
{
	struct page *end;
	unsigned int n;

	if (*url == BAD_URL) {
		broken(p, 0, "redirected to no URL");
		return;
	}
	if (!p->depth && !is_below(url))
		tell("%s is redirected elsewhere: to %s", p->url, url);
	for (end = page_of(url), n = 0; end && end != p && n < REDIRECTS_MAX; end = end->to)
		n++;
	if (end || p->redirects == REDIRECTS_MAX) {
		broken(p, 0, "redirected for ever");
		return;
	}
	if (!add_link(p, url, true)) {
		settle(p);
		return;
	}
	if (!p->to->done)
		return;
	p->broken = p->to->broken;
	p->at = p->to->at;
	settle(p);
}

static void follow(struct page *p, const char *url, size_t nr)
{
	for (; nr; nr--, url += strlen(url) + 1)
		add_link(p, url, false);
}

static void answered(const AgletReply *reply)
{
	struct answer a;
	struct page *p;

	memcpy(&a, reply->Data, sizeof(a));
	p = a.page;
	p->host->waiting[p->lane]--;
	if (a.partial)
		tell("%s: this is large, links may be left out", p->url);
	if (a.error) {
		broken(p, 0, curl_easy_strerror((CURLcode)a.error));
	} else if (a.status >= 400) {
		broken(p, a.status, NULL);
	} else if (a.redirect && a.links) {
		redirected(p, reply->Data + sizeof(a));
	} else {
		settle(p);
		follow(p, reply->Data + sizeof(a), a.links);
	}
}

/**
 * crawl - look at all pages
 * @context: of the agents
 * @starts: URLs, as url_resolve() makes them
 * @nr: how many
 * @counts: out
 */
void crawl(AgletContext *context, char *const *starts, unsigned int nr, struct counts *counts)
{
	AgletReply *reply;
	FutureReply *f;
	int rc;

	*counts = (struct counts){ 0 };
	web.context = context;
	web.counts = counts;
	web.replies = ReplySet_create(context);
	if (!web.replies)
		die(NOT_RUN, "memory exhausted");
	for (unsigned int i = 0; i < nr; i++)
		add_start(starts[i]);
	for (unsigned int i = 0; i < nr; i++)
		if (page_of(starts[i])->depth)
			add_link(NULL, starts[i], false);
	while ((f = ReplySet_getNextFutureReply(web.replies)) || errno == EINTR) {
		if (!f)
			continue;
		rc = FutureReply_getReply(f, &reply);
		FutureReply_release(f);
		if (rc == AGLET_NOT_HANDLED)
			shut_down();
		else if (rc != AGLET_REPLIED)
			die(NOT_RUN, "an agent has failed: %s",
			    rc < 0 ? strerror(-rc) : reply->Data);
		else
			answered(reply);
		free(reply);
	}
	if (errno)
		die(NOT_RUN, "replies: %s", strerror(errno));
	ReplySet_release(web.replies);
}
