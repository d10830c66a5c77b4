// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands: from a sender to the handler, and back when the handler does not know
 * them.
 *
 * A command that no handler takes is run as a built-in command: by its sender, up to
 * its deadline, or by a work item when the sender does not wait. So neither the Monitor
 * nor a sender ever waits for the handler for longer than it wants to (DX-32).
 *
 * The Monitor notices when an interval is over. Then the handler receives a tick, and
 * the Monitor looks for commands that are due.
 */
#include <linux/export.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "compat.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/os.h"
#include "services/command.h"

/* Calls of kernel handlers, which may take as long as they like. */
static struct workqueue_struct *dxk_command_wq;

/* --- one command ----------------------------------------------------------- */

/**
 * dxk_command_new - make a command, of which the caller has the only reference
 * @text: @len bytes, or NULL: the caller fills them in
 * @len: length of the command in bytes
 */
struct dxk_command *dxk_command_new(const char *text, u32 len)
{
	struct dxk_command *cmd = kzalloc(struct_size(cmd, text, len + 1),
					  GFP_KERNEL_ACCOUNT);

	if (!cmd)
		return ERR_PTR(-ENOMEM);
	refcount_set(&cmd->ref, 1);
	INIT_LIST_HEAD(&cmd->link);
	INIT_LIST_HEAD(&cmd->timed);
	dxk_waiter_init(&cmd->w);
	cmd->len = len;
	if (text)
		memcpy(cmd->text, text, len);
	return cmd;
}

void dxk_command_put(struct dxk_command *cmd)
{
	if (!refcount_dec_and_test(&cmd->ref))
		return;
	kfree(cmd->reply);
	kfree(cmd);
}

/* It leaves the queue, the handler or the list of built-in commands. */
static void dxk_command_drop(struct dxk_commands *c, struct dxk_command *cmd)
{
	cmd->pending = false;
	c->nr--;
	dxk_command_put(cmd);
}

static void dxk_command_wake(struct dxk_command *cmd, struct dxk_wakes *wakes)
{
	cmd->waiting = false;
	dxk_waiter_finish(&cmd->w, wakes);
}

/* Answer a command; takes over @reply. */
static void dxk_command_end(struct dxk_commands *c, struct dxk_command *cmd,
			    s32 status, char *reply, u32 len, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&c->lock);

	if (cmd->waiting) {
		cmd->status = status;
		cmd->reply = reply;
		cmd->reply_len = len;
		dxk_command_wake(cmd, wakes);
	} else {
		kfree(reply);
	}
	dxk_command_drop(c, cmd);
}

/* No handler takes the command: it is run as a built-in command. */
void dxk_command_back(struct dxk_commands *c, struct dxk_command *cmd,
		      struct dxk_wakes *wakes)
{
	lockdep_assert_held(&c->lock);

	if (cmd->waiting) {
		cmd->back = true;
		dxk_command_wake(cmd, wakes);
		dxk_command_drop(c, cmd);
	} else {
		list_add_tail(&cmd->link, &c->builtins);
		queue_work(dxk_command_wq, &c->builtin_work);
	}
}

/* --- the handler ------------------------------------------------------------ */

/*
 * Select the next task of the handler. Ticks and commands cannot starve each other:
 * after a tick comes a command, and after a command the tick if there is one.
 */
void dxk_command_take(struct dxk_commands *c, struct dxk_command_op *op)
{
	lockdep_assert_held(&c->lock);

	op->cmd = NULL;
	op->kind = 0;
	if (c->tick && !(c->ticked && !list_empty(&c->queue))) {
		c->tick = false;
		c->ticked = true;
		op->kind = DXK_COMMAND_TICK;
		return;
	}
	if (list_empty(&c->queue))
		return;
	c->ticked = false;
	op->kind = DXK_COMMAND_TEXT;
	op->cmd = list_first_entry(&c->queue, struct dxk_command, link);
	list_del_init(&op->cmd->link);
	/* Stop may answer it while the handler has it. */
	refcount_inc(&op->cmd->ref);
	c->held = op->cmd;
}

/* The handler is done with its command, unless Stop or a new handler came first. */
void dxk_command_done(struct dxk_commands *c, struct dxk_command *cmd,
		      s32 status, char *reply, u32 len, struct dxk_wakes *wakes)
{
	lockdep_assert_held(&c->lock);

	if (!cmd || c->held != cmd) {
		kfree(reply);
		return;
	}
	c->held = NULL;
	if (status == -ENOENT) {
		kfree(reply);
		dxk_command_back(c, cmd, wakes);
	} else {
		dxk_command_end(c, cmd, status, reply, len, wakes);
	}
}

/* There is something for the handler. */
void dxk_command_nudge(struct dxk_commands *c, struct dxk_wakes *wakes)
{
	struct dxk_command_op *op = c->sleeper;

	lockdep_assert_held(&c->lock);

	if (c->kernel) {
		queue_work(dxk_command_wq, &c->call_work);
		return;
	}
	if (op) {
		dxk_command_take(c, op);
		if (op->kind) {
			c->sleeper = NULL;
			dxk_waiter_finish(&op->w, wakes);
		}
	}
	if (c->user)
		dxk_wake_member(wakes, c->user->m);
}

void dxk_command_queue(struct dxk_commands *c, struct dxk_command *cmd,
		       struct dxk_wakes *wakes)
{
	lockdep_assert_held(&c->lock);

	refcount_inc(&cmd->ref);
	cmd->pending = true;
	c->nr++;
	if (!c->user && !c->kernel) {
		dxk_command_back(c, cmd, wakes);
		return;
	}
	list_add_tail(&cmd->link, &c->queue);
	dxk_command_nudge(c, wakes);
}

/* --- sending ---------------------------------------------------------------- */

/*
 * Whether there is no handler except the sender itself. A handler that sends, to extend a
 * built-in command (DX-30), would wait for itself.
 */
static bool dxk_command_alone(const struct dxk_commands *c)
{
	if (c->kernel)
		return current_work() == &c->call_work;
	return !c->user || c->user->task == current;
}

/* Return: 0, an error, or 1: the caller must run it as a built-in command. */
static int dxk_command_submit(struct dxk_commands *c, struct dxk_command *cmd, bool wait,
			      struct dxk_wakes *wakes)
{
	guard(spinlock)(&c->lock);
	if (!c->open)
		return -ESHUTDOWN;
	if (wait ? dxk_command_alone(c) : !c->user && !c->kernel)
		return 1;
	if (c->nr >= DXK_COMMANDS_MAX)
		return -EAGAIN;
	cmd->waiting = wait;
	dxk_command_queue(c, cmd, wakes);
	return 0;
}

/**
 * dxk_command_send - have a command executed
 * @c: the commands of the context
 * @cmd: its answer is set when this returns 0
 * @deadline: how long to wait for the answer, 0 for not at all
 *
 * Return: 0; -ESHUTDOWN, -EAGAIN: too many wait; -ETIMEDOUT, -EINTR: no answer so
 * far.
 */
int dxk_command_send(struct dxk_commands *c, struct dxk_command *cmd, u64 deadline)
{
	struct dxk_wakes wakes;
	int err;

	dxk_wakes_init(&wakes);
	err = dxk_command_submit(c, cmd, deadline, &wakes);
	dxk_wakes_flush(c->engine, &wakes);
	if (err > 0) {
		c->builtin(c->ctx, cmd, deadline);
		return 0;
	}
	if (err || !deadline)
		return err;

	err = os_doze(&cmd->w.done, NULL, deadline);
	if (err) {
		/* An answer at the last moment takes precedence. */
		spin_lock(&c->lock);
		if (!cmd->waiting)
			err = 0;
		cmd->waiting = false;
		spin_unlock(&c->lock);
	}
	if (!err && cmd->back)
		c->builtin(c->ctx, cmd, deadline);
	/* Not to be restarted: it would be sent again. */
	return err == -ERESTARTSYS ? -EINTR : err;
}

/* Run built-in commands for which no sender waits. */
static void dxk_command_builtin_work(struct work_struct *work)
{
	struct dxk_commands *c = container_of(work, struct dxk_commands, builtin_work);
	struct dxk_command *cmd;

	for (;;) {
		spin_lock(&c->lock);
		cmd = list_first_entry_or_null(&c->builtins, struct dxk_command, link);
		if (cmd) {
			list_del_init(&cmd->link);
			refcount_inc(&cmd->ref);
			dxk_command_drop(c, cmd);
		}
		spin_unlock(&c->lock);
		if (!cmd)
			return;
		c->builtin(c->ctx, cmd, 0);
		dxk_command_put(cmd);
		cond_resched();
	}
}

struct dxk_command *dxk_command_make(const char *text)
{
	size_t len = strnlen(text, DXK_COMMAND_MAX + 1);

	if (!len)
		return ERR_PTR(-EINVAL);
	if (len > DXK_COMMAND_MAX)
		return ERR_PTR(-EMSGSIZE);
	return dxk_command_new(text, len);
}

/* --- the context ------------------------------------------------------------ */

void dxk_commands_init(struct dxk_commands *c, struct dxk_engine *e, struct dxk_ctx *ctx,
		       dxk_builtin_fn *builtin)
{
	c->engine = e;
	c->ctx = ctx;
	c->builtin = builtin;
	spin_lock_init(&c->lock);
	mutex_init(&c->attach);
	INIT_LIST_HEAD(&c->queue);
	INIT_LIST_HEAD(&c->builtins);
	INIT_LIST_HEAD(&c->timed);
	INIT_WORK(&c->call_work, dxk_command_call_work);
	INIT_WORK(&c->builtin_work, dxk_command_builtin_work);
}

/** dxk_commands_open - accept commands: the context runs */
void dxk_commands_open(struct dxk_commands *c)
{
	spin_lock(&c->lock);
	c->open = true;
	if (c->user || c->kernel)
		dxk_command_wind(c);
	spin_unlock(&c->lock);
}

/** dxk_commands_close - end all commands: the context ends, no sender waits any longer */
void dxk_commands_close(struct dxk_commands *c)
{
	struct dxk_command_op *op;
	struct dxk_command *cmd, *next;
	struct dxk_wakes wakes;

	dxk_wakes_init(&wakes);
	spin_lock(&c->lock);
	c->open = false;
	c->tick = false;
	if (c->held)
		dxk_command_end(c, c->held, -ESHUTDOWN, NULL, 0, &wakes);
	c->held = NULL;
	list_for_each_entry_safe(cmd, next, &c->queue, link) {
		list_del_init(&cmd->link);
		dxk_command_end(c, cmd, -ESHUTDOWN, NULL, 0, &wakes);
	}
	list_for_each_entry_safe(cmd, next, &c->builtins, link) {
		list_del_init(&cmd->link);
		dxk_command_drop(c, cmd);
	}
	list_for_each_entry_safe(cmd, next, &c->timed, timed)
		dxk_command_untime(c, cmd);
	op = c->sleeper;
	if (op) {
		op->err = -ESHUTDOWN;
		c->sleeper = NULL;
		dxk_waiter_finish(&op->w, &wakes);
	}
	if (c->user)
		dxk_wake_member(&wakes, c->user->m);
	spin_unlock(&c->lock);
	dxk_wakes_flush(c->engine, &wakes);
}

/** dxk_commands_exit - the context is gone: no handler or work item runs any more */
void dxk_commands_exit(struct dxk_commands *c)
{
	dxk_command_attach_kernel(c, NULL);
	cancel_work_sync(&c->builtin_work);
}

int dxk_command_init(void)
{
	dxk_command_wq = alloc_workqueue("dxk", WQ_UNBOUND, 0);
	return dxk_command_wq ? 0 : -ENOMEM;
}

void dxk_command_exit(void)
{
	destroy_workqueue(dxk_command_wq);
}
