// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The search for the number of workers with the best throughput: see tune.h. It has no locks
 * and no clock: the input is a sample, the output is a target.
 */
#include "engine/os.h"
#include "engine/tune.h"

/* Restart the search from @base. */
static void dxk_tune_anew(struct dxk_tune *t)
{
	t->target = t->base;
	t->phase = DXK_TUNE_BASE;
	t->up = true;
	t->tried = 0;
	t->shift = DXK_TUNE_STEP_SHIFT;
}

/** dxk_tune_init - begin a search in crews of @lo to @hi workers; it starts with @lo */
void dxk_tune_init(struct dxk_tune *t, u32 lo, u32 hi)
{
	*t = (struct dxk_tune) { .lo = lo, .hi = hi, .base = lo };
	dxk_tune_anew(t);
}

/** dxk_tune_bound - change the limits; results within them are kept */
void dxk_tune_bound(struct dxk_tune *t, u32 lo, u32 hi)
{
	if (t->lo == lo && t->hi == hi)
		return;
	t->lo = lo;
	t->hi = hi;
	t->base = clamp_t(u32, t->base, lo, hi);
	dxk_tune_anew(t);
}

static u32 dxk_tune_step(const struct dxk_tune *t)
{
	return max_t(u32, t->base >> t->shift, 1);
}

/* The size one step away, within the limits. */
static u32 dxk_tune_next(const struct dxk_tune *t)
{
	u32 step = dxk_tune_step(t);

	if (t->up)
		return t->base + min(step, t->hi - t->base);
	return t->base - min(step, t->base - t->lo);
}

/* End the search: the more often it has led here, the longer it stays. */
static void dxk_tune_stay(struct dxk_tune *t)
{
	bool again = t->rest && t->found == t->base;

	t->phase = DXK_TUNE_STAY;
	t->rested = 0;
	t->rest = again ? min_t(u32, 2 * t->rest, DXK_TUNE_REST_MOST) : DXK_TUNE_REST;
	t->found = t->base;
}

/* @base has been measured: try what has not been tried, or stay. */
static void dxk_tune_go_on(struct dxk_tune *t)
{
	for (;;) {
		while (t->tried != 3) {
			if (!(t->tried & BIT(t->up)) && dxk_tune_next(t) != t->base) {
				t->target = dxk_tune_next(t);
				t->phase = DXK_TUNE_PROBE;
				return;
			}
			t->tried |= BIT(t->up);
			t->up = !t->up;
		}
		if (t->shift == DXK_TUNE_FINE_SHIFT || dxk_tune_step(t) == 1)
			break;
		t->shift = DXK_TUNE_FINE_SHIFT;
		t->tried = 0;
	}
	dxk_tune_stay(t);
}

/* The step has brought no gain. */
static void dxk_tune_back(struct dxk_tune *t)
{
	t->tried |= BIT(t->up);
	t->up = !t->up;
	t->target = t->base;
	t->phase = DXK_TUNE_BASE;
}

static void dxk_tune_probed(struct dxk_tune *t)
{
	if (t->rate <= t->best + (t->best >> DXK_TUNE_GAIN_SHIFT)) {
		dxk_tune_back(t);
		return;
	}
	t->base = t->target;
	t->best = t->rate;
	t->tried = 0;
	dxk_tune_go_on(t);
}

static bool dxk_tune_has_changed(const struct dxk_tune *t)
{
	u64 apart = t->rate > t->best ? t->rate - t->best : t->best - t->rate;

	return apart * DXK_TUNE_CHANGE > t->best;
}

/* It has stayed for one more interval. */
static void dxk_tune_rested(struct dxk_tune *t)
{
	/* The previous result is now meaningless. */
	if (dxk_tune_has_changed(t))
		t->rest = 0;
	if (++t->rested >= t->rest)
		dxk_tune_anew(t);
}

static u64 dxk_tune_rate(const struct dxk_tune_sample *s)
{
	return div64_u64(s->done * NSEC_PER_SEC, max_t(u64, div_u64(s->ns, 1000), 1));
}

/**
 * dxk_tune - an interval is over
 * @t: the search
 * @s: what the interval has shown
 *
 * Return: how many workers the crew is to have in the next one.
 */
u32 dxk_tune(struct dxk_tune *t, const struct dxk_tune_sample *s)
{
	if (s->kind == DXK_TUNE_SHORT && t->phase == DXK_TUNE_PROBE) {
		/* A size that the crew does not get is no better. */
		dxk_tune_back(t);
		return t->target;
	}
	if (s->kind != DXK_TUNE_WHOLE) {
		if (t->phase == DXK_TUNE_PROBE) {
			t->target = t->base;
			t->phase = DXK_TUNE_BASE;
		}
		return t->target;
	}
	t->rate = dxk_tune_rate(s);
	switch (t->phase) {
	case DXK_TUNE_BASE:
		t->best = t->rate;
		dxk_tune_go_on(t);
		break;
	case DXK_TUNE_PROBE:
		dxk_tune_probed(t);
		break;
	case DXK_TUNE_STAY:
		dxk_tune_rested(t);
		break;
	}
	return t->target;
}
