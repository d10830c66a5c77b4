/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdxk, the DX API: runtime, requests and Runnables under the names of the
 * Domino eXplorer, on top of the calls of <dxk.h>.
 *
 * Functions return 0 or a documented value, or a negative errno.
 * Timeouts are relative, in nanoseconds: a negative timeout has no end, 0 does not wait.
 *
 * Selection of the executive: a function whose name ends in Of takes the executive as its
 * first argument. %NULL there, and the function without Of, select the executive that the
 * calling thread works for (as a worker or command handler), else the first one that the
 * process created, else its environment: see ExecEnvironmentCreate(). -ENXIO if there is none.
 *
 * Threads: any thread, worker or not, may make every call except the destructor.
 * A thread becomes a member of the executive at its first call (DX-23) and
 * leaves it when it ends. After fork() the child has no executive: -ENXIO, or
 * -EPERM with an executive of the parent; the child may create its own.
 *
 * Signals: if a handler was installed with SA_RESTART, as signal(3) does, a call that waits
 * continues after the handler has run, until its original deadline. After any other handler the
 * call ends with -EINTR: use sigaction(2) to install a handler that is to end a wait.
 * SendCommand() always ends with -EINTR: a restart would send the command twice.
 */
#ifndef _DX_H
#define _DX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/dxk.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct OperationTable OperationTable;

/* --- settings -------------------------------------------------------------- */

/**
 * struct RunSettings - the basic configuration of an application
 * @AppName: its name in the log
 * @argc: number of arguments
 * @argv: the arguments; kept, not copied
 * @IsAddin: it is an add-in, which has a message queue of the name @AppName: see DOC:
 *	Add-ins. Not with MTExecutiveJoin(): -EINVAL
 * @LogPath: file of the persistent log, appended to and created if necessary; %NULL
 *	for standard error. LogRotate() opens it again. Opening a FIFO waits for its
 *	reader
 * @ContextName: the name by which other processes find the context, see dxk_ctx_join(); %NULL
 *	for no name. Step "context" and -EEXIST if it is taken
 * @ContextMode: the permissions of the context, 0..0777 as in DOC: permissions of
 *	<linux/dxk.h>; 0 for %DXK_MODE_DEFAULT of <dxk.h>, 0744
 * @Operations: the operations that workers of this process execute for other processes; %NULL
 *	for none. It must stay in place until the executive is destroyed
 * @Reserved: 0
 *
 * An application extends it with a struct of its own that begins with it::
 *
 *	typedef struct AppRunSettings {
 *		RunSettings base;
 *		unsigned int pages;
 *	} AppRunSettings;
 */
typedef struct RunSettings {
	const char *AppName;
	int argc;
	char **argv;
	bool IsAddin;
	const char *LogPath;
	const char *ContextName;
	unsigned int ContextMode;
	const OperationTable *Operations;
	void *Reserved[1];
} RunSettings;

/**
 * RunSettingsInit - the settings of an application that is not an add-in
 * @settings: out
 * @name: becomes AppName
 * @argc: number of arguments
 * @argv: the arguments
 */
void RunSettingsInit(RunSettings *settings, const char *name, int argc,
		     char **argv);

/**
 * enum DXLogWriter - who writes the persistent log while the context runs
 * @DX_LOG_WRITER_LIBRARY: a thread of the library
 * @DX_LOG_WRITER_KERNEL: the kernel. Even after the application's death it writes all that the
 *	application logged. LogPath must be a regular file of a real file system
 */
enum DXLogWriter {
	DX_LOG_WRITER_LIBRARY,
	DX_LOG_WRITER_KERNEL,
};

/**
 * struct ThreadManagerPolicy - the configuration of the runtime (DX-8)
 * @TPSchedMode: %TPOOL_MODE_CMLS or 0
 * @TPPrioPolicy: %PRIO_POLICY_AGERQS, %PRIO_POLICY_BOOST
 * @TPMaxThreads: number of workers of both kinds, 1..499; default the number of CPUs that the
 *	calling thread may run on, or fewer: as many as the CPU time in the quota of the
 *	process's cgroups (v2, cpu.max) corresponds to
 * @TPKernelThreads: how many of them are kernel threads, for requests with
 *	%PXR_KERNEL; default 0. The others are threads of this process
 * @TPReadyEntries: size of the Ready Pool
 * @TPRejoinEntries: size of the Rejoin Pool
 * @TPLogEntries: size of the Log Pool, a power of two
 * @TPHandleEntries: size of the Handle Table
 * @TPMaxRequests: hard limit of live requests
 * @TPDataSize: maximum number of bytes of data in and out of a request, 0..4096
 * @TPLanePct: percentage of workers and Ready Pool entries of lanes 0, 1 and 2
 * @TPBoostValue: what a boosted request gains in addition in each scheduler interval
 * @TPSchedInterval: milliseconds
 * @TPMonitorInterval: milliseconds
 * @TPDispatchInterval: milliseconds, 0 for event driven
 * @TPDispatch: enum dxk_dispatch
 * @TPLogFull: enum dxk_log_full
 * @TPRejoinFull: enum dxk_rejoin_full
 * @TPShutdown: %DXK_STOP_DRAIN or %DXK_STOP_CANCEL
 * @TPOnBlock: enum dxk_on_block, what happens when a worker sleeps in PostARequest(),
 *	RejoinWait() or a similar call: nothing, or it executes another request meanwhile in
 *	that call, or a spare worker thread takes its place: see DOC: Workers
 *	that wait
 * @TPOrder: enum dxk_order
 * @TPLogBatch: maximum number of messages that the log's writer takes out of the Log Pool per
 *	turn; the library's writer takes at most %DXK_BATCH_MAX
 * @TPSampleInterval: milliseconds between samples, 0 for none
 * @TPSampleEntries: number of samples that are kept
 * @TPReportAge: milliseconds after which a request that executes is reported, 0
 *	for never
 * @TPRedoMax: how often a request with %PXR_REDO may be begun
 * @TPFetchMax: maximum number of requests that a worker thread of this process fetches at a
 *	time, 1..%DXK_BATCH_MAX, default 1. More than one saves system calls, but
 *	the later ones wait in that worker and all complete together: only for
 *	programs in which no lane 3 request waits for another one
 * @TPLogWriter: enum DXLogWriter, who writes the log while the context runs
 * @TPStackSize: stack of a worker thread of this process in bytes, 0 for the
 *	default of the C library
 * @TPHelpDepth: with %DXK_ON_BLOCK_HELP: maximum number of requests that a worker begins while
 *	others of it wait; each needs stack, see @TPStackSize
 * @TPMaxSpares: with %DXK_ON_BLOCK_SPARE: maximum number of spare workers, of all processes
 * @TPUserShare: percentage that one user other than the owner of the context may have of what
 *	that user has and what is free together
 * @TPPreallocRequests: number of requests that Start allocates
 * @TPMaxWaiting: maximum number of requests that wait at a time, of those that are posted
 *	waiting; 0: none waits
 * @TPWaitReport: milliseconds after which a request that waits is reported, and again after
 *	each such time, unless it has %PXR_QUIET; 0 for never
 * @TPMinThreads: number of workers of each kind that the crew begins with, and keeps. More
 *	start, up to @TPMaxThreads, while requests are Ready and no worker of the kind is idle.
 *	0: as many as @TPMaxThreads
 * @TPSpareIdle: milliseconds that a worker above @TPMinThreads, or a spare above @TPMinSpares,
 *	is idle before its thread ends; 0: it stays
 * @TPKeyBatch: number of requests of a key that a worker is given in a row, before others that
 *	are as urgent
 * @TPMinSpares: with %DXK_ON_BLOCK_SPARE: number of spares of each kind that are started ahead
 *	and kept, so that EnterBlock() finds one; not more than @TPMaxSpares
 * @TPSpareAfter: with %DXK_ON_BLOCK_SPARE: milliseconds after which a spare takes the place of
 *	a worker that sleeps outside of dxk without EnterBlock(); 0 for never
 * @TPHomes: number of parts of the Ready Pool with workers of their own, which run on CPUs of
 *	their own: see RQOptions.Home; 0 for none
 * @TPSteal: 1: a worker that has nothing to do takes requests of another home
 * @TPSpaceWeight: requests are dispatched in rounds, and in each round a tenant has this many,
 *	unless it was admitted with another number; 0: no rounds; dxk_policy.space_weight
 * @TPAutotune: 1: the number of workers of each kind, @TPMinThreads or more, that gives the best
 *	throughput, as far as a search finds it: dxk_policy.autotune; 0: as many as there is use for
 * @TPHelpScope: enum dxk_help_scope: what a worker executes that helps while it waits
 * @Reserved: 0
 *
 * Ranges and defaults not given here are those of struct dxk_policy.
 */
typedef struct ThreadManagerPolicy {
	uint32_t TPSchedMode;
	uint32_t TPPrioPolicy;
	uint32_t TPMaxThreads;
	uint32_t TPKernelThreads;
	uint32_t TPReadyEntries;
	uint32_t TPRejoinEntries;
	uint32_t TPLogEntries;
	uint32_t TPHandleEntries;
	uint32_t TPMaxRequests;
	uint32_t TPDataSize;
	uint32_t TPLanePct[3];
	uint32_t TPBoostValue;
	uint32_t TPSchedInterval;
	uint32_t TPMonitorInterval;
	uint32_t TPDispatchInterval;
	uint32_t TPDispatch;
	uint32_t TPLogFull;
	uint32_t TPRejoinFull;
	uint32_t TPShutdown;
	uint32_t TPOnBlock;
	uint32_t TPOrder;
	uint32_t TPLogBatch;
	uint32_t TPSampleInterval;
	uint32_t TPSampleEntries;
	uint32_t TPReportAge;
	uint32_t TPRedoMax;
	uint32_t TPFetchMax;
	uint32_t TPLogWriter;
	size_t TPStackSize;
	uint32_t TPHelpDepth;
	uint32_t TPMaxSpares;
	uint32_t TPUserShare;
	uint32_t TPPreallocRequests;
	uint32_t TPMaxWaiting;
	uint32_t TPWaitReport;
	uint32_t TPMinThreads;
	uint32_t TPSpareIdle;
	uint32_t TPKeyBatch;
	uint32_t TPMinSpares;
	uint32_t TPSpareAfter;
	uint32_t TPHomes;
	uint32_t TPSteal;
	uint32_t TPSpaceWeight;
	uint32_t TPAutotune;
	uint32_t TPHelpScope;
	uint32_t Reserved[2];
} ThreadManagerPolicy;

/**
 * ThreadManagerPolicyInit - the default policy
 * @policy: out
 *
 * Queries the module for its defaults.
 *
 * Return: 0; a negative errno if the module cannot be queried: @policy then has
 * the defaults that the library knows.
 */
int ThreadManagerPolicyInit(ThreadManagerPolicy *policy);

/* --- the runtime ----------------------------------------------------------- */

/** MTExecutive - the runtime: services, Thread Manager and worker threads */
typedef struct MTExecutive MTExecutive;

/**
 * struct MTExecutiveError - the reason why there is no executive
 * @Error: negative errno
 * @Step: the step that failed: "settings", "environment", "platform", "message queue", "log",
 *	"context", "policy", "log writer", "start", "member", "workers", "command
 *	handler". A constant string
 * @Field: name of the field of the policy or of the settings that was refused
 *	("TPLanePct[1]", "LogPath"), else ""
 * @Reason: the reason of the refusal, in words ("0 is not in 1..1000"), else ""
 */
typedef struct MTExecutiveError {
	int Error;
	const char *Step;
	char Field[32];
	char Reason[160];
} MTExecutiveError;

/**
 * RunSettingsRead - settings and a policy from a file and the environment
 * @settings: as RunSettingsInit() leaves them, or filled in: values that are read replace them
 * @policy: likewise, of ThreadManagerPolicyInit(); %NULL: a file with a policy field is refused
 * @path: the file; %NULL for none
 * @error: out on failure, Step "settings": Field is the name, Reason the place and why; or %NULL
 *
 * A line of the file is ``NAME = VALUE``, is empty, or begins with ``#``. NAME is LogPath,
 * ContextName, ContextMode, whose value is octal, or a field of the policy under its name here
 * (``TPLanePct[1]``), whose value is a number, or names of constants with ``|`` between them
 * (``TPOOL_MODE_CMLS``). An empty LogPath or ContextName is %NULL. A variable of the environment
 * overrides the file: ``DX_`` and the name without brackets (``DX_TPLanePct1``). A program with
 * rights that its user does not have (setuid) reads no variables.
 *
 * MTExecutiveCreate() checks the values. The texts remain valid until the process ends.
 *
 * Return: 0, else a negative errno, and nothing has changed.
 */
int RunSettingsRead(RunSettings *settings, ThreadManagerPolicy *policy, const char *path,
		    MTExecutiveError *error);

/** DX_ERROR_TEXT - room for each text of MTExecutiveErrorText() */
#define DX_ERROR_TEXT		320

/**
 * MTExecutiveErrorText - describe an error in words
 * @error: of a call that failed
 * @text: out: the step, the field, the error and, if one is known, a remedy
 * @room: bytes at @text
 *
 * Return: @text.
 */
const char *MTExecutiveErrorText(const MTExecutiveError *error, char *text, size_t room);

/**
 * MTExecutiveCreate - the constructor (DX-1, DX-2, DX-3, DX-5, DX-6)
 * @settings: the base of the application's settings; not used after the return
 * @policy: %NULL for the defaults
 * @error: out on failure; may be %NULL
 *
 * Initialises the services in this order: elapsed timer, platform runtime
 * (/dev/dxk and the version of its contract), message queue of an add-in (-EEXIST:
 * an add-in of that name already exists; -EINVAL, -ENAMETOOLONG: it is not a valid name),
 * synchronous log. Then creates the Thread Manager and starts it, makes the
 * calling thread a member (the first is thread 0, DX-22) and starts the worker
 * threads of this process, which run with all but synchronous signals blocked.
 * If a step fails, the earlier steps are undone in reverse order.
 *
 * Return: the executive, %NULL on failure.
 */
MTExecutive *MTExecutiveCreate(const RunSettings *settings,
			       const ThreadManagerPolicy *policy,
			       MTExecutiveError *error);

/** ExecEnvironment - the services of an application before it has an executive, or without one */
typedef struct ExecEnvironment ExecEnvironment;

/**
 * ExecEnvironmentCreate - the services without an executive, for a single thread (DX-2)
 * @settings: kept, not copied: they stay in place until the environment is destroyed or has
 *	become an executive
 * @error: out on failure; may be %NULL. Step "environment" and -EEXIST: the process has one
 *
 * Initialises the elapsed timer, the message queue of an add-in, whose messages wait for an
 * executive, and the log, which is synchronous. The module is not needed.
 *
 * Calls that name no executive use the environment as long as there is none. Any thread may log.
 * A post executes the request at once, in its caller, which must be the thread that created the
 * environment (-EPERM), and its result is available when the post returns; a Runnable may also
 * post and collect. Queries and settings of the current request, results, their data, statuses and
 * answers are as with an executive, except that RQEWorker is 0. A wait for results never sleeps:
 * -EDEADLK if all remaining requests of the owner are executing, in outer calls.
 * Requests have up to 4096 bytes of data in and out.
 *
 * Priorities, lanes, %PXR_WAITIF_BUSY, %PXR_BOOST, %PXR_REDO, %PXR_QUIET and %PXR_FAIL_FAST have no
 * effect. %PXR_KERNEL, names, waits, keys, times and homes get -EOPNOTSUPP, and so does every
 * call for a context, its members, policy, commands and state: ShouldStop(), EnterBlock(). The
 * Handle Table has no room.
 *
 * Return: the environment, %NULL on failure.
 */
ExecEnvironment *ExecEnvironmentCreate(const RunSettings *settings, MTExecutiveError *error);

/**
 * ExecEnvironmentDestroy - the destructor; results that were not collected are discarded
 * @env: the environment; %NULL does nothing
 *
 * Return: 0; -EDEADLK while it executes a request; -EALREADY: it has become an executive, and is
 * destroyed with that; -EPERM: the caller is not the thread that created it, or is a child of that
 * process.
 */
int ExecEnvironmentDestroy(ExecEnvironment *env);

/**
 * ExecEnvironmentElapsed - its elapsed timer
 * @env: the environment, or %NULL: as MTExecutiveElapsed() of %NULL
 *
 * Return: nanoseconds since its construction began, 0 if there is none.
 */
uint64_t ExecEnvironmentElapsed(const ExecEnvironment *env);

/**
 * MTExecutiveCreateIn - from a single thread to many: an environment becomes an executive
 * @env: of the calling thread, which has collected all results; no other thread is in a call with
 *	it
 * @policy: %NULL for the defaults
 * @error: out on failure; may be %NULL. Step "environment": -EBUSY, there are results; or an error
 *	of ExecEnvironmentDestroy()
 *
 * Like MTExecutiveCreate() with the settings of the environment. The services of the environment
 * continue: the timer, the log and, except with %DX_LOG_WRITER_KERNEL, the numbers of its lines.
 * From here on @env belongs to the executive and is destroyed with it.
 *
 * Return: the executive; %NULL on failure, and @env is as it was.
 */
MTExecutive *MTExecutiveCreateIn(ExecEnvironment *env, const ThreadManagerPolicy *policy,
				 MTExecutiveError *error);

/**
 * struct ElapsedTimer - a timer of the application's own
 * @Started: when it was started, of CLOCK_MONOTONIC in ns
 * @Lapped: when the last lap ended
 */
typedef struct ElapsedTimer {
	uint64_t Started;
	uint64_t Lapped;
} ElapsedTimer;

/**
 * ElapsedTimerStart - start or restart a timer
 * @timer: out
 */
void ElapsedTimerStart(ElapsedTimer *timer);

/**
 * ElapsedTimerLap - end a lap
 * @timer: must have been started
 *
 * Return: nanoseconds since the previous lap, or since the start.
 */
uint64_t ElapsedTimerLap(ElapsedTimer *timer);

/**
 * ElapsedTimerRead - read how long a timer has been running
 * @timer: must have been started
 *
 * Return: nanoseconds since its start.
 */
uint64_t ElapsedTimerRead(const ElapsedTimer *timer);

/** DX_ANY_OWNER - of MTExecutiveJoin(): any owner of the context */
#define DX_ANY_OWNER		((int64_t)-1)

/**
 * MTExecutiveJoin - become a client of another process's context
 * @settings: as for MTExecutiveCreate(); its ContextName selects the context, its
 *	ContextMode is not used
 * @owner: the user that the context must belong to, or %DX_ANY_OWNER. Any user may have
 *	taken the name, and the owner of the context gets the data and files that are posted
 * @error: out on failure; may be %NULL. Step "context" and -EPERM: it belongs to another user
 *
 * The executive has no worker threads: its threads are clients that post and collect,
 * with owners of their own. Their posts name operations of the process that executes them, see
 * struct OperationTable. The log is LogPath, and synchronous. Calls that only the
 * context's owner may make (MTExecutiveStop(), MTExecutiveStart(), commands) get -EACCES;
 * MTExecutiveDestroy() leaves the context and stops nothing.
 *
 * Return: the executive, %NULL on failure.
 */
MTExecutive *MTExecutiveJoin(const RunSettings *settings, int64_t owner,
			     MTExecutiveError *error);

/**
 * MTExecutiveStop - Stop (DX-107, DX-108, DX-110, DX-112, DX-114)
 * @mte: the executive
 * @mode: enum dxk_stop_mode
 * @timeout_ns: how long to wait for requests that execute
 *
 * Results can be collected afterwards, until the executive is destroyed or started
 * again.
 *
 * Return: 0; -ETIMEDOUT or -EINTR while workers still execute (the executive
 * continues to stop, call again); -EDEADLK in a worker of @mte; -EINVAL, -EPERM.
 */
int MTExecutiveStop(MTExecutive *mte, unsigned int mode, int64_t timeout_ns);

/**
 * MTExecutiveStart - start it again after a Stop (DX-112)
 * @mte: the executive
 * @error: out on failure; may be %NULL
 *
 * Uses the current policy: while the executive is stopped, MTExecutiveSetPolicy() can
 * change every field of the module's. Its members, its command handler, native handles
 * and the log continue; workers are new threads. No other thread may begin a call with
 * @mte meanwhile.
 *
 * If another process has stopped and restarted the context, the threads of this process
 * have ended: this function then starts them, in the context that runs. If that fails, it stops
 * the context, because nobody would execute posted requests. It does so with %DXK_STOP_CANCEL, and
 * therefore waits for requests that others execute.
 *
 * Return: 0; -EBUSY if it runs or is still stopping, -EDEADLK in a worker or a handler of
 * @mte: nothing has changed; else the error, and it is stopped, and can be started again.
 */
int MTExecutiveStart(MTExecutive *mte, MTExecutiveError *error);

/**
 * MTExecutiveDestroy - the destructor: Stop, join the workers, free all
 * @mte: the executive; %NULL does nothing
 * @mode: enum dxk_stop_mode
 * @timeout_ns: how long to wait for requests that execute
 *
 * No other thread may be in a call with @mte or begin one; members of other
 * threads are closed. Waits for a call of the command handler that is in progress;
 * within such a call it is refused with -EDEADLK. If the log is a pipe, a terminal or a socket, it
 * waits for the reader as long as the reader reads: a reader that takes no line for two seconds
 * does not get the remaining lines.
 *
 * Return: 0, and @mte no longer exists; else as MTExecutiveStop(), and @mte still exists.
 */
int MTExecutiveDestroy(MTExecutive *mte, unsigned int mode, int64_t timeout_ns);

/**
 * MTExecutiveGetPolicy - the policy that is in effect (DX-9)
 * @mte: the executive, or %NULL
 * @policy: out
 *
 * Return: 0 or a negative errno.
 */
int MTExecutiveGetPolicy(MTExecutive *mte, ThreadManagerPolicy *policy);

/**
 * MTExecutiveSetPolicy - change dynamic fields of the policy (DX-9)
 * @mte: the executive, or %NULL
 * @policy: all fields, best from MTExecutiveGetPolicy()
 * @error: out on failure, its Field names what was refused; may be %NULL
 *
 * If the numbers of threads change, the crew grows before the call returns, and shrinks as
 * workers complete their requests: no worker is interrupted. If it grows while such workers are
 * still to leave, their places are filled when they have left. The command "set max_threads" of
 * another process and the field's file in sysfs soon have the same effect.
 *
 * Return: 0; -EBUSY for a field that is not dynamic, -EINVAL, -EOPNOTSUPP; the
 * error of a worker thread that could not be started (Step "workers"): the policy
 * is in effect and the library retries.
 */
int MTExecutiveSetPolicy(MTExecutive *mte, const ThreadManagerPolicy *policy,
			 MTExecutiveError *error);

/**
 * MTExecutiveElapsed - the default elapsed timer
 * @mte: the executive, or %NULL
 *
 * Return: nanoseconds since its construction began, or that of the environment that it has taken
 * over; 0 if there is none.
 */
uint64_t MTExecutiveElapsed(MTExecutive *mte);

/**
 * MTExecutiveContextFd - the context descriptor, for <dxk.h> and for poll(2)
 * @mte: the executive, or %NULL
 *
 * Return: the descriptor, which stays the executive's, or a negative errno.
 */
int MTExecutiveContextFd(MTExecutive *mte);

/**
 * MTExecutiveContextId - name of the directory below /sys/kernel/dxk
 * @mte: the executive, or %NULL
 *
 * Return: the id or a negative errno.
 */
int MTExecutiveContextId(MTExecutive *mte);

/**
 * MTExecutiveMemberFd - the calling thread's member descriptor
 * @mte: the executive, or %NULL
 *
 * For <dxk.h>, and for poll(2): in a client it becomes readable when the owner
 * whose last rejoin answered %RJR_NONE_READY has a result or nothing left. It is writable until
 * a post is refused with %PXR_POOL_FULL, %PXR_LANE_FULL or %PXR_REJOIN_FULL, and again when there
 * is room for that request.
 *
 * Return: the descriptor, which stays the executive's, or a negative errno.
 */
int MTExecutiveMemberFd(MTExecutive *mte);

/**
 * MTExecutiveThreadId - the calling thread's id (DX-22, DX-23)
 * @mte: the executive, or %NULL
 *
 * Return: 0 the main thread, 1..499 a worker, 1000.. another thread of the
 * application; or a negative errno.
 */
int MTExecutiveThreadId(MTExecutive *mte);

/**
 * MTExecutiveGetState - read one value of the context's state (DX-12, DX-115)
 * @mte: the executive, or %NULL
 * @name: a file below its directory in /sys/kernel/dxk: "state", "pools/ready_use",
 *	"threads/1/state", "stats/executed"
 * @text: out: the value without the newline at its end
 * @room: bytes at @text, including the byte for a zero
 *
 * Return: the length; -ENOENT if there is no such value, -EINVAL if @name is not a valid name of
 * a value, -EMSGSIZE if there is no room for it; another negative errno.
 */
int MTExecutiveGetState(MTExecutive *mte, const char *name, char *text, size_t room);

/**
 * LabelObject - name a Runnable, or an owner, for reports and tools
 * @object: the executor or the owner, as it is posted
 * @name: below %DXK_NAME_LEN bytes, graphic characters; empty or %NULL: removes the name
 *
 * Reports of stalls, circles and overdue requests, the built-in commands, dxkctl(8) and its
 * traces then show the name beside the address. The context remembers the newest
 * %DXK_LABELS.
 *
 * Return: 0; -EINVAL: it is not a valid name; -EACCES: the executive has joined a context in which
 * it may not execute; -ENXIO, -EOPNOTSUPP.
 */
int LabelObject(const void *object, const char *name);

/**
 * LabelObjectOf - as LabelObject(), of a given executive
 * @mte: the executive, or %NULL
 * @object: see LabelObject()
 * @name: see LabelObject()
 *
 * Return: see LabelObject().
 */
int LabelObjectOf(MTExecutive *mte, const void *object, const char *name);

/**
 * InstrumentAdd - count in a counter of the application's own (DX-20)
 * @name: of the counter, below %DXK_NAME_LEN bytes, graphic characters; a counter that does not
 *	exist is created and begins at 0
 * @value: is added; may be below 0
 *
 * %DXK_INSTRUMENTS of them are kept with the context, across Stop and Start, and are shown in its
 * file ``instruments``: see MTExecutiveGetState(). Several threads may count at a time.
 *
 * Return: 0; -EINVAL: it is not a valid name; -ENOSPC: there are as many others; -EACCES: the
 * executive has joined a context in which it may not execute; -ENXIO, -EOPNOTSUPP.
 */
int InstrumentAdd(const char *name, int64_t value);

/**
 * InstrumentAddOf - as InstrumentAdd(), of a given executive
 * @mte: the executive, or %NULL
 * @name: see InstrumentAdd()
 * @value: see InstrumentAdd()
 *
 * Return: see InstrumentAdd().
 */
int InstrumentAddOf(MTExecutive *mte, const char *name, int64_t value);

/**
 * InstrumentSet - set a counter of the application's own to a value, see InstrumentAdd()
 * @name: see InstrumentAdd()
 * @value: its new value
 *
 * Return: see InstrumentAdd().
 */
int InstrumentSet(const char *name, int64_t value);

/**
 * InstrumentSetOf - as InstrumentSet(), of a given executive
 * @mte: the executive, or %NULL
 * @name: see InstrumentSet()
 * @value: see InstrumentSet()
 *
 * Return: see InstrumentAdd().
 */
int InstrumentSetOf(MTExecutive *mte, const char *name, int64_t value);

/**
 * LogMessage - write a message to the persistent log (DX-3, DX-97..DX-103)
 * @format: as printf(3)
 *
 * Before Start and after Stop the log is synchronous: the message has been handed to
 * write(2) when the call returns. While the executive runs, the message enters the
 * Log Pool and is written in the background. If the pool is full TPLogFull decides;
 * with %DXK_LOG_BLOCK the call waits for room. If a message cannot be written because the
 * disk is full or broken, the write is retried, also across a Stop and a Start. A message that
 * can never be written, because the reader of a pipe is gone, is dropped. "n lost" also counts
 * such messages, and those that the destructor cannot write, as soon as a line can be written
 * again. A reader that does not read holds up callers that log, as it would hold up write(2). It
 * does not hold up a Stop, and holds up the destructor only as documented there.
 *
 * A line is "sequence monotonic-time UTC-time thread message", with
 * %DX_LOG_WRITER_KERNEL without the UTC-time. Thread is "-" if the caller is not a
 * member, and if the message is "n lost": this number of messages was dropped here. The library's
 * own messages never wait; they are dropped instead. A message
 * of %DXK_LOG_TEXT bytes or more is cut and marked " [cut]" (DX-102). A control
 * character becomes spaces, including U+0080..U+009F.
 *
 * Return: 0; -EINTR if a signal ended the wait for room: the message was not
 * taken; -ETIMEDOUT likewise if nobody makes room, see MTExecutiveStart(); a negative
 * errno of write(2) if the log is synchronous.
 */
int LogMessage(const char *format, ...)
	__attribute__((__format__(__printf__, 1, 2)));

/**
 * LogMessageOf - as LogMessage(), of a given executive
 * @mte: the executive, or %NULL
 * @format: as printf(3)
 *
 * Return: 0 or a negative errno.
 */
int LogMessageOf(MTExecutive *mte, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/**
 * enum DXSeverity - how urgent a message is
 * @DX_LOG_ERROR: something was not done; its line begins with "error: "
 * @DX_LOG_WARNING: something is not as it should be; "warning: "
 * @DX_LOG_INFO: what LogMessage() writes; nothing is added
 * @DX_LOG_DEBUG: for debugging; "debug: ". Not logged unless LogLevel() enables it
 */
enum DXSeverity {
	DX_LOG_ERROR = 1,
	DX_LOG_WARNING,
	DX_LOG_INFO,
	DX_LOG_DEBUG,
};

/**
 * LogMessageAt - as LogMessage(), with a severity
 * @severity: enum DXSeverity
 * @format: as printf(3)
 *
 * Return: see LogMessage(); 0 also for a message that LogLevel() leaves out; -EINVAL: there is no
 * such severity.
 */
int LogMessageAt(unsigned int severity, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/**
 * LogMessageAtOf - as LogMessageAt(), of a given executive
 * @mte: the executive, or %NULL
 * @severity: see LogMessageAt()
 * @format: as printf(3)
 *
 * Return: see LogMessageAt().
 */
int LogMessageAtOf(MTExecutive *mte, unsigned int severity, const char *format, ...)
	__attribute__((__format__(__printf__, 3, 4)));

/**
 * LogLevel - which messages are logged
 * @severity: the least urgent severity that is logged, default %DX_LOG_INFO; 0 only queries
 *
 * Applies to all executives of the process, and also to the library's own messages.
 *
 * Return: the previous severity; -EINVAL.
 */
int LogLevel(unsigned int severity);

/**
 * struct LogRecord - a message, as it is passed to the sink
 * @Severity: enum DXSeverity
 * @Own: 1: the library's own; else 0
 * @Thread: id of the thread that logs, -1 for none
 * @Reserved: 0
 * @Executive: whose log it is; %NULL: the environment's
 * @TimeNs: of CLOCK_MONOTONIC
 * @Text: the message without its severity; cut and cleaned as its line is
 */
typedef struct LogRecord {
	unsigned int Severity;
	unsigned int Own;
	int Thread;
	unsigned int Reserved;
	MTExecutive *Executive;
	uint64_t TimeNs;
	const char *Text;
} LogRecord;

/**
 * LogSink - set a function that sees each message that the process logs
 * @sink: called by the thread that logs, before the message goes to the log; several calls at a
 *	time. It returns 1 to keep the message out of the log, else 0. %NULL: none. It must neither
 *	end its thread nor fork(2); it is not called for messages that it logs itself
 * @arg: passed to @sink
 *
 * For syslog(3), a journal, a test. A process has one sink. It may be set before there is an
 * executive, and then also sees messages logged while the executive is created. Messages of the
 * module and of other processes are in the log only. When LogSink() returns, no call of an earlier
 * sink is in progress.
 *
 * Return: 0; -EDEADLK in a call of a sink.
 */
int LogSink(int (*sink)(void *arg, const LogRecord *record), void *arg);

/**
 * LogRotate - continue with a new file at LogPath, after the old one was renamed
 *
 * Opens LogPath again. Each message is in one of the two files, none is in
 * both, and their order is kept. With %DX_LOG_WRITER_KERNEL all messages logged before
 * the call are in the old file.
 *
 * Return: 0; -EINVAL if the log is on standard error, -EINTR, or the error of
 * opening LogPath: the log stays with the old file.
 */
int LogRotate(void);

/**
 * LogRotateOf - as LogRotate(), of a given executive
 * @mte: the executive, or %NULL
 *
 * Return: see LogRotate().
 */
int LogRotateOf(MTExecutive *mte);

/* --- Runnables ------------------------------------------------------------- */

typedef struct Runnable Runnable;

/**
 * struct Runnable - an object that executes requests
 * @ExecuteThisRequest: executes one request in a worker; its return value is the
 *	request's status (DX-80, DX-85). Several workers may call one Runnable
 *	in parallel (DX-104). It may post and collect requests (DX-105)
 *
 * Embed it in the application's object. It must stay in place while a
 * request names it. A Runnable executes only requests of this process: see
 * struct OperationTable.
 */
struct Runnable {
	int (*ExecuteThisRequest)(Runnable *self, void *request);
};

/**
 * enum RQEStates - states of a request (DX-34)
 * @RQE_FREE: no request
 * @RQE_POSTED: handed in, not yet in the Ready Pool
 * @RQE_READY: in the Ready Pool
 * @RQE_DISPATCHED: given to a worker
 * @RQE_BUSY: a worker executes it
 * @RQE_REJOIN: executed, handed to its owner
 * @RQE_WAITING: it waits without a worker, see WaitRequest()
 *
 * In the copies that a program gets it sees %RQE_BUSY and %RQE_REJOIN. RequestState() reports
 * the states of requests that are elsewhere.
 */
enum RQEStates {
	RQE_FREE,
	RQE_POSTED,
	RQE_READY,
	RQE_DISPATCHED,
	RQE_BUSY,
	RQE_REJOIN,
	RQE_WAITING,
};

/**
 * struct RQElement - a Request Queue Element, a copy that does not change
 * @RQEState: enum RQEStates
 * @RQEAttrs: PXR_* bits as posted
 * @RQEPriority: its priority when it was dispatched (DX-63)
 * @RQEInspectCount: number of scheduler intervals that it spent in the Ready Pool (DX-36)
 * @pOObject: the owner
 * @pXObject: the executing object, a Runnable or a %DX_OPERATION; %NULL with %PXR_KERNEL
 * @pPObject: the parameter object, the request
 * @RQEKernelExecutor: with %PXR_KERNEL the id of the kernel executor
 * @pData: while busy the data that was posted; after rejoin the result's data
 * @RQEDataLen: bytes at @pData
 * @RQEResultRoom: while busy: bytes that SetRequestResult() may give
 * @RQEStatus: after rejoin: what ExecuteThisRequest returned, or -ECANCELED: it
 *	was cancelled before it ran, -EOWNERDEAD: its worker died
 * @RQEWorker: thread id of its worker, 0 if none executed it
 * @RQEAttempts: how often it was begun, including this time: above 1 if workers
 *	died while they executed it (%PXR_REDO)
 * @RQEFd: while busy, with %PXR_FD: a descriptor of the file that was handed
 *	over, closed when the request ends; else -1
 * @RQEWake: while busy: enum dxk_wake_reason: the reason of this turn, see WaitRequest()
 * @RQEEvents: with %DXK_WAKE_FILE the events of the file, EPOLL* or %DXK_EVENT_GONE
 * @RQETurn: while busy: number of its turns that have ended with a wait
 * @RQEWaitState: while busy: RQWait.State of its last wait
 * @pName: while busy: its name, or %NULL
 * @RQEKey: while busy: its key, or 0
 * @RQENested: while busy: 1: it is executed within the request that has its key, see
 *	enum dxk_reentry
 * @Reserved: 0
 */
typedef struct RQElement {
	uint32_t RQEState;
	uint32_t RQEAttrs;
	int32_t RQEPriority;
	uint32_t RQEInspectCount;
	void *pOObject;
	void *pXObject;
	void *pPObject;
	uint64_t RQEKernelExecutor;
	const void *pData;
	uint32_t RQEDataLen;
	uint32_t RQEResultRoom;
	int32_t RQEStatus;
	uint32_t RQEWorker;
	uint32_t RQEAttempts;
	int RQEFd;
	uint32_t RQEWake;
	uint32_t RQEEvents;
	uint32_t RQETurn;
	uint64_t RQEWaitState;
	void *pName;
	uint64_t RQEKey;
	uint32_t RQENested;
	uint32_t Reserved;
} RQElement;

/**
 * RequestState - find out where a posted request is (DX-34)
 * @owner: as posted
 * @request: as posted, the parameter object; if several are alike, any one of them
 * @element: out: what is known of it: the current RQEPriority and RQEInspectCount while it
 *	is Ready, RQEWorker while it is busy; or %NULL
 *
 * The answer is a snapshot: the request proceeds while the answer is returned, and a request that
 * moves may not be found at all. GetRejoinRequest() gives a certain answer. The cost of the call
 * grows with the number of requests, so it is for monitoring. It looks at requests of all who have
 * the context open: in a context that others join, nobody else may use the numbers @owner and
 * @request.
 *
 * Return: %RQE_READY, %RQE_BUSY: a worker has it, %RQE_WAITING; %RQE_FREE: none of these: it was
 * not posted, or has been executed; -EAGAIN: not found, but there are more than can be reported,
 * see struct dxk_requests_read; -EACCES: the executive has only joined the context; -ENXIO, -EPERM.
 */
int RequestState(void *owner, const void *request, RQElement *element);

/**
 * RequestStateOf - as RequestState(), of a given executive
 * @mte: the executive, or %NULL
 * @owner: see RequestState()
 * @request: see RequestState()
 * @element: see RequestState()
 *
 * Return: see RequestState().
 */
int RequestStateOf(MTExecutive *mte, void *owner, const void *request, RQElement *element);

/**
 * CurrentRequest - the request that the calling worker executes
 *
 * Return: its element, valid until ExecuteThisRequest returns; %NULL in a thread
 * that executes none.
 */
const RQElement *CurrentRequest(void);

/**
 * SetRequestResult - set the result data of the request that the caller executes
 * @data: the bytes, copied
 * @len: how many, at most RQEResultRoom
 *
 * The last call counts. The owner gets the data with GetRejoinElement().
 *
 * Return: 0; -EMSGSIZE, or -EPERM in a thread that executes no request.
 */
int SetRequestResult(const void *data, size_t len);

/**
 * TakeRequestFd - take over the file that came with the current request
 *
 * Return: RQEFd, which the caller must close from now on; -ENOENT if there is none
 * (any more), -EPERM in a thread that executes no request.
 */
int TakeRequestFd(void);

/**
 * ShouldStop - query whether the caller should end soon (DX-109)
 * @timeout_ns: 0 only queries; otherwise sleeps until the answer is yes
 *
 * A Runnable that serves for the duration of the application (%PXR_LANE0) calls
 * this in its loop and returns once the answer is 1, from the start of any Stop
 * on. Other requests get this answer only from Stop(cancel). A thread that executes no
 * request gets the answer of a service.
 *
 * Return: 1 yes, 0 not so far, or a negative errno.
 */
int ShouldStop(int64_t timeout_ns);

/* --- requests of other processes --------------------------------------------- */

/** DX_OPERATIONS - numbers of operations are below this, addresses are above it */
#define DX_OPERATIONS		4096

/** DX_OPERATION - an operation, by its number, as the executor of a request */
#define DX_OPERATION(number)	((Runnable *)(uintptr_t)(number))

/*
 * Executes a request that names its number, as CurrentRequest() gives it, and returns its
 * status; see struct OperationTable.
 */
typedef int (*Operation)(const RQElement *request);

/**
 * struct OperationTable - the operations that a process executes for others, by number
 * @Operations: by number, 1..@Count - 1; %NULL where there is none. The first is not used
 * @Count: elements at @Operations, at most %DX_OPERATIONS
 * @Reserved: 0
 *
 * The executor of a request is an address only in the process that posted it, until it
 * calls exec(2), and so are its owner and its parameter. An operation therefore treats pOObject
 * and pPObject as numbers, and takes the contents of a request from pData and RQEFd. Every user
 * who may post to the context could name any address; therefore a request of another process,
 * including a child, must name a number of the table of the process that executes it, see
 * %DX_OPERATION. A request that does not is not executed: its status is -ENOSYS. Requests of
 * the process itself may also name numbers.
 */
struct OperationTable {
	const Operation *Operations;
	unsigned int Count;
	unsigned int Reserved;
};

/**
 * struct RQPoster - the poster of a request
 * @Uid: effective user at the time of the post; ~0 if it has no number in this user namespace
 * @Gid: effective group at that time; likewise
 * @Pid: the process, which may have ended since; 0: of the kernel's own, or without a
 *	number in this pid namespace
 * @Own: 1: this process, since its last exec(2); else 0
 */
typedef struct RQPoster {
	uint32_t Uid;
	uint32_t Gid;
	uint32_t Pid;
	uint32_t Own;
} RQPoster;

/**
 * CurrentPoster - the poster of the request that the calling worker executes
 * @poster: out
 *
 * Return: 0, or -EPERM in a thread that executes no request.
 */
int CurrentPoster(RQPoster *poster);

/* --- commands -------------------------------------------------------------- */

typedef struct CommandHandler CommandHandler;

/**
 * struct CommandHandler - an object that handles commands (DX-29, DX-30)
 * @Tick: called once per monitor interval, to handle timers and queues of the
 *	application's own; may be %NULL. A handler that is late is called once for all
 *	ticks that it missed
 * @HandleCommand: called for each command, with room for a zero-terminated reply.
 *	It returns 0 or a negative errno; -ENOENT for a command that it does not
 *	know, which then goes to the executive. In this way it adds commands and replaces
 *	the executive's; with SendCommand() it reaches the replaced one. May be %NULL
 *
 * Embed it in the application's object. Both functions are called by one thread of the
 * library, never at the same time, and may block: nothing else waits for them
 * (DX-32), except commands. They must not end their thread.
 */
struct CommandHandler {
	void (*Tick)(CommandHandler *self);
	int (*HandleCommand)(CommandHandler *self, const char *command, char *reply,
			     size_t room);
};

/**
 * AttachCommandHandler - set the command handler (DX-29, DX-31)
 * @handler: replaces the current one; %NULL for none
 *
 * When this call returns, no call of an earlier handler of this process is in progress and
 * none will come: it waits for a call in progress, and earlier handlers may then be freed. The
 * thread that calls the handler is created by the first attach and ends with the
 * detach; without a handler there are no ticks and nothing wakes.
 *
 * A context has one handler: a process that attaches a handler replaces that of another
 * process, which is notified only in its log.
 *
 * Return: 0; -EDEADLK in a call of the handler, -EPERM, -ENOMEM, -EAGAIN.
 */
int AttachCommandHandler(CommandHandler *handler);

/**
 * AttachCommandHandlerOf - as AttachCommandHandler(), of a given executive
 * @mte: the executive, or %NULL
 * @handler: see AttachCommandHandler()
 *
 * Return: see AttachCommandHandler().
 */
int AttachCommandHandlerOf(MTExecutive *mte, CommandHandler *handler);

/**
 * SendCommand - have a command executed
 * @command: to the handler or, if the handler does not know it or there is none, to
 *	the executive: "show threads|pools|lanes|owners|waiting|keys|commands",
 *	"set FIELD VALUE", "drain", "quit", "cancel ID", "log rotate"
 * @reply: out, zero-terminated, cut if it is longer; may be %NULL
 * @room: bytes at @reply
 * @timeout_ns: how long to wait for the reply; 0 does not wait and gets none
 *
 * "log rotate" is LogRotate(): in the handler's process, else in the sender's; with
 * @timeout_ns 0 in the sender's also if another process has the handler.
 *
 * Return: bytes of the reply without its zero, including those cut; the negative errno
 * of the command, with the reply that explains it; -ENOENT if nobody knows it,
 * -EAGAIN if too many wait, -ETIMEDOUT or -EINTR (it may still run),
 * -ESHUTDOWN, -EMSGSIZE, -EINVAL.
 */
int SendCommand(const char *command, char *reply, size_t room, int64_t timeout_ns);

/**
 * SendCommandOf - as SendCommand(), to a given executive
 * @mte: the executive, or %NULL
 * @command: see SendCommand()
 * @reply: see SendCommand()
 * @room: see SendCommand()
 * @timeout_ns: see SendCommand()
 *
 * Return: see SendCommand().
 */
int SendCommandOf(MTExecutive *mte, const char *command, char *reply, size_t room,
		  int64_t timeout_ns);

/**
 * DOC: Add-ins
 *
 * An add-in (IsAddin of its RunSettings) has a message queue, from the start of its
 * construction to its end. Through it a server, its administrator ("dxkctl tell") or
 * another process of its user sends it commands. They are those of SendCommand(): the
 * command handler gets them, including "quit", and the executive executes those that the
 * handler does not know. A thread that sleeps in ShouldStop(-1) thus learns that the add-in is
 * to end.
 *
 * The queue is a socket of the name AppName: 1 to 31 visible ASCII characters, no
 * slash, not beginning with a dot. It is in a directory for its user alone, created if
 * necessary: /run/dxk for root, else dxk below $XDG_RUNTIME_DIR or /run/user/UID; a directory
 * that others may write to is refused with -EPERM. Only the user and root can send. The
 * name of a process that was killed is free: a process that takes the name takes over the socket.
 *
 * Messages are executed one after the other, the next at the latest after 10 s: the
 * sender of a command that takes longer gets -ETIMEDOUT. Messages of senders that have given up
 * are not executed; messages that wait when the add-in ends get -ESHUTDOWN.
 */

/**
 * SendCommandTo - have a command executed by an add-in, possibly of another process
 * @addin: its name, see DOC: Add-ins; or, with a slash, the path of its socket
 * @command: see SendCommand()
 * @reply: see SendCommand()
 * @room: see SendCommand()
 * @timeout_ns: how long to wait for the reply, of which the execution may take at most 10 s;
 *	0 does not wait and gets none
 *
 * Needs no executive. Not for the handler of that add-in: the call would wait for the
 * handler's next call.
 *
 * Return: see SendCommand(); -ENXIO if there is no add-in of that name, -EACCES or
 * -EPERM if it is another user's, -EAGAIN if too many wait, -EINVAL,
 * -ENAMETOOLONG.
 */
int SendCommandTo(const char *addin, const char *command, char *reply, size_t room,
		  int64_t timeout_ns);

/**
 * SendCommandAt - send a command that runs later
 * @command: see SendCommand(); "log rotate" needs a handler that is attached at that time
 * @at_ns: time of CLOCK_MONOTONIC in nanoseconds. It runs at the first tick of the
 *	Monitor that is not earlier
 *
 * Timed commands are discarded at Stop.
 *
 * Return: its id, above 0; -EAGAIN if there are already 64, -ESHUTDOWN, -EMSGSIZE,
 * -EINVAL.
 */
int SendCommandAt(const char *command, uint64_t at_ns);

/**
 * SendCommandAtOf - as SendCommandAt(), to a given executive
 * @mte: the executive, or %NULL
 * @command: see SendCommandAt()
 * @at_ns: see SendCommandAt()
 *
 * Return: see SendCommandAt().
 */
int SendCommandAtOf(MTExecutive *mte, const char *command, uint64_t at_ns);

/**
 * SendCommandEvery - send a command that runs again and again
 * @command: see SendCommandAt()
 * @every_ns: interval in nanoseconds; it runs for the first time at the next tick.
 *	A run that is due while the earlier one still waits is skipped
 *
 * Return: see SendCommandAt().
 */
int SendCommandEvery(const char *command, uint64_t every_ns);

/**
 * SendCommandEveryOf - as SendCommandEvery(), to a given executive
 * @mte: the executive, or %NULL
 * @command: see SendCommandEvery()
 * @every_ns: see SendCommandEvery()
 *
 * Return: see SendCommandAt().
 */
int SendCommandEveryOf(MTExecutive *mte, const char *command, uint64_t every_ns);

/**
 * CancelCommand - cancel a timed command
 * @id: from SendCommandAt() or SendCommandEvery()
 *
 * A run that already waits for the handler is still executed.
 *
 * Return: 0; -ESRCH if there is none (any more), -EINVAL.
 */
int CancelCommand(int id);

/**
 * CancelCommandOf - as CancelCommand(), of a given executive
 * @mte: the executive, or %NULL
 * @id: see CancelCommand()
 *
 * Return: see CancelCommand().
 */
int CancelCommandOf(MTExecutive *mte, int id);

/* --- posting --------------------------------------------------------------- */

/**
 * DOC: Workers that wait
 *
 * A Runnable may sleep in PostARequest(), PostRequests(), RejoinWait(),
 * GetRejoinElement() and GetRejoinRequests(). TPOnBlock determines what its thread
 * does meanwhile:
 *
 * ======================  =====================================================
 * DXK_ON_BLOCK_STRICT     nothing: lanes, and the number of threads, must
 *                         ensure that the requests it waits for are executed
 * DXK_ON_BLOCK_HELP       it executes Ready requests, each within that call: a
 *                         Runnable is called by a thread that is in another one,
 *                         maybe in itself. So a Runnable must not wait while it
 *                         holds a lock that another one takes. The call returns
 *                         when such a request has ended, which may be after its
 *                         timeout. CurrentRequest() and similar calls mean the
 *                         inner request until it ends, then the outer one again
 * DXK_ON_BLOCK_SPARE      nothing, but a spare thread executes in its place.
 *                         Spares are started when they are first needed and stay
 *                         until Stop
 * ======================  =====================================================
 */

/**
 * PostARequest - post a request (DX-37..DX-48)
 * @request: the parameter object, given to ExecuteThisRequest
 * @executor: executes it, not %NULL: a Runnable of this process, or a %DX_OPERATION of
 *	the process that executes it
 * @owner: any address; groups requests for GetRejoinRequest(). Usually the
 *	parent request. A thread that waits for an owner must not execute a request of that owner.
 *	Note that an array of requests has the address of its first one
 * @priority: larger is more urgent; lower levels of a hierarchy should have
 *	higher ones (DX-58)
 * @flags: %PXR_REJOIN, %PXR_BOOST, %PXR_REDO to run it again if its worker
 *	dies, at most one of %PXR_LANE0, %PXR_LANE1,
 *	%PXR_LANE2 and %PXR_LANE_CHILD (the lane below that of the request which posts
 *	it), and %PXR_WAITIF_BUSY to sleep while there is no room. %PXR_KERNEL
 *	and %PXR_FD need PostRequests() (-EINVAL)
 *
 * Return: 0 when the request was taken; %PXR_POOL_FULL, %PXR_LANE_FULL,
 * %PXR_LANE_CLOSED, %PXR_REJOIN_FULL; -ENOSPC, -EDQUOT, -EINTR, -ESHUTDOWN, -EDEADLK,
 * -EINVAL, -EOPNOTSUPP, -ENOMEM if not. Every value other than 0 means that it was not taken;
 * PostErrorText() is for both kinds.
 */
int PostARequest(void *request, Runnable *executor, void *owner, int priority,
		 unsigned int flags);

/**
 * PostARequestOf - as PostARequest(), to a given executive
 * @mte: the executive, or %NULL
 * @request: see PostARequest()
 * @executor: see PostARequest()
 * @owner: see PostARequest()
 * @priority: see PostARequest()
 * @flags: see PostARequest()
 *
 * Return: see PostARequest().
 */
int PostARequestOf(MTExecutive *mte, void *request, Runnable *executor,
		   void *owner, int priority, unsigned int flags);

/**
 * PostErrorText - describe in words why a request was not taken
 * @rc: the return value of PostARequest(), or a reason that PostRequests() returned
 *
 * Return: a text; as with strerror(3) one that the next call may overwrite.
 */
const char *PostErrorText(int rc);

/**
 * struct RQPost - a request to post, with all its fields
 * @pOObject: the owner
 * @pXObject: the executing object, or a %DX_OPERATION; not read with %PXR_KERNEL
 * @pPObject: the parameter object, the request
 * @RQEKernelExecutor: with %PXR_KERNEL the id from FindKernelExecutor()
 * @RQEPriority: larger is more urgent
 * @RQEAttrs: PXR_* bits
 * @pData: @RQEDataLen bytes that travel with the request, copied
 * @RQEDataLen: at most the policy's TPDataSize
 * @RQEResultRoom: room for the result's data, at most TPDataSize
 * @RQEFd: with %PXR_FD an open file, which stays the caller's, of a kind that can be
 *	handed over (-ELOOP); else not read
 * @Reserved: 0
 *
 * Fields that are 0 are not used.
 */
typedef struct RQPost {
	void *pOObject;
	Runnable *pXObject;
	void *pPObject;
	uint64_t RQEKernelExecutor;
	int32_t RQEPriority;
	uint32_t RQEAttrs;
	const void *pData;
	uint32_t RQEDataLen;
	uint32_t RQEResultRoom;
	int RQEFd;
	uint32_t Reserved[3];
} RQPost;

/**
 * PostRequests - post many requests
 * @posts: the requests, taken in this order
 * @nr: how many, 1..INT_MAX
 * @timeout_ns: ends the sleep of requests with %PXR_WAITIF_BUSY
 * @reason: out, when fewer than @nr were taken: PXR_POOL_FULL..PXR_NO_SPACE for
 *	the first that was not, 0 when another error ended the call; may be %NULL
 *
 * Return: how many were taken, as write(2) does; see dxk_post() for the errors
 * if none was.
 */
int PostRequests(const RQPost *posts, unsigned int nr, int64_t timeout_ns,
		 unsigned int *reason);

/**
 * PostRequestsOf - as PostRequests(), to a given executive
 * @mte: the executive, or %NULL
 * @posts: see PostRequests()
 * @nr: see PostRequests()
 * @timeout_ns: see PostRequests()
 * @reason: see PostRequests()
 *
 * Return: see PostRequests().
 */
int PostRequestsOf(MTExecutive *mte, const RQPost *posts, unsigned int nr,
		   int64_t timeout_ns, unsigned int *reason);

/**
 * FindKernelExecutor - the id of a kernel executor
 * @name: its name
 * @id: out, for RQPost.RQEKernelExecutor
 *
 * Return: 0; -ENOENT if no module has registered the name, -EINVAL.
 */
int FindKernelExecutor(const char *name, uint64_t *id);

/**
 * FindKernelExecutorOf - as FindKernelExecutor(), with a given executive
 * @mte: the executive, or %NULL
 * @name: see FindKernelExecutor()
 * @id: see FindKernelExecutor()
 *
 * Return: see FindKernelExecutor().
 */
int FindKernelExecutorOf(MTExecutive *mte, const char *name, uint64_t *id);

/* --- requests that wait ---------------------------------------------------- */

/**
 * DOC: Requests that wait
 *
 * Instead of sleeping in its thread, a Runnable can end its turn with a wait: ``return
 * WaitRequest(&wait);``. The request then has no thread. It is executed again, by any worker of
 * any process of the context that can, when the first of the events it waits for has happened.
 * CurrentRequest() contains the event (RQEWake), and the state and the data that the previous turn
 * has left. An event that happened before the wait began ends it at once, so nothing is missed.
 *
 * %DXK_WAKE_CANCEL, %DXK_WAKE_EXPIRE and %DXK_WAKE_STOP ask the request to end: each further wait
 * is over at once. The policy's TPMaxWaiting must not be 0 (-EOPNOTSUPP).
 */

/** RQ_WAITS - return value of WaitRequest(): the turn ends with a wait. Not a status */
#define RQ_WAITS		(-0x7fffffff)

/**
 * struct RQWait - what a request waits for
 * @Sources: %DXK_WAIT_TIME, _CALL, _FILE, _RESULT, _JOIN: the first that happens; or
 *	%DXK_WAIT_AGAIN alone. With them %DXK_WAIT_PRIO, %DXK_WAIT_MASKED, and
 *	%DXK_WAIT_MOVE or %DXK_WAIT_ALONE; with %DXK_WAIT_JOIN %DXK_WAIT_EAGER
 * @Events: with %DXK_WAIT_FILE some of %DXK_WAIT_EVENTS
 * @TimeoutNs: with %DXK_WAIT_TIME, if @Deadline is 0: how long from now on
 * @Deadline: with %DXK_WAIT_TIME: a time of CLOCK_MONOTONIC in ns. Adding to it makes a period
 *	that does not drift
 * @pOObject: with %DXK_WAIT_RESULT or %DXK_WAIT_JOIN: the owner that has a result, or has
 *	nothing coming
 * @Fd: with %DXK_WAIT_FILE an open file
 * @Priority: with %DXK_WAIT_PRIO: its priority from then on
 * @State: RQElement.RQEWaitState of the next turn
 * @Key: with %DXK_WAIT_MOVE: its key from then on
 * @pData: @DataLen bytes that the next turn has, copied; at most RQEResultRoom
 * @DataLen: 0: none
 * @Reserved: 0
 *
 * See struct dxk_wait.
 */
typedef struct RQWait {
	uint32_t Sources;
	uint32_t Events;
	int64_t TimeoutNs;
	uint64_t Deadline;
	void *pOObject;
	int Fd;
	int32_t Priority;
	uint64_t State;
	uint64_t Key;
	const void *pData;
	uint32_t DataLen;
	uint32_t Reserved;
} RQWait;

/**
 * WaitRequest - end this turn of the calling worker's request with a wait
 * @wait: what to wait for
 *
 * The wait takes effect when the Runnable returns the value of this call; if it returns another
 * value, the request ends, and the wait is discarded. If the module then refuses the wait, for
 * instance for a descriptor that is not open, the request ends with that error as its status.
 *
 * Return: %RQ_WAITS; -EPERM: not in a Runnable; -EOPNOTSUPP: the policy's TPMaxWaiting is 0;
 * -EMSGSIZE, -EINVAL.
 */
int WaitRequest(const RQWait *wait);

/**
 * struct RQOptions - options that most posts do not need
 * @pName: its name: an address or a number, unique among the requests of the descriptor's space
 *	that have not ended (-EEXIST); %NULL: none (%PXR_NAMED)
 * @ExpireNs: how long from now on it may take: then it ends with -ETIME if it was not given to a
 *	worker, else it is asked to end; 0: no limit (%PXR_EXPIRE)
 * @Wait: if its Sources are not 0, the request begins waiting (%PXR_WAIT). It has no data
 * @Key: of the requests with one key, one has its turn at a time, in the order of their
 *	priorities; 0: none (%PXR_KEY)
 * @Reentry: with a key: enum dxk_reentry
 * @Home: 1 and up: workers of home 1 + (Home - 1) % TPHomes execute it, in each of its turns; 0:
 *	all (%PXR_HOME). Of lane 3, and not boosted
 */
typedef struct RQOptions {
	const void *pName;
	int64_t ExpireNs;
	RQWait Wait;
	uint64_t Key;
	uint32_t Reentry;
	uint32_t Home;
} RQOptions;

/**
 * PostARequestWith - as PostARequest(), for a request that has a name or a key, waits, or expires
 * @request: see PostARequest()
 * @executor: see PostARequest()
 * @owner: see PostARequest()
 * @priority: see PostARequest()
 * @flags: see PostARequest(), %PXR_FAIL_FAST and %PXR_QUIET. The bits for the contents of @options
 *	are added
 * @options: the options of the request
 *
 * Return: as PostARequest(); -EEXIST, -EOPNOTSUPP: TPMaxWaiting is 0, -ECANCELED: the key
 * refuses posts, and the errors of waits in struct dxk_post_more.
 */
int PostARequestWith(void *request, Runnable *executor, void *owner, int priority,
		     unsigned int flags, const RQOptions *options);

/**
 * PostARequestWithOf - as PostARequestWith(), to a given executive
 * @mte: the executive, or %NULL
 * @request: see PostARequestWith()
 * @executor: see PostARequestWith()
 * @owner: see PostARequestWith()
 * @priority: see PostARequestWith()
 * @flags: see PostARequestWith()
 * @options: see PostARequestWith()
 *
 * Return: see PostARequestWith().
 */
int PostARequestWithOf(MTExecutive *mte, void *request, Runnable *executor, void *owner,
		       int priority, unsigned int flags, const RQOptions *options);

/**
 * PostRequestsWith - as PostRequests(), for requests that have names, wait, or expire
 * @posts: the requests
 * @options: the options of each request
 * @nr: how many, 1..INT_MAX
 * @timeout_ns: see PostRequests()
 * @reason: see PostRequests()
 *
 * Return: see PostRequests() and PostARequestWith().
 */
int PostRequestsWith(const RQPost *posts, const RQOptions *options, unsigned int nr,
		     int64_t timeout_ns, unsigned int *reason);

/**
 * PostRequestsWithOf - as PostRequestsWith(), to a given executive
 * @mte: the executive, or %NULL
 * @posts: see PostRequestsWith()
 * @options: see PostRequestsWith()
 * @nr: see PostRequestsWith()
 * @timeout_ns: see PostRequestsWith()
 * @reason: see PostRequestsWith()
 *
 * Return: see PostRequestsWith().
 */
int PostRequestsWithOf(MTExecutive *mte, const RQPost *posts, const RQOptions *options,
		       unsigned int nr, int64_t timeout_ns, unsigned int *reason);

/**
 * WakeRequest - call a request by its name
 * @name: as posted
 *
 * It ends the wait of a request that waits for a call; of another request it ends the next such
 * wait.
 *
 * Return: 0; -ENOENT: there is none, or it has ended; -EOPNOTSUPP.
 */
int WakeRequest(const void *name);

/**
 * WakeRequestOf - as WakeRequest(), of a given executive
 * @mte: the executive, or %NULL
 * @name: see WakeRequest()
 *
 * Return: see WakeRequest().
 */
int WakeRequestOf(MTExecutive *mte, const void *name);

/**
 * CancelRequest - end a request by its name
 * @name: as posted
 *
 * Return: %DXK_CANCEL_ENDED: no worker was given it, and it ends with -ECANCELED;
 * %DXK_CANCEL_TOLD: it is asked to end, by ShouldStop() while it executes, or by its next turn;
 * -ENOENT, -EOPNOTSUPP.
 */
int CancelRequest(const void *name);

/**
 * CancelRequestOf - as CancelRequest(), of a given executive
 * @mte: the executive, or %NULL
 * @name: see CancelRequest()
 *
 * Return: see CancelRequest().
 */
int CancelRequestOf(MTExecutive *mte, const void *name);

/**
 * CancelRequests - end all requests of an owner
 * @owner: whose
 *
 * As if each had a name and CancelRequest() were called for it. It needs no TPMaxWaiting.
 *
 * Return: how many had not ended; -ENOENT: the owner has no requests.
 */
int CancelRequests(void *owner);

/**
 * CancelRequestsOf - as CancelRequests(), of a given executive
 * @mte: the executive, or %NULL
 * @owner: see CancelRequests()
 *
 * Return: see CancelRequests().
 */
int CancelRequestsOf(MTExecutive *mte, void *owner);

/**
 * UseKey - the calling worker's request gives its key up, or waits for it
 * @what: %DXK_KEY_LEAVE, _ENTER, _WAIT, _NOTIFY or _NOTIFY_ALL, see enum dxk_key_what
 * @timeout_ns: of %DXK_KEY_WAIT, else 0
 *
 * Return: 0, and the request has its key, except after LEAVE; -ETIMEDOUT: the time is over, and it
 * has its key; -EINTR: it does not have its key, and must continue with ENTER; -ECANCELED: it is to
 * end, and continues without its key; -EPERM: not in a Runnable, or it does not have the key;
 * -EINVAL: it is without a key; -EBUSY: it is nested; -EALREADY: of ENTER: it has the key;
 * -EOPNOTSUPP: TPMaxWaiting is 0.
 */
int UseKey(unsigned int what, int64_t timeout_ns);

/**
 * EnterBlock - the calling worker's request is about to sleep outside of dxk
 * @flags: %DXK_KEY_FORCE: also if nobody could take the place; or 0
 * @timeout_ns: how long to wait until somebody could; 0: not at all, -1: without limit
 *
 * Call it before a read(2), a lock or a system call that may take long. Until LeaveBlock() the
 * request's key, if it has one, is available to others, and idle workers or spares
 * (%DXK_ON_BLOCK_SPARE) execute Ready requests in the place of this worker. The request has no
 * other turn meanwhile. Data that the code in between uses must not depend on the key.
 *
 * Return: 0; -EAGAIN: nobody could take the place, and nothing has changed; -EBUSY: it was called
 * before, or another request is executed within this one; -EPERM: not in a Runnable, or not
 * back at its key after a signal; -EINTR: nothing has changed; -EINVAL.
 */
int EnterBlock(unsigned int flags, int64_t timeout_ns);

/**
 * LeaveBlock - the calling worker's request is back from EnterBlock()
 *
 * Sleeps until the request has its key again, if it had the key: before all that wait for a turn.
 * The end of the Runnable also ends the block.
 *
 * Return: 0; -EPERM: there was no EnterBlock(); -ECANCELED: it is to end, and continues without
 * its key; -EDEADLK: another request that the worker executes has the key.
 */
int LeaveBlock(void);

/**
 * ControlKey - hold a key back, release it, or cancel the requests that wait for it
 * @key: as posted
 * @what: %DXK_KEY_HOLD, _RELEASE or _CANCEL, see enum dxk_key_what
 * @flags: of %DXK_KEY_HOLD: %DXK_KEY_REFUSE or 0
 *
 * Return: 0, of CANCEL the number that it has ended or asked to end; -ENOENT: nothing is known of
 * the key; -ENOSPC, -EDQUOT: of HOLD: the maximum number already wait, of all users or of this
 * user; -EOPNOTSUPP: TPMaxWaiting is 0; -ESHUTDOWN.
 */
int ControlKey(uint64_t key, unsigned int what, unsigned int flags);

/**
 * ControlKeyOf - as ControlKey(), of a given executive
 * @mte: the executive, or %NULL
 * @key: see ControlKey()
 * @what: see ControlKey()
 * @flags: see ControlKey()
 *
 * Return: see ControlKey().
 */
int ControlKeyOf(MTExecutive *mte, uint64_t key, unsigned int what, unsigned int flags);

/* --- rejoin ---------------------------------------------------------------- */

/**
 * GetRejoinRequest - collect a completed request of an owner (DX-50..DX-55,
 *	DX-87..DX-95)
 * @owner: whose requests
 * @request: out, the request (its pPObject) with %RJR_RETURNED, else %NULL; may
 *	be %NULL
 *
 * A pure poll: it never waits for a completion (DX-91). Result data is discarded. An
 * error has no meaning for the requests, see RejoinWait().
 *
 * Return: %RJR_RETURNED; %RJR_NONE_READY: none has completed, but some exist;
 * %RJR_NONE_EXIST: none exists, which is authoritative; or a negative errno.
 */
int GetRejoinRequest(void *owner, void **request);

/**
 * GetRejoinRequestOf - as GetRejoinRequest(), of a given executive
 * @mte: the executive, or %NULL
 * @owner: see GetRejoinRequest()
 * @request: see GetRejoinRequest()
 *
 * Return: see GetRejoinRequest().
 */
int GetRejoinRequestOf(MTExecutive *mte, void *owner, void **request);

/**
 * RejoinWait - wait for a completed request of an owner
 * @owner: whose requests
 * @request: out, see GetRejoinRequest()
 * @timeout_ns: how long to wait while none has completed and some exist
 *
 * An error has no meaning for the requests: they exist as before, and workers may have
 * some. A signal or a Stop (-EINTR, -ESHUTDOWN) ends this wait, not the next one, because
 * requests that were taken are executed or are returned with the status -ECANCELED. Therefore a
 * Runnable whose requests lie in its own memory calls again, until %RJR_NONE_EXIST.
 *
 * Return: as GetRejoinRequest(), %RJR_NONE_READY only if the time is over;
 * -EINTR, -ESHUTDOWN, -EDEADLK.
 */
int RejoinWait(void *owner, void **request, int64_t timeout_ns);

/**
 * RejoinWaitOf - as RejoinWait(), of a given executive
 * @mte: the executive, or %NULL
 * @owner: see RejoinWait()
 * @request: see RejoinWait()
 * @timeout_ns: see RejoinWait()
 *
 * Return: see RejoinWait().
 */
int RejoinWaitOf(MTExecutive *mte, void *owner, void **request,
		 int64_t timeout_ns);

/**
 * GetRejoinElement - collect a completed request with its status and data
 * @owner: whose requests
 * @element: out, filled with %RJR_RETURNED, else zero
 * @data: out, room for the result's data, to which pData will point; %NULL if
 *	the data is not wanted
 * @room: bytes at @data
 * @timeout_ns: 0 polls
 *
 * Return: as RejoinWait(); -EMSGSIZE if @room is less than the RQEResultRoom
 * of the request, which stays in the Rejoin Pool.
 */
int GetRejoinElement(void *owner, RQElement *element, void *data, size_t room,
		     int64_t timeout_ns);

/**
 * GetRejoinElementOf - as GetRejoinElement(), of a given executive
 * @mte: the executive, or %NULL
 * @owner: see GetRejoinElement()
 * @element: see GetRejoinElement()
 * @data: see GetRejoinElement()
 * @room: see GetRejoinElement()
 * @timeout_ns: see GetRejoinElement()
 *
 * Return: see GetRejoinElement().
 */
int GetRejoinElementOf(MTExecutive *mte, void *owner, RQElement *element,
		       void *data, size_t room, int64_t timeout_ns);

/**
 * RejoinAll - collect the requests of an owner until none exists
 * @owner: whose requests
 * @status: out, 0 if each request ended with status 0, else the RQEStatus of the first collected
 *	one that did not, -ECANCELED for one that no worker was given; may be %NULL
 *
 * For a Runnable whose requests lie in its own memory: the memory may be freed when this function
 * has returned 0. A signal or a Stop that ends a wait does not end this function, because it has no
 * meaning for the requests: see RejoinWait(). Data and files of results are discarded.
 *
 * Return: 0 if none exists; or, while some may still exist, the reason why the function cannot
 * wait for that: -EDEADLK, or another error of RejoinWait(). (DX-51, DX-54)
 */
int RejoinAll(void *owner, int *status);

/**
 * RejoinAllOf - as RejoinAll(), of a given executive
 * @mte: the executive, or %NULL
 * @owner: see RejoinAll()
 * @status: see RejoinAll()
 *
 * Return: see RejoinAll().
 */
int RejoinAllOf(MTExecutive *mte, void *owner, int *status);

/**
 * GetRejoinRequests - collect many completed requests of an owner
 * @owner: whose requests
 * @elements: out, room for @nr
 * @nr: maximum number to return, 1..INT_MAX
 * @min: how many to wait for, 0..@nr, 0 means 1
 * @data: out, @nr slots of @stride bytes for the result data, or %NULL
 * @stride: bytes
 * @timeout_ns: 0 polls
 * @answer: out, RJR_*; may be %NULL
 *
 * Return: how many were returned, oldest completion first; or a negative errno
 * if none was.
 */
int GetRejoinRequests(void *owner, RQElement *elements, unsigned int nr,
		      unsigned int min, void *data, size_t stride,
		      int64_t timeout_ns, unsigned int *answer);

/**
 * GetRejoinRequestsOf - as GetRejoinRequests(), of a given executive
 * @mte: the executive, or %NULL
 * @owner: see GetRejoinRequests()
 * @elements: see GetRejoinRequests()
 * @nr: see GetRejoinRequests()
 * @min: see GetRejoinRequests()
 * @data: see GetRejoinRequests()
 * @stride: see GetRejoinRequests()
 * @timeout_ns: see GetRejoinRequests()
 * @answer: see GetRejoinRequests()
 *
 * Return: see GetRejoinRequests().
 */
int GetRejoinRequestsOf(MTExecutive *mte, void *owner, RQElement *elements,
			unsigned int nr, unsigned int min, void *data,
			size_t stride, int64_t timeout_ns, unsigned int *answer);

/* --- the Handle Table ------------------------------------------------------ */

typedef struct HandleClass HandleClass;

/**
 * struct HandleClass - how handles of one kind are opened for a thread
 * @OpenHandle: opens the object of @native once more, for the calling worker
 *	alone, and stores the new handle in *@own. Return: 0, or a negative errno
 * @CloseHandle: closes a handle that @OpenHandle stored; called by the same worker when it
 *	executes no request, and when a Runnable ends its thread
 *
 * Embed it in the application's object. It must stay in place until the
 * executive is destroyed. The call-backs are called without a lock, by several
 * workers in parallel.
 */
struct HandleClass {
	int (*OpenHandle)(HandleClass *self, void *native, void **own);
	void (*CloseHandle)(HandleClass *self, void *own);
};

/**
 * HandleTableAdd - put a native handle into the Handle Table (DX-16)
 * @kind: how workers open it
 * @native: any address except %NULL, for instance that of the creator's own handle;
 *	never dereferenced
 *
 * The policy's TPHandleEntries bounds native handles and workers' own ones
 * together.
 *
 * Return: 0; -EEXIST if @native is in the table, -ENOSPC if the table is full,
 * -EINVAL, -ENOMEM, -ENXIO.
 */
int HandleTableAdd(HandleClass *kind, void *native);

/**
 * HandleTableAddOf - as HandleTableAdd(), to the table of a given executive
 * @mte: the executive, or %NULL
 * @kind: see HandleTableAdd()
 * @native: see HandleTableAdd()
 *
 * Return: see HandleTableAdd().
 */
int HandleTableAddOf(MTExecutive *mte, HandleClass *kind, void *native);

/**
 * HandleTableRemove - remove a native handle, when its creator closes it (DX-27)
 * @native: in the table
 *
 * No worker gets it any more. Each worker closes its own handle itself: a worker that
 * executes a request after that request has ended, and after its result was handed to
 * its owner (DX-28); a worker that sleeps for work within a second, before its next
 * request or when the executive stops. Everything that the workers' own handles need, such as
 * the memory of @native if @CloseHandle uses it, must last until the executive is
 * destroyed; @native may be added again at once.
 *
 * Return: how many own handles are still to be closed by their workers, or
 * -ENOENT, -ENXIO.
 */
int HandleTableRemove(void *native);

/**
 * HandleTableRemoveOf - as HandleTableRemove(), from the table of a given executive
 * @mte: the executive, or %NULL
 * @native: see HandleTableRemove()
 *
 * Return: see HandleTableRemove().
 */
int HandleTableRemoveOf(MTExecutive *mte, void *native);

/**
 * GetThreadHandle - the calling worker's own handle (DX-16, DX-26)
 * @native: in the table of the worker's executive
 * @own: out, valid until the request that the caller executes has ended
 *
 * It is opened at the first use in this worker; later requests get the same handle.
 *
 * Return: 0; -ENOENT if @native is not in the table (any more), -ENOSPC if
 * the table is full, -ENOMEM, -EPERM in a thread that executes no request, or the error that
 * @OpenHandle returned: then nothing is kept and the next call retries.
 */
int GetThreadHandle(void *native, void **own);

/**
 * ReleaseThreadHandle - the worker no longer needs its own handle
 * @native: see GetThreadHandle()
 *
 * It is closed when the request has ended. Another GetThreadHandle() before that
 * keeps it.
 *
 * Return: 0; -ENOENT if the worker has none, -EPERM.
 */
int ReleaseThreadHandle(void *native);

#ifdef __cplusplus
}
#endif

#endif /* _DX_H */
