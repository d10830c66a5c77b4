// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fields of the policy, and the names of their values. libdxk knows which values
 * are permitted, and the module decides.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "ctl.h"

#define F(_field, ...)	{ #_field, offsetof(struct dxk_policy, _field), { __VA_ARGS__ } }
#define LANE(_lane)	{ "lane_pct" #_lane, offsetof(struct dxk_policy, lane_pct[_lane]), { } }

static const struct field fields[] = {
	F(sched_mode, "none", "cmls"),
	F(prio_policy, "none", "agerqs", "boost", "agerqs+boost"),
	F(max_threads),
	F(kernel_threads),
	F(ready_entries),
	F(rejoin_entries),
	F(log_entries),
	F(handle_entries),
	F(max_requests),
	F(data_size),
	LANE(0), LANE(1), LANE(2),
	F(boost_value),
	F(sched_interval_ms),
	F(monitor_interval_ms),
	F(dispatch_interval_ms),
	F(dispatch, "direct", "thread"),
	F(log_full, "block", "drop_new", "drop_oldest"),
	F(rejoin_full, "grow", "block_worker", "reserve"),
	F(shutdown, "drain", "cancel"),
	F(on_block, "strict", "help", "spare"),
	F(order, "prio_global"),
	F(log_batch),
	F(sample_interval_ms),
	F(sample_entries),
	F(report_age_ms),
	F(redo_max),
	F(help_depth),
	F(max_spares),
	F(user_share),
	F(prealloc_requests),
	F(max_waiting),
	F(wait_report_ms),
	F(min_threads),
	F(spare_idle_ms),
	F(min_spares),
	F(spare_after_ms),
	F(homes),
	F(steal),
	F(space_weight),
	F(autotune, "off", "on"),
	F(help_scope, "any", "own"),
	F(key_batch),
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

const char *field_at(unsigned int offset)
{
	const struct field *f;

	for (f = fields; f < fields + NR; f++)
		if (f->offset == offset)
			return f->name;
	return "?";
}

void fields_read(const struct ctx *ctx, struct dxk_policy *policy)
{
	const struct field *f;
	char path[64];

	for (f = fields; f < fields + NR; f++) {
		snprintf(path, sizeof(path), "policy/%s", f->name);
		*(uint32_t *)((char *)policy + f->offset) =
			(uint32_t)sysfs_number(ctx->dir, path);
	}
}

/* Of one that has words */
static uint32_t least(const struct field *f)
{
	uint32_t min = 0, max;

	dxk_policy_range(f->offset, &min, &max);
	return min;
}

bool field_parse(const struct field *f, const char *text, uint32_t *value)
{
	uint32_t i;

	for (i = 0; f && f->words[i]; i++) {
		if (strcmp(f->words[i], text))
			continue;
		*value = least(f) + i;
		return true;
	}
	return parse_u32(text, value);
}

const char *field_word(const struct field *f, uint32_t value)
{
	uint32_t i;

	for (i = 0; f && f->words[i]; i++)
		if (value == least(f) + i)
			return f->words[i];
	return NULL;
}

const char *field_range(const struct field *f, char *text, size_t size)
{
	uint32_t i, min, max;
	size_t len = 0;

	if (!f || dxk_policy_range(f->offset, &min, &max))
		snprintf(text, size, "a number");
	else if (!f->words[0])
		snprintf(text, size, "a number from %u to %u", min, max);
	for (i = 0; f && f->words[i] && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s (%u)",
					i ? ", " : "", f->words[i], least(f) + i);
	return text;
}
