// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The state of a request that was posted and not collected; the application's own counters.
 */
#include <errno.h>
#include <stddef.h>

#include "internal.h"

/* A request that moves on while the requests are read may be found nowhere. */
#define LOOKS	3

static uint32_t state_of(const struct dxk_request_info *r)
{
	switch (r->state) {
	case DXK_REQUEST_READY:
		return RQE_READY;
	case DXK_REQUEST_WORK:
		return RQE_BUSY;
	default:
		return RQE_WAITING;
	}
}

static void tell(RQElement *element, const struct dxk_request_info *r)
{
	bool kernel = r->attrs & PXR_KERNEL;

	*element = (RQElement){
		.RQEState = state_of(r),
		.RQEAttrs = r->attrs,
		.RQEPriority = r->prio,
		.RQEInspectCount = r->inspect_count,
		.pOObject = (void *)(uintptr_t)r->owner,
		.pXObject = kernel ? NULL : (void *)(uintptr_t)r->executor,
		.pPObject = (void *)(uintptr_t)r->param,
		.RQEKernelExecutor = kernel ? r->executor : 0,
		.RQEWorker = r->worker,
		.RQEFd = -1,
	};
}

/* Return: its state, RQE_FREE, -EAGAIN: it may be one that is not reported; an error. */
static int look(int ctx, const void *owner, const void *request, RQElement *element)
{
	struct dxk_request_info seen[DXK_BATCH_MAX];
	uint64_t cursor = 0;
	bool more = false;
	int i, nr;

	while (cursor != DXK_REQUESTS_END) {
		nr = dxk_requests_read(ctx, &cursor, seen);
		if (nr < 0)
			return nr;
		for (i = 0; i < nr; i++) {
			more |= seen[i].flags & DXK_REQUEST_MORE;
			if (seen[i].owner != (uintptr_t)owner ||
			    seen[i].param != (uintptr_t)request)
				continue;
			tell(element, &seen[i]);
			return (int)element->RQEState;
		}
	}
	return more ? -EAGAIN : RQE_FREE;
}

int RequestState(void *owner, const void *request, RQElement *element)
{
	return RequestStateOf(NULL, owner, request, element);
}

int RequestStateOf(MTExecutive *mte, void *owner, const void *request, RQElement *element)
{
	int ctx = MTExecutiveContextFd(mte), i, rc = ctx;
	RQElement unwanted;

	if (!element)
		element = &unwanted;
	*element = (RQElement){ .RQEFd = -1 };
	for (i = 0; ctx >= 0 && i < LOOKS; i++) {
		rc = look(ctx, owner, request, element);
		if (rc != RQE_FREE && rc != -EAGAIN)
			break;
	}
	return rc;
}

/* --- instrumentation ------------------------------------------------------- */

static int instrument(MTExecutive *mte, const char *name, unsigned int flags, int64_t value)
{
	struct dx_member *member;
	int rc = dx_self(&mte, &member);

	return rc ? rc : dxk_instrument(member->fd, name, flags, value);
}

int LabelObject(const void *object, const char *name)
{
	return LabelObjectOf(NULL, object, name);
}

int LabelObjectOf(MTExecutive *mte, const void *object, const char *name)
{
	struct dx_member *member;
	int rc = dx_self(&mte, &member);

	return rc ? rc : dxk_label(member->fd, (uintptr_t)object, name);
}

int InstrumentAdd(const char *name, int64_t value)
{
	return instrument(NULL, name, 0, value);
}

int InstrumentAddOf(MTExecutive *mte, const char *name, int64_t value)
{
	return instrument(mte, name, 0, value);
}

int InstrumentSet(const char *name, int64_t value)
{
	return instrument(NULL, name, DXK_INSTRUMENT_SET, value);
}

int InstrumentSetOf(MTExecutive *mte, const char *name, int64_t value)
{
	return instrument(mte, name, DXK_INSTRUMENT_SET, value);
}
