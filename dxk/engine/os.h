/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * The interface that the engine needs from the world that it runs in. This is the only file
 * of this room that includes headers from outside of dxk.
 *
 * The include path and the linked objects select the world. "world.h" has the types, lists,
 * trees, locks and memory of the kernel under the kernel's names, and the operations that cost
 * nothing as inline functions; an object file has the rest. The kernel's are dxk/world.h and
 * runtime/os.c, those of user space are in native/.
 *
 * A task is a thread that can sleep, a member one that belongs to the Thread Pool.
 * %OS_DEBUG: are assertions worth their time?
 */
#ifndef _DXK_ENGINE_OS_H
#define _DXK_ENGINE_OS_H

#include "world.h"

struct dxk_engine;
struct dxk_file_ref;
struct dxk_member;
struct dxk_rqe;

/** os_self - the current task */
static inline struct task_struct *os_self(void);

/** os_hold - keep a task from vanishing until os_wake_held() */
static inline void os_hold(struct task_struct *task);

/** os_wake_held - wake a task that was held */
static inline void os_wake_held(struct task_struct *task);

/**
 * os_wake - wake a task that may exit; callable in any context
 *
 * Call it between os_read_begin() and os_read_end(), after having seen there that the task had
 * not exited.
 */
static inline void os_wake(struct task_struct *task);

int os_doze(const bool *done, const struct llist_head *events, u64 deadline);

/* How long os_await() sleeps, in ns. */
#define OS_PATIENCE	(NSEC_PER_SEC / 10)

/**
 * os_await - sleep until a short operation is done; no signal ends the sleep
 * @done: set, with a release, by the task that then wakes the caller
 *
 * Return: is it done? If not, it has taken longer than a thread that runs needs.
 */
bool os_await(const bool *done);

/** os_yield - a good moment for others to run */
static inline void os_yield(void);

/** os_killed - is the caller to end at once? Whatever it waits for is of no use to it */
static inline bool os_killed(void);

/** os_stack_is_low - is less than a quarter of the caller's stack left? Recursion ends then */
static inline bool os_stack_is_low(void);

/** os_now - CLOCK_MONOTONIC in ns */
static inline u64 os_now(void);

/**
 * os_clock - a coarse clock that costs no more than a load
 *
 * Only the world knows its unit.
 */
static inline unsigned long os_clock(void);

/** os_hash - 32 bits, the upper ones good, that depend on a secret @seed as well */
static inline u32 os_hash(u64 key, u32 id, u64 seed);

/** os_turn_begin - from here on the caller is in a turn, or in one nested in it */
static inline void os_turn_begin(enum os_turn turn);
static inline void os_turn_end(enum os_turn turn);

/** os_may_wait - the caller may sleep now until such a turn is over */
static inline void os_may_wait(enum os_turn turn);

/** os_may_wait_for_user - the caller may sleep now for as long as a user likes */
static inline void os_may_wait_for_user(void);

/* The publisher of an operation is a reader; the world waits until all readers have finished. */
static inline void os_read_begin(void);
static inline void os_read_end(void);

void os_member_get(struct dxk_member *m);
void os_member_put(struct dxk_member *m);
void os_poll_wake(struct dxk_member *m);
void os_poll_workers(struct dxk_engine *e);
void os_kick(struct dxk_engine *e, u32 who);
void os_release(struct dxk_rqe *rqe);

/** os_disown - the engine no longer has an embedded request, and did not have it executed */
void os_disown(struct dxk_rqe *rqe);
void os_empty_bin(struct dxk_engine *e);
void os_let_go(struct dxk_file_ref *files);

#endif /* _DXK_ENGINE_OS_H */
