// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Members: who has which place, and how they join and leave. See actor.h.
 */
#include "engine/home.h"
#include "engine/dispatch.h"

#include "actor.h"
#include "device.h"
#include "choice.h"
#include "house.h"
#include "item.h"
#include "model.h"

struct actors actors;

static struct actor *actor_of(struct dxk_member *m)
{
	return container_of(m, struct actor, m);
}

/* --- slots ------------------------------------------------------------------ */

/* Workers have the ids from 1 on, others those from 1000 on. */
struct actor *actor_by_id(u32 id)
{
	struct actor *a = &actors.actor[id < DXK_ID_CLIENT ? id - 1 : id - DXK_ID_CLIENT];

	return id && id - 1 < DXK_ID_CLIENT + SIM_TASKS && a->used && a->m.id == id ? a : NULL;
}

u32 actors_workers(enum dxk_kind kind)
{
	const struct actor *a;
	u32 nr = 0;

	for_each_actor(a)
		nr += a->m.role == DXK_ROLE_WORKER && a->m.kind == kind &&
		      a->m.attached && !a->m.leaving && !a->m.spare;
	return nr;
}

u32 actors_at_home(enum dxk_kind kind, u8 home)
{
	const struct actor *a;
	u32 nr = 0;

	for_each_actor(a)
		nr += a->m.role == DXK_ROLE_WORKER && a->m.kind == kind && a->m.home == home &&
		      a->m.attached && !a->m.leaving && !a->m.spare;
	return nr;
}

u32 actors_asleep(enum dxk_kind kind)
{
	const struct actor *a;
	u32 nr = 0;

	for_each_actor(a)
		nr += a->m.role == DXK_ROLE_WORKER && a->m.kind == kind &&
		      (actor_asleep(a) || a->m.marked);
	return nr;
}

void actors_reset(void)
{
	actors.nr = 0;
}

/* It is of one of three users, or a tenant of its own. */
static void actor_share(struct actor *a)
{
	bool changed = true;

	if (choose(2))
		a->m.share = dxk_share_open(&house.e, 1 + choose(3), &changed);
	else
		a->m.share = dxk_share_open_space(&house.e, choose(4), choose(2) * (1 + choose(6)));
	if (a->m.share && changed)
		model_tenant(a->m.share);
}

struct actor *actor_new(enum dxk_role role, enum dxk_kind kind,
			struct dxk_space *space)
{
	struct actor *a;
	u32 i;

	for (i = 0; i < actors.nr; i++)
		if (!actors.actor[i].used && !actors.actor[i].refs)
			break;
	if (i == SIM_TASKS)
		return NULL;
	a = &actors.actor[i];
	if (i == actors.nr)
		actors.nr++;
	order_acquire(a);
	*a = (struct actor) { .used = true };
	dxk_member_init(&a->m, &house.e, role == DXK_ROLE_WORKER ? i + 1 :
								  DXK_ID_CLIENT + i);
	a->m.space = space;
	dxk_space_join(&house.e, space);
	a->m.role = role;
	a->m.kind = kind;
	if (kind == DXK_USER && chance(3))
		actor_share(a);
	dxk_member_set_state(&a->m, dxk_member_home_state(&a->m));
	order_release(a);
	return a;
}

/** actor_bury - its thread does nothing any more: the member is closed. Not twice */
void actor_bury(struct actor *a)
{
	if (a->buried)
		return;
	a->buried = true;
	note("%u is closed", a->m.id);
	order_acquire(a);
	dxk_member_do(&a->m, dxk_died_run);
	actor_retire(a);
}

void actor_retire(struct actor *a)
{
	dxk_space_leave(&house.e, a->m.space);
	dxk_share_close(&house.e, a->m.share);
	dxk_member_free(&a->m);
	order_release(a);
	a->used = false;
}

/* A user thread ends: its descriptor is closed at once, or found by the Monitor. */
void actor_end(struct actor *a)
{
	if (a->m.role == DXK_ROLE_WORKER && chance(4)) {
		note("%u is gone", a->m.id);
		order_release(a);
		WRITE_ONCE(a->gone, true);
		return;
	}
	actor_bury(a);
}

struct join_op {
	struct dxk_list_op l;
	bool welcome;
};

/* As in runtime/crew.c */
static void join_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct join_op *j = container_of(op, struct join_op, l.op);
	struct dxk_member *m = j->l.m;

	if (e->run.closed)
		return;
	if (m->role == DXK_ROLE_WORKER) {
		if (m->kind == DXK_KERNEL ? e->run.down : !dxk_run_welcomes(e))
			return;
		if (m->kind == DXK_USER && !m->spare &&
		    e->crew.workers[DXK_USER] >= e->policy.max_threads -
						 e->policy.kernel_threads)
			return;
	}
	if (m->role == DXK_ROLE_WORKER && !m->spare && e->policy.homes)
		m->home = m->kind == DXK_KERNEL ? dxk_home_least(e, m->kind) :
						  choose(e->policy.homes + 1);
	e->run.live += m->kind == DXK_KERNEL;
	actor_of(j->l.m)->live = m->kind == DXK_KERNEL;
	dxk_attach_run(e, op, wakes);
	j->welcome = true;
}

/* The thread becomes a member, if there is a place for it. */
bool actor_join(struct actor *a)
{
	struct join_op j = { .l.m = &a->m };

	dxk_perform(&house.e, &j.l.op, join_run);
	if (!j.welcome)
		actor_retire(a);
	return j.welcome;
}

/* --- of the engine's world --------------------------------------------------- */

void os_member_get(struct dxk_member *m)
{
	if (!actor_of(m)->used)
		sim_fail("a reference to a member that is gone");
	actor_of(m)->refs++;
}

void os_member_put(struct dxk_member *m)
{
	if (!actor_of(m)->refs)
		sim_fail("a reference to %u that nobody has taken", m->id);
	actor_of(m)->refs--;
}

void os_poll_wake(struct dxk_member *m)
{
	struct actor *a = actor_of(m);

	os_point_held();
	if (a->polls || a->polls_room)
		sim_task_wake(a->task);
	os_point_held();
}

void os_poll_workers(struct dxk_engine *e)
{
	struct actor *a;

	if (!sim_self->backlog)
		sim_fail("poll(2) of workers is told of work that is not there");
	os_point();
	for_each_actor(a)
		if (a->polls_work)
			sim_task_wake(a->task);
}

void os_disown(struct dxk_rqe *rqe)
{
	item_disown(rqe);
}

void os_let_go(struct dxk_file_ref *files)
{
}

void os_release(struct dxk_rqe *rqe)
{
	device_release(rqe);
	model_free(model_of(rqe));
}
