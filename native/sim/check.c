// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What must hold whenever the lock is free: the engine's counts are the model's, nobody
 * sleeps whose move could be made, no worker is idle beside a request that it could run,
 * and whoever was answered was answered rightly. What a lock hold has left over and owes is
 * excused, until nobody runs any more.
 */
#include "engine/cancel.h"
#include "engine/dispatch.h"
#include "engine/look.h"
#include "engine/more.h"
#include "engine/onblock.h"

#include "actor.h"
#include "check.h"
#include "device.h"
#include "house.h"
#include "item.h"
#include "keys.h"
#include "model.h"

/* --- counts ------------------------------------------------------------------ */

static void check_count(const char *what, u64 is, u64 should)
{
	if (unlikely(is != should))
		sim_fail("%s: %llu, should be %llu", what, is, should);
}

/* All that is Ready is told of, but for those beyond the first ones of a place. */
static void check_look(const struct dxk_engine *e)
{
	struct dxk_request_info seen[DXK_LOOK_MAX];
	u32 place = 0, nr = 0, got;
	bool more = false;

	do {
		got = dxk_ready_look_locked(e, &place, seen);
		more |= got == DXK_LOOK_MAX && seen[got - 1].flags;
		nr += got;
	} while (place);
	if (more ? nr >= model.nr[DXK_AT_READY] : nr != model.nr[DXK_AT_READY])
		sim_fail("%u are told to be Ready, %u are", nr, model.nr[DXK_AT_READY]);
}

static void check_requests(const struct dxk_engine *e)
{
	const struct dxk_stats *s = &e->stats;
	u32 i, kind;

	for (i = 0; i < DXK_PLACES; i++) {
		check_count("requests at a place", e->nr[i], model.nr[i]);
		if (e->high[i] < e->nr[i])
			sim_fail("high-water mark below the count");
	}
	for (i = 0; i < DXK_LANES; i++) {
		check_count("lane of the pool", e->ready.lanes.used[i], model.in_pool[i]);
		for (kind = 0; kind < DXK_KINDS; kind++)
			check_count("lane of workers", e->crew.lanes[kind].used[i],
				    model.at_work[kind][i]);
	}
	if (!((e->ready.seq + e->ticket) % 16))
		check_look(e);
	check_count("reserved entries", e->owners.reserved, model.reserved);
	check_count("posts less ends", s->posts - s->collected - s->vanished,
		    model_live(model.nr));
	check_count("requests whose home has nobody", s->homeless, model.homeless);
	check_count("missed wake-ups", s->missed_wakeups, 0);
	check_count("dispatches less ends", s->dispatches - s->put_back - s->redone -
		    s->completions - model.parks, model.nr[DXK_AT_WORK]);
}

static void check_owner(const struct dxk_engine *e, const struct model_owner *o)
{
	const struct dxk_owner *owner = dxk_owner_find(&e->owners, o->space, o->cookie);
	const struct dxk_rqe *rqe;
	u64 last = 0;
	u32 i, nr = 0;

	if (!owner)
		sim_fail("owner %llu has requests and no record", o->cookie);
	if (!list_empty(&owner->doomed) && list_empty(&owner->purge))
		sim_fail("nothing of %llu is cancelled, and something is still looked at",
			 o->cookie);
	for (i = 0; i < DXK_PLACES; i++)
		check_count("requests of an owner", owner->nr[i], o->nr[i]);
	list_for_each_entry(rqe, &owner->done, link) {
		const struct model_request *rq = model_of(rqe);

		if (rq->owner != o || rq->state != DXK_REJOIN ||
		    (rq->done < last && !rq->returned))
			sim_fail("results of %llu in disorder", o->cookie);
		if (!rq->returned)
			last = rq->done;
		nr++;
	}
	check_count("results of an owner", owner->nr_done, nr);
}

static void check_owners(const struct dxk_engine *e)
{
	const struct dxk_owner *owner;
	u32 i, nr = 0, owed = 0;

	list_for_each_entry(owner, &e->owners.owed, owed)
		owed++;

	for (i = 0; i < model.top_owner; i++)
		if (model_live(model.owner[i].nr)) {
			check_owner(e, &model.owner[i]);
			nr++;
		}
	check_count("owners", e->owners.nr, nr);
	check_count("owners owed a look", e->owners.nr_owed, owed);
}

struct crew {
	u32 workers[DXK_KINDS], idle[DXK_KINDS], parked[DXK_KINDS], spares[DXK_KINDS];
	u32 asleep[DXK_KINDS], extra[DXK_KINDS], coming[DXK_KINDS], spares_coming[DXK_KINDS];
	u32 askers[DXK_KINDS], askers_at[DXK_KINDS][SIM_HOMES + 1];
	u32 idle_at[DXK_KINDS][SIM_HOMES + 1];
	u32 present, clients, clients_asleep, resting, clients_resting, marked, dozing;
};

static void count_actor(struct crew *c, struct actor *a)
{
	const struct dxk_member *m = &a->m;

	a->blocked |= a->next && actor_asleep(a);

	if (m->role != DXK_ROLE_WORKER) {
		c->clients += m->engaged;
		c->clients_asleep += actor_asleep(a);
		c->clients_resting += m->engaged && actor_rests(a);
		if (actor_asleep(a) && !m->engaged)
			sim_fail("%u sleeps for requests, and work does not depend on it", m->id);
		return;
	}
	c->resting += actor_rests(a);
	c->extra[m->kind] += m->extra;
	c->askers[m->kind] += actor_asks(a);
	c->askers_at[m->kind][m->home] += actor_asks(a);
	c->marked += m->marked;
	c->dozing += m->marked && actor_asleep(a);
	if (m->blocks && (!m->marked || m->blocks->state != DXK_BUSY))
		sim_fail("%u blocks, and is not marked, or the request is over", m->id);
	c->asleep[m->kind] += actor_asleep(a) || m->marked;
	if (actor_asleep(a))
		;
	else if (a->next && actor_queued(&a->next->w) && m->spare)
		c->parked[m->kind]++;
	else if (a->next && actor_queued(&a->next->w)) {
		c->idle[m->kind]++;
		c->idle_at[m->kind][m->home]++;
	}
	if (!m->attached)
		return;
	c->present++;
	c->workers[m->kind] += !m->leaving && !m->spare;
	c->spares[m->kind] += m->spare && !m->leaving;
	(m->spare ? c->spares_coming : c->coming)[m->kind] += m->coming;
	if (m->coming && ((a->next && actor_queued(&a->next->w)) || m->held || m->leaving))
		sim_fail("%u has come, and counts as on its way", m->id);
}

static void check_crew(const struct dxk_engine *e, struct crew *c)
{
	const struct dxk_crew *crew = &e->crew;
	struct actor *a;
	u32 kind;

	*c = (struct crew) { };
	for_each_actor(a)
		count_actor(c, a);
	for (kind = 0; kind < DXK_KINDS; kind++) {
		check_count("workers", crew->workers[kind], c->workers[kind]);
		check_count("idle workers", crew->nr_idle[kind], c->idle[kind]);
		check_count("parked spares", crew->nr_parked[kind], c->parked[kind]);
		check_count("spares", crew->spares[kind], c->spares[kind]);
		check_count("workers on their way", crew->coming[kind], c->coming[kind]);
		check_count("spares on their way", crew->spares_coming[kind],
			    c->spares_coming[kind]);
		check_count("those who ask for a spare", crew->nr_askers[kind], c->askers[kind]);
		check_count("workers asleep", crew->asleep[kind], c->asleep[kind]);
		check_count("extra requests", crew->extra[kind], c->extra[kind]);
		check_count("extra requests at work", model.extra[kind], c->extra[kind]);
	}
	check_count("present", crew->present, c->present);
	check_count("workers that are marked", crew->marked, c->marked);
	check_count("of these, asleep", crew->dozing, c->dozing);
	check_count("clients", crew->clients, c->clients);
	check_count("clients asleep", crew->clients_asleep, c->clients_asleep);
	check_count("workers that rest", crew->resting, c->resting);
	check_count("clients that rest", crew->clients_resting, c->clients_resting);
}

/* --- workers ----------------------------------------------------------------- */

static bool blocks(const struct dxk_engine *e)
{
	return e->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER && !stopped_running(e) &&
	       model.nr[DXK_AT_REJOIN] >= e->policy.rejoin_entries;
}

/* Is what has a home there only as long as somebody else is? */
static void check_homes(const struct dxk_engine *e)
{
	u32 h, kind;

	for (h = 0; e->ready.home && h < SIM_HOMES; h++)
		for (kind = 0; kind < DXK_KINDS; kind++)
			if (e->ready.home[h].queue[kind].first &&
			    !e->ready.home[h].workers[kind] &&
			    !(e->ready.left_homes[kind] & BIT_ULL(h)))
				sim_fail("home %u has entries, and no worker", h + 1);
}

static void check_idle_beside(enum dxk_kind kind, const struct crew *c)
{
	const struct model_request *best;
	u32 home;

	for (home = 0; home <= SIM_HOMES; home++) {
		best = c->idle_at[kind][home] ? model_best(kind, false, home) : NULL;
		if (best)
			sim_fail("a worker of home %u is idle beside request %d", home,
				 (int)(best - model.rq));
	}
}

/* Who is held up by what is nested in its work helps nobody; behind many of those none is seen. */
static bool has_helper(const struct dxk_engine *e, enum dxk_kind kind)
{
	const struct dxk_helper *h;
	u32 held_up = 0, nr = 0;

	list_for_each_entry(h, &e->crew.helpers[kind], link) {
		nr++;
		held_up += !!h->m->outer;
	}
	return nr > held_up && held_up < 8;
}

/* Is it in the ring of its owner, and does the first one there alone stand for the others? */
static bool is_listed(const struct dxk_helper *h)
{
	const struct dxk_helper *first = h->owner->helper[h->m->kind], *other = first;
	bool found = false;

	if (!first)
		return false;
	do {
		found |= other == h;
		if (other != first && !list_empty(&other->caller))
			sim_fail("%u is called, and is not the first one", other->m->id);
		if (other->owner != h->owner || other->m->kind != h->m->kind)
			sim_fail("a helper is in another one's ring");
		other = list_next_entry(other, link);
	} while (other != first);
	return found;
}

/* Each that sleeps for an owner is called for what that has. */
static void check_own_helpers(const struct dxk_engine *e)
{
	const struct actor *a;

	for_each_actor(a) {
		const struct dxk_rejoin_op *r = a->rejoin;

		if (!r || !actor_queued(&r->w) || !r->w.helper || a->m.outer)
			continue;
		if (!r->helper.owner || !is_listed(&r->helper))
			sim_fail("%u helps, and nobody can call it", a->m.id);
		if (model_own(a->m.space, r->cookie, a->m.kind))
			sim_fail("%u is not called for what it waits for", a->m.id);
	}
}

/* How many are in the ring of an owner, for a kind and a lane? */
static u32 ring_length(const struct dxk_owner *owner, u32 kind, u32 lane)
{
	const struct dxk_owns *owns = &model.e->owns;
	u32 at = owner->own[kind][lane], nr = 0;
	const struct dxk_own *first = at ? &owns->own[at - 1] : NULL, *own = first;

	for (; own && (own != first || !nr); own = list_next_entry(own, link), nr++)
		if (own->rqe->owner != owner || own->rqe->kind != kind ||
		    own->rqe->lane != lane || own->rqe->state != DXK_READY)
			sim_fail("in the wrong owner's ring");
	return nr;
}

/* What is Ready is in a ring of its owner. */
static void check_owns(const struct dxk_engine *e)
{
	const struct dxk_owner *owner;
	u32 i, slot, nr = 0;

	for (i = 0; e->owners.bucket && i < 1U << e->owners.bits; i++)
		hlist_for_each_entry(owner, &e->owners.bucket[i], hash)
			for (slot = 0; slot < DXK_KINDS * DXK_LANES; slot++)
				nr += ring_length(owner, slot / DXK_LANES, slot % DXK_LANES);
	check_count("Ready requests by owner", nr, e->nr[DXK_AT_READY]);
}

/* Nobody stands in for a worker of a home but those of that home, and spares. */
static void check_askers(const struct dxk_engine *e, const struct crew *c, u32 kind)
{
	u32 home;

	for (home = 0; home <= SIM_HOMES; home++)
		if (c->askers_at[kind][home] && c->parked[kind] +
		    (home && !e->policy.steal ? c->idle_at[kind][home] : c->idle[kind]))
			sim_fail("one that is to block waits for a spare beside one");
}

static void check_workers(const struct dxk_engine *e, const struct crew *c)
{
	u32 kind;

	for (kind = 0; kind < DXK_KINDS; kind++) {
		const struct model_request *extra;

		check_askers(e, c, kind);
		if (e->cancelling && c->idle[kind] && !list_empty(&e->ready.last[kind]))
			sim_fail("a worker is idle beside a last turn");
		if (e->cancelling || !(c->idle[kind] + c->asleep[kind]))
			continue;
		check_idle_beside(kind, c);
		/* A spare may be left over from a run with another policy. */
		extra = e->policy.on_block && !e->owns.own ? model_best(kind, true, 0) : NULL;
		if (!extra)
			continue;
		if (has_helper(e, kind))
			sim_fail("nobody calls a helper for request %d",
				 (int)(extra - model.rq));
		if (c->parked[kind] && c->asleep[kind] > c->extra[kind])
			sim_fail("nobody calls a spare for request %d: %u asleep, %u extra",
				 (int)(extra - model.rq), c->asleep[kind],
				 c->extra[kind]);
	}
	if (e->owns.own && !e->cancelling)
		check_own_helpers(e);
	check_homes(e);
	if (!list_empty(&e->owners.blocked) && !blocks(e))
		sim_fail("a worker waits for an entry of the Rejoin Pool");
}

/*
 * What is Ready can run, once somebody has the time. Last turns are taken as long as there is a
 * worker, whatever the policy has become.
 */
static void check_ready(const struct dxk_engine *e)
{
	u32 i;

	for (i = 0; i < model.nr_ready; i++) {
		const struct model_request *rq = &model.rq[model.ready[i]];

		if (e->cancelling && rq->turn && dxk_has_crew(e, rq->kind))
			continue;
		if (model_closed(rq->kind, rq->lane))
			sim_fail("request %u is Ready, and no worker will ever run it",
				 model.ready[i]);
	}
}

/* --- requests that wait -------------------------------------------------------- */

/* When the clock is to look at it. */
static u64 alarm_of(const struct dxk_more *more, u8 state)
{
	if (state == DXK_WAITING && !more->ripe && more->wait.wait & DXK_WAIT_TIME)
		return min(more->wait.deadline, more->expire);
	return more->expire;
}

/* What can be read has been seen, and somebody is about to tell; or is looking. */
static void check_file(const struct model_request *rq, const struct device *d)
{
	if (d->firing || d->w.event.pending)
		return;
	if (d->w.event.seen || (d->level && !d->armed))
		sim_fail("request %u waits for a file that can be read",
			 (u32)rq->rqe->param);
}

static void check_wait(const struct dxk_engine *e, const struct model_request *rq)
{
	const struct dxk_more *more = rq->rqe->more;
	const struct dxk_wait *wait = &more->wait;
	const struct model_owner *o = model_owner_of(rq->owner->space, wait->owner);

	if (rq->owner->space->closed && rq->owner->space->is_private)
		return;
	if (!rq->turn && !rq->attempts && e->cancelling && !house.telling)
		sim_fail("request %u was never begun, and a Stop that cancels leaves it",
			 (u32)rq->rqe->param);
	if (rq->held) {
		/* Who masks a wait is told with the next one. */
		if (rq->turn && more->cancelled && more->wake != DXK_WAKE_CANCEL && !rq->masked)
			sim_fail("request %u is Held and cancelled, and will not know",
				 (u32)rq->rqe->param);
		return;
	}
	if (more->ripe) {
		if (model_ripe_admits(rq) && !e->cancelling)
			sim_fail("request %u waits for room that there is",
				 (u32)rq->rqe->param);
		return;
	}
	if (wait->wait & DXK_WAIT_JOIN && (!o || !model_coming(o->nr)) && !e->cancelling)
		sim_fail("request %u waits for an owner that has nothing coming",
			 (u32)rq->rqe->param);
	if (wait->wait & DXK_WAIT_FILE && !e->cancelling)
		check_file(rq, device_of(more->watch));
	if (wait->wait & DXK_WAIT_MASKED && rq->turn)
		return;
	if (rq->turn && (more->cancelled || e->cancelling))
		sim_fail("request %u waits, and is cancelled", (u32)rq->rqe->param);
	if (rq->turn && !rq->lane && e->state == DXK_CTX_STOPPING)
		sim_fail("a service waits on, and Stop has begun");
}

/* In order, and where who makes room finds them. Return: how many there are. */
static u32 check_ripe(const struct dxk_ready *ready, u32 lane, u32 share)
{
	const struct dxk_more *more;
	u64 arrival = 0;
	u32 nr = 0;

	list_for_each_entry(more, &ready->ripe[lane][share], joiner) {
		if (!more->ripe || more->rqe->lane != lane || more->rqe->share != share ||
		    (nr && more->arrival <= arrival))
			sim_fail("request %u is ripe, and in no place of its own",
				 (u32)more->rqe->param);
		arrival = more->arrival;
		nr++;
	}
	check_count("the bit of those that are ripe", ready->ripe_shares[lane] >> share & 1, !!nr);
	return nr;
}

static void check_waits(const struct dxk_engine *e, bool excused)
{
	u32 i, waiting = 0, line, lines = 0, ripe = 0;
	const struct dxk_rqe *rqe;

	for (i = 0; i < model.top_request; i++) {
		const struct model_request *rq = &model.rq[i];

		waiting += rq->state == DXK_WAITING;
		ripe += rq->state == DXK_WAITING && rq->rqe->more->ripe;
		if (rq->state == DXK_FREE || rq->state == DXK_POSTED ||
		    rq->state == DXK_REJOIN || !rq->rqe->more)
			continue;
		if ((rq->state == DXK_READY || rq->state == DXK_WAITING) &&
		    list_empty(&rq->rqe->more->sibling))
			sim_fail("a request that a purge of its owner would not find");
		if (!(rq->state == DXK_WAITING && e->cancelling))
			check_count("when the clock looks", rq->rqe->more->at,
				    alarm_of(rq->rqe->more, rq->state));
		if (rq->state == DXK_WAITING && !excused)
			check_wait(e, rq);
	}
	check_count("requests that wait", waiting, model.nr[DXK_AT_WAIT]);
	for (i = 0; i < DXK_LANES * DXK_SHARES; i++)
		ripe -= check_ripe(&e->ready, i / DXK_SHARES, i % DXK_SHARES);
	check_count("ripe requests that nobody finds", ripe, 0);
	for (line = 0; line < DXK_LINES; line++)
		list_for_each_entry(rqe, &e->waits.line[line], link)
			lines++;
	check_count("requests in the lines of those that wait", lines, waiting);
	check_count("those of them that were posted waiting", e->waits.unbegun, model_unbegun());
	for (i = 0; i < DXK_KINDS && e->cancelling && !excused; i++)
		if (!dxk_has_crew(e, i) && (!list_empty(&e->ready.last[i]) ||
					    !list_empty(&e->waits.line[DXK_LINE_KEPT + i])))
			sim_fail("nobody is left to take a last turn, and Stop waits for it");
	if (!list_empty(&e->waits.eager))
		sim_fail("one that was to follow at once does not");
	if (!excused && !list_empty(&e->waits.joined))
		sim_fail("what a request waits for has happened, and it is not told");
}

/* --- Stop, managers, stalls -------------------------------------------------- */

static void check_stop(const struct dxk_engine *e, const struct crew *c)
{
	bool over = stopped_running(e) && e->state != DXK_CTX_STARTING &&
		    (e->state == DXK_CTX_STOPPED ||
		     !model_coming(model.nr));

	if (!over)
		return;
	if (c->idle[0] + c->idle[1] + c->parked[0] + c->parked[1])
		sim_fail("a worker sleeps on, and there will be no work");
	if (!list_empty(&e->stoppers))
		sim_fail("Stop sleeps on, and nothing executes");
	if (e->state == DXK_CTX_STOPPED && !list_empty(&e->crew.managers))
		sim_fail("a manager sleeps on in a stopped context");
}

static void check_managers(const struct dxk_engine *e, const struct crew *c)
{
	const struct dxk_policy *p = &e->policy;
	u32 workers = c->workers[DXK_USER], ready = 0, i;
	u32 places = p->max_threads - p->kernel_threads;

	if (!list_empty(&e->crew.managers) && c->askers[DXK_USER] && dxk_spares_room(e) &&
	    !c->spares_coming[DXK_USER] && !stopped_running(e))
		sim_fail("a manager sleeps, and a spare is asked for");
	if (p->autotune && p->min_threads)
		places = min(places, max(p->min_threads, e->crew.most));
	if (list_empty(&e->crew.managers) || stopped_running(e) || places <= workers)
		return;
	if (!p->min_threads || workers < p->min_threads)
		sim_fail("a manager sleeps and there are places for workers");
	for (i = 0; i < model.top_request; i++)
		ready += model.rq[i].state == DXK_READY && model.rq[i].kind == DXK_USER;
	if (ready > c->coming[DXK_USER] && !c->idle[DXK_USER] && !e->cancelling)
		sim_fail("a manager sleeps and %u requests are Ready, %u workers on their way",
			 ready, c->coming[DXK_USER]);
}

static bool waiting_for_files(void)
{
	u32 i;

	for (i = 0; i < model.top_request; i++)
		if (model.rq[i].state == DXK_WAITING &&
		    model.rq[i].rqe->more->wait.wait & DXK_WAIT_FILE)
			return true;
	return false;
}

/* Nobody runs, and there is somebody who waits or something to do. */
static bool stuck(const struct dxk_engine *e, const struct crew *c)
{
	u32 asleep = c->asleep[0] + c->asleep[1] - (c->marked - c->dozing);

	if (nothing_goes_on(e) || c->present != asleep + c->idle[0] + c->idle[1] +
					      c->parked[0] + c->parked[1] + c->resting)
		return false;
	/* The clock goes on, and there is somebody for what it brings. */
	if (c->idle[0] + c->idle[1] &&
	    (!RB_EMPTY_ROOT(&e->waits.alarms.rb_root) || waiting_for_files()))
		return false;
	if (asleep)
		return true;
	return c->clients_asleep && c->clients_asleep + c->clients_resting == c->clients &&
	       (model.nr_ready || dxk_ready_has_posters(&e->ready) || model.nr[DXK_AT_WAIT]);
}

static void check_stall(const struct dxk_engine *e, const struct crew *c, bool excused)
{
	const struct dxk_stats *s = &e->stats;
	u64 progress = s->posts + s->dispatches + s->completions + s->collected;
	bool is = stuck(e, c);

	if (is != dxk_nobody_can_run(e))
		sim_fail("nobody can run: %d", is);
	if (progress != model.progress) {
		model.progress = progress;
		model.progressed = sim_now;
		model.stuck_since = 0;
	}
	if (!is)
		model.stuck_since = 0;
	else if (!model.stuck_since || sim_laggards())
		model.stuck_since = sim_now;
	if (!is || excused || house.stall.reported)
		return;
	if (!e->stalled)
		sim_fail("nobody can run, and the Monitor is not called");
	/* It is about to look, when it gets the processor. */
	if (house.control[DXK_MONITOR].task->state == SIM_RUNNABLE)
		return;
	/* The Monitor's first look, how long it lasts, and the look after that. */
	if (sim_now - model.stuck_since > NSEC_PER_MSEC *
	    (2ULL * e->policy.monitor_interval_ms + DXK_SPARE_MS + DXK_STALL_MS + 100))
		sim_fail("a stall is not told");
}

/**
 * check_told - the Monitor tells a stall
 *
 * Workers that look for work in between, and find none, do not end one.
 */
void check_told(void)
{
	if (sim_now - model.progressed < DXK_STALL_MS * NSEC_PER_MSEC)
		sim_fail("a stall is told that is none");
}

/* --- when -------------------------------------------------------------------- */

/*
 * Something has happened, and thread 700 has been told, or is about it, or a worker is that slept
 * for work; or all workers run, and each looks when it ceases to.
 */
static void check_events(const struct dxk_engine *e)
{
	const struct control *c = &house.control[DXK_DISPATCHER];
	bool all_run = e->crew.present && dxk_crew_awake(&e->crew) == e->crew.present;

	if (!e->waits.call && e->waits.files && (!all_run || dxk_may_relieve(e)))
		sim_fail("a worker does not run, and who fires does not kick");
	if (!!e->waits.catcher != (e->waits.call && e->waits.call != DXK_CALL_DISPATCHER))
		sim_fail("who fires wakes another one than is known");
	if (e->waits.catcher && (e->waits.catcher->task != e->waits.call ||
				 !actor_queued(e->waits.catcher)))
		sim_fail("who fires wakes somebody who does not sleep for work");
	if (!e->waits.call && !e->waits.firing)
		return;
	if ((llist_empty(&e->waits.fired) && !e->waits.firing) || e->owing || !c->task || c->stop)
		return;
	if (c->task->state == SIM_ASLEEP && !c->kicked && !devices_firing() &&
	    !(e->waits.catcher && e->waits.call->state != SIM_ASLEEP))
		sim_fail("something has happened, and nobody is told");
}

/* What is cancelled with its owner is looked at in this hold, or owed. */
static void check_purges(const struct dxk_engine *e)
{
	const struct dxk_member *m;
	u32 nr = 0;

	if (!list_empty(&e->purges.owners)) {
		if (!e->owing)
			sim_fail("an owner is cancelled, and nobody does it");
		return;
	}
	list_for_each_entry(m, &e->crew.members, fellows)
		nr++;
	check_count("workers to be told", nr, e->crew.present);
	if (e->ready.cursor || !list_empty(&e->purges.members))
		sim_fail("no owner is cancelled, and something is still looked at");
}

static void check_all(const struct dxk_engine *e, bool excused)
{
	struct crew c;

	check_requests(e);
	check_owners(e);
	check_crew(e, &c);
	check_sleepers(excused);
	if (e->owns.own)
		check_owns(e);
	check_purges(e);
	items_check(false);
	check_events(e);
	check_waits(e, excused);
	check_keys(e, excused);
	check_stall(e, &c, excused);
	if (excused)
		return;
	check_workers(e, &c);
	if (!house.enforcing)
		check_ready(e);
	check_stop(e, &c);
	check_managers(e, &c);
}

/* The state of a run that ends comes first; then its sleepers are told, in further holds. */
static bool is_being_told(const struct dxk_engine *e)
{
	const struct dxk_run *run = &e->run;
	u32 i;

	if (e->state < DXK_CTX_STOPPING)
		return false;
	if (run->shut <= run->how && (run->closed || !dxk_run_is_over(e)))
		return true;
	if (!house.telling)
		return false;
	for (i = 0; i < sim_tasks(); i++) {
		const struct task_struct *t = sim_task(i);

		if (t->halting && !(t->state == SIM_ASLEEP && t->deadline != DXK_FOREVER))
			return true;
	}
	return false;
}

/* What is checked is what the engine's lock protects. */
void check_hold_begin(const spinlock_t *lock)
{
	if (lock == &house.e.lock)
		model.holds++;
}

void check_hold_end(const spinlock_t *lock)
{
	const struct dxk_engine *e = &house.e;

	if (lock != &e->lock)
		return;
	if (e->ready.tick != model.ticks) {
		model_tick();
		check_count("ticks", e->ready.tick, ++model.ticks);
	}
	sim_self->backlog = dxk_ready_nr(&e->ready, DXK_USER);
	check_run();
	check_all(e, e->owing || !list_empty(&e->owners.owed) ||
		  is_being_told(e));
}

/* A sleep of which somebody has said that it is over. */
static void check_sleep(const struct task_struct *t)
{
	if (t->state == SIM_ASLEEP && t->done && *t->done)
		sim_fail("%s sleeps on: its wake-up was lost", t->name);
}

/* What is free is looked after while the context runs, and there is none when it does not. */
static void check_pool(const struct dxk_engine *e, const struct dxk_free_pool *pool)
{
	if (e->state == DXK_CTX_RUNNING && pool->nr > pool->keep &&
	    house.control[DXK_MONITOR].task->deadline == DXK_FOREVER)
		sim_fail("%u free objects, and nobody looks after them", pool->nr);
	if (pool->nr && !house.up)
		sim_fail("%u free objects of a context that does not run", pool->nr);
}

/* Nobody can run before time passes: what was due is done. */
static void check_clock(const struct dxk_engine *e)
{
	const struct control *clock = &house.control[DXK_DISPATCHER];
	const struct rb_node *first = rb_first_cached(&e->waits.alarms);
	u64 at = first ? rb_entry(first, struct dxk_more, alarm)->at : DXK_FOREVER;

	if (!clock->task || clock->task->state != SIM_ASLEEP)
		return;
	if (at <= sim_now)
		sim_fail("the time of a request has come, and nothing happens");
	if (clock->task->deadline > at)
		sim_fail("the clock sleeps over the time of a request");
}

/** check_idle - no thread can run: then nothing is owed any more */
void check_idle(void)
{
	struct dxk_engine *e = &house.e;
	struct actor *a;
	u32 i;

	for (i = 0; i < sim_tasks(); i++)
		check_sleep(sim_task(i));
	for_each_actor(a) {
		if (a->refs)
			sim_fail("%u references of %u are left", a->refs, a->m.id);
		if (a->polls_room && !a->m.refused && a->task->state == SIM_ASLEEP)
			sim_fail("%u sleeps in poll and is writable", a->m.id);
		if (a->polls && a->m.readable)
			sim_fail("%u sleeps in poll and is readable", a->m.id);
		if (a->next && actor_queued(&a->next->w) && !a->blocked &&
		    !list_empty(&a->next->ended))
			sim_fail("%u sleeps for work and keeps what has ended", a->m.id);
		if (a->rejoin && actor_queued(&a->rejoin->w) &&
		    e->state == DXK_CTX_STOPPED)
			sim_fail("%u sleeps for results of a stopped context", a->m.id);
		if (a->polls_work && a->task->state == SIM_ASLEEP &&
		    dxk_ready_nr(&e->ready, DXK_USER))
			sim_fail("%u sleeps in poll and there is work", a->m.id);
	}
	for (i = 0; i < DXK_CONTROLS; i++) {
		const struct control *c = &house.control[i];

		if (!c->task || c->task->state != SIM_ASLEEP)
			continue;
		if (c->kicked)
			sim_fail("control thread %u sleeps and was kicked", i);
		if (c->task->deadline == DXK_FOREVER && !e->dormant[i])
			sim_fail("control thread %u was called, and not kicked", i);
	}
	check_pool(e, &e->pool);
	check_pool(e, &e->mores);
	check_pool(e, &e->owners.kept);
	if (e->state == DXK_CTX_RUNNING && e->dormant[DXK_SCHEDULER] &&
	    !dxk_ready_empty(&e->ready))
		sim_fail("requests wait, and nothing ages them");
	if (e->inbox.first || e->taken)
		sim_fail("an operation lies in the inbox");
	check_clock(e);
	items_check(true);
	check_run_idle();
	if (!house.started)
		return;
	e->lock.holder = sim_self;
	order_acquire(&e->lock);
	check_all(e, false);
	check_circles(e);
	order_release(&e->lock);
	e->lock.holder = NULL;
}
