// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that wait, seen from programs: a turn ends with a wait, a request is posted
 * waiting; what ends the wait, who is told what, and what happens to those that wait when a
 * worker, a process or the context goes.
 */
#include "lib/dxt.h"

#include <sys/wait.h>

#define OWNER	1
#define OTHER	2
#define NAME	77
#define LEN	64

static const struct dxk_wait for_call = { .wait = DXK_WAIT_CALL, .state = 5 };

/* A started context whose requests may wait; this thread is its worker, too. */
FIXTURE(wait) {
	struct dxt t;
	int me;
};

FIXTURE_SETUP(wait)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.max_waiting = 1024;
	self->t.policy.data_size = LEN;
	ASSERT_EQ(0, dxt_start(&self->t));
	self->me = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, self->me);
}

FIXTURE_TEARDOWN(wait)
{
	EXPECT_EQ(0, dxt_num(&self->t, "pools/wait_use"));
	EXPECT_EQ(0, dxt_num(&self->t, "stats/missed_wakeups"));
	close(self->me);
	dxt_down(&self->t);
}

static struct dxk_post_more entry(uint64_t owner, uint64_t name, uint32_t attrs)
{
	return (struct dxk_post_more){
		.post = dxt_entry(owner, 9, 0, attrs | PXR_REJOIN | (name ? PXR_NAMED : 0)),
		.name = name,
	};
}

static int post(const struct dxt *t, uint64_t owner, uint64_t name, const struct dxk_wait *wait)
{
	struct dxk_post_more e = entry(owner, name, wait ? PXR_WAIT : 0);

	if (wait)
		e.wait = *wait;
	return dxk_post_more(t->member, &e, 1, 0, NULL);
}

static int fetch(int me, struct dxk_work_more *w)
{
	return dxk_next_more(me, NULL, 0, NULL, w, 1, NULL, 0, dxt_late_ns());
}

static int ends(int me, const struct dxk_work_more *w, int status)
{
	struct dxk_done done = { .ticket = w->work.ticket, .status = status };

	return dxk_next(me, &done, 1, NULL, NULL, 0, NULL, 0, 0);
}

static int parks(int me, const struct dxk_work_more *w, const struct dxk_wait *wait)
{
	struct dxk_done_more done = { .done.ticket = w->work.ticket, .wait = *wait };

	return dxk_next_more(me, &done, 1, NULL, NULL, 0, NULL, 0, 0);
}

static int wake(const struct dxt *t, uint64_t name)
{
	return dxk_wake(t->member, &name, 1);
}

static int cancel(const struct dxt *t, uint64_t name)
{
	uint32_t state = DXT_POISON32;
	int rc = dxk_cancel(t->member, &name, 1, &state);

	return rc < 0 ? rc : (int)state;
}

static int status_of(const struct dxt *t, uint64_t owner)
{
	struct dxk_result r;

	return dxk_rejoin(t->member, owner, &r, 1, 1, NULL, 0, dxt_late_ns(), NULL) == 1 ?
	       r.status : 4711;
}

/* a call ends the wait, or is kept for the next one; of what has ended none is. */
TEST_F(wait, call)
{
	struct dxk_work_more w;
	unsigned int i;

	EXPECT_EQ(-ENOENT, wake(&self->t, NAME));
	ASSERT_EQ(1, post(&self->t, OWNER, NAME, NULL));
	ASSERT_EQ(1, fetch(self->me, &w));
	EXPECT_EQ(DXK_WAKE_NONE, w.wake);
	EXPECT_EQ(NAME, w.name);
	for (i = 1; i <= 3; i++) {
		EXPECT_EQ(0, parks(self->me, &w, &for_call));
		EXPECT_EQ(1, dxt_num(&self->t, "pools/wait_use"));
		EXPECT_EQ(0, dxt_num(&self->t, "pools/thread_busy"));
		EXPECT_EQ(-ETIMEDOUT, dxk_next_more(self->me, NULL, 0, NULL, &w, 1, NULL, 0, 0));
		EXPECT_EQ(1, wake(&self->t, NAME));
		ASSERT_EQ(1, fetch(self->me, &w));
		EXPECT_EQ(DXK_WAKE_CALL, w.wake);
		EXPECT_EQ(i, w.turn);
		EXPECT_EQ(5, w.state);
		EXPECT_EQ(1, w.work.attempt);
	}
	EXPECT_EQ(1, wake(&self->t, NAME));
	EXPECT_EQ(1, wake(&self->t, NAME));
	EXPECT_EQ(0, parks(self->me, &w, &for_call));
	ASSERT_EQ(1, fetch(self->me, &w));
	EXPECT_EQ(DXK_WAKE_CALL, w.wake);
	EXPECT_EQ(0, parks(self->me, &w, &for_call));
	EXPECT_EQ(1, dxt_num(&self->t, "pools/wait_use"));
	EXPECT_EQ(1, wake(&self->t, NAME));
	ASSERT_EQ(1, fetch(self->me, &w));
	EXPECT_EQ(0, ends(self->me, &w, 8));
	EXPECT_EQ(-ENOENT, wake(&self->t, NAME));
	EXPECT_EQ(8, status_of(&self->t, OWNER));
	EXPECT_EQ(5, dxt_num(&self->t, "stats/waits"));
}

/* Not before its time, and not much later; the clock needs nobody to look. */
TEST_F(wait, time)
{
	struct dxk_wait wait = { .wait = DXK_WAIT_TIME };
	struct dxk_work_more w;
	unsigned int i;

	for (i = 0; i < 10; i++) {
		wait.deadline = dxt_in((i & 1 ? 5 : 20) * DXT_MS);
		ASSERT_EQ(1, post(&self->t, OWNER, 0, &wait));
		ASSERT_EQ(1, fetch(self->me, &w));
		EXPECT_LE(wait.deadline, dxt_now());
		EXPECT_EQ(DXK_WAKE_TIME, w.wake);
		EXPECT_EQ(0, w.turn);
		wait.deadline = dxt_in(2 * DXT_MS);
		EXPECT_EQ(0, parks(self->me, &w, &wait));
		ASSERT_EQ(1, fetch(self->me, &w));
		EXPECT_LE(wait.deadline, dxt_now());
		EXPECT_EQ(DXK_WAKE_TIME, w.wake);
		EXPECT_EQ(0, ends(self->me, &w, 0));
		EXPECT_EQ(0, status_of(&self->t, OWNER));
	}
	/* A post that comes when its time is over does not wait. */
	EXPECT_LE(10, dxt_num(&self->t, "stats/waits"));
	EXPECT_EQ(dxt_num(&self->t, "stats/waits"), dxt_num(&self->t, "stats/timeouts"));
}

/* They come in the order of their times, whatever that of their posts. */
TEST_F(wait, many_times)
{
	enum { NR = 200 };
	uint64_t begin = dxt_in((dxt_debug_kernel() ? 10 : 1) * DXT_SEC), last = 0;
	bool in_time;
	struct dxk_work_more w;
	unsigned int i;

	for (i = 0; i < NR; i++) {
		struct dxk_post_more e = entry(OWNER, 0, PXR_WAIT);

		e.wait.wait = DXK_WAIT_TIME;
		e.wait.deadline = e.post.param = begin + i * 7919 % NR * DXT_MS / 10;
		ASSERT_EQ(1, dxk_post_more(self->t.member, &e, 1, 0, NULL));
	}
	/* those of a guest that was not run for so long come at once */
	in_time = dxt_now() < begin;
	for (i = 0; i < NR; i++) {
		ASSERT_EQ(1, fetch(self->me, &w));
		EXPECT_TRUE(!in_time || last <= w.work.param);
		EXPECT_LE(w.work.param, dxt_now());
		last = w.work.param;
		EXPECT_EQ(0, ends(self->me, &w, 0));
	}
	EXPECT_EQ(NR, dxt_drain(&self->t, self->t.member, OWNER));
}

/* A continuation: posted to run when all of an owner has ended; or when a result is there. */
TEST_F(wait, owner)
{
	struct dxk_wait join = { .wait = DXK_WAIT_JOIN, .owner = OTHER };
	struct dxk_wait some = { .wait = DXK_WAIT_RESULT, .owner = OTHER };
	struct dxk_work_more w[2], x;
	unsigned int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, post(&self->t, OTHER, 0, NULL));
	ASSERT_EQ(1, post(&self->t, OWNER, 1, &join));
	ASSERT_EQ(1, post(&self->t, OWNER, 2, &some));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, fetch(self->me, &w[i]));
	EXPECT_EQ(2, dxt_num(&self->t, "pools/wait_use"));
	EXPECT_EQ(0, ends(self->me, &w[0], 0));
	ASSERT_EQ(1, fetch(self->me, &x));
	EXPECT_EQ(DXK_WAKE_RESULT, x.wake);
	EXPECT_EQ(2, x.name);
	EXPECT_EQ(0, ends(self->me, &x, 0));
	EXPECT_EQ(0, ends(self->me, &w[1], 0));
	ASSERT_EQ(1, fetch(self->me, &x));
	EXPECT_EQ(DXK_WAKE_JOIN, x.wake);
	EXPECT_EQ(1, x.name);
	/* a wait for its own owner is told as a deadlock */
	join.owner = OWNER;
	EXPECT_EQ(0, parks(self->me, &x, &join));
	ASSERT_EQ(1, fetch(self->me, &x));
	EXPECT_EQ(DXK_WAKE_DEADLOCK, x.wake);
	EXPECT_EQ(0, ends(self->me, &x, 0));
	EXPECT_EQ(2, dxt_drain(&self->t, self->t.member, OWNER));
	EXPECT_EQ(2, dxt_drain(&self->t, self->t.member, OTHER));
}

/* CO-16, CO-20: what follows at once comes with the answer that ends the last one. */
TEST_F(wait, eager)
{
	struct dxk_wait follow = { .wait = DXK_WAIT_JOIN | DXK_WAIT_EAGER };
	struct dxk_post_more urgent = entry(OWNER, 0, 0);
	struct dxk_done_more done = { .done.status = 0 };
	struct dxk_work_more w;
	unsigned int i;

	urgent.post.prio = 9;
	ASSERT_EQ(1, post(&self->t, OTHER, 0, NULL));
	ASSERT_EQ(1, fetch(self->me, &w));
	ASSERT_EQ(1, dxk_post_more(self->t.member, &urgent, 1, 0, NULL));
	for (i = 0; i < 1000; i++) {
		follow.owner = OTHER + i;
		ASSERT_EQ(1, post(&self->t, OTHER + i + 1, i + 1, &follow));
		done.done.ticket = w.work.ticket;
		ASSERT_EQ(1, dxk_next_more(self->me, &done, 1, NULL, &w, 1, NULL, 0, 0));
		ASSERT_EQ(i + 1, w.name);
		ASSERT_EQ(DXK_WAKE_JOIN, w.wake);
		ASSERT_EQ(1, dxt_drain(&self->t, self->t.member, OTHER + i));
	}
	EXPECT_EQ(0, ends(self->me, &w, 0));
	ASSERT_EQ(1, fetch(self->me, &w));
	EXPECT_EQ(OWNER, w.work.owner);
	EXPECT_EQ(0, ends(self->me, &w, 0));
	EXPECT_EQ(1, dxt_drain(&self->t, self->t.member, OWNER));
	EXPECT_EQ(1, dxt_drain(&self->t, self->t.member, OTHER + i));
}

/* What a turn leaves is the data of the next one, also after a worker died over that. */
TEST_F(wait, leaves_data)
{
	uint32_t redo;

	for (redo = 0; redo <= PXR_REDO; redo += PXR_REDO) {
		struct dxk_post_more e = entry(OWNER, NAME, redo);
		struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
		char out[LEN], text[LEN] = "posted", back[LEN];
		struct dxk_done_more done = { .wait = again };
		struct dxk_result r;
		struct dxk_work_more w;
		unsigned int i;

		e.post.data = DXT_PTR(text);
		e.post.data_len = sizeof("posted");
		e.post.result_len = LEN;
		ASSERT_EQ(1, dxk_post_more(self->t.member, &e, 1, 0, NULL));
		for (i = 0; i < 3; i++) {
			ASSERT_EQ(1, dxk_next_more(self->me, NULL, 0, NULL, &w, 1, out, LEN,
						   dxt_late_ns()));
			EXPECT_STREQ(text, out);
			EXPECT_EQ(strlen(text) + 1, w.work.data_len);
			if (redo) {
				close(self->me);
				self->me = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER,
							     NULL);
				ASSERT_EQ(1, dxk_next_more(self->me, NULL, 0, NULL, &w, 1, out,
							   LEN, dxt_late_ns()));
				EXPECT_STREQ(text, out);
				EXPECT_EQ(2, w.work.attempt);
				EXPECT_EQ(i ? DXK_WAKE_AGAIN : DXK_WAKE_NONE, w.wake);
			}
			EXPECT_EQ(i, w.turn);
			snprintf(text, sizeof(text), "turn %u, %.*s", i, (int)i * 9, "longer");
			done.done = (struct dxk_done){
				.ticket = w.work.ticket, .data = DXT_PTR(text),
				.data_len = (uint32_t)strlen(text) + 1,
			};
			done.wait = i < 2 ? again : (struct dxk_wait){ 0 };
			EXPECT_EQ(0, dxk_next_more(self->me, &done, 1, NULL, NULL, 0, NULL, 0,
						   0));
		}
		EXPECT_EQ(1, dxk_rejoin(self->t.member, OWNER, &r, 1, 1, back, LEN, 0, NULL));
		EXPECT_STREQ(text, back);
	}
}

/* The worker dies, and another one is given the turn again: with @len bytes of @data. */
static int again(struct __test_metadata *_metadata, struct dxt *t, int me,
		 struct dxk_work_more *w, const char *data, unsigned int len)
{
	char out[LEN];

	close(me);
	me = dxk_member_create(t->ctx, DXK_MEMBER_WORKER, NULL);
	EXPECT_EQ(1, dxk_next_more(me, NULL, 0, NULL, w, 1, out, LEN, dxt_late_ns()));
	EXPECT_EQ(NAME, w->name);
	EXPECT_EQ(2, w->work.attempt);
	EXPECT_EQ(len, w->work.data_len);
	EXPECT_EQ(0, memcmp(out, data, len));
	return me;
}

/* A wait that is refused, with the call that it comes in, has left nothing of its data. */
TEST_F(wait, refused_leaves_nothing)
{
	struct dxk_post_more e = entry(OWNER, NAME, PXR_REDO);
	struct dxk_done_more done[2] = { 0 };
	struct dxk_work_more w, other;
	char posted[LEN];

	memset(posted, 'p', sizeof(posted));
	e.post.data = DXT_PTR(posted);
	e.post.data_len = LEN;
	e.post.result_len = 1;
	ASSERT_EQ(1, dxk_post_more(self->t.member, &e, 1, 0, NULL));
	ASSERT_EQ(1, post(&self->t, OTHER, 0, NULL));
	ASSERT_EQ(1, fetch(self->me, &w));
	ASSERT_EQ(1, fetch(self->me, &other));
	done[0].done.ticket = w.work.ticket;
	done[0].done.data = DXT_PTR("x");
	done[0].done.data_len = 1;
	done[0].wait.wait = DXK_WAIT_AGAIN;
	/* it has no room for a result */
	done[1].done.ticket = other.work.ticket;
	done[1].done.data_len = 1;
	EXPECT_EQ(-EMSGSIZE, dxk_next_more(self->me, done, 2, NULL, NULL, 0, NULL, 0, 0));
	EXPECT_EQ(0, dxt_num(&self->t, "stats/waits"));
	self->me = again(_metadata, &self->t, self->me, &w, posted, LEN);
	EXPECT_EQ(-EOWNERDEAD, status_of(&self->t, OTHER));

	done[0].done.ticket = w.work.ticket;
	EXPECT_EQ(0, dxk_next_more(self->me, done, 1, NULL, NULL, 0, NULL, 0, 0));
	ASSERT_EQ(1, fetch(self->me, &w));
	self->me = again(_metadata, &self->t, self->me, &w, "x", 1);
	EXPECT_EQ(1, w.turn);
	EXPECT_EQ(0, ends(self->me, &w, 7));
	EXPECT_EQ(7, status_of(&self->t, OWNER));
}

/* who has not begun ends; who has is told; by its time just as by its name. */
TEST_F(wait, cancel)
{
	uint64_t names[2] = { NAME, NAME + 1 };
	uint32_t states[2] = { 9, 9 };
	struct dxk_work_more w;

	EXPECT_EQ(-ENOENT, dxk_cancel(self->t.member, names, 2, states));
	EXPECT_EQ(DXK_CANCEL_NONE, states[0]);
	ASSERT_EQ(1, post(&self->t, OWNER, NAME, NULL));
	EXPECT_EQ(1, dxk_cancel(self->t.member, names, 2, states));
	EXPECT_EQ(DXK_CANCEL_ENDED, states[0]);
	EXPECT_EQ(DXK_CANCEL_NONE, states[1]);
	EXPECT_EQ(-ECANCELED, status_of(&self->t, OWNER));
	ASSERT_EQ(1, post(&self->t, OWNER, NAME, &for_call));
	EXPECT_EQ(DXK_CANCEL_ENDED, cancel(&self->t, NAME));
	EXPECT_EQ(-ECANCELED, status_of(&self->t, OWNER));

	ASSERT_EQ(1, post(&self->t, OWNER, NAME, NULL));
	ASSERT_EQ(1, fetch(self->me, &w));
	EXPECT_EQ(0, dxk_should_stop(self->me, 0));
	EXPECT_EQ(DXK_CANCEL_TOLD, cancel(&self->t, NAME));
	EXPECT_EQ(1, dxk_should_stop(self->me, dxt_late_ns()));
	EXPECT_EQ(0, parks(self->me, &w, &for_call));
	ASSERT_EQ(1, fetch(self->me, &w));
	EXPECT_EQ(DXK_WAKE_CANCEL, w.wake);
	EXPECT_EQ(0, ends(self->me, &w, 3));
	EXPECT_EQ(3, status_of(&self->t, OWNER));
	EXPECT_EQ(-ENOENT, cancel(&self->t, NAME));
}

/* All of an owner: what was Ready or posted waiting ends, what was begun is told. */
TEST_F(wait, cancel_owner)
{
	struct dxk_cancel_owner were = { };
	struct dxk_work_more w, turn;
	unsigned int i;

	EXPECT_EQ(-ENOENT, dxk_cancel_owner(self->t.member, OWNER, &were));
	EXPECT_EQ(0, were.ready | were.executing | were.waiting | were.done);
	ASSERT_EQ(1, post(&self->t, OWNER, NAME, NULL));
	ASSERT_EQ(1, fetch(self->me, &turn));
	ASSERT_EQ(0, parks(self->me, &turn, &for_call));
	ASSERT_EQ(1, post(&self->t, OWNER, 0, NULL));
	ASSERT_EQ(1, fetch(self->me, &w));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(1, post(&self->t, OWNER, 0, NULL));
		ASSERT_EQ(1, post(&self->t, OTHER, 0, NULL));
	}
	ASSERT_EQ(1, post(&self->t, OWNER, NAME + 1, &for_call));

	ASSERT_EQ(0, dxk_cancel_owner(self->t.member, OWNER, &were));
	EXPECT_EQ(200, were.ready);
	EXPECT_EQ(1, were.executing);
	EXPECT_EQ(2, were.waiting);
	EXPECT_EQ(0, were.done);
	EXPECT_EQ(1, dxk_should_stop(self->me, 0));
	for (i = 0; i < 201; i++)
		EXPECT_EQ(-ECANCELED, status_of(&self->t, OWNER));
	EXPECT_EQ(0, ends(self->me, &w, 3));
	EXPECT_EQ(3, status_of(&self->t, OWNER));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(1, fetch(self->me, &w));
		EXPECT_EQ(OTHER, w.work.owner);
		ASSERT_EQ(0, ends(self->me, &w, 0));
		EXPECT_EQ(0, status_of(&self->t, OTHER));
	}
	ASSERT_EQ(1, fetch(self->me, &turn));
	EXPECT_EQ(DXK_WAKE_CANCEL, turn.wake);
	EXPECT_EQ(0, ends(self->me, &turn, 4));
	EXPECT_EQ(4, status_of(&self->t, OWNER));
}

/* The first that fails takes its owner's others along, without a call. */
TEST_F(wait, fail_fast)
{
	struct dxk_post_more e = entry(OWNER, 0, PXR_FAIL_FAST);
	struct dxk_work_more w;
	unsigned int i;

	for (i = 0; i < 300; i++)
		ASSERT_EQ(1, dxk_post_more(self->t.member, &e, 1, 0, NULL));
	ASSERT_EQ(1, post(&self->t, OTHER, 0, NULL));
	ASSERT_EQ(1, fetch(self->me, &w));
	EXPECT_EQ(0, ends(self->me, &w, 1));
	EXPECT_EQ(1, status_of(&self->t, OWNER));
	ASSERT_EQ(1, fetch(self->me, &w));
	EXPECT_EQ(0, ends(self->me, &w, -EIO));
	EXPECT_EQ(-EIO, status_of(&self->t, OWNER));
	for (i = 0; i < 298; i++)
		EXPECT_EQ(-ECANCELED, status_of(&self->t, OWNER));
	ASSERT_EQ(1, fetch(self->me, &w));
	EXPECT_EQ(OTHER, w.work.owner);
	EXPECT_EQ(0, ends(self->me, &w, 0));
	EXPECT_EQ(0, status_of(&self->t, OTHER));
}

TEST_F(wait, expire)
{
	struct dxk_post_more e = entry(OWNER, NAME, PXR_EXPIRE);
	struct dxk_work_more w;

	e.expire = dxt_in(5 * DXT_MS);
	ASSERT_EQ(1, dxk_post_more(self->t.member, &e, 1, 0, NULL));
	EXPECT_EQ(-ETIME, status_of(&self->t, OWNER));
	EXPECT_LE(e.expire, dxt_now());
	e.post.attrs |= PXR_WAIT;
	e.wait = for_call;
	e.expire = dxt_in(5 * DXT_MS);
	ASSERT_EQ(1, dxk_post_more(self->t.member, &e, 1, 0, NULL));
	EXPECT_EQ(-ETIME, status_of(&self->t, OWNER));

	e.expire = dxt_in(1000 * DXT_SEC);
	ASSERT_EQ(1, dxk_post_more(self->t.member, &e, 1, 0, NULL));
	EXPECT_EQ(1, wake(&self->t, NAME));
	ASSERT_EQ(1, fetch(self->me, &w));
	EXPECT_EQ(e.expire, w.expire);
	EXPECT_EQ(0, ends(self->me, &w, 0));
	EXPECT_EQ(0, status_of(&self->t, OWNER));

	e.post.attrs &= ~(uint32_t)PXR_WAIT;
	memset(&e.wait, 0, sizeof(e.wait));
	e.expire = dxt_in(20 * DXT_MS);
	ASSERT_EQ(1, dxk_post_more(self->t.member, &e, 1, 0, NULL));
	if (dxk_next_more(self->me, NULL, 0, NULL, &w, 1, NULL, 0, 0) == 1) {
		EXPECT_EQ(1, dxk_should_stop(self->me, dxt_late_ns()));
		EXPECT_LE(e.expire, dxt_now());
		EXPECT_EQ(0, parks(self->me, &w, &for_call));
		ASSERT_EQ(1, fetch(self->me, &w));
		EXPECT_EQ(DXK_WAKE_EXPIRE, w.wake);
		EXPECT_EQ(0, w.expire);
		EXPECT_EQ(0, ends(self->me, &w, 0));
	}
	EXPECT_EQ(1, dxt_drain(&self->t, self->t.member, OWNER));
}

/* A worker that has others execute its requests reports how often they were begun in total. */
TEST_F(wait, attempts)
{
	static const struct {
		uint32_t told, got;
	} row[] = { { 0, 1 }, { 1, 1 }, { 4, 4 }, { 65535, 65535 } };
	struct dxk_post_more e = entry(OWNER, 0, PXR_REDO);
	struct dxk_done_more done = { .attempts = 1 };
	struct dxk_result r;
	struct dxk_work_more w;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		ASSERT_EQ(1, dxk_post_more(self->t.member, &e, 1, 0, NULL));
		ASSERT_EQ(1, fetch(self->me, &w));
		EXPECT_EQ(0, w.expire);
		done = (struct dxk_done_more){
			.done.ticket = w.work.ticket, .attempts = row[i].told,
		};
		EXPECT_EQ(0, dxk_next_more(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
		ASSERT_EQ(1, dxk_rejoin(self->t.member, OWNER, &r, 1, 1, NULL, 0, 0, NULL));
		EXPECT_EQ(row[i].got, r.attempts);
	}

	/* Fewer than there were here, more than there can be, beside a wait, a reserved field */
	ASSERT_EQ(1, dxk_post_more(self->t.member, &e, 1, 0, NULL));
	ASSERT_EQ(1, fetch(self->me, &w));
	close(self->me);
	self->me = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_EQ(1, fetch(self->me, &w));
	ASSERT_EQ(2, w.work.attempt);
	done = (struct dxk_done_more){ .done.ticket = w.work.ticket, .attempts = 1 };
	EXPECT_EQ(-EINVAL, dxk_next_more(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	done.attempts = 65536;
	EXPECT_EQ(-EINVAL, dxk_next_more(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	done.attempts = 2;
	done.wait = for_call;
	EXPECT_EQ(-EINVAL, dxk_next_more(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	done = (struct dxk_done_more){ .done.ticket = w.work.ticket, .reserved = 1 };
	EXPECT_EQ(-EINVAL, dxk_next_more(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	done = (struct dxk_done_more){ .done.ticket = w.work.ticket, .attempts = 2 };
	EXPECT_EQ(0, dxk_next_more(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	ASSERT_EQ(1, dxk_rejoin(self->t.member, OWNER, &r, 1, 1, NULL, 0, 0, NULL));
	EXPECT_EQ(2, r.attempts);
}

/* Everything that may be wrong with a wait, a name, an element. */
TEST_F(wait, refused)
{
	static const struct {
		struct dxk_wait wait;
		int rc;
	} row[] = {
		{ { .wait = DXK_WAIT_MASKED }, -EINVAL },
		{ { .wait = DXK_WAIT_AGAIN | DXK_WAIT_CALL }, -EINVAL },
		{ { .wait = DXK_WAIT_RESULT | DXK_WAIT_JOIN }, -EINVAL },
		{ { .wait = DXK_WAIT_CALL, .deadline = 1 }, -EINVAL },
		{ { .wait = DXK_WAIT_CALL, .owner = 1 }, -EINVAL },
		{ { .wait = DXK_WAIT_CALL, .prio = 1 }, -EINVAL },
		{ { .wait = 0x8000 }, -EOPNOTSUPP },
		{ { .wait = DXK_WAIT_CALL | DXK_WAIT_EAGER }, -EINVAL },
		{ { .wait = DXK_WAIT_CALL, .key = 1 }, -EINVAL },
		{ { .wait = 0x80000000 | DXK_WAIT_CALL }, -EOPNOTSUPP },
		{ { .deadline = 1 }, -EINVAL },
		{ { .state = 1 }, -EINVAL },
	};
	struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct dxk_work_more w;
	struct dxk_done_more done;
	struct dxk_post_more e;
	struct dxt_snapshot before, after;
	unsigned int i;

	ASSERT_EQ(1, post(&self->t, OWNER, NAME, NULL));
	ASSERT_EQ(1, fetch(self->me, &w));
	dxt_snapshot(&self->t, &before);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		EXPECT_EQ(row[i].rc, parks(self->me, &w, &row[i].wait)) TH_LOG("row %u", i);
		EXPECT_EQ(row[i].rc, post(&self->t, OWNER, 1000, &row[i].wait)) {
			TH_LOG("row %u", i);
		}
	}
	EXPECT_EQ(-EINVAL, post(&self->t, OWNER, 1000, &again));
	EXPECT_EQ(-EINVAL, post(&self->t, OWNER, 0, &for_call));
	EXPECT_EQ(-EEXIST, post(&self->t, OWNER, NAME, &for_call));
	/* what goes with no attribute */
	e = entry(OWNER, 0, 0);
	e.name = 1;
	EXPECT_EQ(-EINVAL, dxk_post_more(self->t.member, &e, 1, 0, NULL));
	e.name = 0;
	e.expire = 1;
	EXPECT_EQ(-EINVAL, dxk_post_more(self->t.member, &e, 1, 0, NULL));
	e.expire = 0;
	e.wait.wait = DXK_WAIT_TIME;
	EXPECT_EQ(-EINVAL, dxk_post_more(self->t.member, &e, 1, 0, NULL));
	/* a status beside a wait */
	done = (struct dxk_done_more){
		.done = { .ticket = w.work.ticket, .status = 1 }, .wait = for_call,
	};
	EXPECT_EQ(-EINVAL, dxk_next_more(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	done.done = (struct dxk_done){ .ticket = w.work.ticket, .data_len = 1 };
	EXPECT_EQ(-EMSGSIZE, dxk_next_more(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	done.done = (struct dxk_done){ .ticket = w.work.ticket + 1 };
	EXPECT_EQ(-ESTALE, dxk_next_more(self->me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	dxt_snapshot(&self->t, &after);
	EXPECT_EQ(0, dxt_num(&self->t, "pools/wait_use"));
	EXPECT_EQ(0, ends(self->me, &w, 0));
	EXPECT_EQ(0, status_of(&self->t, OWNER));
}

/* Of several turns that end at a time those before a wait that is refused end; it is the first then. */
TEST_F(wait, refused_among_others)
{
	static const struct dxk_wait nothing = { .wait = DXK_WAIT_TIME | DXK_WAIT_AGAIN };
	struct dxk_done_more done[3] = { { .wait = for_call }, { .wait = nothing },
					 { .wait = for_call } };
	struct dxk_work_more w;
	unsigned int i, taken;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, post(&self->t, OWNER, NAME + i, NULL));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(1, fetch(self->me, &w));
		done[i].done.ticket = w.work.ticket;
	}
	EXPECT_EQ(0, dxk_next_more(self->me, done, 3, &taken, &w, 1, NULL, 0, 0));
	EXPECT_EQ(1, taken);
	EXPECT_EQ(1, dxt_num(&self->t, "pools/wait_use"));
	EXPECT_EQ(-EINVAL, dxk_next_more(self->me, done + 1, 2, &taken, &w, 1, NULL, 0, 0));
	EXPECT_EQ(0, taken);
	done[1].wait = for_call;
	EXPECT_EQ(0, dxk_next_more(self->me, done + 1, 2, &taken, NULL, 0, NULL, 0, 0));
	EXPECT_EQ(2, taken);
	EXPECT_EQ(3, dxt_num(&self->t, "pools/wait_use"));
	for (i = 0; i < 3; i++)
		EXPECT_LT(0, cancel(&self->t, NAME + i));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(1, fetch(self->me, &w));
		EXPECT_EQ(DXK_WAKE_CANCEL, w.wake);
		EXPECT_EQ(0, ends(self->me, &w, -ECANCELED));
		EXPECT_EQ(-ECANCELED, status_of(&self->t, OWNER));
	}
}

/* A context that lets none wait says so. */
TEST(off)
{
	struct dxk_work_more w;
	struct dxt t;
	int me;

	ASSERT_EQ(0, dxt_open(&t));
	ASSERT_EQ(0, t.policy.max_waiting);
	ASSERT_EQ(0, dxt_start(&t));
	me = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	EXPECT_EQ(-EOPNOTSUPP, post(&t, OWNER, NAME, NULL));
	EXPECT_EQ(-EOPNOTSUPP, post(&t, OWNER, NAME, &for_call));
	EXPECT_EQ(-EOPNOTSUPP, wake(&t, NAME));
	EXPECT_EQ(-EOPNOTSUPP, cancel(&t, NAME));
	ASSERT_EQ(1, post(&t, OWNER, 0, NULL));
	ASSERT_EQ(1, fetch(me, &w));
	EXPECT_EQ(-EOPNOTSUPP, parks(me, &w, &for_call));
	EXPECT_EQ(0, ends(me, &w, 0));
	close(me);
	dxt_down(&t);
}

/* --- who goes --------------------------------------------------------------------- */

/* Names are private to a descriptor, and what waits ends with it. */
TEST_F(wait, private_names)
{
	int ctx = dxk_ctx_join_id(self->t.ctl, self->t.id, DXK_ACCESS_WRITE, 0);
	struct dxk_post_more e = entry(OWNER, NAME, PXR_WAIT);
	uint64_t name = NAME;
	int member;

	ASSERT_LE(0, ctx);
	member = dxk_member_create(ctx, DXK_MEMBER_CLIENT, NULL);
	ASSERT_LE(0, member);
	e.wait = for_call;
	ASSERT_EQ(1, dxk_post_more(member, &e, 1, 0, NULL));
	EXPECT_EQ(-ENOENT, wake(&self->t, NAME));
	ASSERT_EQ(1, post(&self->t, OWNER, NAME, &for_call));
	EXPECT_EQ(2, dxt_num(&self->t, "pools/wait_use"));
	EXPECT_EQ(1, dxk_wake(member, &name, 1));
	EXPECT_EQ(1, dxt_num(&self->t, "pools/ready_use"));
	EXPECT_EQ(1, dxk_cancel(member, &name, 1, NULL));
	ASSERT_EQ(1, dxk_post_more(member, &e, 1, 0, NULL));
	close(member);
	close(ctx);
	EXPECT_TRUE(DXT_SOON(dxt_num(&self->t, "pools/wait_use") == 1));
	EXPECT_EQ(DXK_CANCEL_ENDED, cancel(&self->t, NAME));
	EXPECT_EQ(-ECANCELED, status_of(&self->t, OWNER));
}

/* The process that posted is killed while its requests wait: they are gone with it. */
TEST_F(wait, killed)
{
	_Atomic int *posted = dxt_shared(sizeof(*posted));
	pid_t pid = dxt_fork();
	unsigned int i;

	ASSERT_LE(0, pid);
	if (!pid) {
		int ctx = dxk_ctx_join_id(self->t.ctl, self->t.id, DXK_ACCESS_WRITE, 0);
		int member = dxk_member_create(ctx, DXK_MEMBER_CLIENT, NULL);

		for (i = 0; i < 300; i++) {
			struct dxk_post_more e = entry(OWNER + i, 1 + i, PXR_WAIT);

			e.wait = for_call;
			*posted += dxk_post_more(member, &e, 1, 0, NULL) == 1;
		}
		pause();
		_exit(0);
	}
	ASSERT_TRUE(DXT_SOON(*posted == 300));
	EXPECT_EQ(300, dxt_num(&self->t, "pools/wait_use"));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_TRUE(DXT_SOON(!dxt_num(&self->t, "pools/wait_use")));
	EXPECT_TRUE(DXT_SOON(dxt_num(&self->t, "stats/vanished") == 300));
}

/* A worker that is killed takes nothing that waits along. */
TEST_F(wait, worker_killed)
{
	struct dxk_work_more w;
	pid_t pid;

	ASSERT_EQ(1, post(&self->t, OWNER, NAME, NULL));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int me = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, NULL);

		if (me >= 0 && fetch(me, &w) == 1)
			parks(me, &w, &for_call);
		pause();
		_exit(0);
	}
	ASSERT_TRUE(DXT_SOON(dxt_num(&self->t, "pools/wait_use") == 1));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_EQ(1, dxt_num(&self->t, "pools/wait_use"));
	EXPECT_EQ(1, wake(&self->t, NAME));
	ASSERT_EQ(1, fetch(self->me, &w));
	EXPECT_EQ(1, w.turn);
	EXPECT_EQ(0, ends(self->me, &w, 0));
	EXPECT_EQ(0, status_of(&self->t, OWNER));
}

/* --- Stop --------------------------------------------------------------------------- */

struct last {
	struct dxt *t;
	int me;
	_Atomic unsigned int turns, reason;
};

/* A worker that parks what it has until it is told that this is its last turn. */
static void *last_main(void *arg)
{
	struct last *l = arg;
	struct dxk_work_more w;

	l->me = dxk_member_create(l->t->ctx, DXK_MEMBER_WORKER, NULL);
	while (fetch(l->me, &w) == 1) {
		l->turns++;
		l->reason = w.wake;
		if (w.wake == DXK_WAKE_CANCEL || w.wake == DXK_WAKE_STOP)
			ends(l->me, &w, 33);
		else
			parks(l->me, &w, &for_call);
	}
	close(l->me);
	return NULL;
}

static void stop_tells(struct __test_metadata *_metadata, struct dxt *t, unsigned int mode,
		       uint32_t lane, unsigned int reason)
{
	struct dxk_post_more e = entry(OWNER, NAME, lane);
	struct last l = { .t = t };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, last_main, &l));
	ASSERT_EQ(1, dxk_post_more(t->member, &e, 1, 0, NULL));
	ASSERT_TRUE(DXT_SOON(dxt_num(t, "pools/wait_use") == 1));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, mode, dxt_late_ns()));
	pthread_join(thread, NULL);
	EXPECT_EQ(2, l.turns);
	EXPECT_EQ(reason, l.reason);
	EXPECT_EQ(33, status_of(t, OWNER));
}

/* DX-109: a service that waits is told by every Stop. */
TEST(stop_drain)
{
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_waiting = 10;
	t.policy.sched_mode = TPOOL_MODE_CMLS;
	t.policy.lane_pct[0] = 25;
	ASSERT_EQ(0, dxt_start(&t));
	stop_tells(_metadata, &t, DXK_STOP_DRAIN, PXR_LANE0, DXK_WAKE_STOP);
	dxt_down(&t);
}

/* Another one by a cancel; with nobody to take its turn it ends. */
TEST(stop_cancel)
{
	struct dxk_work_more w;
	struct dxt t;
	int me;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_waiting = 10;
	ASSERT_EQ(0, dxt_start(&t));
	stop_tells(_metadata, &t, DXK_STOP_CANCEL, 0, DXK_WAKE_CANCEL);
	ASSERT_EQ(0, dxk_ctx_start(t.ctx));
	ASSERT_EQ(1, post(&t, OWNER, NAME, NULL));
	ASSERT_EQ(1, post(&t, OTHER, NAME + 1, &for_call));
	me = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_EQ(1, fetch(me, &w));
	EXPECT_EQ(0, parks(me, &w, &for_call));
	close(me);
	EXPECT_TRUE(DXT_SOON(!dxt_num(&t, "pools/thread_use")));
	EXPECT_EQ(2, dxt_num(&t, "pools/wait_use"));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	EXPECT_EQ(-ECANCELED, status_of(&t, OWNER));
	EXPECT_EQ(-ECANCELED, status_of(&t, OTHER));
	dxt_down(&t);
}

/* The last descriptor is closed over what waits: nothing is left, and close returns. */
TEST(closed)
{
	struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = dxt_in(1000 * DXT_SEC) };
	unsigned int i, before = dxt_contexts();
	struct dxk_work_more w;
	struct dxt t;
	int me;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_waiting = 1000;
	ASSERT_EQ(0, dxt_start(&t));
	me = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(1, post(&t, OWNER, 1 + i, i & 1 ? &late : NULL));
		if (i & 1)
			continue;
		ASSERT_EQ(1, fetch(me, &w));
		EXPECT_EQ(0, parks(me, &w, &for_call));
	}
	close(me);
	dxt_close(&t);
	EXPECT_TRUE(DXT_SOON(dxt_contexts() == before));
}

/* --- a storm --------------------------------------------------------------------------- */

enum { RACERS = 4, ROUNDS = 400 };

struct racer {
	struct dxt *t;
	_Atomic bool *end;
	unsigned int seed;
};

static void *racer_main(void *arg)
{
	struct racer *r = arg;
	uint64_t names[8];
	unsigned int i;
	int member = dxk_member_create(r->t->ctx, DXK_MEMBER_CLIENT, NULL);

	while (!*r->end) {
		for (i = 0; i < ARRAY_SIZE(names); i++)
			names[i] = 1 + (uint64_t)rand_r(&r->seed) % 16;
		dxk_wake(member, names, ARRAY_SIZE(names));
	}
	close(member);
	return NULL;
}

/* each wake that comes after a wait has begun ends it: no chain of turns stands still. */
TEST_F(wait, storm)
{
	unsigned int round, turns = 0;
	struct racer racer[RACERS];
	pthread_t thread[RACERS];
	_Atomic bool end = false;
	struct dxk_work_more w;
	unsigned int i;

	for (i = 0; i < RACERS; i++) {
		racer[i] = (struct racer){ &self->t, &end, i };
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, racer_main, &racer[i]));
	}
	for (i = 0; i < 16; i++)
		ASSERT_EQ(1, post(&self->t, OWNER, 1 + i, &for_call));
	for (round = 0; round < 16 * ROUNDS; round++) {
		ASSERT_EQ(1, fetch(self->me, &w));
		EXPECT_EQ(DXK_WAKE_CALL, w.wake);
		turns += w.turn;
		ASSERT_EQ(0, w.turn < ROUNDS - 1 ? parks(self->me, &w, &for_call) :
						   ends(self->me, &w, 0));
	}
	end = true;
	for (i = 0; i < RACERS; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(16 * ROUNDS * (ROUNDS - 1) / 2, turns);
	EXPECT_EQ(16, dxt_drain(&self->t, self->t.member, OWNER));
}

/* a call, the time and a cancel at one instant: one turn, for one reason. */
TEST_F(wait, one_reason)
{
	struct dxk_wait wait = { .wait = DXK_WAIT_CALL | DXK_WAIT_TIME };
	unsigned int seen[DXK_WAKE_DEADLOCK + 1] = { 0 }, i;
	struct racer racer = { .t = &self->t };
	_Atomic bool end = false;
	struct dxk_work_more w;
	pthread_t thread;
	int state;

	racer.end = &end;
	ASSERT_EQ(0, pthread_create(&thread, NULL, racer_main, &racer));
	for (i = 0; i < 500; i++) {
		ASSERT_EQ(1, post(&self->t, OWNER, 1 + i % 32, NULL));
		ASSERT_EQ(1, fetch(self->me, &w));
		wait.deadline = dxt_in(i % 7 * 100000);
		ASSERT_EQ(0, parks(self->me, &w, &wait));
		state = i % 3 ? cancel(&self->t, 1 + i % 32) : 0;
		EXPECT_EQ(i % 3 ? DXK_CANCEL_TOLD : 0, state);
		ASSERT_EQ(1, fetch(self->me, &w));
		EXPECT_EQ(1, w.turn);
		seen[w.wake]++;
		EXPECT_TRUE(i % 3 || w.wake != DXK_WAKE_CANCEL);
		EXPECT_EQ(-ETIMEDOUT, dxk_next_more(self->me, NULL, 0, NULL, &(struct dxk_work_more){ 0 },
						    1, NULL, 0, 0));
		EXPECT_EQ(0, ends(self->me, &w, 0));
	}
	end = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(i, seen[DXK_WAKE_CALL] + seen[DXK_WAKE_TIME] + seen[DXK_WAKE_CANCEL]);
	EXPECT_LT(0, seen[DXK_WAKE_CANCEL]);
	EXPECT_EQ(i, dxt_drain(&self->t, self->t.member, OWNER));
}

TEST_HARNESS_MAIN
