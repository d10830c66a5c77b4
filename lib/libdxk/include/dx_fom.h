/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdxk, state machines that wait without a thread: foms. Names are those of Motr's fop state
 * machine.
 *
 * ====================  =================================================  ==================
 * its name              name here                                          behaviours
 * ====================  =================================================  ==================
 * fom, fom type, ops    struct fom, struct fom_type, struct fom_ops;       FO-1..FO-5, FO-8,
 *                       fom_init, fom_queue, fom_fini                      FO-16
 * phases                fom_phase, fom_phase_set, fom_phase_move, fom_rc;  FO-10..FO-15
 *                       FSO_AGAIN, FSO_WAIT
 * wait and wake         fom_wakeup, fom_wait_fd, fom_timedwait             FO-17..FO-21,
 *                                                                          FO-29
 * call-back             struct fom_callback; fom_callback_init, _arm,      FO-22..FO-26
 *                       _cancel; fom_wait_on
 * chan, clink           struct chan, struct clink; chan_signal,            FO-27
 *                       chan_broadcast, chan_wait, clink_add
 * block enter, leave    fom_block_enter, fom_block_enter_anyway,           FO-35..FO-42
 *                       fom_block_leave
 * long lock             struct long_lock; long_read_lock,                  FO-43..FO-46
 *                       long_write_lock, long_unlock
 * time-outs             struct fom_timeout; fom_set_timeout,               FO-30..FO-33
 *                       fom_type_set_timeout
 * locality, domain      struct fom_domain, fom_domain_init;                FO-1, FO-6, FO-7,
 *                       locality_call, locality_here, locality_chore_init  FO-28, FO-51
 * simple fom            sfom_post, sfom_hoard                              FO-48
 * thralldom, interpose  fom_enthrall; struct fom_interpose                 FO-47
 * statistics            fom_locality_stats, struct fom_phase_times,        FO-34, FO-50
 *                       struct fom_log
 * reqh service          struct fom_service; fom_service_start, _stop,      FO-16, FO-49
 *                       _prepare_to_stop, _idle_wait
 * ====================  =================================================  ==================
 *
 * A fom is a request of an executive (see dx.h) that waits, and its locality is a key: a worker
 * executes its turn, in which it is ticked until it waits, and of all foms of a locality one has
 * its turn at a time. So ticks and bottom halves of a locality need no lock against each other.
 *
 * Functions return 0 or a value that their text names, or a negative errno. Deadlines are times of
 * CLOCK_MONOTONIC in ns, %FOM_FOREVER is none. What a program may never do is a *trap*: the
 * library says what it was on standard error and calls abort(3).
 */
#ifndef _DX_FOM_H
#define _DX_FOM_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dx.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fom;
struct fom_callback;
struct fom_domain;
struct fom_interpose;
struct fom_log;
struct fom_thrall;
struct fom_service;
struct fom_timeout;

/** FOM_FOREVER - no deadline */
#define FOM_FOREVER		(~(uint64_t)0)

/* A place in a list of the library. */
struct fom_link {
	struct fom_link *next, *prev;
};

/* --- phases ------------------------------------------------------------------------- */

/** FOM_PHASE_INIT - the phase in which each fom begins; a type's own ones are numbered from 2 */
#define FOM_PHASE_INIT		0
/** FOM_PHASE_FINISH - the phase in which each fom ends */
#define FOM_PHASE_FINISH	1
/** FOM_PHASES_MAX - phases of a type, these two included */
#define FOM_PHASES_MAX		64

/** FOM_PHASE - the bit of a phase in a set of them */
#define FOM_PHASE(phase)	((uint64_t)1 << (phase))

/** FOM_PHASE_FAILURE - of struct fom_phase: what has failed goes there */
#define FOM_PHASE_FAILURE	0x1

/**
 * struct fom_phase - a phase of a type
 * @name: for reports
 * @allowed: phases that may follow, bits of FOM_PHASE(); the phase itself always may
 * @flags: %FOM_PHASE_FAILURE or 0
 * @Reserved: 0
 */
struct fom_phase {
	const char *name;
	uint64_t allowed;
	uint32_t flags;
	uint32_t Reserved;
};

/**
 * enum fom_outcome - what a tick returns
 * @FSO_AGAIN: it is to be ticked again, at once
 * @FSO_WAIT: it waits; in the phase %FOM_PHASE_FINISH it has ended
 *
 * A negative errno is a failure: the fom goes to the failure phase of its type with that as its
 * result. If there is none, or it is in such a phase already, it ends.
 */
enum fom_outcome {
	FSO_AGAIN = 1,
	FSO_WAIT = 2,
};

/**
 * enum fom_state - what a fom does (FO-13)
 * @FOM_INIT: it was not queued yet
 * @FOM_READY: it is to be ticked
 * @FOM_RUNNING: it has its turn, also between block markers
 * @FOM_WAITING: it waits
 * @FOM_FINISHED: it has ended
 */
enum fom_state {
	FOM_INIT,
	FOM_READY,
	FOM_RUNNING,
	FOM_WAITING,
	FOM_FINISHED,
};

/**
 * enum fom_reason - what has ended the last wait of a fom: the first that has happened (FO-33)
 * @FOM_WOKEN_NOT: it has not waited yet
 * @FOM_WOKEN: fom_wakeup()
 * @FOM_WOKEN_FILE: its file is ready, see fom_wait_fd()
 * @FOM_WOKEN_TIMEOUT: a struct fom_timeout has woken it
 * @FOM_WOKEN_EXPIRED: it has waited longer than its time-out, and has failed with -ETIMEDOUT
 * @FOM_WOKEN_CANCELLED: its executive stops with %DXK_STOP_CANCEL, and it has failed with
 *	-ECANCELED. It may go on waiting, to clean up, at most 10 s at a time
 */
enum fom_reason {
	FOM_WOKEN_NOT,
	FOM_WOKEN,
	FOM_WOKEN_FILE,
	FOM_WOKEN_TIMEOUT,
	FOM_WOKEN_EXPIRED,
	FOM_WOKEN_CANCELLED,
};

/* --- types -------------------------------------------------------------------------- */

/**
 * struct fom_ops - what the foms of a type do
 * @tick: does what is to be done in the fom's phase, without blocking, see enum fom_outcome. What
 *	blocks for long is between fom_block_enter() and fom_block_leave()
 * @fini: the fom has ended: calls fom_fini(), and may free it. Nobody touches it after that
 * @home_locality: any number; foms with the same one, modulo the number of localities, share a
 *	locality. Asked once, by fom_queue(). %NULL: the localities in turn
 * @hung_notify: the fom has been in its state for long, see struct fom_domain_options; it does
 *	not end before the return. Called by a thread of the domain while the fom may be ticked:
 *	it only looks, and wakes by fom_wakeup() at most. May be %NULL
 */
struct fom_ops {
	int (*tick)(struct fom *fom);
	void (*fini)(struct fom *fom);
	size_t (*home_locality)(const struct fom *fom);
	void (*hung_notify)(struct fom *fom);
};

/**
 * struct fom_phase_times - how long foms were in a phase (FO-50)
 * @count: times that one has left it
 * @ns: how long they had been there, together
 * @max_ns: how long the one that was there longest
 */
struct fom_phase_times {
	uint64_t count, ns, max_ns;
};

/** FOM_QUIET - of struct fom_type: its foms may stay in a state for long, and are not reported */
#define FOM_QUIET		0x1

/**
 * struct fom_type - a kind of foms
 * @name: for reports
 * @ops: what they do
 * @phases: their phases by number, %FOM_PHASE_INIT and %FOM_PHASE_FINISH first; %NULL: any
 *	phase below %FOM_PHASES_MAX may follow any other
 * @nr_phases: elements of @phases, at most %FOM_PHASES_MAX
 * @failure: the phase of foms that have failed, one with %FOM_PHASE_FAILURE if there are @phases;
 *	0: they end
 * @timeout_ns: how long they may wait at a time; 0: no limit. See fom_type_set_timeout()
 * @flags: %FOM_QUIET or 0
 * @Reserved: 0
 * @times: out, one for each of @phases, added to; %NULL: it is not measured
 *
 * It must stay in place while there is a fom of it.
 */
struct fom_type {
	const char *name;
	const struct fom_ops *ops;
	const struct fom_phase *phases;
	uint32_t nr_phases;
	uint32_t failure;
	int64_t timeout_ns;
	uint32_t flags;
	uint32_t Reserved;
	struct fom_phase_times *times;
};

/**
 * fom_type_set_timeout - change the time-out of a type (FO-31)
 * @type: the type
 * @timeout_ns: in effect for waits that begin from now on; 0: no limit
 *
 * Context: any thread.
 */
void fom_type_set_timeout(struct fom_type *type, int64_t timeout_ns);

/* --- domains ------------------------------------------------------------------------ */

/** FOM_AGAIN_INLINE - of struct fom_domain_options: no number of ticks is too many */
#define FOM_AGAIN_INLINE	(~(uint32_t)0)

/**
 * struct fom_domain_options - what a domain is like
 * @localities: how many; 0: as many as CPUs that the calling thread may run on
 * @handlers: 1: foms of a locality have their turns one at a time; more: as many of a domain as
 *	there are workers, and only each fom is serial by itself (FO-6). 0: 1
 * @again_budget: how many ticks and bottom halves in a row a fom has before others of its
 *	locality have a turn (FO-12); 0: 16
 * @stats: 1: count for fom_locality_get_stats()
 * @hung_age_ns: report foms that are in one state for so long, but those that are %FOM_QUIET
 *	(FO-34). Turns that follow each other for they end with %FSO_AGAIN are one. 0: 120 s; below 0:
 *	none
 * @hung_period_ns: how often it is looked for such foms, and told of each; 0: 5 s
 * @hung: told of each; %NULL: the log of the executive is. Called as fom_ops.hung_notify is
 */
struct fom_domain_options {
	uint32_t localities;
	uint32_t handlers;
	uint32_t again_budget;
	uint32_t stats;
	int64_t hung_age_ns;
	int64_t hung_period_ns;
	void (*hung)(struct fom *fom, const char *report);
};

/**
 * fom_policy - what a policy should say for a domain that has the executive for itself
 * @policy: as ThreadManagerPolicyInit() leaves it, for instance
 * @localities: how many there will be; 0: see struct fom_domain_options
 * @foms: most foms that there will be at a time
 *
 * As many workers as localities, and spare ones for those that block, as many of which are ready.
 * A worker ticks foms of any locality, unless @policy has TPHomes: then a locality has workers, and
 * CPUs, of its own (FO-1), as RQOptions.Home has it, and TPSteal lets those that have nothing to do
 * take foms of others (FO-9).
 */
void fom_policy(ThreadManagerPolicy *policy, uint32_t localities, uint32_t foms);

/**
 * fom_domain_init - make a domain: localities of an executive
 * @domain: out
 * @executive: which; it outlives the domain
 * @options: %NULL for the defaults
 *
 * Return: 0; -EOPNOTSUPP: the executive's TPMaxWaiting is 0; -EINVAL, -ENOMEM, -EAGAIN.
 */
int fom_domain_init(struct fom_domain **domain, MTExecutive *executive,
		    const struct fom_domain_options *options);

/**
 * fom_domain_fini - the end of a domain
 * @domain: its services have stopped; %NULL does nothing
 *
 * Return: 0; -EBUSY: it has foms or services that have not; -EDEADLK in a worker.
 */
int fom_domain_fini(struct fom_domain *domain);

/**
 * fom_domain_localities - how many localities a domain has
 * @domain: which
 *
 * Return: that.
 */
uint32_t fom_domain_localities(const struct fom_domain *domain);

/* --- services ----------------------------------------------------------------------- */

/**
 * struct fom_service_ops - what a service does
 * @start: makes what its foms need; it is starting until the return: fom_queue() gives -EAGAIN.
 *	0, or a negative errno: it has not started. May be %NULL
 * @stop: it has no foms any more. May be %NULL
 * @accepts: is a fom to be queued although the service is stopping? May be %NULL: no
 */
struct fom_service_ops {
	int (*start)(struct fom_service *service);
	void (*stop)(struct fom_service *service);
	bool (*accepts)(struct fom_service *service, struct fom *fom);
};

/**
 * enum fom_service_state - of a service
 * @FOM_SERVICE_STOPPED: it has no foms, and gets none
 * @FOM_SERVICE_STARTING: it will
 * @FOM_SERVICE_STARTED: it takes foms
 * @FOM_SERVICE_STOPPING: it takes those that it accepts, and ends when it has none
 */
enum fom_service_state {
	FOM_SERVICE_STOPPED,
	FOM_SERVICE_STARTING,
	FOM_SERVICE_STARTED,
	FOM_SERVICE_STOPPING,
};

/**
 * struct fom_service - what foms are for, and who waits for their ends (FO-49)
 * @name: for reports
 * @ops: what it does; may be %NULL
 *
 * To be embedded in the application's object.
 */
struct fom_service {
	const char *name;
	const struct fom_service_ops *ops;
	/* private: see fom/internal.h */
	struct fom_domain *domain;
	uint32_t state;
	uint32_t posting;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/**
 * fom_service_init - make a service, which is stopped
 * @service: out
 * @domain: where its foms are
 * @name: for reports
 * @ops: what it does; may be %NULL
 */
void fom_service_init(struct fom_service *service, struct fom_domain *domain, const char *name,
		      const struct fom_service_ops *ops);

/**
 * fom_service_fini - the end of a service
 * @service: it is stopped, else it is a trap
 */
void fom_service_fini(struct fom_service *service);

/**
 * fom_service_start - from now on it takes foms
 * @service: it is stopped
 *
 * Return: 0; what its start has returned; -EINVAL: it is not stopped.
 */
int fom_service_start(struct fom_service *service);

/**
 * fom_service_prepare_to_stop - from now on it takes those foms only that it accepts
 * @service: which
 *
 * Return: 0; -EINVAL: it has not started.
 */
int fom_service_prepare_to_stop(struct fom_service *service);

/**
 * fom_service_idle_wait - wait until a service has no foms (FO-49)
 * @service: which; its state does not matter
 * @deadline: until when
 *
 * Return: 0: none was queued, was to be, waited or had its turn; -ETIMEDOUT; -EINTR; -EDEADLK in a
 * worker.
 */
int fom_service_idle_wait(struct fom_service *service, uint64_t deadline);

/**
 * fom_service_stop - prepare it to stop, wait until it has no foms, and stop it
 * @service: which
 *
 * A fom that the executive's Stop has ended before its first tick ends here, with -ECANCELED.
 *
 * Return: 0, also when it was stopped, or is by another one meanwhile; -EINTR: it is stopping, call
 * again; -EDEADLK in a worker; -EINVAL: it is starting.
 */
int fom_service_stop(struct fom_service *service);

/**
 * fom_service_state - what a service does
 * @service: which
 *
 * Return: enum fom_service_state.
 */
int fom_service_state(const struct fom_service *service);

/* --- foms --------------------------------------------------------------------------- */

/**
 * struct fom - a state machine
 * @type: what kind
 * @service: whose
 *
 * To be embedded in the application's object.
 */
struct fom {
	struct fom_type *type;
	struct fom_service *service;
	/* private: see fom/internal.h */
	uint64_t name;
	struct fom_link live;
	uint32_t word;
	uint32_t phase;
	uint32_t locality;
	int32_t rc;
	uint32_t reason;
	uint32_t events;
	uint32_t wait_events;
	int32_t fd;
	uint64_t since;
	uint64_t expires;
	int64_t timeout_ns;
	uint64_t transitions;
	bool watched;
	bool awaited;
	bool cancelled;
	bool failed;
	bool blocked;
	bool led;
	struct fom_timeout *timeouts;
	pthread_mutex_t lock;
	struct fom_link armed;
	struct fom_link pending;
	struct fom_callback *bottom;
	struct fom_link locks;
	struct fom_thrall *thrall;
	struct fom_link serfs;
	struct fom_interpose *interpose;
	struct fom_log *log;
	uint64_t entered;
	uint64_t steady;
};

/**
 * fom_init - make a fom, in the phase %FOM_PHASE_INIT
 * @fom: out
 * @type: its type
 * @service: whose
 */
void fom_init(struct fom *fom, struct fom_type *type, struct fom_service *service);

/**
 * fom_fini - the end of a fom
 * @fom: it has ended, or was not queued: else it is a trap, and so it is if something of it is
 *	armed
 */
void fom_fini(struct fom *fom);

/**
 * fom_queue - have a fom ticked: in its home locality, after those that are ready there (FO-3)
 * @fom: it is in the phase %FOM_PHASE_INIT
 *
 * Return: 0; -ESHUTDOWN: the service, or the executive, takes no more, and the fom has ended
 * without a tick: its fini was called (FO-16). It can be queued again after: -EAGAIN: the service is
 * starting, or the Ready Pool is full (FO-52); -ENOSPC, -EDQUOT: as many requests live, or wait, as
 * may; -ENOMEM.
 */
int fom_queue(struct fom *fom);

/**
 * fom_queue_wait - as fom_queue(), but wait for room in the Ready Pool
 * @fom: see fom_queue()
 * @timeout_ns: how long, below 0 without limit
 *
 * Return: as fom_queue(); -ETIMEDOUT; -EINTR.
 */
int fom_queue_wait(struct fom *fom, int64_t timeout_ns);

/**
 * fom_current - the fom that the calling thread ticks, or whose bottom half it executes
 *
 * Return: that, or %NULL.
 */
struct fom *fom_current(void);

/**
 * fom_phase - the phase of a fom
 * @fom: which
 *
 * Return: that.
 */
int fom_phase(const struct fom *fom);

/**
 * fom_phase_set - the next phase of a fom (FO-15)
 * @fom: the caller ticks it
 * @phase: one that may follow, else it is a trap
 */
void fom_phase_set(struct fom *fom, int phase);

/**
 * fom_phase_move - the next phase of a fom, and its result (FO-14)
 * @fom: the caller ticks it
 * @rc: 0, or a negative errno: then @phase has %FOM_PHASE_FAILURE, if its type has phases, or it
 *	is %FOM_PHASE_FINISH; else it is a trap
 * @phase: one that may follow, else it is a trap
 */
void fom_phase_move(struct fom *fom, int rc, int phase);

/**
 * fom_rc - the result of a fom
 * @fom: which; it may have ended
 *
 * Return: 0, or the negative errno with which it has failed.
 */
int fom_rc(const struct fom *fom);

/**
 * fom_state - what a fom does
 * @fom: which
 *
 * Return: enum fom_state.
 */
int fom_state(const struct fom *fom);

/**
 * fom_locality - the home locality of a fom (FO-2)
 * @fom: it was queued
 *
 * Return: that, from 0.
 */
uint32_t fom_locality(const struct fom *fom);

/**
 * fom_reason - what has ended the last wait of a fom
 * @fom: which
 *
 * Return: enum fom_reason.
 */
int fom_reason(const struct fom *fom);

/**
 * fom_events - what has happened to the file that a fom has waited for
 * @fom: which
 *
 * Return: EPOLL* bits, or %DXK_EVENT_GONE; 0: it may have something.
 */
uint32_t fom_events(const struct fom *fom);

/**
 * fom_transitions - how often a fom has changed its phase
 * @fom: which
 *
 * Return: that.
 */
uint64_t fom_transitions(const struct fom *fom);

/**
 * fom_set_timeout - a time-out for one fom (FO-31)
 * @fom: which
 * @timeout_ns: in effect for waits that begin from now on; 0: that of its type; below 0: none
 *
 * Context: any thread.
 */
void fom_set_timeout(struct fom *fom, int64_t timeout_ns);

/* --- wait and wake ------------------------------------------------------------------ */

/**
 * fom_wakeup - end the wait of a fom, or its next one (FO-17..FO-20)
 * @fom: it does not end meanwhile, or is in memory that stays and has ended
 *
 * However often that happens before it is ticked, it is ticked once. While a fom has its turn, or
 * is to have its first one, it is kept for its next wait.
 *
 * Context: any thread, with any lock: it does not sleep, except in the first call of a thread.
 * Return: 0; -ESRCH: it has ended; -ENOMEM, -EMFILE, -ESHUTDOWN: the thread cannot become a member
 * of the executive, and nothing has happened.
 */
int fom_wakeup(struct fom *fom);

/**
 * fom_id - a number by which a fom can be woken that may have ended
 * @fom: which
 *
 * Return: that. No other fom has it before 65,535 further ones were made.
 */
uint64_t fom_id(const struct fom *fom);

/**
 * fom_wakeup_id - as fom_wakeup(), of a fom that may not be there any more
 * @domain: where it is or was
 * @id: of fom_id()
 *
 * Return: see fom_wakeup().
 */
int fom_wakeup_id(struct fom_domain *domain, uint64_t id);

/**
 * fom_wait_fd - the wait that begins now is over, too, when a file is ready
 * @fom: the caller ticks it, and returns what this returns
 * @fd: the file, until then
 * @events: some of %DXK_WAIT_EVENTS
 *
 * Return: %FSO_WAIT; -EBADF: it is not open; -EPERM: it has no poll(2); -EINVAL.
 */
int fom_wait_fd(struct fom *fom, int fd, uint32_t events);

/**
 * fom_timedwait - wait until a fom is in a phase (FO-29)
 * @fom: which. It does not end while this is called, but may while this waits
 * @phases: bits of FOM_PHASE()
 * @deadline: until when
 *
 * Context: not of the fom's own turn.
 * Return: 0: it is, or was, in one of @phases; -ETIMEDOUT; -ESRCH: it has ended without being in
 * one.
 */
int fom_timedwait(struct fom *fom, uint64_t phases, uint64_t deadline);

/* --- time-outs ---------------------------------------------------------------------- */

/* See fom_timeout_arm(). */
typedef void (*fom_timeout_half)(struct fom_timeout *timeout);

/**
 * struct fom_timeout - something happens to a fom at a time, once (FO-32)
 *
 * Context: all functions of it, of the fom's turn, or before it is queued.
 */
struct fom_timeout {
	/* private: see fom/internal.h */
	struct fom *fom;
	struct fom_timeout *next;
	uint64_t deadline;
	fom_timeout_half bottom;
	uint32_t state;
	uint32_t Reserved;
};

/**
 * fom_timeout_init - make a time-out
 * @timeout: out
 */
void fom_timeout_init(struct fom_timeout *timeout);

/**
 * fom_timeout_fini - the end of a time-out
 * @timeout: it is not armed, else it is a trap
 */
void fom_timeout_fini(struct fom_timeout *timeout);

/**
 * fom_timeout_wait_on - wake a fom at a time
 * @timeout: was initialised since it was used last, else it is a trap
 * @fom: which
 * @deadline: when, not earlier
 */
void fom_timeout_wait_on(struct fom_timeout *timeout, struct fom *fom, uint64_t deadline);

/**
 * fom_timeout_arm - call a function of a fom at a time
 * @timeout: see fom_timeout_wait_on()
 * @fom: whose
 * @bottom: called in the fom's turn while it waits, not earlier than that. It may call
 *	fom_wakeup()
 * @deadline: when
 */
void fom_timeout_arm(struct fom_timeout *timeout, struct fom *fom, fom_timeout_half bottom,
		     uint64_t deadline);

/**
 * fom_timeout_cancel - nothing is to happen
 * @timeout: which
 *
 * Return: was it armed? Then nothing happens.
 */
bool fom_timeout_cancel(struct fom_timeout *timeout);

/* --- block markers ------------------------------------------------------------------ */

/**
 * fom_block_enter - a fom is about to block: a read(2), a mutex, whatever may take long (FO-35)
 * @fom: the caller ticks it
 *
 * Until fom_block_leave() other foms of its locality have turns, by another thread: an idle one,
 * or a spare one, which is started if there is none (FO-36). The fom has its turn meanwhile, and
 * wakes and call-backs are kept (FO-37); but it is not in its locality, so what it touches must
 * not be that one's. What it waits for of the executive meanwhile, in locality_call() say, others
 * execute, under any TPOnBlock: with as many workers as block nobody does.
 *
 * Return: 0; -EAGAIN: there is no thread, and none can be had: nothing has changed, and who blocks
 * now blocks the locality (FO-41); -EBUSY: it was called before (FO-39); -EPERM: the caller does
 * not tick it; -EINTR: nothing has changed.
 */
int fom_block_enter(struct fom *fom);

/**
 * fom_block_enter_anyway - as fom_block_enter(), also if there is no thread
 * @fom: see fom_block_enter()
 *
 * Other localities have their turns as far as there are threads.
 *
 * Return: see fom_block_enter(), but -EAGAIN.
 */
int fom_block_enter_anyway(struct fom *fom);

/**
 * fom_block_leave - a fom has blocked, and continues
 * @fom: the caller ticks it
 *
 * Waits until the locality has ended the turn that it is in, and goes on before all others of it
 * (FO-38).
 *
 * Return: 0; -EPERM: it was not called before (FO-39); -ECANCELED: the executive stops with
 * %DXK_STOP_CANCEL: the tick goes on, but not in its locality, and should return.
 */
int fom_block_leave(struct fom *fom);

/* --- channels ------------------------------------------------------------------------- */

struct chan;
struct clink;

/* See clink_init(). */
typedef bool (*clink_filter)(struct clink *clink);

/**
 * struct clink - what hears of a channel's events (FO-27)
 * @oneshot: it leaves the channel with its first event. Set before clink_add()
 *
 * It hears by its filter, or is waited for by a thread; a fom has a struct fom_callback.
 */
struct clink {
	bool oneshot;
	/* private: see fom/internal.h */
	clink_filter cb;
	struct chan *chan;
	struct clink *group;
	struct fom_link link;
	sem_t events;
};

/**
 * struct chan - a channel: events for those that want to hear of them
 *
 * A channel without clinks forgets its events.
 */
struct chan {
	/* private: see fom/internal.h */
	pthread_mutex_t lock;
	struct fom_link clinks;
	uint32_t nr;
};

/**
 * chan_init - make a channel
 * @chan: out
 */
void chan_init(struct chan *chan);

/**
 * chan_fini - the end of a channel
 * @chan: it has no clinks, nor armed call-backs, else it is a trap
 */
void chan_fini(struct chan *chan);

/**
 * chan_signal - an event, for one clink
 * @chan: which
 *
 * The clinks have them in turn.
 *
 * Context: for this and the following function, any thread that is not in a filter or a top half
 * of the channel. The first event of a thread for a fom makes it a member of the executive, for
 * which it needs a descriptor: a shortage of that is a trap.
 */
void chan_signal(struct chan *chan);

/**
 * chan_broadcast - an event, for each clink
 * @chan: which
 */
void chan_broadcast(struct chan *chan);

/**
 * clink_init - make a clink
 * @clink: out
 * @cb: filter: called for each event, by who signals, which it does not block; true: the event is
 *	for nobody else. It calls nothing of the channel. %NULL: none
 */
void clink_init(struct clink *clink, clink_filter cb);

/**
 * clink_attach - make a clink of a group: who waits for the first one of it waits for all
 * @clink: out
 * @group: the first one; it ends last
 * @cb: see clink_init()
 */
void clink_attach(struct clink *clink, struct clink *group, clink_filter cb);

/**
 * clink_fini - the end of a clink
 * @clink: it is deleted, if it is in a channel
 */
void clink_fini(struct clink *clink);

/**
 * clink_add - from now on it hears of a channel's events
 * @chan: the channel; it outlives the clink
 * @clink: it is in no channel, else it is a trap
 */
void clink_add(struct chan *chan, struct clink *clink);

/**
 * clink_del - from now on it hears of none
 * @clink: after the return its filter is not called
 *
 * Return: was it in a channel?
 */
bool clink_del(struct clink *clink);

/**
 * chan_wait - wait for an event of a group of clinks
 * @clink: any one of it
 *
 * Each event ends one wait, also one that comes later. The caller's thread sleeps: this is not for
 * ticks.
 */
void chan_wait(struct clink *clink);

/**
 * chan_trywait - as chan_wait(), but do not sleep
 * @clink: see chan_wait()
 *
 * Return: was there an event?
 */
bool chan_trywait(struct clink *clink);

/**
 * chan_timedwait - as chan_wait(), until a time
 * @clink: see chan_wait()
 * @deadline: until when
 *
 * Return: was there an event?
 */
bool chan_timedwait(struct clink *clink, uint64_t deadline);

/* --- call-backs of foms --------------------------------------------------------------- */

/* See fom_callback_init(). */
typedef bool (*fom_top_half)(struct fom_callback *cb);
typedef void (*fom_bottom_half)(struct fom_callback *cb);

/**
 * struct fom_callback - what a fom does at an event of a channel, once (FO-22..FO-25)
 *
 * Its top half is called by who signals. Its bottom half has the fom's turn: it is called when the
 * fom waits, after those of events that came before. If one of them calls fom_wakeup(), the fom is
 * ticked, and the others follow when it waits again.
 *
 * It may be armed again from the begin of its bottom half on, or when its top half has returned
 * true.
 */
struct fom_callback {
	/* private: see fom/internal.h */
	struct clink clink;
	struct fom *fom;
	fom_top_half top;
	fom_bottom_half bottom;
	struct fom_link link;
	uint32_t state;
	uint32_t Reserved;
};

/**
 * fom_callback_init - make a call-back
 * @cb: out
 * @top: called for the event, see clink_init(); true: that was all. %NULL: none
 * @bottom: called in the fom's turn. It does not end the fom, which is a trap. %NULL: wakes it
 */
void fom_callback_init(struct fom_callback *cb, fom_top_half top, fom_bottom_half bottom);

/**
 * fom_callback_fini - the end of a call-back
 * @cb: it is not armed, nor is its bottom half to come, else it is a trap
 */
void fom_callback_fini(struct fom_callback *cb);

/**
 * fom_callback_arm - have a call-back called at the next event
 * @cb: it is not armed, else it is a trap
 * @fom: whose
 * @chan: where; it is there until then, or until the call-back is cancelled
 *
 * Context: the fom's turn, or before it is queued.
 */
void fom_callback_arm(struct fom_callback *cb, struct fom *fom, struct chan *chan);

/**
 * fom_callback_cancel - have a call-back not called
 * @cb: which; its fom does not end meanwhile
 *
 * After the return neither half is called, nor is any being called, but for the caller itself:
 * another thread than the fom's waits for a bottom half that has begun, and cancels what that has
 * armed again.
 *
 * Return: was it armed, or its bottom half to come?
 */
bool fom_callback_cancel(struct fom_callback *cb);

/**
 * fom_wait_on - the next event of a channel wakes a fom (FO-17)
 * @fom: the caller ticks it, and returns %FSO_WAIT afterwards
 * @chan: where, see fom_callback_arm()
 * @cb: was made without a bottom half
 */
void fom_wait_on(struct fom *fom, struct chan *chan, struct fom_callback *cb);

/* --- long locks ------------------------------------------------------------------------- */

/**
 * struct long_lock_stats - what has become of a lock (FO-46)
 * @reads: times that it was had by a reader
 * @writes: times by a writer
 * @waits: how many of these have waited
 * @wait_ns: how long these did, together
 * @wait_max_ns: how long the one that did longest
 * @hold_ns: how long those had it that have given it back, together
 * @hold_max_ns: how long the one that had it longest
 * @waiters: foms that wait for it now
 * @owners: foms that have it now
 */
struct long_lock_stats {
	uint64_t reads, writes;
	uint64_t waits, wait_ns, wait_max_ns;
	uint64_t hold_ns, hold_max_ns;
	uint32_t waiters, owners;
};

/**
 * struct long_lock - a lock that foms have over many ticks: many readers, or one writer
 *
 * Who comes first has it first: a reader behind a writer that waits waits, too. No thread does.
 */
struct long_lock {
	/* private: see fom/internal.h */
	pthread_mutex_t lock;
	struct fom_link owners;
	struct fom_link waiters;
	bool writer;
	struct long_lock_stats stats;
};

/** struct long_lock_link - a fom's part in a lock; one for each lock that it has at a time */
struct long_lock_link {
	/* private: see fom/internal.h */
	struct long_lock *lock;
	struct fom *fom;
	struct fom_link link;
	struct fom_link own;
	uint64_t since;
	uint32_t state;
	bool write;
};

/**
 * long_lock_init - make a lock
 * @lock: out
 */
void long_lock_init(struct long_lock *lock);

/**
 * long_lock_fini - the end of a lock
 * @lock: nobody has it or waits for it, else it is a trap
 */
void long_lock_fini(struct long_lock *lock);

/**
 * long_lock_link_init - make a link
 * @link: out
 * @fom: whose
 */
void long_lock_link_init(struct long_lock_link *link, struct fom *fom);

/**
 * long_lock_link_fini - the end of a link
 * @link: it has no lock, and waits for none, else it is a trap
 */
void long_lock_link_fini(struct long_lock_link *link);

/**
 * long_read_lock - a fom is to be a reader (FO-44)
 * @lock: the lock
 * @link: the fom's
 * @next_phase: its next phase, in which it has the lock, unless something else ends its wait:
 *	fom_wakeup() by others, a time-out, a Stop. Then long_is_read_locked() says
 *
 * Context: for this and all below that have a link, the fom's turn.
 * Return: what the tick is to return: %FSO_AGAIN: it has the lock; %FSO_WAIT: it will be woken when
 * it has; -EDEADLK: it has the lock, or waits for it, already: nothing has changed (FO-45).
 */
int long_read_lock(struct long_lock *lock, struct long_lock_link *link, int next_phase);

/**
 * long_write_lock - a fom is to be the writer
 * @lock: see long_read_lock()
 * @link: see long_read_lock()
 * @next_phase: see long_read_lock()
 *
 * Return: see long_read_lock().
 */
int long_write_lock(struct long_lock *lock, struct long_lock_link *link, int next_phase);

/**
 * long_read_unlock - a reader gives the lock back; those that come next have it, and are woken
 * @lock: the lock
 * @link: of a reader that has it, else it is a trap
 */
void long_read_unlock(struct long_lock *lock, struct long_lock_link *link);

/**
 * long_write_unlock - the writer gives the lock back
 * @lock: the lock
 * @link: of the writer, if it has it, else it is a trap
 */
void long_write_unlock(struct long_lock *lock, struct long_lock_link *link);

/**
 * long_unlock - a fom gives a lock back, or waits for it no longer, if it did (FO-45)
 * @lock: the lock
 * @link: the fom's
 *
 * Return: did it have the lock?
 */
bool long_unlock(struct long_lock *lock, struct long_lock_link *link);

/**
 * long_is_read_locked - has a fom the lock as a reader?
 * @lock: the lock
 * @fom: the fom; %NULL: anyone
 *
 * Return: that.
 */
bool long_is_read_locked(struct long_lock *lock, const struct fom *fom);

/**
 * long_is_write_locked - has a fom the lock as the writer?
 * @lock: the lock
 * @fom: the fom; %NULL: anyone
 *
 * Return: that.
 */
bool long_is_write_locked(struct long_lock *lock, const struct fom *fom);

/**
 * long_lock_get_stats - what has become of a lock
 * @lock: the lock
 * @stats: out
 */
void long_lock_get_stats(struct long_lock *lock, struct long_lock_stats *stats);

/* --- localities --------------------------------------------------------------------------- */

/* See locality_call(). */
typedef int (*locality_fn)(void *data);

/**
 * locality_here - the locality that the calling thread is in
 *
 * Return: that, from 0; -EPERM: it has no turn there, or is between block markers.
 */
int locality_here(void);

/**
 * locality_call - call a function in a locality, serial with its foms (FO-28)
 * @domain: the domain
 * @locality: which
 * @fn: the function
 * @data: for it
 *
 * Waits for it; in a worker TPOnBlock says what happens meanwhile. In the locality itself it is a
 * mere call. If that one's foms wait for the caller's locality in the same way, they are called
 * within the caller's tick.
 *
 * Return: what @fn has; -EINVAL: there is no such locality; -EDEADLK: the two would wait for each
 * other; -ECANCELED: the executive stops; -ESHUTDOWN: it has stopped; -ENOSPC, -ENOMEM.
 */
int locality_call(struct fom_domain *domain, uint32_t locality, locality_fn fn, void *data);

struct locality_chore;

/* See locality_chore_init(). */
typedef void (*locality_chore_fn)(struct locality_chore *chore, uint32_t locality);

/** struct locality_chore - what each locality does again and again (FO-51) */
struct locality_chore {
	/* private: see fom/internal.h */
	struct fom_domain *domain;
	locality_chore_fn fn;
	uint64_t period_ns;
	void *runs;
	bool quit;
};

/**
 * locality_chore_init - begin with a chore
 * @chore: out
 * @domain: where
 * @fn: called in each locality, serial with its foms, first after a period; with TPHomes by any
 *	worker. One that is late is called once for all that it has missed
 * @period_ns: above 0
 *
 * It ends with the executive's Stop.
 *
 * Return: 0; -EINVAL, -ESHUTDOWN, -ENOSPC, -ENOMEM.
 */
int locality_chore_init(struct locality_chore *chore, struct fom_domain *domain,
			locality_chore_fn fn, int64_t period_ns);

/**
 * locality_chore_fini - end a chore, and wait until it is not called any more
 * @chore: the chore
 *
 * Return: 0; -EDEADLK in a worker.
 */
int locality_chore_fini(struct locality_chore *chore);

/** FOM_HISTOGRAM - elements of a histogram: of the numbers 0, 1, 2..3, 4..7, ..., and all above */
#define FOM_HISTOGRAM		16

/**
 * struct fom_locality_stats - what a locality has done (FO-50)
 * @live: foms that were queued and have not ended
 * @ready: of them, how many are ready now
 * @running: how many have their turn, also between block markers
 * @waiting: how many wait
 * @turns: turns that have begun
 * @ticks: ticks
 * @ready_ns: how long foms were ready, all together
 * @running_ns: how long they had their turn
 * @waiting_ns: how long they have waited
 * @ready_lengths: of @ready, when a turn began; histogram
 * @waiting_lengths: of @waiting, likewise
 * @live_lengths: of @live, likewise
 */
struct fom_locality_stats {
	uint64_t live, ready, running, waiting;
	uint64_t turns, ticks;
	uint64_t ready_ns, running_ns, waiting_ns;
	uint64_t ready_lengths[FOM_HISTOGRAM];
	uint64_t waiting_lengths[FOM_HISTOGRAM];
	uint64_t live_lengths[FOM_HISTOGRAM];
};

/**
 * fom_locality_get_stats - what a locality has done
 * @domain: its options had stats
 * @locality: which
 * @stats: out
 *
 * Return: 0; -EINVAL: there is no such locality; -EOPNOTSUPP: it was not counted.
 */
int fom_locality_get_stats(struct fom_domain *domain, uint32_t locality,
			   struct fom_locality_stats *stats);

/** FOM_LOG_ENTRIES - phases that are remembered */
#define FOM_LOG_ENTRIES		32

/**
 * struct fom_log_entry - that a fom has come to a phase
 * @phase: which
 * @rc: its result by then
 * @at: when, of CLOCK_MONOTONIC in ns
 */
struct fom_log_entry {
	uint32_t phase;
	int32_t rc;
	uint64_t at;
};

/**
 * struct fom_log - the last phases of a fom (FO-50)
 * @nr: how many there were, the first one included
 * @entries: that of number n, from 0, in element n % %FOM_LOG_ENTRIES
 */
struct fom_log {
	uint64_t nr;
	struct fom_log_entry entries[FOM_LOG_ENTRIES];
};

/**
 * fom_log_to - have the phases of a fom remembered
 * @fom: which
 * @log: out, as long as the fom lives; %NULL: no longer
 *
 * Context: the fom's turn, or before it is queued.
 */
void fom_log_to(struct fom *fom, struct fom_log *log);

/* --- simple foms --------------------------------------------------------------------------- */

/* See sfom_post(). */
typedef int (*sfom_tick)(struct fom *fom, void *data);
typedef void (*sfom_free)(void *data);

/** SFOM_HERE - of sfom_post(): the caller's locality */
#define SFOM_HERE		(~(uint32_t)0)

/**
 * sfom_post - a fom that is a function (FO-48)
 * @domain: where
 * @locality: which, or %SFOM_HERE
 * @tick: as of struct fom_ops, in phases of its own, any below %FOM_PHASES_MAX. A negative errno
 *	is the end
 * @data: for it
 * @free: called with @data after the end; may be %NULL
 *
 * Return: 0; -ESHUTDOWN: the executive takes no more, and @free was called; nothing has happened
 * with -EINVAL: there is no such locality; -EPERM: the caller is in none; -ENOSPC, -ENOMEM.
 */
int sfom_post(struct fom_domain *domain, uint32_t locality, sfom_tick tick, void *data,
	      sfom_free free);

/**
 * sfom_hoard - simple foms, one in each locality
 * @domain: where
 * @tick: see sfom_post()
 * @data: for all of them
 * @free: see sfom_post(); called for each
 *
 * Return: how many were posted; or see sfom_post(), if none was.
 */
int sfom_hoard(struct fom_domain *domain, sfom_tick tick, void *data, sfom_free free);

/**
 * sfom_idle_wait - wait until a domain has no simple foms
 * @domain: where
 * @deadline: until when
 *
 * Return: see fom_service_idle_wait().
 */
int sfom_idle_wait(struct fom_domain *domain, uint64_t deadline);

/* --- leaders, and ticks within ticks -------------------------------------------------------- */

/* See fom_enthrall(). */
typedef void (*fom_thrall_end)(struct fom_thrall *thrall, struct fom *serf);

/** struct fom_thrall - that a fom has another one as its leader */
struct fom_thrall {
	/* private: see fom/internal.h */
	struct fom *leader;
	fom_thrall_end end;
	struct fom_link link;
};

/**
 * fom_enthrall - the end of a fom wakes another one (FO-47)
 * @leader: that one; it does not end before @serf, else it is a trap
 * @serf: a fom that has no leader, and was not queued yet
 * @thrall: out, as long as @serf lives
 * @end: called in the turn of @serf when that has ended, before its fini, and before the leader is
 *	woken; not if the leader has ended because it has failed. It ends no fom. May be %NULL
 *
 * Context: the leader's turn, or before it is queued.
 */
void fom_enthrall(struct fom *leader, struct fom *serf, struct fom_thrall *thrall,
		  fom_thrall_end end);

/**
 * struct fom_interpose - what is done around the ticks of a fom (FO-47)
 * @before: instead of the tick: enum fom_outcome or a negative errno; 0: then the tick. May be
 *	%NULL: 0
 * @after: after the tick, or what was instead of it; returns @outcome or another one. May be %NULL
 * @phases: the phases, at the begin of the tick, in which both are called, bits of FOM_PHASE()
 */
struct fom_interpose {
	int (*before)(struct fom_interpose *self, struct fom *fom);
	int (*after)(struct fom_interpose *self, struct fom *fom, int outcome);
	uint64_t phases;
	/* private: see fom/internal.h */
	struct fom_interpose *next;
};

/**
 * fom_interpose_enter - from the next tick on something is done around those of a fom
 * @fom: which
 * @interpose: what, around what was interposed before
 *
 * Context: the fom's turn, or before it is queued.
 */
void fom_interpose_enter(struct fom *fom, struct fom_interpose *interpose);

/**
 * fom_interpose_leave - from the next tick on it is not
 * @fom: which
 * @interpose: what, else it is a trap
 *
 * Context: see fom_interpose_enter(); not of its own @before or @after.
 */
void fom_interpose_leave(struct fom *fom, struct fom_interpose *interpose);

#ifdef __cplusplus
}
#endif

#endif /* _DX_FOM_H */
