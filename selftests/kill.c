// SPDX-License-Identifier: GPL-2.0-only
/*
 * SIGKILL at any point (D-26): a process that posts, polls, executes and sleeps in
 * all of these, with files handed over, is killed at a random time, again and
 * again. Nobody else may be the worse for it, nothing of it may stay.
 *
 * DXK_ROUNDS says how often, DXK_SEED repeats the random numbers of another run
 * (what the scheduler makes of them it does not repeat).
 */
#include "engine_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SURVIVORS	2		/* clients, and as many workers */
#define VICTIMS		3		/* most of the victim's clients, and workers */
#define REDO_MAX	4
#define CREW		(SURVIVORS + VICTIMS)
#define RECORDS		(1U << 21)
#define VICTIM		1000000		/* owners of victims, from here on */

/* --- what is known of each request, also when its process is gone ------------ */

enum record_state {
	NEVER,		/* it is not known whether the post took it */
	REFUSED,	/* the post has returned and did not take it */
	POSTED,		/* the post has returned and took it */
};

struct record {
	uint32_t owner;
	uint32_t attrs;
	_Atomic uint8_t state;
	_Atomic uint8_t begun;		/* executions */
	_Atomic uint8_t ended;
	_Atomic uint8_t returned;
};

static struct shared {
	_Atomic uint32_t nr;		/* records in use */
	_Atomic uint32_t odd;		/* calls with an answer that cannot be */
	_Atomic uint32_t reached[8];	/* how often a victim was seen there */
	struct record record[RECORDS];
} *all;

static int status_of(uint64_t param)
{
	return (int)(param % 32749) + 1;
}

static unsigned int rounds_of(unsigned int stock, unsigned int debug)
{
	const char *given = getenv("DXK_ROUNDS");

	return given ? (unsigned int)atoi(given) : dxt_debug_kernel() ? debug : stock;
}

/* --- what all of them do ----------------------------------------------------- */

struct actor {
	struct dxt *t;
	pthread_t thread;
	uint64_t seed;
	uint32_t owner;
	int pipe;			/* a file to hand over, or -1 */
	uint64_t nop;			/* kernel executor, or 0 */
	bool victim;
	_Atomic bool *stop;
	struct dxt_worker worker;
};

static void pause_a_little(uint64_t *seed)
{
	uint32_t r = rnd(seed) % 16;

	if (r < 8)
		sched_yield();
	else if (r < 15)
		usleep(rnd(seed) % 1000);
	else
		usleep(rnd(seed) % 8000);
}

/* Requests wait for nobody for ever: a process that dies may hold what they want. */
static void post_and_poll(int member, uint64_t *seed, uint64_t owner)
{
	struct dxk_result r;

	dxt_post1(member, owner, DXT_NOP, 0, PXR_WAITIF_BUSY | PXR_REJOIN,
		  dxt_in(rnd(seed) % (3 * DXT_MS)), NULL);
	dxt_rejoin(member, owner, &r, 1, 1, dxt_in(rnd(seed) % (3 * DXT_MS)), NULL);
}

static int exe_kill(struct dxt_call *call)
{
	struct actor *a = call->worker->priv;
	struct record *rec = &all->record[call->work.param];

	rec->begun++;
	if (call->work.fd >= 0)
		close(call->work.fd);
	else if (call->work.attrs & PXR_FD)
		all->odd++;
	pause_a_little(&a->seed);
	/* children of its own, whom nobody of another owner ever meets */
	if (!(rnd(&a->seed) % 8))
		post_and_poll(call->worker->member, &a->seed, a->owner);
	/* a thread that ends while its process goes on */
	if (a->victim && !(rnd(&a->seed) % 64))
		syscall(SYS_exit, 0);
	rec->ended++;
	return status_of(call->work.param);
}

static void *worker_actor(void *arg)
{
	struct actor *a = arg;

	a->worker.priv = a;
	a->worker.ctx = a->t->ctx;
	a->worker.t = a->t;
	a->worker.error = dxt_worker_loop(&a->worker);
	return NULL;
}

static uint32_t random_attrs(struct actor *a)
{
	static const uint32_t lane[] = { 0, 0, PXR_LANE1, PXR_LANE2 };
	uint32_t r = rnd(&a->seed), attrs = lane[r % 4];

	attrs |= r & 0x10 ? PXR_REDO : 0;
	attrs |= r & 0x60 && a->pipe >= 0 ? PXR_FD : 0;
	attrs |= a->nop && !(r & 0x700) ? PXR_KERNEL : 0;
	/* a file in the kernel worker's hands ends with the request */
	return attrs;
}

/* One call with some requests, which are written down first; how many it took. */
static int post_some(struct actor *a, int member, bool rejoin)
{
	unsigned int nr = 1 + rnd(&a->seed) % 4, i;
	uint32_t first = atomic_fetch_add(&all->nr, nr);
	struct dxk_post_entry e[4];
	struct dxk_post post;
	int rc;

	if (first + nr > RECORDS)
		return 0;
	for (i = 0; i < nr; i++) {
		struct record *rec = &all->record[first + i];

		rec->owner = a->owner;
		rec->attrs = random_attrs(a) | (rejoin ? PXR_REJOIN : 0);
		e[i] = dxt_entry(a->owner, rec->attrs & PXR_KERNEL ? a->nop :
				 DXT_FN(exe_kill), first + i,
				 rec->attrs | PXR_WAITIF_BUSY);
		e[i].fd = rec->attrs & PXR_FD ? a->pipe : 0;
		e[i].prio = (int)(rnd(&a->seed) % 8);
	}
	rc = dxt_post(member, e, nr, a->victim && rnd(&a->seed) % 2 ?
		      dxt_in(rnd(&a->seed) % (5 * DXT_MS)) : DXK_FOREVER, &post);
	for (i = 0; i < nr; i++)
		all->record[first + i].state = (int)i < rc ? POSTED : REFUSED;
	return rc;
}

/* The result of one request against what is known of it. */
static bool result_is_right(const struct dxk_result *r, uint32_t owner)
{
	struct record *rec = &all->record[r->param];

	if (r->param >= RECORDS || rec->owner != owner || rec->returned++)
		return false;
	if (!(rec->attrs & PXR_REJOIN) || rec->state == REFUSED)
		return false;
	if (rec->attrs & PXR_KERNEL)
		return !r->status && !rec->begun;
	if (r->status == -EOWNERDEAD)
		return !(rec->attrs & PXR_REDO) ? rec->begun <= 1 && r->attempts == 1 :
						  r->attempts == REDO_MAX;
	if (r->status != status_of(r->param) || r->attempts < rec->begun)
		return false;
	/* an execution that was begun and not ended is one whose worker died */
	return rec->attrs & PXR_REDO ? rec->ended >= 1 && r->attempts <= REDO_MAX :
				       rec->begun == 1 && rec->ended == 1;
}

/* Until none exists: how many came back, or an error. */
static int collect(int member, uint32_t owner)
{
	struct dxk_result r[8];
	uint32_t answer = 0;
	int got = 0, rc, i;

	while (answer != RJR_NONE_EXIST) {
		rc = dxt_rejoin(member, owner, r, 8, 1,
				dxt_in((dxt_debug_kernel() ? 100 : 20) * DXT_SEC),
				&answer);
		if (rc < 0)
			return rc;
		if (answer == RJR_NONE_READY)
			return -ETIME;
		for (i = 0; i < rc; i++)
			if (!result_is_right(&r[i], owner))
				all->odd++;
		got += rc;
	}
	return got;
}

/* --- survivors --------------------------------------------------------------- */

/* Every rejoinable request of it comes back, once, whatever becomes of others. */
static void *survivor(void *arg)
{
	struct actor *a = arg;
	int fd = dxk_member_create(a->t->ctx, DXK_MEMBER_CLIENT, NULL);

	while (!*a->stop && all->nr < RECORDS - 1000) {
		int want = post_some(a, fd, true);

		if (want < 1 || collect(fd, a->owner) != want)
			all->odd++;
		pause_a_little(&a->seed);
	}
	close(fd);
	return NULL;
}

/* --- victims ----------------------------------------------------------------- */

/* Counts where the victim was last seen before it died: for the log only. */
#define HERE(i_)	(all->reached[i_]++)

/* Posts, and leaves most of what comes back to others. */
static void *victim_client(void *arg)
{
	struct actor *a = arg;
	int fd = dxk_member_create(a->t->ctx, DXK_MEMBER_CLIENT, NULL);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct dxk_result r;

	for (;;) {
		int rc;

		HERE(0);
		post_some(a, fd, rnd(&a->seed) % 4);
		HERE(1);
		/* one at a time: at most one is on its way when it dies */
		rc = dxt_rejoin(fd, a->owner, &r, 1, 1, rnd(&a->seed) % 3 ? 0 :
				dxt_in(rnd(&a->seed) % (20 * DXT_MS)), NULL);
		if (rc == 1 && !result_is_right(&r, a->owner))
			all->odd++;
		HERE(2);
		if (!(rnd(&a->seed) % 4))
			poll(&pfd, 1, 5);
		if (rc == -ESHUTDOWN)
			pause_a_little(&a->seed);
		if (!(rnd(&a->seed) % 16)) {
			/* it leaves with all that it owns outstanding */
			close(fd);
			fd = dxk_member_create(a->t->ctx, DXK_MEMBER_CLIENT, NULL);
			pfd.fd = fd;
		}
	}
	return NULL;
}

/* A crew of threads at work, until SIGKILL. */
static void victim_lives(struct dxt *t, uint64_t seed, uint32_t owner, int pipe,
			 uint64_t nop)
{
	struct actor *a = calloc(2 * VICTIMS, sizeof(*a));
	unsigned int i, clients = 1 + rnd(&seed) % VICTIMS;
	unsigned int workers = 1 + rnd(&seed) % VICTIMS;

	for (i = 0; i < clients + workers; i++) {
		bool client = i < clients;

		a[i] = (struct actor){
			.t = t, .seed = seed + i, .pipe = pipe, .nop = nop,
			/* what workers post besides is an owner of its own */
			.owner = owner + (client ? i : VICTIMS + i - clients),
			.victim = true,
		};
		if (pthread_create(&a[i].thread, NULL,
				   client ? victim_client : worker_actor, &a[i]))
			_exit(1);
	}
	for (;;)
		pause();
}

/*
 * Half of the victims die some time after their birth, which meets their beginnings,
 * the others some time after they were seen at work, however long that took.
 */
static void live_and_die(pid_t pid, uint64_t *seed)
{
	unsigned int most = dxt_debug_kernel() ? 200000 : 30000;
	uint32_t turns = all->reached[2];

	if (rnd(seed) % 2) {
		uint64_t end = dxt_in(5 * DXT_SEC);

		while (all->reached[2] == turns && dxt_now() < end)
			usleep(500);
		most /= 2;
	}
	usleep(rnd(seed) % most);
	kill(pid, SIGKILL);
	dxt_reap(pid);
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
	EXPECT_TRUE(EVENTUALLY(!contexts()));			\
	EXPECT_TRUE(EVENTUALLY(!dxt_kthreads(NULL)));			\
	EXPECT_TRUE(EVENTUALLY(read_number("/sys/module/dxk/refcnt") ==	\
			       self->refs));				\
	EXPECT_EQ(self->files, open_files());				\
	EXPECT_TRUE(self->slabs < 0 ||					\
		    EVENTUALLY(slab_objects() <= self->slabs +		\
			       (self->slabs ? (rounds_) / 4 : 0)))		\
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
TEST_F_TIMEOUT(kill, the_context_lives_on, 3600)
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
		ASSERT_TRUE(EVENTUALLY(actor[i].worker.ready));

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
		live_and_die(pid, &self->seed);

		/* its ids are free, and its descriptors are closed */
		ASSERT_TRUE(EVENTUALLY(clients_shown(t) == SURVIVORS))
			TH_LOG("round %u: %d", round, clients_shown(t));
		ASSERT_TRUE(EVENTUALLY(dxt_num(t, "pools/thread_use") ==
				       SURVIVORS + (nop ? 3 : 0)));
		for (i = 0; i < 2 * VICTIMS; i++) {
			int rc = i < VICTIMS ? collect(t->member, owner + i) :
				 dxt_drain(t, t->member, owner + i);

			EXPECT_LE(0, rc)
				TH_LOG("round %u, owner %u: %d", round, i, rc);
			if (rc < 0)
				lost++;
		}
		if (!EVENTUALLY(pipe_is_gone(end[0]))) {
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
	EXPECT_TRUE(EVENTUALLY(!dxt_num(t, "owners")));
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
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, 20 * DXT_SEC));
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
TEST_F_TIMEOUT(kill, the_context_dies_with_it, 3600)
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
		live_and_die(pid, &self->seed);
		ASSERT_TRUE(EVENTUALLY(!contexts()))
			TH_LOG("round %u: a context is left", round);
		ASSERT_TRUE(EVENTUALLY(pipe_is_gone(end[0])))
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
