/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_LOG_H
#define _DXK_SERVICES_LOG_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/stdarg.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "engine/share.h"
#include "engine/waiter.h"
#include "services/gate.h"
#include "uapi/dxk.h"

struct dxk_engine;
struct dxk_files;
struct dxk_member;
struct file;

/**
 * struct dxk_log_entry - a message in the pool
 */
struct dxk_log_entry {
	/** @rec: the message */
	struct dxk_log_record rec;
	/** @share: the share of the user to whom it is charged, see engine/share.h; 0: none */
	u32 share;
};

/**
 * struct dxk_log_ring - messages in an array. Invariant: 0 <= tail - head <= size
 */
struct dxk_log_ring {
	/** @entry: (G) entries, a power of two; NULL: there is no ring */
	struct dxk_log_entry *entry;
	/** @has: (G) by share: number of messages charged to it */
	u32 has[DXK_SHARES];
	/** @size: (G) number of entries */
	u32 size;
	/** @head: (G) messages taken so far: the next one is entry[head % size] */
	u32 head;
	/** @tail: (G) messages added so far: the next one goes to entry[tail % size] */
	u32 tail;
};

/**
 * struct dxk_log_op - a caller that sleeps until an operation on the log is done
 */
struct dxk_log_op {
	/** @w: in dxk_log.writers, .sync or .changes; (G) instead of the engine's lock */
	struct dxk_waiter w;
	/** @rec: the message; the task that takes it assigns its sequence number */
	struct dxk_log_record *rec;
	/** @share: the share of the user to whom it is charged, or 0 */
	u32 share;
	/** @file: in dxk_log.changes: the file that takes over, or NULL */
	struct file *file;
	/** @upto: messages accepted up to this sequence number belong to the old file */
	u64 upto;
	/** @begun: (G) the item is performing it or has done so: it cannot be undone */
	bool begun;
	/** @err: what ended the sleep, 0 when it is done; 1: the context was started */
	int err;
};

/**
 * struct dxk_log_sink - a reader of the log
 */
struct dxk_log_sink {
	/** @put: takes the @i-th message of this call; returns 0, or an error that ends the call */
	int (*put)(struct dxk_log_sink *sink, const struct dxk_log_record *rec, u32 i);
};

/**
 * struct dxk_log - the Log Pool, a clock buffer (DX-15), and its drain
 *
 * Messages leave in order because one drainer at a time takes them out and hands them on:
 * LOG_READ, or the log item, which writes the file. The role of the drainer is a token and not
 * a lock, because a drainer may hang in a user's memory or file. LOG_READ sleeps for the token,
 * interruptibly, and for another reader until its deadline. The item does not sleep for it: the
 * task that gives the token back kicks the item. Nobody else needs the token: Start, Stop and
 * close work under @lock.
 *
 * While a writer sleeps in @writers, the pool is full, or its user has used up its share. Taking
 * from the head moves the first sleeper's message in, if there is room for it now, so that no
 * message of the same user overtakes it. An empty pool has room for every message.
 */
struct dxk_log {
	/**
	 * @lock: protects the fields with the letter G here; taken in any context, so
	 * inside any lock
	 */
	spinlock_t lock;
	/** @ring: (G) where messages enter; none while there is no pool */
	struct dxk_log_ring ring;
	/** @old: (G) ring of an earlier run, of another size, until all of it has been taken */
	struct dxk_log_ring old;
	/** @seq: (G) messages logged so far, the lost ones included */
	u64 seq;
	/**
	 * @taken: (G) sequence number up to which messages and gaps have been taken out.
	 * The numbers between it and the next message were lost: gaps are not stored
	 */
	u64 taken;
	/** @told: (G) up to which they were handed on; less than @taken while one is held */
	u64 told;
	/**
	 * @since: (G) by share: the messages up to this sequence number belong to another
	 * user and are charged to nobody
	 */
	u64 since[DXK_SHARES];
	/** @lost: (G) messages that were dropped */
	u64 lost;
	/** @high: (G) high-water mark */
	u32 high;
	/** @async: (G) the context runs: user messages enter the pool */
	bool async;
	/** @closed: (G) the context is gone */
	bool closed;
	/** @pinned: (G) it has a file, or will have one: a pin of the context */
	bool pinned;
	/** @ctx_id: (G) of a context that is @closed */
	u32 ctx_id;
	/** @writers: (G) struct dxk_log_op that sleep while the pool is full (BLOCK) */
	struct list_head writers;
	/** @asleep: (G) number of @writers */
	u32 asleep;
	/** @blocks: (G) how often a writer slept */
	u64 blocks;
	/** @block_ns: (G) total time slept by writers, in ns */
	u64 block_ns;
	/** @readers: LOG_READ and poll(2) sleep here */
	wait_queue_head_t readers;
	/** @claimants: LOG_READ sleeps here to become the drainer */
	wait_queue_head_t claimants;
	/** @stoppers: callers of Stop sleep here until the file has all messages */
	wait_queue_head_t stoppers;

	/** @drainer: (G) there is a drainer, which owns the fields with (D) */
	bool drainer;
	/** @reading: (G) the drainer is LOG_READ */
	bool reading;
	/** @held: (D) the message that is being handed on */
	struct dxk_log_record held;
	/** @holding: (D) there is one */
	bool holding;
	/** @file: (G), to set also (D): the log file, or NULL */
	struct file *file;
	/** @sync: (G) struct dxk_log_op: messages that the item writes while their callers wait */
	struct list_head sync;
	/** @changes: (G) struct dxk_log_op: the next files */
	struct list_head changes;
	/** @serving: (G) the operation the item has begun, which is in no list any more; or NULL */
	struct dxk_log_op *serving;
	/** @done: (D) bytes of @held's line that are in the file */
	u32 done;
	/** @torn: (D) the file ends within a line that will not be completed */
	bool torn;
	/** @error: (G) of the last attempt to write to the file */
	int error;
	/** @backoff: (D) jiffies until the next attempt after an error */
	unsigned int backoff;
	/** @work: the log item: writes to the file */
	struct delayed_work work;
	/** @gate: the item passes it before it does something to a file */
	struct dxk_gate gate;
	/** @files: (C) has the queue of the item, once there is a file */
	struct dxk_files *files;
	/** @engine: (C) of the context, for its policy */
	struct dxk_engine *engine;
};

/* log.c: the pool */
void dxk_log_init(struct dxk_log *log, struct dxk_engine *e, struct dxk_files *files);
int dxk_log_alloc(struct dxk_log *log, u32 size);
void dxk_log_trim(struct dxk_log *log);
void dxk_log_free(struct dxk_log *log);

__printf(4, 5)
void dxk_log_add(struct dxk_log *log, enum dxk_log_full full, u32 thread,
		 const char *fmt, ...);
__printf(4, 0)
void dxk_log_vadd(struct dxk_log *log, enum dxk_log_full full, u32 thread,
		  const char *fmt, va_list args);
__printf(3, 4)
void dxk_log_of(struct dxk_log *log, const struct dxk_member *m, const char *fmt, ...);
void dxk_log_enter(struct dxk_log *log, enum dxk_log_full full, struct dxk_log_record *rec,
		   u32 share);
void dxk_log_new_user(struct dxk_log *log, u32 share);
bool dxk_log_has_room(const struct dxk_log *log, u32 share);
void dxk_log_announce(struct dxk_log *log);
void dxk_log_number(struct dxk_log *log, struct dxk_log_record *rec);
void dxk_log_clean(struct dxk_log_record *rec);
__printf(2, 0)
void dxk_log_format(struct dxk_log_record *rec, const char *fmt, va_list args);

bool dxk_log_take(struct dxk_log *log, struct dxk_log_record *rec);
int dxk_log_claim(struct dxk_log *log);
bool dxk_log_is_read(struct dxk_log *log);
bool dxk_log_is_settled(struct dxk_log *log);
bool dxk_log_hold(struct dxk_log *log);
void dxk_log_pass(struct dxk_log *log);
void dxk_log_yield(struct dxk_log *log);
u64 dxk_log_unwritten(struct dxk_log *log);
u32 dxk_log_count(struct dxk_log *log);
void dxk_log_kick(struct dxk_log *log);

/* log_call.c: calls of members, Start, Stop and close */
int dxk_log_write(struct dxk_log *log, struct dxk_member *m, struct dxk_log_record *rec,
		  bool wait, u64 deadline);
void dxk_log_finish(struct dxk_log_op *op, int err, struct dxk_wakes *wakes);
void dxk_log_finish_all(struct dxk_log *log, struct list_head *ops, int err);
void dxk_log_review(struct dxk_log *log, enum dxk_log_full full);
int dxk_log_set_file(struct dxk_log *log, struct file *file);
void dxk_log_async(struct dxk_log *log);
void dxk_log_sync(struct dxk_log *log);
void dxk_log_cancel(struct dxk_log *log);
u64 dxk_log_seq(struct dxk_log *log);
int dxk_log_told_wait(struct dxk_log *log, u64 seq, u64 deadline);
void dxk_log_close(struct dxk_log *log, u32 ctx_id);

/* log_read.c: taking messages out */
int dxk_log_read(struct dxk_log *log, struct dxk_log_sink *sink, u32 nr, u64 deadline);

/* log_file.c: the item that writes the file */
void dxk_logfile_work(struct work_struct *work);
void dxk_logfile_resume(struct dxk_gate *gate);
u32 dxk_logfile_line(const struct dxk_log_record *rec, char *line, size_t room);

/* Exact only under the lock, see dxk_log_count(). */
static inline u32 dxk_ring_use(const struct dxk_log_ring *ring)
{
	return ring->tail - ring->head;
}

static inline u32 dxk_log_use(const struct dxk_log *log)
{
	return dxk_ring_use(&log->ring) + dxk_ring_use(&log->old);
}

/** dxk_log_readable - is there a message or a gap that has not been handed on? */
static inline bool dxk_log_readable(struct dxk_log *log)
{
	return dxk_log_unwritten(log);
}

#endif /* _DXK_SERVICES_LOG_H */
