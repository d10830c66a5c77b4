// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads 500, 600 and 700, with the loops that they have in runtime/.
 */
#include "engine/age.h"
#include "engine/autotune.h"
#include "engine/calls.h"
#include "engine/dispatch.h"

#include "actor.h"
#include "choice.h"
#include "house.h"
#include "keys.h"

/* --- control threads --------------------------------------------------------- */

void control_kick(struct control *c)
{
	WRITE_ONCE(c->kicked, true);
	os_point_held();
	if (c->task && c->task->state != SIM_ENDED)
		sim_task_wake(c->task);
}

void os_kick(struct dxk_engine *e, u32 who)
{
	if (who == DXK_WALKER)
		control_kick(&house.walker);
	else if (who < DXK_CONTROLS)
		control_kick(&house.control[who]);
	else
		sim_fail("there is no thread %u to kick", who);
}

/** control_wait - sleep until kicked or stopped, or until the deadline: then false */
bool control_wait(struct control *c, u64 deadline)
{
	bool called;

	for (;;) {
		sim_doze_begin();
		called = READ_ONCE(c->kicked) || READ_ONCE(c->stop);
		if (called || !sim_sleep(deadline))
			break;
	}
	sim_doze_end();
	return called;
}

bool control_take_kick(struct control *c)
{
	os_point();
	return __atomic_exchange_n(&c->kicked, false, __ATOMIC_ACQ_REL);
}

void control_start(struct control *c, const char *name, void (*run)(void *))
{
	c->kicked = false;
	c->stop = false;
	c->task = sim_spawn(name, run, c);
	if (!c->task)
		sim_fail("no place for %s", name);
	sim_task_get(c->task);
}

void control_stop(struct control *c)
{
	WRITE_ONCE(c->stop, true);
	if (c->task->state != SIM_ENDED)
		sim_task_wake(c->task);
	sim_join(c->task);
	sim_task_put(c->task);
	c->task = NULL;
	c->kicked = false;
}

/* Thread 700 */
static void dispatcher_main(void *arg)
{
	struct control *c = arg;
	struct dxk_engine *e = &house.e;

	while (!READ_ONCE(c->stop)) {
		bool asked = control_take_kick(c);
		u64 again;

		dxk_inbox_run(e);
		again = dxk_sweep(e, asked);
		control_wait(c, min(again, READ_ONCE(e->dormant[DXK_DISPATCHER]) ? DXK_FOREVER :
					   sim_now + 1000 * NSEC_PER_MSEC));
	}
	dxk_inbox_run(e);
	dxk_sweep_end(e);
}

/* Thread 600 */
static void scheduler_main(void *arg)
{
	struct control *c = arg;
	struct dxk_engine *e = &house.e;
	bool ticked = true;

	while (!READ_ONCE(c->stop)) {
		if (ticked && dxk_scheduler_rest(e))
			control_wait(c, DXK_FOREVER);
		ticked = !control_wait(c, sim_now + e->policy.sched_interval_ms *
					  (u64)NSEC_PER_MSEC);
		if (ticked)
			dxk_tick(e);
		control_take_kick(c);
	}
}

/* --- the Monitor ------------------------------------------------------------- */

/* Dismiss the surplus of a kind. */
static void crew_shrink(enum dxk_kind kind, u32 places)
{
	struct actor *a;

	for_each_actor(a) {
		if (READ_ONCE(house.e.crew.workers[kind]) <= places)
			return;
		if (a->m.role != DXK_ROLE_WORKER || a->m.kind != kind || a->m.leaving ||
		    a->m.spare || !READ_ONCE(a->m.attached))
			continue;
		note("%u shall leave", a->m.id);
		a->refs++;
		order_acquire(a);
		dxk_member_do(&a->m, dxk_leave_run);
		a->refs--;
	}
}

/** crew_reap - end kernel workers that have left their loops */
void crew_reap(void)
{
	struct actor *a;

	for_each_actor(a)
		if (READ_ONCE(a->gone) && a->m.kind == DXK_KERNEL)
			actor_bury(a);
}

/* User workers whose thread ended without closing. */
static void crew_bury(void)
{
	struct actor *a;

	for_each_actor(a)
		if (READ_ONCE(a->gone) && a->m.role == DXK_ROLE_WORKER &&
		    a->m.kind == DXK_USER)
			actor_bury(a);
}

/* Some worker is seen asleep elsewhere, or not. */
static void crew_look(void)
{
	struct actor *a;
	bool works;

	for_each_actor(a) {
		spin_lock(&house.e.lock);
		works = a->m.attached && a->m.role == DXK_ROLE_WORKER;
		spin_unlock(&house.e.lock);
		if (works && chance(8))
			dxk_worker_seen(&a->m, choose(2));
	}
}

static void crew_review(void)
{
	struct dxk_engine *e = &house.e;
	u32 more = 4;

	crew_reap();
	crew_shrink(DXK_KERNEL, dxk_crew_most(&e->crew, &e->policy, DXK_KERNEL));
	crew_shrink(DXK_USER, dxk_crew_most(&e->crew, &e->policy, DXK_USER));
	crew_look();
	if (dxk_may_relieve(e) && e->policy.spare_idle_ms)
		dxk_retire(e, e->policy.spare_idle_ms);
	while (dxk_workers_wanted(e, DXK_KERNEL))
		if (!actor_spawn_kernel(false))
			break;
	while (more-- && dxk_spares_wanted(e, DXK_KERNEL))
		if (!actor_spawn_kernel(true))
			break;
}

static void monitor_review(void)
{
	struct dxk_policy policy;

	if (!house_policy_review(&policy))
		return;
	note("policy comes into force");
	house.enforcing = true;
	dxk_enforce(&house.e, &policy);
	house.enforcing = false;
	control_kick(&house.control[DXK_SCHEDULER]);
}

/* Those that wait for long; a ms is the unit of os_clock(). */
static void overdue_check(void)
{
	struct dxk_engine *e = &house.e;
	struct dxk_waiting due[2];
	bool more = e->policy.wait_report_ms;
	u32 nr;

	while (more) {
		nr = dxk_waiting_due(e, e->policy.wait_report_ms, due, ARRAY_SIZE(due), &more);
		while (nr--) {
			note("request %u waits for long", (u32)due[nr].param);
			if (due[nr].attrs & PXR_QUIET ||
			    os_clock() - due[nr].since <= e->policy.wait_report_ms)
				sim_fail("request %u is told of, and need not be",
					 (u32)due[nr].param);
		}
	}
}

/*
 * The look for long circles, which are rare here: it is made without need as well. What is posted
 * beside it may end one that it has found.
 */
static bool circle_check(void)
{
	struct dxk_circles *c = &house.circles;
	struct dxk_engine *e = &house.e;
	enum dxk_circles_found found;
	struct dxk_link links[4];
	bool begun = c->pass;
	u64 posts;
	u32 nr;

	if (chance(8)) {
		spin_lock(&e->lock);
		e->waits.unsure = true;
		spin_unlock(&e->lock);
	}
	posts = e->stats.posts;
	found = dxk_circles_look(e, c);
	if (found != DXK_CIRCLES_FOUND)
		return found;
	while ((nr = dxk_circle_links(e, c, links, ARRAY_SIZE(links)))) {
		note("%u wait for each other", nr);
		if (!begun && e->stats.posts == posts)
			check_circle(links, nr);
	}
	return true;
}

/* Too few are executed here in an interval to compare: some are as if they were many. */
static void autotune_much_done(void)
{
	struct dxk_engine *e = &house.e;
	struct dxk_autotune *a = &e->autotune;

	spin_lock(&e->lock);
	if (a->on) {
		a->since -= 1000 * (u64)NSEC_PER_MSEC;
		a->done = e->stats.completions - 1000 * (1 + choose(100));
		memcpy(a->lulls, e->crew.lulls, sizeof(a->lulls));
	}
	spin_unlock(&e->lock);
}

static u32 monitor_watch(bool asked)
{
	struct dxk_engine *e = &house.e;
	bool circles = circle_check();
	struct dxk_tune_step step;
	u32 ms;

	if (chance(2))
		autotune_much_done();
	if (dxk_autotune_look(e, &step) && step.from != step.to)
		note("of a kind there shall be %u workers, not %u", step.to, step.from);
	crew_review();
	ms = dxk_autotune_begin(e);
	overdue_check();
	if (dxk_stall_look(e, &house.stall)) {
		note("stall %llu", house.stall.nr);
		check_told();
	}
	if (READ_ONCE(e->stalled) || circles)
		return min(ms, (u32)DXK_STALL_MS);
	if (dxk_pools_review(e))
		return ms;
	return dxk_monitor_rest(e, asked) ? 0 : ms;
}

/* A turn, @asked for or because it is time. Return: ms to the next one; 0: for ever. */
static u32 monitor_turn(bool asked)
{
	struct dxk_engine *e = &house.e;

	crew_bury();
	switch (READ_ONCE(e->state)) {
	case DXK_CTX_STARTING:
		if (!READ_ONCE(house.crew_wanted))
			break;
		house.crew_wanted = false;
		crew_review();
		WRITE_ONCE(house.crew_up, true);
		break;
	case DXK_CTX_RUNNING:
		monitor_review();
		return monitor_watch(asked);
	case DXK_CTX_STOPPING:
		if (dxk_run_drains(e))
			return monitor_watch(asked);
	}
	return dxk_monitor_rest(e, asked) ? 0 : e->policy.monitor_interval_ms;
}

static void monitor_main(void *arg)
{
	struct control *c = arg;

	while (!READ_ONCE(c->stop)) {
		u32 ms = monitor_turn(control_take_kick(c));

		control_wait(c, ms ? sim_now + ms * (u64)NSEC_PER_MSEC : DXK_FOREVER);
	}
}

/* --- all of them -------------------------------------------------------------- */

void control_up(enum dxk_control_id who)
{
	static const struct {
		const char *name;
		void (*run)(void *arg);
	} thread[DXK_CONTROLS] = {
		[DXK_MONITOR] = { "monitor", monitor_main },
		[DXK_SCHEDULER] = { "scheduler", scheduler_main },
		[DXK_DISPATCHER] = { "dispatcher", dispatcher_main },
	};

	spin_lock(&house.e.lock);
	house.e.dormant[who] = false;
	spin_unlock(&house.e.lock);
	control_start(&house.control[who], thread[who].name, thread[who].run);
}

void control_down(enum dxk_control_id who)
{
	control_stop(&house.control[who]);
}
