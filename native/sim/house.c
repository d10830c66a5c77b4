// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The house around the engine, see house.h: its mutex, its policy, its runs. The steps of
 * Start and Stop are those of runtime/, as far as the engine knows of them.
 */
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/policy.h"

#include "actor.h"
#include "choice.h"
#include "house.h"
#include "model.h"

struct house house;
u32 sim_readers;

/* --- the mutex ---------------------------------------------------------------- */

bool house_trylock(void)
{
	os_point();
	if (house.mutex)
		return false;
	house.mutex = sim_self;
	order_acquire(&house.mutex);
	return true;
}

void house_lock(void)
{
	while (!house_trylock()) {
		sim_self->locking = true;
		sim_doze_begin();
		sim_sleep(DXK_FOREVER);
	}
	sim_self->locking = false;
}

void house_unlock(void)
{
	u32 i;

	order_release(&house.mutex);
	house.mutex = NULL;
	for (i = 0; i < sim_tasks(); i++)
		if (sim_task(i)->locking)
			sim_task_wake(sim_task(i));
}
/* --- the policy -------------------------------------------------------------- */

static u32 few(u32 max)
{
	return 1 + (chance(8) ? choose(max) : choose(4));
}

static void draw_lanes(struct dxk_policy *p)
{
	static const u32 pct[] = { 0, 20, 33, 50 };
	u32 l;

	for (l = 0; l < 3; l++)
		p->lane_pct[l] = pct[choose(4)];
}

static void draw_dynamic(struct dxk_policy *p)
{
	if (chance(4))
		draw_lanes(p);
	p->max_threads = few(8);
	p->kernel_threads = choose(p->max_threads + 1);
	p->prio_policy = choose(4);
	p->boost_value = choose(4);
	p->sched_interval_ms = 1 + choose(20);
	p->monitor_interval_ms = 1 + choose(100);
	p->sample_interval_ms = chance(8);
	p->report_age_ms = chance(8);
	p->redo_max = 1 + choose(3);
	p->help_depth = 1 + choose(3);
}

static void draw_policy(struct dxk_policy *p)
{
	u32 tries = 8;

	do {
		dxk_policy_default(p, 4);
		if (!tries--)
			return;
		p->sched_mode = choose(2) * TPOOL_MODE_CMLS;
		draw_lanes(p);
		draw_dynamic(p);
		p->ready_entries = few(64);
		p->rejoin_entries = few(64);
		p->max_requests = p->ready_entries + choose(40);
		p->dispatch = choose(3) ? DXK_DISPATCH_DIRECT : DXK_DISPATCH_THREAD;
		p->rejoin_full = choose(3);
		p->on_block = choose(3);
		p->max_spares = choose(4);
	} while (dxk_policy_check(p));
}

/** house_policy - a policy that is legal, for a context that does not run */
void house_policy(void)
{
	struct dxk_policy p;

	draw_policy(&p);
	spin_lock(&house.e.lock);
	house.e.policy = p;
	spin_unlock(&house.e.lock);
}

/** house_change_policy - what can be changed while it runs is, at the next review */
void house_change_policy(void)
{
	struct dxk_policy p = house.e.policy;

	draw_dynamic(&p);
	if (dxk_policy_check(&p))
		return;
	note("policy changes");
	house_lock();
	house.next_policy = p;
	house.policy_changed = true;
	house_unlock();
	control_kick(&house.control[DXK_MONITOR]);
}
/* --- a run ------------------------------------------------------------------- */

static void set_state(enum dxk_ctx_state state)
{
	struct dxk_engine *e = &house.e;

	note("state %u", state);
	spin_lock(&e->lock);
	WRITE_ONCE(e->state, state);
	e->cancelling = false;
	spin_unlock(&e->lock);
}

/** house_start - Start; without memory nothing comes of it */
bool house_start(void)
{
	struct dxk_engine *e = &house.e;
	u8 before = e->state;

	house_lock();
	set_state(DXK_CTX_STARTING);
	spin_lock(&e->lock);
	dxk_crew_set_lanes(e);
	e->stalled = false;
	spin_unlock(&e->lock);
	if (dxk_owners_start(e)) {
		dxk_owners_unstart(e);
		set_state(before);
		house_unlock();
		return false;
	}
	house.stall = (struct dxk_stall) { };
	house.stopped = 0;
	model.moves = model.others = 0;
	house.started = true;
	control_start_all();
	WRITE_ONCE(e->direct, e->policy.dispatch == DXK_DISPATCH_DIRECT);
	set_state(DXK_CTX_RUNNING);
	control_kick(&house.control[DXK_MONITOR]);
	house_unlock();
	return true;
}

/* Kernel workers have ended when this returns. */
static void crew_stop(void)
{
	struct actor *a;

	for_each_actor(a) {
		if (a->m.role != DXK_ROLE_WORKER || a->m.kind != DXK_KERNEL)
			continue;
		while (!READ_ONCE(a->gone))
			sim_nap(1000);
		actor_bury(a);
	}
}

/* From the end of this on whoever slept at its beginning, and is shut out, is awake. */
static void stop_begin(bool cancel, bool close)
{
	u64 begun = sim_now;

	house.stopped = 0;
	dxk_stop_begin(&house.e, 0, cancel, close);
	house.stopped = begun;
}

/** house_end_run - the second half of Stop */
void house_end_run(void)
{
	struct dxk_engine *e = &house.e;

	note("the run ends");
	house_lock();
	/* But for those who had begun when it was started. */
	if (!e->direct && model.others > model.moves + 2 * DXK_BATCH_MAX)
		sim_fail("dispatch=thread, and others make the moves");
	stop_begin(true, true);
	crew_stop();
	control_stop_all();
	if (house.policy_changed) {
		spin_lock(&e->lock);
		e->policy = house.next_policy;
		spin_unlock(&e->lock);
		house.policy_changed = false;
	}
	house_unlock();
}

/** house_stop - the first half of Stop, in one of its modes */
void house_stop(void)
{
	bool cancel = choose(2);
	int err;

	house_lock();
	if (house.e.state != DXK_CTX_RUNNING && house.e.state != DXK_CTX_STOPPING) {
		house_unlock();
		return;
	}
	note("stop, %s", cancel ? "cancel" : "drain");
	stop_begin(cancel, false);
	house_unlock();
	err = dxk_stop_wait(&house.e, sim_now + NSEC_PER_MSEC * choose(100));
	note("stop returns %d", err);
}
/* --- what else the engine wants of its world ---------------------------------- */

bool os_allocation_fails(void)
{
	return unlikely(house.scarce) && chance(64);
}

u32 get_random_u32(void)
{
	return choose(1U << 16);
}
