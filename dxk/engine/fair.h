/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Rounds: how those who share a context share its workers (policy space_weight).
 *
 * A key is constant, and what all gain is one sum. So a weight need not be more than an offset
 * to the key, too: a request's distance, in rounds, from where its tenant would be if it had
 * only what it is due. A tenant is a share, see share.h: a user to whom the context does not
 * belong, a space that has got a weight, or all others together. In each round it has as many
 * requests as its weight is; the first ones it posts are of the round that is under way, those
 * beyond its weight of the next ones, each of which is worth 1 less of priority:
 *
 *	key = priority - gained - round		current rank = key + gained + level
 *
 * Let L be the level: the round that a lane is at. As what is served sinks below 0, L rises so
 * that it does not: a round has gone by. What is served out of turn, before others of its lane,
 * says nothing of that. Who comes with something after a while begins with round L, so nothing is
 * saved up. When nothing is Ready any more all rounds are over, so nothing is to be repaid.
 *
 * Hence, of what has one priority:
 *   those who always have something Ready have shares as their weights are, to within a round
 *   a tenant that is alone is served whatever round its requests are of
 *   what a tenant posts is behind no more than a round of each other one, however much it has
 * Between priorities a round is worth what a scheduler interval of ageing is, or one of priority:
 * a request of priority q that comes n rounds, or intervals, after one of priority p passes it
 * iff q - p > n. So a high priority is worth so many rounds to its tenant once, and not in each.
 *
 * All is per kind of worker and lane: what one of these has not served yet says nothing of the
 * others. Between lanes ranks are compared, not rounds.
 */
#ifndef _DXK_ENGINE_FAIR_H
#define _DXK_ENGINE_FAIR_H

#include "engine/lanes.h"
#include "engine/os.h"
#include "engine/request.h"
#include "engine/share.h"

struct dxk_engine;
struct dxk_ready;

/* One of each kind and lane, see dxk_fair_line(). */
#define DXK_FAIR_LINES	(DXK_KINDS * DXK_LANES)

/**
 * struct dxk_round - where a tenant is in one line; all (L)
 */
struct dxk_round {
	/** @nr: of its next request, unless the level is above that */
	s64 nr;
	/** @left: requests that it can still have in that round */
	u32 left;
};

/**
 * struct dxk_fair - the rounds of a context; all (L)
 */
struct dxk_fair {
	/** @level: the round that each line is at */
	s64 level[DXK_FAIR_LINES];
	/** @top: the last round that each line has a request of, or had */
	s64 top[DXK_FAIR_LINES];
	/** @weight: of each share, 1 and up */
	u32 weight[DXK_SHARES];
	/** @of: of each share in each line */
	struct dxk_round of[DXK_SHARES][DXK_FAIR_LINES];
};

int dxk_fair_start(struct dxk_engine *e);
void dxk_fair_destroy(struct dxk_engine *e);
void dxk_fair_join(struct dxk_engine *e, u32 share);

void dxk_fair_charge(struct dxk_ready *ready, struct dxk_rqe *rqe);
void dxk_fair_resume(struct dxk_ready *ready, struct dxk_rqe *rqe);
s64 dxk_fair_serve(struct dxk_ready *ready, const struct dxk_rqe *rqe);

static inline u32 dxk_fair_line(const struct dxk_rqe *rqe)
{
	return rqe->kind * DXK_LANES + rqe->lane;
}

#endif /* _DXK_ENGINE_FAIR_H */
