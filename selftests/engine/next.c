// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dispatch and execution: when a request is given to whom, of which kind, how often,
 * and what a Runnable does in it (DX-77, DX-79..DX-85, DX-104..DX-106); what travels with
 * a request; how a worker completes and fetches, several in one call.
 */
#include "lib/puppet.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

FIXTURE(next) {
	struct dxt t;
	struct puppet *w[4];
};

FIXTURE_SETUP(next)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	no_periods(&self->t);
	puppet_signals(false);
}

FIXTURE_TEARDOWN(next)
{
	int i;

	for (i = 0; i < 4; i++)
		if (self->w[i])
			puppet_free(self->w[i]);
	dxt_down(&self->t);
}

#define START(workers) ({						\
	ASSERT_EQ(0, dxt_start(&self->t));				\
	puppets_new(&self->t, self->w, workers, DXK_MEMBER_WORKER);	\
	for (int _i = 0; _i < (workers); _i++)				\
		ASSERT_NE(NULL, self->w[_i]);				\
})

static int post(struct dxt *t, uint64_t param, uint32_t attrs)
{
	return dxt_post1(t->member, 1, DXT_NOP, param, attrs, 0, NULL);
}

/* --- when ------------------------------------------------------------------ */

/*
 * DX-77: the worker has it when the post returns, and begins no later than its
 * wake-up takes. With every period an hour long a single move that is left to a
 * period would last for an hour; the bound for all is a minute.
 */
TEST_F(next, dispatch_takes_no_period)
{
	struct dxt *t = &self->t;
	uint64_t begin = dxt_now();
	struct dxk_result r;
	int i;

	START(2);
	for (i = 0; i < times_of(100); i++) {
		/* the worker is there first */
		ASSERT_TRUE(puppet_ask(self->w[0]));
		ASSERT_EQ(1, post(t, i, PXR_REJOIN));
		EXPECT_EQ(0, dxt_num(t, "pools/ready_use"));
		EXPECT_EQ(1, dxt_num(t, "pools/thread_busy"));
		ASSERT_EQ(1, puppet_end(self->w[0]));
		/* the request is there first */
		ASSERT_EQ(1, post(t, i, 0));
		EXPECT_EQ(1, dxt_num(t, "pools/ready_use"));
		ASSERT_FALSE(puppet_ask(self->w[1]));
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
		ASSERT_EQ(0, puppet_finish(self->w[1], 0));
		ASSERT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, 0, NULL));
	}
	EXPECT_LT(dxt_now() - begin, 60 * DXT_SEC);
	EXPECT_EQ(0, dxt_num(t, "stats/missed_wakeups"));
}

/* DX-19: what is posted before there is any worker waits for one. */
TEST_F(next, post_before_any_worker)
{
	struct dxt *t = &self->t;
	int i;

	START(0);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(1, post(t, i, PXR_REJOIN));
	ASSERT_EQ(0, dxt_workers_start(t, 2));
	EXPECT_EQ(20, dxt_drain(t, t->member, 1));
}

/* DX-79, DX-82: the states of a worker; results are there before it is free. */
TEST_F(next, states_of_a_worker)
{
	struct dxt *t = &self->t;
	struct puppet *w;

	START(1);
	w = self->w[0];
	EXPECT_TRUE(dxt_member_is(t, w->id, "away"));
	ASSERT_TRUE(puppet_ask(w));
	EXPECT_TRUE(dxt_member_is(t, w->id, "available"));
	ASSERT_EQ(1, post(t, 0, PXR_REJOIN));
	ASSERT_EQ(1, post(t, 1, 0));
	ASSERT_EQ(1, puppet_end(w));
	EXPECT_TRUE(dxt_member_is(t, w->id, "busy"));
	/* completes one and gets the other in one call */
	ASSERT_FALSE(puppet_next(w, 1, 0, 1, DXK_FOREVER));
	EXPECT_EQ(1, w->work[0].param);
	EXPECT_TRUE(dxt_member_is(t, w->id, "busy"));
	EXPECT_EQ(1, dxt_num(t, "pools/rejoin_use"));
	ASSERT_TRUE(puppet_next(w, 1, 0, 1, DXK_FOREVER));
	EXPECT_TRUE(dxt_member_is(t, w->id, "available"));
	/* the other asked for no rejoin */
	EXPECT_EQ(1, dxt_num(t, "stats/vanished"));
	EXPECT_EQ(1, dxt_num(t, "pools/rejoin_use"));
	EXPECT_EQ(2, dxt_num(t, "threads/%u/executed", w->id));
}

/* The worker that fell idle last is woken first. */
TEST_F(next, idle_workers_are_woken_last_in_first_out)
{
	static const int idle[] = { 2, 0, 3, 1 };
	struct dxt *t = &self->t;
	int i;

	START(4);
	for (i = 0; i < 4; i++)
		ASSERT_TRUE(puppet_ask(self->w[idle[i]]));
	for (i = 3; i >= 0; i--) {
		ASSERT_EQ(1, post(t, i, 0));
		ASSERT_EQ(1, puppet_end(self->w[idle[i]]));
		EXPECT_EQ(i, self->w[idle[i]]->work[0].param);
	}
}

/* A fetch that ends without work: deadline, signal, Stop. */
TEST_F(next, fetch_that_finds_nothing)
{
	struct dxt *t = &self->t;
	struct puppet *w;
	uint64_t begin;

	START(1);
	w = self->w[0];
	puppet_next(w, 0, 0, 1, 0);
	EXPECT_EQ(-ETIMEDOUT, puppet_end(w));
	begin = dxt_now();
	puppet_next(w, 0, 0, 1, dxt_in(50 * DXT_MS));
	EXPECT_EQ(-ETIMEDOUT, puppet_end(w));
	EXPECT_GE(dxt_now() - begin, 45 * DXT_MS);
	ASSERT_TRUE(puppet_ask(w));
	puppet_signal(w);
	EXPECT_EQ(-EINTR, puppet_end(w));
	/* whoever left is not given anything */
	ASSERT_EQ(1, post(t, 0, 0));
	EXPECT_EQ(1, dxt_num(t, "pools/ready_use"));
	ASSERT_EQ(1, puppet_fetch(w));
	ASSERT_EQ(0, puppet_finish(w, 0));
	ASSERT_TRUE(puppet_ask(w));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	EXPECT_EQ(-ESHUTDOWN, puppet_end(w));
}

/* --- how often, by whom ---------------------------------------------------- */

#define MANY	600

static _Atomic unsigned int times[MANY], by[5];

static int exe_times(struct dxt_call *call)
{
	times[call->work.param]++;
	by[call->worker->id]++;
	return (int)call->work.param;
}

/* DX-80, DX-84, DX-81, DX-85: once per post, by any worker, status kept. */
TEST_F(next, each_post_is_one_execution)
{
	struct dxk_result r[64];
	struct dxt *t = &self->t;
	int i, rc, got = 0;
	uint32_t answer;

	memset((void *)times, 0, sizeof(times));
	START(0);
	ASSERT_EQ(0, dxt_workers_start(t, 4));
	for (i = 0; i < 2 * MANY; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, DXT_FN(exe_times), i % MANY,
				       PXR_REJOIN | PXR_WAITIF_BUSY, DXK_FOREVER,
				       NULL));
	while ((rc = dxt_rejoin(t->member, 1, r, 64, 1, DXK_FOREVER, &answer)) > 0) {
		for (i = 0; i < rc; i++)
			EXPECT_EQ((int)r[i].param, r[i].status);
		got += rc;
	}
	EXPECT_EQ(RJR_NONE_EXIST, answer);
	EXPECT_EQ(2 * MANY, got);
	/* two posts of the same object are two executions */
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(2, times[i]);
	EXPECT_EQ(2 * MANY, by[1] + by[2] + by[3] + by[4]);
}

/* DX-85: any status. */
TEST_F(next, status_is_delivered)
{
	static const int status[] = { 0, 1, -1, -5, INT_MAX, INT_MIN, -ECANCELED };
	struct dxt *t = &self->t;
	struct dxk_result r;
	unsigned int i;

	START(1);
	for (i = 0; i < sizeof(status) / sizeof(status[0]); i++) {
		ASSERT_EQ(1, post(t, i, PXR_REJOIN));
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		ASSERT_EQ(0, puppet_finish(self->w[0], status[i]));
		ASSERT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, 0, NULL));
		EXPECT_EQ(status[i], r.status);
	}
}

/* --- two kinds of worker --------------------------------------------------- */

/* One pool for both kinds; a request is executed by the kind it asks for. */
TEST_F(next, kernel_and_user_workers)
{
	struct dxt *t = &self->t;
	struct dxk_post_entry e;
	struct dxk_result r[40];
	unsigned char data[40][8];
	struct dxk_post p;
	unsigned int answer, i;
	uint64_t echo;

	if (dxk_executor_find(t->ctl, "echo", &echo))
		SKIP(return, "no executors loaded");
	t->policy.kernel_threads = 2;
	START(0);
	ASSERT_EQ(0, dxt_workers_start(t, 2));
	for (i = 0; i < 40; i++) {
		e = dxt_entry(1, i & 1 ? echo : DXT_ECHO, i,
			      PXR_REJOIN | (i & 1 ? PXR_KERNEL : 0));
		e.data = DXT_PTR(&i);
		e.data_len = sizeof(i);
		e.result_len = 8;
		ASSERT_EQ(1, dxt_post(t->member, &e, 1, 0, &p));
	}
	ASSERT_EQ(40, dxk_rejoin(t->member, 1, r, 40, 40, data, 8, -1, &answer));
	for (i = 0; i < 40; i++) {
		unsigned int k;

		EXPECT_EQ(4, r[i].data_len);
		memcpy(&k, data[i], 4);
		EXPECT_EQ(r[i].param, k);
		EXPECT_EQ(0, r[i].status);
		/* ids: 1, 2 are kernel workers, 3, 4 user workers */
		EXPECT_EQ(!!(r[i].attrs & PXR_KERNEL), r[i].worker <= 2);
		EXPECT_GE(r[i].worker, 1);
		EXPECT_LE(r[i].worker, 4);
	}
}

/* Requests of one kind that find no worker do not stand in the other's way. */
TEST_F(next, kinds_do_not_block_each_other)
{
	struct dxt *t = &self->t;
	uint64_t nop;
	int i;

	if (dxk_executor_find(t->ctl, "nop", &nop))
		SKIP(return, "no executors loaded");
	t->policy.kernel_threads = 1;
	START(1);
	/* nobody fetches these */
	for (i = 0; i < 5; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 2, 0, i, 0, 0, NULL));
	for (i = 0; i < 50; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, nop, i, PXR_KERNEL | PXR_REJOIN,
				       0, NULL));
	EXPECT_EQ(50, dxt_drain(t, t->member, 1));
	EXPECT_EQ(5, dxt_num(t, "pools/ready_use"));
	/* an idle user worker takes user requests only */
	EXPECT_EQ(-ENOENT, dxt_post1(t->member, 1, ~0ULL, 0, PXR_KERNEL, 0, NULL));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		EXPECT_EQ(i, self->w[0]->work[0].param);
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	}
}

/* --- runnable objects ------------------------------------------------------ */

#define SUBS	4

static pthread_barrier_t together;
static _Atomic unsigned int collected, wrong;

/* One executor for the top-level request and its parts, told by the param. */
static int exe_run(struct dxt_call *call)
{
	struct dxk_result r[SUBS];
	uint32_t answer;
	int i, rc, got = 0;

	if (call->work.param) {
		/* passes only while all parts execute at once */
		pthread_barrier_wait(&together);
		return (int)call->work.param;
	}
	for (i = 1; i <= SUBS; i++)
		wrong += dxt_post1(call->worker->member, 77, call->work.executor, i,
				   PXR_REJOIN, 0, NULL) != 1;
	do {
		rc = dxt_rejoin(call->worker->member, 77, r, SUBS, 1, DXK_FOREVER,
				&answer);
		for (i = 0; i < rc; i++)
			wrong += r[i].status != (int)r[i].param;
		got += rc > 0 ? rc : 0;
	} while (rc > 0);
	wrong += rc < 0 || answer != RJR_NONE_EXIST;
	collected = got;
	return 0;
}

/*
 * DX-104, DX-105, DX-106: main posts the top, it posts parts for itself, they run
 * in parallel, it collects them and hears that none is left, and so does main.
 */
TEST_F(next, sequence_of_a_runnable)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	uint32_t answer;

	t->policy.max_threads = SUBS + 1;
	pthread_barrier_init(&together, NULL, SUBS);
	START(0);
	ASSERT_EQ(0, dxt_workers_start(t, SUBS + 1));
	ASSERT_EQ(1, dxt_post1(t->member, 1, DXT_FN(exe_run), 0, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, dxt_late(),
				&answer));
	EXPECT_EQ(0, r.status);
	EXPECT_EQ(SUBS, collected);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(RJR_NONE_EXIST, poll_owner(t, 1));
	EXPECT_EQ(SUBS + 1, dxt_num(t, "pools/thread_high_water"));
}

/* --- data ------------------------------------------------------------------ */

/* Up to data_size bytes in and out, lengths kept, no byte changed. */
TEST_F(next, data_in_and_out)
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
TEST_F(next, data_slots_must_have_room)
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
TEST_F(next, request_holds_its_file)
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
	/* its result lies there, its file does not */
	EXPECT_TRUE(DXT_UNTIL(t, poll(&reader, 1, 0) == 1));
	EXPECT_EQ(POLLHUP, reader.revents);
	ASSERT_EQ(RJR_RETURNED, poll_owner(t, 1));
	close(fd[0]);
}

/*
 * DX-42: a request that nobody collects is gone, and its file with it, when a kernel worker
 * has executed it, not when the worker has something else to do.
 */
TEST_F(next, idle_kernel_worker_holds_no_file)
{
	struct dxk_post_entry e = dxt_entry(1, 0, 0, PXR_FD | PXR_KERNEL);
	struct pollfd reader = { .events = POLLIN };
	struct dxt *t = &self->t;
	struct dxk_post p;
	uint64_t nop;
	int fd[2];

	if (dxk_executor_find(t->ctl, "nop", &nop))
		SKIP(return, "no executors loaded");
	t->policy.kernel_threads = 1;
	START(0);
	ASSERT_EQ(0, pipe2(fd, O_CLOEXEC));
	reader.fd = fd[0];
	e.executor = nop;
	e.fd = fd[1];
	ASSERT_EQ(1, dxt_post(t->member, &e, 1, 0, &p));
	close(fd[1]);
	EXPECT_TRUE(DXT_UNTIL(t, poll(&reader, 1, 0) == 1));
	EXPECT_TRUE(DXT_UNTIL(t, dxt_member_is(t, 1, "available")));
	EXPECT_EQ(0, dxt_num(t, "owners"));
	close(fd[0]);
}

/* The worker has the same open file: offset shared, poster's descriptor gone. */
TEST_F(next, file_to_a_user_worker)
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
TEST_F(next, files_that_are_refused)
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
TEST_F(next, file_to_a_kernel_worker)
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

/*
 * PXR_FD: EMFILE when the worker's table is full; the request goes back and is
 * executed with its file, which is that of the poster.
 */
TEST_F(next, no_room_for_file)
{
	struct dxk_post_entry e = dxt_entry(1, DXT_NOP, 0, PXR_REJOIN | PXR_FD);
	struct stat posted, fetched;
	struct rlimit old, none;
	struct dxk_done done = { 0 };
	struct dxk_work work;
	struct dxt *t = &self->t;
	struct dxk_post post;
	int fd, me;

	/* its own: a puppet needs descriptors to be looked at */
	START(0);
	me = dxk_member_create(t->ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, me);
	fd = open("/proc/self/exe", O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fstat(fd, &posted));
	e.fd = fd;
	ASSERT_EQ(1, dxt_post(t->member, &e, 1, 0, &post));
	close(fd);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	dxt_poison(&work, sizeof(work));
	EXPECT_EQ(-EMFILE, dxk_next(me, NULL, 0, NULL, &work, 1, NULL, 0, 0));
	EXPECT_EQ(-EMFILE, dxk_next(me, NULL, 0, NULL, &work, 1, NULL, 0, 0));
	EXPECT_TRUE(dxt_poisoned(&work, sizeof(work)));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	EXPECT_EQ(2, dxt_num(t, "stats/put_back"));
	EXPECT_EQ(1, dxt_num(t, "pools/ready_use"));

	/* a fetch that fails after the file was installed takes it back */
	EXPECT_EQ(-EFAULT, dxk_next(me, NULL, 0, NULL, (void *)8, 1, NULL, 0, 0));
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));

	ASSERT_EQ(1, dxk_next(me, NULL, 0, NULL, &work, 1, NULL, 0, 0));
	EXPECT_LE(0, work.fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(work.fd, F_GETFD));
	ASSERT_EQ(0, fstat(work.fd, &fetched));
	EXPECT_EQ(posted.st_ino, fetched.st_ino);
	EXPECT_EQ(posted.st_dev, fetched.st_dev);
	close(work.fd);
	done.ticket = work.ticket;
	EXPECT_EQ(0, dxk_next(me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	EXPECT_EQ(1, dxt_drain(t, t->member, 1));
	close(me);
}

/* --- complete n and fetch m ------------------------------------------------ */

/* In one call: the completions are taken first, then comes what is next. */
TEST_F(next, complete_and_fetch_in_one_call)
{
	struct dxt *t = &self->t;
	struct dxk_result r[8];
	struct puppet *w;
	int i;

	START(1);
	w = self->w[0];
	for (i = 0; i < 8; i++)
		ASSERT_EQ(1, post(t, i, PXR_REJOIN));
	ASSERT_FALSE(puppet_next(w, 0, 0, 4, DXK_FOREVER));
	ASSERT_EQ(4, w->ret);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(i, w->work[i].param);
	EXPECT_EQ(4, dxt_num(t, "pools/ready_use"));
	/* completes three of four, in any order it likes */
	ASSERT_FALSE(puppet_next(w, 3, 7, 8, DXK_FOREVER));
	EXPECT_EQ(3, w->next.nr_taken);
	ASSERT_EQ(4, w->ret);
	ASSERT_EQ(5, w->held);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(3 + i, w->work[i].param);
	ASSERT_EQ(0, puppet_finish(w, 0));
	ASSERT_EQ(8, dxt_rejoin(t->member, 1, r, 8, 8, 0, NULL));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(i, r[i].param);
}

/* More than one only in its share of the backlog, and while nobody is idle. */
TEST_F(next, fetch_of_several_leaves_the_others_their_share)
{
	struct dxk_post_entry e[10];
	struct dxt *t = &self->t;
	struct dxk_post p;
	int i;

	START(3);
	for (i = 0; i < 10; i++)
		e[i] = dxt_entry(1, 0, i, 0);
	/* two idle workers, four requests: one each in the first round */
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(puppet_next(self->w[i], 0, 0, 8, DXK_FOREVER));
	ASSERT_EQ(4, dxt_post(t->member, e, 4, 0, &p));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, puppet_end(self->w[i]));
	EXPECT_EQ(2, dxt_num(t, "pools/ready_use"));
	/* eight Ready, three workers: a share is three */
	ASSERT_EQ(6, dxt_post(t->member, e + 4, 6, 0, &p));
	ASSERT_FALSE(puppet_next(self->w[2], 0, 0, 8, DXK_FOREVER));
	EXPECT_EQ(3, self->w[2]->ret);
	/* five are left: two */
	ASSERT_FALSE(puppet_next(self->w[0], 1, 0, 8, DXK_FOREVER));
	EXPECT_EQ(2, self->w[0]->ret);
}

/* Lanes 0..2 wait for others, so none is held behind another. */
TEST_F(next, only_lane_three_is_taken_ahead)
{
	struct dxk_post_entry e[] = {
		prio_entry(1, 0, 9, 0), prio_entry(1, 1, 8, PXR_LANE2),
		prio_entry(1, 2, 7, 0), prio_entry(1, 3, 6, 0),
	};
	struct dxt *t = &self->t;
	struct dxk_post p;

	START(1);
	ASSERT_EQ(4, dxt_post(t->member, e, 4, 0, &p));
	ASSERT_FALSE(puppet_next(self->w[0], 0, 0, 8, DXK_FOREVER));
	EXPECT_EQ(1, self->w[0]->ret);
	EXPECT_EQ(0, self->w[0]->work[0].param);
	ASSERT_FALSE(puppet_next(self->w[0], 1, 0, 8, DXK_FOREVER));
	EXPECT_EQ(1, self->w[0]->ret);
	EXPECT_EQ(1, self->w[0]->work[0].param);
	ASSERT_FALSE(puppet_next(self->w[0], 1, 0, 8, DXK_FOREVER));
	EXPECT_EQ(2, self->w[0]->ret);
	EXPECT_EQ(2, self->w[0]->work[0].param);
	EXPECT_EQ(3, self->w[0]->work[1].param);
}

/* A completion answers a dispatch that this worker holds, once. */
TEST_F(next, stale_completions)
{
	struct dxt *t = &self->t;
	struct dxk_work mine, others;
	struct puppet *w;

	START(2);
	w = self->w[0];
	ASSERT_EQ(1, post(t, 0, PXR_REJOIN));
	ASSERT_EQ(1, post(t, 1, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(w));
	ASSERT_EQ(1, puppet_fetch(self->w[1]));
	mine = w->work[0];
	others = self->w[1]->work[0];
	EXPECT_NE(mine.ticket, others.ticket);

	w->work[0] = others;
	puppet_next(w, 1, 0, 0, 0);
	EXPECT_EQ(-ESTALE, puppet_end(w));
	w->work[0].ticket = 0;
	puppet_next(w, 1, 0, 0, 0);
	EXPECT_EQ(-ESTALE, puppet_end(w));
	EXPECT_EQ(2, dxt_num(t, "stats/stale"));
	EXPECT_EQ(2, dxt_num(t, "pools/thread_busy"));

	/* the first is taken, its repetition is not */
	w->work[0] = mine;
	w->work[1] = mine;
	w->held = 2;
	puppet_next(w, 2, 0, 0, 0);
	EXPECT_EQ(0, puppet_end(w));
	EXPECT_EQ(1, w->next.nr_taken);
	w->held = 0;
	EXPECT_EQ(1, dxt_num(t, "pools/rejoin_use"));
	EXPECT_EQ(3, dxt_num(t, "stats/stale"));
}

/* What cannot be handed to the worker goes back to its place, not lost. */
TEST_F(next, request_that_cannot_be_fetched_goes_back)
{
	struct dxt *t = &self->t;
	struct puppet *w;
	int i;

	START(1);
	w = self->w[0];
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, post(t, i, 0));
	puppet_next(w, 0, 0, 1, 0);
	ASSERT_EQ(1, puppet_end(w));
	EXPECT_EQ(0, w->work[0].param);
	ASSERT_EQ(0, puppet_finish(w, 0));
	/* nowhere to write to */
	w->next = (struct dxk_next){
		.size = sizeof(w->next),
		.work = 8,
		.nr_work = 2,
		.work_size = sizeof(w->work[0]),
	};
	puppet_begin(w, puppet_call_next);
	EXPECT_EQ(-EFAULT, puppet_end(w));
	EXPECT_EQ(2, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(0, dxt_num(t, "pools/thread_busy"));
	EXPECT_EQ(2, dxt_num(t, "stats/put_back"));
	for (i = 1; i < 3; i++) {
		ASSERT_EQ(1, puppet_fetch(w));
		EXPECT_EQ(i, w->work[0].param);
		EXPECT_EQ(0, w->work[0].inspect_count);
		ASSERT_EQ(0, puppet_finish(w, 0));
	}
}

/* Once a completion is taken the call does not fail, whatever the fetch does. */
TEST_F(next, completion_is_taken_whatever_the_fetch_does)
{
	struct dxt *t = &self->t;
	struct puppet *w;
	unsigned int i;

	START(1);
	w = self->w[0];
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, post(t, i, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(w));
	w->done[0] = (struct dxk_done){ .ticket = w->work[0].ticket };
	w->next = (struct dxk_next){
		.size = sizeof(w->next),
		.done = DXT_PTR(w->done),
		.nr_done = 1,
		.done_size = sizeof(w->done[0]),
		.work = 8,
		.nr_work = 1,
		.work_size = sizeof(w->work[0]),
	};
	puppet_begin(w, puppet_call_next);
	EXPECT_EQ(0, puppet_end(w));
	EXPECT_EQ(1, w->next.nr_taken);
	EXPECT_EQ(1, dxt_num(t, "stats/completions"));
	EXPECT_EQ(1, dxt_num(t, "stats/put_back"));
	EXPECT_EQ(1, dxt_num(t, "pools/ready_use"));
	ASSERT_EQ(1, puppet_fetch(w));
	EXPECT_EQ(1, w->work[0].param);
	ASSERT_EQ(0, puppet_finish(w, 0));
	EXPECT_EQ(2, dxt_drain(t, t->member, 1));
}

TEST_HARNESS_MAIN
