// SPDX-License-Identifier: GPL-2.0-only
#include "lib/tcp.h"

#include <sys/socket.h>
#include <unistd.h>

int tcp_listen(struct sockaddr_in *a)
{
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*a);

	*a = (struct sockaddr_in){ .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (s < 0)
		return -1;
	if (!bind(s, (void *)a, len) && !listen(s, 256) && !getsockname(s, (void *)a, &len))
		return s;
	close(s);
	return -1;
}

int tcp_connect(const struct sockaddr_in *a)
{
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (s < 0 || !connect(s, (const void *)a, sizeof(*a)))
		return s;
	close(s);
	return -1;
}
