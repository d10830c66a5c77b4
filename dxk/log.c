// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Log Pool: a clock buffer. Messages enter at the tail and leave at the head.
 *
 * The control threads note here what happens to the context: starts, stops,
 * deaths. They never wait: what finds the pool full drops a message and counts it.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/stdarg.h>

#include "log.h"

void dxk_log_init(struct dxk_log *log)
{
	memset(log, 0, sizeof(*log));
	spin_lock_init(&log->lock);
}

int dxk_log_alloc(struct dxk_log *log, u32 size)
{
	struct dxk_log_entry *entry;
	unsigned long flags;

	entry = kvcalloc(size, sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry)
		return -ENOMEM;
	spin_lock_irqsave(&log->lock, flags);
	log->entry = entry;
	log->size = size;
	log->head = 0;
	log->tail = 0;
	spin_unlock_irqrestore(&log->lock, flags);
	return 0;
}

void dxk_log_free(struct dxk_log *log)
{
	struct dxk_log_entry *entry;
	unsigned long flags;

	spin_lock_irqsave(&log->lock, flags);
	entry = log->entry;
	log->entry = NULL;
	log->size = 0;
	log->head = log->tail;
	spin_unlock_irqrestore(&log->lock, flags);
	kvfree(entry);
}

/**
 * dxk_log_add - add a message at the tail
 * @log: the pool
 * @full: which message a full pool drops; a caller that cannot wait treats
 *	%DXK_LOG_BLOCK as %DXK_LOG_DROP_OLDEST
 * @thread: id of the caller
 * @fmt: the message; cut to %DXK_LOG_TEXT
 *
 * Context: any.
 */
void dxk_log_add(struct dxk_log *log, enum dxk_log_full full, u32 thread,
		 const char *fmt, ...)
{
	struct dxk_log_entry *e;
	unsigned long flags;
	va_list args;

	spin_lock_irqsave(&log->lock, flags);
	if (!log->entry)
		goto out;
	log->seq++;
	if (dxk_log_use(log) == log->size) {
		log->lost++;
		if (full == DXK_LOG_DROP_NEW)
			goto out;
		log->head++;
	}
	e = &log->entry[log->tail++ & (log->size - 1)];
	e->seq = log->seq;
	e->time = ktime_get_ns();
	e->thread = thread;
	va_start(args, fmt);
	vscnprintf(e->text, sizeof(e->text), fmt, args);
	va_end(args);
	log->high = max(log->high, dxk_log_use(log));
out:
	spin_unlock_irqrestore(&log->lock, flags);
}

/** dxk_log_take - take the message at the head; false when there is none */
bool dxk_log_take(struct dxk_log *log, struct dxk_log_entry *entry)
{
	unsigned long flags;
	bool any;

	spin_lock_irqsave(&log->lock, flags);
	any = dxk_log_use(log);
	if (any)
		*entry = log->entry[log->head++ & (log->size - 1)];
	spin_unlock_irqrestore(&log->lock, flags);
	return any;
}
