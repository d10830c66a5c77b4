// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The policy in words: which values its fields can have, why one is refused, and which fields
 * have no effect. The module decides; this only explains the decision to a reader.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "calls.h"

#define MS_MAX		3600000U	/* an hour */
#define DAY_MS		86400000U
#define ENTRIES_MAX	(1U << 20)
#define THREADS_MAX	499U
#define HOMES_MAX	56U

#define AT(f)		offsetof(struct dxk_policy, f)

/**
 * struct range - the values of a field
 * @mask: @max has all bits
 */
static const struct range {
	uint32_t at, min, max;
	bool mask;
} ranges[] = {
	{ AT(sched_mode), 0, TPOOL_MODE_CMLS, true },
	{ AT(prio_policy), 0, PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST, true },
	{ AT(max_threads), 1, THREADS_MAX, false },
	{ AT(kernel_threads), 0, THREADS_MAX, false },
	{ AT(ready_entries), 1, ENTRIES_MAX, false },
	{ AT(rejoin_entries), 1, ENTRIES_MAX, false },
	{ AT(log_entries), 2, ENTRIES_MAX, false },
	{ AT(handle_entries), 0, 1U << 16, false },
	{ AT(max_requests), 1, 2 * ENTRIES_MAX, false },
	{ AT(data_size), 0, 4096, false },
	{ AT(lane_pct[0]), 0, 100, false },
	{ AT(lane_pct[1]), 0, 100, false },
	{ AT(lane_pct[2]), 0, 100, false },
	{ AT(boost_value), 0, 1U << 16, false },
	{ AT(sched_interval_ms), 1, MS_MAX, false },
	{ AT(monitor_interval_ms), 1, MS_MAX, false },
	{ AT(dispatch_interval_ms), 0, MS_MAX, false },
	{ AT(dispatch), 0, DXK_DISPATCH_THREAD, false },
	{ AT(log_full), 0, DXK_LOG_DROP_OLDEST, false },
	{ AT(rejoin_full), 0, DXK_REJOIN_RESERVE, false },
	{ AT(shutdown), DXK_STOP_DRAIN, DXK_STOP_CANCEL, false },
	{ AT(on_block), 0, DXK_ON_BLOCK_SPARE, false },
	{ AT(order), 0, DXK_ORDER_PRIO_GLOBAL, false },
	{ AT(log_batch), 1, 4096, false },
	{ AT(sample_interval_ms), 0, MS_MAX, false },
	{ AT(sample_entries), 1, 4096, false },
	{ AT(report_age_ms), 0, DAY_MS, false },
	{ AT(redo_max), 1, 1000, false },
	{ AT(help_depth), 1, 64, false },
	{ AT(max_spares), 0, THREADS_MAX, false },
	{ AT(user_share), 1, 100, false },
	{ AT(prealloc_requests), 0, 2 * ENTRIES_MAX, false },
	{ AT(max_waiting), 0, 2 * ENTRIES_MAX, false },
	{ AT(wait_report_ms), 0, DAY_MS, false },
	{ AT(min_threads), 0, THREADS_MAX, false },
	{ AT(spare_idle_ms), 0, DAY_MS, false },
	{ AT(key_batch), 1, 1000, false },
	{ AT(min_spares), 0, THREADS_MAX, false },
	{ AT(spare_after_ms), 0, MS_MAX, false },
	{ AT(homes), 0, HOMES_MAX, false },
	{ AT(steal), 0, 1, false },
	{ AT(space_weight), 0, DXK_WEIGHT_MAX, false },
	{ AT(autotune), 0, 1, false },
	{ AT(help_scope), 0, DXK_HELP_OWN, false },
};

static const struct range *range_of(unsigned int offset)
{
	const struct range *r;

	for (r = ranges; r < ranges + sizeof(ranges) / sizeof(*ranges); r++)
		if (r->at == offset)
			return r;
	return NULL;
}

int dxk_policy_range(unsigned int offset, uint32_t *min, uint32_t *max)
{
	const struct range *r = range_of(offset);

	if (!r)
		return -ENOENT;
	*min = r->min;
	*max = r->max;
	return 0;
}

/* --- why it was refused ---------------------------------------------------------- */

static uint32_t value_at(const struct dxk_policy *p, unsigned int offset)
{
	return *(const uint32_t *)(const void *)((const char *)p + offset);
}

static bool is_in(const struct range *r, uint32_t value)
{
	return r->mask ? !(value & ~r->max) : value >= r->min && value <= r->max;
}

/* The share of a lane in @n workers or entries: at least one if the lane is on. */
static uint32_t quota(uint32_t n, uint32_t pct)
{
	uint32_t part = (uint32_t)((uint64_t)n * pct / 100);

	return pct && !part ? 1 : part;
}

/* Lanes 0 to 2 take all @n @things, which leaves none for lane 3. @more: what to raise */
static void why_none_left(const struct dxk_policy *p, uint32_t n, const char *things,
			  const char *more, char *text, size_t room)
{
	snprintf(text, room, "lanes 0, 1, 2 take %u + %u + %u of %u %s, which leaves none for lane 3; "
		 "fewer percent, or more %s", quota(n, p->lane_pct[0]), quota(n, p->lane_pct[1]),
		 quota(n, p->lane_pct[2]), n, things, more);
}

/* Each field alone is valid: finds fields that do not fit each other. */
static void why_beside(const struct dxk_policy *p, unsigned int bad, char *text, size_t room)
{
	uint32_t kernel = p->kernel_threads, user = p->max_threads - kernel;
	uint32_t sum = p->lane_pct[0] + p->lane_pct[1] + p->lane_pct[2];

	switch (bad) {
	case AT(lane_pct):
		snprintf(text, room, "the lanes' shares are %u + %u + %u = %u percent, above 100",
			 p->lane_pct[0], p->lane_pct[1], p->lane_pct[2], sum);
		break;
	case AT(ready_entries):
		why_none_left(p, p->ready_entries, "Ready Pool entries", "entries", text, room);
		break;
	case AT(kernel_threads):
		if (kernel > p->max_threads)
			snprintf(text, room, "%u kernel workers are more than %u workers", kernel,
				 p->max_threads);
		else
			why_none_left(p, kernel, "kernel workers", "of them", text, room);
		break;
	case AT(max_threads):
		why_none_left(p, user, "user workers", "of them", text, room);
		break;
	case AT(min_threads):
		if (p->homes)
			snprintf(text, room, "not with homes, which have workers from the start");
		else
			snprintf(text, room, "%u workers to begin with are too few: each lane with a "
				 "share needs one, and lane 3; 0 begins with all", p->min_threads);
		break;
	case AT(space_weight):
		snprintf(text, room, "not with homes, which have no rounds");
		break;
	case AT(log_entries):
		snprintf(text, room, "%u is no power of two", p->log_entries);
		break;
	case AT(max_spares):
		snprintf(text, room, "%u spares and %u workers are more than %u threads",
			 p->max_spares, p->max_threads, THREADS_MAX);
		break;
	case AT(min_spares):
		snprintf(text, room, "%u spares to be kept are more than the %u that there may be",
			 p->min_spares, p->max_spares);
		break;
	case AT(max_requests):
		snprintf(text, room, "%u requests are fewer than the %u entries of the Ready Pool",
			 p->max_requests, p->ready_entries);
		break;
	}
}

const char *dxk_policy_why(const struct dxk_policy *policy, int error, unsigned int bad_field,
			   char *text, size_t room)
{
	const struct range *r = range_of(bad_field);

	*text = 0;
	if (error == -EBUSY)
		snprintf(text, room, "it cannot change while the context runs");
	else if (!r || (error != -EINVAL && error != -EOPNOTSUPP))
		return text;
	else if (!is_in(r, value_at(policy, bad_field)))
		snprintf(text, room, "%u is not in %u..%u", value_at(policy, bad_field), r->min,
			 r->max);
	else
		why_beside(policy, bad_field, text, room);
	return text;
}

/* --- what has no effect ---------------------------------------------------------- */

/* Why a field that is set has no effect, or NULL. */
static const char *idle_for(const struct dxk_policy *p, unsigned int offset)
{
	bool spare = p->on_block == DXK_ON_BLOCK_SPARE;

	switch (offset) {
	case AT(prio_policy):
		return p->prio_policy == PRIO_POLICY_BOOST ?
		       "the boost has no effect without ageing (AGERQS)" : NULL;
	case AT(lane_pct[0]):
	case AT(lane_pct[1]):
	case AT(lane_pct[2]):
		return p->sched_mode & TPOOL_MODE_CMLS ? NULL :
		       "a lane's share has no effect without CMLS";
	case AT(wait_report_ms):
		return p->max_waiting ? NULL : "no request waits: there may be none that does";
	case AT(min_spares):
	case AT(spare_after_ms):
		return spare ? NULL : "there are no spares: a worker that blocks is not replaced";
	case AT(help_scope):
		return p->on_block == DXK_ON_BLOCK_HELP ? NULL :
		       "nobody helps: a worker that sleeps executes nothing";
	case AT(steal):
		return p->homes ? NULL : "there are no homes";
	case AT(autotune):
		return p->min_threads ? NULL : "all workers stay: there is no fewest to begin with";
	}
	return NULL;
}

unsigned int dxk_policy_idle(const struct dxk_policy *policy, unsigned int after, char *text,
			     size_t room)
{
	const struct range *r;

	*text = 0;
	for (r = ranges; r < ranges + sizeof(ranges) / sizeof(*ranges); r++) {
		const char *why = value_at(policy, r->at) ? idle_for(policy, r->at) : NULL;

		if (r->at <= after || !why)
			continue;
		snprintf(text, room, "%s", why);
		return r->at;
	}
	return 0;
}
