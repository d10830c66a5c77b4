/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the test programs share: a context with a policy, workers whose executors
 * are functions of the test, gates to hold requests in execution, the numbers of
 * sysfs, waiting with a bound.
 *
 * The dispatch mode of every context comes from the environment (DXK_DISPATCH is
 * "direct" or "thread"), so that each test runs in both.
 *
 * Functions return a value >= 0 or a negative errno. None of them fails a test by
 * itself: a thread other than the test's main thread cannot.
 */
#ifndef DXT_H
#define DXT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include <dxk.h>

/* Files without tests share these declarations: they define DXT_NO_HARNESS. */
#ifndef DXT_NO_HARNESS
#include <kselftest_harness.h>

/*
 * No limit: a guest's clock goes on while the guest is not run. Whoever runs the program
 * gives up what prints nothing.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	86400
#endif

#ifndef ARRAY_SIZE		/* the harness has one */
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

#define DXT_MS		1000000LL
#define DXT_SEC		(1000 * DXT_MS)

/* --- time and progress ----------------------------------------------------- */

uint64_t dxt_now(void);			/* CLOCK_MONOTONIC in ns */
uint64_t dxt_in(int64_t ns);		/* deadline that far from now */
void dxt_sleep_ms(unsigned int ms);
bool dxt_debug_kernel(void);		/* with lockdep: slow */

/*
 * No progress for so long, while there is work, is a hang: 2 s, on the debug
 * kernel 10 s. It is running time, see below.
 */
uint64_t dxt_stall_ns(void);

/*
 * The deadline of a call that is to end before it. The clock goes on while the guest is
 * not run, so a call that has only just begun may have its deadline behind it: it is
 * 30 s away, on the debug kernel 60 s, and a hang is told then.
 */
int64_t dxt_late_ns(void);
int dxt_late_ms(void);
uint64_t dxt_late(void);

/*
 * The running time of who polls: of the time from one turn to the next no more counts
 * than a turn takes, 20 ms, on the debug kernel 100 ms. What is more the guest, or the
 * thread, was not run, and nothing is to be concluded from that.
 */
struct dxt_turns {
	uint64_t last;
	uint64_t ran;
	unsigned int nr;
};
/* Sleeps for a moment; the running time since the first turn. */
uint64_t dxt_turn(struct dxt_turns *turns);

/* Waits until @cond is true; false after @ns of running time. */
#define DXT_WITHIN(ns, cond) ({						\
	struct dxt_turns _turns = { 0 };				\
	bool _true;							\
	while (!(_true = (cond)) && dxt_turn(&_turns) < (uint64_t)(ns))	\
		;							\
	_true;								\
})
/*
 * The same where much has to happen, or others are busy: 8 s, debug kernel 40 s. It is over
 * before who runs the tests takes the silence for a hang, so that the test can say what it
 * has waited for.
 */
#define DXT_SOON(cond)	DXT_WITHIN(4 * dxt_stall_ns(), cond)

/* Tells that a long test goes on, at most every two seconds; printf-like. */
void dxt_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- a context ------------------------------------------------------------- */

struct dxt_worker;

struct dxt {
	int ctl;
	int ctx;
	int member;		/* a client of the thread that called dxt_start() */
	unsigned int id;	/* name of the directory below /sys/kernel/dxk */
	unsigned int member_id;
	struct dxk_policy policy;
	struct dxt_worker *workers;
};

unsigned int dxt_mode(void);		/* enum dxk_dispatch of this run */

/*
 * Control and context; t->policy holds the defaults with this run's dispatch mode,
 * 4 workers and no kernel worker, for the test to change before dxt_start().
 */
int dxt_open(struct dxt *t);
/* Sets t->policy, starts, makes the client member. */
int dxt_start(struct dxt *t);
/* dxt_open(), then dxt_start() with @nr user workers which are started, too. */
int dxt_up(struct dxt *t, unsigned int nr);
/* Stop(cancel) if it runs, joins the workers, closes all. Gates must be open. */
void dxt_down(struct dxt *t);
/* As dxt_down(), without Stop: the last close is one. */
void dxt_close(struct dxt *t);

/* --- numbers of sysfs ------------------------------------------------------ */

/* Path below the context's directory, printf-like; -1: no such file or number. */
long long dxt_num(const struct dxt *t, const char *path, ...)
	__attribute__((format(printf, 2, 3)));
/* The text without its newline; false when it cannot be read. */
bool dxt_text(const struct dxt *t, char *text, size_t room, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
/* Writes to a file of sysfs; 0 or a negative errno. */
int dxt_store(const struct dxt *t, const char *path, const char *value);
bool dxt_exists(const struct dxt *t, const char *path);
/* The kernel's count of those of this process: who reads the directory may miss one that lives. */
unsigned int dxt_threads(void);
/* Open descriptors of this process, and a few that are always the same. */
unsigned int dxt_fds(void);
unsigned int dxt_contexts(void);
/*
 * Kernel threads of this context ("dxk<id>/"), of any for NULL. One that was waited for
 * is shown for a moment longer.
 */
int dxt_kthreads(const struct dxt *t);
int dxt_kthread_pids(const struct dxt *t, int *pid, int room);
/* The pid of the context's kernel thread of that name, or 0. */
int dxt_kthread(const struct dxt *t, const char *name);
/* How often the context's kernel thread of that name went to sleep; -1: none there. */
long dxt_sleeps(const struct dxt *t, const char *name);
/*
 * Waits until the Scheduler has made @nr whole ticks more, while something is Ready;
 * false when they do not come.
 */
bool dxt_ticks(const struct dxt *t, unsigned int nr);
/* A number that changes when requests move. */
uint64_t dxt_progress(const struct dxt *t);

/* Counters and pool use, to show that a call changed nothing. */
struct dxt_snapshot {
	long long value[40];
};
void dxt_snapshot(const struct dxt *t, struct dxt_snapshot *s);
/* The path of the first value that differs, NULL when none does. */
const char *dxt_differs(const struct dxt_snapshot *a, const struct dxt_snapshot *b);

/*
 * Waits until @cond is true; false when nothing moved in the context for
 * dxt_stall_ns(). For "sleeps", "is idle": poll the number that shows it.
 */
#define DXT_UNTIL(t, cond) ({						\
	struct dxt_wait _wait = { 0 };					\
	bool _true;							\
	while (!(_true = (cond)) && dxt_wait_more(t, &_wait))		\
		;							\
	_true;								\
})

struct dxt_wait {
	uint64_t progress;
	struct dxt_turns turns;
};
bool dxt_wait_more(const struct dxt *t, struct dxt_wait *w);

/* --- raw calls, outputs poisoned before ------------------------------------ */

#define DXT_POISON	0xa5
void dxt_poison(void *p, size_t n);
bool dxt_poisoned(const void *p, size_t n);
#define DXT_POISON32	0xa5a5a5a5U

int dxt_ioctl(int fd, unsigned long cmd, void *arg);

/* An entry without data. @exec is a dxt_exec_t, or an id with PXR_KERNEL. */
struct dxk_post_entry dxt_entry(uint64_t owner, uint64_t exec, uint64_t param,
				uint32_t attrs);
#define DXT_FN(f)	((uint64_t)(uintptr_t)(dxt_exec_t)(f))
#define DXT_PTR(p)	((uint64_t)(uintptr_t)(p))

/* One call; @post is filled in whole by the function and may be looked at. */
int dxt_post(int member, const struct dxk_post_entry *entries, unsigned int nr,
	     uint64_t deadline, struct dxk_post *post);
/* One request; @reason may be NULL. 1 when it was taken. */
int dxt_post1(int member, uint64_t owner, uint64_t exec, uint64_t param,
	      uint32_t attrs, uint64_t deadline, uint32_t *reason);
/* One call without data; @answer may be NULL. @results are poisoned before. */
int dxt_rejoin(int member, uint64_t owner, struct dxk_result *results,
	       unsigned int nr, unsigned int min, uint64_t deadline,
	       uint32_t *answer);
/* Until none of the owner's exists: how many were returned. Bound by stalls. */
int dxt_drain(const struct dxt *t, int member, uint64_t owner);

/* --- faults (debug kernel) --------------------------------------------------- */

/*
 * Makes allocations and copies to and from user space of the calling thread fail
 * by number. False where the kernel cannot.
 */
bool dxt_faults(void);
void dxt_fail_nth(unsigned int n);
/* The same of another thread; true from the fault, if @n, until it is set again. */
void dxt_fail_nth_of(int pid, unsigned int n);
bool dxt_fail_hit_of(int pid);
/*
 * Count only what the kernel does within a function of its own, not a module's; NULL
 * for no such limit. False when it cannot.
 */
bool dxt_faults_within(const char *function);
/* Ends it; did the fault happen? */
bool dxt_fail_hit(void);
/* Writes to a file anywhere; 0 or a negative errno. */
int dxt_write(const char *path, const char *value);
/*
 * Holds back what the kernel says, until release: where it tells, with a call trace,
 * of the very thing that a test makes happen, that is no complaint. Dropped is what
 * begins with a line that has @expected in it and ends with its trace; all other
 * messages are put back for who looks for complaints afterwards.
 */
int dxt_log_hold(void);
void dxt_log_release(int log, const char *expected);

/* --- workers --------------------------------------------------------------- */

struct dxt_call {
	struct dxt_worker *worker;
	struct dxk_work work;
	unsigned char *data;	/* work.data_len bytes; the result may replace them */
	uint32_t result_len;	/* set by the executor */
};

/* A signal without effect but EINTR; its handler is set by the first worker. */
#define DXT_NUDGE	SIGUSR1

/* Returns the request's status. Its address is the executor cookie. */
typedef int (*dxt_exec_t)(struct dxt_call *call);

struct dxt_worker {
	struct dxt_worker *next;
	struct dxt *t;
	pthread_t thread;
	int ctx;
	_Atomic int member;	/* descriptor, or a negative errno */
	_Atomic int ready;	/* member is set */
	_Atomic int leave;	/* close the member at the next turn */
	bool spare;		/* joins as one */
	_Atomic int tid;
	unsigned int id;
	_Atomic int error;	/* what ended the loop */
	_Atomic unsigned long executed;
	void *priv;		/* of the test */
};

/* A thread that joins as a user worker and executes until ESHUTDOWN. */
struct dxt_worker *dxt_worker_start(struct dxt *t);
/* Start @nr; 0 or the first error of a member. */
int dxt_workers_start(struct dxt *t, unsigned int nr);
/* Asks it to leave after what it executes, joins and frees it. */
int dxt_worker_end(struct dxt_worker *w);
/* The same when the context is to end it. */
int dxt_worker_ended(struct dxt_worker *w);
/* The loop itself, for threads and processes of the test's own. */
int dxt_worker_loop(struct dxt_worker *w);
/* A child process with @nr worker threads; returns when they are members. */
pid_t dxt_worker_process(struct dxt *t, unsigned int nr);
/* fork(2), but the child does not outlive the test. */
pid_t dxt_fork(void);
/* Waits for the child; its wait status. */
int dxt_reap(pid_t pid);
/* Has the child ended? It is still to be reaped. */
bool dxt_gone(pid_t pid);
/* State of a member by id, from sysfs; "" when there is none. */
bool dxt_member_is(const struct dxt *t, unsigned int id, const char *state);

/* --- gates ----------------------------------------------------------------- */

/*
 * Holds requests in execution. It lies in shared memory and is but a futex, so a
 * process that is killed at a gate leaves it usable.
 */
struct dxt_gate {
	_Atomic unsigned int entered;	/* requests that came to it */
	_Atomic unsigned int left;	/* requests that went through */
	_Atomic unsigned int open;
	_Atomic unsigned int last;	/* worker id of the last one that came */
};

struct dxt_gate *dxt_gate_new(void);
void dxt_gate_open(struct dxt_gate *g);
void dxt_gate_close(struct dxt_gate *g);
void dxt_gate_free(struct dxt_gate *g);
void dxt_gate_pass(struct dxt_gate *g, unsigned int worker);

/* Memory that children share, zeroed; freed with munmap(). */
void *dxt_shared(size_t n);

/* Executors of general use */
int dxt_exe_nop(struct dxt_call *call);		/* status 0 */
int dxt_exe_param(struct dxt_call *call);	/* status is (int)param */
int dxt_exe_echo(struct dxt_call *call);	/* data back as result */
int dxt_exe_gate(struct dxt_call *call);	/* param: struct dxt_gate * */
int dxt_exe_count(struct dxt_call *call);	/* param: _Atomic unsigned int * */

/* Names: */
#define DXT_NOP		DXT_FN(dxt_exe_nop)
#define DXT_PARAM	DXT_FN(dxt_exe_param)
#define DXT_ECHO	DXT_FN(dxt_exe_echo)
#define DXT_GATE	DXT_FN(dxt_exe_gate)
#define DXT_COUNT	DXT_FN(dxt_exe_count)

#endif /* DXT_H */
