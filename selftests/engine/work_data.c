// SPDX-License-Identifier: GPL-2.0-only
/* As work.c: what travels with a request, data and files. */
#include "work_test.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* --- data ------------------------------------------------------------------ */

/* Up to data_size bytes in and out, lengths kept, no byte changed. */
TEST_F(work, data_in_and_out)
{
	static const unsigned int len[] = { 0, 1, 7, 512, 4095, 4096 };
	struct dxt *t = &self->t;
	unsigned char out[4096], in[4096];
	uint64_t state = 42;
	struct dxk_post p;
	unsigned int i, k, answer;

	t->policy.data_size = 4096;
	START(1);
	for (i = 0; i < 6; i++) {
		struct dxk_post_entry e = dxt_entry(1, 0, i, PXR_REJOIN);
		unsigned int back = len[5 - i];
		struct puppet *w = self->w[0];
		struct dxk_result r;

		for (k = 0; k < sizeof(out); k++)
			out[k] = rnd(&state);
		e.data = DXT_PTR(out);
		e.data_len = len[i];
		e.result_len = back;
		ASSERT_EQ(1, dxt_post(t->member, &e, 1, 0, &p));
		dxt_poison(w->data, PUP_DATA);
		ASSERT_EQ(1, puppet_fetch(w));
		EXPECT_EQ(len[i], w->work[0].data_len);
		EXPECT_EQ(back, w->work[0].result_len);
		EXPECT_EQ(0, memcmp(out, w->data, len[i]));
		EXPECT_TRUE(dxt_poisoned(w->data + len[i], PUP_DATA - len[i]));

		/* a byte more than there is room for refuses the completion */
		EXPECT_EQ(-EMSGSIZE, puppet_finish_data(w, out, back + 1));
		EXPECT_EQ(1, w->held);
		for (k = 0; k < back; k++)
			out[k] ^= 0x5a;
		ASSERT_EQ(0, puppet_finish_data(w, out, back));
		dxt_poison(in, sizeof(in));
		ASSERT_EQ(1, dxk_rejoin(t->member, 1, &r, 1, 1, in, sizeof(in), 0,
					&answer));
		EXPECT_EQ(back, r.data_len);
		EXPECT_EQ(0, memcmp(in, out, back));
		EXPECT_TRUE(dxt_poisoned(in + back, sizeof(in) - back));
	}
}

/* A worker that gives less than its slots may need is refused before. */
TEST_F(work, data_slots_must_have_room)
{
	struct dxt *t = &self->t;
	struct puppet *w;

	t->policy.data_size = 512;
	START(1);
	w = self->w[0];
	ASSERT_EQ(1, post(t, 0, 0));
	w->next = (struct dxk_next){
		.size = sizeof(w->next),
		.work = DXT_PTR(w->work),
		.nr_work = 1,
		.work_size = sizeof(w->work[0]),
		.data = DXT_PTR(w->data),
		.data_stride = 511,
	};
	puppet_begin(w, puppet_call_next);
	EXPECT_EQ(-EMSGSIZE, puppet_end(w));
	EXPECT_EQ(0, dxt_num(t, "stats/dispatches"));
}

/* --- files ----------------------------------------------------------------- */

static int post_file(struct dxt *t, int fd, uint64_t exec, uint32_t attrs,
		     unsigned int result_len)
{
	struct dxk_post_entry e = dxt_entry(1, exec, 0, PXR_FD | PXR_REJOIN | attrs);
	struct dxk_post p;

	e.fd = fd;
	e.result_len = result_len;
	return dxt_post(t->member, &e, 1, 0, &p);
}

/*
 * DX-42: a posted file stays open for as long as its request exists, though no descriptor of it
 * is left, and no longer: the other end of a pipe sees it.
 */
TEST_F(work, request_holds_its_file)
{
	struct dxt *t = &self->t;
	struct pollfd reader = { .events = POLLIN };
	int fd[2];

	START(1);
	ASSERT_EQ(0, pipe2(fd, O_CLOEXEC));
	reader.fd = fd[0];
	ASSERT_EQ(1, post_file(t, fd[1], 0, 0, 0));
	close(fd[1]);
	/* Ready: neither data nor the end */
	ASSERT_EQ(0, poll(&reader, 1, 0)) TH_LOG("the request does not hold its file");
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	close(self->w[0]->work[0].fd);
	/* it may be run again */
	EXPECT_EQ(0, poll(&reader, 1, 0));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	ASSERT_EQ(RJR_RETURNED, poll_owner(t, 1));
	EXPECT_TRUE(DXT_UNTIL(t, poll(&reader, 1, 0) == 1));
	EXPECT_EQ(POLLHUP, reader.revents);
	close(fd[0]);
}

/* The worker has the same open file: offset shared, poster's descriptor gone. */
TEST_F(work, file_to_a_user_worker)
{
	struct dxt *t = &self->t;
	char text[8] = "";
	int fd, got;

	START(1);
	fd = memfd_create("dxk-test", 0);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(10, write(fd, "0123456789", 10));
	ASSERT_EQ(2, lseek(fd, 2, SEEK_SET));
	ASSERT_EQ(1, post_file(t, fd, 0, 0, 0));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	got = self->w[0]->work[0].fd;
	ASSERT_GE(got, 0);
	EXPECT_NE(fd, got);
	EXPECT_EQ(FD_CLOEXEC, fcntl(got, F_GETFD));
	ASSERT_EQ(3, read(got, text, 3));
	EXPECT_EQ(0, memcmp(text, "234", 3));
	EXPECT_EQ(5, lseek(fd, 0, SEEK_CUR));
	close(fd);
	close(got);
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	ASSERT_EQ(RJR_RETURNED, poll_owner(t, 1));

	/* the request itself holds the file */
	fd = memfd_create("dxk-test", 0);
	ASSERT_EQ(4, write(fd, "gone", 4));
	ASSERT_EQ(1, post_file(t, fd, 0, 0, 0));
	close(fd);
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	got = self->w[0]->work[0].fd;
	ASSERT_EQ(4, pread(got, text, 4, 0));
	EXPECT_EQ(0, memcmp(text, "gone", 4));
	close(got);
	/* one without a file */
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	ASSERT_EQ(1, post(t, 0, 0));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	EXPECT_EQ(-1, self->w[0]->work[0].fd);
}

/* What could hold dxk's own descriptors is refused, what is not open too. */
TEST_F(work, files_that_are_refused)
{
	struct dxt *t = &self->t;
	int fd[2];

	START(0);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	EXPECT_EQ(-ELOOP, post_file(t, fd[0], 0, 0, 0));
	close(fd[0]);
	EXPECT_EQ(-EBADF, post_file(t, fd[0], 0, 0, 0));
	close(fd[1]);
	EXPECT_EQ(-EBADF, post_file(t, -1, 0, 0, 0));
	fd[0] = epoll_create1(0);
	EXPECT_EQ(-ELOOP, post_file(t, fd[0], 0, 0, 0));
	close(fd[0]);
	EXPECT_EQ(-ELOOP, post_file(t, t->ctx, 0, 0, 0));
	EXPECT_EQ(-ELOOP, post_file(t, t->ctl, 0, 0, 0));
	EXPECT_EQ(-ELOOP, post_file(t, t->member, 0, 0, 0));
	EXPECT_EQ(0, dxt_num(t, "stats/posts"));
}

/* The digest as sha256sum tells it. */
static bool sha256sum(const char *path, char hex[65])
{
	char cmd[PATH_MAX + 64];
	FILE *f;
	bool ok;

	snprintf(cmd, sizeof(cmd), "sha256sum %s", path);
	f = popen(cmd, "r");
	ok = f && fscanf(f, "%64s", hex) == 1;
	return !(f && pclose(f)) && ok && strlen(hex) == 64;
}

/* Has a kernel worker compute the digest. */
static int kernel_sha256(struct dxt *t, int fd, uint64_t exec, char hex[65])
{
	unsigned char digest[32];
	struct dxk_result r;
	unsigned int answer, i;

	if (post_file(t, fd, exec, PXR_KERNEL, 32) != 1 ||
	    dxk_rejoin(t->member, 1, &r, 1, 1, digest, 32, -1, &answer) != 1)
		return -EIO;
	if (!r.status && r.data_len == 32)
		for (i = 0; i < 32; i++)
			sprintf(hex + 2 * i, "%02x", digest[i]);
	return r.status;
}

/* The kernel executor sha256 and sha256sum agree on real files and odd sizes. */
TEST_F(work, file_to_a_kernel_worker)
{
	static const char *const path[] = {
		"/proc/self/exe", "/etc/passwd", "/bin/ls",
	};
	static const unsigned int size[] = { 0, 1, 55, 56, 64, 4095, 32768, 300003 };
	struct dxt *t = &self->t;
	char theirs[65], ours[65], name[PATH_MAX];
	uint64_t sha256;
	unsigned int i, k;
	ssize_t n;
	int fd;

	if (dxk_executor_find(t->ctl, "sha256", &sha256))
		SKIP(return, "no executors loaded");
	t->policy.kernel_threads = 2;
	START(0);
	for (i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		fd = open(path[i], O_RDONLY | O_CLOEXEC);
		ASSERT_GE(fd, 0);
		/* where the descriptor stands does not matter and does not move */
		ASSERT_EQ(3, lseek(fd, 3, SEEK_SET));
		ASSERT_EQ(0, kernel_sha256(t, fd, sha256, ours));
		EXPECT_EQ(3, lseek(fd, 0, SEEK_CUR));
		snprintf(name, sizeof(name), "/proc/%d/fd/%d", getpid(), fd);
		ASSERT_TRUE(sha256sum(name, theirs));
		EXPECT_STREQ(theirs, ours);
		close(fd);
	}
	for (i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		fd = memfd_create("dxk-test", 0);
		ASSERT_GE(fd, 0);
		for (k = 0; k < size[i]; k += n) {
			char block[4096];

			memset(block, 'a' + k % 26, sizeof(block));
			n = size[i] - k < sizeof(block) ? size[i] - k : sizeof(block);
			ASSERT_EQ(n, write(fd, block, n));
		}
		ASSERT_EQ(0, kernel_sha256(t, fd, sha256, ours));
		snprintf(name, sizeof(name), "/proc/%d/fd/%d", getpid(), fd);
		ASSERT_TRUE(sha256sum(name, theirs));
		EXPECT_STREQ(theirs, ours);
		close(fd);
	}
	/* and what cannot be read tells so in its status */
	fd = open("/tmp", O_RDONLY | O_CLOEXEC);
	EXPECT_EQ(-EISDIR, kernel_sha256(t, fd, sha256, ours));
	close(fd);
}
