// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What must hold of runs whenever the lock is free: what the head of engine/life.h says, and
 * what a step of the state machine may change. When no thread can run, all that was begun
 * must have ended, but for what waits for somebody who still executes.
 */
#include "actor.h"
#include "check.h"
#include "house.h"

/* As it was at the end of the lock hold before. */
static struct {
	struct dxk_run run;
	u8 state;
	bool quiet;
	u32 present;
} before;

void check_run_reset(void)
{
	memset(&before, 0, sizeof(before));
}

static bool there_is_a_run(const struct dxk_run *run)
{
	return run->over != run->gen;
}

/* --- the state machine --------------------------------------------------------- */

static bool may_follow(const struct dxk_run *run, u8 from, u8 to)
{
	switch (from) {
	case DXK_CTX_NEW:
		return to == DXK_CTX_STARTING || (to == DXK_CTX_STOPPED && run->closed);
	case DXK_CTX_STARTING:
		return to == DXK_CTX_RUNNING || (to == DXK_CTX_STOPPING && run->failed);
	case DXK_CTX_RUNNING:
		return to == DXK_CTX_STOPPING;
	case DXK_CTX_STOPPING:
		return to == DXK_CTX_STOPPED || (to == DXK_CTX_NEW && run->failed);
	default:
		return to == DXK_CTX_STARTING || (to == DXK_CTX_NEW && run->failed);
	}
}

static void check_state(const struct dxk_engine *e)
{
	const struct dxk_run *run = &e->run;

	if (e->state != before.state && !may_follow(run, before.state, e->state))
		sim_fail("from state %u the context goes to %u", before.state, e->state);
	if (there_is_a_run(run) ? e->state == DXK_CTX_NEW :
				  e->state != DXK_CTX_NEW && e->state != DXK_CTX_STOPPED)
		sim_fail("state %u, and %u of %u runs are over", e->state, run->over, run->gen);
	if (e->state == DXK_CTX_RUNNING && (run->how || run->want_down || run->down ||
					    run->failed || run->closed))
		sim_fail("it runs, and somebody has stopped it");
	if (e->state == DXK_CTX_STOPPED && there_is_a_run(run) && !run->down)
		sim_fail("a run that has not ended is stopped");
}

/* --- the run ------------------------------------------------------------------- */

/* Start claims: what was there before is over, and what was set is in force. */
static void check_claim(const struct dxk_engine *e)
{
	if (e->run.gen != before.run.gen + 1 || there_is_a_run(&before.run) ||
	    e->state != DXK_CTX_STARTING)
		sim_fail("run %u begins in state %u, and %u of %u were over", e->run.gen,
			 e->state, before.run.over, before.run.gen);
	if (memcmp(&e->policy, &house.policy, sizeof(e->policy)))
		sim_fail("a Start does not put into force what was set");
}

/* Of the same run as before. */
static void check_grows(const struct dxk_engine *e)
{
	const struct dxk_run *run = &e->run, *was = &before.run;

	if (run->how < was->how || run->want_down < was->want_down || run->down < was->down)
		sim_fail("a run that was to end so ends less than so");
	if (e->cancelling != (run->how >= DXK_CANCEL))
		sim_fail("how %u, cancelling %d", run->how, e->cancelling);
	if (before.state >= DXK_CTX_STOPPING && before.quiet && !dxk_quiet(e))
		sim_fail("something enters a run that was stopped and quiet");
	if (was->down && (run->live > was->live || e->crew.present > before.present))
		sim_fail("a worker joins a run that goes down");
	if (house_differs_in_fixed(&e->policy, &house.began))
		sim_fail("what only Start changes has changed");
}

static void check_live(const struct dxk_run *run)
{
	const struct actor *a;
	u32 live = 0;

	for_each_actor(a)
		live += a->live;
	if (run->live != live)
		sim_fail("%u kernel workers live, told are %u", live, run->live);
}

static void check_over(const struct dxk_run *run)
{
	if (run->live || house.up)
		sim_fail("a run is over, with %u workers and %u steps up", run->live, house.up);
}

/** check_run - at the end of each lock hold */
void check_run(void)
{
	const struct dxk_engine *e = &house.e;
	const struct dxk_run *run = &e->run;

	if (run->over != run->gen && run->over + 1 != run->gen)
		sim_fail("%u of %u runs are over", run->over, run->gen);
	check_state(e);
	check_live(run);
	if (run->gen != before.run.gen)
		check_claim(e);
	else if (there_is_a_run(run))
		check_grows(e);
	else
		check_over(run);
	if (run->buried && (!run->closed || there_is_a_run(run) || run->pins))
		sim_fail("buried too early");
	before.run = *run;
	before.state = e->state;
	before.quiet = dxk_quiet(e);
	before.present = e->crew.present;
}

/* --- when nobody can run ------------------------------------------------------- */

static void check_ends(const struct dxk_engine *e)
{
	const struct dxk_run *run = &e->run;

	if (e->state >= DXK_CTX_STOPPING && run->shut <= run->how &&
	    (there_is_a_run(run) || run->closed))
		sim_fail("nobody has ended those who sleep in a run that ends");
	if (there_is_a_run(run) && run->want_down && !run->live &&
	    (run->down || run->how == DXK_CLOSE || dxk_quiet(e)))
		sim_fail("a run could end, and does not");
	if (!list_empty(&run->ended) && (!there_is_a_run(run) || !run->want_down))
		sim_fail("Stop sleeps for the end of a run that %s",
			 there_is_a_run(run) ? "nobody ends" : "is over");
	if (run->closed && !there_is_a_run(run) && (!run->left || (!run->pins && !run->buried)))
		sim_fail("a context that is closed is not buried");
}

/** check_run_idle - nobody runs, and nobody will before time passes */
void check_run_idle(void)
{
	const struct task_struct *walker = house.walker.task;

	/* A step down may wait for a thread to end. */
	if (!walker || walker->state != SIM_ASLEEP || walker->deadline != DXK_FOREVER ||
	    house.e.state == DXK_CTX_STARTING)
		return;
	if (house.walker.kicked)
		sim_fail("the walker sleeps, and was kicked");
	check_ends(&house.e);
}
