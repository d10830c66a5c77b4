/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_LATENCY_H
#define _DXK_ENGINE_LATENCY_H

#include "engine/os.h"
#include "uapi/dxk.h"

struct dxk_rqe;

/* Bucket b counts latencies of 2^b..2^(b+1)-1 ns, the last one all above. */
#define DXK_LATENCY_BUCKETS	40

enum dxk_latency {
	DXK_LATENCY_WAIT,	/* from the post to the start */
	DXK_LATENCY_RUN,	/* from the start to the end */
	DXK_LATENCIES,
};

/**
 * struct dxk_latencies - histograms of a context (L)
 *
 * What was recorded stays until the next Start.
 */
struct dxk_latencies {
	/** @ns: by what was measured and by lane: how many fell into each bucket */
	u64 ns[DXK_LATENCIES][DXK_LANES][DXK_LATENCY_BUCKETS];
};

void dxk_latency_account(struct dxk_latencies *l, const struct dxk_rqe *rqe);

#endif /* _DXK_ENGINE_LATENCY_H */
