// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Block marks: see block.h.
 */
#include "engine/block.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/home.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/onblock.h"
#include "engine/os.h"
#include "engine/state.h"
#include "trace.h"

/* --- marks ------------------------------------------------------------------------- */

static void dxk_mark(struct dxk_engine *e, struct dxk_member *m)
{
	m->marked = true;
	e->crew.asleep[m->kind]++;
	e->crew.marked++;
}

/* --- a request announces it ---------------------------------------------------------- */

/* Is there another worker that can go on with Ready requests? */
static bool dxk_has_stand_in(struct dxk_engine *e, const struct dxk_member *m)
{
	if (e->crew.nr_parked[m->kind])
		return true;
	if (likely(!m->home) || e->policy.steal)
		return e->crew.nr_idle[m->kind];
	return !list_empty(dxk_idle_list(e, m));
}

/* Is a spare on its way, or is there room for one, and a thread that makes it? */
static bool dxk_spare_comes(const struct dxk_engine *e, enum dxk_kind kind)
{
	if (e->crew.spares_coming[kind])
		return true;
	return dxk_spares_room(e) && !dxk_out_of_work(e) &&
	       (kind == DXK_KERNEL || e->crew.managed);
}

static void dxk_block_begin(struct dxk_engine *e, struct dxk_key_op *k,
			    struct dxk_wakes *wakes)
{
	struct dxk_member *m = k->m;
	struct dxk_more *more = k->rqe->more;

	if (!m->marked)
		dxk_mark(e, m);
	m->blocks = k->rqe;
	m->left_key = more && more->at_key == DXK_KEY_HAS;
	if (m->left_key)
		dxk_key_drop(e, more, wakes);
	e->stats.blocked++;
	trace_dxk_block(e->id, m->id, DXK_M_BLOCKED, 0);
	dxk_key_finish(k, 0, wakes);
}

static void dxk_block_refuse(struct dxk_engine *e, struct dxk_key_op *k,
			     struct dxk_wakes *wakes)
{
	e->stats.block_refused++;
	dxk_key_finish(k, -EAGAIN, wakes);
}

/* Sleep until there is a spare, and call the threads that make one. */
static void dxk_block_sleep(struct dxk_engine *e, struct dxk_key_op *k,
			    struct dxk_wakes *wakes)
{
	enum dxk_kind kind = k->m->kind;

	dxk_waiter_queue(&k->w, &e->crew.askers[kind], NULL, &e->crew.nr_askers[kind],
			 &e->stats.place_blocks, &e->stats.place_block_ns);
	if (kind == DXK_USER) {
		dxk_tell_managers(e, wakes);
		return;
	}
	e->dormant[DXK_MONITOR] = false;
	wakes->kick |= BIT(DXK_MONITOR);
}

/* May a request that executes set the mark? Return: 0, or why not */
static int dxk_mark_check(const struct dxk_key_op *k)
{
	const struct dxk_engine *e = k->m->engine;
	const struct dxk_more *more = k->rqe->more;
	bool inside = k->m->blocks == k->rqe, away = more && more->away;

	if (k->what == DXK_KEY_BLOCK) {
		if (k->m->blocks)
			return -EBUSY;
		/* After a signal the request must come back to its key first. */
		if (away)
			return -EPERM;
		return more && more->at_key == DXK_KEY_HAS && !list_empty(&more->key->nested) ?
		       -EBUSY : 0;
	}
	/* A signal may have ended the first such call, on the way back. */
	return inside || away || (more && more->key && more->at_key == DXK_KEY_OUT &&
				  dxk_key_is_off(e, more)) ? 0 : -EPERM;
}

/* Set the first mark. */
static void dxk_mark_begin(struct dxk_engine *e, struct dxk_key_op *k, struct dxk_wakes *wakes)
{
	enum dxk_kind kind = k->m->kind;

	if (k->force || dxk_has_stand_in(e, k->m))
		dxk_block_begin(e, k, wakes);
	else if (k->patient && !e->cancelling && dxk_spare_comes(e, kind))
		dxk_block_sleep(e, k, wakes);
	else
		dxk_block_refuse(e, k, wakes);
}

/* A signal or the deadline has ended the sleep for a spare. */
static void dxk_mark_give_up(struct dxk_engine *e, struct dxk_key_op *k, struct dxk_wakes *wakes)
{
	if (k->why == -ETIMEDOUT)
		dxk_block_refuse(e, k, wakes);
	else
		dxk_key_finish(k, k->why, wakes);
}

/**
 * dxk_mark_grant - let the sleepers for a spare go on, if there is one
 * @e: the engine, locked
 * @kind: of the worker that has nothing to do
 * @wakes: gets the wake-ups
 *
 * One is enough for all of them: it goes on with Ready requests, and calls for more.
 */
void dxk_mark_grant(struct dxk_engine *e, enum dxk_kind kind, struct dxk_wakes *wakes)
{
	struct dxk_key_op *k, *next;

	lockdep_assert_held(&e->lock);

	list_for_each_entry_safe(k, next, &e->crew.askers[kind], w.link) {
		dxk_step(e);
		if (!dxk_has_stand_in(e, k->m))
			continue;
		if (!dxk_afford_or_owe(e, wakes, 2))
			return;
		dxk_block_begin(e, k, wakes);
	}
}

/**
 * dxk_marks_stop - end all sleeps for a spare, in a Stop(cancel)
 * @e: the engine, locked
 * @wakes: gets the wake-ups
 *
 * As far as the lock hold can afford. Return: was that all?
 */
bool dxk_marks_stop(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct dxk_key_op *k, *next;
	u32 kind;

	lockdep_assert_held(&e->lock);

	for (kind = 0; e->cancelling && kind < DXK_KINDS; kind++) {
		list_for_each_entry_safe(k, next, &e->crew.askers[kind], w.link) {
			if (!dxk_afford(wakes, 1))
				return false;
			dxk_block_refuse(e, k, wakes);
		}
	}
	return true;
}

/* Set the second mark. */
static void dxk_mark_end(struct dxk_engine *e, struct dxk_key_op *k, struct dxk_wakes *wakes)
{
	struct dxk_member *m = k->m;

	if (m->blocks == k->rqe) {
		dxk_unmark(&e->crew, m);
		if (!m->left_key) {
			dxk_key_finish(k, 0, wakes);
			return;
		}
	}
	dxk_key_enter(e, k, wakes);
}

/** dxk_mark_run - set a mark of a request that executes */
void dxk_mark_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_key_op *k = container_of(op, struct dxk_key_op, op);
	int err = dxk_mark_check(k);

	if (err)
		dxk_key_finish(k, err, wakes);
	else if (k->what == DXK_KEY_BLOCK)
		dxk_mark_begin(e, k, wakes);
	else
		dxk_mark_end(e, k, wakes);
}

/** dxk_mark_awake_run - a signal, or the deadline, has ended the sleep in that call */
void dxk_mark_awake_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_key_op *k = container_of(op, struct dxk_key_op, op);

	if (k->what != DXK_KEY_BLOCK) {
		dxk_key_awake_run(e, op, wakes);
	} else if (!k->w.done) {
		dxk_waiter_leave(&k->w);
		dxk_mark_give_up(e, k, wakes);
	}
}

/* --- the Monitor sees it ---------------------------------------------------------------- */

/** dxk_seen_run - mark a worker that was seen asleep outside of dxk for long, or unmark it */
void dxk_seen_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_seen_op *s = container_of(op, struct dxk_seen_op, op);
	struct dxk_member *m = s->m;

	/* A worker that sleeps in a call counts already. */
	if (!m->attached || !m->held || m->blocks || m->marked == s->asleep ||
	    dxk_member_state(m) != DXK_M_BUSY)
		return;
	if (!s->asleep) {
		dxk_unmark(&e->crew, m);
		return;
	}
	dxk_mark(e, m);
	e->stats.replaced++;
}
