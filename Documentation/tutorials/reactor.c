/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A server that adds: each line of numbers is answered by their sum. "quit" ends it. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <dx_reactor.h>

#define PORT 7008
#define LINE 1000

static Dispatcher *dispatcher;

/* --- what a message is --- */

static Message *NextLine(InputHandler *self, ChannelFacade *facade)
{
	InputQueue *in = ChannelFacade_inputQueue(facade);
	ssize_t end = InputQueue_indexOf(in, '\n');

	(void)self;
	if (end >= LINE || (end < 0 && InputQueue_length(in) >= LINE)) {
		ChannelFacade_close(facade);
		return NULL;
	}
	return end < 0 ? NULL : InputQueue_dequeueBytes(in, (size_t)end + 1);
}

/* --- what is done with it --- */

static int Add(InputHandler *self, Message *message, ChannelFacade *facade)
{
	char line[LINE + 1], answer[32], *p = line, *end;
	long sum = 0, number;

	(void)self;
	memcpy(line, message->Data, message->Len);
	line[message->Len] = 0;
	if (!strncmp(line, "quit", 4)) {
		Dispatcher_shutdown(dispatcher);
		return 0;
	}
	for (number = strtol(p, &end, 10); end != p; number = strtol(p, &end, 10)) {
		sum += number;
		p = end;
	}
	snprintf(answer, sizeof(answer), "%ld\n", sum);
	if (!OutputQueue_enqueue(ChannelFacade_outputQueue(facade), answer, strlen(answer)))
		return -ENOBUFS;
	ChannelFacade_awaitDrain(facade, facade);
	return 0;
}

/* --- a handler for each client --- */

static InputHandler adder = { .nextMessage = NextLine, .handleInput = Add };

static InputHandler *NewAdder(InputHandlerFactory *self, int fd)
{
	(void)self;
	(void)fd;
	return &adder;
}

static InputHandlerFactory adders = { .newHandler = NewAdder };

/* --- the program --- */

int main(int argc, char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;

	ThreadManagerPolicyInit(&policy);
	policy.TPMaxWaiting = 1000;
	RunSettingsInit(&settings, "adder", argc, argv);
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		return 1;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(s, (struct sockaddr *)&a, sizeof(a)) || listen(s, 128)) {
		perror("port");
		return 1;
	}
	dispatcher = Dispatcher_create(mte, NULL);
	if (!dispatcher || StandardAcceptor_create(dispatcher, s, &adders, NULL))
		return 1;
	rc = Dispatcher_dispatch(dispatcher);
	Dispatcher_destroy(dispatcher);
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
	return rc != 0;
}
