// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * A worker's turn: what it completes, what it is given, and in which order.
 */
#include "engine/tests/puppet.h"

/* Of os_clock(): longer than any test takes. */
#define AGES	1000000

/* DX-77, DX-79: a worker without work sleeps; the last one that fell idle is first */
static void next_idle(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 3);
	struct dxk_crew *crew = &ps->e->crew;
	struct dxk_member *m[3];
	struct dxk_next_op *n[3], call = { .max = 1 };
	u32 i;

	for (i = 0; i < 3; i++) {
		m[i] = puppet_worker(ps);
		m[i]->since -= AGES;
		n[i] = puppet_turn(ps, m[i], 1);
		EXPECT(ASLEEP(n[i]));
		/* since when it is idle */
		EXPECT(os_clock() - m[i]->since < AGES);
		EXPECT_IS(crew->nr_idle[DXK_USER], i + 1);
		EXPECT_IS(dxk_member_state(m[i]), DXK_M_AVAILABLE);
	}
	for (i = 3; i--; ) {
		m[i]->since -= AGES;
		puppet_post(ps, 5, -1, PXR_REJOIN);
		EXPECT(!ASLEEP(n[i]));
		/* since when it has it */
		EXPECT(os_clock() - m[i]->since < AGES);
		EXPECT_IS(ps->woken, 2);
		EXPECT_IS(n[i]->nr, 1);
		EXPECT_IS(n[i]->err, 0);
		EXPECT_IS(crew->nr_idle[DXK_USER], i);
		EXPECT_IS(m[i]->held, 1);
		puppet_fetch(n[i]);
		EXPECT_IS(dxk_member_home_state(m[i]), DXK_M_BUSY);
	}
	EXPECT_IS(dxk_member_home_state(ps->main), DXK_M_RUNNING);
	puppet_end(ps, m[0], 0, 0);
	EXPECT_IS(dxk_member_home_state(m[0]), DXK_M_AWAY);
	/* with a deadline that is over, as threads do it */
	call.m = m[0];
	INIT_LIST_HEAD(&call.done);
	EXPECT_IS(dxk_next(&call, 0), -ETIMEDOUT);
	EXPECT_IS(crew->nr_idle[DXK_USER], 0);
	EXPECT(list_empty(&crew->idle[DXK_USER]));
}

/* Reports say by which executor a worker executes. */
static void next_notes_the_executor(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_post_op *p = puppet_poster(ps, ps->main);
	struct dxk_member *worker = puppet_worker(ps);

	puppet_add(ps, p, 5, 0, 0);
	list_first_entry(&p->rqes, struct dxk_rqe, link)->executor = 7;
	puppet_posts(ps, p);
	puppet_work(ps, worker);
	EXPECT_IS(worker->work.executor, 7);
}

/* DX-48, DX-56, DX-57, DX-86, DX-95: by priority, equals as posted; and so they return */
static void next_priority_order(struct kunit *test)
{
	static const s32 prio[] = { 3, -7, 3, S32_MAX, 0, 12, S32_MIN, 3, 0, -7 };
	static const u32 order[] = { 3, 5, 0, 2, 7, 4, 8, 1, 9, 6 };
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r;
	struct dxk_rqe *rqe;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(prio); i++)
		puppet_post(ps, 2, prio[i], PXR_REJOIN);
	for (i = 0; i < ARRAY_SIZE(prio); i++) {
		rqe = puppet_work(ps, worker);
		EXPECT_IS(rqe->param, 1 + order[i]);
		EXPECT_IS(rqe->prio, prio[order[i]]);
		EXPECT_IS(rqe->ticket, i + 1);
		EXPECT_IS(rqe->worker, worker->id);
		EXPECT_IS(rqe->attempts, 1);
		/* what reports will say */
		EXPECT_IS(worker->work.param, rqe->param);
		EXPECT_IS(worker->work.owner, 2);
		EXPECT_IS(worker->work.attrs, PXR_REJOIN);
		EXPECT_IS(worker->work_ticket, i + 1);
		puppet_end(ps, worker, i, 0);
	}
	EXPECT_IS(ps->e->stats.dispatches, ARRAY_SIZE(prio));
	r = puppet_rejoin(ps, ps->main, 2, DXK_BATCH_MAX, 0);
	EXPECT_IS(r->nr, ARRAY_SIZE(prio));
	i = 0;
	list_for_each_entry(rqe, &r->rqes, link) {
		EXPECT_IS(rqe->param, 1 + order[i]);
		EXPECT_IS(rqe->status, i++);
	}
}

/* DX-81, DX-82, DX-85: what a rejoinable request leaves; others vanish */
static void next_end(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_stats *stats = &ps->e->stats;
	struct dxk_next_op *n;

	puppet_post(ps, 2, 0, 0);
	puppet_post(ps, 2, 0, PXR_REJOIN);
	puppet_work(ps, worker);
	EXPECT_IS(ps->e->nr[DXK_AT_WORK], 1);
	/* completes and takes in one turn */
	n = puppet_end(ps, worker, 1, 1);
	EXPECT_IS(n->taken, 1);
	EXPECT_IS(n->nr, 1);
	EXPECT(!list_empty(&n->ended));
	EXPECT_IS(stats->vanished, 1);
	EXPECT_IS(worker->executed, 1);
	EXPECT_IS(worker->held, 1);
	puppet_fetch(n);
	n = puppet_end(ps, worker, -77, 0);
	EXPECT(list_empty(&n->ended));
	EXPECT(!ASLEEP(n));
	EXPECT_IS(n->err, 0);
	EXPECT_IS(n->nr, 0);
	EXPECT_IS(worker->executed, 2);
	EXPECT_IS(worker->held, 0);
	EXPECT_IS(stats->completions, 2);
	EXPECT_IS(stats->vanished, 1);
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 1);
	EXPECT_IS(puppet_result(puppet_rejoin(ps, ps->main, 2, 1, 0))->status, -77);
}

/* A worker completes all that it has, in the order in which it was given that. */
static void end_all(struct puppets *ps, struct dxk_next_op *n, struct dxk_member *worker)
{
	*n = (struct dxk_next_op) { .m = worker };
	dxk_waiter_init(&n->w);
	INIT_LIST_HEAD(&n->done);
	INIT_LIST_HEAD(&n->ended);
	INIT_LIST_HEAD(&n->work);
	list_splice_init(&worker->busy, &n->done);
	puppet_do(ps, &n->op, dxk_next_run);
	EXPECT(list_empty(&n->done));
	EXPECT_IS(worker->held, 0);
}

/* DX-83, DX-90: of completions in a row who waits for their owner is told with the last */
static void next_tells_with_the_last(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r[2], *other, *none;
	struct dxk_next_op n;
	u32 i;

	puppet_post_nr(ps, ps->main, 3, 8, PXR_REJOIN);
	puppet_post_nr(ps, ps->main, 1, 9, PXR_REJOIN);
	puppet_post_nr(ps, ps->main, 1, 8, PXR_REJOIN);
	puppet_post_nr(ps, ps->main, 2, 7, 0);
	for (i = 0; i < 7; i++)
		puppet_work(ps, worker);
	for (i = 0; i < 2; i++)
		r[i] = puppet_rejoin(ps, puppet_client(ps), 8, DXK_BATCH_MAX, 1);
	other = puppet_rejoin(ps, puppet_client(ps), 9, DXK_BATCH_MAX, 1);
	none = puppet_rejoin(ps, puppet_client(ps), 7, DXK_BATCH_MAX, 1);
	end_all(ps, &n, worker);
	EXPECT_IS(n.taken, 7);
	EXPECT_IS(worker->executed, 7);
	EXPECT_IS(ps->e->stats.completions, 7);
	EXPECT_IS(r[0]->nr, 3);
	EXPECT_IS(r[1]->nr, 1);
	EXPECT_IS(other->nr, 1);
	/* what nobody collects is gone, and that is told as well */
	EXPECT_IS(none->answer, RJR_NONE_EXIST);
	dxk_rqe_drop_all(NULL, &n.ended);
	EXPECT(list_empty(&n.ended));
	EXPECT_IS(ps->e->stats.vanished, 2);
}

/* What is unusual about one of them is seen to, and it is completed by itself. */
static void next_ends_what_is_unusual(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r[4];
	struct dxk_next_op n;
	struct dxk_rqe *rqe;
	u32 i;

	puppet_post_nr(ps, ps->main, 4, 8, PXR_REJOIN);
	for (i = 0; i < 4; i++) {
		rqe = puppet_work(ps, worker);
		/* its latency is measured */
		rqe->posted = i == 1;
		rqe->started = 1;
		r[i] = puppet_rejoin(ps, puppet_client(ps), 8, DXK_BATCH_MAX, 1);
	}
	end_all(ps, &n, worker);
	EXPECT_IS(n.taken, 4);
	for (i = 0; i < 4; i++)
		EXPECT_IS(r[i]->nr, 1);
}

/* Of lane 3 a worker takes its share ahead, of others one. */
static void next_takes_ahead(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_next_op *n;
	struct dxk_rqe *rqe;
	u32 i;

	for (i = 0; i < 11; i++)
		puppet_post(ps, 0, -(s32)i, 0);
	/* half of eleven, but no more than it asks for */
	n = puppet_turn(ps, m[0], DXK_BATCH_MAX);
	EXPECT_IS(n->nr, 6);
	i = 1;
	list_for_each_entry(rqe, &n->work, link)
		EXPECT_IS(rqe->param, i++);
	EXPECT_IS(m[0]->held, 6);
	EXPECT_IS(puppet_turn(ps, m[1], 2)->nr, 2);
	EXPECT_IS(puppet_turn(ps, m[1], 1)->nr, 1);
	/* two are left, and ten of lane 2, of which four go first and one by one */
	for (i = 0; i < 10; i++)
		puppet_post(ps, 0, i < 4 ? 1 : -100, PXR_LANE2);
	for (i = 0; i < 4; i++)
		EXPECT_IS(puppet_turn(ps, m[0], DXK_BATCH_MAX)->nr, 1);
	/* then lane 3, and the next best is one of lane 2 */
	EXPECT_IS(puppet_turn(ps, m[0], DXK_BATCH_MAX)->nr, 2);
	for (i = 0; i < 6; i++)
		EXPECT_IS(puppet_turn(ps, m[i % 2], DXK_BATCH_MAX)->nr, 1);
	EXPECT(ASLEEP(puppet_turn(ps, m[1], DXK_BATCH_MAX)));
}

/* Who completes for a worker that sleeps takes what the lock hold can still afford. */
static void next_takes_for_another(struct kunit *test)
{
	const u32 left = DXK_HOLD_BUDGET - (DXK_BATCH_MAX / 2 + 1);
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_next_op *n;
	u32 i;

	ps->e->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	ps->e->owners.entries = 1;
	for (i = 0; i < 2; i++) {
		puppet_post(ps, 8, 0, PXR_REJOIN);
		puppet_work(ps, worker);
		n = puppet_end(ps, worker, 0, i ? DXK_BATCH_MAX : 0);
	}
	EXPECT(ASLEEP(n));
	for (i = 0; i < 2; i++)
		puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, 0, 0);
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(n->taken, 1);
	/* two of them a unit, and one in any case */
	EXPECT_IS(n->nr, 1 + 2 * left);
}

/* A worker takes what is of its kind only. */
static void next_kinds(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *kernel = puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, false);
	struct dxk_member *user = puppet_worker(ps);
	struct dxk_next_op *n[2];

	EXPECT_IS(ps->e->crew.workers[DXK_KERNEL], 1);
	EXPECT_IS(ps->e->crew.workers[DXK_USER], 1);
	EXPECT_IS(ps->e->crew.present, 2);
	n[0] = puppet_turn(ps, kernel, 1);
	n[1] = puppet_turn(ps, user, 1);
	puppet_post(ps, 0, 0, PXR_KERNEL);
	EXPECT(!ASLEEP(n[0]));
	EXPECT(ASLEEP(n[1]));
	/* a backlog of user requests is one to poll for, of kernel requests not */
	puppet_post(ps, 0, 0, PXR_KERNEL);
	EXPECT(ASLEEP(n[1]));
	EXPECT(!ps->work);
	puppet_post(ps, 0, 0, 0);
	EXPECT(!ASLEEP(n[1]));
	EXPECT(!ps->work);
	puppet_post(ps, 0, 0, 0);
	EXPECT(ps->work);
}

/* DX-28: who has files of closed handles closes them before it is available */
static void next_closed_handles(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_next_op *n;

	worker->has_closed_handles = true;
	puppet_post(ps, 0, 0, 0);
	n = puppet_turn(ps, worker, 1);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(n->err, 0);
	EXPECT_IS(n->nr, 0);
	worker->has_closed_handles = false;
	puppet_work(ps, worker);
}

/* A dispatched request that could not be fetched stands where it stood. */
static void next_put_back(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_next_op *n;
	struct dxk_rqe *rqe;

	ps->e->policy.prio_policy = PRIO_POLICY_AGERQS;
	puppet_post(ps, 0, 0, 0);
	puppet_post(ps, 0, 0, 0);
	n = puppet_turn(ps, worker, 1);
	EXPECT_IS(worker->held, 1);
	/* it goes on ageing as if it had never left */
	dxk_tick(ps->e);
	puppet_post(ps, 0, 0, 0);
	puppet_return(ps, n);
	EXPECT_IS(worker->held, 0);
	EXPECT_IS(ps->e->stats.put_back, 1);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 3);
	EXPECT_IS(dxk_ready_first(&ps->e->ready)->worker, 0);
	rqe = puppet_work(ps, worker);
	EXPECT_IS(rqe->param, 1);
	EXPECT_IS(rqe->attempts, 1);
	EXPECT_IS(rqe->prio, 1);
	EXPECT_IS(rqe->inspect, 1);
}

/* The crew shrinks: an idle worker goes, one that executes goes after it. */
static void next_leave(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(10);
	struct dxk_member *m[3], *vacant;
	struct dxk_next_op *n[3], *last;
	struct puppets *ps;
	u32 i;

	policy.sched_mode = TPOOL_MODE_CMLS;
	policy.ready_entries = 10;
	ps = puppets_start(test, &policy);
	for (i = 0; i < 3; i++) {
		m[i] = puppet_worker(ps);
		n[i] = puppet_turn(ps, m[i], 1);
	}
	EXPECT_IS(ps->e->crew.lanes[DXK_USER].quota[3], 3);
	puppet_post(ps, 0, 0, 0);
	puppet_fetch(n[2]);
	dxk_member_do(m[0], dxk_leave_run);
	EXPECT(!ASLEEP(n[0]));
	EXPECT_IS(n[0]->err, -ESHUTDOWN);
	EXPECT(ASLEEP(n[1]));
	dxk_member_do(m[2], dxk_leave_run);
	EXPECT_IS(ps->e->crew.workers[DXK_USER], 1);
	EXPECT_IS(ps->e->crew.lanes[DXK_USER].quota[3], 1);
	EXPECT_IS(ps->e->crew.present, 3);
	last = puppet_end(ps, m[2], 0, 1);
	EXPECT_IS(last->err, -ESHUTDOWN);
	EXPECT_IS(last->taken, 1);
	/* it does not count twice */
	puppet_dies(ps, m[2]);
	puppet_dies(ps, m[0]);
	EXPECT_IS(ps->e->crew.workers[DXK_USER], 1);
	EXPECT_IS(ps->e->crew.present, 1);
	EXPECT(!m[2]->leaving);
	/* who does not belong to it gets nothing */
	vacant = puppet_worker(ps);
	puppet_dies(ps, vacant);
	puppet_post(ps, 0, 0, 0);
	puppet_post(ps, 0, 0, 0);
	EXPECT(!ASLEEP(n[1]));
	EXPECT_IS(puppet_turn(ps, vacant, 1)->err, -ESHUTDOWN);
}

/* What it had executed when it was given the first of those that it holds. */
static void next_began(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	u32 i;

	puppet_post_nr(ps, ps->main, 5, 8, 0);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	for (i = 0; i < 3; i++) {
		puppet_work(ps, worker);
		EXPECT_IS(worker->began, 1);
	}
	puppet_end(ps, worker, 0, 0);
	puppet_work(ps, worker);
	EXPECT_IS(worker->executed, 2);
	EXPECT_IS(worker->began, 1);
}

/* Of two requests the second could not be fetched: what is told of it is not for the first. */
static void next_partly_returned(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_should_op *asks;
	u32 nr[DXK_PLACES];
	struct dxk_next_op *n;
	struct dxk_rqe *rqe;

	puppet_post(ps, 8, 1, 0);
	puppet_post(ps, 9, 0, 0);
	n = puppet_turn(ps, m, 2);
	EXPECT_IS(n->nr, 2);
	rqe = list_first_entry(&n->work, struct dxk_rqe, link);
	WRITE_ONCE(rqe->state, DXK_BUSY);
	list_move_tail(&rqe->link, &m->busy);
	puppet_return(ps, n);
	EXPECT_IS(m->held, 1);
	EXPECT_IS(m->work.owner, 8);
	asks = puppet_asks(ps, m, true);
	EXPECT(ASLEEP(asks));
	dxk_purge_owner(ps->main, 9, nr);
	EXPECT(ASLEEP(asks));
	dxk_purge_owner(ps->main, 8, nr);
	EXPECT(!ASLEEP(asks));
	EXPECT(dxk_member_is_to_end(m));
	puppet_end(ps, m, 0, 0);
	EXPECT(!ps->e->nr[DXK_AT_READY]);
}

static struct kunit_case next_cases[] = {
	KUNIT_CASE(next_partly_returned),
	KUNIT_CASE(next_idle),
	KUNIT_CASE(next_notes_the_executor),
	KUNIT_CASE(next_priority_order),
	KUNIT_CASE(next_end),
	KUNIT_CASE(next_tells_with_the_last),
	KUNIT_CASE(next_ends_what_is_unusual),
	KUNIT_CASE(next_takes_ahead),
	KUNIT_CASE(next_takes_for_another),
	KUNIT_CASE(next_kinds),
	KUNIT_CASE(next_closed_handles),
	KUNIT_CASE(next_put_back),
	KUNIT_CASE(next_leave),
	KUNIT_CASE(next_began),
	{ }
};

static struct kunit_suite next_suite = {
	.name = "dxk_next",
	.exit = puppets_end,
	.test_cases = next_cases,
};

kunit_test_suite(next_suite);
