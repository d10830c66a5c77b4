// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What the threads of the stress test do, at random: post, collect, execute, die, and
 * disturb each other.
 */
#include <unistd.h>

#include "engine/dispatch.h"
#include "engine/stall.h"
#include "engine/tests/draw.h"
#include "stress.h"

static u32 draw(struct actor *a, u32 below)
{
	return draw_u32(&a->rnd) % below;
}

/* At once, soon, or never. */
static u64 deadline(struct actor *a)
{
	switch (draw(a, 4)) {
	case 0:
		return 1;
	case 1:
		return os_now() + draw(a, 200) * 1000;
	default:
		return DXK_FOREVER;
	}
}

static void add(u64 *sum, u64 nr)
{
	__atomic_fetch_add(sum, nr, __ATOMIC_RELAXED);
}

/* --- what an actor does ------------------------------------------------------ */

/* The nested turn of a worker that was called while it slept in another call. */
static int work(struct actor *a, u32 max, u64 until);

static int post(struct actor *a, u64 owner, u64 until)
{
	u32 i, nr = 1 + draw(a, 8), attrs = draw(a, 4) ? PXR_REJOIN : 0;
	struct dxk_post_op p = { .m = &a->m, .help = true };
	int ret;

	MUST(!dxk_client_begin(&p, nr));
	for (i = 0; i < nr; i++) {
		struct dxk_post_entry req = {
			.owner = owner, .prio = draw(a, 5),
			.attrs = attrs | (draw(a, 8) ? 0 : PXR_REDO) |
				 (draw(a, 3) ? PXR_WAITIF_BUSY : 0) |
				 (draw(a, 3) ? 0 : draw(a, 2) ? PXR_LANE1 : PXR_LANE2),
		};

		list_add_tail(&dxk_rqe_make(&a->m.rqes, &req, NULL)->link, &p.rqes);
	}
	ret = dxk_client_post(&p, until);
	MUST(ret > 0 || ret == -EAGAIN || ret == -ETIMEDOUT || ret == -ERESTARTSYS ||
	     ret == -ENOSPC || ret == -ESHUTDOWN);
	add(&a->s->posted, p.taken);
	dxk_rqe_drop_all(&a->m, &p.rqes);
	if (p.helper.called)
		work(a, 1, 1);
	return ret;
}

static int collect(struct actor *a, u64 owner, u64 until)
{
	u32 max = 1 + draw(a, 8);
	struct dxk_rejoin_op r = {
		.m = &a->m, .cookie = owner, .max = max, .min = 1 + draw(a, max),
		.wait = until != 1, .help = true, .free = draw(a, 4),
	};
	int err = dxk_client_rejoin(&r, until);

	MUST(!err || err == -ESHUTDOWN || err == -ERESTARTSYS || err == -EDEADLK);
	if (!r.free && r.nr) {
		/* Half of the copies fail: they are there again. */
		struct dxk_settle_op s = { .m = &a->m };
		struct dxk_rqe *rqe, *next;
		bool failed = draw(a, 2);

		INIT_LIST_HEAD(&s.copied);
		INIT_LIST_HEAD(&s.failed);
		list_for_each_entry_safe(rqe, next, &r.rqes, link)
			list_move_tail(&rqe->link, failed ? &s.failed : &s.copied);
		dxk_perform(a->m.engine, &s.op, dxk_settle_run);
		if (!failed)
			add(&a->s->collected, r.nr);
		dxk_rqe_drop_all(&a->m, &s.copied);
	} else {
		MUST(err || r.answer != RJR_RETURNED || r.nr);
		add(&a->s->collected, r.nr);
		dxk_rqe_drop_all(&a->m, &r.rqes);
	}
	if (!err && r.answer == RJR_HELP)
		work(a, 1, 1);
	return err ?: (int)r.answer;
}

/* A worker's request may post and collect, of an owner of its own. */
static void execute(struct actor *a)
{
	u64 owner = 1000 + a->nr;

	if (draw(a, 4) || a->m.extra > 2)
		return;
	if (post(a, owner, 1) > 0)
		collect(a, owner, os_now() + 100000);
}

static void give_back(struct actor *a, struct dxk_next_op *n)
{
	struct dxk_list_op l = { .m = &a->m };

	INIT_LIST_HEAD(&l.rqes);
	INIT_LIST_HEAD(&l.ended);
	list_splice_init(&n->work, &l.rqes);
	dxk_perform(a->m.engine, &l.op, dxk_return_run);
	dxk_rqe_drop_all(NULL, &l.ended);
}

static int work(struct actor *a, u32 max, u64 until)
{
	struct dxk_next_op n = { .m = &a->m, .max = max };
	struct dxk_rqe *rqe, *next;
	LIST_HEAD(begun);
	int err;

	INIT_LIST_HEAD(&n.done);
	err = dxk_next(&n, until);
	MUST(!err || err == -ESHUTDOWN || err == -ETIMEDOUT || err == -ERESTARTSYS);
	dxk_rqe_drop_all(&a->m, &n.ended);
	if (err)
		return err;
	if (n.nr && !draw(a, 10)) {
		give_back(a, &n);
		return 0;
	}
	list_for_each_entry_safe(rqe, next, &n.work, link) {
		WRITE_ONCE(rqe->state, DXK_BUSY);
		list_move_tail(&rqe->link, &a->m.busy);
	}
	dxk_member_set_state(&a->m, DXK_M_BUSY);
	for (; n.nr; n.nr--) {
		struct dxk_next_op end = { .m = &a->m };

		execute(a);
		rqe = list_last_entry(&a->m.busy, struct dxk_rqe, link);
		INIT_LIST_HEAD(&end.done);
		list_move_tail(&rqe->link, &end.done);
		/* It waits for room in the Rejoin Pool, whatever comes. */
		do {
			err = dxk_next(&end, DXK_FOREVER);
			dxk_rqe_drop_all(&a->m, &end.ended);
		} while (!list_empty(&end.done));
		MUST(!err || err == -ERESTARTSYS);
	}
	return 0;
}

/* --- the actors -------------------------------------------------------------- */

static void enter(struct actor *a)
{
	pthread_mutex_lock(&a->s->lock);
	a->s->task[a->nr] = os_self();
	pthread_mutex_unlock(&a->s->lock);
}

static void leave(struct actor *a)
{
	pthread_mutex_lock(&a->s->lock);
	a->s->task[a->nr] = NULL;
	pthread_mutex_unlock(&a->s->lock);
	if (a->nr < CLIENTS)
		pthread_barrier_wait(&a->s->calm);
	pthread_barrier_wait(&a->s->gone);
}

void *client(void *arg)
{
	struct actor *a = arg;
	u64 owner = a->nr / 2;
	u32 i;

	enter(a);
	for (i = 0; i < TURNS; i++) {
		if (draw(a, 2))
			post(a, owner, deadline(a));
		else if (!draw(a, 4))
			/* What a worker's requests have left. */
			collect(a, 1000 + CLIENTS + draw(a, WORKERS), 1);
		else
			collect(a, owner, draw(a, 2) ? 1 : os_now() + 300000);
	}
	leave(a);
	return NULL;
}

/* A worker executes, dies with what it has, and comes again. */
void *worker(void *arg)
{
	struct actor *a = arg;
	int err = 0;

	enter(a);
	while (err != -ESHUTDOWN) {
		err = work(a, 1 + draw(a, 4), deadline(a));
		if (err || draw(a, 50))
			continue;
		/* It takes something with it, if there is something. */
		struct dxk_next_op n = { .m = &a->m, .max = 3 };
		struct dxk_rqe *rqe;

		INIT_LIST_HEAD(&n.done);
		if (!dxk_next(&n, 1)) {
			list_for_each_entry(rqe, &n.work, link)
				WRITE_ONCE(rqe->state, DXK_BUSY);
			list_splice_init(&n.work, &a->m.busy);
		}
		dxk_member_do(&a->m, dxk_died_run);
		dxk_member_set_state(&a->m, DXK_M_AWAY);
		dxk_member_do(&a->m, dxk_attach_run);
	}
	leave(a);
	return NULL;
}

/* Signals, ticks, sweeps, policies that change, and looks. */
void *pest(void *arg)
{
	struct actor *a = arg;
	struct dxk_policy policy = a->s->e.policy;
	struct dxk_stall stall = { };
	u32 workers, spares;

	while (!__atomic_load_n(&a->s->over, __ATOMIC_ACQUIRE)) {
		u32 nr = draw(a, THREADS);

		pthread_mutex_lock(&a->s->lock);
		if (a->s->task[nr])
			os_interrupt(a->s->task[nr]);
		pthread_mutex_unlock(&a->s->lock);
		dxk_tick(&a->s->e);
		dxk_stall_look(&a->s->e, &stall);
		dxk_scheduler_rest(&a->s->e);
		dxk_monitor_rest(&a->s->e, draw(a, 2));
		dxk_crew_wait(&a->s->e, 0, &workers, &spares);
		dxk_should_wait(&a->m, 0);
		policy.lane_pct[1] = 10 + draw(a, 20);
		dxk_enforce(&a->s->e, &policy);
		usleep(200);
	}
	leave(a);
	return NULL;
}
