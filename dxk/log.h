/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_LOG_H
#define _DXK_LOG_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include "../uapi/dxk.h"

/**
 * struct dxk_log_entry - one message
 * @seq: position in the stream; a gap says how many were lost
 * @time: ktime, ns
 * @thread: id of the thread that logged
 * @text: zero-terminated
 */
struct dxk_log_entry {
	u64 seq;
	u64 time;
	u32 thread;
	char text[DXK_LOG_TEXT];
};

/**
 * struct dxk_log - the Log Pool, a clock buffer (DX-15)
 * @lock: all of it; may be taken in any context
 * @entry: entries, a power of two; NULL while there is no pool
 * @size: how many
 * @head: messages taken so far: the next one to take is entry[head % size]
 * @tail: messages added so far: the next one goes to entry[tail % size]
 * @seq: messages logged so far, the lost ones included
 * @lost: messages that were dropped
 * @high: high-water mark
 *
 * Invariant: tail - head is the number of messages in it, at most size.
 */
struct dxk_log {
	spinlock_t lock;
	struct dxk_log_entry *entry;
	u32 size;
	u32 head;
	u32 tail;
	u64 seq;
	u64 lost;
	u32 high;
};

void dxk_log_init(struct dxk_log *log);
int dxk_log_alloc(struct dxk_log *log, u32 size);
void dxk_log_free(struct dxk_log *log);

__printf(4, 5)
void dxk_log_add(struct dxk_log *log, enum dxk_log_full full, u32 thread,
		 const char *fmt, ...);
bool dxk_log_take(struct dxk_log *log, struct dxk_log_entry *entry);

static inline u32 dxk_log_use(const struct dxk_log *log)
{
	return log->tail - log->head;
}

#endif /* _DXK_LOG_H */
