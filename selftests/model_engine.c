// SPDX-License-Identifier: GPL-2.0-only
/* The engine of the picture (model.h): what becomes of requests, and of who sleeps. */
#define DXT_NO_HARNESS
#include "model.h"

#include <stdlib.h>

const char *const model_stat[STATS] = {
	"posts", "post_busy", "dispatches", "completions", "vanished", "cancelled",
	"put_back", "owner_dead", "redone", "stale", "rejoin_returned",
	"rejoin_none_ready", "rejoin_none_exist", "collected", "self_poll",
};

static struct member *all_members;	/* of the one model there is */

void model_reset(struct model *m)
{
	int i, k;

	for (i = 0; i < CTXS; i++)
		for (k = 0; k < m->ctx[i].nr_live; k++)
			free(m->ctx[i].live[k]);
	memset(m, 0, offsetof(struct model, nop));
	all_members = m->member;
}

/* --- counting ----------------------------------------------------------------------- */

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

/* The next to be dispatched: the most urgent admissible one, the oldest of equals. */
struct req *model_best(const struct ctx *c, bool kernel)
{
	struct req *best = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];

		if (r->state != READY || r->kernel != kernel ||
		    (!kernel && !lane_admits(c, false, r->lane)))
			continue;
		if (!best || r->prio > best->prio ||
		    (r->prio == best->prio && r->seq < best->seq))
			best = r;
	}
	return best;
}

static bool of_owner(const struct req *r, const struct space *s, uint64_t owner)
{
	return r->space == s && r->owner == owner;
}

static int owner_count(const struct ctx *c, const struct space *s, uint64_t owner,
		       enum req_state state)
{
	int i, nr = 0;

	for (i = 0; i < c->nr_live; i++)
		nr += c->live[i]->state == state && of_owner(c->live[i], s, owner);
	return nr;
}

int model_owners(const struct ctx *c)
{
	int i, k, nr = 0;

	for (i = 0; i < c->nr_live; i++) {
		for (k = 0; k < i; k++)
			if (of_owner(c->live[k], c->live[i]->space, c->live[i]->owner))
				break;
		nr += k == i;
	}
	return nr;
}

static void vanish(struct ctx *c, struct req *r)
{
	int i;

	for (i = 0; c->live[i] != r; i++)
		;
	memmove(&c->live[i], &c->live[i + 1], (c->nr_live - i - 1) * sizeof(r));
	c->nr_live--;
	if (r->attrs & PXR_REJOIN)
		c->freed = true;
	free(r);
}

/* --- sleeping ------------------------------------------------------------------------ */

static void fall_asleep(struct ctx *c, struct member *m, enum sleep how)
{
	m->sleep = how;
	m->arrival = ++c->arrivals;
}

static void leave_idle(struct ctx *c, struct member *m)
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
static void finish(struct ctx *c, struct member *m, long rc)
{
	leave_idle(c, m);
	m->sleep = AWAKE;
	m->proc->done = true;
	m->proc->told = false;
	m->proc->answer.rc = rc;
}

/* The member that sleeps so and came first after @after, or NULL. */
static struct member *sleeper(const struct ctx *c, enum sleep how, uint64_t after)
{
	struct member *m, *first = NULL;

	for (m = all_members; m < all_members + MEMBERS; m++)
		if (m->used && m->ctx == c && m->sleep == how && m->arrival > after &&
		    (!first || m->arrival < first->arrival))
			first = m;
	return first;
}

/* --- posting ------------------------------------------------------------------------- */

static long admit(const struct ctx *c, const struct req *r, uint32_t *reason)
{
	int i, reserved = 0;

	*reason = 0;
	if (!model_quota(c, true, r->lane)) {
		*reason = PXR_LANE_CLOSED;
		return -EPERM;
	}
	if ((uint32_t)c->nr_live >= c->policy.max_requests) {
		*reason = PXR_NO_SPACE;
		return -ENOSPC;
	}
	if ((uint32_t)model_count(c, READY, -1, -1) >= c->policy.ready_entries)
		*reason = PXR_POOL_FULL;
	else if (!lane_admits(c, true, r->lane))
		*reason = PXR_LANE_FULL;
	for (i = 0; i < c->nr_live; i++)
		reserved += !!(c->live[i]->attrs & PXR_REJOIN);
	if (!*reason && c->policy.rejoin_full == DXK_REJOIN_RESERVE &&
	    r->attrs & PXR_REJOIN && (uint32_t)reserved >= c->policy.rejoin_entries)
		*reason = PXR_REJOIN_FULL;
	return *reason ? -EAGAIN : 0;
}

/* Does somebody sleep whose next request is of the lane? */
static struct member *lane_sleeper(const struct ctx *c, unsigned int lane)
{
	struct member *m = NULL;

	while ((m = sleeper(c, S_POST, m ? m->arrival : 0)))
		if (m->reqs[0]->lane == lane)
			return m;
	return NULL;
}

static void post_end(struct ctx *c, struct member *m, long error, uint32_t reason)
{
	m->proc->answer.index = (uint32_t)m->taken;
	m->proc->answer.reason = reason;
	finish(c, m, m->taken ? m->taken : error);
	while (m->nr)
		free(m->reqs[--m->nr]);
}

/* As far as there is room. @head: it sleeps and is the first of its lane. */
static void post_continue(struct ctx *c, struct member *m, bool head)
{
	unsigned int lane = head ? m->reqs[0]->lane : 4;

	while (m->nr) {
		struct req *r = m->reqs[0];
		uint32_t reason;
		long error = admit(c, r, &reason);

		/* behind those of the lane who sleep already */
		if (!error && r->lane != lane && lane_sleeper(c, r->lane) &&
		    lane_sleeper(c, r->lane) != m) {
			error = -EAGAIN;
			reason = PXR_REJOIN_FULL;
		}
		if (error) {
			if (error != -EAGAIN || !(r->attrs & PXR_WAITIF_BUSY)) {
				c->stat[ST_POST_BUSY] += error == -EAGAIN;
				post_end(c, m, error, reason);
			} else if (r->lane != lane) {
				fall_asleep(c, m, S_POST);
			}
			return;
		}
		r->state = READY;
		r->seq = ++c->seq;
		if (c->nr_live == LIVE)
			abort();
		c->live[c->nr_live++] = r;
		c->stat[ST_POSTS]++;
		m->taken++;
		m->nr--;
		memmove(m->reqs, m->reqs + 1, m->nr * sizeof(r));
	}
	post_end(c, m, 0, 0);
}

/* Lets in, the longest sleeper first, each who is the first of his lane and has room. */
static void serve_posters(struct ctx *c)
{
	struct member *m = NULL;
	uint32_t reason;

	while ((m = sleeper(c, S_POST, m ? m->arrival : 0))) {
		if (lane_sleeper(c, m->reqs[0]->lane) != m ||
		    admit(c, m->reqs[0], &reason) == -EAGAIN)
			continue;
		post_continue(c, m, true);
		m = NULL;
	}
}

/* --- collecting ----------------------------------------------------------------------- */

static bool rejoin_answer(struct ctx *c, struct member *m)
{
	const struct space *s = m->space;
	uint64_t owner = m->owner;
	int done = owner_count(c, s, owner, DONE), min = m->min, i;
	int coming = owner_count(c, s, owner, READY) + owner_count(c, s, owner, WORK);
	int leaving = owner_count(c, s, owner, LEAVING);
	bool hope = coming > m->mine || leaving;

	if (c->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER)
		min = 1;
	if (done >= min || (done && (!m->wait || !hope))) {
		for (m->nr = 0; m->nr < m->max && m->nr < done; m->nr++) {
			struct req *oldest = NULL;

			for (i = 0; i < c->nr_live; i++)
				if (c->live[i]->state == DONE &&
				    of_owner(c->live[i], s, owner) &&
				    (!oldest || c->live[i]->done_seq < oldest->done_seq))
					oldest = c->live[i];
			oldest->state = LEAVING;
			m->reqs[m->nr] = oldest;
		}
		c->stat[ST_RETURNED]++;
		finish(c, m, m->nr);
		return true;
	}
	if (!done && !coming && !leaving) {
		c->stat[ST_NONE_EXIST]++;
		m->proc->answer.answer = RJR_NONE_EXIST;
		finish(c, m, 0);
		return true;
	}
	if (!m->wait) {
		c->stat[ST_NONE_READY]++;
		m->proc->answer.answer = RJR_NONE_READY;
		finish(c, m, 0);
		return true;
	}
	if (!hope)
		finish(c, m, -EDEADLK);
	return !hope;
}

/* Something about the owner has changed: who waits for it is told. */
static void owner_changed(struct ctx *c, const struct space *s, uint64_t owner)
{
	struct member *m = NULL;
	int done, live;

	while ((m = sleeper(c, S_REJOIN, m ? m->arrival : 0)))
		if (m->space == s && m->owner == owner)
			rejoin_answer(c, m);
	done = owner_count(c, s, owner, DONE);
	live = done + owner_count(c, s, owner, READY) + owner_count(c, s, owner, WORK) +
	       owner_count(c, s, owner, LEAVING);
	for (m = all_members; (done || !live) && m < all_members + MEMBERS; m++)
		if (m->used && m->ctx == c && m->watching && m->space == s &&
		    m->watch_owner == owner) {
			m->watching = false;
			m->ready = true;
		}
}

/* The request has ended: its owner may have it, or nobody does. */
static void end_request(struct ctx *c, struct req *r)
{
	const struct space *s = r->space;
	uint64_t owner = r->owner;

	if (r->attrs & PXR_REJOIN && !s->closed) {
		r->state = DONE;
		r->done_seq = ++c->done_seq;
	} else {
		c->stat[ST_VANISHED]++;
		vanish(c, r);
	}
	owner_changed(c, s, owner);
}

/* --- executing ------------------------------------------------------------------------- */

static void assign(struct ctx *c, struct req *r, unsigned int worker)
{
	r->state = WORK;
	r->ticket = ++c->ticket;
	r->worker = worker;
	r->attempts++;
	c->stat[ST_DISPATCHES]++;
}

static void give(struct ctx *c, struct member *m, struct req *r)
{
	assign(c, r, m->id);
	m->last_attrs = r->attrs;
	if (m->nr_busy == BUSY)
		abort();
	m->busy[m->nr_busy++] = r;
	m->work++;
	serve_posters(c);
}

/* Only lane 3 is given ahead, and only while the backlog is more than one each. */
static bool take(struct ctx *c, struct member *m)
{
	struct req *r = c->cancelling ? NULL : model_best(c, false);
	int share = 1, nr = 0, backlog = model_count(c, READY, -1, 0);

	if (!r)
		return false;
	if (m->max > 1)
		share = (backlog + c->workers - 1) / (c->workers ? c->workers : 1);
	do {
		give(c, m, r);
		if (++nr >= m->max || nr >= share || r->lane != 3)
			break;
		r = model_best(c, false);
	} while (r && r->lane == 3);
	return true;
}

bool engine_out_of_work(const struct ctx *c)
{
	if (c->state == RUNNING)
		return false;
	return c->state != STOPPING || (!model_count(c, READY, -1, -1) &&
					!model_count(c, WORK, -1, -1));
}

static void stop_workers(struct ctx *c)
{
	while (engine_out_of_work(c) && c->nr_idle)
		finish(c, c->idle[0], -ESHUTDOWN);
}

static bool rejoin_blocks(const struct ctx *c)
{
	return c->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER && c->state == RUNNING &&
	       (uint32_t)(model_count(c, DONE, -1, -1) +
			  model_count(c, LEAVING, -1, -1)) >= c->policy.rejoin_entries;
}

void engine_next(struct ctx *c, struct member *m)
{
	while (m->nr) {
		struct req *r = m->reqs[0];

		if (r->attrs & PXR_REJOIN && !r->space->closed && rejoin_blocks(c)) {
			fall_asleep(c, m, S_BLOCKED);
			return;
		}
		m->nr--;
		memmove(m->reqs, m->reqs + 1, m->nr * sizeof(r));
		m->taken++;
		c->stat[ST_COMPLETIONS]++;
		end_request(c, r);
	}
	if (!m->max) {
		finish(c, m, 0);
	} else if (!m->attached) {
		finish(c, m, -ESHUTDOWN);
	} else if (take(c, m)) {
		finish(c, m, m->work);
	} else if (engine_out_of_work(c)) {
		finish(c, m, -ESHUTDOWN);
	} else {
		fall_asleep(c, m, S_IDLE);
		memmove(&c->idle[1], &c->idle[0], c->nr_idle * sizeof(m));
		c->idle[0] = m;
		c->nr_idle++;
	}
	if (c->state == STOPPING)
		stop_workers(c);
}

static void serve_blocked(struct ctx *c)
{
	struct member *m;

	while (!rejoin_blocks(c) && (m = sleeper(c, S_BLOCKED, 0))) {
		m->sleep = AWAKE;
		engine_next(c, m);
	}
}

static bool kernel_worker(const struct ctx *c)
{
	return c->policy.kernel_threads && (c->state == RUNNING || c->state == STOPPING);
}

static void kernel_take(struct ctx *c)
{
	struct req *r = kernel_worker(c) && !c->kernel && !c->cancelling ?
			model_best(c, true) : NULL;

	if (!r)
		return;
	assign(c, r, 1);
	c->kernel = r;
	serve_posters(c);
}

/* What is Ready goes to who is idle, and so on until nothing moves any more. */
void engine_dispatch(struct ctx *c)
{
	struct req *r;

	while (c->freed) {
		c->freed = false;
		if (c->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER)
			serve_blocked(c);
		else if (c->policy.rejoin_full == DXK_REJOIN_RESERVE)
			serve_posters(c);
	}
	while (c->nr_idle && !c->cancelling && (r = model_best(c, false))) {
		struct member *m = c->idle[0];

		finish(c, m, 1);
		give(c, m, r);
	}
	kernel_take(c);
}

/* --- ends -------------------------------------------------------------------------------- */

/* What it was given goes back: the call has no place to store it. */
static void put_back(struct ctx *c, struct member *m)
{
	while (m->work) {
		struct req *r = m->busy[m->nr_busy - m->work];

		memmove(&m->busy[m->nr_busy - m->work], &m->busy[m->nr_busy - m->work + 1],
			(m->work - 1) * sizeof(r));
		m->nr_busy--;
		m->work--;
		r->state = READY;
		r->worker = 0;
		r->attempts--;
		c->stat[ST_PUT_BACK]++;
	}
	engine_dispatch(c);
}

/* A member is gone with all that it executes (DX-25). */
void engine_died(struct ctx *c, struct member *m)
{
	int i;

	for (i = 0; i < m->nr_busy; i++) {
		struct req *r = m->busy[i];

		if (r->attrs & PXR_REDO && r->attempts < c->policy.redo_max &&
		    !c->cancelling && (c->state == RUNNING || c->state == STOPPING)) {
			c->stat[ST_REDONE]++;
			r->state = READY;
			r->worker = 0;
			r->data_len = r->posted_len;
			memcpy(r->data, r->posted, DATA);
			continue;
		}
		r->data_len = 0;
		r->status = -EOWNERDEAD;
		c->stat[ST_OWNER_DEAD]++;
		c->stat[ST_COMPLETIONS]++;
		end_request(c, r);
	}
	m->nr_busy = 0;
	if (m->attached && !m->client)
		c->workers--;
	m->attached = false;
	m->watching = false;
	if (c->state == STOPPING)
		stop_workers(c);
	engine_dispatch(c);
	engine_settle(c);
}

/* Nobody can collect what belongs to a private space without users (DX-49). */
void engine_leave_space(struct ctx *c, struct space *s)
{
	int i;

	if (!s->private || --s->users)
		return;
	s->closed = true;
	for (i = 0; i < c->nr_live; i++)
		if (c->live[i]->space == s && c->live[i]->state == DONE) {
			uint64_t owner = c->live[i]->owner;

			c->stat[ST_VANISHED]++;
			vanish(c, c->live[i--]);
			owner_changed(c, s, owner);
		}
	engine_dispatch(c);
	engine_settle(c);
}

/* The order in which Stop cancels is the module's own: by lane, boosted ones last. */
static struct req *next_to_cancel(const struct ctx *c)
{
	struct req *first = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++) {
		struct req *r = c->live[i];
		int key, first_key;

		if (r->state != READY)
			continue;
		key = r->kernel * 16 + (int)r->lane * 2 + !!(r->attrs & PXR_BOOST);
		first_key = first ? first->kernel * 16 + (int)first->lane * 2 +
				    !!(first->attrs & PXR_BOOST) : 99;
		if (key < first_key || (key == first_key && (r->prio > first->prio ||
				       (r->prio == first->prio && r->seq < first->seq))))
			first = r;
	}
	return first;
}

void engine_stop(struct ctx *c, bool cancel, bool close)
{
	struct member *m;
	struct req *r;

	if (c->state == RUNNING || c->state == STOPPING)
		c->state = close ? STOPPED : STOPPING;
	c->cancelling |= cancel;
	while ((m = sleeper(c, S_POST, 0)))
		post_end(c, m, -ESHUTDOWN, 0);
	while ((m = sleeper(c, S_REJOIN, 0)))
		finish(c, m, -ESHUTDOWN);
	serve_blocked(c);
	stop_workers(c);
	engine_dispatch(c);
	engine_settle(c);
	while (cancel && (r = next_to_cancel(c))) {
		r->status = -ECANCELED;
		r->data_len = 0;
		c->stat[ST_CANCELLED]++;
		end_request(c, r);
	}
	stop_workers(c);
	engine_dispatch(c);
	engine_settle(c);
}

/* A sleep ends before its time, or one that would end at once was none. */
void engine_timeout(struct ctx *c, struct member *m, long error)
{
	enum sleep slept = m->sleep;
	int i;

	leave_idle(c, m);
	m->sleep = AWAKE;
	if (slept == S_REJOIN && error == -ETIMEDOUT) {
		/* what is there, be it less than asked for */
		m->wait = false;
		serve_posters(c);
		engine_dispatch(c);
		engine_rejoin(c, m);
		return;
	}
	if (slept == S_POST) {
		post_end(c, m, error, 0);
	} else if (slept == S_BLOCKED) {
		/* what was not taken is held still, before the others */
		memmove(&m->busy[m->nr], &m->busy[0], m->nr_busy * sizeof(m->busy[0]));
		for (i = 0; i < m->nr; i++)
			m->busy[i] = m->reqs[i];
		m->nr_busy += m->nr;
		finish(c, m, error);
	} else {
		finish(c, m, error);
	}
	serve_posters(c);
	engine_dispatch(c);
}

void engine_post(struct ctx *c, struct member *m)
{
	if (c->state != RUNNING)
		post_end(c, m, -ESHUTDOWN, 0);
	else
		post_continue(c, m, false);
	engine_dispatch(c);
}

void engine_rejoin(struct ctx *c, struct member *m)
{
	int i;

	for (m->mine = 0, i = 0; i < m->nr_busy; i++)
		m->mine += of_owner(m->busy[i], m->space, m->owner);
	c->stat[ST_SELF_POLL] += !!m->mine;
	if (!rejoin_answer(c, m)) {
		if (c->state == RUNNING || c->state == STOPPING)
			fall_asleep(c, m, S_REJOIN);
		else
			finish(c, m, -ESHUTDOWN);
	} else if (m->proc->answer.answer == RJR_NONE_READY) {
		m->watching = true;
		m->ready = false;
		m->watch_owner = m->owner;
	}
	engine_dispatch(c);
}

/* --- after each move ---------------------------------------------------------------------- */

/* What was collected is copied out; what does not fit goes back, and all behind it. */
static void settle_results(struct ctx *c, struct member *m)
{
	const struct dxk_rejoin *a = &m->proc->call->a.rejoin;
	struct answer *answer = &m->proc->answer;
	const struct space *s = m->space;
	long error = 0;
	int i, nr = 0;

	for (i = 0; i < m->nr; i++) {
		struct req *r = m->reqs[i];

		if (!error && a->data && r->data_len > a->data_stride)
			error = -EMSGSIZE;
		if (error) {
			r->state = DONE;
			continue;
		}
		answer->result[nr] = (struct dxk_result){
			.executor = r->executor, .param = r->param, .status = r->status,
			.attrs = r->attrs, .prio = r->prio, .data_len = r->data_len,
			.worker = r->worker, .attempts = r->attempts,
		};
		memcpy(answer->data[nr++], r->data, DATA);
		c->stat[ST_COLLECTED]++;
		vanish(c, r);
	}
	answer->rc = nr ? nr : error;
	m->nr = 0;
	owner_changed(c, s, m->owner);
	engine_dispatch(c);
}

/* The kernel's "nop": done at once, with nothing. */
static void kernel_done(struct ctx *c)
{
	struct req *r = c->kernel;

	c->kernel = NULL;
	r->status = 0;
	r->data_len = 0;
	c->stat[ST_COMPLETIONS]++;
	end_request(c, r);
	kernel_take(c);
	engine_dispatch(c);
}

static void tell_next(struct ctx *c, struct member *m)
{
	const struct dxk_next *a = &m->proc->call->a.next;
	struct answer *answer = &m->proc->answer;
	int i;

	if (answer->rc > 0 && a->work == 8) {
		/* nowhere to store it */
		answer->rc = -EFAULT;
		put_back(c, m);
	}
	for (i = 0; i < answer->rc; i++) {
		const struct req *r = m->busy[m->nr_busy - m->work + i];

		answer->work[i] = (struct dxk_work){
			.ticket = r->ticket, .owner = r->owner, .executor = r->executor,
			.param = r->param, .data_len = r->data_len,
			.result_len = r->result_room, .prio = r->prio, .attrs = r->attrs,
			.fd = r->attrs & PXR_FD ? 0 : -1, .attempt = r->attempts,
		};
		memcpy(answer->data[i], r->data, DATA);
	}
	if (a->nr_done)
		answer->nr_taken = (uint32_t)m->taken;
	if (answer->rc < 0 && m->taken)
		answer->rc = 0;
}

/* The calls that are over get their answers, which may end further ones. */
void engine_settle(struct ctx *c)
{
	struct member *m;
	bool again;

	do {
		again = c->kernel;
		if (c->kernel)
			kernel_done(c);
		for (m = all_members; m < all_members + MEMBERS; m++) {
			if (!m->used || m->ctx != c || !m->proc->done || m->proc->told ||
			    m->proc->in != m)
				continue;
			m->proc->told = again = true;
			if (m->proc->call->cmd == DXK_IOC_REJOIN && m->nr)
				settle_results(c, m);
			else if (m->proc->call->cmd == DXK_IOC_NEXT)
				tell_next(c, m);
		}
	} while (again);
}

void model_review(struct ctx *c)
{
	c->changed = false;
	c->policy = c->next_policy;
	serve_posters(c);
	engine_dispatch(c);
	engine_settle(c);
}
