// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stall and overrun detection: stalls of the whole context, circles of waits, and single requests
 * that execute for longer than report_age_ms or wait for longer than wait_report_ms. The Monitor
 * finds them and reports them in three places: a counter in sysfs with a notification, the Log
 * Pool, and the kernel's log. The results of the search for the best number of workers are
 * reported in the Log Pool only.
 */
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/printk.h>
#include <linux/sysfs.h>

#include "engine/autotune.h"
#include "engine/stall.h"
#include "runtime/context.h"
#include "runtime/report.h"
#include "runtime/thread.h"
#include "runtime/waiting.h"
#include "trace.h"

/** dxk_report_init - initialise the report state of a context that starts */
void dxk_report_init(struct dxk_report *report)
{
	*report = (struct dxk_report) { };
	ratelimit_state_init(&report->limit, DEFAULT_RATELIMIT_INTERVAL,
			     DEFAULT_RATELIMIT_BURST);
}

static u32 dxk_lane_from(u32 attrs)
{
	return attrs & PXR_LANE0 ? 0 : attrs & PXR_LANE1 ? 1 : attrs & PXR_LANE2 ? 2 : 3;
}

/* Limits all contexts together, because users can make and close contexts at will. */
static DEFINE_RATELIMIT_STATE(dxk_tell_limit, DEFAULT_RATELIMIT_INTERVAL,
			      10 * DEFAULT_RATELIMIT_BURST);

/* Report one line in the kernel's log and in that of the context. */
static void dxk_tell(struct dxk_ctx *ctx, const char *text)
{
	if (__ratelimit(&ctx->report.limit) && __ratelimit(&dxk_tell_limit))
		pr_warn("dxk: context %u: %s\n", ctx->id, text);
	dxk_log_add(&ctx->log, ctx->engine.policy.log_full, DXK_ID_MONITOR, "%s", text);
}

/* --- stalls ----------------------------------------------------------------- */

/* A report of one or more lines: of a stall, or of a circle of waits. */
struct dxk_tale {
	struct dxk_ctx *ctx;
	const char *what;
	u64 nr;
	u32 len;
	char text[DXK_LOG_TEXT];
};

static void dxk_tale_begin(struct dxk_tale *t)
{
	t->len = scnprintf(t->text, sizeof(t->text), "%s %llu:", t->what, t->nr);
}

/* Add words to the report; they are kept together on one line. */
static __printf(2, 3) void dxk_tale_add(struct dxk_tale *t, const char *fmt, ...)
{
	char words[DXK_WAITING_TEXT + 20];
	va_list args;
	u32 len;

	va_start(args, fmt);
	len = vscnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	if (t->len + len >= sizeof(t->text)) {
		dxk_tell(t->ctx, t->text);
		dxk_tale_begin(t);
	}
	t->len += scnprintf(t->text + t->len, sizeof(t->text) - t->len, "%s", words);
}

/* Add the workers that execute what the sleeper waits for. */
static void dxk_tale_add_edges(struct dxk_tale *t, const struct dxk_sleeper *s)
{
	struct dxk_thread *worker;
	unsigned long id;

	dxk_tale_add(t, " on");
	for (id = 1; (worker = dxk_thread_next(t->ctx, &id, DXK_ID_WORKER_MAX)); id++) {
		if (dxk_works_for(&worker->m, s->space, s->awaits))
			dxk_tale_add(t, " %lu", id);
		dxk_thread_put(worker);
	}
}

/* Add a sleeping member, the request it holds, and what it waits for. */
static void dxk_tale_add_sleeper(struct dxk_tale *t, u32 id, const struct dxk_sleeper *s)
{
	char has[100 + DXK_LABEL_TEXT] = "", label[DXK_LABEL_TEXT];
	u32 len = 0;

	if (s->held)
		len = scnprintf(has, sizeof(has), " lane %u owner %#llx executor %#llx%s",
				dxk_lane_from(s->work.attrs), s->work.owner, s->work.executor,
				dxk_label_text(&t->ctx->labels, s->work_space, s->work.executor,
					       s->work.attrs, label));
	if (s->held > 1)
		scnprintf(has + len, sizeof(has) - len, " as the last of %u", s->held);
	switch (s->state) {
	case DXK_M_REJOINING:
		dxk_tale_add(t, " %u rejoining%s for owner %#llx: %u ready, %u at work", id,
			     has, s->awaits, s->ready, s->at_work);
		if (s->at_work)
			dxk_tale_add_edges(t, s);
		break;
	case DXK_M_POSTING:
		dxk_tale_add(t, " %u posting%s for room in lane %llu", id, has, s->awaits);
		break;
	case DXK_M_LOGGING:
		dxk_tale_add(t, " %u logging%s for room in the Log Pool", id, has);
		break;
	case DXK_M_ENTERING:
		dxk_tale_add(t, " %u entering%s for key %#llx", id, has, s->awaits);
		break;
	case DXK_M_CONDITION:
		dxk_tale_add(t, " %u waiting%s for a notification of key %#llx", id, has,
			     s->awaits);
		break;
	default:
		dxk_tale_add(t, " %u completing%s for room in the Rejoin Pool", id, has);
	}
	dxk_tale_add(t, ";");
}

/*
 * Report a stall: what is Ready, which members sleep, and what they wait for. The lock is held
 * for one member at a time.
 *
 * A member that is no longer asleep when its turn comes is omitted: a stall lasts, and the event
 * that ends it comes from outside, at any time.
 */
static void dxk_stall_tell(struct dxk_ctx *ctx, const struct dxk_stall *stall)
{
	struct dxk_tale t = { .ctx = ctx, .what = "stall", .nr = stall->nr };
	const u32 *ready = stall->ready;
	struct dxk_thread *sleeper;
	struct dxk_sleeper s;
	unsigned long id;

	dxk_tale_begin(&t);
	dxk_tale_add(&t, " ready %u lane 0, %u lane 1, %u lane 2, %u lane 3; asleep:",
		     ready[0], ready[1], ready[2], ready[3]);
	for (id = 0; (sleeper = dxk_thread_next(ctx, &id, DXK_ID_MAX)); id++) {
		if (dxk_sleeps(&sleeper->m, &s))
			dxk_tale_add_sleeper(&t, sleeper->m.id, &s);
		dxk_thread_put(sleeper);
		cond_resched();
	}
	dxk_tell(ctx, t.text);
	sysfs_notify(&ctx->kobj, "stats", "stalls");
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

	if (dxk_stall_look(&ctx->engine, stall)) {
		trace_dxk_stall(ctx->id, stall->nr);
		dxk_stall_tell(ctx, stall);
	}
	return READ_ONCE(ctx->engine.stalled);
}

/* --- circles ---------------------------------------------------------------- */

/* Maximum number of links reported of one circle; each has a line by which to find the others. */
#define DXK_LINKS_TOLD	64

/* Number of links fetched at a time. */
#define DXK_LINKS	4

static void dxk_tale_add_link(struct dxk_tale *t, const struct dxk_link *link)
{
	char words[DXK_WAITING_TEXT];

	if (link->worker) {
		dxk_tale_add_sleeper(t, link->worker, &link->sleeper);
		return;
	}
	dxk_waiting_text(&t->ctx->labels, &link->waiting, words);
	dxk_tale_add(t, " a request waits: %s;", words);
}

/* Report who waits for each other, and for what. All are counted, DXK_LINKS_TOLD reported. */
static void dxk_circle_tell(struct dxk_ctx *ctx)
{
	struct dxk_circles *c = &ctx->report.circles;
	struct dxk_tale t = { .ctx = ctx, .what = "circle" };
	struct dxk_link links[DXK_LINKS];
	u32 nr, i, all = 0;

	while ((nr = dxk_circle_links(&ctx->engine, c, links, DXK_LINKS))) {
		if (!all) {
			t.nr = c->nr;
			dxk_tale_begin(&t);
		}
		for (i = 0; i < nr && all + i < DXK_LINKS_TOLD; i++)
			dxk_tale_add_link(&t, &links[i]);
		all += nr;
	}
	if (!all)
		return;
	dxk_tale_add(&t, " %u wait for each other", all);
	dxk_tell(ctx, t.text);
	sysfs_notify(&ctx->kobj, "stats", "circles");
}

/**
 * dxk_circle_check - the Monitor's look for circles of waits
 * @ctx: the context, which runs or drains
 *
 * Return: true while it should look again soon.
 */
bool dxk_circle_check(struct dxk_ctx *ctx)
{
	enum dxk_circles_found found = dxk_circles_look(&ctx->engine, &ctx->report.circles);

	if (found == DXK_CIRCLES_FOUND)
		dxk_circle_tell(ctx);
	return found != DXK_CIRCLES_NONE;
}

/* --- what lasts ------------------------------------------------------------- */

static void dxk_waiting_tell(struct dxk_ctx *ctx, const struct dxk_waiting *w)
{
	char words[DXK_WAITING_TEXT], text[DXK_WAITING_TEXT + 50];

	dxk_waiting_text(&ctx->labels, w, words);
	scnprintf(text, sizeof(text), "overdue: waits for %u ms: %s", dxk_waiting_age_ms(w),
		  words);
	dxk_tell(ctx, text);
	sysfs_notify(&ctx->kobj, "stats", "overdue");
}

/* Maximum reported by one turn of the Monitor; later turns report the others. */
#define DXK_TOLD_MAX	8

/* Report requests that wait for too long, each once per such period. */
static void dxk_waiting_check(struct dxk_ctx *ctx)
{
	unsigned long limit = msecs_to_jiffies(ctx->engine.policy.wait_report_ms);
	struct dxk_waiting due[DXK_TOLD_MAX];
	u32 told = 0, nr, i;
	bool more = limit;

	while (more && told < DXK_TOLD_MAX) {
		nr = dxk_waiting_due(&ctx->engine, limit, due, DXK_TOLD_MAX - told, &more);
		for (i = 0; i < nr; i++)
			dxk_waiting_tell(ctx, &due[i]);
		told += nr;
		cond_resched();
	}
}

/* Report requests that execute for too long, each once. */
static void dxk_executing_check(struct dxk_ctx *ctx)
{
	unsigned long limit = msecs_to_jiffies(ctx->engine.policy.report_age_ms);
	struct dxk_thread *t;
	char text[200], label[DXK_LABEL_TEXT];
	unsigned long id;

	if (!ctx->engine.policy.report_age_ms)
		return;
	for (id = 1; (t = dxk_thread_next(ctx, &id, DXK_ID_WORKER_MAX)); id++) {
		const struct dxk_member *m = &t->m;
		struct dxk_running work;
		u32 space, age_ms;
		bool overdue;

		spin_lock(&ctx->engine.lock);
		overdue = m->held && m->work_ticket != t->reported &&
			  time_after(jiffies, m->since + limit);
		if (overdue) {
			ctx->engine.stats.overdue++;
			t->reported = m->work_ticket;
			age_ms = jiffies_to_msecs(jiffies - m->since);
			work = m->work;
			space = m->work_space;
		}
		spin_unlock(&ctx->engine.lock);
		dxk_thread_put(t);
		if (!overdue)
			continue;
		scnprintf(text, sizeof(text),
			  "overdue: %lu executes for %u ms: lane %u owner %#llx executor %#llx%s",
			  id, age_ms, dxk_lane_from(work.attrs), work.owner, work.executor,
			  dxk_label_text(&ctx->labels, space, work.executor, work.attrs, label));
		dxk_tell(ctx, text);
		sysfs_notify(&ctx->kobj, "stats", "overdue");
	}
}

/**
 * dxk_overdue_check - report requests that execute or wait for too long
 * @ctx: the context
 */
void dxk_overdue_check(struct dxk_ctx *ctx)
{
	dxk_executing_check(ctx);
	dxk_waiting_check(ctx);
}

/* --- the search for the best number of workers ------------------------------- */

static void dxk_tune_tell(struct dxk_ctx *ctx, const char *what, const struct dxk_tune_step *step)
{
	dxk_log_add(&ctx->log, ctx->engine.policy.log_full, DXK_ID_MONITOR,
		    "autotune: %s %u workers: %llu requests per second", what, step->base,
		    div_u64(step->best, 1000));
}

/**
 * dxk_autotune_check - the Monitor's look: has an interval shown how many workers do more?
 * @ctx: the context, which runs or drains; its crew is to be reviewed next
 *
 * Each step is a trace event. The log records the steps that were kept, and the number at which
 * the search ended if that number is new.
 */
void dxk_autotune_check(struct dxk_ctx *ctx)
{
	struct dxk_tune_step step;

	if (!dxk_autotune_look(&ctx->engine, &step))
		return;
	if (step.from != step.to)
		trace_dxk_tune(ctx->id, step.from, step.to, step.base, step.rate);
	if (step.kept)
		dxk_tune_tell(ctx, "goes on from", &step);
	if (!step.settled || step.base == ctx->report.stays)
		return;
	ctx->report.stays = step.base;
	dxk_tune_tell(ctx, "stays with", &step);
}
