// SPDX-License-Identifier: GPL-2.0-only
/*
 * sha256: the digest of a file that a client hands over, or of a range of one that
 * is in the Handle Table.
 *
 * Every call reads with a position of its own, from the first byte to the end of
 * the file. The position of the open file neither matters nor moves, so several
 * requests may name the same open file. As with any reader, a file that somebody
 * writes meanwhile gives a digest of what the reads happened to see.
 *
 * One transform serves all workers: without a key it is never written to, the
 * state of a digest is in the descriptor on the stack of its call.
 */
#include <crypto/hash.h>
#include <crypto/sha2.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/kmod.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "executors.h"

/*
 * Most bytes of one read. The largest buffer that the page allocator still serves
 * from its per-CPU lists and that stays in the cache between read and digest. A
 * larger one saves nothing: 32 KiB of digest cost far more than a call.
 */
#define CHUNK_MAX	SZ_32K

/* Reads in a row that may end with EINTR; a FUSE server can answer so for ever. */
#define INTR_MAX	16

/* What to read. */
struct sha256_job {
	struct dxk_call *call;
	struct file *file;
	loff_t pos;
	u64 left;
};

static struct crypto_shash *sha256_tfm;

/* Can the file be read to its end by dxk_file_read(), which warns when it cannot? */
static int sha256_check_file(struct file *file)
{
	umode_t mode = file_inode(file)->i_mode;

	if (!(file->f_mode & FMODE_READ))
		return -EBADF;
	if (S_ISDIR(mode))
		return -EISDIR;
	/* A pipe or a terminal may never have an end. */
	if (!S_ISREG(mode) && !S_ISBLK(mode))
		return -EOPNOTSUPP;
	/* Direct I/O wants user pages; not every file system can do without. */
	if (file->f_flags & O_DIRECT)
		return -EOPNOTSUPP;
	if (!(file->f_mode & FMODE_CAN_READ))
		return -EOPNOTSUPP;
	if (!file->f_op->read_iter || file->f_op->read)
		return -EOPNOTSUPP;
	return 0;
}

/*
 * A small file needs a small buffer only. The size is a hint: some files tell 0
 * and have contents, others grow. The mapping's host knows it for block devices
 * as well.
 */
static size_t sha256_chunk_size(const struct sha256_job *job)
{
	u64 size = i_size_read(job->file->f_mapping->host);

	return clamp_t(u64, min(size, job->left), SZ_4K, CHUNK_MAX);
}

/* Read up to @size bytes: how many, 0 at the end of the range, or an error. */
static ssize_t sha256_read(struct sha256_job *job, void *buf, size_t size)
{
	unsigned int tries = INTR_MAX;
	ssize_t len;

	size = min_t(u64, size, job->left);
	if (!size)
		return 0;
	do {
		if (dxk_should_stop(job->call))
			return -ECANCELED;
		len = dxk_file_read(job->file, buf, size, &job->pos);
		/* The ERESTART codes end as EINTR on the way to user space too. */
		if (len != -EINTR && len != -ERESTARTSYS &&
		    len != -ERESTARTNOINTR && len != -ERESTARTNOHAND) {
			job->left -= max_t(ssize_t, len, 0);
			return len;
		}
		cond_resched();
	} while (--tries && !signal_pending(current));

	return dxk_should_stop(job->call) ? -ECANCELED : -EINTR;
}

static int sha256_digest(struct sha256_job *job, void *buf, size_t size, u8 *digest)
{
	SHASH_DESC_ON_STACK(desc, sha256_tfm);
	ssize_t len;
	int err;

	desc->tfm = sha256_tfm;
	err = crypto_shash_init(desc);
	if (err)
		return err;

	/* A short read is no end; only a read of nothing is. */
	while ((len = sha256_read(job, buf, size)) > 0) {
		err = crypto_shash_update(desc, buf, len);
		if (err)
			goto out_zero;
		cond_resched();
	}
	err = len ? len : crypto_shash_final(desc, digest);

out_zero:
	shash_desc_zero(desc);
	return err;
}

/* The file of %PXR_FD, all of it; or what the request's data names. */
static int sha256_job_get(struct sha256_job *job, struct dxk_call *call)
{
	struct dxk_sha256_range range;

	*job = (struct sha256_job) { .call = call, .file = call->file, .left = U64_MAX };
	if (job->file)
		return 0;
	if (call->data_len != sizeof(range))
		return -EINVAL;
	/* Its place becomes that of the digest. */
	memcpy(&range, call->data, sizeof(range));
	if (range.offset > LLONG_MAX)
		return -EINVAL;
	job->pos = range.offset;
	job->left = range.length;
	job->file = dxk_handle_file(call, range.handle);
	return PTR_ERR_OR_ZERO(job->file);
}

/**
 * exe_sha256 - executor "sha256": the SHA-256 digest of a file, or a part of it
 * @call: the request; with %PXR_FD the file that it hands over is read to its end
 *	and the data is ignored, else the data is a struct dxk_sha256_range. @param
 *	is ignored
 *
 * The result is the 32 bytes of the digest. The position of the file does not
 * move. It is read with the rights of who opened it.
 *
 * Return: 0; -EINVAL without a file and a range, -EMSGSIZE when the result has
 * room for less than 32 bytes, -EBADF when the file is not open for reading,
 * -EISDIR for a directory, -EOPNOTSUPP when it is neither a regular file nor a
 * block device, was opened with O_DIRECT, or is one that the kernel cannot read
 * for itself (as many in /proc), -ECANCELED when dxk told the worker to stop,
 * -EINTR, -ENOMEM, the error of the read, or that of dxk_handle_file(). On error
 * there is no result data.
 */
s32 exe_sha256(struct dxk_call *call)
{
	struct sha256_job job;
	size_t size;
	void *buf;
	int err;

	err = sha256_job_get(&job, call);
	if (err)
		return err;
	if (call->result_room < SHA256_DIGEST_SIZE)
		return -EMSGSIZE;
	err = sha256_check_file(job.file);
	if (err)
		return err;

	size = sha256_chunk_size(&job);
	buf = kvmalloc(size, GFP_KERNEL);
	if (!buf)
		return -ENOMEM;

	err = sha256_digest(&job, buf, size, call->data);
	if (!err)
		call->result_len = SHA256_DIGEST_SIZE;

	kvfree(buf);
	return err;
}

/**
 * exe_sha256_setup - get the algorithm; before the executor is registered
 *
 * Return: 0 or an error, which is in the log then.
 */
int exe_sha256_setup(void)
{
	struct crypto_shash *tfm;

	/*
	 * crypto_alloc_shash() loads a module only when it finds nothing, and so
	 * would be content with the generic code of a kernel that has it built
	 * in. The faster one for this CPU is worth a try; it may not exist.
	 */
	request_module("crypto-sha256");

	tfm = crypto_alloc_shash("sha256", 0, 0);
	if (IS_ERR(tfm)) {
		pr_err("dxk_executors: this kernel offers no sha256: %pe\n", tfm);
		return PTR_ERR(tfm);
	}
	sha256_tfm = tfm;
	return 0;
}

/** exe_sha256_teardown - release the algorithm; after the last call */
void exe_sha256_teardown(void)
{
	crypto_free_shash(sha256_tfm);
}

MODULE_SOFTDEP("pre: sha256");
