// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxk as a program uses it: libdxk, its worker threads, the names of the DX.
 */
#include <string.h>

#include <dx.h>

#include "pools.h"

static MTExecutive *mte;
static Runnable runnable;
static long executed;
static RQPost posts[CHUNK];
static RQElement elements[CHUNK];
static int owner;

static int execute(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	__atomic_add_fetch(&executed, 1, __ATOMIC_RELAXED);
	return 0;
}

/* @arg: TPFetchMax, 0 for the library's default */
static void setup(const struct variant *v)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;

	RunSettingsInit(&settings, "bench", 0, NULL);
	settings.LogPath = "/dev/null";
	MUST(0, ThreadManagerPolicyInit(&policy));
	if (v->arg)
		policy.TPFetchMax = v->arg;
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		die("MTExecutiveCreate %s %s %d", error.Step, error.Field, error.Error);
	jobs_init();
	runnable.ExecuteThisRequest = execute;
	for (int i = 0; i < CHUNK; i++)
		posts[i] = (RQPost){
			.pOObject = &owner,
			.pXObject = &runnable,
			.pPObject = &jobs[i],
			.RQEPriority = jobs[i].prio,
			.RQEAttrs = PXR_REJOIN,
		};
}

static void run(long ops)
{
	long before = executed, all = ops;

	while (ops) {
		long nr = ops < CHUNK ? ops : CHUNK;

		MUST(nr, PostRequests(posts, nr, -1, NULL));
		MUST(nr, GetRejoinRequests(&owner, elements, nr, nr, NULL, 0, -1, NULL));
		ops -= nr;
	}
	MUST(all, executed - before);
}

/* One call for each request. */
static void each_run(long ops)
{
	long before = executed, all = ops;

	while (ops) {
		long nr = ops < CHUNK ? ops : CHUNK;

		for (long i = 0; i < nr; i++)
			MUST(0, PostARequest(&jobs[i], &runnable, &owner, jobs[i].prio,
					     PXR_REJOIN));
		for (long i = 0; i < nr; i++)
			MUST(RJR_RETURNED, RejoinWait(&owner, NULL, -1));
		ops -= nr;
	}
	MUST(all, executed - before);
}

static void teardown(void)
{
	MUST(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
}

const struct kind library = { .setup = setup, .run = run, .teardown = teardown };
const struct kind library_each = {
	.setup = setup, .run = each_run, .teardown = teardown,
};
