// SPDX-License-Identifier: GPL-2.0-only
/*
 * A post and the rejoin of it in one call: what goes on when one of the two does not. Each
 * alone is in post.c and rejoin.c.
 *
 * Puppet workers hold each request where the test wants it.
 */
#include "lib/puppet.h"

#include <sys/mman.h>

#define OWNER	0x1234
#define PAGE	4096

FIXTURE(call) {
	struct dxt t;
	struct puppet *w[2];	/* workers */
	struct puppet *p;	/* the client that calls */
};

FIXTURE_SETUP(call)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	no_periods(&self->t);
	puppet_signals(false);
}

FIXTURE_TEARDOWN(call)
{
	int i;

	if (self->p)
		puppet_free(self->p);
	for (i = 0; i < 2; i++)
		if (self->w[i])
			puppet_free(self->w[i]);
	dxt_down(&self->t);
}

#define START() ({							\
	ASSERT_EQ(0, dxt_start(&self->t));				\
	puppets_new(&self->t, self->w, 2, DXK_MEMBER_WORKER);		\
	self->p = puppet_new(&self->t, DXK_MEMBER_CLIENT);		\
	ASSERT_NE(NULL, self->p);					\
})

/* What p is to post: requests 0, 1, .. */
static void fill(struct puppet *p, unsigned int nr, uint32_t attrs)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		p->entry[i] = dxt_entry(OWNER, 0, i, PXR_REJOIN | attrs);
}

/* @p calls: @nr requests, all of whose results it waits for. True when it sleeps. */
static bool call(struct puppet *p, unsigned int nr)
{
	fill(p, nr, 0);
	return puppet_trip(p, nr, nr, DXK_FOREVER);
}

/* Have @w execute @nr requests, with statuses 0, 1, .. */
static bool execute(struct puppet *w, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (puppet_fetch(w) != 1 || puppet_finish(w, i))
			return false;
	return true;
}

/* The end of a call of which all was taken. */
#define ENDED(p, _ret, _answer) do {					\
	EXPECT_EQ(_ret, puppet_end(p));					\
	EXPECT_EQ((p)->trip.nr, (p)->trip.taken);			\
	EXPECT_EQ(_answer, (p)->trip.answer);				\
	EXPECT_EQ(DXT_POISON32, (p)->trip.index);			\
	EXPECT_EQ(DXT_POISON32, (p)->trip.reason);			\
} while (0)
/* It ended with an error after that: there is no answer. */
#define FAILED(p, err)	ENDED(p, -(err), DXT_POISON32)

/* The end of one that was posted in part, or not at all. */
#define SHORT(p, _ret, _taken, _index, _reason) do {			\
	EXPECT_EQ(_ret, puppet_end(p));					\
	EXPECT_EQ(_taken, (p)->trip.taken);				\
	EXPECT_EQ(_index, (p)->trip.index);				\
	EXPECT_EQ(_reason, (p)->trip.reason);				\
	EXPECT_EQ(0, (p)->trip.answer);					\
	EXPECT_TRUE(dxt_poisoned((p)->result, sizeof((p)->result)));	\
} while (0)

/* The @nr requests are there once, to be collected by the other call. */
#define COLLECTED(nr) do {						\
	struct dxk_result _r[8];					\
									\
	EXPECT_EQ(nr, dxt_rejoin(self->t.member, OWNER, _r, 8, 1, 0, NULL)); \
	for (int _i = 0; _i < (nr); _i++)				\
		EXPECT_EQ(_i, _r[_i].param);				\
	EXPECT_EQ(RJR_NONE_EXIST, poll_owner(&self->t, OWNER));		\
} while (0)

/* --- as it should be -------------------------------------------------------- */

/* DX-42, DX-91: it is posted at once, and the sleep ends with the last result. */
TEST_F(call, there_and_back)
{
	struct dxt *t = &self->t;
	struct puppet *p;
	int i;

	START();
	p = self->p;
	for (i = 1; i <= 3; i++) {
		ASSERT_TRUE(call(p, 2));
		EXPECT_TRUE(dxt_member_is(t, p->id, "rejoining"));
		EXPECT_EQ(2, p->trip.taken);
		EXPECT_EQ(2 * i, dxt_num(t, "stats/posts"));
		ASSERT_TRUE(execute(self->w[0], 1));
		EXPECT_TRUE(puppet_sleeps(p));
		ASSERT_EQ(1, puppet_fetch(self->w[1]));
		ASSERT_EQ(0, puppet_finish(self->w[1], 77));
		ENDED(p, 2, RJR_RETURNED);
		EXPECT_EQ(0, p->result[0].param);
		EXPECT_EQ(0, p->result[0].status);
		EXPECT_EQ(1, p->result[1].param);
		EXPECT_EQ(77, p->result[1].status);
		EXPECT_TRUE(dxt_poisoned(&p->result[2], sizeof(p->result[2])));
		EXPECT_EQ(RJR_NONE_EXIST, poll_owner(t, OWNER));
		EXPECT_EQ(i, dxt_num(t, "stats/rejoin_blocks"));
	}
	EXPECT_EQ(0, dxt_num(t, "owners"));
}

/* DX-95: of the owner's requests it returns the oldest completed, be they others. */
TEST_F(call, others_of_the_owner)
{
	struct dxt *t = &self->t;
	struct dxk_result r[2];
	struct puppet *p;

	START();
	p = self->p;
	ASSERT_EQ(1, dxt_post1(t->member, OWNER, 0, 99, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(execute(self->w[0], 1));
	fill(p, 2, 0);
	EXPECT_FALSE(puppet_trip(p, 2, 1, DXK_FOREVER));
	ENDED(p, 1, RJR_RETURNED);
	EXPECT_EQ(99, p->result[0].param);
	ASSERT_TRUE(execute(self->w[0], 2));
	EXPECT_EQ(2, dxt_rejoin(t->member, OWNER, r, 2, 2, 0, NULL));
}

/* DX-91: the deadline is no error, and 0 is a post with a poll behind it. */
TEST_F(call, deadline)
{
	struct puppet *p;
	uint64_t begin;

	START();
	p = self->p;
	fill(p, 2, 0);
	puppet_trip(p, 1, 1, 0);
	ENDED(p, 0, RJR_NONE_READY);
	begin = dxt_now();
	p->entry[0] = p->entry[1];
	puppet_trip(p, 1, 0, dxt_in(100 * DXT_MS));
	ENDED(p, 0, RJR_NONE_READY);
	EXPECT_GE(dxt_now() - begin, 90 * DXT_MS);
	ASSERT_TRUE(execute(self->w[0], 2));
	COLLECTED(2);
}

/* Elements as of older and newer programs: they have names, the answers' tails are 0. */
TEST_F(call, longer_elements)
{
	struct { struct dxk_result r; uint64_t tail[3]; } result[2];
	struct dxk_post_more more[2] = { 0 };
	uint64_t names[2] = { 7, 8 };
	struct puppet *p;
	int i;

	self->t.policy.max_waiting = 4;
	START();
	p = self->p;
	ASSERT_TRUE(call(p, 2));
	ASSERT_TRUE(execute(self->w[0], 2));
	ENDED(p, 2, RJR_RETURNED);
	for (i = 0; i < 2; i++) {
		more[i].post = dxt_entry(OWNER, 0, i, PXR_REJOIN | PXR_NAMED);
		more[i].name = names[i];
	}
	dxt_poison(result, sizeof(result));
	p->trip.entries = DXT_PTR(more);
	p->trip.entry_size = sizeof(more[0]);
	p->trip.results = DXT_PTR(result);
	p->trip.result_size = sizeof(result[0]);
	ASSERT_TRUE(puppet_begin(p, puppet_call_trip));
	EXPECT_EQ(2, dxk_wake(self->t.member, names, 2));
	ASSERT_TRUE(execute(self->w[0], 2));
	ENDED(p, 2, RJR_RETURNED);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(i, result[i].r.param);
		EXPECT_EQ(i, result[i].r.status);
		EXPECT_EQ(0, result[i].tail[0] | result[i].tail[1] | result[i].tail[2]);
	}
}

static int exe_reverse(struct dxt_call *call)
{
	unsigned char first = call->data[0];

	call->data[0] = call->data[1];
	call->data[1] = first;
	call->result_len = 2;
	return (int)call->work.param;
}

/* The library's: with data, as often as one likes. */
TEST_F(call, of_the_library)
{
	struct dxk_post_entry e[2];
	struct dxk_result r[2];
	unsigned int i, taken;
	struct dxt *t = &self->t;
	char data[2][2];

	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, dxt_workers_start(t, 1));
	for (i = 0; i < 2; i++) {
		e[i] = dxt_entry(OWNER, DXT_FN(exe_reverse), 5 + i, PXR_REJOIN);
		e[i].data = DXT_PTR(i ? "cd" : "ab");
		e[i].data_len = e[i].result_len = 2;
	}
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(2, dxk_call(t->member, e, 2, r, 2, data, 2, -1, &taken));
		EXPECT_EQ(2, taken);
		EXPECT_EQ(5, r[0].status);
		EXPECT_EQ(6, r[1].status);
		EXPECT_EQ(0, memcmp(data, "badc", 4));
		memset(data, 0, sizeof(data));
	}
	e[1].attrs = 0;
	EXPECT_EQ(-EINVAL, dxk_call(t->member, e, 2, r, 2, NULL, 0, -1, &taken));
	EXPECT_EQ(0, taken);
	EXPECT_EQ(-EINVAL, dxk_call(t->member, e, DXK_BATCH_MAX + 1, r, 2, NULL, 0, -1,
				    &taken));
	EXPECT_EQ(0, taken);
}

/* --- what is not posted ----------------------------------------------------- */

#define REFUSED(err) do {						\
	struct dxk_roundtrip _was = p->trip;				\
									\
	EXPECT_FALSE(puppet_begin(p, puppet_call_trip));		\
	EXPECT_EQ(-(err), puppet_end(p));				\
	EXPECT_EQ(0, memcmp(&_was, &p->trip, sizeof(_was)));		\
	p->trip = good;							\
} while (0)

/* An argument that is wrong: nothing is done, nothing is written. */
TEST_F(call, wrong_arguments)
{
	struct dxt_snapshot before, now;
	struct dxk_roundtrip good;
	struct puppet *p;

	START();
	p = self->p;
	ASSERT_TRUE(call(p, 2));
	ASSERT_TRUE(execute(self->w[0], 2));
	ENDED(p, 2, RJR_RETURNED);
	dxt_snapshot(&self->t, &before);
	p->trip.taken = 0;
	good = p->trip;
	p->trip.nr = 0;
	REFUSED(EINVAL);
	p->trip.nr = p->trip.min = DXK_BATCH_MAX + 1;
	REFUSED(EINVAL);
	p->trip.min = 3;
	REFUSED(EINVAL);
	p->trip.reserved = 1;
	REFUSED(EINVAL);
	p->trip.flags = 4;
	REFUSED(EOPNOTSUPP);
	p->trip.entry_size = sizeof(struct dxk_post_entry) - 1;
	REFUSED(EINVAL);
	p->trip.entry_size = UINT32_MAX;
	REFUSED(E2BIG);
	p->trip.result_size = sizeof(struct dxk_result) - 1;
	REFUSED(EINVAL);
	p->trip.result_size = UINT32_MAX;
	REFUSED(E2BIG);
	dxt_snapshot(&self->t, &now);
	EXPECT_EQ(NULL, dxt_differs(&before, &now)) TH_LOG("%s", dxt_differs(&before, &now));
}

/* One that is of another owner, or does not come back, refuses all; as a malformed one. */
TEST_F(call, what_cannot_be_waited_for)
{
	struct dxt_snapshot before, now;
	struct dxk_post_entry bad[] = {
		dxt_entry(OWNER + 1, 0, 0, PXR_REJOIN),
		dxt_entry(OWNER, 0, 0, PXR_WAITIF_BUSY),
		dxt_entry(OWNER, 0, 0, PXR_REJOIN | PXR_LANE0 | PXR_LANE1),
	};
	struct puppet *p;
	unsigned int i, at, index;

	START();
	p = self->p;
	dxt_snapshot(&self->t, &before);
	for (i = 0; i < 3; i++) {
		for (at = 0; at < 3; at++) {
			fill(p, 3, 0);
			p->entry[at] = bad[i];
			/* the owner is that of the first one */
			index = !i && !at ? 1 : at;
			EXPECT_FALSE(puppet_trip(p, 3, 3, DXK_FOREVER));
			SHORT(p, -EINVAL, 0, index, 0);
		}
	}
	dxt_snapshot(&self->t, &now);
	EXPECT_EQ(NULL, dxt_differs(&before, &now)) TH_LOG("%s", dxt_differs(&before, &now));
}

/* DX-45, DX-47: there is room for two of three. They are posted, nobody waits. */
TEST_F(call, fewer_are_taken)
{
	struct puppet *p;

	self->t.policy.ready_entries = 2;
	START();
	p = self->p;
	EXPECT_FALSE(call(p, 3));
	SHORT(p, 0, 2, 2, PXR_POOL_FULL);
	EXPECT_FALSE(call(p, 3));
	SHORT(p, -EAGAIN, 0, 0, PXR_POOL_FULL);
	EXPECT_EQ(2, dxt_num(&self->t, "stats/posts"));
	ASSERT_TRUE(execute(self->w[0], 2));
	COLLECTED(2);
}

/* DX-43: who waits for room goes on to wait for the results. */
TEST_F(call, sleeps_for_room_first)
{
	struct dxt *t = &self->t;
	struct puppet *p;

	t->policy.ready_entries = 2;
	START();
	p = self->p;
	fill(p, 3, PXR_WAITIF_BUSY);
	ASSERT_TRUE(puppet_trip(p, 3, 3, DXK_FOREVER));
	EXPECT_TRUE(dxt_member_is(t, p->id, "posting"));
	ASSERT_TRUE(execute(self->w[0], 1));
	EXPECT_TRUE(DXT_UNTIL(t, dxt_member_is(t, p->id, "rejoining")));
	ASSERT_TRUE(execute(self->w[0], 2));
	ENDED(p, 3, RJR_RETURNED);

	/* at the deadline, with two there is room for and with none */
	puppet_trip(p, 3, 3, dxt_in(20 * DXT_MS));
	SHORT(p, 0, 2, 2, 0);
	puppet_trip(p, 1, 1, dxt_in(20 * DXT_MS));
	SHORT(p, -ETIMEDOUT, 0, 0, 0);
	ASSERT_TRUE(execute(self->w[0], 2));
	COLLECTED(2);
}

/* --- what ends the wait ----------------------------------------------------- */

/* A signal: it is not posted again, be calls restarted or not. */
TEST_F(call, signal_in_the_rejoin)
{
	struct puppet *p;
	int restart;

	START();
	p = self->p;
	for (restart = 0; restart < 2; restart++) {
		puppet_signals(restart);
		ASSERT_TRUE(call(p, 2));
		puppet_signal(p);
		FAILED(p, EINTR);
		EXPECT_EQ(2 * restart + 2, dxt_num(&self->t, "stats/posts"));
		ASSERT_TRUE(execute(self->w[0], 2));
		COLLECTED(2);
	}
}

/* While it sleeps for room nothing is posted yet: it is as a post. */
TEST_F(call, signal_in_the_post)
{
	struct dxt *t = &self->t;
	long long blocks;
	struct puppet *p;

	t->policy.ready_entries = 1;
	START();
	p = self->p;
	ASSERT_EQ(1, dxt_post1(t->member, 9, 0, 0, 0, 0, NULL));
	fill(p, 1, PXR_WAITIF_BUSY);
	ASSERT_TRUE(puppet_trip(p, 1, 1, DXK_FOREVER));
	puppet_signal(p);
	SHORT(p, -EINTR, 0, 0, 0);
	EXPECT_EQ(1, dxt_num(t, "stats/posts"));

	puppet_signals(true);
	ASSERT_TRUE(puppet_trip(p, 1, 1, DXK_FOREVER));
	blocks = dxt_num(t, "stats/post_blocks");
	puppet_signal(p);
	ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "stats/post_blocks") > blocks));
	ASSERT_TRUE(execute(self->w[0], 1));
	ASSERT_TRUE(execute(self->w[0], 1));
	EXPECT_EQ(1, puppet_end(p));
	EXPECT_EQ(1, p->trip.taken);
	EXPECT_EQ(RJR_RETURNED, p->trip.answer);
	EXPECT_EQ(2, dxt_num(t, "stats/posts"));
}

/* DX-107, DX-110: Stop ends the wait; what was taken comes back. */
TEST_F(call, stop)
{
	struct puppet *p;

	START();
	p = self->p;
	ASSERT_TRUE(call(p, 1));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, 0));
	FAILED(p, ESHUTDOWN);
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	COLLECTED(1);
	EXPECT_FALSE(call(p, 1));
	SHORT(p, -ESHUTDOWN, 0, 0, 0);
}

/* D-23: another has taken the results, what is left the caller executes itself. */
TEST_F(call, own_owner)
{
	struct dxt *t = &self->t;
	struct puppet *w;

	START();
	w = self->w[0];
	ASSERT_EQ(1, dxt_post1(t->member, OWNER, 0, 0, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_TRUE(call(w, 1));
	ASSERT_TRUE(execute(self->w[1], 1));
	EXPECT_EQ(1, puppet_end(self->p));
	FAILED(w, EDEADLK);
	EXPECT_EQ(RJR_NONE_READY, poll_owner(t, OWNER));
	/* what it posts it may wait for */
	ASSERT_TRUE(call(w, 1));
	ASSERT_TRUE(execute(self->w[1], 1));
	ENDED(w, 1, RJR_RETURNED);
	ASSERT_EQ(0, puppet_finish(w, 0));
	EXPECT_EQ(RJR_RETURNED, poll_owner(t, OWNER));
}

/* D-4: a worker that waits for its child executes it itself. */
TEST_F(call, helps)
{
	struct dxt *t = &self->t;
	struct puppet *w;

	t->policy.on_block = DXK_ON_BLOCK_HELP;
	START();
	w = self->w[0];
	ASSERT_EQ(1, dxt_post1(t->member, 9, 0, 0, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w));
	ASSERT_TRUE(call(w, 1));
	EXPECT_EQ(1, dxt_num(t, "pools/ready_use"));
	puppet_signal(w);
	FAILED(w, EINTR);
	ASSERT_TRUE(execute(self->w[1], 1));
	COLLECTED(1);

	fill(w, 1, 0);
	w->trip.flags = DXK_CALL_HELP;
	puppet_begin(w, puppet_call_trip);
	EXPECT_EQ(0, puppet_end(w));
	EXPECT_EQ(1, w->trip.taken);
	EXPECT_EQ(RJR_HELP, w->trip.answer);
	ASSERT_FALSE(puppet_next(w, 0, 0, 1, 0));
	ASSERT_EQ(1, puppet_end(w));
	ASSERT_EQ(0, puppet_finish(w, 0));
	COLLECTED(1);
	EXPECT_EQ(RJR_RETURNED, poll_owner(t, 9));
}

/* --- memory ----------------------------------------------------------------- */

/* Results that cannot be copied out stay, those before them do not. */
TEST_F(call, results_that_cannot_be_stored)
{
	unsigned char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dxk_result *edge = (void *)(page + PAGE) - sizeof(*edge);
	struct dxk_result r[2];
	struct puppet *p;
	char slot[2][8];

	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, mprotect(page + PAGE, PAGE, PROT_NONE));
	START();
	p = self->p;
	ASSERT_TRUE(call(p, 2));
	ASSERT_TRUE(execute(self->w[0], 2));
	ENDED(p, 2, RJR_RETURNED);

	p->trip.results = DXT_PTR(page + PAGE);
	p->trip.answer = DXT_POISON32;
	ASSERT_TRUE(puppet_begin(p, puppet_call_trip));
	ASSERT_TRUE(execute(self->w[0], 2));
	FAILED(p, EFAULT);
	COLLECTED(2);

	p->trip.results = DXT_PTR(edge);
	ASSERT_TRUE(puppet_begin(p, puppet_call_trip));
	ASSERT_TRUE(execute(self->w[0], 2));
	ENDED(p, 1, RJR_RETURNED);
	EXPECT_EQ(0, edge->param);
	ASSERT_EQ(1, dxt_rejoin(self->t.member, OWNER, r, 2, 1, 0, NULL));
	EXPECT_EQ(1, r[0].param);

	/* and slots that are too small for their data */
	p->entry[0].result_len = 16;
	p->trip.results = DXT_PTR(p->result);
	p->trip.data = DXT_PTR(slot);
	p->trip.data_stride = sizeof(slot[0]);
	p->trip.nr = p->trip.min = 1;
	p->trip.answer = DXT_POISON32;
	ASSERT_TRUE(puppet_begin(p, puppet_call_trip));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish_data(self->w[0], "0123456789abcde", 16));
	FAILED(p, EMSGSIZE);
	COLLECTED(1);
	munmap(page, 2 * PAGE);
}

/* An argument that cannot be written posts nothing: nobody could say that it did. */
TEST_F(call, argument_that_cannot_be_written)
{
	struct dxk_roundtrip *trip = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dxk_post_entry entry = dxt_entry(OWNER, 0, 0, PXR_REJOIN);
	struct dxk_result r;

	ASSERT_NE(MAP_FAILED, trip);
	START();
	*trip = (struct dxk_roundtrip){
		.size = sizeof(*trip), .entries = DXT_PTR(&entry), .results = DXT_PTR(&r),
		.nr = 1, .entry_size = sizeof(entry), .result_size = sizeof(r),
	};
	ASSERT_EQ(0, mprotect(trip, PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, dxt_ioctl(self->t.member, DXK_IOC_CALL, trip));
	EXPECT_EQ(0, dxt_num(&self->t, "stats/posts"));
	munmap(trip, PAGE);
}

TEST_HARNESS_MAIN
