/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who calls the engine: a member and its thread. What an actor calls is drawn; whatever it
 * may do in the kernel, and a program on top of that, it does.
 */
#ifndef _DXK_SIM_ACTOR_H
#define _DXK_SIM_ACTOR_H

#include "engine/calls.h"
#include "engine/engine.h"

#include "sched.h"

/* Requests that a thread executes, one within another; the last one calls nothing. */
#define SIM_DEPTH	4

struct actor {
	struct dxk_member m;
	struct task_struct *task;
	/* The slot has a member; its thread has ended and nobody closed it. */
	bool used, gone;
	/* A kernel worker whose thread has not left its loop. */
	bool live;
	/* It is in a call that the descriptor of the context is open for. */
	bool calls;
	/* Somebody closes it. */
	bool buried;
	/* Who is going to look for its poll(2). */
	u32 refs;
	/* The call it is in. */
	struct dxk_post_op *post;
	struct dxk_rejoin_op *rejoin;
	struct dxk_next_op *next;
	struct dxk_should_op *should;
	struct dxk_key_op *key_op;
	/* That has slept for room in the Rejoin Pool: others have completed for it. */
	bool blocked;
	/* The hold before that; whether the answer to a post or a rejoin was looked at. */
	u64 called;
	bool answered;
	/* The hold in which a rejoin of it that had slept was answered. */
	u64 told;
	/* When it fell asleep to post, and where. */
	u64 slept;
	u32 sleep_queue;
	/* It sleeps in poll(2): for its owner, for work, for room. */
	bool polls, polls_work, polls_room;
	/* What its last post was refused for lack of room for, in attributes and lane; or 0. */
	struct dxk_rqe wanted;
	u32 depth;
	/* By depth: the item that it executes, or NULL, and what stands in for that. */
	struct sim_item *item[SIM_DEPTH];
	struct dxk_rqe proxy[SIM_DEPTH];
	/* Of one of a crowd: whom it waits for. */
	u64 cookie;
};

struct actors {
	u32 nr;
	struct actor actor[SIM_TASKS];
};

extern struct actors actors;

#define for_each_actor(a) \
	for (a = actors.actor; a < actors.actor + actors.nr; a++) \
		if (!a->used) { } else

static inline bool actor_queued(const struct dxk_waiter *w)
{
	return w->link.next && !list_empty(&w->link);
}

/* Until a spare could take its place: it is not asleep yet. */
static inline bool actor_asks(const struct actor *a)
{
	return a->key_op && a->key_op->what == DXK_KEY_BLOCK && actor_queued(&a->key_op->w);
}

/* In a post, a rejoin or a completion. */
static inline bool actor_asleep(const struct actor *a)
{
	return (a->post && actor_queued(&a->post->w)) ||
	       (a->rejoin && actor_queued(&a->rejoin->w)) ||
	       (a->key_op && actor_queued(&a->key_op->w) && !actor_asks(a)) ||
	       (a->next && actor_queued(&a->next->w) && !list_empty(&a->next->done));
}

static inline bool actor_rests(const struct actor *a)
{
	return a->should && actor_queued(&a->should->w);
}

struct actor *actor_by_id(u32 id);
u32 actors_workers(enum dxk_kind kind);
u32 actors_at_home(enum dxk_kind kind, u8 home);
u32 actors_asleep(enum dxk_kind kind);
void actors_reset(void);

struct actor *actor_new(enum dxk_role role, enum dxk_kind kind, struct dxk_space *space);
bool actor_join(struct actor *a);
void actor_end(struct actor *a);
void actor_bury(struct actor *a);
void actor_retire(struct actor *a);

/* calls.c */
u64 draw_deadline(void);
bool interrupted(struct actor *a);
u32 list_length(const struct list_head *head);
/* Each request of a post draws its owner. */
#define SIM_MIXED	U64_MAX

u64 draw_cookie(void);
s32 draw_prio(void);
void actor_post(struct actor *a, u32 nr, u64 cookie, u32 attrs, u64 deadline);
u32 actor_rejoin(struct actor *a, u64 cookie, u32 max, u64 deadline);
void actor_names(struct actor *a);
void actor_purge(struct actor *a);
void actor_key(struct actor *a);
void actor_ask(struct actor *a);
void actor_poll(struct actor *a);
void actor_poll_work(struct actor *a);
void actor_poll_room(struct actor *a);
int actor_should(struct actor *a, u64 deadline);
bool actor_turn(struct actor *a);
int actor_next(struct actor *a, u32 done, u32 max, u64 deadline);
void actor_help(struct actor *a);
void actor_execute(struct actor *a, struct dxk_rqe *rqe);

/* roles.c */

bool actor_spawn_client(struct dxk_space *space);
bool actor_spawn_sleeper(struct dxk_space *space, u64 cookie);
bool actor_spawn_feeder(struct dxk_space *space, u64 cookie);
bool actor_spawn_user(struct dxk_space *space, bool spare);
bool actor_spawn_kernel(bool spare);
bool actor_spawn_manager(void);
bool actor_spawn_owner(void);
bool actor_spawn_pinner(void);
bool actor_spawn_service(struct dxk_space *space);

#endif /* _DXK_SIM_ACTOR_H */
