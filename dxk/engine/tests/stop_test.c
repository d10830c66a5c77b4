// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Stop: who is woken, what is executed or cancelled, and who is asked to end.
 */
#include "engine/tests/puppet.h"

#define MANY	70

/* DX-44, DX-107, DX-108: Stop ends every sleep, and what was Ready is executed */
static void stop_drains(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 3);
	struct dxk_member *m[3] = {
		puppet_worker(ps), puppet_worker(ps), puppet_worker(ps),
	};
	struct dxk_rejoin_op *r, *inside;
	struct puppet_stop *stop[2];
	struct dxk_next_op *idle;
	struct dxk_post_op *p;
	struct dxk_crew_op *c;

	ps->e->policy.ready_entries = 1;
	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_work(ps, m[0]);
	idle = puppet_turn(ps, m[1], 1);
	puppet_post(ps, 9, 0, PXR_REJOIN | PXR_KERNEL);
	p = puppet_post(ps, 9, 0, PXR_WAITIF_BUSY);
	r = puppet_rejoin(ps, puppet_client(ps), 8, 1, 1);
	c = puppet_manager(ps, true);
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT_IS(ps->e->state, DXK_CTX_STOPPING);
	EXPECT(!ps->e->cancelling);
	EXPECT(!ASLEEP(p));
	EXPECT_IS(p->err, -ESHUTDOWN);
	EXPECT_IS(p->reason, 0);
	EXPECT_IS(p->taken, 0);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->err, -ESHUTDOWN);
	puppet_refused(ps, 0, -ESHUTDOWN, 0);
	/* something is Ready and executes: neither workers nor Stop may go */
	EXPECT(ASLEEP(idle));
	EXPECT(ASLEEP(c));
	stop[0] = puppet_stopper(ps);
	EXPECT(ASLEEP(stop[0]));
	EXPECT_IS(puppet_stop_wait(ps), -ETIMEDOUT);
	stop[1] = puppet_stopper(ps);
	/* who executes may rejoin until it ends */
	inside = puppet_rejoin(ps, m[0], 9, 1, 1);
	EXPECT(ASLEEP(inside));
	m[2]->kind = DXK_KERNEL;
	puppet_work(ps, m[2]);
	puppet_end(ps, m[2], 0, 0);
	m[2]->kind = DXK_USER;
	EXPECT(!ASLEEP(inside));
	EXPECT_IS(inside->answer, RJR_RETURNED);
	EXPECT(ASLEEP(idle));
	EXPECT_IS(puppet_end(ps, m[0], 5, 1)->err, -ESHUTDOWN);
	EXPECT(!ASLEEP(idle));
	EXPECT_IS(idle->err, -ESHUTDOWN);
	EXPECT(!ASLEEP(stop[0]) && !ASLEEP(stop[1]));
	EXPECT_IS(puppet_turn(ps, m[1], 1)->err, -ESHUTDOWN);
	EXPECT_IS(puppet_stop_wait(ps), 0);
	/* nobody is needed any more */
	c = puppet_manager(ps, false);
	EXPECT_IS(c->workers + c->spares, 0);
	EXPECT_IS(c->err, 0);
	/* DX-110: results stay */
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
}

/* DX-108: what is Ready is to be executed, though nobody executes at that moment. */
static void stop_before_the_first(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct puppet_stop *stop;
	struct dxk_crew_op *c;

	puppet_post(ps, 8, 0, 0);
	dxk_stop_begin(ps->e, 0, false, false);
	stop = puppet_stopper(ps);
	EXPECT(ASLEEP(stop));
	puppet_work(ps, worker);
	EXPECT(ASLEEP(stop));
	EXPECT_IS(puppet_end(ps, worker, 0, 1)->err, -ESHUTDOWN);
	EXPECT(!ASLEEP(stop));
	EXPECT(!dxk_is_to_end(ps->e, 0));
	/* nobody is to start workers for nothing, be there places for them */
	ps->e->policy.max_threads = 5;
	c = puppet_manager(ps, true);
	EXPECT(ASLEEP(c));
	EXPECT_IS(c->workers, 0);
	/* at the end all are to end, cancelled or not */
	dxk_stop_begin(ps->e, 0, false, true);
	EXPECT(!ps->e->cancelling);
	EXPECT(dxk_is_to_end(ps->e, 0));
	EXPECT_IS(c->err, -ESHUTDOWN);
}

/* DX-108: Stop(cancel): what is Ready ends with -ECANCELED, what executes as usual */
static void stop_cancels(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_rejoin_op *r;
	struct dxk_next_op *n;
	struct dxk_rqe *rqe;
	u32 i;

	puppet_post(ps, 8, 9, PXR_REJOIN);
	puppet_post(ps, 8, 8, PXR_REJOIN);
	puppet_work(ps, m[0]);
	n = puppet_turn(ps, m[1], 1);
	/* what was posted with it is no result */
	list_first_entry(&n->work, struct dxk_rqe, link)->data_len = 5;
	for (i = 0; i < 3; i++)
		puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, 8, i ? PXR_REJOIN : 0);
	dxk_stop_begin(ps->e, 0, true, false);
	EXPECT(ps->e->cancelling);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 0);
	EXPECT_IS(ps->e->nr[DXK_AT_WORK], 2);
	EXPECT_IS(ps->e->stats.cancelled, 3 * DXK_BATCH_MAX);
	EXPECT_IS(ps->e->stats.vanished, DXK_BATCH_MAX);
	/* that which could not be fetched is Ready again, and so cancelled */
	puppet_return(ps, n);
	EXPECT_IS(ps->e->stats.cancelled, 3 * DXK_BATCH_MAX + 1);
	EXPECT_IS(puppet_stop_wait(ps), -ETIMEDOUT);
	puppet_end(ps, m[0], 77, 0);
	EXPECT_IS(puppet_stop_wait(ps), 0);
	for (i = 0; i < 2 * DXK_BATCH_MAX + 2; i++) {
		r = puppet_rejoin(ps, ps->main, 8, 1, 0);
		ASSERT_IS(r->nr, 1);
		rqe = puppet_result(r);
		EXPECT_IS(rqe->status, i <= 2 * DXK_BATCH_MAX ? -ECANCELED : 77);
		EXPECT_IS(rqe->worker, i <= 2 * DXK_BATCH_MAX ? 0 : m[0]->id);
		EXPECT_IS(rqe->data_len, 0);
	}
	EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_EXIST);
}

/* The last that executes dies, or gives back what it has: Stop is over, all may go. */
static void stop_after_the_last(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 3);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_next_op *n[2];
	struct puppet_stop *stop;

	puppet_post(ps, 8, 0, 0);
	puppet_post(ps, 8, 0, 0);
	puppet_work(ps, m[0]);
	n[0] = puppet_turn(ps, m[0], 1);
	n[1] = puppet_turn(ps, m[1], 1);
	dxk_stop_begin(ps->e, 0, true, false);
	stop = puppet_stopper(ps);
	puppet_return(ps, n[0]);
	EXPECT(ASLEEP(stop));
	EXPECT(ASLEEP(n[1]));
	puppet_dies(ps, m[0]);
	EXPECT(!ASLEEP(stop));
	EXPECT_IS(n[1]->err, -ESHUTDOWN);

	/* the same in another run, in the other order */
	ps->e->state = DXK_CTX_RUNNING;
	ps->e->cancelling = false;
	puppet_post(ps, 8, 0, 0);
	n[0] = puppet_turn(ps, m[1], 1);
	dxk_stop_begin(ps->e, 0, true, false);
	stop = puppet_stopper(ps);
	n[1] = puppet_turn(ps, puppet_worker(ps), 1);
	EXPECT(ASLEEP(stop) && ASLEEP(n[1]));
	puppet_return(ps, n[0]);
	EXPECT(!ASLEEP(stop));
	EXPECT_IS(n[1]->err, -ESHUTDOWN);
}

/* While Ready requests are cancelled nobody is given one, not even by a sweep. */
static void stop_gives_nothing(struct kunit *test)
{
	static const u32 on_block[] = { DXK_ON_BLOCK_STRICT, DXK_ON_BLOCK_HELP };
	struct dxk_stop_op s = { .cancel = true };
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_rejoin_op *r;
	u32 i;

	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_work(ps, m[1]);
	puppet_post_nr(ps, ps->main, 5, 8, PXR_REJOIN);
	/* as far as the first lock hold: they are still Ready */
	puppet_do(ps, &s.op, dxk_stop_begin_run);
	for (i = 0; i < 2; i++) {
		ps->e->policy.on_block = on_block[i];
		EXPECT_IS(ps->e->nr[DXK_AT_READY], 5);
		EXPECT(ASLEEP(puppet_turn(ps, m[0], 1)));
		dxk_sweep(ps->e, false);
		r = puppet_rejoin(ps, m[1], 8, 1, 1);
		EXPECT(ASLEEP(r));
		puppet_time_up(ps, &r->w);
	}
	EXPECT_IS(ps->e->stats.dispatches, 1);
	EXPECT_IS(ps->e->stats.missed_wakeups, 0);
	dxk_sweep_end(ps->e);
}

/* Stop with more sleepers of each sort than a lock hold may wake. */
static void stop_many(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, MANY);
	struct dxk_member *m = puppet_worker(ps), *client[MANY / 2];
	struct dxk_post_op **p = puppet_array(ps, MANY);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	struct dxk_next_op **n = puppet_array(ps, MANY);
	struct dxk_should_op **s = puppet_array(ps, MANY);
	u32 i, close;

	for (i = 0; i < ARRAY_SIZE(client); i++)
		client[i] = puppet_client(ps);
	ps->e->policy.ready_entries = 1;
	puppet_post(ps, 8, 0, PXR_LANE0);
	puppet_work(ps, m);
	for (i = 0; i < MANY; i++)
		n[i] = puppet_turn(ps, puppet_worker(ps), 1);
	puppet_post(ps, 8, 0, PXR_KERNEL);
	for (i = 0; i < MANY; i++) {
		struct dxk_member *c = client[i % ARRAY_SIZE(client)];

		p[i] = puppet_post_nr(ps, c, 1, 8, PXR_WAITIF_BUSY);
		r[i] = puppet_rejoin(ps, c, 8, 1, 1);
		s[i] = puppet_asks(ps, m, true);
		EXPECT(ASLEEP(p[i]) && ASLEEP(r[i]) && ASLEEP(s[i]) && ASLEEP(n[i]));
	}
	for (close = 0; close < 2; close++) {
		dxk_stop_begin(ps->e, 0, false, close);
		for (i = 0; i < MANY; i++) {
			EXPECT(!ASLEEP(p[i]) && !ASLEEP(r[i]) && !ASLEEP(s[i]));
			EXPECT_IS(p[i]->err, -ESHUTDOWN);
			EXPECT_IS(r[i]->err, -ESHUTDOWN);
			EXPECT(s[i]->answer);
			EXPECT_IS(ASLEEP(n[i]), !close);
			EXPECT_IS(n[i]->err, close ? -ESHUTDOWN : 0);
		}
		EXPECT(!ps->e->owing);
	}
}

/* Stop is slow: its run is over, and there is another one, before it has told all. */
static void stop_outlives_its_run(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_should_op **s = puppet_array(ps, MANY);
	struct dxk_stop_op stop = { };
	u32 i, told = 0;

	for (i = 0; i < MANY; i++)
		s[i] = puppet_asks(ps, ps->main, true);
	puppet_do(ps, &stop.op, dxk_stop_begin_run);
	EXPECT(stop.more);
	for (i = 0; i < MANY; i++)
		told += !ASLEEP(s[i]);
	EXPECT_IS(told, DXK_HOLD_BUDGET);
	ps->e->run.gen++;
	ps->e->state = DXK_CTX_RUNNING;
	puppet_do(ps, &stop.op, dxk_stop_begin_run);
	EXPECT(!stop.more);
	EXPECT(list_empty(&stop.services));
	for (i = 0; i < MANY; i++)
		EXPECT(!ASLEEP(s[i]) && s[i]->answer);
	/* whoever asks in the other run is none of its business */
	s[0] = puppet_asks(ps, ps->main, true);
	puppet_do(ps, &stop.op, dxk_stop_begin_run);
	stop.begun = false;
	puppet_do(ps, &stop.op, dxk_stop_begin_run);
	EXPECT(ASLEEP(s[0]));
	dxk_stop_begin(ps->e, 1, false, true);
}

/* What Stop leaves over thread 700 does; who is let in by nobody any more is woken. */
static void stop_owes(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, MANY);
	struct dxk_stop_op s = { .close = true };
	struct dxk_crew_op **c = puppet_array(ps, MANY);
	struct dxk_post_op **p = puppet_array(ps, MANY);
	struct dxk_next_op **n = puppet_array(ps, MANY);
	struct puppet_stop **stop = puppet_array(ps, MANY);
	u32 i, asleep = 0, holds;

	ps->e->policy.rejoin_full = DXK_REJOIN_RESERVE;
	ps->e->owners.entries = 0;
	ps->e->policy.max_threads = 2;
	ps->e->swept = true;
	for (i = 0; i < MANY; i++)
		n[i] = puppet_turn(ps, puppet_worker(ps), 1);
	for (i = 0; i < MANY; i++) {
		p[i] = puppet_post_nr(ps, puppet_client(ps), 1, 8,
				      PXR_REJOIN | PXR_WAITIF_BUSY);
		c[i] = puppet_manager(ps, true);
		stop[i] = puppet_stopper(ps);
		EXPECT(ASLEEP(p[i]) && ASLEEP(c[i]) && ASLEEP(stop[i]) && ASLEEP(n[i]));
	}
	puppet_do(ps, &s.op, dxk_stop_begin_run);
	EXPECT_IS(ps->woken, DXK_HOLD_BUDGET);
	EXPECT_IS(ps->kick, BIT(DXK_DISPATCHER));
	EXPECT(ps->e->owing);
	for (holds = 1; ps->e->owing && holds < 99; holds++)
		dxk_sweep(ps->e, true);
	EXPECT_IS(holds, DIV_ROUND_UP(4 * MANY, DXK_HOLD_BUDGET));
	for (i = 0; i < MANY; i++) {
		asleep += ASLEEP(p[i]) + ASLEEP(c[i]) + ASLEEP(n[i]) + ASLEEP(stop[i]);
		EXPECT_IS(c[i]->err, -ESHUTDOWN);
	}
	EXPECT_IS(asleep, 0);
	dxk_sweep_end(ps->e);
	EXPECT_IS(puppet_manager(ps, true)->err, -ESHUTDOWN);
}

/* DX-107: whom Stop wakes it wakes before it cancels, be there a thread 700 or not */
static void stop_wakes_first(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	u32 i;

	ps->e->swept = true;
	puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, 8, PXR_REJOIN);
	for (i = 0; i < MANY; i++)
		r[i] = puppet_rejoin(ps, puppet_client(ps), 8, 1, 1);
	dxk_stop_begin(ps->e, 0, true, false);
	EXPECT_IS(ps->e->stats.cancelled, DXK_BATCH_MAX);
	for (i = 0; i < MANY; i++) {
		EXPECT(!ASLEEP(r[i]));
		EXPECT_IS(r[i]->err, -ESHUTDOWN);
		EXPECT_IS(r[i]->nr, 0);
	}
	dxk_sweep_end(ps->e);
}

/* DX-109: who is asked to end, and when */
static void stop_asks(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 3);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_should_op *service, *other, *client, *s;
	u32 i;

	puppet_post(ps, 8, 1, PXR_LANE0);
	puppet_post(ps, 8, 0, PXR_LANE1);
	puppet_work(ps, m[0]);
	puppet_work(ps, m[1]);
	s = puppet_asks(ps, m[0], false);
	EXPECT(!ASLEEP(s) && !s->answer);
	for (i = 0; i < 2; i++)
		EXPECT_IS(dxk_should_wait(m[0], i), 0);
	service = puppet_asks(ps, m[0], true);
	other = puppet_asks(ps, m[1], true);
	client = puppet_asks(ps, ps->main, true);
	EXPECT(ASLEEP(service) && ASLEEP(other) && ASLEEP(client));
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT(!ASLEEP(service) && service->answer);
	/* who executes nothing is taken for a service */
	EXPECT(!ASLEEP(client) && client->answer);
	EXPECT(ASLEEP(other));
	EXPECT_IS(dxk_should_wait(m[0], 0), 1);
	EXPECT_IS(dxk_should_wait(m[1], 0), 0);
	dxk_stop_begin(ps->e, 0, true, false);
	EXPECT(!ASLEEP(other) && other->answer);
	EXPECT_IS(dxk_should_wait(m[1], 0), 1);
	dxk_stop_begin(ps->e, 0, false, true);
	EXPECT_IS(ps->e->state, DXK_CTX_STOPPED);
	EXPECT(dxk_is_to_end(ps->e, 0));
}

/* DX-96, DX-107: a worker that waits for a Rejoin Pool entry does so no longer */
static void stop_ends_full_pool(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_next_op **n = puppet_array(ps, MANY);
	struct dxk_rejoin_op *r;
	struct dxk_rqe *rqe;
	u32 i;

	ps->e->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	ps->e->owners.entries = 0;
	for (i = 0; i < MANY; i++) {
		struct dxk_member *m = puppet_worker(ps);
		u32 k;

		/* each has five results: more than a lock hold may complete */
		for (k = 0; k < 5; k++) {
			puppet_post(ps, 8, 0, PXR_REJOIN);
			rqe = puppet_work(ps, m);
			rqe->status = i;
		}
		n[i] = puppet_end(ps, m, i, 1);
		EXPECT(ASLEEP(n[i]));
		list_splice_tail_init(&m->busy, &n[i]->done);
	}
	/* DX-92: still executing */
	EXPECT_IS(ps->e->nr[DXK_AT_WORK], 5 * MANY);
	EXPECT_IS(ps->e->stats.complete_blocks, MANY);
	dxk_stop_begin(ps->e, 0, false, false);
	for (i = 0; i < MANY; i++) {
		EXPECT(!ASLEEP(n[i]));
		EXPECT_IS(n[i]->taken, 5);
		EXPECT_IS(n[i]->err, -ESHUTDOWN);
		r = puppet_rejoin(ps, ps->main, 8, 5, 0);
		EXPECT_IS(r->nr, 5);
		list_for_each_entry(rqe, &r->rqes, link)
			EXPECT_IS(rqe->status, i);
	}
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 0);
	/* who sleeps on after Stop is over has nothing to wait for */
	EXPECT_IS(puppet_stop_wait(ps), 0);
}

static struct kunit_case stop_cases[] = {
	KUNIT_CASE(stop_drains),
	KUNIT_CASE(stop_before_the_first),
	KUNIT_CASE(stop_cancels),
	KUNIT_CASE(stop_after_the_last),
	KUNIT_CASE(stop_gives_nothing),
	KUNIT_CASE(stop_many),
	KUNIT_CASE(stop_outlives_its_run),
	KUNIT_CASE(stop_owes),
	KUNIT_CASE(stop_wakes_first),
	KUNIT_CASE(stop_asks),
	KUNIT_CASE(stop_ends_full_pool),
	{ }
};

static struct kunit_suite stop_suite = {
	.name = "dxk_stop",
	.exit = puppets_end,
	.test_cases = stop_cases,
};

kunit_test_suite(stop_suite);
