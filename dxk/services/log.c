// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Log Pool: a clock buffer. Messages enter at the tail and leave at the head.
 *
 * Control threads and kernel executors cannot wait: they drop a message when the
 * pool is full. Only a user caller that asked for it, under policy log_full=block,
 * sleeps; the thread that takes from the head then moves its message in. Dropped
 * messages are noted only in the sequence numbers: a jump is a gap, and becomes a
 * record when it is read.
 */
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/stdarg.h>

#include "compat.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/os.h"
#include "services/log.h"

/**
 * struct dxk_log_op - a message whose writer sleeps for room
 */
struct dxk_log_op {
	/** @w: in dxk_log.writers; under the log's lock, not the context's */
	struct dxk_waiter w;
	/** @rec: the message */
	struct dxk_log_record *rec;
	/** @err: what ended the sleep, 0 when the message was taken */
	int err;
};

void dxk_log_init(struct dxk_log *log, struct dxk_engine *e)
{
	memset(log, 0, sizeof(*log));
	spin_lock_init(&log->lock);
	INIT_LIST_HEAD(&log->writers);
	init_waitqueue_head(&log->readers);
	mutex_init(&log->drain);
	INIT_DELAYED_WORK(&log->work, dxk_logfile_work);
	log->engine = e;
}

/*
 * Move what an earlier run left unread into the new array, as far as it has room.
 * One message per lock hold: there may be very many.
 */
static struct dxk_log_record *dxk_log_replace(struct dxk_log *log,
					      struct dxk_log_record *entry, u32 size)
{
	struct dxk_log_record *old;
	unsigned long flags;
	u32 nr = 0;

	lockdep_assert_held(&log->drain);

	spin_lock_irqsave(&log->lock, flags);
	while (log->head != log->tail) {
		entry[nr++ & (size - 1)] = log->entry[log->head++ & (log->size - 1)];
		spin_unlock_irqrestore(&log->lock, flags);
		cond_resched();
		spin_lock_irqsave(&log->lock, flags);
	}
	old = log->entry;
	log->entry = entry;
	log->size = size;
	log->tail = nr;
	log->head = nr > size ? nr - size : 0;
	log->lost += log->head;
	spin_unlock_irqrestore(&log->lock, flags);
	return old;
}

/**
 * dxk_log_alloc - make the pool, or give it another size
 * @log: not asynchronous
 * @size: a power of two
 *
 * Messages of an earlier run that nobody has read yet stay (DX-103); of more than
 * the new size has room for the oldest are lost.
 */
int dxk_log_alloc(struct dxk_log *log, u32 size)
{
	struct dxk_log_record *entry;

	if (log->entry && log->size == size)
		return 0;
	entry = kvcalloc(size, sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry)
		return -ENOMEM;
	mutex_lock(&log->drain);
	entry = dxk_log_replace(log, entry, size);
	mutex_unlock(&log->drain);
	kvfree(entry);
	return 0;
}

void dxk_log_free(struct dxk_log *log)
{
	struct dxk_log_record *entry;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	entry = log->entry;
	log->entry = NULL;
	log->size = 0;
	log->head = log->tail;
	log->taken = log->seq;
	spin_unlock_irqrestore(&log->lock, flags);
	kvfree(entry);
}

/** dxk_log_trim - a Start failed: free the pool, if it holds nothing unread */
void dxk_log_trim(struct dxk_log *log)
{
	if (!dxk_log_readable(log))
		dxk_log_free(log);
}

/* --- in -------------------------------------------------------------------- */

/** dxk_log_clean - make one line of the message */
void dxk_log_clean(struct dxk_log_record *rec)
{
	u32 i;

	for (i = 0; i < rec->len; i++)
		if ((unsigned char)rec->text[i] < ' ' || rec->text[i] == '\177')
			rec->text[i] = ' ';
	rec->text[rec->len] = '\0';
}

/** dxk_log_number - give a message its place in the order; log->lock is held */
void dxk_log_number(struct dxk_log *log, struct dxk_log_record *rec)
{
	lockdep_assert_held(&log->lock);

	rec->seq = ++log->seq;
	rec->time_ns = ktime_get_ns();
}

/* Add a message at the tail; when there is no room one is dropped. */
static void dxk_log_enter(struct dxk_log *log, enum dxk_log_full full,
			  struct dxk_log_record *rec)
{
	dxk_log_number(log, rec);
	if (dxk_log_use(log) == log->size) {
		log->lost++;
		if (full == DXK_LOG_DROP_NEW)
			return;
		log->head++;
	}
	log->entry[log->tail++ & (log->size - 1)] = *rec;
	log->high = max(log->high, dxk_log_use(log));
}

/* Have the work or a reader look at the pool. Context: any */
static void dxk_log_announce(struct dxk_log *log)
{
	lockdep_assert_held(&log->lock);

	if (log->file)
		dxk_logfile_kick(log);
	else if (waitqueue_active(&log->readers))
		wake_up_interruptible_poll(&log->readers, EPOLLIN | EPOLLRDNORM);
}

/** dxk_log_vadd - dxk_log_add() with its arguments in a list */
void dxk_log_vadd(struct dxk_log *log, enum dxk_log_full full, u32 thread,
		  const char *fmt, va_list args)
{
	struct dxk_log_record rec = { .thread = thread };
	unsigned long flags;
	int len;

	len = vsnprintf(rec.text, sizeof(rec.text), fmt, args);
	if (len >= (int)sizeof(rec.text)) {
		rec.flags = DXK_LOG_CUT;
		len = sizeof(rec.text) - 1;
	}
	while (len > 0 && rec.text[len - 1] == '\n')
		len--;
	rec.len = max(len, 0);
	dxk_log_clean(&rec);

	spin_lock_irqsave(&log->lock, flags);
	if (log->entry) {
		dxk_log_enter(log, full, &rec);
		dxk_log_announce(log);
	}
	spin_unlock_irqrestore(&log->lock, flags);
}

/**
 * dxk_log_add - add a message of the module
 * @log: the pool
 * @full: which message a full pool drops. Under %DXK_LOG_BLOCK this one: somebody
 *	waited for room so that nothing is lost
 * @thread: id of the caller
 * @fmt: the message; cut to %DXK_LOG_TEXT
 *
 * Context: any.
 */
void dxk_log_add(struct dxk_log *log, enum dxk_log_full full, u32 thread,
		 const char *fmt, ...)
{
	va_list args;

	if (full == DXK_LOG_BLOCK)
		full = DXK_LOG_DROP_NEW;
	va_start(args, fmt);
	dxk_log_vadd(log, full, thread, fmt, args);
	va_end(args);
}

/* --- sleeping for room ----------------------------------------------------- */

static struct dxk_log_op *dxk_log_sleeper(struct dxk_log *log)
{
	return list_first_entry_or_null(&log->writers, struct dxk_log_op, w.link);
}

/* The sleeper's message is in the pool, or will never be. */
static void dxk_log_finish(struct dxk_log_op *op, int err, struct dxk_wakes *wakes)
{
	op->err = err;
	dxk_waiter_finish(&op->w, wakes);
}

static int dxk_log_sleep(struct dxk_log *log, struct dxk_log_op *op, u64 deadline)
{
	int err;

	err = os_doze(&op->w.done, deadline);
	if (!err)
		return op->err;
	guard(spinlock_irqsave)(&log->lock);
	if (op->w.done)
		return op->err;
	dxk_waiter_leave(&op->w);
	return err;
}

/* Return: 0, an error, or 1 when the message is to be written by the caller. */
static int dxk_log_enter_or_sleep(struct dxk_log *log, struct dxk_member *m,
				  struct dxk_log_record *rec, bool wait, u64 deadline)
{
	enum dxk_log_full full = READ_ONCE(log->engine->policy.log_full);
	struct dxk_log_op op = { .rec = rec };
	int err;

	dxk_waiter_init(&op.w);
	scoped_guard(spinlock_irqsave, &log->lock) {
		if (!log->async)
			return 1;
		if (!wait || full != DXK_LOG_BLOCK || dxk_log_use(log) < log->size) {
			dxk_log_enter(log, full, rec);
			dxk_log_announce(log);
			return 0;
		}
		dxk_waiter_queue(&op.w, &log->writers, NULL, &log->asleep, &log->blocks,
				 &log->block_ns);
		dxk_member_set_state(m, DXK_M_LOGGING);
	}
	err = dxk_log_sleep(log, &op, deadline);
	dxk_member_set_state(m, dxk_member_home_state(m));
	return err;
}

/**
 * dxk_log_write - write a message for a member (DX-97..DX-101)
 * @log: the pool
 * @m: who
 * @rec: thread, text, len and flags are set
 * @wait: sleep while the pool is full, under %DXK_LOG_BLOCK
 * @deadline: of the sleep
 *
 * While the context runs the message enters the pool, else the log file.
 */
int dxk_log_write(struct dxk_log *log, struct dxk_member *m, struct dxk_log_record *rec,
		  bool wait, u64 deadline)
{
	int err;

	do {
		err = dxk_log_enter_or_sleep(log, m, rec, wait, deadline);
		if (err <= 0)
			return err;
		/* 1 when a Start was faster */
		err = dxk_logfile_write_now(log, rec);
	} while (err > 0);
	return err;
}

/**
 * dxk_log_review - a new policy is in force: nobody sleeps against it
 * @log: the pool
 * @full: the new log_full
 *
 * No more than some sleepers per lock hold. Those who come meanwhile find the new policy
 * and do not sleep.
 */
void dxk_log_review(struct dxk_log *log, enum dxk_log_full full)
{
	struct dxk_log_op *op;
	struct dxk_wakes wakes;
	unsigned long flags;

	if (full == DXK_LOG_BLOCK)
		return;
	do {
		dxk_wakes_init(&wakes);
		spin_lock_irqsave(&log->lock, flags);
		while ((op = dxk_log_sleeper(log)) && dxk_wakes_room(&wakes)) {
			dxk_log_enter(log, full, op->rec);
			dxk_log_finish(op, 0, &wakes);
		}
		spin_unlock_irqrestore(&log->lock, flags);
		dxk_wakes_flush(log->engine, &wakes);
		cond_resched();
	} while (op);
}

/* --- out ------------------------------------------------------------------- */

/* What is next in the stream: a message, or the gap before it. */
static bool dxk_log_next(struct dxk_log *log, struct dxk_log_record *rec)
{
	const struct dxk_log_record *e = NULL;
	u64 next = log->seq + 1;
	u64 lost;

	if (dxk_log_use(log)) {
		e = &log->entry[log->head & (log->size - 1)];
		next = e->seq;
	}
	lost = next - log->taken - 1;
	if (lost) {
		*rec = (struct dxk_log_record) {
			.seq = log->taken + 1,
			.time_ns = e ? e->time_ns : ktime_get_ns(),
			.flags = DXK_LOG_GAP,
			.lost = min_t(u64, lost, U32_MAX),
		};
		rec->len = scnprintf(rec->text, sizeof(rec->text), "%u lost", rec->lost);
		log->taken += rec->lost;
		return true;
	}
	if (!e)
		return false;
	*rec = *e;
	log->taken = e->seq;
	log->head++;
	return true;
}

/**
 * dxk_log_take - take what is at the head
 * @log: the pool
 * @rec: out, a message, or a gap in front of it
 *
 * Return: false when there is nothing.
 */
bool dxk_log_take(struct dxk_log *log, struct dxk_log_record *rec)
{
	struct dxk_log_op *op;
	struct dxk_wakes wakes;
	unsigned long flags;
	bool any;

	dxk_wakes_init(&wakes);
	spin_lock_irqsave(&log->lock, flags);
	any = dxk_log_next(log, rec);
	op = dxk_log_sleeper(log);
	if (op && dxk_log_use(log) < log->size) {
		dxk_log_enter(log, DXK_LOG_BLOCK, op->rec);
		dxk_log_finish(op, 0, &wakes);
	}
	spin_unlock_irqrestore(&log->lock, flags);
	dxk_wakes_flush(log->engine, &wakes);
	return any;
}

/** dxk_log_readable - is there a message or a gap that was not handed on? */
bool dxk_log_readable(struct dxk_log *log)
{
	guard(spinlock_irqsave)(&log->lock);
	return log->taken != log->seq || READ_ONCE(log->holding);
}

/** dxk_log_count - messages in the pool, for a caller without the lock */
u32 dxk_log_count(struct dxk_log *log)
{
	guard(spinlock_irqsave)(&log->lock);
	return dxk_log_use(log);
}

/* --- Start and Stop -------------------------------------------------------- */

/** dxk_log_async - the context starts: messages enter the pool (DX-17) */
void dxk_log_async(struct dxk_log *log)
{
	guard(spinlock_irqsave)(&log->lock);
	log->async = true;
}

/**
 * dxk_log_sync - the context stopped: messages are written by their callers
 * @log: the pool; what it holds is written to the file, or stays for LOG_READ
 *
 * Whoever slept for room and finds none by now gets ESHUTDOWN.
 */
void dxk_log_sync(struct dxk_log *log)
{
	struct dxk_log_op *op;
	struct dxk_wakes wakes;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	log->async = false;
	spin_unlock_irqrestore(&log->lock, flags);

	dxk_logfile_flush(log);

	/* No more than some per lock hold; nobody falls asleep any more. */
	do {
		dxk_wakes_init(&wakes);
		spin_lock_irqsave(&log->lock, flags);
		while ((op = dxk_log_sleeper(log)) && dxk_wakes_room(&wakes))
			dxk_log_finish(op, -ESHUTDOWN, &wakes);
		spin_unlock_irqrestore(&log->lock, flags);
		dxk_wakes_flush(log->engine, &wakes);
		cond_resched();
	} while (op);
	/* No more will come: LOG_READ returns. */
	wake_up_interruptible_poll(&log->readers, EPOLLIN | EPOLLRDNORM);
}
