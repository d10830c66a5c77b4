// SPDX-License-Identifier: GPL-2.0-only
/*
 * DX-113: the module goes when the last descriptor is closed, without a trace, and
 * comes again, many times; while anybody uses it, in whatever state, it stays and all goes
 * on. The modules that run.sh loaded are loaded again at the end.
 *
 * rounds loads and unloads for some 5 seconds, with DXK_ROUNDS=n n times; 1000
 * take some minutes.
 */
#include "lib/modules.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define OWNER	7

/* How often: the emulated debug kernel takes seconds for each. */
static int times(int n)
{
	return dxt_debug_kernel() ? 2 : n;
}

/* Each test begins without the executors, which are a user of dxk, too. */
FIXTURE(module) {
	bool executors;
	struct dxt t;
};

FIXTURE_SETUP(module)
{
	self->executors = loaded(EXECUTORS);
	self->t = (struct dxt){ .ctl = -1, .ctx = -1, .member = -1 };
	if (self->executors)
		ASSERT_EQ(0, unload_soon(EXECUTORS));
}

FIXTURE_TEARDOWN(module)
{
	EXPECT_EQ(0, load_all(self->executors));
}

#define STAYS()	EXPECT_EQ(-EWOULDBLOCK, unload("dxk"))

#define GOES()	do {							\
	EXPECT_EQ(0, unload_soon("dxk"));				\
	EXPECT_EQ(NULL, left_over()) TH_LOG("%s", left_over());		\
	EXPECT_GT(0, dxk_open());					\
	ASSERT_EQ(0, load_all(false));					\
} while (0)

/* --- dxk_executors ------------------------------------------------------------- */

static int post_kernel(const struct dxt *t, const char *name, uint64_t param)
{
	uint64_t id;
	int rc = dxk_executor_find(t->ctl, name, &id);

	return rc ?: dxt_post1(t->member, OWNER, id, param, PXR_KERNEL | PXR_REJOIN, 0,
			       NULL);
}

/* A thread that posts, or opens, until it is told to stop. */
struct poster {
	const struct dxt *t;
	_Atomic bool stop;
	_Atomic unsigned long posted;
	unsigned long returned;
	unsigned long missed;
	int error;
};

/* --- in each state --------------------------------------------------------- */

static bool works(const struct dxt *t)
{
	struct dxk_result r;

	return dxt_post1(t->member, OWNER, DXT_PARAM, 5, PXR_REJOIN, 0, NULL) == 1 &&
	       dxt_rejoin(t->member, OWNER, &r, 1, 1, dxt_late(),
			  NULL) == 1 && r.status == 5;
}

/* Nobody uses it. By itself the module makes a device for root only. */
TEST_F(module, nobody)
{
	struct stat st;

	GOES();
	ASSERT_EQ(0, stat(DXK_DEVICE, &st));
	EXPECT_EQ(S_IFCHR | 0600, st.st_mode);
	EXPECT_EQ(0, st.st_uid);
}

TEST_F(module, control)
{
	struct dxk_version version;
	int ctl = dxk_open();

	STAYS();
	EXPECT_EQ(0, dxk_version(ctl, &version));
	close(ctl);
	GOES();
}

/* Made and not started; started; stopped; and when a member is all that is left. */
TEST_F(module, context)
{
	struct dxt *t = &self->t;

	ASSERT_EQ(0, dxt_open(t));
	close(t->ctl);
	t->ctl = -1;
	STAYS();
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, dxt_workers_start(t, 2));
	STAYS();
	EXPECT_TRUE(works(t));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, -1));
	STAYS();
	while (t->workers)
		dxt_worker_end(t->workers);
	EXPECT_EQ(0, dxk_ctx_start(t->ctx));
	ASSERT_EQ(0, dxt_workers_start(t, 1));
	EXPECT_TRUE(works(t));
	dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, -1);
	dxt_worker_end(t->workers);
	close(t->ctx);
	t->ctx = -1;
	STAYS();
	EXPECT_EQ(-ESHUTDOWN, dxt_post1(t->member, OWNER, DXT_NOP, 0, 0, 0, NULL));
	dxt_close(t);
	GOES();
}

/* Workers of another process, one idle and one that executes. */
TEST_F(module, workers_elsewhere)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxt *t = &self->t;
	struct dxk_result r;
	pid_t pid;

	ASSERT_EQ(0, dxt_up(t, 0));
	pid = dxt_worker_process(t, 2);
	ASSERT_LT(0, pid);
	STAYS();
	EXPECT_TRUE(works(t));
	ASSERT_EQ(1, dxt_post1(t->member, OWNER, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0,
			       NULL));
	EXPECT_TRUE(DXT_UNTIL(t, gate->entered));
	STAYS();
	dxt_gate_open(gate);
	EXPECT_EQ(1, dxt_rejoin(t->member, OWNER, &r, 1, 1,
				dxt_late(), NULL));
	dxt_down(t);
	/* it has copies, and ends by itself, for Stop told its workers */
	EXPECT_EQ(0, dxt_reap(pid));
	GOES();
	dxt_gate_free(gate);
}

/* Results that nobody collects hold the module only with their context. */
TEST_F(module, results)
{
	struct dxt *t = &self->t;
	int i;

	ASSERT_EQ(0, dxt_up(t, 1));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(1, dxt_post1(t->member, OWNER + i % 3, DXT_NOP, 0, PXR_REJOIN, 0,
				       NULL));
	EXPECT_TRUE(DXT_UNTIL(t, dxt_num(t, "pools/rejoin_use") == 20));
	STAYS();
	EXPECT_EQ(7, dxt_drain(t, t->member, OWNER));
	STAYS();
	dxt_down(t);
	GOES();
}

/*
 * A process that was killed a moment ago, as a client, a worker that executes and the
 * only one to have the context: it is in use until it is not, and then it goes.
 */
TEST_F(module, killed)
{
	_Atomic int *ready = dxt_shared(sizeof(*ready));
	int i, rc;

	for (i = 0; i < times(4); i++) {
		pid_t pid = dxt_fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			struct dxt_gate *gate = dxt_gate_new();
			struct dxt t;

			if (dxt_up(&t, 2))
				_exit(1);
			while (gate->entered < 2)
				dxt_post1(t.member, OWNER, DXT_GATE, DXT_PTR(gate),
					  PXR_REJOIN, 0, NULL);
			*ready = i + 1;
			dxt_rejoin(t.member, OWNER, &(struct dxk_result){ 0 }, 1, 1,
				   DXK_FOREVER, NULL);
			_exit(2);
		}
		EXPECT_TRUE(DXT_SOON(*ready == i + 1));
		STAYS();
		kill(pid, SIGKILL);
		/* no wait for its end */
		EXPECT_TRUE(DXT_SOON((rc = unload("dxk")) != -EWOULDBLOCK));
		EXPECT_EQ(0, rc);
		EXPECT_EQ(NULL, left_over()) TH_LOG("%s", left_over());
		EXPECT_EQ(SIGKILL, dxt_reap(pid));
		ASSERT_EQ(0, load_all(false));
	}
}

static void *send_command(void *arg)
{
	struct dxt *t = arg;
	char reply[16] = "";
	int status = 0, rc;

	rc = dxk_command_send(t->ctx, "ping", 4, reply, sizeof(reply), &status, -1);
	return (void *)(intptr_t)(rc == 4 && !status && !memcmp(reply, "pong", 4));
}

/* A handler that holds a command, a sender that waits, a timed one to come. */
TEST_F(module, command)
{
	struct dxt *t = &self->t;
	char text[DXK_COMMAND_MAX];
	pthread_t thread;
	void *right = NULL;
	size_t len;
	int rc;

	ASSERT_EQ(0, dxt_up(t, 0));
	ASSERT_EQ(0, dxk_command_attach(t->member, 1));
	EXPECT_LT(0, dxk_command_schedule(t->ctx, "later", 5, dxt_in(3600 * DXT_SEC), 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, send_command, t));
	do {
		len = sizeof(text);
		rc = dxk_command_next(t->member, 0, NULL, 0, text, &len, -1);
	} while (rc == DXK_COMMAND_TICK);
	EXPECT_EQ(DXK_COMMAND_TEXT, rc);
	STAYS();
	do {
		len = sizeof(text);
		rc = dxk_command_next(t->member, 0, "pong", 4, text, &len, 0);
	} while (rc == DXK_COMMAND_TICK);
	pthread_join(thread, &right);
	EXPECT_NE(NULL, right);
	STAYS();
	dxt_down(t);
	GOES();
}

/* The log goes to a file: the file does not keep the module, nor the module the file. */
TEST_F(module, log_file)
{
	struct dxt *t = &self->t;
	struct stat st;
	int fd;

	fd = open("/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, dxt_up(t, 0));
	EXPECT_EQ(0, dxk_log_file(t->ctx, fd));
	STAYS();
	EXPECT_EQ(0, dxk_log_write(t->member, "x", 1, 0, 0));
	dxt_close(t);
	/* the close waits for nothing, but the module for what is still to be written */
	GOES();
	ASSERT_EQ(0, fstat(fd, &st));
	EXPECT_LT(0, st.st_size);
	EXPECT_EQ(1, write(fd, "y", 1));
	close(fd);
}

/* A context that has another opener only; whoever made it is gone. */
TEST_F(module, joined)
{
	struct dxk_ctx_create create = { .mode = 0600, .name = "dxk-module" };
	struct dxk_policy policy;
	int ctl, first, second;

	ctl = dxk_open();
	first = dxk_ctx_create_as(ctl, &create);
	ASSERT_LE(0, first);
	second = dxk_ctx_join(ctl, "dxk-module", DXK_ACCESS_READ | DXK_ACCESS_CONTROL,
			      0, NULL);
	ASSERT_LE(0, second);
	close(ctl);
	close(first);
	STAYS();
	EXPECT_EQ(0, dxk_policy_get(second, &policy));
	EXPECT_EQ(0, dxk_ctx_start(second));
	STAYS();
	close(second);
	GOES();
}

/*
 * Those who only look on do not keep it: an epoll that watched, a file of sysfs that
 * is open and polled, tracepoints that are on.
 */
TEST_F(module, onlookers)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLPRI };
	int ep = epoll_create1(EPOLL_CLOEXEC), files[3], i;
	static const char *const name[] = {
		"state", "stats/stalls", "policy/max_threads",
	};
	struct dxt *t = &self->t;
	char path[128], c;

	if (!access(EVENTS "/enable", W_OK))
		EXPECT_EQ(0, dxt_write(EVENTS "/enable", "1"));
	ASSERT_EQ(0, dxt_up(t, 1));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, t->member, &e));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, t->ctx, &e));
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/%s", t->id, name[i]);
		files[i] = open(path, O_RDONLY | O_CLOEXEC);
		ASSERT_LE(0, files[i]);
		EXPECT_EQ(1, read(files[i], &c, 1));
		ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, files[i], &e));
	}
	STAYS();
	EXPECT_TRUE(works(t));
	dxt_down(t);
	GOES();
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-1, pread(files[i], &c, 1, 0));
		EXPECT_EQ(ENODEV, errno);
		EXPECT_EQ(0, epoll_ctl(ep, EPOLL_CTL_DEL, files[i], NULL));
		close(files[i]);
	}
	close(ep);
	/* the new one's are off and can be put on */
	EXPECT_FALSE(says(EVENTS "/enable", "1"));
}

/* --- dxk_executors, which uses dxk and is itself in use -------------------- */

static int kernel_up(struct dxt *t, unsigned int workers)
{
	int rc = dxt_open(t);

	t->policy.max_threads = t->policy.kernel_threads = workers;
	return rc ? rc : dxt_start(t);
}

/*
 * A module that uses dxk keeps it. It is itself kept by requests that name its
 * executors until they are collected; what runs goes on.
 */
TEST_F(module, executors)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	int i;

	ASSERT_EQ(0, load_all(true));
	STAYS();
	ASSERT_EQ(0, kernel_up(t, 1));
	/* one runs, one is Ready */
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, post_kernel(t, "sleep", 60 * 1000000));
	EXPECT_TRUE(DXT_UNTIL(t, dxt_num(t, "pools/thread_busy") == 1));
	EXPECT_EQ(-EWOULDBLOCK, unload(EXECUTORS));
	STAYS();
	EXPECT_EQ(1, post_kernel(t, "nop", 0));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, -1));
	/* three results */
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-EWOULDBLOCK, unload(EXECUTORS));
		EXPECT_EQ(1, dxt_rejoin(t->member, OWNER, &r, 1, 1, 0, NULL));
		EXPECT_EQ(-ECANCELED, r.status);
	}
	/* collected: nothing holds it, though the context is there */
	EXPECT_EQ(0, unload_soon(EXECUTORS));
	STAYS();
	EXPECT_EQ(-ENOENT, post_kernel(t, "nop", 0));
	/* never collected, but the context is closed */
	ASSERT_EQ(0, load_all(true));
	EXPECT_EQ(0, dxk_ctx_start(t->ctx));
	ASSERT_EQ(1, post_kernel(t, "nop", 0));
	EXPECT_TRUE(DXT_UNTIL(t, dxt_num(t, "pools/rejoin_use") == 1));
	EXPECT_EQ(-EWOULDBLOCK, unload(EXECUTORS));
	dxt_down(t);
	EXPECT_EQ(0, unload_soon(EXECUTORS));
	GOES();
}

/* Posts in a small burst, collects all, pauses: in the pause nothing holds the module. */
static void *post_on(void *arg)
{
	struct poster *p = arg;
	int member = dxk_member_create(p->t->ctx, DXK_MEMBER_CLIENT, NULL), i, rc;
	struct dxt t = *p->t;
	struct dxk_result r;
	uint32_t answer;

	t.member = member;
	while (!p->stop && !p->error) {
		for (i = 0; i < 8; i++) {
			rc = post_kernel(&t, "nop", 0);
			if (rc == -ENOENT)
				p->missed++;
			else if (rc != 1)
				p->error = rc;
			else
				p->posted++;
		}
		do {
			rc = dxt_rejoin(member, OWNER, &r, 1, 1,
					dxt_late(), &answer);
			p->returned += rc == 1;
			if (rc < 0 || (rc == 1 && r.status))
				p->error = rc < 0 ? rc : r.status;
			if (!rc && answer != RJR_NONE_EXIST)
				p->error = -ETIMEDOUT;
		} while (rc == 1);
		dxt_sleep_ms(5);
	}
	close(member);
	return NULL;
}

/* The executors go and come while they are posted to: each request ends as it should. */
TEST_F(module, executors_under_load)
{
	struct poster p = { .t = &self->t };
	struct dxt *t = &self->t;
	unsigned long before;
	pthread_t thread;
	int i;

	ASSERT_EQ(0, load_all(true));
	ASSERT_EQ(0, kernel_up(t, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, post_on, &p));
	for (i = 0; i < times(5); i++) {
		before = p.posted;
		dxt_tell("%lu requests", before);
		EXPECT_TRUE(DXT_UNTIL(t, p.posted > before));
		EXPECT_EQ(0, unload_soon(EXECUTORS));
		ASSERT_EQ(0, load_all(true));
	}
	p.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, p.error);
	EXPECT_EQ(p.posted, p.returned);
	TH_LOG("%lu requests, %lu found no executor", p.returned, p.missed);
	dxt_down(t);
	EXPECT_EQ(0, unload_soon(EXECUTORS));
}

/* --- again and again -------------------------------------------------------------- */

/* Opens the device and all that comes after it whenever it can. */
static void *open_on(void *arg)
{
	struct poster *p = arg;
	uint64_t begin;
	struct dxt t;
	int rc;

	while (!p->stop) {
		begin = dxt_now();
		rc = dxt_up(&t, 0);
		if (rc == -ENOENT || rc == -ENXIO || rc == -ENODEV) {
			p->missed++;
		} else if (rc) {
			p->error = rc;
		} else {
			p->posted++;
		}
		dxt_close(&t);
		/* longer than it took: now and then nobody has it */
		dxt_sleep_ms(1 + 2 * (unsigned int)((dxt_now() - begin) / DXT_MS));
	}
	return NULL;
}

/* Whoever opens the device while it goes gets it whole or not at all. */
TEST_F(module, open_while_it_goes)
{
	struct poster p[2] = { { .error = 0 } };
	pthread_t thread[2];
	unsigned long before;
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, open_on, &p[i]));
	for (i = 0; i < times(5); i++) {
		int rc;

		before = p[0].posted;
		EXPECT_TRUE(DXT_SOON(p[0].posted != before || p[0].error));
		EXPECT_TRUE(DXT_SOON((rc = unload("dxk")) != -EWOULDBLOCK));
		EXPECT_EQ(0, rc);
		dxt_tell("%d times", i);
		EXPECT_EQ(NULL, left_over()) TH_LOG("%s", left_over());
		ASSERT_EQ(0, load_all(false));
	}
	for (i = 0; i < 2; i++) {
		p[i].stop = true;
		pthread_join(thread[i], NULL);
		EXPECT_EQ(0, p[i].error);
		EXPECT_LT(0, p[i].posted);
	}
	TH_LOG("%lu opened it, %lu did not find it", p[0].posted + p[1].posted,
	       p[0].missed + p[1].missed);
}

/* KiB that the kernel has for itself and does not give back. */
static long kernel_kib(void)
{
	static const char *const what[] = {
		"SUnreclaim:", "VmallocUsed:", "Percpu:", "KernelStack:",
	};
	char line[128];
	long sum = 0, n;
	unsigned int i;
	FILE *f;

	dxt_write("/proc/sys/vm/drop_caches", "2");
	f = fopen("/proc/meminfo", "re");
	while (f && fgets(line, sizeof(line), f))
		for (i = 0; i < sizeof(what) / sizeof(what[0]); i++)
			if (!strncmp(line, what[i], strlen(what[i])) &&
			    sscanf(line + strlen(what[i]), "%ld", &n) == 1)
				sum += n;
	if (f)
		fclose(f);
	return sum;
}

/* A context of both kinds of worker, of which all is used once. */
static int use_once(struct dxt *t)
{
	struct dxk_result r;
	int rc = dxt_open(t), i;

	t->policy.max_threads = 3;
	t->policy.kernel_threads = 1;
	rc = rc ? rc : dxt_start(t);
	rc = rc ? rc : dxt_workers_start(t, 2);
	rc = rc ? rc : post_kernel(t, "echo", 0);
	if (rc != 1)
		return rc < 0 ? rc : -EIO;
	dxt_post1(t->member, OWNER, DXT_NOP, 0, PXR_REJOIN, 0, NULL);
	for (i = 0; i < 2; i++)
		if (dxt_rejoin(t->member, OWNER, &r, 1, 1,
			       dxt_late(), NULL) != 1 || r.status)
			return -EIO;
	/* some that nobody collects, by every second context not even with a Stop */
	for (i = 0; i < 3; i++)
		dxt_post1(t->member, OWNER, DXT_NOP, 0, PXR_REJOIN, 0, NULL);
	return 0;
}

#define WARM_UP	5

TEST_F(module, rounds)
{
	const char *rounds = getenv("DXK_ROUNDS");
	int nr = rounds ? atoi(rounds) : times(2 * WARM_UP);
	uint64_t end = dxt_in(5 * DXT_SEC);
	struct dxt *t = &self->t;
	int i;
	long kib = 0;

	if (dxt_mode() == DXK_DISPATCH_THREAD && !rounds)
		SKIP(return, "the same in both modes");
	for (i = 0; i < nr || (!rounds && dxt_now() < end); i++) {
		if (i == WARM_UP)
			kib = kernel_kib();
		ASSERT_EQ(0, load_all(true));
		ASSERT_EQ(0, use_once(t));
		if (i % 2)
			dxt_down(t);
		else
			dxt_close(t);
		ASSERT_EQ(0, unload_soon(EXECUTORS));
		ASSERT_EQ(0, unload_soon("dxk"));
		dxt_tell("%d times", i);
		if (i % 8 == 7)
			ASSERT_EQ(NULL, left_over()) TH_LOG("%s", left_over());
	}
	/* What the kernel's own caches gain is less than a page for each. */
	if (i > WARM_UP && !dxt_debug_kernel()) {
		kib = kernel_kib() - kib;
		EXPECT_GT(1024 + i / 2, kib);
		TH_LOG("the kernel has %ld KiB more", kib);
	}
	TH_LOG("%d times", i);
}

TEST_HARNESS_MAIN
