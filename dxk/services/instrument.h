/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_INSTRUMENT_H
#define _DXK_SERVICES_INSTRUMENT_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "uapi/dxk.h"

struct dxk_engine;

/**
 * struct dxk_instruments - the application's own counters; they live as long as the context
 */
struct dxk_instruments {
	/** @nr: (A) how many there are, released after their names; changed under (L) */
	u32 nr;
	/** @of: the counters, oldest first */
	struct {
		/** @of.name: (C) from the release on */
		char name[DXK_NAME_LEN];
		/** @of.value: (A) relaxed: it orders nothing else */
		atomic64_t value;
	} of[DXK_INSTRUMENTS];
};

int dxk_instrument(struct dxk_instruments *in, struct dxk_engine *e, const char *name,
		   s64 value, bool set);
int dxk_instruments_show(const struct dxk_instruments *in, char *buf);

#endif /* _DXK_SERVICES_INSTRUMENT_H */
