// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The house around the engine, see house.h. The control threads and the steps of Start and
 * Stop are those of runtime/, as far as the engine knows of them.
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
static void crew_bury(bool all)
{
	struct actor *a;

	for_each_actor(a)
		if (READ_ONCE(a->gone) && (all || a->m.role == DXK_ROLE_WORKER))
			actor_bury(a);
}

static u32 monitor_turn(bool asked)
{
	struct dxk_engine *e = &house.e;

	crew_bury(false);
	if (e->state != DXK_CTX_RUNNING)
		return dxk_monitor_rest(e, asked) ? 0 : e->policy.monitor_interval_ms;
	if (house.policy_changed) {
		note("policy comes into force");
		dxk_enforce(e, &house.next_policy);
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

/** house_policy - a policy that is legal */
void house_policy(struct dxk_policy *p)
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
	house.started = true;
	control_start(DXK_MONITOR, "monitor", monitor_main);
	control_start(DXK_SCHEDULER, "scheduler", scheduler_main);
	control_start(DXK_DISPATCHER, "dispatcher", dispatcher_main);
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

/** house_end_run - the second half of Stop */
void house_end_run(void)
{
	struct dxk_engine *e = &house.e;

	note("the run ends");
	house_lock();
	dxk_stop_begin(e, true, true);
	crew_stop();
	dispatcher_stop();
	control_stop(DXK_SCHEDULER);
	control_stop(DXK_MONITOR);
	if (house.policy_changed) {
		spin_lock(&e->lock);
		e->policy = house.next_policy;
		spin_unlock(&e->lock);
		house.policy_changed = false;
	}
	house_unlock();
}

/* No poller sleeps that slept when Stop began, but those who are owed another answer. */
static void check_stop_begun(u64 begun)
{
	const struct actor *a;

	if (!list_empty(&house.e.owners.owed))
		return;
	for_each_actor(a)
		if (a->rejoin && actor_queued(&a->rejoin->w) && a->rejoin->w.since < begun)
			sim_fail("%u sleeps on, Stop has begun", a->m.id);
}

static void stop(void)
{
	bool cancel = choose(2);
	u64 begun = sim_now;
	int err;

	note("stop, %s", cancel ? "cancel" : "drain");
	house_lock();
	dxk_stop_begin(&house.e, cancel, false);
	house_unlock();
	check_stop_begun(begun);
	err = dxk_stop_wait(&house.e, sim_now + NSEC_PER_MSEC * choose(100));
	note("stop returns %d", err);
}

/* --- an episode --------------------------------------------------------------- */

static struct dxk_space *draw_space(void)
{
	struct dxk_space *space = house.space[choose(2)];

	return choose(3) && space ? space : &house.e.shared;
}

static void close_space(u32 i)
{
	struct dxk_space *space = house.space[i];

	house.space[i] = NULL;
	if (!space)
		return;
	note("a descriptor is closed");
	dxk_space_leave(&house.e, space);
}

static void happen(void)
{
	struct actor *a = &actors.actor[choose(max(actors.nr, 1U))];

	switch (choose(12)) {
	case 0:
	case 1:
	case 2:
		actor_spawn_client(draw_space());
		break;
	case 3:
	case 4:
		actor_spawn_user(draw_space(), false);
		break;
	case 5:
		if (actors.nr && a->used && !a->gone && a->m.kind == DXK_USER)
			sim_signal(a->task, false);
		break;
	case 6:
		if (actors.nr && a->used && !a->gone && a->m.kind == DXK_USER)
			sim_signal(a->task, true);
		break;
	case 7:
		house_change_policy();
		break;
	case 8:
		if (house.e.policy.on_block == DXK_ON_BLOCK_SPARE && chance(2))
			actor_spawn_user(draw_space(), true);
		else
			actor_spawn_manager();
		break;
	case 9:
		actor_spawn_service(draw_space());
		break;
	case 10:
		close_space(choose(2));
		break;
	default:
		sim_nap(NSEC_PER_MSEC * choose(chance(8) ? 1500 : 30));
	}
}

static void run(void)
{
	u32 events = choose(30), crowd = chance(64) ? 40 + choose(200) : 0;
	bool one = choose(2);

	house.waiters = 1 + choose(8);
	if (crowd)
		house.e.policy.max_requests += 200;
	if (!house_start())
		return;
	while (crowd--)
		actor_spawn_sleeper(&house.e.shared, one ? 0 : choose(3));
	while (events--) {
		happen();
		if (choose(2))
			sim_nap(1000 * choose(300));
		if (chance(32))
			stop();
	}
	if (choose(4))
		stop();
	house_end_run();
}

static bool anybody(void)
{
	struct actor *a;

	for_each_actor(a)
		if (!a->gone)
			return true;
	return false;
}

static void close_context(void)
{
	struct actor *a;
	u32 i;

	note("the context is closed");
	house.ending = true;
	for_each_actor(a)
		if (!a->gone)
			sim_signal(a->task, true);
	for (i = 0; anybody(); i++) {
		if (i > 10000)
			sim_fail("threads do not end");
		sim_nap(NSEC_PER_MSEC);
	}
	house_lock();
	crew_bury(true);
	house_unlock();
	for (i = 0; i < ARRAY_SIZE(house.space); i++)
		close_space(i);
}

/** house_main - an episode: a context from its creation to its end */
void house_main(void *arg)
{
	struct dxk_engine *e = &house.e;
	long before = os_allocated;
	u32 i, runs;

	house = (struct house) { };
	dxk_engine_init(e);
	house_policy(&e->policy);
	model_reset(e);
	actors_reset();
	for (i = 0; i < ARRAY_SIZE(house.space); i++) {
		house.space[i] = dxk_space_new(e);
		if (IS_ERR(house.space[i]))
			house.space[i] = NULL;
	}
	house.scarce = chance(16);
	for (runs = 1 + choose(2); runs; runs--) {
		run();
		if (runs > 1 && choose(2))
			house_policy(&e->policy);
	}
	close_context();
	house.started = false;
	dxk_engine_destroy(e);
	if (os_allocated != before)
		sim_fail("%ld objects are left", os_allocated - before);
	if (model.births && model.nr_free != MODEL_REQUESTS)
		sim_fail("requests are left");
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
