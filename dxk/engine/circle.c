// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The long look for circles of waits: see circle.h.
 */
#include "engine/circle.h"
#include "engine/cycle.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/key.h"
#include "engine/member.h"
#include "engine/more.h"
#include "engine/os.h"

/* A round begins so long after the Monitor has seen that a search has given up. */
#define DXK_CIRCLE_NS	(DXK_STALL_MS * (u64)NSEC_PER_MSEC)

/* Rounds to be made: a change beside a pass may hide some from it, and then one more follows. */
#define DXK_CIRCLE_TRIES	2

/* A lock hold of a pass. */
struct dxk_tour {
	struct dxk_engine *e;
	struct dxk_circles *c;
	u32 left;	/* looks that it has left */
	/* Of a pass that reports: the reported ones, and how many there is room for. */
	struct dxk_link *links;
	u32 nr, max;
};

static void dxk_look(struct dxk_tour *w)
{
	w->left--;
	dxk_step(w->e);
}

/* --- who goes on ------------------------------------------------------------------ */

/* Has this pass met it, and left it doubted? */
static bool dxk_was_met(const struct dxk_tour *w, u32 doubt)
{
	return (doubt & ~DXK_DOUBT_TOLD) == w->c->round;
}

/* Is it doubted in this round? If the pass before has missed it, nothing is certain yet. */
static bool dxk_is_doubted(const struct dxk_tour *w, u32 doubt)
{
	struct dxk_circles *c = w->c;
	u32 age = (c->round - doubt) & ~DXK_DOUBT_TOLD;

	if (!(doubt & ~DXK_DOUBT_TOLD) || age >= c->pass)
		return false;
	c->missed |= age > 1;
	return true;
}

static bool dxk_member_is_doubted(const struct dxk_tour *w, const struct dxk_member *m)
{
	return m && m->stuck && dxk_is_doubted(w, m->doubt);
}

static bool dxk_request_is_doubted(const struct dxk_tour *w, const struct dxk_more *more)
{
	switch (dxk_rqe_state(more->rqe)) {
	case DXK_DISPATCHED:
	case DXK_BUSY:
		return dxk_member_is_doubted(w, more->worker);
	case DXK_WAITING:
		return dxk_is_doubted(w, more->doubt);
	default:
		return false;
	}
}

static bool dxk_holder_is_doubted(struct dxk_tour *w, const struct dxk_key *key)
{
	const struct dxk_more *holder = dxk_key_holder(key);

	dxk_look(w);
	return holder && dxk_request_is_doubted(w, holder);
}

/* Are so many doubted that the others are too few? */
static bool dxk_need_is_doubted(struct dxk_tour *w, const struct dxk_owner *owner,
				struct dxk_lack need)
{
	u32 enough = need.coming - need.want + 1, nr = 0, looks = 2 * DXK_CIRCLE_LOOKS;
	const struct dxk_member *m;
	const struct dxk_more *more;

	if (!need.want)
		return false;
	w->left -= looks;
	list_for_each_entry(m, &owner->stuck, stuck_link) {
		if (nr >= enough || looks <= DXK_CIRCLE_LOOKS)
			break;
		looks--;
		dxk_step(w->e);
		if (m != need.m && dxk_member_is_doubted(w, m))
			nr += dxk_plain_ones(w->e, m, owner, &looks);
	}
	list_for_each_entry(more, &owner->mores, sibling) {
		if (nr >= enough || !looks)
			break;
		looks--;
		dxk_step(w->e);
		if (!(need.m && more->worker == need.m))
			nr += dxk_request_is_doubted(w, more);
	}
	w->left += looks;
	return nr >= enough;
}

static bool dxk_member_waits_on(struct dxk_tour *w, const struct dxk_member *m)
{
	const struct dxk_owner *owner;

	if (m->stuck == DXK_STUCK_KEY)
		return dxk_holder_is_doubted(w, m->asks->key);
	owner = dxk_owner_find(&w->e->owners, m->space, m->awaits);
	return owner && dxk_need_is_doubted(w, owner,
					    dxk_lack_results(m, owner, m->min, m->own));
}

static bool dxk_request_waits_on(struct dxk_tour *w, const struct dxk_more *more)
{
	const struct dxk_rqe *rqe = more->rqe;
	const struct dxk_owner *owner;

	if (dxk_is_held(more))
		return dxk_holder_is_doubted(w, more->key);
	owner = dxk_owner_find(&w->e->owners, rqe->owner->space, more->wait.owner);
	return owner && dxk_need_is_doubted(w, owner, dxk_lack_wait(rqe, owner));
}

/* Does a request wait, and for nothing but others? */
static bool dxk_request_may_be(const struct dxk_more *more)
{
	if (dxk_rqe_state(more->rqe) != DXK_WAITING || more->ripe)
		return false;
	if (dxk_is_held(more))
		return dxk_rqe_begun(more->rqe) || more->expire == DXK_FOREVER;
	return more->wait.wait & (DXK_WAIT_RESULT | DXK_WAIT_JOIN) &&
	       dxk_wait_is_for_owner_only(more);
}

/* --- passes ------------------------------------------------------------------------- */

/* The worker that sleeps for a key while it executes the request, or NULL. */
static struct dxk_member *dxk_caller_of(const struct dxk_more *more)
{
	struct dxk_member *m = more->worker;

	return m && m->stuck == DXK_STUCK_KEY && m->asks == more && !dxk_key_is_waiting(more) ?
	       m : NULL;
}

/* Meet a member or a request. Return: false: the hold has no looks left for it, or no room. */
static bool dxk_meet(struct dxk_tour *w, struct dxk_member *m, struct dxk_more *more)
{
	u32 *doubt = m ? &m->doubt : &more->doubt;
	struct dxk_circles *c = w->c;
	struct dxk_link *link;

	if (w->links ? w->nr == w->max : w->left <= 2 * DXK_CIRCLE_LOOKS)
		return false;
	dxk_look(w);
	if (!w->links) {
		/* A change of the lists between two holds may bring back what was met. */
		if (dxk_was_met(w, *doubt) || (c->pass > 1 && !dxk_is_doubted(w, *doubt)))
			return true;
		if (c->pass == 1 ||
		    (m ? dxk_member_waits_on(w, m) : dxk_request_waits_on(w, more))) {
			*doubt = (*doubt & DXK_DOUBT_TOLD) | c->round;
			c->met++;
		} else {
			*doubt &= DXK_DOUBT_TOLD;
		}
	} else if (dxk_was_met(w, *doubt) && !(*doubt & DXK_DOUBT_TOLD)) {
		*doubt |= DXK_DOUBT_TOLD;
		link = &w->links[w->nr++];
		link->worker = m ? m->id : 0;
		if (m)
			dxk_look_at(m, &link->sleeper);
		else
			dxk_waiting_copy(more->rqe, &link->waiting);
	}
	return true;
}

/* Meet one of an owner, if it is one of those that may be doubted. Return: as dxk_meet(). */
static bool dxk_meet_if(struct dxk_tour *w, struct dxk_member *m, struct dxk_more *more)
{
	if (m || more)
		return dxk_meet(w, m, more);
	dxk_look(w);
	return true;
}

/* Meet sleepers that execute requests of an owner, and its waiting ones. Return: all of them? */
static bool dxk_tour_owner(struct dxk_tour *w, struct dxk_owner *owner)
{
	u32 looks = DXK_CIRCLE_LOOKS;
	struct dxk_member *m;
	struct dxk_more *more;

	/* What its purge is still to look at is not met: one more round follows later. */
	if (unlikely(!list_empty(&owner->doomed)))
		WRITE_ONCE(w->e->waits.unsure, true);
	list_for_each_entry(m, &owner->stuck, stuck_link) {
		if (!looks--)
			break;
		if (!dxk_meet_if(w, m->timed ? NULL : m, NULL))
			return false;
	}
	looks = DXK_CIRCLE_LOOKS;
	list_for_each_entry(more, &owner->mores, sibling) {
		bool may_be = dxk_request_may_be(more);

		if (!looks--)
			break;
		if (!dxk_meet_if(w, may_be ? NULL : dxk_caller_of(more), may_be ? more : NULL))
			return false;
	}
	return true;
}

/*
 * The chain, and what an owner has, may change between two holds. So a hold skips the owners that
 * the pass is through with, wherever they stand, and begins anew with the one that it was at: who
 * was met there before costs one look, and enough looks are left for the next one.
 */
static bool dxk_tour_bucket(struct dxk_tour *w)
{
	struct dxk_circles *c = w->c;
	u32 pass = c->round | (w->links ? DXK_DOUBT_TOLD : 0);
	struct dxk_owner *owner;

	/* Most buckets are empty: eight in a row count as one look. */
	if (c->bucket % 8 == 0)
		dxk_look(w);
	hlist_for_each_entry(owner, &w->e->owners.bucket[c->bucket], hash) {
		/* On average a chain is short: what is behind its beginning is not far. */
		if (owner->toured == pass)
			continue;
		/* What an owner has costs a look each even if none of it is met. */
		if (w->left <= 2 * DXK_CIRCLE_LOOKS)
			return false;
		dxk_look(w);
		if (!dxk_tour_owner(w, owner))
			return false;
		owner->toured = pass;
	}
	return true;
}

/* Continue a pass, as far as a lock hold can. Return: is it over? */
static bool dxk_tour(struct dxk_tour *w)
{
	struct dxk_circles *c = w->c;

	w->left = DXK_CIRCLE_HOLD;
	while (w->e->owners.bucket && c->bucket < 1U << w->e->owners.bits) {
		if (w->left <= 2 * DXK_CIRCLE_LOOKS || !dxk_tour_bucket(w))
			return false;
		c->bucket++;
	}
	c->bucket = 0;
	return true;
}

static void dxk_pass_begin(struct dxk_circles *c)
{
	c->pass++;
	c->round = (c->round + 1) & ~DXK_DOUBT_TOLD ?: 1;
	c->met = 0;
	c->missed = false;
}

/* Begin a round if a search has given up, and that has lasted. Return: is there a round? */
static bool dxk_round(struct dxk_engine *e, struct dxk_circles *c)
{
	u64 now = os_now();

	if (c->pass)
		return true;
	if (!c->tries) {
		if (!e->waits.unsure)
			return false;
		c->since = c->since ?: now;
		if (now - c->since < DXK_CIRCLE_NS)
			return false;
		WRITE_ONCE(e->waits.unsure, false);
		c->since = 0;
		c->tries = DXK_CIRCLE_TRIES;
	}
	c->tries--;
	dxk_pass_begin(c);
	return true;
}

/* End a pass. Return: has it met the same ones as the one before? */
static bool dxk_pass_over(struct dxk_circles *c)
{
	bool same = c->pass > 1 && c->met && c->met == c->before && !c->missed;

	c->before = c->met;
	if (c->met && !same)
		dxk_pass_begin(c);
	else
		c->pass = 0;
	if (same)
		c->tries = 0;
	return same;
}

/* One lock hold of a look. Return: is there more to do? @found: out */
static bool dxk_circles_hold(struct dxk_tour *w, bool *found)
{
	struct dxk_wakes wakes __uninitialized;
	struct dxk_engine *e = w->e;
	bool goes_on;

	dxk_wakes_init(&wakes);
	spin_lock(&e->lock);
	dxk_hold_begin(e);
	goes_on = dxk_round(e, w->c);
	if (goes_on && dxk_tour(w))
		*found = dxk_pass_over(w->c);
	dxk_hold_end(e, &wakes);
	spin_unlock(&e->lock);
	os_yield();
	return goes_on && !*found;
}

/**
 * dxk_circles_look - a look of the Monitor: do some wait for each other?
 * @e: the engine, which runs or drains
 * @c: the Monitor's memory
 *
 * Return: the result. The lock is held many times, each for a short time.
 */
enum dxk_circles_found dxk_circles_look(struct dxk_engine *e, struct dxk_circles *c)
{
	struct dxk_tour w = { .e = e, .c = c };
	bool found = false;
	u32 holds = 0;

	if (likely(!c->pass && !c->tries && !READ_ONCE(e->waits.unsure)))
		return DXK_CIRCLES_NONE;
	while (holds++ < DXK_CIRCLE_HOLDS && dxk_circles_hold(&w, &found))
		;
	c->nr = 0;
	return found ? DXK_CIRCLES_FOUND : DXK_CIRCLES_AGAIN;
}

/**
 * dxk_circle_links - report some of those that wait for each other
 * @e: the engine
 * @c: as dxk_circles_look() has left it; its nr becomes the number of the circle
 * @links: out: those that were not reported before
 * @max: room there, at least 1
 *
 * Return: how many there are; 0: all have been reported.
 */
u32 dxk_circle_links(struct dxk_engine *e, struct dxk_circles *c, struct dxk_link *links,
		     u32 max)
{
	struct dxk_tour w = { .e = e, .c = c, .links = links, .max = max };
	bool over = false;

	while (!over && !w.nr) {
		spin_lock(&e->lock);
		over = dxk_tour(&w);
		if (w.nr && !c->nr)
			c->nr = ++e->stats.circles;
		spin_unlock(&e->lock);
		os_yield();
	}
	return w.nr;
}
