// SPDX-License-Identifier: GPL-2.0-only
/* The engine of the picture (model.h): posting and collecting, and who sleeps for it. */
#define DXT_NO_HARNESS
#include "model_engine.h"

#include <stdlib.h>

const char *const model_stat[STATS] = {
	"posts", "post_busy", "post_refused", "dispatches", "completions", "vanished", "cancelled",
	"put_back", "owner_dead", "redone", "stale", "rejoin_returned",
	"rejoin_none_ready", "rejoin_none_exist", "collected", "self_poll", "waits", "timeouts",
	"expired", "deadlocks",
};

struct member *engine_members;	/* of the one model there is */

void model_reset(struct model *m)
{
	int i, k;

	for (i = 0; i < CTXS; i++)
		for (k = 0; k < m->ctx[i].nr_live; k++)
			free(m->ctx[i].live[k]);
	memset(m, 0, offsetof(struct model, nop));
	engine_members = m->member;
}

/* --- counting ------------------------------------------------------------ */

/* Requests in a state; of a lane and a kind unless these are -1. */
int model_count(const struct ctx *c, enum req_state state, int lane, int kernel)
{
	int i, nr = 0;

	for (i = 0; i < c->nr_live; i++)
		nr += c->live[i]->state == state &&
		      (lane < 0 || c->live[i]->lane == (unsigned int)lane) &&
		      (kernel < 0 || c->live[i]->kernel == kernel);
	return nr;
}

static bool cmls(const struct ctx *c)
{
	return c->policy.sched_mode & TPOOL_MODE_CMLS;
}

/* What lanes 0..lane may hold together. */
uint32_t model_quota(const struct ctx *c, bool ready, unsigned int lane)
{
	uint32_t n = ready ? c->policy.ready_entries : (uint32_t)c->workers, sum = 0, l;

	if (!cmls(c))
		return ready ? n : ~0U;
	if (lane == 3)
		return n;
	for (l = 0; l <= lane; l++)
		if (c->policy.lane_pct[l]) {
			uint32_t own = n * c->policy.lane_pct[l] / 100;

			sum += own ? own : 1;
		}
	return sum < n ? sum : n;
}

static bool lane_admits(const struct ctx *c, bool ready, unsigned int lane)
{
	unsigned int k, sum = 0;

	for (k = 0; k < 4; k++) {
		sum += (unsigned int)model_count(c, ready ? READY : WORK, (int)k,
						 ready ? -1 : 0);
		if (k >= lane && sum >= model_quota(c, ready, k))
			return false;
	}
	return true;
}

bool engine_worker_admits(const struct ctx *c, unsigned int lane)
{
	return lane_admits(c, false, lane);
}

bool engine_lane_has_room(const struct ctx *c, unsigned int lane)
{
	return (uint32_t)model_count(c, READY, -1, -1) < c->policy.ready_entries &&
	       lane_admits(c, true, lane);
}

/* --- the Ready Pool ------------------------------------------------------- */

static bool same_row(const struct req *x, const struct req *y)
{
	return x->kernel == y->kernel && x->lane == y->lane && x->prio == y->prio &&
	       !(x->attrs & PXR_BOOST) == !(y->attrs & PXR_BOOST);
}

/* With the place that it has. In the midst of a row the module finds no room for it. */
void engine_put_back(const struct ctx *c, struct req *r)
{
	bool older = false, newer = false;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		const struct req *x = c->live[i];

		if (x == r || x->state != READY || x->last || x->treed || !same_row(x, r))
			continue;
		older |= x->seq < r->seq;
		newer |= x->seq > r->seq;
	}
	r->state = READY;
	r->treed = older && newer;
}

void engine_enter_ready(struct ctx *c, struct req *r)
{
	r->seq = ++c->seq;
	engine_put_back(c, r);
}

/* In a Stop(cancel), behind others who have only that turn. */
void engine_enter_last(struct ctx *c, struct req *r)
{
	r->state = READY;
	r->last = true;
	r->last_seq = ++c->order;
}

struct req *engine_last(const struct ctx *c)
{
	struct req *first = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++)
		if (c->live[i]->state == READY && c->live[i]->last &&
		    (!first || c->live[i]->last_seq < first->last_seq))
			first = c->live[i];
	return first;
}

/* The next to be dispatched: the most urgent admissible one, the oldest of equals. */
struct req *model_best(const struct ctx *c, bool kernel)
{
	struct req *best = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];

		if (r->state != READY || r->last || r->kernel != kernel ||
		    (!kernel && !lane_admits(c, false, r->lane)))
			continue;
		if (!best || r->prio > best->prio ||
		    (r->prio == best->prio && r->seq < best->seq))
			best = r;
	}
	return best;
}

bool model_has_work(const struct ctx *c)
{
	return c->cancelling ? engine_last(c) : model_best(c, false);
}

bool engine_of_owner(const struct req *r, const struct space *s, uint64_t owner)
{
	return r->space == s && r->owner == owner;
}

int engine_owner_count(const struct ctx *c, const struct space *s, uint64_t owner,
		       enum req_state state)
{
	int i, nr = 0;

	for (i = 0; i < c->nr_live; i++)
		nr += c->live[i]->state == state && engine_of_owner(c->live[i], s, owner);
	return nr;
}

/* Requests that are still to end. */
int engine_owner_coming(const struct ctx *c, const struct space *s, uint64_t owner)
{
	return engine_owner_count(c, s, owner, READY) + engine_owner_count(c, s, owner, WORK) +
	       engine_owner_count(c, s, owner, WAITING);
}

int model_owners(const struct ctx *c)
{
	int i, k, nr = 0;

	for (i = 0; i < c->nr_live; i++) {
		for (k = 0; k < i; k++)
			if (engine_of_owner(c->live[k], c->live[i]->space, c->live[i]->owner))
				break;
		nr += k == i;
	}
	return nr;
}

void engine_vanish(struct ctx *c, struct req *r)
{
	int i, live = 0;

	for (i = 0; c->live[i] != r; i++)
		;
	memmove(&c->live[i], &c->live[i + 1], (c->nr_live - i - 1) * sizeof(r));
	c->nr_live--;
	for (i = 0; i < c->nr_live; i++)
		live += engine_of_owner(c->live[i], r->space, r->owner);
	if (!live)
		engine_owner_gone(c, r->space, r->owner);
	if (r->attrs & PXR_REJOIN)
		c->freed = true;
	free(r);
}

/* --- sleeping ------------------------------------------------------------ */

void engine_fall_asleep(struct ctx *c, struct member *m, enum sleep how)
{
	m->sleep = how;
	m->arrival = ++c->arrivals;
}

void engine_leave_idle(struct ctx *c, struct member *m)
{
	int i;

	for (i = 0; i < c->nr_idle; i++)
		if (c->idle[i] == m) {
			memmove(&c->idle[i], &c->idle[i + 1],
				(c->nr_idle - i - 1) * sizeof(m));
			c->nr_idle--;
			return;
		}
}

/* The member's call is over; engine_settle() makes the answer of it. */
void engine_finish(struct ctx *c, struct member *m, long rc)
{
	engine_leave_idle(c, m);
	m->sleep = AWAKE;
	m->proc->done = true;
	m->proc->told = false;
	m->proc->answer.rc = rc;
}

/* The member that sleeps so and came first after @after, or NULL. */
struct member *engine_sleeper(const struct ctx *c, enum sleep how, uint64_t after)
{
	struct member *m, *first = NULL;

	for (m = engine_members; m < engine_members + MEMBERS; m++)
		if (m->used && m->ctx == c && m->sleep == how && m->arrival > after &&
		    (!first || m->arrival < first->arrival))
			first = m;
	return first;
}

/* Are its posts refused? Stop(drain) leaves those who execute a request alone (DX-107). */
bool engine_shut(const struct ctx *c, const struct member *m)
{
	return c->state != RUNNING &&
	       !(c->state == STOPPING && !c->cancelling && !m->client && m->nr_busy);
}

/* --- posting ------------------------------------------------------------- */

/* A name has to be free. Who begins waiting has to be one of those who may. */
static long admit_more(struct ctx *c, struct req *r, uint32_t *reason)
{
	unsigned int i, unbegun = 0;

	if (r->named && engine_named(c, r->space, r->name))
		return -EEXIST;
	if (!(r->attrs & PXR_WAIT))
		return 0;
	r->wake = engine_wait_over(c, r, true);
	if (r->wake)
		return r->wake == DXK_WAKE_DEADLOCK ? -EDEADLK : 0;
	for (i = 0; i < (unsigned int)c->nr_live; i++)
		unbegun += c->live[i]->state == WAITING && !engine_begun(c->live[i]);
	if (unbegun < c->policy.max_waiting)
		return 0;
	*reason = PXR_NO_SPACE;
	return -ENOSPC;
}

/* Does it wait for something else before it needs room? */
static bool begins_waiting(const struct req *r)
{
	return r->attrs & PXR_WAIT && !r->wake;
}

static long admit(struct ctx *c, struct req *r, uint32_t *reason)
{
	int i, reserved = 0;
	long error;

	*reason = 0;
	if (!model_quota(c, true, r->lane)) {
		*reason = PXR_LANE_CLOSED;
		return -EPERM;
	}
	if ((uint32_t)c->nr_live >= c->policy.max_requests) {
		*reason = PXR_NO_SPACE;
		return -ENOSPC;
	}
	error = admit_more(c, r, reason);
	if (error)
		return error;
	r->stands |= !begins_waiting(r);
	if (!r->stands)
		;
	else if ((uint32_t)model_count(c, READY, -1, -1) >= c->policy.ready_entries)
		*reason = PXR_POOL_FULL;
	else if (!lane_admits(c, true, r->lane))
		*reason = PXR_LANE_FULL;
	for (i = 0; i < c->nr_live; i++)
		reserved += !!(c->live[i]->attrs & PXR_REJOIN);
	if (!*reason && c->policy.rejoin_full == DXK_REJOIN_RESERVE && c->state == RUNNING &&
	    r->attrs & PXR_REJOIN && (uint32_t)reserved >= c->policy.rejoin_entries)
		*reason = PXR_REJOIN_FULL;
	return *reason ? -EAGAIN : 0;
}

/* Does somebody but @self sleep whose next request is of the lane? */
static struct member *lane_sleeper(const struct ctx *c, unsigned int lane,
				   const struct member *self)
{
	struct member *m = NULL;

	while ((m = engine_sleeper(c, S_POST, m ? m->arrival : 0)))
		if (m != self && m->reqs[0]->lane == lane)
			return m;
	return NULL;
}

void engine_post_end(struct ctx *c, struct member *m, long error, uint32_t reason)
{
	c->stat[ST_POST_REFUSED] += error == -ESHUTDOWN;
	m->proc->answer.index = (uint32_t)m->taken;
	m->proc->answer.reason = reason;
	engine_finish(c, m, m->taken ? m->taken : error);
	while (m->nr)
		free(m->reqs[--m->nr]);
}

/* As far as there is room. @head: it sleeps and is the first of its lane. */
void engine_post_continue(struct ctx *c, struct member *m, bool head)
{
	unsigned int lane = head ? m->reqs[0]->lane : 4;

	while (m->nr) {
		struct req *r = m->reqs[0];
		uint32_t reason;
		long error = admit(c, r, &reason);

		/* behind those of the lane who sleep already, were they later in another */
		if (!error && r->lane != lane && r->stands &&
		    (lane_sleeper(c, r->lane, m) || engine_has_ripe(c, r->lane))) {
			error = -EAGAIN;
			reason = PXR_REJOIN_FULL;
		}
		if (error) {
			if (error != -EAGAIN || !(r->attrs & PXR_WAITIF_BUSY)) {
				c->stat[ST_POST_BUSY] += error == -EAGAIN;
				c->stat[ST_DEADLOCKS] += error == -EDEADLK &&
							 r->wait.owner != r->owner;
				engine_post_end(c, m, error, reason);
			} else if (r->lane != lane) {
				engine_fall_asleep(c, m, S_POST);
			}
			return;
		}
		if (c->nr_live == LIVE)
			abort();
		c->live[c->nr_live++] = r;
		if (r->more)
			r->sibling_seq = ++c->order;
		engine_alarm_set(c, r, r->expire);
		if (begins_waiting(r))
			engine_wait_enter(c, r);
		else
			engine_enter_ready(c, r);
		c->stat[ST_POSTS]++;
		m->taken++;
		m->nr--;
		memmove(m->reqs, m->reqs + 1, m->nr * sizeof(r));
	}
	engine_post_end(c, m, 0, 0);
}

/* Lets in, the longest sleeper first, each who is the first of his lane and has room. */
void engine_serve_posters(struct ctx *c)
{
	struct member *m = NULL;
	uint32_t reason;

	engine_admit_ripe(c);
	while ((m = engine_sleeper(c, S_POST, m ? m->arrival : 0))) {
		if (lane_sleeper(c, m->reqs[0]->lane, NULL) != m ||
		    admit(c, m->reqs[0], &reason) == -EAGAIN)
			continue;
		engine_post_continue(c, m, true);
		m = NULL;
	}
}

/* --- collecting ---------------------------------------------------------- */

bool engine_rejoin_answer(struct ctx *c, struct member *m)
{
	const struct space *s = m->space;
	uint64_t owner = m->owner;
	int done = engine_owner_count(c, s, owner, DONE), min = m->min, i;
	int leaving = engine_owner_count(c, s, owner, LEAVING);
	int coming = engine_owner_coming(c, s, owner);
	bool hope = coming > m->mine || leaving;

	if (c->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER)
		min = 1;
	if (done >= min || (done && (!m->wait || !hope))) {
		for (m->nr = 0; m->nr < m->max && m->nr < done; m->nr++) {
			struct req *oldest = NULL;

			for (i = 0; i < c->nr_live; i++)
				if (c->live[i]->state == DONE &&
				    engine_of_owner(c->live[i], s, owner) &&
				    (!oldest || c->live[i]->done_seq < oldest->done_seq))
					oldest = c->live[i];
			oldest->state = LEAVING;
			m->reqs[m->nr] = oldest;
		}
		c->stat[ST_RETURNED]++;
		engine_finish(c, m, m->nr);
		return true;
	}
	if (!done && !coming && !leaving) {
		c->stat[ST_NONE_EXIST]++;
		m->proc->answer.answer = RJR_NONE_EXIST;
		engine_finish(c, m, 0);
		return true;
	}
	if (!m->wait) {
		c->stat[ST_NONE_READY]++;
		m->proc->answer.answer = RJR_NONE_READY;
		engine_finish(c, m, 0);
		return true;
	}
	if (!hope)
		engine_finish(c, m, -EDEADLK);
	return !hope;
}

/* Something about the owner has changed: who waits for it is told. */
void engine_owner_changed(struct ctx *c, const struct space *s, uint64_t owner)
{
	struct member *m = NULL;
	int done, live;

	engine_owner_join(c, s, owner);
	while ((m = engine_sleeper(c, S_REJOIN, m ? m->arrival : 0)))
		if (m->space == s && m->owner == owner)
			engine_rejoin_answer(c, m);
	done = engine_owner_count(c, s, owner, DONE);
	live = done + engine_owner_coming(c, s, owner) +
	       engine_owner_count(c, s, owner, LEAVING);
	for (m = engine_members; (done || !live) && m < engine_members + MEMBERS; m++)
		if (m->used && m->ctx == c && m->watching && m->space == s &&
		    m->watch_owner == owner) {
			m->watching = false;
			m->ready = true;
		}
}

/* The request has ended: its owner may have it, or nobody does. */
void engine_end_request(struct ctx *c, struct req *r)
{
	const struct space *s = r->space;
	uint64_t owner = r->owner;

	r->state = DONE;
	r->at = DXK_FOREVER;
	if (r->attrs & PXR_FAIL_FAST && r->status < 0 && r->status != -ECANCELED &&
	    engine_owner_coming(c, s, owner))
		engine_purge_begin(c, s, owner);
	if (r->attrs & PXR_REJOIN && !s->closed) {
		r->done_seq = ++c->done_seq;
	} else {
		c->stat[ST_VANISHED]++;
		engine_vanish(c, r);
	}
	engine_owner_changed(c, s, owner);
}
