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

/* The worker's call that asks whether to end has its answer. */
static void dxk_tell_worker(struct dxk_rqe *rqe, struct dxk_wakes *wakes)
{
	struct dxk_member *m = rqe->more->worker;

	if (m->work_ticket != rqe->ticket)
		return;
	WRITE_ONCE(m->told, true);
	if (m->should)
		dxk_should_answer(m->should, wakes);
}

/* One that is READY and was begun has its turn for that reason. */
static void dxk_tell_ready(struct dxk_more *more)
{
	if (more->cancelled)
		dxk_more_tell(more, DXK_WAKE_CANCEL);
	else if (more->expired)
		dxk_more_tell(more, DXK_WAKE_EXPIRE);
	more->expired = false;
}

/**
 * dxk_tell - a request is cancelled, or has expired
 * @e: the engine, locked
 * @rqe: has not ended
 * @reason: %DXK_WAKE_CANCEL or %DXK_WAKE_EXPIRE
 * @ended: gets it if it ends and nobody collects it
 * @wakes: gets the wake-ups
 *
 * Return: %DXK_CANCEL_ENDED or %DXK_CANCEL_TOLD. What was Ready and ends leaves room: the
 * caller serves who sleeps for that.
 */
u32 dxk_tell(struct dxk_engine *e, struct dxk_rqe *rqe, u8 reason, struct list_head *ended,
	     struct dxk_wakes *wakes)
{
	s32 status = reason == DXK_WAKE_EXPIRE ? -ETIME : -ECANCELED;
	struct dxk_more *more = rqe->more;

	lockdep_assert_held(&e->lock);

	if (!dxk_rqe_begun(rqe)) {
		if (rqe->state == DXK_WAITING)
			dxk_end_waiting(e, rqe, status, ended, wakes);
		else
			dxk_end_ready(e, rqe, status, ended, wakes);
		return DXK_CANCEL_ENDED;
	}
	if (reason == DXK_WAKE_CANCEL)
		more->cancelled = true;
	else
		more->expired = true;
	switch (rqe->state) {
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
 * dxk_tell_back - a worker gives a request back that it has not begun, and was told to end
 * @rqe: READY, or about to be
 *
 * Return: 0, or the status with which it ends now, as it never had a turn.
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
 * dxk_end_orphans - in a Stop(cancel), end what no worker is left for
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

/* Stop(cancel) meets one that waits. */
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
	if (rqe->state == DXK_WAITING)
		dxk_rqe_change(rqe, &e->waits.line[DXK_LINE_KEPT + rqe->kind]);
}

/**
 * dxk_cancel_waits - Stop(cancel) ends all that waits, or has it take its last turn
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
 * dxk_stop_waits - a Stop begins: the requests of lane 0 that wait are told (DX-109)
 * @e: the engine, locked
 * @wakes: gets the wake-ups
 *
 * Those that are masked stay, and those that find no room. As far as the lock hold can
 * afford; Stop(cancel) does it otherwise. Return: was that all?
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
		if (rqe->state != DXK_WAITING)
			continue;
		dxk_rqe_change(rqe, &e->waits.line[dxk_rqe_begun(rqe) ?
						   DXK_LINE_KEPT + rqe->kind : DXK_LINE_WORK]);
	}
	return true;
}
