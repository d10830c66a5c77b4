// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Who watches for room by poll(2): told when there is some for what was refused, and not
 * before.
 */
#include "engine/enforce.h"
#include "engine/room.h"
#include "engine/tests/puppet.h"

#define WAIT	PXR_WAITIF_BUSY
#define MANY	100

static bool writable(struct puppets *ps, struct dxk_member *m)
{
	bool is;

	spin_lock(&ps->e->lock);
	is = dxk_room_poll(ps->e, m);
	spin_unlock(&ps->e->lock);
	return is;
}

/* Its post is refused, and so it is not writable. */
static void refused(struct puppets *ps, struct dxk_member *m, u32 attrs, u32 reason)
{
	const struct dxk_post_op *p = puppet_post_nr(ps, m, 1, m->id, attrs);

	EXPECT_IS(p->err, -EAGAIN);
	EXPECT_IS(p->reason, reason);
	EXPECT(!writable(ps, m));
}

/* DX-45: writable until a post is refused, and again when there is room; asking again or not */
static void room_becomes_writable(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *worker = puppet_worker(ps), *m = puppet_client(ps);

	EXPECT(writable(ps, m));
	puppet_post(ps, 0, 0, 0);
	/* it may be full: nobody was refused */
	EXPECT(writable(ps, m));
	refused(ps, m, 0, PXR_POOL_FULL);
	EXPECT_IS(ps->e->ready.rooms.nr, 1);
	puppet_work(ps, worker);
	EXPECT_IS(ps->polls, 1);
	EXPECT_IS(ps->e->ready.rooms.nr, 0);
	puppet_end(ps, worker, 0, 0);
	EXPECT_IS(ps->polls, 0);
	puppet_post(ps, 0, 0, 0);
	EXPECT(writable(ps, m));
	/* who watches a descriptor for changes does not ask again */
	EXPECT_IS(puppet_post_nr(ps, m, 1, 0, 0)->err, -EAGAIN);
	puppet_work(ps, worker);
	EXPECT_IS(ps->polls, 1);
	puppet_end(ps, worker, 0, 0);
	/* who never asked is not told, and may ask when there is room already */
	puppet_post(ps, 0, 0, 0);
	m = puppet_client(ps);
	EXPECT_IS(puppet_post_nr(ps, m, 1, 0, 0)->err, -EAGAIN);
	EXPECT_IS(ps->e->ready.rooms.nr, 0);
	puppet_work(ps, worker);
	EXPECT_IS(ps->polls, 0);
	EXPECT(writable(ps, m));
	puppet_end(ps, worker, 0, 0);
}

/* DX-45: for room in its lane, and only when nobody sleeps for that */
static void room_of_a_lane(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 10);
	struct dxk_member *worker = puppet_worker(ps), *a = puppet_client(ps);
	struct dxk_member *b = puppet_client(ps);
	struct dxk_post_op *sleeper;

	puppet_post_nr(ps, ps->main, 2, 0, PXR_LANE1);
	refused(ps, a, PXR_LANE1, PXR_LANE_FULL);
	puppet_post_nr(ps, ps->main, 8, 0, 0);
	refused(ps, b, 0, PXR_POOL_FULL);
	sleeper = puppet_post(ps, 0, 0, WAIT | PXR_LANE1);
	EXPECT(ASLEEP(sleeper));
	/* one of lane 1: the sleeper has it; there is none for who came before, but only asks */
	puppet_work(ps, worker);
	EXPECT(!ASLEEP(sleeper));
	EXPECT_IS(ps->polls, 0);
	puppet_end(ps, worker, 0, 0);
	/* the next one is nobody else's: lane 3 can use it as well */
	puppet_work(ps, worker);
	EXPECT_IS(ps->polls, 2);
	puppet_end(ps, worker, 0, 0);
	EXPECT(writable(ps, a) && writable(ps, b));
}

/* An entry of the Rejoin Pool; that of the Ready Pool alone is not enough */
static void room_to_rejoin(struct kunit *test)
{
	struct dxk_policy p = puppet_policy(2);
	struct dxk_member *worker, *a, *b;
	struct puppets *ps;

	p.rejoin_full = DXK_REJOIN_RESERVE;
	p.rejoin_entries = 2;
	p.ready_entries = 2;
	ps = puppets_start(test, &p);
	worker = puppet_worker(ps);
	a = puppet_client(ps);
	b = puppet_client(ps);
	puppet_post_nr(ps, ps->main, 2, 8, PXR_REJOIN);
	refused(ps, a, PXR_REJOIN, PXR_POOL_FULL);
	refused(ps, b, 0, PXR_POOL_FULL);
	puppet_work(ps, worker);
	EXPECT_IS(ps->polls, 1);
	EXPECT(writable(ps, b) && !writable(ps, a));
	puppet_end(ps, worker, 0, 0);
	EXPECT_IS(ps->polls, 0);
	EXPECT_IS(puppet_rejoin(ps, ps->main, 8, 1, 1)->nr, 1);
	puppets_count(ps);
	EXPECT(writable(ps, a));
}

/* DX-45: there is an entry, but who sleeps in the lane comes first, be it for something else */
static void room_behind_a_sleeper(struct kunit *test)
{
	struct dxk_policy p = puppet_policy(2);
	struct dxk_post_op *sleeper;
	struct dxk_member *m;
	struct puppets *ps;

	p.rejoin_full = DXK_REJOIN_RESERVE;
	p.rejoin_entries = 1;
	ps = puppets_start(test, &p);
	m = puppet_client(ps);
	puppet_post(ps, 8, 0, PXR_REJOIN);
	sleeper = puppet_post(ps, 8, 0, PXR_REJOIN | WAIT);
	EXPECT(ASLEEP(sleeper));
	refused(ps, m, 0, PXR_REJOIN_FULL);
	EXPECT_IS(puppet_time_up(ps, &sleeper->w), -ETIMEDOUT);
	EXPECT_IS(ps->e->ready.rooms.nr, 0);
	EXPECT(writable(ps, m));
}

/* More of them than one lock hold can tell */
static void room_tells_many(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_member **m = puppet_array(ps, MANY);
	u32 i;

	puppet_post(ps, 0, 0, 0);
	for (i = 0; i < MANY; i++) {
		m[i] = puppet_client(ps);
		refused(ps, m[i], 0, PXR_POOL_FULL);
	}
	EXPECT_IS(ps->e->ready.rooms.nr, MANY);
	/* one that goes is in nobody's list */
	puppet_dies(ps, m[7]);
	EXPECT_IS(ps->e->ready.rooms.nr, MANY - 1);
	puppet_work(ps, worker);
	for (i = 0; i < MANY && ps->e->owing; i++)
		dxk_sweep(ps->e, true);
	EXPECT_IS(ps->e->ready.rooms.nr, 0);
	/* 8 per hold */
	EXPECT(i <= MANY / 8);
	for (i = 0; i < MANY; i++)
		EXPECT(writable(ps, m[i]));
	puppet_end(ps, worker, 0, 0);
}

/* Who no longer executes a request waits for the room that others outside wait for. */
static void room_comes_outside(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *m = puppet_worker(ps), *client = puppet_client(ps);

	puppet_post(ps, 0, 0, 0);
	puppet_work(ps, m);
	puppet_post(ps, 0, 0, 0);
	refused(ps, m, 0, PXR_POOL_FULL);
	refused(ps, client, 0, PXR_POOL_FULL);
	EXPECT(m->refused != client->refused);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(m->refused, client->refused);
	EXPECT_IS(ps->e->ready.rooms.nr, 2);
	puppet_work(ps, puppet_worker(ps));
	EXPECT_IS(ps->polls, 2);
}

/* Of the same lane, but of users with shares: each for itself */
static void room_of_a_share(struct kunit *test)
{
	struct dxk_policy p = puppet_policy(4);
	struct dxk_member *a, *b, *worker;
	struct puppets *ps;
	bool changed;

	p.user_share = 50;
	p.ready_entries = 4;
	ps = puppets_start(test, &p);
	worker = puppet_worker(ps);
	a = puppet_client(ps);
	b = puppet_client(ps);
	a->share = dxk_share_open(ps->e, 1, &changed);
	b->share = dxk_share_open(ps->e, 2, &changed);
	/* half of 4, half of the 2 that are left */
	puppet_taken(ps, puppet_post_nr(ps, a, 2, 8, 0), 2);
	refused(ps, a, 0, PXR_POOL_FULL);
	puppet_taken(ps, puppet_post_nr(ps, b, 1, 9, 0), 1);
	refused(ps, b, 0, PXR_POOL_FULL);
	/* one of a's: now it has one of 3, and b one of 3 */
	EXPECT_IS(puppet_work(ps, worker)->share, a->share);
	EXPECT_IS(ps->polls, 2);
	puppet_end(ps, worker, 0, 0);
	puppet_taken(ps, puppet_post_nr(ps, a, 1, 8, 0), 1);
	refused(ps, a, 0, PXR_POOL_FULL);
	EXPECT_IS(puppet_post_nr(ps, b, 1, 8, 0)->err, -EAGAIN);
	/* the policy gives more */
	p = ps->e->policy;
	p.user_share = 100;
	dxk_enforce(ps->e, &p);
	EXPECT(writable(ps, a) && writable(ps, b));
	/* of what no room helps against it says nothing */
	puppet_taken(ps, puppet_post_nr(ps, a, 1, 8, 0), 1);
	refused(ps, a, 0, PXR_POOL_FULL);
	p.user_share = 50;
	p.max_requests = 4;
	dxk_enforce(ps->e, &p);
	EXPECT(writable(ps, a));
	EXPECT_IS(puppet_post_nr(ps, a, 1, 8, 0)->err, -ENOSPC);
	dxk_share_close(ps->e, a->share);
	dxk_share_close(ps->e, b->share);
}

/* Who waits for room in a lane is told when no room helps any more, whoever has taken the rest */
static void room_no_more_requests(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 10);
	struct dxk_member *worker[3], *a = puppet_client(ps);
	u32 i;

	ps->e->policy.max_requests = 12;
	for (i = 0; i < 3; i++)
		worker[i] = puppet_worker(ps);
	puppet_post_nr(ps, ps->main, 2, 0, PXR_LANE1);
	refused(ps, a, PXR_LANE1, PXR_LANE_FULL);
	puppet_post_nr(ps, ps->main, 4, 0, 0);
	/* of lane 3, and more urgent: they execute while lane 1 is full */
	for (i = 0; i < 3; i++) {
		puppet_post(ps, 8, 5, PXR_REJOIN);
		EXPECT_IS(puppet_work(ps, worker[i])->lane, 3);
	}
	puppet_taken(ps, puppet_post_nr(ps, ps->main, 2, 0, 0), 2);
	EXPECT_IS(ps->polls, 0);
	EXPECT(!writable(ps, a));
	puppet_taken(ps, puppet_post_nr(ps, ps->main, 1, 0, 0), 1);
	EXPECT_IS(ps->polls, 1);
	EXPECT(writable(ps, a));
	EXPECT_IS(puppet_post_nr(ps, a, 1, 0, PXR_LANE1)->err, -ENOSPC);
	for (i = 0; i < 3; i++)
		puppet_end(ps, worker[i], 0, 0);
}

/* DX-107: Stop tells those whom it shuts out; who goes on in a drain waits for room as before */
static void room_ends_with_stop(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *in = puppet_worker(ps), *second = puppet_worker(ps);
	struct dxk_member *out = puppet_client(ps);

	puppet_post(ps, 0, 0, 0);
	puppet_work(ps, in);
	puppet_post(ps, 0, 0, 0);
	refused(ps, in, 0, PXR_POOL_FULL);
	refused(ps, out, 0, PXR_POOL_FULL);
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT(writable(ps, out));
	EXPECT_IS(puppet_post_nr(ps, out, 1, 0, 0)->err, -ESHUTDOWN);
	EXPECT(writable(ps, out));
	EXPECT(!writable(ps, in));
	puppet_work(ps, second);
	EXPECT_IS(ps->polls, 1);
	puppet_taken(ps, puppet_post_nr(ps, in, 1, 0, 0), 1);
	refused(ps, in, 0, PXR_POOL_FULL);
	dxk_stop_begin(ps->e, 0, true, false);
	EXPECT(writable(ps, in));
	EXPECT_IS(ps->e->ready.rooms.nr, 0);
	puppet_end(ps, in, 0, 0);
	puppet_end(ps, second, 0, 0);
}

/* DX-107: who is refused within a request, and ends that, is shut out by a Stop as others are */
static void room_after_a_turn(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	u32 i;

	for (i = 0; i < 2; i++) {
		puppet_post(ps, 0, 0, 0);
		puppet_work(ps, m[i]);
	}
	puppet_post(ps, 0, 0, 0);
	refused(ps, m[0], 0, PXR_POOL_FULL);
	refused(ps, m[1], 0, PXR_POOL_FULL);
	/* the one before, the other one after it has begun */
	puppet_end(ps, m[0], 0, 0);
	EXPECT(!writable(ps, m[0]));
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT(writable(ps, m[0]));
	EXPECT(!writable(ps, m[1]));
	puppet_end(ps, m[1], 0, 0);
	dxk_sweep(ps->e, true);
	EXPECT_IS(ps->e->ready.rooms.nr, 0);
	EXPECT(writable(ps, m[1]));
	EXPECT_IS(puppet_post_nr(ps, m[1], 1, 0, 0)->err, -ESHUTDOWN);
}

/* The same of one that cannot be given what it has fetched. */
static void room_after_a_fault(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_list_op back = { .m = m };
	struct dxk_next_op *n;

	INIT_LIST_HEAD(&back.rqes);
	INIT_LIST_HEAD(&back.ended);
	puppet_post(ps, 0, 0, 0);
	n = puppet_turn(ps, m, 1);
	EXPECT_IS(n->nr, 1);
	puppet_post(ps, 0, 0, 0);
	refused(ps, m, 0, PXR_POOL_FULL);
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT(!writable(ps, m));
	list_splice_init(&n->work, &back.rqes);
	dxk_perform(ps->e, &back.op, dxk_return_run);
	dxk_sweep(ps->e, true);
	EXPECT_IS(ps->e->ready.rooms.nr, 0);
	EXPECT(writable(ps, m));
}

/* There is no room, but waiting for it is in vain: no worker of the kind is wanted any more */
static void room_of_a_closed_kind(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_policy p = ps->e->policy;
	struct dxk_member *m = puppet_client(ps);

	puppet_post(ps, 0, 0, 0);
	refused(ps, m, PXR_KERNEL, PXR_POOL_FULL);
	p.kernel_threads = 0;
	dxk_enforce(ps->e, &p);
	EXPECT_IS(puppet_post_nr(ps, m, 1, 0, PXR_KERNEL)->err, -ENODEV);
	EXPECT(writable(ps, m));
}

static struct kunit_case room_cases[] = {
	KUNIT_CASE(room_becomes_writable),
	KUNIT_CASE(room_of_a_closed_kind),
	KUNIT_CASE(room_of_a_lane),
	KUNIT_CASE(room_to_rejoin),
	KUNIT_CASE(room_behind_a_sleeper),
	KUNIT_CASE(room_tells_many),
	KUNIT_CASE(room_of_a_share),
	KUNIT_CASE(room_comes_outside),
	KUNIT_CASE(room_no_more_requests),
	KUNIT_CASE(room_ends_with_stop),
	KUNIT_CASE(room_after_a_turn),
	KUNIT_CASE(room_after_a_fault),
	{ }
};

static struct kunit_suite room_suite = {
	.name = "dxk_room",
	.exit = puppets_end,
	.test_cases = room_cases,
};

kunit_test_suite(room_suite);
