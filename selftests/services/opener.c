// SPDX-License-Identifier: GPL-2.0-only
/*
 * With whose rights the kernel uses a file: those of its opener, not those of the kernel
 * thread. The file is on a FUSE mount, whose server is told who reads and who writes.
 */
#include "lib/dxt.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWNER	7
#define OPENER	4021
#define MNT	"/tmp/dxk-opener-test"
#define SIZE	10000

/* What the server has seen, shared with it. */
struct seen {
	_Atomic unsigned int reads, writes, others;
};

FIXTURE(opener)
{
	struct dxt t;
	struct seen *seen;
	pid_t server;
};

/* The reply to one request; its length behind the header, or a negative errno. */
static int reply(struct seen *seen, const struct fuse_in_header *in, void *out)
{
	const struct fuse_read_in *read_in = (const void *)(in + 1);
	const struct fuse_write_in *write_in = (const void *)(in + 1);
	struct fuse_attr attr = {
		.ino = in->nodeid, .size = SIZE, .nlink = 1, .blksize = 4096,
		.mode = in->nodeid == 1 ? S_IFDIR | 0777 : S_IFREG | 0666,
	};

	switch (in->opcode) {
	case FUSE_INIT:
		*(struct fuse_init_out *)out = (struct fuse_init_out){
			.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 65536,
			.max_background = 8, .congestion_threshold = 6,
		};
		return sizeof(struct fuse_init_out);
	case FUSE_LOOKUP:
		attr.ino = 2;
		attr.mode = S_IFREG | 0666;
		*(struct fuse_entry_out *)out = (struct fuse_entry_out){
			.nodeid = 2, .attr_valid = 1000, .entry_valid = 1000, .attr = attr,
		};
		return sizeof(struct fuse_entry_out);
	case FUSE_GETATTR:
		*(struct fuse_attr_out *)out = (struct fuse_attr_out){
			.attr_valid = 1000, .attr = attr,
		};
		return sizeof(struct fuse_attr_out);
	case FUSE_OPEN:		/* no page cache: each read and write is told */
		*(struct fuse_open_out *)out = (struct fuse_open_out){
			.open_flags = FOPEN_DIRECT_IO,
		};
		return sizeof(struct fuse_open_out);
	case FUSE_READ:
		seen->reads++;
		seen->others += in->uid != OPENER || in->gid != OPENER;
		if (read_in->offset >= SIZE)
			return 0;
		memset(out, 'x', SIZE);
		return (int)(read_in->size < SIZE - read_in->offset ?
			     read_in->size : SIZE - read_in->offset);
	case FUSE_WRITE:
		seen->writes++;
		seen->others += in->uid != OPENER || in->gid != OPENER;
		*(struct fuse_write_out *)out = (struct fuse_write_out){
			.size = write_in->size,
		};
		return sizeof(struct fuse_write_out);
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		return 0;
	default:
		return -ENOSYS;
	}
}

static _Noreturn void serve(int fd, struct seen *seen)
{
	static char in[1 << 17], out[1 << 17];
	struct fuse_out_header *head = (void *)out;
	const struct fuse_in_header *request = (const void *)in;

	while (read(fd, in, sizeof(in)) > 0) {
		int len = reply(seen, request, head + 1);

		if (request->opcode == FUSE_FORGET || request->opcode == FUSE_BATCH_FORGET ||
		    request->opcode == FUSE_INTERRUPT)
			continue;
		*head = (struct fuse_out_header){
			.len = sizeof(*head) + (uint32_t)(len > 0 ? len : 0),
			.error = len < 0 ? len : 0, .unique = request->unique,
		};
		if (write(fd, out, head->len) < 0 && errno != ENOENT)
			break;
	}
	_exit(0);
}

FIXTURE_SETUP(opener)
{
	char options[128];
	int fd;

	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.kernel_threads = 2;
	self->seen = dxt_shared(sizeof(*self->seen));
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0 && !system("modprobe -q fuse"))
		fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		SKIP(return, "the kernel has no FUSE");
	mkdir(MNT, 0755);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40777,user_id=0,group_id=0,allow_other", fd);
	ASSERT_EQ(0, mount("dxk-test", MNT, "fuse.dxk-test", MS_NOSUID | MS_NODEV, options));
	self->server = dxt_fork();
	if (!self->server)
		serve(fd, self->seen);
	close(fd);
}

FIXTURE_TEARDOWN(opener)
{
	dxt_down(&self->t);
	if (!self->server)
		return;
	umount2(MNT, MNT_DETACH);
	rmdir(MNT);
	kill(self->server, SIGKILL);
	dxt_reap(self->server);
}

/* A file of the mount that the user OPENER has opened and root uses. */
static int opened(int flags)
{
	int fd;

	if (setresgid(-1, OPENER, -1) || setresuid(-1, OPENER, -1))
		abort();
	fd = open(MNT "/file", flags | O_CLOEXEC);
	if (setresuid(-1, 0, -1) || setresgid(-1, 0, -1))
		abort();
	return fd;
}

static int status_of(struct dxt *t, const struct dxk_post_entry *e)
{
	unsigned char digest[32];
	struct dxk_result r;
	unsigned int answer;

	if (dxk_post(t->member, e, 1, 0, NULL) != 1)
		return -EIO;
	if (dxk_rejoin(t->member, OWNER, &r, 1, 1, digest, 32, dxt_late_ns(), &answer) != 1)
		return -EIO;
	return r.status;
}

/* The file of a request, and the worker's own one of a handle. */
TEST_F(opener, kernel_executor_reads)
{
	struct dxk_sha256_range range = { .length = ~0ULL };
	uint64_t sha256, handle;
	struct dxt *t = &self->t;
	struct dxk_post_entry e;
	unsigned int reads;

	if (dxk_executor_find(t->ctl, "sha256", &sha256))
		SKIP(return, "no executors loaded");
	ASSERT_EQ(0, dxt_start(t));
	e = dxt_entry(OWNER, sha256, 0, PXR_REJOIN | PXR_KERNEL | PXR_FD);
	e.result_len = 32;
	e.fd = opened(O_RDONLY);
	ASSERT_LE(0, e.fd);
	EXPECT_EQ(0, status_of(t, &e));
	reads = self->seen->reads;
	EXPECT_LT(0, reads);
	EXPECT_EQ(0, self->seen->others);

	ASSERT_EQ(0, dxk_handle_open(t->ctx, e.fd, &handle));
	range.handle = handle;
	close(e.fd);
	e.fd = 0;
	e.attrs = PXR_REJOIN | PXR_KERNEL;
	e.data = DXT_PTR(&range);
	e.data_len = sizeof(range);
	EXPECT_EQ(0, status_of(t, &e));
	EXPECT_LT(reads, self->seen->reads);
	EXPECT_EQ(0, self->seen->others);
}

TEST_F(opener, log_writes)
{
	struct dxt *t = &self->t;
	int fd = opened(O_WRONLY | O_APPEND);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, dxk_log_file(t->ctx, fd));
	close(fd);
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, dxk_log_write(t->member, "text", 4, 0, 0));
	EXPECT_TRUE(DXT_SOON(self->seen->writes));
	EXPECT_EQ(0, self->seen->others);
}

TEST_HARNESS_MAIN
