/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Rounds: how the tenants of a context share its workers (policy space_weight).
 *
 * A key is constant, and the gain of all requests is one sum. So a weight, too, need be no more
 * than an offset to the key: a request's distance, in rounds, from where its tenant would be if
 * it had only its due. A tenant is a share, see share.h: a user to whom the context does not
 * belong, a space that has a weight, or all others together. In each round a tenant has as many
 * requests as its weight. The first ones it posts belong to the round that is under way, those
 * beyond its weight to the next ones. Each further round is worth 1 less of priority:
 *
 *	key = priority - gained - round		current rank = key + gained + level
 *
 * Let L be the level: the round that a lane is at. When the rank of a served request would sink
 * below 0, L rises so that it does not: a round has gone by. A request that is served out of turn,
 * before others of its lane, has no influence on that. A tenant that posts again after a while
 * begins with round L, so nothing is saved up. When nothing is Ready any more, all rounds are
 * over, so nothing has to be repaid.
 *
 * Hence, for requests of one priority:
 *   tenants that always have something Ready get shares in proportion to their weights, to within
 *   a round
 *   a tenant that is alone is served whatever round its requests are of
 *   a request that a tenant posts is behind no more than a round of each other tenant, however
 *   much that one has
 * Between priorities a round is worth as much as a scheduler interval of ageing, or one of
 * priority: a request of priority q that comes n rounds, or intervals, after one of priority p
 * passes it iff q - p > n. So a high priority is worth that many rounds to its tenant once, and
 * not in each round.
 *
 * All of this is per kind of worker and lane: the backlog of one of these has no influence on the
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
	/** @left: how many requests it can still have in that round */
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
