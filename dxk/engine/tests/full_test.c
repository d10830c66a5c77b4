// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * A full Rejoin Pool (DX-96), and spaces of owners that nobody can ask for any more.
 */
#include "engine/space.h"
#include "engine/tests/puppet.h"

static struct puppets *two_entries(struct kunit *test, enum dxk_rejoin_full full)
{
	struct dxk_policy p = puppet_policy(4);

	p.rejoin_entries = 2;
	p.rejoin_full = full;
	return puppets_start(test, &p);
}

static void post_nr(struct puppets *ps, u32 nr)
{
	EXPECT_IS(puppet_post_nr(ps, ps->main, nr, 8, PXR_REJOIN)->taken, nr);
}

/* DX-96: it grows, the worker goes on, the overflow is counted */
static void full_grows(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_GROW);
	struct dxk_member *worker = puppet_worker(ps);
	u32 i;

	post_nr(ps, 5);
	for (i = 0; i < 5; i++) {
		EXPECT_IS(ps->e->stats.rejoin_overflow, i < 3 ? 0 : i - 2);
		puppet_work(ps, worker);
		EXPECT(!ASLEEP(puppet_end(ps, worker, 0, 0)));
	}
	EXPECT_IS(ps->e->stats.rejoin_overflow, 3);
	EXPECT_IS(ps->e->stats.complete_blocks, 0);
	EXPECT_IS(puppet_rejoin(ps, ps->main, 8, 64, 64)->nr, 5);
}

/* DX-96: the worker waits with its result, which still counts as executing */
static void full_blocks_worker(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_next_op *n;
	u32 i;

	post_nr(ps, 4);
	puppet_post(ps, 9, 0, 0);
	puppet_post(ps, 9, 0, 0);
	for (i = 0; i < 2; i++) {
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	puppet_work(ps, worker);
	n = puppet_end(ps, worker, 7, 1);
	EXPECT(ASLEEP(n));
	EXPECT_IS(n->taken, 0);
	EXPECT_IS(dxk_member_state(worker), DXK_M_COMPLETING);
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 1);
	EXPECT_IS(ps->e->stats.complete_blocks, 1);
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 2);
	EXPECT_IS(ps->e->nr[DXK_AT_WORK], 1);
	EXPECT_IS(worker->held, 1);
	/* a poll lets it in, and it takes the fourth one */
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(n->taken, 1);
	EXPECT_IS(n->nr, 1);
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 0);
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 2);
	puppet_fetch(n);
	n = puppet_end(ps, worker, 0, 1);
	EXPECT(ASLEEP(n));
	/* as its deadline passes it has completed nothing */
	EXPECT_IS(puppet_time_up(ps, &n->w), -ETIMEDOUT);
	EXPECT_IS(n->taken, 0);
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 0);
	list_splice_init(&n->done, &worker->busy);
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
	EXPECT(!ASLEEP(puppet_end(ps, worker, 0, 0)));
	/* who is not to be collected needs no entry, and neither does one of a helper */
	puppet_work(ps, worker);
	n = puppet_end(ps, worker, 0, 1);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(n->nr, 1);
	puppet_fetch(n);
	EXPECT_IS(puppet_rejoin(ps, ps->main, 8, 64, 0)->nr, 2);
	EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_EXIST);
	EXPECT_IS(ps->e->stats.rejoin_overflow, 0);
}

/* DX-96: who waits for more than the pool can hold gets what there is */
static void full_wait_for_more(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r;

	post_nr(ps, 5);
	r = puppet_rejoin(ps, ps->main, 8, 5, 5);
	EXPECT(ASLEEP(r));
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->nr, 1);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	r = puppet_rejoin(ps, ps->main, 8, 5, 5);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->nr, 1);
}

/* Many workers that wait for entries: a few in each lock hold, in order of arrival. */
static void full_many_blocked(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_next_op *n[20];
	u32 i, got, swept;

	for (swept = 0; swept < 2; swept++) {
		ps->e->swept = false;
		for (i = 0; i < 22; i++) {
			struct dxk_member *m = puppet_worker(ps);

			post_nr(ps, 1);
			puppet_work(ps, m);
			if (i >= 2)
				n[i - 2] = puppet_end(ps, m, 0, 0);
			else
				puppet_end(ps, m, 0, 0);
		}
		/* two go on with each poll for two; those who wait return theirs, too */
		ps->e->swept = swept;
		for (got = 0; got < 22; ) {
			struct dxk_rejoin_op *r = puppet_rejoin(ps, ps->main, 8, 2, 0);

			EXPECT_IS(r->nr, 2);
			got += r->nr;
			for (i = 0; i < 20; i++)
				EXPECT_IS(ASLEEP(n[i]), i >= got);
		}
		EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_EXIST);
	}
	dxk_sweep_end(ps->e);
	EXPECT(!ps->e->owners.freed);
}

/* DX-96: the entry is taken at the post, which waits or is refused without one */
static void full_reserves(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_RESERVE);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_post_op *p;
	u32 i;

	post_nr(ps, 2);
	p = puppet_post(ps, 8, 0, PXR_REJOIN);
	EXPECT_IS(p->err, -EAGAIN);
	EXPECT_IS(p->reason, PXR_REJOIN_FULL);
	for (i = 0; i < 2; i++) {
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	/* also when both are finished: it is collecting that frees an entry */
	p = puppet_post(ps, 8, 0, PXR_REJOIN | PXR_WAITIF_BUSY);
	EXPECT(ASLEEP(p));
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
	EXPECT(!ASLEEP(p));
	EXPECT_IS(p->taken, 1);
	/* who is not to be collected needs none */
	EXPECT_IS(puppet_post(ps, 8, 0, 0)->taken, 1);
	EXPECT_IS(ps->e->owners.reserved, 2);
	for (i = 0; i < 2; i++) {
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	EXPECT_IS(puppet_rejoin(ps, ps->main, 8, 64, 64)->nr, 2);
	EXPECT_IS(ps->e->owners.reserved, 0);
}

/* DX-113: a private space ends with its last user: results go, the rest vanishes */
static void full_space_closes(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_RESERVE);
	struct dxk_space *space = dxk_space_new(ps->e), *other = dxk_space_new(ps->e);
	struct dxk_member *worker = puppet_worker(ps), *m = puppet_client(ps);
	struct dxk_close_op c = { .space = space };
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(space));
	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	EXPECT(space->id != other->id);
	EXPECT(space->id > max(ps->e->home.id, ps->e->shared.id));
	ps->e->owners.entries = 200;
	m->space = space;
	dxk_space_join(ps->e, space);
	EXPECT_IS(space->users, 2);
	/* owner 8 of the space has many results, 9 one that executes, 10 one Ready */
	for (i = 0; i < 130; i++) {
		puppet_post_nr(ps, m, 1, i < 100 ? 8 : 100 + i, PXR_REJOIN);
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	/* an equal cookie of others is another owner */
	EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_EXIST);
	EXPECT_IS(puppet_rejoin(ps, m, 8, 1, 0)->answer, RJR_RETURNED);
	puppet_post_nr(ps, m, 2, 9, PXR_REJOIN);
	puppet_work(ps, worker);
	puppet_post_nr(ps, m, 1, 10, PXR_REJOIN);
	EXPECT_IS(ps->e->owners.reserved, 132);

	dxk_space_leave(ps->e, space);
	EXPECT(!space->closed);
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 129);
	/* a lock hold drops no more than it can afford */
	INIT_LIST_HEAD(&c.ended);
	puppet_do(ps, &c.op, dxk_space_close_run);
	EXPECT(c.more);
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 129 - (DXK_HOLD_BUDGET - 1));
	dxk_rqe_drop_all(NULL, &c.ended);
	dxk_space_leave(ps->e, space);
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 0);
	EXPECT_IS(ps->e->stats.vanished, 129);
	EXPECT_IS(ps->e->owners.nr, 2);
	EXPECT_IS(ps->e->owners.reserved, 3);
	m->space = &ps->e->home;
	for (i = 0; i < 3; i++) {
		puppet_end(ps, worker, 0, 0);
		if (i < 2)
			puppet_work(ps, worker);
	}
	EXPECT_IS(ps->e->owners.nr, 0);
	EXPECT_IS(ps->e->stats.vanished, 132);
	/* an empty one; and those that are not private stay */
	dxk_space_leave(ps->e, other);
	dxk_space_join(ps->e, &ps->e->home);
	dxk_space_leave(ps->e, &ps->e->home);
	EXPECT(!ps->e->home.closed);
	EXPECT_IS(ps->e->home.users, 0);
}

/* There is room for all who wait: each lock hold serves as many as it can afford. */
static void full_serves_many(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_member *first = puppet_worker(ps);
	struct dxk_next_op *n[40];
	u32 i, k;

	puppet_post(ps, 9, 0, PXR_REJOIN);
	puppet_work(ps, first);
	puppet_end(ps, first, 0, 0);
	ps->e->owners.entries = 1;
	for (i = 0; i < ARRAY_SIZE(n); i++) {
		struct dxk_member *m = puppet_worker(ps);

		for (k = 0; k < 5; k++) {
			puppet_post(ps, 8, 0, PXR_REJOIN);
			puppet_work(ps, m);
		}
		n[i] = puppet_end(ps, m, 0, 0);
		EXPECT(ASLEEP(n[i]));
		list_splice_tail_init(&m->busy, &n[i]->done);
	}
	ps->e->owners.entries = 5 * ARRAY_SIZE(n);
	EXPECT_IS(puppet_poll(ps, 9), RJR_RETURNED);
	/*
	 * Two units for five moves and one for the look: a turn begins while a whole batch
	 * can be afforded. The collector is woken, too.
	 */
	EXPECT_IS(ps->woken, (DXK_HOLD_BUDGET - (DXK_BATCH_MAX / 2 + 1)) / 3 + 1 + 1);
	EXPECT_IS(ps->kick, BIT(DXK_MYSELF));
	for (i = 0; i < ARRAY_SIZE(n); i++)
		EXPECT_IS(n[i]->taken, 5);
	EXPECT(!ps->e->owing);
}

/* A worker that has completed a part of its batch sleeps for the rest. */
static void full_batch(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_next_op *n;

	post_nr(ps, 4);
	puppet_fetch(puppet_turn(ps, worker, 4));
	puppet_end(ps, worker, 0, 0);
	puppet_end(ps, worker, 0, 0);
	n = puppet_end(ps, worker, 0, 0);
	list_splice_tail_init(&worker->busy, &n->done);
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 1);
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
	EXPECT_IS(n->taken, 1);
	EXPECT(ASLEEP(n));
	/* in their order */
	EXPECT_IS(list_first_entry(&n->done, struct dxk_rqe, link)->param, 1);
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 1);
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 0);
}

static struct kunit_case full_cases[] = {
	KUNIT_CASE(full_grows),
	KUNIT_CASE(full_blocks_worker),
	KUNIT_CASE(full_wait_for_more),
	KUNIT_CASE(full_many_blocked),
	KUNIT_CASE(full_batch),
	KUNIT_CASE(full_reserves),
	KUNIT_CASE(full_space_closes),
	KUNIT_CASE(full_serves_many),
	{ }
};

static struct kunit_suite full_suite = {
	.name = "dxk_full",
	.exit = puppets_end,
	.test_cases = full_cases,
};

kunit_test_suite(full_suite);
