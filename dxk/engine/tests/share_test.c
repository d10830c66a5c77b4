// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * What one user can have of a context: of its requests, its pools and its ids.
 */
#include "engine/key.h"
#include "engine/key_call.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/tests/puppet.h"
#include "engine/wake.h"

#define WAIT	PXR_WAITIF_BUSY

static struct puppets *start(struct kunit *test, u32 share, u32 rejoin_full)
{
	struct dxk_policy p = puppet_policy(4);

	p.user_share = share;
	p.rejoin_full = rejoin_full;
	p.ready_entries = 12;
	p.rejoin_entries = 12;
	p.max_requests = 24;
	return puppets_start(test, &p);
}

static u32 opens(struct puppets *ps, u32 uid)
{
	bool changed;

	return dxk_share_open(ps->e, uid, &changed);
}

/* A client of a user to whom the context does not belong. */
static struct dxk_member *stranger(struct puppets *ps, u32 uid)
{
	struct dxk_member *m = puppet_client(ps);

	m->share = opens(ps, uid);
	return m;
}

/* It posts one by one, until that is refused for a reason. Return: how many were taken. */
static u32 greedy(struct puppets *ps, struct dxk_member *m, u32 attrs, int err, u32 reason)
{
	const struct dxk_post_op *p;
	u32 nr = 0;

	for (;; nr++) {
		p = puppet_post_nr(ps, m, 1, m->id, attrs);
		if (p->err || ASLEEP(p))
			break;
	}
	EXPECT_IS(p->err, err);
	EXPECT_IS(p->reason, reason);
	return nr;
}

static void collects(struct puppets *ps, struct dxk_member *m, u64 owner, u32 nr)
{
	EXPECT_IS(puppet_rejoin(ps, m, owner, nr, 1)->nr, nr);
}

static void all_executed(struct puppets *ps, struct dxk_member *worker)
{
	while (ps->e->nr[DXK_AT_READY]) {
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
}

/* Live requests: each user finds something, whatever the others have taken. */
static void share_live(struct kunit *test)
{
	struct puppets *ps = start(test, 50, DXK_REJOIN_GROW);
	struct dxk_member *a = stranger(ps, 1), *b = stranger(ps, 2), *c = stranger(ps, 3);
	struct dxk_member *worker = puppet_worker(ps);
	u32 nr = 0;

	while (nr < 12) {
		puppet_taken(ps, puppet_post_nr(ps, a, 1, 1, PXR_REJOIN), 1);
		all_executed(ps, worker);
		nr++;
	}
	/* 12 of 24; it alone can collect them, so waiting is no help */
	EXPECT_IS(greedy(ps, a, PXR_REJOIN | WAIT, -EDQUOT, PXR_NO_SPACE), 0);
	EXPECT_IS(ps->e->stats.post_busy, 0);
	/* 6 of the 12 that are left, 3 of 6, and the owner has the rest */
	EXPECT_IS(greedy(ps, b, 0, -EDQUOT, PXR_NO_SPACE), 6);
	all_executed(ps, worker);
	EXPECT_IS(greedy(ps, b, PXR_REJOIN, -EDQUOT, PXR_NO_SPACE), 6);
	all_executed(ps, worker);
	EXPECT_IS(greedy(ps, c, PXR_REJOIN, -EDQUOT, PXR_NO_SPACE), 3);
	EXPECT_IS(greedy(ps, ps->main, 0, -ENOSPC, PXR_NO_SPACE), 3);
	/* who has collected may post again */
	collects(ps, a, 1, 4);
	EXPECT_IS(ps->e->shares.of[a->share].live, 8);
	EXPECT_IS(greedy(ps, c, 0, -EDQUOT, PXR_NO_SPACE), 1);
}

/* Entries of the Ready Pool: who has its share waits, and holds up nobody. */
static void share_ready(struct kunit *test)
{
	struct puppets *ps = start(test, 50, DXK_REJOIN_GROW);
	struct dxk_member *a = stranger(ps, 1), *b = stranger(ps, 2);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_post_op *first, *second, *late;

	EXPECT_IS(greedy(ps, a, 0, -EAGAIN, PXR_POOL_FULL), 6);
	first = puppet_post_nr(ps, a, 2, 1, WAIT);
	second = puppet_post_nr(ps, a, 1, 2, WAIT);
	EXPECT(ASLEEP(first) && ASLEEP(second));
	EXPECT_IS(ps->e->ready.asleep[3], 0);
	EXPECT_IS(ps->e->ready.asleep[DXK_LANES], 2);
	/* b is of another user, the owner of none */
	EXPECT_IS(greedy(ps, b, 0, -EAGAIN, PXR_POOL_FULL), 3);
	puppet_taken(ps, puppet_post_nr(ps, ps->main, 3, 9, WAIT), 3);
	late = puppet_post_nr(ps, ps->main, 1, 9, WAIT);
	EXPECT(ASLEEP(late));

	/* an entry becomes free: a has slept longer, and still has its share */
	puppet_turn(ps, worker, 1);
	EXPECT(!ASLEEP(late));
	EXPECT(ASLEEP(first));
	EXPECT_IS(ps->e->shares.of[a->share].ready, 5);
	all_executed(ps, worker);
	/* both went in, in their order */
	puppet_taken(ps, first, 2);
	puppet_taken(ps, second, 1);
	EXPECT_IS(ps->e->ready.asleep[DXK_LANES], 0);
	EXPECT_IS(ps->e->stats.posts, 16);
}

/* Who sleeps for its share keeps its place before others of its user. */
static void share_in_order(struct kunit *test)
{
	struct puppets *ps = start(test, 50, DXK_REJOIN_GROW);
	struct dxk_member *a = stranger(ps, 1), *worker = puppet_worker(ps);
	struct dxk_post_op *first, *second;

	greedy(ps, a, 0, -EAGAIN, PXR_POOL_FULL);
	first = puppet_post_nr(ps, a, 1, 1, WAIT);
	second = puppet_post_nr(ps, stranger(ps, 1), 1, 2, WAIT);
	puppet_turn(ps, worker, 1);
	puppet_taken(ps, first, 1);
	EXPECT(ASLEEP(second));
	EXPECT_IS(puppet_time_up(ps, &second->w), -ETIMEDOUT);
	EXPECT_IS(ps->e->ready.asleep[DXK_LANES], 0);
}

/* Entries of the Rejoin Pool, where they are reserved and where workers wait for them. */
static void share_rejoin(struct kunit *test)
{
	static const u32 full[] = { DXK_REJOIN_RESERVE, DXK_REJOIN_BLOCK_WORKER };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(full); i++) {
		struct puppets *ps = start(test, 50, full[i]);
		struct dxk_member *a = stranger(ps, 1), *worker = puppet_worker(ps);
		struct dxk_post_op *p;

		EXPECT_IS(greedy(ps, a, PXR_REJOIN, -EAGAIN, PXR_POOL_FULL), 6);
		all_executed(ps, worker);
		EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 6);
		EXPECT_IS(greedy(ps, a, PXR_REJOIN, -EAGAIN, PXR_REJOIN_FULL), 0);
		/* its other posts need none */
		puppet_taken(ps, puppet_post_nr(ps, a, 1, 7, WAIT), 1);
		all_executed(ps, worker);
		p = puppet_post_nr(ps, a, 1, 7, PXR_REJOIN | WAIT);
		EXPECT(ASLEEP(p));
		dxk_sweep(ps->e, true);
		EXPECT(ASLEEP(p));
		/* others have theirs */
		puppet_taken(ps, puppet_post_nr(ps, ps->main, 6, 9, PXR_REJOIN), 6);
		all_executed(ps, worker);
		/* all that it does not collect holds up no worker */
		EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 12);
		collects(ps, ps->main, 9, 6);
		EXPECT(ASLEEP(p));
		collects(ps, a, a->id, 1);
		puppet_taken(ps, p, 1);
		EXPECT_IS(ps->e->shares.of[a->share].reserved, 6);
		if (i + 1 < ARRAY_SIZE(full))
			puppets_end(test);
	}
}

/* 100 percent is no limit, of what others than the owner are promised neither. */
static void share_none(struct kunit *test)
{
	struct puppets *ps = start(test, 100, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_member *a = stranger(ps, 1), *worker = puppet_worker(ps);

	ps->e->owners.entries = 4;
	EXPECT_IS(greedy(ps, a, PXR_REJOIN, -EAGAIN, PXR_POOL_FULL), 12);
	puppet_work(ps, worker);
	puppet_taken(ps, puppet_post_nr(ps, a, 1, 1, PXR_REJOIN), 1);
}

/* Where more can be promised than there is, a stranger still may post. */
static void share_promised(struct kunit *test)
{
	struct puppets *ps = start(test, 50, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_member *a = stranger(ps, 1), *worker = puppet_worker(ps);

	puppet_taken(ps, puppet_post_nr(ps, ps->main, 10, 9, PXR_REJOIN), 10);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	puppet_taken(ps, puppet_post_nr(ps, ps->main, 2, 9, PXR_REJOIN), 2);
	EXPECT_IS(ps->e->owners.reserved, 12);
	all_executed(ps, worker);
	collects(ps, ps->main, 9, 12);
	/* half of 11, whatever the owner has */
	puppet_taken(ps, puppet_post_nr(ps, ps->main, 3, 9, PXR_REJOIN), 3);
	ps->e->policy.ready_entries = 20;
	ps->e->owners.entries = 11;
	EXPECT_IS(greedy(ps, a, PXR_REJOIN, -EAGAIN, PXR_REJOIN_FULL), 6);
}

/* The policy may change while somebody sleeps. */
static void share_enforced(struct kunit *test)
{
	struct puppets *ps = start(test, 50, DXK_REJOIN_GROW);
	struct dxk_policy p = ps->e->policy;
	struct dxk_member *a = stranger(ps, 1);
	struct dxk_post_op *sleeper;

	greedy(ps, a, 0, -EAGAIN, PXR_POOL_FULL);
	sleeper = puppet_post_nr(ps, a, 1, 1, WAIT);
	EXPECT(ASLEEP(sleeper));
	p.user_share = 100;
	dxk_enforce(ps->e, &p);
	puppet_taken(ps, sleeper, 1);
	/* now only the pool's size counts */
	EXPECT_IS(greedy(ps, a, 0, -EAGAIN, PXR_POOL_FULL), 5);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 12);
	/* and all wait in the order of the lane; with shares again, in their own */
	sleeper = puppet_post_nr(ps, a, 1, 1, WAIT);
	EXPECT_IS(ps->e->ready.asleep[3], 1);
	p.user_share = 50;
	dxk_enforce(ps->e, &p);
	EXPECT(ASLEEP(sleeper));
	EXPECT_IS(ps->e->ready.asleep[3], 0);
	EXPECT_IS(ps->e->ready.asleep[DXK_LANES], 1);
}

/* Stop(drain) sends away who sleeps outside, Stop(cancel) all (DX-107). */
static void share_stopped(struct kunit *test)
{
	struct puppets *ps = start(test, 50, DXK_REJOIN_GROW);
	struct dxk_member *a = stranger(ps, 1), *worker = puppet_worker(ps);
	struct dxk_post_op *outside, *inside;

	puppet_taken(ps, puppet_post_nr(ps, a, 6, 1, 0), 6);
	outside = puppet_post_nr(ps, a, 1, 1, WAIT);
	EXPECT(ASLEEP(outside));
	worker->share = a->share;
	puppet_turn(ps, worker, 1);
	puppet_taken(ps, outside, 1);
	outside = puppet_post_nr(ps, a, 1, 1, WAIT);
	inside = puppet_post_nr(ps, worker, 1, 1, WAIT);
	EXPECT(ASLEEP(outside) && ASLEEP(inside));
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT_IS(outside->err, -ESHUTDOWN);
	EXPECT(ASLEEP(inside));
	dxk_stop_begin(ps->e, 0, true, false);
	EXPECT_IS(inside->err, -ESHUTDOWN);
	worker->share = 0;
}

/* --- posted waiting --------------------------------------------------------------- */

static struct puppets *start_waits(struct kunit *test, u32 share, bool cmls)
{
	struct puppets *ps = start(test, share, DXK_REJOIN_GROW);
	struct dxk_policy p = ps->e->policy;

	p.max_requests = p.max_waiting = 2000;
	if (cmls)
		p.sched_mode |= TPOOL_MODE_CMLS;
	p.lane_pct[0] = 0;
	p.lane_pct[1] = 25;
	dxk_enforce(ps->e, &p);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	return ps;
}

/* A request waits for a call that comes at once. */
static struct dxk_rqe *ripens(struct puppets *ps, struct dxk_member *m, u32 attrs)
{
	struct dxk_post_more more = { .name = ps->params + 1, .wait.wait = DXK_WAIT_CALL };
	struct dxk_names_op n = { .m = m, .names = &more.name, .nr = 1 };
	struct dxk_post_op *p = puppet_poster(ps, m);
	struct dxk_rqe *rqe;

	puppet_add(ps, p, m->id, 0, attrs | PXR_WAIT | PXR_NAMED);
	rqe = list_first_entry(&p->rqes, struct dxk_rqe, link);
	KUNIT_ASSERT_EQ(ps->test, dxk_more_make(m, rqe, &more), 0);
	puppet_posts(ps, p);
	KUNIT_ASSERT_EQ(ps->test, p->err, 0);
	puppet_do(ps, &n.op, dxk_wake_names_run);
	EXPECT_IS(n.found, 1);
	return rqe;
}

/* So many, of which so many find room. */
static void ripen(struct puppets *ps, struct dxk_member *m, u32 attrs, u32 nr, u32 ready)
{
	u32 before = ps->e->nr[DXK_AT_READY];

	while (nr--)
		ripens(ps, m, attrs);
	EXPECT_IS(ps->e->nr[DXK_AT_READY] - before, ready);
}

static void none_is_left(struct puppets *ps, struct dxk_member *worker)
{
	u32 lane;

	all_executed(ps, worker);
	EXPECT_IS(dxk_live(ps->e), 0);
	for (lane = 0; lane < DXK_LANES; lane++)
		EXPECT_IS(ps->e->ready.asleep[lane] + ps->e->ready.ripe_shares[lane], 0);
	dxk_names_unstart(ps->e);
}

/* What was posted waiting becomes Ready as far as its user's share goes, and holds up nobody. */
static void share_ripe(struct kunit *test)
{
	struct puppets *ps = start_waits(test, 50, false);
	struct dxk_member *a = stranger(ps, 1), *b = stranger(ps, 2);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_post_op *late;

	ripen(ps, a, 0, 10, 6);
	EXPECT_IS(greedy(ps, a, 0, -EAGAIN, PXR_POOL_FULL), 0);
	ripen(ps, b, 0, 4, 3);
	EXPECT_IS(greedy(ps, ps->main, 0, -EAGAIN, PXR_POOL_FULL), 3);
	late = puppet_post_nr(ps, ps->main, 1, 9, WAIT);
	EXPECT(ASLEEP(late));
	/* they come first, and have their shares */
	puppet_work(ps, worker);
	EXPECT(!ASLEEP(late));
	EXPECT_IS(ps->e->shares.of[a->share].ready, 5);
	/* where both might, who sleeps comes after who is ripe */
	while (ps->e->shares.of[b->share].ready) {
		puppet_end(ps, worker, 0, 0);
		puppet_work(ps, worker);
		if (ps->e->nr[DXK_AT_READY] < 12)
			continue;
		late = puppet_post_nr(ps, ps->main, 1, 9, WAIT);
		EXPECT(ASLEEP(late));
	}
	puppet_end(ps, worker, 0, 0);
	none_is_left(ps, worker);
}

/* A full lane holds up no other lane of the user, nor a user with all of its share others. */
static void share_ripe_lanes(struct kunit *test)
{
	struct puppets *ps = start_waits(test, 50, true);
	struct dxk_member *a = stranger(ps, 1), *b = stranger(ps, 2);
	struct dxk_member *worker = puppet_worker(ps);

	ripen(ps, a, PXR_LANE1, 5, 3);
	ripen(ps, a, 0, 5, 3);
	ripen(ps, b, PXR_LANE1, 1, 0);
	ripen(ps, b, 0, 1, 1);
	puppet_taken(ps, puppet_post_nr(ps, ps->main, 4, 9, 0), 4);
	/* both a and b wait for room in lane 1, and only b has room in its share */
	EXPECT_IS(puppet_work(ps, worker)->lane, 1);
	EXPECT_IS(ps->e->shares.of[a->share].ready, 5);
	EXPECT_IS(ps->e->shares.of[b->share].ready, 2);
	EXPECT_IS(ps->e->ready.lanes.used[1], 3);
	puppet_end(ps, worker, 0, 0);
	none_is_left(ps, worker);
}

/* The longest ripe one comes first, of whatever user and lane. */
static void share_ripe_in_order(struct kunit *test)
{
	static const u32 lanes[] = { 0, PXR_LANE2, PXR_LANE0, PXR_LANE1, PXR_LANE0, 0 };
	struct puppets *ps = start_waits(test, 50, false);
	struct dxk_member *m[] = { stranger(ps, 2), stranger(ps, 1), ps->main };
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rqe *rqe[ARRAY_SIZE(lanes)];
	u32 i;

	EXPECT_IS(greedy(ps, ps->main, 0, -EAGAIN, PXR_POOL_FULL), 12);
	for (i = 0; i < ARRAY_SIZE(lanes); i++) {
		rqe[i] = ripens(ps, m[i % ARRAY_SIZE(m)], lanes[i]);
		EXPECT_IS(rqe[i]->state, DXK_WAITING);
	}
	/* of each user one, as so long as the pool is full no share has more */
	for (i = 0; i < 3; i++) {
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
		EXPECT_IS(rqe[i]->state, DXK_READY);
		EXPECT_IS(ps->e->nr[DXK_AT_READY], 12);
	}
	puppet_work(ps, worker);
	EXPECT_IS(rqe[3]->state, DXK_WAITING);
	EXPECT_IS(rqe[4]->state, DXK_WAITING);
	EXPECT_IS(rqe[5]->state, DXK_READY);
	puppet_end(ps, worker, 0, 0);
	none_is_left(ps, worker);
}

/* The number of entries of a tenant */
static void share_ripe_tenant(struct kunit *test)
{
	struct puppets *ps = start_waits(test, 100, false);
	struct dxk_member *a = puppet_client(ps), *worker = puppet_worker(ps);

	a->share = dxk_share_open_space(ps->e, 0, 2);
	ripen(ps, a, 0, 4, 2);
	EXPECT_IS(greedy(ps, a, 0, -EAGAIN, PXR_POOL_FULL), 0);
	EXPECT_IS(greedy(ps, ps->main, 0, -EAGAIN, PXR_POOL_FULL), 10);
	puppet_work(ps, worker);
	EXPECT_IS(ps->e->shares.of[a->share].ready, 2);
	EXPECT_IS(ps->e->shares.of[a->share].waiting, 1);
	puppet_end(ps, worker, 0, 0);
	none_is_left(ps, worker);
	a->share = 0;
}

/* The policy may change meanwhile. A hold lets in what it can afford, and nobody comes before. */
static void share_ripe_enforced(struct kunit *test)
{
	struct puppets *ps = start_waits(test, 50, false);
	struct dxk_member *a = stranger(ps, 1), *worker = puppet_worker(ps);
	u32 nr = 6 + 2 * DXK_HOLD_BUDGET;
	struct dxk_policy p;

	ripen(ps, a, 0, nr, 6);
	ripens(ps, a, PXR_LANE1);
	ps->e->swept = true;
	p = ps->e->policy;
	p.user_share = 99;
	p.ready_entries = 2 * nr;
	dxk_enforce(ps->e, &p);
	EXPECT(ps->e->owing);
	EXPECT(ps->e->nr[DXK_AT_READY] > 6);
	EXPECT(ps->e->nr[DXK_AT_READY] <= 6 + DXK_HOLD_BUDGET);
	EXPECT_IS(greedy(ps, a, 0, -EAGAIN, PXR_REJOIN_FULL), 0);
	puppet_taken(ps, puppet_post_nr(ps, a, 1, 1, PXR_LANE2), 1);
	puppet_taken(ps, puppet_post_nr(ps, ps->main, 1, 9, 0), 1);
	while (ps->e->owing)
		dxk_sweep(ps->e, true);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], nr + 3);
	dxk_sweep_end(ps->e);
	none_is_left(ps, worker);
}

/* --- who has a share ---------------------------------------------------------------- */

/* A share keeps its user while there is something of it. */
static void share_of_whom(struct kunit *test)
{
	struct puppets *ps = start(test, 50, DXK_REJOIN_GROW);
	struct dxk_engine *e = ps->e;
	struct dxk_member *a = stranger(ps, 1);
	u32 nr[DXK_SHARES], i;
	bool changed;

	EXPECT_IS(opens(ps, 1), a->share);
	dxk_share_close(e, a->share);
	puppet_taken(ps, puppet_post_nr(ps, a, 1, 1, 0), 1);
	dxk_share_close(e, a->share);
	EXPECT_IS(e->shares.of[a->share].users, 0);
	/* two more users than are left: they have the last one in common */
	for (i = 0; i < DXK_SHARES; i++) {
		nr[i] = opens(ps, 100 + i);
		EXPECT(nr[i] && nr[i] != a->share);
	}
	EXPECT_IS(nr[DXK_SHARES - 1], DXK_SHARES - 1);
	EXPECT_IS(nr[DXK_SHARES - 2], DXK_SHARES - 1);
	EXPECT_IS(nr[DXK_SHARES - 3], DXK_SHARES - 1);
	EXPECT_IS(nr[DXK_SHARES - 4], DXK_SHARES - 2);
	EXPECT_IS(opens(ps, 1), a->share);
	dxk_share_close(e, a->share);
	/* whose was closed finds it again, until somebody else needs it */
	for (i = 0; i < DXK_SHARES - 3; i++)
		dxk_share_close(e, nr[i]);
	EXPECT_IS(dxk_share_open(e, 105, &changed), nr[5]);
	EXPECT(!changed);
	EXPECT_IS(dxk_share_open(e, 500, &changed), nr[0]);
	EXPECT(changed);
	EXPECT_IS(dxk_share_open(e, 100, &changed), nr[1]);
	EXPECT(changed);
	/* so does who has a request there */
	EXPECT_IS(dxk_share_open(e, 1, &changed), a->share);
	EXPECT(!changed);
	dxk_share_close(e, a->share);
	all_executed(ps, puppet_worker(ps));
	EXPECT_IS(dxk_share_open(e, 600, &changed), a->share);
	EXPECT(changed);
	/* the owner's is none */
	dxk_share_close(e, 0);
	EXPECT_IS(e->shares.of[0].users, 0);
	a->share = 0;
}

static int keeps(struct puppets *ps, struct dxk_member *m, dxk_op_fn *run)
{
	struct dxk_key_op k = { .m = m, .cookie = 7 };

	ASSERT_IS(dxk_key_reserve(m, 1), 0);
	INIT_LIST_HEAD(&k.ended);
	puppet_do(ps, &k.op, run);
	return k.ret;
}

/* So it does while a key is held back that counts as its; the next user has all of his. */
static void share_held_back(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(4);
	struct dxk_member *a;
	struct puppets *ps;
	bool changed;
	u32 share;

	policy.user_share = 50;
	policy.max_waiting = 4;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	a = stranger(ps, 1);
	share = a->share;
	EXPECT_IS(keeps(ps, a, dxk_key_hold_run), 0);
	EXPECT_IS(ps->e->shares.of[share].waiting, 1);
	dxk_share_close(ps->e, share);
	a->share = 0;
	EXPECT(dxk_share_open_space(ps->e, 0, 0) != share);
	EXPECT_IS(keeps(ps, a, dxk_key_release_run), 0);
	EXPECT_IS(ps->e->shares.of[share].waiting, 0);
	EXPECT_IS(dxk_share_open(ps->e, 1, &changed), share);
	EXPECT(!changed);
	dxk_names_unstart(ps->e);
}

/* Even root is a new user once; and those who come find what nobody has had. */
static void share_new(struct kunit *test)
{
	struct puppets *ps = start(test, 50, DXK_REJOIN_GROW);
	bool changed;
	u32 share;

	share = dxk_share_open(ps->e, 0, &changed);
	EXPECT(share && changed);
	dxk_share_close(ps->e, share);
	EXPECT(opens(ps, 1) != share);
	EXPECT_IS(opens(ps, 0), share);
}

/* The last of all has a queue as well. */
static void share_last(struct kunit *test)
{
	struct puppets *ps = start(test, 50, DXK_REJOIN_GROW);
	struct dxk_member *a, *worker = puppet_worker(ps);
	struct dxk_post_op *p;
	u32 i;

	for (i = 1; i < DXK_SHARES - 1; i++)
		EXPECT_IS(opens(ps, i), i);
	a = stranger(ps, i);
	EXPECT_IS(a->share, DXK_SHARES - 1);
	greedy(ps, a, 0, -EAGAIN, PXR_POOL_FULL);
	p = puppet_post_nr(ps, a, 1, 1, WAIT);
	EXPECT(ASLEEP(p));
	dxk_sweep(ps->e, true);
	EXPECT(ASLEEP(p));
	puppet_turn(ps, worker, 1);
	puppet_taken(ps, p, 1);
}

/* Ids of clients */
static void share_ids(struct kunit *test)
{
	struct puppets *ps = start(test, 75, DXK_REJOIN_GROW);
	struct dxk_member *a = stranger(ps, 1), *worker = puppet_worker(ps);
	struct dxk_share *s = &ps->e->shares.of[a->share];
	u32 i;

	spin_lock(&ps->e->lock);
	for (i = 0; i < 15; i++)
		EXPECT_IS(dxk_share_enter(ps->e, a, 20), 0);
	EXPECT_IS(dxk_share_enter(ps->e, a, 20), -EDQUOT);
	/* workers have places of their own, and the owner no share */
	worker->share = a->share;
	EXPECT_IS(dxk_share_enter(ps->e, worker, 20), 0);
	EXPECT_IS(s->users, 17);
	EXPECT_IS(s->clients, 15);
	EXPECT_IS(dxk_share_enter(ps->e, ps->main, 20), 0);
	EXPECT_IS(ps->e->shares.clients, 16);
	dxk_share_leave(ps->e, a);
	EXPECT_IS(dxk_share_enter(ps->e, a, 20), 0);
	EXPECT_IS(dxk_share_enter(ps->e, a, 20), -EDQUOT);
	dxk_share_leave(ps->e, ps->main);
	dxk_share_leave(ps->e, worker);
	for (i = 0; i < 15; i++)
		dxk_share_leave(ps->e, a);
	EXPECT_IS(s->users, 1);
	EXPECT_IS(ps->e->shares.clients, 0);
	spin_unlock(&ps->e->lock);
	worker->share = 0;
}

/* The largest numbers there can be */
static void share_extremes(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, dxk_share_allows(1, 0, 1));
	KUNIT_EXPECT_FALSE(test, dxk_share_allows(1, 1, 99));
	KUNIT_EXPECT_TRUE(test, dxk_share_allows(1, 1, 100));
	KUNIT_EXPECT_FALSE(test, dxk_share_allows(99, 0, 0));
	KUNIT_EXPECT_TRUE(test, dxk_share_allows(100, U32_MAX, 1));
	KUNIT_EXPECT_TRUE(test, dxk_share_allows(100, U32_MAX, 0));
	KUNIT_EXPECT_FALSE(test, dxk_share_allows(99, U32_MAX, 1));
	KUNIT_EXPECT_TRUE(test, dxk_share_allows(51, U32_MAX, U32_MAX));
	KUNIT_EXPECT_FALSE(test, dxk_share_allows(50, U32_MAX, U32_MAX));
}

static struct kunit_case share_cases[] = {
	KUNIT_CASE(share_live),
	KUNIT_CASE(share_ready),
	KUNIT_CASE(share_in_order),
	KUNIT_CASE(share_rejoin),
	KUNIT_CASE(share_none),
	KUNIT_CASE(share_promised),
	KUNIT_CASE(share_enforced),
	KUNIT_CASE(share_stopped),
	KUNIT_CASE(share_ripe),
	KUNIT_CASE(share_ripe_lanes),
	KUNIT_CASE(share_ripe_in_order),
	KUNIT_CASE(share_ripe_tenant),
	KUNIT_CASE(share_ripe_enforced),
	KUNIT_CASE(share_of_whom),
	KUNIT_CASE(share_held_back),
	KUNIT_CASE(share_new),
	KUNIT_CASE(share_last),
	KUNIT_CASE(share_ids),
	KUNIT_CASE(share_extremes),
	{ }
};

static struct kunit_suite share_suite = {
	.name = "dxk_share",
	.exit = puppets_end,
	.test_cases = share_cases,
};

kunit_test_suite(share_suite);
