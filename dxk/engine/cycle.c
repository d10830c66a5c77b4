// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The search for circles of waits: see cycle.h.
 */
#include "engine/cycle.h"
#include "engine/engine.h"
#include "engine/key.h"
#include "engine/member.h"
#include "engine/more.h"
#include "engine/os.h"
#include "engine/rejoin.h"

/**
 * struct dxk_search - a search
 */
struct dxk_search {
	/** @e: the engine, locked */
	struct dxk_engine *e;
	/** @m: the worker that would sleep, or NULL: a request would wait */
	const struct dxk_member *m;
	/** @rqe: that request */
	const struct dxk_rqe *rqe;
	/** @home: its owner, which does not count it yet, as it is only about to come; or NULL */
	const struct dxk_owner *home;
	/** @timed: sleeps that a time limit also ends are links, as in a chain of calls */
	bool timed;
	/** @steps: requests that may still be looked at */
	u32 steps;
	/** @depth: owners on the path */
	u32 depth;
	/** @keys: Held requests on the path, and 2 for each worker that sleeps for a key */
	u32 keys;
	/** @held: the first of these requests */
	struct dxk_more *held;
	/** @nest: the Held request that is the only one on a path that leads back to @m */
	struct dxk_more *nest;
	/** @met: a path has led back to @m, or @rqe */
	bool met;
	/** @unsure: something was not looked at, for want of @steps or @depth */
	bool unsure;
	/** @owed: a waiter for one of the owners on the path is still to be notified */
	bool owed;
	/** @self: a request of @m itself has the key of @nest, for whose owner @m would sleep */
	bool self;
};

static bool dxk_owner_is_dead(struct dxk_search *s, struct dxk_owner *owner,
			      struct dxk_lack need);

/**
 * dxk_plain_ones - how many requests without a struct dxk_more does a worker execute of an owner?
 * @e: the engine, locked
 * @m: the worker; it may have fetched any number
 * @owner: the owner
 * @looks: how many of its requests may be looked at; out: less those that were
 */
u32 dxk_plain_ones(struct dxk_engine *e, const struct dxk_member *m,
		   const struct dxk_owner *owner, u32 *looks)
{
	const struct dxk_rqe *rqe;
	u32 nr = 0;

	list_for_each_entry(rqe, &m->busy, link) {
		if (!*looks)
			break;
		--*looks;
		dxk_step(e);
		nr += rqe->owner == owner && !rqe->more;
	}
	return nr;
}

/**
 * dxk_lack_results - the need of a wait for results, or for all that can come if these are fewer
 * @m: the worker that waits, or NULL: a request waits for one
 * @owner: the owner of the results
 * @nr: how many
 * @own: how many of its requests the worker executes itself
 *
 * Results that are being copied out may come back.
 */
struct dxk_lack dxk_lack_results(const struct dxk_member *m, const struct dxk_owner *owner,
				 u32 nr, u32 own)
{
	u32 coming = dxk_owner_coming(owner) - own, done = owner->nr[DXK_AT_REJOIN];

	return (struct dxk_lack) {
		.m = m, .coming = coming, .want = nr > done ? min(nr - done, coming) : 0,
	};
}

/** dxk_lack_wait - the need of a request that waits for an owner */
struct dxk_lack dxk_lack_wait(const struct dxk_rqe *rqe, const struct dxk_owner *owner)
{
	u32 coming = dxk_owner_coming(owner);

	if (rqe->more->wait.wait & DXK_WAIT_RESULT)
		return dxk_lack_results(NULL, owner, 1, 0);
	return (struct dxk_lack) { .coming = coming, .want = coming };
}

static bool dxk_holder_is_dead(struct dxk_search *s, struct dxk_key *key);

/*
 * Is the wait about to be ended, whatever becomes of the others? These end it over several lock
 * holds, so that it may still be met: a policy that closes its lane, Stop(cancel), the close of
 * its space, a cancel of all of its owner. A begun Held request has its last turn with its key.
 */
static bool dxk_wait_is_to_end(struct dxk_search *s, const struct dxk_more *more)
{
	const struct dxk_rqe *rqe = more->rqe;
	const struct dxk_owner *owner = rqe->owner;

	if (unlikely(dxk_closed(s->e, rqe->kind, rqe->lane)))
		return true;
	if (dxk_is_held(more) && dxk_rqe_begun(rqe))
		return false;
	if (unlikely(s->e->cancelling || (owner->space->closed && !dxk_is_held(more))))
		return true;
	if (likely(list_empty(&owner->purge)))
		return false;
	/* The cancel does not meet a request that has come meanwhile: the Monitor looks. */
	s->unsure = true;
	return true;
}

/* Does the worker not go on before the one that the search is for does? */
static bool dxk_member_is_dead(struct dxk_search *s, struct dxk_member *m)
{
	struct dxk_owner *owner;
	bool dead = false;

	if (m == s->m) {
		s->met = true;
		if (s->keys == 1 && !s->nest) {
			s->nest = s->held;
			s->self = s->depth == 1 && dxk_key_holder(s->held->key)->worker == m;
		}
		return true;
	}
	if (m->seen)
		return true;
	m->seen = true;
	if (m->stuck == DXK_STUCK_KEY) {
		/* This is no chain of calls, so nothing is nested on it. Stop(cancel) ends it. */
		s->keys += 2;
		dead = !s->e->cancelling && !dxk_key_is_waiting(m->asks) &&
		       dxk_holder_is_dead(s, m->asks->key);
		s->keys -= 2;
	} else if (m->stuck == DXK_STUCK_OWNER && (s->timed || !m->timed)) {
		owner = dxk_owner_find(&s->e->owners, m->space, m->awaits);
		dead = owner && dxk_owner_is_dead(s, owner,
						  dxk_lack_results(m, owner, m->min, m->own));
	}
	m->seen = false;
	return dead;
}

/* Does a request with a struct dxk_more not end before the one that the search is for goes on? */
static bool dxk_request_is_dead(struct dxk_search *s, struct dxk_more *more)
{
	const struct dxk_rqe *rqe = more->rqe;
	struct dxk_owner *owner;
	bool dead = false;

	if (rqe == s->rqe) {
		s->met = true;
		return true;
	}
	switch (dxk_rqe_state(rqe)) {
	case DXK_DISPATCHED:
	case DXK_BUSY:
		return more->worker && dxk_member_is_dead(s, more->worker);
	case DXK_WAITING:
		break;
	default:
		return false;
	}
	if (dxk_wait_is_to_end(s, more))
		return false;
	if (dxk_is_held(more)) {
		/* A request that was never begun ends when it expires. */
		if (!s->timed && !dxk_rqe_begun(rqe) && more->expire != DXK_FOREVER)
			return false;
		if (!s->keys++)
			s->held = more;
		dead = dxk_holder_is_dead(s, more->key);
		s->keys--;
		return dead;
	}
	/* The event that it has waited for has happened: room comes without help. */
	if (more->ripe)
		return false;
	if (more->seen)
		return true;
	if (more->wait.wait & (DXK_WAIT_TIME | DXK_WAIT_CALL | DXK_WAIT_FILE) ||
	    more->expire != DXK_FOREVER)
		return false;
	owner = dxk_owner_find(&s->e->owners, rqe->owner->space, more->wait.owner);
	if (!owner)
		return false;
	more->seen = true;
	dead = dxk_owner_is_dead(s, owner, dxk_lack_wait(rqe, owner));
	more->seen = false;
	return dead;
}

/* Does the holder keep the key until the one that the search is for goes on? */
static bool dxk_holder_is_dead(struct dxk_search *s, struct dxk_key *key)
{
	struct dxk_more *holder = dxk_key_holder(key);

	if (os_stack_is_low())
		s->steps = 0;
	s->unsure |= !s->steps;
	if (!holder || !s->steps)
		return false;
	s->steps--;
	dxk_step(s->e);
	return dxk_request_is_dead(s, holder);
}

static bool dxk_owner_is_dead(struct dxk_search *s, struct dxk_owner *owner,
			      struct dxk_lack need)
{
	/* So many that do not go on leave too few. Ready requests go on. */
	u32 enough = need.coming - need.want + 1, nr = owner == s->home;
	u32 left = need.coming - owner->nr[DXK_AT_READY];
	bool deep = s->depth == DXK_CYCLE_DEPTH || os_stack_is_low();
	struct dxk_member *m;
	struct dxk_more *more;

	/* Requests that its purge has not gone through are not met: see dxk_purge_some(). */
	s->unsure |= deep || !list_empty(&owner->purge);
	s->owed |= !list_empty(&owner->owed);
	if (!need.want || deep)
		return false;
	s->depth++;
	if (s->m && s->m != need.m)
		nr += dxk_plain_ones(s->e, s->m, owner, &s->steps);
	s->met |= nr;
	list_for_each_entry(m, &owner->stuck, stuck_link) {
		if (nr >= enough || left < enough || !s->steps)
			break;
		s->steps--;
		dxk_step(s->e);
		if (m != need.m && m != s->m && dxk_member_is_dead(s, m))
			nr += dxk_plain_ones(s->e, m, owner, &s->steps);
	}
	list_for_each_entry(more, &owner->mores, sibling) {
		if (nr >= enough || left < enough || !s->steps)
			break;
		s->steps--;
		dxk_step(s->e);
		if (dxk_rqe_state(more->rqe) == DXK_READY || (need.m && more->worker == need.m))
			continue;
		if (dxk_request_is_dead(s, more))
			nr++;
		else
			left--;
	}
	s->depth--;
	s->unsure |= !s->steps;
	return nr >= enough;
}

/** dxk_rejoin_min - the number of results that ends the sleep of a rejoin: dxk_rejoin_answer() */
u32 dxk_rejoin_min(const struct dxk_engine *e, const struct dxk_rejoin_op *r)
{
	return e->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER ? 1 : r->min;
}

/*
 * A search that gave up may have missed a circle: the Monitor looks. It also does for a circle of
 * others only, of whom one is about to be notified: the sleepers behind it wait for that.
 */
static bool dxk_search_is_over(struct dxk_search *s, bool dead)
{
	if (unlikely(dead && !s->met && s->owed)) {
		s->unsure = true;
		dead = false;
	}
	if (unlikely(s->unsure && !dead))
		WRITE_ONCE(s->e->waits.unsure, true);
	return dead;
}

/* --- queries ------------------------------------------------------------------------ */

/**
 * dxk_rejoin_is_dead - would a worker that sleeps for results do so forever?
 * @e: the engine, locked
 * @owner: the owner of the results
 * @r: its rejoin, without a time limit
 *
 * Return: true if the search finds that.
 */
bool dxk_rejoin_is_dead(struct dxk_engine *e, struct dxk_owner *owner,
			const struct dxk_rejoin_op *r)
{
	struct dxk_search s = { .e = e, .m = r->m, .steps = DXK_CYCLE_STEPS };
	struct dxk_lack need = dxk_lack_results(r->m, owner, dxk_rejoin_min(e, r), r->self_held);

	return dxk_search_is_over(&s, dxk_owner_is_dead(&s, owner, need));
}

/**
 * dxk_rejoin_nests - which Held request is a worker to execute that would sleep for results?
 * @e: the engine, locked
 * @owner: the owner of the results
 * @r: the rejoin
 *
 * A request that the worker's own chain of calls has led to, and that the chain itself holds up:
 * between the holder of its key and the waiter for it no other request is Held.
 * Return: the request, or NULL.
 */
struct dxk_more *dxk_rejoin_nests(struct dxk_engine *e, struct dxk_owner *owner,
				  const struct dxk_rejoin_op *r)
{
	struct dxk_search s = {
		.e = e, .m = r->m, .steps = DXK_CYCLE_STEPS, .timed = true,
	};
	struct dxk_more *more;

	if (!dxk_owner_is_dead(&s, owner,
			       dxk_lack_results(r->m, owner, dxk_rejoin_min(e, r), r->self_held)))
		return NULL;
	more = s.nest;
	if (!more || more->rqe->kind != r->m->kind || more->reentry == DXK_REENTRY_NONE ||
	    (more->reentry == DXK_REENTRY_SELF && !s.self))
		return NULL;
	/* A request that may not begin a turn may not do so within another turn either. */
	if (more->key->suspended || (e->cancelling && !dxk_rqe_begun(more->rqe)) ||
	    dxk_closed(e, more->rqe->kind, more->rqe->lane))
		return NULL;
	return more;
}

/**
 * dxk_wait_is_dead - would a request that waits for an owner do so forever?
 * @e: the engine, locked
 * @rqe: the request, whose wait nothing else ends
 * @owner: the owner
 * @home: of a request that is not yet taken over: its owner's record, if there is one
 */
bool dxk_wait_is_dead(struct dxk_engine *e, const struct dxk_rqe *rqe,
		      struct dxk_owner *owner, const struct dxk_owner *home)
{
	/* A hold may begin many waits: all of them share the looks of one search. */
	struct dxk_search s = {
		.e = e, .rqe = rqe, .home = home, .steps = e->waits.searches,
	};
	bool dead = dxk_owner_is_dead(&s, owner, dxk_lack_wait(rqe, owner));

	e->waits.searches = s.steps;
	return dxk_search_is_over(&s, dead);
}
