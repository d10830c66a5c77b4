// SPDX-License-Identifier: GPL-2.0-only
/*
 * A member of the Thread Pool: one thread, its id, its directory in sysfs. Made
 * vacant, occupied by a thread that joins, retired when that thread is gone; the
 * object lives until its descriptor is closed as well.
 */
#include <linux/kernel.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "abi/sysfs.h"
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/next.h"
#include "runtime/context.h"
#include "runtime/thread.h"

/** dxk_member_free - the last reference is gone; called by its kobject */
void dxk_member_free(struct dxk_member *m)
{
	struct dxk_ctx *ctx = dxk_member_ctx(m);

	dxk_rqe_stash_free(&m->rqes);
	dxk_owner_stash_free(&m->owners);
	put_pid(m->pid);
	kfree(m);
	kobject_put(&ctx->kobj);
}

void dxk_member_get(struct dxk_member *m)
{
	kobject_get(&m->kobj);
}

void dxk_member_put(struct dxk_member *m)
{
	kobject_put(&m->kobj);
}

/** dxk_member_at - the member with an id, or NULL */
struct dxk_member *dxk_member_at(struct dxk_ctx *ctx, u32 id)
{
	lockdep_assert_held(&ctx->mutex);

	return xa_load(&ctx->members, id);
}

/** dxk_member_new - a vacant member with that id; the pool holds the reference */
struct dxk_member *dxk_member_new(struct dxk_ctx *ctx, u32 id)
{
	struct dxk_member *m;
	int err;

	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return ERR_PTR(-ENOMEM);
	m->engine = &ctx->engine;
	m->space = &ctx->engine.home;
	m->id = id;
	m->since = jiffies;
	INIT_LIST_HEAD(&m->called);
	INIT_LIST_HEAD(&m->busy);
	INIT_LIST_HEAD(&m->watch);
	INIT_LIST_HEAD(&m->own_files);
	init_waitqueue_head(&m->wait);
	kobject_get(&ctx->kobj);
	kobject_init(&m->kobj, &dxk_member_ktype);

	err = kobject_add(&m->kobj, ctx->threads, "%u", id);
	if (err)
		goto err_put;
	err = xa_err(xa_store(&ctx->members, id, m, GFP_KERNEL));
	if (err)
		goto err_del;
	return m;

err_del:
	kobject_del(&m->kobj);
err_put:
	dxk_member_put(m);
	return ERR_PTR(err);
}

/**
 * dxk_member_retire - take a member out of the pool
 * @m: nobody executes as this member; its descriptor may still be open
 */
void dxk_member_retire(struct dxk_member *m)
{
	struct dxk_ctx *ctx = dxk_member_ctx(m);

	if (dxk_member_at(ctx, m->id) != m)
		return;
	xa_erase(&ctx->members, m->id);
	kobject_del(&m->kobj);
	dxk_member_put(m);
}

/** dxk_member_occupy - a thread takes a vacant place */
void dxk_member_occupy(struct dxk_member *m, enum dxk_role role, enum dxk_kind kind)
{
	m->role = role;
	m->kind = kind;
	dxk_member_set_state(m, role == DXK_ROLE_WORKER ? DXK_M_AWAY : DXK_M_RUNNING);
}

/** dxk_member_attach - from here on the member counts; a worker is given work */
void dxk_member_attach(struct dxk_member *m)
{
	dxk_member_do(m, dxk_attach_run);
}

/**
 * dxk_member_is_dead - has the member's user thread ended without closing?
 * @m: the member
 *
 * A process that dies closes its descriptors. This is for the single thread that
 * ended while its process lives on.
 */
bool dxk_member_is_dead(const struct dxk_member *m)
{
	struct task_struct *task;
	bool dead;

	if (!m->pid)
		return false;
	rcu_read_lock();
	task = pid_task(m->pid, PIDTYPE_PID);
	/* The first thread of a process outlives its end as a zombie. */
	dead = !task || READ_ONCE(task->exit_state);
	rcu_read_unlock();
	return dead;
}

/** dxk_member_control - show a control thread in the pool */
struct dxk_member *dxk_member_control(struct dxk_ctx *ctx, u32 id)
{
	struct dxk_member *m = dxk_member_new(ctx, id);

	if (!IS_ERR(m))
		dxk_member_occupy(m, DXK_ROLE_CONTROL, DXK_KERNEL);
	return m;
}
