/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_SAMPLE_H
#define _DXK_SERVICES_SAMPLE_H

#include <linux/types.h>

#include "uapi/dxk.h"

struct dxk_engine;

/**
 * struct dxk_samples - samples of the instrumentation package
 *
 * Works while the policy's sample_interval_ms is not 0; what was recorded stays
 * until the next Start.
 */
struct dxk_samples {
	/** @sample: (L) ring of samples */
	struct dxk_sample *sample;
	/** @size: (L) its entries */
	u32 size;
	/** @taken: (L) samples so far; the newest is sample[(taken - 1) % size] */
	u64 taken;
	/** @base: (L) counters at the last sample */
	struct dxk_sample base;
	/** @due: (L) ktime of the next sample */
	u64 due;
};

int dxk_samples_alloc(struct dxk_samples *in, struct dxk_engine *e, u32 size);
void dxk_samples_free(struct dxk_samples *in);
u64 dxk_samples_take(struct dxk_samples *in, struct dxk_engine *e, u32 log, u32 handles);
u32 dxk_samples_get(const struct dxk_samples *in, struct dxk_engine *e, u64 after_ns,
		    struct dxk_sample *out, u32 room);

#endif /* _DXK_SERVICES_SAMPLE_H */
