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

#include "dispatch.h"
#include "next.h"
#include "session.h"
#include "sysfs.h"

const char *dxk_member_state_name(u8 state)
{
	static const char * const name[DXK_M_STATES] = {
		[DXK_M_VACANT] = "vacant",
		[DXK_M_RUNNING] = "running",
		[DXK_M_AWAY] = "away",
		[DXK_M_AVAILABLE] = "available",
		[DXK_M_BUSY] = "busy",
		[DXK_M_POSTING] = "posting",
		[DXK_M_REJOINING] = "rejoining",
		[DXK_M_COMPLETING] = "completing",
		[DXK_M_LOGGING] = "logging",
		[DXK_M_LISTENING] = "listening",
	};

	return name[state];
}

/** dxk_member_free - the last reference is gone; called by its kobject */
void dxk_member_free(struct dxk_member *m)
{
	struct dxk_ctx *ctx = m->ctx;

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

	return xa_load(&ctx->crew.members, id);
}

/** dxk_member_new - a vacant member with that id; the pool holds the reference */
struct dxk_member *dxk_member_new(struct dxk_ctx *ctx, u32 id)
{
	struct dxk_member *m;
	int err;

	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return ERR_PTR(-ENOMEM);
	m->ctx = ctx;
	m->space = &ctx->home;
	m->id = id;
	m->since = jiffies;
	INIT_LIST_HEAD(&m->called);
	INIT_LIST_HEAD(&m->busy);
	INIT_LIST_HEAD(&m->watch);
	INIT_LIST_HEAD(&m->own_files);
	init_waitqueue_head(&m->wait);
	kobject_get(&ctx->kobj);
	kobject_init(&m->kobj, &dxk_member_ktype);

	err = kobject_add(&m->kobj, ctx->crew.threads, "%u", id);
	if (err)
		goto err_put;
	err = xa_err(xa_store(&ctx->crew.members, id, m, GFP_KERNEL));
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
	struct dxk_ctx *ctx = m->ctx;

	if (dxk_member_at(ctx, m->id) != m)
		return;
	xa_erase(&ctx->crew.members, m->id);
	kobject_del(&m->kobj);
	dxk_member_put(m);
}

/** dxk_member_do - run an operation about a member in the dispatcher role */
void dxk_member_do(struct dxk_member *m, dxk_op_fn *run)
{
	struct dxk_list_op op = { .m = m };

	INIT_LIST_HEAD(&op.ended);
	dxk_perform(m->ctx, &op.op, run);
	dxk_rqe_drop_all(NULL, &op.ended);
}

static void dxk_attach_run(struct dxk_ctx *ctx, struct dxk_op *op,
			   struct dxk_wakes *wakes)
{
	struct dxk_member *m = container_of(op, struct dxk_list_op, op)->m;

	m->attached = true;
	if (m->role != DXK_ROLE_WORKER) {
		ctx->crew.clients++;
		return;
	}
	ctx->crew.present++;
	if (m->spare) {
		ctx->crew.spares[m->kind]++;
		ctx->crew.promised = false;
	} else {
		ctx->crew.workers[m->kind]++;
	}
	dxk_crew_set_lanes(ctx);
	if (ctx->monitor.parked) {
		ctx->monitor.parked = false;
		wakes->monitor = true;
	}
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

/* While it drains, too: who died over a request may have been the last worker. */
static bool dxk_member_welcome(const struct dxk_ctx *ctx)
{
	u8 state = READ_ONCE(ctx->state);

	return !ctx->closed && (state == DXK_CTX_RUNNING || state == DXK_CTX_STOPPING);
}

/* @s: who claims it; the main thread is one of the creator's */
static struct dxk_member *dxk_claim_client(struct dxk_ctx *ctx,
					   const struct dxk_session *s)
{
	struct dxk_member *m = dxk_member_at(ctx, DXK_ID_MAIN);
	u32 id;

	if (!s || s->creator) {
		if (m && dxk_member_state(m) == DXK_M_VACANT)
			return m;
		if (!m)
			return dxk_member_new(ctx, DXK_ID_MAIN);
	}
	for (id = DXK_ID_CLIENT; id <= DXK_ID_MAX; id++)
		if (!dxk_member_at(ctx, id))
			return dxk_member_new(ctx, id);
	return ERR_PTR(-ENOSPC);
}

static struct dxk_member *dxk_claim_worker(struct dxk_ctx *ctx)
{
	u32 places = ctx->policy.max_threads - ctx->policy.kernel_threads;
	struct dxk_member *m;
	int err;

	if (!dxk_member_welcome(ctx))
		return ERR_PTR(-ESHUTDOWN);
	if (!places)
		return ERR_PTR(-ENODEV);
	if (dxk_crew_count(ctx, DXK_USER) >= places)
		return ERR_PTR(-ENOSPC);
	m = dxk_crew_vacancy(ctx);
	if (m)
		return m;
	/* When the one before left there may have been no memory for its id. */
	err = dxk_crew_fit(ctx);
	return err ? ERR_PTR(err) : dxk_crew_vacancy(ctx) ?: ERR_PTR(-ENOSPC);
}

static struct dxk_member *dxk_claim_spare(struct dxk_ctx *ctx)
{
	if (!dxk_member_welcome(ctx))
		return ERR_PTR(-ESHUTDOWN);
	if (ctx->policy.on_block != DXK_ON_BLOCK_SPARE)
		return ERR_PTR(-ENODEV);
	return dxk_crew_spare_place(ctx);
}

/**
 * dxk_member_claim - a thread joins the Thread Pool
 * @ctx: the context; its mutex is held
 * @s: the descriptor it comes by, or NULL for an in-kernel client
 * @kind: what it wants to be
 * @pid: the user thread, or NULL for an in-kernel client; referenced here
 *
 * Return: a member with a reference for the caller, or an error pointer.
 */
struct dxk_member *dxk_member_claim(struct dxk_ctx *ctx, const struct dxk_session *s,
				    enum dxk_member_kind kind, struct pid *pid)
{
	struct dxk_member *m;

	lockdep_assert_held(&ctx->mutex);

	if (ctx->closed)
		return ERR_PTR(-ESHUTDOWN);
	switch (kind) {
	case DXK_MEMBER_WORKER:
		m = dxk_claim_worker(ctx);
		break;
	case DXK_MEMBER_SPARE:
		m = dxk_claim_spare(ctx);
		break;
	default:
		m = dxk_claim_client(ctx, s);
	}
	if (IS_ERR(m))
		return m;
	dxk_member_get(m);
	m->pid = get_pid(pid);
	if (s) {
		m->access = s->access;
		m->space = s->space;
		dxk_space_join(ctx, m->space);
	}
	dxk_member_occupy(m, kind == DXK_MEMBER_CLIENT ? DXK_ROLE_CLIENT :
							 DXK_ROLE_WORKER, DXK_USER);
	dxk_member_attach(m);
	return m;
}

/** dxk_member_bury - the member's thread is gone: answer its owners, free its id */
void dxk_member_bury(struct dxk_member *m)
{
	struct dxk_ctx *ctx = m->ctx;

	dxk_member_do(m, dxk_died_run);
	dxk_member_retire(m);
	if (dxk_member_welcome(ctx) && dxk_crew_fit(ctx))
		dxk_log_add(&ctx->log, ctx->policy.log_full, DXK_ID_MONITOR,
			    "no memory to show the vacant id %u", m->id);
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

/** dxk_member_release - the member's descriptor is closed */
void dxk_member_release(struct dxk_member *m)
{
	struct dxk_ctx *ctx = m->ctx;

	dxk_command_detach(m);
	mutex_lock(&ctx->mutex);
	dxk_member_bury(m);
	mutex_unlock(&ctx->mutex);
	dxk_space_leave(ctx, m->space);
	dxk_member_put(m);
}

/** dxk_member_control - show a control thread in the pool */
struct dxk_member *dxk_member_control(struct dxk_ctx *ctx, u32 id)
{
	struct dxk_member *m = dxk_member_new(ctx, id);

	if (!IS_ERR(m))
		dxk_member_occupy(m, DXK_ROLE_CONTROL, DXK_KERNEL);
	return m;
}

