/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_SAMPLE_H
#define _DXK_SERVICES_SAMPLE_H

#include <linux/types.h>

#include "uapi/dxk.h"

struct dxk_ctx;

/**
 * struct dxk_instrument - the instrumentation package
 * @sample: (M) ring of samples
 * @size: (M) its entries
 * @taken: (M) samples so far; the newest is sample[(taken - 1) % size]
 * @base: (L) counters at the last sample
 * @due: (M) ktime of the next sample
 *
 * Works while the policy's sample_interval_ms is not 0; what was recorded stays
 * until the next Start.
 */
struct dxk_instrument {
	struct dxk_sample *sample;
	u32 size;
	u64 taken;
	struct dxk_sample base;
	u64 due;
};

int dxk_instrument_alloc(struct dxk_instrument *in, u32 size);
void dxk_instrument_free(struct dxk_instrument *in);
u64 dxk_instrument_sample(struct dxk_ctx *ctx);
const struct dxk_sample *dxk_instrument_newest(const struct dxk_instrument *in);
u32 dxk_samples_get(const struct dxk_instrument *in, u64 after_ns,
		    struct dxk_sample *out, u32 room);

#endif /* _DXK_SERVICES_SAMPLE_H */
