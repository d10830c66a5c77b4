// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The end of a run, as a move of the engine: refuse posts, wake sleepers, and, if requested,
 * cancel Ready requests. The callers, which wait for it, are in life.c.
 */
#include "engine/block.h"
#include "engine/cancel.h"
#include "engine/dispatch.h"
#include "engine/key_call.h"
#include "engine/more.h"
#include "engine/next.h"
#include "engine/onblock.h"
#include "engine/os.h"
#include "engine/post.h"
#include "engine/rejoin.h"
#include "engine/should.h"
#include "engine/stall.h"
#include "engine/state.h"
#include "engine/stop.h"

/* Stop(cancel) meets a Ready request. */
static void dxk_cancel_ready(struct dxk_engine *e, struct dxk_rqe *rqe,
			     struct list_head *ended, struct dxk_wakes *wakes)
{
	if (likely(!dxk_rqe_begun(rqe))) {
		dxk_end_ready(e, rqe, -ECANCELED, ended, wakes);
		return;
	}
	dxk_ready_remove(&e->ready, rqe);
	dxk_more_tell(rqe->more, DXK_WAKE_CANCEL);
	dxk_ready_to_last(&e->ready, rqe);
	dxk_step(e);
}

/* Stop(cancel) takes Ready and waiting requests. To be performed again while there are more. */
void dxk_cancel_some_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_list_op *l = container_of(op, struct dxk_list_op, op);
	struct dxk_rqe *rqe = NULL;

	/* Not in a run that was begun between two of these holds. */
	while (e->cancelling && (rqe = dxk_ready_first(&e->ready)) && dxk_afford(wakes, 1))
		dxk_cancel_ready(e, rqe, &l->ended, wakes);
	l->more = rqe || !dxk_cancel_waits(e, &l->ended, wakes) ||
		  !dxk_key_calls_stop(e, wakes) || !dxk_marks_stop(e, wakes);
	dxk_stop_workers(e, wakes);
}

/* --- who is asked to end ---------------------------------------------------- */

/*
 * Notify the services that are to end, as far as the lock hold can afford. Return: was that all?
 * Services of a run that is over are all to end, even if there is another run by now.
 */
static bool dxk_stop_services(struct dxk_engine *e, struct dxk_stop_op *stop,
			      struct dxk_wakes *wakes)
{
	struct dxk_should_op *s;

	lockdep_assert_held(&e->lock);

	while (!list_empty(&stop->services)) {
		if (!dxk_afford(wakes, 1))
			return false;
		dxk_step(e);
		s = list_first_entry(&stop->services, struct dxk_should_op, w.link);
		s->answer = stop->gen != e->run.gen || dxk_member_is_to_end(s->m);
		if (s->answer)
			dxk_waiter_finish(&s->w, wakes);
		else
			list_move_tail(&s->w.link, &e->services);
	}
	return true;
}

/* --- Stop ------------------------------------------------------------------- */

/* Set the state before the first sleeper is woken: nobody falls asleep behind the search. */
static void dxk_stop_first(struct dxk_engine *e, struct dxk_stop_op *s)
{
	if (e->state == DXK_CTX_RUNNING || e->state == DXK_CTX_STOPPING)
		WRITE_ONCE(e->state, s->close ? DXK_CTX_STOPPED : DXK_CTX_STOPPING);
	if (s->cancel)
		WRITE_ONCE(e->cancelling, true);
	e->stopped = os_now();
	s->begun = true;
	INIT_LIST_HEAD(&s->services);
	list_splice_init(&e->services, &s->services);
}

/*
 * Stop begins: posts are refused, and sleepers are woken; Stop(drain) does so only to those
 * outside. To be performed again while there is more. Services come first, as no state
 * distinguishes them from those that fall asleep later; what the others leave over is owed.
 */
void dxk_stop_begin_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_stop_op *s = container_of(op, struct dxk_stop_op, op);

	/* It finishes the services that it has begun with, whatever has become of the run. */
	if (s->gen != e->run.gen) {
		s->more = s->begun && !dxk_stop_services(e, s, wakes);
		return;
	}
	if (!s->begun)
		dxk_stop_first(e, s);
	s->more = !dxk_stop_pollers(e, &s->pollers, wakes) ||
		  !dxk_stop_services(e, s, wakes) || !dxk_stop_waits(e, wakes) ||
		  !dxk_holds_release(e, &e->waits.holds, false, wakes);
	dxk_stop_posters(e, wakes);
	/* Those that it leaves asleep no longer wait for entries of the Rejoin Pool. */
	dxk_serve_posters(e, wakes);
	dxk_serve_blocked(e, wakes);
	dxk_stop_workers(e, wakes);
	if (s->close)
		dxk_stop_managers(e, wakes);
}
