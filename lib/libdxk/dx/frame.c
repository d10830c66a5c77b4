// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The frames of a worker, and a Runnable's queries of the request that it executes, which is the
 * request of the worker's frame at work.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

void dx_frame_free(struct dx_frame *f)
{
	if (!f)
		return;
	free(f->works);
	free(f->dones);
	free(f->data);
	free(f->results);
	free(f);
}

/* @nr: how many requests it has room for */
struct dx_frame *dx_frame_new(const MTExecutive *mte, unsigned int nr)
{
	struct dx_frame *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->nr = nr;
	f->more = mte->waits;
	f->works = calloc(nr, f->more ? sizeof(struct dxk_work_more) : sizeof(struct dxk_work));
	f->dones = calloc(nr, f->more ? sizeof(struct dxk_done_more) : sizeof(struct dxk_done));
	if (!f->works || !f->dones)
		goto err;
	f->slot = mte->slot;
	if (f->slot) {
		f->data = calloc(nr, f->slot);
		f->results = calloc(nr, f->slot);
		if (!f->data || !f->results)
			goto err;
	}
	return f;

err:
	dx_frame_free(f);
	return NULL;
}

/* The worker ended within @f, its frame at work: closes the files that came with requests. */
void dx_frames_abandon(struct dx_frame *f)
{
	for (; f; f = f->below) {
		if (f->done && f->element.RQEFd >= 0)
			close(f->element.RQEFd);
		for (; f->begun < f->fetched; f->begun++)
			if (dx_work(f, f->begun)->fd >= 0)
				close(dx_work(f, f->begun)->fd);
	}
}

/* The frame whose request the calling thread executes, NULL when it executes none. */
struct dx_frame *dx_executing(void)
{
	struct dx_frame *f = dx_current ? dx_current->frame : NULL;

	return f && f->done ? f : NULL;
}

/* --- queries of a Runnable ------------------------------------------------- */

const RQElement *CurrentRequest(void)
{
	struct dx_frame *f = dx_executing();

	return f ? &f->element : NULL;
}

int CurrentPoster(RQPoster *poster)
{
	struct dx_frame *f = dx_executing();
	const struct dxk_work *work;

	if (!f)
		return -EPERM;
	work = dx_work(f, f->begun - 1);
	*poster = (RQPoster){
		.Uid = work->uid,
		.Gid = work->gid,
		.Pid = work->pid,
		.Own = work->origin & DXK_POSTED_HERE,
	};
	return 0;
}

/* The data that the request leaves: a result's, or those for its next turn. */
int dx_leave(struct dx_frame *f, const void *data, size_t len)
{
	unsigned char *slot;

	if (len > f->element.RQEResultRoom)
		return -EMSGSIZE;
	if (len) {
		slot = f->results + (size_t)(f->begun - 1) * f->slot;
		memmove(slot, data, len);
		f->done->data = (uintptr_t)slot;
	}
	f->done->data_len = (uint32_t)len;
	return 0;
}

int SetRequestResult(const void *data, size_t len)
{
	struct dx_frame *f = dx_executing();

	return f ? dx_leave(f, data, len) : -EPERM;
}

int TakeRequestFd(void)
{
	struct dx_frame *f = dx_executing();
	int fd;

	if (!f)
		return -EPERM;
	fd = f->element.RQEFd;
	if (fd < 0)
		return -ENOENT;
	f->element.RQEFd = -1;
	return fd;
}
