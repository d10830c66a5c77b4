// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Sending a command to an add-in, which may be another process: see addin.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "internal.h"

/* Practically without limit; a call without any limit would be restarted after a signal. */
#define YEAR_NS		(365LL * 86400 * 1000000000)

/* Lets the next calls with @fd sleep until @deadline. */
static int deadline_set(int fd, uint64_t deadline)
{
	int64_t left = dxk_remaining(deadline);
	struct timeval tv;

	if (!left)
		return -ETIMEDOUT;
	if (left < 0 || left > YEAR_NS)
		left = YEAR_NS;
	left += 999;			/* no sleep is shorter than requested */
	tv.tv_sec = left / 1000000000;
	tv.tv_usec = left % 1000000000 / 1000;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)))
		return -errno;
	return 0;
}

/* @wait: 0 when the caller does not. */
static int addin_connect(int fd, const struct sockaddr_un *addr, bool wait)
{
	if (!connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return 0;
	switch (errno) {
	case EAGAIN:
		return wait ? -ETIMEDOUT : -EAGAIN;
	case ENOENT:
	case ENOTDIR:
	case ECONNREFUSED:
		return -ENXIO;
	}
	return -errno;
}

/* The add-in ended with the message unread, or unanswered. */
static int addin_ended(int err)
{
	return err == EPIPE || err == ECONNRESET ? -ESHUTDOWN : -err;
}

static int reply_receive(int fd, char *reply, size_t room)
{
	struct dx_addin_reply r;
	const size_t head = offsetof(struct dx_addin_reply, text);
	ssize_t len = recv(fd, &r, sizeof(r), 0);
	size_t text;

	if (len < 0)
		return errno == EAGAIN ? -ETIMEDOUT : addin_ended(errno);
	if ((size_t)len < head)
		return len ? -EPROTO : -ESHUTDOWN;
	text = (size_t)len - head;
	if (reply && room) {
		size_t most = text < room ? text : room - 1;

		memcpy(reply, r.text, most);
		reply[most] = '\0';
	}
	return r.status < 0 ? r.status : (int)text;
}

static int message_send(int fd, const struct dx_addin_message *m, size_t text)
{
	size_t len = offsetof(struct dx_addin_message, text) + text;

	/* A sender that was refused already has the reply. */
	if (send(fd, m, len, MSG_NOSIGNAL) < 0 && errno != EPIPE)
		return addin_ended(errno);
	return 0;
}

static int talk(int fd, const struct sockaddr_un *addr, const struct dx_addin_message *m,
		size_t text, char *reply, size_t room)
{
	uint64_t deadline = dxk_deadline(m->timeout_ns);
	bool wait = m->timeout_ns;
	int rc = wait ? deadline_set(fd, deadline) : 0;

	if (!rc)
		rc = addin_connect(fd, addr, wait);
	if (!rc)
		rc = message_send(fd, m, text);
	if (rc || !wait)
		return rc;
	rc = deadline_set(fd, deadline);
	return rc ? rc : reply_receive(fd, reply, room);
}

int SendCommandTo(const char *addin, const char *command, char *reply, size_t room,
		  int64_t timeout_ns)
{
	struct dx_addin_message m = { .timeout_ns = timeout_ns };
	struct sockaddr_un addr;
	int fd, rc, cancel;
	size_t len;

	if (reply && room)
		*reply = '\0';
	if (!addin || !command)
		return -EINVAL;
	len = strlen(command);
	if (!len || len > DXK_COMMAND_MAX)
		return len ? -EMSGSIZE : -EINVAL;
	rc = dx_addin_path(&addr, addin);
	if (rc)
		return rc;
	memcpy(m.text, command, len);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
		    (timeout_ns ? 0 : SOCK_NONBLOCK), 0);
	rc = fd < 0 ? -errno : talk(fd, &addr, &m, len, reply, room);
	if (fd >= 0)
		close(fd);
	pthread_setcancelstate(cancel, NULL);
	return rc;
}
