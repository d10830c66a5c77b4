// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxk by its calls: a client of kernel workers and of user workers.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dxk_calls.h"

int dxk_control, dxk_ctx, dxk_client;

static struct dxk_post_entry entries[BATCH];
static struct dxk_result results[BATCH];

void dxk_open_ctx(void (*change)(struct dxk_policy *policy, long arg), long arg)
{
	struct dxk_ctx_create create = { .size = sizeof(create) };
	struct dxk_policy policy = { .size = sizeof(policy) };
	struct dxk_ctx_start start = { .size = sizeof(start) };

	dxk_control = open("/dev/dxk", O_RDWR | O_CLOEXEC);
	if (dxk_control < 0)
		die("/dev/dxk");
	MUST(0, ioctl(dxk_control, DXK_IOC_CTX_CREATE, &create));
	dxk_ctx = create.fd;
	MUST(0, ioctl(dxk_ctx, DXK_IOC_POLICY_GET, &policy));
	policy.size = sizeof(policy);
	policy.max_threads = 1;
	if (change)
		change(&policy, arg);
	MUST(0, ioctl(dxk_ctx, DXK_IOC_POLICY_SET, &policy));
	MUST(0, ioctl(dxk_ctx, DXK_IOC_CTX_START, &start));
	dxk_client = dxk_member(DXK_MEMBER_CLIENT);
}

int dxk_member(uint32_t kind)
{
	struct dxk_member_create member = { .size = sizeof(member), .kind = kind };

	MUST(0, ioctl(dxk_ctx, DXK_IOC_MEMBER_CREATE, &member));
	return member.fd;
}

uint64_t dxk_nop(void)
{
	struct dxk_executor_find find = { .size = sizeof(find), .name = "nop" };

	MUST(0, ioctl(dxk_control, DXK_IOC_EXECUTOR_FIND, &find));
	return find.id;
}

void dxk_post_all(const struct dxk_post_entry *some, long nr)
{
	struct dxk_post post = {
		.size = sizeof(post),
		.entries = (uintptr_t)some,
		.entry_size = sizeof(*some),
	};

	for (; nr; nr -= post.nr) {
		post.nr = nr < BATCH ? nr : BATCH;
		MUST(post.nr, ioctl(dxk_client, DXK_IOC_POST, &post));
	}
}

long dxk_collect(long nr, int status)
{
	struct dxk_rejoin rejoin = {
		.size = sizeof(rejoin),
		.owner = OWNER,
		.deadline = DXK_FOREVER,
		.results = (uintptr_t)results,
		.result_size = sizeof(*results),
	};
	long all = 0, got;

	while (all < nr) {
		rejoin.nr = rejoin.min = nr - all < BATCH ? nr - all : BATCH;
		got = ioctl(dxk_client, DXK_IOC_REJOIN, &rejoin);
		if (got < 0)
			die("DXK_IOC_REJOIN");
		if (!got)
			break;
		for (long i = 0; i < got; i++)
			MUST(status, results[i].status);
		all += got;
	}
	return all;
}

void dxk_serve(int worker, unsigned int batch)
{
	struct dxk_done done[BATCH] = { 0 };
	struct dxk_work work[BATCH];
	struct dxk_next next = {
		.size = sizeof(next),
		.deadline = DXK_FOREVER,
		.done = (uintptr_t)done,
		.done_size = sizeof(*done),
		.work = (uintptr_t)work,
		.work_size = sizeof(*work),
		.nr_work = batch,
	};
	long got;

	while ((got = ioctl(worker, DXK_IOC_NEXT, &next)) >= 0) {
		for (long i = 0; i < got; i++)
			done[i].ticket = work[i].ticket;
		next.nr_done = got;
	}
	if (errno != ESHUTDOWN)
		die("DXK_IOC_NEXT");
}

void dxk_stop(uint32_t mode)
{
	struct dxk_ctx_stop stop = {
		.size = sizeof(stop),
		.mode = mode,
		.deadline = DXK_FOREVER,
	};

	MUST(0, ioctl(dxk_ctx, DXK_IOC_CTX_STOP, &stop));
}

/* --- one at a time, and 64 ---------------------------------------------------- */

static void fill(uint32_t attrs, uint64_t executor)
{
	for (unsigned int i = 0; i < BATCH; i++)
		entries[i] = (struct dxk_post_entry) {
			.owner = OWNER,
			.executor = executor,
			.param = i,
			.attrs = attrs | PXR_REJOIN,
		};
}

static void batches(long ops, long batch)
{
	struct dxk_post post = {
		.size = sizeof(post),
		.entries = (uintptr_t)entries,
		.entry_size = sizeof(*entries),
	};
	struct dxk_rejoin rejoin = {
		.size = sizeof(rejoin),
		.owner = OWNER,
		.deadline = DXK_FOREVER,
		.results = (uintptr_t)results,
		.result_size = sizeof(*results),
	};

	while (ops) {
		long nr = ops < batch ? ops : batch;

		post.nr = rejoin.nr = rejoin.min = nr;
		MUST(nr, ioctl(dxk_client, DXK_IOC_POST, &post));
		MUST(nr, ioctl(dxk_client, DXK_IOC_REJOIN, &rejoin));
		ops -= nr;
	}
}

static void trips(long ops)
{
	batches(ops, 1);
}

/* The same in one call. */
static void calls(long ops)
{
	struct dxk_roundtrip call = {
		.size = sizeof(call),
		.deadline = DXK_FOREVER,
		.entries = (uintptr_t)entries,
		.results = (uintptr_t)results,
		.nr = 1,
		.entry_size = sizeof(*entries),
		.result_size = sizeof(*results),
	};

	while (ops--)
		MUST(1, ioctl(dxk_client, DXK_IOC_CALL, &call));
}

static void by_64(long ops)
{
	batches(ops, BATCH);
}

static void with_kernel_worker(struct dxk_policy *policy, long dispatch)
{
	policy->kernel_threads = 1;
	policy->dispatch = dispatch;
}

static void with_user_worker(struct dxk_policy *policy, long dispatch)
{
	policy->dispatch = dispatch;
}

/* The executor "nop" on the only worker, a kernel thread. */
static void kernel_trip_setup(const struct variant *v)
{
	dxk_open_ctx(with_kernel_worker, v->arg);
	fill(PXR_KERNEL, dxk_nop());
}

const struct kind dxk_kernel_trip = { .setup = kernel_trip_setup, .run = trips };

static void *user_worker(void *arg)
{
	int worker = dxk_member(DXK_MEMBER_WORKER);

	dxk_serve(worker, 1);
	close(worker);
	return arg;
}

static void user_trip_setup(const struct variant *v)
{
	dxk_open_ctx(with_user_worker, v->arg);
	fill(0, 0);
	partner_start(user_worker, NULL);
}

static void user_trip_teardown(void)
{
	dxk_stop(DXK_STOP_DRAIN);
	partner_join();
}

const struct kind dxk_user_trip = {
	.setup = user_trip_setup,
	.run = trips,
	.teardown = user_trip_teardown,
};

const struct kind dxk_user_call = {
	.setup = user_trip_setup,
	.run = calls,
	.teardown = user_trip_teardown,
};

/* --- to a worker in another process ------------------------------------------ */

static void process_main(void)
{
	close(dxk_client);
	dxk_serve(dxk_member(DXK_MEMBER_WORKER), BATCH);
}

static int process;

static void process_setup(const struct variant *v)
{
	dxk_open_ctx(with_user_worker, v->arg);
	fill(0, 0);
	process = child_start(process_main);
}

static void process_teardown(void)
{
	dxk_stop(DXK_STOP_DRAIN);
	child_end(process, 0);
}

const struct kind dxk_process = {
	.setup = process_setup,
	.run = by_64,
	.teardown = process_teardown,
};

/* --- the post alone ----------------------------------------------------------- */

static long post_batch, posted;

static void with_room(struct dxk_policy *policy, long unused)
{
	(void)unused;
	policy->ready_entries = policy->rejoin_entries = 1 << 15;
	policy->prealloc_requests = 1 << 15;
}

/* No worker ever comes: all lie in the Ready Pool in the end. */
static void post_alone_setup(const struct variant *v)
{
	post_batch = v->arg;
	dxk_open_ctx(with_room, 0);
	fill(0, 0);
}

static void post_alone_run(long ops)
{
	struct dxk_post post = {
		.size = sizeof(post),
		.entries = (uintptr_t)entries,
		.entry_size = sizeof(*entries),
		.nr = post_batch,
	};

	for (; ops > 0; ops -= post_batch, posted += post_batch)
		MUST(post_batch, ioctl(dxk_client, DXK_IOC_POST, &post));
}

static void post_alone_teardown(void)
{
	dxk_stop(DXK_STOP_CANCEL);
	MUST(posted, dxk_collect(1 << 15, -ECANCELED));
}

const struct kind dxk_post_alone = {
	.setup = post_alone_setup,
	.run = post_alone_run,
	.teardown = post_alone_teardown,
};
