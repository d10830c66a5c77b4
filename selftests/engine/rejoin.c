// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rejoin: the three answers, what counts for an owner and for how long (DX-49..DX-55,
 * DX-87..DX-95); waits for results, and their ends; a Rejoin Pool that is full (DX-96,
 * D-7).
 *
 * Puppet workers hold each request where the test wants it.
 */
#include "lib/puppet.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define OWNER	0x1234
#define PAGE	4096

FIXTURE(rejoin) {
	struct dxt t;
	struct puppet *w[4];	/* workers */
	struct puppet *p;	/* a second client */
};

FIXTURE_SETUP(rejoin)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	no_periods(&self->t);
	puppet_signals(false);
}

FIXTURE_TEARDOWN(rejoin)
{
	int i;

	if (self->p)
		puppet_free(self->p);
	for (i = 0; i < 4; i++)
		if (self->w[i])
			puppet_free(self->w[i]);
	dxt_down(&self->t);
}

#define START(workers) ({						\
	ASSERT_EQ(0, dxt_start(&self->t));				\
	puppets_new(&self->t, self->w, workers, DXK_MEMBER_WORKER);	\
	self->p = puppet_new(&self->t, DXK_MEMBER_CLIENT);		\
	ASSERT_NE(NULL, self->p);					\
})

static int post(struct dxt *t, uint64_t owner, uint64_t param, uint32_t attrs)
{
	return dxt_post1(t->member, owner, 0, param, attrs, 0, NULL);
}

/* One poll: the answer, and the request that came back. */
static uint32_t rejoin(struct dxt *t, uint64_t owner, struct dxk_result *r)
{
	uint32_t answer = 0;
	int rc = dxt_rejoin(t->member, owner, r, 1, 1, 0, &answer);

	return rc == (answer == RJR_RETURNED) ? answer : 0;
}

/* Posts @nr rejoinable requests and has them executed, statuses 0, 1, .. */
static int complete(struct dxt *t, struct puppet *w, uint64_t owner, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (post(t, owner, i, PXR_REJOIN) != 1 || puppet_fetch(w) != 1 ||
		    puppet_finish(w, i))
			return -1;
	return 0;
}

/* --- the answers ----------------------------------------------------------- */

/* Probe 4. DX-89 (case 2b), DX-88 (2a), DX-87 (1), DX-90 (3), DX-91, DX-55. */
TEST_F(rejoin, cases_one_after_the_other)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	int round;

	START(1);
	/* again and again: an owner may be used again and starts from zero */
	for (round = 0; round < 5; round++) {
		EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, OWNER, &r));
		ASSERT_EQ(1, post(t, OWNER, round, PXR_REJOIN));
		EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
		ASSERT_EQ(0, puppet_finish(self->w[0], round));
		ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r));
		EXPECT_EQ(round, r.param);
		EXPECT_EQ(round, r.status);
		EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, OWNER, &r));
		EXPECT_EQ(0, dxt_num(t, "owners"));
		EXPECT_EQ(0, dxt_num(t, "pools/rejoin_use"));
	}
	EXPECT_EQ(0, dxt_num(t, "stats/rejoin_blocks"));
	EXPECT_EQ(10, dxt_num(t, "stats/rejoin_none_exist"));
	EXPECT_EQ(10, dxt_num(t, "stats/rejoin_none_ready"));
	EXPECT_EQ(5, dxt_num(t, "stats/rejoin_returned"));
}

/* DX-54, DX-49: any number is an owner, 0 too; a poll does not make one. */
TEST_F(rejoin, owner_is_an_opaque_number)
{
	static const uint64_t owner[] = {
		0, 1, ~0ULL, 0x8000000000000000, 0xffff888000000000, 0x100000001,
	};
	struct dxt *t = &self->t;
	struct dxk_result r;
	unsigned int i;

	START(1);
	for (i = 0; i < 6; i++)
		EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, owner[i], &r));
	EXPECT_EQ(0, dxt_num(t, "owners"));
	for (i = 0; i < 6; i++)
		ASSERT_EQ(0, complete(t, self->w[0], owner[i], 1));
	EXPECT_EQ(6, dxt_num(t, "owners"));
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(RJR_RETURNED, rejoin(t, owner[i], &r));
		EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, owner[i], &r));
	}
}

/* DX-50: an owner gets its own requests and no others. */
TEST_F(rejoin, owners_do_not_mix)
{
	struct dxk_result r[16];
	struct dxt *t = &self->t;
	uint32_t answer;
	uint64_t o;
	int i;

	START(1);
	for (i = 0; i < 12; i++)
		ASSERT_EQ(1, post(t, 100 + i % 3, i, PXR_REJOIN));
	for (i = 0; i < 12; i++) {
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	}
	for (o = 102; o >= 100; o--) {
		ASSERT_EQ(4, dxt_rejoin(t->member, o, r, 16, 1, 0, &answer));
		EXPECT_EQ(RJR_RETURNED, answer);
		for (i = 0; i < 4; i++)
			EXPECT_EQ(o - 100 + 3 * i, r[i].param);
		/* beyond the count nothing was written */
		EXPECT_TRUE(dxt_poisoned(&r[4], 12 * sizeof(r[0])));
		EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, o, r));
	}
}

/* DX-51: a parent's children are counted for it, it itself for its own owner. */
TEST_F(rejoin, parent_does_not_count_for_itself)
{
	enum { FEW = 5 };
	struct dxt *t = &self->t;
	const uint64_t grand = 1, parent = 2;
	struct dxk_result r;
	struct puppet *w;
	int i;

	START(2);
	w = self->w[0];
	ASSERT_EQ(1, post(t, grand, 0, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(w));
	for (i = 0; i < FEW; i++)
		ASSERT_EQ(1, dxt_post1(t->member, parent, 0, i, PXR_REJOIN, 0, NULL));
	for (i = 0; i < FEW; i++) {
		ASSERT_EQ(1, puppet_fetch(self->w[1]));
		ASSERT_EQ(0, puppet_finish(self->w[1], 0));
	}
	/* it polls itself, while it executes */
	for (i = 0; i < FEW; i++) {
		puppet_rejoin(w, parent, 1, 1, 0);
		ASSERT_EQ(1, puppet_end(w));
		EXPECT_EQ(RJR_RETURNED, w->rejoin.answer);
	}
	puppet_rejoin(w, parent, 1, 1, 0);
	ASSERT_EQ(0, puppet_end(w));
	EXPECT_EQ(RJR_NONE_EXIST, w->rejoin.answer);
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, grand, &r));
	EXPECT_EQ(0, dxt_num(t, "stats/self_poll"));
	ASSERT_EQ(0, puppet_finish(w, 0));
	EXPECT_EQ(RJR_RETURNED, rejoin(t, grand, &r));
}

/* DX-52, D-23: who polls the owner it belongs to sees itself; a wait is a deadlock. */
TEST_F(rejoin, poll_of_the_own_owner)
{
	struct dxt *t = &self->t;
	struct puppet *w;
	int i;

	START(2);
	w = self->w[0];
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(w));
	for (i = 1; i <= 3; i++) {
		puppet_rejoin(w, OWNER, 1, 1, 0);
		ASSERT_EQ(0, puppet_end(w));
		EXPECT_EQ(RJR_NONE_READY, w->rejoin.answer);
		EXPECT_EQ(i, dxt_num(t, "stats/self_poll"));
	}
	ASSERT_FALSE(puppet_rejoin(w, OWNER, 1, 1, DXK_FOREVER));
	EXPECT_EQ(-EDEADLK, w->ret);

	/* while others of that owner live there is something to wait for */
	ASSERT_EQ(1, post(t, OWNER, 1, 0));
	ASSERT_TRUE(puppet_rejoin(w, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_EQ(1, puppet_fetch(self->w[1]));
	EXPECT_TRUE(puppet_sleeps(w));
	/* it vanishes: only the poller itself is left */
	ASSERT_EQ(0, puppet_finish(self->w[1], 0));
	EXPECT_EQ(-EDEADLK, puppet_end(w));
}

/* DX-53: who asks for no rejoin counts while it lives, and never comes back. */
TEST_F(rejoin, non_rejoinable_counts_while_it_lives)
{
	struct dxt *t = &self->t;
	struct dxk_result r;

	START(2);
	ASSERT_EQ(1, post(t, OWNER, 0, 0));
	ASSERT_EQ(1, post(t, OWNER, 1, 0));
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(1, puppet_fetch(self->w[1]));
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
	ASSERT_EQ(0, puppet_finish(self->w[1], 0));
	EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, OWNER, &r));
	EXPECT_EQ(2, dxt_num(t, "stats/vanished"));
	EXPECT_EQ(0, dxt_num(t, "pools/rejoin_high_water"));
}

/* DX-95: oldest completion first, whatever the order of the posts. */
TEST_F(rejoin, order_is_that_of_completion)
{
	static const int order[] = { 2, 0, 3, 1 };
	struct dxt *t = &self->t;
	struct dxk_result r[4];
	int i;

	START(4);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, post(t, OWNER, i, PXR_REJOIN));
		ASSERT_EQ(1, puppet_fetch(self->w[i]));
	}
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, puppet_finish(self->w[order[i]], 0));
	ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r[0]));
	EXPECT_EQ(2, r[0].param);
	ASSERT_EQ(3, dxt_rejoin(t->member, OWNER, r, 4, 1, 0, NULL));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(order[i + 1], r[i].param);
}

/* DX-94: two pollers, one result: one has it, the other hears what is left. */
TEST_F(rejoin, two_pollers_one_result)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	struct puppet *q;

	START(2);
	q = puppet_new(t, DXK_MEMBER_CLIENT);
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	ASSERT_EQ(1, post(t, OWNER, 1, PXR_REJOIN));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_TRUE(puppet_rejoin(q, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	/* the one who came first; the other sleeps on */
	EXPECT_EQ(1, puppet_end(self->p));
	EXPECT_EQ(0, self->p->result[0].param);
	EXPECT_TRUE(puppet_sleeps(q));
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	EXPECT_EQ(1, puppet_end(q));
	EXPECT_EQ(1, q->result[0].param);
	/* nothing is left to wait for */
	EXPECT_EQ(0, puppet_end(self->p));
	EXPECT_EQ(RJR_NONE_EXIST, self->p->rejoin.answer);
	puppet_free(q);
}

/* DX-87: many threads poll, each result comes back once. */
struct crowd {
	struct dxt *t;
	_Atomic int *got;
	_Atomic int odd;
};

static void *crowd_thread(void *arg)
{
	struct crowd *c = arg;
	int fd = dxk_member_create(c->t->ctx, DXK_MEMBER_CLIENT, NULL);
	struct dxk_result r;
	uint32_t answer;

	while (fd >= 0) {
		int rc = dxt_rejoin(fd, OWNER, &r, 1, 1, 0, &answer);

		if (rc == 1 && answer == RJR_RETURNED)
			c->got[r.param]++;
		else if (!rc && answer == RJR_NONE_EXIST)
			break;
		/* the last ones may be on their way to others */
		else if (rc || answer != RJR_NONE_READY)
			c->odd++;
	}
	close(fd);
	return NULL;
}

TEST_F(rejoin, each_result_is_returned_once)
{
	enum { NR = 200, CROWD = 8 };
	_Atomic int got[NR] = { 0 };
	struct crowd c = { .t = &self->t, .got = got };
	pthread_t thread[CROWD];
	int i;

	START(1);
	ASSERT_EQ(0, complete(&self->t, self->w[0], OWNER, NR));
	for (i = 0; i < CROWD; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, crowd_thread, &c));
	for (i = 0; i < CROWD; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, c.odd);
	for (i = 0; i < NR; i++)
		EXPECT_EQ(1, got[i]);
}

/* A result that cannot be copied out stays where it is, at its place. */
TEST_F(rejoin, result_that_is_not_copied_stays)
{
	struct dxk_post_entry e = dxt_entry(OWNER, 0, 0, PXR_REJOIN);
	struct dxt *t = &self->t;
	struct dxk_result r[2];
	struct dxk_post post;
	char slot[2][8];
	struct puppet *w;
	unsigned int answer;
	int i;

	START(1);
	w = self->w[0];
	for (i = 0; i < 2; i++) {
		e.result_len = i ? 16 : 8;
		e.param = i;
		ASSERT_EQ(1, dxt_post(t->member, &e, 1, 0, &post));
		ASSERT_EQ(1, puppet_fetch(w));
		ASSERT_EQ(0, puppet_finish_data(w, "0123456789abcde", e.result_len));
	}
	/* the first fits, the second does not: a short count, then the error */
	ASSERT_EQ(1, dxk_rejoin(t->member, OWNER, r, 2, 1, slot, 8, 0, &answer));
	EXPECT_EQ(0, memcmp(slot[0], "01234567", 8));
	EXPECT_EQ(-EMSGSIZE, dxk_rejoin(t->member, OWNER, r, 1, 1, slot, 8, 0,
					&answer));
	EXPECT_EQ(-EFAULT, dxk_rejoin(t->member, OWNER, (void *)8, 1, 1, NULL, 0, 0,
				      &answer));
	EXPECT_EQ(1, dxt_num(t, "pools/rejoin_use"));
	ASSERT_EQ(1, dxk_rejoin(t->member, OWNER, r, 1, 1, slot, 16, 0, &answer));
	EXPECT_EQ(1, r[0].param);
	EXPECT_EQ(16, r[0].data_len);
	EXPECT_EQ(RJR_NONE_EXIST, poll_owner(t, OWNER));
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

static void *collect_slowly(void *arg)
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
TEST_F(rejoin, none_exists_after_the_copy)
{
	struct collector c = { .ctx = self->t.ctx };
	struct dxt *t = &self->t;
	struct dxk_result r;
	struct uffdio_zeropage zero = { .range.len = PAGE };
	struct pollfd poll_uffd = { .events = POLLIN };
	struct uffd_msg msg;
	uint32_t answer;
	pthread_t thread;
	int uffd;

	c.result = (void *)slow_page(&uffd);
	ASSERT_NE(NULL, c.result);
	START(1);
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 1000));
	ASSERT_EQ(0, pthread_create(&thread, NULL, collect_slowly, &c));
	poll_uffd.fd = uffd;
	ASSERT_EQ(1, poll(&poll_uffd, 1, dxt_late_ms()));
	ASSERT_EQ(sizeof(msg), read(uffd, &msg, sizeof(msg)));
	EXPECT_EQ(UFFD_EVENT_PAGEFAULT, msg.event);

	EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
	EXPECT_EQ(0, dxt_rejoin(t->member, OWNER, &r, 1, 1, dxt_in(20 * DXT_MS), &answer));
	EXPECT_EQ(RJR_NONE_READY, answer);
	EXPECT_EQ(1, dxt_num(t, "pools/rejoin_use"));

	zero.range.start = (uintptr_t)c.result;
	EXPECT_EQ(0, ioctl(uffd, UFFDIO_ZEROPAGE, &zero));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(1, c.rc);
	EXPECT_EQ(RJR_RETURNED, c.answer);
	EXPECT_EQ(1000, c.result->status);
	EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, OWNER, &r));
	close(uffd);
}

/* --- waits ----------------------------------------------------------------- */

/* DX-91: a wait sleeps until there is a result, not a period longer. */
TEST_F(rejoin, wait_ends_with_the_completion)
{
	struct dxt *t = &self->t;

	START(1);
	ASSERT_EQ(1, post(t, OWNER, 5, PXR_REJOIN));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	EXPECT_TRUE(dxt_member_is(t, self->p->id, "rejoining"));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	EXPECT_TRUE(puppet_sleeps(self->p));
	ASSERT_EQ(0, puppet_finish(self->w[0], 6));
	EXPECT_EQ(1, puppet_end(self->p));
	EXPECT_EQ(RJR_RETURNED, self->p->rejoin.answer);
	EXPECT_EQ(5, self->p->result[0].param);
	EXPECT_EQ(6, self->p->result[0].status);
	EXPECT_EQ(1, dxt_num(t, "stats/rejoin_blocks"));
}

/* DX-53: the last request vanishes: nothing exists, nobody waits on. */
TEST_F(rejoin, wait_ends_when_nothing_is_left)
{
	struct dxt *t = &self->t;

	START(1);
	ASSERT_EQ(1, post(t, OWNER, 5, 0));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	EXPECT_EQ(0, puppet_end(self->p));
	EXPECT_EQ(RJR_NONE_EXIST, self->p->rejoin.answer);
}

/* The deadline is no error; it brings what there is. */
TEST_F(rejoin, wait_ends_at_its_deadline)
{
	struct dxt *t = &self->t;
	uint64_t begin;

	START(1);
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	begin = dxt_now();
	puppet_rejoin(self->p, OWNER, 4, 1, dxt_in(100 * DXT_MS));
	EXPECT_EQ(0, puppet_end(self->p));
	EXPECT_EQ(RJR_NONE_READY, self->p->rejoin.answer);
	EXPECT_GE(dxt_now() - begin, 90 * DXT_MS);

	ASSERT_EQ(1, post(t, OWNER, 1, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	/* min 2, one there, one to come: fewer are returned at the deadline */
	puppet_rejoin(self->p, OWNER, 4, 2, dxt_in(100 * DXT_MS));
	EXPECT_EQ(1, puppet_end(self->p));
	EXPECT_EQ(RJR_RETURNED, self->p->rejoin.answer);
}

TEST_F(rejoin, wait_ends_with_a_signal)
{
	struct dxt *t = &self->t;

	START(1);
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	puppet_signal(self->p);
	EXPECT_EQ(-EINTR, puppet_end(self->p));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	/* nobody took it on behalf of the one who left */
	EXPECT_EQ(RJR_RETURNED, poll_owner(t, OWNER));
}

TEST_F(rejoin, wait_goes_on_with_sa_restart)
{
	struct dxt *t = &self->t;
	long long blocks;

	START(1);
	puppet_signals(true);
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	blocks = dxt_num(t, "stats/rejoin_blocks");
	puppet_signal(self->p);
	ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "stats/rejoin_blocks") > blocks));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	EXPECT_EQ(1, puppet_end(self->p));
}

/* DX-107: Stop ends the wait; the result stays collectable (DX-110). */
TEST_F(rejoin, wait_ends_with_stop)
{
	struct dxt *t = &self->t;

	START(1);
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, 0));
	EXPECT_EQ(-ESHUTDOWN, puppet_end(self->p));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	EXPECT_EQ(RJR_RETURNED, poll_owner(t, OWNER));
}

/* min: sleeps until so many are there, or until no more can come. */
TEST_F(rejoin, wait_for_several)
{
	struct dxt *t = &self->t;
	int i;

	START(1);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(1, post(t, OWNER, i, PXR_REJOIN));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 8, 3, DXK_FOREVER));
	for (i = 0; i < 3; i++) {
		EXPECT_TRUE(puppet_sleeps(self->p));
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	}
	EXPECT_EQ(3, puppet_end(self->p));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(i, self->p->result[i].param);
	/* two are left: three cannot come any more */
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 8, 3, DXK_FOREVER));
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(puppet_sleeps(self->p));
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	}
	EXPECT_EQ(2, puppet_end(self->p));
	EXPECT_EQ(RJR_RETURNED, self->p->rejoin.answer);
}

/* DX-91: poll(2) tells that the owner has a result, or nothing left. */
TEST_F(rejoin, poll_readiness)
{
	struct dxt *t = &self->t;
	struct pollfd pfd = { .fd = t->member, .events = POLLIN };
	struct dxk_result r;
	int i;

	START(1);
	pfd.fd = t->member;
	for (i = 0; i < 2; i++) {
		/* once with a result, once with a request that vanishes */
		ASSERT_EQ(1, post(t, OWNER, 0, i ? 0 : PXR_REJOIN));
		ASSERT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
		EXPECT_EQ(0, poll(&pfd, 1, 0));
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		EXPECT_EQ(0, poll(&pfd, 1, 0));
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
		EXPECT_EQ(1, poll(&pfd, 1, dxt_late_ms()));
		EXPECT_EQ(i ? RJR_NONE_EXIST : RJR_RETURNED, rejoin(t, OWNER, &r));
	}
}

/* --- a full Rejoin Pool ---------------------------------------------------- */

#define CHILDREN	20

/*
 * Collects @nr. Not until none exists: that may be so for a moment, while the
 * parent is about to post the next.
 */
static int collect(struct dxt *t, int nr)
{
	struct dxk_result r;
	int got = 0;

	while (got < nr) {
		int rc = 0;

		if (!DXT_UNTIL(t, (rc = dxt_rejoin(t->member, OWNER, &r, 1, 1, 0,
						   NULL))) || rc < 0)
			break;
		got++;
	}
	return got;
}

/* Posts all children, each with WAITIF, one call each. */
static void puppet_call_children(struct puppet *p)
{
	int i;

	for (i = 0; i < CHILDREN; i++) {
		p->ret = dxt_post1(p->fd, OWNER, DXT_NOP, i,
				   PXR_REJOIN | PXR_WAITIF_BUSY, DXK_FOREVER, NULL);
		if (p->ret != 1)
			return;
	}
}

FIXTURE(full) {
	struct dxt t;
	struct puppet *parent;
};

FIXTURE_SETUP(full)
{
	struct dxt *t = &self->t;

	ASSERT_EQ(0, dxt_open(t));
	puppet_signals(false);
	no_periods(t);
	t->policy.max_threads = 2;
	t->policy.ready_entries = 4;
	t->policy.rejoin_entries = 4;
}

FIXTURE_TEARDOWN(full)
{
	if (self->parent)
		puppet_free(self->parent);
	/* a worker that blocks with its result ends only when that is taken */
	dxt_drain(&self->t, self->t.member, OWNER);
	dxt_down(&self->t);
}

#define UP(policy_) ({							\
	t->policy.rejoin_full = policy_;				\
	ASSERT_EQ(0, dxt_start(t));					\
	self->parent = puppet_new(t, DXK_MEMBER_CLIENT);		\
	ASSERT_EQ(0, dxt_workers_start(t, 2));				\
})

/* D-7, grow: no worker ever blocks; the overflow is counted. */
TEST_F(full, grow)
{
	struct dxt *t = &self->t;

	UP(DXK_REJOIN_GROW);
	puppet_begin(self->parent, puppet_call_children);
	ASSERT_EQ(1, puppet_end(self->parent));
	ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "stats/completions") == CHILDREN));
	EXPECT_EQ(CHILDREN, dxt_num(t, "pools/rejoin_high_water"));
	EXPECT_EQ(CHILDREN - 4, dxt_num(t, "stats/rejoin_overflow"));
	EXPECT_EQ(0, dxt_num(t, "stats/complete_blocks"));
	EXPECT_EQ(0, dxt_num(t, "stats/stalls"));
	EXPECT_EQ(CHILDREN, dxt_drain(t, t->member, OWNER));
}

/*
 * D-7, block_worker, the literal seed: 4 results, both workers with one each, 4
 * Ready: the parent's eleventh post sleeps, and all wait for the poll that the
 * parent will never make: a stall. Another thread's polls end it.
 */
TEST_F(full, block_worker)
{
	struct dxt *t = &self->t;

	UP(DXK_REJOIN_BLOCK_WORKER);
	puppet_begin(self->parent, puppet_call_children);
	ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "stats/posts") == 10 &&
				 dxt_member_is(t, 1, "completing") &&
				 dxt_member_is(t, 2, "completing") &&
				 puppet_sleeps(self->parent)));
	EXPECT_EQ(4, dxt_num(t, "pools/rejoin_use"));
	EXPECT_EQ(4, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(2, dxt_num(t, "pools/thread_busy"));
	EXPECT_EQ(0, dxt_num(t, "stats/rejoin_overflow"));
	EXPECT_TRUE(stall_comes(t, 0));

	EXPECT_EQ(CHILDREN, collect(t, CHILDREN));
	ASSERT_EQ(1, puppet_end(self->parent));
	EXPECT_EQ(4, dxt_num(t, "pools/rejoin_high_water"));
	EXPECT_EQ(CHILDREN, dxt_num(t, "stats/collected"));
}

/* Two results for one free entry: the longest waiting worker goes first. */
TEST_F(rejoin, blocked_workers_are_served_in_order)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	int i;

	t->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	t->policy.rejoin_entries = 1;
	START(4);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, post(t, OWNER, i, PXR_REJOIN));
		ASSERT_EQ(1, puppet_fetch(self->w[i]));
	}
	ASSERT_FALSE(puppet_next(self->w[0], 1, 0, 0, 0));
	ASSERT_TRUE(puppet_next(self->w[2], 1, 0, 0, DXK_FOREVER));
	ASSERT_TRUE(puppet_next(self->w[1], 1, 0, 0, DXK_FOREVER));
	/* one that gives up keeps its request */
	puppet_next(self->w[3], 1, 0, 0, dxt_in(50 * DXT_MS));
	EXPECT_EQ(-ETIMEDOUT, puppet_end(self->w[3]));
	EXPECT_EQ(1, self->w[3]->held);

	ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r));
	EXPECT_EQ(0, r.param);
	EXPECT_EQ(0, puppet_end(self->w[2]));
	EXPECT_TRUE(puppet_sleeps(self->w[1]));
	ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r));
	EXPECT_EQ(2, r.param);
	EXPECT_EQ(0, puppet_end(self->w[1]));
	ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r));
	EXPECT_EQ(1, r.param);
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
	ASSERT_EQ(0, puppet_finish(self->w[3], 0));
	ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r));
	EXPECT_EQ(3, r.param);
}

/*
 * D-7, reserve: the fifth post waits for itself, which is told when nobody else is left
 * who could help; another post is refused, with the reason.
 */
TEST_F(full, reserve)
{
	struct dxt *t = &self->t;
	uint32_t reason = 0;

	UP(DXK_REJOIN_RESERVE);
	close(t->member);
	puppet_begin(self->parent, puppet_call_children);
	/* the fifth sleeps, though the four are done and nothing is Ready */
	ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "stats/completions") == 4 &&
				 puppet_sleeps(self->parent)));
	EXPECT_EQ(4, dxt_num(t, "stats/posts"));
	EXPECT_EQ(0, dxt_num(t, "pools/ready_use"));
	EXPECT_TRUE(stall_comes(t, 0));
	t->member = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL);
	ASSERT_LE(0, t->member);
	EXPECT_EQ(-EAGAIN, dxt_post1(t->member, OWNER, DXT_NOP, 99, PXR_REJOIN, 0,
				     &reason));
	EXPECT_EQ(PXR_REJOIN_FULL, reason);
	EXPECT_EQ(CHILDREN, collect(t, CHILDREN));
	ASSERT_EQ(1, puppet_end(self->parent));
	EXPECT_EQ(4, dxt_num(t, "pools/rejoin_high_water"));
	EXPECT_EQ(0, dxt_num(t, "stats/rejoin_overflow"));
	EXPECT_EQ(0, dxt_num(t, "stats/complete_blocks"));
}

TEST_HARNESS_MAIN
