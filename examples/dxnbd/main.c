// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxnbd: serves one file, or a block device, over NBD. See dxnbd.h.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common.h"
#include "dxnbd.h"

#define CONNECTIONS_MAX	64
/* The acceptor, and what the library has of its own for each locality */
#define OTHERS		(1 + 4 * WORKERS_MAX)
/* How long clients that read no replies are waited for at the end */
#define DRAIN_NS	5000000000ULL

static const char usage[] =
"Usage: dxnbd [OPTION]... FILE\n"
"Serve FILE, a regular file or a block device, over NBD.\n"
"\n"
"  -a ADDRESS  of this machine, to listen at (127.0.0.1)\n"
"  -p PORT     0 for any (10809)\n"
"  -n NAME     of the export (none: the default export)\n"
"  -r          it is not written\n"
"  -b          go through the page cache, also where the file can do without\n"
"  -l N        localities, each with a worker thread (one for each CPU)\n"
"  -c N        connections at a time; further ones wait (16)\n"
"  -h, --help  print this\n"
"\n"
"Its URI is printed when it listens. SIGTERM and SIGINT end it when the requests that it has\n"
"are done. Exit status: 0; 2 when it could not run.\n";

struct program program = { .name = "dxnbd" };
struct server server = { .listens = -1, .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *address = "127.0.0.1";
static unsigned int port = 10809, localities;
static bool cached;

static MTExecutive *make_run_time(char **argv)
{
	unsigned int foms = server.connections_max * (REQUESTS_MAX + 1) + OTHERS;
	ThreadManagerPolicy policy;
	RunSettings settings;

	ThreadManagerPolicyInit(&policy);
	/* Who is read has a place. */
	policy.TPReadyEntries = foms;
	fom_policy(&policy, localities, foms);
	RunSettingsInit(&settings, program.name, 1, argv);
	return run_time(&settings, &policy);
}

/* What was read before the drain began is done, too. */
static bool accepts(struct fom_service *service, struct fom *fom)
{
	(void)service;
	return fom->type == &request_type;
}

static void check(const char *what, int rc)
{
	if (rc)
		die(NOT_RUN, "%s: %s", what, strerror(-rc));
}

static void start(MTExecutive *mte)
{
	static const struct fom_service_ops ops = { .accepts = accepts };
	const struct fom_domain_options options = { .localities = localities };

	check("domain", fom_domain_init(&server.domain, mte, &options));
	fom_service_init(&server.completion, server.domain, "completion", NULL);
	fom_service_init(&server.service, server.domain, "nbd", &ops);
	check("service", fom_service_start(&server.completion));
	check("service", fom_service_start(&server.service));
	check("disk queue", disks_start());
	check("acceptor", acceptor_start());
}

static void drain(MTExecutive *mte)
{
	atomic_store(&server.draining, true);
	fom_wakeup(&server.acceptor);
	fom_service_prepare_to_stop(&server.service);
	connections_end(SHUT_RD);
	if (fom_service_idle_wait(&server.service, now_ns() + DRAIN_NS))
		connections_end(SHUT_RDWR);
	fom_service_stop(&server.service);
	disks_stop();
	fom_service_fini(&server.service);
	fom_service_fini(&server.completion);
	fom_domain_fini(server.domain);
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	close(server.listens);
	export_close(&server.export);
}

static void options(int argc, char **argv)
{
	int c;

	server.export.name = "";
	server.connections_max = 16;
	while ((c = next_option(argc, argv, "a:p:n:rbl:c:", usage)) >= 0) {
		switch (c) {
		case 'a':
			address = optarg;
			break;
		case 'p':
			port = number("-p", optarg, 0, 65535);
			break;
		case 'n':
			if (strlen(optarg) > 255)
				misuse("-n: a name has at most 255 bytes");
			server.export.name = optarg;
			break;
		case 'r':
			server.export.read_only = true;
			break;
		case 'b':
			cached = true;
			break;
		case 'l':
			localities = number("-l", optarg, 1, WORKERS_MAX);
			break;
		case 'c':
			server.connections_max = number("-c", optarg, 1, CONNECTIONS_MAX);
			break;
		}
	}
	if (argc - optind != 1)
		misuse("one FILE is needed");
}

int main(int argc, char **argv)
{
	MTExecutive *mte;

	options(argc, argv);
	export_open(&server.export, argv[optind], cached);
	server.listens = listen_at(address, &port, SOCK_NONBLOCK);
	signals_block();
	mte = make_run_time(argv);
	start(mte);
	printf("nbd://%s:%u/%s\n", address, port, server.export.name);
	fflush(stdout);

	signals_wait();
	drain(mte);
	return 0;
}
