// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some processes with clients and workers each, and kernel workers, share a named
 * context; one after the other is killed at a random time and replaced. All write down
 * what they do and what they are answered. When the context has been drained, the
 * checker looks for a request that was lost or doubled, for a NONE_EXIST that was not
 * true, for a wrong order, a lane that held too many, a stale completion that was taken,
 * and, in each second round, for a turn of a request that waited which is missing, or had no
 * reason, or came before its time, and for what is wrong with keys (history.h; DX-25,
 * DX-48..DX-57, DX-67..DX-75, DX-80..DX-95, D-26, R-1..R-5, R-16, R-19, AG-2, AG-3, AG-18,
 * AG-20, AG-22..AG-26, AG-29, AG-31, between processes). No id, no place in a queue,
 * no file that the dead have handed over may stay, nor, at the end, anything of the module.
 *
 * DXK_KILLS says how many processes to kill in each test, DXK_SEED repeats the random
 * numbers of another run (what the scheduler makes of them it does not repeat).
 */
#include "lib/puppet.h"
#include "history/actor.h"
#include "history/leak.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#define NAME		"dxk-history"
#define PROCESSES	3
#define CREW		(PROCESSES * WORKERS)
#define SHARED		3		/* owners 0.. of all processes */
#define PRIVATE		2		/* further ones of each */
#define REDO_MAX	3
#define KEY_BATCH	2
#define PER_ROUND	25		/* kills */
#define ENOUGH_KILLS	200		/* that each thing was interrupted */

static const char *const doing_name[DOINGS] = {
	"elsewhere", "posting", "collecting", "fetching", "executing", "watching", "calling",
	"at a key", "nesting"
};

static struct shared {
	struct history *h;
	_Atomic bool quiet;	/* nobody posts any more */
	_Atomic unsigned int idle;	/* clients that have found that nothing is left */
	_Atomic unsigned int odd;
	_Atomic int oddity, odd_line;
	struct crowd crowd[PROCESSES];
} *all;

/* Killed at that, and asleep in the call. */
static unsigned int killed[DOINGS], asleep[DOINGS];

static uint64_t nop;

void actor_odd_at(int rc, int line)
{
	all->odd++;
	all->oddity = rc;
	all->odd_line = line;
}

bool actor_is_quiet(void)
{
	return all->quiet;
}

void actor_dawdle(uint64_t *seed)
{
	uint32_t r = rnd(seed) % 16;

	if (r < 8)
		sched_yield();
	else
		usleep(rnd(seed) % (r < 15 ? 500 : 5000));
}

/* --- clients ------------------------------------------------------------- */

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
	attrs |= r & 0x3000000 ? 0 : PXR_FD;
	attrs |= nop && !(r & 0x7000) ? PXR_KERNEL : 0;
	/* a lane that is closed ends the call there */
	return (r & 0x7f0000) ? attrs : PXR_LANE0;
}

/* The end of each wait is no later than this: what is still there at the end ends by itself. */
#define LONGEST_WAIT	(10 * DXT_MS)

/* @owner: of the request that waits. What it waits for is an owner of its own space. */
static struct dxk_wait some_wait(struct actor *a, uint32_t owner, bool posted)
{
	static const uint32_t sources[] = {
		0, DXK_WAIT_CALL, DXK_WAIT_CALL, DXK_WAIT_RESULT, DXK_WAIT_JOIN,
		DXK_WAIT_JOIN | DXK_WAIT_EAGER,
		DXK_WAIT_CALL | DXK_WAIT_JOIN,
	};
	uint32_t r = rnd(&a->seed), n = rnd(&a->seed);
	struct dxk_wait w = { .wait = DXK_WAIT_AGAIN };

	if (!posted && r % 8 == 7)
		return w;
	w.wait = DXK_WAIT_TIME | sources[r % 7];
	/* a call is to come before */
	w.deadline = dxt_in(r / 8 % (LONGEST_WAIT / (w.wait & DXK_WAIT_CALL ? 1 : 8)));
	if (w.wait & (DXK_WAIT_RESULT | DXK_WAIT_JOIN))
		w.owner = owner < SHARED ? n % SHARED :
					   owner - (owner - SHARED) % PRIVATE + n % PRIVATE;
	return w;
}

/* What makes a request one that others find, that waits first, or ends by its time. */
static void more_of(struct actor *a, struct dxk_post_more *e, uint32_t owner)
{
	uint32_t r = rnd(&a->seed), *attrs = &e->post.attrs;

	/* a kernel executor does not tell why it runs: its requests wait, and that is all */
	if (!(*attrs & PXR_KERNEL)) {
		*attrs |= r & 3 ? PXR_NAMED : 0;
		*attrs |= r & 0x1c ? 0 : PXR_EXPIRE;
	}
	*attrs |= r & 0x20 ? PXR_WAIT : 0;
	if (*attrs & PXR_WAIT)
		e->wait = some_wait(a, owner, true);
	if (*attrs & PXR_EXPIRE)
		e->expire = dxt_in(r / 64 % LONGEST_WAIT);
	if (!(*attrs & PXR_KERNEL) && r & 0x400000)
		actor_key(a, e);
}

static void post_some(struct actor *a)
{
	unsigned int nr = 1 + rnd(&a->seed) % LOG_BATCH, i;
	uint32_t owner = some_owner(a);
	int rc;

	for (i = 0; i < nr; i++) {
		struct dxk_post_more *e = log_entry(a->log, i);
		uint32_t attrs = some_attrs(a);

		if (a->log->h->waits)
			*e = (struct dxk_post_more){ 0 };
		e->post = (struct dxk_post_entry){
			.executor = attrs & PXR_KERNEL ? nop : 7,
			.attrs = attrs,
			.prio = (int)(rnd(&a->seed) % 4) - 1,
			.fd = attrs & PXR_FD ? a->crowd->pipe : 0,
		};
		if (a->log->h->waits && rnd(&a->seed) % 2)
			more_of(a, e, owner);
	}
	*a->doing = POSTING;
	rc = log_post(a->log, nr, owner, dxt_in(rnd(&a->seed) % (10 * DXT_MS)));
	*a->doing = ELSEWHERE;
	if (rc == -EDEADLK || rc == -ENOSPC || rc == -ECANCELED) {
		if (!a->log->h->waits)
			actor_odd(rc);
	} else if (rc < 0 && rc != -EAGAIN && rc != -ETIMEDOUT && rc != -EPERM) {
		actor_odd(rc);
	}
}

/* Calls or cancels one of the newest requests, if that has a name for who asks. */
static void name_some(struct actor *a)
{
	struct history *h = a->log->h;
	uint32_t nr = h->nr_requests, r = rnd(&a->seed);
	unsigned long cmd = r & 7 ? DXK_IOC_WAKE : DXK_IOC_CANCEL;
	int rc;

	if (!nr)
		return;
	nr -= 1 + (r >> 3) % (nr < 48 ? nr : 48);
	if (!(h->request[nr].attrs & PXR_NAMED) || h->request[nr].space != a->log->space)
		return;
	rc = log_name(a->log, cmd, nr);
	if (rc != 1 && rc != -ENOENT)
		actor_odd(rc);
}

/* Returns the answer. */
static uint32_t collect_some(struct actor *a, uint32_t owner)
{
	unsigned int nr = 1 + rnd(&a->seed) % LOG_BATCH;
	int rc;

	*a->doing = COLLECTING;
	rc = log_rejoin(a->log, owner, nr, 1 + rnd(&a->seed) % nr,
			rnd(&a->seed) % 2 ? 0 : dxt_in(rnd(&a->seed) % (10 * DXT_MS)), 0);
	*a->doing = ELSEWHERE;
	/* only what the worker itself executes is left */
	if (rc == -EDEADLK && a->works)
		return RJR_NONE_READY;
	if (rc < 0 || (rc > 0) != (a->log->rejoin.answer == RJR_RETURNED))
		actor_odd(rc);
	return a->log->rejoin.answer;
}

/* What a worker has called and is dead now, or has no time for, is collected by others. */
static void collect_called(struct actor *a)
{
	uint32_t r = rnd(&a->seed);

	if (a->log->space == HIST_NOBODY)
		collect_some(a, actor_call_owner(r % all->h->nr_spaces, r / 64 % WORKERS,
						 r / 1024 % CALL_DEPTH));
}

static void collect_all_called(struct actor *a)
{
	uint32_t space;
	unsigned int i;

	for (space = 0; all->h->waits && space < all->h->nr_spaces; space++)
		for (i = 0; i < WORKERS * CALL_DEPTH; i++)
			collect_some(a, actor_call_owner(space, i / CALL_DEPTH, i % CALL_DEPTH));
}

static void watch(struct actor *a)
{
	struct pollfd pfd = { .fd = a->log->fd, .events = POLLIN };

	*a->doing = WATCHING;
	if (poll(&pfd, 1, (int)(rnd(&a->seed) % 6)) < 0)
		actor_odd(-errno);
	*a->doing = ELSEWHERE;
}

static void *client(void *arg)
{
	struct actor *a = arg;
	unsigned int none = 0, n;
	int rc = log_join(a->log, a->ctx, DXK_MEMBER_CLIENT);

	*a->tid = gettid();
	if (rc) {
		actor_odd(rc);
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
				actor_odd(rc);
		}
		for (n = 0; a->log->h->waits && n < 4; n++)
			name_some(a);
		if (a->log->h->waits && !(rnd(&a->seed) % 4)) {
			actor_rule(a);
			collect_called(a);
		}
		if (!(rnd(&a->seed) % 4))
			watch(a);
		if (!(rnd(&a->seed) % 4))
			actor_dawdle(&a->seed);
		a->crowd->turns++;
	}
	actor_release(a);
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

#define TURNS	3	/* after so many it waits no more */

int actor_status(uint32_t request)
{
	return (int)(request % 32749) + 1;
}

/* It has ended, or waits. */
static void end_turn(struct actor *a, unsigned int i, const struct held *h, bool waits)
{
	struct dxk_done_more *d = log_done(a->log, i);

	d->done = (struct dxk_done){
		.ticket = h->ticket, .status = actor_status(h->request),
	};
	if (!a->log->h->waits)
		return;
	d->wait = (struct dxk_wait){ 0 };
	if (!waits || h->turn >= TURNS || rnd(&a->seed) % 4)
		return;
	d->done.status = 0;
	d->wait = some_wait(a, h->owner, false);
	actor_move(a, h, &d->wait);
}

/*
 * Completes the first @nr of what is held and fetches up to @want. Where more than one
 * thing could end the call, the completions alone are made, with no deadline: then one
 * that is not taken is a stale one.
 */
static int turn(struct actor *a, struct held *held, unsigned int *nr_held,
		unsigned int nr, unsigned int want, bool waits)
{
	struct history_log *log = a->log;
	unsigned int i, taken;
	int rc;

	for (i = 0; i < nr; i++)
		end_turn(a, i, &held[i], waits);
	*a->doing = FETCHING;
	rc = log_next(log, nr, want, nr > 1 ? DXK_FOREVER :
		      dxt_in(rnd(&a->seed) % (10 * DXT_MS)));
	*a->doing = ELSEWHERE;
	taken = log->next.nr_taken == DXT_POISON32 ? 0 : log->next.nr_taken;
	if (!nr)
		taken = 0;
	*nr_held -= taken;
	memmove(held, held + taken, *nr_held * sizeof(*held));
	for (i = 0; (int)i < rc; i++) {
		const struct dxk_work_more *more = log_work(log, i);
		const struct dxk_work *w = &more->work;

		held[(*nr_held)++] = (struct held){
			w->ticket, (uint32_t)w->param, log->h->waits ? more->turn : 0,
			(uint32_t)w->owner, log->h->waits ? (uint32_t)more->key : HIST_NO_KEY,
			false, false,
		};
		if ((w->fd >= 0) != !!(w->attrs & PXR_FD) || (w->fd >= 0 && close(w->fd)))
			actor_odd(-EBADF);
	}
	return rc;
}

/* Posts and collects as a client does, be it with requests in its hands. */
static void be_client(struct actor *a)
{
	a->crowd->posting++;
	if (!all->quiet && rnd(&a->seed) % 2)
		post_some(a);
	else if (!all->quiet)
		collect_some(a, some_owner(a));
	a->crowd->posting--;
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
		h[1] = (struct held){ .ticket = old };
		h[2] = held[1];
		nr = 3;
		rc = turn(a, h, &nr, 3, 0, false);
		if (rc || nr != 2)
			actor_odd(rc);
		memmove(held, held + 1, --*nr_held * sizeof(*held));
		return;
	}
	h[0] = (struct held){ .ticket = old };
	rc = turn(a, h, &nr, 1, rnd(&a->seed) % 2, false);
	if (rc != -ESTALE || log->next.nr_taken != DXT_POISON32 || *nr_held != before)
		actor_odd(rc);
}

static void *worker(void *arg)
{
	struct actor *a = arg;
	struct held held[2 * LOG_BATCH];
	unsigned int nr_held = 0;
	uint64_t old = 0;
	int rc = log_join(a->log, a->ctx, DXK_MEMBER_WORKER);

	*a->tid = gettid();
	/* who is replaced last may come when all is over */
	if (rc && rc != -ESHUTDOWN)
		actor_odd(rc);
	while (!rc) {
		unsigned int nr, want;

		if (nr_held) {
			*a->doing = EXECUTING;
			actor_dawdle(&a->seed);
			*a->doing = ELSEWHERE;
			actor_work(a, held, nr_held);
		}
		if (!(rnd(&a->seed) % 8))
			be_client(a);
		if (nr_held && a->deserts && !(rnd(&a->seed) % 256)) {
			log_desert(a->log);
			a->crowd->deserted++;
			return NULL;
		}
		if (nr_held && !(rnd(&a->seed) % 48)) {
			/* another member, which holds nothing of what this one did */
			old = held[0].ticket;
			nr_held = 0;
			log_leave(a->log);
			rc = log_join(a->log, a->ctx, DXK_MEMBER_WORKER);
			if (rc) {
				if (rc != -ESHUTDOWN)
					actor_odd(rc);
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
		rc = turn(a, held, &nr_held, nr, want, true);
		/* what a full Rejoin Pool did not take is still held */
		if (nr && nr_held && held[0].ticket == old)
			old = 0;
		if (rc >= 0 || rc == -ETIMEDOUT)
			rc = 0;
		else if (rc != -ESHUTDOWN || nr_held)
			actor_odd(rc);
		a->crowd->turns++;
	}
	return NULL;
}

/* --- the context --------------------------------------------------------- */

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
	dxk_executor_find(t->ctl, "nop", &nop);
	use_cmls(t);
	/* of 9 user workers: 0, 1, 2, 9 cumulative; by the document's formula */
	t->policy.max_threads = CREW + (nop ? 3 : 0);
	t->policy.kernel_threads = nop ? 3 : 0;
	t->policy.ready_entries = 12;
	t->policy.redo_max = REDO_MAX;
	if (all->h->waits) {
		t->policy.max_waiting = 40;
		t->policy.key_batch = KEY_BATCH;
	}
	return rc;
}

static int start(struct dxt *t, uint32_t rejoin_full, uint32_t rejoin_entries,
		 bool ageing)
{
	int rc = open_shared(t);

	if (rc < 0)
		return rc;
	t->policy.rejoin_entries = rejoin_entries;
	t->policy.rejoin_full = rejoin_full;
	if (ageing) {
		t->policy.prio_policy = PRIO_POLICY_AGERQS;
		t->policy.sched_interval_ms = 3;
	}
	return dxt_start(t);
}

/* One of any kind, which the process keeps. */
static void start_any(uint64_t *seed)
{
	struct dxt t;

	if (open_shared(&t))
		_exit(1);
	if (rnd(seed) % 2)
		t.policy.sched_mode = 0;
	t.policy.ready_entries = 3 + rnd(seed) % 6;
	t.policy.rejoin_entries = 3 + rnd(seed) % 6;
	t.policy.rejoin_full = rnd(seed) % 3;
	t.policy.shutdown = DXK_STOP_DRAIN + rnd(seed) % 2;
	if (dxt_start(&t))
		_exit(2);
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
		actor_odd(shared < 0 ? shared : private);
		_exit(1);
	}
	for (i = 0; i < THREADS; i++) {
		a[i] = (struct actor){
			.crowd = c, .log = &c->log[i], .seed = c->seed + i,
			.ctx = c->log[i].space == HIST_NOBODY ? shared : private,
			.doing = &c->doing[i], .tid = &c->tid[i],
			/* one stays, to bring to an end what there is */
			.works = i < WORKERS, .deserts = i && i < WORKERS,
		};
		if (pthread_create(&a[i].thread, NULL, a[i].works ? worker : client, &a[i]))
			_exit(2);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(a[i].thread, NULL);
	_exit(0);
}

/* The other ends of their pipes, by space */
static int pipes[PER_ROUND + PROCESSES];

/* A process; with @t NULL its context is its own. */
static void begin_life(struct dxt *t, struct crowd *c, uint64_t seed)
{
	unsigned int i;
	int end[2];
	pid_t pid;

	if (pipe2(end, O_CLOEXEC))
		abort();
	memset(c, 0, sizeof(*c));
	c->seed = seed;
	c->space = all->h->nr_spaces++;
	c->pipe = end[1];
	pipes[c->space] = end[0];
	for (i = 0; i < THREADS; i++) {
		c->log[i].h = all->h;
		c->log[i].member = HIST_NOBODY;
		c->log[i].space = i == THREADS - 1 ? c->space : HIST_NOBODY;
	}
	/* the child must not write to c->pid, which is its parent's */
	pid = dxt_fork();
	if (pid) {
		c->pid = pid;
		close(end[1]);
		return;
	}
	if (!t) {
		start_any(&c->seed);
		live(c);
	}
	/* what is the parent's must not live on in a child */
	close(t->member);
	close(t->ctx);
	close(t->ctl);
	live(c);
}

static bool is_asleep(pid_t pid, int tid)
{
	char path[64], line[128] = "", *state;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, line, sizeof(line) - 1) < 0)
		*line = '\0';
	close(fd);
	state = strrchr(line, ')');
	return state && strchr("SD", state[2]);
}

static void count_doings(const struct crowd *c)
{
	unsigned int i, doing;

	for (i = 0; i < THREADS; i++) {
		doing = c->doing[i];
		killed[doing]++;
		if (doing != ELSEWHERE && c->tid[i])
			asleep[doing] += is_asleep(c->pid, c->tid[i]);
	}
}

static void end_life(struct crowd *c)
{
	uint64_t begin;
	unsigned int i;

	count_doings(c);
	begin = history_number(all->h);
	kill(c->pid, SIGKILL);
	dxt_reap(c->pid);
	for (i = 0; i < THREADS; i++)
		log_bury(&c->log[i], begin);
	all->h->space[c->space] = (struct history_gone){ begin, history_number(all->h) };
}

/*
 * D-26: were there processes that were killed at each thing, and in their sleep? Of few
 * kills that is not to be expected.
 */
static const char *never_killed_at(unsigned int kills)
{
	unsigned int i;

	for (i = 0; i < DOINGS; i++)
		fprintf(stderr, "# killed %s: %u, asleep: %u\n", doing_name[i], killed[i],
			asleep[i]);
	/* what is nested is over too soon */
	for (i = 1; kills >= ENOUGH_KILLS && i < NESTING; i++)
		if (!killed[i] || !asleep[i])
			return doing_name[i];
	return NULL;
}

/* Is no descriptor of their pipes left, of processes or with requests? */
static bool pipes_are_closed(const struct history *h, bool of_the_dead)
{
	uint32_t i;
	bool closed = DXT_SOON(({
		for (i = 0; i < h->nr_spaces; i++)
			if ((!of_the_dead || h->space[i].begin) &&
			    !leak_pipe_is_closed(pipes[i]))
				break;
		i == h->nr_spaces;
	}));

	if (!closed)
		printf("# life %u has left a file\n", i);
	return closed;
}

/* --- tests --------------------------------------------------------------- */

/* How long, and what there was before. */
struct course {
	uint64_t seed, end;
	unsigned int kills, most;
	struct leak leak;
};

static void course_begin(struct course *c)
{
	const char *kills = getenv("DXK_KILLS");

	all = dxt_shared(sizeof(*all));
	c->seed = the_seed();
	c->most = kills ? (unsigned int)atoi(kills) : ~0U;
	c->end = kills ? ~0ULL : dxt_in((dxt_debug_kernel() ? 12000 : 1500) * DXT_MS);
	leak_begin(&c->leak);
	printf("# DXK_SEED=%llu\n", (unsigned long long)c->seed);
}

static bool course_goes_on(const struct course *c)
{
	return c->kills < c->most && dxt_now() < c->end;
}

FIXTURE(history) {
	struct dxt t;
	struct history_report sum;
	struct course c;
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
	course_begin(&self->c);
}

FIXTURE_TEARDOWN(history)
{
	munmap(all, sizeof(*all));
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
	unsigned int i;

	sum->accepted += r->accepted;
	sum->starts += r->starts;
	sum->redone += r->redone;
	sum->returned += r->returned;
	sum->owner_dead += r->owner_dead;
	sum->dropped += r->dropped;
	sum->none_exist += r->none_exist;
	sum->none_ready += r->none_ready;
	sum->ended_early += r->ended_early;
	for (i = 0; i < ARRAY_SIZE(sum->wakes); i++)
		sum->wakes[i] += r->wakes[i];
	sum->keyed += r->keyed;
	sum->nested += r->nested;
	sum->deadlocks += r->deadlocks;
	sum->handed += r->handed;
	sum->kept += r->kept;
	sum->killed += r->killed;
	sum->stale += r->stale;
	sum->pairs += r->pairs;
}

/*
 * The module's own sums: posted, begun, ended and gone. What has begun and not ended has ended
 * a turn with a wait; that counts as one, and so does who was posted waiting.
 */
static long long counts_differ(const struct dxt *t)
{
	long long executed = dxt_num(t, "stats/completions");
	long long ended = executed + dxt_num(t, "stats/cancelled");
	long long parked = dxt_num(t, "stats/dispatches") - dxt_num(t, "stats/redone") -
			   dxt_num(t, "stats/put_back") - executed;

	return llabs(ended - dxt_num(t, "stats/posts")) +
	       llabs(ended - dxt_num(t, "stats/collected") - dxt_num(t, "stats/vanished")) +
	       (parked < 0 || parked > dxt_num(t, "stats/waits"));
}

/* What of the pools is in use, if it is. */
static const char *in_use(const struct dxt *t)
{
	static const char *const file[] = {
		"pools/ready_use", "pools/rejoin_use", "pools/thread_busy", "pools/wait_use",
		"lanes/ready_lane%u_in_use", "lanes/ready_lane%u_waiters",
		"lanes/user_lane%u_in_use", "lanes/kernel_lane%u_in_use",
	};
	static char path[64];
	unsigned int i, lane;

	for (i = 0; i < ARRAY_SIZE(file); i++)
		for (lane = 0; lane < (strchr(file[i], '%') ? 4 : 1); lane++) {
			snprintf(path, sizeof(path), file[i], lane);
			if (dxt_num(t, "%s", path))
				return path;
		}
	return NULL;
}

/* What makes it a test: results, owners of nothing, late words of the dead. */
static bool seen_all(const struct history_report *sum)
{
	return sum->returned && sum->none_exist && sum->stale;
}

/* And of keys, of which a round on a slow machine may see little. */
static bool seen_keys(const struct history_report *sum)
{
	return sum->nested && sum->deadlocks && sum->handed && sum->kept && sum->killed;
}

static bool another_round(const struct history_report *sum, unsigned int *extra)
{
	bool another = *extra < (seen_all(sum) ? seen_keys(sum) ? 0 : 3 : 20);

	*extra += another;
	return another;
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
	_Atomic unsigned int doing = ELSEWHERE;
	struct actor a = { .crowd = &all->crowd[0], .doing = &doing };
	struct course *co = &self->c;
	struct dxt *t = &self->t;
	struct history_report r;
	struct history_log *log;
	struct history *h;
	unsigned int i, n, workers, extra = 0, rounds = 0, woken = 0;
	bool drained = true;
	const char *left;

	/* some rounds more when the machine was too slow for one of each kind */
	while (drained && co->kills < co->most &&
	       (dxt_now() < co->end || another_round(&self->sum, &extra))) {
		h = all->h = history_new(1 << 17, 1 << 20, 1 << 13);
		h->redo_max = REDO_MAX;
		h->ageing = variant->ageing;
		/* they do in each second round */
		h->waits = extra || !(rounds++ % 2);
		h->key_batch = KEY_BATCH;
		memcpy(h->quota, ((uint32_t[]){ 0, 1, 2, CREW }), sizeof(h->quota));
		all->quiet = false;
		all->idle = 0;
		ASSERT_EQ(0, start(t, variant->rejoin_full, variant->rejoin_entries,
				   variant->ageing));
		for (i = 0; i < PROCESSES; i++)
			begin_life(t, &all->crowd[i], rnd(&co->seed));
		for (n = 0; n < PER_ROUND && co->kills < co->most &&
		     (!n || extra || dxt_now() < co->end) && !history_full(h);
		     n++, co->kills++) {
			struct crowd *c = &all->crowd[rnd(&co->seed) % PROCESSES];

			dxt_tell("%u kills", co->kills);
			let_live(c, &co->seed);
			end_life(c);
			begin_life(t, c, rnd(&co->seed));
		}
		all->quiet = true;

		/* what nobody else collects any more */
		a.log = log = dxt_shared(sizeof(*log));
		*log = (struct history_log){ .h = h, .space = HIST_NOBODY };
		a.ctx = dxk_ctx_join(t->ctl, NAME, DXK_ACCESS_WRITE, DXK_JOIN_SHARED,
				     NULL);
		ASSERT_LE(0, a.ctx);
		ASSERT_EQ(0, log_join(log, a.ctx, DXK_MEMBER_CLIENT));
		for (i = 0; i < PROCESSES; i++)
			EXPECT_TRUE(DXT_SOON(!all->crowd[i].posting));
		drained = DXT_SOON(({
			actor_release(&a);
			for (i = 0; i < SHARED; i++)
				collect_some(&a, i);
			collect_all_called(&a);
			all->idle == PROCESSES * CLIENTS && !dxt_num(t, "owners");
		}));
		h->over = drained ? 0 : history_number(h);
		EXPECT_TRUE(drained)
			TH_LOG("%lld owners are left", dxt_num(t, "owners"));
		if (drained) {
			for (i = 0; i < SHARED; i++)
				EXPECT_EQ(RJR_NONE_EXIST, collect_some(&a, i));
			EXPECT_EQ(NULL, in_use(t));
			EXPECT_EQ(0, dxt_num(t, "stats/missed_wakeups"));
			EXPECT_EQ(0, counts_differ(t));
			/* of the dead no id and no file is left, while others live */
			EXPECT_TRUE(DXT_SOON(leak_clients(t) == PROCESSES * CLIENTS + 1))
				TH_LOG("%d clients", leak_clients(t));
			workers = CREW + (nop ? 3 : 0);
			for (i = 0; i < PROCESSES; i++)
				workers -= all->crowd[i].deserted;
			EXPECT_TRUE(DXT_SOON(dxt_num(t, "pools/thread_use") == workers))
				TH_LOG("%lld of %u workers",
				       dxt_num(t, "pools/thread_use"), workers);
			EXPECT_TRUE(pipes_are_closed(h, true));
			EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, 60 * DXT_SEC));
			for (i = 0; i < PROCESSES; i++)
				EXPECT_EQ(0, dxt_reap(all->crowd[i].pid));
			EXPECT_TRUE(pipes_are_closed(h, false));
		} else {
			show(t);
			/* the checker will tell what became of them */
			for (i = 0; i < PROCESSES; i++)
				end_life(&all->crowd[i]);
		}
		for (i = 0; i < h->nr_spaces; i++)
			close(pipes[i]);
		log_leave(log);
		close(a.ctx);
		munmap(log, sizeof(*log));
		dxt_down(t);

		EXPECT_TRUE(history_clean(h, &r));
		EXPECT_EQ(0, all->odd)
			TH_LOG("odd: %s, line %d", strerror(-all->oddity), all->odd_line);
		add_up(&self->sum, &r);
		history_free(h);
		if (r.total || all->odd)
			break;
	}
	TH_LOG("%u kills; %u accepted, %u begun, %u of these again", co->kills,
	       self->sum.accepted, self->sum.starts, self->sum.redone);
	TH_LOG("%u returned, %u with -EOWNERDEAD, %u dropped", self->sum.returned,
	       self->sum.owner_dead, self->sum.dropped);
	TH_LOG("%u NONE_EXIST, %u NONE_READY, %u stale, %u orders compared",
	       self->sum.none_exist, self->sum.none_ready, self->sum.stale,
	       self->sum.pairs);
	for (i = 1; i < ARRAY_SIZE(self->sum.wakes); i++)
		woken += self->sum.wakes[i];
	TH_LOG("%u turns after a wait: %u by time, %u by calls, %u by results, %u by ends, %u again",
	       woken, self->sum.wakes[DXK_WAKE_TIME], self->sum.wakes[DXK_WAKE_CALL],
	       self->sum.wakes[DXK_WAKE_RESULT], self->sum.wakes[DXK_WAKE_JOIN],
	       self->sum.wakes[DXK_WAKE_AGAIN]);
	TH_LOG("%u told to end, %u ended before they began",
	       self->sum.wakes[DXK_WAKE_CANCEL] + self->sum.wakes[DXK_WAKE_EXPIRE],
	       self->sum.ended_early);
	TH_LOG("%u turns of keys, %u nested, %u EDEADLK; %u hand-overs, %u HOLD, %u met by CANCEL",
	       self->sum.keyed, self->sum.nested, self->sum.deadlocks, self->sum.handed,
	       self->sum.kept, self->sum.killed);
	EXPECT_LT(0, woken);
	EXPECT_LT(0, self->sum.keyed);
	EXPECT_LT(0, co->kills);
	EXPECT_EQ(NULL, never_killed_at(co->kills));
	EXPECT_LT(0, self->sum.returned);
	EXPECT_LT(0, self->sum.none_exist);
	EXPECT_LT(0, self->sum.stale);
	left = leak_found(&co->leak, co->kills);
	EXPECT_TRUE(!left || !drained) TH_LOG("%s is left", left);
}

FIXTURE(context) {
	struct course c;
};

FIXTURE_SETUP(context)
{
	course_begin(&self->c);
}

FIXTURE_TEARDOWN(context)
{
	munmap(all, sizeof(*all));
}

/* D-26, DX-113: the context dies with its process, from its first moment on. */
TEST_F(context, dies_with_its_process)
{
	struct crowd *c = &all->crowd[0];
	struct course *co = &self->c;
	unsigned int turns = 0;
	const char *left;
	struct dxt t;

	for (; course_goes_on(co); co->kills++) {
		all->h = history_new(1 << 17, 1 << 20, 1 << 13);
		all->h->waits = co->kills % 2;
		begin_life(NULL, c, rnd(&co->seed));
		dxt_tell("%u kills", co->kills);
		let_live(c, &co->seed);
		end_life(c);
		turns += c->turns;
		ASSERT_TRUE(DXT_SOON(!leak_contexts())) TH_LOG("kill %u", co->kills);
		ASSERT_TRUE(pipes_are_closed(all->h, false)) TH_LOG("kill %u", co->kills);
		close(pipes[0]);
		history_free(all->h);
	}
	TH_LOG("%u kills, %u turns", co->kills, turns);
	EXPECT_EQ(NULL, never_killed_at(co->kills));
	EXPECT_LT(0, turns);
	EXPECT_EQ(0, all->odd)
		TH_LOG("odd: %s, line %d", strerror(-all->oddity), all->odd_line);
	left = leak_found(&co->leak, co->kills);
	EXPECT_EQ(NULL, left) TH_LOG("%s is left", left);

	/* and the module works */
	ASSERT_EQ(0, dxt_up(&t, 2));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_PARAM, 7, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	dxt_down(&t);
}

TEST_HARNESS_MAIN
