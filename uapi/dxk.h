/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * dxk: a work dispatcher in the kernel. The contract with user space.
 */
#ifndef _UAPI_DXK_H
#define _UAPI_DXK_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: objects
 *
 * Every object is a file descriptor, created O_CLOEXEC. The descriptor determines the
 * lifetime and the end of the object, and the right to use it.
 *
 * ========  ==========================  =======================================
 * fd        made by                     is
 * ========  ==========================  =======================================
 * control   open("/dev/dxk")            queries, makes contexts
 * context   DXK_IOC_CTX_CREATE,         one runtime: policy, pools, control
 *           DXK_IOC_CTX_JOIN            threads, crew. Closing the last one, of
 *                                       all processes, is a Stop(cancel) (DX-113)
 * member    DXK_IOC_MEMBER_CREATE       one thread of the Thread Pool. Only the
 *                                       thread that made it may use it (DX-23);
 *                                       closing it means that the thread is gone
 * ========  ==========================  =======================================
 */

/**
 * DOC: permissions
 *
 * A context has an owner, a group and a mode, like a file. They are set when it is created.
 * It belongs to the IPC namespace of its creator. Its name cannot be found from another
 * namespace, and only the administrator of the machine can read its files in sysfs
 * from there.
 *
 * =======  =====================  ================================================
 * bit      DXK_ACCESS_*           allows
 * =======  =====================  ================================================
 * r        READ                   its files in sysfs, POLICY_GET, SAMPLES_READ,
 *                                 LATENCIES_READ
 * w        WRITE                  client members: post, rejoin, log
 * x        EXECUTE                worker members, CREW_WAIT: a worker fetches
 *                                 everybody's data
 * (owner)  CONTROL                all else: Start, Stop, the policy, commands, the
 *                                 log, handles
 * =======  =====================  ================================================
 *
 * A caller that joins requests some of these rights; they are checked once, as open(2) does.
 * CAP_IPC_OWNER in the user namespace of the IPC namespace overrides the mode,
 * CAP_SYS_ADMIN there grants CONTROL. From then on the descriptor has these rights,
 * regardless of its holder: it can be passed on. The creator's descriptor has all rights.
 *
 * Owner cookies are private to a descriptor of CTX_CREATE or CTX_JOIN and its
 * copies: an equal cookie of another descriptor is another owner, and nobody else can
 * rejoin the requests posted for it. Callers that join with %DXK_JOIN_SHARED share
 * their cookies. When the last copy of a private descriptor, and of the members made from
 * it, is closed, the requests that it posted can no longer be collected: those that are Ready
 * are still executed, those that wait end, and results are discarded. The same holds for names
 * of requests.
 */

/**
 * DOC: calls and errors
 *
 * A call is an ioctl whose argument points to a struct that begins with
 * ``__u32 size``, the size that the caller was compiled with. A shorter struct of an
 * older program is accepted as if its tail were zero. A longer struct of a newer
 * program is accepted if its tail is zero. Calls that take arrays carry the size
 * of one element beside the count, under the same rule.
 *
 * ============ ==============================================================
 * ENOTTY       no such call, or not on this kind of descriptor
 * E2BIG        a tail that is not zero and that this module does not know
 * EOPNOTSUPP   a known field with an unknown flag or a value that this version
 *              does not offer
 * EINVAL       a wrong value: a size that is too small, a count out of range, a
 *              reserved field that is not zero, two lane bits
 * EFAULT       an address that cannot be read or written; nothing was taken
 * EPERM        a member used by a thread that did not make it; a post to a lane
 *              whose limit is 0 (PXR_LANE_CLOSED)
 * EACCES       the context descriptor was not opened for this; when joining: the mode
 *              of the context does not allow it
 * EAGAIN       no room and no PXR_WAITIF_BUSY; the reason says which room
 * EINTR        a signal ended the wait; nothing was taken
 * ETIMEDOUT    the deadline ended the wait; nothing was taken
 * ESHUTDOWN    the context does not run (not started, stopping, stopped); while it drains,
 *              a worker may post from within a request
 * EDEADLK      a circle: the caller would wait for something that waits for a request which the
 *              caller executes, or for a key that such a request has; or a request is posted
 *              to wait for its own owner
 * EALREADY     the request already has its key
 * ECANCELED    the request is to end and no longer waits for its key; or a post to a key that
 *              refuses posts
 * EEXIST       a request of that name has not ended
 * ENOSPC       the hard limit of a policy (max_requests, max_waiting, worker ids) is reached
 * EDQUOT       the caller's user has used its share of live requests or of ids, see
 *              dxk_policy.user_share
 * ENODEV       the crew has no place for a worker of the requested kind
 * ENOENT       no such kernel executor; no request of the name
 * EBADF        PXR_FD with a descriptor that is not open
 * ELOOP        PXR_FD with a descriptor of a kind that cannot be handed over: it
 *              could hold others, or the kernel answers it, see PXR_FD
 * ETOOMANYREFS PXR_FD: requests and Handle Tables already hold as many files for the caller's
 *              user as RLIMIT_NOFILE allows; without CAP_SYS_RESOURCE and
 *              CAP_SYS_ADMIN
 * EMSGSIZE     data longer than the policy's data_size, or a slot too small
 * ESTALE       a completion of a dispatch that this worker does not hold
 * EMFILE       no free descriptor for a file that a fetched request hands over
 *              (also ENFILE, ENOMEM); the request returned to the Ready Pool
 * EBUSY        a second Start; a policy field that only a Start can change; a request that
 *              is executed within another one cannot give up the key of that request
 * ENOMEM       no memory; nothing was taken
 * ============ ==============================================================
 *
 * A call that takes several requests takes them in order and stops at the first
 * that it cannot take. If at least one was taken, the call succeeds and returns the number
 * taken, as write(2) does; the error is returned when the refused request is the first. If any
 * element is malformed, the whole call is refused before anything is taken. DXK_IOC_CALL is
 * two calls, of which the second may fail: see dxk_roundtrip.taken.
 */

/**
 * DOC: deadlines
 *
 * A deadline is an absolute time of CLOCK_MONOTONIC in nanoseconds. A call with a deadline
 * in the past (such as 0) never sleeps; the wait of a call with %DXK_FOREVER has no end. With
 * absolute times, a call that a signal interrupted can be restarted without a longer wait. A
 * call whose deadline has passed is no longer interrupted.
 */
#define DXK_FOREVER		(~0ULL)

/** DXK_ABI_VERSION - incremented when older programs are no longer understood */
#define DXK_ABI_VERSION		1

/** DXK_BATCH_MAX - maximum number of array elements in one call; bounds a lock hold */
#define DXK_BATCH_MAX		64

/** DXK_NAME_LEN - size of a name with its terminating zero */
#define DXK_NAME_LEN		32

/** DXK_LANES - lanes of Constrained Multi Lane Scheduling */
#define DXK_LANES		4

#define DXK_IOC_TYPE		0xD8

#define DXK_IOC_VERSION		_IO(DXK_IOC_TYPE, 0x00)	/* control */
#define DXK_IOC_EXECUTOR_FIND	_IO(DXK_IOC_TYPE, 0x01)	/* control, context */
#define DXK_IOC_CTX_CREATE	_IO(DXK_IOC_TYPE, 0x02)	/* control */
#define DXK_IOC_CTX_JOIN	_IO(DXK_IOC_TYPE, 0x03)	/* control */
#define DXK_IOC_CTX_START	_IO(DXK_IOC_TYPE, 0x10)	/* context */
#define DXK_IOC_CTX_STOP	_IO(DXK_IOC_TYPE, 0x11)	/* context */
#define DXK_IOC_POLICY_GET	_IO(DXK_IOC_TYPE, 0x12)	/* context */
#define DXK_IOC_POLICY_SET	_IO(DXK_IOC_TYPE, 0x13)	/* context */
#define DXK_IOC_MEMBER_CREATE	_IO(DXK_IOC_TYPE, 0x14)	/* context */
#define DXK_IOC_LOG_FILE	_IO(DXK_IOC_TYPE, 0x15)	/* context */
#define DXK_IOC_LOG_READ	_IO(DXK_IOC_TYPE, 0x16)	/* context */
#define DXK_IOC_COMMAND_SEND	_IO(DXK_IOC_TYPE, 0x17)	/* context */
#define DXK_IOC_HANDLE_OPEN	_IO(DXK_IOC_TYPE, 0x18)	/* context */
#define DXK_IOC_HANDLE_CLOSE	_IO(DXK_IOC_TYPE, 0x19)	/* context */
#define DXK_IOC_SAMPLES_READ	_IO(DXK_IOC_TYPE, 0x1a)	/* context */
#define DXK_IOC_CREW_WAIT	_IO(DXK_IOC_TYPE, 0x1b)	/* context */
#define DXK_IOC_LATENCIES_READ	_IO(DXK_IOC_TYPE, 0x1c)	/* context */
#define DXK_IOC_REQUESTS_READ	_IO(DXK_IOC_TYPE, 0x1d)	/* context */
#define DXK_IOC_POST		_IO(DXK_IOC_TYPE, 0x20)	/* member */
#define DXK_IOC_REJOIN		_IO(DXK_IOC_TYPE, 0x21)	/* member */
#define DXK_IOC_NEXT		_IO(DXK_IOC_TYPE, 0x22)	/* worker member */
#define DXK_IOC_SHOULD_STOP	_IO(DXK_IOC_TYPE, 0x23)	/* member */
#define DXK_IOC_LOG_WRITE	_IO(DXK_IOC_TYPE, 0x24)	/* member */
#define DXK_IOC_COMMAND_ATTACH	_IO(DXK_IOC_TYPE, 0x25)	/* member */
#define DXK_IOC_COMMAND_NEXT	_IO(DXK_IOC_TYPE, 0x26)	/* member */
#define DXK_IOC_WAKE		_IO(DXK_IOC_TYPE, 0x27)	/* member */
#define DXK_IOC_CANCEL		_IO(DXK_IOC_TYPE, 0x28)	/* member */
#define DXK_IOC_CALL		_IO(DXK_IOC_TYPE, 0x29)	/* member */
#define DXK_IOC_CANCEL_OWNER	_IO(DXK_IOC_TYPE, 0x2a)	/* member */
#define DXK_IOC_KEY		_IO(DXK_IOC_TYPE, 0x2b)	/* member */
#define DXK_IOC_INSTRUMENT	_IO(DXK_IOC_TYPE, 0x2c)	/* member */
#define DXK_IOC_LABEL		_IO(DXK_IOC_TYPE, 0x2d)	/* member */

/* --- the control descriptor ------------------------------------------------ */

/* Bits of dxk_version.capabilities */
#define DXK_CAP_KERNEL_WORKERS	(1ULL << 0)
#define DXK_CAP_USER_WORKERS	(1ULL << 1)
#define DXK_CAP_DISPATCH_THREAD	(1ULL << 2)
#define DXK_CAP_NAMES		(1ULL << 3)	/* names, CTX_JOIN, permissions */
#define DXK_CAP_HELP		(1ULL << 4)	/* on_block=help */
#define DXK_CAP_SPARE		(1ULL << 5)	/* on_block=spare */
#define DXK_CAP_POSTER		(1ULL << 6)	/* dxk_work identifies the poster */
#define DXK_CAP_WAIT		(1ULL << 7)	/* requests wait, expire, have names */
#define DXK_CAP_CALL		(1ULL << 8)	/* DXK_IOC_CALL */
#define DXK_CAP_KEY		(1ULL << 9)	/* keys, DXK_IOC_KEY, DXK_CALL_NEST */

/**
 * struct dxk_version - what this module is and allows (DXK_IOC_VERSION)
 * @size: sizeof(struct dxk_version)
 * @abi: out, %DXK_ABI_VERSION of the module
 * @capabilities: out, DXK_CAP_* bits
 * @batch_max: out, %DXK_BATCH_MAX of the module
 * @max_threads: out, the largest max_threads of a policy
 * @max_entries: out, the largest ready_entries of a policy
 * @data_max: out, the largest data_size of a policy, in bytes
 */
struct dxk_version {
	__u32 size;
	__u32 abi;
	__aligned_u64 capabilities;
	__u32 batch_max;
	__u32 max_threads;
	__u32 max_entries;
	__u32 data_max;
};

/**
 * struct dxk_executor_find - the id of a kernel executor (DXK_IOC_EXECUTOR_FIND)
 * @size: sizeof(struct dxk_executor_find)
 * @reserved: 0
 * @id: out, the value for dxk_post_entry.executor with %PXR_KERNEL. An id is
 *	not reused while the module stays loaded
 * @name: in, the name of the executor, zero-terminated
 *
 * ENOENT if no module has registered the name.
 */
struct dxk_executor_find {
	__u32 size;
	__u32 reserved;
	__aligned_u64 id;
	char name[DXK_NAME_LEN];
};

/* Bits of dxk_ctx_create.flags */
#define DXK_CTX_CHOWN		0x1	/* @uid and @gid are given */

/**
 * struct dxk_ctx_create - create a context (DXK_IOC_CTX_CREATE)
 * @size: sizeof(struct dxk_ctx_create)
 * @flags: %DXK_CTX_CHOWN or 0
 * @fd: out, the context descriptor
 * @id: out, the name of its directory below /sys/kernel/dxk
 * @uid: with %DXK_CTX_CHOWN its owner; otherwise the caller is the owner
 * @gid: with %DXK_CTX_CHOWN its group; otherwise the caller's group
 * @mode: its permissions, 0..0777
 * @reserved: 0
 * @name: the name by which others find it, zero-terminated; empty for no name. Printable
 *	ASCII without blank and "/", neither "." nor ".."
 *
 * The context has the default policy, no pool and no thread until
 * %DXK_IOC_CTX_START. Contexts share nothing (DX-7). A name is taken until the
 * last descriptor of its context is closed.
 *
 * EEXIST: the name is taken in this IPC namespace. EINVAL: the name is not allowed,
 * or the mode has bits beyond 0777. EPERM: another owner, or a group that the caller is not in,
 * without CAP_CHOWN in the user namespace of the IPC namespace. EMFILE: no descriptor,
 * or the user who opened the device has as many contexts as the module's parameter
 * user_contexts allows, and the caller does not have CAP_SYS_RESOURCE. EACCES: the device was
 * not opened for writing.
 */
struct dxk_ctx_create {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__u32 id;
	__u32 uid;
	__u32 gid;
	__u32 mode;
	__u32 reserved;
	char name[DXK_NAME_LEN];
};

/* Maximum of dxk_ctx_join.weight and dxk_policy.space_weight */
#define DXK_WEIGHT_MAX		1000

/* Bits of dxk_ctx_join.access, see DOC: permissions */
#define DXK_ACCESS_EXECUTE	0x1
#define DXK_ACCESS_WRITE	0x2
#define DXK_ACCESS_READ		0x4
#define DXK_ACCESS_CONTROL	0x8

/* Bits of dxk_ctx_join.flags */
#define DXK_JOIN_SHARED		0x1	/* owner cookies shared by all who set this flag */
#define DXK_JOIN_BY_ID		0x2	/* @id selects the context, @name is empty */
#define DXK_JOIN_OWNER		0x4	/* only a context that belongs to @uid */

/**
 * struct dxk_ctx_join - open a context that another process created (DXK_IOC_CTX_JOIN)
 * @size: sizeof(struct dxk_ctx_join)
 * @flags: DXK_JOIN_* bits
 * @fd: out, a context descriptor
 * @id: out, the name of its directory below /sys/kernel/dxk; in with
 *	%DXK_JOIN_BY_ID
 * @access: DXK_ACCESS_* bits, at least one
 * @abi: the %DXK_ABI_VERSION that the caller was compiled with
 * @name: of the context
 * @uid: out, its owner, as the caller's user namespace numbers it; ~0: the owner has no number
 *	there. In with %DXK_JOIN_OWNER
 * @gid: out, its group, likewise
 * @mode: out, its permissions
 * @reserved: 0
 * @weight: makes the descriptor's space a tenant from now on: the number of requests that it has
 *	in a round, see dxk_policy.space_weight; 1..%DXK_WEIGHT_MAX
 * @ready_entries: the number of entries of the Ready Pool that this tenant may have: while it has
 *	them, a post gets EAGAIN with %PXR_POOL_FULL, or sleeps; 1..2^20
 *
 * With @weight or @ready_entries the owner of a context admits a tenant: whoever holds this
 * descriptor, or a member made from it. One of the two may be 0: @weight 0 means the policy's
 * number, @ready_entries 0 all entries. Not with %DXK_JOIN_SHARED. EPERM: the caller is neither
 * the owner of the context nor an administrator. ENOSPC: there are already 30 tenants, counting
 * users to whom the context does not belong. dxk_policy.user_share does not apply to tenants.
 *
 * Anybody who may open the device may create a context with a name that is free. A program that
 * trusts a service with its data or files should request an owner, or check @uid before it
 * posts.
 *
 * ENOENT: no such context in this IPC namespace. EACCES: not all of @access is
 * allowed; on a device opened for reading, only %DXK_ACCESS_READ is. EPERM: the context does not
 * belong to @uid. EPROTONOSUPPORT: an ABI version other than the module's.
 */
struct dxk_ctx_join {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__u32 id;
	__u32 access;
	__u32 abi;
	char name[DXK_NAME_LEN];
	__u32 uid;
	__u32 gid;
	__u32 mode;
	__u32 reserved;
	__u32 weight;
	__u32 ready_entries;
};

/* --- the policy ------------------------------------------------------------ */

/* dxk_policy.sched_mode (the seed's TPSchedMode) */
#define TPOOL_MODE_CMLS		0x1

/* dxk_policy.prio_policy */
#define PRIO_POLICY_AGERQS	0x1
#define PRIO_POLICY_BOOST	0x2

/**
 * enum dxk_dispatch - who holds the dispatcher role
 * @DXK_DISPATCH_DIRECT: the calling thread makes the moves of its call; thread 700
 *	is the fallback
 * @DXK_DISPATCH_THREAD: callers publish, thread 700 makes every move
 */
enum dxk_dispatch {
	DXK_DISPATCH_DIRECT,
	DXK_DISPATCH_THREAD,
};

/**
 * enum dxk_log_full - what happens to a message when the Log Pool is full
 * @DXK_LOG_BLOCK: a user caller that asked to wait waits; other callers as with DROP_OLDEST;
 *	the module's own messages are dropped
 * @DXK_LOG_DROP_NEW: the message is dropped and counted
 * @DXK_LOG_DROP_OLDEST: the oldest message is dropped and counted
 */
enum dxk_log_full {
	DXK_LOG_BLOCK,
	DXK_LOG_DROP_NEW,
	DXK_LOG_DROP_OLDEST,
};

/**
 * enum dxk_rejoin_full - what happens when the Rejoin Pool is full (DX-96)
 * @DXK_REJOIN_GROW: it grows, the overflow is counted; a worker never blocks
 * @DXK_REJOIN_BLOCK_WORKER: the completing worker waits for a free entry, unless it
 *	completes a nested request (%DXK_ON_BLOCK_HELP): it may itself be the collector
 * @DXK_REJOIN_RESERVE: a rejoinable post takes its entry; without one it waits
 *	or is refused with %PXR_REJOIN_FULL
 */
enum dxk_rejoin_full {
	DXK_REJOIN_GROW,
	DXK_REJOIN_BLOCK_WORKER,
	DXK_REJOIN_RESERVE,
};

/**
 * enum dxk_stop_mode - what Stop does with requests that no worker has yet
 * @DXK_STOP_POLICY: the mode in the policy's field "shutdown"; only for Stop itself
 * @DXK_STOP_DRAIN: they are executed, with all requests that they post while they execute
 * @DXK_STOP_CANCEL: they end with status -ECANCELED
 */
enum dxk_stop_mode {
	DXK_STOP_POLICY,
	DXK_STOP_DRAIN,
	DXK_STOP_CANCEL,
};

/**
 * enum dxk_on_block - what happens when a worker sleeps in a call, for room, for a
 *	result or for a Rejoin Pool entry, while others could be executed
 * @DXK_ON_BLOCK_STRICT: it stays busy; no other worker takes its place (the seed's way)
 * @DXK_ON_BLOCK_HELP: it executes Ready requests itself meanwhile, nested up to
 *	help_depth; see %DXK_CALL_HELP
 * @DXK_ON_BLOCK_SPARE: a spare worker takes its place, up to max_spares of them
 *
 * In every case its request still counts in its lane. A spare and a nested
 * request do not raise the shares of lanes 0 to 2. They raise the number of all
 * requests that execute, because they bring the thread that they execute on.
 */
enum dxk_on_block {
	DXK_ON_BLOCK_STRICT,
	DXK_ON_BLOCK_HELP,
	DXK_ON_BLOCK_SPARE,
};

/**
 * enum dxk_help_scope - what a worker executes that helps while it sleeps in a call
 * @DXK_HELP_ANY: any Ready request, by the order of the Ready Pool. It may be a stranger's
 *	request, which takes long, or needs a lock that the worker's own request holds
 * @DXK_HELP_OWN: only requests of the owner whose results it waits for, those that have been
 *	Ready longest first; while it sleeps for room, none. Requests that others have posted wait
 *	for a worker that does not sleep
 */
enum dxk_help_scope {
	DXK_HELP_ANY,
	DXK_HELP_OWN,
};

/**
 * enum dxk_order - the order of the Ready Pool
 * @DXK_ORDER_PRIO_GLOBAL: one order by priority across the whole context
 */
enum dxk_order {
	DXK_ORDER_PRIO_GLOBAL,
};

/**
 * struct dxk_policy - the configuration of a context (the seed's
 *	ThreadManagerPolicy; DX-8)
 * @size: sizeof(struct dxk_policy)
 * @bad_field: out, if a call returns EINVAL, EOPNOTSUPP or EBUSY because of a
 *	field: the byte offset of that field in this struct; otherwise 0
 * @sched_mode: %TPOOL_MODE_CMLS or 0
 * @prio_policy: %PRIO_POLICY_AGERQS: a Ready request gains 1 in each scheduler
 *	interval; %PRIO_POLICY_BOOST: a request marked %PXR_BOOST gains @boost_value
 *	more, only together with AGERQS (DX-62). Dynamic
 * @max_threads: workers of both kinds, ids 1..max_threads; 1..499, default the
 *	number of CPUs. Dynamic
 * @kernel_threads: the number of them that are kernel threads, ids 1..kernel_threads;
 *	0..max_threads, default 0. The rest attach as user workers. Dynamic.
 *	When the crew shrinks, workers beyond the limits leave once they have
 *	finished what they execute: a user worker's next fetch gets ESHUTDOWN
 * @ready_entries: size of the Ready Pool; 1..2^20, default 1024
 * @rejoin_entries: size of the Rejoin Pool; 1..2^20, default 1024
 * @log_entries: size of the Log Pool; a power of two, 2..2^20, default 1024
 * @handle_entries: size of the Handle Table; 0..2^16, default 256
 * @max_requests: hard limit of live requests, those not yet collected included;
 *	ready_entries..2^21, default 65536. It also determines the size of the hash of owners
 * @data_size: maximum number of bytes of data that a request may carry in and out; 0..4096,
 *	default 512
 * @lane_pct: percentage of workers and of Ready Pool entries that lanes 0, 1, 2 may
 *	use; 0..100 each, sum at most 100, default 0. Dynamic. A change that closes a
 *	lane, or leaves no place for workers of a kind, ends the requests that are Ready
 *	there, with status -EPERM or -ENODEV; posts of such requests are refused from then on
 * @boost_value: see @prio_policy; 0..2^16, default 1. Dynamic
 * @sched_interval_ms: 1..3600000, default 1000. Dynamic
 * @monitor_interval_ms: 1..3600000, default 100. Dynamic
 * @dispatch_interval_ms: period of thread 700's fallback sweep, which runs only
 *	while requests are Ready; 0..3600000, default 0: 1000
 * @dispatch: enum dxk_dispatch, default DIRECT
 * @log_full: enum dxk_log_full, default BLOCK. Dynamic
 * @rejoin_full: enum dxk_rejoin_full, default GROW
 * @shutdown: %DXK_STOP_DRAIN (default) or %DXK_STOP_CANCEL. Dynamic
 * @on_block: enum dxk_on_block, default STRICT
 * @order: enum dxk_order, default PRIO_GLOBAL
 * @log_batch: maximum number of messages that the log's drain writes per turn (DX-100);
 *	1..4096, default 64. Dynamic
 * @sample_interval_ms: how often the Monitor takes a sample for the
 *	instrumentation package; 0..3600000, default 0: never, and no latencies are
 *	measured. Dynamic
 * @sample_entries: number of samples that are kept; 1..4096, default 64
 * @report_age_ms: the Monitor reports a request that executes for longer than this;
 *	0..86400000, default 0: none. Dynamic
 * @redo_max: how often a request with %PXR_REDO may be begun, including the first
 *	time; 1..1000, default 3. Dynamic
 * @help_depth: maximum number of requests that a worker has begun under on_block HELP in
 *	addition to the one that it would execute anyway; 1..64, default 4. A kernel worker
 *	stops earlier when half of its stack is in use. Dynamic
 * @max_spares: maximum number of spare workers of both kinds under on_block SPARE; each is
 *	started when it is first needed; 0..499 together with max_threads, default 8. Their
 *	ids are the highest up to 499
 * @user_share: percentage that one user, other than the owner of the context, may have of
 *	what that user has and what is free together: of live requests (EDQUOT), of Ready Pool
 *	entries, of Rejoin Pool entries unless @rejoin_full is GROW (EAGAIN, or sleep), and
 *	of ids of clients (EDQUOT); 1..100, default 75. 100: no such limit. Below 100, posters
 *	of each such user that sleep for room have an order of their own. Dynamic
 * @prealloc_requests: number of requests that Start allocates, charged to its caller, so that
 *	posts need no memory for the request itself; 0..2^21, default 64; not more than
 *	@max_requests. More are allocated as they are needed, charged to the poster. Free
 *	requests are reused; above this number they are freed when they have not been needed
 *	for some seconds
 * @max_waiting: maximum number of requests that wait at a time, of those that are posted waiting
 *	(ENOSPC), see struct dxk_wait; 0..2^21, default 0: requests neither wait nor expire nor
 *	have names (EOPNOTSUPP). It also determines the size of the hash of names
 * @wait_report_ms: the Monitor reports a request that waits for longer than this, once in each
 *	such time, unless it has %PXR_QUIET; 0..86400000, default 0: none. Dynamic
 * @min_threads: number of workers of each kind that the crew begins with, and keeps, no more
 *	than @max_threads and @kernel_threads have places for; 0..499, default 0: as many as
 *	these. More start while requests are Ready and no worker of the kind is idle. A user
 *	worker that joins without being asked for is accepted as long as there are places. With
 *	CMLS it is the number that the lanes need. Dynamic
 * @spare_idle_ms: how long a worker above @min_threads, or a spare above @min_spares, is idle
 *	before the Monitor makes it leave: a user worker's fetch gets
 *	ESHUTDOWN; 0..86400000, default 10000, 0: it stays. Dynamic
 * @key_batch: how many requests of a key a worker is given in a row, before other Ready requests
 *	of their priority (AG-7, S-10); 1..1000, default 16. Dynamic
 * @min_spares: number of spares of each kind of worker that are started ahead and kept, with
 *	%DXK_ON_BLOCK_SPARE, so that a request that is to block (%DXK_KEY_BLOCK) does not wait
 *	for a thread to be created; 0..499, not more than @max_spares, default 0. Dynamic
 * @spare_after_ms: with %DXK_ON_BLOCK_SPARE: the Monitor detects a worker that sleeps for this
 *	long outside of dxk, in a read or for a lock, and a spare takes its place as if the
 *	worker had blocked; 0..3600000, default 0: the Monitor does not look for them. Dynamic
 * @homes: number of shelves of the Ready Pool that have workers of their own (FO-1): kernel
 *	workers are dealt to them, and to the CPUs i with i % homes = home - 1; user workers
 *	choose theirs. A request with a home (%PXR_HOME) is for the workers of that home, and for
 *	spares in their places; as long as a home has no worker, for all workers. A worker with a
 *	home also takes requests without one, the more urgent first. 0..56, default 0: none. Not
 *	with @min_threads
 * @steal: 1: a worker of a home that has nothing to do takes Ready requests of another home
 *	(FO-9); 0, the default: it does not
 * @space_weight: requests are dispatched in rounds; 0..%DXK_WEIGHT_MAX, default 0: they are
 *	not. In each round a tenant has as many requests as its weight. A tenant that was admitted
 *	with a weight (dxk_ctx_join.weight) has that weight. This field is the weight of a tenant
 *	without one, of each user to whom the context does not belong, and of all others
 *	together. Requests that a tenant posts beyond its weight belong to the rounds
 *	to come, each of which is worth 1 less of priority; where nobody else has anything
 *	Ready, these rounds are over at once. Rounds are counted per kind of worker and lane. Not
 *	with @homes
 * @autotune: 1: the Monitor searches for the number of workers of each kind with the best
 *	throughput, from @min_threads up to as many as there are places for, one step in each
 *	interval in which there is a backlog all the time. Workers above that number leave, and no
 *	more start. An interval is @monitor_interval_ms, or as many of these as it takes for
 *	each worker to have executed 32 requests on average. Of the user workers it applies to
 *	those whose processes ask how many are needed (%DXK_IOC_CREW_WAIT). Has no effect
 *	unless @min_threads is set; 0, the default: as many start as there is use for. Dynamic
 * @help_scope: enum dxk_help_scope: what a worker that sleeps in a call executes meanwhile, with
 *	@on_block HELP
 *
 * With CMLS every open lane, and lane 3 as well, needs a worker and a Ready Pool entry of its
 * own, for each kind of worker that the crew has (DX-76); otherwise the call fails with EINVAL
 * and names the field.
 *
 * %DXK_IOC_POLICY_GET fills all fields. %DXK_IOC_POLICY_SET takes all fields. On
 * a running context only dynamic fields may differ, and they take effect at the
 * Monitor's next review (DX-9). Fields are also files below
 * /sys/kernel/dxk/<id>/policy.
 */
struct dxk_policy {
	__u32 size;
	__u32 bad_field;
	__u32 sched_mode;
	__u32 prio_policy;
	__u32 max_threads;
	__u32 kernel_threads;
	__u32 ready_entries;
	__u32 rejoin_entries;
	__u32 log_entries;
	__u32 handle_entries;
	__u32 max_requests;
	__u32 data_size;
	__u32 lane_pct[3];
	__u32 boost_value;
	__u32 sched_interval_ms;
	__u32 monitor_interval_ms;
	__u32 dispatch_interval_ms;
	__u32 dispatch;
	__u32 log_full;
	__u32 rejoin_full;
	__u32 shutdown;
	__u32 on_block;
	__u32 order;
	__u32 log_batch;
	__u32 sample_interval_ms;
	__u32 sample_entries;
	__u32 report_age_ms;
	__u32 redo_max;
	__u32 help_depth;
	__u32 max_spares;
	__u32 user_share;
	__u32 prealloc_requests;
	__u32 max_waiting;
	__u32 wait_report_ms;
	__u32 min_threads;
	__u32 spare_idle_ms;
	__u32 key_batch;
	__u32 min_spares;
	__u32 spare_after_ms;
	__u32 homes;
	__u32 steal;
	__u32 space_weight;
	__u32 autotune;
	__u32 help_scope;
};

/* --- the context ----------------------------------------------------------- */

/**
 * struct dxk_ctx_start - Start (DXK_IOC_CTX_START)
 * @size: sizeof(struct dxk_ctx_start)
 * @flags: 0
 *
 * Creates the pools, starts the Monitor and waits until it runs, then starts the
 * Scheduler and the Dispatcher; the Monitor starts the kernel workers. After an error
 * nothing of the start remains (DX-6). EBUSY if the context runs or stops (DX-4).
 * A stopped context can be started again (DX-112).
 */
struct dxk_ctx_start {
	__u32 size;
	__u32 flags;
};

/**
 * struct dxk_running - a worker that Stop still waits for, or a request without a worker, all
 *	out (DX-114)
 * @executor: of the request it fetched last
 * @owner: of that request
 * @param: of that request
 * @age_ns: since it was fetched, or began to wait
 * @thread: the worker's id; 0: the request waits, see struct dxk_wait
 * @attrs: PXR_* bits of that request
 */
struct dxk_running {
	__aligned_u64 executor;
	__aligned_u64 owner;
	__aligned_u64 param;
	__aligned_u64 age_ns;
	__u32 thread;
	__u32 attrs;
};

/**
 * struct dxk_ctx_stop - Stop (DXK_IOC_CTX_STOP)
 * @size: sizeof(struct dxk_ctx_stop)
 * @mode: enum dxk_stop_mode
 * @deadline: how long to wait for executing requests
 * @running: address of @nr structs of @running_size bytes, or 0
 * @nr: 0..499; 0 requests no report
 * @running_size: sizeof(struct dxk_running), at most 1024; ignored if @nr is 0
 * @nr_running: out, after ETIMEDOUT or EINTR: the number of workers that still execute, and of
 *	requests that wait, of which at most 64 are reported. The first @nr of them are in
 *	@running: workers by id, then requests
 * @reserved: 0
 *
 * Refuses new posts and wakes every sleeping poster and poller with ESHUTDOWN,
 * then waits until no request executes (and, when draining, none is Ready), then
 * ends the threads. A drain does neither to workers that execute a request (DX-107):
 * until the request ends they post and wait as usual, and Stop also waits for the requests that
 * they posted. A rejoin that is made while requests still execute sleeps and is answered as usual.
 *
 * After ETIMEDOUT or EINTR the context continues to stop, and is stopped when the last
 * request has ended. A further Stop waits again and may turn a drain into a cancel.
 * Results stay collectable (DX-110). Stop of a context that does not run returns 0.
 * A caller of Stop waits only for the run that was in progress, not for a run that is started
 * after the end of that one.
 */
struct dxk_ctx_stop {
	__u32 size;
	__u32 mode;
	__aligned_u64 deadline;
	__aligned_u64 running;
	__u32 nr;
	__u32 running_size;
	__u32 nr_running;
	__u32 reserved;
};

/**
 * enum dxk_member_kind - what a member does
 * @DXK_MEMBER_CLIENT: posts and rejoins. The first client of the creator's descriptor has
 *	id 0, the main application thread; further clients have 1000 and up
 * @DXK_MEMBER_WORKER: also fetches and executes requests. Its id is the
 *	lowest free one of kernel_threads+1..max_threads
 * @DXK_MEMBER_SPARE: a worker that is given requests only in place of workers that
 *	sleep in a call (%DXK_ON_BLOCK_SPARE). Its id is the highest free one from
 *	499 down
 */
enum dxk_member_kind {
	DXK_MEMBER_CLIENT,
	DXK_MEMBER_WORKER,
	DXK_MEMBER_SPARE,
};

/* Value of dxk_member_create.home: the worker is dealt to a home */
#define DXK_HOME_ANY		0xffffffffU

/**
 * struct dxk_member_create - join the Thread Pool (DXK_IOC_MEMBER_CREATE)
 * @size: sizeof(struct dxk_member_create)
 * @kind: enum dxk_member_kind
 * @fd: out, the member descriptor, for the calling thread only
 * @id: out, the thread id
 * @home: of a worker: which requests are for it, see dxk_policy.homes; 0: those without a home;
 *	%DXK_HOME_ANY: out, the home that has the fewest user workers, or 0. EINVAL for a number
 *	above the policy's homes, and for a home other than 0 of members that are not workers
 * @reserved: 0
 *
 * A worker can join only a context that runs or drains (ESHUTDOWN); ENOSPC if every
 * user worker's id is taken, ENODEV if the policy has no place for any. For
 * spares: ENOSPC if there are already max_spares, ENODEV unless on_block is SPARE. A client gets
 * EDQUOT if its user has used its share of ids, see dxk_policy.user_share.
 *
 * poll(2) on a client: readable when the owner whose last rejoin answered
 * %RJR_NONE_READY has a result or nothing left; after a rejoin with %DXK_CALL_ANY that returned
 * none: when any owner has a result, or no owner has anything left. On a worker: readable when
 * there is a request that it could take.
 */
struct dxk_member_create {
	__u32 size;
	__u32 kind;
	__s32 fd;
	__u32 id;
	__u32 home;
	__u32 reserved;
};

/**
 * struct dxk_crew_wait - wait until the crew needs more threads
 *	(DXK_IOC_CREW_WAIT)
 * @size: sizeof(struct dxk_crew_wait)
 * @flags: 0
 * @deadline: 0 only queries
 * @workers: out, user workers that are needed now: free places, up to min_threads; above that,
 *	as many as requests wait, while none is idle, and autotune allows it
 * @spares: out, user spares that are needed now: there are requests that a sleeping
 *	worker keeps from running, and all existing spares have work
 *
 * For the thread of a process that starts its workers. Returns the sum of both, 0 at
 * the deadline. If several such threads wait, the same need is reported to each of them; the
 * threads that attach first get the places. EINTR; ESHUTDOWN if the context
 * was not started or has ended. While a Stop drains it, a worker that died may still
 * have to be replaced; with nothing left to execute, no threads are needed.
 */
struct dxk_crew_wait {
	__u32 size;
	__u32 flags;
	__aligned_u64 deadline;
	__u32 workers;
	__u32 spares;
};

/* --- posting --------------------------------------------------------------- */

/*
 * DXK_CALL_HELP - of dxk_post.flags, dxk_rejoin.flags and dxk_roundtrip.flags: the caller
 * is a worker that can execute another request while it waits (%DXK_ON_BLOCK_HELP). Its sleep
 * then ends when there is such a request: a post gets EAGAIN with %PXR_HELP, a rejoin
 * returns 0 with the answer %RJR_HELP. The worker fetches that request with a DXK_IOC_NEXT of
 * nr_work 1, executes and completes it, and calls again. Without the flag, or under
 * another policy, the call continues to sleep.
 */
#define DXK_CALL_HELP		0x1

/*
 * DXK_CALL_NEST - of dxk_rejoin.flags and dxk_roundtrip.flags, by a worker that can execute
 * another request while it waits. If the result that it waits for cannot come before a request of
 * its own chain of calls has had a turn, and that request is Held by that same chain (struct
 * dxk_post_more, @reentry), the call returns 0 with the answer %RJR_HELP. The caller continues as
 * with %DXK_CALL_HELP: the request is executed within the one that has the key.
 */
#define DXK_CALL_NEST		0x2

/*
 * DXK_CALL_ANY - of dxk_rejoin.flags, alone: collect from any owner of the descriptor's space.
 * The results of a call belong to one owner, which is returned in dxk_rejoin.owner; owners that
 * have results take turns. %RJR_NONE_READY: no owner has a result; %RJR_NONE_EXIST: no request of
 * any owner of the space exists. After either answer poll(2) reports when an owner has a result.
 * EDEADLK: the caller executes a request, and might sleep for the result of that request. @min
 * is 0 or 1.
 */
#define DXK_CALL_ANY		0x4

/* Attributes of a request (the seed's RQEAttrs and the flags of PostARequest) */
#define PXR_WAITIF_BUSY		0x0001	/* sleep while there is no room */
#define PXR_REJOIN		0x0002	/* deliver it to the Rejoin Pool at its end */
#define PXR_BOOST		0x0004	/* marked for boosting */
#define PXR_REDO		0x0008	/* run it again when its worker dies */
#define PXR_LANE0		0x0010	/* lane 0; without a lane bit: lane 3 */
#define PXR_LANE1		0x0020
#define PXR_LANE2		0x0040
#define PXR_LANE3		0x0000	/* no lane bit */
#define PXR_LANE_CHILD		0x0080	/* the lane below that of its poster, see below */
#define PXR_KERNEL		0x0100	/* for a kernel worker; executor is an id */
#define PXR_FD			0x0200	/* hands over the file of field fd */
#define PXR_NAMED		0x0400	/* dxk_post_more.name: others wake and cancel it */
#define PXR_KEY			0x0800	/* dxk_post_more.key: one of that key at a time */
#define PXR_WAIT		0x1000	/* dxk_post_more.wait: it begins waiting */
#define PXR_EXPIRE		0x2000	/* dxk_post_more.expire: then it ends, or is asked to end */
#define PXR_QUIET		0x4000	/* it may wait for a long time: not reported for that */
#define PXR_FAIL_FAST		0x8000	/* if it fails, its owner's others are cancelled */
#define PXR_HOME		0x10000	/* dxk_post_more.home: for the workers of that home */

/*
 * PXR_LANE_CHILD goes without a lane bit (else EINVAL), and without PXR_HOME. The lane of the
 * request is determined by the request that the calling thread executes, the newest one if it has
 * several: it is the first lane below that one's which has a share of its own. With
 * %TPOOL_MODE_CMLS that is a lane whose lane_pct is not 0, or lane 3. There is no lane below
 * lane 3, so from there the request is in lane 3, too. If the poster executes nothing, the request
 * is in lane 1 or below, because lane 0 is for services. From then on PXR_LANE1 or PXR_LANE2
 * beside this bit in its attributes, or neither, indicate the lane.
 *
 * A request that waits only for requests that it has posted in this way waits for lanes below its
 * own, as long as there are any, and no such hierarchy can block itself. In lane 3 helpers or
 * spares provide what is needed, see on_block.
 */

/*
 * PXR_FD accepts regular files with contents of their own, directories of such file
 * systems, pipes, FIFOs, block devices, and the devices null, zero, full and random. All
 * other files get ELOOP: sockets, epoll and other anonymous files, devices, dxk's own
 * descriptors, which could hold others, and files of kernel interfaces as in /proc and /sys.
 */

/* Why a post was not taken (dxk_post.reason) */
#define PXR_POOL_FULL		1	/* EAGAIN: no free Ready Pool entry */
#define PXR_LANE_FULL		2	/* EAGAIN: the lane is at its limit */
#define PXR_LANE_CLOSED		3	/* EPERM: the lane's limit is 0 */
#define PXR_REJOIN_FULL		4	/* EAGAIN: no Rejoin Pool entry to reserve */
#define PXR_NO_SPACE		5	/* ENOSPC, EDQUOT: max_requests live requests */
#define PXR_HELP		6	/* EAGAIN: no room yet, a request to execute */

/*
 * How a request waits (dxk_wait.wait): until the first of the given events has happened,
 * for at least one of TIME, CALL, FILE, RESULT, JOIN; or AGAIN alone.
 */
#define DXK_WAIT_TIME		0x0001	/* @deadline has come */
#define DXK_WAIT_CALL		0x0002	/* it is called by its name, or was since the last call */
#define DXK_WAIT_FILE		0x0004	/* the file of @fd has one of @events */
#define DXK_WAIT_RESULT		0x0008	/* @owner has a result, or nothing coming */
#define DXK_WAIT_JOIN		0x0010	/* @owner has nothing coming; not with RESULT */
#define DXK_WAIT_AGAIN		0x0100	/* it is Ready at once, behind its equals */
#define DXK_WAIT_EAGER		0x0200	/* with JOIN: next, by the worker that ends the last one */
#define DXK_WAIT_MOVE		0x0400	/* from now on its key is @key; not of a post */
#define DXK_WAIT_ALONE		0x0800	/* from now on it has no key; not of a post */
#define DXK_WAIT_PRIO		0x1000	/* from now on its priority is @prio */
#define DXK_WAIT_MASKED		0x2000	/* cancel, expiry and Stop do not end it; needs TIME */

/**
 * enum dxk_wake_reason - why a request has a turn (dxk_work_more.wake)
 * @DXK_WAKE_NONE: it is its first, and it was not posted waiting
 * @DXK_WAKE_TIME: %DXK_WAIT_TIME
 * @DXK_WAKE_CALL: %DXK_WAIT_CALL
 * @DXK_WAKE_FILE: %DXK_WAIT_FILE; the events are in dxk_work_more.events
 * @DXK_WAKE_RESULT: %DXK_WAIT_RESULT
 * @DXK_WAKE_JOIN: %DXK_WAIT_JOIN
 * @DXK_WAKE_AGAIN: %DXK_WAIT_AGAIN
 * @DXK_WAKE_CANCEL: it is cancelled, by name or by a Stop(cancel): it is to end
 * @DXK_WAKE_EXPIRE: its time to end has come
 * @DXK_WAKE_STOP: it is of lane 0, and a Stop has begun
 * @DXK_WAKE_DEADLOCK: it would wait for something that waits for it: its own owner, or an owner
 *	whose requests cannot end before it does
 *
 * A turn has one reason. A cancelled request stays cancelled: each further wait is over at
 * once, unless it is masked.
 */
enum dxk_wake_reason {
	DXK_WAKE_NONE = 0,
	DXK_WAKE_TIME = 1,
	DXK_WAKE_CALL = 2,
	DXK_WAKE_FILE = 3,
	DXK_WAKE_RESULT = 4,
	DXK_WAKE_JOIN = 5,
	DXK_WAKE_AGAIN = 6,
	DXK_WAKE_CANCEL = 7,
	DXK_WAKE_EXPIRE = 8,
	DXK_WAKE_STOP = 9,
	DXK_WAKE_DEADLOCK = 10,
};

/* EPOLLIN, EPOLLPRI, EPOLLOUT, EPOLLERR, EPOLLHUP and EPOLLRDHUP (dxk_wait.events) */
#define DXK_WAIT_EVENTS		0x201f
/* In dxk_work_more.events: nobody has the file open any more, or its giver has gone */
#define DXK_EVENT_GONE		0x20

/**
 * struct dxk_wait - what a request waits for
 * @deadline: with %DXK_WAIT_TIME, of CLOCK_MONOTONIC, else 0. It must not be %DXK_FOREVER if the
 *	wait is masked, or has no other source. The request is never woken earlier
 * @owner: with %DXK_WAIT_RESULT or %DXK_WAIT_JOIN the owner of the requests to wait for, in the
 *	space of its own owner; else 0
 * @state: opaque, returned as dxk_work_more.state
 * @wait: DXK_WAIT_* bits
 * @key: with %DXK_WAIT_MOVE, else 0
 * @prio: with %DXK_WAIT_PRIO, else 0
 * @fd: with %DXK_WAIT_FILE an open file of the caller, else 0
 * @events: with %DXK_WAIT_FILE some of %DXK_WAIT_EVENTS, or none; else 0. EPOLLERR and EPOLLHUP
 *	always count
 *
 * A request that waits has no worker and holds no lane. Its owner still counts it as coming.
 *
 * %DXK_WAIT_EAGER (CO-16): the worker whose call completes the last request of @owner is given
 * the request that waits, before all Ready requests. The conditions are: the request is of the
 * kind of that worker, and of its home or of none; the worker's lanes admit it; it has no key, or
 * its key is free; and of several that wait in this way for one owner it is the last that began
 * to wait. Otherwise, and if the last request is ended by a cancel or a death instead of a worker,
 * it becomes Ready as without this bit.
 *
 * An event that has happened before the wait begins ends the wait at once, so that no
 * wake is lost. EINVAL: a wait that nothing could end, that contradicts itself, or with a
 * field that belongs to none of its bits.
 */
struct dxk_wait {
	__aligned_u64 deadline;
	__aligned_u64 owner;
	__aligned_u64 state;
	__aligned_u64 key;
	__u32 wait;
	__s32 prio;
	__s32 fd;
	__u32 events;
};

/**
 * enum dxk_reentry - may a request be executed within the one that has its key, if it is a
 *	part of that one's call? (AG-18, AG-20; dxk_post_more.reentry)
 * @DXK_REENTRY_NONE: no: a caller that waits for it gets EDEADLK
 * @DXK_REENTRY_SELF: yes, if the request that has the key is the one that waits for it
 * @DXK_REENTRY_CHAIN: also if that one waits for others, which wait for it
 */
enum dxk_reentry {
	DXK_REENTRY_NONE = 0,
	DXK_REENTRY_SELF = 1,
	DXK_REENTRY_CHAIN = 2,
};

/**
 * struct dxk_post_entry - one request to post
 * @owner: opaque; groups requests for rejoin. 0 is an owner like any other (DX-49)
 * @executor: opaque; with %PXR_KERNEL the id of a kernel executor
 * @param: opaque
 * @data: address of @data_len bytes that travel with the request
 * @data_len: at most the policy's data_size
 * @result_len: room for the result's data in bytes, at most data_size
 * @prio: larger is more urgent (DX-56)
 * @attrs: PXR_* bits
 * @fd: with %PXR_FD an open file of the caller, else 0
 * @reserved: 0
 *
 * owner, executor and param are never dereferenced and are returned unchanged. The worker
 * must not dereference them either, unless it knows the poster: dxk_work.origin.
 */
struct dxk_post_entry {
	__aligned_u64 owner;
	__aligned_u64 executor;
	__aligned_u64 param;
	__aligned_u64 data;
	__u32 data_len;
	__u32 result_len;
	__s32 prio;
	__u32 attrs;
	__s32 fd;
	__u32 reserved;
};

/**
 * struct dxk_post_more - a longer element of dxk_post.entries
 * @post: the request
 * @name: with %PXR_NAMED, else 0. Unique among the requests of the descriptor's space that have
 *	not ended
 * @expire: with %PXR_EXPIRE a time of CLOCK_MONOTONIC, else 0. A request that was not given to a
 *	worker by then ends with status -ETIME. Another request is asked to end: by
 *	%DXK_IOC_SHOULD_STOP, and with %DXK_WAKE_EXPIRE instead of a wait, once
 * @wait: with %PXR_WAIT, else zeros
 * @key: with %PXR_KEY, else 0. Of all requests of the descriptor's space with one key at most
 *	one has its turn (AG-2). That request has the key from the time when it becomes Ready
 *	until it ends, waits, or leaves the key (struct dxk_key_call)
 * @reentry: with %PXR_KEY enum dxk_reentry, else 0
 * @home: with %PXR_HOME, else 0: workers of home 1 + (@home - 1) % dxk_policy.homes execute
 *	it, in each of its turns (FO-2); 1..2^32-1. The request must be of lane 3 and without
 *	%PXR_BOOST, else EINVAL. Without homes it is a request like any other
 *
 * The other requests of a key are Held: they wait for the key, and become Ready one after the
 * other, by priority, then in the order of their arrival (AG-3). If the request that has the key
 * is still Ready, a more urgent one takes its place. A Held request is one of
 * dxk_policy.max_waiting and needs no entry of the Ready Pool, also when it becomes Ready.
 * It ages like a Ready request, without a boost.
 *
 * A request with %PXR_WAIT needs an entry of the Ready Pool when its wait is over: it then
 * precedes all that sleep for an entry. Until then it is one of dxk_policy.max_waiting.
 *
 * With %PXR_FAIL_FAST, if the request ends with a status below 0 other than -ECANCELED, including
 * by its worker's death or because it has expired, the other requests that its owner then has
 * are cancelled as by %DXK_IOC_CANCEL_OWNER.
 *
 * With %PXR_QUIET its long waits are not reported: see dxk_policy.wait_report_ms.
 *
 * The shorter element does not support these attributes: it refuses them with EINVAL.
 *
 * EBADF, EPERM, ELOOP, EOPNOTSUPP, ETOOMANYREFS of a wait for a file: the file is not open; it has
 * no poll(2), like a regular file; it is one of dxk's; it has more than two wait queues; as many
 * files already count for the caller's user as it may have open.
 *
 * EEXIST: the name is taken. EDEADLK: the wait is for the request's own owner. ENOSPC, EDQUOT
 * with %PXR_NO_SPACE: the maximum number already wait. ECANCELED: the key refuses posts, see
 * %DXK_KEY_REFUSE. EOPNOTSUPP: max_waiting is 0.
 */
struct dxk_post_more {
	struct dxk_post_entry post;
	__aligned_u64 name;
	__aligned_u64 expire;
	struct dxk_wait wait;
	__aligned_u64 key;
	__u32 reentry;
	__u32 home;
};

/**
 * struct dxk_post - post requests (DXK_IOC_POST; DX-37..DX-48)
 * @size: sizeof(struct dxk_post)
 * @flags: %DXK_CALL_HELP or 0
 * @deadline: ends the sleep of requests with %PXR_WAITIF_BUSY
 * @entries: address of @nr structs of @entry_size bytes
 * @nr: 1..%DXK_BATCH_MAX
 * @entry_size: sizeof(struct dxk_post_entry)
 * @index: out, if fewer than @nr were taken or the call failed: the index of
 *	the entry that was not taken
 * @reason: out, PXR_POOL_FULL.. for that entry, 0 if another error ended the
 *	call
 *
 * Returns the number of requests taken.
 */
struct dxk_post {
	__u32 size;
	__u32 flags;
	__aligned_u64 deadline;
	__aligned_u64 entries;
	__u32 nr;
	__u32 entry_size;
	__u32 index;
	__u32 reason;
};

/* --- rejoin ---------------------------------------------------------------- */

/* Answers of a rejoin (dxk_rejoin.answer) */
#define RJR_RETURNED		1	/* completed requests were returned */
#define RJR_NONE_READY		2	/* none has completed, but some exist */
#define RJR_NONE_EXIST		3	/* none of this owner exists: authoritative */
#define RJR_HELP		4	/* none has completed yet, there is a request to execute */

/**
 * struct dxk_result - one completed request, all out
 * @executor: as posted
 * @param: as posted
 * @status: what the executor returned; -ECANCELED: cancelled before it ran;
 *	-EOWNERDEAD: its worker died
 * @attrs: as posted
 * @prio: the current priority at its dispatch (DX-63)
 * @inspect_count: number of scheduler intervals that it spent in the Ready Pool (DX-36)
 * @data_len: bytes of result data, stored at dxk_rejoin.data + i * data_stride
 * @worker: id of the thread that executed it, 0 if none did
 * @attempts: how often it was begun: above 1 after %PXR_REDO, 0 if it was never begun
 * @reserved: 0
 */
struct dxk_result {
	__aligned_u64 executor;
	__aligned_u64 param;
	__s32 status;
	__u32 attrs;
	__s32 prio;
	__u32 inspect_count;
	__u32 data_len;
	__u32 worker;
	__u32 attempts;
	__u32 reserved;
};

/**
 * struct dxk_rejoin - collect completed requests of an owner (DXK_IOC_REJOIN;
 *	DX-50..DX-55, DX-87..DX-95)
 * @size: sizeof(struct dxk_rejoin)
 * @flags: %DXK_CALL_HELP, %DXK_CALL_NEST; or %DXK_CALL_ANY
 * @owner: the owner of the requests; with %DXK_CALL_ANY 0, and out with results: their owner
 * @deadline: 0 polls; otherwise sleeps until @min requests can be returned or
 *	no further one can come
 * @results: address of @nr structs of @result_size bytes
 * @data: address of @nr slots of @data_stride bytes for the result data, or 0
 *	if the data is not wanted
 * @nr: 1..%DXK_BATCH_MAX
 * @result_size: sizeof(struct dxk_result)
 * @data_stride: bytes; with @data at least the result_len of each request
 *	returned, else EMSGSIZE and that request stays
 * @min: 1..@nr; 0 means 1. At the deadline fewer are returned. Under
 *	%DXK_REJOIN_BLOCK_WORKER, where results keep workers waiting, the first result
 *	ends the sleep
 * @answer: out, RJR_*
 * @reserved: 0
 *
 * Returns the number of requests returned, oldest completion first; if it is above 0 the
 * answer is %RJR_RETURNED. A wait that ends at its deadline answers
 * %RJR_NONE_READY, not an error. A result that cannot be copied out stays in the
 * Rejoin Pool (EFAULT).
 */
struct dxk_rejoin {
	__u32 size;
	__u32 flags;
	__aligned_u64 owner;
	__aligned_u64 deadline;
	__aligned_u64 results;
	__aligned_u64 data;
	__u32 nr;
	__u32 result_size;
	__u32 data_stride;
	__u32 min;
	__u32 answer;
	__u32 reserved;
};

/**
 * struct dxk_roundtrip - post requests and collect their results (DXK_IOC_CALL)
 * @size: sizeof(struct dxk_roundtrip)
 * @flags: %DXK_CALL_HELP, %DXK_CALL_NEST
 * @deadline: as dxk_post.deadline, then as dxk_rejoin.deadline
 * @entries: as dxk_post.entries; all of one owner and with %PXR_REJOIN, else EINVAL
 * @results: as dxk_rejoin.results, of the same @nr
 * @data: as dxk_rejoin.data
 * @nr: 1..%DXK_BATCH_MAX
 * @entry_size: as dxk_post.entry_size
 * @result_size: as dxk_rejoin.result_size
 * @data_stride: as dxk_rejoin.data_stride
 * @min: as dxk_rejoin.min
 * @index: out, as dxk_post.index
 * @reason: out, as dxk_post.reason
 * @answer: out, as dxk_rejoin.answer; 0 when fewer than @nr were taken
 * @taken: out, the number of requests taken. A call that is refused for its argument does not
 *	write it: set it to 0 before the call
 * @reserved: 0
 *
 * This is a DXK_IOC_POST, and, if that takes all @nr, a DXK_IOC_REJOIN of their owner.
 * Returns the number of requests returned, which may be others of that owner. If the post
 * takes fewer, the call ends: with the error of the post if it took none, else with 0. The caller
 * then continues with the two calls.
 *
 * With @taken == @nr the requests are posted, whatever the call returns. The caller continues
 * with DXK_IOC_REJOIN; an error belongs to that part. To prevent a second post of the requests,
 * a signal then ends the call with EINTR, regardless of the flags of its handler.
 */
struct dxk_roundtrip {
	__u32 size;
	__u32 flags;
	__aligned_u64 deadline;
	__aligned_u64 entries;
	__aligned_u64 results;
	__aligned_u64 data;
	__u32 nr;
	__u32 entry_size;
	__u32 result_size;
	__u32 data_stride;
	__u32 min;
	__u32 index;
	__u32 reason;
	__u32 answer;
	__u32 taken;
	__u32 reserved;
};

/* --- workers --------------------------------------------------------------- */

/**
 * struct dxk_done - one request that the worker has executed
 * @ticket: dxk_work.ticket of the dispatch that this answers
 * @data: address of @data_len bytes of result data
 * @data_len: at most dxk_work.result_len, else EMSGSIZE
 * @status: the executor's return value (DX-85)
 */
struct dxk_done {
	__aligned_u64 ticket;
	__aligned_u64 data;
	__u32 data_len;
	__s32 status;
};

/**
 * struct dxk_done_more - a longer element of dxk_next.done
 * @done: the request
 * @wait: zeros; otherwise its turn ends with a wait instead of a status, which must then be 0.
 *	The next turn gets @done.data as its data
 * @attempts: 0; otherwise how often the request was begun in total, by workers elsewhere as well:
 *	dxk_work.attempt..65535, else EINVAL. It becomes dxk_result.attempts, and counts for
 *	dxk_policy.redo_max. It must be 0 with @wait
 * @reserved: 0
 */
struct dxk_done_more {
	struct dxk_done done;
	struct dxk_wait wait;
	__u32 attempts;
	__u32 reserved;
};

/* Bits of dxk_work.origin */
#define DXK_POSTED_HERE		0x1	/* by the caller's process, since its last exec(2) */

/**
 * struct dxk_work - one request to execute, all out
 * @ticket: names this dispatch; never used again in this context
 * @owner: as posted
 * @executor: as posted
 * @param: as posted
 * @data_len: bytes of data, stored at dxk_next.data + i * data_stride
 * @result_len: room for the result's data
 * @prio: current priority, frozen at this dispatch
 * @attrs: as posted
 * @inspect_count: number of scheduler intervals that it spent in the Ready Pool
 * @fd: with %PXR_FD a new descriptor (O_CLOEXEC) of the worker's process for the
 *	file that was handed over; else -1
 * @attempt: 1 the first time; higher if earlier workers died while they executed it
 *	(%PXR_REDO)
 * @reserved: 0
 * @uid: effective user of the poster at the time of the post, as the caller's user namespace
 *	numbers it; ~0 if it has no number there
 * @gid: likewise the effective group of the poster
 * @pid: process of the poster, as the caller's pid namespace numbers it, which may have ended
 *	since; 0 if it has no number there, and for one of the kernel's own
 * @origin: %DXK_POSTED_HERE or 0. Without that bit owner, executor and param are numbers
 *	chosen by a stranger. A caller that uses one as an address gives every user who may post
 *	full control of itself
 */
struct dxk_work {
	__aligned_u64 ticket;
	__aligned_u64 owner;
	__aligned_u64 executor;
	__aligned_u64 param;
	__u32 data_len;
	__u32 result_len;
	__s32 prio;
	__u32 attrs;
	__u32 inspect_count;
	__s32 fd;
	__u32 attempt;
	__u32 reserved;
	__u32 uid;
	__u32 gid;
	__u32 pid;
	__u32 origin;
};

/**
 * struct dxk_work_more - a longer element of dxk_next.work, all out
 * @work: the request. @work.attempt counts within a turn
 * @name: as posted
 * @state: dxk_wait.state of its last wait
 * @turn: number of its turns that have ended with a wait
 * @wake: enum dxk_wake_reason
 * @events: with %DXK_WAKE_FILE the events that have happened, EPOLL* or %DXK_EVENT_GONE; 0: one
 *	may have happened
 * @nested: 1: it is executed within the request that has its key, see %DXK_CALL_NEST
 * @key: with %PXR_KEY, or after %DXK_WAIT_MOVE, its key, else 0
 * @expire: as posted with %PXR_EXPIRE; 0 if there was none, or once that time has come
 */
struct dxk_work_more {
	struct dxk_work work;
	__aligned_u64 name;
	__aligned_u64 state;
	__aligned_u64 key;
	__u32 turn;
	__u32 wake;
	__u32 events;
	__u32 nested;
	__aligned_u64 expire;
};

/**
 * struct dxk_next - complete requests and fetch more (DXK_IOC_NEXT; DX-77..DX-85)
 * @size: sizeof(struct dxk_next)
 * @flags: 0
 * @deadline: how long to sleep while there is no work
 * @done: address of @nr_done structs of @done_size bytes
 * @work: address of @nr_work structs of @work_size bytes
 * @data: address of @nr_work slots of @data_stride bytes, or 0 if the data is
 *	not wanted
 * @nr_done: 0..%DXK_BATCH_MAX
 * @done_size: sizeof(struct dxk_done); ignored if @nr_done is 0
 * @nr_work: 0..%DXK_BATCH_MAX; 0 only completes
 * @work_size: sizeof(struct dxk_work); ignored if @nr_work is 0
 * @data_stride: bytes, with @data at least the policy's data_size (EMSGSIZE)
 * @nr_taken: out, how many of @done were taken
 *
 * Takes the completions, then up to @nr_work requests in the same lock hold, and
 * sleeps only if there is none. A worker that was called to help gets that request,
 * and only that. More than one request is given only while no other
 * worker is idle, and only of lane 3, whose requests wait for nobody.
 *
 * Returns the number of requests fetched. Once a completion was taken, the call
 * does not fail: it returns 0, and the next call reports the error. ESTALE if
 * @done names a dispatch that this worker does not hold (any more): those before
 * it are taken, the first not taken is the stale one, nothing is fetched. The same applies to a
 * wait that is refused, see struct dxk_done_more.
 * ETIMEDOUT, EINTR and ESHUTDOWN end the sleep. A request that cannot be copied
 * out returns to the Ready Pool with its place in the order.
 */
struct dxk_next {
	__u32 size;
	__u32 flags;
	__aligned_u64 deadline;
	__aligned_u64 done;
	__aligned_u64 work;
	__aligned_u64 data;
	__u32 nr_done;
	__u32 done_size;
	__u32 nr_work;
	__u32 work_size;
	__u32 data_stride;
	__u32 nr_taken;
};

/**
 * struct dxk_should_stop - query whether to end (DXK_IOC_SHOULD_STOP; DX-109)
 * @size: sizeof(struct dxk_should_stop)
 * @flags: 0
 * @deadline: 0 only queries; otherwise sleeps until the answer is yes
 *
 * Returns 1 if the caller should end soon, 0 if not (until the deadline). A
 * service request of lane 0 should end from the start of any Stop on, other requests
 * from the start of Stop(cancel) or from the close of the context on. A member
 * that executes nothing gets the answer of a service. EINTR ends the sleep.
 */
struct dxk_should_stop {
	__u32 size;
	__u32 flags;
	__aligned_u64 deadline;
};

/* --- names ----------------------------------------------------------------- */

/* The effect of a cancel on a request (dxk_names.states) */
#define DXK_CANCEL_NONE		0	/* there is none of that name, or it has ended */
#define DXK_CANCEL_ENDED	1	/* no worker was given it: it ends with -ECANCELED */
#define DXK_CANCEL_TOLD		2	/* it is asked to end: see %DXK_WAKE_CANCEL */

/**
 * struct dxk_names - requests of the descriptor's space by their names (DXK_IOC_WAKE,
 *	DXK_IOC_CANCEL)
 * @size: sizeof(struct dxk_names)
 * @flags: 0
 * @names: address of @nr numbers of 64 bits
 * @states: DXK_IOC_CANCEL: address of @nr numbers of 32 bits, out, DXK_CANCEL_*; or 0. 0 for
 *	DXK_IOC_WAKE
 * @nr: 1..%DXK_BATCH_MAX
 * @reserved: 0
 *
 * %DXK_IOC_WAKE calls them: it ends the wait of a request that waits for a call. Of another
 * request it ends the next wait for a call; two calls before that count as one. %DXK_IOC_CANCEL
 * ends them, or asks them to end. Returns how many of them exist; ENOENT: none of them.
 */
struct dxk_names {
	__u32 size;
	__u32 flags;
	__aligned_u64 names;
	__aligned_u64 states;
	__u32 nr;
	__u32 reserved;
};

/* --- keys ------------------------------------------------------------------ */

/**
 * enum dxk_key_what - what to do with a key (dxk_key_call.what)
 * @DXK_KEY_LEAVE: the request gives its key up and continues without it (AG-26)
 * @DXK_KEY_ENTER: it gets its key again, before all that are Held, behind those that came back
 *	earlier
 * @DXK_KEY_WAIT: it gives its key up until it is notified, or until the deadline; then it has the
 *	key again. At the deadline it is the next to get the key (AG-22, AG-23)
 * @DXK_KEY_NOTIFY: the request that has waited longest gets the key now, the caller's after it,
 *	before all others (AG-24). Nothing happens if none waits
 * @DXK_KEY_NOTIFY_ALL: all that wait, in their order, then the caller's (AG-25)
 * @DXK_KEY_HOLD: from now on no request of the key begins a turn; one that executes continues
 *	(AG-29). With %DXK_KEY_REFUSE posts to the key are also refused
 * @DXK_KEY_RELEASE: the end of the hold
 * @DXK_KEY_CANCEL: Held requests end with -ECANCELED, like Ready requests, or are asked to end if
 *	they were begun; requests that wait to be notified get ECANCELED (AG-31)
 * @DXK_KEY_BLOCK: the request is about to sleep outside of dxk: its key, if it has one, and the
 *	place of its worker are available to others from now on (FO-35, FO-36)
 * @DXK_KEY_UNBLOCK: it is back, and has its key again as after ENTER (FO-38)
 */
enum dxk_key_what {
	DXK_KEY_LEAVE = 0,
	DXK_KEY_ENTER = 1,
	DXK_KEY_WAIT = 2,
	DXK_KEY_NOTIFY = 3,
	DXK_KEY_NOTIFY_ALL = 4,
	DXK_KEY_HOLD = 5,
	DXK_KEY_RELEASE = 6,
	DXK_KEY_CANCEL = 7,
	DXK_KEY_BLOCK = 8,
	DXK_KEY_UNBLOCK = 9,
};

/* Of dxk_key_call.flags with DXK_KEY_HOLD: posts to the key get ECANCELED */
#define DXK_KEY_REFUSE		0x1
/* Of dxk_key_call.flags with DXK_KEY_BLOCK: also if nobody could take the place */
#define DXK_KEY_FORCE		0x2

/**
 * struct dxk_key_call - give a key up, wait for it, hold it back (DXK_IOC_KEY)
 * @size: sizeof(struct dxk_key_call)
 * @what: enum dxk_key_what
 * @key: HOLD, RELEASE, CANCEL: the key, in the descriptor's space; else 0
 * @ticket: of the other operations: dxk_work.ticket of a request that the caller executes; else 0
 * @deadline: of %DXK_KEY_WAIT and %DXK_KEY_BLOCK, else 0
 * @flags: %DXK_KEY_REFUSE, %DXK_KEY_FORCE or 0
 * @reserved: 0
 *
 * LEAVE to NOTIFY_ALL are for the request that has its key. EPERM: it does not have its key;
 * EINVAL: it is without a key; EBUSY: it is executed within the request that has the key, or
 * another one is executed within it; ESTALE: the caller does not execute it. ENTER: EALREADY: it
 * has its key; EDEADLK: another request that the caller executes has the key.
 *
 * A request that has given its key up sleeps in ENTER, WAIT, NOTIFY and NOTIFY_ALL until it has
 * the key again: the call returns 0, or ETIMEDOUT of WAIT. EINTR of WAIT, NOTIFY, NOTIFY_ALL: it
 * does not have the key, but keeps its place: it must continue with ENTER, and counts as notified.
 * ECANCELED: it is cancelled, or Stop(cancel) has begun: it continues without the key.
 *
 * BLOCK and UNBLOCK are for any request, with or without a key, that is about to sleep outside
 * of dxk, and is back from that. In between its key, and the place of its worker, are available
 * to others: an idle worker, or a spare (%DXK_ON_BLOCK_SPARE), executes Ready requests. If nobody
 * is idle and no spare is parked, BLOCK requests a spare, and sleeps until it is there, at most
 * until @deadline. EAGAIN, and nothing has changed: there is none, unless %DXK_KEY_FORCE is given.
 * EBUSY: the request is already between the marks (its other operations on its key get this error,
 * too); or another request is executed within it. UNBLOCK: EPERM: it is not between the marks.
 * UNBLOCK sleeps until the request has its key again, if it had the key, before all that are Held;
 * ECANCELED: it is to end, and continues without its key; EDEADLK: as of ENTER, with which it comes
 * back to its key later. The end of the turn also ends the marks.
 *
 * HOLD belongs to the descriptor's space, and ends with the space, with RELEASE, and with Stop.
 * It is not counted: one RELEASE ends all. It is one of dxk_policy.max_waiting: ENOSPC; EDQUOT:
 * the user has used its share of them. RELEASE and CANCEL of a key of which nothing is known:
 * ENOENT. CANCEL returns the number of requests that it has ended or asked to end. It may also
 * affect a request that is posted while the call lasts.
 */
struct dxk_key_call {
	__u32 size;
	__u32 what;
	__aligned_u64 key;
	__aligned_u64 ticket;
	__aligned_u64 deadline;
	__u32 flags;
	__u32 reserved;
};

/**
 * struct dxk_cancel_owner - cancel all requests of an owner (DXK_IOC_CANCEL_OWNER)
 * @size: sizeof(struct dxk_cancel_owner)
 * @flags: 0
 * @owner: the owner, in the descriptor's space
 * @ready: out, how many were Ready
 * @executing: out, how many workers had
 * @waiting: out, how many waited
 * @done: out, how many had ended, and were not collected: nothing happens to them
 *
 * Cancels all requests that exist when the call begins, as if each had a name and
 * %DXK_IOC_CANCEL were called for it: a request that was not given to a worker ends with
 * -ECANCELED, another one is asked to end, and is not run again if its worker dies. A request that
 * is posted while the call lasts is no part of this. Requests of kernel modules that are part of
 * other objects (struct dxk_item) are cancelled like all others. ENOENT: the owner has no requests,
 * and the fields are 0; EFAULT: the fields cannot be written, and all requests are cancelled.
 */
struct dxk_cancel_owner {
	__u32 size;
	__u32 flags;
	__aligned_u64 owner;
	__u32 ready;
	__u32 executing;
	__u32 waiting;
	__u32 done;
};

/* --- the log --------------------------------------------------------------- */

/* DXK_LOG_TEXT - room for a message in the Log Pool, including its zero */
#define DXK_LOG_TEXT		224

/* Bits of dxk_log_record.flags */
#define DXK_LOG_CUT		0x1	/* the message was longer */
#define DXK_LOG_GAP		0x2	/* no message: text states how many were lost */

/**
 * struct dxk_log_record - one message of the log, all out
 * @seq: its number in the order of entry, from 1; for a gap the number of the first
 *	message lost
 * @time_ns: CLOCK_MONOTONIC when it entered
 * @thread: id of the thread that wrote it
 * @flags: DXK_LOG_*
 * @lost: for a gap, how many messages were lost in this place; else 0
 * @len: bytes of @text without the zero
 * @text: one line without a newline, zero-terminated
 */
struct dxk_log_record {
	__aligned_u64 seq;
	__aligned_u64 time_ns;
	__u32 thread;
	__u32 flags;
	__u32 lost;
	__u32 len;
	char text[DXK_LOG_TEXT];
};

/* Bits of dxk_log_write.flags */
#define DXK_LOG_WAIT		0x1	/* sleep while the pool is full (log_full BLOCK) */

/**
 * struct dxk_log_write - write a message (DXK_IOC_LOG_WRITE; DX-97..DX-102)
 * @size: sizeof(struct dxk_log_write)
 * @flags: %DXK_LOG_WAIT or 0
 * @deadline: ends the sleep of %DXK_LOG_WAIT
 * @text: address of @len bytes
 * @len: any; bytes beyond %DXK_LOG_TEXT - 1 are cut off and the message is
 *	marked %DXK_LOG_CUT. Control characters become spaces, including U+0080..U+009F
 *	and bytes of 0x80..0x9f that are not part of a character in UTF-8
 * @reserved: 0
 *
 * While the context runs, the message enters the Log Pool, and the call returns
 * without waiting for the persistent write. Before Start and after Stop the log is
 * synchronous: the message is in the log file when the call returns (DX-3), and
 * the call returns the error of that write; ENODEV if there is no log file. Once the
 * write has begun, only SIGKILL ends the wait; it is then unknown whether the message of the
 * killed process is in the file.
 *
 * The policy's log_full determines what happens when the pool is full: a message that is
 * dropped, this one or another, is counted and shown as a gap, and the call returns 0.
 * ETIMEDOUT, EINTR and ESHUTDOWN end a sleep; the message was not taken.
 */
struct dxk_log_write {
	__u32 size;
	__u32 flags;
	__aligned_u64 deadline;
	__aligned_u64 text;
	__u32 len;
	__u32 reserved;
};

/**
 * struct dxk_log_read - read and remove the oldest messages (DXK_IOC_LOG_READ)
 * @size: sizeof(struct dxk_log_read)
 * @flags: 0
 * @deadline: 0 polls; otherwise sleeps until there is one
 * @records: address of @nr structs of @record_size bytes
 * @nr: 1..%DXK_BATCH_MAX
 * @record_size: sizeof(struct dxk_log_record)
 *
 * Returns the number of messages read, 0 if there is none (until the deadline), or if another
 * call is copying them out, even to memory that never becomes available. All
 * messages accepted before a Stop are still readable after it (DX-103); then
 * ESHUTDOWN means that no more will come. EBUSY if a log file is set: the messages go to the
 * file. Messages that cannot be copied out stay. poll(2) on the context: readable when
 * there is a message.
 */
struct dxk_log_read {
	__u32 size;
	__u32 flags;
	__aligned_u64 deadline;
	__aligned_u64 records;
	__u32 nr;
	__u32 record_size;
};

/**
 * struct dxk_log_file - let the kernel write the log (DXK_IOC_LOG_FILE)
 * @size: sizeof(struct dxk_log_file)
 * @fd: a regular file open for appending, or -1 for none (any more)
 *
 * The kernel writes each message as one line, "seq seconds.nanoseconds thread
 * message", with the rights that the file was opened with. After the application has died it
 * continues with the contents of the pool: no accepted message is lost. If the call sets another
 * file, for rotation, all messages accepted before are in the old one when the
 * call returns. The write of a line that failed (disk full, quota) is retried
 * as long as the pool has room for new messages; then log_full decides.
 *
 * EBADF: not open for writing; EINVAL: not a regular file of a real file system,
 * or not opened with O_APPEND; EINTR ended the wait for the old file, which stays in use.
 * A file system that does not answer delays only the log and callers that wait for it.
 */
struct dxk_log_file {
	__u32 size;
	__s32 fd;
};

/* --- commands -------------------------------------------------------------- */

/* DXK_COMMAND_MAX - maximum number of bytes of a command and of a reply, without a zero */
#define DXK_COMMAND_MAX		4096

/**
 * struct dxk_command_send - send a command (DXK_IOC_COMMAND_SEND; DX-29..DX-32)
 * @size: sizeof(struct dxk_command_send)
 * @text_len: bytes at @text, 1..%DXK_COMMAND_MAX; 0 only with @id
 * @deadline: how long to wait for the reply; 0 does not wait and gets none
 * @at: CLOCK_MONOTONIC time to run it, 0 for now. A timed command runs at the
 *	first tick of the Monitor that is not earlier, and has no reply
 * @every_ns: run it again in this interval after @at, 0 for once
 * @text: address of the command; no byte of it is 0
 * @reply: address of @reply_room bytes
 * @reply_room: maximum number of bytes of reply wanted
 * @reply_len: out, bytes of the reply, including those beyond @reply_room
 * @status: out, 0 or the negative errno of the command
 * @id: out, names a timed command for "cancel ID". In, with @text_len 0: cancel
 *	that command at once; ESRCH if there is none (any more)
 *
 * A command goes to the attached handler. A command that the handler does not know, and every
 * command while there is no handler, goes to the context's own commands: show
 * threads|pools|lanes|owners|waiting|keys|commands, set FIELD VALUE, drain, quit, cancel ID.
 * Unknown to both: status -ENOENT.
 *
 * "set" answers with status -EINVAL, -EOPNOTSUPP or -EBUSY and the reason; "drain"
 * begins a Stop(drain) and answers when no request is Ready or executes any more;
 * "quit" begins a Stop in the mode of the policy's shutdown and answers at once: in both
 * cases Stop itself must still be called. A reply that does not fit ends with
 * "... cut". An own command is run by its sender, who waits no longer than
 * @deadline for it. This includes the handler's thread if it sends one and waits, for instance
 * to do more than that command does.
 *
 * EAGAIN: too many commands are already waiting (64), or timed ones (64). ETIMEDOUT and
 * EINTR: no reply so far, the command may still run. EFAULT at @reply: it ran, the
 * reply is lost; any other EFAULT: it was not sent. EMSGSIZE: too long. A Stop
 * answers waiting commands with status -ESHUTDOWN and discards timed commands.
 */
struct dxk_command_send {
	__u32 size;
	__u32 text_len;
	__aligned_u64 deadline;
	__aligned_u64 at;
	__aligned_u64 every_ns;
	__aligned_u64 text;
	__aligned_u64 reply;
	__u32 reply_room;
	__u32 reply_len;
	__s32 status;
	__u32 id;
};

/**
 * struct dxk_command_attach - become the command handler (DXK_IOC_COMMAND_ATTACH)
 * @size: sizeof(struct dxk_command_attach)
 * @attach: 1 to attach, 0 to detach
 *
 * A new handler replaces the earlier one, whose calls get ESTALE from then on. A
 * command that the earlier one has not answered yet goes to the context's own commands
 * (DX-31). Closing the member, or the end of its thread, also detaches it.
 * A context that is stopped and started again keeps its handler.
 */
struct dxk_command_attach {
	__u32 size;
	__u32 attach;
};

/* What dxk_command_next returned (dxk_command_next.kind) */
#define DXK_COMMAND_TICK	1	/* the Monitor's interval is over */
#define DXK_COMMAND_TEXT	2	/* a command: answer it with the next call */

/**
 * struct dxk_command_next - answer a command and get the next (DXK_IOC_COMMAND_NEXT)
 * @size: sizeof(struct dxk_command_next)
 * @status: of the command that the last call returned: 0, a negative errno, or -ENOENT
 *	to hand it to the context's own commands. Ignored if the last call returned none
 * @reply: address of @reply_len bytes of reply to it
 * @deadline: how long to sleep while there is nothing to handle
 * @text: address of @text_room bytes for the next command
 * @text_room: at least %DXK_COMMAND_MAX (EMSGSIZE)
 * @text_len: out, bytes of the command
 * @kind: out, DXK_COMMAND_TICK or DXK_COMMAND_TEXT
 * @reply_len: at most %DXK_COMMAND_MAX
 *
 * Ticks come once per monitor interval (DX-29) and are not queued: a handler that
 * is late gets one. Commands come in the order of sending. EPERM: not attached;
 * ESTALE: replaced by another handler; ETIMEDOUT, EINTR; ESHUTDOWN once the
 * context does not run and no command waits. After EFAULT, EINVAL (@status) and
 * EMSGSIZE the answer is still owed or the next command is still to come: call again.
 * poll(2) on the handler's member: readable when this call would not sleep.
 */
struct dxk_command_next {
	__u32 size;
	__s32 status;
	__aligned_u64 reply;
	__aligned_u64 deadline;
	__aligned_u64 text;
	__u32 text_room;
	__u32 text_len;
	__u32 kind;
	__u32 reply_len;
};

/* --- the Handle Table ------------------------------------------------------ */

/**
 * struct dxk_handle_open - put a file into the Handle Table (DXK_IOC_HANDLE_OPEN)
 * @size: sizeof(struct dxk_handle_open)
 * @fd: a regular file that is open for reading or writing
 * @handle: out, names it in the data of requests for kernel executors; not
 *	reused in this context
 *
 * A kernel executor that uses the handle gets a file of its own for its worker,
 * opened at the first use there (DX-16, DX-26) with the flags of @fd and the
 * rights of the user who opened @fd. @fd may be closed. The table's size counts handles
 * and workers' own files together. Stop closes all.
 *
 * ENOSPC: the table is full; EBADF; EINVAL: not a regular file, or one of a kernel
 * interface as in /proc; ETOOMANYREFS: see PXR_FD; ESHUTDOWN.
 */
struct dxk_handle_open {
	__u32 size;
	__s32 fd;
	__aligned_u64 handle;
};

/**
 * struct dxk_handle_close - close a handle (DXK_IOC_HANDLE_CLOSE; DX-27)
 * @size: sizeof(struct dxk_handle_close)
 * @flags: 0
 * @handle: from dxk_handle_open
 *
 * Every worker's own file is closed; a file that a running request uses is closed when that
 * request ends. ENOENT: no such handle (any more).
 */
struct dxk_handle_close {
	__u32 size;
	__u32 flags;
	__aligned_u64 handle;
};

/**
 * struct dxk_sha256_range - data of a request for the executor "sha256" without
 *	PXR_FD
 * @handle: of the file, from dxk_handle_open
 * @offset: first byte
 * @length: number of bytes; bytes beyond the end of the file do not count.
 *	~0 for all up to the end
 *
 * The result is the 32 bytes of the digest of this range. Requests on ranges of
 * one file run in parallel, each worker with a file of its own. The status is
 * ENOENT if there is no such handle (any more), ENOSPC if the table has no
 * entry for the worker's own file, EAGAIN if somebody has a lease on the file; the holder of the
 * lease is notified.
 */
struct dxk_sha256_range {
	__aligned_u64 handle;
	__aligned_u64 offset;
	__aligned_u64 length;
};

/* --- instrumentation ------------------------------------------------------- */

/**
 * struct dxk_sample - one sample of the instrumentation package
 * @time_ns: CLOCK_MONOTONIC when it was taken
 * @posts: requests posted since the previous sample
 * @dispatches: requests given to workers since then
 * @completions: requests completed since then
 * @ready: entries of the Ready Pool in use at this time
 * @busy: requests with workers
 * @rejoin: entries of the Rejoin Pool in use
 * @log: entries of the Log Pool in use
 * @handles: entries of the Handle Table in use
 * @workers: workers of both kinds
 *
 * Rates are these counts divided by the time since the previous sample. DXK_IOC_LATENCIES_READ
 * returns how long requests waited and ran.
 */
struct dxk_sample {
	__aligned_u64 time_ns;
	__aligned_u64 posts;
	__aligned_u64 dispatches;
	__aligned_u64 completions;
	__u32 ready;
	__u32 busy;
	__u32 rejoin;
	__u32 log;
	__u32 handles;
	__u32 workers;
};

/**
 * struct dxk_samples_read - read samples (DXK_IOC_SAMPLES_READ)
 * @size: sizeof(struct dxk_samples_read)
 * @flags: 0
 * @after_ns: only samples taken later than this
 * @samples: address of @nr structs of @sample_size bytes
 * @nr: 1..%DXK_BATCH_MAX
 * @sample_size: sizeof(struct dxk_sample)
 *
 * Returns the number of samples read, oldest first. The context keeps sample_entries
 * samples until its next Start.
 */
struct dxk_samples_read {
	__u32 size;
	__u32 flags;
	__aligned_u64 after_ns;
	__aligned_u64 samples;
	__u32 nr;
	__u32 sample_size;
};

/** DXK_INSTRUMENTS - counters of the application's own that a context has room for */
#define DXK_INSTRUMENTS		16

#define DXK_INSTRUMENT_SET	0x1	/* the value replaces the counter's */

/**
 * struct dxk_instrument - count in a counter of the application's own (DXK_IOC_INSTRUMENT)
 * @size: sizeof(struct dxk_instrument)
 * @flags: %DXK_INSTRUMENT_SET or 0: it is added
 * @value: in two's complement; a counter wraps
 * @name: of the counter; the rules are those for a context's name. A new name creates a counter
 *	that begins at 0
 *
 * For descriptors that may execute (%DXK_ACCESS_EXECUTE), else EACCES. A counter lives as long as
 * the context, across Stop and Start; all counters are in its file ``instruments`` in sysfs.
 * Several threads may count at a time, and no count is lost. ENOSPC: there are %DXK_INSTRUMENTS
 * others.
 */
struct dxk_instrument {
	__u32 size;
	__u32 flags;
	__aligned_u64 value;
	char name[DXK_NAME_LEN];
};

/** DXK_LABELS - names of objects that a context remembers */
#define DXK_LABELS		64

/**
 * struct dxk_label - name an object for display (DXK_IOC_LABEL)
 * @size: sizeof(struct dxk_label)
 * @flags: 0
 * @object: an executor, an owner, or an object that is both, as posts name it
 * @name: the rules are those for a context's name; it replaces the previous name. Empty: removes
 *	the name
 *
 * For descriptors that may execute (%DXK_ACCESS_EXECUTE), else EACCES. A number is another object
 * in each space. Reports of stalls, of circles and of overdue requests, the built-in commands, and
 * the files of members, of waiting requests and of keys show the name with the number; all names
 * are in the file ``labels`` in sysfs. The context remembers the newest %DXK_LABELS.
 */
struct dxk_label {
	__u32 size;
	__u32 flags;
	__aligned_u64 object;
	char name[DXK_NAME_LEN];
};

/** DXK_LATENCY_BUCKETS - counts of a histogram that this header knows */
#define DXK_LATENCY_BUCKETS	40

/**
 * enum dxk_latency - the time that a histogram counts
 * @DXK_LATENCY_WAIT: from the post to the start
 * @DXK_LATENCY_RUN: from the start to the end
 */
enum dxk_latency {
	DXK_LATENCY_WAIT = 0,
	DXK_LATENCY_RUN = 1,
};

/**
 * struct dxk_latencies_read - read a histogram (DXK_IOC_LATENCIES_READ)
 * @size: sizeof(struct dxk_latencies_read)
 * @flags: 0
 * @counts: address of @nr numbers of 64 bits
 * @nr: 1 or more, %DXK_LATENCY_BUCKETS for all
 * @latency: enum dxk_latency
 * @lane: 0..3
 * @reserved: 0
 *
 * The histogram counts how long requests of a lane waited or ran that ended since the last Start
 * while sample_interval_ms was not 0. Count b is the number of requests with 2^b..2^(b+1)-1 ns;
 * the first count includes 0 ns, the last one all above. Returns the number of counts stored at
 * @counts.
 */
struct dxk_latencies_read {
	__u32 size;
	__u32 flags;
	__aligned_u64 counts;
	__u32 nr;
	__u32 latency;
	__u32 lane;
	__u32 reserved;
};

/* --- the live requests ----------------------------------------------------- */

/**
 * enum dxk_request_state - where a request is
 * @DXK_REQUEST_READY: in the Ready Pool
 * @DXK_REQUEST_WORK: a worker has it
 * @DXK_REQUEST_WAIT: it waits without a worker
 */
enum dxk_request_state {
	DXK_REQUEST_READY = 1,
	DXK_REQUEST_WORK = 2,
	DXK_REQUEST_WAIT = 3,
};

/* Of dxk_request_info.flags: there are more of its place, which are not reported */
#define DXK_REQUEST_MORE	(1U << 0)

/**
 * struct dxk_request_info - a request that has not ended, all out
 * @owner: as posted
 * @executor: as posted
 * @param: as posted
 * @number: Ready: number of its post in the context, later posts have higher numbers; else 0
 * @posted_ns: Ready: CLOCK_MONOTONIC of its post, if sample_interval_ms was not 0 then; else 0
 * @age_ns: since a worker was given it, or since it began to wait; Ready: 0
 * @prio: Ready: its current priority, ageing included, as far as it fits;
 *	where users take turns, less the turns that it is ahead; else 0
 * @space: the number of the space that @owner is in; of one that a worker has: 0
 * @state: enum dxk_request_state
 * @attrs: PXR_* bits
 * @lane: 0..3
 * @worker: id of the worker that has it, or 0
 * @inspect_count: Ready: scheduler intervals since it became Ready; else 0
 * @pid: Ready: process that posted it, in the kernel's numbers; 0: the kernel, or unknown
 * @uid: Ready: effective user that posted it, in the kernel's numbers; else 0
 * @flags: %DXK_REQUEST_MORE
 */
struct dxk_request_info {
	__aligned_u64 owner;
	__aligned_u64 executor;
	__aligned_u64 param;
	__aligned_u64 number;
	__aligned_u64 posted_ns;
	__aligned_u64 age_ns;
	__s32 prio;
	__u32 space;
	__u32 state;
	__u32 attrs;
	__u32 lane;
	__u32 worker;
	__u32 inspect_count;
	__u32 pid;
	__u32 uid;
	__u32 flags;
};

/** DXK_REQUESTS_END - dxk_requests_read.cursor: there are no more */
#define DXK_REQUESTS_END	(~0ULL)

/**
 * struct dxk_requests_read - read the live requests (DXK_IOC_REQUESTS_READ)
 * @size: sizeof(struct dxk_requests_read)
 * @flags: 0
 * @cursor: 0 in the first call, then as the previous call left it; out, %DXK_REQUESTS_END: no more
 * @requests: address of @nr structs of @request_size bytes
 * @nr: %DXK_BATCH_MAX
 * @request_size: sizeof(struct dxk_request_info)
 *
 * Returns the number of requests read, which may be 0 before the end. First come requests that
 * workers have, of each worker the one that it was given last. Then come waiting requests, 64 at
 * most, in the order of their last activity, the longest silent first. Then come Ready requests,
 * in no order: of those of one lane, kind, class and priority the 64 that go first; of those whose
 * priorities are far from most others', 64 for the lane, kind and class. %DXK_REQUEST_MORE is
 * set in the last request of a group that has more. A request that moves meanwhile may be reported
 * twice, or not at all. Results that nobody has collected are not reported.
 */
struct dxk_requests_read {
	__u32 size;
	__u32 flags;
	__aligned_u64 cursor;
	__aligned_u64 requests;
	__u32 nr;
	__u32 request_size;
};

#endif /* _UAPI_DXK_H */
