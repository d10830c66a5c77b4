// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server that sends back what it gets, 64 bytes at a time, for some connections at once: on
 * the reactor of libdxk; with an epoll loop that gives ready connections to a GThreadPool; and
 * as a bare epoll loop, which is no server for work that takes its time, but the floor.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <dx_reactor.h>
#include <glib.h>

#include "bench.h"

#define SIZE	64

/* Each connection: the client's end, and the server's */
static int (*sockets)[2];
static long nr;
static char text[SIZE];

static void connections(const struct variant *v)
{
	nr = v->arg;
	sockets = calloc(nr, sizeof(*sockets));
	for (long i = 0; i < nr; i++) {
		MUST(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sockets[i]));
		MUST(0, fcntl(sockets[i][1], F_SETFL, O_NONBLOCK));
	}
}

/*
 * A message to each connection, and one back from each. The last one is waited for first: else
 * who sleeps, and how often, is the scheduler's choice, and a matter of luck between variants.
 */
static void run(long ops)
{
	while (ops) {
		long n = ops < nr ? ops : nr;

		for (long i = 0; i < n; i++)
			write_all(sockets[i][0], text, SIZE);
		for (long i = n; i; i--)
			read_all(sockets[i - 1][0], text, SIZE);
		ops -= n;
	}
}

/* --- the reactor -------------------------------------------------------------- */

static MTExecutive *mte;
static Dispatcher *dispatcher;

static Message *next_message(InputHandler *self, ChannelFacade *facade)
{
	InputQueue *in = ChannelFacade_inputQueue(facade);

	(void)self;
	return InputQueue_length(in) < SIZE ? NULL : InputQueue_dequeueBytes(in, SIZE);
}

static int send_back(InputHandler *self, Message *m, ChannelFacade *facade)
{
	(void)self;
	return OutputQueue_enqueue(ChannelFacade_outputQueue(facade), m->Data, m->Len) ? 0 : -EIO;
}

static InputHandler echo = { .nextMessage = next_message, .handleInput = send_back };

static void *dispatch(void *arg)
{
	Dispatcher_dispatch(arg);
	return NULL;
}

/* One worker, as the others have */
static void executive(const struct variant *v)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;

	RunSettingsInit(&settings, "bench", 0, NULL);
	settings.LogPath = "/dev/null";
	MUST(0, ThreadManagerPolicyInit(&policy));
	policy.TPMaxThreads = 1;
	policy.TPMaxWaiting = 1000;
	if (v->text)
		policy.TPFetchMax = 64;
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		die("MTExecutiveCreate %s %s %d", error.Step, error.Field, error.Error);
}

static void reactor_setup(const struct variant *v)
{
	connections(v);
	executive(v);
	dispatcher = Dispatcher_create(mte, NULL);
	if (!dispatcher)
		die("Dispatcher_create: %d", errno);
	partner_start(dispatch, dispatcher);
	for (long i = 0; i < nr; i++)
		MUST(0, Dispatcher_registerChannel(dispatcher, sockets[i][1], &echo, NULL));
	run(nr);
}

static void reactor_teardown(void)
{
	Dispatcher_shutdown(dispatcher);
	partner_join();
	Dispatcher_destroy(dispatcher);
	MUST(0, MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1));
}

const struct kind reactor_events = {
	.setup = reactor_setup, .run = run, .teardown = reactor_teardown,
};

/* --- a request that waits, without the reactor; @text: 64 fetched at a time ------ */

static int owner;

static int echo_turn(Runnable *self, void *request)
{
	RQWait wait = { .Sources = DXK_WAIT_FILE, .Events = EPOLLIN,
			.Fd = sockets[(long)request][1] };
	char message[SIZE];
	ssize_t n = read(wait.Fd, message, SIZE);

	(void)self;
	if (!n)
		return 0;
	if (n > 0)
		write_all(wait.Fd, message, (size_t)n);
	return WaitRequest(&wait);
}

static void request_setup(const struct variant *v)
{
	static Runnable runnable = { echo_turn };

	connections(v);
	executive(v);
	for (long i = 0; i < nr; i++)
		MUST(0, PostARequest((void *)i, &runnable, &owner, 0, PXR_REJOIN));
	run(nr);
}

static void request_teardown(void)
{
	for (long i = 0; i < nr; i++)
		close(sockets[i][0]);
	for (long i = 0; i < nr; i++)
		MUST(RJR_RETURNED, RejoinWait(&owner, NULL, -1));
	MUST(0, MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1));
}

const struct kind request_events = {
	.setup = request_setup, .run = run, .teardown = request_teardown,
};

/* --- epoll ------------------------------------------------------------------------ */

static GThreadPool *pool;
static int epoll;

static void serve(long i)
{
	char message[SIZE];
	ssize_t n = read(sockets[i][1], message, SIZE);

	if (n > 0)
		write_all(sockets[i][1], message, (size_t)n);
}

static void arm(long i, int how)
{
	struct epoll_event e = { .events = EPOLLIN | (pool ? EPOLLONESHOT : 0),
				 .data.u64 = (uint64_t)i };

	MUST(0, epoll_ctl(epoll, how, sockets[i][1], &e));
}

static void pool_serve(gpointer data, gpointer unused)
{
	long i = GPOINTER_TO_INT(data) - 1;

	(void)unused;
	serve(i);
	arm(i, EPOLL_CTL_MOD);
}

static void *loop(void *arg)
{
	struct epoll_event ready[64];

	(void)arg;
	for (;;) {
		int n = epoll_wait(epoll, ready, 64, -1);

		for (int i = 0; i < n; i++) {
			long c = (long)ready[i].data.u64;

			if (c == nr)
				return NULL;
			if (pool)
				g_thread_pool_push(pool, GINT_TO_POINTER(c + 1), NULL);
			else
				serve(c);
		}
	}
}

static int ends[2];

/* @text: with a pool */
static void epoll_setup(const struct variant *v)
{
	struct epoll_event e = { .events = EPOLLIN };

	connections(v);
	epoll = epoll_create1(0);
	if (v->text)
		pool = g_thread_pool_new(pool_serve, NULL, 1, TRUE, NULL);
	MUST(0, pipe(ends));
	e.data.u64 = (uint64_t)nr;
	MUST(0, epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &e));
	for (long i = 0; i < nr; i++)
		arm(i, EPOLL_CTL_ADD);
	partner_start(loop, NULL);
	run(nr);
}

static void epoll_teardown(void)
{
	write_all(ends[1], "", 1);
	partner_join();
	if (pool)
		g_thread_pool_free(pool, FALSE, TRUE);
}

const struct kind epoll_events = {
	.setup = epoll_setup, .run = run, .teardown = epoll_teardown,
};
