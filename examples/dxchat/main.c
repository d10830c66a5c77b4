// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dxchat: a chat server. Each line that a client sends goes to all others, with its number.
 *
 * A line is queued at each channel by whichever worker has the sender's turn; the reactor
 * writes it. Who reads too slowly to keep up is sent away: nobody waits for anybody.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dx_reactor.h>

#include "../common.h"

#define USERS_MAX	10000
#define LINE_MAX_LEN	1024

static const char usage[] =
"Usage: dxchat [OPTION]...\n"
"A chat server: what a client sends, line by line, all others get. Try it with\n"
"'socat READLINE TCP:127.0.0.1:4000' in two terminals.\n"
"\n"
"  -p PORT     of 127.0.0.1, 0 for any (4000)\n"
"  -h, --help  print this\n"
"\n"
"SIGTERM and SIGINT end it.\n";

struct program program = { .name = "dxchat" };

/* Who is there */
struct user {
	InputHandler base;
	ChannelFacade *facade;		/* while it is in the list */
	unsigned int number;		/* C */
	struct user *next, **link;	/* users.lock */
};

static struct {
	pthread_mutex_t lock;		/* within no other */
	struct user *first;
	unsigned int last_number;
} users = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* To all but @from, who may be NULL. */
static void broadcast(const struct user *from, const char *text, size_t len)
{
	struct user *u;

	pthread_mutex_lock(&users.lock);
	for (u = users.first; u; u = u->next)
		if (u != from &&
		    !OutputQueue_enqueue(ChannelFacade_outputQueue(u->facade), text, len))
			Dispatcher_unregisterChannel(u->facade);
	pthread_mutex_unlock(&users.lock);
}

static void announce(struct user *u, const char *what)
{
	char text[64];

	broadcast(u, text, (size_t)sprintf(text, "* %u %s\n", u->number, what));
}

static void user_started(InputHandler *self, ChannelFacade *facade)
{
	struct user *u = (struct user *)self;
	char text[64];
	int n;

	pthread_mutex_lock(&users.lock);
	u->facade = facade;
	u->number = ++users.last_number;
	u->next = users.first;
	u->link = &users.first;
	if (u->next)
		u->next->link = &u->next;
	users.first = u;
	pthread_mutex_unlock(&users.lock);
	n = sprintf(text, "* you are %u\n", u->number);
	OutputQueue_enqueue(ChannelFacade_outputQueue(facade), text, (size_t)n);
	announce(u, "has come");
}

static void user_stopped(InputHandler *self, ChannelFacade *facade)
{
	struct user *u = (struct user *)self;

	(void)facade;
	/* It may have ended before it has started. */
	if (!u->link)
		return;
	pthread_mutex_lock(&users.lock);
	*u->link = u->next;
	if (u->next)
		u->next->link = u->link;
	pthread_mutex_unlock(&users.lock);
	announce(u, "has gone");
}

/* A line with its end; one that is too long comes in pieces. */
static Message *user_line(InputHandler *self, ChannelFacade *facade)
{
	InputQueue *in = ChannelFacade_inputQueue(facade);
	ssize_t n = InputQueue_indexOf(in, '\n');

	(void)self;
	if (n < 0 && InputQueue_length(in) < LINE_MAX_LEN)
		return NULL;
	if (n < 0 || n >= LINE_MAX_LEN)
		n = LINE_MAX_LEN - 1;
	return InputQueue_dequeueBytes(in, (size_t)n + 1);
}

static int user_says(InputHandler *self, Message *m, ChannelFacade *facade)
{
	struct user *u = (struct user *)self;
	char text[LINE_MAX_LEN + 32];
	int n;

	(void)facade;
	while (m->Len && (m->Data[m->Len - 1] == '\n' || m->Data[m->Len - 1] == '\r'))
		m->Len--;
	n = sprintf(text, "%u: %.*s\n", u->number, (int)m->Len, m->Data);
	broadcast(u, text, (size_t)n);
	return 0;
}

static InputHandler *user_new(InputHandlerFactory *self, int fd)
{
	struct user *u = calloc(1, sizeof(*u));

	(void)self;
	(void)fd;
	if (!u)
		return NULL;
	u->base = (InputHandler){
		.nextMessage = user_line, .handleInput = user_says,
		.started = user_started, .stopped = user_stopped,
	};
	return &u->base;
}

static void user_delete(InputHandlerFactory *self, InputHandler *handler)
{
	(void)self;
	free(handler);
}

static InputHandlerFactory factory = { user_new, user_delete };

/* --- the server ----------------------------------------------------------------------- */

static void ends(int sig, void *dispatcher)
{
	(void)sig;
	Dispatcher_shutdown(dispatcher);
}

int main(int argc, char **argv)
{
	DispatcherOptions o = { .OutputLimit = 256 << 10, .MaxChannels = USERS_MAX,
				.Overload = OVERLOAD_REJECT, .RejectText = "* full\n",
				.RejectLen = 7 };
	unsigned int port = 4000;
	ThreadManagerPolicy policy;
	RunSettings settings;
	MTExecutive *mte;
	Dispatcher *d;
	int s, rc;

	while (next_option(argc, argv, "p:", usage) >= 0)
		port = number("-p", optarg, 0, 65535);
	if (optind < argc)
		misuse("%s: no arguments are known", argv[optind]);
	signals_block();
	s = listen_at("127.0.0.1", &port, 0);

	ThreadManagerPolicyInit(&policy);
	policy.TPMaxWaiting = 16;
	RunSettingsInit(&settings, program.name, 1, argv);
	mte = run_time(&settings, &policy);
	d = Dispatcher_create(mte, &o);
	if (!d)
		die(NOT_RUN, "dispatcher: %s", strerror(errno));
	rc = StandardAcceptor_create(d, s, &factory, NULL);
	if (rc)
		die(NOT_RUN, "acceptor: %s", strerror(-rc));
	signals_call(ends, d);
	printf("127.0.0.1:%u\n", port);
	fflush(stdout);

	rc = Dispatcher_dispatch(d);
	signals_end();
	Dispatcher_destroy(d);
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	return rc ? NOT_RUN : 0;
}
