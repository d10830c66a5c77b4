/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is done with what comes twice, late, or never: pure functions, without a clock, a
 * connection or a context.
 */
#ifndef _DXKD_JUDGE_H
#define _DXKD_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

/* What an exporter knows of an id */
enum known {
	UNKNOWN,
	HELD,		/* it will be answered: waits, is posted, runs */
	ANSWERED,
};

/**
 * struct delivery - of a request to an exporter
 * @redelivered: it was delivered to somebody before, who did not ack it
 * @known: of its id
 * @redo: it has PXR_REDO
 * @late: its deadline is over: it does not begin any more
 * @settling: the connection was made again so short a time ago that the broker may have
 *	restarted, and whoever had the request may still answer
 * @quorum: its queue counts deliveries
 * @attempt: as the message says, 1 or more
 * @deliveries: as a quorum queue says: those before this one
 * @redo_max: how often it may be begun
 */
struct delivery {
	bool redelivered;
	enum known known;
	bool redo;
	bool late;
	bool settling;
	bool quorum;
	uint32_t attempt;
	uint32_t deliveries;
	uint32_t redo_max;
};

enum verdict {
	DO_POST,	/* into the local context, as attempt_of() says */
	DO_NOTE,	/* the answer acks this delivery instead of the older one */
	DO_ANSWER,	/* send the known answer again */
	DO_REPUBLISH,	/* a copy with one more attempt, then ack: the queue does not count */
	DO_REFUSE,	/* answer -EOWNERDEAD: it was begun, and that may have been the last time */
	DO_EXPIRE,	/* answer -ETIME: too late to begin */
	DO_WAIT,	/* judge again when the time of grace is over */
};

enum verdict judge_delivery(const struct delivery *d);

/* How often it will have been begun, once it is now. */
uint32_t attempt_of(const struct delivery *d);

/**
 * struct answer - to an importer
 * @ours: its id is of this run of the daemon
 * @busy: its place has a request
 * @ticket: which is the one that the answer is about
 * @len: bytes of result
 * @room: that the request has for it
 */
struct answer {
	bool ours;
	bool busy;
	bool ticket;
	uint32_t len;
	uint32_t room;
};

enum answer_verdict {
	DO_COMPLETE,	/* the first answer counts */
	DO_DROP,	/* of a request that was answered: double, or late */
	DO_COMPLAIN,	/* complete with -EPROTO: longer than the request has room for */
};

enum answer_verdict judge_answer(const struct answer *a);

enum lost_verdict {
	DO_KEEP,	/* the broker has it */
	DO_AGAIN,	/* publish it again under its id */
	DO_FAIL,	/* complete with -EOWNERDEAD: it may have been begun */
};

/* What becomes of a request whose connection broke after it was published. */
enum lost_verdict judge_lost(bool confirmed, bool redo);

#endif /* _DXKD_JUDGE_H */
