// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Thread Pool: one member per thread of a context. Ids 1..max_threads are
 * places for workers; a place that nobody has is vacant but has its member, so
 * that the pool shows what it could hold.
 */
#include <linux/kernel.h>

#include "dispatch.h"
#include "next.h"
#include "relief.h"
#include "worker.h"

void dxk_crew_init(struct dxk_crew *crew)
{
	u32 kind;

	xa_init_flags(&crew->members, XA_FLAGS_ACCOUNT);
	init_waitqueue_head(&crew->work_wait);
	INIT_LIST_HEAD(&crew->managers);
	for (kind = 0; kind < DXK_KINDS; kind++) {
		INIT_LIST_HEAD(&crew->idle[kind]);
		INIT_LIST_HEAD(&crew->helpers[kind]);
		INIT_LIST_HEAD(&crew->parked[kind]);
	}
}

/** dxk_crew_vacancy - the lowest vacant place for a worker, or NULL */
struct dxk_member *dxk_crew_vacancy(struct dxk_ctx *ctx)
{
	struct dxk_member *m;
	unsigned long id;

	xa_for_each_range(&ctx->crew.members, id, m, 1, ctx->policy.max_threads)
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

	xa_for_each_range(&ctx->crew.members, id, m, 1, DXK_ID_WORKER_MAX)
		nr += dxk_member_state(m) != DXK_M_VACANT && m->kind == kind &&
		      !m->leaving &&
		      !m->spare;
	return nr;
}

/** dxk_crew_spare_place - a place for one more spare, or an error pointer */
struct dxk_member *dxk_crew_spare_place(struct dxk_ctx *ctx)
{
	u32 id = DXK_ID_WORKER_MAX;
	u32 last = DXK_ID_WORKER_MAX - ctx->policy.max_spares;
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

static void dxk_leave_run(struct dxk_ctx *ctx, struct dxk_op *op,
			  struct dxk_wakes *wakes)
{
	struct dxk_member *m = container_of(op, struct dxk_list_op, op)->m;
	struct dxk_next_op *n;

	m->leaving = true;
	ctx->crew.workers[m->kind]--;
	dxk_crew_set_lanes(ctx);
	list_for_each_entry(n, &ctx->crew.idle[m->kind], w.link) {
		if (n->m != m)
			continue;
		n->err = -ESHUTDOWN;
		dxk_waiter_finish(&n->w, wakes);
		break;
	}
}

/** dxk_crew_fit - give places 1..max_threads and the main thread's members */
int dxk_crew_fit(struct dxk_ctx *ctx)
{
	u32 max = ctx->policy.max_threads;
	struct dxk_member *m;
	unsigned long id;

	for (id = DXK_ID_MAIN; id <= max; id++) {
		if (dxk_member_at(ctx, id))
			continue;
		m = dxk_member_new(ctx, id);
		if (IS_ERR(m))
			return PTR_ERR(m);
	}
	xa_for_each_range(&ctx->crew.members, id, m, max + 1, DXK_ID_WORKER_MAX)
		if (dxk_member_state(m) == DXK_M_VACANT)
			dxk_member_retire(m);
	return 0;
}

/** dxk_crew_set_lanes - recompute the limits after a change of crew or policy */
void dxk_crew_set_lanes(struct dxk_ctx *ctx)
{
	const struct dxk_policy *p = &ctx->policy;
	bool cmls = dxk_ctx_cmls(ctx);
	u32 kind;

	lockdep_assert_held(&ctx->lock);

	dxk_lanes_set(&ctx->ready.lanes, cmls, p->ready_entries, p->lane_pct);
	for (kind = 0; kind < DXK_KINDS; kind++) {
		struct dxk_lanes *lanes = &ctx->crew.lanes[kind];

		dxk_lanes_set(lanes, cmls, cmls ? ctx->crew.workers[kind] : U32_MAX,
			      p->lane_pct);
		/* They bring their threads: more can execute, but no share is larger. */
		if (cmls)
			lanes->quota[DXK_LANES - 1] += ctx->crew.extra[kind];
	}
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

/* Let the surplus of a kind go: ids beyond the limit, then the highest. */
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
		if (id <= ctx->policy.max_threads && nr <= places)
			break;
		dxk_member_do(m, dxk_leave_run);
		nr--;
	}
}

/**
 * dxk_crew_review - make the crew what the policy says
 * @ctx: the context; its mutex is held, by the Monitor or on its behalf
 *
 * Starts kernel workers and lets surplus ones of both kinds go when they have
 * finished what they execute; nobody is interrupted.
 * Return: 0, or why a worker could not be started.
 */
int dxk_crew_review(struct dxk_ctx *ctx)
{
	u32 kernel = ctx->policy.kernel_threads;
	struct dxk_member *m;
	unsigned long id;
	int err;

	xa_for_each_range(&ctx->crew.members, id, m, 1, DXK_ID_WORKER_MAX) {
		if (m->kind != DXK_KERNEL || !READ_ONCE(m->gone))
			continue;
		dxk_worker_stop(m);
		dxk_member_do(m, dxk_died_run);
		dxk_member_retire(m);
	}
	err = dxk_crew_fit(ctx);
	if (err)
		return err;
	dxk_crew_shrink(ctx, DXK_KERNEL, kernel);
	dxk_crew_shrink(ctx, DXK_USER, ctx->policy.max_threads - kernel);
	while (dxk_crew_count(ctx, DXK_KERNEL) < kernel) {
		err = dxk_crew_add_kernel(dxk_crew_vacancy(ctx));
		if (err)
			return err;
	}
	while (dxk_spares_wanted(ctx, DXK_KERNEL)) {
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

	xa_for_each_range(&ctx->crew.members, id, m, 1, DXK_ID_WORKER_MAX) {
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

	xa_for_each(&ctx->crew.members, id, m)
		if (dxk_member_state(m) == DXK_M_VACANT)
			dxk_member_retire(m);
}

/** dxk_crew_empty - free the whole pool: the context is closed */
void dxk_crew_empty(struct dxk_ctx *ctx)
{
	struct dxk_member *m;
	unsigned long id;

	xa_for_each(&ctx->crew.members, id, m)
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

	xa_for_each_range(&ctx->crew.members, id, m, 1, DXK_ID_WORKER_MAX) {
		if (!dxk_member_is_dead(m))
			continue;
		dxk_log_add(&ctx->log, ctx->policy.log_full, DXK_ID_MONITOR,
			    "worker %u is gone", m->id);
		dxk_member_bury(m);
	}
}

/**
 * dxk_crew_resting - does every user worker sleep for work?
 * @ctx: the context, locked
 *
 * Then none can die unnoticed: a killed sleeper leaves through its call.
 */
bool dxk_crew_resting(const struct dxk_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);

	return ctx->crew.nr_idle[DXK_USER] == ctx->crew.workers[DXK_USER] &&
	       ctx->crew.nr_parked[DXK_USER] == ctx->crew.spares[DXK_USER];
}
