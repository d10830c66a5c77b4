/* SPDX-License-Identifier: GPL-2.0-only */
/* The boost table, S-3: who goes first after k ticks. */
#ifndef BOOST_H
#define BOOST_H

#include "lib/puppet.h"

struct boost_row {
	bool seen;
	bool boosted_first;
	unsigned int inspect[2];	/* of the first and the second to go */
	int prio[2];
};

/*
 * Fills @row[k] for k < @rows: a boosted request of priority 0 and a plain one of
 * 10, posted together, the worker comes when both have seen k ticks. Which k it
 * was is told by the request itself; what comes too late counts for its own k.
 */
static inline bool boost_table(struct dxt *t, struct puppet *worker,
			       struct boost_row *row, unsigned int rows)
{
	struct dxk_post_entry e[2] = {
		prio_entry(1, 0, 0, PXR_BOOST),
		prio_entry(1, 1, 10, 0),
	};
	unsigned int want = 0, try, i, k = 0;
	struct dxk_post post;

	memset(row, 0, rows * sizeof(*row));
	for (try = 0; want < rows && try < 300; try++) {
		struct dxk_work w[2];

		if (dxt_post(t->member, e, 2, 0, &post) != 2)
			return false;
		if (want)
			dxt_sleep_ms(want * t->policy.sched_interval_ms -
				     t->policy.sched_interval_ms / 2);
		for (i = 0; i < 2; i++) {
			if (puppet_fetch(worker) != 1)
				return false;
			w[i] = worker->work[0];
			if (puppet_finish(worker, 0))
				return false;
		}
		k = w[0].inspect_count;
		if (k < rows && !row[k].seen) {
			row[k].seen = true;
			row[k].boosted_first = !w[0].param;
			for (i = 0; i < 2; i++) {
				row[k].inspect[i] = w[i].inspect_count;
				row[k].prio[i] = w[i].prio;
			}
		}
		for (want = 0; want < rows && row[want].seen; want++)
			;
	}
	return want == rows;
}

#endif /* BOOST_H */
