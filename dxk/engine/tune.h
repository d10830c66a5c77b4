/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * A search for the number of workers with the best throughput. It proceeds by steps and knows
 * only the results of past intervals. autotune.h applies it to an engine.
 */
#ifndef _DXK_ENGINE_TUNE_H
#define _DXK_ENGINE_TUNE_H

#include "engine/os.h"

/* "Better" means by more than a 16th: two measurements, each 3 % off, differ by less. */
#define DXK_TUNE_GAIN_SHIFT	4
/* "Changed since the search ended" means by more than a fifth. */
#define DXK_TUNE_CHANGE		5
/* A step is a quarter of the size, then an eighth, and 1 at least; less could gain no 16th */
#define DXK_TUNE_STEP_SHIFT	2
#define DXK_TUNE_FINE_SHIFT	3
/*
 * The search restarts this many intervals after its end. The number doubles, up to the maximum,
 * each time that the search ends with the same size.
 */
#define DXK_TUNE_REST		4
#define DXK_TUNE_REST_MOST	50

/**
 * enum dxk_tune_kind - usability of an interval
 * @DXK_TUNE_WHOLE: there was a backlog all the time, for a crew of the size asked for
 * @DXK_TUNE_LULL: there was not: some worker had nothing to do
 * @DXK_TUNE_SHORT: there was, but the crew did not get that size
 */
enum dxk_tune_kind {
	DXK_TUNE_WHOLE,
	DXK_TUNE_LULL,
	DXK_TUNE_SHORT,
};

/**
 * struct dxk_tune_sample - the result of an interval
 */
struct dxk_tune_sample {
	/** @kind: the other members are meaningful only if this is %DXK_TUNE_WHOLE */
	enum dxk_tune_kind kind;
	/** @done: requests that were completed */
	u64 done;
	/** @ns: its length in ns */
	u64 ns;
};

/**
 * enum dxk_tune_phase - what the next interval measures
 * @DXK_TUNE_BASE: the throughput of @base
 * @DXK_TUNE_PROBE: the throughput one step from there
 * @DXK_TUNE_STAY: whether nothing has changed
 */
enum dxk_tune_phase {
	DXK_TUNE_BASE,
	DXK_TUNE_PROBE,
	DXK_TUNE_STAY,
};

/**
 * struct dxk_tune - the search
 *
 * Invariants:
 *
 * - Only intervals are compared in which there was a backlog all the time, for a crew of the
 *   requested size: otherwise the posters determine the throughput. An interrupted probe has no
 *   result: the search goes back, and repeats it once @base has been measured again.
 * - From one interval to the next @target changes by one step at most. It is @base, or in
 *   %DXK_TUNE_PROBE one step up or down of it.
 * - @base becomes @target only if the throughput was better than @best, which is that of
 *   @base, by more than the hysteresis of a 16th. Otherwise @target goes back to @base, which
 *   is measured again, so that only neighbours in time are compared; then the other direction
 *   is tried.
 * - When neither direction is better, with either the coarse step or the fine one, it stays
 *   for @rest intervals, or until the throughput differs from @best by more than a fifth.
 *   Therefore, of sizes that are equally good, it keeps the one that it reached first.
 * - An interval may show too low a throughput, because the machine did something else.
 *   Therefore no result is final: a new one is checked again soon, one that has been found
 *   repeatedly is checked seldom.
 * - @lo <= @base <= @hi, and so is @target. With @lo == @hi there are no steps.
 */
struct dxk_tune {
	/** @lo: fewest workers */
	u32 lo;
	/** @hi: most workers */
	u32 hi;
	/** @base: the best size so far */
	u32 base;
	/** @target: the crew size for the next interval */
	u32 target;
	/** @best: throughput of @base, in requests per 1000 seconds */
	u64 best;
	/** @rate: throughput of the last interval that could be compared */
	u64 rate;
	/** @phase: enum dxk_tune_phase */
	u8 phase;
	/** @up: the direction that is tried, or comes next */
	bool up;
	/** @tried: BIT(up): which directions were not better than @base */
	u8 tried;
	/** @shift: a step is @base >> @shift */
	u8 shift;
	/** @rested: intervals in %DXK_TUNE_STAY */
	u32 rested;
	/** @rest: how many intervals it stays; 0 before the first search has ended */
	u32 rest;
	/** @found: the size with which the last search ended */
	u32 found;
};

void dxk_tune_init(struct dxk_tune *t, u32 lo, u32 hi);
void dxk_tune_bound(struct dxk_tune *t, u32 lo, u32 hi);
u32 dxk_tune(struct dxk_tune *t, const struct dxk_tune_sample *s);

#endif /* _DXK_ENGINE_TUNE_H */
