// SPDX-License-Identifier: GPL-2.0-only
/* The engine of the picture (model.h): executing, and how all things end. */
#define DXT_NO_HARNESS
#include "model_engine.h"

#include <stdlib.h>

/* --- executing ----------------------------------------------------------- */

static void assign(struct ctx *c, struct req *r, unsigned int worker)
{
	r->state = WORK;
	r->last = false;
	r->ticket = ++c->ticket;
	r->worker = worker;
	r->attempts++;
	c->stat[ST_DISPATCHES]++;
}

static void give(struct ctx *c, struct member *m, struct req *r)
{
	assign(c, r, m->id);
	m->last_attrs = r->attrs;
	m->last_space = r->space;
	m->last_owner = r->owner;
	m->last_ticket = r->ticket;
	m->told = r->cancelled || r->expired;
	if (m->nr_busy == BUSY)
		abort();
	m->busy[m->nr_busy++] = r;
	m->work++;
	engine_serve_posters(c);
}

/* Only lane 3 is given ahead, and only while the backlog is more than one each. */
static bool take(struct ctx *c, struct member *m)
{
	struct req *r = c->cancelling ? engine_last(c) : model_best(c, false);
	int share = 1, nr = 0, backlog = model_count(c, READY, -1, 0);

	if (!r)
		return false;
	if (m->max > 1 && !c->cancelling)
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
					!model_count(c, WORK, -1, -1) &&
					!model_count(c, WAITING, -1, -1));
}

void engine_stop_workers(struct ctx *c)
{
	while (engine_out_of_work(c) && c->nr_idle)
		engine_finish(c, c->idle[0], -ESHUTDOWN);
}

static bool rejoin_blocks(const struct ctx *c)
{
	return c->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER && c->state == RUNNING &&
	       (uint32_t)(model_count(c, DONE, -1, -1) +
			  model_count(c, LEAVING, -1, -1)) >= c->policy.rejoin_entries;
}

void engine_next(struct ctx *c, struct member *m)
{
	struct req *r;

	while (m->nr) {
		r = m->reqs[0];
		if (r->attrs & PXR_REJOIN && !r->space->closed && !r->parks &&
		    rejoin_blocks(c)) {
			engine_fall_asleep(c, m, S_BLOCKED);
			return;
		}
		m->nr--;
		memmove(m->reqs, m->reqs + 1, m->nr * sizeof(r));
		m->taken++;
		if (r->parks) {
			r->status = engine_park(c, r);
			if (!r->status)
				continue;
			r->data_len = 0;
		}
		c->stat[ST_COMPLETIONS]++;
		engine_end_request(c, r);
	}
	if (!m->max) {
		engine_finish(c, m, 0);
	} else if (!m->attached) {
		engine_finish(c, m, -ESHUTDOWN);
	} else if ((r = engine_eager(c, false))) {
		give(c, m, r);
		engine_finish(c, m, m->work);
	} else if (take(c, m)) {
		engine_finish(c, m, m->work);
	} else if (engine_out_of_work(c)) {
		engine_finish(c, m, -ESHUTDOWN);
	} else {
		engine_fall_asleep(c, m, S_IDLE);
		memmove(&c->idle[1], &c->idle[0], c->nr_idle * sizeof(m));
		c->idle[0] = m;
		c->nr_idle++;
	}
	if (c->state == STOPPING)
		engine_stop_workers(c);
}

static void serve_blocked(struct ctx *c)
{
	struct member *m;

	while (!rejoin_blocks(c) && (m = engine_sleeper(c, S_BLOCKED, 0))) {
		m->sleep = AWAKE;
		engine_next(c, m);
	}
}

static bool kernel_worker(const struct ctx *c)
{
	return c->policy.kernel_threads && (c->state == RUNNING || c->state == STOPPING);
}

static void kernel_give(struct ctx *c, struct req *r)
{
	assign(c, r, 1);
	c->kernel = r;
	engine_serve_posters(c);
}

static void kernel_take(struct ctx *c)
{
	struct req *r = kernel_worker(c) && !c->kernel && !c->cancelling ?
			model_best(c, true) : NULL;

	if (r)
		kernel_give(c, r);
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
			engine_serve_posters(c);
	}
	/* they end nothing */
	engine_serve_joined(c);
	while (c->nr_idle && (r = c->cancelling ? engine_last(c) : model_best(c, false))) {
		struct member *m = c->idle[0];

		engine_finish(c, m, 1);
		give(c, m, r);
	}
	kernel_take(c);
}

/* --- ends ---------------------------------------------------------------- */

/* What it was given goes back: the call has no place to store it. */
static void put_back(struct ctx *c, struct member *m)
{
	while (m->work) {
		struct req *r = m->busy[m->nr_busy - m->work];

		memmove(&m->busy[m->nr_busy - m->work], &m->busy[m->nr_busy - m->work + 1],
			(m->work - 1) * sizeof(r));
		m->nr_busy--;
		m->work--;
		r->worker = 0;
		r->attempts--;
		c->stat[ST_PUT_BACK]++;
		if (engine_begun(r))
			engine_put_told_back(r);
		if (c->cancelling && engine_begun(r) && engine_has_crew(c)) {
			engine_more_tell(r, DXK_WAKE_CANCEL);
			engine_enter_last(c, r);
			continue;
		}
		engine_put_back(c, r);
		if (c->cancelling || (engine_doomed(c, r) && !engine_begun(r)))
			engine_end_early(c, r, -ECANCELED);
	}
	engine_dispatch(c);
}

/* A member is gone with all that it executes (DX-25). */
void engine_died(struct ctx *c, struct member *m)
{
	int i;

	for (i = 0; i < m->nr_busy; i++) {
		struct req *r = m->busy[i];

		r->parks = false;
		if (r->attrs & PXR_REDO && r->attempts < c->policy.redo_max &&
		    !(engine_doomed(c, r) && !r->begun) && !c->cancelling &&
		    (c->state == RUNNING || c->state == STOPPING)) {
			c->stat[ST_REDONE]++;
			r->worker = 0;
			r->data_len = r->posted_len;
			memcpy(r->data, r->posted, DATA);
			engine_put_back(c, r);
			continue;
		}
		r->data_len = 0;
		r->status = -EOWNERDEAD;
		c->stat[ST_OWNER_DEAD]++;
		c->stat[ST_COMPLETIONS]++;
		engine_end_request(c, r);
	}
	m->nr_busy = 0;
	if (m->attached && !m->client)
		c->workers--;
	m->attached = false;
	m->watching = false;
	engine_end_orphans(c);
	if (c->state == STOPPING)
		engine_stop_workers(c);
	engine_dispatch(c);
	engine_settle(c);
}

static struct req *first_of_space(const struct ctx *c, const struct space *s)
{
	struct req *first = NULL;
	int i;

	for (i = 0; i < c->nr_live; i++)
		if (c->live[i]->state == WAITING && c->live[i]->space == s &&
		    (!first || c->live[i]->wait_seq < first->wait_seq))
			first = c->live[i];
	return first;
}

/*
 * Nobody can collect what belongs to a private space without users (DX-49), nor call what
 * waits there.
 */
void engine_leave_space(struct ctx *c, struct space *s)
{
	struct req *r;
	int i;

	if (!s->private || --s->users)
		return;
	s->closed = true;
	while ((r = first_of_space(c, s)))
		engine_end_early(c, r, -ECANCELED);
	for (i = 0; i < c->nr_live; i++)
		if (c->live[i]->space == s && c->live[i]->state == DONE) {
			uint64_t owner = c->live[i]->owner;

			c->stat[ST_VANISHED]++;
			engine_vanish(c, c->live[i--]);
			engine_owner_changed(c, s, owner);
		}
	if (c->state == STOPPING)
		engine_stop_workers(c);
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

		if (r->state != READY || r->last)
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
	/* One more Stop of the same kind only waits: who sleeps since the first sleeps on. */
	bool first = close || c->state == RUNNING || (cancel && !c->cancelling);
	struct member *m;
	struct req *r;

	if (c->state == RUNNING || c->state == STOPPING)
		c->state = close ? STOPPED : STOPPING;
	c->cancelling |= cancel;
	for (m = NULL; (m = engine_sleeper(c, S_POST, m ? m->arrival : 0));)
		if (engine_shut(c, m))
			engine_post_end(c, m, -ESHUTDOWN, 0);
	for (m = NULL; first && (m = engine_sleeper(c, S_REJOIN, m ? m->arrival : 0));)
		if (engine_shut(c, m))
			engine_finish(c, m, -ESHUTDOWN);
	engine_stop_waits(c);
	engine_serve_posters(c);
	serve_blocked(c);
	engine_stop_workers(c);
	engine_dispatch(c);
	engine_settle(c);
	while (cancel && (r = next_to_cancel(c))) {
		if (!engine_begun(r)) {
			engine_end_early(c, r, -ECANCELED);
			continue;
		}
		engine_more_tell(r, DXK_WAKE_CANCEL);
		engine_enter_last(c, r);
	}
	if (cancel)
		engine_cancel_waits(c);
	engine_stop_workers(c);
	engine_dispatch(c);
	engine_settle(c);
}

/* A sleep ends before its time, or one that would end at once was none. */
void engine_timeout(struct ctx *c, struct member *m, long error)
{
	enum sleep slept = m->sleep;
	int i;

	engine_leave_idle(c, m);
	m->sleep = AWAKE;
	if (slept == S_REJOIN && error == -ETIMEDOUT) {
		/* what is there, be it less than asked for */
		m->wait = false;
		engine_serve_posters(c);
		engine_dispatch(c);
		engine_rejoin(c, m);
		/* it still is the same call */
		c->stat[ST_SELF_POLL] -= !!m->mine;
		return;
	}
	if (slept == S_POST) {
		engine_post_end(c, m, error, 0);
	} else if (slept == S_BLOCKED) {
		/* what was not taken is held still, before the others */
		memmove(&m->busy[m->nr], &m->busy[0], m->nr_busy * sizeof(m->busy[0]));
		for (i = 0; i < m->nr; i++)
			m->busy[i] = m->reqs[i];
		m->nr_busy += m->nr;
		engine_finish(c, m, error);
	} else {
		engine_finish(c, m, error);
	}
	engine_serve_posters(c);
	engine_dispatch(c);
}

void engine_post(struct ctx *c, struct member *m)
{
	if (engine_shut(c, m))
		engine_post_end(c, m, -ESHUTDOWN, 0);
	else
		engine_post_continue(c, m, false);
	engine_dispatch(c);
}

void engine_rejoin(struct ctx *c, struct member *m)
{
	int i;

	for (m->mine = 0, i = 0; i < m->nr_busy; i++)
		m->mine += engine_of_owner(m->busy[i], m->space, m->owner);
	c->stat[ST_SELF_POLL] += !!m->mine;
	if (!engine_rejoin_answer(c, m)) {
		if (c->state != RUNNING && c->state != STOPPING) {
			engine_finish(c, m, -ESHUTDOWN);
		} else if (m->nr_busy && !m->timed && engine_rejoin_is_dead(c, m)) {
			c->stat[ST_DEADLOCKS]++;
			engine_finish(c, m, -EDEADLK);
		} else {
			engine_fall_asleep(c, m, S_REJOIN);
		}
	} else if (m->proc->answer.answer == RJR_NONE_READY) {
		m->watching = true;
		m->ready = false;
		m->watch_owner = m->owner;
	}
	engine_dispatch(c);
}

/* --- after each move ----------------------------------------------------- */

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
		engine_vanish(c, r);
	}
	answer->rc = nr ? nr : error;
	m->nr = 0;
	engine_owner_changed(c, s, m->owner);
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
	engine_end_request(c, r);
	r = kernel_worker(c) ? engine_eager(c, true) : NULL;
	if (r)
		kernel_give(c, r);
	else
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

		answer->work[i] = (struct dxk_work_more){
			.work = {
				.ticket = r->ticket, .owner = r->owner,
				.executor = r->executor, .param = r->param,
				.data_len = r->data_len, .result_len = r->result_room,
				.prio = r->prio, .attrs = r->attrs,
				.fd = r->attrs & PXR_FD ? 0 : -1, .attempt = r->attempts,
			},
			.name = r->name, .state = r->told_state, .turn = r->turn,
			.wake = r->wake,
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
		for (m = engine_members; m < engine_members + MEMBERS; m++) {
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
	/* what changes nothing gives nobody a look */
	if (!memcmp(&c->policy, &c->next_policy, sizeof(c->policy)))
		return;
	c->policy = c->next_policy;
	engine_serve_posters(c);
	engine_dispatch(c);
	engine_settle(c);
}
