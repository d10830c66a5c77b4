/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A picture of everything in the module that its callers can find out: contexts,
 * descriptors, members, requests, owners, who sleeps and why. It is as simple as can
 * be: no index, no lock, whatever is asked is found by looking at all there is.
 *
 * model_call() takes a call as its process will make it, changes the picture as the
 * contract (uapi/dxk.h) and behaviours say, and leaves the answer that must come: at
 * once, or, when the process has to sleep, when another call lets it go. One call
 * after the other: there is always exactly one right answer.
 *
 * Time is a number of four values (struct ctx, @now). A call that names one which is soon
 * is followed by nothing until that has come: model_clock().
 *
 * Not in the picture: ageing (no scheduler interval passes), helpers and spares, more
 * than one kernel worker, timed commands, handlers, handles, files that are waited for.
 */
#ifndef MODEL_H
#define MODEL_H

#include "lib/arg.h"
#include "lib/dxt.h"

#define PROCS		4
#define CTXS		3
#define SLOTS		8	/* elements of an array in one call */
#define DATA		24	/* bytes of each */
#define MEMBERS		40
#define SESSIONS	40
#define DESCS		64
#define LIVE		192	/* requests of a context */
#define BUSY		64
#define FILE_FD		100	/* a file that may be handed over */
#define CTL_FD		101	/* /dev/dxk, in each process */
#define OWNERS		3	/* cookies 0.. of a space */
#define NAMES		8	/* of requests, 1.. */

/* Times: what is not later than @now has come. The driver has a clock for SOON. */
#define PAST		1ULL
#define SOON		2ULL
#define LATE		(1ULL << 62)	/* and DXK_FOREVER */

/* --- a process's call, in memory that it shares -------------------------- */

enum op { OP_IOCTL, OP_CLOSE, OP_DUP, OP_POLL };

struct call {
	enum op op;
	int fd;
	uint32_t cmd;
	long rc;		/* what came */
	union arg a;
	/* arrays of the longest elements; those of a call may be shorter, see call_entry() */
	struct dxk_post_more entry[SLOTS];
	struct dxk_result result[SLOTS];
	struct dxk_done_more done[SLOTS];
	struct dxk_work_more work[SLOTS];
	uint64_t name[SLOTS];
	uint32_t state[SLOTS];
	struct dxk_log_record record[SLOTS];
	unsigned char in[SLOTS][DATA];
	unsigned char out[SLOTS][DATA];
	char text[64], reply[256];
};

/* The elements of a call, of the size that it says. */
static inline struct dxk_post_more *call_entry(struct call *c, unsigned int i)
{
	return (void *)((char *)c->entry + i * c->a.post.entry_size);
}

static inline struct dxk_done_more *call_done(struct call *c, unsigned int i)
{
	return (void *)((char *)c->done + i * c->a.next.done_size);
}

static inline struct dxk_work_more *call_work(struct call *c, unsigned int i)
{
	return (void *)((char *)c->work + i * c->a.next.work_size);
}

/* --- the picture --------------------------------------------------------- */

/* What a call returns. */
struct answer {
	long rc;
	uint32_t index, reason;		/* post, when not all were taken */
	uint32_t answer;		/* rejoin, without results */
	uint32_t nr_taken;		/* next, with completions; DXT_POISON32: untouched */
	uint32_t bad_field, id, nr_running;
	int32_t status;
	bool any_id;			/* the id is news */
	struct dxk_result result[SLOTS];
	struct dxk_work_more work[SLOTS];
	uint32_t state[SLOTS];		/* cancel */
	uint32_t ready, executing, waiting, ended;	/* cancel_owner */
	unsigned char data[SLOTS][DATA];
	unsigned int lines[SLOTS];	/* log */
};

struct space {
	bool private, closed;
	int users;
};

enum req_state { READY, WORK, DONE, LEAVING, WAITING };

/* Where a request waits: whom a Stop tells, whom it waits for, and whom it has told. */
enum line { LINE_SERVICE, LINE_WORK, LINE_KEPT };

struct req {
	enum req_state state;
	bool kernel;
	unsigned int lane;
	uint64_t owner, executor, param, seq, done_seq, ticket;
	struct space *space;
	int prio, status;
	uint32_t attrs, data_len, posted_len, result_room, attempts, worker;
	unsigned char data[DATA], posted[DATA];
	bool stands;			/* to be posted: nothing to wait for but room, once */
	bool treed;			/* READY: see model_scan_key() */
	bool last;			/* READY: for its last turn, in a Stop(cancel) */
	/* what most have not: a file, a name, a time to end, a wait */
	bool more;
	bool named, parks, begun, latched, cancelled, expired;
	uint64_t name, expire, told_state;
	struct dxk_wait wait;
	uint32_t wake, turn;
	int own_prio;
	/* WAITING: */
	bool ripe;			/* only for room */
	bool joins;			/* for an owner, for whom that has not happened */
	bool eager;			/* it has: whoever ended the last one may take it */
	bool seen;			/* on the way of a search, see model_cycle.c */
	enum line line;
	uint64_t at;			/* when the clock looks at it, or DXK_FOREVER */
	/* its place in each order that there is, see ctx.order; 0: in none */
	uint64_t at_seq, line_seq, wait_seq, sibling_seq, joined_seq, ripe_seq, last_seq;
};

/* An owner that was cancelled: what was Ready up to a time. */
struct doom {
	const struct space *space;
	uint64_t owner, seq;
	uint64_t purge;			/* its place among those still to be cancelled, or 0 */
};

enum sleep { AWAKE, S_POST, S_REJOIN, S_IDLE, S_BLOCKED };

struct member {
	bool used, client, attached, ready;
	struct ctx *ctx;
	struct space *space;
	uint32_t access;
	int refs;			/* descriptors */
	unsigned int id;
	struct proc *proc;
	struct req *busy[BUSY];
	int nr_busy;
	uint32_t last_attrs;		/* of what it was given last */
	const struct space *last_space;
	uint64_t last_owner, last_ticket;
	bool told;			/* to end that */
	bool watching;			/* poll(2) tells of changes of: */
	uint64_t watch_owner;
	/* the call that it is in */
	enum sleep sleep;
	uint64_t arrival;
	uint64_t owner;			/* whose requests it collects */
	struct req *reqs[SLOTS];	/* to post, collected, or completed */
	int nr, max, min, mine;
	int taken;
	bool wait, timed;
	bool seen;			/* on the way of a search, see model_cycle.c */
	int work;			/* of busy: fetched by this call */
};

struct session {
	bool used, creator;
	struct ctx *ctx;
	struct space *space;
	uint32_t access;
	int refs;
};

enum ctx_state { NEW, RUNNING, STOPPING, STOPPED };

enum counter {
	ST_POSTS, ST_POST_BUSY, ST_POST_REFUSED, ST_DISPATCHES, ST_COMPLETIONS,
	ST_VANISHED, ST_CANCELLED, ST_PUT_BACK, ST_OWNER_DEAD, ST_REDONE, ST_STALE,
	ST_RETURNED, ST_NONE_READY,
	ST_NONE_EXIST, ST_COLLECTED, ST_SELF_POLL, ST_WAITS, ST_TIMEOUTS, ST_EXPIRED,
	ST_DEADLOCKS, STATS,
};

struct ctx {
	bool used, known, closed, cancelling, changed, freed;	/* known: @id is */
	bool ending;			/* Stop gave up waiting: it is stopped when it can be */
	bool over;			/* its run is: the driver waits for that */
	char name[DXK_NAME_LEN];
	unsigned int id, uid, mode;
	enum ctx_state state;
	struct dxk_policy policy, next_policy;
	int descriptors;
	struct space shared;
	struct req *live[LIVE];
	int nr_live;
	struct member *idle[MEMBERS];	/* the last one first */
	int nr_idle;
	struct req *kernel;		/* what the kernel worker executes */
	int workers;			/* of user space */
	uint64_t seq, done_seq, ticket, arrivals;
	unsigned int line[256];		/* of the log: not read yet */
	int nr_lines;
	uint64_t stat[STATS];
	uint64_t completions_seen;	/* by the driver */
	/* requests that wait */
	bool waits;			/* the policy of the last run allows it */
	uint64_t now;			/* PAST, or SOON while that comes */
	uint64_t order;			/* of whatever comes after another */
	struct doom doom[LIVE];
	int nr_doom;
	bool later;			/* thread 700 has something to do */
	int dispatcher;			/* its pid, for the driver */
};

struct desc {
	int fd;				/* 0: free */
	struct session *session;
	struct member *member;
};

struct proc {
	int nr;
	unsigned int uid;
	struct call *call;
	struct desc desc[DESCS];
	struct member *in;		/* whose call it makes, or NULL */
	bool done;			/* the call is over */
	bool told;			/* and its answer complete */
	struct answer answer;
};

struct model {
	struct proc proc[PROCS];
	struct ctx ctx[CTXS];
	struct session session[SESSIONS];
	struct member member[MEMBERS];
	struct space space[256];
	int nr_spaces;
	uint64_t nop;			/* id of the kernel executor */
	struct dxk_policy initial;	/* of a new context */
};

extern const char *const model_stat[STATS];

struct desc *model_desc(struct proc *p, int fd);
/* The process makes p->call. Unless p->done is set afterwards, it sleeps. */
void model_call(struct model *m, struct proc *p);
/* A signal ends the process's sleep. */
void model_interrupt(struct model *m, struct proc *p);
/* All its descriptors are closed. */
void model_death(struct model *m, struct proc *p);
/*
 * Would its death close a context in which it holds requests, before the eyes of others? The
 * context ends in a thread of its own then: what is Ready may end before what the dead held
 * or after it.
 */
bool model_death_races(const struct model *m, const struct proc *p);
/*
 * May a request that takes others along fail now? Thread 700 cancels them after the call,
 * beside whoever that call has let go on.
 */
bool model_may_fail(const struct model *m, const struct ctx *c);
/* Would the close of a descriptor race with that? */
bool model_close_races(const struct model *m, const struct desc *d);
/* What thread 700 does after a call: cancels whom a failed request takes along. */
void model_later(struct ctx *c);
/* Has a request a time that comes soon? */
bool model_soon(const struct ctx *c);
/* It has come. */
void model_clock(struct ctx *c);
/* A policy that a running context was given comes into force. */
void model_review(struct ctx *c);
/* All is forgotten but @nop and @initial. */
void model_reset(struct model *m);
/* The owners that exist. */
int model_owners(const struct ctx *c);

/* --- the engine, for the calls ------------------------------------------- */

int model_count(const struct ctx *c, enum req_state state, int lane, int kernel);
uint32_t model_quota(const struct ctx *c, bool ready, unsigned int lane);
struct req *model_best(const struct ctx *c, bool kernel);
/* Is there something that a worker would be given? */
bool model_has_work(const struct ctx *c);
void engine_post(struct ctx *c, struct member *m);
void engine_rejoin(struct ctx *c, struct member *m);
void engine_next(struct ctx *c, struct member *m);
void engine_died(struct ctx *c, struct member *m);
void engine_leave_space(struct ctx *c, struct space *s);
void engine_stop(struct ctx *c, bool cancel, bool close);
bool engine_out_of_work(const struct ctx *c);
void engine_dispatch(struct ctx *c);
void engine_timeout(struct ctx *c, struct member *m, long error);
/* What is over is answered; what the kernel worker has is done. */
void engine_settle(struct ctx *c);

#endif /* MODEL_H */
