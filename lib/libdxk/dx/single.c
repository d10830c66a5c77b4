// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests in an environment that has no executive: there is one thread, which executes each
 * request within its post.
 *
 * It does so like a worker that helps, in a frame above that of the request which posts. A
 * Runnable's queries of its request use that frame. The result is kept for its owner.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

/* The maximum that a policy allows. */
#define DATA_MAX	4096

/* Flags that need a context, and flags that are accepted, also if they have no effect. */
#define REFUSED	(PXR_KERNEL | PXR_NAMED | PXR_KEY | PXR_WAIT | PXR_EXPIRE | PXR_HOME)
#define TAKEN	(PXR_WAITIF_BUSY | PXR_REJOIN | PXR_BOOST | PXR_REDO | PXR_LANE0 | PXR_LANE1 | \
		 PXR_LANE2 | PXR_LANE_CHILD | PXR_FD | PXR_QUIET | PXR_FAIL_FAST)

/* A request that executes, or its result. */
struct held {
	struct held *next;
	uint64_t owner;
	uint32_t room;
	struct dxk_result result;
	unsigned char data[];
};

/* All but the first two are the thread's own. */
struct dx_single {
	pthread_t thread;		/* C: the thread that made the environment */
	const RunSettings *settings;	/* C: for an executive */
	struct dx_worker worker;
	struct dx_frame lowest;		/* without a request */
	struct held *busy;		/* the innermost first */
	struct held *done, **end;	/* the oldest first */
};

int dx_single_begin(MTExecutive *mte, const RunSettings *settings)
{
	struct dx_single *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->thread = pthread_self();
	s->settings = settings;
	s->worker.mte = mte;
	s->worker.frame = &s->lowest;
	s->end = &s->done;
	dx_single_reset(mte, s);
	return 0;
}

/* Sets what a policy would set. */
void dx_single_reset(MTExecutive *mte, struct dx_single *s)
{
	mte->single = s;
	mte->slot = DATA_MAX;
	mte->help = mte->waits = false;
	mte->homes = mte->handles.size = 0;
}

const RunSettings *dx_single_settings(const struct dx_single *s)
{
	return s->settings;
}

void dx_single_free(struct dx_single *s)
{
	struct dx_frame *f, *above;
	struct held *h;

	if (!s)
		return;
	for (f = s->lowest.above; f; f = above) {
		above = f->above;
		dx_frame_free(f);
	}
	while ((h = s->done)) {
		s->done = h->next;
		free(h);
	}
	free(s);
}

static int check_thread(const MTExecutive *mte)
{
	return atomic_load(&mte->foreign) ||
	       !pthread_equal(mte->single->thread, pthread_self()) ? -EPERM : 0;
}

/**
 * dx_single_idle - whether the environment can end, or become an executive
 * @mte: the environment
 *
 * Return: 0; -EALREADY: it has become one, -EPERM: it is not the caller's, -EDEADLK: the caller
 * executes a request of it, -EBUSY: it has results.
 */
int dx_single_idle(const MTExecutive *mte)
{
	int rc = mte->single ? check_thread(mte) : -EALREADY;

	if (rc)
		return rc;
	if (mte->single->busy)
		return -EDEADLK;
	return mte->single->done ? -EBUSY : 0;
}

/* --- posting --------------------------------------------------------------- */

/* Room for a request above what executes, or NULL. */
static struct dx_frame *frame_above(const MTExecutive *mte, struct dx_frame *f)
{
	if (!f->above) {
		f->above = dx_frame_new(mte, 1);
		if (f->above)
			f->above->below = f;
	}
	return f->above;
}

/* Fills in the data that a worker would have fetched. Return: 0 or a negative errno. */
static int fetch(struct dx_frame *f, const struct dxk_post_entry *e)
{
	int fd = -1;

	if (e->attrs & PXR_FD) {
		fd = fcntl(e->fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (fd < 0)
			return -errno;
	}
	*dx_work(f, 0) = (struct dxk_work){
		.owner = e->owner,
		.executor = e->executor,
		.param = e->param,
		.data_len = e->data_len,
		.result_len = e->result_len,
		.prio = e->prio,
		.attrs = e->attrs,
		.fd = fd,
		.attempt = 1,
		.uid = geteuid(),
		.gid = getegid(),
		.pid = (uint32_t)getpid(),
		.origin = DXK_POSTED_HERE,
	};
	if (e->data_len)
		memcpy(f->data, (void *)(uintptr_t)e->data, e->data_len);
	return 0;
}

static void execute(struct dx_single *s, struct dx_frame *f)
{
	struct dx_worker *before = dx_current;

	s->worker.frame = f;
	dx_current = &s->worker;
	dx_execute(&s->worker, 0);
	dx_current = before;
	s->worker.frame = f->below;
}

/* The request of @f has ended. */
static void deliver(struct dx_single *s, const struct dx_frame *f, struct held *h)
{
	const struct dxk_work *work = dx_work(f, 0);
	const struct dxk_done *done = dx_done(f, 0);

	if (!(work->attrs & PXR_REJOIN)) {
		free(h);
		return;
	}
	h->result = (struct dxk_result){
		.executor = work->executor,
		.param = work->param,
		.status = done->status,
		.attrs = work->attrs,
		.prio = work->prio,
		.data_len = done->data_len,
		.attempts = work->attempt,
	};
	memcpy(h->data, f->results, done->data_len);
	h->next = NULL;
	*s->end = h;
	s->end = &h->next;
}

static int post(MTExecutive *mte, const struct dxk_post_entry *e)
{
	struct dx_single *s = mte->single;
	struct dx_frame *f;
	struct held *h;
	int rc;

	if (e->attrs & REFUSED)
		return -EOPNOTSUPP;
	if (e->attrs & ~TAKEN)
		return -EINVAL;
	if (e->data_len > DATA_MAX || e->result_len > DATA_MAX)
		return -EMSGSIZE;
	f = frame_above(mte, s->worker.frame);
	h = f ? malloc(sizeof(*h) + e->result_len) : NULL;
	rc = h ? fetch(f, e) : -ENOMEM;
	if (rc) {
		free(h);
		return rc;
	}
	*h = (struct held){
		.next = s->busy,
		.owner = e->owner,
		.room = e->result_len,
		.result.attrs = e->attrs,
	};
	s->busy = h;
	execute(s, f);
	s->busy = h->next;
	deliver(s, f, h);
	return 0;
}

/** dx_single_post - as dxk_post(), but the requests have been executed at the return */
int dx_single_post(MTExecutive *mte, const struct dxk_post_entry *entries, unsigned int nr)
{
	int rc = check_thread(mte), taken = 0;

	while (!rc && (unsigned int)taken < nr) {
		rc = post(mte, &entries[taken]);
		taken += !rc;
	}
	return taken ? taken : rc;
}

/* --- rejoin ---------------------------------------------------------------- */

/* Whether a request of the owner executes: the thread is in its Runnable. */
static bool executes(const struct dx_single *s, uint64_t owner)
{
	const struct held *h;

	for (h = s->busy; h; h = h->next)
		if (h->owner == owner && h->result.attrs & PXR_REJOIN)
			return true;
	return false;
}

/* Takes *@p out of the list of results. */
static void collect(struct dx_single *s, struct held **p, struct dxk_result *result, void *data)
{
	struct held *h = *p;

	*result = h->result;
	if (data)
		memcpy(data, h->data, h->result.data_len);
	*p = h->next;
	if (!*p)
		s->end = p;
	free(h);
}

/** dx_single_rejoin - as dxk_rejoin(); nothing ends while the caller waits */
int dx_single_rejoin(MTExecutive *mte, uint64_t owner, struct dxk_result *results,
		     unsigned int nr, void *data, size_t stride, bool wait,
		     unsigned int *answer)
{
	struct dx_single *s = mte->single;
	struct held **p = &s->done, *h;
	int rc = check_thread(mte);
	unsigned int got = 0;
	char *slot = data;

	*answer = 0;
	while (!rc && got < nr && (h = *p)) {
		if (h->owner != owner) {
			p = &h->next;
		} else if (data && h->room > stride) {
			rc = -EMSGSIZE;
		} else {
			collect(s, p, &results[got], slot);
			slot = slot ? slot + stride : NULL;
			got++;
		}
	}
	if (got || rc) {
		*answer = got ? RJR_RETURNED : 0;
		return got ? (int)got : rc;
	}
	*answer = executes(s, owner) ? RJR_NONE_READY : RJR_NONE_EXIST;
	return wait && *answer == RJR_NONE_READY ? -EDEADLK : 0;
}
