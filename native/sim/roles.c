// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What threads do, each with its member: clients, workers, managers, services.
 */
#include "actor.h"
#include "choice.h"
#include "house.h"
#include "item.h"

/* --- what threads do --------------------------------------------------------- */

static void client_main(void *arg)
{
	struct actor *a = arg;
	u32 ops = choose(24);

	if (!actor_join(a))
		return;
	while (ops-- && !a->task->killed && !house.ending) {
		if (a->m.refused && chance(2))
			actor_poll_room(a);
		switch (choose(8)) {
		case 7:
			actor_items(a);
			break;
		case 6:
			if (chance(4))
				actor_purge(a);
			else if (chance(3))
				actor_key(a);
			else
				actor_names(a);
			break;
		case 5:
			actor_should(a, draw_deadline());
			break;
		case 0:
		case 1:
			actor_post(a, chance(16) ? DXK_BATCH_MAX : 1 + choose(4),
				   chance(2) ? SIM_MIXED : draw_cookie(), 0,
				   draw_deadline());
			break;
		case 2:
			actor_rejoin(a, draw_cookie(), chance(16) ? DXK_BATCH_MAX :
				     1 + choose(4), draw_deadline());
			break;
		case 3:
			if (actor_rejoin(a, draw_cookie(), 1, 0) == RJR_NONE_READY)
				actor_poll(a);
			break;
		default:
			sim_nap(1000 * choose(200));
		}
		interrupted(a);
	}
	actor_end(a);
}

/* It has something for a crowd to wait for. */
static void feeder_main(void *arg)
{
	struct actor *a = arg;
	u32 posts = 1 + choose(4);

	if (!actor_join(a))
		return;
	while (posts--)
		actor_post(a, choose(2) ? DXK_BATCH_MAX : 4, a->cookie,
			   PXR_REJOIN | PXR_WAITIF_BUSY | (choose(4) ? 0 : PXR_KERNEL),
			   sim_now + NSEC_PER_MSEC);
	actor_end(a);
}

/* One of a crowd: it posts, or waits for what others have posted. */
static void sleeper_main(void *arg)
{
	struct actor *a = arg;

	if (!actor_join(a))
		return;
	if (chance(house.waiters))
		actor_post(a, 1 + choose(2), a->cookie,
			   PXR_WAITIF_BUSY | (choose(4) ? PXR_REJOIN : 0), DXK_FOREVER);
	if (chance(3) && actor_rejoin(a, a->cookie, 1, 0) == RJR_NONE_READY)
		actor_poll(a);
	if (choose(4))
		actor_rejoin(a, a->cookie, house.waiters > 4 ? 16 : 1 + choose(4),
			     chance(4) ? draw_deadline() : DXK_FOREVER);
	actor_end(a);
}

static void user_main(void *arg)
{
	struct actor *a = arg;
	u32 turns = chance(4) ? 1 + choose(6) : 1000;
	int err;

	if (!actor_join(a))
		return;
	while (turns-- && !a->task->killed) {
		u32 held = list_length(&a->m.busy);
		u32 max = chance(8) ? choose(DXK_BATCH_MAX + 1) : choose(3);

		if (chance(16)) {
			spin_lock(&house.e.lock);
			a->m.has_closed_handles = a->m.held;
			spin_unlock(&house.e.lock);
		}
		if (!held && chance(16))
			actor_poll_work(a);
		/* More may be held than completed, but not for ever. */
		err = choose(4) && actor_turn(a) ? 0 :
		      actor_next(a, chance(4) ? choose(held + 1) : held,
				 held < 8 ? max ?: !held : 0, draw_deadline());
		if (interrupted(a) || (err == -ESHUTDOWN && (house.ending || chance(2))) ||
		    (err == -EFAULT && choose(4)))
			break;
		if (err == -ESHUTDOWN)
			sim_nap(NSEC_PER_MSEC * (1 + choose(20)));
		if (list_empty(&a->m.busy) && READ_ONCE(a->m.has_closed_handles))
			WRITE_ONCE(a->m.has_closed_handles, false);
		if (!list_empty(&a->m.busy))
			actor_execute(a, list_last_entry(&a->m.busy, struct dxk_rqe, link));
		interrupted(a);
	}
	actor_end(a);
}

static void kernel_main(void *arg)
{
	struct actor *a = arg;
	bool last;

	while (actor_turn(a) || !actor_next(a, 1, 1, DXK_FOREVER)) {
		if (READ_ONCE(a->m.has_closed_handles))
			WRITE_ONCE(a->m.has_closed_handles, false);
		else if (!list_empty(&a->m.busy))
			actor_execute(a, list_last_entry(&a->m.busy, struct dxk_rqe, link));
	}
	order_release(a);
	spin_lock(&house.e.lock);
	house.e.run.live--;
	a->live = false;
	last = house.e.run.down && !house.e.run.live;
	a->gone = true;
	spin_unlock(&house.e.lock);
	os_kick(&house.e, last ? DXK_WALKER : DXK_MONITOR);
}

/* A process that starts user workers when there is use for them. */
static void manager_main(void *arg)
{
	struct actor *a = arg;
	u32 workers = 0, spares = 0;
	int ret, before = 0;

	while (!a->task->killed && !house.leaving) {
		house.calls++;
		a->calls = true;
		ret = dxk_crew_wait(&house.e, draw_deadline(), &workers, &spares);
		a->calls = false;
		house.calls--;
		if (ret != before)
			note("manager: %d, %u workers, %u spares", ret, workers, spares);
		before = ret;
		interrupted(a);
		if (ret < 0 ? ret != -ESHUTDOWN && ret != -ERESTARTSYS :
			      ret != (int)(workers + spares))
			sim_fail("a manager is told %d, %u workers and %u spares", ret, workers,
				 spares);
		if (ret == -ESHUTDOWN) {
			sim_nap(NSEC_PER_MSEC * (1 + choose(20)));
			continue;
		}
		if (ret > 0 && workers && choose(4))
			actor_spawn_user(&house.e.shared, false);
		else if (ret > 0 && spares && choose(4))
			actor_spawn_user(&house.e.shared, true);
		sim_nap(NSEC_PER_MSEC * (1 + choose(20)));
	}
	actor_retire(a);
}

/* It asks whether to end. */
static void service_main(void *arg)
{
	struct actor *a = arg;
	int ret;

	if (!actor_join(a))
		return;
	do {
		ret = actor_should(a, draw_deadline());
		note("service: %d", ret);
		if (ret != 0 && ret != 1 && ret != -ERESTARTSYS)
			sim_fail("a service is told %d", ret);
		sim_nap(1000 * choose(100));
	} while (!interrupted(a) && !house.ending && choose(8));
	actor_end(a);
}

/* Somebody else who may start and stop the context, and does so as others do. */
static void owner_main(void *arg)
{
	struct actor *a = arg;
	u32 calls = 1 + choose(6);

	a->task->lags = true;
	while (calls-- && !a->task->killed && !house.leaving) {
		switch (choose(4)) {
		case 0:
			house_start();
			break;
		case 1:
			house_set_policy(false);
			break;
		default:
			house_stop(choose(2));
		}
		interrupted(a);
		sim_nap(1000 * choose(3000));
	}
	actor_retire(a);
}

/* Something that outlives the run for a while. */
static void pinner_main(void *arg)
{
	struct actor *a = arg;

	sim_nap(1000 * choose(3000));
	dxk_unpin(&house.e);
	actor_retire(a);
}

/* --- begin ------------------------------------------------------------------- */

static bool spawn(struct actor *a, const char *name, void (*run)(void *arg))
{
	if (!a)
		return false;
	a->task = sim_spawn(name, run, a);
	if (!a->task)
		actor_retire(a);
	return a->task;
}

bool actor_spawn_client(struct dxk_space *space)
{
	return spawn(actor_new(DXK_ROLE_CLIENT, DXK_USER, space), "client", client_main);
}

static bool spawn_with(const char *name, void (*run)(void *arg), struct dxk_space *space,
		       u64 cookie)
{
	struct actor *a = actor_new(DXK_ROLE_CLIENT, DXK_USER, space);

	if (a)
		a->cookie = cookie;
	return spawn(a, name, run);
}

bool actor_spawn_sleeper(struct dxk_space *space, u64 cookie)
{
	return spawn_with("sleeper", sleeper_main, space, cookie);
}

bool actor_spawn_feeder(struct dxk_space *space, u64 cookie)
{
	return spawn_with("feeder", feeder_main, space, cookie);
}

bool actor_spawn_user(struct dxk_space *space, bool spare)
{
	struct actor *a = actor_new(DXK_ROLE_WORKER, DXK_USER, space);

	if (a)
		a->m.spare = spare;
	return spawn(a, spare ? "user spare" : "user worker", user_main);
}

bool actor_spawn_kernel(bool spare)
{
	struct actor *a = actor_new(DXK_ROLE_WORKER, DXK_KERNEL, &house.e.home);

	if (!a)
		return false;
	a->m.spare = spare;
	if (!actor_join(a))
		return false;
	if (spawn(a, spare ? "kernel spare" : "kernel worker", kernel_main))
		return true;
	sim_fail("no place for a kernel worker");
}

bool actor_spawn_manager(void)
{
	return spawn(actor_new(DXK_ROLE_CLIENT, DXK_USER, &house.e.shared), "manager",
		     manager_main);
}

bool actor_spawn_owner(void)
{
	return spawn(actor_new(DXK_ROLE_CLIENT, DXK_USER, &house.e.shared), "owner",
		     owner_main);
}

/* Who pins has a descriptor. */
bool actor_spawn_pinner(void)
{
	struct actor *a = house.leaving ? NULL :
			  actor_new(DXK_ROLE_CLIENT, DXK_USER, &house.e.shared);

	if (!a)
		return false;
	dxk_pin(&house.e);
	if (spawn(a, "pinner", pinner_main))
		return true;
	dxk_unpin(&house.e);
	return false;
}

bool actor_spawn_service(struct dxk_space *space)
{
	return spawn(actor_new(DXK_ROLE_CLIENT, DXK_USER, space), "service", service_main);
}
