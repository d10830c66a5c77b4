// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A worker process of dxserve: joins the context by its name, executes what it
 * fetches, and gives each result back with the call that fetches the next request. It
 * holds nothing that would be lost with it: a request that it dies over is given to
 * another one.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include <dxk.h>

#include "dxserve.h"
#include "service.h"

union result {
	unsigned char digest[32];
	struct counts counts;
};

static unsigned char block[256 * 1024];

/* Return: 0 or a negative errno, with the bytes read in *@n; 0 at the end. */
static int next_block(int fd, off_t *at, size_t *n)
{
	/* The position is the client's, and it may be used by several requests. */
	ssize_t got = pread(fd, block, sizeof(block), *at);

	if (got < 0)
		return -errno;
	*at += got;
	*n = (size_t)got;
	return 0;
}

static int sha256(int fd, union result *r)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	off_t at = 0;
	size_t n = 1;
	int rc = -ENOMEM;

	if (!md)
		return rc;
	rc = EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 ? 0 : -EIO;
	while (!rc && n) {
		rc = next_block(fd, &at, &n);
		if (!rc && EVP_DigestUpdate(md, block, n) != 1)
			rc = -EIO;
	}
	if (!rc && EVP_DigestFinal_ex(md, r->digest, NULL) != 1)
		rc = -EIO;
	EVP_MD_CTX_free(md);
	return rc;
}

static int count(int fd, union result *r)
{
	struct counts *c = &r->counts;
	bool inside = false;
	off_t at = 0;
	size_t n = 1, i;
	int rc = 0;

	*c = (struct counts){ 0 };
	while (!rc && n) {
		rc = next_block(fd, &at, &n);
		if (rc)
			break;
		for (i = 0; i < n; i++) {
			c->lines += block[i] == '\n';
			if (isspace(block[i])) {
				inside = false;
			} else if (isprint(block[i])) {
				c->words += !inside;
				inside = true;
			}
		}
		c->bytes += n;
	}
	return rc;
}

/* Return: the status; the result's size is in *@len. */
static int execute(const struct dxk_work *work, union result *r, uint32_t *len)
{
	int rc;

	*len = 0;
	if (work->fd < 0)
		return -EBADF;
	switch (work->executor) {
	case OP_SHA256:
		*len = sizeof(r->digest);
		rc = work->result_len < *len ? -EMSGSIZE : sha256(work->fd, r);
		break;
	case OP_COUNT:
		*len = sizeof(r->counts);
		rc = work->result_len < *len ? -EMSGSIZE : count(work->fd, r);
		break;
	default:
		rc = -EOPNOTSUPP;
	}
	close(work->fd);
	if (rc)
		*len = 0;
	return rc;
}

_Noreturn void serve(const char *name, int ready)
{
	int ctl = dxk_open();
	int ctx = ctl < 0 ? ctl : dxk_ctx_join(ctl, name, DXK_ACCESS_EXECUTE, 0, NULL);
	int m = ctx < 0 ? ctx : dxk_member_create(ctx, DXK_MEMBER_WORKER, NULL);
	struct dxk_done done = { 0 };
	struct dxk_work work;
	union result result;
	unsigned int taken, has = 0;
	int rc = m < 0 ? m : 0;

	/* A place that another one took meanwhile is no error. */
	if (rc && rc != -ENOSPC && rc != -ESHUTDOWN) {
		fprintf(stderr, "dxserve: worker: %s\n", strerror(-rc));
		exit(1);
	}
	if (write(ready, "", 1) != 1 || rc)
		exit(0);
	close(ready);

	while (rc != -ESHUTDOWN) {
		rc = dxk_next(m, has ? &done : NULL, has, &taken, &work, 1, NULL, 0, -1);
		if (has && taken)
			has = 0;
		if (rc == -ESTALE)	/* answered for already: the call was too late */
			has = 0;
		if (rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE)
			usleep(10000);
		if (rc <= 0)
			continue;
		done = (struct dxk_done){
			.ticket = work.ticket,
			.data = (uintptr_t)&result,
		};
		done.status = execute(&work, &result, &done.data_len);
		has = 1;
	}
	exit(0);
}
