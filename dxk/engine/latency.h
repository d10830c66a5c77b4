/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_LATENCY_H
#define _DXK_ENGINE_LATENCY_H

#include "engine/os.h"
#include "uapi/dxk.h"

struct dxk_rqe;

#define DXK_LATENCIES	(DXK_LATENCY_RUN + 1)

/**
 * struct dxk_latencies - histograms of a context (L)
 *
 * The records stay until the next Start.
 */
struct dxk_latencies {
	/**
	 * @ns: by enum dxk_latency and by lane: how many fell into each bucket, see
	 * struct dxk_latencies_read
	 */
	u64 ns[DXK_LATENCIES][DXK_LANES][DXK_LATENCY_BUCKETS];
};

void dxk_latency_account(struct dxk_latencies *l, const struct dxk_rqe *rqe);

#endif /* _DXK_ENGINE_LATENCY_H */
