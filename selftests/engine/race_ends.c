// SPDX-License-Identifier: GPL-2.0-only
/* As race.c: a call gives up just when it gets what it sleeps for (DX-44, DX-80). */
#include "engine_test.h"

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
