// SPDX-License-Identifier: GPL-2.0-only
/*
 * Races with a sharp oracle: authority (R-1; DX-83, DX-87, DX-92, DX-94); a post is
 * seen by whoever heard of it, and an entry holds never two (R-2, R-6; DX-43, DX-83,
 * DX-93); a call gives up just when it gets what it sleeps for (DX-44, DX-80).
 *
 * "Before" is told by one counter that every thread takes a number from: if a call
 * that has returned had drawn its number, a call that begins later draws a larger
 * one. So an answer is judged afterwards, by what certainly held all the time that
 * the call ran, and no clock is trusted.
 */
#include "lib/puppet.h"

static _Atomic uint32_t numbers;

static uint32_t number(void)
{
	return ++numbers;
}

/*
 * A little of nothing, a yield, or a short sleep. The debug kernel is so slow that
 * threads which hardly ever sleep would leave nothing of the CPUs to the others.
 */
static bool slow;

static void dawdle(uint64_t *state)
{
	uint32_t r = rnd(state) % 64;
	volatile unsigned int i;

	if (slow && r >= 16)
		usleep(rnd(state) % 20000);
	else if (r < 40)
		for (i = 0; i < r * 50; i++)
			;
	else if (r < 60)
		sched_yield();
	else
		usleep(rnd(state) % 3000);
}

static bool wait_for(struct dxt *t, _Atomic unsigned int *running)
{
	return DXT_UNTIL(t, !*running);
}

/* --- authority -------------------------------------------------------- */

#define OWNERS		3
#define POLLERS		8		/* of each owner */
#define POSTERS		4
#define CREW		4
#define RECORDS		60000
#define DENIALS		300000

/* One request: it lives for certain after @posted and before @ending. */
struct record {
	uint32_t owner;
	bool rejoinable;
	_Atomic uint32_t posted;	/* its post has returned */
	_Atomic uint32_t ending;	/* the call that may end it begins */
	_Atomic uint32_t returned;	/* how often */
};

/* One answer "none exists". */
struct denial {
	uint32_t owner;
	uint32_t begin, end;
};

static struct record *record;
static struct denial *denial;
static _Atomic uint32_t nr_records, nr_denials, nr_not_ready, nr_odd;
static _Atomic bool posting;

struct racer {
	struct dxt *t;
	pthread_t thread;
	uint64_t seed;
	uint32_t owner;
	_Atomic unsigned int *running;	/* of its kind */
	_Atomic unsigned int *posters;
};

/* The worker's completion call is what ends a request that is not rejoinable. */
static int exe_race(struct dxt_call *call)
{
	static __thread uint64_t state;

	if (!state)
		state = the_seed() + call->worker->id;
	dawdle(&state);
	if (!record[call->work.param].rejoinable)
		record[call->work.param].ending = number();
	return 0;
}

static void *race_poster(void *arg)
{
	struct racer *r = arg;
	uint64_t state = r->seed;
	int fd = dxk_member_create(r->t->ctx, DXK_MEMBER_CLIENT, NULL);

	while (posting && fd >= 0) {
		uint32_t i = nr_records++;

		if (i >= RECORDS)
			break;
		record[i].owner = rnd(&state) % OWNERS;
		record[i].rejoinable = rnd(&state) % 8;
		if (dxt_post1(fd, record[i].owner, DXT_FN(exe_race), i,
			      PXR_WAITIF_BUSY |
			      (record[i].rejoinable ? PXR_REJOIN : 0),
			      DXK_FOREVER, NULL) != 1)
			nr_odd++;
		record[i].posted = number();
		dawdle(&state);
		if (!(rnd(&state) % 16))
			usleep(rnd(&state) % 10000);
	}
	close(fd);
	--*r->running;
	return NULL;
}

static void *race_poller(void *arg)
{
	struct racer *r = arg;
	uint64_t state = r->seed;
	int fd = dxk_member_create(r->t->ctx, DXK_MEMBER_CLIENT, NULL);
	struct dxk_result result[4];
	bool last = false;

	while (fd >= 0) {
		/* one that was about to post when it was told not to posts yet */
		bool over = !*r->posters;
		uint32_t begin, end, answer = 0, i;
		unsigned int nr = 1 + rnd(&state) % 4;
		int rc;

		begin = number();
		rc = dxt_rejoin(fd, r->owner, result, nr, 1,
				rnd(&state) % 3 ? 0 : dxt_in(2 * DXT_MS), &answer);
		end = number();
		for (i = 0; rc > 0 && i < (uint32_t)rc; i++) {
			struct record *rec = &record[result[i].param];

			if (result[i].param >= RECORDS || rec->owner != r->owner ||
			    rec->returned++) {
				nr_odd++;
				continue;
			}
			rec->ending = begin;
		}
		if (rc < 0 || (rc > 0) != (answer == RJR_RETURNED))
			nr_odd++;
		if (!rc && answer == RJR_NONE_READY)
			nr_not_ready++;
		if (!rc && answer == RJR_NONE_EXIST) {
			uint32_t d = nr_denials++;

			if (d < DENIALS)
				denial[d] = (struct denial){ r->owner, begin, end };
			if (last)
				break;
			last = over;
		}
		dawdle(&state);
	}
	close(fd);
	--*r->running;
	return NULL;
}

static int by_posted(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return x->posted < y->posted ? -1 : x->posted > y->posted;
}

/* Denials during all of which some request of the owner certainly lived. */
static unsigned int count_lies(uint32_t owner, const struct record *rec, uint32_t nr)
{
	/* by post: the latest end of all that were posted so far */
	uint32_t *start = calloc(nr + 1, sizeof(*start));
	uint32_t *latest = calloc(nr + 1, sizeof(*latest));
	uint32_t n = 0, i, lies = 0, denials = nr_denials;

	for (i = 0; i < nr; i++) {
		if (rec[i].owner != owner || !rec[i].posted)
			continue;
		start[n] = rec[i].posted;
		latest[n] = rec[i].ending;
		if (n && latest[n - 1] > latest[n])
			latest[n] = latest[n - 1];
		n++;
	}
	for (i = 0; i < denials && i < DENIALS; i++) {
		uint32_t lo = 0, hi = n;

		if (denial[i].owner != owner)
			continue;
		while (lo < hi) {
			uint32_t mid = (lo + hi) / 2;

			if (start[mid] < denial[i].begin)
				lo = mid + 1;
			else
				hi = mid;
		}
		lies += lo && latest[lo - 1] > denial[i].end;
	}
	free(start);
	free(latest);
	return lies;
}

/*
 * R-1, DX-92, DX-83, DX-94: while a request of an owner lives, nobody is told that
 * none exists; at the end each rejoinable one has come back once.
 */
TEST(none_exists_is_never_told_while_one_lives)
{
	const unsigned int seconds = 5;
	struct racer racer[POSTERS + OWNERS * POLLERS];
	_Atomic unsigned int posters = POSTERS, pollers = OWNERS * POLLERS;
	unsigned int i, missing = 0, twice = 0, vanished = 0, many;
	uint64_t seed = the_seed(), end;
	struct dxt t;
	uint32_t nr;

	TH_LOG("DXK_SEED=%llu", (unsigned long long)seed);
	slow = dxt_debug_kernel();
	many = slow ? 50 : 200;
	record = calloc(RECORDS, sizeof(*record));
	denial = calloc(DENIALS, sizeof(*denial));
	ASSERT_TRUE(record && denial);
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.ready_entries = 16;
	t.policy.rejoin_entries = 16;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, CREW));
	posting = true;
	for (i = 0; i < POSTERS + OWNERS * POLLERS; i++) {
		racer[i] = (struct racer){
			.t = &t,
			.seed = seed + 1000 * i,
			.owner = i % OWNERS,
			.running = i < POSTERS ? &posters : &pollers,
			.posters = &posters,
		};
		ASSERT_EQ(0, pthread_create(&racer[i].thread, NULL,
					    i < POSTERS ? race_poster : race_poller,
					    &racer[i]));
	}
	end = dxt_in(seconds * DXT_SEC);
	/* until it was a race: all answers were given, many times */
	while (nr_records < RECORDS &&
	       (dxt_now() < end || nr_records < many || nr_denials < many ||
		nr_not_ready < many) && dxt_now() < end + 60 * DXT_SEC) {
		uint64_t before = dxt_progress(&t);

		dxt_tell("%u requests", (unsigned int)nr_records);
		dxt_sleep_ms(100);
		/* requests move all the time, or there are none */
		if (dxt_num(&t, "owners") > 0)
			EXPECT_TRUE(DXT_UNTIL(&t, dxt_progress(&t) != before ||
						  !dxt_num(&t, "owners")));
	}
	posting = false;
	ASSERT_TRUE(wait_for(&t, &posters));
	ASSERT_TRUE(wait_for(&t, &pollers));
	for (i = 0; i < POSTERS + OWNERS * POLLERS; i++)
		pthread_join(racer[i].thread, NULL);

	nr = nr_records < RECORDS ? nr_records : RECORDS;
	for (i = 0; i < nr; i++) {
		missing += record[i].rejoinable && record[i].posted &&
			   !record[i].returned;
		twice += record[i].returned > 1;
		vanished += !record[i].rejoinable;
	}
	TH_LOG("%u requests, %u answers none-exist, %u none-ready", nr, nr_denials,
	       nr_not_ready);
	EXPECT_EQ(0, missing);
	EXPECT_EQ(0, twice);
	EXPECT_EQ(0, nr_odd);
	EXPECT_EQ(nr, dxt_num(&t, "stats/posts"));
	EXPECT_EQ(vanished, dxt_num(&t, "stats/vanished"));
	EXPECT_EQ(nr - vanished, dxt_num(&t, "stats/collected"));
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	for (i = 0; i < OWNERS; i++)
		EXPECT_EQ(RJR_NONE_EXIST, poll_owner(&t, i));
	EXPECT_GE(nr, many);
	EXPECT_GE(nr_denials, many);
	EXPECT_GE(nr_not_ready, many);
	qsort(record, nr, sizeof(*record), by_posted);
	for (i = 0; i < OWNERS; i++)
		EXPECT_EQ(0, count_lies(i, record, nr));
	dxt_down(&t);
	free(record);
	free(denial);
}

/* --- post, then poll by another --------------------------------------- */

struct relay {
	struct dxt *t;
	int to_poller[2], to_poster[2];
	int rounds;
	_Atomic unsigned int running, lies, odd, polls;
};

static void *relay_poster(void *arg)
{
	struct relay *r = arg;
	int fd = dxk_member_create(r->t->ctx, DXK_MEMBER_CLIENT, NULL);
	char c = 0;
	int i;

	for (i = 0; i < r->rounds; i++) {
		if (dxt_post1(fd, 5, DXT_NOP, i, PXR_REJOIN, 0, NULL) != 1)
			r->odd++;
		if (write(r->to_poller[1], &c, 1) != 1 ||
		    read(r->to_poster[0], &c, 1) != 1)
			r->odd++;
	}
	close(fd);
	r->running--;
	return NULL;
}

/*
 * R-2, DX-93, DX-83: a post that returned is seen by whoever heard of it, from
 * then on until it is collected, wherever it is on its way.
 */
TEST(post_then_poll_by_another_thread)
{
	struct relay r = { .rounds = dxt_debug_kernel() ? 300 : 1000, .running = 1 };
	pthread_t thread;
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_up(&t, 2));
	r.t = &t;
	ASSERT_EQ(0, pipe(r.to_poller));
	ASSERT_EQ(0, pipe(r.to_poster));
	ASSERT_EQ(0, pthread_create(&thread, NULL, relay_poster, &r));
	for (i = 0; i < r.rounds; i++) {
		struct dxk_result result;
		uint32_t answer = 0;
		char c;

		ASSERT_EQ(1, read(r.to_poller[0], &c, 1));
		do {
			if (dxt_rejoin(t.member, 5, &result, 1, 1, 0, &answer) < 0)
				break;
			r.polls++;
		} while (answer == RJR_NONE_READY);
		ASSERT_EQ(RJR_RETURNED, answer);
		ASSERT_EQ(i, result.param);
		ASSERT_EQ(RJR_NONE_EXIST, poll_owner(&t, 5));
		ASSERT_EQ(1, write(r.to_poster[1], &c, 1));
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(0, r.odd);
	TH_LOG("%d posts, %u polls", r.rounds, r.polls);
	dxt_down(&t);
}

/* --- one entry, many posters ------------------------------------------ */

struct rush {
	struct dxt *t;
	_Atomic unsigned int running, taken, odd;
	_Atomic bool go;
};

static _Atomic unsigned int rush_executed;

static int exe_rush(struct dxt_call *call)
{
	(void)call;
	rush_executed++;
	return 0;
}

static void *rush_thread(void *arg)
{
	struct rush *r = arg;
	int fd = dxk_member_create(r->t->ctx, DXK_MEMBER_CLIENT, NULL);
	uint32_t reason;

	while (r->go && fd >= 0) {
		int rc = dxt_post1(fd, 1, DXT_FN(exe_rush), 0, 0, 0, &reason);

		if (rc == 1)
			r->taken++;
		else if (rc != -EAGAIN || reason != PXR_POOL_FULL)
			r->odd++;
	}
	close(fd);
	r->running--;
	return NULL;
}

/* R-6, DX-43: the entry frees and fills all the time, and holds never two. */
TEST(one_entry_many_posters)
{
	enum { RUSH = 8 };
	struct rush r = { .running = RUSH, .go = true };
	pthread_t thread[RUSH];
	struct dxt t;
	int i;

	rush_executed = 0;
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.ready_entries = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	r.t = &t;
	for (i = 0; i < RUSH; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, rush_thread, &r));
	EXPECT_TRUE(DXT_UNTIL(&t, r.taken > (dxt_debug_kernel() ? 50 : 500)));
	r.go = false;
	for (i = 0; i < RUSH; i++)
		pthread_join(thread[i], NULL);
	EXPECT_TRUE(DXT_UNTIL(&t, !dxt_num(&t, "owners")));
	EXPECT_EQ(0, r.odd);
	EXPECT_EQ(r.taken, rush_executed);
	EXPECT_EQ(r.taken, dxt_num(&t, "stats/posts"));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_high_water"));
	dxt_down(&t);
}

/* --- the end of a sleep against the move it waits for ---------------------- */

#define HASTY	6

static _Atomic unsigned int hasty_executed[HASTY][2000];

static int exe_hasty(struct dxt_call *call)
{
	hasty_executed[call->work.param / 2000][call->work.param % 2000]++;
	return 0;
}

struct hasty {
	struct dxt *t;
	pthread_t thread;
	unsigned int me, nr, odd;
	bool taken[2000];
	_Atomic unsigned int late;
	_Atomic unsigned int *running;
	_Atomic bool *go;
};

static void *hasty_thread(void *arg)
{
	struct hasty *h = arg;
	uint64_t state = the_seed() + h->me;
	int fd;

	/* The signals do not wait until the threads are members. */
	do
		fd = dxk_member_create(h->t->ctx, DXK_MEMBER_CLIENT, NULL);
	while (fd == -EINTR);

	for (h->nr = 0; *h->go && h->nr < 2000; h->nr++) {
		int rc = dxt_post1(fd, 1, DXT_FN(exe_hasty), h->me * 2000 + h->nr,
				   PXR_WAITIF_BUSY, dxt_in(rnd(&state) % 400000),
				   NULL);

		if (rc == 1)
			h->taken[h->nr] = true;
		else if (rc == -ETIMEDOUT || rc == -EINTR)
			h->late++;
		else
			h->odd++;
	}
	close(fd);
	--*h->running;
	return NULL;
}

static unsigned int sum_late(const struct hasty *h)
{
	unsigned int i, sum = 0;

	for (i = 0; i < HASTY; i++)
		sum += h[i].late;
	return sum;
}

/*
 * DX-44: posters whose deadlines and signals come just when room does. What the
 * call says is what happened: executed once if it was taken, never if not.
 */
TEST(deadline_against_room)
{
	_Atomic unsigned int running = HASTY;
	unsigned int i, k, wrong = 0, taken = 0, late = 0;
	struct hasty *h = calloc(HASTY, sizeof(*h));
	_Atomic bool go = true;
	uint64_t state, end;
	struct dxt t;

	memset((void *)hasty_executed, 0, sizeof(hasty_executed));
	puppet_signals(false);
	state = the_seed();
	TH_LOG("DXK_SEED=%llu", (unsigned long long)state);
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.ready_entries = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	for (i = 0; i < HASTY; i++) {
		h[i].t = &t;
		h[i].me = i;
		h[i].running = &running;
		h[i].go = &go;
		ASSERT_EQ(0, pthread_create(&h[i].thread, NULL, hasty_thread, &h[i]));
	}
	/* 2 s, and on until both ends were met; a thread may have used up its posts */
	end = dxt_in(2 * DXT_SEC);
	while (running == HASTY && dxt_now() < end + 60 * DXT_SEC &&
	       (dxt_now() < end || dxt_num(&t, "stats/posts") < 50 ||
		sum_late(h) < 20)) {
		pthread_kill(h[rnd(&state) % HASTY].thread, DXT_NUDGE);
		usleep(rnd(&state) % 1000);
	}
	go = false;
	for (i = 0; i < HASTY; i++)
		pthread_join(h[i].thread, NULL);
	EXPECT_TRUE(DXT_UNTIL(&t, !dxt_num(&t, "owners")));
	for (i = 0; i < HASTY; i++) {
		EXPECT_EQ(0, h[i].odd);
		late += h[i].late;
		for (k = 0; k < h[i].nr; k++) {
			wrong += hasty_executed[i][k] != h[i].taken[k];
			taken += h[i].taken[k];
		}
	}
	TH_LOG("%u taken, %u not", taken, late);
	EXPECT_EQ(0, wrong);
	EXPECT_GE(taken, 50);
	EXPECT_GE(late, 20);
	EXPECT_EQ(taken, dxt_num(&t, "stats/posts"));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, dxt_num(&t, "lanes/ready_lane%u_waiters", i));
	dxt_down(&t);
	free(h);
}

/* --- fetches that give up against posts ------------------------------------ */

struct fickle {
	struct dxt *t;
	pthread_t thread;
	uint64_t seed;
	_Atomic unsigned int *executed;
	_Atomic unsigned int *empty, *odd;
};

static void *fickle_thread(void *arg)
{
	struct fickle *f = arg;
	int fd = dxk_member_create(f->t->ctx, DXK_MEMBER_WORKER, NULL);
	struct dxk_done done[4];
	struct dxk_work work[4];
	unsigned int nr_done = 0, taken, i;

	for (;;) {
		int rc = dxk_next(fd, done, nr_done, &taken, work,
				  1 + rnd(&f->seed) % 4, NULL, 0,
				  rnd(&f->seed) % 300000);

		if (nr_done && taken != nr_done)
			++*f->odd;
		nr_done = 0;
		if (rc == -ESHUTDOWN)
			break;
		if (rc == -ETIMEDOUT || rc == -EINTR || !rc) {
			++*f->empty;
			continue;
		}
		if (rc < 0) {
			++*f->odd;
			break;
		}
		for (i = 0; i < (unsigned int)rc; i++) {
			f->executed[work[i].param]++;
			done[nr_done++] = (struct dxk_done){
				.ticket = work[i].ticket,
			};
		}
	}
	close(fd);
	return NULL;
}

/* DX-80: a worker that gives up just when it is given a request has it. */
TEST(deadline_against_dispatch)
{
	enum { CROWD = 4, NR = 3000 };
	static _Atomic unsigned int executed[NR];
	_Atomic unsigned int empty = 0, odd = 0;
	struct fickle f[CROWD];
	struct dxk_result r[16];
	struct dxt t;
	uint64_t seed = the_seed();
	unsigned int i, posted = 0, wrong = 0;
	uint64_t end;

	TH_LOG("DXK_SEED=%llu", (unsigned long long)seed);
	ASSERT_EQ(0, dxt_up(&t, 0));
	for (i = 0; i < CROWD; i++) {
		f[i] = (struct fickle){ .t = &t, .seed = seed + i,
					.executed = executed, .empty = &empty,
					.odd = &odd };
		ASSERT_EQ(0, pthread_create(&f[i].thread, NULL, fickle_thread, &f[i]));
	}
	end = dxt_in(2 * DXT_SEC);
	while (posted < NR && dxt_now() < end + 60 * DXT_SEC &&
	       (dxt_now() < end || posted < 20 || empty < 20)) {
		ASSERT_EQ(1, dxt_post1(t.member, 1, 0, posted++,
				       PXR_REJOIN | PXR_WAITIF_BUSY, DXK_FOREVER, NULL));
		dxt_rejoin(t.member, 1, r, 16, 1, 0, NULL);
		if (!(rnd(&seed) % 4))
			usleep(rnd(&seed) % 500);
	}
	EXPECT_GE(dxt_drain(&t, t.member, 1), 0);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	for (i = 0; i < CROWD; i++)
		pthread_join(f[i].thread, NULL);
	for (i = 0; i < posted; i++)
		wrong += executed[i] != 1;
	TH_LOG("%u posts, %u fetches gave up", posted, empty);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, odd);
	EXPECT_EQ(posted, dxt_num(&t, "stats/collected"));
	EXPECT_GE(posted, 20);
	EXPECT_GE(empty, 20);
	dxt_down(&t);
}

TEST_HARNESS_MAIN
