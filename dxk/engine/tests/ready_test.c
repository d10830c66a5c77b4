// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The Ready Pool against the model that it replaces: a scan. The model keeps the
 * current priority of each entry as a number of its own, visits all entries at
 * every interval, and searches all of them for the next one.
 */
#include <kunit/test.h>

#include "engine/order.h"
#include "engine/ready.h"
#include "engine/tests/draw.h"

#define ENTRIES		48
#define STEPS		400

enum place { NOT_POSTED, IN_POOL, TAKEN };

struct entry {
	struct dxk_rqe rqe;
	enum place place;
	s64 prio;		/* current, by the model */
	u64 born;		/* order of posts */
	u32 seen;		/* intervals since the post */
};

struct model {
	u64 rnd;
	struct dxk_ready ready;
	struct entry e[ENTRIES];
	u64 posts;
	bool age, boost;
	u32 value;
	u32 span;		/* of most priorities */
	u32 rowed, treed;	/* entries that came to a row, and to a tree */
};

static u32 draw(struct model *m, u32 below)
{
	return draw_u32(&m->rnd) % below;
}

static struct entry *entry_of(struct dxk_rqe *rqe)
{
	return rqe ? container_of(rqe, struct entry, rqe) : NULL;
}

static void open_lanes(struct dxk_lanes *lanes)
{
	u32 l;

	memset(lanes, 0, sizeof(*lanes));
	for (l = 0; l < DXK_LANES; l++)
		lanes->quota[l] = U32_MAX;
}

static void post(struct dxk_ready *ready, struct entry *e, s32 prio, u32 attrs,
		 u8 lane, u8 kind)
{
	e->rqe = (struct dxk_rqe) {
		.prio = prio, .attrs = attrs, .lane = lane, .kind = kind,
	};
	e->prio = prio;
	e->seen = 0;
	e->place = IN_POOL;
	dxk_ready_add(ready, &e->rqe);
}

static struct entry *best_of(struct dxk_ready *ready)
{
	struct dxk_lanes lanes;

	open_lanes(&lanes);
	return entry_of(dxk_ready_best(ready, DXK_USER, &lanes));
}

/* --- the model -------------------------------------------------------------- */

static void model_post(struct model *m, struct entry *e)
{
	static const s32 edges[] = { S32_MIN, S32_MIN + 1, -1, 0, S32_MAX - 1, S32_MAX };
	s32 prio = draw(m, 8) ? (s32)draw(m, m->span) - 20 : edges[draw(m, 6)];

	e->born = m->posts++;
	post(&m->ready, e, prio, draw(m, 2) ? PXR_BOOST : 0, draw(m, DXK_LANES),
	     draw(m, DXK_KINDS));
}

static void model_came(struct model *m, const struct entry *e)
{
	m->rowed += !e->rqe.treed;
	m->treed += e->rqe.treed;
}

/* A request that was taken and comes back has aged as if it had never left. */
static void model_tick(struct model *m)
{
	u32 i;

	for (i = 0; i < ENTRIES; i++) {
		struct entry *e = &m->e[i];

		if (e->place == NOT_POSTED)
			continue;
		e->seen++;
		if (m->age)
			e->prio++;
		if (m->age && m->boost && e->rqe.attrs & PXR_BOOST)
			e->prio += m->value;
	}
	dxk_ready_tick(&m->ready, m->age, m->boost, m->value);
}

static bool model_admits(const struct dxk_lanes *l, u32 lane)
{
	const u32 *u = l->used, *q = l->quota;

	if (lane <= 0 && u[0] + 1 > q[0])
		return false;
	if (lane <= 1 && u[0] + u[1] + 1 > q[1])
		return false;
	if (lane <= 2 && u[0] + u[1] + u[2] + 1 > q[2])
		return false;
	return u[0] + u[1] + u[2] + u[3] + 1 <= q[3];
}

static struct entry *model_best(struct model *m, u8 kind, const struct dxk_lanes *lanes)
{
	struct entry *best = NULL;
	u32 i;

	for (i = 0; i < ENTRIES; i++) {
		struct entry *e = &m->e[i];

		if (e->place != IN_POOL || e->rqe.kind != kind ||
		    !model_admits(lanes, e->rqe.lane))
			continue;
		if (!best || e->prio > best->prio ||
		    (e->prio == best->prio && e->born < best->born))
			best = e;
	}
	return best;
}

/* Differences between pool and model: counts, priorities, inspect counts. */
static u32 model_differs(struct model *m)
{
	u32 nr[DXK_KINDS][DXK_LANES] = { };
	u32 i, k, l, all = 0, bad = 0;

	for (i = 0; i < ENTRIES; i++) {
		struct entry *e = &m->e[i];

		if (e->place == NOT_POSTED)
			continue;
		bad += dxk_ready_prio(&m->ready, &e->rqe) != e->prio;
		bad += m->ready.tick - e->rqe.tick0 != e->seen;
		if (e->place == IN_POOL) {
			nr[e->rqe.kind][e->rqe.lane]++;
			all++;
		}
	}
	for (k = 0; k < DXK_KINDS; k++)
		for (l = 0; l < DXK_LANES; l++)
			bad += m->ready.nr[k][l] != nr[k][l];
	bad += dxk_ready_empty(&m->ready) != !all;
	bad += !dxk_ready_first(&m->ready) != !all;
	return bad;
}

static struct entry *model_any(struct model *m, enum place place)
{
	u32 i, first = draw(m, ENTRIES);

	for (i = 0; i < ENTRIES; i++)
		if (m->e[(first + i) % ENTRIES].place == place)
			return &m->e[(first + i) % ENTRIES];
	return NULL;
}

/* Ask both for the next entry and take it out of both. */
static u32 model_take(struct model *m, u8 kind, const struct dxk_lanes *lanes,
		      bool keep)
{
	struct entry *want = model_best(m, kind, lanes);
	struct entry *best = entry_of(dxk_ready_best(&m->ready, kind, lanes));
	struct entry *got = entry_of(dxk_ready_take(&m->ready, kind, lanes));

	if (got)
		got->place = keep ? TAKEN : NOT_POSTED;
	return want != got || want != best;
}

static u32 model_step(struct model *m)
{
	struct dxk_lanes lanes;
	struct entry *e;
	u32 l;

	switch (draw(m, 10)) {
	case 0 ... 3:
		e = model_any(m, NOT_POSTED);
		if (!e)
			break;
		model_post(m, e);
		model_came(m, e);
		break;
	case 4 ... 5:
		model_tick(m);
		break;
	case 6:
		m->age = draw(m, 4);
		m->boost = draw(m, 2);
		m->value = draw(m, 8) ? draw(m, 6) : 1U << 16;
		break;
	case 7:
		e = model_any(m, TAKEN);
		if (e) {
			dxk_ready_put_back(&m->ready, &e->rqe);
			e->place = IN_POOL;
			model_came(m, e);
		}
		break;
	case 8:
		e = model_any(m, IN_POOL);
		if (e) {
			dxk_ready_remove(&m->ready, &e->rqe);
			e->place = NOT_POSTED;
		}
		break;
	default:
		for (l = 0; l < DXK_LANES; l++) {
			lanes.used[l] = draw(m, 3);
			lanes.quota[l] = draw(m, 8);
		}
		return model_take(m, draw(m, DXK_KINDS), &lanes, draw(m, 2));
	}
	return 0;
}

/* DX-56..DX-62, DX-65, DX-66, DX-73, S-4: order and priority, at all times */
static void ready_equals_a_scan(struct kunit *test)
{
	static const u32 spans[] = { 2, 40, DXK_ROWS, DXK_ROWS + 1, 200 };
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	struct dxk_lanes lanes;
	u32 seed, step, kind, bad;

	KUNIT_ASSERT_NOT_NULL(test, m);
	open_lanes(&lanes);
	for (seed = 1; seed <= 24; seed++) {
		memset(m, 0, sizeof(*m));
		m->rnd = seed;
		dxk_ready_init(&m->ready);
		m->age = true;
		/* within the rows of a queue, and beyond them */
		m->span = spans[seed % ARRAY_SIZE(spans)];
		for (step = bad = 0; step < STEPS && !bad; step++)
			bad = model_step(m) + model_differs(m);
		KUNIT_ASSERT_EQ_MSG(test, bad, 0, "seed %u, step %u", seed, step);
		KUNIT_EXPECT_GT(test, m->rowed, 0);
		KUNIT_EXPECT_GT(test, m->treed, 0);

		/* what is left comes out in the model's order */
		for (kind = 0; kind < DXK_KINDS; kind++)
			while (model_best(m, kind, &lanes) && !bad)
				bad = model_take(m, kind, &lanes, false);
		KUNIT_ASSERT_EQ_MSG(test, bad, 0, "seed %u, at its end", seed);
		KUNIT_ASSERT_TRUE(test, dxk_ready_empty(&m->ready));
	}
}

/* --- single rules ----------------------------------------------------------- */

/* S-3, DX-60: boosted 0 gains 5 an interval, plain 10 gains 1; 5k > 10 + k from 3 */
static void ready_boost_table(struct kunit *test)
{
	static const bool boosted_first[] = { 0, 0, 0, 1, 1, 1, 1 };
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 k;

	KUNIT_ASSERT_NOT_NULL(test, m);
	dxk_ready_init(&m->ready);
	post(&m->ready, &m->e[0], 0, PXR_BOOST, 3, DXK_USER);
	post(&m->ready, &m->e[1], 10, 0, 3, DXK_USER);
	for (k = 0; k < ARRAY_SIZE(boosted_first); k++) {
		KUNIT_EXPECT_EQ(test, dxk_ready_prio(&m->ready, &m->e[0].rqe), 5 * k);
		KUNIT_EXPECT_EQ(test, dxk_ready_prio(&m->ready, &m->e[1].rqe), 10 + k);
		KUNIT_EXPECT_PTR_EQ_MSG(test, best_of(&m->ready),
					&m->e[!boosted_first[k]], "k %u", k);
		dxk_ready_tick(&m->ready, true, true, 4);
	}
}

/* DX-61, DX-62: without ageing nothing changes, with or without boosting */
static void ready_boost_needs_ageing(struct kunit *test)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	dxk_ready_init(&m->ready);
	post(&m->ready, &m->e[0], 7, PXR_BOOST, 3, DXK_USER);
	post(&m->ready, &m->e[1], 8, 0, 3, DXK_USER);
	dxk_ready_tick(&m->ready, false, true, 100);
	dxk_ready_tick(&m->ready, false, false, 100);
	KUNIT_EXPECT_EQ(test, dxk_ready_prio(&m->ready, &m->e[0].rqe), 7);
	KUNIT_EXPECT_EQ(test, dxk_ready_prio(&m->ready, &m->e[1].rqe), 8);
	/* DX-36: they were seen all the same */
	KUNIT_EXPECT_EQ(test, m->ready.tick - m->e[0].rqe.tick0, 2);
}

/* DX-48, DX-57: equals leave in the order of their posts, in whatever tree */
static void ready_equals_are_fifo(struct kunit *test)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	dxk_ready_init(&m->ready);
	for (i = 0; i < ENTRIES; i++)
		post(&m->ready, &m->e[i], -3, i % 3 ? PXR_BOOST : 0,
		     i * 7 % DXK_LANES, DXK_USER);
	for (i = 0; i < ENTRIES; i++) {
		KUNIT_ASSERT_PTR_EQ(test, best_of(&m->ready), &m->e[i]);
		dxk_ready_remove(&m->ready, &m->e[i].rqe);
	}
	KUNIT_EXPECT_NULL(test, best_of(&m->ready));
}

/* DX-63: what came later has not aged before it came */
static void ready_ages_in_the_pool_only(struct kunit *test)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 k;

	KUNIT_ASSERT_NOT_NULL(test, m);
	dxk_ready_init(&m->ready);
	for (k = 0; k < 9; k++)
		dxk_ready_tick(&m->ready, true, true, 3);
	post(&m->ready, &m->e[0], 1, 0, 3, DXK_USER);
	post(&m->ready, &m->e[1], 1, PXR_BOOST, 3, DXK_USER);
	KUNIT_EXPECT_EQ(test, dxk_ready_prio(&m->ready, &m->e[0].rqe), 1);
	KUNIT_EXPECT_EQ(test, dxk_ready_prio(&m->ready, &m->e[1].rqe), 1);
	KUNIT_EXPECT_EQ(test, m->ready.tick - m->e[0].rqe.tick0, 0);
	KUNIT_EXPECT_PTR_EQ(test, best_of(&m->ready), &m->e[0]);
}

/* DX-64: q passes p, posted d intervals before, only while d < q - p */
static void ready_overtaking_is_bounded(struct kunit *test)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 q, d, k;

	KUNIT_ASSERT_NOT_NULL(test, m);
	for (q = 0; q < 6; q++)
		for (d = 0; d < 8; d++) {
			dxk_ready_init(&m->ready);
			post(&m->ready, &m->e[0], 0, 0, 3, DXK_USER);
			for (k = 0; k < d; k++)
				dxk_ready_tick(&m->ready, true, false, 0);
			post(&m->ready, &m->e[1], q, 0, 2, DXK_USER);
			/* nor does this change as long as both wait */
			for (k = 0; k < 3; k++) {
				KUNIT_EXPECT_PTR_EQ_MSG(test, best_of(&m->ready),
							&m->e[d < q],
							"q %u after %u", q, d);
				dxk_ready_tick(&m->ready, true, false, 0);
			}
		}
}

/* The rows move both ways, as far as those allow that are used, and no further. */
static void ready_rows_move(struct kunit *test)
{
	static const struct {
		s32 prio;
		bool treed;
	} step[] = {
		{ 100 }, { 163 }, { 164, true }, { 99, true }, { 101 },
		/* 100 goes: one up, and 100 has none */
		{ 164 }, { 100, true },
		/* 163 and 164 go: far down, from 101 on */
		{ 39, false }, { 38 }, { 37, true }, { 102, true },
	};
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	dxk_ready_init(&m->ready);
	for (i = 0; i < ARRAY_SIZE(step); i++) {
		if (i == 5)
			dxk_ready_remove(&m->ready, &m->e[0].rqe);
		if (i == 7) {
			dxk_ready_remove(&m->ready, &m->e[1].rqe);
			dxk_ready_remove(&m->ready, &m->e[5].rqe);
		}
		post(&m->ready, &m->e[i], step[i].prio, 0, 3, DXK_USER);
		KUNIT_EXPECT_EQ_MSG(test, m->e[i].rqe.treed, step[i].treed, "step %u", i);
	}
	/* 164 of the tree, 102, 101, 100, 99 */
	KUNIT_EXPECT_PTR_EQ(test, best_of(&m->ready), &m->e[2]);
	dxk_ready_remove(&m->ready, &m->e[2].rqe);
	KUNIT_EXPECT_PTR_EQ(test, best_of(&m->ready), &m->e[10]);
	dxk_ready_remove(&m->ready, &m->e[10].rqe);
	KUNIT_EXPECT_PTR_EQ(test, best_of(&m->ready), &m->e[4]);
	dxk_ready_remove(&m->ready, &m->e[4].rqe);
	KUNIT_EXPECT_PTR_EQ(test, best_of(&m->ready), &m->e[6]);
	dxk_ready_remove(&m->ready, &m->e[6].rqe);
	KUNIT_EXPECT_PTR_EQ(test, best_of(&m->ready), &m->e[3]);
}

/* Just above the rows, whose lowest is unused: they move by one, and the order is right. */
static void ready_rows_move_by_one(struct kunit *test)
{
	static const s32 prio[] = { 0, 1, 200, 64, 2 };
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	dxk_ready_init(&m->ready);
	for (i = 0; i < ARRAY_SIZE(prio); i++) {
		post(&m->ready, &m->e[i], prio[i], 0, 3, DXK_USER);
		KUNIT_EXPECT_EQ(test, m->e[i].rqe.treed, prio[i] == 200);
		if (i == 1)
			dxk_ready_remove(&m->ready, &m->e[0].rqe);
	}
	for (i = 2; i < ARRAY_SIZE(prio); i++) {
		KUNIT_EXPECT_PTR_EQ(test, best_of(&m->ready), &m->e[i]);
		dxk_ready_remove(&m->ready, &m->e[i].rqe);
	}
	KUNIT_EXPECT_PTR_EQ(test, best_of(&m->ready), &m->e[1]);
}

/* Who comes back goes to the front of its row, or in its midst by way of the tree. */
static void ready_row_midst(struct kunit *test)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	dxk_ready_init(&m->ready);
	for (i = 0; i < 5; i++)
		post(&m->ready, &m->e[i], 7, 0, 3, DXK_USER);
	dxk_ready_remove(&m->ready, &m->e[0].rqe);
	dxk_ready_remove(&m->ready, &m->e[2].rqe);
	dxk_ready_remove(&m->ready, &m->e[4].rqe);
	dxk_ready_put_back(&m->ready, &m->e[2].rqe);
	KUNIT_EXPECT_TRUE(test, m->e[2].rqe.treed);
	dxk_ready_put_back(&m->ready, &m->e[0].rqe);
	KUNIT_EXPECT_FALSE(test, m->e[0].rqe.treed);
	dxk_ready_put_back(&m->ready, &m->e[4].rqe);
	KUNIT_EXPECT_FALSE(test, m->e[4].rqe.treed);
	/* between one that came back and others */
	dxk_ready_remove(&m->ready, &m->e[1].rqe);
	dxk_ready_put_back(&m->ready, &m->e[1].rqe);
	KUNIT_EXPECT_TRUE(test, m->e[1].rqe.treed);
	for (i = 0; i < 5; i++) {
		KUNIT_ASSERT_PTR_EQ(test, best_of(&m->ready), &m->e[i]);
		dxk_ready_remove(&m->ready, &m->e[i].rqe);
	}
	KUNIT_EXPECT_TRUE(test, dxk_ready_empty(&m->ready));
}

/* A pool is empty and nobody sleeps for room in it, whatever its memory was. */
static void ready_begins_empty(struct kunit *test)
{
	struct model *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, m);
	memset(&m->ready, 0xa5, sizeof(m->ready));
	dxk_ready_init(&m->ready);
	KUNIT_EXPECT_TRUE(test, dxk_ready_empty(&m->ready));
	KUNIT_EXPECT_FALSE(test, dxk_ready_has_posters(&m->ready));
	KUNIT_EXPECT_EQ(test, m->ready.tick, 0);
	for (i = 0; i < DXK_CLASSES; i++)
		KUNIT_EXPECT_EQ(test, m->ready.gained[i], 0);
	for (i = 0; i < DXK_LANES; i++)
		KUNIT_EXPECT_EQ(test, m->ready.asleep[i], 0);
}

static struct kunit_case ready_cases[] = {
	KUNIT_CASE(ready_begins_empty),
	KUNIT_CASE(ready_rows_move),
	KUNIT_CASE(ready_rows_move_by_one),
	KUNIT_CASE(ready_row_midst),
	KUNIT_CASE(ready_equals_a_scan),
	KUNIT_CASE(ready_boost_table),
	KUNIT_CASE(ready_boost_needs_ageing),
	KUNIT_CASE(ready_equals_are_fifo),
	KUNIT_CASE(ready_ages_in_the_pool_only),
	KUNIT_CASE(ready_overtaking_is_bounded),
	{ }
};

static struct kunit_suite ready_suite = {
	.name = "dxk_ready",
	.test_cases = ready_cases,
};

kunit_test_suite(ready_suite);
