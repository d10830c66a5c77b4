// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that cannot be read or written, files that cannot be installed, and, on
 * the debug kernel, every allocation and every copy failing in turn: each request
 * is executed and returned once, neither lost nor doubled.
 */
#include "lib/dxt.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE	4096
#define OWNER	2
#define DATA	64

FIXTURE(fault) {
	struct dxt t;
	int me;		/* a worker, which posts and collects as well */
	char *page;	/* writable; behind it one that nobody can touch */
	char *wall;
};

FIXTURE_SETUP(fault)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.max_threads = 2;
	self->t.policy.data_size = DATA;
	ASSERT_EQ(0, dxt_start(&self->t));
	close(self->t.member);
	self->me = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, NULL);
	self->t.member = self->me;
	ASSERT_LE(0, self->me);
	self->page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->page);
	self->wall = self->page + PAGE;
	ASSERT_EQ(0, mprotect(self->wall, PAGE, PROT_NONE));
}

FIXTURE_TEARDOWN(fault)
{
	dxt_down(&self->t);
}

/* @nr requests with params 0.., a byte pattern of their own as data. */
static int post_data(int me, unsigned int nr, uint64_t first)
{
	struct dxk_post_entry e[DXK_BATCH_MAX];
	unsigned char data[DXK_BATCH_MAX][DATA];
	struct dxk_post post;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		memset(data[i], (int)(first + i + 1), DATA);
		e[i] = dxt_entry(OWNER, DXT_NOP, first + i, PXR_REJOIN);
		e[i].data = DXT_PTR(data[i]);
		e[i].data_len = e[i].result_len = DATA;
	}
	return dxt_post(me, e, nr, 0, &post);
}

/* Fetch and complete @nr requests, data to data, status 1000 + param. */
static int execute(int me, unsigned int nr)
{
	unsigned char data[DATA];
	struct dxk_work work;
	struct dxk_done done = { .data = DXT_PTR(data), .data_len = DATA };
	unsigned int i;
	int rc;

	for (i = 0; i < nr; i++) {
		rc = dxk_next(me, NULL, 0, NULL, &work, 1, data, DATA, 0);
		if (rc != 1)
			return rc;
		if (data[0] != (unsigned char)(work.param + 1) ||
		    memcmp(data, data + 1, DATA - 1))
			return -EIO;
		done.ticket = work.ticket;
		done.status = 1000 + (int)work.param;
		rc = dxk_next(me, &done, 1, NULL, NULL, 0, NULL, 0, 0);
		if (rc)
			return rc;
	}
	return 0;
}

/* A result buffer that is not there: EFAULT, and the result is still there. */
TEST_F(fault, result_buffers)
{
	struct dxk_result *result, good[4];
	unsigned char data[4][DATA];
	unsigned int answer, i, nr;
	int rc;

	ASSERT_EQ(4, post_data(self->me, 4, 0));
	ASSERT_EQ(0, execute(self->me, 4));

	/* none of it, read-only, the last byte not */
	EXPECT_EQ(-EFAULT, dxk_rejoin(self->me, OWNER, (void *)self->wall, 4, 1, NULL, 0,
				      0, NULL));
	ASSERT_EQ(0, mprotect(self->wall, PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, dxk_rejoin(self->me, OWNER, (void *)self->wall, 4, 1, NULL, 0,
				      0, NULL));
	ASSERT_EQ(0, mprotect(self->wall, PAGE, PROT_NONE));
	result = (void *)(self->wall - sizeof(*result) + 1);
	EXPECT_EQ(-EFAULT, dxk_rejoin(self->me, OWNER, result, 4, 1, NULL, 0, 0, NULL));
	/* the data alone */
	EXPECT_EQ(-EFAULT, dxk_rejoin(self->me, OWNER, good, 4, 1, self->wall, DATA, 0,
				      NULL));
	EXPECT_EQ(-EFAULT, dxk_rejoin(self->me, OWNER, good, 4, 1,
				      self->wall - DATA + 1, DATA, 0, NULL));
	/* a slot too small: the result stays, too */
	EXPECT_EQ(-EMSGSIZE, dxk_rejoin(self->me, OWNER, good, 4, 1, data, DATA - 1, 0,
					NULL));
	EXPECT_EQ(4, dxt_num(&self->t, "pools/rejoin_use"));
	EXPECT_EQ(0, dxt_num(&self->t, "stats/collected"));

	/* room for one and a half, then for one and a half slots of data */
	nr = 0;
	result = (void *)(self->wall - sizeof(*result) * 3 / 2);
	rc = dxk_rejoin(self->me, OWNER, result, 4, 1, data, DATA, 0, &answer);
	EXPECT_EQ(1, rc);
	EXPECT_EQ(RJR_RETURNED, answer);
	EXPECT_EQ(0, result[0].param);
	EXPECT_EQ(1000, result[0].status);
	EXPECT_EQ(1, data[0][DATA - 1]);
	nr++;
	rc = dxk_rejoin(self->me, OWNER, good, 4, 1, self->wall - DATA * 3 / 2, DATA, 0,
			&answer);
	EXPECT_EQ(1, rc);
	EXPECT_EQ(1, good[0].param);
	EXPECT_EQ(2, (self->wall - DATA * 3 / 2)[DATA - 1]);
	nr++;
	EXPECT_EQ(2, dxt_num(&self->t, "pools/rejoin_use"));

	/* the rest in order, then nothing */
	rc = dxk_rejoin(self->me, OWNER, good, 4, 1, data, DATA, 0, &answer);
	EXPECT_EQ(2, rc);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(nr + i, good[i].param);
		EXPECT_EQ(nr + i + 1, data[i][0]);
	}
	EXPECT_EQ(0, dxk_rejoin(self->me, OWNER, good, 4, 1, data, DATA, 0, &answer));
	EXPECT_EQ(RJR_NONE_EXIST, answer);
	EXPECT_EQ(4, dxt_num(&self->t, "stats/collected"));
}

/* A page of memory that comes when the test says so; NULL when there is none. */
static char *slow_page(int *uffd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*uffd = (int)syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	area.range.start = (uintptr_t)page;
	area.range.len = PAGE;
	if (page == MAP_FAILED || *uffd < 0 || ioctl(*uffd, UFFDIO_API, &api) ||
	    ioctl(*uffd, UFFDIO_REGISTER, &area))
		return NULL;
	return page;
}

struct collector {
	int ctx;
	struct dxk_result *result;
	int rc;
	uint32_t answer;
};

static void *collect(void *arg)
{
	struct collector *c = arg;
	int me = dxk_member_create(c->ctx, DXK_MEMBER_CLIENT, NULL);

	c->rc = dxk_rejoin(me, OWNER, c->result, 1, 1, NULL, 0, 0, &c->answer);
	close(me);
	return NULL;
}

/*
 * DX-92: while a result is being copied out, be it that the memory comes from a slow
 * disk, its owner has not none: somebody else who asks is told so, and a wait sleeps.
 */
TEST_F(fault, none_exists_after_the_copy)
{
	struct collector c = { .ctx = self->t.ctx };
	struct dxk_result r;
	struct uffdio_zeropage zero = { .range.len = PAGE };
	struct pollfd poll_uffd = { .events = POLLIN };
	struct uffd_msg msg;
	uint32_t answer;
	pthread_t thread;
	int uffd;

	c.result = (void *)slow_page(&uffd);
	ASSERT_NE(NULL, c.result);
	ASSERT_EQ(1, post_data(self->me, 1, 0));
	ASSERT_EQ(0, execute(self->me, 1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, collect, &c));
	poll_uffd.fd = uffd;
	ASSERT_EQ(1, poll(&poll_uffd, 1, dxt_late_ms()));
	ASSERT_EQ(sizeof(msg), read(uffd, &msg, sizeof(msg)));
	EXPECT_EQ(UFFD_EVENT_PAGEFAULT, msg.event);

	EXPECT_EQ(0, dxt_rejoin(self->me, OWNER, &r, 1, 1, 0, &answer));
	EXPECT_EQ(RJR_NONE_READY, answer);
	EXPECT_EQ(0, dxt_rejoin(self->me, OWNER, &r, 1, 1, dxt_in(20 * DXT_MS), &answer));
	EXPECT_EQ(RJR_NONE_READY, answer);
	EXPECT_EQ(1, dxt_num(&self->t, "pools/rejoin_use"));

	zero.range.start = (uintptr_t)c.result;
	EXPECT_EQ(0, ioctl(uffd, UFFDIO_ZEROPAGE, &zero));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, c.rc);
	EXPECT_EQ(RJR_RETURNED, c.answer);
	EXPECT_EQ(1000, c.result->status);
	EXPECT_EQ(0, dxt_rejoin(self->me, OWNER, &r, 1, 1, 0, &answer));
	EXPECT_EQ(RJR_NONE_EXIST, answer);
	close(uffd);
}

/* A worker's buffers: what it could not get goes back and runs, in its place. */
TEST_F(fault, work_buffers)
{
	struct dxk_work *work, good[4];
	unsigned char data[4][DATA];
	struct dxk_result result[8];
	struct dxk_done done[4];
	unsigned int i, taken;
	int rc;

	ASSERT_EQ(4, post_data(self->me, 4, 0));
	EXPECT_EQ(-EFAULT, dxk_next(self->me, NULL, 0, NULL, (void *)self->wall, 1, data,
				    DATA, 0));
	ASSERT_EQ(0, mprotect(self->wall, PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, dxk_next(self->me, NULL, 0, NULL, (void *)self->wall, 1, data,
				    DATA, 0));
	ASSERT_EQ(0, mprotect(self->wall, PAGE, PROT_NONE));
	EXPECT_EQ(-EFAULT, dxk_next(self->me, NULL, 0, NULL, good, 1, self->wall, DATA, 0));
	EXPECT_EQ(-EFAULT, dxk_next(self->me, NULL, 0, NULL, good, 1,
				    self->wall - DATA + 1, DATA, 0));
	EXPECT_EQ(4, dxt_num(&self->t, "stats/put_back"));
	EXPECT_EQ(4, dxt_num(&self->t, "pools/ready_use"));
	EXPECT_EQ(0, dxt_num(&self->t, "pools/thread_busy"));

	/* room for two and a half */
	work = (void *)(self->wall - sizeof(*work) * 5 / 2);
	rc = dxk_next(self->me, NULL, 0, NULL, work, 4, data, DATA, 0);
	EXPECT_EQ(2, rc);
	EXPECT_EQ(2, dxt_num(&self->t, "pools/ready_use"));
	EXPECT_EQ(2, dxt_num(&self->t, "pools/thread_busy"));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(i, work[i].param);
		EXPECT_EQ(i + 1, data[i][5]);
		done[i] = (struct dxk_done){
			.ticket = work[i].ticket, .status = 7,
			.data = DXT_PTR(self->wall), .data_len = DATA,
		};
	}
	/* results that cannot be read, that are too long: nothing is taken */
	EXPECT_EQ(-EFAULT, dxk_next(self->me, done, 2, &taken, NULL, 0, NULL, 0, 0));
	EXPECT_EQ(0, taken);
	done[0].data = DXT_PTR(self->wall - DATA);
	EXPECT_EQ(-EFAULT, dxk_next(self->me, done, 2, &taken, NULL, 0, NULL, 0, 0));
	done[0].data_len = DATA + 1;
	EXPECT_EQ(-EMSGSIZE, dxk_next(self->me, done, 2, &taken, NULL, 0, NULL, 0, 0));
	EXPECT_EQ(2, dxt_num(&self->t, "pools/thread_busy"));
	EXPECT_EQ(0, dxt_num(&self->t, "stats/completions"));

	/* Once a completion is taken the call does not fail, whatever the fetch does. */
	done[0].data_len = DATA;
	memset(self->wall - DATA, 99, DATA);
	EXPECT_EQ(0, dxk_next(self->me, done, 1, &taken, (void *)self->wall, 1, NULL, 0,
			      0));
	EXPECT_EQ(1, taken);
	EXPECT_EQ(1, dxt_num(&self->t, "stats/completions"));
	EXPECT_EQ(2, dxt_num(&self->t, "pools/ready_use"));

	/* another worker gets the rest, in order */
	done[1].data_len = 0;
	EXPECT_EQ(0, dxk_next(self->me, &done[1], 1, &taken, NULL, 0, NULL, 0, 0));
	EXPECT_EQ(0, execute(self->me, 2));
	EXPECT_EQ(4, dxt_rejoin(self->me, OWNER, result, 8, 1, 0, NULL));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(i, result[i].param);
		EXPECT_EQ(i < 2 ? 7 : 1000 + (int)i, result[i].status);
	}
	EXPECT_EQ(0, dxt_num(&self->t, "owners"));
}

/*
 * PXR_FD: EMFILE when the worker's table is full; the request goes back and is
 * executed with its file, which is that of the poster.
 */
TEST_F(fault, no_room_for_file)
{
	struct dxk_post_entry e = dxt_entry(OWNER, DXT_NOP, 0, PXR_REJOIN | PXR_FD);
	struct stat posted, fetched;
	struct rlimit old, none;
	struct dxk_done done = { 0 };
	struct dxk_work work;
	struct dxk_post post;
	int fd;

	fd = open("/proc/self/exe", O_RDONLY);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fstat(fd, &posted));
	e.fd = fd;
	ASSERT_EQ(1, dxt_post(self->me, &e, 1, 0, &post));
	close(fd);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	dxt_poison(&work, sizeof(work));
	EXPECT_EQ(-EMFILE, dxk_next(self->me, NULL, 0, NULL, &work, 1, NULL, 0, 0));
	EXPECT_EQ(-EMFILE, dxk_next(self->me, NULL, 0, NULL, &work, 1, NULL, 0, 0));
	EXPECT_TRUE(dxt_poisoned(&work, sizeof(work)));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	EXPECT_EQ(2, dxt_num(&self->t, "stats/put_back"));
	EXPECT_EQ(1, dxt_num(&self->t, "pools/ready_use"));

	/* a fetch that fails after the file was installed takes it back */
	EXPECT_EQ(-EFAULT, dxk_next(self->me, NULL, 0, NULL, (void *)self->wall, 1, NULL,
				    0, 0));
	EXPECT_EQ(-1, fcntl(fd, F_GETFD));

	ASSERT_EQ(1, dxk_next(self->me, NULL, 0, NULL, &work, 1, NULL, 0, 0));
	EXPECT_LE(0, work.fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(work.fd, F_GETFD));
	ASSERT_EQ(0, fstat(work.fd, &fetched));
	EXPECT_EQ(posted.st_ino, fetched.st_ino);
	EXPECT_EQ(posted.st_dev, fetched.st_dev);
	close(work.fd);
	done.ticket = work.ticket;
	EXPECT_EQ(0, dxk_next(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	EXPECT_EQ(1, dxt_drain(&self->t, self->me, OWNER));
}

/* --- faults by number -------------------------------------------------------- */

#define NR_MAX	2000

struct tally {
	uint64_t posted;			/* params 0..posted-1 */
	unsigned char executed[NR_MAX * 4];
	unsigned char returned[NR_MAX * 4];
};
static struct tally tally;

static int sweep_post(struct dxt *t, int me, unsigned int n, bool *hit)
{
	long long before = dxt_num(t, "stats/posts"), after;
	int rc;

	dxt_fail_nth(n);
	rc = post_data(me, 3, tally.posted);
	*hit = dxt_fail_hit();
	after = dxt_num(t, "stats/posts");
	if (rc > 0)
		tally.posted += (uint64_t)rc;
	return after - before == (rc > 0 ? rc : 0) ? rc : -EIO;
}

/* One fetch and one completion, each with a fault; the repair without. */
static int sweep_next(int me, unsigned int n, bool *hit, bool complete)
{
	unsigned char data[DATA] = { 0 };
	struct dxk_work work = { 0 };
	struct dxk_done done = { .data = DXT_PTR(data), .data_len = DATA };
	unsigned int taken = 0;
	int rc;

	if (!complete)
		dxt_fail_nth(n);
	rc = dxk_next(me, NULL, 0, NULL, &work, 1, data, DATA, 0);
	if (!complete)
		*hit = dxt_fail_hit();
	if (rc != 1)
		return rc;
	if (data[0] != (unsigned char)(work.param + 1))
		return -EIO;
	tally.executed[work.param]++;
	done.ticket = work.ticket;
	if (complete)
		dxt_fail_nth(n);
	rc = dxk_next(me, &done, 1, &taken, NULL, 0, NULL, 0, 0);
	if (complete)
		*hit = dxt_fail_hit();
	if (rc < 0) {
		/* not taken, as it says; or taken, and only the count got lost */
		rc = dxk_next(me, &done, 1, &taken, NULL, 0, NULL, 0, 0);
		if (rc == -ESTALE)
			rc = 0;
	}
	return rc < 0 ? rc : 1;
}

static int sweep_rejoin(int me, unsigned int n, bool *hit)
{
	unsigned char data[3][DATA];
	struct dxk_result result[3];
	int rc, i;

	dxt_fail_nth(n);
	rc = dxk_rejoin(me, OWNER, result, 3, 3, data, DATA, 0, NULL);
	*hit = dxt_fail_hit();
	for (i = 0; i < rc; i++) {
		tally.returned[result[i].param]++;
		if (data[i][DATA - 1] != (unsigned char)(result[i].param + 1))
			return -EIO;
	}
	return rc;
}

/*
 * For n = 1.. until a call gets through without a fault: POST, fetch, completion,
 * REJOIN with the n-th allocation or copy of the thread failing.
 */
TEST_F(fault, each_in_turn)
{
	unsigned int n, faults = 0, i;
	bool hit;
	int rc;

	if (!dxt_faults())
		SKIP(return, "this kernel cannot make allocations and copies fail");
	memset(&tally, 0, sizeof(tally));

	for (hit = true, n = 1; hit && n < NR_MAX; n++) {
		rc = sweep_post(&self->t, self->me, n, &hit);
		EXPECT_TRUE(rc == 3 || (hit && (rc == -ENOMEM || rc == -EFAULT)))
			TH_LOG("post fault %u: %d", n, rc);
		faults += hit;
	}
	EXPECT_EQ(3, rc);
	while (tally.posted < 60)
		ASSERT_EQ(3, sweep_post(&self->t, self->me, 0, &hit));

	for (hit = true, n = 1; hit && n < NR_MAX; n++) {
		rc = sweep_next(self->me, n, &hit, false);
		EXPECT_TRUE(rc == 1 || (hit && (rc == -ENOMEM || rc == -EFAULT)))
			TH_LOG("fetch fault %u: %d", n, rc);
		faults += hit;
	}
	EXPECT_EQ(1, rc);
	for (hit = true, n = 1; hit && n < NR_MAX; n++) {
		rc = sweep_next(self->me, n, &hit, true);
		EXPECT_EQ(1, rc) TH_LOG("completion fault %u", n);
		faults += hit;
	}
	while (sweep_next(self->me, 0, &hit, false) == 1)
		;
	EXPECT_EQ(tally.posted, dxt_num(&self->t, "pools/rejoin_use"));

	for (hit = true, n = 1; hit && n < NR_MAX; n++) {
		rc = sweep_rejoin(self->me, n, &hit);
		EXPECT_TRUE(rc > 0 || (hit && (rc == -ENOMEM || rc == -EFAULT)))
			TH_LOG("rejoin fault %u: %d", n, rc);
		faults += hit;
	}
	while (sweep_rejoin(self->me, 0, &hit) > 0)
		;
	EXPECT_LT(10, faults);
	for (i = 0; i < tally.posted; i++) {
		EXPECT_EQ(1, tally.executed[i]) TH_LOG("request %u", i);
		EXPECT_EQ(1, tally.returned[i]) TH_LOG("request %u", i);
	}
	EXPECT_EQ(0, dxt_num(&self->t, "owners"));
	EXPECT_EQ(tally.posted, dxt_num(&self->t, "stats/posts"));
	EXPECT_EQ(tally.posted, dxt_num(&self->t, "stats/completions"));
	EXPECT_EQ(tally.posted, dxt_num(&self->t, "stats/collected"));
	TH_LOG("%u faults", faults);
}

TEST_HARNESS_MAIN
