// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The policy: ranges, sums and cross rules, as the contract in the uapi header
 * tells them; the tables here are written from there.
 */
#include <kunit/test.h>

#include "engine/os.h"
#include "engine/policy.h"

enum sort { RANGE, BITS, CHOICE };

struct row {
	const char *name;
	u32 at;
	u32 min, max;
	enum sort sort;
	bool dynamic;
};

#define ROW(_field, ...) { #_field, offsetof(struct dxk_policy, _field), __VA_ARGS__ }

static const struct row rows[] = {
	ROW(sched_mode, 0, TPOOL_MODE_CMLS, BITS),
	ROW(prio_policy, 0, PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST, BITS, true),
	ROW(max_threads, 1, 499, RANGE, true),
	ROW(kernel_threads, 0, 499, RANGE, true),
	ROW(ready_entries, 1, 1U << 20),
	ROW(rejoin_entries, 1, 1U << 20),
	ROW(log_entries, 2, 1U << 20),
	ROW(handle_entries, 0, 1U << 16),
	ROW(max_requests, 1, 1U << 21),
	ROW(data_size, 0, 4096),
	ROW(lane_pct[0], 0, 100, RANGE, true),
	ROW(lane_pct[1], 0, 100, RANGE, true),
	ROW(lane_pct[2], 0, 100, RANGE, true),
	ROW(boost_value, 0, 1U << 16, RANGE, true),
	ROW(sched_interval_ms, 1, 3600000, RANGE, true),
	ROW(monitor_interval_ms, 1, 3600000, RANGE, true),
	ROW(dispatch_interval_ms, 0, 3600000),
	ROW(dispatch, 0, DXK_DISPATCH_THREAD, CHOICE),
	ROW(log_full, 0, DXK_LOG_DROP_OLDEST, CHOICE, true),
	ROW(rejoin_full, 0, DXK_REJOIN_RESERVE, CHOICE),
	ROW(shutdown, DXK_STOP_DRAIN, DXK_STOP_CANCEL, CHOICE, true),
	ROW(on_block, 0, DXK_ON_BLOCK_SPARE, CHOICE),
	ROW(order, 0, DXK_ORDER_PRIO_GLOBAL, CHOICE),
	ROW(log_batch, 1, 4096, RANGE, true),
	ROW(sample_interval_ms, 0, 3600000, RANGE, true),
	ROW(sample_entries, 1, 4096),
	ROW(report_age_ms, 0, 86400000, RANGE, true),
	ROW(redo_max, 1, 1000, RANGE, true),
	ROW(help_depth, 1, 64, RANGE, true),
	ROW(max_spares, 0, 499),
	ROW(user_share, 1, 100, RANGE, true),
	ROW(prealloc_requests, 0, 1 << 21),
	ROW(max_waiting, 0, 1 << 21),
	ROW(wait_report_ms, 0, 86400000, RANGE, true),
	ROW(min_threads, 0, 499, RANGE, true),
	ROW(spare_idle_ms, 0, 86400000, RANGE, true),
	ROW(key_batch, 1, 1000, RANGE, true),
	ROW(min_spares, 0, 499, RANGE, true),
	ROW(spare_after_ms, 0, 3600000, RANGE, true),
	ROW(homes, 0, 56),
	ROW(steal, 0, 1, CHOICE),
	ROW(space_weight, 0, 1000),
	ROW(autotune, 0, 1, CHOICE, true),
	ROW(help_scope, 0, 1, CHOICE),
};

static void row_name(const struct row *r, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s", r->name);
}

KUNIT_ARRAY_PARAM(row, rows, row_name);

static u32 *field(struct dxk_policy *p, u32 at)
{
	return (u32 *)((char *)p + at);
}

/* As large as other fields need it, so that only the field under test decides. */
static struct dxk_policy roomy(void)
{
	struct dxk_policy p;

	dxk_policy_default(&p, 4);
	p.max_threads = 499;
	p.max_spares = 0;
	p.ready_entries = 1;
	p.max_requests = 1U << 21;
	return p;
}

static int check(struct dxk_policy p, u32 at, u32 value, u32 *bad)
{
	int err;

	*field(&p, at) = value;
	p.bad_field = 0xdead;
	err = dxk_policy_check(&p);
	*bad = p.bad_field;
	return err;
}

/* DX-8, DX-5: below, at and above both ends */
static void policy_range(struct kunit *test)
{
	const struct row *r = test->param_value;
	struct dxk_policy p = roomy();
	int above = r->sort == RANGE ? -EINVAL : -EOPNOTSUPP;
	u32 bad;

	KUNIT_EXPECT_EQ(test, check(p, r->at, r->min, &bad), 0);
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, check(p, r->at, r->max, &bad), 0);
	KUNIT_EXPECT_EQ(test, bad, 0);
	KUNIT_EXPECT_EQ(test, check(p, r->at, r->max + 1, &bad), above);
	KUNIT_EXPECT_EQ(test, bad, r->at);
	/* below 0 is very large */
	KUNIT_EXPECT_EQ(test, check(p, r->at, r->min - 1, &bad),
			r->min ? -EINVAL : above);
	KUNIT_EXPECT_EQ(test, bad, r->at);
	KUNIT_EXPECT_EQ(test, check(p, r->at, U32_MAX, &bad), above);
	KUNIT_EXPECT_EQ(test, bad, r->at);
}

/* Every word of the struct is in both tables: a new field cannot be forgotten. */
static void policy_tables_are_whole(struct kunit *test)
{
	u32 at, i, first = offsetof(struct dxk_policy, sched_mode);

	KUNIT_EXPECT_EQ(test, dxk_fields_nr, ARRAY_SIZE(rows));
	KUNIT_EXPECT_EQ(test, first + 4 * ARRAY_SIZE(rows), sizeof(struct dxk_policy));
	for (i = 0, at = first; i < ARRAY_SIZE(rows); i++, at += 4) {
		KUNIT_EXPECT_EQ(test, rows[i].at, at);
		KUNIT_EXPECT_EQ(test, dxk_fields[i].offset, at);
		/* DX-9 */
		KUNIT_EXPECT_EQ(test, dxk_fields[i].dynamic, rows[i].dynamic);
	}
}

/* DX-8: the defaults */
static void policy_defaults(struct kunit *test)
{
	struct dxk_policy p;

	memset(&p, 0xff, sizeof(p));
	dxk_policy_default(&p, 4);
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), 0);
	KUNIT_EXPECT_EQ(test, p.size, sizeof(p));
	KUNIT_EXPECT_EQ(test, p.max_threads, 4);
	KUNIT_EXPECT_EQ(test, p.kernel_threads, 0);
	KUNIT_EXPECT_EQ(test, p.ready_entries, 1024);
	KUNIT_EXPECT_EQ(test, p.rejoin_entries, 1024);
	KUNIT_EXPECT_EQ(test, p.log_entries, 1024);
	KUNIT_EXPECT_EQ(test, p.handle_entries, 256);
	KUNIT_EXPECT_EQ(test, p.sched_mode | p.prio_policy, 0);
	KUNIT_EXPECT_EQ(test, p.lane_pct[0] + p.lane_pct[1] + p.lane_pct[2], 0);
	KUNIT_EXPECT_EQ(test, p.boost_value, 1);
	KUNIT_EXPECT_EQ(test, p.sched_interval_ms, 1000);
	KUNIT_EXPECT_EQ(test, p.monitor_interval_ms, 100);
	KUNIT_EXPECT_EQ(test, p.dispatch, DXK_DISPATCH_DIRECT);
	KUNIT_EXPECT_EQ(test, p.rejoin_full, DXK_REJOIN_GROW);
	KUNIT_EXPECT_EQ(test, p.shutdown, DXK_STOP_DRAIN);
	KUNIT_EXPECT_EQ(test, p.max_requests, 65536);
	KUNIT_EXPECT_EQ(test, p.data_size, 512);
	KUNIT_EXPECT_EQ(test, p.log_batch, 64);
	KUNIT_EXPECT_EQ(test, p.max_waiting, 0);
	KUNIT_EXPECT_EQ(test, p.sample_entries, 64);
	KUNIT_EXPECT_EQ(test, p.redo_max, 3);
	KUNIT_EXPECT_EQ(test, p.help_depth, 4);
	KUNIT_EXPECT_EQ(test, p.max_spares, 8);
	KUNIT_EXPECT_EQ(test, p.user_share, 75);
	KUNIT_EXPECT_EQ(test, p.prealloc_requests, 64);
	KUNIT_EXPECT_EQ(test, p.on_block | p.order | p.log_full | p.report_age_ms, 0);
	KUNIT_EXPECT_EQ(test, p.wait_report_ms | p.min_threads, 0);
	KUNIT_EXPECT_EQ(test, p.min_spares | p.spare_after_ms | p.homes | p.steal, 0);
	KUNIT_EXPECT_EQ(test, p.spare_idle_ms, 10000);
	KUNIT_EXPECT_EQ(test, p.key_batch, 16);
	KUNIT_EXPECT_EQ(test, p.dispatch_interval_ms | p.sample_interval_ms, 0);
}

static void expect_bad(struct kunit *test, struct dxk_policy p, u32 at)
{
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), -EINVAL);
	KUNIT_EXPECT_EQ(test, p.bad_field, at);
}

#define BAD_AT(_test, _p, _field) \
	expect_bad(_test, _p, offsetof(struct dxk_policy, _field))

/* DX-8: rules between fields */
static void policy_cross_rules(struct kunit *test)
{
	struct dxk_policy p = roomy();
	u32 i, bad;

	p.max_threads = 4;
	p.kernel_threads = 4;
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), 0);
	p.kernel_threads = 5;
	BAD_AT(test, p, kernel_threads);

	for (i = 2; i <= 4096; i++) {
		bool power = i == 2 || i == 4 || i == 8 || i == 16 || i == 32 ||
			     i == 64 || i == 128 || i == 256 || i == 512 ||
			     i == 1024 || i == 2048 || i == 4096;

		KUNIT_EXPECT_EQ(test, check(roomy(),
					    offsetof(struct dxk_policy, log_entries),
					    i, &bad), power ? 0 : -EINVAL);
	}

	p = roomy();
	p.ready_entries = 100;
	p.max_requests = 100;
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), 0);
	p.max_requests = 99;
	BAD_AT(test, p, max_requests);

	/* the ids of spares come after those of all others */
	p = roomy();
	p.max_threads = 400;
	p.max_spares = 100;
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), 0);
	p.on_block = DXK_ON_BLOCK_SPARE;
	BAD_AT(test, p, max_spares);
	p.max_spares = 99;
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), 0);

	/* A5: a sum above 100 is refused even without CMLS */
	p = roomy();
	p.lane_pct[0] = 50;
	p.lane_pct[1] = 25;
	p.lane_pct[2] = 25;
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), 0);
	p.lane_pct[1] = 26;
	BAD_AT(test, p, lane_pct);
	p.lane_pct[0] = 100;
	p.lane_pct[1] = 100;
	BAD_AT(test, p, lane_pct);
}

/* What lanes 0..2 together own of n: DX-76, by hand. */
static u32 owned(u32 n, const u32 *pct)
{
	u32 l, q = 0;

	for (l = 0; l < 3; l++)
		if (pct[l])
			q += n * pct[l] < 200 ? 1 : n * pct[l] / 100;
	return q;
}

/* DX-76: with CMLS every open lane and lane 3 have a resource of their own */
static void policy_lanes_rule(struct kunit *test)
{
	static const u32 pct[] = { 0, 1, 20, 34, 50, 100 };
	struct dxk_policy p = roomy();
	u32 i, w, k, ok = 0, refused = 0;

	p.sched_mode = TPOOL_MODE_CMLS;
	for (i = 0; i < 216; i++)
		for (w = 1; w <= 6; w++) {
			u32 bad = 0;

			k = i % (w + 1);
			p.lane_pct[0] = pct[i % 6];
			p.lane_pct[1] = pct[i / 6 % 6];
			p.lane_pct[2] = pct[i / 36];
			p.max_threads = w;
			p.kernel_threads = k;
			p.ready_entries = 7 - w;
			if (p.lane_pct[0] + p.lane_pct[1] + p.lane_pct[2] > 100)
				bad = offsetof(struct dxk_policy, lane_pct);
			else if (owned(7 - w, p.lane_pct) >= 7 - w)
				bad = offsetof(struct dxk_policy, ready_entries);
			else if (w > k && owned(w - k, p.lane_pct) >= w - k)
				bad = offsetof(struct dxk_policy, max_threads);
			else if (k && owned(k, p.lane_pct) >= k)
				bad = offsetof(struct dxk_policy, kernel_threads);
			KUNIT_ASSERT_EQ(test, dxk_policy_check(&p), bad ? -EINVAL : 0);
			KUNIT_ASSERT_EQ(test, p.bad_field, bad);
			bad ? refused++ : ok++;
		}
	KUNIT_EXPECT_GT(test, ok, 50);
	KUNIT_EXPECT_GT(test, refused, 50);
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE_PARAM(policy_range, row_gen_params),
	KUNIT_CASE(policy_tables_are_whole),
	KUNIT_CASE(policy_defaults),
	KUNIT_CASE(policy_cross_rules),
	KUNIT_CASE(policy_lanes_rule),
	{ }
};

static struct kunit_suite policy_suite = {
	.name = "dxk_policy",
	.test_cases = policy_cases,
};

kunit_test_suite(policy_suite);
