// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * An agent fetches what one host has, a URL at a time: its mailbox is the line of those that wait
 * for the host. Nothing that a server does makes it take longer, or need more, than is said here.
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../common.h"
#include "dxspider.h"

/* What is read of a page; of something else, so that the connection can stay */
#define PAGE_MAX	(4 << 20)
#define OTHER_MAX	(64 << 10)
/* How soon it is seen that all shall end */
#define LOOK_MS		100

struct agent {
	Aglet aglet;
	bool keep;		/* its connection, for there will be more */
	CURLM *multi;
	CURL *easy;
	/* What is being fetched */
	const struct order *order;
	struct answer answer;
	struct text text;	/* of the reply */
	struct link_reader *reader;
	size_t room;		/* bytes that may still come */
	bool begun, full;
	bool stops;		/* it shall end */
};

/* --- what comes ------------------------------------------------------------------------ */

static bool is_html(const char *type)
{
	return !type || !strncasecmp(type, "text/html", 9) ||
	       !strncasecmp(type, "application/xhtml+xml", 21);
}

static long status_of(struct agent *a)
{
	long status = 0;

	curl_easy_getinfo(a->easy, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

/* The body begins. */
static void begin(struct agent *a)
{
	long status = status_of(a);
	char *type = NULL;

	a->begun = true;
	a->room = OTHER_MAX;
	curl_easy_getinfo(a->easy, CURLINFO_CONTENT_TYPE, &type);
	if (status < 200 || status > 299 || a->order->head || !is_html(type))
		return;
	a->room = PAGE_MAX;
	a->reader = links_begin(a->order->url, &a->text);
}

static size_t body(char *data, size_t size, size_t len, void *agent)
{
	struct agent *a = agent;
	size_t take;

	(void)size;
	if (!a->begun)
		begin(a);
	take = len < a->room ? len : a->room;
	a->room -= take;
	a->full = take < len || (a->reader && !links_read(a->reader, data, take));
	return a->full ? CURL_WRITEFUNC_ERROR : len;
}

/* --- a request --------------------------------------------------------------------------- */

static void open_easy(struct agent *a)
{
	CURL *e = curl_easy_init();

	a->multi = curl_multi_init();
	if (!e || !a->multi)
		die(NOT_RUN, "memory exhausted");
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(e, CURLOPT_USERAGENT, "dxspider");
	curl_easy_setopt(e, CURLOPT_TIMEOUT, (long)options.seconds);
	/* A name that nobody resolves is waited for no longer, either. */
	curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, body);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, a);
	a->easy = e;
}

static void close_easy(struct agent *a)
{
	curl_easy_cleanup(a->easy);
	curl_multi_cleanup(a->multi);
	a->easy = NULL;
	a->multi = NULL;
}

/* Until it is done, its time is over, or all shall end. */
static CURLcode transfer(struct agent *a, bool head)
{
	CURLcode code = CURLE_FAILED_INIT;
	int running = 1, left;
	CURLMsg *message;

	a->begun = a->full = false;
	curl_easy_setopt(a->easy, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(a->easy, CURLOPT_NOBODY, head ? 1L : 0L);
	curl_multi_add_handle(a->multi, a->easy);
	while (running && !a->stops && !curl_multi_perform(a->multi, &running)) {
		if (running)
			curl_multi_poll(a->multi, NULL, 0, LOOK_MS, NULL);
		a->stops = ShouldStop(0) > 0;
	}
	message = curl_multi_info_read(a->multi, &left);
	if (message)
		code = message->data.result;
	curl_multi_remove_handle(a->multi, a->easy);
	/* What is left away on purpose is no error. */
	return code == CURLE_WRITE_ERROR && a->full ? CURLE_OK : code;
}

static void redirected(struct agent *a)
{
	struct curl_header *h;
	enum url_kind kind;
	char *url;

	if (curl_easy_header(a->easy, "Location", 0, CURLH_HEADER, -1, &h) != CURLHE_OK)
		return;
	kind = url_resolve(a->order->url, h->value, &url);
	if (kind == URL_BAD)
		text_add(&a->text, &(char){ BAD_URL }, 1);
	if (kind != URL_OTHER)
		text_add(&a->text, url, strlen(url) + 1);
	a->answer.redirect = true;
	a->answer.links = kind != URL_OTHER;
	free(url);
}

static void fetch(struct agent *a)
{
	CURLcode code;
	long status;

	if (!a->easy)
		open_easy(a);
	curl_easy_setopt(a->easy, CURLOPT_URL, (const char *)a->order->url);
	code = transfer(a, a->order->head);
	status = status_of(a);
	/* There are servers that know only GET. */
	if (a->order->head && !a->stops && (status == 405 || status == 501)) {
		code = transfer(a, false);
		status = status_of(a);
	}
	if (a->reader) {
		a->answer.links = links_end(a->reader, !a->full);
		a->answer.partial = a->full;
		a->reader = NULL;
	}
	a->answer.error = code;
	a->answer.status = code ? 0 : (int)status;
	if (!code && status >= 300 && status < 400)
		redirected(a);
	if (!a->keep)
		close_easy(a);
}

/* --- the aglet ------------------------------------------------------------------------------ */

static bool handle(Aglet *self, AgletMessage *message)
{
	struct agent *a = (struct agent *)self;
	int rc;

	a->order = AgletMessage_arg(message, NULL);
	a->answer = (struct answer){ .page = a->order->page };
	a->text.len = 0;
	text_add(&a->text, &a->answer, sizeof(a->answer));
	fetch(a);
	/* What is broken off is not broken. */
	if (a->stops)
		return false;
	memcpy(a->text.data, &a->answer, sizeof(a->answer));
	rc = AgletMessage_sendReply(message, a->text.data, a->text.len);
	if (rc)
		die(NOT_RUN, "reply: %s", strerror(-rc));
	return true;
}

static void disposing(Aglet *self)
{
	struct agent *a = (struct agent *)self;

	close_easy(a);
	free(a->text.data);
	free(a);
}

/**
 * agent_new - an agent for a host
 * @context: where
 * @keep: it will get more than one order
 *
 * Return: its proxy, the agent's own; both go with the context.
 */
AgletProxy *agent_new(AgletContext *context, bool keep)
{
	struct agent *a = xrealloc(NULL, 1, sizeof(*a));
	int rc;

	*a = (struct agent){
		.aglet = { .handleMessage = handle, .onDisposing = disposing }, .keep = keep,
	};
	rc = AgletContext_createAglet(context, &a->aglet, NULL, NULL);
	if (rc)
		die(NOT_RUN, "agent: %s", strerror(-rc));
	return a->aglet.Proxy;
}
