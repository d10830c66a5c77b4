// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIGKILL at any point (D-26): a process that posts, polls, executes and sleeps in
 * all of these, with files handed over, is killed at a random time, again and
 * again. Nobody else may be the worse for it, nothing of it may stay.
 *
 * DXK_ROUNDS says how often, DXK_SEED repeats the random numbers of another run
 * (what the scheduler makes of them it does not repeat).
 */
#include "kill/kill.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

static unsigned int rounds_of(unsigned int stock, unsigned int debug)
{
	const char *given = getenv("DXK_ROUNDS");

	return given ? (unsigned int)atoi(given) : dxt_debug_kernel() ? debug : stock;
}

/* --- what must not stay ------------------------------------------------------ */

static long long read_number(const char *path)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = 0;
	if (fd >= 0)
		close(fd);
	return text[0] ? atoll(text) : -1;
}

/*
 * Objects of the module's slab caches. They may share a cache with others, whose
 * objects come and go: then there are some before, and only what grows with the
 * rounds is a leak.
 */
static long long slab_objects(void)
{
	static const char *const cache[] = { "dxk_rqe", "dxk_owner" };
	long long sum = 0, n;
	char path[64];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		/* else what lies free on some CPU counts as in use */
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink", cache[i]);
		dxt_write(path, "1");
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/objects", cache[i]);
		n = read_number(path);
		if (n < 0)
			return -1;
		sum += n;
	}
	return sum;
}

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	return nr;
}

/* Contexts that exist. */
static int contexts(void)
{
	DIR *dir = opendir("/sys/kernel/dxk");
	struct dirent *e;
	int nr = 0;

	while (dir && (e = readdir(dir)))
		nr += e->d_name[0] >= '0' && e->d_name[0] <= '9';
	if (dir)
		closedir(dir);
	return nr;
}

static int clients_shown(const struct dxt *t)
{
	char path[64];
	struct dirent *e;
	int nr = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/threads", t->id);
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		nr += atoi(e->d_name) >= 1000;
	if (dir)
		closedir(dir);
	return nr;
}

/* Is the other end of the pipe in nobody's hands any more? */
static bool pipe_is_gone(int fd)
{
	struct pollfd pfd = { .fd = fd };

	return poll(&pfd, 1, 0) == 1 && pfd.revents & POLLHUP;
}

FIXTURE(kill) {
	struct dxt t;
	long long slabs, refs;
	uint64_t seed;
	int files;
};

FIXTURE_SETUP(kill)
{
	all = dxt_shared(sizeof(*all));
	self->seed = the_seed();
	TH_LOG("DXK_SEED=%llu", (unsigned long long)self->seed);
	self->slabs = slab_objects();
	self->refs = read_number("/sys/module/dxk/refcnt");
	self->files = open_files();
}

FIXTURE_TEARDOWN(kill)
{
	munmap(all, sizeof(*all));
}

/* Nothing of the module is in use any more but what was before. */
#define EXPECT_NOTHING_LEFT(rounds_) ({					\
	EXPECT_TRUE(DXT_SOON(!contexts()));				\
	EXPECT_TRUE(DXT_SOON(!dxt_kthreads(NULL)));			\
	EXPECT_TRUE(DXT_SOON(read_number("/sys/module/dxk/refcnt") ==	\
			     self->refs));				\
	EXPECT_EQ(self->files, open_files());				\
	EXPECT_TRUE(self->slabs < 0 ||					\
		    DXT_SOON(slab_objects() <= self->slabs +		\
			     (self->slabs ? (rounds_) / 4 : 0)))	\
		TH_LOG("%lld objects, now %lld", self->slabs, slab_objects());	\
})

/* Requests of a victim, after all of its owners have been asked. */
static unsigned int victim_is_wrong(uint32_t from, unsigned int *on_their_way)
{
	unsigned int wrong = 0;
	uint32_t i, nr = all->nr;

	for (i = from; i < nr && i < RECORDS; i++) {
		struct record *rec = &all->record[i];
		unsigned int most = rec->attrs & PXR_KERNEL ? 0 :
				    rec->attrs & PXR_REDO ? REDO_MAX : 1;

		if (rec->owner < VICTIM)
			continue;
		wrong += rec->begun > most || rec->ended > rec->begun ||
			 rec->returned > 1 ||
			 (rec->state == REFUSED && (rec->begun || rec->returned)) ||
			 (!(rec->attrs & PXR_REJOIN) && rec->returned);
		if (rec->state == POSTED && rec->attrs & PXR_REJOIN && !rec->returned)
			++*on_their_way;
	}
	return wrong;
}

/*
 * D-26, DX-25, R-16: processes with clients and workers of a context die in turn;
 * it lives on. Each request of those who survive comes back once, with its status
 * or with -EOWNERDEAD, or is done again if that was asked for. What the dead have
 * left is there for whoever asks for it; their ids, their files and their places
 * in all queues are free.
 */
TEST_F(kill, the_context_lives_on)
{
	unsigned int rounds = rounds_of(60, 15), round, i, lost = 0, wrong = 0;
	struct actor actor[2 * SURVIVORS] = { 0 };
	struct dxt *t = &self->t;
	_Atomic bool stop = false;
	uint64_t nop = 0;

	ASSERT_EQ(0, dxt_open(t));
	dxk_executor_find(t->ctl, "nop", &nop);
	use_cmls(t);
	t->policy.max_threads = CREW + 3;
	t->policy.kernel_threads = nop ? 3 : 0;
	t->policy.ready_entries = 8;
	t->policy.rejoin_entries = 16;
	t->policy.monitor_interval_ms = 10;
	t->policy.redo_max = REDO_MAX;
	ASSERT_EQ(0, dxt_start(t));
	for (i = 0; i < 2 * SURVIVORS; i++) {
		actor[i] = (struct actor){
			.t = t, .seed = self->seed + 100 * i, .pipe = -1,
			.nop = nop, .owner = i + 1, .stop = &stop,
		};
		ASSERT_EQ(0, pthread_create(&actor[i].thread, NULL,
					    i < SURVIVORS ? worker_actor : survivor,
					    &actor[i]));
	}
	for (i = 0; i < SURVIVORS; i++)
		ASSERT_TRUE(DXT_SOON(actor[i].worker.ready));

	for (round = 0; round < rounds && all->nr < RECORDS - 100000; round++) {
		uint32_t owner = VICTIM + round * 2 * VICTIMS, from = all->nr;
		unsigned int on_their_way = 0;
		int end[2];
		pid_t pid;

		ASSERT_EQ(0, pipe2(end, O_CLOEXEC));
		pid = dxt_fork();
		ASSERT_LE(0, pid);
		if (!pid)
			victim_lives(t, self->seed + round, owner, end[1], nop);
		close(end[1]);
		dxt_tell("%u rounds", round);
		live_and_die(pid, &self->seed);

		/* its ids are free, and its descriptors are closed */
		ASSERT_TRUE(DXT_SOON(clients_shown(t) == SURVIVORS))
			TH_LOG("round %u: %d", round, clients_shown(t));
		ASSERT_TRUE(DXT_SOON(dxt_num(t, "pools/thread_use") ==
				     SURVIVORS + (nop ? 3 : 0)));
		for (i = 0; i < 2 * VICTIMS; i++) {
			int rc = i < VICTIMS ? collect(t->member, owner + i) :
				 dxt_drain(t, t->member, owner + i);

			EXPECT_LE(0, rc)
				TH_LOG("round %u, owner %u: %d", round, i, rc);
			if (rc < 0)
				lost++;
		}
		if (!DXT_SOON(pipe_is_gone(end[0]))) {
			TH_LOG("round %u: a file is still held", round);
			lost++;
		}
		close(end[0]);
		wrong += victim_is_wrong(from, &on_their_way);
		/* one result of each client may have died with it */
		if (on_their_way > VICTIMS)
			lost++;
		if (lost || wrong || all->odd)
			break;
	}
	stop = true;
	for (i = SURVIVORS; i < 2 * SURVIVORS; i++)
		pthread_join(actor[i].thread, NULL);
	EXPECT_EQ(rounds, round);
	EXPECT_EQ(0, lost);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, all->odd);

	/* children of the survivors' own workers that they did not wait for */
	for (i = 0; i < SURVIVORS; i++)
		EXPECT_LE(0, dxt_drain(t, t->member, i + 1));
	EXPECT_TRUE(DXT_SOON(!dxt_num(t, "owners")));
	EXPECT_EQ(0, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(0, dxt_num(t, "pools/rejoin_use"));
	EXPECT_EQ(0, dxt_num(t, "pools/thread_busy"));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, dxt_num(t, "lanes/ready_lane%u_in_use", i));
		EXPECT_EQ(0, dxt_num(t, "lanes/ready_lane%u_waiters", i));
		EXPECT_EQ(0, dxt_num(t, "lanes/user_lane%u_in_use", i));
	}
	EXPECT_EQ(dxt_num(t, "stats/posts"), dxt_num(t, "stats/completions"));
	EXPECT_EQ(dxt_num(t, "stats/completions"),
		  dxt_num(t, "stats/collected") + dxt_num(t, "stats/vanished"));
	EXPECT_EQ(0, dxt_num(t, "stats/missed_wakeups"));
	TH_LOG("%u rounds, %u requests; %lld died with their worker, %lld were done again, %lld put back",
	       round, (unsigned int)all->nr, dxt_num(t, "stats/owner_dead"),
	       dxt_num(t, "stats/redone"), dxt_num(t, "stats/put_back"));
	TH_LOG("victims: %u posts, %u rejoins, %u turns", (unsigned int)all->reached[0],
	       (unsigned int)all->reached[1], (unsigned int)all->reached[2]);
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	for (i = 0; i < SURVIVORS; i++) {
		pthread_join(actor[i].thread, NULL);
		EXPECT_EQ(-ESHUTDOWN, actor[i].worker.error);
	}
	dxt_down(t);
	EXPECT_NOTHING_LEFT(rounds);
}

/* A context of its own, of any kind. */
static void victim_alone(uint64_t seed, int pipe)
{
	uint64_t nop = 0;
	struct dxt t;

	if (dxt_open(&t))
		_exit(1);
	dxk_executor_find(t.ctl, "nop", &nop);
	if (rnd(&seed) % 2)
		use_cmls(&t);
	t.policy.max_threads = VICTIMS + 3;
	t.policy.kernel_threads = nop ? 3 : 0;
	t.policy.ready_entries = 3 + rnd(&seed) % 6;
	t.policy.rejoin_entries = 1 + rnd(&seed) % 6;
	t.policy.rejoin_full = rnd(&seed) % 3;
	t.policy.monitor_interval_ms = 10;
	t.policy.shutdown = DXK_STOP_DRAIN + rnd(&seed) % 2;
	if (dxt_start(&t))
		_exit(2);
	victim_lives(&t, seed, VICTIM, pipe, nop);
}

/* D-26, DX-113: the context dies with its process, from its first moment on. */
TEST_F(kill, the_context_dies_with_it)
{
	unsigned int rounds = rounds_of(60, 15), round;
	struct dxt *t = &self->t;

	for (round = 0; round < rounds; round++) {
		int end[2];
		pid_t pid;

		/* records are nobody's concern here */
		all->nr = 0;
		ASSERT_EQ(0, pipe2(end, O_CLOEXEC));
		pid = dxt_fork();
		ASSERT_LE(0, pid);
		if (!pid)
			victim_alone(self->seed + round, end[1]);
		close(end[1]);
		dxt_tell("%u rounds", round);
		live_and_die(pid, &self->seed);
		ASSERT_TRUE(DXT_SOON(!contexts()))
			TH_LOG("round %u: a context is left", round);
		ASSERT_TRUE(DXT_SOON(pipe_is_gone(end[0])))
			TH_LOG("round %u: a file is still held", round);
		close(end[0]);
	}
	TH_LOG("%u rounds; %u posts, %u rejoins, %u turns", round,
	       (unsigned int)all->reached[0], (unsigned int)all->reached[1],
	       (unsigned int)all->reached[2]);
	EXPECT_NOTHING_LEFT(rounds);

	/* and the module works */
	ASSERT_EQ(0, dxt_up(t, 2));
	EXPECT_EQ(1, dxt_post1(t->member, 1, DXT_PARAM, 7, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_drain(t, t->member, 1));
	dxt_down(t);
}

TEST_HARNESS_MAIN
