// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxkv: see dxkv.h.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
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
"The address is printed when it listens. SIGTERM and SIGINT end it, when all that has begun is\n"
"answered. Exit status: 0; 2 when it could not run.\n";

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

/* Before any thread is made. */
static int signal_fd(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		die(NOT_RUN, "signalfd: %s", strerror(errno));
	return fd;
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

static int listen_socket(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET, address, &a.sin_addr) != 1)
		misuse("-a %s: no IPv4 address", address);
	if (s < 0)
		die(NOT_RUN, "socket: %s", strerror(errno));
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(s, (void *)&a, len) || listen(s, 1024) || getsockname(s, (void *)&a, &len))
		die(NOT_RUN, "%s port %u: %s", address, port, strerror(errno));
	port = ntohs(a.sin_port);
	return s;
}

/* As many descriptors as may be; with fewer, connections wait. */
static void allow_descriptors(unsigned int threads)
{
	struct rlimit limit;
	rlim_t wanted = connections + FDS * threads + 100;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static MTExecutive *run_time(char **argv)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;

	ThreadManagerPolicyInit(&policy);
	if (workers)
		policy.TPMaxThreads = workers;
	allow_descriptors(policy.TPMaxThreads);
	/* A session waits for its join, or for the writer. */
	policy.TPMaxWaiting = 2 * connections + 64;
	if (policy.TPMaxRequests < 4 * connections + 64)
		policy.TPMaxRequests = 4 * connections + 64;
	if (policy.TPHandleEntries < policy.TPMaxThreads + 1)
		policy.TPHandleEntries = policy.TPMaxThreads + 1;
	RunSettingsInit(&settings, program.name, 1, argv);
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		die(NOT_RUN, "%s%s%s: %s", error.Step, *error.Field ? " " : "", error.Field,
		    strerror(-error.Error));
	return mte;
}

static void options(int argc, char **argv)
{
	static const struct option longer[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "a:p:w:c:v:t:sh", longer, NULL)) >= 0) {
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
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(NOT_RUN);
		}
	}
	if (argc - optind != 1)
		misuse("one FILE is needed");
	server.write_ns = unread * 1000000000LL;
}

/* The pool with its acceptor. Return: 0 or a negative errno */
static int begin(int told, int listens)
{
	/* The one for signals counts as one. */
	ConnectionPoolOptions o = { .MaxConnections = connections + 1 };
	int rc;

	sessions_init();
	server.pool = ConnectionPool_create(server.tasks, &o);
	if (!server.pool)
		return -errno;
	rc = ConnectionPool_register(server.pool, told, &signal_ops, NULL, NULL);
	return rc ? rc : Acceptor_create(server.pool, listens, &session_ops, NULL, NULL);
}

int main(int argc, char **argv)
{
	int listens, told, rc;
	MTExecutive *mte;

	options(argc, argv);
	told = signal_fd();
	listens = listen_socket();
	mte = run_time(argv);
	store_open(argv[optind], full);
	server.tasks = TaskQueue_create(mte, NULL);
	rc = server.tasks ? begin(told, listens) : -errno;
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
