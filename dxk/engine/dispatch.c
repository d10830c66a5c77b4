// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The dispatcher is a role: the holder of the engine's lock makes the move that it
 * came for, and then gives Ready requests to idle workers. Thread 700 is the fallback:
 * it takes over where a caller's share of work ends, sweeps periodically while
 * requests are Ready, and under policy dispatch=thread makes every move: callers publish
 * operations in the inbox. What it takes out stays in the engine until it has run, and a caller
 * learns of it before the lock is released. So when thread 700 does not get the CPU, which its
 * cgroup may deny it for long, any caller can go on in its place, at any time.
 */
#include "engine/alarm.h"
#include "engine/block.h"
#include "engine/dispatch.h"
#include "engine/home.h"
#include "engine/next.h"
#include "engine/onblock.h"
#include "engine/order.h"
#include "engine/os.h"
#include "engine/pool.h"
#include "engine/post.h"
#include "engine/purge.h"
#include "engine/rejoin.h"
#include "engine/wake.h"

/* Most published operations that run in one lock hold. */
#define DXK_INBOX_BUDGET	16

/*
 * Callers wait for thread 700 a tenth of the time at most: dxk_engine.late is ahead of the clock by
 * ten times what they have waited, and when it is so far ahead they do not wait. Short waits, which
 * are usual on a busy machine, do not count.
 */
#define DXK_LATE_TIMES		10
#define DXK_LATE_AHEAD		NSEC_PER_SEC
#define DXK_LATE_SHORT		(4 * NSEC_PER_MSEC)

/* --- the end of a lock hold ------------------------------------------------ */

/* Do what lock holds have left over: see struct dxk_wakes. */
static void dxk_catch_up(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&e->lock);

	dxk_owners_go_on(e, wakes);
	dxk_serve_joined(e, wakes);
	dxk_serve_outers(e, wakes);
	dxk_sweep_posters(e, wakes);
	dxk_homes_go_on(e, wakes);
	if (!list_empty(&e->owners.blocked))
		dxk_serve_blocked(e, wakes);
	dxk_mark_grant(e, DXK_USER, wakes);
	dxk_mark_grant(e, DXK_KERNEL, wakes);
	dxk_stop_workers(e, wakes);
	if (e->state == DXK_CTX_STOPPED)
		dxk_stop_managers(e, wakes);
	else
		dxk_tell_managers(e, wakes);
}

/* Do what this caller's holds have left over, until nothing is left. */
static void dxk_go_on(struct dxk_engine *e)
{
	struct dxk_wakes wakes __uninitialized;
	LIST_HEAD(ended);
	bool more;

	do {
		os_yield();
		dxk_wakes_init(&wakes);
		spin_lock(&e->lock);
		dxk_hold_begin(e);
		e->owing = false;
		dxk_catch_up(e, &wakes);
		dxk_fired_run(e, &wakes);
		dxk_purge_some(e, &ended, &wakes);
		dxk_dispatch(e, &wakes);
		dxk_events_end(e, &wakes);
		dxk_hold_end(e, &wakes);
		spin_unlock(&e->lock);
		dxk_rqe_drop_all(NULL, &ended);
		more = wakes.kick & BIT(DXK_MYSELF);
		wakes.kick &= ~BIT(DXK_MYSELF);
		dxk_wakes_flush(e, &wakes);
	} while (more);
}

static noinline void dxk_wakes_kick(struct dxk_engine *e, u32 kick)
{
	u32 i;

	for (i = 0; i < DXK_CONTROLS; i++)
		if (kick & BIT(i))
			os_kick(e, i);
	if (kick & BIT(DXK_WALKER))
		os_kick(e, DXK_WALKER);
	if (kick & BIT(DXK_MYSELF))
		dxk_go_on(e);
}

/** dxk_wakes_do - dxk_wakes_flush() if there is something to do */
void dxk_wakes_do(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	u32 i;

	for (i = 0; i < wakes->nr; i++)
		os_wake_held(wakes->task[i]);
	for (i = 0; i < wakes->nr_members; i++) {
		os_poll_wake(wakes->member[i]);
		os_member_put(wakes->member[i]);
	}
	if (wakes->work)
		os_poll_workers(e);
	if (unlikely(wakes->bin))
		os_empty_bin(e);
	if (unlikely(wakes->kick))
		dxk_wakes_kick(e, wakes->kick);
}

/* --- a sleep that ends early ---------------------------------------------- */

/* A sleep that ended early. */
struct dxk_cancel_op {
	struct dxk_op op;
	struct dxk_waiter *w;
	bool done;
};

static void dxk_cancel_run(struct dxk_engine *e, struct dxk_op *op,
			   struct dxk_wakes *wakes)
{
	struct dxk_cancel_op *c = container_of(op, struct dxk_cancel_op, op);

	c->done = c->w->done;
	if (c->done)
		return;
	dxk_waiter_leave(c->w);
	/*
	 * It may have been a poster at the head of a queue, and have waited for a
	 * Rejoin Pool entry, which the one behind it does not need.
	 */
	dxk_serve_posters(e, wakes);
	/* It may have been an idle worker, for which the Monitor did not have to look. */
	dxk_call_control(e, DXK_MONITOR, wakes);
}

/* Each hold looks at the events that have fired. */
static void dxk_catch_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
}

/**
 * dxk_waiter_sleep_on - dxk_waiter_sleep() when the move is still to be made
 * @e: the engine
 * @w: queued
 * @catches: the caller handles events that fire meanwhile, see fire.h; one may end its sleep
 * @deadline: of the sleep
 *
 * Return: 0, or why the sleep has ended before the move.
 */
int dxk_waiter_sleep_on(struct dxk_engine *e, struct dxk_waiter *w, bool catches, u64 deadline)
{
	struct dxk_cancel_op c;
	int err;

	for (;;) {
		err = os_doze(&w->done, catches ? &e->waits.fired : NULL, deadline);
		/* pairs with the release in dxk_waiter_end() */
		if (err || smp_load_acquire(&w->done))
			break;
		dxk_perform(e, &c.op, dxk_catch_run);
	}
	if (!err)
		return 0;
	c.w = w;
	dxk_perform(e, &c.op, dxk_cancel_run);
	return c.done ? 0 : err;
}

/* --- the role -------------------------------------------------------------- */

/*
 * Let the sleepers for Rejoin Pool entries go on, and requests that wait for owners.
 *
 * This may return results, and so free further entries. The functions that serve look for
 * room before each sleeper, so these entries are seen, or owed with the rest.
 */
static void dxk_serve_freed(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	if (e->policy.rejoin_full == DXK_REJOIN_BLOCK_WORKER)
		dxk_serve_blocked(e, wakes);
	if (e->policy.rejoin_full == DXK_REJOIN_RESERVE ||
	    unlikely(e->ready.asleep[DXK_LANES] || e->ready.rooms.nr))
		dxk_serve_posters(e, wakes);
	/* Last, because the sleepers above may end what these wait for. These end nothing. */
	if (unlikely(!list_empty(&e->waits.joined) || !list_empty(&e->waits.eager)))
		dxk_serve_joined(e, wakes);
	if (unlikely(!list_empty(&e->waits.rising)))
		dxk_serve_outers(e, wakes);
	e->owners.freed = false;
}

/* Give idle workers of homes what there is for them. Return: could the hold afford all of it? */
static noinline bool dxk_homes_dispatch(struct dxk_engine *e, enum dxk_kind kind,
					struct dxk_wakes *wakes)
{
	struct dxk_ready *ready = &e->ready;
	u64 homes;

	lockdep_assert_held(&e->lock);

	/* Only homes whose workers find something are looked at. */
	while ((homes = ready->idle_homes[kind] & dxk_homes_served(e, kind))) {
		u32 h = __ffs64(homes);
		struct list_head *idle = &ready->home[h].idle[kind];
		u32 cost = e->policy.steal && !list_empty(idle) ? dxk_homes_cost(ready, kind) : 0;
		struct dxk_rqe *rqe;

		if (!dxk_afford_or_owe(e, wakes, 1 + cost))
			return false;
		if (list_empty(idle)) {
			ready->idle_homes[kind] &= ~BIT_ULL(h);
			continue;
		}
		rqe = dxk_home_best(e, h, kind);
		dxk_ready_remove(ready, rqe);
		dxk_hand_over(e, list_first_entry(idle, struct dxk_next_op, w.link), rqe, wakes);
	}
	return true;
}

/**
 * dxk_dispatch_all - dxk_dispatch(), where there may be something to do
 * @e: the engine, locked
 * @wakes: gets the wake-ups
 */
void dxk_dispatch_all(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	u64 entries;
	u32 kind;

	lockdep_assert_held(&e->lock);

	if (e->owners.freed)
		dxk_serve_freed(e, wakes);
	do {
		entries = e->ready.seq;
		for (kind = 0; kind < DXK_KINDS; kind++) {
			struct list_head *idle = &e->crew.idle[kind];

			while (e->ready.filled[kind] && !list_empty(idle)) {
				if (!dxk_afford_or_owe(e, wakes, 1))
					return;
				if (!dxk_give_idle(e, kind, wakes))
					break;
			}
			if (unlikely(e->ready.idle_homes[kind]) && e->ready.filled[kind] &&
			    !dxk_homes_dispatch(e, kind, wakes))
				return;
		}
		if (dxk_ready_empty(&e->ready))
			return;
		if (unlikely(dxk_may_relieve(e)))
			dxk_relieve(e, wakes);
		/* A freed entry may have let in a request of the kind before. */
	} while (unlikely(e->ready.seq != entries));
	dxk_backlog(e, wakes);
}

static u64 dxk_moves_so_far(const struct dxk_engine *e)
{
	return e->stats.posts + e->stats.dispatches + e->stats.completions +
	       e->stats.collected + e->stats.cancelled + e->stats.put_back +
	       e->stats.waits;
}

/* Take the oldest published operation. Return: it, or NULL. */
static struct dxk_op *dxk_inbox_take(struct dxk_engine *e)
{
	struct llist_node *node;

	lockdep_assert_held(&e->lock);

	if (!e->taken)
		WRITE_ONCE(e->taken, llist_reverse_order(llist_del_all(&e->inbox)));
	node = e->taken;
	if (!node)
		return NULL;
	WRITE_ONCE(e->taken, node->next);
	return llist_entry(node, struct dxk_op, inbox);
}

/* Run published operations in their order, as many as one lock hold may. */
static noinline void dxk_inbox_hold(struct dxk_engine *e)
{
	struct task_struct *caller[DXK_INBOX_BUDGET];
	struct dxk_op *batch[DXK_INBOX_BUDGET];
	struct dxk_wakes wakes __uninitialized;
	u64 moves, before;
	u32 i, nr = 0;

	dxk_wakes_init(&wakes);
	spin_lock(&e->lock);
	dxk_hold_begin(e);
	dxk_events_begin(e, &wakes);
	moves = dxk_moves_so_far(e);
	while (nr < DXK_INBOX_BUDGET && (!nr || wakes.spent < DXK_HOLD_BUDGET) &&
	       (batch[nr] = dxk_inbox_take(e))) {
		before = moves;
		batch[nr]->run(e, batch[nr], &wakes);
		nr++;
		/* Charge its own moves, and the wake-up of its caller. */
		moves = dxk_moves_so_far(e);
		wakes.spent += (moves - before) / 2 + 1;
	}
	dxk_dispatch(e, &wakes);
	dxk_events_end(e, &wakes);
	/* A caller whose operation has run waits for nobody, not even for who has run it. */
	for (i = 0; i < nr; i++) {
		caller[i] = batch[i]->caller;
		os_hold(caller[i]);
		/* pairs with the loads in os_await() and dxk_publish() */
		smp_store_release(&batch[i]->ran, true);
	}
	dxk_hold_end(e, &wakes);
	spin_unlock(&e->lock);

	for (i = 0; i < nr; i++)
		os_wake_held(caller[i]);
	dxk_wakes_flush(e, &wakes);
	os_yield();
}

/**
 * dxk_inbox_run - run published operations
 * @e: the engine
 *
 * For thread 700. Of those that a caller runs meanwhile, see dxk_publish(), it may miss some.
 */
void dxk_inbox_run(struct dxk_engine *e)
{
	while (!llist_empty(&e->inbox) || READ_ONCE(e->taken))
		dxk_inbox_hold(e);
}

/* Wait for thread 700. Return: has it run the operation? */
static bool dxk_inbox_await(struct dxk_engine *e, const struct dxk_op *op)
{
	u64 begun = os_now(), late = max(READ_ONCE(e->late), begun), waited;
	bool ran;

	if (late - begun > DXK_LATE_AHEAD)
		return false;
	ran = os_await(&op->ran);
	waited = os_now() - begun;
	/* The caller itself may have got no CPU time for long. */
	if (waited > DXK_LATE_SHORT)
		WRITE_ONCE(e->late, late + DXK_LATE_TIMES * min_t(u64, waited, OS_PATIENCE));
	return ran;
}

/**
 * dxk_publish - hand an operation to thread 700 and wait until it has run
 * @e: the engine
 * @op: the operation
 * @run: its function
 *
 * No signal ends the wait. But when thread 700 does not come for as long as os_await() waits, or
 * has been late for some time, the caller takes the role, for the operations before its own, too.
 * Return: false if callers take the role themselves by now.
 */
bool dxk_publish(struct dxk_engine *e, struct dxk_op *op, dxk_op_fn *run)
{
	op->run = run;
	op->ran = false;
	op->caller = os_self();

	/*
	 * dxk_dispatcher_stop() sets direct and waits for readers before the
	 * thread empties its inbox for the last time.
	 */
	os_read_begin();
	if (READ_ONCE(e->direct)) {
		os_read_end();
		return false;
	}
	llist_add(&op->inbox, &e->inbox);
	os_read_end();
	os_kick(e, DXK_DISPATCHER);

	os_may_wait(OS_DISPATCHER);
	if (dxk_inbox_await(e, op))
		return true;
	/* pairs with the release in dxk_inbox_hold() */
	while (!smp_load_acquire(&op->ran))
		dxk_inbox_hold(e);
	/* It may have looked for others while the caller took them out. */
	os_kick(e, DXK_DISPATCHER);
	return true;
}

/**
 * dxk_sweep - look at the clock, and for a missed dispatch
 * @e: the engine
 * @asked: a caller handed over the rest of its work, so work to do is expected
 *
 * A kick makes the next sweep do what this one leaves over.
 * Return: when to look at the clock again, of CLOCK_MONOTONIC.
 */
u64 dxk_sweep(struct dxk_engine *e, bool asked)
{
	struct dxk_wakes wakes __uninitialized;
	LIST_HEAD(ended);
	u64 before, again;
	bool told, rang, all;

	dxk_wakes_init(&wakes);
	spin_lock(&e->lock);
	dxk_hold_begin(e);
	e->swept = true;
	/* If it was called for Ready requests only, it looks at nothing else. */
	all = !asked || e->owing;
	/*
	 * Who left work over may be about to ask. A thread that was woken for an event may be
	 * about to look, too.
	 */
	told = asked || e->owing || !llist_empty(&e->waits.fired);
	e->owing = false;
	/* Events come before the times that have come meanwhile. */
	dxk_fired_run(e, &wakes);
	rang = dxk_alarms_ring(e, &ended, &wakes);
	before = e->stats.dispatches;
	if (all)
		dxk_catch_up(e, &wakes);
	else
		dxk_sweep_posters(e, &wakes);
	dxk_purge_some(e, &ended, &wakes);
	dxk_dispatch(e, &wakes);
	dxk_events_end(e, &wakes);
	/* Sleepers in a run that ends are notified in further holds, which this may precede. */
	if (!told && !rang && e->stats.dispatches != before && e->state == DXK_CTX_RUNNING)
		e->stats.missed_wakeups++;
	/* Not when asked: a pool that empties and fills is one backlog. */
	e->dormant[DXK_DISPATCHER] = !asked && dxk_ready_empty(&e->ready);
	again = dxk_alarms_plan(e);
	dxk_hold_end(e, &wakes);
	spin_unlock(&e->lock);
	dxk_wakes_flush(e, &wakes);
	if (unlikely(!list_empty(&ended)))
		dxk_rqe_drop_all(NULL, &ended);
	os_yield();
	return again;
}

/** dxk_sweep_end - end the sweeps: from here on callers do what they leave over */
void dxk_sweep_end(struct dxk_engine *e)
{
	spin_lock(&e->lock);
	e->swept = false;
	spin_unlock(&e->lock);
	dxk_go_on(e);
}
