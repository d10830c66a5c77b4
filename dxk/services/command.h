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

struct dxk_command;
struct dxk_command_handler;
struct dxk_commands;
struct dxk_ctx;
struct dxk_engine;
struct dxk_member;
struct task_struct;

/* Most commands that wait, and most timed ones. */
#define DXK_COMMANDS_MAX	64

/**
 * struct dxk_command - one command
 *
 * K is the lock of struct dxk_commands. Once the sender has been woken, the answer
 * belongs to it alone.
 */
struct dxk_command {
	/**
	 * @ref: one reference each for the sender, for the list or handler that has it,
	 * and for the timed list
	 */
	refcount_t ref;
	/** @link: (K) in dxk_commands.queue or .builtins */
	struct list_head link;
	/** @timed: (K) in dxk_commands.timed */
	struct list_head timed;
	/** @w: its sender sleeps until it is answered or handed back */
	struct dxk_waiter w;
	/** @waiting: (K) the sender waits; otherwise there is no reply */
	bool waiting;
	/** @pending: (K) queued, or held by the handler; counted in dxk_commands.nr */
	bool pending;
	/**
	 * @back: (K) no handler took it: the sender runs it as a built-in command
	 */
	bool back;
	/** @status: (K) status of the answer */
	s32 status;
	/** @id: (C) id of a timed command, else 0 */
	u32 id;
	/** @at: (K) when a timed command is due, CLOCK_MONOTONIC in ns */
	u64 at;
	/** @every: (C) its interval, 0 for a command that runs once */
	u64 every;
	/** @reply: (K) text of the answer, kmalloc()ed, or NULL */
	char *reply;
	/** @reply_len: (K) bytes at @reply */
	u32 reply_len;
	/** @len: (C) bytes at @text */
	u32 len;
	/** @text: (C) the command, zero-terminated */
	char text[];
};

/**
 * struct dxk_command_op - the next task of a handler
 */
struct dxk_command_op {
	/** @w: the user handler sleeps here until there is a tick or command */
	struct dxk_waiter w;
	/** @cmd: (K) the command, referenced; else NULL */
	struct dxk_command *cmd;
	/** @kind: (K) DXK_COMMAND_TICK, DXK_COMMAND_TEXT, or 0 for nothing */
	u32 kind;
	/** @err: (K) what ended the sleep, 0 when there is a tick or command */
	int err;
};

/* Is a member the command handler? */
enum dxk_handler_state {
	DXK_HANDLES_NOT,
	DXK_HANDLES,
	DXK_HANDLES_NO_MORE,	/* another one replaced it */
};

/**
 * struct dxk_user_handler - a member's state as the command handler
 */
struct dxk_user_handler {
	/** @commands: (C) of its context */
	struct dxk_commands *commands;
	/** @m: (C) the member */
	struct dxk_member *m;
	/** @task: (K) its thread while it is the handler; for comparison only */
	const struct task_struct *task;
	/** @state: (K) enum dxk_handler_state */
	u8 state;
};

/* Runs a command as a built-in one, see dxk_commands.builtin. */
typedef void dxk_builtin_fn(struct dxk_ctx *ctx, struct dxk_command *cmd, u64 deadline);

/**
 * struct dxk_commands - the commands of a context and their handler
 */
struct dxk_commands {
	/** @lock: K; nothing is taken inside it */
	spinlock_t lock;
	/** @engine: (C) of the context */
	struct dxk_engine *engine;
	/** @ctx: (C) the context, for its handlers and @builtin */
	struct dxk_ctx *ctx;
	/** @builtin: (C) runs a command that no handler takes */
	dxk_builtin_fn *builtin;
	/**
	 * @attach: serialises the attaches of kernel handlers, which wait for calls;
	 * before @lock
	 */
	struct mutex attach;
	/** @open: (K) the context runs */
	bool open;
	/**
	 * @user: (K) the member that is the handler, or NULL. It detaches before it
	 * leaves
	 */
	struct dxk_user_handler *user;
	/**
	 * @kernel: (K) the handler of an in-kernel client, or NULL; never beside @user
	 */
	struct dxk_command_handler *kernel;
	/** @sleeper: (K) @user sleeps here until the next tick or command */
	struct dxk_command_op *sleeper;
	/** @held: (K) the command that the handler has not answered yet */
	struct dxk_command *held;
	/** @tick: (K) the interval is over and the handler has not been notified yet */
	bool tick;
	/**
	 * @ticked: (K) the handler last received a tick: a command has precedence now
	 */
	bool ticked;
	/** @nr: (K) commands that are pending */
	u32 nr;
	/** @queue: (K) commands for the handler, in the order of sending */
	struct list_head queue;
	/** @builtins: (K) commands for the context itself for which no sender waits */
	struct list_head builtins;
	/** @nr_timed: (K) commands in @timed */
	u32 nr_timed;
	/** @last_id: (K) id of the newest timed command */
	u32 last_id;
	/** @timed: (K) timed commands */
	struct list_head timed;
	/** @next_tick: (K) when the interval is over */
	u64 next_tick;
	/** @call_work: calls @kernel */
	struct work_struct call_work;
	/** @builtin_work: runs the commands in @builtins */
	struct work_struct builtin_work;
};

/* command.c: the queue and its senders */
void dxk_commands_init(struct dxk_commands *c, struct dxk_engine *e, struct dxk_ctx *ctx,
		       dxk_builtin_fn *builtin);
void dxk_commands_open(struct dxk_commands *c);
void dxk_commands_close(struct dxk_commands *c);
void dxk_commands_exit(struct dxk_commands *c);
struct dxk_command *dxk_command_new(const char *text, u32 len);
struct dxk_command *dxk_command_make(const char *text);
void dxk_command_put(struct dxk_command *cmd);
int dxk_command_send(struct dxk_commands *c, struct dxk_command *cmd, u64 deadline);
int dxk_command_init(void);
void dxk_command_exit(void);

/* called with the lock held, for the other two files */
void dxk_command_queue(struct dxk_commands *c, struct dxk_command *cmd,
		       struct dxk_wakes *wakes);
void dxk_command_nudge(struct dxk_commands *c, struct dxk_wakes *wakes);
void dxk_command_take(struct dxk_commands *c, struct dxk_command_op *op);
void dxk_command_done(struct dxk_commands *c, struct dxk_command *cmd, s32 status,
		      char *reply, u32 len, struct dxk_wakes *wakes);
void dxk_command_back(struct dxk_commands *c, struct dxk_command *cmd,
		      struct dxk_wakes *wakes);

/* command_handler.c: the handler */
void dxk_user_handler_init(struct dxk_user_handler *h, struct dxk_commands *c,
			   struct dxk_member *m);
int dxk_command_attach(struct dxk_user_handler *h, bool attach);
void dxk_command_detach(struct dxk_user_handler *h);
struct dxk_member *dxk_commands_user(struct dxk_commands *c);
int dxk_command_holds(struct dxk_user_handler *h);
void dxk_command_answer(struct dxk_user_handler *h, s32 status, char *reply, u32 len);
int dxk_command_next(struct dxk_user_handler *h, struct dxk_command_op *op, u64 deadline);
void dxk_command_return(struct dxk_user_handler *h, struct dxk_command_op *op);
bool dxk_command_readable(struct dxk_user_handler *h);
int dxk_command_attach_kernel(struct dxk_commands *c, struct dxk_command_handler *h);
void dxk_command_call_work(struct work_struct *work);

/* command_timed.c: ticks and timed commands */
u32 dxk_commands_tick(struct dxk_commands *c, u32 ms);
void dxk_command_wind(struct dxk_commands *c);
void dxk_command_untime(struct dxk_commands *c, struct dxk_command *cmd);
int dxk_command_schedule(struct dxk_commands *c, struct dxk_command *cmd, u64 at,
			 u64 every, u32 *id);
int dxk_command_cancel(struct dxk_commands *c, u32 id);

#endif /* _DXK_SERVICES_COMMAND_H */
