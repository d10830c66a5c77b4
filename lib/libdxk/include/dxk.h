/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libdxk, the thin API: one function for each call of the dxk module.
 *
 * <linux/dxk.h> is the contract. These functions only handle descriptors, struct sizes,
 * deadlines and batches for the caller. The DX names are in <dx.h>.
 *
 * Every function returns a value >= 0 or a negative errno of the table in
 * <linux/dxk.h>; errno itself is not part of the interface. No function keeps
 * state, so any number of threads may call any function at a time, with one
 * exception of the module: a member belongs to the thread that made it.
 *
 * Signals: if a handler was installed with SA_RESTART, as signal(3) does, the wait
 * continues after the handler has run, until its original deadline. After any other handler
 * the wait ends with -EINTR, nothing was taken, and the caller decides what to do. The wait
 * for a reply in dxk_command_send() always ends with -EINTR: a restart would send the command
 * twice. A call that does not wait never ends with -EINTR.
 *
 * A timeout is relative, in nanoseconds, measured with CLOCK_MONOTONIC: a negative timeout
 * has no end, 0 does not wait.
 */
#ifndef _DXK_H
#define _DXK_H

#include <stddef.h>
#include <stdint.h>

#include <linux/dxk.h>

#ifdef __cplusplus
extern "C" {
#endif

/* the device that dxk_open() opens */
#define DXK_DEVICE	"/dev/dxk"

/**
 * dxk_deadline - convert a relative timeout to an absolute deadline
 * @timeout_ns: relative timeout in nanoseconds, see above
 *
 * For calls that are repeated after -EINTR: compute the deadline once and pass each
 * call the remaining time (dxk_remaining()).
 *
 * Return: absolute time of CLOCK_MONOTONIC in nanoseconds; %DXK_FOREVER for a
 * timeout below 0 and for a sum that does not fit; 0, which never sleeps, for 0.
 */
uint64_t dxk_deadline(int64_t timeout_ns);

/**
 * dxk_remaining - the time that is left until a deadline
 * @deadline: from dxk_deadline()
 *
 * Return: a relative timeout: -1 for %DXK_FOREVER, 0 for a deadline that passed.
 */
int64_t dxk_remaining(uint64_t deadline);

/**
 * dxk_open - open the control descriptor
 *
 * The descriptor is close-on-exec and is closed with close(2).
 *
 * Return: the descriptor; -ENOENT or -ENXIO if the module is not loaded,
 * -EACCES without the right to use the device, -EMFILE, -ENFILE.
 */
int dxk_open(void);

/**
 * dxk_version - what the module is and allows
 * @ctl: control descriptor
 * @version: out; its field size is filled in by the function
 *
 * Return: 0, or -ENOTTY if @ctl is not a control descriptor.
 */
int dxk_version(int ctl, struct dxk_version *version);

/**
 * dxk_executor_find - the id of a kernel executor
 * @fd: control or context descriptor
 * @name: its name, shorter than %DXK_NAME_LEN
 * @id: out, for dxk_post_entry.executor of a request with %PXR_KERNEL
 *
 * Return: 0; -ENOENT if no module has registered the name, -EINVAL for a name
 * that is empty or too long.
 */
int dxk_executor_find(int fd, const char *name, uint64_t *id);

/**
 * dxk_ctx_create - create a context (DX-7)
 * @ctl: control descriptor
 * @id: out, the name of its directory below /sys/kernel/dxk; may be %NULL
 *
 * The context has the default policy and does not run until dxk_ctx_start(). It has
 * no name; its owner is the caller and its mode %DXK_MODE_DEFAULT. Closing its last
 * descriptor is a Stop that cancels (DX-113).
 *
 * Return: the context descriptor, close-on-exec; -ENOMEM, -EMFILE.
 */
int dxk_ctx_create(int ctl, unsigned int *id);

/*
 * The default mode of a context: all rights for its owner's processes, and
 * everybody may read its files in sysfs.
 */
#define DXK_MODE_DEFAULT	0744

/**
 * dxk_ctx_create_as - create a context with a name, an owner and a mode
 * @ctl: control descriptor
 * @create: name, mode, and with %DXK_CTX_CHOWN uid and gid. The function fills in its size;
 *	out, its fd and id
 *
 * Return: the context descriptor, close-on-exec; -EEXIST if the name is taken,
 * -EINVAL for an invalid name or mode, -EPERM for an owner that the caller
 * may not set, -EOPNOTSUPP, -ENOMEM, -EMFILE.
 */
int dxk_ctx_create_as(int ctl, struct dxk_ctx_create *create);

/**
 * dxk_ctx_join - open a context that another process made, by its name
 * @ctl: control descriptor
 * @name: of the context
 * @access: DXK_ACCESS_* bits, at least one: what the descriptor will be used for
 * @flags: %DXK_JOIN_SHARED to share owner cookies with all who set this flag, or 0: the
 *	caller's cookies are its own
 * @id: out, the name of its directory below /sys/kernel/dxk; may be %NULL
 *
 * Return: a context descriptor, close-on-exec; -ENOENT if there is none of that
 * name, -EACCES if its mode does not allow all of @access, -EINVAL for a name
 * that is empty or too long, -EPROTONOSUPPORT, -ENOMEM, -EMFILE.
 */
int dxk_ctx_join(int ctl, const char *name, unsigned int access,
		 unsigned int flags, unsigned int *id);

/**
 * dxk_ctx_join_as - open a context that another process made, if it has the expected owner
 * @ctl: control descriptor
 * @join: access, flags, name or with %DXK_JOIN_BY_ID id, and with %DXK_JOIN_OWNER the uid
 *	that the context must belong to. The function fills in its size and abi; out, its fd
 *	and id, and the uid, gid and mode of the context
 *
 * Return: as dxk_ctx_join(); -EPERM if it belongs to another user.
 */
int dxk_ctx_join_as(int ctl, struct dxk_ctx_join *join);

/**
 * dxk_ctx_join_id - open a context that another process made, by its id
 * @ctl: control descriptor
 * @id: the name of its directory below /sys/kernel/dxk
 * @access: see dxk_ctx_join()
 * @flags: see dxk_ctx_join()
 *
 * An id is reused when a context no longer exists; a name is more specific.
 *
 * Return: as dxk_ctx_join().
 */
int dxk_ctx_join_id(int ctl, unsigned int id, unsigned int access,
		    unsigned int flags);

/**
 * dxk_crew_wait - wait until the crew needs more threads
 * @ctx: context descriptor
 * @timeout_ns: how long to wait, 0 only queries
 * @workers: out, user workers that are needed: free places, or, above the policy's
 *	min_threads, requests that wait for a worker; may be %NULL
 * @spares: out, spares that are needed now (%DXK_MEMBER_SPARE); may be %NULL
 *
 * For the thread that starts a process's workers. The threads that attach first get the
 * places; a thread that comes too late has no place and ends. While a Stop drains the
 * context, a worker that died may still have to be replaced; with nothing left to execute,
 * no threads are needed.
 *
 * Return: the sum of both, 0 when the time is over; -EINTR, -ESHUTDOWN if the context
 * was not started or has ended, -EACCES.
 */
int dxk_crew_wait(int ctx, int64_t timeout_ns, unsigned int *workers,
		  unsigned int *spares);

/**
 * dxk_policy_get - read the policy of a context (DX-8)
 * @ctx: context descriptor
 * @policy: out; its field size is filled in by the function
 *
 * Return: 0 or a negative errno.
 */
int dxk_policy_get(int ctx, struct dxk_policy *policy);

/**
 * dxk_policy_set - replace the policy of a context (DX-5, DX-8, DX-9)
 * @ctx: context descriptor
 * @policy: all fields, best from dxk_policy_get(); size and bad_field are not
 *	read, the function fills them in
 * @bad_field: out, the offset in struct dxk_policy of the field that was
 *	refused, 0 if no field was; may be %NULL
 *
 * In a running context the policy takes effect soon after the call. Requests that are then Ready
 * for a lane or a kind of workers that it closes end, with status -EPERM or -ENODEV.
 *
 * Return: 0; -EINVAL for a value out of range, -EOPNOTSUPP for one that this
 * module does not offer, -EBUSY for a field that cannot change while the context
 * runs.
 */
int dxk_policy_set(int ctx, const struct dxk_policy *policy,
		   unsigned int *bad_field);

/**
 * dxk_policy_field_name - the name of a policy field (DX-5)
 * @offset: the bad_field of dxk_policy_set()
 *
 * Return: "max_threads", "lane_pct[1]"...; %NULL if no field that can be
 * refused begins there. The string is constant.
 */
const char *dxk_policy_field_name(unsigned int offset);

/**
 * dxk_policy_range - the values that a policy field can have
 * @offset: of the field in struct dxk_policy
 * @min: out, the minimum
 * @max: out, the maximum; of a mask all its bits
 *
 * A module of another release may offer other values; the module's own check decides.
 *
 * Return: 0; -ENOENT: no such field is known.
 */
int dxk_policy_range(unsigned int offset, uint32_t *min, uint32_t *max);

/** DXK_POLICY_TEXT - room for each text of dxk_policy_why() and dxk_policy_idle() */
#define DXK_POLICY_TEXT		160

/**
 * dxk_policy_why - describe in words why a policy was refused
 * @policy: the policy that was passed to dxk_policy_set()
 * @error: the return value of that call
 * @bad_field: the field that it named
 * @text: out, without the field's name; "" if nothing is known
 * @room: bytes at @text
 *
 * Return: @text.
 */
const char *dxk_policy_why(const struct dxk_policy *policy, int error, unsigned int bad_field,
			   char *text, size_t room);

/**
 * dxk_policy_idle - find fields of a policy without effect, because another field is off
 * @policy: all fields
 * @after: 0, or the offset that the previous call returned
 * @text: out, the reason, without the field's name
 * @room: bytes at @text
 *
 * The module accepts such a policy: the other field may be set later.
 *
 * Return: the offset of the next such field, 0 when there are no more.
 */
unsigned int dxk_policy_idle(const struct dxk_policy *policy, unsigned int after, char *text,
			     size_t room);

/**
 * dxk_ctx_start - Start (DX-4, DX-6, DX-10, DX-18)
 * @ctx: context descriptor
 *
 * Return: 0 when the control threads run; -EBUSY if the context runs or
 * stops, -ENOMEM, -EINTR. After an error nothing of the start remains.
 */
int dxk_ctx_start(int ctx);

/**
 * dxk_ctx_stop - Stop (DX-107, DX-108, DX-112, DX-114)
 * @ctx: context descriptor
 * @mode: enum dxk_stop_mode
 * @timeout_ns: how long to wait for requests that execute
 *
 * Posts are refused from here on; while the context drains, only posts that do not come from
 * within a request are refused. Results stay collectable until the context is closed (DX-110).
 *
 * Return: 0 when stopped or never started; -ETIMEDOUT or -EINTR while the context continues to
 * stop: a further call waits again and may turn a drain into a cancel.
 */
int dxk_ctx_stop(int ctx, unsigned int mode, int64_t timeout_ns);

/**
 * dxk_ctx_stop_report - Stop, and report what it still waits for (DX-114)
 * @ctx: context descriptor
 * @mode: enum dxk_stop_mode
 * @timeout_ns: how long to wait for requests that execute
 * @running: out, after -ETIMEDOUT or -EINTR, one element for each worker that
 *	still executes, by thread id, then for requests that wait, at most 64
 * @nr: room at @running, 0..499
 * @nr_running: out, how many there are, which may be more than @nr; else 0; or %NULL
 *
 * Return: as dxk_ctx_stop().
 */
int dxk_ctx_stop_report(int ctx, unsigned int mode, int64_t timeout_ns,
			struct dxk_running *running, unsigned int nr,
			unsigned int *nr_running);

/**
 * dxk_samples_read - read samples of the instrumentation package
 * @ctx: context descriptor
 * @after_ns: only those taken later than this time of CLOCK_MONOTONIC
 * @samples: out, oldest first
 * @nr: room, 1..%DXK_BATCH_MAX
 *
 * Return: how many were read; -EINTR, -EINVAL.
 */
int dxk_samples_read(int ctx, uint64_t after_ns, struct dxk_sample *samples,
		     unsigned int nr);

/**
 * dxk_instrument - count in a counter of the application's own
 * @member: member descriptor
 * @name: of the counter, which is created if necessary, below %DXK_NAME_LEN bytes
 * @flags: %DXK_INSTRUMENT_SET, or 0: @value is added
 * @value: may be below 0
 *
 * Return: 0; -EINVAL, -ENOSPC, -EACCES, see struct dxk_instrument.
 */
int dxk_instrument(int member, const char *name, unsigned int flags, int64_t value);

/**
 * dxk_label - name an executor or an owner for reports and tools
 * @member: member descriptor
 * @object: its number, as posts through @member's context descriptor name it
 * @name: below %DXK_NAME_LEN bytes, graphic characters; empty or %NULL: removes the name
 *
 * Return: 0; -EINVAL, -EACCES, see struct dxk_label.
 */
int dxk_label(int member, uint64_t object, const char *name);

/**
 * dxk_latencies_read - read how long requests of a lane waited or ran
 * @ctx: context descriptor
 * @latency: enum dxk_latency
 * @lane: 0..3
 * @counts: out, how many took 2^i..2^(i+1)-1 ns; the last of all counts includes all longer ones
 * @nr: room, 1 or more; %DXK_LATENCY_BUCKETS for all
 *
 * Return: how many counts were read; -EINVAL.
 */
int dxk_latencies_read(int ctx, unsigned int latency, unsigned int lane,
		       uint64_t *counts, unsigned int nr);

/**
 * dxk_requests_read - read some of the requests that have not ended
 * @ctx: context descriptor
 * @cursor: 0 in the first call; out, where to continue, %DXK_REQUESTS_END after the last ones
 * @requests: out, room for %DXK_BATCH_MAX
 *
 * struct dxk_requests_read describes which requests are read, and out of how many.
 *
 * Return: how many were read, which may be 0 before the end; -EINVAL, -ENOMEM.
 */
int dxk_requests_read(int ctx, uint64_t *cursor, struct dxk_request_info *requests);

/**
 * dxk_member_create - the calling thread joins the Thread Pool (DX-22, DX-23)
 * @ctx: context descriptor
 * @kind: enum dxk_member_kind
 * @id: out, the thread id; may be %NULL
 *
 * Return: the member descriptor, close-on-exec, for the calling thread only;
 * -ESHUTDOWN for a worker if the context does not run, -ENOSPC if every user
 * worker's id is taken or there are max_spares, -ENODEV if the policy has no user
 * workers or no spares, -EACCES, -ENOMEM.
 */
int dxk_member_create(int ctx, unsigned int kind, unsigned int *id);

/**
 * dxk_member_create_home - as dxk_member_create(), for a worker that has a home (FO-1)
 * @ctx: context descriptor
 * @kind: %DXK_MEMBER_WORKER, or another kind with home 0
 * @home: which of the policy's homes; %DXK_HOME_ANY: out, a home that needs workers, or
 *	0 if there are no homes; may be %NULL: 0
 * @id: out, the thread id; may be %NULL
 *
 * The worker's thread should run only on the CPUs i with i % homes = home - 1; the caller must
 * ensure this.
 * Return: see dxk_member_create(); -EINVAL: there is no such home.
 */
int dxk_member_create_home(int ctx, unsigned int kind, unsigned int *home, unsigned int *id);

/**
 * dxk_post - post requests (DX-37..DX-48)
 * @member: member descriptor of the calling thread
 * @entries: the requests, taken in this order
 * @nr: how many, 1..INT_MAX; sent in batches of %DXK_BATCH_MAX
 * @timeout_ns: ends the sleep of requests with %PXR_WAITIF_BUSY; the time counts
 *	for all batches together
 * @reason: out, if fewer than @nr were taken: PXR_POOL_FULL..PXR_NO_SPACE for
 *	the first that was not, 0 if another error ended the call; may be %NULL
 *
 * Like write(2), the call returns a short count if an error occurs after
 * some requests were taken; the error is returned when the rest is posted again. If an entry is
 * malformed, its whole batch is refused. After -EAGAIN, or a short count for that reason, poll(2)
 * reports @member writable again when there is room for the first that was not taken.
 *
 * Return: how many were taken; -EAGAIN, -EPERM, -ENOSPC, -EDQUOT (see @reason),
 * -EINTR, -ETIMEDOUT, -ESHUTDOWN, -EINVAL, -EOPNOTSUPP, -EMSGSIZE, -EFAULT, -EBADF or
 * -ELOOP or -ETOOMANYREFS for a file, -EDEADLK, -ENOMEM if none was.
 */
int dxk_post(int member, const struct dxk_post_entry *entries, unsigned int nr,
	     int64_t timeout_ns, unsigned int *reason);

/**
 * dxk_post_flags - as dxk_post(), by a worker that helps while it waits
 * @member: see dxk_post()
 * @entries: see dxk_post()
 * @nr: see dxk_post()
 * @flags: %DXK_CALL_HELP, or 0 for a dxk_post()
 * @timeout_ns: see dxk_post()
 * @reason: see dxk_post(). %PXR_HELP: there is no room for the first that was not
 *	taken, and there is a request for the caller to execute: it fetches that request with a
 *	dxk_next() of one, executes and completes it, and posts the rest again
 *
 * Return: as dxk_post(); with %PXR_HELP how many were taken, or -EAGAIN.
 */
int dxk_post_flags(int member, const struct dxk_post_entry *entries,
		   unsigned int nr, unsigned int flags, int64_t timeout_ns,
		   unsigned int *reason);

/**
 * dxk_post_more - post requests that have a name, wait, or expire
 * @member: see dxk_post()
 * @entries: the requests
 * @nr: see dxk_post()
 * @timeout_ns: see dxk_post()
 * @reason: see dxk_post()
 *
 * Return: as dxk_post(); -EEXIST: the name is taken, -EDEADLK: a wait for the request's own
 * owner, -EOPNOTSUPP: the policy's max_waiting is 0.
 */
int dxk_post_more(int member, const struct dxk_post_more *entries, unsigned int nr,
		  int64_t timeout_ns, unsigned int *reason);

/**
 * dxk_post_more_flags - as dxk_post_more(), by a worker that helps while it waits
 * @member: see dxk_post_more()
 * @entries: see dxk_post_more()
 * @nr: see dxk_post_more()
 * @flags: %DXK_CALL_HELP or 0, see dxk_post_flags()
 * @timeout_ns: see dxk_post_more()
 * @reason: see dxk_post_more()
 *
 * Return: see dxk_post_more().
 */
int dxk_post_more_flags(int member, const struct dxk_post_more *entries, unsigned int nr,
			unsigned int flags, int64_t timeout_ns, unsigned int *reason);

/**
 * dxk_rejoin - collect completed requests of an owner (DX-50..DX-55, DX-87..DX-95)
 * @member: member descriptor of the calling thread
 * @owner: whose requests
 * @results: out, room for @nr
 * @nr: maximum number to return, 1..INT_MAX; requested in batches of %DXK_BATCH_MAX
 * @min: how many to wait for, 0..@nr, 0 means 1
 * @data: out, @nr slots of @data_stride bytes for the result data, result i in
 *	slot i; %NULL if the data is not wanted
 * @data_stride: bytes, at least the result_len of each request returned
 * @timeout_ns: 0 polls; otherwise waits until @min requests can be returned or
 *	no further one can come
 * @answer: out, %RJR_RETURNED, %RJR_NONE_READY or %RJR_NONE_EXIST; may be %NULL
 *
 * A timeout is not an error; the answer is %RJR_NONE_READY. An error after some
 * requests were returned is reported by the next call. It has no meaning for the requests: they
 * exist as before, and memory that they use may be freed only after %RJR_NONE_EXIST. -EINTR and
 * -ESHUTDOWN end this wait, not the next one: requests that were taken are returned.
 *
 * Return: how many were returned, oldest completion first; -EINTR, -EMSGSIZE or
 * -EFAULT for a slot (that request stays in the Rejoin Pool), -ESHUTDOWN,
 * -EDEADLK, -EINVAL if none was.
 */
int dxk_rejoin(int member, uint64_t owner, struct dxk_result *results,
	       unsigned int nr, unsigned int min, void *data, size_t data_stride,
	       int64_t timeout_ns, unsigned int *answer);

/**
 * dxk_rejoin_any - collect completed requests of any owner of the descriptor's space
 * @member: member descriptor of the calling thread
 * @results: out, room for @nr
 * @nr: maximum number to return; at most %DXK_BATCH_MAX are returned
 * @timeout_ns: 0 polls; otherwise waits until an owner has a result or none can come
 * @owner: out, with results: the owner of all of them; may be %NULL
 * @answer: out, %RJR_RETURNED; %RJR_NONE_READY: none has completed, but some exist;
 *	%RJR_NONE_EXIST: nothing of any owner of the space exists; may be %NULL
 *
 * Owners that have results take turns. After an answer without results poll(2) reports when an
 * owner has a result, or nothing is left: one descriptor in an event loop is thus enough for all
 * owners.
 *
 * Return: as dxk_rejoin(); -EDEADLK: the caller executes a request and would wait for it.
 */
int dxk_rejoin_any(int member, struct dxk_result *results, unsigned int nr, int64_t timeout_ns,
		   uint64_t *owner, unsigned int *answer);

/**
 * dxk_rejoin_flags - as dxk_rejoin(), by a worker that helps while it waits
 * @member: see dxk_rejoin()
 * @owner: see dxk_rejoin()
 * @results: see dxk_rejoin()
 * @nr: see dxk_rejoin()
 * @min: see dxk_rejoin()
 * @data: see dxk_rejoin()
 * @data_stride: see dxk_rejoin()
 * @flags: %DXK_CALL_HELP, %DXK_CALL_NEST, or 0 for a dxk_rejoin()
 * @timeout_ns: see dxk_rejoin()
 * @answer: see dxk_rejoin(). %RJR_HELP: fewer than @min completed so far, and there
 *	is a request for the caller to execute, see dxk_post_flags()
 *
 * Return: as dxk_rejoin(); 0 with %RJR_HELP.
 */
int dxk_rejoin_flags(int member, uint64_t owner, struct dxk_result *results,
		     unsigned int nr, unsigned int min, void *data,
		     size_t data_stride, unsigned int flags, int64_t timeout_ns,
		     unsigned int *answer);

/**
 * dxk_call - post requests and wait for their results, in one call
 * @member: see dxk_post()
 * @entries: the requests, all of one owner and with %PXR_REJOIN
 * @nr: how many, 1..%DXK_BATCH_MAX
 * @results: out, room for @nr
 * @min: see dxk_rejoin()
 * @data: see dxk_rejoin()
 * @data_stride: see dxk_rejoin()
 * @timeout_ns: of the sleep for room and of the wait, together
 * @taken: out, how many were taken. If fewer than @nr were, the call has not waited, and the
 *	caller continues with dxk_post(), which reports the reason
 *
 * With *@taken == @nr the requests are posted, whatever the call returns: the caller continues
 * with dxk_rejoin(). A signal ends the wait, even if its handler has SA_RESTART, because a
 * restart of the call would post again.
 *
 * Return: how many results were returned, which may be older ones of the owner; 0 when the
 * time is over, or if fewer than @nr were taken; else as dxk_post() if none was taken,
 * as dxk_rejoin() if all were.
 */
int dxk_call(int member, const struct dxk_post_entry *entries, unsigned int nr,
	     struct dxk_result *results, unsigned int min, void *data,
	     size_t data_stride, int64_t timeout_ns, unsigned int *taken);

/**
 * dxk_next - complete requests and fetch more (DX-77..DX-85)
 * @member: worker member descriptor of the calling thread
 * @dones: executed requests, %NULL when @nr_done is 0
 * @nr_done: 0..%DXK_BATCH_MAX
 * @nr_taken: out, how many of @dones were taken; may be %NULL
 * @works: out, requests to execute, %NULL when @nr_work is 0
 * @nr_work: 0..%DXK_BATCH_MAX, 0 only completes
 * @data: out, @nr_work slots of @data_stride bytes, or %NULL
 * @data_stride: bytes, at least the policy's data_size
 * @timeout_ns: how long to sleep while there is no work
 *
 * One call of the module: more than a batch is refused. Once a
 * completion was taken, the call does not fail; it returns 0 and the next call
 * reports the error.
 *
 * Return: how many were fetched; -ESTALE when the first of @dones names a
 * dispatch that this worker does not hold, -ETIMEDOUT, -EINTR, -ESHUTDOWN,
 * -EMSGSIZE, -EFAULT, -EPERM, -EINVAL.
 */
int dxk_next(int member, const struct dxk_done *dones, unsigned int nr_done,
	     unsigned int *nr_taken, struct dxk_work *works,
	     unsigned int nr_work, void *data, size_t data_stride,
	     int64_t timeout_ns);

/**
 * dxk_next_more - as dxk_next(), by a worker that supports requests that wait
 * @member: see dxk_next()
 * @dones: executed requests, each of which has ended, or is to wait as its field wait says
 * @nr_done: see dxk_next()
 * @nr_taken: see dxk_next()
 * @works: out, requests to execute, each with the reason of its turn
 * @nr_work: see dxk_next()
 * @data: see dxk_next()
 * @data_stride: see dxk_next()
 * @timeout_ns: see dxk_next()
 *
 * Return: as dxk_next(); -EOPNOTSUPP if a request is to wait and the policy's max_waiting
 * is 0.
 */
int dxk_next_more(int member, const struct dxk_done_more *dones, unsigned int nr_done,
		  unsigned int *nr_taken, struct dxk_work_more *works,
		  unsigned int nr_work, void *data, size_t data_stride,
		  int64_t timeout_ns);

/**
 * dxk_wake - call requests by their names
 * @member: member descriptor of the calling thread; the names are those of the context
 *	descriptor that it was made from
 * @names: the names
 * @nr: 1..%DXK_BATCH_MAX
 *
 * Ends the wait of a request that waits for a call; of another request the next wait for a call.
 *
 * Return: how many of them exist; -ENOENT for none, -EOPNOTSUPP if the policy's
 * max_waiting is 0, -EINVAL, -EFAULT, -EPERM.
 */
int dxk_wake(int member, const uint64_t *names, unsigned int nr);

/**
 * dxk_cancel - end requests by their names
 * @member: see dxk_wake()
 * @names: the names
 * @nr: 1..%DXK_BATCH_MAX
 * @states: out, %DXK_CANCEL_NONE, _ENDED or _TOLD for each; may be %NULL
 *
 * A request that was not given to a worker ends with -ECANCELED. Another request is asked to end:
 * by dxk_should_stop() while it executes, with %DXK_WAKE_CANCEL if it waits.
 *
 * Return: as dxk_wake().
 */
int dxk_cancel(int member, const uint64_t *names, unsigned int nr, uint32_t *states);

/**
 * dxk_cancel_owner - end all requests of an owner
 * @member: see dxk_wake()
 * @owner: whose
 * @were: out, the numbers of requests when the call began, in its fields ready, executing,
 *	waiting and done; may be %NULL
 *
 * The effect is as if each had a name, and dxk_cancel() were called for it. It needs no
 * max_waiting. To let the first request that fails do the same, post them all with
 * %PXR_FAIL_FAST, see dxk_post_more().
 *
 * Return: 0; -ENOENT: the owner has no requests; -EPERM.
 */
int dxk_cancel_owner(int member, uint64_t owner, struct dxk_cancel_owner *were);

/**
 * dxk_key - give a key up, wait for it, hold it back (DXK_IOC_KEY)
 * @member: member descriptor of the calling thread
 * @what: enum dxk_key_what
 * @key: of %DXK_KEY_HOLD, _RELEASE and _CANCEL: the key; else 0
 * @ticket: of the other operations: the ticket of a request that the caller executes; else 0
 * @flags: of %DXK_KEY_HOLD: %DXK_KEY_REFUSE or 0; of %DXK_KEY_BLOCK: %DXK_KEY_FORCE or 0
 * @timeout_ns: of %DXK_KEY_WAIT: how long until it is notified; of %DXK_KEY_BLOCK: how long
 *	until somebody takes the place; else 0
 *
 * Return: 0, of %DXK_KEY_CANCEL how many it has ended or asked to end; -ETIMEDOUT, -EINTR,
 * -ECANCELED, -EAGAIN, -EPERM, -EBUSY, -EALREADY, -ESTALE, -ENOENT, -ENOSPC, -EOPNOTSUPP,
 * -ESHUTDOWN, -EINVAL as described in struct dxk_key_call.
 */
int dxk_key(int member, unsigned int what, uint64_t key, uint64_t ticket, unsigned int flags,
	    int64_t timeout_ns);

/**
 * dxk_should_stop - query whether the caller should end soon (DX-109)
 * @member: member descriptor of the calling thread
 * @timeout_ns: 0 only queries; otherwise sleeps until the answer is yes
 *
 * A service request of lane 0 should end from the start of any Stop on, another
 * request from the start of Stop(cancel) on, a member that executes nothing like a
 * service. So should a request that is cancelled or has expired; of several that were fetched
 * at once only the last is asked about.
 *
 * Return: 1 yes, 0 not so far; -EINTR.
 */
int dxk_should_stop(int member, int64_t timeout_ns);

/* --- the log --------------------------------------------------------------- */

/**
 * dxk_log_write - write a message to the context's log (DX-97..DX-102)
 * @member: member descriptor of the calling thread
 * @text: the message, one line; need not end with a zero
 * @len: bytes; the part that the Log Pool has no room for is cut off, and the message is marked
 * @flags: %DXK_LOG_WAIT to sleep while the Log Pool is full, or 0
 * @timeout_ns: ends that sleep
 *
 * Return: 0; -EINTR, -ETIMEDOUT or -ESHUTDOWN ended the sleep, the message was not
 * taken; -ENODEV if the context does not run and has no log file; or the error
 * of writing to that file.
 */
int dxk_log_write(int member, const void *text, size_t len, unsigned int flags,
		  int64_t timeout_ns);

/**
 * dxk_log_read - read and remove the oldest messages of the log (DX-103)
 * @ctx: context descriptor
 * @records: out, room for @nr
 * @nr: 1..INT_MAX; at most %DXK_BATCH_MAX are read at a time
 * @timeout_ns: how long to sleep while there is none
 *
 * poll(2) reports the context descriptor readable when there is a message.
 *
 * Return: how many were read, 0 if there was none until the time was over, or
 * another reader was reading; -ESHUTDOWN if the context does not run and all were read,
 * -EBUSY if the kernel writes the log to a file, -EINTR, -EFAULT.
 */
int dxk_log_read(int ctx, struct dxk_log_record *records, unsigned int nr,
		 int64_t timeout_ns);

/**
 * dxk_log_file - let the kernel write the log to a file
 * @ctx: context descriptor
 * @fd: a regular file open with O_APPEND, for another file or the first one; may
 *	be closed afterwards. -1: no file any more
 *
 * Return: 0, and all messages logged before are in the former file if there was
 * one that could be written; -EBADF, -EINVAL, -EINTR.
 */
int dxk_log_file(int ctx, int fd);

/* --- the Handle Table ------------------------------------------------------ */

/**
 * dxk_handle_open - put a file into the context's Handle Table (DX-16)
 * @ctx: context descriptor
 * @fd: a regular file; may be closed afterwards
 * @handle: out, to be put into the data of requests for kernel executors
 *
 * Return: 0; -ENOSPC if the table is full, -EINVAL, -EBADF, -ENOMEM,
 * -ESHUTDOWN.
 */
int dxk_handle_open(int ctx, int fd, uint64_t *handle);

/**
 * dxk_handle_close - close a handle and every worker's own file of it (DX-27)
 * @ctx: context descriptor
 * @handle: from dxk_handle_open()
 *
 * A worker's own file that its running request uses is closed when that request
 * ends.
 *
 * Return: 0, or -ENOENT if there is no such handle any more.
 */
int dxk_handle_close(int ctx, uint64_t handle);
/**
 * dxk_command_send - send a command and wait for its reply (DX-29..DX-32)
 * @ctx: context descriptor
 * @text: the command
 * @len: bytes at @text, 1..%DXK_COMMAND_MAX
 * @reply: out, the reply, without a terminating zero; may be %NULL
 * @room: bytes at @reply
 * @status: out, 0 or the negative errno of the command; may be %NULL
 * @timeout_ns: how long to wait for the reply, 0 does not wait
 *
 * Return: bytes of the reply, including those beyond @room; -EAGAIN if too many
 * commands wait, -ETIMEDOUT or -EINTR (it may still run), -EMSGSIZE, -EINVAL,
 * -ESHUTDOWN.
 */
int dxk_command_send(int ctx, const void *text, size_t len, void *reply, size_t room,
		     int *status, int64_t timeout_ns);

/**
 * dxk_command_schedule - send a command that runs later
 * @ctx: context descriptor
 * @text: the command
 * @len: bytes at @text, 1..%DXK_COMMAND_MAX
 * @at: CLOCK_MONOTONIC time in nanoseconds, 0 for now
 * @every_ns: interval of further runs, 0 for none; not both 0
 *
 * Return: its id, above 0, for dxk_command_cancel(); -EAGAIN if there are too many,
 * -EMSGSIZE, -EINVAL, -ESHUTDOWN.
 */
int dxk_command_schedule(int ctx, const void *text, size_t len, uint64_t at,
			 uint64_t every_ns);

/**
 * dxk_command_cancel - cancel a timed command
 * @ctx: context descriptor
 * @id: from dxk_command_schedule()
 *
 * Return: 0; -ESRCH if there is none (any more), -EINVAL.
 */
int dxk_command_cancel(int ctx, int id);

/**
 * dxk_command_attach - attach or detach the member as the command handler (DX-31)
 * @member: member descriptor of the calling thread
 * @attach: 1 or 0
 *
 * Return: 0, -EINTR, -EPERM.
 */
int dxk_command_attach(int member, unsigned int attach);

/**
 * dxk_command_next - answer a command and get the next tick or command (DX-29, DX-30)
 * @member: member descriptor of the calling thread, which is the handler
 * @status: of the command that the last call returned: 0, a negative errno, -ENOENT if it is
 *	unknown; ignored if the last call returned none
 * @reply: reply to it, %NULL when @reply_len is 0
 * @reply_len: at most %DXK_COMMAND_MAX
 * @text: out, %DXK_COMMAND_MAX bytes for a command
 * @text_len: out, bytes of the command
 * @timeout_ns: how long to sleep while there is nothing to handle
 *
 * Return: %DXK_COMMAND_TICK or %DXK_COMMAND_TEXT; -ETIMEDOUT, -EINTR, -ESHUTDOWN,
 * -ESTALE if another handler replaced this one, -EPERM if not attached.
 */
int dxk_command_next(int member, int status, const void *reply, size_t reply_len,
		     void *text, size_t *text_len, int64_t timeout_ns);

#ifdef __cplusplus
}
#endif

#endif /* _DXK_H */
