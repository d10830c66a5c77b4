// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Start, Stop and close as moves of the engine, see life.h.
 */
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/life.h"
#include "engine/os.h"

/* Stop waits at least so long for threads to end, as these have nothing left to do. */
#define DXK_DOWN_NS	NSEC_PER_SEC

/** dxk_run_state - for display: a run that has not ended is stopping, even if it is quiet */
enum dxk_ctx_state dxk_run_state(const struct dxk_engine *e)
{
	enum dxk_ctx_state state = READ_ONCE(e->state);

	return state == DXK_CTX_STOPPED && !dxk_run_is_over(e) ? DXK_CTX_STOPPING : state;
}

/** dxk_run_drains - does the run drain, and is something left for it? */
bool dxk_run_drains(struct dxk_engine *e)
{
	bool drains;

	spin_lock(&e->lock);
	drains = dxk_draining(e) && !dxk_quiet(e);
	spin_unlock(&e->lock);
	return drains;
}

/* --- up -------------------------------------------------------------------- */

/**
 * dxk_run_claim - begin a Start: from here on the run is the caller's
 * @e: the engine, locked
 * @policy: comes into force, all of it
 *
 * The steps follow, and then dxk_run_open() or dxk_run_fail().
 * Return: 0, -EBUSY while there is a run, -ESHUTDOWN after the close.
 */
int dxk_run_claim(struct dxk_engine *e, const struct dxk_policy *policy)
{
	struct dxk_run *run = &e->run;

	lockdep_assert_held(&e->lock);

	if (!dxk_run_is_over(e))
		return -EBUSY;
	if (run->closed)
		return -ESHUTDOWN;
	run->back = e->state;
	run->gen++;
	run->how = DXK_DRAIN;
	run->shut = 0;
	run->failed = false;
	run->want_down = false;
	WRITE_ONCE(run->down, false);
	WRITE_ONCE(e->cancelling, false);
	e->stalled = false;
	dxk_crew_untune(e);
	dxk_crew_set_policy(e, policy);
	WRITE_ONCE(e->state, DXK_CTX_STARTING);
	return 0;
}

/** dxk_run_open - end a Start, as all steps are up */
void dxk_run_open(struct dxk_engine *e)
{
	spin_lock(&e->lock);
	WRITE_ONCE(e->state, DXK_CTX_RUNNING);
	spin_unlock(&e->lock);
}

/* --- down ------------------------------------------------------------------ */

/* End a run in this way, unless it already ends in one that does more. */
static void dxk_run_end(struct dxk_engine *e, enum dxk_how how, bool down,
			struct dxk_wakes *wakes)
{
	struct dxk_run *run = &e->run;

	lockdep_assert_held(&e->lock);

	if (e->state != DXK_CTX_STOPPED)
		WRITE_ONCE(e->state, DXK_CTX_STOPPING);
	run->how = max_t(u8, run->how, how);
	if (run->how >= DXK_CANCEL)
		WRITE_ONCE(e->cancelling, true);
	run->want_down |= down;
	wakes->kick |= BIT(DXK_WALKER);
}

static void dxk_run_shut_of(struct dxk_engine *e, u32 gen)
{
	dxk_stop_begin(e, gen, READ_ONCE(e->cancelling), READ_ONCE(e->run.down));
}

/**
 * dxk_run_shut - end sleeps, according to the way in which the run ends so far
 * @e: the engine; for its walker, so there is no other run before this returns
 */
void dxk_run_shut(struct dxk_engine *e)
{
	dxk_run_shut_of(e, READ_ONCE(e->run.gen));
}

/* Return: must the caller end sleeps, because nobody has for the way in which the run ends? */
static bool dxk_run_claim_shut(struct dxk_run *run)
{
	bool first = run->shut <= run->how;

	if (first)
		run->shut = run->how + 1;
	return first;
}

/**
 * struct dxk_halt_op - Stop
 */
struct dxk_halt_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @w: sleeps in dxk_engine.stoppers until the run is quiet, then in ended */
	struct dxk_waiter w;
	/** @mode: what to do with Ready requests */
	enum dxk_stop_mode mode;
	/** @down: it wants the threads ended */
	bool down;
	/** @shut: it is the first one that ends the run in this way: the caller ends sleeps */
	bool shut;
	/** @gen: the generation of the run whose end it waits for */
	u32 gen;
	/** @err: why it has not even begun */
	int err;
};

/* Begin a Stop, and sleep until no request is Ready, waits or executes. */
static void dxk_halt_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_halt_op *h = container_of(op, struct dxk_halt_op, op);
	enum dxk_stop_mode mode = h->mode;

	h->gen = e->run.gen;
	h->err = e->state == DXK_CTX_STARTING ? -EBUSY : 0;
	if (h->err || dxk_run_is_over(e)) {
		dxk_waiter_finish(&h->w, wakes);
		return;
	}
	if (mode == DXK_STOP_POLICY)
		mode = e->policy.shutdown;
	dxk_run_end(e, mode == DXK_STOP_CANCEL ? DXK_CANCEL : DXK_DRAIN, h->down, wakes);
	h->shut = dxk_run_claim_shut(&e->run);
	list_add_tail(&h->w.link, &e->stoppers);
	dxk_stop_workers(e, wakes);
}

/* Sleep until the run is over. */
static void dxk_halt_down_run(struct dxk_engine *e, struct dxk_op *op,
			      struct dxk_wakes *wakes)
{
	struct dxk_halt_op *h = container_of(op, struct dxk_halt_op, op);

	if (dxk_run_is_over(e) || h->gen != e->run.gen)
		dxk_waiter_finish(&h->w, wakes);
	else
		list_add_tail(&h->w.link, &e->run.ended);
}

static int dxk_halt_down(struct dxk_engine *e, struct dxk_halt_op *h, u64 deadline)
{
	os_may_wait(OS_WALK);
	dxk_waiter_init(&h->w);
	dxk_perform(e, &h->op, dxk_halt_down_run);
	return dxk_waiter_sleep(e, &h->w, max(deadline, os_now() + DXK_DOWN_NS));
}

/**
 * dxk_run_halt - Stop (DX-107, DX-108, DX-112, DX-114)
 * @e: the engine
 * @mode: what to do with Ready requests
 * @down: the threads are to end as well, and are waited for
 * @deadline: of the wait for requests that execute
 *
 * Return: 0, also if there is no run; -EBUSY in a Start; -ETIMEDOUT or -ERESTARTSYS if some
 * request or thread has not ended: the run continues to end, and a further call waits again.
 */
int dxk_run_halt(struct dxk_engine *e, enum dxk_stop_mode mode, bool down, u64 deadline)
{
	struct dxk_halt_op h = { .mode = mode, .down = down };
	int err;

	/* An executor may begin a Stop, but not wait for its end. */
	if (deadline == DXK_FOREVER)
		os_may_wait(OS_EXECUTE);
	dxk_waiter_init(&h.w);
	dxk_perform(e, &h.op, dxk_halt_run);
	/* Not by the walker: sleepers are notified before Stop returns, even at once. */
	if (h.shut)
		dxk_run_shut_of(e, h.gen);
	err = dxk_waiter_sleep(e, &h.w, deadline) ?: h.err;
	return err || !down ? err : dxk_halt_down(e, &h, deadline);
}

/**
 * dxk_run_fail - a step of Start failed: the walker undoes the others
 * @e: the engine
 *
 * Waits until it has done so; a signal ends the wait, but not the undoing.
 */
void dxk_run_fail(struct dxk_engine *e)
{
	struct dxk_halt_op h = { };
	struct dxk_wakes wakes;

	dxk_wakes_init(&wakes);
	spin_lock(&e->lock);
	h.gen = e->run.gen;
	e->run.failed = true;
	/* No thread joins from here on; workers of an earlier run may already sleep for work. */
	WRITE_ONCE(e->run.down, true);
	dxk_run_end(e, DXK_CANCEL, true, &wakes);
	spin_unlock(&e->lock);
	dxk_wakes_flush(e, &wakes);
	dxk_halt_down(e, &h, DXK_FOREVER);
}

/**
 * dxk_run_close - the last descriptor is closed
 * @e: the engine
 *
 * Does not wait. The run ends, if there is one, and then the context is buried.
 */
void dxk_run_close(struct dxk_engine *e)
{
	struct dxk_wakes wakes;

	dxk_wakes_init(&wakes);
	spin_lock(&e->lock);
	e->run.closed = true;
	if (dxk_run_is_over(e)) {
		WRITE_ONCE(e->state, DXK_CTX_STOPPED);
		e->run.how = DXK_CLOSE;
		wakes.kick |= BIT(DXK_WALKER);
	} else {
		dxk_run_end(e, DXK_CLOSE, true, &wakes);
	}
	spin_unlock(&e->lock);
	dxk_wakes_flush(e, &wakes);
}

/* --- the walker ------------------------------------------------------------- */

static enum dxk_walk dxk_run_next(struct dxk_engine *e)
{
	struct dxk_run *run = &e->run;
	bool over = dxk_run_is_over(e);

	if (over ? !run->closed : e->state < DXK_CTX_STOPPING)
		return DXK_WALK_PARK;
	if (dxk_run_claim_shut(run))
		return DXK_WALK_SHUT;
	if (over && !run->left) {
		run->left = true;
		return DXK_WALK_LEAVE;
	}
	if (over) {
		if (run->buried || run->pins)
			return DXK_WALK_PARK;
		run->buried = true;
		return DXK_WALK_BURY;
	}
	if (!run->want_down ||
	    !(run->down || run->how == DXK_CLOSE || dxk_quiet(e)))
		return DXK_WALK_PARK;
	WRITE_ONCE(run->down, true);
	return DXK_WALK_DOWN;
}

/**
 * dxk_run_look - what is the walker to do?
 * @e: the engine
 *
 * Tested and answered in one hold: a later change comes with a kick.
 */
enum dxk_walk dxk_run_look(struct dxk_engine *e)
{
	enum dxk_walk todo;

	spin_lock(&e->lock);
	todo = dxk_run_next(e);
	spin_unlock(&e->lock);
	return todo;
}

static void dxk_run_over_run(struct dxk_engine *e, struct dxk_op *op,
			     struct dxk_wakes *wakes)
{
	struct dxk_list_op *l = container_of(op, struct dxk_list_op, op);
	struct dxk_run *run = &e->run;
	struct dxk_halt_op *h;

	/* The first of these holds ends the run; by the next ones there may be another run. */
	if (!l->more) {
		WRITE_ONCE(e->state, run->failed && !run->closed ? run->back :
								   DXK_CTX_STOPPED);
		WRITE_ONCE(run->over, run->gen);
	}
	l->more = false;
	while (!list_empty(&run->ended)) {
		h = list_first_entry(&run->ended, struct dxk_halt_op, w.link);
		/* It waits for the run that has begun. */
		if (h->gen == run->gen && !dxk_run_is_over(e))
			break;
		l->more = !dxk_afford(wakes, 1);
		if (l->more)
			break;
		dxk_waiter_finish(&h->w, wakes);
	}
}

/** dxk_run_over - end a run of which no step is up any longer, and the waits for its end */
void dxk_run_over(struct dxk_engine *e)
{
	struct dxk_list_op l = { };

	do {
		dxk_perform(e, &l.op, dxk_run_over_run);
		os_yield();
	} while (l.more);
}

/* --- pins -------------------------------------------------------------------- */

/** dxk_pin - something may outlive the run, so that only the burial waits for it */
void dxk_pin(struct dxk_engine *e)
{
	spin_lock(&e->lock);
	e->run.pins++;
	spin_unlock(&e->lock);
}

/**
 * dxk_unpin - the end of dxk_pin()
 * @e: the engine; the caller has a reference to its context, and drops it later
 */
void dxk_unpin(struct dxk_engine *e)
{
	struct dxk_wakes wakes;

	dxk_wakes_init(&wakes);
	spin_lock(&e->lock);
	WARN_ON_ONCE(!e->run.pins);
	e->run.pins--;
	if (e->run.closed)
		wakes.kick |= BIT(DXK_WALKER);
	spin_unlock(&e->lock);
	dxk_wakes_flush(e, &wakes);
}
