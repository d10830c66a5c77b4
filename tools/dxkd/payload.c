// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "payload.h"

#define FIXED	(F_SEAL_WRITE | F_SEAL_SHRINK)

int payload_check(int fd, uint32_t max, uint32_t *len)
{
	int seals = fcntl(fd, F_GET_SEALS), mode = fcntl(fd, F_GETFL);
	struct stat st;

	if (!max || seals < 0 || (seals & FIXED) != FIXED || (mode & O_ACCMODE) == O_WRONLY)
		return -EOPNOTSUPP;
	if (fstat(fd, &st))
		return -errno;
	if (st.st_size > max)
		return -EMSGSIZE;
	*len = (uint32_t)st.st_size;
	return 0;
}

static int fill(int fd, const char *data, size_t len)
{
	ssize_t n;

	for (; len; data += n, len -= (size_t)n) {
		n = write(fd, data, len);
		if (n < 0)
			return -errno;
	}
	if (fcntl(fd, F_ADD_SEALS, FIXED | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

int payload_make(const void *data, size_t len)
{
	int fd = memfd_create("dxk payload", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (fd < 0)
		return -errno;
	err = fill(fd, data, len);
	if (!err)
		return fd;
	close(fd);
	return err;
}

int payload_join(const void *data, size_t len, int fd, uint32_t payload, char **body)
{
	char *both = malloc(len + payload ?: 1);
	size_t at = 0;
	ssize_t n;
	int err;

	if (!both)
		return -ENOMEM;
	memcpy(both, data, len);
	for (; at < payload; at += (size_t)n) {
		n = pread(fd, both + len + at, payload - at, (off_t)at);
		if (n <= 0) {
			err = n ? -errno : -EIO;
			free(both);
			return err;
		}
	}
	*body = both;
	return 0;
}
