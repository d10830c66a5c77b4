/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The house around the engine: its control threads, its runs from Start to Stop, and who
 * makes all of that happen.
 */
#ifndef _DXK_SIM_HOUSE_H
#define _DXK_SIM_HOUSE_H

#include "engine/engine.h"
#include "engine/stall.h"

#include "sched.h"

struct control {
	struct task_struct *task;
	bool kicked, stop;
};

struct house {
	struct dxk_engine e;
	struct control control[DXK_CONTROLS];
	struct dxk_stall stall;
	struct dxk_policy next_policy;
	/* It is changed, and not in force yet; it is coming into force. */
	bool policy_changed, enforcing;
	/* When the newest Stop of this run began, 0 before. Posts that were refused. */
	u64 stopped, refused;
	/* It was started once, and is not gone: there is something to look at. */
	bool started;
	/* Who changes what members there are, or the run: the context's mutex. */
	struct task_struct *mutex;
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

bool house_trylock(void);
void house_lock(void);
void house_unlock(void);

/* control.c */
void control_kick(struct control *c);
void control_start_all(void);
void control_stop_all(void);
void crew_bury(bool all);
bool house_start(void);
void house_stop(void);
void house_end_run(void);
void house_main(void *arg);
void house_policy(void);
void house_change_policy(void);
u32 crew_count(enum dxk_kind kind);

#endif /* _DXK_SIM_HOUSE_H */
