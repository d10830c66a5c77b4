// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel worker: a thread that takes requests and runs kernel executors.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>

#include "dxk_api.h"
#include "engine/calls.h"
#include "engine/dispatch.h"
#include "engine/fire.h"
#include "engine/life.h"
#include "engine/more.h"
#include "engine/next.h"
#include "engine/should.h"
#include "engine/turn.h"
#include "runtime/context.h"
#include "runtime/control.h"
#include "runtime/item.h"
#include "runtime/kthread.h"
#include "runtime/thread.h"
#include "runtime/worker.h"
#include "services/executor.h"
#include "services/handle.h"
#include "services/waker.h"
#include "trace.h"

/* Pass on the parts that most requests do not have. */
static noinline void dxk_call_tell(struct dxk_call *call, const struct dxk_more *more)
{
	call->file = more->file ? more->file->file : NULL;
	call->name = more->name;
	call->state = more->state;
	call->turn = more->turn;
	call->wake = more->wake;
	call->events = more->events & ~DXK_SEEN_SOMETHING;
}

/* @item, @fn: those of an embedded request, for which @rqe is now a proxy; else %NULL */
static __always_inline s32 dxk_execute(struct dxk_member *m, struct dxk_rqe *rqe,
				       struct dxk_item *item, dxk_item_fn *fn)
{
	struct dxk_call call = {
		.owner = rqe->cookie,
		.param = rqe->param,
		.attrs = rqe->attrs,
		.prio = rqe->prio,
		.data = rqe->data,
		.data_len = rqe->data_len,
		.result_room = rqe->result_room,
		.self = m,
		.uid = KUIDT_INIT(rqe->poster.uid),
		.gid = KGIDT_INIT(rqe->poster.gid),
		.pid = rqe->poster.pid,
	};
	s32 status;

	if (fn) {
		fn(item, &call);
		return 0;
	}
	if (unlikely(rqe->more))
		dxk_call_tell(&call, rqe->more);
	status = rqe->exec->execute_this_request(&call);
	if (WARN_ON_ONCE(call.result_len > rqe->result_room))
		call.result_len = rqe->result_room;
	rqe->data_len = call.result_len;
	return status;
}

/* The function of the item that a worker executes has returned. */
static void dxk_item_end(struct dxk_thread *t)
{
	struct dxk_ctx *ctx = dxk_member_ctx(&t->m);

	/* pairs with the load in dxk_item_run_is() */
	smp_store_release(&t->item.item, NULL);
	if (wq_has_sleeper(&ctx->item_wait))
		wake_up_all(&ctx->item_wait);
}

/*
 * Execute a request that the worker has. Return: the request to be completed next: @proxy, if it
 * was an item.
 */
static __always_inline struct dxk_rqe *
dxk_worker_execute(struct dxk_member *m, struct dxk_rqe *rqe, struct dxk_rqe *proxy)
{
	struct dxk_thread *t = dxk_thread_of(m);
	struct dxk_item *item = NULL;
	dxk_item_fn *fn = NULL;

	WRITE_ONCE(rqe->state, DXK_BUSY);
	trace_dxk_start(dxk_member_ctx(m)->id, rqe);
	if (unlikely(rqe->posted))
		rqe->started = ktime_get_ns();
	dxk_member_set_state(m, DXK_M_BUSY);
	if (rqe->embedded) {
		item = dxk_item_of(rqe);
		fn = item->fn;
		rqe = dxk_item_begin(&t->item, rqe, proxy);
	}
	os_turn_begin(OS_EXECUTE);
	rqe->status = dxk_execute(m, rqe, item, fn);
	os_turn_end(OS_EXECUTE);
	if (fn)
		dxk_item_end(t);
	return rqe;
}

/* The request that a turn has brought. */
static struct dxk_rqe *dxk_worker_fetch(struct dxk_member *m, struct dxk_next_op *n)
{
	struct dxk_rqe *rqe = list_first_entry(&n->work, struct dxk_rqe, link);

	dxk_rqe_change(rqe, &m->busy);
	return rqe;
}

/* Between two requests. */
static void dxk_worker_breathe(void)
{
	if (signal_pending(current))
		flush_signals(current);
	cond_resched();
}

/*
 * Execute the request, then one after the other until a turn is not the usual one. The next call
 * of dxk_next() completes the last request, which may be @proxy. In a backlog a result that
 * somebody may wait for comes before other tasks run. Without a result they run first: the executor
 * may have woken one that posts the next request.
 */
static void dxk_worker_run(struct dxk_member *m, struct dxk_next_op *n, struct dxk_rqe *proxy)
{
	struct dxk_rqe *rqe = dxk_worker_fetch(m, n);

	do {
		struct dxk_rqe *done = dxk_worker_execute(m, rqe, proxy);
		bool rejoinable = dxk_rqe_rejoinable(done);

		if (!rejoinable)
			dxk_worker_breathe();
		rqe = dxk_turn(m, &done);
		if (done)
			dxk_rqe_change(done, &n->done);
		if (rejoinable)
			dxk_worker_breathe();
	} while (rqe);
}

static int dxk_worker_fn(void *arg)
{
	struct dxk_member *m = arg;
	struct dxk_next_op n = { .m = m, .max = 1 };
	struct dxk_rqe proxy __uninitialized;
	int err;

	/* Sent by the close of the context: it ends only sleeps that allow signals. */
	allow_kernel_signal(SIGKILL);
	INIT_LIST_HEAD(&n.done);
	for (;;) {
		err = dxk_next(&n, DXK_FOREVER);
		dxk_rqe_drop_all(m, &n.ended);
		if (err)
			break;
		if (unlikely(READ_ONCE(m->has_closed_handles))) {
			/* That call only completed a request (DX-28). */
			dxk_private_files_release(&dxk_member_ctx(m)->handles,
						   &dxk_thread_of(m)->files);
			continue;
		}
		/* There is none when the worker had to release a file first. */
		if (n.nr)
			dxk_worker_run(m, &n, &proxy);
		else
			dxk_worker_breathe();
	}

	dxk_private_files_close(&dxk_member_ctx(m)->handles, &dxk_thread_of(m)->files);
	dxk_member_set_state(m, DXK_M_AWAY);
	os_turn_begin(OS_GONE);
	dxk_worker_gone(dxk_thread_of(m));
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	os_turn_end(OS_GONE);
	return 0;
}

/**
 * dxk_worker_can_help - can the caller execute a request while it waits?
 * @m: the caller
 *
 * A kernel worker in an executor can, as long as half of its stack is free: the
 * nested executor may need as much as this one.
 */
bool dxk_worker_can_help(const struct dxk_member *m)
{
	unsigned long top = (unsigned long)task_stack_page(current) + THREAD_SIZE;

	return dxk_thread_of(m)->task == current &&
	       top - (unsigned long)__builtin_frame_address(0) < THREAD_SIZE / 2;
}

/* A worker is about to help. @outer: keeps the item that it has executed until then. */
static void dxk_item_nest(struct dxk_thread *t, struct dxk_item_run *outer)
{
	struct dxk_engine *e = t->m.engine;

	outer->item = t->item.item;
	outer->seq = t->item.seq;
	if (!outer->item)
		return;
	spin_lock(&e->lock);
	list_add(&outer->link, &t->outer);
	spin_unlock(&e->lock);
}

/* The worker returns to that item. */
static void dxk_item_unnest(struct dxk_thread *t, struct dxk_item_run *outer)
{
	struct dxk_engine *e = t->m.engine;

	if (!outer->item)
		return;
	spin_lock(&e->lock);
	list_del(&outer->link);
	WRITE_ONCE(t->item.seq, outer->seq);
	WRITE_ONCE(t->item.item, outer->item);
	spin_unlock(&e->lock);
}

/** dxk_worker_help - execute the request for which the worker was called */
void dxk_worker_help(struct dxk_member *m)
{
	struct dxk_thread *t = dxk_thread_of(m);
	struct dxk_next_op n = { .m = m, .max = 1 };
	struct dxk_rqe proxy __uninitialized;
	struct dxk_item_run outer;
	struct dxk_rqe *rqe;

	INIT_LIST_HEAD(&n.done);
	if (WARN_ON_ONCE(dxk_next(&n, 0)))
		return;
	dxk_item_nest(t, &outer);
	rqe = dxk_worker_execute(m, dxk_worker_fetch(m, &n), &proxy);
	dxk_item_unnest(t, &outer);
	dxk_rqe_change(rqe, &n.done);
	n.max = 0;
	dxk_next(&n, DXK_FOREVER);
	dxk_rqe_drop_all(m, &n.ended);
	dxk_member_set_state(m, DXK_M_BUSY);
}

/** dxk_worker_start - make the thread of a kernel worker that has joined, and let it run */
int dxk_worker_start(struct dxk_thread *t)
{
	struct dxk_ctx *ctx = dxk_member_ctx(&t->m);
	struct task_struct *task;
	int err = dxk_bound_init(&t->bound);

	if (err)
		return err;
	task = dxk_kthread_new(ctx, dxk_worker_fn, &t->m, "dxk%u/%u", ctx->id, t->m.id);
	if (IS_ERR(task))
		return PTR_ERR(task);
	dxk_bound_set(ctx, &t->bound, task, t->m.home);
	spin_lock(&ctx->engine.lock);
	t->task = task;
	spin_unlock(&ctx->engine.lock);
	kthread_unpark(task);
	return 0;
}

/** dxk_worker_gone - have a kernel worker reaped, which takes no more work */
void dxk_worker_gone(struct dxk_thread *t)
{
	struct dxk_ctx *ctx = dxk_member_ctx(&t->m);
	struct dxk_run *run = &ctx->engine.run;
	bool last;

	spin_lock(&ctx->engine.lock);
	list_add_tail(&t->gone, &ctx->gone);
	run->live--;
	last = run->down && !run->live;
	spin_unlock(&ctx->engine.lock);
	/* The context still exists: the task that reaps the caller waits for its end. */
	os_kick(&ctx->engine, last ? DXK_WALKER : DXK_MONITOR);
}

/** dxk_worker_reap - end the thread of a kernel worker that has gone */
void dxk_worker_reap(struct dxk_thread *t)
{
	struct dxk_ctx *ctx = dxk_member_ctx(&t->m);
	struct task_struct *task;

	spin_lock(&ctx->engine.lock);
	task = t->task;
	t->task = NULL;
	spin_unlock(&ctx->engine.lock);
	os_may_wait(OS_GONE);
	if (task)
		dxk_kthread_end(ctx, task);
}

/**
 * dxk_should_stop - does the context want this request to end soon?
 * @call: the running request
 *
 * Context: any.
 * Return: true for a service request of lane 0 from the beginning of Stop on, for every
 * request from the beginning of Stop(cancel) or the close of the context on, and for one
 * that is cancelled or has expired.
 */
bool dxk_should_stop(const struct dxk_call *call)
{
	return dxk_is_to_end(call->self->engine, call->attrs) || READ_ONCE(call->self->told);
}
EXPORT_SYMBOL_GPL(dxk_should_stop);

/**
 * dxk_wait_should_stop - sleep until the context wants this request to end (DX-109)
 * @call: the running request; the caller is the thread that executes it
 * @deadline: of the sleep, in ns on CLOCK_MONOTONIC; %DXK_FOREVER for none: then the
 *	context counts it as a resting service, which is not taken as a sign that others
 *	make progress
 *
 * Stop ends the sleep when dxk_should_stop() becomes true. SIGKILL, which the close of the
 * context sends, ends the sleep as well.
 *
 * Return: 1 when the request must end, 0 at the deadline, -ERESTARTSYS for the signal.
 */
int dxk_wait_should_stop(const struct dxk_call *call, u64 deadline)
{
	might_sleep();
	return dxk_should_wait(call->self, deadline);
}
EXPORT_SYMBOL_GPL(dxk_wait_should_stop);

/**
 * dxk_call_wait - have the turn end with a wait
 * @call: the running request; the caller is the thread that executes it
 * @wait: the event to wait for
 *
 * The turn ends when the executor returns, whatever its status. Then the request waits without
 * a worker. Afterwards it has another turn, on any worker. That turn receives @wait.state,
 * result_len bytes of the result as its data, and the reason of the wake-up. A further call
 * before the executor returns replaces the wait.
 *
 * With %DXK_WAIT_FILE the request waits until its waker is fired, see dxk_waker_create();
 * @wait.fd and @wait.events must be 0.
 *
 * Return: 0; -EINVAL: see struct dxk_wait; -EOPNOTSUPP: the policy's max_waiting is 0, or the
 * request is an item, or has no waker; -ENOMEM. On error the turn ends as usual.
 */
int dxk_call_wait(struct dxk_call *call, const struct dxk_wait *wait)
{
	struct dxk_rqe *rqe = list_last_entry(&call->self->busy, struct dxk_rqe, link);

	might_sleep();
	if (rqe->embedded)
		return -EOPNOTSUPP;
	if (wait->wait & DXK_WAIT_FILE) {
		if (wait->fd || wait->events)
			return -EINVAL;
		if (!rqe->more || !rqe->more->watch)
			return -EOPNOTSUPP;
	}
	return dxk_wait_set(call->self, rqe, wait);
}
EXPORT_SYMBOL_GPL(dxk_call_wait);

static int dxk_call_ask(struct dxk_call *call, u32 what, bool force, u64 deadline)
{
	struct dxk_key_op k __uninitialized;
	int err;

	might_sleep();
	k.m = call->self;
	k.rqe = list_last_entry(&call->self->busy, struct dxk_rqe, link);
	k.what = what;
	k.force = force;
	k.patient = deadline;
	err = dxk_key_ask(&k, deadline);
	return err == -ERESTARTSYS ? -EINTR : err;
}

/**
 * dxk_call_key - leave, enter, wait for or notify the key of the running request (AG-21)
 * @call: the running request; the caller is the thread that executes it
 * @what: %DXK_KEY_LEAVE, _ENTER, _WAIT, _NOTIFY or _NOTIFY_ALL, see enum dxk_key_what
 * @deadline: of %DXK_KEY_WAIT, on CLOCK_MONOTONIC: 0 is past, %DXK_FOREVER for none
 *
 * Context: process, no locks that another request takes.
 * Return: see struct dxk_key_call; -EINTR: the context is closed; -EINVAL: the request has no
 * key, or @what is invalid.
 */
int dxk_call_key(struct dxk_call *call, enum dxk_key_what what, u64 deadline)
{
	if (what > DXK_KEY_NOTIFY_ALL)
		return -EINVAL;
	return dxk_call_ask(call, what, false, deadline);
}
EXPORT_SYMBOL_GPL(dxk_call_key);

/**
 * dxk_block_enter - announce that the running request will sleep outside of dxk (FO-35, FO-36)
 * @call: the running request; the caller is the thread that executes it
 * @force: also when no other worker could take the place
 * @deadline: on CLOCK_MONOTONIC: how long to wait until one could; 0: not at all
 *
 * Until dxk_block_leave() its key is left, and idle workers or spares (%DXK_ON_BLOCK_SPARE) do
 * what is Ready in its worker's place. The request has no other turn meanwhile.
 *
 * Context: process, no locks that another request takes.
 * Return: 0; -EAGAIN: no worker could, nothing has changed; -EBUSY: it was called before, or
 * another request is executed within it; -EINTR: the context is closed.
 */
int dxk_block_enter(struct dxk_call *call, bool force, u64 deadline)
{
	return dxk_call_ask(call, DXK_KEY_BLOCK, force, deadline);
}
EXPORT_SYMBOL_GPL(dxk_block_enter);

/**
 * dxk_block_leave - announce that the running request is back from dxk_block_enter() (FO-38)
 * @call: the running request
 *
 * If the request had its key, this sleeps until it has the key again. It takes precedence over
 * all requests that wait for a turn with the key.
 *
 * Context: process, no locks that another request takes.
 * Return: 0; -EPERM: it was not called before; without its key: -ECANCELED: it is to end,
 * -EINTR: the context is closed.
 */
int dxk_block_leave(struct dxk_call *call)
{
	return dxk_call_ask(call, DXK_KEY_UNBLOCK, false, 0);
}
EXPORT_SYMBOL_GPL(dxk_block_leave);

/**
 * dxk_waker_create - make a waker: any context can fire it, the request can wait for it
 * @call: the running request; the caller is the thread that executes it
 * @release: called with @data in process context when no reference is left; or %NULL
 * @data: of the executor, such as the buffer of an I/O; the request may end before the release
 *
 * For completions: each task that will call dxk_waker_fire() has a reference, and drops it
 * afterwards with dxk_waker_put(). The request has a reference until it ends in any way. A
 * request has at most one waker, in all its turns. The executor's module is referenced until
 * @release has returned.
 *
 * Context: process.
 * Return: the waker, with a reference for the caller, or an error pointer: -EOPNOTSUPP: the
 * policy's max_waiting is 0, or the request is an item; -EBUSY: it has a waker; -ENOMEM. On error
 * @release is not called.
 */
struct dxk_waker *dxk_waker_create(struct dxk_call *call, void (*release)(void *data),
				   void *data)
{
	struct dxk_rqe *rqe = list_last_entry(&call->self->busy, struct dxk_rqe, link);
	struct dxk_engine *e = call->self->engine;
	struct dxk_more *more;

	might_sleep();
	if (rqe->embedded || !READ_ONCE(e->waits.on))
		return ERR_PTR(-EOPNOTSUPP);
	more = dxk_more_of(call->self, rqe);
	if (!more)
		return ERR_PTR(-ENOMEM);
	return dxk_waker_make(e, &dxk_member_ctx(call->self)->files, more, rqe->exec->owner,
			      release, data);
}
EXPORT_SYMBOL_GPL(dxk_waker_create);

/**
 * dxk_handle_file - get the calling worker's private file of a handle (DX-26)
 * @call: the running request; the caller is the thread that executes it
 * @id: of the handle
 *
 * Opened at the first use in this worker, with the flags of the native file and
 * the rights of its opener. Do not keep it: it is valid until the request
 * ends, also when the handle is closed before that (DX-27).
 *
 * Return: the file, or an error pointer: -ENOENT: no such handle (any more),
 * -ENOSPC: the table is full, -ENOMEM, or the error of the open; the next call retries.
 */
struct file *dxk_handle_file(struct dxk_call *call, u64 id)
{
	return dxk_handles_file(&dxk_member_ctx(call->self)->handles,
				&dxk_thread_of(call->self)->files, id);
}
EXPORT_SYMBOL_GPL(dxk_handle_file);

/**
 * dxk_log - write a message to the log of the context in which a request runs
 * @call: the running request
 * @fmt: the message, one line; cut to %DXK_LOG_TEXT
 *
 * Never sleeps and never fails: when the Log Pool is full a message is lost, the
 * oldest unless policy log_full is drop_new, and the log shows the gap.
 * Context: any but NMI.
 */
void dxk_log(const struct dxk_call *call, const char *fmt, ...)
{
	struct dxk_ctx *ctx = dxk_member_ctx(call->self);
	va_list args;

	va_start(args, fmt);
	dxk_log_vadd(&ctx->log, READ_ONCE(ctx->engine.policy.log_full), call->self->id, fmt,
		     args);
	va_end(args);
}
EXPORT_SYMBOL_GPL(dxk_log);
