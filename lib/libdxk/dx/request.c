// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Posting requests and collecting them.
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

static void *pointer(uint64_t value)
{
	return (void *)(uintptr_t)value;
}

static unsigned int min_u(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* --- calls in which a worker may help ---------------------------------------- */

/*
 * The member that the caller posts and collects as: as dx_self(), but for something that is only
 * an environment it is %NULL, because none is needed.
 */
static int poster(MTExecutive **mte, struct dx_member **member)
{
	*mte = dx_executive(*mte);
	*member = NULL;
	return *mte && (*mte)->single ? 0 : dx_self(mte, member);
}

/* As dxk_post(); whether taken or not, the caller may have executed other requests. */
static int post(MTExecutive *mte, const struct dx_member *member,
		const struct dxk_post_entry *entries, unsigned int nr, uint64_t deadline,
		unsigned int *reason)
{
	unsigned int taken = 0;
	int rc;

	*reason = 0;
	if (!member)
		return dx_single_post(mte, entries, nr);
	do {
		rc = dxk_post_flags(member->fd, entries + taken, nr - taken,
				    dx_helps(member), dxk_remaining(deadline), reason);
		if (rc > 0)
			taken += (unsigned int)rc;
		if (*reason != PXR_HELP)
			break;
		*reason = 0;
		rc = dx_help();
	} while (!rc);
	return taken ? (int)taken : rc;
}

/** dx_post_more - the same for requests that wait, expire or have names */
int dx_post_more(const struct dx_member *member, const struct dxk_post_more *entries,
		 unsigned int nr, uint64_t deadline, unsigned int *reason)
{
	unsigned int taken = 0;
	int rc;

	do {
		rc = dxk_post_more_flags(member->fd, entries + taken, nr - taken,
					 dx_helps(member), dxk_remaining(deadline), reason);
		if (rc > 0)
			taken += (unsigned int)rc;
		if (*reason != PXR_HELP)
			break;
		*reason = 0;
		rc = dx_help();
	} while (!rc);
	return taken ? (int)taken : rc;
}

/* As dxk_rejoin() of one batch. */
static int rejoin(MTExecutive *mte, const struct dx_member *member, uint64_t owner,
		  struct dxk_result *results, unsigned int nr, unsigned int min,
		  void *data, size_t stride, uint64_t deadline, unsigned int *answer)
{
	int rc;

	if (!member)
		return dx_single_rejoin(mte, owner, results, nr, data, stride, deadline, answer);
	do {
		rc = dxk_rejoin_flags(member->fd, owner, results, nr, min, data, stride,
				      dx_helps(member) | dx_nests(member),
				      dxk_remaining(deadline), answer);
		if (rc || *answer != RJR_HELP)
			break;
		*answer = 0;
		rc = dx_help();
	} while (!rc);
	return rc;
}

/* --- posting --------------------------------------------------------------- */

int PostARequest(void *request, Runnable *executor, void *owner, int priority,
		 unsigned int flags)
{
	return PostARequestOf(NULL, request, executor, owner, priority, flags);
}

int PostARequestOf(MTExecutive *mte, void *request, Runnable *executor,
		   void *owner, int priority, unsigned int flags)
{
	struct dxk_post_entry entry = {
		.owner = cookie(owner),
		.executor = cookie(executor),
		.param = cookie(request),
		.prio = priority,
		.attrs = flags,
	};
	struct dx_member *member;
	unsigned int reason;
	int rc;

	if (!executor || flags & (PXR_KERNEL | PXR_FD))
		return -EINVAL;
	rc = poster(&mte, &member);
	if (rc)
		return rc;
	rc = post(mte, member, &entry, 1, DXK_FOREVER, &reason);
	if (rc > 0)
		return 0;
	switch (reason) {
	case PXR_POOL_FULL:
	case PXR_LANE_FULL:
	case PXR_LANE_CLOSED:
	case PXR_REJOIN_FULL:
		return (int)reason;
	}
	return rc;
}

int dx_post_entry(struct dxk_post_entry *entry, const RQPost *post)
{
	bool kernel = post->RQEAttrs & PXR_KERNEL;
	size_t i;

	if (!kernel && !post->pXObject)
		return -EINVAL;
	for (i = 0; i < sizeof(post->Reserved) / sizeof(*post->Reserved); i++)
		if (post->Reserved[i])
			return -EINVAL;
	*entry = (struct dxk_post_entry){
		.owner = cookie(post->pOObject),
		.executor = kernel ? post->RQEKernelExecutor :
				     cookie(post->pXObject),
		.param = cookie(post->pPObject),
		.data = cookie(post->pData),
		.data_len = post->RQEDataLen,
		.result_len = post->RQEResultRoom,
		.prio = post->RQEPriority,
		.attrs = post->RQEAttrs,
		.fd = post->RQEAttrs & PXR_FD ? post->RQEFd : 0,
	};
	return 0;
}

int PostRequests(const RQPost *posts, unsigned int nr, int64_t timeout_ns,
		 unsigned int *reason)
{
	return PostRequestsOf(NULL, posts, nr, timeout_ns, reason);
}

int PostRequestsOf(MTExecutive *mte, const RQPost *posts, unsigned int nr,
		   int64_t timeout_ns, unsigned int *reason)
{
	struct dxk_post_entry entries[DXK_BATCH_MAX];
	uint64_t deadline = dxk_deadline(timeout_ns);
	unsigned int taken = 0, n, i, why = 0;
	struct dx_member *member;
	int rc;

	if (reason)
		*reason = 0;
	if (!nr || nr > INT_MAX)
		return -EINVAL;
	rc = poster(&mte, &member);
	if (rc)
		return rc;
	do {
		n = min_u(nr - taken, DXK_BATCH_MAX);
		for (i = 0, rc = 0; i < n && !rc; i++)
			rc = dx_post_entry(&entries[i], &posts[taken + i]);
		if (rc)
			break;
		rc = post(mte, member, entries, n, deadline, &why);
		if (rc > 0)
			taken += (unsigned int)rc;
	} while (rc == (int)n && taken < nr);

	if (reason)
		*reason = why;
	return taken ? (int)taken : rc;
}

int FindKernelExecutor(const char *name, uint64_t *id)
{
	return FindKernelExecutorOf(NULL, name, id);
}

int FindKernelExecutorOf(MTExecutive *mte, const char *name, uint64_t *id)
{
	int ctx = MTExecutiveContextFd(mte);

	return ctx < 0 ? ctx : dxk_executor_find(ctx, name, id);
}

/* --- rejoin ---------------------------------------------------------------- */

int GetRejoinRequest(void *owner, void **request)
{
	return RejoinWaitOf(NULL, owner, request, 0);
}

int GetRejoinRequestOf(MTExecutive *mte, void *owner, void **request)
{
	return RejoinWaitOf(mte, owner, request, 0);
}

int RejoinWait(void *owner, void **request, int64_t timeout_ns)
{
	return RejoinWaitOf(NULL, owner, request, timeout_ns);
}

int RejoinWaitOf(MTExecutive *mte, void *owner, void **request,
		 int64_t timeout_ns)
{
	RQElement element;
	int rc = GetRejoinElementOf(mte, owner, &element, NULL, 0, timeout_ns);

	if (request)
		*request = rc == RJR_RETURNED ? element.pPObject : NULL;
	return rc;
}

int GetRejoinElement(void *owner, RQElement *element, void *data, size_t room,
		     int64_t timeout_ns)
{
	return GetRejoinElementOf(NULL, owner, element, data, room, timeout_ns);
}

int GetRejoinElementOf(MTExecutive *mte, void *owner, RQElement *element,
		       void *data, size_t room, int64_t timeout_ns)
{
	unsigned int answer;
	int rc = GetRejoinRequestsOf(mte, owner, element, 1, 1, data, room,
				     timeout_ns, &answer);

	if (rc <= 0)
		memset(element, 0, sizeof(*element));
	return rc < 0 ? rc : (int)answer;
}

int RejoinAll(void *owner, int *status)
{
	return RejoinAllOf(NULL, owner, status);
}

int RejoinAllOf(MTExecutive *mte, void *owner, int *status)
{
	int rc, first = 0;
	RQElement element;

	do {
		rc = GetRejoinElementOf(mte, owner, &element, NULL, 0, -1);
		if (rc == RJR_RETURNED && !first)
			first = element.RQEStatus;
	} while (rc == RJR_RETURNED || rc == -EINTR || rc == -ESHUTDOWN);
	if (status)
		*status = first;
	return rc == RJR_NONE_EXIST ? 0 : rc;
}

void dx_rejoin_element(RQElement *element, void *owner,
		       const struct dxk_result *result, const void *data)
{
	bool kernel = result->attrs & PXR_KERNEL;

	*element = (RQElement){
		.RQEState = RQE_REJOIN,
		.RQEAttrs = result->attrs,
		.RQEPriority = result->prio,
		.RQEInspectCount = result->inspect_count,
		.pOObject = owner,
		.pXObject = kernel ? NULL : pointer(result->executor),
		.pPObject = pointer(result->param),
		.RQEKernelExecutor = kernel ? result->executor : 0,
		.pData = data,
		.RQEDataLen = data ? result->data_len : 0,
		.RQEStatus = result->status,
		.RQEWorker = result->worker,
		.RQEAttempts = result->attempts,
		.RQEFd = -1,
		/* see dx_execute() */
		.RQEResultRoom = 0,
		.RQEWake = 0,
		.RQEEvents = 0,
		.RQETurn = 0,
		.RQEWaitState = 0,
		.pName = NULL,
		.RQEKey = 0,
		.RQENested = 0,
		.Reserved = 0,
	};
}

int GetRejoinRequests(void *owner, RQElement *elements, unsigned int nr,
		      unsigned int min, void *data, size_t stride,
		      int64_t timeout_ns, unsigned int *answer)
{
	return GetRejoinRequestsOf(NULL, owner, elements, nr, min, data, stride,
				   timeout_ns, answer);
}

int GetRejoinRequestsOf(MTExecutive *mte, void *owner, RQElement *elements,
			unsigned int nr, unsigned int min, void *data,
			size_t stride, int64_t timeout_ns, unsigned int *answer)
{
	struct dxk_result results[DXK_BATCH_MAX];
	uint64_t deadline = dxk_deadline(timeout_ns);
	unsigned int got = 0, n, need, said, i;
	struct dx_member *member;
	char *slot = data;
	int rc;

	if (answer)
		*answer = 0;
	if (!nr || nr > INT_MAX || min > nr)
		return -EINVAL;
	if (!min)
		min = 1;
	rc = poster(&mte, &member);
	if (rc)
		return rc;
	do {
		n = min_u(nr - got, DXK_BATCH_MAX);
		/* Enough were returned: take the others that are there, do not wait. */
		need = min > got ? min_u(min - got, n) : 0;
		rc = rejoin(mte, member, cookie(owner), results, n, need, slot, stride,
			    need ? deadline : 0, &said);
		if (answer && !got)
			*answer = said;
		for (i = 0; rc > 0 && i < (unsigned int)rc; i++) {
			dx_rejoin_element(&elements[got++], owner, &results[i], slot);
			if (slot)
				slot += stride;
		}
	} while (rc == (int)n && got < nr);

	return got ? (int)got : rc;
}
