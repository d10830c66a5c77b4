// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Stop(drain): what is under way goes on with its own work until it ends, and nothing
 * comes from outside.
 */
#include "engine/tests/puppet.h"

#define MANY	70

static struct puppets *start(struct kunit *test, u32 workers, u32 on_block)
{
	struct dxk_policy p = puppet_policy(workers);

	p.on_block = on_block;
	return puppets_start(test, &p);
}

static struct dxk_post_op *posts(struct puppets *ps, struct dxk_member *m, u64 owner)
{
	return puppet_post_nr(ps, m, 1, owner, PXR_REJOIN | PXR_WAITIF_BUSY);
}

/* DX-107, DX-108: a hierarchy of three levels ends as if nobody had stopped it */
static void drain_hierarchy(struct kunit *test)
{
	struct puppets *ps = start(test, 3, DXK_ON_BLOCK_STRICT);
	struct dxk_member *m[3] = {
		puppet_worker(ps), puppet_worker(ps), puppet_worker(ps),
	};
	struct dxk_rejoin_op *r[2];
	struct dxk_next_op *n[3];
	struct puppet_stop *stop;

	posts(ps, ps->main, 8);
	puppet_work(ps, m[0]);
	dxk_stop_begin(ps->e, 0, false, false);
	stop = puppet_stopper(ps);
	/* who is on the way to its first request is outside, and so is every client */
	EXPECT_IS(posts(ps, m[1], 9)->err, -ESHUTDOWN);
	EXPECT_IS(posts(ps, ps->main, 8)->err, -ESHUTDOWN);
	EXPECT_IS(posts(ps, ps->main, 8)->reason, 0);
	EXPECT_IS(ps->e->stats.post_refused, 3);
	/* nobody goes while there may come work */
	n[1] = puppet_turn(ps, m[1], 1);
	n[2] = puppet_turn(ps, m[2], 1);
	EXPECT(ASLEEP(n[1]) && ASLEEP(n[2]));
	EXPECT_IS(posts(ps, m[0], 10)->taken, 1);
	r[0] = puppet_rejoin(ps, m[0], 10, 1, 1);
	EXPECT(!ASLEEP(n[2]));
	puppet_fetch(n[2]);
	EXPECT_IS(posts(ps, m[2], 12)->taken, 1);
	r[1] = puppet_rejoin(ps, m[2], 12, 1, 1);
	/* a further Stop(drain) leaves them asleep as well */
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT(ASLEEP(r[0]) && ASLEEP(r[1]) && ASLEEP(stop));
	puppet_fetch(n[1]);
	n[1] = puppet_end(ps, m[1], 1, 1);
	EXPECT(ASLEEP(n[1]));
	EXPECT_IS(r[1]->answer, RJR_RETURNED);
	n[2] = puppet_end(ps, m[2], 2, 1);
	EXPECT(ASLEEP(n[2]));
	EXPECT_IS(r[0]->answer, RJR_RETURNED);
	EXPECT_IS(puppet_result(r[0])->status, 2);
	EXPECT(ASLEEP(stop));
	/* with the first level's end it is over, in one lock hold */
	EXPECT_IS(puppet_end(ps, m[0], 3, 1)->err, -ESHUTDOWN);
	EXPECT(!ASLEEP(stop) && !ASLEEP(n[1]) && !ASLEEP(n[2]));
	EXPECT_IS(posts(ps, m[0], 10)->err, -ESHUTDOWN);
	EXPECT_IS(ps->e->stats.post_refused, 4);
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
}

/* DX-107: of many who sleep only those outside are woken, until all is cancelled */
static void drain_wakes_outside(struct kunit *test)
{
	struct puppets *ps = start(test, MANY, DXK_ON_BLOCK_STRICT);
	struct dxk_member *in, *out[MANY / 2];
	struct dxk_post_op **p = puppet_array(ps, 2 * MANY);
	struct dxk_rejoin_op **r = puppet_array(ps, 2 * MANY);
	u32 i, kept = 0;

	for (i = 0; i < ARRAY_SIZE(out); i++)
		out[i] = puppet_client(ps);
	ps->e->policy.ready_entries = 1;
	for (i = 0; i < MANY; i++) {
		puppet_post(ps, 8, 0, PXR_REJOIN);
		in = puppet_worker(ps);
		puppet_work(ps, in);
		if (i == MANY - 1)
			puppet_post(ps, 8, 0, PXR_KERNEL);
	}
	/* one inside, one outside, in turns */
	for (i = 0; i < 2 * MANY; i++) {
		struct dxk_member *m = out[i / 2 % ARRAY_SIZE(out)];

		if (i % 2)
			m = ps->member[1 + ARRAY_SIZE(out) + i / 2];
		p[i] = posts(ps, m, 9);
		/* not for its own request only */
		r[i] = puppet_rejoin(ps, m, 8, 1, 1);
		EXPECT(ASLEEP(p[i]) && ASLEEP(r[i]));
	}
	dxk_stop_begin(ps->e, 0, false, false);
	for (i = 0; i < 2 * MANY; i++) {
		EXPECT_IS(ASLEEP(p[i]), i % 2);
		EXPECT_IS(ASLEEP(r[i]), i % 2);
		EXPECT_IS(p[i]->err, i % 2 ? 0 : -ESHUTDOWN);
		EXPECT_IS(r[i]->err, i % 2 ? 0 : -ESHUTDOWN);
		kept += ASLEEP(p[i]);
	}
	EXPECT_IS(kept, MANY);
	EXPECT_IS(ps->e->stats.post_refused, MANY);
	EXPECT(!ps->e->owing);
	/* who comes from outside to wait for what is under way may */
	r[0] = puppet_rejoin(ps, out[0], 8, 1, 1);
	EXPECT(ASLEEP(r[0]));
	dxk_stop_begin(ps->e, 0, true, false);
	for (i = 0; i < 2 * MANY; i++) {
		EXPECT(!ASLEEP(p[i]) && !ASLEEP(r[i]));
		EXPECT_IS(p[i]->err, -ESHUTDOWN);
		EXPECT_IS(r[i]->err, -ESHUTDOWN);
	}
	EXPECT_IS(ps->e->stats.post_refused, 2 * MANY);
	EXPECT_IS(posts(ps, in, 9)->err, -ESHUTDOWN);
}

/* DX-45: whom a drain leaves asleep keeps its place, and is not held up by others */
static void drain_serves_posters(struct kunit *test)
{
	struct puppets *ps = start(test, 3, DXK_ON_BLOCK_STRICT);
	struct dxk_member *m[3] = {
		puppet_worker(ps), puppet_worker(ps), puppet_worker(ps),
	};
	struct dxk_stop_op s = { };
	struct dxk_post_op *p[5];
	u32 i;

	for (i = 0; i < 2; i++) {
		puppet_post(ps, 8, 0, 0);
		puppet_work(ps, m[i]);
	}
	ps->e->policy.ready_entries = 1;
	puppet_post(ps, 8, 0, 0);
	p[0] = posts(ps, ps->main, 9);
	p[1] = posts(ps, m[0], 9);
	p[2] = posts(ps, ps->main, 9);
	p[3] = posts(ps, m[1], 9);
	/* in the order of their arrival, whoever they are */
	puppet_work(ps, m[2]);
	EXPECT(!ASLEEP(p[0]) && ASLEEP(p[1]));
	puppet_work(ps, m[2]);
	EXPECT(!ASLEEP(p[1]) && ASLEEP(p[2]));
	/* in the first hold of Stop already, and behind nobody who is shut out */
	ps->e->policy.ready_entries = 2;
	puppet_do(ps, &s.op, dxk_stop_begin_run);
	EXPECT_IS(p[2]->err, -ESHUTDOWN);
	EXPECT_IS(p[2]->taken, 0);
	EXPECT(!ASLEEP(p[3]));
	EXPECT_IS(p[3]->taken, 1);
	p[4] = posts(ps, m[0], 9);
	EXPECT(ASLEEP(p[4]));
	/* a look of thread 700 finds nobody it missed, and refuses nobody */
	dxk_sweep(ps->e, false);
	EXPECT(ASLEEP(p[4]));
	puppet_work(ps, m[2]);
	EXPECT_IS(p[4]->taken, 1);
	dxk_sweep_end(ps->e);
}

/* DX-96, DX-107: nobody waits for a Rejoin Pool entry, for nobody may come who collects */
static void drain_reserves_nothing(struct kunit *test)
{
	struct puppets *ps = start(test, 2, DXK_ON_BLOCK_STRICT);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_post_op *p;

	ps->e->policy.rejoin_full = DXK_REJOIN_RESERVE;
	ps->e->owners.entries = 1;
	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_work(ps, m);
	p = posts(ps, m, 9);
	EXPECT(ASLEEP(p));
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT(!ASLEEP(p));
	EXPECT_IS(p->taken, 1);
	EXPECT_IS(posts(ps, m, 9)->taken, 1);
}

/* D-4, DX-107: a helper is inside, also when it is back at the request that waits */
static void drain_helps(struct kunit *test)
{
	struct puppets *ps = start(test, 1, DXK_ON_BLOCK_HELP);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_rejoin_op *r;

	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_work(ps, m);
	dxk_stop_begin(ps->e, 0, false, false);
	posts(ps, m, 9);
	r = puppet_rejoin(ps, m, 9, 1, 1);
	EXPECT(!ASLEEP(r) && r->helper.called);
	EXPECT(puppet_work(ps, m)->extra);
	EXPECT_IS(posts(ps, m, 10)->taken, 1);
	puppet_end(ps, m, 5, 0);
	EXPECT_IS(posts(ps, m, 11)->taken, 1);
	EXPECT_IS(puppet_rejoin(ps, m, 9, 1, 1)->answer, RJR_RETURNED);
}

/* D-4, DX-107: a spare comes, and is inside until its request ends */
static void drain_spares(struct kunit *test)
{
	struct puppets *ps = start(test, 1, DXK_ON_BLOCK_SPARE);
	struct dxk_member *m = puppet_worker(ps), *spare;
	struct dxk_crew_op *manager;
	struct dxk_rejoin_op *r;

	ps->e->policy.max_threads = 2;
	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_work(ps, m);
	manager = puppet_manager(ps, true);
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT(ASLEEP(manager));
	posts(ps, m, 9);
	r = puppet_rejoin(ps, m, 9, 1, 1);
	EXPECT(ASLEEP(r) && !ASLEEP(manager));
	EXPECT_IS(manager->spares, 1);
	spare = puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, true);
	EXPECT(puppet_work(ps, spare)->extra);
	EXPECT_IS(posts(ps, spare, 10)->taken, 1);
	puppet_end(ps, spare, 5, 0);
	EXPECT_IS(posts(ps, spare, 11)->err, -ESHUTDOWN);
	EXPECT_IS(r->answer, RJR_RETURNED);
}

/* DX-114: when nobody can run in a drain, that is a stall as any other */
static void drain_stalls(struct kunit *test)
{
	struct puppets *ps = start(test, 1, DXK_ON_BLOCK_STRICT);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_stall s = { };

	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_work(ps, m);
	dxk_stop_begin(ps->e, 0, false, false);
	posts(ps, m, 9);
	EXPECT(ASLEEP(puppet_rejoin(ps, m, 9, 1, 1)));
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	EXPECT(!dxk_stall_look(ps->e, &s));
	EXPECT(s.since);
	s.since -= DXK_STALL_MS * NSEC_PER_MSEC;
	EXPECT(dxk_stall_look(ps->e, &s));
	/* who cancels ends it */
	dxk_stop_begin(ps->e, 0, true, false);
	EXPECT(!dxk_stall_look(ps->e, &s));
	EXPECT_IS(s.since, 0);
}

/* DX-107: of more than a lock hold may send away none gets in, though there is room. */
static void drain_lets_nobody_in(struct kunit *test)
{
	struct puppets *ps = start(test, 2, DXK_ON_BLOCK_STRICT);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_post_op *p[MANY];
	u32 i, inside;

	ps->e->policy.ready_entries = 2;
	for (i = 0; i < 3; i++)
		posts(ps, ps->main, 8);
	puppet_time_up(ps, &posts(ps, ps->main, 8)->w);
	puppet_work(ps, m[0]);
	for (i = 0; i < MANY; i++)
		p[i] = posts(ps, ps->main, 8);
	ps->e->swept = true;
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT(ASLEEP(p[MANY - 1]));
	inside = ps->e->stats.posts;
	/* an entry becomes free: for who executes, not for those outside */
	puppet_work(ps, m[1]);
	EXPECT_IS(ps->e->stats.posts, inside);
	EXPECT_IS(posts(ps, m[0], 10)->taken, 1);
	while (ps->e->owing)
		dxk_sweep(ps->e, true);
	for (i = 0; i < MANY; i++) {
		EXPECT(!ASLEEP(p[i]));
		EXPECT_IS(p[i]->err, -ESHUTDOWN);
	}
	dxk_sweep_end(ps->e);
}

static struct kunit_case drain_cases[] = {
	KUNIT_CASE(drain_hierarchy),
	KUNIT_CASE(drain_lets_nobody_in),
	KUNIT_CASE(drain_wakes_outside),
	KUNIT_CASE(drain_serves_posters),
	KUNIT_CASE(drain_reserves_nothing),
	KUNIT_CASE(drain_helps),
	KUNIT_CASE(drain_spares),
	KUNIT_CASE(drain_stalls),
	{ }
};

static struct kunit_suite drain_suite = {
	.name = "dxk_drain",
	.exit = puppets_end,
	.test_cases = drain_cases,
};

kunit_test_suite(drain_suite);
