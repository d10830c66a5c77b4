// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The end of requests before their time: see cancel.h.
 */
#include "engine/cancel.h"
#include "engine/engine.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/os.h"
#include "engine/rejoin.h"
#include "engine/should.h"

/* --- one request ---------------------------------------------------------------- */

/* Notify the worker of a request, and answer its call that asks whether to end. */
static void dxk_tell_worker(struct dxk_rqe *rqe, struct dxk_wakes *wakes)
{
	struct dxk_member *m = rqe->more->worker;

	if (m->work_ticket != rqe->ticket)
		return;
	WRITE_ONCE(m->told, true);
	if (m->should)
		dxk_should_answer(m->should, wakes);
}

/* A begun request that is READY or Held has its next turn for that reason. */
static void dxk_tell_ready(struct dxk_more *more)
{
	if (more->cancelled)
		dxk_more_tell(more, DXK_WAKE_CANCEL);
	else if (more->expired)
		dxk_more_tell(more, DXK_WAKE_EXPIRE);
	more->expired = false;
}

/**
 * dxk_tell - end a request that is cancelled or has expired, or notify it
 * @e: the engine, locked
 * @rqe: has not ended
 * @reason: %DXK_WAKE_CANCEL or %DXK_WAKE_EXPIRE
 * @ended: gets it if it ends and nobody collects it
 * @wakes: gets the wake-ups
 *
 * Return: %DXK_CANCEL_ENDED or %DXK_CANCEL_TOLD. A Ready request that ends leaves room: the
 * caller serves the sleepers for room.
 */
u32 dxk_tell(struct dxk_engine *e, struct dxk_rqe *rqe, u8 reason, struct list_head *ended,
	     struct dxk_wakes *wakes)
{
	s32 status = reason == DXK_WAKE_EXPIRE ? -ETIME : -ECANCELED;
	struct dxk_more *more = rqe->more;

	lockdep_assert_held(&e->lock);

	if (!dxk_rqe_begun(rqe)) {
		if (dxk_rqe_state(rqe) == DXK_WAITING)
			dxk_end_waiting(e, rqe, status, ended, wakes);
		else
			dxk_end_ready(e, rqe, status, ended, wakes);
		return DXK_CANCEL_ENDED;
	}
	if (reason == DXK_WAKE_CANCEL)
		more->cancelled = true;
	else
		more->expired = true;
	switch (dxk_rqe_state(rqe)) {
	case DXK_WAITING:
		if (dxk_is_held(more))
			dxk_tell_ready(more);
		else if (!(more->wait.wait & DXK_WAIT_MASKED))
			dxk_resume(e, rqe, reason, wakes);
		break;
	case DXK_READY:
		dxk_tell_ready(more);
		break;
	default:
		if (reason == DXK_WAKE_CANCEL)
			dxk_key_give_up(more, wakes);
		dxk_tell_worker(rqe, wakes);
	}
	return DXK_CANCEL_TOLD;
}

/**
 * dxk_tell_back - a request goes back whose worker may have been notified, but not begun it
 * @rqe: READY, or about to be
 *
 * Return: 0, or the status with which the request ends now, as it never had a turn.
 */
int dxk_tell_back(struct dxk_rqe *rqe)
{
	struct dxk_more *more = rqe->more;

	more->worker = NULL;
	if (dxk_rqe_begun(rqe)) {
		dxk_tell_ready(more);
		return 0;
	}
	if (more->cancelled)
		return -ECANCELED;
	return more->expired ? -ETIME : 0;
}

/* --- all of them, in a Stop ------------------------------------------------------ */

static bool dxk_end_line(struct dxk_engine *e, struct list_head *line,
			 struct list_head *ended, struct dxk_wakes *wakes)
{
	while (!list_empty(line)) {
		if (!dxk_afford(wakes, 1))
			return false;
		dxk_end_waiting(e, list_first_entry(line, struct dxk_rqe, link), -ECANCELED,
				ended, wakes);
	}
	return true;
}

/**
 * dxk_end_orphans - in a Stop(cancel), end requests for which no worker is left
 * @e: the engine, locked
 * @ended: gets those that nobody collects
 * @wakes: gets the wake-ups
 *
 * As far as the lock hold can afford. Return: was that all?
 */
bool dxk_end_orphans(struct dxk_engine *e, struct list_head *ended, struct dxk_wakes *wakes)
{
	u32 kind;

	lockdep_assert_held(&e->lock);

	for (kind = 0; kind < DXK_KINDS && e->cancelling; kind++) {
		struct list_head *last = &e->ready.last[kind];

		if (dxk_has_crew(e, kind))
			continue;
		if (!dxk_end_line(e, &e->waits.line[DXK_LINE_KEPT + kind], ended, wakes))
			return false;
		while (!list_empty(last)) {
			if (!dxk_afford(wakes, 1))
				return false;
			dxk_end_ready(e, list_first_entry(last, struct dxk_rqe, link),
				      -ECANCELED, ended, wakes);
		}
	}
	return true;
}

/* Stop(cancel) meets a waiting request. */
static void dxk_cancel_wait(struct dxk_engine *e, struct dxk_rqe *rqe,
			    struct list_head *ended, struct dxk_wakes *wakes)
{
	if (!dxk_rqe_begun(rqe) || !dxk_has_crew(e, rqe->kind)) {
		dxk_end_waiting(e, rqe, -ECANCELED, ended, wakes);
		return;
	}
	if (dxk_is_held(rqe->more))
		dxk_more_tell(rqe->more, DXK_WAKE_CANCEL);
	else if (!(rqe->more->wait.wait & DXK_WAIT_MASKED))
		dxk_resume(e, rqe, DXK_WAKE_CANCEL, wakes);
	if (dxk_rqe_state(rqe) == DXK_WAITING)
		dxk_rqe_change(rqe, &e->waits.line[DXK_LINE_KEPT + rqe->kind]);
}

/**
 * dxk_cancel_waits - in a Stop(cancel), end waiting requests, or let them take their last turns
 * @e: the engine, locked
 * @ended: gets those that nobody collects
 * @wakes: gets the wake-ups
 *
 * As far as the lock hold can afford. Return: was that all?
 */
bool dxk_cancel_waits(struct dxk_engine *e, struct list_head *ended, struct dxk_wakes *wakes)
{
	u32 line;

	lockdep_assert_held(&e->lock);

	for (line = 0; line < DXK_LINE_KEPT; line++) {
		struct list_head *waits = &e->waits.line[line];

		while (e->cancelling && !list_empty(waits)) {
			if (!dxk_afford(wakes, 1))
				return false;
			dxk_cancel_wait(e, list_first_entry(waits, struct dxk_rqe, link),
					ended, wakes);
		}
	}
	return dxk_end_orphans(e, ended, wakes);
}

/**
 * dxk_stop_waits - notify the waiting requests of lane 0 that a Stop begins (DX-109)
 * @e: the engine, locked
 * @wakes: gets the wake-ups
 *
 * Those that are masked stay, and those that find no room. As far as the lock hold can
 * afford; Stop(cancel) uses dxk_cancel_waits() instead. Return: was that all?
 */
bool dxk_stop_waits(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct list_head *waits = &e->waits.line[DXK_LINE_SERVICE];

	lockdep_assert_held(&e->lock);

	while (!e->cancelling && !list_empty(waits)) {
		struct dxk_rqe *rqe = list_first_entry(waits, struct dxk_rqe, link);

		if (!dxk_afford(wakes, 1))
			return false;
		if (!(rqe->more->wait.wait & DXK_WAIT_MASKED))
			dxk_resume(e, rqe, DXK_WAKE_STOP, wakes);
		if (dxk_rqe_state(rqe) != DXK_WAITING)
			continue;
		dxk_rqe_change(rqe, &e->waits.line[dxk_rqe_begun(rqe) ?
						   DXK_LINE_KEPT + rqe->kind : DXK_LINE_WORK]);
	}
	return true;
}
