/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of commands share: senders, waiting for a handler. */
#ifndef DXT_COMMAND_H
#define DXT_COMMAND_H

#include "lib/dxt.h"

#include <stdlib.h>

/* Waits for the reply; the status, or why there is none. */
static inline int ask_for(struct dxt *t, const char *text, char *reply, size_t room,
			  int64_t ns)
{
	int status, rc;

	memset(reply, 0, room);
	rc = dxk_command_send(t->ctx, text, strlen(text), reply, room - 1, &status, ns);
	return rc < 0 ? rc : status;
}

static inline int ask(struct dxt *t, const char *text, char *reply, size_t room)
{
	return ask_for(t, text, reply, room, dxt_late_ns());
}

static inline int tell(struct dxt *t, const char *text)
{
	return dxk_command_send(t->ctx, text, strlen(text), NULL, 0, NULL, 0);
}

/* A sender in a thread of its own. */
struct sender {
	struct dxt *t;
	const char *text;
	char reply[DXK_COMMAND_MAX + 1];
	int ret;
	_Atomic int done;
	pthread_t thread;
};

static inline void *sender_thread(void *arg)
{
	struct sender *s = arg;

	s->ret = ask_for(s->t, s->text, s->reply, sizeof(s->reply), -1);
	s->done = 1;
	return NULL;
}

static inline struct sender *sender_start(struct dxt *t, const char *text)
{
	struct sender *s = calloc(1, sizeof(*s));

	s->t = t;
	s->text = text;
	if (pthread_create(&s->thread, NULL, sender_thread, s))
		abort();
	return s;
}

static inline int sender_end(struct sender *s)
{
	int ret;

	pthread_join(s->thread, NULL);
	ret = s->ret;
	free(s);
	return ret;
}

#endif /* DXT_COMMAND_H */
