// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The house around the engine, see house.h: its policy, Start and Stop. The steps of Start
 * are those of runtime/, as far as the engine knows of them; the way down is the walker's.
 */
#include "engine/home.h"
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/life.h"
#include "engine/name.h"
#include "engine/policy.h"

#include "actor.h"
#include "choice.h"
#include "house.h"
#include "model.h"

struct house house;
u32 sim_readers;
bool sim_hasty;

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
	p->wait_report_ms = chance(4) * few(20);
	p->min_threads = chance(2) * few(8);
	p->autotune = chance(2);
	p->spare_idle_ms = choose(10);
	p->min_spares = min(choose(3), p->max_spares);
	p->redo_max = 1 + choose(3);
	p->help_depth = 1 + choose(3);
	p->user_share = choose(4) ? 1 + choose(99) : 100;
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
		p->help_scope = choose(2);
		p->max_spares = choose(4);
		p->max_waiting = choose(3) * few(40);
		p->homes = chance(3) * (1 + choose(SIM_HOMES));
		p->steal = choose(2);
		p->space_weight = chance(3) * (1 + choose(4));
		if (p->homes)
			p->min_threads = p->space_weight = 0;
	} while (dxk_policy_check(p));
}

/* Only Start changes such a field. */
bool house_differs_in_fixed(const struct dxk_policy *a, const struct dxk_policy *b)
{
	const struct dxk_field *f;

	for (f = dxk_fields; f < dxk_fields + dxk_fields_nr; f++)
		if (!f->dynamic && *dxk_field_of((struct dxk_policy *)a, f) !=
				   *dxk_field_of((struct dxk_policy *)b, f))
			return true;
	return false;
}

/** house_set_policy - another one that is legal, or refused; @crowd: with room for many */
void house_set_policy(bool crowd)
{
	struct dxk_engine *e = &house.e;
	struct dxk_policy p;
	bool over, taken;

	spin_lock(&e->lock);
	p = e->policy;
	spin_unlock(&e->lock);
	if (crowd) {
		p.max_requests += 400;
		p.ready_entries += 300 * choose(2);
	} else if (chance(3)) {
		draw_policy(&p);
	} else {
		draw_dynamic(&p);
	}
	if (dxk_policy_check(&p))
		return;
	spin_lock(&e->lock);
	over = dxk_run_is_over(e);
	taken = over || !house_differs_in_fixed(&p, &e->policy);
	if (taken)
		house.policy = p;
	if (over)
		dxk_crew_set_policy(e, &p);
	spin_unlock(&e->lock);
	note("a policy is %s", taken ? "set" : "refused");
	control_kick(&house.control[DXK_MONITOR]);
}

/** house_policy_review - what is to come into force while it runs. Is there any? */
bool house_policy_review(struct dxk_policy *policy)
{
	const struct dxk_field *f;
	bool changed = false;

	spin_lock(&house.e.lock);
	*policy = house.e.policy;
	for (f = dxk_fields; f < dxk_fields + dxk_fields_nr; f++) {
		u32 value = *dxk_field_of(&house.policy, f);

		if (f->dynamic && *dxk_field_of(policy, f) != value) {
			*dxk_field_of(policy, f) = value;
			changed = true;
		}
	}
	spin_unlock(&house.e.lock);
	return changed;
}

/* --- Start ------------------------------------------------------------------- */

static int claim(void)
{
	struct dxk_engine *e = &house.e;
	bool over;
	int err;

	spin_lock(&e->lock);
	over = dxk_run_is_over(e);
	err = dxk_run_claim(e, &house.policy);
	if (!err) {
		house.began = e->policy;
		house.stall = (struct dxk_stall) { };
		house.circles = (struct dxk_circles) { };
		house.stopped = 0;
		model.moves = model.others = 0;
		house.started = true;
		if (house.up)
			sim_fail("%u steps of another run are up", house.up);
	}
	if (err != (!over ? -EBUSY : e->run.closed ? -ESHUTDOWN : 0))
		sim_fail("Start says %d", err);
	spin_unlock(&e->lock);
	note("start: %d", err);
	return err;
}

/* The Monitor makes the first workers. */
static int start_workers(void)
{
	house.crew_up = false;
	WRITE_ONCE(house.crew_wanted, true);
	control_kick(&house.control[DXK_MONITOR]);
	while (!READ_ONCE(house.crew_up)) {
		if (sim_self->killed)
			return -EINTR;
		sim_doze_begin();
		sim_sleep(sim_now + NSEC_PER_MSEC);
	}
	sim_doze_end();
	return 0;
}

static int step_up(enum house_step step)
{
	struct dxk_engine *e = &house.e;
	int err;

	if (sim_self->killed || chance(200))
		return -EINTR;
	switch (step) {
	case STEP_OWNERS:
		err = dxk_homes_start(e) ?: dxk_owns_start(e) ?: dxk_fair_start(e) ?: dxk_names_start(e);
		if (err)
			return err;
		model_rounds();
		err = dxk_owners_start(e);
		if (err)
			dxk_names_unstart(e);
		else
			dxk_pools_open(e);
		return err;
	case STEP_MONITOR:
		house.crew_wanted = false;
		control_up(DXK_MONITOR);
		return 0;
	case STEP_SCHEDULER:
		control_up(DXK_SCHEDULER);
		return 0;
	case STEP_DISPATCHER:
		control_up(DXK_DISPATCHER);
		sim_hasty = e->policy.dispatch == DXK_DISPATCH_THREAD && choose(2);
		WRITE_ONCE(e->direct, e->policy.dispatch == DXK_DISPATCH_DIRECT);
		return 0;
	case STEP_WORKERS:
		return start_workers();
	default:
		return 0;
	}
}

/** house_start - Start; without memory, and now and then for no reason, it fails */
bool house_start(void)
{
	struct dxk_engine *e = &house.e;
	int err;

	house.calls++;
	err = claim();
	if (!err) {
		while (!err && house.up < STEPS) {
			err = step_up(house.up);
			house.up += !err;
		}
		if (err) {
			note("start fails at step %u", house.up);
			dxk_run_fail(e);
		} else {
			dxk_run_open(e);
			control_kick(&house.control[DXK_MONITOR]);
		}
	}
	house.calls--;
	return !err;
}

/* --- Stop -------------------------------------------------------------------- */

/** house_stop - Stop, in one of its modes; @down: the threads are to end as well */
void house_stop(bool down)
{
	struct dxk_engine *e = &house.e;
	enum dxk_stop_mode mode = choose(3);
	u64 begun = sim_now, deadline = begun + NSEC_PER_MSEC * choose(100);
	u32 gen, mine = ++house.halts;
	bool alone;
	int err;

	house.calls++;
	/* Nobody else tells sleepers of this run, so all are told when this returns. */
	spin_lock(&e->lock);
	gen = e->run.gen;
	alone = !house.halting++ && e->state == DXK_CTX_RUNNING;
	spin_unlock(&e->lock);
	note("stop, mode %u%s", mode, down ? ", all" : "");
	sim_self->halting = true;
	house.telling++;
	err = dxk_run_halt(e, mode, down, deadline);
	house.telling--;
	sim_self->halting = false;
	note("stop returns %d", err);
	spin_lock(&e->lock);
	house.halting--;
	if (err != 0 && err != -EBUSY && err != -ETIMEDOUT && err != -ERESTARTSYS)
		sim_fail("Stop says %d", err);
	if (err == -ETIMEDOUT && sim_now < deadline)
		sim_fail("Stop is early");
	if (!err && down && e->run.over < gen)
		sim_fail("Stop returns, and run %u is not over", gen);
	if (alone && mine == house.halts && gen == e->run.gen && err != -EBUSY)
		house.stopped = begun;
	spin_unlock(&e->lock);
	house.calls--;
}

/* --- what else the engine wants of its world ---------------------------------- */

bool os_allocation_fails(void)
{
	return unlikely(house.scarce) && chance(64);
}

u64 get_random_u64(void)
{
	return (2 * choose(1U << 16) + 1) * 0x9e3779b97f4a7c15;
}
