/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_DISPATCH_H
#define _DXK_ENGINE_DISPATCH_H

#include "engine/engine.h"
#include "engine/fire.h"
#include "engine/waiter.h"
#include "engine/wake.h"

void dxk_wakes_do(struct dxk_engine *e, struct dxk_wakes *wakes);
bool dxk_publish(struct dxk_engine *e, struct dxk_op *op, dxk_op_fn *run);
void dxk_dispatch_all(struct dxk_engine *e, struct dxk_wakes *wakes);

/** dxk_wakes_flush - do the wake-ups of a lock hold that has ended */
static inline void dxk_wakes_flush(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	lockdep_assert_not_held(&e->lock);

	if (dxk_wakes_any(wakes))
		dxk_wakes_do(e, wakes);
}

/* Is there a Ready entry, and an idle worker of its kind? */
static inline bool dxk_kind_waits(const struct dxk_engine *e, enum dxk_kind kind)
{
	return e->ready.filled[kind] && e->crew.nr_idle[kind];
}

/* Something is Ready. Is there, or may there be, a worker for it? */
static inline bool dxk_may_dispatch(const struct dxk_engine *e)
{
	if (likely(!(e->crew.nr_idle[DXK_USER] | e->crew.nr_idle[DXK_KERNEL] |
		     dxk_may_relieve(e))))
		return false;
	return dxk_may_relieve(e) || dxk_kind_waits(e, DXK_USER) || dxk_kind_waits(e, DXK_KERNEL);
}

/* There are entries to age, to sweep and to poll for. */
static inline void dxk_backlog(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	dxk_call_control(e, DXK_SCHEDULER, wakes);
	dxk_call_control(e, DXK_DISPATCHER, wakes);
	wakes->work = e->ready.filled[DXK_USER];
}

/**
 * dxk_dispatch - give Ready requests to idle workers (DX-77)
 * @e: the engine, locked
 * @wakes: gets the wake-ups
 *
 * Ends every lock hold in which a request or a worker became available.
 */
static inline void dxk_dispatch(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	bool some = !dxk_ready_empty(&e->ready);

	if (e->owners.freed || (some && dxk_may_dispatch(e)))
		dxk_dispatch_all(e, wakes);
	else if (some)
		dxk_backlog(e, wakes);
}

/* The begin of a hold: events that have happened are older than what the hold is for. */
static inline void dxk_events_begin(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	if (unlikely(!llist_empty(&e->waits.fired)))
		dxk_fired_run(e, wakes);
}

/* The end of a hold after which the set of running workers may differ from before. */
static inline void dxk_events_end(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	if (unlikely(e->waits.files) && dxk_events_look(e))
		dxk_owe(e, wakes);
}

/**
 * dxk_hold - the lock hold of one operation: its moves, and the dispatch they make possible
 * @e: the context
 * @op: the operation
 * @run: what to do under the lock
 * @wakes: gets what is to be done after it: see dxk_wakes_flush()
 */
static __always_inline void dxk_hold(struct dxk_engine *e, struct dxk_op *op,
				     dxk_op_fn *run, struct dxk_wakes *wakes)
{
	dxk_wakes_init(wakes);
	spin_lock(&e->lock);
	dxk_hold_begin(e);
	dxk_events_begin(e, wakes);
	run(e, op, wakes);
	dxk_dispatch(e, wakes);
	dxk_events_end(e, wakes);
	dxk_hold_end(e, wakes);
	spin_unlock(&e->lock);
}

/**
 * dxk_perform - run one operation in the dispatcher role
 * @e: the context
 * @op: the operation, embedded in its arguments
 * @run: what to do under the lock
 *
 * Policy dispatch=direct: the caller is the dispatcher for one lock hold.
 * dispatch=thread: thread 700 is. In both cases the operation, and the dispatch
 * that it makes possible, is over when this returns; the operation may have
 * queued the caller as a waiter, see dxk_waiter_sleep(). Inlined so that @run is
 * a direct call.
 */
static __always_inline void dxk_perform(struct dxk_engine *e, struct dxk_op *op,
					dxk_op_fn *run)
{
	/* Large: what dxk_wakes_init() leaves out is never read. */
	struct dxk_wakes wakes __uninitialized;

	if (unlikely(!READ_ONCE(e->direct)) && dxk_publish(e, op, run))
		return;

	dxk_hold(e, op, run, &wakes);
	dxk_wakes_flush(e, &wakes);
}

int dxk_waiter_sleep_on(struct dxk_engine *e, struct dxk_waiter *w, bool catches, u64 deadline);

/**
 * dxk_waiter_sleep - sleep until the caller's own move is made
 * @e: the context
 * @w: the caller's waiter, queued by the operation just performed or done by it
 * @deadline: of CLOCK_MONOTONIC
 *
 * Return: 0 when the move was made, else -ERESTARTSYS or -ETIMEDOUT; then nobody
 * will make the move any more. A move that was made at the last moment wins.
 */
static inline int dxk_waiter_sleep(struct dxk_engine *e, struct dxk_waiter *w,
				   u64 deadline)
{
	os_may_wait_for_user();
	/* pairs with the release in dxk_waiter_finish() */
	if (likely(smp_load_acquire(&w->done)))
		return 0;
	return dxk_waiter_sleep_on(e, w, false, deadline);
}

/* For thread 700. */
void dxk_inbox_run(struct dxk_engine *e);
u64 dxk_sweep(struct dxk_engine *e, bool asked);
void dxk_sweep_end(struct dxk_engine *e);

#endif /* _DXK_ENGINE_DISPATCH_H */
