/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Foms. A fom is one request: its key is that of its locality, its owner is its service, its name
 * is its address with a generation on top, so that a reused address has another name.
 *
 * All that happens to a fom is in its word: a state (enum fom_state), and bits of what is to be
 * looked at.
 *
 *   INIT -> READY		fom_queue(), before the post
 *   READY -> RUNNING		its turn begins
 *   RUNNING -> WAITING		its turn ends with a wait, and nothing is to be looked at
 *   RUNNING -> READY		its turn ends because it has had its budget of ticks
 *   WAITING -> READY		a thread has something for it to look at, and calls its request
 *   WAITING -> RUNNING		its turn begins for a reason of the kernel: a time, a file, Stop
 *   RUNNING, INIT -> FINISHED
 *
 * A thread that has something for a fom sets a bit, and calls the request if the fom was waiting,
 * both decided by one operation on the word. So exactly one of many threads finds the fom waiting
 * and calls it, and a turn that ends misses no bit that was set. Nobody touches the fom after that,
 * because it may end then. The call may come late, when the kernel has ended the wait for another
 * reason: then the next wait is over at once, and its turn, which finds nothing, waits again.
 *
 * Locks, in this order; D comes first:
 *
 *   G	long_lock.lock
 *   X	chan.lock: also held over filters and top halves, so none executes while another thread
 *	has the lock
 *   L	fom.lock: call-backs of a fom
 *   B	bucket.lock: which foms exist, and the waiters for their phases
 *   S	service.lock
 *   D	domain.tree: leaders and their serfs; also held over fom_thrall.end
 *   M	domain.lock: of the thread that looks for hung foms
 *   A	no lock: atomic, sequentially consistent unless stated otherwise
 *   T	no lock: the fom's turn; before its first and after its last turn, the thread that has
 *	the fom
 *   C	no lock: does not change
 */
#ifndef _DX_FOM_INTERNAL_H
#define _DX_FOM_INTERNAL_H

#include <stdatomic.h>

#include "../checkers.h"
#include "dx_fom.h"
#include "dxk.h"

/*
 * struct fom:
 *
 *	type, service	C
 *	name		C
 *	live		B: in its bucket
 *	word		A: a state and DXF_* bits
 *	phase		A, written T
 *	locality	C, from fom_queue() on
 *	rc, reason, events, wait_events, fd	T: of its wait
 *	since		A, relaxed: when its state changed, of dxf_clock()
 *	expires		T: until when it may wait; 0: not known yet
 *	timeout_ns	A, relaxed
 *	transitions	A, relaxed, written T
 *	watched		A, written B: a thread waits for its phases
 *	cancelled	T: it was asked to end
 *	failed		T: it has ended because it has failed
 *	blocked		A, written T: it is between block markers
 *	led		T: it has, or had, serfs
 *	awaited		A: a thread waits for the end of @bottom
 *	timeouts	T: armed, the first one first
 *	armed		L: call-backs in channels
 *	pending		L: those that have fired, the first one first; DXF_BOTTOMS if there are some
 *	bottom		A: whose bottom half executes, or NULL; perhaps gone
 *	locks		T: its links that have a lock or wait for one
 *	thrall		C, from fom_queue() on
 *	serfs		D: struct fom_thrall of those that have not ended
 *	interpose	T: the outermost one
 *	log		T
 *	entered		T: when it entered its phase, if its type has times
 *	steady		A, relaxed: as @since, but turns that follow each other due to FSO_AGAIN
 *			are one state
 *
 * struct fom_thrall:
 *
 *	leader		D: or NULL: it has ended by force
 *	end		C
 *	link		D: in serfs of the leader
 *
 * struct fom_callback:
 *
 *	clink		X
 *	fom		T
 *	link		L: in one of its fom's lists
 *	state		A: DXF_IDLE; DXF_ARMED: changed X; DXF_PENDING: changed L. A change always
 *			has the locks of both the old and the new state
 *
 * struct long_lock:
 *
 *	owners		G: readers, or the writer
 *	waiters		G: in the order of their arrival; the first one cannot have it now
 *	writer		G: there is one, and it is the owner
 *	stats		G
 *
 * struct long_lock_link:
 *
 *	fom		C
 *	lock, own	T: in the fom's list
 *	link, since, state, write	G
 *
 * struct clink:
 *
 *	chan		C: the last one
 *	group		C: the first one of the group
 *	link		X: in its channel, or next is NULL
 *	events		number of events that nobody has waited for; of the first one
 */
#define DXF_STATE	0x07U
#define DXF_WOKEN	0x08U		/* fom_wakeup() was called */
#define DXF_BOTTOMS	0x10U		/* call-backs are pending */

enum { DXF_IDLE, DXF_ARMED, DXF_PENDING };

/* Foms by their addresses. */
struct dxf_bucket {
	pthread_mutex_t lock;
	pthread_cond_t told;		/* B: of a waiter in @waiters */
	struct fom_link foms;		/* B: foms that were queued and have not ended */
	struct fom_link waiters;	/* B: struct dxf_waiter */
};

/* A thread that waits for a fom to be in a phase. */
struct dxf_waiter {
	struct fom_link link;		/* B */
	const struct fom *fom;		/* C: perhaps gone */
	uint64_t phases;		/* C */
	int answer;			/* B: -EINPROGRESS, 0, -ESRCH */
};

struct dxf_locality {
	struct fom_domain *domain;	/* C */
	uint64_t key;			/* C; 0: none */
	struct fom_locality_stats *stats; /* C; its content A, relaxed; NULL: nothing is counted */
};

/* The place of a thread. */
struct dxf_place {
	struct fom_domain *domain;	/* NULL: in no locality */
	uint32_t locality;
	struct fom *fom;		/* whose turn it is, or NULL: a call or a chore */
};

extern _Thread_local struct dxf_place dxf_here;

#define DXF_BUCKETS	256

struct fom_domain {
	Runnable turns;			/* C: executes foms ... */
	Runnable calls;			/* C: ... and struct dxf_call */
	struct fom_service simple;	/* of simple foms */
	pthread_mutex_t tree;
	MTExecutive *mte;		/* C */
	struct fom_domain_options options; /* C */
	struct dxf_locality *localities; /* C */
	uint32_t next_home;		/* A, relaxed */
	uint32_t live;			/* A: foms that were queued and have not ended */
	uint32_t services;		/* A: services that are not stopped */
	bool watches;			/* C: there is a thread that looks for hung foms */
	pthread_t watcher;		/* C */
	pthread_mutex_t lock;
	pthread_cond_t changed;		/* M */
	bool quit;			/* M */
	struct dxf_bucket buckets[DXF_BUCKETS];
};

/* --- lists ---------------------------------------------------------------------------- */

#define dxf_entry(link, type, member) \
	((type *)((char *)(link) - offsetof(type, member)))

static inline void dxf_list_init(struct fom_link *head)
{
	head->next = head->prev = head;
}

static inline bool dxf_list_empty(const struct fom_link *head)
{
	return head->next == head;
}

static inline void dxf_list_add(struct fom_link *head, struct fom_link *link)
{
	link->next = head;
	link->prev = head->prev;
	head->prev->next = link;
	head->prev = link;
}

static inline void dxf_list_del(struct fom_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

/* --- foms ----------------------------------------------------------------------------- */

#define dxf_load(p)		__atomic_load_n(p, __ATOMIC_SEQ_CST)
#define dxf_store(p, v)		__atomic_store_n(p, v, __ATOMIC_SEQ_CST)
#define dxf_peek(p)		__atomic_load_n(p, __ATOMIC_RELAXED)
#define dxf_poke(p, v)		__atomic_store_n(p, v, __ATOMIC_RELAXED)

static inline struct fom_domain *dxf_domain(const struct fom *f)
{
	return f->service->domain;
}

static inline struct dxf_locality *dxf_locality(const struct fom *f)
{
	return &dxf_domain(f)->localities[f->locality];
}

static inline unsigned int dxf_state(const struct fom *f)
{
	return dxf_load(&f->word) & DXF_STATE;
}

uint64_t dxf_now(void);
struct timespec dxf_timespec(uint64_t deadline);
uint64_t dxf_clock(const struct fom_domain *d);

/* Reports an error that a program must never make, and aborts. */
void dxf_trap(const struct fom *f, const char *what) __attribute__((__noreturn__));

/* fom.c */
void dxf_phase(struct fom *f, uint32_t phase);
void dxf_fail(struct fom *f, int rc);
void dxf_own(const struct fom *f, const char *what);

/* turn.c */
int dxf_turn(Runnable *self, void *request);
bool dxf_set(struct fom *f, uint32_t what);
int dxf_call(MTExecutive *mte, uint64_t name);
void dxf_woken(int rc);
uint64_t dxf_since(struct fom *f);
void dxf_disarm(struct fom *f);
void dxf_finish(struct fom *f);
void dxf_die(struct fom *f, int rc);

/* table.c */
void dxf_table_init(struct fom_domain *d);
void dxf_table_exit(struct fom_domain *d);
struct dxf_bucket *dxf_bucket(struct fom_domain *d, const struct fom *f);
void dxf_table_add(struct fom *f);
void dxf_table_remove(struct fom *f);
void dxf_tell(struct fom *f, uint32_t phase);
void dxf_tell_bottom(struct fom *f);
void dxf_await_bottom(struct fom *f, const struct fom_callback *cb);

/* service.c */
int dxf_service_enter(struct fom_service *s, struct fom *f);
void dxf_service_leave(struct fom_service *s);

/* timeout.c */
bool dxf_timeouts_due(struct fom *f);
void dxf_timeouts_drop(struct fom *f);

/* chan.c */
void dxf_clink_add(struct chan *c, struct clink *clink);
void dxf_clink_del(struct clink *clink);

/* callback.c */
void dxf_bottoms(struct fom *f, uint32_t *budget);
void dxf_callbacks_drop(struct fom *f);

/* lock.c */
void dxf_locks_drop(struct fom *f);

/* domain.c */
int dxf_queue(struct fom *f);

/* locality.c */
int dxf_call_turn(Runnable *self, void *request);

/* simple.c */
void dxf_simple_init(struct fom_domain *d);
void dxf_simple_exit(struct fom_domain *d);

/* tree.c */
int dxf_tick(struct fom *f);
void dxf_serf_ends(struct fom *f);
void dxf_serfs_drop(struct fom *f);
void dxf_led_ends(struct fom *f);

/* stats.c */
int dxf_stats_init(struct fom_domain *d);
void dxf_stats_exit(struct fom_domain *d);
void dxf_moved(struct dxf_locality *l, unsigned int from, unsigned int to, uint64_t ns);
void dxf_measure(struct dxf_locality *l);
void dxf_phase_left(struct fom *f, uint32_t phase);

/* watch.c */
int dxf_watch_start(struct fom_domain *d);
void dxf_watch_stop(struct fom_domain *d);

#endif /* _DX_FOM_INTERNAL_H */
