// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The policy: all settings of a context, with their ranges and when each may be changed. One
 * table serves the check, the ioctls and the files in sysfs.
 */
#include "engine/lanes.h"
#include "engine/member.h"
#include "engine/os.h"
#include "engine/policy.h"
#include "engine/ready.h"

#define MS_MAX		3600000U	/* an hour */
#define ENTRIES_MAX	(1U << 20)

#define FIELD(_name, _member, _min, _max, ...)				\
	{ .name = _name, .offset = offsetof(struct dxk_policy, _member),	\
	  .min = _min, .max = _max, ##__VA_ARGS__ }
#define MASK		.mask = true
#define CHOICE		.choice = true
#define DYNAMIC		.dynamic = true

const struct dxk_field dxk_fields[] = {
	FIELD("sched_mode", sched_mode, 0, TPOOL_MODE_CMLS, MASK),
	FIELD("prio_policy", prio_policy, 0, PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST,
	      MASK, DYNAMIC),
	FIELD("max_threads", max_threads, 1, DXK_ID_WORKER_MAX, DYNAMIC),
	FIELD("kernel_threads", kernel_threads, 0, DXK_ID_WORKER_MAX, DYNAMIC),
	FIELD("ready_entries", ready_entries, 1, ENTRIES_MAX),
	FIELD("rejoin_entries", rejoin_entries, 1, ENTRIES_MAX),
	FIELD("log_entries", log_entries, 2, ENTRIES_MAX),
	FIELD("handle_entries", handle_entries, 0, 1U << 16),
	FIELD("max_requests", max_requests, 1, 2 * ENTRIES_MAX),
	FIELD("data_size", data_size, 0, 4096),
	FIELD("lane_pct0", lane_pct[0], 0, 100, DYNAMIC),
	FIELD("lane_pct1", lane_pct[1], 0, 100, DYNAMIC),
	FIELD("lane_pct2", lane_pct[2], 0, 100, DYNAMIC),
	FIELD("boost_value", boost_value, 0, 1U << 16, DYNAMIC),
	FIELD("sched_interval_ms", sched_interval_ms, 1, MS_MAX, DYNAMIC),
	FIELD("monitor_interval_ms", monitor_interval_ms, 1, MS_MAX, DYNAMIC),
	FIELD("dispatch_interval_ms", dispatch_interval_ms, 0, MS_MAX),
	FIELD("dispatch", dispatch, 0, DXK_DISPATCH_THREAD, CHOICE),
	FIELD("log_full", log_full, 0, DXK_LOG_DROP_OLDEST, CHOICE, DYNAMIC),
	FIELD("rejoin_full", rejoin_full, 0, DXK_REJOIN_RESERVE, CHOICE),
	FIELD("shutdown", shutdown, DXK_STOP_DRAIN, DXK_STOP_CANCEL, CHOICE, DYNAMIC),
	FIELD("on_block", on_block, 0, DXK_ON_BLOCK_SPARE, CHOICE),
	FIELD("order", order, 0, DXK_ORDER_PRIO_GLOBAL, CHOICE),
	FIELD("log_batch", log_batch, 1, 4096, DYNAMIC),
	FIELD("sample_interval_ms", sample_interval_ms, 0, MS_MAX, DYNAMIC),
	FIELD("sample_entries", sample_entries, 1, 4096),
	FIELD("report_age_ms", report_age_ms, 0, 86400000, DYNAMIC),
	FIELD("redo_max", redo_max, 1, 1000, DYNAMIC),
	FIELD("help_depth", help_depth, 1, 64, DYNAMIC),
	FIELD("max_spares", max_spares, 0, DXK_ID_WORKER_MAX),
	FIELD("user_share", user_share, 1, 100, DYNAMIC),
	FIELD("prealloc_requests", prealloc_requests, 0, 2 * ENTRIES_MAX),
	FIELD("max_waiting", max_waiting, 0, 2 * ENTRIES_MAX),
	FIELD("wait_report_ms", wait_report_ms, 0, 86400000, DYNAMIC),
	FIELD("min_threads", min_threads, 0, DXK_ID_WORKER_MAX, DYNAMIC),
	FIELD("spare_idle_ms", spare_idle_ms, 0, 86400000, DYNAMIC),
	FIELD("key_batch", key_batch, 1, 1000, DYNAMIC),
	FIELD("min_spares", min_spares, 0, DXK_ID_WORKER_MAX, DYNAMIC),
	FIELD("spare_after_ms", spare_after_ms, 0, MS_MAX, DYNAMIC),
	FIELD("homes", homes, 0, DXK_HOMES_MAX),
	FIELD("steal", steal, 0, 1, CHOICE),
	FIELD("space_weight", space_weight, 0, DXK_WEIGHT_MAX),
	FIELD("autotune", autotune, 0, 1, CHOICE, DYNAMIC),
	FIELD("help_scope", help_scope, 0, DXK_HELP_OWN, CHOICE),
};

const u32 dxk_fields_nr = ARRAY_SIZE(dxk_fields);

/**
 * dxk_policy_default - the policy of a context that nobody has given one
 * @policy: out
 * @threads: its max_threads
 */
void dxk_policy_default(struct dxk_policy *policy, u32 threads)
{
	*policy = (struct dxk_policy) {
		.size = sizeof(*policy),
		.max_threads = threads,
		.ready_entries = 1024,
		.rejoin_entries = 1024,
		.log_entries = 1024,
		.handle_entries = 256,
		.max_requests = 65536,
		.data_size = 512,
		.boost_value = 1,
		.sched_interval_ms = 1000,
		.monitor_interval_ms = 100,
		.shutdown = DXK_STOP_DRAIN,
		.log_batch = 64,
		.sample_entries = 64,
		.redo_max = 3,
		.help_depth = 4,
		.max_spares = 8,
		.user_share = 75,
		.prealloc_requests = DXK_BATCH_MAX,
		.spare_idle_ms = 10000,
		.key_batch = 16,
	};
}

static int dxk_field_check(const struct dxk_field *f, u32 value)
{
	if (f->mask)
		return value & ~f->max ? -EOPNOTSUPP : 0;
	if (value > f->max && f->choice)
		return -EOPNOTSUPP;
	return value < f->min || value > f->max ? -EINVAL : 0;
}

#define BAD(_policy, _member) \
	((_policy)->bad_field = offsetof(struct dxk_policy, _member), -EINVAL)

/*
 * With CMLS every lane that is on needs a resource, and so does lane 3 (DX-76). The number of
 * workers that can be relied on is the number that the crew keeps.
 */
static int dxk_policy_check_lanes(struct dxk_policy *p)
{
	u32 workers[DXK_KINDS] = {
		[DXK_KERNEL] = dxk_crew_least(p, DXK_KERNEL),
		[DXK_USER] = dxk_crew_least(p, DXK_USER),
	};
	u32 kind, l, q = 0;

	for (l = 0; l < DXK_LANES - 1; l++)
		q += p->lane_pct[l];
	if (q > 100)
		return BAD(p, lane_pct);
	if (!(p->sched_mode & TPOOL_MODE_CMLS))
		return 0;

	for (q = 0, l = 0; l < DXK_LANES - 1; l++)
		q += dxk_lanes_quota(p->ready_entries, p->lane_pct[l]);
	if (q >= p->ready_entries)
		return BAD(p, ready_entries);
	for (kind = 0; kind < DXK_KINDS; kind++) {
		if (!workers[kind])
			continue;
		for (q = 0, l = 0; l < DXK_LANES - 1; l++)
			q += dxk_lanes_quota(workers[kind], p->lane_pct[l]);
		if (q < workers[kind])
			continue;
		if (workers[kind] < dxk_crew_places(p, kind))
			return BAD(p, min_threads);
		return kind == DXK_KERNEL ? BAD(p, kernel_threads) :
					    BAD(p, max_threads);
	}
	return 0;
}

/**
 * dxk_policy_check - is the policy one that a context can run with?
 * @p: the policy; bad_field is set to the offset of the field that is wrong
 */
int dxk_policy_check(struct dxk_policy *p)
{
	const struct dxk_field *f;
	int err;

	p->bad_field = 0;
	for (f = dxk_fields; f < dxk_fields + dxk_fields_nr; f++) {
		err = dxk_field_check(f, *dxk_field_of(p, f));
		if (!err)
			continue;
		p->bad_field = f->offset;
		return err;
	}
	if (p->kernel_threads > p->max_threads)
		return BAD(p, kernel_threads);
	if (!is_power_of_2(p->log_entries))
		return BAD(p, log_entries);
	if (p->on_block == DXK_ON_BLOCK_SPARE &&
	    p->max_spares > DXK_ID_WORKER_MAX - p->max_threads)
		return BAD(p, max_spares);
	if (p->on_block == DXK_ON_BLOCK_SPARE && p->min_spares > p->max_spares)
		return BAD(p, min_spares);
	if (p->max_requests < p->ready_entries)
		return BAD(p, max_requests);
	/* A growing crew considers idle workers regardless of their homes. */
	if (p->homes && p->min_threads)
		return BAD(p, min_threads);
	/* Requests that are Ready at a home do not reflect the rounds of others. */
	if (p->homes && p->space_weight)
		return BAD(p, space_weight);
	return dxk_policy_check_lanes(p);
}
