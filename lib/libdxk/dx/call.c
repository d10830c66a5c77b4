// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A post and the wait for its result, in one call of the module; a post beside a full pool.
 */
#define _GNU_SOURCE
#include "../calls.h"
#include "call.h"
#include "internal.h"

/* How long a request waits beside a full pool: the first and the last attempt */
#define SOON_NS		1000000LL
#define LATE_NS		(1000 * SOON_NS)

/* Signals of faults of the program: a handler of these is not to end a wait. */
static bool is_fault(int signal)
{
	switch (signal) {
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGSEGV:
	case SIGSYS:
		return true;
	}
	return false;
}

/*
 * A signal has ended a call that is not restarted, because that would post once more. Returns
 * whether there is a handler for which a wait is to end. It is not known which signal it was.
 */
static bool interrupts(void)
{
	struct sigaction sa;

	for (int i = 1; i <= SIGRTMAX; i++)
		if (!is_fault(i) && !sigaction(i, NULL, &sa) && sa.sa_handler != SIG_DFL &&
		    sa.sa_handler != SIG_IGN && !(sa.sa_flags & SA_RESTART))
			return true;
	return false;
}

/**
 * dx_call - post one request, and collect a result of its owner
 * @mte: the executive, or %NULL
 * @post: the request, with %PXR_REJOIN
 * @options: its options
 * @element: out, the result
 * @answer: out, as GetRejoinElement() returns it; 0: not collected, the caller does that
 *
 * The post waits for nothing. The answer -EINTR means that a signal came, and that a handler of
 * some signal is without %SA_RESTART.
 *
 * Return: as PostRequestsWith() of one request; @answer is valid if the request was taken.
 */
int dx_call(MTExecutive *mte, const RQPost *post, const RQOptions *options,
	    RQElement *element, int *answer)
{
	struct dxk_post_more more;
	struct dxk_result result;
	struct dx_member *member;
	struct dxk_roundtrip arg;
	int rc = dx_self(&mte, &member);

	*answer = 0;
	if (!rc)
		rc = dx_more_entry(&more, post, options);
	if (rc)
		return rc;
	arg = (struct dxk_roundtrip){
		.flags = dx_helps(member) | dx_nests(member),
		.deadline = DXK_FOREVER,
		.entries = address(&more),
		.results = address(&result),
		.nr = 1,
		.entry_size = sizeof(more),
		.result_size = sizeof(result),
		.min = 1,
	};
	rc = dxk_roundtrip(member->fd, &arg);
	if (!arg.taken) {
		if (arg.reason != PXR_HELP)
			return rc;
		/* There is no room, and the caller is to make some: it executes a request. */
		rc = dx_help();
		return rc ? rc : PostRequestsWithOf(mte, post, options, 1, 0, NULL);
	}
	*answer = rc < 0 ? rc : (int)arg.answer;
	if (rc > 0)
		dx_rejoin_element(element, post->pOObject, &result, NULL);
	else if (*answer == RJR_HELP)
		*answer = dx_help();
	if (*answer == -EINTR && !interrupts())
		*answer = 0;
	return 1;
}

/**
 * dx_post_beside - post a request that is not to be refused because the Ready Pool is full
 * @mte: the executive, or %NULL
 * @post: the request
 * @options: its options; its wait changes
 *
 * It needs no room in the pool as long as it waits for a time. When that wait is over, it comes
 * before all posters that sleep for room. A time that is already over at the post is no wait: if
 * the caller was delayed for so long, the post is retried with a longer time.
 *
 * Return: 0 or a negative errno.
 */
int dx_post_beside(MTExecutive *mte, const RQPost *post, RQOptions *options)
{
	int rc = PostRequestsWithOf(mte, post, options, 1, 0, NULL);

	for (int64_t ns = SOON_NS; rc == -EAGAIN && ns <= LATE_NS; ns *= 10) {
		options->Wait = (RQWait){ .Sources = DXK_WAIT_TIME, .TimeoutNs = ns };
		rc = PostRequestsWithOf(mte, post, options, 1, 0, NULL);
	}
	return rc > 0 ? 0 : rc;
}
