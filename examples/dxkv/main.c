// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxkv: see dxkv.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "../common.h"
#include "dxkv.h"

#define CONNECTIONS_MAX	100000
#define VALUE_MAX	(512U << 20)
/* How long clients that were told of the end may take to read the last replies */
#define DRAIN_NS	5000000000LL
/* Descriptors of a worker: the file, its log, and their common memory */
#define FDS		4

static const char usage[] =
"Usage: dxkv [OPTION]... FILE\n"
"Serve the keys and values in the SQLite database FILE, which is made if need be, by the\n"
"Redis protocol: GET SET MGET MSET DEL EXISTS INCR DBSIZE PING ECHO QUIT.\n"
"\n"
"  -a ADDRESS  of this machine, to listen at (127.0.0.1)\n"
"  -p PORT     0 for any (6380)\n"
"  -w N        worker threads (one for each CPU)\n"
"  -c N        connections at a time; further ones wait (1000)\n"
"  -v BYTES    longest value (1048576)\n"
"  -t SECONDS  how long a client may leave a reply unread, 0 for ever (60)\n"
"  -s          a reply to what writes says that it is on the disk: it survives the end of\n"
"              the machine, and not only that of dxkv\n"
"  -h, --help  print this\n"
"\n"
"The address is printed when it listens. SIGTERM, SIGINT and SIGHUP end it, when all that has\n"
"begun is answered. Exit status: 0; 2 when it could not run.\n";

struct program program = { .name = "dxkv" };
struct server server = { .value_max = 1 << 20 };

static const char *address = "127.0.0.1";
static unsigned int port = 6380, workers, connections = 1000, unread = 60;
static bool full;

/* --- signals: a connection like others ------------------------------------------------------ */

static Task on_signal;

static int run_signal(Task *self, Message *data, void *context)
{
	(void)self;
	(void)data;
	(void)context;
	Task_answered();
	ConnectionPool_shutdown(server.pool, DRAIN_NS);
	return 0;
}

static int await_signal(Connection *c, void *arg)
{
	const DataObserver o = { .Length = sizeof(struct signalfd_siginfo), .Run = &on_signal };

	(void)arg;
	Task_init(&on_signal, run_signal);
	return Connection_observe(c, &o);
}

static const ConnectionOps signal_ops = { .opened = await_signal };

/* --- the server -------------------------------------------------------------------------------- */

static MTExecutive *make_run_time(char **argv)
{
	ThreadManagerPolicy policy;
	RunSettings settings;

	ThreadManagerPolicyInit(&policy);
	if (workers)
		policy.TPMaxThreads = workers;
	/* With fewer, connections wait. */
	allow_descriptors(connections + FDS * policy.TPMaxThreads + 100);
	/* A session waits for its join, or for the writer. */
	policy.TPMaxWaiting = 2 * connections + 64;
	if (policy.TPMaxRequests < 4 * connections + 64)
		policy.TPMaxRequests = 4 * connections + 64;
	if (policy.TPHandleEntries < policy.TPMaxThreads + 1)
		policy.TPHandleEntries = policy.TPMaxThreads + 1;
	RunSettingsInit(&settings, program.name, 1, argv);
	return run_time(&settings, &policy);
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = next_option(argc, argv, "a:p:w:c:v:t:s", usage)) >= 0) {
		switch (c) {
		case 'a':
			address = optarg;
			break;
		case 'p':
			port = number("-p", optarg, 0, 65535);
			break;
		case 'w':
			workers = number("-w", optarg, 1, WORKERS_MAX);
			break;
		case 'c':
			connections = number("-c", optarg, 1, CONNECTIONS_MAX);
			break;
		case 'v':
			server.value_max = number("-v", optarg, 1, VALUE_MAX);
			break;
		case 't':
			unread = number("-t", optarg, 0, 86400);
			break;
		case 's':
			full = true;
			break;
		}
	}
	if (argc - optind != 1)
		misuse("one FILE is needed");
	server.write_ns = unread * 1000000000LL;
}

/* The pool with its acceptor. Return: 0 or a negative errno */
static int begin(int listens)
{
	/* The one for signals counts as one. */
	ConnectionPoolOptions o = { .MaxConnections = connections + 1 };
	int rc;

	sessions_init();
	server.pool = ConnectionPool_create(server.tasks, &o);
	if (!server.pool)
		return -errno;
	rc = ConnectionPool_register(server.pool, signals_fd(), &signal_ops, NULL, NULL);
	return rc ? rc : Acceptor_create(server.pool, listens, &session_ops, NULL, NULL);
}

int main(int argc, char **argv)
{
	int listens, rc;
	MTExecutive *mte;

	options(argc, argv);
	signals_block();
	listens = listen_at(address, &port, 0);
	mte = make_run_time(argv);
	store_open(argv[optind], full);
	server.tasks = TaskQueue_create(mte, NULL);
	rc = server.tasks ? begin(listens) : -errno;
	if (rc)
		die(NOT_RUN, "server: %s", strerror(-rc));
	printf("%s:%u\n", address, port);
	fflush(stdout);

	rc = ConnectionPool_serve(server.pool);
	/* Tasks of clients that have gone may still be at work. */
	TaskQueue_destroy(server.tasks);
	ConnectionPool_destroy(server.pool);
	store_close();
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
	if (rc)
		die(NOT_RUN, "ended: %s", strerror(-rc));
	return 0;
}
