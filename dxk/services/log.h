/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_SERVICES_LOG_H
#define _DXK_SERVICES_LOG_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/stdarg.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "uapi/dxk.h"

struct dxk_engine;
struct dxk_member;
struct file;

/**
 * struct dxk_log - the Log Pool, a clock buffer (DX-15), and its drain
 *
 * Invariants: tail - head is the number of messages in it, at most size. While
 * a writer sleeps in @writers the pool is full: taking from the head moves the
 * first sleeper's message in, so that nobody overtakes it.
 */
struct dxk_log {
	/**
	 * @lock: what has the letter G here; taken in any context, so inside any lock
	 */
	spinlock_t lock;
	/** @entry: (G) entries, a power of two; NULL while there is no pool */
	struct dxk_log_record *entry;
	/** @size: (G) how many */
	u32 size;
	/**
	 * @head: (G) messages taken so far: the next one to take is entry[head % size]
	 */
	u32 head;
	/** @tail: (G) messages added so far: the next one goes to entry[tail % size] */
	u32 tail;
	/** @seq: (G) messages logged so far, the lost ones included */
	u64 seq;
	/**
	 * @taken: (G) sequence number up to which messages and gaps were taken out. The
	 * numbers between it and the next message were lost: gaps are not stored
	 */
	u64 taken;
	/** @lost: (G) messages that were dropped */
	u64 lost;
	/** @high: (G) high-water mark */
	u32 high;
	/** @async: (G) the context runs: user messages enter the pool */
	bool async;
	/** @closed: (G) the context is gone */
	bool closed;
	/** @writers: (G) struct dxk_log_op that sleep while the pool is full (BLOCK) */
	struct list_head writers;
	/** @asleep: (G) how many */
	u32 asleep;
	/** @blocks: (G) how often one slept */
	u64 blocks;
	/** @block_ns: (G) for how long */
	u64 block_ns;
	/** @readers: LOG_READ and poll(2) sleep here */
	wait_queue_head_t readers;

	/**
	 * @drain: (D) held while messages are taken out and handed on, one at a time, so
	 * that they leave in order. Outside of @lock; held over file and user access
	 */
	struct mutex drain;
	/** @held: (D) the message that is being handed on */
	struct dxk_log_record held;
	/** @holding: (D) there is one; also read without it */
	bool holding;
	/** @file: (D) and (G): the log file, or NULL */
	struct file *file;
	/** @done: (D) bytes of @held's line that are in the file */
	u32 done;
	/** @torn: (D) the file ends within a line that will not be completed */
	bool torn;
	/** @error: (D) of the last attempt to write to the file */
	int error;
	/** @backoff: (D) jiffies until the next attempt after an error */
	unsigned int backoff;
	/** @work: writes to the file */
	struct delayed_work work;
	/** @engine: (C) of the context, for its policy */
	struct dxk_engine *engine;
};

/* log.c: the pool */
void dxk_log_init(struct dxk_log *log, struct dxk_engine *e);
int dxk_log_alloc(struct dxk_log *log, u32 size);
void dxk_log_trim(struct dxk_log *log);
void dxk_log_free(struct dxk_log *log);

__printf(4, 5)
void dxk_log_add(struct dxk_log *log, enum dxk_log_full full, u32 thread,
		 const char *fmt, ...);
__printf(4, 0)
void dxk_log_vadd(struct dxk_log *log, enum dxk_log_full full, u32 thread,
		  const char *fmt, va_list args);
bool dxk_log_take(struct dxk_log *log, struct dxk_log_record *rec);
bool dxk_log_readable(struct dxk_log *log);
u32 dxk_log_count(struct dxk_log *log);
void dxk_log_number(struct dxk_log *log, struct dxk_log_record *rec);
void dxk_log_clean(struct dxk_log_record *rec);

int dxk_log_write(struct dxk_log *log, struct dxk_member *m, struct dxk_log_record *rec,
		  bool wait, u64 deadline);
void dxk_log_review(struct dxk_log *log, enum dxk_log_full full);
void dxk_log_async(struct dxk_log *log);
void dxk_log_sync(struct dxk_log *log);

/* log_file.c: the file, to which messages are handed on */
int dxk_logfile_init(void);
void dxk_logfile_exit(void);
void dxk_logfile_kick(struct dxk_log *log);
void dxk_logfile_flush(struct dxk_log *log);
int dxk_logfile_write_now(struct dxk_log *log, struct dxk_log_record *rec);
int dxk_logfile_set(struct dxk_log *log, struct file *file);
void dxk_logfile_close(struct dxk_log *log, u32 ctx_id);
void dxk_logfile_work(struct work_struct *work);
u32 dxk_logfile_line(const struct dxk_log_record *rec, char *line, size_t room);

/* Exact only under the lock, see dxk_log_count(). */
static inline u32 dxk_log_use(const struct dxk_log *log)
{
	return log->tail - log->head;
}

#endif /* _DXK_SERVICES_LOG_H */
