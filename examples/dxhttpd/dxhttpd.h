/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef _DXHTTPD_H
#define _DXHTTPD_H

#include <dx_reactor.h>

/* The server: does not change while it runs. */
struct server {
	int root;		/* the directory that is served */
	Dispatcher *dispatcher;
};

extern struct server server;

int reply(char *head, size_t len, OutputQueue *out, bool *keep);

#endif /* _DXHTTPD_H */
