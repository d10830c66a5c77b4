// SPDX-License-Identifier: GPL-2.0-only
/*
 * Built-in commands: these handle a command that no handler took. The sender runs it, or
 * a work item does when the sender does not wait.
 */
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "dxk_api.h"
#include "engine/life.h"
#include "runtime/builtin.h"
#include "runtime/context.h"
#include "runtime/figures.h"
#include "runtime/slot.h"
#include "runtime/policy.h"
#include "runtime/thread.h"
#include "runtime/waiting.h"
#include "services/command.h"

/* Maximum number of words of a built-in command. */
#define DXK_WORDS	3
/* Hash buckets of owners that one lock hold visits; maximum number of owners shown. */
#define DXK_OWNER_BUCKETS	256
#define DXK_OWNERS_SHOWN	64

/* --- the reply --------------------------------------------------------------- */

/* The last line, in place of the lines for which there was no room. */
static const char dxk_text_cut[] = "... cut\n";

/**
 * struct dxk_text - a reply, built line by line
 */
struct dxk_text {
	/** @buf: DXK_COMMAND_MAX bytes */
	char *buf;
	/** @len: length of the text in @buf */
	u32 len;
	/** @cut: a line did not fit: nothing more is added */
	bool cut;
};

/* Add one line, or omit it completely. */
static __printf(2, 3) void dxk_text_line(struct dxk_text *t, const char *fmt, ...)
{
	u32 room = DXK_COMMAND_MAX - t->len - strlen(dxk_text_cut);
	va_list args;
	int n;

	if (t->cut)
		return;
	va_start(args, fmt);
	n = vsnprintf(t->buf + t->len, room, fmt, args);
	va_end(args);
	if (n >= room) {
		t->cut = true;
		memcpy(t->buf + t->len, dxk_text_cut, strlen(dxk_text_cut));
		n = strlen(dxk_text_cut);
	}
	t->len += n;
}

/* --- show -------------------------------------------------------------------- */

static int dxk_show_threads(struct dxk_ctx *ctx, struct dxk_text *t)
{
	struct dxk_slot_seen seen;
	struct dxk_slot *slot;
	unsigned long id;

	dxk_text_line(t, "%5s  %-13s  %-10s  %10s  %10s  %7s\n", "id", "role", "state",
		      "age_ms", "executed", "pid");
	for (id = 0;; id++) {
		spin_lock(&ctx->engine.lock);
		slot = dxk_slot_next(ctx, &id, DXK_ID_MAX);
		if (slot)
			dxk_slot_look(slot, &seen);
		spin_unlock(&ctx->engine.lock);
		if (!slot)
			break;
		dxk_text_line(t, "%5u  %-13s  %-10s  %10u  %10llu  %7d\n", seen.id,
			      seen.role, seen.state, seen.age_ms, seen.executed, seen.pid);
		cond_resched();
	}
	return 0;
}

static int dxk_show_pools(struct dxk_ctx *ctx, struct dxk_text *t)
{
	static const char * const name[DXK_POOLS] = {
		[DXK_POOL_THREAD] = "thread",
		[DXK_POOL_READY] = "ready",
		[DXK_POOL_REJOIN] = "rejoin",
		[DXK_POOL_WAIT] = "wait",
		[DXK_POOL_LOG] = "log",
		[DXK_POOL_HANDLE] = "handle",
	};
	u32 i;

	dxk_text_line(t, "%-6s  %8s  %8s  %10s\n", "pool", "size", "use", "high_water");
	for (i = 0; i < DXK_POOLS; i++)
		dxk_text_line(t, "%-6s  %8u  %8u  %10u\n", name[i], dxk_pool_size(ctx, i),
			      dxk_pool_use(ctx, i), dxk_pool_high(ctx, i));
	return 0;
}

static int dxk_show_lanes(struct dxk_ctx *ctx, struct dxk_text *t)
{
	static const char * const name[DXK_RESOURCES] = {
		[DXK_RES_READY] = "ready",
		[DXK_RES_USER] = "user",
		[DXK_RES_KERNEL] = "kernel",
	};
	u32 i;

	dxk_text_line(t, "%-8s  %4s  %8s  %8s  %8s\n", "resource", "lane", "in_use",
		      "limit", "waiters");
	for (i = 0; i < DXK_RESOURCES * DXK_LANES; i++)
		dxk_text_line(t, "%-8s  %4u  %8u  %8u  %8u\n", name[i / DXK_LANES],
			      i % DXK_LANES, dxk_lane_use(ctx, i), dxk_lane_limit(ctx, i),
			      dxk_lane_waiters(ctx, i));
	return 0;
}

/**
 * struct dxk_owner_seen - the visible state of an owner
 *
 * The record itself may be freed once the lock is released.
 */
struct dxk_owner_seen {
	/** @cookie: identifies it */
	u64 cookie;
	/** @space: the number of the space in which @cookie identifies it */
	u32 space;
	/** @label: its label, or empty */
	char label[DXK_NAME_LEN];
	/** @nr: its requests by place */
	u32 nr[DXK_PLACES];
};

/*
 * Start may exchange the table between two lock holds: then some owners are missed or seen
 * twice.
 */
static u32 dxk_owners_look(struct dxk_engine *e, struct dxk_owner_seen *seen)
{
	const struct dxk_owners *owners = &e->owners;
	u32 nr = 0, i = 0, end, size;
	struct dxk_owner *owner;

	do {
		spin_lock(&e->lock);
		size = owners->bucket ? 1U << owners->bits : 0;
		for (end = min(i + DXK_OWNER_BUCKETS, size); i < end; i++) {
			hlist_for_each_entry(owner, &owners->bucket[i], hash) {
				if (nr == DXK_OWNERS_SHOWN)
					break;
				seen[nr].cookie = owner->cookie;
				seen[nr].space = owner->space->id;
				memcpy(seen[nr++].nr, owner->nr, sizeof(owner->nr));
			}
		}
		spin_unlock(&e->lock);
		cond_resched();
	} while (i < size && nr < DXK_OWNERS_SHOWN);
	return nr;
}

static int dxk_show_owners(struct dxk_ctx *ctx, struct dxk_text *t)
{
	struct dxk_owner_seen *seen __free(kfree) = NULL;
	u32 i, nr;

	seen = kcalloc(DXK_OWNERS_SHOWN, sizeof(*seen), GFP_KERNEL_ACCOUNT);
	if (!seen)
		return -ENOMEM;
	nr = dxk_owners_look(&ctx->engine, seen);
	for (i = 0; i < nr; i++)
		dxk_label_find(&ctx->labels, seen[i].space, seen[i].cookie, seen[i].label);
	dxk_text_line(t, "%-18s  %8s  %8s  %8s  %8s  %s\n", "owner", "ready", "work", "rejoin",
		      "waiting", "label");
	for (i = 0; i < nr; i++)
		dxk_text_line(t, "%#-18llx  %8u  %8u  %8u  %8u%s%s\n", seen[i].cookie,
			      seen[i].nr[DXK_AT_READY], seen[i].nr[DXK_AT_WORK],
			      seen[i].nr[DXK_AT_REJOIN], seen[i].nr[DXK_AT_WAIT],
			      *seen[i].label ? "  " : "", seen[i].label);
	if (nr < READ_ONCE(ctx->engine.owners.nr))
		dxk_text_line(t, "... of %u\n", READ_ONCE(ctx->engine.owners.nr));
	return 0;
}

static int dxk_show_waiting(struct dxk_ctx *ctx, struct dxk_text *t)
{
	struct dxk_waiting *seen __free(kfree) = NULL;
	char words[DXK_WAITING_TEXT];
	u32 i, nr, all;

	seen = kcalloc(DXK_WAITING_MAX, sizeof(*seen), GFP_KERNEL_ACCOUNT);
	if (!seen)
		return -ENOMEM;
	nr = dxk_waiting_look(&ctx->engine, seen, DXK_WAITING_MAX, &all);
	dxk_text_line(t, "%10s  %s\n", "age_ms", "request");
	for (i = 0; i < nr; i++) {
		dxk_waiting_text(&ctx->labels, &seen[i], words);
		dxk_text_line(t, "%10u  %s\n", dxk_waiting_age_ms(&seen[i]), words);
	}
	if (nr < all)
		dxk_text_line(t, "... of %u\n", all);
	return 0;
}

static int dxk_show_keys(struct dxk_ctx *ctx, struct dxk_text *t)
{
	struct dxk_key_seen *seen __free(kfree) = NULL;
	char words[DXK_WAITING_TEXT];
	u32 i, nr;

	seen = kcalloc(DXK_KEYS_MAX, sizeof(*seen), GFP_KERNEL_ACCOUNT);
	if (!seen)
		return -ENOMEM;
	nr = dxk_keys_look(&ctx->engine, seen, DXK_KEYS_MAX);
	for (i = 0; i < nr; i++) {
		dxk_key_text(&ctx->labels, &seen[i], words);
		dxk_text_line(t, "%s\n", words);
	}
	if (nr == DXK_KEYS_MAX)
		dxk_text_line(t, "... and perhaps more\n");
	return 0;
}

static int dxk_show_commands(struct dxk_ctx *ctx, struct dxk_text *t)
{
	struct dxk_commands *c = &ctx->commands;
	u64 now = ktime_get_ns();
	struct dxk_command *cmd;

	spin_lock(&c->lock);
	if (c->user)
		dxk_text_line(t, "handler: thread %u\n", c->user->m->id);
	else
		dxk_text_line(t, "handler: %s\n", c->kernel ? c->kernel->name : "none");
	dxk_text_line(t, "waiting: %u\n", c->nr);
	dxk_text_line(t, "%10s  %12s  %12s  %s\n", "id", "due_ms", "every_ms", "command");
	list_for_each_entry(cmd, &c->timed, timed)
		dxk_text_line(t, "%10u  %12llu  %12llu  %*pE\n", cmd->id,
			      cmd->at > now ? div_u64(cmd->at - now, NSEC_PER_MSEC) : 0,
			      div_u64(cmd->every, NSEC_PER_MSEC), (int)cmd->len,
			      cmd->text);
	spin_unlock(&c->lock);
	return 0;
}

static int dxk_do_show(struct dxk_ctx *ctx, char **word, u64 deadline,
			struct dxk_text *t)
{
	static const struct {
		const char *name;
		int (*show)(struct dxk_ctx *ctx, struct dxk_text *t);
	} shows[] = {
		{ "threads", dxk_show_threads },
		{ "pools", dxk_show_pools },
		{ "lanes", dxk_show_lanes },
		{ "owners", dxk_show_owners },
		{ "waiting", dxk_show_waiting },
		{ "keys", dxk_show_keys },
		{ "commands", dxk_show_commands },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(shows); i++)
		if (!strcmp(word[1], shows[i].name))
			return shows[i].show(ctx, t);
	dxk_text_line(t, "show threads|pools|lanes|owners|waiting|keys|commands\n");
	return -ENOENT;
}

/* --- set ---------------------------------------------------------------------- */

static const struct dxk_field *dxk_field_named(const char *name)
{
	u32 i;

	for (i = 0; i < dxk_fields_nr; i++)
		if (!strcmp(name, dxk_fields[i].name))
			return &dxk_fields[i];
	return NULL;
}

static const char *dxk_field_name_at(u32 offset)
{
	u32 i;

	for (i = 0; i < dxk_fields_nr; i++)
		if (dxk_fields[i].offset == offset)
			return dxk_fields[i].name;
	return "?";
}

/* Report why the policy was refused. */
static void dxk_set_refused(struct dxk_text *t, const struct dxk_field *f, u32 value,
			    u32 bad, int err)
{
	switch (err) {
	case -EBUSY:
		dxk_text_line(t, "%s: cannot change while the context runs\n", f->name);
		break;
	case -EOPNOTSUPP:
		dxk_text_line(t, "%s: %u is not offered, at most %u\n", f->name, value,
			      f->max);
		break;
	case -EINVAL:
		if (value < f->min || value > f->max)
			dxk_text_line(t, "%s: %u is not in %u..%u\n", f->name, value,
				      f->min, f->max);
		else
			dxk_text_line(t, "%s: %u does not go with the rule for %s\n",
				      f->name, value, dxk_field_name_at(bad));
		break;
	}
}

static int dxk_do_set(struct dxk_ctx *ctx, char **word, u64 deadline,
		       struct dxk_text *t)
{
	const struct dxk_field *f = dxk_field_named(word[1]);
	u32 value, bad = 0;
	int err;

	if (!f) {
		dxk_text_line(t, "%s: no such field\n", word[1]);
		return -EINVAL;
	}
	if (kstrtou32(word[2], 0, &value)) {
		dxk_text_line(t, "%s: %s is no number\n", f->name, word[2]);
		return -EINVAL;
	}
	err = dxk_policy_set_field(ctx, f, value, &bad);
	dxk_set_refused(t, f, value, bad, err);
	return err;
}

/* --- drain, quit, cancel, log -------------------------------------------------- */

/* Does the sender execute a request of this context? Then it would wait for itself. */
static bool dxk_sender_executes(struct dxk_ctx *ctx)
{
	struct dxk_thread *t;
	unsigned long id;
	bool it = false;

	for (id = 1; !it && (t = dxk_thread_next(ctx, &id, DXK_ID_WORKER_MAX)); id++) {
		it = (t->task == current || t->user == current) &&
		     READ_ONCE(t->m.held);
		dxk_thread_put(t);
	}
	return it;
}

static int dxk_do_drain(struct dxk_ctx *ctx, char **word, u64 deadline,
			 struct dxk_text *t)
{
	int err;

	if (deadline && dxk_sender_executes(ctx))
		return -EDEADLK;
	err = dxk_run_halt(&ctx->engine, DXK_STOP_DRAIN, false, deadline);
	return err == -ERESTARTSYS ? -EINTR : err;
}

static int dxk_do_quit(struct dxk_ctx *ctx, char **word, u64 deadline,
			struct dxk_text *t)
{
	int err = dxk_run_halt(&ctx->engine, DXK_STOP_POLICY, false, 0);

	/* Stop has begun; its end is not waited for. */
	return err == -ETIMEDOUT || err == -ERESTARTSYS ? 0 : err;
}

static int dxk_do_cancel(struct dxk_ctx *ctx, char **word, u64 deadline,
			  struct dxk_text *t)
{
	u32 id;

	if (kstrtou32(word[1], 10, &id)) {
		dxk_text_line(t, "%s is no number\n", word[1]);
		return -EINVAL;
	}
	return dxk_command_cancel(&ctx->commands, id);
}

static int dxk_do_log(struct dxk_ctx *ctx, char **word, u64 deadline,
		       struct dxk_text *t)
{
	if (strcmp(word[1], "rotate"))
		return -ENOENT;
	dxk_text_line(t, "only the application can open its log file anew\n");
	return -EOPNOTSUPP;
}

/* --- all ------------------------------------------------------------------------ */

static const struct {
	const char *name;
	u32 words;
	int (*run)(struct dxk_ctx *ctx, char **word, u64 deadline, struct dxk_text *t);
} dxk_builtins[] = {
	{ "show", 2, dxk_do_show },
	{ "set", 3, dxk_do_set },
	{ "drain", 1, dxk_do_drain },
	{ "quit", 1, dxk_do_quit },
	{ "cancel", 2, dxk_do_cancel },
	{ "log", 2, dxk_do_log },
};

/* Split a text at blanks; returns DXK_WORDS + 1 for too many words. */
static u32 dxk_do_split(char *text, char **word)
{
	char *w;
	u32 nr = 0;

	while ((w = strsep(&text, " \t\n"))) {
		if (!*w)
			continue;
		if (nr == DXK_WORDS)
			return nr + 1;
		word[nr++] = w;
	}
	return nr;
}

static int dxk_do_run(struct dxk_ctx *ctx, char *text, u64 deadline,
		       struct dxk_text *t)
{
	char *word[DXK_WORDS];
	u32 nr = dxk_do_split(text, word);
	u32 i;

	for (i = 0; nr && i < ARRAY_SIZE(dxk_builtins); i++)
		if (nr == dxk_builtins[i].words &&
		    !strcmp(word[0], dxk_builtins[i].name))
			return dxk_builtins[i].run(ctx, word, deadline, t);
	return -ENOENT;
}

/**
 * dxk_builtin_run - run a command as a built-in command
 * @ctx: the context
 * @cmd: used by the caller alone, except for its text; receives status and reply
 * @deadline: deadline of a command whose sender waits
 */
void dxk_builtin_run(struct dxk_ctx *ctx, struct dxk_command *cmd, u64 deadline)
{
	struct dxk_text t = { };
	char *text;
	int status = -ENOMEM;

	text = kstrdup(cmd->text, GFP_KERNEL_ACCOUNT);
	t.buf = kmalloc(DXK_COMMAND_MAX, GFP_KERNEL_ACCOUNT);
	if (text && t.buf)
		status = dxk_do_run(ctx, text, deadline, &t);
	kfree(text);
	if (cmd->id && status)
		dxk_log_add(&ctx->log, ctx->engine.policy.log_full, DXK_ID_MONITOR,
			    "timed command %u: error %d", cmd->id, status);
	kfree(cmd->reply);
	cmd->status = status;
	cmd->reply = t.buf;
	cmd->reply_len = t.len;
}
