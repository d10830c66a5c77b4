/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * One thread plays all members of an engine, move by move. A call that would sleep
 * returns at once, and its waiter tells whether a later move has ended the sleep.
 */
#ifndef _DXK_ENGINE_TESTS_PUPPET_H
#define _DXK_ENGINE_TESTS_PUPPET_H

#include <kunit/test.h>

#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/stall.h"

#define PUPPETS		160

enum puppet_sort {
	PUPPET_POST,
	PUPPET_REJOIN,
	PUPPET_NEXT,
	PUPPET_CREW,
	PUPPET_SHOULD,
	PUPPET_KEY,
	PUPPET_STOP,
};

/* Who waits until the run is quiet; nobody has asked for its end by this. */
struct puppet_stop {
	struct dxk_op op;
	struct dxk_waiter w;
};

struct puppet_call {
	struct puppet_call *before;
	enum puppet_sort sort;
	struct dxk_waiter *w;
	union {
		struct dxk_post_op post;
		struct dxk_rejoin_op rejoin;
		struct dxk_next_op next;
		struct dxk_crew_op crew;
		struct dxk_should_op should;
		struct dxk_key_op key;
		struct puppet_stop stop;
	};
};

/**
 * struct puppets - an engine and its members
 */
struct puppets {
	struct kunit *test;
	struct dxk_engine *e;
	/** @task: sleeps in all calls */
	struct task_struct *task;
	/** @main: a client */
	struct dxk_member *main;
	struct dxk_member *member[PUPPETS];
	u32 nr_members;
	/** @calls: all calls so far, so that the end can free what they have */
	struct puppet_call *calls;
	/** @params: parameter of the newest request; they count from 1 on */
	u64 params;
	/** @woken: sleepers whom the newest lock hold wakes */
	u32 woken;
	/** @polls: members whose poll(2) it wakes */
	u32 polls;
	/** @kick: control threads that it wakes */
	u32 kick;
	/** @work: it tells poll(2) of user workers that something is Ready */
	bool work;
};

/* In a test that has puppets *ps. */
#define EXPECT(cond)		KUNIT_EXPECT_TRUE(ps->test, cond)
#define EXPECT_IS(a, b)		KUNIT_EXPECT_EQ(ps->test, a, b)
#define ASSERT_IS(a, b)		KUNIT_ASSERT_EQ(ps->test, a, b)
#define ASLEEP(call)		(!(call)->w.done)

struct dxk_policy puppet_policy(u32 workers);
struct puppets *puppets_start(struct kunit *test, const struct dxk_policy *policy);
struct puppets *puppets_workers(struct kunit *test, u32 workers);
struct puppets *puppets_entries(struct kunit *test, u32 entries);
struct puppets *puppets_cmls(struct kunit *test, u32 entries);
struct puppets *puppets_on_block(struct kunit *test, u32 on_block, u32 workers, bool cmls);
void puppets_end(struct kunit *test);

struct dxk_member *puppet_member(struct puppets *ps, enum dxk_role role,
				 enum dxk_kind kind, bool spare);
struct dxk_member *puppet_resident(struct puppets *ps, enum dxk_kind kind, u8 home);
struct dxk_member *puppet_client(struct puppets *ps);
struct dxk_member *puppet_worker(struct puppets *ps);
void puppet_dies(struct puppets *ps, struct dxk_member *m);
void *puppet_array(struct puppets *ps, u32 nr);

void puppets_count(struct puppets *ps);
void puppet_do(struct puppets *ps, struct dxk_op *op, dxk_op_fn *run);
void puppet_publish(struct puppets *ps, struct dxk_op *op, dxk_op_fn *run);
int puppet_time_up(struct puppets *ps, struct dxk_waiter *w);

struct dxk_post_op *puppet_poster(struct puppets *ps, struct dxk_member *m);
void puppet_add(struct puppets *ps, struct dxk_post_op *p, u64 owner, s32 prio, u32 attrs);
void puppet_posts(struct puppets *ps, struct dxk_post_op *p);
struct dxk_post_op *puppet_post(struct puppets *ps, u64 owner, s32 prio, u32 attrs);
struct dxk_post_op *puppet_post_nr(struct puppets *ps, struct dxk_member *m, u32 nr,
				   u64 owner, u32 attrs);
void puppet_taken(struct puppets *ps, const struct dxk_post_op *p, u32 nr);
void puppet_refused(struct puppets *ps, u32 attrs, int err, u32 reason);

struct dxk_rejoin_op *puppet_poller(struct puppets *ps, struct dxk_member *m, u64 owner,
				    u32 max, u32 min);
struct dxk_rejoin_op *puppet_rejoin(struct puppets *ps, struct dxk_member *m, u64 owner,
				    u32 max, u32 min);
struct dxk_rejoin_op *puppet_parent(struct puppets *ps, struct dxk_member *m, u64 child);
u32 puppet_poll(struct puppets *ps, u64 owner);
struct dxk_rqe *puppet_result(const struct dxk_rejoin_op *r);
void puppet_settle(struct puppets *ps, struct dxk_rejoin_op *r, u32 copied);

struct dxk_next_op *puppet_turn(struct puppets *ps, struct dxk_member *m, u32 max);
struct dxk_rqe *puppet_fetch(struct dxk_next_op *n);
struct dxk_rqe *puppet_work(struct puppets *ps, struct dxk_member *m);
struct dxk_rqe *puppet_help(struct puppets *ps, struct dxk_member *m);
struct dxk_next_op *puppet_end(struct puppets *ps, struct dxk_member *m, s32 status,
			       u32 max);
struct dxk_next_op *puppet_end_all(struct puppets *ps, struct dxk_member *m);
void puppet_return(struct puppets *ps, struct dxk_next_op *n);

struct dxk_crew_op *puppet_manager(struct puppets *ps, bool wait);
struct dxk_should_op *puppet_asks(struct puppets *ps, struct dxk_member *m, bool wait);
struct dxk_key_op *puppet_key(struct puppets *ps, struct dxk_member *m, u32 what);
struct dxk_key_op *puppet_key_of(struct puppets *ps, struct dxk_member *m, struct dxk_rqe *rqe,
				 u32 what);
struct dxk_key_op *puppet_block(struct puppets *ps, struct dxk_member *m, bool force,
				bool patient);
struct puppet_stop *puppet_stopper(struct puppets *ps);
int puppet_stop_wait(struct puppets *ps);

/* What the world has for this: memory around them for what the engine asks of it. */
struct dxk_engine *stage_engine(struct kunit *test);
struct dxk_member *stage_member(struct kunit *test);
/* A task that can be woken and has nothing to do. */
struct task_struct *stage_task(struct kunit *test);

#endif /* _DXK_ENGINE_TESTS_PUPPET_H */
