// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The table of transitions (DX-34) against a list of its own, and what every
 * move does to the counts of the owner, the context and the lanes.
 */
#include <kunit/test.h>

#include "engine/state.h"
#include "engine/tests/draw.h"

/* FREE is also what a request was before its post. */
static const enum dxk_state legal[][2] = {
	{ DXK_FREE, DXK_POSTED },
	{ DXK_POSTED, DXK_READY },
	{ DXK_POSTED, DXK_FREE },
	{ DXK_READY, DXK_DISPATCHED },
	{ DXK_READY, DXK_CANCELLED },
	{ DXK_DISPATCHED, DXK_BUSY },
	{ DXK_DISPATCHED, DXK_READY },
	{ DXK_BUSY, DXK_REJOIN },
	{ DXK_BUSY, DXK_FREE },
	{ DXK_REJOIN, DXK_FREE },
	{ DXK_CANCELLED, DXK_REJOIN },
	{ DXK_CANCELLED, DXK_FREE },
	{ DXK_BUSY, DXK_READY },
	{ DXK_POSTED, DXK_WAITING },
	{ DXK_BUSY, DXK_WAITING },
	{ DXK_WAITING, DXK_READY },
	{ DXK_WAITING, DXK_CANCELLED },
	{ DXK_READY, DXK_WAITING },
};

struct counts {
	u32 ready;
	u32 work;
	u32 rejoin;
	u32 wait;
};

static struct counts counts_of(enum dxk_state state)
{
	return (struct counts) {
		.ready = state == DXK_READY,
		.work = state == DXK_DISPATCHED || state == DXK_BUSY,
		.rejoin = state == DXK_REJOIN,
		.wait = state == DXK_WAITING,
	};
}

struct bench {
	struct dxk_engine e;
	struct dxk_owner own[2];
};

static struct bench *bench_make(struct kunit *test)
{
	struct bench *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	spin_lock_init(&b->e.lock);
	return b;
}

/* dxk_move() takes constants only: an illegal move is an error of the compiler. */
static void move(struct dxk_engine *e, struct dxk_rqe *rqe, u32 i)
{
	spin_lock(&e->lock);
	switch (i) {
	case 0:
		dxk_move(e, rqe, DXK_FREE, DXK_POSTED);
		break;
	case 1:
		dxk_move(e, rqe, DXK_POSTED, DXK_READY);
		break;
	case 2:
		dxk_move(e, rqe, DXK_POSTED, DXK_FREE);
		break;
	case 3:
		dxk_move(e, rqe, DXK_READY, DXK_DISPATCHED);
		break;
	case 4:
		dxk_move(e, rqe, DXK_READY, DXK_CANCELLED);
		break;
	case 5:
		dxk_move(e, rqe, DXK_DISPATCHED, DXK_BUSY);
		break;
	case 6:
		dxk_move(e, rqe, DXK_DISPATCHED, DXK_READY);
		break;
	case 7:
		dxk_move(e, rqe, DXK_BUSY, DXK_REJOIN);
		break;
	case 8:
		dxk_move(e, rqe, DXK_BUSY, DXK_FREE);
		break;
	case 9:
		dxk_move(e, rqe, DXK_REJOIN, DXK_FREE);
		break;
	case 10:
		dxk_move(e, rqe, DXK_CANCELLED, DXK_REJOIN);
		break;
	case 11:
		dxk_move(e, rqe, DXK_CANCELLED, DXK_FREE);
		break;
	case 12:
		dxk_move(e, rqe, DXK_BUSY, DXK_READY);
		break;
	case 13:
		dxk_move(e, rqe, DXK_POSTED, DXK_WAITING);
		break;
	case 14:
		dxk_move(e, rqe, DXK_BUSY, DXK_WAITING);
		break;
	case 15:
		dxk_move(e, rqe, DXK_WAITING, DXK_READY);
		break;
	case 16:
		dxk_move(e, rqe, DXK_WAITING, DXK_CANCELLED);
		break;
	case 17:
		dxk_move(e, rqe, DXK_READY, DXK_WAITING);
		break;
	}
	spin_unlock(&e->lock);
}

/* DX-34: all pairs */
static void move_table_is_the_list(struct kunit *test)
{
	u32 from, to, i, nr = 0;

	for (from = 0; from < DXK_STATES; from++)
		for (to = 0; to < DXK_STATES; to++) {
			bool listed = false;

			for (i = 0; i < ARRAY_SIZE(legal); i++)
				listed |= legal[i][0] == from && legal[i][1] == to;
			KUNIT_EXPECT_EQ_MSG(test, dxk_move_legal(from, to), listed,
					    "from %u to %u", from, to);
			nr += listed;
		}
	KUNIT_EXPECT_EQ(test, nr, ARRAY_SIZE(legal));
	/* every state can be reached, and left */
	for (from = 0; from < DXK_STATES; from++) {
		bool in = false, out = false;

		for (to = 0; to < DXK_STATES; to++) {
			out |= dxk_move_legal(from, to);
			in |= dxk_move_legal(to, from);
		}
		KUNIT_EXPECT_TRUE(test, in && out);
	}
}

/* Compare all that a move may have changed; @c: of the only request there is. */
static void expect_counts(struct kunit *test, const struct bench *b,
			  const struct dxk_rqe *rqe, struct counts c, u32 i)
{
	const struct dxk_engine *e = &b->e;
	const u32 *own = b->own[0].nr;
	u32 kind, lane;

	KUNIT_EXPECT_EQ_MSG(test, own[DXK_AT_READY], c.ready, "move %u", i);
	KUNIT_EXPECT_EQ_MSG(test, own[DXK_AT_WORK], c.work, "move %u", i);
	KUNIT_EXPECT_EQ_MSG(test, own[DXK_AT_REJOIN], c.rejoin, "move %u", i);
	KUNIT_EXPECT_EQ_MSG(test, own[DXK_AT_WAIT], c.wait, "move %u", i);
	KUNIT_EXPECT_EQ(test, memcmp(e->nr, own, sizeof(e->nr)), 0);
	KUNIT_EXPECT_EQ(test, dxk_live(e), c.ready + c.work + c.rejoin + c.wait);
	KUNIT_EXPECT_EQ(test, dxk_owner_live(&b->own[1]), 0);
	for (lane = 0; lane < DXK_LANES; lane++) {
		KUNIT_EXPECT_EQ(test, e->ready.lanes.used[lane],
				lane == rqe->lane ? c.ready : 0);
		for (kind = 0; kind < DXK_KINDS; kind++)
			KUNIT_EXPECT_EQ(test, e->crew.lanes[kind].used[lane],
					lane == rqe->lane && kind == rqe->kind ?
					c.work : 0);
	}
}

/* DX-34: each move, from counts that hold just this request, in each lane */
static void move_counts_each(struct kunit *test)
{
	struct bench *b = bench_make(test);
	struct dxk_engine *e = &b->e;
	u32 i, lane, kind;

	for (i = 0; i < ARRAY_SIZE(legal); i++)
		for (lane = 0; lane < DXK_LANES; lane++)
			for (kind = 0; kind < DXK_KINDS; kind++) {
				struct counts c = counts_of(legal[i][0]);
				struct dxk_rqe rqe = {
					.owner = &b->own[0], .lane = lane,
					.kind = kind, .state = legal[i][0],
				};

				memset(e->high, 0, sizeof(e->high));
				e->nr[DXK_AT_READY] = c.ready;
				e->nr[DXK_AT_WORK] = c.work;
				e->nr[DXK_AT_REJOIN] = c.rejoin;
				e->nr[DXK_AT_WAIT] = c.wait;
				memcpy(b->own[0].nr, e->nr, sizeof(e->nr));
				memset(&e->ready.lanes, 0, sizeof(e->ready.lanes));
				memset(e->crew.lanes, 0, sizeof(e->crew.lanes));
				e->ready.lanes.used[lane] = c.ready;
				e->crew.lanes[kind].used[lane] = c.work;

				e->steps = 0;
				move(e, &rqe, i);
				KUNIT_EXPECT_EQ(test, rqe.state, legal[i][1]);
				/* a step of the hold; that to CANCELLED is one with the next */
				KUNIT_EXPECT_EQ(test, e->steps,
						OS_DEBUG && legal[i][1] != DXK_CANCELLED);
				expect_counts(test, b, &rqe, counts_of(legal[i][1]), i);
			}
}

/* DX-34: many requests on random ways; each is in one place, the sum is all */
static void move_sum_is_live(struct kunit *test)
{
	struct bench *b = bench_make(test);
	struct dxk_rqe *rqe = kunit_kcalloc(test, 24, sizeof(*rqe), GFP_KERNEL);
	u64 rnd = 7;
	u32 step, i, most = 0;

	KUNIT_ASSERT_NOT_NULL(test, rqe);
	for (step = 0; step < 3000; step++) {
		struct dxk_rqe *r = &rqe[draw_u32(&rnd) % 24];
		struct counts sum = { }, own = { };
		u32 used = 0, l;

		i = draw_u32(&rnd) % ARRAY_SIZE(legal);
		if (r->state == DXK_FREE) {
			r->owner = &b->own[draw_u32(&rnd) % 2];
			r->lane = draw_u32(&rnd) % DXK_LANES;
			r->kind = draw_u32(&rnd) % DXK_KINDS;
		}
		if (legal[i][0] != r->state)
			continue;
		move(&b->e, r, i);

		for (i = 0; i < 24; i++) {
			struct counts c = counts_of(rqe[i].state);

			sum.ready += c.ready;
			sum.work += c.work;
			sum.rejoin += c.rejoin;
			sum.wait += c.wait;
			own.ready += rqe[i].owner == &b->own[0] && c.ready;
			own.work += rqe[i].owner == &b->own[0] && c.work;
		}
		for (l = 0; l < DXK_LANES; l++)
			used += b->e.crew.lanes[DXK_USER].used[l] +
				b->e.crew.lanes[DXK_KERNEL].used[l];
		KUNIT_ASSERT_EQ(test, b->e.nr[DXK_AT_READY], sum.ready);
		KUNIT_ASSERT_EQ(test, b->e.nr[DXK_AT_WORK], sum.work);
		KUNIT_ASSERT_EQ(test, b->e.nr[DXK_AT_REJOIN], sum.rejoin);
		KUNIT_ASSERT_EQ(test, b->e.nr[DXK_AT_WAIT], sum.wait);
		KUNIT_ASSERT_EQ(test, b->own[0].nr[DXK_AT_READY], own.ready);
		KUNIT_ASSERT_EQ(test, b->own[0].nr[DXK_AT_WORK], own.work);
		KUNIT_ASSERT_EQ(test, dxk_live(&b->e),
				dxk_owner_live(&b->own[0]) + dxk_owner_live(&b->own[1]));
		KUNIT_ASSERT_EQ(test, used, sum.work);
		most = max(most, sum.ready);
	}
	KUNIT_EXPECT_EQ(test, b->e.high[DXK_AT_READY], most);
	KUNIT_EXPECT_GT(test, most, 2);
}

/* An embedded request that is queued again is as it was at first, whatever its run did. */
static void move_again(struct kunit *test)
{
	struct dxk_rqe rqe = {
		.state = DXK_FREE, .own_prio = 5, .prio = 7, .inspect = 2, .ticket = 3,
		.posted = 1, .attempts = 2, .worker = 4, .extra = true,
	};

	dxk_rqe_again(&rqe);
	KUNIT_EXPECT_EQ(test, rqe.state, DXK_POSTED);
	KUNIT_EXPECT_EQ(test, rqe.prio, 5);
	KUNIT_EXPECT_EQ(test, rqe.inspect, 0);
	KUNIT_EXPECT_EQ(test, rqe.ticket, 0);
	/* its times are not accounted, unless they are taken */
	KUNIT_EXPECT_EQ(test, rqe.posted, 0);
	KUNIT_EXPECT_EQ(test, rqe.attempts, 0);
	KUNIT_EXPECT_EQ(test, rqe.worker, 0);
	KUNIT_EXPECT_FALSE(test, rqe.extra);
}

static struct kunit_case move_cases[] = {
	KUNIT_CASE(move_table_is_the_list),
	KUNIT_CASE(move_counts_each),
	KUNIT_CASE(move_sum_is_live),
	KUNIT_CASE(move_again),
	{ }
};

static struct kunit_suite move_suite = {
	.name = "dxk_move",
	.test_cases = move_cases,
};

kunit_test_suite(move_suite);
