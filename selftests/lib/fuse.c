// SPDX-License-Identifier: GPL-2.0-only
/* See fuse.h. */
#define DXT_NO_HARNESS
#include "lib/fuse.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_NODE	2
#define FUSE_ROOM	(1 << 18)

static void fill_attr(const struct fusefs *fs, uint64_t node, struct fuse_attr *a)
{
	a->ino = node;
	a->mode = node == FILE_NODE ? S_IFREG | 0666 : S_IFDIR | 0777;
	a->nlink = 1;
	a->size = node == FILE_NODE ? fs->size : 0;
	a->blksize = 4096;
}

union answer {
	struct fuse_init_out init;
	struct fuse_entry_out entry;
	struct fuse_attr_out attr;
	struct fuse_open_out open;
	struct fuse_write_out write;
	char data[FUSE_ROOM];
};

static int answer_init(const struct fusefs *fs, union answer *out)
{
	out->init.major = FUSE_KERNEL_VERSION;
	out->init.minor = FUSE_KERNEL_MINOR_VERSION;
	/* Who waits for a page can be killed only if somebody else reads it. */
	out->init.flags = FUSE_ASYNC_READ | (fs->writeback ? FUSE_WRITEBACK_CACHE : 0);
	out->init.max_readahead = 4096;
	out->init.max_write = 4096;
	out->init.max_background = 16;
	out->init.congestion_threshold = 12;
	out->init.time_gran = 1;
	return sizeof(out->init);
}

static int answer_write(struct fusefs *fs, const struct fuse_write_in *in, union answer *out)
{
	if (in->offset + in->size > fs->size)
		fs->size = in->offset + in->size;
	out->write.size = in->size;
	return sizeof(out->write);
}

static int answer_read(const struct fusefs *fs, const struct fuse_read_in *in)
{
	if (in->offset >= fs->size)
		return 0;
	return in->size < fs->size - in->offset ? in->size : fs->size - in->offset;
}

/* Length of the answer, or a negative errno. */
static int answer(struct fusefs *fs, const struct fuse_in_header *in, union answer *out)
{
	const void *arg = in + 1;

	switch (in->opcode) {
	case FUSE_INIT:
		return answer_init(fs, out);
	case FUSE_LOOKUP:
		if (strcmp(arg, "file"))
			return -ENOENT;
		out->entry.nodeid = FILE_NODE;
		fill_attr(fs, FILE_NODE, &out->entry.attr);
		return sizeof(out->entry);
	case FUSE_GETATTR:
	case FUSE_SETATTR:
		fill_attr(fs, in->nodeid, &out->attr.attr);
		return sizeof(out->attr);
	case FUSE_OPEN:
		if (fs->direct)
			out->open.open_flags = FOPEN_DIRECT_IO;
		return sizeof(out->open);
	case FUSE_OPENDIR:
		return sizeof(out->open);
	case FUSE_WRITE:
		return answer_write(fs, arg, out);
	case FUSE_READ:
		return answer_read(fs, arg);
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		return 0;
	default:
		return -ENOSYS;
	}
}

static void serve_one(struct fusefs *fs, int dev, const struct fuse_in_header *in)
{
	static struct {
		struct fuse_out_header head;
		union answer body;
	} out;
	int len;

	if (in->opcode == FUSE_FORGET || in->opcode == FUSE_BATCH_FORGET ||
	    in->opcode == FUSE_INTERRUPT)
		return;
	if (in->opcode == fs->hang) {
		fs->hung++;
		return;
	}
	memset(&out, 0, sizeof(out.head) + 4096);
	len = answer(fs, in, &out.body);
	out.head.unique = in->unique;
	out.head.error = len < 0 ? len : 0;
	out.head.len = sizeof(out.head) + (len < 0 ? 0 : len);
	if (write(dev, &out, out.head.len) < 0 && errno != ENOENT)
		_exit(1);
}

static void serve(struct fusefs *fs, int dev)
{
	static char in[FUSE_ROOM] __attribute__((aligned(8)));

	fs->ready = 1;
	for (;;) {
		ssize_t len = read(dev, in, sizeof(in));

		if (len >= (ssize_t)sizeof(struct fuse_in_header))
			serve_one(fs, dev, (struct fuse_in_header *)in);
		else if (len >= 0 || (errno != EINTR && errno != ENOENT))
			_exit(0);
	}
}

struct fusefs *fuse_up(bool writeback)
{
	struct fusefs *fs;
	char options[128];
	pid_t pid;
	int dev;

	if (access("/dev/fuse", F_OK) && system("modprobe -q fuse"))
		return NULL;
	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (dev < 0)
		return NULL;
	mkdir(FUSE_DIR, 0755);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", dev);
	if (mount("dxk", FUSE_DIR, "fuse", MS_NOSUID | MS_NODEV, options)) {
		close(dev);
		return NULL;
	}
	fs = dxt_shared(sizeof(*fs));
	fs->writeback = writeback;
	pid = dxt_fork();
	if (!pid)
		serve(fs, dev);
	fs->pid = pid;
	/* The server has it alone: with it the file system ends. */
	close(dev);
	DXT_SOON(fs->ready);
	return fs;
}

void fuse_down(struct fusefs *fs)
{
	kill(fs->pid, SIGKILL);
	dxt_reap(fs->pid);
	umount2(FUSE_DIR, MNT_DETACH);
	rmdir(FUSE_DIR);
	munmap(fs, sizeof(*fs));
}
