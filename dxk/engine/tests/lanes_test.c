// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The lanes against three independent descriptions of the same rule: the worked
 * table, the formulas solved for each lane, and Hall's condition.
 */
#include <kunit/test.h>

#include "engine/lanes.h"

struct profile {
	u32 n;			/* 10 workers, or 100 Ready Pool entries */
	u32 u[DXK_LANES];
	bool legal;
};

/* Lanes 0..2 have 0, 20 and 20 percent. */
static const struct profile profiles[] = {
	{ 10, { 0, 2, 2, 6 }, true },
	{ 10, { 0, 1, 3, 6 }, true },
	{ 10, { 0, 0, 4, 6 }, true },
	{ 10, { 0, 0, 0, 10 }, true },
	{ 10, { 0, 3, 0, 0 }, false },
	{ 10, { 0, 2, 3, 0 }, false },
	{ 10, { 0, 2, 4, 0 }, false },
	{ 10, { 0, 0, 5, 0 }, false },
	{ 10, { 0, 0, 4, 7 }, false },
	{ 10, { 1, 0, 0, 0 }, false },
	{ 100, { 0, 20, 20, 60 }, true },
	{ 100, { 0, 0, 40, 60 }, true },
	{ 100, { 0, 10, 30, 60 }, true },
	{ 100, { 0, 0, 0, 100 }, true },
	{ 100, { 0, 21, 0, 0 }, false },
	{ 100, { 0, 20, 21, 0 }, false },
	{ 100, { 0, 10, 31, 0 }, false },
	{ 100, { 0, 0, 41, 0 }, false },
	{ 100, { 0, 0, 40, 61 }, false },
};

static const u32 example[] = { 0, 20, 20 };

static void profile_name(const struct profile *p, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%u of %u-%u-%u-%u", p->n, p->u[0],
		 p->u[1], p->u[2], p->u[3]);
}

KUNIT_ARRAY_PARAM(profile, profiles, profile_name);

static bool fill(struct dxk_lanes *lanes, u32 lane, u32 nr)
{
	while (nr--) {
		if (!dxk_lanes_admit(lanes, lane))
			return false;
		lanes->used[lane]++;
	}
	return true;
}

/*
 * DX-67..DX-72: a profile can be reached iff it is legal, whichever lane comes
 * first (DX-70: what lane 2 has borrowed counts against lane 1 as well).
 */
static void lanes_worked_table(struct kunit *test)
{
	const struct profile *p = test->param_value;
	struct dxk_lanes lanes;
	u32 order, i, lane, orders = 0;

	for (order = 0; order < 256; order++) {
		u32 seen = 0;
		bool all = true;

		for (i = 0; i < DXK_LANES; i++)
			seen |= BIT(order >> 2 * i & 3);
		if (seen != 0xf)
			continue;
		orders++;
		memset(&lanes, 0, sizeof(lanes));
		dxk_lanes_set(&lanes, true, p->n, example);
		for (i = 0; i < DXK_LANES && all; i++) {
			lane = order >> 2 * i & 3;
			all = fill(&lanes, lane, p->u[lane]);
		}
		KUNIT_EXPECT_EQ_MSG(test, all, p->legal, "order %x", order);
	}
	KUNIT_EXPECT_EQ(test, orders, 24);
}

/* A4, DX-76: rounded down, but a lane that is on owns one */
static void lanes_quota_rounds(struct kunit *test)
{
	struct dxk_lanes lanes = { };
	u32 n, pct;

	for (n = 1; n <= 600; n += n < 20 ? 1 : 29) {
		KUNIT_EXPECT_EQ(test, dxk_lanes_quota(n, 0), 0);
		KUNIT_EXPECT_EQ(test, dxk_lanes_quota(n, 100), n);
		for (pct = 1; pct < 100; pct++) {
			u32 q = dxk_lanes_quota(n, pct);

			/* the largest q with 100 q <= n pct; or 1 */
			if (q == 1)
				KUNIT_EXPECT_GT(test, 200, n * pct);
			else
				KUNIT_EXPECT_TRUE(test, q && q * 100 <= n * pct &&
						  (q + 1) * 100 > n * pct);
		}
	}
	KUNIT_EXPECT_EQ(test, dxk_lanes_quota(4, 20), 1);
	/* does not overflow */
	KUNIT_EXPECT_EQ(test, dxk_lanes_quota(U32_MAX, 100), U32_MAX);
	KUNIT_EXPECT_EQ(test, dxk_lanes_quota(1U << 31, 50), 1U << 30);

	dxk_lanes_set(&lanes, true, 10, (const u32[]) { 10, 33, 27 });
	KUNIT_EXPECT_EQ(test, lanes.quota[0], 1);
	KUNIT_EXPECT_EQ(test, lanes.quota[1], 1 + 3);
	KUNIT_EXPECT_EQ(test, lanes.quota[2], 1 + 3 + 2);
	KUNIT_EXPECT_EQ(test, lanes.quota[3], 10);
	/* a crew smaller than the policy wants: never more than there are */
	dxk_lanes_set(&lanes, true, 1, (const u32[]) { 10, 33, 27 });
	KUNIT_EXPECT_EQ(test, lanes.quota[2], 1);
	dxk_lanes_set(&lanes, true, 0, (const u32[]) { 10, 33, 27 });
	KUNIT_EXPECT_EQ(test, lanes.quota[0] + lanes.quota[3], 0);
}

/* DX-46, DX-72: a closed lane; DX-47: no lane is closed or limited without CMLS */
static void lanes_closed_and_off(struct kunit *test)
{
	struct dxk_lanes lanes = { };
	u32 l;

	dxk_lanes_set(&lanes, true, 10, example);
	KUNIT_EXPECT_TRUE(test, dxk_lanes_closed(&lanes, 0));
	KUNIT_EXPECT_FALSE(test, dxk_lanes_admit(&lanes, 0));
	KUNIT_EXPECT_EQ(test, dxk_lanes_limit(&lanes, 0), 0);
	for (l = 1; l < DXK_LANES; l++)
		KUNIT_EXPECT_FALSE(test, dxk_lanes_closed(&lanes, l));
	/* full is not closed */
	lanes.used[1] = 2;
	KUNIT_EXPECT_FALSE(test, dxk_lanes_admit(&lanes, 1));
	KUNIT_EXPECT_FALSE(test, dxk_lanes_closed(&lanes, 1));

	for (l = 0; l < DXK_LANES; l++) {
		memset(&lanes, 0, sizeof(lanes));
		dxk_lanes_set(&lanes, false, 10, example);
		KUNIT_EXPECT_FALSE(test, dxk_lanes_closed(&lanes, l));
		KUNIT_EXPECT_TRUE(test, fill(&lanes, l, 10));
		KUNIT_EXPECT_FALSE(test, dxk_lanes_admit(&lanes, l));
	}
}

/* DX-76: what a request waits for is in a lane with resources that no lane above can hold */
static void lanes_child(struct kunit *test)
{
	static const struct {
		bool cmls;
		u32 pct[DXK_LANES - 1];
		u32 below[DXK_LANES];
	} cases[] = {
		{ true, { 0, 20, 20 }, { 1, 2, 3, 3 } },
		/* lane 2 is open, but has nothing that lane 1 may not hold */
		{ true, { 0, 20, 0 }, { 1, 3, 3, 3 } },
		{ true, { 20, 0, 20 }, { 2, 2, 3, 3 } },
		{ true, { 0, 0, 0 }, { 3, 3, 3, 3 } },
		{ false, { 0, 0, 0 }, { 1, 2, 3, 3 } },
	};
	u32 i, lane;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (lane = 0; lane < DXK_LANES; lane++)
			KUNIT_EXPECT_EQ(test, cases[i].below[lane],
					dxk_lane_below(dxk_lanes_below(cases[i].cmls, cases[i].pct),
						       lane));
}

/* The formulas, each solved for the lane's own count. */
static s32 solved(const s32 *u, const s32 *q, s32 n, u32 lane)
{
	s32 limit = n;

	switch (lane) {
	case 0:
		limit = min(min(q[0], q[1] - u[1]),
			    min(q[2] - u[1] - u[2], n - u[1] - u[2] - u[3]));
		break;
	case 1:
		limit = min3(q[1] - u[0], q[2] - u[0] - u[2], n - u[0] - u[2] - u[3]);
		break;
	case 2:
		limit = min(q[2] - u[0] - u[1], n - u[0] - u[1] - u[3]);
		break;
	case 3:
		limit = n - u[0] - u[1] - u[2];
		break;
	}
	return max(limit, 0);
}

static u32 compare_with_solved(u32 n, const u32 *pct)
{
	struct dxk_lanes lanes;
	s32 q[DXK_LANES], u[DXK_LANES];
	u32 i, lane, all = 1, bad = 0;

	dxk_lanes_set(&lanes, true, n, pct);
	for (i = 0; i < DXK_LANES; i++) {
		q[i] = lanes.quota[i];
		all *= n + 1;
	}
	/* illegal profiles as well: a crew may shrink below what is in use */
	for (i = 0; i < all; i++) {
		u32 rest = i;

		for (lane = 0; lane < DXK_LANES; lane++, rest /= n + 1)
			lanes.used[lane] = u[lane] = rest % (n + 1);
		for (lane = 0; lane < DXK_LANES; lane++) {
			s32 limit = solved(u, q, n, lane);

			bad += dxk_lanes_limit(&lanes, lane) != limit;
			bad += dxk_lanes_admit(&lanes, lane) != (u[lane] + 1 <= limit);
		}
	}
	return bad;
}

/* DX-67..DX-71 for every profile of several resources */
static void lanes_limit_equals_formulas(struct kunit *test)
{
	static const u32 sets[][3] = {
		{ 0, 20, 20 }, { 0, 0, 0 }, { 10, 10, 10 }, { 50, 0, 30 },
		{ 0, 0, 100 }, { 100, 0, 0 }, { 33, 33, 34 },
	};
	static const u32 sizes[] = { 1, 3, 5, 7 };
	u32 s, n;

	for (n = 0; n < ARRAY_SIZE(sizes); n++)
		for (s = 0; s < ARRAY_SIZE(sets); s++)
			KUNIT_EXPECT_EQ_MSG(test,
					    compare_with_solved(sizes[n], sets[s]), 0,
					    "n %u, set %u", sizes[n], s);
	KUNIT_EXPECT_EQ(test, compare_with_solved(10, example), 0);
}

/*
 * Can requests of lane..3 all get a resource of their own share or of that of a
 * higher level? Tries every distribution. @left: what the shares still have
 */
static bool matches(const u32 *left, const u32 *u, u32 lane)
{
	u32 rest[DXK_LANES];
	u32 a, b, c;

	if (lane == DXK_LANES)
		return true;
	for (a = 0; a <= min(u[lane], left[0]); a++)
		for (b = 0; b <= (lane > 0 ? min(u[lane] - a, left[1]) : 0); b++)
			for (c = 0; c <= (lane > 1 ? min(u[lane] - a - b, left[2]) : 0);
			     c++) {
				u32 d = u[lane] - a - b - c;

				if (d > (lane > 2 ? left[3] : 0))
					continue;
				rest[0] = left[0] - a;
				rest[1] = left[1] - b;
				rest[2] = left[2] - c;
				rest[3] = left[3] - d;
				if (matches(rest, u, lane + 1))
					return true;
			}
	return false;
}

static u32 compare_with_hall(const u32 *share, u32 most)
{
	u32 u[DXK_LANES], i, l, lane, sum, bad = 0;
	struct dxk_lanes lanes;

	for (i = 0; i < most * most * most * most; i++) {
		u32 rest = i;

		for (l = sum = 0; l < DXK_LANES; l++, rest /= most) {
			u[l] = rest % most;
			lanes.used[l] = u[l];
			sum += share[l];
			lanes.quota[l] = sum;
		}
		if (!matches(share, u, 0))
			continue;
		for (lane = 0; lane < DXK_LANES; lane++) {
			u[lane]++;
			bad += dxk_lanes_admit(&lanes, lane) != matches(share, u, 0);
			u[lane]--;
		}
	}
	return bad;
}

/* ADMIT is Hall's condition for "its own share or any higher level's" (DX-76) */
static void lanes_admit_is_hall(struct kunit *test)
{
	u32 share[DXK_LANES], i, l;

	for (i = 0; i < 81; i++) {
		u32 rest = i;

		for (l = 0; l < DXK_LANES; l++, rest /= 3)
			share[l] = rest % 3;
		KUNIT_EXPECT_EQ_MSG(test, compare_with_hall(share, 4), 0,
				    "shares %u-%u-%u-%u", share[0], share[1],
				    share[2], share[3]);
	}
}

static struct kunit_case lanes_cases[] = {
	KUNIT_CASE_PARAM(lanes_worked_table, profile_gen_params),
	KUNIT_CASE(lanes_quota_rounds),
	KUNIT_CASE(lanes_closed_and_off),
	KUNIT_CASE(lanes_child),
	KUNIT_CASE(lanes_limit_equals_formulas),
	KUNIT_CASE(lanes_admit_is_hall),
	{ }
};

static struct kunit_suite lanes_suite = {
	.name = "dxk_lanes",
	.test_cases = lanes_cases,
};

kunit_test_suite(lanes_suite);
