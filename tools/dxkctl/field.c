// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fields of the policy: the ranges and the names of their values. The module
 * decides, this table only helps to say what it would take.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "ctl.h"

#define MS_MAX	3600000
#define F(_field, _min, _max, ...)						\
	{ #_field, offsetof(struct dxk_policy, _field), _min, _max, { __VA_ARGS__ } }
#define LANE(_lane)								\
	{ "lane_pct" #_lane, offsetof(struct dxk_policy, lane_pct[_lane]), 0, 100, { } }

static const struct field fields[] = {
	F(sched_mode, 0, TPOOL_MODE_CMLS, "none", "cmls"),
	F(prio_policy, 0, PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST, "none", "agerqs", "boost",
	  "agerqs+boost"),
	F(max_threads, 1, 499),
	F(kernel_threads, 0, 499),
	F(ready_entries, 1, 1 << 20),
	F(rejoin_entries, 1, 1 << 20),
	F(log_entries, 2, 1 << 20),
	F(handle_entries, 0, 1 << 16),
	F(max_requests, 1, 1 << 21),
	F(data_size, 0, 4096),
	LANE(0), LANE(1), LANE(2),
	F(boost_value, 0, 1 << 16),
	F(sched_interval_ms, 1, MS_MAX),
	F(monitor_interval_ms, 1, MS_MAX),
	F(dispatch_interval_ms, 0, MS_MAX),
	F(dispatch, 0, DXK_DISPATCH_THREAD, "direct", "thread"),
	F(log_full, 0, DXK_LOG_DROP_OLDEST, "block", "drop_new", "drop_oldest"),
	F(rejoin_full, 0, DXK_REJOIN_RESERVE, "grow", "block_worker", "reserve"),
	F(shutdown, DXK_STOP_DRAIN, DXK_STOP_CANCEL, "drain", "cancel"),
	F(on_block, 0, DXK_ON_BLOCK_SPARE, "strict", "help", "spare"),
	F(order, 0, DXK_ORDER_PRIO_GLOBAL, "prio_global"),
	F(log_batch, 1, 4096),
	F(sample_interval_ms, 0, MS_MAX),
	F(sample_entries, 1, 4096),
	F(report_age_ms, 0, 86400000),
	F(redo_max, 1, 1000),
	F(help_depth, 1, 64),
	F(max_spares, 0, 499),
	F(user_share, 1, 100),
	F(prealloc_requests, 0, 1 << 21),
	F(max_waiting, 0, 1 << 21),
	F(wait_report_ms, 0, 86400000),
	F(min_threads, 0, 499),
	F(spare_idle_ms, 0, 86400000),
	F(min_spares, 0, 499),
	F(spare_after_ms, 0, 3600000),
	F(homes, 0, 56),
	F(steal, 0, 1),
	F(key_batch, 1, 1000),
};

#define NR	(sizeof(fields) / sizeof(fields[0]))

const struct field *field_of(const char *name)
{
	const struct field *f;

	for (f = fields; f < fields + NR; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const char *field_at(size_t offset)
{
	const struct field *f;

	for (f = fields; f < fields + NR; f++)
		if (f->offset == offset)
			return f->name;
	return "?";
}

bool field_parse(const struct field *f, const char *text, uint32_t *value)
{
	uint32_t i;

	for (i = 0; f && f->words[i]; i++) {
		if (strcmp(f->words[i], text))
			continue;
		*value = f->min + i;
		return true;
	}
	return parse_u32(text, value);
}

const char *field_word(const struct field *f, uint32_t value)
{
	if (!f || !f->words[0] || value < f->min || value > f->max)
		return NULL;
	return f->words[value - f->min];
}

const char *field_range(const struct field *f, char *text, size_t size)
{
	size_t len = 0;
	uint32_t i;

	if (!f)
		snprintf(text, size, "a number");
	else if (!f->words[0])
		snprintf(text, size, "a number from %u to %u", f->min, f->max);
	for (i = 0; f && f->words[i] && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s (%u)",
					i ? ", " : "", f->words[i], f->min + i);
	return text;
}
