/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The house around the engine: its control threads, its runs from Start to their end, its
 * walker, and who makes all of that happen. As in runtime/ no lock is held over any of it.
 */
#ifndef _DXK_SIM_HOUSE_H
#define _DXK_SIM_HOUSE_H

/* Homes of a policy, at most */
#define SIM_HOMES	3

#include "engine/circle.h"
#include "engine/engine.h"
#include "engine/stall.h"

#include "sched.h"

struct control {
	struct task_struct *task;
	bool kicked, stop;
};

/* The steps of a run, in the order in which they go up. */
enum house_step {
	STEP_OWNERS,
	STEP_MONITOR,
	STEP_SCHEDULER,
	STEP_DISPATCHER,
	STEP_CREW,		/* nothing; on the way down, until it has gone */
	STEP_WORKERS,		/* the Monitor makes them */
	STEPS,
};

struct house {
	struct dxk_engine e;
	struct control control[DXK_CONTROLS];
	/* Who takes runs down, and buries the context. */
	struct control walker;
	/* How many steps are up: of who starts, then of the walker. */
	u32 up;
	struct dxk_stall stall;
	struct dxk_circles circles;
	/* Under the engine's lock: what was set last. What the newest run began with. */
	struct dxk_policy policy, began;
	/* A policy is coming into force. */
	bool enforcing;
	/* Who starts waits for the Monitor to have made the workers; it has. */
	bool crew_wanted, crew_up;
	/*
	 * When the newest Stop of this run began that has told all sleepers, 0 before. Calls
	 * of Stop that are under way, and all so far.
	 */
	u64 stopped;
	u32 halting, halts;
	/* Threads that may be at telling sleepers. */
	u32 telling;
	/* Posts that were refused. */
	u64 refused;
	/* It was started once, and is not gone: there is something to look at. */
	bool started;
	/* Calls that a descriptor of the context is open for. */
	u32 calls;
	/* The last descriptor is closed, or about to be; the walker is done. */
	bool leaving, buried;
	/* The episode ends: whoever can shall. */
	bool ending;
	/* Of a crowd: one of so many posts, the others only wait. */
	u32 waiters;
	/* Memory runs out now and then. */
	bool scarce;
	/* Private spaces of owners, while their descriptor is open. */
	struct dxk_space *space[2];
};

extern struct house house;

/* house.c: policy, Start, Stop */
bool house_start(void);
void house_stop(bool down);
void house_set_policy(bool crowd);
bool house_differs_in_fixed(const struct dxk_policy *a, const struct dxk_policy *b);
bool house_policy_review(struct dxk_policy *policy);

/* walker.c */
void walker_start(void);
void walker_stop(void);

/* control.c */
void control_start(struct control *c, const char *name, void (*run)(void *));
void control_stop(struct control *c);
void control_kick(struct control *c);
bool control_wait(struct control *c, u64 deadline);
bool control_take_kick(struct control *c);
void control_up(enum dxk_control_id who);
void control_down(enum dxk_control_id who);
void crew_reap(void);

/* life.c */
void house_main(void *arg);

#endif /* _DXK_SIM_HOUSE_H */
