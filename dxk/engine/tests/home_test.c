// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Homes: whose workers execute what, and what happens when they go.
 */
#include "engine/home.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/onblock.h"
#include "engine/policy.h"
#include "engine/rejoin.h"
#include "engine/turn.h"
#include "engine/tests/puppet.h"

#define OWNER		1
#define OTHER		2
#define HOMES		4
/* More entries than a lock hold moves */
#define EACH		(DXK_HOLD_BUDGET + 10)

static struct puppets *start_with(struct kunit *test, const struct dxk_policy *p)
{
	struct puppets *ps = puppets_start(test, p);

	ASSERT_IS(dxk_homes_start(ps->e), 0);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	return ps;
}

static struct puppets *start(struct kunit *test, bool steal)
{
	struct dxk_policy p = puppet_policy(8);

	p.max_waiting = 64;
	p.homes = HOMES;
	p.steal = steal;
	p.on_block = DXK_ON_BLOCK_SPARE;
	p.max_spares = 1;
	return start_with(test, &p);
}

/* As many homes as there can be, with a worker each. */
static struct puppets *start_many(struct kunit *test, bool steal)
{
	struct dxk_policy p = puppet_policy(DXK_HOMES_MAX);

	p.max_waiting = 64;
	p.homes = DXK_HOMES_MAX;
	p.steal = steal;
	if (!steal) {
		p.sched_mode = TPOOL_MODE_CMLS;
		p.lane_pct[1] = 50;
	}
	return start_with(test, &p);
}

static void end(struct puppets *ps)
{
	dxk_names_unstart(ps->e);
}

static struct dxk_member *worker(struct puppets *ps, u8 home)
{
	return puppet_resident(ps, DXK_USER, home);
}

static struct dxk_rqe *post_of(struct puppets *ps, u64 owner, u32 home, s32 prio, u32 attrs,
			       int err)
{
	const struct dxk_post_more p = { .home = home };
	struct dxk_post_op *post = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe;

	puppet_add(ps, post, owner, prio, PXR_REJOIN | PXR_HOME | attrs);
	rqe = list_last_entry(&post->rqes, struct dxk_rqe, link);
	EXPECT_IS(dxk_more_make(ps->main, rqe, &p), err);
	if (!err)
		puppet_posts(ps, post);
	else
		post->w.done = true;
	return rqe;
}

static struct dxk_rqe *post_by(struct puppets *ps, u32 home, s32 prio, u32 attrs, int err)
{
	return post_of(ps, OWNER, home, prio, attrs, err);
}

static struct dxk_rqe *post(struct puppets *ps, u32 home, s32 prio)
{
	return post_by(ps, home, prio, 0, 0);
}

/* FO-1, FO-2: it is for the workers of its home, in each turn, and for nobody else */
static void home_is_kept(struct kunit *test)
{
	struct puppets *ps = start(test, false);
	struct dxk_member *m[3] = { worker(ps, 1), worker(ps, 2), worker(ps, 0) };
	struct dxk_rqe *a = post(ps, 2, 0), *b = post(ps, 2 + HOMES, 5), *c = post(ps, 1, 0);
	struct dxk_next_op *n;

	EXPECT_IS(b->more->home, 2);
	EXPECT(ASLEEP(puppet_turn(ps, m[2], 1)));
	EXPECT(puppet_work(ps, m[0]) == c);
	n = puppet_end(ps, m[0], 0, 1);
	EXPECT(ASLEEP(n));
	EXPECT(puppet_work(ps, m[1]) == b);
	puppet_end(ps, m[1], 0, 0);
	EXPECT(puppet_work(ps, m[1]) == a);
	EXPECT(ASLEEP(puppet_end(ps, m[1], 0, 1)));
	/* and goes to one that is idle at once */
	c = post(ps, 1, 0);
	EXPECT(!ASLEEP(n));
	EXPECT(puppet_fetch(n) == c);
	puppet_end(ps, m[0], 0, 0);
	end(ps);
}

/* Of several idle ones it goes to the last one to fall idle, as without homes. */
static void home_warmest(struct kunit *test)
{
	struct puppets *ps = start(test, false);
	struct dxk_member *m[2] = { worker(ps, 1), worker(ps, 1) };
	struct dxk_next_op *n[2] = { puppet_turn(ps, m[0], 1), puppet_turn(ps, m[1], 1) };
	struct dxk_rqe *rqe = post(ps, 1, 0);

	EXPECT(ASLEEP(n[0]) && !ASLEEP(n[1]));
	EXPECT(puppet_fetch(n[1]) == rqe);
	puppet_end(ps, m[1], 0, 0);
	end(ps);
}

/* A worker of a home takes what has none as well, the more urgent first. */
static void home_and_others(struct kunit *test)
{
	struct puppets *ps = start(test, false);
	struct dxk_member *m = worker(ps, 3);
	struct dxk_rqe *home = post(ps, 3, 5);
	struct dxk_next_op *n;
	u64 first, last;

	puppet_post(ps, OWNER, 7, PXR_REJOIN);
	first = ps->params;
	puppet_post(ps, OWNER, 5, PXR_REJOIN);
	last = ps->params;
	EXPECT_IS(puppet_work(ps, m)->param, first);
	puppet_end(ps, m, 0, 0);
	EXPECT(puppet_work(ps, m) == home);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(puppet_work(ps, m)->param, last);
	n = puppet_end(ps, m, 0, 1);
	EXPECT(ASLEEP(n));
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	EXPECT(!ASLEEP(n));
	puppet_fetch(n);
	puppet_end(ps, m, 0, 0);
	end(ps);
}

/* FO-9, S-12: who has nothing to do takes what is of others, if it may; its home stays */
static void home_steal(struct kunit *test)
{
	struct puppets *ps = start(test, true);
	struct dxk_member *m[2] = { worker(ps, 1), worker(ps, 2) };
	struct dxk_next_op *n = puppet_turn(ps, m[1], 1);
	struct dxk_rqe *a, *b;

	EXPECT(ASLEEP(n));
	a = post(ps, 1, 0);
	EXPECT(!ASLEEP(n));
	EXPECT(puppet_fetch(n) == a);
	EXPECT_IS(a->more->home, 1);
	b = post(ps, 1, 0);
	EXPECT(puppet_work(ps, m[0]) == b);
	post(ps, 1, 1);
	a = post(ps, 2, 0);
	puppet_end(ps, m[1], 0, 0);
	/* its own comes first, however urgent those are */
	EXPECT(puppet_work(ps, m[1]) == a);
	puppet_end(ps, m[1], 0, 0);
	puppet_work(ps, m[1]);
	puppet_end(ps, m[1], 0, 0);
	puppet_end(ps, m[0], 0, 0);
	end(ps);
}

/* A home without workers is everybody's: from before, and when the last one goes. */
static void home_is_left(struct kunit *test)
{
	struct puppets *ps = start(test, false);
	struct dxk_member *m[3] = { worker(ps, 1), worker(ps, 1), worker(ps, 0) };
	struct dxk_rqe *a = post(ps, 3, 0), *b;

	EXPECT(puppet_work(ps, m[2]) == a);
	EXPECT_IS(ps->e->stats.homeless, 1);
	puppet_end(ps, m[2], 0, 0);
	a = post(ps, 1, 4);
	b = post(ps, 1, 9);
	puppet_dies(ps, m[0]);
	EXPECT_IS(ps->e->ready.at_home[DXK_USER], 1);
	puppet_dies(ps, m[1]);
	EXPECT_IS(ps->e->ready.at_home[DXK_USER], 0);
	EXPECT(puppet_work(ps, m[2]) == b);
	puppet_end(ps, m[2], 0, 0);
	EXPECT(puppet_work(ps, m[2]) == a);
	EXPECT_IS(a->prio, 4);
	EXPECT_IS(ps->e->stats.homeless, 3);
	puppet_end(ps, m[2], 0, 0);
	/* whose home has somebody, and who has none, are not counted */
	m[0] = worker(ps, 1);
	a = post(ps, 1, 0);
	EXPECT(puppet_work(ps, m[0]) == a);
	puppet_end(ps, m[0], 0, 0);
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	puppet_work(ps, m[2]);
	puppet_end(ps, m[2], 0, 0);
	EXPECT_IS(ps->e->stats.homeless, 3);
	/* and one that leaves is gone as well */
	a = post(ps, 1, 0);
	dxk_member_do(m[0], dxk_leave_run);
	EXPECT(puppet_work(ps, m[2]) == a);
	EXPECT_IS(ps->e->stats.homeless, 4);
	puppet_end(ps, m[2], 0, 0);
	end(ps);
}

/* More than a lock hold moves: the rest of a home that has a worker again stays there. */
static void home_is_left_slowly(struct kunit *test)
{
	struct dxk_policy p = puppet_policy(8);
	struct dxk_member *m[2], *other;
	struct puppets *ps;
	u32 i;

	p.max_waiting = 64;
	p.homes = HOMES;
	p.ready_entries = 512;
	p.max_requests = 512;
	ps = start_with(test, &p);
	m[0] = worker(ps, 2);
	m[1] = worker(ps, 3);
	other = worker(ps, 0);
	for (i = 0; i < 2 * EACH; i++)
		post(ps, 2 + i % 2, 0);
	EXPECT_IS(ps->e->ready.at_home[DXK_USER], BIT_ULL(1) | BIT_ULL(2));
	ps->e->swept = true;
	puppet_dies(ps, m[0]);
	puppet_dies(ps, m[1]);
	dxk_sweep(ps->e, true);
	EXPECT(ps->e->ready.home[1].queue[DXK_USER].first);
	m[0] = worker(ps, 2);
	while (ps->e->owing)
		dxk_sweep(ps->e, true);
	EXPECT_IS(ps->e->ready.at_home[DXK_USER], BIT_ULL(1));
	/* it is left once more, and is all that is left */
	puppet_dies(ps, m[0]);
	while (ps->e->owing)
		dxk_sweep(ps->e, true);
	EXPECT_IS(ps->e->ready.at_home[DXK_USER], 0);
	for (i = 0; i < 2 * EACH; i++) {
		puppet_work(ps, other);
		puppet_end(ps, other, 0, 0);
	}
	dxk_sweep_end(ps->e);
	end(ps);
}

/* FO-35 in a home: who blocks has a spare in its place; an idle worker of another home is none */
static void home_blocks(struct kunit *test)
{
	struct puppets *ps = start(test, false);
	struct dxk_member *m[2] = { worker(ps, 1), worker(ps, 2) }, *spare;
	struct dxk_rqe *rqe = post(ps, 1, 0);
	struct dxk_next_op *n;

	EXPECT(puppet_work(ps, m[0]) == rqe);
	EXPECT(ASLEEP(puppet_turn(ps, m[1], 1)));
	EXPECT_IS(puppet_block(ps, m[0], false, false)->ret, -EAGAIN);
	spare = puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, true);
	n = puppet_turn(ps, spare, 1);
	rqe = post(ps, 1, 0);
	EXPECT(ASLEEP(n));
	EXPECT_IS(puppet_block(ps, m[0], false, false)->ret, 0);
	EXPECT(!ASLEEP(n));
	EXPECT(puppet_fetch(n) == rqe);
	puppet_end(ps, spare, 0, 0);
	puppet_end(ps, m[0], 0, 0);
	end(ps);
}

/* FO-35 in homes: ... unless it may take what is of others, or the place is nobody's home */
static void home_blocks_beside_others(struct kunit *test)
{
	struct puppets *ps = start(test, true);
	struct dxk_member *m[2] = { worker(ps, 1), worker(ps, 2) };
	struct dxk_rqe *rqe = post(ps, 1, 0);
	struct dxk_next_op *n;

	EXPECT(puppet_work(ps, m[0]) == rqe);
	EXPECT_IS(puppet_block(ps, m[0], false, false)->ret, -EAGAIN);
	n = puppet_turn(ps, m[1], 1);
	EXPECT_IS(puppet_block(ps, m[0], false, false)->ret, 0);
	rqe = post(ps, 1, 0);
	EXPECT(!ASLEEP(n));
	EXPECT(puppet_fetch(n) == rqe);
	puppet_end(ps, m[1], 0, 0);
	puppet_end(ps, m[0], 0, 0);
	end(ps);
}

static void home_blocks_without(struct kunit *test)
{
	struct puppets *ps = start(test, false);
	struct dxk_member *m[2] = { worker(ps, 0), worker(ps, 1) };
	struct dxk_next_op *n;

	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	puppet_work(ps, m[0]);
	n = puppet_turn(ps, m[1], 1);
	EXPECT_IS(puppet_block(ps, m[0], false, false)->ret, 0);
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	EXPECT(!ASLEEP(n));
	puppet_fetch(n);
	puppet_end(ps, m[1], 0, 0);
	puppet_end(ps, m[0], 0, 0);
	end(ps);
}

/* The next one of a key that a worker has had is not for it if it has a home. */
static void home_and_key(struct kunit *test)
{
	struct puppets *ps = start(test, false);
	struct dxk_member *m[2] = { worker(ps, 0), worker(ps, 1) };
	struct dxk_post_more p = { .key = 77 };
	struct dxk_rqe *rqe[2], *done;
	u32 i;

	for (i = 0; i < 2; i++) {
		struct dxk_post_op *post = puppet_poster(ps, ps->main);

		puppet_add(ps, post, OWNER, 0, PXR_KEY | (i ? PXR_HOME : 0));
		rqe[i] = list_last_entry(&post->rqes, struct dxk_rqe, link);
		p.home = i;
		EXPECT_IS(dxk_more_make(ps->main, rqe[i], &p), 0);
		puppet_posts(ps, post);
	}
	EXPECT(puppet_work(ps, m[0]) == rqe[0]);
	done = rqe[0];
	done->status = 0;
	EXPECT(!dxk_turn(m[0], &done));
	if (done)
		puppet_end(ps, m[0], 0, 0);
	EXPECT(puppet_work(ps, m[1]) == rqe[1]);
	puppet_end(ps, m[1], 0, 0);
	end(ps);
}

/* Who has ended the turn of a key takes its next request only if that has no home. */
static void home_before_key(struct kunit *test)
{
	struct puppets *ps = start(test, true);
	struct dxk_member *m[2] = { worker(ps, 0), worker(ps, 1) };
	struct dxk_post_more p = { .key = 77 };
	struct dxk_rqe *rqe[2], *other;
	u32 i;

	for (i = 0; i < 2; i++) {
		struct dxk_post_op *post = puppet_poster(ps, ps->main);

		puppet_add(ps, post, OWNER, 5, PXR_KEY | (i ? PXR_HOME : 0));
		rqe[i] = list_last_entry(&post->rqes, struct dxk_rqe, link);
		p.home = i;
		EXPECT_IS(dxk_more_make(ps->main, rqe[i], &p), 0);
		puppet_posts(ps, post);
	}
	EXPECT(puppet_work(ps, m[0]) == rqe[0]);
	puppet_post(ps, OWNER, 0, 0);
	other = puppet_fetch(puppet_end(ps, m[0], 0, 1));
	EXPECT(other && other->param == ps->params);
	EXPECT(puppet_work(ps, m[1]) == rqe[1]);
	puppet_end(ps, m[0], 0, 0);
	puppet_end(ps, m[1], 0, 0);
	end(ps);
}

/* What a post says is wrong; homes of the policy */
static void home_bad_input(struct kunit *test)
{
	struct puppets *ps = start(test, false);
	struct dxk_policy p = ps->e->policy;

	post_by(ps, 0, 0, 0, -EINVAL);
	post_by(ps, 1, 0, PXR_BOOST, -EINVAL);
	post_by(ps, 1, 0, PXR_LANE2, -EINVAL);
	post(ps, U32_MAX, 0);
	p.min_threads = 1;
	EXPECT_IS(dxk_policy_check(&p), -EINVAL);
	EXPECT_IS(p.bad_field, offsetof(struct dxk_policy, min_threads));
	EXPECT_IS(dxk_home_least(ps->e, DXK_USER), 1);
	worker(ps, 1);
	worker(ps, 3);
	EXPECT_IS(dxk_home_least(ps->e, DXK_USER), 2);
	end(ps);
}

/* Thieves look at all homes: so few in a hold that it keeps to its steps. */
static void home_thieves(struct kunit *test)
{
	struct puppets *ps = start_many(test, true);
	struct dxk_post_op *post = puppet_poster(ps, ps->main);
	struct dxk_next_op *n[14];
	u32 i, holds = 0;

	for (i = 0; i < DXK_HOMES_MAX; i++)
		if (i < ARRAY_SIZE(n))
			n[i] = puppet_turn(ps, worker(ps, 1 + i), 1);
		else
			worker(ps, 1 + i);
	ps->e->swept = true;
	for (i = 0; i < DXK_BATCH_MAX; i++) {
		/* none is of a home that an idle worker is of */
		struct dxk_post_more p = {
			.home = 1 + ARRAY_SIZE(n) + i % (DXK_HOMES_MAX - ARRAY_SIZE(n)),
		};

		puppet_add(ps, post, OWNER, 0, PXR_REJOIN | PXR_HOME);
		EXPECT_IS(dxk_more_make(ps->main,
					list_last_entry(&post->rqes, struct dxk_rqe, link), &p), 0);
	}
	puppet_posts(ps, post);
	do {
		EXPECT(ps->e->steps <= DXK_HOLD_STEPS);
		EXPECT(ps->e->stats.dispatches > holds);
		holds = ps->e->stats.dispatches;
		dxk_sweep(ps->e, true);
	} while (ps->e->owing && holds < DXK_BATCH_MAX);
	for (i = 0; i < ARRAY_SIZE(n); i++) {
		EXPECT(!ASLEEP(n[i]));
		puppet_fetch(n[i]);
	}
	EXPECT_IS(ps->e->stats.dispatches, ARRAY_SIZE(n));
	dxk_sweep_end(ps->e);
	for (i = 0; i < ARRAY_SIZE(n); i++)
		puppet_end(ps, n[i]->m, 0, 0);
	end(ps);
}

/* A home whose workers would find nothing is not visited. */
static void home_in_vain(struct kunit *test)
{
	struct puppets *ps = start_many(test, false);
	struct dxk_next_op *n[DXK_HOMES_MAX];
	u32 i, idle = 0;

	for (i = 0; i < DXK_HOMES_MAX; i++)
		n[i] = puppet_turn(ps, worker(ps, 1 + i), 1);
	/* half of the workers are for lane 1 */
	puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, OWNER, PXR_REJOIN | PXR_LANE1);
	for (i = 0; i < DXK_HOMES_MAX; i++)
		idle += ASLEEP(n[i]);
	EXPECT_IS(idle, DXK_HOMES_MAX / 2);
	puppet_post(ps, OWNER, 0, PXR_REJOIN | PXR_LANE1);
	EXPECT(ps->e->steps <= 4);
	for (i = 0; i < DXK_HOMES_MAX; i++) {
		if (ASLEEP(n[i]))
			continue;
		puppet_fetch(n[i]);
		puppet_end(ps, n[i]->m, 0, 0);
	}
	end(ps);
}

/* All requests of an owner are cancelled: those in homes too, of both kinds, and no others. */
static void home_purge(struct kunit *test)
{
	struct puppets *ps = start(test, false);
	struct dxk_member *m[DXK_KINDS] = {
		[DXK_KERNEL] = puppet_resident(ps, DXK_KERNEL, 1), [DXK_USER] = worker(ps, 1),
	};
	const u32 attrs[DXK_KINDS] = { [DXK_KERNEL] = PXR_KERNEL };
	struct dxk_rqe *others[DXK_KINDS], *rqe;
	u32 nr[DXK_PLACES], i;

	for (i = 0; i < DXK_KINDS; i++) {
		others[i] = post_of(ps, OTHER, 1, 0, attrs[i], 0);
		post_by(ps, 1, 0, attrs[i], 0);
		EXPECT_IS(ps->e->ready.at_home[i], 1);
	}
	dxk_purge_owner(ps->main, OWNER, nr);
	EXPECT_IS(nr[DXK_AT_READY], DXK_KINDS);
	for (i = 0; i < DXK_KINDS; i++) {
		rqe = puppet_result(puppet_rejoin(ps, ps->main, OWNER, 1, 0));
		ASSERT_IS(!rqe, 0);
		EXPECT_IS(rqe->status, -ECANCELED);
		EXPECT(puppet_work(ps, m[i]) == others[i]);
		puppet_end(ps, m[i], 0, 0);
	}
	end(ps);
}

static struct kunit_case home_cases[] = {
	KUNIT_CASE(home_is_kept),
	KUNIT_CASE(home_warmest),
	KUNIT_CASE(home_and_others),
	KUNIT_CASE(home_steal),
	KUNIT_CASE(home_is_left),
	KUNIT_CASE(home_is_left_slowly),
	KUNIT_CASE(home_blocks),
	KUNIT_CASE(home_blocks_beside_others),
	KUNIT_CASE(home_blocks_without),
	KUNIT_CASE(home_and_key),
	KUNIT_CASE(home_before_key),
	KUNIT_CASE(home_bad_input),
	KUNIT_CASE(home_thieves),
	KUNIT_CASE(home_in_vain),
	KUNIT_CASE(home_purge),
	{ }
};

static struct kunit_suite home_suite = {
	.name = "dxk_home",
	.exit = puppets_end,
	.test_cases = home_cases,
};

kunit_test_suite(home_suite);
