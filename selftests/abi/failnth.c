// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every call with its first allocation or copy failing, then with its second, and so
 * on until it gets through (debug kernel: DX-6 and the errors of uapi/dxk.h). The
 * errno is one that the contract has for it, the same call succeeds when it is made
 * again, and afterwards nothing is lost and nothing is left. A call of the module
 * without a case in calls.h fails the first test.
 *
 * Prints for each call how many points it has. A context or a Start is some hundred
 * files in sysfs, each with the same few points: between the first and the last ones
 * each seventh is tried, which meets all kinds. Allocations are the same in both
 * dispatch modes. With DXK_LONG=1 each point is tried, in both modes.
 */
#include "lib/calls/calls.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define NR_MAX	5000	/* points of one call; far more than any has */
#define FIRST	30	/* points at both ends that are tried each */
#define TELL	(3 * DXT_SEC)	/* how often a long call says where it is */

FIXTURE(failnth) {
	struct env e;
};

FIXTURE_SETUP(failnth)
{
	const char *why;

	if (dxt_mode() == DXK_DISPATCH_THREAD && !getenv("DXK_LONG"))
		SKIP(return, "the same in both modes");
	if (!dxt_faults())
		SKIP(return, "this kernel cannot make allocations and copies fail");
	/* it keeps a descriptor */
	dxt_fail_nth(0);
	why = env_up(&self->e);
	ASSERT_EQ(NULL, why) TH_LOG("%s", why);
}

FIXTURE_TEARDOWN(failnth)
{
	if (self->e.dir)
		env_down(&self->e);
}

TEST_F(failnth, each_call_has_a_case)
{
	const char *why = complete(&self->e);

	EXPECT_EQ(NULL, why) TH_LOG("%s", why);
}

static bool is_fault(int rc)
{
	return rc == -EFAULT || rc == -ENOMEM;
}

/*
 * One call with its n-th point failing. @again: should it be refused, make it once
 * more; else look what the refused one left. Returns what is wrong.
 */
static const char *try(struct env *e, const struct row *r, unsigned int n, bool *hit,
		       bool again)
{
	static char text[160];
	int fd = row_fd(e, r), rc, rc_again;
	const char *why = prepare(e, r);
	union arg arg = e->arg;

	if (why)
		return why;
	dxt_fail_nth(n);
	rc = dxt_ioctl(fd, r->cmd, &e->arg);
	*hit = dxt_fail_hit();
	if (rc != r->want && *hit && is_fault(rc) && again) {
		e->arg = arg;
		rc_again = dxt_ioctl(fd, r->cmd, &e->arg);
		if (rc_again != r->want) {
			snprintf(text, sizeof(text), "after %d again: %d", rc, rc_again);
			why = text;
		}
		rc = rc_again;
	} else if (rc != r->want &&
		   !(*hit && (is_fault(rc) || (r->fewer && rc > 0 && rc < r->want)))) {
		snprintf(text, sizeof(text), "answer %d", rc);
		why = text;
	}
	return r->end(e, rc) ?: why;
}

static const char *one(struct env *e, const struct row *r, unsigned int n, bool *hit)
{
	if (r->heavy)
		return try(e, r, n, hit, n % 8 == 0);
	return try(e, r, n, hit, false) ?: try(e, r, n, hit, true);
}

/*
 * n = 1.. until nothing fails; in steps between the first and the last ones. Tells how
 * many there are.
 */
#define EACH_POINT(what, least, step, call) do {				\
	unsigned int _points = 0;						\
	uint64_t _start = dxt_now(), _told = _start;				\
	const char *_why = NULL;						\
	unsigned int _n = 1, _step = 1;						\
	bool _hit = true;							\
										\
	while (_n < NR_MAX && !_why) {						\
		unsigned int n = _n;						\
		bool *hit = &_hit;						\
										\
		if (dxt_now() - _told > TELL) {					\
			_told = dxt_now();					\
			printf("# %s: at point %u\n", what, _n);		\
			fflush(stdout);						\
		}								\
		_hit = false;							\
		_why = (call) ?: level(&self->e);				\
		EXPECT_EQ(NULL, _why) TH_LOG("%s, point %u: %s", what, _n, _why); \
		if (_why)							\
			set_level(&self->e);					\
		if (_hit) {							\
			_points = _n;						\
			if (_n == FIRST)					\
				_step = (step);					\
			_n += _step;						\
		} else if (_step > 1) {						\
			/* stepped over the end: back, and each */		\
			_step = 1;						\
			_n = _n > 2 * FIRST ? _n - FIRST : FIRST + 1;		\
		} else {							\
			break;							\
		}								\
	}									\
	EXPECT_TRUE(_why || !_hit);						\
	EXPECT_LE(least, _points) TH_LOG("%s", what);				\
	printf("# %s: %u points, %u ms\n", what, _points,			\
	       (unsigned int)((dxt_now() - _start) / DXT_MS));			\
	fflush(stdout);								\
} while (0)

TEST_F(failnth, calls)
{
	bool all = getenv("DXK_LONG");
	const struct row *r;

	for (r = rows; r < rows + ROWS; r++)
		/* at least the argument is copied */
		EACH_POINT(r->name, 1, r->heavy && !all ? 7 : 1,
			   one(&self->e, r, n, hit));
}

/* --- what is no ioctl ----------------------------------------------------------- */

/* The operation fails by the fault, or it gives a descriptor or 0. */
#define FAULTY(n, hit, op) ({							\
	int _rc;								\
										\
	dxt_fail_nth(n);							\
	_rc = (int)(op);							\
	_rc = _rc < 0 ? -errno : _rc;						\
	*(hit) = dxt_fail_hit();						\
	_rc;									\
})

static const char *open_device(unsigned int n, bool *hit)
{
	int rc = FAULTY(n, hit, open(DXK_DEVICE, O_RDWR | O_CLOEXEC));

	if (rc >= 0)
		close(rc);
	return rc >= 0 || (*hit && is_fault(rc)) ? NULL : "open";
}

/* Closing never fails, whatever it needs. */
static const char *close_context(struct env *e, unsigned int n, bool *hit)
{
	struct dxk_ctx_create c = { .mode = 0600, .name = NAME "3" };
	int fd = dxk_ctx_create_as(e->t.ctl, &c);

	if (fd < 0)
		return "no context";
	return FAULTY(n, hit, close(fd)) ? "close" : NULL;
}

/*
 * The place of a worker that goes is shown as vacant; should there be no memory for
 * that the next one finds its place all the same.
 */
static const char *close_worker(struct env *e, unsigned int n, bool *hit)
{
	unsigned int id;
	int fd = dxk_member_create(e->t.ctx, DXK_MEMBER_WORKER, &id);

	if (fd < 0 || id != 3)
		return "no worker";
	return FAULTY(n, hit, close(fd)) ? "close" : NULL;
}

static const char *poll_it(int fd, unsigned int n, bool *hit)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int rc = FAULTY(n, hit, poll(&p, 1, 0));

	return rc >= 0 || (*hit && is_fault(rc)) ? NULL : "poll";
}

static const char *map_it(int fd, unsigned int n, bool *hit)
{
	int rc = FAULTY(n, hit, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) ==
				MAP_FAILED ? -1 : 0);

	return rc == -ENODEV || (*hit && is_fault(rc)) ? NULL : "mmap";
}

static const char *dup_it(struct env *e, unsigned int n, bool *hit)
{
	int rc = FAULTY(n, hit, fcntl(e->me, F_DUPFD, 1000));

	if (rc >= 0)
		close(rc);
	/* a table that cannot grow is full */
	return rc >= 0 || (*hit && (is_fault(rc) || rc == -EMFILE)) ? NULL : "dup";
}

/* The child's copies of the descriptors are not the last ones. */
static const char *fork_it(unsigned int n, bool *hit)
{
	pid_t rc;

	dxt_fail_nth(n);
	rc = fork();
	if (!rc)
		_exit(0);
	rc = rc < 0 ? -errno : rc;
	*hit = dxt_fail_hit();
	if (rc > 0 && dxt_reap(rc))
		return "a child";
	return rc > 0 || (*hit && (is_fault(rc) || rc == -EAGAIN)) ? NULL : "fork";
}

/* A policy file that could not be written, and its text not as it was read. */
static const char *store(struct env *e, int fd, unsigned int n, bool *hit)
{
	int rc = FAULTY(n, hit, pwrite(fd, "77\n", 3, 0));
	long long now = dxt_num(&e->other, "policy/boost_value");

	if (rc < 0 ? !*hit || !is_fault(rc) || now != e->other.policy.boost_value :
		     rc != 3 || now != 77)
		return "write";
	return dxk_policy_set(e->other.ctx, &e->other.policy, NULL) ? "set back" : NULL;
}

static const char *show(struct env *e, const char *file, unsigned int n, bool *hit)
{
	char path[100], text[64] = "", again[64] = "";
	int fd, rc;

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/%s", e->other.id, file);
	fd = FAULTY(n, hit, open(path, O_RDONLY | O_CLOEXEC));
	if (fd < 0)
		return *hit && is_fault(fd) ? NULL : "open";
	if (*hit) {
		close(fd);
		return NULL;
	}
	/* opened at its last point: then the points of reading */
	rc = FAULTY(n, hit, pread(fd, text, sizeof(text) - 1, 0));
	if (rc >= 0 && (pread(fd, again, sizeof(again) - 1, 0) != rc ||
			strcmp(text, again)))
		rc = -EPROTO;
	close(fd);
	return rc >= 0 || (*hit && is_fault(rc)) ? NULL : "read";
}

TEST_F(failnth, descriptors)
{
	struct env *e = &self->e;
	char path[100];
	int fd;

	EACH_POINT("open", 1, 1, open_device(n, hit));
	EACH_POINT("close of a context", 0, 1, close_context(e, n, hit));
	EACH_POINT("close of a worker", 0, 1, close_worker(e, n, hit));
	EACH_POINT("poll of a context", 1, 1, poll_it(e->t.ctx, n, hit));
	EACH_POINT("poll of a member", 1, 1, poll_it(e->me, n, hit));
	EACH_POINT("mmap of a context", 0, 1, map_it(e->t.ctx, n, hit));
	EACH_POINT("mmap of the control", 0, 1, map_it(e->t.ctl, n, hit));
	EACH_POINT("dup", 0, 1, dup_it(e, n, hit));
	/* all of them: what is not about descriptors prints complaints of its own */
	ASSERT_TRUE(dxt_faults_within("dup_fd"));
	ASSERT_EQ(900, dup2(e->me, 900));
	EACH_POINT("fork, its descriptors", 2, 1, fork_it(n, hit));
	close(900);
	ASSERT_TRUE(dxt_faults_within(NULL));

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/policy/boost_value", e->other.id);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	set_level(e);
	EACH_POINT("write of a policy file", 1, 1, store(e, fd, n, hit));
	close(fd);
	set_level(e);
	EACH_POINT("read of a policy file", 2, 1, show(e, "policy/boost_value", n, hit));
	EACH_POINT("read of a counter's file", 2, 1, show(e, "stats/posts", n, hit));
}

/* --- threads of the module's ------------------------------------------------------ */

static pid_t kthread(const struct dxt *t, const char *name)
{
	char path[300], comm[32], want[32];
	DIR *dir = opendir("/proc");
	struct dirent *d;
	pid_t pid = 0;
	ssize_t n;
	int fd;

	snprintf(want, sizeof(want), "dxk%u/%s\n", t->id, name);
	while (dir && !pid && (d = readdir(dir))) {
		if (d->d_name[0] < '0' || d->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, comm, sizeof(comm) - 1);
		if (fd >= 0)
			close(fd);
		comm[n > 0 ? n : 0] = 0;
		if (!strcmp(comm, want))
			pid = atoi(d->d_name);
	}
	if (dir)
		closedir(dir);
	return pid;
}

static int thread_fault(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fail-nth", pid);
	return open(path, O_RDWR | O_CLOEXEC);
}

/* Sets the fault of another thread; -1 takes back. True: what was set has happened. */
static bool thread_fail_nth(int fd, int n)
{
	char text[16] = "";
	int len;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		abort();
	len = snprintf(text + 8, 8, "%d", n < 0 ? 0 : n);
	if (pwrite(fd, text + 8, (size_t)len, 0) != len)
		abort();
	return text[0] == '0';
}

/* Does a kernel thread sleep idly, and not for memory or another thread? */
static bool rests(pid_t pid)
{
	char path[64], text[256], *state = NULL;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n > 0) {
		text[n] = 0;
		state = strrchr(text, ')');
	}
	return state && !strncmp(state, ") I", 3);
}

/*
 * The Monitor makes the crew larger by a kernel worker and by an id that is vacant:
 * what fails it tells in the log and makes up for at its next turn.
 */
static const char *grow(struct env *e, int fd, unsigned int n, bool *hit)
{
	pid_t monitor = kthread(&e->t, "monitor");
	struct dxk_policy p = e->t.policy;
	bool grown;

	p.max_threads = 5;
	p.kernel_threads = 2;
	thread_fail_nth(fd, (int)n);
	if (dxk_policy_set(e->t.ctx, &p, NULL))
		return "POLICY_SET";
	if (!DXT_UNTIL(&e->t, dxt_num(&e->t, "policy/max_threads") == 5))
		return "the review";
	/* the turn is over when the Monitor rests */
	if (!DXT_SOON(rests(monitor)))
		return "the Monitor's rest";
	*hit = thread_fail_nth(fd, -1);
	grown = dxt_num(&e->t, "pools/thread_use") == 3;
	if (!grown && !*hit)
		return "no second kernel worker";
	/* asked again it does what is left */
	if (dxk_policy_set(e->t.ctx, &p, NULL) ||
	    !DXT_UNTIL(&e->t, dxt_num(&e->t, "pools/thread_use") == 3 &&
			      dxt_exists(&e->t, "threads/5")))
		return "the crew is not complete";
	if (dxk_policy_set(e->t.ctx, &e->t.policy, NULL) ||
	    !DXT_UNTIL(&e->t, dxt_num(&e->t, "pools/thread_use") == 2 &&
			      !dxt_exists(&e->t, "threads/5")))
		return "the crew does not shrink";
	return NULL;
}

/* A kernel worker opens its own file of a handle and hashes: its memory fails. */
static const char *hash(struct env *e, int fd, uint64_t sha256, unsigned int n, bool *hit)
{
	struct dxk_sha256_range range = { .length = ~0ULL };
	uint64_t handle;
	struct dxk_post_entry entry = dxt_entry(OWNER, sha256, 0, PXR_KERNEL | PXR_REJOIN);
	unsigned char digest[2][32];
	struct dxk_result r;
	const char *why = NULL;
	int i;

	if (dxk_handle_open(e->t.ctx, e->file, &handle))
		return "no handle";
	range.handle = handle;
	entry.data = DXT_PTR(&range);
	entry.data_len = sizeof(range);
	entry.result_len = 32;
	for (i = 0; i < 2 && !why; i++) {
		thread_fail_nth(fd, i ? 0 : (int)n);
		if (dxk_post(e->me, &entry, 1, 0, NULL) != 1 ||
		    dxk_rejoin(e->me, OWNER, &r, 1, 1, digest[i], 32,
			       (int64_t)dxt_stall_ns(), NULL) != 1)
			why = "a request";
		else if (!i)
			*hit = thread_fail_nth(fd, -1);
		if (!why && r.status && !(r.status == -ENOMEM && !i && *hit))
			why = "a status";
	}
	if (!why && dxt_num(&e->t, "pools/handle_use") != 2)
		why = "entries of the Handle Table";
	/* the own file goes with the handle */
	if (dxk_handle_close(e->t.ctx, handle))
		why = "the handle";
	return why;
}

TEST_F(failnth, threads)
{
	struct env *e = &self->e;
	pid_t monitor = kthread(&e->t, "monitor"), worker = kthread(&e->t, "1");
	uint64_t sha256;
	int fd;

	ASSERT_LT(0, monitor);
	ASSERT_LT(0, worker);
	fd = thread_fault(monitor);
	ASSERT_LE(0, fd);
	set_level(e);
	EACH_POINT("the Monitor's review", 20, 1, grow(e, fd, n, hit));
	close(fd);
	fd = thread_fault(worker);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, dxk_executor_find(e->t.ctl, "sha256", &sha256));
	EACH_POINT("sha256 of a handle", 3, 1, hash(e, fd, sha256, n, hit));
	close(fd);
}

TEST_HARNESS_MAIN
