/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The life of a context as a state machine: Start, Stop and close change a few fields
 * under the lock, and nobody holds anything over a wait.
 *
 * A *run* is what lies between a Start and the end of the threads that it made. It has a
 * number, its generation, so that a waiter for the end of one cannot take another for it.
 * It goes up by steps, which the caller of Start makes: no lock is held over them, for the
 * state STARTING is the claim. It goes down by the same steps, in the reverse order, which
 * one *walker* makes, whatever began it: Stop, the close of the last descriptor, or a Start
 * that failed. A step that is not finished, because a thread still executes, makes the
 * walker return; the thread that finishes it kicks the walker again. So close(2) and Stop are
 * one lock hold and one kick, and a caller that waits for the end sleeps as all sleepers do.
 *
 *   state      next by
 *   NEW        Start: STARTING. Close: STOPPED, and nothing follows
 *   STARTING   all steps up: RUNNING. One failed: STOPPING
 *   RUNNING    Stop, close: STOPPING
 *   STOPPING   quiet and somebody wants the threads ended, or close: STOPPED
 *   STOPPED    once @over == @gen, Start: STARTING
 *
 * Invariants, all under the lock:
 *   over <= gen <= over + 1; there is a run exactly while they differ
 *   within one run @how only grows; cancelling is how >= DXK_CANCEL
 *   the state is RUNNING only while there is a run that nobody has stopped
 *   nothing enters a run that is STOPPING from outside, so one that is quiet stays so
 *   once @down is set nobody joins the crew, and no kernel worker is made
 *   @buried only if nobody has a descriptor, all threads have ended, and nothing is pinned
 */
#ifndef _DXK_ENGINE_LIFE_H
#define _DXK_ENGINE_LIFE_H

#include "engine/os.h"
#include "uapi/dxk.h"

struct dxk_engine;
struct dxk_wakes;

enum dxk_ctx_state {
	DXK_CTX_NEW,
	DXK_CTX_STARTING,
	DXK_CTX_RUNNING,
	DXK_CTX_STOPPING,
	DXK_CTX_STOPPED,
};

/* How a run ends: each also does what those before it do. */
enum dxk_how {
	DXK_DRAIN,	/* what is Ready is executed */
	DXK_CANCEL,	/* what is Ready is cancelled */
	DXK_CLOSE,	/* and user workers are not waited for */
};

/**
 * struct dxk_run - the run of a context, if there is one, and how it ends
 */
struct dxk_run {
	/** @gen: (L) number of the newest Start that claimed; 0 before the first */
	u32 gen;
	/** @over: (L) number of the newest run that has ended */
	u32 over;
	/** @how: (L) enum dxk_how, since it is STOPPING */
	u8 how;
	/** @shut: (L) for how many of enum dxk_how somebody has ended sleepers, or is at it */
	u8 shut;
	/** @back: (L) the state before Start, which one that fails goes back to */
	u8 back;
	/** @failed: (L) Start failed: nothing of this run is to stay */
	bool failed;
	/** @want_down: (L) somebody wants the threads ended */
	bool want_down;
	/** @down: (L) they are being ended; until the next Start */
	bool down;
	/** @closed: (L) nobody has a descriptor any more */
	bool closed;
	/** @left: (L) the walker has been told to let go of what is pinned */
	bool left;
	/** @buried: (L) the walker has been told to bury the context */
	bool buried;
	/** @live: (L) kernel workers whose thread was made and has not left its loop */
	u32 live;
	/** @pins: (L) what the burial must outlive, see dxk_pin() */
	u32 pins;
	/** @ended: (L) struct dxk_halt_op that sleep until their run is over */
	struct list_head ended;
};

/* What the walker is to do next. */
enum dxk_walk {
	DXK_WALK_PARK,		/* nothing: return until the next kick */
	DXK_WALK_SHUT,		/* end who sleeps: dxk_run_shut() */
	DXK_WALK_DOWN,		/* one step down, or dxk_run_over() if none is up */
	DXK_WALK_LEAVE,		/* nobody has the context: have those end who pin it */
	DXK_WALK_BURY,		/* nobody pins it */
};

enum dxk_ctx_state dxk_run_state(const struct dxk_engine *e);
bool dxk_run_drains(struct dxk_engine *e);

int dxk_run_claim(struct dxk_engine *e, const struct dxk_policy *policy);
void dxk_run_open(struct dxk_engine *e);
void dxk_run_fail(struct dxk_engine *e);
int dxk_run_halt(struct dxk_engine *e, enum dxk_stop_mode mode, bool down, u64 deadline);
void dxk_run_close(struct dxk_engine *e);

enum dxk_walk dxk_run_look(struct dxk_engine *e);
void dxk_run_shut(struct dxk_engine *e);
void dxk_run_over(struct dxk_engine *e);

void dxk_pin(struct dxk_engine *e);
void dxk_unpin(struct dxk_engine *e);

#endif /* _DXK_ENGINE_LIFE_H */
