/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_COMMAND_H
#define _DXK_SERVICES_COMMAND_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "engine/waiter.h"
#include "uapi/dxk.h"

struct dxk_command_handler;
struct dxk_ctx;
struct dxk_member;

/* Most commands that wait, and most timed ones. */
#define DXK_COMMANDS_MAX	64

/**
 * struct dxk_command - one command
 * @ref: one for each of: the sender, the list or handler that has it, the timed
 *	list
 * @link: (K) in dxk_commands.queue or .own
 * @timed: (K) in dxk_commands.timed
 * @w: its sender sleeps until it is answered or handed back
 * @waiting: (K) the sender waits; without one there is no reply
 * @pending: (K) it waits, or the handler has it: counts in dxk_commands.nr
 * @back: (K) no handler took it: the sender is to run the context's own command
 * @status: (K) of the answer
 * @id: (C) of a timed command, else 0
 * @at: (K) when a timed command is due, CLOCK_MONOTONIC in ns
 * @every: (C) its interval, 0 for once
 * @reply: (K) of the answer, kmalloc()ed, or NULL
 * @reply_len: (K) bytes at @reply
 * @len: (C) bytes at @text
 * @text: (C) the command, zero-terminated
 *
 * K is the lock of struct dxk_commands. Once the sender's move was made the
 * answer is its own.
 */
struct dxk_command {
	refcount_t ref;
	struct list_head link;
	struct list_head timed;
	struct dxk_waiter w;
	bool waiting;
	bool pending;
	bool back;
	s32 status;
	u32 id;
	u64 at;
	u64 every;
	char *reply;
	u32 reply_len;
	u32 len;
	char text[];
};

/* What a handler is to do next: DXK_COMMAND_TICK, DXK_COMMAND_TEXT or 0. */
struct dxk_command_op {
	struct dxk_waiter w;
	struct dxk_command *cmd;
	u32 kind;
	int err;
};

/**
 * struct dxk_commands - the commands of a context and who handles them
 * @lock: K; nothing is taken inside it
 * @attach: serialises the attaches of kernel handlers, which wait for calls;
 *	before @lock
 * @open: (K) the context runs
 * @user: (K) the member that is the handler, or NULL. It detaches before it goes
 * @kernel: (K) the handler of an in-kernel client, or NULL; never beside @user
 * @sleeper: (K) @user sleeps for the next tick or command
 * @held: (K) the command that the handler has not answered yet
 * @tick: (K) the interval is over and the handler was not told yet
 * @ticked: (K) what the handler got last was a tick: a command has precedence now
 * @nr: (K) commands that are pending
 * @queue: (K) commands for the handler, in the order of sending
 * @own: (K) commands for the context itself that nobody waits for
 * @nr_timed: (K) commands in @timed
 * @last_id: (K) id of the timed command made last
 * @timed: (K) timed commands
 * @next_tick: (K) when the interval is over
 * @call_work: calls @kernel
 * @own_work: runs what is in @own
 */
struct dxk_commands {
	spinlock_t lock;
	struct mutex attach;
	bool open;
	struct dxk_member *user;
	struct dxk_command_handler *kernel;
	struct dxk_command_op *sleeper;
	struct dxk_command *held;
	bool tick;
	bool ticked;
	u32 nr;
	struct list_head queue;
	struct list_head own;
	u32 nr_timed;
	u32 last_id;
	struct list_head timed;
	u64 next_tick;
	struct work_struct call_work;
	struct work_struct own_work;
};

/* command.c: the queue and its senders */
void dxk_commands_init(struct dxk_commands *c);
void dxk_commands_open(struct dxk_ctx *ctx);
void dxk_commands_close(struct dxk_ctx *ctx);
void dxk_commands_exit(struct dxk_ctx *ctx);
struct dxk_command *dxk_command_new(const char *text, u32 len);
struct dxk_command *dxk_command_make(const char *text);
void dxk_command_put(struct dxk_command *cmd);
int dxk_command_send(struct dxk_ctx *ctx, struct dxk_command *cmd, u64 deadline);
int dxk_command_init(void);
void dxk_command_exit(void);

/* with the lock held, for the other two */
void dxk_command_queue(struct dxk_commands *c, struct dxk_command *cmd,
		       struct dxk_wakes *wakes);
void dxk_command_nudge(struct dxk_commands *c, struct dxk_wakes *wakes);
void dxk_command_take(struct dxk_commands *c, struct dxk_command_op *op);
void dxk_command_done(struct dxk_commands *c, struct dxk_command *cmd, s32 status,
		      char *reply, u32 len, struct dxk_wakes *wakes);
void dxk_command_back(struct dxk_commands *c, struct dxk_command *cmd,
		      struct dxk_wakes *wakes);

/* command_handler.c: who handles them */
int dxk_command_attach(struct dxk_member *m, bool attach);
void dxk_command_detach(struct dxk_member *m);
void dxk_command_dismiss_dead(struct dxk_commands *c, struct dxk_wakes *wakes);
int dxk_command_holds(struct dxk_member *m);
void dxk_command_answer(struct dxk_member *m, s32 status, char *reply, u32 len);
int dxk_command_next(struct dxk_member *m, struct dxk_command_op *op, u64 deadline);
void dxk_command_return(struct dxk_member *m, struct dxk_command_op *op);
bool dxk_command_readable(struct dxk_member *m);
void dxk_command_call_work(struct work_struct *work);

/* command_timed.c: ticks, and commands that are due */
u32 dxk_commands_tick(struct dxk_ctx *ctx, u32 ms);
void dxk_command_wind(struct dxk_ctx *ctx);
void dxk_command_untime(struct dxk_commands *c, struct dxk_command *cmd);
int dxk_command_schedule(struct dxk_ctx *ctx, struct dxk_command *cmd, u64 at,
			 u64 every, u32 *id);
int dxk_command_cancel(struct dxk_ctx *ctx, u32 id);

/* runtime/builtin.c: the context's own commands */
void dxk_command_own(struct dxk_ctx *ctx, struct dxk_command *cmd, u64 deadline);

#endif /* _DXK_SERVICES_COMMAND_H */
