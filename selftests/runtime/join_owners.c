// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose owner cookies are whose when many processes share a context, and what the dead
 * leave (DX-49, DX-55, DX-92, DX-93, DX-113; between processes).
 */
#include "join.h"

#include <fcntl.h>
#include <sys/wait.h>

/* --- whose owners ---------------------------------------------------------------- */

#define CLIENTS	4

struct shared {
	_Atomic unsigned int ready;
	_Atomic unsigned int go;
	_Atomic unsigned int errors;
	_Atomic unsigned int rounds[CLIENTS];
	int pid_of[CLIENTS];
};

static struct shared *all;

/* A client of its own process: see equal_cookies. */
static void reuse(struct dxt *t, unsigned int me, unsigned int rounds, unsigned int flags)
{
	int fd = dxk_ctx_join(t->ctl, NAME, DXK_ACCESS_WRITE, flags, NULL);
	int m = fd < 0 ? fd : dxk_member_create(fd, DXK_MEMBER_CLIENT, NULL);
	unsigned int i, k;

	all->errors += m < 0;
	all->ready++;
	while (!all->go)
		sched_yield();
	for (i = 0; i < rounds; i++) {
		uint64_t owner = i % 16;
		unsigned int got = 0, seen = 0;
		uint32_t answer = 0;

		for (k = 0; k < 3; k++)
			all->errors += dxt_post1(m, owner, DXT_PARAM, me << 8 | k,
						 PXR_REJOIN | PXR_WAITIF_BUSY,
						 DXK_FOREVER, NULL) != 1;
		while (got < 3) {
			struct dxk_result r[3];
			int n = dxt_rejoin(m, owner, r, 3, 1, dxt_in(60 * DXT_SEC), &answer);

			if (n <= 0) {
				all->errors++;
				break;
			}
			while (n--) {
				all->errors += r[n].param >> 8 != me ||
					       seen & 1U << (r[n].param & 255);
				seen |= 1U << (r[n].param & 255);
				got++;
			}
		}
		all->errors += dxt_rejoin(m, owner, &(struct dxk_result){ 0 }, 1, 1, 0,
					  &answer) || answer != RJR_NONE_EXIST;
		all->rounds[me - 1]++;
	}
}

/*
 * DX-49, DX-55: all use the same cookies at the same time, 16 of them again and
 * again. Each gets what it posted, each once, and NONE_EXIST exactly when nothing of it is
 * left; the hash of owners is empty at the end. DXK_LONG=1: 10^6 times.
 */
TEST(equal_cookies)
{
	unsigned int rounds = dxt_debug_kernel() ? 200 :
			      getenv("DXK_LONG") ? 1000000 / CLIENTS : 400, i;
	pid_t pid[CLIENTS];
	struct dxt t;
	int status;

	all = dxt_shared(sizeof(*all));
	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	/* a small hash of owners: equal cookies of different processes meet in it */
	t.policy.max_requests = 128;
	t.policy.ready_entries = 64;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	for (i = 0; i < CLIENTS; i++) {
		pid[i] = dxt_fork();
		if (!pid[i]) {
			reuse(&t, i + 1, rounds, 0);
			_exit(0);
		}
	}
	ASSERT_TRUE(DXT_SOON(all->ready == CLIENTS));
	all->go = 1;
	for (i = 0; i < CLIENTS; i++) {
		while (!waitpid(pid[i], &status, WNOHANG)) {
			dxt_tell("%u rounds", (unsigned int)all->rounds[i]);
			dxt_sleep_ms(10);
		}
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(0, all->errors);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "owners") == 0));
	EXPECT_EQ(rounds * CLIENTS * 3, dxt_num(&t, "stats/collected"));
	munmap(all, sizeof(*all));
	dxt_down(&t);
}

/* A member of a join of its own. */
struct visitor {
	int fd;
	int m;
};

static struct visitor visit(const struct dxt *t, unsigned int flags)
{
	struct visitor v = { .fd = dxk_ctx_join(t->ctl, NAME, DXK_ACCESS_WRITE, flags, NULL) };

	v.m = v.fd < 0 ? v.fd : dxk_member_create(v.fd, DXK_MEMBER_CLIENT, NULL);
	return v;
}

static void leave(struct visitor *v)
{
	close(v->m);
	close(v->fd);
}

static uint32_t ask(int member, uint64_t owner)
{
	struct dxk_result r;
	uint32_t answer = 0;
	int n = dxt_rejoin(member, owner, &r, 1, 1, 0, &answer);

	return n < 0 ? 0 : answer;
}

/* Nobody else can poll an owner, unless both share on purpose. */
TEST(spaces)
{
	struct visitor a, b, s1, s2;
	struct dxt t;

	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	ASSERT_EQ(0, dxt_start(&t));
	a = visit(&t, 0);
	b = visit(&t, 0);
	s1 = visit(&t, DXK_JOIN_SHARED);
	s2 = visit(&t, DXK_JOIN_SHARED);
	ASSERT_LE(0, a.m);
	ASSERT_LE(0, b.m);
	ASSERT_LE(0, s1.m);
	ASSERT_LE(0, s2.m);
	ASSERT_EQ(1, dxt_post1(a.m, 1, DXT_NOP, 11, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(RJR_NONE_READY, ask(a.m, 1));
	EXPECT_EQ(RJR_NONE_EXIST, ask(b.m, 1));
	EXPECT_EQ(RJR_NONE_EXIST, ask(s1.m, 1));
	EXPECT_EQ(RJR_NONE_EXIST, ask(t.member, 1));
	ASSERT_EQ(1, dxt_post1(s1.m, 1, DXT_NOP, 12, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(RJR_NONE_READY, ask(s2.m, 1));
	EXPECT_EQ(RJR_NONE_EXIST, ask(b.m, 1));
	EXPECT_EQ(RJR_NONE_EXIST, ask(t.member, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 2, DXT_NOP, 13, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(RJR_NONE_EXIST, ask(s1.m, 2));
	EXPECT_EQ(RJR_NONE_EXIST, ask(a.m, 2));

	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/rejoin_use") == 3));
	EXPECT_EQ(RJR_NONE_EXIST, ask(b.m, 1));
	/* the successor of one that is gone collects */
	leave(&s1);
	EXPECT_EQ(RJR_RETURNED, ask(s2.m, 1));
	EXPECT_EQ(RJR_RETURNED, ask(a.m, 1));
	EXPECT_EQ(RJR_RETURNED, ask(t.member, 2));
	leave(&a);
	leave(&b);
	leave(&s2);
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	dxt_down(&t);
}

/*
 * R-2, DX-93: what one process has posted another one that shares sees, told through
 * a pipe.
 */
TEST(post_then_poll_elsewhere)
{
	unsigned int rounds = dxt_debug_kernel() ? 300 : 500, i;
	int there[2], back[2], wrong = 0;
	struct visitor v;
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	ASSERT_EQ(0, pipe2(there, O_CLOEXEC));
	ASSERT_EQ(0, pipe2(back, O_CLOEXEC));
	pid = dxt_fork();
	if (!pid) {
		char c;

		v = visit(&t, DXK_JOIN_SHARED);
		for (i = 0; i < rounds; i++) {
			if (read(there[0], &c, 1) != 1)
				_exit(1);
			c = ask(v.m, i & 1) == RJR_NONE_EXIST;
			if (write(back[1], &c, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	v = visit(&t, DXK_JOIN_SHARED);
	ASSERT_LE(0, v.m);
	for (i = 0; i < rounds; i++) {
		char c = 0;

		dxt_tell("%u rounds", i);
		ASSERT_EQ(1, dxt_post1(v.m, i & 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
		ASSERT_EQ(1, write(there[1], &c, 1));
		ASSERT_EQ(1, read(back[0], &c, 1));
		wrong += c;
		dxt_drain(&t, v.m, i & 1);
	}
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, dxt_reap(pid));
	leave(&v);
	dxt_down(&t);
}

/* --- death --------------------------------------------------------------------- */

static void wait_killed(_Atomic unsigned int *flag)
{
	*flag = 1;
	for (;;)
		pause();
}

/* Between join and attach: nobody notices. */
TEST(dies_before_it_attaches)
{
	struct dxt_snapshot before, after;
	struct dxt t;
	pid_t pid;

	all = dxt_shared(sizeof(*all));
	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	ASSERT_EQ(0, dxt_start(&t));
	dxt_snapshot(&t, &before);
	pid = dxt_fork();
	if (!pid) {
		if (join(&t, DXK_ACCESS_EXECUTE | DXK_ACCESS_WRITE) < 0)
			_exit(1);
		wait_killed(&all->ready);
	}
	ASSERT_TRUE(DXT_SOON(all->ready));
	EXPECT_EQ(2, dxt_num(&t, "descriptors"));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_EQ(1, dxt_num(&t, "descriptors"));
	dxt_snapshot(&t, &after);
	EXPECT_EQ(NULL, dxt_differs(&before, &after));
	munmap(all, sizeof(*all));
	dxt_down(&t);
}

/*
 * A client that is killed: what it posted is executed, its results go with it, and
 * those of others stay. More results than one lock hold drops.
 */
TEST(client_dies)
{
	unsigned int nr = 700, i;
	struct dxt_gate *gate = dxt_gate_new();
	struct visitor other;
	struct dxt t;
	pid_t pid;

	all = dxt_shared(sizeof(*all));
	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	t.policy.ready_entries = 2000;
	ASSERT_EQ(0, dxt_start(&t));
	other = visit(&t, 0);
	ASSERT_LE(0, other.m);
	ASSERT_EQ(1, dxt_post1(other.m, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	pid = dxt_fork();
	if (!pid) {
		struct visitor v = visit(&t, 0);

		for (i = 0; i < nr; i++)
			if (dxt_post1(v.m, i % 7, DXT_NOP, i, PXR_REJOIN, 0, NULL) != 1)
				_exit(1);
		/* one that executes when it dies, and one behind it */
		if (dxt_post1(v.m, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL) != 1 ||
		    dxt_post1(v.m, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL) != 1)
			_exit(2);
		wait_killed(&all->ready);
	}
	ASSERT_TRUE(DXT_SOON(all->ready));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_TRUE(DXT_UNTIL(&t, gate->entered == 1));
	EXPECT_EQ(nr + 1, dxt_num(&t, "pools/rejoin_use"));
	EXPECT_EQ(8, dxt_num(&t, "owners"));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_EQ(1, dxt_num(&t, "pools/rejoin_use"));
	EXPECT_EQ(2, dxt_num(&t, "owners"));
	EXPECT_EQ(nr, dxt_num(&t, "stats/vanished"));
	dxt_gate_open(gate);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/completions") == nr + 3));
	EXPECT_EQ(nr + 2, dxt_num(&t, "stats/vanished"));
	EXPECT_EQ(1, dxt_num(&t, "owners"));
	EXPECT_EQ(RJR_RETURNED, ask(other.m, 1));
	leave(&other);
	dxt_gate_free(gate);
	munmap(all, sizeof(*all));
	dxt_down(&t);
}

/* A rejoinable entry that was reserved is free again (rejoin_full=reserve, DX-96). */
TEST(client_dies_with_reserved_entries)
{
	struct visitor v, w;
	struct dxt t;

	ASSERT_EQ(0, open_named(&t, NAME, 0600));
	t.policy.rejoin_full = DXK_REJOIN_RESERVE;
	t.policy.rejoin_entries = 2;
	ASSERT_EQ(0, dxt_start(&t));
	v = visit(&t, 0);
	w = visit(&t, 0);
	ASSERT_EQ(1, dxt_post1(v.m, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, dxt_post1(v.m, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(-EAGAIN, dxt_post1(w.m, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	leave(&v);
	/* they still wait for a worker, and have their entries until then */
	EXPECT_EQ(-EAGAIN, dxt_post1(w.m, 1, DXT_NOP, 1, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(1, dxt_post1(w.m, 1, DXT_NOP, 1, PXR_REJOIN | PXR_WAITIF_BUSY,
			       dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(1, dxt_post1(w.m, 1, DXT_NOP, 1, PXR_REJOIN | PXR_WAITIF_BUSY,
			       dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(2, dxt_drain(&t, w.m, 1));
	leave(&w);
	dxt_down(&t);
}

/* The creator dies: the others go on, and the last one ends the context (DX-113). */
TEST(creator_dies)
{
	struct dxt *t = dxt_shared(sizeof(*t));
	struct dxt_worker w = { 0 };
	struct dxk_result r;
	struct visitor v;
	pid_t pid, worker;

	all = dxt_shared(sizeof(*all));
	pid = dxt_fork();
	if (!pid) {
		if (open_named(t, NAME, 0600) || dxt_start(t))
			_exit(1);
		wait_killed(&all->ready);
	}
	ASSERT_TRUE(DXT_SOON(all->ready));
	t->ctl = dxk_open();
	v = visit(t, 0);
	ASSERT_LE(0, v.m);
	ASSERT_EQ(1, dxt_post1(v.m, 1, DXT_PARAM, 41, PXR_REJOIN, 0, NULL));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	EXPECT_EQ(1, dxt_num(t, "descriptors"));
	ASSERT_EQ(1, dxt_post1(v.m, 1, DXT_PARAM, 42, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(RJR_NONE_READY, ask(v.m, 1));
	worker = dxt_fork();
	if (!worker) {
		w.t = t;
		w.ctx = join(t, DXK_ACCESS_EXECUTE);
		_exit(w.ctx < 0 || dxt_worker_loop(&w));
	}
	EXPECT_EQ(1, dxt_rejoin(v.m, 1, &r, 1, 1, dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(41, r.status);
	EXPECT_EQ(1, dxt_rejoin(v.m, 1, &r, 1, 1, dxt_in(60 * DXT_SEC), NULL));
	EXPECT_EQ(42, r.status);
	/* the worker goes, its request would be answered; then the last one */
	kill(worker, SIGKILL);
	dxt_reap(worker);
	EXPECT_EQ(1, dxt_num(t, "descriptors"));
	leave(&v);
	EXPECT_TRUE(DXT_SOON(!dxt_exists(t, "")));
	close(t->ctl);
	munmap(t, sizeof(*t));
	munmap(all, sizeof(*all));
}

TEST_HARNESS_MAIN
