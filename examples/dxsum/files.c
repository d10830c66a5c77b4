// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Opening files and directories, with respect to the limit of open files.
 *
 * The number of open files is bounded by the lanes: an executing transaction has
 * one, an executing feeder too. Should that be too many all the same, an open
 * waits until one is closed. This ends: a transaction that has its file waits for
 * lane 3 only, which waits for nobody; and a feeder that has its directory waits
 * for transactions, which fail rather than wait when no file is open.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dxsum.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t closed;
	unsigned int dirs, files;	/* open now */
	unsigned long closes;
} gate = { .lock = PTHREAD_MUTEX_INITIALIZER, .closed = PTHREAD_COND_INITIALIZER };

/*
 * As openat(), for names of PATH_MAX bytes and more too: goes there in pieces that
 * the kernel takes.
 */
static int open_long(int at, const char *name, int flags)
{
	int fd, from = at, err;

	while (strlen(name) >= PATH_MAX) {
		char piece[PATH_MAX];
		size_t len = PATH_MAX - 1;

		while (len && name[len] != '/')
			len--;
		memcpy(piece, name, len);
		piece[len] = '\0';
		fd = openat(at, piece, O_PATH | O_DIRECTORY | O_CLOEXEC);
		err = errno;
		if (at != from)
			close(at);
		errno = err;
		if (fd < 0)
			return -1;
		at = fd;
		name += len + 1;
	}
	fd = openat(at, name, flags);
	err = errno;
	if (at != from)
		close(at);
	errno = err;
	return fd;
}

/*
 * Somebody has a lease on it, as file servers do, and is to give it up: waits until then, if
 * it is a regular file. It is looked at and opened by one descriptor, so it stays the same.
 */
static int open_leased(int at, const char *name)
{
	int fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), again = -1, err = EAGAIN;
	char path[32];
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		again = open(path, O_RDONLY | O_CLOEXEC);
		err = errno;
	}
	close(fd);
	errno = err;
	return again;
}

/**
 * file_open - open a file or directory for reading
 * @at: directory that @name is relative to
 * @name: a file of less than PATH_MAX bytes, or a directory
 * @dir: which of both
 *
 * Does not follow a symbolic link and does not wait for the writer of a fifo:
 * either may have taken the name since it was listed.
 *
 * Return: the descriptor, or a negative errno. Tell file_closed() when you closed it.
 */
int file_open(int at, const char *name, bool dir)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	unsigned long closes;
	bool waited = false;
	int fd, err;

	if (dir)
		flags |= O_DIRECTORY;
	pthread_mutex_lock(&gate.lock);
	for (;;) {
		closes = gate.closes;
		pthread_mutex_unlock(&gate.lock);
		fd = open_long(at, name, flags);
		if (fd < 0 && errno == EWOULDBLOCK && !dir)
			fd = open_leased(at, name);
		err = fd < 0 ? -errno : 0;
		pthread_mutex_lock(&gate.lock);

		if (err != -EMFILE && err != -ENFILE)
			break;
		if (closes != gate.closes)
			continue;
		if (!gate.files && !(dir && gate.dirs))
			break;
		waited = true;
		while (closes == gate.closes)
			pthread_cond_wait(&gate.closed, &gate.lock);
	}
	if (!err)
		*(dir ? &gate.dirs : &gate.files) += 1;
	pthread_mutex_unlock(&gate.lock);
	app.fd_waits += waited;
	return err ? err : fd;
}

/**
 * file_closed - what file_open() opened was closed
 * @dir: as with file_open()
 */
void file_closed(bool dir)
{
	pthread_mutex_lock(&gate.lock);
	*(dir ? &gate.dirs : &gate.files) -= 1;
	gate.closes++;
	pthread_cond_broadcast(&gate.closed);
	pthread_mutex_unlock(&gate.lock);
}
