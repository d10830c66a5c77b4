// SPDX-License-Identifier: GPL-2.0-only
/*
 * What does not go on: stalls of the whole context, and single requests that
 * execute for longer than report_age_ms. Found by the Monitor, told in three
 * places: a counter in sysfs with a notification, the Log Pool, and one line for
 * the kernel's log.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/printk.h>
#include <linux/seq_buf.h>
#include <linux/sysfs.h>

#include "engine/stall.h"
#include "runtime/context.h"
#include "runtime/report.h"
#include "runtime/thread.h"
#include "trace.h"

/** dxk_report_init - of a context that starts */
void dxk_report_init(struct dxk_report *report)
{
	*report = (struct dxk_report) { };
	ratelimit_state_init(&report->limit, DEFAULT_RATELIMIT_INTERVAL,
			     DEFAULT_RATELIMIT_BURST);
}

static bool dxk_member_asleep(const struct dxk_member *m)
{
	u8 state = dxk_member_state(m);

	return state == DXK_M_POSTING || state == DXK_M_REJOINING ||
	       state == DXK_M_COMPLETING;
}

static u32 dxk_lane_from(u32 attrs)
{
	return attrs & PXR_LANE0 ? 0 : attrs & PXR_LANE1 ? 1 : attrs & PXR_LANE2 ? 2 : 3;
}

/* One that sleeps, and what it has. The lock is held for one member at a time. */
static void dxk_stall_describe_member(struct dxk_member *m, struct seq_buf *s)
{
	struct dxk_running work;
	bool asleep;
	u32 held;
	u8 state;

	if (!dxk_member_asleep(m))
		return;
	spin_lock(&m->engine->lock);
	asleep = dxk_member_asleep(m);
	state = dxk_member_state(m);
	held = m->held;
	work = m->work;
	spin_unlock(&m->engine->lock);

	if (!asleep)
		return;
	seq_buf_printf(s, " %u %s", m->id, dxk_member_state_name(state));
	if (held)
		seq_buf_printf(s, " lane %u owner %#llx executor %#llx",
			       dxk_lane_from(work.attrs), work.owner, work.executor);
	seq_buf_printf(s, ",");
}

/*
 * The text of a stall, as far as there is room.
 *
 * Whoever is not asleep any more when its turn comes is left out: a stall lasts, and what
 * ends one comes from outside, at any time.
 */
static void dxk_stall_describe(struct dxk_ctx *ctx, const struct dxk_stall *stall,
			       struct seq_buf *s)
{
	struct dxk_thread *t;
	unsigned long id;
	u32 lane;

	seq_buf_printf(s, "stall %llu: ready", stall->nr);
	for (lane = 0; lane < DXK_LANES; lane++)
		seq_buf_printf(s, " %u lane %u%s", stall->ready[lane], lane,
			       lane < DXK_LANES - 1 ? "," : "; asleep:");
	for (id = 0; (t = dxk_thread_next(ctx, &id, DXK_ID_MAX)); id++) {
		dxk_stall_describe_member(&t->m, s);
		dxk_thread_put(t);
		if (seq_buf_has_overflowed(s))
			break;
		cond_resched();
	}
}

/* Tell in the kernel's log and in that of the context, and wake who watches. */
static void dxk_tell(struct dxk_ctx *ctx, const char *counter, const char *text)
{
	if (__ratelimit(&ctx->report.limit))
		pr_warn("dxk: context %u: %s\n", ctx->id, text);
	dxk_log_add(&ctx->log, ctx->engine.policy.log_full, DXK_ID_MONITOR, "%s", text);
	sysfs_notify(&ctx->kobj, "stats", counter);
}

/**
 * dxk_stall_check - the Monitor's look at a running context
 * @ctx: the context
 *
 * Return: true while it should look again soon.
 */
bool dxk_stall_check(struct dxk_ctx *ctx)
{
	struct dxk_stall *stall = &ctx->report.stall;
	struct seq_buf s;
	char text[400];

	if (dxk_stall_look(&ctx->engine, stall)) {
		trace_dxk_stall(ctx->id, stall->nr);
		seq_buf_init(&s, text, sizeof(text) - 1);
		dxk_stall_describe(ctx, stall, &s);
		if (seq_buf_has_overflowed(&s))
			memcpy(text + sizeof(text) - sizeof("..."), "...",
			       sizeof("..."));
		else
			text[s.len] = '\0';
		dxk_tell(ctx, "stalls", text);
	}
	return READ_ONCE(ctx->engine.stalled);
}

/**
 * dxk_overdue_check - report requests that execute for too long, each once
 * @ctx: the context
 */
void dxk_overdue_check(struct dxk_ctx *ctx)
{
	unsigned long limit = msecs_to_jiffies(ctx->engine.policy.report_age_ms);
	struct dxk_thread *t;
	unsigned long id;
	char text[200];

	if (!ctx->engine.policy.report_age_ms)
		return;
	for (id = 1; (t = dxk_thread_next(ctx, &id, DXK_ID_WORKER_MAX)); id++) {
		const struct dxk_member *m = &t->m;
		bool overdue;

		spin_lock(&ctx->engine.lock);
		overdue = m->held && m->work_ticket != t->reported &&
			  time_after(jiffies, m->since + limit);
		if (overdue) {
			ctx->engine.stats.overdue++;
			t->reported = m->work_ticket;
			scnprintf(text, sizeof(text),
				  "overdue: %u executes for %u ms: lane %u owner %#llx executor %#llx",
				  m->id, jiffies_to_msecs(jiffies - m->since),
				  dxk_lane_from(m->work.attrs), m->work.owner,
				  m->work.executor);
		}
		spin_unlock(&ctx->engine.lock);
		dxk_thread_put(t);
		if (overdue)
			dxk_tell(ctx, "overdue", text);
	}
}
