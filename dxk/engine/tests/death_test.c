// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The end of a worker, with what it executes (DX-25).
 */
#include "engine/tests/puppet.h"

#define BATCH	DXK_BATCH_MAX

static struct puppets *start(struct kunit *test, u32 workers)
{
	struct dxk_policy p = puppet_policy(workers);

	p.redo_max = 2;
	return puppets_start(test, &p);
}

/* DX-25: what it executes ends, so that no owner waits for ever */
static void death_ends_requests(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r;

	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_post(ps, 9, 0, 0);
	puppet_work(ps, worker)->data_len = 5;
	puppet_work(ps, worker);
	r = puppet_rejoin(ps, ps->main, 8, 1, 1);
	EXPECT(ASLEEP(r));
	EXPECT_IS(ps->e->crew.workers[DXK_USER], 1);
	puppet_dies(ps, worker);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->answer, RJR_RETURNED);
	EXPECT_IS(puppet_result(r)->status, -EOWNERDEAD);
	EXPECT_IS(puppet_result(r)->data_len, 0);
	EXPECT_IS(puppet_result(r)->worker, worker->id);
	EXPECT_IS(puppet_poll(ps, 9), RJR_NONE_EXIST);
	EXPECT_IS(ps->e->stats.owner_dead, 2);
	EXPECT_IS(ps->e->stats.redone, 0);
	EXPECT_IS(ps->e->crew.workers[DXK_USER], 0);
	EXPECT_IS(ps->e->crew.present, 0);
	EXPECT(!worker->attached);
	EXPECT_IS(worker->held, 0);
	/* a client counts, too */
	EXPECT_IS(ps->e->crew.clients, 1);
	puppet_dies(ps, puppet_client(ps));
	EXPECT_IS(ps->e->crew.clients, 1);
}

/* PXR_REDO: it is begun again, as old as it was, but not too often */
static void death_redo(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_member *m[3] = {
		puppet_worker(ps), puppet_worker(ps), puppet_worker(ps),
	};
	struct dxk_rejoin_op *r;
	struct dxk_rqe *rqe;

	ps->e->policy.prio_policy = PRIO_POLICY_AGERQS;
	puppet_post(ps, 8, 0, PXR_REJOIN | PXR_REDO);
	dxk_tick(ps->e);
	puppet_post(ps, 9, 1, 0);
	rqe = puppet_work(ps, m[0]);
	EXPECT_IS(rqe->prio, 1);
	rqe->data_len = 3;
	/* time in which it executes is none in the pool */
	dxk_tick(ps->e);
	puppet_dies(ps, m[0]);
	EXPECT_IS(ps->e->stats.redone, 1);
	EXPECT_IS(ps->e->stats.owner_dead, 0);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 2);
	EXPECT_IS(rqe->data_len, 0);
	EXPECT_IS(rqe->worker, 0);
	EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_READY);
	dxk_tick(ps->e);
	EXPECT_IS(puppet_work(ps, m[1])->cookie, 9);
	EXPECT(puppet_work(ps, m[1]) == rqe);
	EXPECT_IS(rqe->prio, 2);
	EXPECT_IS(rqe->inspect, 2);
	EXPECT_IS(rqe->attempts, 2);
	/* it may be what kills them */
	puppet_dies(ps, m[1]);
	EXPECT_IS(ps->e->stats.redone, 1);
	r = puppet_rejoin(ps, ps->main, 8, 1, 0);
	EXPECT_IS(r->nr, 1);
	EXPECT_IS(puppet_result(r)->status, -EOWNERDEAD);
	/* an idle worker gets it at once; not when Ready requests are cancelled */
	puppet_post(ps, 8, 0, PXR_REJOIN | PXR_REDO);
	puppet_work(ps, m[2]);
	dxk_stop_begin(ps->e, 0, false, false);
	puppet_dies(ps, m[2]);
	EXPECT_IS(ps->e->stats.redone, 2);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	m[0] = puppet_worker(ps);
	ps->e->policy.redo_max = 9;
	EXPECT(puppet_work(ps, m[0]) == list_first_entry(&m[0]->busy, struct dxk_rqe, link));
	dxk_stop_begin(ps->e, 0, true, false);
	puppet_dies(ps, m[0]);
	EXPECT_IS(ps->e->stats.redone, 2);
	EXPECT_IS(ps->e->stats.owner_dead, 3);
}

/* A worker that has more than one lock hold may end; and one that only waited. */
static void death_of_many(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_list_op op = { .m = worker };
	u32 i, nr = 0;

	for (i = 0; i < 3; i++) {
		puppet_post_nr(ps, ps->main, BATCH, i, PXR_REJOIN | (i ? 0 : PXR_REDO));
		puppet_fetch(puppet_turn(ps, worker, BATCH));
	}
	EXPECT_IS(worker->held, 3 * BATCH);
	INIT_LIST_HEAD(&op.ended);
	do {
		puppet_do(ps, &op.op, dxk_died_run);
		EXPECT(worker->attached == op.more);
		nr++;
	} while (op.more && nr < 99);
	EXPECT_IS(nr, DIV_ROUND_UP(3 * BATCH, DXK_HOLD_BUDGET));
	EXPECT_IS(ps->e->stats.redone, BATCH);
	EXPECT_IS(ps->e->stats.owner_dead, 2 * BATCH);
	EXPECT_IS(ps->e->crew.workers[DXK_USER], 0);
}

/* DX-77: what lanes may hold of a crew is of those who are there. */
static void death_takes_a_share(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 10);
	const struct dxk_lanes *lanes = &ps->e->crew.lanes[DXK_USER];
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };

	EXPECT_IS(lanes->quota[DXK_LANES - 1], 2);
	puppet_dies(ps, m[0]);
	EXPECT_IS(lanes->quota[DXK_LANES - 1], 1);
	puppet_dies(ps, m[1]);
	EXPECT_IS(lanes->quota[DXK_LANES - 1], 0);
}

static struct kunit_case death_cases[] = {
	KUNIT_CASE(death_ends_requests),
	KUNIT_CASE(death_redo),
	KUNIT_CASE(death_of_many),
	KUNIT_CASE(death_takes_a_share),
	{ }
};

static struct kunit_suite death_suite = {
	.name = "dxk_death",
	.exit = puppets_end,
	.test_cases = death_cases,
};

kunit_test_suite(death_suite);
