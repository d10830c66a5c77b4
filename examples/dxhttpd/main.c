// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxhttpd: serves the files below a directory by HTTP/1.1.
 *
 * Each connection is a channel of a reactor; its handler finds the heads of requests in what
 * came, and queues the replies. There is no thread per connection, no loop, and no state but
 * that of the channel: who sends slowly, or reads slowly, costs a request that waits.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common.h"
#include "dxhttpd.h"
#include "http.h"

#define CONNECTIONS_MAX	100000
/* How long a client that was told of the end may still send what nobody reads */
#define LINGER_NS	2000000000LL
/* Descriptors of a connection: its own and that of the file which it gets */
#define FDS		2

static const char usage[] =
"Usage: dxhttpd [OPTION]... DIRECTORY\n"
"Serve the files below DIRECTORY by HTTP/1.1: GET and HEAD.\n"
"\n"
"  -a ADDRESS  of this machine, to listen at (127.0.0.1)\n"
"  -p PORT     0 for any (8080)\n"
"  -w N        worker threads (one for each CPU)\n"
"  -c N        connections at a time; further ones wait (1000)\n"
"  -t SECONDS  how long a connection may move no byte, 0 for ever (60)\n"
"  -h, --help  print this\n"
"\n"
"The address is printed when it listens. SIGTERM and SIGINT end it. Exit status: 0; 2\n"
"when it could not run.\n";

struct program program = { .name = "dxhttpd" };
struct server server;

static const char *address = "127.0.0.1";
static unsigned int port = 8080, workers, connections = 1000, idle = 60;

/* --- connections ------------------------------------------------------------------ */

static Message *next_head(InputHandler *self, ChannelFacade *facade)
{
	InputQueue *in = ChannelFacade_inputQueue(facade);
	ssize_t n = InputQueue_indexOfBytes(in, "\r\n\r\n", 4);
	bool keep;

	(void)self;
	if (!InputQueue_indexOfBytes(in, "\r\n", 2)) {
		/* A line too many behind the request before */
		InputQueue_discardBytes(in, 2);
		return MESSAGE_EMPTY;
	}
	if (n >= 0 && n + 4 <= HEAD_MAX)
		return InputQueue_dequeueBytes(in, (size_t)n + 4);
	if (n >= 0 || InputQueue_length(in) >= HEAD_MAX) {
		reply(NULL, 0, ChannelFacade_outputQueue(facade), &keep);
		ChannelFacade_close(facade);
	}
	return NULL;
}

static int handle_head(InputHandler *self, Message *head, ChannelFacade *facade)
{
	bool keep;
	int rc;

	(void)self;
	rc = reply(head->Data, head->Len, ChannelFacade_outputQueue(facade), &keep);
	if (rc)
		return rc;
	if (!keep)
		ChannelFacade_close(facade);
	/* Who asks for more than it reads is not read either. */
	else
		ChannelFacade_awaitDrain(facade, facade);
	return 0;
}

/* It has no state: all connections share one. */
static InputHandler connection = { .nextMessage = next_head, .handleInput = handle_head };

static InputHandler *connected(InputHandlerFactory *self, int fd)
{
	(void)self;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return &connection;
}

static InputHandlerFactory factory = { .newHandler = connected };

/* --- signals: a channel like others --------------------------------------------------- */

static Message *next_signal(InputHandler *self, ChannelFacade *facade)
{
	InputQueue *in = ChannelFacade_inputQueue(facade);

	(void)self;
	if (InputQueue_length(in) < sizeof(struct signalfd_siginfo))
		return NULL;
	return InputQueue_dequeueBytes(in, sizeof(struct signalfd_siginfo));
}

static int handle_signal(InputHandler *self, Message *m, ChannelFacade *facade)
{
	(void)self;
	(void)m;
	(void)facade;
	Dispatcher_shutdown(server.dispatcher);
	return 0;
}

static InputHandler signals = { .nextMessage = next_signal, .handleInput = handle_signal };

/* --- the server ------------------------------------------------------------------------- */

static MTExecutive *make_run_time(char **argv)
{
	ThreadManagerPolicy policy;
	RunSettings settings;

	ThreadManagerPolicyInit(&policy);
	if (workers)
		policy.TPMaxThreads = workers;
	policy.TPMaxWaiting = 16;
	/* The dispatcher, the acceptor and the signals */
	if (policy.TPMaxRequests < connections + 3)
		policy.TPMaxRequests = connections + 3;
	RunSettingsInit(&settings, program.name, 1, argv);
	return run_time(&settings, &policy);
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = next_option(argc, argv, "a:p:w:c:t:", usage)) >= 0) {
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
		case 't':
			idle = number("-t", optarg, 0, 86400);
			break;
		}
	}
	if (argc - optind != 1)
		misuse("one DIRECTORY is needed");
}

int main(int argc, char **argv)
{
	DispatcherOptions o = { .InputLimit = 2 * HEAD_MAX, .OutputLimit = 512 << 10,
				.LingerNs = LINGER_NS, .Overload = OVERLOAD_QUEUE };
	ChannelFacade *channel;
	int listens, rc;
	MTExecutive *mte;

	options(argc, argv);
	server.root = open(argv[optind], O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (server.root < 0)
		die(NOT_RUN, "%s: %s", argv[optind], strerror(errno));
	signals_block();
	listens = listen_at(address, &port, 0);
	/* With fewer, connections wait. */
	allow_descriptors(FDS * connections + 100);
	mte = make_run_time(argv);

	/* The one for signals counts as one. */
	o.MaxChannels = connections + 1;
	o.IdleNs = idle * 1000000000LL;
	server.dispatcher = Dispatcher_create(mte, &o);
	if (!server.dispatcher)
		die(NOT_RUN, "dispatcher: %s", strerror(errno));
	rc = Dispatcher_registerChannel(server.dispatcher, signals_fd(), &signals, &channel);
	if (!rc) {
		ChannelFacade_setIdle(channel, 0);
		ChannelFacade_release(channel);
		rc = StandardAcceptor_create(server.dispatcher, listens, &factory, NULL);
	}
	if (rc)
		die(NOT_RUN, "dispatcher: %s", strerror(-rc));
	printf("http://%s:%u/\n", address, port);
	fflush(stdout);

	rc = Dispatcher_dispatch(server.dispatcher);
	Dispatcher_destroy(server.dispatcher);
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	if (rc)
		die(NOT_RUN, "ended: %s", strerror(-rc));
	return 0;
}
