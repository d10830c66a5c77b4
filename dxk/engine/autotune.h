/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * A crew of the size that it does most with (policy autotune): what the Monitor sees of the
 * engine in an interval goes into the search of tune.h, and what comes out is how many
 * workers of each kind there are to be at most, dxk_crew.most. Nobody else takes notice: the
 * crew grows up to that, as by need up to its places, and those that are more are dismissed.
 *
 * An interval begins when the crew has its size, so that no worker that comes or goes is a
 * part of it, and is over when the Monitor's interval is, and each worker has executed
 * %DXK_TUNE_ROUNDS requests on the average: with fewer, one more or less would look as a gain.
 * All kinds of which something was Ready when it began are to have a backlog all the time:
 * none of their workers falls idle. What of another kind is done beside them counts as well.
 */
#ifndef _DXK_ENGINE_AUTOTUNE_H
#define _DXK_ENGINE_AUTOTUNE_H

#include "engine/os.h"
#include "engine/request.h"
#include "engine/tune.h"

struct dxk_engine;

/* Two intervals differ by a request of each worker at most: by a 16th of what they execute. */
#define DXK_TUNE_ROUNDS		32
/* Until the crew has its size the Monitor looks so often; an eighth of its interval at least. */
#define DXK_TUNE_SETTLE_MS	10

/**
 * struct dxk_autotune - what the Monitor knows of its intervals
 */
struct dxk_autotune {
	/** @tune: the search */
	struct dxk_tune tune;
	/** @on: it goes on */
	bool on;
	/** @runs: an interval has begun; else the crew is to get its size first */
	bool runs;
	/** @kinds: while it @runs: BIT(kind) of those that have a backlog */
	u8 kinds;
	/** @since: os_now() when it began, or when the size was asked for */
	u64 since;
	/** @done: completions until then */
	u64 done;
	/** @lulls: by kind: dxk_crew.lulls then */
	u32 lulls[DXK_KINDS];
};

/**
 * struct dxk_tune_step - what an interval has led to
 */
struct dxk_tune_step {
	/** @from: workers of each kind there were to be at most in the last interval */
	u32 from;
	/** @to: and in the next one */
	u32 to;
	/** @base: the best number so far */
	u32 base;
	/** @rate: requests per 1000 seconds in that interval, or the last that was compared */
	u64 rate;
	/** @best: the same of the best number */
	u64 best;
	/** @kept: that is another one than before */
	bool kept;
	/** @settled: the search is over for now */
	bool settled;
};

bool dxk_autotune_look(struct dxk_engine *e, struct dxk_tune_step *step);
u32 dxk_autotune_begin(struct dxk_engine *e);

#endif /* _DXK_ENGINE_AUTOTUNE_H */
