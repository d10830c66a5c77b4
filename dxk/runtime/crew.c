// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Thread Pool: one member per thread of a context. Ids 1..max_threads are
 * places for workers; a place that nobody has is vacant but has its member, so
 * that the pool shows what it could hold.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/pid.h>

#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/next.h"
#include "engine/onblock.h"
#include "engine/os.h"
#include "runtime/context.h"
#include "runtime/crew.h"
#include "runtime/session.h"
#include "runtime/thread.h"
#include "runtime/worker.h"
#include "services/command.h"
#include "services/log.h"

/** dxk_crew_vacancy - the lowest vacant place for a worker, or NULL */
struct dxk_member *dxk_crew_vacancy(struct dxk_ctx *ctx)
{
	struct dxk_member *m;
	unsigned long id;

	xa_for_each_range(&ctx->members, id, m, 1, ctx->engine.policy.max_threads)
		if (dxk_member_state(m) == DXK_M_VACANT)
			return m;
	return NULL;
}

/** dxk_crew_count - workers of a kind that are not leaving, without spares */
u32 dxk_crew_count(struct dxk_ctx *ctx, enum dxk_kind kind)
{
	struct dxk_member *m;
	unsigned long id;
	u32 nr = 0;

	xa_for_each_range(&ctx->members, id, m, 1, DXK_ID_WORKER_MAX)
		nr += dxk_member_state(m) != DXK_M_VACANT && m->kind == kind &&
		      !m->leaving &&
		      !m->spare;
	return nr;
}

/** dxk_crew_spare_place - a place for one more spare, or an error pointer */
struct dxk_member *dxk_crew_spare_place(struct dxk_ctx *ctx)
{
	u32 id = DXK_ID_WORKER_MAX;
	u32 last = DXK_ID_WORKER_MAX - ctx->engine.policy.max_spares;
	struct dxk_member *m;

	while (id > last && dxk_member_at(ctx, id))
		id--;
	if (id == last)
		return ERR_PTR(-ENOSPC);
	m = dxk_member_new(ctx, id);
	if (!IS_ERR(m))
		m->spare = true;
	return m;
}

/** dxk_crew_fit - give places 1..max_threads and the main thread's members */
int dxk_crew_fit(struct dxk_ctx *ctx)
{
	u32 max = ctx->engine.policy.max_threads;
	struct dxk_member *m;
	unsigned long id;

	for (id = DXK_ID_MAIN; id <= max; id++) {
		if (dxk_member_at(ctx, id))
			continue;
		m = dxk_member_new(ctx, id);
		if (IS_ERR(m))
			return PTR_ERR(m);
	}
	xa_for_each_range(&ctx->members, id, m, max + 1, DXK_ID_WORKER_MAX)
		if (dxk_member_state(m) == DXK_M_VACANT)
			dxk_member_retire(m);
	return 0;
}

/* @m: its place. On error it stays vacant. */
static int dxk_crew_add_kernel(struct dxk_member *m)
{
	int err;

	if (IS_ERR_OR_NULL(m))
		return m ? PTR_ERR(m) : -EAGAIN;
	err = dxk_worker_create(m);
	if (err) {
		if (m->spare)
			dxk_member_retire(m);
		return err;
	}
	dxk_member_occupy(m, DXK_ROLE_WORKER, DXK_KERNEL);
	dxk_member_attach(m);
	dxk_worker_run(m);
	return 0;
}

/* Dismiss the surplus of a kind: ids beyond the limit, then the highest. */
static void dxk_crew_shrink(struct dxk_ctx *ctx, enum dxk_kind kind, u32 places)
{
	u32 nr = dxk_crew_count(ctx, kind);
	struct dxk_member *m;
	unsigned long id;

	for (id = DXK_ID_WORKER_MAX; id >= 1; id--) {
		m = dxk_member_at(ctx, id);
		if (!m || dxk_member_state(m) == DXK_M_VACANT || m->kind != kind ||
		    m->leaving || m->spare)
			continue;
		if (id <= ctx->engine.policy.max_threads && nr <= places)
			break;
		dxk_member_do(m, dxk_leave_run);
		nr--;
	}
}

/**
 * dxk_crew_review - make the crew what the policy says
 * @ctx: the context; its mutex is held, by the Monitor or on its behalf
 *
 * Starts kernel workers and dismisses surplus ones of both kinds when they have
 * finished what they execute; nobody is interrupted.
 * Return: 0, or why a worker could not be started.
 */
int dxk_crew_review(struct dxk_ctx *ctx)
{
	u32 kernel = ctx->engine.policy.kernel_threads;
	struct dxk_member *m;
	unsigned long id;
	int err;

	xa_for_each_range(&ctx->members, id, m, 1, DXK_ID_WORKER_MAX) {
		if (m->kind != DXK_KERNEL || !READ_ONCE(dxk_thread_of(m)->gone))
			continue;
		dxk_worker_stop(m);
		dxk_member_do(m, dxk_died_run);
		dxk_member_retire(m);
	}
	err = dxk_crew_fit(ctx);
	if (err)
		return err;
	dxk_crew_shrink(ctx, DXK_KERNEL, kernel);
	dxk_crew_shrink(ctx, DXK_USER, ctx->engine.policy.max_threads - kernel);
	while (dxk_crew_count(ctx, DXK_KERNEL) < kernel) {
		err = dxk_crew_add_kernel(dxk_crew_vacancy(ctx));
		if (err)
			return err;
	}
	while (dxk_spares_wanted(&ctx->engine, DXK_KERNEL)) {
		err = dxk_crew_add_kernel(dxk_crew_spare_place(ctx));
		if (err)
			return err;
	}
	return 0;
}

/** dxk_crew_stop - end the kernel workers; the context is out of work for them */
void dxk_crew_stop(struct dxk_ctx *ctx)
{
	struct dxk_member *m;
	unsigned long id;

	xa_for_each_range(&ctx->members, id, m, 1, DXK_ID_WORKER_MAX) {
		if (dxk_member_state(m) == DXK_M_VACANT || m->kind != DXK_KERNEL)
			continue;
		dxk_worker_stop(m);
		dxk_member_do(m, dxk_died_run);
		dxk_member_retire(m);
	}
}

/** dxk_crew_clear - free the Thread Pool's vacant places */
void dxk_crew_clear(struct dxk_ctx *ctx)
{
	struct dxk_member *m;
	unsigned long id;

	xa_for_each(&ctx->members, id, m)
		if (dxk_member_state(m) == DXK_M_VACANT)
			dxk_member_retire(m);
}

/** dxk_crew_empty - free the whole pool: the context is closed */
void dxk_crew_empty(struct dxk_ctx *ctx)
{
	struct dxk_member *m;
	unsigned long id;

	xa_for_each(&ctx->members, id, m)
		dxk_member_retire(m);
}

/**
 * dxk_crew_bury - notice user workers whose thread ended without closing
 * @ctx: the context; its mutex is held
 *
 * A process that dies closes its descriptors. This finds the single thread that
 * ended while its process lives on (DX-25).
 */
void dxk_crew_bury(struct dxk_ctx *ctx)
{
	struct dxk_member *m;
	unsigned long id;

	xa_for_each_range(&ctx->members, id, m, 1, DXK_ID_WORKER_MAX) {
		if (!dxk_member_is_dead(m))
			continue;
		dxk_log_add(&ctx->log, ctx->engine.policy.log_full, DXK_ID_MONITOR,
			    "worker %u is gone", m->id);
		dxk_member_bury(m);
	}
}

/* --- joining and leaving ---------------------------------------------------- */

/* Also while it drains: a worker that died with a request may have been the last one. */
static bool dxk_member_welcome(const struct dxk_ctx *ctx)
{
	u8 state = READ_ONCE(ctx->engine.state);

	return !ctx->closed && (state == DXK_CTX_RUNNING || state == DXK_CTX_STOPPING);
}

/* The lowest free id of a client, with a vacant member. */
static struct dxk_member *dxk_client_place(struct dxk_ctx *ctx)
{
	struct dxk_member *m;
	u32 id;
	int err;

	/* Reserved until the member is stored there. */
	err = xa_alloc(&ctx->members, &id, NULL, XA_LIMIT(DXK_ID_CLIENT, DXK_ID_MAX),
		       GFP_KERNEL);
	if (err)
		return ERR_PTR(err == -EBUSY ? -ENOSPC : err);
	m = dxk_member_new(ctx, id);
	if (IS_ERR(m))
		xa_erase(&ctx->members, id);
	return m;
}

/* @s: the descriptor it comes by; only the creator's first client is the main thread */
static struct dxk_member *dxk_claim_client(struct dxk_ctx *ctx,
					   const struct dxk_session *s)
{
	struct dxk_member *m = dxk_member_at(ctx, DXK_ID_MAIN);

	if (!s || s->creator) {
		if (m && dxk_member_state(m) == DXK_M_VACANT)
			return m;
		if (!m)
			return dxk_member_new(ctx, DXK_ID_MAIN);
	}
	return dxk_client_place(ctx);
}

static struct dxk_member *dxk_claim_worker(struct dxk_ctx *ctx)
{
	u32 places = ctx->engine.policy.max_threads - ctx->engine.policy.kernel_threads;
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
	/* When a worker left there may have been no memory to show its id as vacant. */
	err = dxk_crew_fit(ctx);
	return err ? ERR_PTR(err) : dxk_crew_vacancy(ctx) ?: ERR_PTR(-ENOSPC);
}

static struct dxk_member *dxk_claim_spare(struct dxk_ctx *ctx)
{
	if (!dxk_member_welcome(ctx))
		return ERR_PTR(-ESHUTDOWN);
	if (ctx->engine.policy.on_block != DXK_ON_BLOCK_SPARE)
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
	os_member_get(m);
	dxk_thread_of(m)->pid = get_pid(pid);
	if (s) {
		dxk_thread_of(m)->access = s->access;
		m->space = s->space;
		dxk_space_join(&ctx->engine, m->space);
	}
	dxk_member_occupy(m, kind == DXK_MEMBER_CLIENT ? DXK_ROLE_CLIENT :
							 DXK_ROLE_WORKER, DXK_USER);
	dxk_member_attach(m);
	return m;
}

/** dxk_member_bury - the member's thread is gone: answer its owners, free its id */
void dxk_member_bury(struct dxk_member *m)
{
	struct dxk_ctx *ctx = dxk_member_ctx(m);

	dxk_member_do(m, dxk_died_run);
	dxk_member_retire(m);
	if (dxk_member_welcome(ctx) && dxk_crew_fit(ctx))
		dxk_log_add(&ctx->log, ctx->engine.policy.log_full, DXK_ID_MONITOR,
			    "no memory to show the vacant id %u", m->id);
}

/** dxk_member_release - the member's descriptor is closed */
void dxk_member_release(struct dxk_member *m)
{
	struct dxk_ctx *ctx = dxk_member_ctx(m);

	dxk_command_detach(&dxk_thread_of(m)->handler);
	mutex_lock(&ctx->mutex);
	dxk_member_bury(m);
	mutex_unlock(&ctx->mutex);
	dxk_space_leave(&ctx->engine, m->space);
	os_member_put(m);
}

/* --- for reports ------------------------------------------------------------ */

/**
 * dxk_running_next - what a worker executes that Stop waits for (DX-114)
 * @ctx: the context
 * @after: id of the worker before, 0 for the first
 * @out: the first worker with a higher id that holds a request
 *
 * Return: false when there is none.
 */
bool dxk_running_next(struct dxk_ctx *ctx, u32 after, struct dxk_running *out)
{
	struct dxk_member *m;
	unsigned long id;
	bool found;

	guard(mutex)(&ctx->mutex);
	xa_for_each_range(&ctx->members, id, m, after + 1, DXK_ID_WORKER_MAX) {
		spin_lock(&ctx->engine.lock);
		found = m->held;
		if (found)
			*out = m->work;
		spin_unlock(&ctx->engine.lock);
		if (!found)
			continue;
		out->thread = m->id;
		out->age_ns = jiffies_to_nsecs(jiffies - READ_ONCE(m->since));
		return true;
	}
	return false;
}
