// SPDX-License-Identifier: GPL-2.0-only
/*
 * The crew: joining the Thread Pool, the number of kernel workers, and their end.
 *
 * Only the Monitor makes kernel workers, and it makes none once the run is being ended: the
 * lock hold in which a worker takes its place tests this, and counts it in dxk_run.live. A
 * worker that has left its loop waits in dxk_ctx.gone to be reaped, by the Monitor or the
 * walker, whichever takes it off that list. So neither waits for a thread that may still
 * execute.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/home.h"
#include "engine/life.h"
#include "engine/onblock.h"
#include "runtime/context.h"
#include "runtime/crew.h"
#include "runtime/slot.h"
#include "runtime/session.h"
#include "runtime/thread.h"
#include "runtime/worker.h"
#include "services/command.h"

/* --- joining ------------------------------------------------------------------ */

/**
 * struct dxk_join_op - a thread joins the Thread Pool
 */
struct dxk_join_op {
	/** @l: with the member, for dxk_attach_run() */
	struct dxk_list_op l;
	/** @slot: the slot it takes; NULL: the lowest vacant one of those that stay */
	struct dxk_slot *slot;
	/** @kind: the requested kind; DXK_MEMBER_WORKER and SPARE for kernel workers too */
	enum dxk_member_kind kind;
	/** @err: 0, or why it may not join */
	int err;
};

static int dxk_join_worker_check(const struct dxk_engine *e, const struct dxk_member *m)
{
	u32 places = e->policy.max_threads - e->policy.kernel_threads;

	if (m->kind == DXK_KERNEL)
		return 0;
	if (!places)
		return -ENODEV;
	return e->crew.workers[DXK_USER] < places ? 0 : -ENOSPC;
}

static int dxk_join_check(const struct dxk_engine *e, const struct dxk_join_op *j)
{
	const struct dxk_member *m = j->l.m;

	if (e->run.closed)
		return -ESHUTDOWN;
	if (m->role == DXK_ROLE_CLIENT)
		return 0;
	/* The Monitor's first workers come before Start is over. */
	if (m->kind == DXK_KERNEL ? e->run.down : !dxk_run_welcomes(e))
		return -ESHUTDOWN;
	if (m->home != DXK_HOME_DEALT && m->home > e->policy.homes)
		return -EINVAL;
	if (j->kind == DXK_MEMBER_WORKER)
		return dxk_join_worker_check(e, m);
	return e->policy.on_block == DXK_ON_BLOCK_SPARE ? 0 : -ENODEV;
}

static struct dxk_slot *dxk_join_vacancy(struct dxk_ctx *ctx, const struct dxk_member *m)
{
	bool main = m->role == DXK_ROLE_CLIENT;
	u32 id = main ? DXK_ID_MAIN : DXK_ID_MAIN + 1;
	u32 end = main ? DXK_ID_MAIN + 1 : DXK_ID_WORKER_MAX + 1;

	id = find_next_bit(ctx->vacant, end, id);
	return id < end ? dxk_slot_at(ctx, id) : NULL;
}

static void dxk_join_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_join_op *j = container_of(op, struct dxk_join_op, l.op);
	struct dxk_member *m = j->l.m;

	j->err = dxk_join_check(e, j);
	if (j->err)
		return;
	if (!j->slot)
		j->slot = dxk_join_vacancy(dxk_ctx_of(e), m);
	if (!j->slot) {
		j->err = -ENOSPC;
		return;
	}
	j->err = dxk_share_enter(e, m, DXK_ID_MAX - DXK_ID_CLIENT + 1);
	if (j->err)
		return;
	if (m->home == DXK_HOME_DEALT)
		m->home = e->policy.homes ? dxk_home_least(e, m->kind) : 0;
	dxk_slot_occupy(j->slot, dxk_thread_of(m));
	e->run.live += m->kind == DXK_KERNEL;
	dxk_attach_run(e, op, wakes);
}

/* @slot: the thread's own slot, or NULL for one of those that stay */
static int dxk_join(struct dxk_thread *t, struct dxk_slot *slot,
		    enum dxk_member_kind kind)
{
	struct dxk_control *monitor = &dxk_member_ctx(&t->m)->control[DXK_MONITOR];
	struct dxk_join_op j = { .l.m = &t->m, .slot = slot, .kind = kind };

	if (IS_ERR(slot)) {
		/* Its id was taken for a moment, and may be one of those that stay by now. */
		if (slot == ERR_PTR(-ENOMEM))
			dxk_control_kick(monitor);
		return PTR_ERR(slot);
	}
	t->m.spare = kind == DXK_MEMBER_SPARE;
	dxk_perform(t->m.engine, &j.l.op, dxk_join_run);
	if (j.err && slot && dxk_slot_give_back(slot))
		dxk_control_kick(monitor);
	return j.err;
}

/* Without spares all ids are the crew's: then no spare has one, not even for a moment. */
static int dxk_join_spare(struct dxk_ctx *ctx, struct dxk_thread *t)
{
	const struct dxk_join_op j = { .l.m = &t->m, .kind = DXK_MEMBER_SPARE };
	int err;

	spin_lock(&ctx->engine.lock);
	err = dxk_join_check(&ctx->engine, &j);
	spin_unlock(&ctx->engine.lock);
	return err ?: dxk_join(t, dxk_slot_add_spare(ctx), DXK_MEMBER_SPARE);
}

static int dxk_join_client(struct dxk_ctx *ctx, struct dxk_thread *t, bool main)
{
	struct dxk_slot *slot;
	int err = -ENOSPC;

	if (main) {
		slot = dxk_slot_add(ctx, DXK_ID_MAIN);
		err = dxk_join(t, slot == ERR_PTR(-EBUSY) ? NULL : slot,
			       DXK_MEMBER_CLIENT);
	}
	return err == -ENOSPC ? dxk_join(t, dxk_slot_add_client(ctx), DXK_MEMBER_CLIENT) :
				err;
}

/* @s: the descriptor it joins by; only the creator's first client is the main thread */
static int dxk_join_as(struct dxk_ctx *ctx, struct dxk_thread *t,
		       const struct dxk_session *s, enum dxk_member_kind kind)
{
	switch (kind) {
	case DXK_MEMBER_WORKER:
		return dxk_join(t, NULL, kind);
	case DXK_MEMBER_SPARE:
		return dxk_join_spare(ctx, t);
	default:
		return dxk_join_client(ctx, t, !s || s->creator);
	}
}

/**
 * dxk_member_claim - have a thread join the Thread Pool
 * @ctx: the context
 * @s: the descriptor it joins by, or NULL for an in-kernel client
 * @kind: the requested kind of member
 * @home: the home of a worker: its number, 0, or %DXK_HOME_DEALT
 * @user: the user thread, or NULL for an in-kernel client; referenced here
 *
 * Return: a member with a reference for the caller, or an error pointer.
 */
struct dxk_member *dxk_member_claim(struct dxk_ctx *ctx, const struct dxk_session *s,
				    enum dxk_member_kind kind, u8 home,
				    struct task_struct *user)
{
	struct dxk_thread *t;
	int err;

	t = dxk_thread_new(ctx, kind == DXK_MEMBER_CLIENT ? DXK_ROLE_CLIENT :
							    DXK_ROLE_WORKER, DXK_USER);
	if (IS_ERR(t))
		return ERR_CAST(t);
	t->user = user ? get_task_struct(user) : NULL;
	t->m.home = home;
	if (s) {
		t->access = s->access;
		t->m.space = s->space;
		t->m.share = s->share;
		dxk_space_join(&ctx->engine, t->m.space);
	}
	/* A worker takes a vacant slot; others may need the id of a member closed before. */
	err = kind == DXK_MEMBER_WORKER ? 0 : dxk_slots_settle(ctx);
	if (!err)
		err = dxk_join_as(ctx, t, s, kind);
	if (!err)
		return &t->m;
	dxk_space_leave(&ctx->engine, t->m.space);
	dxk_thread_put(t);
	return ERR_PTR(err);
}

/** dxk_member_release - release a member whose descriptor is closed */
void dxk_member_release(struct dxk_member *m)
{
	struct dxk_thread *t = dxk_thread_of(m);

	dxk_command_detach(&t->handler);
	dxk_thread_part(t);
	dxk_space_leave(m->engine, m->space);
	dxk_thread_put(t);
}

/* --- kernel workers ------------------------------------------------------------- */

/* Add a kernel worker, or a spare with a place of its own. */
static int dxk_crew_add(struct dxk_ctx *ctx, enum dxk_member_kind kind)
{
	struct dxk_thread *t = dxk_thread_new(ctx, DXK_ROLE_WORKER, DXK_KERNEL);
	int err;

	if (IS_ERR(t))
		return PTR_ERR(t);
	if (kind == DXK_MEMBER_WORKER)
		t->m.home = DXK_HOME_DEALT;
	err = dxk_join_as(ctx, t, NULL, kind);
	if (err) {
		dxk_thread_put(t);
		return err == -ENOSPC ? -EAGAIN : err;
	}
	err = dxk_worker_start(t);
	if (err) {
		dxk_worker_gone(t);
		dxk_crew_reap(ctx);
	}
	return err;
}

/** dxk_crew_reap - end the threads of kernel workers that have left their loops */
void dxk_crew_reap(struct dxk_ctx *ctx)
{
	struct dxk_thread *t;

	for (;;) {
		spin_lock(&ctx->engine.lock);
		t = list_first_entry_or_null(&ctx->gone, struct dxk_thread, gone);
		if (t)
			list_del_init(&t->gone);
		spin_unlock(&ctx->engine.lock);
		if (!t)
			break;
		dxk_worker_reap(t);
		dxk_thread_part(t);
		dxk_thread_put(t);
	}
}

/* Dismiss the surplus of a kind: ids beyond the limit, then the highest ids. */
static void dxk_crew_shrink(struct dxk_ctx *ctx, enum dxk_kind kind, u32 places)
{
	const struct dxk_engine *e = &ctx->engine;
	unsigned long id = DXK_ID_WORKER_MAX;
	struct dxk_thread *t;
	bool dismiss;

	for (; id >= 1; id--) {
		unsigned long at = id;

		t = dxk_thread_next(ctx, &at, id);
		if (!t)
			continue;
		dismiss = t->m.kind == kind && !t->m.spare &&
			  (id > e->policy.max_threads || READ_ONCE(e->crew.workers[kind]) > places);
		if (dismiss)
			dxk_member_do(&t->m, dxk_leave_run);
		dxk_thread_put(t);
	}
}

/**
 * dxk_crew_review - adjust the crew to the policy
 * @ctx: the context; for the Monitor
 *
 * Starts kernel workers. Dismisses surplus workers of both kinds when they have finished
 * what they execute; none is interrupted.
 * Return: 0, or the error that prevented the start of a worker.
 */
int dxk_crew_review(struct dxk_ctx *ctx)
{
	const struct dxk_engine *e = &ctx->engine;
	u32 kernel = dxk_crew_most(&e->crew, &e->policy, DXK_KERNEL);
	u32 user = dxk_crew_most(&e->crew, &e->policy, DXK_USER);
	bool new = READ_ONCE(ctx->nr_slots) != e->policy.max_threads + 1;
	int err = 0;

	dxk_crew_reap(ctx);
	if (new)
		err = dxk_slots_open(ctx, e->policy.max_threads);
	if (err)
		return err;
	if (new || READ_ONCE(e->crew.workers[DXK_KERNEL]) > kernel)
		dxk_crew_shrink(ctx, DXK_KERNEL, kernel);
	if (new || READ_ONCE(e->crew.workers[DXK_USER]) > user)
		dxk_crew_shrink(ctx, DXK_USER, user);
	if (dxk_may_relieve(e) && e->policy.spare_idle_ms)
		dxk_retire(&ctx->engine, msecs_to_jiffies(e->policy.spare_idle_ms));
	while (!err && dxk_workers_wanted(&ctx->engine, DXK_KERNEL))
		err = dxk_crew_add(ctx, DXK_MEMBER_WORKER);
	while (!err && dxk_spares_wanted(&ctx->engine, DXK_KERNEL))
		err = dxk_crew_add(ctx, DXK_MEMBER_SPARE);
	return err;
}

/**
 * dxk_crew_bind - bind kernel workers to the CPUs of the policy, see bind.h
 * @ctx: the context; for the Monitor
 */
void dxk_crew_bind(struct dxk_ctx *ctx)
{
	bool changed = xchg(&ctx->cpus_changed, false);
	struct task_struct *task;
	struct dxk_thread *t;
	unsigned long id;

	for (id = 1; (t = dxk_thread_next(ctx, &id, DXK_ID_WORKER_MAX)); id++) {
		spin_lock(&ctx->engine.lock);
		task = t->task ? get_task_struct(t->task) : NULL;
		spin_unlock(&ctx->engine.lock);
		if (task) {
			dxk_bound_review(ctx, &t->bound, task, t->m.home, changed);
			put_task_struct(task);
		}
		dxk_thread_put(t);
	}
}

/* The context is closed: let workers leave that wait for a file served by their user. */
static void dxk_crew_kill(struct dxk_ctx *ctx)
{
	struct dxk_thread *t;
	unsigned long id;

	for (id = 1; (t = dxk_thread_next(ctx, &id, DXK_ID_WORKER_MAX)); id++) {
		spin_lock(&ctx->engine.lock);
		if (t->task)
			send_sig(SIGKILL, t->task, 1);
		spin_unlock(&ctx->engine.lock);
		dxk_thread_put(t);
	}
}

/**
 * dxk_crew_end - the walker's step: end the kernel workers, and reap those that have ended
 * @ctx: the context; no worker receives work any more
 *
 * Return: true when none is left; otherwise the last one to leave kicks the walker.
 */
bool dxk_crew_end(struct dxk_ctx *ctx)
{
	u32 live;

	if (READ_ONCE(ctx->engine.run.how) == DXK_CLOSE)
		dxk_crew_kill(ctx);
	spin_lock(&ctx->engine.lock);
	live = ctx->engine.run.live;
	spin_unlock(&ctx->engine.lock);
	dxk_crew_reap(ctx);
	return !live;
}

/**
 * dxk_crew_bury - notice user workers whose thread ended without closing
 * @ctx: the context
 *
 * A process that dies closes its descriptors. This finds the single thread that
 * ended while its process lives on (DX-25).
 */
void dxk_crew_bury(struct dxk_ctx *ctx)
{
	struct dxk_thread *t;
	unsigned long id;

	for (id = 1; (t = dxk_thread_next(ctx, &id, DXK_ID_WORKER_MAX)); id++) {
		if (dxk_thread_is_dead(t))
			dxk_thread_part(t);
		dxk_thread_put(t);
	}
}

/* --- workers that sleep elsewhere -------------------------------------------------- */

/* Has it slept all the time since it was looked at before? Its crew's engine is locked. */
static bool dxk_thread_is_still(struct dxk_thread *t)
{
	const struct task_struct *task = t->user ?: t->task;
	u64 switches = task ? task->nvcsw + task->nivcsw : 0;

	if (task && !task_is_running(task) && switches == t->switches)
		return true;
	t->switches = switches;
	t->still = jiffies;
	return false;
}

/**
 * dxk_crew_look - have spares take the places of workers that sleep outside of dxk (B-1)
 * @ctx: the context; for the Monitor
 *
 * For example in a read(2), or for a lock or a page. The worker of a request that announces its
 * sleep is replaced at once, see engine/block.h.
 */
void dxk_crew_look(struct dxk_ctx *ctx)
{
	const struct dxk_engine *e = &ctx->engine;
	unsigned long id, limit = msecs_to_jiffies(e->policy.spare_after_ms);
	struct dxk_thread *t;

	if (!dxk_sleepers_are_seen(&e->policy))
		return;
	for (id = 1; (t = dxk_thread_next(ctx, &id, DXK_ID_WORKER_MAX)); id++) {
		bool asleep, marked;

		spin_lock(&ctx->engine.lock);
		asleep = dxk_thread_is_still(t) && jiffies - t->still >= limit &&
			 t->m.held && e->nr[DXK_AT_READY];
		marked = t->m.marked;
		spin_unlock(&ctx->engine.lock);
		if (asleep != marked && (asleep || t->still == jiffies))
			dxk_worker_seen(&t->m, asleep);
		dxk_thread_put(t);
	}
}

/* --- for reports ------------------------------------------------------------ */

/**
 * dxk_running_next - report what a worker executes for which Stop waits (DX-114)
 * @ctx: the context
 * @after: id of the previous worker, 0 for the first
 * @out: the first worker with a higher id that holds a request
 *
 * Return: false when there is none.
 */
bool dxk_running_next(struct dxk_ctx *ctx, u32 after, struct dxk_running *out)
{
	unsigned long id = after + 1;
	struct dxk_thread *t;
	bool found = false;

	for (; !found && (t = dxk_thread_next(ctx, &id, DXK_ID_WORKER_MAX)); id++) {
		spin_lock(&ctx->engine.lock);
		found = t->m.held;
		if (found)
			*out = t->m.work;
		spin_unlock(&ctx->engine.lock);
		if (found) {
			out->thread = id;
			out->age_ns = jiffies_to_nsecs(jiffies - READ_ONCE(t->m.since));
		}
		dxk_thread_put(t);
	}
	return found;
}
