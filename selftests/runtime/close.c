// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a close does (DX-113): it begins Stop(cancel) and waits for nobody, whatever a
 * kernel worker of the context does; and what becomes of a context whose worker does not
 * come back.
 */
#include "lib/fuse.h"
#include "runtime/ctx.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define NAME	"close-test"

FIXTURE(close)
{
	struct fusefs *fs;
	struct dxt *t;		/* the context, as a child has made it */
	pid_t child;
};

FIXTURE_SETUP(close)
{
	uint64_t sha256;
	struct dxt t;

	self->t = dxt_shared(sizeof(*self->t));
	self->fs = fuse_up(false);
	if (!self->fs)
		SKIP(return, "this kernel has no FUSE");
	self->fs->size = 1 << 20;
	ASSERT_EQ(0, dxt_open(&t));
	if (dxk_executor_find(t.ctl, "sha256", &sha256))
		self->child = -1;
	dxt_down(&t);
	if (self->child)
		SKIP(return, "no executors loaded");
}

FIXTURE_TEARDOWN(close)
{
	if (self->fs)
		fuse_down(self->fs);
	if (self->child > 0) {
		kill(self->child, SIGKILL);
		dxt_reap(self->child);
	}
	munmap(self->t, sizeof(*self->t));
}

/* A context with a kernel worker that reads a file; then it does what the test wants. */
static void own(struct dxt *t, const struct fusefs *fs, bool closes)
{
	struct dxk_ctx_create c = { .name = NAME, .mode = 0600 };
	struct dxk_post_entry e;
	uint64_t sha256;
	int fd = open(FUSE_FILE, O_RDONLY | O_CLOEXEC);

	t->ctl = open(DXK_DEVICE, O_RDWR | O_CLOEXEC);
	t->ctx = dxk_ctx_create_as(t->ctl, &c);
	if (fd < 0 || t->ctx < 0 || dxk_policy_get(t->ctx, &t->policy) ||
	    dxk_executor_find(t->ctl, "sha256", &sha256))
		_exit(1);
	t->id = c.id;
	t->policy.max_threads = t->policy.kernel_threads = 1;
	if (dxk_policy_set(t->ctx, &t->policy, NULL) || dxk_ctx_start(t->ctx))
		_exit(2);
	t->member = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL);
	e = dxt_entry(1, sha256, 0, PXR_REJOIN | PXR_KERNEL | PXR_FD);
	e.fd = fd;
	e.result_len = 32;
	if (dxt_post(t->member, &e, 1, 0, &(struct dxk_post){ 0 }) != 1)
		_exit(3);
	if (closes) {
		/* before, it may find that it shall end and not begin to read */
		while (!fs->hung)
			usleep(1000);
		close(t->member);
		close(t->ctx);
		_exit(0);
	}
	for (;;)
		pause();
}

/* A child of which the worker hangs in the file. */
#define WORKER_HANGS(_deaf, _closes) do {				\
	self->fs->direct = _deaf;					\
	self->fs->hang = FUSE_READ;					\
	self->child = dxt_fork();					\
	if (!self->child)						\
		own(self->t, self->fs, _closes);					\
	ASSERT_TRUE(DXT_SOON(self->fs->hung));				\
} while (0)

/* Another context runs meanwhile, and one of the same name is made. */
static void others_go_on(struct __test_metadata *_metadata)
{
	struct dxk_ctx_create c = { .name = NAME, .mode = 0600 };
	struct dxt t;
	int fd;

	ASSERT_EQ(0, dxt_open(&t));
	ASSERT_EQ(0, dxt_start(&t));
	fd = dxk_ctx_create_as(t.ctl, &c);
	EXPECT_LE(0, fd);
	close(fd);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	dxt_down(&t);
}

/* SIGKILL of the owner: it is gone, and so is a read that can be killed. */
TEST_F(close, killed_in_a_read)
{
	WORKER_HANGS(false, false);
	kill(self->child, SIGKILL);
	EXPECT_TRUE(DXT_WITHIN(dxt_stall_ns(), dxt_gone(self->child)));
	dxt_reap(self->child);
	self->child = 0;
	EXPECT_TRUE(DXT_SOON(!context_dir(self->t->id)));
	others_go_on(_metadata);
}

/*
 * A read that hears no signal: the close returns, its process ends, the name is free. The
 * context is dead, shows who is busy, and keeps the module until the file system ends.
 */
TEST_F(close, deaf_worker)
{
	WORKER_HANGS(true, true);
	EXPECT_TRUE(DXT_WITHIN(dxt_stall_ns(), dxt_gone(self->child)));
	dxt_reap(self->child);
	self->child = 0;
	others_go_on(_metadata);
	EXPECT_TRUE(state_is(self->t, "dead"));
	EXPECT_TRUE(dxt_member_is(self->t, 1, "busy"));
	EXPECT_EQ(-1, syscall(SYS_delete_module, "dxk", O_NONBLOCK));
	EXPECT_TRUE(errno == EWOULDBLOCK || errno == EBUSY);
	kill(self->fs->pid, SIGKILL);
	EXPECT_TRUE(DXT_SOON(!context_dir(self->t->id)));
	EXPECT_EQ(0, dxt_kthreads(self->t));
}

/* Stop has its deadline, and is over by itself when the worker comes back. */
TEST_F(close, stop_goes_on)
{
	struct dxk_running r;
	unsigned int running;
	struct dxt t;

	WORKER_HANGS(true, false);
	ASSERT_EQ(0, dxt_open(&t));
	t.ctx = dxk_ctx_join(t.ctl, NAME, DXK_ACCESS_CONTROL | DXK_ACCESS_READ, 0, NULL);
	ASSERT_LE(0, t.ctx);
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop_report(t.ctx, DXK_STOP_CANCEL, 20 * DXT_MS, &r, 1,
						  &running));
	EXPECT_EQ(1, running);
	EXPECT_EQ(1, r.thread);
	EXPECT_EQ(-EBUSY, dxk_ctx_start(t.ctx));
	EXPECT_TRUE(state_is(self->t, "stopping"));
	kill(self->fs->pid, SIGKILL);
	EXPECT_TRUE(DXT_SOON(state_is(self->t, "stopped")));
	EXPECT_EQ(0, dxk_ctx_start(t.ctx));
	close(t.ctx);
	close(t.ctl);
}

TEST_HARNESS_MAIN
