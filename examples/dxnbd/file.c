// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The file that is exported, and what is done with it by system calls that may sleep.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../common.h"
#include "dxnbd.h"

/* What a file system may ask for at most, where it cannot be asked. */
#define BLOCK_ANY	4096
/* So much is copied into the page cache sooner than another thread begins, as a rule. After one that
 * was late, so many are not taken to be quick. */
#define SMALL		(64 << 10)
#define LATE_NS		1000000
#define WARY		256

/**
 * export_open - open what is exported, or end the program
 * @e: out; its name and @e->read_only are set
 * @path: the file
 * @cached: do not go round the page cache
 */
void export_open(struct export *e, const char *path, bool cached)
{
	int flags = (e->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC;
	int sector = BLOCK_ANY;
	struct stat st;
	off_t size;

	/* A FIFO, which is refused below, is not waited for. */
	e->fd = open(path, flags | O_NONBLOCK);
	if (e->fd < 0 || fstat(e->fd, &st))
		die(NOT_RUN, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		die(NOT_RUN, "%s is neither a regular file nor a block device", path);
	size = lseek(e->fd, 0, SEEK_END);
	if (size < 0)
		die(NOT_RUN, "%s: %s", path, strerror(errno));
	e->size = (uint64_t)size;
	if (S_ISBLK(st.st_mode) && ioctl(e->fd, BLKSSZGET, &sector))
		sector = BLOCK_ANY;
	e->block = (uint32_t)sector;
	e->direct = cached ? -1 : open(path, flags | O_NONBLOCK | O_DIRECT);
	e->nowait = true;
	for (size_t i = 0; i < RANGES; i++)
		long_lock_init(&e->ranges[i]);
}

void export_close(struct export *e)
{
	for (size_t i = 0; i < RANGES; i++)
		long_lock_fini(&e->ranges[i]);
	if (e->direct >= 0)
		close(e->direct);
	close(e->fd);
}

/**
 * export_is_direct - can the disk do it by itself?
 * @e: the export
 * @r: the request
 *
 * Return: that.
 */
bool export_is_direct(const struct export *e, const struct request *r)
{
	return e->direct >= 0 && r->command <= NBD_CMD_WRITE && r->piece &&
	       (r->offset | r->piece) % e->block == 0;
}

/**
 * export_is_quick - is what is to be done not worth block markers?
 * @e: the export
 * @r: the request
 *
 * A small write to the page cache sleeps only if the file system has too much to write back, or
 * too little of the block; a read does if it is not there.
 *
 * Return: that; export_took() is told how long it has taken.
 */
bool export_is_quick(struct export *e, const struct request *r)
{
	if (r->command > NBD_CMD_WRITE || r->flags & NBD_CMD_FUA || r->piece > SMALL ||
	    (r->command == NBD_CMD_READ && atomic_load_explicit(&e->nowait, memory_order_relaxed)))
		return false;
	if (atomic_load_explicit(&e->wary, memory_order_relaxed) <= 0)
		return true;
	atomic_fetch_sub_explicit(&e->wary, 1, memory_order_relaxed);
	return false;
}

/** export_took - how long one has taken that was to be quick */
void export_took(struct export *e, uint64_t ns)
{
	if (ns > LATE_NS)
		atomic_store_explicit(&e->wary, WARY, memory_order_relaxed);
}

/**
 * export_read_now - read what is in the page cache, if all of it is
 * @e: the export
 * @r: a READ
 *
 * Return: 0; -EAGAIN: who reads it may sleep.
 */
int export_read_now(struct export *e, struct request *r)
{
	struct iovec iov = { r->buffer, r->piece };

	if (!atomic_load_explicit(&e->nowait, memory_order_relaxed))
		return -EAGAIN;
	if (preadv2(e->fd, &iov, 1, (off_t)r->offset, RWF_NOWAIT) == (ssize_t)r->piece)
		return 0;
	if (errno == EOPNOTSUPP)
		atomic_store_explicit(&e->nowait, false, memory_order_relaxed);
	return -EAGAIN;
}

/* Data of a READ or WRITE, all of it. Return: 0 or a negative errno. */
static int transfer(struct export *e, unsigned char *data, uint64_t offset, size_t length,
		    bool write, int flags)
{
	while (length) {
		struct iovec iov = { data, length };
		ssize_t n = write ? pwritev2(e->fd, &iov, 1, (off_t)offset, flags) :
				    preadv2(e->fd, &iov, 1, (off_t)offset, flags);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		/* It has become shorter, and its size is not to change. */
		if (!n)
			return -EIO;
		data += n;
		offset += (uint64_t)n;
		length -= (size_t)n;
	}
	return 0;
}

static bool has_not(int error)
{
	return error == EOPNOTSUPP || error == ENOSYS || error == EINVAL || error == ENOTTY;
}

/* One that cannot have holes keeps what it has. */
static int trim(struct export *e, const struct request *r)
{
	if (!fallocate(e->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)r->offset,
		       r->piece))
		return 0;
	return has_not(errno) ? 0 : -errno;
}

static int write_zeroes(struct export *e, const struct request *r)
{
	static unsigned char zeroes[256 << 10];
	int how = r->flags & NBD_CMD_NO_HOLE ? FALLOC_FL_ZERO_RANGE : FALLOC_FL_PUNCH_HOLE;
	uint32_t done = 0;
	int rc = 0;

	if (!fallocate(e->fd, how | FALLOC_FL_KEEP_SIZE, (off_t)r->offset, r->piece))
		return 0;
	if (!has_not(errno))
		return -errno;
	while (!rc && done < r->piece) {
		uint32_t n = r->piece - done < sizeof(zeroes) ? r->piece - done : sizeof(zeroes);

		rc = transfer(e, zeroes, r->offset + done, n, true, 0);
		done += n;
	}
	return rc;
}

/**
 * export_do - do a piece of a request; may sleep
 * @e: the export
 * @r: the request
 *
 * Return: 0 or a negative errno.
 */
int export_do(struct export *e, struct request *r)
{
	bool fua = r->flags & NBD_CMD_FUA;
	int rc = 0;

	switch (r->command) {
	case NBD_CMD_READ:
		return transfer(e, r->buffer, r->offset, r->piece, false, 0);
	case NBD_CMD_WRITE:
		return transfer(e, r->buffer, r->offset, r->piece, true, fua ? RWF_DSYNC : 0);
	case NBD_CMD_TRIM:
		rc = trim(e, r);
		break;
	case NBD_CMD_WRITE_ZEROES:
		rc = write_zeroes(e, r);
		break;
	case NBD_CMD_FLUSH:
		fua = true;
		break;
	}
	if (!rc && fua && fdatasync(e->fd))
		rc = -errno;
	return rc;
}
