// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The thin API: each function fills in one struct of the contract and makes one
 * call. Here are contexts and their members; dxk_request.c and dxk_service.c have
 * the rest.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "calls.h"

#define NSEC_PER_SEC	1000000000ULL

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
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
		FIELD(max_waiting),
		FIELD(wait_report_ms),
		FIELD(min_threads),
		FIELD(spare_idle_ms),
		FIELD(min_spares),
		FIELD(spare_after_ms),
		FIELD(homes),
		FIELD(steal),
		FIELD(space_weight),
		FIELD(autotune),
		FIELD(key_batch),
		FIELD(help_scope),
	};
#undef FIELD
	unsigned int i = offset / sizeof(uint32_t);

	/* A new field of the struct that is missing in this table would have no name. */
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

int dxk_instrument(int member, const char *name, unsigned int flags, int64_t value)
{
	struct dxk_instrument arg = {
		.size = sizeof(arg),
		.flags = flags,
		.value = (uint64_t)value,
	};
	size_t len = strnlen(name, sizeof(arg.name));

	if (len == sizeof(arg.name))
		return -EINVAL;
	memcpy(arg.name, name, len);
	return call(member, DXK_IOC_INSTRUMENT, &arg);
}

int dxk_label(int member, uint64_t object, const char *name)
{
	struct dxk_label arg = { .size = sizeof(arg), .object = object };
	size_t len = name ? strnlen(name, sizeof(arg.name)) : 0;

	if (len == sizeof(arg.name))
		return -EINVAL;
	if (len)
		memcpy(arg.name, name, len);
	return call(member, DXK_IOC_LABEL, &arg);
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

int dxk_requests_read(int ctx, uint64_t *cursor, struct dxk_request_info *requests)
{
	struct dxk_requests_read read = {
		.size = sizeof(read),
		.cursor = *cursor,
		.requests = address(requests),
		.nr = DXK_BATCH_MAX,
		.request_size = sizeof(*requests),
	};
	int rc = call(ctx, DXK_IOC_REQUESTS_READ, &read);

	*cursor = read.cursor;
	return wrote(rc, requests, sizeof(*requests));
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
	return dxk_member_create_home(ctx, kind, NULL, id);
}

int dxk_member_create_home(int ctx, unsigned int kind, unsigned int *home, unsigned int *id)
{
	struct dxk_member_create create = {
		.size = sizeof(create),
		.kind = kind,
		.fd = -1,
		.home = home ? *home : 0,
	};
	int rc = call(ctx, DXK_IOC_MEMBER_CREATE, &create);

	if (rc < 0)
		return rc;
	if (home)
		*home = create.home;
	if (id)
		*id = create.id;
	return create.fd;
}
