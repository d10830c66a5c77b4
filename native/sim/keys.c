// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Keys and circles of waits, see keys.h.
 */
#include "engine/circle.h"
#include "engine/key.h"
#include "engine/key_call.h"
#include "engine/more.h"

#include "actor.h"
#include "house.h"
#include "keys.h"

/* --- who has a key ---------------------------------------------------------------- */

static bool lives(const struct model_request *rq)
{
	return rq->state != DXK_FREE && rq->state != DXK_POSTED && rq->state != DXK_REJOIN;
}

static const struct dxk_key *key_of(const struct model_request *rq)
{
	return lives(rq) && rq->rqe->more ? rq->rqe->more->key : NULL;
}

static u8 at_key(const struct model_request *rq)
{
	return rq->rqe->more->at_key;
}

/**
 * model_key_is_free - would nobody but the request itself stand before it?
 *
 * Those that the policy has closed end without the key, and nobody else has it before. One that has
 * just given it up to the request still had it when that came.
 */
bool model_key_is_free(const struct dxk_rqe *rqe)
{
	const struct dxk_key *key = rqe->more->key;
	bool held = false, closed = false;
	u32 i;

	if (!key)
		return true;
	if (model.displaced_key == key && model.displaced_hold == model.holds)
		return false;
	for (i = 0; i < model.top_request; i++) {
		const struct model_request *rq = &model.rq[i];

		if (rq->rqe == rqe || key_of(rq) != key)
			continue;
		if (at_key(rq) == DXK_KEY_HELD) {
			held = true;
			closed |= !!model_closed(rq->kind, rq->lane);
		} else if (at_key(rq) != DXK_KEY_OUT && at_key(rq) != DXK_KEY_WAITS) {
			return false;
		}
	}
	return !key->suspended && (!held || closed);
}

/** model_is_deferred - has it been cancelled with all that wait for its key? It comes last */
bool model_is_deferred(const struct model_request *rq)
{
	if (rq->rqe->more->rank != S64_MIN)
		return false;
	if (!rq->rqe->more->cancelled)
		sim_fail("request %u comes last, and is not cancelled", (u32)(rq - model.rq));
	return true;
}

static bool comes_before(const struct model_request *a, const struct model_request *b)
{
	bool last_a = model_is_deferred(a), last_b = model_is_deferred(b);

	if (last_a != last_b)
		return last_b;
	return a->plain != b->plain && !last_a ? a->plain > b->plain : a->came < b->came;
}

/** model_key_is_next - does it come before all others that are Held? */
bool model_key_is_next(const struct model_request *rq)
{
	const struct dxk_key *key = rq->rqe->more->key;
	u32 i;

	for (i = 0; i < model.top_request; i++) {
		const struct model_request *other = &model.rq[i];

		if (other != rq && key_of(other) == key && other->held &&
		    comes_before(other, rq))
			return false;
	}
	return true;
}

/** model_holds - how many keys are held back */
u32 model_holds(void)
{
	return list_length(&model.e->waits.holds);
}

/** model_holds_of - and those that count as the share's */
u32 model_holds_of(u32 share)
{
	const struct dxk_key *key;
	u32 nr = 0;

	list_for_each_entry(key, &model.e->waits.holds, hold)
		nr += key->share == share;
	return nr;
}

/** model_held - a request has to wait for its key */
void model_held(const struct dxk_rqe *rqe)
{
	struct model_request *rq = model_of(rqe);

	if (rq->state != DXK_WAITING || rq->held)
		sim_fail("request %u is Held in state %u", (u32)rqe->param, rq->state);
	rq->held = true;
	rq->taken_prio = rqe->own_prio;
	rq->taken_seen = 0;
	/* Who had the key and gives it up again came when it came. */
	if (rq->yields) {
		rq->yields = false;
		return;
	}
	rq->came = model.births++;
	rq->plain = rqe->own_prio;
	rq->seen = 0;
}

/** check_nested - a request is given to who waits for it, within the one that has its key */
void check_nested(const struct model_request *rq, const struct dxk_rqe *rqe)
{
	const struct actor *a = actor_by_id(rqe->worker);

	if (!a->rejoin || !a->rejoin->nest || list_empty(&a->m.busy))
		sim_fail("%u is given a nested request, and did not ask", rqe->worker);
	if (rqe->more->reentry == DXK_REENTRY_NONE)
		sim_fail("a request is nested that must not be");
}

struct tally {
	u32 users, has, held, nested;
	const struct model_request *turn, *first;
	bool doomed;
};

/* Nobody makes it Ready: somebody is about to end it. */
static bool is_to_end(const struct model_request *rq)
{
	return (model.e->cancelling && !rq->turn && !rq->attempts) ||
	       model_closed(rq->kind, rq->lane);
}

static void check_request(const struct model_request *rq)
{
	u8 at = at_key(rq);
	bool ok;

	switch (rq->state) {
	case DXK_WAITING:
		ok = at == (rq->held ? DXK_KEY_HELD : DXK_KEY_OUT);
		break;
	case DXK_READY:
		ok = at == DXK_KEY_HAS;
		break;
	case DXK_DISPATCHED:
		ok = at == DXK_KEY_HAS || at == DXK_KEY_NESTED;
		break;
	default:
		ok = at != DXK_KEY_HELD;
	}
	if (!ok)
		sim_fail("request %u in state %u is to its key %u", (u32)(rq - model.rq),
			 rq->state, at);
}

static void check_key(const struct dxk_engine *e, const struct dxk_key *key, bool excused)
{
	struct tally t = { };
	u32 i;

	for (i = 0; i < model.top_request; i++) {
		const struct model_request *rq = &model.rq[i];

		if (key_of(rq) != key)
			continue;
		t.users++;
		t.nested += at_key(rq) == DXK_KEY_NESTED;
		if (at_key(rq) == DXK_KEY_HAS) {
			t.has++;
			t.turn = rq;
		}
		if (rq->held) {
			t.held++;
			if (!t.first || comes_before(rq, t.first))
				t.first = rq;
		}
		check_request(rq);
	}
	if (t.users != key->users || t.held != key->nr_held)
		sim_fail("key %llu: %u requests, %u Held, should be %u, %u", key->cookie,
			 key->users, key->nr_held, t.users, t.held);
	if (t.has > 1 || (t.turn ? key->turn->rqe != t.turn->rqe : !!key->turn))
		sim_fail("key %llu: %u requests have it", key->cookie, t.has);
	if (!list_empty(&key->back) && !t.has && !t.nested)
		sim_fail("key %llu: one that has left it waits for it, and nobody has it",
			 key->cookie);
	if (t.has && key->suspended && t.turn->state == DXK_READY)
		sim_fail("key %llu is held back, and has a Ready request", key->cookie);
	if (t.has && t.turn->state == DXK_READY && !list_empty(&key->back) && !e->cancelling)
		sim_fail("key %llu: one that comes back waits for one that has not begun",
			 key->cookie);
	if (excused || !t.first || is_to_end(t.first))
		return;
	if (!t.has && !t.nested && !key->suspended)
		sim_fail("key %llu is free, and request %u is Held", key->cookie,
			 (u32)(t.first - model.rq));
	if (t.has && t.turn->state == DXK_READY && !e->cancelling && !model_is_deferred(t.first) &&
	    t.first->plain > t.turn->plain)
		sim_fail("key %llu: a less urgent one is Ready", key->cookie);
}

/* How many requests other workers execute within those of each. */
static void check_outers(void)
{
	const struct model_request *rq;
	struct actor *a;
	u32 i, nr;

	for_each_actor(a) {
		nr = 0;
		for (i = 0; i < model.top_request; i++) {
			rq = &model.rq[i];
			nr += key_of(rq) && at_key(rq) == DXK_KEY_NESTED &&
			      rq->rqe->more->outer == &a->m;
		}
		if (nr != a->m.outer)
			sim_fail("%u: %u nested, told %u", a->m.id, nr, a->m.outer);
	}
}

/** check_keys - after a lock hold */
void check_keys(const struct dxk_engine *e, bool excused)
{
	const struct dxk_key *seen[DXK_BATCH_MAX];
	bool nested = false;
	u32 i, k, nr = 0;

	for (i = 0; i < model.top_request; i++) {
		const struct model_request *rq = &model.rq[i];
		const struct dxk_key *key = key_of(rq);

		if (rq->held && !key)
			sim_fail("request %u is Held, and has no key", i);
		if (!key)
			continue;
		nested |= at_key(rq) == DXK_KEY_NESTED;
		for (k = 0; k < nr && seen[k] != key; k++)
			;
		if (k < nr)
			continue;
		if (nr == ARRAY_SIZE(seen))
			sim_fail("too many keys for the model");
		seen[nr++] = key;
		check_key(e, key, excused);
	}
	if (nested)
		check_outers();
	if (!excused && e->cancelling && !list_empty(&e->waits.callers))
		sim_fail("somebody sleeps for a key in a Stop that cancels");
}

/* --- circles ---------------------------------------------------------------------- */

/* Which requests do not end before the caller goes on: as many as that can be said of. */
static bool dead[MODEL_REQUESTS];
/* Not those that the engine does not meet: of a helper only the last one's owner knows it. */
static bool met_only;

static bool is_beneath(const struct model_request *rq, const struct actor *a)
{
	return met_only && !rq->rqe->more && a && !list_empty(&a->m.busy) &&
	       list_last_entry(&a->m.busy, struct dxk_rqe, link)->owner != rq->rqe->owner;
}

static bool actor_is_dead(const struct actor *a, const struct dxk_member *caller);

/* Of the results that somebody waits for, can enough come? Those of his own do not count. */
static bool few(const struct dxk_space *space, u64 cookie, u32 nr, const struct dxk_member *m)
{
	const struct model_owner *o = model_owner_of(space, cookie);
	u32 i, alive = 0, coming = 0;

	if (!o)
		return false;
	for (i = 0; i < model.top_request; i++) {
		const struct model_request *rq = &model.rq[i];

		if (!lives(rq) || rq->owner != o || (m && rq->rqe->worker == m->id &&
		    (rq->state == DXK_DISPATCHED || rq->state == DXK_BUSY)))
			continue;
		coming++;
		alive += !dead[i];
	}
	return nr > o->nr[DXK_AT_REJOIN] && alive < min(nr - o->nr[DXK_AT_REJOIN], coming);
}

/* Where results hold up workers any one of them is an answer. */
static u32 least(const struct dxk_rejoin_op *r)
{
	return model.e->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER ? 1 : r->min;
}

static bool holder_is_dead(const struct dxk_key *key)
{
	const struct dxk_more *holder = dxk_key_holder(key);

	return holder && dead[holder->rqe->param];
}

static bool actor_is_dead(const struct actor *a, const struct dxk_member *caller)
{
	const struct dxk_rejoin_op *r = a->rejoin;

	if (&a->m == caller)
		return true;
	/* Anybody may still notify one that waits for that. */
	if (a->key_op && actor_queued(&a->key_op->w) && a->m.stuck == DXK_STUCK_KEY)
		return !dxk_key_is_waiting(a->m.asks) && holder_is_dead(a->m.asks->key);
	/* Whoever was told in the same hold slept when the other one was: of a circle, in a Stop. */
	if (!r || r->timed || !(actor_queued(&r->w) ? a->m.stuck == DXK_STUCK_OWNER :
				r->w.done && (!a->answered || a->told == model.holds)))
		return false;
	return few(a->m.space, r->cookie, least(r), &a->m);
}

static bool request_is_dead(const struct model_request *rq, const struct dxk_member *caller)
{
	const struct dxk_more *more = rq->rqe->more;
	const struct dxk_wait *wait;

	if (rq->state == DXK_DISPATCHED || rq->state == DXK_BUSY) {
		const struct actor *a = actor_by_id(rq->rqe->worker);

		return !is_beneath(rq, a) && actor_is_dead(a, caller);
	}
	if (rq->state != DXK_WAITING)
		return false;
	if (rq->held)
		return (dxk_rqe_begun(rq->rqe) || more->expire == DXK_FOREVER) &&
		       holder_is_dead(more->key);
	wait = &more->wait;
	if (wait->wait & (DXK_WAIT_TIME | DXK_WAIT_CALL | DXK_WAIT_FILE) ||
	    more->expire != DXK_FOREVER)
		return false;
	return few(rq->owner->space, wait->owner,
		   wait->wait & DXK_WAIT_JOIN ? U32_MAX : 1, NULL);
}

/* Who is no part of a circle, nor stands behind one, is taken out until nobody is. */
static void find_dead(const struct dxk_member *caller)
{
	bool again = true;
	u32 i;

	for (i = 0; i < model.top_request; i++)
		dead[i] = lives(&model.rq[i]);
	while (again) {
		again = false;
		for (i = 0; i < model.top_request; i++) {
			if (!dead[i] || request_is_dead(&model.rq[i], caller))
				continue;
			dead[i] = false;
			again = true;
		}
	}
}

/** model_is_dead - can nothing end the wait of who asks for results, but an end of itself? */
bool model_is_dead(const struct dxk_rejoin_op *r)
{
	find_dead(r->m);
	return few(r->m->space, r->cookie, least(r), r->m);
}

/** check_circle - these are told to wait for each other, and nobody has posted meanwhile */
void check_circle(const struct dxk_link *links, u32 nr)
{
	u32 i;

	find_dead(NULL);
	for (i = 0; i < nr; i++) {
		u32 id = links[i].worker;

		if (id ? !actor_is_dead(actor_by_id(id), NULL) : !dead[links[i].waiting.param])
			sim_fail("%s %u is told to wait for itself, and does not",
				 id ? "worker" : "request",
				 id ?: (u32)links[i].waiting.param);
	}
}

/* Is it told of? What it executes on is, if it has a worker. */
static bool is_told(const struct model_request *rq)
{
	const struct actor *a = actor_by_id(rq->rqe->worker);

	return (rq->state == DXK_WAITING ? rq->rqe->more->doubt : a ? a->m.doubt : 0) &
	       DXK_DOUBT_TOLD;
}

/* Of more requests the check takes too long: it looks at all of them for each. */
#define CIRCLES_AMONG	100

/** check_circles - nobody runs: of whom waits for itself is told, or the Monitor will look */
void check_circles(const struct dxk_engine *e)
{
	const struct dxk_circles *c = &house.circles;
	const struct actor *a;
	u32 i;

	/* Whoever sleeps again, and does not fetch what it was called for, is at fault itself. */
	for_each_actor(a)
		if (!list_empty(&a->m.called))
			return;
	if (e->state != DXK_CTX_RUNNING || e->waits.unsure || c->pass || c->tries ||
	    model.top_request > CIRCLES_AMONG ||
	    !(dxk_crew_asleep(&e->crew) + model.nr[DXK_AT_WAIT]))
		return;
	met_only = true;
	find_dead(NULL);
	met_only = false;
	for (i = 0; i < model.top_request; i++)
		if (dead[i] && !is_told(&model.rq[i]))
			sim_fail("request %u waits for itself, and nobody doubts it", i);
}
