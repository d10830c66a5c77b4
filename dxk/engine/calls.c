// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The calls of threads. Most of them fill in an operation, perform it in the dispatcher
 * role, and sleep if the operation has queued it. The other rooms use these.
 */
#include "engine/block.h"
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/enforce.h"
#include "engine/fire.h"
#include "engine/key.h"
#include "engine/os.h"
#include "engine/purge.h"
#include "engine/space.h"
#include "engine/stall.h"
#include "engine/turn.h"
#include "engine/wake.h"
#include "engine/withdraw.h"
#include "trace.h"

/* --- post and rejoin ------------------------------------------------------- */

/**
 * dxk_client_prepare - allocate in advance what a post of @nr requests may need under the lock
 * @m: the member that posts
 * @nr: 1..%DXK_BATCH_MAX
 */
int dxk_client_prepare(struct dxk_member *m, u32 nr)
{
	return dxk_rqe_stash_fill(m, nr) ?:
	       dxk_owner_stash_fill(&m->engine->owners, &m->owners, nr);
}

/**
 * dxk_client_begin - begin a post; dxk_client_add() and dxk_client_post() follow
 * @p: its m set
 * @nr: how many requests dxk_client_add() will make, 1..%DXK_BATCH_MAX
 */
int dxk_client_begin(struct dxk_post_op *p, u32 nr)
{
	INIT_LIST_HEAD(&p->rqes);
	p->reason = 0;
	return dxk_client_prepare(p->m, nr);
}

/* A call, which may have slept, is over. */
static void dxk_client_awake(struct dxk_member *m, const struct dxk_waiter *w)
{
	u8 state = dxk_member_state(m);

	if (state != DXK_M_POSTING && state != DXK_M_REJOINING)
		return;
	if (trace_dxk_block_enabled())
		trace_dxk_block(m->engine->id, m->id, state, os_now() - w->since);
	dxk_member_set_state(m, dxk_member_home_state(m));
}

/**
 * dxk_client_post - post requests and sleep for room if they ask for it
 * @p: begun, with its requests in rqes and help set
 * @deadline: of the sleep
 *
 * Return: how many were taken, or, if none was, the error. The others are still in
 * p->rqes.
 */
int dxk_client_post(struct dxk_post_op *p, u64 deadline)
{
	struct dxk_member *m = p->m;
	int err;

	p->helper.called = false;
	p->reason = 0;
	if (list_is_singular(&p->rqes) &&
	    dxk_post_usual(m, list_first_entry(&p->rqes, struct dxk_rqe, link))) {
		INIT_LIST_HEAD(&p->rqes);
		p->taken = 1;
		return 1;
	}
	dxk_waiter_init(&p->w);
	dxk_perform(m->engine, &p->op, dxk_post_run);
	err = dxk_waiter_sleep(m->engine, &p->w, deadline);
	if (!err && p->helper.called) {
		p->err = -EAGAIN;
		p->reason = PXR_HELP;
	}
	if (!err)
		err = p->err;
	dxk_client_awake(m, &p->w);
	return p->taken ? (int)p->taken : err;
}

/**
 * dxk_client_rejoin - collect requests and sleep for them if need be
 * @r: its m, owner, max, min, wait and free set
 * @deadline: of the sleep
 *
 * Return: 0 with r->answer and r->nr requests in r->rqes, or an error. After its
 * deadline it does not wait: if there is no result by then it answers %RJR_NONE_READY.
 */
int dxk_client_rejoin(struct dxk_rejoin_op *r, u64 deadline)
{
	struct dxk_member *m = r->m;
	struct dxk_rqe *rqe;
	int err;

	dxk_waiter_init(&r->w);
	r->helper.called = false;
	INIT_LIST_HEAD(&r->rqes);
	r->nr = 0;
	r->self_held = 0;
	list_for_each_entry(rqe, &m->busy, link)
		r->self_held += rqe->cookie == r->cookie && rqe->owner->space == m->space;
	r->timed = deadline != DXK_FOREVER;
	r->again = false;
	dxk_perform(m->engine, &r->op, dxk_rejoin_run);
	err = dxk_waiter_sleep(m->engine, &r->w, deadline);
	if (err == -ETIMEDOUT) {
		/* Collect the results there are by now, even if these are too few. */
		r->wait = false;
		dxk_perform(m->engine, &r->op, dxk_rejoin_run);
		err = dxk_waiter_sleep(m->engine, &r->w, DXK_FOREVER);
	}
	if (!err && r->helper.called) {
		r->answer = RJR_HELP;
		r->err = 0;
	}
	dxk_client_awake(m, &r->w);
	/* While requests are nested in its work, the work must not go on: the call is repeated. */
	if (unlikely(err && READ_ONCE(m->outer)))
		err = -ERESTARTNOINTR;
	return err ?: r->err;
}

/* --- keys ------------------------------------------------------------------- */

/**
 * dxk_key_ask - a request that executes leaves its key, comes back to it, or sets a mark
 * @k: its m, what and rqe set
 * @deadline: of %DXK_KEY_WAIT, and of %DXK_KEY_BLOCK that is patient
 *
 * Return: see struct dxk_key_call; -ERESTARTSYS only of %DXK_KEY_ENTER, BLOCK and UNBLOCK.
 */
int dxk_key_ask(struct dxk_key_op *k, u64 deadline)
{
	struct dxk_engine *e = k->m->engine;
	bool timed = k->what == DXK_KEY_WAIT || k->what == DXK_KEY_BLOCK;
	bool marks = dxk_key_is_mark(k->what);

	dxk_waiter_init(&k->w);
	k->timed_out = false;
	dxk_perform(e, &k->op, marks ? dxk_mark_run : dxk_key_ask_run);
	os_may_wait_for_user();
	/* pairs with the release in dxk_waiter_finish() */
	while (!smp_load_acquire(&k->w.done)) {
		k->why = os_doze(&k->w.done, NULL, timed ? deadline : DXK_FOREVER);
		if (!k->why)
			break;
		timed = false;
		dxk_perform(e, &k->op, marks ? dxk_mark_awake_run : dxk_key_awake_run);
	}
	dxk_member_set_state(k->m, dxk_member_home_state(k->m));
	return k->ret;
}

/**
 * dxk_worker_seen - a look of the Monitor: does a worker sleep outside of dxk for long?
 * @m: the worker
 * @asleep: it does
 */
void dxk_worker_seen(struct dxk_member *m, bool asleep)
{
	struct dxk_seen_op s = { .m = m, .asleep = asleep };

	dxk_perform(m->engine, &s.op, dxk_seen_run);
}

/**
 * dxk_key_hold_back - hold a key back: none of its requests begins a turn
 * @m: the caller; the key is one of its space
 * @key: the key
 * @refuse: refuse posts, too
 *
 * Return: 0; -ENOMEM, -ENOSPC, -EDQUOT, -ESHUTDOWN; -EOPNOTSUPP: the policy lets no request
 * wait.
 */
int dxk_key_hold_back(struct dxk_member *m, u64 key, bool refuse)
{
	struct dxk_key_op k = { .m = m, .cookie = key, .refuse = refuse };
	int err;

	if (!READ_ONCE(m->engine->waits.on))
		return -EOPNOTSUPP;
	err = dxk_key_reserve(m, 1);
	if (err)
		return err;
	dxk_perform(m->engine, &k.op, dxk_key_hold_run);
	return k.ret;
}

/** dxk_key_release - end dxk_key_hold_back(). Return: 0, or -ENOENT: the key has no record */
int dxk_key_release(struct dxk_member *m, u64 key)
{
	struct dxk_key_op k = { .m = m, .cookie = key };

	dxk_perform(m->engine, &k.op, dxk_key_release_run);
	return k.ret;
}

/**
 * dxk_key_cancel - cancel the requests that wait for a key
 * @m: the member; the key is one of its space
 * @key: the key
 *
 * More urgent ones that others post meanwhile come before those that are still to be cancelled,
 * so a caller that is killed does not wait for these. Return: how many, or -ENOENT.
 */
int dxk_key_cancel(struct dxk_member *m, u64 key)
{
	struct dxk_key_op k = { .m = m, .cookie = key };

	INIT_LIST_HEAD(&k.ended);
	for (;;) {
		dxk_perform(m->engine, &k.op, dxk_key_cancel_run);
		dxk_rqe_drop_all(m, &k.ended);
		if (likely(!k.more) || os_killed())
			break;
		os_yield();
	}
	return k.ret;
}

/* --- next ------------------------------------------------------------------ */

/*
 * Completed requests that nobody collects are freed before the worker sleeps, with their
 * files and references of executors. A thread that completes on behalf of a worker that
 * waits for Rejoin Pool entries adds to the list.
 */
static void dxk_next_drop(struct dxk_next_op *n)
{
	struct dxk_engine *e = n->m->engine;
	struct dxk_file_ref *files;
	LIST_HEAD(ended);

	spin_lock(&e->lock);
	list_splice_init(&n->ended, &ended);
	files = n->files;
	n->files = NULL;
	spin_unlock(&e->lock);
	dxk_rqe_drop_all(n->m, &ended);
	os_let_go(files);
}

static int dxk_next_sleep(struct dxk_next_op *n, u64 deadline)
{
	if (!list_empty(&n->ended) || n->files)
		dxk_next_drop(n);
	return dxk_waiter_sleep_on(n->m->engine, &n->w, true, deadline);
}

/**
 * dxk_next - a worker's turn; it sleeps if there is nothing to do
 * @n: its arguments: m, done, max
 * @deadline: of the sleep
 *
 * Return: 0 with requests in n->work, or if only completions were requested; else
 * an error. n->taken completions were taken in any case.
 */
int dxk_next(struct dxk_next_op *n, u64 deadline)
{
	struct dxk_member *m = n->m;
	int err;

	dxk_waiter_init(&n->w);
	INIT_LIST_HEAD(&n->ended);
	INIT_LIST_HEAD(&n->work);
	n->files = NULL;
	n->taken = 0;
	n->nr = 0;
	n->prefer = NULL;
	n->err = 0;
	dxk_perform(m->engine, &n->op, dxk_next_run);
	/* pairs with the release in dxk_waiter_finish() */
	err = likely(smp_load_acquire(&n->w.done)) ? 0 : dxk_next_sleep(n, deadline);
	if (unlikely(n->files))
		os_let_go(n->files);
	return err ?: n->err;
}

/* --- names ------------------------------------------------------------------ */

static int dxk_names_do(struct dxk_member *m, const u64 *names, u32 nr, u32 *states,
			dxk_op_fn *run)
{
	struct dxk_names_op n = { .m = m, .names = names, .nr = nr, .states = states };

	if (!READ_ONCE(m->engine->waits.on))
		return -EOPNOTSUPP;
	INIT_LIST_HEAD(&n.ended);
	for (;;) {
		dxk_perform(m->engine, &n.op, run);
		dxk_rqe_drop_all(m, &n.ended);
		if (likely(!n.more))
			break;
		os_yield();
	}
	return (int)n.found ?: -ENOENT;
}

/**
 * dxk_wake_names - call requests by their names
 * @m: the member
 * @names: the names, of its space
 * @nr: 1..%DXK_BATCH_MAX
 *
 * Return: how many exist; -ENOENT: none; -EOPNOTSUPP: the policy lets no request wait.
 */
int dxk_wake_names(struct dxk_member *m, const u64 *names, u32 nr)
{
	return dxk_names_do(m, names, nr, NULL, dxk_wake_names_run);
}

/** dxk_cancel_names - the same to cancel requests; @states: out, DXK_CANCEL_*, or NULL */
int dxk_cancel_names(struct dxk_member *m, const u64 *names, u32 nr, u32 *states)
{
	return dxk_names_do(m, names, nr, states, dxk_cancel_names_run);
}

/**
 * dxk_purge_owner - cancel all requests of an owner
 * @m: the member; the owner is one of its space
 * @owner: the owner
 * @nr: out, how many there were when the call began, by enum dxk_place
 *
 * Returns when all have ended or are told; each further order for the owner, also by a request
 * that fails, begins anew. A caller that is killed does not wait for that.
 */
void dxk_purge_owner(struct dxk_member *m, u64 owner, u32 *nr)
{
	struct dxk_purge_op p = { .m = m, .cookie = owner, .nr = nr };

	INIT_LIST_HEAD(&p.ended);
	for (;;) {
		dxk_perform(m->engine, &p.op, dxk_purge_run);
		dxk_rqe_drop_all(m, &p.ended);
		if (likely(!p.more) || os_killed())
			break;
		os_yield();
	}
}

static void dxk_flush_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	dxk_fired_run(e, wakes);
}

/**
 * dxk_fired_flush - wait until an event is no longer in any list
 * @e: its engine
 * @event: the event, which nobody can fire any longer
 */
void dxk_fired_flush(struct dxk_engine *e, const struct dxk_event *event)
{
	struct dxk_op op;

	while (READ_ONCE(event->pending)) {
		dxk_perform(e, &op, dxk_flush_run);
		os_yield();
	}
}

/**
 * dxk_detach - detach a watch whose source is gone from its request
 * @e: its engine
 * @watch: the watch, which the caller keeps from being freed
 * @seen: the events that are reported to the request, if it waits for the watch
 *
 * Return: must the caller release the watch? If not, a worker has the request, or it has ended.
 */
bool dxk_detach(struct dxk_engine *e, struct dxk_watch *watch, u32 seen)
{
	struct dxk_detach_op d = { .watch = watch, .seen = seen };

	dxk_perform(e, &d.op, dxk_detach_run);
	return d.done;
}

/**
 * dxk_take_back - take an embedded request back, if it is Ready
 * @e: its engine
 * @rqe: the request
 *
 * Return: false when it is not Ready.
 */
bool dxk_take_back(struct dxk_engine *e, struct dxk_rqe *rqe)
{
	struct dxk_withdraw_op w = { .rqe = rqe };

	dxk_perform(e, &w.op, dxk_withdraw_run);
	return w.done;
}

/* --- members --------------------------------------------------------------- */

/** dxk_list_do - perform an operation on @op->m until there is no more to do */
void dxk_list_do(struct dxk_list_op *op, dxk_op_fn *run)
{
	INIT_LIST_HEAD(&op->ended);
	for (;;) {
		dxk_perform(op->m->engine, &op->op, run);
		dxk_rqe_drop_all(NULL, &op->ended);
		if (!op->more)
			break;
		os_yield();
	}
}

/** dxk_member_do - dxk_list_do() for an operation that needs nothing but the member */
void dxk_member_do(struct dxk_member *m, dxk_op_fn *run)
{
	struct dxk_list_op op = { .m = m };

	dxk_list_do(&op, run);
}

/**
 * dxk_rest - a member begins or ends a sleep for something outside of the context
 * @m: the calling thread's member
 * @rests: it begins
 *
 * A member that rests is no reason to expect that work goes on.
 */
void dxk_rest(struct dxk_member *m, bool rests)
{
	struct dxk_wakes wakes __uninitialized;
	struct dxk_engine *e = m->engine;
	u32 *count;

	dxk_wakes_init(&wakes);
	spin_lock(&e->lock);
	count = dxk_crew_resters(&e->crew, m);
	if (count)
		*count += rests ? 1 : -1;
	dxk_events_end(e, &wakes);
	dxk_stall_suspect(e, &wakes);
	spin_unlock(&e->lock);
	dxk_wakes_flush(e, &wakes);
}

/**
 * dxk_crew_wait - sleep until the crew has a use for user threads
 * @e: the engine
 * @deadline: of the sleep; 0: do not sleep
 * @workers: out, free places for workers
 * @spares: out, spares that are needed
 *
 * Return: the sum of both, -ESHUTDOWN or -ERESTARTSYS.
 */
int dxk_crew_wait(struct dxk_engine *e, u64 deadline, u32 *workers, u32 *spares)
{
	struct dxk_crew_op c = { .wait = deadline };
	int err;

	dxk_waiter_init(&c.w);
	dxk_perform(e, &c.op, dxk_crew_wait_run);
	err = dxk_waiter_sleep(e, &c.w, deadline);
	if (err && err != -ETIMEDOUT)
		return err;
	*workers = c.workers;
	*spares = c.spares;
	return c.err ?: (int)(c.workers + c.spares);
}

/* --- policy ---------------------------------------------------------------- */

/**
 * dxk_enforce - put a policy into force that differs in dynamic fields
 * @e: the engine
 * @policy: checked
 *
 * If it closes a lane or a kind of workers, requests that are Ready or wait there end with the
 * error with which posts are refused from now on.
 */
void dxk_enforce(struct dxk_engine *e, const struct dxk_policy *policy)
{
	struct dxk_enforce_op p = { .policy = policy };

	INIT_LIST_HEAD(&p.ended);
	do {
		dxk_perform(e, &p.op, dxk_enforce_run);
		dxk_rqe_drop_all(NULL, &p.ended);
		os_yield();
	} while (p.more);
}

/* --- the control threads ---------------------------------------------------- */

/** dxk_tick - age the Ready Pool: a scheduler interval has passed */
void dxk_tick(struct dxk_engine *e)
{
	const struct dxk_policy *p = &e->policy;

	spin_lock(&e->lock);
	dxk_ready_tick(&e->ready, p->prio_policy & PRIO_POLICY_AGERQS,
		       p->prio_policy & PRIO_POLICY_BOOST, p->boost_value);
	spin_unlock(&e->lock);
}

/**
 * dxk_scheduler_rest - may thread 600 sleep without a time limit?
 * @e: the engine
 *
 * If so, the next thread that leaves a request in the pool kicks it.
 */
bool dxk_scheduler_rest(struct dxk_engine *e)
{
	bool dormant;

	spin_lock(&e->lock);
	dormant = dxk_ready_empty(&e->ready);
	e->dormant[DXK_SCHEDULER] = dormant;
	spin_unlock(&e->lock);
	return dormant;
}

/**
 * dxk_monitor_rest - may thread 500 sleep without a time limit?
 * @e: the engine
 * @asked: its turn was requested: then it may not, because a crew that works and rests in
 *	turns would wake it each time
 *
 * If so, the next thread that gives it a reason to look kicks it.
 */
bool dxk_monitor_rest(struct dxk_engine *e, bool asked)
{
	const struct dxk_policy *p = &e->policy;
	bool dormant;

	spin_lock(&e->lock);
	dormant = !asked && dxk_crew_all_idle(e) && !p->sample_interval_ms &&
		  !((p->report_age_ms || dxk_sleepers_are_seen(p) || dxk_is_tuned(p)) &&
		    e->nr[DXK_AT_WORK]) &&
		  !(p->wait_report_ms && e->nr[DXK_AT_WAIT]) && !dxk_has_surplus(e);
	e->dormant[DXK_MONITOR] = dormant;
	spin_unlock(&e->lock);
	return dormant;
}

/**
 * dxk_retire - dismiss surplus workers that have been idle for long (AG-32)
 * @e: the engine
 * @limit: for longer than this, of os_clock()
 */
void dxk_retire(struct dxk_engine *e, unsigned long limit)
{
	struct dxk_retire_op r = { .limit = limit };

	do {
		dxk_perform(e, &r.op, dxk_retire_run);
		os_yield();
	} while (r.more);
}

/* --- owners ---------------------------------------------------------------- */

/**
 * dxk_space_leave - a descriptor or a member of the space is closed
 * @e: its engine
 * @space: no longer to be used by the caller
 */
void dxk_space_leave(struct dxk_engine *e, struct dxk_space *space)
{
	struct dxk_close_op c = { .space = space };
	bool last;

	if (!space->is_private)
		return;
	spin_lock(&e->lock);
	last = !--space->users;
	spin_unlock(&e->lock);

	INIT_LIST_HEAD(&c.ended);
	while (last) {
		dxk_perform(e, &c.op, dxk_space_close_run);
		dxk_rqe_drop_all(NULL, &c.ended);
		if (!c.more)
			break;
		os_yield();
	}
	spin_lock(&e->lock);
	dxk_space_put(e, space);
	spin_unlock(&e->lock);
}

/* --- Stop ------------------------------------------------------------------ */

static void dxk_cancel_all(struct dxk_engine *e)
{
	struct dxk_list_op l = { };

	INIT_LIST_HEAD(&l.ended);
	do {
		dxk_perform(e, &l.op, dxk_cancel_some_run);
		dxk_rqe_drop_all(NULL, &l.ended);
		os_yield();
	} while (l.more);
}

/**
 * dxk_stop_begin - begin to end a run: from here on it only finishes what it has
 * @e: the engine
 * @gen: the generation of the run
 * @cancel: cancel requests that are Ready or wait
 * @close: nobody waits for requests that execute
 */
void dxk_stop_begin(struct dxk_engine *e, u32 gen, bool cancel, bool close)
{
	struct dxk_stop_op s = { .gen = gen, .cancel = cancel, .close = close };

	do {
		dxk_perform(e, &s.op, dxk_stop_begin_run);
		os_yield();
	} while (s.more);
	if (cancel)
		dxk_cancel_all(e);
}

/** dxk_should_forget - forget a member's operation of dxk_should_run(), which is over */
void dxk_should_forget(struct dxk_member *m)
{
	if (!m->should)
		return;
	spin_lock(&m->engine->lock);
	m->should = NULL;
	spin_unlock(&m->engine->lock);
}

/**
 * dxk_should_wait - is the member requested to end its work?
 * @m: the calling thread's member
 * @deadline: of the sleep until it is; 0: do not sleep
 *
 * A user thread that sleeps here repeatedly is a service, and rests. A kernel thread needs no
 * time limit for that, so its time limit is that of the work itself.
 *
 * Return: 1 or 0, or -ERESTARTSYS.
 */
int dxk_should_wait(struct dxk_member *m, u64 deadline)
{
	struct dxk_should_op s = {
		.m = m, .wait = deadline,
		.timed = m->kind == DXK_KERNEL && deadline != DXK_FOREVER,
	};
	int err;

	dxk_waiter_init(&s.w);
	dxk_perform(m->engine, &s.op, dxk_should_run);
	err = dxk_waiter_sleep(m->engine, &s.w, deadline);
	dxk_should_forget(m);
	return err && err != -ETIMEDOUT ? err : s.answer;
}
