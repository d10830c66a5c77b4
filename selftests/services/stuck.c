// SPDX-License-Identifier: GPL-2.0-only
/*
 * A log file, a reader's memory or a posted file in a file system that does not answer:
 * only the log, the reader and the file wait for it. Whoever stops, starts, joins, leaves,
 * collects or is killed does not.
 */
#include "lib/fuse.h"
#include "lib/log.h"
#include "runtime/join.h"

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

FIXTURE(stuck) {
	struct dxt t;
	struct fusefs *fs;
};

FIXTURE_SETUP(stuck)
{
	self->fs = fuse_up(false);
	if (!self->fs)
		SKIP(return, "this kernel has no FUSE");
}

FIXTURE_TEARDOWN(stuck)
{
	/* First: what still hangs ends with it. */
	if (self->fs)
		fuse_down(self->fs);
	if (self->t.ctx > 0)
		dxt_down(&self->t);
}

/* A child in @call, which tells when it begins; it does not outlive the test. */
#define CHILD(_begun, _call) ({						\
	pid_t _pid;							\
									\
	*(_begun) = 0;							\
	_pid = dxt_fork();						\
	if (!_pid) {							\
		_call;							\
		_exit(0);						\
	}								\
	_pid;								\
})

/* kill -9 ends it, whatever hangs. */
static bool can_be_killed(pid_t pid)
{
	kill(pid, SIGKILL);
	if (!DXT_SOON(dxt_gone(pid)))
		return false;
	dxt_reap(pid);
	return true;
}

/* A context of its own starts, runs and ends. */
static void other_context(struct __test_metadata *_metadata)
{
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	dxt_down(&t);
}

/* A client of the context that sleeps for a result that does not come. */
static void be_client(struct dxt *t, _Atomic unsigned int *begun)
{
	struct dxk_result r;
	int member = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL);

	if (member < 0)
		_exit(1);
	*begun = 1;
	for (;;) {
		dxt_rejoin(member, 77, &r, 1, 1, DXK_FOREVER, NULL);
		pause();
	}
}

/* The context writes to the file that hangs, and does. */
#define LOG_HANGS()	do {						\
	int _fd = open_log(FUSE_FILE);					\
									\
	ASSERT_LE(0, _fd);						\
	ASSERT_EQ(0, dxt_open(&self->t));				\
	self->t.policy.log_entries = 16;				\
	self->t.policy.log_full = DXK_LOG_DROP_NEW;			\
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, _fd));			\
	close(_fd);							\
	self->fs->hang = FUSE_WRITE;					\
	ASSERT_EQ(0, dxt_start(&self->t));				\
	ASSERT_TRUE(DXT_SOON(self->fs->hung == 1));			\
} while (0)

/* The log file hangs: Stop, Start, close of a member and another context do not wait. */
TEST_F(stuck, write)
{
	_Atomic unsigned int *begun = dxt_shared(sizeof(*begun));
	unsigned int i;
	pid_t victim;

	LOG_HANGS();
	victim = CHILD(begun, be_client(&self->t, begun));
	ASSERT_TRUE(DXT_SOON(*begun));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, 100 * DXT_MS));
	EXPECT_LT(0, dxt_num(&self->t, "pools/log_unwritten"));
	EXPECT_TRUE(can_be_killed(victim));
	other_context(_metadata);
	/* it goes on without its log, which is full some time */
	self->t.policy.log_entries = 8;
	ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
	ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
	for (i = 0; i < 20; i++)
		EXPECT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	EXPECT_LT(0, dxt_num(&self->t, "pools/log_lost"));
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, 0));
	EXPECT_EQ(1, self->fs->hung);
	munmap((void *)begun, sizeof(*begun));
}

static void call_file(struct puppet *p)
{
	p->ret = dxk_log_file(p->t->ctx, -1);
}

static void set_no_file(struct dxt *t, _Atomic unsigned int *begun)
{
	*begun = 1;
	dxk_log_file(t->ctx, -1);
}

static void write_sync(struct dxt *t, _Atomic unsigned int *begun)
{
	int member = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL);

	*begun = 1;
	say(member, 0, 0, "message");
}

/* Who waits for the file by a call of its own can be interrupted, or killed at least. */
TEST_F(stuck, callers)
{
	_Atomic unsigned int *begun = dxt_shared(sizeof(*begun));
	struct puppet *p;
	pid_t pid[3];
	unsigned int i;

	LOG_HANGS();
	puppet_signals(false);
	p = puppet_new(&self->t, DXK_MEMBER_CLIENT);
	ASSERT_NE(NULL, p);
	pthread_mutex_lock(&p->lock);
	p->ret = -EINPROGRESS;
	p->call = call_file;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
	EXPECT_TRUE(DXT_SOON(({
		puppet_signal(p);
		!puppet_busy(p);
	})));
	EXPECT_EQ(-EINTR, puppet_end(p));
	puppet_free(p);
	/* the file is still there */
	EXPECT_EQ(-EBUSY, read_log(&self->t, &(struct dxk_log_record){ 0 }, 1, 0));

	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, 0));
	for (i = 0; i < 3; i++) {
		pid[i] = i ? CHILD(begun, write_sync(&self->t, begun)) :
			     CHILD(begun, set_no_file(&self->t, begun));
		ASSERT_TRUE(DXT_SOON(*begun));
	}
	for (i = 0; i < 3; i++) {
		EXPECT_FALSE(dxt_gone(pid[i]));
		EXPECT_TRUE(can_be_killed(pid[i]));
	}
	munmap((void *)begun, sizeof(*begun));
}

/* DX-3: who is killed while the item writes for him leaves it alone, and others wait on. */
TEST_F(stuck, synchronous)
{
	_Atomic unsigned int *begun = dxt_shared(sizeof(*begun));
	int fd, rc;
	pid_t pid;

	fd = open_log(FUSE_FILE);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, dxt_open(&self->t));
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	self->fs->hang = FUSE_WRITE;
	pid = CHILD(begun, write_sync(&self->t, begun));
	ASSERT_TRUE(DXT_SOON(self->fs->hung == 1));
	EXPECT_FALSE(dxt_gone(pid));
	EXPECT_TRUE(can_be_killed(pid));
	other_context(_metadata);
	/* the file system dies: what hung fails, and so does what comes */
	kill(self->fs->pid, SIGKILL);
	self->t.member = dxk_member_create(self->t.ctx, DXK_MEMBER_CLIENT, NULL);
	rc = say(self->t.member, 0, 0, "message");
	EXPECT_TRUE(rc == -ECONNABORTED || rc == -ENOTCONN) TH_LOG("%d", rc);
	munmap((void *)begun, sizeof(*begun));
}

static void read_there(struct dxt *t, struct dxk_log_record *r)
{
	read_log(t, r, 1, DXK_FOREVER);
}

static void read_meanwhile(struct dxt *t, uint64_t deadline)
{
	_exit(read_log(t, &(struct dxk_log_record){ 0 }, 1, deadline) != 0);
}

/* LOG_READ into a page that never comes: nobody waits, but until a deadline of its own. */
TEST_F(stuck, page)
{
	_Atomic unsigned int *begun = dxt_shared(sizeof(*begun));
	struct dxk_log_record *page;
	pid_t reader, victim, second;
	unsigned int i;
	int fd, log;

	self->fs->size = 4096;
	fd = open(FUSE_FILE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)page);
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.log_entries = 16;
	ASSERT_EQ(0, dxt_start(&self->t));
	victim = CHILD(begun, be_client(&self->t, begun));
	ASSERT_TRUE(DXT_SOON(*begun));
	self->fs->hang = FUSE_READ;
	reader = CHILD(begun, read_there(&self->t, page));
	ASSERT_TRUE(DXT_SOON(self->fs->hung));
	for (i = 0; i < 2; i++) {
		second = CHILD(begun, read_meanwhile(&self->t, i ? dxt_in(20 * DXT_MS) : 0));
		EXPECT_TRUE(DXT_SOON(dxt_gone(second)));
		kill(second, SIGKILL);
		EXPECT_EQ(0, dxt_reap(second));
	}
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, -1));
	self->t.policy.log_entries = 64;
	ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
	ASSERT_EQ(0, dxk_ctx_start(self->t.ctx));
	EXPECT_TRUE(can_be_killed(victim));
	other_context(_metadata);
	EXPECT_FALSE(dxt_gone(reader));
	EXPECT_TRUE(can_be_killed(reader));
	/* what it had was not read: "started" twice, "stopped", and then the file has it */
	log = open_log("/tmp/dxk-stuck-log");
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, log));
	close(log);
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, -1));
	EXPECT_EQ(4, content_of("/tmp/dxk-stuck-log").seq);
	EXPECT_EQ(0, content_of("/tmp/dxk-stuck-log").disorder);
	unlink("/tmp/dxk-stuck-log");
	munmap(page, 4096);
	close(fd);
	munmap((void *)begun, sizeof(*begun));
}

/*
 * The last reference to a posted file is dropped by nobody who calls: not by Stop, which
 * cancels the request, nor by who collects it.
 */
TEST_F(stuck, release)
{
	struct dxk_post_entry e = dxt_entry(1, DXT_NOP, 0, PXR_REJOIN | PXR_FD);
	struct dxk_result result;
	struct dxk_post post;
	struct pollfd reader = { .events = POLLIN };
	int fd, other, end[2];
	struct dxt t;

	/* where a release writes what was cached */
	fuse_down(self->fs);
	self->fs = fuse_up(true);
	ASSERT_NE(NULL, self->fs);
	ASSERT_EQ(0, dxt_open(&self->t));
	ASSERT_EQ(0, dxt_start(&self->t));
	fd = open(FUSE_FILE, O_RDWR | O_CLOEXEC);
	other = open(FUSE_FILE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, fd);
	ASSERT_LE(0, other);
	e.fd = fd;
	ASSERT_EQ(1, dxt_post(self->t.member, &e, 1, 0, &post));
	close(fd);
	self->fs->hang = FUSE_SETATTR;
	ASSERT_EQ(5, write(other, "dirty", 5));
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	EXPECT_TRUE(DXT_SOON(self->fs->hung));
	EXPECT_EQ(1, dxt_rejoin(self->t.member, 1, &result, 1, 1, dxt_late(), NULL));
	EXPECT_EQ(-ECANCELED, result.status);
	/* nor do files of another context wait for it */
	ASSERT_EQ(0, dxt_open(&t));
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, pipe2(end, O_CLOEXEC));
	e.fd = end[1];
	ASSERT_EQ(1, dxt_post(t.member, &e, 1, 0, &post));
	close(end[1]);
	reader.fd = end[0];
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	EXPECT_TRUE(DXT_SOON(poll(&reader, 1, 0) == 1));
	dxt_down(&t);
	close(end[0]);
	/* the file system ends, and what is written with it */
	kill(self->fs->pid, SIGKILL);
	close(other);
}

#define AREADS	8
#define DISK	"/tmp/dxk-disk"

static int hold_key(int member, uint32_t what)
{
	struct dxk_key_call c = { .size = sizeof(c), .what = what, .key = 1 };

	return dxt_ioctl(member, DXK_IOC_KEY, &c);
}

/* Posts reads of the file, each of an open file of its own, which this has open no more. */
static bool post_reads(const struct dxt *t, uint64_t exec, const char *path)
{
	struct dxk_post_more e = {
		.post = dxt_entry(1, exec, 0, PXR_REJOIN | PXR_KERNEL | PXR_FD | PXR_KEY), .key = 1,
	};
	unsigned int i;
	bool posted;

	e.post.result_len = 4;
	for (i = 0; i < AREADS; i++) {
		e.post.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		posted = dxk_post_more(t->member, &e, 1, 0, NULL) == 1;
		close(e.post.fd);
		if (!posted)
			return false;
	}
	return true;
}

static int start_areads(struct dxt *t, uint64_t *exec)
{
	int err = dxt_open(t);

	t->policy.kernel_threads = t->policy.max_threads = AREADS;
	t->policy.max_waiting = 4 * AREADS;
	return err ? err : dxt_start(t) ?: dxk_executor_find(t->ctl, "aread", exec);
}

/* The last reference to a file may be that of aread: its release holds up that of no other file. */
TEST_F(stuck, release_of_aread)
{
	uint64_t exec;
	struct dxt t;
	int other;

	fuse_down(self->fs);
	self->fs = fuse_up(true);
	ASSERT_NE(NULL, self->fs);
	ASSERT_EQ(0, start_areads(&self->t, &exec));
	other = open(FUSE_FILE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, other);
	ASSERT_EQ(5, write(other, "clean", 5));
	ASSERT_EQ(0, hold_key(self->t.member, DXK_KEY_HOLD));
	ASSERT_TRUE(post_reads(&self->t, exec, FUSE_FILE));
	self->fs->hang = FUSE_SETATTR;
	ASSERT_EQ(5, write(other, "dirty", 5));
	ASSERT_EQ(0, hold_key(self->t.member, DXK_KEY_RELEASE));
	EXPECT_TRUE(DXT_SOON(self->fs->hung));
	EXPECT_EQ(AREADS, dxt_drain(&self->t, self->t.member, 1));

	mkdir(DISK, 0700);
	ASSERT_EQ(0, mount("dxk", DISK, "tmpfs", 0, NULL));
	EXPECT_EQ(0, start_areads(&t, &exec));
	EXPECT_TRUE(post_reads(&t, exec, DISK "/file"));
	EXPECT_EQ(AREADS, dxt_drain(&t, t.member, 1));
	dxt_down(&t);
	EXPECT_TRUE(DXT_SOON(!umount(DISK)));
	rmdir(DISK);
	kill(self->fs->pid, SIGKILL);
	close(other);
}

#define MAX_FILES	20

/* How many more files does dxk hold for the caller? Nobody executes the requests: the key is held. */
static unsigned int more_files(const struct dxt *t, uint64_t exec, int fd)
{
	struct dxk_post_more e = {
		.post = dxt_entry(2, exec, 0, PXR_REJOIN | PXR_KERNEL | PXR_FD | PXR_KEY), .key = 1,
	};
	unsigned int nr = 0;

	e.post.fd = fd;
	while (nr <= MAX_FILES && dxk_post_more(t->member, &e, 1, 0, NULL) == 1)
		nr++;
	return nr;
}

/* The user's areads end, but not the release of their files: how many more the user may have. */
static void areads_of_user(struct fusefs *fs, _Atomic unsigned int *more)
{
	const struct rlimit max = { MAX_FILES, MAX_FILES };
	int other, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	unsigned int nr = 0;
	uint64_t exec;
	struct dxt t;

	become(UID, GID, 0);
	other = open(FUSE_FILE, O_RDWR | O_CLOEXEC);
	if (start_areads(&t, &exec) || setrlimit(RLIMIT_NOFILE, &max) ||
	    write(other, "clean", 5) != 5 || hold_key(t.member, DXK_KEY_HOLD) ||
	    !post_reads(&t, exec, FUSE_FILE))
		return;
	fs->hang = FUSE_SETATTR;
	if (write(other, "dirty", 5) != 5 || hold_key(t.member, DXK_KEY_RELEASE) ||
	    dxt_drain(&t, t.member, 1) != AREADS || !DXT_SOON(fs->hung) ||
	    hold_key(t.member, DXK_KEY_HOLD))
		return;
	/* The requests' own files are let go meanwhile. */
	DXT_SOON((nr += more_files(&t, exec, null)) >= MAX_FILES - AREADS);
	dxt_sleep_ms(300);
	nr += more_files(&t, exec, null);
	*more = nr;
	pause();
}

/* ... and counts for its user until it ends, although the request has ended before. */
TEST_F(stuck, release_of_aread_counts)
{
	_Atomic unsigned int *more = dxt_shared(sizeof(*more));
	struct stat st;
	pid_t pid;

	fuse_down(self->fs);
	self->fs = fuse_up(true);
	ASSERT_NE(NULL, self->fs);
	ASSERT_EQ(0, stat("/dev/dxk", &st));
	ASSERT_EQ(0, chmod("/dev/dxk", 0666));
	pid = CHILD(more, areads_of_user(self->fs, more));
	EXPECT_TRUE(DXT_SOON(*more || dxt_gone(pid)));
	EXPECT_EQ(MAX_FILES - AREADS, *more);
	kill(pid, SIGKILL);
	kill(self->fs->pid, SIGKILL);
	dxt_reap(pid);
	chmod("/dev/dxk", st.st_mode & 0777);
	munmap((void *)more, sizeof(*more));
}

TEST_HARNESS_MAIN
