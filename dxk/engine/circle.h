/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Circles of waits that were too long for the search when they closed, see cycle.h, or that no
 * wait has closed: a request that could still have come was discarded without a result, or is
 * Held behind the sleeper's own; or its result was collected by another member; or a worker comes
 * back to a key whose holder sleeps. Both a search that gives up and such a change are recorded,
 * see dxk_owner_doubt() and dxk_key_suspect(). Once that state has lasted, the Monitor looks, in
 * many lock holds.
 *
 * In a first pass over all owners, every member or request that sleeps or waits for nothing but
 * others is doubted: a circle can only be among those. Each further pass clears the doubt of
 * those for which enough of the ones they wait for are not doubted. When two passes in a row have
 * met the same ones, these wait for each other: none of them woke in between, because a new sleep
 * is not doubted, and nobody else can wake them. The lists change between the holds of a pass: one
 * that comes again is not counted, and a pass that depends on one that the pass before has missed
 * is not the last.
 *
 * The doubted ones may include some that only stand behind a circle. It is not known whether
 * somebody waits outside who could post something that ends the circle. One that has more to look
 * at than %DXK_CIRCLE_LOOKS counts as one that goes on.
 *
 * Nobody gets -EDEADLK then: none of those that sleep already has closed the circle. It is
 * reported, and a time limit, a signal, a cancel or a Stop ends it.
 */
#ifndef _DXK_ENGINE_CIRCLE_H
#define _DXK_ENGINE_CIRCLE_H

#include "engine/age.h"
#include "engine/os.h"
#include "engine/stall.h"

struct dxk_engine;

/*
 * So many looks at an owner's sleepers, with what they execute, and as many at its requests that
 * have more, are taken for one that waits for it; and so many of each are met.
 */
#define DXK_CIRCLE_LOOKS	32

/* Looks of a lock hold. */
#define DXK_CIRCLE_HOLD		192

/* Lock holds of a look of the Monitor; its next look does the rest. */
#define DXK_CIRCLE_HOLDS	4096

/*
 * In the doubt of one that sleeps or waits: it was reported. The rest is the dxk_circles.round of
 * the last pass that has met it and left it doubted.
 */
#define DXK_DOUBT_TOLD		BIT(31)

/**
 * struct dxk_circles - what the Monitor remembers of its last looks
 */
struct dxk_circles {
	/** @since: os_now() when it first saw that a search had given up, or 0 */
	u64 since;
	/** @round: the number of the pass; those that it has met and doubts have that number */
	u32 round;
	/** @missed: this pass depends on one that the pass before has missed */
	bool missed;
	/** @tries: rounds still to be made */
	u32 tries;
	/** @pass: the pass of the round, from 1 on; 0: none has begun */
	u32 pass;
	/** @met: doubted ones that it has met */
	u32 met;
	/** @before: the same for the pass before */
	u32 before;
	/** @bucket: where the pass is: the bucket in the hash of owners */
	u32 bucket;
	/** @nr: number of the circle, from 1 on, if there is one to be reported */
	u64 nr;
};

/**
 * enum dxk_circles_found - the result of a look of the Monitor
 * @DXK_CIRCLES_NONE: no search has given up
 * @DXK_CIRCLES_AGAIN: the Monitor must look again soon
 * @DXK_CIRCLES_FOUND: the same, and dxk_circle_links() returns the members of the circle
 */
enum dxk_circles_found {
	DXK_CIRCLES_NONE,
	DXK_CIRCLES_AGAIN,
	DXK_CIRCLES_FOUND,
};

/**
 * struct dxk_link - one of those that wait for each other
 */
struct dxk_link {
	/** @worker: a worker that sleeps, or 0: a request that waits */
	u32 worker;
	union {
		/** @sleeper: what it has, and what it sleeps for */
		struct dxk_sleeper sleeper;
		/** @waiting: what it is, and what it waits for */
		struct dxk_waiting waiting;
	};
};

enum dxk_circles_found dxk_circles_look(struct dxk_engine *e, struct dxk_circles *c);
u32 dxk_circle_links(struct dxk_engine *e, struct dxk_circles *c, struct dxk_link *links,
		     u32 max);

#endif /* _DXK_ENGINE_CIRCLE_H */
