// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Log Pool: a clock buffer. Messages enter at the tail and leave at the head.
 *
 * Control threads and kernel executors cannot wait: they drop a message when the
 * pool is full. Only a user caller that requests it, under policy log_full=block,
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
#include "engine/text.h"
#include "services/files.h"
#include "services/log.h"

void dxk_log_init(struct dxk_log *log, struct dxk_engine *e, struct dxk_files *files)
{
	memset(log, 0, sizeof(*log));
	spin_lock_init(&log->lock);
	INIT_LIST_HEAD(&log->writers);
	init_waitqueue_head(&log->readers);
	init_waitqueue_head(&log->claimants);
	init_waitqueue_head(&log->stoppers);
	INIT_LIST_HEAD(&log->sync);
	INIT_LIST_HEAD(&log->changes);
	INIT_DELAYED_WORK(&log->work, dxk_logfile_work);
	dxk_gate_prepare(&log->gate, dxk_logfile_resume);
	log->files = files;
	log->engine = e;
}

/**
 * dxk_log_alloc - make the pool, or give it another size
 * @log: not asynchronous
 * @size: a power of two
 *
 * Unread messages of an earlier run stay where they are until they are read (DX-103). They
 * survive one change of the size; a second change loses them.
 */
int dxk_log_alloc(struct dxk_log *log, u32 size)
{
	struct dxk_log_ring ring = { .size = size };

	if (log->ring.entry && log->ring.size == size)
		return 0;
	ring.entry = kvcalloc(size, sizeof(*ring.entry), GFP_KERNEL_ACCOUNT);
	if (!ring.entry)
		return -ENOMEM;
	scoped_guard(spinlock_irqsave, &log->lock) {
		swap(log->ring, ring);
		if (dxk_ring_use(&ring)) {
			swap(log->old, ring);
			log->lost += dxk_ring_use(&ring);
		}
	}
	kvfree(ring.entry);
	return 0;
}

void dxk_log_free(struct dxk_log *log)
{
	struct dxk_log_ring ring = { }, old = { };

	scoped_guard(spinlock_irqsave, &log->lock) {
		swap(log->ring, ring);
		swap(log->old, old);
		log->taken = log->seq;
		log->told = log->seq;
	}
	kvfree(ring.entry);
	kvfree(old.entry);
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
	dxk_text_clean(rec->text, rec->len, false);
	rec->text[rec->len] = '\0';
}

/** dxk_log_number - give a message its place in the order; log->lock is held */
void dxk_log_number(struct dxk_log *log, struct dxk_log_record *rec)
{
	lockdep_assert_held(&log->lock);

	rec->seq = ++log->seq;
	rec->time_ns = ktime_get_ns();
}

static u32 dxk_log_pct(const struct dxk_log *log)
{
	return READ_ONCE(log->engine->policy.user_share);
}

/** dxk_log_has_room - whether there is room for a message of the user of a share */
bool dxk_log_has_room(const struct dxk_log *log, u32 share)
{
	const struct dxk_log_ring *ring = &log->ring;
	u32 room = ring->size - dxk_ring_use(ring);

	return room && (!share || dxk_share_allows(dxk_log_pct(log), ring->has[share], room));
}

/** dxk_log_new_user - from now on a share belongs to another user */
void dxk_log_new_user(struct dxk_log *log, u32 share)
{
	guard(spinlock_irqsave)(&log->lock);
	log->since[share] = log->seq;
	log->ring.has[share] = 0;
	log->old.has[share] = 0;
}

/* The oldest message leaves a ring. */
static struct dxk_log_entry *dxk_log_pop(struct dxk_log *log, struct dxk_log_ring *ring)
{
	struct dxk_log_entry *e = &ring->entry[ring->head++ & (ring->size - 1)];

	if (e->rec.seq > log->since[e->share])
		ring->has[e->share]--;
	return e;
}

/* Drop the oldest message for a new one if needed. Return: false: its user has the full share. */
static bool dxk_log_drop_oldest(struct dxk_log *log, u32 share)
{
	struct dxk_log_ring *ring = &log->ring;
	u32 has = ring->has[share];

	if (share && !dxk_share_allows(dxk_log_pct(log), has, ring->size - has))
		return false;
	if (dxk_ring_use(ring) == ring->size) {
		dxk_log_pop(log, ring);
		log->lost++;
	}
	return true;
}

/**
 * dxk_log_enter - add a message at the tail; when there is no room one is dropped
 * @log: the pool
 * @full: the new one under %DXK_LOG_DROP_NEW, else the oldest
 * @rec: the message
 * @share: the share of the user to whom it is charged; a message beyond it is always dropped
 */
void dxk_log_enter(struct dxk_log *log, enum dxk_log_full full, struct dxk_log_record *rec,
		   u32 share)
{
	struct dxk_log_ring *ring = &log->ring;

	dxk_log_number(log, rec);
	if (!dxk_log_has_room(log, share) &&
	    (full == DXK_LOG_DROP_NEW || !dxk_log_drop_oldest(log, share))) {
		log->lost++;
		return;
	}
	ring->entry[ring->tail++ & (ring->size - 1)] =
		(struct dxk_log_entry){ .rec = *rec, .share = share };
	ring->has[share]++;
	log->high = max(log->high, dxk_ring_use(ring));
}

/**
 * dxk_log_kick - have the item check the log
 * @log: locked; has a file, or will have one, so that there is a queue
 *
 * A retry after an error keeps its time. Context: any
 */
void dxk_log_kick(struct dxk_log *log)
{
	lockdep_assert_held(&log->lock);

	queue_delayed_work(log->files->wq, &log->work, 0);
}

/** dxk_log_announce - have the item or a reader check the pool. Context: any */
void dxk_log_announce(struct dxk_log *log)
{
	lockdep_assert_held(&log->lock);

	if (log->file)
		dxk_log_kick(log);
	else if (waitqueue_active(&log->readers))
		wake_up_interruptible_poll(&log->readers, EPOLLIN | EPOLLRDNORM);
}

/** dxk_log_format - make one line of a format, which is cut if it is too long (DX-102) */
void dxk_log_format(struct dxk_log_record *rec, const char *fmt, va_list args)
{
	int len = vsnprintf(rec->text, sizeof(rec->text), fmt, args);

	if (len >= (int)sizeof(rec->text)) {
		rec->flags = DXK_LOG_CUT;
		len = sizeof(rec->text) - 1;
	}
	while (len > 0 && rec->text[len - 1] == '\n')
		len--;
	rec->len = max(len, 0);
	dxk_log_clean(rec);
}

static __printf(5, 0)
void dxk_log_put(struct dxk_log *log, enum dxk_log_full full, u32 thread, u32 share,
		 const char *fmt, va_list args)
{
	struct dxk_log_record rec = { .thread = thread };
	unsigned long flags;

	dxk_log_format(&rec, fmt, args);
	spin_lock_irqsave(&log->lock, flags);
	if (log->ring.entry) {
		dxk_log_enter(log, full, &rec, share);
		dxk_log_announce(log);
	}
	spin_unlock_irqrestore(&log->lock, flags);
}

/** dxk_log_vadd - dxk_log_add() with its arguments in a list */
void dxk_log_vadd(struct dxk_log *log, enum dxk_log_full full, u32 thread,
		  const char *fmt, va_list args)
{
	dxk_log_put(log, full, thread, 0, fmt, args);
}

/**
 * dxk_log_add - add a message of the module
 * @log: the pool
 * @full: which message a full pool drops. Under %DXK_LOG_BLOCK this one: callers wait
 *	for room so that their messages are not lost
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

/**
 * dxk_log_of - add a message of the module about a thread
 * @log: the pool
 * @m: the thread, to whose user it is charged: what a user does to threads drops no message of
 *	others. Without room it is dropped itself. If the user has just left the context, it may
 *	be charged to the next one with that share
 * @fmt: the message; cut to %DXK_LOG_TEXT
 *
 * Context: any, without the engine's lock.
 */
void dxk_log_of(struct dxk_log *log, const struct dxk_member *m, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	dxk_log_put(log, DXK_LOG_DROP_NEW, m->id, m->share, fmt, args);
	va_end(args);
}

/* --- out ------------------------------------------------------------------- */

/*
 * Take the next record of the stream: a message, or the gap before it.
 * Return: whether there is one.
 */
static bool dxk_log_next(struct dxk_log *log, struct dxk_log_record *rec)
{
	struct dxk_log_ring *ring = dxk_ring_use(&log->old) ? &log->old : &log->ring;
	const struct dxk_log_record *first = NULL;
	u64 next = log->seq + 1;
	u64 lost;

	if (dxk_ring_use(ring)) {
		first = &ring->entry[ring->head & (ring->size - 1)].rec;
		next = first->seq;
	}
	lost = next - log->taken - 1;
	if (lost) {
		*rec = (struct dxk_log_record) {
			.seq = log->taken + 1,
			.time_ns = first ? first->time_ns : ktime_get_ns(),
			.flags = DXK_LOG_GAP,
			.lost = min_t(u64, lost, U32_MAX),
		};
		rec->len = scnprintf(rec->text, sizeof(rec->text), "%u lost", rec->lost);
		log->taken += rec->lost;
		return true;
	}
	if (!first)
		return false;
	*rec = dxk_log_pop(log, ring)->rec;
	log->taken = rec->seq;
	return true;
}

/**
 * dxk_log_take - take the record at the head
 * @log: the pool
 * @rec: out, a message, or a gap in front of it
 *
 * Return: false when there is nothing.
 */
bool dxk_log_take(struct dxk_log *log, struct dxk_log_record *rec)
{
	struct dxk_log_entry *spent = NULL;
	struct dxk_log_op *op;
	struct dxk_wakes wakes;
	unsigned long flags;
	bool any;

	dxk_wakes_init(&wakes);
	spin_lock_irqsave(&log->lock, flags);
	any = dxk_log_next(log, rec);
	op = list_first_entry_or_null(&log->writers, struct dxk_log_op, w.link);
	if (op && dxk_log_has_room(log, op->share)) {
		dxk_log_enter(log, DXK_LOG_BLOCK, op->rec, op->share);
		dxk_log_finish(op, 0, &wakes);
	}
	if (!dxk_ring_use(&log->old))
		swap(spent, log->old.entry);
	spin_unlock_irqrestore(&log->lock, flags);
	dxk_wakes_flush(log->engine, &wakes);
	kvfree(spent);
	return any;
}

/** dxk_log_unwritten - count messages, gaps included, that have not been handed on yet */
u64 dxk_log_unwritten(struct dxk_log *log)
{
	guard(spinlock_irqsave)(&log->lock);
	return log->seq - log->told;
}

/** dxk_log_count - count messages in the pool, for a caller without the lock */
u32 dxk_log_count(struct dxk_log *log)
{
	guard(spinlock_irqsave)(&log->lock);
	return dxk_log_use(log);
}

/* --- the drainer ----------------------------------------------------------- */

/* Nobody is the drainer, and the item need not become it. */
static bool dxk_log_is_undrained(const struct dxk_log *log)
{
	return !log->drainer && list_empty(&log->changes);
}

/**
 * dxk_log_claim - become the drainer of a log without a file
 * @log: the log
 *
 * Return: 1; 0: another thread is, or the item is to be: dxk_log.claimants are woken when
 * that is over; -EBUSY: the messages go to a file.
 */
int dxk_log_claim(struct dxk_log *log)
{
	guard(spinlock_irqsave)(&log->lock);
	if (log->file)
		return -EBUSY;
	if (!dxk_log_is_undrained(log))
		return 0;
	log->drainer = log->reading = true;
	return 1;
}

/** dxk_log_is_read - whether a reader is the drainer, which may take as long as it likes */
bool dxk_log_is_read(struct dxk_log *log)
{
	guard(spinlock_irqsave)(&log->lock);
	return log->reading;
}

/** dxk_log_is_settled - whether there is no turn of the item, without a file, to wait for */
bool dxk_log_is_settled(struct dxk_log *log)
{
	guard(spinlock_irqsave)(&log->lock);
	return log->file || log->reading || dxk_log_is_undrained(log);
}

/** dxk_log_hold - have a message in log->held, if there is one; for the drainer */
bool dxk_log_hold(struct dxk_log *log)
{
	if (!log->holding)
		log->holding = dxk_log_take(log, &log->held);
	return log->holding;
}

/** dxk_log_pass - the message that the drainer held has been handed on */
void dxk_log_pass(struct dxk_log *log)
{
	log->holding = false;
	guard(spinlock_irqsave)(&log->lock);
	log->told = log->taken;
}

/** dxk_log_yield - a reader ceases to be the drainer */
void dxk_log_yield(struct dxk_log *log)
{
	scoped_guard(spinlock_irqsave, &log->lock) {
		log->drainer = log->reading = false;
		/* Without a file: one is to come, or was withdrawn again. */
		if (log->pinned)
			dxk_log_kick(log);
	}
	wake_up_interruptible(&log->claimants);
}
