// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The crew size with the highest throughput: see autotune.h.
 */
#include "engine/autotune.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/onblock.h"
#include "engine/os.h"

/**
 * struct dxk_autotune_op - a look of the Monitor: is an interval over?
 */
struct dxk_autotune_op {
	/** @op: the operation */
	struct dxk_op op;
	/** @step: out: the outcome of the interval */
	struct dxk_tune_step *step;
	/** @over: out: an interval is over */
	bool over;
};

static u64 dxk_autotune_interval(const struct dxk_engine *e)
{
	return e->policy.monitor_interval_ms * (u64)NSEC_PER_MSEC;
}

/* Is the number of workers of a kind to be tuned? */
static bool dxk_autotune_has(const struct dxk_engine *e, u32 kind)
{
	return dxk_crew_places(&e->policy, kind) && (kind == DXK_KERNEL || e->crew.managed);
}

/* The largest number of places of such a kind. */
static u32 dxk_autotune_most(const struct dxk_engine *e)
{
	u32 kind, most = 0;

	for (kind = 0; kind < DXK_KINDS; kind++)
		if (dxk_autotune_has(e, kind))
			most = max(most, dxk_crew_places(&e->policy, kind));
	return most;
}

/* BIT(kind) of such kinds that have a backlog. */
static u8 dxk_autotune_kinds(const struct dxk_engine *e)
{
	u8 kinds = 0;
	u32 kind;

	for (kind = 0; kind < DXK_KINDS; kind++)
		if (dxk_autotune_has(e, kind) && dxk_ready_nr(&e->ready, kind))
			kinds |= BIT(kind);
	return kinds;
}

/* Do these kinds have the requested number of workers, all of which have asked for work? */
static bool dxk_autotune_sized(const struct dxk_engine *e, u8 kinds)
{
	const struct dxk_crew *crew = &e->crew;
	u32 kind;

	for (kind = 0; kind < DXK_KINDS; kind++)
		if (kinds & BIT(kind) &&
		    (crew->workers[kind] != dxk_crew_most(crew, &e->policy, kind) ||
		     crew->coming[kind]))
			return false;
	return true;
}

static bool dxk_autotune_lulled(const struct dxk_engine *e)
{
	const struct dxk_autotune *a = &e->autotune;
	u32 kind;

	if (dxk_autotune_kinds(e) != a->kinds)
		return true;
	for (kind = 0; kind < DXK_KINDS; kind++)
		if (a->kinds & BIT(kind) && (e->crew.lulls[kind] != a->lulls[kind] ||
					     e->crew.nr_idle[kind]))
			return true;
	return false;
}

/* Is the interval, or the wait for its start, over? */
static bool dxk_autotune_over(const struct dxk_engine *e, struct dxk_tune_sample *s)
{
	const struct dxk_autotune *a = &e->autotune;
	u32 workers = e->crew.workers[DXK_USER] + e->crew.workers[DXK_KERNEL];

	s->ns = os_now() - a->since;
	if (s->ns < dxk_autotune_interval(e))
		return false;
	s->done = e->stats.completions - a->done;
	s->kind = DXK_TUNE_WHOLE;
	if (!a->runs)
		s->kind = dxk_autotune_kinds(e) ? DXK_TUNE_SHORT : DXK_TUNE_LULL;
	else if (dxk_autotune_lulled(e) || !dxk_autotune_sized(e, a->kinds))
		s->kind = DXK_TUNE_LULL;
	return s->kind != DXK_TUNE_WHOLE || s->done >= (u64)DXK_TUNE_ROUNDS * workers;
}

/* Request the target size of the crew; once it has that, the next interval begins. */
static void dxk_autotune_ask(struct dxk_engine *e, struct dxk_wakes *wakes)
{
	struct dxk_autotune *a = &e->autotune;

	WRITE_ONCE(e->crew.most, a->tune.target);
	a->runs = false;
	a->since = os_now();
	dxk_tell_managers(e, wakes);
}

static void dxk_autotune_run(struct dxk_engine *e, struct dxk_op *op, struct dxk_wakes *wakes)
{
	struct dxk_autotune_op *o = container_of(op, struct dxk_autotune_op, op);
	struct dxk_autotune *a = &e->autotune;
	u32 most = dxk_autotune_most(e), least = min(e->policy.min_threads, most);
	struct dxk_tune_sample s;
	u32 base;
	u8 phase;

	if (!a->on) {
		a->on = true;
		dxk_tune_init(&a->tune, least, most);
		dxk_autotune_ask(e, wakes);
		return;
	}
	dxk_tune_bound(&a->tune, least, most);
	if (e->crew.most != a->tune.target)
		dxk_autotune_ask(e, wakes);
	if (!dxk_autotune_over(e, &s))
		return;
	phase = a->tune.phase;
	base = a->tune.base;
	o->step->from = a->tune.target;
	o->step->to = dxk_tune(&a->tune, &s);
	o->step->base = a->tune.base;
	o->step->rate = a->tune.rate;
	o->step->best = a->tune.best;
	o->step->kept = a->tune.base != base;
	o->step->settled = phase != DXK_TUNE_STAY && a->tune.phase == DXK_TUNE_STAY;
	o->over = true;
	e->stats.tune_intervals += s.kind == DXK_TUNE_WHOLE;
	e->stats.tune_steps += o->step->from != o->step->to;
	dxk_autotune_ask(e, wakes);
}

/**
 * dxk_autotune_look - a look of the Monitor: is an interval over?
 * @e: the engine
 * @step: out: the outcome of the interval
 *
 * Return: true if one is. In any case the caller reviews the crew next.
 */
bool dxk_autotune_look(struct dxk_engine *e, struct dxk_tune_step *step)
{
	struct dxk_autotune_op o = { .step = step };

	if (!dxk_is_tuned(&e->policy))
		return false;
	dxk_perform(e, &o.op, dxk_autotune_run);
	return o.over;
}

static u32 dxk_autotune_left(const struct dxk_engine *e)
{
	u64 interval = dxk_autotune_interval(e), gone = os_now() - e->autotune.since;

	return gone < interval ? div_u64(interval - gone, NSEC_PER_MSEC) + 1 :
				 e->policy.monitor_interval_ms;
}

/* Begin an interval if the crew has its size. Return: ms until the next look of the Monitor. */
static u32 dxk_autotune_try(struct dxk_engine *e)
{
	struct dxk_autotune *a = &e->autotune;
	u32 ms = e->policy.monitor_interval_ms;
	u32 kind;

	if (a->runs)
		return dxk_autotune_left(e);
	a->kinds = dxk_autotune_kinds(e);
	/* Nothing is Ready: there is no hurry. */
	if (!a->kinds)
		return ms;
	if (!dxk_autotune_sized(e, a->kinds))
		return min(ms, max_t(u32, ms / 8, DXK_TUNE_SETTLE_MS));
	a->runs = true;
	a->since = os_now();
	a->done = e->stats.completions;
	for (kind = 0; kind < DXK_KINDS; kind++)
		a->lulls[kind] = e->crew.lulls[kind];
	return ms;
}

/**
 * dxk_autotune_begin - begin an interval if possible, after the Monitor has reviewed the crew
 * @e: the engine
 *
 * Return: ms until the next look of the Monitor.
 */
u32 dxk_autotune_begin(struct dxk_engine *e)
{
	u32 ms = e->policy.monitor_interval_ms;

	if (!dxk_is_tuned(&e->policy))
		return ms;
	spin_lock(&e->lock);
	if (e->autotune.on)
		ms = dxk_autotune_try(e);
	spin_unlock(&e->lock);
	return ms;
}
