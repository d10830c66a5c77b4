/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXKCTL_TRACE_H
#define _DXKCTL_TRACE_H

#include <stdio.h>

#include "../common/common.h"

/* The tracepoints that are recorded. */
enum what {
	W_POST,
	W_DISPATCH,
	W_START,
	W_COMPLETE,
	W_BLOCK,
	W_STALL,
	W_NR,
};

/**
 * struct event - one event, with the fields that its tracepoint has
 * @ts: CLOCK_MONOTONIC in nanoseconds
 * @seq: names the request in its context
 * @ns: of a block that ended, how long it was; 0 when it begins
 * @thread: worker, poster or the thread that blocks
 * @status: of a completion
 * @state: of a block, the state of the member
 */
struct event {
	uint64_t ts, seq, ns, ticket;
	uint64_t owner, executor, param;
	uint32_t ctx, thread, attrs, attempts, nr;
	int32_t prio, status;
	uint8_t what, lane, state;
};

/**
 * struct traced - a context that was seen
 * @ready: entries of its Ready Pool when the recording began
 * @labels: names of executors; NULL when it could not be seen
 */
struct traced {
	uint32_t id;
	uint32_t ready;
	char name[DXK_NAME_LEN];
	struct json_object *labels;
};

/**
 * struct recording - what was recorded
 * @begin: CLOCK_MONOTONIC in nanoseconds
 * @end: likewise
 * @lost: events that the kernel had no room for
 */
struct recording {
	struct event *event;
	size_t nr, room;
	struct traced *traced;
	size_t nr_traced;
	uint64_t begin, end, lost;
};

/**
 * timeline_write - write a recording in the JSON trace event format
 * @r: the recording, which is sorted by this
 * @out: where to
 *
 * Return: how many requests it shows, or a negative errno.
 */
long timeline_write(struct recording *r, FILE *out);

#endif /* _DXKCTL_TRACE_H */
