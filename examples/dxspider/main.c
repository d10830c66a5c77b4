// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxspider: finds the broken links of a site.
 *
 * Each host has an agent, an aglet, to which the URLs of the host are sent: so a host has one
 * request at a time, and all hosts are asked at once, by as many threads as there are hosts with
 * something to do. A host that may have more requests at a time has as many agents.
 */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <errno.h>
#include <getopt.h>
#include <libxml/parser.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common.h"
#include "dxspider.h"

#define SOME_BROKEN	1

static const char usage[] =
"Usage: dxspider [OPTION]... URL...\n"
"Look at the pages that links of HTML (href, src) lead to from each URL, as long as they are\n"
"below it: of the same host, and of its directory. Print the broken links: the page, the URL,\n"
"and why; a page of '-' is the command line.\n"
"\n"
"  -l N        look no further than N links from URL (10)\n"
"  -n N        send no more than N requests (10000)\n"
"  -e          look also whether what is elsewhere is there, but not further\n"
"  -c N        requests of a host at a time (1)\n"
"  -j N        requests at a time (16)\n"
"  -t SECONDS  how long each may take (30)\n"
"  -h, --help  print this\n"
"\n"
"robots.txt is not asked for. Exit status: 0; 1 when a link is broken; 2 when it could not\n"
"run; 128 and the signal's number when one has ended it.\n";

struct program program = { .name = "dxspider" };
struct options options = {
	.depth = 10, .pages = 10000, .lanes = 1, .threads = 16, .seconds = 30,
};

static void parse(int argc, char **argv)
{
	int c;

	while ((c = next_option(argc, argv, "l:n:ec:j:t:", usage)) >= 0) {
		switch (c) {
		case 'l':
			options.depth = number("-l", optarg, 0, 1000000);
			break;
		case 'n':
			options.pages = number("-n", optarg, 1, 1000000);
			break;
		case 'e':
			options.elsewhere = true;
			break;
		case 'c':
			options.lanes = number("-c", optarg, 1, 64);
			break;
		case 'j':
			options.threads = number("-j", optarg, 1, WORKERS_MAX);
			break;
		case 't':
			options.seconds = number("-t", optarg, 1, 86400);
			break;
		}
	}
	if (optind == argc)
		misuse("no URL");
}

static MTExecutive *start(char **argv)
{
	ThreadManagerPolicy policy;
	RunSettings settings;

	ThreadManagerPolicyInit(&policy);
	/* All that is known may wait for its host. */
	policy.TPMaxWaiting = options.pages + 1;
	if (policy.TPMaxRequests <= options.pages)
		policy.TPMaxRequests = options.pages + 1;
	RunSettingsInit(&settings, program.name, 1, argv);
	settings.LogPath = "/dev/null";
	return run_time(&settings, &policy);
}

static int finish(const struct counts *c)
{
	printf("%u URLs of %u hosts; %u broken, %u links to these\n", c->requests, c->hosts,
	       c->broken, c->places);
	if (c->left_out)
		tell("%u links were left out", c->left_out);
	if (fflush(stdout) || ferror(stdout))
		die(NOT_RUN, "output: %s", strerror(errno));
	if (program.stopped == SHUT_DOWN)
		tell("the context was stopped, not all was looked at");
	if (program.stopped)
		return program.stopped == SHUT_DOWN ? NOT_RUN : 128 + program.stopped;
	return c->broken ? SOME_BROKEN : 0;
}

int main(int argc, char **argv)
{
	AgletContextOptions o;
	AgletContext *context;
	struct counts counts;
	MTExecutive *mte;
	unsigned int nr;
	char **urls;

	parse(argc, argv);
	nr = (unsigned int)(argc - optind);
	urls = xrealloc(NULL, nr, sizeof(*urls));
	for (unsigned int i = 0; i < nr; i++)
		if (url_resolve(NULL, argv[optind + (int)i], &urls[i]) != URL_HTTP)
			misuse("'%s' is no URL of http or https", argv[optind + (int)i]);
	/* Before any thread is made */
	signals_block();
	curl_global_init(CURL_GLOBAL_DEFAULT);
	xmlInitParser();
	setvbuf(stdout, NULL, _IOLBF, 0);

	/* Of each thread its own, and those of a connection */
	allow_descriptors(8UL * options.threads + 1000);
	mte = start(argv);
	AgletContextOptionsInit(&o);
	o.minThreads = 1;
	o.maxThreads = options.threads;
	context = AgletContext_create(mte, &o);
	if (!context)
		die(NOT_RUN, "context: %s", strerror(errno));
	signals_start(mte);
	crawl(context, urls, nr, &counts);
	signals_end();

	AgletContext_dispose(context);
	if (MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1))
		die(NOT_RUN, "the run time does not stop");
	return finish(&counts);
}
