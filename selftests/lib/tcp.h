/* SPDX-License-Identifier: GPL-2.0-only */
/* Sockets of TCP on the loopback. */
#ifndef DXT_TCP_H
#define DXT_TCP_H

#include <errno.h>
#include <netinet/in.h>

/* A listening socket at a free port, and its address; -1 with errno. */
int tcp_listen(struct sockaddr_in *a);
/* A socket that is connected to @a, or -1. */
int tcp_connect(const struct sockaddr_in *a);

/* In a test: @_s is a listening socket, unless the kernel has no TCP. */
#define TCP_LISTEN(_s, _a) do {						\
	_s = tcp_listen(_a);						\
	if (_s < 0 && errno == EAFNOSUPPORT)				\
		SKIP(return, "this kernel has no TCP");			\
	ASSERT_LE(0, _s);						\
} while (0)

#endif /* DXT_TCP_H */
