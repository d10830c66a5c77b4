/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * A context is stalled when work exists and no worker can run any of it. Each worker is in one
 * of these states: it is idle, with nothing admissible for it; it sleeps in a post, a rejoin or
 * a completion until another worker acts; or it sleeps in another call until somebody outside
 * acts. This follows from counters, and is known at any time under the lock. Nothing inside ends
 * a stall; from outside a deadline, a signal, a further worker or Stop does. Therefore a stall
 * is reported only when it has lasted for some time.
 */
#ifndef _DXK_ENGINE_STALL_H
#define _DXK_ENGINE_STALL_H

#include "engine/os.h"

#include "uapi/dxk.h"

struct dxk_engine;
struct dxk_member;
struct dxk_wakes;

/* A stall is reported after this time. */
#define DXK_STALL_MS	100
/* The same, while a process is about to start a spare worker. */
#define DXK_SPARE_MS	1000

/**
 * struct dxk_stall - what the Monitor remembers of its last looks
 */
struct dxk_stall {
	/** @since: os_now() of the first look that found nobody able to run, 0 for none */
	u64 since;
	/** @progress: moves that the context had made by then */
	u64 progress;
	/** @reported: it has already been reported */
	bool reported;
	/** @nr: number of the stall, from 1 on, if it is to be reported now */
	u64 nr;
	/** @ready: Ready requests by lane at that time */
	u32 ready[DXK_LANES];
};

/**
 * struct dxk_sleeper - what a member executes, and what it waits for if it sleeps
 */
struct dxk_sleeper {
	/** @state: enum dxk_member_state */
	u8 state;
	/** @held: how many requests it has; the newest is @work */
	u32 held;
	/** @work: the work it was given last */
	struct dxk_running work;
	/** @work_space: number of the space of @work's owner */
	u32 work_space;
	/** @space: in a rejoin: number of the space of the owner @awaits */
	u32 space;
	/** @awaits: the owner in a rejoin, the lane in a post */
	u64 awaits;
	/** @ready: in a rejoin: how many requests of the owner are Ready */
	u32 ready;
	/** @at_work: and how many execute; dxk_works_for() finds the workers */
	u32 at_work;
};

void dxk_look_at(const struct dxk_member *m, struct dxk_sleeper *s);
bool dxk_sleeps(const struct dxk_member *m, struct dxk_sleeper *s);
bool dxk_works_for(const struct dxk_member *m, u32 space, u64 owner);
bool dxk_nobody_can_run(const struct dxk_engine *e);
bool dxk_stall_look(struct dxk_engine *e, struct dxk_stall *s);
void dxk_stall_suspect(struct dxk_engine *e, struct dxk_wakes *wakes);

#endif /* _DXK_ENGINE_STALL_H */
