// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Localities: the place of a thread, calls, chores.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "../dx/call.h"
#include "internal.h"

/* Within a turn a worker may execute another one, which saves the outer place and restores it. */
_Thread_local struct dxf_place dxf_here;

int locality_here(void)
{
	return dxf_here.domain ? (int)dxf_here.locality : -EPERM;
}

/* --- calls ---------------------------------------------------------------------------------- */

struct dxf_call {
	struct fom_domain *domain;
	uint32_t locality;
	locality_fn fn;
	void *data;
};

static void leave(void *place)
{
	dxf_here = *(struct dxf_place *)place;
}

int dxf_call_turn(Runnable *self, void *request)
{
	struct dxf_place outer = dxf_here;
	struct dxf_call *call = request;
	int rc;

	(void)self;
	dxf_here = (struct dxf_place){ call->domain, call->locality, NULL };
	pthread_cleanup_push(leave, &outer);
	rc = call->fn(call->data);
	pthread_cleanup_pop(1);
	return rc;
}

/* Waits for the one request of an owner. Return: its status. */
static int status_of(struct fom_domain *d, void *owner)
{
	bool deadlock = false;
	RQElement e;
	int rc;

	do {
		rc = GetRejoinElementOf(d->mte, owner, &e, NULL, 0, -1);
		/* It is Held and must not begin: its data is on this stack. */
		if (rc == -EDEADLK && !deadlock) {
			deadlock = true;
			CancelRequestsOf(d->mte, owner);
		}
	} while (rc < 0);
	return rc != RJR_RETURNED ? -ECANCELED : deadlock ? -EDEADLK : e.RQEStatus;
}

int locality_call(struct fom_domain *domain, uint32_t locality, locality_fn fn, void *data)
{
	struct fom_domain *d = domain;
	struct dxf_call call = { d, locality, fn, data };
	RQPost request = {
		.pOObject = &call, .pXObject = &d->calls, .pPObject = &call, .RQEAttrs = PXR_REJOIN,
	};
	RQOptions options = { .Reentry = DXK_REENTRY_CHAIN, .Home = locality + 1 };
	int rc;

	if (locality >= d->options.localities)
		return -EINVAL;
	if (dxf_here.domain == d && dxf_here.locality == locality)
		return fn(data);
	options.Key = d->localities[locality].key;
	if (!options.Key)
		options.Reentry = DXK_REENTRY_NONE;
	rc = dx_post_beside(d->mte, &request, &options);
	return rc ? rc : status_of(d, &call);
}

/* --- chores --------------------------------------------------------------------------------- */

/*
 * struct locality_chore:
 *
 *	quit		A: nothing is to be called any more
 *	the others	C
 */

/* A chore in one locality: one request, which waits for the next time. */
struct dxf_run {
	Runnable base;			/* C */
	struct locality_chore *chore;	/* C */
	uint64_t at;			/* R: when it is to be called */
};

static uint32_t locality_of(const struct dxf_run *run)
{
	return (uint32_t)(run - (struct dxf_run *)run->chore->runs);
}

static int chore_turn(Runnable *self, void *request)
{
	const RQElement *me = CurrentRequest();
	struct dxf_place outer = dxf_here;
	struct dxf_run *run = request;
	struct locality_chore *c = run->chore;
	RQWait wait = { .Sources = DXK_WAIT_TIME | DXK_WAIT_CALL };
	uint64_t now;

	(void)self;
	if (dxf_load(&c->quit) || (me->RQEWake != DXK_WAKE_TIME && me->RQEWake != DXK_WAKE_CALL))
		return 0;
	if (me->RQEWake == DXK_WAKE_TIME) {
		dxf_here = (struct dxf_place){ c->domain, locality_of(run), NULL };
		pthread_cleanup_push(leave, &outer);
		c->fn(c, dxf_here.locality);
		pthread_cleanup_pop(1);
		now = dxf_now();
		run->at += c->period_ns;
		if (run->at <= now)
			run->at += (now - run->at) / c->period_ns * c->period_ns + c->period_ns;
	}
	wait.Deadline = run->at;
	return WaitRequest(&wait);
}

static int chore_begins(struct locality_chore *c, struct dxf_run *run, uint64_t at)
{
	RQPost request = {
		.pOObject = c, .pXObject = &run->base, .pPObject = run,
		.RQEAttrs = PXR_LANE0 | PXR_QUIET,
	};
	RQOptions options = {
		.pName = run, .Key = c->domain->localities[locality_of(run)].key,
		.Wait = { .Sources = DXK_WAIT_TIME | DXK_WAIT_CALL, .Deadline = at },
	};
	int rc;

	run->at = at;
	rc = PostRequestsWithOf(c->domain->mte, &request, &options, 1, 0, NULL);
	return rc > 0 ? 0 : rc;
}

int locality_chore_init(struct locality_chore *chore, struct fom_domain *domain,
			locality_chore_fn fn, int64_t period_ns)
{
	uint32_t nr = domain->options.localities;
	struct locality_chore *c = chore;
	struct dxf_run *runs;
	uint64_t at;
	int rc = 0;

	*c = (struct locality_chore){
		.domain = domain, .fn = fn, .period_ns = (uint64_t)period_ns,
	};
	if (period_ns <= 0 || !fn)
		return -EINVAL;
	c->runs = runs = calloc(nr, sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	at = dxf_now() + c->period_ns;
	for (uint32_t i = 0; i < nr && !rc; i++) {
		runs[i].base.ExecuteThisRequest = chore_turn;
		runs[i].chore = c;
		rc = chore_begins(c, &runs[i], at);
	}
	if (rc)
		locality_chore_fini(c);
	return rc;
}

int locality_chore_fini(struct locality_chore *chore)
{
	struct locality_chore *c = chore;
	struct fom_domain *d = c->domain;
	struct dxf_run *runs = c->runs;
	int rc;

	if (CurrentRequest())
		return -EDEADLK;
	dxf_store(&c->quit, true);
	for (uint32_t i = 0; i < d->options.localities; i++)
		WakeRequestOf(d->mte, &runs[i]);
	do
		rc = RejoinWaitOf(d->mte, c, NULL, -1);
	while (rc < 0);
	free(runs);
	return 0;
}
