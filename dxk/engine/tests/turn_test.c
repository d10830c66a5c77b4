// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The usual turn of a worker: what it does, and what it leaves to all others.
 */
#include "engine/more.h"
#include "engine/tests/puppet.h"
#include "engine/turn.h"

/* What a usual turn has brought is begun. */
static void begin(struct dxk_rqe *rqe)
{
	WRITE_ONCE(rqe->state, DXK_BUSY);
}

/* DX-77, DX-81, DX-82: one is completed and vanishes, or comes to its owner; one is taken */
static void turn_usual(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_stats *stats = &ps->e->stats;
	struct dxk_rqe *done, *rqe;
	struct dxk_rejoin_op *r;
	u32 kept;

	puppet_post(ps, 2, 1, 0);
	puppet_post(ps, 2, 0, PXR_REJOIN);
	puppet_post(ps, 2, -1, 0);
	r = puppet_rejoin(ps, ps->main, 2, 1, 1);
	EXPECT(ASLEEP(r));

	done = puppet_work(ps, worker);
	kept = worker->rqes.nr;
	rqe = dxk_turn(worker, &done);
	EXPECT(!done);
	/* it is free for the next post */
	EXPECT_IS(worker->rqes.nr, kept + 1);
	EXPECT_IS(stats->vanished, 1);
	EXPECT_IS(stats->completions, 1);
	EXPECT_IS(stats->dispatches, 2);
	EXPECT_IS(worker->executed, 1);
	EXPECT_IS(worker->held, 1);
	EXPECT_IS(worker->began, 1);
	KUNIT_ASSERT_NOT_NULL(test, rqe);
	EXPECT_IS(rqe->param, 2);
	EXPECT_IS(rqe->state, DXK_DISPATCHED);
	EXPECT(worker->busy.next == &rqe->link);
	EXPECT(worker->busy.prev == &rqe->link);

	begin(rqe);
	done = rqe;
	done->status = -77;
	rqe = dxk_turn(worker, &done);
	EXPECT(!done);
	EXPECT_IS(worker->rqes.nr, kept + 1);
	EXPECT_IS(stats->vanished, 1);
	EXPECT_IS(worker->executed, 2);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(puppet_result(r)->status, -77);
	KUNIT_ASSERT_NOT_NULL(test, rqe);
	EXPECT_IS(rqe->param, 3);
	begin(rqe);
	puppet_end(ps, worker, 0, 0);
	EXPECT_IS(stats->vanished, 2);
}

/* The entry that becomes free goes to who sleeps for it. */
static void turn_lets_a_poster_in(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rqe *done, *rqe;
	struct dxk_post_op *p;

	puppet_post(ps, 2, 0, 0);
	done = puppet_work(ps, worker);
	puppet_post(ps, 2, 0, 0);
	p = puppet_post(ps, 2, 0, PXR_WAITIF_BUSY);
	EXPECT(ASLEEP(p));
	rqe = dxk_turn(worker, &done);
	EXPECT(!ASLEEP(p));
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	KUNIT_ASSERT_NOT_NULL(test, rqe);
	begin(rqe);
}

/* DX-67: what is Ready may be of a lane that has all it may have */
static void turn_completes_only(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 10);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_rqe *done;

	puppet_post(ps, 2, 1, PXR_LANE1);
	puppet_post(ps, 2, 0, 0);
	puppet_post(ps, 2, 0, PXR_LANE1);
	EXPECT_IS(puppet_work(ps, m[0])->param, 1);
	done = puppet_work(ps, m[1]);
	EXPECT_IS(done->param, 2);
	EXPECT(!dxk_turn(m[1], &done));
	EXPECT(!done);
	EXPECT_IS(m[1]->executed, 1);
	EXPECT_IS(m[1]->held, 0);
	EXPECT(list_empty(&m[1]->busy));
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	EXPECT(ASLEEP(puppet_turn(ps, m[1], 1)));
}

/* Does a turn leave all as it is? */
static bool leaves_it(struct dxk_member *m, struct dxk_rqe *rqe)
{
	struct dxk_rqe *done = rqe;

	return !dxk_turn(m, &done) && done == rqe && m->held == 1 && !m->executed &&
	       rqe->state == DXK_BUSY && !m->engine->stats.completions;
}

/* What anybody has to look at is not for a usual turn. */
static void turn_unusual(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_more more = { };
	struct dxk_engine *e = ps->e;
	struct dxk_rqe *rqe, *done;
	LIST_HEAD(called);

	puppet_post(ps, 2, 0, PXR_REJOIN);
	rqe = done = puppet_work(ps, m);
	/* it falls idle */
	EXPECT(leaves_it(m, rqe));
	puppet_post(ps, 2, 0, PXR_KERNEL);
	EXPECT(leaves_it(m, rqe));
	puppet_post(ps, 2, 0, PXR_REJOIN);

	/* the context */
	e->state = DXK_CTX_STOPPING;
	EXPECT(leaves_it(m, rqe));
	e->state = DXK_CTX_RUNNING;
	e->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	EXPECT(leaves_it(m, rqe));
	e->policy.rejoin_full = DXK_REJOIN_RESERVE;
	WRITE_ONCE(e->direct, false);
	EXPECT(leaves_it(m, rqe));
	WRITE_ONCE(e->direct, true);

	/* the worker */
	m->attached = false;
	EXPECT(leaves_it(m, rqe));
	m->attached = true;
	m->leaving = true;
	EXPECT(leaves_it(m, rqe));
	m->leaving = false;
	m->spare = true;
	EXPECT(leaves_it(m, rqe));
	m->spare = false;
	m->has_closed_handles = true;
	EXPECT(leaves_it(m, rqe));
	m->has_closed_handles = false;
	list_add(&called, &m->called);
	EXPECT(leaves_it(m, rqe));
	list_del(&called);

	/* the request */
	rqe->posted = 1ULL << 32;
	EXPECT(leaves_it(m, rqe));
	rqe->posted = 0;
	rqe->extra = true;
	EXPECT(leaves_it(m, rqe));
	rqe->extra = false;
	rqe->more = &more;
	EXPECT(leaves_it(m, rqe));
	rqe->more = NULL;

	rqe = dxk_turn(m, &done);
	EXPECT(!done);
	KUNIT_ASSERT_NOT_NULL(test, rqe);
	begin(rqe);
}

static struct kunit_case turn_cases[] = {
	KUNIT_CASE(turn_usual),
	KUNIT_CASE(turn_lets_a_poster_in),
	KUNIT_CASE(turn_completes_only),
	KUNIT_CASE(turn_unusual),
	{ }
};

static struct kunit_suite turn_suite = {
	.name = "dxk_turn",
	.exit = puppets_end,
	.test_cases = turn_cases,
};

kunit_test_suite(turn_suite);
