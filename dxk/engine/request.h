/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
#ifndef _DXK_ENGINE_REQUEST_H
#define _DXK_ENGINE_REQUEST_H

#include "engine/os.h"
#include "engine/stash.h"
#include "uapi/dxk.h"

struct dxk_engine;
struct dxk_executor;
struct dxk_member;
struct dxk_more;
struct dxk_owner;
struct file;

/**
 * enum dxk_state - where a request is (DX-34); state.h has the legal moves
 * @DXK_FREE: not live
 * @DXK_POSTED: with a poster that sleeps for room; not yet taken over
 * @DXK_READY: in the Ready Pool
 * @DXK_DISPATCHED: given to a worker that has not fetched it yet
 * @DXK_BUSY: being executed
 * @DXK_REJOIN: completed, in the Rejoin Pool until its owner collected it
 * @DXK_CANCELLED: taken out of the Ready Pool, or of its wait, by Stop or by name
 * @DXK_WAITING: no worker has it, and none will before what it waits for has happened
 */
enum dxk_state {
	DXK_FREE,
	DXK_POSTED,
	DXK_READY,
	DXK_DISPATCHED,
	DXK_BUSY,
	DXK_REJOIN,
	DXK_CANCELLED,
	DXK_WAITING,
	DXK_STATES,
};

/* Which kind of worker a request needs. */
enum dxk_kind {
	DXK_USER,
	DXK_KERNEL,
	DXK_KINDS,
};

/**
 * enum dxk_embedding - whose memory a request is
 * @DXK_POOLED: its context's, see pool.h
 * @DXK_EMBEDDED: it is a part of an object of another module, see struct dxk_item
 * @DXK_PROXY: its worker's; it executes in the place of one that is embedded
 */
enum dxk_embedding {
	DXK_POOLED,
	DXK_EMBEDDED,
	DXK_PROXY,
};

/**
 * struct dxk_file_ref - what a request or a handle has of a file, until it lets it go
 *
 * Made with it, so that nothing is allocated at its end.
 */
struct dxk_file_ref {
	/** @next: (L) in a list of those that are let go, dxk_engine.bin for one */
	struct dxk_file_ref *next;
	/** @file: (C) referenced */
	struct file *file;
	/** @watched: (C) it is dxk_watch.ref */
	bool watched;
	/** @paid: (C) it counts for a user, in the kernel's numbers @payer */
	bool paid;
	/** @payer: (C) which */
	u32 payer;
};

/**
 * struct dxk_poster - who posted a request, in the kernel's numbers; all 0: the kernel
 */
struct dxk_poster {
	/** @image: its address space; no other one of a process @pid ever has the number */
	u64 image;
	/** @pid: its process */
	u32 pid;
	/** @uid: its effective user */
	u32 uid;
	/** @gid: its effective group */
	u32 gid;
} __packed __aligned(4);

/**
 * struct dxk_rqe - Request Queue Element: one object from post to return
 *
 * Fields without a letter belong to whoever holds the request: the poster before
 * READY, the worker while BUSY, the collector once it took it. The Ready Pool
 * holds many of these: the size is part of the design.
 */
struct dxk_rqe {
	union {
		/** @node: (L) READY and @treed: in the tree of its queue */
		struct rb_node node;
		struct {
			/**
			 * @newer: (L) READY, not @treed: next one in its row, or NULL.
			 * FREE: next one in its pool
			 */
			struct dxk_rqe *newer;
			/** @older: (L) likewise, the one before */
			struct dxk_rqe *older;
		};
		/**
		 * @link: (L) otherwise: in the list of whoever has it. POSTED: the
		 * poster's; DISPATCHED and BUSY: the worker's; REJOIN: the owner's done
		 * list, or that of the rejoin call which is copying it out; WAITING: those
		 * that wait; READY for its last turn: those
		 */
		struct list_head link;
	};
	/**
	 * @key: (L) constant while READY: the priority less what the class has gained
	 */
	s64 key;
	/** @seq: (L) order of posts, breaks ties */
	u64 seq;
	union {
		/** @tick0: (L) READY: the scheduler's tick when it became so */
		u64 tick0;
		/**
		 * @started: BUSY: ktime when the worker began, if latencies are measured
		 */
		u64 started;
	};
	/**
	 * @ticket: (L) names the dispatch that a completion answers; 0 before the first
	 */
	u64 ticket;
	/** @owner: (L) the owner's record, from READY until FREE */
	struct dxk_owner *owner;
	/** @cookie: opaque, names its owner */
	u64 cookie;
	/** @executor: opaque, or the id of @exec */
	u64 executor;
	/** @param: opaque */
	u64 param;
	/** @exec: referenced kernel executor, or NULL */
	struct dxk_executor *exec;
	/** @more: what most requests do not have: a file, a name, a wait; or NULL */
	struct dxk_more *more;
	/** @data: room for what was posted and for the result, or NULL */
	void *data;
	/**
	 * @data_len: bytes that came with the post; from the completion on, those of
	 * the result
	 */
	u32 data_len;
	/** @result_room: bytes the result may have */
	u32 result_room;
	/** @prio: @own_prio; from the dispatch on, the priority it had then */
	s32 prio;
	/** @inspect: scheduler intervals spent READY, known from the dispatch on */
	u32 inspect;
	/** @status: the executor's return value */
	s32 status;
	/** @attrs: PXR_* bits */
	u32 attrs;
	/** @posted: ktime of the post; 0 unless latencies are measured */
	u64 posted;
	/** @own_prio: posted priority: that of each of its turns */
	s32 own_prio;
	/**
	 * @posted_len: bytes that came with the post; as @data_len may not, it stays
	 */
	u16 posted_len;
	/**
	 * @result_at: where in @data the result begins: behind what was posted if the
	 * request may have to be run again, else over it
	 */
	u16 result_at;
	/** @attempts: how often it was begun */
	u16 attempts;
	/** @worker: id of the thread that has or had it, 0 for none */
	u16 worker;
	/** @state: enum dxk_state. (L), but a worker makes DISPATCHED BUSY: dxk_rqe_state() */
	u8 state;
	/** @kind: enum dxk_kind */
	u8 kind;
	/** @lane: 0..3 */
	u8 lane;
	/** @slot: (C) while READY: its queue, dxk_ready.queue[slot], or %DXK_SLOT_LAST */
	u8 slot;
	/** @share: (C) once READY: the share of whose user it counts for, or 0 */
	u8 share;
	/** @treed: (L) READY: in the tree of its queue instead of a row */
	bool treed;
	/** @extra: (L) executed by a helper or a spare, see onblock.h */
	bool extra;
	/** @embedded: (C) enum dxk_embedding */
	u8 embedded;
	/** @round: (L) READY and DISPATCHED, if there are rounds: lower bits of its round */
	u32 round;
	/** @poster: who posted it */
	struct dxk_poster poster;
	/** @own: (L) READY, in a run with such lists: number in dxk_owns.own */
	u32 own;
};

static_assert(sizeof(struct dxk_rqe) <= 192);

/*
 * A request goes through five lists in its life, so these are inline even where the lists of
 * the kernel are checked, each time, by functions of their own; unless assertions are on.
 */

/* Enter a list as its last one. */
static inline void dxk_link_join(struct list_head *link, struct list_head *list)
{
	if (OS_DEBUG) {
		list_add_tail(link, list);
		return;
	}
	link->next = list;
	link->prev = list->prev;
	link->prev->next = link;
	list->prev = link;
}

static inline void dxk_link_leave(struct list_head *link)
{
	if (OS_DEBUG) {
		list_del(link);
		return;
	}
	link->next->prev = link->prev;
	link->prev->next = link->next;
}

/* All before @link leave the list, whatever their links are by now. */
static inline void dxk_links_leave(struct list_head *link, struct list_head *list)
{
	list->next = link;
	link->prev = list;
}

static inline void dxk_rqe_join(struct dxk_rqe *rqe, struct list_head *list)
{
	dxk_link_join(&rqe->link, list);
}

static inline void dxk_rqe_leave(struct dxk_rqe *rqe)
{
	dxk_link_leave(&rqe->link);
}

/* From one list to the end of another. */
static inline void dxk_rqe_change(struct dxk_rqe *rqe, struct list_head *list)
{
	dxk_rqe_leave(rqe);
	dxk_rqe_join(rqe, list);
}

/** dxk_rqe_state - where a request is: the worker that has it may begin it now, without the lock */
static inline u8 dxk_rqe_state(const struct dxk_rqe *rqe)
{
	return READ_ONCE(rqe->state);
}

static inline bool dxk_rqe_rejoinable(const struct dxk_rqe *rqe)
{
	return rqe->attrs & PXR_REJOIN;
}

/* The result's data of a completed request. */
static inline void *dxk_rqe_result(const struct dxk_rqe *rqe)
{
	return rqe->data + rqe->result_at;
}

/* All attributes of this version. */
#define PXR_MASK (PXR_WAITIF_BUSY | PXR_REJOIN | PXR_BOOST | PXR_REDO | PXR_LANE0 | \
		  PXR_LANE1 | PXR_LANE2 | PXR_LANE_CHILD | PXR_KERNEL | PXR_FD | PXR_MORE)

/* Those that say something of struct dxk_post_more. */
#define PXR_MORE (PXR_NAMED | PXR_KEY | PXR_WAIT | PXR_EXPIRE | PXR_QUIET | \
		  PXR_FAIL_FAST | PXR_HOME)

/* The bits that name a lane; none of them: lane 3 */
#define PXR_LANES (PXR_LANE0 | PXR_LANE1 | PXR_LANE2)

/* Of %PXR_LANE_CHILD once dxk_post_descend() was there. */
static inline int dxk_lane_of(u32 attrs)
{
	u32 bits = attrs & PXR_LANES;

	static_assert(PXR_LANE1 == PXR_LANE0 << 1 && PXR_LANE2 == PXR_LANE0 << 2);
	if (bits & (bits - 1))
		return -EINVAL;
	/* No bit is -1, the last lane. */
	return (ffs(bits / PXR_LANE0) - 1) & (DXK_LANES - 1);
}

/** dxk_kind_closed - does the policy want no worker of the kind? */
static inline bool dxk_kind_closed(const struct dxk_policy *policy, enum dxk_kind kind)
{
	u32 kernel = READ_ONCE(policy->kernel_threads);

	return kind == DXK_KERNEL ? !kernel : READ_ONCE(policy->max_threads) == kernel;
}

/**
 * dxk_rqe_check - can a request be refused by looking at it alone?
 * @policy: of its context
 * @p: the request
 *
 * Return: 0, or why it is refused.
 */
static __always_inline int dxk_rqe_check(const struct dxk_policy *policy,
					 const struct dxk_post_entry *p)
{
	if (p->attrs & ~PXR_MASK)
		return -EOPNOTSUPP;
	if (dxk_lane_of(p->attrs) < 0 ||
	    unlikely((p->attrs & PXR_LANE_CHILD) && (p->attrs & PXR_LANES)))
		return -EINVAL;
	if (p->data_len > policy->data_size || p->result_len > policy->data_size)
		return -EMSGSIZE;
	if (dxk_kind_closed(policy, p->attrs & PXR_KERNEL ? DXK_KERNEL : DXK_USER))
		return -ENODEV;
	return 0;
}

/* See to it that dxk_rqe_fill() forgets no field. */
static inline void dxk_rqe_foul(struct dxk_rqe *rqe)
{
	if (OS_DEBUG)
		memset(rqe, 0x5a, sizeof(*rqe));
}

/*
 * Make a POSTED request of a free one: field by field, but for what is always written before
 * it is read. Calls nothing.
 */
static __always_inline void dxk_rqe_fill(struct dxk_rqe *rqe, const struct dxk_post_entry *p,
					 struct dxk_executor *exec)
{
	/* Kernel workers do not die, so their executors work in place. */
	bool redo = p->attrs & PXR_REDO && !(p->attrs & PXR_KERNEL);

	rqe->ticket = 0;
	rqe->cookie = p->owner;
	rqe->executor = p->executor;
	rqe->param = p->param;
	rqe->exec = exec;
	rqe->more = NULL;
	rqe->data = NULL;
	rqe->data_len = p->data_len;
	rqe->result_room = p->result_len;
	rqe->prio = p->prio;
	rqe->own_prio = p->prio;
	rqe->inspect = 0;
	rqe->attrs = p->attrs;
	rqe->posted = 0;
	rqe->posted_len = p->data_len;
	rqe->result_at = redo ? p->data_len : 0;
	rqe->attempts = 0;
	rqe->worker = 0;
	rqe->state = DXK_POSTED;
	rqe->kind = p->attrs & PXR_KERNEL ? DXK_KERNEL : DXK_USER;
	rqe->lane = dxk_lane_of(p->attrs);
	rqe->extra = false;
	rqe->embedded = DXK_POOLED;
	rqe->poster = (struct dxk_poster) { };
}

/**
 * dxk_rqe_make - make a request
 * @stash: of the poster, has a free one
 * @p: what to do, checked; its data is not copied yet, see dxk_rqe_reserve_data()
 * @exec: the executor that it names, or NULL; the reference goes over
 *
 * Return: a POSTED request.
 */
static __always_inline struct dxk_rqe *
dxk_rqe_make(struct dxk_stash *stash, const struct dxk_post_entry *p,
	     struct dxk_executor *exec)
{
	struct dxk_rqe *rqe = dxk_stash_pop(stash);

	dxk_rqe_foul(rqe);
	dxk_rqe_fill(rqe, p, exec);
	return rqe;
}

/** dxk_rqe_again - make an embedded request POSTED again: what a run has changed */
static inline void dxk_rqe_again(struct dxk_rqe *rqe)
{
	rqe->ticket = 0;
	rqe->prio = rqe->own_prio;
	rqe->inspect = 0;
	rqe->posted = 0;
	rqe->attempts = 0;
	rqe->worker = 0;
	rqe->extra = false;
	WRITE_ONCE(rqe->state, DXK_POSTED);
}

/**
 * dxk_rqe_stand_in - have another object take the place of a request
 * @rqe: DISPATCHED, in dxk_member.busy of the calling worker
 * @proxy: the worker's; from here on it is the request, and @rqe is none
 */
static inline void dxk_rqe_stand_in(const struct dxk_rqe *rqe, struct dxk_rqe *proxy)
{
	*proxy = *rqe;
	proxy->embedded = DXK_PROXY;
	proxy->link.prev->next = &proxy->link;
	proxy->link.next->prev = &proxy->link;
}

int dxk_rqe_alloc_data(struct dxk_rqe *rqe);

/** dxk_rqe_reserve_data - make room for the data that a request carries */
static inline int dxk_rqe_reserve_data(struct dxk_rqe *rqe)
{
	return rqe->data_len | rqe->result_room ? dxk_rqe_alloc_data(rqe) : 0;
}

#endif /* _DXK_ENGINE_REQUEST_H */
