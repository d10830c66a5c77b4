/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_MEMBER_H
#define _DXK_MEMBER_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "waiter.h"
#include "request.h"

struct dxk_ctx;
struct dxk_owner;
struct dxk_session;
struct dxk_space;
struct pid;
struct task_struct;

/* Thread ids (DX-22, DX-23). */
#define DXK_ID_MAIN		0
#define DXK_ID_WORKER_MAX	499
#define DXK_ID_MONITOR		500
#define DXK_ID_SCHEDULER	600
#define DXK_ID_DISPATCHER	700
#define DXK_ID_CLIENT		1000
#define DXK_ID_MAX		65535

enum dxk_role {
	DXK_ROLE_CONTROL,
	DXK_ROLE_CLIENT,
	DXK_ROLE_WORKER,
};

enum dxk_member_state {
	DXK_M_VACANT,		/* nobody has this id */
	DXK_M_RUNNING,		/* a client or control thread, outside of dxk */
	DXK_M_AWAY,		/* a worker that neither has work nor asks for it */
	DXK_M_AVAILABLE,	/* a worker that sleeps for work */
	DXK_M_BUSY,		/* a worker that executes */
	DXK_M_POSTING,		/* sleeps for room in the Ready Pool */
	DXK_M_REJOINING,	/* sleeps for a result */
	DXK_M_COMPLETING,	/* sleeps for room in the Rejoin Pool */
	DXK_M_LOGGING,		/* sleeps for room in the Log Pool */
	DXK_M_LISTENING,	/* sleeps for ticks and commands */
	DXK_M_STATES,
};

/* Is a member the command handler? */
enum dxk_handling {
	DXK_HANDLES_NOT,
	DXK_HANDLES,
	DXK_HANDLES_NO_MORE,	/* another one replaced it */
};

/**
 * struct dxk_member - one thread of the Thread Pool (DX-12)
 * @kobj: /sys/kernel/dxk/<ctx>/threads/<id>; holds the object
 * @ctx: (C)
 * @id: (C) thread id
 * @role: (M) enum dxk_role
 * @kind: (M) for workers
 * @access: (M) DXK_ACCESS_* bits of the descriptor that it was made from
 * @space: (M) what its owner cookies mean
 * @pid: (M) the only user thread that may use it; NULL: none, or a kernel thread
 * @task: (M) the kernel thread, referenced
 * @state: enum dxk_member_state, written by the thread itself or under the lock;
 *	read by anybody for display
 * @since: jiffies when it was last given work, or fell idle; written under the
 *	lock, read by anybody
 * @spare: (M) a worker for the place of others that sleep
 * @leaving: (L) takes no more work: the crew shrinks
 * @gone: (A) the kernel thread has left its loop; set once
 * @attached: (L) counts as a member of the crew
 * @held: (L) requests that it was given and has neither completed nor returned
 * @work: (L) what it was given last; its age_ns is not kept
 * @work_ticket: (L) the ticket of that
 * @told_ticket: (M) the Monitor has reported that one as overdue
 * @stale: (L) to set while it executes: it has own files whose handles are
 *	closed, see handle.c. The worker clears it when it executes nothing
 * @extra: (L) requests that it has as a helper or a spare
 * @called: (L) DISPATCHED requests that it was called for as a helper; it takes them
 *	with its next turn
 * @busy: (T) requests that it executes: BUSY
 * @executed: requests that it has executed; counted under the lock, in the lock
 *	hold that completes the request, and so constant while it executes
 * @own_files: (H) struct dxk_own_file of a kernel worker
 * @rqes: (T) freed requests for its next posts
 * @owners: spare owner records for its next posts: (T), but (L) while it posts
 *	or rejoins
 * @watch: (L) in dxk_owner.watchers
 * @watching: (L) the owner that poll(2) watches, or NULL
 * @handling: enum dxk_handling, under the lock of the commands
 * @ready: (L) poll(2) reports readable: what was watched has changed
 * @wait: poll(2) sleeps here
 */
struct dxk_member {
	struct kobject kobj;
	struct dxk_ctx *ctx;
	struct dxk_space *space;
	u32 id;
	u8 role;
	u8 kind;
	u8 access;
	u8 state;
	bool spare;
	bool leaving;
	bool gone;
	bool attached;
	bool ready;
	bool stale;
	u8 handling;
	struct pid *pid;
	struct task_struct *task;
	unsigned long since;
	u32 held;
	u32 extra;
	struct list_head called;
	struct dxk_running work;
	u64 work_ticket;
	u64 told_ticket;
	struct list_head busy;
	u64 executed;
	struct list_head own_files;
	struct dxk_stash rqes;
	struct dxk_stash owners;
	struct list_head watch;
	struct dxk_owner *watching;
	wait_queue_head_t wait;
};

struct dxk_member *dxk_member_at(struct dxk_ctx *ctx, u32 id);
struct dxk_member *dxk_member_new(struct dxk_ctx *ctx, u32 id);
void dxk_member_occupy(struct dxk_member *m, enum dxk_role role, enum dxk_kind kind);
void dxk_member_attach(struct dxk_member *m);
void dxk_member_do(struct dxk_member *m, dxk_op_fn *run);
void dxk_member_bury(struct dxk_member *m);
struct dxk_member *dxk_member_claim(struct dxk_ctx *ctx, const struct dxk_session *s,
				    enum dxk_member_kind kind, struct pid *pid);
void dxk_member_release(struct dxk_member *m);
struct dxk_member *dxk_member_control(struct dxk_ctx *ctx, u32 id);
void dxk_member_retire(struct dxk_member *m);
bool dxk_member_is_dead(const struct dxk_member *m);
void dxk_member_get(struct dxk_member *m);
void dxk_member_put(struct dxk_member *m);

const char *dxk_member_state_name(u8 state);

static inline void dxk_member_set_state(struct dxk_member *m, u8 state)
{
	WRITE_ONCE(m->state, state);
}

static inline u8 dxk_member_state(const struct dxk_member *m)
{
	return READ_ONCE(m->state);
}

/* A worker between two calls: does it have work? */
static inline u8 dxk_member_home_state(const struct dxk_member *m)
{
	if (m->role != DXK_ROLE_WORKER)
		return DXK_M_RUNNING;
	return list_empty(&m->busy) ? DXK_M_AWAY : DXK_M_BUSY;
}

#endif /* _DXK_MEMBER_H */
