// SPDX-License-Identifier: GPL-2.0-only
/*
 * bench: what a request costs, beside what others take for the like, in one boot.
 *
 * Meant for a guest whose clock counts instructions. Measurements of the kernel's
 * side are made by dxk_bench.ko; here are those of user space, the rounds, the
 * statistics and the table. Documentation/bench.rst says what each row is.
 *
 *   bench [-r ROUNDS] [-o FILE.json] [NAME...]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../../uapi/dxk.h"

#define TRIPS		1000
#define BULK		100000
#define BATCH		DXK_BATCH_MAX
#define OWNER		1
#define KERNEL_SIDE	"/sys/kernel/debug/dxk_bench"
#define ROUNDS_MAX	100

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *fmt, ...)
{
	int err = errno;
	va_list args;

	va_start(args, fmt);
	fprintf(stderr, "bench: ");
	vfprintf(stderr, fmt, args);
	fprintf(stderr, ": %s\n", strerror(err));
	va_end(args);
	exit(1);
}

/* A call that has to give @want; the counted path is one comparison longer. */
#define MUST(want, call)					\
	do {							\
		long got_ = (call);				\
								\
		if (got_ != (want))				\
			die("%s gave %ld", #call, got_);	\
	} while (0)

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static pthread_t partner;

static void partner_start(void *(*fn)(void *))
{
	errno = pthread_create(&partner, NULL, fn, NULL);
	if (errno)
		die("pthread_create");
}

/* --- dxk ------------------------------------------------------------------- */

static int control, ctx, client;
static struct dxk_post_entry entries[BATCH];
static struct dxk_result results[BATCH];

static void dxk_open(uint32_t dispatch, uint32_t kernel_threads)
{
	struct dxk_ctx_create create = { .size = sizeof(create) };
	struct dxk_policy policy = { .size = sizeof(policy) };
	struct dxk_ctx_start start = { .size = sizeof(start) };
	struct dxk_member_create member = {
		.size = sizeof(member),
		.kind = DXK_MEMBER_CLIENT,
	};

	control = open("/dev/dxk", O_RDWR | O_CLOEXEC);
	if (control < 0)
		die("/dev/dxk");
	MUST(0, ioctl(control, DXK_IOC_CTX_CREATE, &create));
	ctx = create.fd;
	MUST(0, ioctl(ctx, DXK_IOC_POLICY_GET, &policy));
	policy.size = sizeof(policy);
	policy.max_threads = 1;
	policy.kernel_threads = kernel_threads;
	policy.dispatch = dispatch;
	MUST(0, ioctl(ctx, DXK_IOC_POLICY_SET, &policy));
	MUST(0, ioctl(ctx, DXK_IOC_CTX_START, &start));
	MUST(0, ioctl(ctx, DXK_IOC_MEMBER_CREATE, &member));
	client = member.fd;
}

static void dxk_entries(uint32_t attrs, uint64_t executor)
{
	for (unsigned int i = 0; i < BATCH; i++)
		entries[i] = (struct dxk_post_entry) {
			.owner = OWNER,
			.executor = executor,
			.param = i,
			.attrs = attrs | PXR_REJOIN,
		};
}

/* The executor "nop" on the only worker, a kernel thread. */
static void kernel_worker_setup(int dispatch)
{
	struct dxk_executor_find find = { .size = sizeof(find), .name = "nop" };

	dxk_open(dispatch, 1);
	MUST(0, ioctl(control, DXK_IOC_EXECUTOR_FIND, &find));
	dxk_entries(PXR_KERNEL, find.id);
}

static void dxk_close(void)
{
	close(client);
	close(ctx);
	close(control);
}

static void *user_worker(void *arg)
{
	struct dxk_member_create member = {
		.size = sizeof(member),
		.kind = DXK_MEMBER_WORKER,
	};
	struct dxk_done done[BATCH] = { 0 };
	struct dxk_work work[BATCH];
	struct dxk_next next = {
		.size = sizeof(next),
		.deadline = DXK_FOREVER,
		.done = (uintptr_t)done,
		.done_size = sizeof(*done),
		.work = (uintptr_t)work,
		.work_size = sizeof(*work),
		.nr_work = BATCH,
	};
	long got;

	MUST(0, ioctl(ctx, DXK_IOC_MEMBER_CREATE, &member));
	while ((got = ioctl(member.fd, DXK_IOC_NEXT, &next)) >= 0) {
		for (long i = 0; i < got; i++)
			done[i].ticket = work[i].ticket;
		next.nr_done = got;
	}
	if (errno != ESHUTDOWN)
		die("DXK_IOC_NEXT");
	close(member.fd);
	return arg;
}

static void user_worker_setup(int dispatch)
{
	dxk_open(dispatch, 0);
	dxk_entries(0, 0);
	partner_start(user_worker);
}

static void user_worker_teardown(void)
{
	struct dxk_ctx_stop stop = {
		.size = sizeof(stop),
		.mode = DXK_STOP_DRAIN,
		.deadline = DXK_FOREVER,
	};

	MUST(0, ioctl(ctx, DXK_IOC_CTX_STOP, &stop));
	pthread_join(partner, NULL);
	dxk_close();
}

static void dxk_batches(long ops, long batch)
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
		MUST(nr, ioctl(client, DXK_IOC_POST, &post));
		MUST(nr, ioctl(client, DXK_IOC_REJOIN, &rejoin));
		ops -= nr;
	}
}

static void dxk_trips(long ops)
{
	dxk_batches(ops, 1);
}

static void dxk_by_64(long ops)
{
	dxk_batches(ops, BATCH);
}

/* --- ping-pong between two threads of user space --------------------------- */

static uint32_t ping, pong;

static void futex_send(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futex_await(uint32_t *word, uint32_t old)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == old)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
}

/* UINT32_MAX is the last word. */
static void *futex_partner(void *arg)
{
	uint32_t value = 0;

	while (value != UINT32_MAX) {
		futex_await(&ping, value);
		value = __atomic_load_n(&ping, __ATOMIC_RELAXED);
		futex_send(&pong, value);
	}
	return arg;
}

static void futex_setup(int unused)
{
	ping = pong = unused;
	partner_start(futex_partner);
}

static void futex_trips(long ops)
{
	uint32_t value = pong;

	while (ops--) {
		futex_send(&ping, value + 1);
		futex_await(&pong, value);
		value++;
	}
}

static void futex_teardown(void)
{
	futex_send(&ping, UINT32_MAX);
	pthread_join(partner, NULL);
}

static int to_partner[2], to_me[2];	/* read end, write end */

static void *fd_partner(void *arg)
{
	uint64_t value = 1;

	/* 2 is the last word */
	while (value == 1) {
		MUST((long)sizeof(value), read(to_partner[0], &value, sizeof(value)));
		MUST((long)sizeof(value), write(to_me[1], &value, sizeof(value)));
	}
	return arg;
}

static void fd_trips(long ops)
{
	uint64_t value = 1;

	while (ops--) {
		MUST((long)sizeof(value), write(to_partner[1], &value, sizeof(value)));
		MUST((long)sizeof(value), read(to_me[0], &value, sizeof(value)));
	}
}

static void eventfd_setup(int unused)
{
	to_partner[0] = eventfd(unused, EFD_CLOEXEC);
	to_me[0] = eventfd(unused, EFD_CLOEXEC);
	if (to_partner[0] < 0 || to_me[0] < 0)
		die("eventfd");
	to_partner[1] = to_partner[0];
	to_me[1] = to_me[0];
	partner_start(fd_partner);
}

static void pipe_setup(int unused)
{
	(void)unused;
	MUST(0, pipe2(to_partner, O_CLOEXEC));
	MUST(0, pipe2(to_me, O_CLOEXEC));
	partner_start(fd_partner);
}

static void fd_teardown(void)
{
	uint64_t last = 2;

	MUST((long)sizeof(last), write(to_partner[1], &last, sizeof(last)));
	pthread_join(partner, NULL);
	close(to_partner[0]);
	close(to_me[0]);
	if (to_partner[1] != to_partner[0]) {
		close(to_partner[1]);
		close(to_me[1]);
	}
}

/* --- the thread pool that one writes in user space ------------------------- */

struct job {
	struct job *next;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_cond_t idle;
	struct job *first, **last;
	long to_do;
	bool stop;
} pool = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.idle = PTHREAD_COND_INITIALIZER,
};

static void *pool_worker(void *arg)
{
	pthread_mutex_lock(&pool.lock);
	while (!pool.stop) {
		struct job *job = pool.first;

		if (!job) {
			pthread_cond_wait(&pool.work, &pool.lock);
			continue;
		}
		pool.first = job->next;
		if (!pool.first)
			pool.last = &pool.first;
		pthread_mutex_unlock(&pool.lock);
		/* here it would be executed */
		pthread_mutex_lock(&pool.lock);
		if (!--pool.to_do)
			pthread_cond_signal(&pool.idle);
	}
	pthread_mutex_unlock(&pool.lock);
	return arg;
}

static void pool_setup(int unused)
{
	pool.first = NULL;
	pool.last = &pool.first;
	pool.to_do = unused;
	pool.stop = false;
	partner_start(pool_worker);
}

static void pool_batches(long ops, long batch)
{
	static struct job jobs[BATCH];

	while (ops) {
		long nr = ops < batch ? ops : batch;

		for (long i = 0; i < nr; i++) {
			pthread_mutex_lock(&pool.lock);
			jobs[i].next = NULL;
			*pool.last = &jobs[i];
			pool.last = &jobs[i].next;
			pool.to_do++;
			pthread_cond_signal(&pool.work);
			pthread_mutex_unlock(&pool.lock);
		}
		pthread_mutex_lock(&pool.lock);
		while (pool.to_do)
			pthread_cond_wait(&pool.idle, &pool.lock);
		pthread_mutex_unlock(&pool.lock);
		ops -= nr;
	}
}

static void pool_trips(long ops)
{
	pool_batches(ops, 1);
}

static void pool_by_64(long ops)
{
	pool_batches(ops, BATCH);
}

static void pool_teardown(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.stop = true;
	pthread_cond_signal(&pool.work);
	pthread_mutex_unlock(&pool.lock);
	pthread_join(partner, NULL);
}

/* --- yardsticks ------------------------------------------------------------ */

static void getppid_run(long ops)
{
	while (ops--)
		syscall(SYS_getppid);
}

static void control_setup(int unused)
{
	(void)unused;
	control = open("/dev/dxk", O_RDWR | O_CLOEXEC);
	if (control < 0)
		die("/dev/dxk");
}

static void control_teardown(void)
{
	close(control);
}

/* Reaches the driver, which does not know it. */
static void unknown_run(long ops)
{
	while (ops--)
		MUST(-1, ioctl(control, _IO(DXK_IOC_TYPE, 0xff)));
}

static void version_run(long ops)
{
	struct dxk_version version = { .size = sizeof(version) };

	while (ops--)
		MUST(0, ioctl(control, DXK_IOC_VERSION, &version));
}

/* --- measurements ---------------------------------------------------------- */

/**
 * struct bench - one measurement
 * @name: unique
 * @what: in the table
 * @setup: before each round, with @arg; may be NULL
 * @run: do some of it; the only part that is timed. NULL: dxk_bench.ko does it
 * @teardown: after each round; may be NULL
 * @ops: how many a round
 * @arg: for @setup
 * @done: measured
 * @per_op: by round, sorted in the end
 * @sleeps: of the client, per request, warm-up included
 * @preempted: the same, how often it was taken off the CPU
 */
struct bench {
	const char *name;
	const char *what;
	void (*setup)(int arg);
	void (*run)(long ops);
	void (*teardown)(void);
	long ops;
	int arg;

	bool done;
	double per_op[ROUNDS_MAX];
	double sleeps, preempted;
};

#define YARD(_name, _what, _setup, _run, _teardown)			\
	{ .name = _name, .what = _what, .setup = _setup, .run = _run,	\
	  .teardown = _teardown, .ops = TRIPS }
#define USER(_name, _what, _set, _run, _ops, _arg)			\
	{ .name = _name, .what = _what, .setup = _set##_setup, .run = _run, \
	  .teardown = _set##_teardown, .ops = _ops, .arg = _arg }
#define KERN(_name, _what)	{ .name = _name, .what = _what }

#define kernel_worker_teardown	dxk_close

static struct bench benches[] = {
	YARD("getppid", "getppid", NULL, getppid_run, NULL),
	YARD("ioctl_unknown", "ioctl unknown to dxk", control_setup, unknown_run,
	     control_teardown),
	YARD("ioctl_version", "ioctl DXK_IOC_VERSION", control_setup, version_run,
	     control_teardown),
	KERN("kmalloc", "kmalloc + kfree, 64 bytes"),
	KERN("kmalloc_account", "the same, accounted"),
	KERN("spinlock", "spin_lock + spin_unlock"),

	KERN("dxk_trip_direct", "dxk direct"),
	KERN("dxk_trip_thread", "dxk thread"),
	KERN("dxk_by_64_direct", "dxk direct"),
	KERN("dxk_by_64_thread", "dxk thread"),
	KERN("dxk_bulk_direct", "dxk direct"),
	KERN("dxk_bulk_thread", "dxk thread"),
	KERN("wq_trip", "unbound workqueue"),
	KERN("wq_by_64", "unbound workqueue"),
	KERN("wq_bulk", "unbound workqueue"),
	KERN("kw_trip", "kthread_worker"),
	KERN("kw_by_64", "kthread_worker"),
	KERN("kw_bulk", "kthread_worker"),

	USER("user_trip_direct", "dxk direct", kernel_worker, dxk_trips, TRIPS,
	     DXK_DISPATCH_DIRECT),
	USER("user_trip_thread", "dxk thread", kernel_worker, dxk_trips, TRIPS,
	     DXK_DISPATCH_THREAD),
	USER("user_by_64_direct", "dxk direct", kernel_worker, dxk_by_64, BULK,
	     DXK_DISPATCH_DIRECT),
	USER("user_by_64_thread", "dxk thread", kernel_worker, dxk_by_64, BULK,
	     DXK_DISPATCH_THREAD),
	USER("worker_trip_direct", "dxk direct", user_worker, dxk_trips, TRIPS,
	     DXK_DISPATCH_DIRECT),
	USER("worker_trip_thread", "dxk thread", user_worker, dxk_trips, TRIPS,
	     DXK_DISPATCH_THREAD),
	USER("worker_by_64_direct", "dxk direct", user_worker, dxk_by_64, BULK,
	     DXK_DISPATCH_DIRECT),
	USER("worker_by_64_thread", "dxk thread", user_worker, dxk_by_64, BULK,
	     DXK_DISPATCH_THREAD),
	USER("futex", "futex ping-pong", futex, futex_trips, TRIPS, 0),
	{ "eventfd", "eventfd ping-pong", eventfd_setup, fd_trips, fd_teardown,
	  TRIPS, 0, false, { 0 }, 0, 0 },
	{ "pipe", "pipe ping-pong", pipe_setup, fd_trips, fd_teardown,
	  TRIPS, 0, false, { 0 }, 0, 0 },
	USER("pool_trip", "mutex + condition pool", pool, pool_trips, TRIPS, 0),
	USER("pool_by_64", "mutex + condition pool", pool, pool_by_64, BULK, 0),
};

#define NR_BENCHES	(sizeof(benches) / sizeof(*benches))

/* The table: dxk in both modes, and the rivals that each is compared with. */
static const struct group {
	const char *title;
	const char *direct, *thread;
	const char *rival[6];
} groups[] = {
	{ "yardsticks", NULL, NULL,
	  { "getppid", "ioctl_unknown", "ioctl_version", "kmalloc",
	    "kmalloc_account", "spinlock" } },
	{ "kernel client, one request: post, a kernel worker runs it, rejoin",
	  "dxk_trip_direct", "dxk_trip_thread", { "wq_trip", "kw_trip" } },
	{ "kernel client, 10^5 requests, 64 at a time",
	  "dxk_by_64_direct", "dxk_by_64_thread", { "wq_by_64", "kw_by_64" } },
	{ "kernel client, 10^5 requests, all posted before the first is collected",
	  "dxk_bulk_direct", "dxk_bulk_thread", { "wq_bulk", "kw_bulk" } },
	{ "user client, one request: post, a kernel worker runs it, rejoin",
	  "user_trip_direct", "user_trip_thread",
	  { "wq_trip", "futex", "eventfd", "pipe", "pool_trip" } },
	{ "user client, 10^5 requests to a kernel worker, 64 at a time",
	  "user_by_64_direct", "user_by_64_thread", { "wq_by_64", "pool_by_64" } },
	{ "user client, one request: post, a sleeping user worker runs it, rejoin",
	  "worker_trip_direct", "worker_trip_thread",
	  { "futex", "eventfd", "pipe", "pool_trip" } },
	{ "user client, 10^5 requests to a user worker, 64 at a time",
	  "worker_by_64_direct", "worker_by_64_thread", { "pool_by_64" } },
};

#define NR_GROUPS	(sizeof(groups) / sizeof(*groups))
#define RIVALS(g)	(sizeof((g)->rival) / sizeof(*(g)->rival))

static int rounds = 6;

static struct bench *bench_find(const char *name)
{
	for (size_t i = 0; i < NR_BENCHES; i++)
		if (!strcmp(benches[i].name, name))
			return &benches[i];
	errno = ENOENT;
	die("%s", name);
}

static double kernel_round(struct bench *b)
{
	char path[128];
	uint64_t ns;
	FILE *f;

	snprintf(path, sizeof(path), KERNEL_SIDE "/%s", b->name);
	f = fopen(path, "r");
	if (!f)
		die("%s", path);
	if (fscanf(f, "%ld %" SCNu64, &b->ops, &ns) != 2)
		die("%s", path);
	fclose(f);
	return (double)ns / b->ops;
}

static double user_round(struct bench *b)
{
	uint64_t start, end;

	if (b->setup)
		b->setup(b->arg);
	b->run(b->ops / 10);
	start = now();
	b->run(b->ops);
	end = now();
	if (b->teardown)
		b->teardown();
	return (double)(end - start) / b->ops;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void measure(struct bench *b)
{
	struct rusage before, after;
	double ops;

	/* The first round fills caches and stashes: it is dropped. */
	for (int i = -1; i < rounds; i++) {
		double per_op;

		if (!i)
			getrusage(RUSAGE_THREAD, &before);
		per_op = b->run ? user_round(b) : kernel_round(b);
		if (i >= 0)
			b->per_op[i] = per_op;
	}
	getrusage(RUSAGE_THREAD, &after);
	ops = 1.1 * b->ops * rounds;
	b->sleeps = (after.ru_nvcsw - before.ru_nvcsw) / ops;
	b->preempted = (after.ru_nivcsw - before.ru_nivcsw) / ops;
	qsort(b->per_op, rounds, sizeof(*b->per_op), by_value);
	b->done = true;
}

static double least(const struct bench *b)
{
	return b->per_op[0];
}

static double most(const struct bench *b)
{
	return b->per_op[rounds - 1];
}

static double median(const struct bench *b)
{
	return (b->per_op[rounds / 2] + b->per_op[(rounds - 1) / 2]) / 2;
}

static double spread(const struct bench *b)
{
	return 100 * (most(b) - least(b)) / median(b);
}

static double ratio(const struct bench *dxk, const struct bench *rival)
{
	return median(dxk) / median(rival);
}

/* --- what is printed ------------------------------------------------------- */

static const char limits[] =
	"counts instructions, sees no caches, no contention, no parallelism";

static void print_row(const struct bench *b, const struct bench *direct,
		      const struct bench *thread)
{
	if (!b->done)
		return;
	printf("  %-28s %9.0f %9.0f %7.2f %%", b->what, least(b), median(b), spread(b));
	if (direct && direct->done)
		printf(" %10.2f", ratio(direct, b));
	if (thread && thread->done)
		printf(" %10.2f", ratio(thread, b));
	putchar('\n');
}

static void print_group(const struct group *g)
{
	const struct bench *direct = g->direct ? bench_find(g->direct) : NULL;
	const struct bench *thread = g->thread ? bench_find(g->thread) : NULL;

	printf("%s\n", g->title);
	if (direct) {
		print_row(direct, NULL, NULL);
		print_row(thread, NULL, NULL);
	}
	for (size_t i = 0; i < RIVALS(g) && g->rival[i]; i++)
		print_row(bench_find(g->rival[i]), direct, thread);
}

static void print_table(const char *kernel, long cpus)
{
	printf("Linux %s, %ld CPU, instructions per request, %d rounds after a dropped one\n",
	       kernel, cpus, rounds);
	printf("%s\n", limits);
	printf("%-30s %9s %9s %9s %10s %10s\n", "", "min", "median", "spread",
	       "direct/it", "thread/it");
	for (size_t i = 0; i < NR_GROUPS; i++)
		print_group(&groups[i]);
}

static void write_json(const char *path, const char *kernel, long cpus)
{
	FILE *f = fopen(path, "w");
	const char *comma = "";

	if (!f)
		die("%s", path);
	fprintf(f, "{\n  \"kernel\": \"%s\",\n  \"cpus\": %ld,\n  \"rounds\": %d,\n",
		kernel, cpus, rounds);
	fprintf(f, "  \"unit\": \"instructions per request\",\n  \"limits\": \"%s\",\n",
		limits);
	fprintf(f, "  \"measurements\": {");
	for (size_t i = 0; i < NR_BENCHES; i++) {
		const struct bench *b = &benches[i];

		if (!b->done)
			continue;
		fprintf(f, "%s\n    \"%s\": { \"ops\": %ld, \"min\": %.2f, \"median\": %.2f, \"max\": %.2f,",
			comma, b->name, b->ops, least(b), median(b), most(b));
		fprintf(f, "\n      \"client_sleeps\": %.3f, \"client_preempted\": %.3f,",
			b->sleeps, b->preempted);
		fprintf(f, "\n      \"rounds\": [");
		for (int j = 0; j < rounds; j++)
			fprintf(f, "%s%.2f", j ? ", " : "", b->per_op[j]);
		fprintf(f, "] }");
		comma = ",";
	}
	fprintf(f, "\n  },\n  \"ratios\": [");
	comma = "";
	for (size_t i = 0; i < NR_GROUPS; i++) {
		const struct group *g = &groups[i];
		const char *dxk[] = { g->direct, g->thread };

		for (size_t j = 0; g->direct && j < RIVALS(g) && g->rival[j]; j++)
			for (size_t k = 0; k < 2; k++) {
				const struct bench *d = bench_find(dxk[k]);
				const struct bench *r = bench_find(g->rival[j]);

				if (!d->done || !r->done)
					continue;
				fprintf(f, "%s\n    { \"dxk\": \"%s\", \"rival\": \"%s\", \"ratio\": %.3f }",
					comma, d->name, r->name, ratio(d, r));
				comma = ",";
			}
	}
	fprintf(f, "\n  ]\n}\n");
	if (fclose(f))
		die("%s", path);
}

int main(int argc, char **argv)
{
	const char *json = NULL;
	struct utsname uts;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int opt;

	while ((opt = getopt(argc, argv, "r:o:")) != -1) {
		switch (opt) {
		case 'r':
			rounds = atoi(optarg);
			break;
		case 'o':
			json = optarg;
			break;
		default:
			return 2;
		}
	}
	if (rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "bench: 1 to %d rounds\n", ROUNDS_MAX);
		return 2;
	}
	uname(&uts);

	if (optind < argc)
		while (optind < argc)
			measure(bench_find(argv[optind++]));
	else
		for (size_t i = 0; i < NR_BENCHES; i++)
			measure(&benches[i]);

	print_table(uts.release, cpus);
	if (json)
		write_json(json, uts.release, cpus);
	return 0;
}
