// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The thin API: each function fills in one struct of the contract and makes one
 * call, dxk_post() and dxk_rejoin() one call per batch.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "checkers.h"
#include "dxk.h"

#define NSEC_PER_SEC	1000000000ULL

static int call(int fd, unsigned long request, void *arg)
{
	int rc = ioctl(fd, request, arg);

	return rc < 0 ? -errno : rc;
}

static uint64_t address(const void *p)
{
	return (uintptr_t)p;
}

static unsigned int min_u(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* A longer slot than 32 bits can tell is as good as the longest they can. */
static uint32_t stride32(size_t stride)
{
	return stride > UINT32_MAX ? UINT32_MAX : (uint32_t)stride;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

/* The call has returned how many @things of @size bytes it wrote. */
static int wrote(int rc, const void *things, size_t size)
{
	if (rc > 0)
		dxk_written(things, (unsigned int)rc * size);
	return rc;
}

uint64_t dxk_deadline(int64_t timeout_ns)
{
	uint64_t start;

	if (timeout_ns < 0)
		return DXK_FOREVER;
	if (!timeout_ns)
		return 0;
	start = now();
	if ((uint64_t)timeout_ns > DXK_FOREVER - start)
		return DXK_FOREVER;
	return start + (uint64_t)timeout_ns;
}

int64_t dxk_remaining(uint64_t deadline)
{
	uint64_t start, left;

	if (deadline == DXK_FOREVER)
		return -1;
	if (!deadline)
		return 0;
	start = now();
	if (deadline <= start)
		return 0;
	left = deadline - start;
	return left > INT64_MAX ? INT64_MAX : (int64_t)left;
}

int dxk_open(void)
{
	int fd = open(DXK_DEVICE, O_RDWR | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int dxk_version(int ctl, struct dxk_version *version)
{
	*version = (struct dxk_version){ .size = sizeof(*version) };
	return call(ctl, DXK_IOC_VERSION, version);
}

int dxk_executor_find(int fd, const char *name, uint64_t *id)
{
	struct dxk_executor_find find = { .size = sizeof(find) };
	size_t len = strnlen(name, DXK_NAME_LEN);
	int rc;

	if (!len || len == DXK_NAME_LEN)
		return -EINVAL;
	memcpy(find.name, name, len);
	rc = call(fd, DXK_IOC_EXECUTOR_FIND, &find);
	if (rc >= 0)
		*id = find.id;
	return rc;
}

int dxk_ctx_create(int ctl, unsigned int *id)
{
	struct dxk_ctx_create create = { .mode = DXK_MODE_DEFAULT };
	int rc = dxk_ctx_create_as(ctl, &create);

	if (rc >= 0 && id)
		*id = create.id;
	return rc;
}

int dxk_ctx_create_as(int ctl, struct dxk_ctx_create *create)
{
	int rc;

	create->size = sizeof(*create);
	create->fd = -1;
	rc = call(ctl, DXK_IOC_CTX_CREATE, create);
	return rc < 0 ? rc : create->fd;
}

int dxk_ctx_join_as(int ctl, struct dxk_ctx_join *join)
{
	int rc;

	join->size = sizeof(*join);
	join->abi = DXK_ABI_VERSION;
	join->fd = -1;
	rc = call(ctl, DXK_IOC_CTX_JOIN, join);
	return rc < 0 ? rc : join->fd;
}

int dxk_ctx_join(int ctl, const char *name, unsigned int access,
		 unsigned int flags, unsigned int *id)
{
	struct dxk_ctx_join join = { .flags = flags, .access = access };
	size_t len = strnlen(name, DXK_NAME_LEN);
	int fd;

	if (!len || len == DXK_NAME_LEN)
		return -EINVAL;
	memcpy(join.name, name, len);
	fd = dxk_ctx_join_as(ctl, &join);
	if (fd >= 0 && id)
		*id = join.id;
	return fd;
}

int dxk_ctx_join_id(int ctl, unsigned int id, unsigned int access,
		    unsigned int flags)
{
	struct dxk_ctx_join join = {
		.flags = flags | DXK_JOIN_BY_ID,
		.id = id,
		.access = access,
	};

	return dxk_ctx_join_as(ctl, &join);
}

int dxk_crew_wait(int ctx, int64_t timeout_ns, unsigned int *workers,
		  unsigned int *spares)
{
	struct dxk_crew_wait wait = {
		.size = sizeof(wait),
		.deadline = dxk_deadline(timeout_ns),
	};
	int rc = call(ctx, DXK_IOC_CREW_WAIT, &wait);

	if (workers)
		*workers = rc < 0 ? 0 : wait.workers;
	if (spares)
		*spares = rc < 0 ? 0 : wait.spares;
	return rc;
}

int dxk_policy_get(int ctx, struct dxk_policy *policy)
{
	*policy = (struct dxk_policy){ .size = sizeof(*policy) };
	return call(ctx, DXK_IOC_POLICY_GET, policy);
}

int dxk_policy_set(int ctx, const struct dxk_policy *policy,
		   unsigned int *bad_field)
{
	struct dxk_policy copy = *policy;
	int rc;

	copy.size = sizeof(copy);
	copy.bad_field = 0;
	rc = call(ctx, DXK_IOC_POLICY_SET, &copy);
	if (bad_field)
		*bad_field = rc < 0 ? copy.bad_field : 0;
	return rc;
}

const char *dxk_policy_field_name(unsigned int offset)
{
#define FIELD(f)	[offsetof(struct dxk_policy, f) / sizeof(uint32_t)] = #f
	static const char *const names[] = {
		FIELD(sched_mode),
		FIELD(prio_policy),
		FIELD(max_threads),
		FIELD(kernel_threads),
		FIELD(ready_entries),
		FIELD(rejoin_entries),
		FIELD(log_entries),
		FIELD(handle_entries),
		FIELD(max_requests),
		FIELD(data_size),
		FIELD(lane_pct[0]),
		FIELD(lane_pct[1]),
		FIELD(lane_pct[2]),
		FIELD(boost_value),
		FIELD(sched_interval_ms),
		FIELD(monitor_interval_ms),
		FIELD(dispatch_interval_ms),
		FIELD(dispatch),
		FIELD(log_full),
		FIELD(rejoin_full),
		FIELD(shutdown),
		FIELD(on_block),
		FIELD(order),
		FIELD(log_batch),
		FIELD(sample_interval_ms),
		FIELD(sample_entries),
		FIELD(report_age_ms),
		FIELD(redo_max),
		FIELD(help_depth),
		FIELD(max_spares),
		FIELD(user_share),
		FIELD(prealloc_requests),
	};
#undef FIELD
	unsigned int i = offset / sizeof(uint32_t);

	/* A field that the struct gets and this table does not would be nameless. */
	_Static_assert(sizeof(names) / sizeof(*names) * sizeof(uint32_t) ==
		       sizeof(struct dxk_policy), "a policy field has no name");

	if (offset % sizeof(uint32_t) || i >= sizeof(names) / sizeof(*names))
		return NULL;
	return names[i];
}

int dxk_ctx_start(int ctx)
{
	struct dxk_ctx_start start = { .size = sizeof(start) };

	return call(ctx, DXK_IOC_CTX_START, &start);
}

int dxk_ctx_stop(int ctx, unsigned int mode, int64_t timeout_ns)
{
	struct dxk_ctx_stop stop = {
		.size = sizeof(stop),
		.mode = mode,
		.deadline = dxk_deadline(timeout_ns),
	};

	return call(ctx, DXK_IOC_CTX_STOP, &stop);
}

int dxk_ctx_stop_report(int ctx, unsigned int mode, int64_t timeout_ns,
			struct dxk_running *running, unsigned int nr,
			unsigned int *nr_running)
{
	struct dxk_ctx_stop stop = {
		.size = sizeof(stop),
		.mode = mode,
		.deadline = dxk_deadline(timeout_ns),
		.running = address(running),
		.nr = nr,
		.running_size = sizeof(*running),
	};
	int rc = call(ctx, DXK_IOC_CTX_STOP, &stop);

	if (nr_running)
		*nr_running = stop.nr_running;
	dxk_written(running, min_u(nr, stop.nr_running) * sizeof(*running));
	return rc;
}

int dxk_samples_read(int ctx, uint64_t after_ns, struct dxk_sample *samples,
		     unsigned int nr)
{
	struct dxk_samples_read read = {
		.size = sizeof(read),
		.after_ns = after_ns,
		.samples = address(samples),
		.nr = nr,
		.sample_size = sizeof(*samples),
	};

	return wrote(call(ctx, DXK_IOC_SAMPLES_READ, &read), samples, sizeof(*samples));
}

int dxk_latencies_read(int ctx, unsigned int latency, unsigned int lane,
		       uint64_t *counts, unsigned int nr)
{
	struct dxk_latencies_read read = {
		.size = sizeof(read),
		.counts = address(counts),
		.nr = nr,
		.latency = latency,
		.lane = lane,
	};

	return wrote(call(ctx, DXK_IOC_LATENCIES_READ, &read), counts, sizeof(*counts));
}

int dxk_should_stop(int member, int64_t timeout_ns)
{
	struct dxk_should_stop should = {
		.size = sizeof(should),
		.deadline = dxk_deadline(timeout_ns),
	};

	return call(member, DXK_IOC_SHOULD_STOP, &should);
}

int dxk_member_create(int ctx, unsigned int kind, unsigned int *id)
{
	struct dxk_member_create create = {
		.size = sizeof(create),
		.kind = kind,
		.fd = -1,
	};
	int rc = call(ctx, DXK_IOC_MEMBER_CREATE, &create);

	if (rc < 0)
		return rc;
	if (id)
		*id = create.id;
	return create.fd;
}

int dxk_post(int member, const struct dxk_post_entry *entries, unsigned int nr,
	     int64_t timeout_ns, unsigned int *reason)
{
	return dxk_post_flags(member, entries, nr, 0, timeout_ns, reason);
}

int dxk_post_flags(int member, const struct dxk_post_entry *entries,
		   unsigned int nr, unsigned int flags, int64_t timeout_ns,
		   unsigned int *reason)
{
	uint64_t deadline = dxk_deadline(timeout_ns);
	unsigned int taken = 0, n, why = 0;
	int rc;

	if (nr > INT_MAX)
		return -EINVAL;
	do {
		struct dxk_post post = {
			.size = sizeof(post),
			.flags = flags,
			.deadline = deadline,
			.entries = address(entries + taken),
			.nr = n = min_u(nr - taken, DXK_BATCH_MAX),
			.entry_size = sizeof(*entries),
		};

		dxk_posting(entries + taken, n);
		rc = call(member, DXK_IOC_POST, &post);
		if (rc > 0)
			taken += (unsigned int)rc;
		if (rc != (int)n)
			why = post.reason;
	} while (rc == (int)n && taken < nr);

	if (reason)
		*reason = why;
	return taken ? (int)taken : rc;
}

int dxk_rejoin(int member, uint64_t owner, struct dxk_result *results,
	       unsigned int nr, unsigned int min, void *data, size_t data_stride,
	       int64_t timeout_ns, unsigned int *answer)
{
	return dxk_rejoin_flags(member, owner, results, nr, min, data, data_stride,
				0, timeout_ns, answer);
}

int dxk_rejoin_flags(int member, uint64_t owner, struct dxk_result *results,
		     unsigned int nr, unsigned int min, void *data,
		     size_t data_stride, unsigned int flags, int64_t timeout_ns,
		     unsigned int *answer)
{
	uint64_t deadline = dxk_deadline(timeout_ns);
	unsigned int got = 0, n, need, said = 0;
	int rc;

	if (nr > INT_MAX || min > nr)
		return -EINVAL;
	if (!min)
		min = 1;
	do {
		struct dxk_rejoin rejoin = {
			.size = sizeof(rejoin),
			.flags = flags,
			.owner = owner,
			.results = address(results + got),
			.nr = n = min_u(nr - got, DXK_BATCH_MAX),
			.result_size = sizeof(*results),
		};

		/* Enough were returned: take what else is there, do not wait. */
		need = min > got ? min_u(min - got, n) : 0;
		rejoin.min = need;
		rejoin.deadline = need ? deadline : 0;
		if (data) {
			rejoin.data = address((char *)data + got * data_stride);
			rejoin.data_stride = stride32(data_stride);
		}

		rc = call(member, DXK_IOC_REJOIN, &rejoin);
		dxk_collected(&rejoin, rc);
		if (rc > 0)
			got += (unsigned int)rc;
		/* A request that was given to the caller is the answer of all. */
		if (!said || rejoin.answer == RJR_HELP)
			said = rejoin.answer;
		/* Fewer than asked for: the rest can only be waited for again. */
	} while (rc == (int)n && got < nr);

	if (answer)
		*answer = said;
	return got ? (int)got : rc;
}

int dxk_next(int member, const struct dxk_done *dones, unsigned int nr_done,
	     unsigned int *nr_taken, struct dxk_work *works,
	     unsigned int nr_work, void *data, size_t data_stride,
	     int64_t timeout_ns)
{
	struct dxk_next next = {
		.size = sizeof(next),
		.deadline = dxk_deadline(timeout_ns),
		.done = address(dones),
		.work = address(works),
		.data = address(data),
		.nr_done = nr_done,
		.done_size = nr_done ? sizeof(*dones) : 0,
		.nr_work = nr_work,
		.work_size = nr_work ? sizeof(*works) : 0,
		.data_stride = data ? stride32(data_stride) : 0,
	};
	int rc;

	dxk_completing(member, dones, nr_done);
	rc = call(member, DXK_IOC_NEXT, &next);
	dxk_fetched(member, &next, rc);
	if (nr_taken)
		*nr_taken = rc < 0 ? 0 : next.nr_taken;
	return rc;
}

int dxk_log_write(int member, const void *text, size_t len, unsigned int flags,
		  int64_t timeout_ns)
{
	struct dxk_log_write write = {
		.size = sizeof(write),
		.flags = flags,
		.deadline = dxk_deadline(timeout_ns),
		.text = address(text),
		/* longer than 32 bits can tell is too long as well */
		.len = stride32(len),
	};

	return call(member, DXK_IOC_LOG_WRITE, &write);
}

int dxk_log_read(int ctx, struct dxk_log_record *records, unsigned int nr,
		 int64_t timeout_ns)
{
	struct dxk_log_read read = {
		.size = sizeof(read),
		.deadline = dxk_deadline(timeout_ns),
		.records = address(records),
		.nr = min_u(nr, DXK_BATCH_MAX),
		.record_size = sizeof(*records),
	};

	return wrote(call(ctx, DXK_IOC_LOG_READ, &read), records, sizeof(*records));
}

int dxk_log_file(int ctx, int fd)
{
	struct dxk_log_file file = { .size = sizeof(file), .fd = fd };

	return call(ctx, DXK_IOC_LOG_FILE, &file);
}

int dxk_handle_open(int ctx, int fd, uint64_t *handle)
{
	struct dxk_handle_open open = { .size = sizeof(open), .fd = fd };
	int rc = call(ctx, DXK_IOC_HANDLE_OPEN, &open);

	if (rc >= 0)
		*handle = open.handle;
	return rc;
}

int dxk_handle_close(int ctx, uint64_t handle)
{
	struct dxk_handle_close close = { .size = sizeof(close), .handle = handle };

	return call(ctx, DXK_IOC_HANDLE_CLOSE, &close);
}

int dxk_command_send(int ctx, const void *text, size_t len, void *reply, size_t room,
		     int *status, int64_t timeout_ns)
{
	struct dxk_command_send send = {
		.size = sizeof(send),
		.text_len = stride32(len),
		.deadline = dxk_deadline(timeout_ns),
		.text = address(text),
		.reply = address(reply),
		.reply_room = stride32(room),
	};
	int rc;

	dxk_commanding();
	rc = call(ctx, DXK_IOC_COMMAND_SEND, &send);
	dxk_commanded();
	if (rc >= 0)
		dxk_written(reply, send.reply_len < room ? send.reply_len : room);
	if (status)
		*status = rc < 0 ? 0 : send.status;
	return rc < 0 ? rc : (int)send.reply_len;
}

int dxk_command_schedule(int ctx, const void *text, size_t len, uint64_t at,
			 uint64_t every_ns)
{
	struct dxk_command_send send = {
		.size = sizeof(send),
		.text_len = stride32(len),
		.at = at,
		.every_ns = every_ns,
		.text = address(text),
	};
	int rc;

	if (!at && !every_ns)
		return -EINVAL;
	rc = call(ctx, DXK_IOC_COMMAND_SEND, &send);
	return rc < 0 ? rc : (int)send.id;
}

int dxk_command_cancel(int ctx, int id)
{
	struct dxk_command_send send = { .size = sizeof(send), .id = (uint32_t)id };

	return id > 0 ? call(ctx, DXK_IOC_COMMAND_SEND, &send) : -EINVAL;
}

int dxk_command_attach(int member, unsigned int attach)
{
	struct dxk_command_attach arg = { .size = sizeof(arg), .attach = attach };

	return call(member, DXK_IOC_COMMAND_ATTACH, &arg);
}

int dxk_command_next(int member, int status, const void *reply, size_t reply_len,
		     void *text, size_t *text_len, int64_t timeout_ns)
{
	struct dxk_command_next next = {
		.size = sizeof(next),
		.status = status,
		.reply = address(reply),
		.deadline = dxk_deadline(timeout_ns),
		.text = address(text),
		.text_room = DXK_COMMAND_MAX,
		.reply_len = stride32(reply_len),
	};
	int rc;

	dxk_commanding();
	rc = call(member, DXK_IOC_COMMAND_NEXT, &next);
	dxk_commanded();
	*text_len = rc < 0 ? 0 : next.text_len;
	dxk_written(text, *text_len);
	return rc < 0 ? rc : (int)next.kind;
}
