// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Constrained Multi Lane Scheduling: how many of a resource a level of the
 * hierarchy may hold, so that the levels below always find one.
 *
 * A request of lane l may use a resource of its own lane's share or of the share
 * of any higher level (a smaller number). Since shares are not bound to single
 * resources, that is the same as bounding the sums over lanes 0..l.
 */
#include "engine/lanes.h"
#include "engine/os.h"

u32 dxk_lanes_quota(u32 n, u32 pct)
{
	return pct ? max(1U, (u32)div_u64((u64)n * pct, 100)) : 0;
}

/**
 * dxk_lanes_set - compute the limits of a resource
 * @lanes: the resource
 * @cmls: is CMLS on? If not, every lane may use all
 * @n: how many of the resource there are
 * @pct: percentages of lanes 0..2
 */
void dxk_lanes_set(struct dxk_lanes *lanes, bool cmls, u32 n, const u32 *pct)
{
	u32 sum = 0;
	u32 l;

	for (l = 0; l < DXK_LANES - 1; l++) {
		sum += dxk_lanes_quota(n, pct[l]);
		lanes->quota[l] = cmls ? min(sum, n) : n;
	}
	lanes->quota[l] = n;
}

/**
 * dxk_lanes_limit - how many requests of a lane could hold the resource now
 * @lanes: the resource
 * @lane: the lane
 *
 * The lane's own count may grow to this while the other lanes stay as they are.
 */
u32 dxk_lanes_limit(const struct dxk_lanes *lanes, u32 lane)
{
	u32 limit = U32_MAX;
	u32 sum = 0;
	u32 k;

	for (k = 0; k < DXK_LANES; k++) {
		if (k != lane)
			sum += lanes->used[k];
		if (k >= lane)
			limit = min(limit, lanes->quota[k] > sum ?
					   lanes->quota[k] - sum : 0);
	}
	return limit;
}

/**
 * dxk_lanes_below - the lane of the requests for which those of each lane wait
 * @cmls: CMLS is on
 * @pct: percentages of lanes 0, 1 and 2
 *
 * A lane without a share of its own only borrows from those above it, whose resources may all
 * be held by waiters for it. Return: by lane, see dxk_lane_below(), the first lane below that
 * has a share; for lane 3 that lane itself.
 */
u32 dxk_lanes_below(bool cmls, const u32 *pct)
{
	u32 below = DXK_LANES - 1, all = below << 8 * below, lane;

	for (lane = DXK_LANES - 1; lane-- > 0;) {
		all |= below << 8 * lane;
		if (!cmls || pct[lane])
			below = lane;
	}
	return all;
}
