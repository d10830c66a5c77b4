// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of one owner, and what follows upon the last of them: posted waiting for that. Or
 * without: then the last one itself wakes who has posted them.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <dx.h>

#include "bench.h"

static MTExecutive *mte;
static uint32_t over;		/* the last one has ended */
static uint32_t left;		/* children that have not */
static RQOptions follows;	/* its Wait has no sources if nothing does */
static RQPost children[BATCH];

static void end_all(void)
{
	__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &over, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static int child(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	if (!__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) && !follows.Wait.Sources)
		end_all();
	return 0;
}

static int last(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	end_all();
	return 0;
}

static Runnable runs_child = { child }, runs_last = { last };

/* Who posts has the CPU until it sleeps, so all children are there before the first begins. */
static void run(long ops)
{
	for (long i = 0; i < ops; i += BATCH) {
		over = 0;
		left = BATCH;
		MUST(BATCH, PostRequestsOf(mte, children, BATCH, 0, NULL));
		if (follows.Wait.Sources)
			MUST(0, PostARequestWithOf(mte, NULL, &runs_last, NULL, 0, 0, &follows));
		while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST))
			syscall(SYS_futex, &over, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	}
}

static void setup(const struct variant *v)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;

	RunSettingsInit(&settings, "bench", 0, NULL);
	settings.LogPath = "/dev/null";
	MUST(0, ThreadManagerPolicyInit(&policy));
	policy.TPMaxThreads = 1;
	policy.TPMaxWaiting = BATCH;
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		die("MTExecutiveCreate %s %s %d", error.Step, error.Field, error.Error);
	for (int i = 0; i < BATCH; i++)
		children[i] = (RQPost){ .pOObject = children, .pXObject = &runs_child };
	follows.Wait = (RQWait){ .Sources = (uint32_t)v->arg, .pOObject = v->arg ? children : NULL };
	run(BATCH);
}

static void teardown(void)
{
	MUST(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
}

const struct kind joins = { .setup = setup, .run = run, .teardown = teardown };
