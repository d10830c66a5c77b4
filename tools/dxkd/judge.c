// SPDX-License-Identifier: GPL-2.0-only
#include "judge.h"

uint32_t attempt_of(const struct delivery *d)
{
	uint32_t before = d->quorum ? d->deliveries : d->redelivered;

	return before > UINT32_MAX - d->attempt ? UINT32_MAX : d->attempt + before;
}

enum verdict judge_delivery(const struct delivery *d)
{
	bool before = d->redelivered || attempt_of(d) > 1;

	if (d->known == HELD)
		return DO_NOTE;
	if (d->known == ANSWERED)
		return DO_ANSWER;
	/* After redo_max + 1 deliveries its queue drops it: the last one has to be answered. */
	if (d->redelivered && d->settling && !(d->quorum && d->deliveries > d->redo_max))
		return DO_WAIT;
	/* also a copy: who published it may have had other limits */
	if (before && (!d->redo || d->late || attempt_of(d) > d->redo_max))
		return DO_REFUSE;
	if (d->late)
		return DO_EXPIRE;
	return d->redelivered && !d->quorum ? DO_REPUBLISH : DO_POST;
}

enum answer_verdict judge_answer(const struct answer *a)
{
	if (!a->ours || !a->busy || !a->ticket)
		return DO_DROP;
	return a->len > a->room ? DO_COMPLAIN : DO_COMPLETE;
}

enum lost_verdict judge_lost(bool confirmed, bool redo)
{
	if (confirmed)
		return DO_KEEP;
	return redo ? DO_AGAIN : DO_FAIL;
}
