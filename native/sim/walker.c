// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The walker: takes a run down, step by step, and buries the context. As in
 * runtime/context.c and runtime/run.c.
 */
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/life.h"
#include "engine/name.h"

#include "actor.h"
#include "house.h"
#include "model.h"

/* All who slept at its beginning, and are shut out, are awake at its end. */
static void shut(void)
{
	u64 begun = sim_now;

	dxk_run_shut(&house.e);
	house.stopped = begun;
}

/* The last kernel worker that goes kicks the walker. */
static bool crew_is_gone(void)
{
	struct dxk_engine *e = &house.e;
	u32 live;

	shut();
	spin_lock(&e->lock);
	live = e->run.live;
	if (e->run.how != DXK_CLOSE && !dxk_quiet(e))
		sim_fail("the run goes down, and there is work");
	spin_unlock(&e->lock);
	crew_reap();
	return !live;
}

static void dispatcher_down(void)
{
	struct dxk_engine *e = &house.e;

	if (!e->direct) {
		/* But for those who had begun when it was started, or when it was late. */
		if (!sim_hasty && !e->late && model.others > model.moves + 2 * DXK_BATCH_MAX)
			sim_fail("dispatch=thread, and others make the moves");
		WRITE_ONCE(e->direct, true);
		while (sim_readers)
			sim_nap(1000);
	}
	control_down(DXK_DISPATCHER);
}

/* One step down, or the end. Is there more to do? */
static bool step_down(void)
{
	struct dxk_engine *e = &house.e;

	note("a step down, %u are up", house.up);
	if (!house.up) {
		dxk_run_over(e);
		return true;
	}
	switch (house.up - 1) {
	case STEP_OWNERS:
		dxk_pools_close(e);
		if (e->run.failed) {
			dxk_owners_unstart(e);
			dxk_names_unstart(e);
		}
		break;
	case STEP_MONITOR:
		control_down(DXK_MONITOR);
		break;
	case STEP_SCHEDULER:
		control_down(DXK_SCHEDULER);
		break;
	case STEP_DISPATCHER:
		dispatcher_down();
		break;
	case STEP_CREW:
		if (!crew_is_gone())
			return false;
		break;
	}
	house.up--;
	return true;
}

static void bury(void)
{
	const struct dxk_engine *e = &house.e;
	u32 i;

	note("buried");
	if (!e->run.closed || e->run.pins || !dxk_run_is_over(e) || house.calls)
		sim_fail("buried alive");
	for (i = 0; i < DXK_CONTROLS; i++)
		if (house.control[i].task)
			sim_fail("control thread %u is buried", i);
	house.buried = true;
}

static void walk(void)
{
	struct dxk_engine *e = &house.e;

	for (;;) {
		switch (dxk_run_look(e)) {
		case DXK_WALK_PARK:
			return;
		case DXK_WALK_SHUT:
			shut();
			break;
		case DXK_WALK_DOWN:
			if (!step_down())
				return;
			break;
		case DXK_WALK_LEAVE:
			note("nobody has it any more");
			break;
		case DXK_WALK_BURY:
			bury();
			return;
		}
	}
}

static void walker_main(void *arg)
{
	struct control *c = arg;

	while (!READ_ONCE(c->stop)) {
		if (control_take_kick(c)) {
			sim_self->halting = true;
			house.telling++;
			walk();
			house.telling--;
			sim_self->halting = false;
		}
		control_wait(c, DXK_FOREVER);
	}
}

void walker_start(void)
{
	control_start(&house.walker, "walker", walker_main);
}

void walker_stop(void)
{
	control_stop(&house.walker);
}
