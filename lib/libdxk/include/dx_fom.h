/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdxk, state machines that wait without a thread: foms. The names are those of Motr's fop
 * state machine.
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
 *                       locality_call, locality_here, locality_chore_init  FO-9, FO-28, FO-51
 * admission             fom_queue_wait                                     FO-52, FO-53
 * simple fom            sfom_post, sfom_hoard                              FO-48
 * thralldom, interpose  fom_enthrall; struct fom_interpose                 FO-47
 * statistics            fom_locality_stats, struct fom_phase_times,        FO-34, FO-50
 *                       struct fom_log
 * reqh service          struct fom_service; fom_service_start, _stop,      FO-16, FO-49
 *                       _prepare_to_stop, _idle_wait
 * ====================  =================================================  ==================
 *
 * A fom is a request of an executive (see dx.h) that waits, and its locality is a key. A worker
 * executes the fom's turn, in which the fom is ticked until it waits. Only one fom of a locality
 * has its turn at a time. So ticks and bottom halves of a locality need no lock against each
 * other.
 *
 * Functions return 0 or a documented value, or a negative errno. Deadlines are times of
 * CLOCK_MONOTONIC in ns, %FOM_FOREVER is no deadline. An error of the program that it must never
 * make is a *trap*: the library reports it on standard error and calls abort(3).
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

/* A link of a list of the library. */
struct fom_link {
	struct fom_link *next, *prev;
};

/* --- phases ------------------------------------------------------------------------- */

/** FOM_PHASE_INIT - the phase in which each fom begins; a type's own phases have numbers from 2 */
#define FOM_PHASE_INIT		0
/** FOM_PHASE_FINISH - the phase in which each fom ends */
#define FOM_PHASE_FINISH	1
/** FOM_PHASES_MAX - maximum number of phases of a type, including these two */
#define FOM_PHASES_MAX		64

/** FOM_PHASE - the bit of a phase in a set of phases */
#define FOM_PHASE(phase)	((uint64_t)1 << (phase))

/** FOM_PHASE_FAILURE - of struct fom_phase: a phase for foms that have failed */
#define FOM_PHASE_FAILURE	0x1

/**
 * struct fom_phase - a phase of a type
 * @name: for reports
 * @allowed: phases that may follow, bits of FOM_PHASE(); the phase itself is always allowed
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
 * @FSO_AGAIN: the fom is to be ticked again, at once
 * @FSO_WAIT: the fom waits; in the phase %FOM_PHASE_FINISH it has ended
 *
 * A negative errno is a failure: the fom goes to the failure phase of its type with the errno as
 * its result. If the type has no failure phase, or the fom is in such a phase already, it ends.
 */
enum fom_outcome {
	FSO_AGAIN = 1,
	FSO_WAIT = 2,
};

/**
 * enum fom_state - the state of a fom (FO-13)
 * @FOM_INIT: it has not been queued yet
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
 * enum fom_reason - what has ended the last wait of a fom (FO-33): the first event of these;
 *	but a wake-up that comes before the tick counts before a time
 * @FOM_WOKEN_NOT: it has not waited yet
 * @FOM_WOKEN: fom_wakeup() was called
 * @FOM_WOKEN_FILE: its file is ready, see fom_wait_fd()
 * @FOM_WOKEN_TIMEOUT: a struct fom_timeout has woken it
 * @FOM_WOKEN_EXPIRED: it has waited longer than its time-out, and has failed with -ETIMEDOUT
 * @FOM_WOKEN_CANCELLED: its executive stops with %DXK_STOP_CANCEL, and it has failed with
 *	-ECANCELED. To clean up it may still wait, at most 10 s at a time
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
 * struct fom_ops - the operations of the foms of a type
 * @tick: executes the fom's phase without blocking, see enum fom_outcome. Code that
 *	blocks for long is between fom_block_enter() and fom_block_leave()
 * @fini: the fom has ended: calls fom_fini(), and may free the fom. Nobody touches it after that
 * @home_locality: returns any number; foms with the same number, modulo the number of localities,
 *	share a locality. Called once, by fom_queue(). %NULL: the localities in turn
 * @hung_notify: the fom has been in its state for long, see struct fom_domain_options; it does
 *	not end before the return. Called by a thread of the domain while the fom may be ticked:
 *	it may only read, and call fom_wakeup(). May be %NULL
 */
struct fom_ops {
	int (*tick)(struct fom *fom);
	void (*fini)(struct fom *fom);
	size_t (*home_locality)(const struct fom *fom);
	void (*hung_notify)(struct fom *fom);
};

/**
 * struct fom_phase_times - how long foms were in a phase (FO-50)
 * @count: how often a fom has left it
 * @ns: total time that these foms had been in it
 * @max_ns: the longest such time
 */
struct fom_phase_times {
	uint64_t count, ns, max_ns;
};

/** FOM_QUIET - of struct fom_type: foms that stay in a state for long are not reported */
#define FOM_QUIET		0x1

/**
 * struct fom_type - a kind of fom
 * @name: for reports
 * @ops: their operations
 * @phases: their phases by number, %FOM_PHASE_INIT and %FOM_PHASE_FINISH first; %NULL: any
 *	phase below %FOM_PHASES_MAX may follow any other
 * @nr_phases: elements of @phases, at most %FOM_PHASES_MAX
 * @failure: the phase of foms that have failed; it has %FOM_PHASE_FAILURE if there are @phases;
 *	0: foms that fail end
 * @timeout_ns: how long they may wait at a time; 0: no limit. See fom_type_set_timeout()
 * @flags: %FOM_QUIET or 0
 * @Reserved: 0
 * @times: out, one for each of @phases; new times are added; %NULL: they are not measured
 *
 * It must stay in place while a fom of this type exists.
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

/** FOM_AGAIN_INLINE - of struct fom_domain_options: the number of ticks has no limit */
#define FOM_AGAIN_INLINE	(~(uint32_t)0)

/**
 * struct fom_domain_options - the configuration of a domain
 * @localities: how many; 0: as many as CPUs that the calling thread may run on
 * @handlers: 1: foms of a locality have their turns one at a time; more: as many foms of a domain
 *	as there are workers have their turns at a time, and only the turns of one fom are serial
 *	(FO-6); locality_call() and chores are serial with none. 0: 1
 * @again_budget: how many ticks and bottom halves in a row a fom has before others of its
 *	locality have a turn (FO-12); 0: 16
 * @stats: 1: count for fom_locality_get_stats()
 * @hung_age_ns: report foms that have been in one state for this long, except those of a type
 *	with %FOM_QUIET (FO-34). Turns that follow each other because they end with %FSO_AGAIN
 *	count as one. 0: 120 s; below 0: report none
 * @hung_period_ns: how often the domain searches for such foms and reports each; 0: 5 s
 * @hung: receives each report; %NULL: it goes to the log of the executive. Called like
 *	fom_ops.hung_notify
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
 * fom_policy - set a policy for a domain that has an executive of its own
 * @policy: in and out, for instance as ThreadManagerPolicyInit() leaves it
 * @localities: how many there will be; 0: see struct fom_domain_options
 * @foms: maximum number of foms that will exist at a time
 *
 * There are as many workers as localities, spares take the place of those that block, and as many
 * spares are kept ready. A worker ticks foms of any locality, unless @policy has TPHomes: then a
 * locality has workers and CPUs of its own (FO-1), see RQOptions.Home, and with TPSteal workers
 * that have nothing to do take foms of other localities (FO-9). TPFetchMax is left as it is: above
 * 1, foms that a worker has fetched behind one that blocks wait for it.
 */
void fom_policy(ThreadManagerPolicy *policy, uint32_t localities, uint32_t foms);

/**
 * fom_domain_init - make a domain: localities of an executive
 * @domain: out
 * @executive: must outlive the domain
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
 * Return: 0; -EBUSY: it has foms, or services that have not stopped; -EDEADLK in a worker.
 */
int fom_domain_fini(struct fom_domain *domain);

/**
 * fom_domain_localities - how many localities a domain has
 * @domain: which
 *
 * Return: the number.
 */
uint32_t fom_domain_localities(const struct fom_domain *domain);

/* --- services ----------------------------------------------------------------------- */

/**
 * struct fom_service_ops - the operations of a service
 * @start: makes what the foms need. Until it returns the service is starting, and fom_queue()
 *	returns -EAGAIN. Returns 0, or a negative errno: the service has not started. May be %NULL
 * @stop: the service has no foms any more. May be %NULL
 * @accepts: whether to queue a fom although the service is stopping. May be %NULL: no
 */
struct fom_service_ops {
	int (*start)(struct fom_service *service);
	void (*stop)(struct fom_service *service);
	bool (*accepts)(struct fom_service *service, struct fom *fom);
};

/**
 * enum fom_service_state - the state of a service
 * @FOM_SERVICE_STOPPED: it has no foms, and gets none
 * @FOM_SERVICE_STARTING: its start has not returned yet
 * @FOM_SERVICE_STARTED: it takes foms
 * @FOM_SERVICE_STOPPING: it takes only foms that it accepts, and stops when it has none
 */
enum fom_service_state {
	FOM_SERVICE_STOPPED,
	FOM_SERVICE_STARTING,
	FOM_SERVICE_STARTED,
	FOM_SERVICE_STOPPING,
};

/**
 * struct fom_service - the purpose of a set of foms; it waits for their ends (FO-49)
 * @name: for reports
 * @ops: its operations; may be %NULL
 *
 * Embed it in the application's object.
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
 * @domain: the domain of its foms
 * @name: for reports
 * @ops: its operations; may be %NULL
 */
void fom_service_init(struct fom_service *service, struct fom_domain *domain, const char *name,
		      const struct fom_service_ops *ops);

/**
 * fom_service_fini - the end of a service
 * @service: it is stopped, else it is a trap
 */
void fom_service_fini(struct fom_service *service);

/**
 * fom_service_start - let a service take foms
 * @service: it is stopped
 *
 * Return: 0; the error that its start has returned; -EINVAL: it is not stopped.
 */
int fom_service_start(struct fom_service *service);

/**
 * fom_service_prepare_to_stop - let a service take only the foms that it accepts
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
 * Return: 0: no fom was queued, was being queued, waited or had its turn; -ETIMEDOUT; -EINTR;
 * -EDEADLK in a worker.
 */
int fom_service_idle_wait(struct fom_service *service, uint64_t deadline);

/**
 * fom_service_stop - prepare a service to stop, wait until it has no foms, and stop it
 * @service: which
 *
 * A fom that the executive's Stop has ended before its first tick ends here, with -ECANCELED.
 *
 * Return: 0, also if it was stopped already, or another thread stops it meanwhile; -EINTR: it is
 * stopping, call again; -EDEADLK in a worker; -EINVAL: it is starting.
 */
int fom_service_stop(struct fom_service *service);

/**
 * fom_service_state - the state of a service
 * @service: which
 *
 * Return: enum fom_service_state.
 */
int fom_service_state(const struct fom_service *service);

/* --- foms --------------------------------------------------------------------------- */

/**
 * struct fom - a state machine
 * @type: its type
 * @service: its service
 *
 * Embed it in the application's object.
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
 * @service: its service
 */
void fom_init(struct fom *fom, struct fom_type *type, struct fom_service *service);

/**
 * fom_fini - the end of a fom
 * @fom: it has ended, or was not queued, else it is a trap; it is also a trap if something of the
 *	fom is armed
 */
void fom_fini(struct fom *fom);

/**
 * fom_queue - queue a fom for ticks in its home locality, after the foms ready there (FO-3)
 * @fom: it is in the phase %FOM_PHASE_INIT
 *
 * Return: 0; -ESHUTDOWN: the service, or the executive, takes no more foms, and the fom has ended
 * without a tick: its fini was called (FO-16). After the following errors the fom can be queued
 * again: -EAGAIN: the service is starting, or the Ready Pool is full (FO-52); -ENOSPC, -EDQUOT: the
 * maximum number of requests live, or wait; -ENOMEM.
 */
int fom_queue(struct fom *fom);

/**
 * fom_queue_wait - as fom_queue(), but wait for room in the Ready Pool
 * @fom: see fom_queue()
 * @timeout_ns: how long, below 0 without limit
 *
 * A fom whose locality has a fom that is ready or in a turn needs no such room, but is one of the
 * TPMaxWaiting that may wait: beyond these it gets -ENOSPC at once.
 *
 * Return: as fom_queue(); -ETIMEDOUT; -EINTR.
 */
int fom_queue_wait(struct fom *fom, int64_t timeout_ns);

/**
 * fom_current - the fom that the calling thread ticks, or whose bottom half it executes
 *
 * Return: the fom, or %NULL.
 */
struct fom *fom_current(void);

/**
 * fom_phase - the phase of a fom
 * @fom: which
 *
 * Return: the phase.
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
 * @rc: 0, or a negative errno: then @phase must have %FOM_PHASE_FAILURE, if the type has phases,
 *	or be %FOM_PHASE_FINISH; else it is a trap
 * @phase: one that may follow, else it is a trap
 */
void fom_phase_move(struct fom *fom, int rc, int phase);

/**
 * fom_rc - the result of a fom
 * @fom: which; it may have ended
 *
 * Return: 0, or the negative errno that it has failed with.
 */
int fom_rc(const struct fom *fom);

/**
 * fom_state - the state of a fom
 * @fom: which
 *
 * Return: enum fom_state.
 */
int fom_state(const struct fom *fom);

/**
 * fom_locality - the home locality of a fom (FO-2)
 * @fom: it was queued
 *
 * Return: its number, from 0.
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
 * Return: EPOLL* bits, or %DXK_EVENT_GONE; 0: the file may be ready.
 */
uint32_t fom_events(const struct fom *fom);

/**
 * fom_transitions - how often a fom has changed its phase
 * @fom: which
 *
 * Return: the number.
 */
uint64_t fom_transitions(const struct fom *fom);

/**
 * fom_set_timeout - set the time-out of one fom (FO-31)
 * @fom: which
 * @timeout_ns: in effect for waits that begin from now on; 0: that of its type; below 0: none
 *
 * Context: any thread.
 */
void fom_set_timeout(struct fom *fom, int64_t timeout_ns);

/* --- wait and wake ------------------------------------------------------------------ */

/**
 * fom_wakeup - end the wait of a fom, or its next one (FO-17..FO-20)
 * @fom: it does not end during the call; or it has ended, and its memory stays
 *
 * However often a fom is woken before its tick, it is ticked once. A wake-up while a fom has its
 * turn, or is to have its first one, is kept for its next wait.
 *
 * Context: any thread, with any lock: it does not sleep, except in the first call of a thread.
 * Return: 0; -ESRCH: it has ended; -ENOMEM, -EMFILE, -ESHUTDOWN: the thread cannot become a member
 * of the executive, and nothing has happened.
 */
int fom_wakeup(struct fom *fom);

/**
 * fom_id - a number to wake a fom by that may have ended
 * @fom: which
 *
 * Return: the number. No other fom has it until 65,535 further foms have been made.
 */
uint64_t fom_id(const struct fom *fom);

/**
 * fom_wakeup_id - as fom_wakeup(), of a fom that may no longer exist
 * @domain: the fom's domain
 * @id: of fom_id()
 *
 * Return: see fom_wakeup().
 */
int fom_wakeup_id(struct fom_domain *domain, uint64_t id);

/**
 * fom_wait_fd - let a ready file also end the wait that begins now
 * @fom: the caller ticks it, and returns what this function returns
 * @fd: the file, which stays open until then
 * @events: some of %DXK_WAIT_EVENTS
 *
 * Return: %FSO_WAIT; -EBADF: it is not open; -EPERM: it has no poll(2); -EINVAL.
 */
int fom_wait_fd(struct fom *fom, int fd, uint32_t events);

/**
 * fom_timedwait - wait until a fom is in a phase (FO-29)
 * @fom: which. It must not end before the call has begun to wait, but may end during the wait
 * @phases: bits of FOM_PHASE()
 * @deadline: until when
 *
 * Context: not in the fom's own turn.
 * Return: 0: it is, or was, in one of @phases; -ETIMEDOUT; -ESRCH: it has ended and was in none of
 * them.
 */
int fom_timedwait(struct fom *fom, uint64_t phases, uint64_t deadline);

/* --- time-outs ---------------------------------------------------------------------- */

/* See fom_timeout_arm(). */
typedef void (*fom_timeout_half)(struct fom_timeout *timeout);

/**
 * struct fom_timeout - wakes a fom, or calls a function of it, once at a given time (FO-32)
 *
 * Context: for all functions with a time-out, the fom's turn, or before the fom is queued.
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
 * @timeout: was initialised after its last use, else it is a trap
 * @fom: which
 * @deadline: when; never earlier
 */
void fom_timeout_wait_on(struct fom_timeout *timeout, struct fom *fom, uint64_t deadline);

/**
 * fom_timeout_arm - call a function of a fom at a time
 * @timeout: see fom_timeout_wait_on()
 * @fom: whose
 * @bottom: called in the fom's turn while the fom waits, not before @deadline. It may call
 *	fom_wakeup()
 * @deadline: when
 */
void fom_timeout_arm(struct fom_timeout *timeout, struct fom *fom, fom_timeout_half bottom,
		     uint64_t deadline);

/**
 * fom_timeout_cancel - disarm a time-out
 * @timeout: which
 *
 * Return: whether it was armed: then it has no effect any more.
 */
bool fom_timeout_cancel(struct fom_timeout *timeout);

/* --- block markers ------------------------------------------------------------------ */

/**
 * fom_block_enter - a fom is about to block: in read(2), a mutex or anything slow (FO-35)
 * @fom: the caller ticks it
 *
 * Until fom_block_leave() another thread executes the turns of other foms of the locality: an idle
 * one, or a spare, which is started if there is none (FO-36). The fom has its turn meanwhile, and
 * wake-ups and call-backs are kept (FO-37). But it is not in its locality, so it must not touch
 * what belongs to the locality. If it waits for something of the executive meanwhile, for instance
 * in locality_call(), other workers execute that, under any TPOnBlock. If all workers block, none
 * does.
 *
 * Return: 0; -EAGAIN: there is no thread, and none can be started: nothing has changed, and a fom
 * that blocks now blocks its locality (FO-41); -EBUSY: it was called before (FO-39); -EPERM: the
 * caller does not tick it; -EINTR: nothing has changed.
 */
int fom_block_enter(struct fom *fom);

/**
 * fom_block_enter_anyway - as fom_block_enter(), also if there is no thread
 * @fom: see fom_block_enter()
 *
 * Other localities have their turns as far as there are threads.
 *
 * Return: as fom_block_enter(), except -EAGAIN.
 */
int fom_block_enter_anyway(struct fom *fom);

/**
 * fom_block_leave - a fom has blocked, and continues
 * @fom: the caller ticks it
 *
 * Waits until the locality has ended its current turn, then continues before all other foms of the
 * locality (FO-38).
 *
 * Return: 0; -EPERM: fom_block_enter() was not called before (FO-39); -ECANCELED: the executive
 * stops with %DXK_STOP_CANCEL: the tick continues, but not in its locality, and should return.
 */
int fom_block_leave(struct fom *fom);

/* --- channels ------------------------------------------------------------------------- */

struct chan;
struct clink;

/* See clink_init(). */
typedef bool (*clink_filter)(struct clink *clink);

/**
 * struct clink - a listener for a channel's events (FO-27)
 * @oneshot: it leaves the channel at its first event. Set it before clink_add()
 *
 * Events reach its filter, or a thread that waits for it; a fom uses a struct fom_callback.
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
 * struct chan - a channel: it passes events to its clinks
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
 * chan_signal - pass an event to one clink
 * @chan: which
 *
 * The clinks get events in turn.
 *
 * Context: for this and the following function, any thread that is not in a filter or a top half
 * of the channel. The first event of a thread for a fom makes the thread a member of the
 * executive, for which it needs a file descriptor: a shortage of descriptors is a trap.
 */
void chan_signal(struct chan *chan);

/**
 * chan_broadcast - pass an event to each clink
 * @chan: which
 */
void chan_broadcast(struct chan *chan);

/**
 * clink_init - make a clink
 * @clink: out
 * @cb: filter: called for each event, by the thread that signals, which it must not block; true:
 *	the event is for nobody else. It must not call a function of the channel. %NULL: none
 */
void clink_init(struct clink *clink, clink_filter cb);

/**
 * clink_attach - make a clink of a group: a wait for its first clink is a wait for all of them
 * @clink: out
 * @group: the first one; it ends last
 * @cb: see clink_init()
 */
void clink_attach(struct clink *clink, struct clink *group, clink_filter cb);

/**
 * clink_fini - the end of a clink
 * @clink: if it is in a channel, it is removed
 */
void clink_fini(struct clink *clink);

/**
 * clink_add - add a clink to a channel
 * @chan: the channel; it outlives the clink
 * @clink: it is in no channel, else it is a trap
 */
void clink_add(struct chan *chan, struct clink *clink);

/**
 * clink_del - remove a clink from its channel
 * @clink: after the return its filter is not called
 *
 * Return: whether it was in a channel.
 */
bool clink_del(struct clink *clink);

/**
 * chan_wait - wait for an event of a group of clinks
 * @clink: any clink of the group
 *
 * Each event ends one wait, even a wait that begins later. The caller's thread sleeps: this is not
 * for ticks.
 */
void chan_wait(struct clink *clink);

/**
 * chan_trywait - as chan_wait(), but do not sleep
 * @clink: see chan_wait()
 *
 * Return: whether there was an event.
 */
bool chan_trywait(struct clink *clink);

/**
 * chan_timedwait - as chan_wait(), until a time
 * @clink: see chan_wait()
 * @deadline: until when
 *
 * Return: whether there was an event.
 */
bool chan_timedwait(struct clink *clink, uint64_t deadline);

/* --- call-backs of foms --------------------------------------------------------------- */

/* See fom_callback_init(). */
typedef bool (*fom_top_half)(struct fom_callback *cb);
typedef void (*fom_bottom_half)(struct fom_callback *cb);

/**
 * struct fom_callback - a call-back of a fom for one event of a channel (FO-22..FO-25)
 *
 * The thread that signals calls its top half. Its bottom half is called in the fom's turn while
 * the fom waits, after the bottom halves of earlier events. If one of them calls fom_wakeup(), the
 * fom is ticked, and the others follow when it waits again.
 *
 * It may be armed again once its bottom half has begun, or its top half has returned true.
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
 * @top: called for the event, see clink_init(); true: @bottom is not called. %NULL: none
 * @bottom: called in the fom's turn. It must not end the fom, which is a trap. %NULL: the fom is
 *	woken
 */
void fom_callback_init(struct fom_callback *cb, fom_top_half top, fom_bottom_half bottom);

/**
 * fom_callback_fini - the end of a call-back
 * @cb: it is not armed, and its bottom half is not pending, else it is a trap
 */
void fom_callback_fini(struct fom_callback *cb);

/**
 * fom_callback_arm - arm a call-back for the next event of a channel
 * @cb: it is not armed, else it is a trap
 * @fom: whose
 * @chan: the channel; it must exist until the event, or until the call-back is cancelled
 *
 * Context: the fom's turn, or before it is queued.
 */
void fom_callback_arm(struct fom_callback *cb, struct fom *fom, struct chan *chan);

/**
 * fom_callback_cancel - disarm a call-back
 * @cb: which; its fom does not end meanwhile
 *
 * After the return neither half is called or still executes, unless the caller itself is in it. A
 * thread other than the fom's waits for a bottom half that has begun, and disarms the call-back
 * again if that has armed it.
 *
 * Return: whether it was armed, or its bottom half was pending.
 */
bool fom_callback_cancel(struct fom_callback *cb);

/**
 * fom_wait_on - let the next event of a channel wake a fom (FO-17)
 * @fom: the caller ticks it, and returns %FSO_WAIT afterwards
 * @chan: the channel, see fom_callback_arm()
 * @cb: was made without a bottom half
 */
void fom_wait_on(struct fom *fom, struct chan *chan, struct fom_callback *cb);

/* --- long locks ------------------------------------------------------------------------- */

/**
 * struct long_lock_stats - the use of a lock (FO-46)
 * @reads: how often a reader got it
 * @writes: how often a writer got it
 * @waits: how many of these waited
 * @wait_ns: total time of these waits
 * @wait_max_ns: the longest wait
 * @hold_ns: total time that foms had it, of those that have released it
 * @hold_max_ns: the longest such time
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
 * Foms get it in the order in which they ask for it: a reader behind a waiting writer also waits.
 * No thread waits.
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
 * long_read_lock - take a lock for a fom as a reader (FO-44)
 * @lock: the lock
 * @link: the fom's
 * @next_phase: its next phase, in which it has the lock, unless something else ends its wait:
 *	fom_wakeup() by others, a time-out, a Stop. Then long_is_read_locked() shows whether it has
 *
 * Context: for this and all following functions with a link, the fom's turn.
 * Return: the value that the tick is to return: %FSO_AGAIN: the fom has the lock; %FSO_WAIT: it
 * will be woken when it has the lock; -EDEADLK: it already has the lock, or waits for it: nothing
 * has changed (FO-45).
 */
int long_read_lock(struct long_lock *lock, struct long_lock_link *link, int next_phase);

/**
 * long_write_lock - take a lock for a fom as the writer
 * @lock: see long_read_lock()
 * @link: see long_read_lock()
 * @next_phase: see long_read_lock()
 *
 * Return: see long_read_lock().
 */
int long_write_lock(struct long_lock *lock, struct long_lock_link *link, int next_phase);

/**
 * long_read_unlock - a reader releases the lock; the next ones get it and are woken
 * @lock: the lock
 * @link: of a reader that has it, else it is a trap
 */
void long_read_unlock(struct long_lock *lock, struct long_lock_link *link);

/**
 * long_write_unlock - the writer releases the lock
 * @lock: the lock
 * @link: of the writer, if it has it, else it is a trap
 */
void long_write_unlock(struct long_lock *lock, struct long_lock_link *link);

/**
 * long_unlock - a fom releases a lock, or stops waiting for it (FO-45)
 * @lock: the lock
 * @link: the fom's
 *
 * Return: whether it had the lock.
 */
bool long_unlock(struct long_lock *lock, struct long_lock_link *link);

/**
 * long_is_read_locked - whether a fom has the lock as a reader
 * @lock: the lock
 * @fom: the fom; %NULL: any fom
 *
 * Return: whether it has.
 */
bool long_is_read_locked(struct long_lock *lock, const struct fom *fom);

/**
 * long_is_write_locked - whether a fom has the lock as the writer
 * @lock: the lock
 * @fom: the fom; %NULL: any fom
 *
 * Return: whether it has.
 */
bool long_is_write_locked(struct long_lock *lock, const struct fom *fom);

/**
 * long_lock_get_stats - read the statistics of a lock
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
 * Return: its number, from 0; -EPERM: the thread has no turn, or is between block markers.
 */
int locality_here(void);

/**
 * locality_call - call a function in a locality, serial with its foms (FO-28)
 * @domain: the domain
 * @locality: which
 * @fn: the function
 * @data: for it
 *
 * Waits for it; in a worker TPOnBlock determines what happens meanwhile. In the locality itself it
 * is a plain call. If that one's foms wait for the caller's locality in the same way, they are
 * called within the caller's tick.
 *
 * Return: the value that @fn returns; -EINVAL: there is no such locality; -EDEADLK: the two would
 * wait for each other; -ECANCELED: the executive stops; -ESHUTDOWN: it has stopped; -ENOSPC,
 * -ENOMEM.
 */
int locality_call(struct fom_domain *domain, uint32_t locality, locality_fn fn, void *data);

struct locality_chore;

/* See locality_chore_init(). */
typedef void (*locality_chore_fn)(struct locality_chore *chore, uint32_t locality);

/** struct locality_chore - a function that each locality calls periodically (FO-51) */
struct locality_chore {
	/* private: see fom/internal.h */
	struct fom_domain *domain;
	locality_chore_fn fn;
	uint64_t period_ns;
	void *runs;
	bool quit;
};

/**
 * locality_chore_init - start a chore
 * @chore: out
 * @domain: where
 * @fn: called in each locality, serial with its foms, first after a period; with TPHomes by any
 *	worker. If it is late, it is called once for all periods that it has missed
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

/** FOM_HISTOGRAM - elements of a histogram: the numbers 0, 1, 2..3, 4..7, ..., and all above */
#define FOM_HISTOGRAM		16

/**
 * struct fom_locality_stats - the statistics of a locality (FO-50)
 * @live: foms that were queued and have not ended
 * @ready: how many of them are ready now
 * @running: how many have their turn, also between block markers
 * @waiting: how many wait
 * @turns: turns that have begun
 * @ticks: ticks
 * @ready_ns: total time that foms were ready
 * @running_ns: total time that they had their turn
 * @waiting_ns: total time that they waited
 * @ready_lengths: histogram of @ready when a turn began
 * @waiting_lengths: the same of @waiting
 * @live_lengths: the same of @live
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
 * fom_locality_get_stats - read the statistics of a locality
 * @domain: its options had stats
 * @locality: which
 * @stats: out
 *
 * Return: 0; -EINVAL: there is no such locality; -EOPNOTSUPP: the options had no stats.
 */
int fom_locality_get_stats(struct fom_domain *domain, uint32_t locality,
			   struct fom_locality_stats *stats);

/** FOM_LOG_ENTRIES - number of phases that a log keeps */
#define FOM_LOG_ENTRIES		32

/**
 * struct fom_log_entry - a fom has entered a phase
 * @phase: which
 * @rc: its result at that time
 * @at: the time of CLOCK_MONOTONIC in ns
 */
struct fom_log_entry {
	uint32_t phase;
	int32_t rc;
	uint64_t at;
};

/**
 * struct fom_log - the last phases of a fom (FO-50)
 * @nr: how many there were, including the first one
 * @entries: entry number n, from 0, is in element n % %FOM_LOG_ENTRIES
 */
struct fom_log {
	uint64_t nr;
	struct fom_log_entry entries[FOM_LOG_ENTRIES];
};

/**
 * fom_log_to - log the phases of a fom
 * @fom: which
 * @log: out, as long as the fom lives; %NULL ends the logging
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
 * sfom_post - post a fom that consists of a function (FO-48)
 * @domain: where
 * @locality: which, or %SFOM_HERE
 * @tick: as in struct fom_ops, with phases of its own, any below %FOM_PHASES_MAX. A negative errno
 *	ends the fom
 * @data: for it
 * @free: called with @data after the end; may be %NULL
 *
 * Return: 0; -ESHUTDOWN: the executive takes no more foms, and @free was called. After the
 * following errors nothing has happened: -EINVAL: there is no such locality; -EPERM: the caller is
 * in none; -ENOSPC, -ENOMEM.
 */
int sfom_post(struct fom_domain *domain, uint32_t locality, sfom_tick tick, void *data,
	      sfom_free free);

/**
 * sfom_hoard - post simple foms, one in each locality
 * @domain: where
 * @tick: see sfom_post()
 * @data: for all of them
 * @free: see sfom_post(); called for each
 *
 * Return: how many were posted; if none was, see sfom_post().
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

/** struct fom_thrall - the link between a fom and its leader, another fom */
struct fom_thrall {
	/* private: see fom/internal.h */
	struct fom *leader;
	fom_thrall_end end;
	struct fom_link link;
};

/**
 * fom_enthrall - let the end of a fom wake another one (FO-47)
 * @leader: the fom to wake; it does not end before @serf, else it is a trap
 * @serf: a fom that has no leader, and was not queued yet
 * @thrall: out, as long as @serf lives
 * @end: called in the turn of @serf when that has ended, before its fini, and before the leader is
 *	woken; not if the leader has ended because it has failed. It must not end a fom. May be
 *	%NULL
 *
 * Context: the leader's turn, or before it is queued.
 */
void fom_enthrall(struct fom *leader, struct fom *serf, struct fom_thrall *thrall,
		  fom_thrall_end end);

/**
 * struct fom_interpose - functions that are called around the ticks of a fom (FO-47)
 * @before: called before the tick. Returns enum fom_outcome or a negative errno: there is no tick;
 *	0: the tick follows. May be %NULL: 0
 * @after: called after the tick, or after @before took its place; returns @outcome or another one.
 *	May be %NULL
 * @phases: bits of FOM_PHASE(): both are called if the fom is in one of them when the tick begins
 */
struct fom_interpose {
	int (*before)(struct fom_interpose *self, struct fom *fom);
	int (*after)(struct fom_interpose *self, struct fom *fom, int outcome);
	uint64_t phases;
	/* private: see fom/internal.h */
	struct fom_interpose *next;
};

/**
 * fom_interpose_enter - call functions around the ticks of a fom from the next one on
 * @fom: which
 * @interpose: the functions; they go around those interposed before
 *
 * Context: the fom's turn, or before it is queued.
 */
void fom_interpose_enter(struct fom *fom, struct fom_interpose *interpose);

/**
 * fom_interpose_leave - from the next tick on, no longer call them
 * @fom: which
 * @interpose: was interposed, else it is a trap
 *
 * Context: see fom_interpose_enter(); not of its own @before or @after.
 */
void fom_interpose_leave(struct fom *fom, struct fom_interpose *interpose);

#ifdef __cplusplus
}
#endif

#endif /* _DX_FOM_H */
