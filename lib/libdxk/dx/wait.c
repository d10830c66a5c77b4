// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Requests that wait, also for a key: how a Runnable's turn ends with a wait, how a request is
 * posted waiting, and how others wake and end such requests.
 *
 * WaitRequest() fills in the wait of the frame's element for the request that executes, and its
 * data goes where a result's would. The turn ends with the wait if the Runnable then returns
 * the value of WaitRequest(); any other value ends the request, and the wait is discarded.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "internal.h"

static uint64_t cookie(const void *p)
{
	return (uintptr_t)p;
}

/* --- a turn ------------------------------------------------------------------- */

/** dx_turn_tell - pass to a Runnable the reason why its request has its turn */
void dx_turn_tell(RQElement *element, const struct dxk_work_more *work)
{
	element->pName = (void *)(uintptr_t)work->name;
	element->RQEWaitState = work->state;
	element->RQETurn = work->turn;
	element->RQEWake = work->wake;
	element->RQEEvents = work->events;
	element->RQEKey = work->key;
	element->RQENested = work->nested;
}

static struct dxk_done_more *more_of(struct dxk_done *done)
{
	return (struct dxk_done_more *)done;
}

/**
 * dx_turn_ends - a Runnable has returned, and has called WaitRequest() or returns that it has
 * @f: its frame
 * @done: its element, with what it returned
 *
 * Return: whether the request is to wait.
 */
bool dx_turn_ends(struct dx_frame *f, struct dxk_done *done)
{
	bool waits = f->waiting && done->status == RQ_WAITS;

	if (waits) {
		done->status = 0;
		return true;
	}
	if (f->waiting) {
		memset(&more_of(done)->wait, 0, sizeof(struct dxk_wait));
		done->data_len = 0;
	} else {
		done->status = -EPROTO;
	}
	return false;
}

/** dx_done_waits - whether the request of an element waits */
bool dx_done_waits(const struct dx_frame *f, unsigned int i)
{
	return f->more && more_of(dx_done(f, i))->wait.wait;
}

/**
 * dx_wait_refused - the module has refused a call for its first element
 * @f: the frame
 * @rc: why
 *
 * Return: whether the wait was the reason; then the request ends with that status, with the next
 * call.
 */
bool dx_wait_refused(struct dx_frame *f, int rc)
{
	struct dxk_done_more *done = more_of(dx_done(f, f->first));

	switch (rc) {
	case -EINVAL:
	case -EOPNOTSUPP:
	case -EBADF:
	case -EPERM:
	case -ELOOP:
	case -ETOOMANYREFS:
		break;
	default:
		return false;
	}
	if (!done->wait.wait)
		return false;
	memset(&done->wait, 0, sizeof(done->wait));
	done->done.status = rc;
	done->done.data_len = 0;
	f->waits--;
	return true;
}

static int fill(struct dxk_wait *out, const RQWait *wait)
{
	uint32_t sources = wait->Sources;

	if (wait->Reserved)
		return -EINVAL;
	*out = (struct dxk_wait){
		.wait = sources,
		.state = wait->State,
	};
	if (sources & DXK_WAIT_TIME)
		out->deadline = wait->Deadline ? wait->Deadline : dxk_deadline(wait->TimeoutNs);
	if (sources & (DXK_WAIT_RESULT | DXK_WAIT_JOIN))
		out->owner = cookie(wait->pOObject);
	if (sources & DXK_WAIT_PRIO)
		out->prio = wait->Priority;
	if (sources & DXK_WAIT_MOVE)
		out->key = wait->Key;
	if (sources & DXK_WAIT_FILE) {
		out->fd = wait->Fd;
		out->events = wait->Events;
	}
	return 0;
}

int WaitRequest(const RQWait *wait)
{
	struct dx_frame *f = dx_executing();
	int rc;

	if (!f)
		return -EPERM;
	if (!f->more)
		return -EOPNOTSUPP;
	if (!wait->Sources)
		return -EINVAL;
	rc = fill(&more_of(f->done)->wait, wait);
	if (!rc)
		rc = dx_leave(f, wait->pData, wait->DataLen);
	f->waiting = !rc;
	if (rc)
		memset(&more_of(f->done)->wait, 0, sizeof(struct dxk_wait));
	return rc ? rc : RQ_WAITS;
}

/* --- posts ---------------------------------------------------------------------- */

int dx_more_entry(struct dxk_post_more *more, const RQPost *post, const RQOptions *options)
{
	int rc = dx_post_entry(&more->post, post);

	more->name = cookie(options->pName);
	more->expire = options->ExpireNs ? dxk_deadline(options->ExpireNs) : 0;
	if (options->pName)
		more->post.attrs |= PXR_NAMED;
	if (options->ExpireNs)
		more->post.attrs |= PXR_EXPIRE;
	if (options->Wait.Sources)
		more->post.attrs |= PXR_WAIT;
	more->key = options->Key;
	more->reentry = options->Reentry;
	if (options->Key)
		more->post.attrs |= PXR_KEY;
	more->home = options->Home;
	if (options->Home)
		more->post.attrs |= PXR_HOME;
	if (!rc)
		rc = fill(&more->wait, &options->Wait);
	/* Its first turn gets the posted data. */
	return rc || !options->Wait.DataLen ? rc : -EINVAL;
}

int PostRequestsWith(const RQPost *posts, const RQOptions *options, unsigned int nr,
		     int64_t timeout_ns, unsigned int *reason)
{
	return PostRequestsWithOf(NULL, posts, options, nr, timeout_ns, reason);
}

int PostRequestsWithOf(MTExecutive *mte, const RQPost *posts, const RQOptions *options,
		       unsigned int nr, int64_t timeout_ns, unsigned int *reason)
{
	uint64_t deadline = dxk_deadline(timeout_ns);
	struct dxk_post_more more[DXK_BATCH_MAX];
	unsigned int taken = 0, n, i, why = 0;
	struct dx_member *member;
	int rc;

	if (reason)
		*reason = 0;
	if (!nr || nr > INT_MAX)
		return -EINVAL;
	rc = dx_self(&mte, &member);
	if (rc)
		return rc;
	do {
		n = nr - taken < DXK_BATCH_MAX ? nr - taken : DXK_BATCH_MAX;
		for (i = 0, rc = 0; i < n && !rc; i++)
			rc = dx_more_entry(&more[i], &posts[taken + i], &options[taken + i]);
		if (rc)
			break;
		rc = dx_post_more(member, more, n, deadline, &why);
		if (rc > 0)
			taken += (unsigned int)rc;
	} while (rc == (int)n && taken < nr);

	if (reason)
		*reason = why;
	return taken ? (int)taken : rc;
}

int PostARequestWith(void *request, Runnable *executor, void *owner, int priority,
		     unsigned int flags, const RQOptions *options)
{
	return PostARequestWithOf(NULL, request, executor, owner, priority, flags, options);
}

int PostARequestWithOf(MTExecutive *mte, void *request, Runnable *executor, void *owner,
		       int priority, unsigned int flags, const RQOptions *options)
{
	RQPost post = {
		.pOObject = owner, .pXObject = executor, .pPObject = request,
		.RQEPriority = priority, .RQEAttrs = flags,
	};
	unsigned int reason;
	int rc;

	if (flags & (PXR_KERNEL | PXR_FD))
		return -EINVAL;
	rc = PostRequestsWithOf(mte, &post, options, 1, -1, &reason);
	if (rc > 0)
		return 0;
	return reason && reason != PXR_NO_SPACE ? (int)reason : rc;
}

/* --- names ---------------------------------------------------------------------- */

int WakeRequest(const void *name)
{
	return WakeRequestOf(NULL, name);
}

int WakeRequestOf(MTExecutive *mte, const void *name)
{
	uint64_t number = cookie(name);
	struct dx_member *member;
	int rc = dx_self(&mte, &member);

	if (!rc)
		rc = dxk_wake(member->fd, &number, 1);
	return rc > 0 ? 0 : rc;
}

int CancelRequest(const void *name)
{
	return CancelRequestOf(NULL, name);
}

int CancelRequestOf(MTExecutive *mte, const void *name)
{
	uint64_t number = cookie(name);
	struct dx_member *member;
	uint32_t state = DXK_CANCEL_NONE;
	int rc = dx_self(&mte, &member);

	if (!rc)
		rc = dxk_cancel(member->fd, &number, 1, &state);
	return rc > 0 ? (int)state : rc;
}

int CancelRequests(void *owner)
{
	return CancelRequestsOf(NULL, owner);
}

int CancelRequestsOf(MTExecutive *mte, void *owner)
{
	struct dxk_cancel_owner were;
	struct dx_member *member;
	int rc = dx_self(&mte, &member);

	if (rc)
		return rc;
	rc = dxk_cancel_owner(member->fd, cookie(owner), &were);
	if (rc)
		return rc;
	return (int)(were.ready + were.executing + were.waiting);
}

/* --- keys ----------------------------------------------------------------------- */

int UseKey(unsigned int what, int64_t timeout_ns)
{
	struct dx_frame *f = dx_executing();

	if (!f)
		return -EPERM;
	/* An element without room for a key has none. */
	if (!f->more)
		return -EOPNOTSUPP;
	if (what > DXK_KEY_NOTIFY_ALL)
		return -EINVAL;
	return dxk_key(dx_current->member->fd, what, 0, f->done->ticket, 0,
		       what == DXK_KEY_WAIT ? timeout_ns : 0);
}

static int mark(unsigned int what, unsigned int flags, int64_t timeout_ns)
{
	struct dx_frame *f = dx_executing();

	if (!f)
		return -EPERM;
	if (!dx_current->member)
		return -EOPNOTSUPP;
	return dxk_key(dx_current->member->fd, what, 0, f->done->ticket, flags, timeout_ns);
}

int EnterBlock(unsigned int flags, int64_t timeout_ns)
{
	return flags & ~DXK_KEY_FORCE ? -EINVAL : mark(DXK_KEY_BLOCK, flags, timeout_ns);
}

int LeaveBlock(void)
{
	int rc;

	/* After a signal the request is still on its way back. */
	do
		rc = mark(DXK_KEY_UNBLOCK, 0, 0);
	while (rc == -EINTR);
	return rc;
}

int ControlKey(uint64_t key, unsigned int what, unsigned int flags)
{
	return ControlKeyOf(NULL, key, what, flags);
}

int ControlKeyOf(MTExecutive *mte, uint64_t key, unsigned int what, unsigned int flags)
{
	struct dx_member *member;
	int rc;

	if (what < DXK_KEY_HOLD)
		return -EINVAL;
	rc = dx_self(&mte, &member);
	return rc ? rc : dxk_key(member->fd, what, key, 0, flags, 0);
}
