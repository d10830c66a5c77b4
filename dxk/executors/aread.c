// SPDX-License-Identifier: GPL-2.0-only
/*
 * aread: reads a part of a file without a thread that waits for the disk.
 *
 * The first turn begins the I/O and ends with a wait for a waker. The completion fires the waker
 * in the completion context of the file: for a disk, an interrupt. The I/O cannot be cancelled.
 * If the request is cancelled meanwhile, it ends, and the memory that the I/O still uses is freed
 * when the I/O has ended, too: both have a reference to the waker, whose release frees it.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "executors.h"

/* What the waker was fired with */
#define DONE	1

/**
 * struct aread_job - one reading
 */
struct aread_job {
	/** @read: the I/O */
	struct dxk_async_read read;
	/** @file: referenced */
	struct file *file;
	/** @page: where the bytes go */
	struct page *page;
	/** @waker: the reference of the I/O */
	struct dxk_waker *waker;
	/** @result: of the I/O: bytes, or a negative errno; written before the waker is fired */
	long result;
};

/* By a kernel thread: fput() would leave the release to a list of the whole system, see os.c. */
static void aread_free(void *data)
{
	struct aread_job *job = data;

	__fput_sync(job->file);
	__free_page(job->page);
	kfree(job);
}

/* Any context */
static void aread_done(struct dxk_async_read *read, long result)
{
	struct aread_job *job = container_of(read, struct aread_job, read);
	struct dxk_waker *waker = job->waker;

	job->result = result;
	dxk_waker_fire(waker, DONE);
	dxk_waker_put(waker);
}

static struct aread_job *aread_make(struct dxk_call *call)
{
	struct aread_job *job = kzalloc(sizeof(*job), GFP_KERNEL);

	if (!job)
		return NULL;
	job->page = alloc_page(GFP_KERNEL);
	if (!job->page) {
		kfree(job);
		return NULL;
	}
	job->file = get_file(call->file);
	job->read.done = aread_done;
	return job;
}

static s32 aread_begin(struct dxk_call *call)
{
	struct dxk_wait wait = { .wait = DXK_WAIT_FILE };
	struct aread_job *job;
	s32 err;

	if (!call->file)
		return -EBADF;
	if (!(call->file->f_mode & FMODE_READ))
		return -EBADF;
	/* Whoever has its other end would keep the worker, and no cancel or Stop would end that. */
	if (S_ISFIFO(file_inode(call->file)->i_mode))
		return -EOPNOTSUPP;
	if (!call->file->f_op->read_iter || (s64)call->param < 0)
		return -EINVAL;
	job = aread_make(call);
	if (!job)
		return -ENOMEM;
	job->waker = dxk_waker_create(call, aread_free, job);
	if (IS_ERR(job->waker)) {
		err = PTR_ERR(job->waker);
		aread_free(job);
		return err;
	}

	/* The wait begins when this turn is over; what is fired before that ends it at once. */
	wait.state = (uintptr_t)job;
	err = dxk_call_wait(call, &wait);
	if (err) {
		dxk_waker_put(job->waker);
		return err;
	}
	dxk_file_read_async(&job->read, job->file, page_address(job->page), call->result_room,
			    call->param);
	return 0;
}

/**
 * exe_aread - executor "aread": a part of a file, read without a worker that waits
 * @call: the request; its file came with %PXR_FD, @param is where to begin, and the room for the
 *	result how much to read, up to a page
 *
 * The file decides whether the worker waits after all: a disk's does not if it was opened with
 * O_DIRECT, and then wants what is asked for to begin and end with a sector. While the system is
 * suspended it waits, too.
 *
 * Return: 0, with the bytes as the result, fewer at the file's end; -ECANCELED, -EBADF,
 * -EINVAL, -ENOMEM, -EOPNOTSUPP: a pipe, or the policy's max_waiting is 0; or what the file says.
 */
s32 exe_aread(struct dxk_call *call)
{
	struct aread_job *job = (void *)(uintptr_t)call->state;
	long len;

	if (!call->result_room || call->result_room > PAGE_SIZE)
		return -EINVAL;
	if (!call->turn)
		return aread_begin(call);
	if (call->wake != DXK_WAKE_FILE)
		return -ECANCELED;
	len = job->result;
	if (len < 0)
		return len;
	memcpy(call->data, page_address(job->page), len);
	call->result_len = len;
	return 0;
}
