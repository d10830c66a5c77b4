// SPDX-License-Identifier: GPL-2.0-only
/* See dxk_test.h. */
#define DXT_NO_HARNESS
#include "dxk_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The tests of each file. */
struct __fixture_metadata *dxt_lists[8];

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

/* --- time ------------------------------------------------------------------ */

uint64_t dxt_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * DXT_SEC + (uint64_t)ts.tv_nsec;
}

uint64_t dxt_in(int64_t ns)
{
	return dxt_now() + (uint64_t)ns;
}

void dxt_sleep_ms(unsigned int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

bool dxt_debug_kernel(void)
{
	return !access("/proc/lockdep_stats", F_OK);
}

uint64_t dxt_stall_ns(void)
{
	return (dxt_debug_kernel() ? 10 : 2) * DXT_SEC;
}

/* --- sysfs ----------------------------------------------------------------- */

static bool read_text(unsigned int id, const char *path, char *text, size_t room)
{
	char name[256];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/sys/kernel/dxk/%u/%s", id, path);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, room - 1);
	close(fd);
	if (n < 0)
		return false;
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return true;
}

static long long read_num(unsigned int id, const char *path)
{
	char text[64], *end;
	long long value;

	if (!read_text(id, path, text, sizeof(text)))
		return -1;
	value = strtoll(text, &end, 10);
	return end == text || *end ? -1 : value;
}

long long dxt_num(const struct dxt *t, const char *path, ...)
{
	char name[128];
	va_list ap;

	va_start(ap, path);
	vsnprintf(name, sizeof(name), path, ap);
	va_end(ap);
	return read_num(t->id, name);
}

bool dxt_text(const struct dxt *t, char *text, size_t room, const char *path, ...)
{
	char name[128];
	va_list ap;

	va_start(ap, path);
	vsnprintf(name, sizeof(name), path, ap);
	va_end(ap);
	return read_text(t->id, name, text, room);
}

int dxt_store(const struct dxt *t, const char *path, const char *value)
{
	char name[256];
	int fd, rc;

	snprintf(name, sizeof(name), "/sys/kernel/dxk/%u/%s", t->id, path);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

bool dxt_exists(const struct dxt *t, const char *path)
{
	char name[256];

	snprintf(name, sizeof(name), "/sys/kernel/dxk/%u/%s", t->id, path);
	return !access(name, F_OK);
}

uint64_t dxt_progress(const struct dxt *t)
{
	static const char *const moves[] = {
		"stats/posts", "stats/dispatches", "stats/completions",
		"stats/collected", "stats/cancelled",
	};
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(moves); i++)
		sum += (uint64_t)read_num(t->id, moves[i]);
	return sum;
}

/* Not the Log Pool and no times: they change by themselves. */
static const char *const snapshot_paths[] = {
	"owners",
	"pools/thread_use", "pools/thread_busy", "pools/ready_use",
	"pools/rejoin_use", "pools/handle_use", "pools/ready_high_water",
	"pools/rejoin_high_water",
	"lanes/ready_lane0_in_use", "lanes/ready_lane1_in_use",
	"lanes/ready_lane2_in_use", "lanes/ready_lane3_in_use",
	"lanes/ready_lane0_waiters", "lanes/ready_lane1_waiters",
	"lanes/ready_lane2_waiters", "lanes/ready_lane3_waiters",
	"stats/posts", "stats/post_busy", "stats/dispatches", "stats/completions",
	"stats/vanished", "stats/cancelled", "stats/put_back", "stats/owner_dead",
	"stats/stale", "stats/rejoin_returned", "stats/rejoin_none_ready",
	"stats/rejoin_none_exist", "stats/collected", "stats/self_poll",
	"stats/rejoin_overflow", "stats/post_blocks", "stats/rejoin_blocks",
	"stats/complete_blocks", "stats/missed_wakeups",
};

_Static_assert(ARRAY_LEN(snapshot_paths) <=
	       ARRAY_LEN(((struct dxt_snapshot *)0)->value), "more values than room");

/*
 * The files stay open from one snapshot to the next: on the debug kernel opening
 * them takes far longer than reading. One whose context is gone cannot be read.
 */
void dxt_snapshot(const struct dxt *t, struct dxt_snapshot *s)
{
	static int fd[ARRAY_LEN(snapshot_paths)];
	static unsigned int of_id = -1U;
	unsigned int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < ARRAY_LEN(snapshot_paths); i++) {
		char text[64] = "", name[256];
		ssize_t n = -1;

		if (of_id == t->id)
			n = pread(fd[i], text, sizeof(text) - 1, 0);
		if (n <= 0) {
			if (fd[i] > 0)
				close(fd[i]);
			snprintf(name, sizeof(name), "/sys/kernel/dxk/%u/%s", t->id,
				 snapshot_paths[i]);
			fd[i] = open(name, O_RDONLY | O_CLOEXEC);
			n = pread(fd[i], text, sizeof(text) - 1, 0);
		}
		s->value[i] = n > 0 ? strtoll(text, NULL, 10) : -1;
	}
	of_id = t->id;
}

const char *dxt_differs(const struct dxt_snapshot *a, const struct dxt_snapshot *b)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(snapshot_paths); i++)
		/* a value that cannot be read shows nothing */
		if (a->value[i] < 0 || a->value[i] != b->value[i])
			return snapshot_paths[i];
	return NULL;
}

bool dxt_wait_more(const struct dxt *t, struct dxt_wait *w)
{
	uint64_t now = dxt_now(), progress = dxt_progress(t);

	if (!w->since || progress != w->progress) {
		w->progress = progress;
		w->since = now;
	} else if (now - w->since > dxt_stall_ns()) {
		return false;
	}
	/* Most conditions come true at once; the others must not cost the CPU. */
	if (w->polls++ < 10)
		sched_yield();
	else
		dxt_sleep_ms(1);
	return true;
}

/* --- raw calls ------------------------------------------------------------- */

void dxt_poison(void *p, size_t n)
{
	memset(p, DXT_POISON, n);
}

bool dxt_poisoned(const void *p, size_t n)
{
	const unsigned char *c = p;

	while (n--)
		if (*c++ != DXT_POISON)
			return false;
	return true;
}

int dxt_ioctl(int fd, unsigned long cmd, void *arg)
{
	int rc = ioctl(fd, cmd, arg);

	return rc < 0 ? -errno : rc;
}

struct dxk_post_entry dxt_entry(uint64_t owner, uint64_t exec, uint64_t param,
				uint32_t attrs)
{
	return (struct dxk_post_entry){
		.owner = owner,
		.executor = exec,
		.param = param,
		.attrs = attrs,
	};
}

int dxt_post(int member, const struct dxk_post_entry *entries, unsigned int nr,
	     uint64_t deadline, struct dxk_post *post)
{
	*post = (struct dxk_post){
		.size = sizeof(*post),
		.deadline = deadline,
		.entries = DXT_PTR(entries),
		.nr = nr,
		.entry_size = sizeof(*entries),
		.index = DXT_POISON32,
		.reason = DXT_POISON32,
	};
	return dxt_ioctl(member, DXK_IOC_POST, post);
}

int dxt_post1(int member, uint64_t owner, uint64_t exec, uint64_t param,
	      uint32_t attrs, uint64_t deadline, uint32_t *reason)
{
	struct dxk_post_entry entry = dxt_entry(owner, exec, param, attrs);
	struct dxk_post post;
	int rc = dxt_post(member, &entry, 1, deadline, &post);

	if (reason)
		*reason = post.reason;
	return rc;
}

int dxt_rejoin(int member, uint64_t owner, struct dxk_result *results,
	       unsigned int nr, unsigned int min, uint64_t deadline,
	       uint32_t *answer)
{
	struct dxk_rejoin rejoin = {
		.size = sizeof(rejoin),
		.owner = owner,
		.deadline = deadline,
		.results = DXT_PTR(results),
		.nr = nr,
		.result_size = sizeof(*results),
		.min = min,
		.answer = DXT_POISON32,
	};
	int rc;

	dxt_poison(results, nr * sizeof(*results));
	rc = dxt_ioctl(member, DXK_IOC_REJOIN, &rejoin);
	if (answer)
		*answer = rejoin.answer;
	return rc;
}

int dxt_drain(const struct dxt *t, int member, uint64_t owner)
{
	struct dxk_result results[16];
	struct dxt_wait wait = { 0 };
	uint32_t answer = 0;
	int got = 0, rc;

	for (;;) {
		rc = dxt_rejoin(member, owner, results, ARRAY_LEN(results), 1, 0,
				&answer);
		if (rc < 0)
			return rc;
		got += rc;
		if (!rc && answer == RJR_NONE_EXIST)
			return got;
		if (!rc && !dxt_wait_more(t, &wait))
			return -ETIME;
	}
}

/* --- gates ----------------------------------------------------------------- */

void *dxt_shared(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

struct dxt_gate *dxt_gate_new(void)
{
	return dxt_shared(sizeof(struct dxt_gate));
}

void dxt_gate_free(struct dxt_gate *g)
{
	munmap(g, sizeof(*g));
}

void dxt_gate_open(struct dxt_gate *g)
{
	g->open = 1;
	syscall(SYS_futex, &g->open, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

void dxt_gate_close(struct dxt_gate *g)
{
	g->open = 0;
}

void dxt_gate_pass(struct dxt_gate *g, unsigned int worker)
{
	g->last = worker;
	g->entered++;
	while (!g->open)
		syscall(SYS_futex, &g->open, FUTEX_WAIT, 0, NULL, NULL, 0);
	g->left++;
}

/* --- executors ------------------------------------------------------------- */

int dxt_exe_nop(struct dxt_call *call)
{
	(void)call;
	return 0;
}

int dxt_exe_param(struct dxt_call *call)
{
	return (int)call->work.param;
}

int dxt_exe_echo(struct dxt_call *call)
{
	uint32_t room = call->work.result_len;

	call->result_len = call->work.data_len < room ? call->work.data_len : room;
	return 0;
}

int dxt_exe_gate(struct dxt_call *call)
{
	dxt_gate_pass((void *)(uintptr_t)call->work.param, call->worker->id);
	return 0;
}

int dxt_exe_count(struct dxt_call *call)
{
	++*(_Atomic unsigned int *)(uintptr_t)call->work.param;
	return 0;
}

/* --- faults ---------------------------------------------------------------- */

int dxt_write(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = write(fd, value, strlen(value)) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

#define FAIL_NTH	"/proc/thread-self/fail-nth"

static const char *const fault_kinds[] = {
	"failslab", "fail_page_alloc", "fail_usercopy",
};

static bool fault_filter(const char *file, unsigned long value)
{
	char path[100], text[32];
	unsigned int i;

	snprintf(text, sizeof(text), "%lu", value);
	for (i = 0; i < ARRAY_LEN(fault_kinds); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", fault_kinds[i],
			 file);
		if (dxt_write(path, text))
			return false;
	}
	return true;
}

/* Where a function of the kernel is. Its own symbols are in the order of addresses. */
static bool kernel_symbol(const char *name, unsigned long *start, unsigned long *end)
{
	char line[200], symbol[100];
	bool found = false;
	unsigned long at;
	FILE *f;

	f = fopen("/proc/kallsyms", "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %*c %99s", &at, symbol) != 2)
			continue;
		if (found && at > *start) {
			*end = at;
			break;
		}
		if (!strcmp(symbol, name)) {
			*start = at;
			found = true;
		}
	}
	if (f)
		fclose(f);
	return found;
}

bool dxt_faults(void)
{
	static const char *const files[][2] = {
		/* without these GFP_KERNEL would never fail */
		{ "/sys/kernel/debug/failslab/ignore-gfp-wait", "N" },
		{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N" },
		{ "/sys/kernel/debug/fail_page_alloc/min-order", "0" },
		/* each fault would print a stack */
		{ "/sys/kernel/debug/failslab/verbose", "0" },
		{ "/sys/kernel/debug/fail_page_alloc/verbose", "0" },
		{ "/sys/kernel/debug/fail_usercopy/verbose", "0" },
	};
	unsigned long start, end;
	unsigned int i;

	if (access(FAIL_NTH, W_OK))
		return false;
	/* The leak detector's own memory is no point of the call. */
	if (!dxt_write("/sys/kernel/debug/kmemleak", "scan=off") &&
	    (!kernel_symbol("__alloc_object", &start, &end) ||
	     !fault_filter("reject-end", end) || !fault_filter("reject-start", start) ||
	     !fault_filter("stacktrace-depth", 32)))
		return false;
	for (i = 0; i < ARRAY_LEN(files); i++)
		if (dxt_write(files[i][0], files[i][1]))
			return false;
	return true;
}

bool dxt_faults_within(const char *function)
{
	unsigned long start = 0, end = ~0UL;

	return (!function || kernel_symbol(function, &start, &end)) &&
	       fault_filter("require-start", start) && fault_filter("require-end", end) &&
	       fault_filter("stacktrace-depth", 32);
}

/* Open before the fault is set: opening it could fail by it. */
static _Thread_local int fail_nth_fd = -1;

static void fail_nth_set(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);
	unsigned int i;

	if (fail_nth_fd < 0)
		fail_nth_fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	/* The write, too, copies from user space: a fault that is set may hit it. */
	for (i = 0; i < 3; i++)
		if (pwrite(fail_nth_fd, text, (size_t)len, 0) == len)
			return;
	abort();
}

void dxt_fail_nth(unsigned int n)
{
	fail_nth_set(n);
}

bool dxt_fail_hit(void)
{
	char text[16] = "";
	bool hit = false;

	/* A fault that hits this read did not hit the call. */
	if (pread(fail_nth_fd, text, sizeof(text) - 1, 0) > 0)
		hit = text[0] == '0';
	fail_nth_set(0);
	return hit;
}

int dxt_kthreads(const struct dxt *t)
{
	char prefix[32] = "dxk", path[300], comm[32];
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int nr = 0, fd;
	ssize_t n;

	if (t)
		snprintf(prefix, sizeof(prefix), "dxk%u/", t->id);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/exe", e->d_name);
		if (readlink(path, comm, sizeof(comm)) >= 0)
			continue;	/* a process */
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, comm, sizeof(comm) - 1);
		if (fd >= 0)
			close(fd);
		if (n <= 0)
			continue;
		comm[n] = 0;
		nr += !strncmp(comm, prefix, strlen(prefix));
	}
	if (dir)
		closedir(dir);
	return nr;
}

/* --- the kernel's log -------------------------------------------------------- */

#define LOG_CLEAR	5	/* syslog(2) */
#define LOG_CONSOLE_OFF	6
#define LOG_CONSOLE_ON	7

int dxt_log_hold(void)
{
	int fd = open("/dev/kmsg", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	lseek(fd, 0, SEEK_END);
	klogctl(LOG_CONSOLE_OFF, NULL, 0);
	return fd;
}

void dxt_log_release(int fd, const char *expected)
{
	static char keep[1 << 17];
	char line[2048], *text, *end;
	size_t used = 0, at, len;
	bool trace = false;
	ssize_t n;

	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		if (n <= 0)
			continue;
		line[n] = 0;
		end = strchr(line, '\n');
		if (end)
			*end = 0;
		text = strchr(line, ';');
		text = text ? text + 1 : line;
		trace |= !!strstr(text, expected);
		len = strlen(text) + 1;
		if (!trace && used + len <= sizeof(keep)) {
			memcpy(keep + used, text, len);
			used += len;
		}
		trace &= !strstr(text, "</TASK>");
	}
	klogctl(LOG_CLEAR, NULL, 0);
	klogctl(LOG_CONSOLE_ON, NULL, 0);
	for (at = 0; at < used; at += strlen(keep + at) + 1)
		if (write(fd, keep + at, strlen(keep + at)) < 0)
			break;
	close(fd);
}

/* --- workers --------------------------------------------------------------- */

/* Only interrupts the sleep of a worker that is to leave. */
static void nudged(int sig)
{
	(void)sig;
}

int dxt_worker_loop(struct dxt_worker *w)
{
	unsigned char data[4096];
	struct dxt_call call = { .worker = w, .data = data };
	struct dxk_done done = { 0 };
	unsigned int id = 0, taken;
	bool has_done = false;
	int fd, rc = 0;

	w->tid = (int)syscall(SYS_gettid);
	fd = dxk_member_create(w->ctx, w->spare ? DXK_MEMBER_SPARE : DXK_MEMBER_WORKER,
			       &id);
	w->id = id;
	w->member = fd;
	w->ready = 1;
	if (fd < 0)
		return fd;

	for (;;) {
		/*
		 * A completion is always brought home. The sleep has no end, so
		 * that a wake-up that the module loses shows as a hang.
		 */
		bool fetch = !w->leave;

		if (!fetch && !has_done)
			break;
		rc = dxk_next(fd, has_done ? &done : NULL, has_done, &taken,
			      fetch ? &call.work : NULL, fetch, fetch ? data : NULL,
			      fetch ? sizeof(data) : 0, -1);
		if (rc >= 0 && taken)
			has_done = false;
		if (rc == -EINTR)
			rc = 0;
		if (rc < 0)
			break;
		if (!rc)
			continue;
		call.result_len = 0;
		done.status = ((dxt_exec_t)(uintptr_t)call.work.executor)(&call);
		done.ticket = call.work.ticket;
		done.data = DXT_PTR(data);
		done.data_len = call.result_len;
		has_done = true;
		w->executed++;
	}
	close(fd);
	return rc;
}

static void *worker_thread(void *arg)
{
	struct dxt_worker *w = arg;

	w->error = dxt_worker_loop(w);
	return NULL;
}

static struct dxt_worker *worker_spawn(struct dxt *t)
{
	static const struct sigaction nudge = { .sa_handler = nudged };
	struct dxt_worker *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	sigaction(DXT_NUDGE, &nudge, NULL);
	w->t = t;
	w->ctx = t->ctx;
	if (pthread_create(&w->thread, NULL, worker_thread, w)) {
		free(w);
		return NULL;
	}
	while (!w->ready)
		dxt_sleep_ms(1);
	return w;
}

struct dxt_worker *dxt_worker_start(struct dxt *t)
{
	struct dxt_worker *w = worker_spawn(t);

	if (w) {
		w->next = t->workers;
		t->workers = w;
	}
	return w;
}

int dxt_workers_start(struct dxt *t, unsigned int nr)
{
	while (nr--) {
		struct dxt_worker *w = dxt_worker_start(t);

		if (!w)
			return -EAGAIN;
		if (w->member < 0)
			return w->member;
	}
	return 0;
}

int dxt_worker_end(struct dxt_worker *w)
{
	struct dxt_worker **at;
	int error;

	w->leave = 1;
	/* Again and again: one that comes just before the sleep does not end it. */
	while (pthread_tryjoin_np(w->thread, NULL) == EBUSY) {
		pthread_kill(w->thread, DXT_NUDGE);
		dxt_sleep_ms(1);
	}
	for (at = &w->t->workers; *at; at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			break;
		}
	error = w->error;
	free(w);
	return error;
}

int dxt_worker_ended(struct dxt_worker *w)
{
	uint64_t end = dxt_in(5 * (int64_t)dxt_stall_ns());

	while (!w->error && dxt_now() < end)
		dxt_sleep_ms(1);
	return dxt_worker_end(w);
}

pid_t dxt_worker_process(struct dxt *t, unsigned int nr)
{
	char ok = 0;
	int pipe_fd[2];
	pid_t pid;

	if (pipe2(pipe_fd, O_CLOEXEC))
		return -errno;
	pid = dxt_fork();
	if (!pid) {
		close(pipe_fd[0]);
		if (t->member >= 0)
			close(t->member);
		t->workers = NULL;
		if (dxt_workers_start(t, nr))
			_exit(1);
		if (write(pipe_fd[1], "1", 1) != 1)
			_exit(1);
		while (t->workers) {
			struct dxt_worker *w = t->workers;

			pthread_join(w->thread, NULL);
			t->workers = w->next;
			free(w);
		}
		_exit(0);
	}
	close(pipe_fd[1]);
	if (pid > 0 && read(pipe_fd[0], &ok, 1) != 1) {
		dxt_reap(pid);
		pid = -ECHILD;
	}
	close(pipe_fd[0]);
	return pid;
}

pid_t dxt_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

int dxt_reap(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

bool dxt_member_is(const struct dxt *t, unsigned int id, const char *state)
{
	char text[32];

	return dxt_text(t, text, sizeof(text), "threads/%u/state", id) &&
	       !strcmp(text, state);
}

/* --- a context ------------------------------------------------------------- */

unsigned int dxt_mode(void)
{
	const char *mode = getenv("DXK_DISPATCH");

	return mode && !strcmp(mode, "thread") ? DXK_DISPATCH_THREAD :
						 DXK_DISPATCH_DIRECT;
}

int dxt_open(struct dxt *t)
{
	int rc;

	*t = (struct dxt){ .ctl = -1, .ctx = -1, .member = -1 };
	t->ctl = dxk_open();
	if (t->ctl < 0)
		return t->ctl;
	t->ctx = dxk_ctx_create(t->ctl, &t->id);
	if (t->ctx < 0)
		return t->ctx;
	rc = dxk_policy_get(t->ctx, &t->policy);
	t->policy.dispatch = dxt_mode();
	t->policy.max_threads = 4;
	t->policy.kernel_threads = 0;
	return rc;
}

int dxt_start(struct dxt *t)
{
	unsigned int bad;
	int rc = dxk_policy_set(t->ctx, &t->policy, &bad);

	if (rc < 0) {
		fprintf(stderr, "# policy field %s: %s\n",
			dxk_policy_field_name(bad) ?: "?", strerror(-rc));
		return rc;
	}
	rc = dxk_ctx_start(t->ctx);
	if (rc < 0)
		return rc;
	if (t->member < 0)
		t->member = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT,
					      &t->member_id);
	return t->member < 0 ? t->member : 0;
}

int dxt_up(struct dxt *t, unsigned int nr)
{
	int rc = dxt_open(t);

	if (rc < 0)
		return rc;
	if (nr)
		t->policy.max_threads = nr;
	rc = dxt_start(t);
	return rc < 0 ? rc : dxt_workers_start(t, nr);
}

void dxt_close(struct dxt *t)
{
	while (t->workers)
		dxt_worker_end(t->workers);
	if (t->member >= 0)
		close(t->member);
	if (t->ctx >= 0)
		close(t->ctx);
	if (t->ctl >= 0)
		close(t->ctl);
	t->member = t->ctx = t->ctl = -1;
}

void dxt_down(struct dxt *t)
{
	if (t->ctx >= 0)
		dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, DXT_SEC);
	dxt_close(t);
}
