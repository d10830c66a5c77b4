// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The message queue of an add-in (DX-2) and the thread that reads it.
 *
 * It is a socket in a directory that only its user and root can enter. A sender connects and
 * sends one message, a command, which is passed on as SendCommand() does: its meaning is up to
 * the command handler and the executive. The reply ends the connection, and waits for nobody.
 *
 * A name exists as long as a process listens on it. A process that takes or releases a name holds
 * the lock of the directory, so nobody takes a name that another process has just taken.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/* Senders that are not accepted yet; further ones wait in connect(2). */
#define BACKLOG		64

/* A message that takes longer does not delay those behind it. */
#define PATIENCE_NS	10000000000LL

/* --- names ------------------------------------------------------------------ */

static bool name_valid(const char *name)
{
	size_t i;

	for (i = 0; name[i] && i < DXK_NAME_LEN; i++)
		if (name[i] <= ' ' || name[i] > '~' || name[i] == '/')
			return false;
	return i && i < DXK_NAME_LEN && *name != '.';
}

static int format_path(struct sockaddr_un *addr, const char *format, ...)
{
	va_list args;
	int len;

	addr->sun_family = AF_UNIX;
	va_start(args, format);
	len = vsnprintf(addr->sun_path, sizeof(addr->sun_path), format, args);
	va_end(args);
	return (size_t)len < sizeof(addr->sun_path) ? 0 : -ENAMETOOLONG;
}

/* The directory of the queues of the caller's user. */
static int directory_path(struct sockaddr_un *dir)
{
	const char *runtime = geteuid() ? secure_getenv("XDG_RUNTIME_DIR") : "/run";

	if (runtime && *runtime == '/')
		return format_path(dir, "%s/dxk", runtime);
	return format_path(dir, "/run/user/%u/dxk", geteuid());
}

/**
 * dx_addin_path - where the message queue of an add-in is
 * @addr: out
 * @name: its name, or with a slash its path
 *
 * Return: 0, -EINVAL, -ENAMETOOLONG.
 */
int dx_addin_path(struct sockaddr_un *addr, const char *name)
{
	struct sockaddr_un dir;
	int rc;

	if (strchr(name, '/'))
		return format_path(addr, "%s", name);
	if (!name_valid(name))
		return -EINVAL;
	rc = directory_path(&dir);
	return rc ? rc : format_path(addr, "%s/%s", dir.sun_path, name);
}

/* --- taking a name ------------------------------------------------------------ */

/* Return: the directory of @addr, made if necessary, locked; or a negative errno. */
static int directory_lock(const struct sockaddr_un *addr)
{
	struct sockaddr_un dir = *addr;
	struct stat st;
	int fd, rc = 0;

	*strrchr(dir.sun_path, '/') = '\0';
	if (mkdir(dir.sun_path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(dir.sun_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		rc = -errno;
	else if (st.st_uid != geteuid() || st.st_mode & 022)
		rc = -EPERM;	/* another user could put a socket there */
	while (!rc && flock(fd, LOCK_EX))
		rc = errno == EINTR ? 0 : -errno;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* The unlock is for copies that a fork() has made. */
static void directory_unlock(int fd)
{
	flock(fd, LOCK_UN);
	close(fd);
}

static bool addressed(const struct dx_addin *a, struct stat *st)
{
	return !lstat(a->addr.sun_path, st) && S_ISSOCK(st->st_mode);
}

/* Removes the name of a process that was killed. -EEXIST: it lives, or it is no socket. */
static int name_take_over(const struct dx_addin *a)
{
	struct stat st;
	int fd, rc;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	rc = connect(fd, (const struct sockaddr *)&a->addr, sizeof(a->addr)) ? errno : 0;
	close(fd);
	if (rc == ENOENT)
		return 0;
	if (rc != ECONNREFUSED || !addressed(a, &st))
		return -EEXIST;
	return unlink(a->addr.sun_path) ? -errno : 0;
}

/* The caller holds the lock of the directory. */
static int name_take(struct dx_addin *a)
{
	struct stat st = { 0 };
	int rc = name_take_over(a);

	if (rc)
		return rc;
	/* The mode of the socket is the mode of the file that bind() makes. */
	if (fchmod(a->fd, 0600) ||
	    bind(a->fd, (const struct sockaddr *)&a->addr, sizeof(a->addr)))
		return errno == EADDRINUSE ? -EEXIST : -errno;
	a->named = addressed(a, &st);
	a->dev = st.st_dev;
	a->ino = st.st_ino;
	return listen(a->fd, BACKLOG) ? -errno : 0;
}

static void name_release(struct dx_addin *a)
{
	struct stat st;
	int dir;

	if (!a->named)
		return;
	a->named = false;
	dir = directory_lock(&a->addr);
	if (dir < 0)
		return;		/* the next process with the name takes it over */
	if (addressed(a, &st) && st.st_dev == a->dev && st.st_ino == a->ino)
		unlink(a->addr.sun_path);
	directory_unlock(dir);
}

/* --- messages ------------------------------------------------------------------ */

/* The modes of directory and file ensure the same, as long as nobody changes them. */
static bool permitted(int sender)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return !getsockopt(sender, SOL_SOCKET, SO_PEERCRED, &cred, &len) &&
	       (cred.uid == geteuid() || !cred.uid);
}

/* Return: the status for the sender, as of SendCommand(). */
static int message_execute(MTExecutive *mte, struct dx_addin_message *m, ssize_t len,
			   char *reply, size_t room)
{
	size_t text = (size_t)len - offsetof(struct dx_addin_message, text);
	int64_t timeout;

	if (len < (ssize_t)offsetof(struct dx_addin_message, text))
		return -EINVAL;
	if (text > DXK_COMMAND_MAX)
		return -EMSGSIZE;
	if (memchr(m->text, '\0', text))
		return -EINVAL;
	m->text[text] = '\0';
	timeout = m->timeout_ns;
	if (timeout < 0 || timeout > PATIENCE_NS)
		timeout = PATIENCE_NS;
	return SendCommandOf(mte, m->text, reply, room, timeout);
}

static void reply_send(int sender, const struct dx_addin_reply *r)
{
	send(sender, r, offsetof(struct dx_addin_reply, text) + strlen(r->text),
	     MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* @gone: the sender has hung up; if it was to wait for the reply, its call has failed. */
static void message_serve(MTExecutive *mte, int sender, bool gone)
{
	struct dx_addin_reply r = { 0 };
	struct dx_addin_message m;
	ssize_t len;

	m.timeout_ns = 0;
	len = recv(sender, &m, sizeof(m), MSG_DONTWAIT);
	if (len <= 0 || (gone && m.timeout_ns))
		return;
	r.status = permitted(sender) ?
		   message_execute(mte, &m, len, r.text, sizeof(r.text)) : -EPERM;
	reply_send(sender, &r);
}

/* --- the thread ------------------------------------------------------------------ */

static void sender_close(struct dx_addin *a, unsigned int i)
{
	int cancel = dx_lock();

	/* The sender is to see the end even if a child has a copy. */
	shutdown(a->senders[i], SHUT_RDWR);
	close(a->senders[i]);
	a->nr--;
	memmove(&a->senders[i], &a->senders[i + 1], (a->nr - i) * sizeof(*a->senders));
	dx_unlock(cancel);
}

static void sender_accept(struct dx_addin *a)
{
	static const struct dx_addin_reply refused = { .status = -EAGAIN };
	int fd, cancel;

	/* A sender that sends nothing does not keep others out. */
	if (a->nr == DX_ADDIN_SENDERS) {
		reply_send(a->senders[0], &refused);
		sender_close(a, 0);
	}
	cancel = dx_lock();
	fd = accept4(a->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	fd = dx_fd(fd < 0 ? -errno : fd);
	if (fd >= 0)
		a->senders[a->nr++] = fd;
	dx_unlock(cancel);
	/* A temporary shortage; the sender still waits. */
	if (fd < 0 && fd != -EAGAIN)
		poll(NULL, 0, 10);
}

static void *addin_main(void *arg)
{
	MTExecutive *mte = arg;
	struct dx_addin *a = &mte->env.addin;
	struct pollfd p[DX_ADDIN_SENDERS + 1];
	unsigned int i, nr, left;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){ 0 });
	for (;;) {
		nr = a->nr;
		for (i = 0; i < nr; i++)
			p[i] = (struct pollfd){ .fd = a->senders[i], .events = POLLIN };
		p[nr] = (struct pollfd){ .fd = a->fd, .events = POLLIN };
		if (poll(p, nr + 1, -1) < 0)
			continue;
		if (p[nr].revents & (POLLHUP | POLLERR))
			return NULL;
		for (i = left = 0; i < nr; i++) {
			if (!p[i].revents) {
				left++;
				continue;
			}
			message_serve(mte, p[i].fd, p[i].revents & POLLHUP);
			sender_close(a, left);
		}
		/* Senders that have sent something are served before one is dropped. */
		if (p[nr].revents)
			sender_accept(a);
	}
}

/* --- start and end ---------------------------------------------------------------- */

void dx_addin_setup(struct dx_addin *a)
{
	*a = (struct dx_addin){ .fd = -1 };
}

/* From here on messages are accepted; they wait for the thread. */
int dx_addin_init(struct dx_addin *a, const char *name)
{
	int dir, rc, cancel;

	if (!name_valid(name))
		return -EINVAL;
	rc = dx_addin_path(&a->addr, name);
	if (rc)
		return rc;
	cancel = dx_lock();
	rc = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = a->fd = dx_fd(rc < 0 ? -errno : rc);
	dx_unlock(cancel);
	if (rc < 0)
		return rc;
	dir = directory_lock(&a->addr);
	if (dir < 0)
		return dir;
	rc = name_take(a);
	directory_unlock(dir);
	return rc;
}

int dx_addin_start(MTExecutive *mte)
{
	struct dx_addin *a = &mte->env.addin;
	sigset_t old;
	int rc;

	if (a->fd < 0)
		return 0;
	dx_block_signals(&old);
	rc = pthread_create(&a->thread, NULL, addin_main, mte);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	a->threaded = !rc;
	return -rc;
}

/*
 * The context is stopped, or never ran, so the thread waits for no command. Senders
 * that were not served see the end when the descriptors are closed.
 */
void dx_addin_end(struct dx_addin *a)
{
	if (a->fd >= 0)
		shutdown(a->fd, SHUT_RDWR);
	if (a->threaded)
		pthread_join(a->thread, NULL);
	a->threaded = false;
	name_release(a);
}
