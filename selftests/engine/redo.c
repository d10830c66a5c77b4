// SPDX-License-Identifier: GPL-2.0-only
/*
 * PXR_REDO: a request whose worker dies is run again, with what was posted, in its
 * place of the order, and not too often (DX-25).
 */
#include "lib/puppet.h"

#include <sys/mman.h>

#define LEN	64

/* Posts one request that carries @data and may return as much. 1 */
static int post_data(struct dxt *t, uint64_t owner, int prio, uint32_t attrs,
		     const void *data, unsigned int len)
{
	struct dxk_post_entry e = prio_entry(owner, 9, prio, attrs);
	struct dxk_post post;

	e.data = DXT_PTR(data);
	e.data_len = len;
	e.result_len = LEN;
	return dxt_post(t->member, &e, 1, 0, &post);
}

/* The worker that has the request is gone with it. */
static void die(struct puppet **w, struct dxt *t)
{
	puppet_free(*w);
	*w = puppet_new(t, DXK_MEMBER_WORKER);
}

/* DX-25: run again until it ends; the attempt is told to worker and owner. */
TEST(runs_again)
{
	static const char posted[] = "what was posted", result[] = "and its result";
	struct dxk_result r;
	struct puppet *w;
	uint32_t answer;
	char data[LEN];
	struct dxt t;
	unsigned int i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.data_size = PUP_DATA;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_EQ(1, post_data(&t, 1, 4, PXR_REJOIN | PXR_REDO, posted, sizeof(posted)));
	for (i = 1; i <= 3; i++) {
		ASSERT_EQ(1, puppet_fetch(w));
		EXPECT_EQ(i, w->work[0].attempt);
		EXPECT_EQ(4, w->work[0].prio);
		ASSERT_EQ(sizeof(posted), w->work[0].data_len);
		EXPECT_EQ(0, memcmp(w->data, posted, sizeof(posted)));
		if (i < 3)
			die(&w, &t);
	}
	EXPECT_EQ(0, puppet_finish_data(w, result, sizeof(result)));
	EXPECT_EQ(1, dxk_rejoin(t.member, 1, &r, 1, 1, data, sizeof(data), -1, &answer));
	EXPECT_EQ(0, r.status);
	EXPECT_EQ(3, r.attempts);
	EXPECT_EQ(sizeof(result), r.data_len);
	EXPECT_EQ(0, memcmp(data, result, sizeof(result)));
	EXPECT_EQ(2, dxt_num(&t, "stats/redone"));
	EXPECT_EQ(0, dxt_num(&t, "stats/owner_dead"));
	EXPECT_EQ(3, dxt_num(&t, "stats/dispatches"));
	EXPECT_EQ(1, dxt_num(&t, "stats/completions"));
	puppet_free(w);
	dxt_down(&t);
}

/* DX-25: begun redo_max times, it ends; without the attribute at the first. */
TEST(not_for_ever)
{
	unsigned int max, i;
	struct dxk_result r;
	struct puppet *w;
	uint32_t answer;
	struct dxt t;

	for (max = 0; max <= 2; max++) {
		ASSERT_EQ(0, dxt_open(&t));
		t.policy.max_threads = 1;
		t.policy.redo_max = max ?: 3;
		ASSERT_EQ(0, dxt_start(&t));
		w = puppet_new(&t, DXK_MEMBER_WORKER);
		ASSERT_EQ(1, post_data(&t, 1, 0, PXR_REJOIN | (max ? PXR_REDO : 0), "", 1));
		for (i = 0; i < (max ?: 1); i++) {
			ASSERT_EQ(1, puppet_fetch(w));
			EXPECT_EQ(1, dxt_num(&t, "pools/thread_busy"));
			die(&w, &t);
		}
		EXPECT_EQ(1, dxt_rejoin(t.member, 1, &r, 1, 1, DXK_FOREVER, &answer));
		EXPECT_EQ(-EOWNERDEAD, r.status);
		EXPECT_EQ(max ?: 1, r.attempts);
		EXPECT_EQ(0, r.data_len);
		EXPECT_EQ(0, dxt_num(&t, "owners"));
		puppet_free(w);
		dxt_down(&t);
	}
}

/* A context where requests age, and its worker; NULL when it cannot be had. */
static struct puppet *ageing(struct dxt *t, uint32_t interval_ms)
{
	if (dxt_open(t))
		return NULL;
	t->policy.max_threads = 1;
	t->policy.prio_policy = PRIO_POLICY_AGERQS;
	t->policy.sched_interval_ms = interval_ms;
	return dxt_start(t) ? NULL : puppet_new(t, DXK_MEMBER_WORKER);
}

/*
 * DX-25, DX-63: it goes back to its place: behind who is more urgent, before who
 * came later, and the time that it executed does not age it.
 */
TEST(keeps_its_place)
{
	static const struct { uint64_t param; int prio; } order[] = {
		{ 3, 6 }, { 1, 5 }, { 2, 5 }, { 4, 4 },
	};
	struct dxk_post_entry e[4];
	struct dxk_post post;
	struct puppet *w;
	struct dxt t;
	unsigned int i;

	w = ageing(&t, 3600000);
	ASSERT_NE(NULL, w);
	e[0] = prio_entry(1, 1, 5, PXR_REJOIN | PXR_REDO);
	ASSERT_EQ(1, dxt_post(t.member, e, 1, 0, &post));
	ASSERT_EQ(1, puppet_fetch(w));
	e[0] = prio_entry(1, 2, 5, PXR_REJOIN);
	e[1] = prio_entry(1, 3, 6, PXR_REJOIN);
	e[2] = prio_entry(1, 4, 4, PXR_REJOIN);
	ASSERT_EQ(3, dxt_post(t.member, e, 3, 0, &post));
	die(&w, &t);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, puppet_fetch(w));
		EXPECT_EQ(order[i].param, w->work[0].param);
		EXPECT_EQ(order[i].prio, w->work[0].prio);
		ASSERT_EQ(0, puppet_finish(w, 0));
	}
	EXPECT_EQ(4, dxt_drain(&t, t.member, 1));
	puppet_free(w);
	dxt_down(&t);
}

/* DX-60, DX-63: it goes on ageing where it was, and is inspected on from there. */
TEST(ages_on)
{
	uint32_t before = 0;
	struct puppet *w;
	struct dxt t;
	unsigned int i;

	w = ageing(&t, 2);
	ASSERT_NE(NULL, w);
	/* until the Scheduler had its turn, however busy the machine is */
	for (i = 1; i < 100 && !before; i++) {
		ASSERT_EQ(1, post_data(&t, 1, 0, PXR_REJOIN | PXR_REDO, "", 1));
		usleep(10000 * i);
		ASSERT_EQ(1, puppet_fetch(w));
		before = w->work[0].inspect_count;
		EXPECT_EQ((int)before, w->work[0].prio);
		if (!before)
			ASSERT_EQ(0, puppet_finish(w, 0));
	}
	ASSERT_LT(0, before);
	die(&w, &t);
	ASSERT_EQ(1, puppet_fetch(w));
	EXPECT_LE(before, w->work[0].inspect_count);
	EXPECT_EQ((int)w->work[0].inspect_count, w->work[0].prio);
	ASSERT_EQ(0, puppet_finish(w, 0));
	EXPECT_EQ((int)i - 1, dxt_drain(&t, t.member, 1));
	puppet_free(w);
	dxt_down(&t);
}

/*
 * DX-25: a result that began to come in does not spoil what was posted. The second
 * page of the result cannot be read, so the completion is refused; then the worker
 * dies.
 */
TEST(posted_data_stays)
{
	enum { PAGE = 4096 };
	char *wall = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char posted[LEN];
	struct puppet *w;
	struct dxt t;

	ASSERT_NE(MAP_FAILED, wall);
	ASSERT_EQ(0, mprotect(wall + PAGE, PAGE, PROT_NONE));
	memset(posted, 'p', sizeof(posted));
	memset(wall, 'r', PAGE);
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_EQ(1, post_data(&t, 1, 0, PXR_REJOIN | PXR_REDO, posted, LEN));
	ASSERT_EQ(1, puppet_fetch(w));
	EXPECT_EQ(-EFAULT, puppet_finish_data(w, wall + PAGE - LEN / 2, LEN));
	die(&w, &t);
	ASSERT_EQ(1, puppet_fetch(w));
	ASSERT_EQ(LEN, w->work[0].data_len);
	EXPECT_EQ(0, memcmp(posted, w->data, LEN));
	EXPECT_EQ(0, puppet_finish(w, 0));
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	puppet_free(w);
	dxt_down(&t);
	munmap(wall, 2 * PAGE);
}

/*
 * DX-25: nor does a result that was complete, but had to wait for room in the Rejoin
 * Pool, when its worker dies there.
 */
TEST(posted_data_outlives_a_result)
{
	char posted[LEN];
	struct dxk_result r;
	struct puppet *w;
	uint32_t answer;
	struct dxt t;

	memset(posted, 'p', sizeof(posted));
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	t.policy.rejoin_entries = 1;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_EQ(1, post_data(&t, 1, 0, PXR_REJOIN, "", 1));
	ASSERT_EQ(1, puppet_fetch(w));
	ASSERT_EQ(0, puppet_finish(w, 0));
	ASSERT_EQ(1, post_data(&t, 1, 0, PXR_REJOIN | PXR_REDO, posted, LEN));
	ASSERT_EQ(1, puppet_fetch(w));
	EXPECT_EQ(-ETIMEDOUT, puppet_finish_data(w, "xyz", 3));
	die(&w, &t);
	ASSERT_EQ(1, puppet_fetch(w));
	ASSERT_EQ(LEN, w->work[0].data_len);
	EXPECT_EQ(0, memcmp(posted, w->data, LEN));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &r, 1, 1, 0, &answer));
	EXPECT_EQ(0, puppet_finish(w, 0));
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	puppet_free(w);
	dxt_down(&t);
}

/* DX-25, DX-108: Stop(drain) runs it again, after Stop(cancel) it ends. */
TEST(while_stopping)
{
	struct dxk_result r;
	struct puppet *w[2];
	uint32_t answer;
	struct dxt t;
	int cancel;

	for (cancel = 0; cancel <= 1; cancel++) {
		ASSERT_EQ(0, dxt_open(&t));
		t.policy.max_threads = 2;
		ASSERT_EQ(0, dxt_start(&t));
		puppets_new(&t, w, 2, DXK_MEMBER_WORKER);
		ASSERT_EQ(1, post_data(&t, 1, 0, PXR_REJOIN | PXR_REDO, "", 1));
		ASSERT_EQ(1, puppet_fetch(w[0]));
		ASSERT_TRUE(puppet_ask(w[1]));
		EXPECT_EQ(-ETIMEDOUT,
			  dxk_ctx_stop(t.ctx, cancel ? DXK_STOP_CANCEL : DXK_STOP_DRAIN, 0));
		puppet_free(w[0]);
		if (cancel) {
			EXPECT_EQ(-ESHUTDOWN, puppet_end(w[1]));
		} else {
			EXPECT_EQ(1, puppet_end(w[1]));
			EXPECT_EQ(2, w[1]->work[0].attempt);
			EXPECT_EQ(0, puppet_finish(w[1], 0));
		}
		EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
		EXPECT_EQ(1, dxt_rejoin(t.member, 1, &r, 1, 1, 0, &answer));
		EXPECT_EQ(cancel ? -EOWNERDEAD : 0, r.status);
		puppet_free(w[1]);
		dxt_down(&t);
	}
}

/* A request that was put back unfetched was not begun: that does not count. */
TEST(unfetched_is_no_attempt)
{
	struct puppet *w;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_EQ(1, post_data(&t, 1, 0, PXR_REJOIN | PXR_REDO, "x", 1));
	puppet_next(w, 0, 0, 1, DXK_FOREVER);
	ASSERT_EQ(1, puppet_end(w));
	EXPECT_EQ(1, w->work[0].attempt);
	die(&w, &t);
	/* nowhere to store it */
	w->next = (struct dxk_next){
		.size = sizeof(w->next),
		.work = 8,
		.nr_work = 1,
		.work_size = sizeof(w->work[0]),
	};
	puppet_begin(w, puppet_call_next);
	EXPECT_EQ(-EFAULT, puppet_end(w));
	ASSERT_EQ(1, puppet_fetch(w));
	EXPECT_EQ(2, w->work[0].attempt);
	EXPECT_EQ(0, puppet_finish(w, 0));
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	puppet_free(w);
	dxt_down(&t);
}

TEST_HARNESS_MAIN
