// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * How long requests waited and ran, while the policy's sample_interval_ms is not 0.
 */
#include "engine/latency.h"
#include "engine/os.h"
#include "engine/request.h"

static void dxk_latency_add(u64 *bucket, u64 ns)
{
	bucket[min_t(u32, ns ? ilog2(ns) : 0, DXK_LATENCY_BUCKETS - 1)]++;
}

/**
 * dxk_latency_account - count the times of a request that ends
 * @l: of the locked engine
 * @rqe: the request; its times were taken
 */
void dxk_latency_account(struct dxk_latencies *l, const struct dxk_rqe *rqe)
{
	dxk_latency_add(l->ns[DXK_LATENCY_WAIT][rqe->lane],
			rqe->started - rqe->posted);
	dxk_latency_add(l->ns[DXK_LATENCY_RUN][rqe->lane],
			os_now() - rqe->started);
}
