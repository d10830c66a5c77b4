// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Requests by the time at which something is to happen to them: see alarm.h.
 */
#include "engine/alarm.h"
#include "engine/cancel.h"
#include "engine/engine.h"
#include "engine/more.h"
#include "engine/next.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/stall.h"

static bool dxk_alarm_before(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct dxk_more, alarm)->at < rb_entry(b, struct dxk_more, alarm)->at;
}

static struct dxk_more *dxk_alarms_first(const struct dxk_waits *waits)
{
	struct rb_node *node = rb_first_cached(&waits->alarms);

	return node ? rb_entry(node, struct dxk_more, alarm) : NULL;
}

/**
 * dxk_alarm_set - have the clock look at a request at a time, and at no other one
 * @e: the engine, locked
 * @more: of the request
 * @at: the time, %DXK_FOREVER for never
 * @wakes: gets the wake-up of thread 700, if it would come too late
 */
void dxk_alarm_set(struct dxk_engine *e, struct dxk_more *more, u64 at,
		   struct dxk_wakes *wakes)
{
	struct dxk_waits *waits = &e->waits;

	lockdep_assert_held(&e->lock);

	if (more->at == at)
		return;
	if (more->at != DXK_FOREVER)
		rb_erase_cached(&more->alarm, &waits->alarms);
	more->at = at;
	if (at == DXK_FOREVER) {
		/* Who is idle has the clock to hope for no more. */
		if (RB_EMPTY_ROOT(&waits->alarms.rb_root))
			dxk_stall_suspect(e, wakes);
		return;
	}
	rb_add_cached(&more->alarm, &waits->alarms, dxk_alarm_before);
	if (at >= waits->planned)
		return;
	waits->planned = at;
	/* Before its first sweep thread 700 has not looked yet. */
	if (e->swept)
		wakes->kick |= BIT(DXK_DISPATCHER);
}

/* Its time has come. Then @at is another one, or none. */
static void dxk_alarm_ring(struct dxk_engine *e, struct dxk_more *more, u64 now,
			   struct list_head *ended, struct dxk_wakes *wakes)
{
	struct dxk_rqe *rqe = more->rqe;
	u64 deadline = DXK_FOREVER;

	if (rqe->state == DXK_WAITING && !more->ripe && more->wait.wait & DXK_WAIT_TIME)
		deadline = more->wait.deadline;
	if (more->expire <= now) {
		more->expire = DXK_FOREVER;
		e->stats.expired++;
		dxk_alarm_set(e, more, deadline, wakes);
		dxk_tell(e, rqe, DXK_WAKE_EXPIRE, ended, wakes);
		return;
	}
	e->stats.timeouts++;
	dxk_resume(e, rqe, DXK_WAKE_TIME, wakes);
}

/**
 * dxk_alarms_ring - do what is due
 * @e: the engine, locked
 * @ended: gets requests that have expired and that nobody collects
 * @wakes: of the hold; what it cannot afford is owed
 *
 * Return: was anything due?
 */
bool dxk_alarms_ring(struct dxk_engine *e, struct list_head *ended, struct dxk_wakes *wakes)
{
	struct dxk_more *more;
	bool rang = false;
	u64 now;

	lockdep_assert_held(&e->lock);

	if (likely(RB_EMPTY_ROOT(&e->waits.alarms.rb_root)))
		return false;
	now = os_now();
	while ((more = dxk_alarms_first(&e->waits)) && more->at <= now) {
		rang = true;
		if (!dxk_afford_or_owe(e, wakes, 1))
			break;
		dxk_alarm_ring(e, more, now, ended, wakes);
	}
	if (!rang)
		return false;
	/* What expired in the pool has left room there, and may have been the last. */
	dxk_serve_posters(e, wakes);
	if (unlikely(e->state == DXK_CTX_STOPPING))
		dxk_stop_workers(e, wakes);
	return true;
}

/**
 * dxk_alarms_plan - the clock is about to sleep
 * @e: the engine, locked
 *
 * Return: until when, at the latest, of CLOCK_MONOTONIC.
 */
u64 dxk_alarms_plan(struct dxk_engine *e)
{
	const struct dxk_more *first = dxk_alarms_first(&e->waits);

	e->waits.planned = first ? first->at : DXK_FOREVER;
	return e->waits.planned;
}
