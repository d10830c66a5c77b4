// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * What follows at once upon the last request that it waits for (CO-16, CO-20, CO-21).
 */
#include "engine/cancel.h"
#include "engine/home.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/turn.h"
#include "engine/tests/puppet.h"

#define OWNER		1
#define CHILD		2	/* owner of those that are waited for; and those behind it */
#define HOMES		2
#define ENTRIES		12

static struct puppets *start(struct kunit *test, u32 workers, bool homes)
{
	struct dxk_policy p = puppet_policy(8);
	struct puppets *ps;

	p.max_waiting = 64;
	p.ready_entries = ENTRIES;
	p.homes = homes ? HOMES : 0;
	p.on_block = DXK_ON_BLOCK_SPARE;
	p.max_spares = 1;
	ps = puppets_start(test, &p);
	if (homes)
		ASSERT_IS(dxk_homes_start(ps->e), 0);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	while (workers--)
		puppet_worker(ps);
	return ps;
}

static struct dxk_member *worker(struct puppets *ps, u32 i)
{
	return ps->member[1 + i];
}

/* One of @owner that follows upon the last one of @child. */
static struct dxk_rqe *post(struct puppets *ps, u64 owner, u64 child, u64 key, u32 home)
{
	const struct dxk_post_more more = {
		.wait = { .wait = DXK_WAIT_JOIN | DXK_WAIT_EAGER, .owner = child },
		.key = key, .home = home,
	};
	struct dxk_post_op *p = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe;

	puppet_add(ps, p, owner, 0, PXR_WAIT | (key ? PXR_KEY : 0) | (home ? PXR_HOME : 0));
	rqe = list_last_entry(&p->rqes, struct dxk_rqe, link);
	ASSERT_IS(dxk_more_make(ps->main, rqe, &more), 0);
	puppet_posts(ps, p);
	ASSERT_IS(rqe->state, DXK_WAITING);
	return rqe;
}

/* It has been given to the worker, and nothing else. */
static void follows(struct puppets *ps, struct dxk_next_op *n, const struct dxk_rqe *rqe)
{
	EXPECT(!ASLEEP(n));
	EXPECT_IS(n->nr, 1);
	EXPECT(puppet_fetch(n) == rqe);
	EXPECT_IS(rqe->more->wake, DXK_WAKE_JOIN);
	EXPECT(list_empty(&ps->e->waits.eager));
}

static void all_end(struct puppets *ps, struct dxk_member *m)
{
	while (!list_empty(&m->busy) || ps->e->nr[DXK_AT_READY]) {
		if (list_empty(&m->busy))
			puppet_work(ps, m);
		puppet_end(ps, m, 0, 0);
	}
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 0);
	dxk_names_unstart(ps->e);
}

/* CO-16: before all that is Ready, be that more urgent, and before who is idle */
static void join_follows(struct kunit *test)
{
	struct puppets *ps = start(test, 2, false);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_next_op *idle;
	struct dxk_rqe *rqe;

	puppet_post(ps, CHILD, 0, 0);
	puppet_post(ps, CHILD, 0, 0);
	puppet_work(ps, m);
	puppet_work(ps, worker(ps, 1));
	rqe = post(ps, OWNER, CHILD, 0, 0);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT_IS(rqe->state, DXK_WAITING);
	idle = puppet_turn(ps, worker(ps, 1), 1);
	EXPECT(ASLEEP(idle));
	follows(ps, puppet_end(ps, m, 0, 8), rqe);
	EXPECT(ASLEEP(idle));
	/* it ends what another one waits for */
	rqe = post(ps, CHILD + 1, OWNER, 0, 0);
	puppet_post(ps, CHILD, 9, 0);
	puppet_fetch(idle);
	puppet_post(ps, CHILD, 9, 0);
	follows(ps, puppet_end(ps, m, 0, 8), rqe);
	all_end(ps, m);
}

/* CO-16: the usual turn as well; with a key it is for the other one */
static void join_usual(struct kunit *test)
{
	struct puppets *ps = start(test, 1, false);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe, *done;

	puppet_post(ps, CHILD, 0, 0);
	done = puppet_work(ps, m);
	puppet_post(ps, OWNER, 9, 0);
	rqe = post(ps, OWNER, CHILD, 0, 0);
	EXPECT(dxk_turn(m, &done) == rqe);
	EXPECT(!done);
	EXPECT_IS(rqe->more->wake, DXK_WAKE_JOIN);
	WRITE_ONCE(rqe->state, DXK_BUSY);
	puppet_end(ps, m, 0, 0);

	puppet_work(ps, m);
	puppet_end(ps, m, 0, 0);
	puppet_post(ps, CHILD, 0, 0);
	puppet_work(ps, m);
	done = post(ps, OWNER, CHILD, 5, 0);
	follows(ps, puppet_end(ps, m, 0, 1), done);
	puppet_post(ps, CHILD, 9, 0);
	rqe = post(ps, CHILD, OWNER, 0, 0);
	EXPECT(!dxk_turn(m, &done));
	EXPECT(done);
	follows(ps, puppet_end(ps, m, 0, 1), rqe);
	all_end(ps, m);
}

/* Where the worker asks for nothing, or has no place for it, it is as without the bit. */
static void join_cannot(struct kunit *test)
{
	struct puppets *ps = start(test, 0, true);
	struct dxk_member *m[2] = {
		puppet_resident(ps, DXK_USER, 1), puppet_resident(ps, DXK_USER, 2),
	};
	struct dxk_next_op *n;
	struct dxk_rqe *rqe;

	puppet_post(ps, CHILD, 0, 0);
	puppet_work(ps, m[0]);
	rqe = post(ps, OWNER, CHILD, 0, 0);
	puppet_post(ps, CHILD + 7, 9, 0);
	puppet_end(ps, m[0], 0, 0);
	EXPECT_IS(rqe->state, DXK_READY);
	EXPECT(list_empty(&ps->e->waits.eager));
	EXPECT_IS(puppet_work(ps, m[0])->owner->cookie, CHILD + 7);
	EXPECT(puppet_work(ps, m[1]) == rqe);
	puppet_end(ps, m[0], 0, 0);
	/* of the home of another one, and of its own */
	puppet_post(ps, CHILD, 0, 0);
	puppet_work(ps, m[0]);
	rqe = post(ps, OWNER, CHILD, 0, 2);
	n = puppet_end(ps, m[0], 0, 1);
	EXPECT(ASLEEP(n));
	EXPECT_IS(rqe->state, DXK_READY);
	puppet_post(ps, CHILD, 0, 0);
	puppet_fetch(n);
	rqe = post(ps, OWNER + 9, CHILD, 0, 1);
	follows(ps, puppet_end(ps, m[0], 0, 1), rqe);
	puppet_end(ps, m[0], 0, 0);
	/* that needs room */
	puppet_post(ps, CHILD, 9, 0);
	puppet_work(ps, m[0]);
	while (ps->e->nr[DXK_AT_READY] < ENTRIES)
		puppet_post(ps, OWNER, 5, 0);
	post(ps, OWNER, CHILD, 0, 2);
	puppet_fetch(puppet_end(ps, m[0], 0, 1));
	EXPECT_IS(ps->e->high[DXK_AT_READY], ENTRIES);
	puppet_end(ps, m[0], 0, 0);
	all_end(ps, m[1]);
}

/* Nobody ends the last one with a call for more: it is cancelled, or its worker dies. */
static void join_other_ends(struct kunit *test)
{
	struct puppets *ps = start(test, 2, false);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe;

	puppet_post(ps, CHILD, 0, 0);
	puppet_work(ps, worker(ps, 1));
	rqe = post(ps, OWNER, CHILD, 0, 0);
	puppet_dies(ps, worker(ps, 1));
	EXPECT_IS(rqe->state, DXK_READY);
	EXPECT(puppet_work(ps, m) == rqe);
	EXPECT_IS(rqe->more->wake, DXK_WAKE_JOIN);
	all_end(ps, m);
}

/* Its key is another one's: it is Held, and the worker takes what is Ready. */
static void join_held(struct kunit *test)
{
	struct puppets *ps = start(test, 2, false);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe, *first;
	struct dxk_next_op *n;

	puppet_post(ps, CHILD, 0, 0);
	puppet_work(ps, m);
	first = post(ps, OWNER, CHILD, 5, 0);
	follows(ps, puppet_end(ps, m, 0, 1), first);
	puppet_post(ps, CHILD, 0, 0);
	puppet_work(ps, worker(ps, 1));
	rqe = post(ps, OWNER, CHILD, 5, 0);
	n = puppet_end(ps, worker(ps, 1), 0, 1);
	EXPECT(ASLEEP(n));
	EXPECT(dxk_is_held(rqe->more));
	puppet_end(ps, m, 0, 0);
	EXPECT(puppet_fetch(n) == rqe);
	all_end(ps, worker(ps, 1));
}

/* Of several that wait for one owner it is the last that began to; the others are lazy. */
static void join_several(struct kunit *test)
{
	struct puppets *ps = start(test, 1, false);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe[2];

	puppet_post(ps, CHILD, 0, 0);
	puppet_work(ps, m);
	rqe[0] = post(ps, OWNER, CHILD, 0, 0);
	rqe[1] = post(ps, OWNER, CHILD, 0, 0);
	puppet_post(ps, CHILD + 7, 9, 0);
	follows(ps, puppet_end(ps, m, 0, 8), rqe[1]);
	EXPECT_IS(rqe[0]->state, DXK_READY);
	all_end(ps, m);
}

/* CO-20, CO-21, R-12: a chain of any length, one after the other, be the pool full */
static void join_chain(struct kunit *test)
{
	struct puppets *ps = start(test, 1, false);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_rqe *rqe;
	u32 i;

	puppet_post(ps, CHILD, 0, 0);
	puppet_work(ps, m);
	for (i = 0; i < ENTRIES; i++)
		puppet_post(ps, OWNER, 9, 0);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], ENTRIES);
	EXPECT(ASLEEP(puppet_post(ps, OWNER, 9, PXR_WAITIF_BUSY)));
	for (i = 0; i < 300; i++) {
		rqe = post(ps, CHILD + 1 + i, CHILD + i, 0, 0);
		follows(ps, puppet_end(ps, m, 0, 1), rqe);
		EXPECT_IS(ps->e->nr[DXK_AT_READY], ENTRIES);
	}
	all_end(ps, m);
}

/* A spare that stands in for a sleeper does so for what follows, too. */
static void join_spare(struct kunit *test)
{
	struct puppets *ps = start(test, 1, false);
	struct dxk_member *m = worker(ps, 0);
	struct dxk_member *spare = puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, true);
	struct dxk_rejoin_op *r = puppet_parent(ps, m, CHILD);
	struct dxk_next_op *n;
	struct dxk_rqe *rqe;

	EXPECT(ASLEEP(r));
	puppet_post(ps, CHILD + 1, 5, 0);
	n = puppet_turn(ps, spare, 1);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(puppet_fetch(n)->owner->cookie, CHILD + 1);
	rqe = post(ps, OWNER, CHILD + 1, 0, 0);
	follows(ps, puppet_end(ps, spare, 0, 1), rqe);
	EXPECT(rqe->extra);
	EXPECT_IS(ps->e->crew.extra[DXK_USER], 1);
	/* what the sleeper waits for; it is back then, and the spare is not needed */
	puppet_fetch(puppet_end(ps, spare, 0, 1));
	rqe = post(ps, OWNER, CHILD, 0, 0);
	puppet_post(ps, CHILD + 1, 9, 0);
	n = puppet_end(ps, spare, 0, 1);
	EXPECT(!ASLEEP(r));
	EXPECT(ASLEEP(n));
	EXPECT_IS(rqe->state, DXK_READY);
	all_end(ps, m);
}

static struct kunit_case join_cases[] = {
	KUNIT_CASE(join_follows),
	KUNIT_CASE(join_usual),
	KUNIT_CASE(join_cannot),
	KUNIT_CASE(join_other_ends),
	KUNIT_CASE(join_held),
	KUNIT_CASE(join_several),
	KUNIT_CASE(join_chain),
	KUNIT_CASE(join_spare),
	{ }
};

static struct kunit_suite join_suite = {
	.name = "dxk_join",
	.exit = puppets_end,
	.test_cases = join_cases,
};

kunit_test_suite(join_suite);
