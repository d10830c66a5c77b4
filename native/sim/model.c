// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The model, see model.h.
 */
#include "engine/cancel.h"
#include "engine/key.h"
#include "engine/more.h"

#include "actor.h"
#include "house.h"
#include "item.h"
#include "keys.h"
#include "model.h"
#include "sched.h"
#include "trace.h"

struct model model;

void model_reset(struct dxk_engine *e)
{
	u32 i;

	memset(&model, 0, offsetof(struct model, rq));
	memset(&model.nr_free, 0, sizeof(model.nr_free) + sizeof(model.nr_ready));
	memset(model.owner, 0, sizeof(model) - offsetof(struct model, owner));
	model.e = e;
	for (i = 0; i < MODEL_REQUESTS; i++) {
		model.free[i] = MODEL_REQUESTS - 1 - i;
		model.rq[i].state = DXK_FREE;
	}
	model.nr_free = MODEL_REQUESTS;
}

/** model_new - for a request that is to be made; its index is the parameter */
struct model_request *model_new(void)
{
	struct model_request *rq;

	if (!model.nr_free)
		return NULL;
	rq = &model.rq[model.free[--model.nr_free]];
	model.top_request = max(model.top_request, (u32)(rq - model.rq) + 1);
	*rq = (struct model_request) { .state = DXK_POSTED };
	return rq;
}

/** model_free - the request is dropped */
void model_free(struct model_request *rq)
{
	bool uncollected = rq->state == DXK_REJOIN && !house.started;

	if (rq->state != DXK_POSTED && rq->state != DXK_FREE && !uncollected)
		sim_fail("a request is dropped in state %u", rq->state);
	model.free[model.nr_free++] = rq - model.rq;
}

/* --- owners ----------------------------------------------------------------- */

struct model_owner *model_owner_of(const struct dxk_space *space, u64 cookie)
{
	u32 i;

	for (i = 0; i < model.top_owner; i++)
		if (model.owner[i].space == space && model.owner[i].cookie == cookie)
			return &model.owner[i];
	return NULL;
}

/* The owner's record, kept from the first time on: it tells what was in this hold. */
static struct model_owner *owner_enter(const struct dxk_space *space, u64 cookie)
{
	struct model_owner *o = model_owner_of(space, cookie);
	u32 i;

	if (o)
		return o;
	for (i = 0; i < MODEL_OWNERS; i++) {
		o = &model.owner[i];
		if (!o->space || (!model_live(o->nr) && o->hold != model.holds))
			break;
	}
	if (i == MODEL_OWNERS)
		sim_fail("too many owners for the model");
	if (i >= model.top_owner)
		model.top_owner = i + 1;
	*o = (struct model_owner) {
		.space = space, .cookie = cookie, .gone = model.holds, .idle = model.holds,
	};
	return o;
}

static void owner_touch(struct model_owner *o)
{
	o->hold = model.holds;
	if (!model_live(o->nr))
		o->gone = model.holds;
	if (!model_coming(o->nr))
		o->idle = model.holds;
	if (o->nr[DXK_AT_REJOIN])
		o->rich = model.holds;
}

/** model_gone - has nothing of the owner lived at some instant since that hold? */
bool model_gone(const struct model_owner *o, u64 since)
{
	return !o || !model_live(o->nr) || o->gone > since;
}

/* --- limits ----------------------------------------------------------------- */

/* Percent of n that a lane owns: rounded down, but one if it is on. */
static u32 quota(u32 n, u32 pct)
{
	if (!pct)
		return 0;
	return (u64)n * pct < 100 ? 1 : (u64)n * pct / 100;
}

/*
 * May one more of a lane hold one of n, when so many of each lane hold one? Lanes 0..k
 * together own what their percents say. @more come with threads of their own.
 */
static bool admits(const u32 *used, u32 lane, u32 n, u32 more)
{
	const struct dxk_policy *p = &model.e->policy;
	u32 sum = 1, own = 0, k;

	for (k = 0; k < DXK_LANES; k++) {
		sum += used[k];
		own += k < 3 ? quota(n, p->lane_pct[k]) : 0;
		if (k >= lane && k < 3 && sum > min(own, n))
			return false;
	}
	return sum <= n + more;
}

static bool cmls(void)
{
	return model.e->policy.sched_mode & TPOOL_MODE_CMLS;
}

/** model_closed - 0, or why the policy has no worker for what is of a kind and a lane */
int model_closed(enum dxk_kind kind, u32 lane)
{
	const struct dxk_policy *p = &model.e->policy;
	u32 pct = 0, l;

	if (!(kind == DXK_KERNEL ? p->kernel_threads : p->max_threads - p->kernel_threads))
		return -ENODEV;
	if (!cmls() || lane == DXK_LANES - 1)
		return 0;
	for (l = 0; l <= lane; l++)
		pct += p->lane_pct[l];
	return pct ? 0 : -EPERM;
}

/* What a user has, and may have of that and what is free. */
static bool share_allows(u32 share, u32 has, u32 all, u32 used)
{
	u32 pct = model.e->shares.of[share].is_space ? 100 : model.e->policy.user_share;

	return pct == 100 || (used < all && has * 100ULL < (u64)pct * (has + all - used));
}

/* Was it posted waiting, or to a key that is not free, and had it to wait? */
static bool begins_waiting(const struct dxk_rqe *rqe)
{
	return (rqe->attrs & PXR_WAIT && !rqe->more->wake) ||
	       (rqe->attrs & PXR_KEY && rqe->more->behind);
}

/* Or does it stand for room, what else it has to wait for? */
static bool needs_room(const struct dxk_rqe *rqe)
{
	return !begins_waiting(rqe) || rqe->more->stands;
}

/* Has no worker ever had it? */
static bool waits_unbegun(const struct model_request *rq)
{
	return rq->state == DXK_WAITING && !rq->turn && !rq->attempts;
}

/** model_unbegun - how many were posted waiting, and do, or are Held? And keys held back */
u32 model_unbegun(void)
{
	u32 i, nr = model_holds();

	for (i = 0; i < model.top_request; i++)
		nr += waits_unbegun(&model.rq[i]);
	return nr;
}

static bool share_admits(const struct dxk_rqe *rqe, u32 share)
{
	const struct dxk_policy *p = &model.e->policy;
	u32 most = model.e->shares.of[share].most_ready;
	u32 live = 0, ready = 0, reserved = 0, waiting = model_holds_of(share), i;

	for (i = 0; i < model.top_request; i++) {
		const struct model_request *rq = &model.rq[i];

		if (rq->state == DXK_FREE || rq->state == DXK_POSTED || rq->rqe->share != share)
			continue;
		live++;
		ready += rq->state == DXK_READY;
		waiting += waits_unbegun(rq);
		reserved += rq->rejoin;
	}
	if (!share_allows(share, live, p->max_requests, model_live(model.nr)) ||
	    (begins_waiting(rqe) &&
	     !share_allows(share, waiting - (model.displaced_share == share ? model.displaced : 0),
			    p->max_waiting,
			    model_unbegun() - model.displaced)) ||
	    (needs_room(rqe) &&
	     (!share_allows(share, ready, p->ready_entries, model.nr[DXK_AT_READY]) ||
	      (most && ready >= most))))
		return false;
	if (p->rejoin_full == DXK_REJOIN_GROW || !(rqe->attrs & PXR_REJOIN) ||
	    model.e->state != DXK_CTX_RUNNING)
		return true;
	return share_allows(share, reserved, p->rejoin_entries,
			    p->rejoin_full == DXK_REJOIN_RESERVE ? model.reserved : reserved);
}

/* Is there room for one of a lane? */
static bool lane_admits(u32 lane)
{
	const struct dxk_policy *p = &model.e->policy;

	return model.nr[DXK_AT_READY] < p->ready_entries &&
	       (!cmls() || admits(model.in_pool, lane, p->ready_entries, 0));
}

/** model_ripe_admits - may one that was posted waiting, and waits for nothing else, be Ready? */
bool model_ripe_admits(const struct model_request *rq)
{
	u32 share = rq->rqe->share, most = model.e->shares.of[share].most_ready, ready = 0, i;

	if (!lane_admits(rq->lane))
		return false;
	for (i = 0; i < model.nr_ready; i++)
		ready += model.rq[model.ready[i]].rqe->share == share;
	return !share || (share_allows(share, ready, model.e->policy.ready_entries,
				       model.nr[DXK_AT_READY]) && !(most && ready >= most));
}

/** model_pool_admits - has the Ready Pool room for the request, of the user of a share? */
bool model_pool_admits(const struct dxk_rqe *rqe, u32 share)
{
	const struct dxk_policy *p = &model.e->policy;

	if (model_closed(rqe->kind, rqe->lane) || model_live(model.nr) >= p->max_requests)
		return false;
	if ((begins_waiting(rqe) && model_unbegun() - model.displaced >= p->max_waiting) ||
	    (needs_room(rqe) && !lane_admits(rqe->lane)))
		return false;
	if (p->rejoin_full == DXK_REJOIN_RESERVE && rqe->attrs & PXR_REJOIN &&
	    model.e->state == DXK_CTX_RUNNING && model.reserved >= p->rejoin_entries)
		return false;
	return !share || share_admits(rqe, share);
}

/** model_inside - does one of all requests execute there? */
bool model_inside(u32 member)
{
	u32 i;

	for (i = 0; i < model.top_request; i++) {
		const struct model_request *rq = &model.rq[i];

		if ((rq->state == DXK_DISPATCHED || rq->state == DXK_BUSY) &&
		    rq->rqe->worker == member)
			return true;
	}
	return false;
}

bool model_draining(void)
{
	return model.e->state == DXK_CTX_STOPPING && !model.e->cancelling;
}

/** model_shut - are its posts refused? */
bool model_shut(u32 member)
{
	return model.e->state != DXK_CTX_RUNNING &&
	       !(model_draining() && model_inside(member));
}

/* --- rounds ------------------------------------------------------------------ */

/** model_tenant - a share is another one's, who has had nothing of any round */
void model_tenant(u32 share)
{
	memset(model.rounds[share], 0, sizeof(model.rounds[share]));
}

/** model_rounds - a run begins, and with it the first round */
void model_rounds(void)
{
	memset(model.level, 0, sizeof(model.level));
	memset(model.top, 0, sizeof(model.top));
	memset(model.rounds, 0, sizeof(model.rounds));
}

static bool rounds_are(void)
{
	return model.e->ready.fair;
}

/** model_rank - its priority, and what it is behind or ahead of its lane */
s64 model_rank(const struct model_request *rq)
{
	return rounds_are() ? rq->prio - (rq->round - model.level[rq->kind][rq->lane]) : rq->prio;
}

/* It becomes Ready: of the round that its tenant is at, or of that of its lane. */
static void round_enter(struct model_request *rq, const struct dxk_rqe *rqe)
{
	struct model_round *r = &model.rounds[rqe->share][rq->kind][rq->lane];
	s64 level = model.level[rq->kind][rq->lane];
	u32 weight = model.e->shares.of[rqe->share].weight ?: model.e->policy.space_weight;

	if (!rounds_are() || model.e->cancelling)
		return;
	if (r->had == weight || !r->nr)
		*r = (struct model_round) { .nr = r->nr + 1 };
	if (r->nr < level)
		*r = (struct model_round) { .nr = level };
	r->had++;
	rq->round = r->nr;
	if (r->nr > model.top[rq->kind][rq->lane])
		model.top[rq->kind][rq->lane] = r->nr;
}

/* It is dispatched: no lane is at a round that is below what is served there in its turn. */
static void round_serve(const struct model_request *rq)
{
	s64 *level = &model.level[rq->kind][rq->lane];
	s64 least = rq->round - (rq->prio > 0 ? rq->prio : 0);
	bool last = true, early = false;
	u32 i;

	for (i = 0; i < model.nr_ready; i++) {
		const struct model_request *other = &model.rq[model.ready[i]];

		if (other == rq || other->kind != rq->kind || other->lane != rq->lane)
			continue;
		last = false;
		early |= model_rank(other) > model_rank(rq);
	}
	/* when it is the last one they are all over */
	if (last)
		least = model.top[rq->kind][rq->lane];
	if (rounds_are() && !early && *level < least)
		*level = least;
}

static bool better(const struct model_request *a, const struct model_request *b)
{
	s64 x = model_rank(a), y = model_rank(b);

	return x != y ? x > y : a->born < b->born;
}

/* In which home's queue is it? 0: in none. */
static u32 home_of(const struct model_request *rq)
{
	u32 slot = rq->rqe->slot;

	return slot < DXK_SLOT_HOME || slot == DXK_SLOT_LAST ? 0 :
	       1 + (slot - DXK_SLOT_HOME) / DXK_HOME_SLOTS;
}

/* May a worker of a home, or of none, take it? @others: what is of other homes, too */
static bool is_for(const struct model_request *rq, u32 home, bool others)
{
	u32 at = home_of(rq);

	return others ? at : !at || at == home;
}

static struct model_request *best_of(enum dxk_kind kind, bool extra, u32 home, bool others)
{
	u32 workers = cmls() ? actors_workers(kind) : 0;
	struct model_request *best = NULL;
	bool open[DXK_LANES];
	u32 lane, i;

	for (lane = 0; lane < DXK_LANES; lane++)
		open[lane] = !cmls() || admits(model.at_work[kind], lane, workers,
					       model.extra[kind] + extra);
	for (i = 0; i < model.nr_ready; i++) {
		struct model_request *rq = &model.rq[model.ready[i]];

		if (rq->kind == kind && open[rq->lane] && is_for(rq, home, others) &&
		    (!best || better(rq, best)))
			best = rq;
	}
	return best;
}

/**
 * model_best - the request that a worker of a kind and a home should get
 * @kind: of the worker
 * @extra: it brings a thread
 * @home: its home, or 0
 */
struct model_request *model_best(enum dxk_kind kind, bool extra, u32 home)
{
	struct model_request *best = best_of(kind, extra, extra ? 0 : home, false);

	return best || !(extra || (home && model.e->policy.steal)) ? best :
	       best_of(kind, extra, 0, true);
}

/**
 * model_own - how many of an owner's Ready requests could a helper of the kind execute?
 * @space: of the owner
 * @cookie: the owner
 * @kind: of the helper
 */
u32 model_own(const struct dxk_space *space, u64 cookie, enum dxk_kind kind)
{
	u32 workers = cmls() ? actors_workers(kind) : 0, nr = 0, i;

	for (i = 0; i < model.nr_ready; i++) {
		const struct model_request *rq = &model.rq[model.ready[i]];

		if (rq->kind != kind || rq->owner->space != space || rq->owner->cookie != cookie)
			continue;
		nr += !cmls() || admits(model.at_work[kind], rq->lane, workers,
					model.extra[kind] + 1);
	}
	return nr;
}

/* One that helps only whom it waits for. */
static bool helps_own(const struct actor *a, const struct dxk_rqe *rqe)
{
	return model.e->owns.own && rqe->extra && a && !a->m.spare &&
	       !(rqe->more && rqe->more->at_key == DXK_KEY_NESTED);
}

static void check_own(const struct actor *a, const struct dxk_rqe *rqe)
{
	if (!a->rejoin || a->rejoin->any || a->rejoin->cookie != rqe->cookie ||
	    a->m.space != rqe->owner->space)
		sim_fail("%u helps with %u, and does not wait for that", a->m.id, (u32)rqe->param);
	if (cmls() && !admits(model.at_work[a->m.kind], rqe->lane, actors_workers(a->m.kind),
			      model.extra[a->m.kind] + 1))
		sim_fail("%u helps with %u, whose lane is full", a->m.id, (u32)rqe->param);
}

/** model_tick - an interval passes: every request is visited */
void model_tick(void)
{
	const struct dxk_policy *p = &model.e->policy;
	bool age = p->prio_policy & PRIO_POLICY_AGERQS;
	bool boost = p->prio_policy & PRIO_POLICY_BOOST;
	u32 i;

	for (i = 0; i < model.top_request; i++) {
		struct model_request *rq = &model.rq[i];

		/* One that was taken may come back as if it had never left. */
		if (rq->state != DXK_READY && rq->state != DXK_DISPATCHED && !rq->held)
			continue;
		rq->seen++;
		rq->plain += age;
		if (age)
			rq->prio += 1 + (boost && rq->boost && rq->rqe->slot != DXK_SLOT_LAST ? p->boost_value : 0);
	}
}

/** model_queue - where who posts a request waits for room, beside others of a lane or a user */
u32 model_queue(const struct dxk_rqe *rqe, u32 share)
{
	return share && (model.e->policy.user_share < 100 || model.e->shares.of[share].most_ready) ?
	       DXK_LANES + share : rqe->lane;
}

/* --- the moves -------------------------------------------------------------- */

static const u8 place[DXK_STATES] = {
	[DXK_FREE] = DXK_NOWHERE,
	[DXK_POSTED] = DXK_NOWHERE,
	[DXK_READY] = DXK_AT_READY,
	[DXK_DISPATCHED] = DXK_AT_WORK,
	[DXK_BUSY] = DXK_AT_WORK,
	[DXK_REJOIN] = DXK_AT_REJOIN,
	[DXK_CANCELLED] = DXK_NOWHERE,
	[DXK_WAITING] = DXK_AT_WAIT,
};

static void ready_enter(struct model_request *rq)
{
	rq->ready = model.nr_ready;
	model.ready[model.nr_ready++] = rq - model.rq;
}

static void ready_leave(struct model_request *rq)
{
	u16 last = model.ready[--model.nr_ready];

	model.rq[last].ready = rq->ready;
	model.ready[rq->ready] = last;
}

static void count(struct model_request *rq, u8 where, s32 by)
{
	model.nr[where] += by;
	rq->owner->nr[where] += by;
	if (where == DXK_AT_READY)
		model.in_pool[rq->lane] += by;
	else if (where == DXK_AT_WORK)
		model.at_work[rq->kind][rq->lane] += by;
	if (where == DXK_AT_WORK && rq->extra)
		model.extra[rq->kind] += by;
}

static void check_posted(struct model_request *rq, struct dxk_rqe *rqe)
{
	rqe->status = 0;
	*rq = (struct model_request) {
		.rqe = rqe, .state = DXK_POSTED,
		.prio = rqe->prio, .taken_prio = rqe->prio,
		.kind = rqe->kind, .lane = rqe->lane, .born = model.births++,
		.boost = rqe->attrs & PXR_BOOST, .rejoin = rqe->attrs & PXR_REJOIN,
		.redo = rqe->attrs & PXR_REDO,
		.owner = owner_enter(rqe->owner->space, rqe->cookie),
	};
	if (!model_pool_admits(rqe, rqe->share))
		sim_fail("a post of lane %u enters without room", rqe->lane);
	if (rqe->attrs & PXR_KEY && rqe->more->behind == model_key_is_free(rqe))
		sim_fail("a post finds its key free: %d", !rqe->more->behind);
	rq->plain = rqe->prio;
	rq->came = model.births++;
	if (rqe->prio != rqe->own_prio || rqe->attempts || rqe->ticket)
		sim_fail("what is posted is marked by an earlier run");
	model.reserved += rq->rejoin;
}

/* The next one of a key comes before others that are as urgent, not too often in a row. */
static bool is_preferred(const struct model_request *rq, const struct dxk_rqe *rqe,
			 const struct model_request *best)
{
	const struct dxk_key *key = rqe->more ? rqe->more->key : NULL;

	return key && key->run && key->run < model.e->policy.key_batch && best &&
	       model_rank(rq) == model_rank(best);
}

static void check_dispatched(struct model_request *rq, const struct dxk_rqe *rqe)
{
	const struct actor *a = actor_by_id(rqe->worker);
	const struct model_request *best = model_best(rq->kind, rqe->extra, a ? a->m.home : 0);

	if (rqe->more && rqe->more->at_key == DXK_KEY_NESTED)
		check_nested(rq, rqe);
	else if (model.eager == rq)
		;
	else if (helps_own(a, rqe))
		check_own(a, rqe);
	else if (model.e->cancelling ? rqe->slot != DXK_SLOT_LAST :
		 best != rq && !is_preferred(rq, rqe, best))
		sim_fail("dispatched is %u of lane %u and priority %lld, not %d of lane %d and priority %lld",
			 (u32)rqe->param, rq->lane, rq->prio,
			 best ? (int)(best - model.rq) : -1, best ? best->lane : -1,
			 best ? best->prio : 0);
	if (!a || a->m.role != DXK_ROLE_WORKER || a->m.kind != rq->kind || !a->m.attached)
		sim_fail("dispatched to %u, who is no worker of the kind", rqe->worker);
	if (rqe->prio != clamp_t(s64, rq->prio, S32_MIN, S32_MAX) || rqe->inspect != rq->seen)
		sim_fail("dispatched with priority %d, %u intervals instead of %lld, %llu",
			 rqe->prio, rqe->inspect, rq->prio, rq->seen);
	model.homeless += rqe->more && rqe->more->home &&
			  !actors_at_home(rq->kind, rqe->more->home);
	round_serve(rq);
	rq->taken_prio = rqe->prio;
	rq->taken_seen = rq->seen;
	rq->attempts++;
	if (rqe->attempts != rq->attempts)
		sim_fail("attempt %u is told as %u", rq->attempts, rqe->attempts);
	rq->extra = rqe->extra;
	rq->helped = rq->extra && !a->m.spare;
	/* One that is left over from a run with another policy may help, and each may nest. */
	if (rq->extra && a->m.spare && !(rqe->more && rqe->more->at_key == DXK_KEY_NESTED) && model.e->policy.on_block == DXK_ON_BLOCK_SPARE &&
	    actors_asleep(rq->kind) <= model.extra[rq->kind])
		sim_fail("more spares run than workers sleep");
}

static bool awaited(const struct model_request *rq)
{
	return rq->rejoin && !rq->owner->space->closed;
}

/* May it be begun again when its worker has died? */
static bool may_redo(const struct model_request *rq)
{
	return rq->redo && rq->attempts < model.e->policy.redo_max && !model.e->cancelling &&
	       !model_closed(rq->kind, rq->lane) &&
	       (rq->turn || !dxk_rqe_doomed(rq->rqe)) &&
	       (model.e->state == DXK_CTX_RUNNING || model.e->state == DXK_CTX_STOPPING);
}

/* May it have been cancelled? It may have a name or a key; nobody is left who could call it. */
static bool may_cancel(const struct model_request *rq, const struct dxk_rqe *rqe)
{
	return model.e->cancelling || rqe->attrs & (PXR_NAMED | PXR_KEY) || rq->owner->space->closed ||
	       rqe->owner->doom || item_is_held(rqe);
}

/* Was there, since it waits, what ends its wait? */
static void check_woken(const struct model_request *rq, const struct dxk_rqe *rqe)
{
	const struct dxk_more *more = rqe->more;
	const struct dxk_wait *wait = &more->wait;
	const struct model_owner *o = model_owner_of(rq->owner->space, wait->owner);
	bool is = false;

	switch (more->wake) {
	case DXK_WAKE_TIME:
		is = wait->wait & DXK_WAIT_TIME && wait->deadline <= sim_now;
		break;
	case DXK_WAKE_CALL:
		is = wait->wait & DXK_WAIT_CALL && more->named;
		break;
	case DXK_WAKE_FILE:
		is = wait->wait & DXK_WAIT_FILE && more->watch;
		break;
	case DXK_WAKE_RESULT:
		is = wait->wait & DXK_WAIT_RESULT &&
		     (!o || !model_coming(o->nr) || o->idle >= rq->parked ||
		      o->nr[DXK_AT_REJOIN] || o->rich >= rq->parked);
		break;
	case DXK_WAKE_JOIN:
		is = wait->wait & DXK_WAIT_JOIN &&
		     (!o || !model_coming(o->nr) || o->idle >= rq->parked);
		break;
	case DXK_WAKE_AGAIN:
		is = wait->wait & DXK_WAIT_AGAIN;
		break;
	case DXK_WAKE_CANCEL:
		is = (model.e->cancelling || more->cancelled) &&
		     !(wait->wait & DXK_WAIT_MASKED);
		break;
	case DXK_WAKE_EXPIRE:
		is = more->expire == DXK_FOREVER && rqe->attrs & PXR_EXPIRE &&
		     !(wait->wait & DXK_WAIT_MASKED);
		break;
	case DXK_WAKE_STOP:
		is = !rqe->lane && model.e->state >= DXK_CTX_STOPPING &&
		     !(wait->wait & DXK_WAIT_MASKED);
		break;
	case DXK_WAKE_DEADLOCK:
		is = wait->wait & (DXK_WAIT_JOIN | DXK_WAIT_RESULT);
		break;
	}
	if (!is)
		sim_fail("request %u is woken for reason %u, and waits for %x", (u32)rqe->param,
			 more->wake, wait->wait);
}

/* It was Held, and has its key now: the first of all, or nested in who has it. */
static void check_has_key(struct model_request *rq, const struct dxk_rqe *rqe)
{
	if (rqe->more->at_key != DXK_KEY_NESTED && !model_key_is_next(rq))
		sim_fail("request %u has its key before others", (u32)rqe->param);
	if (model.e->cancelling && !rq->turn && !rq->attempts)
		sim_fail("one that is Held becomes Ready in a Stop that cancels");
	rq->held = false;
	if (rqe->more->at_key == DXK_KEY_NESTED) {
		rq->plain = model_is_deferred(rq) ? rqe->own_prio : rq->plain;
	} else if (model_is_deferred(rq) || model.e->cancelling) {
		rq->plain = rqe->own_prio;
		rq->seen = 0;
	}
	rq->prio = rq->plain;
	rq->taken_prio = rqe->prio;
	rq->taken_seen = 0;
	rq->born = model.births++;
}

/* It is Ready for a further turn, or for the first after a wait. */
static void check_turned(struct model_request *rq, const struct dxk_rqe *rqe, u8 from)
{
	bool begun = rq->turn || from == DXK_BUSY || rq->held;

	rq->turn += from == DXK_BUSY;
	if (rq->held) {
		check_has_key(rq, rqe);
		return;
	}
	check_woken(rq, rqe);
	if (rqe->more->turn != rq->turn || rqe->attempts || rqe->prio != rqe->own_prio)
		sim_fail("turn %u is told as %u", rq->turn, rqe->more->turn);
	if (from == DXK_WAITING && rqe->more->wake == DXK_WAKE_JOIN &&
	    rqe->more->wait.wait & DXK_WAIT_EAGER)
		model.eager = rq;
	model.crowded = !begun && !model.room;
	if (!begun && (model.e->cancelling || (model.crowded && !model.eager)))
		sim_fail("one that was posted waiting finds no room, and enters");
	rq->parks = false;
	rq->attempts = 0;
	rq->prio = rq->taken_prio = rqe->prio;
	rq->plain = rqe->prio;
	rq->seen = rq->taken_seen = 0;
	rq->born = rq->came = model.births++;
}

static void check_ended(struct model_request *rq, const struct dxk_rqe *rqe, u8 from, u8 to)
{
	const struct dxk_policy *p = &model.e->policy;
	bool dead = from == DXK_BUSY && !rq->completed;

	if (to != (awaited(rq) ? DXK_REJOIN : DXK_FREE))
		sim_fail("a request ends in state %u", to);
	if (from == DXK_CANCELLED && (!rqe->status ||
	    (rqe->status != model_closed(rq->kind, rq->lane) &&
	     !(rqe->status == -ECANCELED && may_cancel(rq, rqe)) &&
	     !(rqe->status == -ETIME && rqe->attrs & PXR_EXPIRE))))
		sim_fail("cancelled with status %d", rqe->status);
	if (from == DXK_BUSY && rq->parks && rqe->status == (rq->owner->space->closed ||
	    (model.e->cancelling && !dxk_has_crew(model.e, rq->kind)) ?
	    -ECANCELED : model_closed(rq->kind, rq->lane)))
		dead = false;
	if (dead && (rqe->status != -EOWNERDEAD || may_redo(rq)))
		sim_fail("ended by the death of its worker, with status %d", rqe->status);
	/* One that a helper has may be what makes room. */
	if (from == DXK_BUSY && !dead && to == DXK_REJOIN && !rq->helped && !rq->parks &&
	    p->rejoin_full == DXK_REJOIN_BLOCK_WORKER &&
	    model.e->state == DXK_CTX_RUNNING && model.nr[DXK_AT_REJOIN] > p->rejoin_entries)
		sim_fail("a worker completes into a full Rejoin Pool");
	rq->done = model.births++;
	rq->status = rqe->status;
}

/** model_masks - the turn of a request ends with a wait, which a cancel ends or does not */
void model_masks(const struct dxk_rqe *rqe, bool masked)
{
	model_of(rqe)->masked = masked;
}

/** model_move - the engine makes a move; the counts are still those before it */
void model_move(struct dxk_rqe *rqe, u8 from, u8 to)
{
	struct model_request *rq = model_of(rqe);
	bool parks = from == DXK_BUSY && rq->parks;

	if (model.eager && (model.eager != rq || to != DXK_DISPATCHED)) {
		if (model.crowded)
			sim_fail("one that was to follow at once finds no room, and waits in it");
		model.eager = NULL;
	}
	if (rq->state != from || (from != DXK_POSTED && rq->rqe != rqe))
		sim_fail("request %u goes from state %u to %u, but is in %u",
			 (u32)rqe->param, from, to, rq->state);
	if (model.displaced_hold != model.holds)
		model.displaced = 0;
	if (from == DXK_POSTED)
		check_posted(rq, rqe);
	if (from == DXK_WAITING && to == DXK_READY)
		model.room = model_ripe_admits(rq);
	owner_touch(rq->owner);
	if (sim_self == house.control[DXK_DISPATCHER].task)
		model.moves++;
	else
		model.others++;
	if (from == DXK_READY)
		ready_leave(rq);
	if (to == DXK_DISPATCHED) {
		ready_enter(rq);	/* for the scan */
		check_dispatched(rq, rqe);
		model.eager = NULL;
		ready_leave(rq);
	}
	/* A helper or spare has it no more before it moves on. */
	if (place[from] == DXK_AT_WORK && rq->extra && !rqe->extra) {
		model.extra[rq->kind]--;
		rq->extra = false;
	}
	if (place[from] != place[to]) {
		if (place[from] != DXK_NOWHERE)
			count(rq, place[from], -1);
		if (place[to] != DXK_NOWHERE)
			count(rq, place[to], 1);
	}
	if (from == DXK_DISPATCHED && to == DXK_READY) {
		rq->attempts--;
	} else if (from == DXK_READY && to == DXK_WAITING) {
		rq->yields = true;
		model.displaced = !rq->turn && !rq->attempts;
		model.displaced_share = rqe->share;
		model.displaced_hold = model.holds;
		model.displaced_key = rqe->more->key;
	} else if (from == DXK_BUSY && to == DXK_WAITING && !rq->parks) {
		if (rq->completed || !may_redo(rq) || !rqe->more->key)
			sim_fail("a request waits, and its worker did not say so");
	} else if (from == DXK_WAITING && to == DXK_READY) {
		check_turned(rq, rqe, from);
	} else if (from == DXK_BUSY && to == DXK_READY && rq->parks) {
		rq->parked = model.holds;
		model.parks++;
		check_turned(rq, rqe, from);
	} else if (from == DXK_BUSY && to == DXK_WAITING) {
		rq->parked = model.holds;
		model.parks++;
		rq->parks = false;
		rq->turn++;
		rq->attempts = 0;
	} else if (from == DXK_POSTED && to == DXK_WAITING) {
		rq->parked = model.holds;
	} else if (from == DXK_BUSY && to == DXK_READY) {
		if (rq->completed || !may_redo(rq))
			sim_fail("a request is begun again, %u times", rq->attempts);
		rq->prio = rq->taken_prio;
		rq->plain = rq->taken_prio;
		rq->seen = rq->taken_seen;
		/* It had given up its key, and has taken it anew. */
		if (rqe->more && rqe->more->arrival != rq->arrival)
			rq->came = model.births++;
		rq->round = model.level[rq->kind][rq->lane];
	} else if (from == DXK_BUSY || from == DXK_CANCELLED) {
		check_ended(rq, rqe, from, to);
	}
	if (to == DXK_READY && (from == DXK_POSTED || from == DXK_WAITING || parks))
		round_enter(rq, rqe);
	if (to == DXK_READY) {
		ready_enter(rq);
		model.displaced = 0;
	}
	if (to == DXK_FREE && from != DXK_POSTED) {
		model.reserved -= rq->rejoin;
		model.deaths++;
	}
	if (to == DXK_CANCELLED)
		rq->held = false;
	if (!model_live(rq->owner->nr) && to != DXK_CANCELLED)
		rq->owner->gone = model.holds;
	if (!model_coming(rq->owner->nr))
		rq->owner->idle = model.holds;
	if (rq->owner->nr[DXK_AT_REJOIN])
		rq->owner->rich = model.holds;
	rq->state = to;
	rq->arrival = rqe->more ? rqe->more->arrival : 0;
	/* What stood in for an item is no object that anybody drops. */
	if (to == DXK_FREE && rqe->embedded == DXK_PROXY)
		model_free(rq);
}

/** model_post - a post was taken */
void model_post(const struct dxk_rqe *rqe, u32 member)
{
	const struct actor *a, *poster = actor_by_id(member);
	u32 i;

	/* DX-107: from outside none, from inside while it drains */
	if (model_shut(member))
		sim_fail("%u posts in state %u", member, model.e->state);
	/* It needs no room yet, or has that of one that it has displaced. */
	if (model_of(rqe)->state == DXK_WAITING || begins_waiting(rqe))
		return;
	u32 queue = model_queue(rqe, rqe->share);

	/* DX-45: nobody of the lane, or of the user, came before who sleeps still. */
	for (i = 0; i < actors.nr; i++) {
		a = &actors.actor[i];
		if (a != poster && a->post && actor_queued(&a->post->w) &&
		    !model_shut(a->m.id) && a->sleep_queue == queue &&
		    (!poster || !poster->post || !actor_queued(&poster->post->w) ||
		     poster->sleep_queue != queue || a->slept < poster->slept))
			sim_fail("%s posts to lane %u before %s, who came first",
				 poster ? poster->task->name : "?", rqe->lane,
				 a->task->name);
	}
}

/** model_collect - a request is with its collector */
void model_collect(const struct dxk_rqe *rqe, u32 member)
{
	const struct model_request *rq = model_of(rqe);
	const struct actor *a = actor_by_id(member);

	if (rq->rqe != rqe || rq->state != DXK_REJOIN)
		sim_fail("collected in state %u", rq->state);
	if (!a || a->m.space != rq->owner->space)
		sim_fail("collected by a stranger");
	if (rqe->status != rq->status || rqe->prio != rq->taken_prio ||
	    rqe->inspect != rq->taken_seen || rqe->attempts != rq->attempts)
		sim_fail("result %u has changed: status %d, %d, priority %d, %lld, intervals %u, %llu, attempts %u, %u",
			 (u32)rqe->param, rqe->status, rq->status, rqe->prio, rq->taken_prio,
			 rqe->inspect, rq->taken_seen, rqe->attempts, rq->attempts);
}

/** model_block - a member falls asleep */
void model_block(u32 member, u8 state)
{
	struct actor *a = actor_by_id(member);

	if (!a || state != DXK_M_POSTING)
		return;
	a->slept = model.births++;
	a->sleep_queue = model_queue(list_first_entry(&a->post->rqes, struct dxk_rqe, link),
				     a->m.share);
}
