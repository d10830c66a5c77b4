// SPDX-License-Identifier: GPL-2.0-only
/* See command.h. */
#define DXT_NO_HARNESS
#include "lib/command.h"

int ask_for(struct dxt *t, const char *text, char *reply, size_t room, int64_t ns)
{
	int status, rc;

	memset(reply, 0, room);
	rc = dxk_command_send(t->ctx, text, strlen(text), reply, room - 1, &status, ns);
	return rc < 0 ? rc : status;
}

int ask(struct dxt *t, const char *text, char *reply, size_t room)
{
	return ask_for(t, text, reply, room, dxt_late_ns());
}

int tell(struct dxt *t, const char *text)
{
	return dxk_command_send(t->ctx, text, strlen(text), NULL, 0, NULL, 0);
}

static void *sender_thread(void *arg)
{
	struct sender *s = arg;

	s->ret = ask_for(s->t, s->text, s->reply, sizeof(s->reply), -1);
	s->done = 1;
	return NULL;
}

struct sender *sender_start(struct dxt *t, const char *text)
{
	struct sender *s = calloc(1, sizeof(*s));

	s->t = t;
	s->text = text;
	if (pthread_create(&s->thread, NULL, sender_thread, s))
		abort();
	return s;
}

int sender_end(struct sender *s)
{
	int ret;

	pthread_join(s->thread, NULL);
	ret = s->ret;
	free(s);
	return ret;
}
