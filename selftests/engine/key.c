// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys, seen from programs: one turn at a time, the way out and back, what holds a key back,
 * and what happens to keys when a worker, a process or the context goes. Which is next is
 * proved by the engine's own tests (dxk_key, dxk_cycle) and by the simulator.
 */
#include "lib/log.h"

#define OWNER	1
#define KEY	77
#define OTHER	78

FIXTURE(key) {
	struct dxt t;
	struct puppet *p[3];	/* workers */
};

FIXTURE_SETUP(key)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.max_waiting = 1024;
	self->t.policy.max_threads = 16;
	no_periods(&self->t);
	ASSERT_EQ(0, dxt_start(&self->t));
	puppets_new(&self->t, self->p, 3, DXK_MEMBER_WORKER);
}

FIXTURE_TEARDOWN(key)
{
	EXPECT_EQ(0, dxt_num(&self->t, "pools/wait_use"));
	EXPECT_EQ(0, dxt_num(&self->t, "stats/missed_wakeups"));
	puppets_free(self->p, 3);
	dxt_down(&self->t);
}

static int send(int member, uint64_t key, uint64_t owner, uint64_t param, uint32_t reentry)
{
	struct dxk_post_more e = {
		.post = dxt_entry(owner, 9, param, PXR_REJOIN | PXR_KEY), .key = key,
		.reentry = reentry,
	};

	return dxk_post_more(member, &e, 1, 0, NULL);
}

static int key_call(int member, uint32_t what, uint64_t key, uint64_t ticket, uint32_t flags)
{
	struct dxk_key_call c = {
		.size = sizeof(c), .what = what, .key = key, .ticket = ticket, .flags = flags,
	};

	return dxt_ioctl(member, DXK_IOC_KEY, &c);
}

/* What a puppet does with the key of the newest request that it executes. */
struct asker {
	struct puppet *p;
	uint32_t what;
	uint64_t deadline;
};
static struct asker asker[3];

static void call_key(struct puppet *p)
{
	const struct asker *a = &asker[0];
	struct dxk_key_call c = { .size = sizeof(c) };

	while (a->p != p)
		a++;
	c.what = a->what;
	c.deadline = a->deadline;
	c.ticket = p->work[p->held - 1].ticket;
	p->ret = dxt_ioctl(p->fd, DXK_IOC_KEY, &c);
}

/* True when it sleeps. */
static bool asks(struct puppet **p, unsigned int i, uint32_t what, uint64_t deadline)
{
	asker[i] = (struct asker){ p[i], what, deadline };
	return puppet_begin(p[i], call_key);
}

static long answer(struct puppet **p, unsigned int i, uint32_t what)
{
	if (asks(p, i, what, 0))
		return -EPROTO;
	return puppet_end(p[i]);
}

static uint64_t param(const struct puppet *p)
{
	return p->work[p->held - 1].param;
}

/* AG-1, AG-2, AG-3: one at a time, in order; who posts does not wait; another key runs beside */
TEST_F(key, one_at_a_time)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		ASSERT_EQ(1, send(self->t.member, KEY, OWNER, i, 0));
	EXPECT_EQ(3, dxt_num(&self->t, "pools/wait_use"));
	ASSERT_EQ(1, send(self->t.member, OTHER, OWNER, 9, 0));
	ASSERT_EQ(1, puppet_fetch(self->p[0]));
	EXPECT_EQ(0, param(self->p[0]));
	ASSERT_EQ(1, puppet_fetch(self->p[1]));
	EXPECT_EQ(9, param(self->p[1]));
	EXPECT_TRUE(puppet_ask(self->p[2]));
	for (i = 1; i < 4; i++) {
		EXPECT_EQ(0, puppet_finish(self->p[0], 0));
		EXPECT_EQ(1, puppet_end(self->p[2]));
		EXPECT_EQ(i, param(self->p[2]));
		EXPECT_TRUE(puppet_ask(self->p[0]));
		EXPECT_EQ(0, puppet_finish(self->p[2], 0));
		if (i == 3)
			break;
		EXPECT_EQ(1, puppet_end(self->p[0]));
		i++;
		EXPECT_EQ(i, param(self->p[0]));
		EXPECT_TRUE(puppet_ask(self->p[2]));
	}
	EXPECT_EQ(0, puppet_finish(self->p[1], 0));
	EXPECT_EQ(5, dxt_drain(&self->t, self->t.member, OWNER));
	EXPECT_EQ(3, dxt_num(&self->t, "stats/held"));
}

/* What a call says is wrong, and changes nothing. */
TEST_F(key, bad_input)
{
	struct dxk_post_more e = {
		.post = dxt_entry(OWNER, 9, 0, PXR_REJOIN | PXR_KEY), .key = KEY,
	};
	struct dxk_key_call c = { .size = sizeof(c), .what = DXK_KEY_WAIT };
	int fd = self->t.member;

	e.reentry = DXK_REENTRY_CHAIN + 1;
	EXPECT_EQ(-EOPNOTSUPP, dxk_post_more(fd, &e, 1, 0, NULL));
	e.reentry = 0;
	e.home = 1;
	EXPECT_EQ(-EINVAL, dxk_post_more(fd, &e, 1, 0, NULL));
	e.home = 0;
	e.post.attrs = PXR_REJOIN;
	EXPECT_EQ(-EINVAL, dxk_post_more(fd, &e, 1, 0, NULL));
	e.key = 0;
	e.reentry = 1;
	EXPECT_EQ(-EINVAL, dxk_post_more(fd, &e, 1, 0, NULL));
	EXPECT_EQ(-EOPNOTSUPP, key_call(fd, DXK_KEY_UNBLOCK + 1, 0, 0, 0));
	EXPECT_EQ(-EOPNOTSUPP, key_call(fd, DXK_KEY_HOLD, KEY, 0, 4));
	EXPECT_EQ(-EINVAL, key_call(fd, DXK_KEY_RELEASE, KEY, 0, DXK_KEY_REFUSE));
	EXPECT_EQ(-EINVAL, key_call(fd, DXK_KEY_HOLD, KEY, 5, 0));
	EXPECT_EQ(-EINVAL, key_call(fd, DXK_KEY_LEAVE, KEY, 5, 0));
	EXPECT_EQ(-ESTALE, key_call(fd, DXK_KEY_LEAVE, 0, 5, 0));
	EXPECT_EQ(-ENOENT, key_call(fd, DXK_KEY_RELEASE, KEY, 0, 0));
	EXPECT_EQ(-ENOENT, key_call(fd, DXK_KEY_CANCEL, KEY, 0, 0));
	c.reserved = 1;
	EXPECT_EQ(-EINVAL, dxt_ioctl(fd, DXK_IOC_KEY, &c));
	/* of a request without a key; without its key; twice */
	ASSERT_EQ(1, dxt_post1(fd, OWNER, 9, 0, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(self->p[0]));
	EXPECT_EQ(-EINVAL, answer(self->p, 0, DXK_KEY_LEAVE));
	EXPECT_EQ(0, puppet_finish(self->p[0], 0));
	ASSERT_EQ(1, send(fd, KEY, OWNER, 0, 0));
	ASSERT_EQ(1, puppet_fetch(self->p[0]));
	EXPECT_EQ(-EALREADY, answer(self->p, 0, DXK_KEY_ENTER));
	EXPECT_EQ(0, answer(self->p, 0, DXK_KEY_NOTIFY));
	EXPECT_EQ(0, answer(self->p, 0, DXK_KEY_LEAVE));
	EXPECT_EQ(-EPERM, answer(self->p, 0, DXK_KEY_LEAVE));
	EXPECT_EQ(-EPERM, answer(self->p, 0, DXK_KEY_NOTIFY));
	EXPECT_EQ(-EPERM, answer(self->p, 0, DXK_KEY_WAIT));
	EXPECT_EQ(0, answer(self->p, 0, DXK_KEY_ENTER));
	EXPECT_EQ(-EALREADY, answer(self->p, 0, DXK_KEY_ENTER));
	EXPECT_EQ(0, puppet_finish(self->p[0], 0));
	EXPECT_EQ(2, dxt_drain(&self->t, self->t.member, OWNER));
}

/* AG-22 to AG-27 as threads do it: a waiter, who notifies it, a signal, a time */
TEST_F(key, monitor)
{
	unsigned int i;

	puppet_signals(false);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, send(self->t.member, KEY, OWNER, i, 0));
	ASSERT_EQ(1, puppet_fetch(self->p[0]));
	EXPECT_TRUE(asks(self->p, 0, DXK_KEY_WAIT, DXK_FOREVER));
	ASSERT_EQ(1, puppet_fetch(self->p[1]));
	/* whom it notifies goes on, and it does after that */
	EXPECT_TRUE(asks(self->p, 1, DXK_KEY_NOTIFY, 0));
	EXPECT_EQ(0, puppet_end(self->p[0]));
	EXPECT_TRUE(puppet_ask(self->p[2]));
	EXPECT_EQ(0, answer(self->p, 0, DXK_KEY_LEAVE));
	EXPECT_EQ(0, puppet_end(self->p[1]));
	/* a signal: it keeps its place and has lost the call */
	EXPECT_TRUE(asks(self->p, 1, DXK_KEY_WAIT, DXK_FOREVER));
	EXPECT_EQ(1, puppet_end(self->p[2]));
	puppet_signal(self->p[1]);
	EXPECT_EQ(-EINTR, puppet_end(self->p[1]));
	EXPECT_EQ(-EPERM, answer(self->p, 1, DXK_KEY_NOTIFY));
	EXPECT_TRUE(asks(self->p, 1, DXK_KEY_ENTER, 0));
	EXPECT_EQ(0, puppet_finish(self->p[2], 0));
	EXPECT_EQ(0, puppet_end(self->p[1]));
	/* its time is over: not before, and with the key */
	uint64_t late = dxt_in(20 * DXT_MS);

	asks(self->p, 1, DXK_KEY_WAIT, late);
	EXPECT_EQ(-ETIMEDOUT, puppet_end(self->p[1]));
	EXPECT_LE(late, dxt_now());
	EXPECT_EQ(0, answer(self->p, 1, DXK_KEY_NOTIFY));
	EXPECT_EQ(0, puppet_finish(self->p[1], 0));
	EXPECT_EQ(0, puppet_finish(self->p[0], 0));
	EXPECT_EQ(3, dxt_drain(&self->t, self->t.member, OWNER));
}

/* AG-29 to AG-31, R-14: held back, refused, cancelled; released by a Stop */
TEST_F(key, held_back)
{
	struct dxk_result r[4];
	unsigned int i;

	ASSERT_EQ(0, key_call(self->t.member, DXK_KEY_HOLD, KEY, 0, 0));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, send(self->t.member, KEY, OWNER, i, 0));
	EXPECT_TRUE(puppet_ask(self->p[0]));
	ASSERT_EQ(0, key_call(self->t.member, DXK_KEY_RELEASE, KEY, 0, 0));
	EXPECT_EQ(1, puppet_end(self->p[0]));
	EXPECT_EQ(0, param(self->p[0]));
	ASSERT_EQ(0, key_call(self->t.member, DXK_KEY_HOLD, KEY, 0, DXK_KEY_REFUSE));
	EXPECT_EQ(-ECANCELED, send(self->t.member, KEY, OWNER, 9, 0));
	EXPECT_EQ(2, key_call(self->t.member, DXK_KEY_CANCEL, KEY, 0, 0));
	EXPECT_EQ(0, puppet_finish(self->p[0], 5));
	ASSERT_EQ(3, dxk_rejoin(self->t.member, OWNER, r, 4, 3, NULL, 0, dxt_late_ns(), NULL));
	EXPECT_EQ(-ECANCELED, r[0].status);
	EXPECT_EQ(-ECANCELED, r[1].status);
	EXPECT_EQ(5, r[2].status);
	ASSERT_EQ(0, key_call(self->t.member, DXK_KEY_HOLD, KEY, 0, 0));
	ASSERT_EQ(1, send(self->t.member, KEY, OWNER, 7, 0));
	EXPECT_TRUE(puppet_ask(self->p[0]));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, 0));
	EXPECT_EQ(1, puppet_end(self->p[0]));
	EXPECT_EQ(-ESHUTDOWN, key_call(self->t.member, DXK_KEY_HOLD, KEY, 0, 0));
	EXPECT_EQ(0, puppet_finish(self->p[0], 0));
}

/* What is Held is bounded, and told; so is what is held back */
TEST_F(key, bounded)
{
	unsigned int i, held = 0;

	ASSERT_EQ(0, key_call(self->t.member, DXK_KEY_HOLD, KEY, 0, 0));
	while (send(self->t.member, KEY, OWNER, held, 0) == 1)
		held++;
	EXPECT_EQ(1023, held);
	EXPECT_EQ(-ENOSPC, send(self->t.member, KEY, OWNER, 0, 0));
	EXPECT_EQ(-ENOSPC, key_call(self->t.member, DXK_KEY_HOLD, OTHER, 0, 0));
	EXPECT_EQ(1023, key_call(self->t.member, DXK_KEY_CANCEL, KEY, 0, 0));
	EXPECT_EQ(1023, dxt_drain(&self->t, self->t.member, OWNER));
	for (i = 0; key_call(self->t.member, DXK_KEY_HOLD, 1000 + i, 0, 0) == 0; i++)
		;
	EXPECT_EQ(1023, i);
	EXPECT_EQ(0, key_call(self->t.member, DXK_KEY_RELEASE, KEY, 0, 0));
}

/* Posts without an end what comes before all else of the key. */
static void urge(const struct dxt *t)
{
	int m = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL);
	struct dxk_post_more e[DXK_BATCH_MAX];
	unsigned int i;

	for (i = 0; i < DXK_BATCH_MAX; i++) {
		e[i] = (struct dxk_post_more){ .post = dxt_entry(OWNER, 9, 0, PXR_KEY), .key = KEY };
		e[i].post.prio = 1000;
	}
	for (;;)
		dxk_post_more(m, e, DXK_BATCH_MAX, 0, NULL);
}

static void cancel_always(const struct dxt *t)
{
	int m = dxk_member_create(t->ctx, DXK_MEMBER_CLIENT, NULL);

	for (;;)
		key_call(m, DXK_KEY_CANCEL, KEY, 0, 0);
}

/* Others post what is more urgent as fast as it is cancelled: who cancels can be killed */
TEST_F(key, cancel_is_killed)
{
	pid_t poster[3], canceller;
	unsigned int i;

	ASSERT_EQ(0, key_call(self->t.member, DXK_KEY_HOLD, KEY, 0, 0));
	ASSERT_EQ(1, send(self->t.member, KEY, OTHER, 0, 0));
	for (i = 0; i < ARRAY_SIZE(poster); i++) {
		poster[i] = dxt_fork();
		if (!poster[i])
			urge(&self->t);
	}
	EXPECT_TRUE(DXT_SOON(dxt_num(&self->t, "pools/wait_use") > 10 * DXK_BATCH_MAX));
	canceller = dxt_fork();
	if (!canceller)
		cancel_always(&self->t);
	EXPECT_TRUE(DXT_SOON(dxt_num(&self->t, "stats/cancelled") > 20 * 1024));
	kill(canceller, SIGKILL);
	EXPECT_TRUE(DXT_WITHIN(dxt_stall_ns(), dxt_gone(canceller)));
	for (i = 0; i < ARRAY_SIZE(poster); i++)
		kill(poster[i], SIGKILL);
	for (i = 0; i < ARRAY_SIZE(poster); i++)
		dxt_reap(poster[i]);
	dxt_reap(canceller);
	key_call(self->t.member, DXK_KEY_CANCEL, KEY, 0, 0);
	EXPECT_EQ(0, key_call(self->t.member, DXK_KEY_RELEASE, KEY, 0, 0));
	EXPECT_EQ(1, dxt_drain(&self->t, self->t.member, OTHER));
}

/* A process dies that has held a key back: that is of the descriptor, which others have */
TEST_F(key, process_dies)
{
	pid_t pid = dxt_fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		int m = dxk_member_create(self->t.ctx, DXK_MEMBER_CLIENT, NULL);

		_exit(key_call(m, DXK_KEY_HOLD, KEY, 0, 0) != 0 ||
		      send(m, KEY, OWNER, 0, 0) != 1);
	}
	ASSERT_EQ(0, dxt_reap(pid));
	EXPECT_TRUE(puppet_ask(self->p[0]));
	EXPECT_EQ(0, key_call(self->t.member, DXK_KEY_RELEASE, KEY, 0, 0));
	EXPECT_EQ(1, puppet_end(self->p[0]));
	EXPECT_EQ(0, puppet_finish(self->p[0], 0));
	EXPECT_EQ(1, dxt_drain(&self->t, self->t.member, OWNER));
}

/* Three messages: the first worker waits to be notified, the second executes. */
static bool one_waits(struct dxt *t, struct puppet **p)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (send(t->member, KEY, OWNER, i, 0) != 1)
			return false;
	return puppet_fetch(p[0]) == 1 && asks(p, 0, DXK_KEY_WAIT, DXK_FOREVER) &&
	       puppet_fetch(p[1]) == 1;
}

/* A worker dies, and another one comes. */
static bool dies(struct dxt *t, struct puppet **p, unsigned int i)
{
	puppet_free(p[i]);
	p[i] = puppet_new(t, DXK_MEMBER_WORKER);
	return p[i];
}

/* K-2 and death: who has the key dies, who waits for it does, who comes back does */
TEST_F(key, worker_dies)
{
	ASSERT_TRUE(one_waits(&self->t, self->p));
	ASSERT_TRUE(dies(&self->t, self->p, 0));
	EXPECT_EQ(0, answer(self->p, 1, DXK_KEY_NOTIFY));
	EXPECT_EQ(0, answer(self->p, 1, DXK_KEY_LEAVE));
	ASSERT_EQ(1, puppet_fetch(self->p[2]));
	EXPECT_EQ(2, param(self->p[2]));
	EXPECT_TRUE(asks(self->p, 1, DXK_KEY_ENTER, 0));
	ASSERT_TRUE(dies(&self->t, self->p, 1));
	ASSERT_EQ(1, send(self->t.member, KEY, OWNER, 3, 0));
	ASSERT_TRUE(dies(&self->t, self->p, 2));
	ASSERT_EQ(1, puppet_fetch(self->p[0]));
	EXPECT_EQ(3, param(self->p[0]));
	EXPECT_EQ(0, puppet_finish(self->p[0], 0));
	EXPECT_EQ(4, dxt_drain(&self->t, self->t.member, OWNER));
	EXPECT_EQ(3, dxt_num(&self->t, "stats/owner_dead"));
}

/* Stop(cancel) and close end what sleeps for a key within their time (D-24) */
TEST_F(key, stop_cancel)
{
	unsigned int i;

	ASSERT_TRUE(one_waits(&self->t, self->p));
	EXPECT_EQ(0, answer(self->p, 1, DXK_KEY_LEAVE));
	ASSERT_EQ(1, puppet_fetch(self->p[2]));
	EXPECT_TRUE(asks(self->p, 1, DXK_KEY_ENTER, 0));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, 0));
	EXPECT_EQ(-ECANCELED, puppet_end(self->p[0]));
	EXPECT_EQ(-ECANCELED, puppet_end(self->p[1]));
	EXPECT_EQ(-ECANCELED, answer(self->p, 0, DXK_KEY_ENTER));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, puppet_finish(self->p[i], 0));
}

/* --- calls that come back ------------------------------------------------------------ */

static bool waits(struct puppet *p, uint64_t owner, uint64_t deadline)
{
	p->rejoin = (struct dxk_rejoin){
		.size = sizeof(p->rejoin), .flags = DXK_CALL_NEST, .owner = owner,
		.deadline = deadline, .results = DXT_PTR(p->result), .nr = 1,
		.result_size = sizeof(p->result[0]),
	};
	return puppet_begin(p, puppet_call_rejoin);
}

static void call_send(struct puppet *p)
{
	p->ret = send(p->fd, p->rejoin.owner >> 32, p->rejoin.owner & 0xff, 0,
		      p->rejoin.reserved);
}

/* A puppet posts a message. */
static long sends(struct puppet *p, uint64_t key, uint64_t owner, uint32_t reentry)
{
	p->rejoin.owner = key << 32 | owner;
	p->rejoin.reserved = reentry;
	if (puppet_begin(p, call_send))
		return -EPROTO;
	return puppet_end(p);
}

/* The newest request that it executes ends, with status 4. */
static void call_end_inner(struct puppet *p)
{
	struct dxk_done done = { .ticket = p->work[--p->held].ticket, .status = 4 };

	p->ret = dxk_next(p->fd, &done, 1, NULL, NULL, 0, NULL, 0, 0);
}

/* D-12, D-13, AG-18, AG-20: within a pool of its own thread, before what is queued */
TEST_F(key, calls_back)
{
	struct puppet **p = self->p;

	ASSERT_EQ(1, send(self->t.member, KEY, OWNER, 1, 0));
	ASSERT_EQ(1, puppet_fetch(p[0]));
	ASSERT_EQ(1, send(self->t.member, KEY, OWNER, 2, 0));
	/* to itself */
	ASSERT_EQ(1, sends(p[0], KEY, 5, DXK_REENTRY_NONE));
	EXPECT_FALSE(waits(p[0], 5, DXK_FOREVER));
	EXPECT_EQ(-EDEADLK, puppet_end(p[0]));
	ASSERT_EQ(1, sends(p[0], KEY, 6, DXK_REENTRY_SELF));
	EXPECT_FALSE(waits(p[0], 6, DXK_FOREVER));
	EXPECT_EQ(0, puppet_end(p[0]));
	ASSERT_EQ(RJR_HELP, p[0]->rejoin.answer);
	ASSERT_EQ(1, puppet_fetch(p[0]));
	EXPECT_EQ(6, p[0]->work[1].owner);
	EXPECT_EQ(-EBUSY, answer(p, 0, DXK_KEY_LEAVE));
	EXPECT_EQ(1, dxt_num(&self->t, "stats/nested"));
	EXPECT_FALSE(puppet_begin(p[0], call_end_inner));
	EXPECT_EQ(0, puppet_end(p[0]));
	EXPECT_FALSE(waits(p[0], 6, DXK_FOREVER));
	EXPECT_EQ(1, puppet_end(p[0]));
	EXPECT_EQ(4, p[0]->result[0].status);
	EXPECT_EQ(0, puppet_finish(p[0], 0));
	/* what was refused runs after all that were before it */
	ASSERT_EQ(1, puppet_fetch(p[0]));
	EXPECT_EQ(2, param(p[0]));
	EXPECT_EQ(0, puppet_finish(p[0], 0));
	ASSERT_EQ(1, puppet_fetch(p[0]));
	EXPECT_EQ(0, puppet_finish(p[0], 0));
	EXPECT_EQ(2, dxt_drain(&self->t, self->t.member, OWNER));
	EXPECT_EQ(1, dxt_drain(&self->t, self->t.member, 5));
}

/* D-14, Y-1: of two that call each other exactly one is told, and both end */
TEST_F(key, crossed)
{
	struct puppet **p = self->p;

	ASSERT_EQ(1, send(self->t.member, KEY, OWNER, 1, 0));
	ASSERT_EQ(1, send(self->t.member, OTHER, OWNER, 2, 0));
	ASSERT_EQ(1, puppet_fetch(p[0]));
	ASSERT_EQ(1, puppet_fetch(p[1]));
	ASSERT_EQ(1, sends(p[0], OTHER, 5, DXK_REENTRY_CHAIN));
	ASSERT_EQ(1, sends(p[1], KEY, 6, DXK_REENTRY_CHAIN));
	EXPECT_TRUE(waits(p[0], 5, DXK_FOREVER));
	EXPECT_FALSE(waits(p[1], 6, DXK_FOREVER));
	EXPECT_EQ(-EDEADLK, puppet_end(p[1]));
	EXPECT_EQ(1, dxt_num(&self->t, "stats/deadlocks"));
	EXPECT_EQ(0, puppet_finish(p[1], 0));
	ASSERT_EQ(1, puppet_fetch(p[1]));
	EXPECT_EQ(0, puppet_finish(p[1], 3));
	EXPECT_EQ(1, puppet_end(p[0]));
	EXPECT_EQ(3, p[0]->result[0].status);
	EXPECT_EQ(0, puppet_finish(p[0], 0));
	ASSERT_EQ(1, puppet_fetch(p[0]));
	EXPECT_EQ(0, puppet_finish(p[0], 0));
	EXPECT_EQ(2, dxt_drain(&self->t, self->t.member, OWNER));
	EXPECT_EQ(1, dxt_drain(&self->t, self->t.member, 6));
}

/* --- a circle that is too long for the search ------------------------------------------ */

#define RING	40

/* Is there a message with these words in it? */
static bool is_logged(const struct dxt *t, const char *words)
{
	struct dxk_log_record r;

	while (read_log(t, &r, 1, 0) == 1)
		if (strstr(r.text, words))
			return true;
	return false;
}

/* Y-1: nobody is told, the Monitor finds it, and says who waits for whom; Stop ends it (D-24) */
TEST(key_ring)
{
	struct puppet *p[RING];
	char log[64];
	struct dxt t;
	unsigned int i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_waiting = 16;
	t.policy.max_threads = RING;
	no_sweeps(&t);
	ASSERT_EQ(0, dxt_start(&t));
	puppets_new(&t, p, RING, DXK_MEMBER_WORKER);
	for (i = 0; i < RING; i++) {
		ASSERT_EQ(1, dxt_post1(t.member, 1 + i, 9, i, PXR_REJOIN, 0, NULL));
		ASSERT_EQ(1, puppet_fetch(p[i]));
	}
	for (i = 0; i < RING; i++)
		EXPECT_TRUE(waits(p[i], 1 + (i + 1) % RING, DXK_FOREVER));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/circles") == 1));
	EXPECT_EQ(0, dxt_num(&t, "stats/deadlocks"));
	snprintf(log, sizeof(log), "%u wait for each other", RING);
	/* the last of its lines */
	EXPECT_TRUE(DXT_UNTIL(&t, is_logged(&t, log)));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, 0));
	for (i = 0; i < RING; i++)
		EXPECT_EQ(-ESHUTDOWN, puppet_end(p[i]));
	for (i = 0; i < RING; i++)
		EXPECT_EQ(0, puppet_finish(p[i], 0));
	EXPECT_EQ(1, dxt_num(&t, "stats/circles"));
	puppets_free(p, RING);
	dxt_down(&t);
}

/* --- many threads --------------------------------------------------------------------- */

#define KEYS	8

static _Atomic int inside[KEYS];
static _Atomic unsigned long overlaps, most;

static int execute(struct dxt_call *call)
{
	unsigned int key = call->work.param % KEYS, n;
	static _Atomic unsigned int together;

	if (atomic_fetch_add(&inside[key], 1))
		overlaps++;
	n = atomic_fetch_add(&together, 1) + 1;
	if (n > most)
		most = n;
	sched_yield();
	atomic_fetch_sub(&together, 1);
	atomic_fetch_sub(&inside[key], 1);
	return 0;
}

/* AG-2: 8 keys, 8 threads: never two turns of a key, and none is left */
TEST(key_many)
{
	unsigned int i, nr = times_of(4000);
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_waiting = nr;
	t.policy.max_threads = 8;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 8));
	for (i = 0; i < nr; i++) {
		struct dxk_post_more e = {
			.post = dxt_entry(OWNER, DXT_FN(execute), i,
					  PXR_REJOIN | PXR_KEY | PXR_WAITIF_BUSY),
			.key = i % KEYS,
		};

		e.post.prio = i % 5;
		ASSERT_EQ(1, dxk_post_more(t.member, &e, 1, dxt_late_ns(), NULL));
	}
	EXPECT_EQ(nr, dxt_drain(&t, t.member, OWNER));
	EXPECT_EQ(0, overlaps);
	EXPECT_EQ(0, dxt_num(&t, "stats/missed_wakeups"));
	EXPECT_EQ(0, dxt_num(&t, "pools/wait_use"));
	dxt_down(&t);
}

TEST_HARNESS_MAIN
