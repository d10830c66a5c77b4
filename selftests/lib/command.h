/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of commands share: senders, waiting for a handler. */
#ifndef DXT_COMMAND_H
#define DXT_COMMAND_H

#include "lib/dxt.h"

#include <stdlib.h>

/* Waits for the reply; the status, or why there is none. */
int ask_for(struct dxt *t, const char *text, char *reply, size_t room, int64_t ns);
int ask(struct dxt *t, const char *text, char *reply, size_t room);
/* Does not wait for a reply. */
int tell(struct dxt *t, const char *text);

/* A sender in a thread of its own. */
struct sender {
	struct dxt *t;
	const char *text;
	char reply[DXK_COMMAND_MAX + 1];
	int ret;
	_Atomic int done;
	pthread_t thread;
};

/* It waits for its reply as long as it takes. */
struct sender *sender_start(struct dxt *t, const char *text);
/* Waits for the thread, frees it; the status, or why there is none. */
int sender_end(struct sender *s);

#endif /* DXT_COMMAND_H */
