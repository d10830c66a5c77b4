// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many at once: more sleepers, watchers and requests than one lock hold may look at. All
 * of them are answered, nobody is forgotten. On debug kernels the module counts what each
 * hold does and warns beyond its bound, which fails the program.
 */
#include "lib/log.h"
#include "lib/puppet.h"

#include <poll.h>
#include <signal.h>

#define PROCESSES	2
#define MANY		200	/* more than any hold may wake, several times */

static long long blocks(struct dxt *t, const char *what)
{
	return dxt_num(t, "stats/%s_blocks", what);
}

/* --- threads that sleep in one call ------------------------------------------ */

struct crowd;

struct one {
	struct crowd *c;
	pthread_t thread;
	uint64_t owner;
	uint32_t min;
	long ret;
	uint32_t answer;
};

/* Threads, clients each, and the call that all of them make. */
struct crowd {
	struct dxt *t;
	long (*call)(struct one *o, int member);
	unsigned int nr;
	_Atomic unsigned int here, gone;
	struct one *one;
};

static void *one_thread(void *arg)
{
	struct one *o = arg;
	int member = dxk_member_create(o->c->t->ctx, DXK_MEMBER_CLIENT, NULL);

	o->c->here++;
	o->ret = member < 0 ? member : o->c->call(o, member);
	if (member >= 0)
		close(member);
	o->c->gone++;
	return NULL;
}

/* Owners are @owner and those behind it, @owners of them. */
static void crowd_start(struct crowd *c, struct dxt *t, unsigned int nr,
			long (*call)(struct one *o, int member), uint64_t owner,
			unsigned int owners)
{
	pthread_attr_t small;
	unsigned int i;

	*c = (struct crowd){
		.t = t, .call = call, .nr = nr, .one = calloc(nr, sizeof(*c->one)),
	};
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, PTHREAD_STACK_MIN + 32 * 1024);
	for (i = 0; i < nr; i++) {
		c->one[i] = (struct one){
			.c = c, .owner = owner + i % owners, .min = 1, .ret = -EINPROGRESS,
		};
		if (pthread_create(&c->one[i].thread, &small, one_thread, &c->one[i]))
			abort();
	}
}

/* Waits for all of them: how many calls returned @ret. */
static unsigned int crowd_end(struct crowd *c, long ret)
{
	unsigned int i, nr = 0;

	DXT_SOON(c->gone == c->nr);
	for (i = 0; i < c->nr; i++)
		nr += c->one[i].ret == ret;
	return nr;
}

/* Ends a call that still sleeps, too. */
static void crowd_free(struct crowd *c)
{
	unsigned int i;

	puppet_signals(false);
	for (i = 0; i < c->nr; i++)
		while (pthread_tryjoin_np(c->one[i].thread, NULL) == EBUSY) {
			pthread_kill(c->one[i].thread, DXT_NUDGE);
			dxt_sleep_ms(1);
		}
	free(c->one);
}

static long call_post(struct one *o, int member)
{
	return dxt_post1(member, o->owner, DXT_NOP, 0, PXR_REJOIN | PXR_WAITIF_BUSY,
			 DXK_FOREVER, &o->answer);
}

static long call_post_lane1(struct one *o, int member)
{
	return dxt_post1(member, o->owner, DXT_NOP, 0, PXR_LANE1 | PXR_WAITIF_BUSY,
			 DXK_FOREVER, &o->answer);
}

static long call_rejoin(struct one *o, int member)
{
	struct dxk_result result[4];

	return dxt_rejoin(member, o->owner, result, 4, o->min, DXK_FOREVER, &o->answer);
}

static long call_should(struct one *o, int member)
{
	(void)o;
	return dxk_should_stop(member, -1);
}

static long call_say(struct one *o, int member)
{
	return say(member, DXK_LOG_WAIT, DXK_FOREVER, "message %llu",
		   (unsigned long long)o->owner);
}

/* --- a worker that holds what it fetches ------------------------------------- */

struct holder {
	int fd;
	unsigned int nr;
	uint64_t *ticket;
};

static bool holder_join(struct holder *h, struct dxt *t, unsigned int max)
{
	*h = (struct holder){
		.fd = dxk_member_create(t->ctx, DXK_MEMBER_WORKER, NULL),
		.ticket = calloc(max, sizeof(*h->ticket)),
	};
	return h->fd >= 0;
}

/* Takes what there is, 64 at most: how many. */
static int holder_fetch(struct holder *h)
{
	struct dxk_work work[DXK_BATCH_MAX];
	int i, nr;

	nr = dxk_next(h->fd, NULL, 0, NULL, work, DXK_BATCH_MAX, NULL, 0, -1);
	for (i = 0; i < nr; i++)
		h->ticket[h->nr++] = work[i].ticket;
	return nr;
}

/* Completes the @nr that it has fetched last, 64 at most; 0. */
static int holder_complete(struct holder *h, unsigned int nr)
{
	struct dxk_done done[DXK_BATCH_MAX] = { 0 };
	unsigned int i;

	for (i = 0; i < nr; i++)
		done[i].ticket = h->ticket[--h->nr];
	return dxk_next(h->fd, done, nr, NULL, NULL, 0, NULL, 0, 0);
}

static void holder_leave(struct holder *h)
{
	close(h->fd);
	free(h->ticket);
}

/* Posts @nr requests of @owners owners, as many as the holder fetches. */
static unsigned int post_and_hold(struct dxt *t, struct holder *h, unsigned int nr,
				  unsigned int owners)
{
	struct dxk_post_entry e[DXK_BATCH_MAX];
	struct dxk_post post;
	unsigned int done = 0;
	unsigned int i, n;

	while (done < nr) {
		n = nr - done < DXK_BATCH_MAX ? nr - done : DXK_BATCH_MAX;
		for (i = 0; i < n; i++)
			e[i] = dxt_entry(1 + (done + i) % owners, DXT_NOP, 0, PXR_REJOIN);
		if (dxt_post(t->member, e, n, 0, &post) != (int)n)
			break;
		done += n;
		while (h && h->nr < done && holder_fetch(h) > 0)
			;
	}
	return done;
}

/* --- Stop -------------------------------------------------------------------- */

/* What a process of sleepers tells: how many of them got ESHUTDOWN. */
struct told {
	_Atomic unsigned int posters, pollers;
};

static pid_t sleepers(struct dxt *t, struct told *told, unsigned int nr, unsigned int owners)
{
	struct crowd posters, pollers;
	pid_t pid = dxt_fork();

	if (pid)
		return pid;
	crowd_start(&pollers, t, nr, call_rejoin, 1, owners);
	crowd_start(&posters, t, nr, call_post, 1, owners);
	told->pollers += crowd_end(&pollers, -ESHUTDOWN);
	told->posters += crowd_end(&posters, -ESHUTDOWN);
	_exit(0);
}

/*
 * DX-107, DX-110: Stop wakes two thousand posters and pollers of five hundred owners, in
 * several processes; what executes meanwhile ends, and its results stay. Who slept does
 * not post any more.
 */
TEST(stop_wakes_thousands)
{
	unsigned int nr = (unsigned int)times_of(500), owners = nr, i, total = 0;
	struct told *told = dxt_shared(sizeof(*told));
	pid_t pid[PROCESSES];
	struct holder h;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.ready_entries = DXK_BATCH_MAX;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_TRUE(holder_join(&h, &t, owners + DXK_BATCH_MAX));
	ASSERT_EQ(owners, post_and_hold(&t, &h, owners, owners));
	ASSERT_EQ(DXK_BATCH_MAX, post_and_hold(&t, NULL, DXK_BATCH_MAX, owners));
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = sleepers(&t, told, nr, owners);
		ASSERT_LT(0, pid[i]);
	}
	ASSERT_TRUE(DXT_SOON(blocks(&t, "post") == PROCESSES * nr &&
			     blocks(&t, "rejoin") == PROCESSES * nr));
	EXPECT_EQ(PROCESSES * nr, dxt_num(&t, "lanes/ready_lane3_waiters"));

	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, 0));
	for (i = 0; i < PROCESSES; i++)
		dxt_reap(pid[i]);
	EXPECT_EQ(PROCESSES * nr, told->posters);
	EXPECT_EQ(PROCESSES * nr, told->pollers);
	EXPECT_EQ(0, dxt_num(&t, "lanes/ready_lane3_waiters"));
	EXPECT_EQ(owners + DXK_BATCH_MAX, dxt_num(&t, "stats/posts"));

	while (dxt_num(&t, "pools/ready_use") > 0)
		ASSERT_LT(0, holder_fetch(&h));
	while (h.nr)
		ASSERT_EQ(0, holder_complete(&h, h.nr < DXK_BATCH_MAX ? h.nr :
							DXK_BATCH_MAX));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	for (i = 1; i <= owners; i++)
		total += dxt_drain(&t, t.member, i);
	EXPECT_EQ(owners + DXK_BATCH_MAX, total);
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	holder_leave(&h);
	dxt_down(&t);
	munmap(told, sizeof(*told));
}

/* DX-113: the same by the last close, with nobody left to hear of it but the sleepers. */
TEST(close_wakes_hundreds)
{
	struct crowd posters, pollers;
	struct holder h;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.ready_entries = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_TRUE(holder_join(&h, &t, 1));
	ASSERT_EQ(1, post_and_hold(&t, &h, 1, 1));
	ASSERT_EQ(1, post_and_hold(&t, NULL, 1, 1));
	crowd_start(&posters, &t, MANY, call_post, 1, 1);
	crowd_start(&pollers, &t, MANY, call_rejoin, 1, 1);
	ASSERT_TRUE(DXT_SOON(blocks(&t, "post") == MANY && blocks(&t, "rejoin") == MANY));
	dxt_close(&t);
	EXPECT_EQ(MANY, crowd_end(&posters, -ESHUTDOWN));
	EXPECT_EQ(MANY, crowd_end(&pollers, -ESHUTDOWN));
	holder_leave(&h);
	crowd_free(&posters);
	crowd_free(&pollers);
}

/* DX-108, DX-110: Stop(cancel) with thousands that are Ready: each is a result. */
TEST(stop_cancels_thousands)
{
	unsigned int nr = (unsigned int)times_of(5000);
	struct dxk_result r[DXK_BATCH_MAX];
	unsigned int cancelled = 0;
	struct dxt t;
	int i, n;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.ready_entries = nr;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(nr, post_and_hold(&t, NULL, nr, 1));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, -1));
	EXPECT_EQ(nr, dxt_num(&t, "stats/cancelled"));
	while ((n = dxt_rejoin(t.member, 1, r, DXK_BATCH_MAX, 1, 0, NULL)) > 0)
		for (i = 0; i < n; i++)
			cancelled += r[i].status == -ECANCELED;
	EXPECT_EQ(nr, cancelled);
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	dxt_down(&t);
}

/* DX-109: hundreds who sleep until they are to end are told by one Stop. */
TEST(stop_asks_hundreds_to_end)
{
	struct crowd services;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	ASSERT_EQ(0, dxt_start(&t));
	crowd_start(&services, &t, MANY, call_should, 1, 1);
	/* such a sleep is shown nowhere; who comes late is told at once */
	ASSERT_TRUE(DXT_SOON(services.here == MANY));
	dxt_sleep_ms(50);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(MANY, crowd_end(&services, 1));
	dxt_down(&t);
	crowd_free(&services);
}

/* --- death ------------------------------------------------------------------- */

/*
 * DX-25, R-16: a worker dies with twenty thousand requests in its hands. Each owner gets
 * each of its requests once: those that may be begun anew from another worker, all others
 * with -EOWNERDEAD.
 */
TEST(death_of_a_hoarder)
{
	unsigned int nr = (unsigned int)times_of(20000), owners = 50, i, dead = 0, again = 0;
	struct dxk_post_entry e[DXK_BATCH_MAX];
	_Atomic unsigned int *held = dxt_shared(sizeof(*held));
	struct dxk_result r[DXK_BATCH_MAX];
	struct dxk_post post;
	uint32_t answer;
	struct dxt t;
	pid_t pid;
	int n;

	nr -= nr % DXK_BATCH_MAX;
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct holder h;

		if (holder_join(&h, &t, nr))
			while (holder_fetch(&h) > 0)
				*held = h.nr;
		_exit(1);
	}
	while (dxt_num(&t, "stats/posts") < nr) {
		for (i = 0; i < DXK_BATCH_MAX; i++)
			e[i] = dxt_entry(1 + i % owners, DXT_NOP, i % 8,
					 PXR_REJOIN | PXR_WAITIF_BUSY |
					 (i % 8 ? 0 : PXR_REDO));
		ASSERT_EQ(DXK_BATCH_MAX, dxt_post(t.member, e, DXK_BATCH_MAX, dxt_late(),
						  &post));
		dxt_tell("%lld posted", dxt_num(&t, "stats/posts"));
	}
	/* What a call has not brought it yet would only be put back. */
	ASSERT_TRUE(DXT_UNTIL(&t, *held == nr));
	kill(pid, SIGKILL);
	dxt_reap(pid);
	ASSERT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 0));
	EXPECT_EQ(nr / 8, dxt_num(&t, "pools/ready_use"));
	EXPECT_EQ(nr / 8 * 7, dxt_num(&t, "stats/owner_dead"));
	EXPECT_EQ(nr / 8, dxt_num(&t, "stats/redone"));
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_busy"));

	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	for (i = 1; i <= owners; i++) {
		do {
			int j;

			n = dxt_rejoin(t.member, i, r, DXK_BATCH_MAX, 1, dxt_late(), &answer);
			for (j = 0; j < n; j++) {
				dead += r[j].status == -EOWNERDEAD && r[j].param;
				again += !r[j].status && !r[j].param;
			}
		} while (n > 0);
		EXPECT_EQ(RJR_NONE_EXIST, answer);
	}
	EXPECT_EQ(nr / 8 * 7, dead);
	EXPECT_EQ(nr / 8, again);
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	dxt_down(&t);
}

/* --- one owner --------------------------------------------------------------- */

/*
 * DX-94, DX-90: hundreds sleep for the only request of an owner. One gets it; then none
 * exists, and all others are told so.
 */
TEST(one_result_for_hundreds)
{
	struct crowd pollers;
	unsigned int i, got = 0, none = 0;
	struct holder h;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_periods(&t);
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_TRUE(holder_join(&h, &t, 1));
	ASSERT_EQ(1, post_and_hold(&t, &h, 1, 1));
	crowd_start(&pollers, &t, MANY, call_rejoin, 1, 1);
	ASSERT_TRUE(DXT_SOON(blocks(&t, "rejoin") == MANY));
	EXPECT_EQ(0, holder_complete(&h, 1));
	EXPECT_EQ(1, crowd_end(&pollers, 1));
	for (i = 0; i < MANY; i++) {
		got += pollers.one[i].answer == RJR_RETURNED;
		none += pollers.one[i].answer == RJR_NONE_EXIST;
	}
	EXPECT_EQ(1, got);
	EXPECT_EQ(MANY - 1, none);
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	holder_leave(&h);
	dxt_down(&t);
	crowd_free(&pollers);
}

static long call_rejoin_two(struct one *o, int member)
{
	o->min = 2;
	return call_rejoin(o, member);
}

/*
 * DX-94: hundreds sleep for two results, and behind them one for a single one: the first
 * result is for that one, though it is beyond what a lock hold looks at.
 */
TEST(the_last_of_hundreds)
{
	struct crowd pollers, last;
	struct holder h;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_periods(&t);
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_TRUE(holder_join(&h, &t, 3));
	ASSERT_EQ(3, post_and_hold(&t, &h, 3, 1));
	crowd_start(&pollers, &t, MANY, call_rejoin_two, 1, 1);
	ASSERT_TRUE(DXT_SOON(blocks(&t, "rejoin") == MANY));
	crowd_start(&last, &t, 1, call_rejoin, 1, 1);
	ASSERT_TRUE(DXT_UNTIL(&t, blocks(&t, "rejoin") == MANY + 1));
	EXPECT_EQ(0, holder_complete(&h, 1));
	EXPECT_EQ(1, crowd_end(&last, 1));
	EXPECT_EQ(1, dxt_num(&t, "stats/rejoin_returned"));
	EXPECT_EQ(0, holder_complete(&h, 2));
	EXPECT_EQ(1, crowd_end(&pollers, 2));
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	holder_leave(&h);
	dxt_down(&t);
	crowd_free(&pollers);
	crowd_free(&last);
}

/* DX-91: all who watch an owner in poll(2) are told of its result, and then of its end. */
TEST(watchers_are_told)
{
	enum { WATCHERS = 100 };
	struct pollfd p[WATCHERS];
	struct dxk_result result;
	struct holder h;
	uint32_t answer;
	struct dxt t;
	int i, turn;

	ASSERT_EQ(0, dxt_open(&t));
	no_periods(&t);
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_TRUE(holder_join(&h, &t, 2));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	ASSERT_EQ(1, holder_fetch(&h));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, holder_fetch(&h));
	for (i = 0; i < WATCHERS; i++) {
		p[i].fd = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, NULL);
		p[i].events = POLLIN;
	}
	for (turn = 0; turn < 2; turn++) {
		for (i = 0; i < WATCHERS; i++) {
			EXPECT_EQ(0, dxt_rejoin(p[i].fd, 1, &result, 1, 1, 0, &answer));
			EXPECT_EQ(RJR_NONE_READY, answer);
		}
		EXPECT_EQ(0, poll(p, WATCHERS, 0));
		EXPECT_EQ(0, holder_complete(&h, 1));
		EXPECT_TRUE(DXT_SOON(poll(p, WATCHERS, 0) == WATCHERS));
		EXPECT_EQ(!turn, dxt_rejoin(t.member, 1, &result, 1, 1, 0, &answer));
		EXPECT_EQ(turn ? RJR_NONE_EXIST : RJR_RETURNED, answer);
	}
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	for (i = 0; i < WATCHERS; i++)
		close(p[i].fd);
	holder_leave(&h);
	dxt_down(&t);
}

/* --- others ------------------------------------------------------------------ */

/* DX-46, DX-9: a lane is closed: all its posters that sleep are refused. */
TEST(a_lane_is_closed)
{
	struct crowd posters;
	unsigned int i, told = 0;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	no_sweeps(&t);
	t.policy.sched_mode = TPOOL_MODE_CMLS;
	t.policy.lane_pct[1] = 10;
	t.policy.ready_entries = 10;
	t.policy.max_threads = 10;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_LANE1, 0, NULL));
	crowd_start(&posters, &t, MANY, call_post_lane1, 1, 1);
	ASSERT_TRUE(DXT_SOON(blocks(&t, "post") == MANY));
	t.policy.lane_pct[1] = 0;
	EXPECT_EQ(0, dxk_policy_set(t.ctx, &t.policy, NULL));
	EXPECT_EQ(MANY, crowd_end(&posters, -EPERM));
	for (i = 0; i < MANY; i++)
		told += posters.one[i].answer == PXR_LANE_CLOSED;
	EXPECT_EQ(MANY, told);
	dxt_down(&t);
	crowd_free(&posters);
}

/* DX-99: hundreds sleep for room in the Log Pool; a policy without it ends that, Stop too. */
TEST(log_writers_are_woken)
{
	struct crowd writers;
	struct dxt t;
	int stop;

	for (stop = 0; stop < 2; stop++) {
		ASSERT_EQ(0, up(&t, 2, DXK_LOG_BLOCK));
		EXPECT_EQ(0, say(t.member, 0, 0, "message"));
		EXPECT_EQ(0, say(t.member, 0, 0, "message"));
		crowd_start(&writers, &t, MANY, call_say, 1, MANY);
		ASSERT_TRUE(DXT_SOON(dxt_num(&t, "pools/log_blocks") == MANY));
		if (stop) {
			EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
		} else {
			t.policy.log_full = DXK_LOG_DROP_OLDEST;
			EXPECT_EQ(0, dxk_policy_set(t.ctx, &t.policy, NULL));
		}
		EXPECT_EQ(MANY, crowd_end(&writers, stop ? -ESHUTDOWN : 0));
		dxt_down(&t);
		crowd_free(&writers);
	}
}

TEST_HARNESS_MAIN
