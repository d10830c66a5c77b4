/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The control threads: 500, the Monitor; 600, the Scheduler; 700, the Dispatcher.
 */
#ifndef _DXK_RUNTIME_CONTROL_H
#define _DXK_RUNTIME_CONTROL_H

#include <linux/completion.h>
#include <linux/types.h>
#include <linux/swait.h>

#include "engine/engine.h"

struct dxk_ctx;
struct dxk_slot;
struct task_struct;

/**
 * struct dxk_control - one of the control threads 500, 600, 700
 */
struct dxk_control {
	/** @task: (W) referenced while it runs, else NULL */
	struct task_struct *task;
	/** @slot: (W) the slot that shows it in the Thread Pool */
	struct dxk_slot *slot;
	/** @turn: (W) the kind of turn it makes */
	enum os_turn turn;
	/** @wait: the thread sleeps here */
	struct swait_queue_head wait;
	/**
	 * @kicked: (A) a look is requested; set before the wake-up, cleared by the
	 * thread before it looks
	 */
	bool kicked;
	/** @running: the thread has reached its loop */
	struct completion running;
};

/* The interval of a control thread that has nothing to do: it sleeps until kicked. */
#define DXK_DORMANT	0

void dxk_control_init(struct dxk_control *t);
int dxk_control_start(struct dxk_ctx *ctx, enum dxk_control_id who, int (*fn)(void *));
void dxk_control_stop(struct dxk_control *t);
void dxk_control_kick(struct dxk_control *t);
void dxk_control_wait(struct dxk_control *t, u32 ms);
bool dxk_control_wait_until(struct dxk_control *t, u64 deadline);

int dxk_monitor_start(struct dxk_ctx *ctx);
int dxk_monitor_start_crew(struct dxk_ctx *ctx);

int dxk_scheduler_start(struct dxk_ctx *ctx);

int dxk_dispatcher_start(struct dxk_ctx *ctx);
void dxk_dispatcher_stop(struct dxk_ctx *ctx);

#endif /* _DXK_RUNTIME_CONTROL_H */
