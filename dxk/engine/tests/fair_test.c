// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Rounds: who shares a context has of its workers what its weight says, whatever the others
 * post; and what priorities, ageing and boosts are worth beside that.
 */
#include "engine/fair.h"
#include "engine/own.h"
#include "engine/tests/puppet.h"

#define WAIT	PXR_WAITIF_BUSY

static struct puppets *start_with(struct kunit *test, struct dxk_policy *p, u32 weight)
{
	struct puppets *ps;

	p->space_weight = weight;
	p->ready_entries = 1 << 17;
	p->max_requests = 1 << 17;
	ps = puppets_start(test, p);
	ASSERT_IS(dxk_fair_start(ps->e), 0);
	return ps;
}

static struct puppets *start(struct kunit *test, u32 weight)
{
	struct dxk_policy p = puppet_policy(4);

	return start_with(test, &p, weight);
}

/* A client of a tenant. */
static struct dxk_member *tenant(struct puppets *ps, u32 weight, u32 most_ready)
{
	struct dxk_member *m = puppet_client(ps);

	m->share = dxk_share_open_space(ps->e, weight, most_ready);
	EXPECT(m->share);
	return m;
}

static void posts(struct puppets *ps, struct dxk_member *m, u32 nr, s32 prio, u32 attrs)
{
	while (nr) {
		struct dxk_post_op *p = puppet_poster(ps, m);
		u32 batch = min_t(u32, nr, DXK_BATCH_MAX), i;

		for (i = 0; i < batch; i++)
			puppet_add(ps, p, m->id, prio, attrs);
		puppet_posts(ps, p);
		puppet_taken(ps, p, batch);
		nr -= batch;
	}
}

/* Whose is executed next? It ends. */
static u32 next(struct puppets *ps, struct dxk_member *worker)
{
	struct dxk_rqe *rqe = puppet_work(ps, worker);
	u32 share = rqe->share;

	puppet_end(ps, worker, 0, 0);
	return share;
}

/* How many of the next @nr are of a tenant? */
static u32 served(struct puppets *ps, struct dxk_member *worker, const struct dxk_member *m,
		  u32 nr)
{
	u32 its = 0;

	while (nr--)
		its += next(ps, worker) == m->share;
	return its;
}

static void all_executed(struct puppets *ps, struct dxk_member *worker)
{
	while (ps->e->nr[DXK_AT_READY])
		next(ps, worker);
}

#define ROUNDS	50

/* Each keeps so much Ready, and has what its weight says: exactly, in whole rounds. */
static void fair_weights(struct kunit *test)
{
	static const u32 weight[] = { 1, 2, 4 }, backlog[] = { 200, 8, 40 };
	struct puppets *ps = start(test, 1);
	struct dxk_member *worker = puppet_worker(ps), *m[3];
	u32 had[DXK_SHARES] = { }, i;

	for (i = 0; i < 3; i++) {
		m[i] = tenant(ps, weight[i], 0);
		posts(ps, m[i], backlog[i], 0, 0);
	}
	for (i = 0; i < 7 * ROUNDS; i++) {
		u32 share = next(ps, worker), k;

		had[share]++;
		for (k = 1; k < 3; k++)
			if (m[k]->share == share)
				posts(ps, m[k], 1, 0, 0);
	}
	for (i = 0; i < 3; i++)
		EXPECT_IS(had[m[i]->share], ROUNDS * weight[i]);
	all_executed(ps, worker);
}

/* What one client has posted does not stand before what another one posts. */
static void fair_flood(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_member *a = tenant(ps, 3, 0), *b = tenant(ps, 1, 0);
	u32 i;

	posts(ps, a, 5000, 0, 0);
	EXPECT_IS(served(ps, worker, a, 10), 10);
	posts(ps, b, 5, 0, 0);
	/* one in four, from the round on that is under way */
	EXPECT_IS(served(ps, worker, b, 20), 5);
	/* and the owner is one of them, with the policy's weight */
	posts(ps, ps->main, 5, 0, 0);
	for (i = 0; i < 20; i++)
		if (next(ps, worker) == 0)
			break;
	EXPECT(i < 4);
	/* the rest goes without this */
	while (ps->e->nr[DXK_AT_READY]) {
		struct dxk_next_op *n = puppet_turn(ps, worker, DXK_BATCH_MAX);

		while (!list_empty(&n->work))
			puppet_fetch(n);
		puppet_end(ps, worker, 0, 0);
	}
}

/* A tenant alone has all, and is told its priorities as ever; a pause brings it nothing. */
static void fair_alone(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_member *a = tenant(ps, 1, 0), *b = tenant(ps, 1, 0);
	u32 i;

	posts(ps, a, 100, -7, 0);
	for (i = 0; i < 100; i++) {
		struct dxk_rqe *rqe = puppet_work(ps, worker);

		EXPECT_IS(rqe->share, a->share);
		EXPECT_IS(rqe->prio, -7);
		puppet_end(ps, worker, 0, 0);
	}
	/* b was not there: it has half from now on */
	posts(ps, a, 100, -7, 0);
	posts(ps, b, 100, -7, 0);
	EXPECT_IS(served(ps, worker, b, 40), 20);
	all_executed(ps, worker);
	/* what a has had alone it does not repay */
	posts(ps, b, 50, 0, 0);
	all_executed(ps, worker);
	posts(ps, a, 20, 0, 0);
	posts(ps, b, 20, 0, 0);
	EXPECT_IS(served(ps, worker, b, 21), 10);
	all_executed(ps, worker);
}

/* Within a tenant, and between them, a priority more is a round. */
static void fair_priorities(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_member *a = tenant(ps, 10, 0), *b = tenant(ps, 1, 0);
	struct dxk_rqe *rqe;

	/* rounds 1 to 3; the last is of round 4: 3 more of priority make it one of round 1 */
	posts(ps, a, 30, 0, 0);
	posts(ps, a, 1, 4, 0);
	rqe = puppet_work(ps, worker);
	EXPECT_IS(rqe->prio, 4);
	puppet_end(ps, worker, 0, 0);
	EXPECT_IS(served(ps, worker, a, 20), 20);
	/* b comes with 6 rounds at once, and its high priority is worth 3 of them, once */
	posts(ps, b, 6, 3, 0);
	EXPECT_IS(served(ps, worker, b, 3), 3);
	EXPECT_IS(served(ps, worker, b, 11), 1);
	all_executed(ps, worker);
}

static void ticks(struct puppets *ps, u32 nr)
{
	while (nr--)
		dxk_ready_tick(&ps->e->ready, true, true, 3);
}

/* DX-59, DX-60, DX-64: who comes n rounds or intervals later passes with more than n of priority */
static void fair_ageing(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_member *a = tenant(ps, 1, 0), *b = tenant(ps, 1, 0);
	struct dxk_rqe *rqe;

	/* of round 5, when 5 intervals have gone by, stands as one of round 1 that comes now */
	posts(ps, a, 5, 0, 0);
	ticks(ps, 5);
	posts(ps, b, 2, 0, 0);
	EXPECT_IS(served(ps, worker, a, 4), 4);
	rqe = puppet_work(ps, worker);
	EXPECT_IS(rqe->share, a->share);
	EXPECT_IS(rqe->prio, 5);
	EXPECT_IS(rqe->inspect, 5);
	puppet_end(ps, worker, 0, 0);
	all_executed(ps, worker);

	/* b is at round 1 again, a at 2; what is boosted gains 4 an interval and is of round 9 */
	posts(ps, a, 3, 0, 0);
	posts(ps, b, 8, 0, 0);
	posts(ps, b, 1, 0, PXR_BOOST);
	ticks(ps, 2);
	EXPECT_IS(next(ps, worker), b->share);
	ticks(ps, 1);
	rqe = puppet_work(ps, worker);
	EXPECT_IS(rqe->attrs, PXR_BOOST);
	EXPECT_IS(rqe->prio, 12);
	puppet_end(ps, worker, 0, 0);
	all_executed(ps, worker);
}

/* DX-64, R: nobody starves without ageing either: rounds go by, and each takes the same. */
static void fair_no_starvation(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_member *a = tenant(ps, 4, 0), *b = tenant(ps, 1, 0);
	u32 before = 0;

	posts(ps, b, 1, -5, 0);
	posts(ps, a, 4, 20, 0);
	/* a never has nothing, and never less than 20; it has 4 a round, and b's is 26 behind */
	while (next(ps, worker) == a->share) {
		posts(ps, a, 1, 20, 0);
		before++;
		if (before > 4 * 26)
			break;
	}
	EXPECT(before >= 4 * 24);
	EXPECT(before <= 4 * 26);
	all_executed(ps, worker);
}

/* What a lane or a kind has not served says nothing of the others. */
static void fair_lines(struct kunit *test)
{
	struct dxk_policy p = puppet_policy(10);
	struct puppets *ps;
	struct dxk_member *worker[3], *a, *b;
	struct dxk_rqe *rqe;
	u32 i;

	p.sched_mode = TPOOL_MODE_CMLS;
	p.lane_pct[1] = 20;
	ps = start_with(test, &p, 1);
	for (i = 0; i < 3; i++)
		worker[i] = puppet_worker(ps);
	a = tenant(ps, 1, 0);
	b = tenant(ps, 1, 0);
	posts(ps, a, 30, 0, PXR_LANE1);
	/* one of the three may execute lane 1, and does; the others see 100 rounds of lane 3 */
	rqe = puppet_work(ps, worker[0]);
	EXPECT_IS(rqe->lane, 1);
	posts(ps, b, 100, 0, 0);
	EXPECT_IS(served(ps, worker[1], b, 100), 100);
	/* b's first of lane 1 is in the round that lane 1 is at */
	posts(ps, b, 1, 0, PXR_LANE1);
	puppet_end(ps, worker[0], 0, 0);
	EXPECT_IS(next(ps, worker[0]), b->share);
	EXPECT_IS(ps->e->shares.of[b->share].ready, 0);
	all_executed(ps, worker[0]);
}

/* What a helper executes before others that are due takes nobody's rounds. */
static void fair_helper(struct kunit *test)
{
	struct dxk_policy p = puppet_policy(1);
	struct dxk_member *worker, *a, *b;
	struct puppets *ps;

	p.on_block = DXK_ON_BLOCK_HELP;
	p.help_scope = DXK_HELP_OWN;
	p.help_depth = 2;
	ps = start_with(test, &p, 1);
	ASSERT_IS(dxk_owns_start(ps->e), 0);
	worker = puppet_worker(ps);
	a = tenant(ps, 1, 0);
	b = tenant(ps, 1, 0);
	posts(ps, a, 50, 0, 0);
	EXPECT_IS(puppet_work(ps, worker)->share, a->share);
	/* its child is of the 51st round, and executed in the first one */
	puppet_taken(ps, puppet_post_nr(ps, a, 1, 8, PXR_REJOIN), 1);
	EXPECT(puppet_rejoin(ps, worker, 8, 1, 1)->helper.called);
	EXPECT_IS(puppet_help(ps, worker)->cookie, 8);
	puppet_end(ps, worker, 0, 0);
	EXPECT_IS(puppet_rejoin(ps, worker, 8, 1, 1)->nr, 1);
	puppet_end(ps, worker, 0, 0);
	posts(ps, b, 5, 0, 0);
	EXPECT_IS(served(ps, worker, b, 10), 5);
	all_executed(ps, worker);
}

/* Ready Pool entries of a tenant: its own number, and nobody is held up by its sleepers. */
static void fair_quota(struct kunit *test)
{
	struct puppets *ps = start(test, 0);
	struct dxk_member *worker = puppet_worker(ps), *a = tenant(ps, 0, 4);
	struct dxk_post_op *p, *q;

	EXPECT(!ps->e->ready.fair);
	posts(ps, a, 4, 0, 0);
	p = puppet_post_nr(ps, a, 1, 1, 0);
	EXPECT_IS(p->err, -EAGAIN);
	EXPECT_IS(p->reason, PXR_POOL_FULL);
	p = puppet_post_nr(ps, a, 2, 1, WAIT);
	EXPECT(ASLEEP(p));
	q = puppet_post_nr(ps, ps->main, 8, 1, WAIT);
	puppet_taken(ps, q, 8);
	next(ps, worker);
	EXPECT(ASLEEP(p));
	EXPECT_IS(p->taken, 1);
	next(ps, worker);
	puppet_taken(ps, p, 2);
	all_executed(ps, worker);

	/* also where users have no shares; and what users may have is not for it */
	ps->e->policy.user_share = 100;
	posts(ps, a, 4, 0, 0);
	p = puppet_post_nr(ps, a, 1, 1, WAIT);
	EXPECT(ASLEEP(p));
	puppet_taken(ps, puppet_post_nr(ps, ps->main, 8, 1, WAIT), 8);
	next(ps, worker);
	puppet_taken(ps, p, 1);
	all_executed(ps, worker);
	ps->e->policy.user_share = 1;
	posts(ps, tenant(ps, 0, 0), 100, 0, 0);
	all_executed(ps, worker);
}

/* A tenant's share is its own until it has gone, and no user's. */
static void fair_tenants(struct kunit *test)
{
	struct puppets *ps = start(test, 5);
	struct dxk_engine *e = ps->e;
	u32 share[DXK_SHARES], i;
	bool changed;

	for (i = 1; i < DXK_SHARES - 1; i++) {
		share[i] = dxk_share_open_space(e, i, 0);
		EXPECT_IS(e->ready.fair->weight[share[i]], i);
	}
	EXPECT_IS(dxk_share_open_space(e, 1, 0), 0);
	EXPECT_IS(dxk_share_open(e, 7, &changed), DXK_SHARES - 1);
	EXPECT_IS(dxk_share_open(e, 8, &changed), DXK_SHARES - 1);
	e->ready.fair->of[share[9]][0].nr = 77;
	dxk_share_close(e, share[9]);
	EXPECT_IS(dxk_share_open(e, 9, &changed), share[9]);
	EXPECT(changed);
	EXPECT(!e->shares.of[share[9]].is_space);
	EXPECT_IS(e->ready.fair->weight[share[9]], 5);
	EXPECT_IS(e->ready.fair->of[share[9]][0].nr, 0);
}

static struct kunit_case fair_cases[] = {
	KUNIT_CASE(fair_weights),
	KUNIT_CASE(fair_flood),
	KUNIT_CASE(fair_alone),
	KUNIT_CASE(fair_priorities),
	KUNIT_CASE(fair_ageing),
	KUNIT_CASE(fair_no_starvation),
	KUNIT_CASE(fair_lines),
	KUNIT_CASE(fair_helper),
	KUNIT_CASE(fair_quota),
	KUNIT_CASE(fair_tenants),
	{ }
};

static struct kunit_suite fair_suite = {
	.name = "dxk_fair",
	.exit = puppets_end,
	.test_cases = fair_cases,
};

kunit_test_suite(fair_suite);
