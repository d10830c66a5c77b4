/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The crew size with the highest throughput (policy autotune). The Monitor feeds what it sees
 * of the engine in an interval into the search of tune.h. The result is the maximum number of
 * workers of each kind, dxk_crew.most. No other part is involved: the crew grows up to that
 * number, as it grows by need up to its places, and surplus workers are dismissed.
 *
 * An interval begins when the crew has its size, so that no worker comes or goes within it. It
 * is over when the Monitor's interval is over and each worker has executed %DXK_TUNE_ROUNDS
 * requests on average: with fewer, one more or less would look like a gain. All kinds that had
 * Ready requests when the interval began must have a backlog all the time: none of their workers
 * falls idle. Requests of another kind that are done beside them count as well.
 */
#ifndef _DXK_ENGINE_AUTOTUNE_H
#define _DXK_ENGINE_AUTOTUNE_H

#include "engine/os.h"
#include "engine/request.h"
#include "engine/tune.h"

struct dxk_engine;

/* Two intervals differ by at most a request of each worker: by a 16th of what they execute. */
#define DXK_TUNE_ROUNDS		32
/* Until the crew has its size, the Monitor looks this often; at least an eighth of its interval. */
#define DXK_TUNE_SETTLE_MS	10

/**
 * struct dxk_autotune - what the Monitor knows of its intervals
 */
struct dxk_autotune {
	/** @tune: the search */
	struct dxk_tune tune;
	/** @on: the search goes on */
	bool on;
	/** @runs: an interval has begun; else the crew must get its size first */
	bool runs;
	/** @kinds: while @runs: BIT(kind) of those that have a backlog */
	u8 kinds;
	/** @since: os_now() when it began, or when the size was asked for */
	u64 since;
	/** @done: completions until then */
	u64 done;
	/** @lulls: by kind: dxk_crew.lulls then */
	u32 lulls[DXK_KINDS];
};

/**
 * struct dxk_tune_step - the outcome of an interval
 */
struct dxk_tune_step {
	/** @from: maximum number of workers of each kind in the last interval */
	u32 from;
	/** @to: the same in the next one */
	u32 to;
	/** @base: the best number so far */
	u32 base;
	/** @rate: requests per 1000 seconds in that interval, or the last that was compared */
	u64 rate;
	/** @best: the same of the best number */
	u64 best;
	/** @kept: the best number differs from the one before */
	bool kept;
	/** @settled: the search is over for now */
	bool settled;
};

bool dxk_autotune_look(struct dxk_engine *e, struct dxk_tune_step *step);
u32 dxk_autotune_begin(struct dxk_engine *e);

#endif /* _DXK_ENGINE_AUTOTUNE_H */
