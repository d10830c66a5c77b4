// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy: each field with its default, range and file (DX-8), what may change
 * while the context runs and when it takes effect (DX-9).
 */
#include "lib/dxt.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#define F(f)	offsetof(struct dxk_policy, f)

enum { STATIC, DYNAMIC };

/*
 * @min and @max are accepted, @low and @high are not. CPUS: the number of CPUs.
 * Fields that are choices or masks answer EOPNOTSUPP, others EINVAL.
 */
#define CPUS	UINT_MAX
static const struct field {
	const char *name;	/* of the library */
	const char *file;
	uint32_t at, standard, min, max;
	int64_t low, high;	/* -1: none */
	int err;
	int dynamic;
} fields[] = {
	{ "sched_mode", "sched_mode", F(sched_mode), 0, 0, 1, -1, 2, EOPNOTSUPP, STATIC },
	{ "prio_policy", "prio_policy", F(prio_policy), 0, 0, 3, -1, 4, EOPNOTSUPP,
	  DYNAMIC },
	{ "max_threads", "max_threads", F(max_threads), CPUS, 1, 499, 0, 500, EINVAL,
	  DYNAMIC },
	{ "kernel_threads", "kernel_threads", F(kernel_threads), 0, 0, 2, -1, 500,
	  EINVAL, DYNAMIC },
	{ "ready_entries", "ready_entries", F(ready_entries), 1024, 1, 65536, 0,
	  (1 << 20) + 1, EINVAL, STATIC },
	{ "rejoin_entries", "rejoin_entries", F(rejoin_entries), 1024, 1, 1 << 20, 0,
	  (1 << 20) + 1, EINVAL, STATIC },
	{ "log_entries", "log_entries", F(log_entries), 1024, 2, 1 << 20, 1,
	  (1 << 20) + 1, EINVAL, STATIC },
	{ "handle_entries", "handle_entries", F(handle_entries), 256, 0, 1 << 16, -1,
	  (1 << 16) + 1, EINVAL, STATIC },
	{ "max_requests", "max_requests", F(max_requests), 65536, 1024, 1 << 21, 0,
	  (1 << 21) + 1, EINVAL, STATIC },
	{ "data_size", "data_size", F(data_size), 512, 0, 4096, -1, 4097, EINVAL, STATIC },
	{ "lane_pct[0]", "lane_pct0", F(lane_pct[0]), 0, 0, 100, -1, 101, EINVAL, DYNAMIC },
	{ "lane_pct[1]", "lane_pct1", F(lane_pct[1]), 0, 0, 100, -1, 101, EINVAL, DYNAMIC },
	{ "lane_pct[2]", "lane_pct2", F(lane_pct[2]), 0, 0, 100, -1, 101, EINVAL, DYNAMIC },
	{ "boost_value", "boost_value", F(boost_value), 1, 0, 1 << 16, -1, (1 << 16) + 1,
	  EINVAL, DYNAMIC },
	{ "sched_interval_ms", "sched_interval_ms", F(sched_interval_ms), 1000, 1,
	  3600000, 0, 3600001, EINVAL, DYNAMIC },
	{ "monitor_interval_ms", "monitor_interval_ms", F(monitor_interval_ms), 100, 1,
	  3600000, 0, 3600001, EINVAL, DYNAMIC },
	{ "dispatch_interval_ms", "dispatch_interval_ms", F(dispatch_interval_ms), 0, 0,
	  3600000, -1, 3600001, EINVAL, STATIC },
	{ "dispatch", "dispatch", F(dispatch), 0, 0, 1, -1, 2, EOPNOTSUPP, STATIC },
	{ "log_full", "log_full", F(log_full), 0, 0, 2, -1, 3, EOPNOTSUPP, DYNAMIC },
	{ "rejoin_full", "rejoin_full", F(rejoin_full), 0, 0, 2, -1, 3, EOPNOTSUPP,
	  STATIC },
	{ "shutdown", "shutdown", F(shutdown), DXK_STOP_DRAIN, 1, 2, 0, 3, EINVAL,
	  DYNAMIC },
	{ "on_block", "on_block", F(on_block), 0, 0, 2, -1, 3, EOPNOTSUPP, STATIC },
	{ "order", "order", F(order), 0, 0, 0, -1, 1, EOPNOTSUPP, STATIC },
	{ "log_batch", "log_batch", F(log_batch), 64, 1, 4096, 0, 4097, EINVAL, DYNAMIC },
	{ "sample_interval_ms", "sample_interval_ms", F(sample_interval_ms), 0, 0,
	  3600000, -1, 3600001, EINVAL, DYNAMIC },
	{ "sample_entries", "sample_entries", F(sample_entries), 64, 1, 4096, 0, 4097,
	  EINVAL, STATIC },
	{ "report_age_ms", "report_age_ms", F(report_age_ms), 0, 0, 86400000, -1,
	  86400001, EINVAL, DYNAMIC },
	{ "redo_max", "redo_max", F(redo_max), 3, 1, 1000, 0, 1001, EINVAL, DYNAMIC },
	{ "help_depth", "help_depth", F(help_depth), 4, 1, 64, 0, 65, EINVAL, DYNAMIC },
	{ "max_spares", "max_spares", F(max_spares), 8, 0, 499, -1, 500, EINVAL, STATIC },
	{ "user_share", "user_share", F(user_share), 75, 1, 100, 0, 101, EINVAL, DYNAMIC },
	{ "prealloc_requests", "prealloc_requests", F(prealloc_requests), 64, 0, 1 << 21, -1,
	  (1 << 21) + 1, EINVAL, STATIC },
	{ "max_waiting", "max_waiting", F(max_waiting), 0, 0, 1 << 21, -1, (1 << 21) + 1,
	  EINVAL, STATIC },
	{ "wait_report_ms", "wait_report_ms", F(wait_report_ms), 0, 0, 86400000, -1,
	  86400001, EINVAL, DYNAMIC },
	{ "min_threads", "min_threads", F(min_threads), 0, 0, 499, -1, 500, EINVAL, DYNAMIC },
	{ "spare_idle_ms", "spare_idle_ms", F(spare_idle_ms), 10000, 0, 86400000, -1,
	  86400001, EINVAL, DYNAMIC },
	{ "key_batch", "key_batch", F(key_batch), 16, 1, 1000, 0, 1001, EINVAL, DYNAMIC },
	{ "min_spares", "min_spares", F(min_spares), 0, 0, 499, -1, 500, EINVAL, DYNAMIC },
	{ "spare_after_ms", "spare_after_ms", F(spare_after_ms), 0, 0, 3600000, -1, 3600001,
	  EINVAL, DYNAMIC },
	{ "homes", "homes", F(homes), 0, 0, 56, -1, 57, EINVAL, STATIC },
	{ "steal", "steal", F(steal), 0, 0, 1, -1, 2, EOPNOTSUPP, STATIC },
	{ "space_weight", "space_weight", F(space_weight), 0, 0, 1000, -1, 1001, EINVAL, STATIC },
	{ "autotune", "autotune", F(autotune), 0, 0, 1, -1, 2, EOPNOTSUPP, DYNAMIC },
	{ "help_scope", "help_scope", F(help_scope), 0, 0, 1, -1, 2, EOPNOTSUPP, STATIC },
};

static uint32_t *at(struct dxk_policy *p, uint32_t offset)
{
	return (uint32_t *)(void *)((char *)p + offset);
}

/* The error of a value beyond the top: choices are for later versions. */
static int error_of(const struct field *f, bool high)
{
	return f->at == F(shutdown) && high ? EOPNOTSUPP : f->err;
}

/* Fresh, as the module makes it: no change by the helpers. */
static int open_default(struct dxt *t)
{
	int rc = dxt_open(t);

	return rc ? rc : dxk_policy_get(t->ctx, &t->policy);
}

/* DX-8: defaults, in the struct and in the files. */
TEST(defaults)
{
	const struct field *f;
	uint32_t min, max;
	struct stat st;
	struct dxt t;
	char path[128];

	ASSERT_EQ(0, open_default(&t));
	for (f = fields; f < fields + ARRAY_SIZE(fields); f++) {
		uint32_t want = f->standard;

		if (want == CPUS)
			want = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
		EXPECT_EQ(want, *at(&t.policy, f->at)) TH_LOG("%s", f->name);
		EXPECT_EQ(want, dxt_num(&t, "policy/%s", f->file)) TH_LOG("%s", f->file);
		EXPECT_STREQ(f->name, dxk_policy_field_name(f->at));
		EXPECT_EQ(0, dxk_policy_range(f->at, &min, &max)) TH_LOG("%s", f->name);
		EXPECT_EQ(f->low < 0 ? 0 : (uint32_t)f->low + 1, min) TH_LOG("%s", f->name);
		EXPECT_EQ((uint32_t)f->high - 1, max) TH_LOG("%s", f->name);
		snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/policy/%s", t.id, f->file);
		ASSERT_EQ(0, stat(path, &st));
		EXPECT_EQ(f->dynamic ? 0644 : 0444, st.st_mode & 0777)
			TH_LOG("%s", f->file);
	}
	EXPECT_EQ(t.policy.ready_entries, t.policy.rejoin_entries);
	/* size and bad_field are the only others */
	EXPECT_EQ(sizeof(struct dxk_policy) / 4, ARRAY_SIZE(fields) + 2);
	dxt_close(&t);
}

/* DX-8, DX-5: each field takes its range and no more, and the error names it. */
TEST(ranges)
{
	struct dxk_policy p, now;
	const struct field *f;
	unsigned int bad, i;
	struct dxt t;

	ASSERT_EQ(0, open_default(&t));
	t.policy.max_threads = 2;
	for (f = fields; f < fields + ARRAY_SIZE(fields); f++) {
		uint32_t good[] = { f->min, f->max };
		int64_t wrong[] = { f->low, f->high, UINT_MAX, 1LL << 31 };

		for (i = 0; i < ARRAY_SIZE(good); i++) {
			p = t.policy;
			*at(&p, f->at) = good[i];
			EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, &bad))
				TH_LOG("%s = %u, %u", f->name, good[i], bad);
			EXPECT_EQ(good[i], dxt_num(&t, "policy/%s", f->file));
		}
		ASSERT_EQ(0, dxk_policy_set(t.ctx, &t.policy, NULL));
		for (i = 0; i < ARRAY_SIZE(wrong); i++) {
			if (wrong[i] < 0)
				continue;
			p = t.policy;
			*at(&p, f->at) = (uint32_t)wrong[i];
			EXPECT_EQ(-error_of(f, i > 0), dxk_policy_set(t.ctx, &p, &bad))
				TH_LOG("%s = %lld", f->name, (long long)wrong[i]);
			EXPECT_EQ(f->at, bad) TH_LOG("%s", f->name);
			ASSERT_EQ(0, dxk_policy_get(t.ctx, &now));
			EXPECT_EQ(0, memcmp(&now.sched_mode, &t.policy.sched_mode,
					    sizeof(now) - F(sched_mode)));
		}
	}
	dxt_close(&t);
}

/* DX-8: what one field says about another; DX-76: each open lane needs its own. */
TEST(relations)
{
	static const struct {
		struct { uint32_t at, value; } set[5];
		uint32_t bad;
		const char *why;
	} wrong[] = {
		{ { { F(max_threads), 2 }, { F(kernel_threads), 3 } }, F(kernel_threads),
		  "3 kernel workers are more than 2 workers" },
		{ { { F(log_entries), 3 } }, F(log_entries), "3 is no power of two" },
		{ { { F(log_entries), 1000 } }, F(log_entries), "1000 is no power of two" },
		{ { { F(max_requests), 1023 } }, F(max_requests),
		  "1023 requests are fewer than the 1024 entries of the Ready Pool" },
		{ { { F(lane_pct[0]), 50 }, { F(lane_pct[1]), 51 } }, F(lane_pct[0]),
		  "the lanes' shares are 50 + 51 + 0 = 101 percent, above 100" },
		{ { { F(lane_pct[0]), 100 }, { F(lane_pct[2]), 1 } }, F(lane_pct[0]),
		  "the lanes' shares are 100 + 0 + 1 = 101 percent, above 100" },
		/* two lanes and lane 3 need three workers */
		{ { { F(sched_mode), 1 }, { F(max_threads), 2 }, { F(lane_pct[1]), 20 },
		    { F(lane_pct[2]), 20 } }, F(max_threads),
		  "lanes 0, 1, 2 take 0 + 1 + 1 of 2 user workers, which leaves none for lane 3; "
		  "fewer percent, or more of them" },
		{ { { F(sched_mode), 1 }, { F(max_threads), 1 }, { F(lane_pct[1]), 1 } },
		  F(max_threads),
		  "lanes 0, 1, 2 take 0 + 1 + 0 of 1 user workers, which leaves none for lane 3; "
		  "fewer percent, or more of them" },
		/* kernel workers, of whom there are two, as well */
		{ { { F(sched_mode), 1 }, { F(max_threads), 5 }, { F(kernel_threads), 2 },
		    { F(lane_pct[1]), 20 }, { F(lane_pct[2]), 20 } }, F(kernel_threads),
		  "lanes 0, 1, 2 take 0 + 1 + 1 of 2 kernel workers, which leaves none for lane 3; "
		  "fewer percent, or more of them" },
		{ { { F(sched_mode), 1 }, { F(max_threads), 4 }, { F(ready_entries), 1 },
		    { F(lane_pct[1]), 20 } }, F(ready_entries),
		  "lanes 0, 1, 2 take 0 + 1 + 0 of 1 Ready Pool entries, which leaves none for "
		  "lane 3; fewer percent, or more entries" },
		/* nothing left for lane 3 */
		{ { { F(sched_mode), 1 }, { F(max_threads), 4 }, { F(lane_pct[0]), 100 } },
		  F(ready_entries),
		  "lanes 0, 1, 2 take 1024 + 0 + 0 of 1024 Ready Pool entries, which leaves none "
		  "for lane 3; fewer percent, or more entries" },
		{ { { F(sched_mode), 1 }, { F(max_threads), 4 }, { F(min_threads), 1 },
		    { F(lane_pct[0]), 20 } }, F(min_threads),
		  "1 workers to begin with are too few: each lane with a share needs one, and "
		  "lane 3; 0 begins with all" },
		{ { { F(homes), 2 }, { F(min_threads), 1 } }, F(min_threads),
		  "not with homes, which have workers from the start" },
		{ { { F(homes), 2 }, { F(space_weight), 1 } }, F(space_weight),
		  "not with homes, which have no rounds" },
		{ { { F(on_block), DXK_ON_BLOCK_SPARE }, { F(max_threads), 400 },
		    { F(max_spares), 100 } }, F(max_spares),
		  "100 spares and 400 workers are more than 499 threads" },
		{ { { F(on_block), DXK_ON_BLOCK_SPARE }, { F(max_threads), 4 },
		    { F(min_spares), 9 } }, F(min_spares),
		  "9 spares to be kept are more than the 8 that there may be" },
		{ { { F(redo_max), 0 } }, F(redo_max), "0 is not in 1..1000" },
	};
	char why[DXK_POLICY_TEXT];
	struct dxk_policy p;
	unsigned int i, j, bad;
	struct dxt t;

	ASSERT_EQ(0, open_default(&t));
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		p = t.policy;
		for (j = 0; j < 5 && wrong[i].set[j].at; j++)
			*at(&p, wrong[i].set[j].at) = wrong[i].set[j].value;
		EXPECT_EQ(-EINVAL, dxk_policy_set(t.ctx, &p, &bad)) TH_LOG("case %u", i);
		EXPECT_EQ(wrong[i].bad, bad) TH_LOG("case %u", i);
		EXPECT_STREQ(wrong[i].why, dxk_policy_why(&p, -EINVAL, bad, why, sizeof(why)));
		/* the same without CMLS is no more than numbers */
		if (p.sched_mode) {
			p.sched_mode = 0;
			EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, &bad));
		}
	}
	/* the seed's example */
	p = t.policy;
	p.sched_mode = TPOOL_MODE_CMLS;
	p.max_threads = 10;
	p.ready_entries = 100;
	p.lane_pct[1] = p.lane_pct[2] = 20;
	EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, &bad));
	dxt_close(&t);
}

/* DX-8: what does nothing beside the rest is taken, and can be told of. */
TEST(idle)
{
	static const struct {
		uint32_t at, value, other, on;
	} fields_of[] = {
		{ F(prio_policy), PRIO_POLICY_BOOST, F(prio_policy),
		  PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST },
		{ F(lane_pct[0]), 20, F(sched_mode), TPOOL_MODE_CMLS },
		{ F(lane_pct[2]), 20, F(sched_mode), TPOOL_MODE_CMLS },
		{ F(wait_report_ms), 1, F(max_waiting), 1 },
		{ F(min_spares), 1, F(on_block), DXK_ON_BLOCK_SPARE },
		{ F(spare_after_ms), 1, F(on_block), DXK_ON_BLOCK_SPARE },
		{ F(steal), 1, F(homes), 1 },
		{ F(autotune), 1, F(min_threads), 1 },
		{ F(help_scope), DXK_HELP_OWN, F(on_block), DXK_ON_BLOCK_HELP },
	};
	struct dxk_policy all, p;
	char why[DXK_POLICY_TEXT];
	unsigned int i, bad;
	struct dxt t;

	ASSERT_EQ(0, open_default(&t));
	t.policy.max_threads = 4;
	EXPECT_EQ(0, dxk_policy_idle(&t.policy, 0, why, sizeof(why)));
	all = t.policy;
	for (i = 0; i < ARRAY_SIZE(fields_of); i++) {
		p = t.policy;
		*at(&p, fields_of[i].at) = fields_of[i].value;
		*at(&all, fields_of[i].at) = fields_of[i].value;
		EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, &bad));
		EXPECT_EQ(fields_of[i].at, dxk_policy_idle(&p, 0, why, sizeof(why)));
		EXPECT_NE(0, *why);
		EXPECT_EQ(0, dxk_policy_idle(&p, fields_of[i].at, why, sizeof(why)));
		EXPECT_EQ(0, *why);
		*at(&p, fields_of[i].other) = fields_of[i].on;
		EXPECT_EQ(0, dxk_policy_idle(&p, 0, why, sizeof(why)));
	}
	for (i = 0, bad = 0; (bad = dxk_policy_idle(&all, bad, why, sizeof(why))); i++)
		EXPECT_EQ(fields_of[i].at, bad);
	EXPECT_EQ(ARRAY_SIZE(fields_of), i);
	dxt_close(&t);
}

static bool in_force(struct dxt *t, const struct field *f, uint32_t value)
{
	struct dxk_policy now;

	return !dxk_policy_get(t->ctx, &now) && *at(&now, f->at) == value &&
	       dxt_num(t, "policy/%s", f->file) == value;
}

/*
 * DX-9: on a running context dynamic fields change, by ioctl and by file, at the
 * Monitor's next review, which the change asks for; others are EBUSY and nothing
 * of that call is taken.
 */
TEST(change_while_running)
{
	struct dxk_policy p, now;
	const struct field *f;
	unsigned int bad;
	char text[16], path[64];
	struct dxt t;

	ASSERT_EQ(0, open_default(&t));
	t.policy.max_threads = 3;
	t.policy.kernel_threads = 1;
	t.policy.dispatch = dxt_mode();
	/* the review must come without waiting for the tick */
	t.policy.monitor_interval_ms = 3600000;
	ASSERT_EQ(0, dxt_start(&t));
	for (f = fields; f < fields + ARRAY_SIZE(fields); f++) {
		uint32_t old = *at(&t.policy, f->at);
		uint32_t other = f->max == old ? f->min : f->max;

		if (f->at == F(max_threads))
			other = 5;
		if (f->at == F(log_entries))
			other = 64;
		p = t.policy;
		*at(&p, f->at) = other;
		snprintf(text, sizeof(text), "%u\n", other);
		if (f->min == f->max)
			continue;
		if (!f->dynamic) {
			p.boost_value = 77;
			EXPECT_EQ(-EBUSY, dxk_policy_set(t.ctx, &p, &bad))
				TH_LOG("%s", f->name);
			EXPECT_EQ(f->at, bad);
			snprintf(path, sizeof(path), "policy/%s", f->file);
			EXPECT_EQ(-EACCES, dxt_store(&t, path, text));
			ASSERT_EQ(0, dxk_policy_get(t.ctx, &now));
			EXPECT_EQ(0, memcmp(&now.sched_mode, &t.policy.sched_mode,
					    sizeof(now) - F(sched_mode)));
			continue;
		}
		EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, &bad)) TH_LOG("%s", f->name);
		EXPECT_TRUE(DXT_UNTIL(&t, in_force(&t, f, other))) TH_LOG("%s", f->name);
		ASSERT_EQ(0, dxk_policy_set(t.ctx, &t.policy, &bad));
		EXPECT_TRUE(DXT_UNTIL(&t, in_force(&t, f, old))) TH_LOG("%s", f->name);

		/* the same by its file */
		{
			char wrong[32];

			snprintf(path, sizeof(path), "policy/%s", f->file);
			EXPECT_EQ(0, dxt_store(&t, path, text)) TH_LOG("%s", f->name);
			EXPECT_TRUE(DXT_UNTIL(&t, in_force(&t, f, other)))
				TH_LOG("%s", f->name);
			snprintf(text, sizeof(text), "%u", old);
			EXPECT_EQ(0, dxt_store(&t, path, text));
			EXPECT_TRUE(DXT_UNTIL(&t, in_force(&t, f, old)));
			snprintf(wrong, sizeof(wrong), "%lld", (long long)f->high);
			EXPECT_EQ(-error_of(f, true), dxt_store(&t, path, wrong))
				TH_LOG("%s", f->name);
			EXPECT_EQ(-EINVAL, dxt_store(&t, path, "many"));
			EXPECT_EQ(-EINVAL, dxt_store(&t, path, ""  "\n"));
			EXPECT_EQ(-ERANGE, dxt_store(&t, path, "4294967296"));
			EXPECT_TRUE(in_force(&t, f, old));
		}
	}
	dxt_down(&t);
}

/*
 * DX-9: no change is overlooked, however often: the Monitor may come to look while
 * the change is still being made.
 */
TEST(many_changes)
{
	const struct field *f = fields;
	uint32_t i;
	struct dxt t;

	while (f->at != F(boost_value))
		f++;
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.monitor_interval_ms = 3600000;
	ASSERT_EQ(0, dxt_start(&t));
	for (i = 1; i <= 300; i++) {
		t.policy.boost_value = i;
		ASSERT_EQ(0, dxk_policy_set(t.ctx, &t.policy, NULL));
		ASSERT_TRUE(DXT_UNTIL(&t, in_force(&t, f, i))) TH_LOG("change %u", i);
	}
	dxt_down(&t);
}

/* A file whose field is not dynamic cannot be written, not even before Start. */
TEST(static_files)
{
	const struct field *f;
	char path[64];
	struct dxt t;

	ASSERT_EQ(0, open_default(&t));
	for (f = fields; f < fields + ARRAY_SIZE(fields); f++) {
		if (f->dynamic)
			continue;
		snprintf(path, sizeof(path), "policy/%s", f->file);
		EXPECT_EQ(-EACCES, dxt_store(&t, path, "1")) TH_LOG("%s", f->name);
	}
	dxt_close(&t);
}

/*
 * DX-9: max_threads grows: more workers may join at once. It shrinks while all
 * execute: nobody is interrupted, those beyond leave when they have finished,
 * the others go on.
 */
TEST(crew_grows_and_shrinks)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_result result[4];
	unsigned int i, gone = 0;
	struct dxt_worker *w, *next;
	struct dxk_policy p;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	EXPECT_EQ(-ENOSPC, dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL));
	p = t.policy;
	p.max_threads = 4;
	EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_exists(&t, "threads/4")));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN,
				       0, NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered == 4));

	p.max_threads = 1;
	EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 1));
	EXPECT_EQ(4, dxt_num(&t, "pools/thread_busy"));
	EXPECT_EQ(0, gate->left);
	dxt_gate_open(gate);
	EXPECT_EQ(4, dxt_rejoin(t.member, 1, result, 4, 4,
				dxt_late(), NULL));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, result[i].status);
	EXPECT_TRUE(DXT_UNTIL(&t, !dxt_exists(&t, "threads/2") &&
				  !dxt_exists(&t, "threads/4")));
	/* three have left, the first one works on */
	for (w = t.workers; w; w = next) {
		next = w->next;
		if (w->id == 1)
			continue;
		EXPECT_EQ(-ESHUTDOWN, dxt_worker_ended(w));
		gone++;
	}
	EXPECT_EQ(3, gone);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(3, dxt_rejoin(t.member, 1, result, 4, 3,
				dxt_late(), NULL));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(1, result[i].worker);
	EXPECT_EQ(-ENOSPC, dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL));
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* DX-9, DX-20: the same for kernel workers, whom the Monitor starts and ends. */
TEST(kernel_crew_grows_and_shrinks)
{
	struct dxk_result result[3];
	struct dxk_policy p;
	uint64_t nap, nop;
	unsigned int i;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 3;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxk_executor_find(t.ctl, "sleep", &nap));
	ASSERT_EQ(0, dxk_executor_find(t.ctl, "nop", &nop));
	EXPECT_EQ(-ENODEV, dxt_post1(t.member, 1, nop, 0, PXR_KERNEL, 0, NULL));
	p = t.policy;
	p.kernel_threads = 3;
	EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 3));
	/* long enough to be seen, all three of them */
	for (i = 0; i < 3; i++)
		EXPECT_EQ(1, dxt_post1(t.member, 1, nap, 1000 * 1000, PXR_KERNEL |
				       PXR_REJOIN, 0, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_busy") == 3));
	p.kernel_threads = 1;
	EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 1));
	EXPECT_EQ(3, dxt_rejoin(t.member, 1, result, 3, 3,
				dxt_late(), NULL));
	/* 0: the whole time, not told to stop */
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, result[i].status);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_kthreads(&t) == 3 + 1));
	EXPECT_EQ(1, dxt_post1(t.member, 1, nop, 0, PXR_KERNEL | PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, result, 1, 1,
				dxt_late(), NULL));
	EXPECT_EQ(1, result[0].worker);
	/* and the places are for user workers again */
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	dxt_down(&t);
}

/* DX-9: lane_pct at run time: limits follow, a poster that has room now goes on. */
TEST(lanes_change)
{
	uint32_t reason;
	struct dxk_policy p;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.sched_mode = TPOOL_MODE_CMLS;
	t.policy.max_threads = 4;
	t.policy.ready_entries = 4;
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(0, dxt_num(&t, "lanes/ready_lane1_limit"));
	EXPECT_EQ(-EPERM, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_LANE1, 0, &reason));
	EXPECT_EQ(PXR_LANE_CLOSED, reason);
	p = t.policy;
	p.lane_pct[1] = 25;
	EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "lanes/ready_lane1_limit") == 1));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_LANE1, 0, NULL));
	EXPECT_EQ(-EAGAIN, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_LANE1, 0, &reason));
	EXPECT_EQ(PXR_LANE_FULL, reason);
	p.lane_pct[1] = 50;
	EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "lanes/ready_lane1_limit") == 2));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_LANE1, 0, NULL));
	/* what would leave lane 3 without a worker is refused as at Start */
	p.lane_pct[1] = 100;
	EXPECT_EQ(-EINVAL, dxk_policy_set(t.ctx, &p, NULL));
	EXPECT_EQ(2, dxt_num(&t, "lanes/ready_lane1_limit"));
	/* below what is in use: nothing is taken back, nothing more comes in */
	p.lane_pct[1] = 25;
	EXPECT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "lanes/ready_lane1_limit") == 1));
	EXPECT_EQ(2, dxt_num(&t, "lanes/ready_lane1_in_use"));
	EXPECT_EQ(-EAGAIN, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_LANE1, 0, NULL));
	ASSERT_EQ(0, dxt_workers_start(&t, 4));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/vanished") == 2));
	dxt_down(&t);
}

TEST_HARNESS_MAIN
