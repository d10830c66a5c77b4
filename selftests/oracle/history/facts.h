/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the checker (history.h) share: what is known of each request. */
#ifndef HISTORY_FACTS_H
#define HISTORY_FACTS_H

#include "history.h"

/* All pointers into the history's events; NULL: there is none. */
struct facts {
	const struct history_event *post;
	const struct history_event *first, *last;	/* START, by attempt */
	const struct history_event *done;		/* of the last START, taken */
	const struct history_event *result;
	uint32_t starts;
	uint32_t attempts;				/* of them in the last turn */
};

struct check {
	const struct history *h;
	struct history_report *report;
	uint32_t nr_requests, nr_events;
	struct facts *facts;
	const struct history_event **start;	/* by request and attempt */
	const struct history_event **ticket;	/* the same by ticket */
	const struct history_event **done;	/* taken, of ticket[i]; or NULL */
	bool *jumped;				/* start[i] was given before its equals */
	uint32_t nr_starts;
	const struct history_event **call;	/* CALL and CANCEL, by request */
	uint32_t nr_calls;
	const struct history_event **kill;	/* CANCEL of keys */
	uint32_t nr_kills;
};

/* An error; @request: that it is about, or HIST_NOBODY. */
void hist_found(struct check *c, enum history_error error, uint32_t request,
		const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The end of the member that began an execution, or NULL. */
const struct history_gone *hist_gone(const struct check *c,
				     const struct history_event *start);
/* The completion of an execution that was taken, or NULL. */
const struct history_event *hist_done(const struct check *c,
				      const struct history_event *start);
/* Did its last worker die over the request, for good? */
bool hist_died(const struct check *c, uint32_t request);

/* Is its last turn over, and another one to come? */
bool hist_waits(const struct facts *f);
/* From when on was it certainly there? */
uint64_t hist_taken(const struct check *c, uint32_t request);
/* When did its last execution end, if it did, and not with a wait? False: that is not known. */
bool hist_end_of(const struct check *c, uint32_t request, uint64_t *begin, uint64_t *end);
/* Where its executions begin in @start, or would. */
uint32_t hist_starts(const struct check *c, uint32_t request);
/* How many calls, or cancels, of the request may have come before @before. */
uint32_t hist_calls(const struct check *c, uint32_t request, uint8_t kind, uint64_t before);

/* May somebody have cancelled all of its key before @before? */
bool hist_killed(const struct check *c, uint32_t request, uint64_t before);

/* Why requests have turns, and who finds them by their names (waits.c). */
void hist_check_waits(struct check *c);
/* What is told to owners; the order of dispatches; how many execute (order.c). */
void hist_check_owners(struct check *c);
void hist_check_order(struct check *c);
void hist_check_lanes(struct check *c);
/* Who has keys, and who waits for himself (keys.c, circles.c). */
void hist_check_keys(struct check *c);

#endif /* HISTORY_FACTS_H */
