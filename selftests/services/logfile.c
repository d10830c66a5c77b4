// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log file that the kernel writes: what it takes for one, full disks, rotation,
 * the death of the process.
 */
#include "lib/log.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

FIXTURE(log) {
	struct dxt t;
	struct dxk_log_record r[8];
};

FIXTURE_SETUP(log)
{
	mkdir(DIR_, 0755);
	unlink(LOG);
}

FIXTURE_TEARDOWN(log)
{
	if (self->t.ctx > 0)
		dxt_down(&self->t);
	umount(SMALL);
	unlink(LOG);
}

/* --- the file ---------------------------------------------------------------- */

/* What is no log file. */
TEST_F(log, bad_files)
{
	int fd[2], pair[2];
	char name[64];

	ASSERT_EQ(0, dxt_open(&self->t));
	EXPECT_EQ(-EBADF, dxk_log_file(self->t.ctx, 987));
	EXPECT_EQ(-EBADF, dxk_log_file(self->t.ctx, -2));
#define REFUSED(_err, _open) do {					\
		int _fd = (_open);					\
									\
		ASSERT_LE(0, _fd);					\
		EXPECT_EQ(-(_err), dxk_log_file(self->t.ctx, _fd));	\
		close(_fd);						\
	} while (0)
	close(open_log(LOG));
	REFUSED(EBADF, open(LOG, O_RDONLY | O_APPEND));
	REFUSED(EBADF, open(LOG, O_PATH));
	REFUSED(EINVAL, open(LOG, O_WRONLY));
	REFUSED(EINVAL, open(LOG, O_RDWR));
	REFUSED(EBADF, open("/tmp", O_RDONLY | O_APPEND));
	REFUSED(EINVAL, open("/dev/null", O_WRONLY | O_APPEND));
	REFUSED(EINVAL, open("/dev/full", O_WRONLY | O_APPEND));
	REFUSED(EINVAL, open("/proc/self/oom_score_adj", O_WRONLY | O_APPEND));
	snprintf(name, sizeof(name), "/sys/kernel/dxk/%u/policy/log_full", self->t.id);
	REFUSED(EINVAL, open(name, O_WRONLY | O_APPEND));
	REFUSED(EINVAL, epoll_create1(0));
	REFUSED(EINVAL, dup(self->t.ctx));
	REFUSED(EINVAL, dup(self->t.ctl));
	ASSERT_EQ(0, pipe(fd));
	REFUSED(EINVAL, fd[1]);
	close(fd[0]);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	REFUSED(EINVAL, pair[0]);
	close(pair[1]);
#undef REFUSED
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, -1));
}

/* DX-97, DX-100: the kernel writes what is logged, as whole lines. */
TEST_F(log, kernel_writes)
{
	int fd = open_log(LOG), rc;
	unsigned int i, seen;
	struct content c;
	struct line l;
	FILE *f;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.log_batch = 3;
	self->t.policy.log_entries = 16;
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd));
	/* it has a reference of its own, and the end of the file is where it writes */
	EXPECT_EQ(0, fcntl(fd, F_SETFL, 0));
	close(fd);
	ASSERT_EQ(0, dxt_start(&self->t));
	for (i = 1; i <= 500; i++)
		ASSERT_EQ(0, say(self->t.member, DXK_LOG_WAIT, DXK_FOREVER, "message %u", i));
	/* this one does not wait, so there must be room */
	EXPECT_TRUE(DXT_UNTIL(&self->t, dxt_num(&self->t, "pools/log_use") < 16));
	rc = write_raw(self->t.member, "a\nb\0c", 6);
	EXPECT_EQ(0, rc);
	EXPECT_TRUE(DXT_UNTIL(&self->t, in_file(LOG, "a b c ")));
	EXPECT_FALSE(readable(&self->t));
	c = content_of(LOG);
	EXPECT_EQ(500, c.messages);
	EXPECT_EQ(0, c.disorder + c.malformed + c.lost);
	EXPECT_EQ(502, c.seq);
	EXPECT_EQ(0, dxt_num(&self->t, "pools/log_use"));
	/* no error of the line's format is hidden by the reader of these tests */
	f = fopen(LOG, "r");
	for (seen = 0; f && get_line(f, &l); seen++)
		EXPECT_EQ(seen ? self->t.member_id : 0, l.thread);
	fclose(f);
	EXPECT_EQ(502, seen);
}

/*
 * A full disk: nothing is lost while the pool has room, a line that was written in
 * part is completed; without room log_full decides, and the gap shows.
 */
TEST_F(log, disk_full)
{
	struct content c;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, small_mount());
	UP(256, DXK_LOG_DROP_OLDEST);
	fd = open_log(SMALL "/log");
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	for (i = 1; i <= 150; i++)
		ASSERT_EQ(0, say(self->t.member, 0, 0,
				 "message %u of a disk that is filled to its last page", i));
	EXPECT_TRUE(DXT_UNTIL(&self->t, size_of(SMALL "/log") == 4096));
	EXPECT_LT(0, dxt_num(&self->t, "pools/log_use"));
	/* the line at the end of the page is not whole, unless by chance */
	EXPECT_GE(1, content_of(SMALL "/log").malformed);
	for (; i <= 1000; i++)
		ASSERT_EQ(0, say(self->t.member, 0, 0, "message %u", i));
	EXPECT_EQ(256, dxt_num(&self->t, "pools/log_use"));
	EXPECT_LT(0, dxt_num(&self->t, "pools/log_lost"));
	EXPECT_EQ(4096, size_of(SMALL "/log"));
	ASSERT_EQ(0, unlink(SMALL "/ballast"));
	EXPECT_TRUE(DXT_UNTIL(&self->t, !dxt_num(&self->t, "pools/log_use") &&
					content_of(SMALL "/log").last == 1000));
	c = content_of(SMALL "/log");
	EXPECT_EQ(0, c.malformed);
	EXPECT_EQ(0, c.disorder - 1);	/* "started" was read by up() */
	EXPECT_EQ(dxt_num(&self->t, "pools/log_lost"), c.lost);
	EXPECT_EQ(1000, c.messages + c.lost);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, -1));
	small_umount();
}

/* DX-3: a full disk without a running context is the caller's error. */
TEST_F(log, disk_full_synchronous)
{
	struct content c;
	int member, fd, rc = 0;
	unsigned int i, torn;

	ASSERT_EQ(0, small_mount());
	ASSERT_EQ(0, dxt_open(&self->t));
	member = dxk_member_create(self->t.ctx, DXK_MEMBER_CLIENT, NULL);
	fd = open_log(SMALL "/log");
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	for (i = 1; i <= 200 && !rc; i++)
		rc = say(member, 0, 0, "message %u of a disk that is filled", i);
	EXPECT_EQ(-ENOSPC, rc);
	EXPECT_EQ(-ENOSPC, say(member, 0, 0, "message %u", i));
	c = content_of(SMALL "/log");
	EXPECT_EQ(i - 2, c.last);
	EXPECT_GE(1, c.malformed);	/* as much of it as there was room for */
	torn = c.malformed;
	ASSERT_EQ(0, unlink(SMALL "/ballast"));
	EXPECT_EQ(0, say(member, 0, 0, "message %u", i));
	c = content_of(SMALL "/log");
	EXPECT_EQ(i, c.last);
	/* it has a line for itself, which may look like a message */
	EXPECT_EQ(torn, c.malformed + c.disorder);
	EXPECT_EQ(0, c.lost);
	close(member);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, -1));
	small_umount();
}

/* A file that cannot be written does not keep another one from taking over. */
TEST_F(log, rotation_from_full_disk)
{
	struct content c;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, small_mount());
	UP(256, DXK_LOG_BLOCK);
	fd = open_log(SMALL "/log");
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	for (i = 1; i <= 150; i++)
		ASSERT_EQ(0, say(self->t.member, 0, 0,
				 "message %u of a disk that is filled to its last page", i));
	EXPECT_TRUE(DXT_UNTIL(&self->t, size_of(SMALL "/log") == 4096));
	fd = open_log(LOG);
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	EXPECT_TRUE(DXT_UNTIL(&self->t, content_of(LOG).last == 150));
	c = content_of(SMALL "/log");
	EXPECT_GE(1, c.malformed);
	c.malformed = 0;
	content_add(&c, LOG);
	EXPECT_EQ(150, c.messages);
	EXPECT_EQ(1, c.disorder);	/* "started" was read by up() */
	EXPECT_EQ(0, c.malformed + c.lost);
	/* to none: LOG_READ goes on where the file ends */
	EXPECT_EQ(0, dxk_log_file(self->t.ctx, -1));
	EXPECT_EQ(0, read_log(&self->t, self->r, 8, 0));
	EXPECT_EQ(0, say(self->t.member, 0, 0, "message 151"));
	EXPECT_EQ(1, read_log(&self->t, self->r, 8, 0));
	EXPECT_EQ(c.seq + 1, self->r[0].seq);
	small_umount();
}

/* Rotation under load: no line is lost or doubled, each is where it belongs. */
TEST_F(log, rotation)
{
	struct talker k = { .t = &self->t };
	int i, fd, rounds = times_of(25);
	struct content c = { 0 };
	pthread_t thread;
	char name[64], text[32];

	UP(8, DXK_LOG_BLOCK);
	pthread_create(&thread, NULL, talk, &k);
	for (i = 0; i <= rounds; i++) {
		snprintf(name, sizeof(name), LOG ".%d", i);
		unlink(name);
		fd = open_log(name);
		ASSERT_LE(0, fd);
		snprintf(text, sizeof(text), "before file %d", i);
		if (i)
			EXPECT_EQ(0, say(self->t.member, DXK_LOG_WAIT, DXK_FOREVER, "%s",
					 text));
		EXPECT_EQ(0, dxk_log_file(self->t.ctx, fd));
		close(fd);
		if (i) {
			snprintf(name, sizeof(name), LOG ".%d", i - 1);
			EXPECT_TRUE(in_file(name, text)) TH_LOG("%s", text);
		}
	}
	k.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, k.rc);
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	c.seq = 1;		/* "started" was read by up() */
	for (i = 0; i <= rounds; i++) {
		snprintf(name, sizeof(name), LOG ".%d", i);
		content_add(&c, name);
		unlink(name);
	}
	EXPECT_EQ(k.accepted, c.messages);
	EXPECT_EQ(0, c.disorder + c.malformed + c.lost)
		TH_LOG("after %llu came %llu, '%s'", c.before, c.odd, c.odd_text);
	EXPECT_EQ(k.accepted + rounds + 2, c.seq);
}

/* --- death ------------------------------------------------------------------- */

static int child_logs(_Atomic unsigned int *accepted, unsigned int entries)
{
	struct dxt t;
	int fd;

	if (dxt_open(&t))
		return 1;
	t.policy.log_entries = entries;
	fd = open_log(LOG);
	if (fd < 0 || dxk_log_file(t.ctx, fd) || dxt_start(&t))
		return 2;
	for (;;) {
		if (say(t.member, DXK_LOG_WAIT, DXK_FOREVER, "message %u", *accepted + 1))
			return 3;
		++*accepted;
	}
}

/* DX-103: every message that was accepted is in the file when the process died. */
TEST_F(log, killed)
{
	_Atomic unsigned int *accepted = dxt_shared(sizeof(*accepted));
	unsigned int n = 0;
	int i, rounds = times_of(8);

	for (i = 0; i < rounds; i++) {
		struct content c;
		pid_t pid;

		unlink(LOG);
		*accepted = 0;
		pid = dxt_fork();
		if (!pid)
			_exit(child_logs(accepted, i & 1 ? 2 : 1024));
		EXPECT_TRUE(DXT_SOON(*accepted >= 20U + 50 * i));
		kill(pid, SIGKILL);
		EXPECT_TRUE(WIFSIGNALED(dxt_reap(pid)));
		n = *accepted;
		EXPECT_LE(20, n);
		/* what is left is written after the death */
		EXPECT_TRUE(DXT_SOON(dxt_contexts() == 0));
		c = content_of(LOG);
		EXPECT_EQ(0, c.disorder + c.malformed);
		/* a pool that is full has no room for the module's own word */
		EXPECT_EQ(!in_file(LOG, "stopped"), c.lost);
		/* one may have been accepted without being counted any more */
		EXPECT_TRUE(c.messages == n || c.messages == n + 1)
			TH_LOG("%u of %u", c.messages, n);
	}
	munmap(accepted, sizeof(*accepted));
}

/* --- independence ------------------------------------------------------------ */

/* The longest that a message of a worker took, in ns. */
static _Atomic uint64_t longest;

static int exe_log_100(struct dxt_call *call)
{
	unsigned int i;
	int rc = 0;

	for (i = 1; i <= 100 && !rc; i++) {
		uint64_t begin = dxt_now(), ns;

		rc = say(call->worker->member, DXK_LOG_WAIT, dxt_late(), "message %u", i);
		ns = dxt_now() - begin;
		if (ns > longest)
			longest = ns;
	}
	return rc;
}

/*
 * D-9, DX-32, DX-100: with the other workers of both kinds blocked, and a command that
 * its handler does not answer, all lines of a worker arrive, and it never waits for
 * longer than the drain needs: the handler would have held it for good.
 */
TEST_F(log, nobody_holds_it_up)
{
	struct dxk_command_attach attach = { .size = sizeof(attach), .attach = 1 };
	struct dxk_command_send send = { .size = sizeof(send), .text_len = 5,
					 .text = DXT_PTR("block") };
	static char text[DXK_COMMAND_MAX];
	struct dxk_command_next next = { .size = sizeof(next), .deadline = DXK_FOREVER,
					 .text = DXT_PTR(text), .text_room = sizeof(text) };
	struct dxt_gate *gate = dxt_gate_new();
	struct content c;
	struct dxk_result result;
	uint64_t sleeps;
	unsigned int i;
	int fd, rc;

	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.log_entries = 8;
	self->t.policy.max_threads = 4;
	self->t.policy.kernel_threads = 1;
	fd = open_log(LOG);
	ASSERT_EQ(0, dxk_log_file(self->t.ctx, fd));
	close(fd);
	ASSERT_EQ(0, dxt_start(&self->t));
	ASSERT_EQ(0, dxt_workers_start(&self->t, 3));
	ASSERT_EQ(0, dxk_executor_find(self->t.ctl, "sleep", &sleeps));
	ASSERT_EQ(1, dxt_post1(self->t.member, 1, sleeps, 10000000, PXR_KERNEL, 0, NULL));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, dxt_post1(self->t.member, 1, DXT_GATE, DXT_PTR(gate), 0, 0,
				       NULL));
	EXPECT_TRUE(DXT_UNTIL(&self->t, gate->entered == 2));
	EXPECT_TRUE(DXT_UNTIL(&self->t, dxt_member_is(&self->t, 1, "busy")));
	ASSERT_EQ(0, dxt_ioctl(self->t.member, DXK_IOC_COMMAND_ATTACH, &attach));
	EXPECT_EQ(0, dxt_ioctl(self->t.ctx, DXK_IOC_COMMAND_SEND, &send));
	do {
		rc = dxt_ioctl(self->t.member, DXK_IOC_COMMAND_NEXT, &next);
	} while (!rc && next.kind == DXK_COMMAND_TICK);
	EXPECT_EQ(0, rc);
	ASSERT_EQ(1, dxt_post1(self->t.member, 2, DXT_FN(exe_log_100), 0, PXR_REJOIN, 0,
			       NULL));
	EXPECT_EQ(1, dxt_rejoin(self->t.member, 2, &result, 1, 1, dxt_late(), NULL));
	EXPECT_EQ(0, result.status);
	EXPECT_GT(dxt_stall_ns(), longest);
	EXPECT_TRUE(DXT_UNTIL(&self->t, content_of(LOG).last == 100));
	EXPECT_EQ(2, gate->entered);
	EXPECT_EQ(0, gate->left);
	dxt_gate_open(gate);
	c = content_of(LOG);
	EXPECT_EQ(100, c.messages);
	EXPECT_EQ(0, c.disorder + c.malformed + c.lost);
	dxt_down(&self->t);
	self->t.ctx = 0;
	dxt_gate_free(gate);
}

TEST_HARNESS_MAIN
