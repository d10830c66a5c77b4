/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The calls of a member, written into a history (history.h) that outlives it.
 *
 * The structs of a call lie in shared memory, too, and the module writes its answer
 * right there. A process that is killed finishes its call in the kernel: what the
 * call brought is in the log as if the process had lived to see it, and whoever
 * buries it reads it there. So nothing is lost between the module and the log. Only
 * of a post it is not known how many were taken.
 */
#ifndef HISTORY_LOG_H
#define HISTORY_LOG_H

#include "lib/dxt.h"
#include "history.h"

#define LOG_BATCH	8

/* One thread's call. */
struct history_log {
	struct history *h;
	int fd;
	unsigned int worker;	/* thread id */
	uint32_t member;	/* HIST_NOBODY: none now */
	uint32_t space;
	_Atomic bool open;	/* a call was begun and is not written down yet */
	_Atomic bool returned;	/* @rc is known */
	int rc;
	unsigned long cmd;
	uint64_t begin;
	uint32_t base;		/* events reserved for it */
	uint32_t owner, first;	/* first: request of a post */
	uint32_t key;
	unsigned int nr;
	union {
		struct dxk_post post;
		struct dxk_rejoin rejoin;
		struct dxk_next next;
		struct dxk_names names;
		struct dxk_key_call key_call;
	};
	/* of the longest elements; where requests do not wait they are shorter, see log_entry() */
	union {
		struct dxk_post_more entry[LOG_BATCH];
		struct dxk_result result[LOG_BATCH];
		uint64_t name;
	};
	struct dxk_done_more done[LOG_BATCH];
	struct dxk_work_more work[LOG_BATCH];
};

/* The elements of the arrays. */
static inline struct dxk_post_more *log_entry(struct history_log *log, unsigned int i)
{
	return log->h->waits ? &log->entry[i] :
			       (void *)((struct dxk_post_entry *)log->entry + i);
}

static inline struct dxk_done_more *log_done(struct history_log *log, unsigned int i)
{
	return log->h->waits ? &log->done[i] : (void *)((struct dxk_done *)log->done + i);
}

static inline struct dxk_work_more *log_work(struct history_log *log, unsigned int i)
{
	return log->h->waits ? &log->work[i] : (void *)((struct dxk_work *)log->work + i);
}

/* Does the history take no more? */
bool history_full(const struct history *h);

/* Joins the Thread Pool; 0 or an error. */
int log_join(struct history_log *log, int ctx, unsigned int kind);
/* Leaves it, with all that it executes. */
void log_leave(struct history_log *log);
/* The thread is about to end without leaving, nobody knows when that is noticed. */
void log_desert(struct history_log *log);

/*
 * Posts log_entry() 0..nr-1 of one owner, attrs and prio set, and what else goes with these;
 * the parameters become the numbers of the requests, and the names. What the call returned.
 */
int log_post(struct history_log *log, unsigned int nr, uint32_t owner, uint64_t deadline);
/* Collects into log->result. */
int log_rejoin(struct history_log *log, uint32_t owner, unsigned int nr, unsigned int min,
	       uint64_t deadline, uint32_t flags);
/* Completes log_done() 0..nr_done-1, fetches into log_work(). */
int log_next(struct history_log *log, unsigned int nr_done, unsigned int nr_work,
	     uint64_t deadline);
/* DXK_IOC_WAKE or DXK_IOC_CANCEL of a request that has a name. */
int log_name(struct history_log *log, unsigned long cmd, uint32_t request);
/* DXK_IOC_KEY, with @ticket of the request that executes and has, or has had, @key. */
int log_key(struct history_log *log, uint32_t what, uint32_t key, uint64_t ticket,
	    uint64_t deadline, bool refuse);

/* The process of the log is dead since some time after @begin, and all of it is over. */
void log_bury(struct history_log *log, uint64_t begin);

#endif /* HISTORY_LOG_H */
