// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Threads 500, 600 and 700, with the loops that they have in runtime/.
 */
#include "engine/calls.h"
#include "engine/dispatch.h"

#include "actor.h"
#include "house.h"

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
	if (who >= DXK_CONTROLS)
		sim_fail("there is no control thread %u to kick", who);
	control_kick(&house.control[who]);
}

/* Sleep until kicked or stopped, or until the deadline: then false. */
static bool control_wait(struct control *c, u64 deadline)
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

static bool control_take_kick(struct control *c)
{
	os_point();
	return __atomic_exchange_n(&c->kicked, false, __ATOMIC_ACQ_REL);
}

static void control_start(enum dxk_control_id who, const char *name, void (*run)(void *))
{
	struct control *c = &house.control[who];

	spin_lock(&house.e.lock);
	house.e.dormant[who] = false;
	spin_unlock(&house.e.lock);
	c->kicked = false;
	c->stop = false;
	c->task = sim_spawn(name, run, c);
	if (!c->task)
		sim_fail("no place for %s", name);
	sim_task_get(c->task);
}

static void control_stop(enum dxk_control_id who)
{
	struct control *c = &house.control[who];

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

		dxk_inbox_run(e);
		dxk_sweep(e, asked);
		control_wait(c, READ_ONCE(e->dormant[DXK_DISPATCHER]) ? DXK_FOREVER :
			     sim_now + 1000 * NSEC_PER_MSEC);
	}
	dxk_inbox_run(e);
	dxk_sweep_end(e);
}

static void dispatcher_stop(void)
{
	if (!house.e.direct) {
		WRITE_ONCE(house.e.direct, true);
		while (sim_readers)
			sim_nap(1000);
	}
	control_stop(DXK_DISPATCHER);
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

u32 crew_count(enum dxk_kind kind)
{
	const struct actor *a;
	u32 nr = 0;

	for_each_actor(a)
		nr += a->m.role == DXK_ROLE_WORKER && a->m.kind == kind &&
		      READ_ONCE(a->m.attached) && !a->m.leaving && !a->m.spare;
	return nr;
}

static void crew_shrink(enum dxk_kind kind, u32 places)
{
	u32 nr = crew_count(kind);
	struct actor *a;

	for_each_actor(a) {
		if (nr <= places)
			return;
		if (a->m.role != DXK_ROLE_WORKER || a->m.kind != kind || a->m.leaving ||
		    a->m.spare || !READ_ONCE(a->m.attached))
			continue;
		note("%u shall leave", a->m.id);
		dxk_member_do(&a->m, dxk_leave_run);
		nr--;
	}
}

static void crew_review(void)
{
	struct dxk_engine *e = &house.e;
	u32 kernel = e->policy.kernel_threads;
	u32 more = 4;

	crew_shrink(DXK_KERNEL, kernel);
	crew_shrink(DXK_USER, e->policy.max_threads - kernel);
	while (crew_count(DXK_KERNEL) < kernel)
		if (!actor_spawn_kernel(false))
			break;
	while (more-- && dxk_spares_wanted(e, DXK_KERNEL))
		if (!actor_spawn_kernel(true))
			break;
}

/* Members whose thread is gone. */
void crew_bury(bool all)
{
	struct actor *a;

	for_each_actor(a)
		if (READ_ONCE(a->gone) && (all || a->m.role == DXK_ROLE_WORKER))
			actor_bury(a);
}

/* In a drain as well, until nothing is left to do: then workers go, and none takes their place. */
static bool crew_is_needed(struct dxk_engine *e)
{
	bool needed;

	spin_lock(&e->lock);
	needed = e->state == DXK_CTX_RUNNING || (dxk_draining(e) && !dxk_out_of_work(e));
	spin_unlock(&e->lock);
	return needed;
}

static u32 monitor_turn(bool asked)
{
	struct dxk_engine *e = &house.e;

	crew_bury(false);
	if (!crew_is_needed(e))
		return dxk_monitor_rest(e, asked) ? 0 : e->policy.monitor_interval_ms;
	if (house.policy_changed && e->state == DXK_CTX_RUNNING) {
		note("policy comes into force");
		house.enforcing = true;
		dxk_enforce(e, &house.next_policy);
		house.enforcing = false;
		house.policy_changed = false;
		control_kick(&house.control[DXK_SCHEDULER]);
	}
	crew_review();
	if (dxk_stall_look(e, &house.stall)) {
		note("stall %llu", house.stall.nr);
		check_told();
	}
	if (READ_ONCE(e->stalled))
		return min(e->policy.monitor_interval_ms, (u32)DXK_STALL_MS);
	return dxk_monitor_rest(e, asked) ? 0 : e->policy.monitor_interval_ms;
}

static void monitor_main(void *arg)
{
	struct control *c = arg;

	while (!READ_ONCE(c->stop)) {
		bool asked = control_take_kick(c);
		u32 ms = 10;

		if (house_trylock()) {
			ms = monitor_turn(asked);
			house_unlock();
		}
		control_wait(c, ms ? sim_now + ms * (u64)NSEC_PER_MSEC : DXK_FOREVER);
	}
}

/* --- all of them -------------------------------------------------------------- */

void control_start_all(void)
{
	control_start(DXK_MONITOR, "monitor", monitor_main);
	control_start(DXK_SCHEDULER, "scheduler", scheduler_main);
	control_start(DXK_DISPATCHER, "dispatcher", dispatcher_main);
}

void control_stop_all(void)
{
	dispatcher_stop();
	control_stop(DXK_SCHEDULER);
	control_stop(DXK_MONITOR);
}
