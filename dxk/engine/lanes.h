/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_LANES_H
#define _DXK_ENGINE_LANES_H

#include "engine/os.h"
#include "uapi/dxk.h"

/**
 * struct dxk_lanes - Constrained Multi Lane Scheduling of one resource
 *
 * A resource is the Ready Pool's entries or the workers of one kind. Both fields
 * belong to the context lock. Invariant while quotas do not shrink:
 * used[0] + .. + used[l] <= quota[l] for every l, except for internal moves,
 * which are never refused; then the lane admits nothing until it has fallen.
 */
struct dxk_lanes {
	/** @used: resources that requests of each lane hold now */
	u32 used[DXK_LANES];
	/** @quota: cumulative limits: lanes 0..l together may hold quota[l] */
	u32 quota[DXK_LANES];
};

void dxk_lanes_set(struct dxk_lanes *lanes, bool cmls, u32 n, const u32 *pct);

/** dxk_lanes_full - of how many lanes, from lane 0 on, may no more requests hold the resource? */
static inline u32 dxk_lanes_full(const struct dxk_lanes *lanes)
{
	u32 sum = 0, full = 0;
	u32 k;

	/* without a limit */
	if (likely(lanes->quota[0] == U32_MAX))
		return 0;
	for (k = 0; k < DXK_LANES; k++) {
		sum += lanes->used[k];
		if (sum >= lanes->quota[k])
			full = k + 1;
	}
	return full;
}

/**
 * dxk_lanes_admit - may one more request of a lane hold the resource?
 * @lanes: the resource
 * @lane: the request's lane
 *
 * Sums of lanes below @lane do not change by the admission, so only those from
 * @lane on are tested.
 */
static inline bool dxk_lanes_admit(const struct dxk_lanes *lanes, u32 lane)
{
	return lane >= dxk_lanes_full(lanes);
}

/** dxk_lanes_closed - can the lane never be admitted, whoever ends? (DX-46) */
static inline bool dxk_lanes_closed(const struct dxk_lanes *lanes, u32 lane)
{
	return !lanes->quota[lane];
}

u32 dxk_lanes_below(bool cmls, const u32 *pct);

/** dxk_lane_below - what dxk_lanes_below() says of a lane */
static inline u32 dxk_lane_below(u32 below, u32 lane)
{
	return below >> 8 * lane & 0xff;
}
u32 dxk_lanes_limit(const struct dxk_lanes *lanes, u32 lane);

/* Percent of @n that a lane owns; a lane that is on owns at least one. */
u32 dxk_lanes_quota(u32 n, u32 pct);

#endif /* _DXK_ENGINE_LANES_H */
