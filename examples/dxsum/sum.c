// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Transactions (lane 2): each opens one file, posts the sub-request (lane 3) that
 * reads and hashes it, and waits for the digest.
 *
 * The sub-request is executed by a kernel worker, by the executor "sha256", or by
 * ExecuteReader() in a worker of this process. It is one for a file of any size:
 * SHA-256 takes every block on top of the state that the block before left, so the
 * parts of a file cannot be hashed side by side. What runs in parallel is files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dxsum.h"

#define CHUNK	65536

/* The request of a sub-request that is executed by a worker of this process. */
struct sub {
	int fd;
};

static EVP_MD *sha256;	/* looked up once, that is slow */

int sum_init(void)
{
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	return sha256 ? 0 : -ENOENT;
}

void sum_exit(void)
{
	EVP_MD_free(sha256);
}

/* --- the sub-request ------------------------------------------------------- */

/* Reads to the end that the file has then, whatever its size was. */
static int hash_to_end(int fd, EVP_MD_CTX *ctx)
{
	unsigned char buf[CHUNK];
	off_t at = 0;
	ssize_t len;

	while (!program.stopped) {
		len = pread(fd, buf, sizeof(buf), at);
		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return len ? -errno : 0;
		if (!EVP_DigestUpdate(ctx, buf, (size_t)len))
			return -ENOMEM;
		at += len;
	}
	return -ECANCELED;
}

static int hash_file(int fd, unsigned char *digest)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int rc = -ENOMEM;

	if (ctx && EVP_DigestInit_ex(ctx, sha256, NULL))
		rc = hash_to_end(fd, ctx);
	if (!rc && !EVP_DigestFinal_ex(ctx, digest, NULL))
		rc = -ENOMEM;
	EVP_MD_CTX_free(ctx);
	return rc;
}

/* The Runnable of a sub-request. Its result is the same as the kernel's. */
int ExecuteReader(Runnable *self, void *request)
{
	const struct sub *sub = request;
	unsigned char digest[DIGEST_LEN];
	int rc;

	(void)self;
	rc = hash_file(sub->fd, digest);
	return rc ? rc : SetRequestResult(digest, sizeof(digest));
}

/* --- the transaction ------------------------------------------------------- */

/* Posts the sub-request of @file and waits for its digest. */
static int sum_by_sub(struct entry *file, int fd)
{
	struct sub sub = { .fd = fd };
	RQPost request = {
		.pOObject = file,
		.pPObject = &sub,
		.RQEPriority = PRIO_SUB,
		.RQEAttrs = PXR_REJOIN | PXR_WAITIF_BUSY,
		.RQEResultRoom = DIGEST_LEN,
	};
	RQElement done;
	int rc;

	if (app.opt.kernel) {
		request.RQEAttrs |= PXR_KERNEL | PXR_FD;
		request.RQEKernelExecutor = app.sha256;
		request.RQEFd = fd;
	} else {
		request.pXObject = &app.reader;
	}
	rc = post(&request, 1);
	if (rc < 0)
		return rc;
	/* @sub lies on this stack: no return before it is back. */
	if (rejoin(file, &done, file->digest, DIGEST_LEN) != RJR_RETURNED)
		die(NOT_RUN, "a sub-request was lost");
	return done.RQEStatus;
}

/*
 * Errors of the kernel's executor, or of the post, that say nothing of the file:
 * not every file can be read by the kernel for itself, as many in /proc.
 */
static bool user_can(int rc)
{
	return rc == -EOPNOTSUPP || rc == -ELOOP || rc == -EBADF;
}

static int sum_file(struct entry *file, int fd)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return NOT_A_FILE;

	rc = sum_by_sub(file, fd);
	if (app.opt.kernel && user_can(rc)) {
		app.fallbacks++;
		rc = hash_file(fd, file->digest);
	}
	app.files += !rc;
	app.bytes += rc ? 0 : (unsigned long long)st.st_size;
	return rc;
}

/* What cannot be opened may have become something that is not looked at. */
static int open_error(const struct dir *dir, const struct entry *file, int rc)
{
	struct stat st;

	if (fstatat(dir->fd, file->name, &st, AT_SYMLINK_NOFOLLOW) ||
	    S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return rc;
	return NOT_A_FILE;
}

/* The Runnable of a transaction. What it returns is the status of the file. */
int ExecuteTransaction(Runnable *self, void *request)
{
	const struct dir *dir = CurrentRequest()->pOObject;
	struct entry *file = request;
	int fd, rc;

	(void)self;
	fd = file_open(dir->fd, file->name, false);
	if (fd < 0)
		return open_error(dir, file, fd);
	rc = sum_file(file, fd);
	close(fd);
	file_closed(false);
	return rc;
}
