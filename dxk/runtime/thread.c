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

#include "compat.h"
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/next.h"
#include "engine/os.h"
#include "runtime/context.h"
#include "runtime/thread.h"

static void dxk_thread_release(struct kobject *kobj)
{
	struct dxk_thread *t = container_of(kobj, struct dxk_thread, kobj);
	struct dxk_ctx *ctx = dxk_member_ctx(&t->m);

	dxk_member_free(&t->m);
	put_pid(t->pid);
	kfree(t);
	kobject_put(&ctx->kobj);
}

static void dxk_thread_ownership(dxk_owned_kobject *kobj, kuid_t *uid, kgid_t *gid)
{
	const struct dxk_thread *t = container_of(kobj, struct dxk_thread, kobj);
	const struct dxk_identity *who = &dxk_member_ctx(&t->m)->who;

	*uid = who->uid;
	*gid = who->gid;
}

static struct kobj_type dxk_thread_ktype = {
	.release = dxk_thread_release,
	.get_ownership = dxk_thread_ownership,
};

/** dxk_thread_init - the module is loaded: what the directories of threads have */
void dxk_thread_init(const struct sysfs_ops *ops, const struct attribute_group **groups)
{
	dxk_thread_ktype.sysfs_ops = ops;
	dxk_thread_ktype.default_groups = groups;
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
	struct dxk_thread *t;
	int err;

	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (!t)
		return ERR_PTR(-ENOMEM);
	dxk_member_init(&t->m, &ctx->engine, id);
	dxk_private_files_init(&t->files, &t->m);
	dxk_user_handler_init(&t->handler, &ctx->commands, &t->m);
	init_waitqueue_head(&t->wait);
	kobject_get(&ctx->kobj);
	kobject_init(&t->kobj, &dxk_thread_ktype);

	err = kobject_add(&t->kobj, ctx->threads, "%u", id);
	if (err)
		goto err_put;
	err = xa_err(xa_store(&ctx->members, id, &t->m, GFP_KERNEL));
	if (err)
		goto err_del;
	return &t->m;

err_del:
	kobject_del(&t->kobj);
err_put:
	kobject_put(&t->kobj);
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
	kobject_del(&dxk_thread_of(m)->kobj);
	os_member_put(m);
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
	struct pid *pid = dxk_thread_of(m)->pid;
	struct task_struct *task;
	bool dead;

	if (!pid)
		return false;
	rcu_read_lock();
	task = pid_task(pid, PIDTYPE_PID);
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
