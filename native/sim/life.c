// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * An episode: a context from its creation to its end, and all that happens to it.
 */
#include "engine/calls.h"
#include "engine/life.h"
#include "engine/policy.h"

#include "actor.h"
#include "check.h"
#include "choice.h"
#include "device.h"
#include "house.h"
#include "item.h"
#include "model.h"

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

	switch (choose(13)) {
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
		if (!house.leaving)
			house_set_policy(false);
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
	case 11:
		if (choose(2))
			actor_spawn_owner();
		else if (choose(2))
			actor_spawn_pinner();
		else
			close_space(choose(2));
		break;
	default:
		sim_nap(NSEC_PER_MSEC * choose(chance(8) ? 1500 : 30));
	}
}

static void run(void)
{
	u32 events = choose(30), crowd = chance(64) ? 40 + choose(300) : 0;
	bool one = choose(2);

	house.waiters = 1 + choose(8);
	if (crowd)
		house_set_policy(true);
	/* Somebody else may have been faster. */
	house_start();
	if (crowd && choose(4)) {
		actor_spawn_feeder(&house.e.shared, 0);
		sim_nap(100000);
	}
	while (crowd--) {
		actor_spawn_sleeper(&house.e.shared, one ? 0 : choose(3));
		if (chance(64))
			actor_spawn_feeder(&house.e.shared, one ? 0 : choose(3));
	}
	while (events--) {
		happen();
		if (choose(2))
			sim_nap(1000 * choose(300));
		if (chance(32))
			house_stop(false);
	}
	while (choose(4))
		house_stop(true);
}

/* Threads of programs, which are killed, also those that have just come. */
static bool anybody(void)
{
	struct actor *a;
	bool any = false;

	for_each_actor(a) {
		if (a->gone || a->m.kind == DXK_KERNEL)
			continue;
		any = true;
		if (a->task && !a->task->killed)
			sim_signal(a->task, true);
	}
	return any;
}

static void everybody_ends(void)
{
	struct actor *a;
	u32 i;

	house.ending = true;
	for (i = 0; anybody(); i++) {
		if (i > 10000)
			sim_fail("threads do not end");
		sim_nap(NSEC_PER_MSEC);
	}
	for (i = 0; i < actors.nr; i++)
		order_acquire(&actors.actor[i]);
	order_acquire(&house.e.lock);
	for_each_actor(a)
		if (a->m.kind == DXK_USER)
			actor_bury(a);
}

/* The last descriptor: nobody is in a call that has one. */
static void close_descriptor(void)
{
	struct actor *a;

	house.leaving = true;
	while (house.calls) {
		for_each_actor(a)
			if (a->calls)
				sim_signal(a->task, false);
		sim_nap(NSEC_PER_MSEC);
	}
	note("the context is closed");
	dxk_run_close(&house.e);
}

/* Members may outlive the last descriptor, and the context its burial. */
static void close_context(void)
{
	bool first = choose(2);
	u32 i;

	if (first)
		close_descriptor();
	if (first && choose(2)) {
		for (i = choose(8); i; i--)
			happen();
	}
	for (i = 0; i < ARRAY_SIZE(house.space); i++)
		close_space(i);
	everybody_ends();
	if (!first)
		close_descriptor();
	for (i = 0; !house.buried; i++) {
		if (i > 10000)
			sim_fail("the context is not buried");
		sim_nap(NSEC_PER_MSEC);
	}
	walker_stop();
	devices_stop();
	items_stop();
	order_acquire(&house.e.lock);
}

/** house_main - an episode: a context from its creation to its end */
void house_main(void *arg)
{
	struct dxk_engine *e = &house.e;
	long before = os_allocated;
	u32 i, runs;

	house = (struct house) { };
	dxk_engine_init(e);
	model_reset(e);
	actors_reset();
	items_reset();
	check_run_reset();
	dxk_policy_default(&house.policy, 4);
	spin_lock(&e->lock);
	dxk_crew_set_policy(e, &house.policy);
	spin_unlock(&e->lock);
	walker_start();
	devices_start();
	house_set_policy(false);
	for (i = 0; i < ARRAY_SIZE(house.space); i++) {
		house.space[i] = dxk_space_new(e);
		if (IS_ERR(house.space[i]))
			house.space[i] = NULL;
	}
	house.scarce = chance(16);
	for (runs = 1 + choose(2); runs; runs--) {
		run();
		if (choose(2))
			house_set_policy(false);
	}
	close_context();
	house.started = false;
	if (e->stats.post_refused != house.refused)
		sim_fail("%llu posts are refused, and %llu were told", e->stats.post_refused,
			 house.refused);
	dxk_engine_destroy(e);
	if (os_allocated != before)
		sim_fail("%ld objects are left", os_allocated - before);
	if (model.births && model.nr_free != MODEL_REQUESTS)
		sim_fail("requests are left");
}
