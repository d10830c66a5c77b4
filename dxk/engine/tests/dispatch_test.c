// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The dispatcher's role: who is given what the lanes admit, what a lock hold leaves over,
 * and when control threads may rest.
 */
#include "engine/tests/puppet.h"

#define MANY	70

/* DX-67, DX-70, DX-71, DX-73: lanes over ten idle workers */
static void dispatch_lanes(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 100);
	const u32 *used = ps->e->crew.lanes[DXK_USER].used;
	struct dxk_next_op *n[10];
	u32 i, lane2 = 0;

	for (i = 0; i < 10; i++)
		n[i] = puppet_turn(ps, puppet_worker(ps), 1);
	for (i = 0; i < 5; i++)
		puppet_post(ps, 0, 9, PXR_LANE2);
	/* four at once, for there is none of lane 1 */
	EXPECT_IS(used[2], 4);
	/* then none of lane 1 starts until one of them ends */
	puppet_post(ps, 0, 9, PXR_LANE1);
	EXPECT_IS(used[1], 0);
	/* who is not admissible holds up nobody */
	for (i = 0; i < 7; i++)
		puppet_post(ps, 0, 0, 0);
	EXPECT_IS(used[3], 6);
	EXPECT_IS(ps->e->crew.nr_idle[DXK_USER], 0);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 3);

	/* one of lane 2 ends: the older one of lane 2 is as urgent as that of lane 1 */
	for (i = 0; i < 10 && !lane2; i++) {
		struct dxk_rqe *rqe = puppet_fetch(n[i]);

		if (!rqe || rqe->lane != 2)
			continue;
		puppet_end(ps, n[i]->m, 0, 0);
		EXPECT_IS(puppet_work(ps, n[i]->m)->lane, 2);
		puppet_end(ps, n[i]->m, 0, 0);
		EXPECT_IS(puppet_work(ps, n[i]->m)->lane, 1);
		lane2++;
	}
	EXPECT_IS(lane2, 1);
	EXPECT_IS(used[1], 1);
	/* DX-75: and so it is while that one waits for another */
	puppet_post(ps, 0, 9, PXR_LANE2);
	EXPECT_IS(used[2], 3);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 2);
}

/* An entry that the kernel workers' part of a dispatch frees is for a user worker. */
static void dispatch_lets_another_kind_in(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 100);
	struct dxk_next_op *idle, *user;
	struct dxk_member *kernel[2];
	struct dxk_post_op *p;
	u32 i;

	for (i = 0; i < 2; i++)
		kernel[i] = puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, false);
	user = puppet_turn(ps, puppet_worker(ps), 1);
	EXPECT(ASLEEP(user));
	puppet_post(ps, 0, 0, PXR_KERNEL | PXR_LANE1);
	puppet_work(ps, kernel[0]);
	idle = puppet_turn(ps, kernel[1], 1);
	/* of two kernel workers lane 1 has one: these wait, and fill its part of the pool */
	puppet_post_nr(ps, ps->main, 20, 0, PXR_KERNEL | PXR_LANE1);
	EXPECT(ASLEEP(idle));
	p = puppet_post(ps, 0, 0, PXR_LANE1 | PXR_WAITIF_BUSY);
	EXPECT(ASLEEP(p));
	puppet_end(ps, kernel[0], 0, 0);
	EXPECT(!ASLEEP(idle));
	EXPECT(!ASLEEP(p));
	EXPECT(!ASLEEP(user));
	EXPECT_IS(user->nr, 1);
}

/* More work for idle workers than one lock hold may give. */
static void dispatch_many(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, MANY);
	struct dxk_next_op *n[MANY];
	u32 i, swept, given;

	for (i = 0; i < MANY; i++)
		n[i] = puppet_turn(ps, puppet_worker(ps), 1);
	for (swept = 0; swept < 2; swept++) {
		ps->e->swept = swept;
		puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, 0, 0);
		EXPECT_IS(ps->woken, DXK_HOLD_BUDGET + 1);
		EXPECT_IS(ps->kick, BIT(swept ? DXK_DISPATCHER : DXK_MYSELF));
		EXPECT_IS(ps->e->nr[DXK_AT_READY],
			  swept ? DXK_BATCH_MAX - DXK_HOLD_BUDGET : 0);
		dxk_sweep(ps->e, true);
		EXPECT_IS(ps->e->stats.missed_wakeups, 0);
		EXPECT_IS(ps->e->nr[DXK_AT_READY], 0);
		EXPECT(!ps->e->owing);
		dxk_sweep_end(ps->e);
		for (i = given = 0; i < MANY; i++)
			if (!ASLEEP(n[i])) {
				given++;
				puppet_fetch(n[i]);
				n[i] = puppet_end(ps, n[i]->m, 0, 1);
			}
		EXPECT_IS(given, DXK_BATCH_MAX);
	}
}

/* A dispatch that somebody forgot is made by a sweep, and counted. */
static void dispatch_missed(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_engine *e = ps->e;
	struct dxk_next_op *n;
	struct dxk_post_op *p;
	struct dxk_wakes wakes;
	u32 asked;

	for (asked = 0; asked < 2; asked++) {
		n = puppet_turn(ps, worker, 1);
		p = puppet_poster(ps, ps->main);
		puppet_add(ps, p, 0, 0, 0);
		dxk_wakes_init(&wakes);
		spin_lock(&e->lock);
		dxk_post_run(e, &p->op, &wakes);
		spin_unlock(&e->lock);
		dxk_wakes_flush(e, &wakes);
		EXPECT(ASLEEP(n));
		dxk_sweep(e, asked);
		EXPECT(!ASLEEP(n));
		EXPECT_IS(e->stats.missed_wakeups, 1);
	}
	/* nothing is Ready: who leaves something there is to wake it, unless asked */
	dxk_sweep(e, true);
	EXPECT(!e->dormant[DXK_DISPATCHER]);
	dxk_sweep(e, false);
	EXPECT(e->dormant[DXK_DISPATCHER]);
	EXPECT(e->swept);
	puppet_post(ps, 0, 0, 0);
	EXPECT_IS(ps->kick, BIT(DXK_DISPATCHER));
	EXPECT(!e->dormant[DXK_DISPATCHER]);
	puppet_post(ps, 0, 0, 0);
	EXPECT_IS(ps->kick, 0);
	dxk_sweep(e, false);
	EXPECT(!e->dormant[DXK_DISPATCHER]);
	EXPECT_IS(e->stats.missed_wakeups, 1);
}

/* The Scheduler sleeps as long as nothing is Ready. */
static void dispatch_wakes_scheduler(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);

	EXPECT(dxk_scheduler_rest(ps->e));
	puppet_turn(ps, worker, 1);
	/* what is given away at once needs nobody */
	puppet_post(ps, 0, 0, 0);
	EXPECT_IS(ps->kick, 0);
	puppet_post(ps, 0, 0, 0);
	EXPECT_IS(ps->kick, BIT(DXK_SCHEDULER));
	puppet_post(ps, 0, 0, 0);
	EXPECT_IS(ps->kick, 0);
	EXPECT(!dxk_scheduler_rest(ps->e));
	EXPECT(!ps->e->dormant[DXK_SCHEDULER]);
}

/* The Monitor sleeps while nothing can happen that it is to see. */
static void dispatch_wakes_monitor(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *kernel = puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, false);
	struct dxk_engine *e = ps->e;
	struct dxk_member *worker;
	struct dxk_next_op *n, *spare;

	EXPECT(dxk_monitor_rest(e, false));
	EXPECT(e->dormant[DXK_MONITOR]);
	/* a worker comes: it may die unnoticed unless it sleeps for work */
	worker = puppet_worker(ps);
	EXPECT(!e->dormant[DXK_MONITOR]);
	EXPECT(!dxk_monitor_rest(e, false));
	n = puppet_turn(ps, worker, 1);
	EXPECT(!dxk_monitor_rest(e, true));
	EXPECT(dxk_monitor_rest(e, false));
	e->policy.sample_interval_ms = 1;
	EXPECT(!dxk_monitor_rest(e, false));
	e->policy.sample_interval_ms = 0;

	/* kernel workers do not die, but may take too long */
	EXPECT(dxk_monitor_rest(e, false));
	puppet_post(ps, 0, 0, PXR_KERNEL);
	puppet_work(ps, kernel);
	EXPECT_IS(ps->kick, 0);
	EXPECT(dxk_monitor_rest(e, false));
	e->policy.report_age_ms = 1;
	EXPECT(!dxk_monitor_rest(e, false));
	puppet_end(ps, kernel, 0, 0);
	EXPECT(dxk_monitor_rest(e, false));
	puppet_post(ps, 0, 0, PXR_KERNEL);
	puppet_work(ps, kernel);
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	puppet_end(ps, kernel, 0, 0);
	e->policy.report_age_ms = 0;

	EXPECT(dxk_monitor_rest(e, false));
	puppet_post(ps, 0, 0, 0);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	puppet_fetch(n);
	n = puppet_end(ps, worker, 0, 1);
	/* an idle one whose sleep ends is not idle */
	EXPECT(dxk_monitor_rest(e, false));
	puppet_time_up(ps, &n->w);
	EXPECT(!e->dormant[DXK_MONITOR]);
	puppet_turn(ps, worker, 1);
	spare = puppet_turn(ps, puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, true), 1);
	EXPECT(dxk_monitor_rest(e, false));
	puppet_time_up(ps, &spare->w);
	EXPECT(!dxk_monitor_rest(e, false));
}

/* What nobody collects is freed before its worker sleeps. */
static void dispatch_completed_is_freed(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_next_op n = { .m = puppet_worker(ps), .max = 1, .nr = 9, .err = -EINVAL };

	puppet_post(ps, 0, 0, 0);
	puppet_work(ps, n.m);
	INIT_LIST_HEAD(&n.done);
	list_splice_init(&n.m->busy, &n.done);
	EXPECT_IS(dxk_next(&n, 0), -ETIMEDOUT);
	EXPECT_IS(n.taken, 1);
	EXPECT_IS(n.nr, 0);
	EXPECT_IS(n.err, 0);
	EXPECT(list_empty(&n.ended));
	/* and else it is the caller's to free */
	puppet_post(ps, 0, 0, 0);
	puppet_work(ps, n.m);
	list_splice_init(&n.m->busy, &n.done);
	n.max = 0;
	EXPECT_IS(dxk_next(&n, 0), 0);
	EXPECT(!list_empty(&n.ended));
	dxk_rqe_drop_all(n.m, &n.ended);
}

static struct kunit_case dispatch_cases[] = {
	KUNIT_CASE(dispatch_lanes),
	KUNIT_CASE(dispatch_lets_another_kind_in),
	KUNIT_CASE(dispatch_many),
	KUNIT_CASE(dispatch_missed),
	KUNIT_CASE(dispatch_completed_is_freed),
	KUNIT_CASE(dispatch_wakes_scheduler),
	KUNIT_CASE(dispatch_wakes_monitor),
	{ }
};

static struct kunit_suite dispatch_suite = {
	.name = "dxk_dispatch",
	.exit = puppets_end,
	.test_cases = dispatch_cases,
};

kunit_test_suite(dispatch_suite);
