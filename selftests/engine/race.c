// SPDX-License-Identifier: GPL-2.0-only
/*
 * Races with a sharp oracle: authority (R-1; DX-83, DX-87, DX-92, DX-94). Those of
 * posts are in race_posts.c, those with the end of a sleep in race_ends.c.
 *
 * "Before" is told by one counter that every thread takes a number from: if a call
 * that has returned had drawn its number, a call that begins later draws a larger
 * one. So an answer is judged afterwards, by what certainly held all the time that
 * the call ran, and no clock is trusted.
 */
#include "engine_test.h"

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

TEST_HARNESS_MAIN
