// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Nobody sleeps whose move could be made, and whoever was answered was answered rightly.
 */
#include "engine/dispatch.h"
#include "engine/more.h"

#include "actor.h"
#include "check.h"
#include "house.h"
#include "keys.h"
#include "model.h"

/* Another one of its lane, or of its user, came before it. */
static bool is_behind(const struct actor *a)
{
	const struct actor *b;

	for_each_actor(b)
		if (b != a && b->post && actor_queued(&b->post->w) &&
		    b->sleep_queue == a->sleep_queue && b->slept < a->slept)
			return true;
	return false;
}

static void check_poster(const struct actor *a, bool excused)
{
	const struct dxk_rqe *rqe = list_first_entry(&a->post->rqes, struct dxk_rqe, link);

	if (list_empty(&a->post->rqes))
		sim_fail("%u sleeps to post nothing", a->m.id);
	/* In the middle of a batch it may be that the hold could not go on. */
	if (excused)
		return;
	if (!(rqe->attrs & PXR_WAITIF_BUSY))
		sim_fail("%u sleeps to post without PXR_WAITIF_BUSY", a->m.id);
	if (model_shut(a->m.id))
		sim_fail("%u sleeps to post and is shut out", a->m.id);
	if (is_behind(a))
		return;
	/* Where users have shares from now on, or no more, it goes over when it is the first. */
	if (model_queue(rqe, a->m.share) != a->sleep_queue)
		sim_fail("%u sleeps in the wrong queue", a->m.id);
	if (model_pool_admits(rqe, a->m.share) || model_closed(rqe->kind, rqe->lane))
		sim_fail("%u sleeps to post and there is room, or never will be", a->m.id);
}

static u32 results_of(const struct dxk_rejoin_op *r)
{
	const struct dxk_owner *owner = dxk_owner_find(&model.e->owners, r->m->space,
						       r->cookie);

	return owner ? owner->nr_done : 0;
}

/* Can nothing more come for who waits, or has been given some? */
static bool hopeless(const struct dxk_rejoin_op *r, const struct model_owner *o)
{
	u32 coming = o ? model_coming(o->nr) : 0;
	u32 copying = o ? o->nr[DXK_AT_REJOIN] - results_of(r) : 0;

	return coming <= r->self_held && copying <= (r->free ? 0 : r->nr);
}

/* Of all owners of a space: results that lie there, requests that live. */
static void space_of(const struct dxk_space *space, u32 *results, u32 *live)
{
	u32 i;

	*results = *live = 0;
	for (i = 0; i < model.top_owner; i++) {
		const struct model_owner *o = &model.owner[i];
		const struct dxk_owner *owner;

		if (o->space != space)
			continue;
		owner = dxk_owner_find(&model.e->owners, space, o->cookie);
		*results += owner ? owner->nr_done : 0;
		*live += model_live(o->nr);
	}
}

/* Who sleeps for any owner, and there is an answer? */
static void check_any(const struct actor *a, bool excused)
{
	const struct dxk_rejoin_op *r = a->rejoin;
	u32 results, live;

	space_of(a->m.space, &results, &live);
	if (!r->wait || dxk_is_inside(&a->m))
		sim_fail("%u sleeps for any owner, and should not", a->m.id);
	if (excused)
		return;
	if (r->w.since < house.stopped && model_shut(a->m.id))
		sim_fail("%u sleeps on, Stop has begun", a->m.id);
	if (results || !live)
		sim_fail("%u sleeps for any owner, of which %u results are there, and %u live",
			 a->m.id, results, live);
}

/* Is a hold for one operation alone? Those that are published share one, whoever runs them. */
static bool has_own_hold(void)
{
	return model.e->policy.dispatch == DXK_DISPATCH_DIRECT;
}

static void check_any_answer(const struct actor *a)
{
	const struct dxk_rejoin_op *r = a->rejoin;
	u32 results, live;

	space_of(a->m.space, &results, &live);
	if (r->err == -ESHUTDOWN && !model_shut(a->m.id))
		sim_fail("%u: a shutdown that is none", a->m.id);
	if (r->err == -EDEADLK && !dxk_is_inside(&a->m))
		sim_fail("%u: a deadlock that is none", a->m.id);
	if (r->err)
		return;
	if (r->answer == RJR_RETURNED && (!r->nr || r->nr > r->max))
		sim_fail("%u: %u results", a->m.id, r->nr);
	if (sim_self != a->task || !has_own_hold())
		return;
	if (r->answer == RJR_NONE_EXIST && live)
		sim_fail("%u: none of any owner exist, but %u do", a->m.id, live);
	if (r->answer == RJR_NONE_READY && (results || !live))
		sim_fail("%u: of any owner none is ready, %u are", a->m.id, results);
}

static void check_poller(const struct actor *a, bool excused)
{
	const struct dxk_rejoin_op *r = a->rejoin;
	const struct model_owner *o = model_owner_of(a->m.space, r->cookie);
	u32 results = results_of(r);

	/* Nothing is said to who is held up by what is nested in its work. */
	if (a->m.outer)
		return;
	if (!r->wait && !excused)
		sim_fail("%u sleeps in a poll", a->m.id);
	if (excused)
		return;
	if (r->w.since < house.stopped && model_shut(a->m.id))
		sim_fail("%u sleeps on, Stop has begun", a->m.id);
	if (results >= r->min || (results && (hopeless(r, o) ||
	    model.e->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER)))
		sim_fail("%u sleeps and there are %u results for it", a->m.id, results);
	if (hopeless(r, o))
		sim_fail("%u sleeps and nothing can come", a->m.id);
}

/* An answer that was given in this hold. */
static void check_answer(const struct actor *a)
{
	const struct dxk_rejoin_op *r = a->rejoin;
	const struct model_owner *o = model_owner_of(a->m.space, r->cookie);
	/* Has nothing but this happened to the owner in this hold? */
	bool quiet = has_own_hold() && (!o || o->hold != model.holds);
	u32 results = results_of(r);

	if (r->helper.called || r->answer == RJR_HELP)
		return;
	if (r->err) {
		if (r->err == -ESHUTDOWN && !model_shut(a->m.id))
			sim_fail("%u: a shutdown that is none", a->m.id);
		if (r->err == -EDEADLK && quiet && (results || !hopeless(r, o) || !r->self_held) &&
		    !model_is_dead(r))
			sim_fail("%u: a deadlock that is none", a->m.id);
		return;
	}
	switch (r->answer) {
	case RJR_RETURNED:
		if (!r->nr || r->nr > r->max)
			sim_fail("%u: %u results", a->m.id, r->nr);
		if (quiet && r->wait && r->nr < r->min && !hopeless(r, o) &&
		    model.e->policy.rejoin_full != DXK_REJOIN_BLOCK_WORKER)
			sim_fail("%u: %u results, waits for %u", a->m.id, r->nr, r->min);
		if (quiet && results && r->nr < r->max)
			sim_fail("%u: %u results of %u", a->m.id, r->nr, r->nr + results);
		break;
	case RJR_NONE_EXIST:
		/* Of many sleepers some are told in a later hold. */
		if (!model_gone(o, a->called))
			sim_fail("%u: none exist, but %u do", a->m.id, model_live(o->nr));
		break;
	case RJR_NONE_READY:
		if (r->wait || (quiet && (results || !o || !model_live(o->nr))))
			sim_fail("%u: none ready, %u are", a->m.id, results);
		break;
	default:
		sim_fail("%u: answer %u", a->m.id, r->answer);
	}
}

/* There is to be room for that before it is writable. One that begins waiting needs no entry. */
static void note_refused(struct actor *a)
{
	const struct dxk_rqe *rqe = list_first_entry(&a->post->rqes, struct dxk_rqe, link);
	bool entry = !(rqe->attrs & (PXR_WAIT | PXR_KEY)) || rqe->more->stands;

	a->wanted = (struct dxk_rqe) {
		.attrs = entry ? PXR_LANE3 | (rqe->attrs & PXR_REJOIN) : 0,
		.lane = rqe->lane, .kind = rqe->kind,
	};
}

static void check_refused(struct actor *a)
{
	if (a->post->err == -EAGAIN)
		note_refused(a);
	if (a->post->err == -ESHUTDOWN && !model_shut(a->m.id))
		sim_fail("%u: a post is refused, and it is not shut out", a->m.id);
}

static void check_watcher(const struct actor *a)
{
	const struct dxk_owner *owner = a->m.watching;

	if (owner && (owner->nr_done || !owner->space))
		sim_fail("%u watches an owner that has changed", a->m.id);
}

/* Do others sleep for the room, who come before? */
static bool is_awaited(const struct actor *a)
{
	u32 queue = model_queue(&a->wanted, a->m.share);
	const struct actor *b;

	for_each_actor(b)
		if (b->post && actor_queued(&b->post->w) && b->sleep_queue == queue &&
		    !model_shut(b->m.id))
			return true;
	return false;
}

/* Who has asked whether it is writable, and was not told that it is. */
static void check_writable(const struct actor *a)
{
	if (!a->m.refused || list_empty(&a->m.room) || !a->wanted.attrs)
		return;
	if (model_shut(a->m.id) || dxk_live(&house.e) >= house.e.policy.max_requests ||
	    (model_pool_admits(&a->wanted, a->m.share) && !is_awaited(a)))
		sim_fail("%u watches for room, and there is some", a->m.id);
}

/** check_sleepers - all; excused are those who are owed a look */
void check_sleepers(bool excused)
{
	struct actor *a;

	for_each_actor(a) {
		if (a->post && actor_queued(&a->post->w)) {
			check_poster(a, excused);
		} else if (a->post && a->post->w.done && !a->answered) {
			a->answered = true;
			check_refused(a);
		}
		if (a->rejoin && actor_queued(&a->rejoin->w)) {
			(a->rejoin->any ? check_any : check_poller)(a, excused);
		} else if (a->rejoin && a->rejoin->w.done && !a->answered) {
			a->answered = true;
			a->told = model.holds;
			a->rejoin->any ? check_any_answer(a) : check_answer(a);
		}
		if (!excused) {
			check_watcher(a);
			check_writable(a);
		}
	}
}
