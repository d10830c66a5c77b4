/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of handlers share: a context that ticks, a handler in a thread. */
#ifndef HANDLER_TEST_H
#define HANDLER_TEST_H

#include "command_test.h"

#define PENDING	64	/* most commands that wait, most timed ones */

/* A context whose Monitor ticks every @ms. */
static inline int up(struct dxt *t, unsigned int ms)
{
	int rc = dxt_open(t);

	t->policy.monitor_interval_ms = ms;
	return rc ? rc : dxt_start(t);
}

/* What "show commands" says in its second line. */
static inline int waiting(struct dxt *t)
{
	char reply[DXK_COMMAND_MAX + 1], *at;

	if (ask(t, "show commands", reply, sizeof(reply)))
		return -1;
	at = strstr(reply, "waiting: ");
	return at ? atoi(at + 9) : -1;
}

/*
 * A handler in a thread of its own. "hold" keeps it until the gate opens, "echo X"
 * answers with the whole text, "set boost_value 99" it replaces; all else it does
 * not know.
 */
struct handler {
	struct dxt *t;
	enum dxk_member_kind kind;
	struct dxt_gate *gate;
	pthread_t thread;
	int fd;
	unsigned int id;
	_Atomic int ready;	/* attached, or error is set */
	_Atomic int quit;
	_Atomic int ended;
	_Atomic unsigned int ticks;
	_Atomic unsigned int texts;
	int error;		/* what ended its loop */
	bool keep;		/* ends without closing the member */
	char text[DXK_COMMAND_MAX + 1];	/* the last one */
};

static inline int handle(struct handler *h, size_t len)
{
	h->text[len] = '\0';
	h->texts++;
	if (!strcmp(h->text, "hold")) {
		dxt_gate_pass(h->gate, 0);
		return 0;
	}
	if (!strncmp(h->text, "echo ", 5) || !strcmp(h->text, "set boost_value 99"))
		return 0;
	return strcmp(h->text, "fail") ? -ENOENT : -EXDEV;
}

static inline void handler_loop(struct handler *h)
{
	char reply[DXK_COMMAND_MAX];
	size_t len, reply_len = 0;
	int rc, status = 0;

	for (;;) {
		rc = dxk_command_next(h->fd, status, reply, reply_len, h->text, &len, -1);
		reply_len = 0;
		status = 0;
		if (rc == DXK_COMMAND_TICK) {
			h->ticks++;
		} else if (rc == DXK_COMMAND_TEXT) {
			status = handle(h, len);
			reply_len = len;
			memcpy(reply, h->text, len);
		} else if (rc != -EINTR || h->quit) {
			h->error = rc;
			return;
		}
	}
}

static inline void *handler_thread(void *arg)
{
	struct handler *h = arg;

	h->fd = dxk_member_create(h->t->ctx, h->kind, &h->id);
	h->error = h->fd < 0 ? h->fd : dxk_command_attach(h->fd, 1);
	h->ready = 1;
	if (!h->error)
		handler_loop(h);
	if (h->fd >= 0 && !h->keep)
		close(h->fd);
	h->ended = 1;
	return NULL;
}

static inline void ignore(int sig)
{
	(void)sig;
}

static inline struct handler *handler_start_as(struct dxt *t,
					       enum dxk_member_kind kind)
{
	struct sigaction sa = { .sa_handler = ignore };
	struct handler *h = calloc(1, sizeof(*h));

	sigaction(DXT_NUDGE, &sa, NULL);
	h->t = t;
	h->kind = kind;
	h->gate = dxt_gate_new();
	if (pthread_create(&h->thread, NULL, handler_thread, h))
		abort();
	while (!h->ready)
		dxt_sleep_ms(1);
	return h;
}

static inline struct handler *handler_start(struct dxt *t)
{
	return handler_start_as(t, DXK_MEMBER_CLIENT);
}

static inline void handler_free(struct handler *h)
{
	dxt_gate_free(h->gate);
	free(h);
}

/* Has it leave; why its loop ended. */
static inline int handler_end(struct handler *h)
{
	int error;

	h->quit = 1;
	dxt_gate_open(h->gate);
	while (!h->ended) {
		pthread_kill(h->thread, DXT_NUDGE);
		dxt_sleep_ms(1);
	}
	pthread_join(h->thread, NULL);
	error = h->error;
	handler_free(h);
	return error;
}

#endif /* HANDLER_TEST_H */
