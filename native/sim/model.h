/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the engine must do, told a second time and naively: each request with its state and
 * its current priority, each owner with its counts. The model sees every move of the
 * engine at the instant at which it is made, and says whether that move was the right one:
 * legal, admitted by pool, lanes and reserve, in the order of those who sleep, and for a
 * dispatch the best request that a scan of all finds.
 */
#ifndef _DXK_SIM_MODEL_H
#define _DXK_SIM_MODEL_H

#include "engine/engine.h"

#define MODEL_REQUESTS	1024
#define MODEL_OWNERS	256

struct model_owner {
	const struct dxk_space *space;
	u64 cookie;
	u32 nr[DXK_PLACES];
	/* The hold that changed it last, and the last one in which nothing of it lived. */
	u64 hold, gone;
	/* The last one in which nothing of it was to come, and in which it had results. */
	u64 idle, rich;
};

struct model_request {
	struct dxk_rqe *rqe;
	struct model_owner *owner;
	u8 state;
	u8 kind, lane;
	bool boost, rejoin, redo, extra;
	/* Its worker has said that it is done. */
	bool completed;
	/* Its worker has said that it waits. */
	bool parks;
	/* No cancel ends its last wait. */
	bool masked;
	/* Since which hold it waits. */
	u64 parked;
	/* Turns that have ended with a wait. */
	u32 turn;
	/* It was given to a helper. */
	bool helped;
	/* It could not be copied out: among several such their order is lost. */
	bool returned;
	/* Current priority; what it was at the dispatch; intervals seen, and until then. */
	s64 prio, taken_prio;
	u64 seen, taken_seen;
	/* Order of posts, of completions. */
	u64 born, done;
	u32 attempts;
	s32 status;
	/* It waits for its key; it had that and gives it up. */
	bool held, yields;
	/* When it came to its key, as told here and as the engine counts; and what its priority
	 * would be without a boost.
	 */
	u64 came, arrival;
	s64 plain;
	/* Index among those that are Ready. */
	u32 ready;
	/* The round that it is of, where there are any. */
	s64 round;
};

/* What a tenant has had of the round that it is at. */
struct model_round {
	s64 nr;
	u32 had;
};

struct model {
	struct dxk_engine *e;
	u64 holds;
	u32 top_request;	/* no higher one is in use */
	struct model_request rq[MODEL_REQUESTS];
	/* Requests without a use; those that are Ready. */
	u16 free[MODEL_REQUESTS], ready[MODEL_REQUESTS];
	u32 nr_free, nr_ready;
	struct model_owner owner[MODEL_OWNERS];
	u32 nr_owners;		/* that live */
	u32 top_owner;		/* no higher one is in use */
	u32 nr[DXK_PLACES];
	u32 in_pool[DXK_LANES];
	u32 at_work[DXK_KINDS][DXK_LANES];
	u32 extra[DXK_KINDS];
	u32 reserved;		/* rejoinable ones that live */
	u64 births, deaths;
	/* Turns that ended with a wait. */
	u64 parks;
	/* Dispatches of those whose home had no workers. */
	u64 homeless;
	/* One has given up its key for who is about to come, and was never begun. */
	u32 displaced, displaced_share;
	u64 displaced_hold;
	const struct dxk_key *displaced_key;
	/* It follows at once upon the last one that it waited for; there was no room for it. */
	const struct model_request *eager;
	bool crowded;
	/* There was room for the one that becomes Ready. */
	bool room;
	u64 ticks;
	/* By kind and lane: the round it is at, and where each share is. */
	s64 level[DXK_KINDS][DXK_LANES], top[DXK_KINDS][DXK_LANES];
	struct model_round rounds[DXK_SHARES][DXK_KINDS][DXK_LANES];
	/* Moves of this run that thread 700 has made, and others. */
	u64 moves, others;
	/* Since when nobody can run, and what had been done by then. */
	u64 stuck_since, progress, progressed;
};

extern struct model model;

void model_reset(struct dxk_engine *e);
struct model_request *model_new(void);
void model_free(struct model_request *rq);
void model_tick(void);
void model_tenant(u32 share);
void model_rounds(void);
s64 model_rank(const struct model_request *rq);

struct model_owner *model_owner_of(const struct dxk_space *space, u64 cookie);
bool model_gone(const struct model_owner *o, u64 since);
bool model_pool_admits(const struct dxk_rqe *rqe, u32 share);
bool model_ripe_admits(const struct model_request *rq);
u32 model_unbegun(void);
u32 model_own(const struct dxk_space *space, u64 cookie, enum dxk_kind kind);
u32 model_queue(const struct dxk_rqe *rqe, u32 share);
int model_closed(enum dxk_kind kind, u32 lane);
bool model_inside(u32 member);
bool model_draining(void);
bool model_shut(u32 member);
void model_masks(const struct dxk_rqe *rqe, bool masked);
struct model_request *model_best(enum dxk_kind kind, bool extra, u32 home);

static inline struct model_request *model_of(const struct dxk_rqe *rqe)
{
	return &model.rq[rqe->param];
}

static inline u32 model_coming(const u32 *nr)
{
	return nr[DXK_AT_READY] + nr[DXK_AT_WORK] + nr[DXK_AT_WAIT];
}

static inline u32 model_live(const u32 *nr)
{
	return nr[DXK_AT_READY] + nr[DXK_AT_WORK] + nr[DXK_AT_REJOIN] + nr[DXK_AT_WAIT];
}

#endif /* _DXK_SIM_MODEL_H */
