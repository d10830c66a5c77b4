/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What suites need that run whole contexts: contexts that are gone after the
 * test however it ended, an executor whose requests a test holds and lets go,
 * and calls that sleep in a thread of their own.
 */
#ifndef _DXK_TESTS_RIG_H
#define _DXK_TESTS_RIG_H

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>

#include "dxk_api.h"
#include "runtime/context.h"

#define DXK_RIG_JOBS	64
#define DXK_RIG_ERRANDS	8
#define DXK_RIG_CLIENTS	12

/* Nothing here takes longer unless it hangs, be the CPUs emulated and the host busy. */
#define DXK_RIG_MS	30000

/* Does a condition become true in time? Looks once more after the time is up. */
#define DXK_SOON(cond) ({						\
	unsigned long _until = jiffies + msecs_to_jiffies(DXK_RIG_MS);	\
	bool _ok;							\
									\
	while (!(_ok = (cond)) && time_before(jiffies, _until))		\
		usleep_range(200, 500);					\
	_ok || (cond);							\
})

struct dxk_rig;

/**
 * struct dxk_job - what a request of the rig does
 * @rig: whose
 * @nr: index in dxk_rig.job
 * @gated: waits for @leave first
 * @fn: what it runs then, or NULL
 * @arg: @fn's
 * @status: what it returns without @fn
 * @entered: it executes
 * @leave: it may go on
 */
struct dxk_job {
	struct dxk_rig *rig;
	u32 nr;
	bool gated;
	s32 (*fn)(struct dxk_job *job, struct dxk_call *call);
	void *arg;
	s32 status;
	struct completion entered;
	struct completion leave;
};

/**
 * struct dxk_errand - a call made by a thread of its own
 * @m: the thread's member
 * @run: the call
 * @req: what to post
 * @owner: whom to rejoin
 * @mode: how to stop
 * @deadline: of its sleep
 * @ret: what it returned; valid once @done is
 * @reason: of a post
 * @answer: of a rejoin
 * @done: it has returned
 */
struct dxk_errand {
	struct dxk_rig *rig;
	struct dxk_member *m;
	int (*run)(struct dxk_errand *e);
	struct dxk_request req;
	u64 owner;
	enum dxk_stop_mode mode;
	u64 deadline;
	int ret;
	u32 reason;
	u32 answer;
	struct completion done;
};

/**
 * struct dxk_rig - test->priv of these suites
 * @ctx: contexts; most tests have one
 * @m: clients, and workers that tests play; m[0] belongs to ctx[0]
 * @seen: other members that a test looks at
 * @exec: runs jobs: the parameter of a request is its job's address
 * @over: the test has ended: no job waits any longer
 * @executed: jobs begun so far
 * @order: their numbers
 * @answer: for calls of dxk_rejoin()
 */
struct dxk_rig {
	struct kunit *test;
	struct dxk_ctx *ctx[2];
	u32 nr_ctx;
	struct dxk_member *m[DXK_RIG_CLIENTS];
	u32 nr_m;
	struct dxk_member *seen[4];
	u32 nr_seen;
	struct dxk_executor exec;
	bool registered;
	bool over;
	atomic_t executed;
	u32 order[DXK_RIG_JOBS];
	struct dxk_job job[DXK_RIG_JOBS];
	u32 nr_jobs;
	struct dxk_errand errand[DXK_RIG_ERRANDS];
	u32 nr_errands;
	struct dxk_answer answer[DXK_BATCH_MAX];
};

int dxk_rig_init(struct kunit *test);
void dxk_rig_exit(struct kunit *test);

void dxk_rig_policy(struct kunit *test, struct dxk_policy *p, u32 workers);
struct dxk_ctx *dxk_rig_create(struct dxk_rig *rig);
struct dxk_ctx *dxk_rig_start(struct dxk_rig *rig, struct dxk_policy *p);
struct dxk_member *dxk_rig_client(struct dxk_rig *rig, struct dxk_ctx *ctx);

struct dxk_member *dxk_rig_worker(struct dxk_rig *rig, struct dxk_ctx *ctx, u32 id);
struct dxk_member *dxk_rig_join(struct dxk_rig *rig, struct dxk_ctx *ctx);

struct dxk_job *dxk_rig_job(struct dxk_rig *rig);
struct dxk_job *dxk_rig_gate(struct dxk_rig *rig, u64 owner, u32 attrs);
struct dxk_request dxk_rig_request(struct dxk_job *job, u64 owner, s32 prio, u32 attrs);
int dxk_rig_post(struct dxk_job *job, u64 owner, s32 prio, u32 attrs, u32 *reason);
void dxk_rig_entered(struct dxk_job *job);
int dxk_rig_rejoin(struct dxk_rig *rig, u64 owner, u32 *answer);
int dxk_rig_poll(struct dxk_rig *rig, u64 owner);

struct dxk_errand *dxk_rig_errand(struct dxk_rig *rig, int (*run)(struct dxk_errand *e));
struct dxk_errand *dxk_rig_poster(struct dxk_job *job, u32 attrs, u64 deadline);
struct dxk_errand *dxk_rig_poller(struct dxk_rig *rig, u64 owner, u64 deadline);
struct dxk_errand *dxk_rig_stopper(struct dxk_rig *rig, enum dxk_stop_mode mode);
void dxk_rig_finished(struct dxk_errand *e);

extern const u32 dxk_rig_modes[2];
void dxk_rig_mode_name(const u32 *mode, char *name);

static inline u64 dxk_in_ms(u32 ms)
{
	return ktime_get_ns() + ms * NSEC_PER_MSEC;
}

#endif /* _DXK_TESTS_RIG_H */
