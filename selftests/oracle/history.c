// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some processes with clients and workers each, and kernel workers, share a named
 * context; one after the other is killed at a random time and replaced. All write down
 * what they do and what they are answered. When the context has been drained, the
 * checker looks for a request that was lost or doubled, for a NONE_EXIST that was not
 * true, for a wrong order, a lane that held too many, a stale completion that was taken
 * (history.h; DX-25, DX-48..DX-57, DX-67..DX-75, DX-80..DX-95, D-26, R-1, R-2, R-16,
 * R-19, between processes).
 *
 * DXK_KILLS says how many processes to kill in each test, DXK_SEED repeats the random
 * numbers of another run (what the scheduler makes of them it does not repeat).
 */
#include "lib/puppet.h"
#include "history/log.h"

#include <sys/mman.h>

#define NAME		"dxk-history"
#define PROCESSES	3
#define WORKERS		3		/* of each */
#define CLIENTS		3		/* the last one's owners are private */
#define THREADS		(WORKERS + CLIENTS)
#define CREW		(PROCESSES * WORKERS)
#define SHARED		3		/* owners 0.. of all processes */
#define PRIVATE		2		/* further ones of each */
#define REDO_MAX	3
#define PER_ROUND	25		/* kills */

/* One process, in memory that it shares with who buries it. */
struct crowd {
	pid_t pid;
	uint64_t seed;
	uint32_t space;		/* of the owners that die with it */
	_Atomic unsigned int turns;
	struct history_log log[THREADS];
};

static struct shared {
	struct history *h;
	_Atomic bool quiet;	/* nobody posts any more */
	_Atomic unsigned int idle;	/* clients that have found that nothing is left */
	_Atomic unsigned int odd;
	_Atomic int oddity;
	struct crowd crowd[PROCESSES];
} *all;

static uint64_t nop;

static void odd(int rc)
{
	all->odd++;
	all->oddity = rc;
}

static void dawdle(uint64_t *seed)
{
	uint32_t r = rnd(seed) % 16;

	if (r < 8)
		sched_yield();
	else
		usleep(rnd(seed) % (r < 15 ? 500 : 5000));
}

/* --- clients ------------------------------------------------------------- */

struct actor {
	pthread_t thread;
	struct crowd *crowd;
	struct history_log *log;
	uint64_t seed;
	int ctx;
};

/* One of those that the actor may know, which repeat. */
static uint32_t owner_of(const struct actor *a, uint32_t n)
{
	return a->log->space == HIST_NOBODY ? n % SHARED :
					      SHARED + PRIVATE * a->log->space + n % PRIVATE;
}

static uint32_t some_owner(struct actor *a)
{
	return owner_of(a, rnd(&a->seed));
}

static uint32_t some_attrs(struct actor *a)
{
	static const uint32_t lane[] = { 0, 0, PXR_LANE1, PXR_LANE2 };
	uint32_t r = rnd(&a->seed), attrs = lane[r % 4];

	attrs |= r & 0x30 ? PXR_REJOIN : 0;
	attrs |= r & 0x40 ? PXR_REDO : 0;
	attrs |= r & 0xf00 ? PXR_WAITIF_BUSY : 0;
	attrs |= nop && !(r & 0x7000) ? PXR_KERNEL : 0;
	/* a lane that is closed ends the call there */
	return (r & 0x7f0000) ? attrs : PXR_LANE0;
}

static void post_some(struct actor *a)
{
	unsigned int nr = 1 + rnd(&a->seed) % LOG_BATCH, i;
	int rc;

	for (i = 0; i < nr; i++) {
		uint32_t attrs = some_attrs(a);

		a->log->entry[i] = (struct dxk_post_entry){
			.executor = attrs & PXR_KERNEL ? nop : 7,
			.attrs = attrs,
			.prio = (int)(rnd(&a->seed) % 4) - 1,
		};
	}
	rc = log_post(a->log, nr, some_owner(a), dxt_in(rnd(&a->seed) % (10 * DXT_MS)));
	if (rc < 0 && rc != -EAGAIN && rc != -ETIMEDOUT && rc != -EPERM)
		odd(rc);
}

/* Returns the answer. */
static uint32_t collect_some(struct actor *a, uint32_t owner)
{
	unsigned int nr = 1 + rnd(&a->seed) % LOG_BATCH;
	int rc = log_rejoin(a->log, owner, nr, 1 + rnd(&a->seed) % nr,
			    rnd(&a->seed) % 2 ? 0 : dxt_in(rnd(&a->seed) % (10 * DXT_MS)));

	if (rc < 0 || (rc > 0) != (a->log->rejoin.answer == RJR_RETURNED))
		odd(rc);
	return a->log->rejoin.answer;
}

static void *client(void *arg)
{
	struct actor *a = arg;
	unsigned int none = 0, n;
	int rc = log_join(a->log, a->ctx, DXK_MEMBER_CLIENT);

	if (rc) {
		odd(rc);
		return NULL;
	}
	while (!all->quiet) {
		if (rnd(&a->seed) % 2)
			post_some(a);
		else
			collect_some(a, some_owner(a));
		if (!(rnd(&a->seed) % 32)) {
			log_leave(a->log);
			rc = log_join(a->log, a->ctx, DXK_MEMBER_CLIENT);
			if (rc)
				odd(rc);
		}
		if (!(rnd(&a->seed) % 4))
			dawdle(&a->seed);
		a->crowd->turns++;
	}
	/*
	 * Until nothing is left of any: nobody else can collect for the private ones.
	 * What others post yet for the shared ones they will collect themselves.
	 */
	for (n = 0; none < SHARED + PRIVATE; n++)
		none = collect_some(a, owner_of(a, n)) == RJR_NONE_EXIST ? none + 1 : 0;
	all->idle++;
	return NULL;
}

/* --- workers ------------------------------------------------------------- */

struct held {
	uint64_t ticket;
	uint32_t request;
};

static int status_of(uint32_t request)
{
	return (int)(request % 32749) + 1;
}

/*
 * Completes the first @nr of what is held and fetches up to @want. Where more than one
 * thing could end the call, the completions alone are made, with no deadline: then one
 * that is not taken is a stale one.
 */
static int turn(struct actor *a, struct held *held, unsigned int *nr_held,
		unsigned int nr, unsigned int want)
{
	struct history_log *log = a->log;
	unsigned int i, taken;
	int rc;

	for (i = 0; i < nr; i++)
		log->done[i] = (struct dxk_done){
			.ticket = held[i].ticket,
			.status = status_of(held[i].request),
		};
	rc = log_next(log, nr, want, nr > 1 ? DXK_FOREVER :
		      dxt_in(rnd(&a->seed) % (10 * DXT_MS)));
	taken = log->next.nr_taken == DXT_POISON32 ? 0 : log->next.nr_taken;
	if (!nr)
		taken = 0;
	*nr_held -= taken;
	memmove(held, held + taken, *nr_held * sizeof(*held));
	for (i = 0; (int)i < rc; i++)
		held[(*nr_held)++] = (struct held){ log->work[i].ticket,
						    (uint32_t)log->work[i].param };
	return rc;
}

/* Completes what it does not hold: alone, or between two that it does. */
static void lie(struct actor *a, struct held *held, unsigned int *nr_held, uint64_t old)
{
	struct history_log *log = a->log;
	struct held h[3];
	unsigned int nr = 1, before = *nr_held;
	int rc;

	if (*nr_held >= 2 && rnd(&a->seed) % 2) {
		h[0] = held[0];
		h[1] = (struct held){ old, 0 };
		h[2] = held[1];
		nr = 3;
		rc = turn(a, h, &nr, 3, 0);
		if (rc || nr != 2)
			odd(rc);
		memmove(held, held + 1, --*nr_held * sizeof(*held));
		return;
	}
	h[0] = (struct held){ old, 0 };
	rc = turn(a, h, &nr, 1, rnd(&a->seed) % 2);
	if (rc != -ESTALE || log->next.nr_taken != DXT_POISON32 || *nr_held != before)
		odd(rc);
}

static void *worker(void *arg)
{
	struct actor *a = arg;
	struct held held[2 * LOG_BATCH];
	unsigned int nr_held = 0;
	uint64_t old = 0;
	int rc = log_join(a->log, a->ctx, DXK_MEMBER_WORKER);

	/* who is replaced last may come when all is over */
	if (rc && rc != -ESHUTDOWN)
		odd(rc);
	while (!rc) {
		unsigned int nr, want;

		if (nr_held)
			dawdle(&a->seed);
		if (nr_held && !(rnd(&a->seed) % 48)) {
			/* another member, which holds nothing of what this one did */
			old = held[0].ticket;
			nr_held = 0;
			log_leave(a->log);
			rc = log_join(a->log, a->ctx, DXK_MEMBER_WORKER);
			if (rc) {
				if (rc != -ESHUTDOWN)
					odd(rc);
				break;
			}
			lie(a, held, &nr_held, old);
		} else if (old && !(rnd(&a->seed) % 16)) {
			lie(a, held, &nr_held, old);
		}
		nr = nr_held ? 1 + rnd(&a->seed) % nr_held : 0;
		want = nr > 1 || nr_held > LOG_BATCH / 2 ? 0 : rnd(&a->seed) % 4;
		if (!nr && !want)
			want = 1;
		if (nr)
			old = held[0].ticket;
		rc = turn(a, held, &nr_held, nr, want);
		/* what a full Rejoin Pool did not take is still held */
		if (nr && nr_held && held[0].ticket == old)
			old = 0;
		if (rc >= 0 || rc == -ETIMEDOUT)
			rc = 0;
		else if (rc != -ESHUTDOWN || nr_held)
			odd(rc);
		a->crowd->turns++;
	}
	return NULL;
}

/* --- processes ----------------------------------------------------------- */

static void live(struct crowd *c)
{
	struct actor a[THREADS];
	unsigned int i;
	int ctl = dxk_open(), shared, private;

	shared = dxk_ctx_join(ctl, NAME, DXK_ACCESS_EXECUTE | DXK_ACCESS_WRITE,
			      DXK_JOIN_SHARED, NULL);
	private = dxk_ctx_join(ctl, NAME, DXK_ACCESS_WRITE, 0, NULL);
	if (shared < 0 || private < 0) {
		odd(shared < 0 ? shared : private);
		_exit(1);
	}
	for (i = 0; i < THREADS; i++) {
		a[i] = (struct actor){
			.crowd = c, .log = &c->log[i], .seed = c->seed + i,
			.ctx = c->log[i].space == HIST_NOBODY ? shared : private,
		};
		if (pthread_create(&a[i].thread, NULL, i < WORKERS ? worker : client,
				   &a[i]))
			_exit(2);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(a[i].thread, NULL);
	_exit(0);
}

static void begin_life(struct dxt *t, struct crowd *c, uint64_t seed)
{
	unsigned int i;
	pid_t pid;

	memset(c, 0, sizeof(*c));
	c->seed = seed;
	c->space = all->h->nr_spaces++;
	for (i = 0; i < THREADS; i++) {
		c->log[i].h = all->h;
		c->log[i].member = HIST_NOBODY;
		c->log[i].space = i == THREADS - 1 ? c->space : HIST_NOBODY;
	}
	/* the child must not write to c->pid, which is its parent's */
	pid = dxt_fork();
	if (pid) {
		c->pid = pid;
		return;
	}
	/* what is the parent's must not live on in a child */
	close(t->member);
	close(t->ctx);
	close(t->ctl);
	live(c);
}

static void end_life(struct crowd *c)
{
	uint64_t begin = history_number(all->h);
	unsigned int i;

	kill(c->pid, SIGKILL);
	dxt_reap(c->pid);
	for (i = 0; i < THREADS; i++)
		log_bury(&c->log[i], begin);
	all->h->space[c->space] = (struct history_gone){ begin, history_number(all->h) };
}

/* --- tests --------------------------------------------------------------- */

FIXTURE(history) {
	struct dxt t;
	struct history_report sum;
	uint64_t seed, end;
	unsigned int kills, most;
};

/* What the Rejoin Pool does when it is full, and whether requests age. */
FIXTURE_VARIANT(history) {
	uint32_t rejoin_full;
	uint32_t rejoin_entries;
	bool ageing;
};

FIXTURE_VARIANT_ADD(history, grow) {
	.rejoin_full = DXK_REJOIN_GROW, .rejoin_entries = 8,
};

FIXTURE_VARIANT_ADD(history, reserve_ageing) {
	.rejoin_full = DXK_REJOIN_RESERVE, .rejoin_entries = 64, .ageing = true,
};

FIXTURE_VARIANT_ADD(history, block_worker) {
	.rejoin_full = DXK_REJOIN_BLOCK_WORKER, .rejoin_entries = 16,
};

FIXTURE_SETUP(history)
{
	const char *kills = getenv("DXK_KILLS");

	all = dxt_shared(sizeof(*all));
	self->seed = the_seed();
	self->most = kills ? (unsigned int)atoi(kills) : ~0U;
	self->end = kills ? ~0ULL : dxt_in((dxt_debug_kernel() ? 12000 : 1500) * DXT_MS);
	TH_LOG("DXK_SEED=%llu", (unsigned long long)self->seed);
}

FIXTURE_TEARDOWN(history)
{
	munmap(all, sizeof(*all));
}

static int open_shared(struct dxt *t)
{
	struct dxk_ctx_create create = { .mode = 0600, .name = NAME };
	int rc;

	*t = (struct dxt){ .ctl = dxk_open(), .ctx = -1, .member = -1 };
	if (t->ctl < 0)
		return t->ctl;
	t->ctx = dxk_ctx_create_as(t->ctl, &create);
	if (t->ctx < 0)
		return t->ctx;
	t->id = create.id;
	rc = dxk_policy_get(t->ctx, &t->policy);
	t->policy.dispatch = dxt_mode();
	return rc;
}

static int start(struct dxt *t, uint32_t rejoin_full, uint32_t rejoin_entries,
		 bool ageing)
{
	int rc = open_shared(t);

	if (rc < 0)
		return rc;
	dxk_executor_find(t->ctl, "nop", &nop);
	use_cmls(t);
	/* of 9 user workers: 0, 1, 2, 9 cumulative; by the document's formula */
	t->policy.max_threads = CREW + (nop ? 3 : 0);
	t->policy.kernel_threads = nop ? 3 : 0;
	t->policy.ready_entries = 12;
	t->policy.rejoin_entries = rejoin_entries;
	t->policy.rejoin_full = rejoin_full;
	t->policy.redo_max = REDO_MAX;
	if (ageing) {
		t->policy.prio_policy = PRIO_POLICY_AGERQS;
		t->policy.sched_interval_ms = 3;
	}
	return dxt_start(t);
}

/* What is not drained, as the context itself tells it. */
static void show(struct dxt *t)
{
	static const char *const what[] = {
		"show owners", "show pools", "show lanes", "show threads",
	};
	char reply[DXK_COMMAND_MAX + 1], *line, *rest;
	unsigned int i;
	int n;

	printf("# %u of %u clients have found nothing left\n", all->idle,
	       PROCESSES * CLIENTS);
	for (i = 0; i < ARRAY_SIZE(what); i++) {
		n = dxk_command_send(t->ctx, what[i], strlen(what[i]), reply,
				     DXK_COMMAND_MAX, NULL, 10 * DXT_SEC);
		reply[n < 0 ? 0 : n > DXK_COMMAND_MAX ? DXK_COMMAND_MAX : n] = 0;
		for (line = strtok_r(reply, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			printf("# %s\n", line);
	}
	fflush(stdout);
}

static void add_up(struct history_report *sum, const struct history_report *r)
{
	sum->accepted += r->accepted;
	sum->starts += r->starts;
	sum->redone += r->redone;
	sum->returned += r->returned;
	sum->owner_dead += r->owner_dead;
	sum->dropped += r->dropped;
	sum->none_exist += r->none_exist;
	sum->none_ready += r->none_ready;
	sum->stale += r->stale;
	sum->pairs += r->pairs;
}

/* The module's own sums: posted, begun, ended and gone. */
static long long counts_differ(const struct dxt *t)
{
	long long ended = dxt_num(t, "stats/completions");

	return llabs(ended - dxt_num(t, "stats/posts")) +
	       llabs(ended - dxt_num(t, "stats/collected") - dxt_num(t, "stats/vanished")) +
	       llabs(ended - dxt_num(t, "stats/dispatches") + dxt_num(t, "stats/redone") +
		     dxt_num(t, "stats/put_back"));
}

/* What makes it a test: results, owners of nothing, late words of the dead. */
static bool seen_all(const struct history_report *sum)
{
	return sum->returned && sum->none_exist && sum->stale;
}

/* Half of the lives end soon after they began, the others in the middle of work. */
static void let_live(struct crowd *c, uint64_t *seed)
{
	unsigned int most = dxt_debug_kernel() ? 100000 : 20000;
	uint64_t end = dxt_in(5 * DXT_SEC);
	unsigned int turns = 10 + rnd(seed) % (dxt_debug_kernel() ? 30 : 100);

	if (rnd(seed) % 4)
		while (c->turns < turns && dxt_now() < end)
			usleep(500);
	usleep(rnd(seed) % most);
}

TEST_F(history, killed_and_replaced)
{
	struct actor a = { .crowd = &all->crowd[0] };
	struct dxt *t = &self->t;
	struct history_report r;
	struct history_log *log;
	struct history *h;
	unsigned int i, n, extra = 0;
	bool drained = true;

	/* some rounds more when the machine was too slow for one of each kind */
	while (drained && self->kills < self->most &&
	       (dxt_now() < self->end || (!seen_all(&self->sum) && extra++ < 20))) {
		h = all->h = history_new(1 << 17, 1 << 20, 1 << 13);
		h->redo_max = REDO_MAX;
		h->ageing = variant->ageing;
		memcpy(h->quota, ((uint32_t[]){ 0, 1, 2, CREW }), sizeof(h->quota));
		all->quiet = false;
		all->idle = 0;
		ASSERT_EQ(0, start(t, variant->rejoin_full, variant->rejoin_entries,
				   variant->ageing));
		for (i = 0; i < PROCESSES; i++)
			begin_life(t, &all->crowd[i], rnd(&self->seed));
		for (n = 0; n < PER_ROUND && self->kills < self->most &&
		     (!n || extra || dxt_now() < self->end) && !history_full(h);
		     n++, self->kills++) {
			struct crowd *c = &all->crowd[rnd(&self->seed) % PROCESSES];

			dxt_tell("%u kills", self->kills);
			let_live(c, &self->seed);
			end_life(c);
			begin_life(t, c, rnd(&self->seed));
		}
		all->quiet = true;

		/* what nobody else collects any more */
		a.log = log = dxt_shared(sizeof(*log));
		*log = (struct history_log){ .h = h, .space = HIST_NOBODY };
		a.ctx = dxk_ctx_join(t->ctl, NAME, DXK_ACCESS_WRITE, DXK_JOIN_SHARED,
				     NULL);
		ASSERT_LE(0, a.ctx);
		ASSERT_EQ(0, log_join(log, a.ctx, DXK_MEMBER_CLIENT));
		drained = DXT_SOON(({
			for (i = 0; i < SHARED; i++)
				collect_some(&a, i);
			all->idle == PROCESSES * CLIENTS && !dxt_num(t, "owners");
		}));
		EXPECT_TRUE(drained)
			TH_LOG("%lld owners are left", dxt_num(t, "owners"));
		if (drained) {
			for (i = 0; i < SHARED; i++)
				EXPECT_EQ(RJR_NONE_EXIST, collect_some(&a, i));
			EXPECT_EQ(0, dxt_num(t, "pools/ready_use"));
			EXPECT_EQ(0, dxt_num(t, "pools/rejoin_use"));
			EXPECT_EQ(0, dxt_num(t, "pools/thread_busy"));
			EXPECT_EQ(0, dxt_num(t, "stats/missed_wakeups"));
			EXPECT_EQ(0, counts_differ(t));
			EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, 60 * DXT_SEC));
			for (i = 0; i < PROCESSES; i++)
				EXPECT_EQ(0, dxt_reap(all->crowd[i].pid));
		} else {
			show(t);
			/* the checker will tell what became of them */
			for (i = 0; i < PROCESSES; i++)
				end_life(&all->crowd[i]);
		}
		log_leave(log);
		close(a.ctx);
		munmap(log, sizeof(*log));
		dxt_down(t);

		EXPECT_TRUE(history_clean(h, &r));
		EXPECT_EQ(0, all->odd)
			TH_LOG("odd: %s", strerror(-all->oddity));
		add_up(&self->sum, &r);
		history_free(h);
		if (r.total || all->odd)
			break;
	}
	TH_LOG("%u kills; %u accepted, %u begun, %u of these again", self->kills,
	       self->sum.accepted, self->sum.starts, self->sum.redone);
	TH_LOG("%u returned, %u with -EOWNERDEAD, %u dropped", self->sum.returned,
	       self->sum.owner_dead, self->sum.dropped);
	TH_LOG("%u NONE_EXIST, %u NONE_READY, %u stale, %u orders compared",
	       self->sum.none_exist, self->sum.none_ready, self->sum.stale,
	       self->sum.pairs);
	EXPECT_LT(0, self->kills);
	EXPECT_LT(0, self->sum.returned);
	EXPECT_LT(0, self->sum.none_exist);
	EXPECT_LT(0, self->sum.stale);
}

TEST_HARNESS_MAIN
